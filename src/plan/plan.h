/* The planner: a statement's plan against the structures that exist. It never runs anything but small host queries over
 * dictionaries; flow/run.h runs what it makes. */
#ifndef RQL_PLAN_PLAN_H
#define RQL_PLAN_PLAN_H

#include "catalog/catalog.h"
#include "column/batch.h"
#include "device/device.h"
#include "flow/run.h"
#include "host/host.h"
#include "method/method.h"
#include "sql/rel.h"
#include "util/status.h"

enum rql_fallback { RQL_FALLBACK_ON, RQL_FALLBACK_NOTICE, RQL_FALLBACK_OFF };

/* A connection's settings (SET rayql_...). */
struct rql_settings {
	enum rql_fallback fallback;
	char device[64];           /* rayql_device as given: 'auto', 'cpu', 'vulkan:0', a UUID or a PCI address */
	struct rql_device *only;   /* the device that it names; NULL: 'auto', the CPU and real GPUs */
	bool unit_forced;          /* rayql_unit is not 'auto': it outranks what views ask for */
	enum rql_unit unit;        /* unit_forced: methods of this unit only */
	char layout[64];           /* rayql_layout: outranks what views ask for; "": auto */
	uint32_t disabled_methods; /* bit i: rql_methods()[i] is off (rayql_enable_<method> = off) */
	bool force;                /* rayql_force = on: take the best RayQL plan even when the host looks cheaper */
	bool auto_columns;         /* rayql_auto_columns = on: plans may ask for columns to be loaded */
	bool timing;               /* rayql_device_timing = on: runs measure their time on the device */
};

struct rql_codes_memo;
struct rql_map_cache;
struct rql_map_epochs;
/* What planning learns once per database: which functions change their value, whether views or macros use them. Shared
 * by the database's connections; made at open. */
