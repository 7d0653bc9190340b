/* Group rows: an array when the groups are few or mostly used, a hash table when they are many and mostly empty. A
 * row is word 0 (rows) and the slots' words. */
#include "method/scan/scan_query.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((uint64_t)2 << 20)
#define AHEAD 8u /* rows between the prefetch of a group's row and its use */
/* Arrays are merged in runs of this many rows, hash tables in this many parts by their hash. */
#define MERGE_ROWS (UINT64_C(1) << 14)
#define MERGE_BITS 6u
#define MERGE_PARTS (1u << MERGE_BITS)

/* Zeroed words. A large table is mostly paid for by its page faults: huge pages have 512 times fewer of them. */
static uint64_t *zeroed_words(uint64_t words)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(words ? words : 1, sizeof(uint64_t), &bytes) || bytes > PTRDIFF_MAX - HUGE_PAGE)
		return NULL;
	if (bytes < 2 * HUGE_PAGE)
		return calloc(1, bytes);
	bytes = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	uint64_t *table = aligned_alloc(HUGE_PAGE, bytes);
	if (!table)
		return NULL;
#ifdef MADV_HUGEPAGE
	(void)madvise(table, bytes, MADV_HUGEPAGE); /* advice: nothing depends on it */
#endif
	memset(table, 0, bytes);
	return table;
}

static void fill_rows(const struct rql_scan *scan, uint64_t *rows, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		memcpy(rows + i * scan->row_words, scan->row_template, scan->row_words * sizeof(*rows));
}

bool rql_scan_groups_init(struct rql_scan_groups *g, const struct rql_scan *scan)
{
	*g = (struct rql_scan_groups){.scan = scan, .copies = 1};
	g->capacity = scan->hashed ? RQL_SCAN_FIRST_CAPACITY : scan->group_count;
	if (!scan->hashed && !scan->scalar && scan->group_count <= RQL_SCAN_COPY_WORDS / scan->row_words)
		g->copies = RQL_SCAN_COPIES;
	g->rows = zeroed_words(g->capacity * g->copies * scan->row_words);
	g->keys = scan->hashed ? zeroed_words(g->capacity) : NULL;
	g->ready = g->rows && (g->keys || !scan->hashed);
	if (!g->ready)
		rql_scan_groups_free(g);
	else if (!scan->hashed && !scan->row_zero)
		fill_rows(scan, g->rows, g->capacity * g->copies);
	return g->ready;
}

void rql_scan_groups_free(struct rql_scan_groups *g)
{
	free(g->rows);
	free(g->keys);
	g->rows = g->keys = NULL;
	g->ready = false;
}

void rql_scan_groups_clear(struct rql_scan_groups *g)
{
	const struct rql_scan *scan = g->scan;
	if (!g->ready)
		return;
	if (scan->hashed) {
		memset(g->keys, 0, g->capacity * sizeof(*g->keys));
		memset(g->rows, 0, g->capacity * scan->row_words * sizeof(*g->rows));
	} else if (scan->row_zero) {
		memset(g->rows, 0, g->capacity * g->copies * scan->row_words * sizeof(*g->rows));
	} else {
		fill_rows(scan, g->rows, g->capacity * g->copies);
	}
	g->used = 0;
}

/* ---- hash table ---- */

