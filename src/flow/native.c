/* Which nodes RayQL does itself, exactly as the host would; the host does the rest over the rows of its inputs. Of
 * expressions: what programs of expr/ know, and what eval.c evaluates row by row (references, comparisons, boolean logic,
 * and arithmetic whose overflow can be seen). */
#include <string.h>
#include "flow/rowset.h"

static bool is_number(struct rql_type t)
{
	return rql_type_is_integer(t) || t.id == RQL_TYPE_DOUBLE || t.id == RQL_TYPE_DECIMAL;
}

static bool cast_is_native(const struct rql_expr *e)
{
	struct rql_type from = e->children[0]->type, to = e->type;
	if (e->try_cast)
		return false;
	if (rql_type_equal(from, to))
		return true;
	if (rql_type_is_integer(from))
		return (rql_type_is_integer(to) || to.id == RQL_TYPE_DOUBLE) && from.id != RQL_TYPE_UHUGEINT &&
		       to.id != RQL_TYPE_UHUGEINT;
	return false;
}

static bool function_is_native(const struct rql_expr *e)
{
	if (e->child_count != 2 || !is_number(e->type))
		return false;
	const struct rql_type *a = &e->children[0]->type, *b = &e->children[1]->type;
	bool same = rql_type_equal(*a, *b) && rql_type_equal(*a, e->type) && e->type.id != RQL_TYPE_UHUGEINT;
	if (!strcmp(e->name, "+") || !strcmp(e->name, "-"))
		return same || (e->type.id == RQL_TYPE_DECIMAL && a->id == RQL_TYPE_DECIMAL && b->id == RQL_TYPE_DECIMAL &&
		                a->scale == e->type.scale && b->scale == e->type.scale);
	if (!strcmp(e->name, "*"))
		return same && e->type.id != RQL_TYPE_DECIMAL;
	return !strcmp(e->name, "/") && same && e->type.id == RQL_TYPE_DOUBLE;
}

static bool comparable(const struct rql_expr *e)
{
	for (uint32_t i = 1; i < e->child_count; i++)
		if (!rql_type_equal(e->children[0]->type, e->children[i]->type))
			return false;
	return rql_type_bytes(e->children[0]->type) != 0;
}

bool rql_expr_by_rows(const struct rql_expr *e)
{
	switch (e->kind) {
	case RQL_EXPR_REF:
	case RQL_EXPR_CONSTANT:
		return rql_type_bytes(e->type) != 0;
	case RQL_EXPR_CAST:
		if (!cast_is_native(e))
			return false;
		break;
	case RQL_EXPR_COMPARE:
	case RQL_EXPR_IN:
	case RQL_EXPR_NOT_IN:
		if (!comparable(e))
			return false;
		break;
	case RQL_EXPR_BETWEEN:
		if (!comparable(e) || !e->name || strlen(e->name) != 2)
			return false;
		break;
	case RQL_EXPR_AND:
	case RQL_EXPR_OR:
	case RQL_EXPR_NOT:
	case RQL_EXPR_IS_NULL:
	case RQL_EXPR_IS_NOT_NULL:
	case RQL_EXPR_CASE:
	case RQL_EXPR_COALESCE:
		break;
	case RQL_EXPR_FUNCTION:
		if (!function_is_native(e))
			return false;
		break;
	default:
		return false;
	}
	for (uint32_t i = 0; i < e->child_count; i++)
		if (!rql_expr_by_rows(e->children[i]))
			return false;
	return true;
}

static bool expr_is_native(struct rql_arena *arena, const struct rql_expr *e)
{
	return rql_expr_by_rows(e) || rql_expr_has_program(arena, e);
}

bool rql_operator_is_native(struct rql_arena *arena, const struct rql_rel *rel, const char **reason)
{
	bool known = rel->kind == RQL_REL_FILTER || rel->kind == RQL_REL_PROJECT || rel->kind == RQL_REL_ORDER ||
	             rel->kind == RQL_REL_TOP_N || rel->kind == RQL_REL_LIMIT;
	bool exprs = known;
	for (uint32_t i = 0; exprs && i < rel->expr_count; i++)
		exprs = expr_is_native(arena, rel->exprs[i]);
	for (uint32_t i = 0; exprs && i < rel->order_count; i++)
		exprs = expr_is_native(arena, rel->orders[i].expr);
	if (!exprs)
		*reason = known ? "an expression above it" : rql_rel_phrase(rel);
	return exprs;
}
