/* Joins: the smaller side becomes a table by the words of its keys (keys.h), the other one looks them up. What comes out are
 * numbers of rows: the columns of both sides stay where they are (rowset.h, `at`).
 *
 * What it must do for a row that looks up: its word (8 bytes), one line of the table, and for a pair 8 bytes written once in
 * a morsel's own list and once in the whole one. With the table in memory and 64 lines on their way at once some 10 ns a
 * row and thread, in a cache 3 ns. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "flow/join/join_internal.h"

/* ---- pairs ---- */

rql_status rql_join_add_room(struct joining *j, struct pairs *p, uint64_t more, struct rql_error *err)
{
	uint64_t room = p->room ? 2 * p->room : 4096;
	while (room < p->count + more)
		room *= 2;
	uint64_t all = atomic_fetch_add(&j->pairs, room - p->room) + room - p->room;
	struct rql_budget *budget = j->r->flow ? j->r->flow->budget : NULL;
	uint64_t limit = budget ? atomic_load(&budget->limit) : 0, used = limit ? atomic_load(&budget->used) : 0;
	uint64_t bytes = all * 4 * sizeof(uint32_t);
	if (all >= RQL_NO_ROW)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a join of 2^32 rows or more");
	if (limit && used + bytes > limit)
		return rql_budget_exceeded(budget, bytes, used, "a join's list of pairs", err);
	uint32_t *probe = realloc(p->probe, room * sizeof *probe);
	if (probe)
		p->probe = probe;
	uint32_t *build = probe && j->wants == WANT_PAIRS ? realloc(p->build, room * sizeof *build) : NULL;
	if (build)
		p->build = build;
	if (!probe || (j->wants == WANT_PAIRS && !build))
		return rql_error_memory(err, bytes, "the rows of a join");
	p->room = room;
	return RQL_OK;
}

#define COPIED_AT_ONCE (UINT64_C(1) << 18)

struct copying {
	const struct rql_running *r;
	uint32_t *to;
	const uint32_t *from;
	uint64_t count;
};

static void copy_part(void *state, uint64_t index, unsigned worker)
{
	const struct copying *c = state;
	const uint64_t first = index * COPIED_AT_ONCE, left = c->count - first;
	(void)worker;
	if (rql_running_ask(c->r, NULL) == RQL_OK) /* the caller asks, too */
		memcpy(c->to + first, c->from + first, (left < COPIED_AT_ONCE ? left : COPIED_AT_ONCE) * sizeof *c->to);
}

rql_status rql_join_copy(const struct joining *j, uint32_t *to, const uint32_t *from, uint64_t count,
                         struct rql_error *err)
{
	struct copying c = {j->r, to, from, count};
	rql_pool_each(j->r->flow ? j->r->flow->pool : NULL, (count + COPIED_AT_ONCE - 1) / COPIED_AT_ONCE, copy_part, &c);
	return rql_running_ask(j->r, err);
}

rql_status rql_join_two_partners(struct rql_error *err)
{
	return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a subquery gives more than one row");
}

static rql_status take_some(struct joining *j, struct pairs *p, struct pair_room *room, uint64_t first, uint32_t probe,
                            const uint32_t *build, uint32_t count, struct rql_error *err)
{
	bool *hit = &room->hit[probe - first];
	if (j->single && (count > 1 || *hit))
		return rql_join_two_partners(err);
	for (uint32_t i = 0; j->found && i < count; i++)
		rql_join_mark_found(j, build[i]);
	*hit = true;
	if (j->wants != WANT_PAIRS)
		return RQL_OK;
	if (p->room - p->count < count)
		RQL_TRY(rql_join_add_room(j, p, count, err));
	for (uint32_t i = 0; i < count; i++) {
		p->probe[p->count] = probe;
		p->build[p->count++] = build[i];
	}
	return RQL_OK;
}

/* The pairs of one row that looks up, all conditions being true. */
static rql_status take(struct joining *j, struct pairs *p, struct pair_room *room, uint64_t first, uint32_t probe,
                       const uint32_t *build, uint32_t count, struct rql_error *err)
{
	for (uint32_t n; count; build += n, count -= n) {
		if (!room->left) {
			RQL_TRY(rql_running_ask(j->r, err));
			room->left = RQL_PAIRS_AT_ONCE;
		}
		n = count < room->left ? count : room->left;
		room->left -= n;
		RQL_TRY(take_some(j, p, room, first, probe, build, n, err));
	}
	return RQL_OK;
}

