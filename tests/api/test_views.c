/* Materialized views: what becomes of them, and every error of theirs. */
#include "check.h"

#define STATE "SELECT name, state FROM rayql_structures() ORDER BY name"

static void create_refresh_drop(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	make_table(s.con, "t", 1000);
	run(s.con, "CREATE MATERIALIZED VIEW V WITH (rollup = off) AS SELECT g, a, sum(v) AS total FROM t GROUP BY g, a");
	expect(s.con, "SELECT name, kind, state, rows, cells, rolled_up, tables, options, schema FROM rayql_structures()",
	       NULL, "V|cube|ready|1000|1000|false|t|rollup = off, refresh = manual|main\n");
	expect(s.con, "SELECT definition FROM rayql_structures()", NULL,
	       "CREATE MATERIALIZED VIEW \"V\" WITH (rollup = off, refresh = manual) AS SELECT g, a, sum(v) AS total FROM "
	       "t GROUP BY g, "
	       "a;\n");
	expect(s.con, "SELECT total FROM v WHERE g = 'g0' AND a = 0", NULL, "14210\n");
	expect(s.con, "SELECT sum(v) FROM t", "cube", "499500\n");
	run(s.con, "INSERT INTO t VALUES (0, 'g0', 1)");
	expect(s.con, STATE, NULL, "V|stale\n");
	expect(s.con, "SELECT sum(v) FROM t", "host", "499501\n");
	expect(s.con, "SELECT reason FROM rayql_structures()", NULL,
	       "the table t has changed since it was built; REFRESH MATERIALIZED VIEW rebuilds it\n");
	expect(s.con, "refresh materialized view main.v", "rayql", "");
	expect(s.con, STATE, NULL, "V|ready\n");
	expect(s.con, "SELECT sum(v) FROM t", "cube", "499501\n");
	run(s.con, "CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT a, count(*) FROM t GROUP BY a");
	expect(s.con, "SELECT sum(v) FROM t", "host", "499501\n");
	expect(s.con, "SELECT count(*) FROM t", "cube", "1001\n");
	run(s.con, "CREATE MATERIALIZED VIEW IF NOT EXISTS v AS SELECT g, count(*) FROM t GROUP BY g");
	expect(s.con, "SELECT count(*) FROM t WHERE g = 'g0'", "host", "201\n");
	run(s.con, "DROP MATERIALIZED VIEW v");
	expect(s.con, STATE, NULL, "");
	expect(s.con, "SELECT count(*) FROM rayql.structures", NULL, "0\n");
	fails(s.con, "SELECT * FROM v", RAYQL_ERROR_HOST, "Table with name v does not exist");
	run(s.con, "DROP MATERIALIZED VIEW IF EXISTS v");
	close_session(&s);
}

static void refresh_auto(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	make_table(s.con, "t", 1000);
	run(s.con, "CREATE MATERIALIZED VIEW v WITH (refresh = auto) AS SELECT g, sum(v) FROM t GROUP BY g");
	for (int i = 1; i <= 3; i++) {
		char want[32];
		run(s.con, "INSERT INTO t VALUES (0, 'g0', 1)");
		expect(s.con, STATE, NULL, "v|stale\n");
		snprintf(want, sizeof want, "%d\n", 499500 + i);
		expect(s.con, "SELECT sum(v) FROM t", "cube", want);
		expect(s.con, STATE, NULL, "v|ready\n");
	}
	/* EXPLAIN alone builds nothing. */
	run(s.con, "INSERT INTO t VALUES (0, 'g0', 1)");
	run(s.con, "EXPLAIN SELECT sum(v) FROM t");
	expect(s.con, STATE, NULL, "v|stale\n");
	/* Nor does a query inside a transaction. */
	run(s.con, "BEGIN");
	expect(s.con, "SELECT sum(v) FROM t", "host", "499504\n");
	run(s.con, "COMMIT");
	expect(s.con, "SELECT sum(v) FROM t", "cube", "499504\n");
	close_session(&s);
}

