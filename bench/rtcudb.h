/* rayql bench rtcudb: the experiments of the paper on RTCUDB (papers/000, section 6), by their figure numbers, as
 * selections of what ssb-flat measures. Figure 12 (its GPU without ray-tracing hardware) is any such GPU's figure 11. */
#ifndef RQL_BENCH_RTCUDB_H
#define RQL_BENCH_RTCUDB_H

#include "flat.h"

/* Sets units, rollups and queries for the figure; false: there is no such figure here. */
bool rql_rtcudb_prepare(int figure, struct rql_flat_options *options);
void rql_rtcudb_report(FILE *out, int figure, const struct rql_flat_run *run, const struct rql_flat_device *device);

#endif
