/* Every kind of statement through the public API. */
#include "check.h"

static void one_of_each_kind(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_result *res = NULL;
	(void)state;
	assert_int_equal(rayql_query(s.con, "CREATE TABLE t (a INTEGER, b DECIMAL(12,2), c VARCHAR)", &res, NULL),
	                 RAYQL_OK);
	assert_int_equal(rayql_result_kind_of(res), RAYQL_RESULT_NOTHING);
	assert_string_equal(rayql_result_method(res), "host");
	rayql_result_free(res);
	assert_int_equal(
		rayql_query(s.con, "INSERT INTO t VALUES (1, 1.5, 'x'), (2, NULL, 'a longer text than twelve')", &res, NULL),
		RAYQL_OK);
	assert_int_equal(rayql_result_kind_of(res), RAYQL_RESULT_CHANGED);
	char *rows = read_rows(res, NULL);
	assert_string_equal(rows, "2\n");
	free(rows);
	assert_int_equal(rayql_query(s.con, "SELECT * FROM t ORDER BY a", &res, NULL), RAYQL_OK);
	assert_int_equal(rayql_result_kind_of(res), RAYQL_RESULT_ROWS);
	assert_int_equal(rayql_column_count(res), 3);
	assert_string_equal(rayql_column_name(res, 1), "b");
	assert_int_equal(rayql_column_type(res, 1), RAYQL_TYPE_DECIMAL);
	assert_string_equal(rayql_column_type_name(res, 1), "DECIMAL(12,2)");
	assert_int_equal(rayql_column_scale(res, 1), 2);
	assert_null(rayql_column_name(res, 3));
	assert_int_equal(rayql_column_type(res, 3), RAYQL_TYPE_INVALID);
	rayql_batch *batch = NULL, *end = NULL;
	assert_int_equal(rayql_fetch(res, &batch, NULL), RAYQL_OK);
	assert_non_null(batch);
	assert_int_equal(rayql_batch_rows(batch), 2);
	assert_int_equal(((const int32_t *)rayql_batch_data(batch, 0))[1], 2);
	assert_int_equal(((const int64_t *)rayql_batch_data(batch, 1))[0], 150);
	assert_true(rayql_batch_is_null(batch, 1, 1));
	assert_false(rayql_batch_is_null(batch, 1, 0));
	assert_null(rayql_batch_data(batch, 2));
	size_t length = 0;
	const char *text = rayql_batch_text(batch, 2, 1, &length);
	assert_int_equal(length, 25);
	assert_memory_equal(text, "a longer text than twelve", 25);
	assert_null(rayql_batch_text(batch, 0, 0, &length));
	assert_int_equal(rayql_fetch(res, &end, NULL), RAYQL_OK);
	assert_null(end);
	rayql_result_free(res);
	/* A batch outlives its result. */
	assert_memory_equal(rayql_batch_text(batch, 2, 1, NULL), "a longer", 8);
	rayql_batch_free(batch);
	expect(s.con, "UPDATE t SET a = 3 WHERE a = 1", "host", "1\n");
	expect(s.con, "SET threads = 2", "host", "");
	expect(s.con, "EXPLAIN SELECT a FROM t", "rayql", NULL);
	expect(s.con, "EXPLAIN INSERT INTO t VALUES (1, 1, '')", "host", NULL);
	expect(s.con, "SELECT count(*) FROM t", NULL, "2\n");
	expect(s.con, "EXPLAIN ANALYZE INSERT INTO t VALUES (9, 9, '')", "host", NULL);
	expect(s.con, "SELECT count(*) FROM t", NULL, "3\n");
	expect(s.con, "  -- nothing\n ; ;", NULL, "");
	expect(s.con, "SELECT 1; SELECT 2;\n-- the end\n", NULL, "2\n");
	expect(s.con, "PIVOT t ON c USING count(*)", "host", NULL);
	expect(s.con, "DROP TABLE t", "host", "");
	close_session(&s);
}

