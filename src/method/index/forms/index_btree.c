/* The form of a B+ tree that is made once: nodes of one cache line each, 16 keys of 32 bits or 8 of 64, that lie level
 * by level without pointers, since child c of node n is node n * (keys + 1) + c of the level below. The lowest level is
 * the sorted keys themselves. A look-up reads a line a level, which is log to the base of 17 (9) of the rows, and
 * compares all keys of a node at once. 8.3 bytes a row, 13.2 where keys have 64 bits. */
#include <string.h>
#include "method/index/forms/index_map.h"

#define LINE 64u

static uint32_t keys_of_node(const struct rql_index_map *map)
{
	return LINE / (map->narrow ? sizeof(uint32_t) : sizeof(uint64_t));
}

/* Keys of a node that are below this one; they ascend. Whole lines, so that the loops become a few instructions. */
static uint32_t below32(const uint32_t *keys, uint32_t key)
{
	uint32_t n = 0;
	for (unsigned i = 0; i < LINE / sizeof *keys; i++)
		n += keys[i] < key;
	return n;
}

static uint32_t below64(const uint64_t *keys, uint64_t key)
{
	uint64_t n = 0;
	for (unsigned i = 0; i < LINE / sizeof *keys; i++)
		n += keys[i] < key;
	return (uint32_t)n;
}

static uint32_t below(const struct rql_index_map *map, const void *level, uint64_t node, uint64_t key)
{
	const uint8_t *at = (const uint8_t *)level + node * LINE;
	return map->narrow ? below32((const uint32_t *)at, (uint32_t)key) : below64((const uint64_t *)at, key);
}

/* ---- making ---- */

static void set_key(const struct rql_index_map *map, void *level, uint64_t at, uint64_t key)
{
	if (map->narrow)
		((uint32_t *)level)[at] = (uint32_t)key;
	else
		((uint64_t *)level)[at] = key;
}

/* A level above one of `nodes` nodes whose subtrees have `leaves` nodes of the lowest level each. Key c of a node is the
 * least below its child c + 1; where there is no such child, no key is above it. */
static void fill_level(const struct rql_index_map *map, void *level, uint64_t count, uint64_t leaves)
{
	const uint32_t keys = keys_of_node(map);
	for (uint64_t node = 0; node < count; node++)
		for (uint32_t c = 0; c < keys; c++) {
			const uint64_t first = (node * (keys + 1) + c + 1) * leaves * keys;
			set_key(map, level, node * keys + c, first < map->count ? rql_index_key(map, (uint32_t)first) : UINT64_MAX);
		}
}

static uint64_t nodes_above(const struct rql_index_map *map, uint64_t nodes)
{
	return (nodes + keys_of_node(map)) / (keys_of_node(map) + 1);
}

static uint64_t leaves_of(const struct rql_index_map *map)
{
	return ((uint64_t)map->count + keys_of_node(map) - 1) / keys_of_node(map);
}

uint64_t rql_index_btree_keys(const struct rql_index_map *map)
{
	return leaves_of(map) * keys_of_node(map);
}

rql_status rql_index_btree_levels(struct rql_index_map *map, struct rql_error *err)
{
	uint64_t below_each = 1;
	map->level_count = 0;
	for (uint64_t nodes = leaves_of(map); nodes > 1; below_each *= keys_of_node(map) + 1) {
		nodes = nodes_above(map, nodes);
		void *level = rql_mem_alloc(&map->mem, nodes, LINE, err);
		if (!level)
			return rql_mem_failure(&map->mem);
		fill_level(map, level, nodes, below_each);
		map->levels[map->level_count++] = level;
	}
	return RQL_OK;
}

rql_status rql_index_btree_make(struct rql_index_map *map, const struct rql_index_pair *pairs, struct rql_error *err)
{
	if (!(map->keys = rql_mem_alloc(&map->mem, leaves_of(map), LINE, err)))
		return rql_mem_failure(&map->mem);
	RQL_TRY(RQL_MEM_ARRAY(&map->mem, map->rows, map->count, err));
	for (uint32_t i = 0; i < map->count; i++) {
		rql_index_set_key(map, i, pairs[i].key);
		map->rows[i] = pairs[i].row;
	}
	for (uint64_t i = map->count; i < rql_index_btree_keys(map); i++)
		set_key(map, map->keys, i, UINT64_MAX);
	return rql_index_btree_levels(map, err);
}

/* Keys ascend up to the greatest, and behind them nodes are filled up. */
bool rql_index_btree_check(const struct rql_index_map *map)
{
	bool good = map->narrow == (map->greatest <= UINT32_MAX);
	for (uint32_t i = 0; i < map->count && good; i++)
		good = rql_index_key(map, i) <= map->greatest && (!i || rql_index_key(map, i - 1) <= rql_index_key(map, i));
	for (uint64_t i = map->count; i < rql_index_btree_keys(map) && good; i++)
		good = rql_index_key(map, (uint32_t)i) == (map->narrow ? UINT32_MAX : UINT64_MAX);
	return good;
}

/* ---- finding ---- */

/* The first row whose key is not below this one. */
static uint32_t bound(const struct rql_index_map *map, uint64_t key)
{
	const uint32_t keys = keys_of_node(map);
	uint64_t node = 0;
	for (uint32_t l = map->level_count; l-- > 0;)
		node = node * (keys + 1) + below(map, map->levels[l], node, key);
	const uint64_t at = node * keys + below(map, map->keys, node, key);
	return at < map->count ? (uint32_t)at : map->count;
}

uint32_t rql_index_btree_find(const struct rql_index_map *map, uint64_t least, uint64_t greatest,
                              const uint32_t **rows)
{
	const uint32_t first = bound(map, least);
	uint32_t n = 0;
	*rows = map->rows + first;
	if (greatest >= map->greatest)
		return map->count - first;
	while (n < 4 && first + n < map->count && rql_index_key(map, first + n) <= greatest) /* keys of few rows end here */
		n++;
	return n < 4 ? n : bound(map, greatest + 1) - first;
}
