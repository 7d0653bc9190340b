/* What a sieve will read: exactly what its vectors say of the segments whose runs are there, a guess of the others. */
#include <math.h>
#include "method/sieve/gpu/sieve_place.h"
#include "method/sieve/sieve_positions.h"
#include "method/sieve/sieve_query.h"

#define MAKING_BYTES 24.0  /* a row, beside the run, while it is made; sample and scratch of the threads */
#define MAKE_ROW_NS 1.0    /* as an index's: CREATE has asked for it, so who gains from it first bears little of it */
#define BLOCK_NS 60.0      /* ... and predicate: where its vectors are, what its bins say */
#define WORDS_NS 14.0      /* a vector's words of a block, read and put together */
#define TEST_NS 35.0       /* a value asked for, fetched and compared: its line is nowhere near, nor is it foreseen */
#define RANK_NS 1500.0     /* a bound searched for in a part: a dozen values, one behind another */
#define TURN_NS 1.5        /* a row turned over: its bit is in the second cache */
#define DECODE_NS 2.0      /* a value of a segment without a run */
#define LIST_NS 40.0       /* a block's bitmap put where it belongs, and taken by whoever reads it */
#define DECIDED_NS 1.0     /* a row, where segments' least and greatest keys decide: a scan's blocks do so, too */
#define GUESS_SHARE 0.3    /* of a condition without bins or bounds */

/* ---- what is expected ---- */
/* Of one predicate in one segment, as shares of its rows. */
struct expected {
	double sure, maybe, reads;
	double ranks, rank_reads, turned; /* by positions: bounds that are searched for, their vectors, rows turned over */
	bool positions;
	bool together; /* neighbouring rows have neighbouring keys */
};

/* Values in ranges, among evenly spread ones. */
static double guess(const struct rql_store_column *column, const struct rql_sieve_predicate *p, double rows)
{
	double low = 0, high = 0, in = 0;
	if (column->kind == RQL_STORE_CODED) {
		high = (double)column->dimension->count;
	} else if (column->kind == RQL_STORE_INTEGER) {
		low = (double)rql_sieve_value_key(column->type, column->least);
		high = (double)rql_sieve_value_key(column->type, column->greatest);
	} else {
		return GUESS_SHARE;
	}
	for (uint32_t i = 0; i < p->count; i++) {
		const double from = fmax(low, (double)p->ranges[i].least), to = fmin(high, (double)p->ranges[i].greatest);
		in += from <= to ? to - from + 1 : 0;
	}
	const double nulls = rows > 0 ? (double)column->nulls / rows : 0;
	return fmin(1, in / (high - low + 1) * (1 - nulls) + (p->nulls ? nulls : 0));
}

/* By positions: a bound inside the segment's keys is a rank, whose nearest cut is a quarter of a bin away on average.
 * */
static void expect_ranks(const struct rql_sieve_test *test, struct expected *out)
{
	const struct rql_sieve_bins *bins = &test->run->shape.bins;
	const uint64_t least = bins->bin[0].least, greatest = bins->bin[bins->count - 1].greatest;
	if (!test->run->parts || test->predicate.count > RQL_SIEVE_PART_RANGES_MOST)
		return;
	for (uint32_t r = 0; r < test->predicate.count; r++)
		out->ranks += (test->predicate.ranges[r].least > least) + (test->predicate.ranges[r].greatest < greatest);
	out->turned = out->ranks / 4 / bins->count;
	out->rank_reads = out->ranks * (test->run->shape.base ? 3 : 1);
	out->positions = true;
}

/* By the bins of some blocks: each has few of them. */
#define LOOKED_AT 32u
#define FEW_BINS 8u /* one in so many */
static bool are_together(const struct rql_sieve_run *run)
{
	const uint32_t blocks = run->shape.block_count, step = blocks / LOOKED_AT + 1;
	uint64_t bins = 0, seen = 0;
	for (uint32_t b = 0; b < blocks; b += step, seen++)
		bins += run->blocks[b].least <= run->blocks[b].greatest ? run->blocks[b].greatest - run->blocks[b].least + 1u : 1u;
	return bins * FEW_BINS <= seen * run->shape.bins.count;
}

