/* Fuzz target: the reader of DuckDB's plan JSON, and everything that walks what it made. Nothing may crash, whatever the
 * text; what was read must be printable or refused, and equal to its own copy. */
#include <stdint.h>
#include <stdlib.h>
#include "sql/rel.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_rel *rel = NULL;
	struct rql_error err = {0};
	struct rql_strbuf text = {0};
	const char **names;
	uint32_t count;
	if (arena && rql_rel_parse(arena, (const char *)data, size, &rel, &err) == RQL_OK) {
		walk(arena, rel);
		if (rql_rel_functions(rel, arena, &names, &count) != RQL_OK)
			abort();
		if (rql_rel_print(&text, rel, NULL, NULL) && rql_rel_reason(rel))
			abort(); /* what is not known cannot be written */
	}
	rql_strbuf_free(&text);
	rql_error_clear(&err);
	rql_arena_free(arena);
	return 0;
}
