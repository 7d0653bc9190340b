/* What of a block no structure could serve: said as reasons. */
#include "bind/block/beyond.h"

#include <string.h>
#include "column/store/store.h"

static void put_type(struct rql_strbuf *out, struct rql_type type)
{
	if (rql_type_bytes(type) || type.info)
		rql_type_print(out, type);
	else
		rql_strbuf_put(out, "a nested or rare type");
}

static const char *finish(struct rql_arena *arena, struct rql_strbuf *text)
{
	const char *copy = text->length ? rql_arena_strdup(arena, rql_strbuf_text(text)) : NULL;
	rql_strbuf_free(text);
	return copy;
}

/* ---- columns ---- */

#define MAX_NAMED 4u

struct naming {
	const char *of; /* the table's name, where there are several; else NULL */
	uint32_t table, count;
	uint32_t ids[MAX_NAMED];
	struct rql_strbuf text;
};

static bool name_column(const struct rql_expr *leaf, void *state)
{
	struct naming *n = state;
	bool held = leaf->index != UINT32_MAX && rql_store_can_hold(leaf->type);
	if (leaf->kind != RQL_EXPR_COLUMN || leaf->table != n->table || held)
		return true;
	for (uint32_t i = 0; i < n->count; i++)
		if (n->ids[i] == leaf->index)
			return true;
	if (n->count == MAX_NAMED)
		return true;
	n->ids[n->count++] = leaf->index;
	rql_strbuf_printf(&n->text, "%scolumn %s%s%s (", n->text.length ? ", " : "", leaf->alias ? leaf->alias : "?",
	                  n->of ? " of table " : "", n->of ? n->of : "");
	put_type(&n->text, leaf->type);
	rql_strbuf_putc(&n->text, ')');
	return true;
}

const char *rql_beyond_columns(struct rql_arena *arena, const struct rql_block *block, uint32_t table)
{
	struct naming n = {.of = block->table_count > 1 ? block->tables[table].table : NULL, .table = table};
	rql_block_leaves(block, name_column, &n);
	return finish(arena, &n.text);
}

const char *rql_beyond_outputs(struct rql_arena *arena, const struct rql_rel *rel)
{
	struct rql_strbuf text = {0};
	for (uint32_t i = 0; i < rel->column_count; i++) {
		if (!rel->types || rql_store_can_hold(rel->types[i]))
			continue;
		const char *name = rel->names && rel->names[i] ? rel->names[i] : "";
		rql_strbuf_printf(&text, "%scolumn%s%s (", text.length ? ", " : "", *name ? " " : "", name);
		put_type(&text, rel->types[i]);
		rql_strbuf_putc(&text, ')');
	}
	return finish(arena, &text);
}

/* ---- aggregates ---- */

/* A sum or an extreme of such values is in no cube, and no scan's lane holds them. Counting them may ask for NULLs only. */
static bool is_over_unheld(const struct rql_expr *agg)
{
	for (uint32_t i = 0; i < agg->child_count && strcmp(agg->name, "count") != 0; i++)
		if (!rql_store_can_hold(agg->children[i]->type))
			return true;
	return false;
}

static bool is_computed(const struct rql_expr *agg)
{
	return rql_expr_is_plain_aggregate(agg) && !agg->order_count && !is_over_unheld(agg);
}

const char *rql_beyond_aggregate(struct rql_arena *arena, const struct rql_block *block)
{
	struct rql_strbuf text = {0};
	uint32_t i = 0;
	while (i < block->agg_count && is_computed(block->aggs[i]))
		i++;
	if (i == block->agg_count)
		return NULL;
	const struct rql_expr *agg = block->aggs[i];
	rql_strbuf_put(&text, agg->name ? agg->name : "an aggregate that RayQL does not know");
	if (agg->kind == RQL_EXPR_AGGREGATE) {
		for (uint32_t k = 0; k < agg->child_count; k++) {
			rql_strbuf_put(&text, k ? ", " : "(");
			put_type(&text, agg->children[k]->type);
		}
		rql_strbuf_put(&text, agg->child_count ? ")" : "()");
	}
	if (agg->order_count)
		rql_strbuf_put(&text, " with an ORDER BY clause");
	return finish(arena, &text);
}

const char *rql_beyond(struct rql_arena *arena, const struct rql_block *block)
{
	struct rql_strbuf text = {0};
	const char *columns = NULL, *aggregate = rql_beyond_aggregate(arena, block);
	uint32_t tables = 0;
	for (; tables < block->table_count; tables++) {
		if (!(columns = rql_beyond_columns(arena, block, tables)))
			break;
		rql_strbuf_printf(&text, "%s%s", tables ? ", " : "no structure holds ", columns);
	}
	if (tables < block->table_count)
		rql_strbuf_clear(&text);
	if (aggregate)
		rql_strbuf_printf(&text, "%s%s", text.length ? ", nor computes " : "no structure computes ", aggregate);
	return finish(arena, &text);
}
