/* RayQL: an analytical SQL engine beside DuckDB. The public C API.
 *
 *   rayql_database *db; rayql_connection *con; rayql_result *res;
 *   rayql_error *err = NULL;
 *   if (rayql_open("shop.db", NULL, &db, &err) || rayql_connect(db, &con, &err) ||
 *       rayql_query(con, "SELECT region, sum(revenue) FROM sales GROUP BY region", &res, &err))
 *           fprintf(stderr, "%s\n", rayql_error_message(err));
 *
 * Rules, stated once:
 *  - Functions return a rayql_status; RAYQL_OK is 0. Out-parameters are untouched on failure. `rayql_error **err` may
 *    be NULL; where it is given and a call fails, *err is a new error that the caller frees with rayql_error_free.
 *  - rayql_X_free / close / disconnect accept NULL. Children keep their parents alive: a database closes when its
 *    last connection, statement and result are gone, whatever the order.
 *  - Handles are not thread-safe, except a database (connect from any thread), rayql_interrupt and rayql_progress.
 *    Use one connection per thread.
 *  - In a process that was forked after a database was opened, its handles give RAYQL_ERROR_MISUSE and free nothing; it
 *    can open databases of its own.
 *  - Text is UTF-8. Returned `const char *` are borrowed from the handle that gave them.
 *  - Answers are DuckDB's: row for row, type for type; see docs/.
 */
#ifndef RAYQL_H
#define RAYQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RAYQL_API __attribute__((visibility("default")))
#else
#define RAYQL_API
#endif

#define RAYQL_VERSION_MAJOR 0
#define RAYQL_VERSION_MINOR 1
#define RAYQL_VERSION_PATCH 0
#define RAYQL_VERSION "0.1.0"

typedef enum rayql_status {
	RAYQL_OK = 0,
	RAYQL_ERROR_STATEMENT = 1,   /* the statement is wrong (RayQL's own SQL, settings, options) */
	RAYQL_ERROR_HOST = 2,        /* DuckDB's own error; its text verbatim */
	RAYQL_ERROR_UNSUPPORTED = 3, /* rayql_fallback is 'off' and only the host could have answered */
	RAYQL_ERROR_MEMORY = 4,
	RAYQL_ERROR_LIMIT = 5, /* rayql_memory_limit */
	RAYQL_ERROR_IO = 6,
	RAYQL_ERROR_CORRUPT = 7,
	RAYQL_ERROR_STALE = 8,
	RAYQL_ERROR_INTERRUPTED = 9,
	RAYQL_ERROR_DEVICE = 10,
	RAYQL_ERROR_MISUSE = 11,
	RAYQL_ERROR_INTERNAL = 12
} rayql_status;

typedef struct rayql_error rayql_error;
typedef struct rayql_database rayql_database;
typedef struct rayql_connection rayql_connection;
typedef struct rayql_statement rayql_statement;
typedef struct rayql_result rayql_result;
typedef struct rayql_batch rayql_batch;
typedef struct rayql_vector rayql_vector;
typedef struct rayql_appender rayql_appender;

/* ---- errors and version ---- */
RAYQL_API rayql_status rayql_error_status(const rayql_error *err); /* RAYQL_OK for NULL */
RAYQL_API const char *rayql_error_message(const rayql_error *err); /* never NULL */
RAYQL_API void rayql_error_free(rayql_error *err);
RAYQL_API const char *rayql_status_name(rayql_status status);
RAYQL_API const char *rayql_version(void);
RAYQL_API const char *rayql_host_version(void); /* DuckDB's, such as "v1.5.6" */

/* ---- database ---- */
typedef struct rayql_config {
	size_t size; /* sizeof(rayql_config); lets the struct grow */
	bool read_only;
	uint64_t memory_limit;           /* bytes for RayQL's structures; 0: half of the machine's memory */
	uint32_t threads;                /* of RayQL and of DuckDB; 0: all CPUs */
	/* name, value, name, value, ..., NULL: DuckDB's own configuration, and RayQL's settings (rayql_...); may be NULL */
	const char *const *host_options;
} rayql_config;

