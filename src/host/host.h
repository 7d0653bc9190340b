/* DuckDB as RayQL uses it: the only folder that includes duckdb.h. Everything crosses this boundary as rql_batch,
 * rql_type, rql_value and text. Errors are RQL_ERROR_HOST with DuckDB's text unchanged (also its "LINE 1: ... ^" part),
 * RQL_ERROR_INTERRUPTED when DuckDB says so, RQL_ERROR_MEMORY for allocation failures here.
 * Thread-safety: a database from any thread; a connection, its statements and results from one thread at a time,
 * rql_host_interrupt and rql_host_progress from any. */
#ifndef RQL_HOST_HOST_H
#define RQL_HOST_HOST_H

#include "column/batch.h"
#include "column/value/nested.h"
#include "column/value/value.h"
#include "util/status.h"

struct rql_host_db;
struct rql_host_con;
struct rql_host_stmt;
struct rql_host_result;
struct ArrowSchema;
struct ArrowArray;
struct ArrowArrayStream;
struct rql_host_frame;

/* ---- database and connection ---- */
struct rql_host_option {
	const char *name, *value;
};
/* path NULL: in memory. Options are DuckDB's (threads, access_mode, ...). */
rql_status rql_host_open(const char *path, const struct rql_host_option *options, unsigned option_count,
                         struct rql_host_db **out, struct rql_error *err) RQL_MUST_CHECK;
/* A duckdb_database that somebody has opened. *database is NULL once it is taken over: from then on it closes with *out, or
 * with a failure. */
