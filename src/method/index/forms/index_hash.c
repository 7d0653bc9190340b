/* The hashed form: open addressing with linear probing, three quarters full. A slot has a key and a reference: the row
 * itself where the key has one, else the place of its list among `rows`, where the number of rows comes first. So unique
 * keys take 10.7 bytes each, 16 where they have 64 bits, and rows of a key stand one behind another. */
#include "method/index/forms/index_map.h"

#define EMPTY UINT32_MAX
#define LIST (UINT32_C(1) << 31)

static uint32_t slot_of(const struct rql_index_map *map, uint64_t key)
{
	key *= UINT64_C(0x9e3779b97f4a7c15);
	key = (key ^ key >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return (uint32_t)((rql_uint128)key * map->slots >> 64);
}

static uint32_t next_slot(const struct rql_index_map *map, uint32_t slot)
{
	return slot + 1 < map->slots ? slot + 1 : 0;
}

struct counts {
	uint32_t keys, list; /* list: entries of all lists */
};

/* How many pairs from i on have its key. */
static uint32_t group_at(const struct rql_index_pair *pairs, uint32_t count, uint32_t i)
{
	uint32_t n = 1;
	while (i + n < count && pairs[i + n].key == pairs[i].key)
		n++;
	return n;
}

static struct counts count_groups(const struct rql_index_pair *pairs, uint32_t count)
{
	struct counts counts = {0};
	for (uint32_t i = 0, n; i < count; i += n) {
		n = group_at(pairs, count, i);
		counts.keys++;
		counts.list += n > 1 ? n + 1 : 0;
	}
	return counts;
}

static void put(struct rql_index_map *map, uint64_t key, uint32_t reference)
{
	uint32_t slot = slot_of(map, key);
	while (map->table[slot] != EMPTY)
		slot = next_slot(map, slot);
	rql_index_set_key(map, slot, key);
	map->table[slot] = reference;
}

rql_status rql_index_hash_make(struct rql_index_map *map, const struct rql_index_pair *pairs, struct rql_error *err)
{
	const struct counts counts = count_groups(pairs, map->count);
	map->slots = counts.keys + counts.keys / 3 + 1; /* one is always empty, where a search for nothing ends */
	if (!(map->keys = rql_mem_alloc(&map->mem, map->slots, map->narrow ? 4 : 8, err)))
		return rql_mem_failure(&map->mem);
	RQL_TRY(RQL_MEM_ARRAY(&map->mem, map->table, map->slots, err));
	RQL_TRY(RQL_MEM_ARRAY(&map->mem, map->rows, counts.list, err));
	for (uint32_t s = 0; s < map->slots; s++)
		map->table[s] = EMPTY;
	map->listed = counts.list;
	uint32_t used = 0;
	for (uint32_t i = 0, n; i < map->count; i += n) {
		n = group_at(pairs, map->count, i);
		put(map, pairs[i].key, n > 1 ? LIST | used : pairs[i].row);
		if (n > 1)
			map->rows[used++] = n;
		for (uint32_t k = 0; n > 1 && k < n; k++)
			map->rows[used++] = pairs[i + k].row;
	}
	return RQL_OK;
}

uint32_t rql_index_hash_first(const struct rql_index_map *map, uint64_t key)
{
	return slot_of(map, key);
}

uint32_t rql_index_hash_find(const struct rql_index_map *map, uint64_t key, const uint32_t **rows)
{
	uint32_t slot = slot_of(map, key);
	while (map->table[slot] != EMPTY && rql_index_key(map, slot) != key)
		slot = next_slot(map, slot);
	return rql_index_hash_slot(map, slot, rows);
}

uint32_t rql_index_hash_slot(const struct rql_index_map *map, uint32_t slot, const uint32_t **rows)
{
	const uint32_t reference = map->table[slot];
	if (reference == EMPTY)
		return 0;
	if (!(reference & LIST)) {
		*rows = &map->table[slot];
		return 1;
	}
	*rows = &map->rows[(reference & ~LIST) + 1];
	return map->rows[reference & ~LIST];
}

bool rql_index_hash_check(const struct rql_index_map *map)
{
	uint64_t rows = 0;
	bool ends = false, good = true; /* ends: a search for nothing does */
	for (uint32_t s = 0; s < map->slots && good; s++) {
		const uint32_t reference = map->table[s], at = reference & ~LIST;
		ends = ends || reference == EMPTY;
		if (reference == EMPTY)
			continue;
		good = !(reference & LIST) || (at < map->listed && map->rows[at] < map->listed - at);
		rows += !good ? 0 : reference & LIST ? map->rows[at] : 1;
	}
	return good && ends && rows == map->count;
}
