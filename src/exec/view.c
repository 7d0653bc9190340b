/* CREATE, REFRESH and DROP MATERIALIZED VIEW: DuckDB's catalog, our row in the database and the structure change
 * together or not
 * at all. */
#include "exec/exec_internal.h"

#include "exec/view_build.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- checks ---- */
static rql_status not_inside(const struct rql_session *s, const char *what, struct rql_error *err)
{
	if (!s->txn.open)
		return RQL_OK;
	return rql_error_set(err, RQL_ERROR_STATEMENT,
	                     "TransactionContext Error: %s cannot run inside a transaction block; COMMIT or ROLLBACK first",
	                     what);
}

static rql_status not_read_only(const struct rql_session *s, const char *type, struct rql_error *err)
{
	if (!s->db->read_only)
		return RQL_OK;
	return rql_error_set(
		err, RQL_ERROR_STATEMENT,
		"Invalid Input Error: Cannot execute statement of type \"%s\" on database \"%s\" which is attached in "
		"read-only mode!",
		type, s->db->name);
}

/* ---- names ---- */
struct view_name {
	char *schema, *name;
};

static void free_name(struct view_name *n)
{
	free(n->schema);
	free(n->name);
}

static bool has_schema(struct rql_session *s, const char *schema)
{
	struct rql_strbuf sql = {0};
	int64_t count = 0;
	rql_strbuf_put(&sql, "SELECT count(*) FROM duckdb_schemas() WHERE database_name = ");
	rql_strbuf_put_literal(&sql, s->db->name, strlen(s->db->name));
	rql_strbuf_put(&sql, " AND lower(schema_name) = lower(");
	rql_strbuf_put_literal(&sql, schema, strlen(schema));
	rql_strbuf_put(&sql, ")");
	bool found = rql_host_query_int(s->host, rql_strbuf_text(&sql), &count, NULL) == RQL_OK && count > 0;
	rql_strbuf_free(&sql);
	return found;
}

static rql_status elsewhere(const struct rql_session *s, const char *sql, const struct rql_statement *st,
                            const char *database, struct rql_error *err)
{
	return rql_error_at(
		err, sql, st->name.position,
		"Not implemented Error: materialized views live in the database that was opened (\"%s\"), not in \"%s\"",
		s->db->name, database);
}

/* As DuckDB finds a name: a.b may be schema.view or database.view; without a schema it is the current one. */
static rql_status resolve(struct rql_session *s, const char *sql, const struct rql_statement *st, struct view_name *out,
                          struct rql_error *err)
{
	const char *database = st->name.catalog, *schema = st->name.schema;
	char *current_schema = NULL, *current_database = NULL;
	rql_status status = RQL_OK;
	if (!database && schema && strcasecmp(schema, s->db->name) == 0 && !has_schema(s, schema)) {
		database = schema;
		schema = NULL;
	}
	if (!schema && !database) {
		status = rql_host_query_text(s->host, "SELECT current_database()", &current_database, err);
		if (status == RQL_OK)
			status = rql_host_query_text(s->host, "SELECT current_schema()", &current_schema, err);
		database = current_database;
		schema = current_schema;
	}
	if (status == RQL_OK && database && strcasecmp(database, s->db->name) != 0)
		status = elsewhere(s, sql, st, database, err);
	if (status == RQL_OK) {
		out->schema = strdup(schema ? schema : "main");
		out->name = strdup(st->name.name);
		if (!out->schema || !out->name) {
			free_name(out);
			status = rql_error_memory(err, 0, "a name");
		}
	}
	free(current_schema);
	free(current_database);
	return status;
}

static void put_qualified(struct rql_strbuf *out, const struct rql_database *db, const char *schema, const char *name)
{
	rql_strbuf_put_ident(out, db->name);
	rql_strbuf_putc(out, '.');
	rql_strbuf_put_ident(out, schema);
	rql_strbuf_putc(out, '.');
	rql_strbuf_put_ident(out, name);
}

