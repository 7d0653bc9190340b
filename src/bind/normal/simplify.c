/* Rules over expressions and nodes that make conditions ones of bare columns, and joins of what was written otherwise:
 * casts in comparisons go to the constant, what all branches of an OR say is said once, an aggregate over one row is that
 * row, a condition that never holds leaves nothing. Each keeps the answer, NULLs included. */
#include <string.h>
#include "bind/normal/normal.h"

struct simplifier {
	struct rql_arena *arena;
	bool no_memory;
};

/* ---- casts in comparisons ---- */

static rql_int128 power_of_ten(unsigned n)
{
	rql_int128 p = 1;
	while (n--)
		p *= 10;
	return p;
}

static bool integer_fits(struct rql_type type, rql_int128 v)
{
	unsigned bits = 8 * rql_type_bytes(type);
	if (bits > 64)
		return false;
	rql_int128 high = ((rql_int128)1 << (rql_type_is_signed(type) ? bits - 1 : bits)) - 1;
	return v <= high && v >= (rql_type_is_signed(type) ? -high - 1 : 0);
}

/* An integer value that the double stands for exactly, when all integers of the type are doubles exactly. */
static bool integer_of_double(struct rql_type type, double d, rql_int128 *out)
{
	if (rql_type_bytes(type) > 4 || !(d >= -4294967296.0 && d <= 4294967296.0) || d != (double)(int64_t)d)
		return false;
	*out = (int64_t)d;
	return true;
}

static bool from_decimal(struct rql_type to, const struct rql_value *v, rql_int128 *out)
{
	unsigned scale = to.id == RQL_TYPE_DECIMAL ? to.scale : 0;
	if (scale > v->type.scale)
		return false;
	rql_int128 unit = power_of_ten(v->type.scale - scale);
	*out = v->integer / unit;
	return *out * unit == v->integer;
}

#define DAY_MICROS ((rql_int128)86400000000)

/* v, of the type that a column of type `from` is cast to without loss: the value of `from` that is cast to it. false: there
 * is none, or it is not known. */
static bool value_before_cast(struct rql_type from, const struct rql_value *v, struct rql_value *out)
{
	struct rql_type to = v->type;
	*out = (struct rql_value){.type = from, .is_null = v->is_null};
	if (v->is_null)
		return true;
	if (rql_type_is_integer(from) && rql_type_is_integer(to)) {
		out->integer = v->integer;
		return to.id != RQL_TYPE_UHUGEINT && integer_fits(from, out->integer);
	}
	if (rql_type_is_integer(from) && to.id == RQL_TYPE_DOUBLE)
		return integer_of_double(from, v->real, &out->integer) && integer_fits(from, out->integer);
	if (rql_type_is_integer(from) && to.id == RQL_TYPE_DECIMAL)
		return from_decimal(from, v, &out->integer) && integer_fits(from, out->integer);
	if (from.id == RQL_TYPE_DECIMAL && to.id == RQL_TYPE_DECIMAL) {
		rql_int128 most = power_of_ten(from.width) - 1;
		return from_decimal(from, v, &out->integer) && out->integer <= most && out->integer >= -most;
	}
	if (from.id == RQL_TYPE_DATE && to.id == RQL_TYPE_TIMESTAMP) {
		out->integer = v->integer / DAY_MICROS;
		return out->integer * DAY_MICROS == v->integer && integer_fits(rql_type_simple(RQL_TYPE_INTEGER), out->integer);
	}
	return false;
}

/* Every value of `from` has one of `to`, in the same order, and no two the same. */
static bool keeps_order(struct rql_type from, struct rql_type to)
{
	if (rql_type_is_integer(from) && rql_type_is_integer(to))
		return rql_type_widens(from, to);
	if (rql_type_is_integer(from))
		return (to.id == RQL_TYPE_DOUBLE && rql_type_bytes(from) <= 4) ||
		       (to.id == RQL_TYPE_DECIMAL && rql_type_bytes(from) <= 8 &&
		        to.width - to.scale >= (rql_type_bytes(from) == 1   ? 3
		                                : rql_type_bytes(from) == 2 ? 5
		                                : rql_type_bytes(from) == 4 ? 10
		                                                            : 20));
	if (from.id == RQL_TYPE_DECIMAL)
		return to.id == RQL_TYPE_DECIMAL && to.scale >= from.scale && to.width - to.scale >= from.width - from.scale;
	return from.id == RQL_TYPE_DATE && to.id == RQL_TYPE_TIMESTAMP;
}

