/* The joins of rayql bench device: u32 keys that are a one-to-one mix, rows in random order, inner join, out come the key
 * and all payloads. Partitions by themselves, too. */
#include <stdlib.h>
#include <string.h>

#include "bench/relation/relation_bench.h"

static const struct shape {
	uint32_t log2_build, log2_probe, payloads; /* payloads: of each side */
	uint32_t log2_dups;                        /* of a key in the build side */
	uint32_t log2_match;                       /* one probe row in 2^this has a match, if not skewed */
	bool zipf;
	bool variants; /* worth measuring them */
} shapes[] = {
	{26, 27, 1, 0, 0, false, true},  {26, 27, 1, 0, 2, false, false}, {26, 27, 1, 0, 0, true, false},
	{26, 27, 1, 3, 3, false, true},  {26, 27, 2, 0, 0, false, true},  {26, 27, 2, 0, 2, false, false},
	{26, 27, 2, 0, 0, true, false},  {27, 27, 1, 0, 0, false, false}, {27, 27, 2, 0, 0, false, false},
	{26, 27, 1, 3, 0, false, false}, {26, 27, 1, 2, 0, false, false}, {26, 27, 1, 1, 0, false, false}, {20, 27, 1, 0, 0, false, false}, {11, 27, 1, 0, 0, false, false},
};

static const struct rql_relation_variant chosen = {.name = "chosen"};
static const struct rql_relation_variant variants[] = {
	{"raw keys", true, {0}},
	{"512 threads", false, {.threads = 512}},
	{"128 threads", false, {.threads = 128}},
	{"2048 buckets", false, {.buckets = 2048}},
	{"15 bits, 512 threads", false, {.bits = 16, .slots = 2560, .buckets = 2048, .threads = 512}},
	{"15 bits, 1024 threads", false, {.bits = 16, .slots = 2560, .buckets = 2048, .threads = 1024}},
	{"14 bits, 1024 threads", false, {.bits = 15, .slots = 4608, .buckets = 2048, .threads = 1024}},
	{"17 bits, 256 threads", false, {.bits = 18, .slots = 704, .buckets = 512, .threads = 256}},
	{"17 bits, 128 threads", false, {.bits = 18, .slots = 704, .buckets = 512, .threads = 128}},
	{"places by subgroups", false, {.own_places = 2}},
	{"places by workgroups", false, {.own_places = 1}},
	{"tiles of 512 threads", false, {.partition_threads = 512}},
	{"tiles of 256 threads", false, {.partition_threads = 256}},
};
#define VARIANTS (sizeof variants / sizeof *variants)
/* Of joins with duplicates: either kernel, whatever a sample says. */
static const struct rql_relation_variant kernels[] = {
	{"kernel for few rows a key", false, {.many = 1}},
	{"kernel for many rows a key", false, {.many = 2}},
};
#define KERNELS (sizeof kernels / sizeof *kernels)

struct join_case {
	struct rql_relation_case base;
	struct rql_relation_bench_args data; /* of the check */
	struct rql_join join;
	uint64_t rows, sum; /* that must come */
};

static uint32_t scaled(const struct rql_relation_bench *b, uint32_t log2)
{
	int64_t at = (int64_t)log2 + b->options->log2_scale;
	return at < 4 ? 4 : (uint32_t)at;
}

static rql_status make_side(struct rql_relation_bench *b, struct rql_join_side *side, uint32_t what, uint32_t payloads,
                            struct rql_relation_bench_args args, struct rql_error *err)
{
	RQL_TRY(rql_relation_buffer(b, args.rows * 4, &side->keys.buffer, err));
	args.keys = side->keys.buffer->address;
	for (uint32_t i = 0; i < payloads; i++) {
		RQL_TRY(rql_relation_buffer(b, args.rows * 4, &side->columns[i].in.buffer, err));
		side->columns[i].bits = 32;
		args.column[i] = side->columns[i].in.buffer->address;
	}
	side->column_count = payloads;
	side->count = args.rows;
	return rql_relation_data(b, what, &args, err);
}

