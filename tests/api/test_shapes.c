/* Statements that differ in their values: bound by DuckDB once, planned by RayQL for each, and never taken for one
 * another where a value decides more than a condition. */
#include "check.h"

static struct session with_columns(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con, "CREATE TABLE t AS SELECT i::INTEGER AS i, (i % 100)::SMALLINT AS k, (i % 7)::TINYINT AS y, "
	           "(i / 100)::DECIMAL(9, 2) AS m, DATE '1992-01-01' + (i % 2500)::INTEGER AS d, 's' || (i % 50) AS s "
	           "FROM range(20000) r(i)");
	run(s.con, "CREATE INDEX c ON t USING columns (*)");
	run(s.con, "SET rayql_force = on");
	return s;
}

/* DuckDB's rows for the same text. */
static char *by_host(struct session *s, const char *sql)
{
	run(s->con, "SET rayql_enable_scan = off");
	char *rows = rows_of(s->con, sql, NULL);
	run(s->con, "SET rayql_enable_scan = on");
	return rows;
}

static bool was_bound(struct session *s)
{
	rayql_query_info info = {.size = sizeof info};
	assert_int_equal(rayql_last_query(s->con, &info), RAYQL_OK);
	return info.plan_bound;
}

#define ask(s, sql, bound) ask_at(s, sql, bound, __LINE__)
static void ask_at(struct session *s, const char *sql, bool bound, int line)
{
	char method[32];
	char *have = rows_of(s->con, sql, method);
	if (strcmp(method, "scan") != 0 || was_bound(s) != bound)
		fail_msg("line %d: %s\nby %s, plan_bound %d", line, sql, method, !bound);
	struct session other = {.db = s->db};
	assert_int_equal(rayql_connect(s->db, &other.con, NULL), RAYQL_OK);
	char *want = by_host(&other, sql);
	if (strcmp(have, want) != 0)
		fail_msg("line %d: %s\nhave:\n%swant:\n%s", line, sql, have, want);
	rayql_disconnect(other.con);
	free(have);
	free(want);
}

static void values_of_conditions(void **state)
{
	struct session s = with_columns();
	(void)state;
	ask(&s, "SELECT k, sum(i) FROM t WHERE i BETWEEN 1000 AND 5000 GROUP BY k ORDER BY k", false);
	ask(&s, "SELECT k, sum(i) FROM t WHERE i BETWEEN 2000 AND 9000 GROUP BY k ORDER BY k", false); /* proves both */
	ask(&s, "SELECT k, sum(i) FROM t WHERE i BETWEEN 2001 AND 9001 GROUP BY k ORDER BY k", true);
	ask(&s, "SELECT k, sum(i) FROM t WHERE i BETWEEN 9000 AND 2000 GROUP BY k ORDER BY k", true); /* empty */
	ask(&s, "SELECT  k, sum(i) FROM t -- as before\n WHERE i BETWEEN 3000 AND 3001 GROUP BY k ORDER BY k", true);
	ask(&s, "SELECT count(*) FROM t WHERE d >= DATE '1994-01-01' AND d < '1995-01-01' AND s LIKE 's1%'", false);
	ask(&s, "SELECT count(*) FROM t WHERE d >= DATE '1992-06-30' AND d < '1999-12-31' AND s LIKE '%2'", false);
	ask(&s, "SELECT count(*) FROM t WHERE d >= DATE '1993-06-30' AND d < '1996-12-31' AND s LIKE '_3%'", true);
	ask(&s, "SELECT max(i) FROM t WHERE m > 1.25 AND s IN ('s1', 's2') AND k <> 7 HAVING count(*) > 3", false);
	ask(&s, "SELECT max(i) FROM t WHERE m > 9.99 AND s IN ('s7', 'it''s') AND k <> 0 HAVING count(*) > 9", false);
	ask(&s, "SELECT max(i) FROM t WHERE m > 2.50 AND s IN ('s3', 's4') AND k <> 1 HAVING count(*) > 5", true);
	ask(&s, "SELECT count(*) FROM t WHERE k > -5", false);
	ask(&s, "SELECT count(*) FROM t WHERE k > -1", false);
	ask(&s, "SELECT count(*) FROM t WHERE k>-7", true);
	/* only what has differed may differ */
	ask(&s, "SELECT count(*) FROM t WHERE k > 10 AND y < 3", false);
	ask(&s, "SELECT count(*) FROM t WHERE k > 20 AND y < 3", false);
	ask(&s, "SELECT count(*) FROM t WHERE k > 30 AND y < 3", true);
	ask(&s, "SELECT count(*) FROM t WHERE k > 30 AND y < 4", false);
	ask(&s, "SELECT count(*) FROM t WHERE k > 40 AND y < 5", true);
	/* an answer of its own for each, also when all come again */
	for (int again = 0; again < 2; again++)
		for (int i = 0; i < 40; i++) {
			char sql[200], want[64];
			snprintf(sql, sizeof sql, "SELECT count(*), min(i) FROM t WHERE i > %d AND i <= %d", 10000 + i, 10100 + 3 * i);
			snprintf(want, sizeof want, "%d|%d\n", 100 + 2 * i, 10001 + i);
			expect(s.con, sql, "scan", want);
			assert_true(again || i < 2 || was_bound(&s));
		}
	close_session(&s);
}

