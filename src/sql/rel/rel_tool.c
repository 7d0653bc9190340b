/* Comparing, rewriting and describing expressions; what a tree calls. */
#include <string.h>
#include "sql/rel/rel.h"

/* ---- equality ---- */
static bool text_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool optional_equal(const struct rql_expr *a, const struct rql_expr *b)
{
	return a == b || (a && b && rql_expr_equal(a, b));
}

static bool list_equal(struct rql_expr *const *a, struct rql_expr *const *b, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!rql_expr_equal(a[i], b[i]))
			return false;
	return true;
}

bool rql_value_identical(const struct rql_value *a, const struct rql_value *b)
{
	if (!rql_type_equal(a->type, b->type) || a->is_null != b->is_null)
		return false;
	if (a->is_null)
		return true;
	switch (a->type.id) {
	case RQL_TYPE_FLOAT:
	case RQL_TYPE_DOUBLE:
		return memcmp(&a->real, &b->real, sizeof(a->real)) == 0;
	case RQL_TYPE_INTERVAL:
		return a->interval.months == b->interval.months && a->interval.days == b->interval.days &&
		       a->interval.micros == b->interval.micros;
	case RQL_TYPE_VARCHAR:
	case RQL_TYPE_BLOB:
	case RQL_TYPE_OTHER:
		return a->string.data && b->string.data && a->string.length == b->string.length &&
		       (a->string.length == 0 || memcmp(a->string.data, b->string.data, a->string.length) == 0);
	default:
		return a->integer == b->integer;
	}
}

static bool orders_equal(const struct rql_expr *a, const struct rql_expr *b)
{
	if (a->order_count != b->order_count)
		return false;
	for (uint32_t i = 0; i < a->order_count; i++)
		if (a->orders[i].descending != b->orders[i].descending || a->orders[i].nulls != b->orders[i].nulls ||
		    !rql_expr_equal(a->orders[i].expr, b->orders[i].expr))
			return false;
	return true;
}

static bool windows_equal(const struct rql_window *a, const struct rql_window *b)
{
	if (a == b)
		return true;
	return a && b && a->partition_count == b->partition_count &&
	       list_equal(a->partitions, b->partitions, a->partition_count) && text_equal(a->start, b->start) &&
	       text_equal(a->end, b->end) && text_equal(a->exclude, b->exclude) && a->ignore_nulls == b->ignore_nulls &&
	       optional_equal(a->start_expr, b->start_expr) && optional_equal(a->end_expr, b->end_expr) &&
	       optional_equal(a->offset_expr, b->offset_expr) && optional_equal(a->default_expr, b->default_expr);
}

bool rql_expr_equal(const struct rql_expr *a, const struct rql_expr *b)
{
	if (a == b)
		return true;
	if (a->kind != b->kind || !rql_type_equal(a->type, b->type) || a->child_count != b->child_count ||
	    !text_equal(a->name, b->name))
		return false;
	switch (a->kind) {
	case RQL_EXPR_OPAQUE:
	case RQL_EXPR_SUBQUERY:
		return false; /* two things that are not known are not known to be equal */
	case RQL_EXPR_COLUMN:
		return a->table == b->table && a->index == b->index;
	case RQL_EXPR_REF:
		return a->index == b->index;
	case RQL_EXPR_CONSTANT: /* two literals may come to differ */
		return a->literal == b->literal && a->negated == b->negated && rql_value_identical(&a->value, &b->value);
	default:
		return a->try_cast == b->try_cast && a->distinct == b->distinct && optional_equal(a->filter, b->filter) &&
		       orders_equal(a, b) && windows_equal(a->window, b->window) &&
		       list_equal(a->children, b->children, a->child_count);
	}
}

const char *rql_rel_phrase(const struct rql_rel *rel)
{
	static const char *const phrases[] = {
		[RQL_REL_GET] = "a table",
		[RQL_REL_DUMMY] = "a SELECT without a table",
		[RQL_REL_EMPTY] = "a result that is proven empty",
		[RQL_REL_VALUES] = "a list of VALUES",
		[RQL_REL_FILTER] = "a condition",
		[RQL_REL_PROJECT] = "a projection",
		[RQL_REL_AGGREGATE] = "another aggregate",
		[RQL_REL_JOIN] = "a join",
		[RQL_REL_ORDER] = "an ORDER BY",
		[RQL_REL_TOP_N] = "an ORDER BY with LIMIT",
		[RQL_REL_LIMIT] = "a LIMIT",
		[RQL_REL_DISTINCT] = "a DISTINCT",
		[RQL_REL_DISTINCT_ON] = "a DISTINCT ON",
		[RQL_REL_WINDOW] = "a window function",
		[RQL_REL_SETOP] = "a UNION, EXCEPT or INTERSECT",
		[RQL_REL_CTE] = "a common table expression",
		[RQL_REL_CTE_REF] = "a common table expression",
	};
	if (rel->kind == RQL_REL_OPAQUE)
		return rel->name ? rel->name : "an unknown operator";
	return phrases[rel->kind];
}

bool rql_comparison_holds(const char *name, int order)
{
	if (name[0] == '=')
		return order == 0;
	if (name[0] == '<' && name[1] == '>')
		return order != 0;
	if (name[0] == '<')
		return order < 0 || (name[1] == '=' && order == 0);
	return order > 0 || (name[1] == '=' && order == 0);
}

