/* What gen and bench ask of a connection, over the public API. Errors of the API become struct rql_error. */
#ifndef RQL_BENCH_CLIENT_H
#define RQL_BENCH_CLIENT_H

#include <rayql/rayql.h>

#include "util/status.h"
#include "util/strbuf.h"

/* path NULL: in memory. threads 0: all. */
rql_status rql_client_open(const char *path, unsigned threads, rayql_database **db, rayql_connection **con,
                           struct rql_error *err) RQL_MUST_CHECK;

/* Runs the formatted statement, drops its rows. */
rql_status rql_client_run(rayql_connection *con, struct rql_error *err, const char *fmt, ...) RQL_PRINTF(3, 4);

/* The first column of the first row as a number; 0 for NULL and for no row. */
rql_status rql_client_number(rayql_connection *con, double *out, struct rql_error *err, const char *fmt, ...)
	RQL_PRINTF(4, 5);

/* Runs sql and fetches all rows. *ms: from the call to the last row. answer, unless NULL, receives column names and
 * types and every row as text, one line each, made after the timer stops: answers are the same when the texts are. */
rql_status rql_client_time(rayql_connection *con, const char *sql, double *ms, struct rql_strbuf *answer,
                           uint64_t *rows, struct rql_error *err);

/* Runs sql and fetches all rows, which ends the time *ms (may be NULL); then calls begin with the result and row with each
 * row's texts. false from either: out of memory. */
typedef bool rql_client_begin_fn(void *state, const rayql_result *result);
typedef bool rql_client_row_fn(void *state, const rayql_batch *text, uint64_t row);
rql_status rql_client_each(rayql_connection *con, const char *sql, double *ms, rql_client_begin_fn *begin,
                           rql_client_row_fn *row, void *state, struct rql_error *err);

/* Runs sql and calls fn with each batch as it comes, which it does not keep. */
typedef rql_status rql_client_batch_fn(void *state, const rayql_batch *batch, struct rql_error *err);
rql_status rql_client_batches(rayql_connection *con, const char *sql, rql_client_batch_fn *fn, void *state,
                              struct rql_error *err) RQL_MUST_CHECK;

/* Switches all methods of RayQL on or off. Off: DuckDB answers, and nothing but DuckDB runs. */
rql_status rql_client_methods(rayql_connection *con, bool on, struct rql_error *err) RQL_MUST_CHECK;

/* Appends the rows of sql to out as a JSON array of objects whose values are strings or null. */
rql_status rql_client_json(rayql_connection *con, const char *sql, struct rql_strbuf *out, struct rql_error *err);

/* Appends text as a JSON string with its quotes; NULL as null. */
void rql_json_text(struct rql_strbuf *out, const char *text);
void rql_json_text_n(struct rql_strbuf *out, const char *text, size_t length);

#endif
