/* A block over a columns structure: is the structure the fact table of a star, and is a scan worth preparing? */
#include <string.h>
#include <strings.h>
#include "bind/block/beyond.h"
#include "bind/block/price_host.h"
#include "bind/relation/codes.h"
#include "bind/star/scan_bind.h"
#include "device/compile.h"
#include "plan/leaf.h"
#include "plan/map_cache.h"
#include "plan/price/await.h"
#include "plan/star/scan_asked.h"
#include "plan/star/scan_index.h"
#include "plan/star/scan_reduction.h"
#include "plan/star/scan_sorted.h"

/* The least that a scan may cost, nanoseconds for one value: what is decided before dimensions are read. */
#define LEAST_VALUE_NS 0.05
/* Preparing, beyond what the host takes: a row of a dimension fetched, numbered and put into a map. And what it takes of
 * memory. */
#define PREPARED_ROW_NS 150.0
#define SUBPLAN_ROW_NS 20.0 /* ... a row that columns in memory give (subplan.c) */
#define SUBQUERY_ROW_NS 5.0 /* ... a row below a subquery, of which few remain as a rule */
#define PREPARED_ROW_BYTES 48u

struct trying {
	struct rql_planning *p;
	const struct rql_block *block;
	const struct rql_rows_block *rows; /* NULL: an aggregate */
	struct rql_structure *s;
	struct rql_leaf *leaf;
	uint32_t fact;
	struct rql_star *star;
	struct rql_scan_dim *dims; /* [subtrees]: what lies in */
	struct rql_kept_map **kept; /* ... these: references, until the leaf takes them */
	bool *reduced;             /* [subtrees]: it has only the keys that rows ask for (scan_reduction.h) */
	struct rql_scan_asked asked; /* ... which were listed */
	uint32_t dim_count;        /* made so far */
	uint64_t table_rows[RQL_BLOCK_MAX_TABLES];
	double inner_rows; /* of the tables of other than inner joins */
	double dim_values; /* that are read before a scan can start */
	double prepared_ns, prepared_rows; /* what that takes; of all tables but the one that is scanned */
	struct rql_error *err;
};

/* ---- does the structure hold the table and its columns? ---- */

bool rql_structure_is_of(const struct rql_structure *s, const struct rql_table_ref *ref)
{
	struct rql_table_ref of;
	rql_table_name(s->tables[0], &of.catalog, &of.schema, &of.table);
	return rql_table_ref_same(&of, ref);
}

struct column_use {
	const struct rql_structure *s; /* NULL: only count */
	uint32_t table, count;
	uint32_t seen[256];
	const struct rql_expr *missing;
};

static bool note_column(const struct rql_expr *leaf, void *state)
{
	struct column_use *u = state;
	if (leaf->table != u->table)
		return true;
	for (uint32_t i = 0; i < u->count; i++)
		if (u->seen[i] == leaf->index)
			return true;
	if (u->count < 256)
		u->seen[u->count++] = leaf->index;
	if (u->s && rql_scan_find_column(u->s->snapshot, u->s->column_ids, leaf) == RQL_NONE)
		u->missing = leaf;
	return true;
}

static void use_columns(const struct rql_block *block, struct column_use *use)
{
	rql_block_leaves(block, note_column, use);
}

/* The sink is a map by these columns. */
static rql_status set_keyed(struct trying *t, struct rql_request *request)
{
	const struct rql_expr *keys[] = {t->p->keyed, t->p->keyed_second};
	uint32_t *columns[] = {&request->keyed, &request->keyed_second};
	for (uint32_t k = 0; k < 2 && keys[k]; k++) {
		uint32_t column = rql_scan_find_column(t->s->snapshot, t->s->column_ids, keys[k]);
		if (column == RQL_NONE)
			return rql_error_set(t->err, RQL_ERROR_UNSUPPORTED, "column %s is not in it",
			                     keys[k]->alias ? keys[k]->alias : "?");
		*columns[k] = column + 1;
	}
	return RQL_OK;
}

static rql_status check_columns(struct trying *t)
{
	struct column_use *use = RQL_NEW(t->p->arena, struct column_use);
	if (!use)
		return rql_error_memory(t->err, 0, "a plan");
	use->s = t->s;
	use->table = t->fact;
	use_columns(t->block, use);
	if (!use->missing)
		return RQL_OK;
	return rql_error_set(t->err, RQL_ERROR_UNSUPPORTED, "column %s is not in it",
	                     use->missing->alias ? use->missing->alias : "?");
}

/* ---- what the host would have to do ---- */

/* The rows in columns that are as new as the table. */
static bool held_rows(const struct rql_planning *p, const struct rql_table *table, uint64_t *out)
{
	for (uint32_t i = 0; i < p->structure_count; i++) {
		const struct rql_structure *s = p->structures[i];
		if (s->reads != RQL_READS_STORE || !s->snapshot || !s->table_count || s->tables[0] != table ||
		    !rql_structure_fresh(p->ctx->catalog, s))
			continue;
		*out = s->snapshot->rows;
		return true;
	}
	return false;
}

