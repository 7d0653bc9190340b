/* Is what a text says the same at every run? The optimiser folds now() or getvariable('x') into constants, so a plan
 * does not show them any more: a cached plan would freeze them, and a cube would be built for one moment. */
#ifndef RQL_PLAN_STABILITY_H
#define RQL_PLAN_STABILITY_H

#include "plan/plan.h"

/* *stable is false when the statement's value may change although no table does, also through views and macros. unstable_name (may be
 * NULL) gets the name of a function at fault when one was found: static or in arena. */
rql_status rql_statement_stable(const struct rql_plan_context *ctx, struct rql_arena *arena, const char *sql, bool *stable,
                                const char **unstable_name, struct rql_error *err) RQL_MUST_CHECK;

/* A function by that name gives different values for equal arguments (random, now, nextval, ...). True until the names are known. */
bool rql_function_is_unstable(struct rql_planner *planner, const char *name);

#endif
