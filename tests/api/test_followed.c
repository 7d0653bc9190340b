/* DELETE and UPDATE whose rows columns follow: inside transactions that are committed or rolled back, of one connection
 * and of several at once, with functions and with parameters; and what is not followed. test_followed [STEPS [SEED]] */
#include "check.h"

static unsigned steps = 240;
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
	         "SELECT coalesce(reason, '') LIKE '%s were taken over in %% ms' FROM rayql_structures()", counts);
	expect_at(con, reason, NULL, "true\n", __FILE__, line);
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
	run(s.con, "BEGIN; DELETE FROM t WHERE id = (SELECT max(id) FROM t); DELETE FROM t WHERE id = 302; COMMIT");
	is_lost(s.con);
	run(s.con, "BEGIN; CREATE TEMP TABLE t (id BIGINT, a INTEGER, s VARCHAR); DELETE FROM t WHERE id = 303; "
	           "DROP TABLE t; COMMIT");
	expect(s.con, "SELECT count(*) FROM t WHERE id = 303", NULL, "1\n");
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
	is_lost(s.con);
	run(s.con, "BEGIN; UPDATE t SET id = id + 10000 WHERE id = 7; COMMIT");
	is_lost(s.con);
	run(s.con, "BEGIN; UPDATE t SET a = 6 WHERE id < 9; COMMIT");
	takes_over(s.con, "0 deleted, 8 updated and 0 added rows");
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
	is_lost(s.con);
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
	close_session(&s);
}

/* ---- several connections ---- */
#define CONNECTIONS 3u

static void make_condition(char *out, size_t size, unsigned made)
{
	const unsigned a = roll(100), id = roll(made);
	switch (roll(6)) {
	case 0: (void)snprintf(out, size, "id = %u", id); break;
	case 1: (void)snprintf(out, size, "id BETWEEN %u AND %u", id, id + roll(200)); break;
	case 2: (void)snprintf(out, size, "a = %u AND s <> 's7'", a); break;
	case 3: (void)snprintf(out, size, "abs(a - %u) < 2 AND id > %u", a, id); break;
	case 4: (void)snprintf(out, size, "hash(id) %% 101 = %u", a); break;
	default: (void)snprintf(out, size, "id >= %u", made - 1 - roll(20)); break;
	}
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
	static const char *const sets[] = {"a = a + 1", "s = 'u'", "a = NULL", "id = id", "s = s || '!'"};
	char condition[128], sql[256];
	const unsigned what = roll(12);
	make_condition(condition, sizeof condition, *made);
	if (what < 4)
		(void)snprintf(sql, sizeof sql, "DELETE FROM t WHERE %s", condition);
	else if (what < 8)
		(void)snprintf(sql, sizeof sql, "UPDATE t SET %s WHERE %s", sets[roll(5)], condition);
	else if (what == 8)
		(void)snprintf(sql, sizeof sql, "INSERT INTO t SELECT i, i %% 100, 'n' FROM range(%u, %u) q(i)", *made,
		               *made + roll(400));
	else if (what == 9 && !*open)
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

static void connections(void **state)
{
	(void)state;
	char path[256];
	struct session s = open_session(scratch_path(path, "followed.db"), NULL);
	rayql_connection *others[CONNECTIONS];
	bool open[CONNECTIONS] = {0};
	unsigned made = 9000, followed = 0;
	run(s.con, "CREATE TABLE t AS SELECT i::BIGINT id, (hash(i) % 100)::INTEGER a, 's' || (i % 30) s FROM "
	           "range(9000) q(i)");
	run(s.con, "CREATE INDEX c ON t USING columns (*) WITH (refresh = auto); SET rayql_force = on");
	for (unsigned k = 0; k < CONNECTIONS; k++)
		assert_int_equal(rayql_connect(s.db, &others[k], NULL), RAYQL_OK);
	for (unsigned i = 0; i < steps; i++) {
		const unsigned k = roll(CONNECTIONS);
		step(others[k], &open[k], &made);
		if (roll(3))
			continue;
		run(s.con, "SET rayql_enable_scan = off");
		char *want = rows_of(s.con, SUMS, NULL);
		run(s.con, "SET rayql_enable_scan = on");
		char *have = rows_of(s.con, SUMS, NULL);
		if (strcmp(want, have) != 0)
			fail_msg("step %u: %sinstead of %s", i, have, want);
		char *reason = rows_of(s.con, REASON, NULL);
		followed += strstr(reason, "taken over") != NULL;
		free(reason);
		free(want);
		free(have);
	}
	print_message("%u times rows were taken over\n", followed);
	assert_true(followed > steps / 20);
	for (unsigned k = 0; k < CONNECTIONS; k++)
		rayql_disconnect(others[k]);
	close_session(&s);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		steps = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	const struct CMUnitTest tests[] = {cmocka_unit_test(inside), cmocka_unit_test(moved), cmocka_unit_test(functions),
	                                   cmocka_unit_test(parameters), cmocka_unit_test(connections)};
	return cmocka_run_group_tests(tests, NULL, remove_scratch);
}
