/* Rows of several inputs, one behind the other, as the rows of one form: UNION ALL on a GPU. */
#include <stdlib.h>

#include "method/append/append_kernels.h"
#include "method/method.h"
#include "shaders/method/append/append.comp.h"

struct rql_prepared {
	struct rql_stage stage; /* first (rql_stage_prepared) */
	struct rql_append of;                  /* its sources are owned */
	const struct rql_store_snapshot *form; /* retained: of the rows that come out */
	double expected;
};

struct context {
	struct rql_stage_context base;
	struct rql_buffer *values, *starts /* uint64_t[inputs + 1]; the last is the number of rows */;
	uint64_t room;
	struct rql_columns_port in[RQL_APPEND_MOST];
};

static const struct rql_kernel kernel = {.name = "append",
                                         .spirv = rql_spv_append_comp,
                                         .spirv_bytes = sizeof(rql_spv_append_comp),
                                         .args_bytes = sizeof(struct rql_append_args)};

static uint64_t starts_bytes(const struct rql_prepared *p)
{
	return (p->of.count + 1u) * sizeof(uint64_t);
}

/* ---- the stage ---- */

static rql_status open_on(struct rql_stage *stage, struct rql_device *device, const struct rql_columns_port *inputs,
                          struct rql_stage_context **out, struct rql_error *err)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	struct context *x = calloc(1, sizeof(*x));
	if (!x)
		return rql_error_memory(err, sizeof(*x), "the rows of a UNION ALL");
	*out = &x->base;
	for (uint32_t i = 0; i < p->of.count; i++) {
		x->in[i] = inputs[i];
		x->room += inputs[i].room;
	}
	RQL_TRY(rql_stage_buffer_new(device, rql_form_bytes(p->form, x->room), RQL_MEMORY_DEVICE,
	                             "the rows of a UNION ALL", &x->values, err));
	return rql_stage_buffer_new(device, starts_bytes(p), RQL_MEMORY_DEVICE, "the number of rows of a UNION ALL",
	                            &x->starts, err);
}

static void close_context(struct rql_stage *stage, struct rql_stage_context *base)
{
	struct context *x = (struct context *)base;
	(void)stage;
	rql_stage_buffer_free(x->values);
	rql_stage_buffer_free(x->starts);
	free(x);
}

static struct rql_append_args args_of(const struct rql_prepared *p, const struct context *x, uint32_t input)
{
	const struct rql_columns_port *in = &x->in[input];
	struct rql_append_args args = {.count = in->count->address + in->count_at,
	                               .from = in->values->address,
	                               .to = x->values->address,
	                               .from_room = in->room,
	                               .to_room = x->room,
	                               .starts = x->starts->address,
	                               .column_count = p->form->column_count,
	                               .place = input};
	for (uint32_t c = 0; c < p->form->column_count; c++)
		args.wide |= (uint64_t)(rql_form_bits(&p->form->columns[c]) == 64) << c;
	return args;
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *base, struct rql_commands *commands,
                         struct rql_error *err)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	const struct context *x = (const struct context *)base;
	const struct rql_pipeline *pipeline;
	const uint32_t threads = RQL_APPEND_THREADS;
	RQL_TRY(rql_pipeline_get(x->values->device, &kernel, &threads, 1, &pipeline, err));
	rql_record_fill(commands, x->starts, 0, sizeof(uint64_t), 0);
	for (uint32_t i = 0; i < p->of.count; i++) {
		const struct rql_append_args args = args_of(p, x, i);
		const struct rql_use uses[] = {{x->in[i].values, RQL_READ},
		                               {x->in[i].count, RQL_READ},
		                               {x->values, RQL_WRITE},
		                               {x->starts, RQL_READ_WRITE}};
		rql_record_dispatch(commands, kernel.name, pipeline, &args, (x->in[i].room + threads - 1) / threads, uses, 4);
	}
	return RQL_OK;
}

/* Of the next context. */
static uint64_t room_of(const struct rql_stage *stage)
{
	struct rql_columns_port inputs[RQL_STAGE_INPUTS_MAX];
	uint64_t room = 0;
	rql_stage_next_columns(stage, inputs);
	for (uint32_t i = 0; i < stage->input_count; i++)
		room += inputs[i].room;
	return room;
}