/* Types that the binder chooses by the value. */
static void values_of_other_types(void **state)
{
	struct session s = with_columns();
	(void)state;
	ask(&s, "SELECT count(*) FROM t WHERE y < 5", false);
	ask(&s, "SELECT count(*) FROM t WHERE y < 6", false);
	ask(&s, "SELECT count(*) FROM t WHERE y < 4", true);
	ask(&s, "SELECT count(*) FROM t WHERE y < 127", false);
	ask(&s, "SELECT count(*) FROM t WHERE y < 128", false);
	ask(&s, "SELECT count(*) FROM t WHERE y < 300", false);
	ask(&s, "SELECT count(*) FROM t WHERE y < 70000", false);
	ask(&s, "SELECT count(*) FROM t WHERE y < 3000000000", false);
	ask(&s, "SELECT count(*) FROM t WHERE y < 1.5", false);
	ask(&s, "SELECT count(*) FROM t WHERE y < 1.50", false);
	ask(&s, "SELECT count(*) FROM t WHERE y < 2.75", false);
	ask(&s, "SELECT count(*) FROM t WHERE y < 0.00", true);
	ask(&s, "SELECT count(*) FROM t WHERE y < '5'", false);
	ask(&s, "SELECT count(*) FROM t WHERE y < '6'", false);
	ask(&s, "SELECT count(*) FROM t WHERE y < '42'", true);
	fails(s.con, "SELECT count(*) FROM t WHERE y < 'many'", RAYQL_ERROR_HOST, "Could not convert string 'many' to INT8");
	fails(s.con, "SELECT count(*) FROM t WHERE d < 'never'", RAYQL_ERROR_HOST, "never");
	/* Nothing is read, and nothing can be planned. */
	run(s.con, "SET rayql_fallback = 'off'");
	fails(s.con, "SELECT CAST('hello' AS INTEGER)", RAYQL_ERROR_HOST, "Could not convert string 'hello' to INT32");
	fails(s.con, "SELECT 1000::UTINYINT", RAYQL_ERROR_HOST, "UINT8");
	fails(s.con, "SELECT currval('nowhere')", RAYQL_ERROR_HOST, "nowhere");
	close_session(&s);
}

