/* The method on a GPU: one pass of a fixed kernel over all segments, whose tables say which vectors are read and which
 * keys are tested. Nothing is generated for a query. */
#include <stddef.h>
#include <stdlib.h>
#include "method/sieve/sieve_kernels.h"
#include "method/sieve/sieve_place.h"
#include "method/sieve/sieve_query.h"
#include "shaders/method/sieve/sieve_select.comp.h"

#define WORKGROUP 256u
#define LINE_BYTES 64.0 /* of a row that is tested */

static const struct rql_kernel select_kernel = {
	.name = "sieve.select",
	.spirv = rql_spv_sieve_select_comp,
	.spirv_bytes = sizeof(rql_spv_sieve_select_comp),
	.args_bytes = sizeof(struct rql_sieve_select_args),
};

struct rql_sieve_gpu {
	struct rql_stage stage;
	struct rql_prepared *p;
	struct rql_device *cpu;
	/* Under the stage's lock; NULL: not placed yet. */
	struct rql_sieve_placed **placed; /* [segments][predicates]: references */
	struct rql_buffer *tables;
	uint64_t parts_at; /* bytes into it */
	uint32_t part_count, workgroup;
	const struct rql_pipeline *pipeline;
};
struct context {
	struct rql_stage_context base;
	struct rql_buffer *rows;
};

static struct rql_sieve_gpu *gpu_of(const struct rql_stage *stage)
{
	return (struct rql_sieve_gpu *)((char *)(uintptr_t)stage - offsetof(struct rql_sieve_gpu, stage));
}

static uint64_t placed_count(const struct rql_prepared *p)
{
	return (uint64_t)p->snapshot->segment_count * p->count;
}

/* ---- tables ---- */
/* Everything that the kernel reads beside vectors and keys, as one piece: tests, parts, then spans and ranges. */
struct tables {
	const struct rql_sieve_gpu *gpu;
	uint8_t *bytes; /* NULL: they are only counted */
	uint64_t size, base; /* base: its address on the device */
};

/* Room for so many bytes at the end. */
static void *extend(struct tables *t, uint64_t bytes, uint64_t *address)
{
	void *at = t->bytes ? t->bytes + t->size : NULL;
	*address = t->base + t->size;
	t->size += (bytes + 15) / 16 * 16;
	return at;
}

static void put_spans(struct tables *t, const struct rql_sieve_shape *shape, const struct rql_sieve_spans *spans,
                      struct rql_sieve_kernel_test *test)
{
	struct rql_sieve_kernel_span *to = extend(t, spans->count * sizeof(*to), &test->spans);
	test->span_count = spans->count;
	for (uint32_t s = 0; to && s < spans->count; s++) {
		const struct rql_sieve_vectors low = rql_sieve_cut_vectors(shape, spans->spans[s].from);
		const struct rql_sieve_vectors high = rql_sieve_cut_vectors(shape, spans->spans[s].to);
		to[s] = (struct rql_sieve_kernel_span){.from_first = low.first,
		                                       .from_second = low.second,
		                                       .from_third = low.third,
		                                       .to_first = high.first,
		                                       .to_second = high.second,
		                                       .to_third = high.third,
		                                       .sure = spans->spans[s].sure};
	}
}

/* As distances from the least key; what lies outside all keys goes. */
static void put_ranges(struct tables *t, const struct rql_sieve_placed *placed,
                       const struct rql_sieve_predicate *predicate, struct rql_sieve_kernel_test *test)
{
	struct rql_sieve_kernel_range *to = extend(t, predicate->count * sizeof(*to), &test->ranges);
	const uint64_t least = placed->least, greatest = placed->least + placed->span;
	for (uint32_t r = 0; r < predicate->count; r++) {
		const struct rql_sieve_range *range = &predicate->ranges[r];
		if (range->greatest < least || range->least > greatest)
			continue;
		if (to)
			to[test->range_count] = (struct rql_sieve_kernel_range){
				.least = range->least > least ? range->least - least : 0,
				.greatest = (range->greatest < greatest ? range->greatest : greatest) - least};
		test->range_count++;
	}
	if (to && test->range_count) {
		test->least = to[0].least;
		test->span = to[0].greatest - to[0].least;
	}
}

