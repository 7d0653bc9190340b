/* Rows of values that are compared, `(a, b) = (1, 2)` and `(a, b) IN ((1, 2), (3, 4))`: DuckDB calls row() for each and
 * compares the structs, in which NULL equals NULL. The same is said of their fields one by one, which conditions, zone maps
 * and indexes know. */
#include <string.h>
#include "sql/rel/rel_internal.h"

/* A list with more fields than these would be too long a condition. */
#define FIELDS_MOST 1200u

/* The fields of a call of row(), maybe cast to another type of as many fields; NULL: it is none. */
static struct json_object *fields_of(struct json_object *json, struct json_object **types)
{
	*types = NULL;
	if (!strcmp(rql_json_text(json, "type"), "OPERATOR_CAST") && !rql_json_bool(json, "try_cast", false)) {
		*types = rql_json_field(rql_json_field(rql_json_field(json, "return_type"), "type_info"), "child_types");
		json = rql_json_field(json, "child");
	}
	const bool calls = !strcmp(rql_json_text(json, "expression_class"), "BOUND_FUNCTION") &&
	                   !strcmp(rql_json_text(json, "name"), "row");
	struct json_object *fields = calls ? rql_json_field(json, "children") : NULL;
	return fields && (!*types || rql_json_length(*types) == rql_json_length(fields)) ? fields : NULL;
}

static size_t width_of(struct json_object *json)
{
	struct json_object *types, *fields = fields_of(json, &types);
	return fields ? rql_json_length(fields) : 0;
}

/* DuckDB evaluates all fields of every row before it compares any. One that can fail is left to it: said field by field, an
 * earlier one would drop the rows that fail. */
static bool is_plain(const struct rql_expr *field)
{
	const struct rql_expr *e = field->kind == RQL_EXPR_CAST && field->children[0]->kind == RQL_EXPR_CONSTANT ? field->children[0]
	                                                                                                       : field;
	return e->kind == RQL_EXPR_REF || e->kind == RQL_EXPR_CONSTANT;
}

static struct rql_expr *read_field(struct rql_plan_reader *reader, struct json_object *json, size_t i,
                                   struct rql_scope scope)
{
	struct json_object *types, *fields = fields_of(json, &types);
	struct rql_expr *field = rql_plan_expr(reader, json_object_array_get_idx(fields, i), scope);
	if (field && !is_plain(field))
		return rql_plan_expr_opaque(reader, field->type, "a row's field that can fail");
	if (!field || !types)
		return field;
	const struct rql_type type = rql_plan_type(reader, rql_json_field(json_object_array_get_idx(types, i), "second"));
	if (rql_type_equal(type, field->type))
		return field;
	if (type.id == RQL_TYPE_OTHER || field->type.id == RQL_TYPE_OTHER)
		return rql_plan_expr_opaque(reader, type, "a cast of a row's field");
	struct rql_expr *cast = rql_plan_expr_new(reader, RQL_EXPR_CAST, type, 1);
	if (cast)
		cast->children[0] = field;
	return cast;
}

static struct rql_expr *logic(struct rql_plan_reader *reader, enum rql_expr_kind kind, uint32_t count)
{
	return rql_plan_expr_new(reader, kind, rql_type_simple(RQL_TYPE_BOOLEAN), count);
}

bool rql_plan_are_rows(struct json_object *const *rows, size_t count)
{
	const size_t width = count ? width_of(rows[0]) : 0;
	bool are = width > 1 && width * count <= FIELDS_MOST;
	for (size_t i = 1; i < count && are; i++)
		are = width_of(rows[i]) == width;
	return are;
}

static bool is_other(const struct rql_expr *e)
{
	return e->type.id == RQL_TYPE_OTHER || e->type.id == RQL_TYPE_INVALID;
}

static struct rql_expr *same_rows(struct rql_plan_reader *reader, struct rql_expr *const *a, size_t width,
                                  struct json_object *b, struct rql_scope scope)
{
	struct rql_expr *all = logic(reader, RQL_EXPR_AND, (uint32_t)width);
	for (size_t i = 0; i < width && all; i++) {
		struct rql_expr *same = logic(reader, RQL_EXPR_COMPARE, 2);
		if (!same || !(same->children[0] = a[i]) || !(same->children[1] = read_field(reader, b, i, scope)))
			return NULL;
		if (same->children[0]->kind == RQL_EXPR_OPAQUE || same->children[1]->kind == RQL_EXPR_OPAQUE)
			return rql_plan_expr_opaque(reader, same->type, "a comparison of rows whose fields can fail");
		same->name = "IS NOT DISTINCT FROM";
		same->is_operator = true;
		all->children[i] = is_other(same->children[0]) || is_other(same->children[1])
		                       ? rql_plan_expr_opaque(reader, same->type, "a comparison of a row's nested field")
		                       : same;
		if (!all->children[i])
			return NULL;
	}
	return all;
}

struct rql_expr *rql_plan_row_in(struct rql_plan_reader *reader, struct json_object *const *rows, size_t count,
                                 struct rql_scope scope)
{
	const size_t width = width_of(rows[0]);
	struct rql_expr *some = logic(reader, RQL_EXPR_OR, (uint32_t)count - 1);
	struct rql_expr **row = RQL_NEW_ARRAY(reader->arena, struct rql_expr *, width);
	reader->no_memory |= !row;
	for (size_t i = 0; i < width && row; i++)
		row[i] = read_field(reader, rows[0], i, scope);
	for (size_t i = 1; i < count && some; i++) {
		struct rql_expr *same = some->children[i - 1] = row ? same_rows(reader, row, width, rows[i], scope) : NULL;
		if (!same || same->kind == RQL_EXPR_OPAQUE || count == 2)
			return same;
	}
	return some;
}
