/* Which table and columns a columns structure holds: from DuckDB's own plan of SELECT * FROM the table, so that
 * names are found and columns numbered as in the plans of queries. */
#include "structure/columns/columns.h"

#include "structure/structure_internal.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The plan's scan: a projection over a table, which is what SELECT * of a base table is before any optimiser. */
static rql_status read_scan(struct rql_host_con *con, const char *table, struct rql_arena *arena,
                            const struct rql_rel **out, struct rql_error *err)
{
	struct rql_host_stmt *stmt = NULL;
	struct rql_rel *root = NULL;
	char *json = NULL, *sql = rql_arena_printf(arena, "SELECT * FROM %s", table);
	if (!sql)
		return rql_error_memory(err, strlen(table), "a table");
	/* A table that is not there is an error of DuckDB's here, and a plan that cannot be made below. */
	RQL_TRY(rql_host_prepare(con, sql, &stmt, err));
	rql_host_stmt_free(stmt);
	rql_status status = rql_host_plan(con, sql, &json, err);
	if (status == RQL_OK)
		status = rql_rel_parse(arena, rql_plan_dialect_of(rql_host_library_version()), json, strlen(json), &root, err);
	free(json);
	RQL_TRY(status);
	const struct rql_rel *get = root->kind == RQL_REL_PROJECT ? root->children[0] : NULL;
	if (!get || get->kind != RQL_REL_GET)
		return rql_error_set(err, RQL_ERROR_STATEMENT,
		                     "Binder Error: %s is no base table: columns are held of tables, and a view's query finds "
		                     "those of its tables",
		                     table);
	*out = get;
	return RQL_OK;
}

static rql_status find_column(const struct rql_rel *get, const char *name, uint32_t *out, struct rql_error *err)
{
	struct rql_strbuf known = {0};
	for (uint32_t i = 0; i < get->column_count; i++) {
		if (strcasecmp(get->column_names[i], name) == 0) {
			rql_strbuf_free(&known);
			*out = i;
			return RQL_OK;
		}
		rql_strbuf_printf(&known, "%s%s", i ? ", " : "", get->column_names[i]);
	}
	rql_error_set(err, RQL_ERROR_STATEMENT,
	              "Binder Error: Table \"%s\" does not have a stored column with name \"%s\"; it has %s",
	              get->table.table, name, rql_strbuf_text(&known));
	rql_strbuf_free(&known);
	return RQL_ERROR_STATEMENT;
}

static rql_status add_column(const struct rql_rel *get, uint32_t column, struct rql_columns_shape *out,
                             struct rql_error *err)
{
	for (uint32_t i = 0; i < out->count; i++)
		if (out->ids[i] == get->column_ids[column])
			return rql_error_set(err, RQL_ERROR_STATEMENT, "Binder Error: the column \"%s\" is given twice",
			                     get->column_names[column]);
	out->names[out->count] = get->column_names[column];
	out->types[out->count] = get->types[column];
	out->ids[out->count++] = get->column_ids[column];
	return RQL_OK;
}

static rql_status take_wanted(const struct rql_rel *get, uint32_t count, const char *const *wanted,
                              struct rql_columns_shape *out, struct rql_error *err)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t column;
		RQL_TRY(find_column(get, wanted[i], &column, err));
		if (!rql_store_can_hold(get->types[column])) {
			struct rql_strbuf type = {0};
			rql_type_print(&type, get->types[column]);
			rql_error_set(
				err, RQL_ERROR_STATEMENT,
				"Binder Error: the column \"%s\" of type %s cannot be held as compressed columns; leave it out "
				"(USING columns (*) leaves such columns out by itself)",
				get->column_names[column], rql_strbuf_text(&type));
			rql_strbuf_free(&type);
			return RQL_ERROR_STATEMENT;
		}
		RQL_TRY(add_column(get, column, out, err));
	}
	return RQL_OK;
}

