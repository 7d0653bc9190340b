/* Selections of rows: binding, which rows pass, and the run as a whole. */
#include "method/scan/rows/scan_rows_query.h"

#include <stdlib.h>

/* Blocks that the caller looks at alone when a limit may be reached in the first of them. */
#define ALONE_BLOCKS 16u

/* ---- binding ---- */

bool rql_rows_leaves_rows(const struct rql_request *request)
{
	/* Rows behind a limit are looked at by nobody when there is no order: neither here nor by the host. */
	return request->offset || (request->limit != UINT64_MAX && request->order_count);
}

/* An error counts in every row that passes: the host computes the outputs before it knows which rows are wanted. */
static void note_checks(struct rql_scan_rows *rows, const struct rql_request *request)
{
	for (uint32_t p = 0; p < request->program_count && rql_rows_leaves_rows(request); p++) {
		const bool answers = rows->gathered[p] || rows->ordering[p];
		rows->checked[p] = answers && rql_program_can_fail(request->programs[p].program);
		rows->checks |= rows->checked[p];
	}
	rows->checks |= rows->scan->checks && rql_rows_leaves_rows(request);
}

/* Outputs and order keys become a scan's operands: the least of each, as aggregates that are never computed. */
static rql_status bind(struct rql_scan_rows *rows, const struct rql_request *request, struct rql_device *device,
                       struct rql_agg *aggs, uint32_t *operands, struct rql_error *err)
{
	struct rql_request scan = *request;
	uint32_t outputs = request->output_count, orders = request->order_count;
	for (uint32_t i = 0; i < outputs + orders; i++)
		aggs[i] =
			(struct rql_agg){.kind = RQL_AGG_MIN,
			                 .source = i < outputs ? request->outputs[i].source : request->orders[i - outputs].source};
	scan.group_count = 0;
	scan.agg_count = outputs + orders;
	scan.aggs = aggs;
	RQL_TRY(rql_scan_prepare(&scan, device, &rows->scan, err));
	(void)rql_store_snapshot_retain(scan.snapshot);
	struct rql_arena *arena = rows->scan->arena;
	for (uint32_t i = 0; i < outputs + orders; i++)
		operands[i] = rows->scan->slots[rows->scan->layout.values[i].state].operand;
	rows->outputs = RQL_NEW_ARRAY(arena, struct rql_rows_output, outputs);
	rows->fields = RQL_NEW_ARRAY(arena, struct rql_rows_field, orders);
	rows->ordering = RQL_NEW_ARRAY(arena, bool, scan.program_count);
	rows->gathered = RQL_NEW_ARRAY(arena, bool, scan.program_count);
	rows->checked = RQL_NEW_ARRAY(arena, bool, scan.program_count);
	rows->ordering_columns.index = RQL_NEW_ARRAY(arena, uint32_t, scan.snapshot->column_count);
	rows->gathered_columns.index = RQL_NEW_ARRAY(arena, uint32_t, scan.snapshot->column_count);
	if (!rows->outputs || !rows->fields || !rows->ordering || !rows->gathered || !rows->checked ||
	    !rows->ordering_columns.index || !rows->gathered_columns.index)
		return rql_error_memory(err, outputs * sizeof(*rows->outputs), "preparing rows of a scan");
	RQL_TRY(rql_rows_bind_outputs(rows, request, operands, err));
	RQL_TRY(rql_rows_bind_order(rows, request, operands + outputs, err));
	note_checks(rows, request);
	for (uint32_t i = 0; i < outputs; i++)
		rql_rows_note_columns(rows->scan, &request->outputs[i].source, &rows->gathered_columns);
	for (uint32_t i = 0; i < orders; i++)
		rql_rows_note_columns(rows->scan, &request->orders[i].source, &rows->ordering_columns);
	return RQL_OK;
}

rql_status rql_scan_rows_prepare(const struct rql_request *request, struct rql_device *device,
                                 struct rql_scan_rows **out, struct rql_error *err)
{
	uint64_t count = (uint64_t)request->output_count + request->order_count;
	struct rql_scan_rows *rows = calloc(1, sizeof(*rows));
	struct rql_agg *aggs = calloc(count + 1, sizeof(*aggs));
	uint32_t *operands = calloc(count + 1, sizeof(*operands));
	rql_status status =
		rows && aggs && operands ? RQL_OK : rql_error_memory(err, count * sizeof(*aggs), "preparing rows");
	if (status == RQL_OK && !request->output_count)
		status = rql_error_set(err, RQL_ERROR_INTERNAL, "rows of a scan: there is no output");
	if (status == RQL_OK) {
		rows->limit = request->limit;
		rows->offset = request->offset;
		if (__builtin_add_overflow(request->limit, request->offset, &rows->wanted))
			rows->wanted = UINT64_MAX;
		rows->budget = request->budget;
		status = bind(rows, request, device, aggs, operands, err);
	}
	free(aggs);
	free(operands);
	if (status != RQL_OK) {
		rql_scan_rows_free(rows);
		return status;
	}
	*out = rows;
	return RQL_OK;
}

