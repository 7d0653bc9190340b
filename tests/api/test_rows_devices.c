/* Selections of rows from compressed columns whose conditions a GPU tests: every answer beside the host's, also after rows
 * were added; who else could have answered, and why not; limits of memory. test_faults.c has the device fail in them. */
#include "rows.h"
#include "device.h"

static const char on_device[] = "SELECT device = 'vulkan:0' AND unit = 'compute' FROM rayql_last_query()";
static const char marked[] = "SELECT count(*) FROM rayql_structures() WHERE reason LIKE '%not used on vulkan:0 (%'";

static struct session device_session(void)
{
	struct session s = rows_session();
	use(s.con, "compute");
	return s;
}

/* The host's answer, from the device. */
#define same_there(con, sql) same_there_at(con, sql, __FILE__, __LINE__)
static void same_there_at(rayql_connection *con, const char *sql, const char *file, int line)
{
	run(con, "SET rayql_enable_scan = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on");
	for (int i = 0; i < 2; i++) { /* then from the plan cache */
		expect_at(con, sql, "scan", want, file, line);
		expect_at(con, on_device, NULL, "true\n", file, line);
	}
	free(want);
}

static void selections(void **state)
{
	static const char *const queries[] = {
		/* what conditions test: sets, ranges, reals, NULLs, programs, texts; what only the host reads */
		"SELECT * FROM f WHERE a = 7",
		"SELECT id, s, t, n FROM f WHERE n > 100 OR t IS NULL ORDER BY t DESC NULLS FIRST, n NULLS LAST, id LIMIT 20",
		"SELECT id, h, uh FROM f WHERE a < 30 ORDER BY h DESC LIMIT 5",
		"SELECT id, r FROM f WHERE r < 2 ORDER BY r, id DESC",
		"SELECT id, r FROM f WHERE r > 100 ORDER BY r DESC, id LIMIT 20",
		"SELECT ts, d, p, even, fl FROM f WHERE even AND p BETWEEN 10 AND 11 ORDER BY ts DESC LIMIT 7",
		"SELECT fl, id FROM f WHERE fl < 3.5 ORDER BY fl, id LIMIT 30 OFFSET 10",
		"SELECT own, s FROM f WHERE s LIKE '%7' ORDER BY own DESC LIMIT 10 OFFSET 100",
		"SELECT id FROM f WHERE a * 2 + b > 1990 AND n IS NOT NULL",
		"SELECT a + b, a * p, year(d), CASE WHEN even THEN a END, 'x', NULL, 5 FROM f WHERE b < a ORDER BY a + b DESC, id "
		"LIMIT 9",
		"SELECT upper(s), s || '!', length(t), t IS NULL FROM f WHERE b = 3 ORDER BY length(s), id LIMIT 12",
		"SELECT id FROM f WHERE t IN ('x0', 'x2') AND d >= DATE '1995-03-01' ORDER BY d, id LIMIT 40",
		"SELECT id, n FROM f WHERE b < 6 ORDER BY n NULLS FIRST, id LIMIT 2500",
		"SELECT id, n FROM f WHERE b < 6 ORDER BY n DESC NULLS LAST, id LIMIT 15",
		"SELECT id, t FROM f WHERE b < 6 ORDER BY t, id LIMIT 15",
		/* limits, and what is beyond the end */
		"SELECT id FROM f WHERE b = 2 LIMIT 3",
		"SELECT id FROM f WHERE b = 2 LIMIT 3 OFFSET 1500",
		"SELECT id FROM f WHERE b = 2 LIMIT 3 OFFSET 15000",
		"SELECT id FROM f WHERE b = 2 ORDER BY a, id LIMIT 3 OFFSET 15000",
		"SELECT id FROM f WHERE b = 2 ORDER BY a DESC, id OFFSET 1530",
		"SELECT id FROM f WHERE a > 5000 OR (a = 7 AND n = 2 AND b = 1)",
		"SELECT id FROM f WHERE b < 12 LIMIT 17",
		/* no condition but what the first key must be */
		"SELECT id, s FROM f ORDER BY a DESC, id LIMIT 11",
		"SELECT sum(x) FROM (SELECT a AS x FROM f WHERE b = 1 ORDER BY id LIMIT 100)",
		/* joins */
		"SELECT id, region, weight FROM f JOIN big USING (k) WHERE a < 10 ORDER BY id",
		"SELECT id, region FROM f JOIN big USING (k) WHERE weight > 50 ORDER BY region DESC NULLS LAST, id LIMIT 25",
		"SELECT id, region || '?', weight + a FROM f JOIN big USING (k) WHERE b = 7 ORDER BY weight DESC, id LIMIT 11",
		"SELECT id FROM f JOIN big USING (k) WHERE region = 'region 2' AND b = 1 ORDER BY id",
		"SELECT id, region FROM f LEFT JOIN big USING (k) WHERE a = 7 ORDER BY id",
		"SELECT id FROM f WHERE EXISTS (SELECT 1 FROM big WHERE big.k = f.k AND weight > 100) AND a < 50 ORDER BY id",
		"SELECT id FROM f WHERE NOT EXISTS (SELECT 1 FROM big WHERE big.k = f.k) AND a < 500 ORDER BY id DESC LIMIT 9",
		"SELECT id, weight FROM f JOIN big USING (k) WHERE weight + b < 20 AND weight * a > 3 ORDER BY id LIMIT 50",
	};
	struct session s = device_session();
	(void)state;
	if (!has_unit("compute"))
		skip();
	make_tables(s.con);
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
		same_there(s.con, queries[i]);
	expect(s.con, marked, NULL, "0\n");
	close_session(&s);
}

