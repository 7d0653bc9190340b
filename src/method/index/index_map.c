/* What both forms of maps share: rows in the order of their keys, from which each is made. */
#include "method/index/index_map.h"

#include <string.h>

#define DIGITS 256u

/* Stable, by eight bits from `shift` on. */
static void sort_by(const struct rql_index_pair *from, struct rql_index_pair *to, uint32_t count, unsigned shift)
{
	uint32_t starts[DIGITS] = {0}, sum = 0;
	for (uint32_t i = 0; i < count; i++)
		starts[from[i].key >> shift & (DIGITS - 1)]++;
	for (uint32_t d = 0; d < DIGITS; d++) {
		uint32_t n = starts[d];
		starts[d] = sum;
		sum += n;
	}
	for (uint32_t i = 0; i < count; i++)
		to[starts[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

/* By key, equal ones as they came; the result is in one of the two. */
static struct rql_index_pair *sort_pairs(struct rql_index_pair *pairs, struct rql_index_pair *spare, uint32_t count,
                                         uint64_t greatest)
{
	for (unsigned shift = 0; shift < 64 && greatest >> shift; shift += 8) {
		struct rql_index_pair *sorted = spare;
		sort_by(pairs, sorted, count, shift);
		spare = pairs;
		pairs = sorted;
	}
	return pairs;
}

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
	const struct rql_index_pair *sorted = sort_pairs(pairs, spare, count, map.greatest);
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
