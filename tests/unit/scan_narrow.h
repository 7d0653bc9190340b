/* Requests whose conditions leave few of their groups' keys, one by one: what random ones rarely are. */
#ifndef RQL_TESTS_SCAN_NARROW_H
#define RQL_TESTS_SCAN_NARROW_H

#include "scan_aggregates.h"

static const uint64_t no_codes[CODES / 64 + 1], second_code[CODES / 64 + 1] = {2}, third_code[CODES / 64 + 1] = {4},
																		 all_codes[CODES / 64 + 1] = {UINT64_MAX};

/* RANGE: of values, or of codes. */
#define RANGE(column, from, to) {.test = RQL_TEST_IN_RANGE, .index = (column), .least = (from), .greatest = (to)}
#define RANGE_OR_NULL(column, from, to)                                                                                \
	{.test = RQL_TEST_IN_RANGE, .index = (column), .least = (from), .greatest = (to), .or_null = true}
#define CODES_IN(column, set) {.test = RQL_TEST_IN_CODES, .index = (column), .codes = (set)}
#define CODES_OR_NULL(column, set) {.test = RQL_TEST_IN_CODES, .index = (column), .codes = (set), .or_null = true}
#define NULLS(column, which)                                                                                           \
	{                                                                                                                  \
		.test = (which), .index = (column)                                                                             \
	}
#define HUGE128 ((rql_int128)1 << 126)

static const struct narrow_case {
	const char *what;
	uint32_t key;
	enum { SAME_KEYS, FEWER_KEYS } narrowed;
	uint32_t count;
	struct rql_conjunct conjuncts[2];
} narrow_cases[] = {
	{"its own codes", WORD, FEWER_KEYS, 1, {RANGE(WORD, 10, 20)}},
	{"what it determines", WORD, FEWER_KEYS, 1, {CODES_IN(PART, second_code)}},
	{"both", CODE, FEWER_KEYS, 2, {RANGE(CODE, 3, 30), CODES_IN(KIND, third_code)}},
	{"what determines it", PART, SAME_KEYS, 1, {RANGE(WORD, 10, 20)}},
	{"another column", WORD, SAME_KEYS, 1, {CODES_IN(KIND, second_code)}},
	{"what it determines, or NULL", WORD, FEWER_KEYS, 1, {CODES_OR_NULL(PART, second_code)}},
	{"nothing but NULL", WORD, FEWER_KEYS, 1, {CODES_OR_NULL(PART, no_codes)}},
	{"nothing but its own NULL", WORD, FEWER_KEYS, 1, {CODES_OR_NULL(WORD, no_codes)}},
	{"NULL", WORD, FEWER_KEYS, 1, {NULLS(PART, RQL_TEST_IS_NULL)}},
	{"its own NULL", WORD, FEWER_KEYS, 1, {NULLS(WORD, RQL_TEST_IS_NULL)}},
	{"no NULL, which leaves nearly all", WORD, SAME_KEYS, 1, {NULLS(WORD, RQL_TEST_IS_NOT_NULL)}},
	{"no NULL, of few", KIND, FEWER_KEYS, 1, {NULLS(KIND, RQL_TEST_IS_NOT_NULL)}},
	{"everything", WORD, SAME_KEYS, 1, {CODES_OR_NULL(PART, all_codes)}},
	{"nothing", WORD, FEWER_KEYS, 1, {CODES_IN(PART, no_codes)}},
	{"an empty range", WORD, FEWER_KEYS, 1, {RANGE(WORD, 5, 4)}},
	{"a range behind all", WORD, FEWER_KEYS, 1, {RANGE(WORD, HUGE128 - 1, HUGE128)}},
	{"what excludes each other", WORD, FEWER_KEYS, 2, {CODES_IN(PART, second_code), CODES_IN(PART, third_code)}},
	{"a range", SORTED, FEWER_KEYS, 1, {RANGE(SORTED, 9100, 9200)}},
	{"two ranges", SORTED, FEWER_KEYS, 2, {RANGE(SORTED, -HUGE128, 9200), RANGE(SORTED, 9190, HUGE128)}},
	{"a range or NULL", SORTED, SAME_KEYS, 1, {RANGE_OR_NULL(SORTED, 9100, 9200)}},
	{"a range and a range or NULL",
	 SORTED,
	 FEWER_KEYS,
	 2,
	 {RANGE_OR_NULL(SORTED, 9100, 9200), RANGE(SORTED, 9150, 9500)}},
	{"the last value", SORTED, FEWER_KEYS, 1, {RANGE(SORTED, 9000 + (20000 - 1) / 7, HUGE128)}},
	{"no value", SORTED, SAME_KEYS, 1, {RANGE(SORTED, HUGE128, -HUGE128)}},
	{"no value, two ranges", SORTED, SAME_KEYS, 2, {RANGE(SORTED, 9000, 9001), RANGE(SORTED, 9003, 9004)}},
	{"all values", SORTED, SAME_KEYS, 1, {NULLS(SORTED, RQL_TEST_IS_NOT_NULL)}},
	{"NULL of numbers", SORTED, SAME_KEYS, 1, {NULLS(SORTED, RQL_TEST_IS_NULL)}},
	{"negative numbers", SMALL, FEWER_KEYS, 1, {RANGE(SMALL, -8, -3)}},
	{"one number", SMALL, FEWER_KEYS, 1, {RANGE(SMALL, -10, -10)}},
	{"a truth", FLAG, FEWER_KEYS, 1, {RANGE(FLAG, 1, 1)}},
};
#define NARROW_CASES (sizeof(narrow_cases) / sizeof(*narrow_cases))

