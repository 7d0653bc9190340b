/* The cube on the rt unit: scan, group-by and aggregation as one launch of rays (RTCUDB section 3.1), exact and
 * without a hit that must be deduplicated. Then the copies of the rows are folded, and cube_unit.c puts the groups out. */
#include "method/cube/rt/cube_rt_unit.h"

#include <stdlib.h>

#include "shaders/method/cube/cube_rt_hits.rahit.h"
#include "shaders/method/cube/cube_rt_hits.rgen.h"
#include "shaders/method/cube/cube_rt_hits_local.rahit.h"
#include "shaders/method/cube/cube_rt_hits_local.rgen.h"
#include "shaders/method/cube/cube_rt_hits_real.rahit.h"
#include "shaders/method/cube/cube_rt_hits_real.rgen.h"
#include "shaders/method/cube/cube_rt_hits_real_local.rahit.h"
#include "shaders/method/cube/cube_rt_hits_real_local.rgen.h"
#include "shaders/method/cube/cube_rt_merge.comp.h"
#include "shaders/method/cube/cube_rt_merge_real.comp.h"
#include "shaders/method/cube/cube_rt_pair.rchit.h"
#include "shaders/method/cube/cube_rt_pair.rgen.h"
#include "shaders/method/cube/cube_rt_pair_real.rgen.h"

#define SHADER(name)                                                                                                   \
	{                                                                                                                  \
		.spirv = (name), .spirv_bytes = sizeof(name)                                                                   \
	}
/* [a slot sums doubles] */
static const struct rql_trace_kernel pair_kernels[2] = {
	{.name = "cube.rt.pair",
     .raygen = SHADER(rql_spv_cube_rt_pair_rgen),
     .closest_hit = SHADER(rql_spv_cube_rt_pair_rchit),
     .args_bytes = sizeof(struct rql_rt_args)},
	{.name = "cube.rt.pair_real",
     .raygen = SHADER(rql_spv_cube_rt_pair_real_rgen),
     .closest_hit = SHADER(rql_spv_cube_rt_pair_rchit),
     .args_bytes = sizeof(struct rql_rt_args)},
};
/* [a slot sums doubles][local] */
static const struct rql_trace_kernel hits_kernels[2][2] = {
	{{.name = "cube.rt.hits",
      .raygen = SHADER(rql_spv_cube_rt_hits_rgen),
      .any_hit = SHADER(rql_spv_cube_rt_hits_rahit),
      .args_bytes = sizeof(struct rql_rt_args)},
     {.name = "cube.rt.hits_local",
      .raygen = SHADER(rql_spv_cube_rt_hits_local_rgen),
      .any_hit = SHADER(rql_spv_cube_rt_hits_local_rahit),
      .args_bytes = sizeof(struct rql_rt_args)}},
	{{.name = "cube.rt.hits_real",
      .raygen = SHADER(rql_spv_cube_rt_hits_real_rgen),
      .any_hit = SHADER(rql_spv_cube_rt_hits_real_rahit),
      .args_bytes = sizeof(struct rql_rt_args)},
     {.name = "cube.rt.hits_real_local",
      .raygen = SHADER(rql_spv_cube_rt_hits_real_local_rgen),
      .any_hit = SHADER(rql_spv_cube_rt_hits_real_local_rahit),
      .args_bytes = sizeof(struct rql_rt_args)}},
};
static const struct rql_kernel merge_kernels[2] = {
	{.name = "cube.rt.merge",
     .spirv = rql_spv_cube_rt_merge_comp,
     .spirv_bytes = sizeof(rql_spv_cube_rt_merge_comp),
     .args_bytes = sizeof(struct rql_rt_merge_args)},
	{.name = "cube.rt.merge_real",
     .spirv = rql_spv_cube_rt_merge_real_comp,
     .spirv_bytes = sizeof(rql_spv_cube_rt_merge_real_comp),
     .args_bytes = sizeof(struct rql_rt_merge_args)},
};

