/* Selections of rows from compressed columns, and plans of which RayQL answers a part: every answer beside the host's, who
 * must answer what, and why not. */
#include "device.h"
#include "rows.h"

static void selections(void **state)
{
	static const char *const queries[] = {
		"SELECT * FROM f ORDER BY id",
		"SELECT * FROM f WHERE a = 7 ORDER BY id",
		"SELECT id, s, t, n FROM f WHERE n > 100 OR t IS NULL ORDER BY t DESC NULLS FIRST, n NULLS LAST, id LIMIT 20",
		"SELECT id, h, uh FROM f ORDER BY h DESC LIMIT 5",
		"SELECT id, uh FROM f ORDER BY uh DESC, id LIMIT 5 OFFSET 3",
		"SELECT id, r FROM f ORDER BY r DESC, id LIMIT 500",
		"SELECT id, r FROM f WHERE r < 2 ORDER BY r, id DESC",
		"SELECT ts, d, p, even, fl FROM f WHERE even AND p BETWEEN 10 AND 11 ORDER BY ts DESC LIMIT 7",
		"SELECT own FROM f ORDER BY own LIMIT 10",
		"SELECT own, s FROM f WHERE s LIKE '%7' ORDER BY own DESC LIMIT 10 OFFSET 100",
		"SELECT a + b, a * p, year(d), CASE WHEN even THEN a END, 'x', NULL, 5 FROM f ORDER BY a + b DESC, id LIMIT 9",
		"SELECT upper(s), s || '!', length(t), t IS NULL FROM f WHERE b = 3 ORDER BY length(s), id LIMIT 12",
		"SELECT id FROM f WHERE a = 7 AND n = 2 AND b = 1",
		"SELECT s, id FROM f ORDER BY s, id OFFSET 19990",
		"SELECT x FROM (SELECT a + 1 AS x, id FROM f WHERE b < 4) WHERE x < 50 ORDER BY id LIMIT 30",
		"SELECT id FROM f ORDER BY even, b DESC, n NULLS FIRST, id LIMIT 100",
	};
	struct session s = rows_session();
	(void)state;
	make_tables(s.con);
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
		same(s.con, queries[i], "  rows: ");
	close_session(&s);
}

/* With DuckDB 2, which has them in every run, there are more. */
#ifdef __SANITIZE_ADDRESS__
#define TABLE_ORDER_QUERIES 24
#else
#define TABLE_ORDER_QUERIES 40
#endif

/* Without ORDER BY, DuckDB's order is the table's, and so is ours; a limit takes the first rows. */
static void table_order(void **state)
{
	static const char *const columns[] = {"id", "*", "s, id", "a + 1, r", "upper(s), id"};
	static const char *const conditions[] = {
		"a < 3",         "s LIKE '%77' AND a > 700", "r IS NULL AND a = 17", "a = 1000", "id > 299000",
		"id % 5000 = 1", "a BETWEEN 20 AND 21"};
	static const char *const limits[] = {"", " LIMIT 10", " LIMIT 7 OFFSET 300", " OFFSET 500",
	                                     " LIMIT 100000 OFFSET 3"};
	struct session s = rows_session();
	uint64_t random = 20261120;
	(void)state;
	make_placed(s.con);
	same(s.con, "SELECT id FROM g", "  rows: ");
	same(s.con, "SELECT id, s FROM g LIMIT 5", "limit 5");
	same(s.con, "SELECT id, s FROM g LIMIT 3 OFFSET 230000", NULL);
	for (int i = 0; i < TABLE_ORDER_QUERIES; i++) {
		char query[256];
		if (i % 8 == 4)
			run(s.con, "INSERT INTO g SELECT 1000000 - i, i % 30, 'name ' || (i % 100), NULL FROM range(9000) AS q(i)");
		random = random * 6364136223846793005u + 1442695040888963407u;
		snprintf(query, sizeof query, "SELECT %s FROM g WHERE %s%s", columns[random >> 33 & 3],
		         conditions[(random >> 40) % 7], limits[(random >> 50) % 5]);
		same(s.con, query, "  rows: ");
	}
	/* Neither what is made of the rows afterwards changes their order. */
	same(s.con, "SELECT id || '?', sqrt(a) FROM g WHERE a < 3", "  rows: ");
	same(s.con, "SELECT id, row_number() OVER () FROM g WHERE a < 3", "  rows: ");
	close_session(&s);
}

