/* The ADBC driver through its table of functions, as a driver manager calls it: what goes wrong above all, since managers and
 * Python's tests show what goes right. */
#include "check.h"

#include "../../src/api/adbc/adbc_abi.h"
#include <rayql/adbc.h>

static struct AdbcDriver driver;
static struct AdbcError error;
static struct AdbcDatabase db;
static struct AdbcConnection con;

static void ok(AdbcStatusCode code)
{
	if (code != ADBC_OK)
		fail_msg("status %d: %s", code, error.message);
}

static void refused(AdbcStatusCode got, AdbcStatusCode code, const char *sqlstate, const char *text)
{
	if (got != code || memcmp(error.sqlstate, sqlstate, 5) != 0 || !strstr(error.message, text))
		fail_msg("status %d, %.5s, %s", got, error.sqlstate, error.message);
	error.release(&error);
	assert_null(error.release);
}

static int setup(void **state)
{
	(void)state;
	error = (struct AdbcError){.vendor_code = ADBC_HAS_DETAILS};
	ok(AdbcRayqlInit(ADBC_1_1, &driver, &error));
	ok(driver.DatabaseNew(&db, &error));
	ok(driver.DatabaseSetOption(&db, "path", ":memory:", &error));
	ok(driver.DatabaseSetOptionInt(&db, "threads", 2, &error));
	ok(driver.DatabaseInit(&db, &error));
	ok(driver.ConnectionNew(&con, &error));
	ok(driver.ConnectionInit(&con, &db, &error));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ok(driver.ConnectionRelease(&con, &error));
	ok(driver.DatabaseRelease(&db, &error));
	ok(driver.release(&driver, &error));
	return 0;
}

static struct AdbcStatement statement(const char *sql)
{
	struct AdbcStatement st = {0};
	ok(driver.StatementNew(&con, &st, &error));
	if (sql)
		ok(driver.StatementSetSqlQuery(&st, sql, &error));
	return st;
}

static void execute(const char *sql)
{
	struct AdbcStatement st = statement(sql);
	ok(driver.StatementExecuteQuery(&st, NULL, NULL, &error));
	ok(driver.StatementRelease(&st, &error));
}

static struct ArrowArrayStream rows(const char *sql)
{
	struct ArrowArrayStream out;
	struct AdbcStatement st = statement(sql);
	ok(driver.StatementExecuteQuery(&st, &out, NULL, &error));
	ok(driver.StatementRelease(&st, &error));
	return out;
}

/* Rows of the rest of the stream, which it releases. */
static int64_t rows_left(struct ArrowArrayStream *stream)
{
	int64_t n = 0;
	struct ArrowArray array;
	for (;;) {
		if (stream->get_next(stream, &array) != 0)
			fail_msg("%s", stream->get_last_error(stream));
		if (!array.release)
			break;
		n += array.length;
		array.release(&array);
	}
	stream->release(stream);
	return n;
}

static void versions(void **state)
{
	struct AdbcDriver old;
	struct AdbcError plain = {0};
	(void)state;
	refused(AdbcRayqlInit(2000000, &driver, &error), ADBC_NOT_IMPLEMENTED, "0A000", "versions 1.0.0 and 1.1.0");
	memset(&old, 0x55, sizeof old);
	assert_int_equal(AdbcRayqlInit(ADBC_1_0, &old, &plain), ADBC_OK);
	assert_non_null(old.StatementExecuteQuery);
	unsigned char behind[sizeof old - ADBC_DRIVER_1_0_SIZE];
	memset(behind, 0x55, sizeof behind);
	assert_memory_equal((char *)&old + ADBC_DRIVER_1_0_SIZE, behind, sizeof behind);
	/* An error of 1.0 ends before the details. */
	struct AdbcStatement st = statement("selec");
	assert_int_equal(old.StatementExecuteQuery(&st, NULL, NULL, &plain), ADBC_INVALID_ARGUMENT);
	assert_int_equal(plain.vendor_code, RAYQL_ERROR_HOST);
	assert_null(plain.private_data);
	plain.release(&plain);
	ok(driver.StatementRelease(&st, &error));
}