static rql_status expect_run(const struct rql_prepared *p, uint32_t segment, uint32_t t, struct rql_device *cpu,
                             struct rql_arena *arena, struct expected *out, struct rql_error *err)
{
	const struct rql_store_segment *s = &p->snapshot->segments[segment];
	struct rql_sieve_test test = {0};
	RQL_TRY(rql_sieve_run_get(p->snapshot, segment, &p->of[t], cpu, NULL, &test.run, err));
	rql_status status = rql_sieve_test_make(&test, &p->predicates[t], &s->columns[p->of[t].column], arena, err);
	if (status == RQL_OK) {
		double nulls = 0;
		for (uint32_t b = 0; b < test.run->shape.block_count && test.predicate.nulls; b++)
			nulls += test.run->blocks[b].nulls;
		*out = (struct expected){.sure = (test.spans.sure + nulls) / (double)s->rows,
		                         .maybe = test.spans.maybe / (double)s->rows,
		                         .reads = rql_sieve_test_reads(&test),
		                         .together = are_together(test.run)};
		expect_ranks(&test, out);
	}
	rql_placement_release(&test.run->placement);
	return status;
}

/* On a GPU, by the bins that it has. */
static rql_status expect_placed(struct rql_prepared *p, uint32_t segment, uint32_t t, struct rql_device *gpu,
                                struct rql_arena *arena, struct expected *out, struct rql_error *err)
{
	const struct rql_store_segment *s = &p->snapshot->segments[segment];
	const struct rql_store_view *view = &s->columns[p->of[t].column];
	struct rql_device *cpu = (struct rql_device *)(uintptr_t)gpu->host;
	struct rql_sieve_placed *placed = NULL;
	struct rql_sieve_predicate here;
	struct rql_sieve_spans spans;
	uint64_t uploaded = 0, nulls = 0;
	RQL_TRY(rql_sieve_placed_get(p->snapshot, segment, &p->of[t], gpu, cpu, NULL, &uploaded, &placed, err));
	rql_status status = rql_sieve_predicate_in(&p->predicates[t], view, arena, &here, err);
	if (status == RQL_OK)
		status = rql_sieve_spans_make(&placed->shape.bins, &here, arena, &spans, err);
	for (uint32_t b = 0; b < s->blocks && here.nulls; b++)
		nulls += view->blocks[b].nulls;
	if (status == RQL_OK)
		*out = (struct expected){.sure = fmin(1, (spans.sure + (double)nulls) / (double)s->rows),
		                         .maybe = spans.maybe / (double)s->rows,
		                         .reads = spans.count * (placed->shape.base ? 4 : 2)};
	rql_placement_release(&placed->placement);
	return status;
}