/* A file's structure comes back in order, too. */
static void order_is_kept(void **state)
{
	struct session s;
	char path[256];
	(void)state;
	s = open_session(scratch_path(path, "t.db"), NULL);
	make_placed(s.con);
	close_session(&s);
	s = open_session(path, NULL);
	run(s.con, "SET rayql_force = on");
	same(s.con, "SELECT id FROM g WHERE a < 3", "  rows: ");
	close_session(&s);
}

/* A column called rowid hides where DuckDB's rows stand: it answers itself what depends on it. */
static void hidden_order(void **state)
{
	struct session s = rows_session();
	rayql_result *res = NULL;
	(void)state;
	run(s.con, "CREATE TABLE h AS SELECT -i AS rowid, i % 10 AS a FROM range(1000) AS q(i)");
	run(s.con, "CREATE INDEX hc ON h USING columns (*)");
	assert_int_equal(rayql_query(s.con, "SELECT a FROM h WHERE rowid < -900", &res, NULL), RAYQL_OK);
	assert_string_equal(rayql_result_method(res), "host");
	assert_non_null(strstr(rayql_result_reason(res), "does not know the table's"));
	rayql_result_free(res);
	same(s.con, "SELECT a FROM h WHERE rowid < -900 ORDER BY rowid", "  rows: ");
	same(s.con, "SELECT a, count(*) FROM h WHERE rowid < -900 GROUP BY a ORDER BY a", NULL);
	close_session(&s);
}

static void joins(void **state)
{
	static const char *const queries[] = {
		"SELECT id, region, weight FROM f JOIN big USING (k) WHERE a < 10 ORDER BY id",
		"SELECT id, region FROM f JOIN big USING (k) WHERE weight > 50 ORDER BY region DESC NULLS LAST, id LIMIT 25",
		"SELECT id, region || '?', weight + a FROM f JOIN big USING (k) ORDER BY weight DESC, id LIMIT 11",
		"SELECT id FROM f JOIN big USING (k) WHERE region = 'region 2' AND b = 1 ORDER BY id",
	};
	struct session s = rows_session();
	(void)state;
	make_tables(s.con);
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
		same(s.con, queries[i], "join with big");
	close_session(&s);
}

/* What no scan computes is made of the wanted rows, by RayQL or by the host; results are put together by RayQL. */
static void put_off(void **state)
{
	struct session s = rows_session();
	(void)state;
	make_tables(s.con);
	same(s.con, "SELECT id || ' of ' || s, a / 2 FROM f WHERE b < 3 ORDER BY r DESC, id LIMIT 4",
	     "ordered by 2 keys, limit 4\nfinish: host");
	/* What can fail is made of all rows that pass, as DuckDB would. */
	same(s.con, "SELECT id || ' of ' || s, sqrt(a) FROM f WHERE b < 3 ORDER BY r DESC, id LIMIT 4",
	     "rows: 4 columns\nfinish: host");
	same(s.con, "SELECT a, sum(a) OVER (ORDER BY id) FROM f WHERE a < 10 ORDER BY id LIMIT 5", "a window function");
	same(s.con, "SELECT stddev(a)::DECIMAL(18,6), string_agg(s, ',' ORDER BY id) FROM f WHERE a = 7", "finish: host");
	same(s.con, "SELECT id FROM f WHERE id < 10 UNION ALL SELECT a FROM f WHERE id BETWEEN 10 AND 12 ORDER BY 1",
	     "RayQL union all");
	close_session(&s);
}

/* Tables without a structure are the host's part. */
static void tables_of_the_host(void **state)
{
	struct session s = rows_session();
	(void)state;
	make_tables(s.con);
	same(s.con,
	     "SELECT region, n FROM (SELECT k, count(*) AS n FROM f WHERE a < 30 GROUP BY k) q LEFT JOIN big USING (k) "
	     "ORDER BY ALL",
	     "the host reads tables and finishes, over about");
	same(s.con, "SELECT weight, (SELECT max(a) FROM f WHERE f.k = big.k) FROM big ORDER BY ALL", "the host reads tables and finishes");
	same(s.con, "SELECT id, region FROM f LEFT JOIN big ON f.k < big.k AND big.k > 36 WHERE a = 7 ORDER BY ALL", "the host reads tables and finishes");
	same(s.con, "SELECT k FROM big WHERE k IN (SELECT k FROM f WHERE a = 7) ORDER BY k", "the host reads tables and finishes");
	close_session(&s);
}

