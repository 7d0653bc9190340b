/* Joins by ranges of two sides that other stages leave on a GPU, of which only counts and sums are asked for: of each
 * probe row how many build rows have a value between its bounds, and what their columns add up to. The build side's
 * values are sorted as places (places.h), a probe row looks up its first and last place, and a sum is a difference of two
 * prefix sums. No pair is made, and a probe row comes out once at most, so that the output always has room.
 *
 * What it must move: places of the build side sorted, some 100 bytes a row, and 24 for each column that is added up; of a
 * probe row its two places, and what orders the probes, some 70; every field of the output read and written. Beside these
 * random reads: five of a look-up, and two for each sum. */
#include <stdlib.h>
#include <string.h>

#include "method/join/pair.h"
#include "method/join/places.h"
#include "method/join/ranges_kernels.h"
#include "method/method.h"

#include "shaders/method/join/ranges_bounds.comp.h"
#include "shaders/method/join/ranges_rows.comp.h"
#include "shaders/method/join/ranges_values.comp.h"

#define COUNT_BYTES 16u
#define VALUES_MOST (2 * RQL_PAIR_SUMS)
/* The price, as an H200 has it (bench/results, after midnight): 10^7 points are sorted in 0.47 ms, and a column of theirs is
 * gathered and added up in 0.38, at 4.5 TB/s. */
#define BUILD_BYTES 210.0
#define BUILD_SUM_BYTES 170.0
#define PROBE_BYTES 70.0
#define LOOK_UP_SECTORS 5.0
#define SUM_SECTORS 2.0
#define PASSES 40.0 /* dispatches */

/* A column of the points whose prefix sums are made: of the values, or of how many there are. */
struct added {
	uint32_t column;
	bool sum;
};

struct rql_prepared {
	struct rql_stage stage; /* first (rql_stage_prepared) */
	struct rql_pair pair;   /* its sources are owned, its columns and sums are ours */
	struct rql_pair_column *columns;
	struct rql_pair_sum *sums;
	uint32_t added_count;
	struct added added[VALUES_MOST];
	const struct rql_store_snapshot *form; /* retained: of the rows that come out */
	uint64_t span;                         /* places */
	double expected;
};

