/* Everything a user can get wrong: one clear message (what, why, what to do), the database as it was, and the query
 * still answered, by the host, unless fallback is off. Errors of opening are in test_open.c, of views in test_views.c,
 * of limits and disks in test_limits.c, of side files in test_reopen.c. */
#include "role.h"

#include <dirent.h>
#include <sys/stat.h>

#define VIEW "CREATE MATERIALIZED VIEW v WITH (rollup = off) AS SELECT g, a, sum(v), count(*) FROM t GROUP BY g, a"
#define REFUSED(query, text) fails(s.con, "CREATE MATERIALIZED VIEW refused AS " query, RAYQL_ERROR_STATEMENT, text)

static struct session with_view(const char *path)
{
	struct session s = open_session(path, NULL);
	run(s.con, "CREATE TABLE t AS SELECT i % 3 AS g, i % 11 AS a, i AS v FROM range(5000) r(i)");
	run(s.con, VIEW);
	return s;
}

/* ---- names ---- */
static void unknown_and_ambiguous_columns(void **state)
{
	static const char *const fallback[] = {"on", "notice", "off"};
	(void)state;
	struct session s = with_view(NULL);
	for (int i = 0; i < 3; i++) {
		char sql[64];
		snprintf(sql, sizeof sql, "SET rayql_fallback = '%s'", fallback[i]);
		run(s.con, sql);
		fails(s.con, "SELECT nosuch FROM t", RAYQL_ERROR_HOST,
		      "Binder Error: Referenced column \"nosuch\" not found in FROM clause!");
		fails(s.con, "SELECT nosuch FROM t", RAYQL_ERROR_HOST, "LINE 1: SELECT nosuch FROM t\n               ^");
		fails(s.con, "SELECT g FROM t x, t y", RAYQL_ERROR_HOST,
		      host_is_2() ? "Ambiguous reference to column name \"g\" (use: 'x.g' or 'y.g')"
		                  : "Ambiguous reference to column name \"g\" (use: \"x.g\" or \"y.g\")");
		fails(s.con, "CREATE MATERIALIZED VIEW w AS SELECT g, count(*) FROM t x, t y GROUP BY g", RAYQL_ERROR_HOST,
		      "Ambiguous reference to column name \"g\"");
	}
	expect(s.con, "SELECT name FROM rayql_structures()", NULL, "v\n");
	close_session(&s);
}

static void aggregates_that_cannot_be_derived(void **state)
{
	(void)state;
	struct session s = open_session(NULL, NULL);
	/* The reason is that of the view over the query's tables, not of the first that there is. */
	run(s.con, "CREATE TABLE u AS SELECT 1 AS a, 2 AS v");
	run(s.con, "CREATE MATERIALIZED VIEW first AS SELECT a, count(*) FROM u GROUP BY a");
	run(s.con, "CREATE TABLE t AS SELECT i % 3 AS g, i % 11 AS a, i AS v FROM range(5000) r(i)");
	run(s.con, VIEW);
	expect(s.con, "SELECT median(v) FROM t", "host", "2499.5\n");
	run(s.con, "SET rayql_fallback = 'off'");
	fails(s.con, "SELECT median(v) FROM t", RAYQL_ERROR_UNSUPPORTED,
	      "RayQL does not accelerate this statement: no structure computes median(BIGINT). "
	      "SET rayql_fallback = 'on' lets DuckDB answer.");
	fails(s.con, "SELECT g, max(v + g) FROM t GROUP BY g", RAYQL_ERROR_UNSUPPORTED, "v: max(v + g) cannot be derived");
	fails(s.con, "SELECT sum(v) FROM t WHERE v = 3", RAYQL_ERROR_UNSUPPORTED, "v: column v is no dimension of it");
	REFUSED("SELECT g, count(DISTINCT a) FROM t GROUP BY g", "put the column among the dimensions");
	REFUSED("SELECT g, sum(v + random()) FROM t GROUP BY g", "random() changes its value between runs");
	REFUSED("SELECT g, list(v) FROM t GROUP BY g",
	        "; an aggregate that RayQL does not know: list is not among SUM, COUNT");
	REFUSED("SELECT range, count(*) FROM range(5) GROUP BY range",
	        "cannot read range(), whose rows RayQL cannot see change");
	REFUSED("SELECT g, sum(v) FROM t GROUP BY g LIMIT 0", "LIMIT cannot be kept");
	expect(s.con, "SELECT sum(v) FROM t", "cube", "12497500\n");
	close_session(&s);
}