/* path NULL or ":memory:": an in-memory database. config NULL: the defaults. */
RAYQL_API rayql_status rayql_open(const char *path, const rayql_config *config, rayql_database **out,
                                  rayql_error **err);
RAYQL_API void rayql_close(rayql_database *db);
RAYQL_API rayql_status rayql_connect(rayql_database *db, rayql_connection **out, rayql_error **err);
RAYQL_API void rayql_disconnect(rayql_connection *con);

/* ---- statements ---- */
/* Runs every statement in sql (separated by semicolons); the result is the last one's. out may be NULL. Rows of a
 * result stream: a new statement on the connection closes the connection's unfinished result. */
RAYQL_API rayql_status rayql_query(rayql_connection *con, const char *sql, rayql_result **out, rayql_error **err);
/* One statement, with parameters written ?, $1 or $name. Settings and variables (SET) count as they are when it is
 * executed. */
RAYQL_API rayql_status rayql_prepare(rayql_connection *con, const char *sql, rayql_statement **out, rayql_error **err);
RAYQL_API uint64_t rayql_parameter_count(const rayql_statement *stmt);
/* index from 1; name: "1" or "name" without the dollar sign. */
RAYQL_API rayql_status rayql_parameter_index(const rayql_statement *stmt, const char *name, uint64_t *out);
RAYQL_API rayql_status rayql_bind_null(rayql_statement *stmt, uint64_t index);
RAYQL_API rayql_status rayql_bind_bool(rayql_statement *stmt, uint64_t index, bool value);
RAYQL_API rayql_status rayql_bind_int64(rayql_statement *stmt, uint64_t index, int64_t value);
RAYQL_API rayql_status rayql_bind_uint64(rayql_statement *stmt, uint64_t index, uint64_t value);
RAYQL_API rayql_status rayql_bind_double(rayql_statement *stmt, uint64_t index, double value);
RAYQL_API rayql_status rayql_bind_text(rayql_statement *stmt, uint64_t index, const char *value, size_t length);
RAYQL_API rayql_status rayql_bind_blob(rayql_statement *stmt, uint64_t index, const void *value, size_t length);
RAYQL_API rayql_status rayql_bind_date(rayql_statement *stmt, uint64_t index, int32_t days); /* since 1970-01-01 */
RAYQL_API rayql_status rayql_bind_timestamp(rayql_statement *stmt, uint64_t index, int64_t micros); /* since 1970 */
RAYQL_API rayql_status rayql_bind_timestamp_tz(rayql_statement *stmt, uint64_t index, int64_t micros); /* since 1970 */
RAYQL_API rayql_status rayql_bind_time(rayql_statement *stmt, uint64_t index, int64_t micros); /* since midnight */
RAYQL_API rayql_status rayql_bind_interval(rayql_statement *stmt, uint64_t index, int32_t months, int32_t days,
                                           int64_t micros);
/* 128 bits in two's complement: upper * 2^64 + lower. RAYQL_ERROR_MISUSE: width not in 1..38, scale
 * above it, or a value of more digits than width. */
RAYQL_API rayql_status rayql_bind_hugeint(rayql_statement *stmt, uint64_t index, uint64_t lower, int64_t upper);
RAYQL_API rayql_status rayql_bind_uhugeint(rayql_statement *stmt, uint64_t index, uint64_t lower, uint64_t upper);
RAYQL_API rayql_status rayql_bind_decimal(rayql_statement *stmt, uint64_t index, uint8_t width, uint8_t scale,
                                          uint64_t lower, int64_t upper);
RAYQL_API rayql_status rayql_bind_uuid(rayql_statement *stmt, uint64_t index, const uint8_t bytes[16]); /* as written */
/* A value of any type, by DuckDB's cast of a text: ("INTEGER[]", "[1, 2]"), ("TIMESTAMP_NS", "2020-01-01 00:00:00.1").
 * A text that cannot be cast fails when the statement is executed. */
RAYQL_API rayql_status rayql_bind_cast(rayql_statement *stmt, uint64_t index, const char *type, const char *text,
                                       size_t length, rayql_error **err);
RAYQL_API rayql_status rayql_execute(rayql_statement *stmt, rayql_result **out, rayql_error **err);
RAYQL_API void rayql_statement_free(rayql_statement *stmt);

