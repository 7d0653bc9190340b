/* Correlated subqueries without correlation. The inner side of a DELIM_JOIN was computed for the distinct values D of some
 * columns of the outer side. Where the inner side joins D to something by equality, its rows of all values are the same
 * but for those that D has not, and the DELIM_JOIN's own conditions, which compare with every column of D, never meet those:
 * so D is left out, and what it equals stands for it (T. Neumann, A. Kemper: Unnesting Arbitrary Queries, BTW 2015, section
 * 3.1, "substitution of D"). DuckDB does it itself unless a filter lies below. */
#include <string.h>
#include "sql/rel/rel_internal.h"

struct decorrelating {
	struct rql_plan_reader *reader;
	const struct rql_delim_scope *scope;
	bool apply; /* else only a look whether it can be done */
};

static bool is_delim_get(const struct decorrelating *d, const struct rql_rel *rel)
{
	return rql_rel_is_delim_get(rel) && rql_rel_cte_refs(rel, d->scope->cte) == 1;
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
	return e->kind == RQL_EXPR_CAST && rql_type_widens(e->children[0]->type, e->type);
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

/* join, an inner or semi one with D, becomes a projection of the other input's rows that D could have met. */
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
	bool semi = join->join == RQL_JOIN_SEMI; /* whose columns are the other input's alone */
	if (!r.equal || !taken)
		goto no_memory;
	for (uint32_t i = 0; i < n; i++) {
		const struct rql_expr *side;
		bool wide;
		if (!(taken[i] = equality_of(&r, i, &side, &wide)))
			return false;
		uint32_t beside = side->kind == RQL_EXPR_REF && !wide ? side->index : NOWHERE;
		places[i] = (struct place){{semi ? beside : r.first + i, semi ? NOWHERE : beside}};
		if (places[i].at[0] == NOWHERE)
			return false;
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

/* Where, among the first `count` expressions of rel, a column of the place is given on as it is: two at most. */
static struct place given_as(const struct rql_rel *rel, uint32_t count, struct place from)
{
	struct place to = {{NOWHERE, NOWHERE}};
	for (uint32_t e = 0, n = 0; e < count && n < 2; e++) {
		const struct rql_expr *expr = rel->exprs[e];
		if (expr->kind == RQL_EXPR_REF && (expr->index == from.at[0] || expr->index == from.at[1]))
			to.at[n++] = e;
	}
	return to;
}

/* From the input's columns to those of rel, of which the first `count` give some on as they are. */
static bool find_columns(const struct rql_rel *rel, uint32_t count, uint32_t n, struct place *places)
{
	for (uint32_t i = 0; i < n; i++) {
		places[i] = given_as(rel, count, places[i]);
		if (places[i].at[0] == NOWHERE)
			return false;
	}
	return true;
}

static bool carry_join(struct decorrelating *d, struct rql_rel *join, struct place *places)
{
	bool inner = join->join == RQL_JOIN_INNER || join->join == RQL_JOIN_CROSS, refs[2];
	for (uint32_t k = 0; k < 2; k++)
		refs[k] = rql_rel_cte_refs(join->children[k], d->scope->cte) != 0;
	uint32_t child = refs[0] ? 0 : 1, lefts = join->children[0]->column_count;
	if (refs[0] && refs[1]) { /* one at a time: that which is joined here */
		child = is_delim_get(d, join->children[0]) ? 0 : 1;
		if (!is_delim_get(d, join->children[child]))
			return false;
	}
	bool keeps_left = join->join == RQL_JOIN_LEFT || join->join == RQL_JOIN_SEMI || join->join == RQL_JOIN_ANTI ||
	                  join->join == RQL_JOIN_MARK || join->join == RQL_JOIN_SINGLE;
	bool semi = join->join == RQL_JOIN_SEMI && child && is_delim_get(d, join->children[1]);
	if (!inner && !semi && (!keeps_left || child))
		return false;
	if ((inner || semi) && is_delim_get(d, join->children[child]))
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

/* One DELIM_GET of the inner side is done without. */
static bool decorrelate_once(struct decorrelating *d, const struct rql_rel *join, bool flipped, struct place *places)
{
	struct rql_rel *inner = join->children[!flipped];
	d->apply = false;
	if (!carry(d, inner, places))
		return false;
	for (uint32_t i = 0; i < d->scope->column_count; i++)
		if (!compares(d, join, flipped, i, places[i].at[0]) && !compares(d, join, flipped, i, places[i].at[1]))
			return false;
	d->apply = true;
	return carry(d, inner, places);
}

/* ---- a value for each outer row, NULL or not ----
 * Where an aggregate without a GROUP BY gives a value also for no rows (count), the inner side is D LEFT JOIN the groups
 * under a projection that says what no group means. Each outer row has exactly one row of D, so the groups may be joined to
 * the outer side itself, and the projection be made above that. */

/* The column of `rel` that is "IS NOT DISTINCT FROM" column `of` of the other input, in a condition of its own. */
static uint32_t partner_of(const struct rql_rel *join, uint32_t of, uint32_t lefts)
{
	for (uint32_t c = 0; c < join->expr_count; c++) {
		const struct rql_expr *e = join->exprs[c];
		if (e->kind == RQL_EXPR_COMPARE && !strcmp(e->name, "IS NOT DISTINCT FROM") &&
		    e->children[0]->kind == RQL_EXPR_REF && e->children[0]->index == of && e->children[1]->kind == RQL_EXPR_REF &&
		    e->children[1]->index >= lefts)
			return e->children[1]->index;
	}
	return NOWHERE;
}

struct hoisting {
	const struct rql_delim_scope *scope;
	uint32_t outers; /* columns of the outer side */
};

/* D's columns are the outer side's own; the groups' stand behind those. */
static struct rql_expr *to_hoisted(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	const struct hoisting *h = state;
	if (ref->index < h->scope->column_count)
		return h->scope->columns[ref->index];
	struct rql_expr *copy = RQL_NEW(arena, struct rql_expr);
	if (copy) {
		*copy = *ref;
		copy->index += h->outers - h->scope->column_count;
	}
	return copy;
}

/* join: outer with PROJECT over D LEFT JOIN groups, each by all columns of D. */
static bool is_value_for_each(const struct decorrelating *d, const struct rql_rel *join)
{
	const struct rql_rel *project = join->children[1];
	const struct rql_rel *left = project->kind == RQL_REL_PROJECT ? project->children[0] : NULL;
	uint32_t n = d->scope->column_count, outers = join->children[0]->column_count;
	if (!left || left->kind != RQL_REL_JOIN || left->join != RQL_JOIN_LEFT || left->expr_count != n ||
	    join->expr_count != n || !is_delim_get(d, left->children[0]) || left->children[1]->kind != RQL_REL_AGGREGATE)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct rql_expr *column = d->scope->columns[i];
		uint32_t of_project = column->kind == RQL_EXPR_REF ? partner_of(join, column->index, outers) : NOWHERE;
		uint32_t of_groups = partner_of(left, i, n);
		if (of_project == NOWHERE || of_groups == NOWHERE || of_groups - n >= left->children[1]->group_count)
			return false;
		const struct rql_expr *given = project->exprs[of_project - outers];
		if (given->kind != RQL_EXPR_REF || given->index != i)
			return false;
	}
	return true;
}

/* NULL: out of memory. */
static struct rql_rel *hoist(struct decorrelating *d, struct rql_rel *join)
{
	struct rql_arena *arena = d->reader->arena;
	struct rql_rel *project = join->children[1], *left = project->children[0];
	struct hoisting h = {d->scope, join->children[0]->column_count};
	struct rql_rel *groups = left->children[1];
	struct rql_rel *made = rql_rel_new(arena, RQL_REL_JOIN, join->name, h.outers + groups->column_count, 2);
	struct rql_expr_list exprs = {0};
	if (!made || !(made->exprs = RQL_NEW_ARRAY(arena, struct rql_expr *, left->expr_count)))
		return NULL;
	made->join = join->join;
	made->expr_count = left->expr_count;
	made->children[0] = join->children[0];
	made->children[1] = groups;
	memcpy(made->types, join->types, h.outers * sizeof *made->types);
	memcpy(made->names, join->names, h.outers * sizeof *made->names);
	memcpy(made->types + h.outers, groups->types, groups->column_count * sizeof *made->types);
	memcpy(made->names + h.outers, groups->names, groups->column_count * sizeof *made->names);
	for (uint32_t i = 0; i < left->expr_count; i++)
		if (!(made->exprs[i] = rql_expr_rewrite(arena, left->exprs[i], to_hoisted, &h)))
			return NULL;
	for (uint32_t i = 0; i < h.outers; i++) {
		struct rql_expr *e = rql_expr_ref(arena, made, i);
		if (!e || !rql_expr_list_add(arena, &exprs, e))
			return NULL;
	}
	for (uint32_t i = 0; i < project->expr_count; i++) {
		struct rql_expr *e = rql_expr_rewrite(arena, project->exprs[i], to_hoisted, &h);
		if (!e || !rql_expr_list_add(arena, &exprs, e))
			return NULL;
	}
	struct rql_rel *rel = rql_rel_project(arena, made, exprs.items, exprs.count);
	if (rel)
		memcpy(rel->names, join->names, join->column_count * sizeof *rel->names);
	return rel;
}

bool rql_plan_decorrelate(struct rql_plan_reader *reader, const struct rql_delim_scope *scope, struct rql_rel **rel,
                          bool flipped, struct rql_rel **join)
{
	struct decorrelating d = {.reader = reader, .scope = scope};
	struct rql_rel **core = (*rel)->kind == RQL_REL_PROJECT ? &(*rel)->children[0] : rel;
	struct place *places = RQL_NEW_ARRAY(reader->arena, struct place, scope->column_count);
	reader->no_memory |= !places;
	if (!places || (*core)->kind != RQL_REL_JOIN || !drops_others((*core)->join, flipped))
		return false;
	bool keeps_all = !flipped && ((*core)->join == RQL_JOIN_LEFT || (*core)->join == RQL_JOIN_SINGLE);
	if (keeps_all && is_value_for_each(&d, *core)) {
		struct rql_rel *hoisted = hoist(&d, *core);
		reader->no_memory |= !hoisted;
		if (!hoisted)
			return false;
		*core = hoisted;
		core = &hoisted->children[0];
	}
	*join = *core;
	while (rql_rel_cte_refs((*join)->children[!flipped], scope->cte))
		if (!decorrelate_once(&d, *join, flipped, places))
			return false;
	return !reader->no_memory;
}
