/* Values of a join by a range as numbers: see the header.
 *
 * What it must do for a point of strings: its first bytes as a word (8 bytes), that word's sort, and a comparison with what
 * stands before it. A bound searches the words, and of equal ones the strings themselves: some 300 ns among a million. */
#include "flow/join/range_places.h"

#include <string.h>
#include "util/sort.h"

#define WORD_BYTES 8u

static bool is_text(struct rql_type t)
{
	return t.id == RQL_TYPE_VARCHAR || t.id == RQL_TYPE_BLOB;
}

bool rql_range_type(struct rql_type t)
{
	return rql_type_is_real(t) || rql_type_is_integral(t) || t.id == RQL_TYPE_UUID || is_text(t);
}

/* ---- numbers of 128 bits ---- */

struct span {
	rql_uint128 least, greatest; /* least > greatest: there are none */
	char room[32];
};

struct measuring {
	const struct rql_vector *v;
	struct span *spans; /* of morsels */
};

static rql_status measure_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct measuring *m = state;
	struct rql_place_room room;
	uint32_t numbers[RQL_VECTOR_ROWS];
	struct span span = {.least = ~(rql_uint128)0};
	(void)worker, (void)err;
	for (uint64_t at = first; at < first + rows; at += RQL_VECTOR_ROWS) {
		const uint32_t n = rql_vector_part(at, first + rows);
		for (uint32_t i = 0; i < n; i++)
			numbers[i] = (uint32_t)(at + i);
		const uint64_t *valid = rql_wide_places(m->v, numbers, n, &room);
		for (uint32_t i = 0; i < n; i++) {
			const rql_uint128 place = (rql_uint128)room.data[i];
			if (!rql_bit_valid(valid, i))
				continue;
			span.least = place < span.least ? place : span.least;
			span.greatest = place > span.greatest ? place : span.greatest;
		}
	}
	m->spans[first / RQL_MORSEL_ROWS] = span;
	return RQL_OK;
}

/* false: no row has a value. */
static rql_status measure(struct rql_running *r, const struct rql_vector *v, uint64_t rows, struct rql_range_places *p,
                          bool *some)
{
	const uint64_t morsels = (rows + RQL_MORSEL_ROWS - 1) / RQL_MORSEL_ROWS;
	struct measuring m = {.v = v};
	RQL_TRY(RQL_SCRATCH(r, m.spans, morsels + 1));
	RQL_TRY(rql_morsels_run(r, rows, measure_morsel, &m));
	p->least = ~(rql_uint128)0;
	for (uint64_t i = 0; i < morsels; i++) {
		p->least = m.spans[i].least < p->least ? m.spans[i].least : p->least;
		p->greatest = m.spans[i].greatest > p->greatest ? m.spans[i].greatest : p->greatest;
	}
	*some = p->least <= p->greatest;
	return RQL_OK;
}

/* A point's distance from the least one, from 1 on; 0 and the greatest word are what lies beyond all of them. */
static const uint64_t *distances(const struct rql_range_places *p, const struct rql_vector *v, const uint32_t *rows,
                                 uint32_t n, struct rql_place_room *room, uint64_t *places)
{
	const uint64_t *valid = rql_wide_places(v, rows, n, room);
	for (uint32_t i = 0; i < n; i++) {
		const rql_uint128 place = (rql_uint128)room->data[i];
		places[i] = place < p->least ? 0 : place > p->greatest ? UINT64_MAX : (uint64_t)(place - p->least) + 1;
	}
	return valid;
}

/* ---- ranks: words to begin with ---- */

static rql_uint128 wide_of(const struct rql_value *v)
{
	return v->type.id == RQL_TYPE_UHUGEINT ? (rql_uint128)v->integer : (rql_uint128)v->integer ^ (rql_uint128)1 << 127;
}

