/* CREATE, REFRESH and DROP of MATERIALIZED VIEW and of INDEX ... USING: DuckDB's catalog, our row in the database and
 * the structure change together or not at all. A view is an object of DuckDB's, too, so it can be read by name. Of an
 * index DuckDB knows nothing: its table can be altered and dropped as if it were not there. */
#include "exec/names.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- what DuckDB has ---- */
static rql_status host_has_index(struct rql_database *db, const char *schema, const char *name, bool *out,
                                 struct rql_error *err)
{
	return rql_host_has(db, "duckdb_indexes", "index_name", schema, name, out, err);
}

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

static rql_status no_such_index(struct rql_session *s, const struct rql_name *n, const char *verb,
                                struct rql_error *err)
{
	bool host = false;
	RQL_TRY(host_has_index(s->db, n->schema, n->name, &host, err));
	if (host)
		return rql_error_set(
			err, RQL_ERROR_STATEMENT,
			"Catalog Error: the index %s is DuckDB's own, which is always up to date: there is nothing "
			"to %s",
			n->name, verb);
	return rql_error_set(err, RQL_ERROR_STATEMENT, "Catalog Error: Index with name %s does not exist!", n->name);
}

/* The structures that a statement can mean: by the kind of their CREATE. */
struct noun {
	enum rql_statement_kind create;
	const char *what, *refresh, *drop; /* in messages */
	rql_status (*no_such)(struct rql_session *s, const struct rql_name *n, const char *verb, struct rql_error *err);
};
static const struct noun views = {RQL_STATEMENT_CREATE_VIEW, "materialized views", "REFRESH MATERIALIZED VIEW",
                                  "DROP MATERIALIZED VIEW", no_such_view};
static const struct noun indexes = {RQL_STATEMENT_CREATE_INDEX, "indexes of RayQL's", "REFRESH INDEX",
                                    "DROP INDEX of columns", no_such_index};

static const struct noun *noun_of(const struct rql_statement *st)
{
	return st->kind == RQL_STATEMENT_REFRESH_VIEW || st->kind == RQL_STATEMENT_DROP_VIEW ? &views : &indexes;
}

/* ---- CREATE ---- */
static rql_status create_view_locked(struct rql_session *s, const struct rql_statement *st, const struct rql_name *n,
                                     const struct rql_structure_options *options, struct rql_error *err)
{
	const struct rql_plan_context plan = rql_session_plan_context(s);
	struct rql_structures *all = &s->db->structures;
	struct rql_structure *old = rql_catalog_find(s->db->catalog, s->db->name, n->schema, n->name), *v = NULL;
	struct rql_strbuf sql = {0};
	const char *kind = NULL;
	rql_status status = RQL_OK;
	if (st->if_not_exists && !old)
		status = rql_host_object(s->db, n, &kind, err);
	if (status != RQL_OK || (st->if_not_exists && (old || kind)))
		goto done;
	if (old && old->kind->statement != RQL_STATEMENT_CREATE_VIEW)
		status =
			rql_error_set(err, RQL_ERROR_STATEMENT, "Catalog Error: Index with name \"%s\" already exists!", n->name);
	if (status == RQL_OK)
		status = rql_structure_kind_of(st->kind)->describe(&plan, all, NULL, st, n->schema, options, &v, err);
	if (status != RQL_OK)
		goto done;
	rql_strbuf_printf(&sql, "CREATE %sVIEW ", st->or_replace ? "OR REPLACE " : "");
	rql_put_qualified(&sql, s->db->name, v->schema, v->name);
	rql_strbuf_put(&sql, " AS ");
	rql_strbuf_put(&sql, v->query);
	status = sql.failed ? rql_error_memory(err, 0, "a view")
	                    : rql_structure_create(&s->build, v, old, rql_strbuf_text(&sql), err);
done:
	rql_strbuf_free(&sql);
	rql_structure_release(old);
	return status;
}

