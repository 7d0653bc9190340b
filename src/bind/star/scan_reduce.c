/* Semi-join reduction of a side: its keys are followed down to where its rows are joined or read, below projections,
 * conditions and groups, and a SEMI join is put there. */
#include "bind/star/scan_reduce.h"

#include <string.h>

#include "bind/block/tuples.h"
#include "bind/normal/fallible.h"

static struct rql_expr *of_child(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	const struct rql_rel *rel = state;
	(void)arena;
	return rel->exprs[ref->index];
}

/* Keys over rel's columns as keys over its input's; false: out of memory. */
static bool follow(struct rql_arena *arena, const struct rql_rel *rel, const struct rql_expr **keys, uint32_t count)
{
	for (uint32_t k = 0; k < count; k++)
		if (!(keys[k] = rql_expr_rewrite(arena, keys[k], of_child, (void *)(uintptr_t)rel)))
			return false;
	return true;
}

static bool note_grouped(const struct rql_expr *ref, void *state)
{
	return ref->index < *(const uint32_t *)state;
}

/* Are all keys made of group keys? */
static bool are_grouped(const struct rql_rel *rel, const struct rql_expr *const *keys, uint32_t count)
{
	uint32_t groups = rel->group_count;
	for (uint32_t k = 0; k < count; k++)
		if (!rql_expr_each_ref(keys[k], note_grouped, &groups))
			return false;
	return groups > 0;
}

/* ---- where the keys go ---- */

enum step { STEP_BELOW, STEP_HERE, STEP_NOWHERE };

/* Where a condition on the keys of rel's rows may be tested: below rel (groups: in their rows), or on its rows. */
static enum step step_of(const struct rql_rel *rel, const struct rql_expr *const *keys, uint32_t count)
{
	switch (rel->kind) {
	case RQL_REL_GET:
	case RQL_REL_JOIN:
		return STEP_HERE;
	case RQL_REL_PROJECT:
	case RQL_REL_FILTER:
		return STEP_BELOW;
	case RQL_REL_AGGREGATE:
		return are_grouped(rel, keys, count) ? STEP_BELOW : STEP_NOWHERE;
	default:
		return STEP_NOWHERE;
	}
}

/* ---- what could fail for keys that nobody asks for ---- */

#define UNKNOWN 1000u
#define SUM_DIGITS 13u /* of rows that one group sums up */

static const struct rql_expr *behind(const struct rql_expr *ref, const struct rql_rel **input)
{
	const struct rql_rel *rel = *input;
	while (rel->kind == RQL_REL_FILTER)
		rel = rel->children[0];
	*input = rel->child_count ? rel->children[0] : NULL;
	return rel->kind == RQL_REL_PROJECT || rel->kind == RQL_REL_AGGREGATE ? rel->exprs[ref->index] : NULL;
}

/* Decimal digits that hold every value of the type. */
static uint32_t digits_of_type(struct rql_type type)
{
	if (type.id == RQL_TYPE_DECIMAL)
		return type.width;
	unsigned bytes = rql_type_is_integer(type) ? rql_type_bytes(type) : 0;
	return bytes == 1 ? 3 : bytes == 2 ? 5 : bytes == 4 ? 10 : bytes == 8 ? 20 : UNKNOWN;
}

/* Digits of which every number is of the type. */
static uint32_t room_of_type(struct rql_type type)
{
	if (type.id == RQL_TYPE_DECIMAL)
		return type.width;
	unsigned bytes = rql_type_is_signed(type) ? rql_type_bytes(type) : 0;
	return bytes == 16 ? 38 : bytes == 8 ? 18 : bytes == 4 ? 9 : bytes == 2 ? 4 : bytes == 1 ? 2 : 0;
}

static uint32_t digits_of_value(const struct rql_value *value)
{
	uint32_t digits = 1;
	if (value->is_null || digits_of_type(value->type) == UNKNOWN)
		return value->is_null ? 1 : UNKNOWN;
	for (rql_int128 left = value->integer / 10; left; left /= 10)
		digits++;
	return digits;
}

