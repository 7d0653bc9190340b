/* Groups that stay on a device: grouped once more, filtered, joined, and counted DISTINCT there. Every answer is DuckDB's, and
 * EXPLAIN says that the groups stayed. Random queries, keys and aggregates of every kind that has a field, NULLs, groups
 * that are more than was expected, none at all, errors, and devices that fail. */
#include "check.h"
#include "device.h"

static struct session groups_session(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con,
	    "CREATE TABLE t AS SELECT (hash(i) % 3000)::INTEGER k, (hash(i % 4500) % 1000000007)::BIGINT * 3 w, "
	    "(i % 23)::SMALLINT f, (hash(i * 3) % 2000)::INTEGER - 1000 v, ((hash(i * 5) % 100000)::BIGINT - 50000)::DECIMAL(9, 2) m, "
	    "((hash(i * 7) % 64)::DOUBLE - 32) / 8 d, DATE '2019-01-01' + (hash(i * 11) % 90)::INTEGER a, "
	    "'s' || (hash(i * 13) % 70) s, i % 3 = 0 b FROM range(9000) r(i)");
	run(s.con, "UPDATE t SET k = NULL WHERE v = 7; UPDATE t SET v = NULL WHERE hash(k) % 5 = 0; "
	           "UPDATE t SET d = CASE k % 4 WHEN 0 THEN 'NaN'::DOUBLE WHEN 1 THEN -0.0 WHEN 2 THEN 0.0 END WHERE k % 7 < 2; "
	           "UPDATE t SET m = NULL WHERE k % 11 = 3; UPDATE t SET s = NULL WHERE k % 13 = 2; "
	           "UPDATE t SET f = NULL WHERE v % 50 = 1");
	run(s.con, "CREATE TABLE o AS SELECT (hash(i * 17) % 4000)::INTEGER k, (i % 23)::SMALLINT f, 's' || (hash(i) % 90) s, i::INTEGER n "
	           "FROM range(5000) r(i)");
	run(s.con, "CREATE INDEX c ON t USING columns (*); CREATE INDEX co ON o USING columns (*)");
	use(s.con, "compute");
	return s;
}

/* DuckDB's answer, by a scan, or by partitions. */
static void equals_at(rayql_connection *con, const char *sql, int line)
{
	run(con, "SET rayql_enable_scan = off; SET rayql_enable_group = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on; SET rayql_enable_group = on");
	expect_at(con, sql, NULL, want, __FILE__, line);
	expect_at(con, "SELECT method IN ('scan', 'group', 'materialise') FROM rayql_last_query()", NULL, "true\n", __FILE__, line);
	free(want);
}

/* The same, over groups that stay on the device. */
static void same_at(rayql_connection *con, const char *sql, int line)
{
	char text[2048];
	if (!(sql = usual(sql)) || left_out())
		return;
	equals_at(con, sql, line);
	snprintf(text, sizeof text, "EXPLAIN %s", sql);
	char *explain = rows_of(con, text, NULL);
	if (!strstr(explain, "which stay on the device") && !strstr(explain, "join with groups of"))
		fail_msg("line %d: no groups stay on the device: %s\n%s", line, sql, explain);
	free(explain);
}
#define same(con, sql) same_at(con, sql, __LINE__)

