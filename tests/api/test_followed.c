/* Statements whose rows columns follow: of every form, inside transactions that are committed or rolled back, of one
 * connection and of several at once, with functions and with parameters; and what is not followed.
 * test_followed [STEPS [SEED]] */
#include "check.h"

static unsigned steps = 120;
static uint64_t seed = 20261126;

static unsigned roll(unsigned n)
{
	uint64_t x = seed += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (unsigned)((x ^ x >> 31) % n);
}

static struct session table_session(unsigned rows)
{
	struct session s = open_session(NULL, NULL);
	char sql[256];
	snprintf(sql, sizeof sql,
	         "CREATE TABLE t AS SELECT i::BIGINT id, (hash(i) %% 100)::INTEGER a, 's' || (i %% 30) s FROM range(%u) q(i)",
	         rows);
	run(s.con, sql);
	run(s.con, "CREATE INDEX c ON t USING columns (*); SET rayql_force = on");
	return s;
}

#define SUMS "SELECT count(*), sum(id), sum(a), min(s), max(s) FROM t"

/* The next query takes over so many rows, and says what the host says. */
static void takes_over_at(rayql_connection *con, const char *counts, int line)
{
	char reason[256], *host;
	run(con, "SET rayql_enable_scan = off");
	host = rows_of(con, SUMS, NULL);
	run(con, "SET rayql_enable_scan = on");
	expect_at(con, SUMS, "scan", host, __FILE__, line);
	free(host);
	snprintf(reason, sizeof reason,
	         "SELECT CASE WHEN reason LIKE '%s were taken over in %% ms' THEN 'yes' ELSE reason END FROM rayql_structures()",
	         counts);
	expect_at(con, reason, NULL, "yes\n", __FILE__, line);
}
#define takes_over(con, counts) takes_over_at(con, counts, __LINE__)

#define REBUILT "the table t has changed since it was built; REFRESH INDEX rebuilds it\n"
#define REASON "SELECT reason FROM rayql_structures()"
static void is_lost_at(rayql_connection *con, int line)
{
	expect_at(con, REASON, NULL, REBUILT, __FILE__, line);
	run(con, "REFRESH INDEX c");
}
#define is_lost(con) is_lost_at(con, __LINE__)

static void inside(void **state)
{
	(void)state;
	struct session s = table_session(20000);
	run(s.con, "BEGIN; DELETE FROM t WHERE id < 50; UPDATE t SET a = 7 WHERE id BETWEEN 40 AND 69");
	expect(s.con, SUMS, "host", NULL);
	run(s.con, "COMMIT");
	takes_over(s.con, "50 deleted, 20 updated and 0 added rows");
	/* What a transaction has added itself is read when it is there, whatever became of it before. */
	run(s.con, "BEGIN; INSERT INTO t SELECT i, 1, 'n' FROM range(20000, 20100) q(i)");
	run(s.con, "UPDATE t SET s = 'u' WHERE id >= 19990; DELETE FROM t WHERE id > 20089; COMMIT");
	takes_over(s.con, "0 deleted, 10 updated and 90 added rows");
	run(s.con, "BEGIN; DELETE FROM t WHERE id = 300; UPDATE t SET a = 0; ROLLBACK");
	expect(s.con, "SELECT state FROM rayql_structures()", NULL, "ready\n");
	expect(s.con, "SELECT count(*) FROM t WHERE id = 300", "scan", "1\n");
	run(s.con, "BEGIN; DELETE FROM t WHERE id = 300");
	fails(s.con, "UPDATE t SET a = 'x' WHERE id = 301", RAYQL_ERROR_HOST, "Could not convert");
	run(s.con, "ROLLBACK");
	expect(s.con, "SELECT count(*) FROM t WHERE id = 300", NULL, "1\n");
	/* What fails does so once, in the statement's own words. */
	rayql_error *err = NULL;
	run(s.con, "BEGIN");
	assert_int_equal(rayql_query(s.con, "DELETE FROM t WHERE s = 5", NULL, &err), RAYQL_ERROR_HOST);
	assert_true(strstr(rayql_error_message(err), "Could not convert") && !strstr(rayql_error_message(err), "rowid"));
	rayql_error_free(err);
	fails(s.con, "SELECT 1", RAYQL_ERROR_HOST, "aborted");
	run(s.con, "ROLLBACK");
	expect(s.con, "SELECT count(*) FROM t WHERE id = 300", NULL, "1\n");
	/* One statement of unknown rows, and the rest does not matter. */
	run(s.con, "BEGIN; DELETE FROM t WHERE id = 300; DELETE FROM t WHERE id = 301 AND random() >= 0; COMMIT");
	is_lost(s.con);
	run(s.con, "BEGIN; DELETE FROM t WHERE id IN (SELECT id FROM t LIMIT 1); DELETE FROM t WHERE id = 302; COMMIT");
	is_lost(s.con);
	run(s.con, "BEGIN; CREATE TEMP TABLE t (id BIGINT, a INTEGER, s VARCHAR); DELETE FROM t WHERE id = 303; "
	           "DROP TABLE t; COMMIT");
	expect(s.con, "SELECT count(*) FROM t WHERE id = 303", NULL, "1\n");
	close_session(&s);
}