static rql_status ask_rows(struct rql_planning *p, const struct rql_table_ref *table, uint64_t *out,
                           struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	int64_t rows = 0;
	rql_strbuf_put(&sql, "SELECT system.main.count(*) FROM ");
	rql_strbuf_put_ident(&sql, table->catalog);
	rql_strbuf_putc(&sql, '.');
	rql_strbuf_put_ident(&sql, table->schema);
	rql_strbuf_putc(&sql, '.');
	rql_strbuf_put_ident(&sql, table->table);
	rql_status status = rql_host_query_int(p->ctx->host, rql_strbuf_sql(&sql), &rows, err);
	rql_strbuf_free(&sql);
	if (status == RQL_ERROR_HOST)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "table %s cannot be counted", table->table);
	*out = (uint64_t)rows;
	return status;
}

/* Each connection has a table temp.main.t of its own; a transaction's snapshot may be older than the table. */
static bool is_everyones(const struct rql_planning *p, const struct rql_table_ref *ref, const struct rql_table *table)
{
	uint64_t snapshot = p->ctx->snapshot_stamp;
	return table && strcasecmp(ref->catalog, "temp") != 0 &&
	       (!snapshot || rql_table_moved(p->ctx->catalog, table) <= snapshot);
}

rql_status rql_scan_table_rows(struct rql_planning *p, const struct rql_table_ref *ref, uint64_t *out,
                               struct rql_error *err)
{
	struct rql_catalog *catalog = p->ctx->catalog;
	for (uint32_t i = 0; i < p->size_count; i++) {
		if (rql_table_ref_same(p->sizes[i].table, ref)) {
			*out = p->sizes[i].rows;
			return RQL_OK;
		}
	}
	struct rql_table *table = rql_catalog_table(catalog, ref->catalog, ref->schema, ref->table);
	uint64_t version = table ? rql_table_version(catalog, table) : 0;
	bool shared = is_everyones(p, ref, table);
	if (!shared || !(held_rows(p, table, out) || rql_table_rows(catalog, table, out))) {
		RQL_TRY(ask_rows(p, ref, out, err));
		if (shared)
			rql_table_keep_rows(catalog, table, version, *out);
	}
	if (p->size_count < RQL_BLOCK_MAX_TABLES)
		p->sizes[p->size_count++] = (struct rql_table_size){ref, *out};
	return RQL_OK;
}

/* The host reads the columns of a table that no structure holds; all of them take a row each of what is made. Of a large
 * table that is asked for some keys, the others are only read. */
static void add_prepared(struct trying *t, const struct rql_table_ref *table, double rows, double columns,
                         double subplan_ns)
{
	const double value_ns = t->p->ctx->devices->device[0].profile.host_value_ns;
	const bool held = rql_subplan_has_columns(t->p, table);
	const bool few = t->asked.batch && rows >= (double)RQL_ASKED_LEAST_ROWS;
	const double row_ns = held ? (few ? RQL_ASKED_ROW_NS : subplan_ns) : (few ? 0 : PREPARED_ROW_NS) + columns * value_ns;
	t->prepared_rows += few ? 0 : rows;
	t->prepared_ns += rows * row_ns;
}

static rql_status count_side_rows(struct trying *t, const struct rql_rel *rel)
{
	uint64_t rows = 0;
	if (rel->kind == RQL_REL_GET)
		RQL_TRY(rql_scan_table_rows(t->p, &rel->table, &rows, t->err));
	t->inner_rows += (double)rows;
	if (rel->kind == RQL_REL_GET)
		add_prepared(t, &rel->table, (double)rows, 0, SUBQUERY_ROW_NS);
	for (uint32_t i = 0; i < rel->child_count; i++)
		RQL_TRY(count_side_rows(t, rel->children[i]));
	return RQL_OK;
}

static rql_status count_rows(struct trying *t)
{
	const struct rql_block *block = t->block;
	for (uint32_t i = 0; i < block->table_count; i++) {
		t->table_rows[i] = t->s->snapshot->rows;
		if (i != t->fact)
			RQL_TRY(rql_scan_table_rows(t->p, &block->tables[i], &t->table_rows[i], t->err));
	}
	for (uint32_t i = 0; i < block->side_count; i++)
		RQL_TRY(count_side_rows(t, block->sides[i].rel));
	return RQL_OK;
}

static struct rql_host_work host_work(const struct trying *t, double passed, double groups)
{
	return (struct rql_host_work){.block = t->block,
	                              .fact = t->fact,
	                              .rows = t->table_rows,
	                              .inner_rows = t->inner_rows,
	                              .passed = passed,
	                              .groups = groups,
	                              .snapshot = t->s->snapshot,
	                              .column_ids = t->s->column_ids};
}

/* The host's values as time of all threads, though some may have nothing to do. */
static double spread(const struct trying *t, double values)
{
	unsigned threads = rql_pool_threads(t->p->ctx->devices->device[0].pool);
	return values * rql_host_idle_factor(threads, t->s->snapshot->rows);
}

