#include "exec/view_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define POLL_NS 2000000L
#define WRITER_WAIT_NS 5000000000u /* a build waits so long for writes in flight */
#define BUILD_ATTEMPTS 2u

/* ---- the lock ---- */
static void pause_briefly(void)
{
	struct timespec t = {.tv_nsec = POLL_NS};
	nanosleep(&t, NULL);
}

rql_status rql_build_lock(struct rql_session *s, bool try_only, struct rql_error *err)
{
	while (pthread_mutex_trylock(&s->db->build_lock) != 0) {
		if (try_only)
			return rql_error_set(err, RQL_ERROR_STALE, "another connection is building a structure");
		if (atomic_load(&s->progress.cancel))
			return rql_interrupted(err);
		atomic_store(&s->progress.phase, "waiting for another build");
		pause_briefly();
	}
	return RQL_OK;
}

void rql_build_unlock(struct rql_session *s)
{
	pthread_mutex_unlock(&s->db->build_lock);
}

/* ---- definitions ---- */
static void retain_definition(void *definition)
{
	rql_definition_retain(definition);
}

/* 128 bits of FNV-like mixing over the bound definition's text: enough to tell definitions apart, which nobody
 * attacks. */
char *rql_build_hash(const char *text)
{
	uint64_t a = 0xcbf29ce484222325u, b = 0x9ae16a3b2f90404fu;
	for (; *text; text++) {
		a = (a ^ (unsigned char)*text) * 0x100000001b3u;
		b = (b ^ (unsigned char)*text) * 0xff51afd7ed558ccdu;
		b ^= b >> 29;
	}
	char *out = NULL;
	return asprintf(&out, "%016llx%016llx", (unsigned long long)a, (unsigned long long)b) < 0 ? NULL : out;
}

static rql_status refuse_table(const struct rql_database *db, const char *database, const char *schema,
                               const char *table, struct rql_error *err)
{
	if (strcasecmp(database, "temp") == 0)
		return rql_error_set(
			err, RQL_ERROR_STATEMENT,
			"Binder Error: a materialized view cannot read the temporary table \"%s\", which other connections do not "
			"see; copy it into an ordinary table first",
			table);
	if (strcasecmp(database, db->name) != 0)
		return rql_error_set(
			err, RQL_ERROR_STATEMENT,
			"Binder Error: a materialized view can only read tables of the database that was opened (\"%s\"); "
			"\"%s\".\"%s\" is in \"%s\"",
			db->name, schema, table, database);
	if (strcasecmp(schema, "rayql") == 0)
		return rql_error_set(err, RQL_ERROR_STATEMENT,
		                     "Binder Error: a materialized view cannot read RayQL's own table rayql.%s", table);
	return RQL_OK;
}

rql_status rql_build_define(struct rql_database *db, struct rql_structure *s, struct rql_definition *def,
                            struct rql_error *err)
{
	uint32_t count = rql_definition_table_count(def);
	rql_status status = RQL_OK;
	char *source = rql_definition_source(def, 0);
	char *hash = source ? rql_build_hash(source) : NULL;
	struct rql_table **tables = calloc(count + 1, sizeof(struct rql_table *));
	uint64_t *versions = calloc(count + 1, sizeof *versions);
	if (!hash || !tables || !versions)
		status = rql_error_memory(err, count, "a definition");
	for (uint32_t i = 0; i < count && status == RQL_OK; i++) {
		const char *database, *schema, *name;
		rql_definition_table(def, i, &database, &schema, &name);
		status = refuse_table(db, database, schema, name, err);
		if (status == RQL_OK && !(tables[i] = rql_catalog_table(db->catalog, database, schema, name)))
			status = rql_error_memory(err, sizeof *tables, "a definition");
	}
	free(source);
	if (status != RQL_OK) {
		free(hash);
		free(tables);
		free(versions);
		rql_definition_release(def);
		return status;
	}
	free(s->tables);
	free(s->versions);
	if (s->definition)
		s->release_definition(s->definition);
	if (s->side_file && s->side_file_valid && (!s->definition_hash || strcmp(s->definition_hash, hash) != 0)) {
		s->side_file_valid = false;
		(void)rql_structure_set_text(&s->note, "its side file was not used: its query meant something else when it was "
		                                       "written (a table, a view or the default TimeZone has changed)");
	}
	free(s->definition_hash);
	s->table_count = count;
	s->tables = tables;
	s->versions = versions;
	s->definition_hash = hash;
	s->definition = def;
	s->retain_definition = retain_definition;
	s->release_definition = rql_definition_release;
	return RQL_OK;
}

