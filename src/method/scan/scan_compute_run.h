/* A request bound to a store on a GPU, between scan_compute.c, which runs it, and scan_compute_price.c. */
#ifndef RQL_METHOD_SCAN_SCAN_COMPUTE_RUN_H
#define RQL_METHOD_SCAN_SCAN_COMPUTE_RUN_H

#include <pthread.h>

#include "method/scan/scan_compute.h"

/* A request bound to a store by this method. */
struct rql_prepared {
	struct rql_arena *arena;
	struct rql_scan *scan;
	const struct rql_store_snapshot *snapshot; /* retained */
	struct rql_device *device;
	struct rql_scan_plan plan;
	pthread_mutex_t lock; /* everything below */
	bool placed;
	struct rql_scan_table table;
	struct rql_buffer *tables;           /* the blob */
	uint64_t uploaded;                   /* bytes of columns and tables, that no run has reported yet */
	const struct rql_pipeline *pipeline; /* one reference */
	uint32_t workgroups;
	uint64_t capacity;        /* of the next context; hashed: a power of two, grows after an overflow */
	struct context *contexts; /* scan_compute.c's; those not in use by a thread */
};

/* Found groups go straight into memory that the host reads, up to so many bytes of them: hardly any of many possible
 * groups may exist, and a download is a submission and a wait. */
#define RQL_SCAN_DIRECT_BYTES ((uint64_t)4 << 20)
/* How many groups that is, of the next context; of few groups, which are put out whole, all. */
uint64_t rql_scan_direct_groups(const struct rql_prepared *p);
/* Device memory of the next context. */
uint64_t rql_scan_context_bytes(const struct rql_prepared *p);
/* Bytes of the columns that are read where rows are left, when the share `passed` of them passes everything. */
double rql_scan_late_bytes(const struct rql_prepared *p, double passed);
/* As rql_method's price. */
void rql_scan_compute_price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out);

#endif
