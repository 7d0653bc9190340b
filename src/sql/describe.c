/* Expressions for people: EXPLAIN and the reasons why something is left to the host. */
#include <string.h>
#include "sql/rel/rel.h"

static void describe(struct rql_strbuf *out, const struct rql_expr *expr, bool nested);

/* A literal without the cast that makes it exact: CAST('1992-01-01' AS DATE) reads as '1992-01-01'. */
static void describe_value(struct rql_strbuf *out, const struct rql_value *value)
{
	struct rql_strbuf text = {0};
	if (value->is_null) {
		rql_strbuf_put(out, "NULL");
		return;
	}
	if (!rql_value_print(&text, value)) {
		rql_strbuf_put(out, "?");
	} else {
		const char *sql = rql_strbuf_text(&text), *as = NULL;
		if (strncmp(sql, "CAST(", 5) == 0)
			for (const char *at = strstr(sql, " AS "); at; at = strstr(at + 1, " AS "))
				as = at;
		if (as)
			rql_strbuf_put_n(out, sql + 5, (size_t)(as - sql) - 5);
		else
			rql_strbuf_put(out, sql);
	}
	rql_strbuf_free(&text);
}

static void describe_list(struct rql_strbuf *out, struct rql_expr *const *exprs, uint32_t count, const char *separator,
                          bool nested)
{
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			rql_strbuf_put(out, separator);
		describe(out, exprs[i], nested);
	}
}

static const char *infix_name(const char *name)
{
	static const char *const names[][2] = {
		{"~~", "LIKE"}, {"!~~", "NOT LIKE"}, {"~~*", "ILIKE"}, {"!~~*", "NOT ILIKE"}, {"~~~", "GLOB"}};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i][0]) == 0)
			return names[i][1];
	return name;
}

static void describe_call(struct rql_strbuf *out, const struct rql_expr *expr, bool nested)
{
	const char *infix = infix_name(expr->name);
	if (expr->kind == RQL_EXPR_FUNCTION && expr->child_count == 2 && (expr->is_operator || infix != expr->name)) {
		if (nested)
			rql_strbuf_putc(out, '(');
		describe(out, expr->children[0], true);
		rql_strbuf_printf(out, " %s ", infix);
		describe(out, expr->children[1], true);
		if (nested)
			rql_strbuf_putc(out, ')');
		return;
	}
	if (strcmp(expr->name, "count_star") == 0) {
		rql_strbuf_put(out, "count(*)");
	} else {
		rql_strbuf_printf(out, "%s(%s", expr->name, expr->distinct ? "DISTINCT " : "");
		describe_list(out, expr->children, expr->child_count, ", ", false);
		rql_strbuf_putc(out, ')');
	}
	if (expr->filter) {
		rql_strbuf_put(out, " FILTER (WHERE ");
		describe(out, expr->filter, false);
		rql_strbuf_putc(out, ')');
	}
	if (expr->kind == RQL_EXPR_WINDOW)
		rql_strbuf_put(out, " OVER (...)");
}

static void describe_between(struct rql_strbuf *out, const struct rql_expr *expr)
{
	describe(out, expr->children[0], true);
	if (strcmp(expr->name, "[]") == 0) {
		rql_strbuf_put(out, " BETWEEN ");
	} else {
		rql_strbuf_put(out, expr->name[0] == '[' ? " >= " : " > ");
	}
	describe(out, expr->children[1], true);
	rql_strbuf_put(out, " AND ");
	if (strcmp(expr->name, "[]") != 0) {
		describe(out, expr->children[0], true);
		rql_strbuf_put(out, expr->name[1] == ']' ? " <= " : " < ");
	}
	describe(out, expr->children[2], true);
}

static void describe_case(struct rql_strbuf *out, const struct rql_expr *expr)
{
	rql_strbuf_put(out, "CASE");
	for (uint32_t i = 0; i + 1 < expr->child_count; i += 2) {
		rql_strbuf_put(out, " WHEN ");
		describe(out, expr->children[i], false);
		rql_strbuf_put(out, " THEN ");
		describe(out, expr->children[i + 1], false);
	}
	rql_strbuf_put(out, " ELSE ");
	describe(out, expr->children[expr->child_count - 1], false);
	rql_strbuf_put(out, " END");
}