/* With loader_lock held. An empty path is DuckDB's default. */
static rql_status set_search_path(struct rql_database *db, const char *path, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	if (path && *path) {
		rql_strbuf_put(&sql, "SET search_path = ");
		rql_strbuf_put_literal(&sql, path, strlen(path));
	} else {
		rql_strbuf_put(&sql, "RESET search_path");
	}
	char *text = rql_strbuf_take(&sql);
	if (!text)
		return rql_error_memory(err, 0, "a definition");
	rql_status status = rql_host_query(db->loader, text, NULL, err);
	free(text);
	return status;
}

rql_status rql_build_bind(struct rql_database *db, const struct rql_structure *s, struct rql_definition **out,
                          struct rql_error *err)
{
	static const struct rql_settings defaults = {.device = "auto"};
	struct rql_plan_context ctx = {
		.host = db->loader,
		.host_db = db->host,
		.catalog = db->catalog,
		.planner = db->planner,
		.devices = db->devices,
		.settings = &defaults,
	};
	pthread_mutex_lock(&db->loader_lock);
	rql_status status = rql_host_hold_settings(db->loader, err);
	if (status == RQL_OK)
		status = set_search_path(db, s->search_path, err);
	if (status == RQL_OK)
		status = rql_definition_make(&ctx, s->query, out, err);
	pthread_mutex_unlock(&db->loader_lock);
	return status;
}

/* ---- contents ---- */
static rql_status add_rows(void *state, unsigned worker, const struct rql_batch *rows, struct rql_error *err)
{
	return rql_cube_builder_add(state, worker, rows, err);
}

/* The dimension called name: by its own name in the view, in any case. */
static rql_status find_dimension(const struct rql_definition *def, const struct rql_structure *s, const char *name,
                                 uint32_t *out, struct rql_error *err)
{
	struct rql_strbuf known = {0};
	for (uint32_t i = 0; i < rql_definition_dimension_count(def); i++) {
		const char *have = rql_definition_dimension_name(def, i);
		if (strcasecmp(have, name) == 0) {
			rql_strbuf_free(&known);
			*out = i;
			return RQL_OK;
		}
		rql_strbuf_printf(&known, "%s%s", i ? ", " : "", have);
	}
	rql_error_set(err, RQL_ERROR_STATEMENT,
	              "Binder Error: the option order names \"%s\", which is no dimension of %s; its dimensions are %s",
	              name, s->name, rql_strbuf_text(&known));
	rql_strbuf_free(&known);
	return RQL_ERROR_STATEMENT;
}