static void files_are_refused(void **state)
{
	char path[256], sql[512];
	(void)state;
	struct session s = open_session(NULL, NULL);
	snprintf(sql, sizeof sql, "COPY (SELECT 1 AS a, 2 AS v) TO '%s'", scratch_path(path, "f.csv"));
	run(s.con, sql);
	snprintf(sql, sizeof sql, "CREATE MATERIALIZED VIEW m AS SELECT a, sum(v) FROM '%s' GROUP BY a", path);
	fails(s.con, sql, RAYQL_ERROR_STATEMENT, "If it reads files, load them into a table first");
	snprintf(sql, sizeof sql, "SELECT a, sum(v) FROM '%s' GROUP BY a", path);
	expect(s.con, sql, "host", "1|2\n");
	snprintf(sql, sizeof sql, "COPY (SELECT 1 AS a, 2 AS v) TO '%s'", scratch_path(path, "f.parquet"));
	run(s.con, sql);
	snprintf(sql, sizeof sql, "CREATE MATERIALIZED VIEW m AS SELECT a, sum(v) FROM '%s' GROUP BY a", path);
	fails(s.con, sql, RAYQL_ERROR_STATEMENT, 
	      host_is_2() ? "If it reads files, load them into a table first"
	                  : "cannot read parquet_scan(), whose rows RayQL cannot see change");
	close_session(&s);
}

static void no_view_is_the_reason(void **state)
{
	(void)state;
	struct session s = open_session(NULL, NULL);
	run(s.con, "CREATE TABLE t AS SELECT 1 AS v");
	run(s.con, "SET rayql_fallback = 'off'");
	fails(s.con, "SELECT sum(v) FROM t", RAYQL_ERROR_UNSUPPORTED, "there is no materialized view");
	close_session(&s);
}

static void too_many_dimensions(void **state)
{
	(void)state;
	struct session s = open_session(NULL, NULL);
	for (int n = 64; n <= 65; n++) {
		char columns[2048] = "", names[1024] = "", sql[4096];
		for (int i = 0; i < n; i++) {
			snprintf(columns + strlen(columns), sizeof columns - strlen(columns), "i %% %d AS d%d, ", i % 5 + 1, i);
			snprintf(names + strlen(names), sizeof names - strlen(names), "d%d, ", i);
		}
		snprintf(sql, sizeof sql, "CREATE OR REPLACE TABLE w AS SELECT %si AS v FROM range(1000) r(i)", columns);
		run(s.con, sql);
		snprintf(sql, sizeof sql, "CREATE OR REPLACE MATERIALIZED VIEW m AS SELECT %ssum(v) FROM w GROUP BY ALL",
		         names);
		if (n == 64)
			run(s.con, sql);
		else
			fails(s.con, sql, RAYQL_ERROR_UNSUPPORTED, "65 dimensions and 1 measures; at most 64");
		expect(s.con, "SELECT sum(v) FROM w WHERE d63 = 0 AND d4 = 0", n == 64 ? "cube" : NULL, NULL);
	}
	close_session(&s);
}

static void nonsense(void **state)
{
	(void)state;
	struct session s = with_view(NULL);
	fails(s.con, "\xff\xfe", RAYQL_ERROR_HOST, "");
	fails(s.con, "SELECT '\xff'", RAYQL_ERROR_HOST, host_is_2() ? "Invalid UTF-8" : "Invalid unicode");
	fails(s.con, "CREATE MATERIALIZED VIEW \xff AS SELECT g, count(*) FROM t GROUP BY g", RAYQL_ERROR_HOST,
	      host_is_2() ? "Invalid UTF-8" : "Invalid unicode");
	fails(s.con, "CREATE MATERIALIZED VIEW \"\" AS SELECT g, count(*) FROM t GROUP BY g", RAYQL_ERROR_STATEMENT,
	      "syntax error at or near \"\"\"\"");
	fails(s.con, "CREATE MATERIALIZED", RAYQL_ERROR_STATEMENT, "syntax error at end of input");
	fails(s.con, "REFRESH MATERIALIZED VIEW v v", RAYQL_ERROR_STATEMENT, "LINE 1: REFRESH MATERIALIZED VIEW v v\n");
	fails(s.con, "/* open", RAYQL_ERROR_HOST, "unterminated");
	fails(s.con, "EXPLAIN REFRESH MATERIALIZED VIEW v", RAYQL_ERROR_STATEMENT, "EXPLAIN works on queries");
	expect(s.con, "SELECT name, state FROM rayql_structures()", NULL, "v|ready\n");
	expect(s.con, "SELECT count(*) FROM t", "cube", "5000\n");
	close_session(&s);
}

