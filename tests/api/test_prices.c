/* What a plan's price knows, and what planning pays once: large plans are kept, hopeless preparations are not begun. */
#include "check.h"

#define ORDERS "200000"

static struct session priced_session(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con, "SET rayql_force = on");
	run(s.con,
	    "CREATE TABLE f AS SELECT i::INTEGER AS id, (i % 100)::INTEGER AS few, (i * 7919 % 90000)::INTEGER AS many, "
	    "'https://a.example/' || (i % 30000) || '/page of some length' AS url, (i % " ORDERS ")::INTEGER AS o "
	    "FROM range(300000) AS q(i)");
	run(s.con, "CREATE TABLE orders AS SELECT o::INTEGER AS o, 'the order with the number ' || o || ' of all of them, "
	           "and what a clerk wrote on it, which is longer than what an order is worth to anybody: ' || o AS text "
	           "FROM range(" ORDERS ") AS q(o)");
	run(s.con, "CREATE INDEX fc ON f USING columns (*)");
	return s;
}

static rayql_query_info ask(rayql_connection *con, const char *sql)
{
	rayql_query_info info = {.size = sizeof info};
	free(rows_of(con, sql, NULL));
	assert_int_equal(rayql_last_query(con, &info), RAYQL_OK);
	return info;
}

static double host_price(rayql_connection *con, const char *sql)
{
	rayql_query_info info = ask(con, sql);
	assert_string_equal(info.method, "scan");
	assert_true(info.host_estimated_ms > 0);
	return info.host_estimated_ms;
}

/* Each query beside a plainer one over the same rows. */
static void host_prices(void **state)
{
	static const char *const pairs[][2] = {
		{"SELECT few, count(*) FROM f GROUP BY few", "SELECT many, count(*) FROM f GROUP BY many"},
		{"SELECT sum(many) FROM f", "SELECT few, sum(many) FROM f GROUP BY few"},
		{"SELECT many, count(*) FROM f GROUP BY many", "SELECT url, count(*) FROM f GROUP BY url"},
		{"SELECT count(*) FROM f WHERE url <> ''", "SELECT count(*) FROM f WHERE url LIKE '%page%7%'"},
		{"SELECT count(*) FROM f WHERE url LIKE '%page%7%'",
	     "SELECT count(*) FROM f WHERE regexp_matches(url, 'page.*length')"},
		{"SELECT count(*) FROM f", "SELECT count(DISTINCT many) FROM f"},
		{"SELECT count(few), count(o) FROM f", "SELECT count(few) FROM f JOIN orders USING (o) WHERE text LIKE '%7%'"},
	};
	struct session s = priced_session();
	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		double plain = host_price(s.con, pairs[i][0]), dear = host_price(s.con, pairs[i][1]);
		if (plain >= dear)
			fail_msg("%s: %.3f ms\n%s: %.3f ms", pairs[i][0], plain, pairs[i][1], dear);
	}
	close_session(&s);
}

/* The same query over more rows: dearer for both. The first tables are less than a row group of DuckDB, which no second
 * thread helps with. */
static void rows_cost(void **state)
{
	struct session s = open_session(NULL, NULL);
	double host = 0, scan = 0;
	(void)state;
	run(s.con, "SET rayql_force = on");
	for (int rows = 20000; rows <= 2000000; rows *= 10) {
		char sql[256];
		snprintf(sql, sizeof sql,
		         "CREATE OR REPLACE TABLE g AS SELECT (i %% 100)::INTEGER AS few, (i * 7919 %% 90000)::INTEGER AS many "
		         "FROM range(%d) AS q(i)",
		         rows);
		run(s.con, sql);
		run(s.con, "CREATE INDEX gc ON g USING columns (*)");
		rayql_query_info info = ask(s.con, "SELECT few, sum(many) FROM g WHERE many < 50000 GROUP BY few");
		assert_string_equal(info.method, "scan");
		assert_true(info.host_estimated_ms > host && info.estimated_ms > scan);
		host = info.host_estimated_ms;
		scan = info.estimated_ms;
		run(s.con, "DROP INDEX gc");
	}
	close_session(&s);
}