static rql_status fill_spec(struct rql_session *session, const struct rql_structure *s,
                            const struct rql_definition *def, struct rql_arena *arena, struct rql_cube_spec *spec,
                            struct rql_error *err)
{
	struct rql_statement st = {0};
	struct rql_view_options options;
	RQL_TRY(rql_statement_parse(arena, s->statement, &st, err));
	RQL_TRY(rql_view_options_read(arena, s->statement, &st, &options, err));
	uint32_t d = rql_definition_dimension_count(def), m = rql_definition_measure_count(def);
	struct rql_type *types = RQL_NEW_ARRAY(arena, struct rql_type, d);
	const char **names = RQL_NEW_ARRAY(arena, const char *, d);
	struct rql_cube_measure_spec *measures = RQL_NEW_ARRAY(arena, struct rql_cube_measure_spec, m);
	uint32_t *order = RQL_NEW_ARRAY(arena, uint32_t, options.order_count);
	if (!types || !names || !measures || !order)
		return rql_error_memory(err, d + m, "a build");
	for (uint32_t i = 0; i < d; i++) {
		types[i] = rql_definition_dimension_type(def, i);
		names[i] = rql_definition_dimension_name(def, i);
	}
	for (uint32_t i = 0; i < m; i++) {
		struct rql_definition_measure x = rql_definition_measure_at(def, i);
		measures[i] =
			(struct rql_cube_measure_spec){.type = x.type, .name = x.name, .sum = x.sum, .min = x.min, .max = x.max};
	}
	for (uint32_t i = 0; i < options.order_count; i++)
		RQL_TRY(find_dimension(def, s, options.order[i], &order[i], err));
	*spec = (struct rql_cube_spec){
		.name = s->name,
		.dimension_count = d,
		.dimension_types = types,
		.dimension_names = names,
		.measure_count = m,
		.measures = measures,
		.rollup = options.rollup,
		.order_count = options.order_count,
		.order = order,
		.budget = &session->db->budget,
		.progress = &session->progress,
		.device = &session->db->devices->device[0],
	};
	return RQL_OK;
}

/* The largest table's size is what a star join reads, and DuckDB knows it without reading a row. */
uint64_t rql_build_estimate(const struct rql_structure *s, struct rql_host_con *con)
{
	uint64_t most = 0;
	for (uint32_t i = 0; i < s->table_count; i++) {
		const char *database, *schema, *name;
		int64_t rows = 0;
		struct rql_strbuf sql = {0};
		rql_table_name(s->tables[i], &database, &schema, &name);
		rql_strbuf_put(&sql,
		               "SELECT coalesce(system.main.max(estimated_size), 0)::BIGINT FROM system.main.duckdb_tables() WHERE "
		               "database_name = ");
		rql_strbuf_put_literal(&sql, database, strlen(database));
		rql_strbuf_put(&sql, " AND schema_name = ");
		rql_strbuf_put_literal(&sql, schema, strlen(schema));
		rql_strbuf_put(&sql, " AND table_name = ");
		rql_strbuf_put_literal(&sql, name, strlen(name));
		if (rql_host_query_int(con, rql_strbuf_text(&sql), &rows, NULL) == RQL_OK && rows > 0 && (uint64_t)rows > most)
			most = (uint64_t)rows;
		rql_strbuf_free(&sql);
	}
	return most;
}

void rql_build_set_running(struct rql_session *session, struct rql_host_con *con)
{
	pthread_mutex_lock(&session->running_lock);
	session->running = con;
	pthread_mutex_unlock(&session->running_lock);
}

/* Writes in flight would only make the contents stale before they are there. */
rql_status rql_build_note_versions(struct rql_session *session, struct rql_structure *s, struct rql_error *err)
{
	struct rql_catalog *catalog = session->db->catalog;
	uint64_t start = rql_now_ns();
	for (uint32_t i = 0; i < s->table_count;) {
		if (!rql_table_being_written(catalog, s->tables[i])) {
			s->versions[i] = rql_table_version(catalog, s->tables[i]);
			i++;
			continue;
		}
		if (atomic_load(&session->progress.cancel))
			return rql_interrupted(err);
		if (rql_now_ns() - start > WRITER_WAIT_NS) {
			const char *database, *schema, *name;
			rql_table_name(s->tables[i], &database, &schema, &name);
			return rql_error_set(
				err, RQL_ERROR_STALE,
				"%s cannot be built: another connection has been writing to %s for some seconds. Try again when "
				"it is done",
				s->name, name);
		}
		pause_briefly();
	}
	return RQL_OK;
}

/* On a connection of its own, which holds the defaults: the definition was bound under these, and neither the user's
 * settings nor the database's must change what its expressions mean. */
