/* Operators of the plan JSON. An operator that cannot be told exactly becomes RQL_REL_OPAQUE over its children. */
#include <string.h>
#include "sql/rel/rel_internal.h"

static struct rql_rel *read_rel(struct rql_plan_reader *reader, struct json_object *json);

/* ---- children and columns ---- */
static struct json_object *child_json(struct json_object *json, size_t index)
{
	struct json_object *children = rql_json_field(json, "children");
	return index < rql_json_length(children) ? json_object_array_get_idx(children, index) : NULL;
}

static struct rql_scope scope_of(const struct rql_rel *rel)
{
	return (struct rql_scope){.count = rel->column_count, .types = rel->types};
}

/* A node over the one child that the operator must have, with the child's columns. */
static struct rql_rel *over_child(struct rql_plan_reader *reader, struct json_object *json, enum rql_rel_kind kind,
                                  uint32_t column_count)
{
	struct rql_rel *rel = rql_plan_rel_new(reader, kind, rql_json_text(json, "type"), column_count, 1);
	if (!rel || !(rel->children[0] = read_rel(reader, child_json(json, 0))))
		return NULL;
	return rel;
}

static struct rql_rel *like_child(struct rql_plan_reader *reader, struct json_object *json, enum rql_rel_kind kind)
{
	struct rql_rel *child = read_rel(reader, child_json(json, 0));
	struct rql_rel *rel =
		child ? rql_plan_rel_new(reader, kind, rql_json_text(json, "type"), child->column_count, 1) : NULL;
	if (!rel)
		return NULL;
	memcpy(rel->types, child->types, child->column_count * sizeof(*child->types));
	memcpy(rel->names, child->names, child->column_count * sizeof(*child->names));
	rel->children[0] = child;
	return rel;
}

/* Reads list into rel->exprs from `at` on; columns `column`.. take their types and aliases (when `columns`). */
static bool read_exprs(struct rql_plan_reader *reader, struct rql_rel *rel, struct json_object *list,
                       struct rql_scope scope, uint32_t at, uint32_t column)
{
	for (uint32_t i = 0; i < (uint32_t)rql_json_length(list); i++) {
		struct rql_expr *expr = rql_plan_expr(reader, json_object_array_get_idx(list, i), scope);
		if (!expr)
			return false;
		rel->exprs[at + i] = expr;
		rel->types[column + i] = expr->type;
		rel->names[column + i] = expr->alias;
	}
	return true;
}

static bool new_exprs(struct rql_plan_reader *reader, struct rql_rel *rel, uint32_t count)
{
	rel->exprs = RQL_NEW_ARRAY(reader->arena, struct rql_expr *, count);
	rel->expr_count = rel->exprs ? count : 0;
	reader->no_memory |= !rel->exprs;
	return rel->exprs != NULL;
}

/* All children of an operator that is opaque as a whole: they are kept for what they call and for EXPLAIN. */
static struct rql_rel *read_opaque(struct rql_plan_reader *reader, struct json_object *json, uint32_t column_count)
{
	uint32_t count = (uint32_t)rql_json_count(json, "children");
	const char *type = rql_json_text(json, "type");
	struct rql_rel *rel = rql_plan_rel_new(reader, RQL_REL_OPAQUE, type, column_count, count);
	for (uint32_t i = 0; rel && i < count; i++)
		if (!(rel->children[i] = read_rel(reader, child_json(json, i))))
			return NULL;
	return rql_plan_make_opaque(reader, rel, "the operator %s", type[0] ? type : "(none)");
}

/* ---- one input ---- */
static struct rql_rel *read_get(struct rql_plan_reader *reader, struct json_object *json)
{
	struct rql_rel *opaque = read_opaque(reader, json, 0);
	return opaque ? rql_plan_get(reader, json, opaque) : NULL;
}

static struct rql_rel *read_filter(struct rql_plan_reader *reader, struct json_object *json)
{
	struct json_object *list = rql_json_field(json, "expressions");
	uint32_t count = (uint32_t)rql_json_length(list);
	struct rql_rel *child = read_rel(reader, child_json(json, 0));
	struct rql_rel *filter = child && count ? rql_plan_filter_over(reader, child, count) : child;
	for (uint32_t i = 0; filter && i < count; i++) {
		filter->exprs[i] = rql_plan_expr(reader, json_object_array_get_idx(list, i), scope_of(child));
		if (!filter->exprs[i])
			return NULL;
	}
	return rql_plan_map_columns(reader, filter, rql_json_field(json, "projection_map"));
}

/* A projection of all columns as they are, without names: DuckDB 2 has some around correlated subqueries. */
static bool is_nothing(const struct rql_rel *project)
{
	bool same = project->column_count && project->column_count == project->children[0]->column_count;
	for (uint32_t i = 0; i < project->column_count && same; i++)
		same = project->exprs[i]->kind == RQL_EXPR_REF && project->exprs[i]->index == i && !project->names[i];
	return same;
}

static struct rql_rel *read_project(struct rql_plan_reader *reader, struct json_object *json)
{
	struct json_object *list = rql_json_field(json, "expressions");
	uint32_t count = (uint32_t)rql_json_length(list);
	struct rql_rel *rel = over_child(reader, json, RQL_REL_PROJECT, count);
	if (!rel || !new_exprs(reader, rel, count))
		return NULL;
	if (!read_exprs(reader, rel, list, scope_of(rel->children[0]), 0, 0))
		return NULL;
	return is_nothing(rel) ? rel->children[0] : rel;
}