/* "View", "Table", or NULL: what DuckDB has under the name. */
static const char *host_object(struct rql_session *s, const struct view_name *n)
{
	static const char *const kinds[][2] = {{"duckdb_views() WHERE lower(view_name)", "View"},
	                                       {"duckdb_tables() WHERE lower(table_name)", "Table"}};
	for (size_t i = 0; i < 2; i++) {
		struct rql_strbuf sql = {0};
		int64_t count = 0;
		rql_strbuf_printf(&sql, "SELECT count(*) FROM %s = lower(", kinds[i][0]);
		rql_strbuf_put_literal(&sql, n->name, strlen(n->name));
		rql_strbuf_put(&sql, ") AND lower(schema_name) = lower(");
		rql_strbuf_put_literal(&sql, n->schema, strlen(n->schema));
		rql_strbuf_put(&sql, ") AND database_name = ");
		rql_strbuf_put_literal(&sql, s->db->name, strlen(s->db->name));
		bool there = rql_host_query_int(s->host, rql_strbuf_text(&sql), &count, NULL) == RQL_OK && count > 0;
		rql_strbuf_free(&sql);
		if (there)
			return kinds[i][1];
	}
	return NULL;
}

static rql_status no_such_view(struct rql_session *s, const struct view_name *n, const char *verb,
                               struct rql_error *err)
{
	const char *kind = host_object(s, n);
	if (kind)
		return rql_error_set(err, RQL_ERROR_STATEMENT,
		                     "Catalog Error: Existing object %s is of type %s, trying to %s type "
		                     "Materialized View",
		                     n->name, kind, verb);
	return rql_error_set(err, RQL_ERROR_STATEMENT, "Catalog Error: Materialized View with name %s does not exist!",
	                     n->name);
}

/* ---- DuckDB's side ---- */
/* Statements separated by semicolons in one transaction of the user's connection; all or nothing. */
static rql_status transact(struct rql_session *s, const char *sql, bool commit, struct rql_error *err)
{
	RQL_TRY(rql_host_query(s->host, "BEGIN TRANSACTION", NULL, err));
	rql_status status = rql_host_query(s->host, sql, NULL, err);
	if (status == RQL_OK && commit)
		status = rql_host_query(s->host, "COMMIT", NULL, err);
	if (status != RQL_OK || !commit)
		(void)rql_host_query(s->host, "ROLLBACK", NULL, NULL);
	return status;
}

static char *create_view_sql(const struct rql_database *db, const struct rql_structure *v, bool or_replace)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_printf(&sql, "CREATE %sVIEW ", or_replace ? "OR REPLACE " : "");
	put_qualified(&sql, db, v->schema, v->name);
	rql_strbuf_put(&sql, " AS ");
	rql_strbuf_put(&sql, v->query);
	return rql_strbuf_take(&sql);
}

static char *read_view_sql(struct rql_database *db, struct rql_host_con *con, const char *schema, const char *name)
{
	struct rql_strbuf sql = {0};
	char *text = NULL;
	rql_strbuf_put(&sql, "SELECT sql FROM duckdb_views() WHERE database_name = ");
	rql_strbuf_put_literal(&sql, db->name, strlen(db->name));
	rql_strbuf_put(&sql, " AND lower(schema_name) = lower(");
	rql_strbuf_put_literal(&sql, schema, strlen(schema));
	rql_strbuf_put(&sql, ") AND lower(view_name) = lower(");
	rql_strbuf_put_literal(&sql, name, strlen(name));
	rql_strbuf_put(&sql, ")");
	if (rql_host_query_text(con, rql_strbuf_text(&sql), &text, NULL) != RQL_OK)
		text = NULL;
	rql_strbuf_free(&sql);
	return text;
}

