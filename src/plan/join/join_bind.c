/* What each relation of a join gives: its request, the form of its rows, and keys that say the same on both sides. */
#include <string.h>

#include "plan/join/join.h"

/* Numbers of a key that is made of several columns, and of each of these. */
#define NUMBERS_MOST ((rql_int128)1 << 62)
#define PART_MOST ((rql_int128)UINT32_MAX)
/* Pairs of rows that are found by some keys, and tested by the others, for each row of both sides. */
#define ROWS_TESTED 64.0
/* Texts of two dictionaries are drawn by hash where there are no more rows for each. */
#define ROWS_A_TEXT 8.0

static rql_status refuse(struct rql_join_graph *g, const char *why)
{
	return rql_error_set(g->err, RQL_ERROR_UNSUPPORTED, "joined as columns on a GPU: %s", why);
}

/* ---- outputs ---- */

static bool is_text(struct rql_type type)
{
	return type.id == RQL_TYPE_VARCHAR || type.id == RQL_TYPE_BLOB || type.id == RQL_TYPE_ENUM ||
	       type.id == RQL_TYPE_UUID;
}

/* Numbers that lie as codes are keys as numbers: another table's codes are others. */
const struct rql_expr *rql_join_value(struct rql_join_graph *g, const struct rql_expr *e)
{
	if ((e->kind != RQL_EXPR_COLUMN && e->kind != RQL_EXPR_CONSTANT) || is_text(e->type))
		return e;
	struct rql_expr *cast = rql_expr_new(g->p->arena, RQL_EXPR_CAST, e->type, 1);
	if (cast)
		cast->children[0] = (struct rql_expr *)(uintptr_t)e;
	return cast;
}

bool rql_join_is_coded(const struct rql_join_relation *r, const struct rql_expr *e)
{
	uint32_t column = e->kind == RQL_EXPR_COLUMN
	                      ? rql_scan_find_column(r->structure->snapshot, r->structure->column_ids, e)
	                      : RQL_NONE;
	return column != RQL_NONE && r->structure->snapshot->columns[column].kind == RQL_STORE_CODED;
}

static rql_status add_key_output(struct rql_join_graph *g, struct rql_join_relation *r, struct rql_expr *e,
                                 uint32_t *out)
{
	const struct rql_expr *value = rql_join_is_coded(r, e) ? rql_join_value(g, e) : e;
	*out = r->outputs.count;
	if (!value || !rql_expr_list_add(g->p->arena, &r->outputs, (struct rql_expr *)(uintptr_t)value))
		return rql_error_memory(g->err, 0, "a plan");
	return RQL_OK;
}

static rql_status add_keys(struct rql_join_graph *g)
{
	for (uint32_t s = 0; s < g->step_count; s++) {
		for (uint32_t k = 0; k < g->steps[s].key_count; k++) {
			struct rql_join_key *key = &g->steps[s].keys[k];
			RQL_TRY(add_key_output(g, &g->relations[g->steps[s].owner], key->outer, &key->outer_output));
			RQL_TRY(add_key_output(g, &g->relations[g->steps[s].relation], key->inner, &key->inner_output));
		}
		for (uint32_t k = 0; k < g->steps[s].condition_count; k++) {
			struct rql_join_test_of *c = &g->steps[s].conditions[k];
			RQL_TRY(add_key_output(g, &g->relations[c->relation], c->outer, &c->outer_output));
			if (c->inner)
				RQL_TRY(add_key_output(g, &g->relations[g->steps[s].relation], c->inner, &c->inner_output));
		}
	}
	for (uint32_t i = 0; g->ranges && i < g->ranges->sum_count; i++) {
		struct rql_join_sum *sum = &g->ranges->sums[i];
		if (sum->of)
			RQL_TRY(add_key_output(g, &g->relations[sum->relation], sum->of, &sum->output));
	}
	return RQL_OK;
}

/* The relation's rows as a selection of its columns structure, bound as any. */
static rql_status bind_relation(struct rql_join_graph *g, struct rql_join_relation *r)
{
	struct rql_arena *arena = g->p->arena;
	struct rql_block *block = RQL_NEW(arena, struct rql_block);
	struct rql_rows_block *rows = RQL_NEW(arena, struct rql_rows_block);
	struct rql_table_ref *table = RQL_NEW(arena, struct rql_table_ref);
	struct rql_star *star;
	if (!block || !rows || !table)
		return rql_error_memory(g->err, 0, "a plan");
	*table = (struct rql_table_ref){.table = r->table};
	*block = (struct rql_block){.table_count = 1,
	                            .tables = table,
	                            .conjunct_count = r->conjuncts.count,
	                            .conjuncts = r->conjuncts.items,
	                            .group_count = r->outputs.count,
	                            .groups = r->outputs.items};
	*rows = (struct rql_rows_block){.block = block, .output_count = r->outputs.count, .limit = UINT64_MAX};
	RQL_TRY(rql_star_make(arena, block, 0, NULL, &star, g->err));
	return rql_scan_bind_rows(g->p->ctx, arena, star, rows, r->structure, NULL, &r->request, g->err);
}

