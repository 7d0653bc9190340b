/* Aggregates of sums beyond 64 bits that lie on a GPU as two columns (column/form.h), in words that it has: what is
 * counted DISTINCT as groups over groups, the one MIN or MAX of all rows as the first row of an order, and those of groups
 * in two steps: the extreme upper half of each group, then the extreme lower half of the rows that have it. */
#include <string.h>

#include "bind/star/scan_bind.h"
#include "plan/leaf.h"
#include "sql/rel/rel_edit.h"

static bool is_wide(struct rql_type type)
{
	return (rql_type_is_integer(type) || type.id == RQL_TYPE_DECIMAL) && rql_type_bytes(type) > sizeof(uint64_t);
}

static bool is_extreme(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_AGGREGATE && (!strcmp(e->name, "min") || !strcmp(e->name, "max")) &&
	       e->child_count == 1 && !e->order_count && is_wide(e->children[0]->type);
}

/* The only aggregate, of all rows; NULL: there are others, or keys. */
static const struct rql_expr *only_extreme(const struct rql_rel *rel)
{
	const struct rql_expr *e = rel->expr_count == 1 && !rel->group_count ? rel->exprs[0] : NULL;
	return e && is_extreme(e) && !e->filter ? e : NULL;
}

/* The row with the extreme, of its argument alone; NULL: out of memory. */
static struct rql_rel *first_row(struct rql_arena *arena, const struct rql_rel *rel, const struct rql_expr *extreme)
{
	struct rql_rel *top = RQL_NEW(arena, struct rql_rel), *argument;
	struct rql_order *order = RQL_NEW(arena, struct rql_order);
	struct rql_rel **child = RQL_NEW_ARRAY(arena, struct rql_rel *, 1);
	struct rql_expr *ref = rql_expr_new(arena, RQL_EXPR_REF, extreme->children[0]->type, 0);
	if (!top || !order || !child || !ref ||
	    !(argument = rql_rel_project(arena, rel->children[0], extreme->children, 1)))
		return NULL;
	child[0] = argument;
	*order = (struct rql_order){.expr = ref, .descending = extreme->name[1] == 'a', .nulls = RQL_NULLS_LAST};
	*top = (struct rql_rel){.kind = RQL_REL_TOP_N,
	                        .name = "LOGICAL_TOP_N",
	                        .column_count = 1,
	                        .types = argument->types,
	                        .names = argument->names,
	                        .child_count = 1,
	                        .children = child,
	                        .order_count = 1,
	                        .orders = order,
	                        .limit = 1};
	return top;
}

/* The aggregate over that row: of no rows it is NULL still. */
static struct rql_rel *of_row(struct rql_arena *arena, const struct rql_rel *rel, struct rql_rel *top)
{
	const struct rql_expr *e = rel->exprs[0];
	struct rql_rel *above = RQL_NEW(arena, struct rql_rel);
	struct rql_rel **child = RQL_NEW_ARRAY(arena, struct rql_rel *, 1);
	struct rql_expr **exprs = RQL_NEW_ARRAY(arena, struct rql_expr *, 1);
	struct rql_expr *copy = rql_expr_new(arena, RQL_EXPR_AGGREGATE, e->type, 1);
	if (!above || !child || !exprs || !copy)
		return NULL;
	copy->name = e->name;
	copy->alias = e->alias;
	copy->children[0] = top->orders[0].expr;
	child[0] = top;
	exprs[0] = copy;
	*above = *rel;
	above->children = child;
	above->exprs = exprs;
	return above;
}

