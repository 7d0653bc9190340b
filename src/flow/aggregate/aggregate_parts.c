/* GROUP BY over an inner join by keys that has many more pairs than rows, without its pairs (eager aggregation: Yan and
 * Larson, VLDB 1995).
 *
 * Rows of one side that have one key and one group are alike to the other side. They become a part: how many rows it has, and
 * the states of the aggregates that read its side. Then parts of one key meet: each one's states go into the group of both as
 * often as the other has rows. So a join of 16 keys, 2^17 x 2^13 rows and 35 groups has 560 pairs of parts for 2^26 pairs.
 * Where rows are no more alike than that, a part is a row, and memory stays bounded by the rows all the same.
 *
 * What it must do: for a row what a group-by does (aggregate.c); for a pair of parts a state of each aggregate, 2 to 5 ns. */
#include "flow/aggregate/aggregate_parts.h"

#include <stdatomic.h>
#include <string.h>

#include "flow/aggregate/aggregate_sides.h"
#include "flow/join/join_internal.h"
#include "flow/operator.h"
#include "util/threads.h"

#define GROUPS_MANY 65536u /* so many have states for each thread */
#define BLOCKS_SEEN 64u    /* of rows that look up, for the number of pairs */

struct half {
	struct aggregate_side side;
	struct aggregating parts;  /* a group is a part; the last aggregate counts its rows */
	uint32_t *group;           /* [parts]: of the side's groups */
	struct rql_rowset numbers; /* has as many rows as there are parts */
	struct rql_key_side key;   /* of the parts */
};
struct meeting {
	struct aggregating agg; /* those of rel; behind them how many pairs a group has */
	struct joining join;
	struct half halves[2]; /* left, right */
	unsigned *side;        /* [agg.agg_count]: which one an aggregate reads, */
	uint32_t *at;          /* and its number among those of that half */
	struct rql_key_table table; /* of the parts of the join's build side */
	_Atomic uint64_t met;
};

/* ---- is it worth it? ---- */

/* Pairs, from a sample of the rows that look up. */
static double expected_pairs(const struct joining *j)
{
	const struct rql_key_side *side = &j->words.sides[1];
	const uint64_t rows = side->set->rows, blocks = (rows + RQL_VECTOR_ROWS - 1) / RQL_VECTOR_ROWS;
	const uint64_t step = blocks > BLOCKS_SEEN ? blocks / BLOCKS_SEEN : 1;
	struct rql_key_rows found[RQL_VECTOR_ROWS];
	uint64_t seen = 0, pairs = 0;
	for (uint64_t b = 0; b < blocks; b += step) {
		const uint64_t at = b * RQL_VECTOR_ROWS;
		const uint32_t n = rql_vector_part(at, rows);
		rql_join_find(j, at, n, found);
		for (uint32_t i = 0; i < n; i++)
			pairs += rql_key_is_none(side, at + i) ? 0 : found[i].count;
		seen += n;
	}
	return seen ? (double)pairs * (double)rows / (double)seen : 0;
}

static bool has_many_pairs(const struct joining *j)
{
	return !j->table.unique &&
	       expected_pairs(j) > RQL_PARTS_PAIRS_A_ROW * (double)(j->sides[0]->rows + j->sides[1]->rows);
}

/* ---- the parts of a side ---- */

static const struct rql_key_side *words_of(const struct meeting *m, unsigned s)
{
	return &m->join.words.sides[s != m->join.build];
}

/* Rows with one key and one group are one part. */
static rql_status number_parts(struct meeting *m, unsigned s)
{
	struct half *half = &m->halves[s];
	struct rql_running *r = m->agg.r;
	const struct rql_vector *keys = words_of(m, s)->vectors;
	uint32_t count = m->join.words.columns;
	struct rql_vector *vectors = RQL_NEW_ARRAY(r->arena, struct rql_vector, count + 1);
	if (!vectors)
		return rql_error_memory(r->err, 0, "groups of rows");
	memcpy(vectors, keys, count * sizeof *keys);
	if (half->side.key_count) {
		RQL_TRY(rql_key_groups_spread(r, &half->side.groups, half->side.set->rows));
		vectors[count++] = (struct rql_vector){.kind = RQL_VECTOR_CODES,
		                                       .type = rql_type_simple(RQL_TYPE_UINTEGER),
		                                       .codes = half->side.groups.group,
		                                       .null_code = UINT32_MAX};
	}
	return rql_key_groups_of(r, half->side.set, vectors, count, &half->parts.groups);
}

/* A part has the word of its first row, if that has one, and the group. */
static rql_status place_parts(struct meeting *m, unsigned s)
{
	struct half *half = &m->halves[s];
	struct rql_running *r = m->agg.r;
	const struct rql_key_side *from = words_of(m, s);
	const struct rql_key_groups *parts = &half->parts.groups;
	half->numbers = (struct rql_rowset){.arena = r->arena, .rows = parts->count, .capacity = parts->count};
	half->key.set = &half->numbers;
	RQL_TRY(RQL_SCRATCH(r, half->group, parts->count));
	RQL_TRY(RQL_SCRATCH(r, half->key.words, parts->count));
	RQL_TRY(RQL_ZEROED_SCRATCH(r, half->key.none, (parts->count + 63) / 64));
	for (uint64_t i = 0; i < parts->count; i++) {
		const uint32_t row = parts->first[i];
		half->group[i] = half->side.key_count ? half->side.groups.group[row] : 0;
		half->key.words[i] = from->words[row];
		if (rql_key_is_none(from, row))
			rql_bit_set(half->key.none, i);
	}
	return RQL_OK;
}