/* Every kind of key and aggregate as a column that is grouped by, added up or compared. */
static void columns(rayql_connection *con)
{
	same(con, "SELECT n, count(*) FROM (SELECT k, count(*) n FROM t GROUP BY k) GROUP BY n ORDER BY ALL");
	same(con, "SELECT f, count(*), count(k), sum(n), sum(sv), sum(sm), min(lo), max(hi), min(ld), max(hd), max(ha), min(ls), "
	          "count(c), count(sv) FROM (SELECT f, k, b, count(*) n, count(v) c, sum(v) sv, sum(m) sm, min(v) lo, "
	          "max(v) hi, min(d) ld, max(d) hd, max(a) ha, min(s) ls FROM t GROUP BY f, k, b) GROUP BY f ORDER BY ALL");
	same(con, "SELECT ls, ha, count(*) FROM (SELECT k, max(a) ha, min(s) ls FROM t GROUP BY k) GROUP BY ls, ha ORDER BY ALL");
	same(con, "~SELECT s, count(*), sum(n) FROM (SELECT DISTINCT s, a, 1 n FROM t) GROUP BY s ORDER BY ALL");
	same(con, "SELECT y, sum(n) FROM (SELECT year(a) * 100 + month(a) y, substring(s, 1, 2) x, count(*) n FROM t GROUP BY ALL) "
	          "GROUP BY y ORDER BY ALL");
	same(con, "SELECT x, sum(n), count(*) FROM (SELECT substring(s, 1, 2) x, s z, count(*) n FROM t GROUP BY ALL) GROUP BY x ORDER BY ALL");
	same(con, "~SELECT b, count(*) FROM (SELECT b, f FROM t GROUP BY b, f) GROUP BY b ORDER BY ALL");
	same(con, "~SELECT n % 3, count(*) FROM (SELECT w, count(*) n FROM t GROUP BY w) GROUP BY ALL ORDER BY ALL");
}

/* Averages of every kind, of sums of 64 and of 128 bits: above them each digit shows. */
static void averages(rayql_connection *con)
{
	run(con, "CREATE TABLE a AS SELECT (hash(i) % 3000)::INTEGER k, (hash(i * 3)::UBIGINT // 2)::BIGINT - 4611686018427387904 g, "
	         "((hash(i * 5) % 60000)::INTEGER - 30000)::SMALLINT h, (hash(i * 7) % 250)::UTINYINT c, "
	         "(((hash(i * 11) % 200000)::BIGINT - 100000) / 7)::DECIMAL(18, 9) m, (hash(i * 13) % 9999 / 1000)::DECIMAL(4, 3) n, "
	         "(CASE i % 5 WHEN 0 THEN 4.9e-324 * (i % 9) WHEN 1 THEN -1e308 ELSE (i % 1000) / 7 END)::DOUBLE d FROM range(9000) r(i)");
	run(con, "UPDATE a SET g = NULL, m = NULL WHERE k % 5 = 1; UPDATE a SET h = NULL, d = NULL WHERE k % 7 = 1; "
	         "CREATE INDEX ca ON a USING columns (*)");
	same(con, "SELECT k % 500 y, min(x), max(x), count(x) FROM (SELECT k, avg(g) x FROM a GROUP BY k) GROUP BY y ORDER BY ALL");
	same(con, "SELECT k % 500 z, min(x), max(x), min(y), max(y) FROM (SELECT k, avg(h) x, avg(m) y FROM a GROUP BY k) GROUP BY z ORDER BY ALL");
	same(con, "~SELECT k % 700 w, min(x), max(y), max(z) FROM (SELECT k, avg(n) x, avg(c) y, avg(k) z FROM a GROUP BY k) GROUP BY w ORDER BY ALL");
	same(con, "SELECT k % 900 y, max(x) FROM (SELECT k, avg(d) x FROM a GROUP BY k HAVING count(d) = 1) GROUP BY y ORDER BY ALL");
	same(con, "~SELECT k % 90 y, max(x) c FROM (SELECT k, avg(c) x FROM a GROUP BY k) GROUP BY y ORDER BY c DESC, y DESC LIMIT 7");
	same(con, "SELECT t.f, count(*), max(q.x) FROM t JOIN (SELECT k, avg(g) x FROM a GROUP BY k) q ON t.k = q.k GROUP BY t.f ORDER BY ALL");
}

