/* Group rows: an array when the groups are few or mostly used, a hash table (scan_hash.c) when they are many and mostly
 * empty. A row is word 0 (rows) and the slots' words. */
#include "method/scan/scan_query.h"

#include <stdlib.h>
#include "util/large.h"

/* Arrays of more words are made ready run by run: writing them takes longer than looking whether a run is there. */
#define WHOLE_WORDS (UINT64_C(1) << 18)

static void fill_rows(const struct rql_scan *scan, uint64_t *rows, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		memcpy(rows + i * scan->row_words, scan->row_template, scan->row_words * sizeof(*rows));
}

static uint64_t run_count(const struct rql_scan_groups *g)
{
	return (g->capacity + RQL_SCAN_RUN - 1) >> RQL_SCAN_RUN_SHIFT;
}

static void make_run(struct rql_scan_groups *g, uint64_t run)
{
	const struct rql_scan *scan = g->scan;
	uint64_t first = run << RQL_SCAN_RUN_SHIFT, left = g->capacity - first;
	uint64_t count = left < RQL_SCAN_RUN ? left : RQL_SCAN_RUN, *rows = g->rows + first * scan->row_words;
	if (!scan->row_zero)
		fill_rows(scan, rows, count);
	else if (!g->zero)
		memset(rows, 0, count * scan->row_words * sizeof(*rows));
	g->runs[run] = rows;
	g->missing--;
}

static bool init_runs(struct rql_scan_groups *g)
{
	g->missing = run_count(g);
	g->runs = calloc(g->missing, sizeof(*g->runs));
	g->rows = g->runs ? rql_large_reserve(g->capacity * g->scan->row_words * sizeof(*g->rows), &g->zero) : NULL;
	return g->ready = g->rows != NULL;
}

bool rql_scan_groups_init(struct rql_scan_groups *g, const struct rql_scan *scan)
{
	*g = (struct rql_scan_groups){.scan = scan, .copies = 1};
	if (scan->hashed)
		return g->ready = rql_scan_hash_init(&g->hash, scan, RQL_SCAN_FIRST_CAPACITY);
	g->capacity = scan->group_count;
	if (!scan->scalar && scan->group_count <= RQL_SCAN_COPY_WORDS / scan->row_words)
		g->copies = RQL_SCAN_COPIES;
	if (g->capacity > UINT64_MAX / sizeof(uint64_t) / RQL_SCAN_COPIES / scan->row_words)
		return false;
	if (g->capacity * scan->row_words > WHOLE_WORDS)
		return init_runs(g);
	g->rows = rql_large_words(g->capacity * g->copies * scan->row_words, NULL);
	g->ready = g->rows != NULL;
	if (g->ready && !scan->row_zero)
		fill_rows(scan, g->rows, g->capacity * g->copies);
	return g->ready;
}

void rql_scan_groups_free(struct rql_scan_groups *g)
{
	rql_scan_hash_free(&g->hash);
	rql_scan_hash_free_parts(g->parts);
	rql_large_free(g->rows);
	free(g->runs);
	g->rows = NULL;
	g->runs = NULL;
	g->parts = NULL;
	g->ready = false;
}

void rql_scan_groups_clear(struct rql_scan_groups *g)
{
	const struct rql_scan *scan = g->scan;
	if (!g->ready)
		return;
	rql_scan_hash_free_parts(g->parts);
	g->parts = NULL;
	if (scan->hashed) {
		rql_scan_hash_clear(&g->hash);
	} else if (g->runs) {
		g->missing = run_count(g);
		g->zero = false;
		memset(g->runs, 0, g->missing * sizeof(*g->runs));
	} else if (scan->row_zero) {
		memset(g->rows, 0, g->capacity * g->copies * scan->row_words * sizeof(*g->rows));
	} else {
		fill_rows(scan, g->rows, g->capacity * g->copies);
	}
}

