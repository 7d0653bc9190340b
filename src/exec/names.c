/* What RayQL's own statements share: where they may run, how names are found, and changes of DuckDB's catalog. */
#include "exec/names.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- checks ---- */
rql_status rql_refuse_inside(const struct rql_session *s, const char *what, struct rql_error *err)
{
	if (!s->txn.open)
		return RQL_OK;
	return rql_error_set(err, RQL_ERROR_STATEMENT,
	                     "TransactionContext Error: %s cannot run inside a transaction block; COMMIT or ROLLBACK first",
	                     what);
}

rql_status rql_refuse_read_only(const struct rql_session *s, const char *type, struct rql_error *err)
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
void rql_name_free(struct rql_name *n)
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

static rql_status elsewhere(const struct rql_session *s, const char *sql, const struct rql_qualified_name *given,
                            const char *what, const char *database, struct rql_error *err)
{
	return rql_error_at(err, sql, given->position,
	                    "Not implemented Error: %s live in the database that was opened (\"%s\"), not in \"%s\"", what,
	                    s->db->name, database);
}

rql_status rql_name_resolve(struct rql_session *s, const char *sql, const struct rql_qualified_name *given,
                            const char *what, struct rql_name *out, struct rql_error *err)
{
	const char *database = given->catalog, *schema = given->schema;
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
		status = elsewhere(s, sql, given, what, database, err);
	if (status == RQL_OK) {
		out->schema = strdup(schema ? schema : "main");
		out->name = strdup(given->name);
		if (!out->schema || !out->name) {
			rql_name_free(out);
			status = rql_error_memory(err, 0, "a name");
		}
	}
	free(current_schema);
	free(current_database);
	return status;
}

void rql_put_qualified(struct rql_strbuf *out, const struct rql_database *db, const char *schema, const char *name)
{
	rql_strbuf_put_ident(out, db->name);
	rql_strbuf_putc(out, '.');
	rql_strbuf_put_ident(out, schema);
	rql_strbuf_putc(out, '.');
	rql_strbuf_put_ident(out, name);
}

const char *rql_host_object(struct rql_session *s, const struct rql_name *n)
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

/* ---- DuckDB's side ---- */
rql_status rql_transact(struct rql_session *s, const char *sql, bool commit, struct rql_error *err)
{
	RQL_TRY(rql_host_query(s->host, "BEGIN TRANSACTION", NULL, err));
	rql_status status = rql_host_query(s->host, sql, NULL, err);
	if (status == RQL_OK && commit)
		status = rql_host_query(s->host, "COMMIT", NULL, err);
	if (status != RQL_OK || !commit)
		(void)rql_host_query(s->host, "ROLLBACK", NULL, NULL);
	return status;
}
