/* The normal form of plans (src/bind/normal/normal.h): what an optimiser would do and RayQL does itself, each answer beside the
 * host's. The host plans these with its own optimiser. */
#include "scans.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* few: NULLs and keys that come twice; none: no rows; one: a row. */
static struct session normal_session(void)
{
	struct session s = scan_session();
	make_facts(s.con);
	run(s.con, "CREATE TABLE few AS SELECT CASE WHEN i % 5 = 0 THEN NULL ELSE i % 7 END::INTEGER AS k, "
	           "CASE WHEN i % 4 = 0 THEN NULL ELSE i % 6 END::SMALLINT AS z, i::DECIMAL(9,2) AS d FROM range(30) r(i)");
	run(s.con, "CREATE TABLE none AS SELECT * FROM few WHERE false");
	run(s.con, "CREATE TABLE one AS SELECT 3 AS k, 2::SMALLINT AS z, DATE '1993-05-05' AS d");
	return s;
}

/* Scans answer these, the whole of them. */
static void whole(void **state)
{
	static const char *const queries[] = {
		/* joins as cross products, marks as semi joins, outer joins that a condition narrows */
		"SELECT count(*), sum(a) FROM f, big, nation WHERE f.k = big.k AND big.nation = nation.nation AND land <> 'land 2'",
		"SELECT count(*) FROM f WHERE k IN (SELECT k FROM few WHERE z > 1)",
		"SELECT count(*) FROM f WHERE EXISTS (SELECT 1 FROM few WHERE few.k = f.k AND z > 1)",
		"SELECT count(*) FROM f WHERE NOT EXISTS (SELECT 1 FROM few WHERE few.k = f.k)",
		"SELECT count(*), sum(weight) FROM f LEFT JOIN big ON f.k = big.k WHERE weight > 9 AND region LIKE '%1'",
		"SELECT count(*), sum(weight) FROM f FULL JOIN big ON f.k = big.k WHERE weight > 9 AND a > 3",
		/* correlated values, of no rows too */
		"SELECT count(*), sum(a) FROM f WHERE a > (SELECT max(z) * 100 FROM few WHERE few.k = f.k)",
		"SELECT count(*), sum(a) FROM f WHERE 1 < (SELECT count(*) FROM few WHERE few.k = f.k)",
		"SELECT sum((SELECT count(z) FROM few WHERE few.k = f.k AND d > 3)) FROM f",
		"SELECT count(*) FROM f WHERE (SELECT count(*) FROM none WHERE none.k = f.k) = 0",
		/* conditions under views of a query */
		"SELECT b, n FROM (SELECT b, count(*) AS n, sum(a) AS s FROM f GROUP BY b) WHERE b IN (2, 5) ORDER BY b",
		"WITH c AS (SELECT * FROM f WHERE a < 900), e AS (SELECT k, b, a FROM c WHERE b > 2) SELECT b, sum(a) FROM e "
		"WHERE k = 7 GROUP BY b ORDER BY b",
		"SELECT id FROM (SELECT * FROM f ORDER BY a) WHERE s = 'name 31' ORDER BY id LIMIT 5 OFFSET 2",
		/* constants */
		"SELECT count(*) FROM f WHERE d < DATE '1992-06-01' + INTERVAL 1 YEAR AND d >= CAST('1992-0' || '3-01' AS DATE)",
		"SELECT count(*) FROM f WHERE p BETWEEN 0.06 - 0.01 AND 0.5 + 20 AND TRUE AND (1 = 1 OR a > 5)",
		"SELECT count(*) FROM f WHERE d < TIMESTAMP '1993-01-01 12:00:00' AND d >= TIMESTAMP '1992-02-03'",
		"SELECT count(*) FROM f WHERE b < 40000 AND b > -40000 AND b <> 3.0 AND b IN (1, 2, 70000)",
		"SELECT count(*) FROM f WHERE p <> 1.005 AND p < 50.500 AND id < 4.5e3",
		"SELECT count(*) FROM f WHERE (b = 1 AND a > 5) OR (b = 1 AND s = 'name 7') OR (n < 4 AND b = 1)",
		"SELECT count(*) FROM f, big WHERE f.k = big.k AND ((region = 'region 1' AND b = 2) OR (region = 'region 2' AND b = 3))",
		/* sums of a column and constants */
		"SELECT b, sum(a + 1), sum(2 + a), sum(a), count(*), sum(n + 3), sum(b + 4::SMALLINT), avg(a + 1) FROM f GROUP BY b "
		"ORDER BY b",
		"SELECT sum(a + 2147483647), sum(a + 2147483646), sum(id + 1), sum(id - 1) FROM f WHERE a > 3",
		"SELECT sum(a + 1), sum(a + 2) FROM f WHERE a < 0",
		"SELECT CASE WHEN 1 > 2 THEN 'no' ELSE s END AS c, count(*) FROM f GROUP BY c ORDER BY c LIMIT 4",
	};
	struct session s = normal_session();
	(void)state;
	for (size_t i = 0; i < COUNT(queries); i++)
		same(s.con, queries[i]);
	close_session(&s);
}

