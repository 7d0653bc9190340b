/* A run: workers take morsels of blocks, filter each, and add what passed to groups of their own, which are merged at
 * the end. */
#include "method/scan/scan_query.h"

#include <stdlib.h>

/* A table that is larger than this is given back after the run. */
#define KEPT_WORDS (UINT64_C(1) << 18)
/* Fewer rows than this stay with the caller: waking a worker takes longer than the work. Of blocks under ROWS few rows
 * are read. */
#define LEAST_SHARED_ROWS (UINT64_C(1) << 16)
#define LEAST_SHARED_BLOCKS 128u

struct run {
	struct rql_scan *scan; /* for its idle workers, under the mutex; the rest is only read */
	struct rql_progress *progress;
	const struct rql_rows *under; /* NULL: all rows */
	uint32_t threads;
	uint64_t blocks;                  /* of the snapshot, or that have rows */
	uint64_t morsel;                  /* blocks */
	struct rql_scan_worker **workers; /* [threads], made when first used */
	_Atomic bool stop, cancelled;
};

/* ---- workers at rest ---- */

static rql_status take_worker(struct rql_scan *scan, struct rql_scan_worker **out, struct rql_error *err)
{
	pthread_mutex_lock(&scan->mutex);
	struct rql_scan_worker *w = scan->idle;
	if (w)
		scan->idle = w->next;
	pthread_mutex_unlock(&scan->mutex);
	rql_status status = w ? RQL_OK : rql_scan_worker_new(scan, &w, err);
	if (status == RQL_OK && !w->table.ready) {
		rql_groups_free(&w->table);
		if (!rql_groups_init(&w->table, &scan->layout, NULL)) {
			rql_scan_worker_free(w);
			return rql_error_memory(err, scan->layout.hashed ? 0 : scan->layout.group_count * scan->layout.row_words * 8,
			                        "the groups of a query");
		}
	}
	if (status != RQL_OK)
		return status;
	w->counts = (struct rql_scan_counts){0};
	w->status = RQL_OK;
	w->under = NULL;
	*out = w;
	return RQL_OK;
}

static void rest_worker(struct rql_scan *scan, struct rql_scan_worker *w)
{
	const struct rql_groups *table = &w->table;
	rql_scan_keyed_free(w);
	if (table->capacity * table->copies * scan->layout.row_words > KEPT_WORDS || !table->ready)
		rql_groups_free(&w->table);
	else
		rql_groups_clear(&w->table);
	rql_error_clear(&w->error);
	pthread_mutex_lock(&scan->mutex);
	w->next = scan->idle;
	scan->idle = w;
	pthread_mutex_unlock(&scan->mutex);
}

/* ---- a block ---- */

/* The rows that the FILTER clause of a slot lets through; NULL: all. */
static const uint64_t *slot_live(struct rql_scan_worker *w, const struct rql_scan_slot *slot, uint32_t n,
                                 uint64_t *room)
{
	if (slot->filter == RQL_NONE)
		return NULL;
	struct rql_lanes truth = rql_program_result(w->states[slot->filter], 0);
	const uint64_t *bits = truth.data;
	if (!truth.valid)
		return bits;
	for (uint32_t i = 0; i < (n + 63) / 64; i++)
		room[i] = bits[i] & truth.valid[i];
	return room;
}

static rql_status add_slots(struct rql_scan_worker *w, uint32_t first, uint32_t n, bool one)
{
	const struct rql_scan *scan = w->scan;
	struct rql_scan_values values = {NULL, NULL};
	uint32_t held = RQL_NONE; /* whose values these are: slots of an operand often follow each other */
	uint64_t room[RQL_VECTOR_WORDS];
	for (uint32_t s = 0; s < scan->slot_count; s++) {
		const struct rql_scan_slot *slot = &scan->slots[s];
		if (slot->operand == RQL_NONE)
			values = (struct rql_scan_values){NULL, NULL};
		else if (slot->operand != held)
			values = rql_scan_operand_values(w, slot->operand, first, n);
		held = slot->operand;
		if (!rql_scan_add(scan, slot, values, slot_live(w, slot, n, room), w->rows, n, one))
			return rql_error_set(&w->error, RQL_ERROR_UNSUPPORTED, "a sum does not fit 128 bits");
	}
	return RQL_OK;
}