/* One grouping set of all the keys is what GROUP BY means; others are ROLLUP, CUBE and GROUPING SETS. */
static bool one_grouping_set(struct json_object *json, uint32_t groups)
{
	struct json_object *sets = rql_json_field(json, "grouping_sets");
	if (rql_json_count(json, "grouping_functions"))
		return false;
	return rql_json_length(sets) == 0 ||
	       (rql_json_length(sets) == 1 && rql_json_length(json_object_array_get_idx(sets, 0)) == groups);
}

static struct rql_rel *read_aggregate(struct rql_plan_reader *reader, struct json_object *json)
{
	struct json_object *keys = rql_json_field(json, "groups"), *list = rql_json_field(json, "expressions");
	uint32_t groups = (uint32_t)rql_json_length(keys), count = groups + (uint32_t)rql_json_length(list);
	struct rql_rel *rel = over_child(reader, json, RQL_REL_AGGREGATE, count);
	if (!rel || !new_exprs(reader, rel, count))
		return NULL;
	rel->group_count = groups;
	if (!read_exprs(reader, rel, keys, scope_of(rel->children[0]), 0, 0) ||
	    !read_exprs(reader, rel, list, scope_of(rel->children[0]), groups, groups))
		return NULL;
	if (!one_grouping_set(json, groups))
		return rql_plan_make_opaque(reader, rel, "several grouping sets");
	for (uint32_t i = groups; i < count; i++)
		if (rel->exprs[i]->kind != RQL_EXPR_AGGREGATE && rel->exprs[i]->kind != RQL_EXPR_OPAQUE)
			return rql_plan_make_opaque(reader, rel, "an aggregation of what is no aggregate");
	if (reader->dialect == RQL_PLAN_2)
		rql_plan_note_averages(rel);
	return rel;
}

static struct rql_rel *read_window(struct rql_plan_reader *reader, struct json_object *json)
{
	struct json_object *list = rql_json_field(json, "expressions");
	uint32_t count = (uint32_t)rql_json_length(list);
	struct rql_rel *child = read_rel(reader, child_json(json, 0));
	struct rql_rel *rel =
		child ? rql_plan_rel_new(reader, RQL_REL_WINDOW, "LOGICAL_WINDOW", child->column_count + count, 1) : NULL;
	if (!rel || !new_exprs(reader, rel, count))
		return NULL;
	rel->children[0] = child;
	memcpy(rel->types, child->types, child->column_count * sizeof(*child->types));
	memcpy(rel->names, child->names, child->column_count * sizeof(*child->names));
	return read_exprs(reader, rel, list, scope_of(child), 0, child->column_count) ? rel : NULL;
}

static bool is_target(const struct rql_rel *rel, const struct rql_expr *expr)
{
	for (uint32_t i = 0; i < rel->expr_count; i++)
		if (rql_expr_equal(rel->exprs[i], expr))
			return true;
	return false;
}

/* Each column is a target of its own: rows with equal targets are equal rows. */
static bool is_of_whole_rows(struct rql_plan_reader *reader, const struct rql_rel *rel)
{
	bool *seen = RQL_NEW_ARRAY(reader->arena, bool, rel->column_count);
	uint32_t distinct = 0;
	reader->no_memory |= !seen;
	for (uint32_t i = 0; i < rel->expr_count && seen; i++) {
		if (rel->exprs[i]->kind != RQL_EXPR_REF)
			return false;
		distinct += !seen[rel->exprs[i]->index];
		seen[rel->exprs[i]->index] = true;
	}
	return seen && distinct == rel->column_count;
}

/* The orders of DISTINCT ON: a target is the same in all rows of a group, and orders nothing among them. */
static bool read_first_of(struct rql_plan_reader *reader, struct json_object *json, struct rql_rel *rel, bool *opaque)
{
	struct json_object *orders = rql_json_field(rql_json_field(json, "order_by"), "orders");
	uint32_t kept = 0;
	if (!rql_plan_orders(reader, orders, scope_of(rel), &rel->orders, &rel->order_count, opaque))
		return false;
	for (uint32_t i = 0; i < rel->order_count; i++)
		if (!is_target(rel, rel->orders[i].expr))
			rel->orders[kept++] = rel->orders[i];
	rel->order_count = kept;
	return true;
}

static struct rql_rel *read_distinct(struct rql_plan_reader *reader, struct json_object *json)
{
	struct json_object *targets = rql_json_field(json, "distinct_targets");
	struct rql_rel *rel = like_child(reader, json, RQL_REL_DISTINCT);
	bool on = strcmp(rql_json_text(json, "distinct_type"), "DISTINCT_ON") == 0, opaque = false;
	uint32_t count = (uint32_t)rql_json_length(targets);
	if (!rel || !new_exprs(reader, rel, count))
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		if (!(rel->exprs[i] = rql_plan_expr(reader, json_object_array_get_idx(targets, i), scope_of(rel))))
			return NULL;
	if (is_of_whole_rows(reader, rel)) {
		rel->expr_count = 0;
		return rel;
	}
	if (!on || !count)
		return rql_plan_make_opaque(reader, rel, "DISTINCT over other than the columns");
	if (!read_first_of(reader, json, rel, &opaque))
		return NULL;
	if (opaque)
		return rql_plan_make_opaque(reader, rel, "DISTINCT ON with an unknown order");
	if (!rel->order_count)
		return rql_plan_make_opaque(reader, rel, "DISTINCT ON without an order of the rows with equal values");
	rel->kind = RQL_REL_DISTINCT_ON;
	return rel;
}

