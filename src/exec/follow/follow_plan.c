/* Does a query say the same whenever it is asked in one transaction? By the host's plan, in which views, macros and
 * aliases are what they stand for. All tables are the host's own, so the transaction's snapshot holds them. Operators
 * and functions must be known: their answers depend on nothing but the rows, in whatever order these come, so neither
 * on threads nor on the rest of a plan. That excludes LIMIT, windows and sums of FLOATs, and keys whose equal values
 * can be told apart (0.0 and -0.0). */
#include "exec/follow/follow.h"

#include <stdlib.h>
#include <string.h>
#include "bind/normal/fallible.h"
#include "exec/query/text.h"

#define DEPTH_MOST 200u

static bool is_exact(struct rql_type t)
{
	return rql_type_is_integral(t) || t.id == RQL_TYPE_VARCHAR || t.id == RQL_TYPE_BLOB || t.id == RQL_TYPE_UUID;
}

static bool are_exact(const struct rql_type *types, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!is_exact(types[i]))
			return false;
	return true;
}

/* ---- expressions ---- */

/* Of all its rows, and not of the order in which they come. */
static bool is_known_aggregate(const struct rql_expr *e)
{
	static const char *const of_any[] = {"count", "count_star"};
	static const char *const of_exact[] = {"min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"};
	const bool one = e->child_count == 1 && is_exact(e->children[0]->type);
	if (e->order_count)
		return false;
	for (size_t i = 0; i < sizeof of_any / sizeof *of_any; i++)
		if (strcmp(e->name, of_any[i]) == 0)
			return !e->distinct || one;
	for (size_t i = 0; i < sizeof of_exact / sizeof *of_exact; i++)
		if (strcmp(e->name, of_exact[i]) == 0)
			return one;
	return one && (strcmp(e->name, "sum") == 0 || (strcmp(e->name, "avg") == 0 && e->average == RQL_AVERAGE_OWN));
}

/* Inside a transaction of the user's an error of the query ends it. The host may evaluate what the statement never does:
 * of a join, the side that is read first is the one with fewer bytes, and the query reads fewer columns. Inputs of an
 * aggregate are looked at by themselves. */
static bool is_silent(const struct rql_expr *e)
{
	if (e->kind == RQL_EXPR_AGGREGATE)
		return strcmp(e->name, "sum") != 0 && strcmp(e->name, "avg") != 0;
	return !rql_expr_can_fail(e);
}

static bool is_known(struct rql_session *s, const struct rql_expr *e, uint32_t depth)
{
	if (s->txn.open && !is_silent(e))
		return false;
	switch (e->kind) {
	case RQL_EXPR_REF:
	case RQL_EXPR_CONSTANT:
	case RQL_EXPR_CAST:
	case RQL_EXPR_COMPARE:
	case RQL_EXPR_AND:
	case RQL_EXPR_OR:
	case RQL_EXPR_NOT:
	case RQL_EXPR_IS_NULL:
	case RQL_EXPR_IS_NOT_NULL:
	case RQL_EXPR_IN:
	case RQL_EXPR_NOT_IN:
	case RQL_EXPR_BETWEEN:
	case RQL_EXPR_CASE:
	case RQL_EXPR_COALESCE:
		break;
	case RQL_EXPR_AGGREGATE:
		if (!is_known_aggregate(e) || (e->filter && !is_known(s, e->filter, depth + 1)))
			return false;
		break;
	case RQL_EXPR_FUNCTION:
		if (!rql_follow_is_stable(s, e->name, (uint32_t)strlen(e->name)))
			return false;
		break;
	default:
		return false;
	}
	for (uint32_t i = 0; i < e->child_count; i++)
		if (depth > DEPTH_MOST || !is_known(s, e->children[i], depth + 1))
			return false;
	return true;
}

/* ---- operators ---- */
static bool gives_the_same(const struct rql_rel *rel)
{
	switch (rel->kind) {
	case RQL_REL_GET:
	case RQL_REL_DUMMY:
	case RQL_REL_EMPTY:
	case RQL_REL_VALUES:
	case RQL_REL_FILTER:
	case RQL_REL_PROJECT:
	case RQL_REL_ORDER:
	case RQL_REL_CTE:
	case RQL_REL_CTE_REF:
		return true;
	case RQL_REL_JOIN:
		return !rql_join_is_asof(rel->join);
	case RQL_REL_AGGREGATE:
		return are_exact(rel->types, rel->group_count);
	case RQL_REL_DISTINCT:
		return are_exact(rel->types, rel->column_count);
	case RQL_REL_SETOP:
		return (rel->setop == RQL_SETOP_UNION && rel->setop_all) || are_exact(rel->types, rel->column_count);
	default:
		return false;
	}
}

/* A scalar subquery, as the host checks it for a second row: CASE WHEN count(*) > 1 THEN error(...) ELSE first(x) END.
 * So there is one row to be the first, or the statement fails as the query does. */
