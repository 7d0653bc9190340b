/* The method on a GPU's compute unit: by values, all in the pass over vectors; or by positions, where a second pass puts
 * right the rows between a bound and the vector that was taken for it. */
#include "method/sieve/gpu/sieve_gpu.h"
#include "method/sieve/gpu/sieve_kernels.h"
#include "shaders/method/sieve/sieve_list.comp.h"

static const struct rql_kernel list_kernel = {
	.name = "sieve.list",
	.spirv = rql_spv_sieve_list_comp,
	.spirv_bytes = sizeof(rql_spv_sieve_list_comp),
	.args_bytes = sizeof(struct rql_sieve_list_args),
};

static rql_status place(struct rql_sieve_gpu *gpu, struct rql_error *err)
{
	const uint32_t constants[] = {gpu->workgroup, false};
	return rql_pipeline_get(gpu->stage.device, &list_kernel, constants, 2, &gpu->refining[0], err);
}

rql_status rql_sieve_record_lists(const struct rql_sieve_recording *r, struct rql_error *err)
{
	const struct rql_sieve_gpu *gpu = r->gpu;
	const uint32_t constants[] = {gpu->workgroup, r->counts != 0};
	const struct rql_pipeline *pipeline;
	const struct rql_sieve_list_args args = {.lists = gpu->tables->address + gpu->lists_at,
	                                         .rows = r->x->rows->address,
	                                         .counts = r->counts,
	                                         .list_count = gpu->list_count,
	                                         .test_count = gpu->p->count};
	if (!gpu->list_count)
		return RQL_OK;
	RQL_TRY(rql_pipeline_get(gpu->stage.device, &list_kernel, constants, 2, &pipeline, err));
	rql_record_dispatch(r->commands, "sieve positions", pipeline, &args, gpu->list_count, r->uses, r->use_count);
	return RQL_OK;
}

static double refine_ns(const struct rql_prepared *p, const struct rql_device *device)
{
	return p->gpu->refine == RQL_SIEVE_POSITIONS ? device->profile.pass_ns : 0;
}

/* The unit three times. The first answers by what forms ask for. The others are there for forms that leave it to RayQL:
 * the planner prices all of them, with the room that each needs, and takes the cheapest. */
#define SIEVE_ON_COMPUTE(NAME, VARIANT, AUTOMATIC, ONLY)                                                               \
	static const struct rql_sieve_unit NAME##_unit = {.unit = RQL_UNIT_COMPUTE,                                       \
	                                                  .automatic = AUTOMATIC,                                           \
	                                                  .only_automatic = ONLY,                                           \
	                                                  .place = place,                                                   \
	                                                  .record = rql_sieve_record_lists,                                 \
	                                                  .refine_ns = refine_ns};                                          \
	static enum rql_offer NAME##_offer(const struct rql_request *request, const struct rql_device *device,            \
	                                   const char **reason)                                                            \
	{                                                                                                                  \
		(void)reason;                                                                                                  \
		return rql_sieve_gpu_offer(request, device, &NAME##_unit);                                                     \
	}                                                                                                                  \
	static rql_status NAME##_prepare(const struct rql_request *request, struct rql_device *device,                    \
	                                 struct rql_prepared **out, struct rql_error *err)                                 \
	{                                                                                                                  \
		return rql_sieve_gpu_prepare(request, device, &NAME##_unit, out, err);                                         \
	}                                                                                                                  \
	extern const struct rql_method rql_method_sieve_##NAME;                                                            \
	const struct rql_method rql_method_sieve_##NAME = {                                                                \
		.name = "sieve",                                                                                               \
		.variant = VARIANT,                                                                                            \
		.description = "rows by conjunctions of predicates: nested bit vectors, then the values at their bounds",      \
		.paper = "RTScan (PVLDB 17(6)), section 4.3; Chan and Ioannidis (SIGMOD 1998); BinDex (SIGMOD 2020)",          \
		.unit = RQL_UNIT_COMPUTE,                                                                                      \
		.reads = RQL_READS_STORE,                                                                                      \
		.gives = 1u << RQL_PORT_ROWS,                                                                                  \
		.offer = NAME##_offer,                                                                                         \
		.prepare = NAME##_prepare,                                                                                     \
		.price = rql_sieve_gpu_price,                                                                                  \
		.stage = rql_sieve_gpu_stage,                                                                                  \
		.free = rql_sieve_gpu_free,                                                                                    \
		.bytes = rql_sieve_gpu_bytes,                                                                                  \
	}
SIEVE_ON_COMPUTE(compute, NULL, RQL_SIEVE_VALUES, false);
SIEVE_ON_COMPUTE(positions, "sieve by positions", RQL_SIEVE_POSITIONS, true);
SIEVE_ON_COMPUTE(blocks, "sieve by blocks", RQL_SIEVE_BLOCKS, true);
