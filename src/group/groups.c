/* Rows of groups in an array, and what is the same for a hash table (groups_hash.c) of them. */
#include "group/groups.h"

#include <stdlib.h>
#include "util/large.h"

/* Arrays of more words are made ready run by run: writing them takes longer than looking whether a run is there. */
#define WHOLE_WORDS (UINT64_C(1) << 18)

#define SMALL_BYTES ((uint64_t)64 << 10) /* that an answer's arena may hold beside it */

rql_status rql_groups_lay(struct rql_groups_layout *layout, struct rql_arena *arena, struct rql_error *err)
{
	layout->row_template = RQL_NEW_ARRAY(arena, uint64_t, layout->row_words);
	if (!layout->row_template)
		return rql_error_memory(err, layout->row_words * sizeof(uint64_t), "the aggregates of a query");
	layout->row_zero = rql_states_clear(layout->states, layout->state_count, layout->row_template, layout->row_words);
	return RQL_OK;
}

static void fill_rows(const struct rql_groups_layout *layout, uint64_t *rows, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		memcpy(rows + i * layout->row_words, layout->row_template, layout->row_words * sizeof(*rows));
}

static uint64_t run_count(const struct rql_groups *g)
{
	return (g->capacity + RQL_GROUPS_RUN - 1) >> RQL_GROUPS_RUN_SHIFT;
}

void rql_groups_make_run(struct rql_groups *g, uint64_t run)
{
	const struct rql_groups_layout *layout = g->layout;
	uint64_t first = run << RQL_GROUPS_RUN_SHIFT, left = g->capacity - first;
	uint64_t count = left < RQL_GROUPS_RUN ? left : RQL_GROUPS_RUN, *rows = g->rows + first * layout->row_words;
	if (!layout->row_zero)
		fill_rows(layout, rows, count);
	else if (!g->zero)
		memset(rows, 0, count * layout->row_words * sizeof(*rows));
	g->runs[run] = rows;
	g->missing--;
}

static bool init_runs(struct rql_groups *g)
{
	g->missing = run_count(g);
	g->runs = calloc(g->missing, sizeof(*g->runs));
	g->rows = g->runs ? rql_large_reserve(g->capacity * g->layout->row_words * sizeof(*g->rows), &g->zero) : NULL;
	return g->ready = g->rows != NULL;
}

bool rql_groups_init(struct rql_groups *g, const struct rql_groups_layout *layout, struct rql_arena *arena)
{
	*g = (struct rql_groups){.layout = layout, .copies = 1};
	if (layout->hashed)
		return g->ready = rql_groups_hash_init(&g->hash, layout, RQL_GROUPS_FIRST_CAPACITY);
	g->capacity = layout->group_count;
	if (!layout->scalar && !layout->one_copy && layout->group_count <= RQL_GROUPS_COPY_WORDS / layout->row_words)
		g->copies = RQL_GROUPS_COPIES;
	if (g->capacity > UINT64_MAX / sizeof(uint64_t) / RQL_GROUPS_COPIES / layout->row_words)
		return false;
	uint64_t words = g->capacity * g->copies * layout->row_words;
	if (g->capacity * layout->row_words > WHOLE_WORDS)
		return init_runs(g);
	g->borrowed = arena && words * sizeof(uint64_t) <= SMALL_BYTES;
	g->rows = g->borrowed ? RQL_NEW_ARRAY(arena, uint64_t, words) : rql_large_words(words, NULL);
	g->ready = g->rows != NULL;
	if (g->ready && !layout->row_zero)
		fill_rows(layout, g->rows, g->capacity * g->copies);
	return g->ready;
}

void rql_groups_free(struct rql_groups *g)
{
	rql_groups_hash_free(&g->hash);
	rql_groups_hash_free_parts(g->parts);
	if (!g->borrowed)
		rql_large_free(g->rows);
	free(g->runs);
	g->rows = NULL;
	g->runs = NULL;
	g->parts = NULL;
	g->ready = false;
}

