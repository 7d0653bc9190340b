/* The public handles. Children count on their parents: a parent closes when its last child is gone. Private to
 * src/api. */
#ifndef RQL_API_INTERNAL_H
#define RQL_API_INTERNAL_H

#include "exec/session.h"
#include "rayql/rayql.h"
#include <stdatomic.h>

struct rayql_error {
	rayql_status status;
	char *message;
};

struct rayql_database {
	_Atomic uint32_t references; /* the handle's own, and one for every connection */
	struct rql_database *db;
	unsigned forks; /* rql_api_forks when it was opened: DuckDB's threads are that process's alone */
};

/* A connection and its children belong to one thread at a time, so plain counts do. */
struct rayql_connection {
	uint32_t references; /* the handle's own, and one for every statement, result and stream */
	rayql_database *database;
	struct rql_session *session;
	struct rql_api_frame *frames; /* what is registered */
	struct rql_api_watch *watch;  /* who is told of progress; NULL: nobody */
	rayql_log_level log_level;
	rayql_log_function *log; /* NULL: nobody */
	void *log_state;
};

struct rayql_statement {
	uint32_t references; /* the handle's own, and one for every result that streams from it */
	rayql_connection *connection;
	struct rql_prepared_query *query;
};

struct rayql_result {
	rayql_connection *connection;
	rayql_statement *statement; /* NULL: of rayql_query */
	struct rql_result *result;
};

struct rayql_batch {
	struct rql_batch *batch;
	struct rql_arena *arena;           /* of vectors, which rayql_batch_vector makes; both NULL until then */
	const struct rql_nested **vectors; /* of each column, or NULL */
};

/* How many forks lie between the first database's process and this one. Asking for the process each time costs more than
 * all else that a call's frame does. A child of _Fork or of clone by itself is not counted. */
extern unsigned rql_api_forks;
/* Is this a process that was forked from the one that opened it? There nothing of it may be used, or freed. */
static inline bool rql_api_is_forked(const rayql_database *db)
{
	return db->forks != rql_api_forks;
}
rayql_status rql_api_forked(rayql_error **out);
/* Moves err into a new public error (*out untouched when out is NULL) and returns its status. */
rayql_status rql_api_fail(struct rql_error *err, rayql_error **out);
rayql_status rql_api_misuse(rayql_error **out, const char *message);
void rql_api_database_unref(rayql_database *db);
void rql_api_connection_unref(rayql_connection *con);
void rql_api_statement_unref(rayql_statement *stmt);
/* Ends a transaction that a call has begun for itself (own), as far as there still is one: status, or what COMMIT says. */
rql_status rql_api_end_own(struct rql_session *session, bool own, rql_status status, struct rql_error *err) RQL_MUST_CHECK;
/* Around every call that may take long: whoever watches the connection is told of progress in between (watch.c). */
void rql_api_begin(rayql_connection *con);
void rql_api_end(rayql_connection *con);
void rql_api_unwatch(rayql_connection *con);
/* Tells the connection's log of a statement: err where it failed, else NULL; res may be NULL. */
void rql_api_log(rayql_connection *con, const struct rql_error *err, const struct rql_result *res);
/* 128 bits of two words. */
static inline rql_int128 rql_api_wide(uint64_t lower, int64_t upper)
{
	return (rql_int128)((rql_uint128)(rql_int128)upper << 64 | lower);
}
/* false: no DECIMAL(width, scale) has this value. */
bool rql_api_decimal(uint8_t width, uint8_t scale, rql_int128 number, struct rql_value *out);
struct rql_value rql_api_uuid(const uint8_t bytes[16]);
/* Room for a public result, made before the statement runs: what has committed must not be said to have failed. free()
 * takes it. wanted false: *out is NULL. */
rayql_status rql_api_result_room(bool wanted, rayql_result **out, rayql_error **err);
/* The public result over res, both of which it takes over. room NULL: there is none. statement may be NULL. */
rayql_result *rql_api_result(rayql_connection *con, rayql_statement *statement, struct rql_result *res,
                             rayql_result *room);


struct ArrowArrayStream;
struct ArrowSchema;
/* What the public functions of these names do (frame.c, arrow.c), for the ADBC driver, too. */
void rql_api_frames_free(rayql_connection *con);
/* A column's parts, in arena. */
rql_status rql_api_nested(rayql_connection *con, struct rql_arena *arena, const struct rql_batch *batch, uint32_t column,
                          const struct rql_nested **out, struct rql_error *err);
/* Binds the value of a row of any type. */
rql_status rql_api_bind_nested(rayql_statement *stmt, uint64_t index, const struct rql_nested *nested, uint64_t row,
                               struct rql_error *err);
/* Binds the columns of a row of batch to the parameters, in their order. */
rql_status rql_api_bind_row(rayql_statement *stmt, const struct rql_batch *batch, uint64_t row, struct rql_error *err);

#endif
