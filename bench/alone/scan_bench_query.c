/* SSB's 13 queries: a plain loop, and requests made by hand, on the flat table and with the joins as maps. */
#include <stdlib.h>
#include <string.h>

#include "bench/alone/scan_bench.h"
#include "expr/building/build.h"

#define YEARS(a, b)                                                                                                    \
	{                                                                                                                  \
		DATE_CODE, YEAR, a, b, -1                                                                                      \
	}
#define MONTH(a)                                                                                                       \
	{                                                                                                                  \
		DATE_CODE, YEARMONTH, a, a, -1                                                                                 \
	}
#define P(c, a, b)                                                                                                     \
	{                                                                                                                  \
		c, OTHER, a, b, -1                                                                                             \
	}
#define IS(c, a)                                                                                                       \
	{                                                                                                                  \
		c, OTHER, a, a, -1                                                                                             \
	}
#define EITHER(c, a, b)                                                                                                \
	{                                                                                                                  \
		c, OTHER, a, a, b                                                                                              \
	}
#define G(c, first, count)                                                                                             \
	{                                                                                                                  \
		c, first, count                                                                                                \
	}
/* AMERICA is region 1 with the UNITED STATES as its fifth nation, ASIA 2, EUROPE 3 with the UNITED KINGDOM. */
#define US 9
#define UK1 191
#define UK5 195
const struct query bench_queries[13] = {
	{"q1.1", {YEARS(1993, 1993), P(DISCOUNT, 1, 3), P(QUANTITY, 1, 24)}, 3, {G(0, 0, 0)}, 0, PRODUCT, 15.48},
	{"q1.2", {MONTH(199401), P(DISCOUNT, 4, 6), P(QUANTITY, 26, 35)}, 3, {G(0, 0, 0)}, 0, PRODUCT, 13.63},
	{"q1.3",
     {{DATE_CODE, WEEK, 6, 6, -1}, YEARS(1994, 1994), P(DISCOUNT, 5, 7), P(QUANTITY, 26, 35)},
     4,
     {G(0, 0, 0)},
     0,
     PRODUCT,
     14.30},
	{"q2.1", {IS(P_CATEGORY, 1), IS(S_REGION, 1)}, 2, {G(DATE_CODE, 1992, 7), G(P_BRAND, 40, 40)}, 2, SUM, 15.92},
	{"q2.2", {P(P_BRAND, 260, 267), IS(S_REGION, 2)}, 2, {G(DATE_CODE, 1992, 7), G(P_BRAND, 260, 8)}, 2, SUM, 23.06},
	{"q2.3", {IS(P_BRAND, 278), IS(S_REGION, 3)}, 2, {G(DATE_CODE, 1992, 7), G(P_BRAND, 278, 1)}, 2, SUM, 14.79},
	{"q3.1",
     {IS(C_REGION, 2), IS(S_REGION, 2), YEARS(1992, 1997)},
     3,
     {G(C_NATION, 10, 5), G(S_NATION, 10, 5), G(DATE_CODE, 1992, 7)},
     3,
     SUM,
     23.28},
	{"q3.2",
     {IS(C_NATION, US), IS(S_NATION, US), YEARS(1992, 1997)},
     3,
     {G(C_CITY, US * 10, 10), G(S_CITY, US * 10, 10), G(DATE_CODE, 1992, 7)},
     3,
     SUM,
     16.68},
	{"q3.3",
     {EITHER(C_CITY, UK1, UK5), EITHER(S_CITY, UK1, UK5), YEARS(1992, 1997)},
     3,
     {G(C_CITY, UK1, 5), G(S_CITY, UK1, 5), G(DATE_CODE, 1992, 7)},
     3,
     SUM,
     19.15},
	{"q3.4",
     {EITHER(C_CITY, UK1, UK5), EITHER(S_CITY, UK1, UK5), MONTH(199712)},
     3,
     {G(C_CITY, UK1, 5), G(S_CITY, UK1, 5), G(DATE_CODE, 1992, 7)},
     3,
     SUM,
     19.41},
	{"q4.1",
     {IS(C_REGION, 1), IS(S_REGION, 1), P(P_MFGR, 0, 1)},
     3,
     {G(DATE_CODE, 1992, 7), G(C_NATION, 5, 5)},
     2,
     PROFIT,
     25.25},
	{"q4.2",
     {IS(C_REGION, 1), IS(S_REGION, 1), YEARS(1997, 1998), P(P_MFGR, 0, 1)},
     4,
     {G(DATE_CODE, 1992, 7), G(S_NATION, 5, 5), G(P_CATEGORY, 0, 10)},
     3,
     PROFIT,
     26.89},
	{"q4.3",
     {IS(S_NATION, US), YEARS(1997, 1998), IS(P_CATEGORY, 3)},
     3,
     {G(DATE_CODE, 1992, 7), G(S_CITY, US * 10, 10), G(P_BRAND, 120, 40)},
     3,
     PROFIT,
     21.76},
};

