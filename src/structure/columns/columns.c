/* The kind "columns": described, built from the whole table, kept in a side file. */
#include "structure/columns/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "device/placement.h"
#include "structure/options.h"
#include "structure/structure_internal.h"

/* ---- texts ---- */
void rql_columns_put_table(struct rql_strbuf *out, const struct rql_structure *s)
{
	const char *database, *schema, *name;
	rql_table_name(s->tables[0], &database, &schema, &name);
	rql_put_qualified(out, s->database, schema, name);
}

static void put_columns(struct rql_strbuf *out, const struct rql_columns_shape *shape)
{
	for (uint32_t i = 0; i < shape->count; i++) {
		rql_strbuf_put(out, i ? ", " : "");
		rql_strbuf_put_ident(out, shape->names[i]);
	}
}

/* s's table and columns as they are now, from its own statement. */
static rql_status read_shape(struct rql_host_con *con, const struct rql_structure *s, struct rql_arena *arena,
                             struct rql_columns_shape *out, struct rql_error *err)
{
	struct rql_statement st = {0};
	struct rql_strbuf table = {0};
	if (!s->statement)
		return rql_error_set(err, RQL_ERROR_CORRUPT, "its stored definition is incomplete; drop and create it again");
	RQL_TRY(rql_statement_parse(arena, s->statement, &st, err));
	if (st.kind != RQL_STATEMENT_CREATE_INDEX || !st.table.name || !st.column_count)
		return rql_error_set(err, RQL_ERROR_CORRUPT,
		                     "its stored definition is no CREATE INDEX; drop and create it again");
	bool all = st.column_count == 1 && strcmp(st.columns[0], "*") == 0;
	rql_put_qualified(&table, s->database, s->schema, st.table.name);
	rql_status status =
		rql_columns_shape_read(con, rql_strbuf_sql(&table), all ? 0 : st.column_count, st.columns, arena, out, err);
	rql_strbuf_free(&table);
	return status;
}

rql_status rql_columns_bind(struct rql_structures *all, struct rql_structure *s, struct rql_error *err)
{
	struct rql_columns_shape shape;
	struct rql_arena *arena = rql_arena_new();
	if (!arena)
		return rql_error_memory(err, 0, "a columns structure");
	pthread_mutex_lock(&all->loader_lock);
	rql_status status = rql_host_hold_settings(all->loader, err);
	if (status == RQL_OK)
		status = read_shape(all->loader, s, arena, &shape, err);
	pthread_mutex_unlock(&all->loader_lock);
	if (status == RQL_OK)
		status = rql_columns_define(all, s, &shape, err);
	rql_arena_free(arena);
	return status;
}

/* ---- describing ---- */
static void put_list(struct rql_strbuf *out, bool every, uint32_t count, const char *const *names)
{
	if (every)
		rql_strbuf_putc(out, '*');
	for (uint32_t i = 0; i < count && !every; i++) {
		rql_strbuf_put(out, i ? ", " : "");
		rql_put_name(out, names[i]);
	}
}

static void put_table(struct rql_strbuf *out, const struct rql_table_ref *table)
{
	if (strcmp(table->schema, "main") != 0) {
		rql_put_name(out, table->schema);
		rql_strbuf_putc(out, '.');
	}
	rql_put_name(out, table->table);
}

rql_status rql_columns_describe(const struct rql_structures *all, const struct rql_structure_kind *kind,
                                const char *name, bool every, const struct rql_columns_shape *shape,
                                const struct rql_structure_options *options, struct rql_structure **out,
                                struct rql_error *err)
{
	struct rql_structure *s = NULL;
	struct rql_strbuf statement = {0}, query = {0}, with = {0};
	RQL_TRY(rql_structure_describe(all, kind, shape->table.schema, name, options, &s, err));
	if (kind->put_options)
		kind->put_options(&with, options);
	rql_strbuf_put(&statement, "CREATE INDEX ");
	rql_put_name(&statement, name);
	rql_strbuf_put(&statement, " ON ");
	put_table(&statement, &shape->table);
	rql_strbuf_printf(&statement, " USING %s (", kind->name);
	put_list(&statement, every, shape->count, shape->names);
	rql_strbuf_printf(&statement, with.length ? ") WITH (%s);" : ")%s;", rql_strbuf_text(&with));
	rql_strbuf_put(&query, "SELECT ");
	put_list(&query, every, shape->count, shape->names);
	rql_strbuf_put(&query, " FROM ");
	put_table(&query, &shape->table);
	s->statement = rql_strbuf_take(&statement);
	s->query = rql_strbuf_take(&query);
	s->options = rql_strbuf_take(&with);
	if (!s->statement || !s->query || !s->options) {
		rql_structure_release(s);
		return rql_error_memory(err, sizeof *s, "a structure");
	}
	*out = s;
	return RQL_OK;
}

