/* Building maps. */
#include "column/map_layout.h"

#include <stdlib.h>

/* An array of so many places is taken in any case: a test of one bit beats a probe, and it is some megabytes at most.
 * Beyond, it may have so many places per entry: up to eight times a hash table's bytes, of which tests read one bit in 33,
 * and rows in the order of their keys (a fact table beside its orders) go through it from front to back, while hashing
 * would scatter them. TPC-H's orders leave three keys of four unused, and a condition on them most of the others. */
#define DENSE_ANYWAY (UINT64_C(1) << 22)
#define DENSE_FACTOR 64u
#define LEAST_CAPACITY 16u

void rql_map_free(struct rql_map *map)
{
	if (!map)
		return;
	free(map->bits);
	free(map->found);
	free(map->table);
	free(map);
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

int32_t rql_map_find(const struct rql_map *map, int64_t key)
{
	return (int32_t)(rql_map_get(map, key) - 1);
}

/* The keys' range, the number of entries before duplicates, the greatest payload. */
static void survey(const int64_t *keys, const int32_t *payloads, uint64_t count, struct rql_map *map, uint64_t *range)
{
	int64_t least = INT64_MAX, greatest = INT64_MIN;
	for (uint64_t i = 0; i < count; i++) {
		if (payloads && payloads[i] < 0)
			continue;
		map->entries++;
		least = keys[i] < least ? keys[i] : least;
		greatest = keys[i] > greatest ? keys[i] : greatest;
		uint32_t payload = payloads ? (uint32_t)payloads[i] : 0;
		map->payloads = payload + 1 > map->payloads ? payload + 1 : map->payloads;
	}
	map->least = map->entries ? least : 0;
	*range = map->entries ? (uint64_t)greatest - (uint64_t)least : 0; /* inclusive */
}

/* Room for 4 bytes more than needed: vectors gather words at any place. */
static bool allocate(struct rql_map *map, uint64_t range)
{
	map->dense = range < DENSE_ANYWAY || (range < (UINT64_C(1) << 31) && range / DENSE_FACTOR < map->entries);
	if (map->dense) {
		map->span = map->entries ? (uint32_t)range + 1 : 0;
		map->width = map->payloads <= UINT8_MAX ? 1 : map->payloads <= UINT16_MAX ? 2 : 4;
		uint64_t words = (uint64_t)map->span / 32 + 2, bytes = (uint64_t)map->span * map->width + 8;
		map->bytes = sizeof(*map) + words * 4 + bytes;
		map->bits = calloc(words, sizeof(*map->bits));
		map->found = calloc(1, bytes);
		return map->bits && map->found;
	}
	map->capacity = LEAST_CAPACITY;
	while (map->capacity < 2 * map->entries)
		map->capacity *= 2;
	map->bytes = sizeof(*map) + map->capacity * sizeof(*map->table);
	map->table = calloc(map->capacity, sizeof(*map->table));
	return map->table != NULL;
}

/* false: the key is there already. */
static bool put(struct rql_map *map, int64_t key, uint32_t found)
{
	if (!map->dense) {
		uint64_t at = rql_map_home(map, key);
		while (map->table[at].found && map->table[at].key != key)
			at = (at + 1) & (map->capacity - 1);
		if (map->table[at].found)
			return false;
		map->table[at] = (struct rql_map_entry){.key = key, .found = found};
		return true;
	}
	uint64_t at = (uint64_t)key - (uint64_t)map->least;
	if (map->bits[at / 32] >> at % 32 & 1)
		return false;
	map->bits[at / 32] |= UINT32_C(1) << at % 32;
	if (map->width == 1)
		((uint8_t *)map->found)[at] = (uint8_t)found;
	else if (map->width == 2)
		((uint16_t *)map->found)[at] = (uint16_t)found;
	else
		((uint32_t *)map->found)[at] = found;
	return true;
}

rql_status rql_map_build(const int64_t *keys, const int32_t *payloads, uint64_t count, struct rql_map **out,
                         struct rql_error *err)
{
	if (count > UINT64_C(1) << 31)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a join map takes at most 2^31 keys, not %llu",
		                     (unsigned long long)count);
	struct rql_map *map = calloc(1, sizeof(*map));
	if (!map)
		return rql_error_memory(err, sizeof(*map), "a join map");
	uint64_t range, entries = 0;
	rql_status status = RQL_OK;
	survey(keys, payloads, count, map, &range);
	map->offered = count;
	if (!allocate(map, range)) {
		status = rql_error_memory(err, map->bytes, "a join map");
		goto error;
	}
	for (uint64_t i = 0; i < count; i++) {
		if (payloads && payloads[i] < 0)
			continue;
		if (put(map, keys[i], payloads ? (uint32_t)payloads[i] + 1 : 1)) {
			entries++;
		} else if (payloads) {
			status = rql_error_set(err, RQL_ERROR_UNSUPPORTED,
			                       "key %lld occurs twice on the dimension's side of a join: rows would be multiplied",
			                       (long long)keys[i]);
			goto error;
		}
	}
	map->entries = entries;
	*out = map;
	return RQL_OK;
error:
	rql_map_free(map);
	return status;
}