/* The value's place among words: -1, 1: below, above all that begin as the points do; else *word. */
static int word_of(const struct rql_range_places *p, const struct rql_value *v, uint64_t *word)
{
	if (!is_text(v->type)) {
		const rql_uint128 place = wide_of(v);
		*word = (uint64_t)((place - p->least) >> p->shift);
		return place < p->least ? -1 : place > p->greatest;
	}
	const uint64_t length = v->string.length, shared = length < p->common ? length : p->common;
	const int order = shared ? memcmp(v->string.data, p->first.string.data, shared) : 0;
	if (order || shared < p->common)
		return order > 0 ? 1 : -1;
	*word = 0;
	for (uint64_t i = 0; i < WORD_BYTES; i++) {
		const uint64_t at = p->common + i;
		*word = *word << 8 | (at < length ? (unsigned char)v->string.data[at] : 0);
	}
	return 0;
}

static struct rql_value entry_of(const struct rql_range_places *p, uint32_t entry)
{
	return p->coded ? rql_column_get(p->points->values, entry) : rql_vector_get(p->points, entry);
}

struct ranking {
	struct rql_running *r;
	struct rql_range_places *p;
	struct rql_key_side side; /* the entries */
	uint64_t *shared;         /* of morsels: bytes that all of its entries share with the first one */
	uint32_t *rows, *spare;   /* entries by position */
	uint8_t *starts;          /* by position: it is not equal to the one before */
};

static rql_status note_none(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct ranking *k = state;
	(void)worker, (void)err;
	for (uint64_t i = first; i < first + rows; i++)
		if (entry_of(k->p, (uint32_t)i).is_null)
			rql_bit_set(k->side.none, i);
	return RQL_OK;
}

static rql_status share_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct ranking *k = state;
	const struct rql_value *a = &k->p->first;
	uint64_t shared = a->string.length;
	(void)worker, (void)err;
	for (uint64_t i = first; i < first + rows && shared; i++) {
		const struct rql_value b = entry_of(k->p, (uint32_t)i);
		uint64_t n = 0;
		if (b.is_null)
			continue;
		shared = b.string.length < shared ? b.string.length : shared;
		while (n < shared && a->string.data[n] == b.string.data[n])
			n++;
		shared = n;
	}
	k->shared[first / RQL_MORSEL_ROWS] = shared;
	return RQL_OK;
}

static rql_status find_common(struct ranking *k, uint64_t entries)
{
	const uint64_t morsels = (entries + RQL_MORSEL_ROWS - 1) / RQL_MORSEL_ROWS;
	uint64_t i = 0;
	while (i < entries && rql_key_is_none(&k->side, i))
		i++;
	if (i == entries)
		return RQL_OK;
	k->p->first = entry_of(k->p, (uint32_t)i);
	RQL_TRY(RQL_SCRATCH(k->r, k->shared, morsels));
	RQL_TRY(rql_morsels_run(k->r, entries, share_morsel, k));
	k->p->common = k->p->first.string.length;
	for (uint64_t m = 0; m < morsels; m++)
		k->p->common = k->shared[m] < k->p->common ? k->shared[m] : k->p->common;
	return RQL_OK;
}

static rql_status word_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct ranking *k = state;
	(void)worker, (void)err;
	for (uint64_t i = first; i < first + rows; i++) {
		const struct rql_value v = entry_of(k->p, (uint32_t)i);
		k->p->in_order.place_of[i] = 0;
		if (!v.is_null)
			(void)word_of(k->p, &v, &k->p->in_order.place_of[i]);
	}
	return RQL_OK;
}

/* ---- ranks: entries of one word ---- */

static int order_of(const void *context, uint32_t a, uint32_t b)
{
	const struct rql_value first = entry_of(context, a), second = entry_of(context, b);
	return rql_value_compare(&first, &second);
}

static void sort_run(struct ranking *k, uint64_t from, uint64_t to)
{
	uint64_t i = from + 1;
	while (i < to && order_of(k->p, k->rows[i - 1], k->rows[i]) <= 0)
		i++;
	if (i < to)
		rql_sort_items(k->rows + from, k->spare + from, to - from, order_of, k->p);
	k->starts[from] = 1;
	for (i = from + 1; i < to; i++)
		k->starts[i] = order_of(k->p, k->rows[i - 1], k->rows[i]) != 0;
}

