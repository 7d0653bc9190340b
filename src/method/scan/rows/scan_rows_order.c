/* Rows in the order of keys. The first few: each worker keeps the best so far in a heap, and what the worst of them is
 * becomes a filter on the first key's packed column, before everything else. Zone maps then drop whole blocks; blocks are
 * visited in the order of the best key that they can have, so that the filter bites at once.
 * All of them: the keys of what passed, with the rows' places, sorted by radix.
 *
 * Floor of the first N: once the heap is full, the packed bytes of the first key's column in blocks that may beat it. Of
 * a sort: words_per_entry * 8 bytes written, and read and written again by each pass. */
#include "method/scan/rows/scan_rows_query.h"

#include "column/record_sort.h"

/* ---- heaps ---- */

static inline bool less(const uint64_t *a, const uint64_t *b, uint32_t words)
{
	for (uint32_t i = 0; i + 1 < words; i++)
		if (a[i] != b[i])
			return a[i] < b[i];
	return a[words - 1] < b[words - 1];
}

static inline void copy_entry(uint64_t *to, const uint64_t *from, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		to[i] = from[i];
}

/* The entry sinks from `hole`, which is free, to where it belongs. */
static void sink(uint64_t *heap, uint64_t count, uint64_t hole, const uint64_t *entry, uint32_t words)
{
	for (uint64_t child; (child = 2 * hole + 1) < count; hole = child) {
		if (child + 1 < count && less(heap + child * words, heap + (child + 1) * words, words))
			child++;
		if (!less(entry, heap + child * words, words))
			break;
		copy_entry(heap + hole * words, heap + child * words, words);
	}
	copy_entry(heap + hole * words, entry, words);
}

static void add(const struct rql_scan_rows *rows, struct rql_rows_top *top, const uint64_t *entry)
{
	uint32_t words = rows->words_per_entry;
	if (top->used == rows->wanted) {
		if (less(entry, top->entries, words))
			sink(top->entries, top->used, 0, entry, words);
		return;
	}
	copy_entry(top->entries + top->used++ * words, entry, words);
	if (top->used < rows->wanted)
		return;
	for (uint64_t i = top->used / 2; i-- > 0;) {
		uint64_t moved[RQL_ROWS_KEY_WORDS + 1];
		copy_entry(moved, top->entries + i * words, words);
		sink(top->entries, top->used, i, moved, words);
	}
}

/* ---- the first ones ---- */

static void lower(_Atomic uint64_t *threshold, uint64_t word)
{
	uint64_t old = atomic_load_explicit(threshold, memory_order_relaxed);
	while (word < old &&
	       !atomic_compare_exchange_weak_explicit(threshold, &old, word, memory_order_relaxed, memory_order_relaxed)) {
	}
}

static void add_vector(struct rql_rows_run *run, struct rql_scan_worker *w, uint32_t thread, uint64_t block,
                       uint32_t first, uint32_t n)
{
	const struct rql_scan_rows *rows = run->rows;
	struct rql_rows_top *top = &run->tops[thread];
	uint64_t *keys = run->keys[thread], entry[RQL_ROWS_KEY_WORDS + 1];
	uint64_t bound = atomic_load_explicit(&run->threshold, memory_order_relaxed);
	rql_rows_keys(rows, w, first, n, keys);
	for (uint32_t i = 0; i < n; i++) {
		if (keys[i] > bound)
			continue;
		for (uint32_t k = 0; k < rows->key_words; k++)
			entry[k] = keys[(size_t)k * RQL_VECTOR_ROWS + i];
		entry[rows->key_words] = block << RQL_ROWS_BITS | w->selected[first + i];
		add(rows, top, entry);
		if (top->used == rows->wanted && top->entries[0] < bound)
			bound = top->entries[0];
	}
	if (top->used == rows->wanted)
		lower(&run->threshold, top->entries[0]);
}

