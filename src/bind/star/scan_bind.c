/* Binding a star to a store: programs and their inputs, maps to join with, aggregates and their slots. scan_keys.c has
 * the group keys, scan_tests.c the conditions. */
#include "bind/star/scan_bind.h"

#include <string.h>
#include "bind/relation/codes.h"
#include "bind/relation/codes_values.h"
#include "column/form.h"

/* A dictionary of more entries is not evaluated by the host where the program can compute instead. */
#define MAX_EVALUATED (1u << 17)
/* Numbers of program inputs: columns of the store, and payloads of subtrees. */
#define PAYLOAD_INPUT 0x80000000u

/* ---- columns ---- */

uint32_t rql_scan_find_column(const struct rql_store_snapshot *snapshot, const uint32_t *column_ids,
                              const struct rql_expr *column)
{
	for (uint32_t i = 0; i < snapshot->column_count; i++)
		if (column_ids[i] == column->index && column->index != UINT32_MAX)
			return snapshot->columns[i].low && column->type.id != RQL_TYPE_BIGINT ? RQL_NONE : i;
	return RQL_NONE;
}

struct only {
	const struct rql_expr *column;
	bool several;
};

static bool note_only(const struct rql_expr *leaf, void *state)
{
	struct only *o = state;
	o->several |= leaf->kind == RQL_EXPR_REF || (o->column && !rql_expr_equal(o->column, leaf));
	o->column = leaf;
	return !o->several;
}

const struct rql_expr *rql_scan_only_column(const struct rql_expr *e)
{
	struct only o = {0};
	if (e->kind == RQL_EXPR_COLUMN)
		return e;
	rql_expr_leaves(e, note_only, &o);
	return o.several ? NULL : o.column;
}

static struct rql_expr *to_first_ref(struct rql_arena *arena, const struct rql_expr *e, void *state)
{
	(void)state;
	if (e->kind != RQL_EXPR_COLUMN)
		return NULL;
	struct rql_expr *ref = rql_expr_new(arena, RQL_EXPR_REF, e->type, 0);
	if (ref)
		ref->alias = e->alias;
	return ref;
}

struct rql_expr *rql_scan_over_ref(struct rql_arena *arena, const struct rql_expr *e)
{
	return rql_expr_transform(arena, e, to_first_ref, NULL);
}

/* ---- programs ---- */

/* A cast that changes nothing: how a coded column as a whole is asked for its values. */
static const struct rql_expr *bare(const struct rql_expr *e)
{
	while (e->kind == RQL_EXPR_CAST && rql_type_equal(e->type, e->children[0]->type))
		e = e->children[0];
	return e;
}

static struct rql_compile_column payload_input(const struct rql_scan_binding *b, const struct rql_expr *e)
{
	uint32_t subtree = RQL_STAR_REF_SUBTREE(e->index), count = b->dims[subtree].payload_count;
	return (struct rql_compile_column){.input = {.column = PAYLOAD_INPUT | subtree,
	                                             .type = rql_type_simple(RQL_TYPE_INTEGER),
	                                             .kind = RQL_LANE_I32,
	                                             .bounds = {0, count ? count - 1 : 0}},
	                                   .coded = true};
}

static bool compile_column(void *state, const struct rql_expr *e, struct rql_compile_column *out)
{
	const struct rql_scan_binding *b = state;
	if (e->kind == RQL_EXPR_REF) {
		*out = payload_input(b, e);
		return true;
	}
	uint32_t column = rql_scan_find_column(b->snapshot, b->column_ids, e);
	if (column == RQL_NONE)
		return false;
	const struct rql_store_column *stored = &b->snapshot->columns[column];
	struct rql_input_spec spec = {.column = column, .type = stored->type, .nullable = stored->nulls > 0};
	if (stored->kind == RQL_STORE_CODED) {
		uint32_t count = stored->dimension->count;
		spec.kind = RQL_LANE_I32;
		spec.bounds = (struct rql_bounds){0, count ? count - 1 : 0};
		spec.nullable |= stored->dimension->has_null;
		*out = (struct rql_compile_column){.input = spec, .coded = true};
		return true;
	}
	spec.bounds = (struct rql_bounds){stored->least, stored->greatest};
	const bool bits = stored->type.id == RQL_TYPE_UHUGEINT;
	if (bits) {
		spec.type = rql_type_simple(RQL_TYPE_HUGEINT);
		if (stored->wide)
			spec.bounds = (struct rql_bounds){1, 0};
	}
	if (!rql_lane_kind_of(spec.type, spec.bounds, &spec.kind))
		return false;
	*out = (struct rql_compile_column){.input = spec, .span = rql_scan_span(stored), .bits = bits};
	return true;
}

