/* Shared by the files of exec/ that serve sessions (not by run.c, leaf.c, finish.c, which know plans only). */
#ifndef RQL_EXEC_INTERNAL_H
#define RQL_EXEC_INTERNAL_H

#include "exec/opening.h"
#include "exec/session.h"
#include "structure/kind.h"
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
/* RQL_ERROR_IO: a descriptor of this process has the file at path (or its log) open, not both for reading only. After a
 * DETACH it waits some seconds for whoever still reads what was detached. */
rql_status rql_open_file_check(const char *path, bool read_only, struct rql_error *err) RQL_MUST_CHECK;
/* RQL_ERROR_IO: a database of RayQL's has it open. *out stays NULL where there is no file yet. */
rql_status rql_open_file_enter(const char *path, bool read_only, struct rql_open_file **out,
                               struct rql_error *err) RQL_MUST_CHECK;
/* After DuckDB has opened it: from now on nobody else can, not in this process either. RQL_ERROR_IO: one just has. */
rql_status rql_open_file_hold(struct rql_open_file *file, const char *path, struct rql_error *err) RQL_MUST_CHECK;
/* After an ATTACH or DETACH: has DuckDB closed the file, or opened it again? The lock comes and goes with it. */
bool rql_open_file_follow(struct rql_open_file *file);
void rql_open_file_leave(struct rql_open_file *file); /* NULL accepted */
void rql_open_file_detached(void);                    /* after a DETACH */
/* ATTACH (attach.c): RQL_ERROR_IO when this process has the file open already. Other statements pass. */
rql_status rql_attach_check(struct rql_database *db, const char *sql, struct rql_error *err) RQL_MUST_CHECK;
/* After an ATTACH or DETACH: when the database itself was closed or came back, nothing that is known of it holds. */
void rql_attach_done(struct rql_database *db);

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
	struct rql_table_seen *watched;
	char *reason;
	double estimated_ns, host_estimated_ns;
	struct rql_awaited *awaited; /* of the plan, one reference: once it is settled, a better plan is to be had. NULL: none */
	bool swayed;                 /* so is the plan: it is for the first run of its text alone */
	bool came;                   /* the text has come to be run, not to be explained alone */
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
void rql_plan_cache_drop(struct rql_plan_cache *cache, struct rql_cache_entry *entry);
/* Takes entry over (sql is copied); false: it does not fit and stays the caller's. */
bool rql_plan_cache_put(struct rql_plan_cache *cache, const char *sql, struct rql_cache_entry *entry);
void rql_cache_entry_free(struct rql_cache_entry *entry);
void rql_plan_cache_clear(struct rql_plan_cache *cache);
/* Drops the plan that was used longest ago of those that scan columns on the device. False: there is none. */
bool rql_plan_cache_drop_scan(struct rql_plan_cache *cache, const struct rql_device *device);
/* Drops the plans for the device but this one: each keeps memory there for its next run. False: there was none. */
bool rql_plan_cache_make_room(struct rql_plan_cache *cache, const struct rql_device *device,
                              const struct rql_plan *but);

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
	struct rql_structures structures;
	struct rql_open_file *open_file;
	pthread_mutex_t sessions_lock;
	struct rql_session *sessions;
	uint64_t session_count;       /* that there have been */
	struct rql_map_cache *maps;   /* plan/map_cache.h */
	pthread_mutex_t devices_lock;   /* one measuring at a time */
	_Atomic uint32_t devices_ready; /* bit i: device i has its profile, measured or not to be measured */
	struct rql_opening opening;
};

/* Something that the schema has, as far as the session sees it. */
struct rql_schema_fact {
	bool is_there;
	uint64_t epoch; /* one more than the schema epoch at which that was found out; 0: never */
};
/* What follow.c has asked the host's schema. */
#define RQL_FOLLOW_NAME 40u
#define RQL_FOLLOW_FUNCTIONS 32u
struct rql_follow_schema {
	struct rql_schema_fact operators; /* an operator of the host's is a macro */
	struct rql_schema_fact sequences; /* there are some */
	struct rql_schema_fact namesakes; /* tables or views of one name */
	uint64_t epoch;                   /* of the functions */
	uint32_t count;
	struct {
		char name[RQL_FOLLOW_NAME];
		bool stable;
	} functions[RQL_FOLLOW_FUNCTIONS];
};
struct rql_followed_table; /* follow_inside.c */

struct rql_transaction {
	bool open;   /* between BEGIN and COMMIT or ROLLBACK */
	bool wrote;  /* from the first write on the host answers */
	bool failed; /* an error inside: DuckDB may have aborted it, so the host answers */
	bool schema; /* holds a statement that changed schema objects */
	uint64_t stamp, schema_epoch; /* of before the BEGIN */
	struct rql_write_set set, appends; /* as in struct rql_effects; a table may be in both */
	struct rql_followed_table *followed; /* tables in `set` whose changed rows may be known */
	struct rql_follow_schema follow_schema; /* where its schema is not that of now */
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
	uint64_t host_settings;  /* moves with what may change DuckDB's settings of the connection */
	uint64_t number;         /* of the database's connections: never 0, never used again */
	struct rql_plan_cache *cache;
	bool comes_again; /* the statement at hand had a plan in the cache, which gave way to the one to be made now */
	struct rql_bound_cache *bounds; /* exec/query/bound_cache.h */
	struct rql_transaction txn;
	struct rql_schema_fact guard;     /* plans are made in a transaction of their own (session.c) */
	struct rql_follow_schema follow_schema; /* at the schema epoch of now */
	struct rql_result *open; /* the streaming result that the next statement closes */
	struct rql_report report;
	struct rql_build_context build;
	struct rql_progress progress;
	struct rql_session *next;
};

