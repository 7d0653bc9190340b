/* Selections as leaves. Columns of the result that no scan can compute (texts made of numbers, functions that only the
 * host has) are put off: the leaf gives what they are made of, for the rows that are wanted, and a projection above it
 * makes them. Not those that can fail in a row which is not wanted: DuckDB would have computed them there, too. */
#include "bind/normal/fallible.h"
#include "plan/leaf.h"

/* The distinct columns that expressions read. */
struct collecting {
	struct rql_arena *arena;
	struct rql_expr_list columns;
	bool failed;
};

static bool collect(const struct rql_expr *leaf, void *state)
{
	struct collecting *c = state;
	for (uint32_t i = 0; i < c->columns.count; i++)
		if (rql_expr_equal(c->columns.items[i], leaf))
			return true;
	c->failed |= !rql_expr_list_add(c->arena, &c->columns, (struct rql_expr *)(uintptr_t)leaf);
	return true;
}

static struct rql_expr *to_ref(struct rql_arena *arena, const struct rql_expr *e, void *state)
{
	const struct collecting *c = state;
	if (e->kind != RQL_EXPR_COLUMN)
		return NULL;
	struct rql_expr *ref = rql_expr_new(arena, RQL_EXPR_REF, e->type, 0);
	for (uint32_t i = 0; ref && i < c->columns.count; i++)
		if (rql_expr_equal(c->columns.items[i], e))
			ref->index = i;
	return ref;
}

/* The same rows with other columns: those that the expressions of the first read. */
static struct rql_rows_block *with_columns(struct rql_arena *arena, const struct rql_rows_block *rows,
                                           const struct rql_expr_list *columns)
{
	struct rql_rows_block *copy = RQL_NEW(arena, struct rql_rows_block);
	struct rql_block *block = RQL_NEW(arena, struct rql_block);
	if (!copy || !block)
		return NULL;
	*copy = *rows;
	*block = *rows->block;
	copy->block = block;
	copy->output_count = columns->count;
	block->group_count = columns->count + rows->order_count;
	block->groups = RQL_NEW_ARRAY(arena, struct rql_expr *, block->group_count);
	if (!block->groups)
		return NULL;
	for (uint32_t i = 0; i < block->group_count; i++)
		block->groups[i] =
			i < columns->count ? columns->items[i] : rows->block->groups[rows->output_count + i - columns->count];
	return copy;
}

/* The projection of a leaf's columns that gives what rel gives. */
static bool make_projection(const struct collecting *c, const struct rql_rows_block *rows, const struct rql_rel *rel,
                            struct rql_rel *out)
{
	struct rql_rel *leaf = RQL_NEW(c->arena, struct rql_rel);
	*out = (struct rql_rel){.kind = RQL_REL_PROJECT,
	                        .name = "PROJECTION",
	                        .column_count = rel->column_count,
	                        .types = rel->types,
	                        .names = rel->names,
	                        .child_count = 1,
	                        .children = RQL_NEW_ARRAY(c->arena, struct rql_rel *, 1),
	                        .expr_count = rows->output_count,
	                        .exprs = RQL_NEW_ARRAY(c->arena, struct rql_expr *, rows->output_count)};
	if (!leaf || !out->children || !out->exprs)
		return false;
	*leaf = (struct rql_rel){.kind = RQL_REL_OPAQUE,
	                         .name = "columns of a selection",
	                         .column_count = c->columns.count,
	                         .types = RQL_NEW_ARRAY(c->arena, struct rql_type, c->columns.count),
	                         .names = RQL_NEW_ARRAY(c->arena, const char *, c->columns.count)};
	if (!leaf->types || !leaf->names)
		return false;
	for (uint32_t i = 0; i < c->columns.count; i++)
		leaf->types[i] = c->columns.items[i]->type;
	for (uint32_t i = 0; i < rows->output_count; i++)
		if (!(out->exprs[i] = rql_expr_transform(c->arena, rows->block->groups[i], to_ref, (void *)(uintptr_t)c)))
			return false;
	out->children[0] = leaf;
	return true;
}

static rql_status say_fallible(struct rql_planning *p, const struct rql_expr *e)
{
	struct rql_strbuf text = {0};
	rql_expr_describe(&text, e);
	rql_planning_reason(p, RQL_REASON_NO_METHOD, "%s can raise an error in a row that is not wanted, and is no scan's",
	                    rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	return RQL_OK;
}

static rql_status choose_split(struct rql_planning *p, const struct rql_rel *rel, const struct rql_rows_block *rows,
                               bool *found)
{
	struct collecting c = {.arena = p->arena};
	struct rql_rel *projection = RQL_NEW(p->arena, struct rql_rel);
	bool plain = true;
	/* Rows behind a limit without an order are nobody's business. */
	bool all_wanted = !rows->offset && (rows->limit == UINT64_MAX || !rows->order_count);
	for (uint32_t i = 0; i < rows->output_count; i++) {
		if (!all_wanted && rql_expr_can_fail(rows->block->groups[i]))
			return say_fallible(p, rows->block->groups[i]);
		plain = plain && rows->block->groups[i]->kind == RQL_EXPR_COLUMN;
		rql_expr_leaves(rows->block->groups[i], collect, &c);
	}
	if (plain || !c.columns.count)
		return RQL_OK;
	struct rql_rows_block *columns = c.failed ? NULL : with_columns(p->arena, rows, &c.columns);
	if (!columns || !projection || !make_projection(&c, rows, rel, projection))
		return rql_error_memory(p->err, 0, "a plan");
	RQL_TRY(rql_leaf_choose_block(p, projection->children[0], columns->block, columns, found));
	return *found ? rql_planning_alternative(p, rel, projection, 0) : RQL_OK;
}

/* The leaf that was found may join on a GPU: then leaves below it, whose rows the CPU joins, are looked for, but no other
 * such. */
static rql_status look_below(struct rql_planning *p, const struct rql_rel *rel)
{
	const struct rql_leaf *leaf = &p->nodes->leaves[p->nodes->leaf_count - 1];
	if (!leaf->scan || !leaf->scan->joins)
		return RQL_OK;
	p->comparing = true;
	rql_status status = rql_leaf_look_below(p, rel);
	p->comparing = false;
	return status;
}

rql_status rql_leaf_choose_rows(struct rql_planning *p, const struct rql_rel *rel, bool *found)
{
	struct rql_error why = {0};
	struct rql_rows_block *rows;
	*found = false;
	rql_status status = rql_block_make_rows(p->arena, rel, &rows, &why);
	/* No reason when it is none: what lies below says more. */
	if (status != RQL_OK) {
		RQL_TRY(rql_planning_swallow(p, status, &why, -1, NULL));
		return rql_leaf_choose_rows_over(p, rel, found);
	}
	rows->is_result = rel == p->nodes->root;
	RQL_TRY(rql_leaf_choose_block(p, rel, rows->block, rows, found));
	RQL_TRY(*found ? RQL_OK : choose_split(p, rel, rows, found));
	return *found ? look_below(p, rel) : RQL_OK;
}
