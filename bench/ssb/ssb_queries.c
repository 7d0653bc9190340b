/* The texts of the 13 queries in both forms, and of the views. */
#include "bench/ssb/ssb_queries.h"

#include <stddef.h>

/* ---- flat ---- */

#define YEAR "year(LO_ORDERDATE)"
#define YEARMONTH "year(LO_ORDERDATE) * 100 + month(LO_ORDERDATE)"
#define WEEK "weekofyear(LO_ORDERDATE)"
#define FLAT "lineorder_flat"
#define UK_CITIES(column) "(" column " = 'UNITED KI1' OR " column " = 'UNITED KI5')"

static const struct rql_ssb_query flat_queries[RQL_SSB_QUERIES] = {
	{"q1.1", 1, "sum(LO_EXTENDEDPRICE * LO_DISCOUNT) AS revenue", FLAT,
     YEAR " = 1993 AND LO_DISCOUNT BETWEEN 1 AND 3 AND LO_QUANTITY < 25", "", 1.99},
	{"q1.2", 1, "sum(LO_EXTENDEDPRICE * LO_DISCOUNT) AS revenue", FLAT,
     YEARMONTH " = 199401 AND LO_DISCOUNT BETWEEN 4 AND 6 AND LO_QUANTITY BETWEEN 26 AND 35", "", 0.070},
	{"q1.3", 1, "sum(LO_EXTENDEDPRICE * LO_DISCOUNT) AS revenue", FLAT,
     WEEK " = 6 AND " YEAR " = 1994 AND LO_DISCOUNT BETWEEN 5 AND 7 AND LO_QUANTITY BETWEEN 26 AND 35", "", 0.016},
	{"q2.1", 2, "sum(LO_REVENUE) AS revenue, " YEAR " AS year, P_BRAND", FLAT,
     "P_CATEGORY = 'MFGR#12' AND S_REGION = 'AMERICA'", "GROUP BY year, P_BRAND ORDER BY year, P_BRAND", 0.80},
	{"q2.2", 2, "sum(LO_REVENUE) AS revenue, " YEAR " AS year, P_BRAND", FLAT,
     "P_BRAND BETWEEN 'MFGR#2221' AND 'MFGR#2228' AND S_REGION = 'ASIA'",
     "GROUP BY year, P_BRAND ORDER BY year, P_BRAND", 0.16},
	{"q2.3", 2, "sum(LO_REVENUE) AS revenue, " YEAR " AS year, P_BRAND", FLAT,
     "P_BRAND = 'MFGR#2239' AND S_REGION = 'EUROPE'", "GROUP BY year, P_BRAND ORDER BY year, P_BRAND", 0.020},
	{"q3.1", 3, "C_NATION, S_NATION, " YEAR " AS year, sum(LO_REVENUE) AS revenue", FLAT,
     "C_REGION = 'ASIA' AND S_REGION = 'ASIA' AND " YEAR " >= 1992 AND " YEAR " <= 1997",
     "GROUP BY C_NATION, S_NATION, year ORDER BY year ASC, revenue DESC", 3.67},
	{"q3.2", 3, "C_CITY, S_CITY, " YEAR " AS year, sum(LO_REVENUE) AS revenue", FLAT,
     "C_NATION = 'UNITED STATES' AND S_NATION = 'UNITED STATES' AND " YEAR " >= 1992 AND " YEAR " <= 1997",
     "GROUP BY C_CITY, S_CITY, year ORDER BY year ASC, revenue DESC", 0.145},
	{"q3.3", 3, "C_CITY, S_CITY, " YEAR " AS year, sum(LO_REVENUE) AS revenue", FLAT,
     UK_CITIES("C_CITY") " AND " UK_CITIES("S_CITY") " AND " YEAR " >= 1992 AND " YEAR " <= 1997",
     "GROUP BY C_CITY, S_CITY, year ORDER BY year ASC, revenue DESC", 0.00576},
	{"q3.4", 3, "C_CITY, S_CITY, " YEAR " AS year, sum(LO_REVENUE) AS revenue", FLAT,
     UK_CITIES("C_CITY") " AND " UK_CITIES("S_CITY") " AND " YEARMONTH " = 199712",
     "GROUP BY C_CITY, S_CITY, year ORDER BY year ASC, revenue DESC", 0.0000733},
	{"q4.1", 4, YEAR " AS year, C_NATION, sum(LO_REVENUE - LO_SUPPLYCOST) AS profit", FLAT,
     "C_REGION = 'AMERICA' AND S_REGION = 'AMERICA' AND (P_MFGR = 'MFGR#1' OR P_MFGR = 'MFGR#2')",
     "GROUP BY year, C_NATION ORDER BY year ASC, C_NATION ASC", 1.59},
	{"q4.2", 4, YEAR " AS year, S_NATION, P_CATEGORY, sum(LO_REVENUE - LO_SUPPLYCOST) AS profit", FLAT,
     "C_REGION = 'AMERICA' AND S_REGION = 'AMERICA' AND (" YEAR " = 1997 OR " YEAR " = 1998) AND "
     "(P_MFGR = 'MFGR#1' OR P_MFGR = 'MFGR#2')",
     "GROUP BY year, S_NATION, P_CATEGORY ORDER BY year ASC, S_NATION ASC, P_CATEGORY ASC", 0.38},
	{"q4.3", 4, YEAR " AS year, S_CITY, P_BRAND, sum(LO_REVENUE - LO_SUPPLYCOST) AS profit", FLAT,
     "S_NATION = 'UNITED STATES' AND (" YEAR " = 1997 OR " YEAR " = 1998) AND P_CATEGORY = 'MFGR#14'",
     "GROUP BY year, S_CITY, P_BRAND ORDER BY year ASC, S_CITY ASC, P_BRAND ASC", 0.04},
};

