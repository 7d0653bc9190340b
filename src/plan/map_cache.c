/* Maps of dimensions that the plans of a connection share. */
#include "plan/map_cache.h"

#include <stdlib.h>
#include <string.h>

#define MOST_MAPS 256u

struct entry {
	struct entry *next; /* used before */
	char *text;
	uint64_t hash, bytes;
	struct rql_kept_map *map;
	uint32_t table_count;
	struct {
		struct rql_table *table;
		uint64_t version;
	} tables[];
};
struct rql_map_cache {
	struct entry *first; /* the last one used */
	struct rql_map_epochs epochs;
};

/* ---- maps ---- */

struct rql_kept_map *rql_kept_map_new(void)
{
	struct rql_kept_map *map = calloc(1, sizeof *map);
	if (map && !(map->arena = rql_arena_new())) {
		free(map);
		return NULL;
	}
	if (map)
		map->references = 1;
	return map;
}

struct rql_kept_map *rql_kept_map_retain(struct rql_kept_map *map)
{
	atomic_fetch_add(&map->references, 1);
	return map;
}

void rql_kept_map_release(struct rql_kept_map *map)
{
	if (!map || atomic_fetch_sub(&map->references, 1) != 1)
		return;
	rql_map_free(map->dim.map);
	rql_arena_free(map->arena);
	free(map);
}

uint64_t rql_kept_map_bytes(const struct rql_kept_map *map)
{
	return rql_arena_bytes(map->arena) + (map->dim.map ? rql_map_bytes(map->dim.map) : 0);
}

/* ---- the cache ---- */

struct rql_map_cache *rql_map_cache_new(void)
{
	return calloc(1, sizeof(struct rql_map_cache));
}

static void free_entry(struct entry *e)
{
	rql_kept_map_release(e->map);
	free(e->text);
	free(e);
}

static void clear(struct rql_map_cache *cache)
{
	while (cache->first) {
		struct entry *next = cache->first->next;
		free_entry(cache->first);
		cache->first = next;
	}
}

void rql_map_cache_free(struct rql_map_cache *cache)
{
	if (cache)
		clear(cache);
	free(cache);
}

void rql_map_cache_begin(struct rql_map_cache *cache, const struct rql_map_epochs *epochs)
{
	const struct rql_map_epochs *old = &cache->epochs;
	if (old->structures != epochs->structures || old->schema != epochs->schema || old->session != epochs->session ||
	    old->settings != epochs->settings)
		clear(cache);
	cache->epochs = *epochs;
}

static uint64_t hash_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash;
}

static bool is_current(const struct entry *e, const struct rql_catalog *catalog)
{
	bool current = true;
	for (uint32_t i = 0; i < e->table_count && current; i++)
		current = !rql_table_being_written(catalog, e->tables[i].table) &&
		          rql_table_version(catalog, e->tables[i].table) == e->tables[i].version;
	return current;
}

/* The catalog moves its counter before it lets a structure go, so that no dictionary lies where another one did. */
static bool structures_stand(const struct rql_map_cache *cache, const struct rql_catalog *catalog)
{
	return rql_catalog_structure_epoch(catalog) == cache->epochs.structures;
}

struct rql_kept_map *rql_map_cache_find(struct rql_map_cache *cache, const struct rql_catalog *catalog, const char *text)
{
	uint64_t hash = hash_of(text);
	if (!structures_stand(cache, catalog))
		return NULL;
	for (struct entry **at = &cache->first; *at; at = &(*at)->next) {
		struct entry *e = *at;
		if (e->hash != hash || strcmp(e->text, text) != 0)
			continue;
		*at = e->next;
		if (!is_current(e, catalog)) {
			free_entry(e);
			return NULL;
		}
		e->next = cache->first;
		cache->first = e;
		return rql_kept_map_retain(e->map);
	}
	return NULL;
}

/* What was used longest ago goes. */
static void make_room(struct rql_map_cache *cache, uint64_t most)
{
	uint64_t bytes = 0;
	uint32_t count = 0;
	for (struct entry **at = &cache->first; *at;) {
		struct entry *e = *at;
		bytes += e->bytes;
		if (++count <= MOST_MAPS && bytes <= most) {
			at = &e->next;
			continue;
		}
		*at = e->next;
		free_entry(e);
	}
}

void rql_map_cache_put(struct rql_map_cache *cache, const struct rql_catalog *catalog, const char *text,
                       struct rql_table *const *tables, uint32_t table_count, uint64_t stamp, uint64_t most,
                       struct rql_kept_map *map)
{
	struct entry *e = calloc(1, sizeof *e + table_count * sizeof *e->tables);
	if (!e || !(e->text = strdup(text))) {
		free(e);
		return;
	}
	e->hash = hash_of(text);
	e->bytes = rql_kept_map_bytes(map) + strlen(text);
	e->map = rql_kept_map_retain(map);
	e->table_count = table_count;
	bool moved = !structures_stand(cache, catalog);
	for (uint32_t i = 0; i < table_count; i++) {
		e->tables[i].table = tables[i];
		e->tables[i].version = rql_table_version(catalog, tables[i]);
		moved |= rql_table_being_written(catalog, tables[i]) || rql_table_moved(catalog, tables[i]) > stamp;
	}
	if (moved) {
		free_entry(e);
		return;
	}
	e->next = cache->first;
	cache->first = e;
	make_room(cache, most);
}
