/* Scans of compressed columns: every answer beside the host's, who must answer what, and why it is not a scan. */
#include "scans.h"

/* The same error by a scan's connection and by the host alone. */
static void same_error(rayql_connection *con, const char *sql, const char *text)
{
	fails(con, sql, RAYQL_ERROR_HOST, text);
	run(con, "SET rayql_enable_scan = off");
	fails(con, sql, RAYQL_ERROR_HOST, text);
	run(con, "SET rayql_enable_scan = on");
}

static void one_table(void **state)
{
	static const char *const queries[] = {
		"SELECT count(*), count(n), count(t), sum(a), sum(n), avg(p), avg(b), min(s), max(t), min(d), max(r), sum(p) "
		"FROM f",
		"SELECT b, count(*), sum(a) FROM f WHERE a < 300 AND s <> 'name 7' GROUP BY b ORDER BY b",
		"SELECT t, n, count(*), min(p) FROM f WHERE n > 100 OR t IS NULL GROUP BY t, n ORDER BY t, n",
		"SELECT s, t, even, sum(p * (1 - 0.04) + b) FROM f GROUP BY ALL ORDER BY ALL",
		"SELECT year(d) AS y, month(d) AS m, sum(a * b), avg(a - n) FROM f GROUP BY y, m ORDER BY y, m",
		"SELECT upper(s) AS u, count(*) FROM f WHERE s LIKE '%1%' AND length(s) = 7 GROUP BY u ORDER BY u",
		"SELECT a % 7 AS m, count(*) FILTER (WHERE even), sum(n) FILTER (WHERE a > 500), min(s) FILTER (WHERE b = 1) "
		"FROM f "
		"GROUP BY m ORDER BY m",
		"SELECT sum(CASE WHEN t = 'x1' THEN a ELSE 0 END), sum(CASE WHEN even THEN p END), count(CASE WHEN a < 5 THEN "
		"1 END) "
		"FROM f",
		"SELECT count(*) FROM f WHERE a < b OR n IS NULL",
		"SELECT count(*) FROM f WHERE a BETWEEN 10 AND 20 AND d >= DATE '1995-03-01' AND r > 3.5 AND NOT even",
		"SELECT count(*), sum(a) FROM f WHERE a IN (1, 2, 3, 500) AND b IN (4, 5, 6) AND t NOT IN ('x0', 'x2')",
		"SELECT sum(a), count(*) FROM f WHERE a > 900 AND s = 'name 500'",
		"SELECT b, sum(a) FROM f WHERE a > 900 AND s = 'name 500' GROUP BY b",
		"SELECT DISTINCT t, even FROM f ORDER BY ALL",
		"SELECT b, count(DISTINCT s), count(DISTINCT s), sum(a) FROM f GROUP BY b ORDER BY b",
		"SELECT b, count(DISTINCT s), count(DISTINCT n), sum(a), count(DISTINCT s || '!'), avg(p) FROM f GROUP BY b "
	    "ORDER "
		"BY b",
		"SELECT t, n % 7 AS m, count(DISTINCT a), count(DISTINCT b), max(d) FROM f GROUP BY t, m ORDER BY t, m NULLS "
	    "FIRST",
		"SELECT count(DISTINCT a), count(DISTINCT s), count(*), count(DISTINCT t) FROM f WHERE id < 9000",
		"SELECT count(DISTINCT a), count(DISTINCT s), sum(a) FROM f WHERE s = 'name 500'",
		"SELECT b, count(DISTINCT a) FILTER (WHERE even), count(DISTINCT a) FILTER (WHERE n < 50), count(DISTINCT a) "
	    "FROM "
		"f GROUP BY b ORDER BY b",
		"SELECT count(DISTINCT n) FROM f WHERE a < 100",
		"SELECT count(DISTINCT n) FROM f WHERE s = 'name 500'",
		"SELECT id, sum(a) AS total, count(*) FROM f GROUP BY id ORDER BY total DESC, id LIMIT 5 OFFSET 2",
		"SELECT b, sum(a) AS total FROM f GROUP BY b HAVING sum(a) > 760000 ORDER BY total DESC NULLS FIRST LIMIT 3",
		"SELECT a, a - 1, a + 5, a::BIGINT - 2, count(*) FROM f GROUP BY ALL ORDER BY 5 DESC, 2 LIMIT 7",
		"SELECT n + 3 AS m, sum(a) FROM f GROUP BY m ORDER BY m NULLS FIRST",
		"SELECT n, n - 100, count(DISTINCT n), count(*) FROM f GROUP BY ALL ORDER BY 2 DESC, 1 LIMIT 7",
		"SELECT n, s FROM f GROUP BY n, s ORDER BY n NULLS FIRST, s DESC LIMIT 9",
		"SELECT 1 AS one, b, count(*) FROM f GROUP BY one, b ORDER BY b",
		"SELECT s, s || '!' AS loud, length(s) AS l, count(*) FROM f GROUP BY ALL ORDER BY s",
		"SELECT min(r), max(r), avg(r * 2), sum(r) > 0 FROM f WHERE r <> 1.5",
		"WITH q AS (SELECT b, sum(a) AS x FROM f GROUP BY b) SELECT max(x), min(x), count(*) FROM q",
	};
	struct session s = scan_session();
	(void)state;
	make_facts(s.con);
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
		same(s.con, queries[i]);
	close_session(&s);
}

