/* A request for groups becomes one for rows of a key and values, and states over these columns. */
#include "method/group/group.h"

#include "column/form.h"

#define NUMBERS_MOST ((rql_int128)1 << 62)

struct binding {
	const struct rql_request *request;
	struct rql_arena *arena;
	struct rql_group_shape *shape;
	struct rql_form_column *columns; /* of the form */
	struct rql_output *outputs;
	uint32_t count; /* of both */
	struct rql_error *err;
};

static rql_status refuse(const struct binding *b, const char *why)
{
	return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED, "grouped by partitions: %s", why);
}

/* ---- the key ---- */

/* Reals alone: equal ones have one field, which is the key. What a group shows is an aggregate (plan/join/join_groups.c). */
static rql_status bind_real(struct binding *b, const struct rql_group_key *key)
{
	const uint64_t codes = key->wide_count ? key->wide_count : key->key_count;
	const char *why = rql_request_describe(b->request, &key->source, &b->columns[0]);
	if (why)
		return refuse(b, why);
	if (b->shape->layout.key_count > 1 || b->request->wants != RQL_PORT_COLUMNS)
		return refuse(b, "a key is a real number, beside others or of groups that are handed on");
	b->shape->layout.keys[0] = (struct rql_groups_key){.stride = 1, .key_count = codes, .wide = true};
	b->shape->numbers = codes;
	b->columns[0].nullable = true;
	b->outputs[0] = (struct rql_output){.source = key->source, .type = b->columns[0].of.type, .canonical = true};
	return RQL_OK;
}

/* A key of more than 2^32 values alone is a column of the form as it is: its field, less one, is its code. */
static rql_status bind_wide(struct binding *b, const struct rql_group_key *key)
{
	struct rql_groups_key *part = &b->shape->layout.keys[0];
	if (b->shape->layout.key_count > 1)
		return refuse(b, "several keys, one of more than 2^32 values");
	if ((rql_int128)key->wide_count > NUMBERS_MOST || key->source.kind == RQL_SOURCE_LOOKUP)
		return refuse(b, "a key has more than 2^62 values");
	*part = (struct rql_groups_key){.stride = 1, .key_count = key->wide_count, .wide = true};
	b->shape->numbers = key->wide_count;
	b->columns[0].of.least = key->least;
	b->columns[0].of.greatest = (rql_int128)key->least + (rql_int128)key->wide_count - 1;
	b->outputs[0].source = key->source;
	return RQL_OK;
}

static bool is_coded(const struct rql_request *r, const struct rql_source *source)
{
	return source->kind == RQL_SOURCE_COLUMN && source->index < r->snapshot->column_count &&
	       r->snapshot->columns[source->index].kind == RQL_STORE_CODED;
}

static rql_status bind_key(struct binding *b)
{
	const struct rql_request *r = b->request;
	struct rql_group_shape *shape = b->shape;
	struct rql_group_key *keys = RQL_NEW_ARRAY(b->arena, struct rql_group_key, r->group_count + 1u);
	rql_int128 numbers = 1;
	if (!keys)
		return rql_error_memory(b->err, 0, "a query's groups");
	b->count = 1;
	b->columns[0] = (struct rql_form_column){
		.of = {.name = "key", .type = rql_type_simple(RQL_TYPE_BIGINT), .kind = RQL_STORE_INTEGER}, .nullable = true};
	b->outputs[0] = (struct rql_output){.type = rql_type_simple(RQL_TYPE_BIGINT)};
	for (uint32_t g = r->group_count; g-- > 0;) {
		if (r->groups[g].real)
			return bind_real(b, &r->groups[g]);
		if (r->groups[g].wide_count)
			return bind_wide(b, &r->groups[g]);
		shape->layout.keys[g] = (struct rql_groups_key){.stride = (uint64_t)numbers, .key_count = r->groups[g].key_count};
		numbers *= r->groups[g].key_count;
		if (numbers > NUMBERS_MOST)
			return refuse(b, "the keys have more than 2^62 combinations");
		keys[g] = r->groups[g];
		if (is_coded(r, &keys[g].source)) /* NULL is one of the codes: the number is never NULL */
			keys[g].null_key = 0;
	}
	shape->numbers = (uint64_t)numbers;
	b->columns[0].of.greatest = numbers - 1;
	b->outputs[0].part_count = r->group_count;
	b->outputs[0].parts = keys;
	return RQL_OK;
}

/* ---- values ---- */

static bool same_source(const struct rql_source *a, const struct rql_source *b)
{
	return a->kind == b->kind && a->index == b->index && (a->kind != RQL_SOURCE_PROGRAM || a->result == b->result) &&
	       a->value_of_payload == b->value_of_payload && a->valid_of_payload == b->valid_of_payload;
}