/* The view and its row appear in one transaction. */
static rql_status store_view(struct rql_session *s, struct rql_structure *v, bool or_replace, struct rql_error *err)
{
	char *create = create_view_sql(s->db, v, or_replace), *put = rql_store_put_sql(s->db, v);
	struct rql_strbuf sql = {0};
	rql_status status = create && put ? RQL_OK : rql_error_memory(err, 0, "a view");
	if (status == RQL_OK) {
		rql_strbuf_printf(&sql, "%s\n; %s", create, put);
		status = transact(s, rql_strbuf_text(&sql), true, err);
	}
	rql_strbuf_free(&sql);
	free(create);
	free(put);
	RQL_TRY(status);
	free(v->view_sql);
	v->view_sql = read_view_sql(s->db, s->host, v->schema, v->name);
	return RQL_OK;
}

/* Names that are taken, columns that DuckDB does not like in a view: its own errors, before the build. */
static rql_status try_view(struct rql_session *s, const struct rql_structure *v, bool or_replace, struct rql_error *err)
{
	char *create = create_view_sql(s->db, v, or_replace);
	rql_status status = create ? transact(s, create, false, err) : rql_error_memory(err, 0, "a view");
	free(create);
	return status;
}

/* ---- CREATE ---- */
static char *statement_text(const struct rql_structure *v, const struct rql_view_options *options)
{
	struct rql_strbuf out = {0};
	rql_strbuf_put(&out, "CREATE MATERIALIZED VIEW ");
	if (strcmp(v->schema, "main") != 0) {
		rql_put_name(&out, v->schema);
		rql_strbuf_putc(&out, '.');
	}
	rql_put_name(&out, v->name);
	rql_strbuf_put(&out, " WITH (");
	rql_view_options_print(&out, options);
	rql_strbuf_put(&out, ") AS ");
	rql_strbuf_put(&out, v->query);
	rql_strbuf_putc(&out, ';');
	return rql_strbuf_take(&out);
}

static char *trimmed(const char *query)
{
	size_t length = strlen(query);
	while (length && strchr(" \t\r\n;", query[length - 1]))
		length--;
	return strndup(query, length);
}

static rql_status describe(struct rql_session *s, const struct rql_statement *st, const struct view_name *n,
                           const struct rql_view_options *options, struct rql_structure **out, struct rql_error *err)
{
	struct rql_structure *v = rql_structure_new();
	if (!v)
		return rql_error_memory(err, sizeof *v, "a structure");
	struct rql_strbuf text = {0};
	rql_view_options_print(&text, options);
	v->kind = RQL_STRUCTURE_CUBE;
	v->refresh = options->refresh;
	v->unit_wanted = options->unit_wanted;
	v->unit = options->unit;
	v->database = strdup(s->db->name);
	v->schema = strdup(n->schema);
	v->name = strdup(n->name);
	v->query = trimmed(st->query);
	v->options = rql_strbuf_take(&text);
	if (v->schema && v->name && v->query)
		v->statement = statement_text(v, options);
	rql_status status = rql_host_query_text(s->host, "SELECT current_setting('search_path')", &v->search_path, err);
	if (status == RQL_OK && (!v->database || !v->options || !v->statement ||
	                         !rql_structure_set_text(&v->layout, options->layout)))
		status = rql_error_memory(err, sizeof *v, "a structure");
	if (status != RQL_OK) {
		rql_structure_release(v);
		return status;
	}
	*out = v;
	return RQL_OK;
}

/* The definition is what the loader binds (default settings, committed state), so that a rebuild after reopening
 * means the same. A session in
 * which it means something else must say so now. */
static rql_status define(struct rql_session *s, struct rql_structure *v, struct rql_error *err)
{
	struct rql_plan_context ctx = rql_session_context(s);
	struct rql_definition *mine = NULL, *common = NULL;
	char *source = NULL;
	RQL_TRY(rql_definition_make(&ctx, v->query, &mine, err));
	RQL_TRY(rql_build_define(s->db, v, mine, err));
	source = strdup(v->definition_hash);
	rql_status status = rql_build_bind(s->db, v, &common, err);
	if (status == RQL_OK)
		status = rql_build_define(s->db, v, common, err);
	if (status == RQL_OK && (!source || strcmp(source, v->definition_hash) != 0))
		status = rql_error_set(
			err, RQL_ERROR_STATEMENT,
			"Binder Error: the query of %s means something else under the default settings than in this session (a "
			"setting such as integer_division or TimeZone changes it); write it so that it does not depend on them",
			v->name);
	free(source);
	return status;
}

