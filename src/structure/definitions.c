/* Definitions in the database itself: one row a structure in the table rayql.structures; a materialized view's stands
 * beside the view of the same name that DuckDB keeps, an index's is all there is of it. */
#include "structure/structure_internal.h"

#include <stdlib.h>
#include <string.h>

#define STORE_FORMAT 1

static void put_literal(struct rql_strbuf *out, const char *text)
{
	if (text)
		rql_strbuf_put_literal(out, text, strlen(text));
	else
		rql_strbuf_put(out, "NULL");
}

/* Names are compared as DuckDB compares identifiers: in any case. */
static void put_condition(struct rql_strbuf *out, const char *schema, const char *name)
{
	rql_strbuf_put(out, " WHERE system.main.lower(schema_name) = system.main.lower(");
	put_literal(out, schema);
	rql_strbuf_put(out, ") AND system.main.lower(name) = system.main.lower(");
	put_literal(out, name);
	rql_strbuf_put(out, ")");
}

static void put_table(struct rql_strbuf *out, const struct rql_structures *all)
{
	rql_strbuf_put_ident(out, all->name);
	rql_strbuf_put(out, ".rayql.structures");
}

/* ---- the table ---- */
static const char *const table_columns[][2] = {
	{"schema_name", "VARCHAR"}, {"name", "VARCHAR"},  {"kind", "VARCHAR"},    {"format_version", "INTEGER"},
	{"statement", "VARCHAR"},   {"query", "VARCHAR"}, {"options", "VARCHAR"}, {"search_path", "VARCHAR"},
};
#define TABLE_COLUMNS (sizeof table_columns / sizeof *table_columns)

#define IN_SCHEMA "system.main.lower(schema_name) = 'rayql'"
#define CALLED " AND system.main.lower(table_name) = 'structures'"

static bool is_column(const struct rql_batch *rows, uint64_t row)
{
	for (uint32_t c = 0; c < 2; c++) {
		struct rql_value v = rql_column_get(&rows->columns[c], row);
		const char *want = row < TABLE_COLUMNS ? table_columns[row][c] : NULL;
		if (!want || v.is_null || v.string.length != strlen(want) || memcmp(v.string.data, want, strlen(want)) != 0)
			return false;
	}
	return true;
}

/* Is there the table, or something else that is called so, and has it the columns of RayQL's own? */
static rql_status has_columns(struct rql_host_con *con, const struct rql_structures *all, bool *there, bool *ours,
                              struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	struct rql_host_result *res = NULL;
	struct rql_batch *rows = NULL;
	rql_strbuf_put(&sql, "SELECT column_name, data_type FROM system.main.duckdb_columns() WHERE " IN_SCHEMA CALLED
	                     " AND database_name = ");
	put_literal(&sql, all->name);
	rql_strbuf_put(&sql, " ORDER BY column_index ASC");
	rql_status status = rql_host_query(con, rql_strbuf_sql(&sql), &res, err);
	if (status == RQL_OK)
		status = rql_host_fetch(res, &rows, err);
	*there = rows && rows->rows;
	*ours = rows && rows->rows == TABLE_COLUMNS && rows->column_count == 2;
	for (uint64_t r = 0; *ours && r < rows->rows; r++)
		*ours = is_column(rows, r);
	rql_batch_release(rows);
	rql_host_result_free(res);
	rql_strbuf_free(&sql);
	return status;
}

static rql_status count_objects(struct rql_host_con *con, const char *function, const char *where, const char *database,
                                int64_t *out, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_printf(&sql, "SELECT system.main.count(*) FROM system.main.%s WHERE %s AND database_name = ", function,
	                  where);
	put_literal(&sql, database);
	rql_status status = rql_host_query_int(con, rql_strbuf_sql(&sql), out, err);
	rql_strbuf_free(&sql);
	return status;
}