static void add_few(struct rql_scan_worker *w, uint32_t first, uint32_t n)
{
	const struct rql_scan *scan = w->scan;
	uint32_t places[RQL_VECTOR_ROWS];
	rql_groups_places(&w->table, w->groups, n, places);
	if (scan->slot_count == 0)
		rql_scan_add_few(NULL, (struct rql_scan_values){NULL, NULL}, w->table.rows, places, n, true);
	for (uint32_t s = 0; s < scan->slot_count; s++) {
		const struct rql_scan_slot *slot = &scan->slots[s];
		rql_scan_add_few(slot, rql_scan_operand_values(w, slot->operand, first, n), w->table.rows, places, n, s == 0);
	}
}

static rql_status add_vector(struct rql_scan_worker *w, uint32_t first, uint32_t n)
{
	const struct rql_scan *scan = w->scan;
	for (uint32_t p = 0; p < scan->program_count; p++)
		if (scan->programs[p].in_answer)
			RQL_TRY(rql_scan_run_program(w, p, first, n));
	if (scan->layout.scalar) {
		w->rows[0] = w->table.rows;
		w->rows[0][0] += n;
		return scan->keyed_count ? rql_scan_keyed_add(w, first, n) : add_slots(w, first, n, true);
	}
	if (!rql_scan_number_groups(w, first, n))
		return rql_error_set(&w->error, RQL_ERROR_INTERNAL,
		                     "a group key's value is outside the range that it was given");
	if (scan->few && !scan->keyed_count) {
		add_few(w, first, n);
		return RQL_OK;
	}
	if (!rql_groups_rows(&w->table, w->groups, w->high, n, w->rows))
		return rql_error_memory(&w->error, w->table.hash.used * scan->layout.row_words * 16, "the groups of a query");
	/* With keys a row is its count alone: there are no aggregates. */
	return scan->keyed_count ? rql_scan_keyed_add(w, first, n) : add_slots(w, first, n, false);
}

/* A block that neither its filters nor its answer has read counts as skipped. */
static bool add_known(struct rql_scan_worker *w, uint64_t bytes_before)
{
	if (!w->scan->known || w->left != w->block_rows || !rql_scan_add_known(w))
		return false;
	bool read = w->counts.bytes_read != bytes_before;
	w->counts.blocks_skipped += !read;
	w->counts.rows_read -= read ? 0 : w->block_rows;
	return true;
}

static rql_status scan_block(struct rql_scan_worker *w)
{
	uint64_t bytes = w->counts.bytes_read;
	RQL_TRY(rql_scan_filter_block(w));
	if (add_known(w, bytes))
		return RQL_OK;
	for (uint32_t first = 0; first < w->left; first += RQL_VECTOR_ROWS)
		RQL_TRY(add_vector(w, first, w->left - first < RQL_VECTOR_ROWS ? w->left - first : RQL_VECTOR_ROWS));
	return RQL_OK;
}

static void enter_block(const struct run *run, struct rql_scan_worker *w, uint64_t index)
{
	uint64_t block = run->under ? run->under->blocks[index] : index;
	if (!w->segment || block - w->segment->first_block >= w->segment->blocks)
		w->segment = rql_store_locate(run->scan->snapshot, block);
	w->block = (uint32_t)(block - w->segment->first_block);
	w->block_rows = w->segment->columns[0].blocks[w->block].rows;
	w->under = run->under ? &run->under->parts[index] : NULL;
}

static void scan_morsel(void *state, uint64_t index, unsigned worker)
{
	struct run *run = state;
	struct rql_scan_worker *w = run->workers[worker];
	if (run->progress && atomic_load_explicit(&run->progress->cancel, memory_order_relaxed)) {
		run->cancelled = true;
		run->stop = true;
	}
	if (atomic_load_explicit(&run->stop, memory_order_relaxed))
		return;
	uint64_t block = index * run->morsel, end = block + run->morsel;
	end = end < run->blocks ? end : run->blocks;
	for (w->segment = NULL; block < end; block++) {
		enter_block(run, w, block);
		w->status = scan_block(w);
		if (w->status != RQL_OK) {
			run->stop = true;
			return;
		}
	}
}

/* ---- the whole ---- */

static void add_counts(struct rql_scan_counts *sum, const struct rql_scan_counts *more)
{
	sum->blocks += more->blocks;
	sum->blocks_skipped += more->blocks_skipped;
	sum->rows_read += more->rows_read;
	sum->rows_passed += more->rows_passed;
	sum->bytes_read += more->bytes_read;
}

