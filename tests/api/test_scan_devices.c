/* Columns on a device: what rayql_structures() says of them, rayql_device_memory_limit and who gives way, shapes, and what is
 * said of failures (test_faults.c walks all of them). */
#include "device.h"

#include <time.h>

#define INDEX "CREATE INDEX c ON t USING columns (*)"

static const char marked[] = "SELECT count(*) FROM rayql_structures() WHERE reason LIKE '%not used on vulkan:0 (%'";

static uint64_t number(rayql_connection *con, const char *sql)
{
	char *rows = rows_of(con, sql, NULL);
	uint64_t answer = strtoull(rows, NULL, 10);
	free(rows);
	return answer;
}

/* ---- failures ---- */
/* What a user reads: of the statement that met the failure, of later ones, of the structure. */
static void what_a_failure_says(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	for (int off = 0; off < 2; off++) {
		with_vulkan("vulkan:0 wait 1");
		struct session s = open_session(NULL, NULL);
		make_data(s.con);
		run(s.con, INDEX);
		use(s.con, "compute");
		run(s.con, off ? "SET rayql_fallback = off" : "SET rayql_fallback = notice");
		rayql_result *res = NULL;
		if (off) {
			fails(s.con, QUERY, RAYQL_ERROR_UNSUPPORTED, "the method \"scan\" failed on compute (");
			fails(s.con, QUERY, RAYQL_ERROR_UNSUPPORTED, "c: no method can serve it: device vulkan:0 (");
		} else {
			assert_int_equal(rayql_query(s.con, QUERY, &res, NULL), RAYQL_OK);
			assert_string_equal(rayql_result_method(res), "host");
			holds(rayql_result_notice(res), "the method \"scan\" failed on compute (");
			holds(rayql_result_notice(res), "failed: waiting for it (RAYQL_FAULT)");
			rayql_result_free(res);
			assert_int_equal(rayql_query(s.con, QUERY, &res, NULL), RAYQL_OK);
			holds(rayql_result_notice(res), "c: no method can serve it: device vulkan:0 (");
			holds(rayql_result_notice(res), "failed: waiting for it (RAYQL_FAULT)");
			rayql_result_free(res);
			expect(s.con, "SELECT reason LIKE '%waiting for it (RAYQL_FAULT)' FROM rayql_last_query()", NULL, "true\n");
			char *text = rows_of(s.con, "EXPLAIN " QUERY, NULL);
			holds(text, "c: no method can serve it: device vulkan:0 (");
			free(text);
		}
		expect(
			s.con,
			"SELECT state, reason LIKE 'not used on vulkan:0 (%) any more, where a query failed: %; REFRESH INDEX lets "
			"it try again', placed LIKE 'vulkan:0: not used: device vulkan:0 (%', device_bytes FROM rayql_structures()",
			NULL, "ready|true|true|0\n");
		/* The reason beside what else there is to say of it, also when rows were appended. */
		run(s.con, "RESET rayql_unit; RESET rayql_device; INSERT INTO t VALUES (6, 'g0', 0)");
		expect(s.con, QUERY, "scan", NULL);
		expect(s.con,
		       "SELECT reason LIKE '1 added rows were appended in %; not used on vulkan:0 (%' FROM rayql_structures()",
		       NULL, "true\n");
		run(s.con, "REFRESH INDEX c");
		expect(s.con, "SELECT coalesce(reason, '') LIKE '%not used%' FROM rayql_structures()", NULL, "false\n");
		close_session(&s);
	}
	/* REFRESH INDEX that finds rows to append, rather than to build again. */
	with_vulkan("vulkan:0 wait 1");
	struct session s = open_session(NULL, NULL);
	make_data(s.con);
	run(s.con, INDEX);
	use(s.con, "compute");
	expect(s.con, QUERY, "host", NULL);
	expect(s.con, marked, NULL, "1\n");
	run(s.con, "INSERT INTO t VALUES (6, 'g0', 0)");
	run(s.con, "REFRESH INDEX c");
	expect(s.con, "SELECT reason LIKE '1 added rows were appended in % ms' FROM rayql_structures()", NULL, "true\n");
	expect(s.con, QUERY, "scan", NULL);
	close_session(&s);
	with_vulkan(NULL);
}

/* One session's failure is everybody's: plans that others have kept are dropped. And what rayql_auto_columns has loaded is
 * marked like an index. */
static void others_hear_of_it(void **state)
{
	(void)state;
	left_to_release();
	if (!has_unit("compute"))
		skip();
	for (int automatic = 0; automatic < 2; automatic++) {
		const char *refresh = automatic ? "REFRESH INDEX \"auto columns of t\"" : "REFRESH INDEX c";
		int struck = 0;
		for (int n = 1; n < 20 && struck < 1; n++) {
			char fault[64];
			snprintf(fault, sizeof fault, "vulkan:0 wait %d", n);
			with_vulkan(fault);
			struct session s = open_session(NULL, NULL);
			rayql_connection *other = NULL;
			assert_int_equal(rayql_connect(s.db, &other, NULL), RAYQL_OK);
			make_data(s.con);
			run(s.con, automatic ? "SET rayql_auto_columns = on" : INDEX);
			use(s.con, "compute");
			use(other, "compute");
			run(s.con, QUERY);
			run(other, QUERY);
			if (number(s.con, marked) ==
			    0) { /* both have a plan on the device; it strikes in one's next run, or later */
				char *want = rows_of(s.con, QUERY, NULL);
				if (number(s.con, marked) == 1) {
					struck++;
					expect(other, QUERY, "host", want);
					expect(other, "SELECT reason LIKE '%: no method can serve it: device %' FROM rayql_last_query()",
					       NULL, "true\n");
					run(other, refresh);
					expect(s.con, QUERY, "scan", want);
					expect(s.con, "SELECT device FROM rayql_last_query()", NULL, "vulkan:0\n");
				}
				free(want);
			}
			rayql_disconnect(other);
			close_session(&s);
		}
		assert_int_equal(struck, 1);
	}
	with_vulkan(NULL);
}

