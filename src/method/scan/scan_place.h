/* Columns of segments in a device's memory, shared by all requests that read them, in one layout or both:
 *   FIELDS  for single rows: packed fields as they lie in the store, 64-byte offsets kept. Blocks of runs and steps are
 *           written out as packed fields, because a lane wants one row in the middle of a block: the zone maps skip
 *           most of what such columns would read anyway.
 *   PLANES  for tests of 32 rows at once: bit planes (scan_planes.h). */
#ifndef RQL_METHOD_SCAN_SCAN_PLACE_H
#define RQL_METHOD_SCAN_SCAN_PLACE_H

#include "column/store.h"
#include "device/work.h"
#include "method/scan/scan_planes.h"

enum rql_scan_layout { RQL_SCAN_FIELDS, RQL_SCAN_PLANES };
#define RQL_SCAN_LAYOUTS 2u

struct rql_scan_placed_block {
	uint64_t base;           /* FIELDS */
	uint32_t data, validity; /* offset / 64; validity: RQL_STORE_NONE as in the store */
	uint32_t bits;           /* FIELDS, 0: every value is base; PLANES: how many */
};
struct rql_scan_placed {
	struct rql_scan_placed *next;
	struct rql_device *device;
	const void *identity; /* of the segment */
	uint32_t column;
	enum rql_scan_layout layout;
	uint64_t references;
	const struct rql_store_snapshot *snapshot; /* retained: as long as this lives, no other segment has the identity */
	struct rql_buffer *buffer;                 /* NULL: nothing but constants without NULLs */
	double ms;                                 /* that placing it took */
	struct rql_scan_placed_block *blocks;
	bool shared; /* PLANES: all blocks have these numbers */
	struct rql_scan_numbers numbers;
};

/* One more reference to the column of a segment on a device, uploaded when it is not there. Columns of more than 64
 * bits are not for devices, numbers of more than RQL_SCAN_PLANES_MAX not for planes. */
rql_status rql_scan_place(const struct rql_store_snapshot *snapshot, const struct rql_store_segment *segment,
                          uint32_t column, enum rql_scan_layout layout, struct rql_device *device,
                          struct rql_scan_placed **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_scan_placed_release(struct rql_scan_placed *placed); /* NULL accepted */
/* The numbers of a block of planes. */
struct rql_scan_numbers rql_scan_placed_numbers(const struct rql_scan_placed *placed,
                                                const struct rql_store_block *block);
/* Is it there, so that a price need not hold its upload? False also while something else is being uploaded. */
bool rql_scan_is_placed(const struct rql_store_segment *segment, uint32_t column, enum rql_scan_layout layout,
                        const struct rql_device *device);
/* How wide a block's fields are once placed: steps become fields of their values, which are between its extremes. */
uint32_t rql_scan_placed_bits(const struct rql_store_block *block);
/* What the column of a segment would take of a device's memory, at most; from the blocks' descriptors alone. */
uint64_t rql_scan_place_bound(const struct rql_store_snapshot *snapshot, const struct rql_store_segment *segment,
                              uint32_t column, enum rql_scan_layout layout);
/* What lies on the device: of the snapshot's columns, or (NULL) of all there are. columns, ms (both may be NULL): how many
 * of the snapshot's columns, and how long placing them took. */
uint64_t rql_scan_device_bytes(const struct rql_store_snapshot *snapshot, const struct rql_device *device,
                               uint32_t *columns, double *ms);

#endif
