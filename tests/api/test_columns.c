/* CREATE INDEX ... USING columns, REFRESH INDEX and DROP INDEX in SQL: what becomes of them, and every error of theirs. That
 * they hold what they should is unit/test_columns.c's. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

#define STATE "SELECT name, state FROM rayql_structures() ORDER BY name"
#define ROWS "SELECT name, state, rows FROM rayql_structures() ORDER BY name"
#define REASON "SELECT reason FROM rayql_structures()"

static void create_refresh_drop(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	make_table(s.con, "t", 1000);
	expect(s.con, "CREATE INDEX C ON t USING columns (V, g)", "rayql", "");
	expect(s.con,
	       "SELECT name, kind, state, rows, cells, rolled_up, tables, options, schema, unit, definition "
	       "FROM rayql_structures()",
	       NULL,
	       "C|columns|ready|1000|NULL|NULL|t|refresh = manual|main|auto|"
	       "CREATE INDEX \"C\" ON t USING columns (v, g) WITH (refresh = manual);\n");
	expect(s.con, "SELECT bytes > 0, bytes_per_row < 8, build_ms >= 0, reason FROM rayql_structures()", NULL,
	       "true|true|true|NULL\n");
	expect(s.con, "SELECT schema_name, name, kind, query FROM rayql.structures", NULL,
	       "main|C|columns|SELECT v, g FROM t\n");
	run(s.con, "INSERT INTO t VALUES (0, 'g0', 1)");
	expect(s.con, STATE, NULL, "C|stale\n");
	expect(s.con, REASON, NULL,
	       "the table t has changed since it was built; the next matching query appends the added rows\n");
	run(s.con, "refresh index main.c");
	expect(s.con, ROWS, NULL, "C|ready|1001\n");
	expect(s.con, "SELECT reason LIKE '1 added rows were appended in % ms' FROM rayql_structures()", NULL, "true\n");
	run(s.con, "UPDATE t SET a = 5 WHERE v = 3");
	expect(s.con, REASON, NULL,
	       "the table t has changed since it was built; the next matching query takes over the rows that changed\n");
	run(s.con, "REFRESH INDEX c");
	expect(s.con, "SELECT state, rows, reason LIKE '0 deleted, 1 updated and 0 added rows were taken over in % ms' FROM "
	              "rayql_structures()",
	       NULL, "ready|1001|true\n");
	run(s.con, "UPDATE t SET a = 5 WHERE v = 3 + 0 * random()");
	expect(s.con, REASON, NULL, "the table t has changed since it was built; REFRESH INDEX rebuilds it\n");
	run(s.con, "REFRESH INDEX c");
	expect(s.con, "SELECT state, rows, reason FROM rayql_structures()", NULL, "ready|1001|NULL\n");
	run(s.con, "CREATE INDEX IF NOT EXISTS c ON t USING columns (a)");
	expect(s.con, "SELECT definition FROM rayql_structures()", NULL,
	       "CREATE INDEX \"C\" ON t USING columns (v, g) WITH (refresh = manual);\n");
	run(s.con, "CREATE OR REPLACE INDEX c ON t USING columns (*) WITH (refresh = auto, unit = cpu)");
	expect(s.con, "SELECT definition FROM rayql_structures()", NULL,
	       "CREATE INDEX c ON t USING columns (*) WITH (refresh = auto, unit = cpu);\n");
	run(s.con, "DELETE FROM t WHERE v = 3 + 0 * random()");
	expect(s.con, REASON, NULL, "the table t has changed since it was built; the next matching query rebuilds it\n");
	/* Answers are right whatever the state. */
	expect(s.con, "SELECT count(*), sum(v) FROM t", NULL, "1000|499498\n");
	run(s.con, "DROP INDEX memory.main.c");
	expect(s.con, STATE, NULL, "");
	expect(s.con, "SELECT count(*) FROM rayql.structures", NULL, "0\n");
	run(s.con, "DROP INDEX IF EXISTS c");
	fails(s.con, "DROP INDEX c", RAYQL_ERROR_HOST, "Index with name c does not exist");
	fails(s.con, "REFRESH INDEX c", RAYQL_ERROR_STATEMENT, "Catalog Error: Index with name c does not exist!");
	close_session(&s);
}