static void errors(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	make_table(s.con, "t", 100);
	run(s.con, "CREATE VIEW plain AS SELECT 1 AS one");
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT g, sum(v) FROM t GROUP BY g");
#define CREATE(with, query) "CREATE MATERIALIZED VIEW x " with " AS " query
#define GOOD "SELECT g, sum(v) FROM t GROUP BY g"
	fails(s.con, "CREATE MATERIALIZED VIEW v AS " GOOD, RAYQL_ERROR_HOST, "View with name \"v\" already exists!");
	fails(s.con, "CREATE MATERIALIZED VIEW t AS " GOOD, RAYQL_ERROR_HOST, "Table with name \"t\" already exists!");
	fails(s.con, "CREATE OR REPLACE MATERIALIZED VIEW t AS " GOOD, RAYQL_ERROR_HOST,
	      host_is_2() ? "Existing object \"t\" is of type Table" : "Existing object t is of type Table");
	fails(s.con, CREATE("WITH (colour = red)", GOOD), RAYQL_ERROR_STATEMENT,
	      "has no option \"colour\"; its options are rollup");
	fails(s.con, CREATE("WITH (colour = red)", GOOD), RAYQL_ERROR_STATEMENT,
	      "\nLINE 1: CREATE MATERIALIZED VIEW x WITH (colour");
	fails(s.con, CREATE("WITH (rollup = maybe)", GOOD), RAYQL_ERROR_STATEMENT,
	      "cannot be 'maybe'; it is auto, on or off");
	fails(s.con, CREATE("WITH (refresh = daily)", GOOD), RAYQL_ERROR_STATEMENT, "it is auto or manual");
	fails(s.con, CREATE("WITH (unit = raster)", GOOD), RAYQL_ERROR_STATEMENT, "on the unit raster");
	fails(s.con, CREATE("WITH (unit = abacus)", GOOD), RAYQL_ERROR_STATEMENT, "cannot be 'abacus'");
	fails(s.con, CREATE("WITH (order = (g, nosuch))", GOOD), RAYQL_ERROR_STATEMENT, "its dimensions are g");
	fails(s.con, CREATE("", "SELECT nosuch, sum(v) FROM t GROUP BY 1"), RAYQL_ERROR_HOST, "\"nosuch\" not found");
	fails(s.con, CREATE("", "SELECT g FROM t"), RAYQL_ERROR_STATEMENT, "does not aggregate");
	fails(s.con, CREATE("", "SELECT g, median(v) FROM t GROUP BY g"), RAYQL_ERROR_STATEMENT, "median");
	fails(s.con, CREATE("", "SELECT g, sum(v) FROM nosuch GROUP BY g"), RAYQL_ERROR_HOST,
	      "Table with name nosuch does not exist");
	fails(s.con, CREATE("", "SELECT g, sum(v) FROM t GROUP BY g LIMIT 3"), RAYQL_ERROR_STATEMENT, "LIMIT");
	fails(s.con, CREATE("", "SELEC g"), RAYQL_ERROR_HOST, "syntax error");
	fails(s.con, "CREATE MATERIALIZED VIEW x WITH (rollup = on AS " GOOD, RAYQL_ERROR_STATEMENT,
	      "syntax error at or near");
	fails(s.con, "CREATE MATERIALIZED VIEW rayql.x AS " GOOD, RAYQL_ERROR_STATEMENT, "RayQL's own");
	fails(s.con, "CREATE MATERIALIZED VIEW nosuch.x AS " GOOD, RAYQL_ERROR_HOST, "nosuch");
	fails(s.con, "CREATE MATERIALIZED VIEW other.main.x AS " GOOD, RAYQL_ERROR_STATEMENT,
	      "live in the database that was opened");
	fails(s.con, CREATE("", "SELECT name, count(*) FROM rayql.structures GROUP BY name"), RAYQL_ERROR_STATEMENT,
	      "RayQL's own table");
	run(s.con, "CREATE TEMP TABLE tmp AS SELECT 1 AS q");
	fails(s.con, CREATE("", "SELECT q, count(*) FROM tmp GROUP BY q"), RAYQL_ERROR_STATEMENT,
	      "temporary table \"tmp\"");
	run(s.con, "ATTACH ':memory:' AS att; CREATE TABLE att.u AS SELECT 1 AS q");
	fails(s.con, CREATE("", "SELECT q, count(*) FROM att.u GROUP BY q"), RAYQL_ERROR_STATEMENT,
	      "can only read tables of the database");
	fails(s.con, "REFRESH MATERIALIZED VIEW nosuch", RAYQL_ERROR_STATEMENT,
	      "Materialized View with name nosuch does not exist!");
	fails(s.con, "REFRESH MATERIALIZED VIEW plain", RAYQL_ERROR_STATEMENT, "Existing object plain is of type View");
	fails(s.con, "DROP MATERIALIZED VIEW nosuch", RAYQL_ERROR_STATEMENT,
	      "Materialized View with name nosuch does not exist!");
	fails(s.con, "DROP MATERIALIZED VIEW IF EXISTS t", RAYQL_ERROR_STATEMENT,
	      "Existing object t is of type Table, trying to drop");
	fails(s.con, "CREATE INDEX i ON t USING cgrx (*)", RAYQL_ERROR_STATEMENT, "an index that is cgrx names its key columns");
	run(s.con, "CREATE INDEX i ON t (a)");
	run(s.con, "DROP INDEX i");
	/* Nothing of all this left a trace. */
	expect(s.con, STATE, NULL, "v|ready\n");
	expect(s.con, "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1", NULL, "plain\nv\n");
	expect(s.con, "SELECT name FROM rayql.structures", NULL, "v\n");
	/* DuckDB's plans as JSON do not follow this setting: what RayQL cannot read it neither builds nor answers. */
	run(s.con, "CREATE MATERIALIZED VIEW va AS SELECT a, count(*) FROM t GROUP BY a");
	expect(s.con, "SELECT count(*) FROM t WHERE a / 2 = 1", "cube", "14\n");
	run(s.con, "SET integer_division = true");
	fails(s.con, CREATE("", "SELECT a / 2 AS h, count(*) FROM t GROUP BY h"), RAYQL_ERROR_STATEMENT,
	      "integer_division");
	expect(s.con, "SELECT count(*) FROM t WHERE a / 2 = 1", "host", "28\n");
	run(s.con, "RESET integer_division");
	expect(s.con, "SELECT count(*) FROM t WHERE a / 2 = 1", "cube", "14\n");
	close_session(&s);
}

