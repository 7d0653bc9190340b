/* src/host against DuckDB itself: statements, results, planning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/host.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "host_fixture.h"

static void run(struct rql_host_con *con, const char *sql)
{
	struct rql_error err = {0};
	if (rql_host_query(con, sql, NULL, &err) != RQL_OK)
		fail_msg("%s: %s", sql, rql_error_message(&err));
}

static char *text_of(struct rql_host_con *con, const char *sql)
{
	struct rql_error err = {0};
	char *text = NULL;
	if (rql_host_query_text(con, sql, &text, &err) != RQL_OK)
		fail_msg("%s: %s", sql, rql_error_message(&err));
	return text;
}

static int64_t int_of(struct rql_host_con *con, const char *sql)
{
	struct rql_error err = {0};
	int64_t number = 0;
	if (rql_host_query_int(con, sql, &number, &err) != RQL_OK)
		fail_msg("%s: %s", sql, rql_error_message(&err));
	return number;
}

/* ---- statements ---- */

static void test_classes(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *sql;
		enum rql_host_class class;
	} cases[] = {
		{"SELECT 1", RQL_HOST_SELECT},
		{"FROM t", RQL_HOST_SELECT},
		{"VALUES (1)", RQL_HOST_SELECT},
		{"TABLE t", RQL_HOST_SELECT},
		{"WITH x AS (SELECT 1) SELECT * FROM x", RQL_HOST_SELECT},
		{"SHOW TABLES", RQL_HOST_SELECT},
		{"DESCRIBE t", RQL_HOST_SELECT},
		{"SUMMARIZE t", RQL_HOST_SELECT},
		{"PRAGMA table_info('t')", RQL_HOST_SELECT},
		{"EXPLAIN SELECT 1", RQL_HOST_SELECT},
		{"EXPLAIN ANALYZE SELECT 1", RQL_HOST_OTHER},
		{"EXPLAIN (ANALYZE, FORMAT json) SELECT 1", RQL_HOST_OTHER},
		{"INSERT INTO t VALUES (1, 'x')", RQL_HOST_WRITE},
		{"INSERT INTO t VALUES (1, 'x') RETURNING a", RQL_HOST_WRITE},
		{"WITH x AS (SELECT 1) INSERT INTO t SELECT 5, 'z'", RQL_HOST_WRITE},
		{"UPDATE t SET a = a", RQL_HOST_WRITE},
		{"DELETE FROM t WHERE a = 100", RQL_HOST_WRITE},
		{"TRUNCATE t", RQL_HOST_WRITE},
		{"MERGE INTO t USING t s ON t.a = s.a WHEN MATCHED THEN DELETE", RQL_HOST_WRITE},
		{"COPY t TO '/dev/null'", RQL_HOST_WRITE},
		{"CREATE TABLE t2 (a INT)", RQL_HOST_SCHEMA},
		{"CREATE TABLE t3 AS FROM t", RQL_HOST_SCHEMA},
		{"ALTER TABLE t ADD COLUMN c INT", RQL_HOST_SCHEMA},
		{"DROP TABLE t", RQL_HOST_SCHEMA},
		{"ATTACH ':memory:' AS other", RQL_HOST_SCHEMA},
		{"SET threads = 2", RQL_HOST_SETTING},
		{"RESET threads", RQL_HOST_SETTING},
		{"SET VARIABLE x = 1", RQL_HOST_SETTING},
		{"USE memory", RQL_HOST_SETTING},
		{"PRAGMA threads = 2", RQL_HOST_SETTING},
		{"PRAGMA disable_profiling", RQL_HOST_SETTING},
		{"BEGIN", RQL_HOST_TRANSACTION},
		{"COMMIT", RQL_HOST_TRANSACTION},
		{"CALL pragma_version()", RQL_HOST_OTHER},
		{"CHECKPOINT", RQL_HOST_OTHER},
		{"VACUUM", RQL_HOST_OTHER},
		{"PREPARE p AS SELECT 1", RQL_HOST_OTHER},
	};
	run(f->con, "CREATE TABLE t (a INT, b VARCHAR)");
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rql_error err = {0};
		struct rql_host_stmt *stmt;
		if (rql_host_prepare(f->con, cases[i].sql, &stmt, &err) != RQL_OK)
			fail_msg("%s: %s", cases[i].sql, rql_error_message(&err));
		if (rql_host_stmt_class(stmt) != cases[i].class)
			fail_msg("%s: class %d", cases[i].sql, (int)rql_host_stmt_class(stmt));
		rql_host_stmt_free(stmt);
	}
}