/* Merges what the workers have and shapes the answer. */
static rql_status finish(struct run *run, struct rql_pool *pool, struct rql_arena *arena, struct rql_port *out,
                         struct rql_scan_counts *counts, struct rql_error *err)
{
	struct rql_groups **tables = calloc(run->threads, sizeof(struct rql_groups *));
	if (!tables)
		return rql_error_memory(err, run->threads * sizeof(*tables), "merging groups");
	uint32_t used = 0;
	for (uint32_t t = 0; t < run->threads; t++) {
		struct rql_scan_worker *w = run->workers[t];
		rql_groups_fold(&w->table);
		add_counts(counts, &w->counts);
		/* A worker that woke up too late has nothing to merge. */
		if (t == 0 || w->counts.rows_passed)
			tables[used++] = &w->table;
	}
	rql_status status = rql_groups_merge(tables, used, pool, err);
	tables[0]->pool = pool;
	if (status == RQL_OK)
		status = rql_groups_answer(tables[0], arena, out, err);
	if (status == RQL_OK && run->scan->keyed_count)
		status = rql_scan_keyed_answer(run->workers, run->threads, tables[0], arena, &out->keyed, err);
	free(tables);
	return status;
}

rql_status rql_scan_first_error(struct rql_scan_worker *const *workers, uint32_t count, bool cancelled,
                                struct rql_error *err)
{
	if (cancelled)
		return rql_error_set(err, RQL_ERROR_INTERRUPTED, "the query was interrupted");
	for (uint32_t t = 0; t < count; t++) {
		rql_status status = workers[t]->status;
		if (status == RQL_OK)
			continue;
		if (err)
			rql_error_move(err, &workers[t]->error);
		return status;
	}
	return RQL_OK;
}

bool rql_scan_worth_sharing(const struct rql_store_snapshot *snapshot, const struct rql_rows *under)
{
	return under ? under->block_count >= LEAST_SHARED_BLOCKS : snapshot->rows >= LEAST_SHARED_ROWS;
}

rql_status rql_scan_run(const struct rql_scan *scan, struct rql_device *device, const struct rql_rows *under,
                        struct rql_arena *arena, struct rql_progress *progress, struct rql_port *out,
                        struct rql_scan_counts *counts, struct rql_error *err)
{
	const struct rql_store_snapshot *snapshot = scan->snapshot;
	bool by_blocks = scan->known && !scan->step_count && !under; /* a descriptor each */
	bool shared = !by_blocks && rql_scan_worth_sharing(snapshot, under) && rql_pool_threads(device->pool) > 1;
	struct run run = {.scan = (struct rql_scan *)scan, .progress = progress, .under = under, .morsel = RQL_SCAN_MORSEL};
	struct rql_scan_counts sum = {0};
	struct rql_port answer;
	rql_status status = RQL_OK;
	uint32_t threads = shared ? rql_pool_threads(device->pool) : 1;
	run.workers = calloc(threads, sizeof(struct rql_scan_worker *));
	if (!run.workers)
		return rql_error_memory(err, threads * sizeof(*run.workers), "a query's workers");
	for (; run.threads < threads && status == RQL_OK; run.threads += status == RQL_OK)
		status = take_worker(run.scan, &run.workers[run.threads], err);
	if (status != RQL_OK)
		goto done;
	run.blocks = under ? under->block_count : snapshot->blocks;
	uint64_t morsels = (run.blocks + run.morsel - 1) / run.morsel;
	if (shared)
		rql_pool_run(device->pool, morsels, scan_morsel, &run);
	else
		for (uint64_t m = 0; m < morsels; m++)
			scan_morsel(&run, m, 0);
	status = rql_scan_first_error(run.workers, run.threads, run.cancelled, err);
	if (status == RQL_OK)
		status = finish(&run, device->pool, arena, &answer, &sum, err);
	if (status == RQL_OK) {
		answer.cells_read = sum.rows_read;
		answer.cells_covered = sum.rows_passed;
		answer.bytes_read = sum.bytes_read;
		answer.runs = sum.blocks - sum.blocks_skipped;
		*out = answer;
		if (counts)
			*counts = sum;
	}
done:
	for (uint32_t t = 0; t < run.threads; t++)
		rest_worker(run.scan, run.workers[t]);
	free(run.workers);
	return status;
}