rql_status rql_view_create(struct rql_session *s, const char *sql, const struct rql_statement *st,
                           struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_structure_options options;
	struct rql_name n = {0};
	rql_status status =
		arena ? rql_refuse_inside(s, "CREATE MATERIALIZED VIEW", err) : rql_error_memory(err, 0, "a statement");
	if (status == RQL_OK)
		status = rql_structure_kind_of(st->kind)->options(arena, sql, st, &options, err);
	if (status == RQL_OK)
		status = rql_device_check_unit(&s->build, sql, &options, err);
	if (status == RQL_OK)
		status = rql_refuse_read_only(s, "CREATE", err);
	if (status == RQL_OK)
		status = rql_name_resolve(s, sql, &st->name, views.what, &n, err);
	if (status == RQL_OK && strcasecmp(n.schema, "rayql") == 0)
		status = rql_error_at(err, sql, st->name.position, "Catalog Error: the schema rayql is RayQL's own");
	if (status == RQL_OK)
		status = rql_structures_lock(&s->build, false, err);
	if (status == RQL_OK) {
		rql_opening_begin(s->db, &s->settings);
		status = create_view_locked(s, st, &n, &options, err);
		rql_structures_unlock(&s->db->structures);
	}
	rql_name_free(&n);
	rql_arena_free(arena);
	return status;
}

/* Takes c over. */
static rql_status create_index_locked(struct rql_session *s, const struct rql_statement *st, struct rql_structure *c,
                                      struct rql_error *err)
{
	struct rql_structure *old = rql_catalog_find(s->db->catalog, s->db->name, c->schema, c->name);
	rql_status status = RQL_OK;
	bool host = false;
	if (!old)
		status = host_has_index(s->db, c->schema, c->name, &host, err);
	bool done = status != RQL_OK || (st->if_not_exists && (old || host));
	if (!done && old && old->kind->statement != RQL_STATEMENT_CREATE_INDEX)
		status = rql_error_set(err, RQL_ERROR_STATEMENT,
		                       "Catalog Error: Materialized View with name \"%s\" already exists!", c->name);
	else if (!done && (host || (old && !st->or_replace)))
		status =
			rql_error_set(err, RQL_ERROR_STATEMENT, "Catalog Error: Index with name \"%s\" already exists!", c->name);
	if (done || status != RQL_OK)
		rql_structure_release(c);
	else
		status = rql_structure_create(&s->build, c, old, NULL, err);
	rql_structure_release(old);
	return status;
}

static rql_status not_yet(const char *sql, const struct rql_statement *st, struct rql_error *err)
{
	return rql_error_at(
		err, sql, st->name.position,
		"Not implemented Error: CREATE INDEX ... USING %s is not available in this version of RayQL; USING "
		"columns, sieve, sorted, hash, rx and cgrx are, and CREATE MATERIALIZED VIEW v AS SELECT dimensions, aggregates FROM ... GROUP BY "
		"... (an ordinary CREATE INDEX is DuckDB's and works)",
		st->method);
}

rql_status rql_index_create(struct rql_session *s, const char *sql, const struct rql_statement *st,
                            struct rql_error *err)
{
	const struct rql_structure_kind *kind = rql_structure_kind_named(st->method, strlen(st->method));
	const struct rql_plan_context plan = rql_session_context(s);
	struct rql_structure_options options;
	struct rql_structure *c = NULL;
	struct rql_arena *arena = rql_arena_new();
	rql_status status =
		arena ? rql_refuse_inside(s, "CREATE INDEX ... USING columns", err) : rql_error_memory(err, 0, "a statement");
	if (status == RQL_OK && (!kind || kind->statement != RQL_STATEMENT_CREATE_INDEX))
		status = not_yet(sql, st, err);
	if (status == RQL_OK)
		status = kind->options(arena, sql, st, &options, err);
	if (status == RQL_OK)
		status = rql_device_check_unit(&s->build, sql, &options, err);
	if (status == RQL_OK)
		status = rql_refuse_read_only(s, "CREATE", err);
	if (status == RQL_OK)
		status = kind->describe(&plan, &s->db->structures, sql, st, NULL, &options, &c, err);
	rql_arena_free(arena);
	RQL_TRY(status);
	status = rql_structures_lock(&s->build, false, err);
	if (status != RQL_OK) {
		rql_structure_release(c);
		return status;
	}
	rql_opening_begin(s->db, &s->settings);
	status = create_index_locked(s, st, c, err);
	rql_structures_unlock(&s->db->structures);
	return status;
}

