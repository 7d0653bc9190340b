/* Maps as placements: scan_map.h. */
#include "method/scan/scan_map.h"

#include <stdlib.h>

uint64_t rql_scan_map_bytes(const struct rql_map *map, enum rql_scan_map_part part)
{
	if (part == RQL_SCAN_MAP_TABLE)
		return map->dense ? 0 : map->capacity * sizeof(*map->table);
	if (!map->dense)
		return 0;
	/* As they are allocated: shaders read whole words, and a map without keys has a word of bits, too. */
	return part == RQL_SCAN_MAP_BITS ? ((uint64_t)map->span / 32 + 2) * sizeof(*map->bits)
	                                 : (uint64_t)map->span * map->width + 8;
}

const void *rql_scan_map_data(const struct rql_map *map, enum rql_scan_map_part part)
{
	return part == RQL_SCAN_MAP_BITS ? map->bits : part == RQL_SCAN_MAP_FOUND ? map->found : (const void *)map->table;
}

static struct rql_place place_of(const struct rql_map *map, enum rql_scan_map_part part)
{
	static const char *const kinds[] = {
		[RQL_SCAN_MAP_BITS] = "bits", [RQL_SCAN_MAP_FOUND] = "payloads", [RQL_SCAN_MAP_TABLE] = "table"};
	return (struct rql_place){.owner = map, .kind = kinds[part], .part = part};
}

static void destroy(struct rql_placement *placement)
{
	struct rql_scan_placed_map *p = (struct rql_scan_placed_map *)placement;
	rql_buffer_free(p->buffer);
	free(p);
}

struct wanted {
	const struct rql_map *map;
	uint64_t *uploaded;
};

static rql_status make(const struct rql_place *at, struct rql_device *device, void *state, struct rql_placement **out,
                       struct rql_error *err)
{
	const struct wanted *w = state;
	const enum rql_scan_map_part part = (enum rql_scan_map_part)at->part;
	const uint64_t bytes = rql_scan_map_bytes(w->map, part);
	struct rql_scan_placed_map *p = calloc(1, sizeof *p);
	if (!p)
		return rql_error_memory(err, sizeof *p, "a map on a device");
	p->placement = (struct rql_placement){.device = device, .destroy = destroy};
	rql_status status = rql_buffer_new(device, bytes, RQL_MEMORY_DEVICE, "a map of a join", &p->buffer, err);
	if (status == RQL_OK)
		status = rql_buffer_upload(p->buffer, 0, rql_scan_map_data(w->map, part), bytes, err);
	if (status != RQL_OK) {
		destroy(&p->placement);
		return status;
	}
	p->placement.bytes = p->buffer->bytes;
	*w->uploaded += p->placement.bytes;
	*out = &p->placement;
	return RQL_OK;
}

rql_status rql_scan_map_place(const struct rql_map *map, enum rql_scan_map_part part, struct rql_device *device,
                              uint64_t *uploaded, struct rql_scan_placed_map **out, struct rql_error *err)
{
	const struct rql_place at = place_of(map, part);
	struct wanted wanted = {.map = map, .uploaded = uploaded};
	struct rql_placement *placement = NULL;
	rql_map_watch(map, rql_placements_drop);
	RQL_TRY(rql_placement_get(&at, device, make, &wanted, &placement, err));
	*out = (struct rql_scan_placed_map *)placement;
	return RQL_OK;
}

void rql_scan_map_release(struct rql_scan_placed_map *placed)
{
	if (placed)
		rql_placement_release(&placed->placement);
}

bool rql_scan_map_is_placed(const struct rql_map *map, enum rql_scan_map_part part, const struct rql_device *device)
{
	const struct rql_place at = place_of(map, part);
	return rql_placement_there(&at, device, NULL);
}
