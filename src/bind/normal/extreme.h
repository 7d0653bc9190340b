/* Constants at which DuckDB's optimiser is known to fail where its binder does not: infinite and far away dates, integers
 * beyond 64 bits with a sign. Whether such a statement is an error is only known once DuckDB has optimised it. */
#ifndef RQL_BIND_EXTREME_H
#define RQL_BIND_EXTREME_H

#include "sql/rel/rel.h"

/* true: some constant is extreme, or written so that nobody here can tell, or a moment of a rare unit is cast. */
bool rql_plan_has_extremes(const struct rql_rel *root);

#endif
