/* Equalities of a join: see the header. */
#include "flow/join/join_keys.h"

#include <string.h>
#include "flow/join/range_cast.h"
#include "flow/join/range_places.h"
#include "host/host.h"
#include "sql/rel/rel.h"

unsigned rql_join_reads(const struct rql_expr *e, uint32_t lefts)
{
	unsigned sides = e->kind == RQL_EXPR_REF ? (e->index < lefts ? 1 : 2) : 0;
	for (uint32_t i = 0; i < e->child_count; i++)
		sides |= rql_join_reads(e->children[i], lefts);
	return sides | (e->filter ? rql_join_reads(e->filter, lefts) : 0);
}

bool rql_join_null_finds(void)
{
	return rql_plan_dialect_of(rql_host_library_version()) != RQL_PLAN_2;
}

/* Which child the first operand is of: 0, 1; 2: it is no equality of the two. */
static unsigned equality(const struct rql_expr *e, uint32_t lefts)
{
	if (e->kind != RQL_EXPR_COMPARE || (strcmp(e->name, "=") && strcmp(e->name, "IS NOT DISTINCT FROM")))
		return 2;
	const struct rql_expr *a = e->children[0], *b = e->children[1];
	if (!rql_type_equal(a->type, b->type) || !rql_key_type(a->type))
		return 2;
	unsigned sides = rql_join_reads(a, lefts) | rql_join_reads(b, lefts) << 2;
	return sides == (1 | 2 << 2) ? 0 : sides == (2 | 1 << 2) ? 1 : 2;
}

bool rql_join_equality(const struct rql_rel *rel, uint32_t condition, const struct rql_expr *of[2])
{
	const struct rql_expr *e = rel->exprs[condition];
	const unsigned first = equality(e, rel->children[0]->column_count);
	for (unsigned s = 0; s < 2 && first < 2; s++)
		of[s] = e->children[s != first];
	return first < 2;
}

/* ---- ranges ---- */

/* A comparison of the two sides that bounds a value of either. */
struct bound {
	struct rql_expr *condition;
	unsigned first; /* which child the first operand is of */
	bool greater;   /* the first operand is the greater one */
};

static bool is_bound(struct rql_expr *e, uint32_t lefts, struct bound *out)
{
	if (e->kind != RQL_EXPR_COMPARE || (e->name[0] != '<' && e->name[0] != '>') || !strcmp(e->name, "<>"))
		return false;
	const struct rql_expr *a = e->children[0], *b = e->children[1];
	unsigned sides = rql_join_reads(a, lefts) | rql_join_reads(b, lefts) << 2;
	*out = (struct bound){e, sides == (1 | 2 << 2) ? 0 : 1, e->name[0] == '>'};
	return rql_type_equal(a->type, b->type) && rql_range_type(a->type) && (sides == (1 | 2 << 2) || sides == (2 | 1 << 2));
}

/* The value of the child `points` in it, and what bounds that: from below? */
static struct rql_expr *point_of(const struct bound *b, unsigned points)
{
	return b->condition->children[b->first != points];
}

static bool is_from_below(const struct bound *b, unsigned points)
{
	return b->greater == (b->first == points);
}

/* The other bound of the same value; count: there is none. */
static uint32_t opposite(const struct bound *bounds, uint32_t count, uint32_t of, unsigned points)
{
	uint32_t i = 0;
	while (i < count && (is_from_below(&bounds[i], points) == is_from_below(&bounds[of], points) ||
	                     !rql_expr_equal(point_of(&bounds[i], points), point_of(&bounds[of], points))))
		i++;
	return i;
}

