/* Rows of each block of a segment in the order of one column's keys, in a GPU's memory: a movable placement that the segment
 * owns, made there of the keys (sieve_place.h). Positions as BinDex has them, but of a block each: what lies between a
 * bound and a vector is a run of neighbours, and the block's bitmap stays in shared memory. Bytes a row: 6, and 2 for each
 * bin of a block. */
#ifndef RQL_METHOD_SIEVE_SIEVE_BLOCKS_H
#define RQL_METHOD_SIEVE_SIEVE_BLOCKS_H

#include "method/sieve/gpu/sieve_place.h"

struct rql_sieve_blocks {
	struct rql_placement placement; /* first */
	struct rql_buffer *buffer;      /* keys, then rows, then starts (sieve_kernels.h) */
	uint64_t rows_at, starts_at;    /* bytes into it */
	uint32_t stride;
};
/* *out NULL: the segment's keys take 64 bits, its bins are too many, or the device's shared memory has no room for a
 * block. As rql_sieve_placed_get; placed: of the same. */
rql_status rql_sieve_blocks_get(const struct rql_store_snapshot *snapshot, uint32_t segment,
                                const struct rql_index_of *of, const struct rql_sieve_placed *placed,
                                struct rql_device *gpu, struct rql_progress *progress, struct rql_sieve_blocks **out,
                                struct rql_error *err) RQL_MUST_CHECK;
bool rql_sieve_blocks_there(const struct rql_store_segment *segment, const struct rql_index_of *of,
                            const struct rql_device *gpu);
/* Bytes that one takes of the device's memory, at most; 0: perhaps there is none, by what the column holds. */
uint64_t rql_sieve_blocks_bound(const struct rql_store_snapshot *snapshot, uint32_t segment,
                                const struct rql_index_of *of, const struct rql_device *gpu);

#endif