/* ---- order and limit ---- */
static struct rql_rel *read_order(struct rql_plan_reader *reader, struct json_object *json)
{
	bool top = strcmp(rql_json_text(json, "type"), "LOGICAL_TOP_N") == 0, opaque = false;
	struct rql_rel *rel = like_child(reader, json, top ? RQL_REL_TOP_N : RQL_REL_ORDER);
	if (!rel || !rql_plan_orders(reader, rql_json_field(json, "orders"), scope_of(rel), &rel->orders, &rel->order_count,
	                             &opaque))
		return NULL;
	rel->limit = top ? rql_json_index(json, "limit") : UINT64_MAX;
	rel->offset = rql_json_index(json, "offset");
	if (opaque)
		return rql_plan_make_opaque(reader, rel, "an unknown order");
	return rql_plan_map_columns(reader, rel, rql_json_field(json, "projections"));
}

/* false: a limit that is no constant number of rows. */
static bool limit_value(struct json_object *limit, uint64_t unset, uint64_t *out)
{
	const char *type = rql_json_text(limit, "type");
	*out = strcmp(type, "CONSTANT_VALUE") == 0 ? rql_json_index(limit, "constant_integer") : unset;
	return strcmp(type, "CONSTANT_VALUE") == 0 || strcmp(type, "UNSET") == 0;
}

static struct rql_rel *read_limit(struct rql_plan_reader *reader, struct json_object *json)
{
	struct rql_rel *rel = like_child(reader, json, RQL_REL_LIMIT);
	if (!rel)
		return NULL;
	if (!limit_value(rql_json_field(json, "limit_val"), UINT64_MAX, &rel->limit) ||
	    !limit_value(rql_json_field(json, "offset_val"), 0, &rel->offset))
		return rql_plan_make_opaque(reader, rel, "a LIMIT that is a percentage or an expression");
	return rel;
}

/* ---- leaves ---- */
static struct rql_rel *read_typed_leaf(struct rql_plan_reader *reader, struct json_object *json, enum rql_rel_kind kind,
                                       const char *field)
{
	struct json_object *types = rql_json_field(json, field);
	uint32_t count = (uint32_t)rql_json_length(types);
	struct rql_rel *rel = rql_plan_rel_new(reader, kind, rql_json_text(json, "type"), count, 0);
	for (uint32_t i = 0; rel && i < count; i++)
		rel->types[i] = rql_plan_type(reader, json_object_array_get_idx(types, i));
	return reader->no_memory ? NULL : rel;
}

static struct rql_rel *read_dummy(struct rql_plan_reader *reader, struct json_object *json)
{
	(void)json;
	return rql_plan_rel_new(reader, RQL_REL_DUMMY, "LOGICAL_DUMMY_SCAN", 0, 0);
}

static struct rql_rel *read_empty(struct rql_plan_reader *reader, struct json_object *json)
{
	return read_typed_leaf(reader, json, RQL_REL_EMPTY, "return_types");
}

static struct rql_rel *read_values(struct rql_plan_reader *reader, struct json_object *json)
{
	struct json_object *rows = rql_json_field(json, "expressions");
	struct rql_rel *rel = read_typed_leaf(reader, json, RQL_REL_VALUES, "expr_types");
	size_t count = rql_json_length(rows);
	if (!rel || (rel->column_count && count > UINT32_MAX / rel->column_count) ||
	    !new_exprs(reader, rel, (uint32_t)count * rel->column_count))
		return rel && !reader->no_memory ? rql_plan_make_opaque(reader, rel, "too many VALUES") : NULL;
	if (rel->column_count == 0 || strcmp(rql_json_text(child_json(json, 0), "type"), "LOGICAL_DUMMY_SCAN") != 0)
		return rql_plan_make_opaque(reader, rel, "VALUES over an input");
	for (size_t row = 0; row < count; row++) {
		struct json_object *list = json_object_array_get_idx(rows, row);
		for (uint32_t c = 0; c < rel->column_count; c++) {
			struct json_object *value = c < rql_json_length(list) ? json_object_array_get_idx(list, c) : NULL;
			struct rql_expr *expr = rql_plan_expr(reader, value, (struct rql_scope){0});
			if (!expr)
				return NULL;
			rel->exprs[row * rel->column_count + c] = expr;
		}
	}
	return rel;
}

/* ---- joins ---- */
static bool join_type_of(const char *name, enum rql_join_type *out)
{
	static const struct {
		const char *name;
		enum rql_join_type type;
	} types[] = {
		{"INNER", RQL_JOIN_INNER},
		{"LEFT", RQL_JOIN_LEFT},
		{"RIGHT", RQL_JOIN_RIGHT},
		{"OUTER", RQL_JOIN_FULL},
		{"FULL", RQL_JOIN_FULL},
		{"SEMI", RQL_JOIN_SEMI},
		{"ANTI", RQL_JOIN_ANTI},
		{"RIGHT_SEMI", RQL_JOIN_RIGHT_SEMI},
		{"RIGHT_ANTI", RQL_JOIN_RIGHT_ANTI},
		{"MARK", RQL_JOIN_MARK},
		{"SINGLE", RQL_JOIN_SINGLE},
	};
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(name, types[i].name) == 0) {
			*out = types[i].type;
			return true;
		}
	}
	return false;
}

