/* Filters go down. Each node is handed the conjuncts that stand above it, over its columns, and gives itself with them
 * applied: below it where they mean the same there, else as a FILTER above it. A condition that RayQL cannot read stays
 * where it was. */
#include <string.h>
#include "sql/rel/rel_internal.h"

/* A condition that would have so many nodes below a projection stays above: each level of projections may double it. */
#define LARGEST_CONDITION 2000u

struct pusher {
	struct rql_arena *arena;
	bool no_memory;
};

static struct rql_rel *push(struct pusher *p, struct rql_rel *rel, const struct rql_expr_list *conjuncts);

/* ---- helpers ---- */

static void add(struct pusher *p, struct rql_expr_list *list, struct rql_expr *e)
{
	p->no_memory |= !e || !rql_expr_list_add(p->arena, list, e);
}

static struct rql_rel *checked(struct pusher *p, struct rql_rel *rel)
{
	p->no_memory |= !rel;
	return rel;
}

static struct rql_rel *filter_above(struct pusher *p, struct rql_rel *rel, const struct rql_expr_list *conjuncts)
{
	return rel ? checked(p, rql_rel_filter(p->arena, rel, conjuncts)) : NULL;
}

static bool is_unreadable(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_OPAQUE || e->kind == RQL_EXPR_WINDOW || e->kind == RQL_EXPR_AGGREGATE;
}

static bool any_unreadable(struct rql_expr *const *exprs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (rql_expr_any(exprs[i], is_unreadable))
			return true;
	return false;
}

/* The least and the greatest REF of e. false: it has none. */
struct span {
	uint32_t low, high;
	bool any;
};

static bool widen(const struct rql_expr *ref, void *state)
{
	struct span *s = state;
	s->low = !s->any || ref->index < s->low ? ref->index : s->low;
	s->high = !s->any || ref->index > s->high ? ref->index : s->high;
	s->any = true;
	return true;
}

static struct span span_of(const struct rql_expr *e)
{
	struct span s = {0};
	rql_expr_each_ref(e, widen, &s);
	return s;
}

static bool lies_in(const struct rql_expr *e, uint32_t first, uint32_t count)
{
	struct span s = span_of(e);
	return s.any && s.low >= first && s.high - first < count;
}

static struct rql_expr *shift_ref(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	struct rql_expr *copy = RQL_NEW(arena, struct rql_expr);
	if (copy) {
		*copy = *ref;
		copy->index += *(const uint32_t *)state; /* modulo 2^32: also down */
	}
	return copy;
}

static struct rql_expr *shifted(struct pusher *p, const struct rql_expr *e, uint32_t by)
{
	return rql_expr_rewrite(p->arena, e, shift_ref, &by);
}

/* A conjunction's parts, so that each goes its own way. */
static void add_parts(struct pusher *p, struct rql_expr_list *list, struct rql_expr *e)
{
	if (e->kind != RQL_EXPR_AND) {
		add(p, list, e);
		return;
	}
	for (uint32_t i = 0; i < e->child_count; i++)
		add_parts(p, list, e->children[i]);
}

/* ---- what a condition says of rows of NULLs ---- */

struct nulls {
	uint32_t first, count; /* these columns are NULL */
};