/* Is there the table? RQL_ERROR_STATEMENT: what there is under its name is somebody else's, and stays as it is. */
static rql_status find_table(struct rql_host_con *con, const struct rql_structures *all, bool *there,
                             struct rql_error *err)
{
	int64_t schemas = 0, tables = 0;
	bool ours = false;
	*there = false;
	RQL_TRY(count_objects(con, "duckdb_schemas()", IN_SCHEMA, all->name, &schemas, err));
	if (!schemas) /* most databases, and the host binds all of its views to list columns */
		return RQL_OK;
	RQL_TRY(count_objects(con, "duckdb_tables()", IN_SCHEMA CALLED, all->name, &tables, err));
	RQL_TRY(has_columns(con, all, there, &ours, err));
	if (!*there || (tables == 1 && ours))
		return RQL_OK;
	return rql_error_set(err, RQL_ERROR_STATEMENT,
	                     "Catalog Error: the database has %s rayql.structures that is not RayQL's (its columns are "
	                     "others), and RayQL keeps the definitions of materialized views and columns indexes in a "
	                     "table of this name. Rename it to have them: ALTER %s rayql.structures RENAME TO another_name",
	                     tables ? "a table" : "a view", tables ? "TABLE" : "VIEW");
}

/* ---- changing ---- */
static rql_status run(struct rql_host_con *con, struct rql_strbuf *sql, struct rql_error *err)
{
	char *text = rql_strbuf_take(sql);
	rql_status status = text ? rql_host_query(con, text, NULL, err) : rql_error_memory(err, 0, "a definition");
	free(text);
	return status;
}

static rql_status make_table(struct rql_host_con *con, const struct rql_structures *all, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_put(&sql, "CREATE SCHEMA IF NOT EXISTS ");
	rql_strbuf_put_ident(&sql, all->name);
	rql_strbuf_put(&sql, ".rayql; CREATE TABLE ");
	put_table(&sql, all);
	for (size_t i = 0; i < TABLE_COLUMNS; i++)
		rql_strbuf_printf(&sql, "%s%s %s", i ? ", " : " (", table_columns[i][0], table_columns[i][1]);
	rql_strbuf_putc(&sql, ')');
	return run(con, &sql, err);
}

static rql_status delete_row(struct rql_host_con *con, const struct rql_structures *all, const char *schema,
                             const char *name, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_put(&sql, "DELETE FROM ");
	put_table(&sql, all);
	put_condition(&sql, schema, name);
	return run(con, &sql, err);
}

static rql_status insert_row(struct rql_host_con *con, const struct rql_structures *all, const struct rql_structure *s,
                             struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	const char *before[] = {s->schema, s->name}, *behind[] = {s->statement, s->query, s->options, s->search_path};
	rql_strbuf_put(&sql, "INSERT INTO ");
	put_table(&sql, all);
	for (size_t i = 0; i < TABLE_COLUMNS; i++)
		rql_strbuf_printf(&sql, "%s%s", i ? ", " : " (", table_columns[i][0]);
	rql_strbuf_put(&sql, ") VALUES (");
	for (size_t i = 0; i < 2; i++) {
		put_literal(&sql, before[i]);
		rql_strbuf_put(&sql, ", ");
	}
	rql_strbuf_printf(&sql, "'%s', %d", s->kind->name, STORE_FORMAT);
	for (size_t i = 0; i < 4; i++) {
		rql_strbuf_put(&sql, ", ");
		put_literal(&sql, behind[i]);
	}
	rql_strbuf_putc(&sql, ')');
	return run(con, &sql, err);
}

static rql_status change_row(struct rql_host_con *con, const struct rql_structures *all,
                             const struct rql_definition_change *change, struct rql_error *err)
{
	const struct rql_structure *put = change->put;
	const char *schema = put ? put->schema : change->schema, *name = put ? put->name : change->name;
	bool there = false;
	if (!name)
		return RQL_OK;
	RQL_TRY(find_table(con, all, &there, err));
	if (!there && put)
		RQL_TRY(make_table(con, all, err));
	if (there)
		RQL_TRY(delete_row(con, all, schema, name, err));
	return put ? insert_row(con, all, put, err) : RQL_OK;
}

