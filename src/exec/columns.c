/* CREATE INDEX ... USING columns, REFRESH INDEX and DROP INDEX: the row in the database and the structure change
 * together or not at all. DuckDB knows nothing of such an index: it is no object of its catalog, and its table can
 * be altered and dropped as if it were not there. */
#include "exec/columns.h"

#include "exec/names.h"
#include "exec/structure.h"
#include "exec/view_build.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- names ---- */
static void put_given(struct rql_strbuf *out, const struct rql_qualified_name *name)
{
	const char *parts[] = {name->catalog, name->schema, name->name};
	for (size_t i = 0; i < 3; i++) {
		if (!parts[i])
			continue;
		rql_strbuf_put(out, out->length ? "." : "");
		rql_strbuf_put_ident(out, parts[i]);
	}
}

/* An index lives in the schema of its table; a qualified name can only say the same. */
static rql_status check_place(const struct rql_session *s, const char *sql, const struct rql_statement *st,
                              const struct rql_table_ref *table, struct rql_error *err)
{
	const struct rql_qualified_name *n = &st->name;
	bool database = n->schema && !n->catalog && strcasecmp(n->schema, s->db->name) == 0;
	if ((!n->catalog || strcasecmp(n->catalog, s->db->name) == 0) &&
	    (!n->schema || database || strcasecmp(n->schema, table->schema) == 0))
		return RQL_OK;
	return rql_error_at(
		err, sql, n->position,
		"Binder Error: an index lives in the schema of its table, which is \"%s\": leave out the schema",
		table->schema);
}

static rql_status host_has_index(struct rql_database *db, const struct rql_name *n, bool *out, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	int64_t count = 0;
	rql_strbuf_put(&sql, "SELECT system.main.count(*) FROM system.main.duckdb_indexes() WHERE "
	                     "system.main.lower(index_name) = system.main.lower(");
	rql_strbuf_put_literal(&sql, n->name, strlen(n->name));
	rql_strbuf_put(&sql, ") AND system.main.lower(schema_name) = system.main.lower(");
	rql_strbuf_put_literal(&sql, n->schema, strlen(n->schema));
	rql_strbuf_put(&sql, ") AND database_name = ");
	rql_strbuf_put_literal(&sql, db->name, strlen(db->name));
	rql_status status = rql_ask_int(db, rql_strbuf_text(&sql), &count, err);
	rql_strbuf_free(&sql);
	*out = count > 0;
	return status;
}

/* ---- CREATE ---- */
static void put_list(struct rql_strbuf *out, bool all, uint32_t count, const char *const *names)
{
	if (all)
		rql_strbuf_putc(out, '*');
	for (uint32_t i = 0; i < count && !all; i++) {
		rql_strbuf_put(out, i ? ", " : "");
		rql_put_name(out, names[i]);
	}
}

static void put_table(struct rql_strbuf *out, const struct rql_table_ref *table)
{
	if (strcmp(table->schema, "main") != 0) {
		rql_put_name(out, table->schema);
		rql_strbuf_putc(out, '.');
	}
	rql_put_name(out, table->table);
}

rql_status rql_columns_describe(const struct rql_database *db, const char *name, bool all,
                                const struct rql_columns_shape *shape, const struct rql_view_options *options,
                                struct rql_structure **out, struct rql_error *err)
{
	struct rql_structure *c = rql_structure_new();
	struct rql_strbuf statement = {0}, query = {0}, with = {0};
	if (!c)
		return rql_error_memory(err, sizeof *c, "a structure");
	rql_columns_options_print(&with, options);
	rql_strbuf_put(&statement, "CREATE INDEX ");
	rql_put_name(&statement, name);
	rql_strbuf_put(&statement, " ON ");
	put_table(&statement, &shape->table);
	rql_strbuf_put(&statement, " USING columns (");
	put_list(&statement, all, shape->count, shape->names);
	rql_strbuf_printf(&statement, ") WITH (%s);", rql_strbuf_text(&with));
	rql_strbuf_put(&query, "SELECT ");
	put_list(&query, all, shape->count, shape->names);
	rql_strbuf_put(&query, " FROM ");
	put_table(&query, &shape->table);
	c->kind = RQL_STRUCTURE_COLUMNS;
	c->refresh = options->refresh;
	c->unit_wanted = options->unit_wanted;
	c->unit = options->unit;
	c->database = strdup(db->name);
	c->schema = strdup(shape->table.schema);
	c->name = strdup(name);
	c->statement = rql_strbuf_take(&statement);
	c->query = rql_strbuf_take(&query);
	c->options = rql_strbuf_take(&with);
	if (!c->database || !c->schema || !c->name || !c->statement || !c->query || !c->options) {
		rql_structure_release(c);
		return rql_error_memory(err, sizeof *c, "a structure");
	}
	*out = c;
	return RQL_OK;
}