/* Splits the first complete statement off a text: its length with the semicolon, or 0 when the text is not complete
 * (an open quote, comment or dollar quote, or no semicolon yet). What shells need. */
RAYQL_API size_t rayql_statement_length(const char *sql);

/* Stops what the connection is doing, from any thread; the call there returns RAYQL_ERROR_INTERRUPTED. */
RAYQL_API void rayql_interrupt(rayql_connection *con);
/* Progress of the running statement, from any thread: rows done and in all (0 when unknown); percentage in 0..100, or
 * -1 when there is nothing to say. */
typedef struct rayql_progress_info {
	double percentage;
	uint64_t rows, total_rows;
	const char *phase; /* static text such as "reading", "sorting"; NULL for the host's own */
} rayql_progress_info;
RAYQL_API void rayql_progress(rayql_connection *con, rayql_progress_info *out);

/* ---- callbacks ---- */
/* A callback returns as any function: no exception may leave it, and no longjmp. It may be called until it is replaced
 * or set to NULL, which waits for one that runs; state must live as long. */
/* Called from a thread of RayQL's own, first when a call of the connection (rayql_query, rayql_execute, rayql_fetch,
 * their Arrow forms, an appender's flush) has lasted interval_ms, and from then on every interval_ms until it returns;
 * never later. false ends the statement, as rayql_interrupt does, and the call is not told of again. Inside, nothing of the connection and its children
 * may be called but rayql_interrupt and rayql_progress; other connections may. */
typedef bool rayql_progress_function(void *state, const rayql_progress_info *progress);
/* fn NULL: no callback any more. interval_ms 0: 100. RAYQL_ERROR_MEMORY: there is no thread for it. */
RAYQL_API rayql_status rayql_set_progress(rayql_connection *con, uint32_t interval_ms, rayql_progress_function *fn,
                                          void *state, rayql_error **err);
typedef enum rayql_log_level {
	RAYQL_LOG_ERROR,    /* a statement failed: its error's message */
	RAYQL_LOG_NOTICE,   /* rayql_result_notice, when there is one */
	RAYQL_LOG_STATEMENT /* who answered a statement, how long it took, and why */
} rayql_log_level;
typedef void rayql_log_function(void *state, rayql_log_level level, const char *text); /* text: for the call */
/* Called for everything up to the level, from the thread of the call, before rayql_query, rayql_execute or an Arrow
 * form of them returns: once a call, for its last statement. Nothing of the connection and its children may be called
 * inside. fn NULL: no log any more. */
RAYQL_API void rayql_set_log(rayql_connection *con, rayql_log_level level, rayql_log_function *fn, void *state);

/* ---- rows into a table ---- */
/* An appender gathers rows for a table and inserts many at a time: by INSERT statements of its connection, so
 * constraints, transactions and structures are as with any other, and an open result of the connection is closed.
 * Outside a transaction a flush is one of its own. Rows that are flushed are in the order in which they were appended.
 *
 *   rayql_append_int64(app, 7);
 *   rayql_append_text(app, "seven", 5);
 *   if (rayql_appender_end_row(app, &err)) ...         -- errors of the values, too
 *   if (rayql_appender_close(app, &err)) ...           -- flushes; the rows are kept where that fails
 *
 * catalog and schema may be NULL: the table is found as by SQL. Its columns are those of SELECT *, without generated
 * ones. RAYQL_ERROR_HOST: there is no such table. RAYQL_ERROR_MISUSE: it is a view. A table that is altered later makes
 * the next flush fail. */
RAYQL_API rayql_status rayql_appender_open(rayql_connection *con, const char *catalog, const char *schema,
                                           const char *table, rayql_appender **out, rayql_error **err);
