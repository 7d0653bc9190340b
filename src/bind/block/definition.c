/* Making the definition of a cube of a view's query: classes of equal columns, dimensions, measures, and the SQL of its
 * input. */
#include "bind/block/definition.h"

#include <stdlib.h>
#include <string.h>
#include "bind/normal/normal.h"
#include "bind/normal/stability.h"

/* ---- equality classes of columns ---- */

static bool same_column(struct rql_column_id a, struct rql_column_id b)
{
	return a.table == b.table && a.index == b.index;
}

static bool column_before(struct rql_column_id a, struct rql_column_id b)
{
	return a.table < b.table || (a.table == b.table && a.index < b.index);
}

struct rql_column_id rql_column_representative(const struct rql_column_pair *pairs, uint32_t count,
                                               struct rql_column_id column)
{
	for (uint32_t i = 0; i < count; i++)
		if (same_column(pairs[i].column, column))
			return pairs[i].representative;
	return column;
}

static void put_representative(struct rql_column_pair *pairs, uint32_t *count, struct rql_column_id column)
{
	for (uint32_t i = 0; i < *count; i++)
		if (same_column(pairs[i].column, column))
			return;
	pairs[(*count)++] = (struct rql_column_pair){column, column};
}

bool rql_column_classes(struct rql_arena *arena, struct rql_expr *const *conjuncts, uint32_t count,
                        struct rql_column_pair **out, uint32_t *out_count)
{
	struct rql_column_pair *pairs = RQL_NEW_ARRAY(arena, struct rql_column_pair, 2 * (size_t)count);
	uint32_t n = 0;
	if (!pairs)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (!rql_expr_is_equijoin(conjuncts[i]))
			continue;
		const struct rql_expr *l = conjuncts[i]->children[0], *r = conjuncts[i]->children[1];
		struct rql_column_id a = {l->table, l->index}, b = {r->table, r->index};
		put_representative(pairs, &n, a);
		put_representative(pairs, &n, b);
		a = rql_column_representative(pairs, n, a);
		b = rql_column_representative(pairs, n, b);
		struct rql_column_id to = column_before(a, b) ? a : b;
		for (uint32_t k = 0; k < n; k++)
			if (same_column(pairs[k].representative, a) || same_column(pairs[k].representative, b))
				pairs[k].representative = to;
	}
	*out = pairs;
	*out_count = n;
	return true;
}

static struct rql_expr *represent(struct rql_arena *arena, const struct rql_expr *e, void *state)
{
	const struct rql_definition *def = state;
	if (e->kind != RQL_EXPR_COLUMN)
		return NULL;
	struct rql_column_id to =
		rql_column_representative(def->pairs, def->pair_count, (struct rql_column_id){e->table, e->index});
	struct rql_expr *copy = rql_expr_new(arena, RQL_EXPR_COLUMN, e->type, 0);
	if (!copy)
		return NULL;
	copy->alias = e->alias;
	copy->table = to.table;
	copy->index = to.index;
	return copy;
}

struct rql_expr *rql_definition_represent(const struct rql_definition *def, struct rql_arena *arena,
                                          const struct rql_expr *e)
{
	return rql_expr_transform(arena, e, represent, (void *)(uintptr_t)def);
}

/* ---- from a SELECT ---- */

static rql_status not_a_cube(struct rql_error *err, const char *why)
{
	return rql_error_set(
		err, RQL_ERROR_STATEMENT,
		"Binder Error: a materialized view holds SELECT dimensions, aggregates FROM tables or joins [WHERE ...] "
		"GROUP BY dimensions; %s. Use CREATE VIEW or CREATE TABLE AS for this query",
		why);
}

/* *err says why DuckDB gave no plan, in words for its developers ("CSVReaderSerialize not implemented"). */
static rql_status no_plan(struct rql_error *err)
{
	struct rql_strbuf why = {0};
	rql_strbuf_put(&why, rql_error_message(err));
	rql_status status =
		rql_error_set(err, RQL_ERROR_STATEMENT,
	                  "Binder Error: a materialized view cannot be made of this query: DuckDB does not tell how "
	                  "it would run it (%s). If it reads files, load them into a table first",
	                  rql_strbuf_text(&why));
	rql_strbuf_free(&why);
	return status;
}

