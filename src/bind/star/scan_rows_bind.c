/* A selection over a star -> a request of rows: where each column of the result and each order key comes from. */
#include <string.h>
#include "bind/relation/codes.h"
#include "bind/star/scan_bind.h"
#include "util/sort.h"

/* A dictionary of more entries is not evaluated by the host for the few rows that may be wanted of it. */
#define MAX_EVALUATED (1u << 16)

struct binding {
	struct rql_scan_binding b;
	struct rql_output *outputs;
	struct rql_row_order *orders;
	uint32_t order_count;
};

/* Types whose values a program computes. */
static bool is_computed(struct rql_type type)
{
	return type.id == RQL_TYPE_DOUBLE || type.id == RQL_TYPE_FLOAT ||
	       (rql_type_is_integral(type) && type.id != RQL_TYPE_UHUGEINT && type.id != RQL_TYPE_ENUM);
}

/* ---- columns of the result ---- */

/* One value in every row. */
static rql_status constant_output(struct rql_scan_binding *b, const struct rql_expr *e, struct rql_output *out)
{
	struct rql_expr *zero = rql_expr_new(b->arena, RQL_EXPR_CONSTANT, rql_type_simple(RQL_TYPE_INTEGER), 0);
	struct rql_column *value = RQL_NEW(b->arena, struct rql_column);
	unsigned bytes = rql_type_bytes(e->type);
	if (!bytes || e->type.id == RQL_TYPE_INTERVAL)
		return rql_scan_refuse_type(b, "", e);
	if (!zero || !value)
		return rql_error_memory(b->err, 0, "a plan");
	*value = (struct rql_column){
		.type = e->type, .data = rql_arena_array(b->arena, 1, bytes), .validity = RQL_NEW_ARRAY(b->arena, uint64_t, 1)};
	if (!value->data || !value->validity)
		return rql_error_memory(b->err, 0, "a plan");
	zero->value = (struct rql_value){.type = zero->type};
	value->validity[0] = !e->value.is_null;
	if (!e->value.is_null)
		rql_column_put(value, 0, &e->value);
	out->values = value;
	out->value_count = 1;
	return rql_scan_add_answer(b, zero, &out->source);
}

/* What the host makes of a dictionary, entry by entry. false: it is not for that, or nobody can. */
static rql_status evaluated_output(struct rql_scan_binding *b, const struct rql_expr *e, struct rql_output *out,
                                   bool *done)
{
	const struct rql_expr *only = rql_scan_only_column(e);
	uint32_t column = only ? rql_scan_find_column(b->snapshot, b->column_ids, only) : RQL_NONE;
	const struct rql_dimension *d = column == RQL_NONE ? NULL : b->snapshot->columns[column].dimension;
	struct rql_error why = {0};
	*done = false;
	if (!d || d->count > MAX_EVALUATED)
		return RQL_OK;
	struct rql_expr *over_ref = rql_scan_over_ref(b->arena, e);
	struct rql_column *all = RQL_NEW(b->arena, struct rql_column);
	if (!over_ref || !all)
		return rql_error_memory(b->err, 0, "a plan");
	rql_status status = rql_codes_evaluate(b->ctx, b->arena, d, over_ref, all, &why);
	if (status == RQL_OK) {
		out->source = (struct rql_source){.kind = RQL_SOURCE_COLUMN, .index = column};
		out->values = all;
		out->value_count = d->count;
		*done = true;
	} else if (status != RQL_ERROR_UNSUPPORTED) {
		rql_error_move(b->err, &why);
		return status;
	}
	rql_error_clear(&why);
	return RQL_OK;
}

/* A CASE over texts of several places. */
static rql_status texts_output(struct rql_scan_binding *b, const struct rql_expr *e, struct rql_output *out, bool *done)
{
	struct rql_error why = {0}, *err = b->err;
	struct rql_scan_texts texts;
	b->err = &why;
	rql_status status = rql_scan_bind_texts(b, e, &texts);
	b->err = err;
	if (status != RQL_OK && status != RQL_ERROR_UNSUPPORTED) {
		rql_error_move(err, &why);
		return status;
	}
	rql_error_clear(&why);
	*done = status == RQL_OK;
	if (!*done)
		return RQL_OK;
	out->values = texts.values;
	out->value_count = texts.count + 1;
	return rql_scan_add_answer(b, texts.number, &out->source);
}

