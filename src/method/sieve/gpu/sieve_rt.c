/* The method on a GPU's rt unit: rays find the rows that vectors leave open (RTScan: RTc1 2.3, RTc3 3.1, Matrix RT
 * Refine 4.4; and cells). One launch for all regions of all segments. */
#include <math.h>
#include <stdlib.h>
#include "method/sieve/gpu/sieve_gpu.h"
#include "method/sieve/gpu/sieve_kernels.h"
#include "shaders/method/sieve/sieve_and.comp.h"
#include "shaders/method/sieve/sieve_trace.rahit.h"
#include "shaders/method/sieve/sieve_trace.rgen.h"
#include "shaders/method/sieve/sieve_trace.rint.h"
#include "shaders/method/sieve/sieve_trace.rmiss.h"

#define MATRIX_RAYS 14.0 /* cubes' widths that a ray of a matrix takes of a line, its spacing included */
#define CUBE_HITS 2.0    /* calls for a row whose cube has about one ray: boxes are met beside it, too */
#define BINS_GUESS 200.0

#define SHADER(stage) {rql_spv_sieve_trace_##stage, sizeof(rql_spv_sieve_trace_##stage)}
/* [triangles, cubes] */
static const struct rql_trace_kernel trace_kernels[2] = {
	{.name = "sieve.trace",
     .raygen = SHADER(rgen),
     .miss = SHADER(rmiss),
     .any_hit = SHADER(rahit),
     .args_bytes = sizeof(struct rql_sieve_trace_args)},
	{.name = "sieve.trace_cubes",
     .raygen = SHADER(rgen),
     .miss = SHADER(rmiss),
     .any_hit = SHADER(rahit),
     .intersection = SHADER(rint),
     .args_bytes = sizeof(struct rql_sieve_trace_args)},
};
static const struct rql_kernel and_kernel = {
	.name = "sieve.and",
	.spirv = rql_spv_sieve_and_comp,
	.spirv_bytes = sizeof(rql_spv_sieve_and_comp),
	.args_bytes = sizeof(struct rql_sieve_and_args),
};

static bool has_cubes(const struct rql_sieve_gpu *gpu)
{
	return gpu->refine == RQL_SIEVE_RTC3 || gpu->refine == RQL_SIEVE_MATRIX;
}

static rql_status trace_pipeline(const struct rql_sieve_gpu *gpu, uint32_t counting, const struct rql_pipeline **out,
                                 struct rql_error *err)
{
	return rql_trace_pipeline_get(gpu->stage.device, &trace_kernels[has_cubes(gpu)], &counting, 1, out, err);
}

static rql_status place(struct rql_sieve_gpu *gpu, struct rql_error *err)
{
	RQL_TRY(trace_pipeline(gpu, false, &gpu->refining[0], err));
	return rql_pipeline_get(gpu->stage.device, &and_kernel, &gpu->workgroup, 1, &gpu->refining[1], err);
}

static rql_status record_rays(const struct rql_sieve_recording *r, struct rql_error *err)
{
	const struct rql_sieve_gpu *gpu = r->gpu;
	const struct rql_pipeline *pipeline = gpu->refining[0];
	const uint32_t count = gpu->p->snapshot->segment_count * gpu->group_count;
	struct rql_accel **accels = calloc(count + 1, sizeof(struct rql_accel *));
	const struct rql_sieve_trace_args args = {.rays = gpu->rays,
	                                          .regions = gpu->tables->address + gpu->regions_at,
	                                          .rows = r->x->rows->address,
	                                          .counts = r->counts,
	                                          .region_count = gpu->region_count};
	if (r->counts)
		RQL_TRY(trace_pipeline(gpu, true, &pipeline, err));
	if (!accels)
		return rql_error_memory(err, count * sizeof(struct rql_accel *), "a query's commands");
	for (uint32_t i = 0; i < count; i++)
		accels[i] = gpu->spaces[i]->accel;
	rql_record_trace(r->commands, "sieve rays", pipeline, &args, gpu->rays, accels, count, r->uses, r->use_count);
	free(accels);
	return RQL_OK;
}

