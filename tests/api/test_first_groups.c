/* Groups of which not all are wanted: HAVING and the first ones of an order, by every kind of aggregate and key, with ties,
 * NULLs, NaN and both zeros; few groups, many, and hashed ones; on the CPU and on a GPU. Every answer is DuckDB's, and the
 * methods hand on few groups. */
#include "check.h"
#include "device.h"

static struct session groups_session(const char *unit)
{
	struct session s = open_session(NULL, NULL);
	/* k: many groups in a small range; w: in a large one; f: a few. The aggregates of k have ties and NULLs. */
	run(s.con,
	    "CREATE TABLE t AS SELECT (hash(i) % 9000)::INTEGER k, (hash(i % 12000) % 1000000007)::BIGINT * 1000003 w, "
	    "(i % 23)::SMALLINT f, (hash(i * 3) % 2000)::INTEGER - 1000 v, ((hash(i * 5) % 100000)::BIGINT - 50000)::DECIMAL(9, 2) m, "
	    "((hash(i * 7) % 64)::DOUBLE - 32) / 8 d, DATE '2019-01-01' + (hash(i * 11) % 900)::INTEGER a, "
	    "'s' || (hash(i * 13) % 700) s FROM range(30000) r(i)");
	run(s.con, "UPDATE t SET k = NULL WHERE v = 7; UPDATE t SET v = NULL WHERE hash(k) % 5 = 0; "
	           "UPDATE t SET d = CASE k % 4 WHEN 0 THEN 'NaN'::DOUBLE WHEN 1 THEN -0.0 WHEN 2 THEN 0.0 END WHERE k % 7 < 5; "
	           "UPDATE t SET m = NULL WHERE k % 11 = 3; UPDATE t SET s = NULL WHERE k % 13 = 2; "
	           "UPDATE t SET f = NULL WHERE v % 50 = 1");
	run(s.con, "CREATE INDEX c ON t USING columns (*)");
	if (!strcmp(unit, "cpu"))
		run(s.con, "SET rayql_device = 'cpu'; SET rayql_force = on");
	else
		use(s.con, unit);
	return s;
}

/* DuckDB's answer, from the scan; at most so many groups were handed on. */
static void same_at(rayql_connection *con, const char *sql, unsigned most, int line)
{
	char explain[1024];
	if (!(sql = usual(sql)) || left_out())
		return;
	run(con, "SET rayql_enable_scan = off");
	char *want = rows_of(con, sql, NULL);
	run(con, "SET rayql_enable_scan = on");
	expect_at(con, sql, "scan", want, __FILE__, line);
	snprintf(explain, sizeof explain, "EXPLAIN ANALYZE %s", sql);
	char *text = rows_of(con, explain, NULL), *end = strstr(text, " groups, ");
	unsigned groups = 0;
	if (end) {
		while (end > text && end[-1] >= '0' && end[-1] <= '9')
			end--;
		groups = (unsigned)strtoul(end, NULL, 10);
	}
	if (!end || groups > most)
		fail_msg("line %d: %u groups instead of at most %u: %s\n%s", line, groups, most, sql, text);
	free(text);
	free(want);
}
#define same(con, sql, most) same_at(con, sql, most, __LINE__)

#define ALL_OF_K "SELECT k, count(*) n, count(v) c, sum(v) sv, sum(m) sm, min(v) lo, max(v) hi, min(d) ld, max(d) hd, " \
	"max(a) ha, min(s) ls FROM t GROUP BY k"

/* One shape, so that a GPU's driver compiles one kernel. */
static void orders(rayql_connection *con)
{
	static const char *const columns[] = {"n", "c", "sv", "sm", "lo", "hi", "ld", "hd", "ha", "ls", "k"};
	static const char *const ways[] = {"", " DESC", " NULLS FIRST", " DESC NULLS FIRST"};
	char sql[512];
	for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
		for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
			snprintf(sql, sizeof sql, ALL_OF_K " ORDER BY %s%s, k NULLS FIRST LIMIT %zu OFFSET %zu", columns[c], ways[w],
			         w + 1, c % 3 * 2);
			same_at(con, sql, 8600, __LINE__); /* ties: a seventh of all have NaN, a fifth no v */
		}
	same(con, ALL_OF_K " ORDER BY sm DESC, k LIMIT 10", 40);
	same(con, ALL_OF_K " ORDER BY k DESC LIMIT 10 OFFSET 5", 15);
	same(con, "SELECT * FROM (" ALL_OF_K ") ORDER BY ha - DATE '2000-01-01' LIMIT 0", 9001);
}