static void all_columns_that_can_be_held(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	run(s.con,
	    "CREATE TABLE t (a INTEGER, l INTEGER[], s STRUCT(x INTEGER), i INTERVAL, b BLOB, u UUID, e ENUM('x', 'y'), "
	    "h HUGEINT, n DECIMAL(30, 4), tz TIMESTAMPTZ, g INTEGER GENERATED ALWAYS AS (a + 1))");
	run(s.con,
	    "INSERT INTO t VALUES (1, [1], {x: 1}, INTERVAL 1 DAY, 'x', uuid(), 'x', 5, 1.5, now()), (NULL, NULL, NULL, "
	    "NULL, NULL, NULL, NULL, NULL, NULL, NULL)");
	run(s.con, "CREATE INDEX c ON t USING columns (*)");
	expect(s.con, REASON, NULL,
	       "left out, as they cannot be held as compressed columns: l (INTEGER[]), s (STRUCT(\"x\" INTEGER)), i "
	       "(INTERVAL)\n");
	run(s.con, "INSERT INTO t (a) VALUES (3)");
	run(s.con, "REFRESH INDEX c");
	expect(s.con,
	       "SELECT reason LIKE 'left out,%i (INTERVAL); 1 added rows were appended%', rows FROM rayql_structures()",
	       NULL, "true|3\n");
	fails(s.con, "CREATE INDEX d ON t USING columns (a, l)", RAYQL_ERROR_STATEMENT,
	      "Binder Error: the column \"l\" of type INTEGER[] cannot be held");
	fails(s.con, "CREATE INDEX d ON t USING columns (g)", RAYQL_ERROR_STATEMENT,
	      "does not have a stored column with name \"g\"");
	run(s.con, "CREATE TABLE nested (l INTEGER[])");
	fails(s.con, "CREATE INDEX d ON nested USING columns (*)", RAYQL_ERROR_STATEMENT,
	      "no column of nested can be held");
	/* * means the columns that there are when it is built. */
	run(s.con, "ALTER TABLE t ADD COLUMN z INTEGER");
	run(s.con, "REFRESH INDEX c");
	expect(s.con, STATE, NULL, "c|ready\n");
	close_session(&s);
}

