/* A segment's keys as a structure of a GPU's ray tracing (primitive/rt): made of the segment's sorted run (index_run.h), in
 * the table of placements under the segment, so that it goes with it. */
#ifndef RQL_METHOD_INDEX_RX_PLACED_H
#define RQL_METHOD_INDEX_RX_PLACED_H

#include "device/placement.h"
#include "method/index/index_run.h"
#include "method/index/rt/rx_design.h"
#include "method/runs.h"
#include "primitive/rt/cgrx.h"

struct rql_rx_placed {
	struct rql_placement placement; /* first */
	struct rql_rx *rx;              /* one of the two; NULL both: the segment has no key */
	struct rql_cgrx *cgrx;
	struct rql_buffer *keys, *rows; /* of rx: what it reads; rows as of index_run.h, keys of boxes and spheres only */
	struct rql_index_key key;       /* what its keys are made of */
	struct rql_mem mem;             /* of the key's values */
	uint64_t greatest;              /* key */
	bool narrow;                    /* keys have 32 bits */
};

/* Is the form one of these? */
static inline bool rql_rx_form(enum rql_index_form form)
{
	return form == RQL_INDEX_RX || form == RQL_INDEX_CGRX;
}
/* *uploaded grows by the bytes that were brought to the device. Release its placement. */
rql_status rql_rx_placed_get(const struct rql_store_snapshot *snapshot, uint32_t segment, const struct rql_index_of *of,
                             struct rql_device *gpu, struct rql_device *cpu, struct rql_progress *progress,
                             uint64_t *uploaded, struct rql_rx_placed **out, struct rql_error *err) RQL_MUST_CHECK;
bool rql_rx_placed_there(const struct rql_store_segment *segment, const struct rql_index_of *of,
                         const struct rql_device *gpu);
/* Bytes of a segment's structure, before it is there. */
uint64_t rql_rx_placed_bound(const struct rql_store_segment *segment, const struct rql_index_of *of,
                             const struct rql_device *gpu);

#endif
