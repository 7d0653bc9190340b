/* Rows put in order on a device: keys sorted with the numbers of their rows, by themselves and with columns gathered in that
 * order, as ORDER BY has them (src/method/materialise). */
#include <stdio.h>

#include "bench/relation/relation_bench.h"
#include "primitive/primitive.h"

#define LOG2_ROWS 27u

/* Distinct keys: 2^(rows' logarithm - less), at least 16. */
static const struct shape {
	uint32_t key_bits, less, columns;
} shapes[] = {{32, 0, 0}, {32, 20, 0}, {32, 0, 4}, {64, 0, 0}, {64, 0, 4}};

struct sort_case {
	struct rql_relation_case base; /* first */
	struct rql_relation_bench *bench;
	struct rql_relation_bench_args data;
	struct rql_sort sort;
	uint32_t columns;
	struct rql_buffer *from[4], *to[4];
};

static rql_status record(struct rql_relation_case *base, struct rql_commands *c, struct rql_error *err)
{
	struct sort_case *one = base->state;
	RQL_TRY(rql_record_sort(c, &one->sort, err));
	for (uint32_t i = 0; i < one->columns; i++) {
		struct rql_relation_bench_args gather = {.rows = one->data.rows};
		gather.column[0] = one->from[i]->address;
		gather.column[1] = one->sort.values_out.buffer->address;
		gather.column_to[0] = one->to[i]->address;
		RQL_TRY(rql_relation_record_data(one->bench, c, RQL_BENCH_GATHER, &gather, err));
	}
	return RQL_OK;
}

/* Pairs of key and row that ascend strictly, with every row's own key: each row is there once, equal keys in rows' order. */
static rql_status check(struct rql_relation_bench *b, struct rql_relation_case *base, bool *good, struct rql_error *err)
{
	struct sort_case *one = base->state;
	struct rql_relation_bench_args args = one->data;
	args.keys_to = one->sort.keys_out.buffer->address;
	args.column[0] = one->sort.values_out.buffer->address;
	for (uint32_t i = 0; i < 4; i++)
		args.column_to[i] = i < one->columns ? one->to[i]->address : 0;
	rql_relation_results(b)[2] = 0;
	RQL_TRY(rql_relation_data(b, RQL_BENCH_SORT_CHECK, &args, err));
	*good = rql_relation_results(b)[2] == 0;
	return RQL_OK;
}

static rql_status make_room(struct rql_relation_bench *b, struct sort_case *one, struct rql_error *err)
{
	const uint64_t rows = one->data.rows;
	struct rql_sort *sort = &one->sort;
	RQL_TRY(rql_relation_buffer(b, rows * (sort->key_bits / 8), &sort->keys_in.buffer, err));
	RQL_TRY(rql_relation_buffer(b, rows * (sort->key_bits / 8), &sort->keys_out.buffer, err));
	RQL_TRY(rql_relation_buffer(b, rows * 4, &sort->values_out.buffer, err));
	one->data.keys = sort->keys_in.buffer->address;
	for (uint32_t i = 0; i < one->columns; i++) {
		RQL_TRY(rql_relation_buffer(b, rows * 4, &one->from[i], err));
		RQL_TRY(rql_relation_buffer(b, rows * 4, &one->to[i], err));
		one->data.column[i] = one->from[i]->address;
		RQL_TRY(rql_relation_fill(b, one->to[i], 0, rows * 4, 0xdeadbeefu, err));
	}
	RQL_TRY(rql_relation_data(b, RQL_BENCH_MAKE_PROBE, &one->data, err));
	one->base.scratch_bytes = rql_sort_temp_bytes(sort);
	return rql_relation_buffer(b, one->base.scratch_bytes, &sort->temp.buffer, err);
}

static rql_status run_shape(struct rql_relation_bench *b, const struct shape *s, struct rql_error *err)
{
	static const struct rql_relation_variant variant = {.name = "by digits"};
	const int64_t at = (int64_t)LOG2_ROWS + b->options->log2_scale;
	const uint32_t log2_rows = at < 12 ? 12 : (uint32_t)at, range = log2_rows < s->less + 4 ? 4 : log2_rows - s->less;
	const double rows = (double)(UINT64_C(1) << log2_rows), key = s->key_bits / 8.0;
	struct sort_case one = {.base = {.record = record, .check = check}, .bench = b, .columns = s->columns};
	one.base.state = &one;
	one.data = (struct rql_relation_bench_args){.rows = UINT64_C(1) << log2_rows,
	                                            .log2_rows = log2_rows,
	                                            .log2_range = range,
	                                            .flags = s->key_bits == 64 ? RQL_BENCH_WIDE_KEYS : 0};
	one.sort = (struct rql_sort){
		.key_bits = s->key_bits, .value_bits = 32, .high_bit = s->key_bits, .count = one.data.rows};
	snprintf(one.base.name, sizeof one.base.name, "sort 2^%u rows, u%u, 2^%u keys, %u columns", log2_rows, s->key_bits,
	         range, s->columns);
	if (!rql_relation_wanted(b, one.base.name))
		return RQL_OK;
	RQL_TRY(make_room(b, &one, err));
	one.base.floor_bytes = rows * (2 * key + 4 + 8.0 * s->columns);
	one.base.moved_bytes = rows * (s->key_bits / 8 * (3 * key + 8) + 12.0 * s->columns);
	RQL_TRY(rql_relation_measure(b, &one.base, &variant, err));
	rql_relation_drop(b);
	return RQL_OK;
}

rql_status rql_relation_sorts(struct rql_relation_bench *b, struct rql_error *err)
{
	for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		RQL_TRY(run_shape(b, &shapes[i], err));
	return RQL_OK;
}
