/* What RayQL's own statements share: where they may run, and how names are found. */
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

rql_status rql_host_has(struct rql_database *db, const char *function, const char *column, const char *schema,
                        const char *name, bool *out, struct rql_error *err)
{
	struct rql_host_con *con = NULL;
	struct rql_strbuf sql = {0};
	int64_t count = 0;
	RQL_TRY(rql_host_connect_own(db->host, &con, err));
	rql_strbuf_put(&sql, "SELECT system.main.count(*) FROM ");
	rql_put_objects(&sql, function, column, db->name, schema, name);
	rql_status status = rql_host_query_int(con, rql_strbuf_sql(&sql), &count, err);
	rql_host_disconnect(con);
	rql_strbuf_free(&sql);
	*out = count > 0;
	return status;
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
	if (!database && schema && strcasecmp(schema, s->db->name) == 0) {
		bool there = false;
		RQL_TRY(rql_host_has(s->db, "duckdb_schemas", "schema_name", NULL, schema, &there, err));
		database = there ? NULL : schema;
		schema = there ? schema : NULL;
	}
	if (!schema && !database) {
		status = rql_host_fold_text(s->host, "system.main.current_database()", &current_database, err);
		if (status == RQL_OK)
			status = rql_host_fold_text(s->host, "system.main.current_schema()", &current_schema, err);
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

rql_status rql_host_object(struct rql_database *db, const struct rql_name *n, const char **kind, struct rql_error *err)
{
	static const char *const kinds[][3] = {{"duckdb_views", "view_name", "View"},
	                                       {"duckdb_tables", "table_name", "Table"}};
	*kind = NULL;
	for (size_t i = 0; i < 2 && !*kind; i++) {
		bool there = false;
		RQL_TRY(rql_host_has(db, kinds[i][0], kinds[i][1], n->schema, n->name, &there, err));
		*kind = there ? kinds[i][2] : NULL;
	}
	return RQL_OK;
}
