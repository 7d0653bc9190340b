/* Texts and prepared statements. */
#include "sql/statement.h"
#include "api/api_internal.h"
#include <stdlib.h>
#include <string.h>

rayql_status rayql_query(rayql_connection *con, const char *sql, rayql_result **out, rayql_error **error)
{
	struct rql_error err = {0};
	struct rql_result *res = NULL;
	rayql_result *room;
	if (!con || !sql)
		return rql_api_misuse(error, con ? "rayql_query: sql is NULL" : "rayql_query: con is NULL");
	if (rql_api_is_forked(con->database))
		return rql_api_forked(error);
	if (rql_api_result_room(out, &room, error) != RAYQL_OK)
		return RAYQL_ERROR_MEMORY;
	rql_api_begin(con);
	rql_status status = rql_session_query(con->session, sql, out ? &res : NULL, &err);
	rql_api_end(con);
	rql_api_log(con, status == RQL_OK ? NULL : &err, res);
	if (status != RQL_OK) {
		free(room);
		return rql_api_fail(&err, error);
	}
	if (out)
		*out = rql_api_result(con, NULL, res, room);
	return RAYQL_OK;
}

size_t rayql_statement_length(const char *sql)
{
	return sql ? rql_statement_split(sql) : 0;
}

rayql_status rayql_prepare(rayql_connection *con, const char *sql, rayql_statement **out, rayql_error **error)
{
	struct rql_error err = {0};
	if (!con || !sql || !out)
		return rql_api_misuse(error, "rayql_prepare: con, sql or out is NULL");
	if (rql_api_is_forked(con->database))
		return rql_api_forked(error);
	rayql_statement *stmt = calloc(1, sizeof *stmt);
	rql_status status = stmt ? rql_session_prepare(con->session, sql, &stmt->query, &err)
	                         : rql_error_memory(&err, sizeof *stmt, "a statement");
	if (status != RQL_OK) {
		free(stmt);
		return rql_api_fail(&err, error);
	}
	con->references++;
	stmt->references = 1;
	stmt->connection = con;
	*out = stmt;
	return RAYQL_OK;
}

void rql_api_statement_unref(rayql_statement *stmt)
{
	if (--stmt->references || rql_api_is_forked(stmt->connection->database))
		return;
	rql_prepared_free(stmt->query);
	rql_api_connection_unref(stmt->connection);
	free(stmt);
}

void rayql_statement_free(rayql_statement *stmt)
{
	if (stmt)
		rql_api_statement_unref(stmt);
}

uint64_t rayql_parameter_count(const rayql_statement *stmt)
{
	return stmt ? rql_prepared_parameters(stmt->query) : 0;
}

rayql_status rayql_parameter_index(const rayql_statement *stmt, const char *name, uint64_t *out)
{
	if (!stmt || !name || !out)
		return RAYQL_ERROR_MISUSE;
	for (uint64_t i = 1; i <= rql_prepared_parameters(stmt->query); i++) {
		const char *have = rql_prepared_parameter_name(stmt->query, i);
		if (have && strcasecmp(have, name) == 0) {
			*out = i;
			return RAYQL_OK;
		}
	}
	return RAYQL_ERROR_MISUSE;
}

/* ---- values ---- */
static rayql_status bind(rayql_statement *stmt, uint64_t index, const struct rql_value *value)
{
	return stmt ? (rayql_status)rql_prepared_bind(stmt->query, index, value, NULL) : RAYQL_ERROR_MISUSE;
}

static rayql_status bind_integer(rayql_statement *stmt, uint64_t index, rql_type_id type, rql_int128 value)
{
	struct rql_value v = {.type = rql_type_simple(type), .integer = value};
	return bind(stmt, index, &v);
}

rayql_status rayql_bind_null(rayql_statement *stmt, uint64_t index)
{
	struct rql_value v = rql_value_null(rql_type_simple(RQL_TYPE_SQLNULL));
	return bind(stmt, index, &v);
}

rayql_status rayql_bind_bool(rayql_statement *stmt, uint64_t index, bool value)
{
	return bind_integer(stmt, index, RQL_TYPE_BOOLEAN, value);
}

rayql_status rayql_bind_int64(rayql_statement *stmt, uint64_t index, int64_t value)
{
	return bind_integer(stmt, index, RQL_TYPE_BIGINT, value);
}

rayql_status rayql_bind_uint64(rayql_statement *stmt, uint64_t index, uint64_t value)
{
	return bind_integer(stmt, index, RQL_TYPE_UBIGINT, value);
}

rayql_status rayql_bind_double(rayql_statement *stmt, uint64_t index, double value)
{
	struct rql_value v = {.type = rql_type_simple(RQL_TYPE_DOUBLE), .real = value};
	return bind(stmt, index, &v);
}