/* ---- CREATE INDEX ---- */
static void put_given(struct rql_strbuf *out, const struct rql_qualified_name *name)
{
	const char *parts[] = {name->catalog, name->schema, name->name};
	for (size_t i = 0; i < 3; i++) {
		if (!parts[i])
			continue;
		rql_strbuf_put(out, out->length ? "." : "");
		rql_strbuf_put_ident(out, parts[i]);
	}
}

/* An index lives in the schema of its table; a qualified name can only say the same. */
static rql_status check_place(const struct rql_structures *all, const char *sql, const struct rql_statement *st,
                              const struct rql_table_ref *table, struct rql_error *err)
{
	const struct rql_qualified_name *n = &st->name;
	bool database = n->schema && !n->catalog && strcasecmp(n->schema, all->name) == 0;
	if ((!n->catalog || strcasecmp(n->catalog, all->name) == 0) &&
	    (!n->schema || database || strcasecmp(n->schema, table->schema) == 0))
		return RQL_OK;
	return rql_error_at(
		err, sql, n->position,
		"Binder Error: an index lives in the schema of its table, which is \"%s\": leave out the schema",
		table->schema);
}

/* The table as the session's connection finds it; refuses what is not the database's own. */
static rql_status describe_in(struct rql_arena *arena, const struct rql_structure_kind *kind,
                              const struct rql_plan_context *plan, const struct rql_structures *all, const char *sql,
                              const struct rql_statement *st, rql_columns_check *check,
                              const struct rql_structure_options *options, struct rql_structure **out,
                              struct rql_error *err)
{
	struct rql_columns_shape shape;
	struct rql_strbuf table = {0};
	struct rql_error failed = {0};
	bool every = st->column_count == 1 && strcmp(st->columns[0], "*") == 0;
	put_given(&table, &st->table);
	rql_status status = rql_columns_shape_read(plan->host, rql_strbuf_sql(&table), every ? 0 : st->column_count,
	                                           st->columns, arena, &shape, &failed);
	rql_strbuf_free(&table);
	if (status == RQL_ERROR_HOST) { /* DuckDB's caret is under a text of ours */
		const char *message = rql_error_message(&failed), *caret = strstr(message, "\n\nLINE ");
		status = rql_error_at(err, sql, st->table.position, "%.*s",
		                      (int)(caret ? (size_t)(caret - message) : strlen(message)), message);
		rql_error_clear(&failed);
	} else {
		rql_error_move(err, &failed);
	}
	RQL_TRY(status);
	RQL_TRY(rql_columns_check_table(all, &shape.table, err));
	RQL_TRY(check_place(all, sql, st, &shape.table, err));
	if (check)
		RQL_TRY(check(sql, st, &shape, err));
	return rql_columns_describe(all, kind, st->name.name, every, &shape, options, out, err);
}

rql_status rql_columns_describe_statement(const struct rql_structure_kind *kind, const struct rql_plan_context *plan,
                                          struct rql_structures *all, const char *sql, const struct rql_statement *st,
                                          rql_columns_check *check, const struct rql_structure_options *options,
                                          struct rql_structure **out, struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	rql_status status = arena ? describe_in(arena, kind, plan, all, sql, st, check, options, out, err)
	                          : rql_error_memory(err, 0, "a statement");
	rql_arena_free(arena);
	return status;
}

static rql_status describe(const struct rql_plan_context *plan, struct rql_structures *all, const char *sql,
                           const struct rql_statement *st, const char *schema,
                           const struct rql_structure_options *options, struct rql_structure **out,
                           struct rql_error *err)
{
	(void)schema;
	return rql_columns_describe_statement(&rql_structure_columns, plan, all, sql, st, NULL, options, out, err);
}

/* ---- one row of integers ---- */
rql_status rql_columns_count(struct rql_host_con *con, const char *sql, uint32_t count, int64_t *out,
                             struct rql_error *err)
{
	struct rql_host_result *res = NULL;
	struct rql_batch *batch = NULL;
	RQL_TRY(rql_host_query(con, sql, &res, err));
	rql_status status = rql_host_fetch(res, &batch, err);
	if (status == RQL_OK && (!batch || batch->rows != 1 || batch->column_count != count))
		status = rql_error_set(err, RQL_ERROR_INTERNAL, "a query of counts gave another number of values");
	for (uint32_t i = 0; i < count && status == RQL_OK; i++)
		out[i] = (int64_t)rql_column_get(&batch->columns[i], 0).integer;
	rql_batch_release(batch);
	rql_host_result_free(res);
	return status;
}