RAYQL_API uint32_t rayql_appender_column_count(const rayql_appender *app);
RAYQL_API const char *rayql_appender_column_name(const rayql_appender *app, uint32_t column); /* NULL: out of range */
RAYQL_API const char *rayql_appender_column_type_name(const rayql_appender *app, uint32_t column);
/* The next value of the row, in the units of rayql_bind_...; bytes are copied. A column takes values of its own kind,
 * if it can hold them exactly: any integer for integers, DECIMAL, FLOAT and DOUBLE; a double for FLOAT (rounded) and
 * DOUBLE; a timestamp for TIMESTAMP, _S, _MS and _NS. Every column takes text, which DuckDB casts when it is inserted;
 * types that are not named here (ENUM, nested ones, JSON, ...) take nothing else. Where a value cannot be taken the
 * row is lost: the status is RAYQL_ERROR_MISUSE, further values of the row have the same, and rayql_appender_end_row
 * says why. */
RAYQL_API rayql_status rayql_append_null(rayql_appender *app);
/* The column's DEFAULT, or NULL. Rows whose DEFAULTs are in other columns than the row's before begin an INSERT of
 * their own. */
RAYQL_API rayql_status rayql_append_default(rayql_appender *app);
RAYQL_API rayql_status rayql_append_bool(rayql_appender *app, bool value);
RAYQL_API rayql_status rayql_append_int64(rayql_appender *app, int64_t value);
RAYQL_API rayql_status rayql_append_uint64(rayql_appender *app, uint64_t value);
RAYQL_API rayql_status rayql_append_hugeint(rayql_appender *app, uint64_t lower, int64_t upper);
RAYQL_API rayql_status rayql_append_uhugeint(rayql_appender *app, uint64_t lower, uint64_t upper);
RAYQL_API rayql_status rayql_append_double(rayql_appender *app, double value);
RAYQL_API rayql_status rayql_append_decimal(rayql_appender *app, uint8_t width, uint8_t scale, uint64_t lower,
                                            int64_t upper);
RAYQL_API rayql_status rayql_append_text(rayql_appender *app, const char *value, size_t length);
RAYQL_API rayql_status rayql_append_blob(rayql_appender *app, const void *value, size_t length);
RAYQL_API rayql_status rayql_append_date(rayql_appender *app, int32_t days);
RAYQL_API rayql_status rayql_append_time(rayql_appender *app, int64_t micros);
RAYQL_API rayql_status rayql_append_timestamp(rayql_appender *app, int64_t micros);
RAYQL_API rayql_status rayql_append_timestamp_tz(rayql_appender *app, int64_t micros);
RAYQL_API rayql_status rayql_append_interval(rayql_appender *app, int32_t months, int32_t days, int64_t micros);
RAYQL_API rayql_status rayql_append_uuid(rayql_appender *app, const uint8_t bytes[16]);
/* The row is complete. RAYQL_ERROR_MISUSE: too few or too many values, or one that its column cannot take; the row is
 * dropped, and the next one can begin. From 122,880 rows or 64 MB of strings on they are flushed: a failure of that is
 * told here, too, and the row is among those that are kept. */
RAYQL_API rayql_status rayql_appender_end_row(rayql_appender *app, rayql_error **err);
/* Inserts the complete rows: all of them, or none. After a failure (a constraint, a text that cannot be cast, an
 * interrupt) they are kept: mend the cause and flush again, or drop them. No row can be appended before one of both
 * has succeeded. An unfinished row is RAYQL_ERROR_MISUSE. */
RAYQL_API rayql_status rayql_appender_flush(rayql_appender *app, rayql_error **err);
RAYQL_API uint64_t rayql_appender_rows(const rayql_appender *app); /* complete, and not in the table yet */
RAYQL_API void rayql_appender_clear(rayql_appender *app);          /* drops them, and the unfinished one */
/* Flushes and frees; where the flush fails, the appender and its rows stay. */
RAYQL_API rayql_status rayql_appender_close(rayql_appender *app, rayql_error **err);
RAYQL_API void rayql_appender_free(rayql_appender *app); /* without a flush: rayql_appender_rows are dropped */

