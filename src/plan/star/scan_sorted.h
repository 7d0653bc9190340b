/* Which indexes have a selection's rows in the order of one of their columns, for joins by ranges above it. */
#ifndef RQL_PLAN_SCAN_SORTED_H
#define RQL_PLAN_SCAN_SORTED_H

#include "plan/leaf.h"

/* Of a request for all rows of the structure, as the table has them; of others there is none. Into leaf->scan. */
rql_status rql_scan_sorted(struct rql_planning *p, const struct rql_structure *s, const struct rql_request *request,
                           struct rql_leaf *leaf) RQL_MUST_CHECK;
void rql_scan_sorted_clear(struct rql_leaf_scan *scan);
uint64_t rql_scan_sorted_bytes(const struct rql_leaf_scan *scan);

#endif
