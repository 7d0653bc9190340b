/* Running a tree of operators. */
#ifndef RQL_FLOW_RUN_H
#define RQL_FLOW_RUN_H

#include "catalog/catalog.h"
#include "column/batch.h"
#include "device/work.h"
#include "host/host.h"
#include "method/method.h"
#include "util/budget.h"
#include "util/simd.h"
#include "util/threads.h"

struct rql_leaf;
struct rql_operator;

/* Times and counts of one run, for rayql_last_query() and EXPLAIN ANALYZE. */
struct rql_run_stats {
	uint64_t cells_read, cells_covered, bytes_read, bytes_uploaded, runs, groups, rows, rays, hits;
	struct rql_drawn drawn;
	struct rql_selected selected; /* by methods under whose ROWS others ran */
	double run_ns, finish_ns;
	double device_ns; /* time on the device, when it was measured */
	struct rql_left_devices left;
};
/* What a run measured of its parts, for EXPLAIN ANALYZE; parts beyond these numbers are left out. */
#define RQL_PASSES_MAX 64u
#define RQL_MEASURED_MAX 256u
struct rql_run_profile {
	/* Operators, inputs first. */
	uint32_t count;
	struct rql_measured {
		const struct rql_operator *op;
		uint64_t rows; /* that came out */
		double ns;     /* its own work, without that of its inputs */
		double device_ns;
		struct rql_moved moved; /* of a join whose pairs a method has found */
		uint64_t met;           /* of a join without its pairs (aggregate_parts.c): pairs of parts; 0: it is none */
	} part[RQL_MEASURED_MAX];
	/* A GPU's passes, in the order in which they ran. */
	uint32_t pass_count;
	struct rql_pass_time pass[RQL_PASSES_MAX]; /* all of one name are one, with their time together */
	uint32_t pass_times[RQL_PASSES_MAX];
	const struct rql_leaf *pass_of[RQL_PASSES_MAX];
	uint32_t together; /* methods whose work was one submission; 0: each had its own */
	double together_ns; /* until that was under way */
};

/* Whose method has failed: the leaf's, on its device; or that of a join's pairs, for want of memory on `full`. */
struct rql_failed {
	const struct rql_leaf *leaf;
	struct rql_device *full;
};

/* What operators need of the session that runs them. */
struct rql_flow {
	struct rql_host_con *host; /* of HOST operators: the user's own */
	struct rql_host_db *host_db;
	struct rql_catalog *catalog;
	uint64_t snapshot_stamp; /* the catalog's at the BEGIN of the open transaction; 0: none is open */
	uint32_t table_count;    /* all tables that the plan was made of: keys of one may have chosen the rows of another */
	const struct rql_table_seen *tables;
	struct rql_progress *progress; /* may be NULL */
	struct rql_pool *pool;         /* the CPU's threads; NULL: the calling one alone */
	enum rql_simd simd;
	struct rql_budget *budget; /* of rows between operators; NULL: none */
	/* Bytes that are to be had of a device's memory; NULL: nothing is. */
	uint64_t (*device_room)(void *state, struct rql_device *device);
	void *device_state;
	/* [RQL_POINTS_MOST], of plans of one leaf that takes them: values of its points, NULL where they keep the plan's. May be
	 * NULL itself. */
	const struct rql_value *const *points;
};
/* What a METHOD operator gives whose sink is a map to build: the rows' keys and payloads, and the values of the payloads. */
struct rql_flow_map {
	struct rql_arena *arena; /* owned */
	struct rql_keyed_rows rows;
	struct rql_batch *values; /* owned: a row for each payload, a column for each slot of the leaf */
};
rql_status rql_flow_run_keyed(const struct rql_flow *flow, const struct rql_leaf *leaf, struct rql_flow_map *out,
                              struct rql_error *err) RQL_MUST_CHECK;
void rql_flow_map_free(struct rql_flow_map *map);

/* *out holds all rows, with the types that the host would give, and is the caller's. RQL_ERROR_UNSUPPORTED: something that
 * only the run could show (an overflow in an expression, say): the host must answer, and err says why. profile (may be
 * NULL): the run measures its parts, on the device, too. *failed: what failed, when a method did. */
rql_status rql_flow_run(const struct rql_flow *flow, const struct rql_operator *tree, struct rql_batch **out,
                        struct rql_run_stats *stats, struct rql_run_profile *profile, struct rql_failed *failed,
                        struct rql_error *err) RQL_MUST_CHECK;

#endif
