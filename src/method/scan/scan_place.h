/* Columns of segments in a device's memory, shared by all requests that read them, in one layout or both:
 *   FIELDS  for single rows: packed fields as they lie in the store, 64-byte offsets kept. Blocks of runs and steps are
 *           written out as packed fields, because a lane wants one row in the middle of a block: the zone maps skip
 *           most of what such columns would read anyway.
 *   PLANES  for tests of 32 rows at once: bit planes (scan_planes.h).
 *
 * A copy belongs to its segment, not to a request. The first request that reads the column there makes it; when no
 * request refers to it any more it stays, IDLE, and the next one finds it, also one over a later snapshot that shares
 * the segment: so after an INSERT only the segments that it made are uploaded. It goes with the segment (when the last
 * snapshot that holds it is released), when the device has failed (rql_scan_forget), or while idle to make room
 * (rql_scan_evict). */
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
	struct rql_device *device;
	struct rql_buffer *buffer; /* NULL: nothing but constants without NULLs */
	struct rql_scan_placed_block *blocks;
	uint32_t column;
	enum rql_scan_layout layout;
	/* scan_placed.c's, under its lock */
	struct rql_scan_placed *next, *older, *newer; /* in its bucket; among the idle ones */
	const void *identity;                         /* of the segment; NULL: nobody finds it any more */
	uint64_t references, bytes;                   /* 0: idle; of buffer, once it is made */
	uint64_t wanted_ns;                           /* when a request or its price last asked for it */
	double ms;                                    /* that placing it took */
	bool making;                                  /* by the thread that has the one reference */
};

/* One more reference to the column of a segment on a device, uploaded when it is not there: *uploaded grows by what that
 * was. Columns of more than 64 bits are not for devices, numbers of more than RQL_SCAN_PLANES_MAX not for planes. */
rql_status rql_scan_place(const struct rql_store_snapshot *snapshot, const struct rql_store_segment *segment,
                          uint32_t column, enum rql_scan_layout layout, struct rql_device *device, uint64_t *uploaded,
                          struct rql_scan_placed **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_scan_placed_release(struct rql_scan_placed *placed); /* NULL accepted */
/* Is it there (or on its way), so that a price need not hold its upload? Then it is wanted as of now: see
 * rql_scan_evict. */
bool rql_scan_is_placed(const struct rql_store_segment *segment, uint32_t column, enum rql_scan_layout layout,
                        const struct rql_device *device);
/* Gives up idle columns on the device, those that have been idle longest first, until `bytes` are freed; returns how
 * many were. Those that were wanted at `since` (rql_now_ns) or later stay: whoever needs room for a request must not
 * lose what the request reads. */
uint64_t rql_scan_evict(const struct rql_device *device, uint64_t bytes, uint64_t since);
/* What lies on a device that has failed is not trusted: nobody finds it any more, and it is freed when it is idle. */
void rql_scan_forget(const struct rql_store_snapshot *snapshot, const struct rql_device *device);
/* How wide a block's fields are once placed: steps become fields of their values, which are between its extremes. */
uint32_t rql_scan_placed_bits(const struct rql_store_block *block);
/* What the column of a segment would take of a device's memory, at most; from the blocks' descriptors alone. */
uint64_t rql_scan_place_bound(const struct rql_store_snapshot *snapshot, const struct rql_store_segment *segment,
                              uint32_t column, enum rql_scan_layout layout);
/* What lies on the device, idle or not: of the snapshot's columns, or (NULL) of all there are. columns, ms (both may be
 * NULL): how many of the snapshot's columns, and how long placing them took. */
uint64_t rql_scan_device_bytes(const struct rql_store_snapshot *snapshot, const struct rql_device *device,
                               uint32_t *columns, double *ms);

#endif
