/* What the files of this folder share. DuckDB's handles stay in here. */
#ifndef RQL_HOST_INTERNAL_H
#define RQL_HOST_INTERNAL_H

#include "host/host.h"
#include "util/arena.h"
#include "util/strbuf.h"
#include <duckdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- libduckdb 1.5 exports these; the header of 1.4, which is the newest that is packaged, lacks them ---- */
typedef struct host_config_option *host_config_option;
host_config_option duckdb_create_config_option(void);
void duckdb_destroy_config_option(host_config_option *option);
void duckdb_config_option_set_name(host_config_option option, const char *name);
void duckdb_config_option_set_type(host_config_option option, duckdb_logical_type type);
void duckdb_config_option_set_default_value(host_config_option option, duckdb_value value);
void duckdb_config_option_set_default_scope(host_config_option option, int scope);
void duckdb_config_option_set_description(host_config_option option, const char *description);
duckdb_state duckdb_register_config_option(duckdb_connection connection, host_config_option option);
enum { HOST_SCOPE_SESSION = 2, HOST_SCOPE_GLOBAL = 3 };
duckdb_value duckdb_client_context_get_config_option(duckdb_client_context context, const char *name, int *out_scope);
void duckdb_scalar_function_set_init(duckdb_scalar_function function, void (*init)(duckdb_init_info info));
void duckdb_scalar_function_init_set_state(duckdb_init_info info, void *state, duckdb_delete_callback_t destroy);
void duckdb_scalar_function_init_set_error(duckdb_init_info info, const char *error);
void *duckdb_scalar_function_get_state(duckdb_function_info info);
/* As duckdb_vector_assign_string_element_len, but the bytes are not checked to be UTF-8 (they came from DuckDB). */
void duckdb_unsafe_vector_assign_string_element_len(duckdb_vector vector, idx_t row, const char *text, idx_t length);
enum {
	HOST_TYPE_GEOMETRY = 40,
	HOST_TYPE_VARIANT = 41,
	HOST_TYPE_TIMESTAMP_TZ_NS = 42, /* since 2.0 */
	HOST_STATEMENT_COPY_DATABASE = 28,
	HOST_STATEMENT_MERGE = 30
};

/* From here on a function of DuckDB's is a pointer of host_api. */
#include "host/host_functions.h"

/* ---- host_library.c ---- */
/* Before anything else of DuckDB's: finds it, once in a process. */
rql_status host_library(struct rql_error *err) RQL_MUST_CHECK;

/* ---- handles ---- */
struct host_lent {
	struct host_lent *next;
	uint64_t number;
	const struct rql_batch *batch;
};

struct host_sink {
	struct host_sink *next;
	uint64_t number;
	rql_host_sink_fn *fn;
	void *state;
	unsigned running;                                 /* calls under way; guarded by rql_host_db.registry */
	_Atomic uint64_t busy[RQL_HOST_MAX_WORKERS / 64]; /* bit set: the worker number is in use */
};

struct host_word {
	char text[64]; /* none is longer */
};
struct host_words { /* sorted; NULL until they are asked for */
	struct host_word *words;
	uint64_t count;
};

struct rql_host_db {
	duckdb_database db;
	/* A connection of our own: it toggles global settings and looks types up without touching the user's transaction.
	 */
	duckdb_connection service;
	pthread_mutex_t service_lock;
	struct host_words keywords, table_functions; /* guarded by service_lock */
	atomic_uint_fast64_t registered;             /* of the names of RayQL's table functions: host_words.c */
	atomic_bool foreign_functions;               /* somebody else's C code may have registered some */
	atomic_uint_fast64_t settings_stamp;         /* moves when a statement may have changed a setting; never 0 */
	atomic_bool settings_unlisted;               /* an extension's settings could not be listed */
	pthread_mutex_t registry;                    /* guards the lists below */
	pthread_cond_t sink_idle;
	uint64_t next_number;
	struct host_lent *lent;
	struct rql_host_frame *frames;
	struct host_sink *sinks;
	struct host_fold *folds;
	void (*point)(void *state); /* rql_host_set_point */
	void *point_state;
	struct host_kept *kept;
	struct host_unknown *unknown; /* settings that RayQL does not know: host_settings.c */
};

