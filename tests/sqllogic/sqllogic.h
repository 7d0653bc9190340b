/* The runner of sqllogictest files: each file through RayQL and through the same DuckDB without RayQL, answers
 * compared. A process runs one file on one engine and writes a transcript; the parent compares two transcripts. Both
 * engines run one after the other in the same folder under the same path, so that messages with paths are equal, too. */
#ifndef RQL_TEST_SQLLOGIC_H
#define RQL_TEST_SQLLOGIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "util/arena.h"
#include "util/strbuf.h"

struct sl_options {
	const char *root;      /* the folder that the files' relative paths start at */
	const char *setup;     /* statements that RayQL's connections begin with besides our own, or NULL */
	unsigned threads;      /* of both engines */
	unsigned limit_s;      /* a file on one engine may take so long */
	unsigned shown;        /* differences shown of a file */
	bool memory, disk;     /* the modes to run */
	bool slow, verbose;    /* .test_slow files, too; every file's verdict, too */
	bool verification;     /* obey PRAGMA enable_verification: DuckDB then runs each statement several times */
	bool expectations;     /* show where DuckDB itself does not give what the file expects */
};

/* ---- memory (sqllogic.c): these end the program when there is none ---- */
void *sl_alloc(struct rql_arena *arena, size_t size); /* zeroed */
char *sl_copy(struct rql_arena *arena, const char *text, size_t length);
char *sl_printf(struct rql_arena *arena, const char *fmt, ...) RQL_PRINTF(2, 3);
char *sl_replace(struct rql_arena *arena, const char *text, const char *from, const char *to);
struct rql_arena *sl_arena_new(void);
struct sl_list { /* of strings in an arena */
	const char **items;
	uint32_t count, capacity;
};
void sl_list_add(struct rql_arena *arena, struct sl_list *list, const char *item);

/* ---- files (parse.c) ---- */
enum sl_kind {
	SL_STATEMENT,
	SL_QUERY,
	SL_LOOP,
	SL_LOAD,
	SL_RESTART,
	SL_RECONNECT,
	SL_SLEEP,
	SL_UNZIP,
	SL_REQUIRE,
	SL_REQUIRE_ENV,
	SL_TEST_ENV,
	SL_SET,
	SL_CONTINUE,
	SL_HALT,
	SL_UNKNOWN /* a directive that the runner does not know: the rest of the file is skipped */
};
enum sl_expected { SL_EXPECT_ANY, SL_EXPECT_OK, SL_EXPECT_ERROR };
enum sl_sort { SL_SORT_NONE, SL_SORT_ROWS, SL_SORT_VALUES };
struct sl_condition { /* skipif and onlyif */
	const char *name, *value;
	char comparison[3]; /* =, <>, <, <=, >, >= */
	bool skips;
};
struct sl_command {
	enum sl_kind kind;
	uint32_t line; /* from 1 */
	struct sl_list words; /* what stands behind the directive */
	const char *sql, *connection, *columns;
	enum sl_expected expected;
	enum sl_sort sort;
	bool labelled;
	struct sl_list result; /* lines behind ---- */
	struct sl_condition *conditions;
	uint32_t condition_count;
	/* loops */
	const char *variable;
	bool parallel;
	struct sl_list values; /* each pass binds the variable to one of them */
	struct sl_command **body;
	uint32_t body_count;
};
struct sl_file {
	const char *path;
	struct sl_command **commands;
	uint32_t count, statements; /* statements: outside of loops */
	const char *error;          /* what is wrong with the file, or NULL */
};
void sl_parse(struct rql_arena *arena, const char *path, struct sl_file *out);

/* ---- answers and engines (engine_duckdb.c, engine_rayql.c) ---- */
struct sl_cell {
	const char *data; /* NULL for NULL */
	size_t length;
};
enum sl_shape { SL_NOTHING, SL_CHANGED, SL_ROWS };
#define SL_MAX_CELLS 2000000u /* of an answer are kept; the rest is compared by its hashes */
struct sl_answer {
	struct rql_arena *arena;
	const char *message; /* the error, or NULL */
	const char *method, *reason;
	enum sl_shape shape;
	uint32_t column_count;
	const char **names, **types;
	uint64_t row_count, kept_rows, capacity;
	struct sl_cell *cells; /* row by row */
	uint64_t hash, sum;    /* of the rows that were not kept: in their order, and in any */
	double ms;
};
void sl_answer_free(struct sl_answer *a);
/* The next row: its column_count cells, copied. */
void sl_answer_add(struct sl_answer *a, const struct sl_cell *row);

