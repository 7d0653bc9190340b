/* The fused scan on the compute unit: a stage (method/stage.h) of one dispatch of the request's kernel
 * (shaders/scan_kernel.comp) and, when groups are many, one that collects them. A context has rows of groups, which are at
 * rest between runs, and a result that the host reads. */
#include "method/scan/gpu/scan_compute_run.h"

#include <stddef.h>
#include <stdlib.h>

#include "shaders/method/scan/scan_collect.comp.h"

#define LEAST_CAPACITY 1024u
#define GROW 8u                            /* of a hash table that was too small: its run is lost */
#define COLLECT_SIZE 256u
#define COLLECT_MOST 1056u    /* workgroups: rows per invocation beyond */

static const struct rql_kernel collect_kernel = {
	.name = "scan.collect",
	.spirv = rql_spv_scan_collect_comp,
	.spirv_bytes = sizeof(rql_spv_scan_collect_comp),
	.args_bytes = sizeof(struct rql_scan_collect_args),
};

/* ---- placing ---- */

/* The request's own kernel. It is written once: to write it adds parameters to the plan, so that a second one would be
 * another kernel than was looked for or compiled. lock held. */
static rql_status see_request(struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err)
{
	struct rql_scan_plan *plan = &p->plan;
	struct rql_kernel kernel = {.name = "scan.request", .args_bytes = sizeof(struct rql_scan_args)};
	if (!plan->code)
		RQL_TRY(rql_scan_code(plan, &plan->code, &plan->code_bytes, err));
	kernel.spirv = plan->code;
	kernel.spirv_bytes = plan->code_bytes;
	uint32_t params = plan->param_count < RQL_SCAN_KEPT_PARAMS ? plan->param_count : RQL_SCAN_KEPT_PARAMS;
	uint32_t heads = plan->ref_count < RQL_SCAN_KEPT_HEADS ? plan->ref_count : RQL_SCAN_KEPT_HEADS;
	const uint32_t constants[] = {plan->workgroup,
	                              plan->mode,
	                              plan->scan->layout.row_words,
	                              plan->shared_sums ? plan->shared_sums : 1,
	                              plan->shared_extremes ? plan->shared_extremes : 1,
	                              plan->set_words ? plan->set_words : 1,
	                              plan->copies,
	                              plan->whole,
	                              p->stage.device->kind == RQL_DEVICE_SOFTWARE,
	                              plan->words,
	                              plan->limb_bits,
	                              plan->row_sums,
	                              plan->row_extremes,
	                              params ? params : 1,
	                              heads ? heads : 1,
	                              plan->staged ? RQL_SCAN_SECOND_ROWS : 0,
	                              plan->scan->groups_form && !plan->scan->layout.value_count,
	                              plan->scan->under_lists};
	const struct rql_kernel_use use = {.kernel = &kernel,
	                                   .constants = constants,
	                                   .count = sizeof(constants) / sizeof(*constants),
	                                   .generated = true};
	return see(state, &use, err);
}

static rql_status get_pipeline(void *state, const struct rql_kernel_use *use, struct rql_error *err)
{
	struct rql_prepared *p = state;
	return rql_pipeline_get_generated(p->stage.device, use->kernel, use->constants, use->count, &p->pipeline, err);
}

static uint32_t collect_size(const struct rql_device *device)
{
	return device->limits.group_size < COLLECT_SIZE ? device->limits.group_size : COLLECT_SIZE;
}

