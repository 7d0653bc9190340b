/* What does not depend on the run, once per prepared request: its items become entries in the device's memory
 * (shaders/cube_resolve.comp), and how many there are decides how a run is spread. A cube never changes, so the entries
 * serve every context and every run. */
#include "method/cube/gpu/cube_compute.h"

#include "shaders/method/cube/cube_resolve.comp.h"

#define TOTALS_BYTES (RQL_CUBE_TOTAL_WORDS * sizeof(uint64_t))
#define RESOLVE_SIZE 256u
#define SPARE_BYTES ((uint64_t)1 << 20) /* not given back */

static const struct rql_kernel resolve_kernel = {
	.name = "cube.resolve",
	.spirv = rql_spv_cube_resolve_comp,
	.spirv_bytes = sizeof(rql_spv_cube_resolve_comp),
	.args_bytes = sizeof(struct rql_cube_resolve_args),
};

/* totals, read: where the pass counts, and what the host sees of it. */
static rql_status record_resolve(const struct rql_cube_unit *unit, struct rql_buffer *totals, struct rql_buffer *read,
                                 struct rql_commands *commands, struct rql_error *err)
{
	const struct rql_cube_compute *plan = unit->method;
	const struct rql_pipeline *pipeline;
	const uint32_t size = RESOLVE_SIZE;
	RQL_TRY(rql_pipeline_get(unit->stage.device, &resolve_kernel, &size, 1, &pipeline, err));
	struct rql_cube_resolve_args args = {.program = unit->program->address,
	                                     .entries = plan->entries->address,
	                                     .totals = totals->address,
	                                     .capacity = plan->capacity,
	                                     .groups = (unit->items + RESOLVE_SIZE - 1) / RESOLVE_SIZE,
	                                     .piece = plan->reads ? plan->piece : 0};
	struct rql_use uses[RQL_CUBE_USES_MAX];
	uint32_t count = unit->arrays->buffer_count;
	rql_cube_arrays_uses(unit->arrays, uses);
	uses[count++] = (struct rql_use){unit->program, RQL_READ};
	uses[count++] = (struct rql_use){plan->entries, RQL_WRITE};
	uses[count++] = (struct rql_use){totals, RQL_READ_WRITE};
	rql_record_fill(commands, totals, 0, TOTALS_BYTES, 0);
	rql_record_dispatch(commands, "resolve", pipeline, &args, args.groups, uses, count);
	rql_record_copy(commands, totals, 0, read, 0, TOTALS_BYTES);
	return rql_commands_end(commands, err);
}

/* Of the timed recording: the pass among the transfers around it. */
static struct rql_pass_time time_of(struct rql_commands *commands)
{
	struct rql_pass_time times[4];
	uint32_t count = rql_commands_times(commands, times, 4, NULL);
	for (uint32_t i = 0; i < count && i < 4; i++)
		if (strcmp(times[i].pass, "resolve") == 0)
			return times[i];
	return (struct rql_pass_time){0};
}

static rql_status resolve(struct rql_cube_unit *unit, struct rql_error *err)
{
	struct rql_cube_compute *plan = unit->method;
	struct rql_buffer *totals = NULL, *read = NULL;
	struct rql_commands *commands = NULL;
	rql_status status =
		rql_buffer_new(unit->stage.device, TOTALS_BYTES, RQL_MEMORY_DEVICE, "the counters of a query", &totals, err);
	if (status == RQL_OK)
		status = rql_buffer_new(unit->stage.device, TOTALS_BYTES, RQL_MEMORY_READBACK, "the counters of a query", &read, err);
	if (status == RQL_OK)
		status = rql_commands_new(unit->stage.device, RQL_COMMANDS_TIMED, &commands, err);
	if (status == RQL_OK)
		status = record_resolve(unit, totals, read, commands, err);
	if (status == RQL_OK)
		status = rql_commands_run(commands, NULL, err);
	if (status == RQL_OK) {
		memcpy(plan->totals, read->map, TOTALS_BYTES);
		plan->entry_count = plan->totals[RQL_CUBE_TOTAL_ENTRIES];
		unit->once = time_of(commands);
	}
	rql_commands_free(commands);
	rql_buffer_free(totals);
	rql_buffer_free(read);
	if (status == RQL_OK && plan->entry_count > plan->capacity)
		status = rql_error_set(err, RQL_ERROR_INTERNAL, "%llu intervals of a query were found where %llu can be",
		                       (unsigned long long)plan->entry_count, (unsigned long long)plan->capacity);
	return status;
}

/* Most items may have had no cells; a plan that is kept for long should not keep their memory. */
static rql_status give_back(struct rql_cube_unit *unit, struct rql_error *err)
{
	struct rql_cube_compute *plan = unit->method;
	const uint64_t bytes = (plan->entry_count + 1) * sizeof(struct rql_cube_entry);
	if (bytes + SPARE_BYTES > plan->entries->bytes)
		return RQL_OK;
	struct rql_buffer *smaller = NULL;
	struct rql_commands *commands = NULL;
	RQL_TRY(rql_buffer_new(unit->stage.device, bytes, RQL_MEMORY_DEVICE, "the intervals of a query", &smaller, err));
	rql_status status = rql_commands_new(unit->stage.device, 0, &commands, err);
	uint64_t ticket;
	if (status == RQL_OK) {
		rql_record_copy(commands, plan->entries, 0, smaller, 0, bytes);
		status = rql_commands_end(commands, err);
	}
	if (status == RQL_OK)
		status = rql_submit(commands, &ticket, err); /* runs come after it in the queue */
	rql_commands_free(commands);
	if (status != RQL_OK) {
		rql_buffer_free(smaller);
		return status;
	}
	rql_buffer_free(plan->entries);
	plan->entries = smaller;
	return RQL_OK;
}

rql_status rql_cube_compute_place(struct rql_cube_unit *unit, struct rql_error *err)
{
	struct rql_cube_compute *plan = unit->method;
	if (!plan->resolves)
		return RQL_OK;
	const uint64_t bytes = plan->capacity * sizeof(struct rql_cube_entry);
	rql_status status =
		rql_buffer_new(unit->stage.device, bytes, RQL_MEMORY_DEVICE, "the intervals of a query", &plan->entries, err);
	if (status == RQL_OK)
		status = resolve(unit, err);
	if (status == RQL_OK)
		status = rql_cube_compute_own(unit, err);
	if (status == RQL_OK && !plan->owned) {
		status = give_back(unit, err);
		rql_cube_compute_spread(unit->prepared, unit->stage.device, plan);
	}
	if (status != RQL_OK)
		rql_cube_compute_unplace(unit);
	return status;
}

void rql_cube_compute_unplace(struct rql_cube_unit *unit)
{
	struct rql_cube_compute *plan = unit->method;
	rql_buffer_free(plan->entries);
	plan->entries = NULL;
}
