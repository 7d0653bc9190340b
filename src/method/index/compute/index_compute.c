/* The method on a GPU's compute unit, for sorted and hashed maps and B+ trees: conditions are looked up as on the CPU
 * (index_choose.h), all probes of a segment by one pass, and the rows that are found come as a bitmap within the
 * reader's submission. Where there are several conditions, or keys may be prefixes, these rows are a superset: whoever
 * reads them tests all again. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "method/index/compute/index_compute.h"
#include "method/index/compute/index_placed.h"
#include "method/index/index_choose.h"

struct index_gpu {
	struct rql_stage stage;
	struct rql_prepared *p;
	/* Under the stage's lock; NULL: not placed yet. */
	struct rql_index_placed **placed; /* [segments]: references */
	struct rql_buffer *probes;        /* of all segments */
	struct batch {
		uint64_t lows, highs, count; /* bytes into it */
	} *batches;                      /* [segments] */
};
struct rql_prepared {
	struct rql_index_choice choice;
	struct index_gpu gpu;
};
struct context {
	struct rql_stage_context base;
	struct rql_buffer *rows;
};

static struct rql_prepared *prepared_of(const struct rql_stage *stage)
{
	return ((struct index_gpu *)((char *)(uintptr_t)stage - offsetof(struct index_gpu, stage)))->p;
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
/* One condition of one column, whose keys are its values: an index of several columns may have prefixes, but where the
 * column is not its first one it is not looked up. */
static bool is_exact(const struct rql_request *request)
{
	const struct rql_conjunct *c = request->conjuncts;
	const uint32_t column = c->pairs.values[0] ? RQL_NONE : rql_index_test_column(request->snapshot, c);
	bool exact = request->conjunct_count == 1 && column != RQL_NONE && !request->snapshot->columns[column].wide;
	for (uint32_t i = 0; i < request->index_count && exact; i++)
		exact = !request->indexes[i].more_count || request->indexes[i].column != column;
	return exact;
}

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	(void)reason;
	if (request->under.method || !request->conjunct_count || device->kind == RQL_DEVICE_CPU ||
	    !device->units[RQL_UNIT_COMPUTE] || !device->host)
		return RQL_OFFER_NO;
	for (uint32_t c = 0; c < request->conjunct_count; c++)
		if (!rql_index_answers(RQL_INDEX_FORMS_COMPUTE, request, &request->conjuncts[c]))
			return RQL_OFFER_NO;
	return is_exact(request) ? RQL_OFFER_FULL : RQL_OFFER_SUPERSET;
}

/* The form that a segment has or will have. */
static struct rql_index_of form_of(const struct rql_prepared *p, uint32_t s, const struct rql_device *gpu)
{
	return rql_index_auto(&p->choice.snapshot->segments[s], &p->choice.of, p->choice.points, cpu_of(gpu));
}

static uint32_t look_ups_of(const struct rql_prepared *p)
{
	return rql_index_look_ups(p->choice.tests, NULL, p->choice.covered, p->choice.pair);
}

/* ---- preparing ---- */
static void unplace(struct rql_prepared *p)
{
	for (uint32_t s = 0; p->gpu.placed && s < segments_of(p); s++)
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
	rql_index_choice_clear(&p->choice);
	free(p);
}

/* ---- the stage: placing ---- */
/* A look-up as keys of a segment; false: it has none of them. */
static bool probe_of(const struct rql_prepared *p, uint32_t s, uint32_t i, uint64_t *low, uint64_t *high)
{
	const struct rql_index_placed *placed = p->gpu.placed[s];
	struct rql_index_range ranges[RQL_INDEX_COLUMNS_MOST];
	rql_index_sought(p->choice.tests, NULL, p->choice.covered, p->choice.pair, i, ranges);
	if (!placed->count || !rql_index_key_range(&placed->key, &p->choice.snapshot->segments[s], ranges,
	                                           p->choice.covered, low, high))
		return false;
	*high = *high < placed->greatest ? *high : placed->greatest;
	return *low <= *high;
}

/* Probes of a segment into `to`: all lows, then all highs, which points that are hashed do not need. */
static void write_probes(const struct rql_prepared *p, uint32_t s, uint8_t *to, uint64_t at)
{
	const uint32_t width = p->gpu.placed[s]->look_up.map.key_bits / 8, look_ups = look_ups_of(p);
	struct batch *batch = &p->gpu.batches[s];
	*batch = (struct batch){.lows = at, .highs = at + (uint64_t)look_ups * width};
	for (uint32_t i = 0; i < look_ups; i++) {
		uint64_t low, high;
		if (!probe_of(p, s, i, &low, &high))
			continue;
		memcpy(to + batch->lows + batch->count * width, &low, width); /* little-endian */
		memcpy(to + batch->highs + batch->count * width, &high, width);
		batch->count++;
	}
}

static rql_status upload_probes(struct rql_prepared *p, struct rql_error *err)
{
	const uint64_t each = ((uint64_t)look_ups_of(p) * 16 + 15) / 16 * 16;
	const uint64_t bytes = each * segments_of(p) + 16;
	uint8_t *probes = calloc(1, bytes);
	if (!probes)
		return rql_error_memory(err, bytes, "a query on a GPU");
	for (uint32_t s = 0; s < segments_of(p); s++)
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
	struct rql_device *gpu = p->gpu.stage.device;
	const struct rql_index_placing how = {.snapshot = p->choice.snapshot, .cpu = cpu_of(gpu), .progress = progress,
	                                      .uploaded = &p->gpu.stage.uploaded};
	for (uint32_t s = 0; s < segments_of(p); s++) {
		const struct rql_index_of as = form_of(p, s, gpu);
		RQL_TRY(rql_index_placed_get(&how, s, &as, gpu, &p->gpu.placed[s], err));
	}
	return upload_probes(p, err);
}

