/* Which nodes RayQL does itself, exactly as the host would; the host does the rest over the rows of its inputs. Of
 * expressions: what programs of expr/ know, and what eval.c evaluates row by row (references, comparisons, boolean logic,
 * and arithmetic whose overflow can be seen). */
#include <string.h>
#include "flow/compute/strings.h"
#include "flow/join/join_keys.h"
#include "flow/keys/keys.h"

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
	if (from.id == RQL_TYPE_DECIMAL)
		return to.id == RQL_TYPE_DOUBLE || (to.id == RQL_TYPE_DECIMAL && to.scale == from.scale);
	return false;
}

static bool function_is_native(const struct rql_expr *e)
{
	if (e->child_count != 2 || !is_number(e->type))
		return false;
	const struct rql_type *a = &e->children[0]->type, *b = &e->children[1]->type;
	bool same = rql_type_equal(*a, *b) && rql_type_equal(*a, e->type) && e->type.id != RQL_TYPE_UHUGEINT;
	const char op = e->name[0] && !e->name[1] ? e->name[0] : 0;
	if (op == '+' || op == '-')
		return same || (e->type.id == RQL_TYPE_DECIMAL && a->id == RQL_TYPE_DECIMAL && b->id == RQL_TYPE_DECIMAL &&
		                a->scale == e->type.scale && b->scale == e->type.scale);
	if (op == '*' && e->type.id == RQL_TYPE_DECIMAL)
		return a->id == RQL_TYPE_DECIMAL && b->id == RQL_TYPE_DECIMAL && a->scale + b->scale == e->type.scale;
	if (op == '*')
		return same;
	return op == '/' && same && e->type.id == RQL_TYPE_DOUBLE;
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

/* The same of what is computed for all rows of a set at once: no condition. */
static bool value_is_native(struct rql_arena *arena, const struct rql_expr *e)
{
	uint32_t column;
	return expr_is_native(arena, e) || rql_expr_of_string(arena, e, &column);
}

/* ---- aggregates ---- */

static bool named(const struct rql_expr *e, const char *name)
{
	return !strcmp(e->name, name);
}

/* What DuckDB's functions of these names make of these types; others have names of their own there, or casts before them. */
static bool aggregates(const struct rql_expr *e)
{
	if (named(e, "count_star") || (named(e, "count") && !e->child_count))
		return e->type.id == RQL_TYPE_BIGINT && !e->child_count && !e->distinct;
	if (e->child_count != 1)
		return false;
	struct rql_type of = e->children[0]->type;
	bool integer = rql_type_is_integer(of) && of.id != RQL_TYPE_UHUGEINT, decimal = of.id == RQL_TYPE_DECIMAL;
	if (named(e, "count"))
		return e->type.id == RQL_TYPE_BIGINT && (!e->distinct || rql_key_type(of));
	if (named(e, "bool_and") || named(e, "bool_or"))
		return of.id == RQL_TYPE_BOOLEAN && e->type.id == RQL_TYPE_BOOLEAN;
	if (named(e, "min") || named(e, "max"))
		return rql_type_equal(of, e->type) &&
		       ((rql_type_is_integral(of) && of.id != RQL_TYPE_UHUGEINT) || of.id == RQL_TYPE_FLOAT ||
		        of.id == RQL_TYPE_DOUBLE || of.id == RQL_TYPE_VARCHAR || of.id == RQL_TYPE_BLOB);
	if (named(e, "avg"))
		return e->type.id == RQL_TYPE_DOUBLE && (integer || decimal || of.id == RQL_TYPE_DOUBLE);
	if (!named(e, "sum"))
		return false;
	return (integer && e->type.id == RQL_TYPE_HUGEINT) || (of.id == RQL_TYPE_DOUBLE && e->type.id == RQL_TYPE_DOUBLE) ||
	       (decimal && e->type.id == RQL_TYPE_DECIMAL && e->type.width == 38 && e->type.scale == of.scale);
}

static bool aggregate_is_native(struct rql_arena *arena, const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_AGGREGATE && !e->order_count && aggregates(e) &&
	       (!e->child_count || value_is_native(arena, e->children[0])) &&
	       (!e->filter || value_is_native(arena, e->filter));
}

/* ---- nodes ---- */

static bool are_keys(const struct rql_type *types, uint32_t count)
{
	bool keys = true;
	for (uint32_t i = 0; i < count; i++)
		keys = keys && rql_key_type(types[i]);
	return keys;
}

static bool range_is_native(struct rql_arena *arena, const struct rql_join_range *range)
{
	bool native = true;
	for (uint32_t i = 0; i < range->condition_count; i++)
		native = native && expr_is_native(arena, range->conditions[i]);
	for (unsigned b = 0; b < 2; b++)
		native = native && (!range->bounds[b] || value_is_native(arena, range->bounds[b]));
	return native && value_is_native(arena, range->point);
}

/* A mark is native when its conditions are equalities of which at most one gives NULL; an ASOF join when it is over values
 * that can be put in order. */
static bool join_is_native(struct rql_arena *arena, const struct rql_rel *rel)
{
	struct rql_join_keys keys;
	uint32_t open = 0;
	if (!rql_join_keys_find(arena, rel, &keys))
		return false;
	for (uint32_t i = 0; i < keys.rest_count; i++)
		if (!expr_is_native(arena, keys.rest[i]))
			return false;
	if (keys.range.found ? !range_is_native(arena, &keys.range) : rql_join_is_asof(rel->join))
		return false;
	for (uint32_t k = 0; k < keys.key_count; k++) {
		if (!value_is_native(arena, keys.sides[0][k]) || !value_is_native(arena, keys.sides[1][k]))
			return false;
		open += !keys.nulls_equal[k];
	}
	if (rql_join_is_asof(rel->join))
		return !keys.rest_count;
	return rel->join != RQL_JOIN_MARK || (keys.key_count && !keys.rest_count && open <= 1);
}

static bool setop_is_native(const struct rql_rel *rel)
{
	bool all = rel->setop == RQL_SETOP_UNION && rel->setop_all;
	for (uint32_t i = 0; i < rel->child_count; i++)
		for (uint32_t c = 0; c < rel->column_count; c++)
			if (!rql_type_equal(rel->children[i]->types[c], rel->types[c]) || !rql_type_bytes(rel->types[c]))
				return false;
	return (rel->child_count == 2 || rel->setop == RQL_SETOP_UNION) && (all || are_keys(rel->types, rel->column_count));
}

static bool values_are_native(const struct rql_rel *rel)
{
	bool native = rel->column_count > 0;
	for (uint32_t i = 0; i < rel->column_count; i++)
		native = native && rql_type_bytes(rel->types[i]);
	for (uint32_t i = 0; i < rel->expr_count; i++)
		native = native && rel->exprs[i]->kind == RQL_EXPR_CONSTANT &&
		         rql_type_equal(rel->exprs[i]->type, rel->types[i % rel->column_count]);
	return native;
}

static bool groups_are_native(struct rql_arena *arena, const struct rql_rel *rel)
{
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		bool key = i < rel->group_count;
		if (key ? !rql_key_type(rel->exprs[i]->type) || !value_is_native(arena, rel->exprs[i])
		        : !aggregate_is_native(arena, rel->exprs[i]))
			return false;
	}
	return true;
}