struct sl_place { /* what is opened */
	const char *path; /* NULL: in memory */
	const char *storage_version; /* or NULL */
	bool read_only;
	unsigned threads;
	const char *setup;
};
struct sl_engine {
	const char *name;
	/* An opened database, or NULL with *error malloc'ed. */
	void *(*open)(const struct sl_place *place, char **error);
	void (*close)(void *db);
	void *(*connect)(void *db, char **error);
	void (*disconnect)(void *con);
	void (*run)(void *con, const char *sql, struct sl_answer *out);
};
extern const struct sl_engine sl_rayql, sl_duckdb;
/* Options that both engines open a database with: name, value, ..., NULL. */
extern const char *const sl_host_options[];

/* ---- transcripts (transcript.c) ---- */
enum sl_met { SL_MET_UNKNOWN, SL_MET, SL_NOT_MET }; /* what the file expects */
enum sl_event_kind {
	SL_EVENT_BEGIN = 'b',   /* a statement starts; without an answer behind it, it never ended */
	SL_EVENT_ANSWER = 'a',
	SL_EVENT_SKIP = 's',    /* a part of the file was left out; text: why */
	SL_EVENT_STOP = 'x',    /* the rest of the file was left out; text: why */
	SL_EVENT_REOPEN = 'r',  /* by the runner, in the middle */
	SL_EVENT_END = 'e'
};
struct sl_event {
	enum sl_event_kind kind;
	uint32_t line;
	const char *text; /* the statement */
	const char *where; /* values of loop variables and the connection's label */
	enum sl_met met;
	struct sl_answer answer;
};
struct sl_transcript {
	struct rql_arena *arena;
	struct sl_event *events;
	uint32_t count, capacity;
	bool ended;
	int signal;    /* that ended the process, or 0 */
	bool timed_out;
};
void sl_write_event(FILE *out, const struct sl_event *e);
void sl_transcript_read(const char *path, struct sl_transcript *out);
void sl_transcript_free(struct sl_transcript *t);

/* ---- running (run.c) ---- */
struct sl_run {
	const struct sl_options *options;
	const struct sl_engine *engine;
	const char *folder; /* __TEST_DIR__: empty */
	bool disk;
	FILE *transcript;
};
void sl_run_file(const struct sl_run *run, const char *path);
/* Does the answer have the rows that the file expects? (expect.c) */
enum sl_met sl_expectation(const struct sl_command *c, const struct sl_answer *a, const struct sl_list *result);

/* ---- what a statement promises (facts.c) ---- */
struct sl_facts {
	bool ordered;   /* ORDER BY at its end */
	bool limited;   /* LIMIT or OFFSET at its end */
	bool one_table; /* selects rows of one table, and nothing that reorders them */
	bool order_all;
	struct sl_list order; /* ORDER BY items without ASC, DESC, NULLS: a number, a name, or "" for anything else */
	const char *special;  /* why its answer need not be equal, or NULL */
	bool begins, ends;    /* a transaction */
	bool fixed;           /* makes something that a reopening would lose: temporary, prepared, attached */
	bool setting;         /* to be set again after a reopening */
};
/* The statements of a text, without their semicolons. */
void sl_split(struct rql_arena *arena, const char *sql, struct sl_list *out);
void sl_facts_of(struct rql_arena *arena, const char *sql, struct sl_facts *out);

/* ---- comparing (compare.c) ---- */
enum sl_verdict { SL_EQUAL, SL_OTHER_ORDER, SL_OTHER_HINT, SL_ROUNDED, SL_TIES, SL_SPECIAL, SL_DIFFERENT, SL_VERDICTS };
/* out: what differs, where the verdict is SL_DIFFERENT, and the rule, where it is SL_SPECIAL. */
enum sl_verdict sl_compare(struct rql_arena *arena, const char *sql, const struct sl_answer *ours,
                           const struct sl_answer *hosts, const char **out);
bool sl_same(const struct sl_answer *a, const struct sl_answer *b); /* in every respect */

/* ---- counts (report.c) ---- */
struct sl_report;
struct sl_report *sl_report_new(void);
void sl_report_free(struct sl_report *report);
void sl_count(struct sl_report *report, const char *table, const char *key); /* one more of key in table */
void sl_report_print(const struct sl_report *report, const char *table, const char *title, unsigned most);
uint64_t sl_report_sum(const struct sl_report *report, const char *table);

#endif