/* CAST(column) against constants: the column against what they were before the cast. */
static void simplify_casts(struct simplifier *s, struct rql_expr *e, uint32_t of)
{
	struct rql_expr *cast = e->children[of];
	if (cast->kind != RQL_EXPR_CAST || cast->try_cast || cast->children[0]->kind == RQL_EXPR_CONSTANT ||
	    !keeps_order(cast->children[0]->type, cast->type))
		return;
	struct rql_value *before = RQL_NEW_ARRAY(s->arena, struct rql_value, e->child_count);
	s->no_memory |= !before;
	for (uint32_t i = 0; i < e->child_count && before; i++) {
		const struct rql_expr *c = e->children[i];
		if (i != of && (c->kind != RQL_EXPR_CONSTANT || !rql_type_equal(c->type, cast->type) ||
		                !value_before_cast(cast->children[0]->type, &c->value, &before[i])))
			return;
	}
	for (uint32_t i = 0; i < e->child_count && before; i++) {
		struct rql_expr *c = i == of ? cast->children[0] : rql_expr_new(s->arena, RQL_EXPR_CONSTANT, before[i].type, 0);
		s->no_memory |= !c;
		if (!c)
			return;
		if (i != of) {
			c->value = before[i];
			if (rql_type_is_integer(c->type) && rql_type_is_integer(cast->type)) /* the same number */
				c->literal = e->children[i]->literal;
		}
		e->children[i] = c;
	}
}

/* ---- OR ---- */

static struct rql_expr *const *parts_of(struct rql_expr *const *branch, uint32_t *count)
{
	*count = (*branch)->kind == RQL_EXPR_AND ? (*branch)->child_count : 1;
	return (*branch)->kind == RQL_EXPR_AND ? (*branch)->children : branch;
}

static bool says(struct rql_expr *const *branch, const struct rql_expr *part)
{
	uint32_t count;
	struct rql_expr *const *parts = parts_of(branch, &count);
	for (uint32_t i = 0; i < count; i++)
		if (rql_expr_equal(parts[i], part))
			return true;
	return false;
}

static struct rql_expr *all_of(struct simplifier *s, enum rql_expr_kind kind, const struct rql_expr_list *list)
{
	if (list->count == 1)
		return list->items[0];
	struct rql_expr *e = rql_expr_new(s->arena, kind, rql_type_simple(RQL_TYPE_BOOLEAN), list->count);
	s->no_memory |= !e;
	if (e)
		memcpy(e->children, list->items, list->count * sizeof *e->children);
	return e;
}

static void add(struct simplifier *s, struct rql_expr_list *list, struct rql_expr *e)
{
	s->no_memory |= !e || !rql_expr_list_add(s->arena, list, e);
}

/* (a AND b) OR (a AND c): a AND (b OR c), and a where a branch says nothing else. */
static struct rql_expr *factor_or(struct simplifier *s, struct rql_expr *e)
{
	struct rql_expr_list common = {0}, branches = {0};
	uint32_t count;
	struct rql_expr *const *first = parts_of(&e->children[0], &count);
	for (uint32_t i = 0; i < count; i++) {
		bool all = true;
		for (uint32_t b = 1; b < e->child_count && all; b++)
			all = says(&e->children[b], first[i]);
		if (all)
			add(s, &common, first[i]);
	}
	if (!common.count || s->no_memory)
		return e;
	struct rql_expr *together = all_of(s, RQL_EXPR_AND, &common);
	bool rest = true;
	for (uint32_t b = 0; b < e->child_count && rest && together; b++) {
		struct rql_expr_list own = {0};
		struct rql_expr *const *parts = parts_of(&e->children[b], &count);
		for (uint32_t i = 0; i < count; i++)
			if (!says(&together, parts[i]))
				add(s, &own, parts[i]);
		rest = own.count != 0;
		if (rest)
			add(s, &branches, all_of(s, RQL_EXPR_AND, &own));
	}
	if (rest && together)
		add(s, &common, all_of(s, RQL_EXPR_OR, &branches));
	return s->no_memory ? e : all_of(s, RQL_EXPR_AND, &common);
}