/* A table with NULLs, a second segment with words of its own, and no row that does not fit. */
static void narrow_table(struct table *t)
{
	random_state = 3;
	table_make(t, 20000);
	while (t->dirt || t->words == CODES || t->blocks_differ || !t->nulls_too || t->snapshot->segment_count < 2 ||
	       !t->snapshot->columns[WORD].dimension->has_null || t->snapshot->columns[WORD].nulls > 10000 ||
	       t->snapshot->dependency_count < 2) {
		table_free(t);
		table_make(t, 20000);
	}
}

/* The case's request, by its key and another; forms: its codes, or a map of them; NULL's key behind the values', before. */
static void narrow_query(struct query *q, const struct table *t, const struct narrow_case *c, unsigned form)
{
	bool constant = form / 2 % 2 || c->key == FLAG;
	*q = (struct query){.arena = need(rql_arena_new())};
	struct rql_group_key *keys = q->groups;
	uint32_t own = form / 4 % 2, other = !own; /* which is the first of the two */
	q->request = (struct rql_request){.snapshot = t->snapshot,
	                                  .conjunct_count = c->count,
	                                  .conjuncts = q->conjuncts,
	                                  .group_count = 2,
	                                  .groups = keys,
	                                  .agg_count = 2,
	                                  .aggs = q->aggs};
	memcpy(q->conjuncts, c->conjuncts, sizeof(c->conjuncts));
	keys[own] = (struct rql_group_key){.source = {.index = c->key}, .null_key = RQL_NONE};
	keys[other] = (struct rql_group_key){
		.source = {.index = constant ? CONSTANT : FLAG}, .least = constant ? 7 : 0, .key_count = 3, .null_key = 2};
	if (kinds[c->key].coding == RQL_STORE_CODES) {
		uint32_t codes = dictionary_of(t, c->key), *map = need(RQL_NEW_ARRAY(q->arena, uint32_t, codes));
		keys[own].key_count = codes;
		for (uint32_t i = 0; i < codes; i++)
			map[i] = codes - 1 - i;
		keys[own].key_of_code = form % 2 ? map : NULL;
	} else if (form % 2 && c->key != SMALL) {
		keys[own].least = (c->key == FLAG ? 0 : 9000) - 1;
		keys[own].null_key = 0;
		keys[own].key_count = c->key == FLAG ? 3 : (20000 - 1) / 7 + 2;
	} else {
		keys[own].least = c->key == SMALL ? -10 : c->key == FLAG ? 0 : 9000;
		keys[own].key_count = c->key == SMALL ? 60 : c->key == FLAG ? 3 : (20000 - 1) / 7 + 2;
		keys[own].null_key = c->key == SMALL ? RQL_NONE : keys[own].key_count - 1;
	}
	q->aggs[0] = (struct rql_agg){.kind = RQL_AGG_COUNT_STAR};
	q->aggs[1] = (struct rql_agg){.kind = RQL_AGG_SUM, .source = {.index = MIDDLE}};
}
#define NARROW_FORMS 8u

#endif