/* Leaves in *before the test that a row of the block must pass to get in; NULL: none. false: no row of it does. */
static bool may_get_in(const struct rql_rows_run *run, struct rql_rows_top *top, uint64_t index, uint64_t block,
                       const struct rql_scan_step **before)
{
	const struct rql_scan_rows *rows = run->rows;
	uint64_t word = atomic_load_explicit(&run->threshold, memory_order_relaxed);
	bool strict = false, nothing, full = top->used == rows->wanted;
	*before = NULL;
	if (rows->checks)
		return true;
	if (full && rows->key_words == 1 && top->entries[0] <= word) {
		/* Rows of later blocks lose against an equal key. */
		word = top->entries[0];
		strict = top->entries[1] >> RQL_ROWS_BITS < block;
	}
	/* Nor can any block after it have a row that is wanted; but other workers are still at ones before. */
	if (run->visit && (run->visit[2 * index] > word || (strict && run->visit[2 * index] == word)))
		return false;
	if (rql_rows_threshold(rows, word, strict, &top->before, &nothing))
		*before = &top->before;
	return !nothing;
}

static rql_status top_block(struct rql_rows_run *run, struct rql_scan_worker *w, uint32_t thread, uint64_t index)
{
	const struct rql_scan_rows *rows = run->rows;
	struct rql_rows_top *top = &run->tops[thread];
	uint64_t block = run->visit ? run->visit[2 * index + 1] : index;
	if (!may_get_in(run, top, index, block, &w->before)) {
		w->counts.blocks++;
		w->counts.blocks_skipped++;
		return RQL_OK;
	}
	rql_rows_enter(run, w, block);
	rql_status status = run->left ? rql_rows_restore(run, w, block) : rql_scan_filter_block(w);
	w->before = NULL;
	RQL_TRY(status);
	if (w->left)
		rql_rows_list_mask(w);
	for (uint32_t first = 0; first < w->left; first += RQL_VECTOR_ROWS) {
		uint32_t n = w->left - first < RQL_VECTOR_ROWS ? w->left - first : RQL_VECTOR_ROWS;
		RQL_TRY(rql_rows_run_programs(rows, w, first, n));
		add_vector(run, w, thread, block, first, n);
	}
	return RQL_OK;
}

static struct rql_crew crew_of(struct rql_rows_run *run)
{
	return (struct rql_crew){.mem = &run->mem, .pool = run->pool, .progress = run->progress};
}

/* Blocks by their best possible key; equal ones as they stand in the table. */
static rql_status order_blocks(struct rql_rows_run *run, struct rql_error *err)
{
	const struct rql_scan_rows *rows = run->rows;
	const struct rql_store_segment *segment = NULL;
	struct rql_crew crew = crew_of(run);
	const uint32_t bits = 64;
	struct rql_records sort = {.rows = run->blocks, .words = 2, .limbs = 1, .limb_bits = &bits};
	uint64_t last = 0;
	bool ascending = true;
	if (rows->fields[0].column == RQL_NONE)
		return RQL_OK;
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, sort.records, 2 * run->blocks, err));
	for (uint64_t i = 0; i < run->blocks; i++) {
		uint64_t block = run->block_of ? run->block_of[i] : i;
		if (!segment || block - segment->first_block >= segment->blocks)
			segment = rql_store_locate(rows->scan->snapshot, block);
		uint64_t best = rql_rows_best(rows, segment, (uint32_t)(block - segment->first_block));
		sort.records[2 * i] = best;
		sort.records[2 * i + 1] = i;
		ascending = ascending && last <= best;
		last = best;
	}
	run->visit = sort.records;
	if (ascending)
		return RQL_OK;
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, sort.scratch, 2 * run->blocks, err));
	return rql_sort_records(&crew, &sort, &run->visit, err);
}

static rql_status sort_entries(struct rql_rows_run *run, uint64_t *entries, uint64_t count, uint32_t limbs,
                               struct rql_error *err)
{
	const struct rql_scan_rows *rows = run->rows;
	struct rql_crew crew = crew_of(run);
	uint32_t bits[RQL_ROWS_KEY_WORDS + 1];
	struct rql_records sort = {
		.records = entries, .rows = count, .words = rows->words_per_entry, .limbs = limbs, .limb_bits = bits};
	for (uint32_t l = 0; l <= rows->key_words; l++)
		bits[l] = 64;
	if (rows->key_bits)
		bits[rows->key_words - 1] = rows->key_bits - 64 * (rows->key_words - 1);
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, sort.scratch, count * sort.words, err));
	return rql_sort_records(&crew, &sort, &run->entries, err);
}

