/* GROUP BY over a join whose pairs a method finds, without the join's rows: each piece of pairs goes into the states of the
 * aggregates when it comes (aggregate_internal.h), by all threads, and is forgotten.
 *
 * Groups are numbered among the rows of each side, before there are pairs; a pair's group is made of two such numbers. What an
 * aggregate reads is of one side. It comes with the pair in place of the row's number, where it lies as words of 32 or 64
 * bits: then nothing is read at random. Else the number comes, and values are read at it.
 *
 * Bytes a pair: what is carried of both sides, read once; the states lie in a core's cache. */
#include <string.h>

#include "flow/aggregate/aggregate_pairs.h"
#include "flow/aggregate/aggregate_sides.h"
#include "flow/join/join_internal.h"
#include "method/method.h"

#define GROUPS_MOST 65536u /* of which each thread has its own states */
#define NO_COLUMN UINT32_MAX

/* What is known of a side's rows. */
struct side {
	struct aggregate_side of;
	bool numbers; /* its rows' numbers come, and nothing else */
	uint32_t column_count, group_column;
	struct rql_side_column columns[RQL_SIDE_COLUMNS];
	unsigned found; /* its place in rql_found */
};

struct pairing {
	struct aggregating agg; /* behind those of rel: how many pairs a group has */
	struct joining join;
	struct side sides[2];
	/* Of each aggregate: the side of its argument; the column that is carried, or NO_COLUMN. */
	unsigned *side;
	uint32_t *column;
	struct aggregate *here;      /* over the piece that is there */
	struct rql_column *carried;  /* of those whose values lie in the piece */
	const struct rql_found *piece;
};

/* ---- groups of each side ---- */

static rql_status number_groups(struct pairing *p, unsigned s)
{
	struct aggregate_side *side = &p->sides[s].of;
	struct rql_running *r = p->agg.r;
	RQL_TRY(rql_side_number(r, p->agg.rel, p->join.rel, s, side));
	return !side->key_count || side->groups.count > GROUPS_MOST ? RQL_OK
	                                                            : rql_key_groups_spread(r, &side->groups, side->set->rows);
}

/* ---- what comes with a pair ---- */

/* The vector's rows as words, where they lie so; false: they do not. */
static bool as_words(const struct aggregate *a, struct rql_side_column *out)
{
	const struct rql_vector *v = &a->argument;
	const bool flat = v->kind == RQL_VECTOR_COLUMN && v->values && !v->values->validity;
	const unsigned bytes = rql_type_bytes(v->type);
	if (v->at || a->has_filter || a->form == FORM_STRING)
		return false;
	if (v->kind == RQL_VECTOR_CODES)
		*out = (struct rql_side_column){32, v->codes};
	else if (v->kind == RQL_VECTOR_WIDE)
		*out = (struct rql_side_column){64, v->wide};
	else if (flat && (bytes == 4 || bytes == 8))
		*out = (struct rql_side_column){8 * bytes, v->values->data};
	else
		return false;
	return true;
}

/* Does it look at rows at all, and not only count them? */
static bool has_values(const struct aggregate *a)
{
	return a->has_filter || (a->kind != AGG_COUNT_STAR && (a->kind != AGG_COUNT || rql_vector_nullable(&a->argument)));
}

/* The column's number among those that are carried; NO_COLUMN: there is no room. */
static uint32_t carry(struct side *side, const struct rql_side_column *column)
{
	uint32_t c = 0;
	while (c < side->column_count && side->columns[c].values != column->values)
		c++;
	if (c == RQL_SIDE_COLUMNS)
		return NO_COLUMN;
	if (c == side->column_count)
		side->columns[side->column_count++] = *column;
	return c;
}

static void carry_number(struct pairing *p, unsigned s)
{
	struct side *side = &p->sides[s];
	side->numbers = true;
	side->column_count = 1;
	side->columns[0] = (struct rql_side_column){.bits = 32};
	for (uint32_t i = 0; i < p->agg.agg_count; i++)
		if (p->side[i] == s)
			p->column[i] = NO_COLUMN;
}

static void choose_columns(struct pairing *p, unsigned s)
{
	struct side *side = &p->sides[s];
	side->group_column = NO_COLUMN;
	if (side->of.key_count)
		side->group_column = carry(side, &(struct rql_side_column){32, side->of.groups.group});
	for (uint32_t i = 0; i < p->agg.agg_count && !side->numbers; i++) {
		struct rql_side_column column;
		if (p->side[i] != s || !has_values(&p->agg.aggs[i]))
			continue;
		p->column[i] = as_words(&p->agg.aggs[i], &column) ? carry(side, &column) : NO_COLUMN;
		if (p->column[i] == NO_COLUMN)
			carry_number(p, s);
	}
}