static void stars(void **state)
{
	static const char *const queries[] = {
		"SELECT region, sum(a) FROM f, big WHERE f.k = big.k GROUP BY region ORDER BY region",
		"SELECT count(*) FROM f, big WHERE f.k = big.k AND region = 'region 1' AND a < 500",
		"SELECT region, colour, sum(a), count(*) FROM f JOIN big ON f.k = big.k JOIN small ON f.l = small.l "
		"WHERE weight > 9 GROUP BY region, colour ORDER BY region, colour",
		"SELECT big.k, weight, region, sum(a), min(colour), max(weight), count(colour), sum(weight * a) FROM f, big, "
		"small "
		"WHERE f.k = big.k AND f.l = small.l GROUP BY ALL ORDER BY ALL",
		/* a snowflake, and a condition between two dimensions */
		"SELECT land, count(*) FROM f, big, nation WHERE f.k = big.k AND big.nation = nation.nation GROUP BY land "
		"ORDER BY land",
		"SELECT land, sum(a) FROM f, big, small, nation WHERE f.k = big.k AND f.l = small.l AND big.nation = "
		"small.nation AND "
		"small.nation = nation.nation GROUP BY land ORDER BY land",
		"SELECT sum(a) FROM f, big WHERE f.k = big.k AND ((region = 'region 1' AND a < 100 AND weight < 50) OR (region "
		"= "
		"'region 2' AND a > 900))",
		"SELECT sum(CASE WHEN region = 'region 3' THEN p * (1 - 0.5) ELSE 0 END) / sum(p) FROM f, big WHERE f.k = "
		"big.k",
		"SELECT x.region, y.region, count(*) FROM f, big x, big y WHERE f.k = x.k AND f.a = y.k GROUP BY ALL ORDER BY "
		"ALL",
		"SELECT count(*) FROM f, big WHERE f.k = big.k AND f.a = big.weight",
		"SELECT colour, count(DISTINCT region), count(DISTINCT region) FROM f, big, small WHERE f.k = big.k AND f.l = "
		"small.l "
		"GROUP BY colour ORDER BY colour",
		"SELECT t, count(*) FROM f, (VALUES ('x0'), ('x2'), ('y')) AS v(u), big WHERE false AND f.k = big.k GROUP BY t",
	};
	struct session s = scan_session();
	(void)state;
	make_facts(s.con);
	for (size_t i = 0; i + 1 < sizeof queries / sizeof *queries; i++)
		same(s.con, queries[i]);
	/* semi and anti joins; NULL keys have no match; keys may come twice */
	run(s.con, "CREATE TABLE keys AS SELECT CASE WHEN i % 6 = 0 THEN NULL ELSE i % 300 END AS n, i % 4 AS kind FROM "
	           "range(900) "
	           "AS q(i)");
	same(s.con,
	     "SELECT b, count(*), sum(a) FROM f WHERE n IN (SELECT n FROM keys WHERE kind = 1) GROUP BY b ORDER BY b");
	same(s.con, "SELECT count(*), count(n) FROM f SEMI JOIN keys ON f.n = keys.n");
	same(s.con, "SELECT count(*), count(n), sum(a) FROM f ANTI JOIN keys ON f.n = keys.n WHERE b < 9");
	same(s.con,
	     "SELECT region, count(*) FROM f JOIN big ON f.k = big.k WHERE f.n IN (SELECT n FROM keys WHERE kind > 1) AND "
	     "f.l IN (SELECT l FROM small JOIN nation ON small.nation = nation.nation WHERE land <> 'land 2') GROUP BY "
	     "region "
	     "ORDER BY region");
	same(s.con, "SELECT count(*) FROM f WHERE n NOT IN (SELECT n FROM keys WHERE n IS NOT NULL)");
	/* a join by a coded column */
	run(s.con, "CREATE TABLE words AS SELECT 'x' || i AS w, i * 10 AS points FROM range(9) AS q(i)");
	same(s.con, "SELECT w, sum(points) FROM f, words WHERE t = w GROUP BY w ORDER BY w");
	char *text = rows_of(s.con, "EXPLAIN SELECT region, count(*) FROM f, big WHERE f.k = big.k GROUP BY region", NULL);
	assert_non_null(strstr(text, "method: scan on cpu"));
	assert_non_null(strstr(text, "structure fc: columns of table f, 20000 rows in "));
	assert_non_null(strstr(text, "join with big: 38 keys, 4 combinations of values, dense map"));
	free(text);
	text = rows_of(s.con, "EXPLAIN ANALYZE SELECT count(*) FROM f WHERE id < 100", NULL);
	assert_non_null(strstr(text, " skipped, 100 rows passed, "));
	free(text);
	close_session(&s);
}