static rql_status place(struct rql_stage *stage, struct rql_progress *progress, bool *nothing, struct rql_error *err)
{
	struct rql_prepared *p = prepared_of(stage);
	const uint32_t segments = segments_of(p) + 1;
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
	const uint64_t blocks = p->choice.snapshot->blocks;
	return (blocks + !blocks) * RQL_ROWS_BLOCK_WORDS * sizeof(uint64_t);
}

static rql_status open_context(struct rql_stage *stage, struct rql_stage_context *const *inputs,
                               struct rql_stage_context **out, struct rql_error *err)
{
	struct context *x = calloc(1, sizeof(*x));
	(void)inputs;
	if (!x)
		return rql_error_memory(err, sizeof(*x), "the rows of an index");
	*out = &x->base;
	return rql_stage_buffer_new(stage->device, rows_bytes(prepared_of(stage)), RQL_MEMORY_DEVICE,
	                            "the rows of an index", &x->rows, err);
}

static void close_context(struct rql_stage *stage, struct rql_stage_context *base)
{
	struct context *x = (struct context *)base;
	(void)stage;
	rql_stage_buffer_free(x->rows);
	free(x);
}

/* Of the rows that are expected in all, as many as the segment has of all rows. */
static uint64_t expected_in(const struct rql_prepared *p, uint32_t s)
{
	const struct rql_store_snapshot *snapshot = p->choice.snapshot;
	const double all = (double)snapshot->rows;
	return all > 0 ? (uint64_t)(p->choice.found * (double)snapshot->segments[s].rows / all) : 0;
}

static rql_status record_segment(const struct rql_prepared *p, const struct context *x, uint32_t s,
                                 struct rql_commands *commands, struct rql_error *err)
{
	const struct rql_store_segment *segment = &p->choice.snapshot->segments[s];
	const struct batch *batch = &p->gpu.batches[s];
	struct rql_lookup_bits l = p->gpu.placed[s]->look_up;
	if (!batch->count)
		return RQL_OK;
	l.count = batch->count;
	l.points = (struct rql_span){p->gpu.probes, batch->lows};
	if (l.map.form != RQL_LOOKUP_HASHED)
		l.ends = (struct rql_span){p->gpu.probes, batch->highs};
	l.expected = expected_in(p, s);
	l.bits = (struct rql_span){x->rows, segment->first_block * RQL_STORE_BLOCK / 8};
	l.bit_count = segment->blocks * (uint64_t)RQL_STORE_BLOCK;
	return rql_record_lookup_bits(commands, &l, err);
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *base, struct rql_commands *commands,
                         struct rql_error *err)
{
	const struct rql_prepared *p = prepared_of(stage);
	const struct context *x = (const struct context *)base;
	rql_record_fill(commands, x->rows, 0, rows_bytes(p), 0);
	for (uint32_t s = 0; s < segments_of(p); s++)
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
	return rows_bytes(prepared_of(stage));
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
	rql_status status = rql_index_choose(RQL_INDEX_FORMS_COMPUTE, request, cpu_of(device), &p->choice, err);
	if (status == RQL_OK)
		status = rql_stage_init(&p->gpu.stage, &ops, device, err);
	if (status == RQL_OK)
		*out = p;
	else
		free_prepared(p);
	return status;
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
	const double segments = segments_of(p), probes = look_ups_of(p), rows = (double)rows_bytes(p);
	double resident = 0, placed = 0, setup = 0, sectors = p->choice.found * ROW_SECTORS;
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
	                                   rows / profile->read_gbps,
	                         .rows_out = p->choice.found,
	                         .runs = (double)p->choice.snapshot->blocks,
	                         .bytes = sectors * SECTOR + rows,
	                         .device_bytes = (uint64_t)(resident + rows),
	                         .placed_bytes = (uint64_t)placed,
	                         .missing_bytes = (uint64_t)(resident - placed)};
}

static rql_status kernels(const struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err)
{
	const struct rql_device *device = p->gpu.stage.device;
	for (uint32_t s = 0; s < segments_of(p); s++) {
		const struct rql_index_of as = form_of(p, s, device);
		const struct rql_index_shape shape = rql_index_placed_shape(&p->choice.snapshot->segments[s], &as);
		RQL_TRY(rql_see_lookup_bits(device, shape.form, shape.key_bits, see, state, err));
	}
	return RQL_OK;
}

static struct rql_stage *stage_of(const struct rql_prepared *p)
{
	return (struct rql_stage *)(uintptr_t)&p->gpu.stage;
}

static uint64_t bytes(const struct rql_prepared *p)
{
	return sizeof(*p) + rql_index_choice_bytes(&p->choice) +
	       segments_of(p) * (sizeof(*p->gpu.placed) + sizeof(*p->gpu.batches));
}

static uint32_t number_of(const struct rql_prepared *p)
{
	return p->choice.of.number;
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
	.stage = stage_of,
	.index = number_of,
	.free = free_prepared,
	.bytes = bytes,
};
