/* The honest rivals on a GPU: scans of the flat table's columns in device memory, as GPU databases do them, on the same
 * rows and in the same run as RayQL's cubes. Two forms: PLAIN, after Crystal (int32 columns, every needed one read
 * once and whole), and DICTIONARY, a hand-tuned scan (codes of a byte, columns skipped where nothing qualifies any
 * more). Each query has kernels of its own (rival_kernels.h), of which the fastest on this device counts. Device time
 * alone is measured; neither has SQL around it. */
#ifndef RQL_BENCH_RIVAL_H
#define RQL_BENCH_RIVAL_H

#include "device/work.h"

enum rql_rival_form { RQL_RIVAL_PLAIN, RQL_RIVAL_DICTIONARY, RQL_RIVAL_FORMS };
extern const char *const rql_rival_names[RQL_RIVAL_FORMS];

struct rql_rival;
/* Generates lineorder_flat's columns at this scale (the same rows as rayql_ssb makes) on `pool` straight into the
 * device's memory: about 83 bytes a row. The device's COMPUTE unit is needed. */
rql_status rql_rival_new(struct rql_device *device, struct rql_pool *pool, double scale, int64_t seed,
                         struct rql_rival **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_rival_free(struct rql_rival *rival);
uint64_t rql_rival_rows(const struct rql_rival *rival);

struct rql_rival_answer {
	double median_ns, least_ns; /* device time of the scan: the clearing of the sums is not in it */
	uint64_t bytes;             /* of the columns the query names, each read once */
	uint32_t variants;          /* kernels and launches that were tried; of the fastest: */
	uint32_t eager, workgroups; /* columns it reads without asking (rival_kernels.h), workgroups of 512 */
	const char *place;          /* where it sums groups: "register", "shared", "global" */
	uint32_t count;             /* groups that are there */
	int64_t *sums;              /* [count] ascending; malloc'ed */
};
/* The kernels of these queries (bit i: query i), in both forms, so that the device does not idle between runs. */
rql_status rql_rival_compile(struct rql_rival *rival, uint32_t query_mask, struct rql_error *err) RQL_MUST_CHECK;
/* query: 0 to 12, as rql_ssb_flat has them. Of every kernel one run to warm up, then `runs`. */
rql_status rql_rival_run(struct rql_rival *rival, enum rql_rival_form form, uint32_t query, uint32_t runs,
                         struct rql_rival_answer *out, struct rql_error *err) RQL_MUST_CHECK;

#endif
