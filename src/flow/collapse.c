/* Aggregates of a dimension (COUNT(DISTINCT d), MIN(d), SUM(d), ...): the method has grouped by d as well; groups that
 * differ only in d become one here.
 *
 * Floor for n groups of the answer: their visible keys and the values read once, in order, 4 bytes written each, and an
 * addition to a visible group. Where the answer is sorted by the visible keys these follow each other, else they are
 * looked up: n probes of 8 bytes, in as many places as there are visible groups. */
#include <math.h>
#include <string.h>
#include "flow/rowset.h"

struct collapsing {
	const struct rql_leaf *leaf;
	const struct rql_port *from;
	struct rql_arena *arena;
	uint64_t groups;
	uint32_t *group; /* [from's groups]: the visible group */
	uint32_t *one;   /* [groups]: a group of the answer */
	struct rql_error *err;
};

static rql_status out_of_memory(struct collapsing *c)
{
	return rql_error_memory(c->err, c->from->group_count * sizeof(rql_int128), "an answer");
}

static bool same_visible(const struct collapsing *c, uint32_t a, uint32_t b)
{
	for (uint32_t k = 0; k < c->leaf->group_count; k++)
		if (c->from->keys[k] ? c->from->keys[k][a] != c->from->keys[k][b]
		                     : c->from->wide_keys[k][a] != c->from->wide_keys[k][b])
			return false;
	return true;
}

/* ---- numbering ---- */

static void number_sorted(struct collapsing *c)
{
	for (uint64_t i = 0; i < c->from->group_count; i++) {
		if (i == 0 || !same_visible(c, (uint32_t)i - 1, (uint32_t)i))
			c->one[c->groups++] = (uint32_t)i;
		c->group[i] = (uint32_t)c->groups - 1;
	}
}

static uint64_t mix(uint64_t hash)
{
	hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return hash ^ hash >> 32;
}

static void add_hashes(const struct collapsing *c, uint32_t k, uint64_t begin, uint32_t n, uint64_t *hashes)
{
	const uint32_t *keys = c->from->keys[k];
	if (keys)
		for (uint32_t i = 0; i < n; i++)
			hashes[i] = mix(hashes[i] * UINT64_C(0x9e3779b97f4a7c15) + keys[begin + i]);
	else
		for (uint32_t i = 0; i < n; i++)
			hashes[i] = mix(hashes[i] * UINT64_C(0x9e3779b97f4a7c15) + c->from->wide_keys[k][begin + i]);
}

#define VECTOR 1024u

/* place: visible group + 1 below the hash's upper half; 0: none. As many places as twice the answer's groups: those that
 * are not needed are never touched. */
static rql_status number_hashed(struct collapsing *c)
{
	uint64_t n = c->from->group_count, places = 16, hashes[VECTOR];
	while (places < 2 * n)
		places *= 2;
	uint64_t *place = RQL_NEW_ARRAY(c->arena, uint64_t, places);
	if (!place)
		return out_of_memory(c);
	for (uint64_t begin = 0; begin < n; begin += VECTOR) {
		uint32_t count = n - begin < VECTOR ? (uint32_t)(n - begin) : VECTOR;
		memset(hashes, 0, sizeof hashes);
		for (uint32_t k = 0; k < c->leaf->group_count; k++)
			add_hashes(c, k, begin, count, hashes);
		for (uint32_t i = 0; i < count; i++)
			__builtin_prefetch(&place[hashes[i] & (places - 1)], 1);
		for (uint32_t i = 0; i < count; i++) {
			uint64_t at = hashes[i] & (places - 1), tag = hashes[i] & ~(uint64_t)UINT32_MAX;
			uint32_t row = (uint32_t)(begin + i);
			while (place[at] && ((place[at] ^ tag) >> 32 || !same_visible(c, c->one[(uint32_t)place[at] - 1], row)))
				at = (at + 1) & (places - 1);
			if (!place[at]) {
				c->one[c->groups++] = row;
				place[at] = tag | c->groups;
			}
			c->group[row] = (uint32_t)place[at] - 1;
		}
	}
	return RQL_OK;
}

static rql_status number_groups(struct collapsing *c)
{
	uint64_t n = c->from->group_count;
	c->group = RQL_NEW_ARRAY(c->arena, uint32_t, n);
	c->one = RQL_NEW_ARRAY(c->arena, uint32_t, n + 1);
	if (!c->group || !c->one)
		return out_of_memory(c);
	if (c->leaf->group_count == 0)
		c->groups = 1; /* also over nothing; all numbers are 0 already */
	else if (c->from->sorted_keys >= c->leaf->group_count)
		number_sorted(c);
	else
		RQL_TRY(number_hashed(c));
	return RQL_OK;
}

/* The groups of the answer by visible group, in their order. */
static rql_status list_groups(struct collapsing *c, struct rql_hidden_groups *hidden)
{
	uint64_t n = c->from->group_count, *first = RQL_NEW_ARRAY(c->arena, uint64_t, c->groups + 2);
	uint32_t *row = RQL_NEW_ARRAY(c->arena, uint32_t, n);
	if (!first || !row)
		return out_of_memory(c);
	for (uint64_t i = 0; i < n; i++)
		first[c->group[i] + 2]++;
	for (uint64_t g = 2; g < c->groups + 2; g++)
		first[g] += first[g - 1];
	for (uint64_t i = 0; i < n; i++)
		row[first[c->group[i] + 1]++] = (uint32_t)i;
	hidden->first = first;
	hidden->row = row;
	return RQL_OK;
}

