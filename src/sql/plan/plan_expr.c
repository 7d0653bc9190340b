/* Expressions of the plan JSON. What the JSON does not tell completely (bind data that is not in it, nested types,
 * collations) becomes RQL_EXPR_OPAQUE: an expression that is kept means exactly what its fields say. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "sql/rel/rel_internal.h"

struct rql_expr *rql_plan_expr_new(struct rql_plan_reader *reader, enum rql_expr_kind kind, struct rql_type type,
                                   uint32_t child_count)
{
	struct rql_expr *expr = RQL_NEW(reader->arena, struct rql_expr);
	struct rql_expr **children = RQL_NEW_ARRAY(reader->arena, struct rql_expr *, child_count);
	if (!expr || !children) {
		reader->no_memory = true;
		return NULL;
	}
	expr->kind = kind;
	expr->type = type;
	expr->child_count = child_count;
	expr->children = children;
	return expr;
}

struct rql_expr *rql_plan_expr_opaque(struct rql_plan_reader *reader, struct rql_type type, const char *fmt, ...)
{
	char text[200];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	struct rql_expr *expr = rql_plan_expr_new(reader, RQL_EXPR_OPAQUE, type, 0);
	if (expr && !(expr->name = rql_arena_strdup(reader->arena, text)))
		reader->no_memory = true;
	return reader->no_memory ? NULL : expr;
}

struct rql_expr *rql_plan_expr_ref(struct rql_plan_reader *reader, uint32_t index, struct rql_type type,
                                   const char *alias)
{
	struct rql_expr *expr = rql_plan_expr_new(reader, RQL_EXPR_REF, type, 0);
	if (expr) {
		expr->index = index;
		expr->alias = alias;
	}
	return expr;
}

const char *rql_plan_comparison(const char *type)
{
	static const struct {
		const char *type, *name;
	} comparisons[] = {
		{"COMPARE_EQUAL", "="},
		{"COMPARE_NOTEQUAL", "<>"},
		{"COMPARE_LESSTHAN", "<"},
		{"COMPARE_LESSTHANOREQUALTO", "<="},
		{"COMPARE_GREATERTHAN", ">"},
		{"COMPARE_GREATERTHANOREQUALTO", ">="},
		{"COMPARE_DISTINCT_FROM", "IS DISTINCT FROM"},
		{"COMPARE_NOT_DISTINCT_FROM", "IS NOT DISTINCT FROM"},
	};
	for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++)
		if (strcmp(type, comparisons[i].type) == 0)
			return comparisons[i].name;
	return NULL;
}

static const char *keep_text(struct rql_plan_reader *reader, const char *text)
{
	char *copy = rql_arena_strdup(reader->arena, text);
	reader->no_memory |= !copy;
	return copy;
}

static struct rql_type boolean(void)
{
	return rql_type_simple(RQL_TYPE_BOOLEAN);
}

static struct rql_type return_type(struct rql_plan_reader *reader, struct json_object *json)
{
	return rql_plan_type(reader, rql_json_field(json, "return_type"));
}

/* A node whose children are the JSON array `list`. */
static struct rql_expr *expr_over(struct rql_plan_reader *reader, enum rql_expr_kind kind, struct rql_type type,
                                  struct json_object *list, struct rql_scope scope)
{
	uint32_t count = (uint32_t)rql_json_length(list);
	struct rql_expr *expr = rql_plan_expr_new(reader, kind, type, count);
	for (uint32_t i = 0; expr && i < count; i++) {
		expr->children[i] = rql_plan_expr(reader, json_object_array_get_idx(list, i), scope);
		if (!expr->children[i])
			return NULL;
	}
	return expr;
}

