/* Expressions back to SQL. The text must bind to the same functions over the same types whatever the session's search
 * path and macros are: every function is written as system.main."name"(...), every constant with its type, and every
 * result is cast to the plan's type (which the binder drops where it is that type already; decimal arithmetic bound
 * anew over the widened arguments of a plan would come out wider otherwise). Nor may default_collation matter: a plan
 * shows what a collation does as functions around the values, so the values themselves are compared as bytes. */
#include <stdio.h>
#include <string.h>
#include "sql/deparse_internal.h"

struct expr_printer {
	struct rql_strbuf *out;
	rql_ref_printer *ref;
	void *state;
};

static bool print(const struct expr_printer *p, const struct rql_expr *expr);

bool rql_type_print_sql(struct rql_strbuf *out, struct rql_type type)
{
	if (type.id == RQL_TYPE_INVALID || type.id == RQL_TYPE_OTHER)
		return false; /* its text is for people: nested types may not survive */
	rql_type_print(out, type);
	return true;
}

static bool print_constant(const struct expr_printer *p, const struct rql_value *value)
{
	struct rql_strbuf text = {0};
	if (value->is_null && value->type.id == RQL_TYPE_SQLNULL) {
		rql_strbuf_put(p->out, "NULL");
		return true;
	}
	bool known = value->type.id != RQL_TYPE_OTHER && rql_value_print(&text, value) && !text.failed;
	const char *sql = rql_strbuf_text(&text);
	if (known && strncmp(sql, "CAST(", 5) == 0) {
		rql_strbuf_put(p->out, sql);
	} else if (known) {
		rql_strbuf_printf(p->out, "CAST(%s AS ", sql);
		known = rql_type_print_sql(p->out, value->type);
		rql_strbuf_putc(p->out, ')');
	}
	rql_strbuf_free(&text);
	return known;
}

/* What is compared, ordered or grouped by. */
static bool print_compared(const struct expr_printer *p, const struct rql_expr *expr)
{
	if (expr->type.id != RQL_TYPE_VARCHAR)
		return print(p, expr);
	rql_strbuf_putc(p->out, '(');
	bool done = print(p, expr);
	rql_strbuf_put(p->out, RQL_AS_BYTES ")");
	return done;
}

/* DuckDB's optimiser drops a cast, and moves arithmetic over, when it is compared with a constant, also where the cast would
 * fail or give NULL. In the statement that this text stands for it had no such comparison to look at. */
static bool is_rewritten(const struct rql_expr *e)
{
	if (e->kind == RQL_EXPR_FUNCTION)
		return e->child_count == 2 && (!strcmp(e->name, "+") || !strcmp(e->name, "-") || !strcmp(e->name, "*"));
	return e->kind == RQL_EXPR_CAST && e->children[0]->kind != RQL_EXPR_CONSTANT && e->type.id != RQL_TYPE_VARCHAR;
}

/* What is compared, out of the optimiser's reach. */
static bool print_operand(const struct expr_printer *p, const struct rql_expr *expr)
{
	if (!is_rewritten(expr))
		return print_compared(p, expr);
	rql_strbuf_put(p->out, "coalesce(");
	bool done = print_compared(p, expr);
	rql_strbuf_put(p->out, ", NULL)");
	return done;
}

typedef bool print_fn(const struct expr_printer *p, const struct rql_expr *expr);

/* a<separator>b<separator>c */
static bool print_each(const struct expr_printer *p, struct rql_expr *const *exprs, uint32_t count,
                       const char *separator, print_fn *one)
{
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			rql_strbuf_put(p->out, separator);
		if (!one(p, exprs[i]))
			return false;
	}
	return true;
}

static bool print_list(const struct expr_printer *p, struct rql_expr *const *exprs, uint32_t count)
{
	return print_each(p, exprs, count, ", ", print);
}

static bool print_infix(const struct expr_printer *p, const struct rql_expr *expr, const char *operator)
{
	rql_strbuf_putc(p->out, '(');
	if (!print_each(p, expr->children, expr->child_count, operator, print))
		return false;
	rql_strbuf_putc(p->out, ')');
	return true;
}

