/* Is it worth to give a side only the keys that the fact table's rows ask for (bind/star/scan_reduce.h)? */
#ifndef RQL_PLAN_SCAN_REDUCTION_H
#define RQL_PLAN_SCAN_REDUCTION_H

#include "bind/star/scan_reduce.h"
#include "bind/star/scan_subtree.h"
#include "plan/leaf.h"

/* *out: what takes the place of the side's rows, or NULL: its own. Planning the keys makes maps of the fact table's
 * dimensions, which stay for the query itself where it asks for the same. Fails only for memory and interruption. */
rql_status rql_scan_reduction(struct rql_planning *p, const struct rql_star *star, uint32_t subtree, uint64_t fact_rows,
                              const struct rql_rel **out, struct rql_error *err) RQL_MUST_CHECK;

/* Are these rows keys that a side of the plan is reduced by? They are reduced by nothing. And: they are from now on. */
bool rql_reduction_is_keys(const struct rql_planning *p, const struct rql_rel *rel);
rql_status rql_reduction_note_keys(struct rql_planning *p, const struct rql_rel *keys,
                                   struct rql_error *err) RQL_MUST_CHECK;

#endif