static void values_that_decide_more(void **state)
{
	static const char *const pairs[][2] = {
		{"SELECT k + 5 FROM t WHERE i = 20 ORDER BY 1", "SELECT k + 6 FROM t WHERE i = 20 ORDER BY 1"},
		{"SELECT k, y FROM t WHERE i < 9 ORDER BY 1, 2", "SELECT k, y FROM t WHERE i < 9 ORDER BY 2, 1"},
		{"SELECT i FROM t WHERE k = 5 ORDER BY i LIMIT 3", "SELECT i FROM t WHERE k = 5 ORDER BY i LIMIT 4"},
		{"SELECT k, y, count(*) FROM t GROUP BY 1, 2 ORDER BY ALL", "SELECT y, k, count(*) FROM t GROUP BY 2, 1 ORDER BY ALL"},
		{"SELECT sum(round(m, 1)) FROM t", "SELECT sum(round(m, 2)) FROM t"},
		{"SELECT count(*) FROM t WHERE round(m, 1) = 3", "SELECT count(*) FROM t WHERE round(m, 0) = 3"},
		{"SELECT min(i) FROM t WHERE date_trunc('month', d) = d", "SELECT min(i) FROM t WHERE date_trunc('year', d) = d"},
		{"SELECT sum(i) FILTER (WHERE k = 5) FROM t", "SELECT sum(i) FILTER (WHERE k = 6) FROM t"},
		{"SELECT sum(CASE WHEN k = 5 THEN i END) FROM t", "SELECT sum(CASE WHEN k = 6 THEN i END) FROM t"},
		{"SELECT k + 5, count(*) FROM t GROUP BY k + 5 HAVING k + 5 > 9 ORDER BY 1",
	     "SELECT k + 5, count(*) FROM t GROUP BY k + 5 HAVING k + 5 > 8 ORDER BY 1"},
	};
	struct session s = with_columns();
	(void)state;
	for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
		for (int round = 0; round < 4; round++) {
			char *want = by_host(&s, pairs[p][round & 1]);
			expect(s.con, pairs[p][round & 1], NULL, want);
			free(want);
		}
	close_session(&s);
}

/* A column is called as the statement's text says. */
static void names(void **state)
{
	static const char *const texts[] = {
		"SELECT (SELECT max(k) FROM t WHERE k < 50) FROM t WHERE i < 2",
		"SELECT (SELECT max(k) FROM t WHERE k < 60) FROM t WHERE i < 3",
		"SELECT count(*) FILTER (WHERE k = 55) FROM t",
		"SELECT count(*) FILTER (WHERE k = 66) FROM t",
		"SELECT sum(i) FROM t WHERE k = 55",
		"SELECT sum(i) FROM t WHERE k = 66",
	};
	struct session s = with_columns();
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		rayql_result *mine = NULL, *host = NULL;
		assert_int_equal(rayql_query(s.con, texts[i], &mine, NULL), RAYQL_OK);
		char *name = strdup(rayql_column_name(mine, 0));
		rayql_result_free(mine);
		run(s.con, "SET rayql_enable_scan = off");
		assert_int_equal(rayql_query(s.con, texts[i], &host, NULL), RAYQL_OK);
		assert_string_equal(name, rayql_column_name(host, 0));
		rayql_result_free(host);
		run(s.con, "SET rayql_enable_scan = on");
		free(name);
	}
	close_session(&s);
}

/* Places in a view's long text may be those of the statement's literals: of one binding, but not of the next. */
static void long_views(void **state)
{
	struct session s = with_columns();
	char sql[9000], asked[9000], want[32];
	int length = snprintf(sql, sizeof sql, "CREATE VIEW v AS SELECT * FROM t WHERE %*s", 8000, "true");
	(void)state;
	/* the view's 55 at every place that an offset may lead to */
	for (int at = 300; at + 20 < length - 8; at += 20)
		memcpy(sql + at, " i <> 55 AND      ", 18);
	memcpy(sql + 38, "                  ", 18);
	run(s.con, sql);
	for (int i = 0; i < 300; i++) {
		int value = 56 + i % 40;
		length = snprintf(asked, sizeof asked, "SELECT count(*) FROM v WHERE true AND %*s", i % 20, "");
		snprintf(asked + length, sizeof asked - (size_t)length, "i <> %d", i & 1 ? value : 55);
		snprintf(want, sizeof want, "%d\n", i & 1 ? 19998 : 19999);
		expect(s.con, asked, NULL, want);
	}
	close_session(&s);
}

