/* What the nodes above an aggregate leave of its groups, as far as a method can find it out by itself: conditions that
 * compare one aggregate with a constant, and the first key of an order with a limit. The nodes stay where they are and do
 * the same exactly; so a condition that is not understood ends the way for the order alone. */
#include "bind/block/wanted.h"

#include <string.h>

#include "bind/block/block.h"
#include "bind/normal/fallible.h"
#include "expr/expr.h"

#define INTEGER_MOST ((rql_int128)(~(rql_uint128)0 >> 1))

struct wanting {
	struct rql_arena *arena;
	const struct rql_slot *slots;
	const struct rql_request *request;
	uint32_t column_count;
	uint32_t *slot_of; /* of the columns here: a slot, or RQL_NONE */
	bool all_tested;   /* by the conditions that were passed */
	const struct rql_rel *order; /* passed, with nothing but this behind it; NULL: none */
	struct rql_wanted_groups *out;
};

static bool is_plain_sum(const struct rql_slot *s)
{
	return s->kind == RQL_SLOT_SUM && s->term_count == 1 && s->terms[0].coefficient == 1;
}

/* The aggregate that alone makes a column; RQL_NONE: none does. */
static uint32_t agg_of(const struct rql_slot *s)
{
	if (s->kind == RQL_SLOT_COUNT)
		return s->count;
	return is_plain_sum(s) || (s->kind == RQL_SLOT_VALUE && s->term_count == 1) ? s->terms[0].agg : RQL_NONE;
}

static const struct rql_slot *slot_of(const struct wanting *w, const struct rql_expr *e)
{
	bool known = e->kind == RQL_EXPR_REF && e->index < w->column_count && w->slot_of[e->index] != RQL_NONE;
	return known ? &w->slots[w->slot_of[e->index]] : NULL;
}

/* Stored integers of the type ascend as its values do. */
static bool is_ordered_integer(struct rql_type type)
{
	return rql_type_is_integral(type) && type.id != RQL_TYPE_UHUGEINT && type.id != RQL_TYPE_ENUM;
}

/* ---- conditions ---- */

static rql_int128 power_of_ten(unsigned n)
{
	rql_int128 power = 1;
	while (n--)
		power *= 10;
	return power;
}

/* No sum of the slot is further from 0; 0: it is not known how far they are. */
static rql_int128 most_of_sum(const struct wanting *w, const struct rql_slot *s)
{
	const struct rql_request *r = w->request;
	const rql_int128 rows = r->from.method || !r->snapshot ? 0 : (rql_int128)r->snapshot->rows;
	const struct rql_source *source = is_plain_sum(s) ? &r->aggs[s->terms[0].agg].source : NULL;
	rql_int128 low, most;
	if (!source || source->kind != RQL_SOURCE_PROGRAM)
		return 0;
	const struct rql_bounds *one = &r->programs[source->index].program->results[source->result].bounds;
	if (__builtin_sub_overflow(0, one->low, &low))
		return 0;
	return __builtin_mul_overflow(one->high > low ? one->high : low, rows, &most) ? 0 : most;
}

/* By how much CAST(sum) of a DECIMAL to one of a greater scale multiplies what is stored, where no sum is too great for
 * that; 0: it is no such cast, or may fail. */
static rql_int128 unit_of_cast(const struct wanting *w, const struct rql_expr *e)
{
	const struct rql_slot *slot = e->kind == RQL_EXPR_CAST && !e->try_cast ? slot_of(w, e->children[0]) : NULL;
	if (!slot || slot->real || slot->type.id != RQL_TYPE_DECIMAL || e->type.id != RQL_TYPE_DECIMAL ||
	    e->type.scale < slot->type.scale || !rql_type_equal(slot->type, e->children[0]->type))
		return 0;
	const rql_int128 unit = power_of_ten(e->type.scale - slot->type.scale), most = most_of_sum(w, slot);
	return most && most <= (power_of_ten(e->type.width) - 1) / unit ? unit : 0;
}

