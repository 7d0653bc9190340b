/* Fuzz target: the reader of DuckDB's plan JSON, and everything that walks what it made. Nothing may crash, whatever
 * the text; what was read must be printable or refused, and equal to its own copy; and no operator of a plan that was
 * read whole may say more without being refused. */
#include <json-c/json.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "sql/rel/rel_edit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct rql_expr *same_ref(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	(void)state;
	struct rql_expr *copy = RQL_NEW(arena, struct rql_expr);
	if (copy)
		*copy = *ref;
	return copy;
}

static bool has_opaque(const struct rql_expr *expr)
{
	bool found = expr->kind == RQL_EXPR_OPAQUE || (expr->filter && has_opaque(expr->filter)) || expr->window;
	for (uint32_t i = 0; i < expr->child_count && !found; i++)
		found = has_opaque(expr->children[i]);
	for (uint32_t i = 0; i < expr->order_count && !found; i++)
		found = has_opaque(expr->orders[i].expr);
	return found;
}

static void walk(struct rql_arena *arena, const struct rql_rel *rel)
{
	struct rql_strbuf text = {0};
	for (uint32_t i = 0; i < rel->column_count; i++)
		rql_type_print(&text, rel->types[i]);
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		rql_expr_describe(&text, rel->exprs[i]);
		struct rql_expr *copy = rql_expr_rewrite(arena, rel->exprs[i], same_ref, NULL);
		if (copy && !has_opaque(copy) && !rql_expr_equal(copy, rel->exprs[i]))
			abort();
	}
	rql_strbuf_free(&text);
	for (uint32_t i = 0; i < rel->child_count; i++)
		walk(arena, rel->children[i]);
}

/* Any operator of the plan: `path` says which child to go to. */
static struct json_object *some_operator(struct json_object *root, size_t path)
{
	struct json_object *node = json_object_array_get_idx(json_object_object_get(root, "plans"), 0);
	struct json_object *children = json_object_object_get(node, "children");
	while (path && json_object_is_type(children, json_type_array) && json_object_array_length(children)) {
		node = json_object_array_get_idx(children, path % json_object_array_length(children));
		children = json_object_object_get(node, "children");
		path /= 3;
	}
	return node;
}

static void say_more(struct rql_arena *arena, const uint8_t *data, size_t size)
{
	struct json_tokener *tokener = json_tokener_new_ex(1500);
	struct json_object *root = tokener ? json_tokener_parse_ex(tokener, (const char *)data, (int)size) : NULL;
	struct json_object *operator = root ? some_operator(root, size) : NULL;
	struct rql_error err = {0};
	struct rql_rel *rel = NULL;
	if (operator && json_object_object_add(operator, "more", NULL) == 0) {
		const char *text = json_object_to_json_string(root);
		if (rql_rel_parse(arena, RQL_PLAN_1_5, text, strlen(text), &rel, &err) == RQL_OK && !rql_rel_reason(rel))
			abort(); /* what is not known was read over */
	}
	rql_error_clear(&err);
	json_object_put(root);
	if (tokener)
		json_tokener_free(tokener);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_rel *rel = NULL;
	struct rql_error err = {0};
	struct rql_strbuf text = {0};
	if (arena && rql_rel_parse(arena, RQL_PLAN_1_5, (const char *)data, size, &rel, &err) == RQL_OK) {
		walk(arena, rel);
		if (rql_rel_print(&text, rel, NULL, NULL) && rql_rel_reason(rel))
			abort(); /* what is not known cannot be written */
		if (!rql_rel_reason(rel))
			say_more(arena, data, size);
	}
	if (rel && (rel = rql_rel_push_filters(arena, rel)) && (rel = rql_rel_prune(arena, rel)))
		walk(arena, rel);
	rql_strbuf_free(&text);
	rql_error_clear(&err);
	rql_arena_free(arena);
	return 0;
}
