/* Results of statements: the types and names of their columns, their rows batch by batch. */
#include "host/host_internal.h"

#include <stdlib.h>
#include <string.h>

struct rql_host_result {
	duckdb_result result;
	enum rql_host_rows kind;
	struct host_types *types;
};

struct rql_host_result *host_result_room(uint32_t columns)
{
	struct rql_host_result *res = calloc(1, sizeof *res);
	if (res)
		res->types = host_types_room(columns);
	if (!res || !res->types) {
		free(res);
		return NULL;
	}
	return res;
}

rql_status rql_host_result_lost(struct rql_error *err)
{
	return rql_error_set(err, RQL_ERROR_MEMORY, "the statement has run, but there is no memory for its result");
}

static enum rql_host_rows kind_of(duckdb_result result)
{
	switch (duckdb_result_return_type(result)) {
	case DUCKDB_RESULT_TYPE_CHANGED_ROWS:
		return RQL_HOST_CHANGED;
	case DUCKDB_RESULT_TYPE_QUERY_RESULT:
		return RQL_HOST_ROWS;
	default:
		return RQL_HOST_NOTHING;
	}
}

rql_status host_result_wrap(struct rql_host_con *con, duckdb_result *result, struct rql_host_result *room,
                            struct rql_host_result **out, struct rql_error *err)
{
	if (!room) {
		duckdb_destroy_result(result);
		return RQL_OK;
	}
	room->result = *result;
	uint32_t count = (uint32_t)duckdb_column_count(result);
	bool read = host_types_set_count(room->types, count);
	for (uint32_t c = 0; read && c < count; c++) {
		duckdb_logical_type logical = duckdb_column_logical_type(result, c);
		read = host_type_in(con->db, room->types->arena, logical, &room->types->types[c]);
		duckdb_destroy_logical_type(&logical);
	}
	if (!read) {
		rql_host_result_free(room);
		return rql_host_result_lost(err);
	}
	room->kind = kind_of(*result);
	*out = room;
	return RQL_OK;
}

rql_status rql_host_query(struct rql_host_con *con, const char *sql, struct rql_host_result **out,
                          struct rql_error *err)
{
	duckdb_result result;
	if (!sql)
		return rql_error_memory(err, 0, "a statement");
	memset(&result, 0, sizeof result);
	RQL_TRY(host_enter(con, err));
	struct rql_host_result *room = out ? host_result_room(RQL_HOST_USUAL_COLUMNS) : NULL;
	if (out && !room)
		return rql_error_memory(err, 0, "a result");
	HOST_CROSS();
	duckdb_state state = duckdb_query(con->con, sql, &result);
	HOST_CROSS();
	if (state != DuckDBSuccess) {
		rql_status status = host_error_result(err, &result);
		duckdb_destroy_result(&result);
		rql_host_result_free(room);
		return status;
	}
	duckdb_statement_type type = duckdb_result_statement_type(result);
	if (type == DUCKDB_STATEMENT_TYPE_SET || type == DUCKDB_STATEMENT_TYPE_VARIABLE_SET ||
	    type == DUCKDB_STATEMENT_TYPE_PRAGMA || type == DUCKDB_STATEMENT_TYPE_LOAD ||
	    type == DUCKDB_STATEMENT_TYPE_CALL || type == DUCKDB_STATEMENT_TYPE_EXECUTE)
		host_settings_moved(con->db, type == DUCKDB_STATEMENT_TYPE_LOAD);
	return host_result_wrap(con, &result, room, out, err);
}

enum rql_host_rows rql_host_result_kind(const struct rql_host_result *res)
{
	return res->kind;
}

uint32_t rql_host_result_columns(const struct rql_host_result *res)
{
	return res->types->count;
}

/* DuckDB's accessors take results without const. */
static duckdb_result *mutable(const struct rql_host_result *res)
{
	return (duckdb_result *)(uintptr_t)&res->result;
}

