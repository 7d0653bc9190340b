/* rayql bench rtscan: the experiments of RTScan (papers/001) by figure number, and some more of RayQL's own. */
#ifndef RQL_BENCH_RTSCAN_H
#define RQL_BENCH_RTSCAN_H

#include "bench/common/client.h"
#include "device/work.h"

#define RQL_RTSCAN_COLUMNS 4u /* a to d; of more predicates as many */

/* What a figure's columns hold (paper 5.1). */
enum rql_rtscan_values {
	RQL_RTSCAN_UNIFORM,
	RQL_RTSCAN_ZIPF_11,
	RQL_RTSCAN_ZIPF_13,
	RQL_RTSCAN_ZIPF_15,
	RQL_RTSCAN_NORMAL,
	RQL_RTSCAN_SMALL,
	RQL_RTSCAN_TPCH, /* columns of conditions of TPC-H and SSB, joined (5.5) */
	RQL_RTSCAN_REAL, /* days in the rows' order, names of which some are frequent, NULLs */
	RQL_RTSCAN_VALUES
};
extern const char *const rql_rtscan_values_names[RQL_RTSCAN_VALUES];
/* The table rtscan (id, a, b, ... of so many columns), or that of TPCH or REAL, of so many rows, and its columns in
 * memory. But for REAL rows do not depend on each other, so that the first of them are a fair sample. */
rql_status rql_rtscan_make(rayql_connection *con, enum rql_rtscan_values values, uint32_t columns, int64_t rows,
                           struct rql_error *err);
/* The columns that a sieve has, of TPCH and REAL; NULL: a, b, ... */
const char *rql_rtscan_columns(enum rql_rtscan_values values);

/* A form of sieve: what WITH (...) says, and what it is called. */
#define RQL_RTSCAN_ON_CPU 1u /* measured on the CPU, whatever the device */
#define RQL_RTSCAN_ON_GPU 2u /* left out on the CPU, which has no such unit */
#define RQL_RTSCAN_SLOW 4u   /* seconds a run: only where --form names it */
struct rql_rtscan_form {
	const char *name, *options;
	unsigned flags;
};
/* A condition of its own, instead of one of a selectivity. */
struct rql_rtscan_condition {
	const char *name, *sql;
};
struct rql_rtscan_figure {
	uint32_t number;
	const char *title, *found; /* found: what the paper says of it, on an RTX 3090; NULL: the figure is RayQL's own */
	const char *select;        /* what is asked of the rows; NULL: count(*) */
	uint32_t predicates;
	unsigned values;             /* bit k: enum rql_rtscan_values */
	const double *selectivities; /* of the conjunction; 0 ends them; NULL: `conditions` */
	const struct rql_rtscan_form *forms; /* name NULL ends them */
	const struct rql_rtscan_condition *conditions; /* name NULL ends them */
	bool stages;     /* what each pass takes is printed */
	bool transfer;   /* the bitmap's way to the host is part of a GPU's times, as in the paper (5.3) */
	bool cube;       /* a cube of the columns is a rival */
	bool statement;  /* times are SQL to rows, not the device's */
	bool reader;     /* a GPU's times are those of all passes, with what reads the rows */
};
#define RQL_RTSCAN_CASES 16u /* most selectivities or conditions of a figure */
extern const struct rql_rtscan_figure rql_rtscan_figures[]; /* number 0 ends them */

/* One statement, and what it took. */
#define RQL_RTSCAN_PASSES 6u
struct rql_rtscan_pass {
	char name[32];
	double us;
};
struct rql_rtscan_case {
	char sql[512];
	double device_us;    /* GPU: of the passes that select, or all; CPU: of the method. Negative: another plan was taken */
	double statement_us; /* SQL to rows, warm */
	double least_us;     /* the same, the fastest run: what else the machine does is no part of a regret */
	char answer[64];     /* its row, as text */
	double rays, hits, tested, bytes; /* what the sieve met, by EXPLAIN ANALYZE */
	uint32_t pass_count; /* of the device's last run */
	struct rql_rtscan_pass passes[RQL_RTSCAN_PASSES];
};
/* Medians of `runs` after a run to warm up. pass: what EXPLAIN ANALYZE calls it ("sieve", "scan"), NULL: no RayQL. reader:
 * the passes of whoever reads its rows are a GPU's device time, too. */
rql_status rql_rtscan_measure(rayql_connection *con, const char *pass, bool gpu, bool reader, int64_t runs,
                              struct rql_rtscan_case *one, struct rql_error *err);
/* What a bitmap of so many rows takes from the device's memory to the host's, by the device's clock: the median. */
rql_status rql_rtscan_transfer(const char *device, int64_t rows, int64_t runs, double *us, struct rql_error *err);

int rql_rtscan_main(int argc, char **argv);

#endif