static rql_status put_test(struct tables *t, uint32_t segment, uint32_t predicate, struct rql_arena *arena,
                           struct rql_sieve_kernel_test *to, struct rql_error *err)
{
	const struct rql_prepared *p = t->gpu->p;
	const struct rql_sieve_placed *placed = t->gpu->placed[(uint64_t)segment * p->count + predicate];
	const struct rql_sieve_shape *shape = &placed->shape;
	const uint64_t vector = (uint64_t)shape->block_count * RQL_STORE_BLOCK / 8;
	const struct rql_store_view *view = &p->snapshot->segments[segment].columns[p->of[predicate].column];
	struct rql_sieve_kernel_test test = {.vectors = placed->buffer->address,
	                                     .keys = placed->buffer->address + placed->keys_at,
	                                     .lanes = shape->block_count * RQL_SIEVE_BLOCK_LANES,
	                                     .wide = placed->wide};
	struct rql_sieve_predicate here;
	struct rql_sieve_spans spans;
	RQL_TRY(rql_sieve_predicate_in(&p->predicates[predicate], view, arena, &here, err));
	RQL_TRY(rql_sieve_spans_make(&shape->bins, &here, arena, &spans, err));
	if (here.nulls && shape->has_null)
		test.nulls = test.vectors + (shape->highs + shape->lows) * vector;
	put_spans(t, shape, &spans, &test);
	put_ranges(t, placed, &here, &test);
	if (to)
		*to = test;
	return RQL_OK;
}

/* Workgroups' lanes; returns how many workgroups there are. */
static uint32_t put_parts(struct tables *t, uint64_t *address)
{
	const struct rql_store_snapshot *snapshot = t->gpu->p->snapshot;
	uint32_t count = 0, size = t->gpu->workgroup;
	for (uint32_t s = 0; s < snapshot->segment_count; s++)
		count += (snapshot->segments[s].blocks * RQL_SIEVE_BLOCK_LANES + size - 1) / size;
	struct rql_sieve_kernel_part *to = extend(t, count * sizeof(*to), address);
	for (uint32_t s = 0; s < snapshot->segment_count && to; s++) {
		const struct rql_store_segment *segment = &snapshot->segments[s];
		const uint32_t lanes = segment->blocks * RQL_SIEVE_BLOCK_LANES;
		for (uint32_t first = 0; first < lanes; first += size)
			*to++ = (struct rql_sieve_kernel_part){
				.test = s * t->gpu->p->count,
				.first = first,
				.last = lanes,
				.place = (uint32_t)segment->first_block * RQL_SIEVE_BLOCK_LANES + first};
	}
	return count;
}

static rql_status put_tables(struct tables *t, struct rql_sieve_gpu *gpu, struct rql_arena *arena,
                             struct rql_error *err)
{
	const struct rql_prepared *p = gpu->p;
	uint64_t address;
	t->size = 0;
	struct rql_sieve_kernel_test *tests = extend(t, placed_count(p) * sizeof(*tests), &address);
	gpu->part_count = put_parts(t, &gpu->parts_at);
	gpu->parts_at -= t->base;
	for (uint32_t s = 0; s < p->snapshot->segment_count; s++)
		for (uint32_t k = 0; k < p->count; k++)
			RQL_TRY(put_test(t, s, k, arena, tests ? &tests[(uint64_t)s * p->count + k] : NULL, err));
	return RQL_OK;
}

static rql_status upload_tables(struct rql_sieve_gpu *gpu, struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	struct tables t = {.gpu = gpu};
	rql_status status = arena ? put_tables(&t, gpu, arena, err) : rql_error_memory(err, 0, "a query on a GPU");
	const uint64_t bytes = t.size + 16;
	if (status == RQL_OK)
		status = rql_stage_buffer_new(gpu->stage.device, bytes, RQL_MEMORY_DEVICE, "the tables of a query",
		                              &gpu->tables, err);
	if (status == RQL_OK && !(t.bytes = calloc(1, bytes)))
		status = rql_error_memory(err, bytes, "a query on a GPU");
	if (status == RQL_OK) {
		t.base = gpu->tables->address;
		status = put_tables(&t, gpu, arena, err);
	}
	if (status == RQL_OK)
		status = rql_buffer_upload(gpu->tables, 0, t.bytes, bytes, err);
	free(t.bytes);
	rql_arena_free(arena);
	return status;
}

