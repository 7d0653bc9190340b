/* Predicates over dimensions become disjoint boxes, each of one set of codes a dimension. Group keys become
 * codes and values. */
#include "bind/relation/bind.h"

#include <stdlib.h>
#include <string.h>
#include "bind/relation/codes.h"
#include "bind/relation/codes_values.h"
#include "util/sort.h"

/* ---- boxes ---- */

struct boxing {
	const struct rql_plan_context *ctx;
	struct rql_arena *arena;
	const struct rql_relation *relation;
	struct rql_error *err;
};

static bool set_empty(const uint64_t *set, uint32_t words)
{
	for (uint32_t w = 0; w < words; w++)
		if (set[w])
			return false;
	return true;
}

static rql_status put_box(struct boxing *b, struct rql_box_list *list, const uint64_t **pass)
{
	for (uint32_t d = 0; d < b->relation->dimension_count; d++)
		if (pass[d] && set_empty(pass[d], rql_codes_words(&b->relation->dimensions[d])))
			return RQL_OK; /* nothing in it */
	if (list->count == RQL_BIND_MAX_BOXES)
		return rql_error_set(b->err, RQL_ERROR_UNSUPPORTED, "its condition falls into more than %u boxes",
		                     RQL_BIND_MAX_BOXES);
	list->boxes[list->count++].pass = pass;
	return RQL_OK;
}

static const uint64_t **new_box(struct boxing *b)
{
	return (const uint64_t **)rql_arena_array(b->arena, b->relation->dimension_count + 1, sizeof(uint64_t *));
}

/* a with dimension d narrowed to (invert: kept out of) set. NULL: out of memory. */
static const uint64_t **narrowed(struct boxing *b, const uint64_t *const *a, uint32_t d, const uint64_t *set,
                                 bool invert)
{
	const uint64_t **box = new_box(b);
	const struct rql_dimension *dimension = &b->relation->dimensions[d];
	uint64_t *both = rql_codes_new(b->arena, dimension);
	if (!box || !both)
		return NULL;
	memcpy(box, a, b->relation->dimension_count * sizeof *box);
	for (uint32_t w = 0; w < rql_codes_words(dimension); w++)
		both[w] = (invert ? ~set[w] : set[w]) & (a[d] ? a[d][w] : ~0ull);
	if (dimension->count & 63)
		both[dimension->count >> 6] &= (1ull << (dimension->count & 63)) - 1;
	box[d] = both;
	return box;
}

static rql_status intersect(struct boxing *b, const struct rql_box_list *x, const struct rql_box_list *y,
                            struct rql_box_list *out)
{
	for (uint32_t i = 0; i < x->count; i++) {
		for (uint32_t j = 0; j < y->count; j++) {
			const uint64_t **box = new_box(b);
			if (!box)
				return rql_error_memory(b->err, 0, "a plan");
			memcpy(box, x->boxes[i].pass, b->relation->dimension_count * sizeof *box);
			for (uint32_t d = 0; d < b->relation->dimension_count; d++)
				if (y->boxes[j].pass[d] && !(box = narrowed(b, box, d, y->boxes[j].pass[d], false)))
					return rql_error_memory(b->err, 0, "a plan");
			RQL_TRY(put_box(b, out, box));
		}
	}
	return RQL_OK;
}

/* out += r minus the boxes of l from the first on: r without l[first] falls apart into one box per dimension of it. */
static rql_status subtract(struct boxing *b, const uint64_t *const *r, const struct rql_box_list *l, uint32_t first,
                           struct rql_box_list *out)
{
	if (first == l->count) {
		const uint64_t **copy = new_box(b);
		if (!copy)
			return rql_error_memory(b->err, 0, "a plan");
		memcpy(copy, r, b->relation->dimension_count * sizeof *copy);
		return put_box(b, out, copy);
	}
	const uint64_t *const *cut = l->boxes[first].pass;
	for (uint32_t d = 0; d < b->relation->dimension_count; d++) {
		if (!cut[d])
			continue;
		const uint64_t **outside = narrowed(b, r, d, cut[d], true);
		if (!outside)
			return rql_error_memory(b->err, 0, "a plan");
		if (!set_empty(outside[d], rql_codes_words(&b->relation->dimensions[d])))
			RQL_TRY(subtract(b, outside, l, first + 1, out));
		if (!(r = narrowed(b, r, d, cut[d], false)))
			return rql_error_memory(b->err, 0, "a plan");
		if (set_empty(r[d], rql_codes_words(&b->relation->dimensions[d])))
			return RQL_OK;
	}
	return RQL_OK; /* what is left lies in the cut */
}