/* Runs of equal words that begin among these positions. */
static rql_status sort_runs(void *state, uint64_t first, uint64_t count, unsigned worker, struct rql_error *err)
{
	struct ranking *k = state;
	const uint64_t *words = k->p->in_order.places, all = k->p->in_order.all.count;
	uint64_t at = first, end;
	(void)worker;
	while (at && at < first + count && words[at] == words[at - 1])
		at++;
	for (; at < first + count; at = end) {
		for (end = at + 1; end < all && words[end] == words[at];)
			end++;
		sort_run(k, at, end);
		if (end - at > RQL_MORSEL_ROWS)
			RQL_TRY(rql_running_ask(k->r, err));
	}
	return RQL_OK;
}

static rql_status number(struct ranking *k, uint64_t entries)
{
	struct rql_range_places *p = k->p;
	const uint64_t count = p->in_order.all.count;
	uint64_t place = UINT64_MAX;
	k->rows = (uint32_t *)p->in_order.rows;
	RQL_TRY(RQL_ZEROED_SCRATCH(k->r, p->place_of, entries + 1));
	RQL_TRY(RQL_SCRATCH(k->r, k->spare, count + 1));
	RQL_TRY(RQL_SCRATCH(k->r, k->starts, count + 1));
	RQL_TRY(rql_morsels_run(k->r, count, sort_runs, k));
	for (uint64_t i = 0; i < count; i++) {
		place += k->starts[i] ? 2 : 0; /* the first is 1 */
		p->place_of[k->rows[i]] = place;
	}
	return RQL_OK;
}

static uint32_t code_of(const struct rql_vector *v, uint32_t row)
{
	const uint32_t at = v->at ? v->at[row] : row;
	return v->outer && at == RQL_NO_ROW ? 0 : v->codes[at];
}

static rql_status greatest_code(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct ranking *k = state;
	uint64_t greatest = 0;
	(void)worker, (void)err;
	for (uint64_t i = first; i < first + rows; i++) {
		const uint32_t code = code_of(k->p->points, (uint32_t)i);
		greatest = code > greatest ? code : greatest;
	}
	k->shared[first / RQL_MORSEL_ROWS] = greatest;
	return RQL_OK;
}

/* A dictionary's entries are ranked in place of the points, unless few rows are of a large one. */
static rql_status count_entries(struct ranking *k, uint64_t rows, uint64_t *entries)
{
	const struct rql_vector *v = k->p->points;
	const uint64_t morsels = (rows + RQL_MORSEL_ROWS - 1) / RQL_MORSEL_ROWS;
	*entries = rows;
	if (v->kind != RQL_VECTOR_CODES || !v->values || !rows)
		return RQL_OK;
	uint64_t greatest = 0;
	RQL_TRY(RQL_SCRATCH(k->r, k->shared, morsels));
	RQL_TRY(rql_morsels_run(k->r, rows, greatest_code, k));
	for (uint64_t m = 0; m < morsels; m++)
		greatest = k->shared[m] > greatest ? k->shared[m] : greatest;
	k->p->coded = greatest / 2 < rows;
	*entries = k->p->coded ? greatest + 1 : rows;
	return RQL_OK;
}

static rql_status rank(struct rql_running *r, uint64_t rows, struct rql_range_places *p)
{
	const struct rql_vector *v = p->points;
	struct ranking k = {.r = r, .p = p};
	struct rql_rowset set = {.arena = r->arena};
	p->form = RQL_PLACES_RANKS;
	RQL_TRY(count_entries(&k, rows, &set.rows));
	set.capacity = set.rows;
	k.side.set = &set;
	RQL_TRY(RQL_ZEROED_SCRATCH(r, k.side.none, (set.rows + 63) / 64 + 1));
	RQL_TRY(RQL_SCRATCH(r, p->in_order.place_of, set.rows + 1));
	RQL_TRY(rql_morsels_run(r, set.rows, note_none, &k));
	if (is_text(v->type))
		RQL_TRY(find_common(&k, set.rows));
	RQL_TRY(rql_morsels_run(r, set.rows, word_morsel, &k));
	RQL_TRY(rql_sorted_make(r, &k.side, NULL, &p->in_order));
	return number(&k, set.rows);
}

