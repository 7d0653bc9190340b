/* What the planner sees of a method: one algorithm that answers one kind of request from a structure on one unit of a
 * device, and prices itself (PostgreSQL's amapi.h is the model). Methods are static const tables, listed by
 * rql_methods().
 *
 * This header speaks of coded relations: a structure's dimensions are dictionaries, so that a predicate on a dimension
 * is a set of codes, and a group key is a map from codes. A code c stands for values[c]; codes ascend in the host's
 * order of the values; NULL, when there is one, is the last code. */
#ifndef RQL_METHOD_METHOD_H
#define RQL_METHOD_METHOD_H

#include "column/dimension.h"
#include "column/value.h"
#include "device/work.h"
#include "util/arena.h"
#include "util/budget.h"

enum rql_measure_kind {
	RQL_MEASURE_INTEGER /* answers as int128 */,
	RQL_MEASURE_REAL /* answers as double */,
	RQL_MEASURE_CODE /* MIN and MAX only: answers are codes of `dictionary` */
};
struct rql_measure {
	struct rql_type type; /* of the argument: DECIMAL(12,2), INTEGER, DOUBLE, VARCHAR, ... */
	enum rql_measure_kind kind;
	bool sum, min, max;              /* what can be asked; COUNT always can */
	bool has_null;                   /* some row's value is NULL */
	rql_int128 least, greatest;      /* INTEGER: bounds of the single rows' values (not of sums), when any */
	struct rql_dimension dictionary; /* CODE */
};

/* A structure that answers aggregate requests: rows with dimensions and measures, grouped or not. */
struct rql_relation {
	uint32_t dimension_count;
	const struct rql_dimension *dimensions;
	uint32_t measure_count;
	const struct rql_measure *measures;
	uint64_t rows;  /* of the base relation */
	uint64_t cells; /* stored: equal to rows when rollup is off */
	bool rolled_up;
	uint64_t bytes; /* resident */
};

/* ---- requests ---- */
struct rql_group_key {
	uint32_t dimension;
	const uint32_t *key_of_code; /* dimension.count entries, each < key_count; NULL: the code itself */
	uint32_t key_count;
};
/* A conjunction of one set of codes per dimension; pass[d] is a bitmap over dimension d's codes, NULL: all pass. The
 * boxes of a request are disjoint: it asks for their union. No box at all: nothing qualifies. */
struct rql_box {
	const uint64_t *const *pass;
};
enum rql_agg_kind { RQL_AGG_COUNT_STAR, RQL_AGG_COUNT, RQL_AGG_SUM, RQL_AGG_MIN, RQL_AGG_MAX };
struct rql_agg {
	enum rql_agg_kind kind;
	uint32_t measure; /* not for COUNT_STAR */
};
struct rql_request {
	uint32_t group_count;
	const struct rql_group_key *groups;
	uint32_t box_count;
	const struct rql_box *boxes;
	uint32_t agg_count;
	const struct rql_agg *aggs;
	const char *layout; /* what the structure's WITH (layout = ...) asks for ("paper"); NULL: auto */
};

/* ---- answers ---- */
struct rql_agg_values {
	enum rql_measure_kind kind;
	/* COUNT, COUNT_STAR, INTEGER and CODE use integer; REAL uses real. One entry per group. */
	rql_int128 *integer;
	double *real;
	uint64_t *valid; /* bitmap: some non-NULL value was there; NULL: all valid. COUNT is always valid. */
};
/* The rows behind the groups, of a request whose sink is a map to build: in no order. */
struct rql_keyed_rows {
	uint64_t count;     /* rows without a NULL among their keys */
	uint64_t nulls;     /* rows with one: they are not listed */
	int64_t *keys[2];   /* [count]; the second NULL: there is one key */
	uint32_t *groups;   /* [count]: number of the answer's group; NULL: all are of the first */
};
struct rql_answer {
	uint64_t group_count; /* groups with at least one row; without group keys exactly 1, also over nothing */
	uint32_t **keys;      /* [group key][group]: key code; NULL of a wide key */
	uint64_t **wide_keys; /* the same of group keys with more than 2^32 codes (scans only); NULL: there is none */
	struct rql_agg_values *aggs;
	uint32_t sorted_keys; /* the groups ascend by this many leading group keys */
	struct rql_keyed_rows keyed;
	uint64_t cells_read, cells_covered, bytes_read, runs;
	uint64_t bytes_uploaded; /* scans: columns and tables that this run put into the device's memory first */
	uint64_t rays, hits; /* rt: launched; closest hits and any-hit calls */
	/* GPUs: device time of the whole run and of its passes, when RQL_RUN_TIMED was asked for; else 0. In arena. */
	double device_ns;
	uint32_t pass_count;
	struct rql_pass_time *passes;
};
#define RQL_RUN_TIMED 1u /* flag of run: measure the passes (EXPLAIN ANALYZE, benchmarks); costs a little */

