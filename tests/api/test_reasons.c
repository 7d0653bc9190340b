/* Why DuckDB answers: the reason names what of the query is in the way, and of structures only those over its tables. */
#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct session reasons_session(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con, "SET rayql_force = on; SET rayql_fallback = 'notice'");
	run(s.con, "CREATE TABLE t AS SELECT i AS id, (i % 10)::INTEGER AS k, (i % 1000)::INTEGER AS a, 'name ' || (i % 7) AS s, "
	           "to_days((i % 30)::INTEGER) AS iv, [i] AS l, i::BIT AS bits, DATE '2020-01-01' + (i % 9)::INTEGER AS d "
	           "FROM range(20000) AS r(i)");
	run(s.con, "CREATE TABLE u AS SELECT i AS id, (i % 3)::INTEGER AS w, to_days((i % 3)::INTEGER) AS iv FROM range(30) AS r(i)");
	run(s.con, "CREATE TABLE other AS SELECT i AS id, (i % 10)::INTEGER AS k, (i % 3)::INTEGER AS a FROM range(100) AS r(i)");
	return s;
}

/* DuckDB answers; the reason holds `why` and, when given, not `never`. The same words are in EXPLAIN. */
#define because(con, sql, why, never) because_at(con, sql, why, never, __FILE__, __LINE__)
static void because_at(rayql_connection *con, const char *sql, const char *why, const char *never, const char *file, int line)
{
	rayql_query_info info = {.size = sizeof info};
	char explain[512];
	snprintf(explain, sizeof explain, "EXPLAIN %s", sql);
	run(con, sql);
	assert_int_equal(rayql_last_query(con, &info), RAYQL_OK);
	bool ok = strcmp(info.method, "host") == 0 && strstr(info.reason, why) && !(never && strstr(info.reason, never));
	if (!ok)
		print_error("%s:%d: %s\nhave: %s: %s\nwant: ...%s...\n", file, line, sql, info.method, info.reason, why);
	_assert_true(ok, sql, file, line);
	char *text = rows_of(con, explain, NULL);
	ok = strstr(text, why) != NULL;
	if (!ok)
		print_error("%s:%d: %s\nhave: %.500s\nwant: ...%s...\n", file, line, explain, text, why);
	free(text);
	_assert_true(ok, sql, file, line);
}

/* No structure would help, so neither its absence nor what one lacks is the reason. */
static void aggregates_nobody_computes(void **state)
{
	static const char *const queries[][2] = {
		{"SELECT string_agg(s, ',') FROM t", "no structure computes string_agg(VARCHAR, VARCHAR)"},
		{"SELECT first(a) FROM t", "no structure computes first(INTEGER)"},
		{"SELECT list(a) FROM t", "no structure computes an aggregate that RayQL does not know: list"},
		{"SELECT k, mode(a) FROM t GROUP BY k", "no structure computes mode(INTEGER)"},
		{"SELECT sum(a), median(a) FROM t WHERE k = 3", "no structure computes median(INTEGER)"},
		{"SELECT sum(a ORDER BY s) FROM t", "no structure computes sum(INTEGER) with an ORDER BY clause"},
		{"SELECT w, sum(a), string_agg(s, ',') FROM t JOIN u USING (id) GROUP BY w", "no structure computes string_agg"},
		{"SELECT max(l) FROM t", "no structure computes an aggregate that gives a nested or rare type: max"},
	};
	static const char *const worlds[] = {
		"SET rayql_auto_columns = off", /* nothing is there */
		"SET rayql_auto_columns = on",
		"SET rayql_auto_columns = off; CREATE MATERIALIZED VIEW om AS SELECT k, sum(a), count(*) FROM other GROUP BY k; "
		"CREATE INDEX oc ON other USING columns (*)",
		"CREATE MATERIALIZED VIEW tm AS SELECT k, s, sum(a), count(*) FROM t GROUP BY k, s",
		"INSERT INTO t SELECT * FROM t LIMIT 1", /* which makes tm stale: no refresh would help */
	};
	struct session s = reasons_session();
	(void)state;
	for (size_t w = 0; w < COUNT(worlds); w++) {
		run(s.con, worlds[w]);
		for (size_t i = 0; i < COUNT(queries); i++)
			because(s.con, queries[i][0], queries[i][1], "no columns index");
	}
	because(s.con, "SELECT k, sum(a) FROM t GROUP BY k", "tm: stale", NULL);
	close_session(&s);
}