#define LOCAL_WORDS 4u /* of a row in a payload: shaders/cube_rt_hits.glsl */
#define MERGE_SIZE 64u
#define COUNTER_BYTES (RQL_RT_COUNTER_SETS * RQL_RT_COUNTERS * sizeof(uint64_t))
/* Copies of the rows: as many as leave each address so many additions, within the memory that caches hold. */
#define COPY_ADDITIONS 64.0
#define MOST_COPIES 1024u
#define COPIES_BYTES ((uint64_t)4 << 20)

/* ---- what runs: made when the request runs first ---- */

static uint64_t choose_copies(const struct rql_cube_unit *unit, const struct rql_cube_rays *rays)
{
	const struct rql_prepared *p = unit->prepared;
	bool per_hit = rays->placed.mode == RQL_RT_HITS && !rays->local;
	double additions = (double)rays->placed.rays;
	if (per_hit || rays->placed.found < additions)
		additions = rays->placed.found;
	uint64_t copies = 1, bytes = p->layout.group_count * p->layout.row_words * sizeof(uint64_t);
	while (!unit->hashed && copies < MOST_COPIES && 2 * copies * bytes <= COPIES_BYTES &&
	       additions > COPY_ADDITIONS * (double)(copies * p->layout.group_count))
		copies *= 2;
	return copies;
}

static bool is_local(const struct rql_prepared *p, const struct rql_rt_plan *plan)
{
	bool apart = false;
	for (uint32_t b = 0; b < p->box_count; b++)
		apart |= plan->boxes[b].groups_apart;
	return plan->mode == RQL_RT_HITS && !apart && p->layout.row_words <= LOCAL_WORDS;
}

static void unplace(struct rql_cube_unit *unit)
{
	struct rql_cube_rays *rays = unit->method;
	rql_buffer_free(rays->tables);
	if (rays->rt)
		rql_placement_release(&rays->rt->placement);
	rql_arena_free(rays->arena);
	rays->tables = NULL;
	rays->rt = NULL;
	rays->arena = NULL;
}

static rql_status place_rays(struct rql_cube_unit *unit, struct rql_cube_rays *rays, struct rql_error *err)
{
	const struct rql_prepared *p = unit->prepared;
	rays->arena = rql_arena_new();
	if (!rays->arena)
		return rql_error_memory(err, 0, "a query's rays");
	RQL_TRY(rql_cube_rt_get(p->cube, unit->stage.device, NULL, &rays->rt, err));
	RQL_TRY(rql_rt_plan_rays(p, rays->views, &rays->rt->axes, (double)rays->rt->primitives, unit->stage.device, rays->arena,
	                         &rays->placed, err));
	rays->piece = rql_trace_piece(unit->stage.device, rays->placed.rays, rays->placed.work_ns);
	rays->local = is_local(p, &rays->placed);
	rays->copies = choose_copies(unit, rays);
	rays->merges = rays->copies > 1 || rql_cube_rays_are_many(&rays->placed);
	return rql_rt_tables_new(p, &rays->placed, rays->rt, unit->program, &rays->tables, err);
}

static rql_status place(struct rql_cube_unit *unit, struct rql_error *err)
{
	rql_status status = place_rays(unit, unit->method, err);
	if (status != RQL_OK)
		unplace(unit);
	return status;
}

/* ---- passes ---- */

/* The context's counters, zero, and behind them the copies of the rows, templates. */
static rql_status make_queue(const struct rql_cube_unit *unit, struct rql_cube_context *context, struct rql_error *err)
{
	const struct rql_cube_rays *rays = unit->method;
	const struct rql_prepared *p = unit->prepared;
	uint64_t rows = rays->copies > 1 ? rays->copies * p->layout.group_count : 0, words = p->layout.row_words;
	uint64_t bytes = COUNTER_BYTES + rows * words * sizeof(uint64_t);
	uint64_t *image = calloc(1, bytes);
	if (!image)
		return rql_error_memory(err, bytes, "a query's counters");
	uint64_t *row = image + COUNTER_BYTES / sizeof(uint64_t);
	for (uint64_t r = 0; r < rows; r++, row += words)
		for (uint32_t s = 0; s < p->slot_count; s++)
			if (p->slots[s].state.kind == RQL_STATE_MIN_FIELD || p->slots[s].state.kind == RQL_STATE_MIN_REAL)
				row[p->slots[s].state.word] = UINT64_MAX; /* rql_state_identity of group/shaders/state.glsl */
	rql_status status =
		rql_buffer_new(unit->stage.device, bytes, RQL_MEMORY_DEVICE, "the counters of a query", &context->queue, err);
	if (status == RQL_OK)
		status = rql_buffer_upload(context->queue, 0, image, bytes, err);
	free(image);
	return status;
}

