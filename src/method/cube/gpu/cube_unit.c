/* The stage of a cube on a GPU: contexts, the pass that puts groups out, and the answer. */
#include "method/cube/gpu/cube_unit.h"

#include <math.h>
#include <stdlib.h>

#include "shaders/method/cube/cube_collect.comp.h"

/* Making an answer on one thread of the host: one key or value, and one group's part of the sort. Rough: half of what
 * 1,000,000 groups of one key and one sum took on a busy EPYC (135 ms). The CPU's profile has such a constant, but a GPU's
 * price does not see it. */
#define ANSWER_VALUE_NS 25.0
#define ANSWER_SORT_NS 50.0

/* Rows of up to so many words lie in an array, whatever share of them is used: 32 MiB, which a large GPU's cache holds.
 */
#define DENSE_WORDS ((uint64_t)1 << 22)
#define MOST_WORDS ((uint64_t)1 << 27) /* beyond, groups are hashed whatever is expected */
#define LEAST_CAPACITY 1024u
#define GROW 8u /* of a hash table that was too small: its run is lost */
/* Found groups of up to so many bytes go straight into memory that the host reads. */
#define DIRECT_BYTES ((uint64_t)4 << 20)
#define COLLECT_SIZE 256u
#define COLLECT_MOST 1056u /* workgroups: rows per invocation beyond */

static const struct rql_kernel collect_kernel = {
	.name = "cube.collect",
	.spirv = rql_spv_cube_collect_comp,
	.spirv_bytes = sizeof(rql_spv_cube_collect_comp),
	.args_bytes = sizeof(struct rql_cube_collect_args),
};

static uint64_t power_above(uint64_t n)
{
	uint64_t power = LEAST_CAPACITY;
	while (power < n)
		power *= 2;
	return power;
}

/* ---- placing ---- */

static struct rql_cube_unit *unit_of(const struct rql_stage *stage)
{
	return (struct rql_cube_unit *)(uintptr_t)stage; /* its first member */
}

static rql_status place(struct rql_stage *stage, struct rql_progress *progress, bool *nothing, struct rql_error *err)
{
	struct rql_cube_unit *unit = unit_of(stage);
	(void)progress;
	*nothing = !unit->items;
	if (unit->placed || *nothing)
		return RQL_OK;
	if (!unit->arrays)
		RQL_TRY(rql_cube_arrays_get(unit->prepared->cube, unit->stage.device, &unit->arrays, err));
	if (!unit->program)
		RQL_TRY(rql_cube_program_new(unit->prepared, unit->arrays, &unit->program, &unit->head, err));
	if (unit->ops->place)
		RQL_TRY(unit->ops->place(unit, err));
	unit->placed = true;
	return RQL_OK;
}

/* ---- contexts ---- */

static uint64_t found_bytes(const struct rql_cube_unit *unit)
{
	uint64_t words = unit->prepared->layout.row_words;
	return unit->capacity * (unit->rows_whole ? words : words + 1) * sizeof(uint64_t);
}

double rql_cube_unit_answer_ns(const struct rql_cube_unit *unit, const struct rql_device *device)
{
	const struct rql_prepared *p = unit->prepared;
	double groups = p->groups, result = groups * (p->layout.row_words + 1);
	if (unit->rows_whole)
		result = (double)p->layout.group_count * p->layout.row_words;
	/* Groups that were put out by many workgroups come in any order and are sorted. */
	double values = groups * (p->layout.key_count + p->layout.value_count), sorted = unit->rows_whole ? 0 : groups;
	return result * sizeof(uint64_t) / device->profile.download_gbps + values * ANSWER_VALUE_NS + sorted * ANSWER_SORT_NS;
}

uint64_t rql_cube_unit_bytes(const struct rql_cube_unit *unit)
{
	uint64_t rows = unit->capacity * (unit->prepared->layout.row_words + (unit->hashed ? 1u : 0u)) * sizeof(uint64_t);
	return rows + (found_bytes(unit) > DIRECT_BYTES ? found_bytes(unit) : 0);
}