/* ---- further conditions ---- */

/* The vectors of both sides at the candidates. */
static rql_status show_candidates(const struct joining *j, struct pair_room *room, struct rql_error *err)
{
	uint32_t lefts = j->sides[0]->vector_count;
	for (uint32_t v = 0; v < room->set.vector_count; v++) {
		unsigned side = v >= lefts;
		const struct rql_vector *from = &j->sides[side]->vectors[side ? v - lefts : v];
		const uint32_t *rows = side == j->build ? room->build : room->probe;
		room->set.vectors[v] = *from;
		room->set.vectors[v].at = rows;
		if (!from->at)
			continue;
		if (!room->at[v] && !(room->at[v] = malloc(RQL_VECTOR_ROWS * sizeof **room->at)))
			return rql_error_memory(err, 0, "the rows of a join");
		for (uint32_t i = 0; i < room->count; i++)
			room->at[v][i] = from->at[rows[i]];
		room->set.vectors[v].at = room->at[v];
	}
	room->set.rows = room->set.capacity = room->count;
	return RQL_OK;
}

rql_status rql_join_test(struct joining *j, struct pair_room *room, unsigned worker, uint64_t *live, struct rql_error *err)
{
	uint32_t numbers[RQL_VECTOR_ROWS], left, n = room->count;
	for (uint32_t i = 0; i < n; i++)
		numbers[i] = i;
	memset(live, 0, RQL_VECTOR_WORDS * sizeof *live);
	rql_bits_fill(live, n);
	RQL_TRY(show_candidates(j, room, err));
	return rql_evaluator_filter(j->rest, &room->set, worker, numbers, n, live, &left, err);
}

static rql_status test_candidates(struct joining *j, struct pairs *p, struct pair_room *room, uint64_t first,
                                  unsigned worker, struct rql_error *err)
{
	uint64_t live[RQL_VECTOR_WORDS];
	const uint32_t n = room->count;
	if (!n)
		return RQL_OK;
	RQL_TRY(rql_running_ask(j->r, err));
	RQL_TRY(rql_join_test(j, room, worker, live, err));
	for (uint32_t w = 0; w < (n + 63) / 64; w++)
		for (uint64_t bits = live[w]; bits; bits &= bits - 1) {
			uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(bits);
			RQL_TRY(take(j, p, room, first, room->probe[i], &room->build[i], 1, err));
		}
	room->count = 0;
	return RQL_OK;
}

static rql_status propose(struct joining *j, struct pairs *p, struct pair_room *room, uint64_t first, uint32_t probe,
                          const uint32_t *build, uint32_t count, unsigned worker, struct rql_error *err)
{
	if (!j->keys.key_count && atomic_fetch_add(&j->tried, count) + count > RQL_PAIRS_TRIED_MOST)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a join without equalities of that many rows");
	for (uint32_t i = 0; i < count; i++) {
		room->probe[room->count] = probe;
		room->build[room->count++] = build[i];
		if (room->count == RQL_VECTOR_ROWS)
			RQL_TRY(test_candidates(j, p, room, first, worker, err));
	}
	return RQL_OK;
}

/* ---- looking up ---- */

void rql_join_find(const struct joining *j, uint64_t at, uint32_t n, struct rql_key_rows *rows)
{
	if (j->keys.key_count || !j->ranged)
		rql_key_table_find(&j->table, j->words.sides[1].words + at, n, rows);
	if (j->ranged)
		rql_range_find(j, at, n, rows);
}

/* A join by unique keys, which most are: a pair for each row that finds one, or that is kept. */
static rql_status take_pairs(struct joining *j, struct pairs *p, const struct rql_key_rows *rows, uint64_t at,
                             uint32_t n, struct rql_error *err)
{
	const struct rql_key_side *side = &j->words.sides[1];
	if (p->room - p->count < n)
		RQL_TRY(rql_join_add_room(j, p, n, err));
	uint32_t *probe = p->probe + p->count, *build = p->build + p->count, count = 0;
	for (uint32_t i = 0; i < n; i++) {
		const bool found = rows[i].count && !rql_key_is_none(side, at + i);
		probe[count] = (uint32_t)(at + i);
		build[count] = found ? rows[i].first : RQL_NO_ROW;
		count += found || j->keep_probe;
	}
	p->count += count;
	return RQL_OK;
}

