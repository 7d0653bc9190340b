/* Scalar subqueries that depend on no row: constants of the plan. Every answer is DuckDB's, on the CPU and by compute, for
 * every type and place, of no rows and of NULL, in groups' conditions, after the table has changed, and where one fails. */
#include "check.h"
#include "device.h"

static struct session scalar_session(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con,
	    "CREATE TABLE t AS SELECT (hash(i) % 300)::INTEGER k, CASE WHEN i % 7 = 0 THEN NULL ELSE (hash(i * 3) % 2000)::INTEGER - 1000 END v, "
	    "((hash(i * 5) % 100000)::BIGINT - 50000)::DECIMAL(15, 2) m, (hash(i * 7) % 90)::DOUBLE / 8 d, "
	    "DATE '2019-01-01' + (hash(i * 11) % 90)::INTEGER a, 's' || (hash(i * 13) % 70) s, i % 3 = 0 b, "
	    "(hash(i * 17) % 1000)::INTEGER q, TIMESTAMP '2020-01-01' + INTERVAL (i) MINUTE x FROM range(20000) r(i)");
	run(s.con, "CREATE TABLE u AS SELECT (hash(i * 19) % 400)::INTEGER k, (i % 50)::INTEGER n FROM range(3000) r(i)");
	run(s.con, "CREATE TABLE none AS SELECT * FROM t LIMIT 0");
	run(s.con, "CREATE INDEX ct ON t USING columns (*); CREATE INDEX cu ON u USING columns (*); CREATE INDEX cn ON none USING columns (*)");
	return s;
}

static void same_at(rayql_connection *con, const char *sql, bool constant, int line)
{
	char text[2048];
	run(con, "SET rayql_enable_scan = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on");
	expect_at(con, sql, "scan", want, __FILE__, line);
	expect_at(con, sql, "scan", want, __FILE__, line); /* from the plan cache */
	snprintf(text, sizeof text, "EXPLAIN %s", sql);
	char *explain = rows_of(con, text, NULL);
	if (constant != (strstr(explain, "scalar subqueries as constants") != NULL))
		fail_msg("line %d: %s\n%s", line, sql, explain);
	free(explain);
	free(want);
}
#define same(con, sql) same_at(con, sql, true, __LINE__)

static size_t step; /* of comparisons: on a device every second one, since each is kernels there, but makes no other plan */

/* Beside every comparison, of every type, and in every place of a query. */
static void places(rayql_connection *con)
{
	char sql[512];
	const char *names[] = {"<", "<=", "=", "<>", ">", ">="};
	for (size_t i = 0; i < sizeof names / sizeof *names; i += step) {
		snprintf(sql, sizeof sql, "SELECT k, count(*), sum(m) FROM t WHERE v %s (SELECT max(n) FROM u) GROUP BY k ORDER BY ALL", names[i]);
		same(con, sql);
		snprintf(sql, sizeof sql, "SELECT count(*), sum(v) FROM t WHERE (SELECT avg(m) FROM t WHERE q < 500) %s m", names[i]);
		same(con, sql);
	}
	same(con, "SELECT count(*), min(v) FROM t WHERE d > (SELECT avg(d) FROM t)");
	same(con, "SELECT count(*), min(v) FROM t WHERE m > (SELECT sum(m) / 20000 FROM t)");
	same(con, "SELECT count(*), min(v) FROM t WHERE a >= (SELECT max(a) - 7 FROM t WHERE b)");
	same(con, "SELECT count(*), min(v) FROM t WHERE s = (SELECT max(s) FROM t WHERE v < 0)");
	same(con, "SELECT count(*), min(v) FROM t WHERE x < (SELECT max(x) FROM t WHERE v < 0)");
	same(con, "SELECT count(*), min(v) FROM t WHERE b = (SELECT bool_or(b) FROM (SELECT v > 5 b FROM t)) OR k > 5");
	same(con, "SELECT count(*), min(v) FROM t WHERE q BETWEEN (SELECT min(n) + 10 FROM u) AND (SELECT max(n) * 5 FROM u)");
	same(con, "SELECT k, count(*), (SELECT count(*) FROM u) n FROM t GROUP BY k ORDER BY ALL");
	same(con, "SELECT k, sum(v) * (SELECT max(n) FROM u) FROM t GROUP BY k ORDER BY ALL");
	same(con, "SELECT k, sum(v + (SELECT max(n) FROM u)) FROM t WHERE k < 20 GROUP BY k ORDER BY ALL");
	same(con, "SELECT k, v, (SELECT max(s) FROM t) z FROM t WHERE m > (SELECT max(m) - 20 FROM t) ORDER BY ALL");
	same(con, "SELECT count(*) FROM t, u WHERE t.k = u.k AND v > (SELECT avg(n) FROM u WHERE n > (SELECT min(n) FROM u))");
	same(con, "SELECT count(*) FROM t WHERE v > (SELECT avg(n) FROM u) AND NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)");
}