static bool has_text_numbers(const struct rql_scan_binding *b, const struct rql_expr *e)
{
	bool has = rql_scan_text_numbers(b, e) != NULL;
	for (uint32_t i = 0; i < e->child_count && !has; i++)
		has = has_text_numbers(b, e->children[i]);
	return has;
}

static rql_status compile_table(void *state, const struct rql_expr *e, const struct rql_expr *column,
                                struct rql_compile_table *out, struct rql_error *err)
{
	struct rql_scan_binding *b = state;
	struct rql_column *all;
	bool plain = rql_expr_equal(bare(e), column);
	const struct rql_text_numbers *numbers = rql_scan_text_numbers(b, e);
	if (numbers) {
		*out = (struct rql_compile_table){numbers->values, numbers->count, rql_value_null(e->type), false};
		return RQL_OK;
	}
	if (b->text_numbers && has_text_numbers(b, e)) /* its parts have tables */
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "places of texts");
	if (column->kind == RQL_EXPR_REF) {
		const struct rql_scan_dim *dim = &b->dims[RQL_STAR_REF_SUBTREE(column->index)];
		if (!plain)
			return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "an expression over a payload");
		*out = (struct rql_compile_table){.values = &dim->values[RQL_STAR_REF_OUTPUT(column->index)],
		                                  .count = dim->payload_count,
		                                  .null_value = rql_value_null(e->type),
		                                  .lasts = true}; /* the leaf keeps the map */
		return RQL_OK;
	}
	uint32_t index = rql_scan_find_column(b->snapshot, b->column_ids, column);
	const struct rql_dimension *d = b->snapshot->columns[index].dimension;
	if (!d && !(d = rql_scan_days(b, index)))
		return rql_error_memory(err, 0, "a plan");
	*out = (struct rql_compile_table){&d->values, d->count, rql_value_null(e->type), false};
	if (plain)
		return RQL_OK;
	bool shared, text = d->type.id == RQL_TYPE_VARCHAR || d->type.id == RQL_TYPE_BLOB || d->type.id == RQL_TYPE_ENUM ||
	            d->type.id == RQL_TYPE_UUID;
	if (d->count > MAX_EVALUATED && !text)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a dictionary of %u values", d->count);
	struct rql_expr *over_ref = rql_scan_over_ref(b->arena, e);
	if (!over_ref || !(all = RQL_NEW(b->arena, struct rql_column)))
		return rql_error_memory(err, 0, "a plan");
	RQL_TRY(rql_codes_values(b->ctx, b->arena, d, over_ref, all, &shared, err)); /* copied while the plan is made */
	out->values = all;
	if (d->has_null)
		out->null_value = rql_column_get(all, d->count - 1);
	return RQL_OK;
}

/* Starts b->compile. */
static void start_compile(struct rql_scan_binding *b)
{
	b->compile =
		(struct rql_compile_context){.arena = b->arena, .column = compile_column, .table = compile_table, .state = b};
}

rql_status rql_scan_add_program(struct rql_scan_binding *b, const struct rql_program *program, uint32_t *out)
{
	struct rql_source *inputs = RQL_NEW_ARRAY(b->arena, struct rql_source, program->input_count);
	if (!inputs)
		return rql_error_memory(b->err, 0, "a plan");
	for (uint32_t i = 0; i < program->input_count; i++) {
		uint32_t number = program->inputs[i].column;
		inputs[i] = (struct rql_source){.kind = number & PAYLOAD_INPUT ? RQL_SOURCE_LOOKUP : RQL_SOURCE_COLUMN,
		                                .index = number & ~PAYLOAD_INPUT};
	}
	b->programs[b->program_count] = (struct rql_row_program){program, inputs};
	*out = b->program_count++;
	return RQL_OK;
}

