/* Maps of dimensions that the plans of a database share. */
#include "plan/map_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"

#define MOST_MAPS 256u

struct entry {
	struct entry *next; /* used before */
	char *text;
	uint64_t hash, bytes;
	uint64_t session, own; /* whose it is; 0: everybody's */
	struct rql_kept_map *map;
	uint32_t table_count;
	struct rql_table **tables; /* behind versions */
	uint64_t versions[];
};
struct rql_map_cache {
	pthread_mutex_t lock;
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
	rql_batch_release(map->batch);
	free(map);
}

static uint64_t batch_bytes(const struct rql_batch *batch)
{
	uint64_t bytes = 0;
	for (uint32_t c = 0; c < batch->column_count; c++) {
		const struct rql_column *column = &batch->columns[c];
		const struct rql_string *strings = column->data;
		bytes += batch->rows * rql_type_bytes(column->type);
		bool texts = column->type.id == RQL_TYPE_VARCHAR || column->type.id == RQL_TYPE_BLOB;
		for (uint64_t r = 0; r < batch->rows && texts; r++)
			bytes += strings[r].length > RQL_STRING_INLINE && rql_column_valid(column, r) ? strings[r].length : 0;
	}
	return bytes;
}

void rql_kept_map_take(struct rql_kept_map *map, struct rql_batch *batch)
{
	map->batch = batch;
	map->batch_bytes = batch_bytes(batch);
}

uint64_t rql_kept_map_bytes(const struct rql_kept_map *map)
{
	return rql_arena_bytes(map->arena) + map->batch_bytes + (map->dim.map ? rql_map_bytes(map->dim.map) : 0);
}

/* ---- the cache ---- */

struct rql_map_cache *rql_map_cache_new(void)
{
	struct rql_map_cache *cache = calloc(1, sizeof *cache);
	if (cache && pthread_mutex_init(&cache->lock, NULL) != 0) {
		free(cache);
		return NULL;
	}
	return cache;
}

static void drop(struct entry **at)
{
	struct entry *e = *at;
	*at = e->next;
	rql_kept_map_release(e->map);
	free(e->text);
	free(e);
}

