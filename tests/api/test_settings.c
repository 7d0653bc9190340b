/* DuckDB's settings and RayQL's answers: under each setting that changes what a statement means, RayQL's answer is the
 * host's, and a setting that RayQL does not know keeps it from answering. */
#include "check.h"

static void make_world(rayql_connection *con)
{
	run(con, "CREATE TABLE t AS SELECT i AS id, ['Ab1', 'ab1', 'äb1', 'AB1', 'b', NULL][1 + i % 6] AS s, "
	         "CASE WHEN i % 7 <> 0 THEN i % 5 END AS n, (i % 3)::DOUBLE AS r, (i % 11)::INTEGER AS a, "
	         "TIMESTAMPTZ '2024-03-10 00:30:00+00' + INTERVAL (i) HOUR AS ts, (i % 20)::INTEGER AS k "
	         "FROM range(6000) q(i)");
	run(con, "CREATE TABLE d AS SELECT k::INTEGER AS k, ['North', 'north', 'Süd', 'Sud'][1 + k % 4] AS name "
	         "FROM range(20) q(k)");
	run(con, "CREATE INDEX tc ON t USING columns (*)");
	run(con, "CREATE MATERIALIZED VIEW v AS SELECT s, n, a, k, count(*) AS c, sum(r) AS r, min(s) AS least "
	         "FROM t GROUP BY s, n, a, k");
	run(con, "SET rayql_force = on");
}

static const char *const queries[] = {
	"SELECT count(*), min(id), max(id) FROM t WHERE s = 'AB1' COLLATE NOACCENT",
	"SELECT count(*), min(id) FROM t WHERE s = 'ab1'",
	"SELECT count(*), min(id) FROM t WHERE s IN ('ab1', 'B')",
	"SELECT count(*), min(id) FROM t WHERE s BETWEEN 'AB1' AND 'b'",
	"SELECT count(*) FROM t WHERE upper(s) = 'Ab1' OR s < 'B'",
	"SELECT count(*) FROM t WHERE s COLLATE NOCASE = 'AB1' AND s || 'x' <> 'B'",
	"SELECT count(*) FROM t WHERE s LIKE 'A%'",
	"SELECT lower(s) AS l, count(*) FROM t GROUP BY l ORDER BY l NULLS LAST",
	"SELECT count(*), sum(a) FROM t GROUP BY s ORDER BY 1, 2",
	"SELECT lower(min(s)), lower(max(s)), min(lower(s)) FROM t",
	"SELECT count(DISTINCT s) FROM t",
	"SELECT s FROM t WHERE id < 40 ORDER BY s, id",
	"SELECT n, id FROM t WHERE id < 60 ORDER BY n, id DESC LIMIT 9",
	"SELECT n, count(*) FROM t GROUP BY n ORDER BY n",
	"SELECT d.name, min(k) AS m, count(*) FROM t JOIN d USING (k) GROUP BY ALL ORDER BY d.name, m",
	"SELECT count(*) FROM t JOIN d USING (k) WHERE d.name = 'NORTH'",
	"SELECT count(*) FROM t JOIN d USING (k) WHERE d.name = 'SUD' COLLATE NOACCENT",
	"SELECT count(*) FROM t WHERE k IN (SELECT k FROM d WHERE name = 'NORTH')",
	"SELECT count(*) FROM t WHERE s IN (SELECT name FROM d) OR s IN (SELECT lower(name)[1:3] FROM d)",
	"SELECT a / 2 AS h, count(*) FROM t GROUP BY h ORDER BY h NULLS LAST",
	"SELECT sum(a / r), count(a / r), sum(a % r) FROM t",
	"SELECT count(*) FROM t WHERE a / 2 = 1",
	"SELECT date_trunc('day', ts) AS day, count(*) FROM t WHERE id < 200 GROUP BY day ORDER BY day",
	"SELECT year(ts) AS y, hour(ts) AS h, count(*) FROM t GROUP BY ALL ORDER BY ALL NULLS LAST",
	"SELECT count(*) FROM t WHERE ts < TIMESTAMP '2024-03-12 05:00:00'",
	"SELECT min(ts), max(ts)::VARCHAR FROM t",
	"SELECT s FROM t WHERE id < 12 EXCEPT SELECT 'AB1' ORDER BY 1 NULLS LAST",
	"SELECT count(*) FROM (SELECT lower(s) FROM t WHERE id < 600 INTERSECT SELECT s FROM t)",
	"SELECT count(*) FROM (SELECT s FROM t UNION SELECT name FROM d)",
	"SELECT count(*) FROM (SELECT DISTINCT s FROM t)",
	"SELECT array_to_string(list_sort([s, 'B', 'aa']), ',') AS l, count(*) FROM t GROUP BY l ORDER BY l NULLS LAST",
	"SELECT id, row_number() OVER (PARTITION BY s ORDER BY n, id) FROM t WHERE id < 30 ORDER BY id",
	"SELECT DISTINCT ON (s) s, id FROM t WHERE id < 40 ORDER BY s NULLS LAST, id",
	"SELECT lower(s) AS l, sum(c) AS c FROM (SELECT s, a, count(*) AS c FROM t GROUP BY s, a) WHERE c > 10 GROUP BY s "
	"HAVING s > 'AB' ORDER BY l, c",
	"SELECT count(*) FROM (SELECT s, count(*) AS c FROM t GROUP BY s) x JOIN (SELECT DISTINCT s FROM t) y ON x.s = y.s",
	"SELECT id, (SELECT max(name) FROM d WHERE d.k = t.k) FROM t WHERE id < 9 ORDER BY id",
	"SELECT * FROM v WHERE s = 'AB1' ORDER BY ALL LIMIT 5",
	"SELECT lower(s) AS l, sum(r) AS r, lower(min(least)) AS m FROM v GROUP BY s ORDER BY l NULLS LAST, r, m",
};

