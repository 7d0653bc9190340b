/* Maps as placements: scan_map.h. */
#include "method/scan/gpu/scan_map.h"

#include <stdlib.h>

#include "method/scan/gpu/scan_kernels.h"
#include "shaders/method/scan/scan_map.comp.h"
#include "util/threads.h"

#define MAP_SIZE 256u          /* of a workgroup */
#define GATHERED_PLACES 32768u /* that one thread looks through at a time: whole words of bits */

static const struct rql_kernel map_kernel = {
	.name = "scan.map",
	.spirv = rql_spv_scan_map_comp,
	.spirv_bytes = sizeof(rql_spv_scan_map_comp),
	.args_bytes = sizeof(struct rql_scan_map_args),
};

uint64_t rql_scan_map_bytes(const struct rql_map *map, enum rql_scan_map_part part)
{
	if (part == RQL_SCAN_MAP_TABLE)
		return map->dense ? 0 : map->capacity * map->width;
	if (!map->dense)
		return 0;
	/* Whole words, which shaders read and passes clear, of what is allocated: payloads have 8 bytes more (map_build.c). A
	 * map without keys has a word of bits, too. */
	if (part == RQL_SCAN_MAP_BITS)
		return rql_map_bit_words(map->span) * sizeof(*map->bits);
	return rql_map_found_bytes(map->span, map->width) / 4 * 4;
}

const void *rql_scan_map_data(const struct rql_map *map, enum rql_scan_map_part part)
{
	return part == RQL_SCAN_MAP_BITS ? map->bits : part == RQL_SCAN_MAP_FOUND ? map->found : map->table;
}

/* ---- which way ---- */

static uint64_t entry_bytes(const struct rql_map *map, enum rql_scan_map_part part)
{
	const bool wide = part == RQL_SCAN_MAP_TABLE && !rql_map_is_narrow(map);
	return part == RQL_SCAN_MAP_BITS ? sizeof(uint32_t)
	       : wide                    ? sizeof(struct rql_scan_map_key)
	                                 : sizeof(struct rql_scan_map_place);
}

/* Sent whole; or its entries alone, for a pass that clears it and one that puts each where it belongs. */
static bool sends_entries(const struct rql_map *map, enum rql_scan_map_part part, const struct rql_device *device)
{
	const struct rql_profile *profile = &device->profile;
	const double whole = (double)rql_scan_map_bytes(map, part), entries = (double)map->entries;
	const double saved = (whole - entries * (double)entry_bytes(map, part)) / profile->upload_gbps;
	return saved > profile->submit_ns + whole / profile->read_gbps + entries * profile->scan.taken_row_ns;
}

uint64_t rql_scan_map_sent(const struct rql_map *map, enum rql_scan_map_part part, const struct rql_device *device)
{
	return sends_entries(map, part, device) ? map->entries * entry_bytes(map, part) : rql_scan_map_bytes(map, part);
}

/* ---- entries ---- */

struct gathering {
	const struct rql_map *map;
	enum rql_scan_map_part part;
	void *to;
	_Atomic uint64_t count;
};

static uint64_t count_entries(const struct rql_map *map, uint64_t first, uint64_t end)
{
	uint64_t count = 0;
	for (uint64_t at = first; at < end && !map->dense; at++)
		count += rql_map_entry_at(map->table, rql_map_is_narrow(map), at).found != 0;
	for (uint64_t word = first / 32; word * 32 < end && map->dense; word++)
		count += (uint64_t)__builtin_popcount(map->bits[word]);
	return count;
}

static void list_places(const struct gathering *g, uint64_t first, uint64_t end, uint64_t at)
{
	const struct rql_map *map = g->map;
	for (uint64_t word = first / 32; word * 32 < end; word++)
		for (uint32_t left = map->bits[word]; left; left &= left - 1, at++) {
			const uint32_t place = (uint32_t)(word * 32) + (uint32_t)__builtin_ctz(left);
			if (g->part == RQL_SCAN_MAP_BITS)
				((uint32_t *)g->to)[at] = place;
			else
				((struct rql_scan_map_place *)g->to)[at] =
					(struct rql_scan_map_place){place, rql_map_place(map, place)};
		}
}

static void list_keys(const struct gathering *g, uint64_t first, uint64_t end, uint64_t at)
{
	const bool narrow = rql_map_is_narrow(g->map);
	for (uint64_t place = first; place < end; place++) {
		const struct rql_map_entry e = rql_map_entry_at(g->map->table, narrow, place);
		if (!e.found)
			continue;
		if (narrow)
			((struct rql_scan_map_place *)g->to)[at++] = (struct rql_scan_map_place){(uint32_t)e.word, e.found};
		else
			((struct rql_scan_map_key *)g->to)[at++] =
				(struct rql_scan_map_key){(uint32_t)e.word, (uint32_t)(e.word >> 32), e.found};
	}
}

