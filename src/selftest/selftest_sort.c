/* Radix sort against a merge sort that shares nothing with it. */
#include "selftest/selftest_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "primitive/primitive.h"
#include "util/sort.h"

enum pattern { RANDOM, EQUAL, SORTED, REVERSED, FEW_BITS, FEW_VALUES, GREATEST, PATTERNS };
static const char *const pattern_names[] = {"random",   "equal",      "sorted",  "reversed",
                                            "few bits", "few values", "greatest"};

struct sort_check {
	uint32_t key_bits, value_bits, low, high;
	uint64_t count;
	enum pattern pattern;
	bool in_place, iota;
};

/* Keys as 64-bit words, values a function of the row so that a lost payload shows. */
static uint64_t key_of(struct rql_selftest *t, const struct sort_check *k, uint64_t row)
{
	uint64_t all = k->key_bits == 64 ? UINT64_MAX : UINT32_MAX;
	switch (k->pattern) {
	case EQUAL:
		return UINT64_C(0x123456789abcdef0) & all;
	case SORTED:
		return (row << k->low) & all;
	case REVERSED:
		return ((k->count - row) << k->low) & all;
	case FEW_BITS:
		return (rql_selftest_random(t) & UINT64_C(0x8001000180010001)) & all;
	case FEW_VALUES:
		return (rql_selftest_below(t, 7) * UINT64_C(0x0101010101010101)) & all;
	case GREATEST: /* the same as what fills up the last tile */
		return rql_selftest_below(t, 2) ? all : all - 1;
	default:
		return rql_selftest_random(t) & all;
	}
}

static uint64_t value_of(const struct sort_check *k, uint64_t row)
{
	uint64_t value = k->iota ? row : row * UINT64_C(0x9e3779b97f4a7c15);
	return k->value_bits == 64 ? value : (uint32_t)value;
}

static void put(void *array, uint32_t bits, uint64_t i, uint64_t value)
{
	if (bits == 64)
		((uint64_t *)array)[i] = value;
	else
		((uint32_t *)array)[i] = (uint32_t)value;
}

struct oracle {
	const uint64_t *keys;
	uint32_t low;
	uint64_t mask;
};

static int order(const void *context, uint32_t a, uint32_t b)
{
	const struct oracle *o = context;
	uint64_t x = o->keys[a] >> o->low & o->mask, y = o->keys[b] >> o->low & o->mask;
	return (x > y) - (x < y);
}

static rql_status gpu_sort(struct rql_selftest *t, const struct sort_check *k, void *keys, void *values,
                           struct rql_error *err)
{
	struct rql_sort sort = {.key_bits = k->key_bits,
	                        .value_bits = k->value_bits,
	                        .low_bit = k->low,
	                        .high_bit = k->high,
	                        .count = k->count};
	struct rql_commands *c;
	uint64_t key_bytes = k->count * k->key_bits / 8, value_bytes = k->count * k->value_bits / 8;
	RQL_TRY(rql_selftest_buffer(t, key_bytes, keys, "sort keys", &sort.keys_in.buffer, err));
	if (k->value_bits && !k->iota)
		RQL_TRY(rql_selftest_buffer(t, value_bytes, values, "sort values", &sort.values_in.buffer, err));
	sort.keys_out = sort.keys_in;
	sort.values_out = sort.values_in;
	if (!k->in_place)
		RQL_TRY(rql_selftest_buffer(t, key_bytes, NULL, "sorted keys", &sort.keys_out.buffer, err));
	if (k->value_bits && (!k->in_place || k->iota))
		RQL_TRY(rql_selftest_buffer(t, value_bytes, NULL, "sorted values", &sort.values_out.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, rql_sort_temp_bytes(&sort), NULL, "sort temp", &sort.temp.buffer, err));
	RQL_TRY(rql_selftest_record(t, &c, err));
	RQL_TRY(rql_record_sort(c, &sort, err));
	RQL_TRY(rql_selftest_execute(t, err));
	RQL_TRY(rql_buffer_download(sort.keys_out.buffer, 0, keys, key_bytes, err));
	if (k->value_bits)
		RQL_TRY(rql_buffer_download(sort.values_out.buffer, 0, values, value_bytes, err));
	rql_selftest_drop(t);
	return RQL_OK;
}

struct sort_arrays {
	uint64_t *words;
	uint32_t *rows, *spare;
	void *keys, *values, *wanted;
};

