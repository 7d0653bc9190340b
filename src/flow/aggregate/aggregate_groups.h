/* Groups of rows in the host's memory that a method makes (method/stage.h, rql_run_grouping), with their aggregates. */
#ifndef RQL_FLOW_AGGREGATE_GROUPS_H
#define RQL_FLOW_AGGREGATE_GROUPS_H

#include "flow/keys/keys.h"

/* A column of integers, and what is asked for of it; then what each group has, by numbers of groups. */
struct rql_grouped_value {
	struct rql_vector argument; /* lanes of 64 bits */
	bool sum, least, greatest;
	uint64_t *count; /* values that are not NULL */
	rql_int128 *sums, *leasts, *greatests; /* of nothing they are anything */
};
struct rql_grouped {
	uint64_t count;
	uint32_t *first; /* a group's first row */
	uint64_t *rows;
};
/* *done: false: its values do not go so, and nothing was done. */
rql_status rql_rows_group(struct rql_running *r, const struct rql_keys *keys, struct rql_grouped_value *values, uint32_t count,
                          struct rql_grouped *out, bool *done) RQL_MUST_CHECK;
/* Can the node's groups be made so, all of its aggregates among them? *values: columns that they read, at most. */
bool rql_aggregate_by_groups(const struct rql_rel *rel, uint32_t *values);

#endif
