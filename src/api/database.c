/* Databases and connections. */
#include "api/api_internal.h"
#include "gen/gen.h"
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */
static rql_status read_config(const rayql_config *config, struct rql_database_config *out,
                              struct rql_host_option **options, struct rql_error *err)
{
	unsigned count = 0;
	if (config->size != sizeof *config)
		return rql_error_set(err, RQL_ERROR_MISUSE,
		                     "rayql_config.size is %zu, and this library's is %zu: set it to sizeof(rayql_config)",
		                     config->size, sizeof *config);
	while (config->host_options && config->host_options[2 * count]) {
		if (!config->host_options[2 * count + 1])
			return rql_error_set(err, RQL_ERROR_MISUSE, "rayql_config.host_options: the option \"%s\" has no value",
			                     config->host_options[2 * count]);
		count++;
	}
	struct rql_host_option *list = calloc(count + 1, sizeof *list);
	if (!list)
		return rql_error_memory(err, count * sizeof *list, "options");
	for (unsigned i = 0; i < count; i++)
		list[i] = (struct rql_host_option){config->host_options[2 * i], config->host_options[2 * i + 1]};
	*out = (struct rql_database_config){
		.read_only = config->read_only,
		.memory_limit = config->memory_limit,
		.threads = config->threads,
		.host_options = list,
		.host_option_count = count,
	};
	*options = list;
	return RQL_OK;
}

unsigned rql_api_forks;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int not_counted; /* errno's kind */

static void count_fork(void)
{
	rql_api_forks++;
}

static void ask_for_forks(void)
{
	not_counted = pthread_atfork(NULL, NULL, count_fork);
}

static rql_status count_forks(struct rql_error *err)
{
	pthread_once(&once, ask_for_forks);
	return not_counted ? rql_error_memory(err, 0, "noticing forks") : RQL_OK;
}

/* host: of a duckdb_database to take over, or NULL. */
static rayql_status open_any(const char *path, void **host, const rayql_config *config, rayql_database **out,
                             rayql_error **error)
{
	struct rql_database_config internal = {0};
	struct rql_host_option *options = NULL;
	struct rql_error err = {0};
	rayql_database *db = calloc(1, sizeof *db);
	rql_status status = db ? RQL_OK : rql_error_memory(&err, sizeof *db, "a database");
	if (status == RQL_OK && config)
		status = read_config(config, &internal, &options, &err);
	internal.database = host;
	if (status == RQL_OK)
		status = count_forks(&err);
	if (status == RQL_OK)
		status = rql_database_open(path, &internal, &db->db, &err);
	free(options);
	if (status == RQL_OK)
		status = rql_gen_register(rql_database_host(db->db), &err);
	if (status != RQL_OK) {
		if (db)
			rql_database_close(db->db);
		free(db);
		return rql_api_fail(&err, error);
	}
	atomic_store(&db->references, 1);
	db->forks = rql_api_forks;
	*out = db;
	return RAYQL_OK;
}

rayql_status rayql_open(const char *path, const rayql_config *config, rayql_database **out, rayql_error **error)
{
	return out ? open_any(path, NULL, config, out, error) : rql_api_misuse(error, "rayql_open: out is NULL");
}

rayql_status rayql_open_duckdb(struct _duckdb_database **db, const rayql_config *config, rayql_database **out,
                               rayql_error **error)
{
	if (!db || !*db || !out)
		return rql_api_misuse(error, "rayql_open_duckdb: db, *db or out is NULL");
	void *host = *db;
	rayql_status status = open_any(NULL, &host, config, out, error);
	*db = host;
	return status;
}

void rql_api_database_unref(rayql_database *db)
{
	if (atomic_fetch_sub(&db->references, 1) != 1 || rql_api_is_forked(db))
		return;
	rql_database_close(db->db);
	free(db);
}

void rayql_close(rayql_database *db)
{
	if (db)
		rql_api_database_unref(db);
}

rayql_status rayql_calibrate(rayql_database *db, rayql_error **error)
{
	struct rql_error err = {0};
	if (!db)
		return rql_api_misuse(error, "rayql_calibrate: db is NULL");
	return rql_database_calibrate(db->db, NULL, &err) == RQL_OK ? RAYQL_OK : rql_api_fail(&err, error);
}

rayql_status rayql_calibrate_device(rayql_database *db, const char *device, rayql_error **error)
{
	struct rql_error err = {0};
	if (!db || !device)
		return rql_api_misuse(error,
		                      db ? "rayql_calibrate_device: device is NULL" : "rayql_calibrate_device: db is NULL");
	return rql_database_calibrate(db->db, device, &err) == RQL_OK ? RAYQL_OK : rql_api_fail(&err, error);
}

