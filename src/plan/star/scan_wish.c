/* rayql_auto_columns: which columns, once in memory, would let a scan answer. */
#include <string.h>
#include "bind/block/beyond.h"
#include "bind/star/scan_bind.h"
#include "plan/leaf.h"

/* The least that a scan may cost, nanoseconds for one value. */
#define LEAST_VALUE_NS 0.05

struct wish {
	uint32_t table, count;
	uint32_t ids[256];
	const char *names[256];
	bool refused; /* a column that no store holds, rowid, or too many */
};

static bool note_column(const struct rql_expr *leaf, void *state)
{
	struct wish *w = state;
	if (leaf->table != w->table)
		return true;
	for (uint32_t i = 0; i < w->count; i++)
		if (w->ids[i] == leaf->index)
			return true;
	if (leaf->index == UINT32_MAX || !rql_store_can_hold(leaf->type) || w->count == 256)
		w->refused = true;
	if (w->refused)
		return false;
	w->names[w->count] = leaf->alias ? leaf->alias : "";
	w->ids[w->count++] = leaf->index;
	return true;
}

/* The columns of the table that the block reads. A table of which only rows are counted needs none, and is not loaded. */
static bool find_columns(const struct rql_block *block, struct wish *w)
{
	rql_block_leaves(block, note_column, w);
	return w->count && !w->refused;
}

/* Some structure has them all already: it was refused for another reason, which loading would not change. */
static bool is_held(const struct rql_planning *p, const struct rql_table_ref *ref, const struct wish *w)
{
	for (uint32_t i = 0; i < p->structure_count; i++) {
		const struct rql_structure *s = p->structures[i];
		bool all = s->reads == RQL_READS_STORE && s->snapshot && s->table_count &&
		           rql_structure_fresh(p->ctx->catalog, s) && rql_structure_is_of(s, ref);
		for (uint32_t c = 0; c < w->count && all; c++) {
			const struct rql_expr column = {.kind = RQL_EXPR_COLUMN, .index = w->ids[c]};
			all = rql_scan_find_column(s->snapshot, s->column_ids, &column) != RQL_NONE;
		}
		if (all)
			return true;
	}
	return false;
}

/* The table with the most rows is the one to scan. */
static rql_status find_fact(struct rql_planning *p, const struct rql_block *block, uint32_t *fact, uint64_t *rows,
                            struct rql_error *err)
{
	*rows = 0;
	for (uint32_t t = 0; t < block->table_count; t++) {
		uint64_t n;
		RQL_TRY(rql_scan_table_rows(p, &block->tables[t], &n, err));
		if (t == 0 || n > *rows) {
			*fact = t;
			*rows = n;
		}
	}
	return RQL_OK;
}

static rql_status make_wish(struct rql_planning *p, const struct rql_block *block, struct rql_error *err)
{
	struct wish *w = RQL_NEW(p->arena, struct wish);
	struct rql_plan_load *load = RQL_NEW(p->arena, struct rql_plan_load);
	const struct rql_profile *profile = &p->ctx->devices->device[0].profile;
	struct rql_star *star;
	uint64_t rows = 0;
	if (!w || !load)
		return rql_error_memory(err, 0, "a plan");
	if (!block->table_count)
		return RQL_OK;
	if (p->beyond)
		return RQL_OK; /* which is the reason already */
	RQL_TRY(find_fact(p, block, &w->table, &rows, err));
	if (!find_columns(block, w)) {
		const char *beyond = w->refused ? rql_beyond_columns(p->arena, block, w->table) : NULL;
		return !w->refused ? RQL_OK
		                   : rql_error_set(err, RQL_ERROR_UNSUPPORTED, "no structure holds %s",
		                                   beyond ? beyond : "more than 256 columns");
	}
	if (is_held(p, &block->tables[w->table], w))
		return RQL_OK;
	RQL_TRY(rql_star_make(p->arena, block, w->table, NULL, &star, err));
	double values = (double)rows * w->count;
	if (profile->statement_ns + values * LEAST_VALUE_NS > profile->host_statement_ns + values * profile->host_value_ns)
		return RQL_OK;
	load->table = block->tables[w->table];
	load->column_count = w->count;
	load->column_ids = w->ids;
	load->column_names = w->names;
	p->to_load = load;
	return RQL_OK;
}

rql_status rql_scan_leaf_wish(struct rql_planning *p, const struct rql_block *block)
{
	struct rql_error why = {0};
	if (!p->ctx->settings->auto_columns || p->to_load || p->ctx->snapshot_stamp)
		return RQL_OK;
	return rql_planning_swallow(p, make_wish(p, block, &why), &why, RQL_REASON_NO_METHOD, NULL);
}
