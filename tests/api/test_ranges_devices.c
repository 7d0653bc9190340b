/* Joins by ranges of columns on a GPU, of which only counts and sums are asked for: every answer beside DuckDB's, for values of
 * each form (integers of both widths, reals with NaN and zeros of both signs, decimals, times, texts of two dictionaries), of
 * casts, open and closed bounds, one or two of them, inverted ones, duplicates, NULLs and extremes, empty sides; what a GPU does
 * not take, and why; rows that are added later; devices that fail on the way. */
#include "check.h"
#include "device.h"

static const char joined[] = "by compute on the device, counts and sums of each row's matches";

static struct session ranges_session(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con, "CREATE TABLE p AS SELECT i::INTEGER n, (hash(i * 3) % 3000)::INTEGER x, TIMESTAMP '2020-01-01' + to_seconds((hash(i * "
	           "5) % 100000)::BIGINT * 160) w, (['0.0', '-0.0', 'nan', 'inf', '-inf', NULL, '1.5', '-7']::DOUBLE[])[1 + (hash(i * 7) % "
	           "8)::INTEGER] + CASE WHEN i % 3 = 0 THEN 0 ELSE hash(i * 11) % 50 END d, 'v' || (hash(i * 13) % 300) s, ((hash(i * 47) % "
	           "40000) / 100 - 100)::DECIMAL(9, 2) m, (hash(i * 17) % 100)::SMALLINT c, CASE WHEN hash(i * 19) % 4 = 0 THEN NULL ELSE "
	           "(hash(i * 23) % 2000)::BIGINT - 1000 END v, (hash(i * 59) % 1000)::BIGINT * 4000000000000000 b, DATE '2020-01-01' + (hash(i * "
	           "53) % 300)::INTEGER y FROM range(2500) q(i)");
	run(s.con, "CREATE TABLE k AS SELECT i::INTEGER n, (hash(i * 29) % 3200)::INTEGER - 100 lo, lo + (hash(i * 31) % 120)::INTEGER - 20 "
	           "hi, TIMESTAMP '2020-01-01' + to_seconds((hash(i * 37) % 100000)::BIGINT * 160) wlo, wlo + INTERVAL 3 DAY whi, (['0.0', '-0.0', "
	           "'nan', 'inf', '-inf', NULL, '2.5', '-7']::DOUBLE[])[1 + (hash(i * 41) % 8)::INTEGER] dlo, dlo + hash(i * 43) % 9 dhi, 'v' || "
	           "(hash(i * 61) % 400) slo, 'v' || (hash(i * 67) % 400) shi, ((hash(i * 47) % 4000) / 10 - 90)::DECIMAL(4, 1) mlo, (hash(i * 71) "
	           "% 30)::INTEGER g, CASE WHEN hash(i * 73) % 5 = 0 THEN NULL ELSE (hash(i * 79) % 500)::SMALLINT - 250 END u, (hash(i * 83) % "
	           "9000)::DECIMAL(7, 2) e, 'q' || (hash(i * 89) % 9) s, TIMESTAMP '2020-01-01' + to_hours((hash(i * 53) % 7000)::BIGINT) y "
	           "FROM range(1500) q(i)");
	run(s.con, "CREATE TABLE kn AS SELECT * REPLACE (CASE WHEN n % 7 = 0 THEN NULL ELSE lo END AS lo, CASE WHEN n % 11 = 0 THEN NULL "
	           "ELSE hi END AS hi) FROM k; "
	           "CREATE TABLE pn AS SELECT * REPLACE (CASE WHEN n % 5 = 0 THEN NULL ELSE x END AS x) FROM p; "
	           "CREATE TABLE one AS SELECT 2147483647::INTEGER x, 9223372036854775807 w, 1 AS y UNION ALL SELECT -2147483648, "
	           "-9223372036854775808, 2; "
	           "CREATE TABLE g AS SELECT i::INTEGER g, 'name' || i AS name FROM range(25) q(i)");
	static const char *const tables[] = {"p", "k", "kn", "pn", "one", "g"};
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		char sql[100];
		snprintf(sql, sizeof sql, "CREATE INDEX c%s ON %s USING columns (*)", tables[i], tables[i]);
		run(s.con, sql);
	}
	use(s.con, "compute");
	return s;
}

