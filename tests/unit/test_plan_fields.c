/* What DuckDB's plans say and RayQL does not know is never read over: real plans, bound and optimised, are read whole;
 * with a field more in any one of their objects, with a field of another JSON type, with an unknown value of an
 * enumeration, or without a field that DuckDB always writes, they are not, and the reason is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <json-c/json.h>
#include "host_fixture.h"
#include "sql/rel/rel.h"

static const char *const tables[] = {
	"CREATE TABLE t AS SELECT i::INTEGER AS a, (i % 7)::BIGINT AS b, 's' || i AS s, (i * 1.5)::DECIMAL(12, 2) AS d,"
	" DATE '2020-01-01' + i::INTEGER AS dt, i % 3 = 0 AS f FROM range(100) r(i)",
	"CREATE TABLE u AS SELECT i::INTEGER AS k, 'n' || i AS n, (i * 1000)::HUGEINT AS h, i / 3 AS x,"
	" (CASE i % 2 WHEN 0 THEN 'lo' ELSE 'hi' END)::ENUM('lo', 'hi') AS e FROM range(50) r(i)",
	"CREATE TABLE w AS SELECT [1, 2] AS l, {'p': 1, 'q': 'x'} AS st, [1, 2]::INTEGER[2] AS ar, MAP {1: 2} AS m,"
	" '{}'::JSON AS j, 'x' COLLATE NOCASE AS c, 1 AS k",
	/* These optimisers make plans that cannot be serialised. */
	"SET disabled_optimizers = 'column_lifetime,common_aggregate,compressed_materialization,in_clause,"
	"late_materialization'",
};

static const char *const queries[] = {
	"SELECT a, b + 1, d * 2, s LIKE 'x%', CASE WHEN f THEN a ELSE 3 END, a::DOUBLE, TRY_CAST(s AS INTEGER)"
	" FROM t WHERE a > 3",
	"SELECT b, sum(d), count(*), count(DISTINCT a), avg(a) FILTER (WHERE f), string_agg(s, '-' ORDER BY a DESC), median(a)"
	" FROM t GROUP BY b HAVING sum(d) > 3 ORDER BY b DESC NULLS LAST",
	"SELECT k FROM w WHERE k IS NOT NULL AND NOT k = 3 OR k IN (4, 5) OR coalesce(k, 1) = 1",
	"SELECT random() BETWEEN 0.25 AND 0.5, 1000000000000000000000::HUGEINT, 1.5::DOUBLE, INTERVAL 3 DAY, NULL,"
	" 'x'::BLOB, true",
	"SELECT e, h, x FROM u WHERE e = 'lo' AND h < 1000000000000000000000 AND x < 2.5 ORDER BY k LIMIT 3 OFFSET 1",
	"SELECT k FROM u ORDER BY k LIMIT 7",
	"SELECT k FROM u LIMIT 7",
	"SELECT t.a, u.k FROM t JOIN u ON t.a = u.k LEFT JOIN u v ON t.a < v.k AND t.b + v.k > 3",
	"SELECT t.a, u.k FROM t LEFT JOIN u ON t.a + u.k > 3 OR t.b = u.k",
	"SELECT a FROM t, u WHERE a < 3 AND k < 5",
	"SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.b AND u.n < t.s)",
	"SELECT a, (SELECT max(k) FROM u WHERE u.k < t.b), a IN (SELECT k FROM u) FROM t",
	"SELECT DISTINCT b FROM t",
	"SELECT DISTINCT ON (b) b, a FROM t ORDER BY b, a DESC NULLS FIRST",
	"SELECT a FROM t UNION SELECT k FROM u",
	"SELECT a FROM t UNION ALL SELECT k FROM u",
	"SELECT a FROM t EXCEPT SELECT k FROM u",
	"SELECT a FROM t INTERSECT SELECT k FROM u",
	"WITH c AS MATERIALIZED (SELECT a, b FROM t) SELECT c.a FROM c JOIN c d ON c.a = d.b",
	"SELECT a, row_number() OVER (PARTITION BY b ORDER BY a DESC), sum(b) OVER (ORDER BY a ROWS BETWEEN 2 PRECEDING AND"
	" 1 FOLLOWING EXCLUDE TIES), lag(a, 2, 0) OVER (ORDER BY a), count(a) FILTER (WHERE f) OVER () FROM t",
	"SELECT * FROM (VALUES (1, 'a'), (2, 'b')) v(x, y)",
	"SELECT a FROM t WHERE 1 = 0",
	"SELECT rowid FROM t",
};

