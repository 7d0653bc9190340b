/* The sorted form: keys and rows ascending, and a table over the keys' top bits that says between which two of them to
 * search. 8 bytes a row and half a byte of table, 12.5 where keys have 64 bits. Keys that crowd into few values of their
 * top bits cost more steps of the binary search, never more than log2 of the rows. */
#include "method/index/forms/index_map.h"

#define ROWS_OF_ENTRY 8u /* of evenly spread keys: they share a line or two */

static unsigned bits_of(uint64_t x)
{
	return x ? 64u - (unsigned)__builtin_clzll(x) : 0;
}

rql_status rql_index_sorted_make(struct rql_index_map *map, const struct rql_index_pair *pairs, struct rql_error *err)
{
	unsigned wanted = bits_of(map->count / ROWS_OF_ENTRY), bits = bits_of(map->greatest);
	map->shift = bits > wanted ? bits - wanted : 0;
	if (map->shift > 63) /* one entry: there are few rows of 64 bits */
		map->shift = 63;
	uint64_t entries = (map->greatest >> map->shift) + 1;
	if (!(map->keys = rql_mem_alloc(&map->mem, map->count, map->narrow ? 4 : 8, err)))
		return rql_mem_failure(&map->mem);
	RQL_TRY(RQL_MEM_ARRAY(&map->mem, map->rows, map->count, err));
	RQL_TRY(RQL_MEM_ARRAY(&map->mem, map->table, entries + 1, err));
	uint64_t next = 0; /* entry of the table */
	for (uint32_t i = 0; i < map->count; i++) {
		rql_index_set_key(map, i, pairs[i].key);
		map->rows[i] = pairs[i].row;
		while (next <= pairs[i].key >> map->shift)
			map->table[next++] = i;
	}
	while (next <= entries)
		map->table[next++] = map->count;
	return RQL_OK;
}

/* The first row whose key is not below (above: not at or below) this one, which is not above the greatest. */
static uint32_t bound(const struct rql_index_map *map, uint64_t key, bool above)
{
	uint32_t low = map->table[key >> map->shift], high = map->table[(key >> map->shift) + 1];
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint64_t k = rql_index_key(map, middle);
		if (k < key || (above && k == key))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t rql_index_sorted_find(const struct rql_index_map *map, uint64_t least, uint64_t greatest,
                               const uint32_t **rows)
{
	uint32_t first = bound(map, least, false);
	*rows = map->rows + first;
	return bound(map, greatest, true) - first;
}