static bool print_compare(const struct expr_printer *p, const struct rql_expr *expr, const char *operator)
{
	char text[32];
	snprintf(text, sizeof(text), " %s ", operator);
	rql_strbuf_putc(p->out, '(');
	bool constant = expr->child_count == 2 && (expr->children[0]->kind == RQL_EXPR_CONSTANT ||
	                                           expr->children[1]->kind == RQL_EXPR_CONSTANT);
	bool done =
		expr->child_count == 2 && print_each(p, expr->children, 2, text, constant ? print_operand : print_compared);
	rql_strbuf_putc(p->out, ')');
	return done;
}

static bool print_suffix(const struct expr_printer *p, const struct rql_expr *expr, const char *suffix)
{
	rql_strbuf_putc(p->out, '(');
	if (!print_operand(p, expr->children[0]))
		return false;
	rql_strbuf_put(p->out, suffix);
	return true;
}

static bool print_cast(const struct expr_printer *p, const struct rql_expr *expr)
{
	rql_strbuf_put(p->out, expr->try_cast ? "TRY_CAST(" : "CAST(");
	if (!print(p, expr->children[0]))
		return false;
	rql_strbuf_put(p->out, " AS ");
	bool known = rql_type_print_sql(p->out, expr->type);
	rql_strbuf_putc(p->out, ')');
	return known;
}

static bool print_in(const struct expr_printer *p, const struct rql_expr *expr)
{
	if (expr->child_count < 2 ||
	    !print_suffix(p, expr, expr->kind == RQL_EXPR_IN ? " IN (" : " NOT IN ("))
		return false;
	if (!print_each(p, expr->children + 1, expr->child_count - 1, ", ", print_compared))
		return false;
	rql_strbuf_put(p->out, "))");
	return true;
}

static bool print_between(const struct expr_printer *p, const struct rql_expr *expr)
{
	bool low_included = expr->name[0] == '[', high_included = expr->name[1] == ']';
	if (low_included && high_included) {
		if (!print_suffix(p, expr, " BETWEEN ") || !print_compared(p, expr->children[1]))
			return false;
		rql_strbuf_put(p->out, " AND ");
	} else {
		if (!print_suffix(p, expr, low_included ? " >= " : " > ") || !print_compared(p, expr->children[1]))
			return false;
		rql_strbuf_put(p->out, " AND ");
		if (!print_operand(p, expr->children[0]))
			return false;
		rql_strbuf_put(p->out, high_included ? " <= " : " < ");
	}
	bool done = print_compared(p, expr->children[2]);
	rql_strbuf_putc(p->out, ')');
	return done;
}

static bool print_case(const struct expr_printer *p, const struct rql_expr *expr)
{
	uint32_t branches = expr->child_count / 2;
	rql_strbuf_put(p->out, "(CASE");
	for (uint32_t i = 0; i < branches; i++) {
		rql_strbuf_put(p->out, " WHEN ");
		if (!print(p, expr->children[2 * i]))
			return false;
		rql_strbuf_put(p->out, " THEN ");
		if (!print(p, expr->children[2 * i + 1]))
			return false;
	}
	rql_strbuf_put(p->out, " ELSE ");
	bool done = branches > 0 && print(p, expr->children[expr->child_count - 1]);
	rql_strbuf_put(p->out, " END)");
	return done;
}

/* ---- calls ---- */
static bool print_orders(const struct expr_printer *p, const struct rql_order *orders, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		rql_strbuf_put(p->out, i ? ", " : "ORDER BY ");
		if (!print_compared(p, orders[i].expr))
			return false;
		rql_strbuf_put(p->out, orders[i].descending ? " DESC" : " ASC");
		rql_strbuf_put(p->out, orders[i].nulls == RQL_NULLS_FIRST ? " NULLS FIRST" : " NULLS LAST");
	}
	return true;
}

static void print_name(const struct expr_printer *p, const char *name)
{
	rql_strbuf_put(p->out, "system.main.");
	rql_strbuf_put_ident(p->out, name);
	rql_strbuf_putc(p->out, '(');
}

static bool print_filter(const struct expr_printer *p, const struct rql_expr *expr)
{
	if (!expr->filter)
		return true;
	rql_strbuf_put(p->out, " FILTER (WHERE ");
	bool done = print(p, expr->filter);
	rql_strbuf_putc(p->out, ')');
	return done;
}

