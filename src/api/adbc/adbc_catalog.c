/* What an ADBC connection tells of its database: tables and columns, their schemas, statistics, who the driver is. DuckDB makes
 * the rows, by SQL over its own catalog functions; the schemas are ADBC's own, to the letter. Its unions come as Arrow's
 * sparse ones, and ADBC wants dense ones: the same children, with an offset for each row. */
#include "api/adbc/adbc_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- schemas ---- */
struct field {
	const char *format, *name;
	bool required;
	const struct field *children; /* up to one without a format */
};
#define CHILDREN(...) (const struct field[]){__VA_ARGS__, {0}}

static const struct field usage[] = {
	{"u", "fk_catalog", false, NULL},
	{"u", "fk_db_schema", false, NULL},
	{"u", "fk_table", true, NULL},
	{"u", "fk_column_name", true, NULL},
	{0},
};
static const struct field constraint[] = {
	{"u", "constraint_name", false, NULL},
	{"u", "constraint_type", true, NULL},
	{"+l", "constraint_column_names", true, CHILDREN({"u", "item", false, NULL})},
	{"+l", "constraint_column_usage", false, CHILDREN({"+s", "item", false, usage})},
	{0},
};
static const struct field column[] = {
	{"u", "column_name", true, NULL},
	{"i", "ordinal_position", false, NULL},
	{"u", "remarks", false, NULL},
	{"s", "xdbc_data_type", false, NULL},
	{"u", "xdbc_type_name", false, NULL},
	{"i", "xdbc_column_size", false, NULL},
	{"s", "xdbc_decimal_digits", false, NULL},
	{"s", "xdbc_num_prec_radix", false, NULL},
	{"s", "xdbc_nullable", false, NULL},
	{"u", "xdbc_column_def", false, NULL},
	{"s", "xdbc_sql_data_type", false, NULL},
	{"s", "xdbc_datetime_sub", false, NULL},
	{"i", "xdbc_char_octet_length", false, NULL},
	{"u", "xdbc_is_nullable", false, NULL},
	{"u", "xdbc_scope_catalog", false, NULL},
	{"u", "xdbc_scope_schema", false, NULL},
	{"u", "xdbc_scope_table", false, NULL},
	{"b", "xdbc_is_autoincrement", false, NULL},
	{"b", "xdbc_is_generatedcolumn", false, NULL},
	{0},
};
static const struct field table[] = {
	{"u", "table_name", true, NULL},
	{"u", "table_type", true, NULL},
	{"+l", "table_columns", false, CHILDREN({"+s", "item", false, column})},
	{"+l", "table_constraints", false, CHILDREN({"+s", "item", false, constraint})},
	{0},
};
static const struct field schema[] = {
	{"u", "db_schema_name", false, NULL},
	{"+l", "db_schema_tables", false, CHILDREN({"+s", "item", false, table})},
	{0},
};
static const struct field objects[] = {
	{"u", "catalog_name", false, NULL},
	{"+l", "catalog_db_schemas", false, CHILDREN({"+s", "item", false, schema})},
	{0},
};
static const struct field info_value[] = {
	{"u", "string_value", false, NULL},
	{"b", "bool_value", false, NULL},
	{"l", "int64_value", false, NULL},
	{"i", "int32_bitmask", false, NULL},
	{"+l", "string_list", false, CHILDREN({"u", "item", false, NULL})},
	{"+m", "int32_to_int32_list_map", false,
     CHILDREN({"+s", "entries", true,
	           CHILDREN({"i", "key", true, NULL},
	                    {"+l", "value", false, CHILDREN({"i", "item", false, NULL})})})},
	{0},
};
static const struct field info[] = {
	{"I", "info_name", true, NULL},
	{"+ud:0,1,2,3,4,5", "info_value", false, info_value},
	{0},
};
static const struct field statistic_value[] = {
	{"l", "int64", false, NULL},
	{"L", "uint64", false, NULL},
	{"g", "float64", false, NULL},
	{"z", "binary", false, NULL},
	{0},
};
static const struct field statistic[] = {
	{"u", "table_name", true, NULL},
	{"u", "column_name", false, NULL},
	{"s", "statistic_key", true, NULL},
	{"+ud:0,1,2,3", "statistic_value", true, statistic_value},
	{"b", "statistic_is_approximate", true, NULL},
	{0},
};
static const struct field statistic_schema[] = {
	{"u", "db_schema_name", false, NULL},
	{"+l", "db_schema_statistics", true, CHILDREN({"+s", "item", false, statistic})},
	{0},
};
static const struct field statistics[] = {
	{"u", "catalog_name", false, NULL},
	{"+l", "catalog_db_schemas", true, CHILDREN({"+s", "item", false, statistic_schema})},
	{0},
};
static const struct field statistic_names[] = {
	{"u", "statistic_name", true, NULL},
	{"s", "statistic_key", true, NULL},
	{0},
};
static const struct field table_types[] = {
	{"u", "table_type", true, NULL},
	{0},
};

