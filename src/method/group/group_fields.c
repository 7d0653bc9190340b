/* Groups as the columns of a form: a dispatch for each column reads the groups' key or a state and writes fields. */
#include "method/group/group.h"

#include "method/group/group_kernels.h"
#include "shaders/method/group/group_fields.comp.h"

#define AVERAGE_DIGITS 18u

static const struct rql_kernel kernel = {.name = "group.fields",
                                         .spirv = rql_spv_group_fields_comp,
                                         .spirv_bytes = sizeof(rql_spv_group_fields_comp),
                                         .args_bytes = sizeof(struct rql_group_field_args)};

/* ---- binding ---- */

static rql_status wrong(const struct rql_group_output *o, const char *what, struct rql_error *err)
{
	return rql_error_set(err, RQL_ERROR_INTERNAL, "groups as columns: %s %u does not fit its column",
	                     what, o->index);
}

static rql_status bind_key(const struct rql_request *request, const struct rql_store_column *column,
                           struct rql_arena *arena, struct rql_group_shape *shape, struct rql_group_output *o,
                           struct rql_error *err)
{
	const struct rql_groups_key *key = o->index < shape->layout.key_count ? &shape->layout.keys[o->index] : NULL;
	if (!key || column->kind == RQL_STORE_REAL)
		return wrong(o, "key", err);
	const rql_int128 numbers =
		column->kind == RQL_STORE_CODED ? column->dimension->count : column->greatest - column->least + 1;
	if (!o->number_of_key)
		return (rql_int128)key->key_count <= numbers + (o->null_key != UINT64_MAX) ? RQL_OK : wrong(o, "key", err);
	const uint32_t count = request->groups[o->index].key_count;
	uint32_t *fields = RQL_NEW_ARRAY(arena, uint32_t, count + 1u);
	if (!fields)
		return rql_error_memory(err, count * sizeof *fields, "a query's groups");
	for (uint32_t k = 0; k < count; k++) {
		const bool null = k == o->null_key;
		if (!null && o->number_of_key[k] >= numbers)
			return wrong(o, "key", err);
		fields[k] = null ? 0 : o->number_of_key[k] + 1;
	}
	o->number_of_key = fields; /* fields now */
	o->null_key = UINT64_MAX;
	shape->table_words += count;
	return RQL_OK;
}

static rql_status bind_value(const struct rql_group_shape *shape, const struct rql_store_column *column,
                             const struct rql_group_output *o, struct rql_error *err)
{
	static const enum rql_store_kind kinds[] = {[RQL_MEASURE_INTEGER] = RQL_STORE_INTEGER,
	                                            [RQL_MEASURE_REAL] = RQL_STORE_REAL,
	                                            [RQL_MEASURE_CODE] = RQL_STORE_CODED};
	const uint32_t count = shape->layout.value_count;
	const struct rql_group_agg *agg = o->index < count ? &shape->aggs[o->index] : NULL;
	if (!agg || (o->average && (agg->kind != RQL_AGG_SUM || o->count >= count ||
	                            shape->aggs[o->count].value != RQL_NONE || o->scale > AVERAGE_DIGITS)))
		return wrong(o, "aggregate", err);
	if (agg->lower != RQL_NONE && (o->lower || o->scale)) /* only a column's own values are halved here: BIGINTs */
		return wrong(o, "half of a sum", err);
	const struct rql_group_agg *lower = o->lower ? &shape->aggs[o->lower - 1] : agg;
	if (o->half && (o->lower > count || agg->kind != RQL_AGG_SUM || lower->kind != RQL_AGG_SUM ||
	                agg->value == RQL_NONE || lower->value == RQL_NONE))
		return wrong(o, "half of a sum", err);
	if (column->kind != (o->average ? RQL_STORE_REAL : kinds[shape->layout.values[o->index].kind]) ||
	    (agg->value != RQL_NONE && agg->present != RQL_NONE && !column->nulls))
		return wrong(o, "aggregate", err);
	return RQL_OK;
}

rql_status rql_group_bind_outputs(const struct rql_request *request, struct rql_arena *arena,
                                  struct rql_group_shape *shape, struct rql_error *err)
{
	const uint32_t count = request->group_output_count;
	if (!request->gives || request->gives->column_count != count)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "groups as columns without a form");
	shape->outputs = RQL_NEW_ARRAY(arena, struct rql_group_output, count + 1u);
	if (!shape->outputs)
		return rql_error_memory(err, count * sizeof *shape->outputs, "a query's groups");
	shape->gives = rql_store_snapshot_retain(request->gives);
	for (uint32_t i = 0; i < count; i++) {
		const struct rql_store_column *column = &request->gives->columns[i];
		struct rql_group_output *o = &shape->outputs[i];
		*o = request->group_outputs[i];
		RQL_TRY(o->of_key ? bind_key(request, column, arena, shape, o, err) : bind_value(shape, column, o, err));
	}
	return RQL_OK;
}

rql_status rql_group_fields_upload(const struct rql_group_shape *shape, struct rql_buffer *tables, struct rql_error *err)
{
	uint64_t at = 0;
	for (uint32_t i = 0; i < shape->gives->column_count; i++) {
		const struct rql_group_output *o = &shape->outputs[i];
		if (!o->of_key || !o->number_of_key)
			continue;
		const uint64_t words = shape->layout.keys[o->index].key_count;
		RQL_TRY(rql_buffer_upload(tables, at * 4, o->number_of_key, words * 4, err));
		at += words;
	}
	return RQL_OK;
}

/* ---- recording ---- */

struct recording {
	const struct rql_group_shape *shape;
	const struct rql_group_fields *fields;
	uint64_t table; /* words of the tables that columns before have */
};