static rql_status record(const struct rql_sieve_recording *r, struct rql_error *err)
{
	const struct rql_sieve_gpu *gpu = r->gpu;
	const struct rql_sieve_context *x = r->x;
	const uint64_t bytes = rql_sieve_rows_bytes(gpu);
	const bool alone = gpu->refine == RQL_SIEVE_RTC1 && gpu->group_count;
	if (alone)
		rql_record_fill(r->commands, x->rows, bytes, bytes * gpu->group_count, 0);
	if (gpu->rays)
		RQL_TRY(record_rays(r, err));
	const struct rql_sieve_and_args args = {.rows = x->rows->address,
	                                        .maps = x->rows->address + bytes,
	                                        .words = bytes / 16,
	                                        .map_count = gpu->group_count};
	if (alone)
		rql_record_dispatch(r->commands, "sieve and", gpu->refining[1], &args,
		                    (args.words + gpu->workgroup - 1) / gpu->workgroup, r->uses, r->use_count);
	return RQL_OK;
}

/* ---- the price ---- */
/* Rays over a share of the rows, or at the bounds of all predicates, and calls for rows that they meet. */
static void expect(const struct rql_prepared *p, double *rays, double *hits)
{
	const struct rql_sieve_gpu *gpu = p->gpu;
	const double rows = (double)p->snapshot->rows, segments = p->snapshot->segment_count, each = rows / fmax(segments, 1);
	*rays = *hits = 0;
	for (uint32_t g = 0; g < gpu->group_count; g++) {
		const uint32_t axes = gpu->groups[g].count;
		const double side = rql_sieve_space_side(gpu->refine, each, axes);
		if (gpu->refine == RQL_SIEVE_RTC1) {
			*rays += segments * side * sqrt(p->share);
			*hits += rows * sqrt(p->share);
		} else if (gpu->refine == RQL_SIEVE_RTC3) {
			*rays += segments * pow(side, axes < 2 ? 1 : 2) * pow(p->share, 2.0 / 3);
			*hits += CUBE_HITS * rows * p->share;
		} else if (gpu->refine == RQL_SIEVE_MATRIX) {
			/* Of three boxes one lies across the rays, so that each line of the grid has one in it. */
			const double cells = axes < 2 ? side / BINS_GUESS
			                     : axes < 3 ? side
			                                : side * side * (1 + 2 / MATRIX_RAYS) / RQL_SIEVE_AXES;
			*rays += segments * axes * cells;
			*hits += CUBE_HITS * rows * p->tested;
		} else {
			*rays += segments * axes * BINS_GUESS;
			*hits += rows * p->tested;
		}
	}
}

static double refine_ns(const struct rql_prepared *p, const struct rql_device *device)
{
	double rays, hits;
	expect(p, &rays, &hits);
	return device->profile.pass_ns + rays * device->profile.ray_ns + hits * device->profile.hit_ns;
}

static const struct rql_sieve_unit unit = {
	.unit = RQL_UNIT_RT, .place = place, .record = record, .refine_ns = refine_ns};

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	(void)reason;
	return rql_sieve_gpu_offer(request, device, &unit);
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	return rql_sieve_gpu_prepare(request, device, &unit, out, err);
}

static void price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	rql_sieve_gpu_price(p, device, out);
	expect(p, &out->rays, &out->hits);
}

extern const struct rql_method rql_method_sieve_rt;
const struct rql_method rql_method_sieve_rt = {
	.name = "sieve",
	.description = "rows by conjunctions of predicates: nested bit vectors, then rays for the rows at their bounds",
	.paper = "RTScan (PVLDB 17(6)), sections 2.3, 3.1 and 4",
	.unit = RQL_UNIT_RT,
	.reads = RQL_READS_STORE,
	.gives = 1u << RQL_PORT_ROWS,
	.offer = offer,
	.prepare = prepare,
	.price = price,
	.stage = rql_sieve_gpu_stage,
	.free = rql_sieve_gpu_free,
	.bytes = rql_sieve_gpu_bytes,
};