/* More rows than are taken over at once. */
static void many(void **state)
{
	(void)state;
	struct session s = table_session(600000);
	run(s.con, "BEGIN; UPDATE t SET a = a + 1 WHERE id % 17 < 4; DELETE FROM t WHERE id BETWEEN 1000 AND 9999; COMMIT");
	takes_over(s.con, "9000 deleted, 139058 updated and 0 added rows");
	run(s.con, "UPDATE t SET a = a + 1 WHERE id % 3 = 0");
	is_lost(s.con); /* a third of the table */
	close_session(&s);
}

/* Rows of a key, or of a list, are deleted and inserted by an UPDATE. */
static void moved(void **state)
{
	(void)state;
	struct session s = table_session(5000);
	run(s.con, "CREATE TABLE u AS SELECT * FROM t; DROP TABLE t; CREATE TABLE t (id BIGINT PRIMARY KEY, a INTEGER, s "
	           "VARCHAR, l INTEGER[]); INSERT INTO t SELECT *, [1] FROM u; DROP INDEX c; "
	           "CREATE INDEX c ON t USING columns (id, a, s)");
	run(s.con, "BEGIN; UPDATE t SET a = 5 WHERE id < 9; DELETE FROM t WHERE id = 20; COMMIT");
	takes_over(s.con, "1 deleted, 9 updated and 0 added rows");
	run(s.con, "BEGIN; INSERT INTO t VALUES (6000, 1, 'x', [2]); UPDATE t SET l = [3] WHERE id < 3; COMMIT");
	takes_over(s.con, "3 deleted, 0 updated and 4 added rows");
	run(s.con, "BEGIN; UPDATE t SET id = id + 10000 WHERE id = 7; UPDATE t SET a = 8 WHERE id > 9999; COMMIT");
	takes_over(s.con, "1 deleted, 0 updated and 1 added rows");
	run(s.con, "UPDATE t SET id = id + 10000, a = 1 WHERE id IN (3, 4)");
	takes_over(s.con, "2 deleted, 0 updated and 2 added rows");
	/* A second key of one value fails half way, and nothing has happened. */
	fails(s.con, "UPDATE t SET id = 8 WHERE id < 30", RAYQL_ERROR_HOST, "onstraint");
	expect(s.con, "SELECT count(*) FROM t WHERE id = 8", "scan", "1\n");
	run(s.con, "BEGIN; UPDATE t SET a = 6 WHERE id < 9; COMMIT");
	takes_over(s.con, "0 deleted, 6 updated and 0 added rows");
	/* What is there already is found by the key that is inserted, as the column will have it. */
	run(s.con, "INSERT OR REPLACE INTO t VALUES (11, 1, 'r', NULL), (8000, 2, 'r', NULL)");
	takes_over(s.con, "1 deleted, 0 updated and 2 added rows");
	run(s.con, "BEGIN; INSERT INTO t (a, id) SELECT 3, x FROM (VALUES (12), (912)) w(x) ON CONFLICT (id) DO UPDATE SET "
	           "a = excluded.a; COMMIT");
	takes_over(s.con, "0 deleted, 2 updated and 0 added rows");
	run(s.con, "INSERT INTO t VALUES (13, 5, 's', NULL), (9001, 5, 's', NULL) ON CONFLICT DO UPDATE SET a = 99 RETURNING id");
	takes_over(s.con, "1 deleted, 0 updated and 2 added rows");
	run(s.con, "INSERT INTO t VALUES (14, 5, 's', NULL) ON CONFLICT DO UPDATE SET a = 99 WHERE t.a < 0");
	is_lost(s.con);
	run(s.con, "INSERT INTO t SELECT 30 + floor(random()), 1, '', NULL ON CONFLICT DO UPDATE SET a = 98");
	is_lost(s.con);
	/* In a query the cells of a column would take a common type, in which they are other values, or none. */
	run(s.con, "INSERT OR REPLACE INTO t VALUES (15, 5, 's', NULL), (16.4, 5, 's', NULL)");
	is_lost(s.con);
	run(s.con, "BEGIN; INSERT OR REPLACE INTO t VALUES (17, 5, 5, NULL), (18, 5, 'none', NULL); COMMIT");
	is_lost(s.con);
	run(s.con, "INSERT OR REPLACE INTO t VALUES (-17, 5, NULL, NULL), (18, NULL, 'none', NULL)");
	takes_over(s.con, "1 deleted, 0 updated and 2 added rows");
	/* What a conflict leaves out is no change. */
	run(s.con, "INSERT OR IGNORE INTO t VALUES (8, 0, '', []), (7000, 1, 'y', []); WITH w AS (SELECT 8 AS k UNION ALL "
	           "SELECT 7001) INSERT INTO t SELECT k, 0, '', [] FROM w ON CONFLICT (id) DO NOTHING");
	expect(s.con, SUMS " WHERE id IN (8, 7000, 7001)", "scan", "3|14009|7||y\n");
	expect(s.con, "SELECT reason LIKE '2 added rows were appended%' FROM rayql_structures()", NULL, "true\n");
	close_session(&s);
}