static void schema_release(struct ArrowSchema *s)
{
	for (int64_t i = 0; i < s->n_children; i++) {
		if (s->children[i] && s->children[i]->release)
			s->children[i]->release(s->children[i]);
		free(s->children[i]);
	}
	free(s->children);
	s->release = NULL;
}

/* Formats and names are those of the tables above. */
static bool make_schema(const struct field *field, struct ArrowSchema *out)
{
	int64_t count = 0;
	while (field->children && field->children[count].format)
		count++;
	*out = (struct ArrowSchema){.format = field->format,
	                            .name = field->name,
	                            .flags = field->required ? 0 : ARROW_FLAG_NULLABLE,
	                            .children = calloc((size_t)count + 1, sizeof *out->children),
	                            .release = schema_release};
	bool ok = out->children;
	for (int64_t i = 0; ok && i < count; i++) {
		out->children[i] = calloc(1, sizeof **out->children);
		out->n_children = i + 1;
		ok = out->children[i] && make_schema(&field->children[i], out->children[i]);
	}
	if (!ok)
		schema_release(out);
	return ok;
}

/* ---- dense unions ---- */
struct dense {
	struct ArrowArray inner; /* what the engine gave */
	struct block {
		struct block *next;
	} *blocks;
};

static void dense_release(struct ArrowArray *array)
{
	struct dense *dense = array->private_data;
	array->private_data = dense->inner.private_data;
	array->release = dense->inner.release;
	array->release(array);
	while (dense->blocks) {
		struct block *next = dense->blocks->next;
		free(dense->blocks);
		dense->blocks = next;
	}
	free(dense);
	array->release = NULL;
}

/* Offsets and the two buffers of a dense union in place of the sparse one's single buffer. */
static bool make_dense(struct ArrowArray *array, struct dense *dense)
{
	size_t rows = (size_t)(array->length + array->offset);
	struct block *block = malloc(sizeof *block + 2 * sizeof(void *) + rows * sizeof(int32_t));
	if (!block)
		return false;
	block->next = dense->blocks;
	dense->blocks = block;
	const void **buffers = (const void **)(void *)(block + 1);
	int32_t *offsets = (int32_t *)(void *)(buffers + 2);
	for (size_t r = 0; r < rows; r++)
		offsets[r] = (int32_t)r;
	buffers[0] = array->buffers[array->n_buffers - 1];
	buffers[1] = offsets;
	array->buffers = buffers;
	array->n_buffers = 2;
	array->null_count = 0;
	return true;
}

static bool make_all_dense(const struct ArrowSchema *s, struct ArrowArray *array, struct dense *dense)
{
	bool ok = strncmp(s->format, "+ud:", 4) != 0 || make_dense(array, dense);
	for (int64_t i = 0; ok && i < array->n_children; i++)
		ok = make_all_dense(s->children[i], array->children[i], dense);
	return ok;
}

/* ---- queries ---- */