/* With the build lock held. */
static rql_status create_locked(struct rql_session *s, const struct rql_statement *st, const struct view_name *n,
                                const struct rql_view_options *options, struct rql_error *err)
{
	struct rql_structure *old = rql_catalog_find(s->db->catalog, s->db->name, n->schema, n->name), *v = NULL;
	rql_status status = RQL_OK;
	if (st->if_not_exists && (old || host_object(s, n)))
		goto done;
	status = describe(s, st, n, options, &v, err);
	if (status != RQL_OK)
		goto done;
	status = define(s, v, err);
	if (status == RQL_OK)
		status = try_view(s, v, st->or_replace, err);
	if (status == RQL_OK)
		status = rql_build_run(s, v, err);
	if (status != RQL_OK)
		goto done;
	rql_build_save(s->db, v);
	status = store_view(s, v, st->or_replace, err);
	if (status != RQL_OK) {
		if (v->side_file)
			rql_side_forget(&s->db->side, v->side_file);
		goto done;
	}
	v->id = old ? old->id : 0;
	rql_catalog_schema_changed(s->db->catalog);
	status = rql_catalog_publish(s->db->catalog, v, err);
	v = NULL;
done:
	rql_structure_release(v);
	rql_structure_release(old);
	return status;
}

static void unlock_and_sync(struct rql_session *s)
{
	rql_build_unlock(s);
	if (atomic_exchange(&s->db->sync_wanted, false))
		rql_view_sync(s->db);
}

rql_status rql_view_create(struct rql_session *s, const char *sql, const struct rql_statement *st,
                           struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_view_options options;
	struct view_name n = {0};
	rql_status status =
		arena ? not_inside(s, "CREATE MATERIALIZED VIEW", err) : rql_error_memory(err, 0, "a statement");
	if (status == RQL_OK)
		status = rql_view_options_read(arena, sql, st, &options, err);
	if (status == RQL_OK)
		status = rql_device_check_unit(s, sql, options.unit_wanted, options.unit, options.unit_position, err);
	if (status == RQL_OK)
		status = not_read_only(s, "CREATE", err);
	if (status == RQL_OK)
		status = resolve(s, sql, st, &n, err);
	if (status == RQL_OK && strcasecmp(n.schema, "rayql") == 0)
		status = rql_error_at(err, sql, st->name.position, "Catalog Error: the schema rayql is RayQL's own");
	if (status == RQL_OK)
		status = rql_build_lock(s, false, err);
	if (status == RQL_OK) {
		status = create_locked(s, st, &n, &options, err);
		unlock_and_sync(s);
	}
	free_name(&n);
	rql_arena_free(arena);
	return status;
}

/* ---- REFRESH ---- */
static void invalidate(struct rql_database *db, const struct rql_structure *old, const char *reason)
{
	struct rql_structure *v = rql_structure_clone(old);
	if (!v)
		return;
	if (v->cube)
		v->release_cube(v->cube);
	v->cube = NULL;
	v->state = RQL_STATE_INVALID;
	v->side_file_valid = false;
	(void)rql_structure_set_text(&v->reason, reason);
	(void)rql_catalog_replace(db->catalog, old, v);
}

