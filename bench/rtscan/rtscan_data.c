/* The tables of RTScan's experiments, and its figures. */
#include "bench/rtscan/rtscan.h"

#include <inttypes.h>

const char *const rql_rtscan_values_names[RQL_RTSCAN_VALUES] = {
	[RQL_RTSCAN_UNIFORM] = "uniform", [RQL_RTSCAN_ZIPF_11] = "zipf 1.1", [RQL_RTSCAN_ZIPF_13] = "zipf 1.3",
	[RQL_RTSCAN_ZIPF_15] = "zipf 1.5", [RQL_RTSCAN_NORMAL] = "normal",   [RQL_RTSCAN_SMALL] = "2^6 values",
	[RQL_RTSCAN_TPCH] = "conditions of TPC-H and SSB",
	[RQL_RTSCAN_REAL] = "days, names, amounts",
};

/* u and v are numbers of (0, 1] that depend on the row and the column alone. Zipf: the floor of a Pareto number, whose
 * tail falls as the paper's; its greatest values are cut. */
static const char *const formulas[RQL_RTSCAN_VALUES] = {
	[RQL_RTSCAN_UNIFORM] = "floor(u * 4294967295)",
	[RQL_RTSCAN_ZIPF_11] = "least(4294967295, floor(pow(u, -10)))",
	[RQL_RTSCAN_ZIPF_13] = "least(4294967295, floor(pow(u, -1 / 0.3)))",
	[RQL_RTSCAN_ZIPF_15] = "least(4294967295, floor(pow(u, -2)))",
	[RQL_RTSCAN_NORMAL] = "round(2147483648 + sqrt(-2 * ln(u)) * cos(6.283185307179586 * v))",
	[RQL_RTSCAN_SMALL] = "floor((1 - u) * 64)",
};

static void put_column(struct rql_strbuf *sql, char name, uint32_t number, const char *formula)
{
	rql_strbuf_put(sql, ", (");
	for (const char *c = formula; *c; c++) {
		const bool letter = (*c == 'u' || *c == 'v') && !(c > formula && c[-1] >= 'a' && c[-1] <= 'z') &&
		                    !(c[1] >= 'a' && c[1] <= 'z');
		if (letter)
			rql_strbuf_printf(sql, "((hash(i * 16 + %u) // 2048 + 1) / 9007199254740992)", 2 * number + (*c == 'v'));
		else
			rql_strbuf_putc(sql, *c);
	}
	rql_strbuf_printf(sql, ")::UINTEGER AS %c", name);
}

/* As TPC-H 3.0.1 (4.2.3) and SSB make them, of one row a line item: an order's date and its line's, numbers of brands,
 * containers, segments, regions. r draws a number of [0, n) by the row and a column alone. */
static const char tpch_columns[] = "shipdate, orderdate, segment, discount, quantity, brand, container, year, "
								   "category, mfgr, cregion, sregion";
static const char tpch[] =
	"CREATE OR REPLACE TABLE rtscan AS SELECT id, orderdate + 1 + r(id, 1, 121) AS shipdate, orderdate, "
	"(['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY'])[1 + r(id, 2, 5)] AS segment, "
	"(r(id, 3, 11) / 100)::DECIMAL(15, 2) AS discount, (1 + r(id, 4, 50))::DECIMAL(15, 2) AS quantity, "
	"'Brand#' || (1 + r(id, 5, 5)) || (1 + r(id, 6, 5)) AS brand, "
	"(['SM', 'LG', 'MED', 'JUMBO', 'WRAP'])[1 + r(id, 7, 5)] || ' ' || "
	"(['CASE', 'BOX', 'BAG', 'JAR', 'PKG', 'PACK', 'CAN', 'DRUM'])[1 + r(id, 8, 8)] AS container, "
	"year(orderdate) AS year, 'MFGR#' || (1 + r(id, 9, 5)) || (1 + r(id, 10, 5)) AS category, "
	"'MFGR#' || (1 + r(id, 9, 5)) AS mfgr, "
	"(['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'])[1 + r(id, 11, 5)] AS cregion, "
	"(['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'])[1 + r(id, 12, 5)] AS sregion "
	"FROM (SELECT i::INTEGER AS id, DATE '1992-01-01' + r(i, 0, 2405) AS orderdate FROM range(%" PRId64 ") t(i))";

