/* Rows that a GPU puts in order: all of them, or more than a top-N holds, of a table with and without conditions, under an
 * index's rows, above look-ups; of groups that stay there. Keys of every type, several, up and down, NULLs first and last; every answer beside
 * DuckDB's. What the CPU orders instead, and why. */
#include "device.h"
#include "rows.h"

#define SEED 20261128u
#define ROWS "3000"
#define MANY "40000" /* more than the CPU orders sooner */

/* Every 64-bit key: extremes, NULLs, values that come often, NaN, both zeros. `l` is a dimension. */
static struct session order_session(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con, "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'a mood with a long name')");
	run(s.con,
	    "CREATE TABLE o AS SELECT i::INTEGER id, CASE WHEN i % 17 > 0 THEN (hash(i) % 300)::INTEGER - 150 END k, "
	    "CASE WHEN i % 19 <> 3 THEN 's' || (hash(i * 5) % 700) END t, "
	    "'a text that is longer than twelve bytes ' || (hash(i * 29) % 50) lt, "
	    "CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN 'NaN'::DOUBLE WHEN 2 THEN -0.0 WHEN 3 THEN 0.0 WHEN 4 THEN '-inf'::DOUBLE "
	    "WHEN 5 THEN 'inf'::DOUBLE ELSE ((hash(i * 17) % 5000)::DOUBLE - 2500) / 7 END d, "
	    "CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN 'NaN'::FLOAT ELSE ((hash(i * 19) % 1000)::FLOAT - 500) / 4 END f, "
	    "CASE i % 1000 WHEN 5 THEN 9223372036854775806 WHEN 6 THEN NULL "
	    "ELSE (hash(i * 13) % 9223372036854775807)::BIGINT - 4611686018427387904 END bi, "
	    "(hash(i * 15) % 4611686018427387904)::UBIGINT ub, DATE '1999-12-25' + (hash(i * 7) % 900)::INTEGER dt, "
	    "TIMESTAMP '2021-05-05 01:02:03' + to_seconds((hash(i * 27) % 1000000)::INTEGER) ts, "
	    "CASE WHEN i % 31 <> 4 THEN ((hash(i * 23) % 100000)::BIGINT - 50000)::DECIMAL(9, 2) END m, "
	    "((hash(i * 25) % 100000)::BIGINT * 1000000007)::DECIMAL(30, 4) mm, hash(i * 9) % 2 = 0 bo, "
	    "((hash(i * 11) % 256)::INTEGER - 128)::TINYINT ti, hash(i * 15) * 1e15::HUGEINT wide, 7 one, "
	    "(['sad', 'ok', 'happy', 'a mood with a long name'])[1 + (hash(i * 31) % 4)::INTEGER]::mood mo "
	    "FROM range(" ROWS ") r(i)");
	run(s.con, "CREATE TABLE l AS SELECT (i - 150)::INTEGER k, CASE WHEN i % 11 > 0 THEN 'name ' || (i * 7 % 40) END region, "
	           "(i * 37 % 101)::INTEGER weight FROM range(290) r(i)");
	run(s.con, "CREATE INDEX oc ON o USING columns (*)");
	use(s.con, "compute");
	run(s.con, "SET rayql_force = 'order'");
	return s;
}

static void compare(rayql_connection *con, const char *sql, const char *method)
{
	run(con, "SET rayql_enable_scan = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on");
	char by[32];
	for (int i = 0; i < 2; i++) { /* then from the plan cache */
		char *have = rows_of(con, sql, by);
		if (strcmp(have, want) != 0)
			fail_msg("seed %u: %s\nby %s: other rows than DuckDB's", SEED, sql, by);
		free(have);
	}
	if (method && strcmp(by, method) != 0) {
		rayql_query_info info = {.size = sizeof info};
		(void)rayql_last_query(con, &info);
		fail_msg("%s\nanswered by %s: %s", sql, by, info.reason);
	}
	free(want);
}