static rql_status build_once(struct rql_session *session, struct rql_structure *s, struct rql_cube_spec *spec,
                             struct rql_host_con *con, struct rql_cube **out, struct rql_error *err)
{
	struct rql_database *db = session->db;
	struct rql_cube_builder *builder = NULL;
	RQL_TRY(rql_build_note_versions(session, s, err));
	RQL_TRY(rql_cube_builder_new(spec, &builder, err));
	uint64_t sink = rql_host_sink_add(db->host, add_rows, builder);
	char *text = sink ? rql_definition_source(s->definition, sink) : NULL;
	rql_status status = text ? RQL_OK : rql_error_memory(err, 0, "a build");
	atomic_store(&session->progress.rows, 0);
	atomic_store(&session->progress.total_rows, rql_build_estimate(s, con));
	atomic_store(&session->progress.phase, "reading");
	if (status == RQL_OK)
		status = rql_host_query(con, text, NULL, err);
	if (sink)
		rql_host_sink_remove(db->host, sink);
	free(text);
	if (status != RQL_OK) {
		rql_cube_builder_abort(builder);
		return status;
	}
	return rql_cube_builder_finish(builder, out, err);
}

/* Why a side file was not used stays to be read after the build that replaced it, until the next one. */
static void note_rebuilt(struct rql_structure *s)
{
	static const char unused[] = "its side file was not used";
	struct rql_strbuf note = {0};
	if (s->note && strncmp(s->note, unused, sizeof unused - 1) == 0)
		rql_strbuf_printf(&note, "built again: %s", s->note);
	(void)rql_structure_set_text(&s->note, note.length ? rql_strbuf_text(&note) : NULL);
	rql_strbuf_free(&note);
}

rql_status rql_build_run(struct rql_session *session, struct rql_structure *s, struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_cube_spec spec;
	struct rql_host_con *con = NULL;
	struct rql_cube *cube = NULL;
	if (!arena)
		return rql_error_memory(err, 0, "a build");
	uint64_t start = rql_now_ns();
	rql_status status = fill_spec(session, s, s->definition, arena, &spec, err);
	if (status == RQL_OK)
		status = rql_host_connect(session->db->host, &con, err);
	if (status == RQL_OK)
		status = rql_host_hold_settings(con, err);
	if (status == RQL_OK) {
		rql_build_set_running(session, con);
		status = atomic_load(&session->progress.cancel) ? rql_interrupted(err) : RQL_OK;
	}
	for (unsigned i = 0; i < BUILD_ATTEMPTS && status == RQL_OK; i++) {
		if (cube)
			rql_cube_release(cube);
		cube = NULL;
		status = build_once(session, s, &spec, con, &cube, err);
		if (status == RQL_OK && !rql_structure_moved_table(session->db->catalog, s))
			break;
	}
	rql_build_set_running(session, NULL);
	atomic_store(&session->progress.phase, NULL);
	rql_host_disconnect(con);
	rql_arena_free(arena);
	RQL_TRY(status);
	rql_structure_clear(s);
	s->cube = cube;
	s->retain_cube = rql_cube_retain;
	s->release_cube = rql_cube_release;
	s->state = RQL_STATE_READY;
	s->build_ms = (double)(rql_now_ns() - start) / 1e6;
	s->side_file_valid = false;
	note_rebuilt(s);
	rql_device_place(session, s);
	return RQL_OK;
}

void rql_build_save(struct rql_database *db, struct rql_structure *s)
{
	struct rql_error failed = {0};
	char *file = NULL;
	if (!db->side.folder || !db->side.writable || s->automatic)
		return;
	rql_side_replaced(&db->side, s->side_file); /* first: its room on the disk may be wanted */
	(void)rql_structure_set_text(&s->side_file, NULL);
	if (rql_side_write(&db->side, s, &file, &failed) == RQL_OK) {
		s->side_file = file;
		if (s->cube)
			rql_device_save(db, s);
	} else {
		struct rql_strbuf note = {0};
		rql_strbuf_printf(&note, "its side file could not be written, so it will be built again after reopening: %s",
		                  rql_error_message(&failed));
		(void)rql_structure_set_text(&s->note, rql_strbuf_text(&note));
		rql_strbuf_free(&note);
	}
	rql_error_clear(&failed);
}