/* ---- the stage ---- */
static void unplace(struct rql_sieve_gpu *gpu)
{
	for (uint64_t i = 0; gpu->placed && i < placed_count(gpu->p); i++)
		rql_placement_release(gpu->placed[i] ? &gpu->placed[i]->placement : NULL);
	free(gpu->placed);
	gpu->placed = NULL;
	rql_stage_buffer_free(gpu->tables);
	gpu->tables = NULL;
}

static rql_status place_all(struct rql_sieve_gpu *gpu, struct rql_progress *progress, struct rql_error *err)
{
	const struct rql_prepared *p = gpu->p;
	const uint32_t most = gpu->stage.device->limits.group_size;
	gpu->workgroup = most < WORKGROUP ? most : WORKGROUP;
	RQL_TRY(rql_pipeline_get(gpu->stage.device, &select_kernel, &gpu->workgroup, 1, &gpu->pipeline, err));
	for (uint32_t s = 0; s < p->snapshot->segment_count; s++)
		for (uint32_t k = 0; k < p->count; k++)
			RQL_TRY(rql_sieve_placed_get(p->snapshot, s, &p->of[k], gpu->stage.device, gpu->cpu, progress,
			                             &gpu->stage.uploaded, &gpu->placed[(uint64_t)s * p->count + k], err));
	RQL_TRY(upload_tables(gpu, err));
	gpu->stage.uploaded += gpu->tables->bytes;
	return RQL_OK;
}

static rql_status place(struct rql_stage *stage, struct rql_progress *progress, bool *nothing, struct rql_error *err)
{
	struct rql_sieve_gpu *gpu = gpu_of(stage);
	(void)nothing; /* who reads the rows expects some bitmap */
	if (gpu->placed)
		return RQL_OK;
	gpu->placed = calloc(placed_count(gpu->p) + 1, sizeof(*gpu->placed));
	rql_status status = gpu->placed ? place_all(gpu, progress, err)
	                                : rql_error_memory(err, placed_count(gpu->p) * 8, "a query on a GPU");
	if (status != RQL_OK)
		unplace(gpu);
	return status;
}

static uint64_t rows_bytes(const struct rql_prepared *p)
{
	return (p->snapshot->blocks + !p->snapshot->blocks) * RQL_SIEVE_WORDS * sizeof(uint64_t);
}

static rql_status open_context(struct rql_stage *stage, struct rql_stage_context *const *inputs,
                               struct rql_stage_context **out, struct rql_error *err)
{
	struct context *x = calloc(1, sizeof(*x));
	(void)inputs;
	if (!x)
		return rql_error_memory(err, sizeof(*x), "the rows of a sieve");
	*out = &x->base;
	return rql_stage_buffer_new(stage->device, rows_bytes(gpu_of(stage)->p), RQL_MEMORY_DEVICE, "the rows of a sieve",
	                            &x->rows, err);
}

static void close_context(struct rql_stage *stage, struct rql_stage_context *base)
{
	(void)stage;
	rql_stage_buffer_free(((struct context *)base)->rows);
	free(base);
}

static bool fits(const struct rql_stage *stage, const struct rql_stage_context *base)
{
	return stage && base; /* as many blocks as ever */
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *base, struct rql_commands *commands,
                         struct rql_error *err)
{
	const struct rql_sieve_gpu *gpu = gpu_of(stage);
	const struct context *x = (const struct context *)base;
	const uint64_t placed = placed_count(gpu->p);
	struct rql_use *uses = calloc(placed + 2, sizeof(*uses));
	if (!uses)
		return rql_error_memory(err, placed * sizeof(*uses), "a query's commands");
	for (uint64_t i = 0; i < placed; i++)
		uses[i] = (struct rql_use){gpu->placed[i]->buffer, RQL_READ};
	uses[placed] = (struct rql_use){gpu->tables, RQL_READ};
	uses[placed + 1] = (struct rql_use){x->rows, RQL_WRITE};
	const struct rql_sieve_select_args args = {.tests = gpu->tables->address,
	                                           .parts = gpu->tables->address + gpu->parts_at,
	                                           .rows = x->rows->address,
	                                           .test_count = gpu->p->count,
	                                           .part_count = gpu->part_count};
	rql_record_dispatch(commands, "sieve", gpu->pipeline, &args, gpu->part_count, uses, (uint32_t)placed + 2);
	free(uses);
	return RQL_OK;
}

static void give_rows(const struct rql_stage *stage, const struct rql_stage_context *base, struct rql_rows *out)
{
	(void)stage;
	*out = (struct rql_rows){.buffer = ((const struct context *)base)->rows};
}

