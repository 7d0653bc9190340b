/* ASOF joins of two sides that other stages leave on a GPU: of each probe row the one build row with its key whose value is
 * nearest. Key and value of a row are one number, its place (nearest_kernels.h). The build side's places are sorted
 * (primitive/lookup), each probe row looks up the least one of a range, and the rows are written beside their matches: one
 * for each probe row at most, so that the output always has room.
 *
 * What it must move: places of the build side sorted, some 100 bytes a row; of a probe row its place and what orders the
 * probes, some 60; every field of the output read and written. Beside these random reads: three of a look-up, and one of each
 * column of a match. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method/join/pair.h"
#include "method/join/places.h"
#include "method/method.h"

#include "shaders/method/join/nearest_rows.comp.h"

#define COUNT_BYTES 16u /* rows; had a probe row no key or value? */
#define PLACES_MOST ((rql_uint128)1 << 63)
#define ALIGNED 256u
/* The price. Sorting takes as long as so many bytes at the speed of reading (ranges_compute.c says where that is from). */
#define BUILD_BYTES 210.0
#define PROBE_BYTES 60.0
#define LOOK_UP_SECTORS 3.0
#define PASSES 40.0 /* dispatches */

struct rql_prepared {
	struct rql_stage stage; /* first (rql_stage_prepared) */
	struct rql_pair pair;   /* its sources are owned, its columns are ours */
	struct rql_pair_column *columns;
	const struct rql_store_snapshot *form; /* retained: of the rows that come out */
	uint64_t keys, span;                   /* places are keys * span */
	double expected;
};

struct context {
	struct rql_stage_context base;
	struct rql_buffer *values, *count, *seen /* READBACK: count; NULL: nobody reads it */, *columns /* rql_nearest_column */;
	struct rql_buffer *map, *probes, *temp;
	struct rql_columns_port in[2]; /* probe, build */
	struct rql_places_layout layout;
	struct rql_lookup_build build;
	struct rql_lookup_batch lookup;
};