struct rql_planner;
rql_status rql_planner_new(struct rql_planner **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_planner_free(struct rql_planner *planner);

struct rql_plan_context {
	struct rql_planner *planner;
	struct rql_host_con *host;
	struct rql_host_db *host_db;
	struct rql_catalog *catalog;
	struct rql_devices *devices; /* GPUs are looked for when a structure is first priced */
	const struct rql_settings *settings;
	/* Inside BEGIN ... COMMIT: the catalog's stamp at the BEGIN; a structure one of whose tables moved later is not
	 * used. 0: no transaction is open. (A transaction that has written is not planned at all.) */
	uint64_t snapshot_stamp;
	struct rql_budget *budget; /* rayql_memory_limit: of large answers; NULL: none */
	struct rql_progress *progress; /* cancels what is run while planning; NULL: nothing does */
	struct rql_map_cache *maps;    /* of the database (map_cache.h); NULL: every plan makes its own */
	const struct rql_map_epochs *map_epochs; /* with maps */
	struct rql_codes_memo *codes; /* of the plan being made (codes_memo.h); NULL: none */
	/* Gives the structure a definition when it has none yet (after reopening); returns the structure to use (retained),
	 * or NULL. */
	struct rql_structure *(*load)(void *state, struct rql_structure *s);
	void *load_state;
	/* Why the structure is not built now (its last build failed, and nothing has changed since), or NULL: it may be. May
	 * be NULL. state: load_state. */
	const char *(*build_failure)(void *state, const struct rql_structure *s);
	/* What the planner asks about GPUs; all four may be NULL. state: load_state. */
	void (*device_ready)(void *state, struct rql_device *device); /* called before each use: measures the first time */
	/* Why the structure is not used on the device although it could be (a run failed there), or NULL. */
	const char *(*device_failure)(const struct rql_structure *s, const struct rql_device *device);
	/* Are `bytes` more to be had there under rayql_device_memory_limit? *why: in arena. */
	bool (*device_fits)(void *state, struct rql_device *device, uint64_t bytes, struct rql_arena *arena,
	                    const char **why);
	/* Makes room for `missing` bytes of `bytes` that somebody will need there: gives up columns that no plan uses and that
	 * nobody wanted `since` then (rql_now_ns), else what a plan of the session keeps for its next run, the one that was
	 * used longest ago. False: there is nothing to give up, or without all of it there would be no room for `bytes`
	 * either. */
	bool (*device_make_room)(void *state, struct rql_device *device, uint64_t bytes, uint64_t missing, uint64_t since);
};

/* What the operators of a plan need of it. */
static inline struct rql_flow rql_plan_flow(const struct rql_plan_context *ctx, struct rql_progress *progress)
{
	return (struct rql_flow){.host = ctx->host,
	                         .host_db = ctx->host_db,
	                         .catalog = ctx->catalog,
	                         .snapshot_stamp = ctx->snapshot_stamp,
	                         .progress = progress,
	                         .pool = ctx->devices->device[0].pool,
	                         .simd = ctx->devices->device[0].simd,
	                         .budget = ctx->budget};
}

/* ---- devices and units (units.c) ---- */
/* May methods of this unit run on this device, as the settings stand? NULL: yes; else why not; lives as the device. */
const char *rql_device_refused(const struct rql_settings *settings, const struct rql_device *device,
                               enum rql_unit unit);
/* Is there such a device? When not, each one's reason is appended to *why (which may be NULL). */
bool rql_unit_available(const struct rql_devices *devices, const struct rql_settings *settings, enum rql_unit unit,
                        struct rql_strbuf *why);
/* "NVIDIA H200, vulkan:0" */
void rql_put_device(struct rql_strbuf *out, const struct rql_device *device);
/* Is the method for WITH (layout = ...) of this value? layout NULL: for views without one. */
bool rql_method_has_layout(const struct rql_method *method, const char *layout);
/* The first method that is; NULL: none. */
const struct rql_method *rql_layout_method(const char *layout);
void rql_put_layouts(struct rql_strbuf *out); /* "auto, paper": all values */

/* ---- definitions of materialized views ---- */
struct rql_definition; /* immutable, reference-counted */
/* Plans the defining SELECT and checks that it is one: GROUP BY (or none) over tables, inner joins and filters, with
 * aggregates that a cube can hold, and no function whose value changes. RQL_ERROR_STATEMENT names what is in the way
 * and what to do; RQL_ERROR_HOST is DuckDB's own error (an unknown column ...). */
rql_status rql_definition_make(const struct rql_plan_context *ctx, const char *query, struct rql_definition **out,
                               struct rql_error *err) RQL_MUST_CHECK;
void rql_definition_retain(struct rql_definition *def);
void rql_definition_release(void *def);
/* The base tables read, each once. */
uint32_t rql_definition_table_count(const struct rql_definition *def);
void rql_definition_table(const struct rql_definition *def, uint32_t index, const char **database, const char **schema,
                          const char **name);
/* What to build: fills everything of the spec but name, rollup, order, budget, progress, device (declared in
 * method/cube/cube.h; the planner knows methods only through method.h, so these are given in parts). */
uint32_t rql_definition_dimension_count(const struct rql_definition *def);
struct rql_type rql_definition_dimension_type(const struct rql_definition *def, uint32_t index);
const char *rql_definition_dimension_name(const struct rql_definition *def, uint32_t index);
struct rql_definition_measure {
	struct rql_type type;
	const char *name;
	bool sum, min, max;
};
uint32_t rql_definition_measure_count(const struct rql_definition *def);
struct rql_definition_measure rql_definition_measure_at(const struct rql_definition *def, uint32_t index);
/* The query that pushes every row into a sink, malloc'ed: SELECT count(rayql_sink(N, dimensions..., measures...)) FROM
 * ... */
char *rql_definition_source(const struct rql_definition *def, uint64_t sink);

/* ---- plans of queries ---- */
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
struct rql_plan_table { /* a table that the query reads, with the version that the plan saw */
	struct rql_table *table;
	uint64_t version;
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
	struct rql_plan_table *tables;
	bool cacheable;    /* false: the text holds something that was folded at planning time (now(), a variable, ...) */
	bool unsettled;    /* a structure would be built but for its last failure: what may help has no epoch */
	bool read;         /* the host's plan could be had and read */
	bool tables_known; /* false: the plan was not read, or holds something opaque, so tables may not be complete (do not
	                      cache) */
	double estimated_ns, host_estimated_ns;
	struct rql_arena *arena;
	struct rql_bound *bound; /* retained: names and texts lie in it (plan/bound.h) */
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