static void functions(void **state)
{
	(void)state;
	struct session s = table_session(5000);
	run(s.con, "DELETE FROM t WHERE abs(id - 100) < 3 AND lower(s) LIKE 's%'");
	takes_over(s.con, "5 deleted, 0 updated and 0 added rows");
	run(s.con, "BEGIN; UPDATE t SET a = 1 WHERE length(s) = 3 AND id < year(now()) - year(now()) + 20; COMMIT");
	takes_over(s.con, "0 deleted, 10 updated and 0 added rows");
	run(s.con, "DELETE FROM t WHERE id = 10 + 0 * random()");
	is_lost(s.con);
	run(s.con, "CREATE MACRO twice(x) AS 2 * x");
	run(s.con, "DELETE FROM t WHERE id = twice(2000)");
	takes_over(s.con, "1 deleted, 0 updated and 0 added rows");
	run(s.con, "CREATE MACRO abs(x) AS random() * x"); /* in front of the host's own */
	run(s.con, "DELETE FROM t WHERE abs(id) < 1");
	is_lost(s.con);
	run(s.con, "DROP MACRO abs; BEGIN; CREATE MACRO abs(x) AS random() * x; DELETE FROM t WHERE abs(id) < 1; COMMIT");
	is_lost(s.con);
	run(s.con, "DROP MACRO abs");
	run(s.con, "DELETE FROM t WHERE abs(id) = 3000");
	takes_over(s.con, "1 deleted, 0 updated and 0 added rows");
	close_session(&s);
}