/* Columns, what the answer must be, and room for it. */
static rql_status make_join(struct rql_relation_bench *b, const struct shape *s, struct join_case *one,
                            struct rql_error *err)
{
	struct rql_join *join = &one->join;
	uint32_t log2_build = scaled(b, s->log2_build), log2_probe = scaled(b, s->log2_probe);
	uint32_t log2_distinct = log2_build - s->log2_dups;
	struct rql_relation_bench_args args = {
		.log2_rows = log2_probe, .log2_build = log2_build, .log2_distinct = log2_distinct,
		.log2_range = log2_distinct + s->log2_match, .zipf = s->zipf ? 2 : 0};
	join->key_bits = 32;
	args.rows = UINT64_C(1) << log2_build;
	RQL_TRY(make_side(b, &join->build, RQL_BENCH_MAKE_BUILD, s->payloads, args, err));
	args.rows = UINT64_C(1) << log2_probe;
	RQL_TRY(make_side(b, &join->probe, RQL_BENCH_MAKE_PROBE, s->payloads, args, err));
	args.keys = join->probe.keys.buffer->address;
	memset(rql_relation_results(b), 0, RQL_RELATION_RESULTS * 8);
	RQL_TRY(rql_relation_data(b, RQL_BENCH_JOIN_SUM, &args, err));
	one->rows = rql_relation_results(b)[0];
	one->sum = rql_relation_results(b)[1];
	one->data = args;
	join->capacity = one->rows;
	RQL_TRY(rql_relation_buffer(b, join->capacity * 4, &join->keys_out.buffer, err));
	RQL_TRY(rql_relation_buffer(b, 8, &join->rows.buffer, err));
	struct rql_join_side *sides[] = {&join->build, &join->probe};
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t i = 0; i < s->payloads; i++)
			RQL_TRY(rql_relation_buffer(b, join->capacity * 4, &sides[side]->columns[i].out.buffer, err));
	double words = (1.0 + s->payloads) * (double)(join->build.count + join->probe.count) +
	               (1.0 + 2.0 * s->payloads) * (double)one->rows;
	one->base.floor_bytes = 4 * words;
	return RQL_OK;
}

static rql_status record_join(struct rql_relation_case *one, struct rql_commands *c, struct rql_error *err)
{
	return rql_record_join(c, &((struct join_case *)one->state)->join, err);
}

static rql_status check_join(struct rql_relation_bench *b, struct rql_relation_case *base, bool *good,
                             struct rql_error *err)
{
	struct join_case *one = base->state;
	const struct rql_join *join = &one->join;
	struct rql_relation_bench_args args = one->data;
	uint64_t rows;
	RQL_TRY(rql_buffer_download(join->rows.buffer, 0, &rows, 8, err));
	*good = rows == one->rows;
	if (!*good)
		return RQL_OK;
	args.rows = rows;
	args.keys_to = join->keys_out.buffer->address;
	for (uint32_t i = 0; i < join->build.column_count; i++) {
		args.column[i] = join->build.columns[i].out.buffer->address;
		args.column[2 + i] = join->probe.columns[i].out.buffer->address;
	}
	memset(rql_relation_results(b), 0, RQL_RELATION_RESULTS * 8);
	RQL_TRY(rql_relation_data(b, RQL_BENCH_JOIN_CHECK, &args, err));
	*good = rql_relation_results(b)[2] == 0 && rql_relation_results(b)[3] == one->sum;
	/* What is left of this run must not pass for the next one's. */
	RQL_TRY(rql_relation_fill(b, join->rows.buffer, 0, 8, UINT32_MAX, err));
	return rql_relation_fill(b, join->keys_out.buffer, 0, rows * 4 / 256 * 256, 0xdeadbeefu, err);
}

static rql_status measure_join(struct rql_relation_bench *b, struct join_case *one,
                               const struct rql_relation_variant *variant, struct rql_error *err)
{
	uint32_t kept = b->buffer_count;
	one->join.random_keys = variant->random_keys;
	one->join.tuning = variant->tuning;
	one->base.scratch_bytes = rql_join_temp_bytes(&one->join);
	RQL_TRY(rql_relation_buffer(b, one->base.scratch_bytes, &one->join.temp.buffer, err));
	RQL_TRY(rql_relation_measure(b, &one->base, variant, err));
	rql_relation_drop_to(b, kept);
	return RQL_OK;
}

static rql_status run_join(struct rql_relation_bench *b, const struct shape *s, struct rql_error *err)
{
	struct join_case one = {.base = {.record = record_join, .check = check_join}};
	one.base.state = &one;
	char match[24] = "", dups[16] = "";
	if (s->log2_dups)
		snprintf(dups, sizeof dups, ", dup%u", 1u << s->log2_dups);
	if (s->log2_match)
		snprintf(match, sizeof match, ", match 1/%u", 1u << s->log2_match);
	snprintf(one.base.name, sizeof one.base.name, "join 2^%u x 2^%u, %u+%u%s%s%s", scaled(b, s->log2_build),
	         scaled(b, s->log2_probe), s->payloads, s->payloads, dups, match, s->zipf ? ", zipf 1.0" : "");
	if (!rql_relation_wanted(b, one.base.name))
		return RQL_OK;
	RQL_TRY(make_join(b, s, &one, err));
	RQL_TRY(measure_join(b, &one, &chosen, err));
	/* Sizes that are given are for one size of data. */
	for (uint32_t i = 0; b->options->variants && s->variants && i < VARIANTS; i++)
		RQL_TRY(measure_join(b, &one, &variants[i], err));
	for (uint32_t i = 0; b->options->variants && s->log2_dups && i < KERNELS; i++)
		RQL_TRY(measure_join(b, &one, &kernels[i], err));
	rql_relation_drop(b);
	return RQL_OK;
}

