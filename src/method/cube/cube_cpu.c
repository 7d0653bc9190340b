/* The cube on the CPU: intervals of keys are enumerated, looked up in the directory, and their cells summed.
 *
 * Intervals are independent of each other, so they go through the stages in batches: while the processor waits for one
 * directory entry or cell it fetches those of the others. */
#include <stdatomic.h>
#include <stdlib.h>

#include "method/cube/cube_query.h"
#include "util/touch.h"

/* A loop that is shared between threads has so many chunks for each of them, to even out their loads. */
#define CHUNKS_PER_THREAD 8u
#define CHUNK_NS 4000.0 /* and no chunk has less work than this */

struct run {
	const struct rql_prepared *p;
	uint64_t units_per_chunk;
	struct rql_cube_groups *groups; /* [threads] */
	struct rql_arena *arena;        /* only when one thread runs */
	struct rql_progress *progress;
	atomic_bool out_of_memory, cancelled;
};

/* Intervals of one box on their way through the stages. */
struct batch {
	const struct rql_cube_bound_box *box;
	struct rql_cube_groups *groups;
	uint32_t keys; /* filled entries of the next three */
	uint64_t begin[RQL_CUBE_BATCH], end[RQL_CUBE_BATCH], group[RQL_CUBE_BATCH];
	uint32_t part[RQL_CUBE_BATCH];
	uint32_t spans; /* filled entries of the next two: cells that go to the last stage */
	struct rql_cube_span span[RQL_CUBE_BATCH];
	uint64_t span_group[RQL_CUBE_BATCH];
};

/* ---- last stage: cells to sums ---- */

static bool finish_spans(struct batch *b)
{
	uint32_t count = b->spans;
	b->spans = 0;
	if (b->box->test_count) {
		for (uint32_t i = 0; i < count; i++)
			if (!rql_cube_add_tested(b->groups, b->box, b->span[i], b->span_group[i]))
				return false;
		return true;
	}
	uint64_t *rows[RQL_CUBE_BATCH];
	if (!count)
		return true;
	if (!rql_groups_reserve(&b->groups->table, count))
		return false;
	for (uint32_t i = 0; i < count; i++)
		rows[i] = rql_groups_row(&b->groups->table, b->span_group[i]);
	rql_cube_add_spans(b->groups, b->span, rows, count);
	return true;
}

static bool put_span(struct batch *b, uint64_t begin, uint64_t end, uint64_t group)
{
	b->span[b->spans] = (struct rql_cube_span){begin, end};
	b->span_group[b->spans] = group;
	return ++b->spans < RQL_CUBE_BATCH || finish_spans(b);
}

/* ---- middle stage: searching the first residual digit ---- */

/* Where a value should be among the sorted codes of cells [begin, end), if they were even. */
static uint64_t guess(struct rql_cube_span cells, uint64_t value, uint32_t radix)
{
	return cells.begin + (uint64_t)((double)(cells.end - cells.begin) * (double)value / radix);
}

/* The first cell of the sorted run whose code is at least value: doubling steps from the guess, then halving. */
static uint64_t lower_bound(const struct rql_packed *codes, struct rql_cube_span cells, uint64_t value, uint32_t radix)
{
	if (value <= (uint64_t)codes->base || cells.begin == cells.end)
		return cells.begin;
	if (value >= radix)
		return cells.end;
	uint64_t low = cells.begin, high = cells.end, at = guess(cells, value, radix), step = 1;
	uint64_t wanted = value - (uint64_t)codes->base;
	while (low < high) {
		at = at < low ? low : at >= high ? high - 1 : at;
		if (rql_packed_field(codes, at) < wanted) {
			low = at + 1;
			if (high - low > step && rql_packed_field(codes, at + step) >= wanted)
				high = at + step;
			at = high - low > step ? at + step : low + (high - low) / 2;
		} else {
			high = at;
			if (high - low > step && rql_packed_field(codes, at - step) < wanted)
				low = at - step + 1;
			at = high - low > step ? at - step : low + (high - low) / 2;
		}
		step *= 2;
	}
	return low;
}

static void prefetch_search(const struct rql_cube_bound_box *box, struct rql_cube_span cells)
{
	const struct rql_packed *codes = box->search_codes;
	if (!codes->data)
		return;
	uint32_t ends = box->search_count < 4 ? box->search_count : 4; /* neighbours share their lines */
	for (uint32_t i = 0; i < ends; i++) {
		rql_touch(codes->data + guess(cells, box->searches[i].begin, box->search_radix) * codes->bits / 8);
		rql_touch(codes->data + guess(cells, box->searches[i].end, box->search_radix) * codes->bits / 8);
	}
}

