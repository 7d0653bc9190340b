/* Literals as DuckDB reads them, and which of a plan may take other values: held against the plans that DuckDB gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "host/host.h"
#include "sql/rel/rel.h"

static struct rql_host_db *db;
static struct rql_host_con *con;
static struct rql_arena *arena;

static int set_up(void **state)
{
	static const char *const tables[] = {
		"CREATE TABLE t (y TINYINT, u UTINYINT, k SMALLINT, i INTEGER, b BIGINT, m DECIMAL(9, 2), f DOUBLE, d DATE, s VARCHAR)",
		"CREATE VIEW v AS SELECT * FROM t WHERE i = 5 AND s = 'text'",
	};
	struct rql_error err = {0};
	(void)state;
	arena = rql_arena_new();
	if (!arena || rql_host_open(NULL, NULL, 0, &db, &err) != RQL_OK || rql_host_connect(db, &con, &err) != RQL_OK)
		return -1;
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		struct rql_host_result *result = NULL;
		if (rql_host_query(con, tables[i], &result, &err) != RQL_OK)
			return -1;
		rql_host_result_free(result);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rql_arena_free(arena);
	rql_host_disconnect(con);
	rql_host_close(db);
	return 0;
}

static enum rql_plan_dialect dialect(void)
{
	return rql_plan_dialect_of(rql_host_library_version());
}

/* ---- one statement ---- */
struct read {
	struct rql_literals literals;
	const struct rql_rel *root;
	bool free[64];
};

static struct read read_text(const char *sql)
{
	struct read r = {0};
	struct rql_plan_facts facts;
	struct rql_plan_source source = {.literals = &r.literals};
	struct rql_rel *root = NULL;
	struct rql_error err = {0};
	char *json = NULL;
	assert_true(rql_literals_read(arena, sql, &r.literals));
	if (rql_host_plan(con, sql, &json, &err) != RQL_OK ||
	    rql_plan_read(arena, dialect(), json, strlen(json), &source, &root, &facts, &err) != RQL_OK)
		fail_msg("%s\n%s", sql, rql_error_message(&err));
	free(json);
	rql_plan_free_literals(root, &r.literals, r.free);
	r.root = root;
	return r;
}

/* ---- texts and values ---- */

/* Each is one literal of a condition: DuckDB's constant and RayQL's are the same, or RayQL keeps it as text. */
static void test_values(void **state)
{
	static const struct {
		const char *condition;
		bool read, free;
	} cases[] = {
		{"i = 0", true, true},
		{"i = 5", true, true},
		{"k = 300", true, true},
		{"y = 127", true, true},
		{"y = 128", true, true},
		{"u = 255", true, true},
		{"i = -5", true, true},
		{"i = - 5", true, true},
		{"i > 2147483647", true, true},
		{"b > 2147483648", true, true},
		{"b > 4294967296", true, true},
		{"b > 999999999999999999", true, true},
		{"b > 1234567890123456789", false, false},
		{"m = 1.5", true, true},
		{"m > 0.05", true, true},
		{"m > 10.00", true, true},
		{"m > -1.25", true, true},
		{"f > 1e3", false, false},
		{"f > 5.", false, false},
		{"f > .5", false, false},
		{"i = 007", false, false},
		{"i = 1_000", false, false},
		{"s = 'x'", true, true},
		{"s = 'it''s'", true, true},
		{"s = ''", true, true},
		{"k=-5", true, true},
		{"k>=+5", true, true},
		{"s = 'Infinity'", false, false},
		{"s = E'x\\n'", false, false},
		{"s = $$x$$", false, false},
		{"s LIKE 'a%'", true, true},
		{"d >= DATE '1994-01-01'", true, true},
		{"d < '1994-01-01'", true, true},
		{"i + 1 < b", true, true},
		{"CAST(i AS VARCHAR) = '5'", true, true},
		/* the value may decide more than a condition */
		{"round(m, 1) = i", true, false},
		{"date_trunc('month', d) = d", true, false},
		{"substring(s, 2) = s", true, false},
		{"CASE WHEN i = 3 THEN true ELSE false END", true, false},
	};
	(void)state;
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		char sql[200];
		snprintf(sql, sizeof sql, "SELECT count(*) FROM t WHERE %s", cases[c].condition);
		struct read r = read_text(sql);
		if (r.literals.count != cases[c].read || r.free[0] != cases[c].free)
			fail_msg("%s: %u literals, free: %d", sql, (unsigned)r.literals.count, r.free[0]);
	}
}

/* What is no condition is not free: names, places, limits, types come of it. */
static void test_fixed(void **state)
{
	static const char *const texts[] = {
		"SELECT i + 5 FROM t",
		"SELECT i FROM t ORDER BY 1",
		"SELECT i, count(*) FROM t GROUP BY 1",
		"SELECT i FROM t LIMIT 5",
		"SELECT sum(i) FILTER (WHERE k = 5) FROM t",
		"SELECT (i = 5) AS x FROM t",
		"SELECT i + 5 AS x, count(*) FROM t GROUP BY ALL",
		"SELECT * FROM (VALUES (5)) q",
		"SELECT i FROM t ORDER BY i + 5",
	};
	(void)state;
	for (size_t c = 0; c < sizeof texts / sizeof *texts; c++) {
		struct read r = read_text(texts[c]);
		for (uint32_t i = 0; i < r.literals.count; i++)
			if (r.free[i])
				fail_msg("%s: literal %u is free", texts[c], (unsigned)i);
	}
}

