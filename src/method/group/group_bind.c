/* A request for groups becomes one for rows of a key and values, and states over these columns. */
#include "method/group/group.h"

#include <math.h>

#include "column/form.h"
#include "util/strbuf.h"

#define NUMBERS_MOST ((rql_int128)1 << 62)
#define SHARE 2.0 /* groups that may share what is hashed of their keys: a round more for each */

struct binding {
	const struct rql_request *request;
	struct rql_arena *arena;
	struct rql_group_shape *shape;
	struct rql_form_column *columns; /* of the form */
	struct rql_output *outputs;
	uint32_t count; /* of both */
	uint32_t keys;  /* of these, which come first */
	bool apart;     /* keys that make no number together are columns of their own */
	uint32_t states; /* at most */
	struct rql_error *err;
};

static rql_status refuse(const struct binding *b, const char *why)
{
	return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED, "grouped by partitions: %s", why);
}

/* ---- the key ---- */

/* A real: equal ones have one field, which is the key. Of groups that are handed on it becomes the key's code again
 * (group_answer.c); what a group that stays shows is an aggregate (plan/join/join_groups.c). */
static rql_status bind_real(struct binding *b, uint32_t g, uint32_t column)
{
	const struct rql_group_key *key = &b->request->groups[g];
	const uint64_t codes = key->wide_count ? key->wide_count : key->key_count;
	const char *why = rql_request_describe(b->request, &key->source, &b->columns[column]);
	if (why)
		return refuse(b, why);
	b->shape->layout.keys[g] = (struct rql_groups_key){.stride = 1, .key_count = codes, .wide = key->wide_count != 0};
	b->shape->reals[g] = (struct rql_group_real){.is_real = true, .least = (uint64_t)key->least};
	b->columns[column].nullable = true;
	b->outputs[column] =
		(struct rql_output){.source = key->source, .type = b->columns[column].of.type, .canonical = true};
	return RQL_OK;
}