/* Whoever answers these, the answer is the host's. */
static void whoever(void **state)
{
	static const char *const queries[] = {
		"SELECT count(*) FROM f WHERE k NOT IN (SELECT k FROM few)",
		"SELECT count(*) FROM f WHERE k NOT IN (SELECT k FROM few WHERE k IS NOT NULL)",
		"SELECT count(*) FROM f WHERE k NOT IN (SELECT k FROM none)",
		"SELECT k IN (SELECT z FROM few), count(*) FROM f GROUP BY 1 ORDER BY 1 NULLS FIRST",
		"SELECT EXISTS (SELECT 1 FROM few WHERE few.k = f.k AND few.z < f.b) AS e, count(*) FROM f GROUP BY e ORDER BY e",
		"SELECT count(*) FROM f WHERE EXISTS (SELECT 1 FROM few WHERE few.k = f.k AND few.z <> f.b)",
		"SELECT count(*) FROM f WHERE NOT EXISTS (SELECT 1 FROM few WHERE few.k = f.k AND few.z <> f.b AND few.d > f.p)",
		"SELECT count(*) FROM f WHERE EXISTS (SELECT 1 FROM few, big WHERE few.k = f.k AND big.k = few.z AND weight > f.b)",
		"SELECT count(*) FROM f WHERE a > (SELECT avg(a) FROM f g WHERE g.b = f.b AND g.k <> f.k)",
		"SELECT count(*) FROM f WHERE a > (SELECT sum(z) FROM few WHERE few.k = f.k AND few.z = (SELECT max(z) FROM few h "
		"WHERE h.k = few.k))",
		"SELECT id, (SELECT max(d) FROM few WHERE few.k = f.k OR few.z = f.b) FROM f WHERE id < 50 ORDER BY id",
		"SELECT count(*), count(z) FROM f LEFT JOIN few ON f.k = few.k WHERE few.z IS NULL OR few.z > 2",
		"SELECT count(*), count(z), count(b) FROM f FULL JOIN few ON f.k = few.k AND f.b = few.z WHERE b IS NULL OR b = 3",
		"SELECT few.k, count(*) FROM few RIGHT JOIN f ON few.k = f.k AND few.d > 20 WHERE f.id < 900 GROUP BY few.k ORDER BY ALL",
		"WITH c AS (SELECT b, sum(a) AS s FROM f GROUP BY b) SELECT x.b, y.s FROM c x, c y WHERE x.b = y.b AND x.s > 700000 "
		"ORDER BY 1",
		"WITH unused AS (SELECT 1 / 0 AS z), c AS (SELECT k FROM few) SELECT count(*) FROM c WHERE k > 2",
		"SELECT * FROM (SELECT k, z FROM few UNION ALL SELECT b, b FROM f WHERE id < 40) AS u(k, z) WHERE k = 3 ORDER BY ALL",
		"SELECT * FROM (SELECT k FROM few EXCEPT SELECT b::INTEGER FROM f WHERE id < 3) AS u(k) WHERE k > 1 ORDER BY ALL",
		"SELECT * FROM (SELECT DISTINCT k, z FROM few) WHERE k = 4 ORDER BY ALL",
		"SELECT id, r FROM (SELECT id, b, row_number() OVER (PARTITION BY b ORDER BY a, id) AS r FROM f) WHERE b = 3 AND r < 4 "
		"ORDER BY id",
		"SELECT id, r FROM (SELECT id, b, row_number() OVER (ORDER BY a, id) AS r FROM f) WHERE b = 3 AND r < 40 ORDER BY id",
		"SELECT b, sum(a) FROM f GROUP BY b HAVING b > 3 AND sum(a) > 10 AND 5 < b ORDER BY b",
		"SELECT sum(a) FROM f WHERE 1 = 0",
		"SELECT count(*), max(a) FROM f WHERE NULL",
		"SELECT b, count(*) FROM f WHERE a > 5 AND 'x' = 'y' GROUP BY b",
		"SELECT count(*) FROM f WHERE a > (SELECT z FROM one)",
		"SELECT count(*) FROM f WHERE d < (SELECT d FROM one WHERE z = 9)",
		"SELECT sum(a), sum(a + 1), sum(a + 2.5) FROM f WHERE d < now() AND d < current_date",
		"SELECT count(*) FROM f WHERE id < 10 AND s LIKE 'name%' AND coalesce(NULL, s) >= concat('na', 'me')",
		"SELECT a FROM (SELECT id, a FROM f ORDER BY a DESC, id LIMIT 10) WHERE a < 999 ORDER BY a, id LIMIT 3",
		"SELECT count(*) FROM f WHERE b = 256 + 1 OR b = -32768 - 1 OR b::BIGINT = 9223372036854775807",
	};
	struct session s = normal_session();
	(void)state;
	for (size_t i = 0; i < COUNT(queries); i++) {
		run(s.con, "SET rayql_enable_scan = off");
		char *want = rows_of(s.con, queries[i], NULL);
		run(s.con, "SET rayql_enable_scan = on");
		expect(s.con, queries[i], NULL, want);
		expect(s.con, queries[i], NULL, want);
		free(want);
	}
	close_session(&s);
}