/* What a row that looks up has found by an index. */
struct taking {
	struct joining *j;
	struct pairs *p;
	struct pair_room *room;
	uint64_t first;
	uint32_t probe;
	unsigned worker;
};

static rql_status take_found(void *state, const uint32_t *rows, uint32_t count, struct rql_error *err)
{
	const struct taking *t = state;
	return t->j->rest ? propose(t->j, t->p, t->room, t->first, t->probe, rows, count, t->worker, err)
	                  : take(t->j, t->p, t->room, t->first, t->probe, rows, count, err);
}

static rql_status look_up_by_index(struct taking *t, uint64_t at, uint32_t n, struct rql_error *err)
{
	struct range_bounds b;
	uint64_t least, greatest;
	rql_range_bounds(t->j, at, n, &b);
	for (uint32_t i = 0; i < n; i++) {
		t->probe = (uint32_t)(at + i);
		if (rql_index_range_of(t->j, &b, i, &least, &greatest))
			RQL_TRY(rql_index_range_find(t->j, least, greatest, take_found, t, err));
	}
	return RQL_OK;
}

static rql_status look_up(struct joining *j, struct pairs *p, struct pair_room *room, uint64_t first, uint64_t at,
                          uint32_t n, unsigned worker, struct rql_error *err)
{
	const struct rql_key_side *side = &j->words.sides[1];
	struct rql_key_rows rows[RQL_VECTOR_ROWS];
	if (j->by_index) {
		struct taking taking = {.j = j, .p = p, .room = room, .first = first, .worker = worker};
		return look_up_by_index(&taking, at, n, err);
	}
	rql_join_find(j, at, n, rows);
	if (j->plain)
		return take_pairs(j, p, rows, at, n, err);
	for (uint32_t i = 0; i < n; i++) {
		if (!rows[i].count || rql_key_is_none(side, at + i))
			continue;
		const uint32_t *build = rows[i].count == 1 ? &rows[i].first : j->table.rows + rows[i].first;
		if (j->rest)
			RQL_TRY(propose(j, p, room, first, (uint32_t)(at + i), build, rows[i].count, worker, err));
		else
			RQL_TRY(take(j, p, room, first, (uint32_t)(at + i), build, rows[i].count, err));
	}
	return RQL_OK;
}

/* Rows that look up alone: hits, misses, and those that an outer join keeps. */
static rql_status take_alone(struct joining *j, struct pairs *p, const struct pair_room *room, uint64_t first,
                             uint64_t rows, struct rql_error *err)
{
	bool wanted = j->wants == WANT_HITS;
	if (j->wants == WANT_MARK) {
		memcpy(j->hit + first, room->hit, rows);
		return RQL_OK;
	}
	if (!j->keep_probe && j->wants != WANT_HITS && j->wants != WANT_MISSES)
		return RQL_OK;
	for (uint64_t i = 0; i < rows; i++) {
		if (room->hit[i] != wanted)
			continue;
		if (p->count == p->room)
			RQL_TRY(rql_join_add_room(j, p, 1, err));
		p->probe[p->count] = (uint32_t)(first + i);
		if (p->build)
			p->build[p->count] = RQL_NO_ROW;
		p->count++;
	}
	return RQL_OK;
}

rql_status rql_join_room_for(struct joining *j, unsigned worker, struct rql_error *err)
{
	if (j->rooms[worker])
		return RQL_OK;
	uint32_t columns = j->sides[0]->vector_count + j->sides[1]->vector_count;
	struct pair_room *room = j->rooms[worker] = calloc(1, sizeof *room);
	if (!room)
		return rql_error_memory(err, sizeof *room, "the rows of a join");
	room->set.vector_count = columns;
	room->set.vectors = calloc(columns + 1, sizeof *room->set.vectors);
	room->at = calloc(columns + 1, sizeof *room->at);
	return room->set.vectors && room->at ? RQL_OK : rql_error_memory(err, 0, "the rows of a join");
}