/* The aggregates that read the side, over its parts. */
static rql_status fill_parts(struct meeting *m, unsigned s)
{
	struct half *half = &m->halves[s];
	const struct rql_rel *rel = m->agg.rel;
	const uint32_t lefts = m->join.rel->children[0]->column_count, own = m->agg.agg_count - 1;
	struct aggregating *parts = &half->parts;
	parts->r = m->agg.r;
	parts->rel = rel;
	parts->set = half->side.set;
	parts->copies = rql_aggregate_copies(parts);
	if (!(parts->aggs = RQL_NEW_ARRAY(m->agg.r->arena, struct aggregate, m->agg.agg_count)))
		return rql_error_memory(m->agg.r->err, 0, "groups of rows");
	for (uint32_t i = 0; i < own; i++) {
		if (m->side[i] != s)
			continue;
		const struct rql_expr *e = rql_expr_lowered(m->agg.r->arena, rel->exprs[rel->group_count + i], s ? lefts : 0);
		if (!e)
			return rql_error_memory(m->agg.r->err, 0, "groups of rows");
		m->at[i] = parts->agg_count;
		RQL_TRY(rql_aggregate_prepare(parts, parts->agg_count++, e));
	}
	RQL_TRY(rql_aggregate_prepare(parts, parts->agg_count++, rql_sides_counted()));
	RQL_TRY(rql_aggregate_all(parts));
	for (uint32_t i = 0; i < parts->agg_count; i++)
		RQL_TRY(rql_aggregate_merge(parts, &parts->aggs[i]));
	return RQL_OK;
}

/* ---- parts meet ---- */

static const uint64_t *rows_of(const struct half *half)
{
	return half->parts.aggs[half->parts.agg_count - 1].states[0].count;
}

/* of: a part of each half. */
static rql_status meet(const struct meeting *m, const uint64_t of[2], uint32_t copy, struct rql_error *err)
{
	const uint32_t own = m->agg.agg_count - 1, *groups[2] = {m->halves[0].group, m->halves[1].group};
	const uint32_t g = groups[0][of[0]] * (uint32_t)m->halves[1].side.groups.count + groups[1][of[1]];
	for (uint32_t i = 0; i <= own; i++) {
		const unsigned s = m->side[i];
		const struct half *half = &m->halves[s];
		RQL_TRY(rql_aggregate_take(&m->agg.aggs[i], &m->agg.aggs[i].states[copy], g, &half->parts.aggs[m->at[i]].states[0],
		                           of[s], rows_of(&m->halves[!s])[of[!s]], err));
	}
	return RQL_OK;
}

/* All parts of the other side that have the part's key. left: pairs until it is asked whether the user has interrupted. */
static rql_status meet_all(struct meeting *m, uint64_t part, const struct rql_key_rows *found, uint32_t copy, uint64_t *left,
                           struct rql_error *err)
{
	const unsigned build = m->join.build;
	uint64_t of[2];
	of[!build] = part;
	for (uint32_t k = 0; k < found->count; k++) {
		of[build] = found->count == 1 ? found->first : m->table.rows[found->first + k];
		RQL_TRY(meet(m, of, copy, err));
		if (--*left)
			continue;
		*left = RQL_PAIRS_AT_ONCE;
		RQL_TRY(rql_running_ask(m->agg.r, err));
	}
	return RQL_OK;
}

static rql_status meet_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	struct meeting *m = state;
	const struct rql_key_side *probe = &m->halves[!m->join.build].key;
	struct rql_key_rows found[RQL_VECTOR_ROWS];
	uint64_t met = 0, left = RQL_PAIRS_AT_ONCE;
	for (uint64_t at = first; at < first + rows; at += RQL_VECTOR_ROWS) {
		const uint32_t n = rql_vector_part(at, first + rows);
		rql_key_table_find(&m->table, probe->words + at, n, found);
		for (uint32_t i = 0; i < n; i++) {
			if (rql_key_is_none(probe, at + i))
				continue;
			RQL_TRY(meet_all(m, at + i, &found[i], m->agg.copies == 1 ? 0 : worker, &left, err));
			met += found[i].count;
		}
	}
	atomic_fetch_add_explicit(&m->met, met, memory_order_relaxed);
	return RQL_OK;
}

/* ---- the whole ---- */

/* The states of rel's own aggregates: as those of the parts, but of as many groups as both sides have. */
static rql_status make_states(struct meeting *m)
{
	const uint32_t own = m->agg.agg_count - 1;
	for (uint32_t i = 0; i <= own; i++) {
		if (i == own)
			m->at[i] = m->halves[0].parts.agg_count - 1;
		m->agg.aggs[i] = m->halves[m->side[i]].parts.aggs[m->at[i]];
		RQL_TRY(rql_aggregate_room(&m->agg, &m->agg.aggs[i]));
	}
	return RQL_OK;
}