#define KERNEL(symbol)                                                                                                 \
	{                                                                                                                  \
		.name = "join." #symbol, .spirv = rql_spv_##symbol##_comp, .spirv_bytes = sizeof(rql_spv_##symbol##_comp),     \
		.args_bytes = sizeof(struct rql_##symbol##_args)                                                               \
	}
static const struct rql_kernel rows_kernel = KERNEL(nearest_rows);

/* ---- places ---- */

static const struct rql_pair_condition *bound_of(const struct rql_pair *pair)
{
	return &pair->conditions[0];
}

static const struct rql_store_column *value_column(const struct rql_pair *pair)
{
	return &pair->probe.form->columns[bound_of(pair)->probe];
}

static rql_uint128 keys_of(const struct rql_pair *pair)
{
	return pair->keyless ? 1 : rql_places_of(&pair->probe.form->columns[pair->probe_key]);
}

static struct rql_places_layout lay_out(const struct rql_prepared *p, uint64_t room)
{
	return rql_places_lay_out(p->keys * p->span, p->pair.build.rows, room);
}

static unsigned flags_of(const struct rql_prepared *p, const struct context *x, bool build)
{
	const struct rql_store_snapshot *form = x->in[build].form;
	const uint32_t key = build ? p->pair.build_key : p->pair.probe_key;
	const struct rql_pair_condition *bound = bound_of(&p->pair);
	const struct rql_store_column *value = &form->columns[build ? bound->build : bound->probe];
	unsigned flags = x->layout.bits == 64 ? RQL_NEAREST_OUT_WIDE : 0;
	flags |= !p->pair.keyless && rql_form_bits(&form->columns[key]) == 64 ? RQL_NEAREST_KEY_WIDE : 0;
	flags |= rql_form_bits(value) == 64 ? RQL_NEAREST_VALUE_WIDE : 0;
	flags |= value->kind == RQL_STORE_REAL ? RQL_NEAREST_REAL : 0;
	flags |= bound->test == RQL_PAIR_GT || bound->test == RQL_PAIR_GE ? RQL_NEAREST_DESCENDING : 0;
	flags |= bound->test == RQL_PAIR_GT || bound->test == RQL_PAIR_LT ? RQL_NEAREST_STRICT : 0;
	return flags;
}

static uint64_t field_of(const struct rql_columns_port *in, uint32_t column)
{
	return in->values->address + rql_columns_field(in, column);
}

static rql_status record_places(const struct rql_prepared *p, const struct context *x, bool build, struct rql_commands *c,
                                struct rql_error *err)
{
	const struct rql_columns_port *in = &x->in[build];
	const struct rql_pair_condition *bound = bound_of(&p->pair);
	const struct rql_nearest_places_args args = {
		.keys = p->pair.keyless ? 0 : field_of(in, build ? p->pair.build_key : p->pair.probe_key),
		.values = field_of(in, build ? bound->build : bound->probe),
		.found = in->count->address + in->count_at,
		.lows_out = rql_places_address(build ? &x->build.keys : &x->lookup.points),
		.highs_out = build ? 0 : rql_places_address(&x->lookup.ends),
		.nulls = build || !p->pair.null_fails ? 0 : x->count->address + sizeof(uint64_t),
		.span = p->span,
		.none = x->layout.none,
		.none_step = x->layout.none_step,
		.none_count = x->layout.none_count,
		.room = (uint32_t)in->room,
		.flags = flags_of(p, x, build)};
	const struct rql_use uses[] = {{in->values, RQL_READ},
	                               {in->count, RQL_READ},
	                               {build ? x->map : x->probes, RQL_READ_WRITE},
	                               {x->count, RQL_READ_WRITE}};
	return rql_places_record(c, x->count->device, &args, uses, 4, err);
}

/* ---- memory ---- */

static rql_status open_probes(struct context *x, struct rql_device *device, struct rql_error *err)
{
	const uint64_t room = x->in[0].room, key_bytes = x->layout.bits / 8;
	uint64_t bytes = 0, temp, more;
	x->lookup = (struct rql_lookup_batch){.map = x->build.map,
	                                .count = room,
	                                .found = {x->in[0].count, x->in[0].count_at},
	                                .points = rql_places_take(&bytes, room * key_bytes),
	                                .ends = rql_places_take(&bytes, room * key_bytes),
	                                .rows = rql_places_take(&bytes, room * sizeof(uint32_t))};
	RQL_TRY(rql_stage_buffer_new(device, bytes, RQL_MEMORY_DEVICE, "the probes of an ASOF join", &x->probes, err));
	x->lookup.points.buffer = x->lookup.ends.buffer = x->lookup.rows.buffer = x->probes;
	temp = rql_lookup_build_temp_bytes(&x->build);
	more = rql_lookup_temp_bytes(&x->lookup);
	RQL_TRY(rql_stage_buffer_new(device, (temp > more ? temp : more) + ALIGNED, RQL_MEMORY_DEVICE,
	                             "the partitions of an ASOF join", &x->temp, err));
	x->build.temp = (struct rql_span){x->temp, 0};
	x->lookup.temp = more ? x->build.temp : (struct rql_span){NULL, 0};
	return RQL_OK;
}

static void lay_columns(const struct rql_prepared *p, const struct context *x, struct rql_nearest_column *out)
{
	for (uint32_t c = 0; c < p->pair.column_count; c++) {
		const struct rql_pair_column *column = &p->columns[c];
		out[c] = (struct rql_nearest_column){
			.from = field_of(&x->in[column->of_build], column->column),
			.to = x->values->address + x->in[0].room * rql_form_offset(p->form, c),
			.wide = rql_form_bits(&p->form->columns[c]) == 64,
			.of_build = column->of_build};
	}
}

static rql_status open_on(struct rql_stage *stage, struct rql_device *device, const struct rql_columns_port *inputs,
                          struct rql_stage_context **out, struct rql_error *err)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	struct context *x = calloc(1, sizeof(*x));
	if (!x)
		return rql_error_memory(err, sizeof(*x), "an ASOF join");
	*out = &x->base;
	x->in[0] = inputs[0];
	x->in[1] = inputs[1];
	x->layout = lay_out(p, inputs[1].room);
	RQL_TRY(rql_stage_buffer_new(device, rql_form_bytes(p->form, inputs[0].room), RQL_MEMORY_DEVICE,
	                             "the rows of an ASOF join", &x->values, err));
	RQL_TRY(rql_stage_buffer_new(device, COUNT_BYTES, RQL_MEMORY_DEVICE, "the number of rows of a join", &x->count, err));
	if (p->pair.null_fails)
		RQL_TRY(rql_stage_buffer_new(device, COUNT_BYTES, RQL_MEMORY_READBACK, "the number of rows of a join", &x->seen,
		                             err));
	RQL_TRY(rql_stage_buffer_new(device, p->pair.column_count * sizeof(struct rql_nearest_column), RQL_MEMORY_UPLOAD,
	                             "the columns of an ASOF join", &x->columns, err));
	lay_columns(p, x, x->columns->map);
	RQL_TRY(rql_places_open_map(&x->layout, inputs[1].room, device, "the sorted rows of an ASOF join", &x->build, &x->map,
	                            err));
	return open_probes(x, device, err);
}

static void close_context(struct rql_stage *stage, struct rql_stage_context *base)
{
	struct context *x = (struct context *)base;
	struct rql_buffer *buffers[] = {x->values, x->count, x->seen, x->columns, x->map, x->probes, x->temp};
	(void)stage;
	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		rql_stage_buffer_free(buffers[i]);
	free(x);
}

