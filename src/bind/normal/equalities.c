/* IS NOT DISTINCT FROM as =, where one of the two is never NULL: both are true of the same pairs of rows. DuckDB compares so
 * what a correlated subquery was computed for, although the subquery's own = has dropped the NULLs. A key by = may be a column
 * as it is, of any range; a join needs no place for NULL; and a condition beyond the keys may be an equality. */
#include <string.h>
#include "bind/normal/normal.h"

static bool is_column(const struct rql_expr *e, uint32_t column)
{
	return e->kind == RQL_EXPR_REF && e->index == column;
}

static bool is_strict(const char *comparison)
{
	return strstr(comparison, "DISTINCT") == NULL;
}

/* No row passes in which the column is NULL. */
static bool drops_nulls(const struct rql_rel *rel, uint32_t column)
{
	bool drops = false;
	for (uint32_t i = 0; i < rel->expr_count && !drops; i++) {
		const struct rql_expr *e = rel->exprs[i];
		if (e->kind == RQL_EXPR_IS_NOT_NULL)
			drops = is_column(e->children[0], column);
		else if (e->kind == RQL_EXPR_COMPARE && is_strict(e->name))
			drops = is_column(e->children[0], column) || is_column(e->children[1], column);
	}
	return drops;
}

static bool is_never_null(const struct rql_rel *rel, uint32_t column);

static bool join_is_never_null(const struct rql_rel *join, uint32_t column)
{
	const uint32_t lefts = join->children[0]->column_count;
	switch (join->join) {
	case RQL_JOIN_INNER:
	case RQL_JOIN_CROSS:
		return drops_nulls(join, column) || (column < lefts ? is_never_null(join->children[0], column)
		                                                    : is_never_null(join->children[1], column - lefts));
	case RQL_JOIN_LEFT:
	case RQL_JOIN_SINGLE:
	case RQL_JOIN_SEMI:
	case RQL_JOIN_ANTI:
	case RQL_JOIN_MARK:
		return column < lefts && is_never_null(join->children[0], column);
	default:
		return false;
	}
}

static bool is_never_null(const struct rql_rel *rel, uint32_t column)
{
	switch (rel->kind) {
	case RQL_REL_FILTER:
		return drops_nulls(rel, column) || is_never_null(rel->children[0], column);
	case RQL_REL_ORDER:
	case RQL_REL_TOP_N:
	case RQL_REL_LIMIT:
	case RQL_REL_DISTINCT:
	case RQL_REL_DISTINCT_ON:
		return is_never_null(rel->children[0], column);
	case RQL_REL_PROJECT:
	case RQL_REL_AGGREGATE: /* of which this is a key, if it is a REF */
		return rel->exprs[column]->kind == RQL_EXPR_REF && is_never_null(rel->children[0], rel->exprs[column]->index);
	case RQL_REL_JOIN:
		return join_is_never_null(rel, column);
	default:
		return false;
	}
}

/* The column of one of the join's inputs. */
static bool operand_is_never_null(const struct rql_rel *join, const struct rql_expr *e)
{
	const uint32_t lefts = join->children[0]->column_count;
	return e->kind == RQL_EXPR_REF && (e->index < lefts ? is_never_null(join->children[0], e->index)
	                                                    : is_never_null(join->children[1], e->index - lefts));
}

bool rql_plan_plain_equalities(struct rql_arena *arena, struct rql_rel *rel)
{
	for (uint32_t i = 0; i < rel->child_count; i++)
		if (!rql_plan_plain_equalities(arena, rel->children[i]))
			return false;
	if (rel->kind != RQL_REL_JOIN || rel->join == RQL_JOIN_MARK) /* a mark says FALSE, too */
		return true;
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		const struct rql_expr *e = rel->exprs[i];
		if (e->kind != RQL_EXPR_COMPARE || strcmp(e->name, "IS NOT DISTINCT FROM") != 0 ||
		    (!operand_is_never_null(rel, e->children[0]) && !operand_is_never_null(rel, e->children[1])))
			continue;
		if (!(rel->exprs[i] = rql_expr_comparison(arena, "=", e->children[0], e->children[1])))
			return false;
	}
	return true;
}

/* ---- conditions ---- */

/* Under AND and OR alone: what is FALSE there may as well be NULL. */
static struct rql_expr *plain(struct rql_arena *arena, struct rql_expr *e)
{
	if (e->kind == RQL_EXPR_AND || e->kind == RQL_EXPR_OR) {
		for (uint32_t i = 0; i < e->child_count; i++)
			if (!(e->children[i] = plain(arena, e->children[i])))
				return NULL;
		return e;
	}
	if (e->kind != RQL_EXPR_COMPARE || strcmp(e->name, "IS NOT DISTINCT FROM") != 0)
		return e;
	for (uint32_t k = 0; k < 2; k++)
		if (e->children[k]->kind == RQL_EXPR_CONSTANT && !e->children[k]->value.is_null)
			return rql_expr_comparison(arena, "=", e->children[!k], e->children[k]);
	return e;
}

bool rql_plan_plain_conditions(struct rql_arena *arena, struct rql_rel *rel)
{
	for (uint32_t i = 0; i < rel->child_count; i++)
		if (!rql_plan_plain_conditions(arena, rel->children[i]))
			return false;
	for (uint32_t i = 0; i < rel->expr_count && rel->kind == RQL_REL_FILTER; i++)
		if (!(rel->exprs[i] = plain(arena, rel->exprs[i])))
			return false;
	return true;
}
