/* What columns are called: where RayQL answers, the names and types are those that DuckDB gives, whether they were told
 * by text and plan or asked for. */
#include "check.h"

/* The names and types of the result, its rows where they are asked for, or the error; and who answered. */
static char *outcome(rayql_connection *con, const char *sql, bool rows, char *method)
{
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	char *out = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&out, &length);
	if (rayql_query(con, sql, &res, &err) != RAYQL_OK) {
		snprintf(method, 32, "host");
		fprintf(f, "%s", rayql_error_message(err));
		rayql_error_free(err);
		fclose(f);
		return out;
	}
	snprintf(method, 32, "%s", rayql_result_method(res));
	for (uint32_t c = 0; c < rayql_column_count(res); c++)
		fprintf(f, "[%s %s]", rayql_column_name(res, c), rayql_column_type_name(res, c));
	char *text = rows ? read_rows(res, &err) : NULL;
	if (!rows)
		rayql_result_free(res);
	fprintf(f, "\n%s", text ? text : "");
	free(text);
	fclose(f);
	return out;
}

static struct session with_columns(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con, "CREATE TABLE t AS SELECT (i % 7)::INTEGER a, 'g' || (i % 5) g, i::INTEGER \"Value\", i::DECIMAL(9, 2) m, "
	           "(i % 3)::SMALLINT \"a b\", (DATE '2020-01-01' + (i % 400)::INTEGER)::DATE \"date\", i % 2 \"year\", "
	           "(CASE WHEN i % 2 = 0 THEN 'x' ELSE 'y' END)::ENUM('x', 'y') e, i % 11 \"Ä\" FROM range(20000) r(i)");
	run(s.con, "CREATE TABLE d AS SELECT i::INTEGER k, 'n' || i \"Name\", i % 2 a FROM range(7) r(i)");
	run(s.con, "CREATE VIEW w AS SELECT a AS \"Key\", g, sum(\"Value\") AS \"Total\" FROM t GROUP BY ALL");
	run(s.con, "CREATE MACRO twice(x) AS x * 2");
	run(s.con, "CREATE MACRO total(x) AS sum(x)");
	run(s.con, "CREATE INDEX c ON t USING columns (*)");
	run(s.con, "SET rayql_force = on");
	return s;
}

static void same(rayql_connection *con, const char *sql, bool rows, bool scanned)
{
	char by[32], host[32];
	char *have = outcome(con, sql, rows, by);
	run(con, "SET rayql_enable_scan = off");
	char *want = outcome(con, sql, rows, host);
	run(con, "RESET rayql_enable_scan");
	assert_string_equal(host, "host");
	if (strcmp(have, want) != 0 || (scanned && strcmp(by, "scan") != 0))
		fail_msg("%s\nanswered by %s\nhave %s\nwant %s", sql, by, have, want);
	free(have);
	free(want);
}