static void parameters_that_are_no_text(void **state)
{
	(void)state;
	struct session s = with_view(NULL);
	rayql_statement *stmt = NULL;
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	assert_int_equal(rayql_prepare(s.con, "SELECT sum(v) FROM t WHERE a::VARCHAR = ?", &stmt, &err), RAYQL_OK);
	assert_int_equal(rayql_bind_text(stmt, 1, "\xff\xfe", 2), RAYQL_OK);
	assert_int_equal(rayql_execute(stmt, &res, &err), RAYQL_ERROR_MISUSE);
	assert_non_null(strstr(rayql_error_message(err), "parameter 1: the text is not valid UTF-8"));
	rayql_error_free(err);
	assert_int_equal(rayql_bind_text(stmt, 1, "3\0", 2), RAYQL_OK); /* a NUL is a character like others */
	assert_int_equal(rayql_execute(stmt, &res, NULL), RAYQL_OK);
	char *rows = read_rows(res, NULL);
	assert_string_equal(rows, "NULL\n");
	free(rows);
	rayql_statement_free(stmt);
	close_session(&s);
}

/* DuckDB runs COPY FROM DATABASE as a transaction of its own; whether it succeeds or fails, the session is outside of
 * one afterwards, and its writes are noticed. */
static void copying_a_database_ends_its_transaction(void **state)
{
	(void)state;
	for (int fails_halfway = 0; fails_halfway < 2; fails_halfway++) {
		struct session s = with_view(NULL);
		run(s.con, "ATTACH ':memory:' AS o");
		run(s.con, fails_halfway ? "CREATE TABLE o.t AS SELECT 1 AS g" : "CREATE TABLE o.u AS SELECT 1 AS g");
		if (fails_halfway)
			fails(s.con, "COPY FROM DATABASE o TO memory", RAYQL_ERROR_HOST, "Table with name \"t\" already exists!");
		else
			run(s.con, "COPY FROM DATABASE o TO memory");
		run(s.con, "REFRESH MATERIALIZED VIEW v");
		expect(s.con, "SELECT sum(v) FROM t", "cube", "12497500\n");
		run(s.con, "INSERT INTO t VALUES (1, 1, 500)");
		expect(s.con, "SELECT sum(v) FROM t", "host", "12498000\n");
		rayql_connection *other = NULL;
		assert_int_equal(rayql_connect(s.db, &other, NULL), RAYQL_OK);
		expect(other, "SELECT sum(v) FROM t", "host", "12498000\n");
		rayql_disconnect(other);
		close_session(&s);
	}
}

/* ---- time zones: a view holds one meaning, a session may have another ---- */
#define IN_DAYS "SELECT g, sum(v) FROM z WHERE ts >= '2024-03-12' GROUP BY g ORDER BY g"

