/* What DuckDB does while it binds a statement happens as often as DuckDB alone would do it: table functions are called,
 * files are opened and sequences move when a statement is bound, so that it must not be prepared and planned at will.
 * And no answer over files and table functions comes from the host in silence. */
#include "check.h"

#include <poll.h>
#include <rayql/arrow.h>
#include <sys/inotify.h>

static struct session with_columns(void)
{
	struct session s = open_session(NULL, NULL);
	make_table(s.con, "t", 20000);
	run(s.con, "CREATE INDEX c ON t USING columns (*)");
	run(s.con, "CREATE SEQUENCE s");
	run(s.con, "SET rayql_force = on");
	return s;
}

static void sequences_move_once(void **state)
{
	struct session s = with_columns();
	(void)state;
	expect(s.con, "SELECT count(*) FROM range(nextval('s')::INT)", "host", "1\n");
	expect(s.con, "SELECT count(*) FROM range(nextval('s')::INT)", "host", "2\n");
	expect(s.con, "BEGIN; SELECT count(*) FROM range(nextval('s')::INT)", "host", "3\n");
	expect(s.con, "COMMIT; SELECT nextval('s')", "host", "4\n");
	run(s.con, "CREATE TABLE u AS SELECT * FROM range(nextval('s')::INT)");
	run(s.con, "INSERT INTO u SELECT * FROM range(nextval('s')::INT)");
	expect(s.con, "SELECT count(*) FROM u", NULL, "11\n");
	run(s.con, "SET VARIABLE n = nextval('s')");
	expect(s.con, "SELECT getvariable('n')", "host", "7\n");
	/* A view hides it: it may move more than once, but the statement is answered, and the database lives on. */
	run(s.con, "CREATE VIEW hidden AS SELECT * FROM range(nextval('s')::INT)");
	expect(s.con, "SELECT count(*) > 7 FROM hidden", "host", "true\n");
	run(s.con, "EXPLAIN SELECT count(*) FROM hidden");
	expect(s.con, "SELECT sum(v) FROM t", "scan", "199990000\n");
	assert_int_not_equal(rayql_query(s.con, "CREATE MATERIALIZED VIEW m AS SELECT range, count(*) FROM hidden GROUP BY 1",
	                                 NULL, NULL),
	                     RAYQL_OK);
	expect(s.con, "SELECT sum(v) FROM t", "scan", "199990000\n");
	close_session(&s);
}

static void a_statement_knows_itself(void **state)
{
	struct session s = with_columns();
	(void)state;
	run(s.con, "SET VARIABLE w = current_query_id() + 1");
	expect(s.con, "SELECT getvariable('w') < 1000000", "host", "true\n");
	expect(s.con, "SELECT current_query_id() < 1000000", "host", "true\n");
	expect(s.con, "SELECT txid_current() > 0", "host", "true\n");
	close_session(&s);
}

/* DuckDB attaches the file while it binds; a second binding before the first is gone would wait for it for ever. */
static void databases_in_files(void **state)
{
	char path[256], sql[512];
	struct session other = open_session(scratch_path(path, "other.duckdb"), NULL);
	(void)state;
	run(other.con, "CREATE TABLE r AS SELECT range AS i FROM range(10)");
	close_session(&other);
	struct session s = with_columns();
	alarm(600);
	snprintf(sql, sizeof sql, "CREATE VIEW rv AS SELECT * FROM read_duckdb('%s')", path);
	run(s.con, sql);
	snprintf(sql, sizeof sql, "SELECT sum(i) FROM read_duckdb('%s')", path);
	expect(s.con, sql, "host", "45\n");
	expect(s.con, "SELECT sum(i) FROM rv", "host", "45\n");
	expect(s.con, "SELECT sum(i) FROM rv", "host", "45\n");
	expect(s.con, "SELECT count(*) FROM t, rv", "host", "200000\n");
	run(s.con, "EXPLAIN SELECT sum(i) FROM rv");
	run(s.con, "EXPLAIN ANALYZE SELECT sum(i) FROM rv");
	expect(s.con, "BEGIN; SELECT sum(i) FROM rv", "host", "45\n");
	expect(s.con, "SELECT sum(i) FROM rv; COMMIT", "host", NULL);
	rayql_statement *stmt = NULL;
	rayql_result *res = NULL;
	assert_int_equal(rayql_prepare(s.con, "SELECT sum(i) FROM rv WHERE i < ?", &stmt, NULL), RAYQL_OK);
	for (int64_t most = 3; most < 6; most++) {
		char want[16];
		snprintf(want, sizeof want, "%d\n", (int)(most * (most - 1) / 2));
		assert_int_equal(rayql_bind_int64(stmt, 1, most), RAYQL_OK);
		assert_int_equal(rayql_execute(stmt, &res, NULL), RAYQL_OK);
		char *rows = read_rows(res, NULL);
		assert_string_equal(rows, want);
		free(rows);
	}
	rayql_statement_free(stmt);
	alarm(0);
	close_session(&s);
}

