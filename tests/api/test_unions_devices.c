/* UNION ALL on a device: rows of several tables, joins and groups feed one operator above, of numbers with different ranges
 * and texts of different dictionaries. Every answer is DuckDB's, and EXPLAIN says that the rows met on the device. */
#include "check.h"
#include "device.h"

static struct session unions_session(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con,
	    "CREATE TABLE a AS SELECT (hash(i) % 900)::INTEGER k, (hash(i * 3) % 2000)::INTEGER - 1000 v, 's' || (hash(i * 5) % 60) s, "
	    "((hash(i * 7) % 100000)::BIGINT - 50000)::DECIMAL(9, 2) m, ((hash(i * 11) % 64)::DOUBLE - 32) / 8 d, "
	    "DATE '2019-01-01' + (hash(i * 13) % 90)::INTEGER t, i % 3 = 0 b FROM range(9000) r(i)");
	run(s.con,
	    "CREATE TABLE c AS SELECT (hash(i * 17) % 1500)::INTEGER + 400 k, (hash(i * 19) % 90000)::INTEGER v, 'r' || (hash(i * 23) % 40) s, "
	    "(hash(i * 29) % 900)::DECIMAL(9, 2) m, (hash(i * 31) % 20)::DOUBLE d, DATE '2015-06-01' + (hash(i * 37) % 2000)::INTEGER t, "
	    "i % 5 = 0 b FROM range(7000) r(i)");
	run(s.con, "INSERT INTO c SELECT * FROM a WHERE k < 60; CREATE TABLE e AS SELECT * REPLACE (upper(s) AS s, 9 - k AS k) FROM a WHERE v > 600; "
	           "UPDATE a SET s = NULL WHERE k % 13 = 2; UPDATE a SET v = NULL WHERE k % 11 = 3; UPDATE c SET m = NULL, t = NULL WHERE k % 7 = 1; "
	           "UPDATE e SET d = CASE k % 3 WHEN 0 THEN 'NaN'::DOUBLE WHEN 1 THEN -0.0 END WHERE k % 2 = 0; UPDATE c SET b = NULL WHERE v % 9 = 1");
	run(s.con, "CREATE INDEX ia ON a USING columns (*); CREATE INDEX ic ON c USING columns (*); CREATE INDEX ie ON e USING columns (*)");
	use(s.con, "compute");
	return s;
}

static void same_at(rayql_connection *con, const char *sql, int line)
{
	char text[2048];
	if (!(sql = usual(sql)) || left_out())
		return;
	run(con, "SET rayql_enable_scan = off; SET rayql_enable_group = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on; SET rayql_enable_group = on");
	expect_at(con, sql, NULL, want, __FILE__, line);
	snprintf(text, sizeof text, "EXPLAIN %s", sql);
	char *explain = rows_of(con, text, NULL);
	if (!strstr(explain, "one behind the other, on the device"))
		fail_msg("line %d: no rows meet on the device: %s\n%s", line, sql, explain);
	expect_at(con, "SELECT method IN ('scan', 'group', 'materialise') FROM rayql_last_query()", NULL, "true\n", __FILE__, line);
	free(explain);
	free(want);
}
#define same(con, sql) same_at(con, sql, __LINE__)

#define BOTH "(SELECT k, v, s, m, d, t, b FROM a UNION ALL SELECT k, v, s, m, d, t, b FROM c)"
#define ALL "(FROM a UNION ALL FROM c UNION ALL FROM e)"

/* Groups, counts and DISTINCT over rows of two and three tables. */
static void groups(rayql_connection *con)
{
	same(con, "SELECT s, count(*), sum(v), count(v), min(m), max(t) FROM " BOTH " GROUP BY s ORDER BY ALL");
	same(con, "~SELECT k, count(*), sum(m), avg(v) FROM " ALL " GROUP BY k ORDER BY ALL");
	same(con, "SELECT count(*), sum(v), min(t), max(t), min(d), count(b) FROM " ALL);
	same(con, "SELECT DISTINCT s, b FROM " ALL " ORDER BY ALL");
	same(con, "~SELECT s, count(*) FROM (SELECT s, k FROM a UNION SELECT s, k FROM c UNION SELECT s, k FROM e) GROUP BY s ORDER BY ALL");
	same(con, "SELECT k, count(d), min(d), max(d) FROM (SELECT k, d FROM a WHERE v > 500 UNION ALL SELECT k, d * 2 FROM c WHERE k < 900) GROUP BY k ORDER BY ALL");
	same(con, "SELECT x, count(*), sum(y) FROM (SELECT 1 x, v + k y FROM a WHERE s LIKE '%7' UNION ALL SELECT 2, v - k FROM c WHERE t > '2018-01-01') "
	          "GROUP BY x ORDER BY ALL");
}