/* Two bounds are better than one; else the right child has the points. A single join's are there in any case. */
static void choose_range(const struct rql_rel *rel, const struct bound *bounds, uint32_t count, uint32_t chosen[2],
                         struct rql_join_range *range)
{
	range->points = 1;
	chosen[0] = 0;
	chosen[1] = count;
	for (unsigned points = 2; points-- && !range->found;) {
		if (!points && (rel->join == RQL_JOIN_SINGLE || rql_join_is_asof(rel->join)))
			break;
		for (uint32_t i = 0; i < count && !range->found; i++) {
			uint32_t other = opposite(bounds, count, i, points);
			if (other == count)
				continue;
			chosen[0] = i;
			chosen[1] = other;
			range->points = points;
			range->found = true;
		}
	}
	range->found = count > 0;
}

static bool set_range(struct rql_arena *arena, uint32_t lefts, const struct bound *b, struct rql_join_range *range)
{
	bool below = is_from_below(b, range->points);
	struct rql_expr *of[2] = {b->condition->children[b->first], b->condition->children[!b->first]};
	if (!(of[1] = rql_expr_lowered(arena, of[1], lefts)))
		return false;
	range->point = of[range->points];
	range->bounds[!below] = of[!range->points];
	range->open[!below] = strlen(b->condition->name) == 1;
	range->conditions[range->condition_count++] = b->condition;
	return true;
}

/* Takes the range's conditions out of the rest. */
static bool find_range(struct rql_arena *arena, const struct rql_rel *rel, struct rql_join_keys *keys)
{
	uint32_t lefts = rel->children[0]->column_count, count = 0, chosen[2], kept = 0;
	struct bound *bounds = RQL_NEW_ARRAY(arena, struct bound, keys->rest_count);
	if (!bounds)
		return false;
	for (uint32_t i = 0; i < keys->rest_count; i++)
		count += is_bound(keys->rest[i], lefts, &bounds[count]);
	choose_range(rel, bounds, count, chosen, &keys->range);
	for (uint32_t k = 0; k < 2 && keys->range.found; k++)
		if (chosen[k] < count && !set_range(arena, lefts, &bounds[chosen[k]], &keys->range))
			return false;
	for (uint32_t i = 0; i < keys->rest_count; i++)
		if (keys->rest[i] != keys->range.conditions[0] && keys->rest[i] != keys->range.conditions[1])
			keys->rest[kept++] = keys->rest[i];
	keys->rest_count = kept;
	return true;
}

/* ---- all conditions ---- */

static bool is_between(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_BETWEEN && e->name && strlen(e->name) == 2;
}

/* The lower (0) or upper (1) bound of a BETWEEN as a comparison of its own. */
static void set_half(const struct rql_expr *between, unsigned bound, struct rql_expr *operands[2], struct rql_expr *out)
{
	const bool closed = between->name[bound] == (bound ? ']' : '[');
	operands[0] = between->children[0];
	operands[1] = between->children[1 + bound];
	*out = (struct rql_expr){.kind = RQL_EXPR_COMPARE,
	                         .type = between->type,
	                         .name = bound ? (closed ? "<=" : "<") : (closed ? ">=" : ">"),
	                         .is_operator = true,
	                         .child_count = 2,
	                         .children = operands};
}

static struct rql_expr *half(struct rql_arena *arena, const struct rql_expr *between, unsigned bound)
{
	struct rql_expr *e = RQL_NEW(arena, struct rql_expr), **operands = RQL_NEW_ARRAY(arena, struct rql_expr *, 2);
	if (!e || !operands)
		return NULL;
	set_half(between, bound, operands, e);
	return e;
}

static bool add_key(struct rql_arena *arena, struct rql_expr *e, unsigned first, uint32_t lefts, struct rql_join_keys *out)
{
	uint32_t k = out->key_count++;
	out->nulls_equal[k] = e->name[0] != '=';
	out->sides[0][k] = e->children[first];
	return (out->sides[1][k] = rql_expr_lowered(arena, e->children[!first], lefts)) != NULL;
}

