/* A columns structure's contents: built from the whole table, or read from a side file. */
#include "exec/columns.h"

#include "exec/names.h"
#include "exec/view_build.h"
#include <stdlib.h>
#include <string.h>

#define BUILD_ATTEMPTS 2u

/* ---- texts ---- */
void rql_columns_put_table(struct rql_strbuf *out, const struct rql_database *db, const struct rql_structure *s)
{
	const char *database, *schema, *name;
	rql_table_name(s->tables[0], &database, &schema, &name);
	rql_put_qualified(out, db, schema, name);
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
	rql_strbuf_put_ident(&table, s->database);
	rql_strbuf_putc(&table, '.');
	rql_strbuf_put_ident(&table, s->schema);
	rql_strbuf_putc(&table, '.');
	rql_strbuf_put_ident(&table, st.table.name);
	rql_status status =
		rql_columns_shape_read(con, rql_strbuf_text(&table), all ? 0 : st.column_count, st.columns, arena, out, err);
	rql_strbuf_free(&table);
	return status;
}

rql_status rql_columns_bind(struct rql_database *db, struct rql_structure *s, struct rql_error *err)
{
	struct rql_columns_shape shape;
	struct rql_arena *arena = rql_arena_new();
	if (!arena)
		return rql_error_memory(err, 0, "a columns structure");
	pthread_mutex_lock(&db->loader_lock);
	rql_status status = rql_host_hold_settings(db->loader, err);
	if (status == RQL_OK)
		status = read_shape(db->loader, s, arena, &shape, err);
	pthread_mutex_unlock(&db->loader_lock);
	if (status == RQL_OK)
		status = rql_columns_define(db, s, &shape, err);
	rql_arena_free(arena);
	return status;
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
	struct rql_session *session;
	struct rql_structure *s;
	struct rql_host_con *con;
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

static rql_status fill_spec(struct build *b, struct rql_arena *arena, struct rql_error *err)
{
	struct rql_database *db = b->session->db;
	struct rql_store_column_spec *columns = RQL_NEW_ARRAY(arena, struct rql_store_column_spec, b->shape.count);
	char *name =
		b->s->automatic ? rql_arena_printf(arena, "of %s", b->shape.table.table) : rql_arena_strdup(arena, b->s->name);
	if (!columns || !name)
		return rql_error_memory(err, b->shape.count, "a build");
	for (uint32_t i = 0; i < b->shape.count; i++)
		columns[i] = (struct rql_store_column_spec){
			.name = b->shape.names[i], .type = b->shape.types[i], .encoding = RQL_STORE_AUTO};
	b->spec = (struct rql_store_spec){.name = name,
	                                  .column_count = b->shape.count,
	                                  .columns = columns,
	                                  .budget = &db->budget,
	                                  .progress = &b->session->progress,
	                                  .pool = db->devices->device[0].pool};
	return RQL_OK;
}

/* One statement, so one snapshot: the rows, how many, and the greatest rowid. */
static char *source_sql(const struct build *b, uint64_t sink)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_printf(&sql, "SELECT system.main.count(system.main.rayql_sink(%llu, ", (unsigned long long)sink);
	put_columns(&sql, &b->shape);
	rql_strbuf_put(&sql, b->shape.no_rowid ? ")), CAST(-1 AS BIGINT)" : ", rowid)), coalesce(system.main.max(rowid), -1)");
	rql_strbuf_put(&sql, ", system.main.count(*) FROM ");
	rql_columns_put_table(&sql, b->session->db, b->s);
	return rql_strbuf_take(&sql);
}

static rql_status read_table(struct build *b, struct rql_store_builder *builder, int64_t *rows, struct rql_error *err)
{
	struct rql_database *db = b->session->db;
	int64_t numbers[3] = {0};
	struct feed feed = {.builder = builder, .no_rowid = b->shape.no_rowid};
	uint64_t sink = rql_host_sink_add(db->host, add_rows, &feed);
	char *sql = sink ? source_sql(b, sink) : NULL;
	rql_status status = sql ? rql_columns_count(b->con, sql, 3, numbers, err) : rql_error_memory(err, 0, "a build");
	if (sink)
		rql_host_sink_remove(db->host, sink);
	free(sql);
	RQL_TRY(status);
	b->greatest_rowid = b->shape.no_rowid ? RQL_NO_ROWID : numbers[1];
	*rows = numbers[2];
	return RQL_OK;
}