uint32_t rql_cube_unit_uses(const struct rql_cube_unit *unit, const struct rql_cube_context *context,
                            struct rql_use *uses)
{
	uint32_t count = unit->arrays->buffer_count;
	rql_cube_arrays_uses(unit->arrays, uses);
	uses[count++] = (struct rql_use){unit->program, RQL_READ};
	struct rql_buffer *written[] = {context->rows,   context->keys,  context->state,
	                                context->result, context->found, context->queue};
	for (size_t i = 0; i < sizeof(written) / sizeof(*written); i++)
		if (written[i])
			uses[count++] = (struct rql_use){written[i], RQL_READ_WRITE};
	return count;
}

static rql_status record_collect(const struct rql_cube_unit *unit, const struct rql_cube_context *context,
                                 uint32_t mode, struct rql_commands *commands, struct rql_error *err)
{
	const struct rql_pipeline *pipeline;
	const uint32_t size = COLLECT_SIZE;
	RQL_TRY(rql_pipeline_get(unit->stage.device, &collect_kernel, &size, 1, &pipeline, err));
	uint64_t groups = (context->capacity + COLLECT_SIZE - 1) / COLLECT_SIZE;
	groups = mode == RQL_CUBE_COLLECT_ROWS ? 1 : groups < COLLECT_MOST ? groups : COLLECT_MOST;
	struct rql_cube_collect_args args = {.program = unit->program->address,
	                                     .accumulator = context->accumulator,
	                                     .capacity = context->capacity,
	                                     .groups = groups,
	                                     .mode = mode};
	struct rql_use uses[RQL_CUBE_USES_MAX];
	uint32_t count = rql_cube_unit_uses(unit, context, uses);
	rql_record_dispatch(commands, "collect", pipeline, &args, groups, uses, count);
	return RQL_OK;
}

/* Rows to templates, everything else to zero. */
static rql_status put_at_rest(struct rql_cube_unit *unit, struct rql_cube_context *context, struct rql_error *err)
{
	struct rql_commands *commands;
	RQL_TRY(rql_commands_new(unit->stage.device, 0, &commands, err));
	rql_record_fill(commands, context->state, 0, context->state->bytes, 0);
	rql_status status = record_collect(unit, context, RQL_CUBE_COLLECT_RESET, commands, err);
	if (status == RQL_OK)
		status = rql_commands_end(commands, err);
	if (status == RQL_OK)
		status = rql_submit(commands, &context->base.ticket, err); /* the first run comes after it in the queue */
	rql_commands_free(commands);
	return status;
}

static rql_status make_buffers(struct rql_cube_unit *unit, struct rql_cube_context *context, struct rql_error *err)
{
	struct rql_device *device = unit->stage.device;
	const uint64_t word = sizeof(uint64_t), head = RQL_CUBE_STATE_WORDS * word;
	uint64_t rows = unit->capacity * unit->prepared->layout.row_words * word, found = found_bytes(unit);
	bool direct = found <= DIRECT_BYTES;
	context->capacity = unit->capacity;
	RQL_TRY(rql_buffer_new(device, rows, RQL_MEMORY_DEVICE, "the groups of a query", &context->rows, err));
	if (unit->hashed)
		RQL_TRY(rql_buffer_new(device, unit->capacity * word, RQL_MEMORY_DEVICE, "the group numbers of a query",
		                       &context->keys, err));
	RQL_TRY(rql_buffer_new(device, head, RQL_MEMORY_DEVICE, "the state of a query", &context->state, err));
	RQL_TRY(rql_buffer_new(device, head + (direct ? found : 0), RQL_MEMORY_READBACK, "the result of a query",
	                       &context->result, err));
	if (!direct)
		RQL_TRY(rql_buffer_new(device, found, RQL_MEMORY_DEVICE, "the found groups of a query", &context->found, err));
	context->accumulator = (struct rql_cube_accumulator){
		.rows = context->rows->address,
		.keys = context->keys ? context->keys->address : 0,
		.mask = context->keys ? unit->capacity - 1 : 0,
		.state = context->state->address,
		.result = context->result->address,
		.found = direct ? context->result->address + head : context->found->address,
	};
	return put_at_rest(unit, context, err);
}

