/* Errors that single rows raise: no answer hides one of DuckDB's, none is added to them, wherever a LIMIT, an OFFSET or
 * an ORDER BY has the row; in transactions; with the host off; and on a GPU. */
#include "device.h"

/* One row in the middle is bad in every column, of several row groups; every fifth text is no number. */
static void make_bad(rayql_connection *con)
{
	run(con, "CREATE TABLE e AS SELECT i AS id, (i * 7919 % 1000)::INTEGER AS a, "
	         "CASE WHEN i = 150000 THEN 9223372036854775807 ELSE i END AS b, "
	         "CASE WHEN i = 150000 THEN -1 ELSE i END::DOUBLE AS x, "
	         "CASE WHEN i % 5 = 3 THEN 'word' ELSE (i % 1000)::VARCHAR END AS s, "
	         "CASE WHEN i = 150000 THEN DATE '-infinity' ELSE DATE '2000-01-01' + (i % 999)::INTEGER END AS d, "
	         "CASE WHEN i % 2 = 0 THEN NULL WHEN i = 150001 THEN 2147483647 ELSE i % 100 END::INTEGER AS n "
	         "FROM range(300000) AS q(i)");
	run(con, "CREATE INDEX ec ON e USING columns (*)");
	/* With several threads, what DuckDB looks at behind a limit depends on which of them is ahead. */
	run(con, "SET threads = 1");
}

struct outcome {
	rayql_status status;
	char *text; /* rows, or the message's first line: DuckDB's second one points into the statement */
};

static struct outcome outcome_of(rayql_connection *con, const char *sql)
{
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	struct outcome out = {.status = rayql_query(con, sql, &res, &err)};
	if (out.status == RAYQL_OK && !(out.text = read_rows(res, &err)))
		out.status = rayql_error_status(err);
	if (out.status != RAYQL_OK) {
		const char *message = rayql_error_message(err);
		out.text = strndup(message, strcspn(message, "\n"));
		rayql_error_free(err);
	}
	assert_non_null(out.text);
	return out;
}

/* Both answer alike, or both raise the same error. */
#define alike(con, host, sql) alike_at(con, host, sql, __FILE__, __LINE__)
static void alike_at(rayql_connection *con, rayql_connection *host, const char *sql, const char *file, int line)
{
	struct outcome want = outcome_of(host, sql);
	for (int again = 0; again < 2; again++) { /* then from the plan cache */
		struct outcome have = outcome_of(con, sql);
		bool same = have.status == want.status && strcmp(have.text, want.text) == 0;
		if (!same)
			print_error("%s:%d: %s\nhave: [%s] %.300s\nwant: [%s] %.300s\n", file, line, sql,
			            rayql_status_name(have.status), have.text, rayql_status_name(want.status), want.text);
		free(have.text);
		_assert_true(same, sql, file, line);
	}
	free(want.text);
}

static const char *const columns[] = {
	"b + 1",
	"b * 2 - 3",
	"sqrt(x)",
	"s::INTEGER",
	"date_trunc('month', d)",
	"n + 1",
	"CASE WHEN x >= 0 THEN sqrt(x) END",
	"CASE WHEN b < 1000000 THEN b + 1 END",
	"TRY_CAST(s AS INTEGER)",
	"(a > 5 OR b + 1 > 3)",
	"(a > 5000 AND b + 1 > 3)",
	"CASE WHEN b < 1000000 AND b + 1 > 3 THEN 1 END",
	"upper(s)",
	"a + 1",
	"id || ' of ' || s"};
static const char *const ends[] = {"",
                                   " ORDER BY id LIMIT 3",
                                   " ORDER BY a, id LIMIT 300",
                                   " ORDER BY a DESC, id LIMIT 100 OFFSET 7",
                                   " ORDER BY d DESC, id LIMIT 500",
                                   " ORDER BY n NULLS FIRST, a, id LIMIT 400",
                                   " ORDER BY id OFFSET 299990",
                                   " ORDER BY id LIMIT 70000 OFFSET 200000",
                                   " OFFSET 299995"};