/* What a connection's settings mean, as of a stamp of its database. Names live as long as the database. */
struct host_settings {
	uint64_t stamp;      /* 0: not read yet */
	uint64_t meaning;    /* of all settings that change what a statement means: differs when one of them does */
	const char *forbids; /* the one that keeps plans from being read, else NULL */
	const char *unknown; /* the same for one that RayQL does not know */
	const char *watches; /* the one that reports on every statement, else NULL */
	bool collation;      /* there is a default_collation */
	bool held;           /* they are RayQL's own, at their defaults: rql_host_hold_settings */
};

struct rql_host_con {
	struct rql_host_db *db;
	duckdb_connection con;
	duckdb_client_context context;
	uint64_t id;
	atomic_bool interrupted; /* until rql_host_interrupt_clear */
	struct host_settings settings;
	duckdb_prepared_statement plan; /* asks for the bound plan of a text; prepared at first use */
	bool guard_plans;
	/* A second connection, so that casting a batch to text does not end the user's streaming result; made at first use.
	 */
	duckdb_connection text;
};

/* The types of a row: counted, since batches outlive results. */
struct host_types {
	atomic_uint refs;
	struct rql_arena *arena;
	uint32_t count;
	struct rql_type *types;
};

/* A batch over a chunk of DuckDB's. An OTHER column's data is its duckdb_vector. */
struct host_batch {
	struct rql_batch base;
	duckdb_data_chunk chunk;
	struct host_types *types;
	struct rql_column columns[];
};

/* ---- host_type.c ---- */
struct host_types *host_types_new(uint32_t count); /* all INVALID; NULL: out of memory */
/* None yet, with room for about so many. host_types_set_count makes them: all INVALID; false: out of memory. */
struct host_types *host_types_room(uint32_t count);
bool host_types_set_count(struct host_types *types, uint32_t count);
struct host_types *host_types_ref(struct host_types *types);
void host_types_unref(struct host_types *types); /* NULL accepted */
/* false: out of memory (or an unreadable keyword list). */
bool host_type_in(struct rql_host_db *db, struct rql_arena *arena, duckdb_logical_type logical, struct rql_type *out);
/* A scalar type without the name that it may have beside (JSON is VARCHAR); INVALID: it is none of RayQL's. */
struct rql_type host_type_plain(duckdb_logical_type logical);
/* The caller destroys it. NULL when DuckDB has no such type. */
duckdb_logical_type host_type_out(struct rql_host_db *db, struct rql_type type);

/* ---- host_kept.c ---- */
/* Is it, or holds it, a struct whose members have no names? */
bool host_type_is_unnamed(duckdb_logical_type type);
/* text: as host_type_in gives it. false: out of memory. */
bool host_kept_put(struct rql_host_db *db, const char *text, duckdb_logical_type type);
/* NULL: none is kept. The caller destroys it. */
duckdb_logical_type host_kept_get(struct rql_host_db *db, const char *text);
void host_kept_free(struct rql_host_db *db);

/* ---- host_words.c ---- */
void host_words_free(struct host_words *list);
void host_function_registered(struct rql_host_db *db, const char *name);

/* ---- host_value.c ---- */
/* NULL when the value's type cannot be made (OTHER that is no text). The caller destroys it. */
duckdb_value host_value_out(struct rql_host_db *db, const struct rql_value *value);
/* Strings are copied into arena; INVALID type: unreadable. */
struct rql_value host_value_in(struct rql_arena *arena, duckdb_value value);

/* ---- host_chunk.c ---- */
/* Takes chunk over, also on failure (NULL: out of memory). */
struct rql_batch *host_batch_new(duckdb_data_chunk chunk, struct host_types *types);
/* Points columns at the vectors of chunk from vector `first` on. */
void host_columns_in(duckdb_data_chunk chunk, uint32_t first, const struct host_types *types,
                     struct rql_column *columns);
/* Copies rows [from, from + rows) of column into an empty vector; from is a multiple of 64. false: cannot be read. */
bool host_column_out(duckdb_vector vector, const struct rql_column *column, uint64_t from, uint64_t rows);
rql_status host_chunk_new(struct rql_host_db *db, const struct rql_batch *batch, duckdb_data_chunk *out,
                          struct rql_error *err);

