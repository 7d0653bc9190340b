/* The method on a GPU's ray-tracing unit: `CREATE INDEX ... USING rx | cgrx`. Of the conditions that have such an index it
 * looks one up, by a ray or three for each of its values and ranges in each segment, and gives the rows as bits.
 * Where there are several conditions, these rows are a superset: whoever reads them tests all again. */
#include <stdlib.h>
#include "method/index/index_gpu.h"
#include "method/index/index_tests.h"
#include "method/index/rt/rx_placed.h"
#include "method/method.h"

struct rql_prepared {
	struct rql_index_gpu gpu;                  /* first */
	const struct rql_store_snapshot *snapshot; /* one reference */
	struct rql_index_of of;
	struct rql_index_test test;
	double found, most_found; /* rows expected, in all and of one range */
};

static const struct rql_prepared *prepared_of(const struct rql_index_gpu *gpu)
{
	return (const struct rql_prepared *)gpu;
}

static const struct rql_rx_placed *placed_of(const struct rql_index_gpu *gpu, uint32_t s)
{
	return (const struct rql_rx_placed *)gpu->placed[s];
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
static void free_prepared(struct rql_prepared *p)
{
	if (!p)
		return;
	rql_index_gpu_clear(&p->gpu);
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

/* ---- the stage ---- */
static rql_status place(struct rql_index_gpu *gpu, uint32_t s, struct rql_progress *progress,
                        struct rql_placement **out, struct rql_error *err)
{
	struct rql_device *device = gpu->stage.device, *cpu = (struct rql_device *)(uintptr_t)device->host;
	struct rql_rx_placed *placed = NULL;
	RQL_TRY(rql_rx_placed_get(gpu->snapshot, s, &prepared_of(gpu)->of, device, cpu, progress, &gpu->stage.uploaded,
	                          &placed, err));
	*out = &placed->placement;
	return RQL_OK;
}

static uint32_t key_bytes(const struct rql_index_gpu *gpu, uint32_t s)
{
	return placed_of(gpu, s)->narrow ? 4 : 8;
}

static bool probe(const struct rql_index_gpu *gpu, uint32_t s, uint32_t i, const struct rql_value *const *points,
                  uint64_t *low, uint64_t *high)
{
	const struct rql_rx_placed *placed = placed_of(gpu, s);
	const struct rql_index_range *range = &prepared_of(gpu)->test.ranges[i];
	(void)points;
	if ((!placed->rx && !placed->cgrx) ||
	    !rql_index_key_range(&placed->key, &gpu->snapshot->segments[s], range, 1, low, high))
		return false;
	*high = *high < placed->greatest ? *high : placed->greatest;
	return *low <= *high;
}

static rql_status record(const struct rql_index_gpu *gpu, uint32_t s, const struct rql_index_batch *batch,
                         const struct rql_index_found *to, struct rql_commands *commands, struct rql_error *err)
{
	const struct rql_rx_placed *placed = placed_of(gpu, s);
	const struct rql_span bits = {to->rows, gpu->snapshot->segments[s].first_block * RQL_STORE_BLOCK / 8};
	const struct rql_span state = {to->state, 0};
	if (placed->cgrx) {
		const struct rql_cgrx_lookup l = {.cgrx = placed->cgrx, .count = batch->count, .points = batch->lows,
		                                  .ends = batch->highs, .bits = bits, .state = state};
		return rql_record_cgrx(commands, &l, err);
	}
	const struct rql_rx_lookup l = {.rx = placed->rx, .form = RQL_KEY_OFFSET, .count = batch->count,
	                                .points = batch->lows, .ends = batch->highs, .bits = bits, .state = state};
	return rql_record_rx(commands, &l, err);
}

static const struct rql_index_key *key_of(const struct rql_index_gpu *gpu, uint32_t s, uint64_t *greatest)
{
	const struct rql_rx_placed *placed = placed_of(gpu, s);
	*greatest = placed->greatest;
	return placed->rx || placed->cgrx ? &placed->key : NULL;
}

static const struct rql_index_gpu_ops ops = {
	.place = place, .key_bytes = key_bytes, .probe = probe, .key = key_of, .record = record};

/* ---- the method ---- */
static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	struct rql_prepared *p = calloc(1, sizeof(*p));
	if (!p)
		return rql_error_memory(err, sizeof(*p), "look-ups");
	p->snapshot = rql_store_snapshot_retain(request->snapshot);
	rql_status status = rql_index_gpu_init(&p->gpu, &ops, p->snapshot, device, err);
	p->gpu.state_bytes = RQL_RX_STATE_WORDS * 8;
	if (status == RQL_OK)
		status = choose(p, request, err);
	p->gpu.look_ups = p->test.count;
	if (status == RQL_OK)
		*out = p;
	else
		free_prepared(p);
	return status;
}

/* ---- the same of keys that come in ---- */
#define FORMS (1u << RQL_INDEX_RX | 1u << RQL_INDEX_CGRX)

static enum rql_offer offer_keys(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	const char *why = rql_device_lacks(device, RQL_UNIT_RT);
	why = why ? why : rql_index_gpu_refusal(request);
	if (!why && (request->snapshot->columns[request->keys->column].wide || !rql_index_gpu_choose(request, FORMS)))
		why = "the keys' column has no index that the unit looks up in";
	return rql_offer_unless(why, reason);
}

static rql_status prepare_keys(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                               struct rql_error *err)
{
	struct rql_prepared *p = calloc(1, sizeof(*p));
	if (!p)
		return rql_error_memory(err, sizeof(*p), "look-ups");
	p->snapshot = rql_store_snapshot_retain(request->snapshot);
	p->of = *rql_index_gpu_choose(request, FORMS);
	p->found = request->expected;
	rql_status status = rql_index_gpu_init(&p->gpu, &ops, p->snapshot, device, err);
	if (status != RQL_OK) {
		free_prepared(p);
		return status;
	}
	p->gpu.state_bytes = RQL_RX_STATE_WORDS * 8;
	rql_index_gpu_read(&p->gpu, request->keys);
	p->most_found = p->gpu.look_ups ? p->found / p->gpu.look_ups : 0;
	*out = p;
	return RQL_OK;
}

static rql_status kernels(const struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err)
{
	return rql_index_gpu_see(&p->gpu, see, state, err);
}

/* One invocation sets all rows of a range of cgRX, or sees all hits of its rays: the longest range is waited for. */
#define SERIAL_ROW_NS 20.0
#define MAKE_ROW_NS 100.0 /* of the sorted run (index/README.md) */

static void price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_profile *profile = &device->profile;
	const double segments = p->snapshot->segment_count, rays = segments * p->gpu.look_ups;
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
	const double bytes = (double)rql_index_gpu_rows_bytes(&p->gpu);
	*out = (struct rql_cost){.setup_ns = missing > 0 ? missing * MAKE_ROW_NS + build : 0,
	                         .run_ns = profile->pass_ns * (1 + 2 * segments) + rays * profile->ray_ns +
	                                   p->found * profile->hit_ns + p->most_found * SERIAL_ROW_NS +
	                                   bytes / profile->read_gbps + rql_index_gpu_probes_ns(&p->gpu),
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
	return sizeof(*p) + p->test.count * sizeof(*p->test.ranges) + rql_index_gpu_bytes(&p->gpu);
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

/* Its price is without the keys': whoever reads the rows reads these, too, and they are there once. */
extern const struct rql_method rql_method_index_keys_rt;
const struct rql_method rql_method_index_keys_rt = {
	.name = "index",
	.description = "rows by keys that lie on a GPU, any number of them, looked up by rays",
	.paper = "RTIndeX (PVLDB 16); cgRX (ICDE 2025), as the thesis of Y. Wu (2025) tells it",
	.unit = RQL_UNIT_RT,
	.reads = RQL_READS_KEYS,
	.gives = 1u << RQL_PORT_ROWS,
	.offer = offer_keys,
	.prepare = prepare_keys,
	.price = price,
	.kernels = kernels,
	.stage = stage_of,
	.index = number_of,
	.free = free_prepared,
	.bytes = bytes,
};
