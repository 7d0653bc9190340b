/* What the forms of maps share: making one of pairs, finding in it. */
#include "method/index/forms/index_map.h"

static rql_status make(struct rql_index_map *map, struct rql_index_pair *pairs, struct rql_index_pair *spare,
                       struct rql_pool *pool, struct rql_error *err)
{
	if (map->form == RQL_INDEX_DIRECT)
		return rql_index_direct_make(map, pairs, err);
	const struct rql_index_pair *sorted = rql_index_pairs_sort(pairs, spare, map->count, map->greatest, pool);
	return map->form == RQL_INDEX_HASH    ? rql_index_hash_make(map, sorted, err)
	       : map->form == RQL_INDEX_BTREE ? rql_index_btree_make(map, sorted, err)
	                                      : rql_index_sorted_make(map, sorted, err);
}

rql_status rql_index_map_make(enum rql_index_form form, struct rql_index_pair *pairs, struct rql_index_pair *spare,
                              uint32_t count, struct rql_pool *pool, struct rql_budget *budget,
                              struct rql_index_map *out, struct rql_error *err)
{
	struct rql_index_map map = {.form = form, .count = count};
	for (uint32_t i = 0; i < count; i++)
		map.greatest = pairs[i].key > map.greatest ? pairs[i].key : map.greatest;
	map.narrow = map.greatest <= UINT32_MAX;
	*out = map;
	rql_mem_init(&out->mem, budget, "an index");
	rql_status status = make(out, pairs, spare, pool, err);
	if (status != RQL_OK)
		rql_index_map_clear(out);
	return status;
}

void rql_index_map_clear(struct rql_index_map *map)
{
	rql_mem_clear(&map->mem);
	map->count = 0;
}

uint32_t rql_index_map_find(const struct rql_index_map *map, uint64_t least, uint64_t greatest, const uint32_t **rows)
{
	if (!map->count || least > greatest || least > map->greatest)
		return 0;
	if (map->form == RQL_INDEX_HASH)
		return rql_index_hash_find(map, least, rows);
	greatest = greatest < map->greatest ? greatest : map->greatest;
	return map->form == RQL_INDEX_DIRECT  ? rql_index_direct_find(map, least, greatest, rows)
	       : map->form == RQL_INDEX_BTREE ? rql_index_btree_find(map, least, greatest, rows)
	                                      : rql_index_sorted_find(map, least, greatest, rows);
}

void rql_index_map_fetch(const struct rql_index_map *map, uint64_t key)
{
	if (!map->count || key > map->greatest || map->form == RQL_INDEX_BTREE)
		return;
	if (map->form == RQL_INDEX_HASH) {
		const uint32_t slot = rql_index_hash_first(map, key);
		__builtin_prefetch(&map->table[slot]);
		__builtin_prefetch((const char *)map->keys + (size_t)slot * (map->narrow ? 4 : 8));
	} else if (map->form == RQL_INDEX_SORTED) {
		__builtin_prefetch(&map->table[key >> map->shift]);
	} else {
		__builtin_prefetch(map->table ? &map->table[key] : &map->rows[key]);
	}
}

/* Entries of the table of SORTED and DIRECT: ascending places among the rows. */
static bool table_ascends(const struct rql_index_map *map, uint64_t entries)
{
	bool good = map->table[0] == 0 && map->table[entries - 1] == map->count;
	for (uint64_t e = 1; e < entries && good; e++)
		good = map->table[e - 1] <= map->table[e];
	return good;
}

bool rql_index_map_check(const struct rql_index_map *map)
{
	if (map->form == RQL_INDEX_HASH)
		return rql_index_hash_check(map);
	if (map->form == RQL_INDEX_BTREE)
		return rql_index_btree_check(map);
	if (map->form == RQL_INDEX_DIRECT && !map->table)
		return !map->count || map->greatest == map->count - UINT64_C(1);
	if (map->form == RQL_INDEX_DIRECT)
		return table_ascends(map, map->greatest + 2);
	bool good = table_ascends(map, (map->greatest >> map->shift) + 2);
	for (uint32_t i = 0; i < map->count && good; i++)
		good = rql_index_key(map, i) <= map->greatest && (!i || rql_index_key(map, i - 1) <= rql_index_key(map, i));
	return good;
}
