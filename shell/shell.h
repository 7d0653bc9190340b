/* The interactive shell: what its files share. It stands on the public API (rayql/rayql.h) and on util/ alone.
 *
 *   main.c      subcommands and flags          session.c   database, statements, output, the read loop
 *   options.c   the flags' table               commands.c  dot commands; commands_catalog.c those that ask the catalog
 *   input.c     line editing, history; complete.c
 *               completion                     interrupt.c Ctrl-C; progress.c the progress bar
 *   dump.c      .dump; why.c .why                 suggest.c   what was meant
 *   viewer.c    output for a spreadsheet
 *   names.c     quoting of names               width.c     columns of a UTF-8 text
 *   render*.c   output modes
 *
 * One thread runs statements. Two more may exist: the one that waits for Ctrl-C (interrupt.c) and the one that draws
 * the progress bar (progress.c); they touch only what their headers say. */
#ifndef RQL_SHELL_SHELL_H
#define RQL_SHELL_SHELL_H

#include <pthread.h>
#include <rayql/rayql.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "util/strbuf.h"

struct rql_sh;
struct rql_sh_mode;
struct rql_sh_progress;
struct rql_sh_last;

enum rql_sh_bail {
	RQL_SH_BAIL_AUTO, /* stops -c, -s and files at the first error, but not standard input */
	RQL_SH_BAIL_ON,
	RQL_SH_BAIL_OFF
};

/* What Ctrl-C means at the moment. */
enum rql_sh_activity {
	RQL_SH_IDLE,    /* reading input that is no terminal: leave the program */
	RQL_SH_PROMPT,  /* editing a line: clear it */
	RQL_SH_RUNNING, /* a statement runs or its rows are printed: cancel it */
	RQL_SH_CHILD    /* a program of the user's runs, which gets the signal too: nothing */
};

struct rql_sh_signals {
	pthread_t thread;
	bool started;
	int wake[2];            /* a byte for each Ctrl-C at the prompt; input.c reads it */
	atomic_int activity;    /* enum rql_sh_activity */
	atomic_bool interrupted; /* since the statement began */
	atomic_bool leaving;
	pthread_mutex_t lock;   /* guards connection */
	rayql_connection *connection;
	atomic_uint taken; /* Ctrl-Cs that the thread has dealt with */
};

/* When large numbers are told in words (duckbox): never; in the footer and below a row of such numbers alone; all.
 * AUTO: FOOTER on a terminal. */
enum rql_sh_words { RQL_SH_WORDS_AUTO, RQL_SH_WORDS_NONE, RQL_SH_WORDS_FOOTER, RQL_SH_WORDS_ALL };

#define RQL_SH_WIDTHS 64

/* What is put back when a viewer has got its file. */
struct rql_sh_view {
	char *file; /* NULL: there is none */
	const struct rql_sh_mode *mode;
	char *column_sep, *row_sep;
};

#define RQL_SH_OPTIONS_MAX 64u

struct rql_sh {
	const char *program; /* argv[0] */

	/* the database */
	char *path; /* NULL: in memory */
	bool read_only, safe;
	/* -set and -unsigned: name, value, ..., NULL for rayql_open; each name's allocation holds its value, too */
	char *options[2 * RQL_SH_OPTIONS_MAX + 1];
	unsigned option_count;
	rayql_database *db;
	rayql_connection *con;

	/* where output goes */
	FILE *out;      /* stdout, a file or a pipe */
	char *out_name; /* NULL: stdout */
	pid_t out_child; /* the reader of a pipe, or 0 */
	struct rql_sh_view view;
	bool once;      /* back to stdout after the next statement */
	FILE *log;      /* NULL: none */

	/* how rows are shown */
	const struct rql_sh_mode *mode;
	bool header;
	char *null_value;
	char *column_sep, *row_sep;
	char *insert_table;  /* as SQL, quoted if need be */
	bool raw_newlines;   /* INSERT statements may hold line breaks: .dump --newlines */
	char *keywords;      /* names.c: " abort  all ", or NULL */
	uint64_t max_rows;   /* duckbox */
	size_t max_width;    /* duckbox; 0: the terminal's, or no limit when stdout is none */
	bool columns;        /* duckbox: a line for each column */
	char thousand_sep, decimal_sep; /* duckbox; 0: none, and a point */
	enum rql_sh_words words;
	int widths[RQL_SH_WIDTHS]; /* .width: least widths of `column` and its like; negative: right-aligned */