/* The node that groups: below projections, ORDER BY and HAVING, which reading the view by name applies again. */
static rql_status find_aggregate(struct rql_rel *rel, struct rql_rel **out, struct rql_error *err)
{
	while (rel->kind == RQL_REL_PROJECT || rel->kind == RQL_REL_ORDER || rel->kind == RQL_REL_FILTER)
		rel = rel->children[0];
	if (rel->kind == RQL_REL_OPAQUE)
		return not_a_cube(err, rql_rel_phrase(rel));
	if (rel->kind == RQL_REL_TOP_N || rel->kind == RQL_REL_LIMIT)
		return not_a_cube(err, "LIMIT cannot be kept up to date");
	if (rel->kind == RQL_REL_EMPTY)
		return not_a_cube(err, "its conditions leave no row: WHERE can never be true");
	if (rel->kind != RQL_REL_AGGREGATE && rel->kind != RQL_REL_DISTINCT)
		return not_a_cube(err, "this query does not aggregate");
	*out = rel;
	return RQL_OK;
}

/* Names of the dimensions: the view's column where a projection gives one straight, else the expression's own. */
static bool name_dimensions(struct rql_definition *def, const struct rql_rel *root, const struct rql_host_stmt *stmt)
{
	uint32_t n = def->block->group_count;
	def->dimension_names = RQL_NEW_ARRAY(def->arena, const char *, n);
	if (!def->dimension_names)
		return false;
	if (root->kind == RQL_REL_PROJECT && root->children[0] == def->aggregate)
		for (uint32_t i = 0; i < root->expr_count && i < rql_host_stmt_columns(stmt); i++)
			if (root->exprs[i]->kind == RQL_EXPR_REF && root->exprs[i]->index < n)
				def->dimension_names[root->exprs[i]->index] =
					rql_arena_strdup(def->arena, rql_host_stmt_column_name(stmt, i));
	for (uint32_t i = 0; i < n; i++) {
		if (!def->dimension_names[i] && !(def->dimension_names[i] = rql_expr_text(def->arena, def->block->groups[i])))
			return false;
	}
	return true;
}

static struct rql_definition_arg *measure_of(struct rql_definition *def, struct rql_expr *arg, struct rql_expr *source)
{
	for (uint32_t i = 0; i < def->measure_count; i++)
		if (rql_expr_equal(def->measures[i].expr, arg))
			return &def->measures[i];
	struct rql_definition_arg *m = &def->measures[def->measure_count++];
	*m = (struct rql_definition_arg){.expr = arg, .source = source, .name = rql_expr_text(def->arena, arg)};
	return m;
}

static rql_status add_measure(struct rql_definition *def, const struct rql_expr *agg, const struct rql_expr *source,
                              struct rql_error *err)
{
	bool extreme = !strcmp(agg->name, "min") || !strcmp(agg->name, "max");
	if (agg->filter)
		return not_a_cube(err, "an aggregate with FILTER is not kept; put the condition's column among the dimensions");
	if (agg->order_count)
		return not_a_cube(err, "an aggregate with ORDER BY is not kept");
	if (agg->distinct && !extreme)
		return not_a_cube(err, "DISTINCT aggregates do not add up over cells; put the column among the dimensions");
	if (!strcmp(agg->name, "count_star"))
		return RQL_OK; /* every cube counts its rows */
	bool sums = !strcmp(agg->name, "sum") || !strcmp(agg->name, "avg");
	if ((!extreme && !sums && strcmp(agg->name, "count") != 0) || agg->child_count != 1) {
		struct rql_strbuf text = {0};
		/* What has no name of its own is told in words: "an aggregate that ...: list". */
		rql_strbuf_printf(&text, "%s%s is not among SUM, COUNT, AVG, MIN, MAX",
		                  strncmp(agg->name, "an aggregate ", 13) == 0 ? "" : "the aggregate ", agg->name);
		rql_status status = not_a_cube(err, rql_strbuf_text(&text));
		rql_strbuf_free(&text);
		return status;
	}
	struct rql_definition_arg *m = measure_of(def, agg->children[0], source->children[0]);
	if (!m->name)
		return rql_error_memory(err, 0, "a definition");
	m->sum |= sums;
	m->min |= !strcmp(agg->name, "min");
	m->max |= !strcmp(agg->name, "max");
	return RQL_OK;
}

static rql_status represent_all(struct rql_definition *def, struct rql_expr **exprs, uint32_t count,
                                struct rql_error *err)
{
	for (uint32_t i = 0; i < count; i++) {
		struct rql_expr *e = exprs[i];
		if (rql_expr_is_equijoin(e))
			continue;
		if (!(exprs[i] = rql_definition_represent(def, def->arena, e)))
			return rql_error_memory(err, 0, "a definition");
	}
	return RQL_OK;
}

/* A cast or function of TIMESTAMP WITH TIME ZONE means what the session's TimeZone makes of it; a cube is built under
 * one. */
