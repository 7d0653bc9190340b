/* EXISTS and NOT EXISTS by equal keys and one comparison beyond them, as a join with the least and the greatest value of
 * each key. Some value of a key's rows differs from y when the least or the greatest does; one is less than y when the least
 * is. So there is one row for a key, however many rows the subquery has, and no pair of rows is tried.
 *
 *   L SEMI R by k = k and x <> y   ->  filter(L left join g by k = k, least <> y or greatest <> y)
 *   L ANTI R by k = k and x <> y   ->  filter(L left join g by k = k, least is null or y is null or both are y)
 *   g = min(x) as least, max(x) as greatest of R by k
 *
 * MIN and MAX leave NULLs out, and no comparison with NULL is true: what is NULL matches nothing, before as after. */
#include <string.h>

#include "bind/normal/normal.h"

struct rewriting {
	struct rql_arena *arena;
	bool no_memory;
};

/* A join, taken apart. Expressions of `inner` are over the right input. */
struct exists {
	uint32_t lefts, key_count;
	struct rql_expr **outer_keys, **inner_keys;
	const char **key_names; /* = or IS NOT DISTINCT FROM */
	const struct rql_expr *outer, *inner;
	const char *name; /* inner <name> outer */
};

/* Bit 0: it reads the left input, bit 1: the right one. */
struct reading {
	uint32_t lefts;
	unsigned sides;
};

static bool note_side(const struct rql_expr *leaf, void *state)
{
	struct reading *r = state;
	r->sides |= leaf->kind == RQL_EXPR_REF ? (leaf->index < r->lefts ? 1 : 2) : 3;
	return true;
}

static unsigned sides_of(const struct rql_expr *e, uint32_t lefts)
{
	struct reading r = {.lefts = lefts};
	rql_expr_leaves(e, note_side, &r);
	return r.sides;
}

/* Types whose order is that of integers, so that the extremes are values that the rows have, and equal ones are the same. */
static bool is_ordered(struct rql_type type)
{
	switch (type.id) {
	case RQL_TYPE_TINYINT:
	case RQL_TYPE_SMALLINT:
	case RQL_TYPE_INTEGER:
	case RQL_TYPE_BIGINT:
	case RQL_TYPE_UTINYINT:
	case RQL_TYPE_USMALLINT:
	case RQL_TYPE_UINTEGER:
	case RQL_TYPE_UBIGINT:
	case RQL_TYPE_HUGEINT:
	case RQL_TYPE_DECIMAL:
	case RQL_TYPE_DATE:
	case RQL_TYPE_TIMESTAMP:
		return true;
	default:
		return false;
	}
}

/* The comparison with its operands exchanged; NULL: none of those that are rewritten. */
static const char *exchanged(const char *name)
{
	static const char *const pairs[][2] = {{"<>", "<>"}, {"<", ">"}, {">", "<"}, {"<=", ">="}, {">=", "<="}};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (!strcmp(pairs[i][0], name))
			return pairs[i][1];
	return NULL;
}

static struct rql_expr *over_right(struct rewriting *w, const struct rql_expr *e, uint32_t lefts)
{
	struct rql_expr *copy = rql_expr_lowered(w->arena, e, lefts);
	w->no_memory |= !copy;
	return copy;
}

/* A condition as a key or as the one comparison. false: it is neither. */
static bool take(struct rewriting *w, struct exists *x, const struct rql_expr *e)
{
	if (e->kind != RQL_EXPR_COMPARE || !rql_type_equal(e->children[0]->type, e->children[1]->type))
		return false;
	unsigned first = sides_of(e->children[0], x->lefts), second = sides_of(e->children[1], x->lefts);
	if (first + second != 3 || !first || !second)
		return false;
	struct rql_expr *outer = e->children[first != 1], *inner = over_right(w, e->children[first == 1], x->lefts);
	if (!strcmp(e->name, "=") || !strcmp(e->name, "IS NOT DISTINCT FROM")) {
		if (outer->type.id == RQL_TYPE_INTERVAL || outer->type.id == RQL_TYPE_OTHER)
			return false; /* nobody but the host groups by them */
		x->outer_keys[x->key_count] = outer;
		x->inner_keys[x->key_count] = inner;
		x->key_names[x->key_count++] = e->name;
		return true;
	}
	if (x->inner || !exchanged(e->name) || !is_ordered(outer->type))
		return false;
	x->outer = outer;
	x->inner = inner;
	x->name = first == 1 ? exchanged(e->name) : e->name;
	return true;
}