/* ---- memory ---- */
#define COLUMNS 6u

/* Columns x0 ... x5 of equal size, which nothing compresses: 17 bits of each value. */
static void make_wide(rayql_connection *con)
{
	char sql[1024];
	int n = snprintf(sql, sizeof sql, "CREATE TABLE w AS SELECT i AS id");
	for (unsigned c = 0; c < COLUMNS; c++)
		n += snprintf(sql + n, sizeof sql - (size_t)n, ", (hash(i * 10 + %u) %% 131072)::INTEGER AS x%u", c, c);
	snprintf(sql + n, sizeof sql - (size_t)n, " FROM range(100000) r(i)");
	run(con, sql);
	run(con, "CREATE INDEX cw ON w USING columns (*)");
}

static const char placed_bytes[] = "SELECT sum(device_bytes)::BIGINT FROM rayql_structures()";
static const char plan_cached[] = "SELECT plan_cached FROM rayql_last_query()";

static void what_is_placed(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = open_session(NULL, NULL);
	make_wide(s.con);
	expect(s.con, "SELECT placed, device_bytes, place_ms FROM rayql_structures()", NULL, "NULL|0|0.0\n");
	use(s.con, "compute");
	expect(s.con, "SELECT sum(x0) FROM w", "scan", NULL);
	expect(s.con,
	       "SELECT placed LIKE 'vulkan:0 (1 of 7 columns in % ms): 20%.% KiB', place_ms > 0 FROM rayql_structures()",
	       NULL, "true|true\n");
	uint64_t one = number(s.con, placed_bytes);
	assert_in_range(one, 100000 * 17 / 8, 100000 * 17 / 8 + 20000);
	expect(s.con, "SELECT sum(x0 + x1), min(x2) FROM w", "scan", NULL);
	expect(s.con, "SELECT placed LIKE 'vulkan:0 (3 of 7 columns in %' FROM rayql_structures()", NULL, "true\n");
	assert_in_range(number(s.con, placed_bytes), 3 * one - 20000, 3 * one + 20000);
	/* One that is tested and summed lies there in two layouts, and is one column. */
	uint64_t three = number(s.con, placed_bytes);
	expect(s.con, "SELECT sum(x3) FROM w WHERE x3 > 50", "scan", NULL);
	expect(s.con, "SELECT placed LIKE 'vulkan:0 (4 of 7 columns in %' FROM rayql_structures()", NULL, "true\n");
	assert_in_range(number(s.con, placed_bytes) - three, 2 * one - 30000, 2 * one + 30000);
	run(s.con, "DROP INDEX cw");
	run(s.con, "SELECT sum(x0) FROM w"); /* drops the plans that held it */
	run(s.con, "CREATE INDEX cw ON w USING columns (x0)");
	expect(s.con, "SELECT placed, device_bytes FROM rayql_structures()", NULL, "NULL|0\n");
	close_session(&s);
}

/* Room for two columns and what their queries need besides. */
static uint64_t set_limit_of_two(rayql_connection *con)
{
	char sql[96];
	run(con, "SELECT sum(x0) FROM w");
	uint64_t limit = number(con, placed_bytes) * 5 / 2;
	snprintf(sql, sizeof sql, "SET rayql_device_memory_limit = '%llu'", (unsigned long long)limit);
	run(con, sql);
	return limit;
}

#define sum_of(con, c, cached) sum_of_at(con, c, cached, __FILE__, __LINE__)
static void sum_of_at(rayql_connection *con, unsigned c, bool cached, const char *file, int line)
{
	char sql[64];
	snprintf(sql, sizeof sql, "SELECT sum(x%u) FROM w", c);
	expect_at(con, sql, "scan", NULL, file, line);
	expect_at(con, plan_cached, NULL, cached ? "true\n" : "false\n", file, line);
	expect_at(con, "SELECT device FROM rayql_last_query()", NULL, "vulkan:0\n", file, line);
}

/* What was used longest ago gives way; what could never fit drives nobody out. */
static void least_recently_used(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = open_session(NULL, NULL);
	make_wide(s.con);
	use(s.con, "compute");
	uint64_t limit = set_limit_of_two(s.con);
	for (unsigned c = 0; c < COLUMNS; c++) {
		sum_of(s.con, c, false);
		assert_true(number(s.con, placed_bytes) <= limit);
		expect(s.con, "SELECT placed LIKE 'vulkan:0 (_ of 7 columns %' FROM rayql_structures()", NULL, "true\n");
	}
	sum_of(s.con, 4, true); /* 4 and 5 are there, 4 is the later one now */
	sum_of(s.con, 1, false);
	sum_of(s.con, 4, true);
	sum_of(s.con, 1, true);
	sum_of(s.con, 5, false);
	sum_of(s.con, 1, true);
	sum_of(s.con, 4, false);
	/* 1 and 4 are there: x1 + x2 needs x1 whoever holds it. */
	expect(s.con, "SELECT sum(x1 + x2) FROM w", "scan", NULL);
	assert_true(number(s.con, placed_bytes) <= limit);
	expect(s.con, "SELECT sum(x1 + x2) FROM w", "scan", NULL);
	expect(s.con, plan_cached, NULL, "true\n");
	/* Three are too many for ever. */
	expect(s.con, "SELECT sum(x1 + x2 + x3) FROM w", "host", NULL);
	expect(s.con,
	       "SELECT reason LIKE 'cw: no method can serve it: it needs % of the device''s memory and "
	       "rayql_device_memory_limit leaves %; raise the limit, or drop a view or an index' FROM rayql_last_query()",
	       NULL, "true\n");
	char *text = rows_of(s.con, "EXPLAIN SELECT sum(x1 + x2 + x3) FROM w", NULL);
	holds(text, "rayql_device_memory_limit leaves ");
	free(text);
	expect(s.con, "SELECT sum(x1 + x2) FROM w", "scan", NULL);
	expect(s.con, plan_cached, NULL, "true\n");
	run(s.con, "RESET rayql_device_memory_limit");
	expect(s.con, "SELECT sum(x1 + x2 + x3) FROM w", "scan", NULL);
	close_session(&s);
}

