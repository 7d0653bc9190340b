/* The planner: a statement's plan against the structures that exist. It never runs anything but small host queries over
 * dictionaries; flow/run.h runs what it makes. */
#ifndef RQL_PLAN_PLAN_H
#define RQL_PLAN_PLAN_H

#include "bind/block/definition.h"
#include "bind/context.h"
#include "column/batch.h"
#include "sql/rel/rel.h"

/* ---- devices and units (units.c) ---- */
/* Is there such a device? When not, each one's reason is appended to *why (which may be NULL). */
bool rql_unit_available(const struct rql_devices *devices, const struct rql_settings *settings, enum rql_unit unit,
                        struct rql_strbuf *why);
/* "NVIDIA H200, vulkan:0" */
void rql_put_device(struct rql_strbuf *out, const struct rql_device *device);
/* "    estimated: 7200 points in 6 passes, ..." and a newline, indented so far; nothing where nothing is to be drawn. */
struct rql_drawn;
void rql_put_drawing(struct rql_strbuf *out, const struct rql_drawn *drawn, unsigned depth);
/* "; without vulkan:1, which failed: REASON", where a run has left the device out. */
void rql_put_left_device(struct rql_strbuf *out, const struct rql_left_devices *left, const struct rql_device *device);
/* Is the method for WITH (layout = ...) of this value? layout NULL: for views without one. */
bool rql_method_has_layout(const struct rql_method *method, const char *layout);
/* The first method that is; NULL: none. */
const struct rql_method *rql_layout_method(const char *layout);
void rql_put_layouts(struct rql_strbuf *out); /* "auto, paper": all values */

/* ---- plans of queries ---- */
struct rql_awaited;
struct rql_bound;
enum rql_plan_kind {
	RQL_PLAN_HOST,    /* the host answers; see reason */
	RQL_PLAN_METHOD,  /* methods answer, RayQL or the host finishes */
	RQL_PLAN_REFRESH, /* the structure `refresh` (retained) would serve, must be built or rebuilt first (unbuilt, or
	                     refresh = auto; columns of which rows were only added since are extended, not rebuilt) */
	RQL_PLAN_LOAD,    /* rayql_auto_columns: a scan would serve once `load` is in memory; then plan again */
};
/* Columns of one table that a scan of this query needs and no structure has. */
struct rql_plan_load {
	struct rql_table_ref table;
	uint32_t column_count;
	const uint32_t *column_ids; /* as in struct rql_structure */
	const char *const *column_names;
};
/* Public part; exec and explain see more through plan/plan_nodes.h. Immutable once made, but runs of one plan must not
 * overlap (it belongs to one connection). */
struct rql_plan {
	enum rql_plan_kind kind;
	const char *reason;              /* one line, never NULL: why this plan */
	const char *method;              /* "cube", "host" */
	const char *unit;                /* "cpu", "" */
	const struct rql_device *device; /* of the first leaf; NULL: the host */
	const char *structure;           /* names of the structures read, comma separated; "" */
	struct rql_structure *refresh;
	const struct rql_plan_load *load; /* LOAD */
	uint32_t table_count; /* every table of the query, also for HOST: what the cached plan's validity depends on */
	struct rql_table_seen *tables;
	bool cacheable;    /* false: the text holds something that was folded at planning time (now(), a variable, ...) */
	bool unsettled;    /* a structure would be built but for its last failure: what may help has no epoch */
	bool read;         /* the host's plan could be had and read */
	bool tables_known; /* false: the plan was not read, or holds something opaque, so tables may not be complete (do not
	                      cache) */
	double estimated_ns, host_estimated_ns;
	/* Literals that a run may have other values of: any of their types, but integers are of 64 bits as they are stored. */
	struct rql_points points;
	/* A better plan waits for a driver's compiler, which is at work (await.h): once this is settled, plan again. NULL: none
	 * does. One reference; awaiting says what it is. */
	struct rql_awaited *awaited;
	const char *awaiting;
	bool swayed; /* what a preparation took has decided against another plan: plan again when the text comes again */
	struct rql_arena *arena;
	struct rql_bound *bound; /* retained: names and texts lie in it (bind/normal/bound.h) */
	struct rql_plan_nodes *nodes;
};
/* Plans one SELECT, as bound (retained by the plan), with the values of these literals: its own, or others that it serves.
 * stamp: the catalog's before the statement was bound, or before what was bound was found to be of the schema of now. The
 * caller checks the types of the plan's root against the statement's. Fails only for RQL_ERROR_MEMORY and
 * RQL_ERROR_INTERRUPTED: whatever RayQL cannot do is a HOST plan with the reason. */
rql_status rql_plan_make(const struct rql_plan_context *ctx, struct rql_bound *bound,
                         const struct rql_literals *literals, uint64_t stamp, struct rql_plan **out,
                         struct rql_error *err) RQL_MUST_CHECK;
void rql_plan_free(struct rql_plan *plan);
uint64_t rql_plan_bytes(const struct rql_plan *plan);
/* A larger plan is not kept for its next run, so that what it prepares must pay off in one. */
uint64_t rql_plan_most_bytes(const struct rql_budget *budget);

/* Can the plan still run? Not when a device of it was lost. */
bool rql_plan_alive(const struct rql_plan *plan);
/* Does it read columns that lie on the device? */
bool rql_plan_scans_on(const struct rql_plan *plan, const struct rql_device *device);
/* Appends EXPLAIN's text. stats NULL: EXPLAIN without ANALYZE; profile may be NULL. */
void rql_plan_explain(const struct rql_plan *plan, const struct rql_run_stats *stats,
                      const struct rql_run_profile *profile, struct rql_strbuf *out);

#endif