static bool is_strict_function(const char *name)
{
	static const char *const names[] = {"+", "-", "*", "~~", "!~~", "prefix", "suffix", "contains", "year", "month", "day"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* e is NULL then. false: perhaps not. */
static bool is_null(const struct rql_expr *e, const struct nulls *n)
{
	bool any = false;
	switch (e->kind) {
	case RQL_EXPR_REF:
		return e->index >= n->first && e->index - n->first < n->count;
	case RQL_EXPR_CAST:
	case RQL_EXPR_NOT:
	case RQL_EXPR_IN:
	case RQL_EXPR_NOT_IN:
	case RQL_EXPR_BETWEEN:
		return is_null(e->children[0], n);
	case RQL_EXPR_COMPARE:
		return e->name[0] != 'I' && (is_null(e->children[0], n) || is_null(e->children[1], n));
	case RQL_EXPR_FUNCTION:
		for (uint32_t i = 0; i < e->child_count; i++)
			any |= is_null(e->children[i], n);
		return any && is_strict_function(e->name);
	default:
		return false;
	}
}

/* e is not true then. false: it may be. */
static bool drops_nulls(const struct rql_expr *e, const struct nulls *n)
{
	bool all = e->child_count != 0;
	switch (e->kind) {
	case RQL_EXPR_IS_NOT_NULL:
		return is_null(e->children[0], n);
	case RQL_EXPR_AND:
		for (uint32_t i = 0; i < e->child_count; i++)
			if (drops_nulls(e->children[i], n))
				return true;
		return false;
	case RQL_EXPR_OR:
		for (uint32_t i = 0; i < e->child_count; i++)
			all = all && drops_nulls(e->children[i], n);
		return all;
	default:
		return is_null(e, n);
	}
}

static bool any_drops_nulls(const struct rql_expr_list *list, uint32_t first, uint32_t count)
{
	struct nulls n = {first, count};
	for (uint32_t i = 0; i < list->count; i++)
		if (drops_nulls(list->items[i], &n))
			return true;
	return false;
}

/* ---- inner joins: a region of inputs and conjuncts ---- */

struct input {
	struct rql_rel *rel;
	uint32_t first; /* its columns among the region's */
	uint32_t now;   /* ... among those joined so far, when it is among them */
	bool joined;
	struct rql_expr_list own;
};

struct region {
	uint32_t count;
	struct input *inputs;
	struct rql_expr_list open; /* conjuncts of several inputs, or of none */
	bool *placed;              /* [open.count] */
};

static bool is_inner(const struct rql_rel *rel)
{
	return rel->kind == RQL_REL_JOIN && (rel->join == RQL_JOIN_INNER || rel->join == RQL_JOIN_CROSS) &&
	       !any_unreadable(rel->exprs, rel->expr_count);
}

static bool is_readable_filter(const struct rql_rel *rel)
{
	return rel->kind == RQL_REL_FILTER && !any_unreadable(rel->exprs, rel->expr_count);
}

static uint32_t count_inputs(const struct rql_rel *rel)
{
	if (is_readable_filter(rel))
		return count_inputs(rel->children[0]);
	return is_inner(rel) ? count_inputs(rel->children[0]) + count_inputs(rel->children[1]) : 1;
}

static void collect(struct pusher *p, struct region *g, struct rql_rel *rel, uint32_t first)
{
	bool inner = is_inner(rel), filter = is_readable_filter(rel);
	if (!inner && !filter) {
		g->inputs[g->count++] = (struct input){.rel = rel, .first = first};
		return;
	}
	collect(p, g, rel->children[0], first);
	if (inner)
		collect(p, g, rel->children[1], first + rel->children[0]->column_count);
	for (uint32_t i = 0; i < rel->expr_count && !p->no_memory; i++) {
		struct rql_expr *e = shifted(p, rel->exprs[i], first);
		p->no_memory |= !e;
		if (e)
			add_parts(p, &g->open, e);
	}
}

static void hand_out(struct pusher *p, struct region *g)
{
	struct rql_expr_list open = {0};
	for (uint32_t i = 0; i < g->open.count && !p->no_memory; i++) {
		struct rql_expr *e = g->open.items[i];
		uint32_t k = 0;
		while (k < g->count && !lies_in(e, g->inputs[k].first, g->inputs[k].rel->column_count))
			k++;
		/* What is asked of the values that a subquery is computed for stays with the join, where they are substituted. */
		if (k == g->count || (rql_rel_is_delim_get(g->inputs[k].rel) && g->count > 1))
			add(p, &open, e);
		else
			add(p, &g->inputs[k].own, shifted(p, e, 0u - g->inputs[k].first));
	}
	g->open = open;
}

/* From the region's columns to those joined so far. */
static struct rql_expr *to_joined(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	const struct region *g = state;
	for (uint32_t k = 0; k < g->count; k++) {
		const struct input *in = &g->inputs[k];
		uint32_t by = in->now - in->first;
		if (in->joined && ref->index >= in->first && ref->index - in->first < in->rel->column_count)
			return shift_ref(arena, ref, &by);
	}
	return NULL;
}

static bool all_joined(const struct rql_expr *ref, void *state)
{
	const struct region *g = state;
	for (uint32_t k = 0; k < g->count; k++)
		if (ref->index >= g->inputs[k].first && ref->index - g->inputs[k].first < g->inputs[k].rel->column_count)
			return g->inputs[k].joined;
	return false;
}

/* The conjuncts that can be said now. */
static void take_open(struct pusher *p, struct region *g, struct rql_expr_list *out)
{
	for (uint32_t i = 0; i < g->open.count && !p->no_memory; i++) {
		if (g->placed[i] || !rql_expr_each_ref(g->open.items[i], all_joined, g))
			continue;
		g->placed[i] = true;
		add(p, out, rql_expr_rewrite(p->arena, g->open.items[i], to_joined, g));
	}
}

static struct rql_rel *join_input(struct pusher *p, struct region *g, struct rql_rel *left, struct input *in)
{
	in->now = left ? left->column_count : 0;
	in->joined = true;
	struct rql_expr_list conditions = {0};
	take_open(p, g, &conditions);
	if (p->no_memory || !left)
		return p->no_memory ? NULL : filter_above(p, in->rel, &conditions);
	uint32_t lefts = left->column_count, rights = in->rel->column_count;
	struct rql_rel *rel = checked(p, rql_rel_new(p->arena, RQL_REL_JOIN, conditions.count ? "LOGICAL_COMPARISON_JOIN"
	                                                                                      : "LOGICAL_CROSS_PRODUCT",
	                                             lefts + rights, 2));
	if (!rel)
		return NULL;
	memcpy(rel->types, left->types, lefts * sizeof *rel->types);
	memcpy(rel->names, left->names, lefts * sizeof *rel->names);
	memcpy(rel->types + lefts, in->rel->types, rights * sizeof *rel->types);
	memcpy(rel->names + lefts, in->rel->names, rights * sizeof *rel->names);
	rel->join = conditions.count ? RQL_JOIN_INNER : RQL_JOIN_CROSS;
	rel->children[0] = left;
	rel->children[1] = in->rel;
	rel->exprs = conditions.items;
	rel->expr_count = conditions.count;
	return rel;
}

/* The columns in the region's order again. */
static struct rql_rel *in_order(struct pusher *p, const struct region *g, struct rql_rel *joined)
{
	bool same = true;
	struct rql_expr_list exprs = {0};
	for (uint32_t k = 0; k < g->count; k++)
		same = same && g->inputs[k].now == g->inputs[k].first;
	if (same || p->no_memory)
		return joined;
	for (uint32_t k = 0; k < g->count; k++)
		for (uint32_t c = 0; c < g->inputs[k].rel->column_count; c++)
			add(p, &exprs, rql_expr_ref(p->arena, joined, g->inputs[k].now + c));
	return p->no_memory ? NULL : checked(p, rql_rel_project(p->arena, joined, exprs.items, exprs.count));
}

/* Does a conjunct that is still open join this input to those joined? */
static bool is_linked(const struct region *g, struct input *in)
{
	bool linked = false;
	in->joined = true;
	for (uint32_t i = 0; i < g->open.count && !linked; i++)
		linked = !g->placed[i] && rql_expr_each_ref(g->open.items[i], all_joined, (void *)g) &&
		         !lies_in(g->open.items[i], in->first, in->rel->column_count);
	in->joined = false;
	return linked;
}

/* The next one to join: the first in the order of FROM that a condition links to those joined, else the first. What a
 * correlated subquery is computed for comes last, with all conditions on it. NULL: all are joined. */
static struct input *next_input(const struct region *g, bool any_joined)
{
	for (int delim = 0; delim < 2; delim++) {
		struct input *first = NULL;
		for (uint32_t k = 0; k < g->count; k++) {
			struct input *in = &g->inputs[k];
			if (in->joined || rql_rel_is_delim_get(in->rel) != delim)
				continue;
			if (any_joined && is_linked(g, in))
				return in;
			first = first ? first : in;
		}
		if (first)
			return first;
	}
	return NULL;
}

/* Left-deep, without a cross product where the conditions link all inputs. */
static struct rql_rel *push_region(struct pusher *p, struct rql_rel *rel, const struct rql_expr_list *conjuncts)
{
	struct region g = {.inputs = RQL_NEW_ARRAY(p->arena, struct input, count_inputs(rel))};
	struct rql_rel *joined = NULL;
	p->no_memory |= !g.inputs;
	if (p->no_memory)
		return NULL;
	collect(p, &g, rel, 0);
	for (uint32_t i = 0; i < conjuncts->count; i++)
		add(p, &g.open, conjuncts->items[i]);
	hand_out(p, &g);
	g.placed = RQL_NEW_ARRAY(p->arena, bool, g.open.count);
	p->no_memory |= !g.placed;
	for (uint32_t k = 0; k < g.count && !p->no_memory; k++)
		checked(p, g.inputs[k].rel = push(p, g.inputs[k].rel, &g.inputs[k].own));
	struct input *next;
	while (!p->no_memory && (next = next_input(&g, joined)))
		checked(p, joined = join_input(p, &g, joined, next));
	return p->no_memory ? NULL : in_order(p, &g, joined);
}

/* ---- other joins ---- */

static bool is_mark(const struct rql_expr *e, uint32_t column)
{
	return e->kind == RQL_EXPR_REF && e->index == column;
}

static bool is_null_safe(const struct rql_rel *join)
{
	for (uint32_t i = 0; i < join->expr_count; i++)
		if (join->exprs[i]->kind != RQL_EXPR_COMPARE || join->exprs[i]->name[0] != 'I') /* IS [NOT] DISTINCT FROM */
			return false;
	return true;
}

/* A semi (anti) join where a MARK was, whose mark is known. */
static struct rql_rel *with_mark(struct pusher *p, struct rql_rel *join, bool anti)
{
	struct rql_expr_list exprs = {0};
	for (uint32_t i = 0; i < join->column_count; i++)
		add(p, &exprs, rql_expr_ref(p->arena, join, i));
	add(p, &exprs, rql_expr_bool(p->arena, !anti));
	return p->no_memory ? NULL : checked(p, rql_rel_project(p->arena, join, exprs.items, exprs.count));
}

/* A row passes when the mark is true (or, where it is never NULL, false). */
static struct rql_rel *mark_to_semi(struct pusher *p, struct rql_rel *join, bool anti)
{
	join->join = anti ? RQL_JOIN_ANTI : RQL_JOIN_SEMI;
	join->column_count = join->children[0]->column_count;
	return with_mark(p, join, anti);
}

/* Takes the conjunct that makes a semi or anti join of a MARK out of the list. 0: none, 1: semi, 2: anti. */
static int take_mark(const struct rql_rel *join, struct rql_expr_list *conjuncts)
{
	uint32_t mark = join->column_count - 1;
	for (uint32_t i = 0; i < conjuncts->count; i++) {
		const struct rql_expr *e = conjuncts->items[i];
		bool anti = e->kind == RQL_EXPR_NOT && is_mark(e->children[0], mark) && is_null_safe(join);
		if (!anti && !is_mark(e, mark))
			continue;
		memmove(&conjuncts->items[i], &conjuncts->items[i + 1], (--conjuncts->count - i) * sizeof *conjuncts->items);
		return anti ? 2 : 1;
	}
	return 0;
}

/* An outer join of which a condition drops all rows that it adds on a side adds none there. */
static void narrow_outer(struct rql_rel *join, const struct rql_expr_list *conjuncts)
{
	uint32_t lefts = join->children[0]->column_count, rights = join->children[1]->column_count;
	bool keeps_left = join->join == RQL_JOIN_LEFT || join->join == RQL_JOIN_FULL;
	bool keeps_right = join->join == RQL_JOIN_RIGHT || join->join == RQL_JOIN_FULL;
	if (!keeps_left && !keeps_right)
		return;
	keeps_left = keeps_left && !any_drops_nulls(conjuncts, lefts, rights);
	keeps_right = keeps_right && !any_drops_nulls(conjuncts, 0, lefts);
	join->join = keeps_left ? (keeps_right ? RQL_JOIN_FULL : RQL_JOIN_LEFT) : keeps_right ? RQL_JOIN_RIGHT : RQL_JOIN_INNER;
}

/* The right input has one row of each key: a projection of groups, all of whose keys the join compares. */
static bool is_one_each(const struct rql_rel *join)
{
	const struct rql_rel *project = join->children[1];
	const struct rql_rel *groups = project->kind == RQL_REL_PROJECT ? project->children[0] : NULL;
	uint32_t lefts = join->children[0]->column_count;
	if (!groups || groups->kind != RQL_REL_AGGREGATE || !groups->group_count || join->expr_count != groups->group_count ||
	    groups->group_count > 64)
		return false;
	uint64_t seen = 0;
	for (uint32_t i = 0; i < join->expr_count; i++) {
		const struct rql_expr *e = join->exprs[i];
		const struct rql_expr *right = e->kind == RQL_EXPR_COMPARE ? e->children[1] : NULL;
		if (!right || strcmp(e->name, "IS NOT DISTINCT FROM") != 0 || right->kind != RQL_EXPR_REF || right->index < lefts)
			return false;
		const struct rql_expr *key = project->exprs[right->index - lefts];
		if (key->kind != RQL_EXPR_REF || key->index >= groups->group_count)
			return false;
		seen |= UINT64_C(1) << key->index;
	}
	return seen == (groups->group_count == 64 ? UINT64_MAX : (UINT64_C(1) << groups->group_count) - 1);
}

/* The value of a subquery that a condition compares, as DuckDB 2 plans it: rows without one are dropped by that, too. */
static void find_single(struct rql_rel *join, const struct rql_expr_list *conjuncts)
{
	uint32_t lefts = join->children[0]->column_count, rights = join->children[1]->column_count;
	if (join->join == RQL_JOIN_INNER && is_one_each(join) && any_drops_nulls(conjuncts, lefts, rights))
		join->join = RQL_JOIN_SINGLE;
}

/* Which input may be filtered before the join by a condition above it, and by one of the join's own. */
struct ways {
	bool left, right, own_left, own_right;
};

static struct ways ways_of(enum rql_join_type join)
{
	switch (join) {
	case RQL_JOIN_LEFT:
	case RQL_JOIN_SINGLE:
	case RQL_JOIN_ANTI:
		return (struct ways){.left = true, .own_right = true};
	case RQL_JOIN_SEMI:
		return (struct ways){.left = true, .own_left = true, .own_right = true};
	case RQL_JOIN_MARK:
	case RQL_JOIN_ASOF:
	case RQL_JOIN_ASOF_LEFT:
		return (struct ways){.left = true};
	case RQL_JOIN_RIGHT:
		return (struct ways){.right = true, .own_left = true};
	default:
		return (struct ways){0};
	}
}

/* Conditions of the join over one input alone, when some other remains. */
static void push_own(struct pusher *p, struct rql_rel *join, struct ways w, struct rql_expr_list *left,
                     struct rql_expr_list *right)
{
	uint32_t lefts = join->children[0]->column_count, rights = join->children[1]->column_count, kept = 0;
	for (uint32_t i = 0; i < join->expr_count && !p->no_memory; i++) {
		struct rql_expr *e = join->exprs[i];
		bool last = kept == 0 && i + 1 == join->expr_count; /* a join that is no cross product has a condition */
		if (w.own_left && !last && lies_in(e, 0, lefts))
			add(p, left, e);
		else if (w.own_right && !last && lies_in(e, lefts, rights) && !rql_rel_is_delim_get(join->children[1]))
			add(p, right, shifted(p, e, 0u - lefts));
		else
			join->exprs[kept++] = e;
	}
	join->expr_count = kept;
}

static struct rql_rel *push_join(struct pusher *p, struct rql_rel *join, const struct rql_expr_list *conjuncts)
{
	struct rql_expr_list here = {0}, left = {0}, right = {0}, none = {0};
	uint32_t lefts = join->children[0]->column_count, rights = join->children[1]->column_count;
	if (any_unreadable(join->exprs, join->expr_count)) {
		join->children[0] = push(p, join->children[0], &none);
		join->children[1] = push(p, join->children[1], &none);
		return filter_above(p, p->no_memory ? NULL : join, conjuncts);
	}
	narrow_outer(join, conjuncts);
	find_single(join, conjuncts);
	if (is_inner(join))
		return push_region(p, join, conjuncts);
	struct ways w = ways_of(join->join);
	bool rights_only = join->join == RQL_JOIN_RIGHT_SEMI || join->join == RQL_JOIN_RIGHT_ANTI;
	for (uint32_t i = 0; i < conjuncts->count; i++) {
		struct rql_expr *e = conjuncts->items[i];
		if (w.left && lies_in(e, 0, lefts))
			add(p, &left, e);
		else if (w.right && lies_in(e, lefts, rights))
			add(p, &right, shifted(p, e, 0u - lefts));
		else if (rights_only && lies_in(e, 0, rights))
			add(p, &right, e);
		else
			add(p, &here, e);
	}
	push_own(p, join, w, &left, &right);
	int mark = join->join == RQL_JOIN_MARK ? take_mark(join, &here) : 0;
	checked(p, join->children[0] = push(p, join->children[0], &left));
	checked(p, join->children[1] = push(p, join->children[1], &right));
	struct rql_rel *rel = mark && !p->no_memory ? mark_to_semi(p, join, mark == 2) : join;
	return filter_above(p, p->no_memory ? NULL : rel, &here);
}

/* ---- one input ---- */

struct substitution {
	const struct rql_rel *rel; /* a PROJECT or an AGGREGATE */
};

static struct rql_expr *column_expr(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	const struct substitution *s = state;
	(void)arena;
	return s->rel->exprs[ref->index];
}

static bool is_movable_column(const struct rql_expr *ref, void *state)
{
	const struct substitution *s = state;
	const struct rql_rel *rel = s->rel;
	uint32_t most = rel->kind == RQL_REL_AGGREGATE ? rel->group_count : rel->expr_count;
	return ref->index < most && !rql_expr_any(rel->exprs[ref->index], is_unreadable);
}

/* Through a PROJECT, and through an AGGREGATE by its keys. */
static struct rql_rel *push_substituted(struct pusher *p, struct rql_rel *rel, const struct rql_expr_list *conjuncts)
{
	struct substitution s = {rel};
	struct rql_expr_list below = {0}, here = {0};
	for (uint32_t i = 0; i < conjuncts->count && !p->no_memory; i++) {
		struct rql_expr *e = conjuncts->items[i];
		if (span_of(e).any && rql_expr_each_ref(e, is_movable_column, &s) &&
		    rql_expr_size(e, rel->exprs, LARGEST_CONDITION) < LARGEST_CONDITION)
			add(p, &below, rql_expr_rewrite(p->arena, e, column_expr, &s));
		else
			add(p, &here, e);
	}
	checked(p, rel->children[0] = push(p, rel->children[0], &below));
	return filter_above(p, p->no_memory ? NULL : rel, &here);
}

static bool is_partition(const struct rql_rel *window, const struct rql_expr *ref)
{
	for (uint32_t i = 0; i < window->expr_count; i++) {
		const struct rql_window *w = window->exprs[i]->window;
		bool found = false;
		for (uint32_t k = 0; w && k < w->partition_count && !found; k++)
			found = w->partitions[k]->kind == RQL_EXPR_REF && w->partitions[k]->index == ref->index;
		if (!found)
			return false;
	}
	return true;
}

static bool is_partition_ref(const struct rql_expr *ref, void *state)
{
	return is_partition(state, ref);
}

/* Rows leave a window function's partitions whole. */
static struct rql_rel *push_window(struct pusher *p, struct rql_rel *rel, const struct rql_expr_list *conjuncts)
{
	struct rql_expr_list below = {0}, here = {0};
	uint32_t inputs = rel->children[0]->column_count;
	for (uint32_t i = 0; i < conjuncts->count; i++) {
		struct rql_expr *e = conjuncts->items[i];
		bool whole = lies_in(e, 0, inputs) && rql_expr_each_ref(e, is_partition_ref, rel);
		add(p, whole ? &below : &here, e);
	}
	checked(p, rel->children[0] = push(p, rel->children[0], &below));
	return filter_above(p, p->no_memory ? NULL : rel, &here);
}

/* A condition that RayQL cannot read stays; others pass it. */
static struct rql_rel *push_filter(struct pusher *p, struct rql_rel *rel, const struct rql_expr_list *conjuncts)
{
	struct rql_expr_list below = {0}, here = {0};
	for (uint32_t i = 0; i < rel->expr_count && !p->no_memory; i++) {
		if (rql_expr_any(rel->exprs[i], is_unreadable))
			add(p, &here, rel->exprs[i]);
		else
			add_parts(p, &below, rel->exprs[i]);
	}
	for (uint32_t i = 0; i < conjuncts->count; i++)
		add(p, &below, conjuncts->items[i]);
	struct rql_rel *child = p->no_memory ? NULL : push(p, rel->children[0], &below);
	return filter_above(p, child, &here);
}

static struct rql_rel *push_setop(struct pusher *p, struct rql_rel *rel, const struct rql_expr_list *conjuncts)
{
	struct rql_expr_list none = {0};
	bool whole = rel->setop == RQL_SETOP_UNION;
	for (uint32_t i = 0; i < rel->child_count && !p->no_memory; i++)
		checked(p, rel->children[i] = push(p, rel->children[i], whole ? conjuncts : &none));
	return filter_above(p, p->no_memory ? NULL : rel, whole ? &none : conjuncts);
}

/* ---- common table expressions ---- */

static void put_in_place(struct rql_rel *rel, uint64_t cte, struct rql_rel *definition)
{
	for (uint32_t i = 0; i < rel->child_count; i++) {
		if (rel->children[i]->kind == RQL_REL_CTE_REF && rel->children[i]->cte == cte)
			rel->children[i] = definition;
		else
			put_in_place(rel->children[i], cte, definition);
	}
}

/* What an operator that RayQL cannot read does with a common table expression is not known; it may be a reference. */
static bool holds_opaque(const struct rql_rel *rel)
{
	bool holds = rel->kind == RQL_REL_OPAQUE;
	for (uint32_t i = 0; i < rel->child_count && !holds; i++)
		holds = holds_opaque(rel->children[i]);
	return holds;
}

/* The outer side of a correlated subquery: what its rows must fulfil holds for all that is computed from them. */
static bool is_outer_side(const struct rql_rel *cte)
{
	const struct rql_rel *use = cte->children[1];
	return cte->cte >= RQL_DELIM_CTE && use->kind == RQL_REL_JOIN && use->children[0]->kind == RQL_REL_CTE_REF &&
	       use->children[0]->cte == cte->cte && (ways_of(use->join).left || use->join == RQL_JOIN_INNER);
}

static struct rql_rel *push_shared(struct pusher *p, struct rql_rel *rel, const struct rql_expr_list *conjuncts)
{
	struct rql_expr_list inside = {0}, above = {0};
	bool outer = is_outer_side(rel);
	for (uint32_t i = 0; i < conjuncts->count; i++) {
		struct rql_expr *e = conjuncts->items[i];
		add(p, outer && lies_in(e, 0, rel->children[0]->column_count) ? &inside : &above, e);
	}
	int mark = rql_rel_is_exists(rel) ? take_mark(rel->children[1], &above) : 0;
	if (mark) {
		struct rql_rel *join = checked(p, rql_rel_exists(p->arena, rel, mark == 2));
		for (uint32_t i = 0; i < inside.count; i++)
			add(p, &above, inside.items[i]);
		return p->no_memory ? NULL : push(p, checked(p, with_mark(p, join, mark == 2)), &above);
	}
	checked(p, rel->children[0] = push(p, rel->children[0], &inside));
	checked(p, rel->children[1] = push(p, rel->children[1], &above));
	return p->no_memory ? NULL : rel;
}

static struct rql_rel *push_cte(struct pusher *p, struct rql_rel *rel, const struct rql_expr_list *conjuncts)
{
	struct rql_rel *definition = rel->children[0], *use = rel->children[1];
	uint32_t refs = rql_rel_cte_refs(use, rel->cte);
	if (refs < 2 && !holds_opaque(use)) {
		if (use->kind == RQL_REL_CTE_REF && refs)
			use = definition;
		else
			put_in_place(use, rel->cte, definition);
		return push(p, use, conjuncts);
	}
	return push_shared(p, rel, conjuncts);
}

/* ---- order and limit ---- */

static struct rql_rel *push_below(struct pusher *p, struct rql_rel *rel, const struct rql_expr_list *conjuncts)
{
	checked(p, rel->children[0] = push(p, rel->children[0], conjuncts));
	return p->no_memory ? NULL : rel;
}

/* LIMIT over ORDER BY is one operator. */
static struct rql_rel *push_limit(struct pusher *p, struct rql_rel *rel, const struct rql_expr_list *conjuncts)
{
	struct rql_expr_list none = {0};
	struct rql_rel *order = rel->children[0];
	if (rel->kind == RQL_REL_LIMIT && order->kind == RQL_REL_ORDER && rel->limit != UINT64_MAX) {
		order->kind = RQL_REL_TOP_N;
		order->name = "LOGICAL_TOP_N";
		order->limit = rel->limit;
		order->offset = rel->offset;
		rel = order;
	}
	return filter_above(p, push_below(p, rel, &none), conjuncts);
}

/* ---- dispatch ---- */

static struct rql_rel *push_children(struct pusher *p, struct rql_rel *rel)
{
	struct rql_expr_list none = {0};
	for (uint32_t i = 0; i < rel->child_count && !p->no_memory; i++)
		checked(p, rel->children[i] = push(p, rel->children[i], &none));
	return p->no_memory ? NULL : rel;
}

static struct rql_rel *push(struct pusher *p, struct rql_rel *rel, const struct rql_expr_list *conjuncts)
{
	if (p->no_memory || !rel)
		return NULL;
	switch (rel->kind) {
	case RQL_REL_FILTER:
		return push_filter(p, rel, conjuncts);
	case RQL_REL_PROJECT:
	case RQL_REL_AGGREGATE:
		return push_substituted(p, rel, conjuncts);
	case RQL_REL_JOIN:
		return push_join(p, rel, conjuncts);
	case RQL_REL_DISTINCT:
		return rql_rel_is_delim_get(rel) ? filter_above(p, rel, conjuncts) : push_below(p, rel, conjuncts);
	case RQL_REL_ORDER:
		return push_below(p, rel, conjuncts);
	case RQL_REL_LIMIT:
	case RQL_REL_TOP_N:
		return push_limit(p, rel, conjuncts);
	case RQL_REL_WINDOW:
		return push_window(p, rel, conjuncts);
	case RQL_REL_SETOP:
		return push_setop(p, rel, conjuncts);
	case RQL_REL_CTE:
		return push_cte(p, rel, conjuncts);
	default:
		return filter_above(p, push_children(p, rel), conjuncts);
	}
}

struct rql_rel *rql_rel_push_filters(struct rql_arena *arena, struct rql_rel *rel)
{
	struct pusher p = {.arena = arena};
	struct rql_expr_list none = {0};
	struct rql_rel *out = push(&p, rel, &none);
	return p.no_memory ? NULL : out;
}
