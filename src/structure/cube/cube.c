/* The kind "cube": what a materialized view's SELECT ... GROUP BY gives, kept as a coded relation (method/contents.h).
 * DuckDB runs the SELECT without its aggregates and pushes every row into the method's builder. */
#include "structure/structure_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "device/placement.h"
#include "method/contents.h"
#include "structure/options.h"

extern const struct rql_structure_kind rql_structure_cube;

/* ---- definitions ---- */
static void retain_definition(void *definition)
{
	rql_definition_retain(definition);
}

/* Gives s (unpublished) the definition, its tables and its hash; takes the definition's reference over, also on
 * failure. Refuses definitions over anything but tables of the database itself. */
static rql_status define(struct rql_structures *all, struct rql_structure *s, struct rql_definition *def,
                         struct rql_error *err)
{
	uint32_t count = rql_definition_table_count(def);
	struct rql_table **tables = calloc(count + 1, sizeof(struct rql_table *));
	rql_status status = tables ? RQL_OK : rql_error_memory(err, count, "a definition");
	for (uint32_t i = 0; i < count && status == RQL_OK; i++) {
		struct rql_table_ref table;
		rql_definition_table(def, i, &table.catalog, &table.schema, &table.table);
		status = rql_structure_check_table(all, &table, "a materialized view cannot read",
		                                   "a materialized view can only read", err);
		if (status == RQL_OK)
			tables[i] = rql_catalog_table(all->catalog, table.catalog, table.schema, table.table);
	}
	char *source = status == RQL_OK ? rql_definition_source(def, 0) : NULL;
	if (status == RQL_OK)
		status = rql_structure_define(s, count, tables, source ? rql_structure_hash(source) : NULL, err);
	free(source);
	free(tables);
	if (status != RQL_OK) {
		rql_definition_release(def);
		return status;
	}
	if (s->definition)
		s->release_definition(s->definition);
	s->definition = def;
	s->retain_definition = retain_definition;
	s->release_definition = rql_definition_release;
	return RQL_OK;
}

/* With loader_lock held. An empty path is DuckDB's default. */
static rql_status set_search_path(struct rql_structures *all, const char *path, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	if (path && *path) {
		rql_strbuf_put(&sql, "SET search_path = ");
		rql_strbuf_put_literal(&sql, path, strlen(path));
	} else {
		rql_strbuf_put(&sql, "RESET search_path");
	}
	char *text = rql_strbuf_take(&sql);
	if (!text)
		return rql_error_memory(err, 0, "a definition");
	rql_status status = rql_host_query(all->loader, text, NULL, err);
	free(text);
	return status;
}

/* Plans the query on the loader connection with the search path of its CREATE. */
static rql_status bind(struct rql_structures *all, struct rql_structure *s, struct rql_error *err)
{
	static const struct rql_settings defaults = {.device = "auto"};
	struct rql_definition *def = NULL;
	struct rql_plan_context ctx = {
		.host = all->loader,
		.host_db = all->host,
		.catalog = all->catalog,
		.planner = all->planner,
		.devices = all->devices,
		.settings = &defaults,
	};
	pthread_mutex_lock(&all->loader_lock);
	rql_status status = rql_host_hold_settings(all->loader, err);
	if (status == RQL_OK)
		status = set_search_path(all, s->search_path, err);
	if (status == RQL_OK)
		status = rql_definition_make(&ctx, s->query, &def, err);
	pthread_mutex_unlock(&all->loader_lock);
	return status == RQL_OK ? define(all, s, def, err) : status;
}

/* The query means what the loader binds (default settings, committed state), so that a rebuild after reopening means
 * the same. A session in which it means something else must say so now. */
static rql_status define_for(const struct rql_plan_context *plan, struct rql_structures *all, struct rql_structure *s,
                             struct rql_error *err)
{
	struct rql_definition *mine = NULL;
	RQL_TRY(rql_definition_make(plan, s->query, &mine, err));
	RQL_TRY(define(all, s, mine, err));
	char *hash = strdup(s->definition_hash);
	rql_status status = bind(all, s, err);
	if (status == RQL_OK && (!hash || strcmp(hash, s->definition_hash) != 0))
		status = rql_error_set(
			err, RQL_ERROR_STATEMENT,
			"Binder Error: the query of %s means something else under the default settings than in this session (a "
			"setting such as integer_division or TimeZone changes it); write it so that it does not depend on them",
			s->name);
	free(hash);
	return status;
}