static struct rql_expr *read_ref(struct rql_plan_reader *reader, struct json_object *json, struct rql_scope scope)
{
	struct rql_type type = return_type(reader, json);
	uint64_t index = rql_json_index(json, "index");
	const char *alias = rql_json_text(json, "alias");
	if (index >= scope.count)
		return rql_plan_expr_opaque(reader, type, "a reference to column %llu of an input that RayQL cannot read",
		                            (unsigned long long)index);
	if (!rql_type_equal(type, scope.types[index]))
		return rql_plan_expr_opaque(reader, type, "a reference whose type is not the column's");
	return rql_plan_expr_ref(reader, (uint32_t)index, type, alias[0] ? keep_text(reader, alias) : NULL);
}

static bool has_other_argument(const struct rql_expr *expr)
{
	for (uint32_t i = 0; i < expr->child_count; i++)
		if (expr->children[i]->type.id == RQL_TYPE_OTHER || expr->children[i]->type.id == RQL_TYPE_INVALID)
			return true;
	return false;
}

/* Values of nested types compare field by field, collated ones by another text than their own: neither is RayQL's. */
static struct rql_expr *plain_only(struct rql_plan_reader *reader, struct rql_expr *expr)
{
	if (!expr || !has_other_argument(expr))
		return expr;
	return rql_plan_expr_opaque(reader, expr->type, "a comparison or choice of nested, collated or rare types");
}

/* From which literal of the text the constant comes. */
static void mark_literal(struct rql_plan_reader *reader, struct json_object *json, struct rql_expr *expr)
{
	struct rql_plan_source *source = reader->source;
	uint64_t place = rql_json_index(json, "query_location");
	if (place == UINT64_MAX || place < source->offset)
		return;
	bool minus = false;
	const struct rql_literal *literal = rql_literal_at(source->literals, place - source->offset, &minus);
	source->foreign |= !rql_literals_token_at(source->literals, place - source->offset);
	if (!literal || (minus && literal->value.type.id == RQL_TYPE_VARCHAR))
		return;
	struct rql_value value = minus ? rql_literal_negated(literal->value) : literal->value;
	if (rql_value_identical(&value, &expr->value)) {
		expr->literal = (uint32_t)(literal - source->literals->items) + 1;
		expr->negated = minus;
	}
}

static struct rql_expr *read_constant(struct rql_plan_reader *reader, struct json_object *json)
{
	struct rql_value value;
	struct json_object *content = rql_json_field(json, "value");
	if (!rql_plan_value(reader, content, &value)) {
		struct rql_type type = rql_plan_type(reader, rql_json_field(content, "type"));
		return rql_plan_expr_opaque(reader, type, "a constant of type %s",
		                            type.info ? type.info->text : rql_type_id_name(type.id));
	}
	bool typed = reader->source && reader->dialect == RQL_PLAN_2 && !value.is_null;
	struct rql_expr *expr =
		typed ? rql_plan_cast_literal(reader, rql_json_index(json, "query_location"), value.type) : NULL;
	if (expr || !(expr = rql_plan_expr_new(reader, RQL_EXPR_CONSTANT, value.type, 0)))
		return expr;
	expr->value = value;
	if (reader->source)
		mark_literal(reader, json, expr);
	return expr;
}

static struct rql_expr *negate(struct rql_plan_reader *reader, struct rql_expr *expr)
{
	struct rql_expr *not = expr ? rql_plan_expr_new(reader, RQL_EXPR_NOT, boolean(), 1) : NULL;
	if (not)
		not->children[0] = expr;
	return not;
}

/* A comparison of rows for equality, or one for order, which is left as it is. *done false: it is none. */
static struct rql_expr *compare_rows(struct rql_plan_reader *reader, struct json_object *json, const char *name,
                                     struct rql_scope scope, bool *done)
{
	struct json_object *const rows[] = {rql_json_field(json, "left"), rql_json_field(json, "right")};
	const bool same = !strcmp(name, "=") || !strcmp(name, "IS NOT DISTINCT FROM");
	const bool other = !strcmp(name, "<>") || !strcmp(name, "IS DISTINCT FROM");
	*done = (same || other) && rql_plan_are_rows(rows, 2);
	if (!*done)
		return NULL;
	struct rql_expr *expr = rql_plan_row_in(reader, rows, 2, scope);
	return other ? negate(reader, expr) : expr;
}