/* ---- random queries ---- */

static uint64_t random_state;
static unsigned roll(unsigned n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(random_state >> 33) % n;
}

/* Types' ends, NULLs, many equal values, values that ascend with the rows and such that do not. */
static void make_random(rayql_connection *con)
{
	run(con,
	    "CREATE TABLE w AS SELECT i AS id, "
	    "CASE WHEN i % 7 = 3 THEN NULL WHEN i % 501 = 0 THEN 9223372036854775807 WHEN i % 502 = 0 THEN "
	    "-9223372036854775808 ELSE (hash(i) % 2000)::BIGINT - 1000 END AS l, "
	    "CASE WHEN i % 5 = 1 THEN NULL ELSE (i // 50)::SMALLINT END AS up, (hash(i + 1) % 4)::TINYINT AS few, "
	    "CASE hash(i + 2) % 9 WHEN 0 THEN NULL WHEN 1 THEN 'nan'::DOUBLE WHEN 2 THEN 'inf'::DOUBLE WHEN 3 THEN -0.0 "
	    "WHEN 4 THEN 0.0 ELSE (hash(i + 3) % 1000)::DOUBLE / 7 - 50 END AS x, "
	    "CASE WHEN i % 13 = 0 THEN NULL ELSE 'text ' || (hash(i + 4) % 300) END AS s, hash(i + 5) % 3 = 0 AS yes, "
	    "DATE '1999-12-25' + (hash(i + 6) % 900)::INTEGER AS d, NULL::INTEGER AS none, 7 AS seven "
	    "FROM range(30000) AS q(i)");
	run(con, "CREATE INDEX wc ON w USING columns (*)");
}

static const char *const conditions[] = {
	"l > 0",         "l BETWEEN -5 AND 40",   "l = 9223372036854775807", "l IS NULL",       "up < 40",
	"up IS NULL",    "few IN (1, 3)",         "few <> 2",                "x < 3",           "x = 0",
	"x > 1e300",     "s LIKE 'text 1%'",      "s >= 'text 250'",         "s IS NULL",       "yes",
	"NOT yes",       "year(d) = 2001",        "d > DATE '2001-06-01'",   "few * 3 > up - 5", "none IS NULL",
	"none = 4",      "seven = 7",             "length(s) = 6",           "up + few < 100",  "id % 4 = 1",
	"l > 0 OR few = 1", "(s = 'text 9') IS NOT TRUE", "id BETWEEN 11000 AND 12000"};
static const char *const keys[] = {"l", "up", "few", "x", "s", "yes", "d", "none", "up - few", "length(s)", "id"};
static const char *const outputs[] = {"id", "*", "s, x, id", "d + few, s || '.', id", "count(*) OVER (), id"};
#define PICK(list) (list)[roll(sizeof(list) / sizeof *(list))]

static void random_query(char *to, size_t size)
{
	int n = snprintf(to, size, "SELECT %s FROM w", PICK(outputs));
	for (unsigned i = 0, count = roll(8) ? 1 + roll(3) : 0; i < count; i++)
		n += snprintf(to + n, size - (size_t)n, " %s (%s)", i ? "AND" : "WHERE", PICK(conditions));
	unsigned orders = roll(3);
	for (unsigned i = 0; i < orders; i++)
		n += snprintf(to + n, size - (size_t)n, "%s %s%s NULLS %s", i ? "," : " ORDER BY", PICK(keys),
		              roll(2) ? " DESC" : "", roll(2) ? "FIRST" : "LAST");
	if (orders)
		n += snprintf(to + n, size - (size_t)n, ", id");
	static const unsigned limits[] = {0, 1, 10, 10, 100, 3000, 100000};
	if (roll(4))
		n += snprintf(to + n, size - (size_t)n, " LIMIT %u", PICK(limits));
	if (roll(3) == 0)
		snprintf(to + n, size - (size_t)n, " OFFSET %u", roll(2) ? roll(50) : roll(40000));
}

