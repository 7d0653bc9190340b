/* What a map is, and its end; map_build.c makes it. */
#include "column/map_layout.h"

#include <stdlib.h>
#include "util/large.h"

void rql_map_free(struct rql_map *map)
{
	if (!map)
		return;
	rql_large_free(map->bits);
	rql_large_free(map->found);
	rql_large_free(map->table);
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