/* ---- REFRESH ---- */
rql_status rql_structure_refresh(struct rql_session *s, const char *sql, const struct rql_statement *st,
                                 struct rql_error *err)
{
	const struct noun *noun = noun_of(st);
	struct rql_structures *all = &s->db->structures;
	struct rql_name n = {0};
	RQL_TRY(rql_refuse_inside(s, noun->refresh, err));
	RQL_TRY(rql_name_resolve(s, sql, &st->name, noun->what, &n, err));
	rql_status status = rql_structures_lock(&s->build, false, err);
	if (status == RQL_OK) {
		struct rql_structure *v = rql_structure_find(all, n.schema, n.name, noun->create);
		status = v ? rql_structure_rebuild(&s->build, v, false, err) : noun->no_such(s, &n, "refresh", err);
		rql_structures_unlock(all);
	}
	rql_name_free(&n);
	return status;
}

/* ---- DROP ---- */
bool rql_index_is_ours(struct rql_session *s, const char *sql, const struct rql_statement *st)
{
	struct rql_name n = {0};
	struct rql_error ignored = {0};
	struct rql_structure *c = rql_catalog_find(s->db->catalog, s->db->name, NULL, st->name.name);
	bool ours = c != NULL;
	rql_structure_release(c);
	/* DuckDB is asked about schemas only when we have something of that name. */
	ours = ours && rql_name_resolve(s, sql, &st->name, indexes.what, &n, &ignored) == RQL_OK;
	c = ours ? rql_structure_find(&s->db->structures, n.schema, n.name, indexes.create) : NULL;
	ours = c != NULL;
	rql_structure_release(c);
	rql_name_free(&n);
	rql_error_clear(&ignored);
	return ours;
}

static rql_status drop_found(struct rql_session *s, struct rql_structure *v, struct rql_error *err)
{
	struct rql_structures *all = &s->db->structures;
	struct rql_strbuf sql = {0};
	struct rql_definition_change change = {.schema = v->schema, .name = v->name};
	rql_status status = RQL_OK;
	if (v->kind->statement == RQL_STATEMENT_CREATE_VIEW) {
		rql_strbuf_put(&sql, "DROP VIEW IF EXISTS ");
		rql_put_qualified(&sql, s->db->name, v->schema, v->name);
		change.sql = rql_strbuf_text(&sql);
	}
	if (sql.failed)
		status = rql_error_memory(err, 0, "DROP");
	else if (!v->automatic)
		status = rql_refuse_read_only(s, "DROP", err);
	if (status == RQL_OK && !v->automatic)
		status = rql_definition_change(all, &change, &s->progress.cancel, err);
	rql_strbuf_free(&sql);
	RQL_TRY(status);
	rql_catalog_remove(s->db->catalog, v->id);
	rql_catalog_schema_changed(s->db->catalog);
	if (v->side_file)
		rql_side_forget(&all->side, v->side_file);
	return RQL_OK;
}

rql_status rql_structure_drop(struct rql_session *s, const char *sql, const struct rql_statement *st,
                              struct rql_error *err)
{
	const struct noun *noun = noun_of(st);
	struct rql_structures *all = &s->db->structures;
	struct rql_name n = {0};
	RQL_TRY(rql_refuse_inside(s, noun->drop, err));
	if (noun == &views)
		RQL_TRY(rql_refuse_read_only(s, "DROP", err));
	RQL_TRY(rql_name_resolve(s, sql, &st->name, noun->what, &n, err));
	rql_status status = rql_structures_lock(&s->build, false, err);
	if (status == RQL_OK) {
		struct rql_structure *v = rql_structure_find(all, n.schema, n.name, noun->create);
		const char *kind = NULL; /* of an ordinary view or table, which IF EXISTS does not mean */
		if (v)
			status = drop_found(s, v, err);
		else if (st->if_exists && noun == &views)
			status = rql_host_object(s->db, &n, &kind, err);
		if (status == RQL_OK && !v && (!st->if_exists || kind))
			status = noun->no_such(s, &n, "drop", err);
		rql_structure_release(v);
		rql_structures_unlock(all);
	}
	rql_name_free(&n);
	return status;
}