rql_status rql_host_adopt(void **database, struct rql_host_db **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_host_close(struct rql_host_db *db); /* checkpoints and closes the file; NULL accepted */
const char *rql_host_library_version(void);
/* The first number of its version: 1 or 2. */
unsigned rql_host_major(void);
rql_status rql_host_connect(struct rql_host_db *db, struct rql_host_con **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_host_disconnect(struct rql_host_con *con);
/* Stops what runs on con, and keeps what follows from running until rql_host_interrupt_clear: DuckDB forgets an
 * interrupt that comes between two statements. */
void rql_host_interrupt(struct rql_host_con *con);
void rql_host_interrupt_clear(struct rql_host_con *con);
/* Ends con's open transaction, if there is one; no interrupt stops that. */
void rql_host_rollback(struct rql_host_con *con);
/* For tests: fn is called before every call that enters DuckDB on a connection, where an interrupt may come. */
void rql_host_set_point(struct rql_host_db *db, void (*fn)(void *state), void *state);
/* Has DuckDB count con's progress. Where the configuration is locked it stays unknown. */
void rql_host_count_progress(struct rql_host_con *con);
/* Is a table function of this name built in, or registered by the time of the first question? Macros are none. */
bool rql_host_is_table_function(struct rql_host_db *db, const char *name, size_t length);
/* Databases with equal stamps have the same functions, but for macros: the same extensions are loaded, and RayQL has
 * registered the same. NULL where nobody can tell. The caller frees it. */
char *rql_host_functions_stamp(struct rql_host_db *db);
/* Has DuckDB's grammar a word like that, reserved or not? true where nobody can tell. */
bool rql_host_is_keyword(struct rql_host_db *db, const char *word, size_t length);
/* -1 percentage when unknown. */
void rql_host_progress(struct rql_host_con *con, double *percentage, uint64_t *rows, uint64_t *total_rows);
/* The id that table functions see through rql_host_tf_connection_id. */
uint64_t rql_host_connection_id(struct rql_host_con *con);

/* A duckdb_connection for somebody else, and back; what it set counts from then on. */
rql_status rql_host_lend_connection(struct rql_host_db *db, void **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_host_unlend_connection(struct rql_host_db *db, void *con);

/* ---- settings of DuckDB's (host_settings.c has a table of what each means for an answer) ---- */
/* A connection for RayQL's own questions. Settings that are changed for the database are at their defaults here, unless
 * lock_configuration forbids that. */
rql_status rql_host_connect_own(struct rql_host_db *db, struct rql_host_con **out, struct rql_error *err) RQL_MUST_CHECK;
/* For a connection that binds definitions or builds from them: from now on it has the defaults of all settings that
 * change what a statement means, also of those that are changed for the database later. RQL_ERROR_UNSUPPORTED names one
 * that is changed and cannot be set back. */
rql_status rql_host_hold_settings(struct rql_host_con *con, struct rql_error *err) RQL_MUST_CHECK;
/* Equal as long as no setting of con's that changes what a statement means has changed. */
uint64_t rql_host_meaning(struct rql_host_con *con);
/* The setting by which DuckDB takes down each statement of con (a query log, a profile), NULL: none. What RayQL answers
 * would be missing there. */
const char *rql_host_watched(struct rql_host_con *con);
/* Does the table have it? While a setting that it lacks is changed, no plan is given. */
bool rql_host_setting_known(const char *name);

/* ---- statements ---- */
/* What a statement may do, from DuckDB's statement type. */
enum rql_host_class {
	RQL_HOST_SELECT,      /* reads only (SELECT, EXPLAIN without ANALYZE, SHOW, DESCRIBE, ...: returns rows) */
	RQL_HOST_WRITE,       /* INSERT, UPDATE, DELETE, COPY, MERGE: may change rows */
	RQL_HOST_SCHEMA,      /* CREATE, ALTER, DROP, ATTACH, DETACH, IMPORT, LOAD, ...: may change anything */
	RQL_HOST_SETTING,     /* SET, RESET, PRAGMA, USE (variable and session state) */
	RQL_HOST_TRANSACTION, /* BEGIN, COMMIT, ROLLBACK */
	RQL_HOST_OTHER,       /* CALL, EXECUTE, EXPLAIN ANALYZE, VACUUM, ...: assume that it may do anything */
};
/* Splits text with DuckDB's parser into statements that are prepared by index, one after the other has run (a statement
 * may need what an earlier one made). DuckDB makes several of some (PIVOT, IMPORT DATABASE), and does not give their
 * texts. *count is 0 for blank text. When DuckDB cannot parse all of it: RQL_ERROR_HOST with DuckDB's message. */
struct rql_host_list;
rql_status rql_host_extract(struct rql_host_con *con, const char *sql, struct rql_host_list **out, uint64_t *count,
                            struct rql_error *err) RQL_MUST_CHECK;
void rql_host_list_free(struct rql_host_list *list);
rql_status rql_host_prepare_at(struct rql_host_con *con, struct rql_host_list *list, uint64_t index,
                               struct rql_host_stmt **out, struct rql_error *err) RQL_MUST_CHECK;
/* One statement. sql NULL, here and in the queries below: its text could not be made (rql_strbuf_sql), RQL_ERROR_MEMORY. */
rql_status rql_host_prepare(struct rql_host_con *con, const char *sql, struct rql_host_stmt **out,
                            struct rql_error *err) RQL_MUST_CHECK;
void rql_host_stmt_free(struct rql_host_stmt *stmt);
enum rql_host_class rql_host_stmt_class(const struct rql_host_stmt *stmt);
/* Columns as they were known when it was prepared: while a parameter's type is open, DuckDB says one column "unknown";
 * the result's columns are always right. */
uint32_t rql_host_stmt_columns(const struct rql_host_stmt *stmt);
const char *rql_host_stmt_column_name(const struct rql_host_stmt *stmt, uint32_t column);
struct rql_type rql_host_stmt_column_type(const struct rql_host_stmt *stmt,
                                          uint32_t column); /* info borrowed from stmt */
uint64_t rql_host_stmt_parameters(const struct rql_host_stmt *stmt);
const char *rql_host_stmt_parameter_name(const struct rql_host_stmt *stmt, uint64_t index);     /* index from 1 */
struct rql_type rql_host_stmt_parameter_type(const struct rql_host_stmt *stmt, uint64_t index); /* INVALID when open */
rql_status rql_host_bind(struct rql_host_stmt *stmt, uint64_t index, const struct rql_value *value,
                         struct rql_error *err);

/* ---- running ---- */
enum rql_host_rows { RQL_HOST_ROWS, RQL_HOST_CHANGED, RQL_HOST_NOTHING };
/* stream: rows are produced as they are fetched. */
rql_status rql_host_execute(struct rql_host_stmt *stmt, bool stream, struct rql_host_result **out,
                            struct rql_error *err) RQL_MUST_CHECK;
/* prepare + execute, materialised; out NULL: the result is dropped. */
rql_status rql_host_query(struct rql_host_con *con, const char *sql, struct rql_host_result **out,
                          struct rql_error *err);
/* Columns that room is made for before a text runs that was not prepared: those of a count, or few that are returned. */
#define RQL_HOST_USUAL_COLUMNS 16u
/* Of a statement that has run, and may have committed: there is no memory for what it gives. */
rql_status rql_host_result_lost(struct rql_error *err) RQL_MUST_CHECK;
enum rql_host_rows rql_host_result_kind(const struct rql_host_result *res);
uint32_t rql_host_result_columns(const struct rql_host_result *res);
const char *rql_host_result_name(const struct rql_host_result *res, uint32_t column);
struct rql_type rql_host_result_type(const struct rql_host_result *res, uint32_t column); /* info borrowed from res */
/* The next rows, zero-copy (the batch owns the DuckDB chunk and may outlive the result); *out NULL at the end. */
rql_status rql_host_fetch(struct rql_host_result *res, struct rql_batch **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_host_result_free(struct rql_host_result *res);
/* The value of a query for one, as malloc'ed text; *out NULL for NULL or no row. More rows or columns are an error. */
rql_status rql_host_query_text(struct rql_host_con *con, const char *sql, char **out, struct rql_error *err);
/* The same for an integer, where NULL or no row are errors, too. */
rql_status rql_host_query_int(struct rql_host_con *con, const char *sql, int64_t *out, struct rql_error *err);
/* The value of a constant expression as con binds it, as malloc'ed text (NULL for NULL), without a statement: none is
 * logged or profiled, and a failure aborts no transaction. Functions must be qualified. */
rql_status rql_host_fold_text(struct rql_host_con *con, const char *expression, char **out,
                              struct rql_error *err) RQL_MUST_CHECK;

/* A type by its text as con reads it. RQL_ERROR_HOST: there is none. */
rql_status rql_host_type_named(struct rql_host_con *con, const char *text, struct rql_arena *arena, struct rql_type *out,
                               struct rql_error *err) RQL_MUST_CHECK;

/* The parts of a column of a fetched batch, of any type; data is borrowed from the batch, all else lies in arena. */
rql_status rql_host_nested(struct rql_host_db *db, const struct rql_column *column, uint64_t rows,
                           struct rql_arena *arena, struct rql_nested *out, struct rql_error *err) RQL_MUST_CHECK;

/* ---- planning ---- */
/* The bound plan of one SELECT as JSON (malloc'ed; design.md, "The life of a query", 2): typed, expressions positional,
 * nothing optimised. The connection is the user's own, so search path, temporary tables, settings and uncommitted changes
 * are seen as the statement itself will see them; no setting is changed, and calls on several connections run at once.
 * skip_empty stays off: with it the serialiser drops {} from arrays, and `column_indexes` would lose its column 0. A plan
 * that cannot be made is RQL_ERROR_UNSUPPORTED with DuckDB's message; so is every plan while enable_profiling or
 * log_query_path is set, which would report the planning. Like any statement, it ends an unfinished streaming result of
 * the connection. */
rql_status rql_host_plan(struct rql_host_con *con, const char *sql, char **out, struct rql_error *err) RQL_MUST_CHECK;
/* default_collation is changed: EXCEPT and INTERSECT apply it after the plan was written, which does not show it. */
bool rql_host_collates_late(struct rql_host_con *con);
/* From now on plans are made in a transaction that is rolled back (the connection must not be in one). Binding may change
 * something: a view can hide range(nextval('s')). DuckDB takes such a planning for a read, and a read that commits changes
 * for an error so grave that it closes the database. Where preparing is a statement of its own, that is guarded, too. */
void rql_host_guard_plans(struct rql_host_con *con, bool guard);
/* Is preparing a statement of its own, as in DuckDB 2? Logs and profiles have it then beside what is prepared. */
bool rql_host_prepares_aloud(void);

/* ---- settings of RayQL's own ---- */
/* Makes DuckDB know a setting (a VARCHAR) whose value nobody of DuckDB's reads, for current_setting(),
 * duckdb_settings() and SET. global: it is not a connection's. */
rql_status rql_host_add_option(struct rql_host_db *db, const char *name, const char *value, const char *description,
                               bool global, struct rql_error *err) RQL_MUST_CHECK;
/* Has the connection this value of a setting? */
bool rql_host_option_is(struct rql_host_con *con, const char *name, const char *value);

/* The folder of DuckDB's own temporary files (temp_directory), malloc'ed; NULL: the user has none, or lets nothing be
 * written there (max_temp_directory_size). *most: bytes that may be written; UINT64_MAX: what the disk has. */
char *rql_host_temporary_folder(struct rql_host_con *con, uint64_t *most);

/* ---- batches through DuckDB ---- */
/* After a statement that may set something on con: what casts depend on is followed at once, as nothing can be set any
 * more after SET lock_configuration = true. */
void rql_host_follow_settings(struct rql_host_con *con);
/* Every column cast to VARCHAR by DuckDB. */
rql_status rql_host_to_text(struct rql_host_con *con, const struct rql_batch *batch, struct rql_batch **out,
                            struct rql_error *err) RQL_MUST_CHECK;
/* Likewise, but FLOAT, DOUBLE and OTHER columns as the text of their JSON. */
rql_status rql_host_to_json(struct rql_host_con *con, const struct rql_batch *batch, struct rql_batch **out,
                            struct rql_error *err) RQL_MUST_CHECK;
/* From now on the table function call `rayql_batch(N)`, N being the number given back, reads batch in any statement on
 * the database. Its columns are named c0, c1, ... The batch is borrowed until rql_host_unlend and may be of any size,
 * but columns of OTHER types only come from one fetched batch, unsliced. Used to evaluate expressions over a dictionary
 * and to finish plans. */
uint64_t rql_host_lend(struct rql_host_db *db, const struct rql_batch *batch); /* 0 when out of memory */
void rql_host_unlend(struct rql_host_db *db, uint64_t number);
/* Arrow export of a schema and of batches (DuckDB's own conversion). */
rql_status rql_host_arrow_schema(struct rql_host_con *con, uint32_t columns, const struct rql_type *types,
                                 const char *const *names, struct ArrowSchema *out, struct rql_error *err);
/* The rows of all batches in one array; they have the same types, and count > 0. */
rql_status rql_host_arrow_batches(struct rql_host_con *con, struct rql_batch *const *batches, uint64_t count,
                                  struct ArrowArray *out, struct rql_error *err);

/* ---- Arrow in ---- */
/* Rows of an Arrow C stream, which is taken over, also on failure. keep: the stream is read to its end now, and the rows can
 * be read as often as wanted; else it is read when the rows are, once. Arrays that break Arrow's rules are
 * RQL_ERROR_MISUSE, formats that DuckDB does not read RQL_ERROR_UNSUPPORTED. Counted: a scan keeps it, too. */
rql_status rql_host_frame_new(struct rql_host_con *con, struct ArrowArrayStream *stream, bool keep,
                              struct rql_host_frame **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_host_frame_release(struct rql_host_frame *frame); /* NULL accepted */
uint64_t rql_host_frame_rows(const struct rql_host_frame *frame); /* that were read so far */
uint32_t rql_host_frame_columns(const struct rql_host_frame *frame);
/* The table function call `rayql_arrow(N)`, N being the number given back, reads it in any statement on the database. */
uint64_t rql_host_frame_lend(struct rql_host_frame *frame);
void rql_host_frame_unlend(struct rql_host_frame *frame);
/* The rows of the next array of one that is not kept; *out NULL at the end. */
rql_status rql_host_frame_next(struct rql_host_frame *frame, struct rql_batch **out, struct rql_error *err) RQL_MUST_CHECK;

/* ---- rows pushed into RayQL by DuckDB's own parallel pipelines ---- */
/* A registered sink is fed by running `SELECT count(rayql_sink(N, a, b, ...)) FROM ...` where N is the number: fn is
 * called on DuckDB's worker threads, several at once, each call with rows of the arguments after N (borrowed for the
 * call), of exactly their own types. Remove a sink after its query's result is there; its state is then the caller's.
 * worker is a small number, distinct for threads that run at the same time, < RQL_HOST_MAX_WORKERS: index private state
 * by it. A failing fn stops the query, which then fails with err's message. */
#define RQL_HOST_MAX_WORKERS 1024
typedef rql_status rql_host_sink_fn(void *state, unsigned worker, const struct rql_batch *rows, struct rql_error *err);
uint64_t rql_host_sink_add(struct rql_host_db *db, rql_host_sink_fn *fn, void *state); /* 0 when out of memory */
void rql_host_sink_remove(struct rql_host_db *db, uint64_t number);

/* ---- table functions of RayQL's own ---- */
struct rql_host_tf_bind; /* during bind */
struct rql_host_table_function {
	const char *name;
	uint32_t parameter_count;
	const rql_type_id *parameters; /* BOOLEAN, BIGINT, DOUBLE, DATE, TIMESTAMP, VARCHAR; NULL is SQLNULL */
	/* (May be called again with the same arguments, when a prepared statement runs again.)
	 * Adds columns with rql_host_tf_column, reads arguments, sets *state (freed by free_state). */
	rql_status (*bind)(struct rql_host_tf_bind *bind, void *extra, void **state, struct rql_error *err);
	/* Fills `out` (its columns have room for `capacity` rows, all valid; set out->rows; strings by rql_host_tf_string,
	 * NULLs by rql_host_tf_null). Called until it gives 0 rows. With max_threads > 1 called in parallel with different
	 * `thread`s of [0, max_threads). */
	rql_status (*fill)(void *state, unsigned thread, struct rql_batch *out, uint64_t capacity, struct rql_error *err);
	void (*free_state)(void *state);
	void *extra;
};
rql_status rql_host_register(struct rql_host_con *con, const struct rql_host_table_function *function,
                             struct rql_error *err);
rql_status rql_host_tf_column(struct rql_host_tf_bind *bind, const char *name, struct rql_type type);
struct rql_value rql_host_tf_argument(struct rql_host_tf_bind *bind,
                                      uint32_t index); /* strings live until bind returns */
uint64_t rql_host_tf_connection_id(struct rql_host_tf_bind *bind);
void rql_host_tf_rows(struct rql_host_tf_bind *bind, uint64_t estimate);
void rql_host_tf_threads(struct rql_host_tf_bind *bind, unsigned max_threads);
/* Stores a copy of the string, which must be UTF-8 (it is not checked), into a VARCHAR column of fill's batch. */
void rql_host_tf_string(struct rql_batch *out, uint32_t column, uint64_t row, const char *data, uint32_t length);
void rql_host_tf_null(struct rql_batch *out, uint32_t column, uint64_t row);

#endif
