/* RayQL, through its public API alone. */
#include "sqllogic.h"

#include <rayql/rayql.h>
#include <stdlib.h>
#include <string.h>

struct database {
	rayql_database *db;
	const char *setup;
};
struct connection {
	rayql_connection *con;
};

static char *take(rayql_error *err)
{
	char *message = strdup(rayql_error_message(err));
	rayql_error_free(err);
	return message;
}

static void *open_database(const struct sl_place *place, char **error)
{
	const char *options[16] = {0};
	size_t n = 0;
	for (; sl_host_options[n]; n++)
		options[n] = sl_host_options[n];
	if (place->storage_version) {
		options[n++] = "storage_compatibility_version";
		options[n++] = place->storage_version;
	}
	rayql_config config = {.size = sizeof config,
	                       .read_only = place->read_only,
	                       .threads = place->threads,
	                       .memory_limit = 1u << 30,
	                       .host_options = options};
	rayql_error *err = NULL;
	struct database *d = calloc(1, sizeof *d);
	if (d && rayql_open(place->path, &config, &d->db, &err) == RAYQL_OK) {
		d->setup = place->setup;
		return d;
	}
	free(d);
	*error = take(err);
	return NULL;
}

static void close_database(void *db)
{
	struct database *d = db;
	if (d)
		rayql_close(d->db);
	free(d);
}

static void *connect_database(void *db, char **error)
{
	struct database *d = db;
	struct connection *c = calloc(1, sizeof *c);
	rayql_error *err = NULL;
	if (c && rayql_connect(d->db, &c->con, &err) == RAYQL_OK &&
	    rayql_query(c->con, "SET rayql_auto_columns = on", NULL, &err) == RAYQL_OK &&
	    rayql_query(c->con, "SET rayql_force = on", NULL, &err) == RAYQL_OK &&
	    (!d->setup || rayql_query(c->con, d->setup, NULL, &err) == RAYQL_OK))
		return c;
	if (c)
		rayql_disconnect(c->con);
	free(c);
	*error = take(err);
	return NULL;
}

static void disconnect(void *con)
{
	struct connection *c = con;
	if (c)
		rayql_disconnect(c->con);
	free(c);
}

static rayql_status add_batch(rayql_result *res, const rayql_batch *batch, struct sl_answer *out, rayql_error **err)
{
	rayql_batch *text = NULL;
	rayql_status status = rayql_batch_to_text(res, batch, &text, err);
	struct sl_cell *row = sl_alloc(out->arena, (out->column_count + 1) * sizeof *row);
	for (uint64_t r = 0; status == RAYQL_OK && r < rayql_batch_rows(text); r++) {
		for (uint32_t c = 0; c < out->column_count; c++) {
			row[c] = (struct sl_cell){0};
			if (rayql_batch_is_null(text, c, r))
				continue;
			row[c].data = rayql_batch_text(text, c, r, &row[c].length);
			if (!row[c].data)
				row[c].data = "";
		}
		sl_answer_add(out, row);
	}
	rayql_batch_free(text);
	return status;
}

static rayql_status fetch(rayql_result *res, struct sl_answer *out, rayql_error **err)
{
	rayql_result_kind kind = rayql_result_kind_of(res);
	out->shape = kind == RAYQL_RESULT_ROWS ? SL_ROWS : kind == RAYQL_RESULT_CHANGED ? SL_CHANGED : SL_NOTHING;
	out->method = sl_printf(out->arena, "%s", rayql_result_method(res));
	out->reason = sl_printf(out->arena, "%s", rayql_result_reason(res));
	if (out->shape == SL_NOTHING)
		return RAYQL_OK;
	out->column_count = rayql_column_count(res);
	out->names = sl_alloc(out->arena, (out->column_count + 1) * sizeof(char *));
	out->types = sl_alloc(out->arena, (out->column_count + 1) * sizeof(char *));
	for (uint32_t c = 0; c < out->column_count; c++) {
		out->names[c] = sl_printf(out->arena, "%s", rayql_column_name(res, c));
		out->types[c] = sl_printf(out->arena, "%s", rayql_column_type_name(res, c));
	}
	for (;;) {
		rayql_batch *batch = NULL;
		rayql_status status = rayql_fetch(res, &batch, err);
		if (status == RAYQL_OK && batch)
			status = add_batch(res, batch, out, err);
		rayql_batch_free(batch);
		if (status != RAYQL_OK || !batch)
			return status;
	}
}

static void run(void *con, const char *sql, struct sl_answer *out)
{
	struct connection *c = con;
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	*out = (struct sl_answer){.arena = sl_arena_new(), .method = "", .reason = ""};
	rayql_status status = rayql_query(c->con, sql, &res, &err);
	if (status == RAYQL_OK)
		status = fetch(res, out, &err);
	if (status != RAYQL_OK)
		out->message = sl_printf(out->arena, "%s", rayql_error_message(err));
	rayql_error_free(err);
	rayql_result_free(res);
}

const struct sl_engine sl_rayql = {"RayQL", open_database, close_database, connect_database, disconnect, run};