static rql_status choose_extreme(struct rql_planning *p, const struct rql_rel *rel, const struct rql_expr *extreme,
                                 bool *found)
{
	struct rql_rel *top = first_row(p->arena, rel, extreme), *as = top ? of_row(p->arena, rel, top) : NULL;
	struct rql_error why = {0};
	struct rql_rows_block *rows;
	if (!as)
		return rql_error_memory(p->err, 0, "a plan");
	rql_status status = rql_block_make_rows_over(p->arena, top, &rows, &why);
	if (status != RQL_OK)
		return rql_planning_swallow(p, status, &why, RQL_REASON_UNRELATED, NULL);
	RQL_TRY(rql_leaf_choose_over(p, top, rows->block, rows, found));
	return *found ? rql_planning_alternative(p, rel, as, 0) : RQL_OK;
}

/* ---- of groups ---- */

static struct rql_expr *half_of(struct rql_arena *arena, const char *half, const struct rql_expr *e)
{
	struct rql_expr *out = rql_expr_new(arena, RQL_EXPR_FUNCTION, rql_type_simple(RQL_TYPE_BIGINT), 1);
	if (out) {
		out->name = half;
		out->children[0] = (struct rql_expr *)(uintptr_t)e;
	}
	return out;
}

static uint32_t count_extremes(const struct rql_rel *rel)
{
	uint32_t n = 0;
	for (uint32_t i = rel->group_count; i < rel->expr_count; i++)
		n += is_extreme(rel->exprs[i]);
	return n;
}

/* The group keys, and the extreme upper half of each wide extreme. */
static struct rql_rel *upper_extremes(struct rql_arena *arena, const struct rql_rel *rel)
{
	struct rql_rel *out = rql_rel_new(arena, RQL_REL_AGGREGATE, rel->name, rel->group_count + count_extremes(rel), 1);
	uint32_t n = 0;
	if (!out || !(out->exprs = RQL_NEW_ARRAY(arena, struct rql_expr *, out->column_count)))
		return NULL;
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		struct rql_expr *e = rel->exprs[i];
		if (i >= rel->group_count && !is_extreme(e))
			continue;
		if (i >= rel->group_count) {
			struct rql_expr *upper = half_of(arena, RQL_UPPER_HALF, e->children[0]), *whole = e;
			if (!upper || !(e = rql_expr_new(arena, RQL_EXPR_AGGREGATE, upper->type, 1)))
				return NULL;
			e->name = whole->name;
			e->filter = whole->filter;
			e->children[0] = upper;
		}
		out->exprs[n] = e;
		out->types[n++] = e->type;
	}
	out->expr_count = n;
	out->group_count = rel->group_count;
	out->children[0] = rel->children[0];
	return out;
}

/* Each row and its group's extremes: one row of `groups` has its keys. */
static struct rql_rel *join_extremes(struct rql_arena *arena, const struct rql_rel *rel, struct rql_rel *groups)
{
	struct rql_rel *rows = rel->children[0];
	const uint32_t lefts = rows->column_count;
	struct rql_rel *join =
		rql_rel_new(arena, RQL_REL_JOIN, "LOGICAL_COMPARISON_JOIN", lefts + groups->column_count, 2);
	if (!join || !(join->exprs = RQL_NEW_ARRAY(arena, struct rql_expr *, rel->group_count)))
		return NULL;
	join->join = RQL_JOIN_LEFT; /* sides may be joined by keys of which NULL is one */
	join->children[0] = rows;
	join->children[1] = groups;
	for (uint32_t i = 0; i < join->column_count; i++)
		join->types[i] = i < lefts ? rows->types[i] : groups->types[i - lefts];
	for (uint32_t k = 0; k < rel->group_count; k++) {
		struct rql_expr *of_group = rql_expr_ref(arena, join, lefts + k);
		join->exprs[k] =
			of_group ? rql_expr_comparison(arena, "IS NOT DISTINCT FROM", rel->exprs[k], of_group) : NULL;
		if (!join->exprs[k])
			return NULL;
	}
	join->expr_count = rel->group_count;
	return join;
}

