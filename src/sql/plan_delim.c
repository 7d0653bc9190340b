/* Correlated subqueries without correlation. The inner side of a DELIM_JOIN was computed for the distinct values D of some
 * columns of the outer side. Where the inner side joins D to something by equality, its rows of all values are the same
 * but for those that D has not, and the DELIM_JOIN's own conditions, which compare with every column of D, never meet those:
 * so D is left out, and what it equals stands for it (T. Neumann, A. Kemper: Unnesting Arbitrary Queries, BTW 2015, section
 * 3.1, "substitution of D"). DuckDB does it itself unless a filter lies below. */
#include <string.h>
#include "sql/rel_internal.h"

struct decorrelating {
	struct rql_plan_reader *reader;
	const struct rql_delim_scope *scope;
	bool apply; /* else only a look whether it can be done */
};

static uint32_t count_refs(const struct rql_rel *rel, uint64_t cte)
{
	uint32_t n = rel->kind == RQL_REL_CTE_REF && rel->cte == cte;
	for (uint32_t i = 0; i < rel->child_count; i++)
		n += count_refs(rel->children[i], cte);
	return n;
}

static bool is_delim_get(const struct decorrelating *d, const struct rql_rel *rel)
{
	return rel->kind == RQL_REL_DISTINCT && strcmp(rel->name, "LOGICAL_DELIM_GET") == 0 &&
	       count_refs(rel, d->scope->cte) == 1;
}

/* Columns that are column i of D, or equal it: two at most. */
#define NOWHERE UINT32_MAX
struct place {
	uint32_t at[2];
};

/* ---- the join with D ---- */

struct replacing {
	struct decorrelating *d;
	struct rql_rel *join;
	uint32_t first;          /* D's columns among the join's */
	uint32_t other, others;  /* the other input's */
	struct rql_expr **equal; /* [D's columns]: what stands for each, over the other input */
};

static struct rql_expr *to_other(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	const struct replacing *r = state;
	if (ref->index >= r->first && ref->index < r->first + r->d->scope->column_count)
		return r->equal[ref->index - r->first];
	struct rql_expr *copy = RQL_NEW(arena, struct rql_expr);
	if (copy) {
		*copy = *ref;
		copy->index -= r->other;
	}
	return copy;
}

static bool reads_other(const struct replacing *r, const struct rql_expr *e)
{
	if (e->kind == RQL_EXPR_REF)
		return e->index >= r->other && e->index < r->other + r->others;
	for (uint32_t i = 0; i < e->child_count; i++)
		if (!reads_other(r, e->children[i]))
			return false;
	return e->kind != RQL_EXPR_OPAQUE && e->kind != RQL_EXPR_WINDOW;
}

/* A cast of an integer to a type that has all its values. */
static bool is_widening(const struct rql_expr *e)
{
	if (e->kind != RQL_EXPR_CAST || !rql_type_is_integer(e->type) || !rql_type_is_integer(e->children[0]->type))
		return false;
	struct rql_type from = e->children[0]->type;
	return rql_type_bytes(from) < rql_type_bytes(e->type) && (!rql_type_is_signed(from) || rql_type_is_signed(e->type));
}

/* The condition by which column i of D equals *side, over the join's columns; *wide: as a wider integer. */
static const struct rql_expr *equality_of(const struct replacing *r, uint32_t i, const struct rql_expr **side,
                                          bool *wide)
{
	for (uint32_t c = 0; c < r->join->expr_count; c++) {
		const struct rql_expr *e = r->join->exprs[c];
		bool plain = e->kind == RQL_EXPR_COMPARE && !strcmp(e->name, "=");
		bool equal = plain || (e->kind == RQL_EXPR_COMPARE && !strcmp(e->name, "IS NOT DISTINCT FROM"));
		for (uint32_t k = 0; k < 2 && equal; k++) {
			const struct rql_expr *of_d = e->children[k];
			*side = e->children[1 - k];
			*wide = plain && is_widening(of_d);
			of_d = *wide ? of_d->children[0] : of_d;
			if (of_d->kind == RQL_EXPR_REF && of_d->index == r->first + i && reads_other(r, *side) &&
			    rql_type_equal(e->children[k]->type, (*side)->type))
				return e;
		}
	}
	return NULL;
}

/* What stands for column i of D. Where that was made wider, a value that it cannot have equals none of it: TRY_CAST gives
 * NULL, which the filter drops. */
