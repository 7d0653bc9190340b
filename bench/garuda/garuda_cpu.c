/* The rival of group-bys from the host's memory: the CPU alone. Few groups are a table of each thread's own, added up at the
 * end; many are partitions (primitive/host/host_store.h), each of which has its groups in a table in the cache. */
#include "bench/garuda/garuda.h"

#include <stdlib.h>
#include <string.h>

#include "primitive/host/host_store.h"
#include "util/threads.h"

#define FEW 4096u
#define PART_GROUPS 4096u
#define CHUNK_ROWS 65536u

struct table {
	uint64_t mask, used;
	struct entry {
		uint64_t key, count;
		int64_t sum;
	} *entries; /* count 0: none */
};

struct grouping {
	const struct rql_cpu_rows *chunks;
	uint32_t key_bits;
	uint64_t groups, part_groups, pieces; /* pieces: of a chunk */
	struct table *tables;    /* few: of each thread */
	struct rql_host_store *store;
	struct rql_cpu_groups *out;
	_Atomic uint64_t at; /* groups that are out */
	_Atomic bool failed;
};

static bool new_table(struct table *t, uint64_t groups)
{
	uint64_t slots = 16;
	while (slots < 2 * groups)
		slots *= 2;
	*t = (struct table){.mask = slots - 1, .entries = calloc(slots, sizeof(*t->entries))};
	return t->entries;
}

/* Twice as large before it is full. */
static bool grow(struct table *t)
{
	struct table more;
	if (!new_table(&more, t->mask + 1))
		return false;
	for (uint64_t i = 0; i <= t->mask; i++) {
		const struct entry *e = &t->entries[i];
		uint64_t at = e->key * UINT64_C(0x9e3779b97f4a7c15) >> 32 & more.mask;
		while (e->count && more.entries[at].count)
			at = (at + 1) & more.mask;
		if (e->count)
			more.entries[at] = *e;
	}
	more.used = t->used;
	free(t->entries);
	*t = more;
	return true;
}

static inline bool add(struct table *t, uint64_t key, uint64_t count, int64_t sum)
{
	uint64_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> 32 & t->mask;
	while (t->entries[at].count && t->entries[at].key != key)
		at = (at + 1) & t->mask;
	t->used += !t->entries[at].count;
	t->entries[at].key = key;
	t->entries[at].count += count;
	t->entries[at].sum += sum;
	return t->used * 4 <= t->mask * 3 || grow(t);
}

static bool add_rows(struct table *t, uint32_t key_bits, const void *keys, const int32_t *values, uint64_t rows)
{
	bool good = true;
	for (uint64_t i = 0; i < rows && good; i++)
		good = add(t, key_bits == 64 ? ((const uint64_t *)keys)[i] : ((const uint32_t *)keys)[i], 1, values[i]);
	return good;
}

static bool put_out(struct grouping *g, const struct table *t)
{
	uint64_t at = atomic_fetch_add(&g->at, t->used);
	if (at + t->used > g->out->room)
		return false;
	for (uint64_t i = 0; i <= t->mask; i++)
		if (t->entries[i].count) {
			g->out->keys[at] = t->entries[i].key;
			g->out->counts[at] = t->entries[i].count;
			g->out->sums[at++] = t->entries[i].sum;
		}
	return true;
}

static void few_piece(void *state, uint64_t index, unsigned worker)
{
	struct grouping *g = state;
	const struct rql_cpu_rows *c = &g->chunks[index / g->pieces];
	const uint64_t first = index % g->pieces * CHUNK_ROWS, left = c->rows > first ? c->rows - first : 0;
	if (!add_rows(&g->tables[worker], g->key_bits, (const uint8_t *)c->keys + first * g->key_bits / 8, c->values + first,
	              left < CHUNK_ROWS ? left : CHUNK_ROWS))
		atomic_store(&g->failed, true);
}