static void plain_sql_around_views(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	make_table(s.con, "t", 1000);
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT g, sum(v) FROM t GROUP BY g");
	run(s.con, "CREATE MATERIALIZED VIEW w AS SELECT a, sum(v) FROM t GROUP BY a");
	/* What changes no table leaves them fresh. */
	run(s.con,
	    "CREATE TABLE u AS SELECT * FROM t; CREATE VIEW p AS SELECT 1; CREATE SCHEMA s; INSERT INTO u SELECT * FROM u; "
	    "CREATE INDEX i ON u (a); DROP VIEW p; CHECKPOINT; COMMENT ON TABLE t IS 'x'; COPY t TO '/dev/null' (FORMAT "
	    "csv)");
	expect(s.con, STATE, NULL, "v|ready\nw|ready\n");
	run(s.con, "DROP VIEW v");
	expect(s.con, STATE, NULL, "w|ready\n");
	expect(s.con, "SELECT name FROM rayql.structures", NULL, "w\n");
	run(s.con, "CREATE OR REPLACE VIEW w AS SELECT 1 AS one");
	expect(s.con, STATE, NULL, "");
	expect(s.con, "FROM w", NULL, "1\n");
	run(s.con, "DROP VIEW w; CREATE MATERIALIZED VIEW w AS SELECT a, sum(v) FROM t GROUP BY a");
	run(s.con, "ALTER TABLE t RENAME COLUMN a TO b");
	expect(s.con, STATE, NULL, "w|invalid\n");
	expect(s.con, "SELECT reason LIKE '%Referenced column \"a\" not found%' FROM rayql_structures()", NULL, "true\n");
	expect(s.con, "SELECT b, sum(v) FROM t GROUP BY b ORDER BY b LIMIT 1", "host", "0|71071\n");
	fails(s.con, "REFRESH MATERIALIZED VIEW w", RAYQL_ERROR_HOST, "Referenced column \"a\" not found");
	run(s.con, "ALTER TABLE t RENAME COLUMN b TO a");
	expect(s.con, "SELECT a, sum(v) FROM t GROUP BY a ORDER BY a LIMIT 1", "cube", "0|71071\n");
	run(s.con, "DROP TABLE t");
	expect(s.con, STATE, NULL, "w|invalid\n");
	run(s.con, "CREATE TABLE t AS SELECT 1::INTEGER AS a, 2::INTEGER AS v");
	expect(s.con, "SELECT a, sum(v) FROM t GROUP BY a", "cube", "1|2\n");
	/* The same in a transaction: at its end, and not at all when it is rolled back. */
	run(s.con, "BEGIN; DROP VIEW w; ROLLBACK");
	expect(s.con, STATE, NULL, "w|ready\n");
	run(s.con, "BEGIN; DROP VIEW w");
	expect(s.con, STATE, NULL, "w|ready\n");
	run(s.con, "COMMIT");
	expect(s.con, STATE, NULL, "");
	close_session(&s);
}