static rql_status compare_sort(struct rql_selftest *t, const struct sort_check *k, struct sort_arrays *a,
                               struct rql_error *err)
{
	char what[120];
	uint32_t bits = k->high - k->low;
	struct oracle oracle = {a->words, k->low, rql_bit_mask(bits)};
	for (uint64_t i = 0; i < k->count; i++) {
		a->words[i] = key_of(t, k, i);
		a->rows[i] = (uint32_t)i;
		put(a->keys, k->key_bits, i, a->words[i]);
		if (k->value_bits)
			put(a->values, k->value_bits, i, value_of(k, i));
	}
	rql_sort_items(a->rows, a->spare, k->count, order, &oracle);
	RQL_TRY(gpu_sort(t, k, a->keys, a->values, err));
	snprintf(what, sizeof(what), "sort of %llu %s keys of %u bits, values %u, bits %u to %u%s%s",
	         (unsigned long long)k->count, pattern_names[k->pattern], k->key_bits, k->value_bits, k->low, k->high,
	         k->in_place ? " in place" : "", k->iota ? " with row numbers" : "");
	for (uint64_t i = 0; i < k->count; i++)
		put(a->wanted, k->key_bits, i, a->words[a->rows[i]]);
	RQL_TRY(rql_selftest_same(a->keys, a->wanted, k->count, k->key_bits / 8, what, err));
	if (!k->value_bits)
		return RQL_OK;
	for (uint64_t i = 0; i < k->count; i++)
		put(a->wanted, k->value_bits, i, value_of(k, a->rows[i]));
	return rql_selftest_same(a->values, a->wanted, k->count, k->value_bits / 8, what, err);
}

static rql_status check_sort(struct rql_selftest *t, const struct sort_check *k, struct rql_error *err)
{
	uint64_t bytes = k->count * 8 + 8;
	struct sort_arrays a = {malloc(bytes), malloc(bytes), malloc(bytes), malloc(bytes), malloc(bytes), malloc(bytes)};
	rql_status status;
	if (a.words && a.rows && a.spare && a.keys && a.values && a.wanted)
		status = compare_sort(t, k, &a, err);
	else
		status = rql_error_memory(err, bytes * 6, "a selftest's data");
	free(a.words);
	free(a.rows);
	free(a.spare);
	free(a.keys);
	free(a.values);
	free(a.wanted);
	return status;
}

/* Sizes around workgroups and tiles, the patterns and the forms in turn. */
static rql_status test_sizes(struct rql_selftest *t, struct rql_error *err)
{
	static const uint64_t sizes[] = {0, 1, 2, 255, 256, 257, 2047, 2048, 2049, 4095, 4096, 4097, 12289, 70001};
	static const uint32_t values[] = {0, 32, 64};
	uint32_t turn = 0;
	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (uint32_t key_bits = 32; key_bits <= 64; key_bits += 32) {
			for (uint32_t v = 0; v < 3; v++, turn++) {
				struct sort_check k = {key_bits, values[v],    0, key_bits, sizes[i], (enum pattern)(turn % PATTERNS),
				                       turn % 2, turn % 5 == 3};
				RQL_TRY(check_sort(t, &k, err));
			}
		}
	}
	return RQL_OK;
}

/* Every pattern, with a payload that shows whether equal keys kept their order. */
static rql_status test_stable(struct rql_selftest *t, struct rql_error *err)
{
	for (int pattern = RANDOM; pattern < PATTERNS; pattern++) {
		struct sort_check k = {32, 32, 0, 32, 20011, (enum pattern)pattern, false, true};
		RQL_TRY(check_sort(t, &k, err));
		k = (struct sort_check){64, 64, 0, 64, 10007, (enum pattern)pattern, true, false};
		RQL_TRY(check_sort(t, &k, err));
	}
	return RQL_OK;
}

/* Parts of keys: odd and even numbers of digits, digits of less than 8 and 4 bits, no bit at all. */
static rql_status test_bits(struct rql_selftest *t, struct rql_error *err)
{
	static const uint32_t ranges[][2] = {{0, 1}, {0, 4}, {3, 8}, {0, 8}, {5, 14}, {0, 16}, {7, 31}, {8, 32}, {0, 0}};
	for (uint32_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		for (uint32_t in_place = 0; in_place < 2; in_place++) {
			struct sort_check k = {32, 32, ranges[i][0], ranges[i][1], 9001, RANDOM, in_place, false};
			RQL_TRY(check_sort(t, &k, err));
			k.key_bits = 64;
			k.low = k.low * 2;
			k.high = k.high * 2;
			RQL_TRY(check_sort(t, &k, err));
		}
	}
	return RQL_OK;
}

static rql_status test_large(struct rql_selftest *t, struct rql_error *err)
{
	struct sort_check k = {32, 32, 0, 32, 1000003, RANDOM, false, true};
	RQL_TRY(check_sort(t, &k, err));
	/* More tiles than workgroups, so that a workgroup carries its digits' places from tile to tile. */
	k = (struct sort_check){64, 0, 20, 28, 4300003, RANDOM, false, false};
	RQL_TRY(check_sort(t, &k, err));
	if (!t->thorough)
		return RQL_OK;
	for (uint32_t value_bits = 0; value_bits <= 64; value_bits += 32) {
		k = (struct sort_check){32, value_bits, 0, 32, 20000003, RANDOM, true, false};
		RQL_TRY(check_sort(t, &k, err));
		k = (struct sort_check){64, value_bits, 0, 64, 20000003, FEW_BITS, false, false};
		RQL_TRY(check_sort(t, &k, err));
	}
	return RQL_OK;
}

#define COMPUTE RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE)
const struct rql_selftest_case rql_selftest_sort[] = {
	{"sort.sizes", COMPUTE, test_sizes},
	{"sort.stable", COMPUTE, test_stable},
	{"sort.bits", COMPUTE, test_bits},
	{"sort.large", COMPUTE, test_large},
	{0},
};