static const struct rql_ssb_flight flat_flights[RQL_SSB_FLIGHTS] = {
	{"flight1", YEAR " AS year, " YEARMONTH " AS yearmonth, " WEEK " AS week, LO_DISCOUNT, LO_QUANTITY",
	 "sum(LO_EXTENDEDPRICE * LO_DISCOUNT)", "revenue", FLAT, ""},
	{"flight2", "P_BRAND, P_CATEGORY, S_REGION, " YEAR " AS year", "sum(LO_REVENUE)", "revenue", FLAT, ""},
	{"flight3",
	 "C_REGION, C_NATION, C_CITY, S_REGION, S_NATION, S_CITY, " YEAR " AS year, " YEARMONTH " AS yearmonth",
	 "sum(LO_REVENUE)", "revenue", FLAT, ""},
	{"flight4", "C_REGION, C_NATION, S_REGION, S_NATION, S_CITY, P_MFGR, P_CATEGORY, P_BRAND, " YEAR " AS year",
	 "sum(LO_REVENUE - LO_SUPPLYCOST)", "profit", FLAT, ""},
};

static const char *const flat_tables[] = {"lineorder_flat", NULL};

const struct rql_ssb_form rql_ssb_flat = {"flat", flat_tables, "lineorder_flat", flat_queries, flat_flights};

/* ---- normalised ---- */

#define DATES "lo_orderdate = d_datekey"
#define CUSTOMERS "lo_custkey = c_custkey"
#define SUPPLIERS "lo_suppkey = s_suppkey"
#define PARTS "lo_partkey = p_partkey"
#define FROM_1 "lineorder, date"
#define FROM_2 "lineorder, date, part, supplier"
#define FROM_3 "customer, lineorder, supplier, date"
#define FROM_4 "date, customer, supplier, part, lineorder"
#define JOINS_2 DATES " AND " PARTS " AND " SUPPLIERS
#define JOINS_3 CUSTOMERS " AND " SUPPLIERS " AND " DATES
#define JOINS_4 CUSTOMERS " AND " SUPPLIERS " AND " PARTS " AND " DATES

