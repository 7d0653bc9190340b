/* Making expressions and nodes of the algebra, and looking through expressions. */
#include "sql/rel/rel_edit.h"
#include <string.h>

/* ---- expressions ---- */

struct rql_expr *rql_expr_new(struct rql_arena *arena, enum rql_expr_kind kind, struct rql_type type,
                              uint32_t child_count)
{
	struct rql_expr *e = RQL_NEW(arena, struct rql_expr);
	if (!e)
		return NULL;
	e->kind = kind;
	e->type = type;
	e->child_count = child_count;
	e->children = RQL_NEW_ARRAY(arena, struct rql_expr *, child_count);
	return e->children ? e : NULL;
}

struct rql_expr *rql_expr_comparison(struct rql_arena *arena, const char *name, struct rql_expr *a, struct rql_expr *b)
{
	struct rql_expr *e = rql_expr_new(arena, RQL_EXPR_COMPARE, rql_type_simple(RQL_TYPE_BOOLEAN), 2);
	if (!e)
		return NULL;
	e->name = name;
	e->children[0] = a;
	e->children[1] = b;
	return e;
}

bool rql_expr_leaves(const struct rql_expr *e, rql_leaf_fn *fn, void *state)
{
	if (e->kind == RQL_EXPR_COLUMN || e->kind == RQL_EXPR_REF)
		return fn(e, state);
	for (uint32_t i = 0; i < e->child_count; i++)
		if (!rql_expr_leaves(e->children[i], fn, state))
			return false;
	return !e->filter || rql_expr_leaves(e->filter, fn, state);
}

struct ref_use {
	uint32_t count, first;
};

static bool note_ref(const struct rql_expr *leaf, void *state)
{
	struct ref_use *use = state;
	if (use->count == 0)
		use->first = leaf->index;
	if (use->count == 0 || leaf->index != use->first)
		use->count++;
	return use->count < 2;
}

uint32_t rql_expr_refs(const struct rql_expr *expr, uint32_t *index)
{
	struct ref_use use = {0};
	rql_expr_leaves(expr, note_ref, &use);
	if (use.count)
		*index = use.first;
	return use.count;
}

struct rql_expr *rql_expr_transform(struct rql_arena *arena, const struct rql_expr *e, rql_replace_fn *fn, void *state)
{
	struct rql_expr *replacement = fn(arena, e, state);
	if (replacement || e->kind == RQL_EXPR_COLUMN || e->kind == RQL_EXPR_REF)
		return replacement;
	struct rql_expr *copy = rql_expr_new(arena, e->kind, e->type, e->child_count);
	if (!copy)
		return NULL;
	struct rql_expr **children = copy->children;
	*copy = *e;
	copy->children = children;
	for (uint32_t i = 0; i < e->child_count; i++)
		if (!(children[i] = rql_expr_transform(arena, e->children[i], fn, state)))
			return NULL;
	if (e->filter && !(copy->filter = rql_expr_transform(arena, e->filter, fn, state)))
		return NULL;
	return copy;
}

bool rql_expr_list_add(struct rql_arena *arena, struct rql_expr_list *list, struct rql_expr *expr)
{
	if (list->count == list->capacity) {
		uint32_t capacity = list->capacity ? list->capacity * 2 : 8;
		struct rql_expr **items = RQL_NEW_ARRAY(arena, struct rql_expr *, capacity);
		if (!items)
			return false;
		if (list->count)
			memcpy(items, list->items, list->count * sizeof *items);
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->count++] = expr;
	return true;
}

struct rql_expr *rql_expr_ref(struct rql_arena *arena, const struct rql_rel *rel, uint32_t column)
{
	struct rql_expr *e = rql_expr_new(arena, RQL_EXPR_REF, rel->types[column], 0);
	if (e) {
		e->index = column;
		e->alias = rel->names ? rel->names[column] : NULL;
	}
	return e;
}

struct rql_expr *rql_expr_bool(struct rql_arena *arena, bool value)
{
	struct rql_expr *e = rql_expr_new(arena, RQL_EXPR_CONSTANT, rql_type_simple(RQL_TYPE_BOOLEAN), 0);
	if (e)
		e->value = (struct rql_value){.type = e->type, .integer = value};
	return e;
}

/* ---- every REF ---- */

static bool each_in_list(struct rql_expr *const *list, uint32_t count, rql_leaf_fn *fn, void *state)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i] && !rql_expr_each_ref(list[i], fn, state))
			return false;
	return true;
}

static bool each_in_window(const struct rql_window *w, rql_leaf_fn *fn, void *state)
{
	struct rql_expr *const parts[] = {w->start_expr, w->end_expr, w->offset_expr, w->default_expr};
	return each_in_list(w->partitions, w->partition_count, fn, state) && each_in_list(parts, 4, fn, state);
}