/* ---- looking up ---- */

static uint64_t rank_of_bound(const struct rql_range_places *p, const struct rql_value *v)
{
	const struct rql_sorted *s = &p->in_order;
	const struct rql_key_rows all = {0, s->all.count};
	uint64_t word = 0;
	const int beyond = word_of(p, v, &word);
	if (beyond || !all.count)
		return beyond > 0 ? UINT64_MAX : 0;
	uint32_t from = rql_sorted_find(s, all, word, false), count = rql_sorted_find(s, all, word, true) - from;
	while (count) { /* those below `from` are below the value */
		const uint32_t half = count / 2;
		const struct rql_value entry = entry_of(p, s->rows[from + half]);
		const bool below = rql_value_compare(&entry, v) < 0;
		from += below ? half + 1 : 0;
		count = below ? count - half - 1 : half;
	}
	if (from == all.count)
		return UINT64_MAX;
	const struct rql_value entry = entry_of(p, s->rows[from]);
	return p->place_of[s->rows[from]] - (rql_value_compare(&entry, v) != 0);
}

static const uint64_t *ranks_of_bounds(const struct rql_range_places *p, const struct rql_vector *v,
                                       const uint32_t *rows, uint32_t n, struct rql_place_room *room, uint64_t *places)
{
	memset(room->valid, 0xff, sizeof room->valid);
	for (uint32_t i = 0; i < n; i++) {
		const struct rql_value value = rql_vector_get(v, rows[i]);
		if (value.is_null)
			rql_bit_clear(room->valid, i);
		places[i] = value.is_null ? 0 : rank_of_bound(p, &value);
	}
	return rql_vector_nullable(v) ? room->valid : NULL;
}

static const uint64_t *ranks_of_points(const struct rql_range_places *p, const uint32_t *rows, uint32_t n,
                                       struct rql_place_room *room, uint64_t *places)
{
	const struct rql_vector *v = p->points;
	rql_vector_valid(v, rows, n, room->valid);
	for (uint32_t i = 0; i < n; i++) {
		const bool valid = rql_bit(room->valid, i);
		places[i] = valid ? p->place_of[p->coded ? code_of(v, rows[i]) : rows[i]] : 0;
	}
	return rql_vector_nullable(v) ? room->valid : NULL;
}

const uint64_t *rql_point_places(const struct rql_range_places *p, const struct rql_vector *v, const uint32_t *rows,
                                 uint32_t n, struct rql_place_room *room, uint64_t *places)
{
	if (p->form == RQL_PLACES_OWN)
		return rql_narrow_places(v, rows, n, room, places);
	return p->form == RQL_PLACES_DISTANCES ? distances(p, v, rows, n, room, places)
	                                       : ranks_of_points(p, rows, n, room, places);
}

const uint64_t *rql_bound_places(const struct rql_range_places *p, const struct rql_vector *v, const uint32_t *rows,
                                 uint32_t n, struct rql_place_room *room, uint64_t *places)
{
	return p->form == RQL_PLACES_RANKS ? ranks_of_bounds(p, v, rows, n, room, places)
	                                   : rql_point_places(p, v, rows, n, room, places);
}

rql_status rql_range_places_open(struct rql_running *r, const struct rql_vector *points, uint64_t rows,
                                 struct rql_range_places *out)
{
	bool some = false;
	*out = (struct rql_range_places){.points = points};
	if (!rql_range_by_points(points->type))
		return RQL_OK;
	if (is_text(points->type))
		return rank(r, rows, out);
	RQL_TRY(measure(r, points, rows, out, &some));
	out->form = RQL_PLACES_DISTANCES;
	if (!some)
		out->least = out->greatest = 0; /* whatever a bound is, it finds nothing */
	rql_uint128 span = out->greatest - out->least;
	if (span < UINT64_MAX - 1)
		return RQL_OK;
	for (out->shift = 0; span >> out->shift > UINT64_MAX;)
		out->shift++;
	return rank(r, rows, out);
}