/* All rows, or the error, of DuckDB alone and of RayQL. */
static char *outcome(rayql_connection *con, const char *sql, char *method)
{
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	char *rows = NULL;
	method[0] = 0;
	if (rayql_query(con, sql, &res, &err) == RAYQL_OK) {
		snprintf(method, 32, "%s", rayql_result_method(res));
		rows = read_rows(res, &err);
	}
	if (!rows)
		rows = strdup(rayql_error_message(err));
	rayql_error_free(err);
	return rows;
}

/* host: a connection of the same database whose queries DuckDB answers. How many queries RayQL answers itself. */
static int compare(rayql_connection *con, rayql_connection *host, const char *setting)
{
	int own = 0;
	for (size_t q = 0; q < sizeof queries / sizeof *queries; q++) {
		char by[32];
		char *want = outcome(host, queries[q], by);
		for (int again = 0; again < 2; again++) { /* and from the plan cache */
			char *have = outcome(con, queries[q], by);
			if (strcmp(have, want) != 0)
				fail_msg("under %s, answered by %s: %s\nhave:\n%.600s\nwant:\n%.600s", setting, by, queries[q], have,
				         want);
			free(have);
		}
		own += strcmp(by, "scan") == 0 || strcmp(by, "cube") == 0;
		if (!by[0] && !*setting) /* a setting may make it an error, for both */
			fail_msg("%s: %s", queries[q], want);
		free(want);
	}
	return own;
}

