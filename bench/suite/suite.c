/* The suites by name, the queries of the small ones, and the Star Schema Benchmark's in this form. */
#include "bench/suite/suite.h"

#include <stdio.h>
#include <string.h>

#include "bench/ssb/ssb_queries.h"

/* ---- db-benchmark (https://github.com/h2oai/db-benchmark): questions 1 to 5, 7 and 10 about grouping ---- */

static const struct rql_suite_query groupby_queries[] = {
	{.name = "q1", .select = "id1, sum(v1) AS v1", .rest = "FROM x GROUP BY id1"},
	{.name = "q2", .select = "id1, id2, sum(v1) AS v1", .rest = "FROM x GROUP BY id1, id2"},
	{.name = "q3", .select = "id3, sum(v1) AS v1, avg(v3) AS v3", .rest = "FROM x GROUP BY id3"},
	{.name = "q4", .select = "id4, avg(v1) AS v1, avg(v2) AS v2, avg(v3) AS v3", .rest = "FROM x GROUP BY id4"},
	{.name = "q5", .select = "id6, sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3", .rest = "FROM x GROUP BY id6"},
	{.name = "q7", .select = "id3, max(v1) - min(v2) AS range_v1_v2", .rest = "FROM x GROUP BY id3"},
	{.name = "q10",
     .select = "id1, id2, id3, id4, id5, id6, sum(v3) AS v3, count(*) AS count",
     .rest = "FROM x GROUP BY id1, id2, id3, id4, id5, id6"},
};
static const char *const groupby_tables[] = {"x", NULL};
static const struct rql_suite_fact groupby_facts[] = {{"x", "*"}};
static const struct rql_suite groupby = {
	.name = "groupby",
	.title = "db-benchmark's questions 1 to 5, 7 and 10 about grouping",
	.source = RQL_SUITE_GROUPBY,
	.by_rows = true,
	.tables = groupby_tables,
	.facts = groupby_facts,
	.fact_count = 1,
	.queries = groupby_queries,
	.query_count = sizeof groupby_queries / sizeof *groupby_queries,
};

/* ---- and its five questions about joins, under the sums that it checks them by ---- */

#define JOIN_SUMS "count(*) AS count, sum(v1) AS v1, sum(v2) AS v2"
static const struct rql_suite_query join_queries[] = {
	{.name = "q1", .select = JOIN_SUMS, .rest = "FROM x JOIN small USING (id1)"},
	{.name = "q2", .select = JOIN_SUMS, .rest = "FROM x JOIN medium USING (id2)"},
	{.name = "q3", .select = JOIN_SUMS, .rest = "FROM x LEFT JOIN medium USING (id2)"},
	{.name = "q4", .select = JOIN_SUMS, .rest = "FROM x JOIN medium USING (id5)"},
	{.name = "q5", .select = JOIN_SUMS, .rest = "FROM x JOIN big USING (id3)"},
};
static const char *const join_tables[] = {"x", "small", "medium", "big", NULL};
static const struct rql_suite_fact join_facts[] = {{"x", "*"}, {"small", "*"}, {"medium", "*"}, {"big", "*"}};
static const struct rql_suite_key join_keys[] = {{"small", "id1"}, {"medium", "id2"}, {"medium", "id5"}, {"big", "id3"}};
static const struct rql_suite join = {
	.name = "join",
	.title = "db-benchmark's five questions about joins",
	.source = RQL_SUITE_JOIN,
	.by_rows = true,
	.tables = join_tables,
	.facts = join_facts,
	.fact_count = sizeof join_facts / sizeof *join_facts,
	.queries = join_queries,
	.query_count = sizeof join_queries / sizeof *join_queries,
	.keys = join_keys,
	.key_count = sizeof join_keys / sizeof *join_keys,
};

/* ---- joins whose keys come more than once on both sides: no star, and nothing to look a row up by ---- */