/* Groups by reals of a scan: what is one group and has two codes (-0.0 and 0.0, two NaNs) is together; reals of a dimension;
 * what is above them, and counts of what differs within them. */
static void real_keys(void **state)
{
	static const char *const queries[] = {
		"SELECT x + 0, c, s FROM (SELECT x, count(*) c, sum(w) s FROM z WHERE x <= 'inf' GROUP BY x) q ORDER BY 1",
		"SELECT count(*), sum(c), max(c) FROM (SELECT x, k, count(*) c FROM z GROUP BY x, k HAVING count(*) > 20) q",
		"SELECT c, d FROM (SELECT x, count(*) c, count(DISTINCT k) d FROM z GROUP BY x) q ORDER BY 1, 2",
		"SELECT count(*), sum(c) FROM (SELECT DISTINCT x, y, 1 c FROM z) q",
		"SELECT y, min(x + 0), max(w), avg(w) FROM z WHERE x < 2 GROUP BY y ORDER BY y NULLS FIRST LIMIT 3",
		"SELECT count(*) FROM z WHERE k = 5 GROUP BY x ORDER BY x", /* which zero or NaN a group shows differs among hosts */
		"SELECT y * 2, k % 2, count(*) FROM z GROUP BY ALL ORDER BY ALL",
		"SELECT price, count(*), sum(w) FROM z JOIN priced USING (k) GROUP BY price ORDER BY price",
		"SELECT x FROM z WHERE k > 100 GROUP BY x",
	};
	struct session s = scan_session();
	(void)state;
	run(s.con, "CREATE TABLE z AS SELECT (i % 11)::INTEGER k, ([NULL, '-0', '-nan', '0', 'nan', '1.5', '-1.5', 'inf', '-inf']::DOUBLE[])"
	           "[1 + (hash(i) % 9)::INTEGER] x, CASE WHEN i % 19 = 0 THEN NULL ELSE (i % 7) / 4 END::FLOAT y, i::BIGINT * "
	           "922337203685477 w FROM range(9000) q(i); UPDATE z SET x = '-0' WHERE k = 5 AND x = 0");
	run(s.con, "CREATE TABLE priced AS SELECT k::INTEGER k, (k // 2 + 1) * 1.25::DOUBLE price FROM range(11) q(k)");
	run(s.con, "CREATE INDEX zc ON z USING columns (*)");
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
		char explain[300];
		same(s.con, queries[i]);
		snprintf(explain, sizeof explain, "EXPLAIN %s", queries[i]);
		char *text = rows_of(s.con, explain, NULL);
		assert_null(strstr(text, "rows out")); /* the scan groups */
		free(text);
	}
	run(s.con, "UPDATE priced SET price = '-0' WHERE k = 1");
	refused(s.con, "SELECT price + 0, c FROM (SELECT price, count(*) c FROM z JOIN priced USING (k) GROUP BY price) q ORDER BY 1",
	        "has a 0 or a NaN, which may have a sign");
	close_session(&s);
}

/* Sums that take more than 64 bits as columns: grouped, added up, compared, joined and ordered again. */
static void wide_sums(void **state)
{
	static const char *const queries[] = {
		"SELECT s, count(*), min(k) FROM (SELECT k, sum(b) s FROM v GROUP BY k) q GROUP BY s ORDER BY s NULLS FIRST",
		"SELECT g, sum(s), max(s), min(d), sum(d), count(s) FROM (SELECT k, k % 5 g, sum(b) s, sum(d) d FROM v GROUP BY k) q GROUP "
		"BY g ORDER BY g",
		"SELECT count(*), sum(x.s) FROM (SELECT k, sum(b) s FROM v GROUP BY k) x JOIN (SELECT k, sum(c) s FROM v GROUP BY k) y "
		"ON x.k = y.k WHERE x.s > y.s + 5",
		"SELECT count(*), sum(x.k), sum(y.k) FROM (SELECT k, sum(b) s FROM v GROUP BY k) x JOIN (SELECT k % 20 k, sum(b) s FROM v "
		"GROUP BY k) y ON x.s = y.s",
		"SELECT v.k % 7 m, sum(x.s), count(*) FROM (SELECT k, sum(b) s FROM v GROUP BY k) x JOIN v ON x.k = v.k AND v.b < x.s "
		"GROUP BY m ORDER BY m",
		"SELECT max(t), min(t), count(DISTINCT t) FROM (SELECT g, sum(s) t FROM (SELECT k, k % 5 g, sum(d) s FROM v GROUP BY k) q "
		"GROUP BY g) q",
		"SELECT k, sum(b) s FROM v GROUP BY k HAVING sum(b) > 9223372036854775807 ORDER BY s DESC, k LIMIT 5",
	};
	struct session s = scan_session();
	(void)state;
	run(s.con, "CREATE TABLE v AS SELECT (i % 40)::INTEGER k, CASE WHEN i % 40 = 3 OR i % 17 = 0 THEN NULL WHEN i % 40 = 4 THEN 7 ELSE "
	           "(hash(i) >> 1)::BIGINT - CASE WHEN i % 3 = 0 THEN 9223372036854775807 ELSE 0 END END b, (hash(i * 7) >> 2)::BIGINT c, "
	           "((hash(i * 5) % 1999999999999999999)::HUGEINT - 999999999999999999)::DECIMAL(18, 0) d FROM range(9000) q(i)");
	run(s.con, "CREATE INDEX vc ON v USING columns (*)");
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
		same(s.con, queries[i]);
	expect(s.con, "SELECT max(s) > 9223372036854775807::HUGEINT FROM (SELECT sum(b) s FROM v GROUP BY k) q", "scan", "true\n");
	close_session(&s);
}

