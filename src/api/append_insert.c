/* An appender's rows into their table: by INSERT statements of the connection, so that transactions, constraints and
 * the versions of tables are as with any other. Rows whose DEFAULTs are in the same columns go in one statement. */
#include "api/append.h"
#include <stdlib.h>
#include <string.h>

static bool bit(const uint64_t *bits, uint64_t row)
{
	return bits && rql_bit(bits, row);
}

/* The end of the rows from `from` on that have their DEFAULTs in the same columns. */
static uint64_t same_defaults(const rayql_appender *app, uint64_t from)
{
	if (!app->any_default)
		return app->rows;
	for (uint64_t row = from + 1; row < app->rows; row++)
		for (uint32_t c = 0; c < app->count; c++)
			if (bit(app->columns[c].defaults, row) != bit(app->columns[c].defaults, from))
				return row;
	return app->rows;
}

/* One statement: its columns and its texts. */
struct insert {
	struct rql_column *columns; /* validity is its own */
	uint32_t count;
	struct rql_strbuf names, values;
};

/* Rows [from, from + rows) as a column that begins at its first row. */
static bool add_column(struct insert *in, const struct rql_column *column, uint64_t from, uint64_t rows)
{
	uint64_t words = (rows + 63) / 64, last = (from + rows - 1) / 64;
	uint64_t *validity = calloc(words, sizeof *validity);
	if (!validity)
		return false;
	for (uint64_t w = 0; w < words; w++) {
		uint64_t at = from / 64 + w, low = column->validity[at] >> from % 64;
		uint64_t high = from % 64 && at < last ? column->validity[at + 1] << (64 - from % 64) : 0;
		validity[w] = low | high;
	}
	in->columns[in->count++] = (struct rql_column){
		.type = column->type, .data = (char *)column->data + from * rql_type_bytes(column->type), .validity = validity};
	return true;
}

static bool add(struct insert *in, const struct rql_append_column *column, uint64_t from, uint64_t rows)
{
	bool values = column->values.data, texts = column->texts.data;
	uint32_t number = in->count;
	rql_strbuf_put(&in->names, in->names.length ? ", " : "");
	rql_strbuf_put_ident(&in->names, column->name);
	rql_strbuf_put(&in->values, in->values.length ? ", " : "");
	if (values && texts)
		rql_strbuf_printf(&in->values, "CASE WHEN c%u IS NULL THEN c%u ELSE CAST(c%u AS %s) END", number + 1, number,
		                  number + 1, column->type_text);
	else
		rql_strbuf_printf(&in->values, "c%u", number); /* an INSERT casts to the column's type */
	return (!values || add_column(in, &column->values, from, rows)) &&
	       (!texts || add_column(in, &column->texts, from, rows));
}

static rql_status run(rayql_appender *app, struct rql_strbuf *sql, struct rql_error *err)
{
	if (sql->failed)
		return rql_error_memory(err, 0, "an INSERT");
	return rql_session_query(app->connection->session, rql_strbuf_text(sql), NULL, err);
}

static rql_status insert_defaults(rayql_appender *app, uint64_t rows, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	rql_status status = RQL_OK;
	rql_strbuf_printf(&sql, "INSERT INTO %s DEFAULT VALUES", app->table);
	for (uint64_t row = 0; row < rows && status == RQL_OK; row++)
		status = run(app, &sql, err);
	rql_strbuf_free(&sql);
	return status;
}

static rql_status insert_batch(rayql_appender *app, struct insert *in, uint64_t rows, struct rql_error *err)
{
	struct rql_host_db *host = rql_session_host_db(app->connection->session);
	struct rql_batch batch = {.rows = rows, .column_count = in->count, .columns = in->columns};
	struct rql_strbuf sql = {0};
	uint64_t number = rql_host_lend(host, &batch);
	if (!number || in->names.failed || in->values.failed) {
		rql_host_unlend(host, number);
		return rql_error_memory(err, 0, "an INSERT");
	}
	rql_strbuf_printf(&sql, "INSERT INTO %s (%s) SELECT %s FROM system.main.rayql_batch(%llu)", app->table,
	                  rql_strbuf_text(&in->names), rql_strbuf_text(&in->values), (unsigned long long)number);
	rql_status status = run(app, &sql, err);
	rql_strbuf_free(&sql);
	rql_host_unlend(host, number);
	return status;
}

static rql_status insert_rows(rayql_appender *app, uint64_t from, uint64_t to, struct rql_error *err)
{
	struct insert in = {.columns = calloc(2 * app->count + 1, sizeof *in.columns)};
	rql_status status = in.columns ? RQL_OK : rql_error_memory(err, app->count * sizeof *in.columns, "an INSERT");
	for (uint32_t c = 0; c < app->count && status == RQL_OK; c++)
		if (!bit(app->columns[c].defaults, from) && !add(&in, &app->columns[c], from, to - from))
			status = rql_error_memory(err, to - from, "an INSERT");
	if (status == RQL_OK)
		status = in.count ? insert_batch(app, &in, to - from, err) : insert_defaults(app, to - from, err);
	for (uint32_t c = 0; c < in.count; c++)
		free(in.columns[c].validity);
	free(in.columns);
	rql_strbuf_free(&in.names);
	rql_strbuf_free(&in.values);
	return status;
}

rql_status rql_append_insert(rayql_appender *app, struct rql_error *err)
{
	struct rql_session *session = app->connection->session;
	uint64_t to = app->rows ? same_defaults(app, 0) : 0;
	bool all_default = app->any_default;
	for (uint32_t c = 0; c < app->count && all_default; c++)
		all_default = bit(app->columns[c].defaults, 0);
	bool own = (to < app->rows || (all_default && app->rows > 1)) && !rql_session_in_transaction(session);
	rql_status status = own ? rql_session_query(session, "BEGIN", NULL, err) : RQL_OK;
	for (uint64_t from = 0; from < app->rows && status == RQL_OK; from = to) {
		to = same_defaults(app, from);
		status = insert_rows(app, from, to, err);
	}
	return rql_api_end_own(session, own, status, err);
}
