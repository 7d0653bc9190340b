/* Numbers that are two columns of a form (column/form.h): sums of groups on a GPU that may take more than 64 bits. What
 * compares them compares the upper halves, and where these are equal the lower ones. Sums, differences and multiples of
 * them are computed by halves, whose lower ones are carried. All else that reads them as one number does not find them
 * (rql_scan_find_column), and is refused. A half is an expression of BIGINT. */
#include <string.h>

#include "bind/star/scan_bind.h"
#include "column/form.h"
#include "sql/rel/rel_edit.h"

uint32_t rql_scan_find_halves(const struct rql_store_snapshot *snapshot, const uint32_t *column_ids,
                              const struct rql_expr *column)
{
	if (column->kind != RQL_EXPR_COLUMN || column->type.id == RQL_TYPE_BIGINT || column->index == UINT32_MAX)
		return RQL_NONE;
	for (uint32_t i = 0; i < snapshot->column_count; i++)
		if (column_ids[i] == column->index)
			return snapshot->columns[i].low ? i : RQL_NONE;
	return RQL_NONE;
}

#define FACTOR_MOST ((rql_int128)1 << RQL_FORM_LOW_BITS) /* a lower half times it is a BIGINT */

struct halves {
	const struct rql_expr *upper, *lower;
};

static bool is_exact(struct rql_type type)
{
	return (rql_type_is_integer(type) && type.id != RQL_TYPE_UHUGEINT) || type.id == RQL_TYPE_DECIMAL;
}

static struct rql_expr *node(struct rql_arena *arena, enum rql_expr_kind kind, const char *name,
                             const struct rql_expr *a, const struct rql_expr *b)
{
	struct rql_expr *e = a && b ? rql_expr_new(arena, kind, rql_type_simple(RQL_TYPE_BOOLEAN), 2) : NULL;
	if (!e)
		return NULL;
	e->name = name;
	e->children[0] = (struct rql_expr *)(uintptr_t)a;
	e->children[1] = (struct rql_expr *)(uintptr_t)b;
	return e;
}

static struct rql_expr *number(struct rql_arena *arena, rql_int128 value)
{
	struct rql_expr *e = rql_expr_new(arena, RQL_EXPR_CONSTANT, rql_type_simple(RQL_TYPE_BIGINT), 0);
	if (e)
		e->value = (struct rql_value){.type = e->type, .integer = value};
	return e;
}

static struct rql_expr *column_of(const struct rql_scan_binding *b, const struct rql_expr *of, uint32_t column)
{
	struct rql_expr *e = rql_expr_new(b->arena, RQL_EXPR_COLUMN, rql_type_simple(RQL_TYPE_BIGINT), 0);
	if (!e)
		return NULL;
	e->table = of->table;
	e->index = b->column_ids[column];
	return e;
}

static struct rql_expr *compute(struct rql_arena *arena, const char *op, const struct rql_expr *a,
                                const struct rql_expr *b)
{
	struct rql_expr *e = node(arena, RQL_EXPR_FUNCTION, op, a, b);
	if (e)
		e->type = rql_type_simple(RQL_TYPE_BIGINT);
	return e;
}

/* The lower half is `low`, no less than 0, less what it has beyond its bits, which the upper one has more. */
static struct halves carry(const struct rql_scan_binding *b, const struct rql_expr *upper, const struct rql_expr *low)
{
	const struct rql_expr *one = number(b->arena, (rql_int128)1 << RQL_FORM_LOW_BITS);
	return (struct halves){.upper = compute(b->arena, "+", upper, compute(b->arena, "//", low, one)),
	                       .lower = compute(b->arena, "%", low, one)};
}

static struct halves add(const struct rql_scan_binding *b, const struct halves *x, const struct halves *y)
{
	return carry(b, compute(b->arena, "+", x->upper, y->upper), compute(b->arena, "+", x->lower, y->lower));
}

/* One of the upper half is lent to the lower one. */
static struct halves subtract(const struct rql_scan_binding *b, const struct halves *x, const struct halves *y)
{
	const struct rql_expr *lent = number(b->arena, (rql_int128)1 << RQL_FORM_LOW_BITS), *one = number(b->arena, 1);
	const struct rql_expr *upper = compute(b->arena, "-", compute(b->arena, "-", x->upper, y->upper), one);
	return carry(b, upper, compute(b->arena, "-", compute(b->arena, "+", x->lower, lent), y->lower));
}

static struct halves multiply(const struct rql_scan_binding *b, const struct halves *x, rql_int128 by)
{
	const struct rql_expr *factor = number(b->arena, by < 0 ? -by : by), *zero = number(b->arena, 0);
	const struct halves none = {zero, zero};
	const struct halves product =
		carry(b, compute(b->arena, "*", x->upper, factor), compute(b->arena, "*", x->lower, factor));
	return by < 0 ? subtract(b, &none, &product) : product;
}

static bool is_constant(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_CONSTANT && !e->value.is_null;
}

