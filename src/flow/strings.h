/* Functions of one column of strings over the rows of a set (expr/entries.h). */
#ifndef RQL_FLOW_STRINGS_H
#define RQL_FLOW_STRINGS_H

#include "flow/rowset.h"

/* Does e read one column of VARCHAR alone, by functions that RayQL has? arena: for trying. */
bool rql_expr_of_string(struct rql_arena *arena, const struct rql_expr *e);
/* e, which is such, over all rows of a rebased set. RQL_ERROR_UNSUPPORTED: some row's value is for the host to say. */
rql_status rql_rowset_compute_string(struct rql_running *r, const struct rql_rowset *set, const struct rql_expr *e,
                                     struct rql_vector *out) RQL_MUST_CHECK;

#endif