/* Where the optimiser proves what a condition is there is nothing to scan, or nothing to find: DuckDB answers some. */
static void random_queries(void **state)
{
	struct session s = device_session();
	const unsigned count = random_count(40, 150);
	unsigned there = 0;
	(void)state;
	if (!has_unit("compute"))
		skip();
	make_random(s.con);
	random_state = 20261122;
	for (unsigned i = 0; i < count; i++) {
		char query[512];
		if (i % 15 == 14) /* codes that the first segment does not know, longer integers */
			run(s.con, "INSERT INTO w SELECT 1000000 + i, i * 1000000007, i % 9, i % 5, i / 3, 'new ' || (i % 40), i % 2 = "
			           "0, DATE '2001-01-01' + i::INTEGER, NULL, 7 FROM range(700) AS q(i)");
		random_query(query, sizeof query);
		run(s.con, "SET rayql_enable_scan = off");
		char *want = rows_of(s.con, query, NULL);
		run(s.con, "SET rayql_enable_scan = on");
		for (int again = 0; again < 2; again++)
			expect(s.con, query, NULL, want);
		free(want);
		char *info = rows_of(s.con, on_device, NULL);
		there += strcmp(info, "true\n") == 0;
		free(info);
	}
	assert_in_range(there, count * 3 / 5, count);
	expect(s.con, marked, NULL, "0\n");
	close_session(&s);
}

/* ---- tables that change ---- */

static void deltas(void **state)
{
	static const char *const queries[] = {"SELECT id, s FROM g WHERE a < 3", "SELECT id, s FROM g WHERE s = 'name 77' LIMIT 9",
	                                      "SELECT id, r FROM g WHERE a > 990 ORDER BY r DESC NULLS LAST, id LIMIT 12"};
	struct session s = device_session();
	(void)state;
	if (!has_unit("compute"))
		skip();
	make_placed(s.con);
	for (int round = 0; round < 4; round++) {
		for (size_t q = 0; q < sizeof queries / sizeof *queries; q++)
			same_there(s.con, queries[q]);
		if (round == 0)
			run(s.con, "INSERT INTO g SELECT 1000000 - i, i % 1100, 'name ' || (i % 300), NULL FROM range(9000) AS q(i)");
		else if (round == 1)
			run(s.con, "INSERT INTO g VALUES (-1, 2, 'name 77', 1000), (-2, 999, NULL, 1000.5)");
		else
			run(s.con, "DELETE FROM g WHERE id < 1000; REFRESH INDEX gc");
	}
	/* Rows that are not committed are the session's own: no structure has them. */
	run(s.con, "BEGIN; INSERT INTO g VALUES (-3, 1, 'x', 2)");
	expect(s.con, "SELECT id FROM g WHERE a = 1 AND s = 'x'", "host", "-3\n");
	run(s.con, "ROLLBACK");
	close_session(&s);
}

static void empty(void **state)
{
	struct session s = device_session();
	(void)state;
	if (!has_unit("compute"))
		skip();
	run(s.con, "CREATE TABLE e (id INTEGER, v VARCHAR, x DOUBLE)");
	run(s.con, "CREATE INDEX ec ON e USING columns (*)");
	for (int round = 0; round < 2; round++) {
		static const char *const queries[] = {"SELECT * FROM e WHERE id > 3", "SELECT v FROM e WHERE x < 2 ORDER BY x LIMIT 3",
		                                      "SELECT id FROM e WHERE v = 'b' LIMIT 1"};
		static const char *const answers[] = {"5|b|1.0\n", "b\n", "5\n"};
		for (size_t q = 0; q < sizeof queries / sizeof *queries; q++)
			expect(s.con, queries[q], NULL, round ? answers[q] : "");
		run(s.con, "INSERT INTO e VALUES (5, 'b', 1), (NULL, NULL, NULL)");
	}
	close_session(&s);
}

/* ---- the plan ---- */