/* Rows [offset, offset + limit) of the sorted entries. */
static void pick(struct rql_rows_run *run, uint64_t count)
{
	const struct rql_scan_rows *rows = run->rows;
	uint64_t first = rows->offset < count ? rows->offset : count;
	run->result_rows = count - first < rows->limit ? count - first : rows->limit;
	run->picked = run->entries + first * rows->words_per_entry;
}

static rql_status make_heaps(struct rql_rows_run *run, struct rql_error *err)
{
	const struct rql_scan_rows *rows = run->rows;
	run->threshold = UINT64_MAX;
	RQL_TRY(RQL_MEM_ZARRAY(&run->mem, run->tops, run->threads, err));
	for (uint32_t t = 0; t < run->threads; t++)
		RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->tops[t].entries, rows->wanted * rows->words_per_entry, err));
	return rql_rows_make_keys(run, err);
}

/* All workers' first ones, sorted. */
static rql_status merge_heaps(struct rql_rows_run *run, uint64_t *out_count, struct rql_error *err)
{
	const struct rql_scan_rows *rows = run->rows;
	uint64_t words = rows->words_per_entry, count = 0, *entries;
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, entries, run->threads * rows->wanted * words, err));
	for (uint32_t t = 0; t < run->threads; t++) {
		memcpy(entries + count * words, run->tops[t].entries, run->tops[t].used * words * sizeof(*entries));
		count += run->tops[t].used;
	}
	*out_count = count;
	return sort_entries(run, entries, count, rows->words_per_entry, err);
}

/* A pass over the keys of rows of which it is known that they passed. */
static struct rql_rows_pass key_pass(const struct rql_rows_run *run, rql_rows_fn *fn)
{
	const struct rql_rows_columns *columns = &run->rows->ordering_columns;
	const bool shared = rql_rows_worth_sharing(run, columns, run->first[run->blocks], run->rows->field_count);
	return (struct rql_rows_pass){.blocks = run->blocks, .shared = shared, .columns = columns, .fn = fn};
}

rql_status rql_rows_top(struct rql_rows_run *run, struct rql_error *err)
{
	uint64_t count;
	struct rql_rows_pass pass = {.shared = true, .fn = top_block};
	RQL_TRY(make_heaps(run, err));
	if (run->listed || run->under) { /* blocks of few rows are not worth being put in order */
		RQL_TRY(rql_rows_select(run, err));
		pass = key_pass(run, top_block);
	} else {
		RQL_TRY(order_blocks(run, err));
		pass.blocks = run->blocks;
	}
	RQL_TRY(rql_rows_each_block(run, &pass, err));
	RQL_TRY(merge_heaps(run, &count, err));
	pick(run, count);
	return RQL_OK;
}

/* ---- what the first ones are not behind ---- */
/* The last of the first ones among some rows is not before the last of all rows' first ones. Of random rows, a block of n
 * leaves n times as many as are wanted; where zone maps tell, the best blocks leave hardly more. */

#define BOUND_BLOCKS 256u     /* at most: a million rows, some tenths of a millisecond */
#define BOUND_SHARE 16u       /* and of all blocks one in so many: nobody wants the whole query run here */
#define BOUND_LEAST_ROWS 4096 /* fewer are listed sooner than bounded */

bool rql_rows_boundable(const struct rql_scan_rows *rows)
{
	double passed = rows->scan->pass * (double)rows->scan->snapshot->rows, wanted = (double)rows->wanted;
	return rows->field_count && rows->wanted && rows->wanted <= RQL_ROWS_TOP && rows->fields[0].column != RQL_NONE &&
	       !rows->checks && passed > 4 * wanted + BOUND_LEAST_ROWS;
}

static uint64_t sampled_blocks(uint64_t blocks)
{
	uint64_t most = (blocks + BOUND_SHARE - 1) / BOUND_SHARE;
	return most < BOUND_BLOCKS ? most : BOUND_BLOCKS;
}

double rql_rows_bound_guess(const struct rql_scan_rows *rows)
{
	double blocks = (double)rows->scan->snapshot->blocks * rows->scan->read_share;
	return blocks >= 1 ? blocks / (double)sampled_blocks((uint64_t)blocks) : 1;
}