void rql_scan_rows_free(struct rql_scan_rows *rows)
{
	if (rows && rows->scan) {
		const struct rql_store_snapshot *snapshot = rows->scan->snapshot;
		rql_scan_free(rows->scan);
		rql_store_snapshot_release(snapshot);
	}
	free(rows);
}

uint64_t rql_scan_rows_bytes(const struct rql_scan_rows *rows)
{
	return sizeof(*rows) + rql_arena_bytes(rows->scan->arena);
}

/* ---- workers ---- */

static rql_status take_workers(struct rql_rows_run *run, uint32_t threads, struct rql_error *err)
{
	struct rql_scan *scan = run->rows->scan;
	RQL_TRY(RQL_MEM_ZARRAY(&run->mem, run->workers, threads, err));
	for (; run->threads < threads; run->threads++) {
		pthread_mutex_lock(&scan->mutex);
		struct rql_scan_worker *w = scan->idle;
		if (w)
			scan->idle = w->next;
		pthread_mutex_unlock(&scan->mutex);
		if (!w)
			RQL_TRY(rql_scan_worker_new(scan, &w, err));
		w->counts = (struct rql_scan_counts){0};
		w->status = RQL_OK;
		w->under = NULL;
		run->workers[run->threads] = w;
	}
	return RQL_OK;
}

static void rest_workers(struct rql_rows_run *run)
{
	struct rql_scan *scan = run->rows->scan;
	for (uint32_t t = 0; t < run->threads; t++) {
		struct rql_scan_worker *w = run->workers[t];
		rql_error_clear(&w->error);
		pthread_mutex_lock(&scan->mutex);
		w->next = scan->idle;
		scan->idle = w;
		pthread_mutex_unlock(&scan->mutex);
	}
}

/* ---- loops over blocks ---- */

struct loop {
	struct rql_rows_run *run;
	const struct rql_rows_pass *pass;
};

static void run_morsel(void *state, uint64_t index, unsigned thread)
{
	struct loop *loop = state;
	struct rql_rows_run *run = loop->run;
	const struct rql_rows_pass *pass = loop->pass;
	struct rql_scan_worker *w = run->workers[thread];
	uint64_t block = pass->first + index * RQL_SCAN_MORSEL, end = block + RQL_SCAN_MORSEL;
	end = end < pass->first + pass->blocks ? end : pass->first + pass->blocks;
	if (run->progress && atomic_load_explicit(&run->progress->cancel, memory_order_relaxed)) {
		run->cancelled = true;
		run->stop = true;
	}
	if (pass->columns)
		rql_rows_touch(run, pass->columns, block, end);
	for (; block < end && !atomic_load_explicit(&run->stop, memory_order_relaxed); block++) {
		w->status = pass->fn(run, w, thread, block);
		if (w->status != RQL_OK)
			run->stop = true;
	}
}

rql_status rql_rows_each_block(struct rql_rows_run *run, const struct rql_rows_pass *pass, struct rql_error *err)
{
	struct loop loop = {run, pass};
	uint64_t morsels = (pass->blocks + RQL_SCAN_MORSEL - 1) / RQL_SCAN_MORSEL;
	run->stop = false;
	if (pass->shared && run->pool)
		rql_pool_run(run->pool, morsels, run_morsel, &loop);
	else
		for (uint64_t m = 0; m < morsels; m++)
			run_morsel(&loop, m, 0);
	return rql_scan_first_error(run->workers, run->threads, run->cancelled, err);
}

void rql_rows_enter(const struct rql_rows_run *run, struct rql_scan_worker *w, uint64_t block)
{
	w->under = run->under ? &run->under->parts[block] : NULL;
	block = run->block_of ? run->block_of[block] : block;
	w->segment = rql_store_locate(w->scan->snapshot, block);
	w->block = (uint32_t)(block - w->segment->first_block);
	w->block_rows = w->segment->columns[0].blocks[w->block].rows;
	w->generation++;
}

/* ---- which rows pass ---- */

