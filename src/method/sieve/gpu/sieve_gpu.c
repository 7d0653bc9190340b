/* The stage of a request on a GPU: placing, contexts, the first pass; then the unit's own. Nothing is generated for a
 * query. */
#include "method/sieve/gpu/sieve_gpu.h"

#include <stddef.h>
#include <stdlib.h>
#include "method/sieve/gpu/sieve_kernels.h"
#include "shaders/method/sieve/sieve_blocks.comp.h"
#include "shaders/method/sieve/sieve_select.comp.h"

#define WORKGROUP 256u
#define LINE_BYTES 64.0 /* of a row that is tested */
/* What vectors take beside their bytes, of a row and predicate: a part of a scan's test of a row. Measured beside the
 * bytes, 10^8 rows of three predicates: 16 to 50 us on an H200, and 42 us on an H100 where blocks are put right in shared
 * memory. Their price is 48 us until an H200 has been measured: they take more room than values. */
#define WORDS_PART 0.1
#define BLOCKS_PART 0.16
#define OPEN_BYTES 6.0    /* of a row between a bound and its vector, by blocks */
#define LISTED_BYTES (4 + 2 * LINE_BYTES) /* by positions: its number, its key and another one */
#define MADE_PASSES 20.0 /* what a sort on the device moves, of the bytes that it leaves */
#define SHORT_RAYS 4u    /* of a matrix, of which so many take as long as one of others: they all are one submission */
#define LIST_LANES 4u /* of a subgroup, which take a list together */
/* DRAWN: pixels of a row of the image, each of 32 rows of the table. */
#define IMAGE_WIDTH 2048u

static const struct rql_kernel select_kernel = {
	.name = "sieve.select",
	.spirv = rql_spv_sieve_select_comp,
	.spirv_bytes = sizeof(rql_spv_sieve_select_comp),
	.args_bytes = sizeof(struct rql_sieve_select_args),
};

static const struct rql_kernel blocks_kernel = {
	.name = "sieve.blocks",
	.spirv = rql_spv_sieve_blocks_comp,
	.spirv_bytes = sizeof(rql_spv_sieve_blocks_comp),
	.args_bytes = sizeof(struct rql_sieve_blocks_args),
};

bool rql_sieve_is_traced(enum rql_sieve_refine refine)
{
	return refine >= RQL_SIEVE_RTC1;
}

static struct rql_sieve_gpu *gpu_of(const struct rql_stage *stage)
{
	return (struct rql_sieve_gpu *)((char *)(uintptr_t)stage - offsetof(struct rql_sieve_gpu, stage));
}

/* ---- sizes ---- */
/* Whole rows of the image, which is copied. */
static uint32_t image_height(const struct rql_sieve_gpu *gpu)
{
	const uint64_t pixels = gpu->p->snapshot->blocks * (RQL_STORE_BLOCK / 32);
	return pixels ? (uint32_t)((pixels + IMAGE_WIDTH - 1) / IMAGE_WIDTH) : 1;
}

uint64_t rql_sieve_rows_bytes(const struct rql_sieve_gpu *gpu)
{
	const uint64_t blocks = gpu->p->snapshot->blocks;
	if (gpu->refine == RQL_SIEVE_DRAWN)
		return (uint64_t)image_height(gpu) * IMAGE_WIDTH * sizeof(uint32_t);
	return (blocks + !blocks) * RQL_SIEVE_WORDS * sizeof(uint64_t);
}

/* Behind the bitmap. */
static uint64_t lists_bytes(const struct rql_sieve_gpu *gpu)
{
	const uint64_t blocks = gpu->p->snapshot->blocks;
	return gpu->lists ? (blocks + !blocks) * RQL_ROWS_LIST_BYTES : 0;
}