/* Every way of writing moves the table's version. */
static void every_write_is_noticed(void **state)
{
	static const char *const writes[] = {
		"INSERT INTO t VALUES (1, 'g1', 7)",
		"insert into main.t BY NAME SELECT 1 AS a",
		"UPDATE memory.main.\"t\" SET v = v + 1 WHERE a = 1",
		"DELETE FROM t WHERE v = 3",
		"WITH x AS (SELECT 9 AS q) INSERT INTO t SELECT q, 'g9', q FROM x",
		"MERGE INTO t USING (SELECT 2 AS a) s ON t.a = s.a WHEN MATCHED THEN UPDATE SET v = 0",
		"COPY t FROM '%s/one.csv' (HEADER false)",
		"PREPARE p AS INSERT INTO t VALUES (4, 'g4', 4); EXECUTE p",
		"PREPARE p2 AS WITH x AS (SELECT 9 AS q) INSERT INTO t SELECT q, 'g9', q FROM x; EXECUTE p2",
		"PREPARE p3 AS WITH x AS (SELECT 9 AS q) DELETE FROM t WHERE a IN (SELECT q FROM x); EXECUTE p3",
		"BEGIN; INSERT INTO t VALUES (1, 'g1', 7); COMMIT",
		"EXPLAIN ANALYZE INSERT INTO t VALUES (1, 'g1', 7)",
		"INSERT INTO t VALUES (1, 'g1', 7) RETURNING v",
		"/* c */ INSERT /* d */ INTO -- e\n t VALUES (1, 'g1', 7)",
		"TRUNCATE t",
		"CREATE OR REPLACE TABLE t AS SELECT 1::INTEGER a, 'g1' g, 5::INTEGER v",
		"ALTER TABLE t ADD COLUMN extra INTEGER DEFAULT 3",
	};
	struct session s = open_session(NULL, NULL);
	char sql[512], path[256];
	(void)state;
	FILE *f = fopen(scratch_path(path, "one.csv"), "w");
	fputs("3,g3,3\n", f);
	fclose(f);
	make_table(s.con, "t", 1000);
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT g, sum(v), count(*), count(a) FROM t GROUP BY g");
	run(s.con, "CREATE TABLE other(i INTEGER); PREPARE \"sel ect\" AS SELECT sum(v) FROM t WHERE a < $1; "
	           "PREPARE ins AS INSERT INTO other VALUES (?)");
	for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
		run(s.con, "EXECUTE \"SEL ect\"(7); EXECUTE ins(3)"); /* of no row of t */
		/* volatile: a cached plan must notice, too */
		expect(s.con, "SELECT sum(v), count(*) FROM t", "cube", NULL);
		snprintf(sql, sizeof sql, writes[i], scratch());
		run(s.con, sql);
		char *host = rows_of(s.con, "SELECT sum(v), count(*) FROM (SELECT v FROM t LIMIT 1000000)", NULL);
		expect(s.con, "SELECT sum(v), count(*) FROM t", "host", host);
		run(s.con, "REFRESH MATERIALIZED VIEW v");
		expect(s.con, "SELECT sum(v), count(*) FROM t", "cube", host);
		free(host);
	}
	/* A write that fails still counts: nobody knows how far it came. */
	fails(s.con, "INSERT INTO t SELECT 1, 'x', error('no'), 1", RAYQL_ERROR_HOST, "no");
	expect(s.con, "SELECT count(*) FROM t", NULL, "1\n");
	close_session(&s);
}