/* ---- forms ---- */

rql_status rql_join_describe_any(struct rql_join_graph *g, const struct rql_request *request, uint32_t output,
                                 struct rql_form_column *out)
{
	const struct rql_output *o = &request->outputs[output];
	const char *why = o->values || o->source.kind == RQL_SOURCE_LOOKUP
	                      ? "a text is made of columns before they are joined"
	                      : rql_request_describe(request, &o->source, out);
	if (why)
		return refuse(g, why);
	if (o->source.kind == RQL_SOURCE_PROGRAM)
		out->of.type = o->type;
	return RQL_OK;
}

rql_status rql_join_describe(struct rql_join_graph *g, const struct rql_request *request, uint32_t output,
                             struct rql_form_column *out)
{
	RQL_TRY(rql_join_describe_any(g, request, output, out));
	return out->of.low ? refuse(g, "a condition beyond the keys reads a sum that may take more than 64 bits") : RQL_OK;
}

/* ---- keys ---- */

struct key_side {
	struct rql_join_relation *r;
	uint32_t output;
	struct rql_form_column column;
	struct rql_group_key part;
};

/* Codes of `from` as codes of `to`; what is not there becomes `to`'s count. */
static uint32_t *codes_in(struct rql_arena *arena, const struct rql_dimension *from, const struct rql_dimension *to)
{
	uint32_t *out = RQL_NEW_ARRAY(arena, uint32_t, from->count + 1u), at = 0;
	const uint32_t last = to->count - to->has_null;
	const bool same = from->values.data == to->values.data;
	for (uint32_t code = 0; out && code < from->count; code++) {
		out[code] = to->count;
		if (from->has_null && code + 1 == from->count)
			break;
		if (same) {
			out[code] = code;
			continue;
		}
		while (at < last && rql_column_compare(&to->values, at, &from->values, code) < 0)
			at++;
		if (at < last && rql_column_compare(&to->values, at, &from->values, code) == 0)
			out[code] = at;
	}
	return out;
}

static bool same_codes(const struct key_side *a, const struct key_side *b)
{
	return a->column.of.dimension->values.data == b->column.of.dimension->values.data;
}

/* Numbers that a key has on both sides, from *least on; more than PART_MOST: it is no part of a number. */
static rql_int128 numbers_of(const struct key_side *outer, const struct key_side *inner, bool null_safe,
                             rql_int128 *least)
{
	const struct rql_store_column *a = &outer->column.of, *b = &inner->column.of;
	const rql_int128 greatest = a->greatest > b->greatest ? a->greatest : b->greatest;
	*least = 0;
	if (a->kind == RQL_STORE_CODED)
		return (rql_int128)a->dimension->count + 1 + null_safe;
	*least = a->least < b->least ? a->least : b->least;
	return a->low || b->low || a->kind == RQL_STORE_REAL || *least < INT64_MIN || greatest > INT64_MAX
	           ? PART_MOST + 1
	           : greatest - *least + 1 + null_safe;
}

/* Both sides' parts: numbers below *count that are equal where the values are. */
static rql_status make_parts(struct rql_join_graph *g, struct key_side *outer, struct key_side *inner, bool null_safe,
                             uint32_t *count)
{
	struct key_side *sides[] = {outer, inner};
	const struct rql_store_column *a = &outer->column.of;
	const bool coded = a->kind == RQL_STORE_CODED;
	rql_int128 least, numbers = numbers_of(outer, inner, null_safe, &least);
	if (numbers > PART_MOST)
		return refuse(g, "a key of several columns, or of which NULL is one, has a range of more than 2^32");
	*count = (uint32_t)numbers;
	for (uint32_t s = 0; s < 2; s++)
		sides[s]->part = (struct rql_group_key){.source = sides[s]->r->request.outputs[sides[s]->output].source,
		                                        .least = (int64_t)least,
		                                        .key_count = *count,
		                                        .null_key = null_safe ? *count - 1 : RQL_NONE};
	if (!coded)
		return RQL_OK;
	for (uint32_t s = 0; s < 2; s++) {
		uint32_t *codes = codes_in(g->p->arena, sides[s]->column.of.dimension, a->dimension);
		if (!codes)
			return rql_error_memory(g->err, 0, "a plan");
		if (null_safe && sides[s]->column.of.dimension->has_null)
			codes[sides[s]->column.of.dimension->count - 1] = *count - 1;
		sides[s]->part.key_of_code = codes;
	}
	return RQL_OK;
}

/* One column as it is: integers of one range, or codes of one dictionary. */
static bool share_column(struct key_side *outer, struct key_side *inner)
{
	struct rql_store_column *a = &outer->column.of, *b = &inner->column.of;
	if (a->kind == RQL_STORE_CODED)
		return same_codes(outer, inner);
	a->least = b->least = a->least < b->least ? a->least : b->least;
	a->greatest = b->greatest = a->greatest > b->greatest ? a->greatest : b->greatest;
	return true;
}