/* How often sql opens the file. */
static int opens(rayql_connection *con, const char *sql, const char *file)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	int fd = inotify_init1(IN_NONBLOCK), count = 0;
	assert_true(fd >= 0 && inotify_add_watch(fd, file, IN_OPEN) >= 0);
	run(con, sql);
	ssize_t length;
	while ((length = read(fd, events, sizeof events)) > 0)
		for (char *at = events; at < events + length; at += sizeof(struct inotify_event) +
		                                                    ((struct inotify_event *)(void *)at)->len)
			count++;
	close(fd);
	return count;
}

static void files_are_opened_as_often_as_by_duckdb(void **state)
{
	char path[256], sql[512], view[512];
	(void)state;
	struct session s = open_session(NULL, NULL);
	make_table(s.con, "t", 20000);
	snprintf(sql, sizeof sql, "COPY (SELECT range AS a FROM range(100)) TO '%s'", scratch_path(path, "once.csv"));
	run(s.con, sql);
	snprintf(sql, sizeof sql, "SELECT sum(a) FROM '%s'", path);
	snprintf(view, sizeof view, "CREATE VIEW files AS FROM read_csv('%s')", path);
	run(s.con, view);
	/* Nothing is to be accelerated yet: as DuckDB does it. */
	int alone = opens(s.con, sql, path), through_view = opens(s.con, "SELECT sum(a) FROM files", path);
	run(s.con, "CREATE INDEX c ON t USING columns (*)");
	assert_int_equal(opens(s.con, sql, path), alone);
	run(s.con, "SET rayql_fallback = notice");
	assert_int_equal(opens(s.con, sql, path), alone);
	/* What a view hides is seen in a plan, once. */
	run(s.con, "SELECT sum(a) FROM files");
	assert_int_equal(opens(s.con, "SELECT sum(a) FROM files", path), through_view);
	close_session(&s);
}

/* ---- never silent ---- */
static void table_functions_are_told(void **state)
{
	static const char *const texts[] = {
		"SELECT sum(range) FROM range(10)", "SELECT * FROM t, generate_series(1, 2)", "FROM hidden",
		"WITH r AS (FROM range(3)) SELECT * FROM r", "SELECT (SELECT max(range) FROM range(4))",
	};
	struct session s = with_columns();
	(void)state;
	run(s.con, "CREATE VIEW hidden AS FROM range(5)");
	run(s.con, "CREATE MACRO upto(x) AS TABLE SELECT sum(v) AS total FROM t WHERE v < x");
	run(s.con, "SET rayql_fallback = off");
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		fails(s.con, texts[i], RAYQL_ERROR_UNSUPPORTED, "table function");
	fails(s.con, "SELECT * FROM 'nosuch.csv'", RAYQL_ERROR_HOST, "nosuch.csv");
	/* Catalogs are the host's own business; so is what reads nothing. A macro is no table function. */
	expect(s.con, "SELECT count(*) FROM duckdb_tables() WHERE table_name = 't'", "host", "1\n");
	expect(s.con, "SELECT count(*) FROM information_schema.tables WHERE table_name = 't'", "host", "1\n");
	expect(s.con, "SELECT extract(year FROM DATE '2020-01-01'), trim(BOTH 'x' FROM lower('XaX'))", "host", "2020|a\n");
	expect(s.con, "SELECT * FROM upto(3)", "scan", "3\n");
	expect(s.con, "SELECT sum(v) FROM t WHERE v < extract(year FROM DATE '0003-01-01')", "scan", "3\n");
	run(s.con, "SET rayql_fallback = notice");
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		rayql_result *res = NULL;
		assert_int_equal(rayql_query(s.con, texts[i], &res, NULL), RAYQL_OK);
		assert_non_null(strstr(rayql_result_notice(res), "table function"));
		rayql_result_free(res);
	}
	run(s.con, "BEGIN; INSERT INTO t VALUES (1, 'x', 1)");
	run(s.con, "SET rayql_fallback = off");
	expect(s.con, "SELECT 1", "host", "1\n");
	fails(s.con, "SELECT count(*) FROM t", RAYQL_ERROR_UNSUPPORTED, "uncommitted rows");
	expect(s.con, "SELECT 2; ROLLBACK", "host", NULL);
	close_session(&s);
}

