/* Databases that were made to mislead: macros, tables and schemas with the names that RayQL's own statements use. None
 * may keep a database from opening, break a build, or steer a plan. */
#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The sum is that of a scan of columns, which is planned from DuckDB's plan of the statement. */
#define PLANNED "SELECT a, sum(v) FROM t WHERE v < 70 GROUP BY a ORDER BY a"
#define ROWS "0|315\n1|325\n2|335\n3|345\n4|355\n5|365\n6|375\n"

static void plans_are_duckdbs_own(void **state)
{
	static const char *const bodies[] = {"NULL", "42", "'{}'", "'{\"error\":true,\"error_message\":\"forged\"}'",
	                                     "'{\"error\":false,\"plans\":[]}'"};
	(void)state;
	for (size_t i = 0; i < COUNT(bodies); i++) {
		char sql[256];
		struct session s = open_session(NULL, NULL);
		make_table(s.con, "t", 1000);
		snprintf(sql, sizeof sql,
		         "CREATE MACRO json_serialize_plan(x, skip_null := 0, skip_empty := 0, skip_default := 0, "
		         "optimize := 0) AS %s",
		         bodies[i]);
		run(s.con, sql);
		run(s.con, "SET rayql_force = on; CREATE INDEX c ON t USING columns (*)");
		expect(s.con, PLANNED, "scan", ROWS);
		run(s.con, "PRAGMA enable_verification");
		expect(s.con, PLANNED " LIMIT 10", "scan", ROWS);
		run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT a, sum(v) FROM t GROUP BY a; REFRESH INDEX c; DROP INDEX c");
		expect(s.con, "SELECT sum(v) FROM t", "cube", "499500\n");
		close_session(&s);
	}
}

/* Macros with the names of all functions and operators in RayQL's own statements, each wrong in its own way. */
static const char *const macros[] = {
	"count(x) AS 'none'", "count_star() AS NULL", "rayql_sink(x, a, b, c, d) AS 1",
	"rayql_batch(x) AS TABLE SELECT 1 AS c0",
	"rayql_fold(x) AS 1", "lower(x) AS 'x'", "max(x) AS 'y'", "sum(x) AS 3", "sum_no_overflow(x) AS 3", "chr(x) AS 'z'",
	"string_agg(x, y) AS 'sum'", "current_database() AS 'nowhere'", "current_schema() AS 'nowhere'",
	"current_setting(x) AS 'nowhere'", "struct_pack(a) AS 1", "struct_extract(a, b) AS 1", "concat(a, b, c) AS 'q'",
	"duckdb_views() AS TABLE SELECT 1 AS sql", "duckdb_tables() AS TABLE SELECT 1 AS estimated_size",
	"duckdb_columns() AS TABLE SELECT 1 AS column_name", "duckdb_schemas() AS TABLE SELECT 1 AS schema_name",
	"duckdb_indexes() AS TABLE SELECT 1 AS index_name", "duckdb_functions() AS TABLE SELECT 'sum' AS function_name",
	"duckdb_keywords() AS TABLE SELECT 1 AS keyword_name", "duckdb_settings() AS TABLE SELECT 1 AS name",
	"\"+\"(a, b) AS 'plus'", "\"-\"(a) AS 'minus'", "\"||\"(a, b) AS 7", "\"~~\"(a, b) AS 7"};

static void make_macros(rayql_connection *con)
{
	for (size_t i = 0; i < COUNT(macros); i++) {
		char sql[256];
		snprintf(sql, sizeof sql, "CREATE OR REPLACE MACRO %s", macros[i]);
		run(con, sql);
	}
}

