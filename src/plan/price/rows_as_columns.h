/* Rows that are wanted themselves, on a GPU: a request for them becomes two. */
#ifndef RQL_PLAN_ROWS_AS_COLUMNS_H
#define RQL_PLAN_ROWS_AS_COLUMNS_H

#include "method/request.h"
#include "util/arena.h"

/* *project has the conditions, and computes what outputs and order keys need, as COLUMNS (`gives` is the caller's to
 * release); *rows fetches these, in the order. RQL_ERROR_UNSUPPORTED: what they would be has no field. */
rql_status rql_rows_as_columns(struct rql_arena *arena, const struct rql_request *wanted, struct rql_request *project,
                               struct rql_request *rows, struct rql_error *err) RQL_MUST_CHECK;

#endif
