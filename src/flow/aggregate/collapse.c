/* Aggregates of a dimension (COUNT(DISTINCT d), MIN(d), SUM(d), ...): the method has grouped by d as well; groups that
 * differ only in d become one here. So do those of reals that are equal and printed apart, as 0.0 and -0.0 are. The host
 * shows the one that a thread saw first; here 0.0 is shown, and the NaN without a sign, where there is one.
 *
 * Floor for n groups of the answer: their visible keys and the values read once, in order, 4 bytes written each, and an
 * addition to a visible group. Where the answer is sorted by the visible keys these follow each other, else they are
 * looked up: n probes of 8 bytes, in as many places as there are visible groups. */
#include <math.h>
#include <string.h>
#include "flow/rowset.h"

struct collapsing {
	const struct rql_leaf *leaf;
	const struct rql_port *from, *alike;
	struct rql_arena *arena;
	uint32_t keys; /* which of the answer's first ones stay */
	uint64_t groups;
	uint32_t *group; /* [from's groups]: the visible group */
	uint32_t *one;   /* [groups]: a group of the answer */
	struct rql_error *err;
};

static bool same_visible(const struct collapsing *c, uint32_t a, uint32_t b)
{
	for (uint32_t k = 0; k < c->keys; k++)
		if (c->alike->keys[k] ? c->alike->keys[k][a] != c->alike->keys[k][b]
		                      : c->alike->wide_keys[k][a] != c->alike->wide_keys[k][b])
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
	const uint32_t *keys = c->alike->keys[k];
	if (keys)
		for (uint32_t i = 0; i < n; i++)
			hashes[i] = mix(hashes[i] * UINT64_C(0x9e3779b97f4a7c15) + keys[begin + i]);
	else
		for (uint32_t i = 0; i < n; i++)
			hashes[i] = mix(hashes[i] * UINT64_C(0x9e3779b97f4a7c15) + c->alike->wide_keys[k][begin + i]);
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
		return rql_error_memory(c->err, 0, "an answer");
	for (uint64_t begin = 0; begin < n; begin += VECTOR) {
		uint32_t count = n - begin < VECTOR ? (uint32_t)(n - begin) : VECTOR;
		memset(hashes, 0, sizeof hashes);
		for (uint32_t k = 0; k < c->keys; k++)
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
		return rql_error_memory(c->err, 0, "an answer");
	if (c->keys == 0)
		c->groups = 1; /* also over nothing; all numbers are 0 already */
	else if (c->alike->sorted_keys >= c->keys)
		number_sorted(c);
	else
		RQL_TRY(number_hashed(c));
	return RQL_OK;
}

/* Is none of its keys equal to one that is shown instead? */
static bool is_plain(const struct collapsing *c, uint64_t row)
{
	bool plain = true;
	for (uint32_t k = 0; k < c->keys && plain; k++)
		plain = c->from->keys[k] ? c->from->keys[k][row] == c->alike->keys[k][row]
		                         : c->from->wide_keys[k][row] == c->alike->wide_keys[k][row];
	return plain;
}

static void show_plain(struct collapsing *c)
{
	for (uint64_t i = 0; i < c->from->group_count; i++)
		if (is_plain(c, i))
			c->one[c->group[i]] = (uint32_t)i;
}

/* The groups of the answer by visible group, in their order. */
static rql_status list_groups(struct collapsing *c, struct rql_hidden_groups *hidden)
{
	uint64_t n = c->from->group_count, *first = RQL_NEW_ARRAY(c->arena, uint64_t, c->groups + 2);
	uint32_t *row = RQL_NEW_ARRAY(c->arena, uint32_t, n);
	if (!first || !row)
		return rql_error_memory(c->err, 0, "an answer");
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
		return rql_error_memory(c->err, 0, "an answer");
	for (uint64_t i = 0; i < c->from->group_count; i++) {
		uint32_t g = c->group[i];
		if (!rql_bit_valid(from->valid, i))
			continue;
		put_together(c->leaf->aggs[a].kind, from, i, !rql_bit(to->valid, g), to, g);
		rql_bit_set(to->valid, g);
	}
	return RQL_OK;
}

/* ---- keys that are reals ---- */

static bool is_real_key(const struct rql_slot *slot)
{
	return slot->kind == RQL_SLOT_KEY && slot->of_real;
}

/* A group's code, or the one that stands for all that are equal to it. */
static uint64_t same_code(const struct rql_slot *slot, const struct rql_port *answer, uint64_t group, uint64_t *code)
{
	const uint64_t least = (uint64_t)slot->least;
	*code = slot->wide ? answer->wide_keys[slot->key][group] : answer->keys[slot->key][group];
	return *code == rql_slot_null_code(slot) ? *code : rql_real_code_same(least + *code) - least;
}

/* Is some key one of those that another stands for? Seldom: nothing is copied to see that. */
static bool has_parts(const struct rql_leaf *leaf, const struct rql_port *answer)
{
	bool parts = false;
	uint64_t code;
	for (uint32_t i = 0; i < leaf->slot_count; i++)
		for (uint64_t g = 0; is_real_key(&leaf->slots[i]) && g < answer->group_count && !parts; g++)
			parts = same_code(&leaf->slots[i], answer, g, &code) != code;
	return parts;
}

/* The key's codes with one for those that are equal. NULL: out of memory. */
static void *same_codes(const struct rql_slot *slot, struct rql_arena *arena, const struct rql_port *answer)
{
	const uint64_t n = answer->group_count;
	uint64_t code, *wide = slot->wide ? RQL_NEW_ARRAY(arena, uint64_t, n + 1) : NULL;
	uint32_t *narrow = slot->wide ? NULL : RQL_NEW_ARRAY(arena, uint32_t, n + 1);
	if (!wide && !narrow)
		return NULL;
	for (uint64_t g = 0; g < n; g++) {
		const uint64_t same = same_code(slot, answer, g, &code);
		if (wide)
			wide[g] = same;
		else
			narrow[g] = (uint32_t)same;
	}
	return wide ? (void *)wide : (void *)narrow;
}
static rql_status make_alike(const struct rql_leaf *leaf, struct rql_arena *arena, const struct rql_port *answer,
                             struct rql_port *alike, struct rql_error *err)
{
	struct collapsing c = {.from = answer, .err = err};
	const uint32_t keys = leaf->group_count + leaf->hidden_key;
	bool some = false;
	*alike = *answer;
	for (uint32_t i = 0; i < leaf->slot_count; i++) {
		const struct rql_slot *slot = &leaf->slots[i];
		if (!is_real_key(slot))
			continue;
		if (!some) {
			alike->keys = RQL_NEW_ARRAY(arena, uint32_t *, keys);
			alike->wide_keys = RQL_NEW_ARRAY(arena, uint64_t *, keys);
			if (!alike->keys || !alike->wide_keys)
				return rql_error_memory(c.err, 0, "an answer");
			memcpy(alike->keys, answer->keys, keys * sizeof(*alike->keys));
			if (answer->wide_keys)
				memcpy(alike->wide_keys, answer->wide_keys, keys * sizeof(*alike->wide_keys));
			some = true;
		}
		void *same = same_codes(slot, arena, answer);
		if (!same)
			return rql_error_memory(c.err, 0, "an answer");
		if (slot->wide)
			alike->wide_keys[slot->key] = same;
		else
			alike->keys[slot->key] = same;
	}
	alike->sorted_keys = 0; /* equal ones may lie apart */
	return RQL_OK;
}

/* ---- the whole ---- */

static rql_status visible_keys(struct collapsing *c, struct rql_port *visible)
{
	const uint32_t keys = c->keys;
	visible->keys = RQL_NEW_ARRAY(c->arena, uint32_t *, keys);
	visible->wide_keys = c->from->wide_keys ? RQL_NEW_ARRAY(c->arena, uint64_t *, keys) : NULL;
	if (!visible->keys || (c->from->wide_keys && !visible->wide_keys))
		return rql_error_memory(c->err, 0, "an answer");
	for (uint32_t k = 0; k < keys; k++) {
		const uint32_t *narrow = c->from->keys[k];
		if (narrow && !(visible->keys[k] = RQL_NEW_ARRAY(c->arena, uint32_t, c->groups)))
			return rql_error_memory(c->err, 0, "an answer");
		if (!narrow && !(visible->wide_keys[k] = RQL_NEW_ARRAY(c->arena, uint64_t, c->groups)))
			return rql_error_memory(c->err, 0, "an answer");
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

static rql_status collapse(struct collapsing *c, struct rql_port *visible)
{
	RQL_TRY(number_groups(c));
	if (c->alike->keys != c->from->keys)
		show_plain(c);
	*visible = *c->from;
	visible->group_count = c->groups;
	visible->sorted_keys = c->alike->sorted_keys < c->keys ? 0 : c->keys;
	visible->aggs = RQL_NEW_ARRAY(c->arena, struct rql_agg_values, c->leaf->agg_count);
	if (!visible->aggs)
		return rql_error_memory(c->err, 0, "an answer");
	RQL_TRY(visible_keys(c, visible));
	for (uint32_t a = 0; a < c->leaf->agg_count; a++)
		RQL_TRY(collapse_agg(c, a, &visible->aggs[a]));
	return RQL_OK;
}

rql_status rql_answer_put_together(const struct rql_leaf *leaf, struct rql_arena *arena, struct rql_port *answer,
                                   struct rql_port *alike, struct rql_error *err)
{
	const struct rql_port from = *answer;
	struct collapsing c = {.leaf = leaf,
	                       .from = &from,
	                       .alike = alike,
	                       .keys = leaf->group_count + leaf->hidden_key,
	                       .arena = arena,
	                       .err = err};
	*alike = from;
	if (!has_parts(leaf, &from))
		return RQL_OK;
	RQL_TRY(make_alike(leaf, arena, &from, alike, err));
	RQL_TRY(collapse(&c, answer));
	return leaf->hidden_key ? make_alike(leaf, arena, answer, alike, err) : RQL_OK; /* for rql_answer_collapse */
}

rql_status rql_answer_collapse(const struct rql_leaf *leaf, struct rql_arena *arena, const struct rql_port *answer,
                               const struct rql_port *alike, struct rql_port *visible, struct rql_hidden_groups *hidden,
                               struct rql_error *err)
{
	struct collapsing c = {
		.leaf = leaf, .from = answer, .alike = alike, .keys = leaf->group_count, .arena = arena, .err = err};
	RQL_TRY(collapse(&c, visible));
	*hidden = (struct rql_hidden_groups){.group = c.group,
	                                     .codes = answer->keys[leaf->group_count],
	                                     .wide = answer->wide_keys ? answer->wide_keys[leaf->group_count] : NULL};
	return needs_lists(leaf) ? list_groups(&c, hidden) : RQL_OK;
}