static char *trimmed(const char *query)
{
	size_t length = strlen(query);
	while (length && strchr(" \t\r\n;", query[length - 1]))
		length--;
	return strndup(query, length);
}

static char *statement_text(const struct rql_structure *s)
{
	struct rql_strbuf out = {0};
	rql_strbuf_put(&out, "CREATE MATERIALIZED VIEW ");
	if (strcmp(s->schema, "main") != 0) {
		rql_put_name(&out, s->schema);
		rql_strbuf_putc(&out, '.');
	}
	rql_put_name(&out, s->name);
	rql_strbuf_printf(&out, " WITH (%s) AS %s;", s->options, s->query);
	return rql_strbuf_take(&out);
}

static rql_status describe(const struct rql_plan_context *plan, struct rql_structures *all, const char *sql,
                           const struct rql_statement *st, const char *schema,
                           const struct rql_structure_options *options, struct rql_structure **out,
                           struct rql_error *err)
{
	struct rql_structure *s = NULL;
	struct rql_strbuf text = {0};
	(void)sql;
	RQL_TRY(rql_structure_describe(all, &rql_structure_cube, schema, st->name.name, options, &s, err));
	rql_view_options_print(&text, options);
	s->query = trimmed(st->query);
	s->options = rql_strbuf_take(&text);
	s->statement = s->query && s->options ? statement_text(s) : NULL;
	rql_status status =
		rql_host_fold_text(plan->host, "system.main.current_setting('search_path')", &s->search_path, err);
	if (status == RQL_OK && !s->statement)
		status = rql_error_memory(err, sizeof *s, "a structure");
	if (status == RQL_OK)
		status = define_for(plan, all, s, err);
	if (status != RQL_OK) {
		rql_structure_release(s);
		return status;
	}
	*out = s;
	return RQL_OK;
}

/* ---- DuckDB's view of the name ---- */
/* DuckDB's own text of the view; malloc'ed, NULL: there is none. */
static rql_status view_text(const struct rql_structures *all, const char *schema, const char *name, char **out,
                            struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	struct rql_host_con *con = NULL;
	RQL_TRY(rql_host_connect_own(all->host, &con, err));
	rql_strbuf_put(&sql, "SELECT sql FROM ");
	rql_put_objects(&sql, "duckdb_views", "view_name", all->name, schema, name);
	rql_status status = rql_host_query_text(con, rql_strbuf_sql(&sql), out, err);
	rql_host_disconnect(con);
	rql_strbuf_free(&sql);
	return status;
}

/* Its text, to notice that the view was replaced. */
static void stored(struct rql_structures *all, struct rql_structure *s)
{
	struct rql_error ignored = {0};
	char *text = NULL;
	if (view_text(all, s->schema, s->name, &text, &ignored) == RQL_OK) {
		free(s->view_sql);
		s->view_sql = text;
	}
	rql_error_clear(&ignored);
}

/* What cannot be asked now is as it was. */
static bool is_gone(struct rql_structures *all, const struct rql_structure *s)
{
	struct rql_error ignored = {0};
	char *now = NULL;
	bool gone = view_text(all, s->schema, s->name, &now, &ignored) == RQL_OK &&
	            (!now || (s->view_sql && strcmp(now, s->view_sql) != 0));
	rql_error_clear(&ignored);
	free(now);
	return gone;
}

/* ---- building ---- */
static rql_status add_rows(void *state, unsigned worker, const struct rql_batch *rows, struct rql_error *err)
{
	return rql_cube_contents.add(state, worker, rows, err);
}

/* The dimension called name: by its own name in the view, in any case. */
static rql_status find_dimension(const struct rql_structure *s, const char *name, uint32_t *out, struct rql_error *err)
{
	struct rql_strbuf known = {0};
	for (uint32_t i = 0; i < rql_definition_dimension_count(s->definition); i++) {
		const char *have = rql_definition_dimension_name(s->definition, i);
		if (strcasecmp(have, name) == 0) {
			rql_strbuf_free(&known);
			*out = i;
			return RQL_OK;
		}
		rql_strbuf_printf(&known, "%s%s", i ? ", " : "", have);
	}
	rql_error_set(err, RQL_ERROR_STATEMENT,
	              "Binder Error: the option order names \"%s\", which is no dimension of %s; its dimensions are %s",
	              name, s->name, rql_strbuf_text(&known));
	rql_strbuf_free(&known);
	return RQL_ERROR_STATEMENT;
}

