/* Rows that somebody else has found, as a list in any order: into the masks that the filters would have made, of the blocks
 * that have any. What a run then does is in proportion to these, not to the table.
 *
 * Floor: the list read twice, a word of a mask read and written for each row, and 512 bytes of masks for each block that
 * has one. */
#include "method/scan/scan_rows_query.h"

#define CHUNK 4096u /* entries, or blocks */
/* Shorter lists stay with the caller: waking a worker takes longer than the work. */
#define LEAST_SHARED (UINT64_C(1) << 16)

struct marking {
	struct rql_rows_run *run;
	bool shared; /* several threads write to one word */
	uint64_t blocks;
	uint64_t *some;       /* [blocks / 64 + 1]: which blocks have any */
	uint32_t *before;     /* [blocks / 64 + 1]: how many there are below each word of `some` */
	_Atomic bool strange; /* a block that there is not */
};

static void set_bit(const struct marking *m, uint64_t *word, uint64_t bit)
{
	if (!m->shared)
		*word |= bit;
	else if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
		__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

static uint64_t end_of(uint64_t chunk, uint64_t count)
{
	return (chunk + 1) * CHUNK < count ? (chunk + 1) * CHUNK : count;
}

static void note_blocks(void *state, uint64_t chunk, unsigned thread)
{
	struct marking *m = state;
	const struct rql_rows_run *run = m->run;
	(void)thread;
	for (uint64_t i = chunk * CHUNK; i < end_of(chunk, run->listed_count); i++) {
		uint32_t block = run->listed[i] >> RQL_ROWS_BITS;
		if (block < m->blocks)
			set_bit(m, &m->some[block / 64], UINT64_C(1) << block % 64);
		else
			m->strange = true;
	}
}

static void mark_rows(void *state, uint64_t chunk, unsigned thread)
{
	struct marking *m = state;
	const struct rql_rows_run *run = m->run;
	(void)thread;
	for (uint64_t i = chunk * CHUNK; i < end_of(chunk, run->listed_count); i++) {
		uint32_t block = run->listed[i] >> RQL_ROWS_BITS, row = run->listed[i] & (RQL_STORE_BLOCK - 1);
		uint64_t below = (UINT64_C(1) << block % 64) - 1;
		uint64_t index = m->before[block / 64] + (uint32_t)__builtin_popcountll(m->some[block / 64] & below);
		set_bit(m, &run->masks[index * RQL_SCAN_MASK_WORDS + row / 64], UINT64_C(1) << row % 64);
	}
}

static void clear_masks(void *state, uint64_t chunk, unsigned thread)
{
	const struct marking *m = state;
	uint64_t first = chunk * CHUNK, end = end_of(chunk, m->run->blocks);
	(void)thread;
	memset(m->run->masks + first * RQL_SCAN_MASK_WORDS, 0,
	       (end - first) * RQL_SCAN_MASK_WORDS * sizeof(*m->run->masks));
}

static void count_rows(void *state, uint64_t chunk, unsigned thread)
{
	const struct marking *m = state;
	struct rql_rows_run *run = m->run;
	(void)thread;
	for (uint64_t b = chunk * CHUNK; b < end_of(chunk, run->blocks); b++) {
		const uint64_t *mask = run->masks + b * RQL_SCAN_MASK_WORDS;
		run->left[b] = 0;
		for (uint32_t w = 0; w < RQL_SCAN_MASK_WORDS; w++)
			run->left[b] += (uint32_t)__builtin_popcountll(mask[w]);
	}
}

static void each_chunk(struct marking *m, uint64_t count, void (*fn)(void *state, uint64_t chunk, unsigned thread))
{
	uint64_t chunks = (count + CHUNK - 1) / CHUNK;
	if (m->shared) {
		rql_pool_run(m->run->pool, chunks, fn, m);
		return;
	}
	for (uint64_t c = 0; c < chunks; c++)
		fn(m, c, 0);
}

/* The blocks that have any, ascending. */
static rql_status number_blocks(struct marking *m, struct rql_error *err)
{
	struct rql_rows_run *run = m->run;
	uint64_t words = m->blocks / 64 + 1, count = 0;
	for (uint64_t w = 0; w < words; w++) {
		m->before[w] = (uint32_t)count;
		count += (uint64_t)__builtin_popcountll(m->some[w]);
	}
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->block_of, count, err));
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->masks, count * RQL_SCAN_MASK_WORDS, err));
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->left, count, err));
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->first, count + 1, err));
	run->blocks = 0;
	for (uint64_t w = 0; w < words; w++)
		for (uint64_t left = m->some[w]; left; left &= left - 1)
			run->block_of[run->blocks++] = (uint32_t)(w * 64 + (uint64_t)__builtin_ctzll(left));
	return RQL_OK;
}

rql_status rql_rows_mark(struct rql_rows_run *run, struct rql_error *err)
{
	struct marking m = {.run = run, .shared = run->pool && run->listed_count >= LEAST_SHARED, .blocks = run->blocks};
	uint64_t words = m.blocks / 64 + 1, marked = 0;
	RQL_TRY(RQL_MEM_ZARRAY(&run->mem, m.some, words, err));
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, m.before, words, err));
	each_chunk(&m, run->listed_count, note_blocks);
	if (m.strange)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a device has found a row in a block that there is not");
	RQL_TRY(number_blocks(&m, err));
	each_chunk(&m, run->blocks, clear_masks);
	each_chunk(&m, run->listed_count, mark_rows);
	each_chunk(&m, run->blocks, count_rows);
	for (uint64_t b = 0; b < run->blocks; b++)
		marked += run->left[b];
	if (marked != run->listed_count)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a device has found a row twice");
	return RQL_OK;
}
