/* ORDER BY, top-N and the first row of each group, over vectors of every kind. */
#include <string.h>
#include "flow/keys/keys.h"
#include "flow/keys/order_words.h"
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
	return !rql_bit_valid(v->valid, row);
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

static rql_status keep_first(const struct sorting *s, struct rql_rowset *set, uint64_t limit, struct rql_error *err)
{
	struct heap h = {s, set};
	uint32_t *places = RQL_NEW_ARRAY(set->arena, uint32_t, limit), *rows = RQL_NEW_ARRAY(set->arena, uint32_t, limit);
	if (!places || !rows)
		return rql_error_memory(err, set->rows * sizeof(uint32_t), "sorting");
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
		return rql_error_memory(err, set->rows * sizeof(uint32_t), "sorting");
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

static rql_status make_keys(struct rql_running *r, struct rql_rowset *set, const struct rql_order *orders,
                            struct sorting *out)
{
	struct rql_sort_key *keys = RQL_NEW_ARRAY(r->arena, struct rql_sort_key, out->count);
	if (!keys)
		return rql_error_memory(r->err, 0, "sorting");
	out->keys = keys;
	if (computes(orders, out->count))
		RQL_TRY(rql_rowset_rebase(r, set));
	for (uint32_t i = 0; i < out->count; i++) {
		RQL_TRY(key_vector(r, set, orders[i].expr, &keys[i].vector));
		keys[i].descending = orders[i].descending;
		keys[i].nulls_first = orders[i].nulls == RQL_NULLS_FIRST;
	}
	return RQL_OK;
}

rql_status rql_rowset_sort(struct rql_running *r, struct rql_rowset *set, const struct rql_order *orders, uint32_t count,
                           uint64_t limit)
{
	struct sorting s = {.count = count};
	RQL_TRY(make_keys(r, set, orders, &s));
	if (limit > set->rows)
		limit = set->rows;
	if (limit && !already_sorted(set, &s)) {
		RQL_TRY(limit < set->rows / heap_part(&s) ? keep_first(&s, set, limit, r->err) : keep_all(&s, set, r->err));
		set->sorted_keys = 0;
	}
	set->rows = limit;
	return RQL_OK;
}

/* ---- the first of each group ---- */

/* Nothing is sorted: each row is compared with the first of its group so far. Few groups have a first row once for each
 * thread, the rows of many are split into parts whose groups belong to one thread alone. */
struct firsts {
	struct heap rest;      /* the keys that the words do not hold whole */
	const uint64_t *words; /* of each place: the leading keys */
	const struct rql_key_groups *groups;
	uint32_t **first;      /* [threads]: places, [groups->count] each */
};

static inline bool comes_before(const struct firsts *f, uint32_t place, uint32_t than)
{
	if (f->words[place] != f->words[than])
		return f->words[place] < f->words[than];
	return compare_places(&f->rest, place, than) < 0;
}

static rql_status first_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct firsts *f = state;
	uint32_t *firsts = f->first[worker];
	(void)err;
	for (uint64_t i = first; i < first + rows; i++) {
		uint32_t *of = &firsts[f->groups->group[i]];
		if (comes_before(f, (uint32_t)i, *of))
			*of = (uint32_t)i;
	}
	return RQL_OK;
}

static rql_status first_part(void *state, uint64_t part, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct firsts *f = state;
	(void)rows, (void)worker, (void)err;
	for (uint64_t i = f->groups->part_rows[part]; i < f->groups->part_rows[part + 1]; i++) {
		uint32_t place = f->groups->row[i], *of = &f->first[0][f->groups->group_in_part[i]];
		if (comes_before(f, place, *of))
			*of = place;
	}
	return RQL_OK;
}

/* groups->first becomes the place of each group's first row in the order. */
static rql_status find_firsts(struct rql_running *r, struct firsts *f, uint64_t rows)
{
	const struct rql_key_groups *groups = f->groups;
	unsigned copies = groups->row ? 1 : rql_running_threads(r);
	if (!(f->first = RQL_NEW_ARRAY(r->arena, uint32_t *, copies)))
		return rql_error_memory(r->err, 0, "groups of rows");
	f->first[0] = groups->first;
	for (unsigned t = 1; t < copies; t++) {
		RQL_TRY(RQL_SCRATCH(r, f->first[t], groups->count));
		memcpy(f->first[t], groups->first, groups->count * sizeof *groups->first);
	}
	RQL_TRY(groups->row ? rql_parts_run(r, groups->part_count, first_part, f) : rql_morsels_run(r, rows, first_morsel, f));
	for (unsigned t = 1; t < copies; t++)
		for (uint64_t i = 0; i < groups->count; i++)
			if (comes_before(f, f->first[t][i], groups->first[i]))
				groups->first[i] = f->first[t][i];
	return RQL_OK;
}

/* The columns by which rows are told apart, at the rows of the set. */
static rql_status make_groups(struct rql_running *r, struct rql_rowset *set, const struct rql_rel *rel,
                              struct rql_key_groups *out)
{
	struct rql_vector *keys = RQL_NEW_ARRAY(r->arena, struct rql_vector, rel->expr_count);
	if (!keys)
		return rql_error_memory(r->err, 0, "groups of rows");
	for (uint32_t i = 0; i < rel->expr_count; i++)
		RQL_TRY(rql_rowset_compute(r, set, rel->exprs[i], &keys[i]));
	return rql_key_groups_of(r, set, keys, rel->expr_count, out);
}

rql_status rql_rowset_distinct_on(struct rql_running *r, struct rql_rowset *set, const struct rql_rel *rel)
{
	struct sorting s = {.count = rel->order_count};
	struct rql_key_groups groups;
	uint32_t *rows;
	uint64_t *words;
	for (uint32_t i = 0; i < rel->expr_count; i++)
		if (rel->exprs[i]->kind != RQL_EXPR_REF)
			RQL_TRY(rql_rowset_rebase(r, set));
	RQL_TRY(make_keys(r, set, rel->orders, &s));
	RQL_TRY(make_groups(r, set, rel, &groups));
	RQL_TRY(RQL_SCRATCH(r, rows, set->rows));
	RQL_TRY(RQL_SCRATCH(r, words, set->rows));
	for (uint64_t i = 0; i < set->rows; i++)
		rows[i] = rql_rowset_row(set, i);
	uint32_t whole = rql_sort_keys_pack(s.keys, s.count, rows, set->rows, 63, words);
	struct sorting rest = {s.count - whole, s.keys + whole};
	struct firsts f = {.rest = {&rest, set}, .words = words, .groups = &groups};
	RQL_TRY(find_firsts(r, &f, set->rows));
	for (uint64_t i = 0; i < groups.count; i++)
		groups.first[i] = rows[groups.first[i]];
	set->selection = groups.first;
	set->rows = groups.count;
	set->sorted_keys = 0;
	return RQL_OK;
}
