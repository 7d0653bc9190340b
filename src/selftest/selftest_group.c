/* Group-by accumulation against a loop over 128-bit sums. */
#include "selftest/selftest_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "column/value.h"
#include "primitive/primitive.h"

struct group_check {
	bool hashed;
	uint64_t rows, groups, places; /* hashed: groups are keys that occur */
	bool big;                      /* values whose sums leave 64 bits */
};

static const struct rql_slot slots[RQL_GROUP_SLOTS_MAX] = {
	{.kind = RQL_SLOT_COUNT},
	{.kind = RQL_SLOT_SUM64, .type = RQL_WORD_I64},
	{.kind = RQL_SLOT_SUM128, .type = RQL_WORD_I64},
	{.kind = RQL_SLOT_SUM128, .type = RQL_WORD_U64},
	{.kind = RQL_SLOT_MIN, .type = RQL_WORD_I64},
	{.kind = RQL_SLOT_MAX, .type = RQL_WORD_F64},
};
#define STATE_WORDS 8u /* of these slots */

struct group_arrays {
	uint32_t *ids;
	uint64_t *keys, *values; /* per row */
	uint64_t *state, *places;
	uint64_t *wanted; /* [group][STATE_WORDS] */
};

/* Keys are neither dense nor small. */
static uint64_t key_of_group(uint64_t group)
{
	return group * UINT64_C(0x9e3779b97f4a7c15) + 12345;
}

static double real_of(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, 8);
	return value;
}

static void draw(struct rql_selftest *t, const struct group_check *k, struct group_arrays *a)
{
	for (uint64_t row = 0; row < k->rows; row++) {
		/* One row in 50 belongs to no group. */
		bool none = rql_selftest_below(t, 50) == 0;
		uint64_t group = rql_selftest_below(t, k->groups);
		uint64_t value = rql_selftest_random(t);
		a->values[row] = k->big ? value | UINT64_C(1) << 62 : (uint64_t)((int64_t)(value % 2001) - 1000);
		a->ids[row] = none ? UINT32_MAX - (uint32_t)(value % 3) : (uint32_t)group;
		a->keys[row] = none ? RQL_GROUP_NONE : key_of_group(group);
		if (none)
			continue;
		uint64_t *w = a->wanted + group * STATE_WORDS, v = a->values[row];
		rql_uint128 i = (rql_uint128)w[3] << 64 | w[2], u = (rql_uint128)w[5] << 64 | w[4];
		i += (rql_uint128)(rql_int128)(int64_t)v;
		u += v;
		w[0]++;
		w[1] += v;
		w[2] = (uint64_t)i;
		w[3] = (uint64_t)(i >> 64);
		w[4] = (uint64_t)u;
		w[5] = (uint64_t)(u >> 64);
		w[6] = rql_key_of_i64((int64_t)v) < w[6] ? rql_key_of_i64((int64_t)v) : w[6];
		w[7] = rql_key_of_f64(real_of(v)) > w[7] ? rql_key_of_f64(real_of(v)) : w[7];
	}
}

static rql_status gpu_group(struct rql_selftest *t, struct rql_group *g, struct group_arrays *a, bool *overflow,
                            struct rql_error *err)
{
	struct rql_commands *c;
	struct rql_buffer *values;
	uint32_t mark = 0;
	RQL_TRY(rql_selftest_buffer(t, g->rows * (g->hashed ? 8 : 4), g->hashed ? (void *)a->keys : (void *)a->ids,
	                            "group ids", &g->ids.buffer, err));
	RQL_TRY(rql_selftest_buffer(t, g->rows * 8, a->values, "group values", &values, err));
	for (uint32_t s = 0; s < g->slot_count; s++)
		g->slots[s].values.buffer = g->slots[s].kind == RQL_SLOT_COUNT ? NULL : values;
	RQL_TRY(rql_selftest_buffer(t, rql_group_state_bytes(g), NULL, "group state", &g->state.buffer, err));
	if (g->hashed) {
		RQL_TRY(rql_selftest_buffer(t, g->places * 8, NULL, "hash places", &g->keys.buffer, err));
		RQL_TRY(rql_selftest_buffer(t, 4, NULL, "hash overflow", &g->overflow.buffer, err));
	}
	RQL_TRY(rql_selftest_record(t, &c, err));
	RQL_TRY(rql_record_group_clear(c, g, err));
	RQL_TRY(rql_record_group(c, g, err));
	RQL_TRY(rql_selftest_execute(t, err));
	RQL_TRY(rql_buffer_download(g->state.buffer, 0, a->state, rql_group_state_bytes(g), err));
	if (g->hashed) {
		RQL_TRY(rql_buffer_download(g->keys.buffer, 0, a->places, g->places * 8, err));
		RQL_TRY(rql_buffer_download(g->overflow.buffer, 0, &mark, 4, err));
	}
	*overflow = mark != 0;
	rql_selftest_drop(t);
	return RQL_OK;
}

