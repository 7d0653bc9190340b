/* Connections of the ADBC driver: options, transactions, cancelling. */
#include "api/adbc/adbc_internal.h"

#include <stdlib.h>
#include <string.h>

#define AUTOCOMMIT "adbc.connection.autocommit"
#define CATALOG "adbc.connection.catalog"
#define SCHEMA "adbc.connection.db_schema"
#define READ_ONLY "adbc.connection.readonly"
#define ISOLATION "adbc.connection.transaction.isolation_level"
#define ISOLATION_PREFIX "adbc.connection.transaction.isolation."

static struct adbc_connection *connection_of(const struct AdbcConnection *connection, bool open, struct AdbcError *error)
{
	struct adbc_connection *con = connection->private_data;
	if (con && (con->con || !open))
		return con;
	adbc_fail(error, ADBC_INVALID_STATE, "55000", con ? "the connection is not initialised"
	                                                  : "the connection was not made by AdbcConnectionNew, or is released");
	return NULL;
}

/* ---- running ---- */
AdbcStatusCode adbc_begin(struct adbc_connection *con, struct AdbcError *error)
{
	rayql_error *err = NULL;
	if (con->open) {
		AdbcStatusCode status = adbc_stream_settle(con->open, error);
		con->open = NULL;
		if (status != ADBC_OK)
			return status;
	}
	if (!con->manual || rql_session_in_transaction(con->con->session))
		return ADBC_OK;
	return rayql_query(con->con, "BEGIN", NULL, &err) == RAYQL_OK ? ADBC_OK : adbc_fail_with(error, err);
}

/* Runs sql and drops its result. */
static AdbcStatusCode run_sql(struct adbc_connection *con, const char *sql, struct AdbcError *error)
{
	rayql_error *err = NULL;
	return rayql_query(con->con, sql, NULL, &err) == RAYQL_OK ? ADBC_OK : adbc_fail_with(error, err);
}

AdbcStatusCode adbc_current(struct adbc_connection *con, bool schema, char **out, struct AdbcError *error)
{
	struct rql_error failed = {0};
	rayql_error *err = NULL;
	const char *call = schema ? "system.main.current_schema()" : "system.main.current_database()";
	if (rql_host_fold_text(rql_session_host(con->con->session), call, out, &failed) == RQL_OK)
		return ADBC_OK;
	rql_api_fail(&failed, &err);
	return adbc_fail_with(error, err);
}

static AdbcStatusCode end_transaction(struct adbc_connection *con, const char *sql, struct AdbcError *error)
{
	if (!con->manual)
		return adbc_fail(error, ADBC_INVALID_STATE, "25000",
		                 "there is no transaction to end: the connection commits by itself (" AUTOCOMMIT ")");
	if (con->open) {
		adbc_stream_settle(con->open, error);
		con->open = NULL;
	}
	return rql_session_in_transaction(con->con->session) ? run_sql(con, sql, error) : ADBC_OK;
}

static AdbcStatusCode commit(struct AdbcConnection *connection, struct AdbcError *error)
{
	struct adbc_connection *con = connection_of(connection, true, error);
	return con ? end_transaction(con, "COMMIT", error) : ADBC_INVALID_STATE;
}

static AdbcStatusCode rollback(struct AdbcConnection *connection, struct AdbcError *error)
{
	struct adbc_connection *con = connection_of(connection, true, error);
	return con ? end_transaction(con, "ROLLBACK", error) : ADBC_INVALID_STATE;
}

static AdbcStatusCode cancel(struct AdbcConnection *connection, struct AdbcError *error)
{
	struct adbc_connection *con = connection_of(connection, true, error);
	if (!con)
		return ADBC_INVALID_STATE;
	rayql_interrupt(con->con);
	return ADBC_OK;
}

/* ---- opening and closing ---- */
static AdbcStatusCode connection_new(struct AdbcConnection *connection, struct AdbcError *error)
{
	struct adbc_connection *con = calloc(1, sizeof *con);
	if (!con)
		return adbc_fail(error, ADBC_INTERNAL, "53200", "out of memory for a connection");
	con->references = 1;
	connection->private_data = con;
	return ADBC_OK;
}