static rql_status build_once(struct build *b, struct rql_error *err)
{
	struct rql_progress *progress = &b->session->progress;
	struct rql_store_builder *builder = NULL;
	int64_t rows = 0;
	RQL_TRY(rql_build_note_versions(b->session, b->s, err));
	RQL_TRY(rql_store_builder_new(&b->spec, &builder, err));
	atomic_store(&progress->rows, 0);
	atomic_store(&progress->total_rows, rql_build_estimate(b->s, b->con));
	atomic_store(&progress->phase, "reading");
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

static rql_status build_fresh(struct build *b, struct rql_arena *arena, struct rql_error *err)
{
	RQL_TRY(read_shape(b->con, b->s, arena, &b->shape, err));
	RQL_TRY(rql_columns_define(b->session->db, b->s, &b->shape, err));
	RQL_TRY(fill_spec(b, arena, err));
	for (unsigned i = 0; i < BUILD_ATTEMPTS; i++) {
		RQL_TRY(build_once(b, err));
		if (!rql_structure_moved_table(b->session->db->catalog, b->s))
			break;
	}
	return RQL_OK;
}

/* What * leaves out is said once, and can be read in rayql_structures(). */
static void note_skipped(struct rql_session *session, struct rql_structure *s, const char *skipped)
{
	struct rql_strbuf text = {0};
	if (skipped)
		rql_strbuf_printf(&text, RQL_COLUMNS_LEFT_OUT " as they cannot be held as compressed columns: %s", skipped);
	(void)rql_structure_set_text(&s->note, skipped ? rql_strbuf_text(&text) : NULL);
	if (skipped) {
		free(session->notice);
		session->notice = rql_strbuf_take(&text);
	}
	rql_strbuf_free(&text);
}

rql_status rql_columns_build(struct rql_session *session, struct rql_structure *s, struct rql_error *err)
{
	struct build b = {.session = session, .s = s};
	struct rql_arena *arena = rql_arena_new();
	uint64_t start = rql_now_ns();
	if (!arena)
		return rql_error_memory(err, 0, "a build");
	rql_status status = rql_host_connect_own(session->db->host, &b.con, err);
	if (status == RQL_OK) {
		rql_build_set_running(session, b.con);
		status = atomic_load(&session->progress.cancel) ? rql_interrupted(err) : build_fresh(&b, arena, err);
	}
	rql_build_set_running(session, NULL);
	atomic_store(&session->progress.phase, NULL);
	rql_host_disconnect(b.con);
	if (status == RQL_OK) {
		rql_structure_clear(s);
		s->store = b.store;
		s->snapshot = rql_store_snapshot(b.store);
		s->greatest_rowid = b.greatest_rowid;
		s->state = RQL_STATE_READY;
		s->build_ms = (double)(rql_now_ns() - start) / 1e6;
		s->side_file_valid = false;
		note_skipped(session, s, b.shape.skipped);
	} else {
		rql_store_release(b.store);
	}
	rql_arena_free(arena);
	return status;
}

/* ---- side files ---- */
/* The greatest rowid is the table's now, which is as it was when the file was written. */
static rql_status find_rowid(struct rql_database *db, struct rql_structure *s, uint64_t rows, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	int64_t numbers[2] = {0};
	rql_strbuf_printf(&sql, "SELECT %s, system.main.count(*) FROM ",
	                  s->greatest_rowid == RQL_NO_ROWID ? "CAST(-1 AS BIGINT)" : "coalesce(system.main.max(rowid), -1)");
	rql_columns_put_table(&sql, db, s);
	pthread_mutex_lock(&db->loader_lock);
	rql_status status = rql_columns_count(db->loader, rql_strbuf_text(&sql), 2, numbers, err);
	pthread_mutex_unlock(&db->loader_lock);
	rql_strbuf_free(&sql);
	RQL_TRY(status);
	if ((uint64_t)numbers[1] != rows)
		return rql_error_set(err, RQL_ERROR_CORRUPT, "it holds %llu rows, the table has %lld", (unsigned long long)rows,
		                     (long long)numbers[1]);
	if (s->greatest_rowid != RQL_NO_ROWID)
		s->greatest_rowid = numbers[0];
	return RQL_OK;
}

rql_status rql_columns_read_side(struct rql_session *session, struct rql_structure *s, struct rql_error *err)
{
	struct rql_database *db = session->db;
	struct rql_store *store = NULL;
	RQL_TRY(rql_side_read_store(&db->side, s->side_file, s->definition_hash, &db->budget, &store, err));
	const struct rql_store_snapshot *snapshot = rql_store_snapshot(store);
	rql_status status = snapshot->column_count == s->column_count
	                        ? find_rowid(db, s, snapshot->rows, err)
	                        : rql_error_set(err, RQL_ERROR_CORRUPT, "it has other columns than the table");
	if (status != RQL_OK) {
		rql_store_snapshot_release(snapshot);
		rql_store_release(store);
		return status;
	}
	s->store = store;
	s->snapshot = snapshot;
	return RQL_OK;
}