static const char *const conditions[] = {"", " WHERE id <> 150000 AND id <> 150001", " WHERE id > 149990",
                                         " WHERE a < 500 AND id < 150000"};

static void outputs(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_connection *host = NULL;
	rayql_error *err = NULL;
	(void)state;
	assert_int_equal(rayql_connect(s.db, &host, &err), RAYQL_OK);
	run(host, "SET rayql_enable_scan = off");
	run(s.con, "SET rayql_force = on");
	make_bad(s.con);
	for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
		for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
			char sql[256];
			if (!*ends[e] && c != 0)
				continue; /* all rows as text take long */
			snprintf(sql, sizeof sql, "SELECT %s, id FROM e%s%s", columns[c], conditions[(c + e) % 4], ends[e]);
			alike(s.con, host, sql);
		}
	/* What an order is by, and what is above an aggregate. */
	alike(s.con, host, "SELECT id FROM e ORDER BY a, b + 1, id LIMIT 400");
	alike(s.con, host, "SELECT id FROM e ORDER BY b + 1 LIMIT 400");
	alike(s.con, host, "SELECT a, max(b) + 1 FROM e GROUP BY a ORDER BY a LIMIT 5");
	alike(s.con, host, "SELECT a, sqrt(min(x)) FROM e GROUP BY a ORDER BY a LIMIT 5");
	alike(s.con, host, "SELECT sum(b * 2) FROM e");
	alike(s.con, host, "SELECT sum(b * 2) FILTER (WHERE b < 1000) FROM e");
	rayql_disconnect(host);
	close_session(&s);
}

/* One that can fail sees the rows that others drop, as far as DuckDB's may have seen them. */
static void conditions_fail(void **state)
{
	static const char *const queries[] = {
		"SELECT count(*) FROM e WHERE b + 1 > 3 AND a * 2 + id % 3 < 50",
		"SELECT count(*) FROM e WHERE a * 2 + id % 3 < 50 AND b + 1 > 3",
		"SELECT count(*) FROM e WHERE b + 1 > 3 AND b * 2 > 7 AND a % 7 = 5",
		"SELECT count(*) FROM e WHERE b + 1 > 3 AND s LIKE '%7'",
		"SELECT count(*) FROM e WHERE n + 1 > 3 AND id % 1000 = 3",
		"SELECT id FROM e WHERE b + 1 > 3 AND a % 7 = 5 ORDER BY id LIMIT 4",
		"SELECT id FROM e WHERE b + 1 > 3 AND a % 7 = 5 ORDER BY a, id LIMIT 400 OFFSET 3",
		"SELECT sum(w) FROM e JOIN dim ON e.a = dim.k WHERE b + 1 > 3 AND w % 2 = 1",
		"SELECT count(*) FROM e WHERE b + 1 > 3 AND a IN (SELECT k FROM dim WHERE w = 30)",
		"SELECT count(*) FROM e WHERE b + 1 > 3 OR a % 7 = 5",
		"SELECT count(*) FROM e WHERE a < 900 OR b + 1 > 3",
		"SELECT count(*) FROM e WHERE (a < 900 OR b + 1 > 3) IS NOT NULL"};
	/* DuckDB tests these columns while it reads the table. */
	static const char *const proven[] = {
		"SELECT count(*) FROM e WHERE b + 1 > 3 AND id < 1000 AND a % 7 = 5",
		"SELECT count(*) FROM e WHERE b < 100000 AND b + 1 > 3 AND s LIKE '%7'",
		"SELECT count(*) FROM e WHERE n IS NULL AND id <= 149999 AND b + 1 > 3 AND a % 7 = 5"};
	struct session s = open_session(NULL, NULL);
	rayql_connection *host = NULL;
	rayql_error *err = NULL;
	(void)state;
	assert_int_equal(rayql_connect(s.db, &host, &err), RAYQL_OK);
	run(host, "SET rayql_enable_scan = off");
	run(s.con, "SET rayql_force = on");
	make_bad(s.con);
	run(s.con, "CREATE TABLE dim AS SELECT k::INTEGER AS k, k * 3 AS w FROM range(1, 40) AS q(k)");
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
		alike(s.con, host, queries[i]);
	for (size_t i = 0; i < sizeof proven / sizeof *proven; i++) {
		alike(s.con, host, proven[i]);
		expect(s.con, proven[i], "scan", NULL);
	}
	if (has_unit("compute")) {
		use(s.con, "compute");
		for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
			alike(s.con, host, queries[i]);
	}
	rayql_disconnect(host);
	close_session(&s);
}

