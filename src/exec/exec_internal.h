/* Shared by the files of exec/ that serve sessions (not by run.c, leaf.c, finish.c, which know plans only). */
#ifndef RQL_EXEC_INTERNAL_H
#define RQL_EXEC_INTERNAL_H

#include "exec/session.h"
#include "method/cube/cube.h"
#include "sql/statement.h"
#include "util/files.h"
#include "util/mac.h"
#include <pthread.h>
#include <sys/types.h>

/* ---- files that this process has open (open_files.c) ---- */
struct rql_open_file {
	uint64_t device, inode;
	pid_t process; /* a forked child has the list, but none of its databases */
	int fd; /* of our own, or -1: closing any descriptor of a file gives up its process's locks on it, so this one stays
	         * open for as long as DuckDB has the file open */
	bool read_only;
	bool held;     /* our lock is on it */
	bool detached; /* DuckDB has closed it, by DETACH */
	struct rql_open_file *next;
};
/* The file that DuckDB opens for this path, malloc'ed; *out NULL: it is not one of this machine's. False: out of
 * memory. */
bool rql_local_path(const char *path, char **out) RQL_MUST_CHECK;
/* RQL_ERROR_IO: a descriptor of this process has the file at path (or its log) open, not both for reading only. */
rql_status rql_open_file_check(const char *path, bool read_only, struct rql_error *err) RQL_MUST_CHECK;
/* RQL_ERROR_IO: a database of RayQL's has it open. *out stays NULL where there is no file yet. */
rql_status rql_open_file_enter(const char *path, bool read_only, struct rql_open_file **out,
                               struct rql_error *err) RQL_MUST_CHECK;
/* After DuckDB has opened it: from now on nobody else can, not in this process either. RQL_ERROR_IO: one just has. */
rql_status rql_open_file_hold(struct rql_open_file *file, const char *path, struct rql_error *err) RQL_MUST_CHECK;
/* After an ATTACH or DETACH: has DuckDB closed the file, or opened it again? The lock comes and goes with it. */
bool rql_open_file_follow(struct rql_open_file *file);
void rql_open_file_leave(struct rql_open_file *file); /* NULL accepted */
/* ATTACH (attach.c): RQL_ERROR_IO when this process has the file open already. Other statements pass. */
rql_status rql_attach_check(struct rql_database *db, const char *sql, struct rql_error *err) RQL_MUST_CHECK;
/* After an ATTACH or DETACH: when the database itself was closed or came back, nothing that is known of it holds. */
void rql_attach_done(struct rql_database *db);

/* ---- the side folder (sidefile.c) ---- */
/* What tells one state of a database file from another. */
struct rql_file_identity {
	uint64_t size, hash[2];
	int64_t seconds, nanoseconds; /* of the last change */
};
struct rql_side_entry {
	char *schema, *name, *file, *hash;
};
struct rql_side_stamped {
	char name[72];
	struct rql_file_stamp stamp;
};
struct rql_side {
	char *folder;   /* FILE.db.rayql, or NULL: no side files for this database */
	char *database; /* the database's file */
	int file;       /* that file, or -1: borrowed from the database's rql_open_file */
	int dir;        /* the folder, open, or -1; meaningless while `folder` is NULL */
	mode_t mode;    /* of new files: the user's part of the database file's own */
	_Atomic bool writable;
	bool valid;  /* the manifest describes the database file as it was opened */
	bool sealed; /* `seal` is the file as DuckDB left it, taken while it still held its lock */
	struct rql_file_identity seal, opened; /* opened: the manifest's, when it is valid */
	bool has_key;
	struct rql_mac_key key; /* what manifests are signed with */
	char *why;              /* not valid: the reason, when there was a manifest; else NULL */
	uint32_t count, capacity, stamp_count, stamp_capacity;
	struct rql_side_entry *entries;
	struct rql_side_stamped *stamps; /* of files that the manifest names, or that were written since */
};
/* Before DuckDB opens the file (file: a descriptor of it, -1 where there is none yet): reads the manifest and compares
 * it with the file. */
rql_status rql_side_open(const char *path, int file, bool read_only, struct rql_side *side,
                         struct rql_error *err) RQL_MUST_CHECK;
