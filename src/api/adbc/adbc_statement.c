/* Statements of the ADBC driver: queries, parameters, loading of Arrow data into tables. */
#include "api/adbc/adbc_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum mode { CREATE, APPEND, REPLACE, CREATE_APPEND };
static const struct {
	const char *name;
	enum mode mode;
} modes[] = {
	{"adbc.ingest.mode.create", CREATE},
	{"adbc.ingest.mode.append", APPEND},
	{"adbc.ingest.mode.replace", REPLACE},
	{"adbc.ingest.mode.create_append", CREATE_APPEND},
};
#define MODES (sizeof modes / sizeof modes[0])

struct adbc_statement {
	struct adbc_connection *con;
	char *sql; /* NULL: none, or a load */
	rayql_statement *prepared; /* NULL: not yet */
	struct ArrowArrayStream bound; /* released: nothing is bound */
	char *table, *catalog, *schema; /* what a load goes into; table NULL: it is none */
	enum mode mode;
	bool temporary;
};

static struct adbc_statement *statement_of(const struct AdbcStatement *statement, struct AdbcError *error)
{
	if (!statement->private_data)
		adbc_fail(error, ADBC_INVALID_STATE, "55000", "the statement was not made by AdbcStatementNew, or is released");
	return statement->private_data;
}

static void unprepare(struct adbc_statement *st)
{
	rayql_statement_free(st->prepared);
	st->prepared = NULL;
}

static void unbind(struct adbc_statement *st)
{
	if (st->bound.release)
		st->bound.release(&st->bound);
	st->bound.release = NULL;
}

static AdbcStatusCode statement_new(struct AdbcConnection *connection, struct AdbcStatement *statement,
                                    struct AdbcError *error)
{
	struct adbc_connection *con = connection->private_data;
	if (!con || !con->con)
		return adbc_fail(error, ADBC_INVALID_STATE, "55000", "the connection is not initialised");
	struct adbc_statement *st = calloc(1, sizeof *st);
	if (!st)
		return adbc_fail(error, ADBC_INTERNAL, "53200", "out of memory for a statement");
	st->con = con;
	con->references++;
	statement->private_data = st;
	return ADBC_OK;
}

static AdbcStatusCode statement_release(struct AdbcStatement *statement, struct AdbcError *error)
{
	struct adbc_statement *st = statement_of(statement, error);
	if (!st)
		return ADBC_INVALID_STATE;
	unprepare(st);
	unbind(st);
	adbc_connection_unref(st->con);
	free(st->sql);
	free(st->table);
	free(st->catalog);
	free(st->schema);
	free(st);
	statement->private_data = NULL;
	return ADBC_OK;
}

static AdbcStatusCode set_text(char **slot, const char *text, struct AdbcError *error)
{
	char *copy = text ? strdup(text) : NULL;
	if (text && !copy)
		return adbc_fail(error, ADBC_INTERNAL, "53200", "out of memory for a text");
	free(*slot);
	*slot = copy;
	return ADBC_OK;
}

static AdbcStatusCode set_sql(struct AdbcStatement *statement, const char *sql, struct AdbcError *error)
{
	struct adbc_statement *st = statement_of(statement, error);
	if (!st)
		return ADBC_INVALID_STATE;
	if (!sql)
		return adbc_fail(error, ADBC_INVALID_ARGUMENT, "22023", "the query is NULL");
	unprepare(st);
	set_text(&st->table, NULL, error);
	return set_text(&st->sql, sql, error);
}

static AdbcStatusCode set_substrait(struct AdbcStatement *statement, const uint8_t *plan, size_t length,
                                    struct AdbcError *error)
{
	(void)statement, (void)plan, (void)length;
	return adbc_fail(error, ADBC_NOT_IMPLEMENTED, "0A000", "RayQL takes SQL, no Substrait plans");
}

/* ---- options ---- */
static AdbcStatusCode set_mode(struct adbc_statement *st, const char *value, struct AdbcError *error)
{
	for (size_t i = 0; i < MODES; i++) {
		if (strcmp(modes[i].name, value) == 0) {
			st->mode = modes[i].mode;
			return ADBC_OK;
		}
	}
	return adbc_fail(error, ADBC_INVALID_ARGUMENT, "22023", "there is no mode of loading \"%s\"", value);
}

