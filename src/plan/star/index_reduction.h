/* Joins of few rows with a table that has an index on their keys: its rows are found by these keys, instead of being read
 * one and all. As all reductions it is a SEMI join with the keys (bind/star/scan_reduce.h), which prices then look up or
 * test. Inner joins of a star need none: their keys are looked up anyway (price_rows.h). */
#ifndef RQL_PLAN_INDEX_REDUCTION_H
#define RQL_PLAN_INDEX_REDUCTION_H

#include "bind/star/scan_reduce.h"
#include "plan/leaf.h"

/* Does an index begin with the side's keys? */
bool rql_look_ups_can(const struct rql_planning *p, const struct rql_block_side *side);
/* Is it worth to plan that so many keys are looked up among so many rows? */
bool rql_look_ups_pay(const struct rql_planning *p, double keys, uint64_t rows);
/* What takes the place of this child of a join which RayQL's operator does; rel NULL: nothing. Fails only for memory and
 * interruption. */
struct rql_reduced {
	const struct rql_rel *rel;
	double host_ns; /* what the host takes for all of the child's rows */
};
rql_status rql_join_reduction(struct rql_planning *p, const struct rql_rel *join, uint32_t child,
                              struct rql_reduced *out) RQL_MUST_CHECK;

#endif