struct context {
	struct rql_stage_context base;
	struct rql_buffer *values, *count, *tables; /* tables: rql_ranges_value, then rql_ranges_column each */
	struct rql_buffer *map, *prefix, *probes, *temp;
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
static const struct rql_kernel bounds_kernel = KERNEL(ranges_bounds);
static const struct rql_kernel values_kernel = KERNEL(ranges_values);
static const struct rql_kernel rows_kernel = KERNEL(ranges_rows);

/* ---- the pair ---- */

/* probe < build: the probe's column is a least bound. */
static bool is_low(const struct rql_pair_condition *c)
{
	return c->test == RQL_PAIR_LT || c->test == RQL_PAIR_LE;
}

static bool is_open(const struct rql_pair_condition *c)
{
	return c->test == RQL_PAIR_LT || c->test == RQL_PAIR_GT;
}

static const struct rql_pair_condition *bound_of(const struct rql_pair *pair, bool low)
{
	for (uint32_t i = 0; i < pair->condition_count; i++)
		if (is_low(&pair->conditions[i]) == low)
			return &pair->conditions[i];
	return NULL;
}

static const struct rql_store_column *point_column(const struct rql_pair *pair)
{
	return &pair->build.form->columns[pair->conditions[0].build];
}

static uint64_t field_of(const struct rql_columns_port *in, uint32_t column)
{
	return in->values->address + rql_columns_field(in, column);
}

/* RQL_NONE: each point has a value. */
static uint32_t find_added(const struct rql_prepared *p, uint32_t column, bool sum)
{
	for (uint32_t i = 0; i < p->added_count; i++)
		if (p->added[i].column == column && p->added[i].sum == sum)
			return i;
	return RQL_NONE;
}

static void add(struct rql_prepared *p, uint32_t column, bool sum)
{
	if (find_added(p, column, sum) == RQL_NONE)
		p->added[p->added_count++] = (struct added){column, sum};
}

static bool may_be_null(const struct rql_store_column *c)
{
	return c->nulls || (c->kind == RQL_STORE_CODED && c->dimension->has_null);
}

static void find_all_added(struct rql_prepared *p)
{
	for (uint32_t i = 0; i < p->pair.sum_count; i++) {
		const struct rql_pair_sum *s = &p->sums[i];
		if (s->kind == RQL_PAIR_SUM_PAIRS || !s->of_build)
			continue;
		if (may_be_null(&p->pair.build.form->columns[s->column]))
			add(p, s->column, false);
		if (s->kind == RQL_PAIR_SUM_SUM)
			add(p, s->column, true);
	}
}

/* ---- memory ---- */

static uint64_t prefix_bytes(uint64_t room)
{
	return (room + 1) * sizeof(uint64_t);
}

static struct rql_span prefix_at(const struct context *x, uint32_t added)
{
	return (struct rql_span){x->prefix, added * prefix_bytes(x->in[1].room)};
}

static struct rql_prefix_sum prefix_of(const struct context *x, uint32_t added)
{
	const struct rql_span at = prefix_at(x, added);
	return (struct rql_prefix_sum){.kind = RQL_PREFIX_U64_U64,
	                               .count = x->in[1].room,
	                               .in = at,
	                               .out = at,
	                               .total = {at.buffer, at.offset + x->in[1].room * sizeof(uint64_t)},
	                               .temp = {x->temp, 0}};
}

static rql_status open_probes(const struct rql_prepared *p, struct context *x, struct rql_device *device,
                              struct rql_error *err)
{
	const uint64_t room = x->in[0].room, key_bytes = x->layout.bits / 8;
	uint64_t bytes = 0, temp, more;
	x->lookup = (struct rql_lookup_batch){.map = x->build.map,
	                                      .count = room,
	                                      .found = {x->in[0].count, x->in[0].count_at},
	                                      .points = rql_places_take(&bytes, room * key_bytes),
	                                      .ends = rql_places_take(&bytes, room * key_bytes),
	                                      .rows = rql_places_take(&bytes, room * sizeof(uint32_t)),
	                                      .counts = rql_places_take(&bytes, room * sizeof(uint32_t))};
	RQL_TRY(rql_stage_buffer_new(device, bytes, RQL_MEMORY_DEVICE, "the bounds of a join by ranges", &x->probes, err));
	x->lookup.points.buffer = x->lookup.ends.buffer = x->lookup.rows.buffer = x->lookup.counts.buffer = x->probes;
	temp = rql_lookup_build_temp_bytes(&x->build);
	more = rql_lookup_temp_bytes(&x->lookup);
	const bool ordered = more != 0;
	temp = temp > more ? temp : more;
	if (p->added_count) {
		const struct rql_prefix_sum prefix = prefix_of(x, 0);
		more = rql_prefix_temp_bytes(&prefix);
		temp = temp > more ? temp : more;
	}
	RQL_TRY(rql_stage_buffer_new(device, temp + 256, RQL_MEMORY_DEVICE, "the partitions of a join by ranges", &x->temp,
	                             err));
	x->build.temp = (struct rql_span){x->temp, 0};
	x->lookup.temp = ordered ? x->build.temp : (struct rql_span){NULL, 0};
	return RQL_OK;
}

static bool is_wide(const struct rql_store_column *c)
{
	return rql_form_bits(c) == 64;
}

static uint64_t columns_at(const struct rql_prepared *p)
{
	return p->added_count * sizeof(struct rql_ranges_value);
}

static uint32_t column_count(const struct rql_prepared *p)
{
	return p->pair.column_count + p->pair.sum_count;
}

static void lay_values(const struct rql_prepared *p, const struct context *x, struct rql_ranges_value *out)
{
	for (uint32_t i = 0; i < p->added_count; i++) {
		const struct rql_store_column *of = &x->in[1].form->columns[p->added[i].column];
		const struct rql_span to = prefix_at(x, i);
		out[i] = (struct rql_ranges_value){.from = field_of(&x->in[1], p->added[i].column),
		                                   .to = rql_places_address(&to),
		                                   .least = (uint64_t)of->least,
		                                   .wide = is_wide(of),
		                                   .sum = p->added[i].sum};
	}
}

static uint64_t prefix_address(const struct rql_prepared *p, const struct context *x, uint32_t column, bool sum)
{
	const uint32_t added = find_added(p, column, sum);
	const struct rql_span at = prefix_at(x, added == RQL_NONE ? 0 : added);
	return added == RQL_NONE ? 0 : rql_places_address(&at);
}

static void lay_sum(const struct rql_prepared *p, const struct context *x, const struct rql_pair_sum *s,
                    struct rql_ranges_column *out)
{
	static const uint32_t kinds[][2] = {[RQL_PAIR_SUM_PAIRS] = {RQL_RANGES_PAIRS, RQL_RANGES_PAIRS},
	                                    [RQL_PAIR_SUM_VALUES] = {RQL_RANGES_OWN_VALUES, RQL_RANGES_VALUES},
	                                    [RQL_PAIR_SUM_SUM] = {RQL_RANGES_OWN_SUM, RQL_RANGES_SUM}};
	out->kind = kinds[s->kind][s->of_build];
	if (s->kind == RQL_PAIR_SUM_PAIRS)
		return;
	if (s->of_build) {
		out->values = prefix_address(p, x, s->column, false);
		out->sums = prefix_address(p, x, s->column, true);
		return;
	}
	const struct rql_store_column *of = &x->in[0].form->columns[s->column];
	out->from = field_of(&x->in[0], s->column);
	out->from_wide = is_wide(of);
	out->from_least = (uint64_t)of->least;
}

static void lay_columns(const struct rql_prepared *p, const struct context *x, struct rql_ranges_column *out)
{
	for (uint32_t c = 0; c < column_count(p); c++) {
		const struct rql_store_column *to = &p->form->columns[c];
		out[c] = (struct rql_ranges_column){.to = x->values->address + x->in[0].room * rql_form_offset(p->form, c),
		                                    .to_wide = is_wide(to),
		                                    .least = (uint64_t)to->least};
		if (c >= p->pair.column_count) {
			lay_sum(p, x, &p->sums[c - p->pair.column_count], &out[c]);
			continue;
		}
		out[c].kind = RQL_RANGES_FIELD;
		out[c].from = field_of(&x->in[0], p->columns[c].column);
		out[c].from_wide = is_wide(&x->in[0].form->columns[p->columns[c].column]);
	}
}

static rql_status open_on(struct rql_stage *stage, struct rql_device *device, const struct rql_columns_port *inputs,
                          struct rql_stage_context **out, struct rql_error *err)
{
	const struct rql_prepared *p = rql_stage_prepared(stage);
	struct context *x = calloc(1, sizeof(*x));
	if (!x)
		return rql_error_memory(err, sizeof(*x), "a join by ranges");
	*out = &x->base;
	x->in[0] = inputs[0];
	x->in[1] = inputs[1];
	x->layout = rql_places_lay_out(p->span, p->pair.build.rows, inputs[1].room);
	RQL_TRY(rql_stage_buffer_new(device, rql_form_bytes(p->form, inputs[0].room), RQL_MEMORY_DEVICE,
	                             "the rows of a join by ranges", &x->values, err));
	RQL_TRY(rql_stage_buffer_new(device, COUNT_BYTES, RQL_MEMORY_DEVICE, "the number of rows of a join", &x->count, err));
	RQL_TRY(rql_stage_buffer_new(device, columns_at(p) + column_count(p) * sizeof(struct rql_ranges_column),
	                             RQL_MEMORY_UPLOAD, "the columns of a join by ranges", &x->tables, err));
	RQL_TRY(rql_places_open_map(&x->layout, inputs[1].room, device, "the sorted rows of a join by ranges", &x->build,
	                            &x->map, err));
	if (p->added_count)
		RQL_TRY(rql_stage_buffer_new(device, p->added_count * prefix_bytes(inputs[1].room), RQL_MEMORY_DEVICE,
		                             "the sums of a join by ranges", &x->prefix, err));
	lay_values(p, x, x->tables->map);
	lay_columns(p, x, (struct rql_ranges_column *)((char *)x->tables->map + columns_at(p)));
	return open_probes(p, x, device, err);
}

static void close_context(struct rql_stage *stage, struct rql_stage_context *base)
{
	struct context *x = (struct context *)base;
	struct rql_buffer *buffers[] = {x->values, x->count, x->tables, x->map, x->prefix, x->probes, x->temp};
	(void)stage;
	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		rql_stage_buffer_free(buffers[i]);
	free(x);
}

/* ---- the stage ---- */

static rql_status record_points(const struct rql_prepared *p, const struct context *x, struct rql_commands *c,
                                struct rql_error *err)
{
	const struct rql_columns_port *in = &x->in[1];
	const struct rql_store_column *point = point_column(&p->pair);
	const struct rql_nearest_places_args args = {
		.values = field_of(in, p->pair.conditions[0].build),
		.found = in->count->address + in->count_at,
		.lows_out = rql_places_address(&x->build.keys),
		.span = p->span,
		.none = x->layout.none,
		.none_step = x->layout.none_step,
		.none_count = x->layout.none_count,
		.room = (uint32_t)in->room,
		.flags = (x->layout.bits == 64 ? RQL_NEAREST_OUT_WIDE : 0) | (is_wide(point) ? RQL_NEAREST_VALUE_WIDE : 0) |
	             (point->kind == RQL_STORE_REAL ? RQL_NEAREST_REAL : 0)};
	const struct rql_use uses[] = {{in->values, RQL_READ}, {in->count, RQL_READ}, {x->map, RQL_READ_WRITE}};
	RQL_TRY(rql_places_record(c, x->count->device, &args, uses, 3, err));
	return rql_record_lookup_build(c, &x->build, err);
}

/* A thread for each row that there is room for. */
static rql_status dispatch(struct rql_commands *c, const struct context *x, const struct rql_kernel *kernel, const void *args,
                           uint64_t room, const struct rql_use *uses, uint32_t use_count, struct rql_error *err)
{
	struct rql_device *device = x->count->device;
	const uint32_t threads = RQL_RANGES_THREADS, subgroup = device->limits.subgroup_size ? device->limits.subgroup_size : 1;
	const uint32_t constants[] = {threads, (threads + subgroup - 1) / subgroup};
	const struct rql_pipeline *pipeline;
	RQL_TRY(rql_pipeline_get(device, kernel, constants, kernel == &rows_kernel ? 2 : 1, &pipeline, err));
	rql_record_dispatch(c, kernel->name, pipeline, args, (room + threads - 1) / threads, uses, use_count);
	return RQL_OK;
}

/* Prefix sums in the points' order. A look-up gives a point's number then, in place of its row's. */
static rql_status record_sums(const struct rql_prepared *p, const struct context *x, struct rql_commands *c,
                              struct rql_error *err)
{
	const bool paired = x->layout.bits == 32;
	const struct rql_span *rows = paired ? &x->build.map.keys : &x->build.map.rows;
	const struct rql_ranges_values_args args = {.rows = rql_places_address(rows) + (paired ? sizeof(uint32_t) : 0),
	                                            .found = x->in[1].count->address + x->in[1].count_at,
	                                            .values = x->tables->address,
	                                            .room = (uint32_t)x->in[1].room,
	                                            .stride = paired,
	                                            .value_count = p->added_count};
	const struct rql_use uses[] = {{x->in[1].values, RQL_READ},
	                               {x->in[1].count, RQL_READ},
	                               {x->tables, RQL_READ},
	                               {x->map, RQL_READ_WRITE},
	                               {x->prefix, RQL_WRITE}};
	RQL_TRY(dispatch(c, x, &values_kernel, &args, x->in[1].room, uses, p->added_count ? 5 : 4, err));
	for (uint32_t i = 0; i < p->added_count; i++) {
		const struct rql_prefix_sum prefix = prefix_of(x, i);
		RQL_TRY(rql_record_prefix_sum(c, &prefix, err));
	}
	return RQL_OK;
}

static uint64_t bound_fields(const struct rql_prepared *p, const struct context *x, bool low)
{
	const struct rql_pair_condition *c = bound_of(&p->pair, low);
	return c ? field_of(&x->in[0], c->probe) : 0;
}

static rql_status record_bounds(const struct rql_prepared *p, const struct context *x, struct rql_commands *c,
                                struct rql_error *err)
{
	const struct rql_pair_condition *low = bound_of(&p->pair, true), *high = bound_of(&p->pair, false);
	const struct rql_store_column *point = point_column(&p->pair);
	const struct rql_ranges_bounds_args args = {
		.lows = bound_fields(p, x, true),
		.highs = bound_fields(p, x, false),
		.found = rql_places_address(&x->lookup.found),
		.lows_out = rql_places_address(&x->lookup.points),
		.highs_out = rql_places_address(&x->lookup.ends),
		.span = p->span,
		.room = (uint32_t)x->in[0].room,
		.flags = (is_wide(point) ? RQL_RANGES_WIDE : 0) | (point->kind == RQL_STORE_REAL ? RQL_RANGES_REAL : 0) |
	             (low && is_open(low) ? RQL_RANGES_LOW_OPEN : 0) | (high && is_open(high) ? RQL_RANGES_HIGH_OPEN : 0) |
	             (x->layout.bits == 64 ? RQL_RANGES_OUT_WIDE : 0)};
	const struct rql_use uses[] = {{x->in[0].values, RQL_READ}, {x->in[0].count, RQL_READ}, {x->probes, RQL_WRITE}};
	return dispatch(c, x, &bounds_kernel, &args, x->in[0].room, uses, 3, err);
}

static rql_status record_rows(const struct rql_prepared *p, const struct context *x, struct rql_commands *c,
                              struct rql_error *err)
{
	const struct rql_ranges_rows_args args = {.firsts = rql_places_address(&x->lookup.rows),
	                                          .counts = rql_places_address(&x->lookup.counts),
	                                          .found = rql_places_address(&x->lookup.found),
	                                          .count = x->count->address,
	                                          .columns = x->tables->address + columns_at(p),
	                                          .room = (uint32_t)x->in[0].room,
	                                          .flags = p->pair.kind == RQL_LOOKUP_LEFT ? RQL_RANGES_LEFT : 0,
	                                          .column_count = column_count(p)};
	const struct rql_use uses[] = {{x->in[0].values, RQL_READ}, {x->in[0].count, RQL_READ}, {x->probes, RQL_READ},
	                               {x->tables, RQL_READ},       {x->values, RQL_WRITE},     {x->count, RQL_READ_WRITE},
	                               {x->prefix, RQL_READ}};
	return dispatch(c, x, &rows_kernel, &args, x->in[0].room, uses, p->added_count ? 7 : 6, err);
}

static rql_status record(struct rql_stage *stage, struct rql_stage_context *base, struct rql_commands *c,
                         struct rql_error *err)
{
	const struct context *x = (const struct context *)base;
	const struct rql_prepared *p = rql_stage_prepared(stage);
	rql_record_fill(c, x->count, 0, COUNT_BYTES, 0);
	RQL_TRY(record_points(p, x, c, err));
	RQL_TRY(record_sums(p, x, c, err));
	RQL_TRY(record_bounds(p, x, c, err));
	RQL_TRY(rql_record_lookup(c, &x->lookup, err));
	return record_rows(p, x, c, err);
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
	const uint64_t key_bytes = rql_places_lay_out(p->span, p->pair.build.rows, in[1].room).bits / 8;
	return rql_form_bytes(p->form, in[0].room) + in[0].room * (4 * key_bytes + 16) +
	       in[1].room * (3 * key_bytes + 16) + p->added_count * prefix_bytes(in[1].room);
}

static const struct rql_stage_ops ops = {
	.open_on = open_on, .close = close_context, .record = record, .columns = columns, .bytes = bytes_of};

/* ---- the method ---- */

static const char *sum_refusal(const struct rql_pair *pair)
{
	for (uint32_t i = 0; i < pair->sum_count; i++) {
		const struct rql_pair_sum *s = &pair->sums[i];
		const struct rql_columns_source *side = s->of_build ? &pair->build : &pair->probe;
		if (s->kind == RQL_PAIR_SUM_SUM && side->form->columns[s->column].kind != RQL_STORE_INTEGER)
			return "a sum of other values than integers and decimals over a join by ranges";
	}
	return NULL;
}

static const char *refusal(const struct rql_request *request)
{
	const struct rql_pair *pair = request->pair;
	const uint32_t bounds = (bound_of(pair, true) != NULL) + (bound_of(pair, false) != NULL);
	if ((pair->kind != RQL_LOOKUP_INNER && pair->kind != RQL_LOOKUP_LEFT) || pair->full || pair->single || pair->mark ||
	    !bounds || bounds != pair->condition_count)
		return "a join by ranges has other conditions than a least and a greatest bound";
	if (!request->gives || request->gives->column_count != pair->column_count + pair->sum_count)
		return "no form says what a join gives";
	if (pair->sum_count > RQL_PAIR_SUMS)
		return "a join by ranges has more than 16 sums";
	for (uint32_t i = 0; i < pair->condition_count; i++)
		if (pair->conditions[i].build != pair->conditions[0].build || pair->conditions[i].test == RQL_PAIR_EQ ||
		    pair->conditions[i].test == RQL_PAIR_NE ||
		    !rql_places_alike(&pair->probe.form->columns[pair->conditions[i].probe], point_column(pair)))
			return "the bounds of a join by ranges are not of one form with what they bound";
	if (pair->probe.form->rows > RQL_PLACES_SIDE_ROWS || pair->build.form->rows > RQL_PLACES_SIDE_ROWS)
		return "a side of a join may have 2^32 rows or more";
	if (rql_places_of(point_column(pair)) > RQL_PLACES_OF_REALS)
		return "the values that a join by ranges bounds have nearly 2^64 places";
	return sum_refusal(pair);
}

static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	if (!request->pair->ranges) /* join_compute.c says why not */
		return RQL_OFFER_NO;
	const char *why = rql_device_lacks(device, RQL_UNIT_COMPUTE);
	return rql_offer_unless(why ? why : refusal(request), reason);
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	const struct rql_pair *pair = request->pair;
	struct rql_prepared *p = calloc(1, sizeof(*p));
	struct rql_pair_column *own = malloc(pair->column_count * sizeof(*own) + 1);
	struct rql_pair_sum *sums = malloc(pair->sum_count * sizeof(*sums) + 1);
	rql_status status = p && own && sums ? RQL_OK : rql_error_memory(err, sizeof(*p), "a join by ranges");
	if (status == RQL_OK)
		status = rql_stage_init(&p->stage, &ops, device, err);
	if (status != RQL_OK) {
		free(own);
		free(sums);
		free(p);
		return status;
	}
	if (pair->column_count)
		memcpy(own, pair->columns, pair->column_count * sizeof(*own));
	if (pair->sum_count)
		memcpy(sums, pair->sums, pair->sum_count * sizeof(*sums));
	p->pair = *pair;
	p->pair.columns = p->columns = own;
	p->pair.sums = p->sums = sums;
	p->form = rql_store_snapshot_retain(request->gives);
	p->span = (uint64_t)rql_places_of(point_column(pair));
	p->span += !p->span; /* a dictionary without values */
	p->expected = request->expected;
	find_all_added(p);
	rql_stage_read(&p->stage, pair->probe.method->stage(pair->probe.prepared));
	rql_stage_read(&p->stage, pair->build.method->stage(pair->build.prepared));
	*out = p;
	return RQL_OK;
}