static void test_multi(void **state)
{
	struct fixture *f = *state;
	struct rql_error err = {0};
	struct rql_host_list *list;
	uint64_t count;
	/* Each statement needs what the one before it did. */
	const char *sql =
		"CREATE TABLE m (a INT); INSERT INTO m VALUES (1), (2); SELECT sum(a) FROM m; PIVOT m ON a; -- end";
	assert_int_equal(rql_host_extract(f->con, sql, &list, &count, &err), RQL_OK);
	bool two = rql_host_major() < 2;
	assert_int_equal(count, two ? 5 : 4); /* DuckDB 1.5 makes two of PIVOT */
	const enum rql_host_rows kinds[] = {RQL_HOST_NOTHING, RQL_HOST_CHANGED, RQL_HOST_ROWS,
	                                    two ? RQL_HOST_NOTHING : RQL_HOST_ROWS, RQL_HOST_ROWS};
	for (uint64_t i = 0; i < count; i++) {
		struct rql_host_stmt *stmt;
		struct rql_host_result *res;
		struct rql_batch *batch;
		assert_int_equal(rql_host_prepare_at(f->con, list, i, &stmt, &err), RQL_OK);
		assert_int_equal(rql_host_execute(stmt, i % 2 == 0, &res, &err), RQL_OK);
		assert_int_equal(rql_host_result_kind(res), kinds[i]);
		if (i == 2) {
			assert_int_equal(rql_host_fetch(res, &batch, &err), RQL_OK);
			assert_int_equal(batch->columns[0].type.id, RQL_TYPE_HUGEINT);
			assert_true(rql_column_get(&batch->columns[0], 0).integer == 3);
			rql_batch_release(batch);
		}
		rql_host_result_free(res);
		rql_host_stmt_free(stmt);
	}
	rql_host_list_free(list);
	assert_int_equal(rql_host_extract(f->con, " -- nothing", &list, &count, &err), RQL_OK);
	assert_int_equal(count, 0);
	rql_host_list_free(list);
	assert_int_equal(rql_host_extract(f->con, "SELECT 1; SELEC 2", &list, &count, &err), RQL_ERROR_HOST);
	assert_string_equal(rql_error_message(&err),
	                    two ? "Parser Error: syntax error at or near \"SELEC\"\n\n"
	                          "LINE 1: SELECT 1; SELEC 2\n                  ^"
	                        : "Parser Error: syntax error at or near \"SELEC\"\n\n"
	                          "LINE 1: SELECT 1; SELEC 2\n                  ^^^^^");
	rql_error_clear(&err);
}

static void test_error_texts(void **state)
{
	struct fixture *f = *state;
	run(f->con, "CREATE TABLE t (a INT, b VARCHAR)");
	struct rql_error err = {0};
	struct rql_host_stmt *stmt;
	assert_int_equal(rql_host_prepare(f->con, "SELECT nope FROM t", &stmt, &err), RQL_ERROR_HOST);
	assert_string_equal(
		rql_error_message(&err),
		rql_host_major() >= 2 ? "Binder Error: Referenced column \"nope\" not found in FROM clause!\nCandidate bindings: \"a\"\n\n"
		                        "LINE 1: SELECT nope FROM t\n               ^^^^"
		                      : "Binder Error: Referenced column \"nope\" not found in FROM clause!\nCandidate bindings: \"a\"\n\n"
		                        "LINE 1: SELECT nope FROM t\n               ^");
	rql_error_clear(&err);
	assert_int_equal(rql_host_query(f->con, "INSERT INTO t VALUES ('abc', 'x')", NULL, &err), RQL_ERROR_HOST);
	assert_non_null(strstr(rql_error_message(&err),
	                       "Conversion Error: Could not convert string 'abc' to INT32\n\n"
	                       "LINE 1: INSERT INTO t VALUES ('abc', 'x')\n                              ^"));
	rql_error_clear(&err);
	struct rql_host_db *db;
	assert_int_equal(rql_host_open("/nonexistent/x.db", NULL, 0, &db, &err), RQL_ERROR_HOST);
	assert_non_null(strstr(rql_error_message(&err), "IO Error: Cannot open file \"/nonexistent/x.db\""));
	rql_error_clear(&err);
	const struct rql_host_option bad = {"nope", "1"};
	assert_int_equal(rql_host_open(NULL, &bad, 1, &db, &err), RQL_ERROR_HOST);
	assert_non_null(strstr(rql_error_message(&err), "nope"));
	rql_error_clear(&err);
}

