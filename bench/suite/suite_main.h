/* rayql bench scan: the queries of other benchmarks over columns, beside DuckDB. */
#ifndef RQL_BENCH_SUITE_MAIN_H
#define RQL_BENCH_SUITE_MAIN_H

/* As rql_bench_main; the exit code is 1 when an answer differs or is missing, or fewer than --least queries were
 * answered by RayQL. */
int rql_suite_main(int argc, char **argv);

#endif