static struct rql_expr *stand_in(struct replacing *r, uint32_t i, const struct rql_expr *side, bool wide)
{
	struct rql_plan_reader *reader = r->d->reader;
	struct rql_expr *e = rql_expr_rewrite(reader->arena, side, to_other, r), *cast = NULL;
	if (!e || !wide)
		return e;
	cast = rql_plan_expr_new(reader, RQL_EXPR_CAST, r->join->types[r->first + i], 1);
	if (cast) {
		cast->children[0] = e;
		cast->try_cast = true;
	}
	return cast;
}

/* What stands for a column that D is joined by with `=`: never true of NULL, so that neither is it. */
static struct rql_expr *not_null(struct rql_plan_reader *reader, struct rql_expr *e)
{
	struct rql_expr *test = rql_plan_expr_new(reader, RQL_EXPR_IS_NOT_NULL, rql_type_simple(RQL_TYPE_BOOLEAN), 1);
	if (test)
		test->children[0] = e;
	return test;
}

static bool add_filters(struct replacing *r, const struct rql_expr *const *taken, struct rql_rel *filter)
{
	struct rql_plan_reader *reader = r->d->reader;
	filter->expr_count = 0;
	for (uint32_t c = 0; c < r->join->expr_count; c++) {
		const struct rql_expr *e = r->join->exprs[c];
		struct rql_expr *made = NULL;
		uint32_t i = 0;
		while (i < r->d->scope->column_count && taken[i] != e)
			i++;
		bool open = i == r->d->scope->column_count;
		if (!open && e->name[0] != '=')
			continue;
		made = open ? rql_expr_rewrite(reader->arena, e, to_other, r) : not_null(reader, r->equal[i]);
		if (!made)
			return false;
		filter->exprs[filter->expr_count++] = made;
	}
	return true;
}

/* join, an inner one with D, becomes a projection of the other input's rows that D could have met. */
static bool replace_join(struct decorrelating *d, struct rql_rel *join, uint32_t child, struct place *places)
{
	struct rql_plan_reader *reader = d->reader;
	uint32_t n = d->scope->column_count, lefts = join->children[0]->column_count;
	struct rql_rel *other = join->children[!child];
	struct replacing r = {.d = d,
	                      .join = join,
	                      .first = child ? lefts : 0,
	                      .other = child ? 0 : lefts,
	                      .others = other->column_count,
	                      .equal = RQL_NEW_ARRAY(reader->arena, struct rql_expr *, n)};
	const struct rql_expr **taken = RQL_NEW_ARRAY(reader->arena, const struct rql_expr *, n);
	if (!r.equal || !taken)
		goto no_memory;
	for (uint32_t i = 0; i < n; i++) {
		const struct rql_expr *side;
		bool wide;
		if (!(taken[i] = equality_of(&r, i, &side, &wide)))
			return false;
		places[i] = (struct place){{r.first + i, side->kind == RQL_EXPR_REF && !wide ? side->index : NOWHERE}};
		if (d->apply && !(r.equal[i] = stand_in(&r, i, side, wide)))
			goto no_memory;
	}
	if (!d->apply)
		return true;
	struct rql_rel *filter = rql_plan_filter_over(reader, other, join->expr_count);
	struct rql_expr **exprs = RQL_NEW_ARRAY(reader->arena, struct rql_expr *, join->column_count);
	if (!filter || !exprs || !add_filters(&r, taken, filter))
		goto no_memory;
	for (uint32_t i = 0; i < join->column_count; i++) {
		struct rql_expr ref = {.kind = RQL_EXPR_REF, .type = join->types[i], .alias = join->names[i], .index = i};
		if (!(exprs[i] = to_other(reader->arena, &ref, &r)))
			goto no_memory;
	}
	join->kind = RQL_REL_PROJECT;
	join->name = "LOGICAL_PROJECTION";
	join->child_count = 1;
	join->children[0] = filter->expr_count ? filter : other;
	join->exprs = exprs;
	join->expr_count = join->column_count;
	return true;
no_memory:
	reader->no_memory = true;
	return false;
}

/* ---- the way down to it ---- */

static bool carry(struct decorrelating *d, struct rql_rel *rel, struct place *places);

static uint32_t given_as(const struct rql_rel *rel, uint32_t count, uint32_t column)
{
	for (uint32_t e = 0; e < count && column != NOWHERE; e++)
		if (rel->exprs[e]->kind == RQL_EXPR_REF && rel->exprs[e]->index == column)
			return e;
	return NOWHERE;
}

/* From the input's columns to those of rel, of which the first `count` give some on as they are. */
static bool find_columns(const struct rql_rel *rel, uint32_t count, uint32_t n, struct place *places)
{
	for (uint32_t i = 0; i < n; i++) {
		struct place *p = &places[i];
		for (uint32_t k = 0; k < 2; k++)
			p->at[k] = given_as(rel, count, p->at[k]);
		if (p->at[0] == NOWHERE && p->at[1] == NOWHERE)
			return false;
	}
	return true;
}