static uint64_t context_bytes(const struct rql_stage *stage)
{
	const struct rql_sieve_gpu *gpu = gpu_of(stage);
	const uint64_t maps = gpu->refine == RQL_SIEVE_RTC1 ? 1 + gpu->group_count : gpu->refine == RQL_SIEVE_DRAWN ? 2 : 1;
	return maps * rql_sieve_rows_bytes(gpu) + lists_bytes(gpu);
}

/* ---- placing ---- */
static void unplace(struct rql_sieve_gpu *gpu)
{
	const uint64_t placed = rql_sieve_placed_count(gpu->p);
	for (uint64_t i = 0; gpu->placed && i < placed; i++)
		rql_placement_release(gpu->placed[i] ? &gpu->placed[i]->placement : NULL);
	for (uint64_t i = 0; gpu->orders && i < placed; i++)
		rql_placement_release(gpu->orders[i] ? &gpu->orders[i]->placement : NULL);
	for (uint64_t i = 0; gpu->blocks && i < placed; i++)
		rql_placement_release(gpu->blocks[i] ? &gpu->blocks[i]->placement : NULL);
	for (uint64_t i = 0; gpu->spaces && i < (uint64_t)gpu->p->snapshot->segment_count * gpu->group_count; i++)
		rql_placement_release(gpu->spaces[i] ? &gpu->spaces[i]->placement : NULL);
	free(gpu->placed);
	free(gpu->orders);
	free(gpu->blocks);
	free(gpu->spaces);
	gpu->placed = NULL;
	gpu->orders = NULL;
	gpu->blocks = NULL;
	gpu->spaces = NULL;
	rql_stage_buffer_free(gpu->tables);
	gpu->tables = NULL;
}

static void columns_of(const struct rql_sieve_gpu *gpu, uint32_t group, struct rql_index_of of[RQL_SIEVE_AXES])
{
	for (uint32_t a = 0; a < gpu->groups[group].count; a++)
		of[a] = gpu->p->of[gpu->groups[group].predicates[a]];
}

/* Columns that are not there yet are made side by side, segment by segment; what fails here fails again below. */
struct making {
	struct rql_sieve_gpu *gpu;
	struct rql_progress *progress;
	_Atomic uint64_t uploaded;
	_Atomic bool failed;
};

static rql_status make_column(const struct making *m, uint32_t segment, uint32_t k, uint64_t *uploaded,
                              struct rql_error *err)
{
	const struct rql_sieve_gpu *gpu = m->gpu;
	const struct rql_prepared *p = gpu->p;
	struct rql_device *device = gpu->stage.device;
	struct rql_sieve_placed *placed = NULL;
	struct rql_sieve_order *order = NULL;
	RQL_TRY(rql_sieve_placed_get(p->snapshot, segment, &p->of[k], device, gpu->cpu, m->progress, uploaded, &placed, err));
	rql_placement_release(&placed->placement);
	if (!gpu->open[k] || !rql_sieve_has_order(gpu->refine))
		return RQL_OK;
	RQL_TRY(rql_sieve_order_get(p->snapshot, segment, &p->of[k], device, gpu->cpu, m->progress, uploaded, &order, err));
	rql_placement_release(&order->placement);
	return RQL_OK;
}

static void make_columns(void *state, uint64_t index, unsigned worker)
{
	struct making *m = state;
	struct rql_error ignored = {0};
	uint64_t uploaded = 0;
	(void)worker;
	for (uint32_t k = 0; k < m->gpu->p->count && !atomic_load(&m->failed); k++)
		if (make_column(m, (uint32_t)index, k, &uploaded, &ignored) != RQL_OK)
			atomic_store(&m->failed, true);
	rql_error_clear(&ignored);
	atomic_fetch_add(&m->uploaded, uploaded);
}