/* A key of each kind, by itself: one word of the sort, of 32 or of 64 bits. */
static void keys(void **state)
{
	static const char *const orders[] = {"k DESC NULLS FIRST, id",
	                                     "t NULLS FIRST, id DESC",
	                                     "~lt DESC, id",
	                                     "~d, id",
	                                     "d DESC NULLS LAST, id",
	                                     "~f DESC NULLS FIRST, id",
	                                     "bi DESC, id",
	                                     "~ub, id",
	                                     "~dt DESC, ts, id",
	                                     "~m NULLS FIRST, id",
	                                     "~mm DESC, id",
	                                     "bo, mo DESC, ti, one, id",
	                                     "d, bi DESC NULLS FIRST, t DESC, id", /* three words */
	                                     "k + id % 7 DESC NULLS LAST, d / 2, id"};
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = order_session();
	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
		const char *order = usual(orders[i]);
		char sql[256];
		snprintf(sql, sizeof sql, "SELECT id, lt, d, m FROM o ORDER BY %s", order ? order : "");
		if (order && !left_out())
			compare(s.con, sql, "materialise");
	}
	close_session(&s);
}

/* Conditions, limits beyond a top-N, what lies behind the end, texts and numbers that are made of columns, look-ups. */
static void pipelines(void **state)
{
	static const char *const queries[] = {
		"SELECT id, t FROM o WHERE k > -140 AND m < 45000 ORDER BY t DESC NULLS LAST, id",
		"SELECT id, bi FROM o ORDER BY bi, id LIMIT 2500 OFFSET 7",
		"SELECT id, mo FROM o WHERE id >= 3 ORDER BY mo, id LIMIT 70000 OFFSET 2990",
		"SELECT id, mo FROM o WHERE id >= 3 ORDER BY mo, id OFFSET 50000",
		"SELECT upper(lt), id * 2, 'x', t || '!' FROM o ORDER BY length(t), id DESC",
		"SELECT id, region, weight FROM o JOIN l USING (k) ORDER BY region DESC NULLS FIRST, weight, id",
		"SELECT id, region, weight + id FROM o LEFT JOIN l USING (k) WHERE ti > -127 ORDER BY weight NULLS FIRST, id DESC",
		"SELECT count(*), sum(id) FROM (SELECT id FROM o ORDER BY d, id LIMIT 2000)",
		"SELECT id, d FROM o ORDER BY d, id LIMIT 0",
		"SELECT id, t FROM o WHERE k * 2 = 3 ORDER BY t, id",
		"SELECT o.id, v.id, o.t FROM o JOIN o v ON o.ub = v.ub WHERE o.k > 0 ORDER BY o.d DESC, o.id, v.id",
		"SELECT id, k FROM o WHERE k > 0 UNION ALL SELECT id + 1000000, ti FROM o WHERE bo ORDER BY 2 DESC NULLS FIRST, 1",
	};
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = order_session();
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
		if (!left_out())
			compare(s.con, queries[i], "materialise");
	/* rows that were added, strings that the dictionary did not know; an error is the host's own */
	run(s.con, "INSERT INTO o BY NAME SELECT -id id, NULL k, 'new ' || id % 5 t, 'nan'::DOUBLE d, 9223372036854775806 bi FROM o "
	           "WHERE id BETWEEN 1 AND 300");
	compare(s.con, "SELECT id, bi, d FROM o ORDER BY t DESC, d, id", "materialise");
	fails(s.con, "SELECT id, bi + bi FROM o ORDER BY t, id", RAYQL_ERROR_HOST, "Overflow in addition of INT64");
	close_session(&s);
}

