/* Plans of DuckDB 2 in the form of those of 1.5, which the readers know. Only what this file knows whole is changed: a field
 * that is new, or that says another thing than here, stays where it is, and the tables of fields (plan_fields.c) refuse it. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "sql/rel/rel_internal.h"

enum rql_plan_dialect rql_plan_dialect_of(const char *version)
{
	return strtoul(version + (*version == 'v'), NULL, 10) >= 2 ? RQL_PLAN_2 : RQL_PLAN_1_5;
}

struct converting {
	bool no_memory;
};

/* ---- fields ---- */

/* Takes value over. */
static void put(struct converting *c, struct json_object *json, const char *name, struct json_object *value)
{
	if (!value || json_object_object_add(json, name, value) != 0) {
		json_object_put(value);
		c->no_memory = true;
	}
}

static void put_text(struct converting *c, struct json_object *json, const char *name, const char *text)
{
	put(c, json, name, json_object_new_string(text));
}

/* value, which belongs to another object. */
static void put_shared(struct converting *c, struct json_object *json, const char *name, struct json_object *value)
{
	put(c, json, name, json_object_get(value));
}

static bool is_empty_list(struct json_object *value)
{
	return json_object_is_type(value, json_type_array) && json_object_array_length(value) == 0;
}

static bool is_flag(struct json_object *value, bool set)
{
	return json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value) == set;
}

static void drop_if_empty(struct json_object *json, const char *name)
{
	if (is_empty_list(rql_json_field(json, name)))
		json_object_object_del(json, name);
}

/* ---- names ---- */

/* The texts of {"path": [...]}, NULL: it is no such object. */
static struct json_object *path_of(struct json_object *json, const char *name)
{
	struct json_object *qualified = rql_json_field(json, name), *path = rql_json_field(qualified, "path");
	if (!rql_json_length(path) || json_object_object_length(qualified) != 1)
		return NULL;
	for (size_t i = 0; i < rql_json_length(path); i++)
		if (!json_object_is_type(json_object_array_get_idx(path, i), json_type_string))
			return NULL;
	return path;
}

/* `name`, and where it is a path from the root, `catalog_name` and `schema_name`. One of another length stays beside the
 * name: what is called is still known, but not read. */
static void name_of_path(struct converting *c, struct json_object *json)
{
	struct json_object *path = path_of(json, "qname");
	size_t count = rql_json_length(path);
	if (!count || rql_json_field(json, "name"))
		return;
	put_shared(c, json, "name", json_object_array_get_idx(path, count - 1));
	if (count == 3) {
		put_shared(c, json, "catalog_name", json_object_array_get_idx(path, 0));
		put_shared(c, json, "schema_name", json_object_array_get_idx(path, 1));
	}
	if (count == 1 || count == 3)
		json_object_object_del(json, "qname");
}

/* ---- expressions that 2 has made functions ---- */

/* A function that stands for syntax: its name has no schema. */
static bool is_syntax(struct json_object *json, const char *name, size_t arguments, bool is_operator)
{
	return strcmp(rql_json_text(json, "name"), name) == 0 && !rql_json_field(json, "catalog_name") &&
	       !rql_json_field(json, "schema_name") && rql_json_count(json, "children") == arguments &&
	       rql_json_count(json, "arguments") == arguments && is_flag(rql_json_field(json, "is_operator"), is_operator);
}

/* What is_syntax() has looked at, and the children, which have other names now. */
static void drop_call(struct json_object *json)
{
	static const char *const fields[] = {"name", "children", "is_operator", "has_serialize"};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		json_object_object_del(json, fields[i]);
}

static bool is_boolean(struct json_object *json)
{
	struct json_object *type = rql_json_field(json, "return_type");
	return json_object_is_type(type, json_type_object) && json_object_object_length(type) == 1 &&
	       strcmp(rql_json_text(type, "id"), "BOOLEAN") == 0;
}