/* ---- the stage ---- */

static rql_status record_rows(const struct rql_prepared *p, const struct context *x, struct rql_commands *c,
                              struct rql_error *err)
{
	const struct rql_nearest_rows_args args = {.rows = rql_places_address(&x->lookup.rows),
	                                           .found = rql_places_address(&x->lookup.found),
	                                           .count = x->count->address,
	                                           .columns = x->columns->address,
	                                           .room = (uint32_t)x->in[0].room,
	                                           .flags = p->pair.kind == RQL_LOOKUP_LEFT ? RQL_NEAREST_LEFT : 0,
	                                           .column_count = p->pair.column_count};
	const struct rql_use uses[] = {{x->in[0].values, RQL_READ}, {x->in[0].count, RQL_READ}, {x->in[1].values, RQL_READ},
	                               {x->probes, RQL_READ},       {x->columns, RQL_READ},     {x->values, RQL_WRITE},
	                               {x->count, RQL_READ_WRITE}};
	struct rql_device *device = x->count->device;
	const uint32_t threads = RQL_NEAREST_THREADS, subgroup = device->limits.subgroup_size ? device->limits.subgroup_size : 1;
	const uint32_t constants[] = {threads, (threads + subgroup - 1) / subgroup};
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_pipeline_get(device, &rows_kernel, constants, 2, &pipeline, err));
	rql_record_dispatch(c, rows_kernel.name, pipeline, &args, (x->in[0].room + threads - 1) / threads, uses,
	                    sizeof(uses) / sizeof(*uses));
	return RQL_OK;
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *base, struct rql_commands *c,
                         struct rql_error *err)
{
	const struct context *x = (const struct context *)base;
	const struct rql_prepared *p = rql_stage_prepared(stage);
	rql_record_fill(c, x->count, 0, COUNT_BYTES, 0);
	RQL_TRY(record_places(p, x, true, c, err));
	RQL_TRY(rql_record_lookup_build(c, &x->build, err));
	RQL_TRY(record_places(p, x, false, c, err));
	RQL_TRY(rql_record_lookup(c, &x->lookup, err));
	RQL_TRY(record_rows(p, x, c, err));
	if (x->seen)
		rql_record_copy(c, x->count, 0, x->seen, 0, COUNT_BYTES);
	return RQL_OK;
}

/* DuckDB 1.5 finds some row by such a NULL, so that the answer is its own (flow/join/join_range.c). */
static rql_status check(struct rql_stage *stage, struct rql_stage_context *base, bool *again, struct rql_error *err)
{
	const struct context *x = (const struct context *)base;
	(void)stage, (void)again;
	return x->seen && ((const uint64_t *)x->seen->map)[1]
	           ? rql_error_set(err, RQL_ERROR_UNSUPPORTED,
	                           "a row of an ASOF join with keys has a NULL, which finds a row in this DuckDB")
	           : RQL_OK;
}

static void columns(const struct rql_stage *stage, const struct rql_stage_context *base, struct rql_columns_port *out)
{
	const struct context *x = (const struct context *)base;
	rql_pair_columns(stage, rql_stage_prepared(stage)->form, x ? x->in : NULL, out);
	if (x) {
		out->values = x->values;
		out->count = x->count;
	}
}

/* Sorting has keys and rows twice. */
static uint64_t bytes_of(const struct rql_stage *stage)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	struct rql_columns_port in[RQL_STAGE_INPUTS_MAX];
	rql_stage_next_columns(stage, in);
	const uint64_t key_bytes = lay_out(p, in[1].room).bits / 8;
	return rql_form_bytes(p->form, in[0].room) + in[0].room * (4 * key_bytes + 8) + in[1].room * (3 * key_bytes + 16);
}

static const struct rql_stage_ops ops = {.open_on = open_on,
                                         .close = close_context,
                                         .record = record,
                                         .check = check,
                                         .columns = columns,
                                         .bytes = bytes_of};

/* ---- the method ---- */