/* The program that groups and aggregates read is the last one: its number is known only at the end. */
rql_status rql_scan_add_answer(struct rql_scan_binding *b, const struct rql_expr *e, struct rql_source *out)
{
	uint32_t r = 0;
	if (!(e = rql_scan_over_halves(b, e)))
		return rql_error_memory(b->err, 0, "a plan");
	while (r < b->answers.count && !rql_expr_equal(b->answers.items[r], e))
		r++;
	if (r == b->answers.count && !rql_expr_list_add(b->arena, &b->answers, (struct rql_expr *)(uintptr_t)e))
		return rql_error_memory(b->err, 0, "a plan");
	*out = (struct rql_source){.kind = RQL_SOURCE_PROGRAM, .result = r};
	return RQL_OK;
}

const struct rql_expr *rql_scan_as_value(struct rql_scan_binding *b, const struct rql_expr *e)
{
	if (e->kind != RQL_EXPR_COLUMN && e->kind != RQL_EXPR_REF)
		return e;
	struct rql_expr *cast = rql_expr_new(b->arena, RQL_EXPR_CAST, e->type, 1);
	if (cast)
		cast->children[0] = (struct rql_expr *)(uintptr_t)e;
	return cast;
}

rql_status rql_scan_compile_answers(struct rql_scan_binding *b)
{
	uint32_t n = b->answers.count, index = 0;
	const struct rql_expr **exprs = RQL_NEW_ARRAY(b->arena, const struct rql_expr *, n);
	struct rql_program *program;
	if (!exprs)
		return rql_error_memory(b->err, 0, "a plan");
	if (!n)
		return RQL_OK;
	for (uint32_t i = 0; i < n; i++) {
		exprs[i] = rql_scan_as_value(b, b->answers.items[i]);
		if (!exprs[i])
			return rql_error_memory(b->err, 0, "a plan");
	}
	RQL_TRY(rql_compile_expressions(&b->compile, exprs, n, &program, b->err));
	RQL_TRY(rql_scan_add_program(b, program, &index));
	for (uint32_t g = 0; g < b->group_count; g++)
		if (b->groups[g].source.kind == RQL_SOURCE_PROGRAM)
			b->groups[g].source.index = index;
	for (uint32_t a = 0; a < b->agg_count; a++)
		if (b->aggs[a].source.kind == RQL_SOURCE_PROGRAM)
			b->aggs[a].source.index = index;
	return rql_scan_finish_keys(b, program);
}

/* ---- aggregates ---- */

rql_status rql_scan_refuse_type(struct rql_scan_binding *b, const char *before, const struct rql_expr *e)
{
	const char *why = rql_arena_printf(b->arena, " has the type %s, which RayQL does not hold", rql_type_id_name(e->type.id));
	return why ? rql_expr_refuse(b->err, before, e, why) : rql_error_memory(b->err, 0, "a plan");
}

static bool same_source(const struct rql_source *x, const struct rql_source *y)
{
	return x->kind == y->kind && x->index == y->index && x->result == y->result &&
	       x->value_of_payload == y->value_of_payload && x->valid_of_payload == y->valid_of_payload;
}

static rql_status need(struct rql_scan_binding *b, enum rql_agg_kind kind, const struct rql_source *source,
                       uint32_t filter, uint32_t *out)
{
	struct rql_agg agg = {.kind = kind, .filter = filter == RQL_NONE ? 0 : filter + 1};
	if (source)
		agg.source = *source;
	for (uint32_t a = 0; a < b->agg_count; a++) {
		const struct rql_agg *other = &b->aggs[a];
		if (other->kind == kind && other->filter == agg.filter && same_source(&other->source, &agg.source)) {
			*out = a;
			return RQL_OK;
		}
	}
	b->aggs[b->agg_count] = agg;
	*out = b->agg_count++;
	return RQL_OK;
}

static bool is_exact(struct rql_type type)
{
	return (rql_type_is_integer(type) && type.id != RQL_TYPE_UHUGEINT) || type.id == RQL_TYPE_DECIMAL;
}

