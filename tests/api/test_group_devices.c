/* Groups by partitions on a GPU, through SQL: the method is chosen where the scan is not to be had, EXPLAIN names it, and
 * every answer is DuckDB's, also of rows that are added later. */
#include "check.h"
#include "device.h"

static const char on_device[] = "SELECT method = 'group' AND device = 'vulkan:0' AND unit = 'compute' FROM "
    "rayql_last_query()";

/* The host's answer, from the method, twice; and its plan names it. */
#define same_there(con, sql) same_there_at(con, sql, __FILE__, __LINE__)
static void same_there_at(rayql_connection *con, const char *sql, const char *file, int line)
{
	char explain[1024];
	run(con, "SET rayql_enable_scan = off; SET rayql_enable_group = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_group = on");
	snprintf(explain, sizeof explain, "EXPLAIN %s", sql);
	char *plan = rows_of(con, explain, NULL);
	holds_at(plan, "by group on compute", file, line);
	for (int i = 0; i < 2; i++) { /* then from the plan cache */
		expect_at(con, sql, "group", want, file, line);
		expect_at(con, on_device, NULL, "true\n", file, line);
	}
	free(plan);
	free(want);
}

static void answers(void **state)
{
	static const char *const queries[] = {
		/* db-benchmark's q3, q5, q7 and q10 */
		"SELECT id3, sum(v1), avg(v3) FROM x GROUP BY id3 ORDER BY id3",
		"SELECT id6, sum(v1), sum(v2), sum(v3) FROM x GROUP BY id6 ORDER BY id6",
		"SELECT id3, max(v1) - min(v2) FROM x GROUP BY id3 ORDER BY id3",
		"SELECT id1, id2, id3, id4, id5, id6, sum(v3), count(*) FROM x GROUP BY ALL ORDER BY ALL",
		/* NULLs among keys and values, extremes of all kinds, expressions, conditions, HAVING and a limit above */
		"SELECT n, count(*), count(v2), sum(v2), min(v3), max(v3), max(id1) FROM x GROUP BY n ORDER BY n",
		"SELECT n, id6, sum(v1 * id6), avg(v2) FROM x WHERE v1 < 4 AND id4 > 20 GROUP BY n, id6 ORDER BY ALL",
		"SELECT id6, sum(v1) s FROM x GROUP BY id6 HAVING sum(v1) > 30 ORDER BY s DESC, id6 LIMIT 7",
		"SELECT far, sum(v1), min(v3) FROM x GROUP BY far ORDER BY far",
		"SELECT id6, sum(v1) FROM x WHERE v1 > 100 GROUP BY id6",
		"SELECT id6, sum(wide), count(wide), avg(wide) FROM x GROUP BY id6 ORDER BY ALL", /* of all 2^64 values */
	};
	struct session s;
	(void)state;
	if (!has_unit("compute"))
		skip();
	s = open_session(NULL, NULL);
	run(s.con,
	    "CREATE TABLE x AS SELECT 'id' || (hash(i) % 10) id1, 'id' || (hash(i * 3) % 10) id2, "
	    "'id' || (hash(i * 5) % 30000) id3, (hash(i * 7) % 50)::INTEGER id4, (hash(i * 9) % 50)::INTEGER id5, "
	    "(hash(i * 11) % 20000)::INTEGER id6, (hash(i * 13) % 5 + 1)::INTEGER v1, (hash(i * 17) % 15)::INTEGER v2, "
	    "(hash(i * 19) % 1000 / 8.0)::DOUBLE v3, (hash(i * 23) % 9000)::BIGINT n, "
	    "(hash(i * 29) % 1000000000000)::BIGINT - 5 far, CASE i % 4 WHEN 0 THEN 9223372036854775807 WHEN 1 THEN -9223372036854775808 WHEN 2 "
	    "THEN NULL ELSE (hash(i)::HUGEINT - 9223372036854775808) END::BIGINT wide FROM range(12000) r(i)");
	run(s.con, "UPDATE x SET n = NULL WHERE id4 = 7; UPDATE x SET v2 = NULL WHERE n % 5 < 3; "
	           "UPDATE x SET v3 = NULL WHERE n % 7 = 1; CREATE INDEX cx ON x USING columns (*)");
	use(s.con, "compute");
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
		same_there(s.con, queries[i]);
	run(s.con, "INSERT INTO x SELECT 'id99', id2, 'new' || id4, id4, id5, id6 + 30000, v1, v2, v3, n, far, wide FROM x WHERE id5 = 3");
	same_there(s.con, queries[0]);
	same_there(s.con, queries[1]);
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(answers)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
