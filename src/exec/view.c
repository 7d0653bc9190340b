/* CREATE, REFRESH and DROP MATERIALIZED VIEW: DuckDB's catalog, our row in the database and the structure change
 * together or not
 * at all. */
#include "exec/names.h"

#include "exec/structure.h"
#include "exec/view_build.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static rql_status no_such_view(struct rql_session *s, const struct rql_name *n, const char *verb, struct rql_error *err)
{
	const char *kind = NULL;
	RQL_TRY(rql_host_object(s->db, n, &kind, err));
	if (kind)
		return rql_error_set(err, RQL_ERROR_STATEMENT,
		                     "Catalog Error: Existing object %s is of type %s, trying to %s type "
		                     "Materialized View",
		                     n->name, kind, verb);
	return rql_error_set(err, RQL_ERROR_STATEMENT, "Catalog Error: Materialized View with name %s does not exist!",
	                     n->name);
}

static char *create_view_sql(const struct rql_database *db, const struct rql_structure *v, bool or_replace)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_printf(&sql, "CREATE %sVIEW ", or_replace ? "OR REPLACE " : "");
	rql_put_qualified(&sql, db, v->schema, v->name);
	rql_strbuf_put(&sql, " AS ");
	rql_strbuf_put(&sql, v->query);
	return rql_strbuf_take(&sql);
}

/* The view and its row appear in one transaction. try_only: names that are taken, columns that DuckDB does not like
 * in a view: its own errors, before the build. */