/* Digits of the greatest number that e, over input's columns, can be; UNKNOWN or more: it may be any. */
static uint32_t digits_of(const struct rql_expr *e, const struct rql_rel *input)
{
	uint32_t digits[2] = {UNKNOWN, UNKNOWN};
	if (e->kind == RQL_EXPR_REF) {
		const struct rql_expr *of = behind(e, &input);
		return of && input ? digits_of(of, input) : digits_of_type(e->type);
	}
	if (e->kind == RQL_EXPR_CONSTANT)
		return digits_of_value(&e->value);
	if (!e->child_count || e->child_count > 2)
		return digits_of_type(e->type);
	for (uint32_t c = 0; c < e->child_count; c++)
		digits[c] = digits_of(e->children[c], input);
	if (e->kind == RQL_EXPR_AGGREGATE && !strcmp(e->name, "sum"))
		return digits[0] + SUM_DIGITS;
	if (e->kind == RQL_EXPR_CAST) {
		uint32_t from = e->children[0]->type.id == RQL_TYPE_DECIMAL ? e->children[0]->type.scale : 0;
		uint32_t to = e->type.id == RQL_TYPE_DECIMAL ? e->type.scale : 0;
		return digits[0] + (to > from ? to - from : 0);
	}
	if (e->kind == RQL_EXPR_FUNCTION && e->child_count == 2 && !strcmp(e->name, "*"))
		return digits[0] + digits[1];
	if (e->kind == RQL_EXPR_FUNCTION && e->child_count == 2 && (!strcmp(e->name, "+") || !strcmp(e->name, "-")))
		return (digits[0] > digits[1] ? digits[0] : digits[1]) + 1;
	return digits_of_type(e->type);
}

static bool is_known_aggregate(const struct rql_expr *e)
{
	return rql_expr_is_plain_aggregate(e) && !e->filter && !e->order_count;
}

/* + - * and casts of numbers cannot where all numbers of so many digits fit. */
static bool expr_can_fail(const struct rql_expr *e, const struct rql_rel *input)
{
	bool arithmetic = e->kind == RQL_EXPR_CAST || (e->kind == RQL_EXPR_FUNCTION && e->name && strchr("+-*", e->name[0]) &&
	                                               !e->name[1]);
	bool sums = e->kind == RQL_EXPR_AGGREGATE && is_known_aggregate(e), can = false;
	if (!rql_expr_can_fail(e))
		return false;
	if ((arithmetic || (sums && !strcmp(e->name, "sum"))) && rql_type_bytes(e->type) &&
	    e->type.id != RQL_TYPE_DOUBLE && e->type.id != RQL_TYPE_FLOAT && digits_of(e, input) > room_of_type(e->type))
		return true;
	if (!arithmetic && !sums && (e->kind == RQL_EXPR_FUNCTION || e->kind >= RQL_EXPR_AGGREGATE))
		return true;
	for (uint32_t i = 0; i < e->child_count && !can; i++)
		can = expr_can_fail(e->children[i], input);
	return can;
}

static bool can_fail(const struct rql_rel *rel)
{
	for (uint32_t i = 0; i < rel->expr_count; i++)
		if (expr_can_fail(rel->exprs[i], rel->children[0]))
			return true;
	return false;
}

/* The keys as they are read below the chain, at whose end *rel is then; false: it is none. */
static bool walk(struct rql_arena *arena, const struct rql_rel **rel, const struct rql_expr **keys, uint32_t count)
{
	enum step step;
	for (; (step = step_of(*rel, keys, count)) == STEP_BELOW; *rel = (*rel)->children[0]) {
		if (can_fail(*rel) || (*rel)->child_count != 1)
			return false;
		if ((*rel)->kind != RQL_REL_FILTER && !follow(arena, *rel, keys, count))
			return false;
	}
	return step == STEP_HERE;
}

static void inner_keys(const struct rql_block_side *side, const struct rql_expr *keys[RQL_SIDE_KEYS])
{
	for (uint32_t k = 0; k < RQL_SIDE_KEYS; k++)
		keys[k] = side->keys[k].inner;
}

bool rql_side_can_reduce(const struct rql_block_side *side)
{
	const struct rql_expr *keys[RQL_SIDE_KEYS];
	const struct rql_rel *rel = side->rel;
	bool kind = side->kind == RQL_SIDE_LEFT || side->kind == RQL_SIDE_SEMI ||
	            (side->kind == RQL_SIDE_ANTI && !side->not_in);
	struct rql_arena *scratch = kind ? rql_arena_new() : NULL;
	inner_keys(side, keys);
	bool can = scratch && walk(scratch, &rel, keys, side->key_count);
	rql_arena_free(scratch);
	return can;
}

