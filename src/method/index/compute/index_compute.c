/* The method on a GPU's compute unit, for sorted and hashed maps and B+ trees: conditions are looked up as on the CPU
 * (index_choose.h), all probes of a segment by one pass, and the rows that are found come as a bitmap within the
 * reader's submission. Where there are several conditions, or keys may be prefixes, these rows are a superset: whoever
 * reads them tests all again. */
#include <stdlib.h>
#include "method/index/compute/index_compute.h"
#include "method/index/compute/index_placed.h"
#include "method/index/index_choose.h"
#include "method/index/index_gpu.h"
#include "method/index/index_look.h"

static const struct rql_index_placed *placed_of(const struct rql_index_gpu *gpu, uint32_t s)
{
	return (const struct rql_index_placed *)gpu->placed[s];
}

static uint32_t segments_of(const struct rql_prepared *p)
{
	return p->choice.snapshot->segment_count;
}

static struct rql_device *cpu_of(const struct rql_device *gpu)
{
	return (struct rql_device *)(uintptr_t)gpu->host;
}

/* ---- what it can do ---- */
static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	(void)reason;
	return rql_index_gpu_offer(request, device, RQL_INDEX_FORMS_COMPUTE, RQL_UNIT_COMPUTE);
}

/* The form that a segment has or will have. */
static struct rql_index_of form_of(const struct rql_prepared *p, uint32_t s, const struct rql_device *gpu)
{
	return rql_index_auto(&p->choice.snapshot->segments[s], &p->choice.of, p->choice.points, cpu_of(gpu));
}

/* ---- the stage ---- */
static rql_status place(struct rql_index_gpu *gpu, uint32_t s, struct rql_progress *progress,
                        struct rql_placement **out, struct rql_error *err)
{
	struct rql_device *device = gpu->stage.device;
	const struct rql_index_of as = form_of(rql_index_prepared_of(gpu), s, device);
	const struct rql_index_placing how = {.snapshot = gpu->snapshot, .cpu = cpu_of(device), .progress = progress,
	                                      .uploaded = &gpu->stage.uploaded};
	struct rql_index_placed *placed = NULL;
	RQL_TRY(rql_index_placed_get(&how, s, &as, device, &placed, err));
	*out = &placed->placement;
	return RQL_OK;
}

static uint32_t key_bytes(const struct rql_index_gpu *gpu, uint32_t s)
{
	return placed_of(gpu, s)->look_up.map.key_bits / 8;
}

static bool probe(const struct rql_index_gpu *gpu, uint32_t s, uint32_t i, const struct rql_value *const *points,
                  uint64_t *low, uint64_t *high)
{
	const struct rql_index_choice *choice = &rql_index_prepared_of(gpu)->choice;
	const struct rql_index_placed *placed = placed_of(gpu, s);
	struct rql_index_range ranges[RQL_INDEX_COLUMNS_MOST];
	rql_index_sought(choice->tests, NULL, choice->covered, choice->tuple, i, ranges);
	if (gpu->points && points && points[choice->tests[0].point - 1])
		ranges[0] = rql_index_point_range(&gpu->snapshot->columns[choice->tests[0].column],
		                                  points[choice->tests[0].point - 1]);
	if (!placed->count ||
	    !rql_index_key_range(&placed->key, &gpu->snapshot->segments[s], ranges, choice->covered, low, high))
		return false;
	*high = *high < placed->greatest ? *high : placed->greatest;
	return *low <= *high;
}

/* Of the rows that are expected in all, as many as the segment has of all rows. */
static uint64_t expected_in(const struct rql_prepared *p, uint32_t s)
{
	const struct rql_store_snapshot *snapshot = p->choice.snapshot;
	const double all = (double)snapshot->rows;
	return all > 0 ? (uint64_t)(p->choice.found * (double)snapshot->segments[s].rows / all) : 0;
}

