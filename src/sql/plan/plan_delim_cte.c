/* Correlated subqueries as DuckDB 2 plans them: CTE A(outer, CTE B(the distinct values of some columns of A, JOIN(A, inner
 * side that reads B))). They get the form that the reader gives to 1.5's DELIM_JOIN, CTE(outer, JOIN(CTE_REF, inner side with
 * DISTINCT(PROJECT(columns, CTE_REF)))), of which plan_delim.c takes the correlation away where it can. */
#include <string.h>
#include "sql/rel/rel_internal.h"

/* ---- B in the place where it is read ---- */

struct rql_rel *rql_plan_delim_values(struct rql_plan_reader *reader, const struct rql_delim_scope *scope)
{
	uint32_t count = scope->column_count;
	struct rql_rel *ref = rql_plan_cte_ref(reader, scope->cte, scope->outer);
	struct rql_rel *project = ref ? rql_rel_project(reader->arena, ref, scope->columns, count) : NULL;
	struct rql_rel *distinct =
		project ? rql_plan_rel_new(reader, RQL_REL_DISTINCT, RQL_DELIM_GET, count, 1) : NULL;
	reader->no_memory |= !distinct;
	if (!distinct)
		return NULL;
	distinct->children[0] = project;
	memcpy(distinct->types, project->types, count * sizeof *distinct->types);
	memcpy(distinct->names, project->names, count * sizeof *distinct->names);
	return distinct;
}

static bool put_values(struct rql_plan_reader *reader, struct rql_rel *rel, uint64_t cte,
                       const struct rql_delim_scope *scope)
{
	if (rel->kind == RQL_REL_CTE_REF && rel->cte == cte) {
		struct rql_rel *values = rql_plan_delim_values(reader, scope);
		if (values)
			*rel = *values;
		return values != NULL;
	}
	for (uint32_t i = 0; i < rel->child_count; i++)
		if (!put_values(reader, rel->children[i], cte, scope))
			return false;
	return true;
}

/* ---- the pattern ---- */

/* GROUP BY columns of A, and nothing else. */
static bool is_values_of(const struct rql_rel *rel, uint64_t cte)
{
	if (rel->kind != RQL_REL_AGGREGATE || !rel->group_count || rel->expr_count != rel->group_count ||
	    rel->children[0]->kind != RQL_REL_CTE_REF || rel->children[0]->cte != cte)
		return false;
	for (uint32_t i = 0; i < rel->group_count; i++)
		if (rel->exprs[i]->kind != RQL_EXPR_REF)
			return false;
	return true;
}

/* The join of A and what B is read for; *flipped: A is its right input. NULL: it is something else. */
static struct rql_rel *find_join(const struct rql_rel *a, bool *flipped)
{
	const struct rql_rel *b = a->children[1];
	if (b->kind != RQL_REL_CTE || !is_values_of(b->children[0], a->cte))
		return NULL;
	struct rql_rel *join = b->children[1]->kind == RQL_REL_PROJECT ? b->children[1]->children[0] : b->children[1];
	if (join->kind != RQL_REL_JOIN)
		return NULL;
	*flipped = join->children[1]->kind == RQL_REL_CTE_REF && join->children[1]->cte == a->cte;
	const struct rql_rel *outer = join->children[*flipped], *inner = join->children[!*flipped];
	bool fits = outer->kind == RQL_REL_CTE_REF && outer->cte == a->cte && !rql_rel_cte_refs(inner, a->cte) &&
	            rql_rel_cte_refs(inner, b->cte);
	return fits ? join : NULL;
}

static bool fill_scope(struct rql_plan_reader *reader, const struct rql_rel *a, struct rql_delim_scope *scope)
{
	const struct rql_rel *values = a->children[1]->children[0];
	*scope = (struct rql_delim_scope){
		.cte = reader->next_cte++, .outer = a->children[0], .column_count = values->group_count,
		.columns = RQL_NEW_ARRAY(reader->arena, struct rql_expr *, values->group_count)};
	reader->no_memory |= !scope->columns;
	for (uint32_t i = 0; i < scope->column_count && !reader->no_memory; i++)
		scope->columns[i] = rql_plan_expr_ref(reader, values->exprs[i]->index, values->exprs[i]->type,
		                                      scope->outer->names[values->exprs[i]->index]);
	return !reader->no_memory;
}

/* ---- projections over one another ---- */

static struct rql_expr *column_of(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	const struct rql_rel *below = state;
	(void)arena;
	return below->exprs[ref->index];
}