static struct rql_expr *read_compare(struct rql_plan_reader *reader, struct json_object *json, struct rql_scope scope)
{
	const char *name = rql_plan_comparison(rql_json_text(json, "type"));
	if (!name)
		return rql_plan_expr_opaque(reader, boolean(), "the comparison %s", rql_json_text(json, "type"));
	bool done;
	struct rql_expr *rows = compare_rows(reader, json, name, scope, &done);
	if (done)
		return rows;
	struct rql_expr *expr = rql_plan_expr_new(reader, RQL_EXPR_COMPARE, boolean(), 2);
	if (!expr)
		return NULL;
	expr->name = name;
	expr->is_operator = true;
	expr->children[0] = rql_plan_expr(reader, rql_json_field(json, "left"), scope);
	expr->children[1] = rql_plan_expr(reader, rql_json_field(json, "right"), scope);
	return expr->children[0] && expr->children[1] ? plain_only(reader, expr) : NULL;
}

static struct rql_expr *read_between(struct rql_plan_reader *reader, struct json_object *json, struct rql_scope scope)
{
	static const char *const bounds[2][2] = {{"()", "(]"}, {"[)", "[]"}};
	static const char *const fields[] = {"input", "lower", "upper"};
	struct rql_expr *expr = rql_plan_expr_new(reader, RQL_EXPR_BETWEEN, boolean(), 3);
	for (int i = 0; expr && i < 3; i++) {
		expr->children[i] = rql_plan_expr(reader, rql_json_field(json, fields[i]), scope);
		if (!expr->children[i])
			return NULL;
	}
	if (expr)
		expr->name = bounds[rql_json_bool(json, "lower_inclusive", false)][rql_json_bool(json, "upper_inclusive", false)];
	return plain_only(reader, expr);
}

static struct rql_expr *read_case(struct rql_plan_reader *reader, struct json_object *json, struct rql_scope scope)
{
	struct json_object *checks = rql_json_field(json, "case_checks");
	uint32_t count = (uint32_t)rql_json_length(checks);
	struct rql_expr *expr = rql_plan_expr_new(reader, RQL_EXPR_CASE, return_type(reader, json), 2 * count + 1);
	if (!expr)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		struct json_object *check = json_object_array_get_idx(checks, i);
		expr->children[2 * i] = rql_plan_expr(reader, rql_json_field(check, "when_expr"), scope);
		expr->children[2 * i + 1] = rql_plan_expr(reader, rql_json_field(check, "then_expr"), scope);
		if (!expr->children[2 * i] || !expr->children[2 * i + 1])
			return NULL;
	}
	expr->children[2 * count] = rql_plan_expr(reader, rql_json_field(json, "else_expr"), scope);
	return expr->children[2 * count] ? plain_only(reader, expr) : NULL;
}

static struct rql_expr *read_cast(struct rql_plan_reader *reader, struct json_object *json, struct rql_scope scope)
{
	struct rql_type type = return_type(reader, json);
	struct rql_expr *child = rql_plan_expr(reader, rql_json_field(json, "child"), scope);
	if (!child)
		return NULL;
	if (type.id == RQL_TYPE_OTHER || child->type.id == RQL_TYPE_OTHER)
		return rql_plan_expr_opaque(reader, type, "a cast from or to %s",
		                            type.id == RQL_TYPE_OTHER ? type.info->text : child->type.info->text);
	struct rql_expr *expr = NULL;
	if (reader->source && reader->dialect == RQL_PLAN_2 && child->kind == RQL_EXPR_CONSTANT && !child->literal)
		expr = rql_plan_cast_literal(reader, rql_json_index(json, "query_location"), type);
	if (expr && rql_value_identical(&expr->children[0]->value, &child->value) && !rql_json_bool(json, "try_cast", false))
		return expr;
	expr = rql_plan_expr_new(reader, RQL_EXPR_CAST, type, 1);
	if (expr) {
		expr->children[0] = child;
		expr->try_cast = rql_json_bool(json, "try_cast", false);
	}
	return expr;
}

