/* The group-bys of rayql bench device: u32 keys that are a one-to-one mix of the group, int32 values; COUNT, and SUM, MIN
 * and MAX of each value column. */
#include <stdlib.h>
#include <string.h>

#include "bench/relation/relation_bench.h"

#define LOG2_ROWS 27u

static const struct shape {
	uint32_t log2_groups, columns;
	bool zipf;
} shapes[] = {
	{4, 1, false},  {10, 1, false}, {16, 1, false}, {20, 1, false}, {24, 1, false}, {26, 1, false},
	{4, 1, true},   {10, 1, true},  {16, 1, true},  {20, 1, true},  {26, 1, true},  {4, 4, false},
	{10, 4, false}, {16, 4, false}, {20, 4, false}, {24, 4, false}, {26, 4, false},
};

static const struct rql_relation_variant chosen = {.name = "chosen"};
static const struct {
	struct rql_relation_variant variant;
	uint32_t least_log2, most_log2; /* of the groups, where it makes sense */
} variants[] = {
	{{"raw keys", true, {0}}, 0, 31},
	{{"128 threads", false, {.threads = 128}}, 0, 31},
	{{"256 threads", false, {.threads = 256}}, 0, 31},
	{{"512 threads", false, {.threads = 512}}, 0, 31},
	{{"1024 threads", false, {.threads = 1024}}, 0, 31},
	{{"64 slots", false, {.slots = 64}}, 0, 4},
	{{"1024 slots, 512 threads", false, {.slots = 1024, .threads = 512}}, 0, 10},
	{{"pieces 2^15", false, {.piece_log2 = 15}}, 0, 16},
	{{"pieces 2^18", false, {.piece_log2 = 18}}, 0, 16},
	{{"6 bits, 2048 slots", false, {.bits = 7, .slots = 2048, .threads = 1024}}, 16, 16},
	{{"9 bits, 512 slots", false, {.bits = 10, .slots = 512, .threads = 256}}, 16, 16},
	{{"11 bits, 1024 slots, 512 threads", false, {.bits = 12, .slots = 1024, .threads = 512}}, 20, 20},
	{{"12 bits, 1024 slots, 256 threads", false, {.bits = 13, .slots = 1024, .threads = 256}}, 20, 20},
	{{"14 bits, 2048 slots", false, {.bits = 15, .slots = 2048, .threads = 1024}}, 24, 24},
	{{"15 bits, 1024 slots, 512 threads", false, {.bits = 16, .slots = 1024, .threads = 512}}, 24, 24},
	{{"16 bits, 512 slots, 256 threads", false, {.bits = 17, .slots = 512, .threads = 256}}, 24, 24},
	{{"16 bits, 1024 slots, 256 threads", false, {.bits = 17, .slots = 1024, .threads = 256}}, 24, 24},
	{{"16 bits, 2048 slots, 512 threads", false, {.bits = 17, .slots = 2048, .threads = 512}}, 26, 26},
	{{"17 bits, 1024 slots, 128 threads", false, {.bits = 18, .slots = 1024, .threads = 128}}, 26, 26},
	{{"17 bits, 1024 slots, 256 threads", false, {.bits = 18, .slots = 1024, .threads = 256}}, 26, 26},
	{{"16 bits, 1024 slots, 512 threads", false, {.bits = 17, .slots = 1024, .threads = 512}}, 26, 26},
	{{"16 bits, 2048 slots, 1024 threads", false, {.bits = 17, .slots = 2048, .threads = 1024}}, 26, 26},
	{{"17 bits, 512 slots, 256 threads", false, {.bits = 18, .slots = 512, .threads = 256}}, 26, 26},
	{{"18 bits, 512 slots, 128 threads", false, {.bits = 19, .slots = 512, .threads = 128}}, 26, 26},
	{{"18 bits, 512 slots, 256 threads", false, {.bits = 19, .slots = 512, .threads = 256}}, 26, 26},
};
#define VARIANTS (sizeof variants / sizeof *variants)

struct group_case {
	struct rql_relation_case base;
	struct rql_relation_bench_args data;
	struct rql_group_by group;
	struct rql_group_reference reference;
	uint64_t groups;
};