/* As x / unit rounded down, and up, where x * unit is compared: of what is stored the nearest below and above. */
static rql_int128 divided(rql_int128 value, rql_int128 unit, bool up)
{
	const rql_int128 quotient = value / unit, rest = value - quotient * unit;
	return quotient + (up ? rest > 0 : -(rest < 0));
}

/* "aggregate < constant", whose stored value is compared with value / unit. */
static bool set_range(struct rql_group_test *test, const char *name, rql_int128 value, rql_int128 unit)
{
	const rql_int128 down = divided(value, unit, false), up = divided(value, unit, true);
	if (!strcmp(name, "=") && down == up)
		test->least = test->greatest = down;
	else if (!strcmp(name, ">="))
		test->least = up;
	else if (!strcmp(name, "<="))
		test->greatest = down;
	else if (!strcmp(name, ">"))
		return !__builtin_add_overflow(down, 1, &test->least);
	else if (!strcmp(name, "<"))
		return !__builtin_sub_overflow(up, 1, &test->greatest);
	else
		return false; /* <>, IS DISTINCT FROM */
	return true;
}

static bool add_test(struct wanting *w, const struct rql_expr *e)
{
	struct rql_group_test test = {.least = -INTEGER_MOST - 1, .greatest = INTEGER_MOST};
	if (e->kind != RQL_EXPR_COMPARE)
		return false;
	const struct rql_expr *of = e->children[0], *constant = e->children[1];
	const rql_int128 cast = unit_of_cast(w, of), unit = cast ? cast : 1;
	const struct rql_slot *slot = slot_of(w, cast ? of->children[0] : of);
	if (!slot || slot->real || slot->values || constant->kind != RQL_EXPR_CONSTANT || constant->value.is_null ||
	    !rql_type_equal(of->type, constant->type) || !is_ordered_integer(slot->type) ||
	    w->out->test_count == RQL_GROUP_TESTS || (test.agg = agg_of(slot)) == RQL_NONE)
		return false;
	const bool understood = set_range(&test, e->name, constant->value.integer, unit);
	if (!understood)
		return false;
	w->out->tests[w->out->test_count++] = test;
	return true;
}

/* Of a group that is left out nobody hears. */
static bool may_be_left(const struct wanting *w, const struct rql_expr *e)
{
	return !rql_expr_can_fail(e) ||
	       (e->kind == RQL_EXPR_COMPARE && e->children[1]->kind == RQL_EXPR_CONSTANT && unit_of_cast(w, e->children[0]));
}

/* false: out of memory. */
static bool pass_filter(struct wanting *w, const struct rql_rel *rel, bool *on)
{
	struct rql_expr_list list = {0};
	for (uint32_t i = 0; i < rel->expr_count; i++)
		if (!rql_conjuncts_add(w->arena, &list, rel->exprs[i]))
			return false;
	for (uint32_t i = 0; i < list.count && *on; i++)
		*on = may_be_left(w, list.items[i]);
	for (uint32_t i = 0; i < list.count && *on; i++)
		w->all_tested &= add_test(w, list.items[i]);
	return true;
}

/* ---- the way up ---- */

static bool pass_project(struct wanting *w, const struct rql_rel *rel, bool *on)
{
	uint32_t *slots = RQL_NEW_ARRAY(w->arena, uint32_t, rel->expr_count + 1u);
	if (!slots)
		return false;
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		const struct rql_slot *slot = slot_of(w, rel->exprs[i]);
		slots[i] = slot ? (uint32_t)(slot - w->slots) : RQL_NONE;
		*on &= !rql_expr_can_fail(rel->exprs[i]);
	}
	w->slot_of = slots;
	w->column_count = rel->expr_count;
	return true;
}

/* The greatest of a key's codes is NULL's, where it has one. */
static uint64_t null_code(const struct wanting *w, const struct rql_slot *s)
{
	if (!s->values)
		return rql_slot_null_code(s);
	const uint32_t count = w->request->groups[s->key].key_count;
	return count && !rql_column_valid(s->values, count - 1) ? count - 1 : UINT64_MAX;
}

