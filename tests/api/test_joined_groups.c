/* Aggregates over joins that have many more pairs than rows (flow/aggregate/aggregate_parts.c): random keys, groups, aggregates
 * and filters of either side beside DuckDB, over NULLs, reals, strings, decimals and wide values; errors that only rows
 * without a partner would meet; more pairs than 32 bits count. test_joined_groups [ROUNDS [SEED]] */
#include "scans.h"

static unsigned rounds = 40;
static uint64_t seed = 20261129;

static unsigned roll(unsigned n)
{
	uint64_t x = seed += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (unsigned)((x ^ x >> 31) % n);
}

static struct session joined_session(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con, "SET threads = 2; SET rayql_force = on; CREATE TYPE mood AS ENUM ('low', 'mid', 'top')");
	for (const char *t = "ab"; *t; t++) {
		char sql[1024];
		snprintf(sql, sizeof sql,
		         "CREATE TABLE %c AS SELECT (hash(i * 3) %% 12)::INTEGER k, (hash(i * 5) %% 4)::SMALLINT j, 'n' || hash(i * 7) %% 9 s, "
		         "(hash(i * 11) %% 5)::TINYINT g, 'group ' || hash(i * 13) %% 4 t, (hash(i * 17) %% 2000)::INTEGER - 1000 v, "
		         "((hash(i * 19) %% 100000)::BIGINT - 50000)::DECIMAL(9, 2) m, (hash(i * 23) %% 64)::DOUBLE / 8 - 4 d, "
		         "(hash(i * 29) %% 1000)::HUGEINT * 1000000000000000000000 w, DATE '2020-01-01' + (hash(i * 31) %% 50)::INTEGER y, "
		         "(['low', 'mid', 'top'])[1 + (hash(i * 37) %% 3)::BIGINT]::mood o FROM range(%d) r(i)",
		         *t, *t == 'a' ? 6000 : 700);
		run(s.con, sql);
		snprintf(sql, sizeof sql,
		         "UPDATE %c SET k = NULL WHERE v %% 17 = 0; UPDATE %c SET g = NULL WHERE v %% 13 = 0; UPDATE %c SET v = NULL WHERE v %% 7 = 3; "
		         "UPDATE %c SET s = NULL WHERE m < -400; UPDATE %c SET t = NULL, d = NULL WHERE w = 0; UPDATE %c SET m = NULL WHERE g = 2; "
		         "CREATE INDEX c%c ON %c USING columns (*)",
		         *t, *t, *t, *t, *t, *t, *t, *t);
		run(s.con, sql);
	}
	return s;
}

static char *as_host(rayql_connection *con, const char *sql)
{
	run(con, "SET rayql_enable_scan = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on");
	return want;
}

static bool meets(rayql_connection *con, const char *sql)
{
	char text[4096];
	snprintf(text, sizeof text, "EXPLAIN ANALYZE %s", sql);
	char *explain = rows_of(con, text, NULL);
	const bool some = strstr(explain, " pairs of groups") != NULL;
	free(explain);
	return some;
}

/* ---- random statements ---- */

static void add(char *sql, const char *text, const char *between)
{
	if (*sql)
		strcat(sql, between);
	strcat(sql, text);
}

static void random_statement(char *sql, size_t size)
{
	static const char *const conditions[] = {"a.k = b.k", "a.s = b.s", "a.j = b.j", "a.k = b.k AND a.j = b.j",
	                                         "a.k IS NOT DISTINCT FROM b.k", "a.k = b.j", "a.o = b.o", "a.g + 1 = b.k"};
	static const char *const groups[] = {"a.g", "b.g", "a.t", "b.t", "a.o", "b.y", "a.k", "b.v % 3", "upper(a.t)", "a.d"};
	static const char *const aggregates[] = {
		"count(*)", "count(a.v)", "count(b.t)", "sum(a.v)", "sum(b.v)", "sum(a.m)", "avg(b.m)", "avg(a.v)", "sum(a.d)", "avg(b.d)",
		"min(a.v)", "max(b.v)", "min(a.t)", "max(b.t)", "min(b.y)", "max(a.d)", "sum(a.w)", "avg(b.w)", "min(a.w)", "sum(b.v * 2 + 1)",
		"sum(a.v) FILTER (WHERE a.g > 2)", "count(*) FILTER (WHERE b.v < 0)", "max(DISTINCT a.m)", "bool_and(a.v < 990)", "min(b.o)"};
	char by[512] = "", of[1024] = "";
	for (unsigned i = roll(4); i; i--) {
		const char *group = groups[roll(sizeof groups / sizeof *groups)];
		if (!strstr(by, group))
			add(by, group, ", ");
	}
	for (unsigned i = 1 + roll(5); i; i--)
		add(of, aggregates[roll(sizeof aggregates / sizeof *aggregates)], ", ");
	snprintf(sql, size, "SELECT %s%s%s FROM a JOIN b ON %s%s%s%s%s", by, *by ? ", " : "", of,
	         conditions[roll(sizeof conditions / sizeof *conditions)], roll(3) ? "" : " WHERE a.v > 100", *by ? " GROUP BY " : "", by,
	         " ORDER BY ALL");
}

