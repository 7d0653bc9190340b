/* Expressions of one column of strings as trees over its dictionary's entries (expr/entries.h). */
#ifndef RQL_FLOW_COMPILE_ENTRIES_H
#define RQL_FLOW_COMPILE_ENTRIES_H

#include "expr/entries.h"
#include "sql/rel/rel.h"

/* expr's only leaf, a REF or a COLUMN of VARCHAR, is the entry. NULL: it holds something that RayQL's kernels do not have,
 * or there is no memory: the host evaluates it. */
struct rql_entry *rql_compile_entries(struct rql_arena *arena, const struct rql_expr *expr);

#endif
