/* Can an expression raise an error in some row? DuckDB computes the columns of a result before it knows which rows a
 * LIMIT takes, so one that can fail must not be put off until then. */
#ifndef RQL_BIND_FALLIBLE_H
#define RQL_BIND_FALLIBLE_H

#include "sql/rel/rel.h"

/* false only for what is known never to fail, whatever the values are. */
bool rql_expr_can_fail(const struct rql_expr *e);

#endif
