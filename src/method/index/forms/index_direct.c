/* The direct form, for dense keys: rows in the order of their keys, and for each integer up to the greatest key the
 * first row that is not below it. Nothing is searched: a point or a range is two entries of one table. Where every
 * integer is the key of just one row there is no table: the row of a key stands at its place. So it takes 4 bytes a row,
 * or 4 more an integer. Rows are brought into place by counting, without a sort. */
#include <string.h>
#include "method/index/forms/index_map.h"

#define NO_ROW UINT32_MAX

/* False: some key comes twice. */
static bool place_unique(struct rql_index_map *map, const struct rql_index_pair *pairs)
{
	memset(map->rows, 0xff, (size_t)map->count * sizeof(*map->rows));
	for (uint32_t i = 0; i < map->count; i++) {
		uint32_t *row = &map->rows[pairs[i].key];
		if (*row != NO_ROW)
			return false;
		*row = pairs[i].row;
	}
	return true;
}

/* Counts, from them where each key's rows begin, then the rows; what began has ended by then, one entry further. */
static void place_counted(struct rql_index_map *map, const struct rql_index_pair *pairs)
{
	uint32_t *starts = map->table, sum = 0;
	for (uint32_t i = 0; i < map->count; i++)
		starts[pairs[i].key]++;
	for (uint64_t k = 0; k <= map->greatest; k++) {
		const uint32_t rows = starts[k];
		starts[k] = sum;
		sum += rows;
	}
	for (uint32_t i = 0; i < map->count; i++)
		map->rows[starts[pairs[i].key]++] = pairs[i].row;
	memmove(starts + 1, starts, (size_t)(map->greatest + 1) * sizeof(*starts));
	starts[0] = 0;
}

rql_status rql_index_direct_make(struct rql_index_map *map, const struct rql_index_pair *pairs, struct rql_error *err)
{
	RQL_TRY(RQL_MEM_ARRAY(&map->mem, map->rows, map->count, err));
	if (!map->count || (map->greatest == map->count - 1 && place_unique(map, pairs)))
		return RQL_OK;
	RQL_TRY(RQL_MEM_ZARRAY(&map->mem, map->table, map->greatest + 2, err));
	place_counted(map, pairs);
	return RQL_OK;
}

uint32_t rql_index_direct_find(const struct rql_index_map *map, uint64_t least, uint64_t greatest,
                               const uint32_t **rows)
{
	const uint32_t first = map->table ? map->table[least] : (uint32_t)least;
	*rows = map->rows + first;
	return (map->table ? map->table[greatest + 1] : (uint32_t)greatest + 1) - first;
}