/* Groups and distinct rows, which stay on the device: many of them, or forced. Sums beyond 64 bits are two keys. */
static void groups(void **state)
{
	static const char *const queries[] = {
		"SELECT id, sum(k), count(*) FROM o GROUP BY id ORDER BY sum(k) DESC NULLS FIRST, id",
		"SELECT k, t, max(m), sum(mm) FROM o GROUP BY k, t ORDER BY sum(mm), t DESC NULLS LAST, k",
		"~SELECT t, avg(ti) a FROM o WHERE id > 5 GROUP BY t HAVING count(*) > 2 ORDER BY a DESC, t NULLS FIRST LIMIT 100 OFFSET 3",
		"SELECT d, count(*) FROM o GROUP BY d ORDER BY d DESC NULLS LAST",
		"~SELECT DISTINCT mo, ti FROM o ORDER BY ti DESC, mo",
		"SELECT id % 1000 g, sum(bi), min(lt) FROM o GROUP BY g ORDER BY sum(bi) DESC, g",
		"~SELECT region, sum(ti) FROM o JOIN l USING (k) GROUP BY region ORDER BY 2 DESC, 1 NULLS FIRST",
		"~SELECT c, count(*) FROM (SELECT id % 700 g, count(*) c FROM o WHERE bo GROUP BY g) GROUP BY c ORDER BY 2, 1",
		"~SELECT k, sum(ti) FROM o WHERE id < 0 GROUP BY k ORDER BY 2, 1",
	};
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = order_session();
	run(s.con, "CREATE INDEX lc ON l USING columns (*)");
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
		const char *sql = usual(queries[i]);
		if (sql && !left_out())
			compare(s.con, sql, "materialise");
	}
	run(s.con, "SET rayql_force = on; CREATE TABLE many AS SELECT i::INTEGER id, (hash(i) % 3000)::INTEGER k FROM range(70000) r(i); "
	           "CREATE INDEX mc ON many USING columns (*)");
	compare(s.con, "SELECT id, sum(k) FROM many GROUP BY id ORDER BY sum(k) DESC, id", "materialise");
	char *text = explain(s.con, "SELECT id, sum(k) FROM many GROUP BY id ORDER BY sum(k) DESC, id");
	holds(text, "which stay on the device\n");
	holds(text, "ordered by 2 keys\n");
	free(text);
	/* few groups, or few of many, are the scan's, and known before anything is prepared but for what conditions leave */
	compare(s.con, "SELECT k, count(*) FROM many GROUP BY k ORDER BY 2, 1", "scan");
	compare(s.con, "SELECT id, sum(k) FROM many GROUP BY id ORDER BY sum(k) DESC, id LIMIT 10", "scan");
	text = explain(s.con, "SELECT id, sum(k) FROM many WHERE k = 5 GROUP BY id ORDER BY sum(k) DESC, id");
	holds(text, "the CPU orders so few groups (");
	free(text);
	close_session(&s);
}

static uint64_t dice = SEED;
static uint32_t roll(uint32_t sides)
{
	dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(dice >> 33) % sides;
}
#define PICK(list) (list)[roll(sizeof(list) / sizeof *(list))]

static void random_orders(void **state)
{
	static const char *const columns[] = {"k",  "t",  "lt", "d",  "f",  "bi", "ub",    "dt",    "ts",
	                                      "m",  "mm", "bo", "ti", "mo", "id", "k + ti", "d * 2", "length(t)"};
	static const char *const ways[] = {"", " DESC", " NULLS FIRST", " DESC NULLS FIRST", " DESC NULLS LAST"};
	static const char *const filters[] = {"", " WHERE ti <> 3", " WHERE t <> 's1'", " WHERE d IS NOT NULL OR bo OR k > -100"};
	const unsigned count = random_count(4, 40);
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = order_session();
	for (unsigned i = 0; i < count; i++) {
		char sql[512];
		int n = snprintf(sql, sizeof sql, "SELECT %s, %s FROM o%s ORDER BY ", PICK(columns), PICK(columns), PICK(filters));
		for (uint32_t keys = roll(4); keys > 0; keys--)
			n += snprintf(sql + n, sizeof sql - (size_t)n, "%s%s, ", PICK(columns), PICK(ways));
		n += snprintf(sql + n, sizeof sql - (size_t)n, "id%s", PICK(ways));
		if (!roll(3))
			snprintf(sql + n, sizeof sql - (size_t)n, " LIMIT %u OFFSET %u", roll(5000), roll(2000));
		compare(s.con, sql, NULL);
	}
	close_session(&s);
}

/* What EXPLAIN says; under the rows that an index finds; equal rows in any order, but all of them. Many rows need no
 * word, and without a word the price decides. */
