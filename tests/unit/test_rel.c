/* Plan JSON -> rel: what each part of a plan becomes, what is refused, and what malformed text does. The texts are
 * DuckDB 1.5.6's own, shortened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "sql/rel/rel.h"

#define PLAN(text) "{\"error\":false,\"plans\":[" text "]}"
#define INT "{\"id\":\"INTEGER\"}"
#define TYPES                                                                                                          \
	"{\"id\":\"INTEGER\"},{\"id\":\"VARCHAR\"},{\"id\":\"DECIMAL\",\"type_info\":{\"type\":\"DECIMAL_TYPE_INFO\","     \
	"\"width\":12,\"scale\":2}}"
#define GET(filters, indexes, projection)                                                                              \
	"{\"type\":\"LOGICAL_GET\",\"returned_types\":[" TYPES "],\"names\":[\"a\",\"s\",\"d\"],\"projection_ids\":["      \
	projection "],\"table_filters\":{\"filters\":[" filters "]},\"name\":\"seq_scan\",\"arguments\":[],"               \
	"\"original_arguments\":[],\"has_serialize\":true,\"function_data\":{\"catalog\":\"memory\",\"schema\":\"main\","  \
	"\"table\":\"t\",\"is_index_scan\":false,\"is_create_index\":false},\"projected_input\":[],\"column_indexes\":["   \
	indexes "]}"
#define REF(index, type)                                                                                               \
	"{\"expression_class\":\"BOUND_REF\",\"type\":\"BOUND_REF\",\"alias\":\"x\",\"return_type\":" type                 \
	",\"index\":" index "}"
#define CONSTANT(type, value)                                                                                          \
	"{\"expression_class\":\"BOUND_CONSTANT\",\"type\":\"VALUE_CONSTANT\",\"value\":{\"type\":" type                   \
	",\"is_null\":false,\"value\":" value "}}"
#define PROJECT(exprs, child) "{\"type\":\"LOGICAL_PROJECTION\",\"children\":[" child "],\"expressions\":[" exprs "]}"

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

static const struct rql_rel *parsed(const char *json)
{
	struct rql_rel *rel = NULL;
	struct rql_error err = {0};
	if (rql_rel_parse(arena, RQL_PLAN_1_5, json, strlen(json), &rel, &err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
	return rel;
}

static void expect_text(const struct rql_expr *expr, const char *expected)
{
	struct rql_strbuf text = {0};
	rql_expr_describe(&text, expr);
	assert_string_equal(rql_strbuf_text(&text), expected);
	rql_strbuf_free(&text);
}

static void test_scan_filters(void **state)
{
	(void)state;
	/* filters are keyed by table column, read at its place among column_indexes, and the projection is above them */
	const struct rql_rel *rel = parsed(PLAN(GET(
		"{\"key\":2,\"value\":{\"filter_type\":\"CONSTANT_COMPARISON\",\"comparison_type\":\"COMPARE_GREATERTHAN\","
	    "\"constant\":"
		"{\"type\":{\"id\":\"DECIMAL\",\"type_info\":{\"type\":\"DECIMAL_TYPE_INFO\",\"width\":12,\"scale\":2}},\"is_null\":false,\"value\":350}}},"
		"{\"key\":0,\"value\":{\"filter_type\":\"OPTIONAL_FILTER\",\"child_filter\":{\"filter_type\":\"DYNAMIC_"
	    "FILTER\"}}},"
		"{\"key\":1,\"value\":{\"filter_type\":\"CONJUNCTION_AND\",\"child_filters\":[{\"filter_type\":\"IS_NOT_NULL\"}"
	    ","
		"{\"filter_type\":\"IN_FILTER\",\"values\":[{\"type\":{\"id\":\"VARCHAR\"},\"is_null\":false,\"value\":\"p\"},"
		"{\"type\":{\"id\":\"VARCHAR\"},\"is_null\":false,\"value\":\"q\"}]}]}}",
		"{\"index\":1},{\"index\":2},{}", "2")));
	assert_int_equal(rel->kind, RQL_REL_PROJECT);
	assert_int_equal(rel->column_count, 1);
	expect_text(rel->exprs[0], "a");
	rel = rel->children[0];
	assert_int_equal(rel->kind, RQL_REL_FILTER);
	assert_int_equal(rel->expr_count, 2);
	expect_text(rel->exprs[0], "d > '3.50'");
	expect_text(rel->exprs[1], "(s IS NOT NULL) AND (s IN ('p', 'q'))");
	rel = rel->children[0];
	assert_int_equal(rel->kind, RQL_REL_GET);
	assert_string_equal(rel->table.table, "t");
	assert_int_equal(rel->column_count, 3);
	assert_int_equal(rel->column_ids[0], 1);
	assert_int_equal(rel->column_ids[2], 0);
	assert_string_equal(rel->column_names[1], "d");
	assert_int_equal(rel->types[1].scale, 2);
	assert_null(rql_rel_reason(rel));
}