static rql_status bind_output(struct rql_scan_binding *b, const struct rql_expr *e, struct rql_output *out)
{
	bool done;
	*out = (struct rql_output){.type = e->type};
	if (e->kind == RQL_EXPR_COLUMN) {
		out->source.index = rql_scan_find_column(b->snapshot, b->column_ids, e);
		if (out->source.index == RQL_NONE) /* the type says that both halves are meant */
			out->source.index = rql_scan_find_halves(b->snapshot, b->column_ids, e);
		if (out->source.index == RQL_NONE)
			return rql_expr_refuse(b->err, "", e, " is not in the structure");
		return RQL_OK;
	}
	if (e->kind == RQL_EXPR_REF) {
		const struct rql_scan_dim *dim = &b->dims[RQL_STAR_REF_SUBTREE(e->index)];
		out->source = (struct rql_source){.kind = RQL_SOURCE_LOOKUP, .index = RQL_STAR_REF_SUBTREE(e->index)};
		out->values = &dim->values[RQL_STAR_REF_OUTPUT(e->index)];
		out->value_count = dim->payload_count;
		return RQL_OK;
	}
	if (e->kind == RQL_EXPR_CONSTANT)
		return constant_output(b, e, out);
	/* Numbers of the fact table's own codes are computed for the rows that are wanted; texts exist only as tables. */
	if (!is_computed(e->type)) {
		RQL_TRY(evaluated_output(b, e, out, &done));
		if (!done && rql_scan_has_texts(e))
			RQL_TRY(texts_output(b, e, out, &done));
		return done ? RQL_OK : rql_expr_refuse(b->err, "", e, " is no number and no expression of one coded column");
	}
	return rql_scan_add_answer(b, e, &out->source);
}

/* ---- order keys ---- */

static int compare_entries(const void *context, uint32_t a, uint32_t b)
{
	return rql_column_compare(context, a, context, b);
}

/* Payloads in the order of what they stand for. */
static rql_status rank_payloads(struct rql_scan_binding *b, const struct rql_expr *e, struct rql_source *out)
{
	const struct rql_scan_dim *dim = &b->dims[RQL_STAR_REF_SUBTREE(e->index)];
	const struct rql_column *values = &dim->values[RQL_STAR_REF_OUTPUT(e->index)];
	uint32_t n = dim->payload_count, count = 0;
	uint32_t *order = RQL_NEW_ARRAY(b->arena, uint32_t, n + 1u), *spare = RQL_NEW_ARRAY(b->arena, uint32_t, n + 1u);
	int64_t *rank = RQL_NEW_ARRAY(b->arena, int64_t, n + 1u);
	uint64_t *valid = RQL_NEW_ARRAY(b->arena, uint64_t, n / 64 + 1u);
	if (!order || !spare || !rank || !valid)
		return rql_error_memory(b->err, 0, "a plan");
	for (uint32_t i = 0; i < n; i++) {
		if (!rql_column_valid(values, i))
			continue;
		order[count++] = i;
		rql_bit_set(valid, i);
	}
	rql_sort_items(order, spare, count, compare_entries, values);
	for (uint32_t i = 1; i < count; i++)
		rank[order[i]] = rank[order[i - 1]] + (rql_column_compare(values, order[i - 1], values, order[i]) != 0);
	*out = (struct rql_source){.kind = RQL_SOURCE_LOOKUP,
	                           .index = RQL_STAR_REF_SUBTREE(e->index),
	                           .value_of_payload = rank,
	                           .valid_of_payload = values->validity ? valid : NULL};
	return RQL_OK;
}

