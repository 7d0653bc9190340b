/* Rows that lie on a GPU as a batch. What lies behind the stage's input is fetched once that is done, the number of rows
 * first, then the columns that somebody reads, or the rows of an order, the first ones (materialise_top.h) or all
 * (materialise_sort.h); the host does the rest. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "method/materialise/materialise_sort.h"
#include "method/materialise/materialise_top.h"

#define COUNT_BYTES 8u
/* On one thread: a field made a value of the host's; a key made a word and looked at; a row sorted, each key. About
 * what the scan takes for the same (bench/README.md), not measured by itself. */
#define VALUE_NS 2.0
#define KEY_NS 2.0
#define SORTED_NS 25.0
#define TOP_PASSES 11 /* of a top-N on the device, without the gathering of columns */
#define TOP_BYTES 80.0 /* a row there: the word written once and read nine times */
#define TOP_KEY_BYTES 24.0 /* another key in the word: its field, the word read and written */

struct rql_prepared {
	struct rql_stage stage; /* first (rql_stage_prepared) */
	struct rql_materialise m; /* its arrays are ours, its form is retained */
	struct rql_columns_source from; /* owned */
};

struct context {
	struct rql_stage_context base;
	struct rql_columns_port in;
	struct rql_buffer *seen; /* READBACK: the number of rows */
	bool finds_first;        /* the device finds the first rows */
	struct rql_materialise_top top;
	bool orders; /* the device puts them in order */
	struct rql_materialise_sort sort;
};

/* Of a run: what take leaves. */
struct fetched {
	struct rql_mem mem;
	struct rql_materialise_rows rows;
};

/* ---- the stage ---- */

static rql_status open_on(struct rql_stage *stage, struct rql_device *device, const struct rql_columns_port *inputs,
                          struct rql_stage_context **out, struct rql_error *err)
{
	struct context *x = calloc(1, sizeof(*x));
	if (!x)
		return rql_error_memory(err, sizeof(*x), "a query's rows");
	*out = &x->base;
	x->in = inputs[0];
	RQL_TRY(rql_stage_buffer_new(device, COUNT_BYTES, RQL_MEMORY_READBACK, "the number of a query's rows",
	                             &x->seen, err));
	const struct rql_materialise *m = &rql_stage_prepared(stage)->m;
	x->finds_first = rql_materialise_top_pays(m, (double)x->in.room);
	x->orders = rql_materialise_sort_pays(m, (double)x->in.room);
	if (x->orders)
		return rql_materialise_sort_open(m, device, &x->in, &x->sort, err);
	return x->finds_first ? rql_materialise_top_open(m, device, &x->in, &x->top, err) : RQL_OK;
}

static void close_context(struct rql_stage *stage, struct rql_stage_context *base)
{
	struct context *x = (struct context *)base;
	(void)stage;
	rql_stage_buffer_free(x->seen);
	rql_materialise_top_close(&x->top);
	rql_materialise_sort_close(&x->sort);
	free(x);
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *base, struct rql_commands *commands,
                         struct rql_error *err)
{
	const struct rql_materialise *m = &rql_stage_prepared(stage)->m;
	const struct context *x = (const struct context *)base;
	rql_record_copy(commands, x->in.count, x->in.count_at, x->seen, 0, COUNT_BYTES);
	if (x->orders)
		return rql_materialise_sort_record(m, &x->sort, commands, err);
	return x->finds_first ? rql_materialise_top_record(m, &x->top, commands, err) : RQL_OK;
}

static rql_status fetch(const struct rql_prepared *p, const struct context *x, struct fetched *f, struct rql_port *out,
                        struct rql_error *err)
{
	const struct rql_store_snapshot *form = p->m.form;
	const uint64_t wanted = rql_materialise_wanted(&p->m);
	if (!p->m.order_count && f->rows.count > wanted)
		f->rows.count = wanted;
	for (uint32_t c = 0; c < form->column_count && f->rows.count; c++) {
		const uint64_t bytes = f->rows.count * (rql_form_bits(&form->columns[c]) / 8);
		if (!rql_materialise_reads(&p->m, c))
			continue;
		void *fields = rql_mem_alloc(&f->mem, bytes, 1, err);
		if (!fields)
			return rql_stage_on_host(rql_mem_failure(&f->mem), err);
		f->rows.fields[c] = fields;
		RQL_TRY(rql_buffer_download(x->in.values, rql_columns_field(&x->in, c), fields, bytes, err));
		out->bytes_read += bytes;
	}
	return RQL_OK;
}