/* ---- rewriting ---- */
struct rewriter {
	struct rql_arena *arena;
	rql_ref_map *map;
	void *state;
};

static struct rql_expr *rewrite(const struct rewriter *w, const struct rql_expr *expr);

/* NULL stays NULL; false: failed. */
static bool rewrite_optional(const struct rewriter *w, struct rql_expr **slot)
{
	if (*slot)
		*slot = rewrite(w, *slot);
	else
		return true;
	return *slot != NULL;
}

static bool rewrite_list(const struct rewriter *w, struct rql_expr ***list, uint32_t count)
{
	struct rql_expr **copy = RQL_NEW_ARRAY(w->arena, struct rql_expr *, count);
	if (!copy)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!(copy[i] = rewrite(w, (*list)[i])))
			return false;
	*list = copy;
	return true;
}

static bool rewrite_orders(const struct rewriter *w, struct rql_expr *expr)
{
	struct rql_order *copy = RQL_NEW_ARRAY(w->arena, struct rql_order, expr->order_count);
	if (!copy)
		return false;
	for (uint32_t i = 0; i < expr->order_count; i++) {
		copy[i] = expr->orders[i];
		if (!(copy[i].expr = rewrite(w, copy[i].expr)))
			return false;
	}
	expr->orders = copy;
	return true;
}

static bool rewrite_window(const struct rewriter *w, struct rql_expr *expr)
{
	struct rql_window *copy = RQL_NEW(w->arena, struct rql_window);
	if (!copy)
		return false;
	*copy = *expr->window;
	expr->window = copy;
	return rewrite_list(w, &copy->partitions, copy->partition_count) && rewrite_optional(w, &copy->start_expr) &&
	       rewrite_optional(w, &copy->end_expr) && rewrite_optional(w, &copy->offset_expr) &&
	       rewrite_optional(w, &copy->default_expr);
}

static struct rql_expr *rewrite(const struct rewriter *w, const struct rql_expr *expr)
{
	if (expr->kind == RQL_EXPR_REF)
		return w->map(w->arena, expr, w->state);
	struct rql_expr *copy = RQL_NEW(w->arena, struct rql_expr);
	if (!copy)
		return NULL;
	*copy = *expr;
	bool done = rewrite_list(w, &copy->children, copy->child_count) && rewrite_optional(w, &copy->filter) &&
	            (!copy->order_count || rewrite_orders(w, copy)) && (!copy->window || rewrite_window(w, copy));
	return done ? copy : NULL;
}

struct rql_expr *rql_expr_rewrite(struct rql_arena *arena, const struct rql_expr *expr, rql_ref_map *map, void *state)
{
	struct rewriter w = {arena, map, state};
	return rewrite(&w, expr);
}

static struct rql_expr *lower(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	struct rql_expr *copy = RQL_NEW(arena, struct rql_expr);
	if (copy) {
		*copy = *ref;
		copy->index -= *(const uint32_t *)state;
	}
	return copy;
}

struct rql_expr *rql_expr_lowered(struct rql_arena *arena, const struct rql_expr *expr, uint32_t by)
{
	return rql_expr_rewrite(arena, expr, lower, &by);
}

/* ---- reasons ---- */
static const char *reason_of_expr(const struct rql_expr *expr);

static const char *reason_of_list(struct rql_expr *const *exprs, uint32_t count)
{
	const char *reason = NULL;
	for (uint32_t i = 0; i < count && !reason; i++)
		reason = reason_of_expr(exprs[i]);
	return reason;
}

static const char *reason_of_orders(const struct rql_order *orders, uint32_t count)
{
	const char *reason = NULL;
	for (uint32_t i = 0; i < count && !reason; i++)
		reason = reason_of_expr(orders[i].expr);
	return reason;
}

static const char *reason_of_expr(const struct rql_expr *expr)
{
	const char *reason;
	if (!expr)
		return NULL;
	if (expr->kind == RQL_EXPR_OPAQUE)
		return expr->name;
	if ((reason = reason_of_list(expr->children, expr->child_count)) || (reason = reason_of_expr(expr->filter)) ||
	    (reason = reason_of_orders(expr->orders, expr->order_count)) || !expr->window)
		return reason;
	const struct rql_window *window = expr->window;
	const struct rql_expr *parts[] = {window->start_expr, window->end_expr, window->offset_expr, window->default_expr};
	reason = reason_of_list(window->partitions, window->partition_count);
	for (int i = 0; i < 4 && !reason; i++)
		reason = reason_of_expr(parts[i]);
	return reason;
}

const char *rql_rel_reason(const struct rql_rel *rel)
{
	const char *reason = NULL;
	for (uint32_t i = 0; i < rel->child_count && !reason; i++)
		reason = rql_rel_reason(rel->children[i]);
	if (!reason && rel->kind == RQL_REL_OPAQUE)
		reason = rel->name;
	if (!reason)
		reason = reason_of_list(rel->exprs, rel->expr_count);
	return reason ? reason : reason_of_orders(rel->orders, rel->order_count);
}

bool rql_expr_is_plain_aggregate(const struct rql_expr *e)
{
	static const char *const names[] = {"count_star", "count", "sum", "avg", "min", "max"};
	bool plain = false;
	for (size_t n = 0; n < sizeof names / sizeof *names && e->kind == RQL_EXPR_AGGREGATE; n++)
		plain |= !strcmp(e->name, names[n]);
	return plain;
}
