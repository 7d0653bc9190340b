/* Rows that pass between operators of a plan on a GPU, on the scan's side: the values of rows that passed, as the columns of
 * a form (column/form.h); and such rows as what is scanned, whose items the device makes itself because it alone knows how
 * many there are. */
#include "method/scan/gpu/scan_compute_run.h"

#include "shaders/method/scan/scan_items.comp.h"

#define EMIT_LEAST 4096u /* rows that there is always room for */
#define EMIT_ROOM 1.125
#define ITEMS_SIZE 128u

static const struct rql_kernel items_kernel = {
	.name = "scan.items",
	.spirv = rql_spv_scan_items_comp,
	.spirv_bytes = sizeof(rql_spv_scan_items_comp),
	.args_bytes = sizeof(struct rql_scan_items_args),
};

const char *rql_scan_emit_refusal(const struct rql_request *request)
{
	const uint32_t outputs = request->group_output_count ? request->group_output_count : request->output_count;
	if (request->wants == RQL_PORT_COLUMNS && (!request->gives || outputs != request->gives->column_count))
		return "no form says what the rows are";
	if (request->from.method && request->from.form != request->snapshot)
		return "the rows that come in have another form";
	if (request->from.method && request->wants == RQL_PORT_BATCH)
		return "the rows that come in are no table's, which the host could read";
	return NULL;
}

/* ---- sizes ---- */

/* No more rows than are read; nothing drops one of a whole table. */
static double most_rows(const struct rql_prepared *p)
{
	return (double)(p->from.method ? p->scan->gives->rows : p->snapshot->rows);
}

void rql_scan_emit_size(struct rql_prepared *p)
{
	double passed = p->scan->pass * (double)p->snapshot->rows * EMIT_ROOM + EMIT_LEAST, most = most_rows(p);
	p->capacity = rql_form_room(passed < most ? passed : most);
}

bool rql_scan_emit_grow(struct rql_prepared *p, const struct rql_scan_context *x, uint64_t found)
{
	if (found <= x->capacity)
		return false;
	uint64_t room = rql_form_room((double)found * EMIT_ROOM);
	p->capacity = room > p->capacity ? room : p->capacity;
	return true;
}

uint64_t rql_scan_emit_bytes(const struct rql_prepared *p)
{
	return rql_form_bytes(p->gives, p->capacity) + 2 * RQL_SCAN_STATE_WORDS * sizeof(uint64_t);
}

/* ---- memory ---- */

rql_status rql_scan_emit_make(struct rql_prepared *p, struct rql_scan_context *x, struct rql_error *err)
{
	const uint64_t head = RQL_SCAN_STATE_WORDS * sizeof(uint64_t), bytes = rql_form_bytes(p->gives, p->capacity);
	struct rql_device *device = p->stage.device;
	RQL_TRY(rql_stage_buffer_new(device, bytes, RQL_MEMORY_DEVICE, "the rows between two steps of a query", &x->rows, err));
	RQL_TRY(rql_stage_buffer_new(device, head, RQL_MEMORY_DEVICE, "the state of a query", &x->state, err));
	RQL_TRY(rql_stage_buffer_new(device, head, RQL_MEMORY_DEVICE, "the result of a query", &x->result, err));
	RQL_TRY(rql_stage_buffer_new(device, head, RQL_MEMORY_READBACK, "the result of a query", &x->seen, err));
	x->accumulator = (struct rql_scan_accumulator){.rows = x->rows->address,
	                                               .mask = x->capacity,
	                                               .state = x->state->address,
	                                               .result = x->result->address,
	                                               .kinds = p->tables->address + p->table.kinds,
	                                               .spread = 1};
	return RQL_OK;
}

void rql_scan_columns_in(const struct rql_prepared *p, const struct rql_stage_context *input, struct rql_columns_port *out)
{
	const struct rql_stage *stage = p->stage.inputs[0];
	stage->ops->columns(stage, input, out);
}

rql_status rql_scan_items_make(struct rql_prepared *p, const struct rql_columns_port *in, struct rql_scan_context *x,
                               struct rql_error *err)
{
	uint64_t items = (in->room + RQL_STORE_BLOCK - 1) / RQL_STORE_BLOCK;
	if (items > RQL_SCAN_BLOCKS_MOST || items > p->snapshot->blocks)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a join gives more rows (%llu) than a plan on this device was made for",
		                     (unsigned long long)in->room);
	x->items = (uint32_t)items;
	return rql_stage_buffer_new(p->stage.device, items * p->table.item_bytes, RQL_MEMORY_DEVICE, "the tables of a query",
	                     &x->table, err);
}

/* ---- recording ---- */

rql_status rql_scan_items_see(rql_see_kernel *see, void *state, struct rql_error *err)
{
	const uint32_t size = ITEMS_SIZE;
	const struct rql_kernel_use use = {.kernel = &items_kernel, .constants = &size, .count = 1};
	return see(state, &use, err);
}

rql_status rql_scan_items_record(const struct rql_prepared *p, const struct rql_scan_context *x,
                                 const struct rql_columns_port *in, struct rql_commands *commands, struct rql_error *err)
{
	const struct rql_pipeline *pipeline;
	const uint32_t size = ITEMS_SIZE;
	RQL_TRY(rql_pipeline_get(p->stage.device, &items_kernel, &size, 1, &pipeline, err));
	const struct rql_scan_items_args args = {.items = x->table->address,
	                                         .templates = p->tables->address + p->table.items,
	                                         .values = in->values->address,
	                                         .room = in->room,
	                                         .count = in->count->address + in->count_at,
	                                         .item_count = x->items,
	                                         .item_bytes = p->table.item_bytes,
	                                         .ref_count = p->plan.ref_count};
	const struct rql_use uses[] = {{x->table, RQL_WRITE}, {p->tables, RQL_READ}, {in->count, RQL_READ}};
	const uint64_t invocations = (uint64_t)x->items * (p->plan.ref_count + 1u);
	rql_record_dispatch(commands, "items", pipeline, &args, (invocations + size - 1) / size, uses, 3);
	return RQL_OK;
}

void rql_scan_columns_out(const struct rql_stage *stage, const struct rql_stage_context *context,
                          struct rql_columns_port *out)
{
	const struct rql_prepared *p = rql_scan_prepared_of(stage);
	const struct rql_scan_context *x = (const struct rql_scan_context *)context;
	const bool groups = p->scan->groups_form != NULL;
	*out = (struct rql_columns_port){.form = p->gives,
	                                 .room = groups ? p->group_room : p->capacity,
	                                 .count_at = RQL_SCAN_STATE_FOUND * sizeof(uint64_t)};
	if (x) {
		out->room = groups ? x->room : x->capacity;
		out->values = groups ? x->values : x->rows;
		out->count = x->result;
	}
}