static void make_missing(struct rql_sieve_gpu *gpu, struct rql_progress *progress)
{
	struct making m = {.gpu = gpu, .progress = progress};
	const struct rql_store_snapshot *snapshot = gpu->p->snapshot;
	bool missing = false;
	for (uint32_t s = 0; s < snapshot->segment_count && snapshot->segment_count > 1; s++)
		for (uint32_t k = 0; k < gpu->p->count && !missing; k++)
			missing = !rql_sieve_placed_there(&snapshot->segments[s], &gpu->p->of[k], gpu->stage.device);
	if (missing)
		rql_pool_run(gpu->cpu->pool, snapshot->segment_count, make_columns, &m);
	gpu->stage.uploaded += atomic_load(&m.uploaded);
}

static rql_status place_segment(struct rql_sieve_gpu *gpu, uint32_t segment, struct rql_progress *progress,
                                struct rql_error *err)
{
	const struct rql_prepared *p = gpu->p;
	struct rql_device *device = gpu->stage.device;
	uint64_t *uploaded = &gpu->stage.uploaded;
	for (uint32_t k = 0; k < p->count; k++) {
		const uint64_t at = (uint64_t)segment * p->count + k;
		RQL_TRY(rql_sieve_placed_get(p->snapshot, segment, &p->of[k], device, gpu->cpu, progress, uploaded,
		                             &gpu->placed[at], err));
		if (gpu->open[k] && rql_sieve_has_order(gpu->refine))
			RQL_TRY(rql_sieve_order_get(p->snapshot, segment, &p->of[k], device, gpu->cpu, progress, uploaded,
			                            &gpu->orders[at], err));
		if (gpu->open[k] && gpu->refine == RQL_SIEVE_BLOCKS)
			RQL_TRY(rql_sieve_blocks_get(p->snapshot, segment, &p->of[k], gpu->placed[at], device, progress,
			                             &gpu->blocks[at], err));
	}
	for (uint32_t g = 0; g < gpu->group_count; g++) {
		struct rql_index_of of[RQL_SIEVE_AXES];
		columns_of(gpu, g, of);
		RQL_TRY(rql_sieve_space_get(p->snapshot, segment, of, gpu->groups[g].count, device, gpu->cpu, progress,
		                            uploaded, &gpu->spaces[(uint64_t)segment * gpu->group_count + g], err));
	}
	return RQL_OK;
}

/* The first pass. */
static rql_status select_pipeline(const struct rql_sieve_gpu *gpu, bool counting, const struct rql_pipeline **out,
                                  struct rql_error *err)
{
	const uint32_t together = gpu->select_count < RQL_SIEVE_BLOCK_TESTS ? gpu->select_count : RQL_SIEVE_BLOCK_TESTS;
	const uint32_t values[] = {gpu->workgroup, counting, gpu->lists};
	const uint32_t blocks[] = {gpu->workgroup, counting, gpu->asks, together, gpu->lists};
	if (gpu->refine == RQL_SIEVE_BLOCKS)
		return rql_pipeline_get(gpu->stage.device, &blocks_kernel, blocks, sizeof blocks / sizeof *blocks, out, err);
	return rql_pipeline_get(gpu->stage.device, &select_kernel, values, sizeof values / sizeof *values, out, err);
}

static rql_status place_all(struct rql_sieve_gpu *gpu, struct rql_progress *progress, struct rql_error *err)
{
	const struct rql_device *device = gpu->stage.device;
	const uint32_t most = device->limits.group_size;
	gpu->workgroup = gpu->refine == RQL_SIEVE_BLOCKS ? RQL_SIEVE_BLOCK_LANES : most < WORKGROUP ? most : WORKGROUP;
	if (gpu->refine == RQL_SIEVE_DRAWN && image_height(gpu) > device->limits.image_side)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "the table has more rows than an image of device %s has bits",
		                     device->id);
	if (gpu->unit->place)
		RQL_TRY(gpu->unit->place(gpu, err));
	make_missing(gpu, progress);
	for (uint32_t s = 0; s < gpu->p->snapshot->segment_count; s++)
		RQL_TRY(place_segment(gpu, s, progress, err));
	RQL_TRY(rql_sieve_tables_upload(gpu, err));
	RQL_TRY(select_pipeline(gpu, false, &gpu->select, err));
	if (device->limits.submission_rays && gpu->rays / SHORT_RAYS > device->limits.submission_rays)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "the sieve asks for %llu rays; device %s takes %llu at once",
		                     (unsigned long long)gpu->rays, device->id,
		                     (unsigned long long)device->limits.submission_rays * SHORT_RAYS);
	gpu->stage.uploaded += gpu->tables->bytes;
	return RQL_OK;
}