struct preparation {
	double ns, bytes;
};

/* An expression of one coded column alone is evaluated for each entry of the dictionary. */
static void add_dictionary(const struct trying *t, const struct rql_expr *e, bool selects, struct preparation *sum)
{
	const struct rql_expr *column = e->kind == RQL_EXPR_COLUMN ? NULL : rql_scan_only_column(e);
	if (!column || column->table != t->fact)
		return;
	uint32_t at = rql_scan_find_column(t->s->snapshot, t->s->column_ids, column);
	if (at == RQL_NONE || !t->s->snapshot->columns[at].dimension)
		return;
	const struct rql_dimension *d = t->s->snapshot->columns[at].dimension;
	sum->ns += rql_codes_price(t->p->ctx, t->p->arena, d, e, selects);
	sum->bytes += selects ? d->count / 8.0 : (double)d->count * sizeof(struct rql_string);
}

/* What must be done once before the first scan: dimensions read, dictionaries gone through. */
static struct preparation estimate_preparation(const struct trying *t)
{
	struct preparation sum = {.ns = t->prepared_ns, .bytes = t->prepared_rows * PREPARED_ROW_BYTES};
	for (uint32_t i = 0; i < t->block->conjunct_count; i++)
		add_dictionary(t, t->block->conjuncts[i], true, &sum);
	for (uint32_t i = 0; i < t->block->group_count; i++)
		add_dictionary(t, t->block->groups[i], false, &sum);
	for (uint32_t i = 0; i < t->block->agg_count; i++)
		for (uint32_t k = 0; k < t->block->aggs[i]->child_count; k++)
			add_dictionary(t, t->block->aggs[i]->children[k], false, &sum);
	return sum;
}

/* The plan will be there for the statement's next run, so that this one need not bear all of its preparation. */
static bool is_kept(const struct trying *t, double bytes)
{
	const struct rql_planning *p = t->p;
	return p->plan->cacheable && p->plan->tables_known && !p->ctx->snapshot_stamp &&
	       bytes <= (double)rql_plan_most_bytes(p->ctx->budget);
}

static rql_status count_dimension_values(struct trying *t)
{
	for (uint32_t i = 0; i < t->block->table_count; i++) {
		struct column_use *use = i == t->fact ? NULL : RQL_NEW(t->p->arena, struct column_use);
		if (i == t->fact)
			continue;
		if (!use)
			return rql_error_memory(t->err, 0, "a plan");
		use->table = i;
		use_columns(t->block, use);
		double columns = use->count ? use->count : 1;
		t->dim_values += (double)t->table_rows[i] * columns;
		add_prepared(t, &t->block->tables[i], (double)t->table_rows[i], columns, SUBPLAN_ROW_NS);
	}
	return RQL_OK;
}

static rql_status add_work(struct trying *t)
{
	t->inner_rows = t->dim_values = t->prepared_ns = t->prepared_rows = 0;
	RQL_TRY(count_rows(t));
	return count_dimension_values(t);
}

/* Preparing is work, so what cannot win is turned down before: at most what the host could need against at least what
 * the scan must. */
static rql_status compare_work(struct trying *t)
{
	const struct rql_profile *profile = &t->p->ctx->devices->device[0].profile;
	double fact_rows = (double)t->s->snapshot->rows;
	bool force = t->p->ctx->settings->force;
	RQL_TRY(add_work(t));
	for (uint32_t i = 0; i < t->block->table_count && (!force || t->p->is_subplan) && !t->asked.batch; i++)
		if (t->table_rows[i] > t->s->snapshot->rows)
			return rql_error_set(t->err, RQL_ERROR_UNSUPPORTED,
			                     "table %s, which would be joined to it, has more rows (%llu)",
			                     t->block->tables[i].table, (unsigned long long)t->table_rows[i]);
	struct preparation prepare = estimate_preparation(t);
	struct rql_host_work work = host_work(t, fact_rows, fact_rows);
	for (uint32_t i = 0; i < t->block->table_count; i++)
		work.selected += i == t->fact ? 0 : (double)t->table_rows[i];
	double host_ns = profile->host_statement_ns + spread(t, rql_host_work_values(&work)) * profile->host_value_ns;
	double least_ns = profile->statement_ns + fact_rows * LEAST_VALUE_NS +
	                  (is_kept(t, prepare.bytes) ? prepare.ns / RQL_SETUP_REUSES : prepare.ns);
	if (t->dim_values > 0 && t->p->best_ns > 0 && t->p->best_ns < least_ns - profile->statement_ns)
		return rql_error_set(t->err, RQL_ERROR_UNSUPPORTED, "a cube is cheaper than %.3f ms", least_ns / 1e6);
	if (prepare.ns == 0 || force || least_ns < host_ns)
		return RQL_OK;
	return rql_error_set(t->err, RQL_ERROR_UNSUPPORTED,
	                     "the host is cheaper: at most %.3f ms estimated against at least %.3f ms", host_ns / 1e6,
	                     least_ns / 1e6);
}

