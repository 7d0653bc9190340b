/* Which of a join's conditions are equalities of its two sides, and which are tested of each pair of rows. */
#ifndef RQL_FLOW_JOIN_KEYS_H
#define RQL_FLOW_JOIN_KEYS_H

#include "flow/rowset.h"

struct rql_join_keys {
	uint32_t key_count, rest_count;
	struct rql_expr **sides[2]; /* [key_count]: over the columns of the left and of the right child */
	bool *nulls_equal;          /* IS NOT DISTINCT FROM */
	struct rql_expr **rest;     /* over both, as in the join */
};
/* false: out of memory. */
bool rql_join_keys_find(struct rql_arena *arena, const struct rql_rel *rel, struct rql_join_keys *out);

#endif