void rql_map_cache_free(struct rql_map_cache *cache)
{
	if (!cache)
		return;
	while (cache->first)
		drop(&cache->first);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

/* Versions only grow: what has moved is never right again. */
static bool has_moved(const struct entry *e, const struct rql_catalog *catalog)
{
	bool moved = false;
	for (uint32_t i = 0; i < e->table_count && !moved; i++)
		moved = rql_table_version(catalog, e->tables[i]) != e->versions[i];
	return moved;
}

static bool is_current(const struct entry *e, const struct rql_catalog *catalog)
{
	bool written = false;
	for (uint32_t i = 0; i < e->table_count && !written; i++)
		written = rql_table_being_written(catalog, e->tables[i]);
	return !written && !has_moved(e, catalog);
}

/* Brings the cache up to these epochs; false: they are older than the cache's. The counters only grow. The catalog moves
 * its counter of structures before it lets one go, so that no dictionary lies where another one did. Locked. */
static bool stands(struct rql_map_cache *cache, const struct rql_catalog *catalog, const struct rql_map_epochs *now)
{
	const struct rql_map_epochs *old = &cache->epochs;
	if (now->structures < old->structures || now->schema < old->schema || now->settings < old->settings)
		return false;
	if (now->structures > old->structures || now->schema > old->schema || now->settings > old->settings)
		while (cache->first)
			drop(&cache->first);
	cache->epochs = *now;
	return rql_catalog_structure_epoch(catalog) == now->structures;
}

/* Of everybody, or of this connection in this state. */
static uint64_t owner_of(const struct rql_map_epochs *epochs, bool temporary)
{
	return temporary || epochs->own ? epochs->session : 0;
}

static struct entry *find(struct rql_map_cache *cache, const struct rql_catalog *catalog,
                          const struct rql_map_epochs *epochs, const char *text, bool temporary)
{
	const uint64_t hash = rql_hash_text(RQL_HASH_START, text), session = owner_of(epochs, temporary);
	const uint64_t own = session ? epochs->own : 0;
	for (struct entry **at = &cache->first; *at; at = &(*at)->next) {
		struct entry *e = *at;
		if (e->hash != hash || e->session != session || e->own != own || strcmp(e->text, text) != 0)
			continue;
		if (!is_current(e, catalog))
			return NULL;
		*at = e->next;
		e->next = cache->first;
		cache->first = e;
		return e;
	}
	return NULL;
}

struct rql_kept_map *rql_map_cache_find(struct rql_map_cache *cache, const struct rql_catalog *catalog,
                                        const struct rql_map_epochs *epochs, const char *text, bool temporary)
{
	pthread_mutex_lock(&cache->lock);
	const struct entry *e =
		stands(cache, catalog, epochs) ? find(cache, catalog, epochs, text, temporary) : NULL;
	struct rql_kept_map *map = e ? rql_kept_map_retain(e->map) : NULL;
	pthread_mutex_unlock(&cache->lock);
	return map;
}

/* What has moved goes, and what was used longest ago. */
static void make_room(struct rql_map_cache *cache, const struct rql_catalog *catalog, uint64_t most)
{
	uint64_t bytes = 0;
	uint32_t count = 0;
	for (struct entry **at = &cache->first; *at;) {
		const uint64_t with = bytes + (*at)->bytes;
		if (has_moved(*at, catalog) || count == MOST_MAPS || with > most) {
			drop(at);
			continue;
		}
		bytes = with;
		count++;
		at = &(*at)->next;
	}
}

/* NULL: there is no memory for it. */
static struct entry *new_entry(const char *text, const struct rql_map_origin *origin, struct rql_kept_map *map)
{
	const uint32_t count = origin->table_count;
	struct entry *e = calloc(1, sizeof *e + count * (sizeof *e->versions + sizeof(void *)));
	if (!e || !(e->text = strdup(text))) {
		free(e);
		return NULL;
	}
	e->hash = rql_hash_text(RQL_HASH_START, text);
	e->bytes = rql_kept_map_bytes(map) + strlen(text);
	e->map = rql_kept_map_retain(map);
	e->table_count = count;
	e->tables = (struct rql_table **)(e->versions + count);
	return e;
}

/* The tables as they are; false: one has moved since they were read. */
static bool take_versions(struct entry *e, const struct rql_catalog *catalog, const struct rql_map_origin *origin)
{
	bool still = true;
	for (uint32_t i = 0; i < origin->table_count; i++) {
		e->tables[i] = origin->tables[i];
		e->versions[i] = rql_table_version(catalog, e->tables[i]);
		still = still && !rql_table_being_written(catalog, e->tables[i]) &&
		        rql_table_moved(catalog, e->tables[i]) <= origin->stamp;
	}
	return still;
}

void rql_map_cache_put(struct rql_map_cache *cache, const struct rql_catalog *catalog,
                       const struct rql_map_epochs *epochs, const char *text, const struct rql_map_origin *origin,
                       uint64_t most, struct rql_kept_map *map)
{
	struct entry *e = new_entry(text, origin, map);
	if (!e)
		return;
	e->session = owner_of(epochs, origin->temporary);
	e->own = e->session ? epochs->own : 0;
	pthread_mutex_lock(&cache->lock);
	bool good = stands(cache, catalog, epochs) && take_versions(e, catalog, origin);
	/* Another connection may have made the same meanwhile: one of them is used, the other grows old. */
	e->next = cache->first;
	cache->first = e;
	if (good)
		make_room(cache, catalog, most);
	else
		drop(&cache->first);
	pthread_mutex_unlock(&cache->lock);
}

void rql_map_cache_leave(struct rql_map_cache *cache, uint64_t session)
{
	pthread_mutex_lock(&cache->lock);
	for (struct entry **at = &cache->first; *at;) {
		if ((*at)->session == session)
			drop(at);
		else
			at = &(*at)->next;
	}
	pthread_mutex_unlock(&cache->lock);
}

void rql_map_cache_each(struct rql_map_cache *cache, const struct rql_catalog *catalog,
                        const struct rql_map_epochs *now, void (*see)(void *state, const struct rql_map_seen *map),
                        void *state)
{
	pthread_mutex_lock(&cache->lock);
	const struct rql_map_epochs *old = &cache->epochs;
	const bool same =
		old->structures == now->structures && old->schema == now->schema && old->settings == now->settings;
	for (const struct entry *e = cache->first; e; e = e->next)
		see(state, &(struct rql_map_seen){.map = e->map,
		                                  .tables = e->tables,
		                                  .table_count = e->table_count,
		                                  .bytes = e->bytes,
		                                  .current = same && is_current(e, catalog)});
	pthread_mutex_unlock(&cache->lock);
}