static uint64_t state_at(const struct recording *r, uint64_t at)
{
	return r->fields->groups->address + at * r->fields->room;
}

/* What counts the rows of a group that an aggregate sees. */
static uint64_t present_at(const struct recording *r, const struct rql_group_agg *agg)
{
	const struct rql_group_shape *shape = r->shape;
	return state_at(r, agg->present == RQL_NONE ? shape->key_bits / 8 : shape->states[agg->present].sum_at);
}

static void lay_key(struct recording *r, const struct rql_group_output *o, struct rql_group_field_args *args)
{
	const struct rql_groups_key *key = &r->shape->layout.keys[o->index];
	args->from = state_at(r, 0);
	args->kind = key->wide ? RQL_GROUP_FIELD_KEY : RQL_GROUP_FIELD_PART;
	args->stride = key->stride;
	args->count = key->key_count;
	args->null_code = o->null_key;
	if (!o->number_of_key)
		return;
	if (r->fields->tables) /* else a rehearsal, before they are placed */
		args->fields = r->fields->tables->address + r->table * 4;
	r->table += key->key_count;
}

static void lay_average(const struct recording *r, const struct rql_group_output *o, struct rql_group_field_args *args)
{
	const bool real = r->shape->layout.values[o->index].kind == RQL_MEASURE_REAL;
	args->kind = (real ? RQL_GROUP_FIELD_REAL_AVERAGE : RQL_GROUP_FIELD_AVERAGE) |
	             (o->narrow ? RQL_GROUP_FIELD_NARROW : 0);
	args->power = 1;
	for (uint32_t i = 0; i < o->scale; i++)
		args->power *= 10;
}

static void lay_half(const struct recording *r, const struct rql_group_output *o, struct rql_group_field_args *args)
{
	const struct rql_group_agg *lower = o->lower ? &r->shape->aggs[o->lower - 1] : NULL;
	args->kind = o->half == RQL_HALF_UPPER ? RQL_GROUP_FIELD_UPPER : RQL_GROUP_FIELD_LOWER;
	if (!lower)
		return;
	const struct rql_group_state *state = &r->shape->states[lower->value];
	args->kind |= RQL_GROUP_FIELD_OF_TWO | (state->wide ? RQL_GROUP_FIELD_LOW_WIDE : 0);
	args->fields = state_at(r, state->sum_at);
	args->power = (uint64_t)lower->before;
}

static void lay_value(const struct recording *r, const struct rql_group_output *o, const struct rql_store_column *column,
                      struct rql_group_field_args *args)
{
	const struct rql_group_agg *agg = &r->shape->aggs[o->index];
	args->present = present_at(r, agg);
	args->less = column->kind == RQL_STORE_INTEGER ? (uint64_t)column->least - 1 : UINT64_MAX;
	args->kind = RQL_GROUP_FIELD_COUNT;
	if (agg->value == RQL_NONE)
		return;
	const struct rql_group_state *state = &r->shape->states[agg->value];
	const bool real = r->shape->layout.values[o->index].kind == RQL_MEASURE_REAL, sum = agg->kind == RQL_AGG_SUM;
	args->from = state_at(r, sum ? state->sum_at : agg->kind == RQL_AGG_MIN ? state->min_at : state->max_at);
	args->before = (uint64_t)agg->before;
	args->before_high = (uint64_t)(agg->before >> 64);
	args->kind = real ? sum ? RQL_GROUP_FIELD_REAL : RQL_GROUP_FIELD_REAL_EXTREME
	                  : sum ? RQL_GROUP_FIELD_SUM : RQL_GROUP_FIELD_VALUE;
	if (o->average)
		lay_average(r, o, args);
	if (o->half)
		lay_half(r, o, args);
	if (agg->lower != RQL_NONE) {
		args->kind |= RQL_GROUP_FIELD_OF_TWO;
		args->fields = state_at(r, r->shape->states[agg->lower].sum_at);
		args->power = UINT64_MAX; /* a field of 0 stands for -1 */
	}
	args->kind |= sum && state->wide ? RQL_GROUP_FIELD_WIDE : 0;
}

rql_status rql_group_fields_record(const struct rql_group_shape *shape, const struct rql_group_fields *fields,
                                   struct rql_commands *commands, struct rql_error *err)
{
	const struct rql_use uses[] = {{fields->groups, RQL_READ},
	                               {fields->result, RQL_READ},
	                               {fields->values, RQL_WRITE},
	                               {fields->count, RQL_WRITE},
	                               {fields->tables, RQL_READ}};
	const struct rql_pipeline *pipeline;
	const uint32_t threads = RQL_GROUP_THREADS, use_count = fields->tables ? 5 : 4;
	struct recording r = {.shape = shape, .fields = fields};
	RQL_TRY(rql_pipeline_get(fields->groups->device, &kernel, &threads, 1, &pipeline, err));
	for (uint32_t i = 0; i < shape->gives->column_count; i++) {
		const struct rql_group_output *o = &shape->outputs[i];
		const struct rql_store_column *column = &shape->gives->columns[i];
		struct rql_group_field_args args = {
			.found = fields->result->address,
			.given = fields->count->address,
			.to = fields->values->address + fields->room * rql_form_offset(shape->gives, i),
			.room = fields->room,
			.bits = shape->key_bits | rql_form_bits(column) << 16};
		if (o->of_key)
			lay_key(&r, o, &args);
		else
			lay_value(&r, o, column, &args);
		rql_record_dispatch(commands, kernel.name, pipeline, &args, (fields->room + threads - 1) / threads, uses, use_count);
	}
	return RQL_OK;
}
