/* A plan that was read once, with other values of its literals. */
#include <string.h>
#include "sql/rel/rel.h"

/* ---- which may change ---- */

struct finder {
	const struct rql_literals *literals;
	bool *free;  /* stands somewhere */
	bool *fixed; /* ... where its value may matter for more than the condition's */
};

/* Functions whose type and meaning depend on their arguments' types alone. */
static bool takes_any_value(const char *name)
{
	static const char *const names[] = {
		"+", "-", "*", "~~", "!~~",
		/* INTERVAL '3' DAY is to_days(trunc('3')) */
		"trunc", "to_years", "to_months", "to_weeks", "to_days", "to_hours", "to_minutes", "to_seconds", "to_milliseconds",
		"to_microseconds",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool passes_on(const struct rql_expr *e, bool compared)
{
	switch (e->kind) {
	case RQL_EXPR_COMPARE:
	case RQL_EXPR_BETWEEN:
	case RQL_EXPR_IN:
	case RQL_EXPR_NOT_IN:
		return true;
	case RQL_EXPR_AND:
	case RQL_EXPR_OR:
	case RQL_EXPR_NOT:
	case RQL_EXPR_CAST:
		return compared;
	case RQL_EXPR_FUNCTION:
		return (compared || e->type.id == RQL_TYPE_BOOLEAN) && takes_any_value(e->name);
	default:
		return false;
	}
}

static void find_in_orders(struct finder *f, const struct rql_order *orders, uint32_t count);

/* compared: from here up to a comparison in a condition there is nothing that looks at a constant's value. */
static void find_in_expr(struct finder *f, const struct rql_expr *e, bool condition, bool compared)
{
	if (!e)
		return;
	if (e->kind == RQL_EXPR_CONSTANT && e->literal)
		*(compared ? &f->free[e->literal - 1] : &f->fixed[e->literal - 1]) = true;
	bool logic = e->kind == RQL_EXPR_AND || e->kind == RQL_EXPR_OR || e->kind == RQL_EXPR_NOT;
	bool below = condition && passes_on(e, compared);
	for (uint32_t i = 0; i < e->child_count; i++)
		find_in_expr(f, e->children[i], condition && (logic || below), below);
	find_in_expr(f, e->filter, false, false);
	find_in_orders(f, e->orders, e->order_count);
	if (!e->window)
		return;
	const struct rql_window *w = e->window;
	const struct rql_expr *parts[] = {w->start_expr, w->end_expr, w->offset_expr, w->default_expr};
	for (uint32_t i = 0; i < w->partition_count; i++)
		find_in_expr(f, w->partitions[i], false, false);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		find_in_expr(f, parts[i], false, false);
}

static void find_in_orders(struct finder *f, const struct rql_order *orders, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		find_in_expr(f, orders[i].expr, false, false);
}

static void find_in_rel(struct finder *f, const struct rql_rel *rel)
{
	bool conditions = rel->kind == RQL_REL_FILTER || rel->kind == RQL_REL_JOIN;
	for (uint32_t i = 0; i < rel->expr_count; i++)
		find_in_expr(f, rel->exprs[i], conditions, false);
	find_in_orders(f, rel->orders, rel->order_count);
	for (uint32_t i = 0; i < rel->child_count; i++)
		find_in_rel(f, rel->children[i]);
}

void rql_plan_free_literals(const struct rql_rel *root, const struct rql_literals *literals, bool *free)
{
	bool few[64] = {0};
	struct finder f = {literals, free, few};
	memset(free, 0, literals->count * sizeof *free);
	if (literals->count > sizeof few / sizeof *few)
		return; /* long lists: bound as they are written */
	find_in_rel(&f, root);
	for (uint32_t i = 0; i < literals->count; i++)
		free[i] = free[i] && !few[i];
}

/* ---- points ---- */

/* column = CAST('5' AS type), in either order, the column in a cast or not; or column = 'text'. */
static bool is_point(const struct rql_expr *e, uint32_t *literal, struct rql_type *type)
{
	bool column = false, bare = false, text = false;
	*literal = 0;
	if (e->kind != RQL_EXPR_COMPARE || strcmp(e->name, "=") != 0)
		return false;
	for (uint32_t i = 0; i < 2; i++) {
		const struct rql_expr *side = e->children[i], *last = NULL;
		for (; side->kind == RQL_EXPR_CAST && !side->try_cast; side = side->children[0])
			last = side;
		if (side->kind == RQL_EXPR_REF) {
			column = true;
			bare = !last;
		} else if (side->kind == RQL_EXPR_CONSTANT && side->literal && !side->negated) {
			*literal = side->literal;
			*type = last ? last->type : side->type;
			text = !last && side->type.id == RQL_TYPE_VARCHAR;
		}
	}
	return column && *literal && (bare || !text);
}

static uint32_t count_literal(const struct rql_expr *e, uint32_t literal)
{
	uint32_t count = e->kind == RQL_EXPR_CONSTANT && e->literal == literal;
	for (uint32_t i = 0; i < e->child_count; i++)
		count += count_literal(e->children[i], literal);
	return count;
}

/* Nodes through which a condition of a table stays one of the table alone. */
static bool is_above_point(enum rql_rel_kind kind)
{
	return kind == RQL_REL_PROJECT || kind == RQL_REL_FILTER || kind == RQL_REL_AGGREGATE || kind == RQL_REL_ORDER ||
	       kind == RQL_REL_TOP_N || kind == RQL_REL_LIMIT;
}

/* Does the literal stand once in all that is above and in the filter? */
static bool stands_once(const struct rql_rel *root, uint32_t literal)
{
	uint32_t count = 0;
	for (const struct rql_rel *rel = root; rel; rel = rel->child_count ? rel->children[0] : NULL)
		for (uint32_t i = 0; i < rel->expr_count; i++)
			count += count_literal(rel->exprs[i], literal);
	return count == 1;
}

static void add_point(struct rql_points *out, const struct rql_expr *e, const struct rql_rel *root,
                      const struct rql_literals *literals, const bool *free)
{
	struct rql_type type;
	uint32_t literal;
	if (out->count == RQL_POINTS_MOST || !is_point(e, &literal, &type) || !free[literal - 1] ||
	    literals->items[literal - 1].value.type.id != RQL_TYPE_VARCHAR || !stands_once(root, literal))
		return;
	out->of[out->count].literal = literal;
	out->of[out->count++].type = type;
}

void rql_plan_point_literals(const struct rql_rel *root, const struct rql_literals *literals, const bool *free,
                             struct rql_points *out)
{
	const struct rql_rel *rel = root, *filter = NULL;
	*out = (struct rql_points){0};
	while (is_above_point(rel->kind) && rel->child_count == 1) {
		filter = rel->kind == RQL_REL_FILTER ? rel : NULL;
		rel = rel->children[0];
	}
	for (uint32_t i = 0; rel->kind == RQL_REL_GET && filter && i < filter->expr_count; i++) {
		const struct rql_expr *e = filter->exprs[i];
		add_point(out, e, root, literals, free);
		for (uint32_t c = 0; e->kind == RQL_EXPR_AND && c < e->child_count; c++)
			add_point(out, e->children[c], root, literals, free);
	}
}

/* ---- the copy ---- */

struct binder {
	struct rql_arena *arena;
	const struct rql_literals *literals;
	const bool *free;
	const struct rql_points *points;
	bool no_memory;
};

static struct rql_expr *bind_expr(struct binder *b, const struct rql_expr *e);

static void *copied(struct binder *b, const void *items, size_t count, size_t size)
{
	void *copy = items ? rql_arena_array(b->arena, count, size) : NULL;
	b->no_memory |= items && !copy;
	if (copy && count)
		memcpy(copy, items, count * size);
	return copy;
}

static struct rql_expr **bind_list(struct binder *b, struct rql_expr *const *list, uint32_t count)
{
	struct rql_expr **copy = copied(b, list, count, sizeof *copy);
	for (uint32_t i = 0; copy && i < count; i++)
		copy[i] = bind_expr(b, list[i]);
	return copy;
}

static struct rql_order *bind_orders(struct binder *b, const struct rql_order *orders, uint32_t count)
{
	struct rql_order *copy = copied(b, orders, count, sizeof *copy);
	for (uint32_t i = 0; copy && i < count; i++)
		copy[i].expr = bind_expr(b, orders[i].expr);
	return copy;
}

static struct rql_window *bind_window(struct binder *b, const struct rql_window *window)
{
	struct rql_window *copy = copied(b, window, 1, sizeof *copy);
	if (!copy)
		return NULL;
	copy->partitions = bind_list(b, window->partitions, window->partition_count);
	copy->start_expr = bind_expr(b, window->start_expr);
	copy->end_expr = bind_expr(b, window->end_expr);
	copy->offset_expr = bind_expr(b, window->offset_expr);
	copy->default_expr = bind_expr(b, window->default_expr);
	return copy;
}

/* The number of a literal's point, and 1; 0: it is none. */
static uint32_t point_number(const struct rql_points *points, uint32_t literal)
{
	for (uint32_t i = 0; literal && points && i < points->count; i++)
		if (points->of[i].literal == literal)
			return i + 1;
	return 0;
}

static struct rql_expr *bind_expr(struct binder *b, const struct rql_expr *e)
{
	struct rql_expr *copy = copied(b, e, 1, sizeof *copy);
	if (!copy)
		return NULL;
	copy->literal = point_number(b->points, e->literal);
	copy->negated = false;
	if (e->literal && b->free[e->literal - 1]) {
		struct rql_value value = b->literals->items[e->literal - 1].value; /* its text lives as long as the statement's */
		copy->value = rql_value_copy(b->arena, &value);
		b->no_memory |= copy->value.is_null;
		if (e->negated)
			copy->value = rql_literal_negated(copy->value);
	}
	copy->children = bind_list(b, e->children, e->child_count);
	copy->filter = bind_expr(b, e->filter);
	copy->orders = bind_orders(b, e->orders, e->order_count);
	copy->window = bind_window(b, e->window);
	return copy;
}

static struct rql_rel *bind_rel(struct binder *b, const struct rql_rel *rel)
{
	struct rql_rel *copy = copied(b, rel, 1, sizeof *copy);
	if (!copy || b->no_memory)
		return copy;
	copy->exprs = bind_list(b, rel->exprs, rel->expr_count);
	copy->orders = bind_orders(b, rel->orders, rel->order_count);
	copy->types = copied(b, rel->types, rel->column_count, sizeof *rel->types);
	copy->names = copied(b, rel->names, rel->column_count, sizeof *rel->names);
	copy->column_ids = rel->kind == RQL_REL_GET ? copied(b, rel->column_ids, rel->column_count, sizeof *rel->column_ids) : NULL;
	copy->column_names =
		rel->kind == RQL_REL_GET ? copied(b, rel->column_names, rel->column_count, sizeof *rel->column_names) : NULL;
	copy->children = copied(b, rel->children, rel->child_count, sizeof *rel->children);
	for (uint32_t i = 0; i < rel->child_count && copy->children; i++)
		copy->children[i] = bind_rel(b, rel->children[i]);
	return copy;
}

struct rql_rel *rql_plan_with_literals(struct rql_arena *arena, const struct rql_rel *root,
                                       const struct rql_literals *literals, const bool *free,
                                       const struct rql_points *points)
{
	struct binder b = {.arena = arena, .literals = literals, .free = free, .points = points};
	struct rql_rel *copy = bind_rel(&b, root);
	return b.no_memory ? NULL : copy;
}