static void free_rooms(struct joining *j)
{
	for (unsigned t = 0; j->rooms && t < rql_running_threads(j->r); t++) {
		struct pair_room *room = j->rooms[t];
		for (uint32_t v = 0; room && room->at && v < room->set.vector_count; v++)
			free(room->at[v]);
		if (room) {
			free(room->at);
			free(room->set.vectors);
		}
		free(room);
	}
}

static rql_status join_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	struct joining *j = state;
	struct pairs *p = &j->morsels[first / RQL_MORSEL_ROWS];
	RQL_TRY(rql_join_room_for(j, worker, err));
	struct pair_room *room = j->rooms[worker];
	memset(room->hit, 0, rows * sizeof *room->hit);
	room->count = 0;
	for (uint64_t i = 0; i < rows; i += RQL_VECTOR_ROWS) {
		uint32_t n = rql_vector_part(i, rows);
		RQL_TRY(look_up(j, p, room, first, first + i, n, worker, err));
	}
	if (j->rest)
		RQL_TRY(test_candidates(j, p, room, first, worker, err));
	return j->plain ? RQL_OK : take_alone(j, p, room, first, rows, err);
}

/* ---- what comes out ---- */

static uint64_t count_build(const struct joining *j, bool wanted)
{
	uint64_t n = 0;
	for (uint64_t i = 0; i < j->sides[j->build]->rows; i++)
		n += rql_join_is_found(j, (uint32_t)i) == wanted;
	return n;
}

/* The lists of all morsels one after the other, and behind them the table's rows that are wanted by themselves. */
static rql_status gather(struct joining *j, uint64_t *count, uint32_t **probe, uint32_t **build)
{
	uint64_t probes = j->sides[!j->build]->rows, morsels = (probes + RQL_MORSEL_ROWS - 1) / RQL_MORSEL_ROWS, at = 0;
	bool own = j->keep_build || j->wants == WANT_BUILD_HITS || j->wants == WANT_BUILD_MISSES;
	bool wanted = j->wants == WANT_BUILD_HITS;
	uint64_t n = own ? count_build(j, wanted) : 0;
	for (uint64_t m = 0; m < morsels; m++)
		n += j->morsels[m].count;
	if (n >= RQL_NO_ROW)
		return rql_error_set(j->r->err, RQL_ERROR_UNSUPPORTED, "a join of 2^32 rows or more");
	RQL_TRY(RQL_ROOM(j->r, *probe, n));
	RQL_TRY(RQL_ROOM(j->r, *build, n));
	for (uint64_t m = 0; m < morsels; at += j->morsels[m++].count) {
		if (!j->morsels[m].count)
			continue;
		RQL_TRY(rql_join_copy(j, *probe + at, j->morsels[m].probe, j->morsels[m].count, j->r->err));
		if (j->morsels[m].build)
			RQL_TRY(rql_join_copy(j, *build + at, j->morsels[m].build, j->morsels[m].count, j->r->err));
	}
	for (uint64_t i = 0; own && i < j->sides[j->build]->rows; i++)
		if (rql_join_is_found(j, (uint32_t)i) == wanted) {
			(*probe)[at] = RQL_NO_ROW;
			(*build)[at++] = (uint32_t)i;
		}
	*count = n;
	return RQL_OK;
}

static rql_status place(struct joining *j, struct rql_rowset *out)
{
	uint64_t n = 0;
	uint32_t *rows[2] = {NULL, NULL};
	RQL_TRY((rql_range_pairs_known(j) ? rql_range_pairs : gather)(j, &n, &rows[!j->build], &rows[j->build]));
	bool filters = j->wants != WANT_PAIRS;
	unsigned kept = j->wants == WANT_BUILD_HITS || j->wants == WANT_BUILD_MISSES ? j->build : !j->build;
	bool outer[2];
	outer[!j->build] = j->keep_build;
	outer[j->build] = j->keep_probe;
	*out = (struct rql_rowset){.arena = j->r->arena, .capacity = n, .rows = n};
	out->vectors = RQL_NEW_ARRAY(j->r->arena, struct rql_vector,
	                             (size_t)j->sides[0]->vector_count + j->sides[1]->vector_count);
	if (!out->vectors)
		return rql_error_memory(j->r->err, 0, "the rows of a join");
	for (unsigned side = 0; side < 2; side++) {
		if (filters && side != kept)
			continue;
		RQL_TRY(rql_vectors_at(j->r, j->sides[side], rows[side], n, !filters && outer[side],
		                       out->vectors + out->vector_count));
		out->vector_count += j->sides[side]->vector_count;
	}
	return RQL_OK;
}