static rql_status open_context(struct rql_stage *stage, struct rql_stage_context *const *inputs,
                               struct rql_stage_context **out, struct rql_error *err)
{
	struct rql_cube_context *context = calloc(1, sizeof(*context));
	(void)inputs;
	if (!context)
		return rql_error_memory(err, sizeof(*context), "a query's run");
	*out = &context->base;
	return make_buffers(unit_of(stage), context, err);
}

static void close_context(struct rql_stage *stage, struct rql_stage_context *base)
{
	struct rql_cube_context *context = (struct rql_cube_context *)base;
	(void)stage;
	struct rql_buffer *buffers[] = {context->rows,   context->keys,  context->state,
	                                context->result, context->found, context->queue};
	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		rql_buffer_free(buffers[i]);
	free(context);
}

static bool fits(const struct rql_stage *stage, const struct rql_stage_context *base)
{
	return ((const struct rql_cube_context *)base)->capacity == unit_of(stage)->capacity;
}

static uint64_t context_bytes(const struct rql_stage *stage)
{
	return rql_cube_unit_bytes(unit_of(stage));
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *base, struct rql_commands *commands,
                         struct rql_error *err)
{
	struct rql_cube_unit *unit = unit_of(stage);
	struct rql_cube_context *context = (struct rql_cube_context *)base;
	context->collects = false;
	RQL_TRY(unit->ops->record(unit, context, commands, err));
	if (context->collects)
		return RQL_OK;
	uint32_t mode = unit->rows_whole ? RQL_CUBE_COLLECT_ROWS : RQL_CUBE_COLLECT_GROUPS;
	return record_collect(unit, context, mode, commands, err);
}

static rql_status run_before(struct rql_stage *stage, struct rql_stage_context *base, bool timed,
                             struct rql_progress *progress, struct rql_error *err)
{
	struct rql_cube_unit *unit = unit_of(stage);
	struct rql_cube_context *context = (struct rql_cube_context *)base;
	pthread_mutex_lock(&stage->lock);
	context->before = unit->once;
	unit->once = (struct rql_pass_time){0};
	pthread_mutex_unlock(&stage->lock);
	return unit->ops->run_before ? unit->ops->run_before(unit, context, timed, progress, err) : RQL_OK;
}

/* A hash table was too small: the next context's is larger. */
static rql_status check(struct rql_stage *stage, struct rql_stage_context *base, bool *again, struct rql_error *err)
{
	struct rql_cube_unit *unit = unit_of(stage);
	const struct rql_cube_context *context = (const struct rql_cube_context *)base;
	const uint64_t *head = context->result->map;
	(void)err;
	*again = head[RQL_CUBE_STATE_OVERFLOW] != 0;
	if (*again && unit->capacity == context->capacity)
		unit->capacity *= GROW;
	return RQL_OK;
}

/* ---- answers ---- */

/* Makes the device's rows the CPU's, where extremes of doubles are places (rql_state_real_key); returns the cells in them. */
static uint64_t settle_rows(const struct rql_prepared *p, uint64_t *rows, uint64_t count)
{
	uint64_t cells = 0;
	for (uint64_t i = 0; i < count; i++)
		cells += rows[i * p->layout.row_words];
	for (uint32_t s = 0; s < p->slot_count; s++) {
		const struct rql_cube_slot *slot = &p->slots[s];
		if (slot->state.kind != RQL_STATE_MIN_REAL && slot->state.kind != RQL_STATE_MAX_REAL)
			continue;
		for (uint64_t i = 0; i < count; i++)
			rows[i * p->layout.row_words + slot->state.word] = rql_real_bits(rows[i * p->layout.row_words + slot->state.word]);
	}
	return cells;
}