/* Leaves in run->visit the blocks to look at: of those that the zone maps leave, the best ones, and as many of the others,
 * evenly spread, because the best may have no row that passes. */
static uint64_t choose_blocks(struct rql_rows_run *run, double *rows_each)
{
	const struct rql_scan *scan = run->rows->scan;
	uint64_t left = 0;
	for (uint64_t i = 0; i < run->blocks; i++) {
		uint64_t block = run->visit[2 * i + 1];
		const struct rql_store_segment *segment = rql_store_locate(scan->snapshot, block);
		if (!rql_scan_may_pass(scan, segment, (uint32_t)(block - segment->first_block)))
			continue;
		run->visit[2 * left] = run->visit[2 * i];
		run->visit[2 * left++ + 1] = block;
	}
	uint64_t count = sampled_blocks(left), best = (count + 1) / 2, others = count - best;
	for (uint64_t i = 0; i < others; i++) {
		uint64_t from = best + (2 * i + 1) * (left - best) / (2 * others);
		run->visit[2 * (best + i)] = run->visit[2 * from];
		run->visit[2 * (best + i) + 1] = run->visit[2 * from + 1];
	}
	*rows_each = count ? (double)left / (double)count : 1;
	return count;
}

rql_status rql_rows_bound(struct rql_rows_run *run, struct rql_scan_step *out, double *rows_each, bool *found,
                          struct rql_error *err)
{
	const struct rql_scan_rows *rows = run->rows;
	uint64_t count;
	bool nothing;
	*found = false;
	RQL_TRY(make_heaps(run, err));
	RQL_TRY(order_blocks(run, err));
	count = choose_blocks(run, rows_each);
	const struct rql_rows_pass pass = {.blocks = count, .shared = true, .fn = top_block};
	RQL_TRY(rql_rows_each_block(run, &pass, err));
	RQL_TRY(merge_heaps(run, &count, err));
	if (count < rows->wanted)
		return RQL_OK;
	const uint64_t *last = run->entries + (rows->wanted - 1) * rows->words_per_entry;
	*found = rql_rows_threshold(rows, *last, false, out, &nothing);
	return RQL_OK;
}

/* ---- all of them ---- */

static rql_status key_block(struct rql_rows_run *run, struct rql_scan_worker *w, uint32_t thread, uint64_t block)
{
	const struct rql_scan_rows *rows = run->rows;
	uint32_t words = rows->words_per_entry;
	uint64_t *keys = run->keys[thread], *to = run->entries + run->first[block] * words;
	if (!run->left[block])
		return RQL_OK;
	rql_rows_enter(run, w, block);
	RQL_TRY(rql_rows_restore(run, w, block));
	rql_rows_list_mask(w);
	for (uint32_t first = 0; first < w->left; first += RQL_VECTOR_ROWS) {
		uint32_t n = w->left - first < RQL_VECTOR_ROWS ? w->left - first : RQL_VECTOR_ROWS;
		RQL_TRY(rql_rows_run_programs(rows, w, first, n));
		rql_rows_keys(rows, w, first, n, keys);
		for (uint32_t i = 0; i < n; i++, to += words) {
			for (uint32_t k = 0; k < rows->key_words; k++)
				to[k] = keys[(size_t)k * RQL_VECTOR_ROWS + i];
			to[rows->key_words] = block << RQL_ROWS_BITS | w->selected[first + i];
		}
	}
	return RQL_OK;
}

rql_status rql_rows_sort(struct rql_rows_run *run, struct rql_error *err)
{
	const struct rql_scan_rows *rows = run->rows;
	RQL_TRY(rql_rows_select(run, err));
	uint64_t count = run->first[run->blocks];
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->entries, count * rows->words_per_entry, err));
	RQL_TRY(rql_rows_make_keys(run, err));
	const struct rql_rows_pass pass = key_pass(run, key_block);
	RQL_TRY(rql_rows_each_block(run, &pass, err));
	RQL_TRY(sort_entries(run, run->entries, count, rows->key_words, err));
	pick(run, count);
	return RQL_OK;
}
