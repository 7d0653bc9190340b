/* Ten queries of TPC-H (specification 3, section 2.4, with its substitution parameters for validation): those whose
 * work is one pass over lineitem. The data come from outside (script/tpch-data). */
#include "suite.h"

#include <stddef.h>

#define REVENUE "sum(l_extendedprice * (1 - l_discount)) AS revenue"

static const struct rql_suite_query queries[] = {
	{.name = "Q1",
     .select = "l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price, "
               "sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price, "
               "sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, avg(l_quantity) AS avg_qty, "
               "avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order",
     .rest =
         "FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL 90 DAY GROUP BY l_returnflag, l_linestatus",
     .order = "l_returnflag, l_linestatus"},
	{.name = "Q3",
     .select = "l_orderkey, " REVENUE ", o_orderdate, o_shippriority",
     .rest = "FROM customer, orders, lineitem WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND "
             "l_orderkey = o_orderkey AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15' "
             "GROUP BY l_orderkey, o_orderdate, o_shippriority",
     .order = "revenue DESC, o_orderdate",
     .limit = 10},
	{.name = "Q5",
     .select = "n_name, " REVENUE,
     .rest = "FROM customer, orders, lineitem, supplier, nation, region WHERE c_custkey = o_custkey AND "
             "l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey AND s_nationkey = "
             "n_nationkey "
             "AND n_regionkey = r_regionkey AND r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01' AND "
             "o_orderdate < DATE '1994-01-01' + INTERVAL 1 YEAR GROUP BY n_name",
     .order = "revenue DESC"},
	{.name = "Q6",
     .select = "sum(l_extendedprice * l_discount) AS revenue",
     .rest =
         "FROM lineitem WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL 1 YEAR AND "
         "l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24"},
	{.name = "Q8",
     .select = "o_year, sum(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / sum(volume) AS mkt_share",
     .rest =
         "FROM (SELECT extract(year FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume, "
         "n2.n_name AS nation FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region WHERE "
         "p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey AND "
         "c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA' AND "
         "s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31' AND "
         "p_type = 'ECONOMY ANODIZED STEEL') AS all_nations GROUP BY o_year",
     .order = "o_year"},
	{.name = "Q9",
     .select = "nation, o_year, sum(amount) AS sum_profit",
     .rest =
         "FROM (SELECT n_name AS nation, extract(year FROM o_orderdate) AS o_year, "
         "l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount FROM part, supplier, lineitem, "
         "partsupp, orders, nation WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey "
         "AND p_partkey = l_partkey AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND "
         "p_name LIKE '%green%') AS profit GROUP BY nation, o_year",
     .order = "nation, o_year DESC"},
	{.name = "Q10",
     .select = "c_custkey, c_name, " REVENUE ", c_acctbal, n_name, c_address, c_phone, c_comment",
     .rest = "FROM customer, orders, lineitem, nation WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND "
             "o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1993-10-01' + INTERVAL 3 MONTH AND "
             "l_returnflag = 'R' AND c_nationkey = n_nationkey "
             "GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment",
     .order = "revenue DESC",
     .limit = 20},
	{.name = "Q12",
     .select =
         "l_shipmode, sum(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) "
         "AS high_line_count, sum(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 "
         "ELSE 0 END) AS low_line_count",
     .rest = "FROM orders, lineitem WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND "
             "l_commitdate < l_receiptdate AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01' AND "
             "l_receiptdate < DATE '1994-01-01' + INTERVAL 1 YEAR GROUP BY l_shipmode",
     .order = "l_shipmode"},
	{.name = "Q14",
     .select = "100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) / "
               "sum(l_extendedprice * (1 - l_discount)) AS promo_revenue",
     .rest = "FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01' AND "
             "l_shipdate < DATE '1995-09-01' + INTERVAL 1 MONTH"},
	{.name = "Q19",
     .select = REVENUE,
     .rest =
         "FROM lineitem, part WHERE (p_partkey = l_partkey AND p_brand = 'Brand#12' AND "
         "p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') AND l_quantity >= 1 AND l_quantity <= 1 + 10 AND "
         "p_size BETWEEN 1 AND 5 AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON') OR "
         "(p_partkey = l_partkey AND p_brand = 'Brand#23' AND "
         "p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') AND l_quantity >= 10 AND l_quantity <= 10 + 10 "
         "AND "
         "p_size BETWEEN 1 AND 10 AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON') OR "
         "(p_partkey = l_partkey AND p_brand = 'Brand#34' AND "
         "p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') AND l_quantity >= 20 AND l_quantity <= 20 + 10 AND "
         "p_size BETWEEN 1 AND 15 AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')"},
};

static const char *const tables[] = {"region",   "nation", "supplier", "customer", "part",
                                     "partsupp", "orders", "lineitem", NULL};
static const struct rql_suite_fact facts[] = {
	{"lineitem", "l_orderkey, l_partkey, l_suppkey, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, "
                 "l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode"},
};

const struct rql_suite rql_suite_tpch = {
	"tpch",  "ten queries of TPC-H",          RQL_SUITE_TPCH, false, 0, tables, facts, 1,
	queries, sizeof queries / sizeof *queries};
