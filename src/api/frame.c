/* Arrow streams in: registered as tables, as the input of one statement, and as parameters row by row. */
#include "api/api_internal.h"

#include "rayql/arrow.h"
#include "sql/statement.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct rql_api_frame {
	struct rql_api_frame *next;
	char *name;
	struct rql_host_frame *frame;
};

static bool is_stream(const struct ArrowArrayStream *stream)
{
	return stream && stream->release && stream->get_schema && stream->get_next;
}

static void drop_stream(struct ArrowArrayStream *stream)
{
	if (stream && stream->release)
		stream->release(stream);
}

/* ---- registered ---- */
static void forget(struct rql_api_frame *entry)
{
	rql_host_frame_unlend(entry->frame);
	rql_host_frame_release(entry->frame);
	free(entry->name);
	free(entry);
}

/* Takes the entry of that name out of the connection's list; NULL: there is none. */
static struct rql_api_frame *take(rayql_connection *con, const char *name)
{
	for (struct rql_api_frame **at = &con->frames; *at; at = &(*at)->next) {
		struct rql_api_frame *entry = *at;
		if (strcasecmp(entry->name, name) != 0)
			continue;
		*at = entry->next;
		return entry;
	}
	return NULL;
}

void rql_api_frames_free(rayql_connection *con)
{
	while (con->frames) {
		struct rql_api_frame *entry = con->frames;
		con->frames = entry->next;
		forget(entry);
	}
}

static rql_status run(rayql_connection *con, struct rql_strbuf *sql, struct rql_error *err)
{
	const char *text = rql_strbuf_sql(sql);
	return text ? rql_session_query(con->session, text, NULL, err) : rql_error_memory(err, 0, "a statement");
}

static rql_status make_view(rayql_connection *con, const char *name, struct rql_host_frame *frame,
                            struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_put(&sql, "CREATE OR REPLACE TEMPORARY VIEW ");
	rql_strbuf_put_ident(&sql, name);
	rql_strbuf_printf(&sql, " AS SELECT * FROM system.main.rayql_arrow(%llu)",
	                  (unsigned long long)rql_host_frame_lend(frame));
	rql_status status = run(con, &sql, err);
	rql_strbuf_free(&sql);
	return status;
}

rayql_status rayql_register_arrow(rayql_connection *con, const char *name, struct ArrowArrayStream *stream,
                                  rayql_error **error)
{
	struct rql_error err = {0};
	if (!con || !name || !*name || !is_stream(stream)) {
		drop_stream(stream);
		return rql_api_misuse(error, "rayql_register_arrow: con, name or stream is NULL, empty or released");
	}
	struct rql_api_frame *entry = calloc(1, sizeof *entry);
	rql_status status = RQL_OK;
	if (!entry || !(entry->name = strdup(name))) {
		drop_stream(stream);
		status = rql_error_memory(&err, sizeof *entry, "a frame");
	}
	if (status == RQL_OK)
		status = rql_host_frame_new(rql_session_host(con->session), stream, true, &entry->frame, &err);
	if (status == RQL_OK)
		status = make_view(con, name, entry->frame, &err);
	if (status != RQL_OK) {
		if (entry && entry->frame)
			rql_host_frame_unlend(entry->frame);
		if (entry) {
			rql_host_frame_release(entry->frame);
			free(entry->name);
		}
		free(entry);
		return rql_api_fail(&err, error);
	}
	struct rql_api_frame *before = take(con, name);
	if (before)
		forget(before);
	entry->next = con->frames;
	con->frames = entry;
	return RAYQL_OK;
}

rayql_status rayql_unregister_arrow(rayql_connection *con, const char *name, rayql_error **error)
{
	struct rql_error err = {0};
	if (!con || !name)
		return rql_api_misuse(error, "rayql_unregister_arrow: con or name is NULL");
	struct rql_api_frame *entry = take(con, name);
	if (!entry) {
		rql_error_set(&err, RQL_ERROR_MISUSE, "rayql_unregister_arrow: nothing is registered as \"%s\"", name);
		return rql_api_fail(&err, error);
	}
	struct rql_strbuf sql = {0};
	rql_strbuf_put(&sql, "DROP VIEW IF EXISTS temp.");
	rql_strbuf_put_ident(&sql, name);
	rql_status status = run(con, &sql, &err);
	rql_strbuf_free(&sql);
	forget(entry);
	return status == RQL_OK ? RAYQL_OK : rql_api_fail(&err, error);
}