static void columns(const struct rql_stage *stage, const struct rql_stage_context *context, struct rql_columns_port *out)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	const struct context *x = (const struct context *)context;
	*out = (struct rql_columns_port){.form = p->form,
	                                 .room = x ? x->room : room_of(stage),
	                                 .count_at = p->of.count * sizeof(uint64_t)};
	if (x) {
		out->values = x->values;
		out->count = x->starts;
	}
}

static uint64_t bytes_of(const struct rql_stage *stage)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	return rql_form_bytes(p->form, room_of(stage)) + starts_bytes(p);
}

static const struct rql_stage_ops ops = {
	.open_on = open_on, .close = close_context, .record = record, .columns = columns, .bytes = bytes_of};

/* ---- the method ---- */

static bool same_layout(const struct rql_store_snapshot *a, const struct rql_store_snapshot *b)
{
	bool same = a->column_count == b->column_count;
	for (uint32_t c = 0; same && c < a->column_count; c++)
		same = rql_form_bits(&a->columns[c]) == rql_form_bits(&b->columns[c]);
	return same;
}

static const char *refusal(const struct rql_request *request)
{
	if (!request->gives || request->append->count > RQL_APPEND_MOST)
		return "no form says what a UNION ALL gives, or it has more than 8 inputs";
	if (request->gives->column_count > RQL_APPEND_COLUMNS)
		return "a UNION ALL has more than 64 columns";
	for (uint32_t i = 0; i < request->append->count; i++)
		if (!same_layout(request->gives, request->append->of[i].form))
			return "the inputs of a UNION ALL are not of one form";
	return NULL;
}

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	const char *why = rql_device_lacks(device, RQL_UNIT_COMPUTE);
	why = why ? why : refusal(request);
	return rql_offer_unless(why, reason);
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	struct rql_prepared *p = calloc(1, sizeof(*p));
	if (!p)
		return rql_error_memory(err, sizeof(*p), "a UNION ALL");
	rql_status status = rql_stage_init(&p->stage, &ops, device, err);
	if (status != RQL_OK) {
		free(p);
		return status;
	}
	p->of = *request->append;
	p->form = rql_store_snapshot_retain(request->gives);
	p->expected = request->expected;
	for (uint32_t i = 0; i < p->of.count; i++)
		rql_stage_read(&p->stage, p->of.of[i].method->stage(p->of.of[i].prepared));
	*out = p;
	return RQL_OK;
}

static void price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const double bytes = 2 * p->expected * rql_form_offset(p->form, p->form->column_count);
	*out = (struct rql_cost){.run_ns = p->of.count * device->profile.pass_ns + bytes / device->profile.read_gbps,
	                         .rows_out = p->expected,
	                         .device_bytes = bytes_of(&p->stage),
	                         .cells = p->expected,
	                         .bytes = bytes};
	for (uint32_t i = 0; i < p->of.count; i++) {
		struct rql_cost in;
		p->of.of[i].method->price(p->of.of[i].prepared, device, &in);
		rql_cost_add(out, &in);
	}
}

static rql_status kernels(const struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err)
{
	for (uint32_t i = 0; i < p->of.count; i++)
		RQL_TRY(rql_columns_kernels(&p->of.of[i], see, state, err));
	return rql_stage_rehearse(rql_prepared_stage(p), see, state, err);
}

static void free_prepared(struct rql_prepared *p)
{
	if (!p)
		return;
	rql_stage_clear(&p->stage);
	for (uint32_t i = 0; i < p->of.count; i++)
		p->of.of[i].method->free(p->of.of[i].prepared);
	rql_store_snapshot_release(p->form);
	free(p);
}

static uint64_t prepared_bytes(const struct rql_prepared *p)
{
	uint64_t bytes = sizeof(*p);
	for (uint32_t i = 0; i < p->of.count; i++)
		bytes += p->of.of[i].method->bytes(p->of.of[i].prepared);
	return bytes;
}

extern const struct rql_method rql_method_append_compute;
const struct rql_method rql_method_append_compute = {
	.name = "append",
	.description = "puts the rows of several inputs one behind the other on a GPU, as UNION ALL does",
	.paper = "none",
	.unit = RQL_UNIT_COMPUTE,
	.reads = RQL_READS_APPEND,
	.gives = 1u << RQL_PORT_COLUMNS,
	.offer = offer,
	.prepare = prepare,
	.price = price,
	.kernels = kernels,
	.stage = rql_prepared_stage,
	.run = rql_prepared_run,
	.free = free_prepared,
	.bytes = prepared_bytes,
};
