/* Answers that were wrong once. Each test fails on the engine from before its fix. */
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>

/* `a = a` is true but where a is NULL: it was taken for a join of a column with itself, and dropped. */
static void a_column_equal_to_itself_drops_nulls(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	run(s.con, "CREATE TABLE t AS SELECT CASE WHEN i % 4 = 0 THEN NULL ELSE i % 4 END a, i % 3 b, i::INTEGER v FROM "
	           "range(12) r(i)");
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT a, b, sum(v), count(*) FROM t GROUP BY a, b");
	expect(s.con, "SELECT sum(v), count(*) FROM t", NULL, "66|12\n");
	expect(s.con, "SELECT sum(v), count(*) FROM t WHERE a = a", NULL, "54|9\n");
	run(s.con, "DROP MATERIALIZED VIEW v");
	run(s.con, "CREATE MATERIALIZED VIEW w AS SELECT b, sum(v), count(*) FROM t WHERE a = a GROUP BY b");
	expect(s.con, "SELECT sum(v), count(*) FROM t", "host", "66|12\n");
	expect(s.con, "SELECT sum(v), count(*) FROM t WHERE a = a", NULL, "54|9\n");
	close_session(&s);
}

/* Columns that a join makes equal stand for each other, but 0.0 does not look like -0.0. */
static void equal_doubles_keep_their_looks(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	run(s.con, "CREATE TABLE g AS SELECT 0.0::DOUBLE z, 1 x");
	run(s.con, "CREATE TABLE h AS SELECT '-0'::DOUBLE z, 2 y");
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT g.z, sum(x), count(*) FROM g JOIN h ON g.z = h.z GROUP BY g.z");
	run(s.con, "SET rayql_force = on");
	expect(s.con, "SELECT g.z, sum(x) FROM g JOIN h ON g.z = h.z GROUP BY g.z", "cube", "0.0|1\n");
	expect(s.con, "SELECT h.z, sum(x) FROM g JOIN h ON g.z = h.z GROUP BY h.z", NULL, "-0.0|1\n");
	close_session(&s);
}

/* Where statistics prove that a table has no row for the query its scan leaves the plan; a cached plan outlived the
 * table's change. */
static void a_table_that_left_the_plan_still_counts(void **state)
{
	static const char *const names[] = {"e", "\"q\"\"s\".\"e\"\"\\ \xc3\xbc\""};
	struct session s = open_session(NULL, NULL);
	(void)state;
	make_table(s.con, "t", 10);
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT g, sum(v), count(*) FROM t GROUP BY g");
	run(s.con, "SET rayql_force = on; CREATE SCHEMA \"q\"\"s\"");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char sql[256], insert[256];
		snprintf(sql, sizeof sql, "CREATE TABLE %s AS SELECT i::INTEGER y FROM range(5) r(i)", names[i]);
		run(s.con, sql);
		snprintf(sql, sizeof sql, "SELECT sum(v) FROM t UNION ALL SELECT sum(y) FROM %s WHERE y > 100", names[i]);
		snprintf(insert, sizeof insert, "INSERT INTO %s VALUES (200)", names[i]);
		for (int twice = 0; twice < 2; twice++)
			expect(s.con, sql, "cube", "45\nNULL\n");
		run(s.con, insert);
		for (int twice = 0; twice < 2; twice++)
			expect(s.con, sql, NULL, "45\n200\n");
	}
	expect(s.con,
	       "SELECT g, y FROM (SELECT g, sum(v) s FROM t GROUP BY g) LEFT JOIN (SELECT y FROM e WHERE y > 300) ON y = s "
	       "+ 300 "
	       "ORDER BY g LIMIT 1",
	       "cube", "g0|NULL\n");
	run(s.con, "INSERT INTO e VALUES (305)");
	expect(s.con,
	       "SELECT g, y FROM (SELECT g, sum(v) s FROM t GROUP BY g) LEFT JOIN (SELECT y FROM e WHERE y > 300) ON y = s "
	       "+ 300 "
	       "ORDER BY g LIMIT 1",
	       NULL, "g0|305\n");
	close_session(&s);
}

