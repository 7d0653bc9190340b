/* Appenders: rows gathered for a table. append_value.c has which values a column takes, append_insert.c how they get
 * in. */
#include "api/append.h"
#include "sql/statement.h"
#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 122880u /* DuckDB's row group */
#define MOST_BYTES (UINT64_C(64) << 20)

/* ---- the table's columns ---- */
/* catalog.schema.table; malloc'ed, NULL: out of memory. */
static char *qualified(const char *catalog, const char *schema, const char *table)
{
	const char *const parts[] = {catalog, schema, table};
	struct rql_strbuf out = {0};
	for (unsigned i = 0; i < 3; i++) {
		if (!parts[i])
			continue;
		rql_strbuf_put(&out, out.length ? "." : "");
		rql_strbuf_put_ident(&out, parts[i]);
	}
	return rql_strbuf_take(&out);
}

static void put_condition(struct rql_strbuf *out, const char *column, const char *name)
{
	if (!name)
		return;
	rql_strbuf_printf(out, " AND system.main.lower(%s) = system.main.lower(", column);
	rql_strbuf_put_literal(out, name, strlen(name));
	rql_strbuf_putc(out, ')');
}

/* DuckDB's own CREATE TABLE of it; NULL: it is no table. */
static rql_status table_text(rayql_connection *con, const char *catalog, const char *schema, const char *table,
                             char **out, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_put(&sql, "SELECT sql FROM system.main.duckdb_tables() WHERE true");
	put_condition(&sql, "database_name", catalog);
	put_condition(&sql, "schema_name", schema);
	put_condition(&sql, "table_name", table);
	rql_strbuf_put(&sql, " ORDER BY database_name = 'temp' DESC, database_name = system.main.current_database() DESC, "
	                     "schema_name = system.main.current_schema() DESC LIMIT 1");
	rql_status status = rql_host_query_text(rql_session_host(con->session), rql_strbuf_sql(&sql), out, err);
	rql_strbuf_free(&sql);
	return status;
}

/* Which of the columns between a CREATE TABLE's parentheses are generated. */
static void find_generated(const char *sql, uint32_t count, bool *generated)
{
	uint32_t position = 0, column = 0, depth = 0;
	bool word = false; /* the last token was GENERATED */
	for (;;) {
		struct rql_token token = rql_token_next(sql, &position);
		char symbol = token.kind == RQL_TOKEN_SYMBOL && token.length == 1 ? sql[token.start] : 0;
		if (token.kind == RQL_TOKEN_END || token.kind == RQL_TOKEN_BROKEN || column >= count)
			return;
		depth += symbol == '(';
		depth -= symbol == ')' && depth;
		column += symbol == ',' && depth == 1;
		if (depth == 1 && word && rql_token_is(sql, token, "ALWAYS"))
			generated[column] = true;
		word = rql_token_is(sql, token, "GENERATED");
	}
}

static bool copy_column(rayql_appender *app, const struct rql_columns *columns, uint32_t from)
{
	struct rql_append_column *to = &app->columns[app->count++];
	bool own = rql_type_bytes(columns->types[from]) > 0 && columns->types[from].id != RQL_TYPE_ENUM;
	to->name = rql_arena_strdup(app->arena, columns->names[from]);
	to->type_text = rql_arena_strdup(app->arena, columns->type_texts[from]);
	to->type = rql_type_copy(app->arena, columns->types[from]);
	to->values.type = own ? to->type : rql_type_simple(RQL_TYPE_INVALID);
	to->texts.type = rql_type_simple(RQL_TYPE_VARCHAR);
	return to->name && to->type_text && to->type.id == columns->types[from].id;
}

static rql_status copy_columns(rayql_appender *app, const struct rql_columns *columns, const char *sql,
                               struct rql_error *err)
{
	bool *generated = RQL_NEW_ARRAY(app->arena, bool, columns->count);
	app->columns = RQL_NEW_ARRAY(app->arena, struct rql_append_column, columns->count);
	bool ok = generated && app->columns;
	if (ok)
		find_generated(sql, columns->count, generated);
	for (uint32_t c = 0; ok && c < columns->count; c++)
		ok = generated[c] || copy_column(app, columns, c);
	return ok ? RQL_OK : rql_error_memory(err, columns->count, "an appender's columns");
}

