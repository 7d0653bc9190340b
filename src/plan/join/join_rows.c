/* Rows of a chain of joins, or groups, that are wanted themselves: what fetching them costs, and how many there may be. */
#include <math.h>

#include "bind/block/price_host.h"
#include "plan/join/join.h"

double rql_join_rows_host_values(const struct rql_rows_block *rows, const struct rql_cost *cost)
{
	const double each = rows->is_result ? RQL_HOST_RESULT_VALUE : RQL_HOST_INNER_VALUE;
	double values = cost->rows_out * rows->output_count * each;
	if (rows->order_count)
		values += rows->limit == UINT64_MAX ? cost->cells * RQL_HOST_SORTED_ROW
		                                    : cost->cells + cost->rows_out * RQL_HOST_SORTED_ROW;
	return values;
}

/* ---- groups in an order ---- */

/* A side that is joined itself has rows, too, and is none. */
static bool has_union(const struct rql_join_graph *g)
{
	bool has = g->is_below && g->rows;
	for (uint32_t r = 0; r < g->relation_count && !has; r++)
		has = !g->relations[r].side && g->relations[r].groups && has_union(g->relations[r].groups);
	return has;
}

/* A table alone has no more than its values; what is no column of one may have any. */
static double group_values(struct rql_join_graph *g, const struct rql_expr *group)
{
	const uint32_t number = rql_join_table_of(g, group), at = rql_join_relation_of(g, number);
	struct rql_join_relation *r = at == RQL_NONE ? NULL : &g->relations[at];
	if (!r || r->groups)
		return (double)INFINITY;
	const struct rql_expr *own = rql_join_over_own(g, r, group);
	return own ? rql_join_values(g, r, own) : (double)INFINITY;
}

bool rql_join_orders_groups(const struct rql_join_graph *g)
{
	const struct rql_join_graph *below = g->relation_count == 1 ? g->relations[0].groups : NULL;
	return g->rows && (double)g->rows->limit >= RQL_ORDERED_ROWS_LEAST && below && !has_union(below);
}

double rql_join_ordered_most(struct rql_join_graph *g)
{
	struct rql_join_graph *below = g->relations[0].groups;
	double most = 1;
	for (uint32_t i = 0; i < below->block->group_count; i++)
		most *= group_values(below, below->block->groups[i]);
	return fmin(most, below->relation_count == 1 ? (double)rql_join_base(below)->snapshot->rows : (double)INFINITY);
}
