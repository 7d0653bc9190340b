/* The workers' dictionaries become one per dimension: distinct values in the host's order, NULL last (method.h).
 *
 * Values are sorted as records of an order-preserving 8-byte key and where they came from; only strings and 16-byte
 * values with equal keys are compared in full. Of equal values (0.0 and -0.0) the first one seen by the lowest worker
 * stands for all. */
#include "column/dict.h"
#include "column/record_sort.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>

struct merge {
	const struct rql_dict_merge *in;
	uint32_t **remaps; /* where each dictionary's codes go */
	struct rql_type type;
	uint32_t width;
	uint64_t *sorted; /* pairs: key, dictionary << 32 | code */
	uint64_t count;
	bool has_null;
};

static bool is_string(struct rql_type type)
{
	return type.id == RQL_TYPE_VARCHAR || type.id == RQL_TYPE_BLOB;
}

/* Ascends with the value; equal keys mean equal values only for types of up to 8 bytes that are no strings. */
static uint64_t order_key(struct rql_type type, uint32_t width, const uint8_t *value)
{
	const uint64_t top = UINT64_C(1) << 63;
	if (is_string(type)) {
		struct rql_string s;
		char bytes[8] = {0};
		uint64_t key;
		memcpy(&s, value, sizeof s);
		memcpy(bytes, rql_string_data(&s), s.length < 8 ? s.length : 8);
		memcpy(&key, bytes, 8);
		return be64toh(key);
	}
	if (type.id == RQL_TYPE_FLOAT || type.id == RQL_TYPE_DOUBLE) {
		float f;
		double d;
		memcpy(&f, value, 4);
		if (type.id == RQL_TYPE_DOUBLE)
			memcpy(&d, value, 8);
		else
			d = (double)f;
		return rql_real_place(d);
	}
	uint64_t key = 0;
	if (width == 16) {
		memcpy(&key, value + 8, 8); /* UUIDs compare as signed with their top bit flipped: see type.h */
		return type.id == RQL_TYPE_UHUGEINT ? key : key ^ top;
	}
	memcpy(&key, value, width);
	if (!rql_type_is_signed(type))
		return key;
	uint32_t unused = 64 - width * 8;
	return (uint64_t)((int64_t)(key << unused) >> unused) ^ top;
}

static const uint8_t *value_of(const struct merge *merge, uint64_t origin)
{
	return merge->in->dicts[origin >> 32]->values + (origin & UINT32_MAX) * merge->width;
}

static int compare_values(const struct merge *merge, uint64_t a, uint64_t b)
{
	struct rql_column column_a = {.type = merge->type, .data = (void *)(uintptr_t)value_of(merge, a)};
	struct rql_column column_b = {.type = merge->type, .data = (void *)(uintptr_t)value_of(merge, b)};
	return rql_column_compare(&column_a, 0, &column_b, 0);
}

static int compare_pairs(const void *a, const void *b, void *state)
{
	uint64_t origin_a = ((const uint64_t *)a)[1], origin_b = ((const uint64_t *)b)[1];
	int order = compare_values(state, origin_a, origin_b);
	return order ? order : (origin_a > origin_b) - (origin_a < origin_b);
}

/* Sorts what equal keys left undecided. */
static void sort_ties(struct merge *merge)
{
	if (merge->width <= 8)
		return;
	for (uint64_t i = 0, end; i < merge->count; i = end) {
		for (end = i + 1; end < merge->count && merge->sorted[end * 2] == merge->sorted[i * 2];)
			end++;
		if (end - i > 1)
			qsort_r(merge->sorted + i * 2, end - i, 16, compare_pairs, merge);
	}
}

static bool same_value(const struct merge *merge, uint64_t i, uint64_t j)
{
	if (merge->sorted[i * 2] != merge->sorted[j * 2])
		return false;
	return merge->width <= 8 || compare_values(merge, merge->sorted[i * 2 + 1], merge->sorted[j * 2 + 1]) == 0;
}

/* Gathers all workers' values and sorts them. *buffers: two arrays to free. */
static rql_status gather(struct merge *merge, uint64_t *buffers[2], struct rql_error *err)
{
	struct rql_mem *mem = merge->in->crew->mem;
	for (uint32_t w = 0; w < merge->in->dict_count; w++) {
		merge->count += merge->in->dicts[w]->count;
		merge->has_null |= merge->in->dicts[w]->null_code != RQL_DICT_NO_CODE;
	}
	RQL_TRY(RQL_MEM_ARRAY(mem, buffers[0], merge->count * 2, err));
	RQL_TRY(RQL_MEM_ARRAY(mem, buffers[1], merge->count * 2, err));
	uint64_t n = 0;
	for (uint32_t w = 0; w < merge->in->dict_count; w++) {
		const struct rql_dict *dict = merge->in->dicts[w];
		for (uint32_t code = 0; code < dict->count; code++) {
			if (code == dict->null_code)
				continue;
			buffers[0][n * 2] = order_key(merge->type, merge->width, dict->values + (uint64_t)code * merge->width);
			buffers[0][n * 2 + 1] = (uint64_t)w << 32 | code;
			n++;
		}
	}
	merge->count = n;
	const uint32_t all_bits = 64;
	const struct rql_records sort = {
		.records = buffers[0], .scratch = buffers[1], .rows = n, .words = 2, .limbs = 1, .limb_bits = &all_bits};
	RQL_TRY(rql_sort_records(merge->in->crew, &sort, &merge->sorted, err));
	sort_ties(merge);
	return RQL_OK;
}

