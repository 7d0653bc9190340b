/* The conditions of a scan: sets of codes and ranges where one column is compared with constants, programs for all
 * else. */
#include <math.h>
#include <string.h>
#include "bind/relation/codes.h"
#include "bind/relation/codes_memo.h"
#include "bind/star/scan_bind.h"

#define INT128_GREATEST ((rql_int128)(((rql_uint128)1 << 127) - 1))
#define INT128_LEAST (-INT128_GREATEST - 1)

/* ---- the one test of a column: conditions of the same form are put together ---- */

/* Unsigned integers of 128 bits: bounds are their bits, and their order is that of bits. */
static bool is_uhugeint(const struct rql_store_column *column)
{
	return column->kind == RQL_STORE_INTEGER && column->type.id == RQL_TYPE_UHUGEINT;
}

static struct rql_conjunct *find_test(struct rql_scan_binding *b, enum rql_test test, uint32_t column)
{
	for (uint32_t i = 0; i < b->conjunct_count; i++)
		if (b->conjuncts[i].test == test && b->conjuncts[i].index == column) {
			b->conjuncts[i].at_first &= b->at_first;
			b->conjuncts[i].point = 0;
			return &b->conjuncts[i];
		}
	struct rql_conjunct *c = &b->conjuncts[b->conjunct_count++];
	const bool bits = is_uhugeint(&b->snapshot->columns[column]);
	*c = (struct rql_conjunct){.test = test,
	                           .index = column,
	                           .or_null = test == RQL_TEST_IN_CODES,
	                           .at_first = b->at_first,
	                           .least = bits ? 0 : INT128_LEAST,
	                           .greatest = bits ? -1 : INT128_GREATEST,
	                           .real_least = -HUGE_VAL,
	                           .real_greatest = NAN};
	return c;
}

/* `column <op> constant` of the column's type, neither NULL nor one of the IS DISTINCT forms. */
static bool is_bound(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_COMPARE && e->children[0]->kind == RQL_EXPR_COLUMN &&
	       e->children[1]->kind == RQL_EXPR_CONSTANT && !e->children[1]->value.is_null && e->name[0] != 'I' &&
	       strcmp(e->name, "<>") != 0 && rql_type_equal(e->children[0]->type, e->children[1]->type);
}

/* ... and its value is that of a point of the statement (sql/rel/rel.h): which one. Only a test that stands alone is one. */
static uint32_t point_of(const struct rql_scan_binding *b, const struct rql_expr *e, uint32_t tests_before)
{
	const bool alone = b->conjunct_count > tests_before;
	return alone && is_bound(e) && strcmp(e->name, "=") == 0 ? e->children[1]->literal : 0;
}

/* ---- coded columns ---- */

/* The codes that earlier conditions leave; NULL: all. */
static const uint64_t *codes_left(const struct rql_scan_binding *b, uint32_t column)
{
	for (uint32_t i = 0; i < b->conjunct_count; i++)
		if (b->conjuncts[i].test == RQL_TEST_IN_CODES && b->conjuncts[i].index == column)
			return b->conjuncts[i].codes;
	return NULL;
}

/* A dictionary of a snapshot lives as long as the planning, so what was found over it holds. */
static rql_status select_codes(struct rql_scan_binding *b, const struct rql_dimension *d, const struct rql_expr *e,
                               const uint64_t *within, uint64_t **out)
{
	const uint64_t *known = rql_codes_memo_find(b->ctx->codes, d, e, false);
	if (!known) {
		RQL_TRY(rql_codes_select(b->ctx, b->arena, d, e, false, within, out, b->err));
		if (!within)
			rql_codes_memo_put(b->ctx->codes, d, e, false, *out);
		return RQL_OK;
	}
	uint64_t *set = rql_codes_new(b->arena, d);
	if (!set)
		return rql_error_memory(b->err, 0, "a plan");
	memcpy(set, known, rql_codes_words(d) * sizeof *set);
	*out = set;
	return RQL_OK;
}

static rql_status test_codes(struct rql_scan_binding *b, const struct rql_expr *e, uint32_t column)
{
	const struct rql_dimension *d = b->snapshot->columns[column].dimension;
	struct rql_expr *over_ref = rql_scan_over_ref(b->arena, e);
	uint64_t *set = NULL;
	if (!over_ref)
		return rql_error_memory(b->err, 0, "a plan");
	RQL_TRY(select_codes(b, d, over_ref, codes_left(b, column), &set));
	const uint32_t before = b->conjunct_count;
	struct rql_conjunct *c = find_test(b, RQL_TEST_IN_CODES, column);
	c->point = point_of(b, e, before);
	for (uint32_t w = 0; c->codes && w < rql_codes_words(d); w++)
		set[w] &= c->codes[w];
	bool null = d->has_null && rql_bit(set, d->count - 1);
	c->codes = set;
	c->or_null = c->or_null && null;
	return RQL_OK;
}