/* Points that are hashed have no ends, unless some may be empty ranges. */
static void look_up(const struct rql_index_gpu *gpu, uint32_t s, const struct rql_index_batch *batch,
                    struct rql_lookup_bits *out)
{
	*out = placed_of(gpu, s)->look_up;
	out->count = batch->count;
	out->points = batch->lows;
	if (out->map.form != RQL_LOOKUP_HASHED || gpu->keys.in.from.method || gpu->points)
		out->ends = batch->highs;
	out->expected = expected_in(rql_index_prepared_of(gpu), s);
}

static rql_status record(const struct rql_index_gpu *gpu, uint32_t s, const struct rql_index_batch *batch,
                         const struct rql_index_found *to, struct rql_commands *commands, struct rql_error *err)
{
	const struct rql_store_segment *segment = &gpu->snapshot->segments[s];
	struct rql_lookup_bits l;
	look_up(gpu, s, batch, &l);
	l.bits = (struct rql_span){to->rows, segment->first_block * RQL_STORE_BLOCK / 8};
	l.bit_count = segment->blocks * (uint64_t)RQL_STORE_BLOCK;
	return rql_record_lookup_bits(commands, &l, err);
}

static const struct rql_index_key *key_of(const struct rql_index_gpu *gpu, uint32_t s, uint64_t *greatest)
{
	const struct rql_index_placed *placed = placed_of(gpu, s);
	*greatest = placed->greatest;
	return placed->count ? &placed->key : NULL;
}

static const struct rql_index_gpu_ops ops = {
	.place = place, .key_bytes = key_bytes, .probe = probe, .key = key_of, .record = record, .look_up = look_up};

/* ---- the method ---- */
static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	struct rql_prepared *p = calloc(1, sizeof(*p));
	if (!p)
		return rql_error_memory(err, sizeof(*p), "look-ups");
	rql_status status = rql_index_choose(RQL_INDEX_FORMS_COMPUTE, request, cpu_of(device), &p->choice, err);
	if (status == RQL_OK)
		status = rql_index_gpu_init(&p->gpu, &ops, p->choice.snapshot, device, err);
	if (status != RQL_OK) {
		rql_index_gpu_free(p);
		return status;
	}
	p->gpu.look_ups = rql_index_look_ups(p->choice.tests, NULL, p->choice.covered, p->choice.tuple);
	p->gpu.points = rql_index_is_exact(request) && p->choice.test_count == 1 && rql_index_points(&p->choice) != 0;
	*out = p;
	return RQL_OK;
}

/* ---- the same of keys that come in ---- */
static enum rql_offer offer_keys(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	return rql_index_gpu_offer_keys(request, device, RQL_INDEX_FORMS_COMPUTE, RQL_UNIT_COMPUTE, reason);
}

static rql_status prepare_keys(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                               struct rql_error *err)
{
	return rql_index_gpu_prepare_keys(request, device, RQL_INDEX_FORMS_COMPUTE, &ops, 0, out, err);
}

#define MAKE_ROW_NS 100.0 /* of a run on the CPU that is not there either (index/README.md) */
#define BUILD_ROW_BYTES 64.0 /* that building the slots of a row moves, partitions and all */
#define SECTOR 32.0 /* bytes that a random read brings */
#define ROW_SECTORS 2.125 /* its bit's read and written, and its number, beside others of its key's */

/* What of the segment's run is not there: its making, its way to the device, and there the building of slots. */
static double missing_ns(const struct rql_store_segment *segment, const struct rql_index_of *as,
                         const struct rql_index_shape *shape, const struct rql_device *device)
{
	const struct rql_profile *profile = &device->profile;
	const double rows = (double)segment->rows;
	if (rql_index_placed_there(segment, as, device))
		return 0;
	return (rql_index_run_there(segment, as, cpu_of(device)) ? 0 : rows * MAKE_ROW_NS) +
	       shape->bytes / profile->upload_gbps +
	       (shape->form == RQL_LOOKUP_HASHED ? rows * BUILD_ROW_BYTES / profile->read_gbps : 0);
}