/* The rows of groups count, too: a hash table of many wide rows does not fit where the columns would. */
static void scratch_counts(void **state)
{
	static const char groups[] =
		"SELECT x0, x1, count(*), sum(x0), min(x1), max(x1) FROM w GROUP BY x0, x1";
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = open_session(NULL, NULL);
	make_wide(s.con);
	use(s.con, "compute");
	expect(s.con, groups, "scan", NULL);
	(void)set_limit_of_two(s.con);
	expect(s.con, "SELECT sum(x0 + x1) FROM w", "scan", NULL);
	expect(s.con, groups, "host", NULL);
	expect(s.con, "SELECT reason LIKE '%rayql_device_memory_limit leaves %' FROM rayql_last_query()", NULL, "true\n");
	expect(s.con, marked, NULL, "0\n"); /* no failure */
	run(s.con, "SET rayql_device_memory_limit = 0");
	expect(s.con, "SELECT sum(x0) FROM w", "host", NULL);
	run(s.con, "RESET rayql_device_memory_limit");
	expect(s.con, groups, "scan", NULL);
	close_session(&s);
}

/* Views and columns share the limit. */
static void views_and_columns(void **state)
{
	(void)state;
	left_to_release();
	if (!has_unit("compute"))
		skip();
	struct session s = open_session(NULL, NULL);
	make_wide(s.con);
	make_data(s.con);
	use(s.con, "compute");
	(void)set_limit_of_two(s.con);
	sum_of(s.con, 0, false);
	sum_of(s.con, 1, false);
	/* A view that is made while they fill the memory is placed by its first query, and they go. */
	run(s.con,
	    "CREATE MATERIALIZED VIEW v WITH (rollup = off) AS SELECT g, a, v, sum(v), count(*) FROM t GROUP BY ALL");
	expect(s.con, QUERY, "cube", NULL);
	expect(s.con, "SELECT device FROM rayql_last_query()", NULL, "vulkan:0\n");
	expect(s.con, "SELECT device_bytes > 0 FROM rayql_structures() WHERE name = 'v'", NULL, "true\n");
	/* The view stays: it is not for one statement. */
	expect(s.con, "SELECT sum(x0 + x1) FROM w", NULL, NULL);
	expect(s.con, "SELECT device_bytes > 0 FROM rayql_structures() WHERE name = 'v'", NULL, "true\n");
	close_session(&s);
}

/* Ever new shapes of queries, more than pipelines are kept: nobody is refused. */
static void many_shapes(void **state)
{
	static const char *const aggs[] = {"count(*)", "sum(v)", "min(v)", "max(a)"};
	(void)state;
	left_to_release();
	if (!has_unit("compute"))
		skip();
	setenv("RAYQL_VULKAN_PIPELINES", "3", 1);
	struct session s = open_session(NULL, NULL);
	make_data(s.con);
	run(s.con, INDEX);
	for (unsigned round = 0; round < 2; round++)
		for (unsigned shape = 1; shape < 16; shape += is_long() ? 1 : 2) { /* more than are kept */
			char sql[256] = "SELECT ", *want;
			for (unsigned i = 0; i < 4; i++)
				if (shape >> i & 1) {
					strcat(sql, strlen(sql) > 7 ? ", " : "");
					strcat(sql, aggs[i]);
				}
			strcat(sql, " FROM t WHERE v > 10");
			run(s.con, "SET rayql_unit = cpu; SET rayql_device = cpu");
			want = rows_of(s.con, sql, NULL);
			use(s.con, "compute");
			expect(s.con, sql, "scan", want);
			expect(s.con, sql, "scan", want);
			free(want);
		}
	close_session(&s);
	unsetenv("RAYQL_VULKAN_PIPELINES");
}

/* Expressions over columns, with the ends of their types, NULLs and divisors of 0: a scan on the device has DuckDB's
 * answers, types and errors. */
