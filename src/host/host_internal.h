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
duckdb_value duckdb_client_context_get_config_option(duckdb_client_context context, const char *name, int *out_scope);
void duckdb_scalar_function_set_init(duckdb_scalar_function function, void (*init)(duckdb_init_info info));
void duckdb_scalar_function_init_set_state(duckdb_init_info info, void *state, duckdb_delete_callback_t destroy);
void duckdb_scalar_function_init_set_error(duckdb_init_info info, const char *error);
void *duckdb_scalar_function_get_state(duckdb_function_info info);
/* As duckdb_vector_assign_string_element_len, but the bytes are not checked to be UTF-8 (they came from DuckDB). */
void duckdb_unsafe_vector_assign_string_element_len(duckdb_vector vector, idx_t row, const char *text, idx_t length);
enum { HOST_TYPE_GEOMETRY = 40, HOST_TYPE_VARIANT = 41, HOST_STATEMENT_COPY_DATABASE = 28, HOST_STATEMENT_MERGE = 30 };

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

struct rql_host_db {
	duckdb_database db;
	/* A connection of our own: it toggles global settings and looks types up without touching the user's transaction.
	 */
	duckdb_connection service;
	pthread_mutex_t service_lock;
	pthread_mutex_t settings; /* recursive */
	char **keywords;          /* sorted; read once, guarded by service_lock */
	uint64_t keyword_count;
	pthread_mutex_t registry; /* guards the lists below */
	pthread_cond_t sink_idle;
	uint64_t next_number;
	struct host_lent *lent;
	struct host_sink *sinks;
};

struct rql_host_con {
	struct rql_host_db *db;
	duckdb_connection con;
	duckdb_client_context context;
	uint64_t id;
	duckdb_prepared_statement plan[2]; /* by `optimized`; prepared at first use */
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
struct host_types *host_types_ref(struct host_types *types);
void host_types_unref(struct host_types *types); /* NULL accepted */
/* false: out of memory (or an unreadable keyword list). */
bool host_type_in(struct rql_host_db *db, struct rql_arena *arena, duckdb_logical_type logical, struct rql_type *out);
/* The caller destroys it. NULL when DuckDB has no such type. */
duckdb_logical_type host_type_out(struct rql_host_db *db, struct rql_type type);

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

/* ---- host_error.c ---- */
/* DuckDB's text as an error of ours, with the status and message of RayQL's own functions where they raised it. */
rql_status host_error(struct rql_error *err, const char *text);
rql_status host_error_result(struct rql_error *err, duckdb_result *result);
/* The text by which a callback hands status and message through DuckDB; malloc'ed, NULL when out of memory. */
char *host_error_pack(rql_status status, const char *message);

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
rql_status host_batch_register(struct rql_host_db *db, struct rql_error *err);
rql_status host_sink_register(struct rql_host_db *db, struct rql_error *err);
rql_status host_result_wrap(struct rql_host_con *con, duckdb_result *result, struct rql_host_result **out,
                            struct rql_error *err);

#endif