static void test_scan_rowid(void **state)
{
	(void)state;
	const struct rql_rel *rel = parsed(PLAN(GET(
		"{\"key\":18446744073709551615,\"value\":{\"filter_type\":\"EXPRESSION_FILTER\",\"expr\":{\"expression_class\":"
		"\"BOUND_COMPARISON\",\"type\":\"COMPARE_LESSTHAN\",\"left\":" REF(
			"0", "{\"id\":\"BIGINT\"}") ",\"right\":" CONSTANT("{\"id\":\"BIGINT\"}", "9223372036854775807") "}}}",
		"{},{\"index\":18446744073709551615}", "")));
	assert_int_equal(rel->kind, RQL_REL_FILTER);
	assert_int_equal(rel->exprs[0]->children[0]->index, 1);
	assert_true(rel->exprs[0]->children[1]->value.integer == INT64_MAX);
	assert_int_equal(rel->children[0]->column_ids[1], UINT32_MAX);
	/* no column at all: the row number is read, as DuckDB does */
	rel = parsed(PLAN(GET("", "", "")));
	assert_int_equal(rel->kind, RQL_REL_GET);
	assert_int_equal(rel->column_ids[0], UINT32_MAX);
}

static void test_opaque(void **state)
{
	(void)state;
	const struct rql_rel *rel =
		parsed(PLAN("{\"type\":\"LOGICAL_GET\",\"returned_types\":[{\"id\":\"BIGINT\"}],\"names\":[\"range\"],"
	                "\"projection_ids\":[],\"name\":\"range\",\"column_indexes\":[{}]}"));
	assert_int_equal(rel->kind, RQL_REL_OPAQUE);
	assert_string_equal(rql_rel_reason(rel), "a table function: range");
	assert_int_equal(rel->column_count, 1);
	rel = parsed(PLAN("{\"type\":\"LOGICAL_MAGIC\",\"children\":[" GET("", "{}", "") "]}"));
	assert_string_equal(rql_rel_reason(rel), "the operator LOGICAL_MAGIC");
	assert_int_equal(rel->children[0]->kind, RQL_REL_GET);
	/* one field of a nested column */
	rel = parsed(PLAN(GET("", "{\"index\":1,\"child_indexes\":[{}]}", "")));
	assert_int_equal(rel->kind, RQL_REL_OPAQUE);
	/* references that do not fit their input */
	rel = parsed(PLAN(PROJECT(REF("1", INT), GET("", "{}", ""))));
	assert_int_equal(rel->exprs[0]->kind, RQL_EXPR_OPAQUE);
	rel = parsed(PLAN(PROJECT(REF("0", "{\"id\":\"BIGINT\"}"), GET("", "{}", ""))));
	assert_string_equal(rql_rel_reason(rel), "a reference whose type is not the column's");
	struct rql_strbuf text = {0};
	assert_false(rql_rel_print(&text, rel, NULL, NULL));
	rql_strbuf_free(&text);
}

