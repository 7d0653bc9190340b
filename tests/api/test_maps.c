/* Maps that plans share: which connections find each other's, which must not, and what is to be seen of them. */
#include "check.h"

#include <pthread.h>

#define STAR "SELECT region, count(*), sum(a) FROM f JOIN big USING (k) WHERE weight < 60 GROUP BY region ORDER BY region"
#define MAPS "SELECT count(*) FROM rayql_structures() WHERE kind = 'map'"

static rayql_connection *another(const struct session *s)
{
	rayql_connection *con = NULL;
	assert_int_equal(rayql_connect(s->db, &con, NULL), RAYQL_OK);
	return con;
}

/* A setting of everybody's, so that connections stay alike. */
static struct session open_alike(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con, "SET GLOBAL rayql_force = on");
	run(s.con, "CREATE TABLE f AS SELECT (i * 7919 % 1000)::INTEGER AS a, (i % 40)::INTEGER AS k FROM range(30000) r(i)");
	run(s.con, "CREATE TABLE big AS SELECT k::INTEGER AS k, 'region ' || (k % 4) AS region, (k * 3)::INTEGER AS weight "
	           "FROM range(38) AS q(k)");
	run(s.con, "CREATE INDEX fc ON f USING columns (*)");
	return s;
}

/* DuckDB's rows, of a connection of its own. */
static char *host_rows(const struct session *s, const char *sql)
{
	rayql_connection *con = another(s);
	run(con, "SET rayql_enable_scan = off");
	char *rows = rows_of(con, sql, NULL);
	rayql_disconnect(con);
	return rows;
}

static void shared(void **state)
{
	(void)state;
	struct session s = open_alike();
	rayql_connection *other = another(&s);
	char *want = host_rows(&s, STAR);
	expect(s.con, STAR, "scan", want);
	expect(s.con, MAPS, NULL, "1\n");
	expect(other, STAR " -- another text", "scan", want);
	expect(other, MAPS, NULL, "1\n");
	expect(other, "SELECT name, state, rows, tables, schema, layout, bytes > 0, build_ms > 0, reason LIKE '%by the host%' "
	              "FROM rayql_structures() WHERE kind = 'map'",
	       NULL, "map of big|ready|20|big|main|dense|true|true|true\n");
	free(want);
	/* A change is seen by both, and what was made before is no longer used. */
	run(other, "INSERT INTO big VALUES (38, 'region 9', 1)");
	expect(s.con, "SELECT state FROM rayql_structures() WHERE kind = 'map'", NULL, "stale\n");
	want = host_rows(&s, STAR);
	expect(s.con, STAR, "scan", want);
	expect(other, STAR, "scan", want);
	expect(s.con, "SELECT state FROM rayql_structures() WHERE kind = 'map'", NULL, "ready\n");
	free(want);
	/* A structure more, and all that names one by its address is gone. */
	run(other, "CREATE INDEX bc ON big USING columns (*)");
	want = host_rows(&s, STAR);
	expect(s.con, STAR, "scan", want);
	expect(s.con, "SELECT reason LIKE '%by scan of bc' FROM rayql_structures() WHERE kind = 'map'", NULL, "true\n");
	free(want);
	rayql_disconnect(other);
	close_session(&s);
}