static rql_status boxes_of(struct boxing *b, const struct rql_expr *e, bool negated, struct rql_box_list *out);

static rql_status boxes_of_atom(struct boxing *b, const struct rql_expr *e, uint32_t d, bool negated,
                                struct rql_box_list *out)
{
	uint64_t *set;
	const uint64_t **box = new_box(b);
	if (!box)
		return rql_error_memory(b->err, 0, "a plan");
	RQL_TRY(rql_codes_select(b->ctx, b->arena, &b->relation->dimensions[d], e, negated, NULL, &set, b->err));
	box[d] = set;
	return put_box(b, out, box);
}

static rql_status boxes_of_parts(struct boxing *b, const struct rql_expr *e, bool negated, bool all,
                                 struct rql_box_list *out)
{
	struct rql_box_list *sum = RQL_NEW(b->arena, struct rql_box_list), *next = RQL_NEW(b->arena, struct rql_box_list);
	if (!sum || !next)
		return rql_error_memory(b->err, 0, "a plan");
	RQL_TRY(boxes_of(b, e->children[0], negated, sum));
	for (uint32_t i = 1; i < e->child_count; i++) {
		struct rql_box_list *part = RQL_NEW(b->arena, struct rql_box_list);
		if (!part)
			return rql_error_memory(b->err, 0, "a plan");
		RQL_TRY(boxes_of(b, e->children[i], negated, part));
		next->count = 0;
		if (all) {
			RQL_TRY(intersect(b, sum, part, next));
		} else {
			*next = *sum;
			for (uint32_t k = 0; k < part->count; k++)
				RQL_TRY(subtract(b, part->boxes[k].pass, sum, 0, next));
		}
		struct rql_box_list *swap = sum;
		sum = next;
		next = swap;
	}
	*out = *sum;
	return RQL_OK;
}

static rql_status boxes_of(struct boxing *b, const struct rql_expr *e, bool negated, struct rql_box_list *out)
{
	uint32_t dimension = 0, uses = rql_expr_refs(e, &dimension);
	if (uses == 1)
		return boxes_of_atom(b, e, dimension, negated, out);
	if (uses == 0 && e->kind == RQL_EXPR_CONSTANT && e->type.id == RQL_TYPE_BOOLEAN) {
		const uint64_t **box = new_box(b);
		if (!box)
			return rql_error_memory(b->err, 0, "a plan");
		return !e->value.is_null && (e->value.integer != 0) != negated ? put_box(b, out, box) : RQL_OK;
	}
	if (e->kind == RQL_EXPR_NOT)
		return boxes_of(b, e->children[0], !negated, out);
	if (e->kind == RQL_EXPR_AND || e->kind == RQL_EXPR_OR)
		return boxes_of_parts(b, e, negated, (e->kind == RQL_EXPR_AND) != negated, out);
	return rql_expr_refuse(b->err, "", e, uses ? " reads two dimensions at once" : " reads no dimension");
}

rql_status rql_bind_predicates(const struct rql_plan_context *ctx, struct rql_arena *arena,
                               const struct rql_relation *relation, struct rql_expr *const *predicates, uint32_t count,
                               struct rql_box_list *out, struct rql_error *err)
{
	struct boxing b = {ctx, arena, relation, err};
	const uint64_t **everything = new_box(&b);
	struct rql_box_list *sum = RQL_NEW(arena, struct rql_box_list);
	if (!everything || !sum)
		return rql_error_memory(b.err, 0, "a plan");
	sum->count = 1;
	sum->boxes[0].pass = everything;
	for (uint32_t i = 0; i < count; i++) {
		struct rql_box_list *part = RQL_NEW(arena, struct rql_box_list), *next = RQL_NEW(arena, struct rql_box_list);
		if (!part || !next)
			return rql_error_memory(b.err, 0, "a plan");
		RQL_TRY(boxes_of(&b, predicates[i], false, part));
		RQL_TRY(intersect(&b, sum, part, next));
		sum = next;
	}
	*out = *sum;
	return RQL_OK;
}

/* ---- group keys ---- */