/* ---- expressions ---- */

static struct rql_expr *simplify_expr(struct simplifier *s, struct rql_expr *e)
{
	for (uint32_t i = 0; i < e->child_count && !s->no_memory; i++)
		e->children[i] = simplify_expr(s, e->children[i]);
	if (e->filter && !s->no_memory)
		e->filter = simplify_expr(s, e->filter);
	if (s->no_memory)
		return e;
	switch (e->kind) {
	case RQL_EXPR_COMPARE:
		simplify_casts(s, e, 0);
		simplify_casts(s, e, 1);
		return e;
	case RQL_EXPR_IN:
	case RQL_EXPR_NOT_IN:
	case RQL_EXPR_BETWEEN:
		simplify_casts(s, e, 0);
		return e;
	case RQL_EXPR_OR:
		return factor_or(s, e);
	default:
		return e;
	}
}

/* ---- nodes ---- */

static bool never_holds(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_CONSTANT && e->type.id == RQL_TYPE_BOOLEAN && (e->value.is_null || !e->value.integer);
}

static bool always_holds(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_CONSTANT && e->type.id == RQL_TYPE_BOOLEAN && !never_holds(e);
}

/* Conditions that always hold are dropped; one that never does leaves no row. */
static void simplify_conditions(struct rql_rel *rel)
{
	uint32_t kept = 0;
	bool empty = false;
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		empty = empty || never_holds(rel->exprs[i]);
		if (!always_holds(rel->exprs[i]))
			rel->exprs[kept++] = rel->exprs[i];
	}
	rel->expr_count = kept;
	if (!empty)
		return;
	rel->kind = RQL_REL_EMPTY;
	rel->name = "LOGICAL_EMPTY_RESULT";
	rel->expr_count = rel->child_count = 0;
}

/* It gives exactly one row. */
static bool is_one_row(const struct rql_rel *rel)
{
	while (rel->kind == RQL_REL_PROJECT)
		rel = rel->children[0];
	return rel->kind == RQL_REL_AGGREGATE && rel->group_count == 0;
}

/* first(x) and count(*) of one row: x and 1. That is how a scalar subquery is checked for a second row. */
static void simplify_one_row(struct simplifier *s, struct rql_rel *rel)
{
	if (rel->group_count || !is_one_row(rel->children[0]))
		return;
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		const struct rql_expr *e = rel->exprs[i];
		bool first = e->kind == RQL_EXPR_AGGREGATE && !strcmp(e->name, "first") && e->child_count == 1;
		bool count = e->kind == RQL_EXPR_AGGREGATE && !strcmp(e->name, "count_star");
		if ((!first && !count) || e->filter)
			return;
	}
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		struct rql_expr *e = rel->exprs[i];
		if (e->child_count) {
			rel->exprs[i] = e->children[0];
			continue;
		}
		struct rql_expr *one = rql_expr_new(s->arena, RQL_EXPR_CONSTANT, e->type, 0);
		s->no_memory |= !one;
		if (!one)
			return;
		one->value = (struct rql_value){.type = e->type, .integer = 1};
		rel->exprs[i] = one;
	}
	rel->kind = RQL_REL_PROJECT;
	rel->name = "LOGICAL_PROJECTION";
}

/* ---- sums of a column and a constant ----
 * sum(x + 3) is sum(x) + 3 * count(x), and many such sums are one. DuckDB does so, too, for these types; so it never says
 * that x + 3 overflows. */

