/* Functions of one column of strings over the rows of a set (expr/entries.h). */
#ifndef RQL_FLOW_STRINGS_H
#define RQL_FLOW_STRINGS_H

#include "expr/entries.h"
#include "flow/rowset.h"

/* Of an expression that reads one column of VARCHAR alone, by functions that RayQL has: its tree, in arena, and that
 * column. NULL: it is no such one. */
struct rql_entry *rql_expr_of_string(struct rql_arena *arena, const struct rql_expr *e, uint32_t *column);
/* The tree, whose values are of this type, over all rows of a rebased set. RQL_ERROR_UNSUPPORTED: some row's value is for
 * the host to say. */
rql_status rql_rowset_compute_string(struct rql_running *r, const struct rql_rowset *set, struct rql_entry *tree,
                                     uint32_t column, struct rql_type type, struct rql_vector *out) RQL_MUST_CHECK;

#endif