/* An order of one key: of groups that are equal in it any will do, so that no more are handed on than are wanted. Without an
 * order any groups will. */
static void ties(rayql_connection *con)
{
	same(con, "SELECT n FROM (" ALL_OF_K " ORDER BY n DESC LIMIT 10)", 10);
	same(con, "SELECT n FROM (" ALL_OF_K " ORDER BY n LIMIT 10 OFFSET 3)", 13);
	same(con, "SELECT lo FROM (" ALL_OF_K " ORDER BY lo NULLS LAST LIMIT 12)", 12);
	same(con, "SELECT ld FROM (" ALL_OF_K " ORDER BY ld LIMIT 12)", 12);
	same(con, "SELECT hd FROM (" ALL_OF_K " ORDER BY hd DESC NULLS LAST LIMIT 9)", 9);
	same(con, "SELECT ls FROM (" ALL_OF_K " ORDER BY ls NULLS LAST LIMIT 9)", 8600); /* the first code is a rank at the end */
	same(con, "SELECT sv FROM (" ALL_OF_K " ORDER BY sv DESC NULLS FIRST LIMIT 9)", 8600);
	same(con, "SELECT count(*) FROM (SELECT k, count(*) n FROM t GROUP BY k LIMIT 7) g JOIN (SELECT k, count(*) n FROM t GROUP BY k) h "
	          "ON g.k IS NOT DISTINCT FROM h.k AND g.n = h.n",
	     9008);
	char *rows = rows_of(con, "SELECT k, count(*) FROM t GROUP BY k LIMIT 7 OFFSET 2", NULL), *at = rows;
	unsigned lines = 0;
	while ((at = strchr(at, '\n')) && ++at)
		lines++;
	assert_int_equal(lines, 7);
	free(rows);
}

static void conditions(rayql_connection *con)
{
	same(con, ALL_OF_K " HAVING sum(m) > 900 AND count(*) >= 3 ORDER BY sm, k LIMIT 7", 20);
	same(con, "~" ALL_OF_K " HAVING sum(m) > 1000 ORDER BY k", 4000);
	same(con, ALL_OF_K " HAVING count(*) = 9 AND max(v) < 990 AND max(a) <= DATE '2021-05-30' ORDER BY k", 200);
	same(con, "~" ALL_OF_K " HAVING min(v) < -990 AND min(v) >= -1000 ORDER BY hi DESC, k LIMIT 3", 20);
	/* what a method cannot test ends the order's way, and no group of another kind is left out */
	same(con, ALL_OF_K " HAVING max(d) > 3.5 AND count(*) > 2 ORDER BY n DESC, k LIMIT 3", 9001);
	same(con, "~" ALL_OF_K " HAVING count(*) <> 3 ORDER BY n, k LIMIT 4", 9001);
	same(con, ALL_OF_K " HAVING min(v) IS NULL ORDER BY n DESC, k LIMIT 4", 9001);
	same(con, ALL_OF_K " HAVING sum(m) > 100000000", 0);
}

static void shapes(rayql_connection *con)
{
	/* hashed groups; nodes between; a limit without an order, or above something else; one group */
	same(con, "SELECT w, sum(v) x, count(*) FROM t GROUP BY w ORDER BY x DESC NULLS LAST, w LIMIT 9", 30);
	same(con, "~SELECT x > 0, y FROM (SELECT w, sum(v) x, count(*) y FROM t GROUP BY w) ORDER BY y DESC, x, w LIMIT 9", 8000);
	same(con, "SELECT -x, y FROM (SELECT w, sum(v) x, count(*) y FROM t GROUP BY w) ORDER BY y DESC, x, w LIMIT 9", 12000);
	same(con, "SELECT x FROM (SELECT k, count(*) x FROM t GROUP BY k HAVING count(*) < 6) WHERE x > 3 ORDER BY x DESC, k LIMIT 3",
	     4000);
	same(con, "SELECT f, count(*) x FROM t GROUP BY f ORDER BY x, f LIMIT 2", 2);
	same(con, "~SELECT f, k, max(v) FROM t GROUP BY f, k ORDER BY f DESC NULLS LAST, 3, k LIMIT 2", 1500);
	same(con, "SELECT count(*) x, sum(v) FROM t HAVING count(*) < 5", 1);
	same(con, "SELECT count(*) FROM (SELECT k FROM t GROUP BY k HAVING count(*) > 5)", 2000);
	same(con, "SELECT DISTINCT k FROM t ORDER BY k DESC NULLS LAST LIMIT 5", 5);
	same(con, "SELECT k, count(DISTINCT f) x FROM t GROUP BY k ORDER BY x DESC, k LIMIT 5", 30000);
	same(con, "SELECT g.k, g.n FROM (SELECT k, count(*) n FROM t GROUP BY k ORDER BY n DESC, k LIMIT 6) g JOIN "
	          "(SELECT k, sum(v) FROM t GROUP BY k) h ON g.k = h.k ORDER BY ALL",
	     10000);
}