/* The constant's place among the children of x + c; 2: it is no such sum. */
static uint32_t constant_of_sum(const struct rql_expr *e)
{
	const struct rql_expr *plus = e->kind == RQL_EXPR_AGGREGATE && e->child_count == 1 ? e->children[0] : NULL;
	if (!plus || strcmp(e->name, "sum") != 0 || e->distinct || e->filter || e->order_count ||
	    e->type.id != RQL_TYPE_HUGEINT || plus->kind != RQL_EXPR_FUNCTION || strcmp(plus->name, "+") != 0 ||
	    plus->child_count != 2)
		return 2;
	rql_type_id id = plus->type.id;
	bool known = id == RQL_TYPE_SMALLINT || id == RQL_TYPE_INTEGER || id == RQL_TYPE_BIGINT;
	for (uint32_t i = 0; i < 2 && known; i++)
		if (plus->children[i]->kind == RQL_EXPR_CONSTANT && !plus->children[i]->value.is_null &&
		    plus->children[1 - i]->kind != RQL_EXPR_CONSTANT && rql_type_equal(plus->children[i]->type, plus->type) &&
		    rql_type_equal(plus->children[1 - i]->type, plus->type))
			return i;
	return 2;
}

/* Where the aggregate stands among rel's expressions, added when it is new. */
static uint32_t place_of(struct simplifier *s, struct rql_expr_list *list, uint32_t first, struct rql_expr *e)
{
	for (uint32_t i = first; i < list->count; i++)
		if (rql_expr_equal(list->items[i], e))
			return i;
	add(s, list, e);
	return list->count - 1;
}

static struct rql_expr *aggregate_of(struct simplifier *s, const char *name, rql_type_id type, struct rql_expr *of)
{
	struct rql_expr *e = rql_expr_new(s->arena, RQL_EXPR_AGGREGATE, rql_type_simple(type), 1);
	s->no_memory |= !e;
	if (e) {
		e->name = name;
		e->children[0] = of;
	}
	return e;
}

static struct rql_expr *operator_of(struct simplifier *s, const char *name, struct rql_expr *a, struct rql_expr *b)
{
	struct rql_expr *e = rql_expr_new(s->arena, RQL_EXPR_FUNCTION, rql_type_simple(RQL_TYPE_HUGEINT), 2);
	s->no_memory |= !e || !a || !b;
	if (e) {
		e->name = name;
		e->is_operator = true;
		e->children[0] = a;
		e->children[1] = b;
	}
	return e;
}

static struct rql_expr *aggregate_ref(struct simplifier *s, const struct rql_expr_list *list, uint32_t at)
{
	struct rql_expr *e = rql_expr_new(s->arena, RQL_EXPR_REF, list->items[at]->type, 0);
	s->no_memory |= !e;
	if (e)
		e->index = at;
	return e;
}

/* sum(x) + c * count(x), over the aggregates in list. */
static struct rql_expr *split_sum(struct simplifier *s, struct rql_expr_list *list, uint32_t groups, const struct rql_expr *e)
{
	uint32_t at = constant_of_sum(e);
	const struct rql_expr *plus = e->children[0];
	struct rql_expr *x = plus->children[1 - at], *c = rql_expr_new(s->arena, RQL_EXPR_CONSTANT, e->type, 0);
	struct rql_expr *sum = aggregate_of(s, "sum", RQL_TYPE_HUGEINT, x), *count = aggregate_of(s, "count", RQL_TYPE_BIGINT, x);
	struct rql_expr *cast = rql_expr_new(s->arena, RQL_EXPR_CAST, e->type, 1);
	s->no_memory |= !c || !cast;
	if (s->no_memory)
		return NULL;
	c->value = (struct rql_value){.type = e->type, .integer = plus->children[at]->value.integer};
	uint32_t sum_at = place_of(s, list, groups, sum), count_at = place_of(s, list, groups, count);
	cast->children[0] = s->no_memory ? NULL : aggregate_ref(s, list, count_at);
	struct rql_expr *sum_ref = s->no_memory ? NULL : aggregate_ref(s, list, sum_at);
	return operator_of(s, "+", sum_ref, operator_of(s, "*", c, cast));
}