static void errors(void **state)
{
	static const struct {
		const char *sql;
		AdbcStatusCode code;
		const char *sqlstate, *text;
	} cases[] = {
		{"selec", ADBC_INVALID_ARGUMENT, "42601", "Parser Error"},
		{"SELECT nothing FROM t", ADBC_INVALID_ARGUMENT, "42703", "Binder Error"},
		{"SELECT * FROM missing", ADBC_NOT_FOUND, "42P01", "missing does not exist"},
		{"CREATE TABLE t (i INTEGER)", ADBC_ALREADY_EXISTS, "42P07", "already exists"},
		{"INSERT INTO t VALUES (1)", ADBC_INTEGRITY, "23505", "Duplicate key"},
		{"INSERT INTO t VALUES (NULL)", ADBC_INTEGRITY, "23502", "NOT NULL"},
		{"SELECT 'x'::INTEGER", ADBC_INVALID_DATA, "22018", "Conversion Error"},
		{"SELECT 2000000000::INTEGER + i::INTEGER * 2000000000 FROM t", ADBC_INVALID_DATA, "22003", "Out of Range"},
		{"CREATE MATERIALIZED VIEW t", ADBC_INVALID_ARGUMENT, "42000", ""},
	};
	(void)state;
	execute("CREATE TABLE t (i INTEGER PRIMARY KEY)");
	execute("INSERT INTO t VALUES (1)");
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct AdbcStatement st = statement(cases[i].sql);
		struct ArrowArrayStream out = {0};
		AdbcStatusCode code = driver.StatementExecuteQuery(&st, &out, NULL, &error);
		if (code == ADBC_OK && out.release) { /* it fails when it is read */
			struct ArrowArray array;
			AdbcStatusCode status = ADBC_OK;
			assert_int_not_equal(out.get_next(&out, &array), 0);
			const struct AdbcError *found = driver.ErrorFromArrayStream(&out, &status);
			assert_non_null(found);
			assert_int_equal(status, cases[i].code);
			assert_memory_equal(found->sqlstate, cases[i].sqlstate, 5);
			out.release(&out);
		} else {
			assert_int_equal(driver.ErrorGetDetailCount(&error), 1);
			struct AdbcErrorDetail detail = driver.ErrorGetDetail(&error, 0);
			assert_string_equal(detail.key, "rayql.status");
			refused(code, cases[i].code, cases[i].sqlstate, cases[i].text);
		}
		ok(driver.StatementRelease(&st, &error));
	}
	execute("DROP TABLE t");
}

static void refusals(void **state)
{
	struct AdbcStatement st = statement(NULL);
	struct ArrowSchema schema;
	char value[4];
	size_t length = sizeof value;
	(void)state;
	refused(driver.StatementExecuteQuery(&st, NULL, NULL, &error), ADBC_INVALID_STATE, "55000", "neither a query");
	refused(driver.StatementPrepare(&st, &error), ADBC_INVALID_STATE, "55000", "no query");
	refused(driver.StatementGetParameterSchema(&st, &schema, &error), ADBC_INVALID_STATE, "55000", "not prepared");
	refused(driver.StatementSetSubstraitPlan(&st, NULL, 0, &error), ADBC_NOT_IMPLEMENTED, "0A000", "Substrait");
	refused(driver.StatementExecutePartitions(&st, NULL, NULL, NULL, &error), ADBC_NOT_IMPLEMENTED, "0A000",
	      "no partitions");
	refused(driver.StatementSetOption(&st, "no.such", "x", &error), ADBC_NOT_IMPLEMENTED, "0A000", "no.such");
	refused(driver.StatementSetOption(&st, "adbc.ingest.mode", "x", &error), ADBC_INVALID_ARGUMENT, "22023", "mode");
	ok(driver.StatementSetOption(&st, "adbc.ingest.target_table", "x", &error));
	refused(driver.StatementExecuteQuery(&st, NULL, NULL, &error), ADBC_INVALID_STATE, "55000", "no data to load");
	ok(driver.StatementRelease(&st, &error));
	refused(driver.StatementRelease(&st, &error), ADBC_INVALID_STATE, "55000", "released");
	refused(driver.ConnectionCommit(&con, &error), ADBC_INVALID_STATE, "25000", "commits by itself");
	refused(driver.ConnectionReadPartition(&con, NULL, 0, NULL, &error), ADBC_NOT_IMPLEMENTED, "0A000", "no partitions");
	refused(driver.ConnectionSetOption(&con, "adbc.connection.transaction.isolation_level",
	                                 "adbc.connection.transaction.isolation.serializable", &error),
	      ADBC_NOT_IMPLEMENTED, "0A000", "snapshot");
	refused(driver.DatabaseSetOption(&db, "threads", "1", &error), ADBC_INVALID_STATE, "55000", "while the database is open");
	/* A buffer that is too small is left as it is; the length says what is needed. */
	memset(value, 'x', sizeof value);
	ok(driver.ConnectionGetOption(&con, "adbc.connection.catalog", value, &length, &error));
	assert_int_equal(length, sizeof "memory");
	assert_int_equal(value[0], 'x');
	refused(driver.ConnectionGetOption(&con, "no.such", value, &length, &error), ADBC_NOT_FOUND, "42704", "no.such");
}

static void databases_that_do_not_open(void **state)
{
	struct AdbcDatabase other = {0};
	struct AdbcConnection none = {0};
	(void)state;
	ok(driver.DatabaseNew(&other, &error));
	ok(driver.DatabaseSetOption(&other, "uri", "rayql:///no/such/folder/x.db", &error));
	refused(driver.DatabaseInit(&other, &error), ADBC_IO, "58030", "/no/such/folder/x.db");
	ok(driver.ConnectionNew(&none, &error));
	refused(driver.ConnectionInit(&none, &other, &error), ADBC_INVALID_STATE, "55000", "not initialised");
	ok(driver.ConnectionRelease(&none, &error));
	ok(driver.DatabaseSetOption(&other, "uri", "rayql::memory:", &error));
	ok(driver.DatabaseSetOption(&other, "no_such_option", "1", &error));
	assert_int_not_equal(driver.DatabaseInit(&other, &error), ADBC_OK);
	assert_non_null(strstr(error.message, "no_such_option"));
	error.release(&error);
	ok(driver.DatabaseRelease(&other, &error));
}