static void test_parameters(void **state)
{
	struct fixture *f = *state;
	struct rql_error err = {0};
	struct rql_host_stmt *stmt;
	run(f->con, "CREATE TABLE t (a INT, b VARCHAR)");
	assert_int_equal(
		rql_host_prepare(f->con, "SELECT a, b || $name::VARCHAR AS \"B\" FROM t WHERE a = $n", &stmt, &err), RQL_OK);
	assert_int_equal(rql_host_stmt_parameters(stmt), 2);
	assert_string_equal(rql_host_stmt_parameter_name(stmt, 1), "name");
	assert_string_equal(rql_host_stmt_parameter_name(stmt, 2), "n");
	assert_int_equal(rql_host_stmt_parameter_type(stmt, 2).id, RQL_TYPE_INTEGER);
	assert_int_equal(rql_host_stmt_columns(stmt), 2);
	assert_string_equal(rql_host_stmt_column_name(stmt, 1), "B");
	assert_int_equal(rql_host_stmt_column_type(stmt, 0).id, RQL_TYPE_INTEGER);
	assert_int_equal(rql_host_bind(stmt, 3, &(struct rql_value){.is_null = true}, &err), RQL_ERROR_MISUSE);
	rql_host_stmt_free(stmt);
	rql_error_clear(&err);
}

/* ---- running ---- */

static void test_stream(void **state)
{
	struct fixture *f = *state;
	struct rql_error err = {0};
	struct rql_host_stmt *stmt;
	struct rql_host_result *res;
	struct rql_batch *batch, *kept = NULL;
	assert_int_equal(rql_host_prepare(f->con,
	                                  "SELECT range AS r, 'a long string, number ' || range AS s FROM range(1000000)",
	                                  &stmt, &err),
	                 RQL_OK);
	assert_int_equal(rql_host_execute(stmt, true, &res, &err), RQL_OK);
	assert_string_equal(rql_host_result_name(res, 1), "s");
	uint64_t rows = 0;
	int64_t sum = 0;
	for (;;) {
		assert_int_equal(rql_host_fetch(res, &batch, &err), RQL_OK);
		if (!batch)
			break;
		for (uint64_t r = 0; r < batch->rows; r++)
			sum += ((int64_t *)batch->columns[0].data)[r];
		rows += batch->rows;
		if (!kept)
			kept = batch;
		else
			rql_batch_release(batch);
	}
	assert_int_equal(rows, 1000000);
	assert_true(sum == INT64_C(499999500000));
	rql_host_result_free(res);
	rql_host_stmt_free(stmt);
	/* A batch outlives its result. */
	struct rql_value value = rql_column_get(&kept->columns[1], 7);
	assert_memory_equal(value.string.data, "a long string, number 7", value.string.length);
	rql_batch_release(kept);

	/* An error in the middle of a stream is reported, not swallowed. On a busy machine DuckDB's stream now and then tells of
	 * the cancelling that follows the error instead of the error (once in some hundred runs of 1.5.6): then it is asked again. */
	assert_int_equal(
		rql_host_prepare(f->con,
	                     "SELECT CASE WHEN range = 900000 THEN error('boom') ELSE range END FROM range(1000000)", &stmt,
	                     &err),
		RQL_OK);
	rql_status status = RQL_ERROR_INTERRUPTED;
	for (int tries = 0; status == RQL_ERROR_INTERRUPTED && tries < 5; tries++) {
		rql_error_clear(&err);
		assert_int_equal(rql_host_execute(stmt, true, &res, &err), RQL_OK);
		while ((status = rql_host_fetch(res, &batch, &err)) == RQL_OK && batch)
			rql_batch_release(batch);
		rql_host_result_free(res);
	}
	assert_int_equal(status, RQL_ERROR_HOST);
	assert_non_null(strstr(rql_error_message(&err), "boom"));
	rql_error_clear(&err);
	rql_host_stmt_free(stmt);
}

