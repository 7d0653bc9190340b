/* What the files of the ADBC driver share: adbc.c (the driver, databases), adbc_connection.c, adbc_statement.c, adbc_catalog.c
 * (what a connection tells of its database), adbc_stream.c (results), adbc_error.c. Private to src/api. */
#ifndef RQL_API_ADBC_INTERNAL_H
#define RQL_API_ADBC_INTERNAL_H

#include "api/adbc/adbc_abi.h"
#include "api/api_internal.h"

struct adbc_database {
	rayql_database *db; /* NULL until it is initialised */
	char *path;
	char **options; /* name, value, name, value, ... */
	size_t count;
};

struct adbc_stream;
struct adbc_connection {
	uint32_t references; /* the handle's own, and one for each statement and stream: one thread's at a time */
	rayql_connection *con; /* NULL until it is initialised */
	bool manual; /* autocommit is off: statements begin a transaction where none is open */
	struct adbc_stream *open; /* the result whose rows still come from the engine; NULL: none */
};

/* ---- errors ---- */
/* Sets *error, which may be NULL, and gives status back. sqlstate: five characters. */
AdbcStatusCode adbc_fail(struct AdbcError *error, AdbcStatusCode status, const char *sqlstate, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Turns err, which it frees, into *error and its status. */
AdbcStatusCode adbc_fail_with(struct AdbcError *error, rayql_error *err);
int adbc_detail_count(const struct AdbcError *error);
struct AdbcErrorDetail adbc_detail(const struct AdbcError *error, int index);
const struct AdbcError *adbc_error_of_stream(struct ArrowArrayStream *stream, AdbcStatusCode *status);

/* ---- options ---- */
/* Copies text into value, which has room for *length bytes, if it fits; *length becomes what it needs. */
AdbcStatusCode adbc_give_text(const char *text, char *value, size_t *length);
AdbcStatusCode adbc_unknown_option(struct AdbcError *error, const char *what, const char *key);
bool adbc_boolean(const char *value, bool *out); /* false: neither "true" nor "false" */

/* ---- connections ---- */
void adbc_connection_unref(struct adbc_connection *con);
/* Before a statement: opens the transaction that is due, and takes the rows that an earlier one has left into memory, since
 * the engine has one open result a connection. */
AdbcStatusCode adbc_begin(struct adbc_connection *con, struct AdbcError *error);

/* The current schema or catalog, malloc'ed. */
AdbcStatusCode adbc_current(struct adbc_connection *con, bool schema, char **out, struct AdbcError *error);

/* ---- results ---- */
struct rql_host_frame;
/* A stream of the result's rows; the result is taken over, also on failure. */
AdbcStatusCode adbc_stream_result(struct adbc_connection *con, rayql_result *res, struct ArrowArrayStream *out,
                                  struct AdbcError *error);
/* The rows of a query for each row of parameters, one after the other. The stream of parameters is taken over. */
AdbcStatusCode adbc_stream_parameters(struct adbc_connection *con, rayql_statement *stmt, struct ArrowArrayStream *rows,
                                      struct ArrowArrayStream *out, struct AdbcError *error);
/* A stream with no rows and no columns. */
void adbc_stream_nothing(struct ArrowArrayStream *out);
/* Reads the open stream's rows into memory. */
AdbcStatusCode adbc_stream_settle(struct adbc_stream *stream, struct AdbcError *error);
/* A stream of one array. Both are taken over. */
AdbcStatusCode adbc_stream_array(struct ArrowSchema *schema, struct ArrowArray *array, struct ArrowArrayStream *out,
                                 struct AdbcError *error);

/* ---- what a connection tells (adbc_catalog.c) ---- */
AdbcStatusCode adbc_get_info(struct AdbcConnection *, const uint32_t *, size_t, struct ArrowArrayStream *,
                             struct AdbcError *);
AdbcStatusCode adbc_get_objects(struct AdbcConnection *, int, const char *, const char *, const char *, const char **,
                                const char *, struct ArrowArrayStream *, struct AdbcError *);
AdbcStatusCode adbc_get_table_schema(struct AdbcConnection *, const char *, const char *, const char *,
                                     struct ArrowSchema *, struct AdbcError *);
AdbcStatusCode adbc_get_table_types(struct AdbcConnection *, struct ArrowArrayStream *, struct AdbcError *);
AdbcStatusCode adbc_get_statistics(struct AdbcConnection *, const char *, const char *, const char *, char,
                                   struct ArrowArrayStream *, struct AdbcError *);
AdbcStatusCode adbc_get_statistic_names(struct AdbcConnection *, struct ArrowArrayStream *, struct AdbcError *);

bool adbc_table_exists(struct adbc_connection *con, const char *catalog, const char *schema, const char *table);

/* ---- the driver's tables ---- */
void adbc_connection_functions(struct AdbcDriver *driver, bool details);
void adbc_statement_functions(struct AdbcDriver *driver, bool details);

#endif