/* A view that refreshes itself is not built for a query that it cannot serve. */
static void refreshed_in_vain(void **state)
{
	struct session s = reasons_session();
	(void)state;
	run(s.con, "CREATE MATERIALIZED VIEW tm WITH (refresh = auto) AS SELECT k, sum(a), count(*) FROM t GROUP BY k");
	run(s.con, "INSERT INTO t SELECT * FROM t LIMIT 1");
	because(s.con, "SELECT k, mode(a) FROM t GROUP BY k", "no structure computes mode", "stale");
	expect(s.con, "SELECT state FROM rayql_structures()", NULL, "stale\n");
	expect(s.con, "SELECT sum(a) FROM t WHERE k = 3", "cube", NULL);
	close_session(&s);
}

/* The defaults plan nothing where there is nothing; EXPLAIN looks for the cause all the same. */
static void explained_by_default(void **state)
{
	struct session s = reasons_session();
	(void)state;
	run(s.con, "RESET rayql_fallback");
	char *text = rows_of(s.con, "EXPLAIN SELECT string_agg(s, ',') FROM t", NULL);
	assert_non_null(strstr(text, "no structure computes string_agg(VARCHAR, VARCHAR)"));
	free(text);
	text = rows_of(s.con, "EXPLAIN SELECT sum(a) FROM t", NULL);
	assert_non_null(strstr(text, "there is no materialized view and no columns index"));
	free(text);
	expect(s.con, "SELECT value FROM duckdb_settings() WHERE name = 'rayql_fallback'", NULL, "on\n");
	close_session(&s);
}

/* Structures over other tables are not named, whichever there are. */
static void unrelated_structures(void **state)
{
	struct session s = reasons_session();
	(void)state;
	run(s.con, "CREATE SCHEMA z; CREATE TABLE z.t AS FROM t");
	run(s.con, "CREATE MATERIALIZED VIEW om AS SELECT k, sum(a), count(*) FROM other GROUP BY k");
	run(s.con, "CREATE MATERIALIZED VIEW zm AS SELECT k, sum(a), count(*) FROM z.t GROUP BY k");
	run(s.con, "CREATE INDEX oc ON other USING columns (*)");
	because(s.con, "SELECT k, sum(a) FROM t GROUP BY k", "no materialized view and no columns index is of table t", "om:");
	because(s.con, "SELECT max(x) FROM (SELECT k, sum(a) AS x FROM t GROUP BY k)",
	        "no materialized view and no columns index is of table t", "lies below");
	because(s.con, "SELECT w, sum(a) FROM t JOIN u USING (id) GROUP BY w",
	        "no materialized view and no columns index is of table t or u", NULL);
	because(s.con, "SELECT a FROM t WHERE k = 3 ORDER BY id LIMIT 3", "no columns index is of table t", NULL);
	because(s.con, "SELECT sum(n) FROM (SELECT count(*) OVER () AS n FROM t)", "a window function lies below the aggregate", "om:");
	/* One over some of the tables is related, one over all of them more so. */
	run(s.con, "CREATE MATERIALIZED VIEW tm AS SELECT k, sum(a), count(*) FROM t GROUP BY k");
	because(s.con, "SELECT w, sum(a) FROM t JOIN u USING (id) GROUP BY w", "tm: the query joins tables that it does not", NULL);
	run(s.con, "CREATE MATERIALIZED VIEW um AS SELECT s, sum(a), count(*) FROM t JOIN u USING (id) GROUP BY s");
	because(s.con, "SELECT w, sum(a) FROM t JOIN u USING (id) GROUP BY w", "um: column w is no dimension of it", "tm:");
	because(s.con, "SELECT d, sum(a) FROM t GROUP BY d", "tm: column d is no dimension of it", "um:");
	expect(s.con, "SELECT sum(a) FROM t WHERE k = 4", "cube", NULL);
	close_session(&s);
}