/* Codes of an extreme's values: they ascend with the values. */
static rql_status extreme_of_payload(struct rql_scan_binding *b, const struct rql_expr *e, struct rql_source *out,
                                     struct rql_slot *slot)
{
	struct rql_slot key = {.type = e->type};
	struct rql_expr *one[] = {(struct rql_expr *)(uintptr_t)e};
	uint32_t before = b->group_count;
	RQL_TRY(rql_scan_bind_keys(b, one, 1, &key));
	const struct rql_group_key *made = &b->groups[--b->group_count];
	uint32_t n = b->dims[made->source.index].payload_count;
	int64_t *values = RQL_NEW_ARRAY(b->arena, int64_t, n + 1u);
	uint64_t *valid = RQL_NEW_ARRAY(b->arena, uint64_t, n / 64 + 1u);
	if (!values || !valid)
		return rql_error_memory(b->err, 0, "a plan");
	if (!key.ordered || b->group_count != before)
		return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED,
		                     "an extreme of a column of a dimension with too many values");
	for (uint32_t i = 0; i < n; i++) {
		values[i] = made->key_of_code[i];
		if (rql_column_valid(key.values, made->key_of_code[i]))
			rql_bit_set(valid, i);
	}
	*out = (struct rql_source){
		.kind = RQL_SOURCE_LOOKUP, .index = made->source.index, .value_of_payload = values, .valid_of_payload = valid};
	slot->values = key.values;
	return RQL_OK;
}

/* Numbers of more than 64 bits: their halves. *two: are they such? */
static rql_status sources_of_halves(struct rql_scan_binding *b, const struct rql_expr *e, struct rql_source out[2],
                                    bool *two)
{
	const struct rql_expr *halves[2];
	*two = rql_scan_halve(b, e, halves);
	for (uint32_t h = 0; h < 2 && *two; h++) {
		const bool column = halves[h] && halves[h]->kind == RQL_EXPR_COLUMN;
		if (!halves[h])
			return rql_error_memory(b->err, 0, "a plan");
		if (column)
			out[h] = (struct rql_source){.kind = RQL_SOURCE_COLUMN,
			                             .index = rql_scan_find_column(b->snapshot, b->column_ids, halves[h])};
		else
			RQL_TRY(rql_scan_add_answer(b, halves[h], &out[h]));
	}
	return RQL_OK;
}

/* What an aggregate reads: of halves the upper one. values: codes will not do (sums). */
static rql_status source_of(struct rql_scan_binding *b, const struct rql_expr *e, bool values, struct rql_source *out,
                            struct rql_slot *slot)
{
	struct rql_source halves[2];
	bool two;
	RQL_TRY(sources_of_halves(b, e, halves, &two));
	if (two) {
		*out = halves[0];
		return RQL_OK;
	}
	uint32_t column = e->kind == RQL_EXPR_COLUMN ? rql_scan_find_column(b->snapshot, b->column_ids, e) : RQL_NONE;
	const struct rql_store_column *stored = column == RQL_NONE ? NULL : &b->snapshot->columns[column];
	if (stored && stored->type.id == RQL_TYPE_UHUGEINT && stored->kind == RQL_STORE_INTEGER)
		return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED, "column %s is a UHUGEINT", stored->name);
	if (stored && stored->kind != RQL_STORE_CODED) {
		*out = (struct rql_source){.kind = RQL_SOURCE_COLUMN, .index = column};
		slot->real = stored->kind == RQL_STORE_REAL;
		return RQL_OK;
	}
	if (stored && !values) {
		*out = (struct rql_source){.kind = RQL_SOURCE_COLUMN, .index = column};
		slot->values = &stored->dimension->values;
		return RQL_OK;
	}
	bool number = is_exact(e->type) || e->type.id == RQL_TYPE_DOUBLE || e->type.id == RQL_TYPE_FLOAT;
	if (e->kind == RQL_EXPR_REF && !values && !number)
		return extreme_of_payload(b, e, out, slot);
	slot->real = e->type.id == RQL_TYPE_DOUBLE || e->type.id == RQL_TYPE_FLOAT;
	return rql_scan_add_answer(b, e, out);
}

/* Sums of both halves of e, or of its source alone. NULLs are the upper one's. */
static rql_status need_sums(struct rql_scan_binding *b, const struct rql_expr *e, const struct rql_source *source,
                            uint32_t filter, struct rql_slot *slot)
{
	struct rql_source halves[2];
	bool low;
	RQL_TRY(sources_of_halves(b, e, halves, &low));
	slot->terms = RQL_NEW_ARRAY(b->arena, struct rql_slot_term, 2);
	if (!slot->terms)
		return rql_error_memory(b->err, 0, "a plan");
	slot->term_count = low ? 2 : 1;
	slot->terms[0].coefficient = low ? (rql_int128)1 << RQL_FORM_LOW_BITS : 1;
	slot->terms[1].coefficient = 1;
	if (low)
		RQL_TRY(need(b, RQL_AGG_SUM, &halves[1], filter, &slot->terms[1].agg));
	return need(b, RQL_AGG_SUM, source, filter, &slot->terms[0].agg);
}