static char *plan_of(rayql_connection *con, const char *sql)
{
	char explain[1200];
	snprintf(explain, sizeof explain, "EXPLAIN %s", sql);
	return rows_of(con, explain, NULL);
}

/* The host's answer, twice, from the device. */
static void same_there(rayql_connection *con, const char *sql, int line)
{
	run(con, "SET rayql_enable_scan = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on");
	char *plan = plan_of(con, sql);
	holds_at(plan, joined, __FILE__, line);
	for (int i = 0; i < 2; i++) { /* then from the plan cache */
		char *have = rows_of(con, sql, NULL);
		if (strcmp(have, want) != 0)
			fail_msg("%s\nhave:\n%.800s\nwant:\n%.800s", sql, have, want);
		free(have);
		expect_at(con, "SELECT device, unit FROM rayql_last_query()", NULL, "vulkan:0|compute\n", __FILE__, line);
	}
	free(plan);
	free(want);
}

/* What cases that change nothing share: a device that is opened makes its kernels anew. */
static struct session shared;
static struct session shared_session(void)
{
	if (!shared.con)
		shared = ranges_session();
	return shared;
}

static int close_shared(void **state)
{
	(void)state;
	if (shared.con)
		close_session(&shared);
	return 0;
}

static void answers(void **state)
{
	static const char *const queries[] = {
		/* by the row that has the bounds, closed and open ones, one alone; by a group of such rows, totals */
		"SELECT k.n, count(*), count(p.v), sum(p.v), avg(p.v) FROM k JOIN p ON p.x BETWEEN k.lo AND k.hi GROUP BY k.n ORDER BY k.n",
		"SELECT k.n, count(*), sum(p.c) FROM k, p WHERE p.x > k.lo AND p.x < k.hi GROUP BY k.n ORDER BY k.n",
		"~SELECT k.g, count(*), sum(p.v), avg(p.c), sum(p.m), avg(p.m) FROM k JOIN p ON p.x >= k.lo AND k.hi > p.x GROUP BY k.g ORDER "
		"BY k.g",
		"SELECT count(*), count(p.v), sum(p.v), avg(p.c) FROM k JOIN p ON p.x > k.lo AND p.x <= k.hi",
		"SELECT k.n, count(*), sum(p.v) FROM k JOIN p ON p.x < k.lo GROUP BY k.n ORDER BY k.n",
		"~SELECT k.g, count(*), sum(p.c) FROM p JOIN k ON k.hi <= p.x GROUP BY k.g ORDER BY k.g",
		/* of the row's own columns, and beside extremes of them; conditions on either side, HAVING, an order with a limit */
		"SELECT k.g, count(k.u), sum(k.u), avg(k.u), sum(k.e), avg(k.e), min(k.u), max(k.s), count(*) FROM k JOIN p ON p.x BETWEEN "
		"k.lo AND k.hi GROUP BY k.g ORDER BY k.g",
		"SELECT k.s, count(*) c, sum(p.c + 3), sum(p.c * 2) FROM k JOIN p ON p.x BETWEEN k.lo AND k.hi WHERE k.u > -100 AND p.v < 600 "
		"AND p.n % 3 = 1 GROUP BY k.s HAVING count(*) > 200 ORDER BY c DESC, k.s LIMIT 4",
		"SELECT count(DISTINCT k.g), count(*) FROM k JOIN p ON p.x BETWEEN k.lo AND k.hi WHERE k.n < 40",
		"~SELECT DISTINCT k.g, k.s FROM k JOIN p ON p.x BETWEEN k.lo AND k.hi ORDER BY ALL",
		/* values: 64 bits, reals, decimals, texts, casts */
		"SELECT k.n, count(*), sum(p.v) FROM k JOIN p ON p.w BETWEEN k.wlo AND k.whi GROUP BY k.n ORDER BY k.n",
		"SELECT k.n, count(*), sum(p.c) FROM k JOIN p ON p.d BETWEEN k.dlo AND k.dhi GROUP BY k.n ORDER BY k.n",
		"SELECT k.n, count(*), sum(p.c) FROM k JOIN p ON p.d > k.dlo AND p.d < k.dhi GROUP BY k.n ORDER BY k.n",
		"SELECT k.n, count(*), sum(p.c) FROM k JOIN p ON p.s >= k.slo AND p.s < k.shi GROUP BY k.n ORDER BY k.n",
		"~SELECT k.n, count(*), count(p.s) FROM k JOIN p ON p.m < k.mlo GROUP BY k.n ORDER BY k.n",
		"~SELECT k.n, count(*), sum(p.m) FROM k JOIN p ON p.y > k.y GROUP BY k.n ORDER BY k.n",
		"SELECT one.y, count(*), sum(p.c) FROM one JOIN p ON p.x > one.x GROUP BY one.y ORDER BY one.y",
		"~SELECT k.n, count(*), sum(one.y) FROM k JOIN one ON one.x > k.lo - 5 WHERE k.n < 50 GROUP BY k.n ORDER BY k.n",
		"SELECT a.y, count(*), sum(b.y) FROM one a JOIN one b ON b.x >= a.x GROUP BY a.y ORDER BY a.y",
		/* NULLs on both sides, empty sides */
		"SELECT kn.n, count(*), count(pn.v), sum(pn.v) FROM kn JOIN pn ON pn.x BETWEEN kn.lo AND kn.hi GROUP BY kn.n ORDER BY kn.n",
		"SELECT count(*), sum(e.v) FROM k JOIN (SELECT * FROM p WHERE d < 7 AND d > 8) e ON e.x BETWEEN k.lo AND k.hi",
		"SELECT count(*), sum(p.v), avg(p.v) FROM (SELECT * FROM k WHERE g < 2 AND u > 249 AND lo > 3090) k JOIN p ON p.x BETWEEN k.lo "
		"AND k.hi",
		/* left joins, from either side; rows without a match; of a side that is filtered */
		"SELECT k.n, count(*), count(p.n), count(p.v), sum(p.v), avg(p.c) FROM k LEFT JOIN p ON p.x BETWEEN k.lo AND k.hi GROUP BY k.n "
		"ORDER BY k.n",
		"SELECT kn.g, count(*), count(pn.x), sum(pn.v), sum(kn.u), count(kn.u) FROM pn RIGHT JOIN kn ON pn.x > kn.lo AND pn.x <= kn.hi "
		"GROUP BY kn.g ORDER BY kn.g",
		"SELECT k.n, count(p.s), sum(p.m) FROM k LEFT JOIN p ON p.s < k.slo AND p.n % 10 = 1 GROUP BY k.n ORDER BY k.n",
		"~SELECT count(*), count(e.n), sum(e.v) FROM k LEFT JOIN (SELECT * FROM p WHERE d < 7 AND d > 8) e ON e.x BETWEEN k.lo AND "
		"k.hi",
		"~SELECT name, count(*), count(p.n) FROM k JOIN g ON k.g = g.g LEFT JOIN p ON p.x BETWEEN k.lo AND k.hi WHERE k.u < 9 GROUP BY "
		"name ORDER BY name",
		/* beside other joins, before and after; groups over its groups */
		"SELECT name, count(*), sum(p.v), sum(k.u), sum(g.g), count(g.name) FROM k JOIN g ON k.g = g.g JOIN p ON p.x BETWEEN k.lo AND k.hi GROUP BY name ORDER "
		"BY name",
		"SELECT a.s, count(*), sum(p.v) FROM k a JOIN k b ON a.g = b.g, p WHERE p.x BETWEEN a.lo AND b.hi AND a.n < 200 GROUP BY a.s "
		"ORDER BY a.s",
		"SELECT c, count(*) FROM (SELECT k.n, count(*) c, sum(p.v) v FROM k JOIN p ON p.x BETWEEN k.lo AND k.hi GROUP BY k.n) GROUP "
		"BY c ORDER BY c",
	};
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = shared_session();
	for (size_t q = 0; q < sizeof queries / sizeof *queries; q++)
		if (usual(queries[q]) && !left_out())
			same_there(s.con, usual(queries[q]), __LINE__);
}

