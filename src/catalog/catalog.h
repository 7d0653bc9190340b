/* What RayQL knows about a database: its structures, and for every table a version that moves whenever a statement
 * may have
 * changed it. One catalog per open database, shared by its connections; every function is thread-safe.
 *
 * Freshness protocol. A structure may be used only if, for every table that it was built from, no write is in flight
 * and the
 * version is the one it was built at. A statement that writes outside a transaction is wrapped in write_begin /
 * write_end: the
 * version moves before (nobody builds from a state that is about to change) and after (nobody keeps what was built
 * meanwhile), and the writer count keeps structures unused in between. Inside BEGIN ... COMMIT only the COMMIT is
 * wrapped so,
 * for everything the transaction wrote: others cannot see uncommitted rows, and the writing connection itself asks the
 * host from its first write on. A connection inside BEGIN ... COMMIT that has not written uses a structure only if its
 * tables have not moved since the BEGIN (their last move's stamp is not younger), because its snapshot may be older. */
#ifndef RQL_CATALOG_CATALOG_H
#define RQL_CATALOG_CATALOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "column/store/store.h"
#include "method/method.h"
#include "util/arena.h"
#include "util/budget.h"
#include "util/status.h"

struct rql_catalog;

rql_status rql_catalog_new(struct rql_catalog **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_catalog_free(struct rql_catalog *catalog); /* releases every structure */

/* ---- tables and versions ---- */
struct rql_table; /* interned by exact (database, schema, name); lives as long as the catalog */
struct rql_table *rql_catalog_table(struct rql_catalog *catalog, const char *database, const char *schema,
                                    const char *name); /* NULL: out of memory */
void rql_table_name(const struct rql_table *table, const char **database, const char **schema, const char **name);
/* The version, which includes the writes that might have touched any table. */
uint64_t rql_table_version(const struct rql_catalog *catalog, const struct rql_table *table);
bool rql_table_being_written(const struct rql_catalog *catalog, const struct rql_table *table);
/* Stamp of the last move (a counter over all moves of all tables). */
uint64_t rql_table_moved(const struct rql_catalog *catalog, const struct rql_table *table);
uint64_t rql_catalog_stamp(const struct rql_catalog *catalog); /* now */
/* How many rows the table has, where somebody has counted them since it moved; false: nobody has, or it is being
 * written. */
bool rql_table_rows(struct rql_catalog *catalog, const struct rql_table *table, uint64_t *rows);
/* Keeps a count of committed rows that began at `version`; nothing, when the table has moved since. */
void rql_table_keep_rows(struct rql_catalog *catalog, struct rql_table *table, uint64_t version, uint64_t rows);
#define RQL_FIRST_STAMP 1u /* nothing has moved yet; 0 is what the planner is told when no transaction is open */

/* What a statement or a transaction writes: table names without qualification (any table so called is meant), or
 * everything. */
struct rql_write_set {
	bool everything;
	uint32_t count, capacity;
	char **names;
};
bool rql_write_set_add(struct rql_write_set *set,
                       const char *name); /* false: out of memory; then `everything` is set */
void rql_write_set_merge(struct rql_write_set *set, const struct rql_write_set *other);
void rql_write_set_clear(struct rql_write_set *set);
void rql_catalog_write_begin(struct rql_catalog *catalog, const struct rql_write_set *set);
void rql_catalog_write_end(struct rql_catalog *catalog, const struct rql_write_set *set);

/* A write that can only have added rows at the table's end (INSERT without ON CONFLICT or OR REPLACE, COPY FROM) moves the
 * version like any other, but keeps what was built before extendable: the table's rows of that version are still there,
 * first. These two name such tables; with `everything` they are the two above. */
void rql_catalog_write_begin_appending(struct rql_catalog *catalog, const struct rql_write_set *set);
void rql_catalog_write_end_appending(struct rql_catalog *catalog, const struct rql_write_set *set);
struct rql_table_seen { /* a table that a query reads, with the version that its plan saw */
	struct rql_table *table;
	uint64_t version;
};
/* Has none of them moved since, and is nobody writing to one? */
bool rql_tables_unmoved(const struct rql_catalog *catalog, const struct rql_table_seen *tables, uint32_t count);
/* Were all moves since `version` of that kind, and is nobody writing now? */
bool rql_table_only_grew(const struct rql_catalog *catalog, const struct rql_table *table, uint64_t version);

/* Rows that one DELETE or UPDATE changed, or those of a transaction, by the host's row ids as they were then. The host may
 * give rows other ids later (lower ones, where rows are gone): who follows changes must see whether it has. */
struct rql_row_changes {
	const struct rql_table *table;
	uint64_t gone_count, renewed_count;
	int64_t *gone, *renewed; /* malloc'ed, in any order */
};
void rql_row_changes_clear(struct rql_row_changes *changes);
/* The rows of `more` behind those that are there. False: no memory, and some may be missing. */
bool rql_row_changes_add(struct rql_row_changes *to, const struct rql_row_changes *more) RQL_MUST_CHECK;
/* A write of one name whose rows are likely to be known when it ends: the version moves, and what was built before can
 * follow. changes (NULL: they are not known after all) is emptied. */
void rql_catalog_write_begin_known(struct rql_catalog *catalog, const struct rql_write_set *set);
void rql_catalog_write_end_known(struct rql_catalog *catalog, const struct rql_write_set *set,
                                 struct rql_row_changes *changes);
/* Were all moves since `version` appends or changes whose rows are known, and is nobody writing now? */
bool rql_table_followed(struct rql_catalog *catalog, const struct rql_table *table, uint64_t version);
/* All of those behind version `since`, up to version `until`; clear it. *known: these are all that there were. */
rql_status rql_table_changes(struct rql_catalog *catalog, const struct rql_table *table, uint64_t since, uint64_t until,
                             struct rql_row_changes *out, bool *known, struct rql_error *err) RQL_MUST_CHECK;
/* The known changes turned out to be of no use. */
void rql_table_forget_changes(struct rql_catalog *catalog, const struct rql_table *table);

/* Moves when schema objects may have changed (DDL, ATTACH, ...) / when structures come, go or are rebuilt: what
 * cached plans
 * are checked against. */
uint64_t rql_catalog_schema_epoch(const struct rql_catalog *catalog);
void rql_catalog_schema_changed(struct rql_catalog *catalog);
uint64_t rql_catalog_structure_epoch(const struct rql_catalog *catalog);

/* ---- structures ---- */
struct rql_structure_kind; /* structure/kind.h: what is done with the contents; unknown here */
enum rql_refresh { RQL_REFRESH_MANUAL, RQL_REFRESH_AUTO };
enum rql_structure_state {
	RQL_STATE_UNBUILT, /* defined, no contents yet (after reopening): built on the first matching query */
	RQL_STATE_BUILDING,
	RQL_STATE_READY,   /* contents are there; fresh or stale is a question of versions, asked at use */
	RQL_STATE_INVALID, /* the definition no longer binds (a table was dropped or altered): see reason */
};
#define RQL_NO_ROWID INT64_MIN
struct rql_structure_failure {
	const struct rql_device *device;
	char *reason;
};

/* Why the last build failed, and what was then: the same build is not tried again before something has changed that may
 * help. */
struct rql_build_failure {
	rql_status status;    /* RQL_OK: it did not */
	uint64_t limit, used; /* of the budget */
	uint64_t epochs;      /* of the schema and the database's settings, added up */
};

/* Immutable once published, but for the state fields, which change under the catalog's lock by replacing the whole
 * structure: readers hold references and never see half a change. */
struct rql_structure {
	_Atomic uint32_t references;
	const struct rql_structure_kind *kind;
	enum rql_reads reads; /* what requests over the contents read: their relation, or rows of their store */
	enum rql_structure_state state;
	enum rql_refresh refresh;
	char *database, *schema, *name; /* of a view: its own in DuckDB's catalog */
	char *statement;                /* the CREATE statement, normalised, for rayql_structures() and .schema */
	char *query;                    /* the defining SELECT */
	char *options;                  /* "rollup = auto, refresh = manual" */
	bool unit_wanted;               /* WITH (unit = ...) is not auto */
	enum rql_unit unit;             /* then: it is answered on this unit where the machine has it */
	char *layout;                   /* WITH (layout = ...), a value of some method's layouts; NULL: auto */
	char *reason;                   /* INVALID: why; UNBUILT: why the last build failed; else NULL */
	struct rql_build_failure failed; /* UNBUILT; `versions` are those that the build began with */
	uint32_t table_count;
	struct rql_table **tables;
	uint64_t *versions;    /* at the build's snapshot */
	const struct rql_relation *relation; /* READY, RELATION: one reference, counted by the two functions below */
	void (*retain_relation)(const struct rql_relation *relation);
	void (*release_relation)(const struct rql_relation *relation);
	/* READY, STORE (of exactly one table): what scans read (one reference), the store that appends go to (one
	 * reference), and for each of the snapshot's columns the table's column (as rql_expr.index of a RQL_EXPR_COLUMN and
	 * rql_rel.column_ids count them). */
	const struct rql_store_snapshot *snapshot;
	struct rql_store *store;
	uint32_t *column_ids;   /* [column_count]; NULL: not bound yet (after reopening): plan_context.load binds it */
	uint32_t column_count;  /* READY: the snapshot's; known from the binding on, as the one table and its columns are */
	enum rql_index_form index_form; /* INDEX: of the one table's columns column_ids; it has no contents of its own */
	struct rql_sieve_form sieve;    /* WITH (vectors = ..., components = ...) */
	struct rql_ray_design rays;     /* WITH (keys = ..., primitive = ...) */
	int64_t greatest_rowid; /* of the rows in the snapshot, -1: none; RQL_NO_ROWID: not known, so nothing is appended */
	/* STORE: the row ids up to greatest_rowid that are known to be of no row in the snapshot, ascending. When they are
	 * all, the snapshot's rows are numbered by ids, and it can follow changes. */
	int64_t *gaps;
	uint64_t gap_count;
	bool automatic;         /* made by rayql_auto_columns, not by CREATE INDEX */
	_Atomic uint64_t used;  /* STORE: rql_now_ns of the last run, by which automatic ones are given up */
	/* STORE: where runs over these contents failed, so that nobody's plans use them there any more: until the contents
	 * are given up, whatever is appended to them. (device/placement.h remembers a relation's.) */
	uint32_t failure_count;
	struct rql_structure_failure *failures;
	void *definition; /* RELATION: struct rql_definition of plan/, shared by reference */
	void (*retain_definition)(void *definition);
	void (*release_definition)(void *definition);
	double build_ms;
	uint64_t id; /* never reused; 0 until the first publication gives it one */
	/* What structure/ needs to make it again: */
	char *note;            /* for rayql_structures(): why a side file was not used or not written; or NULL */
	char *search_path;     /* DuckDB's search_path at the time of the CREATE: how names in `query` are found */
	char *view_sql;        /* DuckDB's own text of the view, to notice that the view was replaced; NULL: not known */
	char *side_file;       /* name of the contents' file in the side folder, or NULL */
	char *side_missing;    /* why there is no side_file where there should be one; or NULL */
	char *definition_hash; /* hex digest of the bound definition that contents were built from; NULL before the first
	                          build */
	/* UNBUILT, or an index: side_file holds the tables' state at opening (verified by the manifest), and nobody has read
	 * it yet. */
	bool side_file_valid;
	uint64_t side_mark; /* INDEX: what side_file holds of it (structure/kind.h); meaningless without one */
};
/* A new structure with one reference, state UNBUILT, no id, all pointers NULL; NULL when out of memory. */
struct rql_structure *rql_structure_new(void);
/* What the index s asks of c, columns of its table, by its column number `from`: of a sieve each column is one by itself;
 * of others the first stands for all of them. False: c does not hold them, or another one stands for it. */
bool rql_structure_index_of(const struct rql_structure *s, const struct rql_structure *c, uint32_t from,
                            struct rql_index_of *out);
/* A copy to change and publish: shares contents and definition by reference. NULL when out of memory. */
struct rql_structure *rql_structure_clone(const struct rql_structure *s);
/* Gives up the contents (relation, snapshot, store) of an unpublished structure, and what is known of their failures; its
 * state is the caller's to set. */
void rql_structure_clear(struct rql_structure *s);
/* Of an unpublished structure; takes gaps (malloc'ed) over. */
void rql_structure_set_gaps(struct rql_structure *s, int64_t *gaps, uint64_t count);
/* Why the contents are not used on the device any more, as long as s; NULL: they are. */
const char *rql_structure_failed_on(const struct rql_structure *s, const struct rql_device *device);
/* Both of an unpublished structure. Of two failures on one device the first stays: what follows is most often its
 * consequence. False: out of memory. */
bool rql_structure_mark_failed(struct rql_structure *s, const struct rql_device *device, const char *reason);
void rql_structure_forget_failures(struct rql_structure *s);
/* Replaces a malloc'ed text field by a copy of text (NULL allowed); false: out of memory, the field is unchanged. */
bool rql_structure_set_text(char **field, const char *text);
void rql_structure_retain(struct rql_structure *s);
void rql_structure_release(struct rql_structure *s);
/* Fresh: READY, nothing being written, versions equal. */
bool rql_structure_fresh(const struct rql_catalog *catalog, const struct rql_structure *s);
/* A STORE, READY and stale: nothing has happened since but rows added at the end and changes of known rows, so that
 * taking these over makes it fresh. */
bool rql_structure_appendable(struct rql_catalog *catalog, const struct rql_structure *s);
/* A STORE, READY: row ids say which of its rows they are. */
bool rql_structure_follows(const struct rql_structure *s);
/* The first table that moved or is being written, for messages; NULL when fresh. */
const struct rql_table *rql_structure_moved_table(const struct rql_catalog *catalog, const struct rql_structure *s);

/* All structures now, each retained, in order of creation; the array is in arena. Release each. */
rql_status rql_catalog_structures(struct rql_catalog *catalog, struct rql_arena *arena, struct rql_structure ***out,
                                  uint32_t *count, struct rql_error *err) RQL_MUST_CHECK;
/* Case-insensitive; database and schema may be NULL. Retained, NULL when there is none. */
struct rql_structure *rql_catalog_find(struct rql_catalog *catalog, const char *database, const char *schema,
                                       const char *name);
/* Room for one more structure: while nobody else adds one, its rql_catalog_publish needs no memory. */
rql_status rql_catalog_reserve(struct rql_catalog *catalog, struct rql_error *err) RQL_MUST_CHECK;
/* Publishes s (takes the caller's reference), replacing one of the same id. */
rql_status rql_catalog_publish(struct rql_catalog *catalog, struct rql_structure *s,
                               struct rql_error *err) RQL_MUST_CHECK;
/* The same, but only while `expected` is the present one; false: it is not (or no more), and s is released. For
 * changes that are
 * made beside the builds (definitions loaded, found invalid), which must not undo them. */
bool rql_catalog_replace(struct rql_catalog *catalog, const struct rql_structure *expected, struct rql_structure *s);
struct rql_structure *rql_catalog_find_id(struct rql_catalog *catalog, uint64_t id); /* retained; NULL: none */
void rql_catalog_remove(struct rql_catalog *catalog, uint64_t id);
uint32_t rql_catalog_structure_count(const struct rql_catalog *catalog);

#endif