/* Dictionaries without an entry, keys that are never there. */
static void nothing(rayql_connection *con)
{
	run(con, "CREATE TABLE IF NOT EXISTS e AS FROM t WHERE k < -1; CREATE INDEX IF NOT EXISTS ce ON e USING columns (*)");
	for (int on = 0; on < 2; on++) {
		run(con, on ? "SET rayql_enable_scan = on" : "SET rayql_enable_scan = off");
		expect(con, "SELECT s, count(*) FROM e GROUP BY s ORDER BY s LIMIT 2", NULL, "");
		expect(con, "SELECT k, sum(v) x FROM e GROUP BY k HAVING count(*) > 1 ORDER BY x DESC LIMIT 2", NULL, "");
	}
	same(con, "SELECT k, sum(v) x FROM t WHERE k < -5 GROUP BY k ORDER BY x DESC LIMIT 2", 0);
}

/* A column that can raise an error is computed of all groups, as the host does. */
static void errors(rayql_connection *con)
{
	static const char sql[] = "SELECT k, (count(*) * 9000000000000000000)::BIGINT x FROM t GROUP BY k ORDER BY count(*), k LIMIT 1";
	for (int on = 0; on < 2; on++) {
		run(con, on ? "SET rayql_enable_scan = on" : "SET rayql_enable_scan = off");
		fails_at(con, sql, RAYQL_ERROR_HOST, "Out of Range", __FILE__, __LINE__);
	}
}

static void everything(const char *unit)
{
	struct session s = groups_session(unit);
	orders(s.con);
	ties(s.con);
	conditions(s.con);
	shapes(s.con);
	nothing(s.con);
	errors(s.con);
	close_session(&s);
}

static void on_cpu(void **state)
{
	(void)state;
	everything("cpu");
}

static bool chosen_there(rayql_connection *con, const char *sql)
{
	char explain[256];
	snprintf(explain, sizeof explain, "EXPLAIN ANALYZE %s", sql);
	char *text = rows_of(con, explain, NULL);
	const bool chosen = strstr(text, "pass choose") != NULL;
	free(text);
	return chosen;
}

/* Few groups go to the host as they are. The samples miss the block that has nearly all rows with v = 1, so that few are
 * expected; once more have been found, they are chosen on the device. */
static void found_more(void **state)
{
	static const char sql[] = "SELECT k, count(*) n FROM u WHERE v = 1 GROUP BY k ORDER BY n DESC, k LIMIT 3";
	(void)state;
	if (!has_unit("compute"))
		skip();
	struct session s = open_session(NULL, NULL);
	run(s.con, "CREATE TABLE u AS SELECT (i % 9000)::INTEGER k, (CASE WHEN i // 4096 = 17 THEN 1 ELSE hash(i) % 1000 END)::INTEGER v "
	           "FROM range(163840) r(i); CREATE INDEX cu ON u USING columns (*)");
	use(s.con, "compute");
	assert_false(chosen_there(s.con, sql));
	assert_true(chosen_there(s.con, sql));
	same(s.con, sql, 500);
	assert_false(chosen_there(s.con, "SELECT k, count(*) n FROM u WHERE v = 2 GROUP BY k ORDER BY n DESC, k LIMIT 3"));
	close_session(&s);
}

static void on_compute(void **state)
{
	(void)state;
	if (!has_unit("compute"))
		skip();
	everything("compute");
}

/* A device that fails while groups are chosen there: the same answer, by the host. */
static void faults(void **state)
{
	static const char make[] =
		"CREATE TABLE t AS SELECT (hash(i) % 5000)::INTEGER k, i::INTEGER v FROM range(6000) r(i); "
		"CREATE INDEX c ON t USING columns (*)";
	static const char sql[] = "SELECT k, sum(v) x FROM t GROUP BY k ORDER BY x DESC, k LIMIT 3";
	(void)state;
	if (!has_unit("compute"))
		skip();
	survives_faults(make, sql, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(on_cpu), cmocka_unit_test(on_compute), cmocka_unit_test(found_more),
	                                  cmocka_unit_test(faults)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