/* lock held. What a list's bound is must be known before its kernel can be made. */
static rql_status see_kernels(struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err)
{
	const uint32_t size = collect_size(p->stage.device);
	const struct rql_kernel_use collect = {.kernel = &collect_kernel, .constants = &size, .count = 1};
	if (p->placed || p->listed) /* the pipeline is held, or there is none */
		return RQL_OK;
	if (p->rows)
		RQL_TRY(rql_scan_list_bound(p, NULL, err));
	if (!p->plan.scan)
		RQL_TRY(rql_scan_compute_plan(p->scan, p->rows != NULL, p->stage.device, p->arena, &p->plan, err));
	RQL_TRY(see_request(p, see, state, err));
	for (uint32_t i = 0; i < rql_scan_table_maps(&p->plan); i++)
		if (p->plan.maps[i])
			RQL_TRY(rql_scan_map_see(p->scan->joins[i / RQL_SCAN_MAP_PARTS].map,
			                         (enum rql_scan_map_part)(i % RQL_SCAN_MAP_PARTS), p->stage.device, see, state, err));
	if (p->from.method)
		RQL_TRY(rql_scan_items_see(see, state, err));
	if (rql_scan_can_choose(p, p->capacity))
		RQL_TRY(rql_scan_first_see(p, see, state, err));
	/* It also puts groups at rest before the first run. */
	return p->rows || (p->plan.whole && p->scan->gives) ? RQL_OK : see(state, &collect, err);
}

static rql_status kernels(const struct rql_prepared *prepared, rql_see_kernel *see, void *state, struct rql_error *err)
{
	struct rql_prepared *p = (struct rql_prepared *)(uintptr_t)prepared;
	pthread_mutex_lock(&p->stage.lock);
	rql_status status = see_kernels(p, see, state, err);
	pthread_mutex_unlock(&p->stage.lock);
	if (status == RQL_OK && p->from.method)
		status = rql_columns_kernels(&p->from, see, state, err);
	if (status == RQL_OK && p->under.method && p->under.method->kernels)
		status = p->under.method->kernels(p->under.prepared, see, state, err);
	return status;
}

static rql_status upload_tables(struct rql_prepared *p, struct rql_error *err)
{
	struct rql_scan_blob *blob = &p->plan.blob;
	RQL_TRY(rql_stage_buffer_new(p->stage.device, blob->count + 64, RQL_MEMORY_DEVICE, "the tables of a query", &p->tables, err));
	for (uint64_t i = 0; i < blob->relocation_count; i++) {
		uint64_t value;
		memcpy(&value, blob->bytes + blob->relocations[i], sizeof(value));
		value += p->tables->address;
		memcpy(blob->bytes + blob->relocations[i], &value, sizeof(value));
	}
	rql_status status = rql_buffer_upload(p->tables, 0, blob->bytes, blob->count, err);
	rql_scan_blob_free(blob);
	return status;
}

static void unplace(struct rql_prepared *p)
{
	rql_stage_buffer_free(p->tables);
	p->tables = NULL;
	rql_pipeline_release(p->pipeline);
	p->pipeline = NULL;
	rql_scan_table_free(&p->plan, &p->table);
	rql_scan_compute_plan_free(&p->plan);
}

struct rql_prepared *rql_scan_prepared_of(const struct rql_stage *stage)
{
	return (struct rql_prepared *)((char *)(uintptr_t)stage - offsetof(struct rql_prepared, stage));
}

static rql_status place(struct rql_stage *stage, struct rql_progress *progress, bool *nothing, struct rql_error *err)
{
	struct rql_prepared *p = rql_scan_prepared_of(stage);
	/* Rows for another step are given also when there are none. */
	const bool always = p->from.method || p->gives;
	*nothing = p->placed && !p->table.item_count && !always;
	if (p->placed || p->listed)
		return RQL_OK;
	rql_status status = p->rows ? rql_scan_list_bound(p, progress, err) : RQL_OK;
	if (status == RQL_OK && !p->plan.scan)
		status = rql_scan_compute_plan(p->scan, p->rows != NULL, p->stage.device, p->arena, &p->plan, err);
	if (status == RQL_OK)
		status = see_request(p, get_pipeline, p, err);
	if (status == RQL_OK)
		status = rql_scan_table_make(&p->plan, p->stage.device, &p->table, err);
	if (status == RQL_OK && p->table.item_count > RQL_SCAN_BLOCKS_MOST)
		status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a scan of %u blocks; the device takes up to %u",
		                       p->table.item_count, RQL_SCAN_BLOCKS_MOST);
	if (status == RQL_OK && (p->table.item_count || always))
		status = upload_tables(p, err);
	if (status != RQL_OK) {
		unplace(p);
		return status;
	}
	stage->uploaded = p->table.uploaded + (p->tables ? p->tables->bytes : 0);
	p->items = p->table.item_count;
	p->placed = true;
	free(p->plan.code); /* the pipeline is held */
	p->plan.code = NULL;
	*nothing = !p->table.item_count && !always;
	if (p->rows)
		rql_scan_list_size(p);
	return RQL_OK;
}