static int32_t attribute_of(const struct day *d, enum attribute a)
{
	return a == YEAR ? d->year : a == YEARMONTH ? d->year * 100 + d->month : d->week;
}

static bool matches(const struct predicate *p, int32_t value)
{
	return (value >= p->least && value <= p->greatest) || value == p->other;
}

/* ---- the plain loop: the oracle, and a rival ---- */

void bench_plain(const struct data *d, const struct query *q, uint64_t first, uint64_t end, int64_t *sums)
{
	const int32_t *a = d->plain[q->operation == PRODUCT ? PRICE : REVENUE];
	const int32_t *b = d->plain[q->operation == PRODUCT ? DISCOUNT : COST];
	const int32_t *dates = d->plain[DATE_CODE];
	for (uint64_t r = first; r < end; r++) {
		const struct day *day = &d->days[dates[r] - RQL_SSB_FIRST_DAY];
		bool pass = true;
		for (uint32_t i = 0; i < q->predicate_count && pass; i++) {
			const struct predicate *p = &q->predicates[i];
			pass = matches(p, p->column == DATE_CODE ? attribute_of(day, p->attribute) : d->plain[p->column][r]);
		}
		if (!pass)
			continue;
		uint64_t group = 0;
		for (uint32_t g = 0; g < q->group_count; g++) {
			int32_t value = q->groups[g].column == DATE_CODE ? day->year : d->plain[q->groups[g].column][r];
			group = group * q->groups[g].count + (uint32_t)(value - q->groups[g].first);
		}
		sums[group] += q->operation == PRODUCT ? (int64_t)a[r] * b[r] : q->operation == SUM ? a[r] : a[r] - b[r];
	}
}

/* ---- requests ---- */

/* LO_EXTENDEDPRICE * LO_DISCOUNT or LO_REVENUE - LO_SUPPLYCOST. */
static void make_aggregate(struct request *r, const struct data *d, const struct query *q)
{
	struct rql_error err = {0};
	r->agg = (struct rql_agg){.kind = RQL_AGG_SUM, .source = {.index = REVENUE}};
	r->request.agg_count = 1;
	r->request.aggs = &r->agg;
	if (q->operation == SUM)
		return;
	uint32_t columns[2] = {q->operation == PRODUCT ? PRICE : REVENUE, q->operation == PRODUCT ? DISCOUNT : COST};
	struct rql_builder *b = bench_need(rql_builder_new(r->arena));
	rql_value_number v[2];
	for (uint32_t i = 0; i < 2; i++) {
		const struct rql_store_column *c = &d->snapshot->columns[columns[i]];
		struct rql_input_spec spec = {.column = i,
		                              .type = rql_type_simple(RQL_TYPE_BIGINT),
		                              .kind = RQL_LANE_I64,
		                              .bounds = {c->least, c->greatest}};
		v[i] = rql_build_input(b, &spec);
		r->inputs[i] = (struct rql_source){.index = columns[i]};
	}
	rql_value_number result = rql_build_arithmetic(b, q->operation == PRODUCT ? "*" : "-", v[0], v[1],
	                                               rql_type_simple(RQL_TYPE_BIGINT), true);
	struct rql_program *program = NULL;
	bench_check(rql_builder_finish(b, &result, 1, &program, &err), &err);
	r->program = (struct rql_row_program){.program = program, .inputs = r->inputs};
	r->request.program_count = 1;
	r->request.programs = &r->program;
	r->agg.source = (struct rql_source){.kind = RQL_SOURCE_PROGRAM};
}