/* ---- connections ---- */
rayql_status rayql_connect(rayql_database *db, rayql_connection **out, rayql_error **error)
{
	struct rql_error err = {0};
	if (!db || !out)
		return rql_api_misuse(error, db ? "rayql_connect: out is NULL" : "rayql_connect: db is NULL");
	if (rql_api_is_forked(db))
		return rql_api_forked(error);
	rayql_connection *con = calloc(1, sizeof *con);
	rql_status status =
		con ? rql_session_open(db->db, &con->session, &err) : rql_error_memory(&err, sizeof *con, "a connection");
	if (status != RQL_OK) {
		free(con);
		return rql_api_fail(&err, error);
	}
	atomic_fetch_add(&db->references, 1);
	con->references = 1;
	con->database = db;
	*out = con;
	return RAYQL_OK;
}

void rql_api_connection_unref(rayql_connection *con)
{
	if (--con->references || rql_api_is_forked(con->database))
		return;
	rql_api_unwatch(con);
	rql_api_frames_free(con);
	rql_session_close(con->session);
	rql_api_database_unref(con->database);
	free(con);
}

void rayql_disconnect(rayql_connection *con)
{
	if (con)
		rql_api_connection_unref(con);
}

/* ---- DuckDB's own connections ---- */
rayql_status rayql_duckdb_connect(rayql_database *db, struct _duckdb_connection **out, rayql_error **error)
{
	struct rql_error err = {0};
	void *con = NULL;
	if (!db || !out)
		return rql_api_misuse(error, "rayql_duckdb_connect: db or out is NULL");
	if (rql_database_lend(db->db, &con, &err) != RQL_OK)
		return rql_api_fail(&err, error);
	atomic_fetch_add(&db->references, 1);
	*out = con;
	return RAYQL_OK;
}

void rayql_duckdb_disconnect(rayql_database *db, struct _duckdb_connection *con)
{
	if (!db || !con)
		return;
	rql_database_unlend(db->db, con);
	rql_api_database_unref(db);
}

void rayql_interrupt(rayql_connection *con)
{
	if (con)
		rql_session_interrupt(con->session);
}

void rayql_progress(rayql_connection *con, rayql_progress_info *out)
{
	if (!out)
		return;
	*out = (rayql_progress_info){.percentage = -1};
	if (con)
		rql_session_progress(con->session, &out->percentage, &out->rows, &out->total_rows, &out->phase);
}

rayql_status rayql_last_query(const rayql_connection *con, rayql_query_info *out)
{
	/* The first version's struct ended before `device`. */
	if (!con || !out || out->size < offsetof(rayql_query_info, device))
		return RAYQL_ERROR_MISUSE;
	const struct rql_report *r = rql_session_report(con->session);
	size_t size = out->size < sizeof(*out) ? out->size : sizeof(*out);
	const rayql_query_info info = {
		.size = out->size,
		.method = r->method,
		.unit = r->unit,
		.structure = r->structure,
		.reason = r->reason.data ? r->reason.data : "",
		.plan_cached = r->plan_cached,
		.cells_read = r->stats.cells_read,
		.cells_covered = r->stats.cells_covered,
		.bytes_read = r->stats.bytes_read,
		.rows = r->stats.rows,
		.plan_ms = r->plan_ms,
		.run_ms = r->run_ms,
		.finish_ms = r->finish_ms,
		.estimated_ms = r->estimated_ms,
		.host_estimated_ms = r->host_estimated_ms,
		.device = r->device,
		.intervals = r->stats.runs,
		.rays = r->stats.rays,
		.hits = r->stats.hits,
		.device_ms = r->stats.device_ns / 1e6,
		.bytes_uploaded = r->stats.bytes_uploaded,
		.plan_bound = r->plan_bound,
	};
	memcpy(out, &info, size);
	return RAYQL_OK;
}

/* ---- transactions ---- */
rql_status rql_api_end_own(struct rql_session *session, bool own, rql_status status, struct rql_error *err)
{
	struct rql_error ignored = {0};
	if (!own || !rql_session_in_transaction(session))
		return status;
	rql_status ended = rql_session_query(session, status == RQL_OK ? "COMMIT" : "ROLLBACK", NULL,
	                                     status == RQL_OK ? err : &ignored);
	rql_error_clear(&ignored);
	return status == RQL_OK ? ended : status;
}