/* Conditions of groups, whose sums are cast to what the constant's type is. */
static void groups(rayql_connection *con)
{
	char sql[512];
	const char *names[] = {"<", "<=", "=", ">", ">="};
	for (size_t i = 0; i < sizeof names / sizeof *names; i += step) {
		snprintf(sql, sizeof sql,
		         "SELECT k, sum(m * q) z FROM t GROUP BY k HAVING sum(m * q) %s (SELECT sum(m * q) * 0.0033333333 FROM t) ORDER BY ALL",
		         names[i]);
		same(con, sql);
		snprintf(sql, sizeof sql, "SELECT k, sum(m * q) z FROM t GROUP BY k HAVING sum(m * q) %s (SELECT -1.005 * max(m * q) FROM t WHERE m < 0) ORDER BY ALL",
		         names[i]);
		same(con, sql);
		snprintf(sql, sizeof sql, "SELECT k, sum(m * q) z FROM t GROUP BY k HAVING CAST(sum(m * q) AS DECIMAL(38, 7)) %s "
		         "(SELECT CAST(sum(m * q) AS DECIMAL(38, 7)) FROM t WHERE k = 77) ORDER BY ALL", names[i]);
		same(con, sql);
	}
	same(con, "SELECT k, count(*) FROM t GROUP BY k HAVING count(*) > (SELECT count(*) / 290 FROM t) ORDER BY ALL");
}

/* No rows, NULL, and what never holds. */
static void nothing(rayql_connection *con)
{
	same(con, "SELECT count(*), sum(v) FROM t WHERE v > (SELECT count(*) FROM none)");
	same(con, "SELECT k, count(*), (SELECT max(v) FROM t WHERE k < 0) z FROM t GROUP BY k ORDER BY ALL");
	same(con, "SELECT count(*), sum(v) FROM t WHERE v > (SELECT max(v) FROM t WHERE k < 0) OR k = 5");
	same(con, "SELECT count(*), sum(v) FROM t WHERE v IS NOT DISTINCT FROM (SELECT max(v) FROM t WHERE k < 0)");
}

/* Errors are DuckDB's, and two rows beside each other are no work of planning. */
static void others(rayql_connection *con)
{
	fails(con, "SELECT count(*) FROM t WHERE v > (SELECT n FROM u)", RAYQL_ERROR_HOST, "More than one row");
	fails(con, "SELECT count(*) FROM t WHERE v > (SELECT sum(CAST(s AS INTEGER)) FROM t)", RAYQL_ERROR_HOST, "convert string");
	fails(con, "SELECT count(*) FROM t WHERE v::TINYINT > (SELECT max(n) FROM u)", RAYQL_ERROR_HOST, "TINYINT");
	same_at(con, "SELECT (SELECT count(*) FROM t WHERE v > 3) a, (SELECT sum(n) FROM u) b", false, __LINE__);
	same_at(con, "SELECT count(*) FROM t WHERE v > (SELECT max(n) FROM u WHERE u.k = t.k)", false, __LINE__);
}

/* DuckDB's answer, whoever gives it. */
static void right(rayql_connection *con, const char *sql)
{
	run(con, "SET rayql_enable_scan = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on");
	char *have = rows_of(con, sql, NULL);
	assert_string_equal(have, want);
	free(have);
	free(want);
}

/* A plan that is kept holds the value of the tables as they were. */
static void changes(rayql_connection *con)
{
	const char *sql = "SELECT count(*), sum(v) FROM t WHERE v < (SELECT max(n) FROM u)";
	const char *steps[] = {"INSERT INTO u VALUES (1, 900)", "BEGIN; DELETE FROM u WHERE n = 900", "ROLLBACK",
	                       "UPDATE u SET n = 300 WHERE n = 900", "DELETE FROM u"};
	same(con, sql);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		run(con, steps[i]);
		right(con, sql);
		if (i == 1) /* inside the transaction */
			continue;
		run(con, "REFRESH INDEX cu");
		same(con, sql);
	}
}

static void everywhere(const char *unit)
{
	struct session s = scalar_session();
	if (strcmp(unit, "cpu") != 0)
		use(s.con, unit);
	else
		run(s.con, "SET rayql_unit = 'cpu'; SET rayql_force = on");
	step = !strcmp(unit, "cpu") || is_long() ? 1 : 2;
	places(s.con);
	groups(s.con);
	nothing(s.con);
	others(s.con);
	changes(s.con);
	close_session(&s);
}

static void test_on_the_cpu(void **state)
{
	(void)state;
	everywhere("cpu");
}

static void test_by_compute(void **state)
{
	(void)state;
	left_to_release();
	if (!has_unit("compute"))
		skip();
	everywhere("compute");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_on_the_cpu), cmocka_unit_test(test_by_compute)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
