/* DuckDB alone, through its C API. Values become text as DuckDB casts them: the chunks of a result are given to a
 * second database as the rows of a table function. */
#include "sqllogic.h"

#include <duckdb.h>
#include <stdlib.h>
#include <string.h>

/* In libduckdb, but not in its header. */
duckdb_value duckdb_client_context_get_config_option(duckdb_client_context context, const char *name, int *out_scope);

struct lent { /* what the table function gives */
	duckdb_logical_type *types;
	uint32_t column_count;
	duckdb_data_chunk chunk; /* NULL: no rows, only types */
	bool given;
};
struct database {
	duckdb_database db, texts;
	duckdb_connection text;
	struct lent lent;
};
struct connection {
	struct database *database;
	duckdb_connection con;
	duckdb_client_context context;
};

/* ---- the table function ---- */
static bool is_null_type(duckdb_logical_type type)
{
	return duckdb_get_type_id(type) == DUCKDB_TYPE_SQLNULL;
}

static void bind_lent(duckdb_bind_info info)
{
	const struct lent *lent = duckdb_bind_get_extra_info(info);
	duckdb_logical_type integer = duckdb_create_logical_type(DUCKDB_TYPE_INTEGER);
	for (uint32_t c = 0; c < lent->column_count; c++) {
		char name[16];
		snprintf(name, sizeof name, "c%u", c);
		duckdb_bind_add_result_column(info, name, is_null_type(lent->types[c]) ? integer : lent->types[c]);
	}
	duckdb_destroy_logical_type(&integer);
}

static void init_lent(duckdb_init_info info)
{
	duckdb_init_set_max_threads(info, 1);
}

static void give_lent(duckdb_function_info info, duckdb_data_chunk output)
{
	struct lent *lent = duckdb_function_get_extra_info(info);
	idx_t rows = lent->chunk && !lent->given ? duckdb_data_chunk_get_size(lent->chunk) : 0;
	lent->given = true;
	for (uint32_t c = 0; c < lent->column_count && rows; c++) {
		duckdb_vector to = duckdb_data_chunk_get_vector(output, c);
		if (!is_null_type(lent->types[c])) {
			duckdb_vector_reference_vector(to, duckdb_data_chunk_get_vector(lent->chunk, c));
			continue;
		}
		duckdb_vector_ensure_validity_writable(to);
		for (idx_t r = 0; r < rows; r++)
			duckdb_validity_set_row_invalid(duckdb_vector_get_validity(to), r);
	}
	duckdb_data_chunk_set_size(output, rows);
}

static bool register_lent(struct database *d)
{
	duckdb_table_function function = duckdb_create_table_function();
	duckdb_table_function_set_name(function, "lent");
	duckdb_table_function_set_extra_info(function, &d->lent, NULL);
	duckdb_table_function_set_bind(function, bind_lent);
	duckdb_table_function_set_init(function, init_lent);
	duckdb_table_function_set_function(function, give_lent);
	bool ok = duckdb_register_table_function(d->text, function) == DuckDBSuccess;
	duckdb_destroy_table_function(&function);
	return ok;
}

/* ---- databases and connections ---- */
static void close_database(void *db)
{
	struct database *d = db;
	if (!d)
		return;
	duckdb_close(&d->db);
	duckdb_disconnect(&d->text);
	duckdb_close(&d->texts);
	free(d);
}

static duckdb_config configure(const struct sl_place *place)
{
	duckdb_config config = NULL;
	char threads[16];
	snprintf(threads, sizeof threads, "%u", place->threads);
	if (duckdb_create_config(&config) != DuckDBSuccess)
		return NULL;
	for (size_t i = 0; sl_host_options[i]; i += 2)
		duckdb_set_config(config, sl_host_options[i], sl_host_options[i + 1]);
	if (place->threads)
		duckdb_set_config(config, "threads", threads);
	if (place->read_only)
		duckdb_set_config(config, "access_mode", "READ_ONLY");
	if (place->storage_version)
		duckdb_set_config(config, "storage_compatibility_version", place->storage_version);
	return config;
}

