/* The method on a GPU's ray-tracing unit: `CREATE INDEX ... USING rx | cgrx`. Of the conditions that have such an index it
 * looks one up, by a ray or three for each of its values and ranges in each segment, and gives the rows as bits.
 * Where there are several conditions, these rows are a superset: whoever reads them tests all again. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "method/index/index_tests.h"
#include "method/index/rt/rx_placed.h"
#include "method/method.h"

struct rx_gpu {
	struct rql_stage stage;
	struct rql_prepared *p;
	/* Under the stage's lock; NULL: not placed yet. */
	struct rql_rx_placed **placed; /* [segments]: references */
	struct rql_buffer *probes;     /* of all segments */
	struct batch {
		uint64_t lows, highs, count; /* bytes into it */
	} *batches;                      /* [segments] */
};
struct rql_prepared {
	const struct rql_store_snapshot *snapshot; /* one reference */
	struct rql_index_of of;
	struct rql_index_test test;
	double found, most_found; /* rows expected, in all and of one range */
	struct rx_gpu gpu;
};
struct context {
	struct rql_stage_context base;
	struct rql_buffer *rows, *state;
};

static struct rql_prepared *prepared_of(const struct rql_stage *stage)
{
	return ((struct rx_gpu *)((char *)(uintptr_t)stage - offsetof(struct rx_gpu, stage)))->p;
}

/* ---- what it can do ---- */
/* Values that leave 64 bits no scan on a GPU reads, nor UHUGEINTs; so no key is a prefix here. */
static const struct rql_index_of *index_of(const struct rql_request *request, uint32_t column)
{
	for (uint32_t i = 0; i < request->index_count && column != RQL_NONE; i++) {
		const struct rql_index_of *of = &request->indexes[i];
		const struct rql_store_column *stored = &request->snapshot->columns[column];
		if (rql_rx_form(of->form) && of->column == column && !stored->wide &&
		    !rql_index_is_lowered(stored->kind, stored->type))
			return of;
	}
	return NULL;
}

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	(void)reason;
	if (request->under.method || !request->conjunct_count || device->kind == RQL_DEVICE_CPU ||
	    !device->units[RQL_UNIT_RT] || !device->host)
		return RQL_OFFER_NO;
	for (uint32_t c = 0; c < request->conjunct_count; c++)
		if (!index_of(request, rql_index_test_column(request->snapshot, &request->conjuncts[c])))
			return RQL_OFFER_NO;
	return request->conjunct_count == 1 ? RQL_OFFER_FULL : RQL_OFFER_SUPERSET;
}

/* ---- preparing ---- */
static void unplace(struct rql_prepared *p)
{
	for (uint32_t s = 0; p->gpu.placed && s < p->snapshot->segment_count; s++)
		rql_placement_release(p->gpu.placed[s] ? &p->gpu.placed[s]->placement : NULL);
	free(p->gpu.placed);
	free(p->gpu.batches);
	p->gpu.placed = NULL;
	p->gpu.batches = NULL;
	rql_stage_buffer_free(p->gpu.probes);
	p->gpu.probes = NULL;
}

static void free_prepared(struct rql_prepared *p)
{
	if (!p)
		return;
	rql_stage_clear(&p->gpu.stage);
	unplace(p);
	free(p->test.ranges);
	rql_store_snapshot_release(p->snapshot);
	free(p);
}

/* Rows of a test among evenly spread values, and of its widest range. */
static double guess(const struct rql_store_snapshot *snapshot, const struct rql_index_test *test, double *most)
{
	const struct rql_store_column *column = &snapshot->columns[test->column];
	const double rows = (double)snapshot->rows;
	rql_int128 low, high;
	rql_index_column_bounds(column, &low, &high);
	const double all = (double)high - (double)low + 1;
	double values = 0;
	*most = 0;
	for (uint32_t i = 0; i < test->count; i++) {
		double width = (double)test->ranges[i].greatest - (double)test->ranges[i].least + 1;
		width = width < all ? width : all;
		values += width;
		*most = width > *most ? width : *most;
	}
	*most = all > 0 ? rows * *most / all : 0;
	return all > values ? rows * values / all : rows;
}

/* RX casts a ray for each line that a range crosses: too many, and it does not begin. A segment's lines are no shorter
 * than the column's. */