/* How many rows a limit may look at; 0: it does not say. */
static uint64_t rows_of(const struct rql_rel *limit)
{
	uint64_t rows;
	bool known = limit->limit != UINT64_MAX && !__builtin_add_overflow(limit->limit, limit->offset, &rows);
	return known && rows < UINT64_MAX ? rows : 0;
}

static void take_any(struct wanting *w, const struct rql_rel *limit)
{
	w->out->first = w->all_tested ? rows_of(limit) : 0;
	w->out->any = w->out->first != 0;
}

static void take_first(struct wanting *w, const struct rql_rel *order, const struct rql_rel *limit)
{
	struct rql_wanted_groups *out = w->out;
	const struct rql_slot *slot = order->order_count ? slot_of(w, order->orders[0].expr) : NULL;
	const uint64_t first = rows_of(limit);
	for (uint32_t i = 0; i < order->order_count; i++)
		if (rql_expr_can_fail(order->orders[i].expr))
			return; /* of the groups that are left out, too */
	if (!slot || !w->all_tested || !first)
		return;
	out->of_key = slot->kind == RQL_SLOT_KEY;
	if (out->of_key ? !slot->ordered : !slot->values && !slot->real && !is_ordered_integer(slot->type))
		return;
	out->index = out->of_key ? slot->key : agg_of(slot);
	if (out->index == RQL_NONE)
		return;
	out->null_key = out->of_key ? null_code(w, slot) : UINT64_MAX;
	out->descending = order->orders[0].descending;
	out->nulls_first = order->orders[0].nulls == RQL_NULLS_FIRST;
	out->ties_free = order->order_count == 1;
	out->first = first;
}

/* false: out of memory. *on: whether to go on above. */
static bool pass(struct wanting *w, const struct rql_rel *rel, bool *on)
{
	const struct rql_rel *order = w->order;
	*on = rel->child_count == 1;
	if (order || !*on) { /* behind an order there is but its limit */
		if (order && rel->kind == RQL_REL_LIMIT)
			take_first(w, order, rel);
		*on = false;
		return true;
	}
	switch (rel->kind) {
	case RQL_REL_FILTER:
		return pass_filter(w, rel, on);
	case RQL_REL_PROJECT:
		return pass_project(w, rel, on);
	case RQL_REL_ORDER:
		w->order = rel;
		return true;
	case RQL_REL_TOP_N:
		take_first(w, rel, rel);
		break;
	case RQL_REL_LIMIT:
		take_any(w, rel);
		break;
	default:
		break;
	}
	*on = false;
	return true;
}

static const char *describe(struct rql_arena *arena, const struct rql_wanted_groups *w)
{
	if (!w->first)
		return rql_arena_printf(arena, "  groups: those that pass %u condition%s of their aggregates\n", w->test_count,
		                        w->test_count == 1 ? "" : "s");
	return rql_arena_printf(arena, "  groups: %s %llu%s%s\n", w->any ? "any" : "the first", (unsigned long long)w->first,
	                        w->any      ? ""
	                        : w->of_key ? " by a key"
	                                    : " by an aggregate",
	                        w->test_count ? ", of those that pass the conditions" : "");
}

bool rql_wanted_groups(struct rql_arena *arena, const struct rql_above *above, const struct rql_slot *slots,
                       uint32_t slot_count, const struct rql_request *request, struct rql_wanted_groups *out,
                       const char **text)
{
	struct wanting w = {.arena = arena,
	                    .slots = slots,
	                    .request = request,
	                    .column_count = slot_count,
	                    .slot_of = RQL_NEW_ARRAY(arena, uint32_t, slot_count + 1u),
	                    .all_tested = true,
	                    .out = out};
	bool on = true;
	*out = (struct rql_wanted_groups){0};
	*text = NULL;
	for (uint32_t i = 0; w.slot_of && i < slot_count; i++) {
		w.slot_of[i] = i;
		on &= !slots[i].of_real; /* a method's groups may be parts of one */
	}
	for (; w.slot_of && above && on; above = above->next)
		if (!pass(&w, above->rel, &on))
			return false;
	if (w.slot_of && (out->first || out->test_count))
		return (*text = describe(arena, out)) != NULL;
	return w.slot_of != NULL;
}