static rql_status work_out(struct rql_relation_bench *b, const struct rql_relation_bench_args *data,
                           const struct rql_group_reference *reference, uint32_t column, struct rql_error *err)
{
	uint64_t bytes = (UINT64_C(1) << data->log2_range) * 8;
	struct rql_relation_bench_args args = *data;
	args.part = column;
	if (!column)
		RQL_TRY(rql_relation_fill(b, reference->counts, 0, bytes, 0, err));
	args.column_to[0] = reference->counts->address;
	for (uint32_t i = 0; i < 3; i++) {
		RQL_TRY(rql_relation_fill(b, reference->of_column[i], 0, bytes, i == 1 ? UINT32_MAX : 0, err));
		args.column_to[1 + i] = reference->of_column[i]->address;
	}
	return rql_relation_data(b, RQL_BENCH_GROUP_SUM, &args, err);
}

rql_status rql_group_reference_new(struct rql_relation_bench *b, const struct rql_relation_bench_args *data,
                                   struct rql_group_reference *out, uint64_t *groups, struct rql_error *err)
{
	uint64_t bytes = (UINT64_C(1) << data->log2_range) * 8;
	RQL_TRY(rql_relation_buffer(b, bytes, &out->counts, err));
	for (uint32_t i = 0; i < 3; i++)
		RQL_TRY(rql_relation_buffer(b, bytes, &out->of_column[i], err));
	RQL_TRY(work_out(b, data, out, 0, err));
	struct rql_relation_bench_args args = *data;
	args.rows = UINT64_C(1) << data->log2_range;
	args.column_to[0] = out->counts->address;
	memset(rql_relation_results(b), 0, RQL_RELATION_RESULTS * 8);
	RQL_TRY(rql_relation_data(b, RQL_BENCH_COUNT_GROUPS, &args, err));
	*groups = rql_relation_results(b)[0];
	return RQL_OK;
}

rql_status rql_group_reference_check(struct rql_relation_bench *b, const struct rql_relation_bench_args *data,
                                     const struct rql_group_reference *reference, uint32_t column,
                                     const struct rql_relation_bench_args *answer, bool *good, struct rql_error *err)
{
	RQL_TRY(work_out(b, data, reference, column, err));
	struct rql_relation_bench_args args = *data;
	args.rows = answer->rows;
	args.part = column;
	args.keys_to = answer->keys_to;
	args.flags = answer->flags;
	memcpy(args.column, answer->column, sizeof args.column);
	args.column_to[0] = reference->counts->address;
	for (uint32_t k = 0; k < 3; k++)
		args.column_to[1 + k] = reference->of_column[k]->address;
	memset(rql_relation_results(b), 0, RQL_RELATION_RESULTS * 8);
	RQL_TRY(rql_relation_data(b, RQL_BENCH_GROUP_CHECK, &args, err));
	*good = rql_relation_results(b)[2] == 0;
	return RQL_OK;
}

static rql_status make_rows(struct rql_relation_bench *b, const struct shape *s, struct group_case *one,
                            struct rql_error *err)
{
	struct rql_group_by *g = &one->group;
	g->count = one->data.rows;
	g->key_bits = 32;
	g->column_count = s->columns;
	RQL_TRY(rql_relation_buffer(b, g->count * 4, &g->keys.buffer, err));
	one->data.keys = g->keys.buffer->address;
	for (uint32_t i = 0; i < s->columns; i++) {
		g->columns[i] = (struct rql_group_by_column){.bits = 32, .is_signed = true};
		RQL_TRY(rql_relation_buffer(b, g->count * 4, &g->columns[i].values.buffer, err));
		one->data.column[i] = g->columns[i].values.buffer->address;
	}
	RQL_TRY(rql_relation_data(b, RQL_BENCH_MAKE_GROUPS, &one->data, err));
	return rql_group_reference_new(b, &one->data, &one->reference, &one->groups, err);
}

static rql_status make_room(struct rql_relation_bench *b, struct group_case *one, struct rql_error *err)
{
	struct rql_group_by *g = &one->group;
	g->capacity = g->guess = one->groups;
	RQL_TRY(rql_relation_buffer(b, g->capacity * 4, &g->keys_out.buffer, err));
	RQL_TRY(rql_relation_buffer(b, g->capacity * 8, &g->counts.buffer, err));
	RQL_TRY(rql_relation_buffer(b, 16, &g->result.buffer, err));
	for (uint32_t i = 0; i < g->column_count; i++) {
		RQL_TRY(rql_relation_buffer(b, g->capacity * 8, &g->columns[i].sum.buffer, err));
		RQL_TRY(rql_relation_buffer(b, g->capacity * 8, &g->columns[i].min.buffer, err));
		RQL_TRY(rql_relation_buffer(b, g->capacity * 8, &g->columns[i].max.buffer, err));
	}
	one->base.floor_bytes = (double)g->count * 4 * (1 + g->column_count) +
	                        (double)g->capacity * (4 + 8 + 24 * (double)g->column_count);
	return RQL_OK;
}