/* All operators and kinds of expressions that are read, and some parts of them: the plans above must have each. */
static const char *const wanted[] = {
	"LOGICAL_GET", "LOGICAL_FILTER", "LOGICAL_PROJECTION", "LOGICAL_AGGREGATE_AND_GROUP_BY", "LOGICAL_COMPARISON_JOIN",
	"LOGICAL_ANY_JOIN", "LOGICAL_CROSS_PRODUCT", "LOGICAL_DELIM_JOIN", "LOGICAL_DELIM_GET", "LOGICAL_ORDER_BY",
	"LOGICAL_TOP_N", "LOGICAL_LIMIT", "LOGICAL_DISTINCT", "LOGICAL_WINDOW", "LOGICAL_UNION", "LOGICAL_EXCEPT",
	"LOGICAL_INTERSECT", "LOGICAL_MATERIALIZED_CTE", "LOGICAL_CTE_REF", "LOGICAL_EMPTY_RESULT", "LOGICAL_DUMMY_SCAN",
	"LOGICAL_EXPRESSION_GET", "BOUND_REF", "BOUND_CONSTANT", "BOUND_COMPARISON", "BOUND_CONJUNCTION", "BOUND_FUNCTION",
	"BOUND_CAST", "BOUND_OPERATOR", "BOUND_BETWEEN", "BOUND_CASE", "BOUND_AGGREGATE", "BOUND_WINDOW",
	"DECIMAL_TYPE_INFO", "ENUM_TYPE_INFO", "LIST_TYPE_INFO", "STRUCT_TYPE_INFO", "ARRAY_TYPE_INFO", "GENERIC_TYPE_INFO",
	"STRING_TYPE_INFO", "CONSTANT_COMPARISON",
};

/* Fields that DuckDB leaves out where they have its default, and those that are harmless. */
static const char *const optional[] = {
	"alias", "query_location", "table_index", "mark_index", "window_index", "group_index", "aggregate_index",
	"groupings_index", "index", "arguments", "has_serialize", "catalog_name", "schema_name", "function_data",
	"expressions",
	"filter", "order_bys", "filters", "lower_inclusive", "upper_inclusive", "try_cast", "start_expr", "end_expr",
	"offset_expr", "default_expr", "projection_map", "left_projection_map", "right_projection_map", "mark_types",
	"groups", "grouping_sets", "distinct_validity", "conditions", "orders", "projections", "limit", "offset",
	"constant_integer", "constant_percentage", "column_count", "setop_all", "ctename", "materialize", "cte_index",
	"bound_columns", "bindings", "column_index", "column_indexes", "months", "days", "micros", "check_overflow",
	"quantiles", "order", "desc", "type_info", "width", "size", "scale", "collation", "child_types", "target_type",
	"cast_score", "row_group_order_options", "child_filter",
	/* of DuckDB 2; what its plans say twice, and lists of nothing */
	"query_location_length", "qualified_name", "parameters", "named_parameters", "input_table_types", "input_table_names",
	"table_filters_by_projection",
};

/* Texts that are names or contents, not enumerations; the reader makes what it can of the name of a type. */
static const char *const free_texts[] = {
	"alias", "catalog_name", "schema_name", "catalog", "schema", "table", "names", "name", "value", "ctename", "separator",
	"bound_columns", "first", "values", "collation", "id", "distinct_validity", "materialize",
};

/* Of these no more than the shape matters: a median's fraction, which its name tells; the order of a scan; a filter
 * that may be left out. */
static const char *const unread[] = {"quantiles", "row_group_order_options", "child_filter"};

static bool is_in(const char *name, const char *const *list, size_t count)
{
	size_t i = 0;
	while (i < count && strcmp(name, list[i]) != 0)
		i++;
	return i < count;
}
#define IS_IN(name, list) is_in(name, list, sizeof(list) / sizeof(*(list)))

/* One plan with one fault: what its reader says. */
struct trial {
	struct json_object *root;
	uint32_t random;
	uint64_t faults;
};

static uint32_t next_random(struct trial *trial)
{
	trial->random = trial->random * 1664525 + 1013904223;
	return trial->random >> 16;
}

