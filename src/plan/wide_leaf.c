/* Aggregates of sums beyond 64 bits that lie on a GPU as two columns (column/form.h), in words that it has: what is
 * counted DISTINCT as groups over groups, and the one MIN or MAX of all rows as the first row of an order. */
#include <string.h>

#include "plan/leaf.h"
#include "sql/rel_edit.h"

static bool is_wide(struct rql_type type)
{
	return (rql_type_is_integer(type) || type.id == RQL_TYPE_DECIMAL) && rql_type_bytes(type) > sizeof(uint64_t);
}

/* The only aggregate, of all rows; NULL: there are others, or keys. */
static const struct rql_expr *only_extreme(const struct rql_rel *rel)
{
	const struct rql_expr *e = rel->expr_count == 1 && !rel->group_count ? rel->exprs[0] : NULL;
	const bool extreme = e && e->kind == RQL_EXPR_AGGREGATE && (!strcmp(e->name, "min") || !strcmp(e->name, "max"));
	return extreme && e->child_count == 1 && !e->filter && !e->order_count && is_wide(e->children[0]->type) ? e : NULL;
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
	if (rel->kind != RQL_REL_AGGREGATE || !counts_wide(rel) || rql_block_counts_several(block))
		return RQL_OK;
	const struct rql_rel *above = rql_distinct_levels(p->arena, rel);
	if (!above)
		return RQL_OK;
	rql_status status = rql_block_make_over(p->arena, above, &over, &why);
	if (status != RQL_OK)
		return rql_planning_swallow(p, status, &why, RQL_REASON_UNRELATED, NULL);
	return rql_leaf_choose_over(p, rel, over, NULL, found);
}