/* Covers are compared by price: small groups of many rows go to the host, which joins them with a table of its own; few
 * rows of a table in memory are not made for it; and what RayQL has all of it finishes itself. */
static void covers(void **state)
{
	static const char groups[] = "(SELECT k, count(*) n, sum(v) v FROM many GROUP BY k) q";
	struct session s = open_session(NULL, NULL);
	char sql[512], explain[600];
	(void)state;
	run(s.con, "CREATE TABLE many AS SELECT (hash(i) % 100)::INTEGER k, (hash(i * 3) % 1000)::INTEGER v FROM range(600000) r(i); "
	           "CREATE TABLE hosts AS SELECT (i % 200)::INTEGER k, i::INTEGER w FROM range(30000) r(i); "
	           "CREATE TABLE few AS SELECT (i % 150)::INTEGER k, i::INTEGER w FROM range(3000) r(i); "
	           "CREATE INDEX cmany ON many USING columns (*); CREATE INDEX cfew ON few USING columns (*)");
	snprintf(sql, sizeof sql, "SELECT q.k, n, sum(w), min(v) FROM %s JOIN hosts USING (k) GROUP BY ALL ORDER BY ALL", groups);
	snprintf(explain, sizeof explain, "EXPLAIN %s", sql);
	run(s.con, "SET rayql_enable_scan = off");
	char *want = rows_of(s.con, sql, NULL);
	run(s.con, "SET rayql_enable_scan = on");
	char *plan = rows_of(s.con, explain, NULL);
	holds(plan, "method scan on cmany, about 100 rows");
	holds(plan, "the host reads tables and finishes, over about 100 rows");
	expect(s.con, sql, "scan", want);
	free(plan);
	free(want);
	snprintf(explain, sizeof explain, "EXPLAIN SELECT q.k, n, w FROM %s JOIN few USING (k) WHERE w < 300", groups);
	plan = rows_of(s.con, explain, NULL);
	holds(plan, "finish: RayQL");
	holds(plan, "covers:\n");
	holds(plan, "by RayQL's operators");
	holds(plan, "by the host over RayQL's rows");
	free(plan);
	close_session(&s);
}

/* The host's part sees what the statement would see: its own transaction, its own temporary tables. */
static void visibility(void **state)
{
	static const char query[] = "SELECT region, n FROM (SELECT k, count(*) AS n FROM f GROUP BY k) q LEFT JOIN big "
								"USING (k) WHERE k = 1";
	struct session s = rows_session();
	rayql_connection *other = NULL;
	(void)state;
	make_tables(s.con);
	assert_int_equal(rayql_connect(s.db, &other, NULL), RAYQL_OK);
	expect(s.con, query, "scan", "region 1|500\n");
	run(s.con, "BEGIN");
	expect(s.con, query, "scan", "region 1|500\n");
	run(other, "UPDATE big SET region = 'elsewhere' WHERE k = 1");
	expect(s.con, query, NULL, "region 1|500\n"); /* the transaction's snapshot */
	run(s.con, "COMMIT");
	expect(s.con, query, "scan", "elsewhere|500\n");
	run(other, "DELETE FROM f WHERE k = 1 AND id > 100");
	expect(s.con, query, NULL, "elsewhere|3\n");
	run(s.con, "CREATE TEMP TABLE big AS SELECT 1 AS k, 'mine' AS region");
	run(s.con, "REFRESH INDEX fc");
	expect(s.con, query, "scan", "mine|3\n");
	rayql_disconnect(other);
	close_session(&s);
}

/* The memory limit is for answers too; the host then answers. A batch outlives its database. */
static void memory(void **state)
{
	struct session s = rows_session();
	rayql_result *res = NULL;
	rayql_batch *batch = NULL;
	size_t length = 0;
	(void)state;
	make_tables(s.con);
	run(s.con, "SET rayql_memory_limit = '2MB'");
	expect(s.con, "SELECT count(own) FROM (SELECT own, s, h, row_number() OVER (ORDER BY id) FROM f)", NULL, "20000\n");
	rayql_query_info info = {.size = sizeof info};
	assert_int_equal(rayql_query(s.con, "SELECT own, s, h, uh FROM f ORDER BY id", &res, NULL), RAYQL_OK);
	assert_string_equal(rayql_result_method(res), "host");
	assert_non_null(strstr(rayql_result_reason(res), "the rows of a query"));
	rayql_result_free(res);
	run(s.con, "SET rayql_memory_limit = '1GB'");
	assert_int_equal(rayql_query(s.con, "SELECT s FROM f ORDER BY id", &res, NULL), RAYQL_OK);
	assert_string_equal(rayql_result_method(res), "scan");
	assert_int_equal(rayql_fetch(res, &batch, NULL), RAYQL_OK);
	assert_int_equal(rayql_last_query(s.con, &info), RAYQL_OK);
	rayql_result_free(res);
	run(s.con, "DROP TABLE f");
	close_session(&s);
	assert_int_equal(rayql_batch_rows(batch), 20000);
	const char *text = rayql_batch_text(batch, 0, 2, &length);
	assert_int_equal(length, strlen("a rather long name, number 5"));
	assert_memory_equal(text, "a rather long name, number 5", length);
	rayql_batch_free(batch);
}