static bool search_spans(struct batch *b, const struct rql_cube_span *cells, const uint64_t *group, uint32_t count)
{
	const struct rql_cube_bound_box *box = b->box;
	for (uint32_t i = 0; i < count; i++)
		prefetch_search(box, cells[i]);
	for (uint32_t i = 0; i < count; i++) {
		struct rql_cube_span rest = cells[i];
		uint64_t value = 0;
		for (uint32_t s = 0; s < box->search_count && rest.begin < rest.end; s++) {
			const struct rql_cube_segment *segment = &box->searches[s];
			if (segment->begin > value)
				rest.begin = lower_bound(box->search_codes, rest, segment->begin, box->search_radix);
			uint64_t end = lower_bound(box->search_codes, rest, segment->end, box->search_radix);
			if (rest.begin < end && !put_span(b, rest.begin, end, group[i] + segment->group))
				return false;
			rest.begin = end;
			value = segment->end;
		}
	}
	return true;
}

/* ---- first stage: keys to cells ---- */

/* The lines that the sums of an interval start and end in. */
static void prefetch_span(const struct rql_prepared *p, uint64_t begin, uint64_t end)
{
	for (uint32_t s = 0; s < p->slot_count; s++) {
		const struct rql_cube_slot *slot = &p->slots[s];
		if (slot->cumulative) {
			rql_touch(slot->cumulative + begin / RQL_CUBE_BLOCK);
			rql_touch(slot->cumulative + end / RQL_CUBE_BLOCK);
		}
		if (slot->values && slot->values->data) {
			rql_touch(slot->values->data + begin * slot->values->bits / 8);
			rql_touch(slot->values->data + end * slot->values->bits / 8);
		}
	}
}

static bool flush_keys(struct batch *b)
{
	const struct rql_prepared *p = b->groups->prepared;
	const struct rql_cube *cube = p->cube;
	bool search = b->box->search_count > 0;
	struct rql_cube_span cells[RQL_CUBE_BATCH];
	uint64_t group[RQL_CUBE_BATCH];
	uint32_t count = 0;
	for (uint32_t i = 0; i < b->keys; i++) {
		uint64_t begin = rql_cube_cell_of(cube, b->begin[i]), end = rql_cube_cell_of(cube, b->end[i]);
		if (p->parts > 1) {
			uint64_t all = end - begin, share = all / p->parts, rest = all % p->parts, part = b->part[i];
			begin += share * part + (part < rest ? part : rest);
			end = begin + share + (part < rest);
		}
		if (begin == end)
			continue;
		/* Cells of one group that touch are one run: a combination's last segment and the next one's first. */
		if (!search && count && cells[count - 1].end == begin && group[count - 1] == b->group[i]) {
			cells[count - 1].end = end;
			continue;
		}
		if (!b->box->test_count)
			prefetch_span(p, begin, end);
		cells[count] = (struct rql_cube_span){begin, end};
		group[count++] = b->group[i];
	}
	b->keys = 0;
	if (search)
		return search_spans(b, cells, group, count);
	for (uint32_t i = 0; i < count; i++)
		if (!put_span(b, cells[i].begin, cells[i].end, group[i]))
			return false;
	return true;
}

static void prefetch_key(const struct rql_cube *cube, uint64_t key)
{
	if (cube->directory32)
		rql_touch(cube->directory32 + key);
	else
		rql_touch(cube->directory64 + key);
}

/* Units [first, end) of a box, counted from its own first one. */
static bool run_units(struct batch *b, uint64_t first, uint64_t end)
{
	const struct rql_cube_bound_box *box = b->box;
	const struct rql_cube *cube = b->groups->prepared->cube;
	uint32_t parts = b->groups->prepared->parts, at[RQL_CUBE_MAX_DIMENSIONS];
	uint32_t part = (uint32_t)(first % parts);
	uint32_t segment = (uint32_t)(first / parts % box->segment_count);
	uint64_t combination = first / parts / box->segment_count;
	for (uint32_t l = box->level_count; l-- > 0;) {
		at[l] = (uint32_t)(combination % box->levels[l].count);
		combination /= box->levels[l].count;
	}
	while (first < end) {
		uint64_t key = 0, group = 0;
		for (uint32_t l = 0; l < box->level_count; l++) {
			key += box->levels[l].steps[at[l]].key;
			group += box->levels[l].steps[at[l]].group;
		}
		for (; segment < box->segment_count && first < end; segment++) {
			for (; part < parts && first < end; part++, first++) {
				b->begin[b->keys] = key + box->segments[segment].begin;
				b->end[b->keys] = key + box->segments[segment].end;
				b->group[b->keys] = group + box->segments[segment].group;
				b->part[b->keys] = part;
				prefetch_key(cube, b->begin[b->keys]);
				prefetch_key(cube, b->end[b->keys]);
				if (++b->keys == RQL_CUBE_BATCH && !flush_keys(b))
					return false;
			}
			part = 0;
		}
		segment = 0;
		for (uint32_t l = box->level_count; l-- > 0;) {
			if (++at[l] < box->levels[l].count)
				break;
			at[l] = 0;
		}
	}
	return flush_keys(b) && finish_spans(b);
}

