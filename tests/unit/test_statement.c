/* RayQL's own statements, tokens, statement ends, and errors as DuckDB prints them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "sql/statement.h"

static struct rql_arena *arena;

static int set_up(void **state)
{
	(void)state;
	arena = rql_arena_new();
	return arena ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	rql_arena_free(arena);
	return 0;
}

static struct rql_statement parsed(const char *sql)
{
	struct rql_statement statement;
	struct rql_error err = {0};
	if (rql_statement_parse(arena, sql, &statement, &err) != RQL_OK)
		fail_msg("%s: %s", sql, rql_error_message(&err));
	rql_error_clear(&err);
	return statement;
}

static void expect_error(const char *sql, const char *message)
{
	struct rql_statement statement = {.kind = RQL_STATEMENT_SET};
	struct rql_error err = {0};
	assert_int_equal(rql_statement_parse(arena, sql, &statement, &err), RQL_ERROR_STATEMENT);
	assert_string_equal(rql_error_message(&err), message);
	assert_int_equal(statement.kind, RQL_STATEMENT_SET); /* untouched */
	rql_error_clear(&err);
}

static void test_create_view(void **state)
{
	(void)state;
	struct rql_statement s = parsed("CREATE MATERIALIZED VIEW v AS SELECT a, sum(b) FROM t GROUP BY a ; ");
	assert_int_equal(s.kind, RQL_STATEMENT_CREATE_VIEW);
	assert_string_equal(s.name.name, "v");
	assert_null(s.name.schema);
	assert_string_equal(s.query, "SELECT a, sum(b) FROM t GROUP BY a");
	assert_int_equal(s.query_position, 30);
	assert_false(s.or_replace || s.if_not_exists);

	s = parsed("-- cubes\ncreate Or replace materialized/* c /* n */ */view Db.\"My \"\"S\".\"V\" with (Rollup = ON, unit 'cpu', "
	           "refresh=$$auto$$, order = (a, \"b c\", f(1)), n = -8, plain, e = E'a\\'b') as from t -- end");
	assert_true(s.or_replace);
	assert_string_equal(s.name.catalog, "Db");
	assert_string_equal(s.name.schema, "My \"S");
	assert_string_equal(s.name.name, "V");
	static const char *const expected[][2] = {{"rollup", "ON"}, {"unit", "cpu"}, {"refresh", "auto"},
		{"order", "a, \"b c\", f(1)"}, {"n", "-8"}, {"plain", "true"}, {"e", "a'b"}};
	assert_int_equal(s.option_count, 7);
	for (uint32_t i = 0; i < s.option_count; i++) {
		assert_string_equal(s.options[i].name, expected[i][0]);
		assert_string_equal(s.options[i].value, expected[i][1]);
	}
	assert_string_equal(s.query, "from t");
	s = parsed("CREATE MATERIALIZED VIEW IF NOT EXISTS s.v AS (SELECT 1)");
	assert_true(s.if_not_exists);
	assert_string_equal(s.name.schema, "s");
	assert_string_equal(s.query, "(SELECT 1)");
}

static void test_other_views(void **state)
{
	(void)state;
	struct rql_statement s = parsed("refresh materialized view s.v;");
	assert_int_equal(s.kind, RQL_STATEMENT_REFRESH_VIEW);
	assert_string_equal(s.name.name, "v");
	s = parsed("REFRESH INDEX s.c;");
	assert_int_equal(s.kind, RQL_STATEMENT_REFRESH_INDEX);
	assert_string_equal(s.name.schema, "s");
	assert_string_equal(s.name.name, "c");
	s = parsed("DROP MATERIALIZED VIEW IF EXISTS v RESTRICT");
	assert_int_equal(s.kind, RQL_STATEMENT_DROP_VIEW);
	assert_true(s.if_exists);
	s = parsed("drop index i");
	assert_int_equal(s.kind, RQL_STATEMENT_DROP_INDEX);
	assert_false(s.if_exists);
	assert_int_equal(parsed("DROP VIEW v").kind, RQL_STATEMENT_HOST);
	assert_int_equal(parsed("CREATE VIEW v AS SELECT 1").kind, RQL_STATEMENT_HOST);
	assert_int_equal(parsed("CREATE OR REPLACE TABLE t (i int)").kind, RQL_STATEMENT_HOST);
	assert_int_equal(parsed("").kind, RQL_STATEMENT_HOST);
	assert_int_equal(parsed("select 'open").kind, RQL_STATEMENT_HOST);
	assert_int_equal(parsed("\"create\" materialized view v as select 1").kind, RQL_STATEMENT_HOST);
}

