/* For which values of its one column a condition is true: what a method that selects rows by ranges asks of a program
 * (request.h). Comparisons with constants, lists, IS NULL and all that AND, OR and NOT make of them, in SQL's logic of
 * three values; anything else has no such answer. */
#include "bind/star/scan_bind.h"

#include <stdlib.h>
#include <string.h>

#define INT128_GREATEST ((rql_int128)(((rql_uint128)1 << 127) - 1))
#define INT128_LEAST (-INT128_GREATEST - 1)
#define RANGES_MOST 4096u

struct set {
	uint32_t count;
	struct rql_value_range *ranges; /* ascending, disjoint */
};
/* Of all values, and of NULL: when it is true, and when it is false. Else it is NULL. */
struct truth {
	struct set yes, no;
	bool null_yes, null_no;
};
struct solver {
	struct rql_arena *arena;
	rql_type_id type; /* of the column: of reals and UHUGEINTs values are places (column/value/value.h) */
	bool failed;      /* out of memory, or too many ranges */
};

/* ---- sets ---- */
static struct set new_set(struct solver *s, uint32_t most)
{
	struct set out = {.ranges = RQL_NEW_ARRAY(s->arena, struct rql_value_range, most + 1u)};
	s->failed = s->failed || !out.ranges || most > 2 * RANGES_MOST;
	return s->failed ? (struct set){0} : out;
}

static void put(struct set *set, rql_int128 least, rql_int128 greatest)
{
	struct rql_value_range *last = set->count ? &set->ranges[set->count - 1] : NULL;
	if (last && (last->greatest == INT128_GREATEST || last->greatest + 1 >= least))
		last->greatest = greatest > last->greatest ? greatest : last->greatest;
	else
		set->ranges[set->count++] = (struct rql_value_range){least, greatest};
}

static struct set range(struct solver *s, rql_int128 least, rql_int128 greatest)
{
	struct set out = new_set(s, 1);
	if (!s->failed && least <= greatest)
		put(&out, least, greatest);
	return out;
}

static struct set every(struct solver *s)
{
	return range(s, INT128_LEAST, INT128_GREATEST);
}

static struct set join(struct solver *s, struct set a, struct set b)
{
	struct set out = new_set(s, a.count + b.count);
	for (uint32_t i = 0, k = 0; (i < a.count || k < b.count) && !s->failed;) {
		const bool first = k == b.count || (i < a.count && a.ranges[i].least <= b.ranges[k].least);
		const struct rql_value_range next = first ? a.ranges[i++] : b.ranges[k++];
		put(&out, next.least, next.greatest);
	}
	return out;
}

static struct set meet(struct solver *s, struct set a, struct set b)
{
	struct set out = new_set(s, a.count + b.count);
	for (uint32_t i = 0, k = 0; i < a.count && k < b.count && !s->failed;) {
		const struct rql_value_range *x = &a.ranges[i], *y = &b.ranges[k];
		const rql_int128 least = x->least > y->least ? x->least : y->least;
		const rql_int128 greatest = x->greatest < y->greatest ? x->greatest : y->greatest;
		if (least <= greatest)
			put(&out, least, greatest);
		i += x->greatest <= y->greatest;
		k += x->greatest > y->greatest;
	}
	return out;
}

/* ---- logic ---- */
static struct truth negate(struct truth a)
{
	return (struct truth){.yes = a.no, .no = a.yes, .null_yes = a.null_no, .null_no = a.null_yes};
}

static struct truth both(struct solver *s, struct truth a, struct truth b)
{
	return (struct truth){.yes = meet(s, a.yes, b.yes),
	                      .no = join(s, a.no, b.no),
	                      .null_yes = a.null_yes && b.null_yes,
	                      .null_no = a.null_no || b.null_no};
}

static struct truth either(struct solver *s, struct truth a, struct truth b)
{
	return negate(both(s, negate(a), negate(b)));
}

/* ---- conditions ---- */
static bool is_column(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_COLUMN;
}

static bool is_constant(const struct rql_expr *e, const struct rql_expr *column)
{
	return e->kind == RQL_EXPR_CONSTANT && rql_type_equal(e->type, column->type);
}

static rql_int128 place_of(const struct solver *s, const struct rql_expr *constant)
{
	if (s->type == RQL_TYPE_FLOAT || s->type == RQL_TYPE_DOUBLE)
		return rql_real_place(constant->value.real);
	return s->type == RQL_TYPE_UHUGEINT ? rql_uhugeint_place(constant->value.integer) : constant->value.integer;
}

/* op: = <> < <= > >=. */
static struct truth compare(struct solver *s, const char *op, const struct rql_expr *constant)
{
	if (constant->value.is_null)
		return (struct truth){0};
	const rql_int128 v = place_of(s, constant);
	const struct set below = v == INT128_LEAST ? (struct set){0} : range(s, INT128_LEAST, v - 1);
	const struct set above = v == INT128_GREATEST ? (struct set){0} : range(s, v + 1, INT128_GREATEST);
	struct truth less = {.yes = below, .no = join(s, range(s, v, v), above)};
	struct truth more = {.yes = above, .no = join(s, below, range(s, v, v))};
	if (op[0] == '<' && op[1] == '>')
		return either(s, less, more);
	if (op[0] == '=')
		return negate(either(s, less, more));
	if (op[0] == '<')
		return op[1] ? negate(more) : less;
	return op[1] ? negate(less) : more;
}