static void errors(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	make_table(s.con, "t", 100);
	run(s.con, "CREATE VIEW w AS SELECT a FROM t; CREATE TEMP TABLE tt (a INTEGER); ATTACH ':memory:' AS other; "
	           "CREATE TABLE other.o (a INTEGER); CREATE SCHEMA s2; CREATE TABLE s2.t2 (a INTEGER)");
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT g, sum(v) FROM t GROUP BY g");
	run(s.con, "CREATE INDEX c ON t USING columns (a)");
	run(s.con, "CREATE INDEX h ON t (a)");
#define CREATE(name, table, columns) "CREATE INDEX " name " ON " table " USING columns (" columns ")"
	fails(s.con, CREATE("c", "t", "a"), RAYQL_ERROR_STATEMENT, "Catalog Error: Index with name \"c\" already exists!");
	fails(s.con, CREATE("H", "t", "a"), RAYQL_ERROR_STATEMENT, "Catalog Error: Index with name \"H\" already exists!");
	run(s.con, "CREATE INDEX IF NOT EXISTS h ON t USING columns (a)");
	fails(s.con, CREATE("V", "t", "a"), RAYQL_ERROR_STATEMENT, "Materialized View with name \"V\" already exists!");
	fails(s.con, "CREATE MATERIALIZED VIEW c AS SELECT g, sum(v) FROM t GROUP BY g", RAYQL_ERROR_STATEMENT,
	      "Catalog Error: Index with name \"c\" already exists!");
	fails(s.con, CREATE("d", "nowhere", "a"), RAYQL_ERROR_STATEMENT,
	      "Catalog Error: Table with name nowhere does not exist!");
	fails(s.con, CREATE("d", "nowhere", "a"), RAYQL_ERROR_STATEMENT, "LINE 1: CREATE INDEX d ON nowhere");
	fails(s.con, CREATE("d", "w", "a"), RAYQL_ERROR_STATEMENT, "is no base table");
	fails(s.con, CREATE("d", "tt", "a"), RAYQL_ERROR_STATEMENT, "the temporary table \"tt\"");
	fails(s.con, CREATE("d", "other.o", "a"), RAYQL_ERROR_STATEMENT, "\"main\".\"o\" is in \"other\"");
	fails(s.con, CREATE("d", "rayql.structures", "name"), RAYQL_ERROR_STATEMENT, "RayQL's own table");
	fails(s.con, CREATE("d", "t", "a, A"), RAYQL_ERROR_STATEMENT, "the column \"a\" is given twice");
	fails(s.con, CREATE("d", "t", "b"), RAYQL_ERROR_STATEMENT, "with name \"b\"; it has a, g, v");
	fails(s.con, CREATE("s2.d", "t", "a"), RAYQL_ERROR_STATEMENT,
	      "lives in the schema of its table, which is \"main\"");
	fails(s.con, CREATE("d", "t", "a") " WITH (rollup = on)", RAYQL_ERROR_STATEMENT, "has no option \"rollup\"");
	fails(s.con, CREATE("d", "t", "a") " WITH (refresh = later)", RAYQL_ERROR_STATEMENT, "it is auto or manual");
	fails(s.con, CREATE("d", "t", "a") " WITH (unit = rt)", RAYQL_ERROR_STATEMENT, "it is auto, cpu or compute");
	fails(s.con, "REFRESH INDEX h", RAYQL_ERROR_STATEMENT, "the index h is DuckDB's own");
	fails(s.con, "REFRESH MATERIALIZED VIEW c", RAYQL_ERROR_STATEMENT, "Materialized View with name c does not exist!");
	fails(s.con, "DROP MATERIALIZED VIEW c", RAYQL_ERROR_STATEMENT, "Materialized View with name c does not exist!");
	fails(s.con, "DROP INDEX v", RAYQL_ERROR_HOST, "v");
	run(s.con, "DROP INDEX h");
	run(s.con, CREATE("s2.d", "s2.t2", "a"));
	run(s.con, CREATE("c", "s2.t2", "a")); /* as in DuckDB, a name is taken in its schema only */
	expect(s.con, "SELECT schema, name FROM rayql_structures() ORDER BY ALL", NULL, "main|c\nmain|v\ns2|c\ns2|d\n");
	fails(s.con, "DROP INDEX d", RAYQL_ERROR_HOST, "Index with name d does not exist");
	run(s.con, "USE s2; DROP INDEX d; DROP INDEX main.c");
	expect(s.con, "SELECT schema, name FROM rayql_structures() ORDER BY ALL", NULL, "main|v\ns2|c\n");
	close_session(&s);
}

static void transactions(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	make_table(s.con, "t", 100);
	run(s.con, "CREATE INDEX c ON t USING columns (*)");
	run(s.con, "BEGIN");
	fails(s.con, "CREATE INDEX d ON t USING columns (a)", RAYQL_ERROR_STATEMENT, "inside a transaction block");
	fails(s.con, "REFRESH INDEX c", RAYQL_ERROR_STATEMENT, "inside a transaction block");
	fails(s.con, "DROP INDEX c", RAYQL_ERROR_STATEMENT, "inside a transaction block");
	run(s.con, "INSERT INTO t VALUES (1, 'x', 1000)");
	expect(s.con, STATE, NULL, "c|ready\n"); /* nobody else sees it */
	expect(s.con, "SELECT max(v) FROM t", "host", "1000\n");
	run(s.con, "ROLLBACK");
	expect(s.con, ROWS, NULL, "c|ready|100\n");
	run(s.con, "BEGIN; INSERT INTO t VALUES (1, 'x', 1000); COMMIT");
	expect(s.con, STATE, NULL, "c|stale\n");
	run(s.con, "REFRESH INDEX c");
	expect(s.con, ROWS, NULL, "c|ready|101\n");
	expect(s.con, "SELECT max(v) FROM t", NULL, "1000\n");
	close_session(&s);
}