static void test_index(void **state)
{
	(void)state;
	struct rql_statement s = parsed("CREATE INDEX IF NOT EXISTS i ON db.s.t USING Sieve (a, \"b c\") WITH (bits = 8)");
	assert_int_equal(s.kind, RQL_STATEMENT_CREATE_INDEX);
	assert_true(s.if_not_exists);
	assert_string_equal(s.method, "sieve");
	assert_string_equal(s.table.catalog, "db");
	assert_string_equal(s.table.name, "t");
	assert_int_equal(s.column_count, 2);
	assert_string_equal(s.columns[1], "b c");
	assert_string_equal(s.options[0].value, "8");
	s = parsed("create index i on t using columns (*)");
	assert_int_equal(s.column_count, 1);
	assert_string_equal(s.columns[0], "*");
	s = parsed("create index i on t using rx (a,b,c,d,e,f,g,h,i,j,k)");
	assert_int_equal(s.column_count, 11);
	assert_string_equal(s.columns[10], "k");
	assert_int_equal(parsed("CREATE INDEX i ON t (a)").kind, RQL_STATEMENT_HOST);
	assert_int_equal(parsed("CREATE INDEX i ON t USING art (a)").kind, RQL_STATEMENT_HOST);
	assert_int_equal(parsed("CREATE INDEX ON").kind, RQL_STATEMENT_HOST);
}

static void test_explain(void **state)
{
	(void)state;
	struct rql_statement s = parsed("EXPLAIN SELECT 1;");
	assert_int_equal(s.kind, RQL_STATEMENT_EXPLAIN);
	assert_false(s.analyze || s.host_only);
	assert_null(s.explain_format);
	assert_string_equal(s.query, "SELECT 1");
	assert_true(parsed("explain analyse from t").analyze);
	s = parsed("EXPLAIN (ANALYZE, FORMAT Json) (SELECT 1)");
	assert_true(s.analyze);
	assert_string_equal(s.explain_format, "json");
	assert_string_equal(s.query, "(SELECT 1)");
	s = parsed("EXPLAIN ANALYZE (SELECT 1)");
	assert_true(s.analyze);
	assert_string_equal(s.query, "(SELECT 1)");
	assert_string_equal(parsed("EXPLAIN (SELECT 1)").query, "(SELECT 1)");
	assert_false(parsed("explain (analyze false) select 1").analyze);
	assert_true(parsed("EXPLAIN (foo) SELECT 1").host_only);
	assert_true(parsed("EXPLAIN CREATE TABLE t (i int)").host_only);
	assert_true(parsed("EXPLAIN ANALYZE INSERT INTO t VALUES (1)").host_only);
	assert_true(parsed("EXPLAIN WITH x AS (SELECT 1) INSERT INTO t FROM x").host_only);
	assert_false(parsed("EXPLAIN WITH x AS (SELECT 'insert') FROM x").host_only);
	assert_true(parsed("EXPLAIN DROP INDEX i").host_only);
}

static void test_settings(void **state)
{
	(void)state;
	struct rql_statement s = parsed("SET Rayql_Fallback = 'off'");
	assert_int_equal(s.kind, RQL_STATEMENT_SET);
	assert_string_equal(s.name.name, "rayql_fallback");
	assert_string_equal(s.value, "off");
	assert_string_equal(parsed("set session \"rayql_x\" to on;").value, "on");
	assert_string_equal(parsed("set global rayql_x = -1.5").value, "-1.5");
	assert_null(parsed("set rayql_x = default").value);
	assert_int_equal(parsed("reset rayql_x").kind, RQL_STATEMENT_RESET);
	assert_int_equal(parsed("SET threads = 2").kind, RQL_STATEMENT_HOST);
	assert_int_equal(parsed("SET VARIABLE rayql_x = 2").kind, RQL_STATEMENT_HOST);
	assert_int_equal(parsed("RESET threads").kind, RQL_STATEMENT_HOST);
}

