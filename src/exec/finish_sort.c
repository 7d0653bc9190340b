#include <string.h>
#include "exec/rowset.h"
#include "util/sort.h"

/* One ORDER BY key, its values at hand in the cheapest form that compares. */
struct sort_key {
	const struct rql_vector *vector;
	bool descending, nulls_first;
};

struct sorting {
	uint32_t count;
	struct sort_key *keys;
};

static bool is_null(const struct sort_key *k, uint32_t row)
{
	const struct rql_vector *v = k->vector;
	if (v->kind == RQL_VECTOR_CODES)
		return rql_vector_null_code(v, v->codes[row]);
	if (v->kind == RQL_VECTOR_WIDE)
		return v->wide[row] == v->null_wide;
	if (v->kind == RQL_VECTOR_VALUES)
		return v->computed[row].is_null;
	return v->valid && !(v->valid[row >> 6] >> (row & 63) & 1);
}

static int compare_values(const struct rql_vector *v, uint32_t a, uint32_t b)
{
	if (v->kind == RQL_VECTOR_CODES && v->ordered)
		return (v->codes[a] > v->codes[b]) - (v->codes[a] < v->codes[b]);
	if (v->kind == RQL_VECTOR_WIDE)
		return (v->wide[a] > v->wide[b]) - (v->wide[a] < v->wide[b]);
	if (v->kind == RQL_VECTOR_INTEGER && v->type.id != RQL_TYPE_UHUGEINT)
		return (v->integer[a] > v->integer[b]) - (v->integer[a] < v->integer[b]);
	struct rql_value x = rql_vector_get(v, a), y = rql_vector_get(v, b);
	return rql_value_compare(&x, &y);
}

static int compare_rows(const void *context, uint32_t a, uint32_t b)
{
	const struct sorting *s = context;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct sort_key *k = &s->keys[i];
		bool null_a = is_null(k, a), null_b = is_null(k, b);
		if (null_a || null_b) {
			if (null_a == null_b)
				continue;
			return null_a == k->nulls_first ? -1 : 1;
		}
		int c = compare_values(k->vector, a, b);
		if (c)
			return k->descending ? -c : c;
	}
	return 0;
}

/* Whether the first key alone says that a row comes behind another: what most rows of a top-N need. For keys that are
 * numbers without NULLs; others are compared as a whole. */
static bool first_key_behind(const struct sorting *s, uint32_t row, uint32_t than)
{
	const struct rql_vector *v = s->keys[0].vector;
	if (v->kind != RQL_VECTOR_INTEGER || v->valid || v->type.id == RQL_TYPE_UHUGEINT)
		return false;
	return s->keys[0].descending ? v->integer[row] < v->integer[than] : v->integer[row] > v->integer[than];
}

/* Keeps the `limit` first rows of the set in a heap whose root is the last of them: n log(limit) comparisons at worst,
 * about n when few rows get in. */
static void keep_first(const struct sorting *s, const struct rql_rowset *set, uint32_t *rows, uint64_t limit)
{
	for (uint64_t i = 0; i < set->rows; i++) {
		uint64_t hole;
		uint32_t row = rql_rowset_row(set, i);
		if (i < limit) { /* sift up */
			for (hole = i; hole && compare_rows(s, rows[(hole - 1) / 2], row) < 0; hole = (hole - 1) / 2)
				rows[hole] = rows[(hole - 1) / 2];
		} else if (!first_key_behind(s, row, rows[0]) && compare_rows(s, row, rows[0]) < 0) {
			for (hole = 0; 2 * hole + 1 < limit;) { /* replace the root, sift down */
				uint64_t child = 2 * hole + 1;
				if (child + 1 < limit && compare_rows(s, rows[child], rows[child + 1]) < 0)
					child++;
				if (compare_rows(s, rows[child], row) <= 0)
					break;
				rows[hole] = rows[child];
				hole = child;
			}
		} else {
			continue;
		}
		rows[hole] = row;
	}
}

/* ---- many rows ---- */

#define RADIX_ROWS 4096u /* from these on */

struct sort_item {
	uint64_t word;
	uint32_t row;
};

/* The first key as words that ascend as it does: NULL is 0 or the greatest, values lie between. false: it has no such
 * words. */
static bool first_key_words(const struct sort_key *k, const uint32_t *rows, uint64_t count, struct sort_item *items)
{
	const struct rql_vector *v = k->vector;
	rql_int128 least = 0, greatest = 0;
	bool codes = v->kind == RQL_VECTOR_CODES && v->ordered, some = false;
	if (!codes && v->kind != RQL_VECTOR_WIDE && (v->kind != RQL_VECTOR_INTEGER || v->type.id == RQL_TYPE_UHUGEINT))
		return false;
	for (uint64_t i = 0; i < count && v->kind == RQL_VECTOR_INTEGER; i++) {
		if (is_null(k, rows[i]))
			continue;
		least = !some || v->integer[rows[i]] < least ? v->integer[rows[i]] : least;
		greatest = !some || v->integer[rows[i]] > greatest ? v->integer[rows[i]] : greatest;
		some = true;
	}
	if ((rql_uint128)greatest - (rql_uint128)least > UINT64_MAX - 2)
		return false;
	for (uint64_t i = 0; i < count; i++) {
		uint32_t row = rows[i];
		uint64_t word = 1 + (codes                        ? v->codes[row]
		                     : v->kind == RQL_VECTOR_WIDE ? v->wide[row]
		                                                  : (uint64_t)(v->integer[row] - least));
		word = k->descending ? UINT64_MAX - word : word;
		items[i] = (struct sort_item){is_null(k, row) ? (k->nulls_first ? 0 : UINT64_MAX) : word, row};
	}
	return true;
}