static bool needs_time_zone(const struct rql_expr *e)
{
	bool computed = e->kind == RQL_EXPR_CAST || e->kind == RQL_EXPR_FUNCTION;
	if (computed && e->type.id == RQL_TYPE_TIMESTAMP_TZ)
		return true;
	for (uint32_t i = 0; i < e->child_count; i++)
		if ((computed && e->children[i]->type.id == RQL_TYPE_TIMESTAMP_TZ) || needs_time_zone(e->children[i]))
			return true;
	return false;
}

static rql_status check_time_zone(const struct rql_block *b, struct rql_error *err)
{
	bool needs = false;
	for (uint32_t i = 0; i < b->conjunct_count; i++)
		needs |= needs_time_zone(b->conjuncts[i]);
	for (uint32_t i = 0; i < b->group_count; i++)
		needs |= needs_time_zone(b->groups[i]);
	for (uint32_t i = 0; i < b->agg_count; i++)
		needs |= needs_time_zone(b->aggs[i]);
	return needs ? not_a_cube(err, "a conversion of TIMESTAMP WITH TIME ZONE depends on the session's TimeZone; "
	                               "keep the column itself as a dimension")
	             : RQL_OK;
}

static rql_status fill_definition(struct rql_definition *def, struct rql_rel *root, const struct rql_host_stmt *stmt,
                                  struct rql_error *err)
{
	RQL_TRY(find_aggregate(root, &def->aggregate, err));
	struct rql_error why = {0};
	rql_status status = rql_block_make(def->arena, def->aggregate, &def->block, &why);
	if (status == RQL_ERROR_UNSUPPORTED && strncmp(rql_error_message(&why), "a table function: ", 18) == 0)
		status = rql_error_set(
			err, RQL_ERROR_STATEMENT,
			"Binder Error: a materialized view cannot read %s(), whose rows RayQL cannot see change; load "
			"them into a table first",
			rql_error_message(&why) + 18);
	else if (status == RQL_ERROR_UNSUPPORTED)
		status = not_a_cube(err, rql_error_message(&why));
	else if (status != RQL_OK)
		rql_error_set(err, status, "%s", rql_error_message(&why));
	rql_error_clear(&why);
	RQL_TRY(status);
	struct rql_block *b = def->block;
	if (b->side_count)
		return not_a_cube(err, "a join that is not an inner join lies below the aggregate");
	RQL_TRY(check_time_zone(b, err));
	if (!rql_column_classes(def->arena, b->conjuncts, b->conjunct_count, &def->pairs, &def->pair_count))
		return rql_error_memory(err, 0, "a definition");
	RQL_TRY(represent_all(def, b->conjuncts, b->conjunct_count, err));
	RQL_TRY(represent_all(def, b->groups, b->group_count, err));
	RQL_TRY(represent_all(def, b->aggs, b->agg_count, err));
	def->measures = RQL_NEW_ARRAY(def->arena, struct rql_definition_arg, b->agg_count);
	if (!def->measures || !name_dimensions(def, root, stmt))
		return rql_error_memory(err, 0, "a definition");
	for (uint32_t i = 0; i < b->agg_count; i++)
		RQL_TRY(add_measure(def, b->aggs[i], def->aggregate->exprs[b->group_count + i], err));
	return RQL_OK;
}

/* A build needs the whole input as SQL again. */
static rql_status check_source(const struct rql_definition *def, const struct rql_rel *root, struct rql_error *err)
{
	char *text = rql_definition_source(def, 0);
	const char *why = text ? NULL : rql_rel_reason(root);
	free(text);
	if (text)
		return RQL_OK;
	return why ? not_a_cube(err, why) : rql_error_memory(err, 0, "a definition");
}

static rql_status check_stable(const struct rql_plan_context *ctx, const struct rql_plan_facts *facts,
                               struct rql_error *err)
{
	const char *name = NULL;
	RQL_TRY(rql_stability_load(ctx, err));
	if (rql_plan_stability(ctx->planner, facts, &name) == RQL_CONSISTENT)
		return RQL_OK;
	struct rql_strbuf why = {0};
	rql_strbuf_printf(&why, "%s() changes its value between runs", name);
	rql_status status = not_a_cube(err, rql_strbuf_text(&why));
	rql_strbuf_free(&why);
	return status;
}

/* The query's plan in its normal form. */
static rql_status plan_of(const struct rql_plan_context *ctx, struct rql_arena *arena, const char *query,
                          struct rql_rel **root, struct rql_error *err)
{
	struct rql_plan_facts facts;
	char *json = NULL;
	rql_status status = rql_host_plan(ctx->host, query, &json, err);
	if (status == RQL_OK)
		status = rql_plan_read(arena, rql_plan_dialect_of(rql_host_library_version()), json, strlen(json), NULL, root,
		                       &facts, err);
	free(json);
	if (status == RQL_ERROR_UNSUPPORTED)
		return no_plan(err);
	RQL_TRY(status);
	RQL_TRY(check_stable(ctx, &facts, err));
	struct rql_error why = {0};
	status = rql_plan_normalise(ctx, arena, root, &why);
	if (status == RQL_ERROR_UNSUPPORTED)
		status = not_a_cube(err, rql_error_message(&why));
	else if (status != RQL_OK)
		rql_error_move(err, &why);
	rql_error_clear(&why);
	return status;
}