static void test_errors(void **state)
{
	(void)state;
	expect_error("CREATE MATERIALIZED VIEW v WITH (FOO", "Parser Error: syntax error at end of input");
	expect_error("CREATE MATERIALIZED v AS SELECT 1",
	             "Parser Error: syntax error at or near \"v\"\n\nLINE 1: CREATE MATERIALIZED v AS SELECT 1\n"
	             "                            ^");
	expect_error("create materialized view\n  select as select 1",
	             "Parser Error: syntax error at or near \"select\"\n\nLINE 2:   select as select 1\n          ^");
	expect_error("REFRESH VIEW v",
	             "Parser Error: syntax error at or near \"VIEW\"\n\nLINE 1: REFRESH VIEW v\n                ^");
	expect_error("REFRESH INDEX", "Parser Error: syntax error at end of input");
	expect_error("REFRESH MATERIALIZED VIEW v WITH DATA",
	             "Parser Error: syntax error at or near \"WITH\"\n\nLINE 1: REFRESH MATERIALIZED VIEW v WITH DATA\n"
	             "                                    ^");
	expect_error("SET rayql_x 'a''b'",
	             "Parser Error: syntax error at or near \"'a''b'\"\n\nLINE 1: SET rayql_x 'a''b'\n"
	             "                    ^");
	expect_error("SET rayql_memory = 8 GB",
	             "Parser Error: syntax error at or near \"GB\"\n\nLINE 1: SET rayql_memory = 8 GB\n"
	             "                             ^");
	expect_error("REFRESH MATERIALIZED VIEW \"v",
	             "Parser Error: unterminated quoted identifier at or near \"\"v\"\n\n"
	             "LINE 1: REFRESH MATERIALIZED VIEW \"v\n                                  ^");
	expect_error("DROP MATERIALIZED VIEW a.b.c.d",
	             "Parser Error: syntax error at or near \".\"\n\nLINE 1: DROP MATERIALIZED VIEW a.b.c.d\n"
	             "                                    ^");
	expect_error("CREATE MATERIALIZED VIEW v WITH (a = 1, A = 2) AS SELECT 1",
	             "Parser Error: the option \"a\" is given twice\n\n"
	             "LINE 1: CREATE MATERIALIZED VIEW v WITH (a = 1, A = 2) AS SELECT 1\n"
	             "                                                ^");
	expect_error("EXPLAIN REFRESH MATERIALIZED VIEW v",
	             "Parser Error: EXPLAIN works on queries, and this is one of RayQL's own statements: explain the query "
	             "inside it\n\nLINE 1: EXPLAIN REFRESH MATERIALIZED VIEW v\n                ^");
	expect_error("CREATE TEMP MATERIALIZED VIEW v AS SELECT 1",
	             "Parser Error: a materialized view cannot be temporary: leave out TEMP\n\n"
	             "LINE 1: CREATE TEMP MATERIALIZED VIEW v AS SELECT 1\n               ^");
	expect_error("CREATE UNIQUE INDEX i ON t USING hash (a)",
	             "Parser Error: an index of RayQL's does not check uniqueness: leave out UNIQUE\n\n"
	             "LINE 1: CREATE UNIQUE INDEX i ON t USING hash (a)\n               ^");
	expect_error("CREATE MATERIALIZED VIEW v AS SELECT 1; SELECT 2",
	             "Parser Error: syntax error at or near \"SELECT\"\n\n"
	             "LINE 1: CREATE MATERIALIZED VIEW v AS SELECT 1; SELECT 2\n"
	             "                                                ^");
}

static void expect_caret(const char *sql, const char *mark, const char *expected)
{
	struct rql_strbuf text = {0};
	rql_statement_caret(&text, sql, (uint32_t)(strstr(sql, mark) - sql));
	assert_string_equal(rql_strbuf_text(&text), expected);
	rql_strbuf_free(&text);
}

