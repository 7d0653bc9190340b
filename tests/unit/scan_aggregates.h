/* Random requests of groups and aggregates over scan_world.h's tables. */
#ifndef RQL_TESTS_SCAN_AGGREGATES_H
#define RQL_TESTS_SCAN_AGGREGATES_H

#include "scan_world.h"

static void make_group(struct query *q, const struct table *t)
{
	struct rql_scan_group_key *g = &q->groups[q->request.group_count++];
	*g = (struct rql_scan_group_key){.null_key = RQL_SCAN_NONE};
	unsigned kind = (unsigned)roll(5);
	uint32_t codes = 0, j = (uint32_t)roll(MAX);
	if (kind == 0 && j < q->request.join_count &&
	    (q->joins[j].kind == RQL_SCAN_INNER || q->joins[j].kind == RQL_SCAN_LEFT)) {
		g->source = (struct rql_scan_source){.kind = RQL_SCAN_JOIN, .index = j};
		codes = rql_scan_join_payloads(q->maps[j], q->joins[j].absent);
		g->key_count = 12;
		g->null_key = 11;
	} else if (kind == 1 || kind == 0) {
		g->source.index = (const uint32_t[]){CODE, WORD, DAY}[roll(3)];
		codes = dictionary_of(t, g->source.index);
		g->key_count = roll(2) ? 9 : 1 + codes;
	} else if (kind == 2) {
		g->source.index = SMALL;
		g->least = -10;
		g->key_count = 60;
		return;
	} else if (kind == 3) {
		g->source.index = FLAG;
		g->key_count = 3;
		g->null_key = 2;
		return;
	} else {
		g->source.index = SORTED;
		g->least = 9000;
		g->key_count = t->rows / 7 + 2;
		g->null_key = t->rows / 7 + 1;
		return;
	}
	uint32_t *map = need(RQL_NEW_ARRAY(q->arena, uint32_t, codes));
	for (uint32_t c = 0; c < codes; c++)
		map[c] = g->key_count > codes ? c : (uint32_t)roll(g->key_count);
	g->key_of_code = map;
}

static void make_agg(struct query *q)
{
	struct rql_scan_agg *a = &q->aggs[q->request.agg_count++];
	*a = (struct rql_scan_agg){.kind = (enum rql_agg_kind)roll(5), .filter = RQL_SCAN_NONE};
	if (roll(5) == 0 && q->request.program_count < MAX) {
		make_program(q, LESS);
		a->filter = q->request.program_count - 1;
	}
	if (roll(3) == 0 && q->request.program_count < MAX) {
		make_program(q, roll(2) ? PLUS : CASES_OF);
		a->source = (struct rql_scan_source){.kind = RQL_SCAN_PROGRAM, .index = q->request.program_count - 1};
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
	q->request = (struct rql_scan_request){.snapshot = t->snapshot,
	                                       .programs = q->programs,
	                                       .conjuncts = q->conjuncts,
	                                       .joins = q->joins,
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