static void *interrupt_soon(void *arg)
{
	usleep(100000);
	rql_host_interrupt(arg);
	return NULL;
}

static void test_interrupt(void **state)
{
	struct fixture *f = *state;
	for (int stream = 0; stream < 2; stream++) {
		struct rql_error err = {0};
		struct rql_host_stmt *stmt;
		struct rql_host_result *res = NULL;
		struct rql_batch *batch;
		pthread_t thread;
		assert_int_equal(
			rql_host_prepare(f->con, "SELECT count(*) FROM range(10000000000) a WHERE range * 7 % 3 = 9", &stmt, &err),
			RQL_OK);
		assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, f->con), 0);
		rql_status status = rql_host_execute(stmt, stream, &res, &err);
		if (status == RQL_OK)
			status = rql_host_fetch(res, &batch, &err);
		pthread_join(thread, NULL);
		assert_int_equal(status, RQL_ERROR_INTERRUPTED);
		assert_string_equal(rql_error_message(&err), "INTERRUPT Error: Interrupted!");
		rql_error_clear(&err);
		rql_host_result_free(res);
		rql_host_stmt_free(stmt);
		/* It holds until it is cleared, however many statements follow. */
		assert_int_equal(rql_host_query(f->con, "SELECT 42", NULL, NULL), RQL_ERROR_INTERRUPTED);
		rql_host_interrupt_clear(f->con);
		assert_int_equal(int_of(f->con, "SELECT 42"), 42);
	}
	run(f->con, "BEGIN");
	rql_host_interrupt(f->con);
	rql_host_rollback(f->con);
	rql_host_interrupt_clear(f->con);
	run(f->con, "BEGIN; COMMIT");
}

/* A query for one value gives one, of one row and one column. */
static void test_one_value(void **state)
{
	struct fixture *f = *state;
	static const char *const bad[] = {"SELECT 1, 2", "SELECT * FROM range(2)", "SELECT NULL::BIGINT", "SELECT 'x'",
	                                  "SELECT 1 WHERE false", "SELECT 9223372036854775808"};
	int64_t number = 7;
	char *text = NULL;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(rql_host_query_int(f->con, bad[i], &number, NULL), RQL_ERROR_HOST);
	assert_int_equal(number, 7);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(rql_host_query_text(f->con, bad[i], &text, NULL), RQL_ERROR_HOST);
	assert_int_equal(rql_host_query_text(f->con, "SELECT 'x' WHERE false", &text, NULL), RQL_OK);
	assert_null(text);
	/* A text that could not be made is never run. */
	struct rql_host_stmt *stmt = NULL;
	assert_int_equal(rql_host_query(f->con, NULL, NULL, NULL), RQL_ERROR_MEMORY);
	assert_int_equal(rql_host_query_int(f->con, NULL, &number, NULL), RQL_ERROR_MEMORY);
	assert_int_equal(rql_host_query_text(f->con, NULL, &text, NULL), RQL_ERROR_MEMORY);
	assert_int_equal(rql_host_prepare(f->con, NULL, &stmt, NULL), RQL_ERROR_MEMORY);
}