static rql_status store_view(struct rql_session *s, struct rql_structure *v, bool or_replace, bool try_only,
                             struct rql_error *err)
{
	struct rql_error ignored = {0};
	char *create = create_view_sql(s->db, v, or_replace), *text = NULL;
	if (!create)
		return rql_error_memory(err, 0, "a view");
	struct rql_store_change change = {
		.sql = create, .search_path = v->search_path, .put = v, .try_only = try_only};
	rql_status status = rql_store_change(s->db, &change, &s->progress.cancel, err);
	free(create);
	RQL_TRY(status);
	if (!try_only && rql_view_text(s->db, v->schema, v->name, &text, &ignored) == RQL_OK) {
		free(v->view_sql);
		v->view_sql = text;
	}
	rql_error_clear(&ignored);
	return RQL_OK;
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

static rql_status describe(struct rql_session *s, const struct rql_statement *st, const struct rql_name *n,
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
	rql_status status =
		rql_host_fold_text(s->host, "system.main.current_setting('search_path')", &v->search_path, err);
	if (status == RQL_OK &&
	    (!v->database || !v->options || !v->statement || !rql_structure_set_text(&v->layout, options->layout)))
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
	struct rql_plan_context ctx = rql_session_plan_context(s);
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
static rql_status create_locked(struct rql_session *s, const struct rql_statement *st, const struct rql_name *n,
                                const struct rql_view_options *options, struct rql_error *err)
{
	struct rql_structure *old = rql_catalog_find(s->db->catalog, s->db->name, n->schema, n->name), *v = NULL;
	rql_status status = RQL_OK;
	const char *kind = NULL;
	if (st->if_not_exists && !old)
		status = rql_host_object(s->db, n, &kind, err);
	if (status != RQL_OK || (st->if_not_exists && (old || kind)))
		goto done;
	if (old && old->kind != RQL_STRUCTURE_CUBE) {
		status =
			rql_error_set(err, RQL_ERROR_STATEMENT, "Catalog Error: Index with name \"%s\" already exists!", n->name);
		goto done;
	}
	status = describe(s, st, n, options, &v, err);
	if (status != RQL_OK)
		goto done;
	status = define(s, v, err);
	if (status == RQL_OK)
		status = store_view(s, v, st->or_replace, true, err);
	if (status == RQL_OK)
		status = rql_structure_build(s, v, err);
	if (status != RQL_OK)
		goto done;
	rql_build_save(s->db, v);
	status = store_view(s, v, st->or_replace, false, err);
	if (status != RQL_OK) {
		if (v->side_file)
			rql_side_forget(&s->db->side, v->side_file);
		goto done;
	}
	if (old)
		rql_side_replaced(&s->db->side, old->side_file);
	v->id = old ? old->id : 0;
	rql_catalog_schema_changed(s->db->catalog);
	status = rql_catalog_publish(s->db->catalog, v, err);
	v = NULL;
done:
	rql_structure_release(v);
	rql_structure_release(old);
	return status;
}

rql_status rql_view_create(struct rql_session *s, const char *sql, const struct rql_statement *st,
                           struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_view_options options;
	struct rql_name n = {0};
	rql_status status =
		arena ? rql_refuse_inside(s, "CREATE MATERIALIZED VIEW", err) : rql_error_memory(err, 0, "a statement");
	if (status == RQL_OK)
		status = rql_view_options_read(arena, sql, st, &options, err);
	if (status == RQL_OK)
		status = rql_device_check_unit(s, sql, options.unit_wanted, options.unit, options.unit_position, err);
	if (status == RQL_OK)
		status = rql_refuse_read_only(s, "CREATE", err);
	if (status == RQL_OK)
		status = rql_name_resolve(s, sql, &st->name, "materialized views", &n, err);
	if (status == RQL_OK && strcasecmp(n.schema, "rayql") == 0)
		status = rql_error_at(err, sql, st->name.position, "Catalog Error: the schema rayql is RayQL's own");
	if (status == RQL_OK)
		status = rql_build_lock(s, false, err);
	if (status == RQL_OK) {
		status = create_locked(s, st, &n, &options, err);
		rql_structures_unlock(s);
	}
	rql_name_free(&n);
	rql_arena_free(arena);
	return status;
}

/* ---- REFRESH ---- */
rql_status rql_view_refresh(struct rql_session *s, const char *sql, const struct rql_statement *st,
                            struct rql_error *err)
{
	struct rql_name n = {0};
	RQL_TRY(rql_refuse_inside(s, "REFRESH MATERIALIZED VIEW", err));
	RQL_TRY(rql_name_resolve(s, sql, &st->name, "materialized views", &n, err));
	rql_status status = rql_build_lock(s, false, err);
	if (status == RQL_OK) {
		struct rql_structure *v = rql_structure_find(s->db, n.schema, n.name, RQL_STRUCTURE_CUBE);
		status = v ? rql_structure_rebuild(s, v, false, err) : no_such_view(s, &n, "refresh", err);
		rql_structures_unlock(s);
	}
	rql_name_free(&n);
	return status;
}

/* ---- DROP ---- */
static rql_status drop_locked(struct rql_session *s, struct rql_structure *v, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_put(&sql, "DROP VIEW IF EXISTS ");
	rql_put_qualified(&sql, s->db, v->schema, v->name);
	char *text = rql_strbuf_take(&sql);
	struct rql_store_change change = {.sql = text, .schema = v->schema, .name = v->name};
	rql_status status = text ? rql_store_change(s->db, &change, &s->progress.cancel, err)
	                         : rql_error_memory(err, 0, "DROP");
	free(text);
	RQL_TRY(status);
	rql_catalog_remove(s->db->catalog, v->id);
	rql_catalog_schema_changed(s->db->catalog);
	if (v->side_file)
		rql_side_forget(&s->db->side, v->side_file);
	return RQL_OK;
}

rql_status rql_view_drop(struct rql_session *s, const char *sql, const struct rql_statement *st, struct rql_error *err)
{
	struct rql_name n = {0};
	RQL_TRY(rql_refuse_inside(s, "DROP MATERIALIZED VIEW", err));
	RQL_TRY(rql_refuse_read_only(s, "DROP", err));
	RQL_TRY(rql_name_resolve(s, sql, &st->name, "materialized views", &n, err));
	rql_status status = rql_build_lock(s, false, err);
	if (status == RQL_OK) {
		struct rql_structure *v = rql_structure_find(s->db, n.schema, n.name, RQL_STRUCTURE_CUBE);
		const char *kind = NULL;
		if (v)
			status = drop_locked(s, v, err);
		else if (st->if_exists)
			status = rql_host_object(s->db, &n, &kind, err);
		if (status == RQL_OK && !v && (!st->if_exists || kind))
			status = no_such_view(s, &n, "drop", err);
		rql_structure_release(v);
		rql_structures_unlock(s);
	}
	rql_name_free(&n);
	return status;
}