static struct rql_expr *read_conjunction(struct rql_plan_reader *reader, struct json_object *json,
                                         struct rql_scope scope)
{
	const char *type = rql_json_text(json, "type");
	struct json_object *children = rql_json_field(json, "children");
	bool is_and = strcmp(type, "CONJUNCTION_AND") == 0;
	if (!is_and && strcmp(type, "CONJUNCTION_OR") != 0)
		return rql_plan_expr_opaque(reader, boolean(), "the conjunction %s", type);
	if (rql_json_length(children) == 0)
		return rql_plan_expr_opaque(reader, boolean(), "an empty conjunction");
	if (rql_json_length(children) == 1)
		return rql_plan_expr(reader, json_object_array_get_idx(children, 0), scope);
	return expr_over(reader, is_and ? RQL_EXPR_AND : RQL_EXPR_OR, boolean(), children, scope);
}

/* *done false: it is no list of rows. */
static struct rql_expr *read_row_in(struct rql_plan_reader *reader, struct json_object *children, bool negated,
                                    struct rql_scope scope, bool *done)
{
	const size_t count = rql_json_length(children);
	struct json_object **rows = RQL_NEW_ARRAY(reader->arena, struct json_object *, count + 1);
	reader->no_memory |= !rows;
	for (size_t i = 0; i < count && rows; i++)
		rows[i] = json_object_array_get_idx(children, i);
	*done = !rows || rql_plan_are_rows(rows, count);
	if (!*done || !rows)
		return NULL;
	struct rql_expr *expr = rql_plan_row_in(reader, rows, count, scope);
	return negated ? negate(reader, expr) : expr;
}

static struct rql_expr *read_operator(struct rql_plan_reader *reader, struct json_object *json, struct rql_scope scope)
{
	static const struct {
		const char *type;
		enum rql_expr_kind kind;
		uint32_t least, most;
	} operators[] = {
		{"OPERATOR_NOT", RQL_EXPR_NOT, 1, 1},
		{"OPERATOR_IS_NULL", RQL_EXPR_IS_NULL, 1, 1},
		{"OPERATOR_IS_NOT_NULL", RQL_EXPR_IS_NOT_NULL, 1, 1},
		{"COMPARE_IN", RQL_EXPR_IN, 2, UINT32_MAX},
		{"COMPARE_NOT_IN", RQL_EXPR_NOT_IN, 2, UINT32_MAX},
		{"OPERATOR_COALESCE", RQL_EXPR_COALESCE, 1, UINT32_MAX},
	};
	const char *type = rql_json_text(json, "type");
	struct json_object *children = rql_json_field(json, "children");
	size_t count = rql_json_length(children);
	size_t i;
	for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (strcmp(type, operators[i].type) == 0 && count >= operators[i].least && count <= operators[i].most)
			break;
	if (i == sizeof(operators) / sizeof(operators[0]))
		return rql_plan_expr_opaque(reader, return_type(reader, json), "the operator %s", type);
	const bool in = operators[i].kind == RQL_EXPR_IN || operators[i].kind == RQL_EXPR_NOT_IN;
	bool done = false;
	struct rql_expr *rows = in ? read_row_in(reader, children, operators[i].kind == RQL_EXPR_NOT_IN, scope, &done) : NULL;
	if (done)
		return rows;
	struct rql_expr *expr = expr_over(reader, operators[i].kind, return_type(reader, json), children, scope);
	bool null_test = operators[i].kind == RQL_EXPR_IS_NULL || operators[i].kind == RQL_EXPR_IS_NOT_NULL;
	return null_test ? expr : plain_only(reader, expr);
}

/* ---- functions ---- */
static bool has_bind_data(struct json_object *data)
{
	return data && (!json_object_is_type(data, json_type_object) || json_object_object_length(data) > 0);
}