static bool left_is_output(enum rql_join_type join)
{
	return join != RQL_JOIN_RIGHT_SEMI && join != RQL_JOIN_RIGHT_ANTI;
}

static bool right_is_output(enum rql_join_type join)
{
	return join != RQL_JOIN_SEMI && join != RQL_JOIN_ANTI && join != RQL_JOIN_MARK;
}

static struct rql_rel *join_of(struct rql_plan_reader *reader, const char *name, enum rql_join_type join,
                               struct rql_rel *left, struct rql_rel *right)
{
	bool with_left = left_is_output(join), with_right = right_is_output(join), mark = join == RQL_JOIN_MARK;
	uint32_t lefts = with_left ? left->column_count : 0, rights = with_right ? right->column_count : 0;
	struct rql_rel *rel = rql_plan_rel_new(reader, RQL_REL_JOIN, name, lefts + rights + mark, 2);
	if (!rel)
		return NULL;
	rel->join = join;
	rel->children[0] = left;
	rel->children[1] = right;
	memcpy(rel->types, left->types, lefts * sizeof(*rel->types));
	memcpy(rel->names, left->names, lefts * sizeof(*rel->names));
	memcpy(rel->types + lefts, right->types, rights * sizeof(*rel->types));
	memcpy(rel->names + lefts, right->names, rights * sizeof(*rel->names));
	if (mark)
		rel->types[lefts] = rql_type_simple(RQL_TYPE_BOOLEAN);
	/* A side without columns is DuckDB's dummy row, which counts as a column in its plans: positions are not told then.
	 */
	if (left->column_count == 0 || right->column_count == 0) {
		rel->column_count = 0;
		return rql_plan_make_opaque(reader, rel, "a join with an input whose columns RayQL cannot read");
	}
	return rel;
}

/* Right-hand references count from the join's left columns on. */
static struct rql_expr *shift_ref(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	struct rql_expr *copy = RQL_NEW(arena, struct rql_expr);
	if (copy) {
		*copy = *ref;
		copy->index += *(uint32_t *)state;
	}
	return copy;
}

/* A condition that is no comparison of the two sides: over the columns of both. Of a mark, which it may make NULL, it is not
 * followed. */
static struct rql_expr *other_condition(struct rql_plan_reader *reader, struct json_object *json, const struct rql_rel *join)
{
	struct rql_rel *both =
		join_of(reader, "LOGICAL_CROSS_PRODUCT", RQL_JOIN_CROSS, join->children[0], join->children[1]);
	if (both && join->join == RQL_JOIN_MARK)
		return rql_plan_expr_opaque(reader, rql_type_simple(RQL_TYPE_BOOLEAN), "a mark by a condition that is no comparison");
	return both ? rql_plan_expr(reader, rql_json_field(json, "left"), scope_of(both)) : NULL;
}

static struct rql_expr *join_condition(struct rql_plan_reader *reader, struct json_object *json, struct rql_rel *join)
{
	if (strcmp(rql_json_text(json, "comparison"), "INVALID") == 0 && !rql_json_field(json, "right") &&
	    rql_json_field(json, "left"))
		return other_condition(reader, json, join);
	const char *name = rql_plan_comparison(rql_json_text(json, "comparison"));
	struct rql_type boolean = rql_type_simple(RQL_TYPE_BOOLEAN);
	struct rql_expr *left, *right, *expr;
	uint32_t shift = join->children[0]->column_count;
	if (!name || !rql_json_field(json, "left") || !rql_json_field(json, "right"))
		return rql_plan_expr_opaque(reader, boolean, "a join condition that is no comparison");
	left = rql_plan_expr(reader, rql_json_field(json, "left"), scope_of(join->children[0]));
	right = rql_plan_expr(reader, rql_json_field(json, "right"), scope_of(join->children[1]));
	if (right)
		right = rql_expr_rewrite(reader->arena, right, shift_ref, &shift);
	expr = rql_plan_expr_new(reader, RQL_EXPR_COMPARE, boolean, 2);
	if (!left || !right || !expr) {
		reader->no_memory = true;
		return NULL;
	}
	if (left->type.id == RQL_TYPE_OTHER || right->type.id == RQL_TYPE_OTHER)
		return rql_plan_expr_opaque(reader, boolean, "a join condition over a nested or rare type");
	expr->name = name;
	expr->is_operator = true;
	expr->children[0] = left;
	expr->children[1] = right;
	return expr;
}

/* Both projection maps as one PROJECT above the join. */
static struct rql_rel *join_maps(struct rql_plan_reader *reader, struct json_object *json, struct rql_rel *join)
{
	struct json_object *left = rql_json_field(json, "left_projection_map");
	struct json_object *right = rql_json_field(json, "right_projection_map");
	uint32_t lefts = left_is_output(join->join) ? join->children[0]->column_count : 0;
	if (join->kind == RQL_REL_OPAQUE || (!rql_json_length(left) && !rql_json_length(right)))
		return join;
	struct json_object *map = json_object_new_array();
	struct rql_rel *rel = NULL;
	bool use_left = lefts && rql_json_length(left), use_right = right_is_output(join->join) && rql_json_length(right);
	uint32_t first = use_left ? (uint32_t)rql_json_length(left) : lefts;
	uint32_t rest = use_right ? (uint32_t)rql_json_length(right) : join->column_count - lefts;
	if (!map)
		goto done;
	for (uint32_t i = 0; i < first + rest; i++) {
		uint64_t at = i < first ? (use_left ? rql_json_index_value(json_object_array_get_idx(left, i)) : i)
		                        : lefts + (use_right ? rql_json_index_value(json_object_array_get_idx(right, i - first))
		                                             : i - first);
		struct json_object *entry = json_object_new_uint64(at);
		if (!entry || json_object_array_add(map, entry) != 0)
			goto done;
	}
	rel = rql_plan_map_columns(reader, join, map);
done:
	reader->no_memory |= !rel;
	json_object_put(map);
	return rel;
}