/* ---- integers and reals ---- */

/* A condition that DuckDB tests while it reads the table, before every expression: a column against a constant. */
static bool is_first(const struct rql_expr *e)
{
	static const char *const ops[] = {"=", "<", "<=", ">", ">="};
	bool null = e->kind == RQL_EXPR_IS_NULL || e->kind == RQL_EXPR_IS_NOT_NULL, compares = false;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]) && e->kind == RQL_EXPR_COMPARE; i++)
		compares |= !strcmp(e->name, ops[i]);
	if ((!null && !compares) || e->children[0]->kind != RQL_EXPR_COLUMN)
		return false;
	return null || (e->children[1]->kind == RQL_EXPR_CONSTANT &&
	                rql_type_equal(e->children[0]->type, e->children[1]->type));
}

static bool is_integral(const struct rql_store_column *column)
{
	return column->kind == RQL_STORE_INTEGER && column->type.id != RQL_TYPE_UHUGEINT;
}

static void narrow_integers(struct rql_conjunct *c, const char *op, rql_int128 value)
{
	bool equal = op[0] == '=' || op[1] == '=';
	rql_int128 least = op[0] == '<' ? INT128_LEAST : value, greatest = op[0] == '>' ? INT128_GREATEST : value;
	bool nothing = !equal && (op[0] == '<' ? value == INT128_LEAST : value == INT128_GREATEST);
	if (!equal && !nothing) {
		least += op[0] == '>';
		greatest -= op[0] == '<';
	}
	if (nothing) {
		least = INT128_GREATEST;
		greatest = INT128_LEAST;
	}
	c->least = least > c->least ? least : c->least;
	c->greatest = greatest < c->greatest ? greatest : c->greatest;
}

/* The same of a UHUGEINT. Where none leaves 64 bits, bounds stay within them, and are as those of other integers. */
static void narrow_bits(const struct rql_store_column *stored, struct rql_conjunct *c, const char *op, rql_int128 value)
{
	const rql_uint128 bits = (rql_uint128)value, last = stored->wide ? (rql_uint128)-1 : (rql_uint128)INT64_MAX;
	const bool equal = op[0] == '=' || op[1] == '=', below = op[0] == '<', above = op[0] == '>';
	rql_uint128 least = (rql_uint128)c->least, greatest = (rql_uint128)c->greatest;
	bool nothing = !equal && bits == (below ? 0 : (rql_uint128)-1);
	const rql_uint128 from = bits + (above && !equal), to = bits - (below && !equal);
	if (!below && from > least)
		least = from;
	if (!above && to < greatest)
		greatest = to;
	greatest = greatest < last ? greatest : last;
	nothing |= least > greatest;
	c->least = nothing ? 1 : (rql_int128)least;
	c->greatest = nothing ? 0 : (rql_int128)greatest;
}

static bool real_above(double a, double b) /* DuckDB's order: NaN is the greatest */
{
	return isnan(a) ? !isnan(b) : a > b;
}

static void narrow_reals(struct rql_conjunct *c, const char *op, double value)
{
	double least = op[0] == '<' ? -HUGE_VAL : value, greatest = op[0] == '>' ? NAN : value;
	bool something = true;
	if (op[0] != '=' && op[1] != '=')
		something = rql_real_next(value, op[0] == '>', op[0] == '>' ? &least : &greatest);
	if (!something) {
		least = HUGE_VAL;
		greatest = -HUGE_VAL;
	}
	c->real_least = real_above(least, c->real_least) ? least : c->real_least;
	c->real_greatest = real_above(c->real_greatest, greatest) ? greatest : c->real_greatest;
}

/* All integers of the list lie side by side. */
static bool is_run(const struct rql_expr *e, rql_int128 *least, rql_int128 *greatest)
{
	if (e->kind != RQL_EXPR_IN || e->children[0]->kind != RQL_EXPR_COLUMN)
		return false;
	for (uint32_t i = 1; i < e->child_count; i++) {
		const struct rql_expr *c = e->children[i];
		if (c->kind != RQL_EXPR_CONSTANT || c->value.is_null || !rql_type_equal(c->type, e->children[0]->type))
			return false;
		*least = i == 1 || c->value.integer < *least ? c->value.integer : *least;
		*greatest = i == 1 || c->value.integer > *greatest ? c->value.integer : *greatest;
	}
	if ((rql_uint128)*greatest - (rql_uint128)*least >= e->child_count - 1)
		return false;
	for (rql_int128 v = *least; v <= *greatest; v++) {
		bool there = false;
		for (uint32_t i = 1; i < e->child_count && !there; i++)
			there = e->children[i]->value.integer == v;
		if (!there)
			return false;
	}
	return true;
}