/* ---- drawn at random ---- */

static uint32_t below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33) % n;
}
#define ONE_OF(seed, list) (list)[below(seed, sizeof(list) / sizeof *(list))]

static void draw(uint64_t *seed, char *sql, size_t size)
{
	static const char *const keepers[] = {"k", "kn"}, *const points[] = {"p", "pn"};
	static const char *const joins[] = {"JOIN", "JOIN", "LEFT JOIN"}, *const lows[] = {">=", ">", NULL};
	static const char *const highs[] = {"<=", "<"};
	static const struct {
		const char *point, *low, *high;
	} values[] = {{"x", "lo", "hi"}, {"w", "wlo", "whi"}, {"d", "dlo", "dhi"}, {"s", "slo", "shi"}, {"x", "hi", "lo"}};
	static const char *const groups[] = {"a.n", "a.g", "a.s", "a.u"};
	static const char *const aggs[] = {"count(*)",   "count(b.v)", "sum(b.v)", "avg(b.v)", "sum(b.c)",
	                                   "count(b.s)", "sum(a.u)",   "avg(a.u)", "max(a.u)", "count(a.u)"};
	static const char *const tests[] = {"", " WHERE a.g < 20", " WHERE a.u IS NULL OR a.u > 0", " WHERE a.n % 9 = 1"};
	const size_t v = below(seed, sizeof values / sizeof *values);
	const char *low = ONE_OF(seed, lows), *group = ONE_OF(seed, groups), *join = ONE_OF(seed, joins);
	char on[120] = "";
	if (low)
		snprintf(on, sizeof on, "b.%s %s a.%s", values[v].point, low, values[v].low);
	if (!low || below(seed, 3)) {
		const size_t at = strlen(on);
		snprintf(on + at, sizeof on - at, "%sb.%s %s a.%s", low ? " AND " : "", values[v].point, ONE_OF(seed, highs), values[v].high);
	}
	snprintf(sql, size, "SELECT %s, %s, %s, %s FROM %s a %s %s b ON %s%s GROUP BY ALL ORDER BY ALL", group, ONE_OF(seed, aggs),
	         ONE_OF(seed, aggs), ONE_OF(seed, aggs), ONE_OF(seed, keepers), join, ONE_OF(seed, points), on, ONE_OF(seed, tests));
}