struct build {
	struct rql_build_context *ctx;
	struct rql_structure *s;
	struct rql_host_con *con;
	struct rql_arena *arena;
	struct rql_relation_spec spec;
	const struct rql_relation *made; /* by the last attempt, or NULL */
};

static rql_status fill_spec(struct build *b, struct rql_error *err)
{
	const struct rql_definition *def = b->s->definition;
	struct rql_statement st = {0};
	struct rql_structure_options options;
	RQL_TRY(rql_statement_parse(b->arena, b->s->statement, &st, err));
	RQL_TRY(b->s->kind->options(b->arena, b->s->statement, &st, &options, err));
	uint32_t d = rql_definition_dimension_count(def), m = rql_definition_measure_count(def);
	struct rql_type *types = RQL_NEW_ARRAY(b->arena, struct rql_type, d);
	const char **names = RQL_NEW_ARRAY(b->arena, const char *, d);
	struct rql_measure_spec *measures = RQL_NEW_ARRAY(b->arena, struct rql_measure_spec, m);
	uint32_t *order = RQL_NEW_ARRAY(b->arena, uint32_t, options.order_count);
	if (!types || !names || !measures || !order)
		return rql_error_memory(err, d + m, "a build");
	for (uint32_t i = 0; i < d; i++) {
		types[i] = rql_definition_dimension_type(def, i);
		names[i] = rql_definition_dimension_name(def, i);
	}
	for (uint32_t i = 0; i < m; i++) {
		struct rql_definition_measure x = rql_definition_measure_at(def, i);
		measures[i] =
			(struct rql_measure_spec){.type = x.type, .name = x.name, .sum = x.sum, .min = x.min, .max = x.max};
	}
	for (uint32_t i = 0; i < options.order_count; i++)
		RQL_TRY(find_dimension(b->s, options.order[i], &order[i], err));
	b->spec = (struct rql_relation_spec){
		.name = b->s->name,
		.dimension_count = d,
		.dimension_types = types,
		.dimension_names = names,
		.measure_count = m,
		.measures = measures,
		.rollup = options.rollup,
		.order_count = options.order_count,
		.order = order,
		.budget = b->ctx->structures->budget,
		.progress = b->ctx->progress,
		.device = &b->ctx->structures->devices->device[0],
	};
	return RQL_OK;
}

static rql_status build_once(void *state, struct rql_error *err)
{
	struct build *b = state;
	struct rql_host_db *host = b->ctx->structures->host;
	struct rql_relation_builder *builder = NULL;
	if (b->made)
		rql_cube_contents.release(b->made);
	b->made = NULL;
	RQL_TRY(rql_cube_contents.begin(&b->spec, &builder, err));
	uint64_t sink = rql_host_sink_add(host, add_rows, builder);
	char *text = sink ? rql_definition_source(b->s->definition, sink) : NULL;
	rql_status status = text ? RQL_OK : rql_error_memory(err, 0, "a build");
	rql_build_show(b->ctx, "reading", rql_build_estimate(b->s, b->con));
	if (status == RQL_OK)
		status = rql_host_query(b->con, text, NULL, err);
	if (sink)
		rql_host_sink_remove(host, sink);
	free(text);
	if (status != RQL_OK) {
		rql_cube_contents.abort(builder);
		return status;
	}
	return rql_cube_contents.finish(builder, &b->made, err);
}

/* On a connection of its own, which holds the defaults: the definition was bound under these, and neither the user's
 * settings nor the database's must change what its expressions mean. */
static rql_status build_on(void *state, struct rql_host_con *con, struct rql_error *err)
{
	struct build *b = state;
	b->con = con;
	return rql_build_settled(b->ctx, b->s, build_once, b, err);
}

static void take(struct rql_structure *s, const struct rql_relation *relation)
{
	s->relation = relation;
	s->retain_relation = rql_cube_contents.retain;
	s->release_relation = rql_cube_contents.release;
}

/* Why a side file was not used, or not kept, stays to be read after the build that replaced it, until the next one. */
static void note_rebuilt(struct rql_structure *s)
{
	static const char unused[] = "its side file was not ";
	struct rql_strbuf note = {0};
	if (s->note && strncmp(s->note, unused, sizeof unused - 1) == 0)
		rql_strbuf_printf(&note, "built again: %s", s->note);
	(void)rql_structure_set_text(&s->note, note.length ? rql_strbuf_text(&note) : NULL);
	rql_strbuf_free(&note);
}