static bool test_truth(struct rql_scan_binding *b, const struct rql_expr *e, uint32_t column)
{
	bool negated = e->kind == RQL_EXPR_NOT;
	if (b->snapshot->columns[column].type.id != RQL_TYPE_BOOLEAN ||
	    (negated ? e->children[0] : e)->kind != RQL_EXPR_COLUMN)
		return false;
	narrow_integers(find_test(b, RQL_TEST_IN_RANGE, column), "=", !negated);
	return true;
}

/* false: it needs a program. */
static bool test_values(struct rql_scan_binding *b, const struct rql_expr *e, uint32_t column)
{
	const struct rql_store_column *stored = &b->snapshot->columns[column];
	bool null = e->kind == RQL_EXPR_IS_NULL || e->kind == RQL_EXPR_IS_NOT_NULL;
	const uint32_t before = b->conjunct_count;
	rql_int128 least = 0, greatest = 0;
	if (null && e->children[0]->kind == RQL_EXPR_COLUMN) {
		find_test(b, e->kind == RQL_EXPR_IS_NULL ? RQL_TEST_IS_NULL : RQL_TEST_IS_NOT_NULL, column);
		return true;
	}
	if (is_integral(stored) && is_bound(e)) {
		struct rql_conjunct *c = find_test(b, RQL_TEST_IN_RANGE, column);
		c->point = point_of(b, e, before);
		narrow_integers(c, e->name, e->children[1]->value.integer);
		return true;
	}
	if (is_uhugeint(stored) && is_bound(e)) { /* no point: values that come later may lie elsewhere */
		narrow_bits(stored, find_test(b, RQL_TEST_IN_RANGE, column), e->name, e->children[1]->value.integer);
		return true;
	}
	if (stored->kind == RQL_STORE_REAL && is_bound(e)) {
		struct rql_conjunct *c = find_test(b, RQL_TEST_IN_REALS, column);
		c->point = point_of(b, e, before);
		narrow_reals(c, e->name, e->children[1]->value.real);
		return true;
	}
	if (is_integral(stored) && is_run(e, &least, &greatest)) {
		struct rql_conjunct *c = find_test(b, RQL_TEST_IN_RANGE, column);
		narrow_integers(c, ">=", least);
		narrow_integers(c, "<=", greatest);
		return true;
	}
	return is_integral(stored) && test_truth(b, e, column);
}

/* ---- other conditions of one column of dates: their days, one by one ---- */

/* Most days between a column's least and greatest that are tried. */
#define DAYS_MOST (1 << 16)

uint32_t rql_scan_span(const struct rql_store_column *stored)
{
	bool few = stored->kind == RQL_STORE_INTEGER && stored->type.id == RQL_TYPE_DATE &&
	           stored->least <= stored->greatest && stored->greatest - stored->least < DAYS_MOST;
	return few ? (uint32_t)(stored->greatest - stored->least) + 1 : 0;
}

struct rql_scan_days {
	uint32_t column;
	struct rql_dimension days; /* all of them, in order, and NULL last */
	uint64_t *set;             /* that pass */
	struct rql_expr_list conditions;
};

static bool make_days(struct rql_scan_binding *b, const struct rql_store_column *stored, struct rql_dimension *out)
{
	uint32_t count = rql_scan_span(stored);
	int32_t *days = RQL_NEW_ARRAY(b->arena, int32_t, count + 1u);
	uint64_t *valid = RQL_NEW_ARRAY(b->arena, uint64_t, count / 64 + 1u);
	if (!days || !valid)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		days[i] = (int32_t)(stored->least + i);
		rql_bit_set(valid, i);
	}
	*out = (struct rql_dimension){.type = stored->type, .count = count + 1, .has_null = true};
	out->values = (struct rql_column){.type = stored->type, .data = days, .validity = valid};
	return true;
}

/* NULL: out of memory. */
static struct rql_scan_days *find_days(struct rql_scan_binding *b, uint32_t column)
{
	for (uint32_t i = 0; i < b->days_count; i++)
		if (b->days[i].column == column)
			return &b->days[i];
	if (!b->days)
		b->days = rql_arena_array(b->arena, b->snapshot->column_count, sizeof(*b->days));
	struct rql_scan_days *d = b->days ? &b->days[b->days_count] : NULL;
	if (!d || !make_days(b, &b->snapshot->columns[column], &d->days))
		return NULL;
	d->column = column;
	b->days_count++;
	return d;
}