static uint64_t places_of(const struct rql_map *map)
{
	return map->dense ? map->span : map->capacity;
}

/* In any order. The places are read twice, the second time from the core's cache. */
static void gather(void *state, uint64_t index, unsigned worker)
{
	struct gathering *g = state;
	const uint64_t first = index * GATHERED_PLACES, all = places_of(g->map);
	const uint64_t end = first + GATHERED_PLACES < all ? first + GATHERED_PLACES : all;
	(void)worker;
	const uint64_t at = atomic_fetch_add(&g->count, count_entries(g->map, first, end));
	if (g->map->dense)
		list_places(g, first, end, at);
	else
		list_keys(g, first, end, at);
}

/* ---- placing ---- */

static uint32_t group_size(const struct rql_device *device)
{
	return device->limits.group_size < MAP_SIZE ? device->limits.group_size : MAP_SIZE;
}

rql_status rql_scan_map_see(const struct rql_map *map, enum rql_scan_map_part part, const struct rql_device *device,
                            rql_see_kernel *see, void *state, struct rql_error *err)
{
	const uint32_t constants[] = {group_size(device), part};
	const struct rql_kernel_use use = {.kernel = &map_kernel, .constants = constants, .count = 2};
	return sends_entries(map, part, device) ? see(state, &use, err) : RQL_OK;
}

static rql_status record(const struct rql_map *map, enum rql_scan_map_part part, struct rql_buffer *entries,
                         struct rql_buffer *to, struct rql_commands *commands, struct rql_error *err)
{
	const uint32_t size = group_size(to->device), constants[] = {size, part};
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_pipeline_get(to->device, &map_kernel, constants, 2, &pipeline, err));
	const struct rql_scan_map_args args = {.entries = entries->address,
	                                       .count = map->entries,
	                                       .to = to->address,
	                                       .mask = map->capacity - 1,
	                                       .width = map->width};
	const struct rql_use uses[] = {{entries, RQL_READ}, {to, RQL_READ_WRITE}};
	rql_record_fill(commands, to, 0, to->bytes, 0);
	rql_record_dispatch(commands, "map", pipeline, &args, (map->entries + size - 1) / size, uses, 2);
	return rql_commands_end(commands, err);
}

/* Whoever reads it comes later in the queue: nothing is waited for. */
static rql_status make_there(const struct rql_map *map, enum rql_scan_map_part part, struct rql_buffer *to,
                             struct rql_error *err)
{
	struct gathering g = {.map = map, .part = part};
	struct rql_buffer *entries = NULL;
	struct rql_commands *commands = NULL;
	uint64_t ticket;
	RQL_TRY(rql_buffer_new(to->device, map->entries * entry_bytes(map, part), RQL_MEMORY_UPLOAD, "entries of a map",
	                       &entries, err));
	g.to = entries->map;
	rql_pool_run(to->device->pool, (places_of(map) + GATHERED_PLACES - 1) / GATHERED_PLACES, gather, &g);
	rql_status status = rql_commands_new(to->device, 0, &commands, err);
	if (status == RQL_OK)
		status = record(map, part, entries, to, commands, err);
	if (status == RQL_OK)
		status = rql_submit(commands, &ticket, err);
	rql_commands_free(commands);
	rql_buffer_free(entries);
	return status;
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
		status = sends_entries(w->map, part, device)
		             ? make_there(w->map, part, p->buffer, err)
		             : rql_buffer_upload(p->buffer, 0, rql_scan_map_data(w->map, part), bytes, err);
	if (status != RQL_OK) {
		destroy(&p->placement);
		return status;
	}
	p->placement.bytes = p->buffer->bytes;
	*w->uploaded += rql_scan_map_sent(w->map, part, device);
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

/* What somebody else has made is taken as it is. */
static rql_status take_over(const struct rql_place *at, struct rql_device *device, void *state, struct rql_placement **out,
                            struct rql_error *err)
{
	struct rql_buffer **made = state;
	struct rql_scan_placed_map *p = calloc(1, sizeof *p);
	(void)at;
	if (!p)
		return rql_error_memory(err, sizeof *p, "a map on a device");
	p->placement = (struct rql_placement){.device = device, .bytes = (*made)->bytes, .destroy = destroy};
	p->buffer = *made;
	*made = NULL;
	*out = &p->placement;
	return RQL_OK;
}

rql_status rql_scan_map_adopt(const struct rql_map *map, enum rql_scan_map_part part, struct rql_buffer **made,
                              struct rql_error *err)
{
	const struct rql_place at = place_of(map, part);
	struct rql_placement *placement = NULL;
	rql_map_watch(map, rql_placements_drop);
	RQL_TRY(rql_placement_get(&at, (*made)->device, take_over, made, &placement, err));
	rql_placement_release(placement);
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
