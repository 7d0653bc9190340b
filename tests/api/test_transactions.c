/* Transactions and structures: a connection sees what DuckDB would show it, from one connection and from several. */
#include "check.h"

#define SUM "SELECT sum(v), count(*) FROM t"

static struct session two(rayql_connection **other)
{
	struct session s = open_session(NULL, NULL);
	assert_int_equal(rayql_connect(s.db, other, NULL), RAYQL_OK);
	make_table(s.con, "t", 10);
	run(s.con, "CREATE MATERIALIZED VIEW v AS SELECT g, sum(v), count(*) FROM t GROUP BY g");
	return s;
}

static void own_writes_are_seen(void **state)
{
	rayql_connection *other;
	struct session s = two(&other);
	(void)state;
	run(s.con, "BEGIN TRANSACTION");
	expect(s.con, SUM, "cube", "45|10\n");
	run(s.con, "INSERT INTO t VALUES (1, 'g1', 100)");
	expect(s.con, SUM, "host", "145|11\n");
	/* Others see neither the rows nor a stale structure. */
	expect(other, SUM, "cube", "45|10\n");
	run(s.con, "COMMIT");
	expect(s.con, SUM, "host", "145|11\n");
	expect(other, SUM, "host", "145|11\n");
	run(other, "REFRESH MATERIALIZED VIEW v");
	expect(s.con, SUM, "cube", "145|11\n");
	run(s.con, "START TRANSACTION; DELETE FROM t; ABORT");
	expect(s.con, SUM, "cube", "145|11\n");
	run(s.con, "BEGIN; DELETE FROM t; END");
	expect(s.con, SUM, "host", "NULL|0\n");
	rayql_disconnect(other);
	close_session(&s);
}

static void a_snapshot_stays(void **state)
{
	rayql_connection *other;
	struct session s = two(&other);
	(void)state;
	run(s.con, "BEGIN");
	expect(s.con, SUM, "cube", "45|10\n");
	run(other, "INSERT INTO t VALUES (1, 'g1', 100)");
	expect(other, SUM, "host", "145|11\n");
	expect(s.con, SUM, "host", "45|10\n");
	/* Rebuilt by the other: fresh for it, too new for the older snapshot. */
	run(other, "REFRESH MATERIALIZED VIEW v");
	expect(other, SUM, "cube", "145|11\n");
	expect(s.con, SUM, "host", "45|10\n");
	run(s.con, "COMMIT");
	expect(s.con, SUM, "cube", "145|11\n");
	/* The first statement of a transaction fixes its snapshot also when a method answered it from a cached plan. */
	expect(s.con, SUM, "cube", "145|11\n");
	run(s.con, "BEGIN");
	expect(s.con, SUM, "cube", "145|11\n");
	run(other, "INSERT INTO t VALUES (1, 'g1', 1000)");
	expect(s.con, SUM, "host", "145|11\n");
	run(s.con, "ROLLBACK");
	expect(s.con, SUM, "host", "1145|12\n");
	rayql_disconnect(other);
	close_session(&s);
}

static void errors_inside(void **state)
{
	rayql_connection *other;
	struct session s = two(&other);
	(void)state;
	run(s.con, "BEGIN");
	fails(s.con, "SELECT error('x')", RAYQL_ERROR_HOST, "x");
	/* DuckDB has aborted it: no method may answer as if nothing were wrong. */
	fails(s.con, SUM, RAYQL_ERROR_HOST, "Current transaction is aborted");
	run(s.con, "ROLLBACK");
	expect(s.con, SUM, "cube", "45|10\n");
	run(s.con, "BEGIN");
	fails(s.con, "BEGIN", RAYQL_ERROR_HOST, "cannot start a transaction within a transaction");
	fails(s.con, SUM, RAYQL_ERROR_HOST, "Current transaction is aborted");
	run(s.con, "COMMIT");
	fails(s.con, "COMMIT", RAYQL_ERROR_HOST, "no transaction is active");
	fails(s.con, "ROLLBACK", RAYQL_ERROR_HOST, "no transaction is active");
	expect(s.con, SUM, "cube", "45|10\n");
	run(s.con, "BEGIN");
	fails(s.con, "CREATE MATERIALIZED VIEW w AS SELECT a, count(*) FROM t GROUP BY a", RAYQL_ERROR_STATEMENT,
	      "cannot run inside a transaction block");
	fails(s.con, "REFRESH MATERIALIZED VIEW v", RAYQL_ERROR_STATEMENT, "cannot run inside a transaction block");
	fails(s.con, "DROP MATERIALIZED VIEW v", RAYQL_ERROR_STATEMENT, "cannot run inside a transaction block");
	/* These are RayQL's refusals: DuckDB's transaction goes on. */
	expect(s.con, SUM, "cube", "45|10\n");
	run(s.con, "INSERT INTO t VALUES (1, 'g1', 5); COMMIT");
	expect(s.con, SUM, "host", "50|11\n");
	rayql_disconnect(other);
	close_session(&s);
}

static void a_conflict_at_commit_is_a_rollback(void **state)
{
	rayql_connection *other;
	struct session s = two(&other);
	(void)state;
	run(s.con, "CREATE TABLE p (i INTEGER PRIMARY KEY)");
	run(s.con, "BEGIN; INSERT INTO p VALUES (1); INSERT INTO t VALUES (1, 'g1', 5)");
	run(other, "INSERT INTO p VALUES (1)");
	fails(s.con, "COMMIT", RAYQL_ERROR_HOST, "");
	expect(s.con, SUM, NULL, "45|10\n");
	run(s.con, "REFRESH MATERIALIZED VIEW v"); /* no transaction is open any more */
	expect(s.con, SUM, "cube", "45|10\n");
	rayql_disconnect(other);
	close_session(&s);
}

static void schema_changes_inside(void **state)
{
	rayql_connection *other;
	struct session s = two(&other);
	(void)state;
	expect(other, SUM, "cube", "45|10\n");
	run(s.con, "BEGIN; ALTER TABLE t RENAME COLUMN v TO w");
	expect(other, SUM, "cube", "45|10\n");
	run(s.con, "ROLLBACK");
	expect(s.con, SUM, "cube", "45|10\n");
	run(s.con, "BEGIN; ALTER TABLE t RENAME COLUMN v TO w; COMMIT");
	fails(other, SUM, RAYQL_ERROR_HOST, "\"v\" not found");
	expect(s.con, "SELECT state FROM rayql_structures()", NULL, "invalid\n");
	rayql_disconnect(other);
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_writes_are_seen),   cmocka_unit_test(a_snapshot_stays),
		cmocka_unit_test(errors_inside),         cmocka_unit_test(a_conflict_at_commit_is_a_rollback),
		cmocka_unit_test(schema_changes_inside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