/* Values of expressions without a statement. */
static void test_fold(void **state)
{
	struct fixture *f = *state;
	struct rql_error err = {0};
	char *text = NULL;
	run(f->con, "CREATE SCHEMA other; SET search_path = 'other'; SET TimeZone = 'Asia/Tokyo'");
	assert_int_equal(rql_host_fold_text(f->con, "system.main.current_schema()", &text, &err), RQL_OK);
	assert_string_equal(text, "other");
	free(text);
	assert_int_equal(rql_host_fold_text(f->con, "CAST(TIMESTAMPTZ '2020-01-01 00:00:00+00' AS VARCHAR)", &text, &err),
	                 RQL_OK);
	assert_string_equal(text, "2020-01-01 09:00:00+09");
	free(text);
	assert_int_equal(rql_host_fold_text(f->con, "CAST(NULL AS VARCHAR)", &text, &err), RQL_OK);
	assert_null(text);
	run(f->con, "RESET search_path; RESET TimeZone; BEGIN");
	/* What cannot be bound at all comes last: DuckDB 2 aborts a transaction for it, and RayQL asks none of it. */
	static const char *const bad[] = {"CAST('x' AS INTEGER)", "system.main.random()", "nosuch", "(SELECT 1)",
	                                  "1) FROM ("};
	size_t count = rql_host_major() >= 2 ? 2 : sizeof bad / sizeof *bad;
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(rql_host_fold_text(f->con, bad[i], &text, &err), RQL_ERROR_HOST);
		rql_error_clear(&err);
	}
	run(f->con, "SELECT 1; COMMIT"); /* the transaction did not notice */
	run(f->con, "PRAGMA enable_verification"); /* binds twice */
	assert_int_equal(rql_host_fold_text(f->con, "system.main.current_schema()", &text, &err), RQL_OK);
	assert_string_equal(text, "main");
	free(text);
	run(f->con, "PRAGMA disable_verification");
	assert_int_equal(rql_host_query(f->con, "SELECT rayql_fold(1)", NULL, &err), RQL_ERROR_HOST);
	assert_non_null(strstr(rql_error_message(&err), "RayQL's own"));
	rql_error_clear(&err);
}

static void *run_long(void *arg)
{
	rql_host_query(arg, "SELECT max(md5(md5(md5(md5(a::VARCHAR))))) FROM big", NULL, NULL);
	return NULL;
}

static void test_progress(void **state)
{
	struct fixture *f = *state;
	run(f->con, "CREATE TABLE big AS SELECT range AS a FROM range(3000000)");
	rql_host_count_progress(f->con);
	pthread_t thread;
	double percentage = -1;
	uint64_t rows = 0, total = 0;
	assert_int_equal(pthread_create(&thread, NULL, run_long, f->con), 0);
	for (int i = 0; i < 2000 && !(percentage > 0); i++) {
		usleep(1000);
		rql_host_progress(f->con, &percentage, &rows, &total);
	}
	rql_host_interrupt(f->con);
	pthread_join(thread, NULL);
	rql_host_interrupt_clear(f->con);
	assert_true(percentage > 0 && percentage <= 100);
}

/* ---- planning ---- */

static char *plan_of(struct rql_host_con *con, const char *sql)
{
	struct rql_error err = {0};
	char *json = NULL;
	if (rql_host_plan(con, sql, &json, &err) != RQL_OK)
		fail_msg("%s: %s", sql, rql_error_message(&err));
	return json;
}

static void expect_no_plan(struct rql_host_con *con, const char *sql, const char *message)
{
	struct rql_error err = {0};
	char *json = NULL;
	assert_int_equal(rql_host_plan(con, sql, &json, &err), RQL_ERROR_UNSUPPORTED);
	if (!strstr(rql_error_message(&err), message))
		fail_msg("%s: %s", sql, rql_error_message(&err));
	rql_error_clear(&err);
}

static void expect_in_plan(struct rql_host_con *con, const char *sql, const char *part)
{
	char *json = plan_of(con, sql);
	if (!strstr(json, part))
		fail_msg("%s: no %s in %s", sql, part, json);
	free(json);
}

