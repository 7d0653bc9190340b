/* Writing JSON objects, a member at a time, into a text that grows. */
#ifndef RQL_BENCH_JSON_H
#define RQL_BENCH_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "util/status.h"
#include "util/strbuf.h"

/* The member's name and a comma before it, unless it is the object's first; its value must follow. */
void rql_json_key(struct rql_strbuf *out, const char *name);
void rql_json_number(struct rql_strbuf *out, const char *name, double value); /* null when it is not finite */
void rql_json_count(struct rql_strbuf *out, const char *name, uint64_t value);
void rql_json_string(struct rql_strbuf *out, const char *name, const char *value); /* NULL: null */
void rql_json_bool(struct rql_strbuf *out, const char *name, bool value);
/* Writes the whole text to path. */
rql_status rql_json_file(const char *path, const struct rql_strbuf *text, struct rql_error *err) RQL_MUST_CHECK;

#endif