static void parameters(void **state)
{
	(void)state;
	struct session s = table_session(5000);
	rayql_statement *stmt = NULL;
	rayql_error *err = NULL;
	rayql_result *res = NULL;
	static const char *const texts[] = {"DELETE FROM t WHERE id BETWEEN ? AND ?",
	                                    "UPDATE t SET a = $a WHERE s = $s AND id < $most",
	                                    "UPDATE t SET a = ? WHERE s = ? AND id < ?"};
	for (unsigned kind = 0; kind < 3; kind++) {
		assert_int_equal(rayql_prepare(s.con, texts[kind], &stmt, &err), RAYQL_OK);
		for (unsigned i = 0; i < 3; i++) {
			if (i == 2)
				run(s.con, "BEGIN");
			if (kind) {
				assert_int_equal(rayql_bind_int64(stmt, 1, 5), RAYQL_OK);
				assert_int_equal(rayql_bind_text(stmt, 2, "s7", 2), RAYQL_OK);
				assert_int_equal(rayql_bind_int64(stmt, 3, 100 * (i + 1)), RAYQL_OK);
			} else {
				assert_int_equal(rayql_bind_int64(stmt, 1, 1000 + 10 * i), RAYQL_OK);
				assert_int_equal(rayql_bind_double(stmt, 2, 1002.5 + 10 * i), RAYQL_OK);
			}
			assert_int_equal(rayql_execute(stmt, &res, &err), RAYQL_OK);
			rayql_result_free(res);
			if (i == 2)
				run(s.con, "COMMIT");
			static const char *const counts[2][3] = {
				{"3 deleted, 0 updated and 0 added rows", "3 deleted, 0 updated and 0 added rows",
			     "3 deleted, 0 updated and 0 added rows"},
				{"0 deleted, 4 updated and 0 added rows", "0 deleted, 7 updated and 0 added rows",
			     "0 deleted, 10 updated and 0 added rows"}};
			takes_over(s.con, counts[kind > 0][i]);
		}
		rayql_statement_free(stmt);
	}
	/* What a macro means is asked when the statement runs, of both. */
	run(s.con, "CREATE TEMP MACRO picks(x, y) AS x = y");
	assert_int_equal(rayql_prepare(s.con, "UPDATE t SET a = -77 WHERE picks(id, $1)", &stmt, &err), RAYQL_OK);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(rayql_bind_int64(stmt, 1, 3000), RAYQL_OK);
		assert_int_equal(rayql_execute(stmt, &res, &err), RAYQL_OK);
		rayql_result_free(res);
		takes_over(s.con, "0 deleted, 1 updated and 0 added rows");
		run(s.con, "CREATE OR REPLACE TEMP MACRO picks(x, y) AS x = y + 1");
	}
	rayql_statement_free(stmt);
	close_session(&s);
}

/* What is followed by the plan of its tables and condition. NULL: it is not. */
static const struct {
	const char *sql, *counts;
} forms[] = {
	{"DELETE FROM t WHERE id IN (SELECT id FROM u WHERE a < 20)", "8 deleted, 0"},
	{"DELETE FROM t AS x WHERE EXISTS (SELECT 1 FROM u WHERE u.id = x.id + 1 AND u.a > x.a)", "10 deleted, 0"},
	{"DELETE FROM t x USING u, v WHERE x.id = u.id + 2 AND v.id = u.id", "29 deleted, 0"},
	{"UPDATE t SET a = w.a FROM u, u AS w WHERE t.id = u.id + 3 AND w.id < 5000 AND w.id IS NOT DISTINCT FROM w.id",
     "0 deleted, 29"},
	{"UPDATE main.t SET a = (SELECT max(a) FROM u), s = 'FROM' WHERE id = (SELECT max(id) FROM t)", "0 deleted, 1"},
	{"UPDATE memory.main.\"t\" AS \"X\" SET a = random() * 5 WHERE \"X\".id::VARCHAR = '17' -- one", "0 deleted, 1"},
	{"WITH w AS (SELECT * FROM v), z(q) AS (SELECT 4) DELETE FROM t USING w, z WHERE t.id = w.id + z.q", "29 deleted, 0"},
	{"DELETE FROM t WHERE id = 13 RETURNING *", "1 deleted, 0"},
	{"UPDATE t SET a = 1 WHERE id = 14 RETURNING a, s", "0 deleted, 1"},
	{"DELETE FROM t WHERE rowid + 5 IN (SELECT min(rowid) FROM t GROUP BY s)", "25 deleted, 0"},
	{"MERGE INTO t AS x USING (SELECT id + 9 AS id, a FROM u) AS n ON x.id = n.id WHEN MATCHED AND CASE WHEN n.a > 50 THEN "
     "true ELSE false END THEN UPDATE SET a = n.a WHEN NOT MATCHED THEN INSERT VALUES (n.id, n.a, 'new')", "0 deleted, 14 updated and"},
	{"MERGE INTO t USING u ON t.id = u.id + 11 AND u.a < 50 WHEN MATCHED THEN DELETE", "14 deleted, 0"},
	{"MERGE INTO t USING (SELECT 6 AS id) n USING (id) WHEN MATCHED THEN DELETE", NULL},
	{"MERGE INTO t USING u ON t.id = u.id WHEN NOT MATCHED BY SOURCE AND t.id = 5 THEN DELETE", NULL},
	{"DELETE FROM t USING (VALUES (floor(random() * 0.5))) v(k) WHERE id = v.k", NULL},
	{"DELETE FROM t WHERE id IN (SELECT * FROM range(70, 80))", NULL},
	{"DELETE FROM t WHERE id IN (SELECT id FROM u LIMIT 3)", NULL},
	{"DELETE FROM t WHERE id IN (SELECT id FROM t QUALIFY row_number() OVER (ORDER BY a) = 77)", NULL},
	{"DELETE FROM t WHERE id > (SELECT sum(id::DOUBLE) / count(*) * 1.99 FROM t)", NULL},
	{"DELETE FROM t WHERE id = any_of(0.5)", NULL},
	{"UPDATE t SET a = 4 WHERE id IN (SELECT id FROM hidden WHERE r < 0.5)", NULL},
};

