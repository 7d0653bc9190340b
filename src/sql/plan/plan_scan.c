/* LOGICAL_GET: a base table's columns, the filters that DuckDB pushed into the scan as a FILTER above it, and the
 * projection that drops columns which only the filters need above that. */
#include <string.h>
#include "sql/rel/rel_internal.h"

#define ROWID UINT64_MAX

/* ---- table filters as expressions over one column ---- */
struct filter_column {
	uint32_t index; /* output column of the GET */
	struct rql_type type;
	const char *name;
};

static struct rql_expr *column_ref(struct rql_plan_reader *reader, const struct filter_column *column)
{
	return rql_plan_expr_ref(reader, column->index, column->type, column->name);
}

static struct rql_expr *constant_or_opaque(struct rql_plan_reader *reader, struct json_object *json)
{
	struct rql_value value;
	if (!rql_plan_value(reader, json, &value))
		return rql_plan_expr_opaque(reader, rql_type_simple(RQL_TYPE_INVALID), "a constant in a scan's filter");
	struct rql_expr *expr = rql_plan_expr_new(reader, RQL_EXPR_CONSTANT, value.type, 0);
	if (expr)
		expr->value = value;
	return expr;
}

static struct rql_expr *opaque_filter(struct rql_plan_reader *reader, const char *what)
{
	return rql_plan_expr_opaque(reader, rql_type_simple(RQL_TYPE_BOOLEAN), "the scan filter %s", what);
}

static struct rql_expr *filter_compare(struct rql_plan_reader *reader, struct json_object *json,
                                       const struct filter_column *column)
{
	const char *name = rql_plan_comparison(rql_json_text(json, "comparison_type"));
	struct rql_expr *constant = constant_or_opaque(reader, rql_json_field(json, "constant"));
	struct rql_expr *ref = column_ref(reader, column);
	if (!constant || !ref)
		return NULL;
	if (!name || column->type.id == RQL_TYPE_OTHER || !rql_type_equal(constant->type, column->type))
		return opaque_filter(reader, "of an unknown comparison or type");
	struct rql_expr *expr =
		rql_plan_expr_new(reader, RQL_EXPR_COMPARE, rql_type_simple(RQL_TYPE_BOOLEAN), 2);
	if (expr) {
		expr->name = name;
		expr->is_operator = true;
		expr->children[0] = ref;
		expr->children[1] = constant;
	}
	return expr;
}

static struct rql_expr *filter_in(struct rql_plan_reader *reader, struct json_object *json,
                                  const struct filter_column *column)
{
	struct json_object *values = rql_json_field(json, "values");
	uint32_t count = (uint32_t)rql_json_length(values);
	struct rql_expr *expr =
		rql_plan_expr_new(reader, RQL_EXPR_IN, rql_type_simple(RQL_TYPE_BOOLEAN), count + 1);
	if (!expr || !(expr->children[0] = column_ref(reader, column)))
		return NULL;
	if (count == 0 || column->type.id == RQL_TYPE_OTHER)
		return opaque_filter(reader, "IN of an unknown type");
	for (uint32_t i = 0; i < count; i++) {
		expr->children[i + 1] = constant_or_opaque(reader, json_object_array_get_idx(values, i));
		if (!expr->children[i + 1])
			return NULL;
		if (!rql_type_equal(expr->children[i + 1]->type, column->type))
			return opaque_filter(reader, "IN of an unknown type");
	}
	return expr;
}

/* EXPRESSION_FILTER is written over a row of this one column: its reference 0 becomes the GET's column. */
static struct rql_expr *move_ref(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	const struct filter_column *column = state;
	struct rql_expr *copy = RQL_NEW(arena, struct rql_expr);
	if (copy) {
		*copy = *ref;
		copy->index = column->index;
	}
	return copy;
}

static struct rql_expr *filter_expression(struct rql_plan_reader *reader, struct json_object *json,
                                          const struct filter_column *column)
{
	struct rql_scope scope = {.count = 1, .types = &column->type};
	struct rql_expr *expr = rql_plan_expr(reader, rql_json_field(json, "expr"), scope);
	if (!expr)
		return NULL;
	expr = rql_expr_rewrite(reader->arena, expr, move_ref, (void *)column);
	reader->no_memory |= !expr;
	return expr;
}

static struct rql_expr *filter_read(struct rql_plan_reader *reader, struct json_object *json,
                                    const struct filter_column *column, bool *hint);