static rql_status run_group(struct rql_selftest *t, const struct group_check *k, struct group_arrays *a, bool *overflow,
                            struct rql_error *err)
{
	struct rql_group g = {.hashed = k->hashed, .rows = k->rows, .places = k->places, .slot_count = RQL_GROUP_SLOTS_MAX};
	memcpy(g.slots, slots, sizeof(slots));
	*overflow = false;
	if (!rql_selftest_on_cpu(t))
		return gpu_group(t, &g, a, overflow, err);
	for (uint32_t s = 0; s < g.slot_count; s++)
		g.slots[s].cpu_values = a->values;
	rql_cpu_group_clear(&g, a->state, a->places);
	return rql_cpu_group(t->cpu, &g, k->hashed ? (void *)a->keys : (void *)a->ids, a->state, a->places, overflow, err);
}

/* The place of a group, which must exist exactly when the group has rows; UINT64_MAX: it is rightly missing. */
static rql_status place_of(const struct group_check *k, const struct group_arrays *a, uint64_t group, uint64_t *place,
                           struct rql_error *err)
{
	*place = group;
	if (!k->hashed)
		return RQL_OK;
	uint64_t at = rql_group_hash(key_of_group(group)) & (k->places - 1);
	for (uint64_t probe = 0; probe < k->places; probe++, at = (at + 1) & (k->places - 1)) {
		*place = at;
		if (a->places[at] == key_of_group(group) || a->places[at] == RQL_GROUP_NONE)
			break;
	}
	bool found = a->places[*place] == key_of_group(group), wanted = a->wanted[group * STATE_WORDS] != 0;
	if (found != wanted)
		return rql_selftest_wrong(err, "key %llu is%s in the table", (unsigned long long)key_of_group(group),
		                          found ? "" : " not");
	if (!found)
		*place = UINT64_MAX;
	return RQL_OK;
}

static rql_status compare_group(struct rql_selftest *t, const struct group_check *k, struct group_arrays *a,
                                struct rql_error *err)
{
	char what[120];
	bool overflow;
	snprintf(what, sizeof(what), "%s group-by of %llu rows to %llu groups", k->hashed ? "hashed" : "dense",
	         (unsigned long long)k->rows, (unsigned long long)k->groups);
	for (uint64_t group = 0; group < k->groups; group++)
		a->wanted[group * STATE_WORDS + 6] = UINT64_MAX;
	draw(t, k, a);
	RQL_TRY(run_group(t, k, a, &overflow, err));
	if (overflow)
		return rql_selftest_wrong(err, "%s: it overflowed %llu places", what, (unsigned long long)k->places);
	uint64_t used = 0, wanted_used = 0;
	for (uint64_t group = 0; group < k->groups; group++) {
		uint64_t place, got[STATE_WORDS];
		RQL_TRY(place_of(k, a, group, &place, err));
		wanted_used += place != UINT64_MAX;
		if (place == UINT64_MAX)
			continue;
		for (uint32_t w = 0; w < STATE_WORDS; w++)
			got[w] = a->state[w * k->places + place];
		RQL_TRY(rql_selftest_same(got, a->wanted + group * STATE_WORDS, STATE_WORDS, 8, what, err));
	}
	for (uint64_t at = 0; k->hashed && at < k->places; at++)
		used += a->places[at] != RQL_GROUP_NONE;
	if (k->hashed && used != wanted_used)
		return rql_selftest_wrong(err, "%s: %llu places are used instead of %llu", what, (unsigned long long)used,
		                          (unsigned long long)wanted_used);
	return RQL_OK;
}