/* ---- results ---- */
typedef enum rayql_type {
	RAYQL_TYPE_INVALID,
	RAYQL_TYPE_BOOLEAN,
	RAYQL_TYPE_TINYINT,
	RAYQL_TYPE_SMALLINT,
	RAYQL_TYPE_INTEGER,
	RAYQL_TYPE_BIGINT,
	RAYQL_TYPE_HUGEINT,
	RAYQL_TYPE_UTINYINT,
	RAYQL_TYPE_USMALLINT,
	RAYQL_TYPE_UINTEGER,
	RAYQL_TYPE_UBIGINT,
	RAYQL_TYPE_UHUGEINT,
	RAYQL_TYPE_FLOAT,
	RAYQL_TYPE_DOUBLE,
	RAYQL_TYPE_DECIMAL,
	RAYQL_TYPE_VARCHAR,
	RAYQL_TYPE_BLOB,
	RAYQL_TYPE_DATE,
	RAYQL_TYPE_TIME,
	RAYQL_TYPE_TIMESTAMP,
	RAYQL_TYPE_TIMESTAMP_S,
	RAYQL_TYPE_TIMESTAMP_MS,
	RAYQL_TYPE_TIMESTAMP_NS,
	RAYQL_TYPE_TIMESTAMP_TZ,
	RAYQL_TYPE_INTERVAL,
	RAYQL_TYPE_UUID,
	RAYQL_TYPE_ENUM,
	RAYQL_TYPE_SQLNULL,
	RAYQL_TYPE_OTHER, /* of a result's column: LIST, STRUCT, MAP, ARRAY, UNION, and what has no name here */
	RAYQL_TYPE_LIST,  /* from here on of rayql_vector_type alone */
	RAYQL_TYPE_STRUCT,
	RAYQL_TYPE_MAP,
	RAYQL_TYPE_ARRAY,
	RAYQL_TYPE_UNION
} rayql_type;

RAYQL_API uint32_t rayql_column_count(const rayql_result *res);
RAYQL_API const char *rayql_column_name(const rayql_result *res, uint32_t column); /* NULL when out of range */
RAYQL_API rayql_type rayql_column_type(const rayql_result *res, uint32_t column);
RAYQL_API const char *rayql_column_type_name(const rayql_result *res,
                                             uint32_t column);                  /* as typeof(): "DECIMAL(12,2)" */
RAYQL_API uint8_t rayql_column_scale(const rayql_result *res, uint32_t column); /* DECIMAL */
RAYQL_API uint8_t rayql_column_width(const rayql_result *res, uint32_t column); /* DECIMAL: its digits; else 0 */
typedef enum rayql_result_kind {
	RAYQL_RESULT_ROWS,    /* a query's rows */
	RAYQL_RESULT_CHANGED, /* INSERT, UPDATE, DELETE, COPY: one row, one column `Count` */
	RAYQL_RESULT_NOTHING  /* DDL, SET, transaction control */
} rayql_result_kind;
RAYQL_API rayql_result_kind rayql_result_kind_of(const rayql_result *res);

/* Where the statement ran: "cube" (or another method's name) or "host", and one line why. */
RAYQL_API const char *rayql_result_method(const rayql_result *res);
RAYQL_API const char *rayql_result_reason(const rayql_result *res);
/* With rayql_fallback = 'notice', to be shown to the user: why DuckDB answered a query over tables, or
 * (rayql_result_method is then "rayql") why a view that was built could not be placed on a device. NULL when there is
 * nothing to say. */
RAYQL_API const char *rayql_result_notice(const rayql_result *res);

/* The next batch of rows; *out is NULL at the end. The batch belongs to the caller and may outlive the result. */
RAYQL_API rayql_status rayql_fetch(rayql_result *res, rayql_batch **out, rayql_error **err);
RAYQL_API uint64_t rayql_batch_rows(const rayql_batch *batch);
RAYQL_API bool rayql_batch_is_null(const rayql_batch *batch, uint32_t column, uint64_t row);
/* A column's values in DuckDB's physical layout: an array of rows fixed-width values (bool as uint8_t, DECIMAL as the
 * integer of its width's size, HUGEINT as {uint64_t lower; int64_t upper}, DATE as int32_t days, TIMESTAMP as int64_t
 * micros). NULL for VARCHAR, BLOB (rayql_batch_text) and nested types (rayql_batch_to_text). */