static struct rql_expr *filter_conjunction(struct rql_plan_reader *reader, struct json_object *json,
                                           const struct filter_column *column, bool is_and, bool *hint)
{
	struct json_object *list = rql_json_field(json, "child_filters");
	uint32_t count = (uint32_t)rql_json_length(list), kept = 0;
	struct rql_expr *expr = rql_plan_expr_new(reader, is_and ? RQL_EXPR_AND : RQL_EXPR_OR,
	                                          rql_type_simple(RQL_TYPE_BOOLEAN), count);
	if (!expr)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		bool child_is_hint = false;
		struct rql_expr *child = filter_read(reader, json_object_array_get_idx(list, i), column, &child_is_hint);
		if (!child)
			return NULL;
		if (child_is_hint && !is_and)
			return opaque_filter(reader, "CONJUNCTION_OR with a hint inside");
		if (!child_is_hint)
			expr->children[kept++] = child;
	}
	expr->child_count = kept;
	*hint = kept == 0;
	return kept == 1 ? expr->children[0] : expr;
}

/* *hint: the filter may be left out (it only repeats what is checked elsewhere); the result is then not used. */
static struct rql_expr *filter_read(struct rql_plan_reader *reader, struct json_object *json,
                                    const struct filter_column *column, bool *hint)
{
	const char *kind = rql_json_text(json, "filter_type");
	if (strcmp(kind, "OPTIONAL_FILTER") == 0 || strcmp(kind, "DYNAMIC_FILTER") == 0) {
		*hint = true;
		return opaque_filter(reader, kind);
	}
	if (strcmp(kind, "CONSTANT_COMPARISON") == 0)
		return filter_compare(reader, json, column);
	if (strcmp(kind, "CONJUNCTION_AND") == 0 || strcmp(kind, "CONJUNCTION_OR") == 0)
		return filter_conjunction(reader, json, column, strcmp(kind, "CONJUNCTION_AND") == 0, hint);
	if (strcmp(kind, "IN_FILTER") == 0)
		return filter_in(reader, json, column);
	if (strcmp(kind, "EXPRESSION_FILTER") == 0)
		return filter_expression(reader, json, column);
	if (strcmp(kind, "IS_NULL") == 0 || strcmp(kind, "IS_NOT_NULL") == 0) {
		struct rql_expr *expr =
			rql_plan_expr_new(reader, strcmp(kind, "IS_NULL") == 0 ? RQL_EXPR_IS_NULL : RQL_EXPR_IS_NOT_NULL,
		                      rql_type_simple(RQL_TYPE_BOOLEAN), 1);
		if (expr)
			expr->children[0] = column_ref(reader, column);
		return expr && expr->children[0] ? expr : NULL;
	}
	return opaque_filter(reader, kind[0] ? kind : "of no kind");
}

/* ---- columns ---- */
static bool get_column(struct rql_plan_reader *reader, struct json_object *json, struct json_object *column_index,
                       struct rql_rel *get, uint32_t at)
{
	struct json_object *types = rql_json_field(json, "returned_types"), *names = rql_json_field(json, "names");
	uint64_t index = column_index ? rql_json_index(column_index, "index") : ROWID;
	if (rql_json_count(column_index, "child_indexes"))
		return false; /* one field of a nested column */
	if (index == ROWID) {
		get->types[at] = rql_type_simple(RQL_TYPE_BIGINT);
		get->column_ids[at] = UINT32_MAX;
		get->names[at] = get->column_names[at] = "rowid";
		return true;
	}
	if (index >= rql_json_length(types) || index >= rql_json_length(names))
		return false;
	const char *name = json_object_get_string(json_object_array_get_idx(names, (size_t)index));
	get->types[at] = rql_plan_type(reader, json_object_array_get_idx(types, (size_t)index));
	get->column_ids[at] = (uint32_t)index;
	get->names[at] = get->column_names[at] = rql_arena_strdup(reader->arena, name ? name : "");
	reader->no_memory |= !get->names[at];
	return true;
}

/* The GET node itself with all of column_indexes; *known false: an unreadable column. */
static struct rql_rel *get_columns(struct rql_plan_reader *reader, struct json_object *json, bool *known)
{
	struct json_object *indexes = rql_json_field(json, "column_indexes");
	uint32_t given = (uint32_t)rql_json_length(indexes), count = given ? given : 1;
	struct rql_rel *get = rql_plan_rel_new(reader, RQL_REL_GET, "LOGICAL_GET", count, 0);
	if (!get)
		return NULL;
	get->column_ids = RQL_NEW_ARRAY(reader->arena, uint32_t, count);
	get->column_names = RQL_NEW_ARRAY(reader->arena, const char *, count);
	if (!get->column_ids || !get->column_names) {
		reader->no_memory = true;
		return NULL;
	}
	*known = true;
	for (uint32_t i = 0; i < count && *known; i++)
		*known = get_column(reader, json, given ? json_object_array_get_idx(indexes, i) : NULL, get, i);
	return reader->no_memory ? NULL : get;
}