static void test_plan(void **state)
{
	struct fixture *f = *state;
	run(f->con, "CREATE TABLE t AS SELECT range AS a, range % 7 AS b, 'city' || (range % 250) AS c FROM range(10000)");
	run(f->con, "CREATE SCHEMA s; CREATE TABLE s.only_here AS SELECT 1 AS x");
	/* Without the switched-off optimisers these fail to serialise. */
	expect_in_plan(
		f->con, "SELECT b, sum(a), sum(a), avg(a) FROM t WHERE c IN ('city1', 'city2', 'city3') GROUP BY b ORDER BY b",
		"LOGICAL_AGGREGATE_AND_GROUP_BY");
	char *json = NULL;
	assert_int_equal(rql_host_plan(f->con, "SELECT sum(a) FROM t", &json, NULL), RQL_OK);
	free(json);
	expect_no_plan(f->con, "SELECT nope FROM t", "Referenced column \"nope\" not found");
	expect_no_plan(f->con, "SELEC 1", "syntax error at or near \"SELEC\"");
	/* The user's settings of optimisers come back. */
	run(f->con, "SET disabled_optimizers = 'filter_pushdown,join_order'");
	if (rql_host_major() >= 2) /* where averages depend on them */
		expect_no_plan(f->con, "SELECT sum(a) FROM t", "disabled_optimizers");
	else
		free(plan_of(f->con, "SELECT sum(a) FROM t"));
	char *setting = text_of(f->con, "SELECT current_setting('disabled_optimizers')");
	assert_string_equal(setting, "filter_pushdown,join_order");
	free(setting);
	run(f->con, "RESET disabled_optimizers");
	free(plan_of(f->con, "SELECT sum(a) FROM t"));
	setting = text_of(f->con, "SELECT current_setting('disabled_optimizers')");
	assert_string_equal(setting, "");
	free(setting);
}

static void test_plan_sees_the_session(void **state)
{
	struct fixture *f = *state;
	run(f->con, "CREATE SCHEMA s; CREATE TABLE s.only_here AS SELECT 1 AS x");
	expect_no_plan(f->con, "SELECT x FROM only_here", "only_here does not exist");
	run(f->con, "SET search_path = 's'");
	expect_in_plan(f->con, "SELECT x FROM only_here", "only_here");
	run(f->con, "CREATE TEMP TABLE mine AS SELECT 2 AS y");
	expect_in_plan(f->con, "SELECT y FROM mine", "mine");
	struct rql_host_con *other;
	assert_int_equal(rql_host_connect(f->db, &other, NULL), RQL_OK);
	expect_no_plan(other, "SELECT y FROM mine", "mine does not exist");
	/* Uncommitted tables are there inside, and the transaction goes on. */
	run(f->con, "BEGIN; CREATE TABLE s.fresh AS SELECT 3 AS z");
	expect_in_plan(f->con, "SELECT z FROM fresh", "fresh");
	expect_no_plan(other, "SELECT z FROM s.fresh", "fresh does not exist");
	expect_no_plan(f->con, "SELECT nope FROM fresh", "nope");
	run(f->con, "INSERT INTO s.fresh VALUES (4)");
	run(f->con, "ROLLBACK");
	expect_no_plan(f->con, "SELECT z FROM fresh", "fresh does not exist");
	/* In an aborted transaction nothing can be planned, and nothing is changed by trying. */
	run(f->con, "BEGIN");
	assert_int_equal(rql_host_query(f->con, "SELECT CAST('x' || range AS INT) FROM range(3)", NULL, NULL),
	                 RQL_ERROR_HOST);
	expect_no_plan(f->con, "SELECT 1", "aborted");
	run(f->con, "ROLLBACK");
	char *setting = text_of(f->con, "SELECT current_setting('disabled_optimizers')");
	assert_string_equal(setting, "");
	free(setting);
	rql_host_disconnect(other);
}