/* A large dimension's map is worth a look at how few keys it needs. */
static rql_status look_at_asked(struct trying *t)
{
	double saves_ns = 0;
	for (uint32_t i = 0; i < t->block->table_count; i++)
		if (i != t->fact && t->table_rows[i] >= RQL_ASKED_LEAST_ROWS)
			saves_ns += (double)t->table_rows[i] * (SUBPLAN_ROW_NS - RQL_ASKED_ROW_NS);
	saves_ns += t->inner_rows >= (double)RQL_ASKED_LEAST_ROWS ? t->inner_rows * (SUBPLAN_ROW_NS - RQL_ASKED_ROW_NS) : 0;
	if (t->asked.known || saves_ns == 0)
		return RQL_OK;
	return rql_scan_asked_read(t->p, t->block, t->fact, t->table_rows, saves_ns / RQL_ASKED_LOOK_PART, &t->asked, t->err);
}

/* What is refused as it is may be worth it when few keys are asked for. Of a join of two tables, that is: among more there
 * are many that could be scanned, and nearly all of them are rightly refused. */
static rql_status check_worth(struct trying *t)
{
	rql_status status = compare_work(t);
	if (status != RQL_ERROR_UNSUPPORTED || t->block->table_count + t->block->side_count > 2)
		return status;
	RQL_TRY(look_at_asked(t));
	if (!t->asked.batch)
		return status;
	rql_error_clear(t->err);
	return compare_work(t);
}

/* ---- dimensions ---- */

static void free_dims(struct trying *t)
{
	for (uint32_t d = 0; d < t->dim_count; d++)
		rql_kept_map_release(t->kept[d]);
	t->dim_count = 0;
}

static rql_status find_key(struct trying *t, const struct rql_star_subtree *tree, const struct rql_expr *fact,
                           const struct rql_store_column **out)
{
	uint32_t column = rql_scan_find_column(t->s->snapshot, t->s->column_ids, fact);
	const struct rql_store_column *stored = &t->s->snapshot->columns[column];
	if (stored->kind == RQL_STORE_REAL || stored->wide)
		return rql_error_set(t->err, RQL_ERROR_UNSUPPORTED, "column %s joins table %s and is %s", stored->name,
		                     rql_star_table(t->star, (uint32_t)(tree - t->star->subtrees)),
		                     stored->wide ? "wider than 64 bits" : "a real number");
	*out = stored;
	return RQL_OK;
}

static rql_status find_keys(struct trying *t, const struct rql_star_subtree *tree, struct rql_scan_keys *out)
{
	const struct rql_store_column *first = NULL, *second = NULL;
	RQL_TRY(find_key(t, tree, tree->fact, &first));
	if (tree->fact2)
		RQL_TRY(find_key(t, tree, tree->fact2, &second));
	if (rql_scan_keys_make(first, second, out))
		return RQL_OK;
	return rql_error_set(t->err, RQL_ERROR_UNSUPPORTED,
	                     "the two columns that join table %s have more than 2^62 combinations",
	                     rql_star_table(t->star, (uint32_t)(tree - t->star->subtrees)));
}

static bool has_nulls(const struct rql_store_column *column)
{
	return column && (column->nulls > 0 || (column->kind == RQL_STORE_CODED && column->dimension->has_null));
}

/* No map holds NULL: where one equals another, both sides must not have it. An ANTI side, and a mark, of one key say what
 * becomes of NULL by themselves (rql_scan_bind_conjuncts, scan_dim.c). */
static rql_status check_null_keys(struct trying *t, const struct rql_star_subtree *tree,
                                  const struct rql_scan_keys *keys, const struct rql_scan_dim *dim)
{
	const struct rql_block_side *side = tree->side;
	const struct rql_store_column *columns[] = {keys->first, keys->second};
	if (!side || (side->key_count == 1 && (side->kind == RQL_SIDE_ANTI || side->kind == RQL_SIDE_MARK)))
		return RQL_OK;
	for (uint32_t k = 0; k < side->key_count; k++)
		if (side->keys[k].null_safe && dim->null_key && has_nulls(columns[k]))
			return rql_error_set(t->err, RQL_ERROR_UNSUPPORTED,
			                     "NULL equals NULL in the join with table %s, and both sides have it",
			                     rql_star_table(t->star, (uint32_t)(tree - t->star->subtrees)));
	return RQL_OK;
}

static rql_status keys_of(struct trying *t, uint32_t i, struct rql_scan_keys *keys, uint64_t *rows)
{
	const struct rql_star_subtree *tree = &t->star->subtrees[i];
	*rows = tree->side ? UINT64_MAX : t->table_rows[tree->root];
	return find_keys(t, tree, keys);
}

