/* Structures: what is built ahead from tables and kept. This is what sessions see of them: made, extended, brought back
 * after reopening, kept in the database and beside it, put on devices. Each kind is a table of functions (kind.h); the
 * states are catalog/catalog.h's. */
#ifndef RQL_STRUCTURE_STRUCTURE_H
#define RQL_STRUCTURE_STRUCTURE_H

#include <pthread.h>
#include "method/contents.h"
#include "plan/plan.h"
#include "sql/statement.h"
#include "structure/side.h"

/* ---- what the structures of a database share ---- */
enum rql_device_limit_kind { RQL_LIMIT_AUTO, RQL_LIMIT_BYTES, RQL_LIMIT_PERCENT };
struct rql_device_limit { /* rayql_device_memory_limit */
	_Atomic int kind;
	_Atomic uint64_t value; /* BYTES: of each GPU; PERCENT: thousandths of a percent of its memory */
};
struct rql_load_failures;
struct rql_structures {
	/* The database's; set when it is opened. */
	struct rql_host_db *host;
	struct rql_catalog *catalog;
	struct rql_devices *devices;
	struct rql_planner *planner;
	struct rql_budget *budget;
	const char *name; /* DuckDB's name of the database that was opened */
	bool read_only;
	_Atomic uint64_t *settings_epoch; /* DuckDB's settings may have changed, or RayQL's database-wide ones */
	/* Their own. */
	struct rql_side side;
	/* Binds definitions and looks at the committed catalog, whatever the users' connections are in the middle of. */
	pthread_mutex_t loader_lock;
	struct rql_host_con *loader;
	/* One build, or change of definitions, at a time: a build uses every thread anyway. */
	pthread_mutex_t build_lock;
	_Atomic bool sync_wanted; /* rql_structures_sync found the lock taken: its holder does it */
	struct rql_device_limit device_limit;
	struct rql_load_failures *load_failures; /* of rayql_auto_columns; with build_lock held */
};

/* Who makes structures: a connection, as far as they need to know it. */
struct rql_build_context {
	struct rql_structures *structures;
	const struct rql_settings *settings;
	struct rql_progress *progress;
	char *notice; /* of the statement that runs: malloc'ed, or NULL */
	/* A second host connection at work (a build): what an interrupt has to interrupt, too. */
	pthread_mutex_t running_lock;
	struct rql_host_con *running;
	/* The connection's cached plans hold contents that are to go: all are dropped, or one that reads columns on the
	 * device (false: there is none). */
	void *session;
	void (*drop_plans)(void *session);
	bool (*drop_plan_on)(void *session, const struct rql_device *device);
};
rql_status rql_interrupted(struct rql_error *err);

/* ---- statements about structures ---- */
/* WITH (...) of CREATE MATERIALIZED VIEW and CREATE INDEX (options.c). */
struct rql_structure_options {
	enum rql_rollup rollup;
	enum rql_refresh refresh;
	bool unit_wanted; /* not auto */
	enum rql_unit unit;
	uint32_t unit_position; /* of the option, or of the layout that implies it, for the caret */
	const char *layout;     /* NULL: auto; in arena */
	uint32_t order_count;
	const char **order;      /* names, in arena */
	uint32_t order_position; /* of the option, for the caret */
	struct rql_sieve_form sieve;
	struct rql_ray_design rays;
};
/* What a view asks for is there: checked by CREATE only. */
rql_status rql_device_check_unit(const struct rql_build_context *ctx, const char *sql,
                                 const struct rql_structure_options *options, struct rql_error *err) RQL_MUST_CHECK;

/* A change of the database: DuckDB's side of it and the structure's row, together or not at all (definitions.c). */
struct rql_definition_change {
	const char *sql, *search_path;   /* DuckDB's side, and where its names are found; sql NULL: there is none */
	const struct rql_structure *put; /* NULL: no row is put */
	const char *schema, *name;       /* of the row that goes; NULL: none goes */
	bool try_only;                   /* only to see whether sql works */
};
/* On a connection of its own, so that nothing of the user's (transaction, settings, query log, an interrupt) has to
 * do with it, and what fails leaves nothing behind. cancel (may be NULL) is looked at before it becomes permanent. */
rql_status rql_definition_change(struct rql_structures *all, const struct rql_definition_change *change,
                                 const _Atomic bool *cancel, struct rql_error *err) RQL_MUST_CHECK;