static bool halve(const struct rql_scan_binding *b, const struct rql_expr *e, struct halves *out);

static bool halve_product(const struct rql_scan_binding *b, const struct rql_expr *e, struct halves *out)
{
	const uint32_t constant = is_constant(e->children[0]) ? 0 : 1;
	const struct rql_expr *factor = e->children[constant];
	struct halves x;
	if (!is_constant(factor) || !is_exact(factor->type) || factor->value.integer > FACTOR_MOST ||
	    factor->value.integer < -FACTOR_MOST || !halve(b, e->children[1 - constant], &x))
		return false;
	*out = multiply(b, &x, factor->value.integer);
	return true;
}

static bool halve_sum(const struct rql_scan_binding *b, const struct rql_expr *e, struct halves *out)
{
	struct halves x, y;
	for (uint32_t i = 0; i < 2; i++)
		if (!rql_type_equal(e->children[i]->type, e->type))
			return false;
	if (!halve(b, e->children[0], &x) || !halve(b, e->children[1], &y))
		return false;
	*out = e->name[0] == '+' ? add(b, &x, &y) : subtract(b, &x, &y);
	return true;
}

/* false: it has no halves. A NULL among them: out of memory. */
static bool halve(const struct rql_scan_binding *b, const struct rql_expr *e, struct halves *out)
{
	const uint32_t upper = rql_scan_find_halves(b->snapshot, b->column_ids, e);
	if (is_constant(e)) {
		const rql_int128 high = e->value.integer >> RQL_FORM_LOW_BITS;
		out->upper = number(b->arena, high);
		out->lower = number(b->arena, e->value.integer & RQL_FORM_LOW_MASK);
		return is_exact(e->type) && high >= INT64_MIN && high <= INT64_MAX;
	}
	if (e->kind == RQL_EXPR_FUNCTION && e->child_count == 2 && is_exact(e->type))
		return !strcmp(e->name, "*")                              ? halve_product(b, e, out)
		       : !strcmp(e->name, "+") || !strcmp(e->name, "-") ? halve_sum(b, e, out)
		                                                          : false;
	if (upper == RQL_NONE)
		return false;
	out->upper = column_of(b, e, upper);
	out->lower = column_of(b, e, b->snapshot->columns[upper].low - 1);
	return true;
}

struct reading {
	const struct rql_scan_binding *b;
	bool halves;
};

static bool note_halves(const struct rql_expr *leaf, void *state)
{
	struct reading *r = state;
	r->halves |= leaf->kind == RQL_EXPR_COLUMN &&
	             rql_scan_find_halves(r->b->snapshot, r->b->column_ids, leaf) != RQL_NONE;
	return !r->halves;
}

static bool reads_halves(const struct rql_scan_binding *b, const struct rql_expr *e)
{
	struct reading r = {.b = b};
	if (e->kind == RQL_EXPR_COLUMN)
		(void)note_halves(e, &r);
	else
		rql_expr_leaves(e, note_halves, &r);
	return r.halves;
}

bool rql_scan_halve(const struct rql_scan_binding *b, const struct rql_expr *e, const struct rql_expr *out[2])
{
	struct halves halves;
	if (!reads_halves(b, e) || !halve(b, e, &halves))
		return false;
	out[0] = halves.upper;
	out[1] = halves.lower;
	return true;
}

/* Against a constant whose upper half no BIGINT is: as against the greatest or the least of them, and beyond it. */
static struct rql_expr *compare_beyond(const struct rql_scan_binding *b, const char *op, const struct rql_expr *column,
                                       bool above)
{
	const bool all = !strcmp(op, "<>") || (op[0] != '=' && (op[0] == '<') == above);
	const char *always = above ? "<=" : ">=", *never = above ? ">" : "<";
	return node(b->arena, RQL_EXPR_COMPARE, all ? always : never, column,
	            number(b->arena, above ? INT64_MAX : INT64_MIN));
}

static struct rql_expr *compare_halves(const struct rql_scan_binding *b, const char *op, const struct halves *x,
                                       const struct halves *y)
{
	const bool equal = !strcmp(op, "="), unequal = !strcmp(op, "<>");
	const char *strict = op[0] == '<' ? "<" : ">";
	struct rql_expr *upper = node(b->arena, RQL_EXPR_COMPARE, equal || unequal ? op : strict, x->upper, y->upper);
	struct rql_expr *lower = node(b->arena, RQL_EXPR_COMPARE, op, x->lower, y->lower);
	if (equal || unequal)
		return node(b->arena, equal ? RQL_EXPR_AND : RQL_EXPR_OR, NULL, upper, lower);
	struct rql_expr *same = node(b->arena, RQL_EXPR_COMPARE, "=", x->upper, y->upper);
	return node(b->arena, RQL_EXPR_OR, NULL, upper, node(b->arena, RQL_EXPR_AND, NULL, same, lower));
}