static void test_random(void **state)
{
	struct session s = joined_session();
	unsigned met = 0;
	char sql[4096];
	(void)state;
	for (unsigned r = 0; r < rounds; r++) {
		random_statement(sql, sizeof sql);
		char *want = as_host(s.con, sql);
		expect(s.con, sql, NULL, want);
		expect(s.con, "SELECT method FROM rayql_last_query()", NULL, "scan\n");
		free(want);
		met += meets(s.con, sql);
	}
	if (met < rounds / 2)
		fail_msg("%u of %u statements met by parts", met, rounds);
	close_session(&s);
}

/* ---- what rows without a partner must not spoil, and what is too much ---- */

static void as_duckdb(struct session *s, const char *sql)
{
	char *want = as_host(s->con, sql);
	expect(s->con, sql, NULL, want);
	free(want);
}

static void test_edges(void **state)
{
	struct session s = joined_session();
	(void)state;
	run(s.con, "CREATE TABLE lonely AS SELECT k, CASE WHEN k = 11 THEN 170141183460469231731687303715884105727 ELSE k END::HUGEINT w, "
	           "CASE WHEN k = 11 THEN 'x' ELSE '7' END t FROM a; CREATE INDEX cl ON lonely USING columns (*); "
	           "CREATE TABLE none AS FROM b LIMIT 0; CREATE INDEX cn ON none USING columns (*)");
	const char *const over = "FROM lonely l JOIN (SELECT * FROM b WHERE k < 11) b ON l.k = b.k GROUP BY b.g ORDER BY ALL";
	char sql[512];
	snprintf(sql, sizeof sql, "SELECT b.g, sum(l.w) %s", over); /* leaves 128 bits where k = 11 */
	as_duckdb(&s, sql);
	snprintf(sql, sizeof sql, "SELECT b.g, sum(l.t::INTEGER) %s", over); /* 'x' is no number */
	as_duckdb(&s, sql);
	as_duckdb(&s, "SELECT count(*), sum(a.v), max(n.t) FROM a JOIN none n ON a.k = n.k");
	as_duckdb(&s, "SELECT a.g, count(*) FROM a JOIN none n ON a.k = n.k GROUP BY a.g");
	as_duckdb(&s, "SELECT a.k, count(*) FROM a JOIN b ON a.k = b.k WHERE a.k IS NULL GROUP BY a.k");
	as_duckdb(&s, "SELECT count(*) FROM a x JOIN a y ON x.k = y.k JOIN b ON y.j = b.j");
	close_session(&s);
}

/* 2^33 pairs, in little memory, and soon. */
static void test_many(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	run(s.con, "SET threads = 2; SET rayql_memory_limit = '64MB'; CREATE TABLE a AS SELECT 7 k, (i % 5)::INTEGER g, i::INTEGER v "
	           "FROM range(131072) r(i); CREATE TABLE b AS SELECT 7 k, (i % 2)::INTEGER h, 1 w FROM range(65536) r(i); "
	           "CREATE INDEX ca ON a USING columns (*); CREATE INDEX cb ON b USING columns (*)");
	expect(s.con, "SELECT count(*), sum(a.v), sum(b.w), avg(a.v) FROM a JOIN b ON a.k = b.k", NULL,
	       "8589934592|562945658454016|8589934592|65535.5\n");
	expect(s.con, "SELECT method, device FROM rayql_last_query()", NULL, "scan|cpu\n");
	expect(s.con, "SELECT a.g, b.h, count(*), max(a.v) FROM a JOIN b USING (k) GROUP BY ALL ORDER BY ALL LIMIT 2", NULL,
	       "0|0|859013120|131070\n0|1|859013120|131070\n");
	close_session(&s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_edges), cmocka_unit_test(test_many)};
	if (argc > 1)
		rounds = (unsigned)atoi(argv[1]);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
