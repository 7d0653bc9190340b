/* The tables of RTScan's experiments, and its figures. */
#include "rtscan.h"

#include <inttypes.h>

const char *const rql_rtscan_values_names[RQL_RTSCAN_VALUES] = {
	[RQL_RTSCAN_UNIFORM] = "uniform", [RQL_RTSCAN_ZIPF_11] = "zipf 1.1", [RQL_RTSCAN_ZIPF_13] = "zipf 1.3",
	[RQL_RTSCAN_ZIPF_15] = "zipf 1.5", [RQL_RTSCAN_NORMAL] = "normal",   [RQL_RTSCAN_SMALL] = "2^6 values",
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

rql_status rql_rtscan_make(rayql_connection *con, enum rql_rtscan_values values, int64_t rows, struct rql_error *err)
{
	struct rql_strbuf sql = {0};
	rql_strbuf_put(&sql, "CREATE OR REPLACE TABLE rtscan AS SELECT i::INTEGER AS id");
	for (uint32_t c = 0; c < RQL_RTSCAN_COLUMNS; c++)
		put_column(&sql, (char)('a' + c), c, formulas[values]);
	rql_strbuf_printf(&sql, " FROM range(%" PRId64 ") r(i)", rows);
	rql_status status = rql_client_run(con, err, "%s", rql_strbuf_text(&sql));
	rql_strbuf_free(&sql);
	if (status == RQL_OK)
		status = rql_client_run(con, err, "CREATE OR REPLACE INDEX rtscan_columns ON rtscan USING columns (*)");
	return status;
}

/* ---- the figures ---- */
static const double every[] = {0.0001, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0};
static const double high[] = {0.9, 0};
static const double sieved[] = {0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0};
/* Neighbours of a bound of 128 vectors: 0.93, and a quarter of a bin more each time. */
static const double beside[] = {0.93, 0.9316, 0.9331, 0.9347, 0.9362, 0};

/* The paper's K of 128, and what fits about 1 and 2.5 GB with 1e8 rows of three columns. */
static const struct rql_rtscan_form forms[] = {
	{"values, 26 in 2 components", "vectors = 26, components = 2, refine = values"},
	{"values, 66 in 1 component", "vectors = 66, components = 1, refine = values"},
	{"positions, 26 in 1 component", "vectors = 26, components = 1, refine = positions"},
	{NULL, NULL},
};
static const struct rql_rtscan_form counts[] = {
	{"values, 16", "vectors = 16, components = 1, refine = values"},
	{"values, 32", "vectors = 32, components = 1, refine = values"},
	{"values, 64", "vectors = 64, components = 1, refine = values"},
	{"values, 128", "vectors = 128, components = 1, refine = values"},
	{NULL, NULL},
};
static const struct rql_rtscan_form paper[] = {
	{"values, 128", "vectors = 128, components = 1, refine = values"},
	{"positions, 128", "vectors = 128, components = 1, refine = positions"},
	{NULL, NULL},
};
static const struct rql_rtscan_form few[] = {
	{"values, 16", "vectors = 16, components = 1, refine = values"},
	{NULL, NULL},
};

#define ZIPF (1u << RQL_RTSCAN_ZIPF_11 | 1u << RQL_RTSCAN_ZIPF_13 | 1u << RQL_RTSCAN_ZIPF_15)
#define SKEWED (ZIPF | 1u << RQL_RTSCAN_NORMAL)
#define UNIFORM (1u << RQL_RTSCAN_UNIFORM)

const struct rql_rtscan_figure rql_rtscan_figures[] = {
	{15, "three predicates, uniform", "RTScan 1.05 to 2 ms, RTc3 up to 65 times as long", 3, UNIFORM, every, forms},
	{16, "three predicates, skewed", "RTScan 40 to 54000 times RTc3", 3, SKEWED, high, forms},
	{18, "memory and time to make, Zipf 1.5, K of 128", "RTScan 14.1 GB and 36.8 s", 3, 1u << RQL_RTSCAN_ZIPF_15, high,
     paper},
	{22, "one predicate", "RTScan 1.10 times BinDex-CPU, 1.22 times BinDex-CUDA", 1, UNIFORM, every, forms},
	{23, "two predicates", NULL, 2, UNIFORM, every, forms},
	{24, "four predicates", NULL, 4, UNIFORM, every, forms},
	{26, "a range of 2^6 values, K of 16", "1.2 times by Uniform Encoding", 3, 1u << RQL_RTSCAN_SMALL, sieved, few},
	{27, "bounds that move from one vector to the next", "1.8 times by choosing the nearer", 1, UNIFORM, beside, paper},
	{28, "the number of vectors", "K of 32 spares 82 % of the rows at 0.2, 96 % at 0.4", 3, UNIFORM, sieved, counts},
	{0, NULL, NULL, 0, 0, NULL, NULL},
};