static rql_status change_within(struct rql_host_con *con, const struct rql_structures *all,
                                const struct rql_definition_change *change, const _Atomic bool *cancel,
                                struct rql_error *err)
{
	struct rql_strbuf path = {0};
	if (change->sql && change->search_path && *change->search_path) {
		rql_strbuf_put(&path, "SET search_path = ");
		put_literal(&path, change->search_path);
		RQL_TRY(run(con, &path, err));
	}
	RQL_TRY(rql_host_query(con, "BEGIN TRANSACTION", NULL, err));
	if (change->sql)
		RQL_TRY(rql_host_query(con, change->sql, NULL, err));
	RQL_TRY(change_row(con, all, change, err));
	if (cancel && atomic_load(cancel))
		return rql_interrupted(err);
	return rql_host_query(con, change->try_only ? "ROLLBACK" : "COMMIT", NULL, err);
}

rql_status rql_definition_change(struct rql_structures *all, const struct rql_definition_change *change,
                                 const _Atomic bool *cancel, struct rql_error *err)
{
	struct rql_host_con *con = NULL;
	RQL_TRY(rql_host_connect_own(all->host, &con, err));
	rql_status status = change_within(con, all, change, cancel, err);
	rql_host_disconnect(con); /* rolls back what did not get to its end */
	return status;
}

/* ---- reading ---- */
enum column {
	COL_SCHEMA,
	COL_NAME,
	COL_FORMAT,
	COL_STATEMENT,
	COL_QUERY,
	COL_OPTIONS,
	COL_PATH,
	COL_SQL,
	COL_THERE,
	COL_KIND
};

static char *text_at(const struct rql_batch *batch, uint32_t column, uint64_t row)
{
	struct rql_value v = rql_column_get(&batch->columns[column], row);
	return v.is_null ? NULL : strndup(v.string.data, v.string.length);
}

static int64_t int_at(const struct rql_batch *batch, uint32_t column, uint64_t row)
{
	struct rql_value v = rql_column_get(&batch->columns[column], row);
	return v.is_null ? 0 : (int64_t)v.integer;
}

/* The statement's options, into s. */
static rql_status read_statement(struct rql_structure *s, struct rql_arena *arena, struct rql_error *err)
{
	struct rql_statement st = {0};
	struct rql_structure_options options;
	RQL_TRY(rql_statement_parse(arena, s->statement, &st, err));
	if (st.kind != s->kind->statement)
		return rql_error_set(err, RQL_ERROR_CORRUPT, "it is another statement");
	RQL_TRY(s->kind->options(arena, s->statement, &st, &options, err));
	s->refresh = options.refresh;
	s->unit_wanted = options.unit_wanted;
	s->unit = options.unit;
	s->sieve = options.sieve;
	s->rays = options.rays;
	(void)rql_structure_set_text(&s->layout, options.layout); /* without memory: as if it were auto */
	return RQL_OK;
}

/* The stored statement says the options; a row that cannot be read stays visible as INVALID. */
static void read_options(struct rql_structure *s, int64_t format)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_error why = {0};
	struct rql_strbuf reason = {0};
	rql_status status = RQL_OK;
	if (format > STORE_FORMAT) {
		rql_strbuf_printf(&reason,
		                  "its definition was written by a newer version of RayQL (format %lld, this one reads %d)",
		                  (long long)format, STORE_FORMAT);
		status = RQL_ERROR_CORRUPT;
	} else if (!arena || !s->statement || !s->query) {
		rql_strbuf_put(&reason, "its stored definition is incomplete; drop and create it again");
		status = RQL_ERROR_CORRUPT;
	} else if ((status = read_statement(s, arena, &why)) != RQL_OK) {
		rql_strbuf_printf(&reason, "its stored definition cannot be read (%s); drop and create it again",
		                  rql_error_message(&why));
	}
	if (status != RQL_OK) {
		s->state = RQL_STATE_INVALID;
		free(s->query); /* what cannot be understood is not tried again */
		s->query = NULL;
		(void)rql_structure_set_text(&s->reason, rql_strbuf_text(&reason));
	}
	rql_strbuf_free(&reason);
	rql_error_clear(&why);
	rql_arena_free(arena);
}

