/* Columns of segments in a device's memory, shared by all requests that read them, in one layout or both:
 *   FIELDS  for single rows: packed fields as they lie in the store, 64-byte offsets kept. Blocks of runs and steps are
 *           written out as packed fields, because a lane wants one row in the middle of a block: the zone maps skip
 *           most of what such columns would read anyway.
 *   PLANES  for tests of 32 rows at once: bit planes (scan_planes.h).
 *
 * A copy is a movable placement (device/placement.h) that its segment owns. It is found again by whoever reads the column
 * there, also over a later snapshot that shares the segment: after an INSERT only the segments that it made are
 * uploaded. It goes with the segment, when the last snapshot that holds it is released. */
#ifndef RQL_METHOD_SCAN_SCAN_PLACE_H
#define RQL_METHOD_SCAN_SCAN_PLACE_H

#include "column/store/store.h"
#include "device/placement.h"
#include "device/work.h"
#include "method/scan/gpu/scan_planes.h"

enum rql_scan_layout { RQL_SCAN_FIELDS, RQL_SCAN_PLANES };
#define RQL_SCAN_LAYOUTS 2u

struct rql_scan_placed_block {
	uint64_t base;           /* FIELDS */
	uint32_t data, validity; /* offset / 64; validity: RQL_STORE_NONE as in the store */
	uint32_t bits;           /* FIELDS, 0: every value is base; PLANES: how many */
};
struct rql_scan_placed {
	struct rql_placement placement; /* first */
	struct rql_buffer *buffer;      /* NULL: nothing but constants without NULLs */
	struct rql_scan_placed_block *blocks;
};

/* One more reference to the column of a segment on a device, uploaded when it is not there: *uploaded grows by what that
 * was. Columns of more than 64 bits are not for devices, numbers of more than RQL_SCAN_PLANES_MAX not for planes. */
rql_status rql_scan_place(const struct rql_store_snapshot *snapshot, const struct rql_store_segment *segment,
                          uint32_t column, enum rql_scan_layout layout, struct rql_device *device, uint64_t *uploaded,
                          struct rql_scan_placed **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_scan_placed_release(struct rql_scan_placed *placed);
/* rql_placement_there of it. */
bool rql_scan_is_placed(const struct rql_store_segment *segment, uint32_t column, enum rql_scan_layout layout,
                        const struct rql_device *device);
/* How wide a block's fields are once placed: steps become fields of their values, which are between its extremes. */
uint32_t rql_scan_placed_bits(const struct rql_store_block *block);
/* What the column of a segment would take of a device's memory, at most; from the blocks' descriptors alone. */
uint64_t rql_scan_place_bound(const struct rql_store_snapshot *snapshot, const struct rql_store_segment *segment,
                              uint32_t column, enum rql_scan_layout layout);
#endif