/* Puts a key behind the relation's columns: an output as it is, or one of several parts. */
rql_status rql_join_put_key(struct rql_join_graph *g, struct rql_join_relation *r, const struct rql_form_column *form,
                            const struct rql_output *output, uint32_t *column)
{
	*column = r->form_count;
	((struct rql_output *)(uintptr_t)r->request.outputs)[r->form_count] = *output;
	r->form[r->form_count++] = *form;
	return rql_form_bits(&form->of) ? RQL_OK : refuse(g, "a key takes more than 64 bits");
}

static rql_status put_key(struct rql_join_graph *g, struct key_side *s, struct rql_output *output, uint32_t *column)
{
	return rql_join_put_key(g, s->r, &s->column, output, column);
}

static rql_status put_as_it_is(struct rql_join_graph *g, struct key_side *s, uint32_t *column)
{
	struct rql_output output = s->r->request.outputs[s->output];
	return put_key(g, s, &output, column);
}

/* A real number: equal values have one field, which takes all of its bits. Where NULL equals NULL it has one, too. */
static rql_status bind_real_key(struct rql_join_graph *g, const struct rql_join_step *step, struct key_side sides[2][RQL_JOIN_KEYS],
                                uint32_t *const columns[2])
{
	if (step->key_count > 1)
		return refuse(g, "a real number is one of several keys");
	for (uint32_t s = 0; s < 2; s++) {
		struct rql_output output = sides[s][0].r->request.outputs[sides[s][0].output];
		output.canonical = true;
		output.null_value = step->keys[0].null_safe;
		RQL_TRY(put_key(g, &sides[s][0], &output, columns[s]));
	}
	return RQL_OK;
}

/* Column `column` of the side becomes that half of its number; `whole` is as it was. */
static rql_status halve_side(struct rql_join_graph *g, const struct key_side *whole, enum rql_half half,
                             struct key_side *out, struct rql_output *output)
{
	const uint32_t low = whole->column.of.low;
	struct rql_form_column halves[2] = {whole->column};
	*out = *whole;
	*output = whole->r->request.outputs[whole->output];
	output->type = rql_type_simple(RQL_TYPE_BIGINT);
	if (!low) {
		if (!rql_form_halve(whole->column.of.least, whole->column.of.greatest, 0, halves))
			return refuse(g, "a key takes more than 94 bits");
		out->column = halves[half == RQL_HALF_LOWER];
		out->column.of.low = 0;
		output->half = half;
		return RQL_OK;
	}
	output->source.index = half == RQL_HALF_LOWER ? low - 1 : output->source.index;
	const char *why = rql_request_describe(&whole->r->request, &output->source, &out->column);
	out->column.of.low = 0;
	return why ? refuse(g, why) : RQL_OK;
}

/* Both sides' halves have one range; columns[s]: where they are in the form. */
static rql_status put_halves(struct rql_join_graph *g, const struct key_side sides[2], enum rql_half half,
                             uint32_t *const columns[2])
{
	struct key_side halves[2];
	struct rql_output outputs[2];
	for (uint32_t s = 0; s < 2; s++)
		RQL_TRY(halve_side(g, &sides[s], half, &halves[s], &outputs[s]));
	(void)share_column(&halves[0], &halves[1]);
	for (uint32_t s = 0; s < 2; s++)
		RQL_TRY(put_key(g, &halves[s], &outputs[s], columns[s]));
	return RQL_OK;
}

/* Keys that are tested beside the one that rows are found by; NULL: there is no room for one more. */
static struct rql_join_test_of *add_condition(struct rql_join_step *step, const struct rql_join_key *key)
{
	if (step->condition_count == RQL_PAIR_CONDITIONS)
		return NULL;
	struct rql_join_test_of *c = &step->conditions[step->condition_count++];
	*c = (struct rql_join_test_of){.test = RQL_PAIR_EQ,
	                               .null_safe = key->null_safe,
	                               .relation = step->owner,
	                               .outer = key->outer,
	                               .inner = key->inner,
	                               .outer_output = key->outer_output,
	                               .inner_output = key->inner_output};
	return c;
}

/* A key that goes into the hash of a text; there is room for it (choose_texts). */
static struct rql_join_test_of *add_beside(struct rql_join_step *step, const struct rql_join_key *key)
{
	struct rql_join_test_of *c = add_condition(step, key);
	c->null_safe = false; /* NULL has a number where it is one */
	c->of_key = true;
	step->beside++;
	return c;
}

static rql_status no_more_conditions(struct rql_join_graph *g)
{
	return refuse(g, "keys that make no one number, beside other conditions: more than 4 are to be tested");
}

static rql_status add_half(struct rql_join_graph *g, struct rql_join_step *step, const struct rql_join_key *key,
                           const struct key_side sides[2], enum rql_half half)
{
	struct rql_join_test_of *c = add_condition(step, key);
	return c ? put_halves(g, sides, half, (uint32_t *const[]){&c->outer_column, &c->inner_column})
	         : no_more_conditions(g);
}

