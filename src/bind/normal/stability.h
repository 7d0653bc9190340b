/* Is what a plan says the same at every run? now() is another in each: a cached plan would freeze it, and a cube would be
 * built for one moment. */
#ifndef RQL_BIND_STABILITY_H
#define RQL_BIND_STABILITY_H

#include "bind/context.h"
#include "sql/rel/rel.h"

enum rql_stability {
	RQL_CONSISTENT,   /* equal arguments give equal values */
	RQL_WITHIN_QUERY, /* ... within one statement (now, current_date) */
	RQL_VOLATILE,     /* each call may give another value (random, nextval) */
};

/* Asks the host for its functions, once for each database; the functions below need it. */
rql_status rql_stability_load(const struct rql_plan_context *ctx, struct rql_error *err) RQL_MUST_CHECK;
/* VOLATILE until the names are loaded. */
enum rql_stability rql_function_stability(struct rql_planner *planner, const char *name);
/* The worst of the plan's functions, also of those in views and macros; *name: that one, when it is not CONSISTENT. */
enum rql_stability rql_plan_stability(struct rql_planner *planner, const struct rql_plan_facts *facts,
                                      const char **name);
/* Does a relation of CONSISTENT functions give the same rows when it is read twice? Not when it takes any of several: the
 * first rows of equal ones, any_value, one of equally near; nor where sums depend on the order of additions. */
bool rql_rel_is_repeatable(const struct rql_rel *rel);

#endif