bool rql_join_keys_find(struct rql_arena *arena, const struct rql_rel *rel, struct rql_join_keys *out)
{
	uint32_t lefts = rel->children[0]->column_count, n = rel->expr_count;
	*out = (struct rql_join_keys){.nulls_equal = RQL_NEW_ARRAY(arena, bool, n),
	                              .rest = RQL_NEW_ARRAY(arena, struct rql_expr *, 2 * (size_t)n),
	                              .sides = {RQL_NEW_ARRAY(arena, struct rql_expr *, n),
	                                        RQL_NEW_ARRAY(arena, struct rql_expr *, n)}};
	if (!out->nulls_equal || !out->rest || !out->sides[0] || !out->sides[1])
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct rql_expr *e = rel->exprs[i];
		unsigned first = equality(e, lefts);
		if (first != 2 && !add_key(arena, e, first, lefts, out))
			return false;
		for (unsigned bound = 0; bound < 2 && is_between(e); bound++)
			if (!(out->rest[out->rest_count++] = half(arena, e, bound)))
				return false;
		if (first == 2 && !is_between(e))
			out->rest[out->rest_count++] = e;
	}
	return rel->join == RQL_JOIN_MARK || find_range(arena, rel, out);
}

/* ---- for prices ---- */

/* A row that looks up costs in a part as much as eight rows that are sorted. */
static bool pays(const struct rql_leaf_sorted *sorted, double probes)
{
	return probes * sorted->parts * 8 < (double)sorted->rows;
}

const struct rql_leaf_sorted *rql_leaf_sorted_by(const struct rql_leaf *leaf, uint32_t column, double probes)
{
	for (uint32_t i = 0; leaf && leaf->scan && i < leaf->scan->sorted_count; i++)
		if (leaf->scan->sorted[i].column == column)
			return pays(&leaf->scan->sorted[i], probes) ? &leaf->scan->sorted[i] : NULL;
	return NULL;
}

#define WAY_BOUNDS 8u /* that are looked at */

/* Conditions that compare both sides in order; a BETWEEN has two, of which either may be of one side alone. */
struct way_bounds {
	uint32_t count, conditions; /* conditions: with those that are none */
	struct bound bounds[WAY_BOUNDS];
	struct rql_expr halves[WAY_BOUNDS], *operands[WAY_BOUNDS][2]; /* of the bounds that are of a BETWEEN */
};

static void note_bounds(struct way_bounds *w, struct rql_expr *e, uint32_t lefts)
{
	const bool between = is_between(e);
	for (unsigned half = 0; half < (between ? 2 : 1); half++) {
		w->conditions++;
		if (w->count == WAY_BOUNDS)
			continue;
		if (between)
			set_half(e, half, w->operands[w->count], &w->halves[w->count]);
		w->count += is_bound(between ? &w->halves[w->count] : e, lefts, &w->bounds[w->count]);
	}
}

struct rql_join_way rql_join_way_of(const struct rql_rel *rel)
{
	uint32_t lefts = rel->children[0]->column_count;
	struct rql_join_way way = {0};
	struct way_bounds w = {0};
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		way.keys += equality(rel->exprs[i], lefts) != 2;
		note_bounds(&w, rel->exprs[i], lefts);
	}
	for (uint32_t i = 0; i < w.count; i++)
		for (unsigned points = 0; points < 2 && way.bounds < 2; points++)
			way.bounds = opposite(w.bounds, w.count, i, points) < w.count ? 2 : 1;
	way.comparisons = w.count;
	way.column = RQL_NO_ROW;
	if (w.count && rel->join != RQL_JOIN_MARK) {
		struct rql_join_range range = {0};
		struct rql_range_cast cast;
		uint32_t chosen[2];
		choose_range(rel, w.bounds, w.count, chosen, &range);
		const struct rql_expr *point = point_of(&w.bounds[chosen[0]], range.points);
		const struct rql_expr *column = way.keys ? NULL : rql_range_column(point, &cast);
		way.points = range.points;
		way.column = column ? column->index - (range.points ? lefts : 0) : RQL_NO_ROW;
		way.ranked = point->type.id == RQL_TYPE_VARCHAR || point->type.id == RQL_TYPE_BLOB;
	}
	way.tested = way.keys + w.count < w.conditions || w.count > way.bounds;
	return way;
}