rql_status rql_rows_restore(struct rql_rows_run *run, struct rql_scan_worker *w, uint64_t block)
{
	w->left = run->left[block];
	w->full = w->left == w->block_rows;
	if (run->listed)
		return rql_rows_mark(run, w, block);
	if (w->full)
		rql_scan_fill_mask(w->mask, w->block_rows);
	else
		memcpy(w->mask, run->masks + block * RQL_SCAN_MASK_WORDS, (w->block_rows + 63) / 64 * sizeof(*w->mask));
	return RQL_OK;
}

/* A limit is reached when the blocks up to some one, all of them done, have enough rows. */
static void count_done(struct rql_rows_run *run, uint64_t block)
{
	pthread_mutex_lock(&run->mutex);
	run->done[block] = true;
	while (run->complete < run->blocks && run->done[run->complete])
		run->passed += run->left[run->complete++];
	if (run->passed >= run->rows->wanted)
		run->stop = true;
	pthread_mutex_unlock(&run->mutex);
}

static rql_status select_block(struct rql_rows_run *run, struct rql_scan_worker *w, uint32_t thread, uint64_t block)
{
	(void)thread;
	rql_rows_enter(run, w, block);
	RQL_TRY(rql_scan_filter_block(w));
	run->left[block] = w->left;
	if (w->left && w->left < RQL_STORE_BLOCK && run->masks)
		memcpy(run->masks + block * RQL_SCAN_MASK_WORDS, w->mask, (w->block_rows + 63) / 64 * sizeof(*w->mask));
	if (run->done)
		count_done(run, block);
	return RQL_OK;
}

static void number_rows(struct rql_rows_run *run)
{
	run->first[0] = 0;
	for (uint64_t b = 0; b < run->blocks; b++)
		run->first[b + 1] = run->first[b] + run->left[b];
}

rql_status rql_rows_select(struct rql_rows_run *run, struct rql_error *err)
{
	const struct rql_scan_rows *rows = run->rows;
	bool limited = rows->wanted != UINT64_MAX && !rows->field_count;
	uint64_t alone = !limited ? 0 : run->blocks < ALONE_BLOCKS ? run->blocks : ALONE_BLOCKS;
	if (run->listed)
		return rql_rows_split(run, err);
	RQL_TRY(RQL_MEM_ZARRAY(&run->mem, run->left, run->blocks, err));
	RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->first, run->blocks + 1, err));
	if (rows->scan->step_count || rows->scan->under)
		RQL_TRY(RQL_MEM_ARRAY(&run->mem, run->masks, run->blocks * RQL_SCAN_MASK_WORDS, err));
	if (limited)
		RQL_TRY(RQL_MEM_ZARRAY(&run->mem, run->done, run->blocks, err));
	const struct rql_rows_pass few = {0, alone, false, NULL, select_block};
	const struct rql_rows_pass others = {alone, run->blocks - alone, true, NULL, select_block};
	if (alone)
		RQL_TRY(rql_rows_each_block(run, &few, err));
	if (!limited || run->passed < rows->wanted)
		RQL_TRY(rql_rows_each_block(run, &others, err));
	/* Blocks behind the one that reached the limit may have been looked at, or not. */
	run->blocks = limited ? run->complete : run->blocks;
	number_rows(run);
	return RQL_OK;
}

/* ---- programs of all rows that passed ---- */

void rql_rows_list_mask(struct rql_scan_worker *w)
{
	if (w->selected_generation != w->generation)
		(void)w->scan->kernels->select(w->mask, (w->block_rows + 63) / 64, w->selected);
	w->selected_generation = w->generation;
}

rql_status rql_rows_run_programs(const struct rql_scan_rows *rows, struct rql_scan_worker *w, uint32_t first,
                                 uint32_t n)
{
	for (uint32_t p = 0; p < rows->scan->program_count; p++)
		if (rows->ordering[p] || rows->checked[p])
			RQL_TRY(rql_scan_run_program(w, p, first, n));
	return RQL_OK;
}

static rql_status check_block(struct rql_rows_run *run, struct rql_scan_worker *w, uint32_t thread, uint64_t block)
{
	(void)thread;
	if (!run->left[block])
		return RQL_OK;
	rql_rows_enter(run, w, block);
	RQL_TRY(rql_rows_restore(run, w, block));
	rql_rows_list_mask(w);
	for (uint32_t first = 0; first < w->left; first += RQL_VECTOR_ROWS) {
		uint32_t n = w->left - first < RQL_VECTOR_ROWS ? w->left - first : RQL_VECTOR_ROWS;
		RQL_TRY(rql_rows_run_programs(run->rows, w, first, n));
	}
	return RQL_OK;
}