/* Stable, by bytes from the least significant; bytes that are the same everywhere are left out. The result is in one of
 * the two arrays, which is returned. */
static struct sort_item *sort_words(struct sort_item *items, struct sort_item *scratch, uint64_t count)
{
	uint64_t differ = 0;
	for (uint64_t i = 1; i < count; i++)
		differ |= items[i].word ^ items[0].word;
	for (unsigned shift = 0; shift < 64; shift += 8) {
		uint64_t at[256] = {0}, sum = 0;
		if ((differ >> shift & 0xff) == 0)
			continue;
		for (uint64_t i = 0; i < count; i++)
			at[items[i].word >> shift & 0xff]++;
		for (unsigned b = 0; b < 256; b++) {
			uint64_t n = at[b];
			at[b] = sum;
			sum += n;
		}
		for (uint64_t i = 0; i < count; i++)
			scratch[at[items[i].word >> shift & 0xff]++] = items[i];
		struct sort_item *swap = items;
		items = scratch;
		scratch = swap;
	}
	return items;
}

/* rows by all keys: by the first one's words, then what is equal there by comparisons. */
static bool sort_many(const struct sorting *s, struct rql_arena *arena, uint32_t *rows, uint32_t *spare, uint64_t count)
{
	struct sort_item *items = RQL_NEW_ARRAY(arena, struct sort_item, count),
					 *scratch = RQL_NEW_ARRAY(arena, struct sort_item, count);
	if (!items || !scratch)
		return false;
	if (!s->count || !first_key_words(&s->keys[0], rows, count, items)) {
		rql_sort_items(rows, spare, count, compare_rows, s);
		return true;
	}
	items = sort_words(items, scratch, count);
	for (uint64_t i = 0; i < count; i++)
		rows[i] = items[i].row;
	for (uint64_t from = 0, to; from < count && s->count > 1; from = to) {
		for (to = from + 1; to < count && items[to].word == items[from].word;)
			to++;
		rql_sort_items(rows + from, spare + from, to - from, compare_rows, s);
	}
	return true;
}

static rql_status out_of_memory(const struct rql_rowset *set, struct rql_error *err)
{
	return rql_error_memory(err, set->rows * sizeof(uint32_t), "sorting");
}

/* An expression becomes a vector of values, computed once per row. */
static rql_status key_vector(struct rql_rowset *set, const struct rql_expr *e, const struct rql_vector **out,
                             struct rql_error *err)
{
	if (e->kind == RQL_EXPR_REF) {
		*out = &set->vectors[e->index];
		return RQL_OK;
	}
	struct rql_vector *v = RQL_NEW(set->arena, struct rql_vector);
	if (!v)
		return out_of_memory(set, err);
	v->kind = RQL_VECTOR_VALUES;
	v->type = e->type;
	if (!(v->computed = RQL_NEW_ARRAY(set->arena, struct rql_value, set->capacity)))
		return out_of_memory(set, err);
	for (uint64_t i = 0; i < set->rows; i++) {
		uint32_t row = rql_rowset_row(set, i);
		RQL_TRY(rql_rowset_eval(set, e, row, &v->computed[row], err));
	}
	*out = v;
	return RQL_OK;
}

static bool has_null_code(const struct rql_vector *v, const struct rql_rowset *set)
{
	if (v->kind == RQL_VECTOR_WIDE)
		return v->null_wide != UINT64_MAX; /* there may be one */
	if (v->kind != RQL_VECTOR_CODES || (v->values ? !v->values->validity : v->null_code == UINT32_MAX))
		return false;
	for (uint64_t i = 0; i < set->rows; i++)
		if (rql_vector_null_code(v, v->codes[rql_rowset_row(set, i)]))
			return true;
	return false;
}

/* Group keys come out in natural order (papers/000 section 5): nothing to do when the ORDER BY is a prefix of them. */
static bool already_sorted(const struct rql_rowset *set, const struct sorting *s)
{
	if (s->count > set->sorted_keys)
		return false;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct sort_key *k = &s->keys[i];
		if (k->vector->rank != i + 1 || k->descending || (k->nulls_first && has_null_code(k->vector, set)))
			return false;
	}
	return true;
}

rql_status rql_rowset_sort(struct rql_rowset *set, const struct rql_order *orders, uint32_t count, uint64_t limit,
                           struct rql_error *err)
{
	struct sorting s = {count, RQL_NEW_ARRAY(set->arena, struct sort_key, count)};
	if (!s.keys)
		return out_of_memory(set, err);
	for (uint32_t i = 0; i < count; i++) {
		struct sort_key *k = &s.keys[i];
		RQL_TRY(key_vector(set, orders[i].expr, &k->vector, err));
		k->descending = orders[i].descending;
		k->nulls_first = orders[i].nulls == RQL_NULLS_FIRST;
	}
	if (limit > set->rows)
		limit = set->rows;
	if (limit && !already_sorted(set, &s)) {
		bool first = limit < set->rows / 4;
		uint64_t count = first ? limit : set->rows;
		uint32_t *rows = RQL_NEW_ARRAY(set->arena, uint32_t, count),
				 *spare = RQL_NEW_ARRAY(set->arena, uint32_t, count);
		if (!rows || !spare)
			return out_of_memory(set, err);
		if (first)
			keep_first(&s, set, rows, limit);
		for (uint64_t i = 0; i < count && !first; i++)
			rows[i] = rql_rowset_row(set, i);
		if (count < RADIX_ROWS)
			rql_sort_items(rows, spare, count, compare_rows, &s);
		else if (!sort_many(&s, set->arena, rows, spare, count))
			return out_of_memory(set, err);
		set->selection = rows;
		set->sorted_keys = 0;
	}
	set->rows = limit;
	return RQL_OK;
}