static struct truth is_null(struct solver *s)
{
	return (struct truth){.no = every(s), .null_yes = true};
}

/* IS NOT DISTINCT FROM is never NULL. */
static struct truth same(struct solver *s, const struct rql_expr *constant)
{
	if (constant->value.is_null)
		return is_null(s);
	struct truth equal = compare(s, "=", constant);
	equal.null_no = true;
	return equal;
}

static bool find_truth(struct solver *s, const struct rql_expr *e, struct truth *out);

static bool of_compare(struct solver *s, const struct rql_expr *e, struct truth *out)
{
	if (!is_column(e->children[0]) || !is_constant(e->children[1], e->children[0]))
		return false;
	if (strcmp(e->name, "IS NOT DISTINCT FROM") == 0)
		*out = same(s, e->children[1]);
	else if (strcmp(e->name, "IS DISTINCT FROM") == 0)
		*out = negate(same(s, e->children[1]));
	else
		*out = compare(s, e->name, e->children[1]);
	return true;
}

static int by_least(const void *a, const void *b)
{
	const rql_int128 x = ((const struct rql_value_range *)a)->least, y = ((const struct rql_value_range *)b)->least;
	return (x > y) - (x < y);
}

static struct set complement(struct solver *s, struct set a)
{
	struct set out = new_set(s, a.count + 1);
	rql_int128 from = INT128_LEAST;
	for (uint32_t i = 0; i < a.count && !s->failed; i++) {
		if (a.ranges[i].least > from)
			put(&out, from, a.ranges[i].least - 1);
		if (a.ranges[i].greatest == INT128_GREATEST)
			return out;
		from = a.ranges[i].greatest + 1;
	}
	if (!s->failed)
		put(&out, from, INT128_GREATEST);
	return out;
}

/* What is not in a list with NULL may be NULL. */
static bool of_list(struct solver *s, const struct rql_expr *e, struct truth *out)
{
	struct set values = new_set(s, e->child_count), any = new_set(s, e->child_count);
	uint32_t count = 0;
	bool null = false;
	for (uint32_t i = 1; i < e->child_count && !s->failed; i++) {
		if (!is_column(e->children[0]) || !is_constant(e->children[i], e->children[0]))
			return false;
		null = null || e->children[i]->value.is_null;
		if (!e->children[i]->value.is_null)
			values.ranges[count++].least = place_of(s, e->children[i]);
	}
	if (s->failed || e->child_count < 2)
		return false;
	qsort(values.ranges, count, sizeof(*values.ranges), by_least);
	for (uint32_t i = 0; i < count; i++)
		put(&any, values.ranges[i].least, values.ranges[i].least);
	*out = (struct truth){.yes = any, .no = null ? (struct set){0} : complement(s, any)};
	if (e->kind == RQL_EXPR_NOT_IN)
		*out = negate(*out);
	return true;
}

static bool of_between(struct solver *s, const struct rql_expr *e, struct truth *out)
{
	if (!is_column(e->children[0]) || !is_constant(e->children[1], e->children[0]) ||
	    !is_constant(e->children[2], e->children[0]))
		return false;
	*out = both(s, compare(s, e->name[0] == '[' ? ">=" : ">", e->children[1]),
	            compare(s, e->name[1] == ']' ? "<=" : "<", e->children[2]));
	return true;
}

static bool of_logic(struct solver *s, const struct rql_expr *e, struct truth *out)
{
	struct truth all;
	if (!find_truth(s, e->children[0], &all))
		return false;
	for (uint32_t i = 1; i < e->child_count; i++) {
		struct truth next;
		if (!find_truth(s, e->children[i], &next))
			return false;
		all = e->kind == RQL_EXPR_AND ? both(s, all, next) : either(s, all, next);
	}
	*out = all;
	return true;
}

static bool find_truth(struct solver *s, const struct rql_expr *e, struct truth *out)
{
	switch (e->kind) {
	case RQL_EXPR_COMPARE:
		return of_compare(s, e, out);
	case RQL_EXPR_IN:
	case RQL_EXPR_NOT_IN:
		return of_list(s, e, out);
	case RQL_EXPR_BETWEEN:
		return of_between(s, e, out);
	case RQL_EXPR_AND:
	case RQL_EXPR_OR:
		return of_logic(s, e, out);
	case RQL_EXPR_NOT:
		if (!find_truth(s, e->children[0], out))
			return false;
		*out = negate(*out);
		return true;
	case RQL_EXPR_IS_NULL:
	case RQL_EXPR_IS_NOT_NULL:
		if (!is_column(e->children[0]))
			return false;
		*out = e->kind == RQL_EXPR_IS_NULL ? is_null(s) : negate(is_null(s));
		return true;
	default:
		return false;
	}
}

void rql_scan_true_ranges(struct rql_arena *arena, const struct rql_expr *e, uint32_t column, rql_type_id type,
                          struct rql_value_ranges *out)
{
	struct solver s = {.arena = arena, .type = type};
	struct truth truth;
	if (!find_truth(&s, e, &truth) || s.failed || truth.yes.count > RANGES_MOST)
		return;
	if (!truth.yes.ranges && !(truth.yes = new_set(&s, 0)).ranges)
		return;
	*out = (struct rql_value_ranges){
		.column = column, .count = truth.yes.count, .nulls = truth.null_yes, .ranges = truth.yes.ranges};
}