static rql_status take(struct rql_stage *stage, struct rql_stage_context *base, const struct rql_stage_run *run,
                       struct rql_error *err)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	const struct context *x = (const struct context *)base;
	struct fetched *f = run->own;
	if (!x)
		return RQL_OK;
	f->rows.count = *(const uint64_t *)x->seen->map;
	if (f->rows.count > x->in.room)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "more rows are on a device than there is room for");
	run->port->cells_read = run->port->cells_covered = f->rows.count;
	if (run->timed)
		RQL_TRY(rql_stage_times(base, run->arena, run->port, err));
	if (x->orders)
		return rql_materialise_sort_take(&p->m, &x->sort, &f->mem, &f->rows, &run->port->bytes_read, err);
	bool found = false;
	if (x->finds_first)
		RQL_TRY(rql_stage_on_host(
			rql_materialise_top_take(&p->m, &x->top, &f->mem, &f->rows, &run->port->bytes_read, &found, err), err));
	return found ? RQL_OK : fetch(p, x, f, run->port, err);
}

static uint64_t bytes_of(const struct rql_stage *stage)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	struct rql_columns_port in;
	rql_stage_next_columns(stage, &in);
	if (rql_materialise_sort_pays(&p->m, (double)in.room))
		return rql_materialise_sort_bytes(&p->m, stage->device, in.room);
	return rql_materialise_top_pays(&p->m, (double)in.room) ? rql_materialise_top_bytes(&p->m, in.room) : 0;
}

static const struct rql_stage_ops ops = {.open_on = open_on,
                                         .close = close_context,
                                         .record = record,
                                         .take = take,
                                         .bytes = bytes_of};

/* ---- the method ---- */

static const char *column_refusal(const struct rql_request *request, const struct rql_source *source)
{
	if (source->kind != RQL_SOURCE_COLUMN || source->index >= request->snapshot->column_count)
		return "what is made of columns is not made while rows are fetched";
	return rql_form_bits(&request->snapshot->columns[source->index]) ? NULL : "a column's values have no field";
}

static const char *output_refusal(const struct rql_request *request, const struct rql_output *output)
{
	const char *why = column_refusal(request, &output->source);
	if (why)
		return why;
	const struct rql_store_column *c = &request->snapshot->columns[output->source.index];
	const bool coded = c->kind == RQL_STORE_CODED, counts = c->kind == RQL_STORE_INTEGER && !c->low && c->least >= 0;
	const bool real = output->type.id == RQL_TYPE_FLOAT || output->type.id == RQL_TYPE_DOUBLE;
	if (output->part_count || output->half || (output->values && !coded && !counts))
		return "a column of the result is no column that was joined";
	const struct rql_type type = output->values ? output->values->type : c->type;
	if (c->low && rql_type_bytes(output->type) == sizeof(rql_int128) && !output->values)
		return NULL;
	if (rql_type_bytes(type) != rql_type_bytes(output->type) || !rql_type_bytes(type))
		return "a column of the result has a type that no field stands for";
	if (!coded && !output->values && real != (c->kind == RQL_STORE_REAL))
		return "a column of the result has another kind of value";
	return NULL;
}

static const char *refusal(const struct rql_request *request)
{
	const char *why = NULL;
	if (request->from.form != request->snapshot || !request->from.method || !request->from.method->stage)
		return "no rows come in";
	if (request->conjunct_count || request->lookup_count || request->under.method)
		return "rows are fetched as they are: no condition is tested";
	if (request->order_count > RQL_MATERIALISE_KEYS)
		return "more than 16 keys order the rows";
	for (uint32_t i = 0; i < request->output_count && !why; i++)
		why = output_refusal(request, &request->outputs[i]);
	for (uint32_t i = 0; i < request->order_count && !why; i++)
		why = column_refusal(request, &request->orders[i].source);
	return why;
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
	const uint64_t outputs = request->output_count * sizeof(*request->outputs);
	const uint64_t orders = request->order_count * sizeof(*request->orders);
	struct rql_prepared *p = calloc(1, sizeof(*p));
	void *copies[] = {malloc(outputs + 1), malloc(orders + 1)};
	const bool made = p && copies[0] && copies[1];
	rql_status status = made ? RQL_OK : rql_error_memory(err, outputs + orders, "a query's rows");
	if (status == RQL_OK)
		status = rql_stage_init(&p->stage, &ops, device, err);
	if (status != RQL_OK) {
		free(copies[0]);
		free(copies[1]);
		free(p);
		return status;
	}
	if (outputs)
		memcpy(copies[0], request->outputs, outputs);
	if (orders)
		memcpy(copies[1], request->orders, orders);
	p->m = (struct rql_materialise){.form = rql_store_snapshot_retain(request->snapshot),
	                                .output_count = request->output_count,
	                                .outputs = copies[0],
	                                .order_count = request->order_count,
	                                .orders = copies[1],
	                                .limit = request->limit,
	                                .offset = request->offset,
	                                .order_there = request->order_there,
	                                .budget = request->budget};
	p->from = request->from;
	rql_stage_read(&p->stage, p->from.method->stage(p->from.prepared));
	p->m.no_sort = bytes_of(&p->stage) > device->limits.buffer_bytes;
	*out = p;
	return RQL_OK;
}