static AdbcStatusCode set_option(struct AdbcStatement *statement, const char *key, const char *value,
                                 struct AdbcError *error)
{
	struct adbc_statement *st = statement_of(statement, error);
	bool on = false;
	if (!st)
		return ADBC_INVALID_STATE;
	if (!key)
		return adbc_fail(error, ADBC_INVALID_ARGUMENT, "22023", "an option without a name");
	if (strcmp(key, "adbc.ingest.target_catalog") == 0)
		return set_text(&st->catalog, value && *value ? value : NULL, error);
	if (strcmp(key, "adbc.ingest.target_db_schema") == 0)
		return set_text(&st->schema, value && *value ? value : NULL, error);
	if (!value)
		return adbc_fail(error, ADBC_INVALID_ARGUMENT, "22023", "the option \"%s\" has no value", key);
	if (strcmp(key, "adbc.ingest.target_table") == 0) {
		unprepare(st);
		set_text(&st->sql, NULL, error);
		return set_text(&st->table, value, error);
	}
	if (strcmp(key, "adbc.ingest.mode") == 0)
		return set_mode(st, value, error);
	bool temporary = strcmp(key, "adbc.ingest.temporary") == 0;
	if (!temporary && strcmp(key, "adbc.statement.exec.incremental") != 0)
		return adbc_unknown_option(error, "statement", key);
	if (!adbc_boolean(value, &on))
		return adbc_fail(error, ADBC_INVALID_ARGUMENT, "22023", "\"%s\" is \"true\" or \"false\", not \"%s\"", key, value);
	if (temporary)
		st->temporary = on;
	else if (on)
		return adbc_fail(error, ADBC_NOT_IMPLEMENTED, "0A000", "RayQL's results are not incremental");
	return ADBC_OK;
}

static AdbcStatusCode get_option(struct AdbcStatement *statement, const char *key, char *value, size_t *length,
                                 struct AdbcError *error)
{
	struct adbc_statement *st = statement_of(statement, error);
	if (!st)
		return ADBC_INVALID_STATE;
	if (strcmp(key, "adbc.ingest.target_table") == 0 && st->table)
		return adbc_give_text(st->table, value, length);
	if (strcmp(key, "adbc.ingest.target_catalog") == 0 && st->catalog)
		return adbc_give_text(st->catalog, value, length);
	if (strcmp(key, "adbc.ingest.target_db_schema") == 0 && st->schema)
		return adbc_give_text(st->schema, value, length);
	if (strcmp(key, "adbc.ingest.temporary") == 0)
		return adbc_give_text(st->temporary ? "true" : "false", value, length);
	for (size_t i = 0; i < MODES && strcmp(key, "adbc.ingest.mode") == 0; i++)
		if (modes[i].mode == st->mode)
			return adbc_give_text(modes[i].name, value, length);
	return adbc_fail(error, ADBC_NOT_FOUND, "42704", "the statement has no option \"%s\"", key);
}

/* Progress, from any thread. */
static AdbcStatusCode get_double(struct AdbcStatement *statement, const char *key, double *value,
                                 struct AdbcError *error)
{
	struct adbc_statement *st = statement_of(statement, error);
	rayql_progress_info info;
	if (!st)
		return ADBC_INVALID_STATE;
	if (strcmp(key, "adbc.statement.exec.max_progress") == 0) {
		*value = 100;
		return ADBC_OK;
	}
	if (strcmp(key, "adbc.statement.exec.progress") != 0)
		return adbc_fail(error, ADBC_NOT_FOUND, "42704", "the statement has no option \"%s\" of a number", key);
	rayql_progress(st->con->con, &info);
	*value = info.percentage < 0 ? 0 : info.percentage;
	return ADBC_OK;
}