static void tables_change(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	make_table(s.con, "t", 100);
	run(s.con, "CREATE INDEX c ON t USING columns (a, g)");
	run(s.con, "ALTER TABLE t ALTER a TYPE VARCHAR");
	expect(s.con, STATE, NULL, "c|stale\n");
	run(s.con, "REFRESH INDEX c");
	expect(s.con, STATE, NULL, "c|ready\n");
	run(s.con, "ALTER TABLE t RENAME a TO b");
	expect(s.con, STATE, NULL, "c|invalid\n");
	expect(s.con, "SELECT reason LIKE '%does not have a stored column with name \"a\"%' FROM rayql_structures()", NULL,
	       "true\n");
	fails(s.con, "REFRESH INDEX c", RAYQL_ERROR_STATEMENT, "does not have a stored column with name \"a\"");
	run(s.con, "ALTER TABLE t RENAME b TO a");
	expect(s.con, STATE, NULL, "c|unbuilt\n");
	run(s.con, "REFRESH INDEX c");
	run(s.con, "ALTER TABLE t RENAME TO u");
	expect(s.con, STATE, NULL, "c|invalid\n");
	run(s.con, "CREATE VIEW t AS SELECT * FROM u"); /* no table either */
	fails(s.con, "REFRESH INDEX c", RAYQL_ERROR_STATEMENT, "is no base table");
	run(s.con, "DROP VIEW t; ALTER TABLE u RENAME TO t; REFRESH INDEX c; DROP TABLE t");
	expect(s.con, STATE, NULL, "c|invalid\n");
	make_table(s.con, "t", 50);
	expect(s.con, STATE, NULL, "c|unbuilt\n");
	run(s.con, "REFRESH INDEX c");
	expect(s.con, ROWS, NULL, "c|ready|50\n");
	run(s.con, "CREATE OR REPLACE TABLE t AS SELECT 'x' AS g, 1 AS a");
	expect(s.con, STATE, NULL, "c|stale\n");
	run(s.con, "REFRESH INDEX c");
	expect(s.con, ROWS, NULL, "c|ready|1\n");
	close_session(&s);
}

static void copy_from(void **state)
{
	struct session s = open_session(NULL, NULL);
	char file[256], sql[600];
	(void)state;
	scratch_path(file, "rows.csv");
	make_table(s.con, "t", 100);
	snprintf(sql, sizeof sql, "COPY t TO '%s'", file);
	run(s.con, sql);
	run(s.con, "CREATE INDEX c ON t USING columns (*)");
	snprintf(sql, sizeof sql, "COPY t FROM '%s'", file);
	run(s.con, sql);
	expect(s.con, "SELECT reason LIKE '%appends the added rows' FROM rayql_structures()", NULL, "true\n");
	run(s.con, "REFRESH INDEX c");
	expect(s.con, ROWS, NULL, "c|ready|200\n");
	expect(s.con, "SELECT reason LIKE '100 added rows%' FROM rayql_structures()", NULL, "true\n");
	close_session(&s);
}

static void definitions_survive(void **state)
{
	char path[256];
	(void)state;
	scratch_path(path, "kept.db");
	struct session s = open_session(path, NULL);
	make_table(s.con, "t", 100);
	run(s.con, "CREATE INDEX c ON t USING columns (a, g) WITH (refresh = auto)");
	run(s.con, "SET rayql_auto_columns = on");
	close_session(&s);
	rayql_config *config = NULL;
	s = open_session(path, config);
	expect(s.con, "SELECT name, kind, state, options FROM rayql_structures()", NULL,
	       "c|columns|unbuilt|refresh = auto\n");
	expect(s.con, "SELECT value FROM rayql_settings() WHERE name = 'rayql_auto_columns'", NULL, "off\n");
	run(s.con, "REFRESH INDEX c");
	expect(s.con, ROWS, NULL, "c|ready|100\n");
	run(s.con, "UPDATE rayql.structures SET statement = 'CREATE INDEX c ON t (a)'");
	close_session(&s);
	s = open_session(path, NULL);
	expect(s.con, "SELECT state, reason LIKE 'its stored definition cannot be read%' FROM rayql_structures()", NULL,
	       "invalid|true\n");
	fails(s.con, "REFRESH INDEX c", RAYQL_ERROR_CORRUPT, "drop and create it again");
	run(s.con, "DROP INDEX c");
	expect(s.con, STATE, NULL, "");
	close_session(&s);
}

