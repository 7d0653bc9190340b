/* The bound plan of a SELECT as JSON. DuckDB's json_serialize_plan runs on the user's own connection, so that it sees
 * what the statement itself will see. It is asked for the plan before any optimiser: that needs no setting, has no
 * artefact of an optimiser, and depends on no statistics. */
#include "host/host_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Qualified: a database may have a macro of this name. */
static const char plan_sql[] =
	"SELECT system.main.json_serialize_plan(?::VARCHAR, skip_null := true, skip_empty := false, skip_default := true, "
	"optimize := false)";

/* ---- the answer ---- */

/* Reads the JSON string behind `"name":` (its four hex digits included) into a malloc'ed text; NULL when it is not
 * there. */
static char *json_string(const char *json, size_t length, const char *name)
{
	char key[40];
	int key_length = snprintf(key, sizeof key, "\"%s\":\"", name);
	const char *at = memmem(json, length, key, (size_t)key_length);
	if (!at)
		return NULL;
	struct rql_strbuf text = {0};
	const char *end = json + length;
	for (at += key_length; at < end && *at != '"'; at++) {
		if (*at != '\\' || at + 1 == end) {
			rql_strbuf_putc(&text, *at);
			continue;
		}
		at++;
		const char *escape = strchr("n\nt\tr\rb\bf\f", *at);
		if (*at == 'u' && end - at > 4) {
			char digits[5] = {at[1], at[2], at[3], at[4], 0};
			/* DuckDB escapes control characters only. */
			rql_strbuf_putc(&text, (char)(strtoul(digits, NULL, 16) & 0x7f));
			at += 4;
		} else {
			rql_strbuf_putc(&text, escape ? escape[1] : *at);
		}
	}
	return rql_strbuf_take(&text);
}

/* {"error":true,"error_type":"binder","error_message":"..."} */
static rql_status refused(const char *json, size_t length, struct rql_error *err)
{
	char *type = json_string(json, length, "error_type");
	char *message = json_string(json, length, "error_message");
	bool interrupted = type && strcasecmp(type, "interrupt") == 0;
	rql_status status = rql_error_set(err, interrupted ? RQL_ERROR_INTERRUPTED : RQL_ERROR_UNSUPPORTED, "%s",
	                                  message ? message : "DuckDB cannot serialise the plan");
	free(type);
	free(message);
	return status;
}

/* One text that is not NULL, and nothing else (JSON is VARCHAR to the C API). */
static bool is_one_text(duckdb_result *result, duckdb_data_chunk chunk)
{
	if (!chunk || duckdb_data_chunk_get_size(chunk) != 1 || duckdb_data_chunk_get_column_count(chunk) != 1 ||
	    duckdb_column_type(result, 0) != DUCKDB_TYPE_VARCHAR)
		return false;
	uint64_t *validity = duckdb_vector_get_validity(duckdb_data_chunk_get_vector(chunk, 0));
	return !validity || duckdb_validity_row_is_valid(validity, 0);
}

static rql_status take_plan(const char *text, size_t length, char **out, struct rql_error *err)
{
	static const char error_mark[] = "{\"error\":true";
	if (length >= sizeof error_mark - 1 && memcmp(text, error_mark, sizeof error_mark - 1) == 0)
		return refused(text, length, err);
	char *copy = strndup(text, length);
	if (!copy)
		return rql_error_memory(err, length, "a plan");
	*out = copy;
	return RQL_OK;
}

/* ---- asking ---- */

/* A failure to plan is no failure of the user's statement: the host will say what is wrong with that. */
static rql_status cannot_plan(struct rql_error *err, const char *text)
{
	struct rql_error host = {0};
	rql_status status = host_error(&host, text);
	status = rql_error_set(err, status == RQL_ERROR_INTERRUPTED ? status : RQL_ERROR_UNSUPPORTED, "%s",
	                       rql_error_message(&host));
	rql_error_clear(&host);
	return status;
}

/* Slower than a prepared question, but nothing is executed that a log or a profile would show. */
static rql_status ask_unseen(struct rql_host_con *con, const char *sql, char **out, struct rql_error *err)
{
	struct rql_error failed = {0};
	char *text = NULL;
	rql_status status = host_fold_plan(con, sql, &text, &failed);
	if (status == RQL_OK)
		status = text ? take_plan(text, strlen(text), out, err)
		              : rql_error_set(err, RQL_ERROR_UNSUPPORTED, "DuckDB gave no plan");
	else if (status == RQL_ERROR_HOST)
		status = cannot_plan(err, rql_error_message(&failed));
	else
		rql_error_move(err, &failed);
	rql_error_clear(&failed);
	free(text);
	return status;
}

/* PRAGMA enable_verification has DuckDB give NULL for a prepared question. */
static rql_status read_plan(struct rql_host_con *con, const char *sql, duckdb_result *result, char **out,
                            struct rql_error *err)
{
	duckdb_data_chunk chunk = duckdb_fetch_chunk(*result);
	if (!is_one_text(result, chunk)) {
		duckdb_destroy_data_chunk(&chunk);
		return ask_unseen(con, sql, out, err);
	}
	const struct rql_string *json = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, 0));
	rql_status status = take_plan(rql_string_data(json), json->length, out, err);
	duckdb_destroy_data_chunk(&chunk);
	return status;
}

static rql_status begin(struct rql_host_con *con, struct rql_error *err)
{
	duckdb_result result;
	memset(&result, 0, sizeof result);
	rql_status status = RQL_OK;
	if (duckdb_query(con->con, "BEGIN TRANSACTION", &result) != DuckDBSuccess) {
		status = cannot_plan(err, duckdb_result_error(&result));
		rql_host_rollback(con);
	}
	duckdb_destroy_result(&result);
	return status;
}

static rql_status ask(struct rql_host_con *con, const char *sql, char **out, struct rql_error *err)
{
	duckdb_prepared_statement *prepared = &con->plan;
	if (!*prepared && duckdb_prepare(con->con, plan_sql, prepared) != DuckDBSuccess) {
		rql_status status = cannot_plan(err, duckdb_prepare_error(*prepared));
		duckdb_destroy_prepare(prepared);
		return status;
	}
	if (duckdb_bind_varchar(*prepared, 1, sql) != DuckDBSuccess)
		return cannot_plan(err, duckdb_prepare_error(*prepared));
	if (con->guard_plans)
		RQL_TRY(begin(con, err));
	duckdb_result result;
	memset(&result, 0, sizeof result);
	rql_status status;
	if (duckdb_execute_prepared(*prepared, &result) == DuckDBSuccess)
		status = read_plan(con, sql, &result, out, err);
	else
		status = cannot_plan(err, duckdb_result_error(&result));
	duckdb_destroy_result(&result);
	if (con->guard_plans)
		rql_host_rollback(con);
	return status;
}

bool rql_host_prepares_aloud(void)
{
	return rql_host_major() >= 2;
}

void rql_host_guard_plans(struct rql_host_con *con, bool guard)
{
	con->guard_plans = guard;
}

rql_status rql_host_plan(struct rql_host_con *con, const char *sql, char **out, struct rql_error *err)
{
	RQL_TRY(host_enter(con, err));
	RQL_TRY(host_settings_allow(con, err));
	const char *watched = rql_host_watched(con);
	if (watched && rql_host_prepares_aloud())
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "the setting %s is changed: DuckDB 2 takes down what it prepares, the question for a plan too",
		                     watched);
	return watched ? ask_unseen(con, sql, out, err) : ask(con, sql, out, err);
}