/* ---- building ---- */
struct build {
	struct rql_build_context *ctx;
	struct rql_structure *s;
	struct rql_host_con *con;
	struct rql_arena *arena;
	struct rql_columns_shape shape;
	struct rql_store_spec spec;
	/* of the last attempt */
	struct rql_store *store;
	int64_t greatest_rowid;
};
struct feed { /* what its rows go to */
	struct rql_store_builder *builder;
	bool no_rowid;
};

/* The last column, when the table has it, is the rowid, by which the store's rows stand as the table's. */
static rql_status add_rows(void *state, unsigned worker, const struct rql_batch *rows, struct rql_error *err)
{
	const struct feed *feed = state;
	struct rql_batch columns = *rows; /* borrowed */
	if (feed->no_rowid)
		return rql_store_builder_add(feed->builder, worker, rows, NULL, err);
	columns.release = NULL;
	columns.column_count--;
	return rql_store_builder_add(feed->builder, worker, &columns, rows->columns[columns.column_count].data, err);
}

static rql_status fill_spec(struct build *b, struct rql_error *err)
{
	struct rql_store_column_spec *columns = RQL_NEW_ARRAY(b->arena, struct rql_store_column_spec, b->shape.count);
	char *name = b->s->automatic ? rql_arena_printf(b->arena, "of %s", b->shape.table.table)
	                             : rql_arena_strdup(b->arena, b->s->name);
	if (!columns || !name)
		return rql_error_memory(err, b->shape.count, "a build");
	for (uint32_t i = 0; i < b->shape.count; i++)
		columns[i] = (struct rql_store_column_spec){
			.name = b->shape.names[i], .type = b->shape.types[i], .encoding = RQL_STORE_AUTO};
	b->spec = (struct rql_store_spec){.name = name,
	                                  .column_count = b->shape.count,
	                                  .columns = columns,
	                                  .budget = b->ctx->structures->budget,
	                                  .progress = b->ctx->progress,
	                                  .pool = b->ctx->structures->devices->device[0].pool};
	return RQL_OK;
}

/* One statement, so one snapshot: the rows, how many, and the greatest rowid. */
static char *source_sql(const struct build *b, uint64_t sink)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_printf(&sql, "SELECT system.main.count(system.main.rayql_sink(%llu, ", (unsigned long long)sink);
	put_columns(&sql, &b->shape);
	rql_strbuf_put(&sql, b->shape.no_rowid ? ")), CAST(-1 AS BIGINT)"
	                                       : ", rowid)), coalesce(system.main.max(rowid), -1)");
	rql_strbuf_put(&sql, ", system.main.count(*) FROM ");
	rql_columns_put_table(&sql, b->s);
	return rql_strbuf_take(&sql);
}

static rql_status read_table(struct build *b, struct rql_store_builder *builder, int64_t *rows, struct rql_error *err)
{
	struct rql_host_db *host = b->ctx->structures->host;
	int64_t numbers[3] = {0};
	struct feed feed = {.builder = builder, .no_rowid = b->shape.no_rowid};
	uint64_t sink = rql_host_sink_add(host, add_rows, &feed);
	char *sql = sink ? source_sql(b, sink) : NULL;
	rql_status status = sql ? rql_columns_count(b->con, sql, 3, numbers, err) : rql_error_memory(err, 0, "a build");
	if (sink)
		rql_host_sink_remove(host, sink);
	free(sql);
	RQL_TRY(status);
	b->greatest_rowid = b->shape.no_rowid ? RQL_NO_ROWID : numbers[1];
	*rows = numbers[2];
	return RQL_OK;
}

static rql_status build_once(void *state, struct rql_error *err)
{
	struct build *b = state;
	struct rql_store_builder *builder = NULL;
	int64_t rows = 0;
	RQL_TRY(rql_store_builder_new(&b->spec, &builder, err));
	rql_build_show(b->ctx, "reading", rql_build_estimate(b->s, b->con));
	rql_status status = read_table(b, builder, &rows, err);
	if (status != RQL_OK) {
		rql_store_builder_abort(builder);
		return status;
	}
	struct rql_store *store = NULL;
	RQL_TRY(rql_store_builder_finish(builder, &store, err));
	const struct rql_store_snapshot *snapshot = rql_store_snapshot(store);
	bool complete = snapshot->rows == (uint64_t)rows;
	rql_store_snapshot_release(snapshot);
	if (!complete) {
		rql_store_release(store);
		return rql_error_set(err, RQL_ERROR_INTERNAL, "%s: the build did not get the %lld rows of the table",
		                     b->s->name, (long long)rows);
	}
	rql_store_release(b->store);
	b->store = store;
	return RQL_OK;
}

