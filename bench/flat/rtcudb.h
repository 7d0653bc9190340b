/* rayql bench rtcudb: the experiments of the paper on RTCUDB (section 6), by their figure numbers, as
 * selections of what ssb-flat measures. Figure 12 (its GPU without ray-tracing hardware) is any such GPU's figure 11. */
#ifndef RQL_BENCH_RTCUDB_H
#define RQL_BENCH_RTCUDB_H

#include "bench/flat/flat.h"

/* "11,14" or "all" to options->figures, and sets the units, rollups and queries that these figures need; false: no such
 * figure here. */
bool rql_rtcudb_prepare(const char *figures, struct rql_flat_options *options);
void rql_rtcudb_report(FILE *out, const struct rql_flat_options *options, const struct rql_flat_run *run,
                       const struct rql_flat_device *device);
/* [{"figure": 11, ...}, ...]: what the report prints, unrounded. */
void rql_rtcudb_json(struct rql_strbuf *out, const struct rql_flat_options *options, const struct rql_flat_run *run,
                     const struct rql_flat_device *device);

#endif