/* ---- the run ---- */

static void run_chunk(void *state, uint64_t index, unsigned worker)
{
	struct run *run = state;
	const struct rql_prepared *p = run->p;
	struct rql_cube_groups *groups = &run->groups[worker];
	if (run->progress && atomic_load_explicit(&run->progress->cancel, memory_order_relaxed))
		atomic_store(&run->cancelled, true);
	if (atomic_load_explicit(&run->cancelled, memory_order_relaxed) ||
	    atomic_load_explicit(&run->out_of_memory, memory_order_relaxed))
		return;
	groups->prepared = p;
	if (!groups->table.ready && !rql_groups_init(&groups->table, &p->layout, run->arena)) {
		atomic_store(&run->out_of_memory, true);
		return;
	}
	uint64_t first = index * run->units_per_chunk, end = first + run->units_per_chunk;
	end = end < p->unit_count ? end : p->unit_count;
	struct batch batch;
	batch.groups = groups;
	for (uint32_t i = 0; i < p->box_count; i++) {
		batch.box = &p->boxes[i];
		uint64_t box_first = batch.box->first_unit,
				 box_end = i + 1 < p->box_count ? p->boxes[i + 1].first_unit : p->unit_count;
		uint64_t from = first > box_first ? first : box_first, to = end < box_end ? end : box_end;
		if (from >= to)
			continue;
		batch.keys = batch.spans = 0;
		if (!run_units(&batch, from - box_first, to - box_first)) {
			atomic_store(&run->out_of_memory, true);
			return;
		}
	}
}

/* How many chunks the work is worth; 1: inline. */
static uint64_t chunk_count(const struct rql_prepared *p, const struct rql_device *device)
{
	if (!rql_cube_is_shared(p, device))
		return 1;
	double chunks = p->work_ns / CHUNK_NS, most = (double)rql_pool_threads(device->pool) * CHUNKS_PER_THREAD;
	chunks = chunks < 2 ? 2 : chunks > most ? most : chunks;
	return chunks < (double)p->unit_count ? (uint64_t)chunks : p->unit_count;
}

rql_status rql_cube_answer(const struct rql_prepared *p, const struct rql_groups *g, struct rql_arena *arena,
                           struct rql_port *out, struct rql_error *err)
{
	RQL_TRY(rql_groups_answer(g, arena, out, err));
	out->sorted_keys = out->sorted_keys ? p->sorted_keys : 0;
	return RQL_OK;
}

/* tables: room for one a thread. */
static rql_status finish_run(struct run *run, unsigned threads, struct rql_pool *pool, struct rql_groups **tables,
                             struct rql_arena *arena, struct rql_port *out, struct rql_error *err)
{
	if (atomic_load(&run->cancelled))
		return rql_error_set(err, RQL_ERROR_INTERRUPTED, "the query was interrupted");
	struct rql_groups *all = &run->groups[0].table;
	struct rql_cube_groups sum = {0};
	if (atomic_load(&run->out_of_memory) || (!all->ready && !rql_groups_init(all, &run->p->layout, run->arena)))
		return rql_error_memory(err, run->p->layout.group_count * run->p->layout.row_words * 8, "the groups of a query");
	uint32_t count = 0;
	for (unsigned w = 0; w < threads; w++) {
		struct rql_cube_groups *groups = &run->groups[w];
		if (groups->table.ready)
			tables[count++] = &groups->table;
		sum.cells_read += groups->cells_read;
		sum.cells_covered += groups->cells_covered;
		sum.bytes_read += groups->bytes_read;
		sum.runs += groups->runs;
	}
	RQL_TRY(rql_groups_merge(tables, count, pool, err));
	all->pool = pool;
	RQL_TRY(rql_cube_answer(run->p, all, arena, out, err));
	out->cells_read = sum.cells_read;
	out->cells_covered = sum.cells_covered;
	out->bytes_read = sum.bytes_read;
	out->runs = sum.runs;
	return RQL_OK;
}