/* name(upper, CASE WHEN the row's upper half is that THEN its lower half END), as scan_bind.c knows it. */
static struct rql_expr *extreme_of_halves(struct rql_arena *arena, const struct rql_expr *e, struct rql_expr *upper)
{
	struct rql_expr *own = half_of(arena, RQL_UPPER_HALF, e->children[0]);
	struct rql_expr *lower = half_of(arena, RQL_LOWER_HALF, e->children[0]);
	struct rql_expr *out = rql_expr_new(arena, RQL_EXPR_AGGREGATE, e->type, 2);
	struct rql_expr *choice = rql_expr_new(arena, RQL_EXPR_CASE, rql_type_simple(RQL_TYPE_BIGINT), 3);
	struct rql_expr *null = rql_expr_new(arena, RQL_EXPR_CONSTANT, rql_type_simple(RQL_TYPE_BIGINT), 0);
	if (!own || !lower || !out || !choice || !null)
		return NULL;
	null->value = rql_value_null(null->type);
	choice->children[0] = rql_expr_comparison(arena, "=", own, upper);
	choice->children[1] = lower;
	choice->children[2] = null;
	out->name = e->name;
	out->alias = e->alias;
	out->filter = e->filter;
	out->children[0] = upper;
	out->children[1] = choice;
	return choice->children[0] ? out : NULL;
}

/* rel over rows that know their group's extreme upper halves; NULL: out of memory. */
static const struct rql_rel *two_steps(struct rql_arena *arena, const struct rql_rel *rel)
{
	struct rql_rel *groups = upper_extremes(arena, rel), *above = RQL_NEW(arena, struct rql_rel);
	struct rql_rel *join = groups ? join_extremes(arena, rel, groups) : NULL;
	uint32_t at = rel->children[0]->column_count + rel->group_count;
	if (!above || !join)
		return NULL;
	*above = *rel;
	above->children = RQL_NEW_ARRAY(arena, struct rql_rel *, 1);
	above->exprs = RQL_NEW_ARRAY(arena, struct rql_expr *, rel->expr_count);
	if (!above->children || !above->exprs)
		return NULL;
	above->children[0] = join;
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		above->exprs[i] = rel->exprs[i];
		if (i < rel->group_count || !is_extreme(rel->exprs[i]))
			continue;
		struct rql_expr *upper = rql_expr_ref(arena, join, at++);
		if (!upper || !(above->exprs[i] = extreme_of_halves(arena, rel->exprs[i], upper)))
			return NULL;
	}
	return above;
}

/* What is counted DISTINCT is wide. */
static bool counts_wide(const struct rql_rel *rel)
{
	bool wide = false;
	for (uint32_t i = rel->group_count; i < rel->expr_count; i++)
		wide |= rel->exprs[i]->distinct && rel->exprs[i]->child_count == 1 && is_wide(rel->exprs[i]->children[0]->type);
	return wide;
}

rql_status rql_leaf_choose_wide(struct rql_planning *p, const struct rql_rel *rel, const struct rql_block *block,
                                bool *found)
{
	const struct rql_expr *extreme = rel->kind == RQL_REL_AGGREGATE ? only_extreme(rel) : NULL;
	struct rql_error why = {0};
	struct rql_block *over;
	if (extreme)
		return choose_extreme(p, rel, extreme, found);
	if (rel->kind != RQL_REL_AGGREGATE)
		return RQL_OK;
	const bool counts = counts_wide(rel) && !rql_block_counts_several(block);
	const bool extremes = !counts && rel->group_count && count_extremes(rel);
	const struct rql_rel *above = counts ? rql_distinct_levels(p->arena, rel) : extremes ? two_steps(p->arena, rel) : NULL;
	if (!above)
		return extremes ? rql_error_memory(p->err, 0, "a plan") : RQL_OK;
	rql_status status = rql_block_make_over(p->arena, above, &over, &why);
	if (status != RQL_OK)
		return rql_planning_swallow(p, status, &why, RQL_REASON_UNRELATED, NULL);
	return rql_leaf_choose_over(p, rel, over, NULL, found);
}