/* Each row of left with the one row of right. */
static struct rql_rel *with_row(struct rql_plan_reader *reader, struct json_object *json, struct rql_rel *left,
                                struct rql_rel *right)
{
	struct rql_rel *cross = join_of(reader, "LOGICAL_CROSS_PRODUCT", RQL_JOIN_CROSS, left, right);
	struct rql_rel *mapped = cross ? join_maps(reader, json, cross) : NULL;
	return mapped == cross && cross ? rql_plan_join_row(reader, cross) : mapped;
}

static struct rql_rel *comparison_join(struct rql_plan_reader *reader, struct json_object *json, struct rql_rel *left,
                                       struct rql_rel *right)
{
	struct json_object *conditions = rql_json_field(json, "conditions");
	uint32_t count = (uint32_t)rql_json_length(conditions);
	enum rql_join_type type = RQL_JOIN_INNER;
	bool known = join_type_of(rql_json_text(json, "join_type"), &type);
	if (known && type == RQL_JOIN_LEFT && count == 0 && rql_plan_is_one_row(right))
		return with_row(reader, json, left, right);
	struct rql_rel *join = join_of(reader, rql_json_text(json, "type"), type, left, right);
	if (!join || !new_exprs(reader, join, count))
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		if (!(join->exprs[i] = join_condition(reader, json_object_array_get_idx(conditions, i), join)))
			return NULL;
	if (!known || rql_json_field(json, "predicate"))
		return rql_plan_make_opaque(reader, join, "the join type %s%s", rql_json_text(json, "join_type"),
		                            known ? " with a predicate" : "");
	if (count == 0 && type != RQL_JOIN_INNER)
		return rql_plan_make_opaque(reader, join, "a %s join without conditions", rql_json_text(json, "join_type"));
	return join_maps(reader, json, join);
}

static struct rql_rel *read_comparison_join(struct rql_plan_reader *reader, struct json_object *json)
{
	struct rql_rel *left = read_rel(reader, child_json(json, 0));
	struct rql_rel *right = left ? read_rel(reader, child_json(json, 1)) : NULL;
	return right ? comparison_join(reader, json, left, right) : NULL;
}

/* Equalities, and one comparison of the two sides' order. */
static bool is_asof(const struct rql_rel *join)
{
	uint32_t orders = 0;
	for (uint32_t i = 0; i < join->expr_count; i++) {
		const struct rql_expr *e = join->exprs[i];
		bool order = e->kind == RQL_EXPR_COMPARE && (e->name[0] == '<' || e->name[0] == '>') && strcmp(e->name, "<>") != 0;
		if (!order && (e->kind != RQL_EXPR_COMPARE || (strcmp(e->name, "=") && strcmp(e->name, "IS NOT DISTINCT FROM"))))
			return false;
		orders += order;
	}
	return orders == 1;
}

/* DuckDB 1.5 looks at the wrong conditions for NULLs where keys come before the order (see flow/join/join_range.c). */
static bool drops_nulls(const struct rql_plan_reader *reader, const struct rql_rel *join)
{
	bool null_safe = false;
	for (uint32_t i = 0; i < join->expr_count; i++)
		null_safe |= strcmp(join->exprs[i]->name, "IS NOT DISTINCT FROM") == 0;
	return reader->dialect != RQL_PLAN_2 && null_safe;
}

static struct rql_rel *read_asof_join(struct rql_plan_reader *reader, struct json_object *json)
{
	struct json_object *conditions = rql_json_field(json, "conditions");
	uint32_t count = (uint32_t)rql_json_length(conditions);
	enum rql_join_type type = RQL_JOIN_INNER;
	bool known = join_type_of(rql_json_text(json, "join_type"), &type) && (type == RQL_JOIN_INNER || type == RQL_JOIN_LEFT);
	struct rql_rel *left = read_rel(reader, child_json(json, 0));
	struct rql_rel *right = left ? read_rel(reader, child_json(json, 1)) : NULL;
	struct rql_rel *join = right ? join_of(reader, "LOGICAL_ASOF_JOIN",
	                                       type == RQL_JOIN_LEFT ? RQL_JOIN_ASOF_LEFT : RQL_JOIN_ASOF, left, right)
	                             : NULL;
	if (!join || !new_exprs(reader, join, count))
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		if (!(join->exprs[i] = join_condition(reader, json_object_array_get_idx(conditions, i), join)))
			return NULL;
	if (join->kind == RQL_REL_OPAQUE)
		return join;
	if (!known)
		return rql_plan_make_opaque(reader, join, "an ASOF join of the type %s", rql_json_text(json, "join_type"));
	if (!is_asof(join))
		return rql_plan_make_opaque(reader, join, "an ASOF join with other conditions");
	if (drops_nulls(reader, join))
		return rql_plan_make_opaque(reader, join, "an ASOF join with IS NOT DISTINCT FROM, whose NULLs this DuckDB drops");
	return join_maps(reader, json, join);
}

