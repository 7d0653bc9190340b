/* Running the benchmark at one scale: data, views, queries, checks. What is inside every timer is said at its field. */
#ifndef RQL_BENCH_SSB_RUN_H
#define RQL_BENCH_SSB_RUN_H

#include "bench/common/client.h"
#include "bench/ssb/ssb_queries.h"

#define RQL_BENCH_SCALES 16u

enum rql_bench_rollup { RQL_BENCH_OFF, RQL_BENCH_ON, RQL_BENCH_AUTO, RQL_BENCH_ROLLUPS };
extern const char *const rql_bench_rollup_names[RQL_BENCH_ROLLUPS];

struct rql_bench_options {
	double scales[RQL_BENCH_SCALES];
	uint32_t scale_count;
	enum rql_bench_rollup rollups[RQL_BENCH_ROLLUPS];
	uint32_t rollup_count;
	const struct rql_ssb_form *form;
	int64_t seed, threads, runs;
	bool force;             /* SET rayql_force = on: also where the host looks cheaper */
	bool demo, quiet;
	const char *json;       /* file, or NULL */
	char *directory;        /* of the database files; malloc'ed */
};

struct rql_cube_result {
	const char *name;
	double build_ms;    /* CREATE MATERIALIZED VIEW, call to return */
	double group_by_ms; /* DuckDB: the same GROUP BY as a subquery, all its rows reduced to two values; least of 2 */
	double rows, cells, bytes; /* as rayql_structures() says */
};

struct rql_query_result {
	const struct rql_ssb_query *query;
	char *sql;
	double selectivity;    /* percent of the fact table's rows, counted by DuckDB */
	char method[24], unit[24], structure[64];
	char *reason;          /* RayQL's one line */
	char *error;           /* why there are no times; NULL when there are */
	uint64_t rows, cells_read, cells_covered, bytes_read;
	double first_ms;       /* first run of the statement: text to rows */
	double warm_ms, warm_least_ms; /* later runs: text to rows; median, least */
	double plan_us, method_us, finish_us; /* parts of the warm runs, medians, as RayQL says */
	double first_plan_us; /* text to start of the method, never seen before; median of texts that differ in a comment */
	double host_plan_us;   /* DuckDB's EXPLAIN of such texts; median */
	double host_first_ms, host_ms, host_least_ms; /* DuckDB, the same statement */
	double estimated_ms, host_estimated_ms; /* RayQL's prices */
	bool same;             /* every row equal, types included */
	double floor_ms;       /* bytes of the qualifying cells at the machine's bandwidth */
};

struct rql_bench_run {
	double scale;
	enum rql_bench_rollup rollup;
	const struct rql_ssb_form *form;
	uint64_t rows;         /* of the fact table */
	bool reused;           /* the data were there */
	double generate_s;
	struct rql_cube_result cubes[RQL_SSB_FLIGHTS];
	struct rql_query_result queries[RQL_SSB_QUERIES];
	uint32_t different;    /* queries whose answer differs or failed */
};

struct rql_machine;

/* Fills *run, whose texts rql_bench_run_free frees (also after a failure). A query that fails is noted in its result
 * and does not fail the run; data or views that cannot be made do. */
rql_status rql_bench_run_ssb(const struct rql_bench_options *options, const struct rql_machine *machine, double scale,
                             enum rql_bench_rollup rollup, struct rql_bench_run *run, struct rql_strbuf *devices,
                             struct rql_error *err) RQL_MUST_CHECK;
void rql_bench_run_free(struct rql_bench_run *run);

/* Means over the queries that have times. */
struct rql_bench_summary {
	double warm_ms, first_ms, host_ms, ratio; /* geometric means */
	double plan_us, first_over_us;            /* medians: cached statement to method; first plan above DuckDB's */
	double build_ms, group_by_ms, bytes, rows, cells; /* sums over the cubes */
	uint32_t timed, same;
};
void rql_bench_summarise(const struct rql_bench_run *run, struct rql_bench_summary *out);

#endif