static rql_status check_halves(struct rql_join_graph *g, const struct rql_join_key *key, const struct key_side sides[2])
{
	const struct rql_output *of[] = {&sides[0].r->request.outputs[sides[0].output],
	                                 &sides[1].r->request.outputs[sides[1].output]};
	if (key->null_safe)
		return refuse(g, "a sum that may take more than 64 bits has to tell NULL from others");
	return rql_type_equal(of[0]->type, of[1]->type) && sides[0].column.of.kind == RQL_STORE_INTEGER &&
	               sides[1].column.of.kind == RQL_STORE_INTEGER
	           ? RQL_OK
	           : refuse(g, "the types of a key's two sides differ");
}

/* Numbers that are two columns on a side: the lower halves are the key, which few others share, and the upper ones have
 * to be the same. */
static rql_status bind_halves_key(struct rql_join_graph *g, struct rql_join_step *step,
                                  struct key_side sides[2][RQL_JOIN_KEYS], uint32_t *const columns[2])
{
	const struct key_side key[2] = {sides[0][0], sides[1][0]};
	if (step->mark || step->not_in)
		return refuse(g, "a sum that may take more than 64 bits has to tell NULL from others");
	RQL_TRY(check_halves(g, &step->keys[0], key));
	RQL_TRY(add_half(g, step, &step->keys[0], key, RQL_HALF_UPPER));
	return put_halves(g, key, RQL_HALF_LOWER, columns);
}

/* ---- several keys ---- */

static rql_status bind_condition(struct rql_join_graph *g, struct rql_join_step *step, struct rql_join_test_of *c);

static bool may_be_null(const struct key_side *s)
{
	return s->column.nullable || (s->column.of.dimension && s->column.of.dimension->has_null);
}

static bool is_halved(struct key_side sides[2][RQL_JOIN_KEYS], uint32_t k)
{
	return sides[0][k].column.of.low || sides[1][k].column.of.low;
}

/* A bit for each key that rows are found by: the one with the most values, and others as far as all make one number. */
static uint32_t choose_parts(const struct rql_join_step *step, struct key_side sides[2][RQL_JOIN_KEYS])
{
	rql_int128 numbers[RQL_JOIN_KEYS], least, product;
	uint32_t best = RQL_NONE, parts;
	for (uint32_t k = 0; k < step->key_count; k++) {
		numbers[k] = numbers_of(&sides[0][k], &sides[1][k], step->keys[k].null_safe, &least);
		if (step->keys[k].null_safe && numbers[k] > PART_MOST) /* has no field for NULL */
			continue;
		best = best == RQL_NONE || step->keys[k].values > step->keys[best].values ? k : best;
	}
	best = best == RQL_NONE ? 0 : best;
	parts = 1u << best;
	product = numbers[best] > PART_MOST ? NUMBERS_MOST + 1 : numbers[best]; /* nothing goes beside it */
	for (uint32_t k = 0; k < step->key_count; k++)
		if (k != best && numbers[k] <= PART_MOST && product * numbers[k] <= NUMBERS_MOST) {
			product *= numbers[k];
			parts |= 1u << k;
		}
	return parts;
}

/* Rows with one part of their keys in common are tested one by one: it is not worth to begin where these are many. */
static bool finds_few(const struct rql_join_graph *g, const struct rql_join_step *step, uint32_t parts)
{
	const double rows[] = {g->relations[step->owner].rows, g->relations[step->relation].rows};
	double values = 1;
	for (uint32_t k = 0; k < step->key_count; k++)
		values *= parts >> k & 1 && step->keys[k].values > 1 ? step->keys[k].values : 1;
	return rows[0] * rows[1] / values <= ROWS_TESTED * (rows[0] + rows[1]);
}

static rql_status bind_apart(struct rql_join_graph *g, struct rql_join_step *step, const struct rql_join_key *key,
                             const struct key_side sides[2])
{
	if (sides[0].column.of.low || sides[1].column.of.low) {
		RQL_TRY(check_halves(g, key, sides));
		RQL_TRY(add_half(g, step, key, sides, RQL_HALF_UPPER));
		return add_half(g, step, key, sides, RQL_HALF_LOWER);
	}
	struct rql_join_test_of *c = add_condition(step, key);
	return c ? bind_condition(g, step, c) : no_more_conditions(g);
}

/* Keys that make no number with the others become conditions: rows that the others find have to be equal in them. */
static rql_status set_apart(struct rql_join_graph *g, struct rql_join_step *step,
                            struct key_side sides[2][RQL_JOIN_KEYS])
{
	const uint32_t n = step->key_count, parts = choose_parts(step, sides);
	if (n == 1 || parts == (1u << n) - 1)
		return RQL_OK;
	if (!finds_few(g, step, parts))
		return refuse(g, "the columns of a key have more than 2^62 combinations, and none has enough values alone");
	step->key_count = 0;
	for (uint32_t k = 0; k < n; k++) {
		if (!(parts >> k & 1)) {
			RQL_TRY(bind_apart(g, step, &step->keys[k], (const struct key_side[]){sides[0][k], sides[1][k]}));
			continue;
		}
		step->keys[step->key_count] = step->keys[k];
		for (uint32_t s = 0; s < 2; s++)
			sides[s][step->key_count] = sides[s][k];
		step->key_count++;
	}
	return RQL_OK;
}