/* Rays that run before the recording; always 0 but for very many. */
static uint64_t rays_before(const struct rql_cube_rays *rays)
{
	return rays->placed.rays ? (rays->placed.rays - 1) / rays->piece * rays->piece : 0;
}

static uint32_t list_uses(const struct rql_cube_unit *unit, const struct rql_cube_context *context,
                          struct rql_use *uses)
{
	const struct rql_cube_rays *rays = unit->method;
	uint32_t count = rql_cube_unit_uses(unit, context, uses);
	uses[count++] = (struct rql_use){rays->tables, RQL_READ};
	if (rays->rt->starts)
		uses[count++] = (struct rql_use){rays->rt->starts, RQL_READ};
	if (rays->rt->z)
		uses[count++] = (struct rql_use){rays->rt->z, RQL_READ};
	return count;
}

/* The rays [first, first + number). */
static rql_status record_rays(const struct rql_cube_unit *unit, const struct rql_cube_context *context, uint64_t first,
                              uint64_t number, struct rql_commands *commands, struct rql_error *err)
{
	const struct rql_cube_rays *rays = unit->method;
	bool pair = rays->placed.mode == RQL_RT_PAIR, real = rql_cube_has_real_sum(unit->prepared);
	const struct rql_trace_kernel *kernel = pair ? &pair_kernels[real] : &hits_kernels[real][rays->local];
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_trace_pipeline_get(unit->stage.device, kernel, NULL, 0, &pipeline, err));
	struct rql_rt_args args = {.first_ray = first,
	                           .accel = rays->rt->accel->address,
	                           .launch = rays->tables->address,
	                           .counters = context->queue ? context->queue->address : 0,
	                           .accumulator = context->accumulator,
	                           .copies = rays->copies,
	                           .counter_sets = RQL_RT_COUNTER_SETS};
	if (rays->copies > 1)
		args.accumulator.rows = context->queue->address + COUNTER_BYTES;
	if (!rays->merges) {
		args.counters = context->accumulator.state + RQL_CUBE_STATE_COUNTERS * sizeof(uint64_t);
		args.counter_sets = 1;
	}
	struct rql_use uses[RQL_CUBE_USES_MAX + 3];
	uint32_t count = list_uses(unit, context, uses);
	rql_record_trace(commands, pair ? "pairs of rays" : "rays", pipeline, &args, number, &rays->rt->accel, 1, uses,
	                 count);
	return RQL_OK;
}

static rql_status record_merge(const struct rql_cube_unit *unit, const struct rql_cube_context *context,
                               struct rql_commands *commands, struct rql_error *err)
{
	const struct rql_cube_rays *rays = unit->method;
	const struct rql_pipeline *pipeline;
	const uint32_t size = MERGE_SIZE;
	RQL_TRY(rql_pipeline_get(unit->stage.device, &merge_kernels[rql_cube_has_real_sum(unit->prepared)], &size, 1, &pipeline,
	                         err));
	bool copies = rays->copies > 1;
	struct rql_rt_merge_args args = {.program = unit->program->address,
	                                 .accumulator = context->accumulator,
	                                 .counters = context->queue->address,
	                                 .rows = context->queue->address + COUNTER_BYTES,
	                                 .copies = copies ? rays->copies : 0};
	struct rql_use uses[RQL_CUBE_USES_MAX + 3];
	uint32_t count = list_uses(unit, context, uses);
	rql_record_dispatch(commands, "merge", pipeline, &args, copies ? unit->prepared->layout.group_count : 1, uses, count);
	return RQL_OK;
}

