/* DuckDB's errors as RayQL's, and RayQL's carried through DuckDB's callbacks without losing their status. */
#include "host/host_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A callback of ours can only give DuckDB a text, which comes back behind "Invalid Input Error: " or the like. The status
 * travels in front of the message between two unit separators, which no message of DuckDB's contains. */
#define MARK '\x1f'

char *host_error_pack(rql_status status, const char *message)
{
	struct rql_strbuf text = {0};
	rql_strbuf_printf(&text, "%c%d%c%s", MARK, (int)status, MARK, message);
	return rql_strbuf_take(&text);
}

rql_status host_error(struct rql_error *err, const char *text)
{
	if (!text)
		return rql_error_set(err, RQL_ERROR_HOST, "DuckDB failed without saying why");
	const char *mark = strchr(text, MARK);
	if (mark) {
		char *end;
		long status = strtol(mark + 1, &end, 10);
		if (*end == MARK && status > RQL_OK && status <= RQL_ERROR_INTERNAL)
			return rql_error_set(err, (rql_status)status, "%s", end + 1);
	}
	bool interrupted = strncmp(text, "INTERRUPT Error", 15) == 0;
	return rql_error_set(err, interrupted ? RQL_ERROR_INTERRUPTED : RQL_ERROR_HOST, "%s", text);
}

rql_status host_error_result(struct rql_error *err, duckdb_result *result)
{
	const char *text = duckdb_result_error(result);
	if (text && duckdb_result_error_type(result) == DUCKDB_ERROR_INTERRUPT)
		return rql_error_set(err, RQL_ERROR_INTERRUPTED, "%s", text);
	return host_error(err, text);
}

/* The message of such a text as {"exception_type":"Invalid Input","exception_message":"..."}; malloc'ed. */
static char *message_of(const char *json)
{
	static const char key[] = "\"exception_message\":\"";
	const char *at = strstr(json, key);
	char *out = at ? malloc(strlen(at)) : strdup(json);
	if (!at || !out)
		return out;
	char *to = out;
	for (at += sizeof key - 1; *at && *at != '"'; at++) {
		at += at[0] == '\\' && at[1];
		*to++ = at[-1] == '\\' && *at == 'n' ? '\n' : *at;
	}
	*to = 0;
	return out;
}

rql_status host_error_data(duckdb_error_data data, rql_status status, const char *what, struct rql_error *err)
{
	if (!data || !duckdb_error_data_has_error(data)) {
		duckdb_destroy_error_data(&data);
		return RQL_OK;
	}
	char *message = message_of(duckdb_error_data_message(data));
	rql_error_set(err, status, "%s: %s", what, message ? message : "out of memory");
	free(message);
	duckdb_destroy_error_data(&data);
	return status;
}