static const char *const select_lists[] = {
	"SELECT a, count(*) FROM t GROUP BY a",
	"SELECT A, COUNT(*) AS N FROM t GROUP BY a",
	"SELECT value, count(*) AS \"value\" FROM t GROUP BY value",
	"SELECT \"VALUE\", t.value, T.\"Value\" FROM t WHERE a = 1 LIMIT 5",
	"SELECT sum(VALUE), Sum(t.Value), sUM ( \"Value\" ), sum(\"a b\"), avg( M ), min(main.t.m), max(a) FROM t",
	"SELECT count(DISTINCT A), COUNT( distinct g ) FROM t",
	"SELECT min(date), max(\"date\"), min(t.date), max(year), count(\"Ä\"), count(Ä) FROM t",
	"SELECT sum(a) AS \"with \"\"quotes\"\"\", sum(a) AS S, sum(a) s, sum(a) total, sum(a) \"T\" FROM t",
	"SELECT \"a b\" AS select_, count(*) FROM t GROUP BY 1",
	"SELECT \"a b\", count(*) FROM t GROUP BY 1 ORDER BY 1",
	"SELECT Ä, count(*) FROM t GROUP BY Ä",
	"SELECT a + 1, count(*) + 1, -a FROM t GROUP BY a",
	"SELECT a + 1 AS K, count(*) FROM t GROUP BY K ORDER BY K",
	"SELECT A+1, T.A - 2 * a, count(*) * 2 - Sum(A), a - 1 - 2 FROM t GROUP BY a",
	"SELECT SUM(a + 1), sum(A * (Value - 3) + m), avg((a)), min((a + 1) * 2), sum(2), max(t.a * 1) FROM t",
	"SELECT count(DISTINCT a + 1), count(DISTINCT (a)), sum(1 + (2 + a)), sum(a + 1.0), sum(-a), sum(a + -1) FROM t",
	"SELECT a + 007, a + 1e2, a + 9223372036854775808, a + 123456789012345678, a*a*a, (a) + (1) FROM t WHERE Value = 7",
	"SELECT \"a b\" + 1, sum(\"a b\" + A), sum(year + date_part('year', date)), max(date - 1) FROM t GROUP BY 1",
	"SELECT A AS K, k + 1, K * 2, sum(k - 1) FROM t GROUP BY a",
	"SELECT a + 1 b, a + 1 AS B, a + 1 \"C\", a - 1 COLLATE binary, 1 + 2, (1), ((a + 1)) FROM t WHERE Value = 7",
	"SELECT CURRENT_DATE - 1, User + 1, count(*) - 1 FROM t GROUP BY ALL",
	"SELECT a / 2, a // 2, a % 2, a ^ 2, a << 1, a || 1, a + 1 > 2, a * 1 = 3 FROM t WHERE Value = 7",
	"SELECT sum(a + 1) FILTER (WHERE a > 2), sum(a + 1) OVER () FROM t GROUP BY a",
	"SELECT twice(a) + 1, twice(a + 1), total(a + 1) FROM t GROUP BY a",
	"SELECT main.t.a + 1, t.a+t.\"Value\", sum(main.t.a - 1) FROM t GROUP BY ALL",
	"SELECT a AS K, k + 1 AS L, K FROM t GROUP BY a",
	"SELECT (A), (count(*)), ((sum(A))) FROM t GROUP BY a",
	"SELECT year, date, count(*) FROM t GROUP BY ALL ORDER BY ALL",
	"SELECT year(date), count(*) FROM t GROUP BY 1",
	"SELECT year(date) AS year, count(*) AS count FROM t GROUP BY 1",
	"SELECT CAST(a AS BIGINT), a::BIGINT, a::BIGINT AS b FROM t WHERE v IS NULL OR a = 3 LIMIT 3",
	"SELECT DISTINCT A FROM t",
	"SELECT DISTINCT A, G AS \"G g\" FROM t ORDER BY g, a",
	"SELECT ALL A FROM t WHERE a = 2 LIMIT 2",
	"SELECT A FROM t ORDER BY Value DESC LIMIT 3",
	"SELECT A FROM t ORDER BY Value + 1 DESC LIMIT 3",
	"SELECT * FROM t WHERE a = 1 LIMIT 3",
	"SELECT t.* FROM t WHERE a = 1 LIMIT 3",
	"SELECT COLUMNS('^a') FROM t WHERE a = 1 LIMIT 3",
	"SELECT COLUMNS('^a$') AS x FROM t WHERE a = 1 LIMIT 3",
	"SELECT * EXCLUDE (e, \"Value\") FROM t WHERE a = 1 LIMIT 3",
	"SELECT x: A, y: count(*) FROM t GROUP BY a",
	"SELECT a AS x -- the first\n, /* AS y */ count(*) AS z FROM t GROUP BY a;",
	"SELECT (SELECT max(k) AS q FROM d) AS r, count(*) FROM t",
	"SELECT a IS DISTINCT FROM 3 AS x, count(*) AS y FROM t GROUP BY 1",
	"SELECT a IS NULL, a IS NOT NULL AS b, g COLLATE binary, count(*) FROM t GROUP BY ALL",
	"SELECT count(*) FILTER (WHERE a > 2), sum(a) FILTER (WHERE a > 2) AS f FROM t",
	"SELECT sum(a), e FROM t GROUP BY e",
	"SELECT \"Key\", key, TOTAL, w.g FROM w",
	"SELECT KEY, sum(total) FROM w GROUP BY key",
	"SELECT twice(sum(A)), total(A), total(a) AS t FROM t",
	"SELECT s, count(*) FROM (SELECT A FROM t) q(S) GROUP BY s",
	"SELECT S FROM (SELECT sum(A), G FROM t GROUP BY g) q(s, \"G g\")",
	"SELECT X, y FROM (SELECT a AS y, a + 1 AS x, count(*) FROM t GROUP BY a)",
	"WITH q AS (SELECT A X, count(*) AS n FROM t GROUP BY a) SELECT x, N, sum(n) FROM q GROUP BY ALL",
	"WITH q(X, \"Y\") AS MATERIALIZED (SELECT a, count(*) FROM t GROUP BY a) SELECT x, y FROM q",
	"SELECT A, Name, count(*) FROM t, d WHERE t.a = k GROUP BY t.A, name",
	"SELECT t.A, D.A AS \"A\", d.name FROM t JOIN d ON t.a = k WHERE value = 5",
	"SELECT a FROM t JOIN d USING (a) WHERE value < 5",
	"SELECT A, count(*) FROM t GROUP BY a HAVING count(*) > 1",
	"SELECT 1 AS one, count(*) AS \"\"\"\" FROM t",
	"SELECT 5, 'x', count(*), 1.50, NULL, true FROM t",
	"SELECT [a, 1], count(*) FROM t GROUP BY a",
	"SELECT {'x': a} AS st, count(*) FROM t GROUP BY a",
	"SELECT rowid, RowId AS r FROM t WHERE value = 7",
	"SELECT A FROM t WHERE value = 7 UNION ALL SELECT k FROM d",
	"SELECT count(*) AS N FROM t UNION ALL SELECT count(*) AS m FROM d",
	"SELECT 1 AS x UNION ALL SELECT sum(a) AS z FROM t",
	"SELECT sum(a) OVER () FROM t LIMIT 1",
	"SELECT date + INTERVAL 1 DAY, date - INTERVAL '1' MONTH AS m FROM t WHERE value < 3",
	"SELECT current_date, CURRENT_DATE, count(*) FROM t",
	"(SELECT A, count(*) FROM t GROUP BY a)",
	"FROM t SELECT A, count(*) GROUP BY a",
	"FROM t WHERE value = 3",
	"SELECT count(), count ( * ), COUNT(*) FROM t",
	"SELECT sum(DISTINCT A), avg(DISTINCT t.Value) FROM t",
	"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) AS p FROM t",
	"SELECT list(a ORDER BY a)[1], string_agg(g, ',' ORDER BY g) AS s FROM t WHERE value < 3",
};