/* ---- shapes ---- */
static bool same_shape(const char *a, const char *b)
{
	struct rql_literals x, y;
	assert_true(rql_literals_read(arena, a, &x));
	assert_true(rql_literals_read(arena, b, &y));
	return x.shape_length == y.shape_length && memcmp(x.shape, y.shape, x.shape_length) == 0;
}

static void test_shapes(void **state)
{
	(void)state;
	assert_true(same_shape("SELECT 1 WHERE a = 5", "SELECT  1\n WHERE a=7 -- x"));
	assert_true(same_shape("a = 'x'", "a = 'another'"));
	assert_true(same_shape("a = 1.25", "a = 3.50"));
	assert_false(same_shape("a = 5", "a = 50"));
	assert_false(same_shape("a = 127", "a = 128"));
	assert_false(same_shape("a = 255", "a = 256"));
	assert_false(same_shape("a = 1.25", "a = 1.250"));
	assert_false(same_shape("a = 1.5", "a = 15"));
	assert_false(same_shape("a = 5", "a = '5'"));
	assert_false(same_shape("a = 5", "b = 5"));
	assert_false(same_shape("a = 05", "a = 06"));
	assert_false(same_shape("a = 'x'", "a = E'x'"));
	assert_false(same_shape("a b", "ab"));
	struct rql_literals broken;
	assert_false(rql_literals_read(arena, "SELECT 'x", &broken));
}

/* ---- other values ---- */

static void expect_rebound(const char *first, const char *second)
{
	struct read a = read_text(first), b = read_text(second);
	struct rql_strbuf x = {0}, y = {0};
	assert_true(same_shape(first, second));
	const struct rql_rel *own = rql_plan_with_literals(arena, b.root, &b.literals, b.free, NULL);
	const struct rql_rel *bound = rql_plan_with_literals(arena, a.root, &b.literals, a.free, NULL);
	assert_true(own && bound && rql_rel_print(&x, own, NULL, NULL) && rql_rel_print(&y, bound, NULL, NULL));
	assert_string_equal(rql_strbuf_text(&y), rql_strbuf_text(&x));
	rql_strbuf_free(&x);
	rql_strbuf_free(&y);
}

/* The plan of one text with the literals of another is the other's plan. */
static void test_rebound(void **state)
{
	(void)state;
	expect_rebound("SELECT count(*) FROM t WHERE i = 5 AND s = 'text'", "SELECT count(*) FROM t WHERE i = 7 AND s = 'it''s'");
	expect_rebound("SELECT i FROM t WHERE i BETWEEN -5 AND 3", "SELECT i FROM t WHERE i BETWEEN -9 AND 0");
	expect_rebound("SELECT i FROM t WHERE y = 128 OR m > 0.05 OR m > -0.05", "SELECT i FROM t WHERE y = 128 OR m > 0.99 OR m > -1.11");
	expect_rebound("WITH c AS (SELECT * FROM t WHERE i = 5) SELECT * FROM c a, c b WHERE a.k = 3",
	               "WITH c AS (SELECT * FROM t WHERE i = 6) SELECT * FROM c a, c b WHERE a.k = 4");
	expect_rebound("SELECT k FROM t x WHERE i = 5 AND EXISTS (FROM t y WHERE y.i = x.i AND y.k <> 5)",
	               "SELECT k FROM t x WHERE i = 6 AND EXISTS (FROM t y WHERE y.i = x.i AND y.k <> 7)");
	expect_rebound("SELECT i FROM t WHERE d < DATE '1994-01-01' + INTERVAL '1' YEAR AND i IN (1, 2, 2)",
	               dialect() == RQL_PLAN_2 /* where INTERVAL '1' YEAR is a constant, fixed */
	                   ? "SELECT i FROM t WHERE d < DATE '1995-12-31' + INTERVAL '1' YEAR AND i IN (4, 4, 5)"
	                   : "SELECT i FROM t WHERE d < DATE '1995-12-31' + INTERVAL '3' YEAR AND i IN (4, 4, 5)");
	expect_rebound("SELECT k, count(*) FROM t WHERE i = 5 AND i = 5 GROUP BY k HAVING count(*) > 5",
	               "SELECT k, count(*) FROM t WHERE i = 6 AND i = 7 GROUP BY k HAVING count(*) > 8");
}