/* Fixed-point arithmetic carries its own result type as bind data: the same as return_type. */
static bool bind_data_is_known(const char *name, struct json_object *data)
{
	if (!has_bind_data(data))
		return true;
	if (!json_object_is_type(data, json_type_object) ||
	    (strcmp(name, "+") != 0 && strcmp(name, "-") != 0 && strcmp(name, "*") != 0))
		return false;
	json_object_object_foreach(data, key, value)
	{
		(void)value;
		if (strcmp(key, "check_overflow") != 0 && strcmp(key, "return_type") != 0 &&
		    strcmp(key, "arguments") != 0)
			return false;
	}
	return true;
}

/* NULL when the call is fully told by its name and arguments; else why it is not. */
static const char *function_reason(struct json_object *json, const char *name, struct rql_type type)
{
	const char *catalog = rql_json_text(json, "catalog_name"), *schema = rql_json_text(json, "schema_name");
	if (!name[0])
		return "a function without a name";
	if ((catalog[0] && strcmp(catalog, "system") != 0) || (schema[0] && strcmp(schema, "main") != 0))
		return "a function that is not DuckDB's own";
	if (strncmp(name, "__internal", 10) == 0)
		return "a function of DuckDB's optimiser";
	if (rql_json_count(json, "original_arguments"))
		return "a function that keeps arguments to itself";
	if (!bind_data_is_known(name, rql_json_field(json, "function_data")))
		return "a function with bound state";
	if (type.id == RQL_TYPE_OTHER || type.id == RQL_TYPE_INVALID)
		return "a function that gives a nested or rare type";
	/* The result depends on the argument's expression, not on its value. */
	if (strcmp(name, "alias") == 0 || strcmp(name, "stats") == 0 || strcmp(name, "typeof") == 0)
		return "a function of the expression itself";
	return NULL;
}

static struct rql_expr *read_function(struct rql_plan_reader *reader, struct json_object *json, struct rql_scope scope)
{
	const char *name = rql_json_text(json, "name");
	struct rql_type type = return_type(reader, json);
	const char *reason = function_reason(json, name, type);
	if (reason)
		return rql_plan_expr_opaque(reader, type, "%s: %s", reason, name);
	struct rql_expr *expr = expr_over(reader, RQL_EXPR_FUNCTION, type, rql_json_field(json, "children"), scope);
	if (!expr)
		return NULL;
	if (has_other_argument(expr))
		return rql_plan_expr_opaque(reader, type, "a function over a nested or rare type: %s", name);
	expr->name = keep_text(reader, name);
	expr->is_operator = rql_json_bool(json, "is_operator", false);
	if (expr->name && reader->dialect == RQL_PLAN_2 && rql_plan_divides_by_zero(expr))
		return rql_plan_expr_opaque(reader, type, "%s by what may be 0, an error in DuckDB 2", name);
	return expr->name ? expr : NULL;
}