static bool has_lines(const struct rql_store_snapshot *snapshot, const struct rql_index_of *of,
                      const struct rql_index_test *test)
{
	const struct rql_store_column *column = &snapshot->columns[of->column];
	rql_int128 low, high;
	bool fits = true;
	rql_index_column_bounds(column, &low, &high);
	for (uint32_t i = 0; i < test->count && of->form == RQL_INDEX_RX && column->kind != RQL_STORE_CODED; i++) {
		rql_int128 least = test->ranges[i].least, greatest = test->ranges[i].greatest;
		least = least > low ? least : low;
		greatest = greatest < high ? greatest : high;
		const rql_uint128 span = greatest > least ? (rql_uint128)greatest - (rql_uint128)least : 0;
		fits = fits && span >> RQL_AXIS_BITS < RQL_RX_LINES - 1;
	}
	return fits;
}

/* The condition that leaves the fewest rows, of those that can be looked up. */
static rql_status choose(struct rql_prepared *p, const struct rql_request *request, struct rql_error *err)
{
	bool some = false;
	for (uint32_t c = 0; c < request->conjunct_count; c++) {
		struct rql_index_test test = {.ranges = NULL};
		struct rql_error why = {0};
		double most, found;
		rql_status status = rql_index_test_make(p->snapshot, &request->conjuncts[c], &test, &why);
		const struct rql_index_of *of = status == RQL_OK ? index_of(request, test.column) : NULL;
		if (status != RQL_OK && status != RQL_ERROR_UNSUPPORTED) {
			rql_error_move(err, &why);
			return status;
		}
		rql_error_clear(&why);
		found = of ? guess(p->snapshot, &test, &most) : 0;
		if (!of || !has_lines(p->snapshot, of, &test) || (some && found >= p->found)) {
			free(test.ranges);
			continue;
		}
		free(p->test.ranges);
		p->test = test;
		p->of = *of;
		p->found = found;
		p->most_found = most;
		some = true;
	}
	return some ? RQL_OK
	            : rql_error_set(err, RQL_ERROR_UNSUPPORTED, "no condition is a few values or ranges that rays can look up");
}

/* ---- the stage: placing ---- */
/* A range as keys of a segment; false: it has none of them. */
static bool range_in(const struct rql_rx_placed *placed, const struct rql_store_segment *segment,
                     const struct rql_index_range *range, uint64_t *low, uint64_t *high)
{
	if ((!placed->rx && !placed->cgrx) || !rql_index_key_range(&placed->key, segment, range, 1, low, high))
		return false;
	*high = *high < placed->greatest ? *high : placed->greatest;
	return *low <= *high;
}

/* Probes of a segment into `to`: all lows, then all highs. */
static void write_probes(const struct rql_prepared *p, uint32_t s, uint8_t *to, uint64_t at)
{
	const struct rql_rx_placed *placed = p->gpu.placed[s];
	const uint32_t width = placed->narrow ? 4 : 8;
	struct batch *batch = &p->gpu.batches[s];
	*batch = (struct batch){.lows = at, .highs = at + (uint64_t)p->test.count * width};
	for (uint32_t i = 0; i < p->test.count; i++) {
		uint64_t low, high;
		if (!range_in(placed, &p->snapshot->segments[s], &p->test.ranges[i], &low, &high))
			continue;
		memcpy(to + batch->lows + batch->count * width, &low, width); /* little-endian */
		memcpy(to + batch->highs + batch->count * width, &high, width);
		batch->count++;
	}
}

static rql_status upload_probes(struct rql_prepared *p, struct rql_error *err)
{
	const uint64_t each = ((uint64_t)p->test.count * 16 + 15) / 16 * 16;
	const uint64_t bytes = each * p->snapshot->segment_count + 16;
	uint8_t *probes = calloc(1, bytes);
	if (!probes)
		return rql_error_memory(err, bytes, "a query on a GPU");
	for (uint32_t s = 0; s < p->snapshot->segment_count; s++)
		write_probes(p, s, probes, s * each);
	rql_status status = rql_stage_buffer_new(p->gpu.stage.device, bytes, RQL_MEMORY_DEVICE, "the probes of a query",
	                                         &p->gpu.probes, err);
	if (status == RQL_OK)
		status = rql_buffer_upload(p->gpu.probes, 0, probes, bytes, err);
	free(probes);
	return status;
}

