/* Running a plan: methods, then the finishing stage (HAVING, projections, ORDER BY, LIMIT; what it cannot do is done by
 * the host over the small aggregated result). */
#ifndef RQL_EXEC_RUN_H
#define RQL_EXEC_RUN_H

#include "plan/plan.h"

struct rql_leaf;

/* plan->kind is METHOD. *out holds all rows (results of aggregates are small), with the types that the host would
 * give, and is the caller's. RQL_ERROR_UNSUPPORTED: something that only the run could show (an overflow in a finishing
 * expression, say): the host must answer, and err says why. passes (may be NULL): the run measures its time on the
 * device. *failed: the leaf whose method failed, when one did. */
rql_status rql_plan_run(const struct rql_plan *plan, const struct rql_plan_context *ctx, struct rql_progress *progress,
                        struct rql_batch **out, struct rql_run_stats *stats, struct rql_run_passes *passes,
                        const struct rql_leaf **failed, struct rql_error *err) RQL_MUST_CHECK;

#endif