void rql_groups_clear(struct rql_groups *g)
{
	const struct rql_groups_layout *layout = g->layout;
	if (!g->ready)
		return;
	rql_groups_hash_free_parts(g->parts);
	g->parts = NULL;
	if (layout->hashed) {
		rql_groups_hash_clear(&g->hash);
	} else if (g->runs) {
		g->missing = run_count(g);
		g->zero = false;
		memset(g->runs, 0, g->missing * sizeof(*g->runs));
	} else if (layout->row_zero) {
		memset(g->rows, 0, g->capacity * g->copies * layout->row_words * sizeof(*g->rows));
	} else {
		fill_rows(layout, g->rows, g->capacity * g->copies);
	}
}

bool rql_groups_rows(struct rql_groups *g, const uint64_t *groups, const uint64_t *high, uint32_t n,
                          uint64_t **rows)
{
	uint64_t words = g->layout->row_words, *base = g->rows;
	if (g->layout->hashed)
		return rql_groups_hash_rows(&g->hash, groups, high, n, rows);
	for (uint32_t i = 0; g->missing && i < n; i++)
		if (!g->runs[groups[i] >> RQL_GROUPS_RUN_SHIFT])
			rql_groups_make_run(g, groups[i] >> RQL_GROUPS_RUN_SHIFT);
	if (g->copies == 1) {
		bool far = g->capacity * words > RQL_GROUPS_COPY_WORDS * 64;
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
			rows[i] = base + groups[i] * words + (i % RQL_GROUPS_COPIES) * copy;
			rows[i][0]++;
		}
	}
	return true;
}

void rql_groups_places(const struct rql_groups *g, const uint64_t *groups, uint32_t n, uint32_t *places)
{
	uint32_t words = g->layout->row_words, copy = (uint32_t)g->capacity * words;
	for (uint32_t i = 0; i < n; i++)
		places[i] = (uint32_t)groups[i] * words + i % RQL_GROUPS_COPIES * copy;
}

void rql_groups_fold(struct rql_groups *g)
{
	const struct rql_groups_layout *layout = g->layout;
	uint64_t words = layout->row_words, copy = g->capacity * words;
	for (uint32_t c = 1; c < g->copies; c++)
		for (uint64_t i = 0; i < copy; i += words)
			if (g->rows[c * copy + i])
				(void)rql_states_add(layout->states, layout->state_count, g->rows + i, g->rows + c * copy + i);
}

/* ---- merging workers ---- */

struct merge {
	struct rql_groups *const *all;
	uint32_t count;
	_Atomic bool overflow;
};

static void merge_run(void *state, uint64_t index, unsigned worker)
{
	struct merge *m = state;
	const struct rql_groups_layout *layout = m->all[0]->layout;
	uint64_t words = layout->row_words, begin = index << RQL_GROUPS_RUN_SHIFT, left = m->all[0]->capacity - begin;
	uint64_t count = left < RQL_GROUPS_RUN ? left : RQL_GROUPS_RUN, *into = NULL;
	bool fits = true;
	(void)worker;
	for (uint32_t g = 0; g < m->count; g++) {
		uint64_t *from = m->all[g]->runs ? m->all[g]->runs[index] : m->all[g]->rows + begin * words;
		for (uint64_t i = 0; into && from && i < count * words; i += words)
			if (from[i])
				fits &= rql_states_add(layout->states, layout->state_count, into + i, from + i);
		into = into ? into : from;
	}
	if (m->all[0]->runs)
		m->all[0]->runs[index] = into;
	if (!fits)
		m->overflow = true;
}

static rql_status merge_hashed(struct rql_groups *const *all, uint32_t count, struct rql_pool *pool,
                               struct rql_error *err)
{
	struct rql_groups_hash **tables = calloc(count, sizeof(struct rql_groups_hash *));
	if (!tables)
		return rql_error_memory(err, count * sizeof(*tables), "merging groups");
	for (uint32_t g = 0; g < count; g++)
		tables[g] = &all[g]->hash;
	rql_status status = rql_groups_hash_merge(tables, count, pool, &all[0]->parts, err);
	free(tables);
	return status;
}

rql_status rql_groups_merge(struct rql_groups *const *all, uint32_t count, struct rql_pool *pool,
                                 struct rql_error *err)
{
	struct merge m = {.all = all, .count = count};
	if (all[0]->layout->hashed)
		return merge_hashed(all, count, pool, err);
	if (count > 1)
		rql_pool_run(pool, run_count(all[0]), merge_run, &m);
	if (m.overflow)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a sum does not fit 128 bits");
	return RQL_OK;
}