static bool take_apart(struct rewriting *w, const struct rql_rel *rel, struct exists *x)
{
	const uint32_t n = rel->expr_count;
	if (rel->kind != RQL_REL_JOIN || (rel->join != RQL_JOIN_SEMI && rel->join != RQL_JOIN_ANTI) || n < 2)
		return false;
	*x = (struct exists){.lefts = rel->children[0]->column_count,
	                     .outer_keys = RQL_NEW_ARRAY(w->arena, struct rql_expr *, n),
	                     .inner_keys = RQL_NEW_ARRAY(w->arena, struct rql_expr *, n),
	                     .key_names = RQL_NEW_ARRAY(w->arena, const char *, n)};
	w->no_memory |= !x->outer_keys || !x->inner_keys || !x->key_names;
	for (uint32_t i = 0; i < n; i++)
		if (w->no_memory || !take(w, x, rel->exprs[i]))
			return false;
	return x->inner && x->key_count;
}

/* ---- what takes its place ---- */

static struct rql_expr *checked(struct rewriting *w, struct rql_expr *e)
{
	w->no_memory |= !e;
	return e;
}

static struct rql_expr *combine(struct rewriting *w, enum rql_expr_kind kind, struct rql_expr *a, struct rql_expr *b)
{
	struct rql_expr *e =
		checked(w, rql_expr_new(w->arena, kind, rql_type_simple(RQL_TYPE_BOOLEAN), kind == RQL_EXPR_IS_NULL ? 1 : 2));
	if (!e)
		return NULL;
	e->children[0] = a;
	if (b)
		e->children[1] = b;
	return e;
}

/* Keys, then MIN, MAX or both. */
static struct rql_rel *group(struct rewriting *w, const struct exists *x, struct rql_rel *right)
{
	const bool both = !strcmp(x->name, "<>");
	const char *names[] = {x->name[0] == '>' ? "max" : "min", "max"};
	const uint32_t columns = x->key_count + 1 + both;
	struct rql_rel *g = rql_rel_new(w->arena, RQL_REL_AGGREGATE, "LOGICAL_AGGREGATE_AND_GROUP_BY", columns, 1);
	struct rql_expr **exprs = RQL_NEW_ARRAY(w->arena, struct rql_expr *, columns);
	w->no_memory |= !g || !exprs;
	for (uint32_t i = 0; i < columns && !w->no_memory; i++) {
		exprs[i] = i < x->key_count ? x->inner_keys[i]
		                            : checked(w, rql_expr_new(w->arena, RQL_EXPR_AGGREGATE, x->inner->type, 1));
		if (i >= x->key_count && exprs[i]) {
			exprs[i]->name = names[i - x->key_count];
			exprs[i]->children[0] = (struct rql_expr *)(uintptr_t)x->inner;
		}
		if (exprs[i])
			g->types[i] = exprs[i]->type;
	}
	if (w->no_memory)
		return NULL;
	g->children[0] = right;
	g->exprs = exprs;
	g->expr_count = columns;
	g->group_count = x->key_count;
	return g;
}

static struct rql_expr *column(struct rewriting *w, const struct rql_rel *rel, uint32_t at)
{
	return checked(w, rql_expr_ref(w->arena, rel, at));
}

static struct rql_expr *compare(struct rewriting *w, const char *name, struct rql_expr *a, const struct rql_expr *b)
{
	return checked(w, rql_expr_comparison(w->arena, name, a, (struct rql_expr *)(uintptr_t)b));
}

/* Is there such a row? It is asked of rows that have the key. */
static struct rql_expr *there_is(struct rewriting *w, const struct exists *x, const struct rql_rel *join)
{
	const uint32_t at = x->lefts + x->key_count;
	struct rql_expr *e = compare(w, x->name, column(w, join, at), x->outer);
	if (!strcmp(x->name, "<>"))
		e = combine(w, RQL_EXPR_OR, e, compare(w, x->name, column(w, join, at + 1), x->outer));
	return e;
}