/* ---- contexts ---- */

static void close_context(struct rql_stage *stage, struct rql_stage_context *base)
{
	struct rql_scan_context *x = (struct rql_scan_context *)base;
	(void)stage;
	struct rql_buffer *buffers[] = {x->rows,  x->keys,   x->state, x->result, x->others,
	                                x->ranks, x->choice, x->table, x->values, x->seen};
	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		rql_stage_buffer_free(buffers[i]);
	free(x);
}

uint64_t rql_scan_entry_bytes(const struct rql_prepared *p)
{
	return (p->scan->layout.row_words + rql_scan_key_words(p)) * sizeof(uint64_t);
}

uint64_t rql_scan_direct_groups(const struct rql_prepared *p)
{
	uint64_t most = RQL_SCAN_DIRECT_BYTES / rql_scan_entry_bytes(p);
	return p->plan.whole || p->capacity < most ? p->capacity : most;
}

uint64_t rql_scan_context_bytes(const struct rql_prepared *p)
{
	const uint64_t state = RQL_SCAN_STATE_WORDS * sizeof(uint64_t);
	if (p->scan->gives)
		return rql_scan_emit_bytes(p);
	if (p->rows)
		return state + (rql_scan_list_direct(p->capacity) ? 0 : p->capacity * sizeof(uint32_t));
	uint64_t words = (uint64_t)p->plan.spread * p->scan->layout.row_words + (p->plan.hashed ? rql_scan_key_words(p) : 0);
	uint64_t rows = p->capacity * words * sizeof(uint64_t);
	if (p->scan->groups_form)
		return rows + rql_scan_groups_bytes(p);
	if (rql_scan_chooses(p, p->capacity))
		return rows + rql_scan_first_bytes(p, p->capacity);
	return rows + state + (p->capacity - rql_scan_direct_groups(p)) * rql_scan_entry_bytes(p);
}

/* Every buffer that the kernels touch; malloc'ed. */
static struct rql_use *uses_of(const struct rql_prepared *p, const struct rql_scan_context *x, uint32_t *count)
{
	uint64_t columns = rql_scan_table_places(&p->plan), maps = rql_scan_table_maps(&p->plan);
	struct rql_use *uses = calloc(columns + maps + 13, sizeof(*uses)); /* and what comes in */
	struct rql_buffer *written[] = {x->rows, x->keys, x->state, x->result, x->others, x->ranks, x->values};
	*count = 0;
	if (!uses)
		return NULL;
	for (uint64_t i = 0; i < columns; i++)
		if (p->table.placed[i] && p->table.placed[i]->buffer)
			uses[(*count)++] = (struct rql_use){p->table.placed[i]->buffer, RQL_READ};
	for (uint64_t i = 0; i < maps; i++)
		if (p->table.maps[i])
			uses[(*count)++] = (struct rql_use){p->table.maps[i]->buffer, RQL_READ};
	uses[(*count)++] = (struct rql_use){p->tables, RQL_READ};
	for (size_t i = 0; i < sizeof(written) / sizeof(*written); i++)
		if (written[i])
			uses[(*count)++] = (struct rql_use){written[i], RQL_READ_WRITE};
	return uses;
}