const struct rql_dimension *rql_scan_days(struct rql_scan_binding *b, uint32_t column)
{
	const struct rql_scan_days *d = find_days(b, column);
	return d ? &d->days : NULL;
}

/* *done false: it needs a program. Which days pass is known before a row is read; when they lie side by side, as those
 * of a year do, the condition is a range of the column. */
static rql_status test_days(struct rql_scan_binding *b, const struct rql_expr *e, uint32_t column, bool *done)
{
	struct rql_error why = {0};
	uint64_t *set = NULL;
	*done = false;
	if (!rql_scan_span(&b->snapshot->columns[column]))
		return RQL_OK;
	struct rql_expr *over_ref = rql_scan_over_ref(b->arena, e);
	struct rql_scan_days *d = find_days(b, column);
	if (!d || !over_ref)
		return rql_error_memory(b->err, 0, "a plan");
	rql_status status = rql_codes_select(b->ctx, b->arena, &d->days, over_ref, false, NULL, &set, &why);
	uint32_t null = d->days.count - 1;
	bool passes_null = status == RQL_OK && rql_bit(set, null);
	if (status == RQL_ERROR_UNSUPPORTED || passes_null) {
		rql_error_clear(&why);
		return RQL_OK;
	}
	if (status != RQL_OK) {
		rql_error_move(b->err, &why);
		return status;
	}
	for (uint32_t w = 0; d->set && w < rql_codes_words(&d->days); w++)
		set[w] &= d->set[w];
	d->set = set;
	*done = true;
	bool added = rql_expr_list_add(b->arena, &d->conditions, (struct rql_expr *)(uintptr_t)e);
	return added ? RQL_OK : rql_error_memory(b->err, 0, "a plan");
}

static rql_status test_program(struct rql_scan_binding *b, const struct rql_expr *e);

/* The days of all conditions as a range; where they are several, the conditions are programs too. */
static rql_status finish_days(struct rql_scan_binding *b, const struct rql_scan_days *d)
{
	uint32_t runs = 0, first = 0, last = 0, days = d->days.count - 1;
	for (uint32_t i = 0; i < days; i++) {
		bool now = rql_bit(d->set, i), before = i && rql_bit(d->set, i - 1);
		first = now && !runs ? i : first;
		runs += now && !before;
		last = now ? i : last;
	}
	struct rql_conjunct *c = find_test(b, RQL_TEST_IN_RANGE, d->column);
	rql_int128 least = b->snapshot->columns[d->column].least;
	narrow_integers(c, ">=", least + first);
	narrow_integers(c, "<=", runs ? least + last : least - 1);
	for (uint32_t i = 0; runs > 1 && i < d->conditions.count; i++)
		RQL_TRY(test_program(b, d->conditions.items[i]));
	return RQL_OK;
}

/* ---- the whole ---- */

static rql_status test_program(struct rql_scan_binding *b, const struct rql_expr *e)
{
	struct rql_program *program;
	uint32_t index = 0;
	if (!(e = rql_scan_as_value(b, e)))
		return rql_error_memory(b->err, 0, "a plan");
	RQL_TRY(rql_compile_filter(&b->compile, &e, 1, &program, b->err));
	RQL_TRY(rql_scan_add_program(b, program, &index));
	b->conjuncts[b->conjunct_count++] = (struct rql_conjunct){.test = RQL_TEST_IS_TRUE, .index = index};
	return RQL_OK;
}

/* The integers of `column IN (...)` that it can be equal to: NULL is none of them, nor what no row has. */
static rql_status list_values(struct rql_scan_binding *b, const struct rql_expr *e, uint32_t column)
{
	const struct rql_store_column *stored = &b->snapshot->columns[column];
	int64_t *values = RQL_NEW_ARRAY(b->arena, int64_t, e->child_count);
	uint32_t count = 0;
	if (!values)
		return rql_error_memory(b->err, 0, "a plan");
	for (uint32_t i = 1; i < e->child_count; i++) {
		const struct rql_expr *c = e->children[i];
		if (c->kind != RQL_EXPR_CONSTANT || !rql_type_equal(c->type, e->children[0]->type))
			return RQL_OK;
		if (!c->value.is_null && stored->least <= c->value.integer && c->value.integer <= stored->greatest)
			values[count++] = (int64_t)c->value.integer;
	}
	b->conjuncts[b->conjunct_count - 1].list =
		(struct rql_value_list){.column = column, .count = count, .values = values};
	return RQL_OK;
}

