/* Kernels that the driver has not compiled: what a run would wait for is charged to it in full. Where another answers
 * for that reason, they are compiled in the background. The statement is planned again once they are there.
 *
 * What a plan prepares (maps of dimensions) is in its price by a share, too: the text may never come again. The plan is
 * kept, though, and what it lost against may have been prepared as well. So where that share has decided, the text is
 * planned once more when it comes again (exec/query/select.c), and the share is in no price then.
 *
 * A session that names unit, device or method waits: nothing is charged then, and nothing done behind its back. */
#ifndef RQL_PLAN_AWAIT_H
#define RQL_PLAN_AWAIT_H

#include "plan/leaf.h"

/* Has the user named what is to run, so that the run waits? */
bool rql_await_is_forced(const struct rql_planning *p);
/* GPUs that are not open: without a wish for one they are opened in the background, and the plan is made again once they
 * are there (rql_plan.awaited). wait: they are listed when this returns, as for a session that names unit, device or
 * method. */
void rql_await_devices(struct rql_planning *p, bool wait);
/* May a plan be made for the device now? The CPU always. wait: it is measured then. */
bool rql_await_device(const struct rql_planning *p, struct rql_device *device, bool wait);

/* Fills in cost->compile_ns of what is prepared for the device: the profile's figure for each kernel that is not ready.
 * False: some kernel can never be had; *reason (in the plan's arena) says why. */
bool rql_await_price(const struct rql_planning *p, const struct rql_method *method,
                     const struct rql_prepared *prepared, struct rql_device *device, struct rql_cost *cost,
                     const char **reason);

/* The leaf is given up for what takes against_ns. If only its kernels and its preparation make it dearer, the plan says
 * so (rql_plan.awaited, awaiting, swayed), and the kernels are compiled from now on. */
void rql_await_leaf(struct rql_planning *p, const struct rql_leaf *leaf, double against_ns);
/* All leaves, whose plan is given up for the host. */
void rql_await_leaves(struct rql_planning *p);
/* What the plan's leaves take more than those of a later plan would. */
double rql_await_sum(const struct rql_plan_nodes *nodes);

#endif