/* Of conditions that never hold RayQL gives what there is, and the host is not asked. */
static void without_rows(void **state)
{
	static const char *const queries[][3] = {
		{"SELECT id, s, d, b FROM f WHERE 1 = 0", "", "INTEGER VARCHAR DATE SMALLINT"},
		{"SELECT count(*), sum(a), avg(a), max(s) FROM f WHERE id > 3 AND 1 > 2", "0|NULL|NULL|NULL\n", "BIGINT HUGEINT DOUBLE VARCHAR"},
		{"SELECT b, count(*) FROM f WHERE NULL GROUP BY b HAVING count(*) > 1 ORDER BY b LIMIT 3", "", "SMALLINT BIGINT"},
		{"SELECT DISTINCT few.k, f.s FROM f JOIN few ON f.k = few.k WHERE 'x' = 'y'", "", "INTEGER VARCHAR"},
		{"SELECT count(*) + 1 FROM (SELECT s FROM f WHERE false UNION ALL SELECT s FROM f WHERE 1 = 2)", "1\n", "BIGINT"},
	};
	struct session s = normal_session();
	(void)state;
	for (int off = 0; off < 2; off++) {
		run(s.con, off ? "SET rayql_fallback = 'off'" : "SET rayql_fallback = 'on'");
		for (size_t i = 0; i < COUNT(queries); i++) {
			rayql_result *res = NULL;
			char types[128] = "";
			expect(s.con, queries[i][0], "empty", queries[i][1]);
			expect(s.con, queries[i][0], "empty", queries[i][1]);
			assert_int_equal(rayql_query(s.con, queries[i][0], &res, NULL), RAYQL_OK);
			for (uint32_t c = 0; c < rayql_column_count(res); c++)
				snprintf(types + strlen(types), sizeof types - strlen(types), "%s%s", c ? " " : "", rayql_column_type_name(res, c));
			assert_string_equal(types, queries[i][2]);
			rayql_result_free(res);
		}
	}
	/* What RayQL does not do itself, it does not do of no rows either. */
	fails(s.con, "SELECT row_number() OVER () FROM f WHERE 1 = 0", RAYQL_ERROR_UNSUPPORTED, "its conditions can never hold");
	/* Rows that come later are there. */
	run(s.con, "RESET rayql_fallback");
	expect(s.con, "SELECT count(*) FROM none WHERE k IS NULL", NULL, "0\n");
	run(s.con, "INSERT INTO none VALUES (NULL, 1, 2)");
	expect(s.con, "SELECT count(*) FROM none WHERE k IS NULL", NULL, "1\n");
	close_session(&s);
}

/* Casts that lose values, and constants that fail: DuckDB's optimiser drops such a cast beside a constant, and a text that
 * RayQL sends must not invite it to. */