/* ---- queries ---- */
#define ONE "SELECT g, count(*), sum(v), min(v) FROM t WHERE a <> 3 GROUP BY g ORDER BY g"
#define HOST                                                                                                           \
	"SELECT g, count(*), sum(v), min(v) FROM (SELECT * FROM t LIMIT 100000000) WHERE a <> 3 GROUP BY g ORDER BY g"

/* `by` answers ONE, as DuckDB does. */
#define asks(con, by)                                                                                                  \
	do {                                                                                                               \
		char *want_ = rows_of(con, HOST, NULL);                                                                        \
		expect(con, ONE, by, want_);                                                                                   \
		free(want_);                                                                                                   \
	} while (0)

static void queries(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	make_table(s.con, "t", 20000);
	run(s.con, "SET rayql_force = on; CREATE INDEX c ON t USING columns (g, v, a)");
	asks(s.con, "scan");
	for (int i = 0; i < 5; i++) { /* values that the dictionary lacks, and such as it has */
		char sql[100];
		snprintf(sql, sizeof sql, "INSERT INTO t VALUES (%d, 'new%d', 7), (2, 'g1', %d), (NULL, NULL, NULL)", i, i, i);
		run(s.con, sql);
		asks(s.con, "scan");
	}
	run(s.con, "BEGIN; INSERT INTO t VALUES (1, 'mine', 1)");
	asks(s.con, "host");
	run(s.con, "ROLLBACK");
	asks(s.con, "scan");
	run(s.con, "DELETE FROM t WHERE v % 10 = 1; UPDATE t SET g = 'new' || v, v = NULL WHERE v BETWEEN 100 AND 300");
	asks(s.con, "scan");
	run(s.con, "DELETE FROM t WHERE v % 10 = 2 AND random() >= 0");
	asks(s.con, "host"); /* refresh = manual */
	run(s.con, "REFRESH INDEX c");
	asks(s.con, "scan");
	run(s.con, "ALTER TABLE t ADD COLUMN first_of_all INTEGER; ALTER TABLE t DROP COLUMN first_of_all");
	asks(s.con, "host");
	run(s.con,
	    "REFRESH INDEX c; ALTER TABLE t RENAME g TO h; ALTER TABLE t RENAME a TO g; ALTER TABLE t RENAME h TO a");
	expect(s.con, "SELECT state FROM rayql_structures()", NULL, "unbuilt\n"); /* it was invalid in between */
	run(s.con, "REFRESH INDEX c");
	expect(s.con, "SELECT a, sum(v) FROM t WHERE g <> 3 AND a < 'g2' GROUP BY a ORDER BY a LIMIT 1", "scan", NULL);
	close_session(&s);
}

static void automatic_columns(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
	make_table(s.con, "t", 20000);
	run(s.con, "SET rayql_force = on");
	asks(s.con, "host");
	run(s.con, "SET rayql_auto_columns = on");
	expect(s.con, "EXPLAIN " ONE, NULL, NULL);
	expect(s.con, "SELECT count(*) FROM rayql_structures()", NULL, "0\n"); /* EXPLAIN alone loads nothing */
	asks(s.con, "scan");
	expect(s.con, "SELECT name, definition, state, options, rows FROM rayql_structures()", NULL,
	       "auto columns of t|NULL|ready|refresh = auto|20000\n");
	run(s.con, "INSERT INTO t VALUES (1, 'x', 1)");
	asks(s.con, "scan");
	run(s.con, "DELETE FROM t WHERE v = 3");
	asks(s.con, "scan");
	/* No memory: the host, with the reason; as soon as there is some, again. */
	run(s.con, "SET rayql_memory_limit = '1KB'; DELETE FROM t WHERE v = 4");
	asks(s.con, "host");
	expect(s.con, "SELECT reason LIKE '%memory limit of%' FROM rayql_last_query()", NULL, "true\n");
	asks(s.con, "host");
	run(s.con, "SET rayql_memory_limit = '1GB'");
	asks(s.con, "scan");
	run(s.con, "BEGIN; DELETE FROM t WHERE v = 5");
	asks(s.con, "host");
	run(s.con, "COMMIT");
	asks(s.con, "scan");
	run(s.con, "DROP INDEX \"auto columns of t\"; BEGIN");
	asks(s.con, "host"); /* nothing is loaded inside a transaction */
	run(s.con, "COMMIT");
	asks(s.con, "scan");
	close_session(&s);
}