static rql_status place(struct rql_stage *stage, struct rql_progress *progress, bool *nothing, struct rql_error *err)
{
	struct rql_sieve_gpu *gpu = gpu_of(stage);
	const uint64_t placed = rql_sieve_placed_count(gpu->p);
	(void)nothing; /* who reads the rows expects some bitmap */
	if (gpu->placed)
		return RQL_OK;
	gpu->placed = calloc(placed + 1, sizeof(*gpu->placed));
	gpu->orders = calloc(placed + 1, sizeof(*gpu->orders));
	gpu->blocks = calloc(placed + 1, sizeof(*gpu->blocks));
	gpu->spaces = calloc(placed + 1, sizeof(*gpu->spaces)); /* no more groups than predicates */
	rql_status status = gpu->placed && gpu->orders && gpu->blocks && gpu->spaces
	                        ? place_all(gpu, progress, err)
	                        : rql_error_memory(err, placed * 32, "a query on a GPU");
	if (status != RQL_OK)
		unplace(gpu);
	return status;
}

/* ---- contexts ---- */
static rql_status open_context(struct rql_stage *stage, struct rql_stage_context *const *inputs,
                               struct rql_stage_context **out, struct rql_error *err)
{
	const struct rql_sieve_gpu *gpu = gpu_of(stage);
	struct rql_sieve_context *x = calloc(1, sizeof(*x));
	const struct rql_image_spec image = {.format = RQL_FORMAT_R32_UINT,
	                                     .width = IMAGE_WIDTH,
	                                     .height = image_height(gpu),
	                                     .layers = 1,
	                                     .roles = RQL_IMAGE_TARGET};
	(void)inputs;
	if (!x)
		return rql_error_memory(err, sizeof(*x), "the rows of a sieve");
	*out = &x->base;
	if (gpu->refine == RQL_SIEVE_DRAWN)
		RQL_TRY(rql_image_new(stage->device, &image, "the rows of a sieve", &x->image, err));
	const uint64_t maps = gpu->refine == RQL_SIEVE_RTC1 ? 1 + gpu->group_count : 1;
	return rql_stage_buffer_new(stage->device, maps * rql_sieve_rows_bytes(gpu) + lists_bytes(gpu), RQL_MEMORY_DEVICE,
	                            "the rows of a sieve", &x->rows, err);
}

static void close_context(struct rql_stage *stage, struct rql_stage_context *base)
{
	struct rql_sieve_context *x = (struct rql_sieve_context *)base;
	(void)stage;
	rql_image_free(x->image);
	rql_stage_buffer_free(x->rows);
	free(x);
}