static bool carry_join(struct decorrelating *d, struct rql_rel *join, struct place *places)
{
	uint32_t child = count_refs(join->children[0], d->scope->cte) ? 0 : 1, lefts = join->children[0]->column_count;
	bool inner = join->join == RQL_JOIN_INNER || join->join == RQL_JOIN_CROSS;
	bool keeps_left = join->join == RQL_JOIN_LEFT || join->join == RQL_JOIN_SEMI || join->join == RQL_JOIN_ANTI ||
	                  join->join == RQL_JOIN_MARK || join->join == RQL_JOIN_SINGLE;
	if (!inner && (!keeps_left || child))
		return false;
	if (inner && is_delim_get(d, join->children[child]))
		return replace_join(d, join, child, places);
	if (!carry(d, join->children[child], places))
		return false;
	for (uint32_t i = 0; i < d->scope->column_count && child; i++)
		for (uint32_t k = 0; k < 2; k++)
			places[i].at[k] += places[i].at[k] == NOWHERE ? 0 : lefts;
	return true;
}

/* places[i]: where rel has column i of D, by which its rows of several values are told apart. false: D is needed, or lost. */
static bool carry(struct decorrelating *d, struct rql_rel *rel, struct place *places)
{
	uint32_t n = d->scope->column_count;
	switch (rel->kind) {
	case RQL_REL_JOIN:
		return carry_join(d, rel, places);
	case RQL_REL_FILTER:
		return carry(d, rel->children[0], places);
	case RQL_REL_DISTINCT:
		return !is_delim_get(d, rel) && carry(d, rel->children[0], places);
	case RQL_REL_PROJECT:
		return carry(d, rel->children[0], places) && find_columns(rel, rel->expr_count, n, places);
	case RQL_REL_AGGREGATE:
		return carry(d, rel->children[0], places) && find_columns(rel, rel->group_count, n, places);
	default:
		return false;
	}
}

/* ---- the whole ---- */

/* Some condition of the join compares column i of D, by the inner side's column, with what D was made of. */
static bool compares(const struct decorrelating *d, const struct rql_rel *join, bool flipped, uint32_t i, uint32_t at)
{
	uint32_t lefts = join->children[0]->column_count;
	uint32_t inner = flipped ? at : at + lefts, outer = flipped ? lefts : 0;
	if (at == NOWHERE)
		return false;
	const struct rql_expr *column = d->scope->columns[i];
	for (uint32_t c = 0; c < join->expr_count && column->kind == RQL_EXPR_REF; c++) {
		const struct rql_expr *e = join->exprs[c];
		bool equal = e->kind == RQL_EXPR_COMPARE && (!strcmp(e->name, "=") || !strcmp(e->name, "IS NOT DISTINCT FROM"));
		for (uint32_t k = 0; k < 2 && equal; k++)
			if (e->children[k]->kind == RQL_EXPR_REF && e->children[1 - k]->kind == RQL_EXPR_REF &&
			    e->children[k]->index == inner && e->children[1 - k]->index == column->index + outer)
				return true;
	}
	return false;
}

static bool drops_others(enum rql_join_type join, bool flipped)
{
	switch (join) {
	case RQL_JOIN_INNER:
		return true;
	case RQL_JOIN_RIGHT:
	case RQL_JOIN_RIGHT_SEMI:
	case RQL_JOIN_RIGHT_ANTI:
		return flipped;
	case RQL_JOIN_LEFT:
	case RQL_JOIN_SEMI:
	case RQL_JOIN_ANTI:
	case RQL_JOIN_MARK:
	case RQL_JOIN_SINGLE:
		return !flipped;
	default:
		return false;
	}
}

bool rql_plan_decorrelate(struct rql_plan_reader *reader, const struct rql_delim_scope *scope, struct rql_rel *join,
                          bool flipped)
{
	struct decorrelating d = {.reader = reader, .scope = scope};
	struct rql_rel *inner = join->child_count == 2 ? join->children[!flipped] : NULL;
	struct place *places = RQL_NEW_ARRAY(reader->arena, struct place, scope->column_count);
	reader->no_memory |= !places;
	if (!places || join->kind != RQL_REL_JOIN || !drops_others(join->join, flipped) ||
	    count_refs(inner, scope->cte) != 1 || !carry(&d, inner, places))
		return false;
	for (uint32_t i = 0; i < scope->column_count; i++)
		if (!compares(&d, join, flipped, i, places[i].at[0]) && !compares(&d, join, flipped, i, places[i].at[1]))
			return false;
	d.apply = true;
	return carry(&d, inner, places);
}