static void refusals(void **state)
{
	struct session s = scan_session();
	(void)state;
	make_facts(s.con);
	run(s.con,
	    "CREATE TABLE pairs AS SELECT k::INTEGER AS k, l, k + l AS cost FROM range(40) AS a(k), range(30) AS b(l)");
	run(s.con, "CREATE TABLE twice AS SELECT (k % 20)::INTEGER AS k, k AS v FROM range(40) AS q(k)");
	same(s.con, "SELECT sum(cost), count(*) FROM f, pairs WHERE f.k = pairs.k AND f.l = pairs.l");
	same(s.con, "SELECT t, sum(cost * a) FROM f, pairs WHERE f.n = pairs.l AND f.k = pairs.k AND cost < 40 GROUP BY t "
	            "ORDER BY t");
	run(s.con, "INSERT INTO pairs VALUES (3, 3, 3)");
	refused(s.con, "SELECT sum(cost) FROM f, pairs WHERE f.k = pairs.k AND f.l = pairs.l",
	        "rows of table pairs are joined by 2 columns, and neither one nor two of them are a key");
	refused(s.con, "SELECT sum(v) FROM f, twice WHERE f.k = twice.k", "occurs twice on the dimension's side of a join");
	refused(s.con, "SELECT count(*) FROM f, big WHERE f.k < big.k", "table big is not joined to f by equal columns");
	refused(s.con, "SELECT b, count(DISTINCT r) FROM f GROUP BY b ORDER BY b", "what is counted DISTINCT is a real number");
	refused(s.con, "SELECT stddev(a) FROM f", "is not among COUNT, SUM, AVG, MIN and MAX");
	refused(s.con, "SELECT sum(DISTINCT a) FROM f", "is DISTINCT");
	run(s.con, "CREATE OR REPLACE INDEX fc ON f USING columns (a, b)");
	refused(s.con, "SELECT sum(n) FROM f", "column n is not in it");
	same(s.con, "SELECT b, sum(a) FROM f GROUP BY b ORDER BY b");
	run(s.con, "SET rayql_fallback = 'off'");
	fails(s.con, "SELECT sum(n) FROM f", RAYQL_ERROR_UNSUPPORTED, "fc: column n is not in it");
	run(s.con, "SET rayql_fallback = 'on'");
	run(s.con, "SET rayql_force = off");
	run(s.con, "DELETE FROM f WHERE id > 0");
	run(s.con, "REFRESH INDEX fc");
	expect(s.con, "SELECT sum(a) FROM f", NULL, "0\n");
	close_session(&s);
}