/* Seeds are fixed: what is drawn is the same in every run. */
static void drawn(void **state)
{
	uint64_t seed = 15;
	char sql[600];
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = shared_session();
	for (unsigned q = random_count(8, 40); q--;) {
		draw(&seed, sql, sizeof sql);
		same_there(s.con, sql, __LINE__);
	}
}

/* ---- what is refused ---- */

static void same_anywhere(rayql_connection *con, const char *sql)
{
	run(con, "SET rayql_enable_scan = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on");
	expect_at(con, sql, NULL, want, __FILE__, __LINE__);
	free(want);
}

static void not_there(rayql_connection *con, const char *sql, const char *why)
{
	char *plan = plan_of(con, sql);
	holds(plan, why);
	assert_null(strstr(plan, joined));
	free(plan);
}

/* The CPU or the host answers, and EXPLAIN has the reason. */
static void elsewhere(void **state)
{
	static const struct {
		const char *sql, *why;
	} queries[] = {
		{"SELECT k.n, count(*), round(sum(p.d)) FROM k JOIN p ON p.x BETWEEN k.lo AND k.hi WHERE p.d < 100 GROUP BY k.n ORDER BY k.n",
	     "a sum of other values than integers and decimals over a join by ranges"},
		{"SELECT k.g, sum(p.b) FROM k JOIN p ON p.x BETWEEN k.lo AND k.hi GROUP BY k.g ORDER BY k.g",
	     "a sum over a join by ranges may take more than 64 bits"},
		{"SELECT a.y, count(*) FROM one a JOIN one b ON b.w >= a.w GROUP BY a.y ORDER BY a.y", "takes more than 64 bits"},
		{"SELECT k.g, max(p.v) FROM k JOIN p ON p.x BETWEEN k.lo AND k.hi GROUP BY k.g ORDER BY k.g",
	     "an extreme, or a count of DISTINCT values, of the side that has the points"},
		{"SELECT p.c, count(*) FROM k JOIN p ON p.x BETWEEN k.lo AND k.hi GROUP BY p.c ORDER BY p.c",
	     "groups or conditions read the side that has the points"},
		{"SELECT k.g, sum(k.u + p.c) FROM k JOIN p ON p.x BETWEEN k.lo AND k.hi GROUP BY k.g ORDER BY k.g",
	     "an argument over a join by ranges reads several tables"},
		{"SELECT k.g, count(*) FROM k JOIN p ON p.x BETWEEN k.lo AND k.hi AND p.v <> k.u GROUP BY k.g ORDER BY k.g",
	     "has other conditions than a least and a greatest bound"},
		{"SELECT k.g, count(*) FROM k JOIN p ON p.x >= k.lo AND p.c <= k.hi GROUP BY k.g ORDER BY k.g",
	     "the bounds of a join by ranges are of two values"},
		{"SELECT k.g, count(coalesce(p.v, 1)) FROM k LEFT JOIN p ON p.x BETWEEN k.lo AND k.hi GROUP BY k.g ORDER BY k.g",
	     "or an expression of an outer join's"},
		{"SELECT g.name, count(*) FROM (SELECT k.g FROM k JOIN p ON p.x BETWEEN k.lo AND k.hi) k FULL JOIN g ON k.g = g.g GROUP BY "
	     "g.name ORDER BY g.name",
	     "a full outer join beside a join by ranges"},
		{"SELECT k.g, count(*) FILTER (k.u > 3) FROM k JOIN p ON p.x BETWEEN k.lo AND k.hi GROUP BY k.g ORDER BY k.g",
	     "has a FILTER or an ORDER BY clause"},
	};
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = shared_session();
	run(s.con, "SET rayql_unit = 'auto'");
	for (size_t q = 0; q < sizeof queries / sizeof *queries; q++) {
		same_anywhere(s.con, queries[q].sql);
		not_there(s.con, queries[q].sql, queries[q].why);
	}
	run(s.con, "SET rayql_enable_ranges = off");
	not_there(s.con, "SELECT count(*) FROM k JOIN p ON p.x BETWEEN k.lo AND k.hi", "joined as columns on a GPU: the method is switched off");
	run(s.con, "SET rayql_enable_ranges = on; SET rayql_unit = 'compute'");
}

