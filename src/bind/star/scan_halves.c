/* Numbers that are two columns of a form (column/form.h): sums of groups on a GPU that may take more than 64 bits. What
 * compares them compares the upper halves, and where these are equal the lower ones. All else that reads them as one
 * number does not find them (rql_scan_find_column), and is refused. A half is a COLUMN of BIGINT. */
#include <string.h>

#include "bind/star/scan_bind.h"
#include "column/form.h"
#include "sql/rel_edit.h"

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

struct halves {
	const struct rql_expr *upper, *lower;
};

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

/* false: it has no halves. A NULL among them: out of memory. */
static bool halve(const struct rql_scan_binding *b, const struct rql_expr *e, struct halves *out)
{
	const uint32_t upper = rql_scan_find_halves(b->snapshot, b->column_ids, e);
	if (e->kind == RQL_EXPR_CONSTANT && !e->value.is_null) {
		out->upper = number(b->arena, e->value.integer >> RQL_FORM_LOW_BITS);
		out->lower = number(b->arena, e->value.integer & RQL_FORM_LOW_MASK);
		return true;
	}
	if (upper == RQL_NONE)
		return false;
	out->upper = column_of(b, e, upper);
	out->lower = column_of(b, e, b->snapshot->columns[upper].low - 1);
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
	const rql_int128 beyond = right->kind == RQL_EXPR_CONSTANT ? right->value.integer >> RQL_FORM_LOW_BITS : 0;
	struct halves x, y;
	if (!rql_type_equal(left->type, right->type) || left->kind == RQL_EXPR_CONSTANT || !halve(b, left, &x) ||
	    !halve(b, right, &y))
		return NULL;
	if (beyond < INT64_MIN || beyond > INT64_MAX)
		return compare_beyond(b, op, x.upper, beyond > 0);
	return compare_halves(b, op, &x, &y);
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
	if (e->children[0]->kind != RQL_EXPR_COLUMN || !halve(b, e->children[0], &x))
		return NULL;
	if (x.upper && (out = rql_expr_new(b->arena, e->kind, e->type, 1)))
		out->children[0] = (struct rql_expr *)(uintptr_t)x.upper;
	return out;
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