/* Integers of all 2^64 values have no field beside NULL's: their halves have. */
static bool needs_halves(const struct rql_store_column *c)
{
	return c->kind == RQL_STORE_INTEGER && !rql_form_bits(c) && c->least >= INT64_MIN && c->greatest <= INT64_MAX &&
	       c->least <= c->greatest;
}

/* The column behind becomes the lower half's. */
static void add_halves(struct binding *b, uint32_t upper)
{
	const uint32_t lower = b->count++;
	const bool nullable = b->columns[upper].nullable;
	struct rql_form_column halves[2] = {b->columns[upper]};
	(void)rql_form_halve(b->columns[upper].of.least, b->columns[upper].of.greatest, 0, halves);
	halves[0].of.low = 0;
	for (uint32_t h = 0; h < 2; h++) {
		halves[h].nullable = nullable;
		b->columns[h ? lower : upper] = halves[h];
	}
	b->outputs[upper].type = b->columns[upper].of.type;
	b->outputs[lower] = b->outputs[upper];
	b->outputs[upper].half = RQL_HALF_UPPER;
	b->outputs[lower].half = RQL_HALF_LOWER;
}

/* filter: as an aggregate's. What it does not let through is NULL in a column of its own. */
static rql_status need_column(struct binding *b, const struct rql_source *source, uint32_t filter, uint32_t *out)
{
	const char *why;
	for (*out = 1; *out < b->count; ++*out)
		if (b->outputs[*out].filter == filter && same_source(&b->outputs[*out].source, source))
			return RQL_OK;
	if ((why = rql_request_describe(b->request, source, &b->columns[*out])))
		return refuse(b, why);
	b->outputs[*out] = (struct rql_output){.source = *source, .type = b->columns[*out].of.type, .filter = filter};
	b->columns[*out].nullable |= filter != 0;
	b->count++;
	if (needs_halves(&b->columns[*out].of))
		add_halves(b, *out);
	return RQL_OK;
}

/* A sum of fields, one a row, takes more than 64 bits at most. */
static bool is_wide_sum(const struct binding *b, const struct rql_form_column *column)
{
	const rql_uint128 fields = (rql_uint128)(column->of.greatest - column->of.least) + 1;
	return column->of.kind == RQL_STORE_INTEGER && fields * b->request->snapshot->rows > UINT64_MAX;
}

static rql_status need_state(struct binding *b, const struct rql_group_state *wanted, uint32_t *out)
{
	struct rql_group_shape *shape = b->shape;
	for (*out = 0; *out < shape->state_count; ++*out) {
		struct rql_group_state *s = &shape->states[*out];
		const bool apart = s->kind == RQL_GROUP_BY_REAL_FIELDS && s->sum != wanted->sum;
		if (s->kind != wanted->kind || s->column != wanted->column || apart)
			continue;
		s->sum |= wanted->sum;
		s->wide |= wanted->wide;
		s->min |= wanted->min;
		s->max |= wanted->max;
		return RQL_OK;
	}
	if (shape->state_count == RQL_GROUP_STATES)
		return refuse(b, "more than 8 states of aggregates");
	shape->states[shape->state_count++] = *wanted;
	return RQL_OK;
}

static rql_status bind_agg(struct binding *b, const struct rql_agg *agg, struct rql_group_agg *out,
                           struct rql_groups_value *value)
{
	struct rql_group_state state = {.kind = RQL_GROUP_BY_FIELDS};
	*out = (struct rql_group_agg){.kind = agg->kind, .value = RQL_NONE, .present = RQL_NONE, .lower = RQL_NONE};
	*value = (struct rql_groups_value){.kind = RQL_MEASURE_INTEGER, .state = RQL_NONE, .valid = RQL_NONE, .counts = true};
	const bool every_row = agg->kind == RQL_AGG_COUNT_STAR;
	if (every_row && !agg->filter)
		return RQL_OK;
	/* Rows that a filter lets through are those of which it has a value. */
	const struct rql_source truth = {.kind = RQL_SOURCE_PROGRAM, .index = agg->filter - 1};
	RQL_TRY(need_column(b, every_row ? &truth : &agg->source, agg->filter, &state.column));
	const struct rql_form_column *column = &b->columns[state.column];
	const bool real = column->of.kind == RQL_STORE_REAL, coded = column->of.kind == RQL_STORE_CODED;
	if (column->nullable) {
		const struct rql_group_state present = {.kind = RQL_GROUP_BY_PRESENT, .column = state.column, .sum = true};
		RQL_TRY(need_state(b, &present, &out->present));
	}
	if (every_row || agg->kind == RQL_AGG_COUNT)
		return RQL_OK;
	value->counts = false;
	value->valid = out->present;
	value->kind = real ? RQL_MEASURE_REAL : coded ? RQL_MEASURE_CODE : RQL_MEASURE_INTEGER;
	out->before = coded ? -1 : column->of.least - 1;
	state.kind = real ? RQL_GROUP_BY_REAL_FIELDS : RQL_GROUP_BY_FIELDS;
	state.sum = agg->kind == RQL_AGG_SUM;
	state.min = agg->kind == RQL_AGG_MIN;
	state.max = agg->kind == RQL_AGG_MAX;
	state.wide = state.sum && is_wide_sum(b, column);
	RQL_TRY(need_state(b, &state, &out->value));
	if (b->outputs[state.column].half != RQL_HALF_UPPER)
		return RQL_OK;
	if (!state.sum)
		return refuse(b, "an extreme of values in a range of 2^64");
	const struct rql_group_state lower = {.kind = RQL_GROUP_BY_FIELDS, .column = state.column + 1, .sum = true};
	return need_state(b, &lower, &out->lower);
}

