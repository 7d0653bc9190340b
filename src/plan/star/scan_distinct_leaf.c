/* COUNT(DISTINCT). A scan has one hidden key (scan_bind.c), so that each of several arguments is a leaf of its own over the
 * same rows, and the leaves' rows are joined by the group keys above them. On a GPU groups by the argument, too, may stay
 * there and be grouped once more, instead of being put together by the host. */
#include <string.h>
#include "plan/price/await.h"

#define MAX_PARTS 8u

struct splitting {
	struct rql_arena *arena;
	const struct rql_rel *rel;
	uint32_t part_count;
	const struct rql_expr *counts[MAX_PARTS]; /* one of each part's COUNT(DISTINCT) */
	struct rql_rel *parts[MAX_PARTS];
	uint32_t *part, *column; /* [rel's exprs]: where each is found */
};

static bool counts_distinct(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_AGGREGATE && e->distinct && e->child_count == 1 && strcmp(e->name, "min") != 0 &&
	       strcmp(e->name, "max") != 0;
}

/* They count the same values. */
static bool same_rows(const struct rql_expr *a, const struct rql_expr *b)
{
	return rql_expr_equal(a->children[0], b->children[0]) && !a->filter == !b->filter &&
	       (!a->filter || rql_expr_equal(a->filter, b->filter));
}

/* e's part: of its DISTINCT argument, all others belong to the first. false: there are too many. */
static bool find_part(struct splitting *s, const struct rql_expr *e, uint32_t *out)
{
	*out = 0;
	if (!counts_distinct(e))
		return true;
	while (*out < s->part_count && !same_rows(s->counts[*out], e))
		++*out;
	if (*out == MAX_PARTS)
		return false;
	if (*out == s->part_count)
		s->counts[s->part_count++] = e;
	return true;
}

bool rql_block_counts_several(const struct rql_block *block)
{
	struct splitting s = {0};
	uint32_t part;
	for (uint32_t i = 0; i < block->agg_count; i++)
		if (!find_part(&s, block->aggs[i], &part))
			return true;
	return s.part_count > 1;
}

/* ---- the nodes ---- */

static struct rql_rel *new_rel(struct rql_arena *arena, enum rql_rel_kind kind, const char *name, uint32_t columns,
                               uint32_t exprs, uint32_t children)
{
	struct rql_rel *rel = RQL_NEW(arena, struct rql_rel);
	if (!rel)
		return NULL;
	*rel = (struct rql_rel){.kind = kind,
	                        .name = name,
	                        .column_count = columns,
	                        .types = RQL_NEW_ARRAY(arena, struct rql_type, columns),
	                        .names = RQL_NEW_ARRAY(arena, const char *, columns),
	                        .child_count = children,
	                        .children = RQL_NEW_ARRAY(arena, struct rql_rel *, children),
	                        .expr_count = exprs,
	                        .exprs = RQL_NEW_ARRAY(arena, struct rql_expr *, exprs)};
	return rel->types && rel->names && rel->children && rel->exprs ? rel : NULL;
}

static struct rql_expr *new_ref(struct rql_arena *arena, const struct rql_rel *rel, uint32_t column, uint32_t index)
{
	struct rql_expr *ref = rql_expr_new(arena, RQL_EXPR_REF, rel->types[column], 0);
	if (ref) {
		ref->index = index;
		ref->alias = rel->names[column];
	}
	return ref;
}

/* The group keys, and the aggregates of one part. */
static bool make_part(struct splitting *s, uint32_t part)
{
	const struct rql_rel *rel = s->rel;
	uint32_t n = 0;
	struct rql_rel *made = new_rel(s->arena, RQL_REL_AGGREGATE, rel->name, rel->expr_count, rel->expr_count, 1);
	if (!made)
		return false;
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		bool key = i < rel->group_count;
		if (!key && s->part[i] != part)
			continue;
		s->column[i] = n;
		made->exprs[n] = rel->exprs[i];
		made->types[n] = rel->types[i];
		made->names[n++] = rel->names[i];
	}
	made->column_count = made->expr_count = n;
	made->group_count = rel->group_count;
	made->children[0] = rel->children[0];
	s->parts[part] = made;
	return true;
}

/* left has parts 0 .. part - 1 side by side. */
static struct rql_rel *join_part(const struct splitting *s, struct rql_rel *left, uint32_t part)
{
	struct rql_rel *right = s->parts[part];
	uint32_t keys = s->rel->group_count, lefts = left->column_count;
	struct rql_rel *join = new_rel(s->arena, RQL_REL_JOIN, keys ? "LOGICAL_COMPARISON_JOIN" : "LOGICAL_CROSS_PRODUCT",
	                               lefts + right->column_count, keys, 2);
	if (!join)
		return NULL;
	join->join = keys ? RQL_JOIN_INNER : RQL_JOIN_CROSS;
	join->children[0] = left;
	join->children[1] = right;
	for (uint32_t i = 0; i < join->column_count; i++) {
		join->types[i] = i < lefts ? left->types[i] : right->types[i - lefts];
		join->names[i] = i < lefts ? left->names[i] : right->names[i - lefts];
	}
	for (uint32_t k = 0; k < keys; k++) {
		struct rql_expr *a = new_ref(s->arena, join, k, k), *b = new_ref(s->arena, join, lefts + k, lefts + k);
		if (!a || !b || !(join->exprs[k] = rql_expr_comparison(s->arena, "IS NOT DISTINCT FROM", a, b)))
			return NULL;
	}
	return join;
}