const char *rql_host_result_name(const struct rql_host_result *res, uint32_t column)
{
	return duckdb_column_name(mutable(res), column);
}

struct rql_type rql_host_result_type(const struct rql_host_result *res, uint32_t column)
{
	return column < res->types->count ? res->types->types[column] : rql_type_simple(RQL_TYPE_INVALID);
}

rql_status rql_host_fetch(struct rql_host_result *res, struct rql_batch **out, struct rql_error *err)
{
	duckdb_data_chunk chunk = duckdb_fetch_chunk(res->result);
	if (!chunk) {
		const char *text = duckdb_result_error(&res->result);
		if (text && *text)
			return host_error_result(err, &res->result);
		*out = NULL;
		return RQL_OK;
	}
	if (duckdb_data_chunk_get_size(chunk) == 0) {
		duckdb_destroy_data_chunk(&chunk);
		*out = NULL;
		return RQL_OK;
	}
	struct rql_batch *batch = host_batch_new(chunk, res->types);
	if (!batch)
		return rql_error_memory(err, 0, "a batch of rows");
	*out = batch;
	return RQL_OK;
}

void rql_host_result_free(struct rql_host_result *res)
{
	if (!res)
		return;
	duckdb_destroy_result(&res->result);
	host_types_unref(res->types);
	free(res);
}

/* ---- queries for one value ---- */

/* The row of the query, if there is one. */
static rql_status only_row(struct rql_host_con *con, const char *sql, struct rql_batch **out, struct rql_error *err)
{
	struct rql_host_result *res = NULL;
	struct rql_batch *batch = NULL;
	RQL_TRY(rql_host_query(con, sql, &res, err));
	rql_status status = rql_host_fetch(res, &batch, err);
	bool one = rql_host_result_columns(res) == 1 && (!batch || batch->rows == 1);
	rql_host_result_free(res);
	if (status == RQL_OK && !one)
		status = rql_error_set(err, RQL_ERROR_HOST, "one value was expected from: %s", sql);
	if (status == RQL_OK)
		*out = batch;
	else
		rql_batch_release(batch);
	return status;
}

rql_status rql_host_query_text(struct rql_host_con *con, const char *sql, char **out, struct rql_error *err)
{
	struct rql_batch *batch = NULL, *text = NULL;
	RQL_TRY(only_row(con, sql, &batch, err));
	rql_status status = RQL_OK;
	char *copy = NULL;
	if (batch && rql_column_valid(&batch->columns[0], 0)) {
		if (batch->columns[0].type.id != RQL_TYPE_VARCHAR) {
			status = rql_host_to_text(con, batch, &text, err);
			if (status != RQL_OK)
				goto done;
		}
		struct rql_value value = rql_column_get(&(text ? text : batch)->columns[0], 0);
		copy = strndup(value.string.data, value.string.length);
		if (!copy) {
			status = rql_error_memory(err, value.string.length, "a value's text");
			goto done;
		}
	}
	*out = copy;
done:
	rql_batch_release(text);
	rql_batch_release(batch);
	return status;
}

rql_status rql_host_query_int(struct rql_host_con *con, const char *sql, int64_t *out, struct rql_error *err)
{
	struct rql_batch *batch = NULL;
	RQL_TRY(only_row(con, sql, &batch, err));
	rql_status status = RQL_OK;
	struct rql_value value = {.is_null = true};
	if (batch)
		value = rql_column_get(&batch->columns[0], 0);
	if (value.is_null)
		status = rql_error_set(err, RQL_ERROR_HOST, "a number was expected from: %s", sql);
	else if (!rql_type_is_integral(value.type) || value.integer < INT64_MIN || value.integer > INT64_MAX)
		status = rql_error_set(err, RQL_ERROR_HOST, "a 64-bit number was expected from: %s", sql);
	else
		*out = (int64_t)value.integer;
	rql_batch_release(batch);
	return status;
}