/* Sales as a shop writes them down: 1500 days in the order of the rows, each row up to three days late; customers of whom
 * the first has a tenth of the rows and most have some; a state of which one value is frequent; amounts that are small
 * more often than not. Every twentieth amount and every hundredth state is NULL. */
static const char real_columns[] = "day, name, state, amount, id";
static const char real[] =
	"CREATE OR REPLACE TABLE rtscan AS SELECT id, DATE '2020-01-01' + (id * 1500 // n + r(id, 0, 4))::INTEGER AS day, "
	"'customer ' || least(200000, floor(pow(u, -0.9)))::INTEGER AS name, "
	"CASE WHEN r(id, 1, 100) > 0 THEN (['done', 'done', 'done', 'done', 'done', 'open', 'open', 'lost', 'sent', 'back'])"
	"[1 + r(id, 2, 10)] END AS state, "
	"CASE WHEN r(id, 3, 20) > 0 THEN (1000 * pow(r(id, 4, 100000) / 100000, 3))::DECIMAL(12, 2) END AS amount FROM "
	"(SELECT i AS id, (hash(i * 16 + 15) // 2048 + 1) / 9007199254740992 AS u, %" PRId64 "::BIGINT AS n FROM range(%" PRId64
	") t(i))";

const char *rql_rtscan_columns(enum rql_rtscan_values values)
{
	return values == RQL_RTSCAN_TPCH ? tpch_columns : values == RQL_RTSCAN_REAL ? real_columns : NULL;
}

static rql_status make_plain(rayql_connection *con, const char *formula, uint32_t columns, int64_t rows,
                             struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_put(&sql, "CREATE OR REPLACE TABLE rtscan AS SELECT i::INTEGER AS id");
	for (uint32_t c = 0; c < columns; c++)
		put_column(&sql, (char)('a' + c), c, formula);
	rql_strbuf_printf(&sql, " FROM range(%" PRId64 ") r(i)", rows);
	rql_status status = rql_client_run(con, err, "%s", rql_strbuf_text(&sql));
	rql_strbuf_free(&sql);
	return status;
}

rql_status rql_rtscan_make(rayql_connection *con, enum rql_rtscan_values values, uint32_t columns, int64_t rows,
                           struct rql_error *err)
{
	RQL_TRY(rql_client_run(con, err,
	                       "CREATE OR REPLACE TEMP MACRO r(i, number, n) AS (hash(i * 16 + number) %% n)::INTEGER"));
	if (values == RQL_RTSCAN_TPCH)
		RQL_TRY(rql_client_run(con, err, tpch, rows));
	else if (values == RQL_RTSCAN_REAL)
		RQL_TRY(rql_client_run(con, err, real, rows, rows));
	else
		RQL_TRY(make_plain(con, formulas[values], columns, rows, err));
	return rql_client_run(con, err, "CREATE OR REPLACE INDEX rtscan_columns ON rtscan USING columns (*)");
}

/* ---- the figures ---- */
static const double every[] = {0.0001, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0};
static const double high[] = {0.9, 0};
static const double some[] = {0.001, 0.1, 0.5, 0.9, 0};
static const double sieved[] = {0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0};
/* Neighbours of a bound of 128 vectors: 0.93, and a quarter of a bin more each time. */
static const double beside[] = {0.93, 0.9316, 0.9331, 0.9347, 0.9362, 0};

