/* Rows that somebody else has found, as a list in any order: split by block, of the blocks that have any. What a run then
 * does is in proportion to these, not to the table.
 *
 * Floor: the list read three times, a counter read and written twice for each row (a table's counters, 4 bytes a block,
 * stay in the second-level cache), and two bytes written; counters cleared, a bit a block looked at. */
#include "method/scan/rows/scan_rows_query.h"

#include <stdlib.h>

#define CHUNK 4096u /* entries */
/* Shorter lists stay with the caller: waking a worker takes longer than the work. */
#define LEAST_SHARED (UINT64_C(1) << 16)

struct splitting {
	struct rql_rows_run *run;
	uint64_t blocks;      /* of the snapshot */
	uint32_t *counts;     /* [blocks]: rows of each; then its number among those that have any */
	uint64_t *some;       /* [blocks / 64 + 1]: which have any */
	uint64_t *next;       /* [run->blocks]: where each one's next row goes */
	_Atomic bool strange; /* a block that there is not, or more rows than it can have */
};

static uint64_t end_of(uint64_t chunk, uint64_t count)
{
	return (chunk + 1) * CHUNK < count ? (chunk + 1) * CHUNK : count;
}

static void count_rows(void *state, uint64_t chunk, unsigned thread)
{
	struct splitting *s = state;
	const struct rql_rows_run *run = s->run;
	(void)thread;
	for (uint64_t i = chunk * CHUNK; i < end_of(chunk, run->listed_count); i++) {
		uint32_t block = run->listed[i] >> RQL_ROWS_BITS;
		if (block >= s->blocks)
			s->strange = true;
		else if (!__atomic_fetch_add(&s->counts[block], 1, __ATOMIC_RELAXED))
			__atomic_fetch_or(&s->some[block / 64], UINT64_C(1) << block % 64, __ATOMIC_RELAXED);
	}
}

static void place_rows(void *state, uint64_t chunk, unsigned thread)
{
	struct splitting *s = state;
	const struct rql_rows_run *run = s->run;
	(void)thread;
	for (uint64_t i = chunk * CHUNK; i < end_of(chunk, run->listed_count); i++) {
		uint32_t index = s->counts[run->listed[i] >> RQL_ROWS_BITS];
		uint64_t to = __atomic_fetch_add(&s->next[index], 1, __ATOMIC_RELAXED);
		run->row_list[to] = (uint16_t)(run->listed[i] & (RQL_STORE_BLOCK - 1));
	}
}

static void each_chunk(struct splitting *s, void (*fn)(void *state, uint64_t chunk, unsigned thread))
{
	const struct rql_rows_run *run = s->run;
	uint64_t chunks = (run->listed_count + CHUNK - 1) / CHUNK;
	if (run->pool && run->listed_count >= LEAST_SHARED) {
		rql_pool_run(run->pool, chunks, fn, s);
		return;
	}
	for (uint64_t c = 0; c < chunks; c++)
		fn(s, c, 0);
}

/* The blocks that have any, ascending, and where the rows of each begin. */
static rql_status number_blocks(struct splitting *s, struct rql_error *err)
{
	struct rql_rows_run *run = s->run;
	uint64_t count = 0, rows = 0, words = s->blocks / 64 + 1;
	uint32_t *block_of;
	for (uint64_t w = 0; w < words; w++)
		count += (uint64_t)__builtin_popcountll(s->some[w]);
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, block_of, count, err));
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->left, count, err));
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->first, count + 1, err));
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, s->next, count, err));
	run->blocks = 0;
	for (uint64_t w = 0; w < words; w++) {
		for (uint64_t left = s->some[w]; left; left &= left - 1) {
			uint64_t block = w * 64 + (uint64_t)__builtin_ctzll(left), i = run->blocks++;
			uint32_t listed = s->counts[block];
			s->strange = s->strange || listed > RQL_STORE_BLOCK;
			s->next[i] = run->first[i] = rows;
			run->left[i] = listed;
			block_of[i] = (uint32_t)block;
			s->counts[block] = (uint32_t)i;
			rows += listed;
		}
	}
	run->first[run->blocks] = rows;
	run->block_of = block_of;
	return RQL_OK;
}

static int ascending(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

void rql_rows_ascend(uint32_t *listed, uint64_t count)
{
	if (count > 1)
		qsort(listed, count, sizeof(*listed), ascending);
}

/* Few rows: put in order, without a counter for each block of the table. */
static rql_status split_few(struct rql_rows_run *run, struct rql_error *err)
{
	const uint64_t count = run->listed_count, table = run->blocks;
	uint32_t *rows, *block_of;
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, rows, count, err));
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, block_of, count, err));
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->left, count, err));
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->first, count + 1, err));
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->row_list, count, err));
	memcpy(rows, run->listed, count * sizeof(*rows));
	rql_rows_ascend(rows, count);
	run->blocks = 0;
	for (uint64_t i = 0; i < count; i++) {
		const uint32_t block = rows[i] >> RQL_ROWS_BITS;
		if (block >= table)
			return rql_error_set(err, RQL_ERROR_INTERNAL, "a device has found rows in a block that do not exist");
		if (!i || block != block_of[run->blocks - 1]) {
			run->first[run->blocks] = i;
			run->left[run->blocks] = 0;
			block_of[run->blocks++] = block;
		}
		run->left[run->blocks - 1]++;
		run->row_list[i] = (uint16_t)(rows[i] & (RQL_STORE_BLOCK - 1));
	}
	run->first[run->blocks] = count;
	run->block_of = block_of;
	return RQL_OK;
}

rql_status rql_rows_split(struct rql_rows_run *run, struct rql_error *err)
{
	if (run->listed_count <= RQL_ROWS_FEW)
		return split_few(run, err);
	struct splitting s = {.run = run, .blocks = run->blocks};
	RQL_TRY(RQL_MEM_ZARRAY(&run->mem, s.counts, s.blocks, err));
	RQL_TRY(RQL_MEM_ZARRAY(&run->mem, s.some, s.blocks / 64 + 1, err));
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->row_list, run->listed_count, err));
	each_chunk(&s, count_rows);
	RQL_TRY(number_blocks(&s, err));
	if (s.strange)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a device has found rows in a block that do not exist");
	each_chunk(&s, place_rows);
	return RQL_OK;
}

rql_status rql_rows_mark(const struct rql_rows_run *run, struct rql_scan_worker *w, uint64_t block)
{
	bool strange = false;
	memset(w->mask, 0, RQL_SCAN_MASK_WORDS * sizeof(*w->mask));
	for (uint64_t i = run->first[block]; i < run->first[block + 1]; i++) {
		uint32_t row = run->row_list[i];
		uint64_t bit = UINT64_C(1) << row % 64;
		strange |= row >= w->block_rows || (w->mask[row / 64] & bit);
		w->mask[row / 64] |= bit;
	}
	if (strange)
		return rql_error_set(&w->error, RQL_ERROR_INTERNAL,
		                     "a device has found a row twice, or one that does not exist");
	return RQL_OK;
}