static AdbcStatusCode connection_init(struct AdbcConnection *connection, struct AdbcDatabase *database,
                                      struct AdbcError *error)
{
	struct adbc_connection *con = connection_of(connection, false, error);
	const struct adbc_database *db = database ? database->private_data : NULL;
	rayql_error *err = NULL;
	if (!con)
		return ADBC_INVALID_STATE;
	if (!db || !db->db)
		return adbc_fail(error, ADBC_INVALID_STATE, "55000", "the database is not initialised");
	if (con->con)
		return adbc_fail(error, ADBC_INVALID_STATE, "55000", "the connection is open already");
	return rayql_connect(db->db, &con->con, &err) == RAYQL_OK ? ADBC_OK : adbc_fail_with(error, err);
}

void adbc_connection_unref(struct adbc_connection *con)
{
	if (--con->references)
		return;
	rayql_disconnect(con->con);
	free(con);
}

static AdbcStatusCode connection_release(struct AdbcConnection *connection, struct AdbcError *error)
{
	struct adbc_connection *con = connection_of(connection, false, error);
	if (!con)
		return ADBC_INVALID_STATE;
	if (con->con && rql_session_in_transaction(con->con->session) && con->references == 1)
		run_sql(con, "ROLLBACK", NULL);
	adbc_connection_unref(con);
	connection->private_data = NULL;
	return ADBC_OK;
}

/* ---- options ---- */
static AdbcStatusCode set_autocommit(struct adbc_connection *con, const char *value, struct AdbcError *error)
{
	bool on = true;
	if (!adbc_boolean(value, &on))
		return adbc_fail(error, ADBC_INVALID_ARGUMENT, "22023", AUTOCOMMIT " is \"true\" or \"false\", not \"%s\"",
		                 value ? value : "");
	if (on && con->con && con->manual) {
		AdbcStatusCode status = end_transaction(con, "COMMIT", error);
		if (status != ADBC_OK)
			return status;
	}
	con->manual = !on;
	return ADBC_OK;
}

static AdbcStatusCode use(struct adbc_connection *con, const char *catalog, const char *schema, struct AdbcError *error)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_put(&sql, "USE ");
	if (catalog)
		rql_strbuf_put_ident(&sql, catalog);
	if (catalog && schema)
		rql_strbuf_putc(&sql, '.');
	if (schema)
		rql_strbuf_put_ident(&sql, schema);
	AdbcStatusCode status = adbc_begin(con, error);
	if (status == ADBC_OK)
		status = run_sql(con, rql_strbuf_text(&sql), error);
	rql_strbuf_free(&sql);
	return status;
}

static AdbcStatusCode set_schema(struct adbc_connection *con, const char *schema, struct AdbcError *error)
{
	char *catalog = NULL;
	AdbcStatusCode status = adbc_current(con, false, &catalog, error);
	if (status == ADBC_OK)
		status = use(con, catalog, schema, error);
	free(catalog);
	return status;
}

static AdbcStatusCode set_option(struct AdbcConnection *connection, const char *key, const char *value,
                                 struct AdbcError *error)
{
	struct adbc_connection *con = connection_of(connection, false, error);
	bool read_only = false;
	if (!con)
		return ADBC_INVALID_STATE;
	if (!key || !value)
		return adbc_fail(error, ADBC_INVALID_ARGUMENT, "22023", "an option without a name or a value");
	if (strcmp(key, AUTOCOMMIT) == 0)
		return set_autocommit(con, value, error);
	if (strcmp(key, ISOLATION) == 0) {
		if (strcmp(value, ISOLATION_PREFIX "default") == 0 || strcmp(value, ISOLATION_PREFIX "snapshot") == 0)
			return ADBC_OK;
		return adbc_fail(error, ADBC_NOT_IMPLEMENTED, "0A000",
		                 "DuckDB's transactions see a snapshot: there is no other isolation level (\"%s\")", value);
	}
	if (strcmp(key, READ_ONLY) == 0)
		return adbc_boolean(value, &read_only) && !read_only
		           ? ADBC_OK
		           : adbc_fail(error, ADBC_NOT_IMPLEMENTED, "0A000",
		                       "a database is opened for reading only as a whole: access_mode = read_only");
	if (strcmp(key, CATALOG) != 0 && strcmp(key, SCHEMA) != 0)
		return adbc_unknown_option(error, "connection", key);
	if (!con->con)
		return adbc_fail(error, ADBC_INVALID_STATE, "55000", "\"%s\" can be set once the connection is open", key);
	return strcmp(key, CATALOG) == 0 ? use(con, value, NULL, error) : set_schema(con, value, error);
}

