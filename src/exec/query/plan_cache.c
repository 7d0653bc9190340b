/* Plans by the exact text of their statement: one cache per session, so no lock stands between a statement and its
 * method.
 * 256 entries, the least recently used goes first; their bytes are bounded too. A plan may hold tables of joins and
 * values of dictionaries, which take far longer to make than to read: such plans are worth their memory, and count in
 * rayql_memory_limit as structures do. */
#include "device/compile.h"
#include "exec/exec_internal.h"

#include <stdlib.h>
#include <string.h>

#define CACHE_ENTRIES 256u
#define CACHE_BUCKETS 512u
/* Smaller plans are not worth counting. */
#define COUNTED_BYTES (1u << 20)

struct rql_plan_cache {
	struct rql_cache_entry *buckets[CACHE_BUCKETS];
	struct rql_cache_entry *newest, *oldest;
	uint32_t count;
	uint64_t bytes;
	struct rql_budget *budget;
	uint64_t structure_epoch; /* of the last find: when it moves, plans that hold old structures are dropped */
};

struct rql_plan_cache *rql_plan_cache_new(struct rql_budget *budget)
{
	struct rql_plan_cache *cache = calloc(1, sizeof *cache);
	if (cache)
		cache->budget = budget;
	return cache;
}

void rql_cache_entry_free(struct rql_cache_entry *entry)
{
	if (!entry)
		return;
	rql_plan_free(entry->plan);
	rql_awaited_release(entry->awaited);
	rql_columns_release(entry->columns);
	free(entry->watched);
	free(entry->reason);
	free(entry->text);
	free(entry);
}

uint64_t rql_text_hash(const char *text, size_t length)
{
	uint64_t hash = 0x9e3779b97f4a7c15u ^ length;
	while (length) {
		uint64_t word = 0;
		size_t n = length < 8 ? length : 8;
		memcpy(&word, text, n);
		hash = (hash ^ word) * 0xff51afd7ed558ccdu;
		hash ^= hash >> 32;
		text += n;
		length -= n;
	}
	return hash;
}

static void list_remove(struct rql_plan_cache *cache, struct rql_cache_entry *e)
{
	*(e->newer ? &e->newer->older : &cache->newest) = e->older;
	*(e->older ? &e->older->newer : &cache->oldest) = e->newer;
	e->newer = e->older = NULL;
}

static void list_add(struct rql_plan_cache *cache, struct rql_cache_entry *e)
{
	e->older = cache->newest;
	e->newer = NULL;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = e;
	cache->newest = e;
}

void rql_plan_cache_drop(struct rql_plan_cache *cache, struct rql_cache_entry *e)
{
	struct rql_cache_entry **slot = &cache->buckets[e->hash % CACHE_BUCKETS];
	while (*slot != e)
		slot = &(*slot)->next;
	*slot = e->next;
	list_remove(cache, e);
	cache->count--;
	cache->bytes -= e->bytes;
	if (e->bytes > COUNTED_BYTES)
		rql_budget_release(cache->budget, e->bytes);
	rql_cache_entry_free(e);
}

void rql_plan_cache_clear(struct rql_plan_cache *cache)
{
	while (cache->newest)
		rql_plan_cache_drop(cache, cache->newest);
}

void rql_plan_cache_free(struct rql_plan_cache *cache)
{
	if (!cache)
		return;
	rql_plan_cache_clear(cache);
	free(cache);
}

/* A plan keeps its cube alive: after a rebuild nobody should hold the old one for a text that may never come again. */
static void drop_old_structures(struct rql_plan_cache *cache, uint64_t epoch)
{
	for (struct rql_cache_entry *e = cache->newest, *older; e; e = older) {
		older = e->older;
		if (e->method && e->structure_epoch != epoch)
			rql_plan_cache_drop(cache, e);
	}
	cache->structure_epoch = epoch;
}