rql_status rql_definition_make(const struct rql_plan_context *ctx, const char *query, struct rql_definition **out,
                               struct rql_error *err)
{
	struct rql_host_stmt *stmt = NULL;
	struct rql_rel *root = NULL;
	rql_status status = RQL_OK;
	struct rql_arena *arena = rql_arena_new();
	struct rql_definition *def = arena ? RQL_NEW(arena, struct rql_definition) : NULL;
	if (!def) {
		rql_arena_free(arena);
		return rql_error_memory(err, sizeof *def, "a definition");
	}
	def->arena = arena;
	def->references = 1;
	status = rql_host_prepare(ctx->host, query, &stmt, err);
	if (status == RQL_OK && rql_host_stmt_class(stmt) != RQL_HOST_SELECT)
		status = not_a_cube(err, "this is no SELECT");
	if (status == RQL_OK && rql_host_stmt_parameters(stmt))
		status = not_a_cube(err, "parameters have no value in a definition");
	if (status == RQL_OK)
		status = plan_of(ctx, arena, query, &root, err);
	if (status == RQL_OK)
		status = fill_definition(def, root, stmt, err);
	if (status == RQL_OK)
		status = check_source(def, root, err);
	rql_host_stmt_free(stmt);
	if (status == RQL_OK)
		*out = def;
	else
		rql_definition_release(def);
	return status;
}

void rql_definition_retain(struct rql_definition *def)
{
	atomic_fetch_add(&def->references, 1);
}

void rql_definition_release(void *pointer)
{
	struct rql_definition *def = pointer;
	if (def && atomic_fetch_sub(&def->references, 1) == 1)
		rql_arena_free(def->arena);
}

/* ---- what builders see ---- */

uint32_t rql_definition_table_count(const struct rql_definition *def)
{
	return def->block->table_count;
}

void rql_definition_table(const struct rql_definition *def, uint32_t index, const char **database, const char **schema,
                          const char **name)
{
	const struct rql_table_ref *t = &def->block->tables[index];
	*database = t->catalog;
	*schema = t->schema;
	*name = t->table;
}

uint32_t rql_definition_dimension_count(const struct rql_definition *def)
{
	return def->block->group_count;
}

struct rql_type rql_definition_dimension_type(const struct rql_definition *def, uint32_t index)
{
	return def->block->groups[index]->type;
}

const char *rql_definition_dimension_name(const struct rql_definition *def, uint32_t index)
{
	return def->dimension_names[index];
}

uint32_t rql_definition_measure_count(const struct rql_definition *def)
{
	return def->measure_count;
}

struct rql_definition_measure rql_definition_measure_at(const struct rql_definition *def, uint32_t index)
{
	const struct rql_definition_arg *m = &def->measures[index];
	return (struct rql_definition_measure){
		.type = m->expr->type, .name = m->name, .sum = m->sum, .min = m->min, .max = m->max};
}

static void print_input_column(struct rql_strbuf *out, uint32_t index, void *state)
{
	(void)state;
	rql_strbuf_printf(out, "c%u", index);
}

char *rql_definition_source(const struct rql_definition *def, uint64_t sink)
{
	struct rql_strbuf sql = {0};
	bool ok = true;
	const struct rql_rel *agg = def->aggregate;
	rql_strbuf_printf(&sql, "SELECT system.main.count(system.main.rayql_sink(%llu::BIGINT", (unsigned long long)sink);
	for (uint32_t i = 0; i < def->block->group_count; i++) {
		rql_strbuf_put(&sql, ", ");
		if (agg->kind == RQL_REL_DISTINCT)
			print_input_column(&sql, i, NULL);
		else
			ok = ok && rql_expr_print(&sql, agg->exprs[i], print_input_column, NULL);
	}
	for (uint32_t i = 0; i < def->measure_count; i++) {
		rql_strbuf_put(&sql, ", ");
		ok = ok && rql_expr_print(&sql, def->measures[i].source, print_input_column, NULL);
	}
	rql_strbuf_put(&sql, ")) FROM (");
	ok = ok && rql_rel_print(&sql, def->aggregate->children[0], NULL, NULL);
	rql_strbuf_put(&sql, ") AS input");
	if (ok)
		return rql_strbuf_take(&sql);
	rql_strbuf_free(&sql);
	return NULL;
}
