/* Maps in a device's memory, for whoever looks keys up there: copies of the parts that are read (column/map/map_layout.h),
 * each a movable placement (device/placement.h) that its map owns. Plans share them as they share the map
 * (plan/map_cache.h), so that a text which was never seen uploads none. They give way to what needs the room while no
 * plan holds them, and go with the map.
 *
 * A part is mostly empty where its map has few keys of many places. Then the device makes it of the entries, which the
 * kernel reads from the host's memory, if that is the cheaper way: of TPC-H's Q9 a table of 33 MB comes from 10 MB.
 *
 * Maps of few bytes lie in each plan's own table instead: a buffer of its own, with its upload and its barrier, is
 * dearer. */
#ifndef RQL_METHOD_SCAN_SCAN_MAP_H
#define RQL_METHOD_SCAN_SCAN_MAP_H

#include "column/map/map_layout.h"
#include "device/compile.h"
#include "device/placement.h"
#include "device/work.h"

enum rql_scan_map_part {
	RQL_SCAN_MAP_BITS = RQL_MAP_BITS,
	RQL_SCAN_MAP_FOUND = RQL_MAP_FOUND,
	RQL_SCAN_MAP_TABLE = RQL_MAP_TABLE,
};
#define RQL_SCAN_MAP_PARTS 3u
/* Parts up to so many bytes are copied into the plan's table. */
#define RQL_SCAN_MAP_COPIED (UINT64_C(32) << 10)

/* A part's bytes in the host's memory; 0 of one that the map does not have. */
uint64_t rql_scan_map_bytes(const struct rql_map *map, enum rql_scan_map_part part);
const void *rql_scan_map_data(const struct rql_map *map, enum rql_scan_map_part part);
static inline bool rql_scan_map_apart(const struct rql_map *map, enum rql_scan_map_part part)
{
	return rql_scan_map_bytes(map, part) > RQL_SCAN_MAP_COPIED;
}

/* What making a part there sends: the part itself, or its entries. */
uint64_t rql_scan_map_sent(const struct rql_map *map, enum rql_scan_map_part part, const struct rql_device *device);
/* Shows the kernel that makes parts of entries. */
rql_status rql_scan_map_see(const struct rql_map *map, enum rql_scan_map_part part, const struct rql_device *device,
                            rql_see_kernel *see, void *state, struct rql_error *err) RQL_MUST_CHECK;

struct rql_scan_placed_map {
	struct rql_placement placement; /* first */
	struct rql_buffer *buffer;
};
/* One more reference to a part on a device, made when it is not there: *uploaded grows by what was sent. */
rql_status rql_scan_map_place(const struct rql_map *map, enum rql_scan_map_part part, struct rql_device *device,
                              uint64_t *uploaded, struct rql_scan_placed_map **out,
                              struct rql_error *err) RQL_MUST_CHECK;
/* The part lies there already, in this buffer (scan_make.c): it becomes the placement, as if it had been sent. Taken over;
 * after an error it is the caller's still. */
rql_status rql_scan_map_adopt(const struct rql_map *map, enum rql_scan_map_part part, struct rql_buffer **made,
                              struct rql_error *err) RQL_MUST_CHECK;
void rql_scan_map_release(struct rql_scan_placed_map *placed);
/* rql_placement_there of it. */
bool rql_scan_map_is_placed(const struct rql_map *map, enum rql_scan_map_part part, const struct rql_device *device);

#endif
