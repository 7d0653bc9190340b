/* The differential test: random schemas, data, views and queries; every answer of RayQL against the host's own, through the
 * public API alone. A "world" is one database with everything that happens to it; it follows from (seed, world number), so that
 * a failure is named by two numbers and replayed from the log of its statements. */
#ifndef RQL_TEST_DIFFERENTIAL_H
#define RQL_TEST_DIFFERENTIAL_H

#include <rayql/rayql.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- memory and chance (random.c) ---- */
struct dt_arena {
	struct dt_block *blocks;
};
void *dt_alloc(struct dt_arena *arena, size_t size); /* zeroed; ends the program when there is none */
char *dt_printf(struct dt_arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void dt_arena_clear(struct dt_arena *arena);

struct dt_text { /* a growing text on the heap */
	char *data;
	size_t length, capacity;
};
void dt_put(struct dt_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void dt_put_bytes(struct dt_text *t, const void *data, size_t length);
void dt_text_free(struct dt_text *t);

struct dt_random {
	uint64_t state;
};
uint64_t dt_next(struct dt_random *r);
uint32_t dt_below(struct dt_random *r, uint32_t n); /* n 0: 0 */
bool dt_chance(struct dt_random *r, unsigned percent);

/* ---- tables (schema.c) ---- */
enum dt_class { DT_INT, DT_DECIMAL, DT_REAL, DT_BOOL, DT_DATE, DT_TIMESTAMP, DT_TIME, DT_STRING, DT_ENUM, DT_UUID, DT_BLOB,
	DT_CLASSES };

#define DT_MAX_VALUES 48u
/* Something that has a value in every row: a column, or an expression over columns, written over a source's columns as
 * {number}. */
struct dt_item {
	const char *text;
	const char *name; /* of a column; alias elsewhere */
	enum dt_class class;
	uint32_t value_count;
	const char **values; /* literals: values that occur, and some that do not */
	bool extremes;       /* holds values that arithmetic may overflow on */
	bool approximate;    /* a sum or an average of floating-point values: equal but for rounding */
	bool wild;           /* floating-point values that must not be summed: huge ones */
};
struct dt_column {
	struct dt_item item; /* text: the quoted name */
	const char *type, *generator; /* SQL of the value, over i */
};
#define DT_MAX_COLUMNS 14u
#define DT_MAX_TABLES 4u
struct dt_table {
	const char *name;
	uint32_t column_count;
	struct dt_column columns[DT_MAX_COLUMNS];
	uint32_t rows;
	int64_t next_row; /* what the next INSERT's i starts at */
	const char *types; /* CREATE TYPE statements, or NULL */
};
/* key_of: NULL, or per dimension table the number of its keys: the fact table's first columns point there. */
void dt_table_make(struct dt_arena *arena, struct dt_random *r, uint32_t number, uint32_t rows, const uint32_t *key_of,
                   uint32_t key_count, bool is_dimension, struct dt_table *out);
const char *dt_table_create(struct dt_arena *arena, const struct dt_table *t);
/* INSERT INTO t SELECT ... FROM range( -- and what follows the bounds */
const char *dt_table_insert(struct dt_arena *arena, const struct dt_table *t);

/* ---- what is read (source.c) ---- */
#define DT_MAX_SOURCE_COLUMNS 48u
#define DT_STYLES 4u /* ways to write the same FROM */
struct dt_source {
	uint32_t column_count;
	struct dt_item columns[DT_MAX_SOURCE_COLUMNS];
	const char *from[DT_STYLES];  /* NULL: no such style */
	const char *joins[DT_STYLES]; /* conditions that this style has in WHERE, or NULL */
	const char *names[DT_STYLES][DT_MAX_SOURCE_COLUMNS];
	const char *view; /* CREATE VIEW statement for style 3, or NULL */
	uint32_t tables;  /* bit i: table i is read */
	bool is_table;    /* and nothing else: its rows stand in some order */
	bool outer;       /* has an outer join: no view can be made of it */
	const struct dt_table *all; /* the world's, for subqueries */
	uint32_t all_count;
};
void dt_source_single(struct dt_arena *arena, const struct dt_table *t, uint32_t index, struct dt_source *out);
/* The fact table (0) joined with dimension tables; dims[i] is the table of join i, through the fact's column keys[i]. */
void dt_source_star(struct dt_arena *arena, const struct dt_table *tables, const uint32_t *dims, const uint32_t *keys,
                    uint32_t count, uint32_t number, struct dt_source *out);

/* The same with outer joins among them, some by a column of the dimension before, some with more conditions. */
void dt_source_outer(struct dt_arena *arena, struct dt_random *r, const struct dt_table *tables, const uint32_t *dims,
                     const uint32_t *keys, uint32_t count, uint32_t number, struct dt_source *out);

/* ---- SELECT (select.c) ---- */
enum dt_pred_kind { DT_ATOM, DT_AND, DT_OR, DT_NOT };
struct dt_pred {
	enum dt_pred_kind kind;
	const char *text;
	struct dt_pred *a, *b;
};
enum dt_wrap { DT_PLAIN, DT_CTE, DT_FILTER_ABOVE, DT_AGGREGATE_ABOVE, DT_UNION, DT_WINDOW, DT_GROUP_ABOVE, DT_LIMIT_ABOVE,
	DT_DISTINCT_ABOVE, DT_FIRST_ABOVE, DT_SCALAR_BESIDE, DT_JOINED, DT_SETOP, DT_WRAPS };
enum dt_group_style { DT_GROUP_EXPRESSIONS, DT_GROUP_NUMBERS, DT_GROUP_ALL, DT_GROUP_ALIASES };
struct dt_order {
	uint32_t item; /* keys first, then aggregates */
	bool descending;
	int nulls; /* 0: not said, 1: first, 2: last */
};
#define DT_MAX_KEYS 8u
#define DT_MAX_AGGS 12u
#define DT_MAX_WHERE 8u
/* Parts with their bit in the dropped_ masks are not printed: that is how the reducer takes a query apart. */
struct dt_select {
	const struct dt_source *source;
	uint32_t style;
	bool ungrouped; /* keys are plain columns, there is no GROUP BY */
	bool distinct, aliases, aggregates_first;
	enum dt_group_style group_style;
	uint32_t key_count, agg_count, where_count, having_count, order_count;
	struct dt_item keys[DT_MAX_KEYS], aggs[DT_MAX_AGGS];
	struct dt_pred *where[DT_MAX_WHERE];
	const char *having[2];
	struct dt_order order[DT_MAX_KEYS + DT_MAX_AGGS];
	int64_t limit, offset; /* -1: none */
	enum dt_wrap wrap;
	uint32_t how; /* DT_JOINED, DT_SETOP, DT_FIRST_ABOVE: which join, operation or columns */
	uint32_t dropped_keys, dropped_aggs, dropped_where, dropped_having, dropped_order;
	bool eligible; /* generated so that a view answers it */
};
/* Malloc'ed. limited: with LIMIT and OFFSET, or with DISTINCT ON: else all rows that these choose from. */
char *dt_select_print(const struct dt_select *s, bool limited);
/* For column c of the answer: may it differ by rounding? and is it the o-th ORDER BY item? (-1: no) */
bool dt_select_approximate(const struct dt_select *s, uint32_t column);
/* Columns of the answer in ORDER BY order; their number. */
uint32_t dt_select_order(const struct dt_select *s, uint32_t *columns);
bool dt_select_limited(const struct dt_select *s);

/* ---- random parts of queries (query.c) ---- */
struct dt_view { /* a materialized view */
	const char *name, *options;
	struct dt_select select;
	struct dt_source by_name; /* the view as a table */
	const struct dt_item *where_item; /* what its WHERE is about, or NULL */
	bool automatic;           /* refresh = auto */
	bool exists, fresh;
};
void dt_view_make(struct dt_arena *arena, struct dt_random *r, const struct dt_source *source, uint32_t number,
                  struct dt_view *out);
char *dt_view_print(const struct dt_view *v); /* CREATE MATERIALIZED VIEW ..., malloc'ed */
/* A query that v can answer, or (loose) one that it probably cannot. */
struct dt_select *dt_query_for_view(struct dt_arena *arena, struct dt_random *r, const struct dt_view *v, bool loose);
struct dt_select *dt_query_by_name(struct dt_arena *arena, struct dt_random *r, const struct dt_view *v);
/* A query over anything; rich: also with what cubes do not hold and scans do (FILTER, DISTINCT, CASE, comparisons of
 * columns). */
struct dt_select *dt_query_any(struct dt_arena *arena, struct dt_random *r, const struct dt_source *source, bool rich);
/* Rows themselves: no aggregate. */
struct dt_select *dt_query_rows(struct dt_arena *arena, struct dt_random *r, const struct dt_source *source);
/* The same with other numbers and texts in its conditions (values.c). */
struct dt_select *dt_query_other_values(struct dt_arena *arena, struct dt_random *r, const struct dt_select *q);
/* A predicate on one item, such as "{3} > 5". */
const char *dt_predicate(struct dt_arena *arena, struct dt_random *r, const struct dt_item *item);
struct dt_item dt_expression_of(struct dt_arena *arena, struct dt_random *r, const struct dt_item *item);

/* ---- answers (answer.c) ---- */
struct dt_answer {
	rayql_status status;
	char *error;
	char method[32], reason[256];
	uint32_t column_count;
	char **names, **types;
	uint64_t row_count, row_capacity;
	char **cells; /* row by row; NULL for NULL */
	struct dt_arena arena;
};
void dt_answer_free(struct dt_answer *a);
void dt_answer_of(rayql_connection *con, const char *sql, bool prepared, struct dt_answer *out);
void dt_answer_fold(struct dt_answer *a);
/* NULL: equal. Else what differs, malloc'ed. whole: the host's answer without LIMIT, when the query has one. */
char *dt_answer_compare(const struct dt_select *s, const struct dt_answer *ours, const struct dt_answer *hosts,
                        const struct dt_answer *whole);

/* ---- worlds (world.c) ---- */
enum dt_entry_kind { DT_SQL, DT_OTHER /* SQL on the other connection */, DT_ROWS /* an INSERT of range(low, high) */, DT_VIEW, DT_QUERY, DT_REOPEN, DT_REOPEN_BARE };
struct dt_entry {
	enum dt_entry_kind kind;
	const char *text, *after; /* DT_ROWS: before and after the bounds */
	int64_t low, high;
	struct dt_view *view;
	const struct dt_select *query;
	bool dropped;
};
struct dt_log {
	uint32_t count, capacity;
	struct dt_entry *entries;
};
struct dt_session { /* an open database: ours, and a second connection on which the host answers */
	rayql_database *db;
	rayql_connection *ours, *host;
	char *path; /* NULL: in memory */
	uint32_t threads;
	const char *setup; /* statements that our connection begins with (settings: a device, a unit), or NULL */
	bool in_transaction, other_in_transaction;
	bool methods_off; /* of `ours`, since an aborted transaction let nothing be set */
	bool folds; /* default_collation is set */
	bool bound; /* our answer to the last query was planned from the plan of one with other values */
};
bool dt_session_open(struct dt_session *s, const char *path, uint32_t threads, const char *setup);
void dt_session_close(struct dt_session *s);
/* Connections of one's own to another session's database: for a thread. */
bool dt_session_join(struct dt_session *s, const struct dt_session *other);
void dt_session_leave(struct dt_session *s);
bool dt_session_run(struct dt_session *s, const char *sql, char **error); /* on our connection; *error malloc'ed */
bool dt_session_reopen(struct dt_session *s, bool without_side_files);
/* Runs one log entry (a query's answer is thrown away). */
bool dt_session_replay(struct dt_session *s, const struct dt_entry *e, char **error);
/* Both answers; the difference, malloc'ed, or NULL. method: where ours ran, room for 32. */
char *dt_session_check(struct dt_session *s, const struct dt_select *q, bool host_first, char *method, char *reason,
                       size_t reason_size);
char *dt_entry_print(const struct dt_entry *e); /* malloc'ed */
void dt_remove_tree(const char *path);

struct dt_statistics {
	_Atomic uint64_t scannable, scanned, columns; /* rich queries over columns, answered by a scan; structures made */
	_Atomic uint64_t indexes, explained, looked_up; /* sieves and indexes made; plans looked at, those under their rows */
	_Atomic uint64_t others, bound; /* queries that are another with other values; those planned from its plan */
	_Atomic uint64_t pages; /* queries that asked for a page of what another asked for whole */
	_Atomic uint64_t repeated; /* of known answers, under stress */
	_Atomic uint64_t queries, eligible, accelerated_eligible, accelerated, errors, worlds, views, views_refused, failures;
	_Atomic uint64_t now_world[64]; /* what each job is at, for crash reports */
	char now_sql[64][4096];
	uint64_t asked[64]; /* queries of each job: written by it alone */
};
struct dt_options {
	uint64_t seed, queries, first_world, world_count;
	uint32_t jobs, threads;
	uint64_t stress_s; /* seconds of threads on one database instead of worlds, or 0 */
	uint32_t planners, readers;
	uint32_t share, scans; /* percent of the queries that cubes, and scans, must answer at least */
	uint32_t columns;      /* percent of the worlds with columns structures */
	uint32_t indexes;      /* percent of these with sieves and indexes for look-ups */
	const char *setup; /* see struct dt_session */
	const char *needs; /* a unit that vulkan:0 must have; NULL: none */
	bool sparse;       /* a third of the queries between two changes, where each is a kernel to compile */
	bool verbose, keep_going, no_reduce;
};
void dt_world_run(const struct dt_options *options, uint64_t world, uint32_t job, struct dt_statistics *stats);

/* ---- threads (stress.c) ---- */
void dt_stress(const struct dt_options *options, struct dt_statistics *stats);

/* ---- the reducer (reduce.c) ---- */
/* Makes log and query as small as they can be while the answers still differ, and prints what to paste into the shell. */
void dt_reduce(const struct dt_options *options, uint64_t world, const struct dt_log *log, const struct dt_select *query,
               const char *difference, uint32_t threads, bool on_file);

#endif
