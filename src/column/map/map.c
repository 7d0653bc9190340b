/* What a map is, and its end; map_build.c makes it. */
#include "column/map/map_layout.h"

#include <stdlib.h>
#include "util/large.h"

void rql_map_free(struct rql_map *map)
{
	if (!map)
		return;
	void (*gone)(const void *) = atomic_load(&map->gone);
	if (gone)
		gone(map);
	rql_large_free(map->bits);
	rql_large_free(map->found);
	rql_large_free(map->table);
	free(map->listed);
	free(map);
}

void rql_map_watch(const struct rql_map *map, void (*gone)(const void *))
{
	atomic_store(&((struct rql_map *)(uintptr_t)map)->gone, gone);
}

uint64_t rql_map_bytes(const struct rql_map *map)
{
	return map->bytes;
}

uint64_t rql_map_entries(const struct rql_map *map)
{
	return map->entries;
}

bool rql_map_is_dense(const struct rql_map *map)
{
	return map->dense;
}

uint32_t rql_map_payloads(const struct rql_map *map)
{
	return map->payloads;
}

/* Some place of [first, last] has an entry. */
static bool has_bit(const struct rql_map *map, uint64_t first, uint64_t last)
{
	for (uint64_t word = first / 32; word <= last / 32; word++) {
		uint32_t bits = map->bits[word];
		if (word == first / 32)
			bits &= UINT32_MAX << first % 32;
		if (word == last / 32)
			bits &= UINT32_MAX >> (31 - last % 32);
		if (bits)
			return true;
	}
	return false;
}

static bool meets_listed(const struct rql_map *map, int64_t least, int64_t greatest)
{
	uint64_t low = 0, high = map->entries; /* the first key that is not below least */
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (map->listed[middle] < least)
			low = middle + 1;
		else
			high = middle;
	}
	return low < map->entries && map->listed[low] <= greatest;
}

/* So many places are looked through: 2 KiB of bits, a part of what a test of a block's rows takes. */
#define LOOKED_THROUGH (UINT64_C(1) << 14)

bool rql_map_may_meet(const struct rql_map *map, int64_t least, int64_t greatest)
{
	if (!map->entries || greatest < map->least)
		return false;
	if (!map->dense)
		return least <= map->greatest && (!map->listed || meets_listed(map, least, greatest));
	if (least > map->least && (uint64_t)least - (uint64_t)map->least >= map->span)
		return false;
	uint64_t first = least < map->least ? 0 : (uint64_t)least - (uint64_t)map->least;
	uint64_t last = (uint64_t)greatest - (uint64_t)map->least;
	last = last < map->span ? last : map->span - 1;
	return last - first > LOOKED_THROUGH || has_bit(map, first, last);
}

int32_t rql_map_find(const struct rql_map *map, int64_t key)
{
	return (int32_t)(rql_map_get(map, key) - 1);
}

uint64_t rql_map_keys(const struct rql_map *map, uint64_t most, int64_t *out)
{
	uint64_t n = 0;
	if (map->entries > most)
		return UINT64_MAX;
	for (uint64_t word = 0; map->dense && word < ((uint64_t)map->span + 31) / 32; word++)
		for (uint32_t left = map->bits[word]; left; left &= left - 1)
			out[n++] = (int64_t)((uint64_t)map->least + word * 32 + (uint32_t)__builtin_ctz(left));
	for (uint64_t at = 0; !map->dense && map->entries && at < map->capacity; at++) {
		const struct rql_map_entry entry = rql_map_entry_at(map->table, rql_map_is_narrow(map), at);
		if (entry.found)
			out[n++] = rql_map_key_of(map, entry.word);
	}
	return n;
}