static void test_values(void **state)
{
	(void)state;
	const struct rql_rel *rel =
		parsed(
			PLAN(PROJECT(CONSTANT("{\"id\":\"HUGEINT\"}", "{\"upper\":-1,\"lower\":18446744073709551613}") "," CONSTANT("{\"id\":\"UBIGINT\"}", "18446744073709551615") "," CONSTANT(
							 "{\"id\":\"BLOB\"}",
							 "\"a\\\\x00\\\\xFF\"") "," CONSTANT("{\"id\":\"DOUBLE\"}",
	                                                             "-Infinity") "," CONSTANT("{\"id\":\"INTERVAL\"}",
	                                                                                       "{\"months\":1,\"micros\":"
	                                                                                       "5}") "," CONSTANT("{\"id\":"
	                                                                                                          "\"ENUM\""
	                                                                                                          ",\"type_"
	                                                                                                          "info\":{"
	                                                                                                          "\"type\""
	                                                                                                          ":\"ENUM_"
	                                                                                                          "TYPE_"
	                                                                                                          "INFO\","
	                                                                                                          "\"values"
	                                                                                                          "_count\""
	                                                                                                          ":2,"
	                                                                                                          "\"values"
	                                                                                                          "\":["
	                                                                                                          "\"p\","
	                                                                                                          "\"q\"]}"
	                                                                                                          "}",
	                                                                                                          "1") "," CONSTANT("{\"id\":\"TINYINT\"}",
	                                                                                                                            "300") "," CONSTANT("{\"id\":\"LIST\",\"type_info\":{\"child_type\":" INT
	                                                                                                                                                "}}",
	                                                                                                                                                "{\"children\":[]}") "," CONSTANT("{\"id\":\"VARCHAR\",\"type_info\":{\"type\":\"STRING_TYPE_INFO\",\"collation\":\"nocase\"}}",
	                                                                                                                                                                                  "\"x\""),
	                     "{\"type\":\"LOGICAL_DUMMY_SCAN\"}")));
	assert_true(rel->exprs[0]->value.integer == -3);
	assert_true(rel->exprs[1]->value.integer == (rql_int128)UINT64_MAX);
	assert_int_equal(rel->exprs[2]->value.string.length, 3);
	assert_memory_equal(rel->exprs[2]->value.string.data, "a\0\xFF", 3);
	assert_true(rel->exprs[3]->value.real < -1e308);
	assert_int_equal(rel->exprs[4]->value.interval.months, 1);
	assert_string_equal(rel->exprs[5]->type.info->names[1], "q");
	for (int i = 6; i < 9; i++) /* out of range, nested, collated */
		assert_int_equal(rel->exprs[i]->kind, RQL_EXPR_OPAQUE);
	assert_string_equal(rel->exprs[7]->name, "a constant of type INTEGER[]");
}