/* All rows of sql, which must be of the fields, as a stream of one array. */
static AdbcStatusCode answer(struct adbc_connection *con, struct rql_strbuf *sql, const struct field *fields,
                             struct ArrowArrayStream *out, struct AdbcError *error)
{
	const struct field root = {"+s", "", false, fields};
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	struct ArrowArrayStream rows = {0};
	struct ArrowArray array = {0};
	struct ArrowSchema made = {0};
	AdbcStatusCode status = adbc_begin(con, error);
	if (status != ADBC_OK)
		return status;
	if (rayql_query(con->con, rql_strbuf_text(sql), &res, &err) != RAYQL_OK ||
	    rayql_result_to_arrow(res, &rows, &err) != RAYQL_OK) {
		rayql_result_free(res);
		return adbc_fail_with(error, err);
	}
	rayql_result_free(res);
	if (rows.get_next(&rows, &array) != 0) {
		status = adbc_fail(error, ADBC_INTERNAL, "HY000", "%s", rows.get_last_error(&rows));
		rows.release(&rows);
		return status;
	}
	rows.release(&rows);
	struct dense *dense = calloc(1, sizeof *dense);
	if (!dense || !make_schema(&root, &made))
		status = adbc_fail(error, ADBC_INTERNAL, "53200", "out of memory for the catalog");
	if (status == ADBC_OK && array.release) {
		dense->inner = array;
		array.private_data = dense;
		array.release = dense_release;
		dense = NULL;
		if (!make_all_dense(&made, &array, array.private_data))
			status = adbc_fail(error, ADBC_INTERNAL, "53200", "out of memory for the catalog");
	}
	free(dense);
	if (status == ADBC_OK)
		return adbc_stream_array(&made, &array, out, error);
	if (array.release)
		array.release(&array);
	if (made.release)
		made.release(&made);
	return status;
}

static struct adbc_connection *connection_of(const struct AdbcConnection *connection, struct AdbcError *error)
{
	struct adbc_connection *con = connection->private_data;
	if (con && con->con)
		return con;
	adbc_fail(error, ADBC_INVALID_STATE, "55000", "the connection is not initialised");
	return NULL;
}

static void put_text(struct rql_strbuf *sql, const char *text)
{
	rql_strbuf_put_literal(sql, text, strlen(text));
}

/* "AND name LIKE pattern", with ADBC's wildcards, which are SQL's. */
static void put_like(struct rql_strbuf *sql, const char *name, const char *pattern)
{
	if (!pattern)
		return;
	rql_strbuf_printf(sql, " AND %s LIKE ", name);
	put_text(sql, pattern);
}

/* ---- objects ---- */
enum depth { DEPTH_ALL, DEPTH_CATALOGS, DEPTH_SCHEMAS, DEPTH_TABLES };

static void put_columns(struct rql_strbuf *sql, const char *like)
{
	rql_strbuf_put(sql,
	               "columns AS (SELECT database_name, schema_name, table_name, system.main.list({"
	               "'column_name': column_name, 'ordinal_position': column_index::INTEGER, 'remarks': comment, "
	               "'xdbc_data_type': NULL::SMALLINT, 'xdbc_type_name': data_type, "
	               "'xdbc_column_size': coalesce(character_maximum_length, numeric_precision)::INTEGER, "
	               "'xdbc_decimal_digits': numeric_scale::SMALLINT, 'xdbc_num_prec_radix': "
	               "numeric_precision_radix::SMALLINT, 'xdbc_nullable': is_nullable::SMALLINT, "
	               "'xdbc_column_def': column_default, 'xdbc_sql_data_type': NULL::SMALLINT, "
	               "'xdbc_datetime_sub': NULL::SMALLINT, 'xdbc_char_octet_length': NULL::INTEGER, "
	               "'xdbc_is_nullable': CASE WHEN is_nullable THEN 'YES' ELSE 'NO' END, "
	               "'xdbc_scope_catalog': NULL::VARCHAR, 'xdbc_scope_schema': NULL::VARCHAR, "
	               "'xdbc_scope_table': NULL::VARCHAR, 'xdbc_is_autoincrement': NULL::BOOLEAN, "
	               "'xdbc_is_generatedcolumn': NULL::BOOLEAN} ORDER BY column_index) AS list "
	               "FROM system.main.duckdb_columns() WHERE true");
	put_like(sql, "column_name", like);
	rql_strbuf_put(sql, " GROUP BY ALL), ");
	rql_strbuf_put(sql,
	               "constraints AS (SELECT database_name, schema_name, table_name, system.main.list({"
	               "'constraint_name': constraint_name, 'constraint_type': constraint_type, "
	               "'constraint_column_names': constraint_column_names, 'constraint_column_usage': "
	               "CASE WHEN constraint_type = 'FOREIGN KEY' THEN system.main.list_transform(referenced_column_names, "
	               "lambda name: {'fk_catalog': database_name, 'fk_db_schema': schema_name, 'fk_table': "
	               "referenced_table, 'fk_column_name': name}) END} ORDER BY constraint_index) AS list "
	               "FROM system.main.duckdb_constraints() WHERE constraint_type <> 'NOT NULL' GROUP BY ALL), ");
}

