/* Table functions of RayQL's own, registered with DuckDB. */
#include "host/host_internal.h"

#include <stdlib.h>
#include <string.h>

/* DuckDB's extra info of the function. */
struct tf {
	struct rql_host_db *db;
	struct rql_host_table_function function;
};

/* DuckDB's bind data: one call in a statement. */
struct tf_call {
	struct tf *tf;
	struct rql_arena *arena; /* the arguments; this struct, too */
	struct rql_value *arguments;
	struct rql_type *columns;
	uint32_t argument_count, column_count, column_room;
	uint64_t connection_id;
	unsigned max_threads;
	void *state; /* made by bind, taken by the first run; a prepared statement's later runs bind anew */
};

/* What the contract calls bind; info is NULL when a later run binds anew, and columns are known. */
struct rql_host_tf_bind {
	duckdb_bind_info info;
	struct tf_call *call;
};

/* DuckDB's global state: one run. */
struct tf_run {
	struct tf *tf;
	void *state;
	unsigned max_threads;
	atomic_uint next_thread;
};

/* DuckDB's local state: one thread of a run. */
struct tf_thread {
	unsigned thread;
	struct rql_batch batch;
	duckdb_vector *vectors;
	struct rql_column columns[];
};

/* ---- what functions call ---- */

static rql_status remember_column(struct tf_call *call, struct rql_type type)
{
	if (call->column_count == call->column_room) {
		uint32_t room = call->column_room ? 2 * call->column_room : 8;
		struct rql_type *grown = RQL_NEW_ARRAY(call->arena, struct rql_type, room);
		if (!grown)
			return RQL_ERROR_MEMORY;
		if (call->column_count)
			memcpy(grown, call->columns, call->column_count * sizeof *grown);
		call->columns = grown;
		call->column_room = room;
	}
	struct rql_type copy = rql_type_copy(call->arena, type);
	if (copy.id != type.id)
		return RQL_ERROR_MEMORY;
	call->columns[call->column_count++] = copy;
	return RQL_OK;
}

rql_status rql_host_tf_column(struct rql_host_tf_bind *bind, const char *name, struct rql_type type)
{
	if (!bind->info)
		return RQL_OK;
	duckdb_logical_type logical = host_type_out(bind->call->tf->db, type);
	if (!logical)
		return RQL_ERROR_UNSUPPORTED;
	duckdb_bind_add_result_column(bind->info, name, logical);
	duckdb_destroy_logical_type(&logical);
	return remember_column(bind->call, type);
}

struct rql_value rql_host_tf_argument(struct rql_host_tf_bind *bind, uint32_t index)
{
	if (index >= bind->call->argument_count)
		return rql_value_null(rql_type_simple(RQL_TYPE_INVALID));
	return bind->call->arguments[index];
}

uint64_t rql_host_tf_connection_id(struct rql_host_tf_bind *bind)
{
	return bind->call->connection_id;
}

void rql_host_tf_rows(struct rql_host_tf_bind *bind, uint64_t estimate)
{
	if (bind->info)
		duckdb_bind_set_cardinality(bind->info, estimate, false);
}

void rql_host_tf_threads(struct rql_host_tf_bind *bind, unsigned max_threads)
{
	bind->call->max_threads = max_threads ? max_threads : 1;
}

void rql_host_tf_string(struct rql_batch *out, uint32_t column, uint64_t row, const char *data, uint32_t length)
{
	struct tf_thread *local = out->owner;
	if (length <= RQL_STRING_INLINE)
		((struct rql_string *)out->columns[column].data)[row] = rql_string_make(data, length);
	else
		duckdb_unsafe_vector_assign_string_element_len(local->vectors[column], row, data, length);
}

void rql_host_tf_null(struct rql_batch *out, uint32_t column, uint64_t row)
{
	struct tf_thread *local = out->owner;
	struct rql_column *col = &out->columns[column];
	if (!col->validity) {
		duckdb_vector_ensure_validity_writable(local->vectors[column]);
		col->validity = duckdb_vector_get_validity(local->vectors[column]);
	}
	rql_bit_clear(col->validity, row);
}

/* ---- what DuckDB calls ---- */

/* Runs the function's bind; an error is handed to fail(info, text). */
static bool run_bind(struct tf_call *call, duckdb_bind_info info, void **state, char **error)
{
	struct rql_host_tf_bind bind = {.info = info, .call = call};
	struct rql_error err = {0};
	const struct rql_host_table_function *function = &call->tf->function;
	void *made = NULL;
	rql_status status = function->bind(&bind, function->extra, &made, &err);
	if (status == RQL_OK)
		*state = made;
	else
		*error = host_error_pack(status, rql_error_message(&err));
	rql_error_clear(&err);
	return status == RQL_OK;
}

static void call_free(void *data)
{
	HOST_CROSS();
	struct tf_call *call = data;
	if (call->state && call->tf->function.free_state)
		call->tf->function.free_state(call->state);
	rql_arena_free(call->arena);
}

static uint64_t connection_of(duckdb_bind_info info)
{
	duckdb_client_context context = NULL;
	duckdb_table_function_get_client_context(info, &context);
	if (!context)
		return 0;
	uint64_t id = duckdb_client_context_get_connection_id(context);
	duckdb_destroy_client_context(&context);
	return id;
}

