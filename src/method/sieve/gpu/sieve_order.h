/* A segment's rows in the order of one column's keys, in a GPU's memory: a movable placement that the segment owns.
 * BinDex's positions, of a whole segment: 4 bytes a row. What lies between a bound and the vector that is taken for it
 * is a piece of this list. */
#ifndef RQL_METHOD_SIEVE_SIEVE_ORDER_H
#define RQL_METHOD_SIEVE_SIEVE_ORDER_H

#include "device/work.h"
#include "method/sieve/space/sieve_axis.h"

struct rql_sieve_order {
	struct rql_placement placement; /* first */
	struct rql_sieve_axis axis;     /* BY_RANK */
	struct rql_buffer *rows;        /* uint32_t[axis.size]: ascending by key, numbered as places are (sieve_rank.h) */
};
/* As rql_sieve_placed_get. */
rql_status rql_sieve_order_get(const struct rql_store_snapshot *snapshot, uint32_t segment,
                               const struct rql_index_of *of, struct rql_device *gpu, struct rql_device *cpu,
                               struct rql_progress *progress, uint64_t *uploaded, struct rql_sieve_order **out,
                               struct rql_error *err) RQL_MUST_CHECK;
bool rql_sieve_order_there(const struct rql_store_segment *segment, const struct rql_index_of *of,
                           const struct rql_device *gpu);

#endif