/* What is known of all keys. */
static rql_status describe_keys(struct rql_join_graph *g, struct rql_join_step *step,
                                struct key_side sides[2][RQL_JOIN_KEYS])
{
	struct rql_join_relation *of[] = {&g->relations[step->owner], &g->relations[step->relation]};
	bool nullable = g->relations[step->owner].side; /* of which some rows have no match */
	for (uint32_t k = 0; k < step->key_count; k++) {
		for (uint32_t s = 0; s < 2; s++) {
			sides[s][k] = (struct key_side){
				.r = of[s], .output = s ? step->keys[k].inner_output : step->keys[k].outer_output};
			RQL_TRY(rql_join_describe_any(g, &of[s]->request, sides[s][k].output, &sides[s][k].column));
			nullable |= sides[s][k].column.nullable;
			if (rql_join_can_fail(&of[s]->request, &of[s]->request.outputs[sides[s][k].output].source))
				return refuse(g, "a key can raise an error in some row");
		}
		step->keys[k].null_safe &= step->mark || may_be_null(&sides[0][k]) || may_be_null(&sides[1][k]);
	}
	step->not_in = step->not_in && nullable;
	return RQL_OK;
}

/* So many keys as one column: one as it is, where both sides' fields say the same, else one number. */
static rql_status put_number(struct rql_join_graph *g, const struct rql_join_key *keys, uint32_t n,
                             struct key_side sides[2][RQL_JOIN_KEYS], uint32_t *const columns[2])
{
	struct rql_group_key *parts[2];
	rql_int128 numbers = 1;
	for (uint32_t s = 0; s < 2; s++)
		if (!(parts[s] = RQL_NEW_ARRAY(g->p->arena, struct rql_group_key, n)))
			return rql_error_memory(g->err, 0, "a plan");
	if (n == 1 && !keys[0].null_safe && share_column(&sides[0][0], &sides[1][0])) {
		for (uint32_t s = 0; s < 2; s++)
			RQL_TRY(put_as_it_is(g, &sides[s][0], columns[s]));
		return RQL_OK;
	}
	for (uint32_t k = 0; k < n; k++) {
		uint32_t count = 1;
		RQL_TRY(make_parts(g, &sides[0][k], &sides[1][k], keys[k].null_safe, &count));
		numbers *= count; /* NUMBERS_MOST at most (choose_parts) */
		parts[0][k] = sides[0][k].part;
		parts[1][k] = sides[1][k].part;
	}
	for (uint32_t s = 0; s < 2; s++) {
		struct rql_output output = {.type = rql_type_simple(RQL_TYPE_BIGINT), .part_count = n, .parts = parts[s]};
		sides[s][0].column = (struct rql_form_column){.of = {.name = "key",
		                                                     .type = rql_type_simple(RQL_TYPE_BIGINT),
		                                                     .kind = RQL_STORE_INTEGER,
		                                                     .greatest = numbers - 1},
		                                              .nullable = true};
		RQL_TRY(put_key(g, &sides[s][0], &output, columns[s]));
	}
	return RQL_OK;
}

/* ---- texts of two dictionaries ---- */

static uint64_t bytes_of_texts(const struct rql_dimension *d)
{
	const struct rql_string *strings = d->values.data;
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < d->count - d->has_null; i++)
		bytes += strings[i].length;
	return bytes;
}

/* Is the key joined by its texts' bytes, where both sides are drawn (papers/004, section 7)? Else codes of one dictionary are
 * looked for in the other one, on the CPU: that takes some 50 ns an entry once a plan. So it is the better way where rows are
 * many times as many as texts. */
static bool is_hashed(const struct rql_join_graph *g, const struct rql_join_key *key, const struct key_side *outer,
                      const struct key_side *inner)
{
	const struct rql_store_column *a = &outer->column.of, *b = &inner->column.of;
	if (key->null_safe || a->kind != RQL_STORE_CODED || b->kind != RQL_STORE_CODED || !rql_type_equal(a->type, b->type) ||
	    (a->type.id != RQL_TYPE_VARCHAR && a->type.id != RQL_TYPE_BLOB) || same_codes(outer, inner))
		return false;
	const double texts = (double)a->dimension->count + b->dimension->count;
	const bool paper = strcmp(g->p->ctx->settings->layout, "paper") == 0;
	return (paper || texts * ROWS_A_TEXT >= outer->r->rows + inner->r->rows) &&
	       bytes_of_texts(a->dimension) <= UINT32_MAX && bytes_of_texts(b->dimension) <= UINT32_MAX;
}