/* By the rows of the tables and sides that the subtree reads. */
static bool is_large(const struct trying *t, uint32_t i)
{
	double rows = t->star->subtrees[i].side ? t->inner_rows : 0;
	for (uint32_t table = 0; table < t->block->table_count; table++)
		rows += t->star->owner[table] == i ? (double)t->table_rows[table] : 0;
	return rows >= (double)RQL_ASKED_LEAST_ROWS;
}

static rql_status look_at_dim(struct trying *t, uint32_t i, bool *twice)
{
	struct rql_scan_keys keys;
	uint64_t rows;
	RQL_TRY(keys_of(t, i, &keys, &rows));
	if (is_large(t, i)) {
		if (rql_scan_dim_is_kept(t->p, t->star, i, &keys, rows))
			return RQL_OK;
		RQL_TRY(look_at_asked(t));
		if (t->asked.batch)
			return RQL_OK;
	}
	return rql_scan_dim_sample(t->p, t->star, i, &keys, rows, twice, t->err);
}

/* How the subtree is read where few of its keys are asked for. */
static rql_status reduce(struct trying *t, uint32_t i, const struct rql_star **star, const struct rql_rel **reduced)
{
	if (is_large(t, i)) {
		RQL_TRY(look_at_asked(t));
		RQL_TRY(rql_scan_asked_put(t->p, &t->asked, i, star, reduced, t->err));
	}
	if (!t->star->subtrees[i].side || *reduced)
		return RQL_OK;
	return rql_scan_reduction(t->p, t->star, i, t->s->snapshot->rows, reduced, t->err);
}

/* The map is of the keys that are asked for where these are few, and of all where that one is there already. */
static rql_status make_map(struct trying *t, uint32_t i, const struct rql_scan_keys *keys, uint64_t rows, bool *twice)
{
	const struct rql_rel *reduced = NULL;
	const struct rql_star *star = t->star;
	if ((star->subtrees[i].side || is_large(t, i)) && !rql_scan_dim_is_kept(t->p, star, i, keys, rows))
		RQL_TRY(reduce(t, i, &star, &reduced));
	rql_status status = rql_scan_dim_make(t->p, star, i, keys, reduced, rows, &t->kept[i], twice, t->err);
	const bool is_reduced = reduced || star != t->star;
	t->reduced[i] = is_reduced && status == RQL_OK;
	if (!is_reduced || *twice || status != RQL_ERROR_UNSUPPORTED)
		return status;
	rql_error_clear(t->err);
	return rql_scan_dim_make(t->p, t->star, i, keys, NULL, rows, &t->kept[i], twice, t->err);
}

static rql_status make_dim(struct trying *t, uint32_t i, bool *twice)
{
	struct rql_scan_keys keys;
	uint64_t rows;
	RQL_TRY(keys_of(t, i, &keys, &rows));
	RQL_TRY(make_map(t, i, &keys, rows, twice));
	t->dims[i] = t->kept[i]->dim;
	rql_status status = check_null_keys(t, &t->star->subtrees[i], &keys, &t->dims[i]);
	if (status != RQL_OK)
		rql_kept_map_release(t->kept[i]);
	return status;
}

/* *subtree: of the failure. */
static rql_status make_dims(struct trying *t, uint32_t *subtree, bool *twice)
{
	uint32_t n = t->star->subtree_count;
	rql_status status = RQL_OK;
	for (*subtree = 0; *subtree < n; ++*subtree)
		RQL_TRY(look_at_dim(t, *subtree, twice));
	for (*subtree = 0; *subtree < n && status == RQL_OK; *subtree += status == RQL_OK) {
		status = make_dim(t, *subtree, twice);
		t->dim_count += status == RQL_OK;
	}
	return status;
}

/* A table of the subtree that can be attached in another way, at last the root by two columns; false: there is none
 * left. */
static bool next_choice(const struct rql_star *star, uint32_t subtree, uint32_t *choices)
{
	for (uint32_t i = 0; i < star->block->table_count; i++) {
		if (star->owner[i] != subtree || choices[i] == RQL_STAR_PAIR || choices[i] + 1 >= star->ways[i])
			continue;
		choices[i]++;
		return true;
	}
	uint32_t root = star->subtrees[subtree].root;
	bool pair = star->ways[root] > 1 && choices[root] != RQL_STAR_PAIR;
	if (pair)
		choices[root] = RQL_STAR_PAIR;
	return pair;
}