bool rql_plan_cache_make_room(struct rql_plan_cache *cache, const struct rql_device *device, const struct rql_plan *but)
{
	bool dropped = false;
	for (struct rql_cache_entry *e = cache->newest, *older; e; e = older) {
		older = e->older;
		if (e->method && e->plan != but && e->plan->device == device) {
			rql_plan_cache_drop(cache, e);
			dropped = true;
		}
	}
	return dropped;
}

bool rql_plan_cache_drop_scan(struct rql_plan_cache *cache, const struct rql_device *device)
{
	struct rql_cache_entry *e = cache->oldest;
	while (e && !(e->method && rql_plan_scans_on(e->plan, device)))
		e = e->newer;
	if (e)
		rql_plan_cache_drop(cache, e);
	return e != NULL;
}

static bool still_right(const struct rql_catalog *catalog, const struct rql_cache_entry *e)
{
	if (!e->method)
		return rql_tables_unmoved(catalog, e->watched, e->watched_count);
	return rql_tables_unmoved(catalog, e->plan->tables, e->plan->table_count) && rql_plan_alive(e->plan);
}

struct rql_cache_entry *rql_plan_cache_find(struct rql_plan_cache *cache, const struct rql_session *s, const char *sql)
{
	uint64_t structures = rql_catalog_structure_epoch(s->db->catalog);
	if (structures != cache->structure_epoch)
		drop_old_structures(cache, structures);
	size_t length = strlen(sql);
	uint64_t hash = rql_text_hash(sql, length);
	struct rql_cache_entry *e = cache->buckets[hash % CACHE_BUCKETS];
	while (e && (e->hash != hash || e->length != length || memcmp(e->text, sql, length) != 0))
		e = e->next;
	if (!e)
		return NULL;
	/* A decision for the host stays right when tables move: structures over them can only get staler, until one is
	 * rebuilt; but for columns, which a plan extends by the rows that were added. */
	if (e->structure_epoch != structures || e->schema_epoch != rql_catalog_schema_epoch(s->db->catalog) ||
	    e->session_epoch != s->epoch || e->settings_epoch != atomic_load(&s->db->settings_epoch) ||
	    !still_right(s->db->catalog, e)) {
		rql_plan_cache_drop(cache, e);
		return NULL;
	}
	if (e != cache->newest) {
		list_remove(cache, e);
		list_add(cache, e);
	}
	return e;
}

/* Drops what was used longest ago until an entry of `bytes` more fits. */
static bool take_room(struct rql_plan_cache *cache, uint64_t bytes)
{
	struct rql_error full = {0};
	uint64_t most = rql_plan_most_bytes(cache->budget);
	bool charged = bytes <= COUNTED_BYTES;
	if (bytes > most)
		return false;
	while (cache->oldest && (cache->count >= CACHE_ENTRIES || cache->bytes + bytes > 2 * most))
		rql_plan_cache_drop(cache, cache->oldest);
	while (!charged && rql_budget_charge(cache->budget, bytes, "a plan", &full) != RQL_OK) {
		rql_error_clear(&full);
		if (!cache->oldest)
			return false;
		rql_plan_cache_drop(cache, cache->oldest);
	}
	return true;
}

bool rql_plan_cache_put(struct rql_plan_cache *cache, const char *sql, struct rql_cache_entry *entry)
{
	size_t length = strlen(sql);
	entry->bytes = sizeof *entry + length + (entry->plan ? rql_plan_bytes(entry->plan) : 0);
	entry->text = strdup(sql);
	if (!entry->text)
		return false;
	entry->length = length;
	entry->hash = rql_text_hash(sql, length);
	for (struct rql_cache_entry *e = cache->buckets[entry->hash % CACHE_BUCKETS]; e; e = e->next) {
		if (e->hash == entry->hash && e->length == length && memcmp(e->text, sql, length) == 0) {
			rql_plan_cache_drop(cache, e);
			break;
		}
	}
	if (!take_room(cache, entry->bytes))
		return false;
	entry->next = cache->buckets[entry->hash % CACHE_BUCKETS];
	cache->buckets[entry->hash % CACHE_BUCKETS] = entry;
	list_add(cache, entry);
	cache->count++;
	cache->bytes += entry->bytes;
	return true;
}