/* Groups by partitions of a hash, too, stay there: every kind of key, number and average, NULLs, more than was expected. */
static void partitions(rayql_connection *con)
{
	static const char *const queries[] = {
		"SELECT x, count(*), sum(k) FROM (SELECT w, count(*) x, max(k) k FROM t GROUP BY w) GROUP BY x ORDER BY ALL",
		"SELECT x, z, count(*), sum(y) FROM (SELECT k, s, sum(v) x, sum(m) y, max(a) z FROM t GROUP BY k, s) GROUP BY ALL ORDER BY ALL",
		"SELECT x, k, count(*), min(s), max(b), min(y) FROM (SELECT k, s, b, min(v) x, max(d) y FROM t GROUP BY k, s, b) GROUP BY ALL ORDER BY ALL",
		"~SELECT x, y, s, count(*) FROM (SELECT w, upper(s) s, sum(v) x, min(a) y FROM t GROUP BY w, upper(s)) GROUP BY ALL ORDER BY ALL",
		"SELECT k, c, min(x), max(y), max(z) FROM (SELECT k, c, avg(g) x, avg(h) y, avg(m) z FROM a GROUP BY k, c) GROUP BY ALL ORDER BY ALL",
		"SELECT k, c, max(x) FROM (SELECT k, c, avg(d) x FROM a WHERE d < 0.1 GROUP BY k, c) GROUP BY ALL ORDER BY ALL",
		"SELECT k, c, sum(x), sum(y), count(x) FROM (SELECT k, c, sum(x) x, sum(y) y FROM (SELECT k, c, h, sum(g) x, sum(m) y FROM a "
		"GROUP BY k, c, h) GROUP BY k, c) GROUP BY k, c ORDER BY ALL",
		"~SELECT x, max(n), min(s) FROM (SELECT x, count(*) n, sum(x) s FROM h GROUP BY x) GROUP BY x ORDER BY ALL",
		"SELECT k, c, sum(x), count(x), max(y) FROM (SELECT k, f, count(*) c, sum(g) x, avg(g) y FROM z GROUP BY k, f) GROUP BY k, c ORDER BY ALL",
		"SELECT c, m, count(*), min(d) FROM (SELECT d, count(*) c, max(n) m FROM r GROUP BY d) GROUP BY c, m ORDER BY ALL",
	};
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i += QUERY_STEP) {
		const char *sql = usual(queries[i]);
		if (!sql)
			continue;
		run(con, "SET rayql_enable_scan = off; SET rayql_enable_group = off");
		char *want = rows_of(con, sql, NULL), text[1024];
		run(con, "SET rayql_enable_group = on");
		for (int again = 0; again < 2; again++)
			expect_at(con, sql, "group", want, __FILE__, __LINE__);
		snprintf(text, sizeof text, "EXPLAIN %s", sql);
		char *explain = rows_of(con, text, NULL);
		holds(explain, "by group, which stay on the device");
		free(explain);
		free(want);
	}
	run(con, "SET rayql_enable_scan = on");
}

/* Sums of 128-bit types stay where it is proved that 64 bits hold them: sums of sums add up to what their rows do, and a single
 * great value counts for its block's rows only. Those between 2^63 and 2^64 do not stay. */
static void wide_sums(rayql_connection *con)
{
	run(con, "CREATE TABLE q AS SELECT (hash(i) % 3000)::INTEGER k, (i % 23)::SMALLINT f, (i * 7919 % 100003 - 40000) * 1000000007 b, "
	         "CASE i WHEN 5000 THEN 1000000000000000 WHEN 9000 THEN -1000000000000000 ELSE i * 7919 % 100003 END g, "
	         "CASE WHEN i < 18000 THEN 0 ELSE i * 11 END h, 750000000000000 + i % 3 w FROM range(20000) r(i); "
	         "UPDATE q SET b = NULL WHERE k % 17 = 3; CREATE INDEX cq ON q USING columns (*)");
	same(con, "SELECT count(*), count(y), min(y), max(y), sum(y), max(n) FROM (SELECT f, sum(x) y, sum(n) n FROM (SELECT f, k, sum(b) x, "
	          "count(*) n FROM q GROUP BY f, k) GROUP BY f) WHERE n > 5");
	same(con, "~SELECT f % 5 p, min(y), max(y) FROM (SELECT f, sum(x) y FROM (SELECT f, k, max(b) x FROM q GROUP BY f, k) GROUP BY f) "
	          "GROUP BY p ORDER BY ALL");
	same(con, "SELECT f, min(x), max(x), count(*) FROM (SELECT f, k, sum(g) x FROM q GROUP BY f, k) GROUP BY f ORDER BY ALL");
	same(con, "SELECT o.f, count(*), max(y) FROM o JOIN (SELECT f, sum(x) y FROM (SELECT f, k, sum(b) x FROM q GROUP BY f, k) GROUP BY f) g "
	          "ON o.f = g.f GROUP BY o.f ORDER BY ALL");
	expect(con, "SELECT max(x), count(*) FROM (SELECT h, sum(w) x FROM q GROUP BY h) WHERE x > 750000000000001", NULL,
	       "13500000000000018000|667\n");
}

