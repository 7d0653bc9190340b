/* Memory limits and full disks: one clear message, nothing left behind, and queries answered all the same. */
#include "check.h"

#include <signal.h>
#include <sys/resource.h>

static void memory_limit(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	run(s.con, "CREATE TABLE t AS SELECT i % 1000 AS a, i AS b, i * 7 % 100003 AS v FROM range(300000) r(i)");
	run(s.con, "SET rayql_memory_limit = '1MB'");
	fails(s.con, "CREATE MATERIALIZED VIEW v WITH (rollup = off) AS SELECT a, b, sum(v) FROM t GROUP BY a, b",
	      RAYQL_ERROR_LIMIT, "memory limit");
	expect(s.con, "SELECT count(*) FROM rayql_structures()", NULL, "0\n");
	expect(s.con, "SELECT count(*) FROM duckdb_views() WHERE view_name = 'v'", NULL, "0\n");
	char *want = rows_of(s.con, "SELECT sum(v) FROM t", NULL);
	run(s.con, "SET rayql_memory_limit = '1GB'");
	run(s.con,
	    "CREATE MATERIALIZED VIEW v WITH (rollup = off, refresh = auto) AS SELECT a, b, sum(v) FROM t GROUP BY a, b");
	expect(s.con, "SELECT sum(v) FROM t", "cube", want);
	/* OR REPLACE that does not fit keeps the old one. */
	run(s.con, "SET rayql_memory_limit = '1MB'");
	fails(s.con,
	      "CREATE OR REPLACE MATERIALIZED VIEW v WITH (rollup = off) AS SELECT a, b, sum(v), count(*) FROM t GROUP BY "
	      "a, b",
	      RAYQL_ERROR_LIMIT, "memory limit");
	expect(s.con, "SELECT sum(v) FROM t", "cube", want);
	expect(s.con, "SELECT state FROM rayql_structures()", NULL, "ready\n");
	/* A rebuild that does not fit: the host answers, and the reason can be read. */
	run(s.con, "INSERT INTO t VALUES (1, 1, 0)");
	expect(s.con, "SELECT sum(v) FROM t", "host", want);
	expect(s.con, "SELECT state, reason LIKE '%memory limit%' FROM rayql_structures()", NULL, "unbuilt|true\n");
	expect(s.con, "SELECT sum(v) FROM t", "host", want);
	run(s.con, "SET rayql_memory_limit = '1GB'");
	expect(s.con, "SELECT sum(v) FROM t", "cube", want);
	expect(s.con, "SELECT state, reason FROM rayql_structures()", NULL, "ready|NULL\n");
	free(want);
	close_session(&s);
}

static bool rebuilt_for(rayql_connection *con, const char *sql)
{
	char by[32];
	free(rows_of(con, sql, by));
	return strcmp(by, "cube") == 0;
}

/* A build that failed is tried again when something has changed that may help, not by every query. */
static void a_failed_build_comes_back(void **state)
{
	static const char sql[] = "SELECT sum(v) FROM t";
	static const char view[] = "CREATE MATERIALIZED VIEW v WITH (rollup = off, refresh = auto) AS SELECT a, b, sum(v), "
							   "count(*) FROM t GROUP BY a, b";
	struct session s = open_session(NULL, NULL), other = {.db = s.db};
	(void)state;
	assert_int_equal(rayql_connect(s.db, &other.con, NULL), RAYQL_OK);
	run(s.con, "CREATE TABLE t AS SELECT i % 1000 AS a, i AS b, i * 7 % 100003 AS v FROM range(300000) r(i)");
	run(s.con, view);
	/* By a limit that another connection raises. */
	run(s.con, "SET rayql_memory_limit = '1MB'; INSERT INTO t VALUES (1, 1, 0)");
	assert_false(rebuilt_for(s.con, sql));
	assert_false(rebuilt_for(s.con, sql));
	run(s.con, "INSERT INTO t VALUES (1, 1, 0)"); /* more rows do not help */
	assert_false(rebuilt_for(s.con, sql));
	run(other.con, "SET rayql_memory_limit = '1GB'");
	assert_true(rebuilt_for(s.con, sql));
	/* By rows that went. */
	run(s.con, "SET rayql_memory_limit = '1MB'; INSERT INTO t VALUES (1, 1, 0)");
	assert_false(rebuilt_for(s.con, sql));
	run(s.con, "DELETE FROM t WHERE b >= 100");
	assert_true(rebuilt_for(s.con, sql));
	/* By a table that has no value any more that cannot be cast. */
	run(s.con, "SET rayql_memory_limit = '1GB'; CREATE TABLE k AS SELECT '1' AS x, 2 AS y");
	run(s.con, "CREATE MATERIALIZED VIEW c WITH (refresh = auto) AS SELECT x::INTEGER AS x, sum(y), count(*) FROM k "
			   "GROUP BY x::INTEGER");
	run(s.con, "INSERT INTO k VALUES ('one', 1)");
	expect(s.con, "SELECT sum(y) FROM k", "host", "3\n");
	expect(s.con, "SELECT state, reason LIKE '%could not be rebuilt%one%' FROM rayql_structures() WHERE name = 'c'", NULL,
	       "unbuilt|true\n");
	run(s.con, "UPDATE k SET x = '1'");
	expect(s.con, "SELECT sum(y) FROM k", "cube", "3\n");
	rayql_disconnect(other.con);
	close_session(&s);
}