static rql_status place_all(struct rql_prepared *p, struct rql_progress *progress, struct rql_error *err)
{
	struct rql_device *gpu = p->gpu.stage.device, *cpu = (struct rql_device *)(uintptr_t)gpu->host;
	for (uint32_t s = 0; s < p->snapshot->segment_count; s++)
		RQL_TRY(rql_rx_placed_get(p->snapshot, s, &p->of, gpu, cpu, progress, &p->gpu.stage.uploaded,
		                          &p->gpu.placed[s], err));
	return upload_probes(p, err);
}

static rql_status place(struct rql_stage *stage, struct rql_progress *progress, bool *nothing, struct rql_error *err)
{
	struct rql_prepared *p = prepared_of(stage);
	const uint32_t segments = p->snapshot->segment_count + 1;
	(void)nothing; /* who reads the rows expects some bitmap */
	if (p->gpu.placed)
		return RQL_OK;
	p->gpu.placed = calloc(segments, sizeof(*p->gpu.placed));
	p->gpu.batches = calloc(segments, sizeof(*p->gpu.batches));
	rql_status status = p->gpu.placed && p->gpu.batches ? place_all(p, progress, err)
	                                                    : rql_error_memory(err, segments * 32, "a query on a GPU");
	if (status != RQL_OK)
		unplace(p);
	return status;
}

/* ---- the stage: recording ---- */
static uint64_t rows_bytes(const struct rql_prepared *p)
{
	return (p->snapshot->blocks + !p->snapshot->blocks) * RQL_ROWS_BLOCK_WORDS * sizeof(uint64_t);
}

static rql_status open_context(struct rql_stage *stage, struct rql_stage_context *const *inputs,
                               struct rql_stage_context **out, struct rql_error *err)
{
	struct context *x = calloc(1, sizeof(*x));
	(void)inputs;
	if (!x)
		return rql_error_memory(err, sizeof(*x), "the rows of an index");
	*out = &x->base;
	RQL_TRY(rql_stage_buffer_new(stage->device, RQL_RX_STATE_WORDS * 8, RQL_MEMORY_DEVICE, "the state of look-ups",
	                             &x->state, err));
	return rql_stage_buffer_new(stage->device, rows_bytes(prepared_of(stage)), RQL_MEMORY_DEVICE,
	                            "the rows of an index", &x->rows, err);
}

static void close_context(struct rql_stage *stage, struct rql_stage_context *base)
{
	struct context *x = (struct context *)base;
	(void)stage;
	rql_stage_buffer_free(x->rows);
	rql_stage_buffer_free(x->state);
	free(x);
}

static rql_status record_segment(const struct rql_prepared *p, const struct context *x, uint32_t s,
                                 struct rql_commands *commands, struct rql_error *err)
{
	const struct rql_rx_placed *placed = p->gpu.placed[s];
	const struct batch *batch = &p->gpu.batches[s];
	const struct rql_span lows = {p->gpu.probes, batch->lows}, highs = {p->gpu.probes, batch->highs};
	const struct rql_span bits = {x->rows, p->snapshot->segments[s].first_block * RQL_STORE_BLOCK / 8};
	const struct rql_span state = {x->state, 0};
	if (!batch->count)
		return RQL_OK;
	if (placed->cgrx) {
		const struct rql_cgrx_lookup l = {.cgrx = placed->cgrx, .count = batch->count, .points = lows, .ends = highs,
		                                  .bits = bits, .state = state};
		return rql_record_cgrx(commands, &l, err);
	}
	const struct rql_rx_lookup l = {.rx = placed->rx, .form = RQL_KEY_OFFSET, .count = batch->count, .points = lows,
	                                .ends = highs, .bits = bits, .state = state};
	return rql_record_rx(commands, &l, err);
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *base, struct rql_commands *commands,
                         struct rql_error *err)
{
	const struct rql_prepared *p = prepared_of(stage);
	const struct context *x = (const struct context *)base;
	rql_record_fill(commands, x->rows, 0, rows_bytes(p), 0);
	for (uint32_t s = 0; s < p->snapshot->segment_count; s++)
		RQL_TRY(record_segment(p, x, s, commands, err));
	return RQL_OK;
}

