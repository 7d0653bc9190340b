/* How often DuckDB is asked until a text that was never seen has its first row: once for its plan, and for the rows of a
 * dimension. What else planning needs is known, or found out once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "exec/exec_internal.h"

struct world {
	struct rql_database *db;
	struct rql_session *s;
	uint64_t calls;
};

static void at_point(void *state)
{
	struct world *w = state;
	w->calls++;
}

static void run(struct rql_session *s, const char *text)
{
	struct rql_error err = {0};
	if (rql_session_query(s, text, NULL, &err) != RQL_OK)
		fail_msg("%s\n%s", text, rql_error_message(&err));
}

/* The calls into DuckDB that the text takes; it is a scan's. */
static uint64_t calls_of(struct world *w, struct rql_session *s, const char *text)
{
	uint64_t before = w->calls;
	run(s, text);
	struct rql_report *r = &s->report;
	if (strcmp(r->method, "scan") != 0)
		fail_msg("%s\nanswered by %s: %s", text, r->method, rql_strbuf_text(&r->reason));
	return w->calls - before;
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	struct rql_database_config config = {.threads = 2};
	struct rql_error err = {0};
	if (rql_database_open(NULL, &config, &w->db, &err) != RQL_OK || rql_session_open(w->db, &w->s, &err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
	run(w->s, "CREATE TABLE t AS SELECT (i % 7)::INTEGER a, 'g' || (i % 5) g, i::INTEGER v, "
	          "DATE '2020-01-01' + (i % 400)::INTEGER d FROM range(20000) r(i)");
	run(w->s, "CREATE TABLE d AS SELECT i::INTEGER k, 'n' || (i % 2) n FROM range(7) r(i)");
	run(w->s, "CREATE INDEX c ON t USING columns (*); SET rayql_force = on");
	run(w->s, "SELECT count(*) FROM t; SELECT sum(v), n FROM t, d WHERE a = k GROUP BY n"); /* what is found out once */
	rql_host_set_point(w->db->host, at_point, w);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	rql_host_set_point(w->db->host, NULL, NULL);
	rql_session_close(w->s);
	rql_database_close(w->db);
	free(w);
	return 0;
}

static void one_table(void **state)
{
	struct world *w = *state;
	assert_int_equal(calls_of(w, w->s, "SELECT g, sum(v) FROM t WHERE a < 3 GROUP BY g ORDER BY g"), 1);
	assert_int_equal(calls_of(w, w->s, "SELECT g, COUNT(*) FROM t WHERE d < DATE '2020-03-31' + INTERVAL 1 MONTH GROUP BY g"), 1);
	assert_int_equal(calls_of(w, w->s, "WITH q AS (SELECT V, A FROM t) SELECT a, sum(v) AS \"sum\" FROM q GROUP BY a"), 1);
	assert_int_equal(calls_of(w, w->s, "SELECT v FROM t WHERE a = 3 ORDER BY v DESC LIMIT 5"), 1);
	assert_int_equal(calls_of(w, w->s, "SELECT v FROM t WHERE a = 3 ORDER BY v DESC LIMIT 5"), 0);
	assert_int_equal(calls_of(w, w->s, "SELECT sum(v) + 1, sum(a * (V - 2)) FROM t WHERE a < 4"), 1);
	/* A name that only DuckDB can tell. */
	assert_int_equal(calls_of(w, w->s, "SELECT sum(v) / 2 FROM t WHERE a < 4"), 2);
}

static void a_dimension(void **state)
{
	struct world *w = *state;
	uint64_t all = calls_of(w, w->s, "SELECT n, sum(v) FROM t, d WHERE a = k AND n = 'n1' GROUP BY n");
	run(w->s, "INSERT INTO d VALUES (7, 'n7')");
	/* Its rows are counted once for each of its versions. */
	assert_int_equal(calls_of(w, w->s, "SELECT n, min(v) FROM t, d WHERE a = k AND n = 'n1' GROUP BY n"), all + 1);
	/* And its map is shared by the connection's plans (plan/map_cache.h), as long as the same is asked of it. */
	assert_int_equal(calls_of(w, w->s, "SELECT n, max(v) FROM t, d WHERE a = k AND n = 'n1' GROUP BY n"), all - 1);
	assert_int_equal(calls_of(w, w->s, "SELECT n, max(v) FROM t, d WHERE a = k AND n = 'n7' GROUP BY n"), all);
	run(w->s, "INSERT INTO d VALUES (8, 'n8')");
	assert_int_equal(calls_of(w, w->s, "SELECT n, avg(v) AS v FROM t, d WHERE a = k AND n = 'n7' GROUP BY n"), all + 1);
	struct rql_session *second = NULL;
	assert_int_equal(rql_session_open(w->db, &second, NULL), RQL_OK);
	run(second, "SET rayql_force = on");
	run(second, "SELECT count(*) FROM t");
	assert_int_equal(calls_of(w, second, "SELECT n, max(v) FROM t, d WHERE a = k AND n = 'n0' GROUP BY n"), all);
	rql_session_close(second);
}

/* Its columns are extended first, and all is planned again: DuckDB gives the new rows, and their number as of each
 * version. It is not asked for the dimension's rows before. */
static void a_stale_dimension(void **state)
{
	struct world *w = *state;
	run(w->s, "CREATE TABLE e AS SELECT i::INTEGER k, i % 3 x FROM range(7) r(i)");
	run(w->s, "CREATE INDEX ce ON e USING columns (*)");
	run(w->s, "SELECT sum(v), x FROM t, e WHERE a = k GROUP BY x; INSERT INTO e VALUES (7, 1)");
	uint64_t alone = calls_of(w, w->s, "SELECT max(x), min(k) FROM e WHERE k < 9");
	run(w->s, "INSERT INTO e VALUES (8, 2)");
	assert_int_equal(calls_of(w, w->s, "SELECT x, max(v) FROM t, e WHERE a = k GROUP BY x"), alone + 1);
}

static void in_a_transaction(void **state)
{
	struct world *w = *state;
	run(w->s, "BEGIN");
	assert_int_equal(calls_of(w, w->s, "SELECT g, sum(v) FROM t WHERE a < 6 GROUP BY g"), 1);
	run(w->s, "COMMIT");
	/* What is planned already is bound once, for the snapshot. */
	run(w->s, "SELECT g, sum(v) FROM t WHERE a < 5 GROUP BY g");
	run(w->s, "BEGIN");
	assert_int_equal(calls_of(w, w->s, "SELECT g, sum(v) FROM t WHERE a < 5 GROUP BY g"), 1);
	run(w->s, "COMMIT");
}

/* Temporary tables of one name are other tables to each connection. */
static void temporary_tables(void **state)
{
	struct world *w = *state;
	struct rql_session *second = NULL;
	assert_int_equal(rql_session_open(w->db, &second, NULL), RQL_OK);
	run(second, "SET rayql_force = on");
	run(w->s, "CREATE TEMP TABLE few AS SELECT i::INTEGER k FROM range(2) r(i)");
	run(second, "CREATE TEMP TABLE few AS SELECT i::INTEGER k FROM range(500) r(i)");
	run(w->s, "SELECT sum(v) FROM t, few WHERE a = k");
	assert_int_equal(rql_session_report(w->s)->stats.rows, 1);
	(void)calls_of(w, second, "SELECT sum(v) FROM t, few WHERE a = k");
	(void)calls_of(w, w->s, "SELECT max(v) FROM t, few WHERE a = k");
	rql_session_close(second);
	run(w->s, "DROP TABLE few");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(one_table), cmocka_unit_test(a_dimension),
	                                   cmocka_unit_test(a_stale_dimension),
	                                   cmocka_unit_test(in_a_transaction), cmocka_unit_test(temporary_tables)};
	return cmocka_run_group_tests(tests, setup, teardown);
}