/* Sums beyond 64 bits stay as two halves: added up again with their carry, compared, joined, ordered, NULL, DECIMAL. */
static void halves(rayql_connection *con)
{
	run(con, "CREATE TABLE z AS SELECT (hash(i) % 2500)::INTEGER k, (i % 9)::TINYINT f, CASE i % 7 WHEN 0 THEN "
	         "9223372036854775807 WHEN 1 THEN -9223372036854775808 WHEN 2 THEN NULL ELSE hash(i)::HUGEINT - 9223372036854775808 END::BIGINT g, "
	         "(((hash(i * 3) % 1999999999999999999)::HUGEINT - 999999999999999999) / 1000)::DECIMAL(18, 2) m FROM range(9000) r(i); "
	         "UPDATE z SET g = NULL WHERE k % 11 = 3; UPDATE z SET g = 0 WHERE k % 13 = 3; CREATE INDEX cz ON z USING columns (*)");
	same(con, "SELECT sum(x), sum(y), count(x), max(n) FROM (SELECT f, sum(x) x, sum(y) y, sum(n) n FROM (SELECT f, k, sum(g) x, sum(m) y, "
	          "count(*) n FROM z GROUP BY f, k) GROUP BY f)");
	same(con, "SELECT n, count(*) FILTER (WHERE x > 9223372036854775807), count(*) FILTER (WHERE x < -9223372036854775808), "
	          "count(*) FILTER (WHERE x <> 0), count(*) FILTER (WHERE x >= 18446744073709551616), count(*) FILTER (WHERE x <= -4294967296), "
	          "count(*) FILTER (WHERE x = 0 OR x < 2147483648), sum(x) FILTER (WHERE x BETWEEN -9223372036854775809 AND 0), "
	          "count(*) FILTER (WHERE x < 100000000000000000000000000000), sum(y) FILTER (WHERE y >= 12345678901.50 OR x IN (0, 7)) "
	          "FROM (SELECT k, sum(g) x, sum(m) y, count(*) n FROM z GROUP BY k) GROUP BY n ORDER BY ALL");
	same(con, "~SELECT count(*), sum(x) FROM (SELECT k, sum(g) x, sum(m) y FROM z GROUP BY k) WHERE x = 0 AND y > -99999999999999999.99");
	same(con, "~SELECT o.n, q.y, q.x FROM o LEFT JOIN (SELECT k, sum(g) x, sum(m) y FROM z GROUP BY k) q ON o.k = q.k ORDER BY q.x, o.n");
	same(con, "SELECT o.n + p.n, q.x, q.y FROM o JOIN o p ON o.k = p.k LEFT JOIN (SELECT k, sum(g) x, sum(m) y FROM z GROUP BY k) q ON o.k = q.k "
	          "WHERE q.x < 0 OR q.x IS NULL ORDER BY q.x DESC NULLS LAST, o.n, p.n LIMIT 500");
	same(con, "SELECT o.f, sum(q.x), count(q.x), avg(q.x) FROM o LEFT JOIN (SELECT k, sum(g) x FROM z GROUP BY k HAVING sum(g) > 3) q ON o.k = q.k "
	          "GROUP BY o.f ORDER BY ALL");
}