void rql_cube_unit_count(const struct rql_cube_unit *unit, const uint64_t *counter, struct rql_port *out)
{
	const struct rql_prepared *p = unit->prepared;
	uint64_t runs = counter[RQL_CUBE_COUNTER_RUNS], edges = counter[RQL_CUBE_COUNTER_EDGES];
	uint64_t whole = counter[RQL_CUBE_COUNTER_CELLS], tested = counter[RQL_CUBE_COUNTER_TESTED];
	uint64_t read = 0, bytes = unit->items * (p->cube->directory32 ? 8 : 16) + tested * p->byte_bits / 8;
	for (uint32_t s = 0; s < p->slot_count; s++) {
		const struct rql_cube_slot *slot = &p->slots[s];
		bool summed = slot->cumulative || slot->cumulative128;
		uint64_t cells = summed ? edges : whole;
		read = cells > read ? cells : read;
		bytes += cells * (slot->values ? slot->values->bits : 64) / 8 + (summed ? 16 * runs : 0);
	}
	out->cells_read = read + tested;
	out->bytes_read = bytes;
	out->runs = runs;
}

/* What ran before the recording comes first. */
static rql_status put_times(const struct rql_cube_context *context, struct rql_arena *arena, struct rql_port *out,
                            struct rql_error *err)
{
	RQL_TRY(rql_stage_times(&context->base, arena, out, err));
	if (!context->before.pass)
		return RQL_OK;
	struct rql_pass_time *passes = RQL_NEW_ARRAY(arena, struct rql_pass_time, out->pass_count + 1);
	if (!passes)
		return rql_error_memory(err, (out->pass_count + 1) * sizeof(*passes), "a query's timings");
	passes[0] = context->before;
	memcpy(passes + 1, out->passes, out->pass_count * sizeof(*passes));
	out->passes = passes;
	out->pass_count++;
	out->device_ns += context->before.ns;
	return RQL_OK;
}

/* The groups of a finished run. memory: what to free afterwards, NULL when they are read where they lie. */
static rql_status fetch_groups(const struct rql_cube_unit *unit, const struct rql_cube_context *context,
                               struct rql_groups *g, uint64_t **memory, struct rql_error *err)
{
	uint64_t *head = context->result->map, count = head[RQL_CUBE_STATE_FOUND], words = unit->prepared->layout.row_words;
	*g = (struct rql_groups){.layout = &unit->prepared->layout, .ready = true};
	if (unit->rows_whole) {
		g->capacity = context->capacity;
		g->rows = head + RQL_CUBE_STATE_WORDS;
		return RQL_OK;
	}
	g->capacity = count;
	uint64_t rows_at = context->capacity * sizeof(uint64_t);
	if (!context->found) {
		g->keys = head + RQL_CUBE_STATE_WORDS;
		g->rows = g->keys + context->capacity;
		return RQL_OK;
	}
	uint64_t bytes = (count + 1) * (words + 1) * sizeof(uint64_t);
	uint64_t *copy = malloc(bytes);
	if (!copy)
		return rql_error_memory(err, bytes, "the groups of a query");
	g->keys = copy;
	g->rows = copy + count;
	*memory = copy;
	if (!count)
		return RQL_OK;
	RQL_TRY(rql_buffer_download(context->found, 0, g->keys, count * sizeof(uint64_t), err));
	return rql_buffer_download(context->found, rows_at, g->rows, count * words * sizeof(uint64_t), err);
}

static rql_status answer_of(struct rql_cube_unit *unit, struct rql_cube_context *context,
                            const struct rql_stage_run *run, struct rql_error *err)
{
	struct rql_groups groups;
	struct rql_port answer;
	uint64_t *memory = NULL, covered = 0;
	const uint64_t *head = context->result->map;
	rql_status status = fetch_groups(unit, context, &groups, &memory, err);
	if (status == RQL_OK) {
		covered = settle_rows(unit->prepared, groups.rows, groups.capacity);
		status = rql_cube_answer(unit->prepared, &groups, run->arena, &answer, err);
	}
	free(memory);
	if (status != RQL_OK)
		return status;
	answer.cells_covered = covered;
	if (unit->ops->count)
		unit->ops->count(unit, head, &answer);
	else
		rql_cube_unit_count(unit, head + RQL_CUBE_STATE_COUNTERS, &answer);
	if (run->timed)
		RQL_TRY(put_times(context, run->arena, &answer, err));
	*run->port = answer;
	return RQL_OK;
}