bool rql_expr_each_ref(const struct rql_expr *e, rql_leaf_fn *fn, void *state)
{
	if (e->kind == RQL_EXPR_REF)
		return fn(e, state);
	for (uint32_t i = 0; i < e->order_count; i++)
		if (!rql_expr_each_ref(e->orders[i].expr, fn, state))
			return false;
	return each_in_list(e->children, e->child_count, fn, state) && each_in_list(&e->filter, 1, fn, state) &&
	       (!e->window || each_in_window(e->window, fn, state));
}

bool rql_expr_any(const struct rql_expr *e, rql_expr_test *test)
{
	if (test(e))
		return true;
	for (uint32_t i = 0; i < e->child_count; i++)
		if (rql_expr_any(e->children[i], test))
			return true;
	for (uint32_t i = 0; i < e->order_count; i++)
		if (rql_expr_any(e->orders[i].expr, test))
			return true;
	return e->filter && rql_expr_any(e->filter, test);
}

static uint32_t size_of(const struct rql_expr *e, struct rql_expr *const *columns, uint32_t most)
{
	uint32_t n = 1;
	if (e->kind == RQL_EXPR_REF && columns)
		return size_of(columns[e->index], NULL, most);
	for (uint32_t i = 0; i < e->child_count && n < most; i++)
		n += size_of(e->children[i], columns, most - n);
	for (uint32_t i = 0; i < e->order_count && n < most; i++)
		n += size_of(e->orders[i].expr, columns, most - n);
	if (e->filter && n < most)
		n += size_of(e->filter, columns, most - n);
	return n;
}

uint32_t rql_expr_size(const struct rql_expr *e, struct rql_expr *const *columns, uint32_t most)
{
	return size_of(e, columns, most);
}

/* ---- nodes ---- */

uint32_t rql_rel_cte_refs(const struct rql_rel *rel, uint64_t cte)
{
	uint32_t n = rel->kind == RQL_REL_CTE_REF && rel->cte == cte;
	for (uint32_t i = 0; i < rel->child_count; i++)
		n += rql_rel_cte_refs(rel->children[i], cte);
	return n;
}


struct rql_rel *rql_rel_new(struct rql_arena *arena, enum rql_rel_kind kind, const char *name, uint32_t column_count,
                            uint32_t child_count)
{
	struct rql_rel *rel = RQL_NEW(arena, struct rql_rel);
	if (!rel)
		return NULL;
	rel->kind = kind;
	rel->column_count = column_count;
	rel->child_count = child_count;
	rel->name = rql_arena_strdup(arena, name);
	rel->types = RQL_NEW_ARRAY(arena, struct rql_type, column_count);
	rel->names = RQL_NEW_ARRAY(arena, const char *, column_count);
	rel->children = RQL_NEW_ARRAY(arena, struct rql_rel *, child_count);
	return rel->name && rel->types && rel->names && rel->children ? rel : NULL;
}

struct rql_rel *rql_rel_over(struct rql_arena *arena, enum rql_rel_kind kind, const char *name, struct rql_rel *child,
                             uint32_t expr_count)
{
	struct rql_rel *rel = rql_rel_new(arena, kind, name, child->column_count, 1);
	if (!rel)
		return NULL;
	memcpy(rel->types, child->types, child->column_count * sizeof *child->types);
	if (child->names)
		memcpy(rel->names, child->names, child->column_count * sizeof *child->names);
	rel->children[0] = child;
	rel->exprs = RQL_NEW_ARRAY(arena, struct rql_expr *, expr_count);
	rel->expr_count = expr_count;
	return rel->exprs ? rel : NULL;
}

struct rql_rel *rql_rel_filter(struct rql_arena *arena, struct rql_rel *child, const struct rql_expr_list *conjuncts)
{
	if (!conjuncts->count)
		return child;
	struct rql_rel *rel = rql_rel_over(arena, RQL_REL_FILTER, "LOGICAL_FILTER", child, conjuncts->count);
	if (rel)
		memcpy(rel->exprs, conjuncts->items, conjuncts->count * sizeof *rel->exprs);
	return rel;
}

struct rql_rel *rql_rel_project(struct rql_arena *arena, struct rql_rel *child, struct rql_expr *const *exprs,
                                uint32_t count)
{
	struct rql_rel *rel = rql_rel_new(arena, RQL_REL_PROJECT, "LOGICAL_PROJECTION", count, 1);
	if (!rel || !(rel->exprs = RQL_NEW_ARRAY(arena, struct rql_expr *, count)))
		return NULL;
	rel->expr_count = count;
	rel->children[0] = child;
	for (uint32_t i = 0; i < count; i++) {
		rel->exprs[i] = exprs[i];
		rel->types[i] = exprs[i]->type;
		rel->names[i] = exprs[i]->alias;
	}
	return rel;
}