/* ---- the input of one statement ---- */

/* Adds what the result says was changed. */
static rql_status count_changes(struct rql_result *res, uint64_t *changed, struct rql_error *err)
{
	struct rql_batch *batch = NULL;
	if (res->kind != RQL_HOST_CHANGED)
		return RQL_OK;
	RQL_TRY(rql_result_fetch(res, &batch, err));
	if (batch && batch->rows == 1 && batch->column_count == 1 && changed) {
		struct rql_value count = rql_column_get(&batch->columns[0], 0);
		if (!count.is_null && rql_type_is_integral(count.type))
			*changed += (uint64_t)count.integer;
	}
	rql_batch_release(batch);
	return RQL_OK;
}

/* sql with the call in place of the words. false: the words are not in it. */
static bool put_call(struct rql_strbuf *out, const char *sql, uint64_t number)
{
	uint32_t position = 0, copied = 0;
	bool found = false;
	for (;;) {
		struct rql_token token = rql_token_next(sql, &position);
		if (token.kind == RQL_TOKEN_END || token.kind == RQL_TOKEN_BROKEN)
			break;
		if (!rql_token_is(sql, token, "rayql_stream"))
			continue;
		rql_strbuf_put_n(out, sql + copied, token.start - copied);
		rql_strbuf_printf(out, "system.main.rayql_arrow(%llu)", (unsigned long long)number);
		copied = token.start + token.length;
		found = true;
	}
	rql_strbuf_put(out, sql + copied);
	return found;
}

static rql_status query_frame(rayql_connection *con, const char *sql, struct ArrowArrayStream *stream,
                              uint64_t *changed, struct rql_error *err)
{
	struct rql_host_frame *frame = NULL;
	struct rql_strbuf text = {0};
	struct rql_result *res = NULL;
	uint64_t count = 0;
	RQL_TRY(rql_host_frame_new(rql_session_host(con->session), stream, false, &frame, err));
	rql_status status = RQL_OK;
	if (!put_call(&text, sql, rql_host_frame_lend(frame)))
		status = rql_error_set(err, RQL_ERROR_MISUSE, "the statement does not say rayql_stream, which stands for the rows");
	if (status == RQL_OK && !rql_strbuf_sql(&text))
		status = rql_error_memory(err, 0, "a statement");
	if (status == RQL_OK)
		status = rql_session_query(con->session, rql_strbuf_text(&text), &res, err);
	if (status == RQL_OK && res->kind == RQL_HOST_CHANGED)
		status = count_changes(res, &count, err);
	else if (status == RQL_OK) /* CREATE TABLE ... AS does not say how many rows the table has */
		count = rql_host_frame_rows(frame);
	rql_result_free(res);
	rql_strbuf_free(&text);
	rql_host_frame_unlend(frame);
	rql_host_frame_release(frame);
	if (status == RQL_OK && changed)
		*changed = count;
	return status;
}

rayql_status rayql_query_arrow(rayql_connection *con, const char *sql, struct ArrowArrayStream *stream,
                               uint64_t *changed, rayql_error **error)
{
	struct rql_error err = {0};
	if (!con || !sql || !is_stream(stream)) {
		drop_stream(stream);
		return rql_api_misuse(error, "rayql_query_arrow: con, sql or stream is NULL or released");
	}
	rql_api_begin(con);
	rql_status status = query_frame(con, sql, stream, changed, &err);
	rql_api_end(con);
	rql_api_log(con, status == RQL_OK ? NULL : &err, NULL);
	return status == RQL_OK ? RAYQL_OK : rql_api_fail(&err, error);
}