static rql_status bind_conjunct(struct rql_scan_binding *b, const struct rql_expr *e)
{
	const struct rql_expr *only = rql_scan_only_column(e);
	uint32_t column = only ? rql_scan_find_column(b->snapshot, b->column_ids, only) : RQL_NONE;
	if (column == RQL_NONE)
		return test_program(b, e);
	rql_scan_note_part(b, e, column);
	if (b->snapshot->columns[column].kind == RQL_STORE_CODED) {
		struct rql_error why = {0}, *err = b->err;
		b->err = &why;
		rql_status status = test_codes(b, e, column);
		b->err = err;
		if (status != RQL_ERROR_UNSUPPORTED) {
			if (status != RQL_OK)
				rql_error_move(err, &why);
			return status;
		}
		rql_error_clear(&why);
		return test_program(b, e);
	}
	bool done = test_values(b, e, column);
	if (!done)
		RQL_TRY(test_days(b, e, column, &done));
	if (done)
		return RQL_OK;
	RQL_TRY(test_program(b, e));
	const struct rql_store_column *stored = &b->snapshot->columns[column];
	rql_scan_true_ranges(b->arena, e, column, stored->type.id, &b->conjuncts[b->conjunct_count - 1].ranges);
	bool list = e->kind == RQL_EXPR_IN && e->children[0]->kind == RQL_EXPR_COLUMN;
	return list && is_integral(stored) && !stored->wide ? list_values(b, e, column) : RQL_OK;
}

/* Only rows whose key is not NULL pass; none: no row does. */
static rql_status refuse_null(struct rql_scan_binding *b, uint32_t column, bool none)
{
	const struct rql_store_column *stored = &b->snapshot->columns[column];
	if (stored->kind != RQL_STORE_CODED) {
		if (none && is_uhugeint(stored))
			narrow_bits(stored, find_test(b, RQL_TEST_IN_RANGE, column), "<", 0);
		else if (none)
			narrow_integers(find_test(b, RQL_TEST_IN_RANGE, column), "<", INT128_LEAST);
		else
			find_test(b, RQL_TEST_IS_NOT_NULL, column);
		return RQL_OK;
	}
	const struct rql_dimension *d = stored->dimension;
	uint64_t *set = RQL_NEW_ARRAY(b->arena, uint64_t, rql_codes_words(d) + 1u);
	if (!set)
		return rql_error_memory(b->err, 0, "a plan");
	struct rql_conjunct *c = find_test(b, RQL_TEST_IN_CODES, column);
	for (uint32_t code = 0; code < d->count - d->has_null && !none; code++)
		if (rql_bit_valid(c->codes, code))
			rql_bit_set(set, code);
	c->codes = set;
	c->or_null = false;
	return RQL_OK;
}

/* What an anti join does with NULL, where it is not "has no match": NOT IN leaves it open, unless the side has no row, and
 * leaves every row open when the side has a NULL; NULL may have a match. */
static rql_status bind_nulls(struct rql_scan_binding *b, uint32_t subtree)
{
	const struct rql_star_subtree *tree = &b->star->subtrees[subtree];
	const struct rql_scan_dim *dim = &b->dims[subtree];
	if (!tree->side || tree->side->kind != RQL_SIDE_ANTI || tree->side->key_count > 1)
		return RQL_OK;
	bool null_safe = tree->side->keys[0].null_safe, open = tree->side->not_in && !null_safe;
	if (!(null_safe && dim->null_key) && !(open && dim->rows))
		return RQL_OK;
	return refuse_null(b, rql_scan_find_column(b->snapshot, b->column_ids, tree->fact), open && dim->null_key);
}

rql_status rql_scan_bind_conjuncts(struct rql_scan_binding *b)
{
	for (uint32_t i = 0; i < b->star->conjuncts.count; i++) {
		const struct rql_expr *e = rql_scan_over_halves(b, b->star->conjuncts.items[i]);
		if (!e)
			return rql_error_memory(b->err, 0, "a plan");
		b->at_first = is_first(e);
		RQL_TRY(bind_conjunct(b, e));
	}
	b->at_first = false;
	for (uint32_t i = 0; i < b->days_count; i++)
		if (b->days[i].set)
			RQL_TRY(finish_days(b, &b->days[i]));
	for (uint32_t s = 0; s < b->star->subtree_count; s++)
		RQL_TRY(bind_nulls(b, s));
	return rql_scan_finish_tuples(b);
}