static void planned(void **state)
{
	(void)state;
	struct session s = table_session(20000);
	run(s.con, "CREATE TABLE u AS SELECT i::BIGINT id, (hash(i) % 100)::INTEGER a FROM range(0, 20000, 700) q(i); "
	           "CREATE VIEW v AS SELECT * FROM u; CREATE VIEW hidden AS SELECT id, random() r FROM u; "
	           "CREATE MACRO any_of(x) AS floor(x * random())");
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		run(s.con, forms[i].sql);
		char counts[64];
		(void)snprintf(counts, sizeof counts, "%s %% added rows", forms[i].counts ? forms[i].counts : "");
		if (forms[i].counts)
			takes_over(s.con, counts);
		else
			is_lost(s.con);
	}
	/* The host never casts: nothing is joined. In a transaction a query that did would end it. */
	run(s.con, "BEGIN; DELETE FROM t WHERE id = 15; UPDATE t SET a = 3 FROM u WHERE t.s::BIGINT = u.id AND u.a * 2 = -4; COMMIT");
	is_lost(s.con);
	run(s.con, "BEGIN; DELETE FROM t WHERE id IN (SELECT id + 7 FROM u); COMMIT");
	is_lost(s.con);
	run(s.con, "CREATE TABLE w AS SELECT id + 8 AS id FROM u; BEGIN; UPDATE t SET a = w.id + 1 FROM w WHERE t.id = w.id AND "
	           "w.id > 0; DELETE FROM t WHERE id = 100; COMMIT");
	takes_over(s.con, "1 deleted, 29 updated and 0 added rows");
	/* A namesake is told by the plan. */
	run(s.con, "ATTACH ':memory:' AS other; CREATE TABLE other.t AS SELECT * FROM t; DELETE FROM other.t WHERE id < 300");
	is_lost(s.con);
	run(s.con, "BEGIN; UPDATE other.t SET a = 3; ROLLBACK; DELETE FROM t WHERE id < 40");
	takes_over(s.con, "13 deleted, 0 updated and 0 added rows");
	run(s.con, "USE other; DELETE FROM t WHERE id = 400; USE memory");
	is_lost(s.con);
	close_session(&s);
}

/* ---- several connections ---- */
#define CONNECTIONS 3u
static bool id_is_key; /* then a checkpoint moves no rows, but an UPDATE of it does */