static void expressions(void **state)
{
	static const char *const queries[] = {
		"~SELECT n, min(a // n), max(a % n), sum(b // n), sum(b % n) FROM e GROUP BY n ORDER BY n",
		"SELECT id % 7 AS k, min(b // 1000), max(mod(b, 86400)), min(a // -3), count(a // n) FROM e GROUP BY k ORDER BY k",
		"~SELECT date_trunc('month', d)::DATE AS m, count(*), sum(a % 10) FROM e GROUP BY m ORDER BY m",
		/* TIMESTAMPs that are days */
		"SELECT date_trunc('month', d) AS m, typeof(m), count(*), sum(a % 10) FROM e GROUP BY m ORDER BY m DESC NULLS FIRST",
		"SELECT date_trunc('week', t) AS w, n, count(*) FROM e WHERE id < 4000 GROUP BY w, n HAVING w > '1970-01-01' ORDER BY "
		"ALL",
		"~SELECT d::TIMESTAMP AS m, date_trunc('year', d) AS y, max(a) FROM e GROUP BY m, y ORDER BY y, m LIMIT 50",
		"SELECT date_trunc('quarter', d) AS q, date_trunc('quarter', d)::DATE AS c, count(DISTINCT date_trunc('day', t)), "
		"count(DISTINCT n) FROM e GROUP BY q, c ORDER BY q",
		"~SELECT min(date_trunc('week', d + 1)), max(date_trunc('quarter', t)), min(date_trunc('year', t)) FROM e",
		"SELECT hour(t) AS h, minute(t) // 15 AS q, count(*), max(second(t)) FROM e GROUP BY h, q ORDER BY h, q",
		"SELECT id // 100 AS k, sum(p::DECIMAL(18, 1)), min((p * 3)::BIGINT), max(TRY_CAST(p AS TINYINT)) FROM e GROUP BY k "
		"ORDER BY k",
		"SELECT count(*), min(r % 7), max(r % -0.3), sum(TRY_CAST(r AS INTEGER)), min(r::BIGINT) FROM e WHERE r % 2 < 1",
		"SELECT count(*) FROM e WHERE id IN (1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39, 41) "
		"OR r IN (0.5, 1, 1.5) OR a % 2 = 1",
		"SELECT n, min(f * f), max(f / 3::FLOAT - a), min(b::FLOAT), sum(CASE WHEN f % 2 < 1 THEN 1 ELSE 0 END) FROM e GROUP "
		"BY n ORDER BY n",
		"SELECT count(*) FROM e WHERE CASE WHEN n <> 0 THEN a // n > 3 ELSE t::DATE > d END",
		/* groups by reals: -0.0 is 0.0, and shown where it is alone; NaN is one; expressions; what comes first of them */
		"SELECT x + 0, c, s, l FROM (SELECT z x, count(*) c, sum(b) s, min(a) l FROM e WHERE z <= 'inf' GROUP BY z) q ORDER BY 1",
		"SELECT z, count(*), sum(a) FROM e WHERE id % 9 = 1 GROUP BY z",
		"~SELECT x + 0, n, c FROM (SELECT z x, n, count(*) c FROM e WHERE z < 2 GROUP BY ALL) q ORDER BY 1 DESC, 2",
		"SELECT DISTINCT f FROM e WHERE n = 3 ORDER BY f NULLS FIRST LIMIT 50",
		"SELECT r / 3 x, count(*) c FROM e GROUP BY x HAVING c > 3 ORDER BY c DESC, x LIMIT 20",
	};
	(void)state;
	left_to_release();
	if (!has_unit("compute"))
		skip();
	struct session s = open_session(NULL, NULL);
	rayql_connection *host = NULL;
	assert_int_equal(rayql_connect(s.db, &host, NULL), RAYQL_OK);
	run(s.con,
	    "CREATE TABLE e AS SELECT i::INTEGER AS id, CASE WHEN i % 50 = 0 THEN NULL WHEN i % 50 = 1 THEN -2147483648 "
	    "WHEN i % 50 = 2 THEN 2147483647 ELSE (hash(i) % 20000)::INTEGER - 10000 END AS a, (i % 5 - 2)::INTEGER * 3 AS n, "
	    "CASE WHEN i % 60 = 0 THEN NULL WHEN i % 60 = 1 THEN -9223372036854775808 ELSE (hash(i * 7) >> 1)::BIGINT - "
	    "4611686018427387904 END AS b, CASE WHEN i % 70 = 0 THEN NULL ELSE DATE '1900-01-01' + (hash(i * 3) % 80000)::INTEGER END AS d, "
	    "TIMESTAMP '1960-01-01' + to_microseconds((hash(i * 5) % 2000000000000000)::BIGINT) AS t, "
	    "(((hash(i * 11) % 200000)::INTEGER - 100000) * 0.001)::DECIMAL(15, 3) AS p, "
	    "CASE WHEN i % 40 = 0 THEN NULL ELSE ((hash(i * 13) % 4000)::INTEGER - 2000) / 4 END AS r, "
	    "CASE WHEN i % 45 = 0 THEN NULL ELSE ((hash(i * 17) % 1000000)::INTEGER - 500000) / 7 END::FLOAT AS f, "
	    "([NULL, '-0', '-nan', '0', '1.5', '-1.5', '-inf', 'inf', '-0']::DOUBLE[])[1 + i % 9] AS z FROM range(9000) q(i)");
	run(s.con, "CREATE INDEX ce ON e USING columns (*)");
	use(s.con, "compute");
	run(host, "SET rayql_enable_scan = off");
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i += QUERY_STEP) {
		const char *sql = usual(queries[i]);
		if (!sql)
			continue;
		char *want = rows_of(host, sql, NULL);
		expect(s.con, sql, "scan", want);
		expect(s.con, "SELECT device FROM rayql_last_query()", NULL, "vulkan:0\n");
		run(s.con, "SET rayql_device = 'cpu'; SET rayql_unit = 'cpu'");
		expect(s.con, sql, "scan", want);
		use(s.con, "compute");
		free(want);
	}
	fails(s.con, "SELECT sum(a // (n + 2)) FROM e", RAYQL_ERROR_HOST, "Overflow in division");
	rayql_disconnect(host);
	close_session(&s);
}