static void describe_reference(struct rql_strbuf *out, const struct rql_expr *expr)
{
	if (expr->alias)
		rql_strbuf_put(out, expr->alias);
	else
		rql_strbuf_printf(out, "#%u", (unsigned)expr->index);
}

/* nested: inside another operator, so that infix forms need parentheses. */
static void describe(struct rql_strbuf *out, const struct rql_expr *expr, bool nested)
{
	bool infix = expr->kind == RQL_EXPR_COMPARE || expr->kind == RQL_EXPR_AND || expr->kind == RQL_EXPR_OR ||
	             expr->kind == RQL_EXPR_IN || expr->kind == RQL_EXPR_NOT_IN || expr->kind == RQL_EXPR_BETWEEN ||
	             expr->kind == RQL_EXPR_IS_NULL || expr->kind == RQL_EXPR_IS_NOT_NULL;
	if (infix && nested)
		rql_strbuf_putc(out, '(');
	switch (expr->kind) {
	case RQL_EXPR_REF:
	case RQL_EXPR_COLUMN:
		describe_reference(out, expr);
		break;
	case RQL_EXPR_CONSTANT:
		describe_value(out, &expr->value);
		break;
	case RQL_EXPR_CAST:
		rql_strbuf_put(out, expr->try_cast ? "TRY_CAST(" : "CAST(");
		describe(out, expr->children[0], false);
		rql_strbuf_put(out, " AS ");
		rql_type_print(out, expr->type);
		rql_strbuf_putc(out, ')');
		break;
	case RQL_EXPR_COMPARE:
		describe(out, expr->children[0], true);
		rql_strbuf_printf(out, " %s ", expr->name);
		describe(out, expr->children[1], true);
		break;
	case RQL_EXPR_AND:
		describe_list(out, expr->children, expr->child_count, " AND ", true);
		break;
	case RQL_EXPR_OR:
		describe_list(out, expr->children, expr->child_count, " OR ", true);
		break;
	case RQL_EXPR_NOT:
		rql_strbuf_put(out, "NOT ");
		describe(out, expr->children[0], true);
		break;
	case RQL_EXPR_IS_NULL:
	case RQL_EXPR_IS_NOT_NULL:
		describe(out, expr->children[0], true);
		rql_strbuf_put(out, expr->kind == RQL_EXPR_IS_NULL ? " IS NULL" : " IS NOT NULL");
		break;
	case RQL_EXPR_IN:
	case RQL_EXPR_NOT_IN:
		describe(out, expr->children[0], true);
		rql_strbuf_put(out, expr->kind == RQL_EXPR_IN ? " IN (" : " NOT IN (");
		describe_list(out, expr->children + 1, expr->child_count - 1, ", ", false);
		rql_strbuf_putc(out, ')');
		break;
	case RQL_EXPR_BETWEEN:
		describe_between(out, expr);
		break;
	case RQL_EXPR_CASE:
		describe_case(out, expr);
		break;
	case RQL_EXPR_COALESCE:
		rql_strbuf_put(out, "coalesce(");
		describe_list(out, expr->children, expr->child_count, ", ", false);
		rql_strbuf_putc(out, ')');
		break;
	case RQL_EXPR_FUNCTION:
	case RQL_EXPR_AGGREGATE:
	case RQL_EXPR_WINDOW:
		describe_call(out, expr, nested);
		break;
	case RQL_EXPR_SUBQUERY:
	case RQL_EXPR_OPAQUE:
		rql_strbuf_printf(out, "<%s>", expr->name ? expr->name : "subquery");
		break;
	}
	if (infix && nested)
		rql_strbuf_putc(out, ')');
}

void rql_expr_describe(struct rql_strbuf *out, const struct rql_expr *expr)
{
	describe(out, expr, false);
}

char *rql_expr_text(struct rql_arena *arena, const struct rql_expr *expr)
{
	struct rql_strbuf text = {0};
	describe(&text, expr, false);
	char *out = rql_arena_strdup(arena, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	return out;
}

rql_status rql_expr_refuse(struct rql_error *err, const char *before, const struct rql_expr *expr, const char *behind)
{
	struct rql_strbuf text = {0};
	describe(&text, expr, false);
	rql_status status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "%s%s%s", before, rql_strbuf_text(&text), behind);
	rql_strbuf_free(&text);
	return status;
}