/* ---- several connections: what a reader is told is a state that the table had, and none older than it has seen ---- */
#define WRITES 60
struct shared {
	rayql_database *db;
	const char *settings;
	_Atomic bool stop;
	_Atomic uint64_t committed, by_scan, wrong;
};

/* Batch n: three rows whose v are n, n and -2n. */
static void *write_batches(void *arg)
{
	struct shared *s = arg;
	rayql_connection *con = NULL;
	rayql_error *failed = NULL;
	if (rayql_connect(s->db, &con, &failed) != RAYQL_OK) {
		fprintf(stderr, "%s\n", rayql_error_message(failed));
		abort();
	}
	/* Until the readers have had their chance, on the slowest of machines: with pauses that grow until one is long enough
	 * to bring the columns up to date and to read them. */
	for (int n = 1; n <= WRITES || (atomic_load(&s->by_scan) < 2 && n < 3 * WRITES); n++) {
		char sql[200];
		if (n > WRITES)
			usleep(5000u * (unsigned)(n - WRITES));
		snprintf(sql, sizeof sql,
		         n % 3 == 0
		             ? "BEGIN; INSERT INTO t VALUES ('a%d', %d); INSERT INTO t VALUES ('b', %d), ('c', -2 * %d); COMMIT"
		             : "INSERT INTO t VALUES ('a%d', %d), ('b', %d), ('c', -2 * %d)",
		         n, n, n, n);
		if (rayql_query(con, sql, NULL, NULL) != RAYQL_OK)
			atomic_fetch_add(&s->wrong, 1);
		atomic_store(&s->committed, (uint64_t)n);
		if (n % 4 == 0) /* rows that nobody may ever see, and a write that is no append */
			(void)rayql_query(con,
			                  "BEGIN; INSERT INTO t VALUES ('a', 1000000); ROLLBACK; UPDATE t SET v = v WHERE v = 1",
			                  NULL, NULL);
	}
	atomic_store(&s->stop, true);
	rayql_disconnect(con);
	return NULL;
}

static void *read_states(void *arg)
{
	struct shared *s = arg;
	rayql_connection *con = NULL;
	long long seen = 0;
	rayql_error *failed = NULL;
	if (rayql_connect(s->db, &con, &failed) != RAYQL_OK || rayql_query(con, s->settings, NULL, &failed) != RAYQL_OK) {
		fprintf(stderr, "%s\n", rayql_error_message(failed));
		abort();
	}
	while (!atomic_load(&s->stop)) {
		long long before = (long long)atomic_load(&s->committed), sum, count, most;
		rayql_result *res = NULL;
		rayql_error *err = NULL;
		if (rayql_query(con, "SELECT sum(v), count(*), max(v) FROM t", &res, &err) != RAYQL_OK) {
			atomic_fetch_add(&s->wrong, 1);
			fprintf(stderr, "%s\n", rayql_error_message(err));
			rayql_error_free(err);
			continue;
		}
		if (strcmp(rayql_result_method(res), "scan") == 0)
			atomic_fetch_add(&s->by_scan, 1);
		char *rows = read_rows(res, NULL);
		if (!rows || sscanf(rows, "%lld|%lld|%lld", &sum, &count, &most) != 3) {
			free(rows);
			atomic_fetch_add(&s->wrong, before > 0);
			continue;
		}
		if (sum != 0 || count != 3 * most || most < before || most < seen) {
			atomic_fetch_add(&s->wrong, 1);
			fprintf(stderr, "%s", rows);
		}
		seen = most;
		free(rows);
	}
	rayql_disconnect(con);
	return NULL;
}

