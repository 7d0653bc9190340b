/* What RayQL does not finish itself, the host finishes over the aggregated rows: the plan above the leaves goes back to
 * SQL, the leaves being tables that the host reads from memory. */
#ifndef RQL_EXEC_FINISH_HOST_H
#define RQL_EXEC_FINISH_HOST_H

#include "exec/rowset.h"

/* sets[i] holds the rows of plan leaf i. */
rql_status rql_finish_by_host(const struct rql_plan *plan, const struct rql_plan_context *ctx,
                              const struct rql_rowset *sets, struct rql_batch **out,
                              struct rql_error *err) RQL_MUST_CHECK;

#endif
