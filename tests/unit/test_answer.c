/* The benchmarks' check of answers: what ORDER BY and LIMIT leave open is right, everything else is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/answer.h"

static rayql_connection *con;

static struct rql_answer answer_of(const char *sql)
{
	struct rql_answer answer;
	struct rql_error err = {0};
	if (rql_answer_of(con, sql, NULL, &answer, &err) != RQL_OK)
		fail_msg("%s\n%s", sql, rql_error_message(&err));
	return answer;
}

static bool check(const struct rql_suite_query *query, const char *host_sql, const char *our_sql, char reason[256])
{
	struct rql_answer host = answer_of(host_sql), ours = answer_of(our_sql);
	struct rql_error err = {0};
	struct rql_strbuf why = {0};
	bool same = false;
	if (rql_answer_check(con, query, &ours, &host, &same, &why, &err) != RQL_OK)
		fail_msg("%s\n%s", our_sql, rql_error_message(&err));
	snprintf(reason, 256, "%s", rql_strbuf_text(&why));
	assert_int_equal(same, why.length == 0);
	rql_strbuf_free(&why);
	rql_answer_free(&host);
	rql_answer_free(&ours);
	return same;
}

static void right(const struct rql_suite_query *query, const char *host, const char *ours)
{
	char reason[256];
	if (!check(query, host, ours, reason))
		fail_msg("%s\nis right, but: %s", ours, reason);
}

static void wrong(const struct rql_suite_query *query, const char *host, const char *ours, const char *words)
{
	char reason[256];
	if (check(query, host, ours, reason))
		fail_msg("%s\nis wrong, and passed", ours);
	if (!strstr(reason, words))
		fail_msg("%s\nhave: %s\nwant: ...%s...", ours, reason, words);
}

/* t: v 1 1 2 2 3 3 4 4 5 5, k 0 to 9, r = k / 7, n NULL where k is 3 */
static int set_up(void **state)
{
	struct rql_error err = {0};
	rayql_database **db = (rayql_database **)state;
	if (rql_client_open(NULL, 1, db, &con, &err) != RQL_OK)
		return -1;
	return rql_client_run(con, &err,
	                      "CREATE TABLE t AS SELECT i // 2 + 1 AS v, i AS k, i / 7 AS r, CASE WHEN i <> 3 THEN 'n' "
	                      "|| i END AS n FROM range(10) x(i)") == RQL_OK
	           ? 0
	           : -1;
}

static int tear_down(void **state)
{
	rayql_disconnect(con);
	rayql_close(*state);
	return 0;
}

static void test_sets(void **state)
{
	const struct rql_suite_query q = {.name = "set", .select = "k, r, n", .rest = "FROM t"};
	const char *host = "SELECT k, r, n FROM t";
	(void)state;
	right(&q, host, host);
	right(&q, host, "SELECT k, r, n FROM t ORDER BY k DESC");
	right(&q, host, "SELECT k, r * (1 + 5e-10) AS r, n FROM t ORDER BY k DESC");
	wrong(&q, host, "SELECT k, r * (1 + 5e-9) AS r, n FROM t ORDER BY k DESC", "is not in DuckDB's answer");
	wrong(&q, host, "SELECT k, CASE WHEN k = 4 THEN 'nan'::DOUBLE ELSE r END AS r, n FROM t", "is not in");
	wrong(&q, host, "SELECT k, r, coalesce(n, '') AS n FROM t", "is not in");
	wrong(&q, host, "SELECT CASE WHEN k = 9 THEN 8 ELSE k END AS k, r, n FROM t", "is not in");
	wrong(&q, host, "SELECT k, r, n FROM t LIMIT 9", "9 rows of 3 columns instead of 10 of 3");
	wrong(&q, host, "SELECT k::INTEGER AS k, r, n FROM t", "column 1 is k INTEGER instead of k BIGINT");
	wrong(&q, host, "SELECT k, r, n AS m FROM t", "column 3 is m");
}