static struct rql_expr *there_is_none(struct rewriting *w, const struct exists *x, const struct rql_rel *join)
{
	static const char *const opposites[][2] = {{"<>", "="}, {"<", ">="}, {">", "<="}, {"<=", ">"}, {">=", "<"}};
	const uint32_t at = x->lefts + x->key_count;
	uint32_t i = 0;
	while (strcmp(opposites[i][0], x->name) != 0)
		i++;
	struct rql_expr *e = compare(w, opposites[i][1], column(w, join, at), x->outer);
	if (!strcmp(x->name, "<>"))
		e = combine(w, RQL_EXPR_AND, e, compare(w, "=", column(w, join, at + 1), x->outer));
	e = combine(w, RQL_EXPR_OR, combine(w, RQL_EXPR_IS_NULL, (struct rql_expr *)(uintptr_t)x->outer, NULL), e);
	return combine(w, RQL_EXPR_OR, combine(w, RQL_EXPR_IS_NULL, column(w, join, at), NULL), e);
}

static struct rql_rel *join_groups(struct rewriting *w, const struct exists *x, const struct rql_rel *rel,
                                   struct rql_rel *groups)
{
	struct rql_rel *left = rel->children[0];
	struct rql_rel *join =
		rql_rel_new(w->arena, RQL_REL_JOIN, "LOGICAL_COMPARISON_JOIN", x->lefts + groups->column_count, 2);
	struct rql_expr **exprs = RQL_NEW_ARRAY(w->arena, struct rql_expr *, x->key_count);
	w->no_memory |= !join || !exprs;
	if (w->no_memory)
		return NULL;
	join->children[0] = left;
	join->children[1] = groups;
	for (uint32_t i = 0; i < join->column_count; i++) {
		const struct rql_rel *from = i < x->lefts ? left : groups;
		join->types[i] = from->types[i < x->lefts ? i : i - x->lefts];
		if (from->names)
			join->names[i] = from->names[i < x->lefts ? i : i - x->lefts];
	}
	for (uint32_t k = 0; k < x->key_count; k++)
		exprs[k] = compare(w, x->key_names[k], x->outer_keys[k], column(w, join, x->lefts + k));
	join->join = RQL_JOIN_LEFT; /* of an EXISTS, too: a side of a block (block.h), which keeps its rows apart */
	join->exprs = exprs;
	join->expr_count = x->key_count;
	return join;
}

/* The filtered join's columns of the left input. */
static struct rql_rel *replacement(struct rewriting *w, const struct rql_rel *rel, const struct exists *x)
{
	struct rql_expr_list outputs = {0}, conditions = {0};
	struct rql_rel *groups = group(w, x, rel->children[1]);
	struct rql_rel *join = groups ? join_groups(w, x, rel, groups) : NULL;
	if (!join)
		return NULL;
	struct rql_expr *e = rel->join == RQL_JOIN_ANTI ? there_is_none(w, x, join) : there_is(w, x, join);
	w->no_memory |= w->no_memory || !rql_expr_list_add(w->arena, &conditions, e);
	for (uint32_t i = 0; i < x->lefts && !w->no_memory; i++)
		w->no_memory |= !rql_expr_list_add(w->arena, &outputs, rql_expr_ref(w->arena, join, i));
	struct rql_rel *filter = w->no_memory ? NULL : rql_rel_filter(w->arena, join, &conditions);
	return filter ? rql_rel_project(w->arena, filter, outputs.items, outputs.count) : NULL;
}

static struct rql_rel *rewrite(struct rewriting *w, struct rql_rel *rel)
{
	struct exists x;
	for (uint32_t i = 0; i < rel->child_count && !w->no_memory; i++)
		if (!(rel->children[i] = rewrite(w, rel->children[i])))
			w->no_memory = true;
	if (w->no_memory || !take_apart(w, rel, &x))
		return w->no_memory ? NULL : rel;
	return replacement(w, rel, &x);
}

struct rql_rel *rql_plan_exists_extremes(struct rql_arena *arena, struct rql_rel *root)
{
	struct rewriting w = {.arena = arena};
	struct rql_rel *out = rewrite(&w, root);
	return w.no_memory ? NULL : out;
}