/* ---- a full disk: files that must not grow beyond a size stop as they would there ---- */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void close_with_files_of(struct session *s, rlim_t bytes)
{
	limit_files(bytes);
	close_session(s);
	limit_files(RLIM_INFINITY);
}

static void disk_full(void **state)
{
	static const char cube[] = "SELECT count(*) FROM t WHERE a < 500", reason[] = "SELECT reason FROM rayql_structures()";
	char path[256];
	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	struct session s = open_session(scratch_path(path, "full.db"), NULL);
	run(s.con, "CREATE TABLE t AS SELECT i % 1000 AS a, hash(i) % 100000 AS b, hash(i + 1) % 1000003 AS v FROM "
	           "range(400000) r(i); CHECKPOINT");
	/* The contents do not fit the side file; the structure works, and says what will happen. */
	limit_files(1 << 20);
	run(s.con, "CREATE MATERIALIZED VIEW v WITH (rollup = off) AS SELECT a, b, sum(v) FROM t GROUP BY a, b");
	expect(s.con, cube, "cube", "200000\n");
	expect(s.con, "SELECT reason LIKE '%side file could not be written%' FROM rayql_structures()", NULL, "true\n");
	limit_files(RLIM_INFINITY);
	close_session(&s);
	/* It is told what happened, also after a session that did not ask for it. */
	for (int i = 0; i < 2; i++) {
		s = open_session(path, NULL);
		expect(s.con, "SELECT state, regexp_matches(reason, '^its side file was not kept: .*[.]cube cannot be written: ') "
		              "FROM rayql_structures()", NULL, "unbuilt|true\n");
		close_session(&s);
	}
	s = open_session(path, NULL);
	expect(s.con, cube, "cube", "200000\n");
	close_session(&s);
	s = open_session(path, NULL);
	expect(s.con, cube, "cube", "200000\n");
	expect(s.con, reason, NULL, "read from its side file\n");
	/* The database itself does not fit. */
	run(s.con, "CREATE TABLE u AS SELECT hash(i) AS h FROM range(100000) r(i)");
	close_with_files_of(&s, 1 << 20);
	s = open_session(path, NULL);
	expect(s.con, "SELECT state, reason LIKE 'its side file was not kept: CHECKPOINT failed: %' AND "
	              "NOT contains(reason, chr(10)) FROM rayql_structures()", NULL, "unbuilt|true\n");
	expect(s.con, cube, "cube", "200000\n");
	close_session(&s);
	/* Not even a manifest does. */
	s = open_session(path, NULL);
	close_with_files_of(&s, 16);
	s = open_session(path, NULL);
	expect(s.con, reason, NULL,
	       "its side file was not used: nothing could be written beside the database when it was closed\n");
	expect(s.con, cube, "cube", "200000\n");
	expect(s.con, "SELECT count(*) FROM u", NULL, "100000\n");
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_limit),
		cmocka_unit_test(a_failed_build_comes_back),
		cmocka_unit_test(disk_full),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