static struct rql_rel *read_any_join(struct rql_plan_reader *reader, struct json_object *json)
{
	enum rql_join_type type = RQL_JOIN_INNER;
	bool known = join_type_of(rql_json_text(json, "join_type"), &type);
	struct rql_rel *left = read_rel(reader, child_json(json, 0));
	struct rql_rel *right = left ? read_rel(reader, child_json(json, 1)) : NULL;
	struct rql_rel *join = right ? join_of(reader, "LOGICAL_ANY_JOIN", type, left, right) : NULL;
	struct rql_rel *both = right ? join_of(reader, "LOGICAL_CROSS_PRODUCT", RQL_JOIN_CROSS, left, right) : NULL;
	if (!join || !both || !new_exprs(reader, join, 1))
		return NULL;
	join->exprs[0] = rql_plan_expr(reader, rql_json_field(json, "condition"), scope_of(both));
	if (!join->exprs[0])
		return NULL;
	if (!known)
		return rql_plan_make_opaque(reader, join, "the join type %s", rql_json_text(json, "join_type"));
	return join_maps(reader, json, join);
}

static struct rql_rel *read_cross(struct rql_plan_reader *reader, struct json_object *json)
{
	struct rql_rel *left = read_rel(reader, child_json(json, 0));
	struct rql_rel *right = left ? read_rel(reader, child_json(json, 1)) : NULL;
	return right ? join_of(reader, "LOGICAL_CROSS_PRODUCT", RQL_JOIN_CROSS, left, right) : NULL;
}

/* ---- set operations ---- */
static struct rql_rel *read_setop(struct rql_plan_reader *reader, struct json_object *json)
{
	const char *type = rql_json_text(json, "type");
	uint32_t count = (uint32_t)rql_json_count(json, "children");
	uint32_t columns = 0;
	struct rql_rel *rel = read_opaque(reader, json, 0);
	if (!rel || count < 2)
		return rel;
	columns = rel->children[0]->column_count;
	for (uint32_t i = 0; i < count; i++) {
		struct rql_rel *child = rel->children[i];
		if (child->column_count != columns || columns == 0)
			return rql_plan_make_opaque(reader, rel, "a set operation over inputs that RayQL cannot read");
		for (uint32_t c = 0; c < columns; c++)
			if (!rql_type_equal(child->types[c], rel->children[0]->types[c]))
				return rql_plan_make_opaque(reader, rel, "a set operation over different types");
	}
	rel->kind = RQL_REL_SETOP;
	rel->name = rql_arena_strdup(reader->arena, type);
	reader->no_memory |= !rel->name;
	rel->column_count = columns;
	rel->types = rel->children[0]->types;
	rel->names = rel->children[0]->names;
	rel->setop_all = rql_json_bool(json, "setop_all", true);
	rel->setop = strcmp(type, "LOGICAL_UNION") == 0    ? RQL_SETOP_UNION
	             : strcmp(type, "LOGICAL_EXCEPT") == 0 ? RQL_SETOP_EXCEPT
	                                                   : RQL_SETOP_INTERSECT;
	if (count > 2 && rel->setop != RQL_SETOP_UNION)
		return rql_plan_make_opaque(reader, rel, "%s of more than two inputs", type);
	return rel->name ? rel : NULL;
}

/* ---- common table expressions ---- */
static struct rql_rel *cte_over(struct rql_plan_reader *reader, uint64_t index, struct rql_rel *definition,
                                struct rql_rel *use)
{
	struct rql_rel *rel = rql_plan_rel_new(reader, RQL_REL_CTE, "LOGICAL_MATERIALIZED_CTE", 0, 2);
	if (!rel)
		return NULL;
	rel->cte = index;
	rel->column_count = use->column_count;
	rel->types = use->types;
	rel->names = use->names;
	rel->children[0] = definition;
	rel->children[1] = use;
	return rel;
}

/* Numbers name expressions by themselves later on, so none comes twice. false: this one is no such number. */
static bool take_cte_number(struct rql_plan_reader *reader, uint64_t index)
{
	uint32_t count = 0;
	for (const struct rql_cte_scope *seen = reader->seen_ctes; seen; seen = seen->next)
		if (seen->index == index || ++count == RQL_PLAN_CTES)
			return false;
	struct rql_cte_scope *seen = RQL_NEW(reader->arena, struct rql_cte_scope);
	reader->no_memory |= !seen;
	if (!seen || index >= RQL_DELIM_CTE)
		return false;
	*seen = (struct rql_cte_scope){.index = index, .next = reader->seen_ctes};
	reader->seen_ctes = seen;
	return true;
}

static struct rql_rel *read_cte(struct rql_plan_reader *reader, struct json_object *json)
{
	if (!take_cte_number(reader, rql_json_index(json, "table_index")))
		return rql_plan_make_opaque(reader, read_opaque(reader, json, 0), "common table expressions of one number");
	struct rql_rel *definition = read_rel(reader, child_json(json, 0));
	struct rql_cte_scope scope = {rql_json_index(json, "table_index"), definition, reader->ctes};
	if (!definition)
		return NULL;
	reader->ctes = &scope;
	struct rql_rel *use = read_rel(reader, child_json(json, 1));
	reader->ctes = scope.next;
	struct rql_rel *cte = use ? cte_over(reader, scope.index, definition, use) : NULL;
	return cte ? rql_plan_delim_of_ctes(reader, cte) : NULL;
}