/* min and max are the aggregates that compare under a collation. */
static bool print_arguments(const struct expr_printer *p, const struct rql_expr *expr)
{
	bool compares = strcmp(expr->name, "min") == 0 || strcmp(expr->name, "max") == 0;
	return print_each(p, expr->children, expr->child_count, ", ", compares ? print_compared : print);
}

static bool print_aggregate(const struct expr_printer *p, const struct rql_expr *expr)
{
	print_name(p, expr->name);
	if (expr->distinct)
		rql_strbuf_put(p->out, "DISTINCT ");
	if (!print_arguments(p, expr))
		return false;
	if (expr->order_count)
		rql_strbuf_putc(p->out, ' ');
	if (!print_orders(p, expr->orders, expr->order_count))
		return false;
	rql_strbuf_putc(p->out, ')');
	return print_filter(p, expr);
}

/* One end of a frame, "EXPR_PRECEDING_ROWS" and the like; its unit (ROWS, GROUPS, RANGE, or NULL for both) to *unit. */
static bool print_bound(const struct expr_printer *p, const char *bound, const struct rql_expr *offset,
                        const char **unit)
{
	static const struct {
		const char *name, *sql, *unit;
		bool offset;
	} bounds[] = {
		{"UNBOUNDED_PRECEDING", "UNBOUNDED PRECEDING", NULL, false},
		{"UNBOUNDED_FOLLOWING", "UNBOUNDED FOLLOWING", NULL, false},
		{"CURRENT_ROW_RANGE", "CURRENT ROW", "RANGE", false},
		{"CURRENT_ROW_ROWS", "CURRENT ROW", "ROWS", false},
		{"CURRENT_ROW_GROUPS", "CURRENT ROW", "GROUPS", false},
		{"EXPR_PRECEDING_ROWS", " PRECEDING", "ROWS", true},
		{"EXPR_FOLLOWING_ROWS", " FOLLOWING", "ROWS", true},
		{"EXPR_PRECEDING_GROUPS", " PRECEDING", "GROUPS", true},
		{"EXPR_FOLLOWING_GROUPS", " FOLLOWING", "GROUPS", true},
		/* offsets of RANGE frames are rewritten by the binder into values of the ordering: they cannot be given back */
	};
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		if (strcmp(bound, bounds[i].name) != 0)
			continue;
		if (bounds[i].offset && (!offset || !print(p, offset)))
			return false;
		rql_strbuf_put(p->out, bounds[i].sql);
		*unit = bounds[i].unit;
		return true;
	}
	return false;
}

