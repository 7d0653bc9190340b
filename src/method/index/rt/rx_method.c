/* The method on a GPU's ray-tracing unit: `CREATE INDEX ... USING rx | cgrx`. It looks up the conditions that one
 * such index answers (index_choose.h), by a ray or three for each value or range in each segment. It gives the rows as
 * bits. Where there are several conditions, or keys may be prefixes, these rows are a superset: whoever
 * reads them tests all again. */
#include <stdlib.h>
#include "method/index/index_choose.h"
#include "method/index/index_gpu.h"
#include "method/index/rt/rx_placed.h"
#include "method/method.h"

#define FORMS (1u << RQL_INDEX_RX | 1u << RQL_INDEX_CGRX)

static const struct rql_rx_placed *placed_of(const struct rql_index_gpu *gpu, uint32_t s)
{
	return (const struct rql_rx_placed *)gpu->placed[s];
}

/* ---- what it can do ---- */
static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	(void)reason;
	return rql_index_gpu_offer(request, device, FORMS, RQL_UNIT_RT);
}

/* ---- preparing ---- */
/* RX casts a ray for each line that a range crosses: too many, and it does not begin. */
static bool has_lines(const struct rql_index_choice *choice)
{
	const uint32_t look_ups = rql_index_look_ups(choice->tests, NULL, choice->covered, choice->tuple);
	bool fits = true;
	for (uint32_t s = 0; s < choice->snapshot->segment_count && choice->of.form == RQL_INDEX_RX; s++) {
		const struct rql_store_segment *segment = &choice->snapshot->segments[s];
		struct rql_index_range ranges[RQL_INDEX_COLUMNS_MOST];
		struct rql_index_key key;
		struct rql_key_space space;
		rql_index_key_make(segment, &choice->of, &key);
		const uint64_t bound = rql_index_key_bound(segment, &choice->of);
		(void)rql_rx_space(&choice->of.rays, bound, bound, &space);
		for (uint32_t i = 0; i < look_ups && fits; i++) {
			uint64_t low, high;
			rql_index_sought(choice->tests, NULL, choice->covered, choice->tuple, i, ranges);
			if (rql_index_key_range(&key, segment, ranges, choice->covered, &low, &high))
				fits = (high - low) >> space.bits[0] < RQL_RX_LINES - 1;
		}
	}
	return fits;
}

static rql_status choose_anew(struct rql_prepared *p, unsigned forms, const struct rql_request *request,
                              struct rql_device *cpu, struct rql_error *err)
{
	rql_index_choice_clear(&p->choice);
	p->choice = (struct rql_index_choice){.snapshot = NULL};
	return rql_index_choose(forms, request, cpu, &p->choice, err);
}

/* The conditions that leave the fewest rows; where RX has no lines for them, a single one that it has lines for, else what
 * cgRX finds. */
static rql_status choose(struct rql_prepared *p, const struct rql_request *request, struct rql_device *device,
                         struct rql_error *err)
{
	struct rql_device *cpu = (struct rql_device *)(uintptr_t)device->host;
	RQL_TRY(rql_index_choose(FORMS, request, cpu, &p->choice, err));
	if (has_lines(&p->choice))
		return RQL_OK;
	for (uint32_t c = 0; c < request->conjunct_count && request->conjunct_count > 1; c++) {
		struct rql_request one = *request;
		struct rql_error none = {0};
		one.conjuncts = &request->conjuncts[c];
		one.conjunct_count = 1;
		const rql_status status = choose_anew(p, FORMS, &one, cpu, &none);
		rql_error_clear(&none);
		if (status == RQL_OK && has_lines(&p->choice))
			return RQL_OK;
	}
	return choose_anew(p, 1u << RQL_INDEX_CGRX, request, cpu, err);
}