/* Builds c and makes it known; with the build lock held. Takes c over. */
static rql_status make(struct rql_session *s, struct rql_structure *c, const struct rql_structure *old,
                       struct rql_error *err)
{
	rql_status status = rql_structure_build(s, c, err);
	if (status != RQL_OK) {
		rql_structure_release(c);
		return status;
	}
	rql_build_save(s->db, c);
	status = rql_store_change(s->db, &(struct rql_store_change){.put = c}, &s->progress.cancel, err);
	if (status != RQL_OK) {
		if (c->side_file)
			rql_side_forget(&s->db->side, c->side_file);
		rql_structure_release(c);
		return status;
	}
	if (old)
		rql_side_replaced(&s->db->side, old->side_file);
	c->id = old ? old->id : 0;
	rql_catalog_schema_changed(s->db->catalog);
	return rql_catalog_publish(s->db->catalog, c, err);
}

static rql_status create_locked(struct rql_session *s, const struct rql_statement *st,
                                const struct rql_columns_shape *shape, bool all, const struct rql_view_options *options,
                                struct rql_error *err)
{
	struct rql_name n = {.schema = (char *)(uintptr_t)shape->table.schema, .name = (char *)(uintptr_t)st->name.name};
	struct rql_structure *old = rql_catalog_find(s->db->catalog, s->db->name, n.schema, n.name), *c = NULL;
	rql_status status = RQL_OK;
	bool host = false;
	if (!old)
		status = host_has_index(s->db, &n, &host, err);
	if (status != RQL_OK || (st->if_not_exists && (old || host)))
		goto done;
	if (old && old->kind != RQL_STRUCTURE_COLUMNS)
		status = rql_error_set(err, RQL_ERROR_STATEMENT,
		                       "Catalog Error: Materialized View with name \"%s\" already exists!", n.name);
	else if (host || (old && !st->or_replace))
		status =
			rql_error_set(err, RQL_ERROR_STATEMENT, "Catalog Error: Index with name \"%s\" already exists!", n.name);
	if (status == RQL_OK)
		status = rql_columns_describe(s->db, n.name, all, shape, options, &c, err);
	if (status == RQL_OK)
		status = make(s, c, old, err);
done:
	rql_structure_release(old);
	return status;
}

static rql_status not_yet(const char *sql, const struct rql_statement *st, struct rql_error *err)
{
	return rql_error_at(
		err, sql, st->name.position,
		"Not implemented Error: CREATE INDEX ... USING %s is not available in this version of RayQL; USING "
		"columns is, and CREATE MATERIALIZED VIEW v AS SELECT dimensions, aggregates FROM ... GROUP BY "
		"... (an ordinary CREATE INDEX is DuckDB's and works)",
		st->method);
}

/* The table as this session's connection finds it; refuses what is not the database's own. */
static rql_status read_statement(struct rql_session *s, const char *sql, const struct rql_statement *st, bool *all,
                                 struct rql_arena *arena, struct rql_columns_shape *shape,
                                 struct rql_view_options *options, struct rql_error *err)
{
	struct rql_strbuf table = {0};
	if (strcmp(st->method, "columns") != 0)
		return not_yet(sql, st, err);
	RQL_TRY(rql_columns_options_read(sql, st, options, err));
	RQL_TRY(rql_device_check_unit(s, sql, options->unit_wanted, options->unit, options->unit_position, err));
	RQL_TRY(rql_refuse_read_only(s, "CREATE", err));
	*all = st->column_count == 1 && strcmp(st->columns[0], "*") == 0;
	put_given(&table, &st->table);
	struct rql_error failed = {0};
	rql_status status = rql_columns_shape_read(s->host, rql_strbuf_text(&table), *all ? 0 : st->column_count,
	                                           st->columns, arena, shape, &failed);
	rql_strbuf_free(&table);
	if (status == RQL_ERROR_HOST) { /* DuckDB's caret is under a text of ours */
		const char *message = rql_error_message(&failed), *caret = strstr(message, "\n\nLINE ");
		status = rql_error_at(err, sql, st->table.position, "%.*s",
		                      (int)(caret ? (size_t)(caret - message) : strlen(message)), message);
		rql_error_clear(&failed);
	} else {
		rql_error_move(err, &failed);
	}
	RQL_TRY(status);
	RQL_TRY(rql_columns_check_table(s->db, &shape->table, err));
	return check_place(s, sql, st, &shape->table, err);
}