/* ---- marks: is there a partner, or is that not known? ---- */

/* The rows that equal this one but for the key that may be NULL: is there one at all, and one whose key is NULL? */
struct doubts {
	struct rql_keys keys;
	struct rql_key_table all, nulls;
};

static rql_status key_vectors(struct joining *j, unsigned side, struct rql_vector **out)
{
	if (!(*out = RQL_NEW_ARRAY(j->r->arena, struct rql_vector, j->keys.key_count)))
		return rql_error_memory(j->r->err, 0, "the rows of a join");
	for (uint32_t k = 0; k < j->keys.key_count; k++)
		RQL_TRY(rql_rowset_compute(j->r, j->sides[side], j->keys.sides[side][k], *out + k));
	return RQL_OK;
}

/* The one key whose NULL is no value. */
static uint32_t open_key(const struct joining *j)
{
	uint32_t k = 0;
	while (k < j->keys.key_count && j->keys.nulls_equal[k])
		k++;
	return k;
}

static bool is_null(const struct rql_vector *v, uint32_t row)
{
	return rql_vector_nullable(v) && rql_vector_get(v, row).is_null;
}

static rql_status make_doubts(struct joining *j, struct doubts *d)
{
	uint32_t open = open_key(j), n = j->keys.key_count - 1;
	struct rql_vector *vectors[2];
	bool *equal = RQL_NEW_ARRAY(j->r->arena, bool, n);
	if (!equal)
		return rql_error_memory(j->r->err, 0, "the rows of a join");
	memset(equal, 1, n);
	for (unsigned s = 0; s < 2; s++) {
		if (!(vectors[s] = RQL_NEW_ARRAY(j->r->arena, struct rql_vector, n)))
			return rql_error_memory(j->r->err, 0, "the rows of a join");
		for (uint32_t k = 0; k < n; k++)
			vectors[s][k] = j->words.sides[s].vectors[k < open ? k : k + 1];
		d->keys.sides[s] = (struct rql_key_side){.set = j->words.sides[s].set, .vectors = vectors[s]};
	}
	d->keys.columns = n;
	d->keys.nulls_equal = equal;
	d->keys.side_count = 2;
	RQL_TRY(rql_keys_make(j->r, &d->keys));
	RQL_TRY(rql_key_table_make(j->r, &d->keys.sides[0], d->keys.bits, &d->all));
	/* The same without the rows whose key has a value. */
	struct rql_key_side *side = &d->keys.sides[0];
	RQL_TRY(RQL_ZEROED_SCRATCH(j->r, side->none, (side->set->rows + 63) / 64));
	for (uint64_t i = 0; i < side->set->rows; i++)
		if (!is_null(&j->words.sides[0].vectors[open], (uint32_t)i))
			rql_bit_set(side->none, i);
	return rql_key_table_make(j->r, side, d->keys.bits, &d->nulls);
}

static rql_status mark_doubts(struct joining *j, struct rql_column *mark)
{
	struct doubts d = {0};
	const struct rql_vector *probe = &j->words.sides[1].vectors[open_key(j)];
	RQL_TRY(make_doubts(j, &d));
	const struct rql_key_side *side = &d.keys.sides[1];
	for (uint64_t i = 0; i < side->set->rows; i++) {
		struct rql_key_rows rows;
		if (j->hit[i] || rql_key_is_none(side, i))
			continue;
		rql_key_table_find(is_null(probe, (uint32_t)i) ? &d.all : &d.nulls, side->words + i, 1, &rows);
		if (rows.count)
			rql_bit_clear(mark->validity, i);
	}
	return RQL_OK;
}