/* ---- texts that a CASE takes from several places ---- */
static void chosen_texts(void **state)
{
	static const char *const queries[] = {
		"SELECT k, CASE WHEN k = 0 AND a > 3 THEN s ELSE '' END AS x, count(*), sum(id) FROM words GROUP BY k, x ORDER BY ALL",
		"SELECT CASE WHEN a < 3 THEN s WHEN a < 5 THEN u WHEN a = 5 THEN 'name 7' WHEN a = 6 THEN NULL ELSE 'new' END AS x, "
		"count(*), min(u) FROM words GROUP BY x ORDER BY ALL",
		"~SELECT CASE WHEN a > 5 THEN 'big' WHEN a > 2 THEN 'small' END AS x, typeof(x), count(*) FROM words GROUP BY x ORDER BY ALL",
		"SELECT coalesce(s, u, 'none') AS x, count(*) AS n FROM words GROUP BY x HAVING count(*) > 20 ORDER BY n DESC, x LIMIT 9",
		"~SELECT CASE WHEN k = 1 THEN CASE WHEN a = 2 THEN coalesce(u, 'x') ELSE 'name 3' END ELSE u END AS x, sum(a) FROM words "
		"WHERE s LIKE '%1%' GROUP BY x ORDER BY ALL",
		/* the condition reads the text itself, and so does another key */
		"SELECT CASE WHEN s < 'name 5' OR a = 1 THEN s ELSE u END AS x, s, count(*) FROM words GROUP BY x, s ORDER BY ALL",
		"SELECT CASE WHEN a = 1 THEN s ELSE 'p' END AS x, CASE WHEN a = 1 THEN s ELSE 'q' END AS y, CASE WHEN a = 1 THEN 'r' "
		"ELSE s END AS z, count(*) FROM words GROUP BY ALL ORDER BY ALL",
		"SELECT count(DISTINCT CASE WHEN a = 1 THEN s ELSE u END) FROM words",
		"SELECT CASE WHEN a < 4 THEN land ELSE s END AS x, coalesce(land, 'nowhere') AS y, count(*) FROM words LEFT JOIN l ON k = l.k2 "
		"GROUP BY x, y ORDER BY ALL",
		"SELECT id, CASE WHEN a < 4 THEN s ELSE u END AS x, CASE WHEN a < 4 THEN 'é' ELSE s END AS y FROM words WHERE id % 40 < 3 "
		"ORDER BY id",
		"~SELECT CASE WHEN id < 0 THEN s ELSE u END AS x, count(*) FROM words WHERE id < 0 GROUP BY x",
	};
	(void)state;
	left_to_release();
	bool device = has_unit("compute");
	struct session s = open_session(NULL, NULL);
	rayql_connection *host = NULL;
	assert_int_equal(rayql_connect(s.db, &host, NULL), RAYQL_OK);
	run(s.con, "CREATE TABLE words AS SELECT i::INTEGER AS id, (hash(i) % 8)::INTEGER AS a, (i % 3)::INTEGER AS k, CASE WHEN i % 9 = 0 "
	           "THEN NULL ELSE 'name ' || (hash(i * 3) % 60) END AS s, CASE WHEN i % 11 = 0 THEN NULL WHEN i % 4 = 0 THEN 'name ' || "
	           "(i % 50) WHEN i % 5 = 0 THEN '' ELSE 'a longer text é ' || (hash(i * 5) % 300) END AS u FROM range(9000) q(i)");
	run(s.con, "CREATE TABLE l AS SELECT i::INTEGER AS k2, CASE WHEN i > 0 THEN 'name ' || i END AS land FROM range(2) q(i)");
	run(s.con, "CREATE INDEX cx ON words USING columns (*); SET rayql_force = on");
	run(host, "SET rayql_enable_scan = off");
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i += QUERY_STEP) {
		const char *query = usual(queries[i]);
		if (!query)
			continue;
		char *want = rows_of(host, query, NULL);
		for (int on = 0; on <= device; on++) {
			if (on)
				use(s.con, "compute");
			expect(s.con, query, "scan", want);
			expect(s.con, "SELECT device FROM rayql_last_query()", NULL, on ? "vulkan:0\n" : "cpu\n");
			char *plan = NULL, sql[800];
			snprintf(sql, sizeof sql, "EXPLAIN %s", query);
			holds(plan = rows_of(s.con, sql, NULL), "finish: RayQL");
			assert_null(strstr(plan, "RayQL aggregate"));
			free(plan);
			run(s.con, "RESET rayql_device; RESET rayql_unit");
		}
		free(want);
	}
	rayql_disconnect(host);
	close_session(&s);
}

/* ---- strings ---- */
/* What fails while a statement is planned fails for the device alone: the CPU decides the condition. */
static void strings_survive(void **state)
{
	static const char make[] =
		"CREATE TABLE t AS SELECT 'word ' || i AS g, i::INTEGER AS v FROM range(3000) r(i); " INDEX;
	static const char *const kinds[] = {"allocation", "submission", "wait", "lost"};
	(void)state;
	if (!has_unit("compute"))
		skip();
	unsigned struck = 0;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		for (int n = (QUERY_STEP > 1 ? 4 : 1) + (int)(k % 2); n < 8; n += QUERY_STEP > 1 ? 4 : 3) {
			char fault[64];
			snprintf(fault, sizeof fault, "vulkan:0 %s %d", kinds[k], n);
			struck += !survives(fault, make, "SELECT count(*), sum(v) FROM t WHERE g LIKE '%7%1%'", "84|138999\n");
		}
	assert_true(struck > 0);
	with_vulkan(NULL);
}

/* Conditions over strings are decided on the device, over a dictionary that lies there: all that it knows, and what it
 * leaves to the CPU (letters beyond ASCII in any case) or knows nothing of. */
static const char *const string_conditions[] = {
	"u LIKE '%google%'",
	"~u ILIKE '%GOOgle%'",
	"u NOT LIKE '%oo%' AND length(u) > 12",
	"u LIKE '%_/g__gle/%1'",
	"u LIKE '%р_в%т%' OR strlen(u) = 3",
	"~u LIKE 'http%7'",
	"substring(u, 2, 3) IN ('ttp', 'рив', '') AND NOT (u LIKE '%1%')",
	"lower(left(u, 6)) = 'привет' OR upper(u) LIKE '%GOOGLE/1_'",
	"~NOT (u LIKE '%9%' OR u LIKE '%8%') AND u <> ''",
	"CASE WHEN u LIKE '%1%' THEN u LIKE '%2%' ELSE u LIKE '%3%' END",
	"~u LIKE '%100!%%' ESCAPE '!'",
	"contains(u, chr(0)) OR u = ''",
};

static void compare_conditions(rayql_connection *con, rayql_connection *host)
{
	char sql[400];
	for (size_t i = 0; i < sizeof string_conditions / sizeof *string_conditions; i++) {
		if (!usual(string_conditions[i]))
			continue;
		snprintf(sql, sizeof sql, "SELECT count(*), min(u), max(u), sum(id) FROM u WHERE %s", usual(string_conditions[i]));
		char *want = rows_of(host, sql, NULL);
		expect(con, sql, "scan", want);
		expect(con, "SELECT device FROM rayql_last_query()", NULL, "vulkan:0\n");
		free(want);
	}
}