static AdbcStatusCode get_bytes(struct AdbcStatement *statement, const char *key, uint8_t *value, size_t *length,
                                struct AdbcError *error)
{
	(void)statement, (void)value, (void)length;
	return adbc_fail(error, ADBC_NOT_FOUND, "42704", "a statement has no option \"%s\" of bytes", key);
}
static AdbcStatusCode get_int(struct AdbcStatement *statement, const char *key, int64_t *value, struct AdbcError *error)
{
	(void)statement, (void)value;
	return adbc_fail(error, ADBC_NOT_FOUND, "42704", "a statement has no option \"%s\" of an integer", key);
}
static AdbcStatusCode set_bytes(struct AdbcStatement *statement, const char *key, const uint8_t *value, size_t length,
                                struct AdbcError *error)
{
	(void)statement, (void)value, (void)length;
	return adbc_unknown_option(error, "statement", key);
}
static AdbcStatusCode set_double(struct AdbcStatement *statement, const char *key, double value,
                                 struct AdbcError *error)
{
	(void)statement, (void)value;
	return adbc_unknown_option(error, "statement", key);
}
static AdbcStatusCode set_int(struct AdbcStatement *statement, const char *key, int64_t value, struct AdbcError *error)
{
	(void)statement, (void)value;
	return adbc_unknown_option(error, "statement", key);
}

/* ---- parameters ---- */
static AdbcStatusCode bind_stream(struct AdbcStatement *statement, struct ArrowArrayStream *stream,
                                  struct AdbcError *error)
{
	struct adbc_statement *st = statement_of(statement, error);
	if (!st)
		return ADBC_INVALID_STATE;
	if (!stream || !stream->release)
		return adbc_fail(error, ADBC_INVALID_ARGUMENT, "22023", "the stream is released");
	unbind(st);
	st->bound = *stream;
	stream->release = NULL;
	return ADBC_OK;
}

static AdbcStatusCode bind_array(struct AdbcStatement *statement, struct ArrowArray *values, struct ArrowSchema *schema,
                                 struct AdbcError *error)
{
	struct adbc_statement *st = statement_of(statement, error);
	if (!st)
		return ADBC_INVALID_STATE;
	if (!values || !values->release || !schema || !schema->release)
		return adbc_fail(error, ADBC_INVALID_ARGUMENT, "22023", "the values or their schema are released");
	unbind(st);
	struct ArrowSchema taken_schema = *schema;
	struct ArrowArray taken = *values;
	schema->release = NULL;
	values->release = NULL;
	return adbc_stream_array(&taken_schema, &taken, &st->bound, error);
}

/* ---- preparing ---- */
static AdbcStatusCode prepare(struct adbc_statement *st, struct AdbcError *error)
{
	rayql_error *err = NULL;
	if (!st->sql)
		return adbc_fail(error, ADBC_INVALID_STATE, "55000", "the statement has no query");
	if (st->prepared)
		return ADBC_OK;
	AdbcStatusCode status = adbc_begin(st->con, error);
	if (status != ADBC_OK)
		return status;
	return rayql_prepare(st->con->con, st->sql, &st->prepared, &err) == RAYQL_OK ? ADBC_OK : adbc_fail_with(error, err);
}

static AdbcStatusCode statement_prepare(struct AdbcStatement *statement, struct AdbcError *error)
{
	struct adbc_statement *st = statement_of(statement, error);
	return st ? prepare(st, error) : ADBC_INVALID_STATE;
}

static AdbcStatusCode parameter_schema(struct AdbcStatement *statement, struct ArrowSchema *out,
                                       struct AdbcError *error)
{
	struct adbc_statement *st = statement_of(statement, error);
	rayql_error *err = NULL;
	if (!st)
		return ADBC_INVALID_STATE;
	if (!st->prepared)
		return adbc_fail(error, ADBC_INVALID_STATE, "55000", "the statement is not prepared");
	AdbcStatusCode status = adbc_begin(st->con, error);
	if (status == ADBC_OK && rayql_parameter_schema(st->prepared, out, &err) != RAYQL_OK)
		status = adbc_fail_with(error, err);
	return status;
}

static AdbcStatusCode execute_schema(struct AdbcStatement *statement, struct ArrowSchema *out, struct AdbcError *error)
{
	struct adbc_statement *st = statement_of(statement, error);
	rayql_error *err = NULL;
	if (!st)
		return ADBC_INVALID_STATE;
	AdbcStatusCode status = adbc_begin(st->con, error);
	if (status == ADBC_OK)
		status = prepare(st, error);
	if (status == ADBC_OK && rayql_statement_schema(st->prepared, out, &err) != RAYQL_OK)
		status = adbc_fail_with(error, err);
	return status;
}