RAYQL_API const void *rayql_batch_data(const rayql_batch *batch, uint32_t column);
/* A column's NULLs: bit r % 64 of word r / 64 is set where row r has a value. NULL: no row is NULL. */
RAYQL_API const uint64_t *rayql_batch_validity(const rayql_batch *batch, uint32_t column);
/* VARCHAR and BLOB, all rows at once: up to 12 bytes lie in the string itself, of a longer one its first 4 and a
 * pointer to all of them. NULL for other types. Rows that are NULL hold nothing to be read. */
typedef struct rayql_string {
	uint32_t length;
	char prefix[4];
	union {
		char rest[8]; /* behind the prefix */
		const char *data;
	} tail;
} rayql_string;
static inline const char *rayql_string_data(const rayql_string *string)
{
	return string->length <= 12 ? (const char *)string + offsetof(rayql_string, prefix) : string->tail.data;
}
RAYQL_API const rayql_string *rayql_batch_strings(const rayql_batch *batch, uint32_t column);
/* VARCHAR and BLOB: the bytes (not NUL-terminated) and their number. */
RAYQL_API const char *rayql_batch_text(const rayql_batch *batch, uint32_t column, uint64_t row, size_t *length);
/* ---- nested values ---- */
/* A column of a batch as a tree: a value's parts are vectors, too. It is borrowed from the batch, and what its
 * functions give is, too; res is the result that the batch came from. */
RAYQL_API rayql_status rayql_batch_vector(rayql_result *res, rayql_batch *batch, uint32_t column,
                                          const rayql_vector **out, rayql_error **err);
/* LIST, STRUCT, MAP, ARRAY or UNION for what has parts, a type by another name as what it is (JSON: VARCHAR), OTHER for
 * what is read by rayql_batch_to_text alone (BIT, TIMETZ, VARIANT, ...). */
RAYQL_API rayql_type rayql_vector_type(const rayql_vector *vector);
RAYQL_API const char *rayql_vector_type_name(const rayql_vector *vector); /* as typeof(): "STRUCT(a INTEGER)", "JSON" */
RAYQL_API uint8_t rayql_vector_width(const rayql_vector *vector);         /* DECIMAL: its digits; else 0 */
RAYQL_API uint8_t rayql_vector_scale(const rayql_vector *vector);         /* DECIMAL */
/* ENUM: its members. Values are numbers of members, as uint8_t up to 255 members, uint16_t up to 65,535, else
 * uint32_t. */
RAYQL_API uint32_t rayql_vector_member_count(const rayql_vector *vector);
RAYQL_API const char *rayql_vector_member(const rayql_vector *vector, uint32_t member); /* NULL when out of range */
/* Values, strings and NULLs as of a batch: rayql_batch_data, rayql_batch_strings, rayql_batch_validity. Where a row of
 * what has parts is NULL, its parts say nothing. */
RAYQL_API uint64_t rayql_vector_rows(const rayql_vector *vector);
RAYQL_API bool rayql_vector_is_null(const rayql_vector *vector, uint64_t row);
RAYQL_API const uint64_t *rayql_vector_validity(const rayql_vector *vector);
RAYQL_API const void *rayql_vector_data(const rayql_vector *vector);
RAYQL_API const rayql_string *rayql_vector_strings(const rayql_vector *vector);
/* LIST: one child, the elements of all rows; row r has elements [offset, offset + length) of its entry. MAP: two,
 * "key" and "value", by entries likewise. ARRAY: one; row r has elements [r * array_size, (r + 1) * array_size).
 * STRUCT: its members, each with the struct's rows. UNION: likewise; the row's tag is the member that holds its value.
 * */
RAYQL_API uint32_t rayql_vector_child_count(const rayql_vector *vector);
RAYQL_API const rayql_vector *rayql_vector_child(const rayql_vector *vector, uint32_t child);
RAYQL_API const char *rayql_vector_child_name(const rayql_vector *vector, uint32_t child); /* "": it has none */
typedef struct rayql_entry {
	uint64_t offset, length;
} rayql_entry;
RAYQL_API const rayql_entry *rayql_vector_entries(const rayql_vector *vector); /* LIST and MAP, else NULL */
RAYQL_API uint64_t rayql_vector_array_size(const rayql_vector *vector);        /* ARRAY, else 0 */
RAYQL_API const uint8_t *rayql_vector_tags(const rayql_vector *vector);        /* UNION, else NULL */
/* The value of a row as a parameter, of any type but those that are OTHER and structs without names
 * (RAYQL_ERROR_UNSUPPORTED). */
