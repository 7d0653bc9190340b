/* 256 bound statements a session, found by the hash of their shape; the least recently used of a bucket of four goes
 * first. They are small (some kilobytes, none above BYTES_MOST of bind/normal/bound.c), and hold nothing of any table. */
#include "exec/query/bound_cache.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 64u
#define WAYS 4u

struct kept {
	uint64_t hash, used;
	uint64_t schema_epoch, session_epoch, settings_epoch;
	struct rql_bound *bound; /* NULL: free */
	struct rql_columns *columns;
};

struct rql_bound_cache {
	uint64_t clock;
	struct kept kept[BUCKETS][WAYS];
};

struct rql_bound_cache *rql_bound_cache_new(void)
{
	return calloc(1, sizeof(struct rql_bound_cache));
}

static void drop(struct kept *k)
{
	rql_bound_release(k->bound);
	rql_columns_release(k->columns);
	*k = (struct kept){0};
}

void rql_bound_cache_free(struct rql_bound_cache *cache)
{
	if (!cache)
		return;
	for (uint32_t i = 0; i < BUCKETS * WAYS; i++)
		drop(&cache->kept[i / WAYS][i % WAYS]);
	free(cache);
}

static bool is_of(const struct kept *k, const struct rql_cache_entry *now)
{
	return k->schema_epoch == now->schema_epoch && k->session_epoch == now->session_epoch &&
	       k->settings_epoch == now->settings_epoch;
}

typedef bool bound_test(const struct rql_bound *bound, const struct rql_literals *literals);

/* The one that is bound under the epochs of now and fits the literals. */
static struct kept *find(struct rql_bound_cache *cache, const struct rql_cache_entry *now,
                         const struct rql_literals *literals, bound_test *fits)
{
	uint64_t hash = rql_text_hash(literals->shape, literals->shape_length);
	struct kept *bucket = cache->kept[hash % BUCKETS];
	for (uint32_t i = 0; i < WAYS; i++) {
		struct kept *k = &bucket[i];
		if (!k->bound || k->hash != hash || !fits(k->bound, literals))
			continue;
		if (is_of(k, now)) {
			k->used = ++cache->clock;
			return k;
		}
		drop(k);
	}
	return NULL;
}

static bool same_names(const struct rql_columns *a, const struct rql_columns *b)
{
	bool same = a->count == b->count;
	for (uint32_t i = 0; same && i < a->count; i++)
		same = strcmp(a->names[i], b->names[i]) == 0 && rql_type_equal(a->types[i], b->types[i]);
	return same;
}

void rql_bound_cache_put(struct rql_bound_cache *cache, const struct rql_cache_entry *now, const struct rql_binding *b)
{
	if (b->found || !b->bound->reusable)
		return;
	struct kept *k = find(cache, now, &b->bound->literals, rql_bound_is_like);
	if (k && same_names(k->columns, b->columns) && rql_bound_learn(k->bound, b->bound))
		return;
	if (k)
		drop(k);
	uint64_t hash = rql_text_hash(b->bound->literals.shape, b->bound->literals.shape_length);
	struct kept *bucket = cache->kept[hash % BUCKETS], *oldest = bucket;
	for (uint32_t i = 1; i < WAYS; i++)
		if (bucket[i].used < oldest->used)
			oldest = &bucket[i];
	drop(oldest);
	*oldest = (struct kept){.hash = hash,
	                        .used = ++cache->clock,
	                        .schema_epoch = now->schema_epoch,
	                        .session_epoch = now->session_epoch,
	                        .settings_epoch = now->settings_epoch,
	                        .bound = b->bound,
	                        .columns = rql_columns_retain(b->columns)};
	rql_bound_retain(b->bound);
}

/* ---- one statement ---- */

rql_status rql_binding_open(struct rql_binding *b, const char *sql, struct rql_error *err)
{
	*b = (struct rql_binding){.arena = rql_arena_new()};
	if (!b->arena)
		return rql_error_memory(err, strlen(sql), "a plan");
	b->readable = rql_literals_read(b->arena, sql, &b->literals);
	return RQL_OK;
}

static void let_go(struct rql_binding *b)
{
	rql_bound_release(b->bound);
	rql_columns_release(b->columns);
	b->bound = NULL;
	b->columns = NULL;
}

void rql_binding_close(struct rql_binding *b)
{
	let_go(b);
	rql_arena_free(b->arena);
	b->arena = NULL;
}

rql_status rql_binding_get(const struct rql_session *s, const struct rql_plan_context *ctx, const char *sql,
                           const struct rql_cache_entry *now, struct rql_binding *b, struct rql_error *err)
{
	let_go(b);
	/* A transaction's own changes of the schema have no epoch yet. */
	struct kept *k = b->readable && !s->txn.open ? find(s->bounds, now, &b->literals, rql_bound_serves) : NULL;
	b->found = k != NULL;
	if (!k)
		return rql_bound_make(ctx, sql, &b->bound, err);
	b->bound = k->bound;
	rql_bound_retain(b->bound);
	b->columns = rql_columns_retain(k->columns);
	return RQL_OK;
}