/* Values for literals of a text that was planned with others (point.h). */
struct rql_point_values {
	uint32_t count;
	struct {
		uint32_t literal; /* its number in the text, and 1 */
		const struct rql_value *value;
	} of[RQL_POINTS_MOST];
};

/* What one statement's execution needs to know. */
struct rql_call {
	struct rql_session *s;
	const char *sql;
	bool stream;   /* the caller wants to fetch: rows need not be there at once */
	bool expanded; /* a part of what DuckDB made of sql: the text names neither tables nor the transaction's verb */
	uint64_t start_ns;
	struct rql_columns *names; /* what the columns are called; NULL: as in the text that was planned */
	const struct rql_prepared_query *prepared; /* whose values are bound; NULL: none */
	const struct rql_point_values *points; /* sql was planned with other values than these; NULL: with its own */
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
/* One query by its text, call->sql. It is planned before it is prepared, and prepared only where the host answers: what
 * DuckDB does while it binds (opens a file, attaches a database) is not done twice at a time. */
rql_status rql_select_text(const struct rql_call *call, struct rql_error *err);
/* A SELECT that is never planned: stmt, or NULL for the text as a whole, unprepared. Takes stmt over unless keep_stmt. */
rql_status rql_select_unplanned(const struct rql_call *call, struct rql_host_stmt *stmt, bool keep_stmt,
                                struct rql_error *err);
/* A cached plan for call->sql, when there is one that may run now: *done tells whether it answered; when it failed,
 * *why is set (malloc'ed) and the host must answer. */
rql_status rql_select_cached(const struct rql_call *call, bool *done, char **why, struct rql_error *err);
/* Carries an RQL_PLAN_LOAD out, outside a transaction only. */
rql_status rql_session_load(struct rql_session *s, const struct rql_plan_load *load,
                            struct rql_error *err) RQL_MUST_CHECK;
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
/* text is a SELECT that nothing holds bound meanwhile. refresh: it is to run, so that structures are made ready for it and
 * it counts as having come; else it is explained. Errors are the host's own, and only inside a transaction. */
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
/* Runs the plan of a choice, with values for its points (struct rql_flow); *why is set (malloc'ed) when the host must answer after all. profile (may be NULL): the run
 * measures itself on the device. */
rql_status rql_select_method(struct rql_session *s, const struct rql_plan *plan,
                             const struct rql_value *const *points, struct rql_batch **batch,
                             struct rql_run_stats *stats, struct rql_run_profile *profile, char **why,
                             struct rql_error *err);
bool rql_mentions_own_functions(const char *sql);
/* Runs one host statement of whatever class. Takes stmt over unless keep_stmt. */
rql_status rql_host_run(const struct rql_call *call, struct rql_host_stmt *stmt, bool keep_stmt, struct rql_error *err);
/* Runs call->sql whole and unprepared, as a statement of that class. */
rql_status rql_host_run_text(const struct rql_call *call, enum rql_host_class kind, struct rql_error *err);
/* Ends the open transaction, whatever DuckDB has made of it by now. */
void rql_host_abandon(struct rql_session *s);

/* ---- the cost model's constants (calibrate.c) ---- */
/* All of it, or the constants stay as they were. */
rql_status rql_calibrate_device(struct rql_device *device, bool thorough, struct rql_error *err) RQL_MUST_CHECK;
/* plan_context.device_ready, devices_open; state: struct rql_build_context. */
bool rql_device_first_use(void *state, struct rql_device *device, bool wait);
bool rql_devices_opened(void *state, struct rql_awaited *awaited);
/* Measures a GPU before its first use: the first caller does, the others wait. Closing leaves it unmeasured. */
void rql_database_measure(struct rql_database *db, struct rql_device *device);
/* Measures the short form and keeps it, when no profile is there yet. Not in a build with sanitizers. stop: once it is set, the
 * constants stay as they were; NULL: never. */
void rql_calibrate_first_start(struct rql_device *device, const _Atomic bool *stop);

/* ---- what writes touch (write_set.c) ---- */
struct rql_effects {
	struct rql_write_set set;
	struct rql_write_set appends; /* tables that can only have got more rows; not in `set` */
	bool schema;                  /* schema objects may change */
	bool attach, detach;          /* a database may be attached, or detached */
	bool replace;                 /* views or tables may be gone or different afterwards */
};
void rql_effects_clear(struct rql_effects *effects);
void rql_effects_of(const char *sql, enum rql_host_class kind, struct rql_effects *out);
/* EXECUTE name: the name, malloc'ed; NULL: it is no such statement, or there is no memory. */
char *rql_executed_name(const char *sql);
/* ... of a statement that was prepared with this text. */
void rql_effects_of_executed(const char *prepared, struct rql_effects *out);
enum rql_txn_verb { RQL_TXN_BEGIN, RQL_TXN_COMMIT, RQL_TXN_ROLLBACK };
enum rql_txn_verb rql_txn_verb_of(const char *sql);

/* Does this query of a number give more than 0? Asked once for each state of the schema, outside transactions; true where
 * it could not be asked. */
bool rql_session_finds(struct rql_session *s, struct rql_schema_fact *fact, const char *count);

/* ---- DELETE and UPDATE whose rows columns can follow (follow.c) ---- */
struct rql_follow;
/* The statement has these effects. NULL: nobody would follow it, or its rows cannot be named beforehand. */
struct rql_follow *rql_follow_new(const struct rql_call *call, const struct rql_effects *effects);
void rql_follow_free(struct rql_follow *f); /* NULL accepted */
/* In the transaction of the statement, before it runs: its rows, where they can be found. An error may have aborted the
 * transaction. */
rql_status rql_follow_find(struct rql_follow *f, struct rql_host_con *con, struct rql_error *err) RQL_MUST_CHECK;
bool rql_follow_found(const struct rql_follow *f);
/* Behind the statement, in its transaction, where its rows were found: have they still their ids, or are they gone? */
rql_status rql_follow_settle(struct rql_follow *f, struct rql_host_con *con, struct rql_error *err) RQL_MUST_CHECK;
struct rql_row_changes *rql_follow_changes(struct rql_follow *f);

/* ---- the same inside a transaction of the user's (follow_inside.c) ---- */
/* Runs `run` for the statement, and notes which rows it changes, or that nobody knows them. */
typedef rql_status rql_follow_run(const struct rql_call *call, struct rql_host_stmt *stmt, struct rql_error *err);
rql_status rql_follow_inside(const struct rql_call *call, struct rql_host_stmt *stmt, const struct rql_effects *effects,
                             rql_follow_run *run, struct rql_error *err) RQL_MUST_CHECK;
/* Around a COMMIT: what was noted is given to the catalog. Names of the transaction's set whose rows nobody knows are
 * added to rest. */
void rql_follow_begin_commit(struct rql_session *s, struct rql_write_set *rest);
void rql_follow_end_commit(struct rql_session *s, bool committed);
/* Forgets what was noted. */
void rql_follow_forget(struct rql_transaction *txn);

/* ---- prepared statements (prepared.c) ---- */
/* The parameter that a token stands for: ? counts, $1 and $name are looked up; 0: none. */
uint64_t rql_prepared_parameter_of(const struct rql_prepared_query *q, const char *text, uint32_t length,
                                   uint64_t *counter);
/* Its value; NULL: it has none. */
const struct rql_value *rql_prepared_value(const struct rql_prepared_query *q, uint64_t index);

/* ---- results (result.c) ---- */
struct rql_columns *rql_columns_of_stmt(const struct rql_host_stmt *stmt);
struct rql_columns *rql_columns_of_result(const struct rql_host_result *res);
struct rql_columns *rql_columns_make(uint32_t count, const char *const *names, const struct rql_type *types);
/* None yet, with room for those of about so many columns; NULL: out of memory. false: there was no memory for more. */
struct rql_columns *rql_columns_room(uint32_t count);
bool rql_columns_fill(struct rql_columns *columns, const struct rql_host_result *res);
struct rql_columns *rql_columns_retain(struct rql_columns *columns);
/* Takes columns (one reference) and the rest over, also on failure. */
rql_status rql_result_new(struct rql_session *s, struct rql_columns *columns, const char *method, const char *reason,
                          struct rql_result **out, struct rql_error *err) RQL_MUST_CHECK;
/* A result of RayQL's own statements: no rows. out may be NULL. It is made before the statement runs, which may commit;
 * rql_result_settle adds what has become known meanwhile, and cannot fail. */
rql_status rql_result_nothing(struct rql_session *s, struct rql_result **out, struct rql_error *err);
void rql_result_settle(struct rql_session *s, struct rql_result *res); /* res may be NULL */
void rql_result_close(struct rql_result *res); /* what a later statement does */

/* ---- RayQL's own statements ---- */
/* structures.c: CREATE of a view, of an index USING ..., REFRESH and DROP of either. */
rql_status rql_view_create(struct rql_session *s, const char *sql, const struct rql_statement *st,
                           struct rql_error *err);
rql_status rql_index_create(struct rql_session *s, const char *sql, const struct rql_statement *st,
                            struct rql_error *err);
rql_status rql_structure_refresh(struct rql_session *s, const char *sql, const struct rql_statement *st,
                                 struct rql_error *err);
rql_status rql_structure_drop(struct rql_session *s, const char *sql, const struct rql_statement *st,
                              struct rql_error *err);
/* Is DROP INDEX's name one of ours? Else it is the host's. */
bool rql_index_is_ours(struct rql_session *s, const char *sql, const struct rql_statement *st);
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

#endif