static rql_status record_collect(const struct rql_prepared *p, const struct rql_scan_context *x, bool reset,
                                 struct rql_commands *commands, const struct rql_use *uses, uint32_t count,
                                 struct rql_error *err)
{
	const struct rql_pipeline *pipeline;
	const uint32_t size = collect_size(p->stage.device);
	RQL_TRY(rql_pipeline_get(p->stage.device, &collect_kernel, &size, 1, &pipeline, err));
	uint64_t groups = (x->capacity + size - 1) / size;
	groups = groups < COLLECT_MOST ? groups : COLLECT_MOST;
	const struct rql_buffer *lists = x->values ? x->values : x->others;
	struct rql_scan_collect_args args = {.accumulator = x->accumulator,
	                                     .capacity = x->capacity,
	                                     .room = x->ranks ? 0 : x->room,
	                                     .wanted = p->table.wanted ? p->tables->address + p->table.wanted : 0,
	                                     .ranks = x->ranks ? x->ranks->address : 0,
	                                     .others = lists ? lists->address : 0,
	                                     .columns = x->values ? p->tables->address + p->table.columns : 0,
	                                     .column_count = x->values ? p->gives->column_count : 0,
	                                     .groups = (uint32_t)groups,
	                                     .row_words = p->scan->layout.row_words,
	                                     .reset = reset};
	rql_record_dispatch(commands, "collect", pipeline, &args, groups, uses, count);
	return RQL_OK;
}

static uint32_t workgroups_of(const struct rql_prepared *p, const struct rql_scan_context *x)
{
	uint32_t items = x->table ? x->items : p->table.item_count;
	uint64_t most = RQL_SCAN_INVOCATIONS / p->plan.workgroup;
	uint64_t tiles = (uint64_t)items * RQL_SCAN_BLOCK_WORDS / p->plan.words / p->plan.workgroup;
	return (uint32_t)(tiles < 1 ? 1 : tiles < most ? tiles : most);
}

/* A workgroup's subgroups are at neighbouring tiles, so that what it reads of a column is in few pages at a time; a block's
 * tiles stay together where there are blocks for all subgroups. */
static uint32_t visit_of(const struct rql_prepared *p, const struct rql_scan_context *x)
{
	uint32_t subgroup = p->stage.device->limits.subgroup_size, subgroups = p->plan.workgroup / subgroup;
	uint64_t all = (uint64_t)workgroups_of(p, x) * subgroups;
	uint32_t tiles = subgroups * (x->items >= all ? RQL_SCAN_BLOCK_WORDS / p->plan.words / subgroup : 1);
	return (uint32_t)__builtin_ctz(tiles); /* all of them are powers of two */
}

/* The code was made for the form that was promised. */
static rql_status rows_in(const struct rql_prepared *p, const struct rql_scan_context *x, struct rql_rows *out,
                          struct rql_error *err)
{
	const struct rql_stage *input = p->stage.inputs[0];
	*out = (struct rql_rows){0};
	if (!p->under.method)
		return RQL_OK;
	input->ops->rows(input, x->base.inputs[0], out);
	if (p->scan->under_lists != (out->lists != 0))
		return rql_error_set(err, RQL_ERROR_INTERNAL, "ROWS come in another form than they were prepared for");
	return RQL_OK;
}

static void record_scan(const struct rql_prepared *p, const struct rql_scan_context *x, const struct rql_columns_port *in,
                        const struct rql_rows *under, struct rql_commands *commands, struct rql_use *uses, uint32_t count)
{
	uint64_t base = p->tables->address;
	if (under->buffer)
		uses[count++] = (struct rql_use){under->buffer, RQL_READ};
	if (x->table) {
		uses[count++] = (struct rql_use){x->table, RQL_READ};
		uses[count++] = (struct rql_use){in->values, RQL_READ};
	}
	bool no_rows = p->rows || p->scan->gives || (p->plan.mode == RQL_SCAN_MODE_GLOBAL && !p->plan.whole);
	struct rql_scan_args args = {
		.accumulator = x->accumulator,
		.items = x->table ? x->table->address : base + p->table.items,
		.params = base + p->table.params,
		.sets = base + p->table.sets,
		.item_count = x->items,
		.item_bytes = p->table.item_bytes,
		.groups = workgroups_of(p, x),
		.group_count = no_rows ? 0 : (uint32_t)p->scan->layout.group_count,
		.set_words = p->plan.set_words,
		.visit = visit_of(p, x),
		.copies = p->plan.copies,
		.lists = under->lists ? (uint32_t)((under->lists - under->offset) / RQL_SCAN_LISTS_STEP) : 0,
		.under = under->buffer ? under->buffer->address + under->offset : 0};
	rql_record_dispatch(commands, "scan", p->pipeline, &args, args.groups, uses, count);
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *base, struct rql_commands *commands,
                         struct rql_error *err)
{
	const struct rql_prepared *p = rql_scan_prepared_of(stage);
	const struct rql_scan_context *x = (const struct rql_scan_context *)base;
	struct rql_columns_port in = {0};
	struct rql_rows under;
	uint32_t count;
	if (x->listed)
		return RQL_OK;
	struct rql_use *uses = uses_of(p, x, &count);
	rql_status status = uses ? rows_in(p, x, &under, err) : rql_error_memory(err, 4096, "a query's commands");
	if (status == RQL_OK && x->table) {
		rql_scan_columns_in(p, base->inputs[0], &in);
		status = rql_scan_items_record(p, x, &in, commands, err);
	}
	if (status == RQL_OK)
		record_scan(p, x, &in, &under, commands, uses, count);
	if (status == RQL_OK && !p->rows && !p->plan.whole)
		status = record_collect(p, x, false, commands, uses, count, err);
	/* Groups still need each other's low bits while they are collected. */
	if (status == RQL_OK && p->plan.wide)
		rql_record_fill(commands, x->keys, x->keys->bytes / 2, x->keys->bytes / 2, 0);
	if (status == RQL_OK && x->ranks)
		status = rql_scan_first_record(p, x, commands, err);
	else if (status == RQL_OK && x->seen)
		rql_record_copy(commands, x->result, 0, x->seen, 0, x->seen->bytes);
	free(uses);
	return status;
}