#define CPU RQL_RTSCAN_ON_CPU
#define GPU RQL_RTSCAN_ON_GPU
#define SLOW (RQL_RTSCAN_ON_GPU | RQL_RTSCAN_SLOW)
#define K128 "vectors = 128, components = 1, "
/* The paper's K of 128, and what fits about 1 and 2.5 GB with 1e8 rows of three columns. */
static const struct rql_rtscan_form forms[] = {
	{"as RayQL says", "refine = auto", 0},
	{"values, 26 in 2 components", "vectors = 26, components = 2, refine = values", 0},
	{"values, 66 in 1 component", "vectors = 66, components = 1, refine = values", 0},
	{"blocks, 10 in 1 component", "vectors = 10, components = 1, refine = blocks", GPU},
	{"blocks, 26 in 1 component", "vectors = 26, components = 1, refine = blocks", GPU},
	{"blocks, 50 in 1 component", "vectors = 50, components = 1, refine = blocks", GPU},
	{"positions, 26 in 1 component", "vectors = 26, components = 1, refine = positions", 0},
	{"positions, 26 in 2 components", "vectors = 26, components = 2, refine = positions", GPU},
	{"positions, 128", K128 "refine = positions", GPU},
	{"drawn, 128", K128 "refine = drawn", GPU},
	{"matrix, 128", K128 "refine = matrix", GPU},
	{"cells, 128", K128 "refine = cells", GPU},
	{"cells, 26 in 2 components", "vectors = 26, components = 2, refine = cells", GPU},
	{"rtc3", "vectors = 1, components = 1, refine = rtc3", SLOW},
	{"rtc1", "vectors = 1, components = 1, refine = rtc1", SLOW},
	{0},
};
static const struct rql_rtscan_form skewed[] = {
	{"values, 26 in 2 components", "vectors = 26, components = 2, refine = values", 0},
	{"blocks, 26 in 1 component", "vectors = 26, components = 1, refine = blocks", GPU},
	{"positions, 128", K128 "refine = positions", 0},
	{"drawn, 128", K128 "refine = drawn", GPU},
	{"matrix, 128", K128 "refine = matrix", GPU},
	{"cells, 128", K128 "refine = cells", GPU},
	{"rtc3", "vectors = 1, components = 1, refine = rtc3", SLOW},
	{"rtc1", "vectors = 1, components = 1, refine = rtc1", SLOW},
	{0},
};
static const struct rql_rtscan_form counts[] = {
	{"values, 16", "vectors = 16, components = 1, refine = values", 0},
	{"values, 32", "vectors = 32, components = 1, refine = values", 0},
	{"values, 64", "vectors = 64, components = 1, refine = values", 0},
	{"values, 128", K128 "refine = values", 0},
	{"matrix, 32", "vectors = 32, components = 1, refine = matrix", GPU},
	{"matrix, 64", "vectors = 64, components = 1, refine = matrix", GPU},
	{"matrix, 128", K128 "refine = matrix", GPU},
	{0},
};
static const struct rql_rtscan_form paper[] = {
	{"values, 128", K128 "refine = values", 0},
	{"positions, 128", K128 "refine = positions", 0},
	{"matrix, 128", K128 "refine = matrix", GPU},
	{"cells, 128", K128 "refine = cells", GPU},
	{0},
};
/* BinDex on the CPU and on compute, RTScan; and the better ones. */
static const struct rql_rtscan_form processors[] = {
	{"positions, 128, on the CPU", K128 "refine = positions", CPU},
	{"positions, 128", K128 "refine = positions", GPU},
	{"matrix, 128", K128 "refine = matrix", GPU},
	{"cells, 128", K128 "refine = cells", GPU},
	{"values, 26 in 2 components", "vectors = 26, components = 2, refine = values", GPU},
	{"blocks, 26 in 1 component", "vectors = 26, components = 1, refine = blocks", GPU},
	{0},
};
static const struct rql_rtscan_form few[] = {
	{"values, 16", "vectors = 16, components = 1, refine = values", 0},
	{"matrix, 16", "vectors = 16, components = 1, refine = matrix", GPU},
	{"matrix, 16, places by value", "vectors = 16, components = 1, refine = matrix, encoding = values", SLOW},
	{0},
};
static const struct rql_rtscan_form encodings[] = {
	{"matrix, 128, places by rank", K128 "refine = matrix", GPU},
	{"matrix, 128, places by value", K128 "refine = matrix, encoding = values", SLOW},
	{0},
};
#define RAYS(i, s) {"matrix, I " #i " %, S " #s " %", K128 "refine = matrix, interval = " #i ", spacing = " #s, GPU}
static const struct rql_rtscan_form rays[] = {
	RAYS(25, 0), RAYS(25, 100), RAYS(50, 0), RAYS(50, 100), RAYS(100, 0), RAYS(100, 50), RAYS(100, 100), {0},
};
static const struct rql_rtscan_condition conditions[] = {
	{"Q3", "shipdate > DATE '1995-03-15' AND orderdate < DATE '1995-03-15' AND segment = 'BUILDING'"},
	{"Q6", "shipdate BETWEEN DATE '1994-01-01' AND DATE '1995-01-01' AND discount BETWEEN 0.05 AND 0.07 AND quantity < 24"},
	{"Q17", "brand = 'Brand#23' AND container = 'MED BOX' AND quantity < 6"},
	{"SSB 1.1", "year = 1993 AND discount BETWEEN 0.01 AND 0.03 AND quantity < 25"},
	{"SSB 2.1", "category = 'MFGR#12' AND sregion = 'AMERICA'"},
	{"SSB 3.1", "cregion = 'ASIA' AND sregion = 'ASIA' AND year BETWEEN 1992 AND 1997"},
	{"SSB 4.1", "cregion = 'AMERICA' AND sregion = 'AMERICA' AND mfgr IN ('MFGR#1', 'MFGR#2')"},
	{0},
};
static const struct rql_rtscan_condition of_real[] = {
	{"week", "day BETWEEN DATE '2021-06-07' AND DATE '2021-06-13'"},
	{"week, state", "day BETWEEN DATE '2021-06-07' AND DATE '2021-06-13' AND state = 'open'"},
	{"names", "name LIKE 'customer 12%' AND amount > 900"},
	{"frequent", "name = 'customer 1' AND day >= DATE '2022-01-01' AND amount < 1"},
	{"NULLs", "amount IS NULL AND state IN ('lost', 'back')"},
	{"NOT", "state IS NOT NULL AND amount NOT BETWEEN 1 AND 990 AND name <> 'customer 1'"},
	{"few", "name > 'customer 9' AND amount BETWEEN 500 AND 501 AND day < DATE '2020-07-01' AND state <> 'done'"},
	{0},
};
static const struct rql_rtscan_form best[] = {
	{"as RayQL says", "refine = auto", 0},
	{"values, 26 in 2 components", "vectors = 26, components = 2, refine = values", 0},
	{"blocks, 26 in 1 component", "vectors = 26, components = 1, refine = blocks", GPU},
	{"positions, 128", K128 "refine = positions", 0},
	{"cells, 128", K128 "refine = cells", GPU},
	{0},
};
static const double two[] = {0.001, 0.1, 0};
/* A list takes 32 rows of a block: 0.8 %. */
static const double few_rows[] = {0.0001, 0.001, 0.003, 0.006, 0.01, 0.1, 0};
#define V26 "vectors = 26, components = 2, refine = values, rows = "
#define B26 "vectors = 26, components = 1, refine = blocks, rows = "
static const struct rql_rtscan_form rows_forms[] = {
	{"values, bitmaps", V26 "bitmaps", GPU}, {"values, lists", V26 "lists", GPU}, {"values, auto", V26 "auto", GPU},
	{"blocks, bitmaps", B26 "bitmaps", GPU}, {"blocks, lists", B26 "lists", GPU}, {"blocks, auto", B26 "auto", GPU},
	{0},
};

