#include "exec/finish_host.h"

#include <string.h>

struct lending {
	const struct rql_plan_nodes *nodes;
	uint64_t *numbers; /* per leaf */
	struct rql_batch **batches;
};

static bool print_leaf(struct rql_strbuf *out, const struct rql_rel *rel, void *state)
{
	const struct lending *l = state;
	for (uint32_t i = 0; i < l->nodes->leaf_count; i++) {
		if (l->nodes->leaves[i].rel == rel) {
			rql_strbuf_printf(out, "system.main.rayql_batch(%llu)", (unsigned long long)l->numbers[i]);
			return true;
		}
	}
	return false;
}

static rql_status lend(struct lending *l, const struct rql_plan_context *ctx, const struct rql_rowset *sets,
                       struct rql_error *err)
{
	for (uint32_t i = 0; i < l->nodes->leaf_count; i++) {
		if (!sets[i].batch)
			RQL_TRY(rql_rowset_batch(&sets[i], &l->batches[i], err));
		l->numbers[i] = rql_host_lend(ctx->host_db, sets[i].batch ? sets[i].batch : l->batches[i]);
		if (!l->numbers[i])
			return rql_error_memory(err, 0, "an answer");
	}
	return RQL_OK;
}

static void give_back(struct lending *l, const struct rql_plan_context *ctx)
{
	for (uint32_t i = 0; i < l->nodes->leaf_count; i++) {
		if (l->numbers[i])
			rql_host_unlend(ctx->host_db, l->numbers[i]);
		rql_batch_release(l->batches[i]);
	}
}

/* ---- the host's rows in one batch ---- */

struct gathered {
	uint32_t count, capacity;
	uint64_t rows;
	struct rql_batch **items;
};

static rql_status gather(struct rql_arena *arena, struct rql_host_result *result, struct gathered *g,
                         struct rql_error *err)
{
	for (;;) {
		struct rql_batch *batch = NULL;
		RQL_TRY(rql_host_fetch(result, &batch, err));
		if (!batch)
			return RQL_OK;
		if (g->count == g->capacity) {
			uint32_t capacity = g->capacity ? 2 * g->capacity : 16;
			struct rql_batch **grown = RQL_NEW_ARRAY(arena, struct rql_batch *, capacity);
			if (!grown) {
				rql_batch_release(batch);
				return rql_error_memory(err, 0, "an answer");
			}
			if (g->count)
				memcpy(grown, g->items, g->count * sizeof *grown);
			g->items = grown;
			g->capacity = capacity;
		}
		g->items[g->count++] = batch;
		g->rows += batch->rows;
	}
}

static bool copy_row(struct rql_batch *to, uint32_t c, uint64_t at, const struct rql_column *from, uint64_t row)
{
	struct rql_value v = rql_column_get(from, row);
	if (v.is_null)
		return rql_batch_set_null(to, c, at);
	if (v.type.id == RQL_TYPE_VARCHAR || v.type.id == RQL_TYPE_BLOB)
		return rql_batch_set_string(to, c, at, v.string.data, (uint32_t)v.string.length);
	rql_column_put(&to->columns[c], at, &v);
	return true;
}

static rql_status join_batches(struct rql_arena *arena, const struct rql_rel *root, const struct gathered *g,
                               struct rql_batch **out, struct rql_error *err)
{
	(void)arena;
	struct rql_batch *batch = rql_batch_new(root->column_count, root->types, g->rows);
	bool ok = batch != NULL;
	uint64_t at = 0;
	for (uint32_t i = 0; ok && i < g->count; i++)
		for (uint64_t r = 0; ok && r < g->items[i]->rows; r++, at++)
			for (uint32_t c = 0; ok && c < root->column_count; c++)
				ok = copy_row(batch, c, at, &g->items[i]->columns[c], r);
	if (!ok) {
		rql_batch_release(batch);
		return rql_error_memory(err, 0, "an answer");
	}
	*out = batch;
	return RQL_OK;
}

static rql_status check_types(const struct rql_rel *root, const struct rql_host_result *result, struct rql_error *err)
{
	bool same = rql_host_result_columns(result) == root->column_count;
	for (uint32_t c = 0; same && c < root->column_count; c++)
		same = rql_type_equal(rql_host_result_type(result, c), root->types[c]);
	return same ? RQL_OK
	            : rql_error_set(err, RQL_ERROR_UNSUPPORTED, "the plan's SQL gives other column types than the plan");
}

static rql_status run_sql(const struct rql_plan_context *ctx, struct rql_arena *arena, const struct rql_rel *root,
                          const char *sql, struct rql_batch **out, struct rql_error *err)
{
	struct rql_host_result *result = NULL;
	struct gathered g = {0};
	rql_status status = rql_host_query(ctx->host, sql, &result, err);
	if (status == RQL_OK)
		status = check_types(root, result, err);
	if (status == RQL_OK)
		status = gather(arena, result, &g, err);
	if (status == RQL_OK)
		status = join_batches(arena, root, &g, out, err);
	for (uint32_t i = 0; i < g.count; i++)
		rql_batch_release(g.items[i]);
	rql_host_result_free(result);
	return status;
}

/* The host has read its tables after RayQL took its own rows: together they are one state of the database as long as
 * nobody has written what the leaves were read from. Inside a transaction the host's snapshot is older than both. */
static rql_status check_unchanged(const struct rql_plan *plan, const struct rql_plan_context *ctx, struct rql_error *err)
{
	const struct rql_plan_nodes *n = plan->nodes;
	for (uint32_t i = 0; n->partial && !ctx->snapshot_stamp && i < n->leaf_count; i++) {
		const struct rql_structure *s = n->leaves[i].structure;
		bool changed = rql_structure_moved_table(ctx->catalog, s) != NULL;
		for (uint32_t t = 0; t < s->table_count; t++)
			changed |= rql_table_being_written(ctx->catalog, s->tables[t]);
		if (changed)
			return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a table of %s was written while it ran", s->name);
	}
	return RQL_OK;
}

rql_status rql_finish_by_host(const struct rql_plan *plan, const struct rql_plan_context *ctx,
                              const struct rql_rowset *sets, struct rql_batch **out, struct rql_error *err)
{
	const struct rql_plan_nodes *n = plan->nodes;
	struct rql_arena *arena = sets[0].arena;
	struct lending l = {n, RQL_NEW_ARRAY(arena, uint64_t, n->leaf_count),
	                    RQL_NEW_ARRAY(arena, struct rql_batch *, n->leaf_count)};
	struct rql_strbuf sql = {0};
	struct rql_batch *batch = NULL;
	if (!l.numbers || !l.batches)
		return rql_error_memory(err, 0, "an answer");
	rql_status status = lend(&l, ctx, sets, err);
	if (status == RQL_OK && !rql_rel_print(&sql, n->root, print_leaf, &l))
		status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "the plan above the aggregate cannot be written as SQL");
	if (status == RQL_OK)
		status = run_sql(ctx, arena, n->root, rql_strbuf_text(&sql), &batch, err);
	if (status == RQL_OK)
		status = check_unchanged(plan, ctx, err);
	if (status == RQL_OK)
		*out = batch;
	else
		rql_batch_release(batch);
	give_back(&l, ctx);
	rql_strbuf_free(&sql);
	return status;
}
