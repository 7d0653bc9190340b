/* rayql_sink(N, ...): rows pushed into RayQL from inside DuckDB's pipelines. It is a volatile scalar function, so it is
 * evaluated for every row, on whichever threads run the pipeline. */
#include "host/host_internal.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

uint64_t rql_host_sink_add(struct rql_host_db *db, rql_host_sink_fn *fn, void *state)
{
	struct host_sink *sink = calloc(1, sizeof *sink);
	if (!sink)
		return 0;
	sink->fn = fn;
	sink->state = state;
	pthread_mutex_lock(&db->registry);
	uint64_t number = sink->number = ++db->next_number;
	sink->next = db->sinks;
	db->sinks = sink;
	pthread_mutex_unlock(&db->registry);
	return number;
}

void rql_host_sink_remove(struct rql_host_db *db, uint64_t number)
{
	struct host_sink *gone = NULL;
	pthread_mutex_lock(&db->registry);
	for (struct host_sink **at = &db->sinks; *at && !gone; at = &(*at)->next) {
		if ((*at)->number != number)
			continue;
		gone = *at;
		*at = gone->next;
		break;
	}
	/* A query that failed on one thread may still be inside fn on another. */
	while (gone && gone->running > 0)
		pthread_cond_wait(&db->sink_idle, &db->registry);
	pthread_mutex_unlock(&db->registry);
	free(gone);
}

static struct host_sink *enter_sink(struct rql_host_db *db, uint64_t number)
{
	pthread_mutex_lock(&db->registry);
	struct host_sink *sink = db->sinks;
	while (sink && sink->number != number)
		sink = sink->next;
	if (sink)
		sink->running++;
	pthread_mutex_unlock(&db->registry);
	return sink;
}

static void leave_sink(struct rql_host_db *db, struct host_sink *sink)
{
	pthread_mutex_lock(&db->registry);
	if (--sink->running == 0)
		pthread_cond_broadcast(&db->sink_idle);
	pthread_mutex_unlock(&db->registry);
}

/* ---- worker numbers: a bit set, no locks ---- */

static bool take_worker(struct host_sink *sink, unsigned worker)
{
	uint64_t bit = UINT64_C(1) << (worker % 64);
	return !(atomic_fetch_or_explicit(&sink->busy[worker / 64], bit, memory_order_acquire) & bit);
}

/* The preferred number (a thread's last one, whose private state is in its cache) or the lowest free one. */
static unsigned acquire_worker(struct host_sink *sink, unsigned preferred)
{
	if (preferred < RQL_HOST_MAX_WORKERS && take_worker(sink, preferred))
		return preferred;
	for (;;) {
		for (unsigned worker = 0; worker < RQL_HOST_MAX_WORKERS; worker++) {
			uint64_t busy = atomic_load_explicit(&sink->busy[worker / 64], memory_order_relaxed);
			if (!(busy >> (worker % 64) & 1) && take_worker(sink, worker))
				return worker;
		}
		sched_yield();
	}
}

static void release_worker(struct host_sink *sink, unsigned worker)
{
	uint64_t bit = UINT64_C(1) << (worker % 64);
	atomic_fetch_and_explicit(&sink->busy[worker / 64], ~bit, memory_order_release);
}

/* ---- the scalar function ---- */

/* One per thread and expression; types are read from its first rows, and do not change after. */
struct sink_local {
	struct rql_host_db *db;
	struct host_types *types;
	struct rql_column *columns;
	unsigned worker; /* the last one, RQL_HOST_MAX_WORKERS before the first call */
};

static void local_free(void *data)
{
	struct sink_local *local = data;
	host_types_unref(local->types);
	free(local->columns);
	free(local);
}

static void sink_init(duckdb_init_info info)
{
	struct sink_local *local = calloc(1, sizeof *local);
	if (!local) {
		duckdb_scalar_function_init_set_error(info, "rayql_sink: out of memory");
		return;
	}
	local->worker = RQL_HOST_MAX_WORKERS;
	duckdb_scalar_function_init_set_state(info, local, local_free);
}

