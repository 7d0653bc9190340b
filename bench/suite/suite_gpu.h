/* What `rayql bench scan` asks of a GPU beside the statements, which go through the public API: its floors, that it is
 * awake, and the rivals' scans of lineorder_flat. */
#ifndef RQL_BENCH_SUITE_GPU_H
#define RQL_BENCH_SUITE_GPU_H

#include "bench/common/answer.h"
#include "bench/flat/flat.h"

struct rql_suite_gpu {
	struct rql_devices *devices;
	struct rql_device *device;
	struct rql_flat_device floors; /* measured when opened */
	double awake_ns;               /* rql_flat_wake's */
};

/* name: as rayql_devices() has it; NULL: the first GPU that is no software. Nothing is held on failure. */
rql_status rql_suite_gpu_open(const char *name, unsigned threads, struct rql_suite_gpu *out,
                              struct rql_error *err) RQL_MUST_CHECK;
void rql_suite_gpu_close(struct rql_suite_gpu *gpu);

/* Both rivals' scans of the 13 queries, on rows that they make themselves: the same as those of the table. */
struct rql_suite_rivals {
	struct rql_rival_answer answers[RQL_RIVAL_FORMS][RQL_SSB_QUERIES];
};
rql_status rql_suite_gpu_rivals(struct rql_suite_gpu *gpu, double scale, int64_t seed, uint32_t runs,
                                struct rql_suite_rivals *out, struct rql_error *err) RQL_MUST_CHECK;
void rql_suite_rivals_free(struct rql_suite_rivals *rivals);
/* Are the rival's sums those of DuckDB's answer to query `query` of rql_ssb_flat? */
bool rql_suite_rival_same(const struct rql_rival_answer *rival, uint32_t query, const struct rql_answer *host);

#endif
