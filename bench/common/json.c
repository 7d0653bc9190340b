/* Members of JSON objects, and a text written to a file. */
#include "bench/common/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/common/client.h"

void rql_json_key(struct rql_strbuf *out, const char *name)
{
	if (out->length && out->data[out->length - 1] != '{')
		rql_strbuf_put(out, ", ");
	rql_json_text(out, name);
	rql_strbuf_put(out, ": ");
}

void rql_json_number(struct rql_strbuf *out, const char *name, double value)
{
	rql_json_key(out, name);
	if (isfinite(value))
		rql_strbuf_printf(out, "%.9g", value);
	else
		rql_strbuf_put(out, "null");
}

void rql_json_count(struct rql_strbuf *out, const char *name, uint64_t value)
{
	rql_json_key(out, name);
	rql_strbuf_printf(out, "%llu", (unsigned long long)value);
}

void rql_json_string(struct rql_strbuf *out, const char *name, const char *value)
{
	rql_json_key(out, name);
	rql_json_text(out, value);
}

void rql_json_bool(struct rql_strbuf *out, const char *name, bool value)
{
	rql_json_key(out, name);
	rql_strbuf_put(out, value ? "true" : "false");
}

rql_status rql_json_file(const char *path, const struct rql_strbuf *text, struct rql_error *err)
{
	FILE *file = fopen(path, "w");
	if (!file)
		return rql_error_set(err, RQL_ERROR_IO, "cannot write \"%s\": %s", path, strerror(errno));
	bool whole = fwrite(text->data, 1, text->length, file) == text->length;
	int saved = errno;
	if (fclose(file)) {
		whole = false;
		saved = errno;
	}
	return whole ? RQL_OK : rql_error_set(err, RQL_ERROR_IO, "cannot write \"%s\": %s", path, strerror(saved));
}
