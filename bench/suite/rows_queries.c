/* Selections of rows of the Star Schema Benchmark's flat table: no standard benchmark asks for rows of a large table by
 * conditions without an index. From one row to some thousands of each million; the first ones of an order, behind a
 * condition that drops little, much or nothing; a limit without an order; and an order of all rows. */
#include "bench/suite/suite.h"

#include <stddef.h>

#define LINE "LO_ORDERDATE, LO_QUANTITY, LO_DISCOUNT, LO_EXTENDEDPRICE, LO_REVENUE"
#define FROM "FROM lineorder_flat"

static const struct rql_suite_query queries[] = {
	/* the conditions of SSB's q3.4, q3.3, q2.3 and q1.2: 0.8, 60, 200 and 700 rows of a million */
	{.name = "s1",
     .select = LINE ", C_CITY, S_CITY, P_BRAND",
     .rest = FROM " WHERE C_CITY IN ('UNITED KI1', 'UNITED KI5') AND S_CITY IN ('UNITED KI1', 'UNITED KI5') AND "
                  "LO_ORDERDATE BETWEEN DATE '1997-12-01' AND DATE '1997-12-31'"},
	{.name = "s2",
     .select = LINE ", C_CITY, S_CITY",
     .rest = FROM " WHERE C_CITY IN ('UNITED KI1', 'UNITED KI5') AND S_CITY IN ('UNITED KI1', 'UNITED KI5') AND "
                  "LO_ORDERDATE BETWEEN DATE '1992-01-01' AND DATE '1997-12-31'"},
	{.name = "s3",
     .select = LINE ", S_NATION, P_BRAND",
     .rest = FROM " WHERE P_BRAND = 'MFGR#2239' AND S_REGION = 'EUROPE'"},
	{.name = "s4",
     .select = LINE,
     .rest = FROM " WHERE LO_ORDERDATE BETWEEN DATE '1994-01-01' AND DATE '1994-01-31' AND LO_DISCOUNT BETWEEN 4 AND 6 "
                  "AND LO_QUANTITY BETWEEN 26 AND 35"},
	/* expressions that no zone map knows: 300 rows of a million */
	{.name = "s5",
     .select = LINE ", C_NATION",
     .rest = FROM " WHERE LO_EXTENDEDPRICE * LO_DISCOUNT > 85 * 1000000 AND LO_SUPPLYCOST * 80 > LO_EXTENDEDPRICE"},
	/* 1,600 of a million, in order */
	{.name = "s6",
     .select = "LO_ORDERDATE, LO_REVENUE, C_CITY, S_CITY",
     .rest = FROM " WHERE C_NATION = 'UNITED STATES' AND S_NATION = 'UNITED STATES'",
     .order = "LO_ORDERDATE, LO_REVENUE DESC, C_CITY, S_CITY"},
	/* the first ones: of nearly all rows, a fifth, a few, all */
	{.name = "s7", .select = LINE, .rest = FROM " WHERE LO_QUANTITY > 2", .order = "LO_REVENUE DESC", .limit = 10},
	{.name = "s8",
     .select = LINE ", C_NATION, P_MFGR",
     .rest = FROM " WHERE C_REGION = 'ASIA' AND LO_DISCOUNT > 0",
     .order = "LO_REVENUE DESC, LO_ORDERDATE, C_NATION",
     .limit = 100},
	{.name = "s9",
     .select = LINE ", S_CITY",
     .rest = FROM " WHERE P_CATEGORY = 'MFGR#12' AND S_CITY = 'UNITED ST3'",
     .order = "LO_EXTENDEDPRICE, LO_ORDERDATE DESC",
     .limit = 20,
     .offset = 50},
	{.name = "s10", .select = LINE, .rest = FROM, .order = "LO_EXTENDEDPRICE DESC, LO_REVENUE", .limit = 100},
	/* the first rows that are found */
	{.name = "s11",
     .select = LINE ", P_BRAND",
     .rest = FROM " WHERE P_BRAND = 'MFGR#2221' AND LO_DISCOUNT = 10",
     .limit = 50},
	/* an order of all rows, of which more are wanted than a top-N holds */
	{.name = "s12",
     .select = "C_CITY, LO_REVENUE, LO_ORDERDATE",
     .rest = FROM,
     .order = "C_CITY, LO_REVENUE DESC, LO_ORDERDATE",
     .limit = 100000},
};

static const char *const tables[] = {"lineorder_flat", NULL};

/* The columns of ssb-flat, so that both find the same table at large scales. */
static const struct rql_suite_fact facts[] = {
	{"lineorder_flat", "LO_ORDERDATE, LO_QUANTITY, LO_DISCOUNT, LO_EXTENDEDPRICE, LO_REVENUE, LO_SUPPLYCOST, C_CITY, "
                       "C_NATION, C_REGION, S_CITY, S_NATION, S_REGION, P_MFGR, P_CATEGORY, P_BRAND"}};

const struct rql_suite rql_suite_rows = {
	.name = "ssb-rows",
	.title = "selections of rows of SSB's lineorder_flat",
	.source = RQL_SUITE_SSB,
	.tables = tables,
	.facts = facts,
	.fact_count = 1,
	.queries = queries,
	.query_count = sizeof queries / sizeof *queries,
};