/* What is not asked for is NULL, of the same type. */
static void put_list(struct rql_strbuf *sql, const char *name, bool wanted, const char *list)
{
	rql_strbuf_printf(sql, "'%s': CASE WHEN %s THEN coalesce(%s, []) END", name, wanted ? "true" : "false", list);
}

static void put_tables(struct rql_strbuf *sql, bool with_columns, const char *like, const char *const *types,
                       const char *column_like)
{
	rql_strbuf_put(sql,
	               "relations AS (SELECT database_name, schema_name, table_name, CASE WHEN temporary THEN "
	               "'LOCAL TEMPORARY' ELSE 'BASE TABLE' END AS kind FROM system.main.duckdb_tables() UNION ALL "
	               "SELECT database_name, schema_name, view_name, 'VIEW' FROM system.main.duckdb_views() "
	               "WHERE NOT internal), ");
	put_columns(sql, column_like);
	rql_strbuf_put(sql,
	               "tables AS (SELECT database_name, schema_name, system.main.list({'table_name': table_name, "
	               "'table_type': kind, ");
	put_list(sql, "table_columns", with_columns, "c.list");
	rql_strbuf_put(sql, ", ");
	put_list(sql, "table_constraints", with_columns, "k.list");
	rql_strbuf_put(sql, "} ORDER BY table_name) AS list FROM relations r "
	                    "LEFT JOIN columns c USING (database_name, schema_name, table_name) "
	                    "LEFT JOIN constraints k USING (database_name, schema_name, table_name) WHERE true");
	put_like(sql, "table_name", like);
	if (types) {
		rql_strbuf_put(sql, " AND kind IN (NULL");
		for (; *types; types++) {
			rql_strbuf_put(sql, ", ");
			put_text(sql, strcmp(*types, "TABLE") == 0 ? "BASE TABLE" : *types);
		}
		rql_strbuf_putc(sql, ')');
	}
	rql_strbuf_put(sql, " GROUP BY ALL), ");
}

AdbcStatusCode adbc_get_objects(struct AdbcConnection *connection, int depth, const char *catalog, const char *db_schema,
                                const char *table_name, const char **types, const char *column_name,
                                struct ArrowArrayStream *out, struct AdbcError *error)
{
	struct adbc_connection *con = connection_of(connection, error);
	struct rql_strbuf sql = {0};
	if (!con)
		return ADBC_INVALID_STATE;
	if (depth < DEPTH_ALL || depth > DEPTH_TABLES)
		return adbc_fail(error, ADBC_INVALID_ARGUMENT, "22023", "there is no depth %d of objects", depth);
	bool tables = depth == DEPTH_ALL || depth == DEPTH_TABLES, schemas = depth != DEPTH_CATALOGS;
	rql_strbuf_put(&sql, "WITH ");
	put_tables(&sql, depth == DEPTH_ALL, table_name, types, column_name);
	rql_strbuf_put(&sql, "schemas AS (SELECT database_name, system.main.list({'db_schema_name': schema_name, ");
	put_list(&sql, "db_schema_tables", tables, "t.list");
	rql_strbuf_put(&sql, "} ORDER BY schema_name) AS list FROM system.main.duckdb_schemas() s "
	                     "LEFT JOIN tables t USING (database_name, schema_name) WHERE true");
	put_like(&sql, "schema_name", db_schema);
	rql_strbuf_printf(&sql, " GROUP BY ALL) SELECT database_name, CASE WHEN %s THEN coalesce(schemas.list, []) END",
	                  schemas ? "true" : "false");
	rql_strbuf_put(&sql, " FROM system.main.duckdb_databases() LEFT JOIN schemas USING (database_name) "
	                     "WHERE database_name NOT IN ('system')");
	put_like(&sql, "database_name", catalog);
	rql_strbuf_put(&sql, " ORDER BY ALL");
	AdbcStatusCode status = answer(con, &sql, objects, out, error);
	rql_strbuf_free(&sql);
	return status;
}