/* ---- recording ---- */
static rql_status record_first(const struct rql_sieve_recording *r, struct rql_error *err)
{
	const struct rql_sieve_gpu *gpu = r->gpu;
	const struct rql_sieve_context *x = r->x;
	const bool vectors = rql_sieve_takes_vectors(gpu->refine) || !gpu->group_count;
	const struct rql_pipeline *select = gpu->select;
	const struct rql_sieve_select_args args = {.tests = gpu->tables->address + gpu->select_at,
	                                           .parts = gpu->tables->address + gpu->parts_at,
	                                           .rows = x->rows->address,
	                                           .lists = x->rows->address + rql_sieve_rows_bytes(gpu),
	                                           .counts = r->counts,
	                                           .test_count = gpu->select_count,
	                                           .part_count = gpu->part_count};
	if (r->counts)
		RQL_TRY(select_pipeline(gpu, true, &select, err));
	const struct rql_sieve_blocks_args blocks = {.tests = args.tests,
	                                             .parts = args.parts,
	                                             .opens = gpu->tables->address + gpu->opens_at,
	                                             .rows = args.rows,
	                                             .lists = args.lists,
	                                             .counts = r->counts,
	                                             .test_count = gpu->select_count,
	                                             .part_count = gpu->part_count};
	if (gpu->refine == RQL_SIEVE_BLOCKS)
		rql_record_dispatch(r->commands, "sieve", select, &blocks, gpu->part_count, r->uses, r->use_count);
	else if (gpu->refine == RQL_SIEVE_RTC3 && !vectors) /* rays set the bits of all rows that pass */
		rql_record_fill(r->commands, x->rows, 0, rql_sieve_rows_bytes(gpu), 0);
	else
		rql_record_dispatch(r->commands, "sieve", select, &args, gpu->part_count, r->uses, r->use_count);
	return RQL_OK;
}

/* counts NULL: nothing is counted. */
static rql_status record_all(struct rql_stage *stage, struct rql_stage_context *base, struct rql_buffer *counts,
                             struct rql_commands *commands, struct rql_error *err)
{
	const struct rql_sieve_gpu *gpu = gpu_of(stage);
	const struct rql_sieve_context *x = (const struct rql_sieve_context *)base;
	const uint64_t placed = rql_sieve_placed_count(gpu->p), spaces = gpu->p->snapshot->segment_count * gpu->group_count;
	struct rql_use *uses = calloc(3 * placed + 2 * spaces + 3, sizeof(*uses));
	uint32_t count = 0;
	if (!uses)
		return rql_error_memory(err, placed * sizeof(*uses), "a query's commands");
	uses[count++] = (struct rql_use){x->rows, RQL_WRITE};
	uses[count++] = (struct rql_use){gpu->tables, RQL_READ};
	for (uint64_t i = 0; i < placed; i++)
		uses[count++] = (struct rql_use){gpu->placed[i]->buffer, RQL_READ};
	for (uint64_t i = 0; i < placed; i++)
		if (gpu->blocks[i])
			uses[count++] = (struct rql_use){gpu->blocks[i]->buffer, RQL_READ};
	if (counts)
		uses[count++] = (struct rql_use){counts, RQL_READ_WRITE};
	struct rql_sieve_recording r = {.gpu = gpu,
	                                .x = x,
	                                .commands = commands,
	                                .uses = uses,
	                                .use_count = count,
	                                .counts = counts ? counts->address : 0};
	rql_status status = record_first(&r, err);
	uses[0].access = RQL_READ_WRITE;
	for (uint64_t i = 0; i < placed; i++)
		if (gpu->orders[i])
			uses[count++] = (struct rql_use){gpu->orders[i]->rows, RQL_READ};
	for (uint64_t i = 0; i < spaces; i++)
		if (gpu->spaces[i]->cells) {
			uses[count++] = (struct rql_use){gpu->spaces[i]->cells, RQL_READ};
			uses[count++] = (struct rql_use){gpu->spaces[i]->order, RQL_READ};
		}
	r.use_count = count;
	if (status == RQL_OK && gpu->unit->record)
		status = gpu->unit->record(&r, err);
	free(uses);
	return status;
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *base, struct rql_commands *commands,
                         struct rql_error *err)
{
	return record_all(stage, base, NULL, commands, err);
}