static void test_order(void **state)
{
	const struct rql_suite_query q = {.name = "order", .select = "v, k", .rest = "FROM t", .order = "v DESC"};
	const char *host = "SELECT v, k FROM t ORDER BY v DESC";
	(void)state;
	right(&q, host, "SELECT v, k FROM t ORDER BY v DESC, k");
	right(&q, host, "SELECT v, k FROM t ORDER BY v DESC, k DESC");
	wrong(&q, host, "SELECT v, k FROM t ORDER BY v, k", "stands at the wrong place");
	wrong(&q, host, "SELECT v, k FROM t ORDER BY CASE WHEN k = 0 THEN 9 ELSE v END DESC", "stands at the wrong place");
	wrong(&q, host, "SELECT v, CASE WHEN k = 1 THEN 0 ELSE k END AS k FROM t ORDER BY v DESC", "row 10 ");
}

static void test_limit(void **state)
{
	const struct rql_suite_query q = {
		.name = "limit", .select = "v, k", .rest = "FROM t", .order = "v DESC", .limit = 3, .offset = 2};
	const char *host = "SELECT v, k FROM t ORDER BY v DESC LIMIT 3 OFFSET 2";
	(void)state;
	right(&q, host, "SELECT * FROM (VALUES (4::BIGINT, 6::BIGINT), (4, 7), (3, 5)) x(v, k)");
	right(&q, host, "SELECT * FROM (VALUES (4::BIGINT, 7::BIGINT), (4, 6), (3, 4)) x(v, k)");
	wrong(&q, host, "SELECT * FROM (VALUES (4::BIGINT, 6::BIGINT), (4, 6), (3, 4)) x(v, k)", "row 2 ");
	wrong(&q, host, "SELECT * FROM (VALUES (4::BIGINT, 6::BIGINT), (4, 7), (2, 3)) x(v, k)",
	      "stands at the wrong place");
	wrong(&q, host, "SELECT * FROM (VALUES (4::BIGINT, 6::BIGINT), (4, 7), (3, 9)) x(v, k)",
	      "is not in DuckDB's answer: 3 | 9");
	const struct rql_suite_query any = {.name = "any", .select = "n", .rest = "FROM t", .limit = 2};
	right(&any, "SELECT n FROM t LIMIT 2", "SELECT n FROM t WHERE k IN (3, 8)");
	wrong(&any, "SELECT n FROM t LIMIT 2",
	      "SELECT n FROM t WHERE k IN (3, 8) UNION ALL SELECT n FROM t WHERE k = 8 LIMIT 2 OFFSET 1", "row 2 ");
}

/* The order's key is not in the answer. */
static void test_hidden_keys(void **state)
{
	const struct rql_suite_query q = {
		.name = "hidden", .select = "k % 2 AS odd", .rest = "FROM t", .order = "v", .limit = 3, .keys = "v"};
	const char *host = "SELECT k % 2 AS odd FROM t ORDER BY v LIMIT 3";
	(void)state;
	right(&q, host, "SELECT * FROM (VALUES (0::BIGINT), (1), (0)) x(odd)");
	right(&q, host, "SELECT * FROM (VALUES (1::BIGINT), (0), (1)) x(odd)");
	wrong(&q, host, "SELECT * FROM (VALUES (1::BIGINT), (1), (0)) x(odd)", "row 2 stands at the wrong place");
	const struct rql_suite_query counts = {.name = "counts",
	                                       .select = "v, count(*)",
	                                       .rest = "FROM t GROUP BY v",
	                                       .order = "count(*) DESC",
	                                       .keys = "count(*) AS c",
	                                       .key_order = "c DESC",
	                                       .limit = 1};
	right(&counts, "SELECT v, count(*) FROM t GROUP BY v ORDER BY 1 LIMIT 1",
	      "SELECT v, count(*) FROM t WHERE v = 4 GROUP BY v");
	wrong(&counts, "SELECT v, count(*) FROM t GROUP BY v ORDER BY 1 LIMIT 1",
	      "SELECT v, count(*) FROM t WHERE k = 4 GROUP BY v", "is not in DuckDB's answer");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_hidden_keys),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