/* ... as keys of groups and of joins, computed, and in a UNION ALL, also beside sums and columns that are whole numbers. */
static void halves_above(rayql_connection *con)
{
	run(con, "CREATE TABLE y AS SELECT CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 7 ELSE i - 3 END::BIGINT w, "
	         "(i * 1000000007 % 8000 - 4000)::BIGINT v, i::INTEGER n FROM range(9000) r(i); CREATE INDEX cy ON y USING columns (*)");
	same(con, "SELECT c, f, count(*) FROM (SELECT x, f, count(*) c FROM (SELECT k, f, sum(g) x FROM z GROUP BY k, f) GROUP BY x, f) "
	          "GROUP BY c, f ORDER BY ALL");
	same(con, "SELECT f, sum(x - y * 3 + 5), avg(x + y), count(-1 * x), count(*) FILTER (WHERE x + y > -7 AND x - y < 9223372036854775809), "
	          "count(*) FILTER (WHERE x * -1000 < y - 1 OR x + x IS NULL) FROM (SELECT k, f, sum(g) x, sum(g // 3) y FROM z GROUP BY k, f) "
	          "GROUP BY f ORDER BY ALL");
	same(con, "SELECT count(*), sum(p.c), sum(q.c) FROM (SELECT k, sum(g) x, count(*) c FROM z GROUP BY k) p JOIN (SELECT f, k, sum(g) x, "
	          "count(*) c FROM z GROUP BY f, k) q ON p.x = q.x");
	same(con, "SELECT count(*), count(q.c) FROM y FULL JOIN (SELECT k, sum(g) x, count(*) c FROM z GROUP BY k) q ON y.v = q.x");
	same(con, "SELECT count(*), sum(x), count(c) FROM (SELECT k, sum(g) x, count(*) c FROM z GROUP BY k UNION ALL SELECT n, w, v FROM y UNION ALL "
	          "SELECT n, sum(v), 3 FROM y GROUP BY n)");
}

/* The one extreme of them all, and what is counted DISTINCT: NULLs, both ends, equal sums of several groups, and none at all. */
static void halves_alone(rayql_connection *con)
{
	same(con, "SELECT max(x) FROM (SELECT k, sum(g) x FROM z GROUP BY k)");
	same(con, "SELECT min(x) FROM (SELECT k, f, sum(m) x FROM z GROUP BY k, f) WHERE x IS NULL OR x > -99999999999999999.99");
	same(con, "SELECT min(x) FROM (SELECT k, sum(g) x FROM z GROUP BY k HAVING count(*) > 20000)");
	same(con, "SELECT count(DISTINCT x), sum(x) FROM (SELECT k, f, sum(g) x FROM z GROUP BY k, f)");
	same(con, "~SELECT f, count(DISTINCT x) d, count(x), count(*), avg(n) FROM (SELECT k, f, sum(g) x, count(*) n FROM z GROUP BY k, f) "
	          "GROUP BY f ORDER BY ALL");
}

/* Extremes of groups, several and with others beside them: NULL keys and values, both ends, conditions, the first groups of an
 * order, keys that are computed, rows that were joined; and a join by two such sums. */
static void halves_by_groups(rayql_connection *con)
{
	same(con, "SELECT f, max(x), min(x), max(y), min(y), sum(x), count(x), max(n), avg(n) FROM (SELECT k, f, sum(g) x, sum(m) y, count(*) n "
	          "FROM z GROUP BY k, f) GROUP BY f ORDER BY ALL");
	same(con, "~SELECT f, max(x), min(s), max(s) FROM (SELECT k, f, sum(g) x, sum(f) s FROM z GROUP BY k, f) "
	          "WHERE s > 3 OR x IS NULL GROUP BY f ORDER BY ALL");
	same(con, "SELECT p, q, max(x - y * 3 + 5), min(x) FILTER (WHERE n > 1), max(x) FILTER (WHERE y < 0) FROM (SELECT CASE WHEN f < 7 THEN f END p, "
	          "k % 5 q, k, sum(g) x, sum(g // 3) y, count(*) n FROM z GROUP BY ALL) WHERE x <> 7 OR x IS NULL GROUP BY p, q ORDER BY ALL");
	same(con, "SELECT k, max(x) h FROM (SELECT k, f, sum(g) x FROM z GROUP BY k, f) GROUP BY k HAVING min(x) < 0 ORDER BY h DESC NULLS LAST, k LIMIT 7");
	same(con, "~SELECT o.f, min(q.x), max(q.x) FROM o JOIN (SELECT k, sum(g) x FROM z GROUP BY k) q ON o.k = q.k GROUP BY o.f ORDER BY ALL");
	same(con, "SELECT count(*), sum(p.c), sum(q.c) FROM (SELECT k, sum(g) x, sum(m) y, count(*) c FROM z GROUP BY k) p JOIN (SELECT f, k, sum(g) x, "
	          "sum(m) y, count(*) c FROM z GROUP BY f, k) q ON p.x = q.x AND p.y = q.y");
}

