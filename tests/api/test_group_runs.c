/* Large arrays of groups, of which each worker makes ready the runs that it counts in (group/groups.c): keys that
 * lie together in the table, that are all over it, with gaps of whole runs, few of them after a filter; rows that begin as
 * zeros and rows that do not; all groups, the first of an order, groups as maps of joins. The memory is fresh at first and
 * another query's later. Every answer is DuckDB's. */
#include "check.h"

#define ROWS 100000

/* near: four rows after each other share one; gap: its values lie in three places; far: the same, in any order. */
static struct session runs_session(const char *threads)
{
	struct session s = open_session(NULL, NULL);
	char sql[512];
	snprintf(sql, sizeof sql, "SET threads = %s; SET rayql_device = 'cpu'; SET rayql_force = on", threads);
	run(s.con, sql);
	snprintf(sql, sizeof sql,
	         "CREATE TABLE t AS SELECT i::INTEGER id, (i // 4 * 8)::INTEGER near, (i // 40000 * 250000 + i // 4)::INTEGER gap, "
	         "(hash(i) %% 500000)::INTEGER far, CASE WHEN hash(i * 3) %% 7 > 0 THEN (hash(i * 5) %% 2001)::INTEGER - 1000 END v, "
	         "((hash(i * 7) %% 64)::DOUBLE - 32) / 8 d, (hash(i * 11) %% 1000)::SMALLINT pick FROM range(%d) r(i)",
	         ROWS);
	run(s.con, sql);
	run(s.con, "UPDATE t SET near = NULL WHERE pick = 1; CREATE INDEX c ON t USING columns (*)");
	return s;
}

static void same_at(rayql_connection *con, const char *sql, int line)
{
	run(con, "SET rayql_enable_scan = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on");
	expect_at(con, sql, "scan", want, __FILE__, line);
	expect_at(con, sql, "scan", want, __FILE__, line);
	free(want);
}
#define same(con, sql) same_at(con, sql, __LINE__)

static void key(rayql_connection *con, const char *name)
{
	static const char *const groups[] = {
		"SELECT %s AS k, count(*) n, count(v) c, sum(v) s FROM t GROUP BY k", /* begins as zeros */
		"SELECT %s AS k, min(v) lo, max(v) hi, max(d) hd, sum(d) sd FROM t GROUP BY k",
		"SELECT %s AS k, min(v) lo, count(*) n FROM t WHERE pick < 3 GROUP BY k",
		"SELECT %s AS k, max(v) hi FROM t WHERE id BETWEEN 70000 AND 70500 GROUP BY k",
		"SELECT %s AS k, max(v) hi FROM t WHERE id < 0 GROUP BY k",
		"SELECT %s AS k, sum(v) s FROM t GROUP BY k HAVING count(*) > 2",
	};
	char inner[256], sql[512];
	for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
		snprintf(inner, sizeof inner, groups[g], name);
		snprintf(sql, sizeof sql, "SELECT * FROM (%s) ORDER BY k", inner);
		same_at(con, sql, __LINE__);
	}
	snprintf(sql, sizeof sql, "SELECT %s AS k, sum(v) s FROM t GROUP BY k ORDER BY s DESC, k LIMIT 20", name);
	same_at(con, sql, __LINE__);
	snprintf(sql, sizeof sql, "SELECT %s AS k, min(v), max(v), count(*) FROM t GROUP BY k ORDER BY k LIMIT 500 OFFSET 9000",
	         name);
	same_at(con, sql, __LINE__);
}

/* Groups beside keys: a dimension whose outputs are many combinations. */
static void maps(rayql_connection *con)
{
	run(con, "CREATE TABLE u AS SELECT id AS k, far AS a, pick AS p FROM t WHERE id % 2 = 0; "
	         "CREATE INDEX cu ON u USING columns (*)");
	same(con, "SELECT count(*), sum(v), sum(a), max(p) FROM t JOIN u ON t.id = u.k");
	same(con, "SELECT a % 3 AS m, count(*), min(v) FROM t JOIN u ON t.id = u.k WHERE p < 100 GROUP BY m ORDER BY m");
	same(con, "SELECT count(*) FROM t WHERE v > (SELECT avg(v) FROM t AS o WHERE o.near = t.near)");
	same(con, "SELECT sum(v) FROM t WHERE far IN (SELECT far FROM t GROUP BY far HAVING sum(v) > 1200)");
}

static void everything(const char *threads)
{
	struct session s = runs_session(threads);
	static const char *const keys[] = {"near", "gap", "far", "id"};
	for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
		key(s.con, keys[k]);
	maps(s.con);
	close_session(&s);
}

static void alone(void **state)
{
	(void)state;
	everything("1");
}

static void threads(void **state)
{
	(void)state;
	everything("4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(alone), cmocka_unit_test(threads)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