static AdbcStatusCode get_option(struct AdbcConnection *connection, const char *key, char *value, size_t *length,
                                 struct AdbcError *error)
{
	struct adbc_connection *con = connection_of(connection, true, error);
	if (!con)
		return ADBC_INVALID_STATE;
	if (strcmp(key, AUTOCOMMIT) == 0)
		return adbc_give_text(con->manual ? "false" : "true", value, length);
	if (strcmp(key, ISOLATION) == 0)
		return adbc_give_text(ISOLATION_PREFIX "snapshot", value, length);
	bool catalog = strcmp(key, CATALOG) == 0;
	if (!catalog && strcmp(key, SCHEMA) != 0)
		return adbc_fail(error, ADBC_NOT_FOUND, "42704", "a connection has no option \"%s\"", key);
	char *text = NULL;
	AdbcStatusCode status = adbc_current(con, !catalog, &text, error);
	if (status == ADBC_OK)
		adbc_give_text(text ? text : "", value, length);
	free(text);
	return status;
}

/* No option of a connection is of these types. */
static AdbcStatusCode get_bytes(struct AdbcConnection *connection, const char *key, uint8_t *value, size_t *length,
                                struct AdbcError *error)
{
	(void)connection, (void)value, (void)length;
	return adbc_fail(error, ADBC_NOT_FOUND, "42704", "a connection has no option \"%s\" of bytes", key);
}
static AdbcStatusCode get_double(struct AdbcConnection *connection, const char *key, double *value,
                                 struct AdbcError *error)
{
	(void)connection, (void)value;
	return adbc_fail(error, ADBC_NOT_FOUND, "42704", "a connection has no option \"%s\" of a number", key);
}
static AdbcStatusCode get_int(struct AdbcConnection *connection, const char *key, int64_t *value,
                              struct AdbcError *error)
{
	(void)connection, (void)value;
	return adbc_fail(error, ADBC_NOT_FOUND, "42704", "a connection has no option \"%s\" of an integer", key);
}
static AdbcStatusCode set_bytes(struct AdbcConnection *connection, const char *key, const uint8_t *value, size_t length,
                                struct AdbcError *error)
{
	(void)connection, (void)value, (void)length;
	return adbc_unknown_option(error, "connection", key);
}
static AdbcStatusCode set_double(struct AdbcConnection *connection, const char *key, double value,
                                 struct AdbcError *error)
{
	(void)connection, (void)value;
	return adbc_unknown_option(error, "connection", key);
}
static AdbcStatusCode set_int(struct AdbcConnection *connection, const char *key, int64_t value,
                              struct AdbcError *error)
{
	(void)connection, (void)value;
	return adbc_unknown_option(error, "connection", key);
}

static AdbcStatusCode read_partition(struct AdbcConnection *connection, const uint8_t *partition, size_t length,
                                     struct ArrowArrayStream *out, struct AdbcError *error)
{
	(void)connection, (void)partition, (void)length, (void)out;
	return adbc_fail(error, ADBC_NOT_IMPLEMENTED, "0A000", "RayQL's results have no partitions: use ExecuteQuery");
}

void adbc_connection_functions(struct AdbcDriver *driver, bool details)
{
	driver->ConnectionNew = connection_new;
	driver->ConnectionInit = connection_init;
	driver->ConnectionRelease = connection_release;
	driver->ConnectionSetOption = set_option;
	driver->ConnectionCommit = commit;
	driver->ConnectionRollback = rollback;
	driver->ConnectionReadPartition = read_partition;
	driver->ConnectionGetInfo = adbc_get_info;
	driver->ConnectionGetObjects = adbc_get_objects;
	driver->ConnectionGetTableSchema = adbc_get_table_schema;
	driver->ConnectionGetTableTypes = adbc_get_table_types;
	if (!details)
		return;
	driver->ConnectionCancel = cancel;
	driver->ConnectionGetOption = get_option;
	driver->ConnectionGetOptionBytes = get_bytes;
	driver->ConnectionGetOptionDouble = get_double;
	driver->ConnectionGetOptionInt = get_int;
	driver->ConnectionSetOptionBytes = set_bytes;
	driver->ConnectionSetOptionDouble = set_double;
	driver->ConnectionSetOptionInt = set_int;
	driver->ConnectionGetStatistics = adbc_get_statistics;
	driver->ConnectionGetStatisticNames = adbc_get_statistic_names;
}