static void *open_database(const struct sl_place *place, char **error)
{
	struct database *d = calloc(1, sizeof *d);
	duckdb_config config = configure(place);
	char *text = NULL;
	bool ok = d && config && duckdb_open_ext(place->path, &d->db, config, &text) == DuckDBSuccess;
	if (ok && (duckdb_open(NULL, &d->texts) != DuckDBSuccess || duckdb_connect(d->texts, &d->text) != DuckDBSuccess ||
	           !register_lent(d))) {
		fputs("test_sqllogic: DuckDB opens no second database\n", stderr);
		exit(2);
	}
	duckdb_destroy_config(&config);
	if (ok)
		return d;
	*error = strdup(text ? text : "DuckDB does not open the database");
	duckdb_free(text);
	free(d);
	return NULL;
}

static void *connect_database(void *db, char **error)
{
	struct connection *c = calloc(1, sizeof *c);
	struct database *d = db;
	if (c && duckdb_connect(d->db, &c->con) == DuckDBSuccess) {
		c->database = d;
		duckdb_connection_get_client_context(c->con, &c->context);
		return c;
	}
	free(c);
	*error = strdup("DuckDB refuses a connection");
	return NULL;
}

static void disconnect(void *con)
{
	struct connection *c = con;
	if (!c)
		return;
	duckdb_destroy_client_context(&c->context);
	duckdb_disconnect(&c->con);
	free(c);
}

/* ---- answers ---- */

/* A column of texts: the value in a row, or NULL. */
static struct sl_cell text_at(duckdb_vector vector, idx_t row)
{
	if (!duckdb_validity_row_is_valid(duckdb_vector_get_validity(vector), row))
		return (struct sl_cell){0};
	duckdb_string_t *s = (duckdb_string_t *)duckdb_vector_get_data(vector) + row;
	return (struct sl_cell){duckdb_string_t_data(s), duckdb_string_t_length(*s)};
}

/* Casts of times to text follow the connection's time zone. */
static void follow_settings(struct connection *c)
{
	static const char *const names[] = {"TimeZone", "Calendar"};
	for (size_t i = 0; i < 2; i++) {
		duckdb_value value = duckdb_client_context_get_config_option(c->context, names[i], NULL);
		char *text = value ? duckdb_get_varchar(value) : NULL, sql[160];
		duckdb_destroy_value(&value);
		if (text && *text && snprintf(sql, sizeof sql, "SET %s = '%s'", names[i], text) < (int)sizeof sql)
			duckdb_query(c->database->text, sql, NULL);
		duckdb_free(text);
	}
}

/* Texts of the chunk's rows become rows of the answer. */
static bool add_chunk(struct database *d, duckdb_data_chunk chunk, struct sl_answer *out)
{
	duckdb_result result;
	struct sl_cell *row = sl_alloc(out->arena, (out->column_count + 1) * sizeof *row);
	d->lent.chunk = chunk;
	d->lent.given = false;
	bool ok = duckdb_query(d->text, "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM lent()", &result) == DuckDBSuccess;
	if (!ok)
		out->message = sl_printf(out->arena, "as text: %s", duckdb_result_error(&result));
	for (duckdb_data_chunk part; ok && (part = duckdb_fetch_chunk(result)); duckdb_destroy_data_chunk(&part)) {
		idx_t rows = duckdb_data_chunk_get_size(part);
		for (idx_t r = 0; r < rows; r++) {
			for (uint32_t c = 0; c < out->column_count; c++)
				row[c] = text_at(duckdb_data_chunk_get_vector(part, c), r);
			sl_answer_add(out, row);
		}
	}
	duckdb_destroy_result(&result);
	return ok;
}

