/* Aggregates over an inner join by keys without the join's rows: each group key and each aggregate reads one side at most, so
 * groups are numbered among the rows of each side, before there are pairs. A pair's group is made of two such numbers. */
#ifndef RQL_FLOW_AGGREGATE_SIDES_H
#define RQL_FLOW_AGGREGATE_SIDES_H

#include "flow/aggregate/aggregate_internal.h"

struct aggregate_side {
	struct rql_rowset *set;
	uint32_t key_count, *keys;    /* those group keys of rel that it has */
	struct rql_vector *vectors;   /* [key_count] */
	struct rql_key_groups groups; /* without keys: one */
};

/* Is the aggregate of that kind, as far as the algebra tells? */
bool rql_sides_can(const struct rql_rel *rel, const struct rql_rel *join);
/* The side that an aggregate reads; 0: none. lefts: columns of the left child. */
unsigned rql_sides_of(const struct rql_expr *aggregate, uint32_t lefts);
/* An aggregate that counts pairs. */
const struct rql_expr *rql_sides_counted(void);
/* side->set is set; the others are made. Groups are not spread. */
rql_status rql_side_number(struct rql_running *r, const struct rql_rel *rel, const struct rql_rel *join, unsigned s,
                           struct aggregate_side *side) RQL_MUST_CHECK;
/* The answer: agg's groups are those of the left side times those of the right one, and its last aggregate has counted pairs.
 * Groups without a pair are none, but for that of no keys. */
rql_status rql_sides_finish(struct aggregating *agg, const struct aggregate_side *const sides[2], struct rql_rowset *out,
                            uint64_t *pairs) RQL_MUST_CHECK;

#endif