static void strings(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = open_session(NULL, NULL);
	rayql_connection *host = NULL;
	assert_int_equal(rayql_connect(s.db, &host, NULL), RAYQL_OK);
	run(s.con, "CREATE TABLE u AS SELECT i::INTEGER id, CASE WHEN i % 17 = 0 THEN NULL WHEN i % 101 = 0 THEN '' "
	           "WHEN i % 103 = 0 THEN 'a' || chr(0) || i WHEN i % 107 = 0 THEN '100% of ' || i "
	           "WHEN i % 5 = 0 THEN 'Привет ' || (i * 31 % 997) || ' GOOGLE' WHEN i % 211 = 0 THEN repeat('long', i // 9) || '/google/1' "
	           "ELSE 'http://example.' || (i % 13) || '/google/' || (i * 7919 % 5003) END u FROM range(9000) r(i)");
	run(s.con, "CREATE INDEX cu ON u USING columns (*)");
	use(s.con, "compute");
	run(host, "SET rayql_enable_scan = off");
	compare_conditions(s.con, host);
	expect(s.con, "SELECT placed LIKE 'vulkan:0 (2 of 2 columns, strings of 1 in %' FROM rayql_structures()", NULL, "true\n");
	run(s.con, "INSERT INTO u VALUES (9000, 'новый google'), (9001, 'google/1'), (9002, NULL)");
	compare_conditions(s.con, host);
	run(s.con, "SET rayql_device_memory_limit = '200 KB'"); /* for columns, not for their strings */
	run(s.con, "DROP INDEX cu; CREATE INDEX cu ON u USING columns (*)");
	compare_conditions(s.con, host);
	expect(s.con, "SELECT placed LIKE '%columns in %' FROM rayql_structures()", NULL, "true\n");
	run(s.con, "RESET rayql_device_memory_limit; DROP INDEX cu");
	run(s.con, "SELECT count(*) FROM u"); /* drops the plans that held it */
	run(s.con, "CREATE INDEX cu ON u USING columns (u)");
	expect(s.con, "SELECT placed, device_bytes FROM rayql_structures()", NULL, "NULL|0\n");
	rayql_disconnect(host);
	close_session(&s);
}

/* ---- maps that are made there ---- */

/* Keys that are NULL, come twice, are 64 bits wide, lie beyond the other table's, or far apart; u and ub come once. */
static void make_keyed(rayql_connection *con, unsigned seed)
{
	char sql[1600];
	snprintf(sql, sizeof sql,
	         "CREATE TABLE p AS SELECT CASE WHEN h %% 40 = 7 THEN NULL ELSE h %% 300000 END::INTEGER k, "
	         "5000000000000 + (h // 7 %% 400000)::BIGINT kb, h * 1000003 far, (h %% 5)::INTEGER g, i::INTEGER v, "
	         "CASE WHEN h %% 40 = 7 THEN NULL ELSE 'key ' || h %% 30000 END s, (h %% 700 * 10007)::BIGINT few "
	         "FROM (SELECT i, (hash(i + %u) %% 10000019)::BIGINT h FROM range(20000) r(i)); "
	         "CREATE TABLE q AS SELECT CASE WHEN h %% 50 = 3 THEN NULL ELSE h %% 350000 - 20000 END::INTEGER k, "
	         "4999999990000 + (h // 7 %% 420000)::BIGINT kb, h * 1000003 far, (i * 11)::INTEGER u, "
	         "5000000000000 + i * 9 ub, (h // 3 %% 100)::INTEGER w, (h %% 9)::INTEGER x, i * 11000033 uf, "
	         "(i %% 5)::INTEGER y, (i // 5 * 7)::INTEGER k4, (h %% 299999)::INTEGER k2, CASE WHEN h %% 31 = 1 THEN NULL ELSE 'text ' || h %% 23 || "
	         "' that is longer than an inline one' END t, DATE '1992-01-01' + (h %% 2000)::INTEGER d, CASE WHEN i %% 61 = 5 THEN NULL ELSE 'key ' || i * 2 END s, (i %% 1500 * 10007)::BIGINT few "
	         "FROM (SELECT i, (hash(i * 3 + %u) %% 10000019)::BIGINT h FROM range(30000) r(i)); "
	         "CREATE TABLE nobody AS FROM q LIMIT 0; "
	         "CREATE INDEX cp ON p USING columns (*); CREATE INDEX cq ON q USING columns (*); "
	         "CREATE INDEX cn ON nobody USING columns (*)",
	         seed, seed);
	run(con, sql);
	use(con, "compute");
	/* Other ways to the same answer, by joins of columns, are not looked for. */
	run(con, "SET rayql_enable_join = off");
	/* Where columns lie there, so does their map. */
	run(con, "SELECT sum(k), sum(kb), sum(u), sum(ub), sum(w), sum(far), sum(x), sum(uf), sum(y), sum(k4), sum(k2), min(t), "
	         "min(d), min(s), sum(few) FROM q; "
	         "SELECT sum(k), sum(kb), sum(far), sum(g), sum(v), min(s), sum(few) FROM p");
}

/* A table of entries of 8 bytes. */
static void check_narrow(rayql_connection *con, const char *sql)
{
	char explain[200];
	run(con, "SET rayql_enable_scan = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on");
	expect(con, sql, "scan", want);
	snprintf(explain, sizeof explain, "EXPLAIN %s", sql);
	char *plan = rows_of(con, explain, NULL);
	holds(plan, "hashed map of 4194408 bytes; rows stay on a GPU");
	free(plan);
	free(want);
}