static rql_status in_table_order(struct rql_rows_run *run, struct rql_error *err)
{
	const struct rql_scan_rows *rows = run->rows;
	RQL_TRY(rql_rows_select(run, err));
	const struct rql_rows_pass check = {.blocks = run->blocks, .shared = true, .fn = check_block};
	if (rows->checks)
		RQL_TRY(rql_rows_each_block(run, &check, err));
	uint64_t passed = run->first[run->blocks];
	run->skipped = rows->offset < passed ? rows->offset : passed;
	run->result_rows = passed - run->skipped < rows->limit ? passed - run->skipped : rows->limit;
	return RQL_OK;
}

/* ---- the whole ---- */

static void sum_counts(const struct rql_rows_run *run, struct rql_scan_counts *out)
{
	*out = (struct rql_scan_counts){0};
	for (uint32_t t = 0; t < run->threads; t++) {
		const struct rql_scan_counts *c = &run->workers[t]->counts;
		out->blocks += c->blocks;
		out->blocks_skipped += c->blocks_skipped;
		out->rows_read += c->rows_read;
		out->rows_passed += c->rows_passed;
		out->bytes_read += c->bytes_read;
	}
}

static rql_status run_passes(struct rql_rows_run *run, struct rql_error *err)
{
	const struct rql_scan_rows *rows = run->rows;
	if (rows->limit == 0)
		run->blocks = 0;
	else if (!rows->field_count)
		RQL_TRY(in_table_order(run, err));
	else if (rows->wanted <= RQL_ROWS_TOP)
		RQL_TRY(rql_rows_top(run, err));
	else
		RQL_TRY(rql_rows_sort(run, err));
	return rql_rows_gather(run, err);
}

static rql_status open_run(struct rql_rows_run *run, const struct rql_scan_rows *rows, struct rql_pool *pool,
                           const struct rql_rows *under, struct rql_progress *progress, struct rql_error *err)
{
	const struct rql_store_snapshot *snapshot = rows->scan->snapshot;
	*run = (struct rql_rows_run){
		.rows = rows, .under = under, .progress = progress, .blocks = snapshot->blocks, .mutex = PTHREAD_MUTEX_INITIALIZER};
	if (under) {
		run->blocks = under->block_count;
		run->block_of = under->blocks;
	}
	if (pool && rql_scan_worth_sharing(snapshot, under) && rql_pool_threads(pool) > 1)
		run->pool = pool;
	rql_mem_init(&run->mem, rows->budget, "the rows of a query");
	return take_workers(run, run->pool ? rql_pool_threads(run->pool) : 1, err);
}

rql_status rql_rows_open(struct rql_rows_run *run, const struct rql_scan_rows *rows, struct rql_device *device,
                         const struct rql_rows *under, struct rql_progress *progress, struct rql_error *err)
{
	return open_run(run, rows, device->pool, under, progress, err);
}

void rql_rows_close(struct rql_rows_run *run)
{
	rest_workers(run);
	rql_mem_clear(&run->mem);
	pthread_mutex_destroy(&run->mutex);
}

static rql_status run_whole(struct rql_rows_run *run, rql_status opened, struct rql_batch **out,
                            struct rql_scan_counts *counts, struct rql_error *err)
{
	rql_status status = opened == RQL_OK ? run_passes(run, err) : opened;
	if (status == RQL_OK) {
		*out = run->batch;
		if (counts)
			sum_counts(run, counts);
	} else {
		rql_batch_release(run->batch);
	}
	rql_rows_close(run);
	return status;
}

rql_status rql_scan_rows_run(const struct rql_scan_rows *rows, struct rql_device *device, const struct rql_rows *under,
                             struct rql_progress *progress, struct rql_batch **out, struct rql_scan_counts *counts, struct rql_error *err)
{
	struct rql_rows_run run;
	rql_status status = rql_rows_open(&run, rows, device, under, progress, err);
	return run_whole(&run, status, out, counts, err);
}

rql_status rql_rows_run_listed(const struct rql_scan_rows *rows, struct rql_device *device,
                               struct rql_progress *progress, const uint32_t *listed, uint64_t count,
                               struct rql_batch **out, struct rql_error *err)
{
	static const uint32_t none;
	struct rql_rows_run run;
	rql_status status = open_run(&run, rows, count > RQL_ROWS_FEW ? device->pool : NULL, NULL, progress, err);
	run.listed = listed ? listed : &none;
	run.listed_count = count;
	return run_whole(&run, status, out, NULL, err);
}