static rql_status take_all(const struct rql_rel *get, struct rql_arena *arena, struct rql_columns_shape *out,
                           struct rql_error *err)
{
	struct rql_strbuf skipped = {0};
	rql_status status = RQL_OK;
	for (uint32_t i = 0; i < get->column_count && status == RQL_OK; i++) {
		if (rql_store_can_hold(get->types[i])) {
			status = add_column(get, i, out, err);
			continue;
		}
		rql_strbuf_printf(&skipped, "%s%s (", skipped.length ? ", " : "", get->column_names[i]);
		rql_type_print(&skipped, get->types[i]);
		rql_strbuf_putc(&skipped, ')');
	}
	if (status == RQL_OK && out->count == 0)
		status = rql_error_set(err, RQL_ERROR_STATEMENT,
		                       "Binder Error: no column of %s can be held as compressed columns: %s", get->table.table,
		                       rql_strbuf_text(&skipped));
	if (skipped.length)
		out->skipped = rql_arena_strdup(arena, rql_strbuf_text(&skipped));
	rql_strbuf_free(&skipped);
	return status;
}

rql_status rql_columns_shape_read(struct rql_host_con *con, const char *table, uint32_t count,
                                  const char *const *wanted, struct rql_arena *arena, struct rql_columns_shape *out,
                                  struct rql_error *err)
{
	const struct rql_rel *get = NULL;
	if (!table)
		return rql_error_memory(err, 0, "a table's name");
	RQL_TRY(read_scan(con, table, arena, &get, err));
	uint32_t room = get->column_count + count;
	*out = (struct rql_columns_shape){.table = get->table,
	                                  .names = RQL_NEW_ARRAY(arena, const char *, room),
	                                  .types = RQL_NEW_ARRAY(arena, struct rql_type, room),
	                                  .ids = RQL_NEW_ARRAY(arena, uint32_t, room)};
	if (!out->names || !out->types || !out->ids)
		return rql_error_memory(err, room, "a table's columns");
	for (uint32_t i = 0; i < get->column_count; i++)
		out->no_rowid = out->no_rowid || strcasecmp(get->column_names[i], "rowid") == 0;
	return count ? take_wanted(get, count, wanted, out, err) : take_all(get, arena, out, err);
}

/* ---- a structure's ---- */
rql_status rql_columns_check_table(const struct rql_structures *all, const struct rql_table_ref *table,
                                   struct rql_error *err)
{
	return rql_structure_check_table(all, table, "columns cannot be held of", "columns can only be held of", err);
}

/* Without the database's name, which is the file's: a copy of the file has the same columns. */
static char *hash_shape(const struct rql_columns_shape *shape)
{
	struct rql_strbuf text = {0};
	rql_strbuf_put_ident(&text, shape->table.schema);
	rql_strbuf_put_ident(&text, shape->table.table);
	for (uint32_t i = 0; i < shape->count; i++) {
		rql_strbuf_printf(&text, " %u ", shape->ids[i]);
		rql_strbuf_put_ident(&text, shape->names[i]);
		rql_strbuf_putc(&text, ' ');
		rql_type_print(&text, shape->types[i]);
	}
	char *hash = text.failed ? NULL : rql_structure_hash(rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	return hash;
}

rql_status rql_columns_define(struct rql_structures *all, struct rql_structure *s,
                              const struct rql_columns_shape *shape, struct rql_error *err)
{
	RQL_TRY(rql_columns_check_table(all, &shape->table, err));
	struct rql_table *table =
		rql_catalog_table(all->catalog, shape->table.catalog, shape->table.schema, shape->table.table);
	uint32_t *ids = calloc(shape->count + 1, sizeof *ids);
	if (!ids)
		return rql_error_memory(err, shape->count, "a columns structure");
	rql_status status = rql_structure_define(s, 1, &table, hash_shape(shape), err);
	if (status != RQL_OK) {
		free(ids);
		return status;
	}
	memcpy(ids, shape->ids, shape->count * sizeof *ids);
	free(s->column_ids);
	s->column_ids = ids;
	s->column_count = shape->count;
	s->greatest_rowid = shape->no_rowid ? RQL_NO_ROWID : -1;
	return RQL_OK;
}