static rql_status place_mark(struct joining *j, struct rql_rowset *out)
{
	const struct rql_rowset *left = j->sides[0];
	struct rql_column *mark = NULL;
	RQL_TRY(rql_column_room(j->r, rql_type_simple(RQL_TYPE_BOOLEAN), left->rows, true, &mark));
	memcpy(mark->data, j->hit, left->rows);
	memset(mark->validity, 0xff, (left->rows + 63) / 64 * sizeof *mark->validity);
	uint32_t open = open_key(j);
	if (open < j->keys.key_count && (rql_vector_nullable(&j->words.sides[0].vectors[open]) ||
	                                 rql_vector_nullable(&j->words.sides[1].vectors[open])))
		RQL_TRY(mark_doubts(j, mark));
	*out = *left;
	if (!(out->vectors = RQL_NEW_ARRAY(j->r->arena, struct rql_vector, left->vector_count + UINT64_C(1))))
		return rql_error_memory(j->r->err, 0, "the rows of a join");
	memcpy(out->vectors, left->vectors, left->vector_count * sizeof *out->vectors);
	out->vectors[out->vector_count++] =
		(struct rql_vector){.kind = RQL_VECTOR_COLUMN, .type = mark->type, .values = mark};
	return RQL_OK;
}

/* ---- the whole ---- */

/* Which side is in the table, and what is wanted of the other one. */
static void choose(struct joining *j)
{
	static const struct {
		enum rql_join_type join;
		enum wants left_looks_up, right_looks_up;
		bool keep[2];
	} kinds[] = {
		{RQL_JOIN_INNER, WANT_PAIRS, WANT_PAIRS, {false, false}},
		{RQL_JOIN_CROSS, WANT_PAIRS, WANT_PAIRS, {false, false}},
		{RQL_JOIN_LEFT, WANT_PAIRS, WANT_PAIRS, {true, false}},
		{RQL_JOIN_RIGHT, WANT_PAIRS, WANT_PAIRS, {false, true}},
		{RQL_JOIN_FULL, WANT_PAIRS, WANT_PAIRS, {true, true}},
		{RQL_JOIN_SEMI, WANT_HITS, WANT_BUILD_HITS, {false, false}},
		{RQL_JOIN_ANTI, WANT_MISSES, WANT_BUILD_MISSES, {false, false}},
		{RQL_JOIN_RIGHT_SEMI, WANT_BUILD_HITS, WANT_HITS, {false, false}},
		{RQL_JOIN_RIGHT_ANTI, WANT_BUILD_MISSES, WANT_MISSES, {false, false}},
		{RQL_JOIN_MARK, WANT_MARK, WANT_MARK, {false, false}},
		{RQL_JOIN_SINGLE, WANT_PAIRS, WANT_PAIRS, {true, false}},
		{RQL_JOIN_ASOF, WANT_PAIRS, WANT_PAIRS, {false, false}},
		{RQL_JOIN_ASOF_LEFT, WANT_PAIRS, WANT_PAIRS, {true, false}},
	};
	unsigned k = 0;
	while (kinds[k].join != j->rel->join)
		k++;
	bool left_only = j->rel->join == RQL_JOIN_MARK || j->rel->join == RQL_JOIN_SINGLE;
	j->build = j->keys.range.found ? j->keys.range.points : !left_only && j->sides[0]->rows < j->sides[1]->rows ? 0 : 1;
	j->wants = j->build ? kinds[k].left_looks_up : kinds[k].right_looks_up;
	/* Partitions take a table of any size: rows that are kept look up, so that of pairs only they are asked for. */
	j->by_pairs = rql_join_by_pairs(j);
	if (j->by_pairs && (j->wants == WANT_BUILD_HITS || j->wants == WANT_BUILD_MISSES)) {
		j->build = !j->build;
		j->wants = j->wants == WANT_BUILD_HITS ? WANT_HITS : WANT_MISSES;
	}
	j->keep_probe = kinds[k].keep[!j->build];
	j->keep_build = kinds[k].keep[j->build];
	j->single = j->rel->join == RQL_JOIN_SINGLE;
}