static void convert_comparison(struct converting *c, struct json_object *json)
{
	const char *name = rql_plan_comparison(rql_json_text(json, "type"));
	if (!name || !is_syntax(json, strcmp(name, "<>") == 0 ? "!=" : name, 2, true) || !is_boolean(json) ||
	    !is_flag(rql_json_field(json, "has_serialize"), false))
		return;
	struct json_object *children = rql_json_field(json, "children");
	put_text(c, json, "expression_class", "BOUND_COMPARISON");
	put_shared(c, json, "left", json_object_array_get_idx(children, 0));
	put_shared(c, json, "right", json_object_array_get_idx(children, 1));
	json_object_object_del(json, "return_type");
	drop_call(json);
}

/* Moves flags out of function_data, which goes when it has no others. */
static void move_flags(struct converting *c, struct json_object *json, const char *const *names, size_t count)
{
	struct json_object *data = rql_json_field(json, "function_data");
	for (size_t i = 0; i < count; i++) {
		struct json_object *flag = rql_json_field(data, names[i]);
		if (!json_object_is_type(flag, json_type_boolean))
			continue;
		put_shared(c, json, names[i], flag);
		json_object_object_del(data, names[i]);
	}
	if (json_object_is_type(data, json_type_object) && json_object_object_length(data) == 0)
		json_object_object_del(json, "function_data");
}

static void convert_between(struct converting *c, struct json_object *json)
{
	static const char *const fields[] = {"input", "lower", "upper"};
	static const char *const flags[] = {"lower_inclusive", "upper_inclusive"};
	if (!is_syntax(json, "__between", 3, false) || !is_boolean(json) ||
	    !is_flag(rql_json_field(json, "has_serialize"), true))
		return;
	put_text(c, json, "expression_class", "BOUND_BETWEEN");
	for (size_t i = 0; i < 3; i++)
		put_shared(c, json, fields[i], json_object_array_get_idx(rql_json_field(json, "children"), i));
	move_flags(c, json, flags, 2);
	json_object_object_del(json, "return_type");
	drop_call(json);
}

static bool has_zone(struct json_object *type)
{
	const char *id = rql_json_text(type, "id");
	return strstr(id, "TIME ZONE") || strstr(id, "TZ");
}

/* A default cast is one that no extension has another of: but for time zones, whose default knows UTC alone. */
static void convert_cast(struct converting *c, struct json_object *json)
{
	static const char *const flags[] = {"try_cast"};
	struct json_object *data = rql_json_field(json, "function_data"), *plain = rql_json_field(data, "is_default_cast");
	struct json_object *arguments = rql_json_field(json, "arguments");
	if (!is_syntax(json, "__cast", 1, true) || !is_flag(rql_json_field(json, "has_serialize"), true) ||
	    !json_object_is_type(plain, json_type_boolean))
		return;
	if (json_object_get_boolean(plain) &&
	    (has_zone(json_object_array_get_idx(arguments, 0)) || has_zone(rql_json_field(json, "return_type"))))
		return;
	put_text(c, json, "expression_class", "BOUND_CAST");
	put_shared(c, json, "child", json_object_array_get_idx(rql_json_field(json, "children"), 0));
	json_object_object_del(data, "is_default_cast");
	move_flags(c, json, flags, 1);
	drop_call(json);
}

/* ---- functions ---- */

static void convert_function(struct converting *c, struct json_object *json)
{
	put(c, json, "original_arguments", json_object_new_array());
}

/* 2 has the offset and the default of lag and lead as arguments. */
static void convert_window(struct converting *c, struct json_object *json)
{
	static const char *const fields[] = {"offset_expr", "default_expr"};
	const char *type = rql_json_text(json, "type");
	struct json_object *children = rql_json_field(json, "children");
	size_t count = rql_json_length(children);
	if (rql_json_field(json, "name"))
		put(c, json, "original_arguments", json_object_new_array());
	if ((strcmp(type, "WINDOW_LAG") != 0 && strcmp(type, "WINDOW_LEAD") != 0) || count < 2 || count > 3)
		return;
	for (size_t i = 1; i < count; i++)
		put_shared(c, json, fields[i - 1], json_object_array_get_idx(children, i));
	json_object_array_del_idx(children, 1, count - 1);
}