/* Rows that come over the link, and what the host does with them. */
static double fetched_rows(const struct rql_materialise *m, double rows, double wanted, double *host_ns)
{
	*host_ns = wanted * m->output_count * VALUE_NS;
	if (!m->order_count)
		return wanted + (double)m->offset;
	if (rql_materialise_sort_pays(m, rows))
		return wanted;
	const double fetched = rql_materialise_top_pays(m, rows) ? rql_materialise_top_room(m) : rows;
	const double sorted = m->limit == UINT64_MAX ? rows : wanted + (double)m->offset;
	*host_ns += fetched * KEY_NS + sorted * m->order_count * SORTED_NS;
	return fetched;
}

static double order_ns(const struct rql_materialise *m, const struct rql_profile *profile, double rows)
{
	if (rql_materialise_sort_pays(m, rows))
		return rql_materialise_sort_ns(m, profile, rows);
	if (!rql_materialise_top_pays(m, rows))
		return 0;
	const double more = rql_materialise_top_keys(m, (uint64_t)rows) - 1.0;
	return (TOP_PASSES + more) * profile->pass_ns + rows * (TOP_BYTES + more * TOP_KEY_BYTES) / profile->read_gbps;
}

static void price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_materialise *m = &p->m;
	const bool orders = rql_materialise_sort_pays(m, p->from.rows);
	const double rows = p->from.rows, threads = rql_pool_threads(device->pool);
	double wanted = rows > (double)m->offset ? rows - (double)m->offset : 0, bytes = 0, host_ns;
	struct rql_cost in;
	wanted = wanted < (double)m->limit ? wanted : (double)m->limit;
	const double fetched = fetched_rows(m, rows, wanted, &host_ns);
	for (uint32_t c = 0; c < m->form->column_count; c++)
		if (orders ? rql_materialise_gives(m, c) : rql_materialise_reads(m, c))
			bytes += fetched * (rql_form_bits(&m->form->columns[c]) / 8);
	*out = (struct rql_cost){.run_ns = device->profile.submit_ns + order_ns(m, &device->profile, rows),
	                         .transfer_ns = bytes / device->profile.download_gbps + host_ns / threads,
	                         .rows_out = wanted,
	                         .device_bytes = bytes_of(&p->stage),
	                         .cells = rows,
	                         .runs = ceil(rows / RQL_STORE_BLOCK),
	                         .bytes = bytes};
	p->from.method->price(p->from.prepared, device, &in);
	rql_cost_add(out, &in);
}

static rql_status kernels(const struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err)
{
	RQL_TRY(rql_columns_kernels(&p->from, see, state, err));
	return rql_stage_rehearse(rql_prepared_stage(p), see, state, err);
}

static rql_status run(const struct rql_prepared *prepared, struct rql_device *device, const struct rql_run *how,
                      struct rql_port *out, struct rql_error *err)
{
	const struct rql_materialise *m = &prepared->m;
	struct fetched f = {.rows = {0}};
	struct rql_port answer = {.kind = RQL_PORT_BATCH};
	struct rql_crew crew = {.mem = &f.mem, .pool = device->pool, .progress = how->progress};
	const uint32_t *picked;
	uint64_t count;
	rql_mem_init(&f.mem, m->budget, "the rows of a query");
	rql_status status = RQL_MEM_ZARRAY(&f.mem, f.rows.fields, m->form->column_count + 1ull, err);
	status = rql_stage_on_host(status, err);
	if (status == RQL_OK)
		status = rql_stage_run(rql_prepared_stage(prepared), how, &f, &answer, err);
	if (status == RQL_OK)
		status = rql_stage_on_host(rql_materialise_order(m, &f.rows, &crew, &picked, &count, err), err);
	if (status == RQL_OK)
		status = rql_stage_on_host(rql_materialise_batch(m, &f.rows, &crew, picked, count, &answer.batch, err), err);
	rql_mem_clear(&f.mem);
	RQL_TRY(status);
	answer.group_count = answer.batch->rows;
	*out = answer;
	return RQL_OK;
}

static void free_prepared(struct rql_prepared *p)
{
	if (!p)
		return;
	rql_stage_clear(&p->stage);
	p->from.method->free(p->from.prepared);
	rql_store_snapshot_release(p->m.form);
	free(p->m.outputs);
	free(p->m.orders);
	free(p);
}

static uint64_t prepared_bytes(const struct rql_prepared *p)
{
	return sizeof(*p) + p->m.output_count * sizeof(*p->m.outputs) + p->m.order_count * sizeof(*p->m.orders) +
	       p->from.method->bytes(p->from.prepared);
}

extern const struct rql_method rql_method_materialise_compute;
const struct rql_method rql_method_materialise_compute = {
	.name = "materialise",
	.description = "fetches rows that lie on a GPU, put in an order there, the first ones or all",
	.paper = "Abadi et al., ICDE 2007, section 3",
	.unit = RQL_UNIT_COMPUTE,
	.reads = RQL_READS_COLUMNS,
	.gives = 1u << RQL_PORT_BATCH,
	.offer = offer,
	.prepare = prepare,
	.price = price,
	.kernels = kernels,
	.stage = rql_prepared_stage,
	.run = run,
	.free = free_prepared,
	.bytes = prepared_bytes,
};
