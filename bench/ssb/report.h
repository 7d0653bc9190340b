/* What bench shows: tables for people, JSON for programs. */
#ifndef RQL_BENCH_REPORT_H
#define RQL_BENCH_REPORT_H

#include <stdio.h>

#include "bench/common/machine.h"
#include "bench/ssb/ssb_run.h"

void rql_report_machine(FILE *out, const struct rql_machine *machine);
/* Queries, views and means of one run. */
void rql_report_run(FILE *out, const struct rql_bench_run *run, const struct rql_machine *machine);
/* The demo's shorter form. */
void rql_report_demo_run(FILE *out, const struct rql_bench_run *run);

/* The member "machine": devices: a JSON array. */
void rql_report_put_machine(struct rql_strbuf *out, const struct rql_machine *machine, const char *devices);
/* All runs with everything measured; format in bench/results/README.md. devices: a JSON array. */
rql_status rql_report_json(const char *path, const struct rql_bench_options *options, const struct rql_machine *machine,
                           const char *devices, const struct rql_bench_run *runs, uint32_t count,
                           struct rql_error *err);

#endif