rql_status rql_relation_joins(struct rql_relation_bench *b, struct rql_error *err)
{
	for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		RQL_TRY(run_join(b, &shapes[i], err));
	return RQL_OK;
}

/* ---- partitions ---- */

struct part_case {
	struct rql_relation_case base;
	struct rql_partition partition;
	struct rql_relation_bench_args data;
	uint64_t sum;
};

static rql_status record_part(struct rql_relation_case *one, struct rql_commands *c, struct rql_error *err)
{
	return rql_record_partition(c, &((struct part_case *)one->state)->partition, err);
}

static rql_status check_part(struct rql_relation_bench *b, struct rql_relation_case *base, bool *good,
                             struct rql_error *err)
{
	struct part_case *one = base->state;
	struct rql_relation_bench_args args = one->data;
	const struct rql_partition *p = &one->partition;
	args.keys = p->keys.buffer->address;
	args.keys_to = p->keys_out.buffer->address;
	args.column_to[0] = p->starts.buffer->address;
	args.part = p->bits;
	if (p->paired) {
		args.flags = RQL_BENCH_PAIRED;
		args.column[0] = args.keys_to + 4;
	} else {
		args.column[0] = p->columns[0].out.buffer->address;
	}
	memset(rql_relation_results(b), 0, RQL_RELATION_RESULTS * 8);
	RQL_TRY(rql_relation_data(b, RQL_BENCH_PART_SUM, &args, err));
	RQL_TRY(rql_relation_data(b, RQL_BENCH_PART_CHECK, &args, err));
	*good = rql_relation_results(b)[2] == 0 && rql_relation_results(b)[3] == rql_relation_results(b)[1];
	return rql_relation_fill(b, p->keys_out.buffer, 0, args.rows * 4 / 256 * 256, 0xdeadbeefu, err);
}

static rql_status run_part(struct rql_relation_bench *b, uint32_t bits, bool paired,
                           const struct rql_relation_variant *variant, struct rql_error *err)
{
	struct part_case one = {.base = {.record = record_part, .check = check_part}};
	struct rql_partition *p = &one.partition;
	struct rql_join_side side = {0};
	uint32_t log2_rows = scaled(b, 27);
	one.base.state = &one;
	one.data = (struct rql_relation_bench_args){.rows = UINT64_C(1) << log2_rows, .log2_rows = log2_rows,
	                                            .log2_range = log2_rows};
	snprintf(one.base.name, sizeof one.base.name, "partition 2^%u x (4 + 4) bytes by %u bits%s", log2_rows, bits,
	         paired ? ", pairs" : "");
	if (!rql_relation_wanted(b, one.base.name))
		return RQL_OK;
	RQL_TRY(make_side(b, &side, RQL_BENCH_MAKE_PROBE, 1, one.data, err));
	*p = (struct rql_partition){.key_bits = 32, .bits = bits, .random_keys = true, .paired = paired,
	                            .count = one.data.rows, .keys = side.keys, .column_count = 1,
	                            .tuning = variant->tuning};
	p->columns[0] = side.columns[0];
	RQL_TRY(rql_relation_buffer(b, p->count * (paired ? 8 : 4), &p->keys_out.buffer, err));
	if (!paired)
		RQL_TRY(rql_relation_buffer(b, p->count * 4, &p->columns[0].out.buffer, err));
	RQL_TRY(rql_relation_buffer(b, ((UINT64_C(1) << bits) + 1) * 4, &p->starts.buffer, err));
	one.base.scratch_bytes = rql_partition_temp_bytes(p);
	RQL_TRY(rql_relation_buffer(b, one.base.scratch_bytes, &p->temp.buffer, err));
	one.base.floor_bytes = 16.0 * (double)p->count;
	RQL_TRY(rql_relation_measure(b, &one.base, variant, err));
	rql_relation_drop(b);
	return RQL_OK;
}

rql_status rql_relation_partitions(struct rql_relation_bench *b, struct rql_error *err)
{
	static const uint32_t bits[] = {6, 8, 9, 10, 16};
	for (uint32_t i = 0; i < 2 * sizeof bits / sizeof *bits; i++) {
		RQL_TRY(run_part(b, bits[i / 2], i % 2, &chosen, err));
		for (uint32_t v = 0; v < VARIANTS && b->options->variants; v++)
			if (variants[v].tuning.partition_threads)
				RQL_TRY(run_part(b, bits[i / 2], i % 2, &variants[v], err));
	}
	return RQL_OK;
}