static void names_are_duckdbs(void **state)
{
	struct session s = with_columns();
	(void)state;
	for (size_t i = 0; i < sizeof select_lists / sizeof *select_lists; i++)
		same(s.con, select_lists[i], false, false);
	same(s.con, "SELECT A, COUNT(*), sum(VALUE), Min(m) AS \"Least\" FROM t GROUP BY a", false, true);
	same(s.con, "SELECT DISTINCT A, G AS \"G g\" FROM t", false, true);
	same(s.con, "SELECT SUM(A), SUM(A + 1), COUNT(*) - 1 FROM t", false, true);
	/* Names are lower case then, unless they are quoted. */
	run(s.con, "SET preserve_identifier_case = false");
	for (size_t i = 0; i < sizeof select_lists / sizeof *select_lists; i++)
		if (!strstr(select_lists[i], "Value") && !strstr(select_lists[i], "Name"))
			same(s.con, select_lists[i], false, false);
	close_session(&s);
}

/* The same text means something else: each time as DuckDB has it. */
static void changed_meanwhile(void **state)
{
	static const char *const texts[] = {"SELECT A, sum(V) FROM t GROUP BY a ORDER BY a", "SELECT twice(sum(v)) AS x FROM t",
	                                    "SELECT * FROM w ORDER BY 1, 2"};
	static const char *const changes[] = {
		"SELECT 1", "CREATE OR REPLACE MACRO twice(x) AS x * 3", "CREATE OR REPLACE VIEW w AS SELECT g AS \"G\", max(v) FROM t GROUP BY g",
		"SET search_path = 'other'", "CREATE TEMP TABLE t AS SELECT 'k' AS \"A\", 7::UTINYINT v", "CREATE TEMP MACRO twice(x) AS x::VARCHAR",
		"DROP TABLE temp.t", "RESET search_path", "ALTER TABLE main.t RENAME v TO \"V\"", "INSERT INTO main.t SELECT 9, 'h', 100",
	};
	struct session s = open_session(NULL, NULL);
	rayql_connection *second = NULL;
	(void)state;
	make_table(s.con, "t", 20000);
	run(s.con, "CREATE MACRO twice(x) AS x * 2; CREATE VIEW w AS SELECT a, count(*) FROM t GROUP BY a; CREATE SCHEMA other; "
	           "CREATE TABLE other.t AS SELECT i::BIGINT a, i % 7 v FROM range(9000) r(i)");
	run(s.con, "CREATE INDEX c ON t USING columns (*); CREATE INDEX o ON other.t USING columns (*)");
	assert_int_equal(rayql_connect(s.db, &second, NULL), RAYQL_OK);
	run(s.con, "SET rayql_force = on");
	run(second, "SET rayql_force = on");
	for (size_t c = 0; c < sizeof changes / sizeof *changes; c++) {
		run(s.con, changes[c]);
		for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
			same(s.con, texts[i], true, false);
			same(second, texts[i], true, false);
		}
	}
	rayql_disconnect(second);
	close_session(&s);
}

