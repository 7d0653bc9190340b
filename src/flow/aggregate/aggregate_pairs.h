/* Aggregates over joins whose pairs a method finds: see aggregate_pairs.c. */
#ifndef RQL_FLOW_AGGREGATE_PAIRS_H
#define RQL_FLOW_AGGREGATE_PAIRS_H

#include "flow/rowset.h"

/* Both at once, where rql_sides_can: r->pairs is the join's. *pairs: how many there were. *done false: nothing was done. */
rql_status rql_rowset_aggregate_pairs(struct rql_running *r, const struct rql_rel *rel, const struct rql_rel *join,
                                      struct rql_rowset *inputs, struct rql_rowset *out, uint64_t *pairs,
                                      bool *done) RQL_MUST_CHECK;

#endif