#define PAIR_SUMS "count(*) AS count, sum(v) AS v, sum(w) AS w"
static const struct rql_suite_query pairs_queries[] = {
	{.name = "all", .select = PAIR_SUMS, .rest = "FROM l JOIN r ON l.k = r.k"},
	{.name = "few", .select = PAIR_SUMS, .rest = "FROM l JOIN r ON l.k = r.k WHERE v < 100 AND w < 100"},
	{.name = "both", .select = "count(*) AS count, sum(v * w) AS vw", .rest = "FROM l JOIN r ON l.k = r.k WHERE l.g + r.h < 90"},
	{.name = "groups",
     .select = "g, h, count(*) AS count, sum(w) AS w, max(v) AS v",
     .rest = "FROM l JOIN r ON l.k = r.k GROUP BY g, h"},
	{.name = "keys",
     .select = "r.k, count(*) AS count, sum(v) AS v",
     .rest = "FROM l JOIN r ON l.k = r.k WHERE w < 100 GROUP BY r.k",
     .order = "v DESC, r.k",
     .limit = 10,
     .key_order = "v DESC, k"},
	{.name = "left", .select = "count(*) AS count, count(v) AS found, sum(v) AS v", .rest = "FROM r LEFT JOIN l ON l.k = r.k"},
	{.name = "condition",
     .select = "count(*) AS count, count(v) AS found, sum(v) AS v, sum(w) AS w",
     .rest = "FROM r LEFT JOIN l ON l.k = r.k AND v <> w AND g > h"},
	{.name = "three",
     .select = "count(*) AS count, sum(a.v + b.v) AS v",
     .rest = "FROM l a JOIN r ON a.k = r.k JOIN l b ON b.k = r.j WHERE w < 100"},
	{.name = "top",
     .select = "v, w, j, g",
     .rest = "FROM l JOIN r ON l.k = r.k",
     .order = "v DESC, w DESC, j, g",
     .limit = 100,
     .key_order = "v DESC, w DESC, j, g"},
	{.name = "rows", .select = "v, w, j, g", .rest = "FROM l JOIN r ON l.k = r.k WHERE v < 100 AND w < 100"},
};
static const char *const pairs_tables[] = {"l", "r", NULL};
static const struct rql_suite_fact pairs_facts[] = {{"l", "*"}, {"r", "*"}};
static const struct rql_suite_key pairs_keys[] = {{"l", "k"}, {"r", "k"}};
static const struct rql_suite pairs = {
	.name = "pairs",
	.title = "joins with keys that come more than once on both sides",
	.source = RQL_SUITE_PAIRS,
	.by_rows = true,
	.tables = pairs_tables,
	.facts = pairs_facts,
	.fact_count = sizeof pairs_facts / sizeof *pairs_facts,
	.queries = pairs_queries,
	.query_count = sizeof pairs_queries / sizeof *pairs_queries,
	.keys = pairs_keys,
	.key_count = sizeof pairs_keys / sizeof *pairs_keys,
};

/* ---- joins by ranges and ASOF joins: points in spans of time, and trades with the quote before each ---- */

#define IN_SPAN "points JOIN spans ON t BETWEEN lo AND hi"
static const struct rql_suite_query ranges_queries[] = {
	{.name = "count", .select = "count(*) AS count", .rest = "FROM " IN_SPAN},
	{.name = "spans", .select = "id, count(*) AS count, sum(v) AS v", .rest = "FROM " IN_SPAN " GROUP BY id"},
	{.name = "points", .select = "g, count(*) AS count, sum(w) AS w", .rest = "FROM " IN_SPAN " GROUP BY g"},
	{.name = "both", .select = "g, h, sum(v * w) AS vw", .rest = "FROM " IN_SPAN " GROUP BY g, h"},
	{.name = "left",
     .select = "count(*) AS count, count(id) AS found",
     .rest = "FROM points LEFT JOIN spans ON t > lo AND t < hi"},
	{.name = "keys", .select = "count(*) AS count, sum(v * w) AS vw", .rest = "FROM " IN_SPAN " AND g = h"},
	{.name = "rows", .select = "t, v, id, w", .rest = "FROM " IN_SPAN " WHERE v < 10 AND w < 100"},
	{.name = "asof",
     .select = "count(*) AS count, sum(price) AS price, sum(n * price) AS paid",
     .rest = "FROM trades ASOF JOIN quotes ON trades.k = quotes.k AND trades.t >= quotes.t"},
	{.name = "asof left",
     .select = "count(*) AS count, count(price) AS found, sum(price) AS price",
     .rest = "FROM trades ASOF LEFT JOIN quotes ON trades.k = quotes.k AND trades.t < quotes.t"},
	{.name = "asof time",
     .select = "trades.k, count(*) AS count, min(price) AS least, max(price) AS greatest",
     .rest = "FROM trades ASOF JOIN quotes ON trades.t > quotes.t GROUP BY trades.k"},
};
static const char *const ranges_tables[] = {"points", "spans", "trades", "quotes", NULL};
static const struct rql_suite_fact ranges_facts[] = {{"points", "*"}, {"spans", "*"}, {"trades", "*"}, {"quotes", "*"}};
static const struct rql_suite_key ranges_keys[] = {{"points", "t"}, {"quotes", "k, t"}, {"quotes", "t"}};
static const struct rql_suite ranges = {
	.name = "ranges",
	.title = "joins by ranges and ASOF joins",
	.source = RQL_SUITE_RANGES,
	.by_rows = true,
	.tables = ranges_tables,
	.facts = ranges_facts,
	.fact_count = sizeof ranges_facts / sizeof *ranges_facts,
	.queries = ranges_queries,
	.query_count = sizeof ranges_queries / sizeof *ranges_queries,
	.keys = ranges_keys,
	.key_count = sizeof ranges_keys / sizeof *ranges_keys,
};

