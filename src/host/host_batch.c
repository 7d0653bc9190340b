/* Batches lent to DuckDB: rayql_batch(N), and casting through it. */
#include "host/host_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t rql_host_lend(struct rql_host_db *db, const struct rql_batch *batch)
{
	struct host_lent *lent = malloc(sizeof *lent);
	if (!lent)
		return 0;
	lent->batch = batch;
	pthread_mutex_lock(&db->registry);
	uint64_t number = lent->number = ++db->next_number;
	lent->next = db->lent;
	db->lent = lent;
	pthread_mutex_unlock(&db->registry);
	return number;
}

void rql_host_unlend(struct rql_host_db *db, uint64_t number)
{
	pthread_mutex_lock(&db->registry);
	for (struct host_lent **at = &db->lent; *at; at = &(*at)->next) {
		if ((*at)->number != number)
			continue;
		struct host_lent *gone = *at;
		*at = gone->next;
		free(gone);
		break;
	}
	pthread_mutex_unlock(&db->registry);
}

static const struct rql_batch *find_lent(struct rql_host_db *db, uint64_t number)
{
	const struct rql_batch *batch = NULL;
	pthread_mutex_lock(&db->registry);
	for (struct host_lent *lent = db->lent; lent && !batch; lent = lent->next) {
		if (lent->number == number)
			batch = lent->batch;
	}
	pthread_mutex_unlock(&db->registry);
	return batch;
}

/* ---- the table function ---- */

struct scan_bind {
	uint64_t number;
};

struct scan_state {
	const struct rql_batch *batch;
	uint64_t next; /* row */
	uint64_t column_count;
	uint64_t columns[]; /* the batch's column for each that is wanted; others (row ids) are beyond its count */
};

static bool bind_columns(duckdb_bind_info info, struct rql_host_db *db, const struct rql_batch *batch)
{
	for (uint32_t c = 0; c < batch->column_count; c++) {
		char name[16], text[80];
		struct rql_type type = batch->columns[c].type;
		/* DuckDB has no table columns of type NULL. */
		if (type.id == RQL_TYPE_SQLNULL)
			type = rql_type_simple(RQL_TYPE_INTEGER);
		/* A vector knows its type; some, such as unnamed structs, cannot be made from their text. */
		bool vector = type.id == RQL_TYPE_OTHER && batch->columns[c].data;
		duckdb_logical_type logical =
			vector ? duckdb_vector_get_column_type((duckdb_vector)batch->columns[c].data) : host_type_out(db, type);
		if (!logical) {
			snprintf(text, sizeof text, "rayql_batch: column %u has a type that DuckDB cannot make", c);
			duckdb_bind_set_error(info, text);
			return false;
		}
		snprintf(name, sizeof name, "c%u", c);
		duckdb_bind_add_result_column(info, name, logical);
		duckdb_destroy_logical_type(&logical);
	}
	return true;
}

static void scan_bind(duckdb_bind_info info)
{
	struct rql_host_db *db = duckdb_bind_get_extra_info(info);
	duckdb_value argument = duckdb_bind_get_parameter(info, 0);
	uint64_t number = argument && !duckdb_is_null_value(argument) ? (uint64_t)duckdb_get_int64(argument) : 0;
	duckdb_destroy_value(&argument);
	const struct rql_batch *batch = find_lent(db, number);
	if (!batch) {
		duckdb_bind_set_error(info,
		                      "rayql_batch(N) reads batches that RayQL lends itself: there is none of this number");
		return;
	}
	struct scan_bind *bind = malloc(sizeof *bind);
	if (!bind) {
		duckdb_bind_set_error(info, "rayql_batch: out of memory");
		return;
	}
	bind->number = number;
	duckdb_bind_set_bind_data(info, bind, free);
	if (bind_columns(info, db, batch))
		duckdb_bind_set_cardinality(info, batch->rows, true);
	HOST_CROSS();
}