RAYQL_API rayql_status rayql_bind_vector(rayql_statement *stmt, uint64_t index, const rayql_vector *vector,
                                         uint64_t row, rayql_error **err);

/* A new batch of the same rows with every column cast to VARCHAR by DuckDB: how a shell prints any type. */
RAYQL_API rayql_status rayql_batch_to_text(rayql_result *res, const rayql_batch *batch, rayql_batch **out,
                                           rayql_error **err);
/* Likewise, but columns of FLOAT, DOUBLE and OTHER types (nested ones among them) are cast to JSON: "[1, null]",
 * "1e300". All other columns are text that a writer of JSON quotes, or numbers. */
RAYQL_API rayql_status rayql_batch_to_json(rayql_result *res, const rayql_batch *batch, rayql_batch **out,
                                           rayql_error **err);
RAYQL_API void rayql_batch_free(rayql_batch *batch);
RAYQL_API void rayql_result_free(rayql_result *res);

/* ---- Arrow (include rayql/arrow.h, or your own Arrow headers, for the structs) ---- */
struct ArrowArrayStream;
/* Hands the rest of the result over as an Arrow C stream (https://arrow.apache.org/docs/format/CStreamInterface.html);
 * the result is then empty, and the stream keeps what it needs alive. Its arrays have about 120,000 rows where there
 * are as many, fewer where strings are long. */
RAYQL_API rayql_status rayql_result_to_arrow(rayql_result *res, struct ArrowArrayStream *out, rayql_error **err);

struct ArrowSchema;
/* The result's schema before the statement runs, to be released by the caller. RAYQL_ERROR_UNSUPPORTED: it is not
 * known before, since a column's type depends on a parameter's. Like a new statement, it ends the connection's open
 * result. */
RAYQL_API rayql_status rayql_statement_schema(rayql_statement *stmt, struct ArrowSchema *out, rayql_error **err);
/* The parameters': a field for each, by its name, of type null ("n") where any would do. */
RAYQL_API rayql_status rayql_parameter_schema(rayql_statement *stmt, struct ArrowSchema *out, rayql_error **err);
/* Runs the statement once for each row of the stream, whose columns are its parameters in their order, in one
 * transaction (the connection's, if it has one open). changed: rows that it changed, over all; may be NULL. A query is
 * refused. The stream is taken over, also on failure. */
RAYQL_API rayql_status rayql_execute_arrow(rayql_statement *stmt, struct ArrowArrayStream *rows, uint64_t *changed,
                                           rayql_error **err);
/* Makes the rows of an Arrow C stream readable as a table of that name on this connection, until it is unregistered or
 * the connection closes: a temporary view, which hides a table of the name. The stream is taken over, also on failure,
 * and read to its end. Its data is shared, not copied, where DuckDB's layout is Arrow's. What breaks Arrow's rules is
 * RAYQL_ERROR_MISUSE. */
RAYQL_API rayql_status rayql_register_arrow(rayql_connection *con, const char *name, struct ArrowArrayStream *stream,
                                            rayql_error **err);
RAYQL_API rayql_status rayql_unregister_arrow(rayql_connection *con, const char *name, rayql_error **err);
/* Runs sql with the stream's rows as the table function call that stands where sql has the words `rayql_stream`, as in
 * INSERT INTO t SELECT * FROM rayql_stream. They are read once, as the statement goes, so the stream may be longer than
 * memory. The stream is taken over, also on failure. changed: rows that the statement changed, or read from the stream
 * when DuckDB does not say that, as of CREATE TABLE ... AS; may be NULL. */
RAYQL_API rayql_status rayql_query_arrow(rayql_connection *con, const char *sql, struct ArrowArrayStream *stream,
                                         uint64_t *changed, rayql_error **err);