/* Everything of RayQL's over tables that were there before, by statements that do not use the macros themselves. */
static void use_all(struct session *s)
{
	run(s->con, "SET rayql_force = on");
	run(s->con, "CREATE MATERIALIZED VIEW v AS SELECT a, system.main.sum(v), system.main.count(*) FROM t GROUP BY a");
	expect(s->con, "SELECT a, system.main.sum(v) FROM t GROUP BY a ORDER BY a LIMIT 2", "cube", "0|71071\n1|71214\n");
	expect(s->con, "SELECT a, system.main.count(*) FROM t GROUP BY a ORDER BY a LIMIT 2", "cube", "0|143\n1|143\n");
	run(s->con, "REFRESH MATERIALIZED VIEW v; DROP MATERIALIZED VIEW v");
	run(s->con, "CREATE INDEX c ON t USING columns (*)");
	expect(s->con, "SELECT system.main.sum(v) FROM t WHERE v < 70", "scan", "2415\n");
	expect(s->con, "SELECT system.main.sum(v) FROM t WHERE system.main.substr(g, 1) = 'g1'", "scan", "99700\n");
	expect(s->con, "SELECT system.main.sum(v) FROM t JOIN d ON d.k = t.a WHERE d.n = 'two'", "scan", NULL);
	run(s->con, "INSERT INTO t VALUES (1, 'g1', 5000)");
	expect(s->con, "SELECT system.main.sum(v) FROM t WHERE v > 4000", "scan", "5000\n");
	run(s->con, "CREATE INDEX IF NOT EXISTS c ON t USING columns (*); REFRESH INDEX c");
	expect(s->con, "SELECT name, kind FROM rayql_structures() WHERE kind <> 'map'", NULL, "c|columns\n");
	run(s->con, "DROP INDEX c; DELETE FROM t WHERE v = 5000");
	run(s->con, "SET rayql_auto_columns = on");
	expect(s->con, "SELECT system.main.max(v) FROM t WHERE v < 70", "scan", "69\n");
	run(s->con, "SET rayql_auto_columns = off");
}

static void macros_steer_nothing(void **state)
{
	(void)state;
	for (int schema = 0; schema < 2; schema++) {
		char path[256];
		scratch_path(path, schema ? "macros2.db" : "macros.db");
		struct session s = open_session(path, NULL);
		make_table(s.con, "t", 1000);
		run(s.con, "CREATE TABLE d AS SELECT i::INTEGER AS k, CASE WHEN i = 2 THEN 'two' ELSE 'more' END AS n FROM "
		           "range(7) r(i)");
		if (schema)
			run(s.con, "CREATE SCHEMA own; USE own");
		make_macros(s.con);
		if (schema)
			run(s.con, "CREATE VIEW t AS FROM main.t; CREATE VIEW d AS FROM main.d; USE main");
		use_all(&s);
		run(s.con, "CREATE MATERIALIZED VIEW kept AS SELECT a, system.main.sum(v) FROM t GROUP BY a");
		close_session(&s);
		s = open_session(path, NULL);
		expect(s.con, "SELECT name FROM rayql_structures()", NULL, "kept\n");
		run(s.con, "SET rayql_force = on");
		expect(s.con, "SELECT system.main.sum(v) FROM t", "cube", "499500\n");
		run(s.con, "DROP MATERIALIZED VIEW kept");
		use_all(&s);
		close_session(&s);
	}
}

/* ---- rayql.structures of somebody else ---- */
static void refuse_structures(struct session *s, const char *word)
{
	char text[128];
	snprintf(text, sizeof text, "the database has a %s rayql.structures that is not RayQL's", word);
	fails(s->con, "CREATE MATERIALIZED VIEW v AS SELECT a, sum(v) FROM t GROUP BY a", RAYQL_ERROR_STATEMENT, text);
	fails(s->con, "CREATE INDEX c ON t USING columns (*)", RAYQL_ERROR_STATEMENT, text);
	expect(s->con, "SELECT count(*) FROM rayql_structures()", NULL, "0\n");
	expect(s->con, "SELECT count(*) FROM duckdb_views() WHERE NOT internal AND view_name = 'v'", NULL, "0\n");
	run(s->con, "SET rayql_auto_columns = on; SET rayql_force = on"); /* what is not stored works */
	expect(s->con, "SELECT sum(v) FROM t WHERE v < 70", "scan", "2415\n");
}