/* ---- a piece ---- */

/* The groups of n pairs from `at` on; NULL: there is one. */
static const uint32_t *groups_of(const struct pairing *p, uint64_t at, uint32_t n, uint32_t *room)
{
	bool first = true;
	for (unsigned s = 0; s < 2; s++) {
		const struct side *side = &p->sides[s];
		if (!side->of.key_count)
			continue;
		const uint32_t *from = p->piece->columns[side->found][side->numbers ? 0 : side->group_column];
		const uint32_t *of = side->numbers ? side->of.groups.group : NULL, times = first ? 0 : (uint32_t)side->of.groups.count;
		for (uint32_t i = 0; i < n; i++)
			room[i] = (times ? room[i] * times : 0) + (of ? of[from[at + i]] : from[at + i]);
		first = false;
	}
	return first ? NULL : room;
}

static rql_status add_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct pairing *p = state;
	uint32_t numbers[RQL_VECTOR_ROWS], groups[RQL_VECTOR_ROWS];
	for (uint64_t at = first; at < first + rows; at += RQL_VECTOR_ROWS) {
		const uint32_t n = rql_vector_part(at, first + rows);
		const uint32_t *of = groups_of(p, at, n, groups);
		for (uint32_t i = 0; i < n; i++)
			numbers[i] = (uint32_t)(at + i);
		for (uint32_t i = 0; i < p->agg.agg_count; i++) {
			const struct side *side = &p->sides[p->side[i]];
			const uint32_t *list = p->piece->columns[side->found][0];
			const bool elsewhere = side->numbers && has_values(&p->here[i]);
			RQL_TRY(rql_aggregate_add(&p->here[i], &p->here[i].states[worker], elsewhere ? list + at : numbers, of, n, err));
		}
	}
	return RQL_OK;
}

/* What is carried stands in the argument's place. */
static void see_piece(struct pairing *p, const struct rql_found *found)
{
	p->piece = found;
	for (uint32_t i = 0; i < p->agg.agg_count; i++) {
		struct rql_vector *v = &p->here[i].argument;
		if (p->column[i] == NO_COLUMN)
			continue;
		const void *values = found->columns[p->sides[p->side[i]].found][p->column[i]];
		if (v->kind == RQL_VECTOR_CODES) {
			v->codes = values;
		} else if (v->kind == RQL_VECTOR_WIDE) {
			v->wide = values;
		} else {
			p->carried[i] = *p->agg.aggs[i].argument.values;
			p->carried[i].data = (void *)(uintptr_t)values;
			v->values = &p->carried[i];
		}
	}
}

static rql_status put(void *state, const struct rql_found *found, struct rql_error *err)
{
	struct pairing *p = state;
	struct rql_found checked = *found;
	RQL_TRY(rql_join_pairs_check(&p->join, &checked, err));
	see_piece(p, &checked);
	const rql_status status = rql_morsels_run(p->agg.r, checked.count, add_morsel, p);
	if (status != RQL_OK && err != p->agg.r->err)
		rql_error_move(err, p->agg.r->err);
	return status;
}

/* ---- the whole ---- */

static rql_status make_room(struct pairing *p)
{
	struct rql_arena *arena = p->agg.r->arena;
	const uint32_t n = p->agg.agg_count;
	if (!(p->agg.aggs = RQL_NEW_ARRAY(arena, struct aggregate, n)) || !(p->side = RQL_NEW_ARRAY(arena, unsigned, n)) ||
	    !(p->column = RQL_NEW_ARRAY(arena, uint32_t, n)) || !(p->here = RQL_NEW_ARRAY(arena, struct aggregate, n)) ||
	    !(p->carried = RQL_NEW_ARRAY(arena, struct rql_column, n)))
		return rql_error_memory(p->agg.r->err, 0, "groups of rows");
	return RQL_OK;
}