static void errors(void **state)
{
	struct session s = scan_session();
	(void)state;
	run(s.con,
	    "CREATE TABLE e AS SELECT (i % 10)::INTEGER AS g, 2147483640 + (i % 8)::INTEGER AS big, (i % 3)::INTEGER AS z, "
	    "i::BIGINT * 900000000000000 AS wide, CASE WHEN i = 77 THEN 'seven' ELSE i::VARCHAR END AS word, "
	    "CASE i % 4 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN 'inf'::DOUBLE ELSE i END AS odd, "
	    "10.0::DOUBLE / (i % 5) AS q, 99999.99::DECIMAL(7,2) AS d FROM range(5000) AS r(i)");
	run(s.con, "CREATE INDEX ec ON e USING columns (*)");
	same_error(s.con, "SELECT sum(big + g) FROM e", "Overflow in addition of INT32");
	same_error(s.con, "SELECT sum(wide * wide) FROM e", "Overflow in multiplication of INT64");
	same_error(s.con, "SELECT sum(word::INTEGER) FROM e", "Could not convert string 'seven' to INT32");
	same_error(s.con, "SELECT count(*) FROM e WHERE big * 2 > 5", "Overflow in multiplication of INT32");
	same_error(s.con, "SELECT max(wide::INTEGER) FROM e", "out of range for the destination type INT32");
	static const char zero[] = "SELECT g, sum(g / z), sum(g // z), count(g % z), max(1.0 / z) FROM e GROUP BY g ORDER BY g";
	if (host_is_2())
		same_error(s.con, zero, "Division by zero");
	else
		same(s.con, zero);
	same(s.con, "SELECT g, sum(g / z), sum(g // 3), count(g % 7), max(1.0 / z) FROM e GROUP BY g ORDER BY g");
	same(s.con, "SELECT sum(TRY_CAST(word AS INTEGER)), count(TRY_CAST(wide AS INTEGER)) FROM e");
	same(s.con, "SELECT sum(odd), avg(odd), min(odd), max(odd) FROM e");
	same(s.con, "SELECT g, max(odd), min(q), sum(q) > 1000 FROM e WHERE odd > 100 GROUP BY g ORDER BY g");
	same(s.con, "SELECT sum(wide), avg(wide), sum(wide::HUGEINT * 1000000), sum(d * d) FROM e");
	run(s.con, "CREATE TABLE ends AS SELECT list_extract([1, 2, '-170141183460469231731687303715884105728'::HUGEINT, "
	           "'170141183460469231731687303715884105727'::HUGEINT]::HUGEINT[], 1 + i % 4) AS h, i % 3 AS g FROM "
	           "range(400) AS q(i)");
	run(s.con, "CREATE INDEX endsc ON ends USING columns (*)");
	same(s.con, "SELECT count(*) FROM ends WHERE h NOT IN ('170141183460469231731687303715884105727'::HUGEINT, "
	            "'-170141183460469231731687303715884105728'::HUGEINT)");
	same(s.con, "SELECT g, min(h), max(h), count(*) FROM ends WHERE h < "
	            "'170141183460469231731687303715884105727'::HUGEINT GROUP "
	            "BY g ORDER BY g");
	run(s.con,
	    "CREATE TABLE near AS SELECT CASE WHEN i < 3 THEN '50000000000000000000000000000000000000'::HUGEINT ELSE 1 END "
	    "AS h FROM range(4) AS q(i)");
	run(s.con, "CREATE INDEX nearc ON near USING columns (*)");
	refused(s.con, "SELECT sum(h) FROM near", "a sum could leave 128 bits on the way");
	/* A row that the filter leaves out raises no error. */
	same(s.con, "SELECT sum(big + g) FROM e WHERE g = 0 AND big = 2147483640");
	same(s.con, "SELECT sum(CASE WHEN g < 1 THEN 0 ELSE g + 1 END) FROM e");
	close_session(&s);
}

static void freshness(void **state)
{
	struct session s = scan_session();
	(void)state;
	make_facts(s.con);
	same(s.con, "SELECT count(*), sum(a) FROM f");
	run(s.con, "INSERT INTO f SELECT * FROM f WHERE id < 10");
	same(s.con, "SELECT count(*), sum(a), max(id) FROM f"); /* the new rows were appended */
	run(s.con, "UPDATE f SET a = a + 1 WHERE id = 5");
	refused(s.con, "SELECT sum(a) FROM f", "stale: table f changed since it was built; REFRESH INDEX fc");
	run(s.con, "REFRESH INDEX fc");
	same(s.con, "SELECT sum(a) FROM f");
	/* A dimension changes: the plan holds its rows. */
	expect(s.con, "SELECT count(*) FROM f, small WHERE f.l = small.l AND colour = 'colour 1'", "scan", NULL);
	run(s.con, "UPDATE small SET colour = 'colour 1'");
	same(s.con, "SELECT count(*) FROM f, small WHERE f.l = small.l AND colour = 'colour 1'");
	run(s.con, "DELETE FROM small WHERE l > 3");
	same(s.con, "SELECT colour, count(*) FROM f, small WHERE f.l = small.l GROUP BY colour ORDER BY colour");
	run(s.con, "BEGIN");
	expect(s.con, "SELECT count(*) FROM f, small WHERE f.l = small.l", "scan", "2672\n");
	run(s.con, "INSERT INTO f SELECT * FROM f WHERE id < 10");
	refused(s.con, "SELECT count(*) FROM f", "the transaction has written");
	run(s.con, "ROLLBACK");
	same(s.con, "SELECT count(*) FROM f, small WHERE f.l = small.l");
	close_session(&s);
}

/* Inside a transaction nothing is evaluated ahead that could fail and abort it. */
static void in_transaction(void **state)
{
	struct session s = scan_session();
	(void)state;
	make_facts(s.con);
	run(s.con,
	    "CREATE TABLE texts AS SELECT k::INTEGER AS k, CASE WHEN k = 39 THEN 'none' ELSE k::VARCHAR END AS v FROM "
	    "range(40) AS q(k)");
	run(s.con, "BEGIN");
	expect(s.con, "SELECT count(*) FROM f, big WHERE f.k = big.k AND region LIKE '%1'", "scan", "5000\n");
	refused(s.con, "SELECT sum(v::INTEGER) FROM f, texts WHERE f.k = texts.k AND f.k < 5", "inside a transaction");
	expect(s.con, "SELECT count(*) FROM f", "scan", "20000\n");
	run(s.con, "COMMIT");
	close_session(&s);
}