/* Temporary tables of one name, and variables and settings, are each connection's own. */
static void apart(void **state)
{
	(void)state;
	struct session s = open_alike();
	rayql_connection *other = another(&s);
	static const char temporary[] = "SELECT t.v, count(*), sum(a) FROM f JOIN t USING (k) GROUP BY t.v ORDER BY ALL";
	run(s.con, "CREATE TEMP TABLE t AS SELECT range::INTEGER AS k, 'mine' AS v FROM range(5)");
	run(other, "CREATE TEMP TABLE t AS SELECT range::INTEGER AS k, 'yours' AS v FROM range(5, 7)");
	for (int round = 0; round < 2; round++) {
		expect(s.con, temporary, "scan", "mine|3750|1912500\n");
		expect(other, temporary, "scan", "yours|1500|771750\n");
	}
	expect(s.con, MAPS, NULL, "2\n");
	static const char variable[] = "SELECT count(*) FROM f JOIN big USING (k) WHERE region = getvariable('r')";
	run(s.con, "SET VARIABLE r = 'region 1'");
	run(other, "SET VARIABLE r = 'region 9'");
	for (int round = 0; round < 2; round++) {
		expect(s.con, variable, NULL, "7500\n");
		expect(other, variable, NULL, "0\n");
		run(other, "SET VARIABLE r = 'region 9'");
	}
	/* The same text means other rows where the clock is another one. */
	static const char *const zones[] = {"Pacific/Kiritimati", "America/New_York"}, *const days[] = {"0\n", "3750\n"};
	static const char zoned[] = "SELECT count(*) FROM f JOIN hours USING (k) WHERE t::DATE = DATE '2019-12-31'";
	run(s.con, "CREATE TABLE hours AS SELECT k::INTEGER AS k, TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_hours(k::INTEGER) "
	           "AS t FROM range(38) AS q(k)");
	char *here = host_rows(&s, zoned);
	for (int i = 0; i < 2; i++) {
		char sql[64];
		snprintf(sql, sizeof sql, "SET TimeZone = '%s'", zones[i]);
		run(other, sql);
		expect(s.con, zoned, "scan", here);
		expect(other, zoned, "scan", days[i]);
		expect(s.con, zoned, "scan", here);
	}
	free(here);
	static const char setting[] = "SELECT count(*) FROM f JOIN big USING (k) WHERE 1 / (big.k % 3) > 1";
	char *want = host_rows(&s, setting);
	expect(s.con, setting, NULL, want);
	run(other, "SET ieee_floating_point_ops = false");
	if (host_is_2())
		fails(other, setting, RAYQL_ERROR_HOST, "Division by zero");
	else
		expect(other, setting, NULL, "0\n");
	expect(s.con, setting, NULL, want);
	free(want);
	/* What was a closed connection's own goes with it. */
	run(other, "RESET ieee_floating_point_ops");
	expect(s.con, temporary, "scan", "mine|3750|1912500\n");
	expect(other, temporary, "scan", "yours|1500|771750\n");
	expect(s.con, MAPS " AND tables = 't'", NULL, "2\n");
	rayql_disconnect(other);
	expect(s.con, MAPS " AND tables = 't'", NULL, "1\n");
	close_session(&s);
}

/* An open transaction reads what others do not see yet, and keeps no map. */
static void transactions(void **state)
{
	(void)state;
	struct session s = open_alike();
	rayql_connection *other = another(&s);
	char *before = host_rows(&s, STAR);
	run(s.con, "BEGIN");
	run(s.con, "UPDATE big SET region = 'moved' WHERE k < 9");
	expect(other, STAR, NULL, before);
	char *inside = rows_of(s.con, STAR, NULL);
	assert_string_not_equal(inside, before);
	expect(other, STAR " -- again", NULL, before);
	run(s.con, "ROLLBACK");
	expect(s.con, STAR, NULL, before);
	expect(other, STAR, "scan", before);
	free(before);
	free(inside);
	rayql_disconnect(other);
	close_session(&s);
}

/* ---- several at once ---- */

#define READERS 3
/* Under TSan only what threads meet in, once each: maps of dense keys, of far ones, of an outer join, of pairs of keys. */
#ifdef __SANITIZE_THREAD__
#define ROUNDS 6
#define CHANGES 1u
#define IS_ASKED(q) ((q) == 2 || (q) == 3 || (q) == 4 || (q) == 9)
#define DIMENSION_ROWS "130000" /* two groups of rows of DuckDB's */
#define FACT_ROWS "130000"
#else
#define ROUNDS 12
#define CHANGES 3u
#define IS_ASKED(q) true
#define DIMENSION_ROWS "250000"
#define FACT_ROWS "300000"
#endif

struct reader {
	const struct session *s;
	unsigned number;
	bool right;
};

/* Texts that nobody has seen; the sum of all regions' rows is the same whatever the writer does. */
static void *read_stars(void *argument)
{
	struct reader *r = argument;
	rayql_connection *con = NULL;
	r->right = rayql_connect(r->s->db, &con, NULL) == RAYQL_OK;
	for (unsigned i = 0; i < ROUNDS && r->right; i++) {
		char sql[256];
		rayql_result *res = NULL;
		snprintf(sql, sizeof sql,
		         "SELECT sum(n)::BIGINT FROM (SELECT region, count(*) AS n FROM f JOIN big USING (k) WHERE weight < %u GROUP BY "
		         "region) -- %u",
		         900 + i % 3, r->number);
		char *rows = rayql_query(con, sql, &res, NULL) == RAYQL_OK ? read_rows(res, NULL) : NULL;
		r->right = rows && strcmp(rows, "28500\n") == 0;
		free(rows);
	}
	rayql_disconnect(con);
	return NULL;
}

