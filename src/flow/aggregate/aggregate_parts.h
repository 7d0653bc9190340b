/* Aggregates over joins that RayQL's own table finds the pairs of: see aggregate_parts.c. */
#ifndef RQL_FLOW_AGGREGATE_PARTS_H
#define RQL_FLOW_AGGREGATE_PARTS_H

#include "flow/rowset.h"

/* Parts are made where rows have so many pairs each, and have the states of so many groups at most. */
#define RQL_PARTS_PAIRS_A_ROW 4.0
#define RQL_PARTS_GROUPS_MOST (1u << 22)
/* What became of the join. */
struct rql_parted {
	uint64_t pairs; /* of rows */
	uint64_t met;   /* pairs of parts in their place; 0: rows were joined */
	double ns;      /* for joining */
};
/* Both at once, where rql_sides_can. */
rql_status rql_rowset_aggregate_join(struct rql_running *r, const struct rql_rel *rel, const struct rql_rel *join,
                                     struct rql_rowset *inputs, struct rql_rowset *out,
                                     struct rql_parted *how) RQL_MUST_CHECK;

#endif