/* Branches that are joins and groups, unions in a join and in a semi join, and what is above it again. */
static void others(rayql_connection *con)
{
	same(con, "SELECT s, sum(n), count(*) FROM (SELECT s, count(*) n FROM a GROUP BY s UNION ALL SELECT s, sum(v) FROM c GROUP BY s) GROUP BY s ORDER BY ALL");
	same(con, "~SELECT s, sum(x) FROM (SELECT a.s, c.v x FROM a JOIN c ON a.k = c.k UNION ALL SELECT s, v FROM e) GROUP BY s ORDER BY ALL");
	same(con, "SELECT s, sum(x), count(*) FROM (SELECT a.s, c.m x FROM a LEFT JOIN c ON a.k = c.k AND a.t = c.t UNION ALL SELECT s, m FROM e) GROUP BY s ORDER BY ALL");
	same(con, "SELECT n, count(*) FROM (SELECT k, count(*) n FROM " BOTH " GROUP BY k) GROUP BY n ORDER BY ALL");
	same(con, "SELECT e.s, count(*), sum(u.v) FROM " BOTH " u JOIN e ON u.k = e.k GROUP BY e.s ORDER BY ALL");
	same(con, "~SELECT u.s, e.b, count(*) FROM " BOTH " u JOIN e ON u.t = e.t AND u.k = e.k GROUP BY ALL ORDER BY ALL");
}

/* The first rows of an order. */
static void first_rows(rayql_connection *con)
{
	same(con, "SELECT v, s, k FROM " ALL " ORDER BY v DESC NULLS LAST, s, k LIMIT 9");
	same(con, "SELECT s, t FROM (SELECT s, t, v FROM a UNION ALL SELECT s, t, v FROM c) WHERE v > 500 ORDER BY s NULLS FIRST, t LIMIT 12 OFFSET 3");
}

/* Far more rows than a sample says, texts that are only NULL, and rows that are added. */
static void growth(rayql_connection *con)
{
	run(con, "CREATE TABLE g AS SELECT CASE WHEN i % 4096 < 64 OR i > 40000 THEN i::INTEGER ELSE -1 END k, NULL::VARCHAR s FROM range(90000) r(i); "
	         "CREATE INDEX ig ON g USING columns (*)");
	for (int again = 0; again < 2; again++)
		same(con, "SELECT k % 100 x, count(*), count(s), max(s) FROM (SELECT k, s FROM g WHERE k >= 0 UNION ALL SELECT k, s FROM a) GROUP BY x ORDER BY ALL");
	run(con, "INSERT INTO a SELECT k + 5000, v, 'new' || k, m, d, t, b FROM e WHERE k < 0; SELECT s, sum(v) FROM a GROUP BY s");
	same(con, "SELECT s, count(*), max(k) FROM " BOTH " GROUP BY s ORDER BY ALL");
}

/* What fails in a row of a branch fails as with DuckDB. */
static void errors(rayql_connection *con)
{
	static const char sql[] = "SELECT sum(x) FROM (SELECT (v * 90000000::INTEGER)::INTEGER x FROM a UNION ALL SELECT k FROM c)";
	for (int on = 0; on < 2; on++) {
		run(con, on ? "SET rayql_enable_scan = on" : "SET rayql_enable_scan = off");
		fails_at(con, sql, RAYQL_ERROR_HOST, "Out of Range", __FILE__, __LINE__);
	}
}

/* ---- random queries ---- */

static uint64_t seed = 20261125;
static const char *one_of(const char *const *list, size_t count)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return list[(seed >> 33) % count];
}
#define ONE_OF(list) one_of(list, sizeof(list) / sizeof *(list))

static void random_query(rayql_connection *con, int number)
{
	static const char *const keys[] = {"k", "s", "t", "b", "m", "v"};
	static const char *const tables[] = {"a", "c", "e", "a", "c"};
	static const char *const where[] = {"", "", " WHERE v > 200", " WHERE s LIKE '%3'", " WHERE k IS NULL OR k < 500", " WHERE t < '2019-02-01'"};
	static const char *const over[] = {"count(*)", "count(p)", "count(q)", "min(q)", "max(p)", "sum(v)", "avg(v)", "max(x)"};
	static const char *const by[] = {"p", "q", "p, q", "x", "b"};
	const char *first = ONE_OF(keys), *second = first, *group = ONE_OF(by);
	char branch[3][256], sql[1200];
	while (second == first)
		second = ONE_OF(keys);
	for (int i = 0; i < 3; i++)
		snprintf(branch[i], sizeof *branch, "SELECT %s p, %s q, v, d x, b FROM %s%s", first, second, ONE_OF(tables), ONE_OF(where));
	snprintf(sql, sizeof sql, "SELECT %s, %s, %s FROM (%s UNION ALL %s%s%s) GROUP BY %s ORDER BY ALL", group, ONE_OF(over), ONE_OF(over), branch[0],
	         branch[1], number % 2 ? " UNION ALL " : "", number % 2 ? branch[2] : "", group);
	same_at(con, sql, 1000 + number);
}

static void everything(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = unions_session();
	groups(s.con);
	others(s.con);
	first_rows(s.con);
	for (unsigned i = 0; i < random_count(3, 30); i++)
		random_query(s.con, (int)i);
	growth(s.con);
	errors(s.con);
	close_session(&s);
}

/* A device that fails while rows meet: the same answer, by the host. */
static void faults(void **state)
{
	static const char make[] = "CREATE TABLE a AS SELECT (hash(i) % 500)::INTEGER k FROM range(6000) r(i); CREATE TABLE c AS SELECT k + 9 k FROM a; "
	                           "CREATE INDEX ia ON a USING columns (*); CREATE INDEX ic ON c USING columns (*)";
	static const char sql[] = "SELECT k, count(*) FROM (FROM a UNION ALL FROM c) GROUP BY k ORDER BY ALL";
	(void)state;
	if (!has_unit("compute"))
		skip();
	survives_faults(make, sql, 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(everything), cmocka_unit_test(faults)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