/* Why the plan is not read whole, in text; false: it is. */
static bool refused(struct json_object *root, char *text, size_t size)
{
	size_t length;
	const char *json = json_object_to_json_string_length(root, JSON_C_TO_STRING_PLAIN, &length);
	struct rql_arena *arena = rql_arena_new();
	struct rql_rel *rel = NULL;
	struct rql_error err = {0};
	assert_non_null(arena);
	const char *reason = NULL;
	if (rql_rel_parse(arena, rql_plan_dialect_of(rql_host_library_version()), json, length, &rel, &err) != RQL_OK)
		reason = rql_error_message(&err);
	else
		reason = rql_rel_reason(rel);
	snprintf(text, size, "%s", reason ? reason : "");
	rql_error_clear(&err);
	rql_arena_free(arena);
	return text[0] != '\0';
}

static void expect_refused(struct trial *trial, const char *fault, const char *name)
{
	char reason[300];
	trial->faults++;
	if (!refused(trial->root, reason, sizeof(reason)))
		fail_msg("read whole, %s %s: %s", fault, name, json_object_to_json_string(trial->root));
}

static struct json_object *random_value(uint32_t random)
{
	struct json_object *value = NULL;
	switch (random % 6) {
	case 0:
		return json_object_new_boolean(random & 8);
	case 1:
		return json_object_new_int(random % 100);
	case 2:
		return json_object_new_string("x");
	case 3:
		value = json_object_new_array();
		json_object_array_add(value, json_object_new_double(1.5));
		return value;
	case 4:
		return json_object_new_object();
	default:
		return NULL;
	}
}

static void try_unknown_field(struct trial *trial, struct json_object *object)
{
	static const char *const names[] = {"having", "modifiers", "dynamic_filters", "row_group_order_options2", "", "Type"};
	const char *name = names[next_random(trial) % 6];
	json_object_object_add(object, name, random_value(next_random(trial)));
	expect_refused(trial, "with the unknown field", name);
	json_object_object_del(object, name);
}

static void try_field(struct trial *trial, struct json_object *object, const char *name, struct json_object *member)
{
	enum json_type type = json_object_get_type(member);
	struct json_object *other = NULL;
	do {
		json_object_put(other);
		other = random_value(next_random(trial));
	} while (json_object_get_type(other) == type ||
	         (type == json_type_double && json_object_is_type(other, json_type_int)));
	json_object_get(member);
	json_object_object_add(object, name, other);
	expect_refused(trial, "with another type of", name);
	if (type == json_type_string && !IS_IN(name, free_texts)) {
		json_object_object_add(object, name, json_object_new_string("STRANGE"));
		expect_refused(trial, "with an unknown value of", name);
	}
	bool repeats = json_object_object_get_ex(object, "check_overflow", NULL); /* what arithmetic keeps to itself */
	if (!IS_IN(name, optional) && !repeats) {
		json_object_object_del(object, name);
		expect_refused(trial, "without", name);
	}
	json_object_object_add(object, name, member);
}

/* Each object below value, the plan's own included, gets every fault in turn. */
static void try_all(struct trial *trial, struct json_object *value, bool *met)
{
	for (size_t i = 0; json_object_is_type(value, json_type_array) && i < json_object_array_length(value); i++)
		try_all(trial, json_object_array_get_idx(value, i), met);
	if (!json_object_is_type(value, json_type_object))
		return;
	try_unknown_field(trial, value);
	size_t count = 0;
	const char *names[64];
	json_object_object_foreach(value, name, member)
	{
		const char *text = json_object_is_type(member, json_type_string) ? json_object_get_string(member) : "";
		for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
			met[i] |= strcmp(text, wanted[i]) == 0;
		assert_true(count < 64);
		names[count++] = name;
	}
	for (size_t i = 0; i < count; i++) {
		char copy[64];
		snprintf(copy, sizeof(copy), "%s", names[i]);
		try_field(trial, value, copy, json_object_object_get(value, copy));
	}
	/* Fields that were put back are now the last ones: the order does not matter. */
	struct json_object_iterator at = json_object_iter_begin(value), end = json_object_iter_end(value);
	for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at))
		if (!IS_IN(json_object_iter_peek_name(&at), unread))
			try_all(trial, json_object_iter_peek_value(&at), met);
}

static char *plan_of(struct rql_host_con *con, const char *query, bool optimized)
{
	struct rql_strbuf sql = {0};
	struct rql_error err = {0};
	char *plan = NULL;
	rql_strbuf_put(&sql, "SELECT system.main.json_serialize_plan(");
	rql_strbuf_put_literal(&sql, query, strlen(query));
	rql_strbuf_printf(&sql, ", skip_null := true, skip_empty := false, skip_default := true, optimize := %s)",
	                  optimized ? "true" : "false");
	if (rql_host_query_text(con, rql_strbuf_text(&sql), &plan, &err) != RQL_OK || !plan)
		fail_msg("%s: %s", query, rql_error_message(&err));
	rql_strbuf_free(&sql);
	return plan;
}