/* Keys that are reals: equal ones are one group, whatever their sign or type, and each shows as it is. */
static void reals(rayql_connection *con)
{
	run(con, "CREATE TABLE r AS SELECT CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN -0.0 WHEN 2 THEN 'NaN' WHEN 3 THEN 'inf' WHEN 4 THEN '-inf' "
	         "ELSE (hash(i) % 5000)::DOUBLE / 7 - 300 END::DOUBLE d, ((hash(i * 3) % 900)::DOUBLE / 16 - 20)::FLOAT e, "
	         "CASE i % 3 WHEN 0 THEN 0.0 WHEN 1 THEN -0.0 ELSE i % 4 END::DOUBLE z, (i % 23)::SMALLINT f, i::INTEGER n FROM range(16000) r(i); "
	         "CREATE INDEX cr ON r USING columns (*)");
	same(con, "SELECT d, c, count(*) FROM (SELECT d, f, count(*) c FROM r GROUP BY d, f) GROUP BY d, c ORDER BY ALL");
	same(con, "SELECT c, count(*), min(e), max(e) FROM (SELECT e, count(*) c FROM r WHERE e <> 0 GROUP BY e) GROUP BY c ORDER BY ALL");
	same(con, "SELECT count(*), max(c), sum(c), count(z) FROM (SELECT z, count(*) c FROM r GROUP BY z)");
	same(con, "~SELECT f, count(*), max(x) FROM (SELECT d * 2 x, f, max(e) y FROM r GROUP BY d * 2, f) WHERE y > 30 GROUP BY f ORDER BY ALL");
}

/* What is above: conditions, expressions, three levels, no key, the first groups of an order. */
static void above(rayql_connection *con)
{
	same(con, "SELECT n, count(*) FROM (SELECT k, count(*) n, sum(v) x FROM t GROUP BY k) WHERE x > 0 AND n > 5 GROUP BY n ORDER BY ALL");
	same(con, "~SELECT count(*), sum(n), min(x), max(x) FROM (SELECT k, count(*) n, sum(v) x FROM t GROUP BY k) WHERE x IS NOT NULL");
	same(con, "SELECT count(*), sum(n) FROM (SELECT k, count(*) n FROM t WHERE v > 5000 GROUP BY k)");
	same(con, "SELECT c, count(*) FROM (SELECT n, count(*) c FROM (SELECT k, count(*) n FROM t GROUP BY k) GROUP BY n) GROUP BY c ORDER BY ALL");
	same(con, "SELECT x, count(*) c FROM (SELECT k, sum(v) x FROM t GROUP BY k) GROUP BY x ORDER BY c DESC, x LIMIT 5");
	same(con, "~SELECT max(x + n) - min(x) FROM (SELECT k, sum(v) x, count(*) n FROM t GROUP BY k)");
}

/* Rows that are joined, and groups that are. */
static void joins(rayql_connection *con)
{
	same(con, "SELECT c, count(*) FROM (SELECT o.k, count(t.v) c FROM o LEFT JOIN t ON o.k = t.k GROUP BY o.k) GROUP BY c ORDER BY ALL");
	same(con, "SELECT o.f, count(*), sum(g.x) FROM o JOIN (SELECT k, sum(v) x FROM t GROUP BY k) g ON o.k = g.k GROUP BY o.f ORDER BY ALL");
	same(con, "SELECT g.n, count(*), sum(h.n) FROM (SELECT k, count(*) n FROM t GROUP BY k) g JOIN (SELECT k, max(n) n FROM o GROUP BY k) h "
	          "ON g.k = h.k GROUP BY g.n ORDER BY ALL");
	same(con, "~SELECT g.s, count(*), min(o.n) FROM (SELECT DISTINCT s, f FROM t) g JOIN o ON g.f = o.f GROUP BY g.s ORDER BY ALL");
}