static void answers_are_the_hosts_under_each_setting(void **state)
{
	static const struct {
		const char *set, *reset;
		int least; /* as many of the queries RayQL answers all the same */
		bool only_1; /* DuckDB 2 has no such setting */
	} settings[] = {
		{"", "", 30, false},
		{"SET default_collation = 'NOCASE'", "RESET default_collation", 25, false},
		{"SET default_collation = 'NOCASE.NOACCENT'", "RESET default_collation", 25, false},
		{"SET default_collation = 'de'", "RESET default_collation", 9, false},
		{"SET GLOBAL default_null_order = 'nulls_first'", "RESET default_null_order", 30, false},
		{"SET default_order = 'desc'", "RESET default_order", 30, false},
		{"SET TimeZone = 'America/St_Johns'", "RESET TimeZone", 30, false},
		{"SET Calendar = 'japanese'", "RESET Calendar", 30, false},
		{"SET integer_division = true", "RESET integer_division", 0, false},
		{"SET ieee_floating_point_ops = false", "RESET ieee_floating_point_ops", 0, false},
		{"SET old_implicit_casting = true", "RESET old_implicit_casting", 30, true},
		{"SET scalar_subquery_error_on_multiple_rows = false", "RESET scalar_subquery_error_on_multiple_rows", 0, false},
		{"SET lambda_syntax = 'ENABLE_SINGLE_ARROW'; SET disable_timestamptz_casts = true; "
		 "SET order_by_non_integer_literal = true; SET preserve_identifier_case = false; "
		 "SET search_path = 'main,pg_catalog'",
		 "RESET lambda_syntax; RESET disable_timestamptz_casts; RESET order_by_non_integer_literal; "
		 "RESET preserve_identifier_case; RESET search_path",
		 30, true},
		{"SET preserve_insertion_order = false; SET enable_fsst_vectors = true; SET memory_limit = '1GB'; "
		 "SET threads = 3; "
		 "SET debug_verify_vector = 'dictionary_expression'",
		 "RESET preserve_insertion_order; RESET enable_fsst_vectors; RESET memory_limit; RESET threads; "
		 "RESET debug_verify_vector",
		 30, true},
		{"SET disable_timestamptz_casts = true; SET order_by_non_integer_literal = true; SET search_path = 'main,pg_catalog'",
		 "RESET disable_timestamptz_casts; RESET order_by_non_integer_literal; RESET search_path", 30, false},
	};
	(void)state;
	struct session s = open_session(NULL, NULL);
	rayql_connection *host = NULL;
	make_world(s.con);
	assert_int_equal(rayql_connect(s.db, &host, NULL), RAYQL_OK);
	run(host, "SET rayql_enable_scan = off; SET rayql_enable_cube = off");
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
		if (host_is_2() && settings[i].only_1)
			continue;
		run(s.con, settings[i].set);
		run(host, settings[i].set);
		int own = compare(s.con, host, settings[i].set);

		if (own < settings[i].least)
			fail_msg("under %s RayQL answers %d of %zu", settings[i].set, own, sizeof queries / sizeof *queries);
		run(s.con, settings[i].reset);
		run(host, settings[i].reset);
	}
	rayql_disconnect(host);
	close_session(&s);
}

/* What a cube holds must mean the same to every session; what RayQL cannot tell completely is said in its own words. */
static void cubes_hold_nothing_that_a_setting_changes(void **state)
{
	static const char *const refused[][2] = {
		{"SELECT array_to_string(list_sort(l), ',') AS k, count(*) FROM t GROUP BY k", "a function over a nested or rare type"},
		{"SELECT g, count(*) FROM t WHERE list_grade_up(l)[1] = 2 GROUP BY g", "a function over a nested or rare type"},
		{"SELECT z::VARCHAR AS k, count(*) FROM t GROUP BY k", "a cast from or to TIMESTAMP WITH TIME ZONE[]"},
		{"SELECT m::VARCHAR AS k, count(*) FROM t GROUP BY k", "a cast from or to STRUCT"},
		{"SELECT g, max(m::VARCHAR) FROM t GROUP BY g", "a cast from or to STRUCT"},
		{"SELECT hour(ts) AS h, count(*) FROM t GROUP BY h", "TimeZone"},
	};
	(void)state;
	struct session s = open_session(NULL, NULL);
	run(s.con, "CREATE TYPE moments AS STRUCT(moment TIMESTAMPTZ)");
	run(s.con, "CREATE TABLE t AS SELECT i % 7 AS g, ['b', 'a', NULL] AS l, "
	           "TIMESTAMPTZ '2024-03-10 00:30:00+00' AS ts, [ts] AS z, {'moment': ts}::moments AS m FROM range(500) q(i)");
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		char sql[256];
		snprintf(sql, sizeof sql, "CREATE MATERIALIZED VIEW no AS %s", refused[i][0]);
		fails(s.con, sql, RAYQL_ERROR_STATEMENT, "Binder Error: a materialized view holds SELECT dimensions");
		fails(s.con, sql, RAYQL_ERROR_STATEMENT, refused[i][1]);
	}
	close_session(&s);
}