/* What gives the columns of rel from the parts. */
static struct rql_rel *join_parts(const struct splitting *s)
{
	uint32_t first[MAX_PARTS] = {0}, n = s->rel->expr_count;
	struct rql_rel *all = s->parts[0], *project = new_rel(s->arena, RQL_REL_PROJECT, "LOGICAL_PROJECTION", n, n, 1);
	for (uint32_t p = 1; p < s->part_count && all; p++) {
		first[p] = all->column_count;
		all = join_part(s, all, p);
	}
	if (!all || !project)
		return NULL;
	project->children[0] = all;
	for (uint32_t i = 0; i < n; i++) {
		project->types[i] = s->rel->types[i];
		project->names[i] = s->rel->names[i];
		if (!(project->exprs[i] = new_ref(s->arena, s->rel, i, first[s->part[i]] + s->column[i])))
			return NULL;
	}
	return project;
}

/* ---- the leaves ---- */

static void drop_leaves(struct rql_planning *p, uint32_t first)
{
	for (uint32_t i = first; i < p->nodes->leaf_count; i++)
		rql_leaf_clear(&p->nodes->leaves[i]);
	p->nodes->leaf_count = first;
}

static rql_status choose_parts(struct rql_planning *p, const struct splitting *s, bool *found)
{
	*found = true;
	for (uint32_t i = 0; i < s->part_count && *found; i++) {
		struct rql_error why = {0};
		struct rql_block *block;
		rql_status status = rql_block_make(p->arena, s->parts[i], &block, &why);
		*found = false;
		if (status != RQL_OK)
			return rql_planning_swallow(p, status, &why, RQL_REASON_NO_BLOCK, NULL);
		RQL_TRY(rql_leaf_choose_block(p, s->parts[i], block, NULL, found));
	}
	return RQL_OK;
}

rql_status rql_leaf_choose_distincts(struct rql_planning *p, const struct rql_rel *rel, bool *found)
{
	struct splitting s = {.arena = p->arena,
	                      .rel = rel,
	                      .part = RQL_NEW_ARRAY(p->arena, uint32_t, rel->expr_count),
	                      .column = RQL_NEW_ARRAY(p->arena, uint32_t, rel->expr_count)};
	uint32_t leaves = p->nodes->leaf_count;
	*found = false;
	if (!s.part || !s.column)
		return rql_error_memory(p->err, 0, "a plan");
	for (uint32_t i = rel->group_count; i < rel->expr_count; i++)
		if (!find_part(&s, rel->exprs[i], &s.part[i]))
			return RQL_OK;
	for (uint32_t i = 0; i < s.part_count; i++)
		if (!make_part(&s, i))
			return rql_error_memory(p->err, 0, "a plan");
	struct rql_rel *joined = join_parts(&s);
	if (!joined)
		return rql_error_memory(p->err, 0, "a plan");
	const struct rql_above *above = p->above;
	p->above = NULL; /* the parts are joined first */
	rql_status status = choose_parts(p, &s, found);
	p->above = above;
	RQL_TRY(status);
	if (*found)
		return rql_planning_alternative(p, rel, joined, 0);
	drop_leaves(p, leaves);
	return RQL_OK;
}

/* ---- groups over groups ---- */

/* name(column `column` of the groups) */
static struct rql_expr *over_column(struct rql_arena *arena, const char *name, struct rql_type type,
                                    struct rql_type argument, uint32_t column)
{
	struct rql_expr *out = rql_expr_new(arena, RQL_EXPR_AGGREGATE, type, 1);
	struct rql_expr *ref = rql_expr_new(arena, RQL_EXPR_REF, argument, 0);
	if (!out || !ref)
		return NULL;
	ref->index = column;
	out->name = name;
	out->children[0] = ref;
	return out;
}

/* Of an aggregate of groups by the DISTINCT argument, too, what the groups without it have. NULL: that does not say it, or
 * out of memory. */
static struct rql_expr *over_part(struct rql_arena *arena, const struct rql_expr *e, uint32_t column)
{
	const bool counts = !strcmp(e->name, "count") || !strcmp(e->name, "count_star");
	if (!counts && strcmp(e->name, "sum") != 0 && strcmp(e->name, "min") != 0 && strcmp(e->name, "max") != 0)
		return NULL;
	return over_column(arena, counts ? "sum" : e->name, e->type, e->type, column);
}

/* An average of integers or decimals is made of their sum and their number. */
static bool is_average(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_AGGREGATE && !strcmp(e->name, "avg") && e->child_count == 1 && !e->distinct &&
	       (e->children[0]->type.id == RQL_TYPE_DECIMAL || rql_type_is_integer(e->children[0]->type));
}