/* Arguments and states. The last aggregate counts the pairs. */
static rql_status prepare_aggregates(struct pairing *p)
{
	const struct rql_rel *rel = p->agg.rel;
	const uint32_t lefts = p->join.rel->children[0]->column_count, own = p->agg.agg_count - 1;
	for (uint32_t i = 0; i < p->agg.agg_count; i++) {
		const struct rql_expr *e = i < own ? rel->exprs[rel->group_count + i] : rql_sides_counted();
		p->side[i] = rql_sides_of(e, lefts);
		p->column[i] = NO_COLUMN;
		p->agg.set = p->sides[p->side[i]].of.set;
		if (i < own && !(e = rql_expr_lowered(p->agg.r->arena, e, p->side[i] ? lefts : 0)))
			return rql_error_memory(p->agg.r->err, 0, "groups of rows");
		RQL_TRY(rql_aggregate_prepare(&p->agg, i, e));
	}
	memcpy(p->here, p->agg.aggs, p->agg.agg_count * sizeof(*p->here));
	return RQL_OK;
}

/* *can: there are no more groups than threads can have states of. */
static rql_status prepare(struct pairing *p, bool *can)
{
	for (unsigned s = 0; s < 2; s++) {
		RQL_TRY(rql_rowset_rebase(p->agg.r, p->sides[s].of.set));
		RQL_TRY(number_groups(p, s));
	}
	const uint64_t left = p->sides[0].of.groups.count, right = p->sides[1].of.groups.count;
	*can = left <= GROUPS_MOST && right <= GROUPS_MOST && left * right <= GROUPS_MOST;
	p->agg.groups.count = left * right;
	p->agg.copies = rql_running_threads(p->agg.r);
	if (!*can)
		return RQL_OK;
	RQL_TRY(make_room(p));
	RQL_TRY(prepare_aggregates(p));
	for (unsigned s = 0; s < 2; s++)
		choose_columns(p, s);
	if (!p->sides[0].column_count && !p->sides[1].column_count)
		carry_number(p, 0);
	return RQL_OK;
}

static rql_status find_once(struct pairing *p)
{
	struct rql_run_sides sides = {.put = put, .state = p};
	for (unsigned s = 0; s < 2; s++) {
		p->sides[s].found = s != p->join.build;
		struct rql_run_side *to = &sides.side[p->sides[s].found];
		to->column_count = p->sides[s].column_count;
		memcpy(to->columns, p->sides[s].columns, sizeof(to->columns));
	}
	return rql_join_pairs_find(&p->join, &sides);
}

/* What has no room on the device with its values may have some with rows' numbers. */
static rql_status find(struct pairing *p)
{
	rql_status status = find_once(p);
	if (status != RQL_ERROR_LIMIT || p->piece)
		return status;
	bool wide = false;
	for (unsigned s = 0; s < 2; s++) {
		if (!p->sides[s].column_count || (p->sides[s].column_count == 1 && p->sides[s].columns[0].bits == 32))
			continue;
		wide = true;
		carry_number(p, s);
	}
	if (!wide)
		return status;
	rql_error_clear(p->agg.r->err);
	memcpy(p->here, p->agg.aggs, p->agg.agg_count * sizeof(*p->here));
	return find_once(p);
}

/* An expression that fails in some row may fail in one without a partner: pairs decide. */
static rql_status prepared(struct pairing *p, bool *can)
{
	rql_status status = prepare(p, can);
	if (status == RQL_ERROR_UNSUPPORTED) {
		rql_error_clear(p->agg.r->err);
		*can = false;
		status = RQL_OK;
	}
	return status;
}

rql_status rql_rowset_aggregate_pairs(struct rql_running *r, const struct rql_rel *rel, const struct rql_rel *join,
                                      struct rql_rowset *inputs, struct rql_rowset *out, uint64_t *pairs, bool *done)
{
	struct pairing *p = RQL_NEW(r->arena, struct pairing);
	*done = false;
	*pairs = 0;
	if (!p)
		return rql_error_memory(r->err, sizeof(*p), "groups of rows");
	if (!inputs[0].rows || !inputs[1].rows)
		return RQL_OK;
	p->agg = (struct aggregating){.r = r, .rel = rel, .agg_count = rel->expr_count - rel->group_count + 1};
	p->join = (struct joining){.r = r, .rel = join};
	p->sides[0].of.set = &inputs[0];
	p->sides[1].of.set = &inputs[1];
	RQL_TRY(prepared(p, done));
	if (!*done)
		return RQL_OK;
	rql_status status = rql_join_open(&p->join, inputs);
	for (unsigned s = 0; s < 2 && p->join.by_hash; s++)
		carry_number(p, s);
	if (status == RQL_OK)
		status = find(p);
	const struct aggregate_side *const of[2] = {&p->sides[0].of, &p->sides[1].of};
	if (status == RQL_OK)
		status = rql_sides_finish(&p->agg, of, out, pairs);
	rql_join_close(&p->join);
	return status;
}