/* A rebuild reads under the settings of the definition, whatever is set for the database by then. */
static void rebuilds_hold_the_defaults(void **state)
{
	(void)state;
	struct session s = open_session(NULL, NULL);
	run(s.con, "CREATE TABLE t AS SELECT i % 3 AS g, (i % 2)::DOUBLE AS r FROM range(600) q(i)");
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT g, count(1 / r) AS n, max(1 / r) AS most FROM t GROUP BY g");
	expect(s.con, "SELECT g, count(1 / r), max(1 / r) FROM t GROUP BY g ORDER BY g", "cube",
	       "0|200|inf\n1|200|inf\n2|200|inf\n");
	run(s.con, "SET GLOBAL ieee_floating_point_ops = false; INSERT INTO t VALUES (0, 0.5)");
	run(s.con, "REFRESH MATERIALIZED VIEW v");
	if (host_is_2())
		fails(s.con, "SELECT g, count(1 / r), max(1 / r) FROM t GROUP BY g ORDER BY g", RAYQL_ERROR_HOST,
		      "Division by zero");
	else
		expect(s.con, "SELECT g, count(1 / r), max(1 / r) FROM t GROUP BY g ORDER BY g", "host",
		       "0|101|2.0\n1|100|1.0\n2|100|1.0\n");
	run(s.con, "RESET ieee_floating_point_ops; SET GLOBAL ieee_floating_point_ops = true");
	expect(s.con, "SELECT g, count(1 / r), max(1 / r) FROM t GROUP BY g ORDER BY g", "cube",
	       "0|201|inf\n1|200|inf\n2|200|inf\n");
	close_session(&s);
}

static void expect_prepared(rayql_statement *stmt, int64_t value, const char *method, const char *rows)
{
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	if (rayql_parameter_count(stmt) && rayql_bind_int64(stmt, 1, value) != RAYQL_OK)
		fail_msg("parameter 1 was not bound");
	if (rayql_execute(stmt, &res, &err) != RAYQL_OK)
		fail_msg("%s", rayql_error_message(err));
	assert_string_equal(rayql_result_method(res), method);
	char *have = read_rows(res, &err);
	assert_string_equal(have, rows);
	free(have);
}

/* A prepared statement means what the settings of its execution make of it, whoever answers. */
static void prepared_statements_follow_settings(void **state)
{
	static const char *const texts[] = {
		"SELECT n, count(*) FROM t WHERE g < 3 AND s = 'B' GROUP BY n ORDER BY n",
		"SELECT n, count(*) FROM t WHERE g < ? AND s = 'B' GROUP BY n ORDER BY n",
	};
	static const char last[] = "0|150\n1|150\nNULL|150\n", first[] = "NULL|150\n0|150\n1|150\n";
	(void)state;
	struct session s = open_session(NULL, NULL);
	run(s.con, "SET rayql_force = on");
	run(s.con, "CREATE TABLE t AS SELECT i % 4 AS g, nullif(i // 4 % 3, 2) AS n, 'B' AS s FROM range(600) q(i)");
	run(s.con, "CREATE INDEX c ON t USING columns (*)");
	for (size_t i = 0; i < 4; i++) {
		const char *method = i < 2 ? "scan" : "host";
		rayql_statement *stmt = NULL, *variable = NULL;
		run(s.con, i < 2 ? "SET rayql_enable_scan = on" : "SET rayql_enable_scan = off");
		run(s.con, "SET VARIABLE least = 100");
		assert_int_equal(rayql_prepare(s.con, texts[i % 2], &stmt, NULL), RAYQL_OK);
		assert_int_equal(
			rayql_prepare(s.con, "SELECT count(*) FROM t WHERE g + ? > getvariable('least')", &variable, NULL), RAYQL_OK);
		expect_prepared(stmt, 3, method, last);
		expect_prepared(variable, 100, method, "450\n");
		run(s.con, "SET default_null_order = 'nulls_first'; SET VARIABLE least = 102");
		expect_prepared(stmt, 3, method, first);
		expect_prepared(variable, 100, method, "150\n");
		run(s.con, "RESET default_null_order");
		expect_prepared(stmt, 3, method, last);
		rayql_statement_free(stmt);
		rayql_statement_free(variable);
	}
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_the_hosts_under_each_setting),
		cmocka_unit_test(cubes_hold_nothing_that_a_setting_changes),
		cmocka_unit_test(rebuilds_hold_the_defaults),
		cmocka_unit_test(prepared_statements_follow_settings),
	};
	return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