static void make_tables(struct rql_host_con *con)
{
	struct rql_error err = {0};
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (rql_host_query(con, tables[i], NULL, &err) != RQL_OK)
			fail_msg("%s", rql_error_message(&err));
}

static void test_every_field(void **state)
{
	struct fixture *f = *state;
	bool met[sizeof(wanted) / sizeof(*wanted)] = {0};
	struct trial trial = {.random = 7};
	make_tables(f->con);
	bool two = rql_host_major() >= 2; /* whose optimised plans RayQL never sees */
	for (size_t i = 0; i < 2 * sizeof(queries) / sizeof(*queries); i += 1 + two) {
		char *plan = plan_of(f->con, queries[i / 2], i % 2), reason[300];
		trial.root = json_tokener_parse(plan);
		assert_non_null(trial.root);
		if (refused(trial.root, reason, sizeof(reason)))
			fail_msg("%s: %s: %s", queries[i / 2], reason, plan);
		try_all(&trial, trial.root, met);
		assert_false(refused(trial.root, reason, sizeof(reason))); /* all faults are gone again */
		json_object_put(trial.root);
		free(plan);
	}
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (!met[i] && !two)
			fail_msg("no plan has %s", wanted[i]);
	print_message("%llu faults\n", (unsigned long long)trial.faults);
}

static struct json_object *replaced(const char *plan, const char *text, const char *with)
{
	struct rql_strbuf out = {0};
	const char *at = memmem(plan, strlen(plan), text, strlen(text));
	if (at)
		rql_strbuf_printf(&out, "%.*s%s%s", (int)(at - plan), plan, with, at + strlen(text));
	else
		fail_msg("no %s in %s", text, plan);
	struct json_object *root = json_tokener_parse(rql_strbuf_text(&out));
	rql_strbuf_free(&out);
	return root;
}

/* What a fault in the plan of QUERY is called: `text` stands in the plan and becomes `with`. */
static void test_reasons(void **state)
{
	static const struct {
		const char *query, *text, *with, *reason;
	} cases[] = {
		{"SELECT a FROM t", "\"projected_input\":[]",
	     "\"projected_input\":[],\"row_group_order_options\":{\"column_idx\":{},\"row_group_offset\":1}",
	     "the operator LOGICAL_GET says row_group_order_options.row_group_offset, which RayQL does not know"},
		{"SELECT a FROM t", "\"is_index_scan\":false", "\"is_index_scan\":true",
	     "the operator LOGICAL_GET gives function_data.is_index_scan a value that RayQL does not know"},
		{"SELECT a FROM t", "\"width\":12", "\"width\":\"12\"",
	     "the operator LOGICAL_GET says returned_types.type_info.width in a form that RayQL does not know"},
		{"SELECT a FROM t", "[{\"id\":\"INTEGER\"}",
	     "[{\"id\":\"INTEGER\",\"type_info\":{\"type\":\"STRING_TYPE_INFO\",\"collation\":\"\"}}",
	     "a reference whose type is not the column's"},
		{"SELECT a + 1 FROM t", "\"is_operator\":true", "\"is_operator\":true,\"modifiers\":[]",
	     "the expression BOUND_FUNCTION says modifiers, which RayQL does not know"},
		{"SELECT sum(a) FROM t", ",\"aggregate_type\":\"NON_DISTINCT\"", "",
	     "the expression BOUND_AGGREGATE does not say aggregate_type"},
		{"SELECT a FROM t ORDER BY a", "\"null_order\":\"NULLS LAST\"", "\"null_order\":\"NULLS LAST\",\"collation\":\"x\"",
	     "the operator LOGICAL_ORDER_BY says orders.collation, which RayQL does not know"},
		{"SELECT 1", "\"error\":false", "\"error\":false,\"warning\":\"x\"",
	     "DuckDB's plan says warning, which RayQL does not know"},
	};
	struct fixture *f = *state;
	make_tables(f->con);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *plan = plan_of(f->con, cases[i].query, false), reason[300];
		struct json_object *root = replaced(plan, cases[i].text, cases[i].with);
		free(plan);
		assert_true(refused(root, reason, sizeof(reason)));
		assert_string_equal(reason, cases[i].reason);
		json_object_put(root);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_every_field, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reasons, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