/* DuckDB's optimiser fails at such constants, RayQL does not. */
static void infinite_dates(void **state)
{
	struct session s = with_columns();
	(void)state;
	for (int i = 1; i < 5; i++) {
		char sql[100];
		snprintf(sql, sizeof sql, "SELECT count(*) FROM t WHERE d < TIMESTAMP '199%d-01-01'", i);
		ask(&s, sql, i > 2);
	}
	static const char *const infinite[] = {"SELECT count(*) FROM t WHERE d < TIMESTAMP 'infinity'",
	                                       "SELECT count(*) FROM t WHERE d < TIMESTAMP '-Infinity'"};
	for (int i = 0; i < 2; i++)
		if (host_is_2())
			expect(s.con, infinite[i], NULL, i ? "0\n" : NULL);
		else
			fails(s.con, infinite[i], RAYQL_ERROR_HOST, "infinite");
	close_session(&s);
}

/* Texts of others, whose constants have places of their own; and what changes between two statements. */
static void changes(void **state)
{
	struct session s = with_columns();
	(void)state;
	run(s.con, "CREATE VIEW v AS SELECT * FROM t WHERE k <> 5 AND k <> 6");
	run(s.con, "CREATE MACRO m(x) AS x + 5");
	run(s.con, "CREATE TABLE g (a INTEGER, b AS (a + 5)); INSERT INTO g(a) SELECT range FROM range(1000)");
	run(s.con, "CREATE INDEX gc ON g USING columns (*)");
	ask(&s, "SELECT count(*) FROM v WHERE k <> 5 AND k <> 7", false);
	ask(&s, "SELECT count(*) FROM v WHERE k <> 8 AND k <> 9", false);
	ask(&s, "SELECT count(*) FROM v WHERE k <> 3 AND k <> 4", true);
	ask(&s, "SELECT count(*) FROM t WHERE m(k) = 55", false);
	ask(&s, "SELECT count(*) FROM t WHERE m(k) = 66", false);
	ask(&s, "SELECT count(*) FROM t WHERE m(k) = 44", true);
	ask(&s, "SELECT sum(a) FROM g WHERE b = 5", false);
	ask(&s, "SELECT sum(a) FROM g WHERE b = 9", false);
	ask(&s, "SELECT sum(a) FROM g WHERE b = 7", true);
	ask(&s, "SELECT count(*) FROM t WHERE k = 11", false);
	run(s.con, "INSERT INTO t SELECT * FROM t WHERE k = 12");
	expect(s.con, "SELECT count(*) FROM t WHERE k = 12", NULL, "400\n");
	run(s.con, "ALTER TABLE t RENAME k TO kk; ALTER TABLE t RENAME y TO k; REFRESH INDEX c");
	expect(s.con, "SELECT count(*) FROM t WHERE k = 13", NULL, "0\n");
	run(s.con, "CREATE OR REPLACE MACRO m(x) AS x + 50");
	expect(s.con, "SELECT count(*) FROM t WHERE m(kk) = 77", NULL, "200\n");
	run(s.con, "CREATE OR REPLACE VIEW v AS SELECT *, kk AS kkk FROM t WHERE kk > 90");
	expect(s.con, "SELECT count(*) FROM v WHERE kk <> 1 AND kk <> 2", NULL, "1800\n");
	run(s.con, "SET default_collation = 'NOCASE'");
	expect(s.con, "SELECT count(*) FROM t WHERE s = 'S1'", NULL, "400\n");
	static const char *const late[] = {"EXCEPT", "INTERSECT"}; /* the collation is put where the plan does not show it */
	for (int i = 0; i < 2; i++) {
		char sql[160];
		snprintf(sql, sizeof sql, "EXPLAIN SELECT count(*) FROM (SELECT s FROM t WHERE kk < 50 %s SELECT upper(s) FROM t)", late[i]);
		char *plan = rows_of(s.con, sql, NULL);
		assert_non_null(strstr(plan, "default_collation"));
		free(plan);
	}
	run(s.con, "SET default_collation = ''");
	expect(s.con, "SELECT count(*) FROM t WHERE s = 'S2'", NULL, "0\n");
	run(s.con, "BEGIN; CREATE TEMP TABLE t AS SELECT 3 AS k");
	expect(s.con, "SELECT count(*) FROM t WHERE k = 3", NULL, "1\n");
	run(s.con, "ROLLBACK");
	expect(s.con, "SELECT count(*) > 1 FROM t WHERE k = 3", NULL, "true\n");
	close_session(&s);
}