/* A map of all orders and their texts: beyond what any plan was allowed, far less than rayql_memory_limit. */
#define LARGE "SELECT text, sum(few) FROM f JOIN orders USING (o) WHERE o > 5 GROUP BY text ORDER BY 1 LIMIT 2"

static void large_plans(void **state)
{
	struct session s = priced_session();
	(void)state;
	char *first = rows_of(s.con, LARGE, NULL), *second = rows_of(s.con, LARGE, NULL);
	rayql_query_info info = {.size = sizeof info};
	assert_int_equal(rayql_last_query(s.con, &info), RAYQL_OK);
	assert_string_equal(info.method, "scan");
	assert_true(info.plan_cached);
	assert_string_equal(first, second);
	run(s.con, "UPDATE orders SET text = 'zzz' WHERE o = 100000");
	char *changed = rows_of(s.con, LARGE, NULL);
	assert_int_equal(rayql_last_query(s.con, &info), RAYQL_OK);
	assert_false(info.plan_cached); /* its map is of what the table was */
	assert_string_equal(first, changed);
	/* Without room it is made for each run, and the answer stays. */
	run(s.con, "SET rayql_memory_limit = '30MB'");
	for (int i = 0; i < 2; i++) {
		char *again = rows_of(s.con, LARGE, NULL);
		assert_int_equal(rayql_last_query(s.con, &info), RAYQL_OK);
		assert_false(info.plan_cached);
		assert_string_equal(first, again);
		free(again);
	}
	/* Plans that are small are kept all the same. */
	(void)ask(s.con, "SELECT few, sum(many) FROM f GROUP BY few");
	assert_true(ask(s.con, "SELECT few, sum(many) FROM f GROUP BY few").plan_cached);
	free(first);
	free(second);
	free(changed);
	close_session(&s);
}

/* What a kept plan takes is in rayql_memory_limit, and comes back. */
static void plans_are_counted(void **state)
{
	struct session s = priced_session();
	(void)state;
	(void)ask(s.con, LARGE);
	assert_true(ask(s.con, LARGE).plan_cached);
	run(s.con, "SET rayql_memory_limit = '64MB'");
	(void)ask(s.con, LARGE); /* settings have changed: planned again, and it does not fit twice */
	run(s.con, "DROP INDEX fc");
	/* All of it is there again: a structure of nearly the limit can be built. */
	run(s.con, "CREATE INDEX fc2 ON f USING columns (*)");
	assert_string_equal(ask(s.con, "SELECT few, sum(many) FROM f GROUP BY few").method, "scan");
	close_session(&s);
}

/* Its map takes so long to make, for so few rows, that with a share of that in its price no scan is taken: a third of a
 * second, of which a fourth would do. */
#define SLOW_MAP_ABOVE "SELECT sum(v) FROM h JOIN slow USING (d) WHERE md5(repeat(text, 40000)) > "
#define SLOW_MAP SLOW_MAP_ABOVE "'8'"
#define AGAIN "planned once more when it comes again"

static struct session swayed_session(void)
{
	struct session s = open_session(NULL, NULL);
	run(s.con, "CREATE TABLE h AS SELECT (i % 800)::INTEGER AS d, i::INTEGER AS v FROM range(4000) q(i)");
	run(s.con, "CREATE TABLE slow AS SELECT i::INTEGER AS d, 'row ' || i AS text FROM range(800) q(i)");
	run(s.con, "CREATE INDEX hc ON h USING columns (*)");
	return s;
}

/* Its only row, which must be `rows`, or is given (malloc'ed) where that is NULL. */
static char *answered(struct session *s, const char *method, bool cached, bool again, char *rows)
{
	rayql_query_info info = {.size = sizeof info};
	char *have = rows_of(s->con, SLOW_MAP, NULL);
	assert_int_equal(rayql_last_query(s->con, &info), RAYQL_OK);
	if (strcmp(info.method, method) != 0 || info.plan_cached != cached || (strstr(info.reason, AGAIN) != NULL) != again)
		fail_msg("by %s, %s: %s", info.method, info.plan_cached ? "cached" : "planned", info.reason);
	if (!rows)
		return have;
	assert_string_equal(have, rows);
	free(have);
	return rows;
}

