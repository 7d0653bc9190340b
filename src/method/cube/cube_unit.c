/* Contexts, their pool, and a run from submission to answer. */
#include "method/cube/cube_unit.h"

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
#define LEAST_CAPACITY 1024u
#define GROW 8u /* of a hash table that was too small: its run is lost */
/* Found groups of up to so many bytes go straight into memory that the host reads. */
#define DIRECT_BYTES ((uint64_t)4 << 20)
#define SMALL_CONTEXT ((uint64_t)64 << 20) /* bytes of device memory */
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

/* ---- the unit ---- */

static void choose_rows(struct rql_cube_unit *unit)
{
	const struct rql_prepared *p = unit->prepared;
	uint64_t groups = p->group_count;
	bool large = groups > DENSE_WORDS / p->row_words;
	unit->hashed = groups > RQL_CUBE_DENSE_WORDS / p->row_words || (large && (double)groups > 4 * p->groups);
	unit->rows_whole = !unit->hashed && groups * p->row_words <= RQL_CUBE_WHOLE_WORDS;
	/* Twice the expected groups and some more; the estimate may be wrong, then the table grows. */
	unit->capacity = unit->hashed ? power_above((uint64_t)(2.5 * p->groups)) : groups;
}

rql_status rql_cube_unit_new(struct rql_prepared *p, struct rql_device *device, const struct rql_cube_unit_ops *ops,
                             void *method, struct rql_error *err)
{
	struct rql_cube_unit *unit = calloc(1, sizeof(*unit));
	if (!unit)
		return rql_error_memory(err, sizeof(*unit), "a query on a GPU");
	if (pthread_mutex_init(&unit->lock, NULL) != 0) {
		free(unit);
		return rql_error_memory(err, sizeof(unit->lock), "a query's lock");
	}
	unit->prepared = p;
	unit->device = device;
	unit->ops = ops;
	unit->method = method;
	unit->items = rql_cube_items(p);
	choose_rows(unit);
	p->unit = unit;
	return RQL_OK;
}

static void free_context(struct rql_cube_context *context)
{
	if (!context)
		return;
	rql_commands_free(context->commands);
	rql_commands_free(context->timed);
	struct rql_buffer *buffers[] = {context->rows,   context->keys,  context->state,
	                                context->result, context->found, context->queue};
	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		rql_buffer_free(buffers[i]);
	free(context);
}

void rql_cube_unit_free(struct rql_cube_unit *unit)
{
	if (!unit)
		return;
	while (unit->contexts) {
		struct rql_cube_context *context = unit->contexts;
		unit->contexts = context->next;
		free_context(context);
	}
	if (unit->placed && unit->ops->unplace)
		unit->ops->unplace(unit);
	rql_buffer_free(unit->program);
	if (unit->arrays)
		rql_placement_release(&unit->arrays->placement);
	pthread_mutex_destroy(&unit->lock);
	free(unit);
}

/* lock held */
static rql_status place(struct rql_cube_unit *unit, struct rql_error *err)
{
	if (unit->placed)
		return RQL_OK;
	if (!unit->arrays)
		RQL_TRY(rql_cube_arrays_get(unit->prepared->cube, unit->device, &unit->arrays, err));
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
	uint64_t words = unit->prepared->row_words;
	return unit->capacity * (unit->rows_whole ? words : words + 1) * sizeof(uint64_t);
}

double rql_cube_unit_answer_ns(const struct rql_cube_unit *unit, const struct rql_device *device)
{
	const struct rql_prepared *p = unit->prepared;
	double groups = p->groups, result = groups * (p->row_words + 1);
	if (unit->rows_whole)
		result = (double)p->group_count * p->row_words;
	/* Groups that were put out by many workgroups come in any order and are sorted. */
	double values = groups * (p->group_key_count + p->output_count), sorted = unit->rows_whole ? 0 : groups;
	return result * sizeof(uint64_t) / device->profile.download_gbps + values * ANSWER_VALUE_NS + sorted * ANSWER_SORT_NS;
}

uint64_t rql_cube_unit_bytes(const struct rql_cube_unit *unit)
{
	uint64_t rows = unit->capacity * (unit->prepared->row_words + (unit->hashed ? 1u : 0u)) * sizeof(uint64_t);
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
	RQL_TRY(rql_pipeline_get(unit->device, &collect_kernel, &size, 1, &pipeline, err));
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
	RQL_TRY(rql_commands_new(unit->device, 0, &commands, err));
	rql_record_fill(commands, context->state, 0, context->state->bytes, 0);
	rql_status status = record_collect(unit, context, RQL_CUBE_COLLECT_RESET, commands, err);
	if (status == RQL_OK)
		status = rql_commands_end(commands, err);
	if (status == RQL_OK)
		status = rql_submit(commands, &context->ticket, err); /* the first run comes after it in the queue */
	rql_commands_free(commands);
	return status;
}