static rql_status bind_real_alone(struct binding *b)
{
	if (b->request->group_count > 1)
		return refuse(b, "a key is a real number, beside others");
	RQL_TRY(bind_real(b, 0, 0));
	b->shape->numbers = b->shape->layout.keys[0].key_count;
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

/* The key alone, as a column that begins at 0: NULL is one of its codes. */
static void lay_key(const struct binding *b, const struct rql_group_key *from, struct rql_group_key *to)
{
	*to = *from;
	if (is_coded(b->request, &to->source)) /* NULL is one of the codes: the number is never NULL */
		to->null_key = 0;
}

static void number_column(struct binding *b, uint32_t column)
{
	const struct rql_type type = rql_type_simple(RQL_TYPE_BIGINT);
	b->columns[column] =
		(struct rql_form_column){.of = {.name = "key", .type = type, .kind = RQL_STORE_INTEGER}, .nullable = true};
	b->outputs[column] = (struct rql_output){.type = type};
}

static rql_status bind_number(struct binding *b, struct rql_group_key *keys)
{
	const struct rql_request *r = b->request;
	struct rql_group_shape *shape = b->shape;
	rql_int128 numbers = 1;
	number_column(b, 0);
	for (uint32_t g = r->group_count; g-- > 0;) {
		if (r->groups[g].real)
			return bind_real_alone(b);
		if (r->groups[g].wide_count)
			return bind_wide(b, &r->groups[g]);
		shape->layout.keys[g] = (struct rql_groups_key){.stride = (uint64_t)numbers, .key_count = r->groups[g].key_count};
		numbers *= r->groups[g].key_count;
		if (numbers > NUMBERS_MOST)
			return refuse(b, "the keys have more than 2^62 combinations");
		lay_key(b, &r->groups[g], &keys[g]);
	}
	if (r->group_count > 1 && !(shape->says = rql_arena_printf(b->arena, "%u keys hashed as one number; ", r->group_count)))
		return rql_error_memory(b->err, 0, "a query's groups");
	shape->numbers = (uint64_t)numbers;
	b->columns[0].of.greatest = numbers - 1;
	b->outputs[0].part_count = r->group_count;
	b->outputs[0].parts = keys;
	return RQL_OK;
}

/* ---- keys apart ---- */

/* Do the keys make one number, as no real does, or is there one alone? */
static bool is_number(const struct rql_request *r)
{
	rql_int128 numbers = 1;
	bool wide = false, real = false;
	for (uint32_t g = 0; g < r->group_count; g++) {
		real |= r->groups[g].real;
		wide |= r->groups[g].wide_count != 0;
		numbers = numbers > NUMBERS_MOST ? numbers : numbers * (r->groups[g].wide_count ? 1 : r->groups[g].key_count);
	}
	return r->group_count < 2 || (!wide && !real && numbers <= NUMBERS_MOST);
}

/* How many values a key has, NULL's code among them: a column's as its store tells, at most its codes. */
static double values_of(const struct rql_request *r, const struct rql_group_key *key)
{
	const double codes = key->wide_count ? (double)key->wide_count : (double)key->key_count;
	if (key->source.kind != RQL_SOURCE_COLUMN)
		return fmin(codes, (double)r->snapshot->rows);
	const struct rql_store_kernels *kernels = rql_store_kernels_for(RQL_SIMD_PORTABLE);
	return fmin(codes, rql_store_distinct(kernels, r->snapshot, key->source.index) + 1);
}

static const char *name_of(const struct binding *b, uint32_t g)
{
	const struct rql_source *source = &b->request->groups[g].source;
	return source->kind == RQL_SOURCE_COLUMN ? b->request->snapshot->columns[source->index].name
	                                         : rql_arena_printf(b->arena, "key %u", g + 1);
}

/* The key's own column of the form. */
static rql_status bind_apart_key(struct binding *b, uint32_t g, uint32_t column, struct rql_group_key *part)
{
	const struct rql_group_key *key = &b->request->groups[g];
	struct rql_groups_key *to = &b->shape->layout.keys[g];
	if (key->real)
		return bind_real(b, g, column);
	number_column(b, column);
	if (key->wide_count) {
		if ((rql_int128)key->wide_count > NUMBERS_MOST || key->source.kind == RQL_SOURCE_LOOKUP)
			return refuse(b, "a key has more than 2^62 values");
		*to = (struct rql_groups_key){.stride = 1, .key_count = key->wide_count, .wide = true};
		b->columns[column].of.least = key->least;
		b->columns[column].of.greatest = (rql_int128)key->least + (rql_int128)key->wide_count - 1;
		b->outputs[column].source = key->source;
		return RQL_OK;
	}
	*to = (struct rql_groups_key){.stride = 1, .key_count = key->key_count};
	lay_key(b, key, part);
	b->columns[column].of.greatest = (rql_int128)key->key_count - 1;
	b->outputs[column].part_count = 1;
	b->outputs[column].parts = part;
	return RQL_OK;
}

/* Those with the most values choose the pixel (papers/004, 4.2.2): as few of them as have about as many combinations as there
 * are groups. The paper takes one: where keys do not depend on each other its values are too few, and all groups that share
 * one meet at a pixel, round after round. */
static bool choose_hashed(struct binding *b, const uint32_t *order, const double *values)
{
	struct rql_group_shape *shape = b->shape;
	const double rows = (double)b->request->snapshot->rows;
	struct rql_strbuf text = {0};
	double combinations = 1;
	shape->distinct = 1;
	for (uint32_t k = 0; k < b->keys; k++)
		shape->distinct *= values[order[k]];
	const double groups = shape->distinct * -expm1(-rows / shape->distinct);
	rql_strbuf_printf(&text, "%u keys compared, hashed by", b->keys);
	for (uint32_t k = 0; k < b->keys && (!k || combinations * SHARE < groups); k++) {
		shape->hashed = k;
		combinations *= values[order[k]];
		rql_strbuf_printf(&text, "%s %s (about %.0f values)", k ? "," : "", name_of(b, order[k]), values[order[k]]);
	}
	rql_strbuf_put(&text, "; ");
	shape->says = rql_arena_strdup(b->arena, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	return shape->says != NULL;
}

static rql_status bind_apart(struct binding *b, struct rql_group_key *parts)
{
	const uint32_t count = b->request->group_count;
	uint32_t order[RQL_GROUP_MORE_KEYS + 1], *column_of_key = RQL_NEW_ARRAY(b->arena, uint32_t, count);
	double values[RQL_GROUP_MORE_KEYS + 1];
	if (count > RQL_GROUP_MORE_KEYS + 1)
		return refuse(b, "more than 7 keys that make no number of 62 bits");
	if (!column_of_key)
		return rql_error_memory(b->err, 0, "a query's groups");
	for (uint32_t g = 0; g < count; g++) {
		uint32_t at = g;
		values[g] = values_of(b->request, &b->request->groups[g]);
		for (; at && values[order[at - 1]] < values[g]; at--)
			order[at] = order[at - 1];
		order[at] = g;
	}
	b->count = b->keys = count;
	for (uint32_t k = 0; k < count; k++) {
		column_of_key[order[k]] = k;
		RQL_TRY(bind_apart_key(b, order[k], k, &parts[order[k]]));
	}
	b->shape->column_of_key = column_of_key;
	b->shape->more_count = count - 1;
	b->shape->numbers = UINT64_MAX;
	return choose_hashed(b, order, values) ? RQL_OK : rql_error_memory(b->err, 0, "a query's groups");
}

static rql_status bind_key(struct binding *b)
{
	struct rql_group_key *keys = RQL_NEW_ARRAY(b->arena, struct rql_group_key, b->request->group_count + 1u);
	if (!keys)
		return rql_error_memory(b->err, 0, "a query's groups");
	b->count = b->keys = 1;
	b->shape->says = "";
	return b->apart && !is_number(b->request) ? bind_apart(b, keys) : bind_number(b, keys);
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
	for (*out = b->keys; *out < b->count; ++*out)
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
	if (shape->state_count == b->states)
		return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED, "grouped by partitions: more than %u states of aggregates",
		                     b->states);
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
	/* Without a value the least one is what all are greater than, and there is nothing before it that anybody reads. */
	if (coded || __builtin_sub_overflow(column->of.least, (rql_int128)1, &out->before))
		out->before = -1;
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
	for (uint32_t k = 0; k < shape->more_count; k++) {
		shape->more[k].at = at;
		at += shape->more[k].bits / 8;
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
	const struct rql_store_column *columns = b->shape->form->columns;
	uint32_t words = (b->shape->key_bits = rql_form_bits(&columns[0])) / 32;
	for (uint32_t k = 0; k < b->shape->more_count; k++)
		words += (b->shape->more[k].bits = rql_form_bits(&columns[k + 1])) / 32;
	return words > RQL_GROUP_MORE_KEYS + 1 ? refuse(b, "keys of more than 7 words are compared apart") : RQL_OK;
}

rql_status rql_group_bind(const struct rql_request *request, struct rql_group_takes takes, struct rql_arena *arena,
                          struct rql_group_shape *shape, struct rql_request *rows, struct rql_error *err)
{
	const uint32_t most = 2 * request->agg_count + request->group_count + 1u;
	struct binding b = {.request = request,
	                    .arena = arena,
	                    .shape = shape,
	                    .apart = takes.apart && request->wants == RQL_PORT_GROUPS,
	                    .states = takes.states,
	                    .columns = RQL_NEW_ARRAY(arena, struct rql_form_column, most),
	                    .outputs = RQL_NEW_ARRAY(arena, struct rql_output, most),
	                    .err = err};
	*shape = (struct rql_group_shape){
		.layout = {.key_count = request->group_count,
	               .value_count = request->agg_count,
	               .keys = RQL_NEW_ARRAY(arena, struct rql_groups_key, request->group_count + 1u),
	               .values = RQL_NEW_ARRAY(arena, struct rql_groups_value, request->agg_count + 1u)},
		.reals = RQL_NEW_ARRAY(arena, struct rql_group_real, request->group_count + 1u),
		.aggs = RQL_NEW_ARRAY(arena, struct rql_group_agg, request->agg_count + 1u)};
	if (!b.columns || !b.outputs || !shape->layout.keys || !shape->layout.values || !shape->reals || !shape->aggs)
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