static rql_status sum_slot(struct rql_scan_binding *b, const struct rql_expr *agg, uint32_t filter,
                           struct rql_slot *slot)
{
	const struct rql_expr *arg = agg->children[0];
	struct rql_source source;
	bool average = !strcmp(agg->name, "avg");
	if (!is_exact(arg->type) && (arg->type.id != RQL_TYPE_DOUBLE || agg->type.id != RQL_TYPE_DOUBLE))
		return rql_expr_refuse(b->err, "", agg, " is a sum of values that are no numbers");
	if (average && agg->type.id != RQL_TYPE_DOUBLE)
		return rql_expr_refuse(b->err, "", agg, " is an average of values that are no numbers");
	slot->kind = average ? RQL_SLOT_AVG : RQL_SLOT_SUM;
	slot->scale = arg->type.id == RQL_TYPE_DECIMAL ? arg->type.scale : 0;
	slot->narrow = rql_type_bytes(arg->type) == 2;
	slot->average = agg->average;
	RQL_TRY(source_of(b, arg, true, &source, slot));
	if (average)
		RQL_TRY(need(b, RQL_AGG_COUNT, &source, filter, &slot->count));
	return need_sums(b, arg, &source, filter, slot);
}

/* An average whose values were added up and counted before: of their sums, their numbers, and a value of their type. */
static rql_status average_slot(struct rql_scan_binding *b, const struct rql_expr *agg, struct rql_slot *slot)
{
	const struct rql_type of = agg->children[2]->type;
	struct rql_source sum, count;
	slot->kind = RQL_SLOT_AVG;
	slot->scale = of.id == RQL_TYPE_DECIMAL ? of.scale : 0;
	slot->narrow = rql_type_bytes(of) == 2;
	slot->average = agg->average;
	RQL_TRY(source_of(b, agg->children[0], true, &sum, slot));
	RQL_TRY(source_of(b, agg->children[1], true, &count, slot));
	RQL_TRY(need(b, RQL_AGG_SUM, &count, RQL_NONE, &slot->count));
	return need_sums(b, agg->children[0], &sum, RQL_NONE, slot);
}

static rql_status extreme_slot(struct rql_scan_binding *b, const struct rql_expr *agg, uint32_t filter,
                               struct rql_slot *slot)
{
	struct rql_source source;
	if (!rql_type_equal(agg->type, agg->children[0]->type))
		return rql_expr_refuse(b->err, "", agg, " has another type than its argument");
	const struct rql_expr *halves[2];
	if (rql_scan_halve(b, agg->children[0], halves))
		return rql_expr_refuse(b->err, "", agg, " is an extreme of sums that may take more than 64 bits");
	slot->kind = RQL_SLOT_VALUE;
	slot->terms = RQL_NEW_ARRAY(b->arena, struct rql_slot_term, 1);
	if (!slot->terms)
		return rql_error_memory(b->err, 0, "a plan");
	RQL_TRY(source_of(b, agg->children[0], false, &source, slot));
	slot->term_count = 1;
	slot->terms[0].coefficient = 1;
	return need(b, agg->name[1] == 'i' ? RQL_AGG_MIN : RQL_AGG_MAX, &source, filter, &slot->terms[0].agg);
}

/* An extreme of halves: of upper ones that all of a group's rows have in common, and of the lower ones that are no NULL. */
static rql_status halves_slot(struct rql_scan_binding *b, const struct rql_expr *agg, uint32_t filter,
                              struct rql_slot *slot)
{
	const enum rql_agg_kind kind = agg->name[1] == 'i' ? RQL_AGG_MIN : RQL_AGG_MAX;
	slot->kind = RQL_SLOT_VALUE;
	slot->terms = RQL_NEW_ARRAY(b->arena, struct rql_slot_term, 2);
	if (!slot->terms)
		return rql_error_memory(b->err, 0, "a plan");
	slot->term_count = 2;
	for (uint32_t h = 0; h < 2; h++) {
		struct rql_source source;
		slot->terms[h].coefficient = h ? 1 : (rql_int128)1 << RQL_FORM_LOW_BITS;
		RQL_TRY(source_of(b, agg->children[h], true, &source, slot));
		RQL_TRY(need(b, kind, &source, filter, &slot->terms[h].agg));
	}
	return RQL_OK;
}