/* ---- loading ---- */
/* Where the table is, or is to be: a temporary table must not be taken for another one of its name, or the other way. */
static AdbcStatusCode find_target(const struct adbc_statement *st, char **catalog, char **schema,
                                  struct AdbcError *error)
{
	AdbcStatusCode status = ADBC_OK;
	*catalog = st->temporary ? strdup("temp") : st->catalog ? strdup(st->catalog) : NULL;
	*schema = st->schema ? strdup(st->schema) : *catalog ? strdup("main") : NULL;
	if (!*catalog)
		status = adbc_current(st->con, false, catalog, error);
	if (!*schema && status == ADBC_OK)
		status = adbc_current(st->con, true, schema, error);
	return status;
}

/* CREATE TEMPORARY TABLE takes no other name than the table's. */
static void put_load(const struct adbc_statement *st, bool append, const char *catalog, const char *schema,
                     struct rql_strbuf *sql)
{
	if (append)
		rql_strbuf_put(sql, "INSERT INTO ");
	else
		rql_strbuf_printf(sql, "CREATE %s%sTABLE ", st->mode == REPLACE ? "OR REPLACE " : "",
		                  st->temporary ? "TEMPORARY " : "");
	if (append || !st->temporary) {
		rql_strbuf_put_ident(sql, catalog);
		rql_strbuf_putc(sql, '.');
		rql_strbuf_put_ident(sql, schema);
		rql_strbuf_putc(sql, '.');
	}
	rql_strbuf_put_ident(sql, st->table);
	rql_strbuf_put(sql, append ? " BY NAME SELECT * FROM rayql_stream" : " AS SELECT * FROM rayql_stream");
}

static AdbcStatusCode load(struct adbc_statement *st, int64_t *rows, struct AdbcError *error)
{
	struct rql_strbuf sql = {0};
	struct ArrowArrayStream stream = st->bound;
	rayql_error *err = NULL;
	char *catalog = NULL, *schema = NULL;
	uint64_t changed = 0;
	if (!stream.release)
		return adbc_fail(error, ADBC_INVALID_STATE, "55000", "there is no data to load: bind an array or a stream first");
	if (st->temporary && (st->catalog || st->schema))
		return adbc_fail(error, ADBC_INVALID_STATE, "55000", "a temporary table has no catalog or schema to choose");
	AdbcStatusCode status = adbc_begin(st->con, error);
	if (status == ADBC_OK)
		status = find_target(st, &catalog, &schema, error);
	if (status == ADBC_OK) {
		bool append = st->mode == APPEND ||
		              (st->mode == CREATE_APPEND && adbc_table_exists(st->con, catalog, schema, st->table));
		put_load(st, append, catalog, schema, &sql);
		st->bound.release = NULL; /* it is used up */
		if (rayql_query_arrow(st->con->con, rql_strbuf_text(&sql), &stream, &changed, &err) != RAYQL_OK)
			status = adbc_fail_with(error, err);
	}
	free(catalog);
	free(schema);
	rql_strbuf_free(&sql);
	if (status == ADBC_OK && rows)
		*rows = (int64_t)changed;
	return status;
}

/* ---- running ---- */

/* What a statement that gives no rows has done. */
static AdbcStatusCode take_count(rayql_result *res, int64_t *rows, struct AdbcError *error)
{
	rayql_batch *batch = NULL;
	rayql_error *err = NULL;
	int64_t count = rayql_result_kind_of(res) == RAYQL_RESULT_NOTHING ? 0 : -1;
	rayql_status status = RAYQL_OK;
	if (rayql_result_kind_of(res) == RAYQL_RESULT_CHANGED) {
		status = rayql_fetch(res, &batch, &err);
		const int64_t *data = batch && rayql_batch_rows(batch) ? rayql_batch_data(batch, 0) : NULL;
		if (data && rayql_column_type(res, 0) == RAYQL_TYPE_BIGINT)
			count = *data;
		rayql_batch_free(batch);
	}
	rayql_result_free(res);
	if (rows)
		*rows = count;
	return status == RAYQL_OK ? ADBC_OK : adbc_fail_with(error, err);
}

static AdbcStatusCode give_result(struct adbc_statement *st, rayql_result *res, struct ArrowArrayStream *out,
                                  int64_t *rows, struct AdbcError *error)
{
	if (rayql_result_kind_of(res) != RAYQL_RESULT_ROWS) {
		if (out)
			adbc_stream_nothing(out);
		return take_count(res, rows, error);
	}
	if (rows)
		*rows = -1; /* known when they have been read */
	if (out)
		return adbc_stream_result(st->con, res, out, error);
	rayql_result_free(res);
	return ADBC_OK;
}