struct rql_rel *rql_plan_cte_ref(struct rql_plan_reader *reader, uint64_t index, const struct rql_rel *definition)
{
	struct rql_rel *rel = rql_plan_rel_new(reader, RQL_REL_CTE_REF, "LOGICAL_CTE_REF", definition->column_count, 0);
	if (!rel)
		return NULL;
	rel->cte = index;
	memcpy(rel->types, definition->types, definition->column_count * sizeof(*rel->types));
	memcpy(rel->names, definition->names, definition->column_count * sizeof(*rel->names));
	return rel;
}

static struct rql_rel *read_cte_ref(struct rql_plan_reader *reader, struct json_object *json)
{
	uint64_t index = rql_json_index(json, "cte_index");
	struct rql_rel *rel = read_typed_leaf(reader, json, RQL_REL_OPAQUE, "chunk_types");
	const struct rql_cte_scope *scope = reader->ctes;
	if (!rel)
		return NULL;
	while (scope && scope->index != index)
		scope = scope->next;
	if (!scope || rql_json_bool(json, "is_recurring", false))
		return rql_plan_make_opaque(reader, rel, "a recursive common table expression");
	uint32_t same = 0;
	while (same < rel->column_count && same < scope->definition->column_count &&
	       rql_type_equal(rel->types[same], scope->definition->types[same]))
		same++;
	if (same < rel->column_count || same < scope->definition->column_count)
		return rql_plan_make_opaque(reader, rel, "a common table expression that RayQL cannot read");
	return rql_plan_cte_ref(reader, index, scope->definition);
}

/* ---- correlated subqueries ----
 * A DELIM_JOIN's right side was computed for the distinct values of some columns of its left side only (T. Neumann, A.
 * Kemper: Unnesting Arbitrary Queries, BTW 2015), which it reads by DELIM_GET. With the left side as a common table
 * expression both are ordinary nodes: CTE(left, JOIN(CTE_REF, right with DISTINCT(PROJECT(columns, CTE_REF)))). Where the
 * right side does not need those values (plan_delim.c) it is JOIN(left, right). A DELIM_GET is of the innermost DELIM_JOIN
 * in whose right side it lies: so DuckDB gives them out when it plans. */
static struct rql_rel *read_delim_get(struct rql_plan_reader *reader, struct json_object *json)
{
	struct rql_delim_scope *scope = reader->delim;
	struct rql_rel *opaque = read_typed_leaf(reader, json, RQL_REL_OPAQUE, "chunk_types");
	if (!opaque)
		return NULL;
	if (!scope || opaque->column_count != scope->column_count)
		return rql_plan_make_opaque(reader, opaque, "a correlated subquery over other columns");
	for (uint32_t i = 0; i < scope->column_count; i++)
		if (!rql_type_equal(opaque->types[i], scope->columns[i]->type))
			return rql_plan_make_opaque(reader, opaque, "a correlated subquery over other types");
	return rql_plan_delim_values(reader, scope);
}

static struct rql_rel *read_delim_join(struct rql_plan_reader *reader, struct json_object *json)
{
	bool flipped = rql_json_bool(json, "delim_flipped", false);
	struct json_object *columns = rql_json_field(json, "duplicate_eliminated_columns");
	struct json_object *outer_json = child_json(json, flipped), *inner_json = child_json(json, !flipped);
	struct rql_delim_scope scope = {.cte = reader->next_cte++, .column_count = (uint32_t)rql_json_length(columns)};
	struct rql_delim_scope *around = reader->delim;
	struct rql_cte_scope cte = {.index = scope.cte, .next = reader->ctes};
	struct rql_rel *outer = read_rel(reader, outer_json); /* of a subquery inside another: reads the other's values */
	if (!outer || !(scope.columns = RQL_NEW_ARRAY(reader->arena, struct rql_expr *, scope.column_count)))
		return NULL;
	scope.outer = cte.definition = outer;
	for (uint32_t i = 0; i < scope.column_count; i++) {
		scope.columns[i] = rql_plan_expr(reader, json_object_array_get_idx(columns, i), scope_of(outer));
		if (!scope.columns[i])
			return NULL;
	}
	reader->delim = &scope;
	reader->ctes = &cte;
	struct rql_rel *inner = read_rel(reader, inner_json);
	if (inner && !(inner = rql_rel_push_filters(reader->arena, inner)))
		reader->no_memory = true;
	reader->delim = around;
	reader->ctes = cte.next;
	struct rql_rel *ref = rql_plan_cte_ref(reader, scope.cte, outer);
	struct rql_rel *join = NULL;
	if (inner && ref)
		join = comparison_join(reader, json, flipped ? inner : ref, flipped ? ref : inner);
	struct rql_rel *core = NULL;
	if (join && rql_plan_decorrelate(reader, &scope, &join, flipped, &core)) {
		core->children[flipped] = outer;
		return join;
	}
	return join && !reader->no_memory ? cte_over(reader, scope.cte, outer, join) : NULL;
}

/* ---- dispatch ---- */
typedef struct rql_rel *rel_reader(struct rql_plan_reader *reader, struct json_object *json);

/* rel, read from json; opaque when json says more than that. A scan's reader has looked itself. */
static struct rql_rel *known_only(struct rql_plan_reader *reader, struct json_object *json, const char *type,
                                  struct rql_rel *rel)
{
	const char *trouble = NULL;
	if (!reader->no_memory && rel && rel->kind != RQL_REL_OPAQUE && strcmp(type, "LOGICAL_GET") != 0)
		trouble = rql_plan_operator_trouble(reader, json, type);
	if (trouble)
		rel = rql_plan_make_opaque(reader, rel, "%s", trouble);
	return reader->no_memory ? NULL : rel;
}