static void time_zones(void **state)
{
	static const char *const zones[] = {"UTC", "America/New_York", "Asia/Kathmandu", "UTC"};
	static const char *const queries[] = {
		IN_DAYS,
		"SELECT ts::DATE AS d, sum(v) FROM z GROUP BY d ORDER BY d",
		"SELECT date_trunc('day', ts) AS d, sum(v) FROM z GROUP BY d ORDER BY d",
		"SELECT hour(ts) AS h, sum(v) FROM z GROUP BY h ORDER BY h",
		"SELECT ts::VARCHAR AS t, sum(v) FROM z GROUP BY t ORDER BY t",
		"SELECT sum(v) FROM z WHERE ts < TIMESTAMP '2024-03-12 05:00:00'",
		"SELECT g, sum(v) FROM z WHERE ts::DATE = DATE '2024-03-12' GROUP BY g ORDER BY g",
		"SELECT * FROM days ORDER BY g",
	};
	(void)state;
	struct session s = open_session(NULL, NULL);
	run(s.con, "SET TimeZone = 'UTC'");
	run(s.con, "CREATE TABLE z AS SELECT TIMESTAMPTZ '2024-03-10 00:30:00+00' + INTERVAL (i) HOUR AS ts, i % 3 AS g, "
	           "i AS v FROM range(200) r(i)");
	REFUSED("SELECT ts::DATE AS d, sum(v) FROM z GROUP BY d", "depends on the session's TimeZone");
	REFUSED("SELECT ts::VARCHAR AS d, sum(v) FROM z GROUP BY d", "depends on the session's TimeZone");
	REFUSED("SELECT date_trunc('day', ts) AS d, sum(v) FROM z GROUP BY d", "depends on the session's TimeZone");
	REFUSED("SELECT g, sum(hour(ts)) FROM z GROUP BY g", "depends on the session's TimeZone");
	REFUSED("SELECT g, sum(v) FROM z WHERE ts::DATE = DATE '2024-03-12' GROUP BY g",
	        "depends on the session's TimeZone");
	expect(s.con, "SELECT count(*) FROM rayql_structures()", NULL, "0\n");
	run(s.con, "CREATE MATERIALIZED VIEW moments AS SELECT ts, g, sum(v), count(*) FROM z GROUP BY ts, g");
	run(s.con,
	    "CREATE MATERIALIZED VIEW days AS SELECT g, sum(v), count(*) FROM z WHERE ts >= '2024-03-12' GROUP BY g");
	expect(s.con, IN_DAYS, "cube", NULL);
	run(s.con, "SET rayql_force = on");
	char *utc = rows_of(s.con, IN_DAYS, NULL);
	int cubes = 0, different = 0;
	for (size_t z = 0; z < sizeof zones / sizeof *zones; z++) {
		char sql[64], by[32];
		snprintf(sql, sizeof sql, "SET TimeZone = '%s'", zones[z]);
		run(s.con, sql);
		for (size_t q = 0; q < sizeof queries / sizeof *queries; q++) {
			run(s.con, "SET rayql_enable_cube = off");
			char *want = rows_of(s.con, queries[q], NULL);
			run(s.con, "SET rayql_enable_cube = on");
			free(rows_of(s.con, queries[q], by));
			cubes += strcmp(by, "cube") == 0;
			expect(s.con, queries[q], NULL, want);
			expect(s.con, queries[q], NULL, want); /* and from the plan cache */
			different += q == 0 && strcmp(want, utc) != 0;
			free(want);
		}
	}
	assert_int_equal(different, 2); /* the zones do change the answer */
	assert_true(cubes >= 8);        /* and cubes did take part */
	free(utc);
	/* A view must mean the same to every session: one made under another zone that matters is refused. */
	run(s.con, "SET TimeZone = 'Asia/Kathmandu'");
	REFUSED("SELECT g, sum(v) FROM z WHERE ts >= '2024-03-12' GROUP BY g", "under the default settings");
	close_session(&s);
}

/* ---- files ---- */

/* DuckDB's lock does not keep a process from opening its own file twice, and neither opening would see the other's
 * writes. */
static void a_file_is_opened_once(void **state)
{
	char path[256];
	rayql_database *again = NULL;
	rayql_error *err = NULL;
	rayql_config reading = {.size = sizeof reading, .read_only = true};
	(void)state;
	scratch_path(path, "once.db");
	for (int round = 0; round < 2; round++) { /* a new file, then one that is there */
		struct session s = open_session(path, NULL);
		assert_int_equal(rayql_open(path, NULL, &again, &err), RAYQL_ERROR_IO);
		assert_non_null(strstr(rayql_error_message(err), "open already"));
		rayql_error_free(err);
		err = NULL;
		close_session(&s);
	}
	struct session one = open_session(path, &reading), two = open_session(path, &reading);
	close_session(&one);
	close_session(&two);
}