#define ZIPF (1u << RQL_RTSCAN_ZIPF_11 | 1u << RQL_RTSCAN_ZIPF_13 | 1u << RQL_RTSCAN_ZIPF_15)
#define SKEWED (ZIPF | 1u << RQL_RTSCAN_NORMAL)
#define UNIFORM (1u << RQL_RTSCAN_UNIFORM)
#define FIGURE(n, what, result) .number = (n), .title = (what), .found = (result)

const struct rql_rtscan_figure rql_rtscan_figures[] = {
	{FIGURE(15, "three predicates, uniform", "RTScan 1.05 to 2 ms, RTc3 up to 65 times as long, RTc1 up to 106 times"),
     .predicates = 3, .values = UNIFORM, .selectivities = every, .forms = forms},
	{FIGURE(16, "three predicates, skewed", "RTScan 40 to 54000 times RTc3, 102 to 170000 times RTc1"), .predicates = 3,
     .values = SKEWED, .selectivities = high, .forms = skewed},
	{FIGURE(17, "what each stage takes", "sieving 24.0 %, merging 14.5 %, encoding 1.2 %, Matrix RT Refine 60.4 %"),
     .predicates = 3, .values = UNIFORM, .selectivities = high, .forms = paper, .stages = true},
	{FIGURE(18, "memory and time to make, Zipf 1.5, K of 128", "RTScan 7.6 GB and 36.8 s (14.1 GB and 12.3 s on an H200)"),
     .predicates = 3, .values = 1u << RQL_RTSCAN_ZIPF_15, .selectivities = high, .forms = paper},
	{FIGURE(19, "processors, uniform", "RTScan 3.7 times BinDex-CPU, 1.48 times BinDex-CUDA, transfer included"),
     .predicates = 3, .values = UNIFORM, .selectivities = some, .forms = processors, .transfer = true},
	{FIGURE(20, "processors, skewed", "RTScan 4.2 to 4.6 times BinDex-CPU, 1.24 to 1.38 times BinDex-CUDA"),
     .predicates = 3, .values = SKEWED, .selectivities = high, .forms = processors, .transfer = true},
	{FIGURE(21, "predicates of TPC-H and SSB", "RTScan 4.1 to 10.4 times BinDex-CPU, 1.45 to 4.7 times BinDex-CUDA"),
     .predicates = 3, .values = 1u << RQL_RTSCAN_TPCH, .forms = processors, .conditions = conditions},
	{FIGURE(22, "one predicate", "RTScan 1.10 times BinDex-CPU, 1.22 times BinDex-CUDA"), .predicates = 1,
     .values = UNIFORM, .selectivities = every, .forms = skewed},
	{FIGURE(23, "two predicates", "RTScan 2.1 times BinDex-CPU, 1.32 times BinDex-CUDA"), .predicates = 2,
     .values = UNIFORM, .selectivities = every, .forms = skewed},
	{FIGURE(24, "four predicates (3 + 1)", "RTScan 5 times BinDex-CPU, 1.4 times BinDex-CUDA"), .predicates = 4,
     .values = UNIFORM, .selectivities = every, .forms = skewed},
	{FIGURE(25, "Uniform Encoding on skewed values", "44.6, 1152, 16015 and 1.3 times"), .predicates = 3,
     .values = SKEWED, .selectivities = high, .forms = encodings},
	{FIGURE(26, "a range of 2^6 values, K of 16", "1.2 times by Uniform Encoding"), .predicates = 3,
     .values = 1u << RQL_RTSCAN_SMALL, .selectivities = sieved, .forms = few, .cube = true},
	{FIGURE(27, "bounds that move from one vector to the next", "1.8 times by choosing the nearer"), .predicates = 1,
     .values = UNIFORM, .selectivities = beside, .forms = paper},
	{FIGURE(28, "the number of vectors", "K of 32 spares 82 % of the rows at 0.2, 96 % at 0.4"), .predicates = 3,
     .values = UNIFORM, .selectivities = sieved, .forms = counts},
	{FIGURE(29, "how far apart rays are", "S of a cube's width 1.47 times S of 0; I of a width 1.7 times I of 0.25"),
     .predicates = 3, .values = UNIFORM, .selectivities = high, .forms = rays, .stages = true},
	{FIGURE(101, "seven predicates (3 + 3 + 1)", NULL), .predicates = 7, .values = UNIFORM, .selectivities = every,
     .forms = best},
	{FIGURE(102, "count and sum of a fourth column under three predicates, SQL to rows", NULL), .predicates = 3,
     .values = UNIFORM, .selectivities = two, .forms = best, .select = "count(*), sum(d)", .statement = true},
	{FIGURE(103, "sales: days in order, frequent names, NULLs", NULL), .predicates = 3,
     .values = 1u << RQL_RTSCAN_REAL, .forms = best, .conditions = of_real},
	{FIGURE(104, "ROWS as bitmaps and as lists, with the scan that sums a fourth column under them", NULL), .predicates = 3,
     .values = UNIFORM, .selectivities = few_rows, .forms = rows_forms, .select = "count(*), sum(d)", .stages = true,
     .reader = true},
	{0},
};