static void several_statements(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	/* A syntax error in a later statement is found before the first runs, as DuckDB does. */
	fails(s.con, "CREATE TABLE a (i INTEGER); SELEC 1", RAYQL_ERROR_HOST, "syntax error at or near \"SELEC\"");
	fails(s.con, "SELECT * FROM a", RAYQL_ERROR_HOST, "Table with name a does not exist");
	/* Any other error stops there. */
	fails(s.con, "CREATE TABLE a (i INTEGER); SELECT nosuch; CREATE TABLE b (i INTEGER)", RAYQL_ERROR_HOST, "nosuch");
	expect(s.con, "SELECT count(*) FROM a", NULL, "0\n");
	fails(s.con, "SELECT * FROM b", RAYQL_ERROR_HOST, "Table with name b does not exist");
	expect(
		s.con,
		"INSERT INTO a VALUES (1); CREATE MATERIALIZED VIEW v AS SELECT i, count(*) FROM a GROUP BY i; SELECT * FROM v",
		NULL, "1|1\n");
	assert_int_equal(rayql_query(s.con, "INSERT INTO a VALUES (2); INSERT INTO a VALUES (3)", NULL, NULL), RAYQL_OK);
	expect(s.con, "SELECT sum(i) FROM a", NULL, "6\n");
	close_session(&s);
}