/* Several results of a connection at once, one of them longer than its statement and connection. */
static void results_at_once(void **state)
{
	struct ArrowArrayStream first = rows("SELECT * FROM range(200000)"), second = rows("SELECT * FROM range(10)");
	struct ArrowArrayStream third = rows("SELECT i, 'text number ' || i FROM range(300000) r(i)");
	struct ArrowSchema schema;
	(void)state;
	assert_int_equal(first.get_schema(&first, &schema), 0);
	assert_string_equal(schema.children[0]->format, "l");
	schema.release(&schema);
	assert_int_equal(rows_left(&first), 200000);
	assert_int_equal(rows_left(&second), 10);
	teardown(NULL);
	assert_int_equal(rows_left(&third), 300000);
	setup(NULL);
}

static void parameters(void **state)
{
	struct ArrowArrayStream bound = rows("SELECT i::INTEGER AS a, 'x' || i AS b FROM range(3) r(i)"), out;
	struct AdbcStatement st = statement("SELECT $1 + 1, $2 FROM range(2)");
	int64_t changed = 0;
	(void)state;
	ok(driver.StatementBindStream(&st, &bound, &error));
	ok(driver.StatementExecuteQuery(&st, &out, NULL, &error));
	assert_int_equal(rows_left(&out), 6); /* all rows of all three */
	bound = rows("SELECT 1");
	ok(driver.StatementBindStream(&st, &bound, &error));
	refused(driver.StatementExecuteQuery(&st, &out, NULL, &error), ADBC_INVALID_ARGUMENT, "22023", "has 2 parameters");
	ok(driver.StatementRelease(&st, &error));
	execute("CREATE TABLE p (a INTEGER, b VARCHAR)");
	st = statement("INSERT INTO p VALUES (?, ?)");
	bound = rows("SELECT i, 'x' || i FROM range(3) r(i)");
	ok(driver.StatementBindStream(&st, &bound, &error));
	ok(driver.StatementExecuteQuery(&st, NULL, &changed, &error));
	assert_int_equal(changed, 3);
	ok(driver.StatementRelease(&st, &error));
	execute("DROP TABLE p");
}

static void load(const char *mode, const char *sql, int64_t want)
{
	struct ArrowArrayStream data = rows(sql);
	struct AdbcStatement st = statement(NULL);
	int64_t loaded = 0;
	ok(driver.StatementSetOption(&st, "adbc.ingest.target_table", "a \"table\"", &error));
	ok(driver.StatementSetOption(&st, "adbc.ingest.mode", mode, &error));
	ok(driver.StatementBindStream(&st, &data, &error));
	ok(driver.StatementExecuteQuery(&st, NULL, &loaded, &error));
	assert_int_equal(loaded, want);
	ok(driver.StatementRelease(&st, &error));
}

static void loading(void **state)
{
	(void)state;
	load("adbc.ingest.mode.create", "SELECT i, i % 3 AS g FROM range(200000) r(i)", 200000);
	load("adbc.ingest.mode.append", "SELECT 1 AS g, 2 AS i", 1); /* columns go by their names */
	load("adbc.ingest.mode.create_append", "SELECT 1 AS i", 1);
	struct ArrowArrayStream out = rows("FROM \"a \"\"table\"\"\" WHERE i = 2 AND g = 1 OR g IS NULL");
	assert_int_equal(rows_left(&out), 2);
	load("adbc.ingest.mode.replace", "SELECT 1 AS other", 1);
	out = rows("SELECT other FROM \"a \"\"table\"\"\"");
	assert_int_equal(rows_left(&out), 1);
	execute("DROP TABLE \"a \"\"table\"\"\"");
}

static void transactions(void **state)
{
	(void)state;
	execute("CREATE TABLE t (i INTEGER)");
	ok(driver.ConnectionSetOption(&con, "adbc.connection.autocommit", "false", &error));
	execute("INSERT INTO t VALUES (1)");
	ok(driver.ConnectionRollback(&con, &error));
	execute("INSERT INTO t VALUES (2), (3)");
	ok(driver.ConnectionCommit(&con, &error));
	ok(driver.ConnectionRollback(&con, &error));
	ok(driver.ConnectionSetOption(&con, "adbc.connection.autocommit", "true", &error));
	struct ArrowArrayStream out = rows("FROM t");
	assert_int_equal(rows_left(&out), 2);
	execute("DROP TABLE t");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions),   cmocka_unit_test(errors),
		cmocka_unit_test(refusals),   cmocka_unit_test(databases_that_do_not_open),
		cmocka_unit_test(parameters), cmocka_unit_test(results_at_once),
		cmocka_unit_test(loading),    cmocka_unit_test(transactions),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
