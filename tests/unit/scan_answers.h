/* Answers of scans, compared. */
#ifndef RQL_TESTS_UNIT_SCAN_ANSWERS_H
#define RQL_TESTS_UNIT_SCAN_ANSWERS_H

#include "scan_world.h"

static const struct rql_port *ordered;
static uint32_t ordered_keys;
static int by_keys(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
	for (uint32_t k = 0; k < ordered_keys; k++)
		if (ordered->keys[k][a] != ordered->keys[k][b])
			return ordered->keys[k][a] < ordered->keys[k][b] ? -1 : 1;
	return 0;
}

/* The groups ascending by their keys, whatever order they came in. */
static uint64_t *order_of(const struct rql_port *answer, uint32_t keys)
{
	uint64_t *order = need(calloc(answer->group_count + 1, sizeof(*order)));
	for (uint64_t g = 0; g < answer->group_count; g++)
		order[g] = g;
	ordered = answer;
	ordered_keys = keys;
	qsort(order, answer->group_count, sizeof(*order), by_keys);
	return order;
}

static bool is_valid(const struct rql_agg_values *v, uint64_t g)
{
	return !v->valid || (v->valid[g / 64] >> g % 64 & 1);
}

static void same_answer(const struct rql_port *a, const struct rql_port *b, uint32_t keys, uint32_t aggs)
{
	assert_int_equal(a->group_count, b->group_count);
	uint64_t *left = order_of(a, keys), *right = order_of(b, keys);
	for (uint64_t g = 0; g < a->group_count; g++) {
		uint64_t l = left[g], r = right[g];
		for (uint32_t k = 0; k < keys; k++)
			assert_int_equal(a->keys[k][l], b->keys[k][r]);
		for (uint32_t i = 0; i < aggs; i++) {
			const struct rql_agg_values *va = &a->aggs[i], *vb = &b->aggs[i];
			assert_int_equal(va->kind, vb->kind);
			assert_int_equal(is_valid(va, l), is_valid(vb, r));
			if (is_valid(va, l) && va->kind == RQL_MEASURE_REAL)
				assert_int_equal(order_real(va->real[l], vb->real[r]), 0);
			else if (is_valid(va, l))
				assert_true(va->integer[l] == vb->integer[r]);
		}
	}
	free(left);
	free(right);
}

#endif