static void casts_that_lose(void **state)
{
	static const char *const queries[] = {
		"SELECT count(*) FROM t WHERE cast(try_cast(us AS utinyint) AS integer) >= 1",
		"SELECT count(*) FROM t WHERE try_cast(us AS utinyint) >= 1e0",
		"SELECT count(*) FROM (SELECT try_cast(us AS utinyint) y FROM t) WHERE y::int >= 1",
		"SELECT y, count(*) FROM (SELECT try_cast(us AS utinyint) y FROM t) WHERE y >= 1 GROUP BY y ORDER BY y",
		"SELECT y, count(*) FROM (SELECT try_cast(us AS utinyint) y, id FROM t) GROUP BY y HAVING y >= 1 ORDER BY y",
		"WITH q AS (SELECT try_cast(us AS utinyint) y, id FROM t) SELECT count(*) FROM q WHERE y >= 1",
		"SELECT count(*) FROM (SELECT try_cast(us AS utinyint) y, id FROM t) WHERE y NOT IN (2, 3, 200)",
		"SELECT count(*) FROM t WHERE id NOT IN (1, NULL)",
		"SELECT count(*) FROM t WHERE id > CASE WHEN true THEN NULL ELSE id END",
	};
	static const char *const failing[][2] = {
		{"SELECT count(*) FROM t WHERE cast(us AS utinyint)::int >= 1", "UINT8"},
		{"SELECT count(*) FROM t WHERE cast(us AS utinyint) >= 1.0", "UINT8"},
		{"SELECT count(*) FROM (SELECT cast(us AS utinyint) y FROM t) WHERE y >= 1", "UINT8"},
		{"SELECT count(*) FROM t WHERE id NOT IN (NULL, 'x')", "Could not convert string 'x'"},
		{"SELECT count(*) FROM t WHERE id > 127::TINYINT + 1::TINYINT", "Overflow in addition"},
	};
	struct session s = scan_session();
	(void)state;
	run(s.con, "CREATE TABLE t AS SELECT (CASE i % 4 WHEN 0 THEN 0 WHEN 1 THEN 65535 WHEN 2 THEN 1 ELSE 32768 END)::usmallint us, "
	           "i::int id FROM range(300) r(i)");
	run(s.con, "CREATE INDEX tx ON t USING columns (*)");
	for (size_t i = 0; i < COUNT(queries); i++) {
		run(s.con, "SET rayql_enable_scan = off");
		char *want = rows_of(s.con, queries[i], NULL);
		run(s.con, "SET rayql_enable_scan = on");
		expect(s.con, queries[i], NULL, want);
		free(want);
	}
	for (size_t i = 0; i < COUNT(failing); i++)
		fails(s.con, failing[i][0], RAYQL_ERROR_HOST, failing[i][1]);
	close_session(&s);
}

/* Each level would double the expression. */
static void expressions_that_explode(void **state)
{
	struct session s = normal_session();
	char sql[8192] = "SELECT b, count(*) FROM (";
	(void)state;
	for (int i = 0; i < 30; i++)
		strcat(sql, "SELECT a % 5 + a % 3 AS a, b FROM (");
	strcat(sql, "SELECT a, b FROM f");
	for (int i = 0; i < 30; i++)
		strcat(sql, ")");
	strcat(sql, ") WHERE b = 3 AND a >= 0 GROUP BY b");
	expect(s.con, sql, NULL, "3|1539\n");
	close_session(&s);
}

/* A second row of a scalar subquery is an error, whoever finds it. */
static void second_rows(void **state)
{
	struct session s = normal_session();
	(void)state;
	fails(s.con, "SELECT count(*) FROM f WHERE a > (SELECT z FROM few)", RAYQL_ERROR_HOST, "More than one row");
	fails(s.con, "SELECT count(*) FROM f WHERE a > (SELECT z FROM few WHERE few.k = f.k)", RAYQL_ERROR_HOST, "More than one row");
	close_session(&s);
}

/* now() is folded for one run; random() is nobody's constant. */
static void moments(void **state)
{
	struct session s = normal_session();
	rayql_query_info info = {.size = sizeof info};
	(void)state;
	for (int twice = 0; twice < 2; twice++) {
		expect(s.con, "SELECT count(*) FROM f WHERE d < current_date", "scan", "20000\n");
		assert_int_equal(rayql_last_query(s.con, &info), RAYQL_OK);
		assert_false(info.plan_cached);
	}
	free(rows_of(s.con, "SELECT count(*) FROM f WHERE a < random() * 1000", NULL));
	assert_int_equal(rayql_last_query(s.con, &info), RAYQL_OK);
	assert_string_equal(info.method, "host");
	assert_non_null(strstr(info.reason, "random() may give another value at each call"));
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(whoever),
		cmocka_unit_test(without_rows),
		cmocka_unit_test(casts_that_lose),
		cmocka_unit_test(expressions_that_explode),
		cmocka_unit_test(second_rows),
		cmocka_unit_test(moments),
	};
	return cmocka_run_group_tests_name("normal", tests, NULL, NULL);
}