/* A reason is of the query, not of a structure that has nothing to do with it. */
static void reasons_name_the_cause(void **state)
{
	struct session s = with_columns();
	(void)state;
	make_table(s.con, "u", 20000);
	run(s.con, "SET rayql_fallback = off");
	fails(s.con, "SELECT sum(v) FROM u", RAYQL_ERROR_UNSUPPORTED, "no columns index is of table u");
	run(s.con, "DROP INDEX c; SET rayql_auto_columns = on");
	fails(s.con, "SELECT string_agg(g, ',') FROM u", RAYQL_ERROR_UNSUPPORTED, "string_agg");
	fails(s.con, "SELECT first(v) FROM u", RAYQL_ERROR_UNSUPPORTED, "first");
	close_session(&s);
}

/* ---- prepared statements ---- */
static void columns_are_called_as_written(void **state)
{
	struct session s = with_columns();
	rayql_statement *stmt = NULL;
	rayql_result *res = NULL;
	(void)state;
	for (int literal = 0; literal < 2; literal++) {
		/* The same text with values, which has other names, may have been planned before. */
		if (literal)
			run(s.con, "SELECT a + 5::BIGINT, a FROM t WHERE v < 3::BIGINT");
		assert_int_equal(rayql_prepare(s.con, "SELECT a + ?, a FROM t WHERE v < ?", &stmt, NULL), RAYQL_OK);
		for (int64_t i = 5; i < 7; i++) {
			assert_int_equal(rayql_bind_int64(stmt, 1, i), RAYQL_OK);
			assert_int_equal(rayql_bind_int64(stmt, 2, 3), RAYQL_OK);
			assert_int_equal(rayql_execute(stmt, &res, NULL), RAYQL_OK);
			assert_string_equal(rayql_result_method(res), "scan");
			assert_string_equal(rayql_column_name(res, 0), "(a + $1)");
			assert_string_equal(rayql_column_name(res, 1), "a");
			assert_string_equal(rayql_column_type_name(res, 0), "BIGINT");
			rayql_result_free(res);
		}
		rayql_statement_free(stmt);
	}
	/* The schema moves under a prepared statement. */
	assert_int_equal(rayql_prepare(s.con, "SELECT * FROM t WHERE v < ?", &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_bind_int64(stmt, 1, 3), RAYQL_OK);
	assert_int_equal(rayql_execute(stmt, &res, NULL), RAYQL_OK);
	assert_string_equal(rayql_column_name(res, 0), "a");
	rayql_result_free(res);
	run(s.con, "DROP INDEX c; ALTER TABLE t RENAME COLUMN a TO z; CREATE INDEX c ON t USING columns (*)");
	assert_int_equal(rayql_execute(stmt, &res, NULL), RAYQL_OK);
	assert_string_equal(rayql_column_name(res, 0), "z");
	rayql_result_free(res);
	rayql_statement_free(stmt);
	close_session(&s);
}

/* ---- nested types without names ---- */
static void structs_without_names(void **state)
{
	static const char *const texts[] = {"SELECT row(1, 'a') AS x", "SELECT [row(1, row(2, 3))] AS x",
	                                    "SELECT map {1: row(2, 'b')} AS x", "SELECT {'n': row(NULL, 1.5)} AS x"};
	static const char *const types[][2] = {
		{"STRUCT(INTEGER, VARCHAR)", "TUPLE(INTEGER, VARCHAR)"},
		{"STRUCT(INTEGER, STRUCT(INTEGER, INTEGER))[]", "TUPLE(INTEGER, TUPLE(INTEGER, INTEGER))[]"},
		{"MAP(INTEGER, STRUCT(INTEGER, VARCHAR))", "MAP(INTEGER, TUPLE(INTEGER, VARCHAR))"},
		{"STRUCT(n STRUCT(INTEGER, DECIMAL(2,1)))", "STRUCT(n TUPLE(\"NULL\", DECIMAL(2,1)))"},
	};
	struct session s = open_session(NULL, NULL);
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		rayql_result *res = NULL;
		struct ArrowArrayStream stream;
		struct ArrowSchema schema;
		struct ArrowArray array;
		assert_int_equal(rayql_query(s.con, texts[i], &res, NULL), RAYQL_OK);
		assert_string_equal(rayql_column_type_name(res, 0), types[i][host_is_2()]);
		assert_int_equal(rayql_result_to_arrow(res, &stream, NULL), RAYQL_OK);
		assert_int_equal(stream.get_schema(&stream, &schema), 0);
		assert_string_equal(schema.children[0]->name, "x");
		schema.release(&schema);
		assert_int_equal(stream.get_next(&stream, &array), 0);
		assert_int_equal(array.length, 1);
		array.release(&array);
		stream.release(&stream);
		rayql_result_free(res);
	}
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sequences_move_once),
		cmocka_unit_test(a_statement_knows_itself),
		cmocka_unit_test(databases_in_files),
		cmocka_unit_test(files_are_opened_as_often_as_by_duckdb),
		cmocka_unit_test(table_functions_are_told),
		cmocka_unit_test(reasons_name_the_cause),
		cmocka_unit_test(columns_are_called_as_written),
		cmocka_unit_test(structs_without_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