/* DuckDB's optimiser fails at these; to RayQL they are conditions. */
static void errors_of_the_optimiser(void **state)
{
	static const char *const texts[] = {
		"SELECT count(*) FROM x WHERE d < TIMESTAMP 'infinity'", "SELECT count(*) FROM x WHERE d < TIMESTAMP '-inf'",
		"SELECT count(*) FROM x WHERE d < 'infinity'::TIMESTAMP", "SELECT count(*) FROM x WHERE d < TIMESTAMP_MS 'infinity'",
		"SELECT count(*) FROM x WHERE d < far() + INTERVAL 1 DAY", "SELECT count(*) FROM x WHERE ms::DATE < DATE '2021-01-01'",
	};
	struct session s = open_session(NULL, NULL);
	(void)state;
	run(s.con, "CREATE MACRO far() AS TIMESTAMP 'infinity'");
	run(s.con, "CREATE TABLE x AS SELECT DATE '2020-01-01' + (i % 400)::INTEGER d, CASE WHEN i = 0 THEN 'infinity' ELSE "
	           "'2020-01-01' END::TIMESTAMP_MS ms FROM range(20000) r(i)");
	run(s.con, "CREATE INDEX c ON x USING columns (*); SET rayql_force = on");
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		same(s.con, texts[i], true, false);
	if (!host_is_2())
		fails(s.con, texts[0], RAYQL_ERROR_HOST, "infinite");
	close_session(&s);
}

static void bad_texts(void **state)
{
	static const char *const texts[] = {
		"SELECT A, count(*) FROM t GROUP BY nothing", "SELECT nothing AS x FROM t", "SELECT sum(a) AS FROM t", "SELECT a, FROM nowhere",
		"SELECT a AS x FROM t WHERE", "SELECT sum(g) AS x FROM t", "SELECT a AS x, count(*) AS y FROM t", "SELECT nofunction(a) AS x FROM t",
	};
	struct session s = open_session(NULL, NULL), plain = open_session(NULL, NULL);
	(void)state;
	make_table(s.con, "t", 2000);
	make_table(plain.con, "t", 2000);
	run(s.con, "CREATE INDEX c ON t USING columns (*); SET rayql_force = on");
	for (int in_transaction = 0; in_transaction < 2; in_transaction++) {
		for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
			rayql_error *want = NULL;
			if (in_transaction) {
				run(s.con, "BEGIN");
				expect(s.con, "SELECT sum(v) FROM t", "scan", "1999000\n");
				run(plain.con, "BEGIN");
			}
			assert_int_not_equal(rayql_query(plain.con, texts[i], NULL, &want), RAYQL_OK);
			fails(s.con, texts[i], rayql_error_status(want), rayql_error_message(want));
			rayql_error_free(want);
			if (in_transaction) {
				run(s.con, "ROLLBACK");
				run(plain.con, "ROLLBACK");
			}
		}
	}
	close_session(&s);
	close_session(&plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_duckdbs), cmocka_unit_test(changed_meanwhile),
	                                   cmocka_unit_test(errors_of_the_optimiser), cmocka_unit_test(bad_texts)};
	return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