static AdbcStatusCode execute_bound(struct adbc_statement *st, struct ArrowArrayStream *out, int64_t *rows,
                                    struct AdbcError *error)
{
	struct ArrowArrayStream bound = st->bound;
	rayql_error *err = NULL;
	uint64_t changed = 0;
	AdbcStatusCode status = prepare(st, error);
	if (status != ADBC_OK)
		return status;
	st->bound.release = NULL;
	if (rql_prepared_is_query(st->prepared->query)) {
		struct ArrowArrayStream ignored;
		if (rows)
			*rows = -1;
		status = adbc_stream_parameters(st->con, st->prepared, &bound, out ? out : &ignored, error);
		if (status == ADBC_OK && !out)
			ignored.release(&ignored);
		return status;
	}
	if (rayql_execute_arrow(st->prepared, &bound, &changed, &err) != RAYQL_OK)
		return adbc_fail_with(error, err);
	if (rows)
		*rows = (int64_t)changed;
	if (out)
		adbc_stream_nothing(out);
	return ADBC_OK;
}

static AdbcStatusCode execute_query(struct AdbcStatement *statement, struct ArrowArrayStream *out, int64_t *rows,
                                    struct AdbcError *error)
{
	struct adbc_statement *st = statement_of(statement, error);
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	if (!st)
		return ADBC_INVALID_STATE;
	if (!st->sql && !st->table)
		return adbc_fail(error, ADBC_INVALID_STATE, "55000", "the statement has neither a query nor a table to load");
	if (out)
		*out = (struct ArrowArrayStream){0};
	AdbcStatusCode status = adbc_begin(st->con, error);
	if (status != ADBC_OK)
		return status;
	if (st->table) {
		status = load(st, rows, error);
		if (status == ADBC_OK && out)
			adbc_stream_nothing(out);
		return status;
	}
	if (st->bound.release)
		return execute_bound(st, out, rows, error);
	rayql_status done = st->prepared ? rayql_execute(st->prepared, &res, &err)
	                                 : rayql_query(st->con->con, st->sql, &res, &err);
	return done == RAYQL_OK ? give_result(st, res, out, rows, error) : adbc_fail_with(error, err);
}

static AdbcStatusCode execute_partitions(struct AdbcStatement *statement, struct ArrowSchema *schema,
                                         struct AdbcPartitions *partitions, int64_t *rows, struct AdbcError *error)
{
	(void)statement, (void)schema, (void)partitions, (void)rows;
	return adbc_fail(error, ADBC_NOT_IMPLEMENTED, "0A000", "RayQL's results have no partitions: use ExecuteQuery");
}

static AdbcStatusCode cancel(struct AdbcStatement *statement, struct AdbcError *error)
{
	struct adbc_statement *st = statement_of(statement, error);
	if (!st)
		return ADBC_INVALID_STATE;
	rayql_interrupt(st->con->con);
	return ADBC_OK;
}

void adbc_statement_functions(struct AdbcDriver *driver, bool details)
{
	driver->StatementNew = statement_new;
	driver->StatementRelease = statement_release;
	driver->StatementSetSqlQuery = set_sql;
	driver->StatementSetSubstraitPlan = set_substrait;
	driver->StatementSetOption = set_option;
	driver->StatementBind = bind_array;
	driver->StatementBindStream = bind_stream;
	driver->StatementPrepare = statement_prepare;
	driver->StatementGetParameterSchema = parameter_schema;
	driver->StatementExecuteQuery = execute_query;
	driver->StatementExecutePartitions = execute_partitions;
	if (!details)
		return;
	driver->StatementCancel = cancel;
	driver->StatementExecuteSchema = execute_schema;
	driver->StatementGetOption = get_option;
	driver->StatementGetOptionBytes = get_bytes;
	driver->StatementGetOptionDouble = get_double;
	driver->StatementGetOptionInt = get_int;
	driver->StatementSetOptionBytes = set_bytes;
	driver->StatementSetOptionDouble = set_double;
	driver->StatementSetOptionInt = set_int;
}