static rql_status bind_order(struct binding *s, const struct rql_expr *e, const struct rql_order *order)
{
	struct rql_scan_binding *b = &s->b;
	if (e->kind == RQL_EXPR_CONSTANT)
		return RQL_OK; /* orders nothing */
	const uint32_t upper = rql_scan_find_halves(b->snapshot, b->column_ids, e);
	struct rql_row_order *out = &s->orders[s->order_count++];
	*out = (struct rql_row_order){.descending = order->descending, .nulls_first = order->nulls == RQL_NULLS_FIRST};
	if (e->kind == RQL_EXPR_REF)
		return rank_payloads(b, e, &out->source);
	if (upper != RQL_NONE) {
		s->orders[s->order_count] = *out;
		out->source.index = upper;
		s->orders[s->order_count++].source.index = b->snapshot->columns[upper].low - 1;
		return RQL_OK;
	}
	if (e->kind == RQL_EXPR_COLUMN) {
		out->source.index = rql_scan_find_column(b->snapshot, b->column_ids, e);
		return out->source.index == RQL_NONE ? rql_expr_refuse(b->err, "", e, " is not in the structure") : RQL_OK;
	}
	if (!is_computed(e->type))
		return rql_expr_refuse(b->err, "", e, " orders rows and is no number");
	return rql_scan_add_answer(b, e, &out->source);
}

/* ---- the whole ---- */

/* Order keys are a program of their own: it runs for more rows than the outputs'. */
static rql_status bind_orders(struct binding *s, const struct rql_rows_block *rows)
{
	struct rql_scan_binding *b = &s->b;
	for (uint32_t i = 0; i < rows->order_count; i++)
		RQL_TRY(bind_order(s, b->star->groups[rows->output_count + i], &rows->orders[i]));
	RQL_TRY(rql_scan_compile_answers(b));
	for (uint32_t i = 0; i < s->order_count; i++)
		if (s->orders[i].source.kind == RQL_SOURCE_PROGRAM)
			s->orders[i].source.index = b->program_count - 1;
	b->answers = (struct rql_expr_list){0};
	return RQL_OK;
}

static rql_status bind_outputs(struct binding *s, const struct rql_rows_block *rows)
{
	struct rql_scan_binding *b = &s->b;
	for (uint32_t i = 0; i < rows->output_count; i++)
		RQL_TRY(bind_output(b, b->star->groups[i], &s->outputs[i]));
	RQL_TRY(rql_scan_compile_answers(b));
	for (uint32_t i = 0; i < rows->output_count; i++)
		if (s->outputs[i].source.kind == RQL_SOURCE_PROGRAM)
			s->outputs[i].source.index = b->program_count - 1;
	return RQL_OK;
}

rql_status rql_scan_bind_rows(const struct rql_plan_context *ctx, struct rql_arena *arena, const struct rql_star *star,
                              const struct rql_rows_block *rows, const struct rql_structure *structure,
                              const struct rql_scan_dim *dims, struct rql_request *out, struct rql_error *err)
{
	struct binding *s = RQL_NEW(arena, struct binding);
	struct rql_lookup *joins = NULL;
	if (!s)
		return rql_error_memory(err, 0, "a plan");
	s->b = (struct rql_scan_binding){.ctx = ctx,
	                                 .arena = arena,
	                                 .star = star,
	                                 .snapshot = structure->snapshot,
	                                 .column_ids = structure->column_ids,
	                                 .dims = dims,
	                                 .err = err};
	s->outputs = RQL_NEW_ARRAY(arena, struct rql_output, rows->output_count);
	s->orders = RQL_NEW_ARRAY(arena, struct rql_row_order, 2 * rows->order_count + 1u);
	if (!s->outputs || !s->orders)
		return rql_error_memory(s->b.err, 0, "a plan");
	RQL_TRY(rql_scan_bind_begin(&s->b, &joins));
	RQL_TRY(rql_scan_bind_conjuncts(&s->b));
	RQL_TRY(rql_scan_join_tuples(&s->b, joins));
	RQL_TRY(bind_orders(s, rows));
	RQL_TRY(bind_outputs(s, rows));
	*out = (struct rql_request){.snapshot = s->b.snapshot,
	                            .program_count = s->b.program_count,
	                            .programs = s->b.programs,
	                            .conjunct_count = s->b.conjunct_count,
	                            .conjuncts = s->b.conjuncts,
	                            .lookup_count = star->subtree_count,
	                            .lookups = joins,
	                            .tuple_count = s->b.tuple_count,
	                            .tuples = s->b.tuples,
	                            .wants = RQL_PORT_BATCH,
	                            .output_count = rows->output_count,
	                            .outputs = s->outputs,
	                            .order_count = s->order_count,
	                            .orders = s->orders,
	                            .limit = rows->limit,
	                            .offset = rows->offset,
	                            .budget = ctx->budget};
	return RQL_OK;
}