	/* behaviour */
	enum rql_sh_bail bail;
	bool echo, timer, changes, progress_bar;
	bool interactive;  /* there is somebody to prompt */
	bool stdout_tty;
	char *prompt, *prompt_more;
	const char *init_file;
	bool no_init, no_stdin;

	/* state */
	bool quit;
	int exit_code;
	uint64_t errors, last_changes, total_changes;
	int read_depth; /* of .read inside .read */
	const char *statement;    /* the text of the running one */
	struct rql_strbuf why;    /* about the last statement: why.c */
	struct rql_sh_last *last; /* the last result in boxes, for .last; or NULL */
	struct rql_sh_signals signals;
};

/* ---- session.c ---- */
bool rql_sh_init(struct rql_sh *sh, const char *program);
void rql_sh_free(struct rql_sh *sh);
/* Opens sh->path in place of the open database, which stays open when that fails. */
bool rql_sh_open(struct rql_sh *sh);
/* Runs every statement in text; the last one may lack its semicolon. Stops at an error if stop_at_error. False when a
 * statement failed. */
bool rql_sh_run_text(struct rql_sh *sh, const char *text, bool stop_at_error);
/* -c, -cmd and positional SQL: a text that is either one dot command or SQL. */
bool rql_sh_run_command(struct rql_sh *sh, const char *text);
/* Reads lines until the end of input, .quit, or (as bail says) an error. False when something failed. */
struct rql_sh_input;
bool rql_sh_process(struct rql_sh *sh, struct rql_sh_input *input, bool is_file);
/* Runs a file (.read, -f, rc); `|command` reads what the command prints. */
bool rql_sh_process_file(struct rql_sh *sh, const char *path);
/* Prints to stderr behind whatever stdout holds, and counts an error. */
void rql_sh_error(struct rql_sh *sh, const char *fmt, ...) RQL_PRINTF(2, 3);
/* Sends output to path ("|command", or NULL for stdout). */
bool rql_sh_output(struct rql_sh *sh, const char *path);
/* Replaces an owned text; false and an error when memory is out. */
bool rql_sh_set(struct rql_sh *sh, char **text, const char *value);
/* Only spaces, comments and semicolons? */
bool rql_sh_is_blank(const char *sql);
/* Calls fn for each row of a query of the shell's own; texts are NUL-terminated, NULL for NULL. False after an error,
 * which is printed unless quiet. */
typedef void (*rql_sh_row_fn)(void *context, const char *const *texts, uint32_t columns);
bool rql_sh_each_row(struct rql_sh *sh, const char *sql, bool quiet, rql_sh_row_fn fn, void *context);

/* ---- names.c ---- */
/* Reads DuckDB's keywords once; without them every name is quoted. Not while a result is read. */
void rql_sh_names_load(struct rql_sh *sh);
bool rql_sh_needs_quotes(const struct rql_sh *sh, const char *name);
/* Appends a name, quoted if need be. Loads the keywords. */
void rql_sh_put_name(struct rql_sh *sh, struct rql_strbuf *out, const char *name);

/* ---- suggest.c ---- */
/* Edits (a letter added, dropped, changed, two swapped) that make a of b. */
size_t rql_sh_distance(const char *a, const char *b);
/* The name that is nearest to what was typed, or NULL when none is near. name_at gives NULL behind the last. */
const char *rql_sh_suggest(const char *typed, const char *(*name_at)(size_t index));

/* ---- viewer.c ---- */
/* Sends output to a new file for a spreadsheet (as CSV) or a text editor, until rql_sh_output is called. bom: a byte
 * order mark first. */
bool rql_sh_view(struct rql_sh *sh, bool sheet, bool bom);
/* Shows the file, which is closed, if there is one. */
bool rql_sh_view_end(struct rql_sh *sh);

/* ---- why.c ---- */
/* Keeps what the connection's last statement did, for .why. */
void rql_sh_why_note(struct rql_sh *sh);
/* One line about the structure that sql, which took ms, has built; nothing when it built none. */
void rql_sh_say_built(struct rql_sh *sh, const char *sql, double ms);

/* ---- spawn.c ---- */
/* Starts `sh -c command` with standard input from in_fd (or the shell's own when -1) and output to out_fd. -1 and errno
 * on failure. */
pid_t rql_sh_spawn(const char *command, int in_fd, int out_fd);
/* The exit status as a shell gives it (128 + signal when it was killed). */
/* Waits for the program; a Ctrl-C meanwhile is for it alone. Its exit status, or 128 + the signal that ended it. */
int rql_sh_wait(struct rql_sh *sh, pid_t child);