static struct tf_call *call_new(duckdb_bind_info info)
{
	struct rql_arena *arena = rql_arena_new();
	struct tf_call *call = arena ? RQL_NEW(arena, struct tf_call) : NULL;
	if (!call) {
		rql_arena_free(arena);
		return NULL;
	}
	call->tf = duckdb_bind_get_extra_info(info);
	call->arena = arena;
	call->max_threads = 1;
	call->connection_id = connection_of(info);
	call->argument_count = (uint32_t)duckdb_bind_get_parameter_count(info);
	call->arguments = RQL_NEW_ARRAY(arena, struct rql_value, call->argument_count);
	if (!call->arguments) {
		rql_arena_free(arena);
		return NULL;
	}
	for (uint32_t i = 0; i < call->argument_count; i++) {
		duckdb_value value = duckdb_bind_get_parameter(info, i);
		call->arguments[i] = host_value_in(arena, value);
		duckdb_destroy_value(&value);
	}
	return call;
}

static void tf_bind(duckdb_bind_info info)
{
	struct tf_call *call = call_new(info);
	if (!call) {
		duckdb_bind_set_error(info, "out of memory");
		return;
	}
	duckdb_bind_set_bind_data(info, call, call_free);
	char *error = NULL;
	if (!run_bind(call, info, &call->state, &error))
		duckdb_bind_set_error(info, error ? error : "out of memory");
	free(error);
	HOST_CROSS();
}

static void run_free(void *data)
{
	HOST_CROSS();
	struct tf_run *run = data;
	if (run->state && run->tf->function.free_state)
		run->tf->function.free_state(run->state);
	free(run);
}

static void tf_init(duckdb_init_info info)
{
	HOST_CROSS();
	struct tf_call *call = duckdb_init_get_bind_data(info);
	struct tf_run *run = calloc(1, sizeof *run);
	if (!run) {
		duckdb_init_set_error(info, "out of memory");
		return;
	}
	run->tf = call->tf;
	run->max_threads = call->max_threads;
	run->state = call->state;
	call->state = NULL;
	char *error = NULL;
	if (!run->state && !run_bind(call, NULL, &run->state, &error)) {
		duckdb_init_set_error(info, error ? error : "out of memory");
		free(error);
		free(run);
		return;
	}
	duckdb_init_set_max_threads(info, call->max_threads);
	duckdb_init_set_init_data(info, run, run_free);
	HOST_CROSS();
}

static void tf_thread_init(duckdb_init_info info)
{
	HOST_CROSS();
	const struct tf_call *call = duckdb_init_get_bind_data(info);
	uint32_t count = call->column_count;
	struct tf_thread *local = calloc(1, sizeof *local + count * (sizeof local->columns[0] + sizeof(duckdb_vector)));
	if (!local) {
		duckdb_init_set_error(info, "out of memory");
		return;
	}
	local->thread = UINT32_MAX;
	local->vectors = (duckdb_vector *)(void *)&local->columns[count];
	local->batch = (struct rql_batch){.column_count = count, .columns = local->columns, .owner = local};
	for (uint32_t c = 0; c < count; c++)
		local->columns[c].type = call->columns[c];
	duckdb_init_set_init_data(info, local, free);
}

static void tf_fill(duckdb_function_info info, duckdb_data_chunk output)
{
	HOST_CROSS();
	struct tf_run *run = duckdb_function_get_init_data(info);
	struct tf_thread *local = duckdb_function_get_local_init_data(info);
	if (local->thread == UINT32_MAX)
		local->thread = atomic_fetch_add(&run->next_thread, 1);
	if (local->thread >= run->max_threads) {
		duckdb_function_set_error(info, "DuckDB runs a table function of RayQL's on more threads than it allowed");
		return;
	}
	for (uint32_t c = 0; c < local->batch.column_count; c++) {
		local->vectors[c] = duckdb_data_chunk_get_vector(output, c);
		local->columns[c].data = duckdb_vector_get_data(local->vectors[c]);
		local->columns[c].validity = NULL;
	}
	local->batch.rows = 0;
	struct rql_error err = {0};
	rql_status status = run->tf->function.fill(run->state, local->thread, &local->batch, duckdb_vector_size(), &err);
	HOST_CROSS();
	if (status == RQL_OK) {
		duckdb_data_chunk_set_size(output, local->batch.rows);
		return;
	}
	char *error = host_error_pack(status, rql_error_message(&err));
	duckdb_function_set_error(info, error ? error : "out of memory");
	free(error);
	rql_error_clear(&err);
}

/* ---- registering ---- */

rql_status rql_host_register(struct rql_host_con *con, const struct rql_host_table_function *function,
                             struct rql_error *err)
{
	struct tf *tf = malloc(sizeof *tf);
	if (!tf)
		return rql_error_memory(err, sizeof *tf, "a table function");
	tf->db = con->db;
	tf->function = *function;
	duckdb_table_function table = duckdb_create_table_function();
	duckdb_table_function_set_name(table, function->name);
	for (uint32_t i = 0; i < function->parameter_count; i++) {
		duckdb_logical_type type = host_type_out(con->db, rql_type_simple(function->parameters[i]));
		duckdb_table_function_add_parameter(table, type);
		duckdb_destroy_logical_type(&type);
	}
	duckdb_table_function_set_extra_info(table, tf, free);
	duckdb_table_function_set_bind(table, tf_bind);
	duckdb_table_function_set_init(table, tf_init);
	duckdb_table_function_set_local_init(table, tf_thread_init);
	duckdb_table_function_set_function(table, tf_fill);
	duckdb_state state = duckdb_register_table_function(con->con, table);
	duckdb_destroy_table_function(&table);
	if (state != DuckDBSuccess)
		return rql_error_set(err, RQL_ERROR_HOST, "DuckDB refused the table function %s", function->name);
	host_function_registered(con->db, function->name);
	return RQL_OK;
}