/* Aggregates whose meaning is their name and arguments: others keep parameters in bind data that the plan may not show. */
static bool aggregate_is_plain(const char *name)
{
	static const char *const names[] = {"sum", "count", "count_star", "avg", "mean", "min", "max", "first", "last",
		"any_value", "arbitrary", "arg_min", "arg_max", "arg_min_null", "arg_max_null", "bool_and", "bool_or",
		"bit_and", "bit_or", "bit_xor", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop", "sem",
		"product", "geomean", "string_agg", "group_concat", "listagg", "approx_count_distinct", "corr", "covar_samp",
		"covar_pop", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx",
		"regr_sxy", "regr_syy", "skewness", "kurtosis", "kurtosis_pop", "entropy", "mode", "median", "mad", "count_if",
		"countif", "fsum", "favg", "kahan_sum", "sumkahan"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* DuckDB 2 keeps it as the second argument, too. */
static bool has_separator(struct json_object *separator, const struct rql_expr *expr)
{
	const struct rql_expr *last = expr->child_count == 2 ? expr->children[1] : NULL;
	size_t length = (size_t)json_object_get_string_len(separator);
	return last && last->kind == RQL_EXPR_CONSTANT && last->type.id == RQL_TYPE_VARCHAR && !last->value.is_null &&
	       last->value.string.length == length &&
	       memcmp(last->value.string.data, json_object_get_string(separator), length) == 0;
}

/* string_agg of 1.5 keeps its constant separator as bind data only: give it back as the second argument. */
static bool add_separator(struct rql_plan_reader *reader, struct json_object *json, struct rql_expr *expr)
{
	struct json_object *separator = rql_json_field(rql_json_field(json, "function_data"), "separator");
	if (!separator || !json_object_is_type(separator, json_type_string))
		return false;
	if (has_separator(separator, expr))
		return true;
	if (expr->child_count != 1)
		return false;
	struct rql_expr *constant = rql_plan_expr_new(reader, RQL_EXPR_CONSTANT, rql_type_simple(RQL_TYPE_VARCHAR), 0);
	struct rql_expr **children = RQL_NEW_ARRAY(reader->arena, struct rql_expr *, 2);
	size_t length = (size_t)json_object_get_string_len(separator);
	char *text = rql_arena_strndup(reader->arena, json_object_get_string(separator), length);
	if (!constant || !children || !text) {
		reader->no_memory = true;
		return false;
	}
	constant->value.type = constant->type;
	constant->value.string.data = text;
	constant->value.string.length = length;
	children[0] = expr->children[0];
	children[1] = constant;
	expr->children = children;
	expr->child_count = 2;
	return true;
}

static const char *aggregate_reason(struct json_object *json, const char *name, struct rql_type type, bool *separator)
{
	struct json_object *data = rql_json_field(json, "function_data");
	bool has_data = has_bind_data(data);
	const char *catalog = rql_json_text(json, "catalog_name"), *schema = rql_json_text(json, "schema_name");
	*separator = strcmp(name, "string_agg") == 0 || strcmp(name, "group_concat") == 0 || strcmp(name, "listagg") == 0;
	if (!aggregate_is_plain(name) || (catalog[0] && strcmp(catalog, "system") != 0) ||
	    (schema[0] && strcmp(schema, "main") != 0))
		return "an aggregate that RayQL does not know";
	bool fixed = strcmp(name, "median") == 0; /* a quantile whose fraction is its name */
	if (!*separator && !fixed && (has_data || rql_json_count(json, "original_arguments")))
		return "an aggregate with bound state";
	return type.id == RQL_TYPE_OTHER || type.id == RQL_TYPE_INVALID ? "an aggregate that gives a nested or rare type"
	                                                                 : NULL;
}

static struct rql_expr *read_aggregate(struct rql_plan_reader *reader, struct json_object *json,
                                       struct rql_scope scope)
{
	const char *name = rql_json_text(json, "name"), *mode = rql_json_text(json, "aggregate_type");
	struct rql_type type = return_type(reader, json);
	struct json_object *filter = rql_json_field(json, "filter");
	bool separator, bad_order = false;
	if (strcmp(name, "sum_no_overflow") == 0)
		name = "sum"; /* what statistics allow DuckDB to compute in 64 bits; same result and type */
	const char *reason = aggregate_reason(json, name, type, &separator);
	if (reason)
		return rql_plan_expr_opaque(reader, type, "%s: %s", reason, name);
	struct rql_expr *expr = expr_over(reader, RQL_EXPR_AGGREGATE, type, rql_json_field(json, "children"), scope);
	if (!expr)
		return NULL;
	expr->name = keep_text(reader, name);
	expr->distinct = strcmp(mode, "DISTINCT") == 0;
	if (filter && !(expr->filter = rql_plan_expr(reader, filter, scope)))
		return NULL;
	if (has_other_argument(expr) && strcmp(name, "count") != 0)
		return rql_plan_expr_opaque(reader, type, "an aggregate over a nested or rare type: %s", name);
	if (separator && !add_separator(reader, json, expr))
		return reader->no_memory ? NULL : rql_plan_expr_opaque(reader, type, "%s without its separator", name);
	if (!rql_plan_orders(reader, rql_json_field(rql_json_field(json, "order_bys"), "orders"), scope, &expr->orders,
	                     &expr->order_count, &bad_order))
		return NULL;
	if (bad_order)
		return rql_plan_expr_opaque(reader, type, "%s with an unknown order", name);
	return reader->no_memory ? NULL : expr;
}

/* ---- windows ---- */
static const char *window_function(const char *type, struct json_object *json)
{
	static const struct {
		const char *type, *name;
	} functions[] = {
		{"WINDOW_ROW_NUMBER", "row_number"},
		{"WINDOW_RANK", "rank"},
		{"WINDOW_RANK_DENSE", "dense_rank"},
		{"WINDOW_NTILE", "ntile"},
		{"WINDOW_PERCENT_RANK", "percent_rank"},
		{"WINDOW_CUME_DIST", "cume_dist"},
		{"WINDOW_FIRST_VALUE", "first_value"},
		{"WINDOW_LAST_VALUE", "last_value"},
		{"WINDOW_NTH_VALUE", "nth_value"},
		{"WINDOW_LEAD", "lead"},
		{"WINDOW_LAG", "lag"},
	};
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (strcmp(type, functions[i].type) == 0)
			return functions[i].name;
	if (strcmp(type, "WINDOW_AGGREGATE") != 0)
		return NULL;
	const char *name = rql_json_text(json, "name");
	if (strcmp(name, "sum_no_overflow") == 0)
		name = "sum";
	return aggregate_is_plain(name) ? name : NULL;
}

/* An optional sub-expression; false: out of memory. */
static bool read_optional(struct rql_plan_reader *reader, struct json_object *json, const char *field,
                          struct rql_scope scope, struct rql_expr **out)
{
	struct json_object *value = rql_json_field(json, field);
	if (!value)
		return true;
	*out = rql_plan_expr(reader, value, scope);
	return *out != NULL;
}

static bool window_parts(struct rql_plan_reader *reader, struct json_object *json, struct rql_scope scope,
                         struct rql_expr *expr, bool *bad_order)
{
	struct json_object *partitions = rql_json_field(json, "partitions");
	struct rql_window *window = RQL_NEW(reader->arena, struct rql_window);
	struct rql_expr *list = expr_over(reader, RQL_EXPR_OPAQUE, boolean(), partitions, scope);
	if (!window || !list) {
		reader->no_memory = true;
		return false;
	}
	window->partition_count = list->child_count;
	window->partitions = list->children;
	window->start = keep_text(reader, rql_json_text(json, "start"));
	window->end = keep_text(reader, rql_json_text(json, "end"));
	window->exclude = keep_text(reader, rql_json_text(json, "exclude_clause"));
	window->ignore_nulls = rql_json_bool(json, "ignore_nulls", false);
	expr->window = window;
	expr->distinct = rql_json_bool(json, "distinct", false);
	return rql_plan_orders(reader, rql_json_field(json, "orders"), scope, &expr->orders, &expr->order_count,
	                       bad_order) &&
	       read_optional(reader, json, "start_expr", scope, &window->start_expr) &&
	       read_optional(reader, json, "end_expr", scope, &window->end_expr) &&
	       read_optional(reader, json, "offset_expr", scope, &window->offset_expr) &&
	       read_optional(reader, json, "default_expr", scope, &window->default_expr) &&
	       read_optional(reader, json, "filters", scope, &expr->filter) && !reader->no_memory;
}

static struct rql_expr *read_window(struct rql_plan_reader *reader, struct json_object *json, struct rql_scope scope)
{
	struct rql_type type = return_type(reader, json);
	const char *kind = rql_json_text(json, "type"), *name = window_function(kind, json);
	struct json_object *data = rql_json_field(json, "function_data");
	bool bad_order = false;
	if (!name || rql_json_count(json, "arg_orders") || rql_json_count(json, "original_arguments") ||
	    has_bind_data(data) || type.id == RQL_TYPE_OTHER)
		return rql_plan_expr_opaque(reader, type, "the window function %s", name ? name : kind);
	struct rql_expr *expr = expr_over(reader, RQL_EXPR_WINDOW, type, rql_json_field(json, "children"), scope);
	if (!expr || !(expr->name = keep_text(reader, name)) || !window_parts(reader, json, scope, expr, &bad_order))
		return NULL;
	if (bad_order || has_other_argument(expr))
		return rql_plan_expr_opaque(reader, type, "the window function %s with an unknown order or argument", name);
	return expr;
}

bool rql_plan_orders(struct rql_plan_reader *reader, struct json_object *json, struct rql_scope scope,
                     struct rql_order **out, uint32_t *count, bool *opaque)
{
	uint32_t n = (uint32_t)rql_json_length(json);
	struct rql_order *orders = RQL_NEW_ARRAY(reader->arena, struct rql_order, n);
	reader->no_memory |= !orders;
	for (uint32_t i = 0; orders && i < n; i++) {
		struct json_object *order = json_object_array_get_idx(json, i);
		const char *direction = rql_json_text(order, "type"), *nulls = rql_json_text(order, "null_order");
		orders[i].expr = rql_plan_expr(reader, rql_json_field(order, "expression"), scope);
		if (!orders[i].expr)
			return false;
		orders[i].descending = strcmp(direction, "DESCENDING") == 0;
		orders[i].nulls = strcmp(nulls, "NULLS FIRST") == 0 ? RQL_NULLS_FIRST : RQL_NULLS_LAST;
		if ((!orders[i].descending && strcmp(direction, "ASCENDING") != 0) ||
		    (orders[i].nulls == RQL_NULLS_LAST && strcmp(nulls, "NULLS LAST") != 0))
			*opaque = true;
	}
	if (!orders)
		return false;
	*out = orders;
	*count = n;
	return true;
}

/* ---- dispatch ---- */
typedef struct rql_expr *expr_reader(struct rql_plan_reader *reader, struct json_object *json, struct rql_scope scope);

struct rql_expr *rql_plan_expr(struct rql_plan_reader *reader, struct json_object *json, struct rql_scope scope)
{
	static const struct {
		const char *name;
		expr_reader *read;
	} classes[] = {
		{"BOUND_REF", read_ref},
		{"BOUND_COMPARISON", read_compare},
		{"BOUND_CONJUNCTION", read_conjunction},
		{"BOUND_FUNCTION", read_function},
		{"BOUND_CAST", read_cast},
		{"BOUND_OPERATOR", read_operator},
		{"BOUND_BETWEEN", read_between},
		{"BOUND_CASE", read_case},
		{"BOUND_AGGREGATE", read_aggregate},
		{"BOUND_WINDOW", read_window},
	};
	const char *class = rql_json_text(json, "expression_class");
	struct rql_expr *expr = NULL;
	size_t i = 0;
	if (reader->no_memory)
		return NULL;
	if (strcmp(class, "BOUND_CONSTANT") == 0) {
		expr = read_constant(reader, json);
	} else {
		for (i = 0; i < sizeof(classes) / sizeof(classes[0]) && strcmp(class, classes[i].name) != 0; i++)
			;
		expr = i < sizeof(classes) / sizeof(classes[0])
		           ? classes[i].read(reader, json, scope)
		           : rql_plan_expr_opaque(reader, return_type(reader, json), "the expression %s",
		                                  class[0] ? class : "(none)");
	}
	const char *trouble = expr && expr->kind != RQL_EXPR_OPAQUE ? rql_plan_expr_trouble(reader, json, class) : NULL;
	if (trouble)
		expr = rql_plan_expr_opaque(reader, expr->type, "%s", trouble);
	const char *alias = rql_json_text(json, "alias");
	if (expr && !expr->alias && alias[0])
		expr->alias = keep_text(reader, alias);
	return reader->no_memory ? NULL : expr;
}
