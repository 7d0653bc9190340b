/* Is what a text says the same at every run? The optimiser folds now() or getvariable('x') into constants, so a plan
 * does not show them any more: a cached plan would freeze them, and a cube would be built for one moment. */
#ifndef RQL_PLAN_STABILITY_H
#define RQL_PLAN_STABILITY_H

#include "plan/plan.h"
#include "sql/rel.h"

/* *stable is false when the statement's value may change although no table does, also through views and macros.
 * unstable_name (may be NULL) gets the name of a function at fault when one was found: static or in arena. bound (may
 * be NULL) gets the plan before optimising as JSON, malloc'ed, or NULL when the host gave none. */
rql_status rql_statement_stable(const struct rql_plan_context *ctx, struct rql_arena *arena, const char *sql,
                                bool *stable, const char **unstable_name, char **bound,
                                struct rql_error *err) RQL_MUST_CHECK;

/* The base tables that a bound plan scans, one after the other: *at starts at the JSON's beginning. 1: *out is the
 * next, in arena; 0: there is no other; -1: not understood, or out of memory. The optimised plan does not name them
 * all: where statistics prove that nothing of a table qualifies, or fold what is asked of it, the scan is gone, and
 * still the answer depends on the table. */
int rql_bound_plan_table(struct rql_arena *arena, const char **at, struct rql_table_ref *out);

/* A function by that name gives different values for equal arguments (random, now, nextval, ...). True until the names
 * are known. */
bool rql_function_is_unstable(struct rql_planner *planner, const char *name);

#endif