/* The star and its dimensions. Which equality leads to a key is found out by trying. */
static rql_status make_star(struct trying *t)
{
	uint32_t choices[RQL_BLOCK_MAX_TABLES] = {0};
	for (;;) {
		bool twice = false;
		uint32_t subtree = 0;
		RQL_TRY(rql_star_make(t->p->arena, t->block, t->fact, choices, &t->star, t->err));
		t->dims = RQL_NEW_ARRAY(t->p->arena, struct rql_scan_dim, t->star->subtree_count);
		t->kept = RQL_NEW_ARRAY(t->p->arena, struct rql_kept_map *, t->star->subtree_count);
		t->reduced = RQL_NEW_ARRAY(t->p->arena, bool, t->star->subtree_count);
		if (!t->dims || !t->kept || !t->reduced)
			return rql_error_memory(t->err, 0, "a plan");
		rql_status status = make_dims(t, &subtree, &twice);
		if (status == RQL_OK || !twice || t->star->subtrees[subtree].side)
			return status;
		uint32_t root = t->star->subtrees[subtree].root;
		free_dims(t);
		if (next_choice(t->star, subtree, choices)) {
			rql_error_clear(t->err);
			continue;
		}
		if (t->star->ways[root] > 1)
			return rql_error_set(t->err, RQL_ERROR_UNSUPPORTED,
			                     "rows of table %s are joined by %u columns, and neither one nor two of them are a key",
			                     t->block->tables[root].table, t->star->ways[root]);
		return status;
	}
}

/* ---- the leaf ---- */

static const char *const side_phrases[] = {[RQL_SIDE_LEFT] = "outer join",
                                           [RQL_SIDE_SEMI] = "semi join",
                                           [RQL_SIDE_ANTI] = "anti join",
                                           [RQL_SIDE_MARK] = "IN or EXISTS"};

