/* Which groups of an aggregate the nodes above it want: HAVING, and the first ones of an order. */
#ifndef RQL_BIND_WANTED_H
#define RQL_BIND_WANTED_H

#include "flow/shape.h"
#include "sql/rel/rel.h"
#include "util/arena.h"

/* The nodes on the way from the root to the one at hand, the nearest first. */
struct rql_above {
	const struct rql_rel *rel;
	const struct rql_above *next;
};

/* What may be left out of the groups that `slots` make into the columns of a node below `above`. request: whose
 * groups they are. *text: for EXPLAIN, NULL when all are wanted; false: out of memory. */
bool rql_wanted_groups(struct rql_arena *arena, const struct rql_above *above, const struct rql_slot *slots,
                       uint32_t slot_count, const struct rql_request *request, struct rql_wanted_groups *out,
                       const char **text);

#endif