static void make_condition(char *out, size_t size, unsigned made)
{
	const unsigned a = roll(100), id = roll(made);
	switch (roll(11)) {
	case 0: (void)snprintf(out, size, "t.id = %u", id); break;
	case 1: (void)snprintf(out, size, "t.id BETWEEN %u AND %u", id, id + roll(200)); break;
	case 2: (void)snprintf(out, size, "t.a = %u AND t.s <> 's7'", a); break;
	case 3: (void)snprintf(out, size, "abs(t.a - %u) < 2 AND t.id > %u", a, id); break;
	case 4: (void)snprintf(out, size, "hash(t.id) %% 101 = %u", a); break;
	case 5: (void)snprintf(out, size, "t.id::VARCHAR LIKE '%u%%'", 100 + a); break;
	case 6: (void)snprintf(out, size, "t.id IN (SELECT id FROM u WHERE a = %u)", a); break;
	case 7: (void)snprintf(out, size, "t.id = (SELECT max(id) FROM t WHERE a = %u)", a); break;
	case 8: (void)snprintf(out, size, "EXISTS (SELECT 1 FROM u w WHERE w.id = t.id + %u AND w.a < t.a)", id); break;
	case 9: (void)snprintf(out, size, "t.a > %u AND t.id > %u AND random() < 0.1", a, id); break;
	default: (void)snprintf(out, size, "t.id >= %u", made - 1 - roll(20)); break;
	}
}

/* A DELETE or UPDATE, at times with other tables. */
static void make_change(char *out, size_t size, unsigned made, bool update)
{
	static const char *const sets[] = {"a = a + 1", "s = 'u'", "a = NULL", "id = id", "s = s || '!'", "a = a + 60",
	                                   "l = [1]", "a = (SELECT min(a) FROM u)"};
	static const char *const withs[] = {"", "", "WITH u AS (SELECT id + 3 AS id, a FROM u) "};
	static const char *const names[] = {"t", "t", "main.t", "t AS t"};
	static const char *const ends[] = {"", "", " RETURNING t.id"};
	char condition[160];
	make_condition(condition, sizeof condition, made);
	const bool others = roll(3) == 0;
	const char *with = withs[roll(3)], *name = names[roll(4)], *end = ends[roll(3)];
	if (others && update && roll(3) == 0)
		(void)snprintf(out, size, "INSERT INTO t (id, a, s) SELECT id + %u, a, 'k' FROM u WHERE a %% 4 < 2 %s", roll(made),
		               id_is_key ? "ON CONFLICT (id) DO UPDATE SET a = excluded.a" : "");
	else if (others && roll(3) == 0)
		(void)snprintf(out, size, "MERGE INTO %s USING (SELECT id + %u AS id, a FROM u) n ON t.id = n.id AND %s WHEN MATCHED "
		               "AND n.a < 70 THEN %s WHEN NOT MATCHED AND n.a < 20 THEN INSERT VALUES (n.id, n.a, 'm', [])", name,
		               roll(made), condition, update ? "UPDATE SET a = n.a" : "DELETE");
	else if (update)
		(void)snprintf(out, size, "%sUPDATE %s SET %s %s WHERE %s%s", with, name, others ? "a = u.a" : sets[roll(8)],
		               others ? "FROM u" : "", condition, others ? " AND u.id / 40 = t.id / 20" : end);
	else
		(void)snprintf(out, size, "%sDELETE FROM %s %s WHERE %s%s", with, name, others ? "USING u" : "", condition,
		               others ? " AND u.id % 40 = t.id % 40 AND u.a <= t.a" : end);
}

/* What fails for the others' sake ends the transaction. */
static void try(rayql_connection *con, const char *sql, bool *open)
{
	rayql_result *res = NULL;
	rayql_error *err = NULL;
	if (rayql_query(con, sql, &res, &err) == RAYQL_OK)
		free(read_rows(res, &err));
	if (err && *open) {
		run(con, "ROLLBACK");
		*open = false;
	}
	rayql_error_free(err);
}

static void step(rayql_connection *con, bool *open, unsigned *made)
{
	char sql[512];
	const unsigned what = roll(13);
	if (what < 8)
		make_change(sql, sizeof sql, *made, what < 4);
	else if (what == 8)
		(void)snprintf(sql, sizeof sql, "INSERT INTO t SELECT i, i %% 100, 'n', [] FROM range(%u, %u) q(i)", *made,
		               *made + roll(400));
	else if (what == 9)
		(void)snprintf(sql, sizeof sql, "UPDATE u SET a = (a + %u) %% 100 WHERE id %% 5 = %u", roll(9), roll(5));
	else if (what == 10 && !*open)
		(void)snprintf(sql, sizeof sql, "CHECKPOINT");
	else if (*open)
		(void)snprintf(sql, sizeof sql, roll(4) ? "COMMIT" : "ROLLBACK");
	else
		(void)snprintf(sql, sizeof sql, "BEGIN");
	*made += what == 8 ? 400 : 0;
	const bool begins = sql[0] == 'B', ends = sql[0] == 'C' && sql[1] == 'O';
	*open = *open || begins;
	try(con, sql, open);
	if (ends || strcmp(sql, "ROLLBACK") == 0)
		*open = false;
}