static void give_rows(const struct rql_stage *stage, const struct rql_stage_context *base, struct rql_rows *out)
{
	(void)stage;
	*out = (struct rql_rows){.buffer = ((const struct context *)base)->rows};
}

static uint64_t context_bytes(const struct rql_stage *stage)
{
	return rows_bytes(prepared_of(stage)) + RQL_RX_STATE_WORDS * 8;
}

static const struct rql_stage_ops ops = {.place = place,
                                         .open = open_context,
                                         .close = close_context,
                                         .record = record,
                                         .rows = give_rows,
                                         .bytes = context_bytes};

/* ---- the method ---- */
static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	struct rql_prepared *p = calloc(1, sizeof(*p));
	if (!p)
		return rql_error_memory(err, sizeof(*p), "look-ups");
	p->gpu.p = p;
	p->snapshot = rql_store_snapshot_retain(request->snapshot);
	rql_status status = rql_stage_init(&p->gpu.stage, &ops, device, err);
	if (status == RQL_OK)
		status = choose(p, request, err);
	if (status == RQL_OK)
		*out = p;
	else
		free_prepared(p);
	return status;
}

/* One invocation sets all rows of a range of cgRX, or sees all hits of its rays: the longest range is waited for. */
#define SERIAL_ROW_NS 20.0
#define MAKE_ROW_NS 100.0 /* of the sorted run (index/README.md) */

static void price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_profile *profile = &device->profile;
	const double segments = p->snapshot->segment_count, rays = segments * p->test.count;
	const bool coarse = p->of.form == RQL_INDEX_CGRX;
	double missing = 0, resident = 0, placed = 0;
	for (uint32_t s = 0; s < p->snapshot->segment_count; s++) {
		const struct rql_store_segment *segment = &p->snapshot->segments[s];
		const double bytes = (double)rql_rx_placed_bound(segment, &p->of, device);
		const bool there = rql_rx_placed_there(segment, &p->of, device);
		resident += bytes;
		placed += there ? bytes : 0;
		missing += there ? 0 : (double)segment->rows;
	}
	const double build = missing * (profile->primitive_ns * (coarse ? 0.1 : 1) + 12 / profile->upload_gbps);
	const double bytes = (double)rows_bytes(p);
	*out = (struct rql_cost){.setup_ns = missing > 0 ? missing * MAKE_ROW_NS + build : 0,
	                         .run_ns = profile->pass_ns * (1 + 2 * segments) + rays * profile->ray_ns +
	                                   p->found * profile->hit_ns + p->most_found * SERIAL_ROW_NS +
	                                   bytes / profile->read_gbps,
	                         .rows_out = p->found,
	                         .runs = (double)p->snapshot->blocks,
	                         .rays = rays,
	                         .hits = p->found,
	                         .bytes = bytes,
	                         .device_bytes = (uint64_t)(resident + bytes),
	                         .placed_bytes = (uint64_t)placed};
}

static struct rql_stage *stage_of(const struct rql_prepared *p)
{
	return (struct rql_stage *)(uintptr_t)&p->gpu.stage;
}

static uint64_t bytes(const struct rql_prepared *p)
{
	return sizeof(*p) + p->test.count * sizeof(*p->test.ranges) +
	       p->snapshot->segment_count * (sizeof(*p->gpu.placed) + sizeof(*p->gpu.batches));
}

static uint32_t number_of(const struct rql_prepared *p)
{
	return p->of.number;
}

extern const struct rql_method rql_method_index_rt;
const struct rql_method rql_method_index_rt = {
	.name = "index",
	.description = "rows by their keys, looked up by rays",
	.paper = "RTIndeX (PVLDB 16); cgRX (ICDE 2025), as the thesis of Y. Wu (2025) tells it",
	.unit = RQL_UNIT_RT,
	.reads = RQL_READS_STORE,
	.gives = 1u << RQL_PORT_ROWS,
	.offer = offer,
	.prepare = prepare,
	.price = price,
	.stage = stage_of,
	.index = number_of,
	.free = free_prepared,
	.bytes = bytes,
};