static uint32_t code_count(const struct data *d, uint32_t column)
{
	const struct rql_dimension *dimension = d->snapshot->columns[column].dimension;
	return dimension->count;
}

/* The number that a code of a coded column stands for. */
static int32_t value_of(const struct data *d, uint32_t column, uint32_t code)
{
	return ((const int32_t *)d->snapshot->columns[column].dimension->values.data)[code];
}

static void flat_predicate(struct request *r, const struct data *d, const struct predicate *p)
{
	struct rql_conjunct *c = &r->conjuncts[r->request.conjunct_count++];
	*c = (struct rql_conjunct){
		.test = RQL_TEST_IN_RANGE, .index = p->column, .least = p->least, .greatest = p->greatest};
	if (!bench_is_coded(p->column))
		return;
	uint32_t count = code_count(d, p->column);
	uint64_t *set = bench_need(RQL_NEW_ARRAY(r->arena, uint64_t, count / 64 + 1));
	for (uint32_t code = 0; code < count; code++) {
		int32_t value = value_of(d, p->column, code);
		if (p->column == DATE_CODE)
			value = attribute_of(&d->days[value - RQL_SSB_FIRST_DAY], p->attribute);
		if (matches(p, value))
			set[code / 64] |= UINT64_C(1) << code % 64;
	}
	c->test = RQL_TEST_IN_CODES;
	c->codes = set;
}

void bench_flat_request(struct request *r, const struct data *d, const struct query *q)
{
	*r = (struct request){.arena = bench_need(rql_arena_new())};
	r->request = (struct rql_request){
		.snapshot = d->snapshot, .conjuncts = r->conjuncts, .groups = r->groups, .lookups = r->joins};
	make_aggregate(r, d, q);
	for (uint32_t i = 0; i < q->predicate_count; i++)
		flat_predicate(r, d, &q->predicates[i]);
	for (uint32_t g = 0; g < q->group_count; g++) {
		uint32_t column = q->groups[g].column, count = code_count(d, column);
		uint32_t *keys = bench_need(RQL_NEW_ARRAY(r->arena, uint32_t, count));
		for (uint32_t code = 0; code < count; code++) {
			int32_t value = value_of(d, column, code);
			value = (column == DATE_CODE ? d->days[value - RQL_SSB_FIRST_DAY].year : value) - q->groups[g].first;
			keys[code] = value >= 0 && (uint32_t)value < q->groups[g].count ? (uint32_t)value : 0; /* 0: never passes */
		}
		r->groups[r->request.group_count++] = (struct rql_group_key){
			.source = {.index = column}, .key_of_code = keys, .key_count = q->groups[g].count, .null_key = RQL_NONE};
	}
}

/* Which dimension a flat column comes from: 0 date, 1 customer, 2 supplier, 3 part, 4 none. */
static unsigned dimension_of(uint32_t column)
{
	return column == DATE_CODE                      ? 0
	       : column >= C_REGION && column <= C_CITY ? 1
	       : column >= S_REGION && column <= S_CITY ? 2
	       : column >= P_MFGR && column <= P_BRAND  ? 3
	                                                : 4;
}

/* What row i of a dimension has in a flat column. */
static int32_t attribute_at(const struct data *d, uint32_t column, enum attribute attribute, uint64_t i)
{
	switch (column) {
	case DATE_CODE:
		return attribute_of(&d->days[i], attribute);
	case C_REGION:
		return d->customer[i] / 50;
	case C_NATION:
		return d->customer[i] / 10;
	case C_CITY:
		return d->customer[i];
	case S_REGION:
		return d->supplier[i] / 50;
	case S_NATION:
		return d->supplier[i] / 10;
	case S_CITY:
		return d->supplier[i];
	case P_MFGR:
		return d->part[i] / 200;
	case P_CATEGORY:
		return d->part[i] / 40;
	default:
		return d->part[i];
	}
}