/* ---- counting ---- */
static rql_status count(struct rql_stage *stage, struct rql_stage_context *base, struct rql_port *port,
                        struct rql_error *err)
{
	const struct rql_sieve_gpu *gpu = gpu_of(stage);
	uint64_t met[RQL_SIEVE_COUNTS];
	RQL_TRY(rql_stage_count(stage, base, record_all, met, sizeof(met), err)); /* over the bitmap that they have left */
	const struct rql_selected selected = {.rays = gpu->rays,
	                                      .hits = met[RQL_SIEVE_COUNT_HITS],
	                                      .tested = met[RQL_SIEVE_COUNT_TESTED],
	                                      .bytes = met[RQL_SIEVE_COUNT_BYTES],
	                                      .forms = {[RQL_ROWS_BITMAP] = gpu->lists ? met[RQL_SIEVE_COUNT_BITMAPS]
	                                                                               : gpu->p->snapshot->blocks,
	                                                [RQL_ROWS_LIST] = met[RQL_SIEVE_COUNT_LISTS]}};
	rql_selected_add(&port->selected, &selected);
	return RQL_OK;
}

static void give_rows(const struct rql_stage *stage, const struct rql_stage_context *base, struct rql_rows *out)
{
	const struct rql_sieve_gpu *gpu = gpu_of(stage);
	*out = (struct rql_rows){.buffer = ((const struct rql_sieve_context *)base)->rows,
	                         .lists = gpu->lists ? rql_sieve_rows_bytes(gpu) : 0};
}

static const struct rql_stage_ops ops = {.place = place,
                                         .open = open_context,
                                         .close = close_context,
                                         .record = record,
                                         .count = count,
                                         .rows = give_rows,
                                         .bytes = context_bytes};

/* ---- preparing ---- */
/* Is a form's predicate refined as the request is? */
static bool is_open_form(const struct rql_sieve_gpu *gpu, enum rql_sieve_refine form)
{
	return gpu->refine != RQL_SIEVE_VALUES &&
	       (form == gpu->refine || (form == RQL_SIEVE_AUTO && gpu->refine == gpu->unit->automatic));
}

/* Predicates that are refined by themselves, and groups of three of them and what is left (RTScan 4.1.1, 4.4.5). */
static rql_status group_predicates(struct rql_sieve_gpu *gpu, struct rql_error *err)
{
	const struct rql_prepared *p = gpu->p;
	const uint32_t most = gpu->refine == RQL_SIEVE_RTC1 ? 1 : RQL_SIEVE_AXES;
	const uint32_t ranges = gpu->refine == RQL_SIEVE_BLOCKS ? RQL_SIEVE_BLOCK_RANGES_MOST : RQL_SIEVE_OPEN_RANGES_MOST;
	gpu->open = calloc(p->count + 1, sizeof(*gpu->open));
	gpu->groups = calloc(p->count + 1, sizeof(*gpu->groups));
	if (!gpu->open || !gpu->groups)
		return rql_error_memory(err, p->count * sizeof(*gpu->groups), "predicates");
	for (uint32_t k = 0; k < p->count; k++) {
		gpu->open[k] = is_open_form(gpu, p->of[k].sieve.refine) && p->predicates[k].count <= ranges;
		gpu->select_count += !gpu->open[k] || rql_sieve_takes_vectors(gpu->refine);
		if (!gpu->open[k] || !rql_sieve_is_traced(gpu->refine))
			continue;
		if (!gpu->group_count || gpu->groups[gpu->group_count - 1].count == most)
			gpu->group_count++;
		struct rql_sieve_group *group = &gpu->groups[gpu->group_count - 1];
		group->predicates[group->count++] = k;
	}
	return RQL_OK;
}

/* Bytes of the device's memory that are wanted, those that are not there yet, and so many of these that the device makes
 * by itself. */
