/* The cube on the compute unit: one dispatch takes the intervals, a second one the pieces of those that are long and
 * must be read whole (shaders/cube_intervals.comp says how). */
#include "method/cube/cube_compute.h"

#include "shaders/method/cube/cube_intervals.comp.h"
#include "shaders/method/cube/cube_intervals_real.comp.h"

static const struct rql_kernel intervals_kernel = {
	.name = "cube.intervals",
	.spirv = rql_spv_cube_intervals_comp,
	.spirv_bytes = sizeof(rql_spv_cube_intervals_comp),
	.args_bytes = sizeof(struct rql_cube_intervals_args),
};
static const struct rql_kernel intervals_real_kernel = {
	.name = "cube.intervals_real",
	.spirv = rql_spv_cube_intervals_real_comp,
	.spirv_bytes = sizeof(rql_spv_cube_intervals_real_comp),
	.args_bytes = sizeof(struct rql_cube_intervals_args),
};

static rql_status get_pipeline(const struct rql_cube_unit *unit, bool pieces, const struct rql_pipeline **out,
                               struct rql_error *err)
{
	const struct rql_cube_compute *plan = unit->method;
	bool last = pieces || !plan->queues;
	const uint32_t constants[] = {
		RQL_CUBE_WORKGROUP,
		(uint32_t)plan->mode,
		pieces ? plan->piece_lanes : plan->lanes,
		plan->shared_words,
		plan->reads,
		pieces,
		plan->piece,
		last && unit->rows_whole,
	};
	const struct rql_kernel *kernel =
		rql_cube_has_real_sum(unit->prepared) ? &intervals_real_kernel : &intervals_kernel;
	return rql_pipeline_get(unit->device, kernel, constants, sizeof(constants) / sizeof(*constants), out, err);
}

static rql_status record_pass(const struct rql_cube_unit *unit, const struct rql_cube_context *context, bool pieces,
                              struct rql_commands *commands, struct rql_error *err)
{
	const struct rql_cube_compute *plan = unit->method;
	const struct rql_pipeline *pipeline;
	RQL_TRY(get_pipeline(unit, pieces, &pipeline, err));
	uint64_t groups = pieces ? plan->piece_workgroups : plan->workgroups;
	struct rql_cube_intervals_args args = {.program = unit->program->address,
	                                       .accumulator = context->accumulator,
	                                       .queue = context->queue ? context->queue->address : 0,
	                                       .groups = groups};
	struct rql_use uses[RQL_CUBE_USES_MAX];
	uint32_t count = rql_cube_unit_uses(unit, context, uses);
	rql_record_dispatch(commands, pieces ? "pieces" : "intervals", pipeline, &args, groups, uses, count);
	return RQL_OK;
}

static rql_status record(struct rql_cube_unit *unit, struct rql_cube_context *context, struct rql_commands *commands,
                         struct rql_error *err)
{
	const struct rql_cube_compute *plan = unit->method;
	if (plan->queues && !context->queue)
		RQL_TRY(rql_buffer_new(unit->device, plan->queue_entries * sizeof(struct rql_cube_long_entry),
		                       RQL_MEMORY_DEVICE, "the long intervals of a query", &context->queue, err));
	RQL_TRY(record_pass(unit, context, false, commands, err));
	if (plan->queues)
		RQL_TRY(record_pass(unit, context, true, commands, err));
	context->collects = unit->rows_whole;
	return RQL_OK;
}

static const struct rql_cube_unit_ops ops = {.record = record};

/* ---- the method ---- */

static enum rql_serve can_serve(const struct rql_relation *relation, const struct rql_request *request,
                                const struct rql_device *device, const char **reason)
{
	const char *why = NULL;
	if (!device->units[RQL_UNIT_COMPUTE])
		why = device->missing[RQL_UNIT_COMPUTE] ? device->missing[RQL_UNIT_COMPUTE] : "the device has no compute unit";
	if (!why)
		why = rql_cube_gpu_refusal(relation, request, device);
	if (!why)
		rql_cube_is_placed((const struct rql_cube *)relation, device, RQL_CUBE_ARRAYS, "", &why);
	if (why && reason)
		*reason = why;
	return why ? RQL_SERVE_NO : RQL_SERVE_FULL;
}

static void free_prepared(struct rql_prepared *prepared)
{
	if (!prepared)
		return;
	rql_cube_unit_free(prepared->unit);
	rql_arena_free(prepared->arena);
}

static rql_status prepare(const struct rql_relation *relation, const struct rql_request *request,
                          struct rql_device *device, struct rql_prepared **out, struct rql_error *err)
{
	struct rql_prepared *p = NULL;
	RQL_TRY(rql_cube_prepare(relation, request, device, &p, err));
	struct rql_cube_compute *plan = RQL_NEW(p->arena, struct rql_cube_compute);
	rql_status status = plan ? RQL_OK : rql_error_memory(err, sizeof(*plan), "a query on a GPU");
	if (status == RQL_OK)
		status = rql_cube_unit_new(p, device, &ops, plan, err);
	if (status == RQL_OK) {
		rql_cube_compute_plan(p, device, plan);
		*out = p;
	} else {
		free_prepared(p);
	}
	return status;
}

static rql_status run(const struct rql_prepared *prepared, struct rql_device *device, unsigned flags,
                      struct rql_arena *arena, struct rql_progress *progress, struct rql_answer *out,
                      struct rql_error *err)
{
	(void)device; /* that of prepare */
	return rql_cube_unit_run(prepared, flags, arena, progress, out, err);
}

static uint64_t prepared_bytes(const struct rql_prepared *prepared)
{
	return rql_arena_bytes(prepared->arena) + sizeof(struct rql_cube_unit);
}

const struct rql_method rql_method_cube_compute = {
	.name = "cube",
	.description = "sums the cells of key intervals of a materialized view on a GPU",
	.paper = "RTCUDB (RayDB, PVLDB 19(1)), sections 3 and 4",
	.unit = RQL_UNIT_COMPUTE,
	.can_serve = can_serve,
	.prepare = prepare,
	.price = rql_cube_compute_price,
	.run = run,
	.free_prepared = free_prepared,
	.prepared_bytes = prepared_bytes,
};