/* A reader of the file gives up its process's locks on it when it closes it: the side file's check must not. */
static int reads_the_side_file(const char *path)
{
	struct session s = open_session(path, NULL);
	expect(s.con, "SELECT reason FROM rayql_structures() WHERE (SELECT sum(v) FROM t) > 0", NULL, NULL);
	bool ok = tell(ROLE_TELLS) && told(ROLE_HEARS);
	close_session(&s);
	return ok ? 0 : 1;
}

static const struct role roles[] = {{"reads the side file", reads_the_side_file}};

static void the_lock_outlives_the_side_file(void **state)
{
	char path[256];
	(void)state;
	scratch_path(path, "lock.db");
	struct session s = with_view(path);
	close_session(&s);
	struct player other = start_role("reads the side file", path);
	assert_true(told(other.tells));
	rayql_database *db = NULL;
	rayql_error *err = NULL;
	rayql_status opened = rayql_open(path, NULL, &db, &err);
	rayql_close(opened == RAYQL_OK ? db : NULL);
	assert_true(tell(other.hears));
	assert_int_equal(end_role(other), 0);
	assert_int_equal(opened, RAYQL_ERROR_HOST);
	assert_non_null(strstr(rayql_error_message(err), "Could not set lock on file"));
	rayql_error_free(err);
	s = open_session(path, NULL);
	expect(s.con, "SELECT sum(v) FROM t", "cube", "12497500\n");
	expect(s.con, "SELECT reason FROM rayql_structures()", NULL, "read from its side file\n");
	close_session(&s);
}

static void first_cube_file(const char *path, char *out, size_t size)
{
	char folder[300];
	snprintf(folder, sizeof folder, "%s.rayql", path);
	DIR *dir = opendir(folder);
	assert_non_null(dir);
	*out = 0;
	for (struct dirent *e; (e = readdir(dir));)
		if (strstr(e->d_name, ".cube"))
			snprintf(out, size, "%s/%s", folder, e->d_name);
	closedir(dir);
	assert_int_not_equal(*out, 0);
}

/* The query is answered, and why its side file was not used can be read afterwards, too. */
/* Whatever was done to it: its stamp has changed. (What the reader says of damage, unit.cube_build checks.) */
static void side_files_say_what_is_wrong(void **state)
{
	char path[256], file[600];
	(void)state;
	scratch_path(path, "side.db");
	struct session s = with_view(path);
	close_session(&s);
	for (int i = 0; i < 2; i++) {
		first_cube_file(path, file, sizeof file);
		if (i == 0) {
			FILE *f = fopen(file, "r+");
			assert_non_null(f);
			fputs("SomeText", f);
			fclose(f);
		} else {
			assert_int_equal(truncate(file, 1000), 0);
		}
		s = open_session(path, NULL);
		expect(s.con, "SELECT sum(v) FROM t", "cube", "12497500\n");
		char *reason = rows_of(s.con, "SELECT state, reason FROM rayql_structures()", NULL);
		if (!strstr(reason, "ready|built again: its side file was not used: ") ||
		    !strstr(reason, "it is not the file that RayQL left there, or was changed"))
			fail_msg("reason: %s", reason);
		free(reason);
		run(s.con, "REFRESH MATERIALIZED VIEW v");
		expect(s.con, "SELECT state, reason FROM rayql_structures()", NULL, "ready|NULL\n");
		close_session(&s);
	}
}

int main(int argc, char **argv)
{
	int status = play_role(argc, argv, roles, 1);
	if (status >= 0)
		return status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_and_ambiguous_columns),
		cmocka_unit_test(aggregates_that_cannot_be_derived),
		cmocka_unit_test(files_are_refused),
		cmocka_unit_test(no_view_is_the_reason),
		cmocka_unit_test(too_many_dimensions),
		cmocka_unit_test(nonsense),
		cmocka_unit_test(parameters_that_are_no_text),
		cmocka_unit_test(copying_a_database_ends_its_transaction),
		cmocka_unit_test(time_zones),
		cmocka_unit_test(a_file_is_opened_once),
		cmocka_unit_test(the_lock_outlives_the_side_file),
		cmocka_unit_test(side_files_say_what_is_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
