/* The look-ups of rayql bench device: u32 keys without duplicates, rows and probes in random order, answers in the
 * probes' order. Sparse keys are a one-to-one mix of their numbers, dense ones the numbers themselves. */
#include <string.h>

#include "primitive/lookup.h"
#include "relation_bench.h"

static const struct shape {
	bool dense;
	uint32_t log2_match; /* one probe in 2^this has its key in the map */
	uint32_t width;      /* integers of a range, whose keys are counted and summed; 0: points, whose row is found */
} shapes[] = {
	{false, 0, 0}, {false, 1, 0}, {true, 0, 0}, {true, 0, 16}, {true, 0, 1024},
};

#define LOG2_KEYS 26
#define LOG2_PROBES 27

static const struct rql_relation_variant variant = {.name = "sorted, directory"};

struct lookup_case {
	struct rql_relation_case base;
	struct rql_relation_bench_args data; /* of the check */
	struct rql_lookup_build build;
	struct rql_lookup lookup;
};

static uint32_t scaled(const struct rql_relation_bench *b, uint32_t log2)
{
	int64_t at = (int64_t)log2 + b->options->log2_scale;
	return at < 4 ? 4 : (uint32_t)at;
}

/* Keys are the map's values, too, so that the sum of a range is known. */
static rql_status make_map(struct rql_relation_bench *b, const struct shape *s, struct lookup_case *one,
                           struct rql_error *err)
{
	struct rql_lookup_build *build = &one->build;
	struct rql_lookup_map *map = &build->map;
	struct rql_relation_bench_args args = one->data;
	args.rows = map->count = UINT64_C(1) << args.log2_build;
	map->key_bits = build->value_bits = 32;
	map->high = s->dense ? map->count - 1 : UINT32_MAX;
	map->shift = rql_lookup_choose_shift(map->count, map->low, map->high);
	RQL_TRY(rql_relation_buffer(b, map->count * 4, &build->keys.buffer, err));
	RQL_TRY(rql_relation_buffer(b, map->count * 4, &map->keys.buffer, err));
	RQL_TRY(rql_relation_buffer(b, map->count * 4, &map->rows.buffer, err));
	RQL_TRY(rql_relation_buffer(b, rql_lookup_starts(map) * 4, &map->starts.buffer, err));
	if (s->width)
		RQL_TRY(rql_relation_buffer(b, (map->count + 1) * 8, &map->sums.buffer, err));
	build->values = build->keys;
	args.keys = build->keys.buffer->address;
	RQL_TRY(rql_relation_data(b, RQL_BENCH_MAKE_BUILD, &args, err));
	one->base.scratch_bytes = rql_lookup_build_temp_bytes(build);
	return rql_relation_buffer(b, one->base.scratch_bytes, &build->temp.buffer, err);
}

static rql_status make_probes(struct rql_relation_bench *b, const struct shape *s, struct lookup_case *one,
                              struct rql_error *err)
{
	struct rql_lookup *lookup = &one->lookup;
	struct rql_relation_bench_args *args = &one->data;
	lookup->map = one->build.map;
	lookup->count = args->rows;
	RQL_TRY(rql_relation_buffer(b, lookup->count * 4, &lookup->points.buffer, err));
	args->keys = lookup->points.buffer->address;
	RQL_TRY(rql_relation_data(b, RQL_BENCH_MAKE_PROBE, args, err));
	if (!s->width) {
		RQL_TRY(rql_relation_buffer(b, lookup->count * 4, &lookup->rows.buffer, err));
		args->column_to[0] = lookup->rows.buffer->address;
		return RQL_OK;
	}
	RQL_TRY(rql_relation_buffer(b, lookup->count * 4, &lookup->ends.buffer, err));
	RQL_TRY(rql_relation_buffer(b, lookup->count * 8, &lookup->sums.buffer, err));
	args->keys_to = lookup->ends.buffer->address;
	args->column_to[1] = lookup->sums.buffer->address;
	return rql_relation_data(b, RQL_BENCH_MAKE_ENDS, args, err);
}