/* After DuckDB has opened it: the file must still be the same (no replayed log). */
void rql_side_recheck(struct rql_side *side, int file);
const struct rql_side_entry *rql_side_find(const struct rql_side *side, const char *schema, const char *name);
/* s's contents. *file: the new file's name, malloc'ed. */
rql_status rql_side_write(struct rql_side *side, const struct rql_structure *s, char **file,
                          struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_side_read(const struct rql_side *side, const char *file, const char *hash, struct rql_budget *budget,
                         struct rql_cube **out, struct rql_error *err) RQL_MUST_CHECK;
rql_status rql_side_read_store(const struct rql_side *side, const char *file, const char *hash,
                               struct rql_budget *budget, struct rql_store **out, struct rql_error *err) RQL_MUST_CHECK;
/* Acceleration structures beside a cube's file (side_rt.c); what does not work is built instead. No file is written
 * when reading it would take longer than building took. read: false when there was nothing to use. */
void rql_side_write_rt(struct rql_side *side, const char *file, const struct rql_cube *cube,
                       struct rql_device *device);
bool rql_side_read_rt(const struct rql_side *side, const char *file, const struct rql_cube *cube,
                      struct rql_device *device);
bool rql_side_is_rt_file(const char *name);
/* Deletes a file and the acceleration structures beside it. */
void rql_side_forget(struct rql_side *side, const char *file);
/* The same, of contents that others have replaced, but for a file that the next opening may still want: when this
 * process dies now, the manifest of the session before counts, unless the database has changed. file: NULL accepted. */
void rql_side_replaced(struct rql_side *side, const char *file);
/* Before DuckDB closes the database, after a checkpoint that left nothing to write: notes what the file is now, so that
 * nobody's writing between DuckDB's closing and the manifest goes unnoticed. */
void rql_side_seal(struct rql_side *side);
/* After DuckDB has closed the database: writes the manifest of `kept` and deletes every other file of ours. */
void rql_side_close(struct rql_side *side, const struct rql_side_entry *kept, uint32_t count);
void rql_side_free(struct rql_side *side);

/* ---- the plan cache (plan_cache.c) ---- */
struct rql_plan_cache;
struct rql_bound_cache;
struct rql_cache_entry {
	char *text;
	uint64_t hash, length, bytes;
	bool method;                 /* plan is to be run; else the host answers */
	const char *first;           /* not METHOD: what a run would do first (EXPLAIN only), static; NULL: nothing */
	bool base_tables;            /* HOST: it reads a base table (what rayql_fallback = 'off' forbids) */
	struct rql_plan *plan;       /* METHOD */
	struct rql_columns *columns; /* METHOD */
	/* HOST: tables of which columns are held or may be loaded. Their growth may change the decision. */
	uint32_t watched_count;
	struct rql_plan_table *watched;
	char *reason;
	double estimated_ns, host_estimated_ns;
	uint64_t schema_epoch, structure_epoch, session_epoch, settings_epoch;
	struct rql_cache_entry *newer, *older, *next;
};
/* Eight bytes a step (multiply and fold): statements are short, and who finds one compares it in the end. */
uint64_t rql_text_hash(const char *text, size_t length);
/* budget: of rayql_memory_limit; outlives the cache. */
struct rql_plan_cache *rql_plan_cache_new(struct rql_budget *budget);
void rql_plan_cache_free(struct rql_plan_cache *cache);
/* The entry for exactly this text, made the newest, when every epoch is still its own; a dead one is dropped. */
struct rql_cache_entry *rql_plan_cache_find(struct rql_plan_cache *cache, const struct rql_session *s, const char *sql);
/* Takes entry over (sql is copied); false: it does not fit and stays the caller's. */
bool rql_plan_cache_put(struct rql_plan_cache *cache, const char *sql, struct rql_cache_entry *entry);
void rql_cache_entry_free(struct rql_cache_entry *entry);
void rql_plan_cache_clear(struct rql_plan_cache *cache);
/* Drops the plan that was used longest ago of those that scan columns on the device. False: there is none. */
bool rql_plan_cache_drop_scan(struct rql_plan_cache *cache, const struct rql_device *device);
/* Drops the plans for the device but this one: each keeps memory there for its next run. False: there was none. */
bool rql_plan_cache_make_room(struct rql_plan_cache *cache, const struct rql_device *device,
                              const struct rql_plan *but);

/* ---- devices (devices.c) ---- */
enum rql_device_limit_kind { RQL_LIMIT_AUTO, RQL_LIMIT_BYTES, RQL_LIMIT_PERCENT };
struct rql_device_limit { /* rayql_device_memory_limit */
	_Atomic int kind;
	_Atomic uint64_t value; /* BYTES: of each GPU; PERCENT: thousandths of a percent of its memory */
};
/* plan_context's four questions. */
void rql_device_first_use(void *session, struct rql_device *device);
const char *rql_device_failure(const struct rql_structure *s, const struct rql_device *device);
bool rql_device_fits(void *session, struct rql_device *device, uint64_t bytes, struct rql_arena *arena,
                     const char **why);
bool rql_device_make_room(void *session, struct rql_device *device, uint64_t bytes, uint64_t missing, uint64_t since);
/* Puts s (unpublished, READY, with its cube) on the devices that the view and the session want. What does not work is a
 * note of s and, with rayql_fallback = 'notice', a notice of the statement: the CPU has the cube all the same. */
void rql_device_place(struct rql_session *session, struct rql_structure *s);
/* Writes the acceleration structures that rql_device_place made beside s's side file. */
void rql_device_save(struct rql_database *db, const struct rql_structure *s);
/* A run of the leaf failed on its device: the structure is marked and nobody's plans use it there any more. */
void rql_device_failed(struct rql_session *session, const struct rql_structure *s, const struct rql_device *device,
                       const char *message);
/* What a structure so marked says of itself. */
void rql_device_put_failure(struct rql_strbuf *out, const struct rql_structure *s, const struct rql_device *device,
                            const char *message);
/* The device's memory was full and has room now: what could not be placed may be tried again. */
void rql_device_retry(const struct rql_structure *s, const struct rql_device *device);
/* What a view asks for is there: checked by CREATE only. */
rql_status rql_device_check_unit(struct rql_session *session, const char *sql, bool wanted, enum rql_unit unit,
                                 uint32_t position, struct rql_error *err) RQL_MUST_CHECK;

/* ---- database and session ---- */
#define RQL_SETTINGS_MAX 64u /* also bits of rql_session.own_settings */
#define RQL_SETTING_VALUE_MAX 128u
struct rql_global_setting {
	char name[64], value[RQL_SETTING_VALUE_MAX]; /* as it was given */
};
struct rql_global_settings {
	pthread_mutex_t lock;
	_Atomic uint64_t stamp; /* moves with each change; never 0 */
	uint32_t count;         /* those that somebody has given */
	struct rql_global_setting values[RQL_SETTINGS_MAX];
};
struct rql_database {
	struct rql_host_db *host;
	struct rql_catalog *catalog;
	struct rql_devices *devices;
	struct rql_planner *planner;
	struct rql_budget budget;
	char *name; /* DuckDB's name of the database that was opened */
	bool in_memory, read_only;
	uint32_t threads;
	struct rql_global_settings settings;
	_Atomic uint64_t settings_epoch; /* DuckDB settings may have changed, or RayQL's database-wide ones */
	void *functions;                 /* what the registered table functions point to (functions.c) */
	struct rql_side side;
	struct rql_open_file *open_file;
	pthread_mutex_t sessions_lock;
	struct rql_session *sessions;
	/* Binds definitions and looks at the committed catalog, whatever the users' connections are in the middle of. */
	pthread_mutex_t loader_lock;
	struct rql_host_con *loader;
	/* One build, or change of definitions, at a time: a build uses every thread anyway. */
	pthread_mutex_t build_lock;
	struct rql_device_limit device_limit;
	pthread_mutex_t devices_lock;            /* one measuring at a time */
	_Atomic uint32_t devices_ready;          /* bit i: device i has its profile, measured or not to be measured */
	struct rql_load_failures *load_failures; /* of rayql_auto_columns (columns_auto.c); with build_lock held */
	_Atomic bool sync_wanted;                /* rql_structures_sync found the lock taken: its holder does it */
};

struct rql_transaction {
	bool open;   /* between BEGIN and COMMIT or ROLLBACK */
	bool wrote;  /* from the first write on the host answers */
	bool failed; /* an error inside: DuckDB may have aborted it, so the host answers */
	bool schema; /* holds a statement that changed schema objects */
	uint64_t stamp;
	struct rql_write_set set, appends; /* as in struct rql_effects; a table may be in both */
};

struct rql_session {
	struct rql_database *db;
	struct rql_host_con *host;
	uint64_t host_id;
	struct rql_settings settings;
	uint64_t own_settings;   /* bit i: the i-th setting (rql_settings_row) has a value of its own */
	uint64_t settings_stamp; /* of the database's values that it has taken over */
	bool settings_untold;    /* DuckDB does not know all of them yet (settings_scope.c) */
	uint64_t epoch;          /* moves with the session's settings */
	uint64_t variables;      /* moves with SET VARIABLE */
	struct rql_plan_cache *cache;
	struct rql_bound_cache *bounds; /* exec/bound_cache.h */
	struct rql_map_cache *maps;     /* plan/map_cache.h */
	struct rql_transaction txn;
	bool guard;              /* plans are made in a transaction of their own (session.c) */
	uint64_t guard_epoch;    /* one more than the schema epoch at which that was found out; 0: never */
	struct rql_result *open; /* the streaming result that the next statement closes */
	struct rql_report report;
	char *notice; /* of RayQL's own statement that runs: malloc'ed, or NULL */
	struct rql_progress progress;
	pthread_mutex_t running_lock;
	struct rql_host_con *running; /* a second host connection at work for this session (a build) */
	struct rql_session *next;
};

/* What one statement's execution needs to know. */
struct rql_call {
	struct rql_session *s;
	const char *sql;
	bool stream;   /* the caller wants to fetch: rows need not be there at once */
	bool expanded; /* a part of what DuckDB made of sql: the text names neither tables nor the transaction's verb */
	uint64_t start_ns;
	const struct rql_columns *names; /* what the columns are called; NULL: as in the text that was planned */
	const char *failed; /* a method tried this statement and failed on its device: why; the host answers. Else NULL */
	struct rql_result **out; /* NULL: nobody wants the rows */
};

struct rql_plan_context rql_session_context(struct rql_session *s);
/* The same for a planning: whose binding changes nothing that stays. */
struct rql_plan_context rql_session_plan_context(struct rql_session *s);
/* The first and the last step of a call: a streaming result of before is closed; the result becomes the caller's, or
 * nobody's when the call failed. */
void rql_session_begin_call(struct rql_session *s);
rql_status rql_session_hand_out(struct rql_session *s, rql_status status, struct rql_result *res,
                                struct rql_result **out);
/* sql's only statement, behind empty ones; NULL: it has none, or several. */
const char *rql_session_single(const char *sql);
/* Starts the report of a statement that is going to be answered by `method`. */
void rql_report_start(struct rql_session *s, const char *method, const char *reason);
rql_status rql_interrupted(struct rql_error *err);
/* One query by its text, call->sql. It is planned before it is prepared, and prepared only where the host answers: what
 * DuckDB does while it binds (opens a file, attaches a database) is not done twice at a time. */
rql_status rql_select_text(const struct rql_call *call, struct rql_error *err);
/* A SELECT that is never planned: stmt, or NULL for the text as a whole, unprepared. Takes stmt over unless keep_stmt. */
rql_status rql_select_unplanned(const struct rql_call *call, struct rql_host_stmt *stmt, bool keep_stmt,
                                struct rql_error *err);
/* A cached plan for call->sql, when there is one that may run now: *done tells whether it answered; when it failed,
 * *why is set (malloc'ed) and the host must answer. */
rql_status rql_select_cached(const struct rql_call *call, bool *done, char **why, struct rql_error *err);
/* What select.c decided about a SELECT. */
struct rql_choice {
	bool bound;                    /* what the host had bound before served */
	struct rql_cache_entry *entry; /* in the cache, or `loose` */
	bool loose;                    /* not in the cache: rql_choice_clear frees it */
	bool cached;                   /* found there */
	char *reason;                  /* the host answers because of this; NULL: run entry->plan */
	char *why;                     /* the plan was run and failed: the host must answer after all */
	bool base_tables;              /* it reads somebody's rows */
	bool silent;                   /* it asks RayQL itself: no report */
};
/* text is a SELECT that nothing holds bound meanwhile. Errors are the host's own, and only inside a transaction. */
rql_status rql_select_choose(struct rql_session *s, const char *text, bool refresh, struct rql_choice *out,
                             struct rql_error *err);
void rql_choice_clear(struct rql_choice *choice);
/* The two halves of a SELECT. First a method is tried: text is what the planner sees, and *done whether it answered. If
 * not, the statement is prepared, and the host answers it, or refuses where rayql_fallback is 'off'. The choice is to be
 * cleared in any case. */
rql_status rql_select_try(const struct rql_call *call, const char *text, struct rql_choice *choice, bool *done,
                          struct rql_error *err);
rql_status rql_select_host(const struct rql_call *call, const struct rql_choice *choice, struct rql_host_stmt *stmt,
                           bool keep_stmt, struct rql_error *err);
/* Runs the plan of a choice; *why is set (malloc'ed) when the host must answer after all. passes (may be NULL): the run
 * measures itself on the device. */
rql_status rql_select_method(struct rql_session *s, const struct rql_plan *plan, struct rql_batch **batch,
                             struct rql_run_stats *stats, struct rql_run_passes *passes, char **why,
                             struct rql_error *err);
bool rql_mentions_own_functions(const char *sql);
/* Runs one host statement of whatever class. Takes stmt over unless keep_stmt. */
rql_status rql_host_run(const struct rql_call *call, struct rql_host_stmt *stmt, bool keep_stmt, struct rql_error *err);
/* Runs call->sql whole and unprepared, as a statement of that class. */
rql_status rql_host_run_text(const struct rql_call *call, enum rql_host_class kind, struct rql_error *err);
/* Ends the open transaction, whatever DuckDB has made of it by now. */
void rql_host_abandon(struct rql_session *s);

/* ---- the cost model's constants (calibrate.c) ---- */
rql_status rql_calibrate_device(struct rql_device *device, bool thorough, struct rql_error *err) RQL_MUST_CHECK;
/* Measures the short form and keeps it, when no profile is there yet. Not in a build with sanitizers. */
void rql_calibrate_first_start(struct rql_device *device);

/* ---- what writes touch (write_set.c) ---- */
struct rql_effects {
	struct rql_write_set set;
	struct rql_write_set appends; /* tables that can only have got more rows; not in `set` */
	bool schema;                  /* schema objects may change */
	bool attach;                  /* databases may be attached or detached */
	bool replace;                 /* views or tables may be gone or different afterwards */
};
void rql_effects_clear(struct rql_effects *effects);
void rql_effects_of(const char *sql, enum rql_host_class kind, struct rql_effects *out);
enum rql_txn_verb { RQL_TXN_BEGIN, RQL_TXN_COMMIT, RQL_TXN_ROLLBACK };
enum rql_txn_verb rql_txn_verb_of(const char *sql);

/* ---- results (result.c) ---- */
struct rql_columns *rql_columns_of_stmt(const struct rql_host_stmt *stmt);
struct rql_columns *rql_columns_of_result(const struct rql_host_result *res);
struct rql_columns *rql_columns_make(uint32_t count, const char *const *names, const struct rql_type *types);
struct rql_columns *rql_columns_retain(struct rql_columns *columns);
/* Takes columns (one reference) and the rest over, also on failure. */
rql_status rql_result_new(struct rql_session *s, struct rql_columns *columns, const char *method, const char *reason,
                          struct rql_result **out, struct rql_error *err) RQL_MUST_CHECK;
/* A result of RayQL's own statements: no rows. out may be NULL. */
rql_status rql_result_nothing(struct rql_session *s, struct rql_result **out, struct rql_error *err);
void rql_result_close(struct rql_result *res); /* what a later statement does */

/* ---- RayQL's own statements ---- */
rql_status rql_view_create(struct rql_session *s, const char *sql, const struct rql_statement *st,
                           struct rql_error *err);
rql_status rql_view_refresh(struct rql_session *s, const char *sql, const struct rql_statement *st,
                            struct rql_error *err);
rql_status rql_view_drop(struct rql_session *s, const char *sql, const struct rql_statement *st, struct rql_error *err);
/* Makes the structure (of a REFRESH plan) ready: from its side file or by building it. RQL_ERROR_STALE: another
 * session is at it. */
rql_status rql_structure_make_ready(struct rql_session *s, const struct rql_structure *structure,
                                    struct rql_error *err);
/* plan_context.load */
/* plan_context.build_failure. */
const char *rql_structure_build_failure(void *session, const struct rql_structure *s);
struct rql_structure *rql_structure_bound(void *session, struct rql_structure *structure);
/* After schema statements: structures whose view is gone are removed, whose definition no longer binds become
 * INVALID. */
void rql_structures_sync(struct rql_database *db);
/* SET and RESET (settings_scope.c). */
rql_status rql_settings_set(struct rql_session *s, const struct rql_statement *st, struct rql_error *err);
/* Takes over what others have set globally since the last call, where s has no value of its own. */
rql_status rql_settings_follow(struct rql_session *s, struct rql_error *err);
/* Threads as the configuration or the environment gives them; 0: all CPUs. */
rql_status rql_settings_threads(const struct rql_database_config *config, uint32_t *out, struct rql_error *err);
/* What the database keeps, the environment and the configuration (each outranks the one before); tells DuckDB of all. */
rql_status rql_settings_open(struct rql_database *db, const struct rql_database_config *config, struct rql_error *err);
bool rql_setting_is_own(const char *name); /* begins with rayql_ */
/* settings.c: gives s the value, or says what it may be. */
rql_status rql_setting_apply(struct rql_session *s, const char *name, const char *value, struct rql_error *err);
const char *rql_setting_default(const char *name, char *room, size_t size); /* static, or in room */
bool rql_setting_is_shared(const char *name);                               /* the database's, not a connection's */
struct rql_setting_row {
	char name[64], value[64];
	const char *description;
};
/* The i-th setting as s sees it; false behind the last. */
bool rql_settings_row(const struct rql_session *s, uint32_t i, struct rql_setting_row *out);
rql_status rql_explain(const struct rql_call *call, const struct rql_statement *st, struct rql_error *err);
rql_status rql_functions_register(struct rql_database *db, struct rql_host_con *con,
                                  struct rql_error *err) RQL_MUST_CHECK;

/* ---- definitions in the database (store.c) ---- */
rql_status rql_store_read(struct rql_database *db, struct rql_error *err) RQL_MUST_CHECK;
const char *rql_structure_kind_name(enum rql_structure_kind kind); /* "cube", "columns": in rayql.structures, too */
/* A change of the database: DuckDB's side of it and the structure's row, together or not at all. */
struct rql_store_change {
	const char *sql, *search_path;   /* DuckDB's side, and where its names are found; sql NULL: there is none */
	const struct rql_structure *put; /* NULL: no row is put */
	const char *schema, *name;       /* of the row that goes; NULL: none goes */
	bool try_only;                   /* only to see whether sql works */
};
/* On a connection of its own, so that nothing of the user's (transaction, settings, query log, an interrupt) has to
 * do with it, and what fails leaves nothing behind. cancel (may be NULL) is looked at before it becomes permanent. */
rql_status rql_store_change(struct rql_database *db, const struct rql_store_change *change, const _Atomic bool *cancel,
                            struct rql_error *err) RQL_MUST_CHECK;
/* Options of a CREATE statement (view_options.c). */
struct rql_view_options {
	enum rql_rollup rollup;
	enum rql_refresh refresh;
	bool unit_wanted; /* not auto */
	enum rql_unit unit;
	uint32_t unit_position; /* of the option, or of the layout that implies it, for the caret */
	const char *layout;     /* NULL: auto; in arena */
	uint32_t order_count;
	const char **order;      /* names, in arena */
	uint32_t order_position; /* of the option, for the caret */
};
rql_status rql_view_options_read(struct rql_arena *arena, const char *sql, const struct rql_statement *st,
                                 struct rql_view_options *out, struct rql_error *err) RQL_MUST_CHECK;
/* "rollup = off, refresh = auto, order = 'a, b'"; all that matter are written. */
void rql_view_options_print(struct rql_strbuf *out, const struct rql_view_options *options);
/* Those of CREATE INDEX ... USING columns: refresh and unit. */
rql_status rql_columns_options_read(const char *sql, const struct rql_statement *st, struct rql_view_options *out,
                                    struct rql_error *err) RQL_MUST_CHECK;
void rql_columns_options_print(struct rql_strbuf *out, const struct rql_view_options *options);
/* An error with DuckDB's caret under `position` of sql. */
rql_status rql_error_at(struct rql_error *err, const char *sql, uint32_t position, const char *fmt, ...)
	RQL_PRINTF(4, 5);
/* An identifier as it must be written: quoted only when needed. */
void rql_put_name(struct rql_strbuf *out, const char *name);

#endif