static void read_side(struct rql_structures *all, struct rql_structure *s)
{
	if (!all->side.folder)
		return;
	const struct rql_side_entry *e = rql_side_find(&all->side, s->schema, s->name);
	if (e && e->why) {
		struct rql_strbuf note = {0};
		rql_strbuf_printf(&note, "its side file was not kept: %s", e->why);
		(void)rql_structure_set_text(&s->note, rql_strbuf_text(&note));
		(void)rql_structure_set_text(&s->side_missing, e->why);
		rql_strbuf_free(&note);
		return;
	}
	if (e && rql_structure_set_text(&s->side_file, e->file) && rql_structure_set_text(&s->definition_hash, e->hash))
		s->side_file_valid = all->side.valid;
	if (!s->side_file_valid && all->side.why)
		(void)rql_structure_set_text(&s->note, all->side.why);
}

static rql_status read_row(struct rql_structures *all, const struct rql_batch *batch, uint64_t row,
                           struct rql_error *err)
{
	struct rql_value name = rql_column_get(&batch->columns[COL_KIND], row);
	const struct rql_structure_kind *kind =
		name.is_null ? NULL : rql_structure_kind_named(name.string.data, name.string.length);
	if (!kind || (kind->is_gone && !int_at(batch, COL_THERE, row)))
		return RQL_OK; /* its view was dropped by another program: the definition has gone with it */
	struct rql_structure *s = rql_structure_new();
	if (!s)
		return rql_error_memory(err, sizeof *s, "a structure");
	s->kind = kind;
	s->reads = kind->reads;
	s->database = strdup(all->name);
	s->schema = text_at(batch, COL_SCHEMA, row);
	s->name = text_at(batch, COL_NAME, row);
	s->statement = text_at(batch, COL_STATEMENT, row);
	s->query = text_at(batch, COL_QUERY, row);
	s->options = text_at(batch, COL_OPTIONS, row);
	s->search_path = text_at(batch, COL_PATH, row);
	/* DuckDB's own text as it prints it now: another version may print it differently. */
	s->view_sql = kind->is_gone ? text_at(batch, COL_SQL, row) : NULL;
	if (!s->database || !s->schema || !s->name || (!s->options && !(s->options = strdup("")))) {
		rql_structure_release(s);
		return RQL_OK; /* a row without a name names nothing */
	}
	read_options(s, int_at(batch, COL_FORMAT, row));
	read_side(all, s);
	return rql_catalog_publish(all->catalog, s, err);
}

rql_status rql_definitions_read(struct rql_structures *all, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	struct rql_error foreign = {0};
	bool there = false;
	rql_status status = find_table(all->loader, all, &there, &foreign);
	if (status != RQL_ERROR_STATEMENT)
		rql_error_move(err, &foreign);
	rql_error_clear(&foreign);
	if (status == RQL_ERROR_STATEMENT || (status == RQL_OK && !there))
		return RQL_OK; /* what is somebody else's is left alone, and said when a structure is to be stored */
	RQL_TRY(status);
	rql_strbuf_put(
		&sql, "SELECT s.schema_name, s.name, s.format_version::BIGINT, s.statement, s.query, s.options, s.search_path, "
			  "v.sql, (v.view_name IS NOT NULL)::BIGINT, s.kind FROM ");
	put_table(&sql, all);
	rql_strbuf_put(&sql, " s LEFT JOIN system.main.duckdb_views() v ON system.main.lower(v.schema_name) = "
	                     "system.main.lower(s.schema_name) AND system.main.lower(v.view_name) = "
	                     "system.main.lower(s.name) AND v.database_name = ");
	put_literal(&sql, all->name);
	rql_strbuf_put(&sql, " ORDER BY s.rowid ASC");
	struct rql_host_result *res = NULL;
	struct rql_batch *batch = NULL;
	status = rql_host_query(all->loader, rql_strbuf_sql(&sql), &res, err);
	while (status == RQL_OK && (status = rql_host_fetch(res, &batch, err)) == RQL_OK && batch) {
		for (uint64_t row = 0; row < batch->rows && status == RQL_OK; row++)
			status = read_row(all, batch, row, err);
		rql_batch_release(batch);
	}
	rql_host_result_free(res);
	rql_strbuf_free(&sql);
	return status;
}