static void views_in_schemas(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	run(s.con, "CREATE SCHEMA a; CREATE SCHEMA \"B c\"; CREATE TABLE a.t AS SELECT 1 AS k, 2 AS v; "
	           "CREATE TABLE \"B c\".t AS SELECT 1 AS k, 30 AS v");
	run(s.con, "USE a; CREATE MATERIALIZED VIEW m AS SELECT k, sum(v) AS s FROM t GROUP BY k; USE main");
	run(s.con, "CREATE MATERIALIZED VIEW \"B c\".\"m\"\"q\" AS SELECT k, sum(v) AS s FROM \"B c\".t GROUP BY k");
	expect(s.con, "SELECT schema, name, tables FROM rayql_structures() ORDER BY 1", NULL,
	       "B c|m\"q|\"B c\".t\na|m|a.t\n");
	expect(s.con, "SELECT s FROM a.m", "cube", "2\n");
	expect(s.con, "SELECT sum(v) FROM \"B c\".t", "cube", "30\n");
	fails(s.con, "REFRESH MATERIALIZED VIEW m", RAYQL_ERROR_STATEMENT, "does not exist");
	run(s.con, "REFRESH MATERIALIZED VIEW a.m; REFRESH MATERIALIZED VIEW memory.a.m; REFRESH MATERIALIZED VIEW \"b "
	           "c\".\"M\"\"Q\"");
	run(s.con, "DROP MATERIALIZED VIEW \"B c\".\"m\"\"q\"; DROP SCHEMA a CASCADE");
	expect(s.con, STATE, NULL, "");
	close_session(&s);
}

/* EXECUTE writes what the name means when it runs, also where it was prepared before. */
static void a_name_is_prepared_anew(void **state)
{
	(void)state;
	struct session s = open_session(NULL, NULL);
	rayql_statement *execute = NULL;
	make_table(s.con, "t", 1000);
	run(s.con, "CREATE TABLE other(a INTEGER, g VARCHAR, v INTEGER)");
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT g, sum(v), count(*) FROM t GROUP BY g");
	run(s.con, "PREPARE \"my stmt\" AS INSERT INTO t VALUES (1, 'g1', 7)");
	assert_int_equal(rayql_prepare(s.con, "EXECUTE \"my stmt\"", &execute, NULL), RAYQL_OK);
	run(s.con, "DEALLOCATE \"my stmt\"; PREPARE \"my stmt\" AS INSERT INTO other VALUES (1, 'g1', 7)");
	expect(s.con, "SELECT sum(v), count(*) FROM t", "cube", NULL);
	char *before = rows_of(s.con, "SELECT count(*) FROM (SELECT v FROM t LIMIT 1000000)", NULL);
	assert_int_equal(rayql_execute(execute, NULL, NULL), RAYQL_OK);
	expect(s.con, "SELECT count(*) FROM other", NULL, "1\n");
	expect(s.con, "SELECT count(*) FROM t", NULL, before);
	free(before);
	rayql_statement_free(execute);
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create_refresh_drop),
		cmocka_unit_test(refresh_auto),
		cmocka_unit_test(errors),
		cmocka_unit_test(plain_sql_around_views),
		cmocka_unit_test(every_write_is_noticed),
		cmocka_unit_test(a_name_is_prepared_anew),
		cmocka_unit_test(views_in_schemas),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