static void intervals(void **state)
{
	static const char *const queries[][2] = {
		{"SELECT count(*) FROM t WHERE iv > INTERVAL 3 DAY", "no structure holds column iv (INTERVAL)"},
		{"SELECT iv, count(*) FROM t GROUP BY iv", "no structure holds column iv (INTERVAL)"},
		{"SELECT k, avg(a), min(iv) FROM t WHERE d > DATE '2020-01-03' GROUP BY k", "no structure holds column iv (INTERVAL)"},
		{"SELECT count(iv), count(DISTINCT iv) FROM t", "no structure holds column iv (INTERVAL)"},
		{"SELECT CASE WHEN iv > INTERVAL 3 DAY THEN 1 ELSE 0 END AS c, sum(a) FROM t GROUP BY c", "column iv (INTERVAL)"},
		{"SELECT sum(date_part('day', iv)) FROM t", "no structure holds column iv (INTERVAL)"},
		{"SELECT id, iv FROM t WHERE a < 5 ORDER BY id LIMIT 3", "no structure holds column iv (INTERVAL)"},
		{"SELECT id FROM t WHERE a < 5 ORDER BY iv, id LIMIT 3", "no structure holds column iv (INTERVAL)"},
		{"SELECT DISTINCT iv, k FROM t", "no structure holds column iv (INTERVAL)"},
		{"SELECT count(*) FROM t JOIN u ON t.iv = u.iv", "column iv of table t (INTERVAL), column iv of table u (INTERVAL)"},
		{"SELECT l, iv, k, bits, count(*) FROM t GROUP BY ALL", "column l (BIGINT[]), column iv (INTERVAL), column bits (BIT)"},
		{"SELECT count(bits), min(iv), string_agg(s, ',') FROM t", "column bits (BIT), column iv (INTERVAL), nor computes min(INTERVAL)"},
	};
	static const char *const worlds[] = {
		"SET rayql_auto_columns = off", "SET rayql_auto_columns = on",
		"SET rayql_auto_columns = off; CREATE MATERIALIZED VIEW tm AS SELECT k, d, sum(a), count(*) FROM t GROUP BY k, d",
		"CREATE INDEX tc ON t USING columns (*)"};
	struct session s = reasons_session();
	(void)state;
	for (size_t w = 0; w < COUNT(worlds); w++) {
		run(s.con, worlds[w]);
		for (size_t i = 0; i < COUNT(queries); i++)
			because(s.con, queries[i][0], queries[i][1], "no columns index");
	}
	/* Of the table that is scanned; a dimension's is read once, by DuckDB. */
	because(s.con, "SELECT count(*) FROM t JOIN u USING (id) WHERE t.iv > INTERVAL 1 DAY", "column iv of table t (INTERVAL)", NULL);
	expect(s.con, "SELECT count(*) FROM t JOIN u USING (id) WHERE u.iv > INTERVAL 1 DAY", "scan", "10\n");
	close_session(&s);
}

/* Expressions of other columns: an aggregate of INTERVAL is in no cube, and no key is one. */
static void interval_expressions(void **state)
{
	struct session s = reasons_session();
	(void)state;
	run(s.con, "CREATE MATERIALIZED VIEW tm AS SELECT k, a, sum(id), count(*) FROM t GROUP BY k, a");
	because(s.con, "SELECT max(to_days(a)) FROM t", "no structure computes max(INTERVAL)", NULL);
	because(s.con, "SELECT to_days(k), count(*), sum(id) FROM t GROUP BY 1", "no structure computes first(INTERVAL)", NULL);
	because(s.con, "SELECT k, count(DISTINCT to_days(a)) FROM t GROUP BY k",
	        "tm: a group key has the type INTERVAL, which RayQL does not hold", NULL);
	expect(s.con, "SELECT count(*) FROM t WHERE to_days(a) < INTERVAL 3 DAY", "cube", "60\n");
	close_session(&s);
}

/* The FROM of IS [NOT] DISTINCT FROM lists nothing that is read: no file, no function. */
static void comparisons_are_no_clauses(void **state)
{
	struct session s = reasons_session();
	(void)state;
	run(s.con, "CREATE INDEX tc ON t USING columns (id, k, a, s); CREATE INDEX uc ON u USING columns (id, w)");
	expect(s.con, "SELECT count(*) FROM t WHERE s IS NOT DISTINCT FROM 'name 3'", "scan", "2857\n");
	expect(s.con, "SELECT count(*) FROM u JOIN t ON t.id = u.id AND t.s IS DISTINCT FROM 'name 3'", "scan", "26\n");
	expect(s.con, "SELECT s is /* no */ not distinct from 'name 3' AS b, count(*) FROM t GROUP BY b ORDER BY b", "scan",
	       "false|17143\ntrue|2857\n");
	because(s.con, "SELECT count(*) FROM t JOIN range(9) r(i) ON k IS NOT DISTINCT FROM i", "it reads the table function range", NULL);
	fails(s.con, "SELECT count(*) FROM t WHERE s IS NOT DISTINCT FROM 'x' AND k IN (FROM 'there-is-none.csv')",
	      RAYQL_ERROR_HOST, "there-is-none.csv");
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aggregates_nobody_computes), cmocka_unit_test(refreshed_in_vain),
		cmocka_unit_test(explained_by_default),       cmocka_unit_test(unrelated_structures),
		cmocka_unit_test(intervals),                  cmocka_unit_test(interval_expressions),
		cmocka_unit_test(comparisons_are_no_clauses),
	};
	return cmocka_run_group_tests_name("reasons", tests, NULL, NULL);
}
