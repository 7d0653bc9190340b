/* Options that several benchmarks have. */
#ifndef RQL_BENCH_OPTIONS_H
#define RQL_BENCH_OPTIONS_H

#include "bench/common/args.h"
#include "bench/ssb/ssb_run.h"

/* "1,10": at most RQL_BENCH_SCALES. */
void rql_option_scales(struct rql_args *args, const char *value, double *scales, uint32_t *count);
/* "off,on": at most RQL_BENCH_ROLLUPS. */
void rql_option_rollups(struct rql_args *args, const char *value, enum rql_bench_rollup *rollups, uint32_t *count);
/* Where databases are kept when nothing is said: ${XDG_CACHE_HOME:-~/.cache}/rayql/bench. malloc'ed; NULL: out of
 * memory. */
char *rql_option_directory(void);

#endif