/* Large answers come in pieces, which live on by themselves. */
static void pieces(void **state)
{
	left_to_duckdb1();
	struct session s = rows_session();
	rayql_result *res = NULL;
	rayql_batch *held[8] = {NULL};
	uint64_t rows = 0;
	int64_t sum = 0;
	uint32_t count = 0;
	(void)state;
	run(s.con, "CREATE TABLE m AS SELECT i AS id, CASE WHEN i % 3 = 0 THEN NULL ELSE 'text number ' || i END AS s FROM "
	           "range(400000) AS q(i)");
	run(s.con, "CREATE INDEX mc ON m USING columns (*)");
	assert_int_equal(rayql_query(s.con, "SELECT id, s FROM m ORDER BY id DESC", &res, NULL), RAYQL_OK);
	assert_string_equal(rayql_result_method(res), "scan");
	while (count < 8) {
		assert_int_equal(rayql_fetch(res, &held[count], NULL), RAYQL_OK);
		if (!held[count])
			break;
		count++;
	}
	rayql_result_free(res);
	/* A result that is given up halfway. */
	rayql_batch *first = NULL;
	assert_int_equal(rayql_query(s.con, "SELECT id FROM m", &res, NULL), RAYQL_OK);
	assert_int_equal(rayql_fetch(res, &first, NULL), RAYQL_OK);
	rayql_result_free(res);
	run(s.con, "DROP TABLE m");
	close_session(&s);
	assert_true(count > 1 && rayql_batch_rows(first) < 400000);
	rayql_batch_free(first);
	for (uint32_t b = 0; b < count; b++) {
		const int64_t *ids = rayql_batch_data(held[b], 0);
		for (uint64_t r = 0; r < rayql_batch_rows(held[b]); r++, rows++) {
			char want[32];
			size_t length = 0;
			snprintf(want, sizeof want, "text number %lld", (long long)ids[r]);
			const char *text = rayql_batch_text(held[b], 1, r, &length);
			if (ids[r] != (int64_t)(399999 - rows) || rayql_batch_is_null(held[b], 1, r) != (ids[r] % 3 == 0) ||
			    (text && (length != strlen(want) || memcmp(text, want, length) != 0)))
				fail_msg("row %llu", (unsigned long long)rows);
			sum += ids[r];
		}
		rayql_batch_free(held[b]);
	}
	assert_int_equal(rows, 400000);
	assert_int_equal(sum, 399999ll * 400000 / 2);
}

/* An error of a wanted row is the host's own; rows that are not wanted raise none. */
static void errors(void **state)
{
	struct session s = rows_session();
	(void)state;
	run(s.con,
	    "CREATE TABLE e AS SELECT i AS id, CASE WHEN i = 900 THEN 9223372036854775807 ELSE i END AS v FROM range(1000) "
	    "AS q(i)");
	run(s.con, "CREATE INDEX ec ON e USING columns (*)");
	fails(s.con, "SELECT v + 1 FROM e ORDER BY id", RAYQL_ERROR_HOST, "Overflow in addition of INT64");
	expect(s.con, "SELECT v + 1 FROM e WHERE id < 900 ORDER BY id DESC LIMIT 2", "scan", "900\n899\n");
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selections),   cmocka_unit_test(table_order), cmocka_unit_test(order_is_kept),
		cmocka_unit_test(hidden_order), cmocka_unit_test(joins),       cmocka_unit_test(put_off),
		cmocka_unit_test(tables_of_the_host), cmocka_unit_test(covers), cmocka_unit_test(visibility),  cmocka_unit_test(memory),
		cmocka_unit_test(pieces),       cmocka_unit_test(errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