static rql_status make_buffers(struct rql_cube_unit *unit, struct rql_cube_context *context, struct rql_error *err)
{
	struct rql_device *device = unit->device;
	const uint64_t word = sizeof(uint64_t), head = RQL_CUBE_STATE_WORDS * word;
	uint64_t rows = unit->capacity * unit->prepared->row_words * word, found = found_bytes(unit);
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

static rql_status record(struct rql_cube_unit *unit, struct rql_cube_context *context, unsigned flags,
                         struct rql_commands **out, struct rql_error *err)
{
	struct rql_commands *commands;
	RQL_TRY(rql_commands_new(unit->device, flags, &commands, err));
	context->collects = false;
	rql_status status = unit->ops->record(unit, context, commands, err);
	if (status == RQL_OK && !context->collects) {
		uint32_t mode = unit->rows_whole ? RQL_CUBE_COLLECT_ROWS : RQL_CUBE_COLLECT_GROUPS;
		status = record_collect(unit, context, mode, commands, err);
	}
	if (status == RQL_OK)
		status = rql_commands_end(commands, err);
	if (status == RQL_OK)
		*out = commands;
	else
		rql_commands_free(commands);
	return status;
}

/* A context that nobody uses and the device is done with; a new one when there is none. */
static rql_status take_context(struct rql_cube_unit *unit, bool timed, struct rql_cube_context **out,
                               struct rql_error *err)
{
	pthread_mutex_lock(&unit->lock);
	rql_status status = place(unit, err);
	struct rql_cube_context **at = &unit->contexts, *context = NULL;
	while (status == RQL_OK && *at && !context) {
		if (rql_is_done(unit->device, (*at)->ticket)) {
			context = *at;
			*at = context->next;
			if (context->capacity != unit->capacity) { /* the table has grown since */
				free_context(context);
				context = NULL;
			}
		} else {
			at = &(*at)->next;
		}
	}
	if (status == RQL_OK && !context) {
		context = calloc(1, sizeof(*context));
		status = context ? make_buffers(unit, context, err) : rql_error_memory(err, sizeof(*context), "a query's run");
	}
	struct rql_commands **commands = !context ? NULL : timed ? &context->timed : &context->commands;
	if (status == RQL_OK && !*commands)
		status = record(unit, context, timed ? RQL_COMMANDS_TIMED : 0, commands, err);
	if (status == RQL_OK) {
		context->before = unit->once;
		unit->once = (struct rql_pass_time){0};
	}
	pthread_mutex_unlock(&unit->lock);
	if (status == RQL_OK)
		*out = context;
	else
		free_context(context);
	return status;
}

static void give_context(struct rql_cube_unit *unit, struct rql_cube_context *context)
{
	pthread_mutex_lock(&unit->lock);
	/* A cached plan keeps one large context for its next run, not as many as ran at once. */
	if (!unit->contexts || rql_cube_unit_bytes(unit) <= SMALL_CONTEXT) {
		context->next = unit->contexts;
		unit->contexts = context;
		context = NULL;
	}
	pthread_mutex_unlock(&unit->lock);
	free_context(context);
}

/* ---- answers ---- */

/* Extremes of doubles come as keys that order like them (cube_real_key). */
static uint64_t real_of_key(uint64_t key)
{
	return key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
}

/* Makes the device's rows the CPU's; returns the cells in them. */
static uint64_t settle_rows(const struct rql_prepared *p, uint64_t *rows, uint64_t count)
{
	uint64_t cells = 0;
	for (uint64_t i = 0; i < count; i++)
		cells += rows[i * p->row_words];
	for (uint32_t s = 0; s < p->slot_count; s++) {
		const struct rql_cube_slot *slot = &p->slots[s];
		if (slot->kind != RQL_SLOT_MIN_REAL && slot->kind != RQL_SLOT_MAX_REAL)
			continue;
		for (uint64_t i = 0; i < count; i++)
			rows[i * p->row_words + slot->word] = real_of_key(rows[i * p->row_words + slot->word]);
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

static rql_status put_times(struct rql_cube_context *context, struct rql_arena *arena, struct rql_port *out,
                            struct rql_error *err)
{
	uint32_t count = rql_commands_times(context->timed, NULL, 0, &out->device_ns),
			 before = context->before.pass != NULL;
	out->passes = RQL_NEW_ARRAY(arena, struct rql_pass_time, before + count);
	if (!out->passes)
		return rql_error_memory(err, (before + count) * sizeof(*out->passes), "a query's timings");
	out->passes[0] = context->before;
	out->device_ns += context->before.ns;
	rql_commands_times(context->timed, out->passes + before, count, NULL);
	out->pass_count = before + count;
	return RQL_OK;
}

/* The groups of a finished run. memory: what to free afterwards, NULL when they are read where they lie. */
static rql_status fetch_groups(const struct rql_cube_unit *unit, const struct rql_cube_context *context,
                               struct rql_cube_groups *g, uint64_t **memory, struct rql_error *err)
{
	uint64_t *head = context->result->map, count = head[RQL_CUBE_STATE_FOUND], words = unit->prepared->row_words;
	*g = (struct rql_cube_groups){.prepared = unit->prepared, .ready = true};
	if (unit->rows_whole) {
		g->capacity = context->capacity;
		g->rows = head + RQL_CUBE_STATE_WORDS;
		return RQL_OK;
	}
	g->hashed = true; /* which is to say: in any order, by number */
	g->capacity = g->used = count;
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

static rql_status answer_of(struct rql_cube_unit *unit, struct rql_cube_context *context, bool timed,
                            struct rql_arena *arena, struct rql_port *out, struct rql_error *err)
{
	struct rql_cube_groups groups;
	struct rql_port answer;
	uint64_t *memory = NULL, covered = 0;
	const uint64_t *head = context->result->map;
	rql_status status = fetch_groups(unit, context, &groups, &memory, err);
	if (status == RQL_OK) {
		covered = settle_rows(unit->prepared, groups.rows, groups.capacity);
		status = rql_cube_answer(&groups, arena, &answer, err);
	}
	free(memory);
	if (status != RQL_OK)
		return status;
	answer.cells_covered = covered;
	if (unit->ops->count)
		unit->ops->count(unit, head, &answer);
	else
		rql_cube_unit_count(unit, head + RQL_CUBE_STATE_COUNTERS, &answer);
	if (timed)
		RQL_TRY(put_times(context, arena, &answer, err));
	*out = answer;
	return RQL_OK;
}

/* ---- the run ---- */

/* Nothing qualifies: no device is needed for that. */
static rql_status answer_nothing(const struct rql_prepared *p, struct rql_arena *arena, struct rql_port *out,
                                 struct rql_error *err)
{
	struct rql_cube_groups groups = {.prepared = p, .rows = p->row_template, .capacity = p->scalar, .ready = true};
	return rql_cube_answer(&groups, arena, out, err);
}

/* *again: the hash table was too small, and the next context's is larger. */
static rql_status run_once(struct rql_cube_unit *unit, bool timed, struct rql_arena *arena,
                           struct rql_progress *progress, struct rql_port *out, bool *again, struct rql_error *err)
{
	struct rql_cube_context *context = NULL;
	RQL_TRY(take_context(unit, timed, &context, err));
	rql_status status = RQL_OK;
	if (unit->ops->run_before)
		status = unit->ops->run_before(unit, context, timed, progress, err);
	bool submitted = status == RQL_OK;
	if (status == RQL_OK)
		status = rql_submit(timed ? context->timed : context->commands, &context->ticket, err);
	if (status == RQL_OK)
		status = rql_wait(unit->device, context->ticket, progress, err);
	const uint64_t *head = context->result->map;
	*again = status == RQL_OK && head[RQL_CUBE_STATE_OVERFLOW] != 0;
	if (status == RQL_OK && !*again)
		status = answer_of(unit, context, timed, arena, out, err);
	if (*again) {
		pthread_mutex_lock(&unit->lock);
		if (unit->capacity == context->capacity)
			unit->capacity *= GROW;
		pthread_mutex_unlock(&unit->lock);
	}
	/* An interrupted run goes on; its context is looked at again when it is done. */
	if (status == RQL_OK || (status == RQL_ERROR_INTERRUPTED && submitted))
		give_context(unit, context);
	else
		free_context(context);
	return status;
}

rql_status rql_cube_unit_run(const struct rql_prepared *p, unsigned flags, struct rql_arena *arena,
                             struct rql_progress *progress, struct rql_port *out, struct rql_error *err)
{
	struct rql_cube_unit *unit = p->unit;
	if (progress && atomic_load_explicit(&progress->cancel, memory_order_relaxed))
		return rql_error_set(err, RQL_ERROR_INTERRUPTED, "the query was interrupted");
	if (!unit->items)
		return answer_nothing(p, arena, out, err);
	struct rql_error why = {0};
	rql_status status;
	bool again = false;
	do
		status = run_once(unit, (flags & RQL_RUN_TIMED) != 0, arena, progress, out, &again, &why);
	while (status == RQL_OK && again);
	if (status == RQL_ERROR_DEVICE)
		rql_placements_fail(p->cube, unit->device, rql_error_message(&why));
	if (status != RQL_OK)
		rql_error_set(err, status, "%s", rql_error_message(&why));
	rql_error_clear(&why);
	return status;
}