/* Puts state, rows and keys at rest: the first run comes after it in the queue. */
static rql_status reset(const struct rql_prepared *p, struct rql_scan_context *x, struct rql_error *err)
{
	struct rql_commands *commands;
	uint32_t count;
	struct rql_use *uses = uses_of(p, x, &count);
	if (!uses)
		return rql_error_memory(err, 4096, "a query's commands");
	rql_status status = rql_commands_new(p->stage.device, 0, &commands, err);
	if (status == RQL_OK) {
		rql_record_fill(commands, x->state, 0, x->state->bytes, 0);
		if (x->keys)
			rql_record_fill(commands, x->keys, 0, x->keys->bytes, 0);
		if (!p->rows && !p->scan->gives)
			status = record_collect(p, x, true, commands, uses, count, err);
		if (status == RQL_OK)
			status = rql_commands_end(commands, err);
		if (status == RQL_OK)
			status = rql_submit(commands, &x->base.ticket, err);
		rql_commands_free(commands);
	}
	free(uses);
	return status;
}

/* Of a selection: a list of rows, in memory that the host reads or, when it is long, in the device's. */
static rql_status make_list(struct rql_prepared *p, struct rql_scan_context *x, struct rql_error *err)
{
	const uint64_t head = RQL_SCAN_STATE_WORDS * sizeof(uint64_t), bytes = x->capacity * sizeof(uint32_t);
	const bool direct = rql_scan_list_direct(x->capacity);
	if (!direct)
		RQL_TRY(rql_stage_buffer_new(p->stage.device, bytes, RQL_MEMORY_DEVICE, "the list of a query's rows", &x->rows, err));
	RQL_TRY(rql_stage_buffer_new(p->stage.device, head, RQL_MEMORY_DEVICE, "the state of a query", &x->state, err));
	RQL_TRY(rql_stage_buffer_new(p->stage.device, head + (direct ? bytes : 0), RQL_MEMORY_READBACK, "the result of a query", &x->result,
	             err));
	x->accumulator = (struct rql_scan_accumulator){.rows = direct ? x->result->address + head : x->rows->address,
	                                               .mask = x->capacity,
	                                               .state = x->state->address,
	                                               .result = x->result->address,
	                                               .kinds = p->tables->address + p->table.kinds,
	                                               .spread = 1};
	return RQL_OK;
}

/* A list in the result, and what has no room there in a second one. */
static rql_status make_lists(struct rql_prepared *p, struct rql_scan_context *x, struct rql_error *err)
{
	const uint64_t head = RQL_SCAN_STATE_WORDS * sizeof(uint64_t), entry = rql_scan_entry_bytes(p);
	x->room = rql_scan_direct_groups(p);
	RQL_TRY(rql_stage_buffer_new(p->stage.device, head + x->room * entry, RQL_MEMORY_READBACK, "the result of a query",
	                             &x->result, err));
	if (x->room == x->capacity)
		return RQL_OK;
	return rql_stage_buffer_new(p->stage.device, (x->capacity - x->room) * entry, RQL_MEMORY_DEVICE,
	                            "the found groups of a query", &x->others, err);
}