static rql_status record_groups(struct rql_relation_case *one, struct rql_commands *c, struct rql_error *err)
{
	return rql_record_group_by(c, &((struct group_case *)one->state)->group, err);
}

/* Each group put out is a group with all its aggregates, none comes twice, and there are as many as there must be. */
static rql_status check_groups(struct rql_relation_bench *b, struct rql_relation_case *base, bool *good,
                               struct rql_error *err)
{
	struct group_case *one = base->state;
	const struct rql_group_by *g = &one->group;
	uint64_t result[2];
	RQL_TRY(rql_buffer_download(g->result.buffer, 0, result, 16, err));
	*good = result[0] == one->groups && result[1] == 0;
	for (uint32_t i = 0; i < g->column_count && *good; i++) {
		const struct rql_relation_bench_args answer = {
			.rows = one->groups,
			.keys_to = g->keys_out.buffer->address,
			.column = {g->counts.buffer->address, g->columns[i].sum.buffer->address, g->columns[i].min.buffer->address,
		               g->columns[i].max.buffer->address}};
		RQL_TRY(rql_group_reference_check(b, &one->data, &one->reference, i, &answer, good, err));
	}
	RQL_TRY(rql_relation_fill(b, g->counts.buffer, 0, g->counts.buffer->bytes, 0xdeadbeefu, err));
	return rql_relation_fill(b, g->result.buffer, 0, 16, UINT32_MAX, err);
}

static rql_status measure_groups(struct rql_relation_bench *b, struct group_case *one,
                                 const struct rql_relation_variant *variant, struct rql_error *err)
{
	uint32_t kept = b->buffer_count;
	one->group.random_keys = variant->random_keys;
	one->group.tuning = variant->tuning;
	one->base.scratch_bytes = rql_group_by_temp_bytes(&one->group);
	RQL_TRY(rql_relation_buffer(b, one->base.scratch_bytes, &one->group.temp.buffer, err));
	RQL_TRY(rql_relation_measure(b, &one->base, variant, err));
	rql_relation_drop_to(b, kept);
	return RQL_OK;
}

static rql_status run_groups(struct rql_relation_bench *b, const struct shape *s, struct rql_error *err)
{
	struct group_case one = {.base = {.record = record_groups, .check = check_groups}};
	int64_t log2_groups = s->log2_groups <= 16 ? s->log2_groups : s->log2_groups + b->options->log2_scale;
	one.base.state = &one;
	one.data = (struct rql_relation_bench_args){
		.rows = UINT64_C(1) << (LOG2_ROWS + b->options->log2_scale),
		.log2_range = log2_groups < 4 ? 4 : (uint32_t)log2_groups,
		.zipf = s->zipf ? 2 : 0,
	};
	snprintf(one.base.name, sizeof one.base.name, "group 2^%u rows, 2^%u groups, %u value%s%s",
	         LOG2_ROWS + (int)b->options->log2_scale, one.data.log2_range, s->columns, s->columns > 1 ? "s" : "",
	         s->zipf ? ", zipf 1.0" : "");
	if (!rql_relation_wanted(b, one.base.name))
		return RQL_OK;
	RQL_TRY(make_rows(b, s, &one, err));
	RQL_TRY(make_room(b, &one, err));
	RQL_TRY(measure_groups(b, &one, &chosen, err));
	for (uint32_t i = 0; b->options->variants && !s->zipf && s->columns == 1 && i < VARIANTS; i++)
		if (s->log2_groups >= variants[i].least_log2 && s->log2_groups <= variants[i].most_log2)
			RQL_TRY(measure_groups(b, &one, &variants[i].variant, err));
	rql_relation_drop(b);
	return RQL_OK;
}

rql_status rql_relation_groups(struct rql_relation_bench *b, struct rql_error *err)
{
	for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		RQL_TRY(run_groups(b, &shapes[i], err));
	return RQL_OK;
}