static bool read_types(struct sink_local *local, struct rql_host_db *db, duckdb_data_chunk input)
{
	uint32_t count = (uint32_t)duckdb_data_chunk_get_column_count(input) - 1;
	struct host_types *types = host_types_new(count);
	struct rql_column *columns = calloc(count + 1, sizeof *columns);
	bool read = types && columns;
	for (uint32_t c = 0; c < count && read; c++) {
		duckdb_logical_type logical = duckdb_vector_get_column_type(duckdb_data_chunk_get_vector(input, c + 1));
		read = host_type_in(db, types->arena, logical, &types->types[c]);
		duckdb_destroy_logical_type(&logical);
	}
	if (!read) {
		host_types_unref(types);
		free(columns);
		return false;
	}
	local->types = types;
	local->columns = columns;
	return true;
}

static void sink_fail(duckdb_function_info info, rql_status status, const char *message)
{
	char *text = host_error_pack(status, message);
	duckdb_scalar_function_set_error(info, text ? text : "rayql_sink: out of memory");
	free(text);
}

static void sink_call(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	HOST_CROSS();
	struct rql_host_db *db = duckdb_scalar_function_get_extra_info(info);
	struct sink_local *local = duckdb_scalar_function_get_state(info);
	uint64_t rows = duckdb_data_chunk_get_size(input);
	if (rows == 0)
		return;
	if (!local->types && !read_types(local, db, input)) {
		sink_fail(info, RQL_ERROR_MEMORY, "out of memory (for the arguments of rayql_sink)");
		return;
	}
	duckdb_vector numbers = duckdb_data_chunk_get_vector(input, 0);
	uint64_t *validity = duckdb_vector_get_validity(numbers);
	uint64_t number = !validity || (validity[0] & 1) ? *(const uint64_t *)duckdb_vector_get_data(numbers) : 0;
	struct host_sink *sink = enter_sink(db, number);
	if (!sink) {
		sink_fail(info, RQL_ERROR_STATEMENT,
		          "rayql_sink(N, ...) is for RayQL's own statements: there is no sink of this number");
		return;
	}
	host_columns_in(input, 1, local->types, local->columns);
	struct rql_batch batch = {.rows = rows, .column_count = local->types->count, .columns = local->columns};
	struct rql_error err = {0};
	local->worker = acquire_worker(sink, local->worker);
	rql_status status = sink->fn(sink->state, local->worker, &batch, &err);
	release_worker(sink, local->worker);
	leave_sink(db, sink);
	if (status != RQL_OK)
		sink_fail(info, status, rql_error_message(&err));
	rql_error_clear(&err);
	memset(duckdb_vector_get_data(output), 0, rows);
	HOST_CROSS();
}

rql_status host_sink_register(struct rql_host_db *db, struct rql_error *err)
{
	duckdb_scalar_function function = duckdb_create_scalar_function();
	duckdb_logical_type number = duckdb_create_logical_type(DUCKDB_TYPE_BIGINT);
	duckdb_logical_type any = duckdb_create_logical_type(DUCKDB_TYPE_ANY);
	duckdb_logical_type result = duckdb_create_logical_type(DUCKDB_TYPE_UTINYINT);
	duckdb_scalar_function_set_name(function, "rayql_sink");
	duckdb_scalar_function_add_parameter(function, number);
	duckdb_scalar_function_set_varargs(function, any);
	duckdb_scalar_function_set_return_type(function, result);
	duckdb_scalar_function_set_volatile(function);
	duckdb_scalar_function_set_special_handling(function); /* NULLs come as they are */
	duckdb_scalar_function_set_extra_info(function, db, NULL);
	duckdb_scalar_function_set_init(function, sink_init);
	duckdb_scalar_function_set_function(function, sink_call);
	duckdb_state state = duckdb_register_scalar_function(db->service, function);
	duckdb_destroy_logical_type(&number);
	duckdb_destroy_logical_type(&any);
	duckdb_destroy_logical_type(&result);
	duckdb_destroy_scalar_function(&function);
	if (state != DuckDBSuccess)
		return rql_error_set(err, RQL_ERROR_HOST, "DuckDB refused the function rayql_sink");
	return RQL_OK;
}