/* What DuckDB 1.5.6 printed for these. */
static void test_caret(void **state)
{
	(void)state;
	expect_caret("select\n  1,\n  2 frm x\n from", "x\n", "\n\nLINE 3:   2 frm x\n                ^");
	expect_caret("  \n\n selec 1\n", "selec", "\n\nLINE 3:  selec 1\n         ^");
	expect_caret("select\t\t1 x y z", "y", "\n\nLINE 1: select\t\t1 x y z\n                  ^");
	expect_caret("select 1                                                                        bad bad x", "bad x",
	             "\n\nLINE 1: ...                                                           bad bad x\n"
	             "                                                                          ^");
	expect_caret("select 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, "
	             "26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39 from from "
	             "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
	             "from x",
	             "\n\nLINE 1: ..., 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39 from from "
	             "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\n"
	             "                                                                         ^");
	expect_caret("select '\xe6\x97\xa5\xe6\x9c\xac' x", "x",
	             "\n\nLINE 1: select '\xe6\x97\xa5\xe6\x9c\xac' x\n                      ^");
	struct rql_strbuf text = {0};
	rql_statement_caret(&text, "abc", 3); /* the end has no place */
	assert_string_equal(rql_strbuf_text(&text), "");
	rql_strbuf_free(&text);
}

static void test_tokens(void **state)
{
	(void)state;
	static const char sql[] = "a$b 'x''y' E'\\'' \"q\"\"r\" $t$ ; $$ $t$ 1.5e-3 .5 1_000 ? $1 $n >= a::b->>'c' /* /* */ */ -- x\n:=;";
	static const struct {
		enum rql_token_kind kind;
		const char *text;
	} expected[] = {
		{RQL_TOKEN_WORD, "a$b"}, {RQL_TOKEN_STRING, "'x''y'"}, {RQL_TOKEN_STRING, "E'\\''"},
		{RQL_TOKEN_QUOTED_WORD, "\"q\"\"r\""}, {RQL_TOKEN_STRING, "$t$ ; $$ $t$"}, {RQL_TOKEN_NUMBER, "1.5e-3"},
		{RQL_TOKEN_NUMBER, ".5"}, {RQL_TOKEN_NUMBER, "1_000"}, {RQL_TOKEN_PARAMETER, "?"},
		{RQL_TOKEN_PARAMETER, "$1"}, {RQL_TOKEN_PARAMETER, "$n"}, {RQL_TOKEN_SYMBOL, ">="}, {RQL_TOKEN_WORD, "a"},
		{RQL_TOKEN_SYMBOL, "::"}, {RQL_TOKEN_WORD, "b"}, {RQL_TOKEN_SYMBOL, "->>"}, {RQL_TOKEN_STRING, "'c'"},
		{RQL_TOKEN_SYMBOL, ":="}, {RQL_TOKEN_SYMBOL, ";"}, {RQL_TOKEN_END, ""},
	};
	uint32_t position = 0;
	assert_int_equal(rql_token_next("", &position).kind, RQL_TOKEN_END);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct rql_token token = rql_token_next(sql, &position);
		assert_int_equal(token.kind, expected[i].kind);
		assert_int_equal(token.length, strlen(expected[i].text));
		assert_memory_equal(sql + token.start, expected[i].text, token.length);
	}
}

static void test_split(void **state)
{
	(void)state;
	static const char *const incomplete[] = {"", "  ", "select 1", "select ';", "select \";", "select $$;", "/* ; ",
		"/* /* */ ; ", "-- ;", "select E'\\';", "select $a$ ; $b$ ;"};
	static const struct {
		const char *sql;
		size_t length;
	} complete[] = {
		{";", 1},
		{"select 1;select 2;", 9},
		{"select 'a;b';", 13},
		{"select \"a;b\" -- ;\n;", 19},
		{"select $a$;$$;$a$ ; x", 19},
		{"/* ; /* ; */ ; */ select 1 ;", 28},
		{"select E'\\';' ;", 15},
		{"select '\\';", 11},
	};
	for (size_t i = 0; i < sizeof(incomplete) / sizeof(incomplete[0]); i++)
		assert_int_equal(rql_statement_split(incomplete[i]), 0);
	for (size_t i = 0; i < sizeof(complete) / sizeof(complete[0]); i++)
		assert_int_equal(rql_statement_split(complete[i].sql), complete[i].length);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create_view), cmocka_unit_test(test_other_views), cmocka_unit_test(test_index),
		cmocka_unit_test(test_explain),     cmocka_unit_test(test_settings),    cmocka_unit_test(test_errors),
		cmocka_unit_test(test_caret),       cmocka_unit_test(test_tokens),      cmocka_unit_test(test_split),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