rql_status rql_columns_create(struct rql_session *s, const char *sql, const struct rql_statement *st,
                              struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_columns_shape shape;
	struct rql_view_options options;
	bool all = false;
	rql_status status =
		arena ? rql_refuse_inside(s, "CREATE INDEX ... USING columns", err) : rql_error_memory(err, 0, "a statement");
	if (status == RQL_OK)
		status = read_statement(s, sql, st, &all, arena, &shape, &options, err);
	if (status == RQL_OK)
		status = rql_build_lock(s, false, err);
	if (status == RQL_OK) {
		status = create_locked(s, st, &shape, all, &options, err);
		rql_structures_unlock(s);
	}
	rql_arena_free(arena);
	return status;
}

/* ---- REFRESH, DROP ---- */
static rql_status no_such_index(struct rql_session *s, const struct rql_name *n, const char *verb,
                                struct rql_error *err)
{
	bool host = false;
	RQL_TRY(host_has_index(s->db, n, &host, err));
	if (host)
		return rql_error_set(
			err, RQL_ERROR_STATEMENT,
			"Catalog Error: the index %s is DuckDB's own, which is always up to date: there is nothing "
			"to %s",
			n->name, verb);
	return rql_error_set(err, RQL_ERROR_STATEMENT, "Catalog Error: Index with name %s does not exist!", n->name);
}

rql_status rql_columns_refresh(struct rql_session *s, const char *sql, const struct rql_statement *st,
                               struct rql_error *err)
{
	struct rql_name n = {0};
	RQL_TRY(rql_refuse_inside(s, "REFRESH INDEX", err));
	RQL_TRY(rql_name_resolve(s, sql, &st->name, "indexes of RayQL's", &n, err));
	rql_status status = rql_build_lock(s, false, err);
	if (status == RQL_OK) {
		struct rql_structure *c = rql_structure_find(s->db, n.schema, n.name, RQL_STRUCTURE_COLUMNS);
		status = c ? rql_structure_rebuild(s, c, false, err) : no_such_index(s, &n, "refresh", err);
		rql_structures_unlock(s);
	}
	rql_name_free(&n);
	return status;
}

bool rql_columns_owns(struct rql_session *s, const char *sql, const struct rql_statement *st)
{
	struct rql_name n = {0};
	struct rql_error ignored = {0};
	struct rql_structure *c = rql_catalog_find(s->db->catalog, s->db->name, NULL, st->name.name);
	bool owns = c != NULL;
	rql_structure_release(c);
	/* DuckDB is asked about schemas only when we have something of that name. */
	owns = owns && rql_name_resolve(s, sql, &st->name, "indexes of RayQL's", &n, &ignored) == RQL_OK;
	c = owns ? rql_structure_find(s->db, n.schema, n.name, RQL_STRUCTURE_COLUMNS) : NULL;
	owns = c != NULL;
	rql_structure_release(c);
	rql_name_free(&n);
	rql_error_clear(&ignored);
	return owns;
}

static rql_status drop_locked(struct rql_session *s, struct rql_structure *c, struct rql_error *err)
{
	if (!c->automatic) {
		struct rql_store_change change = {.schema = c->schema, .name = c->name};
		RQL_TRY(rql_store_change(s->db, &change, &s->progress.cancel, err));
	}
	rql_catalog_remove(s->db->catalog, c->id);
	rql_catalog_schema_changed(s->db->catalog);
	if (c->side_file)
		rql_side_forget(&s->db->side, c->side_file);
	return RQL_OK;
}

rql_status rql_columns_drop(struct rql_session *s, const char *sql, const struct rql_statement *st,
                            struct rql_error *err)
{
	struct rql_name n = {0};
	RQL_TRY(rql_refuse_inside(s, "DROP INDEX of columns", err));
	RQL_TRY(rql_name_resolve(s, sql, &st->name, "indexes of RayQL's", &n, err));
	rql_status status = rql_build_lock(s, false, err);
	if (status == RQL_OK) {
		struct rql_structure *c = rql_structure_find(s->db, n.schema, n.name, RQL_STRUCTURE_COLUMNS);
		if (c && !c->automatic)
			status = rql_refuse_read_only(s, "DROP", err);
		if (status == RQL_OK && c)
			status = drop_locked(s, c, err);
		else if (status == RQL_OK && !st->if_exists)
			status = no_such_index(s, &n, "drop", err);
		rql_structure_release(c);
		rql_structures_unlock(s);
	}
	rql_name_free(&n);
	return status;
}
