/* The optimised plan of a SELECT as JSON. DuckDB's json_serialize_plan runs on the user's own connection, so that it
 * sees what the statement itself will see; the optimisers that its serialiser does not survive are switched off
 * meanwhile, from a connection of ours: the setting is global, and the user's transaction stays untouched. */
#include "host/host_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Late materialisation would be survived, but turns a top-N into a join of the table with itself. */
static const char switched_off[] =
	"column_lifetime,common_aggregate,compressed_materialization,in_clause,late_materialization";

static const char *const plan_sql[2] = {
	"SELECT json_serialize_plan(?::VARCHAR, skip_null := true, skip_empty := false, skip_default := true, "
	"optimize := false)",
	"SELECT json_serialize_plan(?::VARCHAR, skip_null := true, skip_empty := false, skip_default := true, "
	"optimize := true)",
};

void rql_host_settings_lock(struct rql_host_db *db)
{
	pthread_mutex_lock(&db->settings);
}

void rql_host_settings_unlock(struct rql_host_db *db)
{
	pthread_mutex_unlock(&db->settings);
}

/* Under the settings lock. */
static bool set_disabled(struct rql_host_db *db, const char *user, const char *more)
{
	struct rql_strbuf names = {0}, sql = {0};
	rql_strbuf_put(&names, user);
	if (*user && *more)
		rql_strbuf_putc(&names, ',');
	rql_strbuf_put(&names, more);
	rql_strbuf_put(&sql, "SET GLOBAL disabled_optimizers = ");
	rql_strbuf_put_literal(&sql, rql_strbuf_text(&names), names.length);
	bool set = false;
	if (!names.failed && !sql.failed) {
		pthread_mutex_lock(&db->service_lock);
		set = duckdb_query(db->service, rql_strbuf_text(&sql), NULL) == DuckDBSuccess;
		pthread_mutex_unlock(&db->service_lock);
	}
	rql_strbuf_free(&names);
	rql_strbuf_free(&sql);
	return set;
}

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

static rql_status read_plan(duckdb_result *result, char **out, struct rql_error *err)
{
	static const char error_mark[] = "{\"error\":true";
	duckdb_data_chunk chunk = duckdb_fetch_chunk(*result);
	if (!chunk || duckdb_data_chunk_get_size(chunk) != 1) {
		duckdb_destroy_data_chunk(&chunk);
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "DuckDB gave no plan");
	}
	duckdb_vector vector = duckdb_data_chunk_get_vector(chunk, 0);
	const struct rql_string *json = duckdb_vector_get_data(vector);
	const char *text = rql_string_data(json);
	rql_status status = RQL_OK;
	if (json->length >= sizeof error_mark - 1 && memcmp(text, error_mark, sizeof error_mark - 1) == 0) {
		status = refused(text, json->length, err);
	} else {
		char *copy = strndup(text, json->length);
		if (copy)
			*out = copy;
		else
			status = rql_error_memory(err, json->length, "a plan");
	}
	duckdb_destroy_data_chunk(&chunk);
	return status;
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

static rql_status ask(struct rql_host_con *con, const char *sql, bool optimized, char **out, struct rql_error *err)
{
	duckdb_prepared_statement *prepared = &con->plan[optimized];
	if (!*prepared && duckdb_prepare(con->con, plan_sql[optimized], prepared) != DuckDBSuccess) {
		rql_status status = cannot_plan(err, duckdb_prepare_error(*prepared));
		duckdb_destroy_prepare(prepared);
		return status;
	}
	if (duckdb_bind_varchar(*prepared, 1, sql) != DuckDBSuccess)
		return cannot_plan(err, duckdb_prepare_error(*prepared));
	duckdb_result result;
	memset(&result, 0, sizeof result);
	rql_status status;
	if (duckdb_execute_prepared(*prepared, &result) == DuckDBSuccess)
		status = read_plan(&result, out, err);
	else
		status = cannot_plan(err, duckdb_result_error(&result));
	duckdb_destroy_result(&result);
	return status;
}

/* Every statement on the connection is profiled and logged, planning too, and the profile would replace the user's. */
static bool is_watched(struct rql_host_con *con)
{
	char *profile = host_option(con->context, "enable_profiling");
	char *log = host_option(con->context, "log_query_path");
	bool watched = profile || (log && *log);
	free(profile);
	free(log);
	return watched;
}

/* Settings under which a statement means something that its plan as JSON does not show: with integer_division `/`
 * (json_serialize_plan parses with the default options), without ieee_floating_point_ops a division by 0.0. NULL: all
 * are at their defaults. */
static const char *setting_in_the_way(struct rql_host_con *con)
{
	static const char *const settings[][2] = {{"integer_division", "true"}, {"ieee_floating_point_ops", "false"}};
	const char *found = NULL;
	for (size_t i = 0; !found && i < sizeof settings / sizeof *settings; i++) {
		char *value = host_option(con->context, settings[i][0]);
		if (value && strcasecmp(value, settings[i][1]) == 0)
			found = settings[i][0];
		free(value);
	}
	return found;
}

rql_status rql_host_plan(struct rql_host_con *con, const char *sql, bool optimized, char **out, struct rql_error *err)
{
	const char *setting = setting_in_the_way(con);
	if (setting)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED,
		                     "the setting %s is changed, which DuckDB's plans as JSON do not show", setting);
	if (is_watched(con))
		return rql_error_set(
			err, RQL_ERROR_UNSUPPORTED,
			"enable_profiling or log_query_path is set, which is about DuckDB's own running of a query");
	if (!optimized)
		return ask(con, sql, false, out, err);
	rql_host_settings_lock(con->db);
	rql_status status;
	char *user = host_option(con->context, "disabled_optimizers");
	if (set_disabled(con->db, user ? user : "", switched_off)) {
		status = ask(con, sql, true, out, err);
		/* It was just set, so it can be set back. */
		if (!set_disabled(con->db, user ? user : "", "") && status == RQL_OK) {
			free(*out);
			status = rql_error_set(err, RQL_ERROR_INTERNAL, "disabled_optimizers could not be set back to '%s'",
			                       user ? user : "");
		}
	} else {
		status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "DuckDB refused to set disabled_optimizers");
	}
	rql_host_settings_unlock(con->db);
	free(user);
	return status;
}