static void price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_profile *profile = &device->profile;
	const double segments = segments_of(p), probes = p->gpu.look_ups, rows = (double)rql_index_gpu_rows_bytes(&p->gpu);
	const double keys = (double)rql_index_gpu_keys_bytes(&p->gpu);
	double resident = 0, placed = 0, setup = keys / profile->upload_gbps, sectors = p->choice.found * ROW_SECTORS;
	for (uint32_t s = 0; s < segments_of(p); s++) {
		const struct rql_store_segment *segment = &p->choice.snapshot->segments[s];
		const struct rql_index_of as = form_of(p, s, device);
		const struct rql_index_shape shape = rql_index_placed_shape(segment, &as);
		const double missing = missing_ns(segment, &as, &shape, device);
		setup += missing;
		resident += shape.bytes;
		placed += missing > 0 ? 0 : shape.bytes;
		sectors += probes * shape.sectors * (shape.form == RQL_LOOKUP_HASHED ? 1 : 2); /* both ends of a range */
	}
	*out = (struct rql_cost){.setup_ns = setup,
	                         .run_ns = profile->pass_ns * (1 + segments) + sectors * profile->sector_ns +
	                                   rows / profile->read_gbps + rql_index_gpu_probes_ns(&p->gpu),
	                         .rows_out = p->choice.found,
	                         .runs = (double)p->choice.snapshot->blocks,
	                         .bytes = sectors * SECTOR + rows,
	                         .device_bytes = (uint64_t)(resident + rows + keys),
	                         .placed_bytes = (uint64_t)placed,
	                         .missing_bytes = (uint64_t)(resident - placed)};
}

static rql_status kernels(const struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err)
{
	const struct rql_device *device = p->gpu.stage.device;
	const bool lists = rql_index_gpu_lists(&p->gpu);
	RQL_TRY(rql_index_gpu_see(&p->gpu, see, state, err));
	for (uint32_t s = 0; s < segments_of(p); s++) {
		const struct rql_index_of as = form_of(p, s, device);
		const struct rql_index_shape shape = rql_index_placed_shape(&p->choice.snapshot->segments[s], &as);
		RQL_TRY(lists ? rql_see_lookup_lists(device, shape.form, shape.key_bits, see, state, err)
		              : rql_see_lookup_bits(device, shape.form, shape.key_bits, see, state, err));
	}
	return RQL_OK;
}

/* Of several conditions the reader tests all again. */
static uint32_t points_of(const struct rql_prepared *p)
{
	return p->gpu.points ? rql_index_points(&p->choice) : 0;
}

extern const struct rql_method rql_method_index_compute;
const struct rql_method rql_method_index_compute = {
	.name = "index",
	.description = "rows by their keys: sorted, hashed or direct maps and B+ trees in a GPU's memory",
	.paper = "none: the rivals of RTIndeX (PVLDB 2023) and cgRX",
	.unit = RQL_UNIT_COMPUTE,
	.reads = RQL_READS_STORE,
	.gives = 1u << RQL_PORT_ROWS,
	.offer = offer,
	.prepare = prepare,
	.price = price,
	.calibrate = rql_index_calibrate,
	.kernels = kernels,
	.stage = rql_prepared_stage,
	.points = points_of,
	.index = rql_index_gpu_number,
	.free = rql_index_gpu_free,
	.bytes = rql_index_gpu_prepared_bytes,
};

/* Its price is without the keys': whoever reads the rows reads these, too, and they are there once. */
extern const struct rql_method rql_method_index_keys_compute;
const struct rql_method rql_method_index_keys_compute = {
	.name = "index",
	.description = "rows by keys that lie on a GPU, any number of them: in the same maps and B+ trees",
	.paper = "none: the rivals of RTIndeX (PVLDB 2023) and cgRX",
	.unit = RQL_UNIT_COMPUTE,
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