static void run_race(const char *index, const char *reader)
{
	struct session session = open_session(NULL, NULL);
	struct shared s = {.db = session.db, .settings = reader};
	pthread_t threads[3];
	run(session.con, "CREATE TABLE t (g VARCHAR, v INTEGER)");
	run(session.con, index);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, i ? read_states : write_batches, &s), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(s.wrong, 0);
	assert_true(s.by_scan > 0);
	run(session.con, reader);
	char want[64];
	int n = (int)s.committed;
	snprintf(want, sizeof want, "0|%d|%d\n", 3 * n, n);
	expect(session.con, "SELECT sum(v), count(*), max(v) FROM t", "scan", want);
	close_session(&session);
}

static void readers_and_a_writer(void **state)
{
	(void)state;
	run_race("CREATE INDEX c ON t USING columns (*) WITH (refresh = auto)", "SET rayql_force = on");
	run_race("SELECT 1", "SET rayql_force = on; SET rayql_auto_columns = on");
}

static void settings(void **state)
{
	struct session s = open_session(NULL, NULL);
	(void)state;
#define VALUE "SELECT value FROM rayql_settings() WHERE name = 'rayql_auto_columns'"
	expect(s.con, VALUE, NULL, "off\n");
	run(s.con, "SET rayql_auto_columns = on");
	expect(s.con, VALUE, NULL, "on\n");
	fails(s.con, "SET rayql_auto_columns = some", RAYQL_ERROR_STATEMENT, "expected on or off");
	run(s.con, "RESET rayql_auto_columns");
	expect(s.con, VALUE, NULL, "off\n");
	close_session(&s);
}

/* As soon as rows are being read. */
static void *interrupt_reading(void *arg)
{
	rayql_progress_info info;
	for (int i = 0; i < 20000; i++) {
		rayql_progress(arg, &info);
		if (info.phase && info.rows > 0)
			break;
		usleep(100);
	}
	rayql_interrupt(arg);
	return NULL;
}

static void an_interrupted_build(void **state)
{
	struct session s = open_session(NULL, NULL);
	rayql_status status = RAYQL_OK;
	(void)state;
	run(s.con, "CREATE TABLE many AS SELECT i AS k, 'v' || (i % 5000) AS v FROM range(2000000) r(i)");
	for (int i = 0; i < 20 && status != RAYQL_ERROR_INTERRUPTED; i++) { /* it may be too late: then once more */
		pthread_t thread;
		assert_int_equal(pthread_create(&thread, NULL, interrupt_reading, s.con), 0);
		status = rayql_query(s.con, "CREATE INDEX c ON many USING columns (*)", NULL, NULL);
		pthread_join(thread, NULL);
		if (status == RAYQL_OK)
			run(s.con, "DROP INDEX c");
	}
	assert_int_equal(status, RAYQL_ERROR_INTERRUPTED);
	expect(s.con, "SELECT count(*) FROM rayql_structures()", NULL, "0\n");
	run(s.con, "CREATE INDEX c ON many USING columns (*)");
	expect(s.con, ROWS, NULL, "c|ready|2000000\n");
	close_session(&s);
}

int main(void)
{
#ifdef __SANITIZE_THREAD__ /* columns are made by all threads, loaded beside statements, and read while rows come */
	const struct CMUnitTest tests[] = {cmocka_unit_test(create_refresh_drop), cmocka_unit_test(automatic_columns),
	                                   cmocka_unit_test(readers_and_a_writer), cmocka_unit_test(an_interrupted_build)};
	(void)all_columns_that_can_be_held, (void)errors, (void)transactions, (void)tables_change, (void)copy_from,
		(void)definitions_survive, (void)queries, (void)settings;
#else
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create_refresh_drop),
		cmocka_unit_test(all_columns_that_can_be_held),
		cmocka_unit_test(errors),
		cmocka_unit_test(transactions),
		cmocka_unit_test(tables_change),
		cmocka_unit_test(copy_from),
		cmocka_unit_test(definitions_survive),
		cmocka_unit_test(queries),
		cmocka_unit_test(automatic_columns),
		cmocka_unit_test(readers_and_a_writer),
		cmocka_unit_test(settings),
		cmocka_unit_test(an_interrupted_build),
	};
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
