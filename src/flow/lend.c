/* HOST operators: a part of the plan goes back to SQL, its inputs being tables that the host reads from memory. */
#include <string.h>
#include "flow/rowset.h"

struct lending {
	struct rql_running *r;
	const struct rql_operator *op;
	uint64_t *numbers;          /* per input */
	struct rql_batch **batches; /* made of rows that were none; released afterwards */
};

static bool print_input(struct rql_strbuf *out, const struct rql_rel *rel, void *state)
{
	const struct lending *l = state;
	for (uint32_t i = 0; i < l->op->input_count; i++) {
		if (l->op->inputs[i]->gives == rel) {
			rql_strbuf_printf(out, "system.main.rayql_batch(%llu)", (unsigned long long)l->numbers[i]);
			return true;
		}
	}
	return rql_operator_print_instead(out, l->op, rel, print_input, state);
}

static rql_status lend(struct lending *l, const struct rql_rowset *sets)
{
	for (uint32_t i = 0; i < l->op->input_count; i++) {
		bool as_it_is = sets[i].batch && !sets[i].vectors;
		if (!as_it_is)
			RQL_TRY(rql_rowset_batch(l->r, &sets[i], &l->batches[i]));
		l->numbers[i] = rql_host_lend(l->r->flow->host_db, as_it_is ? sets[i].batch : l->batches[i]);
		if (!l->numbers[i])
			return rql_error_memory(l->r->err, 0, "an answer");
	}
	return RQL_OK;
}

static void give_back(struct lending *l)
{
	for (uint32_t i = 0; i < l->op->input_count; i++) {
		if (l->numbers[i])
			rql_host_unlend(l->r->flow->host_db, l->numbers[i]);
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

static bool copy_strings(struct rql_batch *to, uint32_t c, uint64_t at, const struct rql_column *from, uint64_t rows)
{
	const struct rql_string *strings = from->data;
	bool ok = true;
	for (uint64_t r = 0; r < rows && ok; r++)
		ok = !rql_column_valid(from, r) ||
		     rql_batch_set_string(to, c, at + r, rql_string_data(&strings[r]), strings[r].length);
	return ok;
}

/* The column's rows to rows `at`, ... of column c. */
static bool copy_column(struct rql_batch *to, uint32_t c, uint64_t at, const struct rql_column *from, uint64_t rows)
{
	unsigned bytes = rql_type_bytes(from->type);
	bool ok = true;
	if (from->type.id == RQL_TYPE_VARCHAR || from->type.id == RQL_TYPE_BLOB)
		ok = copy_strings(to, c, at, from, rows);
	else if (rows && bytes)
		memcpy((char *)to->columns[c].data + at * bytes, from->data, rows * bytes);
	for (uint64_t r = 0; r < rows && ok && from->validity; r++)
		ok = rql_column_valid(from, r) || rql_batch_set_null(to, c, at + r);
	return ok;
}

static rql_status join_batches(const struct rql_rel *root, const struct gathered *g, struct rql_batch **out,
                               struct rql_error *err)
{
	struct rql_batch *batch = rql_batch_new(root->column_count, root->types, g->rows);
	bool ok = batch != NULL;
	uint64_t at = 0;
	for (uint32_t i = 0; ok && i < g->count; at += g->items[i++]->rows)
		for (uint32_t c = 0; ok && c < root->column_count; c++)
			ok = copy_column(batch, c, at, &g->items[i]->columns[c], g->items[i]->rows);
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

static rql_status run_sql(struct rql_running *r, const struct rql_rel *root, const char *sql, struct rql_batch **out)
{
	struct rql_host_result *result = NULL;
	struct gathered g = {0};
	rql_status status = rql_host_query(r->flow->host, sql, &result, r->err);
	if (status == RQL_OK)
		status = check_types(root, result, r->err);
	if (status == RQL_OK)
		status = gather(r->arena, result, &g, r->err);
	if (status == RQL_OK)
		status = join_batches(root, &g, out, r->err);
	for (uint32_t i = 0; i < g.count; i++)
		rql_batch_release(g.items[i]);
	rql_host_result_free(result);
	return status;
}

static rql_status check_leaf(const struct rql_running *r, const struct rql_leaf *leaf)
{
	const struct rql_structure *s = leaf->structure;
	bool changed = rql_structure_moved_table(r->flow->catalog, s) != NULL;
	for (uint32_t t = 0; t < s->table_count; t++)
		changed |= rql_table_being_written(r->flow->catalog, s->tables[t]);
	if (changed)
		return rql_error_set(r->err, RQL_ERROR_UNSUPPORTED, "a table of %s was written while it ran", s->name);
	return RQL_OK;
}

static rql_status check_leaves(const struct rql_running *r, const struct rql_operator *op)
{
	if (op->kind == RQL_OPERATOR_METHOD)
		return check_leaf(r, op->leaf);
	for (uint32_t i = 0; i < op->input_count; i++)
		RQL_TRY(check_leaves(r, op->inputs[i]));
	return RQL_OK;
}

/* The host has read its tables after RayQL took its own rows: together they are one state of the database as long as
 * nobody has written what the leaves were read from, and nothing that the plan was made of. Inside a transaction the
 * host's snapshot is older than both. */
static rql_status check_unchanged(const struct rql_running *r, const struct rql_operator *op)
{
	if (r->flow->snapshot_stamp)
		return RQL_OK;
	if (!rql_tables_unmoved(r->flow->catalog, r->flow->tables, r->flow->table_count))
		return rql_error_set(r->err, RQL_ERROR_UNSUPPORTED, "a table of the query was written while it ran");
	return check_leaves(r, op);
}

rql_status rql_host_operator_run(struct rql_running *r, const struct rql_operator *op, const struct rql_rowset *inputs,
                                 struct rql_batch **out)
{
	struct lending l = {r, op, RQL_NEW_ARRAY(r->arena, uint64_t, op->input_count),
	                    RQL_NEW_ARRAY(r->arena, struct rql_batch *, op->input_count)};
	struct rql_strbuf sql = {0};
	struct rql_batch *batch = NULL;
	if (!l.numbers || !l.batches)
		return rql_error_memory(r->err, 0, "an answer");
	rql_status status = lend(&l, inputs);
	if (status == RQL_OK && !rql_rel_print(&sql, op->rel, print_input, &l))
		status = rql_error_set(r->err, RQL_ERROR_UNSUPPORTED, "the plan above the aggregate cannot be written as SQL");
	if (status == RQL_OK)
		status = run_sql(r, op->rel, rql_strbuf_text(&sql), &batch);
	if (status == RQL_OK && op->reads_tables)
		status = check_unchanged(r, op);
	if (status == RQL_OK)
		*out = batch;
	else
		rql_batch_release(batch);
	give_back(&l);
	rql_strbuf_free(&sql);
	return status;
}