/* Publishes what the database's table says. */
rql_status rql_definitions_read(struct rql_structures *all, struct rql_error *err) RQL_MUST_CHECK;

/* database.schema.name, quoted. */
void rql_put_qualified(struct rql_strbuf *out, const char *database, const char *schema, const char *name);
/* "system.main.duckdb_views() WHERE ...": those of the database whose schema and `column` have these names, in any case.
 * schema NULL: of any. */
void rql_put_objects(struct rql_strbuf *out, const char *function, const char *column, const char *database,
                     const char *schema, const char *name);

/* ---- making ---- */
/* Waits for the build lock, polling for an interrupt; try_only: RQL_ERROR_STALE when another session has it. */
rql_status rql_structures_lock(struct rql_build_context *ctx, bool try_only, struct rql_error *err) RQL_MUST_CHECK;
/* Gives it back and does what others wanted done meanwhile. */
void rql_structures_unlock(struct rql_structures *all);
/* The structure of this name that such a statement defines, retained; NULL: there is none. */
struct rql_structure *rql_structure_find(struct rql_structures *all, const char *schema, const char *name,
                                         enum rql_statement_kind statement);
/* The next three with the lock held. Builds what kind->describe gave and makes it known, instead of old (may be NULL).
 * sql: DuckDB's side of it, tried before the build (names that are taken, columns that DuckDB does not like in a view);
 * NULL: there is none. Takes s over. */
rql_status rql_structure_create(struct rql_build_context *ctx, struct rql_structure *s,
                                const struct rql_structure *old, const char *sql, struct rql_error *err) RQL_MUST_CHECK;
/* Builds the contents of s (unpublished, described); automatic ones make room. */
rql_status rql_structure_build(struct rql_build_context *ctx, struct rql_structure *s,
                               struct rql_error *err) RQL_MUST_CHECK;
/* Takes over the reference to old. use_side: its side file will do, when it is still right. What only grew is
 * extended. */
rql_status rql_structure_rebuild(struct rql_build_context *ctx, struct rql_structure *old, bool use_side,
                                 struct rql_error *err) RQL_MUST_CHECK;
/* Without the lock. Makes the structure (of a REFRESH plan) ready: from its side file or by building it.
 * RQL_ERROR_STALE: another session is at it. */
rql_status rql_structure_make_ready(struct rql_build_context *ctx, const struct rql_structure *structure,
                                    struct rql_error *err) RQL_MUST_CHECK;
/* Carries an RQL_PLAN_LOAD out. On failure the host answers; the reason is remembered until something changes. */
rql_status rql_columns_load(struct rql_build_context *ctx, const struct rql_plan_load *load,
                            struct rql_error *err) RQL_MUST_CHECK;
void rql_load_failures_free(struct rql_load_failures *failures); /* NULL accepted */
/* After schema statements: structures whose view is gone are removed, whose definition no longer binds become
 * INVALID. */
void rql_structures_sync(struct rql_structures *all);
/* When the database is closed. What rows were appended to has no side file any more: one is written now, not after
 * every INSERT. Nor has an index's file what queries made of it since. */
void rql_structures_save_appended(struct rql_structures *all, struct rql_structure **list, uint32_t count);
/* What the next opening may use, into out[count]: contents of fresh structures with a file, and files that were never
 * needed and are still valid; and what it may say, of those whose file could not be kept. Returns how many. */
uint32_t rql_structures_kept(struct rql_structures *all, struct rql_structure **list, uint32_t count,
                             struct rql_side_entry *out);

/* ---- plan_context's questions; state: struct rql_build_context ---- */
struct rql_structure *rql_structure_bound(void *state, struct rql_structure *structure);
const char *rql_structure_build_failure(void *state, const struct rql_structure *s);
const char *rql_device_failure(const struct rql_structure *s, const struct rql_device *device);
bool rql_device_fits(void *state, struct rql_device *device, uint64_t bytes, struct rql_arena *arena,
                     const char **why);
uint64_t rql_device_room(void *state, struct rql_device *device);
bool rql_device_make_room(void *state, struct rql_device *device, uint64_t bytes, uint64_t missing, uint64_t since);

/* ---- devices that failed (place.c) ---- */
/* What a structure says of itself on which kind->fail was called. */
void rql_device_put_failure(struct rql_strbuf *out, const struct rql_structure *s, const struct rql_device *device,
                            const char *message);
/* The device's memory was full and has room now: what could not be placed may be tried again. */
void rql_device_retry(const struct rql_structure *s, const struct rql_device *device);

#endif