static const char *refusal(const struct rql_request *request)
{
	const struct rql_pair *pair = request->pair;
	const struct rql_pair_condition *bound = bound_of(pair);
	if ((pair->kind != RQL_LOOKUP_INNER && pair->kind != RQL_LOOKUP_LEFT) || pair->full || pair->single || pair->mark ||
	    pair->condition_count != 1 || bound->build == RQL_PAIR_TRUE || bound->test == RQL_PAIR_EQ ||
	    bound->test == RQL_PAIR_NE)
		return "an ASOF join has other conditions than equalities and one comparison";
	if (!request->gives || request->gives->column_count != pair->column_count)
		return "no form says what a join gives";
	if (!rql_places_alike(value_column(pair), &pair->build.form->columns[bound->build]) ||
	    (!pair->keyless && !rql_places_alike(&pair->probe.form->columns[pair->probe_key],
	                                    &pair->build.form->columns[pair->build_key])))
		return "the two sides of an ASOF join are not of one form";
	if (pair->probe.form->rows > RQL_PLACES_SIDE_ROWS || pair->build.form->rows > RQL_PLACES_SIDE_ROWS)
		return "a side of a join may have 2^32 rows or more";
	const rql_uint128 keys = keys_of(pair), values = rql_places_of(value_column(pair));
	if (pair->keyless ? values > RQL_PLACES_OF_REALS
	                  : keys > PLACES_MOST || values > PLACES_MOST || keys * values > PLACES_MOST)
		return "the keys and values of an ASOF join have more than 2^63 places together";
	return NULL;
}

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	if (!request->pair->nearest) /* join_compute.c says why not */
		return RQL_OFFER_NO;
	const char *why = rql_device_lacks(device, RQL_UNIT_COMPUTE);
	return rql_offer_unless(why ? why : refusal(request), reason);
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	const struct rql_pair *pair = request->pair;
	const uint64_t bytes = pair->column_count * sizeof(*pair->columns);
	struct rql_prepared *p = calloc(1, sizeof(*p));
	struct rql_pair_column *copies = malloc(bytes + 1);
	rql_status status = p && copies ? RQL_OK : rql_error_memory(err, bytes + sizeof(*p), "an ASOF join");
	if (status == RQL_OK)
		status = rql_stage_init(&p->stage, &ops, device, err);
	if (status != RQL_OK) {
		free(copies);
		free(p);
		return status;
	}
	if (bytes)
		memcpy(copies, pair->columns, bytes);
	p->pair = *pair;
	p->pair.columns = p->columns = copies;
	p->form = rql_store_snapshot_retain(request->gives);
	p->keys = (uint64_t)keys_of(pair);
	p->span = (uint64_t)rql_places_of(value_column(pair));
	p->span += !p->span; /* a dictionary without values */
	p->keys += !p->keys;
	p->expected = request->expected;
	rql_stage_read(&p->stage, pair->probe.method->stage(pair->probe.prepared));
	rql_stage_read(&p->stage, pair->build.method->stage(pair->build.prepared));
	*out = p;
	return RQL_OK;
}

static double pair_bytes(const struct rql_pair_size *size)
{
	return size->rows[0] * PROBE_BYTES + size->rows[1] * BUILD_BYTES + 2 * size->out_rows * size->out_bytes;
}

/* Columns of a match are taken as one field in two. */
static double pair_ns(const struct rql_profile *profile, const struct rql_pair_size *size)
{
	const double gathered = size->out_rows * size->row_bytes[1] / 8;
	return PASSES * profile->pass_ns + pair_bytes(size) / profile->read_gbps +
	       (size->rows[0] * LOOK_UP_SECTORS + gathered) * profile->sector_ns;
}

static void price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_pair_size size = rql_pair_size_of(&p->pair, p->form, p->expected);
	*out = (struct rql_cost){.run_ns = pair_ns(&device->profile, &size),
	                         .rows_out = p->expected,
	                         .device_bytes = bytes_of(&p->stage),
	                         .cells = p->expected,
	                         .bytes = pair_bytes(&size)};
	rql_pair_price_sides(&p->pair, device, out);
}

static rql_status kernels(const struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err)
{
	RQL_TRY(rql_pair_kernels(&p->pair, see, state, err));
	return rql_stage_rehearse(rql_prepared_stage(p), see, state, err);
}

static void free_prepared(struct rql_prepared *p)
{
	if (!p)
		return;
	rql_stage_clear(&p->stage);
	rql_pair_drop_sides(&p->pair);
	rql_store_snapshot_release(p->form);
	free(p->columns);
	free(p);
}

static uint64_t prepared_bytes(const struct rql_prepared *p)
{
	return sizeof(*p) + rql_pair_host_bytes(&p->pair);
}

extern const struct rql_method rql_method_nearest_compute;
const struct rql_method rql_method_nearest_compute = {
	.name = "nearest",
	.description = "ASOF joins of rows on a GPU: one side sorted, each row of the other looks its nearest one up",
	.paper = "none",
	.unit = RQL_UNIT_COMPUTE,
	.reads = RQL_READS_PAIR,
	.gives = 1u << RQL_PORT_COLUMNS,
	.offer = offer,
	.prepare = prepare,
	.price = price,
	.pair_ns = pair_ns,
	.kernels = kernels,
	.stage = rql_prepared_stage,
	.run = rql_prepared_run,
	.free = free_prepared,
	.bytes = prepared_bytes,
};
