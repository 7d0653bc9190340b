/* The cube on the compute unit. Up to RQL_CUBE_RESOLVED_ITEMS items are resolved before the first run
 * (cube_compute_resolve.c), and a run is one dispatch over the entries: for a few plain sums shaders/cube_owned.comp, or
 * shaders/cube_entries.comp where groups have very many, else shaders/cube_intervals.comp. With more items a dispatch
 * works them out itself, and a second one takes the pieces of intervals that are long and must be read whole. */
#include "method/cube/gpu/cube_compute.h"

#include <stdlib.h>

#include "shaders/method/cube/cube_entries.comp.h"
#include "shaders/method/cube/cube_intervals.comp.h"
#include "shaders/method/cube/cube_intervals_real.comp.h"
#include "shaders/method/cube/cube_owned.comp.h"

/* Slots that a workgroup keeps in shared memory (OTHER_SHARED_BYTES of cube_compute_cost.c has room for them). */
#define MOST_SHARED_SLOTS 16u
#define FEW_SLOTS 2u

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

static const struct rql_kernel entries_kernel = {
	.name = "cube.entries",
	.spirv = rql_spv_cube_entries_comp,
	.spirv_bytes = sizeof(rql_spv_cube_entries_comp),
	.args_bytes = sizeof(struct rql_cube_entries_args),
};

static const struct rql_kernel owned_kernel = {
	.name = "cube.owned",
	.spirv = rql_spv_cube_owned_comp,
	.spirv_bytes = sizeof(rql_spv_cube_owned_comp),
	.args_bytes = sizeof(struct rql_cube_owned_args),
};

/* ---- plain sums: cube_owned.comp and cube_entries.comp ---- */

static uint32_t form_of(const struct rql_prepared *p, uint32_t slot)
{
	uint32_t bits = slot < p->slot_count ? p->slots[slot].values->bits : 0;
	return !bits ? RQL_CUBE_PLAIN_CONSTANT : bits <= 32 ? RQL_CUBE_PLAIN_NARROW : RQL_CUBE_PLAIN_BROAD;
}

static struct rql_cube_plain_slot slot_of(const struct rql_cube_unit *unit, uint32_t slot, uint32_t *bits)
{
	const struct rql_prepared *p = unit->prepared;
	if (slot >= p->slot_count)
		return (struct rql_cube_plain_slot){0};
	const struct rql_packed *values = p->slots[slot].values;
	*bits = values->bits;
	return (struct rql_cube_plain_slot){
		.values = rql_cube_arrays_address(unit->arrays, values->data),
		.cumulative = rql_cube_arrays_address(unit->arrays, p->slots[slot].cumulative),
		.base = (uint64_t)values->base,
	};
}

/* The ticket and the copies of the rows, zero: every kind's identity here. */
static rql_status make_sums(const struct rql_cube_unit *unit, uint64_t stride, struct rql_cube_context *context,
                            struct rql_error *err)
{
	const struct rql_cube_compute *plan = unit->method;
	const uint64_t bytes = RQL_CUBE_PLAIN_HEAD + plan->copies * stride * sizeof(uint64_t);
	void *zeros = calloc(1, bytes);
	if (!zeros)
		return rql_error_memory(err, bytes, "a query's sums");
	rql_status status =
		rql_buffer_new(unit->stage.device, bytes, RQL_MEMORY_DEVICE, "the sums of a query", &context->queue, err);
	if (status == RQL_OK)
		status = rql_buffer_upload(context->queue, 0, zeros, bytes, err);
	free(zeros);
	if (status != RQL_OK) {
		rql_buffer_free(context->queue);
		context->queue = NULL;
	}
	return status;
}

static struct rql_cube_plain plain_of(const struct rql_cube_unit *unit)
{
	struct rql_cube_plain plain = {.cells = unit->head.cells, .tests = unit->head.tests};
	plain.first = slot_of(unit, 0, &plain.first_bits);
	plain.second = slot_of(unit, 1, &plain.second_bits);
	return plain;
}

/* What every plain pass touches; room for one more. */
static uint32_t plain_uses(const struct rql_cube_unit *unit, const struct rql_cube_context *context,
                           struct rql_use *uses)
{
	const struct rql_cube_compute *plan = unit->method;
	uint32_t count = unit->arrays->buffer_count;
	rql_cube_arrays_uses(unit->arrays, uses);
	uses[count++] = (struct rql_use){plan->entries, RQL_READ};
	uses[count++] = (struct rql_use){context->result, RQL_WRITE};
	return count;
}