/* ---- DuckDB's own C API ---- */
struct _duckdb_connection;
struct _duckdb_database;
/* A database that the program has opened through DuckDB's C API, with configuration and extensions of its own. It
 * becomes RayQL's and closes with the rayql_database; *db is NULL then. After a failure *db is NULL, too, if the
 * database was taken over before that, and it is closed. The program has closed its own connections to it before: what
 * they wrote later would not be seen. config: host_options may have RayQL's settings only (RAYQL_ERROR_MISUSE). No
 * side files are kept, so structures are built anew at their first use. */
RAYQL_API rayql_status rayql_open_duckdb(struct _duckdb_database **db, const rayql_config *config,
                                         rayql_database **out, rayql_error **err);
/* A connection of DuckDB's to the same database, for what RayQL has no call for: appenders, functions in C, other
 * libraries. The function table is that of the process's DuckDB. RayQL does not see what is written through it, so
 * while there is one, DuckDB answers every query on the database, and says so; afterwards all structures count as
 * outdated. To be given back by rayql_duckdb_disconnect, which rolls back what is not committed. Any thread. */
RAYQL_API rayql_status rayql_duckdb_connect(rayql_database *db, struct _duckdb_connection **out, rayql_error **err);
RAYQL_API void rayql_duckdb_disconnect(rayql_database *db, struct _duckdb_connection *con);

/* ---- what the last statement on the connection did (also: SELECT * FROM rayql_last_query()) ---- */
typedef struct rayql_query_info {
	size_t size;           /* set by the caller: sizeof(rayql_query_info); lets the struct grow */
	const char *method;    /* "cube", "host", "rayql" (RayQL's own statements) */
	const char *unit;      /* "cpu", ... ; "" for the host */
	const char *structure; /* the structure read, or "" */
	const char *reason;    /* why this plan, or why the host */
	bool plan_cached;
	uint64_t cells_read;    /* cells whose values were decoded */
	uint64_t cells_covered; /* cells that the predicates qualify (many of them through block sums) */
	uint64_t bytes_read;
	uint64_t rows;            /* rows of the answer */
	double plan_ms;           /* from the call to the start of the method: lookup, planning, binding */
	double run_ms;            /* the method itself */
	double finish_ms;         /* HAVING, ORDER BY, LIMIT, making rows */
	double estimated_ms;      /* the chosen plan's price */
	double host_estimated_ms; /* the host plan's price */
	const char *device;       /* "cpu", "vulkan:0", ...; "" for the host */
	uint64_t intervals;       /* runs of cells that the predicates became */
	uint64_t rays, hits;      /* unit rt: rays launched; closest hits and any-hit calls */
	double device_ms;         /* GPUs, with SET rayql_device_timing = on: time on the device, all passes; else 0 */
	uint64_t bytes_uploaded;  /* what a scan first put into a GPU's memory: columns that were not there, its tables */
	bool plan_bound;          /* planned without DuckDB: a statement with other literals or parameters was bound before */
} rayql_query_info;
/* Fills the first out->size bytes. RAYQL_ERROR_MISUSE when that is too little for any version. */
RAYQL_API rayql_status rayql_last_query(const rayql_connection *con, rayql_query_info *out);

/* ---- device profile ---- */
/* Measures this machine's constants for the cost model (about 2 s a device; the first use runs a short form) and keeps
 * them in the user's cache folder: the CPU's and every real GPU's, or those of one device of rayql_devices() (an id,
 * UUID or PCI address; this is how a driver in software is measured). */
RAYQL_API rayql_status rayql_calibrate(rayql_database *db, rayql_error **err);

/* ---- self test ---- */
/* Runs the conformance suite on a device ("cpu", "vulkan:0", a UUID or PCI address; NULL or "all": every one) and calls
 * report, which may be NULL, with a line of text per case. The seed decides the random data. thorough: larger data,
 * minutes instead of seconds. RAYQL_ERROR_DEVICE: a case failed; RAYQL_ERROR_MISUSE: there is no such device. */
RAYQL_API rayql_status rayql_selftest(const char *device, uint64_t seed, bool thorough,
                                      void (*report)(void *state, const char *line), void *state, rayql_error **err);
RAYQL_API rayql_status rayql_calibrate_device(rayql_database *db, const char *device, rayql_error **err);

#ifdef __cplusplus
}
#endif
#endif