/* ---- the whole ---- */

static void lay_states(struct rql_group_shape *shape)
{
	uint64_t at = 8 + shape->key_bits / 8;
	for (uint32_t s = 0; s < shape->state_count; s++) {
		struct rql_group_state *state = &shape->states[s];
		state->sum_at = at;
		at += state->sum ? state->wide ? 16 : 8 : 0;
		state->min_at = at;
		at += state->min ? 8 : 0;
		state->max_at = at;
		at += state->max ? 8 : 0;
	}
	shape->group_bytes = at;
}

static rql_status make_form(struct binding *b)
{
	const struct rql_form_spec spec = {.rows = b->request->snapshot->rows,
	                                   .column_count = b->count,
	                                   .columns = b->columns,
	                                   .source_count = 1,
	                                   .sources = &b->request->snapshot};
	RQL_TRY(rql_form_new(&spec, &b->shape->form, b->err));
	b->shape->key_bits = rql_form_bits(&b->shape->form->columns[0]);
	return RQL_OK;
}

rql_status rql_group_bind(const struct rql_request *request, struct rql_arena *arena, struct rql_group_shape *shape,
                          struct rql_request *rows, struct rql_error *err)
{
	struct binding b = {.request = request,
	                    .arena = arena,
	                    .shape = shape,
	                    .columns = RQL_NEW_ARRAY(arena, struct rql_form_column, 2 * request->agg_count + 1u),
	                    .outputs = RQL_NEW_ARRAY(arena, struct rql_output, 2 * request->agg_count + 1u),
	                    .err = err};
	*shape = (struct rql_group_shape){
		.layout = {.key_count = request->group_count,
	               .value_count = request->agg_count,
	               .keys = RQL_NEW_ARRAY(arena, struct rql_groups_key, request->group_count + 1u),
	               .values = RQL_NEW_ARRAY(arena, struct rql_groups_value, request->agg_count + 1u)},
		.aggs = RQL_NEW_ARRAY(arena, struct rql_group_agg, request->agg_count + 1u)};
	if (!b.columns || !b.outputs || !shape->layout.keys || !shape->layout.values || !shape->aggs)
		return rql_error_memory(b.err, 0, "a query's groups");
	if (!request->group_count && request->wants == RQL_PORT_COLUMNS)
		return refuse(&b, "there is no key to group by");
	shape->layout.scalar = !request->group_count;
	if (request->keyed)
		return refuse(&b, "it is a map that is to be built, not groups");
	if (request->snapshot->rows > RQL_RELATION_ROWS - RQL_FORM_ROWS)
		return refuse(&b, "there may be 2^32 rows or more");
	RQL_TRY(bind_key(&b));
	for (uint32_t a = 0; a < request->agg_count; a++)
		RQL_TRY(bind_agg(&b, &request->aggs[a], &shape->aggs[a], &shape->layout.values[a]));
	RQL_TRY(make_form(&b));
	lay_states(shape);
	if (request->wants == RQL_PORT_COLUMNS)
		RQL_TRY(rql_group_bind_outputs(request, arena, shape, err));
	*rows = *request;
	rows->wants = RQL_PORT_COLUMNS;
	rows->gives = shape->form;
	rows->group_count = rows->agg_count = rows->group_output_count = 0;
	rows->group_outputs = NULL;
	rows->wanted = (struct rql_wanted_groups){0};
	rows->output_count = b.count;
	rows->outputs = b.outputs;
	rows->limit = UINT64_MAX;
	return RQL_OK;
}