/* ---- the Star Schema Benchmark, from the data of `rayql bench ssb` ---- */

struct ssb_texts {
	struct rql_suite_query queries[RQL_SSB_QUERIES];
	char rest[RQL_SSB_QUERIES][768];
	bool made;
};

static void make_query(const struct rql_ssb_query *from, struct rql_suite_query *to, char *rest, size_t size)
{
	const char *order = strstr(from->tail, "ORDER BY ");
	int tail = order ? (int)(order - from->tail) : (int)strlen(from->tail);
	snprintf(rest, size, "FROM %s WHERE %s%s%.*s", from->from, from->where, tail ? " " : "", tail, from->tail);
	*to = (struct rql_suite_query){.name = from->name, .select = from->select, .rest = rest};
	to->order = order ? order + strlen("ORDER BY ") : NULL;
}

const struct rql_suite *rql_suite_ssb(bool flat)
{
	static const struct rql_suite_fact facts[2] = {
		{"lineorder", "lo_orderdate, lo_custkey, lo_partkey, lo_suppkey, lo_quantity, lo_discount, lo_extendedprice, "
	                  "lo_revenue, lo_supplycost"},
		{"lineorder_flat",
	     "LO_ORDERDATE, LO_QUANTITY, LO_DISCOUNT, LO_EXTENDEDPRICE, LO_REVENUE, LO_SUPPLYCOST, C_CITY, "
	     "C_NATION, C_REGION, S_CITY, S_NATION, S_REGION, P_MFGR, P_CATEGORY, P_BRAND"},
	};
	static const struct rql_suite_key keys[] = {
		{"customer", "c_custkey"}, {"supplier", "s_suppkey"}, {"part", "p_partkey"}, {"date", "d_datekey"}};
	static struct ssb_texts texts[2];
	static struct rql_suite suites[2] = {
		{.name = "ssb",
	     .title = "the Star Schema Benchmark, five tables",
	     .source = RQL_SUITE_SSB,
	     .fact_count = 1,
	     .query_count = RQL_SSB_QUERIES,
	     .keys = keys,
	     .key_count = sizeof keys / sizeof *keys},
		{.name = "ssb-flat",
	     .title = "the Star Schema Benchmark, lineorder_flat",
	     .source = RQL_SUITE_SSB,
	     .fact_count = 1,
	     .query_count = RQL_SSB_QUERIES},
	};
	const struct rql_ssb_form *form = flat ? &rql_ssb_flat : &rql_ssb_normalised;
	struct ssb_texts *t = &texts[flat];
	for (unsigned i = 0; i < RQL_SSB_QUERIES && !t->made; i++)
		make_query(&form->queries[i], &t->queries[i], t->rest[i], sizeof t->rest[i]);
	t->made = true;
	suites[flat].tables = form->tables;
	suites[flat].facts = &facts[flat];
	suites[flat].queries = t->queries;
	return &suites[flat];
}

const struct rql_suite *rql_suite_find(const char *name)
{
	static const struct rql_suite *const suites[] = {&rql_suite_tpch, &rql_suite_clickbench,
	                                                  &groupby, &join, &pairs, &ranges, &rql_suite_rows};
	for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
		if (!strcmp(suites[i]->name, name))
			return suites[i];
	if (!strcmp(name, "ssb-flat") || !strcmp(name, "ssb"))
		return rql_suite_ssb(!strcmp(name, "ssb-flat"));
	return NULL;
}

struct rql_suite_query rql_suite_sized(const struct rql_suite *suite, const struct rql_suite_query *query, double size,
                                       struct rql_strbuf *out_rest)
{
	struct rql_suite_query sized = *query;
	double share = suite->full_rows > 0 && size < suite->full_rows ? size / suite->full_rows : 1;
	rql_strbuf_put(out_rest, query->rest);
	if (query->having)
		rql_strbuf_printf(out_rest, " HAVING COUNT(*) > %.0f", query->having * share);
	sized.rest = rql_strbuf_text(out_rest);
	sized.having = 0;
	sized.offset = (uint32_t)(query->offset * share);
	return sized;
}

const char *rql_suite_names(void)
{
	return "ssb-flat, ssb-rows, ssb, tpch, clickbench, groupby, join, pairs or ranges";
}