static void test_functions(void **state)
{
	(void)state;
#define SUM(data, aggregate, fields)                                                                                   \
	"{\"expression_class\":\"BOUND_AGGREGATE\",\"type\":\"BOUND_AGGREGATE\",\"return_type\":{\"id\":\"HUGEINT\"},"            \
	"\"children\":[" REF("0", INT) "],\"original_arguments\":[],\"function_data\":{" data "},\"aggregate_type\":\""         \
	aggregate "\"," fields "}"
	const struct rql_rel *rel = parsed(PLAN(
		"{\"type\":\"LOGICAL_AGGREGATE_AND_GROUP_BY\",\"children\":[" GET("", "{},{\"index\":1}", "") "],\"expressions\":["
		SUM("", "DISTINCT", "\"name\":\"sum_no_overflow\"") "," SUM("\"quantiles\":[]", "NON_DISTINCT", "\"name\":\"quantile_cont\"")
		"," SUM("", "NON_DISTINCT", "\"name\":\"sum\",\"catalog_name\":\"mine\"") "," SUM("", "STRANGE", "\"name\":\"sum\"")
		"],\"groups\":[" REF("1", "{\"id\":\"VARCHAR\"}") "],\"grouping_sets\":[[0]]}"));
	assert_int_equal(rel->kind, RQL_REL_AGGREGATE);
	assert_int_equal(rel->group_count, 1);
	assert_int_equal(rel->expr_count, 5);
	expect_text(rel->exprs[1], "sum(DISTINCT x)");
	for (int i = 2; i < 5; i++)
		assert_int_equal(rel->exprs[i]->kind, RQL_EXPR_OPAQUE);
	assert_string_equal(rel->exprs[4]->name,
	                    "the expression BOUND_AGGREGATE gives aggregate_type a value that RayQL does not know");
	/* ROLLUP */
	rel = parsed(PLAN("{\"type\":\"LOGICAL_AGGREGATE_AND_GROUP_BY\",\"children\":[" GET(
		"", "{}", "") "],\"groups\":[" REF("0", INT) "],\"grouping_sets\":[[0],[]]}"));
	assert_string_equal(rql_rel_reason(rel), "several grouping sets");
}

static void test_join(void **state)
{
	(void)state;
#define JOIN(type, maps)                                                                                               \
	"{\"type\":\"LOGICAL_COMPARISON_JOIN\",\"children\":[" GET("", "{},{\"index\":1}", "") "," GET(                    \
		"", "{}", "") "],\"join_type\":\"" type                                                                        \
					  "\",\"conditions\":[{\"left\":" REF("0", INT) ",\"right\":" REF(                                 \
						  "0", INT) ",\"comparison\":\"COMPARE_EQUAL\"}]" maps "}"
	const struct rql_rel *rel = parsed(PLAN(JOIN("LEFT", "")));
	assert_int_equal(rel->join, RQL_JOIN_LEFT);
	assert_int_equal(rel->column_count, 3);
	assert_int_equal(rel->exprs[0]->children[1]->index, 2); /* behind the left columns */
	assert_int_equal(parsed(PLAN(JOIN("SEMI", "")))->column_count, 2);
	assert_int_equal(parsed(PLAN(JOIN("RIGHT_SEMI", "")))->column_count, 1);
	rel = parsed(PLAN(JOIN("MARK", "")));
	assert_int_equal(rel->column_count, 3);
	assert_int_equal(rel->types[2].id, RQL_TYPE_BOOLEAN);
	rel = parsed(PLAN(JOIN("INNER", ",\"left_projection_map\":[1]")));
	assert_int_equal(rel->kind, RQL_REL_PROJECT);
	assert_int_equal(rel->column_count, 2);
	assert_int_equal(rel->exprs[0]->index, 1);
	assert_int_equal(rel->exprs[1]->index, 2);
	assert_int_equal(parsed(PLAN(JOIN("STRANGE", "")))->kind, RQL_REL_OPAQUE);
}

static void test_equal_and_rewrite(void **state)
{
	(void)state;
	const char *json =
		PLAN(PROJECT(CONSTANT("{\"id\":\"DOUBLE\"}", "0.0") "," CONSTANT("{\"id\":\"DOUBLE\"}", "-0.0") "," CONSTANT(
						 "{\"id\":\"DOUBLE\"}", "0.0") "," CONSTANT(INT, "0") "," REF("0", INT) "," REF("0", INT),
	                 GET("", "{}", "")));
	const struct rql_rel *rel = parsed(json);
	assert_false(rql_expr_equal(rel->exprs[0], rel->exprs[1]));
	assert_true(rql_expr_equal(rel->exprs[0], rel->exprs[2]));
	assert_false(rql_expr_equal(rel->exprs[2], rel->exprs[3]));
	assert_true(rql_expr_equal(rel->exprs[4], rel->exprs[5]));
}