static uint64_t hash_of(uint64_t group)
{
	uint64_t hash = group * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* Places are the hash's upper bits, so that a part of all hashes is a run of places, at any capacity. The table of one
 * part leaves out the bits that all its hashes share. */
static uint64_t home_of(uint64_t group, uint64_t capacity, uint32_t shift)
{
	unsigned bits = (unsigned)__builtin_ctzll(capacity);
	return hash_of(group) << shift >> (64 - bits);
}

static uint64_t place_of(const uint64_t *keys, uint64_t capacity, uint32_t shift, uint64_t group)
{
	uint64_t at = home_of(group, capacity, shift);
	while (keys[at] && keys[at] != group + 1)
		at = (at + 1) & (capacity - 1);
	return at;
}

static bool reserve(struct rql_scan_groups *g, uint64_t more)
{
	if ((g->used + more) * 2 <= g->capacity)
		return true;
	uint64_t capacity = g->capacity * 2, words = g->scan->row_words;
	while ((g->used + more) * 2 > capacity)
		capacity *= 2;
	uint64_t *keys = zeroed_words(capacity), *rows = zeroed_words(capacity * words);
	if (!keys || !rows) {
		free(keys);
		free(rows);
		return false;
	}
	for (uint64_t i = 0; i < g->capacity; i++) {
		if (!g->keys[i])
			continue;
		uint64_t at = place_of(keys, capacity, g->shift, g->keys[i] - 1);
		keys[at] = g->keys[i];
		memcpy(rows + at * words, g->rows + i * words, words * sizeof(*rows));
	}
	free(g->keys);
	free(g->rows);
	g->keys = keys;
	g->rows = rows;
	g->capacity = capacity;
	return true;
}

static uint64_t *find(struct rql_scan_groups *g, uint64_t group)
{
	uint64_t at = place_of(g->keys, g->capacity, g->shift, group), *row = g->rows + at * g->scan->row_words;
	if (!g->keys[at]) {
		g->keys[at] = group + 1;
		g->used++;
		fill_rows(g->scan, row, 1);
	}
	return row;
}

bool rql_scan_groups_rows(struct rql_scan_groups *g, const uint64_t *groups, uint32_t n, uint64_t **rows)
{
	uint64_t words = g->scan->row_words, *base = g->rows;
	if (g->scan->hashed) {
		if (!reserve(g, n))
			return false;
		for (uint32_t i = 0; i < n; i++) {
			if (i + AHEAD < n) {
				uint64_t at = home_of(groups[i + AHEAD], g->capacity, g->shift);
				__builtin_prefetch(g->keys + at);
				__builtin_prefetch(g->rows + at * words, 1);
			}
			rows[i] = find(g, groups[i]);
		}
	} else if (g->copies == 1) {
		bool far = g->capacity * words > RQL_SCAN_COPY_WORDS * 64;
		for (uint32_t i = 0; i < n; i++) {
			rows[i] = base + groups[i] * words;
			if (far)
				__builtin_prefetch(rows[i], 1);
		}
	} else {
		uint64_t copy = g->capacity * words;
		for (uint32_t i = 0; i < n; i++)
			rows[i] = base + groups[i] * words + (i % RQL_SCAN_COPIES) * copy;
	}
	return true;
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
	uint64_t words = scan->row_words, begin = index * MERGE_ROWS, end = begin + MERGE_ROWS;
	bool fits = true;
	(void)worker;
	end = end < m->all[0]->capacity ? end : m->all[0]->capacity;
	for (uint32_t g = 1; g < m->count; g++)
		for (uint64_t i = begin; i < end; i++)
			if (m->all[g]->rows[i * words])
				fits &= rql_scan_add_row(scan, m->all[0]->rows + i * words, m->all[g]->rows + i * words);
	if (!fits)
		m->overflow = true;
}

/* A table of one part of all groups (by hash), from all workers' tables. */
struct part_merge {
	struct merge merge;
	struct rql_scan_groups parts[MERGE_PARTS];
	_Atomic bool no_memory;
};

static void merge_part(void *state, uint64_t index, unsigned worker)
{
	struct part_merge *m = state;
	struct rql_scan_groups *into = &m->parts[index];
	bool fits = true;
	(void)worker;
	if (!rql_scan_groups_init(into, m->merge.all[0]->scan)) {
		m->no_memory = true;
		return;
	}
	into->shift = MERGE_BITS;
	for (uint32_t g = 0; g < m->merge.count; g++) {
		const struct rql_scan_groups *from = m->merge.all[g];
		uint64_t words = from->scan->row_words, part = from->capacity / MERGE_PARTS;
		/* A part's rows lie in its run of places or, displaced, behind it up to an empty place. */
		uint64_t begin = index * part, i = begin;
		for (; i < begin + part || from->keys[i & (from->capacity - 1)]; i++) {
			uint64_t at = i & (from->capacity - 1);
			if (!from->keys[at] || hash_of(from->keys[at] - 1) >> (64 - MERGE_BITS) != index)
				continue;
			if (!reserve(into, 1)) {
				m->no_memory = true;
				return;
			}
			fits &= rql_scan_add_row(from->scan, find(into, from->keys[at] - 1), from->rows + at * words);
		}
	}
	if (!fits)
		m->merge.overflow = true;
}

/* The parts are closed up into the first worker's table, which from now on is a list, not a hash table. */
static bool collect_parts(struct part_merge *m)
{
	struct rql_scan_groups *out = m->merge.all[0];
	uint64_t words = out->scan->row_words, used = 0, at = 0;
	for (uint32_t p = 0; p < MERGE_PARTS; p++)
		used += m->parts[p].used;
	uint64_t *keys = zeroed_words(used), *rows = zeroed_words(used * words);
	if (!keys || !rows) {
		free(keys);
		free(rows);
		return false;
	}
	for (uint32_t p = 0; p < MERGE_PARTS; p++) {
		const struct rql_scan_groups *from = &m->parts[p];
		for (uint64_t i = 0; i < from->capacity; i++) {
			if (!from->keys[i])
				continue;
			keys[at] = from->keys[i];
			memcpy(rows + at++ * words, from->rows + i * words, words * sizeof(*rows));
		}
	}
	free(out->keys);
	free(out->rows);
	out->keys = keys;
	out->rows = rows;
	out->capacity = out->used = used;
	out->ready = false; /* for the next run it is made anew */
	return true;
}

static rql_status merge_hashed(struct rql_scan_groups *const *all, uint32_t count, struct rql_pool *pool,
                               bool *overflow, struct rql_error *err)
{
	struct part_merge *m = calloc(1, sizeof(*m));
	if (!m)
		return rql_error_memory(err, sizeof(*m), "merging groups");
	m->merge.all = all;
	m->merge.count = count;
	rql_pool_run(pool, MERGE_PARTS, merge_part, m);
	bool done = !m->no_memory && collect_parts(m);
	*overflow = m->merge.overflow;
	for (uint32_t p = 0; p < MERGE_PARTS; p++)
		rql_scan_groups_free(&m->parts[p]);
	free(m);
	return done ? RQL_OK : rql_error_memory(err, all[0]->used * 64, "merging groups");
}

rql_status rql_scan_groups_merge(struct rql_scan_groups *const *all, uint32_t count, struct rql_pool *pool,
                                 struct rql_error *err)
{
	bool overflow = false;
	if (count > 1 && all[0]->scan->hashed) {
		RQL_TRY(merge_hashed(all, count, pool, &overflow, err));
	} else if (count > 1) {
		struct merge m = {.all = all, .count = count};
		rql_pool_run(pool, (all[0]->capacity + MERGE_ROWS - 1) / MERGE_ROWS, merge_run, &m);
		overflow = m.overflow;
	}
	if (overflow)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a sum does not fit 128 bits");
	return RQL_OK;
}