static rql_status make_room(struct meeting *m)
{
	struct rql_arena *arena = m->agg.r->arena;
	const struct rql_rel *rel = m->agg.rel;
	const uint32_t n = m->agg.agg_count, lefts = m->join.rel->children[0]->column_count;
	if (!(m->agg.aggs = RQL_NEW_ARRAY(arena, struct aggregate, n)) || !(m->side = RQL_NEW_ARRAY(arena, unsigned, n)) ||
	    !(m->at = RQL_NEW_ARRAY(arena, uint32_t, n)))
		return rql_error_memory(m->agg.r->err, 0, "groups of rows");
	for (uint32_t i = 0; i + 1 < n; i++)
		m->side[i] = rql_sides_of(rel->exprs[rel->group_count + i], lefts);
	return RQL_OK;
}

/* *can: there are no more groups than there may be states of. */
static rql_status prepare(struct meeting *m, bool *can)
{
	struct rql_running *r = m->agg.r;
	*can = false;
	for (unsigned s = 0; s < 2; s++)
		RQL_TRY(rql_side_number(r, m->agg.rel, m->join.rel, s, &m->halves[s].side));
	const uint64_t left = m->halves[0].side.groups.count, right = m->halves[1].side.groups.count;
	if (left > RQL_PARTS_GROUPS_MOST || right > RQL_PARTS_GROUPS_MOST || left * right > RQL_PARTS_GROUPS_MOST)
		return RQL_OK;
	m->agg.groups.count = left * right;
	m->agg.copies = left * right > GROUPS_MANY ? 1 : rql_running_threads(r);
	RQL_TRY(make_room(m));
	for (unsigned s = 0; s < 2; s++) {
		RQL_TRY(number_parts(m, s));
		RQL_TRY(place_parts(m, s));
		RQL_TRY(fill_parts(m, s));
	}
	RQL_TRY(make_states(m));
	*can = true;
	return RQL_OK;
}

static rql_status meet_parts(struct meeting *m)
{
	const struct rql_key_side *build = &m->halves[m->join.build].key, *probe = &m->halves[!m->join.build].key;
	RQL_TRY(rql_key_table_make(m->agg.r, build, m->join.words.bits, &m->table));
	return m->agg.copies == 1 ? meet_morsel(m, 0, probe->set->rows, 0, m->agg.r->err)
	                          : rql_morsels_run(m->agg.r, probe->set->rows, meet_morsel, m);
}

/* What cannot be said of the rows of a side alone may be said of pairs: an expression that fails for a row without a
 * partner, or a sum of such rows. */
static rql_status by_parts(struct meeting *m, struct rql_rowset *out, struct rql_parted *how, bool *done)
{
	const struct aggregate_side *const sides[2] = {&m->halves[0].side, &m->halves[1].side};
	rql_status status = prepare(m, done);
	if (status == RQL_ERROR_UNSUPPORTED) {
		rql_error_clear(m->agg.r->err);
		*done = false;
		return RQL_OK;
	}
	if (status != RQL_OK || !*done)
		return status;
	RQL_TRY(meet_parts(m));
	how->met = atomic_load(&m->met);
	return rql_sides_finish(&m->agg, sides, out, &how->pairs);
}

/* The join's rows, or, *done, the groups. */
static rql_status join_or_meet(struct meeting *m, struct rql_rowset *rows, struct rql_rowset *out, struct rql_parted *how,
                               bool *done)
{
	*done = false;
	if (has_many_pairs(&m->join))
		RQL_TRY(by_parts(m, out, how, done));
	if (*done)
		return RQL_OK;
	RQL_TRY(rql_join_rows_of(&m->join, rows));
	how->pairs = rows->rows;
	return RQL_OK;
}

rql_status rql_rowset_aggregate_join(struct rql_running *r, const struct rql_rel *rel, const struct rql_rel *join,
                                     struct rql_rowset *inputs, struct rql_rowset *out, struct rql_parted *how)
{
	const uint64_t start = rql_now_ns();
	struct meeting *m = RQL_NEW(r->arena, struct meeting);
	struct rql_rowset rows = {0};
	bool done = false;
	*how = (struct rql_parted){0};
	if (!m)
		return rql_error_memory(r->err, sizeof *m, "groups of rows");
	m->agg = (struct aggregating){.r = r, .rel = rel, .agg_count = rel->expr_count - rel->group_count + 1};
	m->join = (struct joining){.r = r, .rel = join};
	for (unsigned s = 0; s < 2; s++)
		m->halves[s].side.set = &inputs[s];
	rql_status status = rql_join_open(&m->join, inputs);
	if (status == RQL_OK)
		status = join_or_meet(m, &rows, out, how, &done);
	rql_join_close(&m->join);
	how->ns = (double)(rql_now_ns() - start);
	if (status == RQL_OK && !done) {
		rql_scratch_give_back(r);
		status = rql_rowset_step(r, rel, &rows, out);
	}
	return status;
}
