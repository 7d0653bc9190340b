/* What a join by hash images is expected to draw, before there is any row: for EXPLAIN. */
#include <math.h>

#include "primitive/raster/raster.h"
#include "primitive/relation/relation_internal.h"

struct stack {
	double layers; /* with rows */
	double drawn;  /* points: a row is drawn until it has a place */
};

/* Keys of a partition over the pixels of its image, as a hash spreads them: Poisson's distribution. */
static struct stack keys_over(double keys, double pixels, double most)
{
	const double load = keys / pixels;
	double exactly = exp(-load), beyond = 1 - exactly; /* pixels with so many keys as layers, and with more, of all */
	struct stack s = {.layers = 0};
	double left = keys;
	while (s.layers < most && left >= 0.5) {
		s.layers++;
		s.drawn += left;
		left -= pixels * beyond;
		exactly *= load / s.layers;
		beyond -= exactly;
	}
	return s;
}

/* Each key takes as many layers as it has rows, one after the other. */
static struct stack rows_over(double rows, double values, double pixels, double most)
{
	const double times = values > 0 && values < rows ? rows / values : 1;
	struct stack s = keys_over(rows / times, pixels, most / times + 1);
	s.drawn = times * times * s.drawn - times * (times - 1) / 2 * (rows / times);
	s.layers = ceil(s.layers * times);
	return s;
}

struct sides {
	double build, probe;
	struct stack stack;
	bool swapped;
};

/* Of a partition: a snake join builds on the side that takes fewer layers. */
static struct sides choose_sides(const struct rql_raster_join *join, double values, bool snakes)
{
	const double partitions = exp2(join->partition_bits), pixels = exp2(2.0 * join->log2_side);
	const double most = (double)join->layers * join->cycles, rows[] = {(double)join->build.count / partitions,
	                                                                   (double)join->probe.count / partitions};
	const bool pairs = rql_join_gives_pairs(join->kind);
	struct stack stacks[2];
	for (int s = 0; s < 2; s++) { /* of a semi join rows of one key need one place */
		const double own = values > 0 && values / partitions < rows[s] ? values / partitions : rows[s];
		stacks[s] = rows_over(pairs ? rows[s] : own, own, pixels, most);
		stacks[s].drawn += pairs ? 0 : rows[s] - own;
	}
	const bool swapped = snakes && (stacks[1].layers < stacks[0].layers ||
	                                (stacks[1].layers <= stacks[0].layers && rows[1] < rows[0]));
	return (struct sides){rows[swapped], rows[!swapped], stacks[swapped], swapped};
}

void rql_raster_join_expect(const struct rql_raster_join *join, double values, struct rql_raster_points *out)
{
	const bool pairs = rql_join_gives_pairs(join->kind), snakes = join->snake && join->kind == RQL_JOIN_INNER;
	const bool counts = snakes || (pairs && join->cycles);
	const struct sides s = choose_sides(join, values, snakes);
	const double partitions = exp2(join->partition_bits), most = (double)join->layers * join->cycles;
	const double met = s.build > 0 && s.probe > 0 ? partitions : 0; /* partitions with rows on both sides */
	const bool dense = s.stack.layers > most || (join->layout == RQL_RASTER_16 && s.build >= exp2(2.0 * join->log2_side));
	const double layers = dense ? 0 : s.stack.layers, stacks = dense ? 1 : ceil(layers / join->layers);
	*out = (struct rql_raster_points){.partitions = (uint64_t)met};
	out->statistics = counts ? (uint64_t)(met * (s.build + (snakes ? s.probe : 0))) : 0;
	out->build = (uint64_t)(met * (dense ? 2 * s.build : s.stack.drawn));
	out->count = (uint64_t)(met * s.probe * (dense ? 1 : layers));
	out->probe = pairs ? out->count : 0;
	out->passes = (uint64_t)(met * ((counts ? 1 + snakes : 0) + (dense ? 2 : layers) + (pairs ? 2 : 1) * stacks));
	out->layers = met > 0 ? (uint64_t)layers : 0;
	out->pauses = (uint64_t)(met * (stacks - 1));
	out->flattened = dense ? (uint64_t)met : 0;
	out->swapped = s.swapped ? (uint64_t)met : 0;
}