/* Do the keys without a bit make one column? */
static bool others_fit(const struct rql_join_step *step, struct key_side sides[2][RQL_JOIN_KEYS], uint32_t texts)
{
	rql_int128 product = 1, least;
	uint32_t others = 0;
	bool parts = true, fields = true; /* a number; the fields as they are */
	for (uint32_t k = 0; k < step->key_count; k++) {
		const struct rql_store_column *a = &sides[0][k].column.of, *b = &sides[1][k].column.of;
		if (texts >> k & 1)
			continue;
		if (a->kind != b->kind || !rql_type_equal(a->type, b->type) || a->kind == RQL_STORE_REAL || a->low || b->low)
			return false;
		const rql_int128 numbers = numbers_of(&sides[0][k], &sides[1][k], step->keys[k].null_safe, &least);
		parts = parts && numbers <= PART_MOST && product * numbers <= NUMBERS_MOST;
		product = parts ? product * numbers : product;
		fields = fields && a->kind == RQL_STORE_INTEGER && !step->keys[k].null_safe;
		others++;
	}
	return parts || (others == 1 && fields);
}

/* A bit for each key that is hashed and compared by its bytes; the others then make one number. 0: none is. */
static uint32_t choose_texts(const struct rql_join_graph *g, const struct rql_join_step *step,
                             struct key_side sides[2][RQL_JOIN_KEYS])
{
	uint32_t texts = 0, count = 0;
	if (!rql_join_wants_raster(g->p->ctx->settings) || step->mark || step->not_in || step->nearest)
		return 0;
	for (uint32_t k = 0; k < step->key_count; k++)
		if (is_hashed(g, &step->keys[k], &sides[0][k], &sides[1][k])) {
			texts |= 1u << k;
			count++;
		}
	const uint32_t beside = count < step->key_count ? count : count ? count - 1 : 0;
	return step->condition_count + beside <= RQL_PAIR_CONDITIONS && others_fit(step, sides, texts) ? texts : 0;
}

/* The first text is the key, and what else there is goes into its hash. */
static rql_status bind_texts(struct rql_join_graph *g, struct rql_join_step *step, struct key_side sides[2][RQL_JOIN_KEYS],
                             uint32_t texts, uint32_t *const columns[2])
{
	struct rql_join_key others[RQL_JOIN_KEYS];
	struct key_side of[2][RQL_JOIN_KEYS];
	uint32_t count = 0;
	step->texts = false;
	for (uint32_t k = 0; k < step->key_count; k++) {
		if (!(texts >> k & 1)) {
			others[count] = step->keys[k];
			of[0][count] = sides[0][k];
			of[1][count++] = sides[1][k];
			continue;
		}
		struct rql_join_test_of *c = step->texts ? add_beside(step, &step->keys[k]) : NULL;
		uint32_t *const to[] = {c ? &c->outer_column : columns[0], c ? &c->inner_column : columns[1]};
		uint64_t *const bytes[] = {c ? &c->outer_bytes : &step->outer_bytes, c ? &c->inner_bytes : &step->inner_bytes};
		for (uint32_t s = 0; s < 2; s++) {
			*bytes[s] = bytes_of_texts(sides[s][k].column.of.dimension);
			RQL_TRY(put_as_it_is(g, &sides[s][k], to[s]));
		}
		if (c)
			c->text = true;
		step->texts = true;
	}
	if (!count)
		return RQL_OK;
	struct rql_join_test_of *c = add_beside(step, &others[0]);
	return put_number(g, others, count, of, (uint32_t *const[]){&c->outer_column, &c->inner_column});
}

static rql_status bind_key(struct rql_join_graph *g, struct rql_join_step *step)
{
	struct key_side sides[2][RQL_JOIN_KEYS];
	uint32_t *columns[] = {&step->outer_column, &step->inner_column};
	RQL_TRY(describe_keys(g, step, sides));
	const uint32_t texts = choose_texts(g, step, sides);
	if (texts)
		return bind_texts(g, step, sides, texts, columns);
	RQL_TRY(set_apart(g, step, sides));
	const uint32_t n = step->key_count;
	if (is_halved(sides, 0))
		return bind_halves_key(g, step, sides, columns);
	for (uint32_t k = 0; k < n; k++) {
		struct rql_store_column *a = &sides[0][k].column.of, *b = &sides[1][k].column.of;
		if (a->kind != b->kind || !rql_type_equal(a->type, b->type))
			return refuse(g, "the types of a key's two sides differ");
		if (a->kind == RQL_STORE_REAL)
			return bind_real_key(g, step, sides, columns);
	}
	return put_number(g, step->keys, n, sides, columns);
}

/* ---- conditions ---- */

#define RANKED_MOST 3u /* dictionaries */

/* The one whose next value is the least; n: there is no more. */
static uint32_t least_next(const struct rql_dimension *const *of, const uint32_t *at, uint32_t n)
{
	uint32_t least = n;
	for (uint32_t s = 0; s < n; s++)
		if (at[s] < of[s]->count - of[s]->has_null &&
		    (least == n || rql_column_compare(&of[s]->values, at[s], &of[least]->values, at[least]) < 0))
			least = s;
	return least;
}

