/* What both forms of maps share: rows in the order of their keys, from which each is made. */
#include "method/index/index_map.h"

#include "util/sort.h"

rql_status rql_index_map_make(enum rql_index_form form, struct rql_index_pair *pairs, struct rql_index_pair *spare,
                              uint32_t count, struct rql_budget *budget, struct rql_index_map *out,
                              struct rql_error *err)
{
	struct rql_index_map map = {.form = form, .count = count};
	for (uint32_t i = 0; i < count; i++)
		map.greatest = pairs[i].key > map.greatest ? pairs[i].key : map.greatest;
	map.narrow = map.greatest <= UINT32_MAX;
	*out = map;
	rql_mem_init(&out->mem, budget, "an index");
	const struct rql_index_pair *sorted =
		rql_sort_keyed(pairs, spare, count, sizeof *pairs, offsetof(struct rql_index_pair, key));
	rql_status status =
		form == RQL_INDEX_HASH ? rql_index_hash_make(out, sorted, err) : rql_index_sorted_make(out, sorted, err);
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
	return rql_index_sorted_find(map, least, greatest < map->greatest ? greatest : map->greatest, rows);
}