static bool get_table(struct rql_plan_reader *reader, struct json_object *json, struct rql_rel *get)
{
	struct json_object *data = rql_json_field(json, "function_data");
	get->table.catalog = rql_arena_strdup(reader->arena, rql_json_text(data, "catalog"));
	get->table.schema = rql_arena_strdup(reader->arena, rql_json_text(data, "schema"));
	get->table.table = rql_arena_strdup(reader->arena, rql_json_text(data, "table"));
	reader->no_memory |= !get->table.catalog || !get->table.schema || !get->table.table;
	return !reader->no_memory;
}

/* The GET's output column that holds table column `key`; column_count when it has none. */
static uint32_t find_column(const struct rql_rel *get, uint64_t key)
{
	uint32_t i = 0;
	uint32_t id = key == ROWID ? UINT32_MAX : (uint32_t)key;
	if (key != ROWID && key >= UINT32_MAX)
		return get->column_count;
	while (i < get->column_count && get->column_ids[i] != id)
		i++;
	return i;
}

/* The FILTER above get for its table_filters; get itself when they are only hints. */
static struct rql_rel *get_filters(struct rql_plan_reader *reader, struct json_object *json, struct rql_rel *get)
{
	struct json_object *filters = rql_json_field(rql_json_field(json, "table_filters"), "filters");
	uint32_t count = (uint32_t)rql_json_length(filters), kept = 0;
	if (count == 0)
		return get;
	struct rql_rel *filter = rql_plan_filter_over(reader, get, count);
	for (uint32_t i = 0; filter && i < count; i++) {
		struct json_object *entry = json_object_array_get_idx(filters, i);
		struct filter_column column = {.index = find_column(get, rql_json_index(entry, "key"))};
		bool hint = false;
		struct rql_expr *expr;
		if (column.index == get->column_count) {
			expr = opaque_filter(reader, "on a column that the scan does not read");
		} else {
			column.type = get->types[column.index];
			column.name = get->names[column.index];
			expr = filter_read(reader, rql_json_field(entry, "value"), &column, &hint);
		}
		if (!expr)
			return NULL;
		if (!hint)
			filter->exprs[kept++] = expr;
	}
	if (filter)
		filter->expr_count = kept;
	return kept || !filter ? filter : get;
}

/* Why a GET is more than a read of a table, or NULL. */
static const char *get_reason(struct json_object *json)
{
	struct json_object *extra = rql_json_field(json, "extra_info");
	if (strcmp(rql_json_text(json, "name"), "seq_scan") != 0 ||
	    !rql_json_text(rql_json_field(json, "function_data"), "table")[0])
		return "a table function";
	if (rql_json_field(extra, "sample_options"))
		return "a sampling scan";
	if (rql_json_count(json, "projected_input") || rql_json_count(json, "children") ||
	    rql_json_field(json, "ordinality_idx"))
		return "a scan with an input";
	return NULL;
}

struct rql_rel *rql_plan_get(struct rql_plan_reader *reader, struct json_object *json, struct rql_rel *opaque)
{
	const char *reason = get_reason(json), *name = rql_json_text(json, "name");
	bool known = false;
	struct rql_rel *get = get_columns(reader, json, &known);
	if (!get || !get_table(reader, json, get))
		return NULL;
	if (!known)
		return rql_plan_make_opaque(reader, opaque, "a scan of nested or virtual columns: %s", name);
	const char *trouble = reason ? NULL : rql_plan_operator_trouble(reader, json, "LOGICAL_GET");
	if (reason)
		rql_plan_make_opaque(reader, get, "%s: %s", reason, name);
	else if (trouble)
		rql_plan_make_opaque(reader, get, "%s", trouble);
	if (reason || trouble) /* its columns are known all the same: what is above it can still be told */
		return rql_plan_map_columns(reader, get, rql_json_field(json, "projection_ids"));
	struct rql_rel *rel = get_filters(reader, json, get);
	return rel ? rql_plan_map_columns(reader, rel, rql_json_field(json, "projection_ids")) : NULL;
}
