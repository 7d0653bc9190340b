/* ASOF joins of columns on a GPU: every answer beside DuckDB's, for values of each form (integers of both widths, reals with
 * NaN and zeros of both signs, texts of two dictionaries), of casts, with and without keys, of empty sides, NULLs and extremes;
 * what a GPU does not take, and why; rows that are added later; devices that fail on the way. */
#include "check.h"
#include "device.h"

static const char joined[] = "by compute on the device, the nearest row of each";

static struct session asof_session(void)
{
	struct session s = open_session(NULL, NULL);
	/* Times of r come once, so that no row of l has two nearest ones; of its other columns the value alone is asked for. */
	run(s.con, "SET asof_loop_join_threshold = 0; "
	           "CREATE TABLE r AS SELECT i::INTEGER n, (hash(i) % 9)::SMALLINT k, 'q' || (hash(i * 3) % 7) s, (i * 3)::INTEGER t, "
	           "TIMESTAMP '2020-01-01' + to_seconds((hash(i * 5) % 1000000)::BIGINT * 16) w, (['0.0', '-0.0', 'nan', 'inf', '-inf', NULL, '1.5', "
	           "'-7']::DOUBLE[])[1 + (hash(i * 7) % 8)::INTEGER] + CASE WHEN i % 3 = 0 THEN 0 ELSE hash(i * 11) % 50 END d, "
	           "'v' || (hash(i * 13) % 300) x, ((hash(i * 47) % 40000) / 100 - 100)::DECIMAL(9, 2) m, DATE '2020-01-01' + (hash(i * 53) % "
	           "300)::INTEGER y, ([NULL, -9223372036854775808, 9223372036854775807, 5, -5]::BIGINT[])[1 + (hash(i * 59) % 5)::INTEGER] b, "
	           "md5('' || hash(i * 61) % 500)::UUID id FROM range(3000) q(i) ORDER BY hash(i * 17)");
	run(s.con, "CREATE TABLE l AS SELECT i::INTEGER n, (hash(i * 19) % 12)::SMALLINT k, 'q' || (hash(i * 23) % 9) s, "
	           "(hash(i * 29) % 9400)::INTEGER - 200 t, TIMESTAMP '2020-01-01' + to_seconds((hash(i * 31) % 1000000)::BIGINT * 16) w, "
	           "(['0.0', '-0.0', 'nan', 'inf', '-inf', NULL, '2.5', '-7']::DOUBLE[])[1 + (hash(i * 37) % 8)::INTEGER] d, "
	           "'v' || (hash(i * 41) % 400) x, (hash(i * 43) % 30)::INTEGER g, ((hash(i * 47) % 4000) / 10 - 90)::DECIMAL(4, 1) m, "
	           "TIMESTAMP '2020-01-01' + to_hours((hash(i * 53) % 9000)::BIGINT) y, ([NULL, -9223372036854775808, 9223372036854775807, 6, "
	           "-6]::BIGINT[])[1 + (hash(i * 59) % 5)::INTEGER] b, md5('' || hash(i * 67) % 600)::UUID id FROM range(2000) q(i)");
	run(s.con, "CREATE TABLE u AS SELECT * REPLACE (CASE WHEN n % 7 = 0 THEN NULL ELSE t END AS t, CASE WHEN n % 11 = 0 THEN NULL "
	           "ELSE k END AS k) FROM l; "
	           "CREATE TABLE v AS SELECT * REPLACE (CASE WHEN n % 5 = 0 THEN NULL ELSE t END AS t, CASE WHEN n % 13 = 0 THEN NULL "
	           "ELSE k END AS k) FROM r; "
	           "CREATE TABLE one AS SELECT 2147483647::INTEGER t, 1 AS y UNION ALL SELECT -2147483648, 2; "
	           "CREATE TABLE g AS SELECT i::INTEGER g, 'name' || i AS name FROM range(25) q(i)");
	static const char *const tables[] = {"l", "r", "u", "v", "one", "g"};
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
		shared = asof_session();
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
		/* both directions, equal values or not, inner and left; groups, rows, an order with a limit */
		"SELECT l.g, count(*), sum(r.n), min(r.t) FROM l ASOF JOIN r ON l.t >= r.t GROUP BY l.g ORDER BY l.g",
		"SELECT l.n, r.n, r.s FROM l ASOF LEFT JOIN r ON l.t > r.t ORDER BY l.n",
		"SELECT count(*), sum(l.n), sum(r.n) FROM l ASOF LEFT JOIN r ON l.t < r.t",
		"SELECT l.n, r.n FROM l ASOF JOIN r ON l.t <= r.t WHERE l.g < 9 ORDER BY l.n DESC LIMIT 30",
		/* casts; beyond what integers of 32 bits hold */
		"SELECT l.n, r.y FROM l ASOF LEFT JOIN r ON l.y > r.y ORDER BY l.n",
		"~SELECT l.n, r.m FROM l ASOF JOIN r ON l.m <= r.m ORDER BY l.n",
		"~SELECT l.n, r.id FROM l ASOF LEFT JOIN r ON l.id >= r.id ORDER BY l.n",
		/* keys: one, two of which one is a text of two dictionaries; conditions on either side and above both */
		"SELECT l.k, count(*), sum(r.n) FROM l ASOF JOIN r ON l.k = r.k AND l.t >= r.t GROUP BY l.k ORDER BY l.k",
		"SELECT r.s, count(*), count(r.n), max(r.t - l.t) FROM l ASOF LEFT JOIN r ON l.s = r.s AND l.k = r.k AND l.t < r.t GROUP "
		"BY r.s ORDER BY ALL",
		"SELECT l.g, count(*) FROM l ASOF JOIN (SELECT * FROM r WHERE n % 3 = 1 AND t > 500) r ON l.k = r.k AND l.t > r.t WHERE l.n "
		"> 100 AND l.t - r.t < 40 GROUP BY l.g ORDER BY l.g",
		/* values: 64 bits, reals, texts */
		"SELECT l.n, r.w FROM l ASOF LEFT JOIN r ON l.w >= r.w ORDER BY l.n",
		"SELECT l.n, r.w FROM l ASOF JOIN r ON l.k = r.k AND l.w <= r.w ORDER BY l.n",
		"SELECT l.n, r.d + 0 FROM l ASOF LEFT JOIN r ON l.d >= r.d ORDER BY l.n",
		"SELECT l.n, abs(r.d) FROM l ASOF JOIN r ON l.d < r.d ORDER BY l.n",
		"SELECT l.n, r.x FROM l ASOF LEFT JOIN r ON l.x > r.x ORDER BY l.n",
		/* NULLs without keys, empty sides, extremes */
		"SELECT u.n, v.n FROM u ASOF LEFT JOIN v ON u.t >= v.t ORDER BY u.n",
		"~SELECT count(*), sum(v.n) FROM u ASOF JOIN v ON u.t < v.t",
		"SELECT l.n, v.n FROM l ASOF LEFT JOIN v ON l.k = v.k AND l.t > v.t ORDER BY l.n",
		"SELECT count(*), count(e.n) FROM l ASOF LEFT JOIN (SELECT * FROM r WHERE d < 7 AND d > 8) e ON l.t >= e.t",
		"SELECT count(*), count(r.n) FROM (SELECT * FROM l WHERE d < -7 AND d > -8) e ASOF JOIN r ON e.t >= r.t",
		"~SELECT sum(l.n), sum(one.y) FROM l ASOF JOIN one ON l.t <= one.t",
		"~SELECT one.y, a.t FROM one ASOF LEFT JOIN l a ON one.t >= a.t ORDER BY one.y",
		"SELECT one.y, b.y FROM one ASOF LEFT JOIN one b ON one.t > b.t ORDER BY one.y",
		/* beside other joins, and twice */
		"SELECT name, count(*), sum(r.n) FROM l ASOF JOIN r ON l.k = r.k AND l.t >= r.t JOIN g ON l.g = g.g GROUP BY name ORDER BY name",
		"SELECT count(*), sum(r.n), sum(v.n) FROM l ASOF JOIN r ON l.t >= r.t ASOF LEFT JOIN v ON l.k = v.k AND l.t <= v.t",
	};
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = shared_session();
	for (size_t q = 0; q < sizeof queries / sizeof *queries; q++)
		if (usual(queries[q]) && !left_out())
			same_there(s.con, usual(queries[q]), __LINE__);
}

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