static void plans(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = order_session();
	expect(s.con, "SELECT count(DISTINCT id), min(one), max(one) FROM (SELECT id, one FROM o ORDER BY bo)", NULL, ROWS "|7|7\n");
	run(s.con, "CREATE INDEX os ON o USING sieve (ti)");
	compare(s.con, "SELECT id, ti FROM o WHERE ti > -120 ORDER BY m, id", "materialise");
	char *text = explain(s.con, "SELECT id, ti FROM o WHERE ti > -120 ORDER BY m, id");
	holds(text, "ordered there, of rows by scan on compute\n  under rows of sieve on ");
	free(text);
	run(s.con, "SET rayql_force = on; CREATE TABLE many AS SELECT i::INTEGER id, (hash(i) % 3000)::INTEGER k FROM range(" MANY ") r(i); "
	           "CREATE INDEX mc ON many USING columns (*)");
	compare(s.con, "SELECT id, k FROM many ORDER BY k DESC, id", "materialise");
	text = rows_of(s.con, "EXPLAIN ANALYZE SELECT id, k FROM many ORDER BY k DESC, id", NULL);
	holds(text, "method: materialise on compute (");
	holds(text, "ordered there, of rows by scan on compute\n");
	holds(text, "* mc by materialise on compute (");
	holds(text, "pass materialise.order_words: ");
	holds(text, "pass sort.scatter: ");
	holds(text, "pass materialise.order_gather: ");
	free(text);
	close_session(&s);
}

/* A top-N by a key with few values: rows that tie are told apart by the next keys, and only some are fetched. */
static void ties(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = order_session();
	run(s.con, "SET rayql_force = on; CREATE TABLE many AS SELECT i::INTEGER id, (hash(i) % 3)::INTEGER k, "
	           "CASE WHEN i % 5 > 0 THEN (hash(i * 3) % 4)::INTEGER END n, hash(i * 5) % 6 h, 7 one FROM range(" MANY ") r(i); "
	           "CREATE INDEX mc ON many USING columns (*)");
	compare(s.con, "SELECT id, k, n, h, one FROM many UNION ALL SELECT id + 100000, k, n, h, one FROM many "
	               "ORDER BY one, k DESC, n NULLS FIRST, h DESC, id LIMIT 100", "materialise");
	rayql_query_info info = {.size = sizeof info};
	assert_int_equal(rayql_last_query(s.con, &info), RAYQL_OK);
	assert_in_range(info.bytes_read, 1, 200000); /* all rows have 1,280,000 */
	close_session(&s);
}

/* Without an order there is nothing for a device to do; few rows, and wide numbers, are the CPU's; what the device's memory
 * does not hold is refused with what it needs and what there is. */
static void refusals(void **state)
{
	static const struct {
		const char *force, *sql, *why;
	} cases[] = {
		{"on", "SELECT id, t FROM o", "no condition drops a row"},
		{"on", "SELECT id, t FROM o ORDER BY t, id", "the CPU orders so few rows (" ROWS ") sooner"},
		{"order", "SELECT id, wide FROM o ORDER BY t, id", "has values of more than 64 bits"},
	};
	static const char sql[] = "SELECT id, t, lt, d, bi FROM o ORDER BY t, id";
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = order_session();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char force[64];
		snprintf(force, sizeof force, "SET rayql_force = '%s'", cases[i].force);
		run(s.con, force);
		char *text = explain(s.con, cases[i].sql);
		holds(text, cases[i].why);
		free(text);
		compare(s.con, cases[i].sql, "host");
	}
	run(s.con, "SET rayql_force = 'order'; SET rayql_device_memory_limit = '200KB'");
	char *text = explain(s.con, sql);
	holds(text, "it needs ");
	holds(text, " of the device's memory and rayql_device_memory_limit leaves ");
	free(text);
	compare(s.con, sql, "host");
	run(s.con, "RESET rayql_unit; RESET rayql_device");
	compare(s.con, sql, "scan");
	close_session(&s);
}

static void faults(void **state)
{
	static const char make[] = "CREATE TABLE o AS SELECT (i * 7919 % 40009)::INTEGER k, i::INTEGER v FROM range(" MANY ") r(i); "
	                           "CREATE INDEX oc ON o USING columns (*)";
	(void)state;
	if (!has_unit("compute"))
		skip();
	survives_faults(make, "SELECT sum(v), count(*) FROM (SELECT k, v FROM o ORDER BY k LIMIT 20000)", 29);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys),   cmocka_unit_test(pipelines), cmocka_unit_test(groups), cmocka_unit_test(random_orders),
		cmocka_unit_test(plans),  cmocka_unit_test(ties),      cmocka_unit_test(refusals),
		cmocka_unit_test(faults),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
