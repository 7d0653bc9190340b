/* Random requests of groups and aggregates over scan_world.h's tables. */
#ifndef RQL_TESTS_SCAN_AGGREGATES_H
#define RQL_TESTS_SCAN_AGGREGATES_H

#include "scan_world.h"
#include "method/scan/scan_query.h"

/* A column that some condition is about, or that determines such a one; else `otherwise`. */
static uint32_t conditioned(const struct query *q, uint32_t otherwise)
{
	for (uint32_t c = 0; c < q->request.conjunct_count; c++) {
		uint32_t index = q->conjuncts[c].index;
		if (q->conjuncts[c].test == RQL_TEST_IS_TRUE || roll(2))
			continue;
		if (index == KIND || index == PART)
			return roll(4) ? (index == KIND ? CODE : WORD) : index;
		if (index == CODE || index == WORD || index == DAY || index == SMALL || index == FLAG || index == SORTED)
			return index;
	}
	return otherwise;
}

/* Of integers: with some room beside the values, NULL's key (if any) before or behind them. */
static void make_integer_key(struct rql_group_key *g, int64_t least, uint32_t count, bool nulls)
{
	uint32_t before = (uint32_t)roll(3), behind = (uint32_t)roll(3);
	g->least = least - before;
	g->key_count = before + count + behind;
	if (!nulls)
		return;
	if (before && roll(2)) {
		g->null_key = 0;
	} else {
		g->null_key = g->key_count + (uint32_t)roll(2);
		g->key_count = g->null_key + 1;
	}
}

static void make_group(struct query *q, const struct table *t)
{
	struct rql_group_key *g = &q->groups[q->request.group_count++];
	*g = (struct rql_group_key){.null_key = RQL_NONE};
	uint32_t codes = 0, j = (uint32_t)roll(MAX);
	if (roll(5) == 0 && j < q->request.lookup_count &&
	    (q->joins[j].kind == RQL_LOOKUP_INNER || q->joins[j].kind == RQL_LOOKUP_LEFT)) {
		g->source = (struct rql_source){.kind = RQL_SOURCE_LOOKUP, .index = j};
		codes = rql_lookup_payloads(q->maps[j], q->joins[j].absent);
		g->key_count = 12;
		g->null_key = 11;
	} else {
		g->source.index = conditioned(q, (const uint32_t[]){CODE, WORD, DAY, SMALL, FLAG, SORTED, KIND, PART}[roll(8)]);
		if (g->source.index == SMALL) {
			make_integer_key(g, -10, 60, false);
			return;
		}
		if (g->source.index == FLAG || g->source.index == SORTED) {
			bool flag = g->source.index == FLAG;
			make_integer_key(g, flag ? 0 : 9000, flag ? 2 : t->rows / 7 + 1, true);
			return;
		}
		codes = dictionary_of(t, g->source.index);
		g->key_count = roll(2) ? 9 : 1 + codes;
		if (roll(3) == 0) { /* the codes themselves */
			g->key_count = codes + (codes == 0 || roll(2));
			return;
		}
	}
	uint32_t *map = need(RQL_NEW_ARRAY(q->arena, uint32_t, codes));
	for (uint32_t c = 0; c < codes; c++)
		map[c] = g->key_count > codes ? c : (uint32_t)roll(g->key_count);
	g->key_of_code = map;
}

/* Whether conditions leave fewer groups than the request has room for. */
static inline bool is_narrowed(const struct rql_request *r, const struct rql_scan *scan)
{
	uint64_t groups = 1;
	for (uint32_t g = 0; g < r->group_count; g++)
		if (__builtin_mul_overflow(groups, r->groups[g].key_count, &groups))
			groups = UINT64_MAX;
	assert_true(scan->layout.group_count <= groups && scan->layout.group_count > 0);
	return scan->layout.group_count < groups;
}

static void make_agg(struct query *q)
{
	struct rql_agg *a = &q->aggs[q->request.agg_count++];
	*a = (struct rql_agg){.kind = (enum rql_agg_kind)roll(5)};
	if (roll(5) == 0 && q->request.program_count < MAX) {
		make_program(q, LESS);
		a->filter = q->request.program_count; /* the last one, plus 1 */
	}
	if (roll(3) == 0 && q->request.program_count < MAX) {
		make_program(q, roll(2) ? PLUS : CASES_OF);
		a->source = (struct rql_source){.kind = RQL_SOURCE_PROGRAM, .index = q->request.program_count - 1};
	} else if (roll(4) == 0) {
		a->source = random_input(q);
	} else {
		a->source.index = (const uint32_t[]){
			SMALL, MIDDLE, BIG, WIDE, REAL, SORTED, LONG, LONG, WORD}[roll(a->kind == RQL_AGG_SUM ? 8 : 9)];
	}
}

static void query_make(struct query *q, const struct table *t)
{
	*q = (struct query){.arena = need(rql_arena_new())};
	q->request = (struct rql_request){.snapshot = t->snapshot,
	                                  .programs = q->programs,
	                                  .conjuncts = q->conjuncts,
	                                  .lookups = q->joins,
	                                  .groups = q->groups,
	                                  .aggs = q->aggs};
	for (uint64_t i = roll(3); i-- > 0;)
		make_join(q, t);
	for (uint64_t i = roll(4); i-- > 0;)
		make_conjunct(q, t);
	uint64_t groups = 1;
	for (uint64_t i = roll(4); i-- > 0;) {
		make_group(q, t);
		groups *= q->groups[q->request.group_count - 1].key_count;
		if (groups > 100000) { /* the oracle has a row for each */
			q->request.group_count--;
			break;
		}
	}
	for (uint64_t i = 1 + roll(4); i-- > 0;)
		make_agg(q);
}

#endif