static void count_placed(const struct rql_prepared *p, uint64_t *made, uint64_t *missing, uint64_t *all)
{
	const struct rql_sieve_gpu *gpu = p->gpu;
	const struct rql_device *device = gpu->stage.device;
	*made = *missing = *all = 0;
	for (uint32_t s = 0; s < p->snapshot->segment_count; s++) {
		const struct rql_store_segment *segment = &p->snapshot->segments[s];
		for (uint32_t k = 0; k < p->count; k++) {
			const uint64_t bytes = rql_sieve_placed_bound(segment, &p->of[k]);
			const uint64_t order = gpu->open[k] && rql_sieve_has_order(gpu->refine) ? segment->rows * sizeof(uint32_t) : 0;
			const bool by_blocks = gpu->open[k] && gpu->refine == RQL_SIEVE_BLOCKS;
			const uint64_t blocks = by_blocks ? rql_sieve_blocks_bound(p->snapshot, s, &p->of[k], device) : 0;
			*all += bytes + order + blocks;
			*made += blocks && !rql_sieve_blocks_there(segment, &p->of[k], device) ? blocks : 0;
			*made += order && !rql_sieve_order_there(segment, &p->of[k], device) ? order : 0;
			*missing += rql_sieve_placed_there(segment, &p->of[k], device) ? 0 : bytes;
		}
		for (uint32_t g = 0; g < gpu->group_count; g++) {
			struct rql_index_of of[RQL_SIEVE_AXES];
			columns_of(gpu, g, of);
			const uint64_t bytes = (uint64_t)rql_sieve_space_bytes(segment->rows, of, device);
			*all += bytes;
			*missing += rql_sieve_space_there(segment, of, gpu->groups[g].count, device) ? 0 : bytes;
		}
	}
	*missing += *made;
}

void rql_sieve_gpu_free(struct rql_prepared *p)
{
	if (p && p->gpu) {
		rql_stage_clear(&p->gpu->stage);
		unplace(p->gpu);
		free(p->gpu->open);
		free(p->gpu->groups);
		free(p->gpu);
	}
	rql_sieve_unbind(p);
}

/* One pass finds the rows, so that it can count a block's before it writes any. By default they are bitmaps: on an H100 the
 * scan of 10^8 rows takes 4 us less under lists of 0.01 to 0.3 %, but counting takes the sieve 12 to 40 us more. */
static bool gives_lists(const struct rql_sieve_gpu *gpu, const struct rql_prepared *p)
{
	const enum rql_sieve_rows rows = p->count ? p->of[0].sieve.rows : RQL_SIEVE_ROWS_BITMAPS;
	const bool can = gpu->unit->unit == RQL_UNIT_COMPUTE && gpu->stage.device->limits.subgroup_size >= LIST_LANES &&
	                 (gpu->refine == RQL_SIEVE_VALUES || gpu->refine == RQL_SIEVE_BLOCKS);
	return can && rows == RQL_SIEVE_ROWS_LISTS && p->snapshot->blocks <= RQL_ROWS_LISTS_MOST;
}

static rql_status open_gpu(struct rql_prepared *p, struct rql_device *device, const struct rql_sieve_unit *unit,
                           struct rql_error *err)
{
	struct rql_sieve_gpu *gpu = calloc(1, sizeof(*gpu));
	if (!gpu)
		return rql_error_memory(err, sizeof(*gpu), "a query on a GPU");
	rql_status status = rql_stage_init(&gpu->stage, &ops, device, err);
	if (status != RQL_OK) {
		free(gpu);
		return status;
	}
	gpu->p = p;
	gpu->cpu = (struct rql_device *)(uintptr_t)device->host;
	gpu->unit = unit;
	gpu->refine = p->count ? p->of[0].sieve.refine : RQL_SIEVE_VALUES;
	gpu->refine = gpu->refine == RQL_SIEVE_AUTO ? unit->automatic : gpu->refine;
	if (unit->unit == RQL_UNIT_COMPUTE && gpu->refine != RQL_SIEVE_POSITIONS && gpu->refine != RQL_SIEVE_BLOCKS)
		gpu->refine = RQL_SIEVE_VALUES;
	gpu->lists = gives_lists(gpu, p);
	p->gpu = gpu;
	return group_predicates(gpu, err);
}