static rql_status build_on(void *state, struct rql_host_con *con, struct rql_error *err)
{
	struct build *b = state;
	b->con = con;
	RQL_TRY(read_shape(con, b->s, b->arena, &b->shape, err));
	RQL_TRY(rql_columns_define(b->ctx->structures, b->s, &b->shape, err));
	RQL_TRY(fill_spec(b, err));
	return rql_build_settled(b->ctx, b->s, build_once, b, err);
}

/* What * leaves out is said once, and can be read in rayql_structures(). */
static void note_skipped(struct rql_build_context *ctx, struct rql_structure *s, const char *skipped)
{
	struct rql_strbuf text = {0};
	if (skipped)
		rql_strbuf_printf(&text, RQL_COLUMNS_LEFT_OUT " as they cannot be held as compressed columns: %s", skipped);
	(void)rql_structure_set_text(&s->note, skipped ? rql_strbuf_text(&text) : NULL);
	if (skipped) {
		free(ctx->notice);
		ctx->notice = rql_strbuf_take(&text);
	}
	rql_strbuf_free(&text);
}

static void find_gaps(struct rql_structures *all, struct rql_structure *s)
{
	pthread_mutex_lock(&all->loader_lock);
	rql_columns_find_gaps(s, all->loader);
	pthread_mutex_unlock(&all->loader_lock);
}

static rql_status build(struct rql_build_context *ctx, struct rql_structure *s, struct rql_error *err)
{
	struct build b = {.ctx = ctx, .s = s, .arena = rql_arena_new()};
	struct rql_host_con *con = NULL;
	uint64_t start = rql_now_ns();
	rql_status status = b.arena ? RQL_OK : rql_error_memory(err, 0, "a build");
	if (status == RQL_OK)
		status = rql_host_connect_own(ctx->structures->host, &con, err);
	if (status == RQL_OK)
		status = rql_build_on(ctx, con, build_on, &b, err);
	if (status == RQL_OK) {
		rql_build_ready(s, start);
		s->store = b.store;
		s->snapshot = rql_store_snapshot(b.store);
		s->greatest_rowid = b.greatest_rowid;
		find_gaps(ctx->structures, s);
		note_skipped(ctx, s, b.shape.skipped);
	} else {
		rql_store_release(b.store);
	}
	rql_arena_free(b.arena);
	return status;
}

/* ---- side files ---- */
/* The greatest rowid is the table's now, which is as it was when the file was written. */
static rql_status find_rowid(struct rql_structures *all, struct rql_structure *s, uint64_t rows, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	int64_t numbers[2] = {0};
	bool known = s->greatest_rowid != RQL_NO_ROWID;
	rql_strbuf_printf(&sql, "SELECT %s, system.main.count(*) FROM ",
	                  known ? "coalesce(system.main.max(rowid), -1)" : "CAST(-1 AS BIGINT)");
	rql_columns_put_table(&sql, s);
	pthread_mutex_lock(&all->loader_lock);
	rql_status status = rql_columns_count(all->loader, rql_strbuf_sql(&sql), 2, numbers, err);
	pthread_mutex_unlock(&all->loader_lock);
	rql_strbuf_free(&sql);
	RQL_TRY(status);
	if ((uint64_t)numbers[1] != rows)
		return rql_error_set(err, RQL_ERROR_CORRUPT, "it holds %llu rows, the table has %lld", (unsigned long long)rows,
		                     (long long)numbers[1]);
	if (known)
		s->greatest_rowid = numbers[0];
	return RQL_OK;
}

static rql_status save(struct rql_structures *all, const struct rql_structure *s, const struct rql_file_place *place,
                       const char *identity, struct rql_error *err)
{
	(void)all;
	return rql_store_file_write(s->snapshot, place, identity, (uint32_t)strlen(identity), err);
}

