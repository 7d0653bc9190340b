/* What `rayql bench scan` shows: a table for people, JSON for programs. */
#ifndef RQL_BENCH_SUITE_REPORT_H
#define RQL_BENCH_SUITE_REPORT_H

#include <stdio.h>

#include "bench/common/machine.h"
#include "bench/suite/suite_run.h"

void rql_suite_report(FILE *out, const struct rql_suite_options *options, const struct rql_suite_run *run);
/* All runs with everything measured; fields in bench/results/README.md. devices: a JSON array. */
rql_status rql_suite_json(const char *path, const struct rql_suite_options *options, const struct rql_machine *machine,
                          const char *devices, const struct rql_suite_run *runs, uint32_t count,
                          struct rql_error *err) RQL_MUST_CHECK;

#endif