/* A projection over one of columns and constants is a single one. */
static bool merge_projections(struct rql_plan_reader *reader, struct rql_rel *rel)
{
	struct rql_rel *below = rel->kind == RQL_REL_PROJECT ? rel->children[0] : NULL;
	if (!below || below->kind != RQL_REL_PROJECT)
		return true;
	for (uint32_t i = 0; i < below->expr_count; i++)
		if (below->exprs[i]->kind != RQL_EXPR_REF && below->exprs[i]->kind != RQL_EXPR_CONSTANT)
			return true;
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		const char *alias = rel->exprs[i]->alias;
		struct rql_expr *merged = rql_expr_rewrite(reader->arena, rel->exprs[i], column_of, below);
		struct rql_expr *named = merged ? RQL_NEW(reader->arena, struct rql_expr) : NULL;
		reader->no_memory |= !named;
		if (!named)
			return false;
		*named = *merged; /* it may be the other one's own */
		named->alias = alias;
		rel->exprs[i] = named;
	}
	rel->children[0] = below->children[0];
	return true;
}

/* ---- the whole ---- */

struct rql_rel *rql_plan_delim_of_ctes(struct rql_plan_reader *reader, struct rql_rel *a)
{
	bool flipped = false;
	struct rql_rel *join = find_join(a, &flipped), *core = NULL, *use = join ? a->children[1]->children[1] : NULL;
	struct rql_delim_scope scope;
	if (!join)
		return a;
	uint64_t b = a->children[1]->cte;
	if (!fill_scope(reader, a, &scope) || !put_values(reader, join->children[!flipped], b, &scope))
		return NULL;
	join->children[flipped]->cte = scope.cte;
	struct rql_rel *inner = rql_rel_push_filters(reader->arena, join->children[!flipped]);
	reader->no_memory |= !inner;
	if (!inner || !merge_projections(reader, inner))
		return NULL;
	join->children[!flipped] = inner;
	if (rql_plan_decorrelate(reader, &scope, &use, flipped, &core)) {
		core->children[flipped] = a->children[0];
		return use;
	}
	a->cte = scope.cte;
	a->children[1] = use;
	return reader->no_memory ? NULL : a;
}

/* ---- a join with one row ----
 * The values that aggregates have where there is no group: LEFT JOIN, without conditions, of an aggregation of nothing. */

static struct rql_expr *value_of_none(struct rql_plan_reader *reader, const struct rql_expr *aggregate)
{
	static const char *const nulls[] = {"sum", "avg", "min", "max", "first", "last", "any_value", "bool_and", "bool_or",
	                                    "string_agg"};
	bool count = !strcmp(aggregate->name, "count") || !strcmp(aggregate->name, "count_star"), known = count;
	for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++)
		known |= strcmp(aggregate->name, nulls[i]) == 0;
	if (!known)
		return NULL;
	struct rql_expr *constant = rql_plan_expr_new(reader, RQL_EXPR_CONSTANT, aggregate->type, 0);
	if (constant)
		constant->value = count ? (struct rql_value){.type = aggregate->type} : rql_value_null(aggregate->type);
	return constant;
}

/* left with the values as columns; NULL: some aggregate is not known so well, or out of memory. */
static struct rql_rel *with_values(struct rql_plan_reader *reader, struct rql_rel *left, const struct rql_rel *row)
{
	struct rql_expr_list exprs = {0};
	bool whole = true;
	for (uint32_t i = 0; i < left->column_count + row->column_count && whole; i++) {
		struct rql_expr *e = i < left->column_count ? rql_expr_ref(reader->arena, left, i)
		                                            : value_of_none(reader, row->exprs[i - left->column_count]);
		whole = e && rql_expr_list_add(reader->arena, &exprs, e);
	}
	return whole ? rql_rel_project(reader->arena, left, exprs.items, exprs.count) : NULL;
}

bool rql_plan_is_one_row(const struct rql_rel *rel)
{
	return rel->kind == RQL_REL_AGGREGATE && rel->group_count == 0;
}

struct rql_rel *rql_plan_join_row(struct rql_plan_reader *reader, struct rql_rel *cross)
{
	const struct rql_rel *row = cross->children[1];
	if (cross->kind != RQL_REL_JOIN || row->children[0]->kind != RQL_REL_EMPTY)
		return cross;
	for (uint32_t i = 0; i < row->expr_count; i++)
		if (row->exprs[i]->kind != RQL_EXPR_AGGREGATE)
			return cross;
	struct rql_rel *project = with_values(reader, cross->children[0], row);
	return project ? project : cross;
}