/* COUNT(DISTINCT x): the scan groups by x as well, and groups that differ only in it are put together afterwards. With a
 * FILTER it is the count of CASE WHEN condition THEN x END, for NULL is not counted. */
static rql_status distinct_slot(struct rql_scan_binding *b, const struct rql_expr *agg, struct rql_slot *slot)
{
	slot->kind = RQL_SLOT_KEY_DISTINCT;
	slot->of = agg->children[0];
	if (!agg->filter)
		return RQL_OK;
	struct rql_expr *choice = rql_expr_new(b->arena, RQL_EXPR_CASE, slot->of->type, 3);
	struct rql_expr *null = rql_expr_new(b->arena, RQL_EXPR_CONSTANT, slot->of->type, 0);
	if (!choice || !null)
		return rql_error_memory(b->err, 0, "a plan");
	null->value = rql_value_null(slot->of->type);
	choice->children[0] = agg->filter;
	choice->children[1] = slot->of;
	choice->children[2] = null;
	slot->of = choice;
	return RQL_OK;
}

/* Only which rows are NULL matters. */
static rql_status counted_source(struct rql_scan_binding *b, const struct rql_expr *e, struct rql_source *out,
                                 struct rql_slot *slot)
{
	if (e->kind != RQL_EXPR_REF)
		return source_of(b, e, false, out, slot);
	uint32_t subtree = RQL_STAR_REF_SUBTREE(e->index);
	*out = (struct rql_source){.kind = RQL_SOURCE_LOOKUP,
	                           .index = subtree,
	                           .valid_of_payload = b->dims[subtree].values[RQL_STAR_REF_OUTPUT(e->index)].validity};
	return RQL_OK;
}

static rql_status bind_agg(struct rql_scan_binding *b, const struct rql_expr *agg, struct rql_slot *slot)
{
	uint32_t filter = RQL_NONE;
	bool extreme = !strcmp(agg->name, "min") || !strcmp(agg->name, "max"), count = !strcmp(agg->name, "count");
	*slot = (struct rql_slot){.type = agg->type, .null_key = RQL_NONE};
	if (agg->order_count)
		return rql_expr_refuse(b->err, "", agg, " has an ORDER BY clause");
	if (count && agg->distinct && agg->child_count == 1)
		return distinct_slot(b, agg, slot);
	if (agg->distinct && !extreme)
		return rql_expr_refuse(b->err, "", agg, " is DISTINCT");
	if (agg->filter) {
		const struct rql_expr *over = rql_scan_over_halves(b, agg->filter);
		const struct rql_expr *condition = over ? rql_scan_as_value(b, over) : NULL;
		struct rql_program *program;
		if (!condition)
			return rql_error_memory(b->err, 0, "a plan");
		RQL_TRY(rql_compile_filter(&b->compile, &condition, 1, &program, b->err));
		RQL_TRY(rql_scan_add_program(b, program, &filter));
	}
	if (!strcmp(agg->name, "count_star")) {
		slot->kind = RQL_SLOT_COUNT;
		return need(b, RQL_AGG_COUNT_STAR, NULL, filter, &slot->count);
	}
	if (agg->child_count == 1 && !strcmp(agg->name, RQL_SUM_OF_COUNTS)) {
		struct rql_source source;
		slot->kind = RQL_SLOT_COUNT;
		RQL_TRY(source_of(b, agg->children[0], true, &source, slot));
		return need(b, RQL_AGG_SUM, &source, filter, &slot->count);
	}
	if (agg->child_count == 1 && extreme)
		return extreme_slot(b, agg, filter, slot);
	if (agg->child_count == 2 && extreme)
		return halves_slot(b, agg, filter, slot);
	if (agg->child_count == 1 && count) {
		struct rql_source source;
		slot->kind = RQL_SLOT_COUNT;
		RQL_TRY(counted_source(b, agg->children[0], &source, slot));
		slot->values = NULL;
		return need(b, RQL_AGG_COUNT, &source, filter, &slot->count);
	}
	if (agg->child_count == 1 && (!strcmp(agg->name, "sum") || !strcmp(agg->name, "avg")))
		return sum_slot(b, agg, filter, slot);
	if (agg->child_count == 3 && !strcmp(agg->name, "avg"))
		return average_slot(b, agg, slot);
	return rql_expr_refuse(b->err, "", agg, " is not among COUNT, SUM, AVG, MIN and MAX");
}