/* The rows of all batches, which have the same types; count > 0. Vectors of any kind are copied. */
rql_status host_chunk_join(struct rql_host_db *db, struct rql_batch *const *batches, uint64_t count,
                           duckdb_data_chunk *out, struct rql_error *err);

/* ---- host_arrow_check.c, host_frame.c ---- */
/* Does array keep Arrow's rules, as one of schema? */
rql_status host_arrow_check(const struct ArrowSchema *schema, const struct ArrowArray *array, struct rql_error *err);
/* An array of no rows. false: out of memory, or a format that is not known. */
bool host_arrow_empty(const struct ArrowSchema *schema, struct ArrowArray *out);
rql_status host_frame_register(struct rql_host_db *db, struct rql_error *err);

/* ---- host_error.c ---- */
/* DuckDB's text as an error of ours, with the status and message of RayQL's own functions where they raised it. */
rql_status host_error(struct rql_error *err, const char *text);
rql_status host_error_result(struct rql_error *err, duckdb_result *result);
/* RQL_OK where data has no error, else status with "what: message". Takes data over. */
rql_status host_error_data(duckdb_error_data data, rql_status status, const char *what, struct rql_error *err);
/* The text by which a callback hands status and message through DuckDB; malloc'ed, NULL when out of memory. */
char *host_error_pack(rql_status status, const char *message);

/* ---- host_settings.c ---- */
rql_status host_settings_open(struct rql_host_db *db, const struct rql_host_option *options, unsigned option_count,
                              struct rql_error *err);
void host_settings_free(struct rql_host_db *db);
/* After each statement that may have changed a setting; loaded: that may have brought some. */
void host_settings_moved(struct rql_host_db *db, bool loaded);
/* May a plan be asked for on con under its settings? RQL_ERROR_UNSUPPORTED names the one that forbids it. */
rql_status host_settings_allow(struct rql_host_con *con, struct rql_error *err);

/* ---- others ---- */
/* Entering and leaving DuckDB, in calls and in callbacks. DuckDB orders what its threads do before and after, but
 * ThreadSanitizer does not see into libduckdb: for it, and only for it, every crossing is ordered with the earlier
 * ones. */
#if defined(__SANITIZE_THREAD__)
#define HOST_ORDERED_CROSSINGS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOST_ORDERED_CROSSINGS 1
#endif
#endif
#ifdef HOST_ORDERED_CROSSINGS
extern atomic_uint host_crossings;
#define HOST_CROSS() ((void)atomic_fetch_add(&host_crossings, 1))
#else
#define HOST_CROSS() ((void)0)
#endif
/* A setting as con sees it, malloc'ed; NULL when it is not set (or out of memory). Costs no statement. */
char *host_option(duckdb_client_context context, const char *name);
/* Before every call that enters DuckDB on con: RQL_ERROR_INTERRUPTED after an interrupt. */
rql_status host_enter(struct rql_host_con *con, struct rql_error *err) RQL_MUST_CHECK;
rql_status host_fold_register(struct rql_host_db *db, struct rql_error *err);
/* The value itself, to be destroyed by the caller. */
rql_status host_fold_value(struct rql_host_con *con, const char *expression, duckdb_value *out, struct rql_error *err);
/* The answer of json_serialize_plan for the bound plan of sql, without a statement. */
rql_status host_fold_plan(struct rql_host_con *con, const char *sql, char **out, struct rql_error *err);
rql_status host_batch_register(struct rql_host_db *db, struct rql_error *err);
rql_status host_sink_register(struct rql_host_db *db, struct rql_error *err);
/* Room for the result of a statement, made before that runs: once it has written, no memory must be missing. columns: about
 * how many. NULL: out of memory. */
struct rql_host_result *host_result_room(uint32_t columns);
/* Takes *result and room over, also on failure. room NULL: only success counts. */
rql_status host_result_wrap(struct rql_host_con *con, duckdb_result *result, struct rql_host_result *room,
                            struct rql_host_result **out, struct rql_error *err);

#endif