void rql_join_rank_codes(const struct rql_dimension *const *of, uint32_t *const *out, uint32_t n, uint32_t *count)
{
	uint32_t at[RANKED_MOST] = {0}, least;
	for (*count = 0; (least = least_next(of, at, n)) < n; ++*count) {
		const uint32_t code = at[least];
		for (uint32_t s = 0; s < n; s++)
			if (at[s] < of[s]->count - of[s]->has_null &&
			    rql_column_compare(&of[s]->values, at[s], &of[least]->values, code) == 0)
				out[s][at[s]++] = *count;
	}
	*count += !*count;
}

static rql_status put_ranks(struct rql_join_graph *g, struct key_side sides[2], uint32_t *const columns[2])
{
	const struct rql_dimension *of[2];
	uint32_t *codes[2], count;
	for (uint32_t s = 0; s < 2; s++) {
		of[s] = sides[s].column.of.dimension;
		if (!(codes[s] = RQL_NEW_ARRAY(g->p->arena, uint32_t, of[s]->count + 1u)))
			return rql_error_memory(g->err, 0, "a plan");
	}
	rql_join_rank_codes(of, codes, 2, &count);
	for (uint32_t s = 0; s < 2; s++) {
		struct rql_group_key *part = RQL_NEW(g->p->arena, struct rql_group_key);
		if (!part)
			return rql_error_memory(g->err, 0, "a plan");
		*part = (struct rql_group_key){.source = sides[s].r->request.outputs[sides[s].output].source,
		                               .key_of_code = codes[s],
		                               .key_count = count,
		                               .null_key = RQL_NONE};
		struct rql_output output = {.type = rql_type_simple(RQL_TYPE_BIGINT), .part_count = 1, .parts = part};
		sides[s].column = (struct rql_form_column){.of = {.name = "rank",
		                                                  .type = rql_type_simple(RQL_TYPE_BIGINT),
		                                                  .kind = RQL_STORE_INTEGER,
		                                                  .greatest = (rql_int128)count - 1},
		                                           .nullable = true};
		RQL_TRY(put_key(g, &sides[s], &output, columns[s]));
	}
	return RQL_OK;
}

/* NULL has a field of its own on both sides. */
static rql_status put_null_safe(struct rql_join_graph *g, struct rql_join_test_of *c, struct key_side sides[2],
                                uint32_t *const columns[2])
{
	const bool real = sides[0].column.of.kind == RQL_STORE_REAL;
	uint32_t count = 0;
	c->canonical = real;
	if (!real)
		RQL_TRY(make_parts(g, &sides[0], &sides[1], true, &count));
	for (uint32_t s = 0; s < 2; s++) {
		struct rql_output output = sides[s].r->request.outputs[sides[s].output];
		struct rql_group_key *part = RQL_NEW(g->p->arena, struct rql_group_key);
		if (!part)
			return rql_error_memory(g->err, 0, "a plan");
		*part = sides[s].part;
		if (real)
			output.canonical = output.null_value = true;
		else
			output = (struct rql_output){.type = rql_type_simple(RQL_TYPE_BIGINT), .part_count = 1, .parts = part};
		if (!real)
			sides[s].column = (struct rql_form_column){.of = {.name = "value or NULL",
			                                                  .type = rql_type_simple(RQL_TYPE_BIGINT),
			                                                  .kind = RQL_STORE_INTEGER,
			                                                  .greatest = (rql_int128)count - 1}};
		RQL_TRY(put_key(g, &sides[s], &output, columns[s]));
	}
	return RQL_OK;
}

static rql_status bind_condition(struct rql_join_graph *g, struct rql_join_step *step, struct rql_join_test_of *c)
{
	struct key_side sides[2] = {{.r = &g->relations[c->relation], .output = c->outer_output},
	                            {.r = &g->relations[step->relation], .output = c->inner_output}};
	uint32_t *columns[2] = {&c->outer_column, &c->inner_column};
	const uint32_t count = c->inner ? 2 : 1;
	for (uint32_t s = 0; s < count; s++) {
		RQL_TRY(rql_join_describe(g, &sides[s].r->request, sides[s].output, &sides[s].column));
		if (rql_join_can_fail(&sides[s].r->request, &sides[s].r->request.outputs[sides[s].output].source))
			return refuse(g, "a condition beyond the keys can raise an error in some row");
	}
	struct rql_store_column *a = &sides[0].column.of, *b = &sides[1].column.of;
	c->canonical = false;
	if (!c->inner) {
		if (a->kind != RQL_STORE_INTEGER || a->type.id != RQL_TYPE_BOOLEAN)
			return refuse(g, "a condition beyond the keys is no BOOLEAN");
		a->least = 0;
		a->greatest = 1;
	} else if (a->kind != b->kind || !rql_type_equal(a->type, b->type)) {
		return refuse(g, "a condition beyond the keys compares values of two types");
	} else if (c->null_safe && (may_be_null(&sides[0]) || may_be_null(&sides[1]))) {
		return put_null_safe(g, c, sides, columns);
	} else if (a->kind != RQL_STORE_REAL && !share_column(&sides[0], &sides[1])) {
		return put_ranks(g, sides, columns);
	}
	for (uint32_t s = 0; s < count; s++) {
		struct rql_output as_it_is = sides[s].r->request.outputs[sides[s].output];
		RQL_TRY(put_key(g, &sides[s], &as_it_is, columns[s]));
	}
	return RQL_OK;
}