static rql_status expect_segment(struct rql_prepared *p, uint32_t segment, struct rql_device *cpu,
                                 struct rql_device *gpu, struct rql_arena *arena, struct rql_error *err)
{
	const struct rql_store_segment *s = &p->snapshot->segments[segment];
	const double weight = (double)s->rows / (double)p->snapshot->rows;
	double pass = 1, may = 1, doubt = 0;
	for (uint32_t t = 0; t < p->count; t++) {
		const struct rql_store_column *column = &p->snapshot->columns[p->of[t].column];
		struct expected e = {0};
		if (rql_sieve_run_there(s, &p->of[t], cpu)) {
			RQL_TRY(expect_run(p, segment, t, cpu, arena, &e, err));
		} else if (gpu && rql_sieve_placed_there(s, &p->of[t], gpu)) {
			RQL_TRY(expect_placed(p, segment, t, gpu, arena, &e, err));
		} else {
			const double share = guess(column, &p->predicates[t], (double)p->snapshot->rows);
			const double bins = rql_sieve_bins_most(&p->of[t].sieve), open = fmin(p->predicates[t].count / bins, share);
			e = (struct expected){.sure = share - open / 2,
			                      .maybe = open,
			                      .reads = 3,
			                      .positions = rql_sieve_has_positions(&p->of[t].sieve)};
			p->missing += (double)s->rows;
			p->missing_bytes += (double)s->blocks * (RQL_STORE_BLOCK / 8.0) *
			                    (p->of[t].sieve.vectors + (rql_sieve_has_positions(&p->of[t].sieve) ? 32 : 0));
		}
		doubt = doubt * (e.sure + e.maybe) + may * e.maybe; /* of the rows that may pass so far */
		p->positions = p->positions && e.positions;
		p->together = p->together && e.together;
		p->ranks += e.ranks * rql_sieve_part_count(s->blocks);
		p->rank_reads += weight * e.rank_reads;
		p->turned += weight * e.turned;
		pass *= e.sure + e.maybe / 2;
		may *= e.sure + e.maybe;
		p->reads += weight * e.reads;
		p->open += weight * e.maybe;
	}
	p->share += weight * pass;
	p->tested += weight * doubt;
	return RQL_OK;
}

rql_status rql_sieve_expect(struct rql_prepared *p, struct rql_device *cpu, struct rql_device *gpu,
                            struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	rql_status status = arena ? RQL_OK : rql_error_memory(err, 0, "predicates");
	p->positions = p->together = true;
	for (uint32_t g = 0; g < p->snapshot->segment_count && status == RQL_OK; g++)
		status = expect_segment(p, g, cpu, gpu, arena, err);
	rql_arena_free(arena);
	return status;
}

/* ---- the price ---- */
/* May the runs that are not there be made? Else their rows are tested. */
static bool has_room(const struct rql_prepared *p)
{
	const struct rql_budget *budget = rql_store_budget(p->snapshot);
	const uint64_t limit = budget ? atomic_load(&budget->limit) : 0, used = budget ? atomic_load(&budget->used) : 0;
	const double making = p->missing > 0 ? (double)RQL_STORE_SEGMENT * RQL_STORE_BLOCK * MAKING_BYTES / 16 : 0;
	return !limit || (double)used + p->missing_bytes + making <= (double)limit;
}

void rql_sieve_price(const struct rql_prepared *p, const struct rql_device *cpu, struct rql_cost *out)
{
	const bool room = has_room(p);
	const double rows = (double)p->snapshot->rows, all = (double)p->snapshot->blocks;
	const double blocks = all * -expm1(-p->share * RQL_STORE_BLOCK), threads = rql_pool_threads(cpu->pool);
	const double reads = p->positions ? p->rank_reads : p->reads, tested = p->positions ? 0 : p->tested;
	const double refine = p->positions ? p->ranks * RANK_NS + rows * p->turned * TURN_NS : rows * tested * TEST_NS;
	const bool decided = p->missing == 0 && p->reads == 0;
	const enum rql_rows_form form = rql_rows_form_expected(p->share, decided || p->together);
	const double work =
		all * (p->count * BLOCK_NS + reads * WORDS_NS) + refine + (room ? 0 : p->missing * DECODE_NS);
	*out = (struct rql_cost){
		.setup_ns = room ? p->missing * MAKE_ROW_NS : 0,
		.run_ns = (threads > 1 ? fmin(work, work / threads + cpu->profile.handover_ns) : work) + blocks * LIST_NS +
		          (decided ? rows * DECIDED_NS : 0),
		.rows_out = rows * p->share,
		.runs = blocks,
		.bytes = rows / 8 * reads + rows * tested * 64 + (p->positions ? rows * p->turned * 4 : 0) +
		         rql_rows_bytes_expected(form, rows * p->share, blocks),
		.rows_form = form,
	};
}