/* A text alone has no values for parameters: what DuckDB says when it is to run it. */
static void parameters_without_values(void **state)
{
	struct session s = with_columns();
	(void)state;
	const char *none = host_is_2() ? "Values were not provided for the following parameters: 1"
	                               : "Expected 1 parameters, but none were supplied";
	fails(s.con, "SELECT count(*) FROM t WHERE k = ?", RAYQL_ERROR_HOST, none);
	fails(s.con, "CREATE TABLE u (i INTEGER CHECK (i > $1))", RAYQL_ERROR_HOST, none);
	run(s.con, "PREPARE counted AS SELECT count(*) FROM t WHERE k = $1");
	expect(s.con, "EXECUTE counted(5)", "host", "200\n");
	close_session(&s);
}

/* The host finishes over a table that RayQL does not hold: the values go into its SQL when the plan runs. */
static void values_for_the_host(void **state)
{
	struct session s = with_columns();
	(void)state;
	run(s.con, "CREATE TABLE u AS SELECT (i % 16)::INTEGER AS k, 'text number ' || (i % 5) AS h FROM range(20) r(i)");
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 6; i++) {
			char sql[200], want[32];
			snprintf(sql, sizeof sql, "SELECT count(*) FROM (SELECT u.k FROM u JOIN t ON u.k = t.i WHERE h < 'text number %d')", i);
			snprintf(want, sizeof want, "%d\n", 4 * i);
			expect(s.con, sql, NULL, want);
		}
	close_session(&s);
}

static void parameters(void **state)
{
	struct session s = with_columns();
	rayql_statement *stmt = NULL;
	(void)state;
	assert_int_equal(rayql_prepare(s.con, "SELECT count(*) AS n FROM t WHERE i >= ? AND i < ? AND d > ? AND m >= ?", &stmt, NULL),
	                 RAYQL_OK);
	for (int i = 0; i < 60; i++) {
		char want[32];
		rayql_result *res = NULL;
		assert_int_equal(rayql_bind_int64(stmt, 1, 4000 + i), RAYQL_OK);
		assert_int_equal(rayql_bind_int64(stmt, 2, 5000 + 2 * i), RAYQL_OK);
		assert_int_equal(rayql_bind_text(stmt, 3, i & 1 ? "1991-12-31" : "1990-05-05", 10), RAYQL_OK);
		assert_int_equal(rayql_bind_double(stmt, 4, -0.5 * i), RAYQL_OK);
		assert_int_equal(rayql_execute(stmt, &res, NULL), RAYQL_OK);
		assert_string_equal(rayql_result_method(res), "scan");
		assert_string_equal(rayql_column_name(res, 0), "n");
		char *rows = read_rows(res, NULL);
		snprintf(want, sizeof want, "%d\n", 1000 + i);
		assert_string_equal(rows, want);
		free(rows);
		assert_true(i < 2 || was_bound(&s));
	}
	rayql_statement_free(stmt);
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_conditions), cmocka_unit_test(values_of_other_types),
		cmocka_unit_test(values_that_decide_more), cmocka_unit_test(names), cmocka_unit_test(changes),
		cmocka_unit_test(parameters), cmocka_unit_test(values_for_the_host),
		cmocka_unit_test(long_views), cmocka_unit_test(infinite_dates),
		cmocka_unit_test(parameters_without_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