static rql_status make_groups(struct rql_prepared *p, struct rql_scan_context *x, struct rql_error *err)
{
	const uint64_t word = sizeof(uint64_t), head = RQL_SCAN_STATE_WORDS * word;
	RQL_TRY(rql_stage_buffer_new(p->stage.device, p->plan.spread * x->capacity * p->scan->layout.row_words * word, RQL_MEMORY_DEVICE,
	             "the groups of a query", &x->rows, err));
	if (p->plan.hashed)
		RQL_TRY(rql_stage_buffer_new(p->stage.device, x->capacity * rql_scan_key_words(p) * word, RQL_MEMORY_DEVICE,
		                             "the group numbers of a query", &x->keys, err));
	RQL_TRY(rql_stage_buffer_new(p->stage.device, head, RQL_MEMORY_DEVICE, "the state of a query", &x->state, err));
	RQL_TRY(p->scan->groups_form               ? rql_scan_groups_make(p, x, err)
	        : rql_scan_chooses(p, x->capacity) ? rql_scan_first_make(p, x, err)
	                                           : make_lists(p, x, err));
	x->accumulator = (struct rql_scan_accumulator){
		.rows = x->rows->address,
		.keys = x->keys ? x->keys->address : 0,
		.mask = x->keys ? x->capacity - 1 : 0,
		.state = x->state->address,
		.result = x->result->address,
		.kinds = p->tables->address + p->table.kinds,
		.stride = x->capacity * p->scan->layout.row_words * word,
		.spread = p->plan.spread,
		.wide = p->plan.wide,
	};
	return RQL_OK;
}

static rql_status open_context(struct rql_stage *stage, struct rql_stage_context *const *inputs,
                               struct rql_stage_context **out, struct rql_error *err)
{
	struct rql_prepared *p = rql_scan_prepared_of(stage);
	struct rql_scan_context *x = calloc(1, sizeof(*x));
	struct rql_columns_port in;
	if (!x)
		return rql_error_memory(err, sizeof(*x), "a query's run");
	*out = &x->base;
	x->capacity = p->capacity;
	x->items = p->items;
	x->listed = p->listed;
	if (x->listed)
		return RQL_OK;
	if (p->from.method) {
		rql_scan_columns_in(p, inputs[0], &in);
		RQL_TRY(rql_scan_items_make(p, &in, x, err));
	}
	RQL_TRY(p->rows          ? make_list(p, x, err)
	        : p->scan->gives ? rql_scan_emit_make(p, x, err)
	                         : make_groups(p, x, err));
	return reset(p, x, err);
}

static bool fits(const struct rql_stage *stage, const struct rql_stage_context *base)
{
	const struct rql_prepared *p = rql_scan_prepared_of(stage);
	const struct rql_scan_context *x = (const struct rql_scan_context *)base;
	if (p->listed || x->listed)
		return p->listed == x->listed;
	return x->capacity == p->capacity && (x->table || x->items == p->items) && (!x->values || x->room == p->group_room) &&
	       (x->ranks != NULL) == rql_scan_chooses(p, x->capacity);
}

static uint64_t context_bytes(const struct rql_stage *stage)
{
	return rql_scan_context_bytes(rql_scan_prepared_of(stage));
}

/* ---- runs ---- */