/* DuckDB 1.5 finds some row by a NULL beside keys, so that it answers; what has too many places, the CPU does. */
static void elsewhere(void **state)
{
	static const char reals[] = "SELECT count(*), count(r.d) FROM l ASOF LEFT JOIN r ON l.k = r.k AND l.d >= r.d";
	static const char wide[] = "SELECT count(*), sum(r.b) FROM l ASOF LEFT JOIN r ON l.b >= r.b";
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = shared_session();
	same_anywhere(s.con, "SELECT count(*), count(v.n) FROM u ASOF LEFT JOIN v ON u.k = v.k AND u.t >= v.t");
	run(s.con, "SET rayql_unit = 'auto'");
	same_anywhere(s.con, reals);
	not_there(s.con, reals, "have more than 2^63 places together");
	same_anywhere(s.con, wide);
	not_there(s.con, wide, "joined as columns on a GPU: ");
	run(s.con, "SET rayql_enable_nearest = off");
	not_there(s.con, "SELECT count(*) FROM l ASOF JOIN r ON l.t >= r.t", "joined as columns on a GPU: the method is switched off");
	run(s.con, "SET rayql_enable_nearest = on; SET rayql_unit = 'compute'");
}

/* Whatever fails there, the host answers. */
static void faults(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	survives_faults("CREATE TABLE l AS SELECT i::INTEGER n, (hash(i) % 5)::INTEGER k, (hash(i * 3) % 900)::INTEGER t FROM range(500) q(i); "
	                "CREATE TABLE r AS SELECT i::INTEGER n, (i % 7)::INTEGER k, (i * 2)::INTEGER t FROM range(400) q(i); "
	                "CREATE INDEX cl ON l USING columns (*); CREATE INDEX cr ON r USING columns (*)",
	                "SELECT count(*), sum(r.n) FROM l ASOF JOIN r ON l.k = r.k AND l.t >= r.t", 6);
}

/* Rows that come later: more than the recording had room for. */
static void grows(void **state)
{
	static const char sql[] = "SELECT count(*), sum(r.n), sum(l.n) FROM l ASOF JOIN r ON l.k = r.k AND l.t >= r.t";
	(void)state;
	if (!has_unit("compute") || left_out())
		skip();
	struct session s = asof_session();
	same_there(s.con, sql, __LINE__);
	run(s.con, "INSERT INTO l SELECT l.* REPLACE (n + 5000 AS n) FROM l, range(20); "
	           "INSERT INTO r SELECT * REPLACE (n + 90000 AS n, t + 1 AS t) FROM r");
	free(rows_of(s.con, sql, NULL)); /* which reads them */
	same_there(s.con, sql, __LINE__);
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(answers), cmocka_unit_test(elsewhere), cmocka_unit_test(grows),
	                                   cmocka_unit_test(faults)};
	return cmocka_run_group_tests(tests, NULL, close_shared);
}