static void scan_init(duckdb_init_info info)
{
	HOST_CROSS();
	struct rql_host_db *db = duckdb_init_get_extra_info(info);
	const struct scan_bind *bind = duckdb_init_get_bind_data(info);
	/* Found anew: a prepared statement may outlive the loan that it was bound with. */
	const struct rql_batch *batch = find_lent(db, bind->number);
	uint64_t count = duckdb_init_get_column_count(info);
	struct scan_state *state = batch ? calloc(1, sizeof *state + count * sizeof state->columns[0]) : NULL;
	if (!state) {
		duckdb_init_set_error(info, batch ? "rayql_batch: out of memory" : "rayql_batch: the batch is lent no more");
		return;
	}
	state->batch = batch;
	state->column_count = count;
	for (uint64_t i = 0; i < count; i++)
		state->columns[i] = duckdb_init_get_column_index(info, i);
	duckdb_init_set_max_threads(info, 1);
	duckdb_init_set_init_data(info, state, free);
	HOST_CROSS();
}

static void scan_next(duckdb_function_info info, duckdb_data_chunk output)
{
	HOST_CROSS();
	struct scan_state *state = duckdb_function_get_init_data(info);
	const struct rql_batch *batch = state->batch;
	uint64_t rows = batch->rows - state->next, room = duckdb_vector_size();
	rows = rows < room ? rows : room;
	for (uint64_t i = 0; i < state->column_count; i++) {
		uint64_t column = state->columns[i];
		if (column >= batch->column_count || rows == 0)
			continue;
		duckdb_vector vector = duckdb_data_chunk_get_vector(output, i);
		if (!host_column_out(vector, &batch->columns[column], state->next, rows)) {
			duckdb_function_set_error(info, "rayql_batch: an opaque column is not a vector of DuckDB's");
			return;
		}
	}
	state->next += rows;
	duckdb_data_chunk_set_size(output, rows);
	HOST_CROSS();
}

rql_status host_batch_register(struct rql_host_db *db, struct rql_error *err)
{
	duckdb_table_function function = duckdb_create_table_function();
	duckdb_logical_type number = duckdb_create_logical_type(DUCKDB_TYPE_BIGINT);
	duckdb_table_function_set_name(function, "rayql_batch");
	duckdb_table_function_add_parameter(function, number);
	duckdb_table_function_set_extra_info(function, db, NULL);
	duckdb_table_function_set_bind(function, scan_bind);
	duckdb_table_function_set_init(function, scan_init);
	duckdb_table_function_set_function(function, scan_next);
	duckdb_table_function_supports_projection_pushdown(function, true);
	duckdb_state state = duckdb_register_table_function(db->service, function);
	duckdb_destroy_logical_type(&number);
	duckdb_destroy_table_function(&function);
	if (state != DuckDBSuccess)
		return rql_error_set(err, RQL_ERROR_HOST, "DuckDB refused the table function rayql_batch");
	return RQL_OK;
}

/* ---- casting to text ---- */

/* Makes the settings that casts to VARCHAR depend on those of the user's connection. What is equal already is not set: after SET
 * lock_configuration = true nothing can be. */
static rql_status follow_settings(struct rql_host_con *con, struct rql_error *err)
{
	static const char *const names[] = {"TimeZone", "Calendar"};
	struct rql_strbuf sql = {0};
	duckdb_client_context context = NULL;
	duckdb_connection_get_client_context(con->text, &context);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char *value = host_option(con->context, names[i]), *present = host_option(context, names[i]);
		if (value && *value && !(present && strcmp(value, present) == 0)) {
			rql_strbuf_printf(&sql, "SET %s = ", names[i]);
			rql_strbuf_put_literal(&sql, value, strlen(value));
			rql_strbuf_putc(&sql, ';');
		}
		free(value);
		free(present);
	}
	duckdb_destroy_client_context(&context);
	char *text = sql.length ? rql_strbuf_take(&sql) : NULL;
	rql_strbuf_free(&sql);
	duckdb_state state = text ? duckdb_query(con->text, text, NULL) : DuckDBSuccess;
	free(text);
	return state == DuckDBSuccess
	           ? RQL_OK
	           : rql_error_set(err, RQL_ERROR_HOST, "DuckDB refused the time zone of the connection on another one");
}