/* ---- the stage ---- */
static rql_status place(struct rql_index_gpu *gpu, uint32_t s, struct rql_progress *progress,
                        struct rql_placement **out, struct rql_error *err)
{
	struct rql_device *device = gpu->stage.device, *cpu = (struct rql_device *)(uintptr_t)device->host;
	struct rql_rx_placed *placed = NULL;
	RQL_TRY(rql_rx_placed_get(gpu->snapshot, s, &rql_index_prepared_of(gpu)->choice.of, device, cpu, progress, &gpu->stage.uploaded,
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
	const struct rql_index_choice *choice = &rql_index_prepared_of(gpu)->choice;
	struct rql_index_range ranges[RQL_INDEX_COLUMNS_MOST];
	rql_index_sought(choice->tests, NULL, choice->covered, choice->tuple, i, ranges);
	(void)points;
	if ((!placed->rx && !placed->cgrx) ||
	    !rql_index_key_range(&placed->key, &gpu->snapshot->segments[s], ranges, choice->covered, low, high))
		return false;
	*high = *high < placed->greatest ? *high : placed->greatest;
	return *low <= *high;
}

static rql_status record(const struct rql_index_gpu *gpu, uint32_t s, const struct rql_index_batch *batch,
                         const struct rql_index_found *to, struct rql_commands *commands, struct rql_error *err)
{
	const struct rql_rx_placed *placed = placed_of(gpu, s);
	const struct rql_span bits = {to->rows, gpu->snapshot->segments[s].first_block * RQL_STORE_BLOCK / 8};
	const struct rql_span state = {to->state, to->state_at};
	if (placed->cgrx) {
		const struct rql_cgrx_lookup l = {.cgrx = placed->cgrx, .count = batch->count, .points = batch->lows,
		                                  .ends = batch->highs, .bits = bits, .state = state, .tally = to->counted};
		return rql_record_cgrx(commands, &l, err);
	}
	const struct rql_index_choice *choice = &rql_index_prepared_of(gpu)->choice;
	const enum rql_key_form form = rql_rx_form_of(&choice->of.rays, &placed->rx->spec.space, choice->points);
	const struct rql_rx_lookup l = {.rx = placed->rx, .form = form, .count = batch->count,
	                                .points = batch->lows, .ends = batch->highs, .bits = bits, .state = state,
	                                .tally = to->counted};
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
	rql_status status = choose(p, request, device, err);
	if (status == RQL_OK)
		status = rql_index_gpu_init(&p->gpu, &ops, p->choice.snapshot, device, err);
	if (status != RQL_OK) {
		rql_index_gpu_free(p);
		return status;
	}
	p->gpu.state_bytes = RQL_RX_STATE_WORDS * 8;
	p->gpu.look_ups = rql_index_look_ups(p->choice.tests, NULL, p->choice.covered, p->choice.tuple);
	*out = p;
	return RQL_OK;
}

/* ---- the same of keys that come in ---- */
static enum rql_offer offer_keys(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	return rql_index_gpu_offer_keys(request, device, FORMS, RQL_UNIT_RT, reason);
}

static rql_status prepare_keys(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                               struct rql_error *err)
{
	return rql_index_gpu_prepare_keys(request, device, FORMS, &ops, RQL_RX_STATE_WORDS * 8, out, err);
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
	const struct rql_store_snapshot *snapshot = p->choice.snapshot;
	const double segments = snapshot->segment_count, rays = segments * p->gpu.look_ups, found = p->choice.found;
	const bool coarse = p->choice.of.form == RQL_INDEX_CGRX;
	const double triangles = coarse ? 0.0375 + 2.0 / (1 << rql_rx_log2_bucket(&p->choice.of.rays)) : 1; /* a row */
	double missing = 0, resident = 0, placed = 0;
	for (uint32_t s = 0; s < snapshot->segment_count; s++) {
		const struct rql_store_segment *segment = &snapshot->segments[s];
		const double bytes = (double)rql_rx_placed_bound(segment, &p->choice.of, device);
		const bool there = rql_rx_placed_there(segment, &p->choice.of, device);
		resident += bytes;
		placed += there ? bytes : 0;
		missing += there ? 0 : (double)segment->rows;
	}
	const double build = missing * (profile->primitive_ns * triangles + 12 / profile->upload_gbps);
	const double bytes = (double)rql_index_gpu_rows_bytes(&p->gpu);
	const double keys = (double)rql_index_gpu_keys_bytes(&p->gpu);
	*out = (struct rql_cost){.setup_ns = (missing > 0 ? missing * MAKE_ROW_NS + build : 0) + keys / profile->upload_gbps,
	                         .run_ns = profile->pass_ns * (1 + 2 * segments) + rays * profile->ray_ns +
	                                   found * profile->hit_ns + found / (p->gpu.look_ups + 1.0) * SERIAL_ROW_NS +
	                                   bytes / profile->read_gbps + rql_index_gpu_probes_ns(&p->gpu),
	                         .rows_out = found,
	                         .runs = (double)snapshot->blocks,
	                         .rays = rays,
	                         .hits = found,
	                         .bytes = bytes,
	                         .device_bytes = (uint64_t)(resident + bytes + keys),
	                         .placed_bytes = (uint64_t)placed};
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
	.stage = rql_prepared_stage,
	.index = rql_index_gpu_number,
	.free = rql_index_gpu_free,
	.bytes = rql_index_gpu_prepared_bytes,
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
	.stage = rql_prepared_stage,
	.index = rql_index_gpu_number,
	.free = rql_index_gpu_free,
	.bytes = rql_index_gpu_prepared_bytes,
};