/* From the side file of the session before, when nothing has moved since the database was opened. */
static bool load_side(struct rql_session *session, struct rql_structure *v)
{
	struct rql_database *db = session->db;
	if (!v->side_file_valid || !v->side_file)
		return false;
	for (uint32_t i = 0; i < v->table_count; i++) {
		if (rql_table_being_written(db->catalog, v->tables[i]) || rql_table_version(db->catalog, v->tables[i]) != 0)
			return false;
		v->versions[i] = 0;
	}
	struct rql_error why = {0};
	struct rql_cube *cube = NULL;
	uint64_t start = rql_now_ns();
	if (rql_side_read(&db->side, v->side_file, v->definition_hash, &db->budget, &cube, &why) != RQL_OK) {
		struct rql_strbuf note = {0};
		rql_strbuf_printf(&note, "its side file was not used: %s", rql_error_message(&why));
		(void)rql_structure_set_text(&v->note, rql_strbuf_text(&note));
		rql_strbuf_free(&note);
		rql_error_clear(&why);
		v->side_file_valid = false;
		return false;
	}
	v->cube = cube;
	v->retain_cube = rql_cube_retain;
	v->release_cube = rql_cube_release;
	v->state = RQL_STATE_READY;
	v->build_ms = (double)(rql_now_ns() - start) / 1e6;
	(void)rql_structure_set_text(&v->note, "read from its side file");
	rql_device_place(session, v);
	return true;
}

/* While a stale structure is rebuilt its old contents, which nobody may use, make room. */
static struct rql_structure *publish_building(struct rql_database *db, struct rql_structure *old)
{
	if (rql_structure_fresh(db->catalog, old))
		return old;
	struct rql_structure *b = rql_structure_clone(old);
	if (!b)
		return old;
	if (b->cube)
		b->release_cube(b->cube);
	b->cube = NULL;
	b->state = RQL_STATE_BUILDING;
	rql_structure_retain(b);
	if (!rql_catalog_replace(db->catalog, old, b)) {
		rql_structure_release(b);
		return old;
	}
	rql_structure_release(old);
	return b;
}

/* A build that failed: what was there before stays when it is fresh; else the reason is kept, and an interrupted one
 * may be tried again. */