/* Such sums become a projection over the aggregate. One alone gains nothing. */
static void split_sums(struct simplifier *s, struct rql_rel *rel)
{
	struct rql_expr_list aggregates = {0}, outputs = {0};
	uint32_t sums = 0;
	for (uint32_t i = rel->group_count; i < rel->expr_count; i++)
		sums += constant_of_sum(rel->exprs[i]) < 2;
	if (sums < 2)
		return;
	for (uint32_t i = 0; i < rel->group_count; i++)
		add(s, &aggregates, rel->exprs[i]);
	for (uint32_t i = 0; i < rel->expr_count && !s->no_memory; i++) {
		struct rql_expr *e = rel->exprs[i];
		bool sum = i >= rel->group_count && constant_of_sum(e) < 2;
		uint32_t at = i < rel->group_count || sum ? i : place_of(s, &aggregates, rel->group_count, e);
		struct rql_expr *out = sum ? split_sum(s, &aggregates, rel->group_count, e)
		                       : s->no_memory ? NULL : aggregate_ref(s, &aggregates, at);
		if (out)
			out->alias = rel->names[i];
		add(s, &outputs, out);
	}
	struct rql_rel *below =
		s->no_memory ? NULL : rql_rel_new(s->arena, RQL_REL_AGGREGATE, rel->name, aggregates.count, 1);
	s->no_memory |= !below;
	if (!below)
		return;
	for (uint32_t i = 0; i < aggregates.count; i++) {
		below->types[i] = aggregates.items[i]->type;
		below->names[i] = aggregates.items[i]->alias;
	}
	below->children[0] = rel->children[0];
	below->exprs = aggregates.items;
	below->expr_count = aggregates.count;
	below->group_count = rel->group_count;
	rel->kind = RQL_REL_PROJECT;
	rel->name = "LOGICAL_PROJECTION";
	rel->children[0] = below;
	rel->exprs = outputs.items;
	rel->expr_count = outputs.count;
	rel->group_count = 0;
}

static struct rql_expr *column_expr(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	const struct rql_rel *below = state;
	(void)arena;
	return below->exprs[ref->index];
}

static bool is_simple(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_REF || e->kind == RQL_EXPR_CONSTANT;
}

/* Two projections of which the lower one only names columns and constants are one. */
static void merge_projects(struct simplifier *s, struct rql_rel *rel)
{
	struct rql_rel *below = rel->children[0];
	if (below->kind != RQL_REL_PROJECT)
		return;
	for (uint32_t i = 0; i < below->expr_count; i++)
		if (!is_simple(below->exprs[i]))
			return;
	for (uint32_t i = 0; i < rel->expr_count && !s->no_memory; i++) {
		struct rql_expr *e = rql_expr_rewrite(s->arena, rel->exprs[i], column_expr, below);
		s->no_memory |= !e;
		if (e)
			rel->exprs[i] = e;
	}
	rel->children[0] = below->children[0];
}

static void simplify_rel(struct simplifier *s, struct rql_rel *rel)
{
	for (uint32_t i = 0; i < rel->child_count && !s->no_memory; i++)
		simplify_rel(s, rel->children[i]);
	for (uint32_t i = 0; i < rel->expr_count && !s->no_memory; i++)
		rel->exprs[i] = simplify_expr(s, rel->exprs[i]);
	if (s->no_memory)
		return;
	if (rel->kind == RQL_REL_FILTER ||
	    (rel->kind == RQL_REL_JOIN && (rel->join == RQL_JOIN_INNER || rel->join == RQL_JOIN_CROSS)))
		simplify_conditions(rel);
	else if (rel->kind == RQL_REL_AGGREGATE) {
		simplify_one_row(s, rel);
		if (rel->kind == RQL_REL_AGGREGATE && !s->no_memory)
			split_sums(s, rel);
	}
	else if (rel->kind == RQL_REL_PROJECT)
		merge_projects(s, rel);
}

struct rql_rel *rql_plan_simplify(struct rql_arena *arena, struct rql_rel *root)
{
	struct simplifier s = {.arena = arena};
	simplify_rel(&s, root);
	return s.no_memory ? NULL : root;
}