static rql_status record(struct rql_cube_unit *unit, struct rql_cube_context *context, struct rql_commands *commands,
                         struct rql_error *err)
{
	const struct rql_cube_rays *rays = unit->method;
	if (rays->merges && !context->queue)
		RQL_TRY(make_queue(unit, context, err));
	uint64_t before = rays_before(rays);
	RQL_TRY(record_rays(unit, context, before, rays->placed.rays - before, commands, err));
	return rays->merges ? record_merge(unit, context, commands, err) : RQL_OK;
}

/* ---- more rays than one submission should have ---- */

static rql_status run_piece(const struct rql_cube_unit *unit, struct rql_cube_context *context, uint64_t first,
                            bool timed, struct rql_progress *progress, struct rql_error *err)
{
	const struct rql_cube_rays *rays = unit->method;
	struct rql_commands *commands;
	double ns = 0;
	if (progress && atomic_load_explicit(&progress->cancel, memory_order_relaxed))
		return rql_error_set(err, RQL_ERROR_INTERRUPTED, "the query was interrupted");
	RQL_TRY(rql_commands_new(unit->stage.device, timed ? RQL_COMMANDS_TIMED : 0, &commands, err));
	rql_status status = record_rays(unit, context, first, rays->piece, commands, err);
	if (status == RQL_OK)
		status = rql_commands_end(commands, err);
	if (status == RQL_OK)
		status = rql_commands_run(commands, progress, err);
	if (status == RQL_OK && timed)
		rql_commands_times(commands, NULL, 0, &ns);
	rql_commands_free(commands);
	context->before.ns += ns;
	return status;
}

static rql_status run_before(const struct rql_cube_unit *unit, struct rql_cube_context *context, bool timed,
                             struct rql_progress *progress, struct rql_error *err)
{
	const struct rql_cube_rays *rays = unit->method;
	uint64_t before = rays_before(rays);
	if (before)
		context->before = (struct rql_pass_time){.pass = "earlier rays"};
	for (uint64_t first = 0; first < before; first += rays->piece)
		RQL_TRY(run_piece(unit, context, first, timed, progress, err));
	return RQL_OK;
}

/* ---- counting ---- */

static void count(const struct rql_cube_unit *unit, const uint64_t *head, struct rql_port *out)
{
	const struct rql_prepared *p = unit->prepared;
	const struct rql_cube_rays *rays = unit->method;
	const uint64_t *counter = head + RQL_CUBE_STATE_COUNTERS;
	uint64_t found = counter[RQL_RT_COUNTER_RUNS], tested = counter[RQL_RT_COUNTER_TESTED];
	bool pair = rays->placed.mode == RQL_RT_PAIR;
	out->runs = found;
	out->hits = pair ? 2 * found : counter[RQL_RT_COUNTER_HITS];
	out->rays = rays->placed.rays + (pair ? found : 0);
	/* Cells that were read one by one: at most a block's two nearer halves of an interval that has cumulative sums. */
	uint64_t read = tested, bytes = tested * rays->placed.cell_bits / 8 + out->hits * 2 * (rays->rt->wide ? 8 : 4);
	for (uint32_t s = 0; s < p->slot_count && !tested; s++) {
		const struct rql_cube_slot *slot = &p->slots[s];
		bool summed = slot->cumulative || slot->cumulative128;
		uint64_t edges = found * RQL_CUBE_BLOCK / 2, cells = out->cells_covered;
		cells = summed && edges < cells ? edges : cells;
		read = cells > read ? cells : read;
		bytes += cells * (slot->values ? slot->values->bits : 64) / 8;
	}
	out->cells_read = read;
	out->bytes_read = bytes;
}

static const struct rql_cube_unit_ops ops = {
	.place = place, .record = record, .run_before = run_before, .count = count, .unplace = unplace};