/* The columns as SELECT * has them: DuckDB says what is wrong with the name. */
static rql_status read_columns(rayql_appender *app, const char *catalog, const char *schema, const char *table,
                               struct rql_error *err)
{
	struct rql_session *session = app->connection->session;
	struct rql_prepared_query *query = NULL;
	struct rql_columns *columns = NULL;
	char *text = NULL;
	struct rql_strbuf sql = {0};
	rql_strbuf_printf(&sql, "SELECT * FROM %s", app->table);
	rql_status status = sql.failed ? rql_error_memory(err, 0, "a question to DuckDB")
	                               : rql_session_prepare(session, rql_strbuf_text(&sql), &query, err);
	if (status == RQL_OK)
		status = rql_prepared_columns(query, &columns, err);
	rql_prepared_free(query);
	if (status == RQL_OK)
		status = table_text(app->connection, catalog, schema, table, &text, err);
	if (status == RQL_OK && !text)
		status = rql_error_set(err, RQL_ERROR_MISUSE, "%s is no table: rows are appended to tables only", app->table);
	if (status == RQL_OK)
		status = copy_columns(app, columns, text, err);
	rql_columns_release(columns);
	rql_strbuf_free(&sql);
	free(text);
	return status;
}

rayql_status rayql_appender_open(rayql_connection *con, const char *catalog, const char *schema, const char *table,
                                 rayql_appender **out, rayql_error **error)
{
	struct rql_error err = {0};
	if (!con || !table || !out)
		return rql_api_misuse(error, "rayql_appender_open: con, table or out is NULL");
	if (rql_api_is_forked(con->database))
		return rql_api_forked(error);
	rayql_appender *app = calloc(1, sizeof *app);
	char *name = qualified(catalog, schema, table);
	if (app && name && (app->arena = rql_arena_new()))
		app->table = rql_arena_strdup(app->arena, name);
	free(name);
	rql_status status = app && app->table ? RQL_OK : rql_error_memory(&err, sizeof *app, "an appender");
	if (app) {
		app->connection = con;
		con->references++;
	}
	if (status == RQL_OK)
		status = read_columns(app, catalog, schema, table, &err);
	if (status != RQL_OK) {
		rayql_appender_free(app);
		return rql_api_fail(&err, error);
	}
	*out = app;
	return RAYQL_OK;
}

void rayql_appender_free(rayql_appender *app)
{
	if (!app)
		return;
	rql_append_columns_free(app);
	rql_error_clear(&app->row);
	rql_arena_free(app->arena);
	rql_api_connection_unref(app->connection);
	free(app);
}

uint32_t rayql_appender_column_count(const rayql_appender *app)
{
	return app ? app->count : 0;
}

const char *rayql_appender_column_name(const rayql_appender *app, uint32_t column)
{
	return app && column < app->count ? app->columns[column].name : NULL;
}

const char *rayql_appender_column_type_name(const rayql_appender *app, uint32_t column)
{
	return app && column < app->count ? app->columns[column].type_text : NULL;
}

/* ---- values ---- */
static rayql_status append(rayql_appender *app, const struct rql_value *value)
{
	return app ? (rayql_status)rql_append_value(app, value) : RAYQL_ERROR_MISUSE;
}

static rayql_status append_integer(rayql_appender *app, rql_type_id type, rql_int128 number)
{
	struct rql_value v = {.type = rql_type_simple(type), .integer = number};
	return append(app, &v);
}

static rayql_status append_bytes(rayql_appender *app, rql_type_id type, const void *value, size_t length)
{
	if (!value && length)
		return app ? (rayql_status)rql_error_set(&app->row, RQL_ERROR_MISUSE, "value is NULL, but its length is not 0")
		           : RAYQL_ERROR_MISUSE;
	struct rql_value v = {.type = rql_type_simple(type), .string = {value ? value : "", length}};
	return append(app, &v);
}

rayql_status rayql_append_null(rayql_appender *app)
{
	struct rql_value v = rql_value_null(rql_type_simple(RQL_TYPE_SQLNULL));
	return append(app, &v);
}

rayql_status rayql_append_default(rayql_appender *app)
{
	return app ? (rayql_status)rql_append_default(app) : RAYQL_ERROR_MISUSE;
}

rayql_status rayql_append_bool(rayql_appender *app, bool value)
{
	return append_integer(app, RQL_TYPE_BOOLEAN, value);
}

rayql_status rayql_append_int64(rayql_appender *app, int64_t value)
{
	return append_integer(app, RQL_TYPE_BIGINT, value);
}

rayql_status rayql_append_uint64(rayql_appender *app, uint64_t value)
{
	return append_integer(app, RQL_TYPE_UBIGINT, value);
}

rayql_status rayql_append_hugeint(rayql_appender *app, uint64_t lower, int64_t upper)
{
	return append_integer(app, RQL_TYPE_HUGEINT, rql_api_wide(lower, upper));
}

rayql_status rayql_append_uhugeint(rayql_appender *app, uint64_t lower, uint64_t upper)
{
	return append_integer(app, RQL_TYPE_UHUGEINT, rql_api_wide(lower, (int64_t)upper));
}

