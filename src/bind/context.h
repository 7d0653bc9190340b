/* What binding and planning are given: the session's settings, the host, the catalog, the devices. */
#ifndef RQL_BIND_CONTEXT_H
#define RQL_BIND_CONTEXT_H

#include "catalog/catalog.h"
#include "device/device.h"
#include "flow/run.h"
#include "host/host.h"
#include "method/method.h"
#include "sql/rel/rel.h"
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
	enum rql_totals totals;    /* rayql_totals: of groups that are drawn */
	uint64_t disabled_methods; /* bit i: rql_methods()[i] is off (rayql_enable_<method> = off) */
	bool force;                /* rayql_force = on: take the best RayQL plan even when the host looks cheaper */
	bool force_rows;           /* rayql_force = rows: the same, under ROWS wherever a method gives some */
	bool force_pairs;          /* rayql_force = pairs: the same, and pairs of joins by a method wherever one gives them */
	bool force_order;          /* rayql_force = order: force_rows, and a GPU puts rows in order wherever it can */
	bool auto_columns;         /* rayql_auto_columns = on: plans may ask for columns to be loaded */
	bool timing;               /* rayql_device_timing = on: runs measure their time on the device */
};

/* May work of this unit run on this device, as the settings stand? NULL: yes; else why not; lives as the device. */
const char *rql_device_refused(const struct rql_settings *settings, const struct rql_device *device,
                               enum rql_unit unit);

struct rql_codes_memo;
struct rql_map_cache;
struct rql_map_epochs;
/* What planning learns once per database: which functions change their value, whether views or macros use them. Shared
 * by the database's connections; made at open. */
struct rql_awaited;
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
	bool comes_again; /* the text had a plan, which gives way to this one (rql_plan.swayed, awaited) */
	struct rql_codes_memo *codes; /* of the plan being made (codes_memo.h); NULL: none */
	/* Gives the structure a definition when it has none yet (after reopening); returns the structure to use (retained),
	 * or NULL. */
	struct rql_structure *(*load)(void *state, struct rql_structure *s);
	void *load_state;
	/* Why the structure is not built now (its last build failed, and nothing has changed since), or NULL: it may be. May
	 * be NULL. state: load_state. */
	const char *(*build_failure)(void *state, const struct rql_structure *s);
	/* What the planner asks about GPUs; all may be NULL. state: load_state. */
	/* Called before each use: it is measured. wait: it is measured now, the first time; else false says that it is not yet. */
	bool (*device_ready)(void *state, struct rql_device *device, bool wait);
	/* Are the devices listed and measured? awaited: if not, that has begun, and is counted there; NULL: only looks. */
	bool (*devices_open)(void *state, struct rql_awaited *awaited);
	/* Why the structure is not used on the device although it could be (a run failed there), or NULL. */
	const char *(*device_failure)(const struct rql_structure *s, const struct rql_device *device);
	/* Are `bytes` more to be had there under rayql_device_memory_limit? *why: in arena. */
	bool (*device_fits)(void *state, struct rql_device *device, uint64_t bytes, struct rql_arena *arena,
	                    const char **why);
	/* How many are. */
	uint64_t (*device_room)(void *state, struct rql_device *device);
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
	                         .budget = ctx->budget,
	                         .device_room = ctx->device_room,
	                         .device_state = ctx->load_state};
}

#endif