static bool name_types(struct database *d, struct sl_answer *out)
{
	duckdb_result result;
	uint32_t at = 0;
	d->lent.chunk = NULL;
	bool ok = duckdb_query(d->text, "SELECT column_type FROM (DESCRIBE SELECT * FROM lent())",
	                       &result) == DuckDBSuccess;
	if (!ok)
		out->message = sl_printf(out->arena, "types: %s", duckdb_result_error(&result));
	for (duckdb_data_chunk part; ok && (part = duckdb_fetch_chunk(result)); duckdb_destroy_data_chunk(&part))
		for (idx_t r = 0; r < duckdb_data_chunk_get_size(part) && at < out->column_count; r++, at++) {
			struct sl_cell text = text_at(duckdb_data_chunk_get_vector(part, 0), r);
			out->types[at] = is_null_type(d->lent.types[at]) ? "\"NULL\"" : sl_copy(out->arena, text.data, text.length);
		}
	duckdb_destroy_result(&result);
	return ok;
}

static void fetch(struct connection *c, duckdb_result *result, struct sl_answer *out)
{
	struct database *d = c->database;
	duckdb_result_type type = duckdb_result_return_type(*result);
	out->shape = type == DUCKDB_RESULT_TYPE_QUERY_RESULT     ? SL_ROWS
	             : type == DUCKDB_RESULT_TYPE_CHANGED_ROWS ? SL_CHANGED
	                                                         : SL_NOTHING;
	if (out->shape == SL_NOTHING)
		return;
	uint32_t n = out->column_count = (uint32_t)duckdb_column_count(result);
	out->names = sl_alloc(out->arena, (n + 1) * sizeof(char *));
	out->types = sl_alloc(out->arena, (n + 1) * sizeof(char *));
	d->lent.types = sl_alloc(out->arena, (n + 1) * sizeof(duckdb_logical_type));
	d->lent.column_count = n;
	for (uint32_t i = 0; i < n; i++) {
		out->names[i] = sl_printf(out->arena, "%s", duckdb_column_name(result, i));
		d->lent.types[i] = duckdb_column_logical_type(result, i);
	}
	follow_settings(c);
	if (name_types(d, out))
		for (duckdb_data_chunk chunk; !out->message && (chunk = duckdb_fetch_chunk(*result));
		     duckdb_destroy_data_chunk(&chunk))
			if (duckdb_data_chunk_get_size(chunk))
				add_chunk(d, chunk, out);
	for (uint32_t i = 0; i < n; i++)
		duckdb_destroy_logical_type(&d->lent.types[i]);
	d->lent = (struct lent){0};
}

/* DuckDB gives the first statement's result of several, RayQL the last one's. So all but the last are run here; the last
 * one comes back, to be run. A text that DuckDB does not parse is left whole. NULL: one failed. */
static const char *run_first(struct connection *c, const char *sql, struct sl_answer *out)
{
	struct sl_list statements = {0};
	duckdb_extracted_statements extracted = NULL;
	if (!strchr(sql, ';'))
		return sql;
	idx_t count = duckdb_extract_statements(c->con, sql, &extracted);
	duckdb_destroy_extracted(&extracted);
	sl_split(out->arena, sql, &statements);
	if (count < 2 || count != statements.count)
		return sql;
	for (uint32_t i = 0; i + 1 < statements.count; i++) {
		duckdb_result result;
		bool ok = duckdb_query(c->con, statements.items[i], &result) == DuckDBSuccess;
		if (!ok)
			out->message = sl_printf(out->arena, "%s", duckdb_result_error(&result));
		duckdb_destroy_result(&result);
		if (!ok)
			return NULL;
	}
	return statements.items[statements.count - 1];
}

static void run(void *con, const char *sql, struct sl_answer *out)
{
	struct connection *c = con;
	duckdb_result result;
	*out = (struct sl_answer){.arena = sl_arena_new(), .method = "", .reason = ""};
	if (!(sql = run_first(c, sql, out)))
		return;
	if (duckdb_query(c->con, sql, &result) == DuckDBSuccess)
		fetch(c, &result, out);
	else
		out->message = sl_printf(out->arena, "%s", duckdb_result_error(&result));
	duckdb_destroy_result(&result);
}

const struct sl_engine sl_duckdb = {"DuckDB", open_database, close_database, connect_database, disconnect, run};
