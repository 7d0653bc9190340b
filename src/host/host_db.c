/* Databases and connections of DuckDB: opened or adopted, lent, interrupted, closed. */
#include "host/host_internal.h"

#include <stdlib.h>
#include <string.h>

#ifdef HOST_ORDERED_CROSSINGS
atomic_uint host_crossings;
#endif

static rql_status make_config(const struct rql_host_option *options, unsigned option_count, duckdb_config *out,
                              struct rql_error *err)
{
	duckdb_config config;
	if (duckdb_create_config(&config) != DuckDBSuccess)
		return rql_error_memory(err, 0, "a DuckDB configuration");
	for (unsigned i = 0; i < option_count; i++) {
		if (duckdb_set_config(config, options[i].name, options[i].value) == DuckDBSuccess)
			continue;
		duckdb_destroy_config(&config);
		return rql_error_set(err, RQL_ERROR_HOST,
		                     "DuckDB has no configuration option \"%s\" that takes the value '%s'; "
		                     "see SELECT * FROM duckdb_settings()",
		                     options[i].name, options[i].value);
	}
	*out = config;
	return RQL_OK;
}

static rql_status open_database(const char *path, const struct rql_host_option *options, unsigned option_count,
                                duckdb_database *out, struct rql_error *err)
{
	duckdb_config config;
	RQL_TRY(make_config(options, option_count, &config, err));
	char *text = NULL;
	duckdb_state state = duckdb_open_ext(path, out, config, &text);
	duckdb_destroy_config(&config);
	rql_status status = RQL_OK;
	if (state != DuckDBSuccess)
		status = host_error(err, text);
	duckdb_free(text);
	return status;
}

/* glibc's initialisers of plain mutexes and conditions cannot fail. */
static void make_locks(struct rql_host_db *db)
{
	pthread_mutex_init(&db->service_lock, NULL);
	pthread_mutex_init(&db->registry, NULL);
	pthread_cond_init(&db->sink_idle, NULL);
}

/* What a database needs whoever opened it. */
static rql_status make_parts(struct rql_host_db *db, const struct rql_host_option *options, unsigned option_count,
                             struct rql_error *err)
{
	if (duckdb_connect(db->db, &db->service) != DuckDBSuccess)
		return rql_error_set(err, RQL_ERROR_HOST, "DuckDB opened the database but refused a connection to it");
	RQL_TRY(host_settings_open(db, options, option_count, err));
	RQL_TRY(host_batch_register(db, err));
	RQL_TRY(host_frame_register(db, err));
	RQL_TRY(host_sink_register(db, err));
	return host_fold_register(db, err);
}

rql_status rql_host_open(const char *path, const struct rql_host_option *options, unsigned option_count,
                         struct rql_host_db **out, struct rql_error *err)
{
	RQL_TRY(host_library(err));
	struct rql_host_db *db = calloc(1, sizeof *db);
	if (!db)
		return rql_error_memory(err, sizeof *db, "a database handle");
	make_locks(db);
	rql_status status = open_database(path, options, option_count, &db->db, err);
	if (status == RQL_OK)
		status = make_parts(db, options, option_count, err);
	if (status != RQL_OK) {
		rql_host_close(db);
		return status;
	}
	*out = db;
	return RQL_OK;
}

rql_status rql_host_adopt(void **database, struct rql_host_db **out, struct rql_error *err)
{
	RQL_TRY(host_library(err));
	struct rql_host_db *db = calloc(1, sizeof *db);
	if (!db)
		return rql_error_memory(err, sizeof *db, "a database handle");
	make_locks(db);
	db->db = *database;
	atomic_store(&db->foreign_functions, true);
	*database = NULL;
	rql_status status = make_parts(db, NULL, 0, err);
	if (status != RQL_OK) {
		rql_host_close(db);
		return status;
	}
	*out = db;
	return RQL_OK;
}

void rql_host_close(struct rql_host_db *db)
{
	if (!db)
		return;
	if (db->service)
		duckdb_disconnect(&db->service);
	if (db->db)
		duckdb_close(&db->db);
	while (db->lent) {
		struct host_lent *next = db->lent->next;
		free(db->lent);
		db->lent = next;
	}
	while (db->sinks) {
		struct host_sink *next = db->sinks->next;
		free(db->sinks);
		db->sinks = next;
	}
	host_settings_free(db);
	host_words_free(&db->keywords);
	host_words_free(&db->table_functions);
	host_kept_free(db);
	pthread_cond_destroy(&db->sink_idle);
	pthread_mutex_destroy(&db->registry);
	pthread_mutex_destroy(&db->service_lock);
	free(db);
}