static char *error_of(rayql_connection *con, const char *sql)
{
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	if (rayql_query(con, sql, &res, &err) == RAYQL_OK)
		free(read_rows(res, &err));
	assert_non_null(err);
	char *text = strdup(rayql_error_message(err));
	rayql_error_free(err);
	assert_non_null(text);
	return text;
}

/* A cast that fails, of a column or of a constant: DuckDB's text to the last line, which points into the statement. */
static void casts(void **state)
{
	static const char *const queries[] = {
		"SELECT sum(CAST(s AS INTEGER)) FROM c",
		"SELECT k, sum(CAST(s AS INTEGER)) FROM c GROUP BY k",
		"SELECT count(*) FROM c WHERE CAST(s AS INTEGER) > 5",
		"SELECT id FROM c WHERE s::INTEGER = 3 ORDER BY id LIMIT 3",
		"SELECT CAST(s AS INTEGER) FROM c",
		"SELECT id FROM c ORDER BY s::INTEGER, id LIMIT 3",
		"SELECT CAST(s AS INTEGER) AS x, count(*) FROM c GROUP BY x",
		"SELECT k, max(CAST(s AS DOUBLE)) FROM c WHERE id > 3 GROUP BY k",
		"SELECT k, sum(k) FROM c GROUP BY k HAVING max(s)::INTEGER > 3",
		"SELECT k, sum(CAST(id AS TINYINT)) FROM c WHERE id < 129 GROUP BY k",
		"SELECT sum(CAST(s AS INTEGER)), string_agg(s, ',') FROM c",
		"SELECT count(*) FROM c WHERE k = CAST('x' AS INTEGER)",
		"SELECT count(*) FROM c WHERE k = 'x'",
		"SELECT count(*) FROM c WHERE k IN (1, 'y'::INTEGER)",
		"SELECT CAST('x' AS INTEGER), count(*) FROM c",
		"SELECT sum(k + CAST('x' AS INTEGER)) FROM c",
		"SELECT k, sum(id) FROM c GROUP BY k, CAST('x' AS DATE)"};
	static const char *const ways[] = {"SET rayql_auto_columns = on", "CREATE INDEX cc ON c USING columns (*)",
	                                   "CREATE MATERIALIZED VIEW cm AS SELECT k, s, sum(k), count(*) FROM c GROUP BY k, s"};
	(void)state;
	for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
		struct session s = open_session(NULL, NULL);
		rayql_connection *host = NULL;
		rayql_error *err = NULL;
		assert_int_equal(rayql_connect(s.db, &host, &err), RAYQL_OK);
		run(host, "SET rayql_enable_scan = off; SET rayql_enable_cube = off; SET threads = 1");
		run(s.con, "SET rayql_force = on");
		run(s.con, "CREATE TABLE c AS SELECT i::INTEGER AS id, (i % 10)::INTEGER AS k, CASE WHEN i = 500 THEN 'bad' ELSE "
		           "(i % 100)::VARCHAR END AS s FROM range(30000) AS q(i)");
		run(s.con, ways[w]);
		for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
			char *want = error_of(host, queries[i]);
			assert_non_null(strstr(want, "Conversion Error: "));
			for (int again = 0; again < 2; again++) {
				char *have = error_of(s.con, queries[i]);
				assert_string_equal(have, want);
				free(have);
			}
			free(want);
		}
		/* Its conditions and columns were a structure's to compute. */
		expect(s.con, "SELECT count(*), sum(k) FROM c WHERE k = 3", w == 2 ? "cube" : "scan", "3000|9000\n");
		rayql_disconnect(host);
		close_session(&s);
	}
}