static void a_foreign_table_is_left_alone(void **state)
{
	static const char *const made[][2] = {
		{"table", "CREATE TABLE rayql.structures AS SELECT 'mine' AS schema_name, 'v' AS name"},
		{"table", "CREATE TABLE rayql.structures (a INTEGER)"},
		{"table", "CREATE TABLE rayql.\"Structures\" (schema_name VARCHAR, name VARCHAR, kind VARCHAR, format_version "
		          "VARCHAR, statement VARCHAR, query VARCHAR, options VARCHAR, search_path VARCHAR)"},
		{"table", "CREATE TABLE rayql.structures (schema_name BLOB, name STRUCT(a INTEGER), kind VARCHAR, "
		          "format_version INTEGER, statement VARCHAR, query VARCHAR, options VARCHAR, "
		          "search_path VARCHAR, more INTEGER)"},
		{"view", "CREATE VIEW rayql.structures AS SELECT 'main' AS schema_name, 'v' AS name, 'columns' AS kind, "
		         "1 AS format_version, 'x' AS statement, 'y' AS query, '' AS options, '' AS search_path"},
		{"view", "CREATE VIEW rayql.structures AS SELECT error('no')"},
	};
	(void)state;
	for (size_t i = 0; i < COUNT(made); i++) {
		char path[256], name[32];
		snprintf(name, sizeof name, "foreign%zu.db", i);
		scratch_path(path, name);
		struct session s = open_session(path, NULL);
		make_table(s.con, "t", 1000);
		run(s.con, "CREATE SCHEMA rayql");
		run(s.con, made[i][1]);
		refuse_structures(&s, made[i][0]);
		close_session(&s);
		s = open_session(path, NULL);
		refuse_structures(&s, made[i][0]);
		if (i == 0)
			expect(s.con, "FROM rayql.structures", NULL, "mine|v\n");
		char sql[128];
		snprintf(sql, sizeof sql, "ALTER %s rayql.structures RENAME TO mine", made[i][0]);
		run(s.con, sql);
		run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT a, sum(v) FROM t GROUP BY a");
		expect(s.con, "SELECT name FROM rayql_structures() WHERE kind = 'cube'", NULL, "v\n");
		close_session(&s);
	}
}

/* Rows that RayQL did not write name what they like; they end as INVALID, or as nothing. */
static void rows_of_anything(void **state)
{
	char path[256];
	(void)state;
	scratch_path(path, "rows.db");
	struct session s = open_session(path, NULL);
	make_table(s.con, "t", 1000);
	run(s.con, "CREATE INDEX c ON t USING columns (a, v); CREATE VIEW v AS SELECT 1 AS a");
	run(s.con, "INSERT INTO rayql.structures SELECT schema_name, n, k, f, st, q, options, p FROM rayql.structures, "
	           "(VALUES ('v', 'cube'), (NULL, NULL), ('x', 'columns'), ('c', 'columns')) n(n, k), "
	           "(VALUES (1), (NULL), (-1), (99)) f(f), "
	           "(VALUES (NULL), (''), ('CREATE INDEX'), ('CREATE INDEX c ON t USING columns (nosuch);'), "
	           "('CREATE INDEX c ON t USING columns (*) WITH (refresh = manual)'), ('DROP TABLE t'), "
	           "(repeat('(', 9999))) s(st), (VALUES (NULL), ('SELECT 1; DROP TABLE t'), ('SELECT a FROM t')) q(q), "
	           "(VALUES (NULL), (''), ('no,such.path')) p(p)");
	close_session(&s);
	s = open_session(path, NULL);
	run(s.con, "SET rayql_force = on");
	expect(s.con, "SELECT count(*) FROM t", NULL, "1000\n");
	expect(s.con, "SELECT sum(v) FROM t WHERE v < 70", NULL, "2415\n");
	run(s.con, "SELECT * FROM rayql_structures()");
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans_are_duckdbs_own),
		cmocka_unit_test(macros_steer_nothing),
		cmocka_unit_test(a_foreign_table_is_left_alone),
		cmocka_unit_test(rows_of_anything),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