/* The dimension filtered by the query's predicates on it, its payload the group keys' mixed radix. false: not used. */
static bool make_map(struct request *r, const struct data *d, const struct query *q, unsigned dimension)
{
	const uint64_t counts[4] = {RQL_SSB_DATES, d->ssb.customers, d->ssb.suppliers, d->ssb.parts};
	uint64_t n = counts[dimension];
	bool used = false;
	for (uint32_t i = 0; i < q->predicate_count; i++)
		used |= dimension_of(q->predicates[i].column) == dimension;
	for (uint32_t g = 0; g < q->group_count; g++)
		used |= dimension_of(q->groups[g].column) == dimension;
	if (!used)
		return false;
	struct rql_error err = {0};
	int64_t *keys = bench_need(malloc(n * sizeof(*keys)));
	int32_t *payloads = bench_need(malloc(n * sizeof(*payloads)));
	for (uint64_t row = 0; row < n; row++) {
		bool pass = true;
		int32_t payload = 0;
		for (uint32_t i = 0; i < q->predicate_count; i++)
			if (dimension_of(q->predicates[i].column) == dimension)
				pass &= matches(&q->predicates[i],
				                attribute_at(d, q->predicates[i].column, q->predicates[i].attribute, row));
		for (uint32_t g = 0; g < q->group_count && pass; g++)
			if (dimension_of(q->groups[g].column) == dimension)
				payload = payload * (int32_t)q->groups[g].count + attribute_at(d, q->groups[g].column, YEAR, row) -
				          q->groups[g].first;
		keys[row] = dimension == 0 ? d->days[row].key : (int64_t)row + 1;
		payloads[row] = pass ? payload : -1;
	}
	bench_check(rql_map_build(keys, payloads, n, &r->maps[r->request.lookup_count], &err), &err);
	free(keys);
	free(payloads);
	return true;
}

/* Every dimension has at most one group key in these queries. */
void bench_star_request(struct request *r, const struct data *d, const struct query *q)
{
	static const uint32_t columns[4] = {DATE_KEYS, CUSTOMER, SUPPLIER, PART};
	uint32_t join_of[4] = {0};
	*r = (struct request){.arena = bench_need(rql_arena_new())};
	r->request = (struct rql_request){
		.snapshot = d->snapshot, .conjuncts = r->conjuncts, .groups = r->groups, .lookups = r->joins};
	make_aggregate(r, d, q);
	for (uint32_t i = 0; i < q->predicate_count; i++)
		if (dimension_of(q->predicates[i].column) == 4)
			flat_predicate(r, d, &q->predicates[i]);
	for (unsigned dimension = 0; dimension < 4; dimension++) {
		bool grouped = false;
		if (!make_map(r, d, q, dimension))
			continue;
		for (uint32_t g = 0; g < q->group_count; g++)
			grouped |= dimension_of(q->groups[g].column) == dimension;
		uint32_t j = join_of[dimension] = r->request.lookup_count++;
		r->joins[j] = (struct rql_lookup){
			.kind = grouped ? RQL_LOOKUP_INNER : RQL_LOOKUP_SEMI, .column = columns[dimension], .map = r->maps[j]};
	}
	for (uint32_t g = 0; g < q->group_count; g++)
		r->groups[r->request.group_count++] = (struct rql_group_key){
			.source = {.kind = RQL_SOURCE_LOOKUP, .index = join_of[dimension_of(q->groups[g].column)]},
			.key_count = q->groups[g].count,
			.null_key = RQL_NONE};
}

void bench_request_free(struct request *r)
{
	for (uint32_t j = 0; j < r->request.lookup_count; j++)
		rql_map_free(r->maps[j]);
	rql_arena_free(r->arena);
}
