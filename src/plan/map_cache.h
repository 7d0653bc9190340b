/* Maps of dimensions as structures: a map depends on the rows of its tables, on the conditions, key and outputs that it was
 * made of, and on how the fact table's column holds the key, and plans that agree in these share it, whichever connection
 * makes them. A map goes when one of its tables moves, when a structure, the schema or a setting changes, or when others
 * were used since and there is no room for all. */
#ifndef RQL_PLAN_MAP_CACHE_H
#define RQL_PLAN_MAP_CACHE_H

#include "plan/star/scan_dim.h"

/* A map and the values of its payloads, or why there is none; counted by reference. */
struct rql_kept_map {
	_Atomic uint32_t references;
	struct rql_arena *arena; /* of dim's values, or */
	struct rql_batch *batch; /* ... they are columns of these rows; NULL */
	uint64_t batch_bytes;
	struct rql_scan_dim dim; /* its map is owned; NULL: it cannot be made, because of: */
	const char *refusal;
	bool twice; /* a key comes twice */
};
struct rql_kept_map *rql_kept_map_new(void); /* one reference; NULL: out of memory */
void rql_kept_map_take(struct rql_kept_map *map, struct rql_batch *batch); /* the rows are the map's now */
struct rql_kept_map *rql_kept_map_retain(struct rql_kept_map *map);
void rql_kept_map_release(struct rql_kept_map *map); /* NULL accepted */
uint64_t rql_kept_map_bytes(const struct rql_kept_map *map);

struct rql_map_cache; /* of a database; any thread may use it */
struct rql_map_cache *rql_map_cache_new(void);        /* NULL: out of memory */
void rql_map_cache_free(struct rql_map_cache *cache); /* NULL accepted */

/* What a plan was made under. Maps of older structures, schema or settings are worthless, and so is what is made under
 * older ones than the cache has seen. Some maps name a dictionary by its address, which is its own only as long as no
 * structure has changed: so nothing is found or kept either once `structures` is no longer the catalog's.
 * Connections share maps as long as they are alike: what has settings, variables or temporary tables of its own in it is
 * found by the connection that made it alone, and in the same state. */
struct rql_map_epochs {
	uint64_t structures, schema, settings;
	uint64_t session; /* the connection's number: never 0, never used again */
	uint64_t own;     /* moves with its settings and variables; 0: it has none of its own */
};

/* text: all that the map depends on but its tables' rows. temporary: some of these are. A reference, or NULL. */
struct rql_kept_map *rql_map_cache_find(struct rql_map_cache *cache, const struct rql_catalog *catalog,
                                        const struct rql_map_epochs *epochs, const char *text, bool temporary);
/* tables: all that it was made of; stamp: the catalog's before they were read. Nothing is kept when one has moved since, or
 * when there is no memory for it. most: bytes of all maps. */
struct rql_map_origin {
	struct rql_table *const *tables;
	uint32_t table_count;
	bool temporary;
	uint64_t stamp;
};
void rql_map_cache_put(struct rql_map_cache *cache, const struct rql_catalog *catalog,
                       const struct rql_map_epochs *epochs, const char *text, const struct rql_map_origin *origin,
                       uint64_t most, struct rql_kept_map *map);
/* The connection is closed: its own maps go. */
void rql_map_cache_leave(struct rql_map_cache *cache, uint64_t session);

/* What is kept, the last one used first. */
struct rql_map_seen {
	const struct rql_kept_map *map;
	struct rql_table *const *tables;
	uint32_t table_count;
	uint64_t bytes;
	bool current; /* else a table, a structure, the schema or a setting has moved */
};
/* now: structures, schema and settings count. */
void rql_map_cache_each(struct rql_map_cache *cache, const struct rql_catalog *catalog,
                        const struct rql_map_epochs *now, void (*see)(void *state, const struct rql_map_seen *map), void *state);

#endif