static void convert_expression(struct converting *c, struct json_object *json, const char *class)
{
	static const struct {
		const char *class, *type;
		void (*convert)(struct converting *c, struct json_object *json);
	} kinds[] = {
		{"BOUND_FUNCTION", "BOUND_FUNCTION", convert_function},
		{"BOUND_FUNCTION", "OPERATOR_CAST", convert_cast},
		{"BOUND_FUNCTION", "COMPARE_BETWEEN", convert_between},
		{"BOUND_FUNCTION", NULL, convert_comparison},
		{"BOUND_AGGREGATE", NULL, convert_function},
		{"BOUND_WINDOW", NULL, convert_window},
	};
	const char *type = rql_json_text(json, "type");
	if (json_object_is_type(rql_json_field(json, "query_location_length"), json_type_int))
		json_object_object_del(json, "query_location_length"); /* for messages */
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (strcmp(class, kinds[i].class) != 0 || (kinds[i].type && strcmp(type, kinds[i].type) != 0))
			continue;
		kinds[i].convert(c, json);
		return;
	}
}

/* ---- scans ---- */

/* The path of the table, which the fields of 1.5 say as well. */
static void convert_table(struct json_object *data)
{
	static const char *const fields[] = {"catalog", "schema", "table"};
	struct json_object *path = path_of(data, "qualified_name");
	if (rql_json_length(path) != 3)
		return;
	for (size_t i = 0; i < 3; i++)
		if (!json_object_equal(json_object_array_get_idx(path, i), rql_json_field(data, fields[i])))
			return;
	json_object_object_del(data, "qualified_name");
}

static void convert_scan(struct converting *c, struct json_object *json)
{
	/* those of a table function */
	static const char *const arguments[] = {"parameters", "named_parameters", "input_table_types", "input_table_names"};
	put(c, json, "original_arguments", json_object_new_array());
	for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
		drop_if_empty(json, arguments[i]);
	/* How filters name their columns: bound plans have none. */
	if (json_object_is_type(rql_json_field(json, "table_filters_by_projection"), json_type_boolean) &&
	    rql_json_count(rql_json_field(json, "table_filters"), "filters") == 0)
		json_object_object_del(json, "table_filters_by_projection");
	convert_table(rql_json_field(json, "function_data"));
}

/* ---- the whole ---- */

static void convert(struct converting *c, struct json_object *json)
{
	if (json_object_is_type(json, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(json) && !c->no_memory; i++)
			convert(c, json_object_array_get_idx(json, i));
		return;
	}
	if (!json_object_is_type(json, json_type_object) || c->no_memory)
		return;
	json_object_object_foreach(json, key, member)
	{
		(void)key;
		convert(c, member);
	}
	const char *class = rql_json_text(json, "expression_class");
	name_of_path(c, json);
	if (class[0])
		convert_expression(c, json, class);
	else if (strcmp(rql_json_text(json, "type"), "LOGICAL_GET") == 0)
		convert_scan(c, json);
}

bool rql_plan_from_2(struct json_object *plans)
{
	struct converting c = {0};
	convert(&c, plans);
	return !c.no_memory;
}

/* ---- what means another thing ---- */

/* A constant that is not 0, below casts that keep it so. */
static bool is_not_zero(const struct rql_expr *e)
{
	bool casts = e->kind == RQL_EXPR_CAST;
	while (e->kind == RQL_EXPR_CAST && !e->try_cast)
		e = e->children[0];
	if (e->kind != RQL_EXPR_CONSTANT || e->value.is_null)
		return false;
	if (rql_type_is_integer(e->type) || (e->type.id == RQL_TYPE_DECIMAL && !casts))
		return e->value.integer != 0;
	return (e->type.id == RQL_TYPE_DOUBLE || e->type.id == RQL_TYPE_FLOAT) && !casts && e->value.real != 0;
}