static bool exprs_are_native(struct rql_arena *arena, const struct rql_rel *rel)
{
	for (uint32_t i = 0; i < rel->expr_count; i++)
		if (!(rel->kind == RQL_REL_FILTER ? expr_is_native : value_is_native)(arena, rel->exprs[i]))
			return false;
	for (uint32_t i = 0; i < rel->order_count; i++)
		if (!value_is_native(arena, rel->orders[i].expr))
			return false;
	return true;
}

bool rql_operator_is_native(struct rql_arena *arena, const struct rql_rel *rel, const char **reason)
{
	bool native = false;
	*reason = rql_rel_phrase(rel);
	switch (rel->kind) {
	case RQL_REL_FILTER:
	case RQL_REL_PROJECT:
	case RQL_REL_ORDER:
	case RQL_REL_TOP_N:
	case RQL_REL_LIMIT:
		*reason = "an expression above it";
		native = exprs_are_native(arena, rel);
		break;
	case RQL_REL_JOIN:
		native = join_is_native(arena, rel);
		break;
	case RQL_REL_AGGREGATE:
		native = groups_are_native(arena, rel);
		break;
	case RQL_REL_DISTINCT:
		native = are_keys(rel->types, rel->column_count);
		break;
	case RQL_REL_DISTINCT_ON:
		native = exprs_are_native(arena, rel);
		for (uint32_t i = 0; i < rel->expr_count; i++)
			native = native && rql_key_type(rel->exprs[i]->type);
		break;
	case RQL_REL_SETOP:
		native = setop_is_native(rel);
		break;
	case RQL_REL_VALUES:
	case RQL_REL_EMPTY:
		native = values_are_native(rel);
		break;
	case RQL_REL_CTE:
	case RQL_REL_DUMMY:
		native = true;
		break;
	default:
		break;
	}
	return native;
}
