/* What operators above the leaves take, by RayQL and by the host. */
#ifndef RQL_PLAN_PRICE_TREE_H
#define RQL_PLAN_PRICE_TREE_H

#include "plan/plan_nodes.h"

struct rql_table_size {
	const struct rql_table_ref *table;
	uint64_t rows;
};
/* The rows that a node gives, as far as counts of its leaves and of tables tell. ctes: of CTE_REFs, NULL: none is known. */
struct rql_known_rows {
	const struct rql_plan_nodes *nodes;
	unsigned threads; /* that large numbers of rows are shared by */
	const struct rql_known_cte {
		uint64_t cte;
		double rows;
		const struct rql_known_cte *next;
	} *ctes;
	uint32_t size_count;
	const struct rql_table_size *sizes;
	bool whole; /* as the host has them: with those that reductions drop */
};
double rql_expected_rows(const struct rql_known_rows *known, const struct rql_rel *rel);
/* Of a join's keys, on the side that has more; left, right: rows. What nobody knows comes once. (price_values.c) */
double rql_expected_key_values(const struct rql_known_rows *known, const struct rql_rel *join, double left, double right);
/* Combinations of the columns that an aggregate groups by; infinity: nobody knows. */
double rql_expected_groups(const struct rql_known_rows *known, const struct rql_rel *rel);
/* Groups of those keys of an aggregate over the join that a side has, as far as columns tell. */
double rql_expected_groups_of(const struct rql_known_rows *known, const struct rql_rel *join, const struct rql_rel *rel,
                              unsigned side);
/* Of the node itself, without what is below it: time, not processor time. */
double rql_price_native(const struct rql_known_rows *known, const struct rql_rel *rel);
/* What of the price of the join below an aggregate saves where it makes no pairs. */
double rql_price_saved(const struct rql_known_rows *known, const struct rql_rel *rel);
/* What of a join's price is making words of its keys. */
double rql_price_keys(const struct rql_known_rows *known, const struct rql_rel *rel);
double rql_price_in_host(const struct rql_known_rows *known, const struct rql_rel *rel);
/* Rows of an operator that the host reads from memory. */
double rql_price_lending(double rows, uint32_t columns);
/* Rows that go out. */
double rql_price_giving(double rows, uint32_t columns);

#endif