static rql_status take(struct rql_stage *stage, struct rql_stage_context *base, const struct rql_stage_run *run,
                       struct rql_error *err)
{
	struct rql_cube_unit *unit = unit_of(stage);
	const struct rql_prepared *p = unit->prepared;
	if (base)
		return answer_of(unit, (struct rql_cube_context *)base, run, err);
	struct rql_groups groups = {
		.layout = &p->layout, .rows = p->layout.row_template, .capacity = p->layout.scalar, .ready = true};
	return rql_cube_answer(p, &groups, run->arena, run->port, err);
}

static const struct rql_stage_ops stage_ops = {.place = place,
                                               .open = open_context,
                                               .close = close_context,
                                               .fits = fits,
                                               .record = record,
                                               .before = run_before,
                                               .check = check,
                                               .take = take,
                                               .bytes = context_bytes};

/* ---- the unit ---- */

static void choose_rows(struct rql_cube_unit *unit)
{
	const struct rql_prepared *p = unit->prepared;
	uint64_t groups = p->layout.group_count;
	bool large = groups > DENSE_WORDS / p->layout.row_words;
	unit->hashed = groups > MOST_WORDS / p->layout.row_words || (large && (double)groups > 4 * p->groups);
	unit->rows_whole = !unit->hashed && groups * p->layout.row_words <= RQL_CUBE_WHOLE_WORDS;
	/* Twice the expected groups and some more; the estimate may be wrong, then the table grows. */
	unit->capacity = unit->hashed ? power_above((uint64_t)(2.5 * p->groups)) : groups;
}

rql_status rql_cube_unit_new(struct rql_prepared *p, struct rql_device *device, const struct rql_cube_unit_ops *ops,
                             void *method, struct rql_error *err)
{
	struct rql_cube_unit *unit = calloc(1, sizeof(*unit));
	if (!unit)
		return rql_error_memory(err, sizeof(*unit), "a query on a GPU");
	rql_status status = rql_stage_init(&unit->stage, &stage_ops, device, err);
	if (status != RQL_OK) {
		free(unit);
		return status;
	}
	unit->prepared = p;
	unit->ops = ops;
	unit->method = method;
	unit->items = rql_cube_items(p);
	choose_rows(unit);
	p->unit = unit;
	return RQL_OK;
}

void rql_cube_unit_free(struct rql_cube_unit *unit)
{
	if (!unit)
		return;
	rql_stage_clear(&unit->stage);
	if (unit->placed && unit->ops->unplace)
		unit->ops->unplace(unit);
	rql_buffer_free(unit->program);
	if (unit->arrays)
		rql_placement_release(&unit->arrays->placement);
	free(unit);
}

struct rql_stage *rql_cube_unit_stage(const struct rql_prepared *p)
{
	return &p->unit->stage;
}

uint64_t rql_cube_unit_host_bytes(const struct rql_prepared *p)
{
	return rql_arena_bytes(p->arena) + sizeof(*p->unit);
}

rql_status rql_cube_unit_run(const struct rql_prepared *p, struct rql_device *device, const struct rql_run *run,
                             struct rql_port *out, struct rql_error *err)
{
	(void)device; /* that of prepare */
	struct rql_cube_unit *unit = p->unit;
	struct rql_error why = {0};
	rql_status status = rql_stage_run(&unit->stage, run, NULL, out, &why);
	if (status == RQL_ERROR_DEVICE)
		rql_placements_fail(p->cube, unit->stage.device, rql_error_message(&why));
	if (status != RQL_OK)
		rql_error_set(err, status, "%s", rql_error_message(&why));
	rql_error_clear(&why);
	return status;
}