/* NULL: it is none of numbers with halves. */
static struct rql_expr *compare(const struct rql_scan_binding *b, const char *op, const struct rql_expr *left,
                                const struct rql_expr *right)
{
	const rql_int128 beyond = is_constant(right) ? right->value.integer >> RQL_FORM_LOW_BITS : 0;
	struct halves x, y;
	if (!rql_type_equal(left->type, right->type) || left->kind == RQL_EXPR_CONSTANT ||
	    (!reads_halves(b, left) && !reads_halves(b, right)) || !halve(b, left, &x))
		return NULL;
	if (beyond < INT64_MIN || beyond > INT64_MAX)
		return compare_beyond(b, op, x.upper, beyond > 0);
	return halve(b, right, &y) ? compare_halves(b, op, &x, &y) : NULL;
}

static struct rql_expr *between(const struct rql_scan_binding *b, const struct rql_expr *e)
{
	return node(b->arena, RQL_EXPR_AND, NULL,
	            compare(b, e->name[0] == '[' ? ">=" : ">", e->children[0], e->children[1]),
	            compare(b, e->name[1] == ']' ? "<=" : "<", e->children[0], e->children[2]));
}

static struct rql_expr *in(const struct rql_scan_binding *b, const struct rql_expr *e)
{
	struct rql_expr *out = compare(b, "=", e->children[0], e->children[1]);
	for (uint32_t i = 2; out && i < e->child_count; i++)
		out = node(b->arena, RQL_EXPR_OR, NULL, out, compare(b, "=", e->children[0], e->children[i]));
	return out;
}

static struct rql_expr *is_null(const struct rql_scan_binding *b, const struct rql_expr *e)
{
	struct halves x;
	struct rql_expr *out = NULL;
	if (!reads_halves(b, e->children[0]) || !halve(b, e->children[0], &x))
		return NULL;
	if (x.upper && (out = rql_expr_new(b->arena, e->kind, e->type, 1)))
		out->children[0] = (struct rql_expr *)(uintptr_t)x.upper;
	return out;
}

/* Of an integer that is one column beside others with halves: nothing, and all of it. */
static struct rql_expr *half_of_whole(const struct rql_scan_binding *b, const struct rql_expr *e, bool upper)
{
	const struct rql_type bigint = rql_type_simple(RQL_TYPE_BIGINT);
	struct rql_expr *own = (struct rql_expr *)(uintptr_t)e, *cast = rql_expr_new(b->arena, RQL_EXPR_CAST, bigint, 1);
	if (!cast || !rql_type_is_integer(e->type))
		return NULL;
	cast->children[0] = own;
	if (!upper)
		return cast;
	struct rql_expr *choice = rql_expr_new(b->arena, RQL_EXPR_CASE, bigint, 3);
	struct rql_expr *test = rql_expr_new(b->arena, RQL_EXPR_IS_NULL, rql_type_simple(RQL_TYPE_BOOLEAN), 1);
	if (!choice || !test || !(choice->children[2] = number(b->arena, 0)) || !(choice->children[1] = number(b->arena, 0)))
		return NULL;
	choice->children[1]->value = rql_value_null(bigint);
	choice->children[0] = test;
	test->children[0] = own;
	return choice;
}

/* NULL: it is none of a number with halves. */
static struct rql_expr *half(const struct rql_scan_binding *b, const struct rql_expr *e)
{
	const bool upper = !strcmp(e->name, RQL_UPPER_HALF);
	struct halves x;
	if (!upper && strcmp(e->name, RQL_LOWER_HALF) != 0)
		return NULL;
	if (!reads_halves(b, e->children[0]))
		return half_of_whole(b, e->children[0], upper);
	return halve(b, e->children[0], &x) ? (struct rql_expr *)(uintptr_t)(upper ? x.upper : x.lower) : NULL;
}

/* rql_replace_fn */
static struct rql_expr *replace(struct rql_arena *arena, const struct rql_expr *e, void *state)
{
	const struct rql_scan_binding *b = state;
	(void)arena;
	switch (e->kind) {
	case RQL_EXPR_COMPARE:
		return e->name[0] == 'I' ? NULL : compare(b, e->name, e->children[0], e->children[1]);
	case RQL_EXPR_BETWEEN:
		return between(b, e);
	case RQL_EXPR_IN:
		return in(b, e);
	case RQL_EXPR_IS_NULL:
	case RQL_EXPR_IS_NOT_NULL:
		return is_null(b, e);
	case RQL_EXPR_FUNCTION:
		return half(b, e);
	case RQL_EXPR_COLUMN:
	case RQL_EXPR_REF:
		return (struct rql_expr *)(uintptr_t)e;
	default:
		return NULL;
	}
}

const struct rql_expr *rql_scan_over_halves(struct rql_scan_binding *b, const struct rql_expr *e)
{
	bool some = false;
	for (uint32_t i = 0; i < b->snapshot->column_count; i++)
		some |= b->snapshot->columns[i].low != 0;
	return some ? rql_expr_transform(b->arena, e, replace, b) : e;
}