static rql_status record_owned(const struct rql_cube_unit *unit, struct rql_cube_context *context,
                               struct rql_commands *commands, struct rql_error *err)
{
	const struct rql_cube_compute *plan = unit->method;
	const struct rql_prepared *p = unit->prepared;
	const struct rql_pipeline *pipeline;
	const uint32_t constants[] = {RQL_CUBE_WORKGROUP, plan->entry_lanes, p->slot_count,    form_of(p, 0),
	                              form_of(p, 1),      plan->tests,       plan->entry_round};
	RQL_TRY(rql_pipeline_get(unit->stage.device, &owned_kernel, constants, sizeof(constants) / sizeof(*constants), &pipeline,
	                         err));
	struct rql_cube_owned_args args = {.entries = plan->entries->address,
	                                   .found = context->accumulator.found,
	                                   .plain = plain_of(unit),
	                                   .groups = (uint32_t)plan->entry_workgroups,
	                                   .rounds = plan->rounds};
	struct rql_use uses[RQL_CUBE_USES_MAX];
	uint32_t count = plain_uses(unit, context, uses);
	rql_record_dispatch(commands, "intervals", pipeline, &args, args.groups, uses, count);
	return RQL_OK;
}

static rql_status record_plain(const struct rql_cube_unit *unit, struct rql_cube_context *context,
                               struct rql_commands *commands, struct rql_error *err)
{
	const struct rql_cube_compute *plan = unit->method;
	const struct rql_prepared *p = unit->prepared;
	const struct rql_pipeline *pipeline;
	const uint32_t constants[] = {RQL_CUBE_WORKGROUP, plan->entry_lanes, p->layout.scalar,   plan->copies,     p->slot_count,
	                              form_of(p, 0),      form_of(p, 1),     plan->tests, plan->entry_round};
	uint64_t words = p->layout.group_count * p->layout.row_words, stride = (words + 15) / 16 * 16;
	RQL_TRY(rql_pipeline_get(unit->stage.device, &entries_kernel, constants, sizeof(constants) / sizeof(*constants),
	                         &pipeline, err));
	if (!context->queue)
		RQL_TRY(make_sums(unit, stride, context, err));
	struct rql_cube_entries_args args = {.entries = plan->entries->address,
	                                     .sums = context->queue->address,
	                                     .found = context->accumulator.found,
	                                     .plain = plain_of(unit),
	                                     .count = (uint32_t)plan->entry_count,
	                                     .groups = (uint32_t)plan->entry_workgroups,
	                                     .words = (uint32_t)words,
	                                     .stride = (uint32_t)stride};
	struct rql_use uses[RQL_CUBE_USES_MAX];
	uint32_t count = plain_uses(unit, context, uses);
	uses[count++] = (struct rql_use){context->queue, RQL_READ_WRITE};
	rql_record_dispatch(commands, "intervals", pipeline, &args, args.groups, uses, count);
	return RQL_OK;
}

/* ---- everything: cube_intervals.comp ---- */

static rql_status get_pipeline(const struct rql_cube_unit *unit, bool pieces, const struct rql_pipeline **out,
                               struct rql_error *err)
{
	const struct rql_cube_compute *plan = unit->method;
	bool last = pieces || !plan->queues;
	/* What makes no difference has one value: each set of constants is a kernel to compile. Of slots few numbers have one of
	 * their own: room for more than there are takes a tenth longer (H200). */
	const uint32_t slots = unit->prepared->slot_count;
	const uint32_t constants[] = {
		RQL_CUBE_WORKGROUP,
		(uint32_t)plan->mode,
		pieces           ? plan->piece_lanes
		: plan->resolves ? plan->entry_lanes
						 : plan->lanes,
		plan->shared_words,
		plan->reads,
		pieces,
		plan->queues ? plan->piece : 1,
		last && unit->rows_whole,
		plan->resolves,
		slots <= FEW_SLOTS ? slots : slots <= MOST_SHARED_SLOTS ? MOST_SHARED_SLOTS : 0,
	};
	const struct rql_kernel *kernel =
		rql_cube_has_real_sum(unit->prepared) ? &intervals_real_kernel : &intervals_kernel;
	return rql_pipeline_get(unit->stage.device, kernel, constants, sizeof(constants) / sizeof(*constants), out, err);
}