/* A hash table was too small, or a list, or too few blocks were looked at: the next context has more. */
static rql_status check(struct rql_stage *stage, struct rql_stage_context *base, bool *again, struct rql_error *err)
{
	struct rql_prepared *p = rql_scan_prepared_of(stage);
	const struct rql_scan_context *x = (const struct rql_scan_context *)base;
	if (x->listed) {
		*again = rql_scan_listed_grow(p, x);
		return RQL_OK;
	}
	const uint64_t *head = x->seen ? x->seen->map : x->result->map;
	if (head[RQL_SCAN_STATE_FAILED])
		return rql_error_set(err, RQL_ERROR_HOST, "an expression of the query failed in some row");
	if (p->scan->gives) {
		*again = rql_scan_emit_grow(p, x, head[RQL_SCAN_STATE_FOUND]);
		return RQL_OK;
	}
	*again = p->rows ? rql_scan_list_grow(p, x, head[RQL_SCAN_STATE_FOUND]) : head[RQL_SCAN_STATE_OVERFLOW] != 0;
	if (*again && !p->rows && p->capacity == x->capacity)
		p->capacity *= GROW;
	if (!*again && !p->rows && head[RQL_SCAN_STATE_FOUND] > p->found)
		p->found = head[RQL_SCAN_STATE_FOUND];
	if (!*again && x->values)
		*again = rql_scan_groups_grow(p, x, head[RQL_SCAN_STATE_FOUND]);
	return RQL_OK;
}

static rql_status take(struct rql_stage *stage, struct rql_stage_context *base, const struct rql_stage_run *run,
                       struct rql_error *err)
{
	struct rql_prepared *p = rql_scan_prepared_of(stage);
	struct rql_scan_context *x = (struct rql_scan_context *)base;
	return p->rows ? rql_scan_list_take(p, x, run, err) : rql_scan_compute_answer(p, x, run, err);
}

static const struct rql_stage_ops ops = {.place = place,
                                         .open = open_context,
                                         .close = close_context,
                                         .fits = fits,
                                         .record = record,
                                         .check = check,
                                         .take = take,
                                         .columns = rql_scan_columns_out,
                                         .bytes = context_bytes};

/* What the scans of stores before this one read, whose rows came in here. */
static void add_sources(const struct rql_stage *stage, struct rql_port *out)
{
	for (uint32_t i = 0; i < stage->input_count; i++) {
		const struct rql_stage *input = stage->inputs[i];
		const struct rql_prepared *p = input->ops == &ops ? rql_scan_prepared_of(input) : NULL;
		add_sources(input, out);
		if (!p || p->from.method)
			continue;
		out->cells_read += p->table.rows;
		out->runs += p->table.item_count;
		out->bytes_read += (uint64_t)(p->table.bytes + rql_scan_late_bytes(p, p->scan->pass));
	}
}

static struct rql_stage *stage_of(const struct rql_prepared *prepared)
{
	struct rql_prepared *p = (struct rql_prepared *)(uintptr_t)prepared; /* as in run */
	return p->rows && rql_scan_list_empty(p) ? NULL : &p->stage;
}

static rql_status run(const struct rql_prepared *prepared, struct rql_device *device, const struct rql_run *how,
                      struct rql_port *out, struct rql_error *err)
{
	if (prepared->rows)
		return rql_scan_list_run(prepared, device, how, out, err);
	if (prepared->gives)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "rows for another step of a plan are asked for by themselves");
	/* What a run keeps for the next one is not part of what others see. */
	struct rql_prepared *p = (struct rql_prepared *)(uintptr_t)prepared;
	RQL_TRY(rql_stage_run(&p->stage, how, NULL, out, err));
	if (p->from.method)
		add_sources(&p->stage, out);
	return RQL_OK;
}

/* ---- the method ---- */

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	const char *why = rql_scan_emit_refusal(request);
	if (!why && request->wants == RQL_PORT_BATCH)
		return rql_scan_list_offer(request, device, reason);
	why = why ? why : rql_scan_compute_refusal(request, device);
	return rql_offer_unless(why, reason);
}

static void free_prepared(struct rql_prepared *p)
{
	if (!p)
		return;
	rql_stage_clear(&p->stage);
	unplace(p);
	rql_scan_rows_free(p->rows);
	rql_scan_free(p->scan);
	if (p->under.method)
		p->under.method->free(p->under.prepared);
	if (p->from.method)
		p->from.method->free(p->from.prepared);
	rql_store_snapshot_release(p->gives);
	rql_store_snapshot_release(p->snapshot);
	rql_arena_free(p->arena);
	free(p);
}