static void maps_made_there(void **state)
{
	static const char there[] = "rows stay on a GPU, where the map was made (";
	static const char many[] = "(no GPU made the map: what belongs to the keys is no number, or may have more than 2^62 values together)";
	static const struct {
		const char *sql, *how; /* %d: a number that differs from run to run; how NULL: whatever answers */
	} cases[] = {
		{"g, count(*), sum(v) FROM p WHERE EXISTS (SELECT 1 FROM q WHERE q.k = p.k AND w < %d) GROUP BY g", there},
		{"~g, count(*), sum(v) FROM p WHERE NOT EXISTS (SELECT 1 FROM q WHERE q.k = p.k AND w >= %d) GROUP BY g", there},
		{"~g, count(*) FROM p WHERE kb IN (SELECT kb FROM q WHERE w > %d) GROUP BY g", there},
		{"k IN (SELECT k FROM q WHERE w < %d) a, count(*), sum(v) FROM p GROUP BY a", there},
		{"count(*), sum(v) FROM p WHERE k NOT IN (SELECT k FROM q WHERE w < %d)", there},
		{"~count(*), sum(v) FROM p WHERE k NOT IN (SELECT k FROM q WHERE w < %d AND k IS NOT NULL)", there},
		/* unique keys; one that is not is another matter */
		{"g, count(*), sum(v) FROM p JOIN q ON p.k = q.u WHERE w < %d GROUP BY g", there},
		{"~g, count(*) FROM p JOIN q ON p.kb = q.ub WHERE w <> %d GROUP BY g", there},
		{"~g, count(*), sum(v) FROM p JOIN q ON p.k = q.k WHERE w < %d GROUP BY g", NULL},
		/* nothing passes, or everything */
		{"g, count(*) FROM p WHERE EXISTS (SELECT 1 FROM q WHERE q.k = p.k AND w * x < -%d) GROUP BY g", there},
		{"~g, count(*) FROM p WHERE NOT EXISTS (SELECT 1 FROM q WHERE q.k = p.k AND w + x > -%d) GROUP BY g", there},
		{"count(*) FROM p WHERE k NOT IN (SELECT k FROM nobody WHERE w < %d)", NULL},
		/* too far apart for bits: a hash table; keys of two columns, in both forms */
		{"g, count(*) FROM p WHERE far IN (SELECT far FROM q WHERE w < %d) GROUP BY g", there},
		{"g, count(*) FROM p WHERE EXISTS (SELECT 1 FROM q WHERE q.k = p.k AND q.x = p.g AND w < %d) GROUP BY g", there},
		{"g, count(*) FROM p WHERE NOT EXISTS (SELECT 1 FROM q WHERE q.kb = p.kb AND q.k = p.k AND w < %d) GROUP BY g", there},
		/* what belongs to the keys: numbers, texts and NULLs, grouped by, shown and computed with */
		{"t, x, count(*), sum(v) FROM p JOIN q ON p.k = q.u WHERE w < %d GROUP BY t, x", there},
		{"~t, count(*), sum(v * w) FROM p JOIN q ON p.kb = q.ub WHERE w <> %d GROUP BY t", there},
		{"v, t, d FROM p JOIN q ON p.k = q.u WHERE w < %d AND v < 9000", there},
		{"~d, count(*), sum(v) FROM p JOIN q ON p.far = q.uf WHERE w < %d GROUP BY d", there},
		/* no larger than of the rows that came: 12,000 keys in 32,768 places */
		{"g, count(*) FROM p WHERE far IN (SELECT uf FROM q WHERE y < 2 AND w > -%d) GROUP BY g", "hashed map of 524392 bytes; rows stay on a GPU"},
		{"x, t, count(*) FROM p JOIN q ON p.k = q.u AND p.g = q.y WHERE w < %d GROUP BY x, t", there},
		{"~x, t, count(*), min(v) FROM p JOIN q ON p.k = q.k4 AND p.g = q.y WHERE w > %d GROUP BY x, t", there},
		/* nobody, keys that come twice, more values than bits, or than numbers, and rows without a match */
		{"~t, count(*) FROM p JOIN q ON p.k = q.u WHERE w * x < -%d GROUP BY t", there},
		{"t, count(*) FROM p JOIN q ON p.k = q.k WHERE w < %d GROUP BY t", NULL},
		{"t, x, w, k2, count(*) FROM p JOIN q ON p.k = q.u WHERE w < %d GROUP BY t, x, w, k2", there},
		{"~t, x, w, k2, count(*) FROM p JOIN q ON p.k = q.u WHERE w * x < -%d GROUP BY t, x, w, k2", there},
		{"~t, uf, q.ub, sum(v) FROM p JOIN q ON p.far = q.uf WHERE w < %d GROUP BY t, uf, q.ub", NULL},
		{"w, q.kb, k2, t, count(*) FROM p LEFT JOIN (FROM q WHERE w < %d // 4) q ON p.k = q.u GROUP BY w, q.kb, k2, t", there},
		{"q.far, uf, count(*) FROM p JOIN q ON p.k = q.u WHERE w < %d GROUP BY q.far, uf", many},
		/* groups are rows like others */
		{"g, count(*), sum(v * z) FROM p LEFT JOIN (SELECT k, sum(k2) z FROM q WHERE w < %d GROUP BY k) q ON p.k = q.k GROUP BY g", there},
		{"~g, count(*) FROM p WHERE k IN (SELECT k FROM q GROUP BY k HAVING sum(w) > %d) GROUP BY g", there},
		{"~t, count(*) FROM p LEFT JOIN (FROM q WHERE w < %d) q ON p.k = q.u GROUP BY t", there},
		{"~x, coalesce(w, -1) c, count(t), sum(v) FROM p LEFT JOIN (FROM q WHERE w < %d) q ON p.k = q.u GROUP BY x, c", there},
		/* keys that are codes: on both sides, of one, with NULL, beside another one */
		{"g, count(*) FROM p WHERE EXISTS (SELECT 1 FROM q WHERE q.s = p.s AND w < %d) GROUP BY g", there},
		{"count(*), sum(v) FROM p WHERE s NOT IN (SELECT s FROM q WHERE w < %d)", there},
		{"t, count(*), sum(v) FROM p JOIN q ON p.s = q.s WHERE w < %d GROUP BY t", there},
		{"~x, count(*), sum(v) FROM p LEFT JOIN (FROM q WHERE w < %d) q ON p.s = q.s GROUP BY x", there},
		{"~g, count(*) FROM p WHERE EXISTS (SELECT 1 FROM q WHERE q.s = p.s AND q.x = p.g AND w < %d) GROUP BY g", there},
		{"~count(*), min(v) FROM p WHERE few IN (SELECT few FROM q WHERE w <> %d)", there},
	};
	(void)state;
	if (!has_unit("compute"))
		skip();
	const unsigned seed = (unsigned)time(NULL);
	print_message("seed %u\n", seed);
	struct session s = open_session(NULL, NULL);
	make_keyed(s.con, seed);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *with_number = usual(cases[i].sql);
		if (!with_number || left_out())
			continue;
		char body[400], sql[500], explain[600];
		snprintf(body, sizeof body, with_number, 20 + (int)((seed + i * 31) % 60));
		snprintf(sql, sizeof sql, "SELECT %s ORDER BY ALL", body);
		snprintf(explain, sizeof explain, "EXPLAIN %s", sql);
		run(s.con, "SET rayql_enable_scan = off");
		char *want = rows_of(s.con, sql, NULL);
		run(s.con, "SET rayql_enable_scan = on");
		expect(s.con, sql, cases[i].how ? "scan" : NULL, want);
		char *plan = rows_of(s.con, explain, NULL);
		if (cases[i].how)
			holds(plan, cases[i].how);
		free(plan);
		free(want);
	}
	/* The bits lie there as any map's: no run has sent them. */
	char placed[200];
	snprintf(placed, sizeof placed, "SELECT count(*) * %u > 5 FROM rayql_structures() WHERE kind = 'map' AND placed LIKE "
	         "'vulkan:0 (bits in %%'", QUERY_STEP);
	expect(s.con, placed, NULL, "true\n");
	/* Bits would do, but are more than a device's cache holds, and than a hash table. */
	run(s.con, "CREATE TABLE apart AS SELECT 5000000000000 + i * 1500 k, i % 7 z FROM range(150000) r(i); "
	           "CREATE TABLE near AS SELECT 5000000000000 + (hash(i) % 200000)::BIGINT * 1500 k, i::INTEGER v "
	           "FROM range(9000) r(i); "
	           "CREATE INDEX ca ON apart USING columns (*); CREATE INDEX cn2 ON near USING columns (*)");
	expect(s.con, "SELECT sum(k), sum(z) FROM apart", NULL, "750016874887500000|449994\n");
	expect(s.con, "SELECT sum(k) > 0 FROM near", NULL, "true\n");
	check_narrow(s.con, "SELECT count(*), sum(v) FROM near WHERE k IN (SELECT k FROM apart)");
	check_narrow(s.con, "SELECT z, count(*), sum(v) FROM near JOIN apart ON near.k = apart.k GROUP BY z ORDER BY z");
	/* A row more, and the map is another. */
	run(s.con, "INSERT INTO q SELECT k + 1, kb, far, u + 5, ub + 4, w, x, uf + 1, y, k4 + 1, k2, t, d, s, few FROM q LIMIT 500");
	char *want = rows_of(s.con, "SELECT count(*) FROM (FROM p WHERE v >= 0) p JOIN (FROM q WHERE w >= 0) q ON p.k = q.u", NULL);
	expect(s.con, "SELECT count(*) FROM p JOIN q ON p.k = q.u WHERE w >= 0", NULL, want);
	free(want);
	close_session(&s);
}