static rql_status run_request(const struct rql_prepared *p, struct rql_device *device, const struct rql_run *how,
                              struct rql_port *out, struct rql_error *err)
{
	uint64_t chunks = chunk_count(p, device);
	unsigned threads = chunks > 1 ? rql_pool_threads(device->pool) : 1;
	struct run run = {.p = p, .progress = how->progress, .arena = threads == 1 ? how->arena : NULL};
	run.units_per_chunk = (p->unit_count + chunks - 1) / chunks;
	struct rql_cube_groups single = {0};
	struct rql_groups *alone, **tables = threads == 1 ? &alone : calloc(threads, sizeof(*tables));
	run.groups = threads == 1 ? &single : calloc(threads, sizeof(*run.groups));
	if (!run.groups || !tables) {
		free(threads == 1 ? NULL : tables);
		free(threads == 1 ? NULL : run.groups);
		return rql_error_memory(err, threads * sizeof(*run.groups), "a query's accumulators");
	}
	if (threads == 1)
		run_chunk(&run, 0, 0);
	else
		rql_pool_run(device->pool, chunks, run_chunk, &run);
	rql_status status = finish_run(&run, threads, device->pool, tables, how->arena, out, err);
	for (unsigned w = 0; w < threads; w++)
		rql_groups_free(&run.groups[w].table);
	if (threads > 1) {
		free(run.groups);
		free(tables);
	}
	return status;
}

/* ---- the method ---- */

const char *rql_cube_form_refusal(const struct rql_request *request)
{
	for (uint32_t a = 0; a < request->agg_count; a++)
		if (request->aggs[a].source.kind != RQL_SOURCE_COLUMN || request->aggs[a].filter)
			return "a cube aggregates measures, not expressions, and without FILTER";
	for (uint32_t g = 0; g < request->group_count; g++)
		if (request->groups[g].source.kind != RQL_SOURCE_COLUMN)
			return "a cube groups by dimensions, not by expressions";
	return NULL;
}

const char *rql_cube_refusal(const struct rql_request *request)
{
	const struct rql_relation *relation = request->relation;
	const struct rql_cube *cube = (const struct rql_cube *)relation;
	const char *why = rql_cube_form_refusal(request);
	for (uint32_t a = 0; a < request->agg_count && !why; a++) {
		const struct rql_agg *agg = &request->aggs[a];
		if (agg->kind == RQL_AGG_COUNT_STAR)
			continue;
		if (agg->source.index >= relation->measure_count) {
			why = "the cube has no such measure";
			break;
		}
		const struct rql_measure *measure = &relation->measures[agg->source.index];
		if (agg->kind == RQL_AGG_SUM && !measure->sum)
			why = "the cube has no sum of this measure";
		else if (agg->kind == RQL_AGG_MIN && !measure->min)
			why = "the cube has no minimum of this measure";
		else if (agg->kind == RQL_AGG_MAX && !measure->max)
			why = "the cube has no maximum of this measure";
	}
	for (uint32_t g = 0; g < request->group_count && !why; g++)
		if (request->groups[g].source.index >= relation->dimension_count)
			why = "the cube has no such dimension";
	for (uint32_t d = 0; d < cube->digit_count && !why; d++)
		if (cube->digits[d].radix > INT32_MAX)
			why = "a dimension of the cube has more than 2^31 values";
	if (!why && rql_cube_group_bound(cube, request) > RQL_GROUPS_MOST)
		why = "the group keys have more than 2^62 combinations";
	return why;
}

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	const char *why = !device->units[RQL_UNIT_CPU] ? "the device is not a CPU" : rql_cube_refusal(request);
	return rql_offer_unless(why, reason);
}

static void free_prepared(struct rql_prepared *prepared)
{
	if (prepared)
		rql_arena_free(prepared->arena);
}

static uint64_t prepared_bytes(const struct rql_prepared *prepared)
{
	return rql_arena_bytes(prepared->arena);
}

const struct rql_method rql_method_cube_cpu = {
	.name = "cube",
	.description = "sums the cells of key intervals of a materialized view",
	.paper = "RTCUDB (RayDB, PVLDB 19(1)), sections 3 and 4",
	.unit = RQL_UNIT_CPU,
	.reads = RQL_READS_RELATION,
	.gives = 1u << RQL_PORT_GROUPS,
	.offer = offer,
	.prepare = rql_cube_prepare,
	.price = rql_cube_price,
	.run = run_request,
	.calibrate = rql_cube_calibrate,
	.free = free_prepared,
	.bytes = prepared_bytes,
};