/* ---- the method ---- */

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	const struct rql_cube *cube = (const struct rql_cube *)request->relation;
	const char *why = rql_device_lacks(device, RQL_UNIT_RT);
	if (!why)
		why = rql_cube_gpu_refusal(request, device);
	if (!why)
		rql_cube_is_placed(cube, device, RQL_CUBE_ARRAYS, NULL, &why);
	if (!why)
		rql_cube_is_placed(cube, device, RQL_CUBE_RT, NULL, &why);
	return rql_offer_unless(why, reason);
}

static void free_prepared(struct rql_prepared *prepared)
{
	if (!prepared)
		return;
	rql_cube_unit_free(prepared->unit);
	rql_arena_free(prepared->arena);
}

/* The axes that the structure has, or most likely will have. */
static rql_status expect_axes(const struct rql_cube *cube, struct rql_device *device, struct rql_cube_rays *rays,
                              struct rql_error *err)
{
	if (rql_cube_is_placed(cube, device, RQL_CUBE_RT, NULL, NULL)) {
		struct rql_cube_rt *rt;
		if (rql_cube_rt_get(cube, device, NULL, &rt, NULL) == RQL_OK) {
			rays->axes = rt->axes;
			rays->primitives = (double)rt->primitives;
			rql_placement_release(&rt->placement);
			return RQL_OK;
		} /* it went in between */
	}
	uint64_t runs[RQL_CUBE_MAX_DIMENSIONS + 1];
	for (uint32_t d = 0; d <= cube->digit_count; d++)
		runs[d] = (uint64_t)rql_rt_guess_runs(cube, d);
	uint32_t depth = rql_rt_choose_depth(cube, runs, device);
	rays->primitives = (double)(depth ? runs[depth] : 1);
	if (!rql_rt_fold(cube, depth, &rays->axes))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a depth was chosen that does not fit the axes");
	return RQL_OK;
}

static rql_status bind_rays(struct rql_prepared *p, struct rql_device *device, struct rql_cube_rays *rays,
                            struct rql_error *err)
{
	rays->views = RQL_NEW_ARRAY(p->arena, struct rql_rt_view *, p->box_count + 1u);
	if (!rays->views)
		return rql_error_memory(err, p->box_count * sizeof(*rays->views), "a query's rays");
	for (uint32_t b = 0; b < p->box_count; b++)
		RQL_TRY(rql_rt_views(p, &p->boxes[b], p->arena, &rays->views[b], err));
	RQL_TRY(expect_axes(p->cube, device, rays, err));
	return rql_rt_plan_rays(p, rays->views, &rays->axes, rays->primitives, device, p->arena, &rays->plan, err);
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	struct rql_prepared *p = NULL;
	RQL_TRY(rql_cube_prepare(request, device, &p, err));
	struct rql_cube_rays *rays = RQL_NEW(p->arena, struct rql_cube_rays);
	rql_status status = rays ? RQL_OK : rql_error_memory(err, sizeof(*rays), "a query's rays");
	if (status == RQL_OK)
		status = bind_rays(p, device, rays, err);
	if (status == RQL_OK)
		status = rql_cube_unit_new(p, device, &ops, rays, err);
	if (status == RQL_OK)
		*out = p;
	else
		free_prepared(p);
	return status;
}

const struct rql_method rql_method_cube_rt = {
	.name = "cube",
	.description = "finds the cells of key intervals of a materialized view with rays",
	.paper = "RTCUDB (RayDB, PVLDB 19(1)), sections 3 to 5",
	.unit = RQL_UNIT_RT,
	.reads = RQL_READS_RELATION,
	.gives = 1u << RQL_PORT_GROUPS,
	.offer = offer,
	.prepare = prepare,
	.price = rql_cube_rays_price,
	.stage = rql_cube_unit_stage,
	.run = rql_cube_unit_run,
	.calibrate = rql_cube_calibrate_rt,
	.free = free_prepared,
	.bytes = rql_cube_unit_host_bytes,
};