bool rql_scan_groups_rows(struct rql_scan_groups *g, const uint64_t *groups, const uint64_t *high, uint32_t n,
                          uint64_t **rows)
{
	uint64_t words = g->scan->row_words, *base = g->rows;
	if (g->scan->hashed)
		return rql_scan_hash_rows(&g->hash, groups, high, n, rows);
	for (uint32_t i = 0; g->missing && i < n; i++)
		if (!g->runs[groups[i] >> RQL_SCAN_RUN_SHIFT])
			make_run(g, groups[i] >> RQL_SCAN_RUN_SHIFT);
	if (g->copies == 1) {
		bool far = g->capacity * words > RQL_SCAN_COPY_WORDS * 64;
		for (uint32_t i = 0; i < n; i++) {
			rows[i] = base + groups[i] * words;
			if (far)
				__builtin_prefetch(rows[i], 1);
		}
		for (uint32_t i = 0; i < n; i++)
			rows[i][0]++;
	} else {
		uint64_t copy = g->capacity * words;
		for (uint32_t i = 0; i < n; i++) {
			rows[i] = base + groups[i] * words + (i % RQL_SCAN_COPIES) * copy;
			rows[i][0]++;
		}
	}
	return true;
}

void rql_scan_groups_places(const struct rql_scan_groups *g, const uint64_t *groups, uint32_t n, uint32_t *places)
{
	uint32_t words = g->scan->row_words, copy = (uint32_t)g->capacity * words;
	for (uint32_t i = 0; i < n; i++)
		places[i] = (uint32_t)groups[i] * words + i % RQL_SCAN_COPIES * copy;
}

void rql_scan_groups_fold(struct rql_scan_groups *g)
{
	uint64_t words = g->scan->row_words, copy = g->capacity * words;
	for (uint32_t c = 1; c < g->copies; c++)
		for (uint64_t i = 0; i < copy; i += words)
			if (g->rows[c * copy + i])
				(void)rql_scan_add_row(g->scan, g->rows + i, g->rows + c * copy + i);
}

/* ---- merging workers ---- */

struct merge {
	struct rql_scan_groups *const *all;
	uint32_t count;
	_Atomic bool overflow;
};

static void merge_run(void *state, uint64_t index, unsigned worker)
{
	struct merge *m = state;
	const struct rql_scan *scan = m->all[0]->scan;
	uint64_t words = scan->row_words, begin = index << RQL_SCAN_RUN_SHIFT, left = m->all[0]->capacity - begin;
	uint64_t count = left < RQL_SCAN_RUN ? left : RQL_SCAN_RUN, *into = NULL;
	bool fits = true;
	(void)worker;
	for (uint32_t g = 0; g < m->count; g++) {
		uint64_t *from = m->all[g]->runs ? m->all[g]->runs[index] : m->all[g]->rows + begin * words;
		for (uint64_t i = 0; into && from && i < count * words; i += words)
			if (from[i])
				fits &= rql_scan_add_row(scan, into + i, from + i);
		into = into ? into : from;
	}
	if (m->all[0]->runs)
		m->all[0]->runs[index] = into;
	if (!fits)
		m->overflow = true;
}

static rql_status merge_hashed(struct rql_scan_groups *const *all, uint32_t count, struct rql_pool *pool,
                               struct rql_error *err)
{
	struct rql_scan_hash **tables = calloc(count, sizeof(struct rql_scan_hash *));
	if (!tables)
		return rql_error_memory(err, count * sizeof(*tables), "merging groups");
	for (uint32_t g = 0; g < count; g++)
		tables[g] = &all[g]->hash;
	rql_status status = rql_scan_hash_merge(tables, count, pool, &all[0]->parts, err);
	free(tables);
	return status;
}

rql_status rql_scan_groups_merge(struct rql_scan_groups *const *all, uint32_t count, struct rql_pool *pool,
                                 struct rql_error *err)
{
	struct merge m = {.all = all, .count = count};
	if (all[0]->scan->hashed)
		return merge_hashed(all, count, pool, err);
	if (count > 1)
		rql_pool_run(pool, run_count(all[0]), merge_run, &m);
	if (m.overflow)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a sum does not fit 128 bits");
	return RQL_OK;
}