/* The same text, as a prepared statement and its value. */
static void executed(struct session *s, const char *method, const char *rows)
{
	rayql_statement *stmt = NULL;
	rayql_result *res = NULL;
	assert_int_equal(rayql_prepare(s->con, SLOW_MAP_ABOVE "?", &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_bind_text(stmt, 1, "8", 1), RAYQL_OK);
	assert_int_equal(rayql_execute(stmt, &res, NULL), RAYQL_OK);
	assert_string_equal(rayql_result_method(res), method);
	char *have = read_rows(res, NULL);
	assert_non_null(have);
	assert_string_equal(have, rows);
	free(have);
	rayql_statement_free(stmt);
}

/* A text that comes again is planned once more, without what the first plan had to prepare in its price. */
static void first_plans(void **state)
{
	struct session s = swayed_session();
	(void)state;
	/* What is explained has not come yet, before the first time or after it. */
	for (int i = 0; i < 2; i++)
		run(s.con, "EXPLAIN " SLOW_MAP);
	char *rows = answered(&s, "host", true, true, NULL);
	run(s.con, "EXPLAIN " SLOW_MAP);
	run(s.con, "BEGIN");
	answered(&s, "host", true, true, rows); /* no plan of a transaction is kept */
	run(s.con, "COMMIT");
	answered(&s, "scan", false, false, rows);
	for (int i = 0; i < 3; i++)
		answered(&s, "scan", true, false, rows);
	/* The map is there for all connections. */
	struct session other = {.db = s.db};
	assert_int_equal(rayql_connect(s.db, &other.con, NULL), RAYQL_OK);
	answered(&other, "scan", false, false, rows);
	rayql_disconnect(other.con);
	/* What changes in between is seen, and begins anew. */
	run(s.con, "UPDATE slow SET text = text || '.'");
	char *changed = answered(&s, "host", false, true, NULL);
	assert_string_not_equal(rows, changed);
	executed(&s, "scan", changed);
	answered(&s, "scan", true, false, changed);
	free(rows);
	free(changed);
	close_session(&s);
}

/* A session that has named what is to run waits for it: nothing of its plan is for a first time alone. */
static void forced_plans(void **state)
{
	struct session s = swayed_session();
	(void)state;
	run(s.con, "SET rayql_unit = 'cpu'");
	char *rows = answered(&s, "scan", false, false, NULL);
	answered(&s, "scan", true, false, rows);
	free(rows);
	close_session(&s);
}

/* What DuckDB knows of a table that it has read from its file folds nothing of a plan. */
static void reasons(void **state)
{
	char path[256];
	(void)state;
	struct session s = open_session(scratch_path(path, "p.db"), NULL);
	run(s.con, "CREATE TABLE f AS SELECT i::INTEGER AS a FROM range(5000) AS q(i)");
	run(s.con, "CREATE INDEX fc ON f USING columns (*)");
	close_session(&s);
	s = open_session(path, NULL);
	assert_non_null(strstr(ask(s.con, "SELECT 42").reason, "it reads no table"));
	assert_non_null(strstr(ask(s.con, "SELECT a FROM f WHERE a > 3 AND 1 > 2").reason, "can never hold"));
	run(s.con, "SET rayql_force = on");
	assert_string_equal(ask(s.con, "SELECT count(*) FROM f").method, "scan");
	assert_string_equal(ask(s.con, "SELECT min(a), max(a) FROM f WHERE a < 100000").method, "scan");
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_prices),
		cmocka_unit_test(rows_cost),
		cmocka_unit_test(large_plans),
		cmocka_unit_test(plans_are_counted),
		cmocka_unit_test(first_plans),
		cmocka_unit_test(forced_plans),
		cmocka_unit_test(reasons),
	};
	return cmocka_run_group_tests_name("prices", tests, NULL, NULL);
}