static void publish_failure(struct rql_database *db, const struct rql_structure *now, rql_status status,
                            const char *message)
{
	if (now->state != RQL_STATE_BUILDING)
		return;
	struct rql_structure *v = rql_structure_clone(now);
	if (!v)
		return;
	bool again = status == RQL_ERROR_INTERRUPTED || status == RQL_ERROR_STALE;
	struct rql_strbuf text = {0};
	rql_strbuf_printf(&text, "it could not be rebuilt: %s", message);
	v->state = again ? RQL_STATE_UNBUILT : RQL_STATE_INVALID;
	(void)rql_structure_set_text(again ? &v->note : &v->reason, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	(void)rql_catalog_replace(db->catalog, now, v);
}

/* With the build lock held; takes over the reference to old. */
static rql_status rebuild_locked(struct rql_session *s, struct rql_structure *old, bool use_side, struct rql_error *err)
{
	struct rql_database *db = s->db;
	struct rql_definition *def = NULL;
	struct rql_structure *v = NULL;
	struct rql_error failed = {0};
	bool has_query = old->query && old->statement;
	rql_status status =
		has_query ? rql_build_bind(db, old, &def, &failed)
				  : rql_error_set(&failed, RQL_ERROR_CORRUPT, "%s", old->reason ? old->reason : "no definition");
	if (status == RQL_OK) {
		v = rql_structure_clone(old);
		if (v)
			status = rql_build_define(db, v, def, &failed);
		else
			rql_definition_release(def), status = rql_error_memory(&failed, sizeof *v, "a structure");
	}
	if (status != RQL_OK) {
		if (status != RQL_ERROR_MEMORY && has_query)
			invalidate(db, old, rql_error_message(&failed));
		goto done;
	}
	(void)rql_structure_set_text(&v->reason, NULL);
	if (!use_side || !load_side(s, v)) {
		if (v->cube)
			v->release_cube(v->cube);
		v->cube = NULL;
		old = publish_building(db, old);
		rql_plan_cache_clear(s->cache); /* its plans hold the old contents */
		status = rql_build_run(s, v, &failed);
		if (status == RQL_OK)
			rql_build_save(db, v);
		else
			publish_failure(db, old, status, rql_error_message(&failed));
	}
	if (status == RQL_OK) {
		status = rql_catalog_publish(db->catalog, v, &failed);
		v = NULL;
	}
done:
	rql_structure_release(v);
	rql_structure_release(old);
	rql_error_move(err, &failed);
	return status;
}

rql_status rql_view_refresh(struct rql_session *s, const char *sql, const struct rql_statement *st,
                            struct rql_error *err)
{
	struct view_name n = {0};
	RQL_TRY(not_inside(s, "REFRESH MATERIALIZED VIEW", err));
	RQL_TRY(resolve(s, sql, st, &n, err));
	rql_status status = rql_build_lock(s, false, err);
	if (status == RQL_OK) {
		struct rql_structure *v = rql_catalog_find(s->db->catalog, s->db->name, n.schema, n.name);
		status = v ? rebuild_locked(s, v, false, err) : no_such_view(s, &n, "refresh", err);
		unlock_and_sync(s);
	}
	free_name(&n);
	return status;
}

rql_status rql_view_make_ready(struct rql_session *s, struct rql_structure *structure, struct rql_error *err)
{
	RQL_TRY(rql_build_lock(s, true, err));
	rql_status status;
	struct rql_structure *v = rql_catalog_find_id(s->db->catalog, structure->id);
	bool written = false; /* a REFRESH waits for writers; a query has the host to ask */
	for (uint32_t i = 0; v && i < v->table_count; i++)
		written = written || rql_table_being_written(s->db->catalog, v->tables[i]);
	if (written) {
		status = rql_error_set(err, RQL_ERROR_STALE, "another connection is writing to its tables");
		rql_structure_release(v);
	} else if (!v) {
		status = rql_error_set(err, RQL_ERROR_STALE, "it was dropped meanwhile");
	} else if (rql_structure_fresh(s->db->catalog, v)) {
		rql_structure_release(v);
		status = RQL_OK;
	} else if (v->state == RQL_STATE_INVALID) {
		status = rql_error_set(err, RQL_ERROR_STALE, "%s", v->reason ? v->reason : "its definition is not valid");
		rql_structure_release(v);
	} else {
		status = rebuild_locked(s, v, true, err);
	}
	unlock_and_sync(s);
	return status;
}

/* ---- DROP ---- */
static rql_status drop_locked(struct rql_session *s, struct rql_structure *v, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	char *row = rql_store_delete_sql(s->db, v->schema, v->name);
	rql_strbuf_put(&sql, "DROP VIEW IF EXISTS ");
	put_qualified(&sql, s->db, v->schema, v->name);
	rql_strbuf_printf(&sql, "; %s", row ? row : "");
	rql_status status =
		row && !sql.failed ? transact(s, rql_strbuf_text(&sql), true, err) : rql_error_memory(err, 0, "DROP");
	free(row);
	rql_strbuf_free(&sql);
	RQL_TRY(status);
	rql_catalog_remove(s->db->catalog, v->id);
	rql_catalog_schema_changed(s->db->catalog);
	if (v->side_file)
		rql_side_forget(&s->db->side, v->side_file);
	return RQL_OK;
}

rql_status rql_view_drop(struct rql_session *s, const char *sql, const struct rql_statement *st, struct rql_error *err)
{
	struct view_name n = {0};
	RQL_TRY(not_inside(s, "DROP MATERIALIZED VIEW", err));
	RQL_TRY(not_read_only(s, "DROP", err));
	RQL_TRY(resolve(s, sql, st, &n, err));
	rql_status status = rql_build_lock(s, false, err);
	if (status == RQL_OK) {
		struct rql_structure *v = rql_catalog_find(s->db->catalog, s->db->name, n.schema, n.name);
		if (v)
			status = drop_locked(s, v, err);
		else if (!st->if_exists || host_object(s, &n))
			status = no_such_view(s, &n, "drop", err);
		rql_structure_release(v);
		unlock_and_sync(s);
	}
	free_name(&n);
	return status;
}

/* ---- definitions after reopening, and what plain SQL did to them ---- */
struct rql_structure *rql_view_load(void *session, struct rql_structure *structure)
{
	struct rql_session *s = session;
	struct rql_definition *def = NULL;
	struct rql_error why = {0};
	if (structure->definition) {
		rql_structure_retain(structure);
		return structure;
	}
	if (structure->state == RQL_STATE_INVALID)
		return NULL;
	rql_status status = rql_build_bind(s->db, structure, &def, &why);
	struct rql_structure *v = status == RQL_OK ? rql_structure_clone(structure) : NULL;
	if (status == RQL_OK && !v)
		rql_definition_release(def);
	if (v && (status = rql_build_define(s->db, v, def, &why)) != RQL_OK) {
		rql_structure_release(v);
		v = NULL;
	}
	if (!v) {
		if (status == RQL_ERROR_HOST || status == RQL_ERROR_STATEMENT)
			invalidate(s->db, structure, rql_error_message(&why));
		rql_error_clear(&why);
		return NULL;
	}
	rql_structure_retain(v);
	if (!rql_catalog_replace(s->db->catalog, structure, v)) { /* another session was first */
		rql_structure_release(v);
		v = rql_catalog_find_id(s->db->catalog, structure->id);
		if (v && !v->definition) {
			rql_structure_release(v);
			v = NULL;
		}
	}
	return v;
}

/* Does the definition still bind? An invalid one that does again may be built again. */
static void check_binding(struct rql_database *db, const struct rql_structure *v)
{
	struct rql_definition *def = NULL;
	struct rql_error why = {0};
	rql_status status = rql_build_bind(db, v, &def, &why);
	if (status == RQL_OK) {
		rql_definition_release(def);
		struct rql_structure *again = v->state == RQL_STATE_INVALID ? rql_structure_clone(v) : NULL;
		if (again) {
			again->state = RQL_STATE_UNBUILT;
			(void)rql_structure_set_text(&again->reason, NULL);
			(void)rql_catalog_replace(db->catalog, v, again);
		}
	} else if ((status == RQL_ERROR_HOST || status == RQL_ERROR_STATEMENT) && v->state != RQL_STATE_INVALID) {
		invalidate(db, v, rql_error_message(&why));
	}
	rql_error_clear(&why);
}

static void sync_one(struct rql_database *db, struct rql_structure *v)
{
	pthread_mutex_lock(&db->loader_lock);
	char *now = read_view_sql(db, db->loader, v->schema, v->name);
	bool gone = !now || (v->view_sql && strcmp(now, v->view_sql) != 0);
	if (gone) {
		char *row = rql_store_delete_sql(db, v->schema, v->name);
		/* When the row cannot be deleted now it is harmless: a definition without its view is passed over at opening.
		 * */
		if (row && !db->read_only)
			(void)rql_host_query(db->loader, row, NULL, NULL);
		free(row);
	}
	pthread_mutex_unlock(&db->loader_lock);
	free(now);
	if (gone) {
		rql_catalog_remove(db->catalog, v->id);
		if (v->side_file)
			rql_side_forget(&db->side, v->side_file);
		return;
	}
	if (v->query && !rql_structure_fresh(db->catalog, v))
		check_binding(db, v);
}

void rql_view_sync(struct rql_database *db)
{
	if (rql_catalog_structure_count(db->catalog) == 0)
		return;
	/* Not beside a CREATE or DROP MATERIALIZED VIEW, which is between DuckDB's catalog and ours. */
	if (pthread_mutex_trylock(&db->build_lock) != 0) {
		atomic_store(&db->sync_wanted, true);
		if (pthread_mutex_trylock(&db->build_lock) != 0) /* its holder may have looked at the flag just before */
			return;
		atomic_store(&db->sync_wanted, false);
	}
	struct rql_arena *arena = rql_arena_new();
	struct rql_structure **list = NULL;
	uint32_t count = 0;
	if (arena && rql_catalog_structures(db->catalog, arena, &list, &count, NULL) == RQL_OK) {
		for (uint32_t i = 0; i < count; i++) {
			sync_one(db, list[i]);
			rql_structure_release(list[i]);
		}
	}
	rql_arena_free(arena);
	pthread_mutex_unlock(&db->build_lock);
}