bool rql_plan_divides_by_zero(const struct rql_expr *e)
{
	static const char *const names[] = {"//", "divide", "%", "mod"};
	bool divides = strcmp(e->name, "/") == 0 && e->type.id == RQL_TYPE_INTERVAL;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		divides |= strcmp(e->name, names[i]) == 0;
	return divides && e->child_count == 2 && !is_not_zero(e->children[1]);
}

static bool same_filter(const struct rql_expr *a, const struct rql_expr *b)
{
	return a->filter ? b->filter && rql_expr_equal(a->filter, b->filter) : !b->filter;
}

static enum rql_average average_beside(const struct rql_rel *rel, const struct rql_expr *average)
{
	bool maybe = average->distinct || (average->filter && !rel->group_count);
	for (uint32_t i = rel->group_count; i < rel->expr_count; i++) {
		const struct rql_expr *e = rel->exprs[i];
		if (e->kind != RQL_EXPR_AGGREGATE || !same_filter(e, average))
			continue;
		bool part = strcmp(e->name, "sum") == 0 || strcmp(e->name, "count") == 0;
		if (part && e->child_count == 1 && e->distinct == average->distinct &&
		    rql_expr_equal(e->children[0], average->children[0]))
			return average->distinct ? RQL_AVERAGE_EITHER : RQL_AVERAGE_OF_SUM;
		/* what counts rows counts values where none is NULL, as far as DuckDB's statistics tell it */
		maybe |= strcmp(e->name, "count_star") == 0 || (strcmp(e->name, "count") == 0 && !e->child_count);
	}
	return maybe ? RQL_AVERAGE_EITHER : rel->group_count ? RQL_AVERAGE_OWN : RQL_AVERAGE_OF_SUM;
}

void rql_plan_note_averages(struct rql_rel *rel)
{
	for (uint32_t i = rel->group_count; i < rel->expr_count; i++) {
		struct rql_expr *e = rel->exprs[i];
		if (e->kind == RQL_EXPR_AGGREGATE && e->child_count == 1 && strcmp(e->name, "avg") == 0)
			e->average = average_beside(rel, e);
	}
}

/* ---- DATE '1994-01-01', which 2 has as one constant and 1.5 as the cast of a text ---- */

/* The string behind the type's name at the place; NULL: there is none. */
static const struct rql_literal *typed_literal(const struct rql_literals *l, uint64_t place, const char *type)
{
	size_t length = strlen(type);
	uint32_t token = 0;
	while (token < l->token_count && l->tokens[token] != place)
		token++;
	if (token + 1 >= l->token_count || strncasecmp(l->text + place, type, length) != 0 ||
	    strspn(l->text + place + length, " \t\n\r") != l->tokens[token + 1] - place - length)
		return NULL;
	bool minus = false;
	const struct rql_literal *literal = rql_literal_at(l, l->tokens[token + 1], &minus);
	return literal && literal->value.type.id == RQL_TYPE_VARCHAR && !minus ? literal : NULL;
}

struct rql_expr *rql_plan_cast_literal(struct rql_plan_reader *reader, uint64_t query_location, struct rql_type type)
{
	const struct rql_plan_source *source = reader->source;
	bool typed = type.id == RQL_TYPE_DATE || type.id == RQL_TYPE_TIMESTAMP;
	const struct rql_literal *literal = NULL;
	if (typed && query_location >= source->offset)
		literal = typed_literal(source->literals, query_location - source->offset, rql_type_id_name(type.id));
	if (!literal)
		return NULL;
	struct rql_expr *text = rql_plan_expr_new(reader, RQL_EXPR_CONSTANT, literal->value.type, 0);
	struct rql_expr *cast = rql_plan_expr_new(reader, RQL_EXPR_CAST, type, 1);
	if (!text || !cast)
		return NULL;
	text->value = literal->value;
	text->literal = (uint32_t)(literal - source->literals->items) + 1;
	cast->children[0] = text;
	return cast;
}