static rql_status load(struct rql_structures *all, struct rql_structure *s, const struct rql_file_place *place,
                       const char *identity, struct rql_error *err)
{
	struct rql_store *store = NULL;
	RQL_TRY(rql_store_file_read(place, identity, (uint32_t)strlen(identity), all->budget, &store, err));
	const struct rql_store_snapshot *snapshot = rql_store_snapshot(store);
	rql_status status = snapshot->column_count == s->column_count
	                        ? find_rowid(all, s, snapshot->rows, err)
	                        : rql_error_set(err, RQL_ERROR_CORRUPT, "it has other columns than the table");
	if (status != RQL_OK) {
		rql_store_snapshot_release(snapshot);
		rql_store_release(store);
		return status;
	}
	s->store = store;
	s->snapshot = snapshot;
	find_gaps(all, s);
	return RQL_OK;
}

/* ---- devices ---- */
struct placed {
	uint64_t bytes;
	double ms;
	uint32_t columns, strings; /* strings: dictionaries of so many columns */
	bool *seen; /* [columns of the snapshot], or NULL */
};

static void add_up(void *state, const struct rql_place *at, const struct rql_placement *placement)
{
	struct placed *sum = state;
	if (rql_index_part_of(NULL, NULL, at))
		return;
	sum->bytes += placement->bytes;
	sum->ms += placement->build_ms;
	if (sum->seen && !sum->seen[at->part]) {
		sum->seen[at->part] = true;
		sum->columns++;
	}
}

static void add_strings(void *state, const struct rql_place *at, const struct rql_placement *placement)
{
	struct placed *sum = state;
	(void)at;
	sum->bytes += placement->bytes;
	sum->ms += placement->build_ms;
	sum->strings++;
}

/* What its dictionaries are known by elsewhere; NULL: nothing is kept of column c's. */
static const struct rql_watch *watch_of(const struct rql_structure *s, uint32_t c)
{
	const struct rql_dimension *d = s->snapshot->columns[c].dimension;
	return d ? d->watch : NULL;
}

static uint64_t on_device(struct rql_structures *all, const struct rql_structure *s, const struct rql_device *device,
                          char *kinds, size_t size, double *ms, const char **failure)
{
	struct placed sum = {.seen = calloc(s->snapshot->column_count + 1, sizeof(bool))};
	(void)all;
	for (uint32_t i = 0; i < s->snapshot->segment_count; i++)
		rql_placements_each(s->snapshot->segments[i].identity, device, add_up, &sum);
	free(sum.seen);
	for (uint32_t c = 0; c < s->snapshot->column_count; c++)
		if (watch_of(s, c))
			rql_placements_each(watch_of(s, c), device, add_strings, &sum);
	char strings[32] = "";
	if (sum.strings)
		snprintf(strings, sizeof strings, ", strings of %u", sum.strings);
	if (sum.columns || sum.strings)
		snprintf(kinds, size, "%u of %u columns%s in %.1f ms", sum.columns, s->snapshot->column_count, strings, sum.ms);
	*ms = sum.ms;
	*failure = rql_structure_failed_on(s, device);
	return sum.bytes;
}

static bool mark(struct rql_structure *copy, const struct rql_structure *s, const struct rql_device *device,
                 const char *message)
{
	return copy->store == s->store && !rql_structure_failed_on(copy, device) &&
	       rql_structure_mark_failed(copy, device, message);
}

/* Segments outlive the structure, so it remembers the failure itself, as long as its contents are these. */
static void fail(struct rql_structures *all, const struct rql_structure *s, const struct rql_device *device,
                 const char *message)
{
	rql_device_mark(all, s, device, message, mark);
	for (uint32_t i = 0; s->snapshot && i < s->snapshot->segment_count; i++)
		rql_placements_forget(s->snapshot->segments[i].identity, device);
	for (uint32_t c = 0; s->snapshot && c < s->snapshot->column_count; c++)
		if (watch_of(s, c))
			rql_placements_forget(watch_of(s, c), device);
}

/* ---- what it is ---- */
static void size(struct rql_structures *all, const struct rql_structure *s, struct rql_structure_size *out)
{
	(void)all;
	*out = (struct rql_structure_size){.rows = s->snapshot->rows, .bytes = s->snapshot->bytes};
}

const struct rql_structure_kind rql_structure_columns = {
	.name = "columns",
	.refresh = "REFRESH INDEX",
	.first = "refresh, then scan",
	.suffix = ".columns",
	.moved = "its side file was not used: its table has other columns than when it was written",
	.reads = RQL_READS_STORE,
	.statement = RQL_STATEMENT_CREATE_INDEX,
	.options = rql_columns_options_read,
	.put_options = rql_columns_options_print,
	.describe = describe,
	.bind = rql_columns_bind,
	.build = build,
	.append = rql_columns_append,
	.save = save,
	.load = load,
	.on_device = on_device,
	.fail = fail,
	.size = size,
};