/* ---- the whole ---- */

/* How far those columns of a relation move that keys are made of: beyond all that there may be of its form. */
static uint32_t moved(const struct rql_join_relation *r)
{
	return 2 * r->outputs.count;
}

/* The lower halves of columns behind these. */
static rql_status add_lows(struct rql_join_graph *g, struct rql_join_relation *r, struct rql_output *outputs)
{
	for (uint32_t i = 0; i < r->columns.count; i++) {
		struct rql_form_column *upper = &r->form[i];
		if (!upper->of.low)
			continue;
		outputs[i].type = upper->of.type;
		outputs[r->form_count] = outputs[i];
		outputs[r->form_count].source.index = upper->of.low - 1;
		const struct rql_source *source = &outputs[r->form_count].source;
		const char *why = rql_request_describe(&r->request, source, &r->form[r->form_count]);
		if (why)
			return refuse(g, why);
		upper->of.low = ++r->form_count;
		r->low_count++;
	}
	return RQL_OK;
}

static rql_status open_form(struct rql_join_graph *g, struct rql_join_relation *r)
{
	const uint32_t columns = r->columns.count, keys = r->outputs.count - columns, most = moved(r) + columns + keys;
	struct rql_output *outputs = RQL_NEW_ARRAY(g->p->arena, struct rql_output, most + 1u);
	r->form = RQL_NEW_ARRAY(g->p->arena, struct rql_form_column, most + 1u);
	if (!r->form || !outputs)
		return rql_error_memory(g->err, 0, "a plan");
	for (uint32_t i = 0; i < columns; i++)
		RQL_TRY(rql_join_describe_any(g, &r->request, i, &r->form[r->form_count++]));
	/* The keys' columns move behind all that there may be, where they are read from until their keys are made. */
	memcpy(outputs, r->request.outputs, columns * sizeof *outputs);
	memcpy(outputs + moved(r) + columns, r->request.outputs + columns, keys * sizeof *outputs);
	r->request.outputs = outputs;
	return add_lows(g, r, outputs);
}

static rql_status bind_ranges(struct rql_join_graph *g, struct rql_join_step *step)
{
	for (uint32_t i = 0; i < g->ranges->sum_count; i++)
		g->ranges->sums[i].output += moved(&g->relations[g->ranges->sums[i].relation]);
	return rql_join_bind_ranges(g, step);
}

rql_status rql_join_bind(struct rql_join_graph *g)
{
	for (uint32_t r = 0; r < g->relation_count; r++) { /* perhaps once more, for another device */
		g->relations[r].outputs.count = g->relations[r].columns.count;
		g->relations[r].form_count = g->relations[r].low_count = 0;
	}
	RQL_TRY(add_keys(g));
	for (uint32_t r = 0; r < g->relation_count; r++) {
		RQL_TRY(bind_relation(g, &g->relations[r]));
		RQL_TRY(open_form(g, &g->relations[r]));
	}
	for (uint32_t s = 0; s < g->step_count; s++) {
		for (uint32_t k = 0; k < g->steps[s].key_count; k++) {
			struct rql_join_key *key = &g->steps[s].keys[k];
			const struct rql_join_relation *owner = &g->relations[g->steps[s].owner];
			const struct rql_join_relation *own = &g->relations[g->steps[s].relation];
			key->outer_output += moved(owner);
			key->inner_output += moved(own);
		}
		const uint32_t conditions = g->steps[s].condition_count; /* keys may need more */
		if (g->steps[s].key_count)
			RQL_TRY(bind_key(g, &g->steps[s]));
		for (uint32_t k = 0; k < conditions; k++) {
			struct rql_join_test_of *c = &g->steps[s].conditions[k];
			const struct rql_join_relation *outer = &g->relations[c->relation], *inner = &g->relations[g->steps[s].relation];
			c->outer_output += moved(outer);
			c->inner_output += moved(inner);
			if (!g->steps[s].ranges)
				RQL_TRY(bind_condition(g, &g->steps[s], c));
		}
		if (g->steps[s].ranges)
			RQL_TRY(bind_ranges(g, &g->steps[s]));
		if (!g->steps[s].key_count) { /* of an ASOF join, or one by ranges: its values stand for a key */
			g->steps[s].outer_column = g->steps[s].conditions[0].outer_column;
			g->steps[s].inner_column = g->steps[s].conditions[0].inner_column;
		}
	}
	return RQL_OK;
}