AdbcStatusCode adbc_get_table_types(struct AdbcConnection *connection, struct ArrowArrayStream *out,
                                    struct AdbcError *error)
{
	struct adbc_connection *con = connection_of(connection, error);
	struct rql_strbuf sql = {0};
	if (!con)
		return ADBC_INVALID_STATE;
	rql_strbuf_put(&sql, "VALUES ('BASE TABLE'), ('LOCAL TEMPORARY'), ('VIEW')");
	AdbcStatusCode status = answer(con, &sql, table_types, out, error);
	rql_strbuf_free(&sql);
	return status;
}

/* ---- one table ---- */
bool adbc_table_exists(struct adbc_connection *con, const char *catalog, const char *db_schema, const char *name)
{
	struct rql_strbuf sql = {0};
	int64_t count = 0;
	rql_strbuf_put(&sql, "SELECT system.main.count(*) FROM system.main.duckdb_tables() WHERE lower(table_name) = lower(");
	put_text(&sql, name);
	rql_strbuf_put(&sql, ") AND lower(database_name) = lower(");
	put_text(&sql, catalog);
	rql_strbuf_put(&sql, ") AND lower(schema_name) = lower(");
	put_text(&sql, db_schema);
	rql_strbuf_putc(&sql, ')');
	bool known = rql_host_query_int(rql_session_host(con->con->session), rql_strbuf_sql(&sql), &count,
	                                               NULL) == RQL_OK;
	rql_strbuf_free(&sql);
	return known && count > 0;
}

AdbcStatusCode adbc_get_table_schema(struct AdbcConnection *connection, const char *catalog, const char *db_schema,
                                     const char *name, struct ArrowSchema *out, struct AdbcError *error)
{
	struct adbc_connection *con = connection_of(connection, error);
	struct rql_strbuf sql = {0};
	rayql_statement *stmt = NULL;
	rayql_error *err = NULL;
	if (!con)
		return ADBC_INVALID_STATE;
	if (!name || !*name)
		return adbc_fail(error, ADBC_NOT_FOUND, "42P01", "a table without a name");
	rql_strbuf_put(&sql, "SELECT * FROM ");
	if (catalog && *catalog) {
		rql_strbuf_put_ident(&sql, catalog);
		rql_strbuf_putc(&sql, '.');
	}
	if ((db_schema && *db_schema) || (catalog && *catalog)) {
		rql_strbuf_put_ident(&sql, db_schema && *db_schema ? db_schema : "main");
		rql_strbuf_putc(&sql, '.');
	}
	rql_strbuf_put_ident(&sql, name);
	AdbcStatusCode status = adbc_begin(con, error);
	if (status == ADBC_OK && (rayql_prepare(con->con, rql_strbuf_text(&sql), &stmt, &err) != RAYQL_OK ||
	                          rayql_statement_schema(stmt, out, &err) != RAYQL_OK))
		status = adbc_fail_with(error, err);
	rayql_statement_free(stmt);
	rql_strbuf_free(&sql);
	return status;
}