/* Whatever fails there, the host answers. */
static void faults(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	survives_faults("CREATE TABLE a AS SELECT i::INTEGER n, (hash(i * 3) % 900)::INTEGER lo, lo + 50 hi FROM range(500) q(i); "
	                "CREATE TABLE b AS SELECT i::INTEGER n, (i * 2)::INTEGER x FROM range(400) q(i); "
	                "CREATE INDEX ca ON a USING columns (*); CREATE INDEX cb ON b USING columns (*)",
	                "SELECT count(*), sum(b.n) FROM a JOIN b ON b.x BETWEEN a.lo AND a.hi", 6);
}

/* Rows that come later: more than the recording had room for. */
static void grows(void **state)
{
	static const char sql[] = "SELECT count(*), sum(p.v), sum(k.u) FROM k JOIN p ON p.x BETWEEN k.lo AND k.hi";
	(void)state;
	if (!has_unit("compute") || left_out())
		skip();
	struct session s = ranges_session();
	same_there(s.con, sql, __LINE__);
	run(s.con, "INSERT INTO k SELECT k.* REPLACE (n + 5000 AS n) FROM k, range(20); "
	           "INSERT INTO p SELECT * REPLACE (n + 90000 AS n, x + 1 AS x) FROM p");
	free(rows_of(s.con, sql, NULL)); /* which reads them */
	same_there(s.con, sql, __LINE__);
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(answers), cmocka_unit_test(drawn), cmocka_unit_test(elsewhere),
	                                   cmocka_unit_test(grows), cmocka_unit_test(faults)};
	return cmocka_run_group_tests(tests, NULL, close_shared);
}