const struct rql_rel *rql_side_key_table(struct rql_arena *arena, const struct rql_block_side *side,
                                         uint32_t columns[RQL_SIDE_KEYS])
{
	const struct rql_expr *keys[RQL_SIDE_KEYS];
	const struct rql_rel *rel = side->rel;
	inner_keys(side, keys);
	if (!walk(arena, &rel, keys, side->key_count) || rel->kind != RQL_REL_GET)
		return NULL;
	for (uint32_t k = 0; k < side->key_count; k++) {
		if (keys[k]->kind != RQL_EXPR_REF)
			return NULL;
		columns[k] = rel->column_ids[keys[k]->index];
	}
	return rel;
}

/* ---- the join ---- */

/* The keys that are asked for: rows of a relation, or tuples. */
struct asked {
	const struct rql_rel *keys;
	const struct rql_expr_tuples *tuples; /* keys NULL */
};

static struct rql_rel *filter_list(struct rql_arena *arena, struct rql_rel *rel, const struct rql_expr *const *keys,
                                   const struct rql_expr_tuples *tuples)
{
	struct rql_expr_list conditions = {0};
	return rql_keys_listed(arena, keys, tuples, &conditions) ? rql_rel_filter(arena, rel, &conditions) : NULL;
}

static struct rql_rel *semi_join(struct rql_arena *arena, const struct rql_block_side *side, struct rql_rel *rel,
                                 const struct rql_expr *const *inner, const struct rql_rel *keys)
{
	struct rql_rel *join = rql_rel_over(arena, RQL_REL_JOIN, "LOGICAL_COMPARISON_JOIN", rel, side->key_count);
	struct rql_rel **children = RQL_NEW_ARRAY(arena, struct rql_rel *, 2);
	if (!join || !children)
		return NULL;
	children[0] = rel;
	children[1] = (struct rql_rel *)(uintptr_t)keys;
	join->children = children;
	join->child_count = 2;
	join->join = RQL_JOIN_SEMI;
	for (uint32_t k = 0; k < side->key_count; k++) {
		struct rql_expr *key = rql_expr_ref(arena, keys, k);
		if (!key)
			return NULL;
		key->index += rel->column_count;
		if (!(join->exprs[k] = rql_expr_comparison(arena, side->keys[k].null_safe ? "IS NOT DISTINCT FROM" : "=",
		                                           (struct rql_expr *)(uintptr_t)inner[k], key)))
			return NULL;
	}
	return join;
}

static struct rql_rel *reduce(struct rql_arena *arena, const struct rql_block_side *side, const struct rql_rel *rel,
                              const struct rql_expr **keys, const struct asked *by)
{
	struct rql_rel *here = (struct rql_rel *)(uintptr_t)rel;
	if (step_of(rel, keys, side->key_count) == STEP_HERE)
		return by->keys ? semi_join(arena, side, here, keys, by->keys) : filter_list(arena, here, keys, by->tuples);
	struct rql_rel *copy = RQL_NEW(arena, struct rql_rel);
	struct rql_rel **child = RQL_NEW_ARRAY(arena, struct rql_rel *, 1);
	if (!copy || !child || (rel->kind != RQL_REL_FILTER && !follow(arena, rel, keys, side->key_count)) ||
	    !(child[0] = reduce(arena, side, rel->children[0], keys, by)))
		return NULL;
	*copy = *rel;
	copy->children = child;
	return copy;
}

struct rql_rel *rql_side_reduce(struct rql_arena *arena, const struct rql_block_side *side, const struct rql_rel *keys)
{
	const struct rql_expr *inner[RQL_SIDE_KEYS];
	inner_keys(side, inner);
	return reduce(arena, side, side->rel, inner, &(struct asked){.keys = keys});
}

struct rql_rel *rql_side_list(struct rql_arena *arena, const struct rql_block_side *side,
                              const struct rql_expr_tuples *tuples)
{
	const struct rql_expr *inner[RQL_SIDE_KEYS];
	inner_keys(side, inner);
	return reduce(arena, side, side->rel, inner, &(struct asked){.tuples = tuples});
}