static rql_status distinct_keys(struct rql_arena *arena, const struct rql_dimension *d, const struct rql_column *all,
                                struct rql_group_key *key, const struct rql_column **values, struct rql_error *err)
{
	unsigned bytes = rql_type_bytes(all->type);
	uint32_t *codes = RQL_NEW_ARRAY(arena, uint32_t, d->count), *map = RQL_NEW_ARRAY(arena, uint32_t, d->count);
	uint32_t *spare = RQL_NEW_ARRAY(arena, uint32_t, d->count);
	struct rql_column *distinct = RQL_NEW(arena, struct rql_column);
	char *data = rql_arena_array(arena, (size_t)d->count + 1, bytes);
	uint64_t *validity = RQL_NEW_ARRAY(arena, uint64_t, rql_codes_words(d) + 1);
	if (!codes || !map || !spare || !distinct || !data || !validity)
		return rql_error_memory(err, 0, "a plan");
	/* What neighbours in the dictionary become is often equal, as hosts of URLs are: only the first of a run is sorted. */
	uint32_t heads = 0, n = 0;
	for (uint32_t c = 0; c < d->count; c++)
		if (c == 0 || rql_codes_compare(all, c - 1, c) != 0)
			codes[heads++] = c;
	rql_sort_items(codes, spare, heads, rql_codes_compare, all);
	for (uint32_t i = 0; i < heads; i++) {
		if (i == 0 || rql_codes_compare(all, codes[i - 1], codes[i]) != 0) {
			memcpy(data + (size_t)n * bytes, (const char *)all->data + (size_t)codes[i] * bytes, bytes);
			if (rql_column_valid(all, codes[i]))
				rql_bit_set(validity, n);
			n++;
		}
		map[codes[i]] = n - 1;
		for (uint32_t c = codes[i] + 1; c < d->count && rql_codes_compare(all, c - 1, c) == 0; c++)
			map[c] = n - 1;
	}
	*distinct = (struct rql_column){.type = all->type, .data = data, .validity = validity};
	key->key_of_code = map;
	key->key_count = n;
	*values = distinct;
	return RQL_OK;
}

/* Long strings of values that may go before the plan does. */
static rql_status own_strings(struct rql_arena *arena, const struct rql_column *values, uint32_t count,
                              struct rql_error *err)
{
	struct rql_string *strings = values->data;
	for (uint32_t i = 0; i < count && values->type.id == RQL_TYPE_VARCHAR; i++) {
		if (strings[i].length <= RQL_STRING_INLINE || !rql_column_valid(values, i))
			continue;
		strings[i].pointer.data = rql_arena_strndup(arena, strings[i].pointer.data, strings[i].length);
		if (!strings[i].pointer.data)
			return rql_error_memory(err, strings[i].length, "a plan");
	}
	return RQL_OK;
}

/* They may go before the plan does. */
static rql_status copy_keys(struct rql_arena *arena, const struct rql_dimension *d, const struct rql_codes_keys *keys,
                            struct rql_group_key *key, const struct rql_column **values, struct rql_error *err)
{
	uint32_t *map = RQL_NEW_ARRAY(arena, uint32_t, d->count + 1u);
	struct rql_column *own = RQL_NEW(arena, struct rql_column);
	if (!map || !own || !rql_column_copy(arena, &keys->values.values, keys->values.count, own))
		return rql_error_memory(err, 0, "a plan");
	memcpy(map, keys->of_code, d->count * sizeof *map);
	key->key_of_code = map;
	key->key_count = keys->values.count;
	*values = own;
	return RQL_OK;
}

rql_status rql_bind_dimension_group(const struct rql_plan_context *ctx, struct rql_arena *arena,
                                    const struct rql_dimension *d, const struct rql_expr *e, struct rql_group_key *key,
                                    const struct rql_column **values, struct rql_error *err)
{
	if (e->kind == RQL_EXPR_REF) {
		key->key_of_code = NULL;
		key->key_count = d->count;
		*values = &d->values;
		return RQL_OK;
	}
	struct rql_column all;
	const struct rql_codes_keys *keys;
	bool shared;
	RQL_TRY(rql_codes_keys(ctx, arena, d, e, &keys, err));
	if (keys)
		return copy_keys(arena, d, keys, key, values, err);
	RQL_TRY(rql_codes_values(ctx, arena, d, e, &all, &shared, err));
	RQL_TRY(distinct_keys(arena, d, &all, key, values, err));
	return shared ? own_strings(arena, *values, key->key_count, err) : RQL_OK;
}

rql_status rql_bind_group(const struct rql_plan_context *ctx, struct rql_arena *arena,
                          const struct rql_relation *relation, const struct rql_expr *e, struct rql_group_key *key,
                          const struct rql_column **values, struct rql_error *err)
{
	uint32_t dimension = 0, uses = rql_expr_refs(e, &dimension);
	/* A key that the optimiser folded to a constant is an expression of any dimension: one key for all of its codes. */
	if (uses > 1 || !relation->dimension_count)
		return rql_expr_refuse(err, "group key ", e, uses ? " reads two dimensions at once" : " reads no dimension");
	key->source.index = dimension;
	return rql_bind_dimension_group(ctx, arena, &relation->dimensions[dimension], e, key, values, err);
}