/* It is a candidate as others are: priced, timed; and it says what the device cannot test, or that nothing is tested. */
static void candidates(void **state)
{
	struct session s = rows_session();
	(void)state;
	if (!has_unit("compute"))
		skip();
	make_tables(s.con);
	use(s.con, "compute");
	char *text = explain(s.con, "SELECT id FROM f WHERE a = 7 ORDER BY r, id LIMIT 5");
	holds(text, "fc by scan on cpu: rayql_unit says compute");
	holds(text, "* fc by scan on compute (");
	holds(text, " rows of 5 blocks, 5 rows out; run ");
	free(text);
	text = rows_of(s.con, "EXPLAIN ANALYZE SELECT id FROM f WHERE a = 7 ORDER BY r, id LIMIT 5", NULL);
	holds(text, "  pass scan: ");
	holds(text, " 20 rows passed, 20000 rows read");
	free(text);
	/* Two methods of one device are one submission, and every operator says what it gave. */
	static const char union_all[] = "SELECT a, count(*) FROM f WHERE a < 5 GROUP BY a UNION ALL "
	                                "SELECT id, a FROM f WHERE a = 7 AND id < 9000";
	text = rows_of(s.con, "EXPLAIN ANALYZE SELECT a, count(*) FROM f WHERE a < 5 GROUP BY a UNION ALL "
	                      "SELECT id, a FROM f WHERE a = 7 AND id < 9000", NULL);
	holds(text, "\n  2 methods in one submission, under way after ");
	holds(text, "RayQL union all, about ");
	holds(text, " us, device ");
	holds(text, "\n        pass scan: ");
	free(text);
	same_there(s.con, union_all);
	text = explain(s.con, "SELECT id FROM f WHERE h > 5");
	holds(text, "a column's values need more than 64 bits");
	free(text);
	same_there(s.con, "SELECT id, h FROM f WHERE a = 7 ORDER BY h");
	static const char *const whole[] = {"SELECT id, s FROM f LIMIT 11 OFFSET 5000", "SELECT s FROM f ORDER BY r, id",
	                                    "SELECT id FROM f ORDER BY h DESC LIMIT 3",
	                                    "SELECT id, region FROM f LEFT JOIN big USING (k) ORDER BY id + k LIMIT 9"};
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
		text = explain(s.con, whole[i]);
		holds(text, ": no condition drops a row, so there is nothing to find");
		free(text);
	}
	run(s.con, "RESET rayql_unit; RESET rayql_device");
	expect(s.con, "SELECT id, h FROM f WHERE h < 5 AND a = 7", "scan", NULL);
	expect(s.con, "SELECT unit FROM rayql_last_query()", NULL, "cpu\n");
	close_session(&s);
}

/* The session's memory is the host's matter: DuckDB answers, and the device is not marked. The device's own has a limit, too. */
static void memory(void **state)
{
	struct session s = device_session();
	rayql_result *res = NULL;
	(void)state;
	if (!has_unit("compute"))
		skip();
	make_tables(s.con);
	run(s.con, "SET rayql_memory_limit = '2MB'");
	assert_int_equal(rayql_query(s.con, "SELECT own, s, h, uh FROM f WHERE b < 12", &res, NULL), RAYQL_OK);
	assert_string_equal(rayql_result_method(res), "host");
	holds(rayql_result_reason(res), "the rows of a query");
	rayql_result_free(res);
	expect(s.con, marked, NULL, "0\n");
	run(s.con, "RESET rayql_memory_limit; SET rayql_device_memory_limit = 0");
	assert_int_equal(rayql_query(s.con, "SELECT own FROM f WHERE b < 3", &res, NULL), RAYQL_OK);
	assert_string_equal(rayql_result_method(res), "host");
	holds(rayql_result_reason(res), "rayql_device_memory_limit leaves ");
	rayql_result_free(res);
	run(s.con, "RESET rayql_device_memory_limit");
	same_there(s.con, "SELECT own, s, h, uh FROM f WHERE b < 12");
	close_session(&s);
}

/* An error of a condition is the host's own, whoever meets it. */
static void errors(void **state)
{
	struct session s = device_session();
	(void)state;
	if (!has_unit("compute"))
		skip();
	run(s.con,
	    "CREATE TABLE e AS SELECT i AS id, CASE WHEN i = 900 THEN 9223372036854775807 ELSE i END AS v FROM range(5000) "
	    "AS q(i)");
	run(s.con, "CREATE INDEX ec ON e USING columns (*)");
	fails(s.con, "SELECT id FROM e WHERE v + id > 7 ORDER BY id", RAYQL_ERROR_HOST, "Overflow in addition of INT64");
	fails(s.con, "SELECT v + 1 FROM e WHERE id < 1000 ORDER BY id", RAYQL_ERROR_HOST, "Overflow in addition of INT64");
	expect(s.con, "SELECT v + 1 FROM e WHERE id < 900 ORDER BY id DESC LIMIT 2", "scan", "900\n899\n");
	expect(s.con, marked, NULL, "0\n");
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selections), cmocka_unit_test(candidates),     cmocka_unit_test(deltas),
		cmocka_unit_test(empty),      cmocka_unit_test(memory),         cmocka_unit_test(errors),
		cmocka_unit_test(random_queries),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
