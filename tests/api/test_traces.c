/* RayQL leaves no traces: a query log holds the user's statements, all of them and no other ones; a locked
 * configuration, a detached database or a small memory limit take nothing but what they say. */
#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const statements[] = {
	"SELECT a, sum(v) FROM t GROUP BY a ORDER BY a LIMIT 1", "SELECT count(*) FROM t WHERE v < 70",
	"INSERT INTO t VALUES (1, 'g1', 1)", "SELECT g, max(v) FROM t JOIN d ON k = a WHERE n = 'two' GROUP BY g",
	"EXPLAIN SELECT count(*) FROM t", "BEGIN", "SELECT sum(v) FROM t", "COMMIT"};

/* RayQL's own; none of DuckDB's business. */
static const char *const own[] = {
	"CREATE MATERIALIZED VIEW v AS SELECT a, sum(v), count(*) FROM t GROUP BY a", "REFRESH MATERIALIZED VIEW v",
	"CREATE INDEX c ON t USING columns (*)", "REFRESH INDEX c", "DROP INDEX c", "DROP MATERIALIZED VIEW v",
	"CREATE MATERIALIZED VIEW IF NOT EXISTS main.v AS SELECT a, sum(v), count(*) FROM t GROUP BY a",
	"SET rayql_auto_columns = on"};

static void make_tables(rayql_connection *con)
{
	make_table(con, "t", 1000);
	run(con, "CREATE TABLE d AS SELECT i::INTEGER AS k, CASE WHEN i = 2 THEN 'two' ELSE 'more' END AS n "
	         "FROM range(7) r(i)");
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	char *text = calloc(1, 1 << 16);
	assert_non_null(text);
	size_t n = fread(text, 1, (1 << 16) - 1, f);
	text[n] = 0;
	fclose(f);
	return text;
}

static void the_query_log_is_the_users(void **state)
{
	char path[256], sql[320], want[4096] = "";
	(void)state;
	struct session s = open_session(NULL, NULL);
	make_tables(s.con);
	run(s.con, "SET rayql_force = on");
	snprintf(sql, sizeof sql, "SET log_query_path = '%s'", scratch_path(path, "query.log"));
	run(s.con, sql);
	for (int twice = 0; twice < 2; twice++) {
		for (size_t i = 0; i < COUNT(own); i++)
			run(s.con, own[i]);
		for (size_t i = 0; i < COUNT(statements); i++) {
			run(s.con, statements[i]);
			strcat(strcat(want, statements[i]), "\n");
		}
		run(s.con, "DROP MATERIALIZED VIEW v");
	}
	char *have = read_file(path);
	assert_string_equal(have, want);
	free(have);
	/* Somebody else's log is nothing to another connection. */
	rayql_connection *other = NULL;
	assert_int_equal(rayql_connect(s.db, &other, NULL), RAYQL_OK);
	run(s.con, own[0]);
	run(other, "SET rayql_force = on");
	expect(s.con, "SELECT sum(v) FROM t", "host", NULL);
	expect(other, "SELECT sum(v) FROM t", "cube", NULL);
	run(s.con, "SET log_query_path = ''");
	expect(s.con, "SELECT sum(v) FROM t", "cube", NULL);
	rayql_disconnect(other);
	close_session(&s);
}

/* duckdb_logs is of the whole instance: what is not the user's connection's is of RayQL's own. */
static void the_log_has_the_users_statements(void **state)
{
	(void)state;
	struct session s = open_session(NULL, NULL);
	make_tables(s.con);
	run(s.con, "SET rayql_force = on");
	run(s.con, own[0]);
	expect(s.con, "SELECT sum(v) FROM t", "cube", "499500\n");
	run(s.con, "CALL enable_logging('QueryLog')");
	expect(s.con, "SELECT sum(v) FROM t", "host", "499500\n");
	for (size_t i = 0; i < COUNT(statements); i++)
		run(s.con, statements[i]);
	run(s.con, own[1]);
	run(s.con, "CALL disable_logging()");
	run(s.con, own[1]); /* a CALL may have written to any table */
	expect(s.con, "SELECT sum(v) FROM t", "cube", NULL);
	char *rows = rows_of(s.con,
	                     "SELECT message FROM duckdb_logs WHERE type = 'QueryLog' AND connection_id = (SELECT "
	                     "connection_id FROM duckdb_logs WHERE message = 'COMMIT' LIMIT 1) ORDER BY timestamp",
	                     NULL);
	char want[4096] = "SELECT sum(v) FROM t\n";
	for (size_t i = 0; i < COUNT(statements); i++)
		strcat(strcat(want, statements[i]), "\n");
	strcat(want, "CALL disable_logging()\n");
	assert_string_equal(rows, want);
	free(rows);
	close_session(&s);
}

/* ---- what may not be changed ---- */

/* A view and columns, built, used and dropped. RayQL's own settings are locked, too: prices decide, so a large table. */
static void use_everything(rayql_connection *con)
{
	run(con, "CREATE OR REPLACE TABLE big AS SELECT i % 7 AS a, i AS v FROM range(2000000) r(i)");
	run(con, "CREATE MATERIALIZED VIEW w AS SELECT a, sum(v), count(*) FROM big GROUP BY a");
	expect(con, "SELECT a, count(*) FROM big GROUP BY a ORDER BY a LIMIT 1", "cube", "0|285715\n");
	run(con, "CREATE INDEX c ON big USING columns (*)");
	expect(con, "SELECT sum(v) FROM big WHERE v % 3 = 0 AND v < 70", "scan", "828\n");
	run(con, "DROP INDEX c");
	run(con, "DROP MATERIALIZED VIEW w");
}