/* DuckDB passes over statements that say nothing. */
static void empty_statements(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_statement *stmt = NULL;
	rayql_result *res = NULL;
	(void)state;
	expect(s.con, ";SELECT 1", NULL, "1\n");
	expect(s.con, "SELECT 1;;SELECT 2", NULL, "2\n");
	expect(s.con, ";; -- nothing\n; SELECT 1; /* nothing */ ; ; SELECT 3;; -- the end\n;", NULL, "3\n");
	expect(s.con, ";SET rayql_force = on;;SELECT value FROM rayql_settings() WHERE name = 'rayql_force'", NULL, "on\n");
	fails(s.con, ";;SELEC 1", RAYQL_ERROR_HOST, "syntax error at or near \"SELEC\"");
	assert_int_equal(rayql_prepare(s.con, "; ;SELECT 4;;", &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_execute(stmt, &res, NULL), RAYQL_OK);
	char *rows = read_rows(res, NULL);
	assert_string_equal(rows, "4\n");
	free(rows);
	rayql_statement_free(stmt);
	assert_int_equal(rayql_prepare(s.con, ";;", &stmt, NULL), RAYQL_ERROR_MISUSE);
	assert_int_equal(rayql_prepare(s.con, "SELECT 1;;SELECT 2", &stmt, NULL), RAYQL_ERROR_MISUSE);
	close_session(&s);
}

static void splitting(void **state)
{
	(void)state;
	assert_int_equal(rayql_statement_length("SELECT 1; SELECT 2"), 9);
	assert_int_equal(rayql_statement_length("SELECT ';"), 0);
	assert_int_equal(rayql_statement_length("SELECT 1"), 0);
	assert_int_equal(rayql_statement_length(NULL), 0);
}

static void a_new_statement_closes_the_open_result(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_result *first = NULL, *second = NULL;
	rayql_batch *batch = NULL;
	rayql_error *err = NULL;
	(void)state;
	assert_int_equal(rayql_query(s.con, "SELECT * FROM range(1000000)", &first, NULL), RAYQL_OK);
	assert_int_equal(rayql_fetch(first, &batch, NULL), RAYQL_OK);
	assert_non_null(batch);
	assert_int_equal(rayql_query(s.con, "SELECT 7", &second, NULL), RAYQL_OK);
	rayql_batch *more = NULL;
	assert_int_equal(rayql_fetch(first, &more, &err), RAYQL_ERROR_MISUSE);
	assert_non_null(strstr(rayql_error_message(err), "closed by a later statement"));
	rayql_error_free(err);
	/* What was fetched stays; the type names too. */
	assert_int_equal(((const int64_t *)rayql_batch_data(batch, 0))[5], 5);
	assert_string_equal(rayql_column_type_name(first, 0), "BIGINT");
	char *rows = read_rows(second, NULL);
	assert_string_equal(rows, "7\n");
	free(rows);
	rayql_batch_free(batch);
	rayql_result_free(first);
	close_session(&s);
}

static void casting_keeps_the_stream(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	char *rows = rows_of(s.con, "SELECT [i, i + 1] FROM range(5000) r(i) WHERE i % 2500 = 0", NULL);
	assert_string_equal(rows, "[0, 1]\n[2500, 2501]\n");
	free(rows);
	expect(s.con, "SELECT sum(i) FROM (SELECT i FROM range(100000) r(i))", NULL, "4999950000\n");
	close_session(&s);
}

static void handles_in_any_order(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_statement *stmt = NULL;
	rayql_result *res = NULL;
	rayql_batch *batch = NULL;
	(void)state;
	assert_int_equal(rayql_prepare(s.con, "SELECT * FROM range(?)", &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_bind_int64(stmt, 1, 10000), RAYQL_OK);
	assert_int_equal(rayql_execute(stmt, &res, NULL), RAYQL_OK);
	rayql_close(s.db);
	rayql_disconnect(s.con);
	rayql_statement_free(stmt);
	uint64_t rows = 0;
	while (rayql_fetch(res, &batch, NULL) == RAYQL_OK && batch) {
		rows += rayql_batch_rows(batch);
		rayql_batch_free(batch);
	}
	assert_int_equal(rows, 10000);
	rayql_result_free(res);
	rayql_close(NULL);
	rayql_disconnect(NULL);
	rayql_statement_free(NULL);
	rayql_result_free(NULL);
	rayql_batch_free(NULL);
	rayql_error_free(NULL);
}

static void misuse(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_error *err = NULL;
	rayql_result *res = NULL;
	rayql_statement *stmt = NULL;
	(void)state;
	assert_int_equal(rayql_query(NULL, "SELECT 1", &res, &err), RAYQL_ERROR_MISUSE);
	assert_non_null(strstr(rayql_error_message(err), "con is NULL"));
	rayql_error_free(err);
	assert_int_equal(rayql_query(s.con, NULL, &res, NULL), RAYQL_ERROR_MISUSE);
	assert_int_equal(rayql_connect(NULL, &s.con, NULL), RAYQL_ERROR_MISUSE);
	assert_int_equal(rayql_open(NULL, NULL, NULL, NULL), RAYQL_ERROR_MISUSE);
	assert_int_equal(rayql_prepare(s.con, "SELECT 1", NULL, NULL), RAYQL_ERROR_MISUSE);
	assert_int_equal(rayql_prepare(s.con, "SELECT 1; SELECT 2", &stmt, NULL), RAYQL_ERROR_MISUSE);
	assert_int_equal(rayql_fetch(NULL, NULL, NULL), RAYQL_ERROR_MISUSE);
	assert_int_equal(rayql_execute(NULL, NULL, NULL), RAYQL_ERROR_MISUSE);
	assert_int_equal(rayql_last_query(NULL, NULL), RAYQL_ERROR_MISUSE);
	assert_int_equal(rayql_calibrate(NULL, NULL), RAYQL_ERROR_MISUSE);
	assert_true(rayql_batch_is_null(NULL, 0, 0));
	assert_null(rayql_batch_data(NULL, 0));
	assert_int_equal(rayql_error_status(NULL), RAYQL_OK);
	assert_string_equal(rayql_error_message(NULL), "");
	assert_non_null(rayql_status_name(RAYQL_ERROR_LIMIT));
	assert_string_equal(rayql_version(), RAYQL_VERSION);
	assert_int_equal(rayql_host_version()[0], 'v');
	rayql_interrupt(NULL);
	rayql_progress(NULL, NULL);
	close_session(&s);
}

static void host_errors_are_duckdbs(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	fails(s.con, "SELECT nosuch FROM range(3)", RAYQL_ERROR_HOST,
	      "Binder Error: Referenced column \"nosuch\" not found");
	fails(s.con, "SELECT 1 +", RAYQL_ERROR_HOST,
	      host_is_2() ? "syntax error at or near \"+\"" : "syntax error at end of input");
	fails(s.con, "SELECT error('mine')", RAYQL_ERROR_HOST, "mine");
	fails(s.con, "SELECT ?", RAYQL_ERROR_HOST, "parameter");
	close_session(&s);
}

static void last_query(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_query_info info = {.size = sizeof info};
	(void)state;
	expect(s.con, "SELECT count(*) FROM rayql_last_query()", NULL, "0\n");
	make_table(s.con, "t", 10000);
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT g, sum(v), count(*) FROM t GROUP BY g");
	expect(s.con, "SELECT method FROM rayql_last_query()", NULL, "rayql\n");
	expect(s.con, "SELECT g, sum(v) FROM t GROUP BY g ORDER BY g", "cube",
	       "g0|9995000\ng1|9997000\ng2|9999000\ng3|10001000\n"
	       "g4|10003000\n");
	expect(s.con, "SELECT method, unit, structure, rows FROM rayql_last_query()", NULL, "cube|cpu|v|5\n");
	expect(s.con, "SELECT method FROM rayql_last_query()", NULL, "cube\n"); /* reading it leaves it */
	expect(s.con, "SELECT g, sum(v) FROM t GROUP BY g ORDER BY g", "cube", NULL);
	rayql_query_info unsized = {0};
	assert_int_equal(rayql_last_query(s.con, &unsized), RAYQL_ERROR_MISUSE);
	assert_int_equal(rayql_last_query(s.con, &info), RAYQL_OK);
	assert_true(info.plan_cached);
	assert_string_equal(info.structure, "v");
	assert_int_equal(info.rows, 5);
	expect(s.con, "SELECT v FROM t WHERE v < 3 ORDER BY v", "host", "0\n1\n2\n");
	assert_int_equal(rayql_last_query(s.con, &info), RAYQL_OK);
	assert_string_equal(info.method, "host");
	assert_int_equal(info.rows, 3);
	assert_int_not_equal(strlen(info.reason), 0);
	expect(s.con, "SELECT count(*) FROM rayql_methods() WHERE name = 'cube' AND unit = 'cpu' AND enabled", NULL, "1\n");
	expect(s.con, "SELECT count(*) FROM rayql_devices() WHERE device = 'cpu'", NULL, "1\n");
	close_session(&s);
}

static void prepared(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_statement *stmt = NULL;
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	uint64_t index = 0;
	(void)state;
	make_table(s.con, "t", 1000);
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT g, a, sum(v), count(*) FROM t GROUP BY g, a");
	assert_int_equal(rayql_prepare(s.con, "SELECT sum(v) FROM t WHERE g = $grp AND a < $a", &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_parameter_count(stmt), 2);
	assert_int_equal(rayql_parameter_index(stmt, "grp", &index), RAYQL_OK);
	assert_int_equal(rayql_bind_text(stmt, index, "g1", 2), RAYQL_OK);
	assert_int_equal(rayql_parameter_index(stmt, "a", &index), RAYQL_OK);
	assert_int_equal(rayql_bind_int64(stmt, index, 3), RAYQL_OK);
	assert_int_equal(rayql_parameter_index(stmt, "b", &index), RAYQL_ERROR_MISUSE);
	assert_int_equal(rayql_bind_int64(stmt, 3, 3), RAYQL_ERROR_MISUSE);
	assert_int_equal(rayql_bind_int64(stmt, 0, 3), RAYQL_ERROR_MISUSE);
	assert_int_equal(rayql_bind_text(stmt, 1, NULL, 2), RAYQL_ERROR_MISUSE);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rayql_execute(stmt, &res, &err), RAYQL_OK);
		assert_string_equal(rayql_result_method(res), "cube");
		char *rows = read_rows(res, &err);
		char *want = rows_of(s.con, "SELECT sum(v) FROM (SELECT v FROM t WHERE g = 'g1' AND a < 3 LIMIT 10000)", NULL);
		assert_string_equal(rows, want);
		free(rows);
		free(want);
	}
	assert_int_equal(rayql_bind_null(stmt, 1), RAYQL_OK);
	assert_int_equal(rayql_execute(stmt, &res, &err), RAYQL_OK);
	char *rows = read_rows(res, &err);
	assert_string_equal(rows, "NULL\n");
	free(rows);
	rayql_statement_free(stmt);
	/* What the planner does not take, with the values bound. */
	assert_int_equal(rayql_prepare(s.con, "SELECT v FROM t WHERE v = ? OR g = ? ORDER BY v LIMIT ?", &stmt, NULL),
	                 RAYQL_OK);
	assert_int_equal(rayql_bind_int64(stmt, 1, 7), RAYQL_OK);
	assert_int_equal(rayql_execute(stmt, &res, &err), RAYQL_ERROR_HOST);
	rayql_error_free(err);
	assert_int_equal(rayql_bind_text(stmt, 2, "g0", 2), RAYQL_OK);
	assert_int_equal(rayql_bind_int64(stmt, 3, 3), RAYQL_OK);
	assert_int_equal(rayql_execute(stmt, &res, NULL), RAYQL_OK);
	assert_string_equal(rayql_result_method(res), "host");
	rows = read_rows(res, NULL);
	assert_string_equal(rows, "0\n5\n7\n");
	free(rows);
	rayql_statement_free(stmt);
	/* Writes move versions, too. */
	assert_int_equal(rayql_prepare(s.con, "INSERT INTO t VALUES (?, ?, ?)", &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_bind_int64(stmt, 1, 1), RAYQL_OK);
	assert_int_equal(rayql_bind_text(stmt, 2, "new", 3), RAYQL_OK);
	assert_int_equal(rayql_bind_int64(stmt, 3, 41), RAYQL_OK);
	assert_int_equal(rayql_execute(stmt, NULL, NULL), RAYQL_OK);
	assert_int_equal(rayql_execute(stmt, NULL, NULL), RAYQL_OK);
	rayql_statement_free(stmt);
	expect(s.con, "SELECT sum(v) FROM t WHERE g = 'new'", "host", "82\n");
	/* Every type of value. */
	assert_int_equal(
		rayql_prepare(s.con, "SELECT ?::BOOLEAN, ?::UBIGINT, ?::DOUBLE, ?::BLOB, ?::DATE, ?::TIMESTAMP", &stmt, NULL),
		RAYQL_OK);
	assert_int_equal(rayql_bind_bool(stmt, 1, true), RAYQL_OK);
	assert_int_equal(rayql_bind_uint64(stmt, 2, UINT64_MAX), RAYQL_OK);
	assert_int_equal(rayql_bind_double(stmt, 3, 0.5), RAYQL_OK);
	assert_int_equal(rayql_bind_blob(stmt, 4, "\0a", 2), RAYQL_OK);
	assert_int_equal(rayql_bind_date(stmt, 5, 8035), RAYQL_OK);
	assert_int_equal(rayql_bind_timestamp(stmt, 6, 1000000), RAYQL_OK);
	assert_int_equal(rayql_execute(stmt, &res, NULL), RAYQL_OK);
	rows = read_rows(res, NULL);
	assert_string_equal(rows, "true|18446744073709551615|0.5|\\x00a|1992-01-01|1970-01-01 00:00:01\n");
	free(rows);
	rayql_statement_free(stmt);
	assert_int_equal(rayql_prepare(s.con, "SELECT nosuch", &stmt, &err), RAYQL_ERROR_HOST);
	rayql_error_free(err);
	/* RayQL's own statements have no parameters, but can be prepared. */
	assert_int_equal(rayql_prepare(s.con, "REFRESH MATERIALIZED VIEW v", &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_parameter_count(stmt), 0);
	assert_int_equal(rayql_execute(stmt, NULL, NULL), RAYQL_OK);
	rayql_statement_free(stmt);
	expect(s.con, "SELECT sum(v) FROM t WHERE g = 'new'", "cube", "82\n");
	close_session(&s);
}

static void settings(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	make_table(s.con, "t", 1000);
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT g, sum(v) FROM t GROUP BY g");
	expect(s.con, "SELECT sum(v) FROM t", "cube", "499500\n");
	run(s.con, "SET rayql_enable_cube = off");
	expect(s.con, "SELECT sum(v) FROM t", "host", "499500\n");
	expect(s.con, "SELECT value FROM rayql_settings() WHERE name = 'rayql_enable_cube'", NULL, "off\n");
	run(s.con, "RESET rayql_enable_cube");
	expect(s.con, "SELECT sum(v) FROM t", "cube", "499500\n");
	run(s.con, "SET rayql_fallback = 'off'");
	fails(s.con, "SELECT median(v) FROM t", RAYQL_ERROR_UNSUPPORTED, "SET rayql_fallback = 'on' lets DuckDB answer.");
	expect(s.con, "SELECT sum(v) FROM t", "cube", "499500\n");
	expect(s.con, "SELECT 1", "host", "1\n");
	expect(s.con, "SELECT count(*) FROM duckdb_tables() WHERE table_name = 't'", "host", "1\n");
	expect(s.con, "SELECT name FROM rayql_structures()", "host", "v\n");
	run(s.con, "INSERT INTO t VALUES (1, 'x', 1)");
	run(s.con, "SET rayql_fallback = notice");
	expect(s.con, "SELECT median(v) FROM t", "host", NULL);
	run(s.con, "SET rayql_fallback TO DEFAULT");
	expect(s.con, "SELECT value FROM rayql_settings() WHERE name = 'rayql_fallback'", NULL, "on\n");
	fails(s.con, "SET rayql_fallback = 'maybe'", RAYQL_ERROR_STATEMENT, "expected 'on', 'notice' or 'off'");
	fails(s.con, "SET rayql_falback = 'on'", RAYQL_ERROR_STATEMENT, "Did you mean: \"rayql_fallback\"");
	fails(s.con, "RESET rayql_x", RAYQL_ERROR_STATEMENT, "unrecognized configuration parameter \"rayql_x\"");
	fails(s.con, "SET rayql_device = 'vulkan:7'", RAYQL_ERROR_STATEMENT, "'cpu'");
	fails(s.con, "SET rayql_memory_limit = 'much'", RAYQL_ERROR_STATEMENT, "a size such as");
	fails(s.con, "SET rayql_threads = 3", RAYQL_ERROR_STATEMENT, "when it is opened");
	fails(s.con, "SET rayql_force = 3", RAYQL_ERROR_STATEMENT, "on, off, rows, pairs or order");
	run(s.con, "SET rayql_device = 'cpu'; SET rayql_force = on; SET rayql_memory_limit = '1GB'");
	expect(s.con, "SELECT value FROM rayql_settings() WHERE name = 'rayql_force'", NULL, "on\n");
	/* A second connection has its own. */
	rayql_connection *other = NULL;
	assert_int_equal(rayql_connect(s.db, &other, NULL), RAYQL_OK);
	expect(other, "SELECT value FROM rayql_settings() WHERE name = 'rayql_force'", NULL, "off\n");
	rayql_disconnect(other);
	close_session(&s);
}

/* A setting of DuckDB's that changes what a text means must not be answered from a plan made before. */
static void settings_of_the_host_reach_cached_plans(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	make_table(s.con, "t", 1000);
	run(s.con, "INSERT INTO t VALUES (NULL, 'g0', 1)");
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT a, sum(v) FROM t GROUP BY a");
	expect(s.con, "SELECT a FROM t GROUP BY a ORDER BY a LIMIT 1", "cube", "0\n");
	expect(s.con, "SELECT a FROM t GROUP BY a ORDER BY a LIMIT 1", "cube", "0\n");
	run(s.con, "SET default_null_order = 'nulls_first'");
	expect(s.con, "SELECT a FROM t GROUP BY a ORDER BY a LIMIT 1", NULL, "NULL\n");
	run(s.con, "RESET default_null_order");
	run(s.con, "CREATE SCHEMA other; CREATE TABLE other.t AS SELECT 5 AS a, 'x' AS g, 6 AS v; USE other");
	expect(s.con, "SELECT a FROM t GROUP BY a ORDER BY a LIMIT 1", "host", "5\n");
	run(s.con, "USE main");
	expect(s.con, "SELECT a FROM t GROUP BY a ORDER BY a LIMIT 1", "cube", "0\n");
	/* A temporary table hides the one of the view. */
	run(s.con, "CREATE TEMP TABLE t AS SELECT 77 AS a");
	expect(s.con, "SELECT a FROM t GROUP BY a ORDER BY a LIMIT 1", "host", "77\n");
	run(s.con, "DROP TABLE temp.t");
	expect(s.con, "SELECT a FROM t GROUP BY a ORDER BY a LIMIT 1", NULL, "0\n");
	close_session(&s);
}

static void explaining(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	make_table(s.con, "t", 1000);
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT g, sum(v) FROM t GROUP BY g");
	char *rows = rows_of(s.con, "EXPLAIN SELECT sum(v) FROM t WHERE g = 'g1'", NULL);
	assert_memory_equal(rows, "rayql_plan|", 11);
	assert_non_null(strstr(rows, "cube"));
	assert_null(strstr(rows, "physical_plan"));
	free(rows);
	rows = rows_of(s.con, "EXPLAIN ANALYZE SELECT sum(v) FROM t WHERE g = 'g1'", NULL);
	assert_non_null(strstr(rows, "measured"));
	free(rows);
	rows = rows_of(s.con, "EXPLAIN SELECT median(v) FROM t", NULL);
	assert_memory_equal(rows, "rayql_plan|host: ", 17);
	assert_non_null(strstr(rows, "physical_plan|"));
	free(rows);
	run(s.con, "INSERT INTO t VALUES (1, 'g1', 1)");
	rows = rows_of(s.con, "EXPLAIN SELECT sum(v) FROM t WHERE g = 'g1'", NULL);
	assert_non_null(strstr(rows, "stale"));
	free(rows);
	fails(s.con, "EXPLAIN SELECT nosuch FROM t", RAYQL_ERROR_HOST, "LINE 1: EXPLAIN SELECT nosuch");
	expect(s.con, "EXPLAIN (FORMAT json) SELECT v FROM t", "host", NULL);
	close_session(&s);
}

/* Nested and floating values as DuckDB's JSON, all else as text; types as typeof() has them. */
static void rows_as_json(void **state)
{
	const char *const expected[] = {"1e300", "Infinity", "[1,null]", "{\"a\":\"x\"}",
		host_is_2() ? "[1,\"y\"]" : "{\"\":1,\"\":\"y\"}",
		"{\"k\": 1}", "it's", "9007199254740993"};
	struct session s = open_session(NULL, NULL);
	rayql_result *res = NULL;
	rayql_batch *batch = NULL, *json = NULL;
	rayql_error *err = NULL;
	(void)state;
	assert_int_equal(rayql_query(s.con,
	                             "SELECT 1e300, 'inf'::FLOAT, [1, NULL], union_value(a := 'x'), row(1, 'y'), "
	                             "'{\"k\": 1}'::JSON, 'it''s', 9007199254740993",
	                             &res, &err), RAYQL_OK);
	assert_string_equal(rayql_column_type_name(res, 4),
	                    host_is_2() ? "TUPLE(INTEGER, VARCHAR)" : "STRUCT(INTEGER, VARCHAR)");
	assert_int_equal(rayql_fetch(res, &batch, &err), RAYQL_OK);
	assert_int_equal(rayql_batch_to_json(res, NULL, &json, NULL), RAYQL_ERROR_MISUSE);
	assert_int_equal(rayql_batch_to_json(res, batch, &json, &err), RAYQL_OK);
	for (uint32_t c = 0; c < sizeof expected / sizeof expected[0]; c++) {
		size_t length;
		const char *text = rayql_batch_text(json, c, 0, &length);
		assert_int_equal(length, strlen(expected[c]));
		assert_memory_equal(text, expected[c], length);
	}
	rayql_batch_free(json);
	rayql_batch_free(batch);
	rayql_result_free(res);
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_each_kind),
		cmocka_unit_test(rows_as_json),
		cmocka_unit_test(several_statements),
		cmocka_unit_test(empty_statements),
		cmocka_unit_test(splitting),
		cmocka_unit_test(a_new_statement_closes_the_open_result),
		cmocka_unit_test(casting_keeps_the_stream),
		cmocka_unit_test(handles_in_any_order),
		cmocka_unit_test(misuse),
		cmocka_unit_test(host_errors_are_duckdbs),
		cmocka_unit_test(last_query),
		cmocka_unit_test(prepared),
		cmocka_unit_test(settings),
		cmocka_unit_test(settings_of_the_host_reach_cached_plans),
		cmocka_unit_test(explaining),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
