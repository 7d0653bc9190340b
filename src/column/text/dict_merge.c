/* The workers' dictionaries become one per dimension: distinct values in the host's order, NULL last (method.h). All
 * threads gather, sort, count and write; what they write is the same with any number of them.
 *
 * Values are sorted as records of an order-preserving 8-byte key and where they came from; only strings and 16-byte
 * values with equal keys are compared in full. Of equal values (0.0 and -0.0) the first one seen by the lowest worker
 * stands for all. */
#include "column/record_sort.h"
#include "column/text/dict.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>

#define GATHERED_AT_ONCE 65536u /* codes */
#define LEAST_PIECE 4096u       /* records that are worth a hand-over */
#define PIECES_EACH 8u          /* for a thread: long runs of ties are rare, and somewhere */

/* Sorted records whose keys no other piece has, and what is made of them. */
struct piece {
	uint64_t first, end;
	uint64_t values, text_bytes; /* distinct */
	uint64_t code;               /* of the first value */
	char *text;
};

struct merge {
	const struct rql_dict_merge *in;
	uint32_t **remaps; /* where each dictionary's codes go */
	struct rql_type type;
	uint32_t width;
	uint64_t *sorted; /* pairs: key, dictionary << 32 | code */
	uint64_t count;
	bool has_null;
	uint64_t *bases;    /* [dictionaries]: where the records of each begin */
	uint64_t *unsorted; /* the records as they are gathered */
	uint32_t piece_count;
	struct piece *pieces;
	struct rql_dimension *dimension;
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
static void sort_ties(void *state, uint64_t index, unsigned worker)
{
	struct merge *merge = state;
	const struct piece *p = &merge->pieces[index];
	(void)worker;
	if (merge->width <= 8)
		return;
	for (uint64_t i = p->first, end; i < p->end; i = end) {
		for (end = i + 1; end < p->end && merge->sorted[end * 2] == merge->sorted[i * 2];)
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

struct gathering {
	const struct merge *merge;
	uint32_t dict;
};

static void gather_codes(void *state, uint64_t index, unsigned worker)
{
	const struct merge *merge = ((const struct gathering *)state)->merge;
	uint32_t w = ((const struct gathering *)state)->dict, first = (uint32_t)index * GATHERED_AT_ONCE;
	const struct rql_dict *dict = merge->in->dicts[w];
	uint64_t *to = merge->unsorted + (merge->bases[w] + first - (first > dict->null_code)) * 2;
	(void)worker;
	for (uint32_t code = first; code < dict->count && code - first < GATHERED_AT_ONCE; code++) {
		if (code == dict->null_code)
			continue;
		*to++ = order_key(merge->type, merge->width, dict->values + (uint64_t)code * merge->width);
		*to++ = (uint64_t)w << 32 | code;
	}
}

/* Gathers all workers' values and sorts their records; ties are left. *buffers: two arrays to free. */
static rql_status gather(struct merge *merge, uint64_t *buffers[2], struct rql_error *err)
{
	const struct rql_crew *crew = merge->in->crew;
	RQL_TRY(RQL_MEM_ARRAY(crew->mem, merge->bases, merge->in->dict_count, err));
	for (uint32_t w = 0; w < merge->in->dict_count; w++) {
		const struct rql_dict *dict = merge->in->dicts[w];
		bool null = dict->null_code != RQL_DICT_NO_CODE;
		merge->bases[w] = merge->count;
		merge->count += dict->count - null;
		merge->has_null |= null;
	}
	RQL_TRY(RQL_MEM_ARRAY(crew->mem, buffers[0], merge->count * 2, err));
	RQL_TRY(RQL_MEM_ARRAY(crew->mem, buffers[1], merge->count * 2, err));
	merge->unsorted = buffers[0];
	for (uint32_t w = 0; w < merge->in->dict_count; w++) {
		struct gathering g = {merge, w};
		rql_crew_run(crew, ((uint64_t)merge->in->dicts[w]->count + GATHERED_AT_ONCE - 1) / GATHERED_AT_ONCE,
		             gather_codes, &g);
	}
	rql_mem_free(crew->mem, merge->bases);
	const uint32_t all_bits = 64;
	const struct rql_records sort = {.records = buffers[0],
	                                 .scratch = buffers[1],
	                                 .rows = merge->count,
	                                 .words = 2,
	                                 .limbs = 1,
	                                 .limb_bits = &all_bits};
	return rql_sort_records(crew, &sort, &merge->sorted, err);
}

/* Cuts the sorted records where keys differ. */
static rql_status cut(struct merge *merge, struct rql_error *err)
{
	const struct rql_crew *crew = merge->in->crew;
	uint64_t most = (uint64_t)rql_crew_threads(crew) * PIECES_EACH, at = 0;
	most = merge->count / LEAST_PIECE < most ? merge->count / LEAST_PIECE + 1 : most;
	RQL_TRY(RQL_MEM_ZARRAY(crew->mem, merge->pieces, most, err));
	for (uint64_t i = 1; i <= most && at < merge->count; i++) {
		uint64_t end = merge->count * i / most;
		end = end > at ? end : at + 1;
		while (end < merge->count && merge->sorted[end * 2] == merge->sorted[(end - 1) * 2])
			end++;
		merge->pieces[merge->piece_count++] = (struct piece){.first = at, .end = end};
		at = end;
	}
	return RQL_OK;
}

static void count_piece(void *state, uint64_t index, unsigned worker)
{
	const struct merge *merge = state;
	struct piece *p = &merge->pieces[index];
	(void)worker;
	for (uint64_t i = p->first; i < p->end; i++) {
		if (i > p->first && same_value(merge, i - 1, i))
			continue;
		p->values++;
		if (is_string(merge->type)) {
			struct rql_string s;
			memcpy(&s, value_of(merge, merge->sorted[i * 2 + 1]), sizeof s);
			p->text_bytes += s.length > RQL_STRING_INLINE ? s.length : 0;
		}
	}
}

static rql_status count_values(struct merge *merge, uint32_t *out, uint64_t *text, struct rql_error *err)
{
	uint64_t distinct = 0;
	*text = 0;
	rql_crew_run(merge->in->crew, merge->piece_count, count_piece, merge);
	for (uint32_t i = 0; i < merge->piece_count; i++) {
		merge->pieces[i].code = distinct;
		distinct += merge->pieces[i].values;
		*text += merge->pieces[i].text_bytes;
	}
	distinct += merge->has_null;
	if (distinct >= UINT32_MAX)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "%s: a column has more than 4294967294 distinct values, which is "
		                     "more than a dimension can hold; leave it out",
		                     merge->in->crew->mem->what);
	*out = (uint32_t)distinct;
	return RQL_OK;
}

static void put_value(const struct merge *merge, uint64_t origin, uint8_t *at, char **text)
{
	struct rql_string s;
	memcpy(at, value_of(merge, origin), merge->width);
	if (!is_string(merge->type))
		return;
	memcpy(&s, at, sizeof s);
	if (s.length <= RQL_STRING_INLINE)
		return;
	memcpy(*text, s.pointer.data, s.length);
	s.pointer.data = *text;
	*text += s.length;
	memcpy(at, &s, sizeof s);
}

/* Writes the distinct values into the dimension and each worker's codes into its remap. */
static void put_piece(void *state, uint64_t index, unsigned worker)
{
	const struct merge *merge = state;
	const struct piece *p = &merge->pieces[index];
	uint8_t *values = merge->dimension->values.data;
	uint64_t code = p->code;
	char *text = p->text;
	(void)worker;
	for (uint64_t i = p->first; i < p->end; i++) {
		uint64_t origin = merge->sorted[i * 2 + 1];
		if (i == p->first || !same_value(merge, i - 1, i))
			put_value(merge, origin, values + code++ * merge->width, &text);
		merge->remaps[origin >> 32][origin & UINT32_MAX] = (uint32_t)code - 1;
	}
}

static void put_values(struct merge *merge, struct rql_dimension *dimension, char *text)
{
	for (uint32_t i = 0; i < merge->piece_count; i++) {
		merge->pieces[i].text = text;
		text = text ? text + merge->pieces[i].text_bytes : NULL;
	}
	merge->dimension = dimension;
	rql_crew_run(merge->in->crew, merge->piece_count, put_piece, merge);
	for (uint32_t w = 0; w < merge->in->dict_count; w++) {
		if (merge->in->dicts[w]->null_code != RQL_DICT_NO_CODE)
			merge->remaps[w][merge->in->dicts[w]->null_code] = dimension->count - 1;
	}
}

static rql_status make_dimension(struct merge *merge, struct rql_dimension *out, struct rql_error *err)
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
		rql_bit_clear(dimension.values.validity, dimension.count - 1);
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
	RQL_TRY(cut(&merge, err));
	rql_crew_run(in->crew, merge.piece_count, sort_ties, &merge);
	RQL_TRY(make_dimension(&merge, out, err));
	rql_mem_free(mem, merge.pieces);
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

uint32_t rql_dimension_find_value(const struct rql_dimension *dimension, const struct rql_value *value)
{
	uint32_t low = 0, high = dimension->count - dimension->has_null;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct rql_value there = rql_column_get(&dimension->values, middle);
		const int order = rql_value_compare(&there, value);
		if (order == 0)
			return middle;
		low = order < 0 ? middle + 1 : low;
		high = order < 0 ? high : middle;
	}
	return RQL_DICT_NO_CODE;
}