static rql_status record_pass(const struct rql_cube_unit *unit, const struct rql_cube_context *context, bool pieces,
                              struct rql_commands *commands, struct rql_error *err)
{
	const struct rql_cube_compute *plan = unit->method;
	const struct rql_pipeline *pipeline;
	RQL_TRY(get_pipeline(unit, pieces, &pipeline, err));
	uint64_t groups = pieces ? plan->piece_workgroups : plan->resolves ? plan->entry_workgroups : plan->workgroups;
	struct rql_cube_intervals_args args = {.program = unit->program->address,
	                                       .accumulator = context->accumulator,
	                                       .queue = context->queue ? context->queue->address : 0,
	                                       .groups = groups,
	                                       .count = unit->items,
	                                       .cells = unit->head.cells,
	                                       .group_count = unit->head.group_count,
	                                       .slots = unit->head.slots,
	                                       .boxes = unit->head.boxes,
	                                       .row_template = unit->head.row_template,
	                                       .slot_count = unit->head.slot_count,
	                                       .row_words = unit->head.row_words};
	struct rql_use uses[RQL_CUBE_USES_MAX];
	uint32_t count = rql_cube_unit_uses(unit, context, uses);
	if (plan->resolves) {
		args.queue = plan->entries->address;
		args.count = plan->entry_count;
		uses[count++] = (struct rql_use){plan->entries, RQL_READ};
	}
	rql_record_dispatch(commands, pieces ? "pieces" : "intervals", pipeline, &args, groups, uses, count);
	return RQL_OK;
}

static rql_status record(struct rql_cube_unit *unit, struct rql_cube_context *context, struct rql_commands *commands,
                         struct rql_error *err)
{
	const struct rql_cube_compute *plan = unit->method;
	context->collects = unit->rows_whole;
	if (plan->owned)
		return record_owned(unit, context, commands, err);
	if (plan->plain)
		return record_plain(unit, context, commands, err);
	if (plan->queues && !context->queue)
		RQL_TRY(rql_buffer_new(unit->stage.device, plan->queue_entries * sizeof(struct rql_cube_long_entry),
		                       RQL_MEMORY_DEVICE, "the long intervals of a query", &context->queue, err));
	RQL_TRY(record_pass(unit, context, false, commands, err));
	if (plan->queues)
		RQL_TRY(record_pass(unit, context, true, commands, err));
	return RQL_OK;
}

static void count(const struct rql_cube_unit *unit, const uint64_t *head, struct rql_port *out)
{
	const struct rql_cube_compute *plan = unit->method;
	rql_cube_unit_count(unit, plan->resolves ? plan->totals : head + RQL_CUBE_STATE_COUNTERS, out);
}

static const struct rql_cube_unit_ops ops = {
	.place = rql_cube_compute_place, .record = record, .count = count, .unplace = rql_cube_compute_unplace};

/* ---- the method ---- */

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	const char *why = rql_device_lacks(device, RQL_UNIT_COMPUTE);
	if (!why)
		why = rql_cube_gpu_refusal(request, device);
	if (!why)
		rql_cube_is_placed((const struct rql_cube *)request->relation, device, RQL_CUBE_ARRAYS, NULL, &why);
	return rql_offer_unless(why, reason);
}

static void free_prepared(struct rql_prepared *prepared)
{
	if (!prepared)
		return;
	rql_cube_unit_free(prepared->unit);
	rql_arena_free(prepared->arena);
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	struct rql_prepared *p = NULL;
	RQL_TRY(rql_cube_prepare(request, device, &p, err));
	struct rql_cube_compute *plan = RQL_NEW(p->arena, struct rql_cube_compute);
	rql_status status = plan ? RQL_OK : rql_error_memory(err, sizeof(*plan), "a query on a GPU");
	if (status == RQL_OK)
		status = rql_cube_unit_new(p, device, &ops, plan, err);
	if (status == RQL_OK) {
		rql_cube_compute_plan(p, device, RQL_CUBE_RESOLVED_ITEMS, plan);
		*out = p;
	} else {
		free_prepared(p);
	}
	return status;
}

const struct rql_method rql_method_cube_compute = {
	.name = "cube",
	.description = "sums the cells of key intervals of a materialized view on a GPU",
	.paper = "RTCUDB (RayDB, PVLDB 19(1)), sections 3 and 4",
	.unit = RQL_UNIT_COMPUTE,
	.reads = RQL_READS_RELATION,
	.gives = 1u << RQL_PORT_GROUPS,
	.offer = offer,
	.prepare = prepare,
	.price = rql_cube_compute_price,
	.stage = rql_cube_unit_stage,
	.run = rql_cube_unit_run,
	.calibrate = rql_cube_calibrate_compute,
	.free = free_prepared,
	.bytes = rql_cube_unit_host_bytes,
};
