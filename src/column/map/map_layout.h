/* How maps lie in memory (map.h has the contract), and look-ups in them: for the inner loops of those who join, and for
 * copies on a device. */
#ifndef RQL_COLUMN_MAP_LAYOUT_H
#define RQL_COLUMN_MAP_LAYOUT_H

#include <stdatomic.h>

#include "column/map/map.h"

/* An entry of a hash table. Where the keys' range allows it, one has half the bytes: a table that fits a cache by that
 * is looked up several times as fast. */
struct rql_map_entry {
	uint64_t word;  /* of its key: rql_map_word */
	uint32_t found; /* payload + 1; 0: an empty place */
	uint32_t zero;
};
struct rql_map_narrow {
	uint32_t word, found;
};

#define RQL_MAP_LISTED 4096u
/* Of a map so many bytes stay in a GPU's cache beside what streams by (an H100 has 50 MB). */
#define RQL_MAP_CACHED_BYTES (UINT64_C(24) << 20)

struct rql_map {
	uint64_t entries, bytes;
	uint64_t offered; /* keys that it was made from, those without an entry too */
	uint32_t payloads;
	bool dense;
	/* Dense: places [0, span) belong to the keys least, least + 1, ... Whether a key is there is one bit, so that tests
	 * stay within the first-level cache as long as possible; its payload + 1 takes 1, 2 or 4 bytes, or (width 0, of a
	 * set) is that bit. */
	int64_t least;
	uint32_t span; /* at most 2^31; hashed, with narrow entries: as well, but below 2^32 - 1 */
	uint32_t width;
	uint32_t *bits;
	void *found;
	/* Hashed: open addressing, at most half full; `width` is an entry's bytes. Up to RQL_MAP_LISTED keys lie once more in
	 * their order. */
	int64_t greatest;
	int64_t *listed; /* [entries]; NULL: they are more */
	uint64_t capacity; /* a power of 2 */
	void *table; /* struct rql_map_narrow[capacity], or struct rql_map_entry[capacity] */
	void (*_Atomic gone)(const void *map); /* rql_map_watch's, or NULL */
};

static inline bool rql_map_is_narrow(const struct rql_map *map)
{
	return map->width == sizeof(struct rql_map_narrow);
}

/* A key in a hash table: its distance from the least one, plus 1, so that none is 0 where entries are narrow. */
static inline uint64_t rql_map_word(const struct rql_map *map, int64_t key)
{
	return (uint64_t)key - (uint64_t)map->least + 1;
}

static inline int64_t rql_map_key_of(const struct rql_map *map, uint64_t word)
{
	return (int64_t)(word + (uint64_t)map->least - 1);
}

static inline uint64_t rql_map_home(const struct rql_map *map, uint64_t word)
{
	uint64_t hash = word * UINT64_C(0x9e3779b97f4a7c15);
	return (hash ^ hash >> 32) & (map->capacity - 1);
}

/* Entry `at` of a table. Inner loops know whether it is narrow when they are compiled. */
static inline struct rql_map_entry rql_map_entry_at(const void *table, bool narrow, uint64_t at)
{
	if (!narrow)
		return ((const struct rql_map_entry *)table)[at];
	const struct rql_map_narrow entry = ((const struct rql_map_narrow *)table)[at];
	return (struct rql_map_entry){.word = entry.word, .found = entry.found};
}

static inline void rql_map_put_entry(void *table, bool narrow, uint64_t at, struct rql_map_entry entry)
{
	if (narrow)
		((struct rql_map_narrow *)table)[at] = (struct rql_map_narrow){(uint32_t)entry.word, entry.found};
	else
		((struct rql_map_entry *)table)[at] = entry;
}

/* payload + 1; 0: no entry. Hashed maps only. The words of keys beyond a narrow one's range are no entry's. */
static inline uint32_t rql_map_probe(const struct rql_map *map, bool narrow, int64_t key)
{
	const uint64_t word = rql_map_word(map, key);
	for (uint64_t at = rql_map_home(map, word);; at = (at + 1) & (map->capacity - 1)) {
		const struct rql_map_entry entry = rql_map_entry_at(map->table, narrow, at);
		if (!entry.found || entry.word == word)
			return entry.found;
	}
}

/* payload + 1 of place `at` < span. Dense maps only. */
static inline uint32_t rql_map_place(const struct rql_map *map, uint64_t at)
{
	return map->width == 1   ? ((const uint8_t *)map->found)[at]
	       : map->width == 2 ? ((const uint16_t *)map->found)[at]
	       : map->width == 4 ? ((const uint32_t *)map->found)[at]
	                         : map->bits[at / 32] >> at % 32 & 1;
}

/* payload + 1 of any key; 0: no entry. */
static inline uint32_t rql_map_get(const struct rql_map *map, int64_t key)
{
	if (!map->dense)
		return rql_map_probe(map, rql_map_is_narrow(map), key);
	uint64_t at = (uint64_t)key - (uint64_t)map->least;
	return at < map->span ? rql_map_place(map, at) : 0;
}

#endif