/* A DISTINCT argument: groups by it, too, are grouped once more. */
static void distinct(rayql_connection *con)
{
	run(con, "CREATE TABLE u AS SELECT (hash(i) % 6000)::INTEGER x, (i % 7)::INTEGER g, i::INTEGER v, (i % 1001)::SMALLINT s, "
	         "(hash(i) % 100000)::DECIMAL(9, 2) m FROM range(9000) r(i); UPDATE u SET s = NULL WHERE v % 3 = 0; "
	         "UPDATE u SET x = NULL WHERE x % 91 = 0; CREATE INDEX cu ON u USING columns (*)");
	same(con, "SELECT count(DISTINCT x), sum(v), max(v) FROM u");
	same(con, "~SELECT count(DISTINCT x), avg(s) FROM u");
	same(con, "SELECT g, avg(m), count(DISTINCT x), avg(v) FROM u GROUP BY g ORDER BY ALL");
	same(con, "~SELECT g, count(DISTINCT x) c, count(*), sum(v), min(v), count(x) FROM u GROUP BY g ORDER BY ALL");
}

/* Far more groups than a sample says, so that the memory for them grows. */
static void growth(rayql_connection *con)
{
	run(con, "CREATE TABLE h AS SELECT CASE WHEN i % 4096 < 64 OR i > 60000 THEN (i * 7919)::BIGINT % 4000000007 ELSE 5 END x FROM "
	         "range(120000) r(i); CREATE INDEX ch ON h USING columns (*)");
	for (int again = 0; again < 2; again++)
		same(con, "SELECT n, count(*) FROM (SELECT x, count(*) n FROM h GROUP BY x) GROUP BY n ORDER BY ALL");
}

/* What fails in a group fails as with DuckDB; an empty table has no groups. */
static void edges(rayql_connection *con)
{
	static const char sql[] = "SELECT sum((n * 9000000000000000000)::BIGINT) FROM (SELECT k, count(*) n FROM t GROUP BY k)";
	for (int on = 0; on < 2; on++) {
		run(con, on ? "SET rayql_enable_scan = on" : "SET rayql_enable_scan = off");
		fails_at(con, sql, RAYQL_ERROR_HOST, "Out of Range", __FILE__, __LINE__);
	}
	run(con, "CREATE TABLE e AS FROM t WHERE k < -1; CREATE INDEX ce ON e USING columns (*)");
	expect(con, "SELECT s, count(*) FROM (SELECT DISTINCT s, f FROM e) GROUP BY s", NULL, "");
	expect(con, "SELECT count(*), sum(n) FROM (SELECT k, count(*) n FROM e GROUP BY k)", NULL, "0|NULL\n");
}

static void answered_at(rayql_connection *con, const char *sql, const char *method, int line)
{
	if (!(sql = usual(sql)) || left_out())
		return;
	run(con, "SET rayql_enable_scan = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on");
	expect_at(con, sql, method, want, __FILE__, line);
	free(want);
}
#define answered(con, sql, method) answered_at(con, sql, method, __LINE__)

/* Group numbers of more than 64 bits: keys of a wide range, several together, with NULL, their first groups, and more of them
 * than a sample says. Beyond 95 bits the CPU reads the rows, for groups of host rows. */
static void wide_keys(rayql_connection *con)
{
	run(con, "CREATE TABLE x AS SELECT (i * 7919) % 1000000007 a, (i * 104729) % 1000000009 b, (i * 31) % 1000003 c, "
	         "CASE WHEN i % 50 = 0 THEN NULL ELSE (hash(i % 20000)::UBIGINT // 2)::BIGINT - 2305843009213693952 END w, i % 7 f, "
	         "CASE WHEN i % 4096 < 64 OR i > 20000 THEN i * 7919 ELSE 5 END g FROM range(30000) r(i); "
	         "CREATE INDEX cx ON x USING columns (*)");
	answered(con, "SELECT a, b, c, count(*) FROM x GROUP BY ALL ORDER BY ALL LIMIT 5", "scan");
	answered(con, "SELECT w, count(*), sum(f) FROM x GROUP BY w ORDER BY ALL LIMIT 50", "scan");
	answered(con, "~SELECT w, f, count(*) n, sum(c) FROM x GROUP BY ALL ORDER BY n DESC, w, f LIMIT 5", "scan");
	answered(con, "SELECT f, w, max(c), count(*) FROM x WHERE a < 500000000 GROUP BY ALL ORDER BY ALL", "scan");
	for (int again = 0; again < 2; again++)
		answered(con, "SELECT g, f * 1000000007, f * 500000003, count(*) FROM x GROUP BY ALL ORDER BY ALL LIMIT 9", "scan");
	same(con, "~SELECT f, min(w), max(w), count(*), count(w) FROM (SELECT w, f, count(*) n FROM x GROUP BY ALL) GROUP BY f ORDER BY ALL");
	same(con, "SELECT n, count(*) FROM (SELECT a, b, c, count(*) n FROM x GROUP BY ALL) GROUP BY n ORDER BY ALL");
	same(con, "SELECT n, min(w) FROM (SELECT w, count(*) n FROM x GROUP BY w) GROUP BY n ORDER BY ALL");
	answered(con, "SELECT a, b, w, count(*) FROM x GROUP BY ALL ORDER BY ALL LIMIT 5", "scan"); /* the CPU's rows */
}