static rql_status prepare(struct joining *j)
{
	struct rql_rowset both = {.vector_count = j->sides[0]->vector_count + j->sides[1]->vector_count};
	uint64_t probes = j->sides[!j->build]->rows, builds = j->sides[j->build]->rows;
	for (unsigned s = 0; s < 2; s++) {
		unsigned side = s ? !j->build : j->build;
		struct rql_vector *vectors = NULL;
		RQL_TRY(key_vectors(j, side, &vectors));
		j->words.sides[s] = (struct rql_key_side){.set = j->sides[side], .vectors = vectors};
	}
	j->words.columns = j->keys.key_count;
	j->words.nulls_equal = j->keys.nulls_equal;
	j->words.side_count = 2;
	j->by_hash = j->by_pairs && j->wants != WANT_MARK && rql_keys_can_hash(&j->words);
	RQL_TRY((j->by_hash ? rql_keys_hash : rql_keys_make)(j->r, &j->words));
	if (j->keys.range.found)
		RQL_TRY(rql_range_open(j));
	if (!j->by_pairs && (j->keys.key_count || !j->keys.range.found))
		RQL_TRY(rql_key_table_make(j->r, &j->words.sides[0], j->words.bits, &j->table));
	if (j->keys.range.found)
		RQL_TRY(rql_range_make(j));
	RQL_TRY(RQL_ZEROED_SCRATCH(j->r, j->morsels, (probes + RQL_MORSEL_ROWS - 1) / RQL_MORSEL_ROWS));
	if (j->keep_build || j->wants == WANT_BUILD_HITS || j->wants == WANT_BUILD_MISSES)
		RQL_TRY(RQL_ZEROED_SCRATCH(j->r, j->found, (builds + 63) / 64));
	if (j->wants == WANT_MARK)
		RQL_TRY(RQL_SCRATCH(j->r, j->hit, probes));
	if (!(j->rooms = RQL_NEW_ARRAY(j->r->arena, struct pair_room *, rql_running_threads(j->r))))
		return rql_error_memory(j->r->err, 0, "the rows of a join");
	j->plain = !j->by_index && !j->by_pairs && (j->ranged ? j->asof : j->table.unique) && j->wants == WANT_PAIRS &&
	           !j->keep_build && !j->keys.rest_count;
	if (!j->keys.rest_count)
		return RQL_OK;
	if (!(both.vectors = RQL_NEW_ARRAY(j->r->arena, struct rql_vector, both.vector_count)))
		return rql_error_memory(j->r->err, 0, "the rows of a join");
	memcpy(both.vectors, j->sides[0]->vectors, j->sides[0]->vector_count * sizeof *both.vectors);
	memcpy(both.vectors + j->sides[0]->vector_count, j->sides[1]->vectors,
	       j->sides[1]->vector_count * sizeof *both.vectors);
	return rql_evaluator_new(j->r, &both, j->keys.rest, j->keys.rest_count, true, probes, &j->rest);
}

rql_status rql_join_open(struct joining *j, struct rql_rowset *inputs)
{
	j->sides[0] = &inputs[0];
	j->sides[1] = &inputs[1];
	if (!rql_join_keys_find(j->r->arena, j->rel, &j->keys))
		return rql_error_memory(j->r->err, 0, "the rows of a join");
	RQL_TRY(rql_rowset_rebase(j->r, &inputs[0]));
	RQL_TRY(rql_rowset_rebase(j->r, &inputs[1]));
	choose(j);
	return prepare(j);
}

void rql_join_close(struct joining *j)
{
	uint64_t probes = j->sides[!j->build]->rows;
	for (uint64_t m = 0; j->morsels && m < (probes + RQL_MORSEL_ROWS - 1) / RQL_MORSEL_ROWS; m++) {
		free(j->morsels[m].probe);
		free(j->morsels[m].build);
	}
	free_rooms(j);
	rql_join_pairs_close(j);
	rql_index_range_close(j);
	rql_evaluator_free(j->rest);
}

rql_status rql_join_rows_of(struct joining *j, struct rql_rowset *out)
{
	uint64_t probes = j->sides[!j->build]->rows;
	if (j->by_pairs)
		RQL_TRY(rql_join_pairs_run(j));
	else if (!rql_range_pairs_known(j))
		RQL_TRY(rql_morsels_run(j->r, probes, join_morsel, j));
	return j->wants == WANT_MARK ? place_mark(j, out) : place(j, out);
}

rql_status rql_rowset_join(struct rql_running *r, const struct rql_rel *rel, struct rql_rowset *inputs,
                           struct rql_rowset *out)
{
	struct joining j = {.r = r, .rel = rel};
	rql_status status = rql_join_open(&j, inputs);
	if (status == RQL_OK)
		status = rql_join_rows_of(&j, out);
	rql_join_close(&j);
	return status;
}