static bool is_checked_value(const struct rql_expr *e, const struct rql_rel *input)
{
	if (e->kind != RQL_EXPR_CASE || e->child_count != 3 || e->children[0]->kind != RQL_EXPR_COMPARE)
		return false;
	const struct rql_expr *count = e->children[0]->children[0], *one = e->children[0]->children[1];
	const struct rql_expr *failure = e->children[1], *value = e->children[2];
	return strcmp(e->children[0]->name, ">") == 0 && one->kind == RQL_EXPR_CONSTANT && !one->value.is_null &&
	       rql_type_is_integer(one->value.type) && one->value.integer == 1 && count->kind == RQL_EXPR_REF &&
	       count->index < input->expr_count && strcmp(input->exprs[count->index]->name, "count_star") == 0 &&
	       failure->kind == RQL_EXPR_FUNCTION && strcmp(failure->name, "error") == 0 && value->kind == RQL_EXPR_REF &&
	       value->index < input->expr_count;
}

static bool is_checked_subquery(const struct rql_rel *rel)
{
	const struct rql_rel *input = rel->kind == RQL_REL_PROJECT ? rel->children[0] : NULL;
	if (!input || input->kind != RQL_REL_AGGREGATE || input->group_count)
		return false;
	for (uint32_t i = 0; i < input->expr_count; i++) {
		const struct rql_expr *e = input->exprs[i];
		const bool known = e->kind == RQL_EXPR_AGGREGATE && !e->filter && !e->order_count &&
		                   (strcmp(e->name, "count_star") == 0 || strcmp(e->name, "first") == 0);
		if (!known || (e->child_count && e->children[0]->kind != RQL_EXPR_REF))
			return false;
	}
	for (uint32_t i = 0; i < rel->expr_count; i++)
		if (!is_checked_value(rel->exprs[i], input))
			return false;
	return true;
}

static bool are_rows_known(struct rql_session *s, const struct rql_rel *rel, uint32_t depth)
{
	if (!s->txn.open && is_checked_subquery(rel))
		return depth <= DEPTH_MOST && are_rows_known(s, rel->children[0]->children[0], depth + 1);
	if (depth > DEPTH_MOST || !gives_the_same(rel))
		return false;
	for (uint32_t i = 0; i < rel->expr_count; i++)
		if (!is_known(s, rel->exprs[i], 0))
			return false;
	for (uint32_t i = 0; i < rel->child_count; i++)
		if (!are_rows_known(s, rel->children[i], depth + 1))
			return false;
	return true;
}

/* ---- whose row ids ---- */
struct cte_scope {
	const struct cte_scope *outer;
	const struct rql_rel *cte;
};

/* The table whose row ids column `index` is; NULL: none's. The statement's table is the first of each join. */
static const struct rql_rel *table_of(const struct rql_rel *rel, uint32_t index, const struct cte_scope *scope)
{
	switch (rel->kind) {
	case RQL_REL_GET:
		return index < rel->column_count && rel->column_ids[index] == UINT32_MAX ? rel : NULL;
	case RQL_REL_PROJECT:
		if (index >= rel->expr_count || rel->exprs[index]->kind != RQL_EXPR_REF)
			return NULL;
		return table_of(rel->children[0], rel->exprs[index]->index, scope);
	case RQL_REL_FILTER:
	case RQL_REL_DISTINCT:
		return table_of(rel->children[0], index, scope);
	case RQL_REL_JOIN:
		return index < rel->children[0]->column_count ? table_of(rel->children[0], index, scope) : NULL;
	case RQL_REL_CTE:
		return table_of(rel->children[1], index, &(struct cte_scope){.outer = scope, .cte = rel});
	case RQL_REL_CTE_REF: /* the reader's, of a correlated subquery: the host names no table so */
		while (scope && scope->cte->cte != rel->cte)
			scope = scope->outer;
		return scope ? table_of(scope->cte->children[0], index, scope->outer) : NULL;
	default:
		return NULL;
	}
}

/* ---- the plan ---- */

/* To plan is to bind, which may move a sequence that a view hides. Inside a transaction nothing takes it back. */
static bool may_plan(struct rql_session *s, const char *query)
{
	return !rql_text_runs_unprepared(query) && !(s->txn.open && rql_follow_has_sequences(s));
}

bool rql_follow_plan_is_repeatable(struct rql_session *s, const char *query, struct rql_arena *arena,
                                   struct rql_table_ref *table)
{
	struct rql_plan_context ctx = rql_session_plan_context(s);
	struct rql_plan_facts facts = {0};
	struct rql_rel *root = NULL;
	char *json = NULL;
	if (!may_plan(s, query) || rql_host_plan(ctx.host, query, &json, NULL) != RQL_OK)
		return false;
	const enum rql_plan_dialect dialect = rql_plan_dialect_of(rql_host_library_version());
	const bool read = rql_plan_read(arena, dialect, json, strlen(json), NULL, &root, &facts, NULL) == RQL_OK;
	free(json);
	const struct rql_rel *get = read && facts.tables_known && root->column_count == 1 ? table_of(root, 0, NULL) : NULL;
	if (!get || !are_rows_known(s, root, 0))
		return false;
	*table = get->table;
	return true;
}