static double bytes_moved(const struct rql_pair_size *size)
{
	return size->rows[0] * PROBE_BYTES + size->rows[1] * BUILD_BYTES + 2 * size->out_rows * size->out_bytes;
}

static double pair_ns(const struct rql_profile *profile, const struct rql_pair_size *size)
{
	return PASSES * profile->pass_ns + bytes_moved(size) / profile->read_gbps +
	       size->rows[0] * LOOK_UP_SECTORS * profile->sector_ns;
}

static void price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out)
{
	const struct rql_profile *profile = &device->profile;
	const struct rql_pair_size size = rql_pair_size_of(&p->pair, p->form, p->expected);
	const double summed = p->added_count * size.rows[1] * BUILD_SUM_BYTES;
	const double looked = p->added_count * size.rows[0] * SUM_SECTORS * profile->sector_ns;
	*out = (struct rql_cost){.run_ns = pair_ns(profile, &size) + summed / profile->read_gbps + looked,
	                         .rows_out = p->expected,
	                         .device_bytes = bytes_of(&p->stage),
	                         .cells = p->expected,
	                         .bytes = bytes_moved(&size) + summed};
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
	free(p->sums);
	free(p);
}

static uint64_t prepared_bytes(const struct rql_prepared *p)
{
	return sizeof(*p) + p->pair.sum_count * sizeof(*p->sums) + rql_pair_host_bytes(&p->pair);
}

extern const struct rql_method rql_method_ranges_compute;
const struct rql_method rql_method_ranges_compute = {
	.name = "ranges",
	.description = "counts and sums over joins by ranges on a GPU: one side sorted, each row of the other looks its bounds up",
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
