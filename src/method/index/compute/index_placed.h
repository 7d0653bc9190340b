/* A segment's run on a GPU: made of the run of the same form on the CPU (index_run.h), in the table of placements under the
 * segment, so that it goes with it and gives way as it does. Sorted and direct runs and B+ trees lie there as they are,
 * and are searched as primitive/lookup/lookup.h says. A hashed one is built there anew, of its different keys, beside
 * lists of their rows. */
#ifndef RQL_METHOD_INDEX_INDEX_PLACED_H
#define RQL_METHOD_INDEX_INDEX_PLACED_H

#include "device/placement.h"
#include "method/index/index_run.h"
#include "primitive/lookup/lookup_bits.h"

#define RQL_INDEX_PLACED_BUFFERS 6u

struct rql_index_placed {
	struct rql_placement placement; /* first */
	struct rql_index_key key;       /* what its keys are made of */
	struct rql_mem mem;             /* of the key's values */
	uint64_t greatest;              /* key */
	uint64_t count;                 /* rows; 0: nothing else is there */
	/* What a look-up in it begins with: its map, lists and rows. HASHED only for points; keys that crowd there are sorted
	 * instead. */
	struct rql_lookup_bits look_up;
	uint32_t buffer_count;
	struct rql_buffer *buffers[RQL_INDEX_PLACED_BUFFERS];
};

struct rql_index_placing {
	const struct rql_store_snapshot *snapshot;
	struct rql_device *cpu;
	struct rql_progress *progress; /* may be NULL */
	uint64_t *uploaded;            /* grows by the bytes that are brought to the device */
};
/* of: its form is not AUTO (rql_index_auto). Release its placement. */
rql_status rql_index_placed_get(const struct rql_index_placing *how, uint32_t segment, const struct rql_index_of *of,
                                struct rql_device *gpu, struct rql_index_placed **out,
                                struct rql_error *err) RQL_MUST_CHECK;
bool rql_index_placed_there(const struct rql_store_segment *segment, const struct rql_index_of *of,
                            const struct rql_device *gpu);
/* What it will be, before it is there: of a run's keys and bounds. */
struct rql_index_shape {
	enum rql_lookup_form form;
	uint32_t key_bits;
	double bytes;   /* of the device's memory, about */
	double sectors; /* of 32 bytes, anywhere in it, that a search for one key reads */
};
struct rql_index_shape rql_index_placed_shape(const struct rql_store_segment *segment, const struct rql_index_of *of);

#endif