static rql_status make_arrays(struct rql_selftest *t, const struct group_check *k, struct group_arrays *a,
                              struct rql_error *err)
{
	RQL_TRY(rql_selftest_alloc(t, k->rows, sizeof(*a->ids), &a->ids, err));
	RQL_TRY(rql_selftest_alloc(t, k->rows, sizeof(*a->keys), &a->keys, err));
	RQL_TRY(rql_selftest_alloc(t, k->rows, sizeof(*a->values), &a->values, err));
	RQL_TRY(rql_selftest_alloc(t, k->places * STATE_WORDS, sizeof(*a->state), &a->state, err));
	RQL_TRY(rql_selftest_alloc(t, k->places, sizeof(*a->places), &a->places, err));
	return rql_selftest_alloc(t, k->groups * STATE_WORDS, sizeof(*a->wanted), &a->wanted, err);
}

static rql_status check_group(struct rql_selftest *t, const struct group_check *k, struct rql_error *err)
{
	struct group_arrays a;
	RQL_TRY(make_arrays(t, k, &a, err));
	return compare_group(t, k, &a, err);
}

/* Few groups (in shared memory, with many copies and with one), and too many for it. */
static rql_status test_dense(struct rql_selftest *t, struct rql_error *err)
{
	static const uint64_t groups[] = {1, 2, 7, 32, 300, 455, 456, 5000, 100000};
	static const uint64_t rows[] = {0, 1, 255, 257, 5000, 100003};
	for (uint32_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
		for (uint32_t r = g % 2; r < sizeof(rows) / sizeof(rows[0]); r += 2) {
			struct group_check k = {false, rows[r], groups[g], groups[g], (g + r / 2) % 2};
			RQL_TRY(check_group(t, &k, err));
		}
		struct group_check k = {false, t->thorough ? 10000019 : 300007, groups[g], groups[g], g % 2};
		RQL_TRY(check_group(t, &k, err));
	}
	return RQL_OK;
}

static rql_status test_hashed(struct rql_selftest *t, struct rql_error *err)
{
	static const uint64_t groups[] = {1, 3, 64, 1000, 40000};
	static const uint64_t rows[] = {0, 1, 257, 200003};
	for (uint32_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
		for (uint32_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
			struct group_check k = {true, rows[r], groups[g], 1, (g + r) % 2};
			while (k.places < groups[g] * 2)
				k.places *= 2;
			RQL_TRY(check_group(t, &k, err));
		}
	}
	struct group_check full = {true, 5000, 64, 64, true}; /* every place is needed */
	return check_group(t, &full, err);
}

/* A table that is too small says so, and ends. */
static rql_status test_overflow(struct rql_selftest *t, struct rql_error *err)
{
	static const uint64_t places[] = {1, 64, 4096};
	for (uint32_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct group_check k = {true, places[i] * 20 + 1000, places[i] * 2, places[i], false};
		struct group_arrays a;
		bool overflow;
		RQL_TRY(make_arrays(t, &k, &a, err));
		draw(t, &k, &a);
		RQL_TRY(run_group(t, &k, &a, &overflow, err));
		if (!overflow)
			return rql_selftest_wrong(err, "%llu keys in %llu places did not overflow", (unsigned long long)k.groups,
			                          (unsigned long long)k.places);
	}
	return RQL_OK;
}

#define ANYWHERE (RQL_SELFTEST_UNIT(RQL_UNIT_CPU) | RQL_SELFTEST_UNIT(RQL_UNIT_COMPUTE))
const struct rql_selftest_case rql_selftest_group[] = {
	{"group.dense", ANYWHERE, test_dense},
	{"group.hashed", ANYWHERE, test_hashed},
	{"group.overflow", ANYWHERE, test_overflow},
	{0},
};