/* A device that fails while a map is made: the CPU makes it. */
static void maps_survive(void **state)
{
	static const char sql[] = "SELECT g, count(*) FROM p WHERE EXISTS (SELECT 1 FROM q WHERE q.k = p.k AND w < 50) "
	                          "GROUP BY g ORDER BY g";
	(void)state;
	if (!has_unit("compute"))
		skip();
	int met = 0;
	for (int n = 2; n < 5; n++) {
		char fault[64];
		snprintf(fault, sizeof fault, "vulkan:0 wait %d", n);
		with_vulkan(fault);
		struct session s = open_session(NULL, NULL);
		make_keyed(s.con, 1);
		char *plan = rows_of(s.con, "EXPLAIN SELECT g, count(*) FROM p WHERE EXISTS (SELECT 1 FROM q WHERE q.k = p.k AND "
		                            "w < 50) GROUP BY g ORDER BY g",
		                     NULL);
		met += strstr(plan, "rows by scan of cq") != NULL;
		free(plan);
		char *have = rows_of(s.con, sql, NULL);
		run(s.con, "SET rayql_enable_scan = off");
		char *want = rows_of(s.con, sql, NULL);
		assert_string_equal(have, want);
		free(have);
		free(want);
		close_session(&s);
	}
	with_vulkan(NULL);
	assert_int_not_equal(met, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_placed),    cmocka_unit_test(least_recently_used),
		cmocka_unit_test(scratch_counts),    cmocka_unit_test(views_and_columns),
		cmocka_unit_test(many_shapes),       cmocka_unit_test(what_a_failure_says),
		cmocka_unit_test(others_hear_of_it), cmocka_unit_test(expressions),
		cmocka_unit_test(chosen_texts),
		cmocka_unit_test(strings),
		cmocka_unit_test(strings_survive),
		cmocka_unit_test(maps_made_there),
		cmocka_unit_test(maps_survive),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