/* The hidden key of the DISTINCT aggregates: all of them must be of the same argument. */
static rql_status bind_hidden_key(struct rql_scan_binding *b, struct rql_slot *slots, uint32_t count)
{
	const struct rql_slot *made = NULL;
	for (uint32_t i = 0; i < count; i++) {
		struct rql_slot *slot = &slots[i], key;
		if (slot->kind != RQL_SLOT_KEY_DISTINCT)
			continue;
		if (made && !rql_expr_equal(made->of, slot->of))
			return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED, "two different columns are counted DISTINCT");
		if (!made) {
			uint32_t before = b->group_count;
			RQL_TRY(rql_scan_bind_keys(b, &slot->of, 1, &key));
			if (b->group_count == before)
				return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED,
				                     "what is counted DISTINCT follows from a group key");
			if (key.kind == RQL_SLOT_KEY_HALVES)
				return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED,
				                     "what is counted DISTINCT may take more than 64 bits");
			if (b->groups[key.key].real)
				return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED, "what is counted DISTINCT is a real number");
			b->hidden_key = true;
		} else {
			key = *made;
		}
		slot->key = key.key;
		slot->values = key.values;
		slot->least = key.least;
		slot->null_key = key.null_key;
		slot->wide = key.wide;
		slot->null_wide = key.null_wide;
		made = slot;
	}
	return RQL_OK;
}

/* DuckDB adds one value after the other in 128 bits, less the least of them, and says so when a partial sum leaves them:
 * which one does depends on the order, so there must be none. */
static rql_status check_sums(struct rql_scan_binding *b)
{
	for (uint32_t a = 0; a < b->agg_count; a++) {
		const struct rql_source *source = &b->aggs[a].source;
		struct rql_bounds bounds = {0, 0};
		if (b->aggs[a].kind != RQL_AGG_SUM)
			continue;
		if (source->kind == RQL_SOURCE_PROGRAM) {
			const struct rql_program_result *r = &b->programs[source->index].program->results[source->result];
			bounds = r->kind < RQL_LANE_F32 ? r->bounds : bounds;
		} else if (b->snapshot->columns[source->index].kind == RQL_STORE_INTEGER) {
			const struct rql_store_column *column = &b->snapshot->columns[source->index];
			bounds = (struct rql_bounds){column->least, column->greatest};
		}
		rql_int128 rows = (rql_int128)b->snapshot->rows, low, high;
		if (__builtin_mul_overflow(bounds.low, rows, &low) || __builtin_mul_overflow(bounds.high, rows, &high) ||
		    __builtin_sub_overflow(low, 1, &low))
			return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED,
			                     "a sum could leave 128 bits on the way, and the host would say so");
	}
	return RQL_OK;
}

/* ---- the whole ---- */

static rql_status allocate(struct rql_scan_binding *b)
{
	const struct rql_block *block = b->star->block;
	uint32_t aggs = block->agg_count, groups = block->group_count;
	b->programs = RQL_NEW_ARRAY(b->arena, struct rql_row_program, b->star->conjuncts.count + aggs + 2u);
	b->conjuncts =
		RQL_NEW_ARRAY(b->arena, struct rql_conjunct, 2 * b->star->conjuncts.count + b->star->subtree_count + 1u);
	b->tuples = RQL_NEW_ARRAY(b->arena, struct rql_value_tuples, b->star->conjuncts.count + b->star->subtree_count);
	b->tuples_of = RQL_NEW_ARRAY(b->arena, const struct rql_expr_tuples *, b->star->conjuncts.count);
	b->groups = RQL_NEW_ARRAY(b->arena, struct rql_group_key, 2 * groups + aggs + 2u);
	b->aggs = RQL_NEW_ARRAY(b->arena, struct rql_agg, 3 * aggs + 1u);
	b->slots = RQL_NEW_ARRAY(b->arena, struct rql_slot, groups + aggs + 1u);
	bool all = b->programs && b->conjuncts && b->tuples && b->tuples_of && b->groups && b->aggs && b->slots;
	return all ? RQL_OK : rql_error_memory(b->err, 0, "a plan");
}