static void at_once(void **state)
{
	(void)state;
	left_to_duckdb1();
	struct session s = open_alike();
	pthread_t threads[READERS];
	struct reader readers[READERS];
	for (unsigned i = 0; i < READERS; i++) {
		readers[i] = (struct reader){&s, i, false};
		assert_int_equal(pthread_create(&threads[i], NULL, read_stars, &readers[i]), 0);
	}
	for (unsigned i = 0; i < ROUNDS; i++) {
		run(s.con, i % 2 ? "UPDATE big SET region = 'region 1' WHERE k = 3" : "UPDATE big SET region = 'other' WHERE k = 3");
		free(rows_of(s.con, "SELECT * FROM rayql_structures()", NULL));
	}
	for (unsigned i = 0; i < READERS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_true(readers[i].right);
	}
	close_session(&s);
}

/* Large dimensions with columns, whose maps all threads make: keys that are outputs, too, NULL keys and keys that the fact
 * table has not, strings; keys that lie far apart; keys of which one comes twice, behind the rows that are looked at
 * first, or among them. */
static void large(void **state)
{
	(void)state;
	left_to_duckdb1();
	struct session s = open_session(NULL, NULL);
	static const char *const plain[] = {
		"SELECT d.k, name, v, count(*), sum(a) FROM f JOIN d ON f.k = d.k WHERE v > 3 GROUP BY ALL ORDER BY ALL LIMIT 50",
		"SELECT name, count(*), sum(a) FROM f JOIN d ON f.k = d.k GROUP BY name ORDER BY ALL LIMIT 50",
		"SELECT v, count(*), min(a) FROM f JOIN d ON f.k = d.k GROUP BY v ORDER BY ALL",
		"SELECT d.k, count(*), count(v), max(name) FROM f LEFT JOIN d ON f.k = d.k GROUP BY d.k ORDER BY ALL LIMIT 70",
		"SELECT v, count(*) FROM f JOIN d ON f.far = d.far GROUP BY v ORDER BY ALL",
		"SELECT d.far, name, sum(a) FROM f JOIN d ON f.far = d.far GROUP BY ALL ORDER BY ALL LIMIT 50",
		"SELECT count(*), sum(a) FROM f WHERE EXISTS (SELECT 1 FROM d WHERE d.k = f.k AND v < 5)",
		"SELECT count(*), sum(a) FROM f WHERE far IN (SELECT far FROM d WHERE v < 5)",
		"SELECT count(*), sum(a) FROM f WHERE k NOT IN (SELECT k FROM d WHERE v < 5 AND k IS NOT NULL)",
		"SELECT v, count(*) FROM f JOIN d ON f.k = d.k AND f.far = d.far GROUP BY v ORDER BY ALL"};
	static const char *const changes[3] = {NULL, "UPDATE d SET k = 8, far = 800000 WHERE k = 249000",
	                                      "UPDATE d SET k = 6, far = 600000 WHERE k = 8"};
	run(s.con, "SET rayql_force = on");
	run(s.con, "CREATE TABLE d AS SELECT CASE WHEN i % 1001 = 0 THEN NULL ELSE i END::INTEGER AS k, (i * 100000)::BIGINT "
	           "AS far, 'the name of number ' || (i % 90000) AS name, (i % 13)::SMALLINT AS v FROM range(" DIMENSION_ROWS ") r(i)");
	run(s.con, "CREATE TABLE f AS SELECT (i * 7919 % 1000)::INTEGER AS a, (i * 31 % 240007)::INTEGER AS k, "
	           "((i * 31 % 240007) * 100000)::BIGINT AS far FROM range(" FACT_ROWS ") r(i)");
	run(s.con, "CREATE INDEX fc ON f USING columns (*)");
	for (size_t c = 0; c < CHANGES; c++) {
		if (changes[c])
			run(s.con, changes[c]);
		run(s.con, "CREATE OR REPLACE INDEX dc ON d USING columns (*)");
		for (size_t q = 0; q < sizeof plain / sizeof *plain; q++) {
			if (!IS_ASKED(q))
				continue;
			char *want = host_rows(&s, plain[q]);
			bool scans = c == 0 && (q < 3 || q > 3);
			expect(s.con, plain[q], scans ? "scan" : NULL, want);
			free(want);
		}
	}
	close_session(&s);
}

int main(void)
{
#ifdef __SANITIZE_THREAD__ /* what threads meet in */
	const struct CMUnitTest tests[] = {cmocka_unit_test(at_once), cmocka_unit_test(large)};
	(void)shared, (void)apart, (void)transactions;
#else
	const struct CMUnitTest tests[] = {cmocka_unit_test(shared), cmocka_unit_test(apart), cmocka_unit_test(transactions),
	                                   cmocka_unit_test(at_once), cmocka_unit_test(large)};
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
