/* A sieve's vectors of one segment and column in a GPU's memory, and the keys that decide what they leave undecided: a
 * movable placement (device/placement.h) that the segment owns. The CPU takes the sample and decodes the keys; the device
 * makes the vectors of them. No run on the CPU is needed.
 *
 * Keys are a copy of their own, distances from the segment's least one in 32 bits where they fit, else 64: a lane
 * takes one key of a row, wherever blocks of the store are packed otherwise. Bytes a row: vectors / 8 + 4 or 8. */
#ifndef RQL_METHOD_SIEVE_SIEVE_PLACE_H
#define RQL_METHOD_SIEVE_SIEVE_PLACE_H

#include "device/work.h"
#include "method/sieve/sieve_run.h"

struct rql_sieve_placed {
	struct rql_placement placement; /* first */
	struct rql_sieve_shape shape;   /* bins: its own; their keys are at most what bounds allow */
	struct rql_buffer *buffer;      /* vectors as a run has them, then keys */
	uint64_t keys_at;               /* bytes into it */
	bool wide;                      /* keys: uint64_t[block_count][RQL_STORE_BLOCK], else uint32_t */
	uint64_t least, span;           /* keys: least .. least + span */
};

/* One more reference; made where it is not there, with the threads of cpu: *uploaded grows by what is copied. Release its
 * placement. */
rql_status rql_sieve_placed_get(const struct rql_store_snapshot *snapshot, uint32_t segment,
                                const struct rql_index_of *of, struct rql_device *gpu, struct rql_device *cpu,
                                struct rql_progress *progress, uint64_t *uploaded, struct rql_sieve_placed **out,
                                struct rql_error *err) RQL_MUST_CHECK;
bool rql_sieve_placed_there(const struct rql_store_segment *segment, const struct rql_index_of *of,
                            const struct rql_device *gpu);
/* Bytes that one takes of the device's memory, at most. */
uint64_t rql_sieve_placed_bound(const struct rql_store_segment *segment, const struct rql_index_of *of);

#endif