static bool print_frame(const struct expr_printer *p, const struct rql_window *window)
{
	struct rql_strbuf text = {0};
	struct expr_printer bounds = {&text, p->ref, p->state};
	const char *start_unit = NULL, *end_unit = NULL;
	bool done = print_bound(&bounds, window->start, window->start_expr, &start_unit);
	rql_strbuf_put(&text, " AND ");
	done = done && print_bound(&bounds, window->end, window->end_expr, &end_unit) && !text.failed;
	if (start_unit && end_unit && strcmp(start_unit, end_unit) != 0)
		done = false;
	const char *unit = start_unit ? start_unit : end_unit ? end_unit : "ROWS";
	if (done)
		rql_strbuf_printf(p->out, " %s BETWEEN %s", unit, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	if (strcmp(window->exclude, "CURRENT_ROW") == 0)
		rql_strbuf_put(p->out, " EXCLUDE CURRENT ROW");
	else if (strcmp(window->exclude, "GROUP") == 0 || strcmp(window->exclude, "TIES") == 0)
		rql_strbuf_printf(p->out, " EXCLUDE %s", window->exclude);
	else if (strcmp(window->exclude, "NO_OTHER") != 0)
		return false;
	return done;
}

static bool print_window(const struct expr_printer *p, const struct rql_expr *expr)
{
	const struct rql_window *window = expr->window;
	print_name(p, expr->name);
	if (expr->distinct)
		rql_strbuf_put(p->out, "DISTINCT ");
	if (!print_arguments(p, expr) || (window->default_expr && !window->offset_expr))
		return false;
	for (int i = 0; i < 2; i++) {
		const struct rql_expr *extra = i ? window->default_expr : window->offset_expr;
		if (extra)
			rql_strbuf_put(p->out, ", ");
		if (extra && !print(p, extra))
			return false;
	}
	rql_strbuf_put(p->out, window->ignore_nulls ? " IGNORE NULLS)" : ")");
	if (!print_filter(p, expr))
		return false;
	rql_strbuf_put(p->out, " OVER (");
	if (window->partition_count)
		rql_strbuf_put(p->out, "PARTITION BY ");
	if (!print_each(p, window->partitions, window->partition_count, ", ", print_compared))
		return false;
	rql_strbuf_putc(p->out, ' ');
	if (!print_orders(p, expr->orders, expr->order_count) || !print_frame(p, window))
		return false;
	rql_strbuf_putc(p->out, ')');
	return true;
}

static bool print_call(const struct expr_printer *p, const struct rql_expr *expr)
{
	bool typed = expr->type.id != RQL_TYPE_SQLNULL, done;
	if (typed)
		rql_strbuf_put(p->out, "CAST(");
	if (expr->kind == RQL_EXPR_AGGREGATE) {
		done = print_aggregate(p, expr);
	} else if (expr->kind == RQL_EXPR_WINDOW) {
		done = print_window(p, expr);
	} else {
		print_name(p, expr->name);
		done = print_list(p, expr->children, expr->child_count);
		rql_strbuf_putc(p->out, ')');
	}
	if (!done || !typed)
		return done;
	rql_strbuf_put(p->out, " AS ");
	done = rql_type_print_sql(p->out, expr->type);
	rql_strbuf_putc(p->out, ')');
	return done;
}

static bool print(const struct expr_printer *p, const struct rql_expr *expr)
{
	switch (expr->kind) {
	case RQL_EXPR_REF:
		p->ref(p->out, expr->index, p->state);
		return true;
	case RQL_EXPR_CONSTANT:
		return print_constant(p, &expr->value);
	case RQL_EXPR_CAST:
		return print_cast(p, expr);
	case RQL_EXPR_COMPARE:
		return print_compare(p, expr, expr->name);
	case RQL_EXPR_AND:
		return print_infix(p, expr, " AND ");
	case RQL_EXPR_OR:
		return print_infix(p, expr, " OR ");
	case RQL_EXPR_NOT:
		rql_strbuf_put(p->out, "(NOT ");
		return print_suffix(p, expr, "))");
	case RQL_EXPR_IS_NULL:
		return print_suffix(p, expr, " IS NULL)");
	case RQL_EXPR_IS_NOT_NULL:
		return print_suffix(p, expr, " IS NOT NULL)");
	case RQL_EXPR_IN:
	case RQL_EXPR_NOT_IN:
		return print_in(p, expr);
	case RQL_EXPR_BETWEEN:
		return print_between(p, expr);
	case RQL_EXPR_CASE:
		return print_case(p, expr);
	case RQL_EXPR_COALESCE:
		rql_strbuf_put(p->out, "COALESCE");
		return print_infix(p, expr, ", ");
	case RQL_EXPR_FUNCTION:
	case RQL_EXPR_AGGREGATE:
	case RQL_EXPR_WINDOW:
		return print_call(p, expr);
	case RQL_EXPR_COLUMN: /* a block's own: it is turned into references first */
	case RQL_EXPR_SUBQUERY:
	case RQL_EXPR_OPAQUE:
		break;
	}
	return false;
}

bool rql_expr_print(struct rql_strbuf *out, const struct rql_expr *expr, rql_ref_printer *ref, void *state)
{
	struct expr_printer p = {out, ref, state};
	return print(&p, expr) && !out->failed;
}

bool rql_key_print(struct rql_strbuf *out, const struct rql_expr *expr, rql_ref_printer *ref, void *state)
{
	struct expr_printer p = {out, ref, state};
	return print_compared(&p, expr) && !out->failed;
}

bool rql_orders_print(struct rql_strbuf *out, const struct rql_order *orders, uint32_t count, rql_ref_printer *ref,
                      void *state)
{
	struct expr_printer p = {out, ref, state};
	return print_orders(&p, orders, count);
}