/* ---- aggregates ---- */

static bool is_valid(const struct rql_agg_values *v, uint64_t row)
{
	return !v->valid || (v->valid[row >> 6] >> (row & 63) & 1);
}

static bool real_before(double a, double b) /* DuckDB's order: NaN is the greatest */
{
	return isnan(a) ? false : isnan(b) || a < b;
}

static void put_together(enum rql_agg_kind kind, const struct rql_agg_values *from, uint64_t row, bool first,
                         struct rql_agg_values *to, uint64_t g)
{
	bool least = kind == RQL_AGG_MIN, extreme = least || kind == RQL_AGG_MAX;
	if (from->real) {
		double v = from->real[row];
		bool take = first || (extreme && (least ? real_before(v, to->real[g]) : real_before(to->real[g], v)));
		to->real[g] = take ? v : extreme ? to->real[g] : to->real[g] + v;
	} else {
		rql_int128 v = from->integer[row];
		bool take = first || (extreme && (least ? v < to->integer[g] : v > to->integer[g]));
		to->integer[g] = take ? v : extreme ? to->integer[g] : to->integer[g] + v;
	}
}

static rql_status collapse_agg(struct collapsing *c, uint32_t a, struct rql_agg_values *to)
{
	const struct rql_agg_values *from = &c->from->aggs[a];
	*to = (struct rql_agg_values){.kind = from->kind, .valid = RQL_NEW_ARRAY(c->arena, uint64_t, c->groups / 64 + 1)};
	if (from->real)
		to->real = RQL_NEW_ARRAY(c->arena, double, c->groups);
	else
		to->integer = RQL_NEW_ARRAY(c->arena, rql_int128, c->groups);
	if (!to->valid || !(from->real ? (void *)to->real : (void *)to->integer))
		return out_of_memory(c);
	for (uint64_t i = 0; i < c->from->group_count; i++) {
		uint32_t g = c->group[i];
		if (!is_valid(from, i))
			continue;
		put_together(c->leaf->aggs[a].kind, from, i, !(to->valid[g >> 6] >> (g & 63) & 1), to, g);
		to->valid[g >> 6] |= 1ull << (g & 63);
	}
	return RQL_OK;
}

/* ---- the whole ---- */

static rql_status visible_keys(struct collapsing *c, struct rql_port *visible)
{
	uint32_t keys = c->leaf->group_count;
	visible->keys = RQL_NEW_ARRAY(c->arena, uint32_t *, keys);
	visible->wide_keys = c->from->wide_keys ? RQL_NEW_ARRAY(c->arena, uint64_t *, keys) : NULL;
	if (!visible->keys || (c->from->wide_keys && !visible->wide_keys))
		return out_of_memory(c);
	for (uint32_t k = 0; k < keys; k++) {
		const uint32_t *narrow = c->from->keys[k];
		if (narrow && !(visible->keys[k] = RQL_NEW_ARRAY(c->arena, uint32_t, c->groups)))
			return out_of_memory(c);
		if (!narrow && !(visible->wide_keys[k] = RQL_NEW_ARRAY(c->arena, uint64_t, c->groups)))
			return out_of_memory(c);
		for (uint64_t g = 0; g < c->groups; g++)
			if (narrow)
				visible->keys[k][g] = narrow[c->one[g]];
			else
				visible->wide_keys[k][g] = c->from->wide_keys[k][c->one[g]];
	}
	return RQL_OK;
}

/* COUNT(DISTINCT) of the codes themselves counts groups; the others look at each group's values. */
static bool needs_lists(const struct rql_leaf *leaf)
{
	for (uint32_t i = 0; i < leaf->slot_count; i++)
		if (rql_slot_is_of_key(leaf->slots[i].kind) &&
		    (leaf->slots[i].kind != RQL_SLOT_KEY_DISTINCT || leaf->slots[i].key_of_code))
			return true;
	return false;
}

rql_status rql_answer_collapse(const struct rql_leaf *leaf, struct rql_arena *arena, const struct rql_port *answer,
                               struct rql_port *visible, struct rql_hidden_groups *hidden, struct rql_error *err)
{
	struct collapsing c = {.leaf = leaf, .from = answer, .arena = arena, .err = err};
	RQL_TRY(number_groups(&c));
	*hidden = (struct rql_hidden_groups){.group = c.group,
	                                     .codes = answer->keys[leaf->group_count],
	                                     .wide = answer->wide_keys ? answer->wide_keys[leaf->group_count] : NULL};
	if (needs_lists(leaf))
		RQL_TRY(list_groups(&c, hidden));
	*visible = *answer;
	visible->group_count = c.groups;
	visible->sorted_keys = answer->sorted_keys < leaf->group_count ? 0 : leaf->group_count;
	visible->aggs = RQL_NEW_ARRAY(arena, struct rql_agg_values, leaf->agg_count);
	if (!visible->aggs)
		return out_of_memory(&c);
	RQL_TRY(visible_keys(&c, visible));
	for (uint32_t a = 0; a < leaf->agg_count; a++)
		RQL_TRY(collapse_agg(&c, a, &visible->aggs[a]));
	return RQL_OK;
}
