/* Maps of dimensions as structures: a map depends on the rows of its tables, on the conditions, key and outputs that it was
 * made of, and on how the fact table's column holds the key, and plans of a connection that agree in these share it. A map
 * goes when one of its tables moves, when a structure, the schema or a setting changes, or when others were used since and
 * there is no room for all. */
#ifndef RQL_PLAN_MAP_CACHE_H
#define RQL_PLAN_MAP_CACHE_H

#include "plan/scan_dim.h"

/* A map and the values of its payloads, or why there is none; counted by reference. */
struct rql_kept_map {
	_Atomic uint32_t references;
	struct rql_arena *arena; /* of dim's values */
	struct rql_scan_dim dim; /* its map is owned; NULL: it cannot be made, because of: */
	const char *refusal;
	bool twice; /* a key comes twice */
};
struct rql_kept_map *rql_kept_map_new(void); /* one reference; NULL: out of memory */
struct rql_kept_map *rql_kept_map_retain(struct rql_kept_map *map);
void rql_kept_map_release(struct rql_kept_map *map); /* NULL accepted */
uint64_t rql_kept_map_bytes(const struct rql_kept_map *map);

struct rql_map_cache; /* of one connection, used by one thread at a time */
struct rql_map_cache *rql_map_cache_new(void);   /* NULL: out of memory */
void rql_map_cache_free(struct rql_map_cache *cache); /* NULL accepted */
/* Before each planning: when one of these counters has moved, all maps are worthless. Some name a dictionary by its address,
 * which is its own only as long as no structure has changed: so nothing is found or kept either once `structures` is no
 * longer the catalog's. */
struct rql_map_epochs {
	uint64_t structures, schema, session, settings;
};
void rql_map_cache_begin(struct rql_map_cache *cache, const struct rql_map_epochs *epochs);

/* text: all that the map depends on but its tables' rows. A reference, or NULL. */
struct rql_kept_map *rql_map_cache_find(struct rql_map_cache *cache, const struct rql_catalog *catalog, const char *text);
/* tables: all that it was made of; stamp: the catalog's before they were read. Nothing is kept when one has moved since, or
 * when there is no memory for it. most: bytes of all maps. */
void rql_map_cache_put(struct rql_map_cache *cache, const struct rql_catalog *catalog, const char *text,
                       struct rql_table *const *tables, uint32_t table_count, uint64_t stamp, uint64_t most,
                       struct rql_kept_map *map);

#endif