/* ---- options.c ---- */
/* Reads the flags; `path` and commands are applied in order after the database is open. Returns -1 to go on, or the
 * exit code. */
int rql_sh_main(int argc, char **argv);

/* ---- commands.c, commands_catalog.c ---- */
/* A line that begins with a dot. False when it failed (the error is printed). */
bool rql_sh_command(struct rql_sh *sh, const char *line);
bool rql_sh_set_mode(struct rql_sh *sh, const char *name, const char *table);
/* Names of commands that begin with prefix (no dot), for completion; NULL at the end. */
const char *rql_sh_command_name(const char *prefix, size_t index);
bool rql_sh_cmd_tables(struct rql_sh *sh, int argc, char **argv);
bool rql_sh_cmd_schema(struct rql_sh *sh, int argc, char **argv);
bool rql_sh_cmd_indexes(struct rql_sh *sh, int argc, char **argv);
bool rql_sh_cmd_databases(struct rql_sh *sh, int argc, char **argv);
bool rql_sh_cmd_dump(struct rql_sh *sh, int argc, char **argv); /* dump.c */
bool rql_sh_cmd_why(struct rql_sh *sh, int argc, char **argv);  /* why.c */
bool rql_sh_cmd_import(struct rql_sh *sh, int argc, char **argv);

/* ---- interrupt.c ---- */
/* Blocks SIGINT in the calling thread and all later ones and starts the thread that waits for it. Call it before any
 * other thread exists. */
bool rql_sh_signals_start(struct rql_sh_signals *signals);
void rql_sh_signals_stop(struct rql_sh_signals *signals);
void rql_sh_signals_connection(struct rql_sh_signals *signals, rayql_connection *con);
static inline enum rql_sh_activity rql_sh_activity(struct rql_sh *sh, enum rql_sh_activity activity)
{
	return (enum rql_sh_activity)atomic_exchange(&sh->signals.activity, (int)activity);
}
static inline bool rql_sh_interrupted(struct rql_sh *sh)
{
	return atomic_load(&sh->signals.interrupted);
}

/* ---- progress.c ---- */
/* Watches con from a thread and draws a bar on the terminal once two seconds have passed. NULL when there is nothing to
 * draw on. */
struct rql_sh_progress *rql_sh_progress_start(struct rql_sh *sh);
/* Erases the bar; NULL is fine. */
void rql_sh_progress_stop(struct rql_sh_progress *progress);
/* The bar's text for `columns` columns; NULL info->phase is fine. Empty when there is nothing to say. seconds: since
 * the start. */
void rql_sh_progress_text(struct rql_strbuf *text, const rayql_progress_info *info, double seconds, size_t columns);
/* Columns of the terminal on stdout, or 80. */
size_t rql_sh_terminal_columns(void);

/* ---- input.c ---- */
enum rql_sh_line { RQL_SH_LINE, RQL_SH_END, RQL_SH_CLEARED /* Ctrl-C */, RQL_SH_BAD /* a NUL byte, out of memory */ };
struct rql_sh_input *rql_sh_input_file(FILE *file, const char *name);
/* Line editing on the terminal. */
struct rql_sh_input *rql_sh_input_terminal(struct rql_sh *sh);
void rql_sh_input_free(struct rql_sh_input *input);
bool rql_sh_input_is_terminal(const struct rql_sh_input *input);
/* Appends the next line without its newline. more: inside a statement. */
enum rql_sh_line rql_sh_input_line(struct rql_sh *sh, struct rql_sh_input *input, bool more, struct rql_strbuf *line);
/* Keeps a whole statement or dot command in the history. */
void rql_sh_input_remember(struct rql_sh_input *input, const char *text);

/* ---- complete.c ---- */
struct rql_sh_completion {
	struct rql_strbuf word; /* what is before the cursor and is replaced */
	char *common;           /* what all names begin with; NULL when there are none */
	size_t count;
	struct rql_strbuf list; /* the names, each with a newline */
	char behind;            /* follows the only name: a space, or the closing quote; 0: nothing */
};
/* Completes the word that ends at the cursor. more: the line goes on with a statement. False when memory is out; free
 * out in any case. */
bool rql_sh_complete(struct rql_sh *sh, const char *line, size_t cursor, bool more, struct rql_sh_completion *out);
void rql_sh_completion_free(struct rql_sh_completion *out);

/* ---- selftest.c ---- */
int rql_sh_selftest(struct rql_sh *sh);

#endif