static void expect_status(const char *json, rql_status expected)
{
	struct rql_rel *rel = NULL;
	struct rql_error err = {0};
	assert_int_equal(rql_rel_parse(arena, RQL_PLAN_1_5, json, strlen(json), &rel, &err), expected);
	assert_null(rel);
	assert_true(rql_error_message(&err)[0] != '\0');
	rql_error_clear(&err);
}

static void test_malformed(void **state)
{
	(void)state;
	expect_status("", RQL_ERROR_UNSUPPORTED);
	expect_status("nonsense", RQL_ERROR_CORRUPT);
	expect_status("{\"plans\":", RQL_ERROR_CORRUPT);
	expect_status("{}", RQL_ERROR_CORRUPT);
	expect_status("[]", RQL_ERROR_CORRUPT);
	expect_status("{\"error\":false,\"plans\":[]}", RQL_ERROR_CORRUPT);
	expect_status("{\"error\":false,\"plans\":[3]}", RQL_ERROR_CORRUPT);
	expect_status("{\"error\":true,\"error_message\":\"Cannot plan statement of type MULTI!\"}", RQL_ERROR_UNSUPPORTED);
	size_t depth = 200000;
	char *deep = malloc(depth + 1);
	assert_non_null(deep);
	memset(deep, '[', depth);
	deep[depth] = '\0';
	expect_status(deep, RQL_ERROR_UNSUPPORTED);
	free(deep);
	/* every operator and expression with nothing in it */
	static const char *const operators[] = {"GET",
	                                        "FILTER",
	                                        "PROJECTION",
	                                        "AGGREGATE_AND_GROUP_BY",
	                                        "COMPARISON_JOIN",
	                                        "ANY_JOIN",
	                                        "CROSS_PRODUCT",
	                                        "DELIM_JOIN",
	                                        "DELIM_GET",
	                                        "ORDER_BY",
	                                        "TOP_N",
	                                        "LIMIT",
	                                        "DISTINCT",
	                                        "WINDOW",
	                                        "UNION",
	                                        "EXCEPT",
	                                        "INTERSECT",
	                                        "MATERIALIZED_CTE",
	                                        "CTE_REF",
	                                        "EMPTY_RESULT",
	                                        "EXPRESSION_GET"};
	static const char *const classes[] = {"REF",     "COMPARISON", "CONJUNCTION", "FUNCTION", "CAST",     "OPERATOR",
	                                      "BETWEEN", "CASE",       "AGGREGATE",   "WINDOW",   "CONSTANT", "LAMBDA"};
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		parsed(rql_arena_printf(arena, PLAN("{\"type\":\"LOGICAL_%s\"}"), operators[i]));
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		parsed(rql_arena_printf(arena, PLAN(PROJECT("{\"expression_class\":\"BOUND_%s\"}", GET("", "{}", ""))),
		                        classes[i]));
}

/* The inner side of a correlated subquery is DELIM_GET, joined by a comparison; below `open` and `close`. */
#define INNER(open, comparison, close)                                                                                 \
	open PROJECT(                                                                                                      \
		REF("1", INT),                                                                                                 \
		"{\"type\":\"LOGICAL_COMPARISON_JOIN\",\"children\":[{\"type\":\"LOGICAL_DELIM_GET\",\"chunk_types\":[" INT       \
		"]}," GET("", "{}", "") "],\"join_type\":\"INNER\",\"conditions\":[{\"left\":" REF("0", INT) ",\"right\":" REF(     \
			"0", INT) ",\"comparison\":\"" comparison "\"}]}") close
#define DELIM(type, inner)                                                                                             \
	"{\"type\":\"LOGICAL_DELIM_JOIN\",\"children\":[" GET("", "{}", "") "," inner "],\"join_type\":\"" type                \
	"\",\"conditions\":[{\"left\":" REF("0", INT) ",\"right\":" REF(                                                   \
		"0", INT) ",\"comparison\":\"COMPARE_NOT_DISTINCT_FROM\"}],\"duplicate_eliminated_columns\":[" REF("0", INT) "]}"