/* Neither the query log nor the profile of a connection shows that plans were asked for. */
static void test_plan_leaves_no_trace(void **state)
{
	struct fixture *f = *state;
	char log[64], profile[64], sql[160], line[256];
	snprintf(log, sizeof log, "/tmp/rayql-host-%d.log", (int)getpid());
	snprintf(profile, sizeof profile, "/tmp/rayql-host-%d.json", (int)getpid());
	assert_null(rql_host_watched(f->con));
	snprintf(sql, sizeof sql, "SET enable_profiling = 'json'; SET profiling_output = '%s'", profile);
	run(f->con, sql);
	assert_string_equal(rql_host_watched(f->con), "enable_profiling");
	run(f->con, "SELECT 1");
	assert_int_equal(remove(profile), 0);
	if (rql_host_prepares_aloud())
		expect_no_plan(f->con, "SELECT sum(range) FROM range(100)", "enable_profiling");
	else
		free(plan_of(f->con, "SELECT sum(range) FROM range(100)"));
	expect_no_plan(f->con, "SELECT nope", rql_host_prepares_aloud() ? "enable_profiling" : "nope");
	assert_int_equal(access(profile, F_OK), -1);
	run(f->con, "PRAGMA disable_profiling");
	snprintf(sql, sizeof sql, "SET log_query_path = '%s'", log);
	run(f->con, sql);
	assert_string_equal(rql_host_watched(f->con), "log_query_path");
	if (rql_host_prepares_aloud()) /* the question would be in the log, too */
		expect_no_plan(f->con, "SELECT sum(range) FROM range(100)", "log_query_path");
	else
		free(plan_of(f->con, "SELECT sum(range) FROM range(100)"));
	expect_no_plan(f->con, "SELECT nope", rql_host_prepares_aloud() ? "log_query_path" : "nope");
	run(f->con, "SET log_query_path = ''");
	assert_null(rql_host_watched(f->con));
	FILE *file = fopen(log, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof line, file));
	assert_string_equal(line, "SET log_query_path = ''\n");
	assert_null(fgets(line, sizeof line, file));
	fclose(file);
	remove(log);
	remove(profile);
}

/* DuckDB's log is of the whole instance; only some of its levels and types are about statements. */
static void test_watched_by_the_log(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *sql;
		bool watched;
	} cases[] = {
		{"CALL enable_logging()", true},
		{"CALL disable_logging()", false},
		{"CALL enable_logging('HTTP')", false},
		{"CALL enable_logging(['HTTP', 'QueryLog'])", true},
		{"CALL enable_logging(level = 'error')", false},
		{"SET logging_level = 'info'", true},
		{"SET logging_mode = 'DISABLE_SELECTED'; SET disabled_log_types = 'QueryLog'", false},
		{"SET disabled_log_types = 'HTTP'", true},
		{"SET enable_logging = false", false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		run(f->con, cases[i].sql);
		assert_int_equal(rql_host_watched(f->con) != NULL, cases[i].watched);
	}
}

static void *plan_loop(void *arg)
{
	struct rql_host_con *con;
	if (rql_host_connect(arg, &con, NULL) != RQL_OK)
		return arg;
	void *failed = NULL;
	for (int i = 0; i < 100 && !failed; i++) {
		char *json = NULL;
		if (rql_host_plan(con, "SELECT count(*) FROM range(10) WHERE range IN (1, 2, 3)", &json, NULL) != RQL_OK)
			failed = arg;
		free(json);
	}
	rql_host_disconnect(con);
	return failed;
}

static void test_plan_threads(void **state)
{
	struct fixture *f = *state;
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, plan_loop, f->db), 0);
	for (int i = 0; i < 3; i++) {
		void *failed;
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	char *setting = text_of(f->con, "SELECT current_setting('disabled_optimizers')");
	assert_string_equal(setting, "");
	free(setting);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_classes),      T(test_multi),  T(test_error_texts),
		T(test_parameters),   T(test_stream), T(test_interrupt),
		T(test_parameters),   T(test_stream), T(test_one_value),
		T(test_parameters),   T(test_stream), T(test_fold),
		T(test_progress),     T(test_plan),   T(test_plan_sees_the_session),
		T(test_plan_leaves_no_trace), T(test_watched_by_the_log),
		T(test_plan_threads),
	};
	return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