enum rql_offer rql_sieve_gpu_offer(const struct rql_request *request, const struct rql_device *device,
                                   const struct rql_sieve_unit *unit)
{
	if (device->kind == RQL_DEVICE_CPU || !device->units[unit->unit] || !device->host ||
	    (unit->only_automatic && !rql_sieve_is_automatic(request, device, unit->unit)))
		return RQL_OFFER_NO;
	return rql_sieve_offer(request, device, unit->unit);
}

rql_status rql_sieve_gpu_prepare(const struct rql_request *request, struct rql_device *device,
                                 const struct rql_sieve_unit *unit, struct rql_prepared **out, struct rql_error *err)
{
	struct rql_prepared *p = NULL;
	RQL_TRY(rql_sieve_bind(request, (struct rql_device *)(uintptr_t)device->host, device, unit->unit, &p, err));
	rql_status status = open_gpu(p, device, unit, err);
	if (status == RQL_OK)
		*out = p;
	else
		rql_sieve_gpu_free(p);
	return status;
}

/* ---- the price ---- */
/* Bytes that the passes read and write. Where rows between a bound and its vector are put right, the nearer cut of each
 * bound is read, a quarter of its bin's rows away; else both cuts, and the keys of rows that no vector decides. */
static double bytes_of(const struct rql_prepared *p)
{
	const double rows = (double)p->snapshot->rows, blocks = (double)p->snapshot->blocks;
	const double given = p->gpu->lists ? blocks * RQL_ROWS_LIST_BYTES : rows / 8;
	const double nearer = p->count && p->of[0].sieve.components == 2 ? 0.75 : 0.5; /* three vectors of four, one of two */
	switch (p->gpu->refine) {
	case RQL_SIEVE_BLOCKS:
		return rows / 8 * p->reads * nearer + given + rows * p->open / 4 * OPEN_BYTES + blocks * p->count * LINE_BYTES;
	case RQL_SIEVE_POSITIONS:
		return rows / 8 * p->reads * nearer + given + rows * p->open / 4 * LISTED_BYTES;
	default:
		return rows / 8 * p->reads + given + rows * p->tested * LINE_BYTES;
	}
}

void rql_sieve_gpu_price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_profile *profile = &device->profile;
	const double rows = (double)p->snapshot->rows, bytes = bytes_of(p);
	const double part = p->gpu->refine == RQL_SIEVE_BLOCKS ? BLOCKS_PART : WORDS_PART;
	const double words = rows * p->count * profile->scan.tested_row_ns * part;
	uint64_t made, missing, resident;
	count_placed(p, &made, &missing, &resident);
	rql_sieve_price(p, p->gpu->cpu, out); /* for what the CPU samples and decodes first */
	const double uploads = missing > made ? out->setup_ns + (double)(missing - made) / profile->upload_gbps : 0;
	*out = (struct rql_cost){.setup_ns = uploads + (double)made * MADE_PASSES / profile->read_gbps,
	                         .run_ns = profile->pass_ns + bytes / profile->read_gbps + words,
	                         .rows_out = rows * p->share,
	                         .runs = (double)p->snapshot->blocks,
	                         .bytes = bytes,
	                         .device_bytes = resident + context_bytes(&p->gpu->stage),
	                         .placed_bytes = resident - missing,
	                         .rows_form = p->gpu->lists ? RQL_ROWS_LIST : RQL_ROWS_BITMAP};
	if (p->gpu->unit->refine_ns)
		out->run_ns += p->gpu->unit->refine_ns(p, device);
}

struct rql_stage *rql_sieve_gpu_stage(const struct rql_prepared *p)
{
	return &p->gpu->stage;
}

uint64_t rql_sieve_gpu_bytes(const struct rql_prepared *p)
{
	return rql_sieve_bound_bytes(p) + sizeof(*p->gpu) + rql_sieve_placed_count(p) * 4 * sizeof(void *);
}
