/* Places of a segment's rows in a space of some columns, made on a GPU of the keys that lie there (sieve_place.h). */
#ifndef RQL_METHOD_SIEVE_SIEVE_PLACES_H
#define RQL_METHOD_SIEVE_SIEVE_PLACES_H

#include "method/sieve/gpu/sieve_place.h"
#include "method/sieve/space/sieve_axis.h"

struct rql_sieve_places_of {
	const struct rql_store_snapshot *snapshot;
	uint32_t segment;
	const struct rql_index_of *of; /* [axis_count] */
	uint32_t axis_count;
	enum rql_sieve_axis_kind kind;
	struct rql_device *gpu, *cpu;
	struct rql_progress *progress;
	uint64_t *uploaded;
};
/* Numbers of the segment's rows: block * RQL_STORE_BLOCK + row of the block, up to its last row. */
uint32_t rql_sieve_numbers(const struct rql_store_segment *segment);
/* How many rows each block has, as kernels read it: uint32_t[blocks]. */
rql_status rql_sieve_block_rows(const struct rql_store_segment *segment, struct rql_device *gpu,
                                struct rql_buffer **out, struct rql_error *err) RQL_MUST_CHECK;
/* *out: uint32_t[numbers][axis_count]; a number that is no row's has the place of its block's first. axes: to be freed
 * also on failure. Waits for the device. */
rql_status rql_sieve_places_make(const struct rql_sieve_places_of *places, struct rql_sieve_axis *axes,
                                 struct rql_buffer **out, struct rql_error *err) RQL_MUST_CHECK;

#endif