static void write_database(const char *path, const char *value)
{
	char sql[256];
	struct session s = open_session(path, NULL);
	snprintf(sql, sizeof sql, "CREATE TABLE t AS SELECT (i %% 7)::INTEGER a, %s::INTEGER v FROM range(5000) r(i)",
	         value);
	run(s.con, sql);
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT a, sum(v), count(*) FROM t GROUP BY a");
	close_session(&s);
}

/* A file that the same statements wrote has the same size and headers over other rows: moved to where a side folder
 * lies, it was taken for the file that the folder belongs to. */
static void a_database_moved_over_another(void **state)
{
	char path[256], other[256];
	(void)state;
	write_database(scratch_path(path, "today.db"), "i % 1000");
	write_database(scratch_path(other, "tomorrow.db"), "i % 999");
	assert_int_equal(rename(other, path), 0);
	struct session s = open_session(path, NULL);
	run(s.con, "SET rayql_force = on");
	expect(s.con, "SELECT sum(v) FROM t", NULL, "2492515\n");
	close_session(&s);
}

/* A parameter has its value's type: 1.5 was cast to the INTEGER of the column that it is compared with. */
static void a_parameter_keeps_its_type(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_statement *stmt = NULL;
	rayql_result *res = NULL;
	(void)state;
	make_table(s.con, "t", 70);
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT a, g, sum(v), count(*) FROM t GROUP BY a, g");
	run(s.con, "SET rayql_force = on");
	assert_int_equal(rayql_prepare(s.con, "SELECT count(*) FROM t WHERE a <= ?", &stmt, NULL), RAYQL_OK);
	for (int twice = 0; twice < 2; twice++) {
		assert_int_equal(rayql_bind_double(stmt, 1, 1.5), RAYQL_OK);
		assert_int_equal(rayql_execute(stmt, &res, NULL), RAYQL_OK);
		char *rows = read_rows(res, NULL);
		assert_string_equal(rows, "20\n");
		free(rows);
		assert_int_equal(rayql_bind_int64(stmt, 1, 2), RAYQL_OK);
		assert_int_equal(rayql_execute(stmt, &res, NULL), RAYQL_OK);
		assert_string_equal(rayql_result_method(res), "cube");
		rows = read_rows(res, NULL);
		assert_string_equal(rows, "30\n");
		free(rows);
	}
	rayql_statement_free(stmt);
	close_session(&s);
}

struct packing {
	rayql_connection *con;
	_Atomic bool stop;
};

static void *interrupt_when_packing(void *state)
{
	struct packing *p = state;
	rayql_progress_info info = {0};
	while (!p->stop) {
		rayql_progress(p->con, &info);
		if (info.phase && strcmp(info.phase, "packing") == 0) {
			rayql_interrupt(p->con);
			break;
		}
	}
	return NULL;
}

/* Interrupted while it counted the cells, a build wrote all of them to room for those counted so far. */
static void a_build_interrupted_while_it_packs(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	run(s.con, "CREATE TABLE t AS SELECT (i % 500009)::INTEGER a, i::INTEGER v FROM range(1000000) r(i)");
	run(s.con, "CREATE MATERIALIZED VIEW v WITH (rollup = on) AS SELECT a, sum(v), count(*) FROM t GROUP BY a");
	for (int i = 0; i < 4; i++) {
		struct packing p = {.con = s.con};
		pthread_t thread;
		rayql_error *err = NULL;
		assert_int_equal(pthread_create(&thread, NULL, interrupt_when_packing, &p), 0);
		rayql_status status = rayql_query(s.con, "REFRESH MATERIALIZED VIEW v", NULL, &err);
		assert_true(status == RAYQL_OK || status == RAYQL_ERROR_INTERRUPTED);
		p.stop = true;
		pthread_join(thread, NULL);
		rayql_error_free(err);
	}
	run(s.con, "REFRESH MATERIALIZED VIEW v");
	expect(s.con, "SELECT sum(v), count(*) FROM t", "cube", "499999500000|1000000\n");
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_column_equal_to_itself_drops_nulls),
		cmocka_unit_test(equal_doubles_keep_their_looks),
		cmocka_unit_test(a_table_that_left_the_plan_still_counts),
		cmocka_unit_test(a_database_moved_over_another),
		cmocka_unit_test(a_parameter_keeps_its_type),
		cmocka_unit_test(a_build_interrupted_while_it_packs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