static uint64_t context_bytes(const struct rql_stage *stage)
{
	return rows_bytes(gpu_of(stage)->p);
}

static const struct rql_stage_ops ops = {.place = place,
                                         .open = open_context,
                                         .close = close_context,
                                         .fits = fits,
                                         .record = record,
                                         .rows = give_rows,
                                         .bytes = context_bytes};

/* ---- the method ---- */
static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	(void)reason;
	return device->kind != RQL_DEVICE_CPU && device->units[RQL_UNIT_COMPUTE] && device->host ? rql_sieve_offer(request)
	                                                                                         : RQL_OFFER_NO;
}

static void free_prepared(struct rql_prepared *p)
{
	if (p && p->gpu) {
		rql_stage_clear(&p->gpu->stage);
		unplace(p->gpu);
		free(p->gpu);
	}
	rql_sieve_unbind(p);
}

static bool is_placed(const struct rql_prepared *p, uint64_t *missing, uint64_t *all)
{
	*missing = *all = 0;
	for (uint32_t s = 0; s < p->snapshot->segment_count; s++)
		for (uint32_t k = 0; k < p->count; k++) {
			const struct rql_store_segment *segment = &p->snapshot->segments[s];
			const uint64_t bytes = rql_sieve_placed_bound(segment, &p->of[k]);
			*all += bytes;
			*missing += rql_sieve_placed_there(segment, &p->of[k], p->gpu->stage.device) ? 0 : bytes;
		}
	return !*missing;
}

static rql_status open_gpu(struct rql_prepared *p, struct rql_device *device, struct rql_error *err)
{
	struct rql_sieve_gpu *gpu = calloc(1, sizeof(*gpu));
	uint64_t missing, all;
	if (!gpu)
		return rql_error_memory(err, sizeof(*gpu), "a query on a GPU");
	rql_status status = rql_stage_init(&gpu->stage, &ops, device, err);
	if (status != RQL_OK) {
		free(gpu);
		return status;
	}
	gpu->p = p;
	gpu->cpu = (struct rql_device *)(uintptr_t)device->host;
	p->gpu = gpu;
	if (!is_placed(p, &missing, &all) && !rql_sieve_has_room(p))
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "there is no room to make the sieve");
	return RQL_OK;
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	struct rql_prepared *p = NULL;
	RQL_TRY(rql_sieve_bind(request, (struct rql_device *)(uintptr_t)device->host, &p, err));
	rql_status status = open_gpu(p, device, err);
	if (status == RQL_OK)
		*out = p;
	else
		free_prepared(p);
	return status;
}

static void price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_profile *profile = &device->profile;
	const double rows = (double)p->snapshot->rows, all = (double)p->snapshot->blocks;
	const double bytes = rows / 8 * (p->reads + 1) + rows * p->tested * LINE_BYTES;
	uint64_t missing, resident;
	(void)is_placed(p, &missing, &resident);
	rql_sieve_price(p, p->gpu->cpu, out); /* what is made on the CPU first */
	*out = (struct rql_cost){.setup_ns = missing ? out->setup_ns + (double)missing / profile->upload_gbps : 0,
	                         .run_ns = profile->pass_ns + bytes / profile->read_gbps,
	                         .rows_out = rows * p->share,
	                         .runs = all,
	                         .bytes = bytes,
	                         .device_bytes = resident + rows_bytes(p),
	                         .placed_bytes = resident - missing};
}

static struct rql_stage *stage_of(const struct rql_prepared *p)
{
	return &p->gpu->stage;
}

static uint64_t bytes(const struct rql_prepared *p)
{
	return rql_sieve_bound_bytes(p) + sizeof(*p->gpu) + placed_count(p) * sizeof(*p->gpu->placed);
}

extern const struct rql_method rql_method_sieve_compute;
const struct rql_method rql_method_sieve_compute = {
	.name = "sieve",
	.description = "rows by conjunctions of predicates: nested bit vectors, then the values at their bounds",
	.paper = "RTScan (PVLDB 17(6)), section 4.3; Chan and Ioannidis (SIGMOD 1998)",
	.unit = RQL_UNIT_COMPUTE,
	.reads = RQL_READS_STORE,
	.gives = 1u << RQL_PORT_ROWS,
	.offer = offer,
	.prepare = prepare,
	.price = price,
	.stage = stage_of,
	.free = free_prepared,
	.bytes = bytes,
};