/* ---- random queries ---- */

static uint64_t seed = 20261124;
static const char *one_of(const char *const *list, size_t count)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return list[(seed >> 33) % count];
}
#define ONE_OF(list) one_of(list, sizeof(list) / sizeof *(list))

/* Groups so few that the CPU takes them over cheaper are among them. */
static void random_query(rayql_connection *con, int number)
{
	static const char *const keys[] = {"k", "f", "s", "a", "b", "w", "k % 50", "length(s)", "upper(s)", "v"};
	static const char *const aggs[] = {"count(*)", "count(v)", "count(m)", "sum(v)", "sum(f)", "min(v)", "max(k)", "count(s) FILTER (WHERE v > 0)"};
	static const char *const from[] = {"t", "t", "t WHERE v > 200", "t WHERE s LIKE '%3' OR k IS NULL", "(SELECT t.* FROM t JOIN o ON t.k = o.k)"};
	static const char *const group[] = {"p", "q", "x", "y", "x % 7", "p, y", "q, x"};
	static const char *const over[] = {"count(*)", "count(p)", "count(q)", "min(q)", "max(p)", "sum(x)", "sum(y)", "max(y - x)"};
	static const char *const where[] = {"", "", " WHERE x > 2", " WHERE y IS NULL OR y < 10", " WHERE q IS NOT NULL"};
	char sql[768];
	const char *by = ONE_OF(group), *first = ONE_OF(keys), *second = first;
	while (second == first)
		second = ONE_OF(keys);
	snprintf(sql, sizeof sql,
	         "SELECT %s, %s, %s FROM (SELECT %s AS p, %s AS q, %s AS x, %s AS y FROM %s GROUP BY p, q)%s GROUP BY %s ORDER BY ALL", by,
	         ONE_OF(over), ONE_OF(over), first, second, ONE_OF(aggs), ONE_OF(aggs), ONE_OF(from), ONE_OF(where), by);
	if (!left_out())
		equals_at(con, sql, 1000 + number);
}

static void everything(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = groups_session();
	columns(s.con);
	averages(s.con);
	wide_sums(s.con);
	halves(s.con);
	halves_above(s.con);
	halves_alone(s.con);
	halves_by_groups(s.con);
	reals(s.con);
	above(s.con);
	joins(s.con);
	distinct(s.con);
	growth(s.con);
	partitions(s.con);
	edges(s.con);
	wide_keys(s.con);
	for (unsigned i = 0; i < random_count(3, 40); i++)
		random_query(s.con, (int)i);
	close_session(&s);
}

/* A device that fails while groups are handed on: the same answer, by the host. */
static void faults(void **state)
{
	static const char make[] = "CREATE TABLE t AS SELECT (hash(i) % 500)::INTEGER k FROM range(6000) r(i); "
	                           "CREATE INDEX c ON t USING columns (*)";
	static const char sql[] = "SELECT n, count(*) FROM (SELECT k, count(*) n FROM t GROUP BY k) GROUP BY n ORDER BY ALL";
	(void)state;
	if (!has_unit("compute"))
		skip();
	survives_faults(make, sql, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(everything), cmocka_unit_test(faults)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