static rql_status record_build(struct rql_relation_case *one, struct rql_commands *c, struct rql_error *err)
{
	return rql_record_lookup_build(c, &((struct lookup_case *)one->state)->build, err);
}

static rql_status record_lookup(struct rql_relation_case *one, struct rql_commands *c, struct rql_error *err)
{
	return rql_record_lookup(c, &((struct lookup_case *)one->state)->lookup, err);
}

static rql_status check_lookup(struct rql_relation_bench *b, struct rql_relation_case *base, bool *good,
                               struct rql_error *err)
{
	struct lookup_case *one = base->state;
	uint64_t *results = b->results->map;
	memset(results, 0, RQL_RELATION_RESULTS * 8);
	RQL_TRY(rql_relation_data(b, RQL_BENCH_LOOKUP_CHECK, &one->data, err));
	*good = results[2] == 0;
	return RQL_OK;
}

/* A map is right when all look-ups in it are. */
static rql_status check_build(struct rql_relation_bench *b, struct rql_relation_case *base, bool *good,
                              struct rql_error *err)
{
	struct rql_commands *c;
	RQL_TRY(rql_commands_new(b->device, 0, &c, err));
	rql_status status = record_lookup(base, c, err);
	if (status == RQL_OK)
		status = rql_commands_end(c, err);
	if (status == RQL_OK)
		status = rql_commands_run(c, NULL, err);
	rql_commands_free(c);
	return status == RQL_OK ? check_lookup(b, base, good, err) : status;
}

/* Poison lies where answers go, so that what an earlier run left does not pass for this one's. */
static rql_status run_lookup(struct rql_relation_bench *b, const struct shape *s, struct rql_error *err)
{
	struct lookup_case one = {.base = {.record = record_build, .check = check_build}};
	struct rql_relation_bench_args *args = &one.data;
	char what[32] = "points", match[24] = "";
	one.base.state = &one;
	args->log2_build = args->log2_distinct = scaled(b, LOG2_KEYS);
	args->log2_rows = scaled(b, LOG2_PROBES);
	args->log2_range = args->log2_build + s->log2_match;
	args->rows = UINT64_C(1) << args->log2_rows;
	args->raw_keys = s->dense;
	args->part = s->width;
	if (s->width)
		snprintf(what, sizeof what, "ranges of %u", s->width);
	if (s->log2_match)
		snprintf(match, sizeof match, ", match 1/%u", 1u << s->log2_match);
	snprintf(one.base.name, sizeof one.base.name, "lookup 2^%u in 2^%u, %s, %s%s", args->log2_rows, args->log2_build,
	         s->dense ? "dense" : "sparse", what, match);
	if (!rql_relation_wanted(b, one.base.name))
		return RQL_OK;
	RQL_TRY(make_map(b, s, &one, err));
	RQL_TRY(make_probes(b, s, &one, err));
	const struct rql_relation_variant build = {.name = s->width ? "build, with sums" : "build"};
	one.base.floor_bytes = (double)one.build.map.count * (s->width ? 24 : 12) +
	                       4.0 * (double)rql_lookup_starts(&one.build.map);
	RQL_TRY(rql_relation_measure(b, &one.base, &build, err));
	struct rql_buffer *out = s->width ? one.lookup.sums.buffer : one.lookup.rows.buffer;
	RQL_TRY(rql_relation_fill(b, out, 0, args->rows * (s->width ? 8 : 4), 0xdeadbeefu, err));
	one.base.record = record_lookup;
	one.base.check = check_lookup;
	one.base.scratch_bytes = 0;
	one.base.floor_bytes = (double)args->rows * (s->width ? 16 : 8);
	RQL_TRY(rql_relation_measure(b, &one.base, &variant, err));
	rql_relation_drop(b);
	return RQL_OK;
}

rql_status rql_relation_lookups(struct rql_relation_bench *b, struct rql_error *err)
{
	for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		RQL_TRY(run_lookup(b, &shapes[i], err));
	return RQL_OK;
}