static void by_itself(void **state)
{
	struct session s = scan_session();
	(void)state;
	make_table(s.con, "t", 1000);
	run(s.con, "SET rayql_auto_columns = on");
	expect(s.con, "SELECT g, sum(v) FROM t GROUP BY g ORDER BY g", "scan",
	       "g0|99500\ng1|99700\ng2|99900\ng3|100100\ng4|100300\n");
	expect(s.con, "SELECT a, count(*) FROM t WHERE v < 7 GROUP BY a ORDER BY a", "scan",
	       "0|1\n1|1\n2|1\n3|1\n4|1\n5|1\n6|1\n");
	expect(s.con, "SELECT count(*), min(name) FROM rayql_structures()", NULL, "1|auto columns of t\n");
	run(s.con, "INSERT INTO t VALUES (0, 'g0', 1)");
	expect(s.con, "SELECT sum(v) FROM t", "scan", "499501\n");
	run(s.con, "DELETE FROM t WHERE v = 1");
	expect(s.con, "SELECT sum(v) FROM t", "scan", "499499\n");
	refused(s.con, "SELECT stddev(v) > 0 FROM t", "is not among");
	close_session(&s);
}

/* Cubes win where both answer. */
static void beside_cubes(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	left_to_duckdb1();
	run(s.con, "CREATE TABLE t AS SELECT (i % 7)::INTEGER a, 'g' || (i % 5) g, i::INTEGER v FROM range(300000) r(i)");
	run(s.con, "CREATE INDEX c ON t USING columns (*)");
	run(s.con, "CREATE MATERIALIZED VIEW m AS SELECT g, sum(v) FROM t GROUP BY g");
	expect(s.con, "SELECT g, sum(v) FROM t GROUP BY g HAVING g = 'g1'", "cube", "g1|8999910000\n");
	expect(s.con, "SELECT a, sum(v) FROM t WHERE a = 3 GROUP BY a", "scan", "3|6428507143\n");
	close_session(&s);
}

/* Bytes that the last query read of columns. */
static double bytes_read(rayql_connection *con)
{
	rayql_query_info info = {.size = sizeof info};
	assert_int_equal(rayql_last_query(con, &info), RAYQL_OK);
	return (double)info.bytes_read;
}

/* Functions of a column of dates: conditions that are ranges of days skip blocks, and everything is as the host says. */
static void dates(void **state)
{
	(void)state;
	struct session s = scan_session();
	run(s.con,
	    "CREATE TABLE e AS SELECT CASE WHEN i % 97 = 0 THEN NULL ELSE DATE '1990-01-01' + (i // 100)::INTEGER END "
	    "AS day, CASE WHEN i % 7 = 0 THEN NULL ELSE DATE '1969-11-20' + (i * 7919 % 900)::INTEGER END AS other, "
	    "(i % 500)::INTEGER AS v FROM range(400000) AS q(i)");
	run(s.con, "CREATE INDEX ec ON e USING columns (day, other, v)");
	same(s.con, "SELECT count(*), sum(v) FROM e WHERE day IS NOT NULL");
	double all = bytes_read(s.con);
	same(s.con, "SELECT count(*), sum(v) FROM e WHERE year(day) = 1994");
	assert_true(bytes_read(s.con) < all / 4); /* of eleven years one */
	same(s.con, "SELECT count(*), sum(v) FROM e WHERE year(day) * 100 + month(day) = 199402 AND v < 50");
	same(s.con, "SELECT count(*), sum(v) FROM e WHERE week(day) = 6");
	same(s.con, "SELECT count(*), sum(v) FROM e WHERE week(day) = 6 AND year(day) = 1994");
	assert_true(bytes_read(s.con) < all / 8);
	same(s.con, "SELECT count(*) FROM e WHERE day IS NOT NULL AND year(day) % 1000 = 7");
	same(s.con, "SELECT count(*) FROM e WHERE year(day) IS NULL OR month(day) = 2");
	same(s.con, "SELECT count(*) FROM e WHERE coalesce(year(other), 1970) = 1970 AND dayofweek(day) IN (1, 3)");
	same(s.con, "SELECT year(day), quarter(other), count(*), sum(v) FROM e GROUP BY ALL ORDER BY ALL");
	same(
		s.con,
		"SELECT coalesce(year(other), 0), sum(v) FILTER (WHERE month(day) < 4), max(day) FROM e GROUP BY 1 ORDER BY 1");
	same(s.con, "SELECT sum(CASE WHEN year(other) = 1970 THEN v ELSE 1 END), count(month(day)) FROM e");
	run(s.con, "INSERT INTO e VALUES (DATE '2150-05-05', DATE '1600-01-01', 1), (NULL, DATE '2000-02-29', 2)");
	same(s.con, "SELECT year(day), count(*), min(other) FROM e WHERE year(other) <> 1970 GROUP BY 1 ORDER BY 1");
	run(s.con, "BEGIN");
	same(s.con, "SELECT year(day), count(*) FROM e WHERE month(other) = 2 GROUP BY 1 ORDER BY 1");
	run(s.con, "COMMIT");
	close_session(&s);
}