static rql_status build(struct rql_build_context *ctx, struct rql_structure *s, struct rql_error *err)
{
	struct build b = {.ctx = ctx, .s = s, .arena = rql_arena_new()};
	struct rql_host_con *con = NULL;
	uint64_t start = rql_now_ns();
	rql_status status = b.arena ? fill_spec(&b, err) : rql_error_memory(err, 0, "a build");
	if (status == RQL_OK)
		status = rql_host_connect(ctx->structures->host, &con, err);
	if (status == RQL_OK)
		status = rql_host_hold_settings(con, err);
	if (status == RQL_OK)
		status = rql_build_on(ctx, con, build_on, &b, err);
	else
		rql_host_disconnect(con);
	rql_arena_free(b.arena);
	if (status != RQL_OK) {
		if (b.made)
			rql_cube_contents.release(b.made);
		return status;
	}
	rql_build_ready(s, start);
	take(s, b.made);
	note_rebuilt(s);
	rql_device_place(ctx, s);
	return RQL_OK;
}

/* ---- side files ---- */
static rql_status save(struct rql_structures *all, const struct rql_structure *s, const struct rql_file_place *place,
                       const char *identity, struct rql_error *err)
{
	(void)all;
	return rql_cube_contents.write(s->relation, place, identity, (uint32_t)strlen(identity), err);
}

static rql_status load(struct rql_structures *all, struct rql_structure *s, const struct rql_file_place *place,
                       const char *identity, struct rql_error *err)
{
	const struct rql_relation *relation = NULL;
	RQL_TRY(rql_cube_contents.read(place, identity, (uint32_t)strlen(identity), all->budget, &relation, err));
	take(s, relation);
	return RQL_OK;
}

/* ---- devices ---- */
static uint64_t on_device(struct rql_structures *all, const struct rql_structure *s, const struct rql_device *device,
                          char *kinds, size_t size, double *ms, const char **failure)
{
	(void)all;
	return rql_placements_of(s->relation, device, kinds, size, ms, failure);
}

static bool mark(struct rql_structure *copy, const struct rql_structure *s, const struct rql_device *device,
                 const char *message)
{
	struct rql_strbuf note = {0};
	if (copy->relation != s->relation)
		return false;
	rql_device_put_failure(&note, s, device, message);
	(void)rql_structure_set_text(&copy->note, rql_strbuf_text(&note));
	rql_strbuf_free(&note);
	return true;
}

/* Other sessions look at the structure epoch before they use a cached plan: a new object, with a note, moves it. */
static void fail(struct rql_structures *all, const struct rql_structure *s, const struct rql_device *device,
                 const char *message)
{
	rql_placements_fail(s->relation, device, message);
	rql_device_mark(all, s, device, message, mark);
}

/* ---- what it is ---- */
static void size(struct rql_structures *all, const struct rql_structure *s, struct rql_structure_size *out)
{
	(void)all;
	const struct rql_relation *r = s->relation;
	*out = (struct rql_structure_size){
		.rows = r->rows, .bytes = r->bytes, .has_cells = true, .cells = r->cells, .rolled_up = r->rolled_up};
}

static void put_order(const struct rql_structure *s, struct rql_strbuf *out)
{
	uint32_t dimension, known = s->definition ? rql_definition_dimension_count(s->definition) : 0;
	for (uint32_t i = 0; rql_cube_contents.order(s->relation, i, &dimension); i++)
		if (dimension < known)
			rql_strbuf_printf(out, "%s%s", i ? ", " : "", rql_definition_dimension_name(s->definition, dimension));
}

const struct rql_structure_kind rql_structure_cube = {
	.name = "cube",
	.refresh = "REFRESH MATERIALIZED VIEW",
	.first = "refresh, then cube",
	.suffix = ".cube",
	.moved = "its side file was not used: its query meant something else when it was written (a table, a view or the "
			 "default TimeZone has changed)",
	.reads = RQL_READS_RELATION,
	.statement = RQL_STATEMENT_CREATE_VIEW,
	.options = rql_view_options_read,
	.describe = describe,
	.stored = stored,
	.bind = bind,
	.is_gone = is_gone,
	.build = build,
	.save = save,
	.load = load,
	.contents = &rql_cube_contents,
	.on_device = on_device,
	.fail = fail,
	.size = size,
	.put_order = put_order,
};