static void group_part(void *state, uint64_t part, unsigned worker)
{
	struct grouping *g = state;
	struct table table = {.entries = NULL};
	struct rql_error err = {0};
	struct rql_host_rows rows = {.count = rql_host_store_rows(g->store, part)};
	(void)worker;
	rows.keys = malloc(rows.count * g->key_bits / 8 + 1);
	rows.columns[0] = malloc(rows.count * 4 + 1);
	if (!rows.keys || !rows.columns[0] || !new_table(&table, g->part_groups) ||
	    rql_host_store_read(g->store, part, 0, &rows, &err) != RQL_OK ||
	    !add_rows(&table, g->key_bits, rows.keys, rows.columns[0], rows.count) || !put_out(g, &table))
		atomic_store(&g->failed, true);
	rql_host_store_drop(g->store, part);
	rql_error_clear(&err);
	free(table.entries);
	free(rows.keys);
	free(rows.columns[0]);
}

static void group_few(struct grouping *g, struct rql_pool *pool, uint32_t chunk_count)
{
	const unsigned threads = rql_pool_threads(pool);
	bool good = (g->tables = calloc(threads, sizeof(*g->tables)));
	for (unsigned t = 0; t < threads && good; t++)
		good = new_table(&g->tables[t], g->groups);
	if (good)
		rql_pool_each(pool, chunk_count * g->pieces, few_piece, g);
	for (unsigned t = 1; t < threads && good; t++)
		for (uint64_t i = 0; i <= g->tables[t].mask && good; i++) {
			const struct entry *e = &g->tables[t].entries[i];
			good = !e->count || add(&g->tables[0], e->key, e->count, e->sum);
		}
	if (!good || !put_out(g, &g->tables[0]))
		atomic_store(&g->failed, true);
	for (unsigned t = 0; t < threads && g->tables; t++)
		free(g->tables[t].entries);
	free(g->tables);
}

static rql_status group_many(struct grouping *g, struct rql_pool *pool, uint32_t chunk_count, struct rql_error *err)
{
	struct rql_host_memory *memory;
	struct rql_host_store_spec spec = {
		.shape = {.key_bits = g->key_bits, .column_count = 1, .column_bits = {32}}, .pool = pool};
	while (spec.bits < RQL_HOST_PASS_BITS && g->groups >> spec.bits > PART_GROUPS)
		spec.bits++;
	g->part_groups = (g->groups >> spec.bits) + 1;
	RQL_TRY(rql_host_memory_new(0, NULL, 0, &memory, err));
	spec.memory = memory;
	rql_status status = rql_host_store_new(&spec, &g->store, err);
	for (uint32_t i = 0; i < chunk_count && status == RQL_OK; i++) {
		const struct rql_cpu_rows *c = &g->chunks[i];
		const struct rql_host_rows rows = {
			.count = c->rows, .keys = (void *)(uintptr_t)c->keys, .columns = {(void *)(uintptr_t)c->values}};
		status = rql_host_store_add(g->store, &rows, err);
	}
	if (status == RQL_OK)
		rql_pool_each(pool, UINT64_C(1) << spec.bits, group_part, g);
	rql_host_store_free(g->store);
	rql_host_memory_free(memory);
	return status;
}

rql_status rql_garuda_cpu_groups(struct rql_pool *pool, const struct rql_cpu_rows *chunks, uint32_t chunk_count,
                                 uint32_t key_bits, uint64_t groups, struct rql_cpu_groups *out, struct rql_error *err)
{
	struct grouping g = {.chunks = chunks, .key_bits = key_bits, .groups = groups, .out = out};
	rql_status status = RQL_OK;
	for (uint32_t i = 0; i < chunk_count; i++)
		g.pieces = chunks[i].rows > g.pieces * CHUNK_ROWS ? (chunks[i].rows + CHUNK_ROWS - 1) / CHUNK_ROWS : g.pieces;
	if (!out->room) {
		*out = (struct rql_cpu_groups){.room = groups,
		                               .keys = malloc(groups * 8),
		                               .counts = malloc(groups * 8),
		                               .sums = malloc(groups * 8)};
		if (!out->keys || !out->counts || !out->sums)
			return rql_error_memory(err, groups * 24, "the groups of the CPU");
	}
	if (groups <= FEW)
		group_few(&g, pool, chunk_count);
	else
		status = group_many(&g, pool, chunk_count, err);
	out->count = atomic_load(&g.at);
	if (status == RQL_OK && atomic_load(&g.failed))
		status = rql_error_memory(err, groups * 24, "the groups of the CPU");
	return status;
}

void rql_cpu_groups_free(struct rql_cpu_groups *groups)
{
	free(groups->keys);
	free(groups->counts);
	free(groups->sums);
	*groups = (struct rql_cpu_groups){0};
}