/* The points' literals as text: "1 3". */
static void expect_points(const char *sql, const char *want)
{
	struct read r = read_text(sql);
	struct rql_points points;
	struct rql_strbuf have = {0};
	rql_plan_point_literals(r.root, &r.literals, r.free, &points);
	for (uint32_t i = 0; i < points.count; i++) {
		rql_strbuf_printf(&have, i ? " %u" : "%u", points.of[i].literal);
		assert_true(points.of[i].type.id == RQL_TYPE_BIGINT || points.of[i].type.id == RQL_TYPE_VARCHAR);
	}
	if (strcmp(rql_strbuf_text(&have), want) != 0)
		fail_msg("%s: \"%s\" instead of \"%s\"", sql, rql_strbuf_text(&have), want);
	rql_strbuf_free(&have);
}

/* The literals that a plan may be run with other values of: beside one column of one table, once. */
static void test_points(void **state)
{
	(void)state;
	expect_points("SELECT k FROM t WHERE i = CAST('5' AS BIGINT)", "1");
	expect_points("SELECT k FROM t WHERE k > 3 AND CAST('5' AS BIGINT) = i ORDER BY k LIMIT 3", "2");
	expect_points("SELECT k, count(*) FROM t WHERE i = CAST('5' AS BIGINT) GROUP BY k HAVING count(*) > 5", "1");
	expect_points("SELECT k FROM t WHERE s = 'five'", "1");
	expect_points("SELECT k FROM t WHERE i = CAST('5' AS BIGINT) AND s = 'five' AND k = CAST('7' AS BIGINT)", "1 2 3");
	expect_points("SELECT k FROM t WHERE i = CAST('1' AS BIGINT) AND i = CAST('2' AS BIGINT) AND i = CAST('3' AS BIGINT) AND "
	              "i = CAST('4' AS BIGINT) AND i = CAST('5' AS BIGINT)",
	              "1 2 3 4");
	expect_points("SELECT k FROM t WHERE lower(s) = 'five'", "");
	expect_points("SELECT k FROM t WHERE s = 'a' OR i = CAST('5' AS BIGINT)", "");
	expect_points("SELECT k FROM t WHERE i = 5", "");
	expect_points("SELECT k FROM t WHERE i > CAST('5' AS BIGINT)", "");
	expect_points("SELECT k FROM t WHERE i = CAST('5' AS BIGINT) OR k = 3", "");
	expect_points("SELECT k FROM t WHERE i = CAST('5' AS BIGINT) + 1", "");
	expect_points("SELECT k FROM t WHERE i = TRY_CAST('5' AS BIGINT)", "");
	expect_points("SELECT k FROM (SELECT * FROM t LIMIT 9) WHERE i = CAST('5' AS BIGINT)", "");
	expect_points("SELECT x.k FROM t x JOIN t y ON x.k = y.k WHERE x.i = CAST('5' AS BIGINT)", "");
	expect_points("SELECT k FROM t GROUP BY k HAVING count(*) = CAST('5' AS BIGINT)", "");
}

/* A view's constants have places in its own text: only an offset tells them from those of the statement. */
static void test_foreign(void **state)
{
	(void)state;
	struct rql_literals l;
	struct rql_plan_facts facts;
	struct rql_rel *root = NULL;
	struct rql_error err = {0};
	char *json = NULL;
	char sql[4200];
	snprintf(sql, sizeof sql, "%4096s%s", "", "SELECT * FROM v WHERE i = 5 AND k = 7");
	assert_int_equal(rql_host_plan(con, sql, &json, &err), RQL_OK);
	assert_true(rql_literals_read(arena, sql + 4096, &l));
	struct rql_plan_source source = {.literals = &l, .offset = 4096};
	assert_int_equal(rql_plan_read(arena, dialect(), json, strlen(json), &source, &root, &facts, &err), RQL_OK);
	free(json);
	assert_false(source.foreign);
	struct rql_literals other;
	assert_true(rql_literals_read(arena, "SELECT * FROM v WHERE i = 6 AND k = 8", &other));
	bool free_literals[2];
	rql_plan_free_literals(root, &l, free_literals);
	assert_true(free_literals[0] && free_literals[1]);
	struct rql_strbuf text = {0};
	const struct rql_rel *bound = rql_plan_with_literals(arena, root, &other, free_literals, NULL);
	assert_true(bound && rql_rel_print(&text, bound, NULL, NULL));
	assert_non_null(strstr(rql_strbuf_text(&text), "CAST(5 AS INTEGER)")); /* the view's stays */
	assert_non_null(strstr(rql_strbuf_text(&text), "CAST(6 AS INTEGER)"));
	rql_strbuf_free(&text);
	/* Read with a wrong offset, places are no tokens'. */
	assert_int_equal(rql_host_plan(con, sql, &json, &err), RQL_OK);
	source = (struct rql_plan_source){.literals = &l, .offset = 4095};
	assert_int_equal(rql_plan_read(arena, dialect(), json, strlen(json), &source, &root, &facts, &err), RQL_OK);
	assert_true(source.foreign);
	free(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),  cmocka_unit_test(test_fixed),   cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_rebound), cmocka_unit_test(test_points), cmocka_unit_test(test_foreign),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
