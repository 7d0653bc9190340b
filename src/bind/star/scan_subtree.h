/* A subtree of a star as a relation. */
#ifndef RQL_BIND_SCAN_SUBTREE_H
#define RQL_BIND_SCAN_SUBTREE_H

#include "bind/star/scan_star.h"

/* Columns: the key, the second key if there is one, and the outputs (unless keys_only, or they are those of a MARK). Of a
 * side that is a set: each row once. rows: stands for the side's own (NULL: its own). NULL: out of memory. */
struct rql_rel *rql_subtree_rel(struct rql_arena *arena, const struct rql_star *star, uint32_t subtree,
                                const struct rql_rel *rows, bool keys_only);
/* At most so many of rel's rows; UINT64_MAX: all. NULL: out of memory. */
struct rql_rel *rql_subtree_limit(struct rql_arena *arena, struct rql_rel *rel, uint64_t rows);

#endif