static rayql_status bind_bytes(rayql_statement *stmt, uint64_t index, rql_type_id type, const void *value,
                               size_t length)
{
	if (!value && length)
		return RAYQL_ERROR_MISUSE;
	struct rql_value v = {.type = rql_type_simple(type), .string = {value ? value : "", length}};
	return bind(stmt, index, &v);
}

rayql_status rayql_bind_text(rayql_statement *stmt, uint64_t index, const char *value, size_t length)
{
	return bind_bytes(stmt, index, RQL_TYPE_VARCHAR, value, length);
}

rayql_status rayql_bind_blob(rayql_statement *stmt, uint64_t index, const void *value, size_t length)
{
	return bind_bytes(stmt, index, RQL_TYPE_BLOB, value, length);
}

rayql_status rayql_bind_date(rayql_statement *stmt, uint64_t index, int32_t days)
{
	return bind_integer(stmt, index, RQL_TYPE_DATE, days);
}

rayql_status rayql_bind_timestamp(rayql_statement *stmt, uint64_t index, int64_t micros)
{
	return bind_integer(stmt, index, RQL_TYPE_TIMESTAMP, micros);
}

rayql_status rayql_bind_timestamp_tz(rayql_statement *stmt, uint64_t index, int64_t micros)
{
	return bind_integer(stmt, index, RQL_TYPE_TIMESTAMP_TZ, micros);
}

rayql_status rayql_bind_time(rayql_statement *stmt, uint64_t index, int64_t micros)
{
	return bind_integer(stmt, index, RQL_TYPE_TIME, micros);
}

rayql_status rayql_bind_interval(rayql_statement *stmt, uint64_t index, int32_t months, int32_t days, int64_t micros)
{
	struct rql_value v = {.type = rql_type_simple(RQL_TYPE_INTERVAL), .interval = {months, days, micros}};
	return bind(stmt, index, &v);
}

rayql_status rayql_bind_hugeint(rayql_statement *stmt, uint64_t index, uint64_t lower, int64_t upper)
{
	return bind_integer(stmt, index, RQL_TYPE_HUGEINT, rql_api_wide(lower, upper));
}

rayql_status rayql_bind_uhugeint(rayql_statement *stmt, uint64_t index, uint64_t lower, uint64_t upper)
{
	return bind_integer(stmt, index, RQL_TYPE_UHUGEINT, rql_api_wide(lower, (int64_t)upper));
}

bool rql_api_decimal(uint8_t width, uint8_t scale, rql_int128 number, struct rql_value *out)
{
	rql_int128 most = 1;
	if (width < 1 || width > 38 || scale > width)
		return false;
	for (unsigned i = 0; i < width; i++)
		most *= 10;
	*out = (struct rql_value){.type = {.id = RQL_TYPE_DECIMAL, .width = width, .scale = scale}, .integer = number};
	return number < most && number > -most;
}

rayql_status rayql_bind_decimal(rayql_statement *stmt, uint64_t index, uint8_t width, uint8_t scale, uint64_t lower,
                                int64_t upper)
{
	struct rql_value v;
	return rql_api_decimal(width, scale, rql_api_wide(lower, upper), &v) ? bind(stmt, index, &v) : RAYQL_ERROR_MISUSE;
}

struct rql_value rql_api_uuid(const uint8_t bytes[16])
{
	rql_uint128 value = 0;
	for (unsigned i = 0; i < 16; i++)
		value = value << 8 | bytes[i];
	return (struct rql_value){.type = rql_type_simple(RQL_TYPE_UUID),
	                          .integer = (rql_int128)(value ^ (rql_uint128)1 << 127)};
}

rayql_status rayql_bind_uuid(rayql_statement *stmt, uint64_t index, const uint8_t bytes[16])
{
	if (!bytes)
		return RAYQL_ERROR_MISUSE;
	struct rql_value v = rql_api_uuid(bytes);
	return bind(stmt, index, &v);
}

rayql_status rayql_execute(rayql_statement *stmt, rayql_result **out, rayql_error **error)
{
	struct rql_error err = {0};
	struct rql_result *res = NULL;
	rayql_result *room;
	if (!stmt)
		return rql_api_misuse(error, "rayql_execute: stmt is NULL");
	if (rql_api_is_forked(stmt->connection->database))
		return rql_api_forked(error);
	if (rql_api_result_room(out, &room, error) != RAYQL_OK)
		return RAYQL_ERROR_MEMORY;
	rql_api_begin(stmt->connection);
	rql_status status = rql_prepared_execute(stmt->query, out ? &res : NULL, &err);
	rql_api_end(stmt->connection);
	rql_api_log(stmt->connection, status == RQL_OK ? NULL : &err, res);
	if (status != RQL_OK) {
		free(room);
		return rql_api_fail(&err, error);
	}
	if (out)
		*out = rql_api_result(stmt->connection, stmt, res, room);
	return RAYQL_OK;
}