static void a_locked_configuration(void **state)
{
	static const char *const options[] = {"lock_configuration", "true", NULL};
	(void)state;
	/* While it runs; what was set before is followed by the casts to text. */
	struct session s = open_session(NULL, NULL);
	make_tables(s.con);
	run(s.con, "SET TimeZone = 'Asia/Tokyo'; SET lock_configuration = true");
	expect(s.con, "SELECT TIMESTAMPTZ '2020-01-01 00:00:00+00'", NULL, "2020-01-01 09:00:00+09\n");
	expect(s.con, "SELECT sum(v) FROM t", NULL, "499500\n");
	use_everything(s.con);
	rayql_connection *other = NULL;
	assert_int_equal(rayql_connect(s.db, &other, NULL), RAYQL_OK);
	expect(other, "SELECT sum(v) FROM t", NULL, "499500\n");
	use_everything(other);
	rayql_disconnect(other);
	close_session(&s);
	/* From the beginning. */
	rayql_config config = {.size = sizeof config, .host_options = options};
	char path[256];
	scratch_path(path, "locked.db");
	for (int twice = 0; twice < 2; twice++) {
		s = open_session(path, &config);
		if (!twice)
			make_tables(s.con);
		fails(s.con, "SET threads = 1", RAYQL_ERROR_HOST, "locked");
		expect(s.con, "SELECT sum(v) FROM t", NULL, "499500\n");
		use_everything(s.con);
		close_session(&s);
	}
}

/* Neither results nor questions of RayQL's need the database that was opened. */
static void without_the_opened_database(void **state)
{
	(void)state;
	struct session s = open_session(NULL, NULL);
	run(s.con, "ATTACH ':memory:' AS n; USE n; DETACH memory");
	expect(s.con, "SELECT 42, 1.5, 'x', [1, 2], 1 + 1", NULL, "42|1.5|x|[1, 2]|2\n");
	make_tables(s.con);
	run(s.con, "SET rayql_auto_columns = on; SET rayql_force = on");
	expect(s.con, "SELECT sum(v) FROM t", "host", "499500\n");
	run(s.con, "EXPLAIN SELECT sum(v) FROM t");
	fails(s.con, own[0], RAYQL_ERROR_STATEMENT, "live in the database that was opened");
	expect(s.con, "SELECT name FROM rayql_structures()", NULL, "");
	close_session(&s);
}

/* What is too little for RayQL's own queries is the host's to answer, not the user's error. */
static void little_memory(void **state)
{
	static const char *const limits[] = {"3MB", "2MB", "1MB"};
	(void)state;
	for (size_t i = 0; i < COUNT(limits); i++) {
		char sql[64];
		struct session s = open_session(NULL, NULL);
		make_tables(s.con);
		run(s.con, "CREATE INDEX c ON t USING columns (*); SET rayql_force = on");
		snprintf(sql, sizeof sql, "SET memory_limit = '%s'", limits[i]);
		run(s.con, sql);
		expect(s.con, "SELECT 42", NULL, "42\n");
		expect(s.con, "SELECT count(*) FROM t WHERE v < 70", NULL, "70\n");
		expect(s.con, "SELECT v FROM t WHERE v < 2", NULL, "0\n1\n");
		close_session(&s);
	}
}

/* DuckDB lists functions and tables of all databases or of none. One that is out of order touches neither queries of the
 * others nor transactions. */
static void an_invalidated_database(void **state)
{
	char path[256], sql[320];
	(void)state;
	struct session s = open_session(NULL, NULL);
	make_tables(s.con);
	run(s.con, "CREATE INDEX c ON t USING columns (*); SET rayql_force = on");
	snprintf(sql, sizeof sql, "ATTACH '%s' AS y; CREATE TABLE y.u AS FROM t", scratch_path(path, "y.db"));
	run(s.con, sql);
	run(s.con, "SET debug_checkpoint_abort = 'before_header'");
	fails(s.con, "CHECKPOINT y", RAYQL_ERROR_HOST, "invalidated");
	run(s.con, "SET debug_checkpoint_abort = 'none'");
	for (int twice = 0; twice < 2; twice++) {
		expect(s.con, "SELECT count(*) FROM t WHERE v < 70", NULL, "70\n");
		run(s.con, "BEGIN");
		expect(s.con, "SELECT count(*) FROM t WHERE v < 70", NULL, "70\n");
		expect(s.con, "SELECT count(*) FROM t WHERE v < 71", NULL, "71\n");
		run(s.con, "COMMIT");
	}
	fails(s.con, "SELECT count(*) FROM y.u", RAYQL_ERROR_HOST, "invalidated");
	run(s.con, "DETACH y; REFRESH INDEX c");
	expect(s.con, "SELECT count(*) FROM t WHERE v < 70", "scan", "70\n");
	run(s.con, own[0]);
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_query_log_is_the_users),  cmocka_unit_test(the_log_has_the_users_statements),
		cmocka_unit_test(a_locked_configuration),      cmocka_unit_test(without_the_opened_database),
		cmocka_unit_test(little_memory),               cmocka_unit_test(an_invalidated_database),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