/* The rows of a result of VARCHAR columns as one batch. */
static rql_status gather(struct rql_host_result *res, const struct rql_batch *source, struct rql_batch **out,
                         struct rql_error *err)
{
	if (source->rows <= duckdb_vector_size() && source->rows > 0)
		return rql_host_fetch(res, out, err);
	uint32_t columns = source->column_count;
	struct rql_type *types = calloc(columns + 1, sizeof *types);
	for (uint32_t c = 0; types && c < columns; c++)
		types[c] = rql_type_simple(RQL_TYPE_VARCHAR);
	struct rql_batch *all = types ? rql_batch_new(columns, types, source->rows) : NULL;
	free(types);
	rql_status status = all ? RQL_OK : rql_error_memory(err, source->rows * columns * 16, "a batch of text");
	struct rql_batch *part = NULL;
	uint64_t from = 0;
	while (status == RQL_OK && (status = rql_host_fetch(res, &part, err)) == RQL_OK && part) {
		for (uint64_t i = 0; i < part->rows * columns && status == RQL_OK; i++) {
			uint32_t c = (uint32_t)(i / part->rows);
			uint64_t r = i % part->rows;
			struct rql_value value = rql_column_get(&part->columns[c], r);
			bool stored = value.is_null ? rql_batch_set_null(all, c, from + r)
			                            : rql_batch_set_string(all, c, from + r, value.string.data,
			                                                   (uint32_t)value.string.length);
			if (!stored)
				status = rql_error_memory(err, value.string.length, "a batch of text");
		}
		from += part->rows;
		rql_batch_release(part);
		part = NULL;
	}
	if (status == RQL_OK)
		*out = all;
	else
		rql_batch_release(all);
	return status;
}

void rql_host_follow_settings(struct rql_host_con *con)
{
	struct rql_error ignored = {0}; /* said again when something is to be cast */
	if (con->text || duckdb_connect(con->db->db, &con->text) == DuckDBSuccess)
		(void)!follow_settings(con, &ignored);
	rql_error_clear(&ignored);
}

/* In JSON the text of these would no longer say what it is of; that of JSON itself stays as it was written. */
static bool has_own_json(struct rql_type type)
{
	bool is_json = type.id == RQL_TYPE_OTHER && type.info && type.info->text && !strcmp(type.info->text, "JSON");
	return type.id == RQL_TYPE_FLOAT || type.id == RQL_TYPE_DOUBLE || (type.id == RQL_TYPE_OTHER && !is_json);
}

static rql_status cast_batch(struct rql_host_con *con, const struct rql_batch *batch, bool json, struct rql_batch **out,
                             struct rql_error *err)
{
	if (!con->text && duckdb_connect(con->db->db, &con->text) != DuckDBSuccess)
		return rql_error_set(err, RQL_ERROR_HOST, "DuckDB refused another connection to the database");
	RQL_TRY(follow_settings(con, err));
	uint64_t number = rql_host_lend(con->db, batch);
	if (!number)
		return rql_error_memory(err, 0, "lending a batch");
	struct rql_strbuf sql = {0};
	rql_strbuf_put(&sql, "SELECT ");
	for (uint32_t c = 0; c < batch->column_count; c++)
		rql_strbuf_printf(&sql, json && has_own_json(batch->columns[c].type)
		                            ? "%sCAST(system.main.to_json(c%u) AS VARCHAR)"
		                            : "%sCAST(c%u AS VARCHAR)",
		                  c ? ", " : "", c);
	rql_strbuf_printf(&sql, " FROM system.main.rayql_batch(%llu)", (unsigned long long)number);
	struct rql_host_con text = {.db = con->db, .con = con->text};
	struct rql_host_result *res = NULL;
	rql_status status = rql_host_query(&text, rql_strbuf_sql(&sql), &res, err);
	if (status == RQL_OK)
		status = gather(res, batch, out, err);
	rql_host_result_free(res);
	rql_host_unlend(con->db, number);
	rql_strbuf_free(&sql);
	return status;
}

rql_status rql_host_to_text(struct rql_host_con *con, const struct rql_batch *batch, struct rql_batch **out,
                            struct rql_error *err)
{
	return cast_batch(con, batch, false, out, err);
}

rql_status rql_host_to_json(struct rql_host_con *con, const struct rql_batch *batch, struct rql_batch **out,
                            struct rql_error *err)
{
	return cast_batch(con, batch, true, out, err);
}
