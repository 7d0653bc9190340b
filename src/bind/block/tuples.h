/* Values that columns may have together, as conditions: each column is IN those of its part, and the tuples themselves stand
 * beside them (rql_expr.tuples) for whoever looks rows up by several columns. Together they may leave rows more. */
#ifndef RQL_BIND_TUPLES_H
#define RQL_BIND_TUPLES_H

#include "sql/rel/rel_edit.h"

/* The different ones of `count` rows of values, `parts` each and none NULL, which stay where they are. NULL: out of memory. */
struct rql_expr_tuples *rql_tuples_of(struct rql_arena *arena, const struct rql_value *rows, uint32_t parts, uint32_t count);
/* The conditions that keys, one for each part, are of the tuples: constants of which none is NULL. Without any no row stays.
 * false: out of memory. */
bool rql_keys_listed(struct rql_arena *arena, const struct rql_expr *const *keys, const struct rql_expr_tuples *tuples,
                     struct rql_expr_list *conditions);
/* What an OR says of several columns of one table that each of its branches compares with constants:
 * `(a = 1 AND b = 2) OR (a = 3 AND b = 4 AND ...)`. Nothing is added where it says no such thing. false: out of memory. */
bool rql_tuples_add(struct rql_arena *arena, struct rql_expr_list *conditions, const struct rql_expr *either);

#endif
