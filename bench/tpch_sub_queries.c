/* Seven queries of TPC-H (specification 3, section 2.4, with its substitution parameters for validation) that are more than
 * one pass over lineitem: with an outer join, EXISTS, NOT EXISTS, IN, NOT IN, and a correlated subquery. */
#include "suite.h"

#include <stddef.h>

#define CODES "('13', '31', '23', '29', '30', '18', '17')"

static const struct rql_suite_query queries[] = {
	{.name = "Q4",
     .select = "o_orderpriority, count(*) AS order_count",
     .rest =
         "FROM orders WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-07-01' + INTERVAL 3 MONTH "
         "AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate) "
         "GROUP BY o_orderpriority",
     .order = "o_orderpriority"},
	{.name = "Q13",
     .select = "c_count, count(*) AS custdist",
     .rest = "FROM (SELECT c_custkey, count(o_orderkey) AS c_count FROM customer LEFT OUTER JOIN orders ON "
             "c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey) AS c_orders "
             "GROUP BY c_count",
     .order = "custdist DESC, c_count DESC"},
	{.name = "Q16",
     .select = "p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS supplier_cnt",
     .rest = "FROM partsupp, part WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#45' AND p_type NOT LIKE "
             "'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9) AND ps_suppkey NOT IN (SELECT s_suppkey "
             "FROM supplier WHERE s_comment LIKE '%Customer%Complaints%') GROUP BY p_brand, p_type, p_size",
     .order = "supplier_cnt DESC, p_brand, p_type, p_size"},
	{.name = "Q17",
     .select = "sum(l_extendedprice) / 7.0 AS avg_yearly",
     .rest = "FROM lineitem, part WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container = 'MED BOX' AND "
             "l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)"},
	{.name = "Q18",
     .select = "c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS quantity",
     .rest = "FROM customer, orders, lineitem WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey "
             "HAVING sum(l_quantity) > 300) AND c_custkey = o_custkey AND o_orderkey = l_orderkey "
             "GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice",
     .order = "o_totalprice DESC, o_orderdate",
     .limit = 100},
	{.name = "Q21",
     .select = "s_name, count(*) AS numwait",
     .rest =
         "FROM supplier, lineitem l1, orders, nation WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey "
         "AND o_orderstatus = 'F' AND l1.l_receiptdate > l1.l_commitdate AND EXISTS (SELECT * FROM lineitem l2 WHERE "
         "l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey) AND NOT EXISTS (SELECT * FROM lineitem l3 "
         "WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey AND l3.l_receiptdate > "
         "l3.l_commitdate) AND s_nationkey = n_nationkey AND n_name = 'SAUDI ARABIA' GROUP BY s_name",
     .order = "numwait DESC, s_name",
     .limit = 100},
	{.name = "Q22",
     .select = "cntrycode, count(*) AS numcust, sum(c_acctbal) AS totacctbal",
     .rest = "FROM (SELECT substring(c_phone FROM 1 FOR 2) AS cntrycode, c_acctbal FROM customer WHERE "
             "substring(c_phone FROM 1 FOR 2) IN " CODES " AND c_acctbal > (SELECT avg(c_acctbal) FROM customer WHERE "
             "c_acctbal > 0.00 AND substring(c_phone FROM 1 FOR 2) IN " CODES ") AND NOT EXISTS (SELECT * FROM orders "
             "WHERE o_custkey = c_custkey)) AS custsale GROUP BY cntrycode",
     .order = "cntrycode"},
};

static const char *const tables[] = {"region",   "nation", "supplier", "customer", "part",
                                     "partsupp", "orders", "lineitem", NULL};
static const struct rql_suite_fact facts[] = {
	{"lineitem", "l_orderkey, l_partkey, l_suppkey, l_quantity, l_extendedprice, l_commitdate, l_receiptdate"},
	{"orders", "o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_comment"},
	{"partsupp", "ps_partkey, ps_suppkey"},
	{"customer", "c_custkey, c_phone, c_acctbal"},
};

const struct rql_suite rql_suite_tpch_sub = {"tpch-sub",
                                             "seven queries of TPC-H with subqueries",
                                             RQL_SUITE_TPCH,
                                             false,
                                             0,
                                             tables,
                                             facts,
                                             sizeof facts / sizeof *facts,
                                             queries,
                                             sizeof queries / sizeof *queries};
