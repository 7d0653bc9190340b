/* A database and its sessions, as api/ uses them. A session is one connection: it decides who answers a statement (the
 * method, RayQL itself or the host), keeps the freshness protocol of catalog.h, and hands out results. */
#ifndef RQL_EXEC_SESSION_H
#define RQL_EXEC_SESSION_H

#include "column/batch.h"
#include "host/host.h"
#include "plan/plan.h"
#include "util/budget.h"
#include "util/status.h"

struct rql_database;
struct rql_session;
struct rql_prepared_query;
struct rql_result;
struct rql_columns;

/* ---- database (thread-safe) ---- */
struct rql_database_config {
	bool read_only;
	uint64_t memory_limit; /* bytes; 0: half of the machine's */
	uint32_t threads;      /* 0: all CPUs */
	const struct rql_host_option *host_options;
	unsigned host_option_count;
	void **database; /* a duckdb_database that is open (rql_host_adopt); path is NULL then */
};
/* path NULL: in memory. */
rql_status rql_database_open(const char *path, const struct rql_database_config *config, struct rql_database **out,
                             struct rql_error *err) RQL_MUST_CHECK;
/* After the last session: checkpoints, closes the file, then writes the side folder's manifest. NULL accepted. */
void rql_database_close(struct rql_database *db);
/* RayQL's own host connection, for registrations right after opening. */
struct rql_host_con *rql_database_host(struct rql_database *db);
/* A connection of the host's own (its duckdb_connection), whose writes nobody sees: while it is lent, the host answers
 * everything. */
rql_status rql_database_lend(struct rql_database *db, void **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_database_unlend(struct rql_database *db, void *con);
/* device NULL: the CPU and every real GPU. */
rql_status rql_database_calibrate(struct rql_database *db, const char *device, struct rql_error *err) RQL_MUST_CHECK;

/* ---- session (one thread at a time, but for interrupt and progress) ---- */
rql_status rql_session_open(struct rql_database *db, struct rql_session **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_session_close(struct rql_session *s); /* results must be freed before; NULL accepted */
void rql_session_interrupt(struct rql_session *s);
void rql_session_progress(struct rql_session *s, double *percentage, uint64_t *rows, uint64_t *total_rows,
                          const char **phase);
struct rql_host_con *rql_session_host(struct rql_session *s);
struct rql_host_db *rql_session_host_db(struct rql_session *s);
bool rql_session_in_transaction(const struct rql_session *s);

/* Runs every statement of sql; the result is the last one's. out NULL: the rows are thrown away. */
rql_status rql_session_query(struct rql_session *s, const char *sql, struct rql_result **out,
                             struct rql_error *err) RQL_MUST_CHECK;

/* One statement, run as often as wanted. Parameters count from 1. */
rql_status rql_session_prepare(struct rql_session *s, const char *sql, struct rql_prepared_query **out,
                               struct rql_error *err) RQL_MUST_CHECK;
bool rql_prepared_is_query(const struct rql_prepared_query *q); /* it gives rows */
uint64_t rql_prepared_parameters(const struct rql_prepared_query *q);
const char *rql_prepared_parameter_name(const struct rql_prepared_query *q, uint64_t index);
/* Copies the value. RQL_ERROR_MISUSE: no such parameter. */
rql_status rql_prepared_bind(struct rql_prepared_query *q, uint64_t index, const struct rql_value *value,
                             struct rql_error *err);
/* The statement with its values in place of the parameters, malloc'ed; NULL: one of them has no text, or no memory. */
char *rql_prepared_text(const struct rql_prepared_query *q);
/* INVALID while the statement leaves it open. */
struct rql_type rql_prepared_parameter_type(struct rql_prepared_query *q, uint64_t index);
/* The columns that the result will have, without running it. RQL_ERROR_UNSUPPORTED: they are not known before. Ends an open
 * result of the session. */
rql_status rql_prepared_columns(struct rql_prepared_query *q, struct rql_columns **out, struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_prepared_execute(struct rql_prepared_query *q, struct rql_result **out,
                                struct rql_error *err) RQL_MUST_CHECK;
void rql_prepared_free(struct rql_prepared_query *q);

/* ---- what the last statement did ---- */
struct rql_report {
	char method[32], unit[16], structure[256], device[32];
	struct rql_strbuf reason;
	bool plan_cached, plan_bound;
	struct rql_run_stats stats;
	double plan_ms, run_ms, finish_ms, estimated_ms, host_estimated_ms;
	uint64_t serial; /* of the statement: results count their rows into the report only while it is theirs */
};
const struct rql_report *rql_session_report(const struct rql_session *s);

/* ---- results ---- */
/* Names and types of a result's columns; counted, as cached plans share them with their results. */
struct rql_columns {
	_Atomic uint32_t references;
	struct rql_arena *arena;
	uint32_t count;
	const char **names;
	struct rql_type *types;
	const char **type_texts;
};
void rql_columns_release(struct rql_columns *columns); /* NULL accepted */

struct rql_result {
	struct rql_session *session;
	struct rql_columns *columns;
	enum rql_host_rows kind;
	const char *method; /* static text: "cube", "host", "rayql" */
	char *reason;
	bool notice; /* reason is to be said, as rayql_fallback = 'notice' wants: the host answered a query over tables, or a
	                view could not be placed on a device */
	struct rql_host_stmt *stmt;   /* a streaming result's statement, owned */
	struct rql_host_result *host; /* rows that stream, or NULL */
	struct rql_batch *batch;      /* rows that are all there, or NULL */
	struct rql_shared_rows *shared; /* the same while they are handed out in pieces (result.c) */
	bool closed;                  /* by a later statement, before its last row */
	uint64_t serial;
};
/* *out NULL at the end; the batch is the caller's. */
rql_status rql_result_fetch(struct rql_result *res, struct rql_batch **out, struct rql_error *err) RQL_MUST_CHECK;
/* Moves everything of src into a new result and leaves src empty; NULL: out of memory. */
struct rql_result *rql_result_move(struct rql_result *src);
void rql_result_free(struct rql_result *res); /* NULL accepted */

#endif