static const struct rql_ssb_query normalised_queries[RQL_SSB_QUERIES] = {
	{"q1.1", 1, "sum(lo_extendedprice * lo_discount) AS revenue", FROM_1,
     DATES " AND d_year = 1993 AND lo_discount BETWEEN 1 AND 3 AND lo_quantity < 25", "", 1.99},
	{"q1.2", 1, "sum(lo_extendedprice * lo_discount) AS revenue", FROM_1,
     DATES " AND d_yearmonthnum = 199401 AND lo_discount BETWEEN 4 AND 6 AND lo_quantity BETWEEN 26 AND 35", "", 0.070},
	{"q1.3", 1, "sum(lo_extendedprice * lo_discount) AS revenue", FROM_1,
     DATES " AND d_weeknuminyear = 6 AND d_year = 1994 AND lo_discount BETWEEN 5 AND 7 AND "
           "lo_quantity BETWEEN 26 AND 35",
     "", 0.016},
	{"q2.1", 2, "sum(lo_revenue) AS revenue, d_year, p_brand1", FROM_2,
     JOINS_2 " AND p_category = 'MFGR#12' AND s_region = 'AMERICA'",
     "GROUP BY d_year, p_brand1 ORDER BY d_year, p_brand1", 0.80},
	{"q2.2", 2, "sum(lo_revenue) AS revenue, d_year, p_brand1", FROM_2,
     JOINS_2 " AND p_brand1 BETWEEN 'MFGR#2221' AND 'MFGR#2228' AND s_region = 'ASIA'",
     "GROUP BY d_year, p_brand1 ORDER BY d_year, p_brand1", 0.16},
	{"q2.3", 2, "sum(lo_revenue) AS revenue, d_year, p_brand1", FROM_2,
     JOINS_2 " AND p_brand1 = 'MFGR#2221' AND s_region = 'EUROPE'",
     "GROUP BY d_year, p_brand1 ORDER BY d_year, p_brand1", 0.020},
	{"q3.1", 3, "c_nation, s_nation, d_year, sum(lo_revenue) AS revenue", FROM_3,
     JOINS_3 " AND c_region = 'ASIA' AND s_region = 'ASIA' AND d_year >= 1992 AND d_year <= 1997",
     "GROUP BY c_nation, s_nation, d_year ORDER BY d_year ASC, revenue DESC", 3.67},
	{"q3.2", 3, "c_city, s_city, d_year, sum(lo_revenue) AS revenue", FROM_3,
     JOINS_3 " AND c_nation = 'UNITED STATES' AND s_nation = 'UNITED STATES' AND d_year >= 1992 AND d_year <= 1997",
     "GROUP BY c_city, s_city, d_year ORDER BY d_year ASC, revenue DESC", 0.145},
	{"q3.3", 3, "c_city, s_city, d_year, sum(lo_revenue) AS revenue", FROM_3,
     JOINS_3 " AND " UK_CITIES("c_city") " AND " UK_CITIES("s_city") " AND d_year >= 1992 AND d_year <= 1997",
     "GROUP BY c_city, s_city, d_year ORDER BY d_year ASC, revenue DESC", 0.00576},
	{"q3.4", 3, "c_city, s_city, d_year, sum(lo_revenue) AS revenue", FROM_3,
     JOINS_3 " AND " UK_CITIES("c_city") " AND " UK_CITIES("s_city") " AND d_yearmonth = 'Dec1997'",
     "GROUP BY c_city, s_city, d_year ORDER BY d_year ASC, revenue DESC", 0.0000733},
	{"q4.1", 4, "d_year, c_nation, sum(lo_revenue - lo_supplycost) AS profit", FROM_4,
     JOINS_4 " AND c_region = 'AMERICA' AND s_region = 'AMERICA' AND (p_mfgr = 'MFGR#1' OR p_mfgr = 'MFGR#2')",
     "GROUP BY d_year, c_nation ORDER BY d_year, c_nation", 1.59},
	{"q4.2", 4, "d_year, s_nation, p_category, sum(lo_revenue - lo_supplycost) AS profit", FROM_4,
     JOINS_4 " AND c_region = 'AMERICA' AND s_region = 'AMERICA' AND (d_year = 1997 OR d_year = 1998) AND "
             "(p_mfgr = 'MFGR#1' OR p_mfgr = 'MFGR#2')",
     "GROUP BY d_year, s_nation, p_category ORDER BY d_year, s_nation, p_category", 0.38},
	{"q4.3", 4, "d_year, s_city, p_brand1, sum(lo_revenue - lo_supplycost) AS profit", FROM_4,
     JOINS_4 " AND c_region = 'AMERICA' AND s_nation = 'UNITED STATES' AND (d_year = 1997 OR d_year = 1998) AND "
             "p_category = 'MFGR#14'",
     "GROUP BY d_year, s_city, p_brand1 ORDER BY d_year, s_city, p_brand1", 0.0076},
};

static const struct rql_ssb_flight normalised_flights[RQL_SSB_FLIGHTS] = {
	{"star_flight1", "d_year, d_yearmonthnum, d_weeknuminyear, lo_discount, lo_quantity",
	 "sum(lo_extendedprice * lo_discount)", "revenue", FROM_1, DATES},
	{"star_flight2", "p_brand1, p_category, s_region, d_year", "sum(lo_revenue)", "revenue", FROM_2, JOINS_2},
	{"star_flight3", "c_region, c_nation, c_city, s_region, s_nation, s_city, d_year, d_yearmonth", "sum(lo_revenue)",
	 "revenue", FROM_3, JOINS_3},
	{"star_flight4", "c_region, c_nation, s_region, s_nation, s_city, p_mfgr, p_category, p_brand1, d_year",
	 "sum(lo_revenue - lo_supplycost)", "profit", FROM_4, JOINS_4},
};

static const char *const normalised_tables[] = {"lineorder", "customer", "supplier", "part", "date", NULL};

const struct rql_ssb_form rql_ssb_normalised = {
	"normalised", normalised_tables, "lineorder", normalised_queries, normalised_flights};