#define CTE(index, definition, use)                                                                                    \
	"{\"type\":\"LOGICAL_MATERIALIZED_CTE\",\"table_index\":" index ",\"column_count\":1,\"ctename\":\"c\","            \
	"\"materialize\":\"CTE_MATERIALIZE_ALWAYS\",\"children\":[" definition "," use "]}"
#define CTE_REF(index, types)                                                                                          \
	"{\"type\":\"LOGICAL_CTE_REF\",\"table_index\":9,\"cte_index\":" index ",\"chunk_types\":[" types                   \
	"],\"bound_columns\":[\"x\"],\"children\":[]}"

/* Common table expressions are found by their numbers: one that comes twice would give a reference other columns. */
static void test_cte_numbers(void **state)
{
	(void)state;
	const struct rql_rel *rel = parsed(PLAN(CTE("4", GET("", "{}", ""), CTE_REF("4", INT))));
	assert_int_equal(rel->kind, RQL_REL_CTE);
	assert_null(rql_rel_reason(rel));
	rel = parsed(PLAN(
		CTE("4", GET("", "{}", ""), CTE("4", GET("", "{},{\"index\":1}", ""), CTE_REF("4", INT ",{\"id\":\"VARCHAR\"}")))));
	assert_int_equal(rel->children[1]->kind, RQL_REL_OPAQUE);
	/* The numbers that the reader gives itself. */
	rel = parsed(PLAN(CTE("4611686018427387904", GET("", "{}", ""), CTE_REF("4611686018427387904", INT))));
	assert_int_equal(rel->kind, RQL_REL_OPAQUE);
}

static void test_correlated(void **state)
{
	static const char *const kept[] = {
		PLAN(DELIM("SEMI", INNER("", "COMPARE_LESSTHAN", ""))),
		PLAN(DELIM("OUTER", INNER("", "COMPARE_EQUAL", ""))),
		PLAN(DELIM("ANTI", INNER("{\"type\":\"LOGICAL_LIMIT\",\"children\":[", "COMPARE_EQUAL", "]}"))),
	};
	(void)state;
	const struct rql_rel *rel = parsed(PLAN(DELIM("ANTI", INNER("", "COMPARE_EQUAL", ""))));
	assert_int_equal(rel->kind, RQL_REL_JOIN);
	assert_int_equal(rel->join, RQL_JOIN_ANTI);
	assert_int_equal(rel->children[0]->kind, RQL_REL_GET);
	const struct rql_rel *join = rel->children[1]->children[0];
	assert_int_equal(join->kind, RQL_REL_PROJECT); /* DELIM_GET was made the last input: the columns in their order again */
	join = join->children[0];
	assert_int_equal(join->kind, RQL_REL_PROJECT); /* what was the join with DELIM_GET: its column is the table's twice */
	assert_int_equal(join->column_count, 2);
	assert_true(rql_expr_equal(join->exprs[0], join->exprs[1]));
	assert_int_equal(join->children[0]->kind, RQL_REL_FILTER);
	assert_int_equal(join->children[0]->exprs[0]->kind, RQL_EXPR_IS_NOT_NULL);
	rel = parsed(PLAN(DELIM("LEFT", INNER("", "COMPARE_NOT_DISTINCT_FROM", ""))));
	assert_int_equal(rel->kind, RQL_REL_JOIN);
	assert_int_equal(rel->children[1]->children[0]->children[0]->children[0]->kind, RQL_REL_GET); /* NULL equals NULL: no filter */
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		assert_int_equal(parsed(kept[i])->kind, RQL_REL_CTE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cte_numbers),
		cmocka_unit_test(test_correlated),
		cmocka_unit_test(test_scan_filters),
		cmocka_unit_test(test_scan_rowid),
		cmocka_unit_test(test_opaque),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_equal_and_rewrite),
		cmocka_unit_test(test_malformed),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