static rql_status bind_joins(struct rql_scan_binding *b, struct rql_lookup **out)
{
	static const enum rql_lookup_kind kinds[] = {[RQL_SIDE_LEFT] = RQL_LOOKUP_LEFT,
	                                             [RQL_SIDE_SEMI] = RQL_LOOKUP_SEMI,
	                                             [RQL_SIDE_ANTI] = RQL_LOOKUP_ANTI,
	                                             [RQL_SIDE_MARK] = RQL_LOOKUP_LEFT};
	struct rql_lookup *joins = RQL_NEW_ARRAY(b->arena, struct rql_lookup, b->star->subtree_count);
	if (!joins)
		return rql_error_memory(b->err, 0, "a plan");
	for (uint32_t s = 0; s < b->star->subtree_count; s++) {
		const struct rql_star_subtree *tree = &b->star->subtrees[s];
		struct rql_scan_keys keys;
		joins[s] = (struct rql_lookup){.kind = tree->side ? kinds[tree->side->kind] : RQL_LOOKUP_INNER,
		                               .column = rql_scan_find_column(b->snapshot, b->column_ids, tree->fact),
		                               .map = b->dims[s].map,
		                               .absent = b->dims[s].absent};
		if (!tree->fact2)
			continue;
		uint32_t second = rql_scan_find_column(b->snapshot, b->column_ids, tree->fact2);
		joins[s].second = second + 1;
		(void)rql_scan_keys_make(&b->snapshot->columns[joins[s].column], &b->snapshot->columns[second], &keys);
		joins[s].pair = keys.pair;
	}
	*out = joins;
	return RQL_OK;
}

rql_status rql_scan_bind_begin(struct rql_scan_binding *b, struct rql_lookup **joins)
{
	start_compile(b);
	RQL_TRY(allocate(b));
	return bind_joins(b, joins);
}

rql_status rql_scan_bind(const struct rql_plan_context *ctx, struct rql_arena *arena, const struct rql_star *star,
                         const struct rql_structure *structure, const struct rql_scan_dim *dims,
                         struct rql_scan_bound *out, struct rql_error *err)
{
	const struct rql_block *block = star->block;
	struct rql_scan_binding *b = RQL_NEW(arena, struct rql_scan_binding);
	struct rql_lookup *joins = NULL;
	if (!b)
		return rql_error_memory(err, 0, "a plan");
	*b = (struct rql_scan_binding){.ctx = ctx,
	                               .arena = arena,
	                               .star = star,
	                               .snapshot = structure->snapshot,
	                               .column_ids = structure->column_ids,
	                               .dims = dims,
	                               .err = err};
	RQL_TRY(rql_scan_bind_begin(b, &joins));
	RQL_TRY(rql_scan_bind_conjuncts(b));
	RQL_TRY(rql_scan_join_tuples(b, joins));
	RQL_TRY(rql_scan_bind_keys(b, star->groups, block->group_count, b->slots));
	uint32_t keys = b->group_count;
	for (uint32_t i = 0; i < block->agg_count; i++)
		RQL_TRY(bind_agg(b, star->aggs[i], &b->slots[block->group_count + i]));
	RQL_TRY(bind_hidden_key(b, b->slots + block->group_count, block->agg_count));
	RQL_TRY(rql_scan_compile_answers(b));
	RQL_TRY(check_sums(b));
	*out = (struct rql_scan_bound){.request = {.snapshot = b->snapshot,
	                                           .program_count = b->program_count,
	                                           .programs = b->programs,
	                                           .conjunct_count = b->conjunct_count,
	                                           .conjuncts = b->conjuncts,
	                                           .lookup_count = star->subtree_count,
	                                           .lookups = joins,
	                                           .tuple_count = b->tuple_count,
	                                           .tuples = b->tuples,
	                                           .group_count = b->group_count,
	                                           .groups = b->groups,
	                                           .agg_count = b->agg_count,
	                                           .aggs = b->aggs},
	                               .key_count = keys,
	                               .hidden_key = b->hidden_key,
	                               .slots = b->slots};
	return RQL_OK;
}