rql_status rql_host_connect(struct rql_host_db *db, struct rql_host_con **out, struct rql_error *err)
{
	struct rql_host_con *con = calloc(1, sizeof *con);
	if (!con)
		return rql_error_memory(err, sizeof *con, "a connection handle");
	con->db = db;
	if (duckdb_connect(db->db, &con->con) != DuckDBSuccess) {
		free(con);
		return rql_error_set(err, RQL_ERROR_HOST, "DuckDB refused another connection to the database");
	}
	duckdb_connection_get_client_context(con->con, &con->context);
	con->id = duckdb_client_context_get_connection_id(con->context);
	*out = con;
	return RQL_OK;
}

void rql_host_disconnect(struct rql_host_con *con)
{
	if (!con)
		return;
	duckdb_destroy_prepare(&con->plan);
	duckdb_destroy_client_context(&con->context);
	if (con->text)
		duckdb_disconnect(&con->text);
	duckdb_disconnect(&con->con);
	free(con);
}

rql_status rql_host_lend_connection(struct rql_host_db *db, void **out, struct rql_error *err)
{
	duckdb_connection con = NULL;
	if (duckdb_connect(db->db, &con) != DuckDBSuccess)
		return rql_error_set(err, RQL_ERROR_HOST, "DuckDB refused another connection to the database");
	atomic_store(&db->foreign_functions, true);
	*out = con;
	return RQL_OK;
}

void rql_host_unlend_connection(struct rql_host_db *db, void *con)
{
	duckdb_connection lent = con;
	duckdb_disconnect(&lent);
	host_settings_moved(db, true);
}

/* ---- interrupts ---- */
void rql_host_interrupt(struct rql_host_con *con)
{
	atomic_store(&con->interrupted, true);
	duckdb_interrupt(con->con);
}

void rql_host_interrupt_clear(struct rql_host_con *con)
{
	atomic_store(&con->interrupted, false);
}

rql_status host_enter(struct rql_host_con *con, struct rql_error *err)
{
	if (con->db->point)
		con->db->point(con->db->point_state);
	if (!atomic_load(&con->interrupted))
		return RQL_OK;
	return rql_error_set(err, RQL_ERROR_INTERRUPTED, "INTERRUPT Error: Interrupted!");
}

void rql_host_rollback(struct rql_host_con *con)
{
	bool again = true;
	while (again) {
		duckdb_result result;
		memset(&result, 0, sizeof result);
		again = duckdb_query(con->con, "ROLLBACK", &result) != DuckDBSuccess &&
		        duckdb_result_error_type(&result) == DUCKDB_ERROR_INTERRUPT;
		duckdb_destroy_result(&result);
	}
}

void rql_host_set_point(struct rql_host_db *db, void (*fn)(void *state), void *state)
{
	db->point_state = state;
	db->point = fn;
}


/* Without its progress bar DuckDB counts no progress; we only ever read the count, so it prints nothing. */
void rql_host_count_progress(struct rql_host_con *con)
{
	(void)duckdb_query(con->con, "SET enable_progress_bar_print = false; SET enable_progress_bar = true", NULL);
}

void rql_host_progress(struct rql_host_con *con, double *percentage, uint64_t *rows, uint64_t *total_rows)
{
	duckdb_query_progress_type progress = duckdb_query_progress(con->con);
	*percentage = progress.percentage;
	*rows = progress.rows_processed;
	*total_rows = progress.total_rows_to_process;
}

uint64_t rql_host_connection_id(struct rql_host_con *con)
{
	return con->id;
}

char *host_option(duckdb_client_context context, const char *name)
{
	duckdb_value value = duckdb_client_context_get_config_option(context, name, NULL);
	if (!value)
		return NULL;
	char *copy = NULL;
	if (!duckdb_is_null_value(value)) {
		char *text = duckdb_get_varchar(value);
		copy = text ? strdup(text) : NULL;
		duckdb_free(text);
	}
	duckdb_destroy_value(&value);
	return copy;
}