static struct rql_rel *read_rel(struct rql_plan_reader *reader, struct json_object *json)
{
	static const struct {
		const char *type;
		rel_reader *read;
	} operators[] = {
		{"LOGICAL_GET", read_get},
		{"LOGICAL_FILTER", read_filter},
		{"LOGICAL_PROJECTION", read_project},
		{"LOGICAL_AGGREGATE_AND_GROUP_BY", read_aggregate},
		{"LOGICAL_COMPARISON_JOIN", read_comparison_join},
		{"LOGICAL_ANY_JOIN", read_any_join},
		{"LOGICAL_ASOF_JOIN", read_asof_join},
		{"LOGICAL_CROSS_PRODUCT", read_cross},
		{"LOGICAL_DELIM_JOIN", read_delim_join},
		{RQL_DELIM_GET, read_delim_get},
		{"LOGICAL_ORDER_BY", read_order},
		{"LOGICAL_TOP_N", read_order},
		{"LOGICAL_LIMIT", read_limit},
		{"LOGICAL_DISTINCT", read_distinct},
		{"LOGICAL_WINDOW", read_window},
		{"LOGICAL_UNION", read_setop},
		{"LOGICAL_EXCEPT", read_setop},
		{"LOGICAL_INTERSECT", read_setop},
		{"LOGICAL_MATERIALIZED_CTE", read_cte},
		{"LOGICAL_CTE_REF", read_cte_ref},
		{"LOGICAL_EMPTY_RESULT", read_empty},
		{"LOGICAL_DUMMY_SCAN", read_dummy},
		{"LOGICAL_EXPRESSION_GET", read_values},
	};
	const char *type = rql_json_text(json, "type");
	struct rql_rel *rel = NULL;
	if (reader->no_memory)
		return NULL;
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		if (strcmp(type, operators[i].type) == 0) {
			rel = operators[i].read(reader, json);
			return known_only(reader, json, type, rel);
		}
	}
	rel = read_opaque(reader, json, 0);
	return reader->no_memory ? NULL : rel;
}

/* ---- the text ---- */
static rql_status json_parse(const char *text, size_t length, struct json_object **out, struct rql_error *err)
{
	if (length == 0)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "DuckDB gave no plan for this statement");
	if (length > RQL_PLAN_BYTES)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "the plan is %zu bytes long, more than RayQL reads (%u)",
		                     length, RQL_PLAN_BYTES);
	struct json_tokener *tokener = json_tokener_new_ex(RQL_PLAN_DEPTH);
	if (!tokener)
		return rql_error_memory(err, length, "reading a plan");
	struct json_object *json = json_tokener_parse_ex(tokener, text, (int)length);
	enum json_tokener_error why = json_tokener_get_error(tokener);
	rql_status status = RQL_OK;
	if (json && why == json_tokener_success)
		*out = json;
	else if (why == json_tokener_error_depth)
		status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "the plan is nested deeper than RayQL reads (%d)",
		                       RQL_PLAN_DEPTH);
	else
		status = rql_error_set(err, RQL_ERROR_CORRUPT, "DuckDB's plan is not JSON: %s", json_tokener_error_desc(why));
	if (status != RQL_OK)
		json_object_put(json);
	json_tokener_free(tokener);
	return status;
}

rql_status rql_rel_parse(struct rql_arena *arena, enum rql_plan_dialect dialect, const char *json, size_t length,
                         struct rql_rel **out, struct rql_error *err)
{
	struct rql_plan_facts unused;
	return rql_plan_read(arena, dialect, json, length, NULL, out, &unused, err);
}

rql_status rql_plan_read(struct rql_arena *arena, enum rql_plan_dialect dialect, const char *json, size_t length,
                         struct rql_plan_source *source, struct rql_rel **out, struct rql_plan_facts *facts,
                         struct rql_error *err)
{
	struct rql_plan_reader reader = {.arena = arena, .dialect = dialect, .source = source, .next_cte = RQL_DELIM_CTE};
	struct json_object *root = NULL, *plans;
	struct rql_rel *rel;
	rql_status status = json_parse(json, length, &root, err);
	if (status != RQL_OK)
		return status;
	plans = rql_json_field(root, "plans");
	if (rql_json_bool(root, "error", false)) {
		status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "%s", rql_json_text(root, "error_message"));
		goto done;
	}
	if (rql_json_length(plans) != 1 || !rql_json_text(json_object_array_get_idx(plans, 0), "type")[0]) {
		status = rql_error_set(err, RQL_ERROR_CORRUPT,
		                       "DuckDB's plan is not of the shape that RayQL knows: it has "
		                       "%zu plans instead of one",
		                       rql_json_length(plans));
		goto done;
	}
	const char *trouble = rql_plan_root_trouble(&reader, root);
	if (trouble) {
		status = rql_error_set(err, RQL_ERROR_UNSUPPORTED, "%s", trouble);
		goto done;
	}
	if (dialect == RQL_PLAN_2)
		reader.no_memory |= !rql_plan_from_2(plans);
	rel = reader.no_memory ? NULL : read_rel(&reader, json_object_array_get_idx(plans, 0));
	if (!rel || !rql_plan_facts_read(arena, plans, facts)) {
		status = rql_error_memory(err, rql_arena_bytes(arena), "a plan");
		goto done;
	}
	*out = rel;
done:
	json_object_put(root);
	return status;
}