static uint64_t power_above(double n)
{
	uint64_t power = LEAST_CAPACITY;
	while ((double)power < n)
		power *= 2;
	return power;
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	const bool selection = request->wants == RQL_PORT_BATCH;
	struct rql_prepared *p = calloc(1, sizeof(*p));
	if (!p)
		return rql_error_memory(err, sizeof(*p), "a query on a GPU");
	rql_status status = rql_stage_init(&p->stage, &ops, device, err);
	if (status != RQL_OK) {
		free(p);
		return status;
	}
	p->snapshot = rql_store_snapshot_retain(request->snapshot);
	p->gives = request->wants == RQL_PORT_COLUMNS ? rql_store_snapshot_retain(request->gives) : NULL;
	p->arena = rql_arena_new();
	status = p->arena ? RQL_OK : rql_error_memory(err, 4096, "a query on a GPU");
	if (status == RQL_OK)
		status = selection ? rql_scan_list_prepare(p, request, err) : rql_scan_prepare(request, device, &p->scan, err);
	if (status == RQL_OK && p->scan->layout.wide && rql_scan_number_bits(p->scan) > RQL_SCAN_LOW_BITS + RQL_SCAN_HIGH_BITS)
		status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "the group keys take more than %u bits together",
		                       RQL_SCAN_LOW_BITS + RQL_SCAN_HIGH_BITS);
	if (status == RQL_OK)
		rql_scan_dismiss(p->scan); /* who took the sample */
	if (status == RQL_OK)
		status = rql_scan_compute_plan(p->scan, selection, device, p->arena, &p->plan, err);
	if (status != RQL_OK) {
		free_prepared(p);
		return status;
	}
	/* Twice the expected groups and some more; the estimate may be wrong, then the table grows. */
	p->capacity = p->plan.hashed ? power_above(2.5 * p->scan->rows_out) : p->scan->layout.group_count;
	if (selection)
		rql_scan_list_size(p);
	p->under = request->under;
	p->own_points = rql_scan_own_points(request);
	if (p->under.method)
		rql_stage_read(&p->stage, p->under.method->stage(p->under.prepared));
	if (selection && p->under.method)
		rql_scan_list_ask(p);
	p->from = request->from;
	if (p->from.method)
		rql_stage_read(&p->stage, p->from.method->stage(p->from.prepared));
	if (p->scan->gives)
		rql_scan_emit_size(p);
	if (p->scan->groups_form)
		rql_scan_groups_size(p);
	*out = p;
	return RQL_OK;
}

static uint32_t points(const struct rql_prepared *p)
{
	return rql_scan_points(&p->under, p->own_points);
}

static uint64_t prepared_bytes(const struct rql_prepared *p)
{
	return sizeof(*p) + rql_arena_bytes(p->arena) + rql_arena_bytes(p->scan->arena) + p->plan.blob.room +
	       (p->rows ? rql_scan_rows_bytes(p->rows) : 0) +
	       (p->under.method ? p->under.method->bytes(p->under.prepared) : 0) +
	       (p->from.method ? p->from.method->bytes(p->from.prepared) : 0);
}

static rql_status calibrate(struct rql_device *device, bool thorough, struct rql_error *err)
{
	return rql_scan_calibrate_gpu(device, thorough, &device->profile.scan, err);
}

extern const struct rql_method rql_method_scan_compute;
const struct rql_method rql_method_scan_compute = {
	.name = "scan",
	.description = "filters, joins, groups and sums compressed columns on a GPU, and finds the rows of selections",
	.paper = "Crystal (Shanbhag et al., SIGMOD 2020), section 3",
	.unit = RQL_UNIT_COMPUTE,
	.reads = RQL_READS_STORE,
	.takes_columns = true,
	.gives = 1u << RQL_PORT_GROUPS | 1u << RQL_PORT_BATCH | 1u << RQL_PORT_COLUMNS,
	.takes_rows = true,
	.offer = offer,
	.prepare = prepare,
	.price = rql_scan_compute_price,
	.kernels = kernels,
	.stage = stage_of,
	.run = run,
	.points = points,
	.calibrate = calibrate,
	.free = free_prepared,
	.bytes = prepared_bytes,
};