/* A condition on what a key's column determines leaves few of the keys: also when rows come that break that. */
static void determined(void **state)
{
	static const char *const queries[] = {
		"SELECT city, sum(x), count(*) FROM c WHERE nation = 'nation 3' GROUP BY city ORDER BY city",
		"SELECT city, sum(x) AS total FROM c WHERE nation IN ('nation 3', 'nation 7') AND region <> 'region 1' GROUP BY "
		"city HAVING sum(x) > 30000 ORDER BY total DESC, city LIMIT 5",
		"SELECT city, nation, region, count(*) FROM c WHERE region = 'region 2' GROUP BY ALL ORDER BY ALL",
		"SELECT city, count(*) FROM c WHERE nation IS NULL GROUP BY city ORDER BY city NULLS FIRST",
		"SELECT city, count(*) FROM c WHERE nation IS NULL OR nation = 'nation 3' GROUP BY city ORDER BY city",
		"SELECT city, count(*) FROM c WHERE nation IS NOT NULL AND city > 'city 5' GROUP BY city ORDER BY city",
		"SELECT city, count(*) FROM c WHERE nation = 'nation 3x' GROUP BY city ORDER BY city",
		"SELECT city, count(*) FROM c WHERE nation = 'nation 3' AND region = 'region 4' GROUP BY city ORDER BY city",
		"SELECT upper(city) AS u, length(city) AS l, min(x) FROM c WHERE nation LIKE '%2' GROUP BY ALL ORDER BY ALL",
		"SELECT city, upper(city), count(DISTINCT nation), count(DISTINCT x) FROM c WHERE nation <= 'nation 2' GROUP BY "
		"ALL ORDER BY city",
		"SELECT nation, count(DISTINCT city) FROM c WHERE nation IN ('nation 1', 'nation 5') GROUP BY nation ORDER BY 1",
		"SELECT nation, sum(x) FROM c WHERE city IN ('city 11', 'city 12', 'city 150') GROUP BY nation ORDER BY nation",
		"SELECT year(d) AS y, count(*), sum(x) FROM c WHERE d >= DATE '1994-03-01' AND d < DATE '1996-07-01' GROUP BY y "
		"ORDER BY y",
		"SELECT d, count(*) FROM c WHERE d BETWEEN DATE '1992-12-30' AND DATE '1993-01-02' GROUP BY d ORDER BY d",
		"SELECT d, d - 3, count(*) FROM c WHERE year(d) = 1995 AND month(d) = 2 GROUP BY ALL ORDER BY ALL",
		"SELECT n, n + 5, count(*) FROM c WHERE n BETWEEN -7 AND 3 GROUP BY ALL ORDER BY n",
		"SELECT n, city, sum(x) FROM c WHERE n < -95 AND nation = 'nation 8' GROUP BY ALL ORDER BY ALL",
		"SELECT n, count(*) FROM c WHERE n > 97 OR n IS NULL GROUP BY n ORDER BY n NULLS FIRST",
		"SELECT far, nation, count(*) FROM c WHERE far > 9000000000000000000 AND nation < 'nation 4' GROUP BY ALL ORDER "
		"BY ALL",
	};
	/* New cities, nations and NULLs among them; a city in another nation; days and numbers beyond all. */
	static const char *const writes[] = {
		"INSERT INTO c SELECT 'city ' || i, 'nation ' || i // 10, CASE WHEN i // 10 <> 3 THEN 'region ' || i // 40 END, "
		"DATE '1991-01-01' + i::INTEGER, -100 - i, i, i FROM range(195, 260) AS q(i)",
		"INSERT INTO c VALUES (NULL, NULL, NULL, NULL, NULL, NULL, 3), (NULL, NULL, 'region 2', NULL, NULL, NULL, 4)",
		"INSERT INTO c VALUES ('city 111', 'nation 3', 'region 1', DATE '1994-05-05', 200, 1, 5)",
		"INSERT INTO c VALUES ('city 112', NULL, 'region 1', DATE '2100-05-05', -2000, 1, 6)",
		"REFRESH INDEX cc",
		"UPDATE c SET nation = 'nation 7' WHERE city = 'city 112'; REFRESH INDEX cc",
		"DELETE FROM c WHERE city IN ('city 111', 'city 112'); REFRESH INDEX cc",
		"DELETE FROM c; REFRESH INDEX cc",
	};
	struct session s = scan_session();
	(void)state;
	run(s.con, "CREATE TABLE c AS SELECT CASE WHEN j = 77 THEN NULL ELSE 'city ' || j END AS city, CASE WHEN j // 10 = 5 "
	           "OR j = 77 THEN NULL ELSE 'nation ' || j // 10 END AS nation, CASE WHEN j // 10 <> 3 THEN 'region ' || j // 40 "
	           "END AS region, DATE '1992-01-01' + (i % 2500)::INTEGER AS d, CASE WHEN i % 13 <> 0 THEN (i % 201 - "
	           "100)::INTEGER END AS n, CASE i % 5 WHEN 0 THEN 9223372036854775807 - i % 3 WHEN 1 THEN "
	           "-9223372036854775807 + i % 3 END AS far, (i % 997)::INTEGER AS x FROM (SELECT i, i * 7919 % 200 AS j FROM "
	           "range(20000) AS q(i)) AS q");
	run(s.con, "CREATE INDEX cc ON c USING columns (*)");
	for (size_t w = 0; w <= sizeof writes / sizeof *writes; w++) {
		for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
			same_at(s.con, queries[i], w == sizeof writes / sizeof *writes ? NULL : "scan", __FILE__, __LINE__);
		if (w < sizeof writes / sizeof *writes)
			run(s.con, writes[w]);
	}
	close_session(&s);
}