/* ---- statistics ---- */
AdbcStatusCode adbc_get_statistics(struct AdbcConnection *connection, const char *catalog, const char *db_schema,
                                   const char *table_name, char approximate, struct ArrowArrayStream *out,
                                   struct AdbcError *error)
{
	struct adbc_connection *con = connection_of(connection, error);
	struct rql_strbuf sql = {0};
	(void)approximate; /* what DuckDB knows without reading a table is no more exact than asked for */
	if (!con)
		return ADBC_INVALID_STATE;
	/* 6: the count of rows. */
	rql_strbuf_put(&sql, "WITH tables AS (SELECT database_name, schema_name, system.main.list({'table_name': table_name, "
	                     "'column_name': NULL::VARCHAR, 'statistic_key': 6::SMALLINT, 'statistic_value': "
	                     "union_value(int64 := estimated_size::BIGINT)::UNION(int64 BIGINT, uint64 UBIGINT, float64 "
	                     "DOUBLE, \"binary\" BLOB), 'statistic_is_approximate': true} ORDER BY table_name) AS list "
	                     "FROM system.main.duckdb_tables() WHERE true");
	put_like(&sql, "table_name", table_name);
	put_like(&sql, "schema_name", db_schema);
	put_like(&sql, "database_name", catalog);
	rql_strbuf_put(&sql, " GROUP BY ALL) SELECT database_name, system.main.list({'db_schema_name': schema_name, "
	                     "'db_schema_statistics': list} ORDER BY schema_name) FROM tables GROUP BY ALL ORDER BY 1");
	AdbcStatusCode status = answer(con, &sql, statistics, out, error);
	rql_strbuf_free(&sql);
	return status;
}

AdbcStatusCode adbc_get_statistic_names(struct AdbcConnection *connection, struct ArrowArrayStream *out,
                                        struct AdbcError *error)
{
	struct adbc_connection *con = connection_of(connection, error);
	struct rql_strbuf sql = {0};
	if (!con)
		return ADBC_INVALID_STATE;
	/* None beside ADBC's own. */
	rql_strbuf_put(&sql, "SELECT '' AS statistic_name, 0::SMALLINT AS statistic_key WHERE false");
	AdbcStatusCode status = answer(con, &sql, statistic_names, out, error);
	rql_strbuf_free(&sql);
	return status;
}

/* ---- who this is ---- */
static void put_info(struct rql_strbuf *sql, uint32_t code, const char *member, const char *value)
{
	rql_strbuf_printf(sql, "%s(%u::UINTEGER, union_value(%s := %s)::UNION(string_value VARCHAR, bool_value BOOLEAN, "
	                       "int64_value BIGINT, int32_bitmask INTEGER, string_list VARCHAR[], "
	                       "int32_to_int32_list_map MAP(INTEGER, INTEGER[])))",
	                  sql->length ? ", " : "SELECT * FROM (VALUES ", code, member, value);
}

static void put_known(struct rql_strbuf *sql, uint32_t code)
{
	char value[80];
	switch (code) {
	case 0: /* the vendor: who answers is RayQL */
		put_info(sql, code, "string_value", "'RayQL'");
		break;
	case 1:
		snprintf(value, sizeof value, "'%s (DuckDB %s)'", rayql_version(), rayql_host_version());
		put_info(sql, code, "string_value", value);
		break;
	case 3: /* SQL yes, Substrait no */
		put_info(sql, code, "bool_value", "true");
		break;
	case 4:
		put_info(sql, code, "bool_value", "false");
		break;
	case 100:
		put_info(sql, code, "string_value", "'ADBC RayQL Driver'");
		break;
	case 101:
		snprintf(value, sizeof value, "'%s'", rayql_version());
		put_info(sql, code, "string_value", value);
		break;
	case 103:
		put_info(sql, code, "int64_value", "1001000::BIGINT");
		break;
	default: /* to be left out, says ADBC */
		break;
	}
}

AdbcStatusCode adbc_get_info(struct AdbcConnection *connection, const uint32_t *codes, size_t count,
                             struct ArrowArrayStream *out, struct AdbcError *error)
{
	static const uint32_t all[] = {0, 1, 3, 4, 100, 101, 103};
	struct adbc_connection *con = connection_of(connection, error);
	struct rql_strbuf sql = {0};
	if (!con)
		return ADBC_INVALID_STATE;
	if (!codes) {
		codes = all;
		count = sizeof all / sizeof all[0];
	}
	for (size_t i = 0; i < count; i++)
		put_known(&sql, codes[i]);
	if (sql.length)
		rql_strbuf_put(&sql, ") t(info_name, info_value)");
	else
		rql_strbuf_put(&sql, "SELECT 0::UINTEGER WHERE false");
	AdbcStatusCode status = answer(con, &sql, info, out, error);
	rql_strbuf_free(&sql);
	return status;
}