/* By columns, a sieve, an index of keys and a cube; and by the host, which answers whoever has written. */
static void check(rayql_connection *con, unsigned made, unsigned step)
{
	static const char *const queries[] = {
		SUMS, "SELECT count(*), sum(id) FROM t WHERE a < %u AND s > 's2'", "SELECT id, a, s FROM t WHERE id = %u",
		"SELECT s, count(*), sum(a) FROM t GROUP BY s ORDER BY s"};
	const unsigned which = roll(4);
	char sql[256];
	(void)snprintf(sql, sizeof sql, queries[which], which == 1 ? roll(100) : roll(made));
	char *have = rows_of(con, sql, NULL);
	run(con, "BEGIN; INSERT INTO written VALUES (1)");
	char by[32], *want = rows_of(con, sql, by);
	run(con, "ROLLBACK");
	assert_string_equal(by, "host");
	if (strcmp(want, have) != 0)
		fail_msg("step %u: %s: %sinstead of %s", step, sql, have, want);
	free(want);
	free(have);
}

static void connections(bool key)
{
	char path[256];
	struct session s = open_session(scratch_path(path, key ? "keyed.db" : "followed.db"), NULL);
	rayql_connection *others[CONNECTIONS];
	bool open[CONNECTIONS] = {0};
	unsigned made = 9000, followed = 0;
	id_is_key = key;
	run(s.con, key ? "CREATE TABLE t (id BIGINT PRIMARY KEY, a INTEGER CHECK (a < 150), s VARCHAR, l INTEGER[])"
	               : "CREATE TABLE t (id BIGINT, a INTEGER CHECK (a < 150), s VARCHAR, l INTEGER[])");
	run(s.con, "INSERT INTO t SELECT i, "
	           "hash(i) % 100, 's' || (i % 30), [] FROM range(9000) q(i); CREATE TABLE written (x INTEGER); "
	           "CREATE TABLE u AS SELECT i::BIGINT id, (hash(i) % 100)::INTEGER a FROM range(0, 9000, 70) q(i)");
	run(s.con, "CREATE INDEX c ON t USING columns (*) WITH (refresh = auto); SET rayql_force = on; "
	           "CREATE INDEX i ON t USING sorted (id); "
	           "CREATE INDEX f ON t USING sieve (a); CREATE MATERIALIZED VIEW m WITH (refresh = auto) "
	           "AS SELECT s, count(*), sum(a) FROM t GROUP BY s");
	for (unsigned k = 0; k < CONNECTIONS; k++)
		assert_int_equal(rayql_connect(s.db, &others[k], NULL), RAYQL_OK);
	for (unsigned i = 0; i < steps / 2; i++) {
		const unsigned k = roll(CONNECTIONS);
		step(others[k], &open[k], &made);
		if (roll(3))
			continue;
		check(s.con, made, i);
		char *reason = rows_of(s.con, REASON, NULL);
		followed += strstr(reason, "taken over") != NULL;
		free(reason);
	}
	print_message("%u times rows were taken over\n", followed);
	assert_true(followed > steps / 50);
	for (unsigned k = 0; k < CONNECTIONS; k++)
		rayql_disconnect(others[k]);
	close_session(&s);
}

static void without_a_key(void **state)
{
	(void)state;
	connections(false);
}

static void with_a_key(void **state)
{
	(void)state;
	connections(true);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		steps = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inside),     cmocka_unit_test(many),          cmocka_unit_test(moved),
		cmocka_unit_test(functions),  cmocka_unit_test(parameters),    cmocka_unit_test(planned),
		cmocka_unit_test(without_a_key), cmocka_unit_test(with_a_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