/* ---- parameters row by row ---- */
rql_status rql_api_bind_row(rayql_statement *stmt, const struct rql_batch *batch, uint64_t row, struct rql_error *err)
{
	struct rql_arena *arena = NULL;
	rql_status status = RQL_OK;
	for (uint32_t c = 0; c < batch->column_count && status == RQL_OK; c++) {
		const struct rql_column *column = &batch->columns[c];
		struct rql_value value = rql_column_get(column, row);
		if (column->type.id != RQL_TYPE_OTHER || !rql_column_valid(column, row)) {
			status = rql_prepared_bind(stmt->query, c + 1, &value, err);
			continue;
		}
		const struct rql_nested *nested = NULL;
		if (!arena && !(arena = rql_arena_new()))
			status = rql_error_memory(err, 0, "a parameter");
		if (status == RQL_OK)
			status = rql_api_nested(stmt->connection, arena, batch, c, &nested, err);
		if (status == RQL_OK)
			status = rql_api_bind_nested(stmt, c + 1, nested, row, err);
	}
	rql_arena_free(arena);
	return status;
}

static rql_status execute_row(rayql_statement *stmt, const struct rql_batch *batch, uint64_t row, uint64_t *changed,
                              struct rql_error *err)
{
	struct rql_result *res = NULL;
	RQL_TRY(rql_api_bind_row(stmt, batch, row, err));
	RQL_TRY(rql_prepared_execute(stmt->query, &res, err));
	rql_status status = res->kind == RQL_HOST_ROWS
	                        ? rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a query runs with one row of parameters at a time")
	                        : count_changes(res, changed, err);
	rql_result_free(res);
	return status;
}

static rql_status execute_rows(rayql_statement *stmt, struct rql_host_frame *frame, uint64_t *changed,
                               struct rql_error *err)
{
	rql_status status = RQL_OK;
	while (status == RQL_OK) {
		struct rql_batch *batch = NULL;
		status = rql_host_frame_next(frame, &batch, err);
		if (status != RQL_OK || !batch)
			break;
		for (uint64_t row = 0; row < batch->rows && status == RQL_OK; row++)
			status = execute_row(stmt, batch, row, changed, err);
		rql_batch_release(batch);
	}
	return status;
}

static rql_status execute_frame(rayql_statement *stmt, struct ArrowArrayStream *rows, uint64_t *changed,
                                struct rql_error *err)
{
	struct rql_session *session = stmt->connection->session;
	struct rql_host_frame *frame = NULL;
	uint64_t count = 0;
	RQL_TRY(rql_host_frame_new(rql_session_host(session), rows, false, &frame, err));
	rql_status status = RQL_OK;
	if (rql_host_frame_columns(frame) != rql_prepared_parameters(stmt->query))
		status = rql_error_set(err, RQL_ERROR_MISUSE, "the statement has %llu parameters, and the rows have %u columns",
		                       (unsigned long long)rql_prepared_parameters(stmt->query), rql_host_frame_columns(frame));
	bool own = status == RQL_OK && !rql_session_in_transaction(session);
	if (own)
		status = rql_session_query(session, "BEGIN", NULL, err);
	if (status == RQL_OK)
		status = execute_rows(stmt, frame, &count, err);
	status = rql_api_end_own(session, own, status, err);
	rql_host_frame_release(frame);
	if (status == RQL_OK && changed)
		*changed = count;
	return status;
}

rayql_status rayql_execute_arrow(rayql_statement *stmt, struct ArrowArrayStream *rows, uint64_t *changed,
                                 rayql_error **error)
{
	struct rql_error err = {0};
	if (!stmt || !is_stream(rows)) {
		drop_stream(rows);
		return rql_api_misuse(error, "rayql_execute_arrow: stmt or rows is NULL or released");
	}
	rql_api_begin(stmt->connection);
	rql_status status = execute_frame(stmt, rows, changed, &err);
	rql_api_end(stmt->connection);
	rql_api_log(stmt->connection, status == RQL_OK ? NULL : &err, NULL);
	return status == RQL_OK ? RAYQL_OK : rql_api_fail(&err, error);
}
