/* Joins and group-bys of rows that lie in the host's memory, as RayQL's operators have them: who finds their pairs or their
 * groups, the CPU or a method on a GPU (method/request.h, rql_sides and rql_grouping). */
#ifndef RQL_PLAN_PAIRS_H
#define RQL_PLAN_PAIRS_H

#include "plan/leaf.h"

/* What the node's own work takes; cpu_ns: by the CPU. *out: the method's offer where that is better, or the session names
 * its unit; else NULL. Offers are the plan's. */
double rql_pairs_price(struct rql_planning *p, const struct rql_known_rows *known, const struct rql_rel *rel,
                       double cpu_ns, const struct rql_pairs_offer **out);
/* Drops the offers that no operator of the tree has taken; tree NULL: all. */
void rql_pairs_clear(struct rql_plan_nodes *nodes, const struct rql_operator *tree);

#endif