rayql_status rayql_append_double(rayql_appender *app, double value)
{
	struct rql_value v = {.type = rql_type_simple(RQL_TYPE_DOUBLE), .real = value};
	return append(app, &v);
}

rayql_status rayql_append_decimal(rayql_appender *app, uint8_t width, uint8_t scale, uint64_t lower, int64_t upper)
{
	struct rql_value v;
	if (!app)
		return RAYQL_ERROR_MISUSE;
	if (!rql_api_decimal(width, scale, rql_api_wide(lower, upper), &v))
		return (rayql_status)rql_error_set(&app->row, RQL_ERROR_MISUSE, "no DECIMAL(%u,%u) has such a value", width,
		                                   scale);
	return append(app, &v);
}

rayql_status rayql_append_text(rayql_appender *app, const char *value, size_t length)
{
	return append_bytes(app, RQL_TYPE_VARCHAR, value, length);
}

rayql_status rayql_append_blob(rayql_appender *app, const void *value, size_t length)
{
	return append_bytes(app, RQL_TYPE_BLOB, value, length);
}

rayql_status rayql_append_date(rayql_appender *app, int32_t days)
{
	return append_integer(app, RQL_TYPE_DATE, days);
}

rayql_status rayql_append_time(rayql_appender *app, int64_t micros)
{
	return append_integer(app, RQL_TYPE_TIME, micros);
}

rayql_status rayql_append_timestamp(rayql_appender *app, int64_t micros)
{
	return append_integer(app, RQL_TYPE_TIMESTAMP, micros);
}

rayql_status rayql_append_timestamp_tz(rayql_appender *app, int64_t micros)
{
	return append_integer(app, RQL_TYPE_TIMESTAMP_TZ, micros);
}

rayql_status rayql_append_interval(rayql_appender *app, int32_t months, int32_t days, int64_t micros)
{
	struct rql_value v = {.type = rql_type_simple(RQL_TYPE_INTERVAL), .interval = {months, days, micros}};
	return append(app, &v);
}

rayql_status rayql_append_uuid(rayql_appender *app, const uint8_t bytes[16])
{
	if (!app || !bytes)
		return RAYQL_ERROR_MISUSE;
	struct rql_value v = rql_api_uuid(bytes);
	return append(app, &v);
}

/* ---- rows ---- */
static rql_status flush(rayql_appender *app, struct rql_error *err)
{
	if (!app->rows)
		return RQL_OK;
	if (rql_api_is_forked(app->connection->database))
		return rql_error_set(err, RQL_ERROR_MISUSE, "the appender was opened before this process was forked");
	rql_api_begin(app->connection);
	rql_status status = rql_append_insert(app, err);
	rql_api_end(app->connection);
	app->stuck = status != RQL_OK;
	if (status == RQL_OK)
		rql_append_drop_all(app);
	return status;
}

rayql_status rayql_appender_end_row(rayql_appender *app, rayql_error **error)
{
	struct rql_error err = {0};
	if (!app)
		return rql_api_misuse(error, "rayql_appender_end_row: app is NULL");
	if (app->row.status == RQL_OK && app->at < app->count)
		rql_error_set(&app->row, RQL_ERROR_MISUSE, "%s has %u columns, and the row has %u values", app->table,
		              app->count, app->at);
	if (app->row.status != RQL_OK) {
		rql_error_move(&err, &app->row);
		rql_append_drop_row(app);
		return rql_api_fail(&err, error);
	}
	app->rows++;
	app->at = 0;
	bool full = app->rows == MOST_ROWS || (app->bytes && rql_arena_bytes(app->bytes) >= MOST_BYTES);
	return !full || flush(app, &err) == RQL_OK ? RAYQL_OK : rql_api_fail(&err, error);
}

rayql_status rayql_appender_flush(rayql_appender *app, rayql_error **error)
{
	struct rql_error err = {0};
	if (!app)
		return rql_api_misuse(error, "rayql_appender_flush: app is NULL");
	if (app->at || app->row.status != RQL_OK)
		return rql_api_misuse(error, "the last row is not complete: end it by rayql_appender_end_row");
	return flush(app, &err) == RQL_OK ? RAYQL_OK : rql_api_fail(&err, error);
}

uint64_t rayql_appender_rows(const rayql_appender *app)
{
	return app ? app->rows : 0;
}

void rayql_appender_clear(rayql_appender *app)
{
	if (app)
		rql_append_drop_all(app);
}

rayql_status rayql_appender_close(rayql_appender *app, rayql_error **error)
{
	if (!app)
		return RAYQL_OK;
	rayql_status status = rayql_appender_flush(app, error);
	if (status == RAYQL_OK)
		rayql_appender_free(app);
	return status;
}
