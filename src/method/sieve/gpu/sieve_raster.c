/* The method on a GPU's raster unit: the rows at a bound are points, and those that pass are drawn into the bitmap, a
 * pixel of which has 32 rows. The drawing ORs, so vectors below the bounds are taken, and a row may be drawn twice. */
#include "method/sieve/gpu/sieve_gpu.h"
#include "method/sieve/gpu/sieve_kernels.h"
#include "shaders/method/sieve/sieve_draw.frag.h"
#include "shaders/method/sieve/sieve_draw.vert.h"

#define POINT_BYTES 160.0 /* of a row in a list, its keys and its pixel */

static const struct rql_draw_kernel draw_kernel = {
	.name = "sieve.draw",
	.vertex = {rql_spv_sieve_draw_vert, sizeof(rql_spv_sieve_draw_vert)},
	.fragment = {rql_spv_sieve_draw_frag, sizeof(rql_spv_sieve_draw_frag)},
	.args_bytes = sizeof(struct rql_sieve_draw_args),
};

static rql_status place(struct rql_sieve_gpu *gpu, struct rql_error *err)
{
	struct rql_draw_state state = {.target_count = 1, .logic = RQL_LOGIC_OR};
	state.targets[0].format = RQL_FORMAT_R32_UINT;
	return rql_draw_pipeline_get(gpu->stage.device, &draw_kernel, &state, NULL, 0, &gpu->refining[0], err);
}

static rql_status record(const struct rql_sieve_recording *r, struct rql_error *err)
{
	const struct rql_sieve_gpu *gpu = r->gpu;
	const struct rql_sieve_context *x = r->x;
	const struct rql_image_rows all = {.image = x->image, .layers = 1, .rows = x->image->spec.height};
	const struct rql_sieve_draw_args args = {.lists = gpu->tables->address + gpu->lists_at,
	                                         .list_count = gpu->list_count,
	                                         .test_count = gpu->p->count,
	                                         .width = x->image->spec.width,
	                                         .height = x->image->spec.height};
	struct rql_draw draw = {.pass = "sieve points",
	                        .pipeline = gpu->refining[0],
	                        .args = &args,
	                        .target_count = 1,
	                        .vertices = gpu->list_count * RQL_SIEVE_LIST_ROWS,
	                        .instances = 1,
	                        .uses = r->uses + 1, /* all but the bitmap */
	                        .use_count = r->use_count - 1};
	if (r->counts) /* a drawing cannot count everywhere; the same rows are tested so */
		return rql_sieve_record_lists(r, err);
	if (gpu->list_count > UINT32_MAX / RQL_SIEVE_LIST_ROWS)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "the sieve asks for more points than a drawing has");
	if (!gpu->list_count)
		return RQL_OK;
	draw.targets[0] = (struct rql_target){.image = x->image};
	rql_record_image_write(r->commands, &all, x->rows, 0);
	rql_record_draw(r->commands, &draw);
	rql_record_image_read(r->commands, &all, x->rows, 0);
	return RQL_OK;
}

static double refine_ns(const struct rql_prepared *p, const struct rql_device *device)
{
	const double points = (double)p->snapshot->rows * p->tested;
	const double copies = 4 * (double)rql_sieve_rows_bytes(p->gpu);
	return 3 * device->profile.pass_ns + points * device->profile.point_ns +
	       (points * POINT_BYTES + copies) / device->profile.read_gbps;
}

static const struct rql_sieve_unit unit = {
	.unit = RQL_UNIT_RASTER, .place = place, .record = record, .refine_ns = refine_ns};

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

extern const struct rql_method rql_method_sieve_raster;
const struct rql_method rql_method_sieve_raster = {
	.name = "sieve",
	.description = "rows by conjunctions of predicates: nested bit vectors, then the rows at their bounds drawn",
	.paper = "RTScan (PVLDB 17(6)), section 4.3; \"Raster is Faster\" (CIDR 2026)",
	.unit = RQL_UNIT_RASTER,
	.reads = RQL_READS_STORE,
	.gives = 1u << RQL_PORT_ROWS,
	.offer = offer,
	.prepare = prepare,
	.price = rql_sieve_gpu_price,
	.stage = rql_sieve_gpu_stage,
	.free = rql_sieve_gpu_free,
	.bytes = rql_sieve_gpu_bytes,
};