static const char *name_tables(struct trying *t, uint32_t subtree)
{
	struct rql_strbuf text = {0};
	static const char *const sides[] = {[RQL_SIDE_LEFT] = "at most one row of ",
	                                    [RQL_SIDE_SEMI] = "some row of ",
	                                    [RQL_SIDE_ANTI] = "no row of ",
	                                    [RQL_SIDE_MARK] = "a row or none of "};
	const struct rql_block_side *side = t->star->subtrees[subtree].side;
	if (side)
		rql_strbuf_put(&text, sides[side->kind]);
	rql_strbuf_put(&text, rql_star_table(t->star, subtree));
	for (uint32_t i = 0, n = 0; i < t->block->table_count; i++)
		if (t->star->owner[i] == subtree && i != t->star->subtrees[subtree].root)
			rql_strbuf_printf(&text, "%s%s", n++ ? ", " : " with ", t->block->tables[i].table);
	for (uint32_t i = 0; i < t->block->side_count; i++)
		if (t->star->owner[RQL_BLOCK_SIDE(i)] == subtree && side != &t->block->sides[i])
			rql_strbuf_printf(&text, " and its %s", side_phrases[t->block->sides[i].kind]);
	rql_strbuf_put(&text, t->reduced[subtree] ? ", of keys that are asked for" : "");
	const char *copy = rql_arena_strdup(t->p->arena, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	return copy;
}

/* The leaf takes the maps over. */
static rql_status take_dims(struct trying *t)
{
	struct rql_arena *arena = t->p->arena;
	struct rql_leaf_scan *scan = RQL_NEW(arena, struct rql_leaf_scan);
	uint32_t n = t->star->subtree_count;
	if (!scan || !(scan->maps = RQL_NEW_ARRAY(arena, struct rql_kept_map *, n)) ||
	    !(scan->dimensions = RQL_NEW_ARRAY(arena, const char *, n)) ||
	    !(scan->sources = RQL_NEW_ARRAY(arena, const char *, n)))
		return rql_error_memory(t->err, 0, "a plan");
	for (uint32_t i = 0; i < n; i++)
		if (!(scan->dimensions[i] = name_tables(t, i)))
			return rql_error_memory(t->err, 0, "a plan");
	scan->table = t->block->tables[t->fact].table;
	scan->rows = t->s->snapshot->rows;
	scan->blocks = t->s->snapshot->blocks;
	for (uint32_t i = 0; i < n; i++) {
		scan->sources[i] = t->dims[i].how;
		scan->maps[scan->map_count++] = t->kept[i];
	}
	t->dim_count = 0;
	t->leaf->scan = scan;
	return RQL_OK;
}

/* A clock that stands still in drivers' compilers: maps that a GPU makes for the first text would be too dear for its plan,
 * which is kept. */
static uint64_t working_ns(void)
{
	return rql_now_ns() - rql_compiled_ns();
}

static void charge(struct rql_cost *cost, double ns, bool kept)
{
	if (!kept) {
		cost->run_ns += ns;
		return;
	}
	cost->setup_ns += ns;
	cost->prepared_ns += ns;
}

/* What was prepared, and how long it took: in the price of one of many runs, or of this one. A text that has come again
 * pays for it by all those that follow, and a session that has named what is to run waits. first: of the candidates that were priced for it. */
static void charge_preparation(struct trying *t, double ns, uint32_t first)
{
	struct rql_plan_nodes *nodes = t->p->nodes;
	if (t->p->is_subplan) /* it runs at once: what is done by now the host would only do again */
		return;
	uint64_t bytes = rql_arena_bytes(t->p->arena);
	for (uint32_t m = 0; m < t->leaf->scan->map_count; m++)
		bytes += rql_kept_map_bytes(t->leaf->scan->maps[m]);
	const bool kept = is_kept(t, (double)bytes);
	if (kept && (t->p->ctx->comes_again || rql_await_is_forced(t->p)))
		return;
	charge(&t->leaf->cost, ns, kept);
	for (uint32_t c = first; c < nodes->candidate_count; c++)
		if (!nodes->candidates[c].reason)
			charge(&nodes->candidates[c].cost, ns, kept);
}

static double price_in_host(const struct trying *t, const struct rql_cost *cost)
{
	struct rql_host_work work = host_work(t, cost->cells, cost->groups > 0 ? cost->groups : cost->rows_out);
	for (uint32_t d = 0; d < t->star->subtree_count; d++)
		work.selected += (double)t->dims[d].rows;
	return spread(t, rql_host_work_values(&work));
}

/* What the host does for a selection: it reads the columns of conditions and order keys, as far as a limit makes it, and
 * the others for the rows that are wanted. */
static rql_status host_selection(struct trying *t, const struct rql_cost *cost, double *out)
{
	const struct rql_rows_block *rows = t->rows;
	struct column_use *use = RQL_NEW(t->p->arena, struct column_use);
	double wanted = rows->limit == UINT64_MAX ? cost->cells : (double)rows->limit + (double)rows->offset;
	if (!use)
		return rql_error_memory(t->err, 0, "a plan");
	use->table = t->fact;
	for (uint32_t i = 0; i < t->block->conjunct_count; i++)
		rql_expr_leaves(t->block->conjuncts[i], note_column, use);
	for (uint32_t i = 0; i < rows->order_count; i++)
		rql_expr_leaves(t->block->groups[rows->output_count + i], note_column, use);
	double read = (double)t->s->snapshot->rows * use->count + cost->cells * t->star->subtree_count * 4.0;
	if (!rows->order_count && wanted < cost->cells)
		read *= wanted / cost->cells;
	if (rows->order_count)
		read += rows->limit == UINT64_MAX ? cost->cells * RQL_HOST_SORTED_ROW : cost->cells + wanted * RQL_HOST_SORTED_ROW;
	double each = rows->is_result ? RQL_HOST_RESULT_VALUE : RQL_HOST_INNER_VALUE;
	read += t->dim_values + t->inner_rows * RQL_HOST_INNER_ROW_VALUES;
	*out = spread(t, read + cost->rows_out * rows->output_count * each);
	return RQL_OK;
}

static rql_status bind_rows(struct trying *t, struct rql_candidate *first, uint64_t start_ns)
{
	struct rql_request request;
	struct rql_leaf *leaf = t->leaf;
	RQL_TRY(rql_scan_bind_rows(t->p->ctx, t->p->arena, t->star, t->rows, t->s, t->dims, &request, t->err));
	/* The host keeps a table's order; that of a join is nobody's promise. */
	if (!request.order_count && !t->star->subtree_count && !t->s->snapshot->ordered)
		return rql_error_set(t->err, RQL_ERROR_UNSUPPORTED,
		                     "the query gives no order, and the structure does not know the table's");
	RQL_TRY(take_dims(t));
	leaf->scan->selection = t->rows;
	leaf->host_columns = t->block->column_count;
	double prepared_ns = (double)(working_ns() - start_ns);
	struct rql_sample sample = {0};
	request.sample = &sample;
	if (!rql_scan_indexes(t->p, t->s, &request))
		return rql_error_memory(t->err, 0, "a plan");
	const uint32_t number = (uint32_t)(first - t->p->nodes->candidates);
	RQL_TRY(rql_price_methods(t->p, t->s, &request, leaf, first, t->err));
	charge_preparation(t, prepared_ns, number);
	RQL_TRY(rql_scan_sorted(t->p, t->s, &request, leaf));
	return host_selection(t, &leaf->cost, &leaf->scan->host_values);
}

static rql_status bind(struct trying *t, struct rql_candidate *first)
{
	struct rql_scan_bound bound;
	RQL_TRY(check_columns(t));
	if (rql_block_counts_several(t->block))
		return rql_error_set(t->err, RQL_ERROR_UNSUPPORTED, "several columns are counted DISTINCT at once");
	RQL_TRY(check_worth(t));
	uint64_t start_ns = working_ns();
	RQL_TRY(make_star(t));
	if (t->rows)
		return bind_rows(t, first, start_ns);
	RQL_TRY(rql_scan_bind(t->p->ctx, t->p->arena, t->star, t->s, t->dims, &bound, t->err));
	RQL_TRY(set_keyed(t, &bound.request));
	RQL_TRY(take_dims(t));
	struct rql_leaf *leaf = t->leaf;
	leaf->slots = bound.slots;
	leaf->slot_count = t->block->group_count + t->block->agg_count;
	leaf->group_count = bound.key_count;
	leaf->hidden_key = bound.hidden_key;
	leaf->aggs = bound.request.aggs;
	leaf->agg_count = bound.request.agg_count;
	leaf->host_columns = t->block->column_count;
	if (!leaf->hidden_key && !rql_wanted_groups(t->p->arena, t->p->above, leaf->slots, leaf->slot_count,
	                                            &bound.request, &bound.request.wanted, &leaf->scan->wanted))
		return rql_error_memory(t->err, 0, "a plan");
	double prepared_ns = (double)(working_ns() - start_ns);
	struct rql_sample sample = {0};
	bound.request.sample = &sample;
	if (!rql_scan_indexes(t->p, t->s, &bound.request))
		return rql_error_memory(t->err, 0, "a plan");
	const uint32_t number = (uint32_t)(first - t->p->nodes->candidates);
	RQL_TRY(rql_price_methods(t->p, t->s, &bound.request, leaf, first, t->err));
	charge_preparation(t, prepared_ns, number);
	leaf->scan->host_values = price_in_host(t, &leaf->cost);
	return RQL_OK;
}

/* A selection is tried at node after node, and fails for the same reason: once is enough to read. */
static void forget_repetition(struct rql_plan_nodes *n)
{
	const struct rql_candidate *last = &n->candidates[n->candidate_count - 1];
	for (uint32_t i = 0; i + 1 < n->candidate_count; i++) {
		const struct rql_candidate *c = &n->candidates[i];
		if (c->of == last->of && !c->method[0] && !last->method[0] && c->reason && last->reason &&
		    !strcmp(c->reason, last->reason)) {
			n->candidate_count--;
			return;
		}
	}
}

/* May the structure's table, which is this one of the block, be scanned? */
static bool is_fact(const struct rql_planning *p, const struct rql_structure *s, const struct rql_block *block,
                    uint32_t table)
{
	const struct rql_expr *first = block->group_count ? block->groups[0] : NULL;
	if (!s->table_count || !rql_structure_is_of(s, &block->tables[table]))
		return false;
	if (p->keyed)
		return p->keyed->table == table;
	return !p->by_first || !first || first->kind != RQL_EXPR_COLUMN || first->table == table;
}

static rql_status try_leaf(struct rql_planning *p, const struct rql_block *block, const struct rql_rows_block *rows,
                           struct rql_structure *s, struct rql_leaf *leaf)
{
	struct rql_error why = {0};
	bool refresh;
	for (uint32_t fact = 0; fact < block->table_count && !leaf->prepared; fact++) {
		if (!is_fact(p, s, block, fact))
			continue;
		struct rql_candidate *c = rql_candidate_add(p, s);
		if (!c)
			return rql_error_memory(p->err, 0, "a plan");
		c->rows = true;
		const char *beyond = rql_beyond_columns(p->arena, block, fact);
		if (beyond) { /* whatever it holds, and however fresh it is */
			c->reason = rql_arena_printf(p->arena, "no structure holds %s", beyond);
			rql_planning_reason(p, rql_rank_beyond(rows), "no structure holds %s", beyond);
			forget_repetition(p->nodes);
			continue;
		}
		if ((c->reason = rql_leaf_unusable(p, s, &refresh))) {
			rql_planning_reason(p, RQL_REASON_NOT_FRESH, "%s: %s", s->name, c->reason);
			/* No table is read again for a few of its rows; those of a sub-plan become a map. */
			bool whole = !rows || (rows->is_result && (rows->order_count || block->conjunct_count || p->is_subplan));
			if (refresh && whole && !p->to_refresh)
				p->to_refresh = s;
			return RQL_OK;
		}
		const char *side = rql_block_side_beyond(block);
		if (side) { /* only joins on a GPU read it (plan/join) */
			c->reason = rql_arena_printf(p->arena, "%s lies below it", side);
			rql_planning_reason(p, RQL_REASON_NO_BLOCK, "%s lies below the %s", side, rows ? "selection" : "aggregate");
			return RQL_OK;
		}
		leaf->structure = s;
		rql_structure_retain(s);
		struct trying t = {.p = p, .block = block, .rows = rows, .s = s, .leaf = leaf, .fact = fact, .err = &why};
		rql_status status = bind(&t, c);
		free_dims(&t);
		rql_scan_asked_free(&t.asked);
		if (status == RQL_OK)
			return RQL_OK;
		rql_leaf_clear(leaf);
		/* The candidates' list may have moved. */
		struct rql_candidate *last = &p->nodes->candidates[p->nodes->candidate_count - 1];
		if (!last->reason && !last->method[0])
			last->reason = rql_arena_strdup(p->arena, rql_error_message(&why));
		RQL_TRY(rql_planning_swallow(p, status, &why, RQL_REASON_NO_METHOD, s->name));
		forget_repetition(p->nodes);
	}
	return RQL_OK;
}

rql_status rql_scan_leaf_try(struct rql_planning *p, const struct rql_block *block, struct rql_structure *s,
                             struct rql_leaf *leaf)
{
	return try_leaf(p, block, NULL, s, leaf);
}

rql_status rql_scan_leaf_try_rows(struct rql_planning *p, const struct rql_rows_block *rows, struct rql_structure *s,
                                  struct rql_leaf *leaf)
{
	return try_leaf(p, rows->block, rows, s, leaf);
}