/* What cannot fail, and what has been proven not to, is still computed for the wanted rows alone, by a scan. */
static void scans(void **state)
{
	static const char *const queries[] = {
		"SELECT a + 1, id FROM e ORDER BY a, id LIMIT 300",
		"SELECT upper(s), id || ' of ' || s FROM e ORDER BY a, id LIMIT 300",
		"SELECT TRY_CAST(s AS INTEGER), id FROM e ORDER BY a, id LIMIT 300",
		"SELECT b + 1, id FROM e WHERE b < 1000 ORDER BY a, id LIMIT 30", "SELECT b + 1, id FROM e LIMIT 30"};
	struct session s = open_session(NULL, NULL);
	(void)state;
	run(s.con, "SET rayql_force = on");
	make_bad(s.con);
	for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
		expect(s.con, queries[i], "scan", NULL);
	char *text = rows_of(s.con, "EXPLAIN SELECT s::INTEGER, id FROM e ORDER BY a, id LIMIT 300", NULL);
	assert_null(strstr(text, "ordered by")); /* all rows, if any, are DuckDB's to order and to convert */
	free(text);
	close_session(&s);
}

/* A row's error is no statement's until DuckDB says so; a transaction goes on when it does not. */
static void transactions(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	run(s.con, "SET rayql_force = on");
	make_bad(s.con);
	run(s.con, "BEGIN");
	/* Late materialisation: DuckDB adds for three rows only. */
	expect(s.con, "SELECT b + 1 FROM e ORDER BY id LIMIT 3", "host", "1\n2\n3\n");
	expect(s.con, "SELECT a FROM e WHERE id = 7", NULL, "433\n");
	fails(s.con, "SELECT b + 1 FROM e WHERE id > 149990", RAYQL_ERROR_HOST, "Overflow in addition of INT64");
	run(s.con, "ROLLBACK");
	expect(s.con, "SELECT a FROM e WHERE id = 7", "scan", "433\n");
	close_session(&s);
}

/* Nobody may be asked: an error of the same class, and the reason. */
static void host_off(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	run(s.con, "SET rayql_force = on; SET rayql_fallback = 'off'");
	make_bad(s.con);
	for (int again = 0; again < 2; again++)
		fails(s.con, "SELECT b + 1 FROM e ORDER BY id LIMIT 3", RAYQL_ERROR_HOST,
		      "Out of Range Error: Overflow in addition of INT64");
	fails(s.con, "SELECT b + 1 FROM e ORDER BY id LIMIT 3", RAYQL_ERROR_HOST, "DuckDB was not asked");
	expect(s.con, "SELECT b + 1 FROM e WHERE id < 10 ORDER BY id LIMIT 2", "scan", "1\n2\n");
	close_session(&s);
}

static void on_device(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_connection *host = NULL;
	rayql_error *err = NULL;
	(void)state;
	if (!has_unit("compute")) {
		close_session(&s);
		skip();
	}
	assert_int_equal(rayql_connect(s.db, &host, &err), RAYQL_OK);
	run(host, "SET rayql_enable_scan = off");
	use(s.con, "compute");
	make_bad(s.con);
	alike(s.con, host, "SELECT b + 1, id FROM e WHERE a < 900 ORDER BY a, id LIMIT 300");
	alike(s.con, host, "SELECT b + 1, id FROM e WHERE a < 900 ORDER BY id LIMIT 3");
	alike(s.con, host, "SELECT b + 1, id FROM e WHERE a < 900 AND id <> 150000 ORDER BY a, id LIMIT 300");
	alike(s.con, host, "SELECT b + 1, id FROM e WHERE a < 900 OFFSET 250000");
	alike(s.con, host, "SELECT sum(b * 2) FROM e");
	rayql_disconnect(host);
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outputs),      cmocka_unit_test(conditions_fail), cmocka_unit_test(scans),
		cmocka_unit_test(transactions), cmocka_unit_test(host_off),        cmocka_unit_test(on_device),
		cmocka_unit_test(casts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