/* ---- prices ---- */
struct rql_cost {
	double setup_ns, run_ns, transfer_ns;
	double rows_out;
	uint64_t device_bytes; /* of the device's memory, all in all */
	uint64_t placed_bytes; /* and so much of that is there already */
	double cells, runs;    /* expected, for EXPLAIN */
	double rays, hits;     /* rt: expected */
	double bytes;          /* expected to be read */
};
static inline double rql_cost_total(const struct rql_cost *c)
{
	return c->setup_ns + c->run_ns + c->transfer_ns;
}

enum rql_serve { RQL_SERVE_NO, RQL_SERVE_SUPERSET, RQL_SERVE_FULL };

struct rql_scan_request; /* of rows of a column store: scan/scan.h */
struct rql_scan_rows_request;

struct rql_prepared; /* a request bound to a structure by one method: everything that does not depend on the run */

struct rql_method {
	const char *name;        /* "cube": what rayql_methods() and rayql_enable_<name> call it */
	const char *description; /* one line */
	const char *paper;       /* the source */
	enum rql_unit unit;
	/* The values of WITH (layout = ...) that it is for, NULL-terminated ("paper", "paper:split-scan"): it is priced for
	 * requests with one of them only. NULL: for requests without a layout. */
	const char *const *layouts;
	/* May one of them be followed by these options ("paper:x=10", "paper:split-scan,y=8")? NULL: by none. */
	bool (*layout_ok)(const char *layout);
	/* Can it answer this request from this structure on this device? On NO, *reason is a static text. */
	enum rql_serve (*can_serve)(const struct rql_relation *relation, const struct rql_request *request,
	                            const struct rql_device *device, const char **reason);
	/* Methods over column stores have these two instead of can_serve and prepare, which are NULL there. The request's
	 * programs and maps must outlive the result, its snapshot is retained; all else is copied. */
	enum rql_serve (*can_scan)(const struct rql_scan_request *request, const struct rql_device *device,
	                           const char **reason);
	rql_status (*prepare_scan)(const struct rql_scan_request *request, struct rql_device *device,
	                           struct rql_prepared **out, struct rql_error *err);
	/* Selections of rows of a column store (scan/scan_rows.h); NULL: it has none. What prepare_rows makes is priced, freed
	 * and measured as all else is, and run by run_rows only: the rows as a batch that the caller releases; of out the
	 * counts and times. */
	enum rql_serve (*can_rows)(const struct rql_scan_rows_request *request, const struct rql_device *device,
	                           const char **reason);
	rql_status (*prepare_rows)(const struct rql_scan_rows_request *request, struct rql_device *device,
	                           struct rql_prepared **out, struct rql_error *err);
	rql_status (*run_rows)(const struct rql_prepared *prepared, struct rql_device *device, unsigned flags,
	                       struct rql_arena *arena, struct rql_progress *progress, struct rql_batch **rows,
	                       struct rql_answer *out, struct rql_error *err);
	/* Binds the request: code sets become intervals. The request may be freed afterwards; the relation must outlive the
	 * result, which is immutable: several threads may run it at once. */
	rql_status (*prepare)(const struct rql_relation *relation, const struct rql_request *request,
	                      struct rql_device *device, struct rql_prepared **out, struct rql_error *err);
	void (*price)(const struct rql_prepared *prepared, const struct rql_device *device, struct rql_cost *out);
	/* The answer's arrays live in arena. flags: RQL_RUN_*. progress may be NULL; its cancel flag is polled. What must
	 * be in the device's memory and is not yet is put there first (a price counts that as setup). RQL_ERROR_DEVICE,
	 * LIMIT or MEMORY: nothing is lost, the host can answer. */
	rql_status (*run)(const struct rql_prepared *prepared, struct rql_device *device, unsigned flags,
	                  struct rql_arena *arena, struct rql_progress *progress, struct rql_answer *out,
	                  struct rql_error *err);
	void (*free_prepared)(struct rql_prepared *prepared);
	uint64_t (*prepared_bytes)(const struct rql_prepared *prepared);
};

/* NULL-terminated list of every method compiled in. */
const struct rql_method *const *rql_methods(void);

#endif