/* Functions of many strings, which plans share: other texts, after rows with new strings and with NULL, on a second
 * connection after the first has gone, without their column, and where no memory is left to keep them. */
static void functions_of_many_strings(void **state)
{
	static const char *const queries[] = {
		"SELECT id % 7 g, sum(length(u)), avg(strlen(u)), count(length(u)) FROM m GROUP BY g ORDER BY g",
		"SELECT substring(u, 12, 17) k, count(*), sum(length(u)) FROM m GROUP BY k ORDER BY ALL LIMIT 40",
		"SELECT regexp_replace(u, '^https?://(?:www\\.)?([^/]+)/.*$', '\\1') k, count(*), min(u) FROM m GROUP BY k ORDER BY ALL",
		"SELECT lower(u) k, length(u) n, count(*) FROM m WHERE id < 3000 GROUP BY ALL ORDER BY ALL LIMIT 25",
		"SELECT count(*), max(length(u) * 2) FROM m WHERE u LIKE '%e1%' AND length(u) > 30",
		"SELECT CASE WHEN u LIKE 'https%' THEN 'a constant beyond twelve bytes' ELSE u END k, count(*) FROM m GROUP BY k "
		"ORDER BY ALL LIMIT 30",
		/* of few values, which conditions are tested on where another plan has found them */
		"SELECT length(u) k, count(*) FROM m GROUP BY k ORDER BY k",
		"SELECT substring(u, 1, 5) k, count(*) FROM m WHERE substring(u, 1, 5) IN ('https', 'http:', '', NULL) GROUP BY k ORDER BY k",
		"SELECT count(*), min(id) FROM m WHERE length(u) NOT IN (38, 40, 41) AND substring(u, 1, 5) <> 'https'",
		"SELECT count(*), max(id) FROM m WHERE NOT (length(u) BETWEEN 36 AND 39) OR substring(u, 1, 5) IS NULL OR length(u) < 1",
	};
	static const char *const steps[] = {
		"SELECT 1",
		"INSERT INTO m SELECT i::INTEGER, 'http://new-' || (i % 5) || '.example/' || i FROM range(20000, 21000) r(i)",
		"INSERT INTO m VALUES (30000, NULL), (30001, 'ÄÖÜ, no address, of Straße'), (30002, '')",
		"DELETE FROM m WHERE id % 9 = 4",
		"SET rayql_memory_limit = '1MB'",
		"DROP INDEX mc; CREATE OR REPLACE TABLE m AS SELECT i::INTEGER id, 'https://www.other.example/' || i u FROM range(9000) r(i); "
		"SET rayql_memory_limit = '4GB'; CREATE INDEX mc ON m USING columns (*)",
	};
	(void)state;
	struct session s = scan_session();
	rayql_connection *other = NULL;
	run(s.con, "CREATE TABLE m AS SELECT i::INTEGER id, 'http' || (CASE WHEN i % 2 = 0 THEN 's' ELSE '' END) || '://www.site' || "
	           "(i * 7 % 300) || '.example/page' || (i % 12000) u FROM range(20000) r(i)");
	run(s.con, "CREATE INDEX mc ON m USING columns (*)");
	for (size_t step = 0; step < (host_is_2() ? 2 : sizeof steps / sizeof *steps); step++) {
		const char *method = step < 3 ? "scan" : NULL; /* then there may be no room for columns */
		run(s.con, steps[step]);
		for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
			char text[512];
			assert_int_equal(rayql_connect(s.db, &other, NULL), RAYQL_OK);
			run(other, "SET rayql_force = on");
			same_at(other, queries[i], method, __FILE__, (int)(1000 * step + i));
			rayql_disconnect(other); /* with its plans: what they shared stays */
			snprintf(text, sizeof text, "%s -- as a text of its own, step %u", queries[i], (unsigned)step);
			same_at(s.con, text, method, __FILE__, (int)(1000 * step + i));
		}
	}
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_table), cmocka_unit_test(stars),        cmocka_unit_test(refusals),
		cmocka_unit_test(errors),    cmocka_unit_test(freshness),    cmocka_unit_test(in_transaction),
		cmocka_unit_test(by_itself), cmocka_unit_test(beside_cubes), cmocka_unit_test(dates),
		cmocka_unit_test(determined), cmocka_unit_test(real_keys), cmocka_unit_test(wide_sums), cmocka_unit_test(functions_of_many_strings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
