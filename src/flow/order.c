/* ORDER BY and top-N over vectors of every kind. */
#include <string.h>
#include "flow/order_words.h"
#include "util/sort.h"

struct sorting {
	uint32_t count;
	const struct rql_sort_key *keys;
};

static bool is_null(const struct rql_sort_key *k, uint32_t row)
{
	const struct rql_vector *v = k->vector;
	if (v->kind == RQL_VECTOR_CODES)
		return rql_vector_null_code(v, v->codes[row]);
	if (v->kind == RQL_VECTOR_WIDE)
		return v->wide[row] == v->null_wide;
	if (v->kind == RQL_VECTOR_COLUMN)
		return !rql_column_valid(v->values, row);
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
		const struct rql_sort_key *k = &s->keys[i];
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

/* ---- few rows of many ---- */

/* Whether the first key alone says that a row comes behind another: what most rows of a top-N need. For keys that are
 * numbers without NULLs; others are compared as a whole. */
static bool first_key_behind(const struct sorting *s, uint32_t row, uint32_t than)
{
	const struct rql_vector *v = s->keys[0].vector;
	if (v->kind != RQL_VECTOR_INTEGER || v->valid || v->type.id == RQL_TYPE_UHUGEINT)
		return false;
	return s->keys[0].descending ? v->integer[row] < v->integer[than] : v->integer[row] > v->integer[than];
}

struct heap {
	const struct sorting *sorting;
	const struct rql_rowset *set;
};

/* Places in the set: what is equal keeps its order, as in a sort of all rows. */
static int compare_places(const void *context, uint32_t a, uint32_t b)
{
	const struct heap *h = context;
	int c = compare_rows(h->sorting, rql_rowset_row(h->set, a), rql_rowset_row(h->set, b));
	return c ? c : (a > b) - (a < b);
}

/* Keeps the `limit` first rows of the set in a heap whose root is the last of them: n log(limit) comparisons at worst,
 * about n when few rows get in. */
static void fill_heap(const struct heap *h, uint32_t *places, uint64_t limit)
{
	for (uint64_t i = 0; i < h->set->rows; i++) {
		uint64_t hole;
		uint32_t place = (uint32_t)i;
		if (i < limit) { /* sift up */
			for (hole = i; hole && compare_places(h, places[(hole - 1) / 2], place) < 0; hole = (hole - 1) / 2)
				places[hole] = places[(hole - 1) / 2];
		} else if (!first_key_behind(h->sorting, rql_rowset_row(h->set, place), rql_rowset_row(h->set, places[0])) &&
		           compare_places(h, place, places[0]) < 0) {
			for (hole = 0; 2 * hole + 1 < limit;) { /* replace the root, sift down */
				uint64_t child = 2 * hole + 1;
				if (child + 1 < limit && compare_places(h, places[child], places[child + 1]) < 0)
					child++;
				if (compare_places(h, places[child], place) <= 0)
					break;
				places[hole] = places[child];
				hole = child;
			}
		} else {
			continue;
		}
		places[hole] = place;
	}
}

static rql_status out_of_memory(const struct rql_rowset *set, struct rql_error *err)
{
	return rql_error_memory(err, set->rows * sizeof(uint32_t), "sorting");
}

static rql_status keep_first(const struct sorting *s, struct rql_rowset *set, uint64_t limit, struct rql_error *err)
{
	struct heap h = {s, set};
	uint32_t *places = RQL_NEW_ARRAY(set->arena, uint32_t, limit), *rows = RQL_NEW_ARRAY(set->arena, uint32_t, limit);
	if (!places || !rows)
		return out_of_memory(set, err);
	fill_heap(&h, places, limit);
	rql_sort_items(places, rows, limit, compare_places, &h);
	for (uint64_t i = 0; i < limit; i++)
		rows[i] = rql_rowset_row(set, places[i]);
	set->selection = rows;
	return RQL_OK;
}

/* ---- all rows ---- */

#define WORDS_FROM 4u /* rows; comparisons of fewer are faster */

struct room {
	uint32_t *rows;
	uint64_t *words, *more_words;
};

/* A row's word holds the leading keys and below them its place among the rows, which finds it again and keeps the order
 * of rows with equal keys. Rows of equal leading keys are then sorted by what the words had no room for. That ends: a
 * key that was cut has more than one value, so that its highest bit splits the rows. */
static void sort_rows(const struct rql_sort_key *keys, uint32_t key_count, uint32_t *rows, uint64_t count,
                      struct room room)
{
	struct sorting s = {key_count, keys};
	if (count < WORDS_FROM || !rql_sort_key_has_words(&keys[0])) {
		rql_sort_items(rows, room.rows, count, compare_rows, &s);
		return;
	}
	unsigned place_bits = 64 - (unsigned)__builtin_clzll(count - 1);
	uint64_t places = (UINT64_C(1) << place_bits) - 1;
	uint32_t whole = rql_sort_keys_pack(keys, key_count, rows, count, 64 - place_bits, room.words);
	for (uint64_t i = 0; i < count; i++)
		room.words[i] = room.words[i] << place_bits | i;
	const uint64_t *sorted = rql_sort_words(room.words, room.more_words, count, place_bits);
	memcpy(room.rows, rows, count * sizeof *rows);
	for (uint64_t i = 0; i < count; i++)
		rows[i] = room.rows[sorted[i] & places];
	for (uint64_t from = 0, to; from < count && whole < key_count; from = to) {
		for (to = from + 1; to < count && sorted[to] >> place_bits == sorted[from] >> place_bits;)
			to++;
		if (to - from > 1)
			sort_rows(keys + whole, key_count - whole, rows + from, to - from,
			          (struct room){room.rows + from, room.words + from, room.more_words + from});
	}
}

static rql_status keep_all(const struct sorting *s, struct rql_rowset *set, struct rql_error *err)
{
	uint32_t *rows = RQL_NEW_ARRAY(set->arena, uint32_t, set->rows);
	struct room room = {RQL_NEW_ARRAY(set->arena, uint32_t, set->rows), RQL_NEW_ARRAY(set->arena, uint64_t, set->rows),
	                    RQL_NEW_ARRAY(set->arena, uint64_t, set->rows)};
	if (!rows || !room.rows || !room.words || !room.more_words)
		return out_of_memory(set, err);
	for (uint64_t i = 0; i < set->rows; i++)
		rows[i] = rql_rowset_row(set, i);
	sort_rows(s->keys, s->count, rows, set->rows, room);
	set->selection = rows;
	return RQL_OK;
}

/* ---- keys ---- */

/* Keys stand at their own rows while they are compared. */
static rql_status key_vector(struct rql_running *r, struct rql_rowset *set, const struct rql_expr *e,
                             const struct rql_vector **out)
{
	struct rql_vector *v = RQL_NEW(r->arena, struct rql_vector);
	if (!v)
		return rql_error_memory(r->err, sizeof *v, "sorting");
	*out = v;
	if (e->kind == RQL_EXPR_REF && !set->vectors[e->index].at) {
		*v = set->vectors[e->index];
		return RQL_OK;
	}
	if (e->kind == RQL_EXPR_REF) {
		RQL_TRY(rql_vector_flatten(r, set, &set->vectors[e->index]));
		*v = set->vectors[e->index];
		return RQL_OK;
	}
	RQL_TRY(rql_rowset_compute(r, set, e, v));
	return rql_vector_flatten(r, set, v);
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

/* Group keys come out in natural order (RTCUDB section 5): nothing to do when the ORDER BY is a prefix of them. */
static bool already_sorted(const struct rql_rowset *set, const struct sorting *s)
{
	if (s->count > set->sorted_keys)
		return false;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct rql_sort_key *k = &s->keys[i];
		if (k->vector->rank != i + 1 || k->descending || (k->nulls_first && has_null_code(k->vector, set)))
			return false;
	}
	return true;
}

/* A heap pays for less than this part of the rows. Words sort all of them in the time in which few rows enter it, and
 * in any order that they come in. */
static uint64_t heap_part(const struct sorting *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (!rql_sort_key_has_words(&s->keys[i]))
			return 4;
	return 256;
}

static bool computes(const struct rql_order *orders, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (orders[i].expr->kind != RQL_EXPR_REF)
			return true;
	return false;
}

rql_status rql_rowset_sort(struct rql_running *r, struct rql_rowset *set, const struct rql_order *orders, uint32_t count,
                           uint64_t limit)
{
	struct rql_sort_key *keys = RQL_NEW_ARRAY(r->arena, struct rql_sort_key, count);
	struct sorting s = {count, keys};
	if (!keys)
		return rql_error_memory(r->err, 0, "sorting");
	if (computes(orders, count))
		RQL_TRY(rql_rowset_rebase(r, set));
	for (uint32_t i = 0; i < count; i++) {
		RQL_TRY(key_vector(r, set, orders[i].expr, &keys[i].vector));
		keys[i].descending = orders[i].descending;
		keys[i].nulls_first = orders[i].nulls == RQL_NULLS_FIRST;
	}
	if (limit > set->rows)
		limit = set->rows;
	if (limit && !already_sorted(set, &s)) {
		RQL_TRY(limit < set->rows / heap_part(&s) ? keep_first(&s, set, limit, r->err) : keep_all(&s, set, r->err));
		set->sorted_keys = 0;
	}
	set->rows = limit;
	return RQL_OK;
}