/* Puts both into `below` from column n on, and gives the average over them (scan_bind.c). NULL: out of memory. */
static struct rql_expr *split_average(struct rql_arena *arena, const struct rql_expr *e, struct rql_rel *below, uint32_t n)
{
	const struct rql_type of = e->children[0]->type;
	struct rql_type types[] = {rql_type_simple(RQL_TYPE_HUGEINT), rql_type_simple(RQL_TYPE_BIGINT)};
	if (of.id == RQL_TYPE_DECIMAL) {
		types[0] = of;
		types[0].width = 38;
	}
	struct rql_expr *out = rql_expr_new(arena, RQL_EXPR_AGGREGATE, e->type, 3);
	if (!out || !(out->children[2] = rql_expr_new(arena, RQL_EXPR_CONSTANT, of, 0)))
		return NULL;
	out->name = e->name;
	out->average = e->average;
	out->children[2]->value = rql_value_null(of);
	for (uint32_t i = 0; i < 2; i++) {
		struct rql_expr *part = rql_expr_new(arena, RQL_EXPR_AGGREGATE, types[i], 1);
		if (!part || !(out->children[i] = rql_expr_new(arena, RQL_EXPR_REF, types[i], 0)))
			return NULL;
		part->name = i ? "count" : "sum";
		part->children[0] = e->children[0];
		part->filter = e->filter;
		out->children[i]->index = n + i;
		below->exprs[n + i] = part;
		below->types[n + i] = types[i];
	}
	return out;
}

/* rel's outputs as aggregates over those of `below`, which has the argument behind the group keys. */
static bool fill_levels(struct rql_arena *arena, const struct rql_rel *rel, const struct rql_expr *argument,
                        struct rql_rel *below, struct rql_rel *above)
{
	const uint32_t keys = rel->group_count;
	uint32_t n = keys + 1;
	below->exprs[keys] = (struct rql_expr *)(uintptr_t)argument;
	below->types[keys] = argument->type;
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		struct rql_expr *e = rel->exprs[i];
		const bool distinct = i >= keys && counts_distinct(e), average = i >= keys && is_average(e);
		above->types[i] = rel->types[i];
		above->names[i] = rel->names ? rel->names[i] : NULL;
		above->exprs[i] = i < keys   ? new_ref(arena, above, i, i)
		                  : distinct ? over_column(arena, "count", e->type, argument->type, keys)
		                  : average  ? split_average(arena, e, below, n)
		                             : over_part(arena, e, n);
		if (!above->exprs[i])
			return false;
		n += average ? 2 : 0;
		if (distinct || average)
			continue;
		const uint32_t at = i < keys ? i : n++;
		below->exprs[at] = rel->exprs[i];
		below->types[at] = rel->types[i];
	}
	below->column_count = below->expr_count = n;
	below->group_count = keys + 1;
	above->group_count = keys;
	below->children[0] = rel->children[0];
	above->children[0] = below;
	return true;
}

/* Over no rows at all a sum of counts would be NULL. */
struct rql_rel *rql_distinct_levels(struct rql_arena *arena, const struct rql_rel *rel)
{
	const struct rql_expr *counted = NULL;
	for (uint32_t i = rel->group_count; i < rel->expr_count; i++) {
		const struct rql_expr *e = rel->exprs[i];
		if (counts_distinct(e) ? e->filter || strcmp(e->name, "count") != 0 : !rel->group_count && e->name[0] == 'c')
			return NULL;
		counted = counts_distinct(e) ? e : counted;
	}
	const uint32_t most = 2 * rel->expr_count + 1; /* outputs below */
	struct rql_rel *below = new_rel(arena, RQL_REL_AGGREGATE, rel->name, most, most, 1);
	struct rql_rel *above = new_rel(arena, RQL_REL_AGGREGATE, rel->name, rel->expr_count, rel->expr_count, 1);
	if (!counted || !below || !above)
		return NULL;
	return fill_levels(arena, rel, counted->children[0], below, above) ? above : NULL;
}

rql_status rql_leaf_distinct_over_groups(struct rql_planning *p, const struct rql_rel *rel, struct rql_leaf *leaf)
{
	struct rql_error why = {0};
	struct rql_leaf other = {0};
	struct rql_block *block;
	const struct rql_rel *above = rel->kind == RQL_REL_AGGREGATE ? rql_distinct_levels(p->arena, rel) : NULL;
	if (!above)
		return RQL_OK;
	rql_status status = rql_block_make_over(p->arena, above, &block, &why);
	if (status != RQL_OK)
		return rql_planning_swallow(p, status, &why, RQL_REASON_UNRELATED, NULL);
	RQL_TRY(rql_join_leaf_try(p, block, NULL, &other));
	const bool forced = p->ctx->settings->unit_forced; /* that unit is to do what it can */
	if (other.prepared && (forced || rql_leaf_price(&other) < rql_leaf_price(leaf))) {
		const struct rql_leaf before = *leaf;
		*leaf = other;
		other = before;
	}
	if (other.prepared)
		rql_await_leaf(p, &other, rql_leaf_price(leaf));
	rql_leaf_clear(&other);
	return RQL_OK;
}