static rql_status count_values(const struct merge *merge, uint32_t *out, uint64_t *text, struct rql_error *err)
{
	uint64_t distinct = merge->has_null;
	*text = 0;
	for (uint64_t i = 0; i < merge->count; i++) {
		if (i && same_value(merge, i - 1, i))
			continue;
		distinct++;
		if (is_string(merge->type)) {
			struct rql_string s;
			memcpy(&s, value_of(merge, merge->sorted[i * 2 + 1]), sizeof s);
			*text += s.length > RQL_STRING_INLINE ? s.length : 0;
		}
	}
	if (distinct >= UINT32_MAX)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "%s: a column has more than 4294967294 distinct values, which is "
		                     "more than a dimension can hold; leave it out",
		                     merge->in->crew->mem->what);
	*out = (uint32_t)distinct;
	return RQL_OK;
}

/* Writes the distinct values into the dimension and each worker's codes into its remap. */
static void put_values(const struct merge *merge, struct rql_dimension *dimension, char *text)
{
	uint8_t *values = dimension->values.data;
	uint32_t code = 0;
	for (uint64_t i = 0; i < merge->count; i++) {
		uint64_t origin = merge->sorted[i * 2 + 1];
		if (!i || !same_value(merge, i - 1, i)) {
			uint8_t *at = values + (uint64_t)code++ * merge->width;
			memcpy(at, value_of(merge, origin), merge->width);
			if (is_string(merge->type)) {
				struct rql_string s;
				memcpy(&s, at, sizeof s);
				if (s.length > RQL_STRING_INLINE) {
					memcpy(text, s.pointer.data, s.length);
					s.pointer.data = text;
					text += s.length;
					memcpy(at, &s, sizeof s);
				}
			}
		}
		merge->remaps[origin >> 32][origin & UINT32_MAX] = code - 1;
	}
	for (uint32_t w = 0; w < merge->in->dict_count; w++) {
		if (merge->in->dicts[w]->null_code != RQL_DICT_NO_CODE)
			merge->remaps[w][merge->in->dicts[w]->null_code] = dimension->count - 1;
	}
}

static rql_status make_dimension(const struct merge *merge, struct rql_dimension *out, struct rql_error *err)
{
	struct rql_mem *mem = merge->in->mem;
	struct rql_dimension dimension = {.has_null = merge->has_null};
	uint64_t text_bytes;
	char *text = NULL;
	uint8_t *values;
	RQL_TRY(count_values(merge, &dimension.count, &text_bytes, err));
	dimension.type = dimension.values.type = rql_type_copy(merge->in->arena, merge->type);
	if (dimension.type.id != merge->type.id)
		return rql_error_memory(err, sizeof(struct rql_type_info), "a dimension's type");
	RQL_TRY(RQL_MEM_ZARRAY(mem, values, (uint64_t)dimension.count * merge->width, err));
	dimension.values.data = values;
	if (text_bytes)
		RQL_TRY(RQL_MEM_ARRAY(mem, text, text_bytes, err));
	if (dimension.has_null) {
		uint64_t words = (dimension.count + UINT64_C(63)) / 64;
		RQL_TRY(RQL_MEM_ARRAY(mem, dimension.values.validity, words, err));
		memset(dimension.values.validity, 0xff, words * 8);
		dimension.values.validity[(dimension.count - 1) >> 6] &= ~(UINT64_C(1) << ((dimension.count - 1) & 63));
	}
	put_values(merge, &dimension, text);
	*out = dimension;
	return RQL_OK;
}

rql_status rql_dict_merge(const struct rql_dict_merge *in, uint32_t **remaps, struct rql_dimension *out,
                          struct rql_error *err)
{
	struct rql_mem *mem = in->crew->mem;
	uint64_t *buffers[2] = {NULL, NULL};
	struct merge merge = {.in = in, .remaps = remaps, .type = in->type, .width = rql_type_bytes(in->type)};
	for (uint32_t w = 0; w < in->dict_count; w++)
		RQL_TRY(RQL_MEM_ARRAY(mem, remaps[w], in->dicts[w]->count, err));
	RQL_TRY(gather(&merge, buffers, err));
	RQL_TRY(make_dimension(&merge, out, err));
	rql_mem_free(mem, buffers[0]);
	rql_mem_free(mem, buffers[1]);
	return RQL_OK;
}

uint32_t rql_dimension_find(const struct rql_dimension *dimension, const struct rql_column *column, uint64_t row)
{
	uint32_t low = 0, high = dimension->count - dimension->has_null;
	if (!rql_column_valid(column, row))
		return dimension->has_null ? high : RQL_DICT_NO_CODE;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (rql_column_compare(&dimension->values, middle, column, row) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	bool found =
		low < dimension->count - dimension->has_null && rql_column_compare(&dimension->values, low, column, row) == 0;
	return found ? low : RQL_DICT_NO_CODE;
}
