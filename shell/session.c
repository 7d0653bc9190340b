/* The session: the open database, running statements, where output goes, and the loop over input lines. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "render.h"

enum { READ_DEPTH = 25 };

bool rql_sh_set(struct rql_sh *sh, char **text, const char *value)
{
	char *copy = value ? strdup(value) : NULL;
	if (value && !copy) {
		rql_sh_error(sh, "Error: out of memory");
		return false;
	}
	free(*text);
	*text = copy;
	return true;
}

bool rql_sh_init(struct rql_sh *sh, const char *program)
{
	*sh = (struct rql_sh){.program = program, .out = stdout, .mode = &rql_sh_mode_duckbox, .header = true,
		.max_rows = 40, .progress_bar = true};
	sh->stdout_tty = isatty(STDOUT_FILENO);
	sh->interactive = isatty(STDIN_FILENO);
	return rql_sh_set(sh, &sh->column_sep, "|") && rql_sh_set(sh, &sh->row_sep, "\n") &&
	       rql_sh_set(sh, &sh->null_value, "NULL") && rql_sh_set(sh, &sh->insert_table, "\"table\"") &&
	       rql_sh_set(sh, &sh->prompt, "rayql> ") && rql_sh_set(sh, &sh->prompt_more, "  ...> ");
}

void rql_sh_free(struct rql_sh *sh)
{
	rql_sh_output(sh, NULL);
	rql_sh_signals_connection(&sh->signals, NULL);
	rql_sh_last_free(sh);
	rayql_disconnect(sh->con);
	rayql_close(sh->db);
	if (sh->log && sh->log != stdout && sh->log != stderr)
		fclose(sh->log);
	free(sh->path);
	for (unsigned i = 0; i < sh->option_count; i++)
		free(sh->options[2 * i]);
	free(sh->null_value);
	free(sh->keywords);
	rql_strbuf_free(&sh->why);
	free(sh->column_sep);
	free(sh->row_sep);
	free(sh->insert_table);
	free(sh->prompt);
	free(sh->prompt_more);
}

void rql_sh_error(struct rql_sh *sh, const char *fmt, ...)
{
	va_list args;
	fflush(sh->out);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	putc('\n', stderr);
	sh->errors++;
}

/* ---- the database ---- */
static bool lock_down(struct rql_sh *sh)
{
	rayql_error *err = NULL;
	if (!sh->safe)
		return true;
	/* DuckDB does not let anybody switch it on again while the database is open. */
	if (rayql_query(sh->con, "SET enable_external_access = false", NULL, &err)) {
		rql_sh_error(sh, "%s", rayql_error_message(err));
		rayql_error_free(err);
		return false;
	}
	return true;
}

bool rql_sh_open(struct rql_sh *sh)
{
	rayql_config config = {.size = sizeof(config), .read_only = sh->read_only,
		.host_options = (const char *const *)sh->options};
	rayql_database *db = NULL;
	rayql_connection *con = NULL;
	rayql_error *err = NULL;
	if (rayql_open(sh->path, &config, &db, &err) || rayql_connect(db, &con, &err)) {
		rql_sh_error(sh, "%s", rayql_error_message(err));
		rayql_error_free(err);
		rayql_close(db);
		return false;
	}
	rql_sh_signals_connection(&sh->signals, con);
	rql_sh_last_free(sh);
	rayql_disconnect(sh->con);
	rayql_close(sh->db);
	sh->con = con;
	sh->db = db;
	return lock_down(sh);
}

/* ---- output ---- */
static bool close_output(struct rql_sh *sh)
{
	bool ok = true;
	if (sh->out == stdout) {
		fflush(stdout);
		return true;
	}
	bool broken = ferror(sh->out);
	if ((fclose(sh->out) || broken) && (!sh->out_child || errno != EPIPE)) {
		sh->out = stdout;
		rql_sh_error(sh, "Error: cannot write to \"%s\": %s", sh->out_name, strerror(errno));
		ok = false;
	}
	sh->out = stdout;
	if (sh->out_child)
		rql_sh_wait(sh, sh->out_child);
	sh->out_child = 0;
	free(sh->out_name);
	sh->out_name = NULL;
	return rql_sh_view_end(sh) && ok;
}

static FILE *open_pipe(struct rql_sh *sh, const char *command)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	sh->out_child = rql_sh_spawn(command, ends[0], -1);
	int failed = errno;
	close(ends[0]);
	FILE *file = sh->out_child > 0 ? fdopen(ends[1], "w") : NULL;
	if (!file) {
		close(ends[1]);
		sh->out_child = 0;
		errno = failed;
	}
	return file;
}

bool rql_sh_output(struct rql_sh *sh, const char *path)
{
	bool ok = close_output(sh);
	sh->once = false;
	if (!path || !strcmp(path, "stdout"))
		return ok;
	if (!strcmp(path, "off"))
		path = "/dev/null";
	FILE *file = *path == '|' ? open_pipe(sh, path + 1) : fopen(path, "we");
	if (!file) {
		rql_sh_error(sh, "Error: cannot open \"%s\": %s", path, strerror(errno));
		return false;
	}
	if (!rql_sh_set(sh, &sh->out_name, path)) {
		fclose(file);
		return false;
	}
	sh->out = file;
	return ok;
}

/* A full disk or a reader that has gone, seen at the end of a statement. */
static bool check_output(struct rql_sh *sh)
{
	if (!fflush(sh->out) && !ferror(sh->out))
		return true;
	bool gone = errno == EPIPE;
	if (sh->out != stdout) {
		if (!gone)
			return rql_sh_output(sh, NULL); /* says what is wrong */
		clearerr(sh->out);
		return true;
	}
	/* Nobody reads on: `rayql ... | head` ends without a word, as other programs do. */
	if (!gone)
		rql_sh_error(sh, "Error: cannot write to standard output: %s", strerror(errno));
	sh->quit = true;
	sh->exit_code = 1;
	sh->errors++;
	return false;
}

/* ---- one statement ---- */
struct timer {
	struct timespec wall;
	struct rusage usage;
};

static void timer_start(struct timer *timer)
{
	clock_gettime(CLOCK_MONOTONIC, &timer->wall);
	getrusage(RUSAGE_SELF, &timer->usage);
}

static double elapsed(struct timeval from, struct timeval to)
{
	return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_usec - from.tv_usec) / 1e6;
}

static double timer_seconds(const struct timer *timer)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - timer->wall.tv_sec) + (double)(now.tv_nsec - timer->wall.tv_nsec) / 1e9;
}

static void timer_print(const struct timer *timer)
{
	struct timer now;
	double wall = timer_seconds(timer);
	timer_start(&now);
	/* DuckDB's line but for the real time's digits: benchmark scripts read it, and milliseconds say nothing here. */
	printf("Run Time (s): real %.6f user %f sys %f\n", wall, elapsed(timer->usage.ru_utime, now.usage.ru_utime),
	       elapsed(timer->usage.ru_stime, now.usage.ru_stime));
}

static void count_changes(struct rql_sh *sh, rayql_result *result)
{
	rayql_batch *batch = NULL, *text = NULL;
	unsigned long long changed = 0;
	if (!rayql_fetch(result, &batch, NULL) && batch && !rayql_batch_to_text(result, batch, &text, NULL) &&
	    rayql_batch_rows(text)) {
		size_t length;
		const char *number = rql_sh_cell(text, 0, 0, &length);
		char digits[24] = "";
		if (number && length < sizeof(digits))
			memcpy(digits, number, length);
		changed = strtoull(digits, NULL, 10);
	}
	rayql_batch_free(text);
	rayql_batch_free(batch);
	sh->last_changes = changed;
	sh->total_changes += changed;
}

static bool execute(struct rql_sh *sh, const char *sql)
{
	rayql_result *result = NULL;
	rayql_error *err = NULL;
	bool ok = true;
	struct rql_sh_progress *progress = rql_sh_progress_start(sh);
	rayql_status status = rayql_query(sh->con, sql, &result, &err);
	if (status != RAYQL_OK) {
		rql_sh_progress_stop(progress);
		rql_sh_error(sh, "%s", rayql_error_message(err));
		rayql_error_free(err);
		return false;
	}
	rayql_result_kind kind = result ? rayql_result_kind_of(result) : RAYQL_RESULT_NOTHING;
	char *notice = result && rayql_result_notice(result) ? strdup(rayql_result_notice(result)) : NULL;
	bool by_host = notice && !strcmp(rayql_result_method(result), "host");
	if (kind == RAYQL_RESULT_ROWS) {
		ok = rql_sh_render_result(sh, result, progress);
	} else {
		rql_sh_progress_stop(progress);
		if (kind == RAYQL_RESULT_CHANGED)
			count_changes(sh, result);
		rayql_result_free(result);
	}
	if (notice)
		fprintf(stderr, "Notice: %s%s\n", by_host ? "DuckDB answered: " : "", notice);
	free(notice);
	return ok;
}

static bool run_statement(struct rql_sh *sh, const char *sql)
{
	struct timer timer;
	if (rql_sh_is_blank(sql))
		return true;
	if (!sh->con) {
		rql_sh_error(sh, "Error: no database is open; use .open FILENAME");
		return false;
	}
	if (sh->echo)
		fprintf(sh->out, "%s\n", sql);
	if (sh->log) {
		fprintf(sh->log, "%s\n", sql);
		fflush(sh->log);
	}
	atomic_store(&sh->signals.interrupted, false);
	enum rql_sh_activity before = rql_sh_activity(sh, RQL_SH_RUNNING);
	sh->statement = sql;
	timer_start(&timer);
	bool ok = execute(sh, sql);
	sh->statement = NULL;
	rql_sh_why_note(sh);
	if (ok && sh->interactive)
		rql_sh_say_built(sh, sql, 1000 * timer_seconds(&timer));
	rql_sh_activity(sh, before);
	if (sh->timer)
		timer_print(&timer);
	if (!check_output(sh))
		ok = false;
	if (sh->once && !rql_sh_output(sh, NULL))
		ok = false;
	return ok;
}

bool rql_sh_is_blank(const char *sql)
{
	while (*sql) {
		if (strchr(" \t\r\n\f\v;", *sql)) {
			sql++;
		} else if (sql[0] == '-' && sql[1] == '-') {
			while (*sql && *sql != '\n')
				sql++;
		} else if (sql[0] == '/' && sql[1] == '*') {
			const char *end = strstr(sql + 2, "*/");
			if (!end)
				return false; /* the host says what is missing */
			sql = end + 2;
		} else {
			return false;
		}
	}
	return true;
}

/* A copy of one statement, for the API wants it terminated. */
static bool run_part(struct rql_sh *sh, const char *sql, size_t length)
{
	char *copy = strndup(sql, length);
	if (!copy) {
		rql_sh_error(sh, "Error: out of memory for a statement of %zu bytes", length);
		return false;
	}
	bool ok = run_statement(sh, copy);
	free(copy);
	return ok;
}

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t\r\n");
}

bool rql_sh_run_text(struct rql_sh *sh, const char *text, bool stop_at_error)
{
	bool ok = true;
	for (text = skip_blanks(text); *text && !sh->quit; text = skip_blanks(text)) {
		size_t length = rayql_statement_length(text);
		if (!length)
			length = strlen(text);
		if (!run_part(sh, text, length))
			ok = false;
		if (!ok && (stop_at_error || rql_sh_interrupted(sh)))
			return false;
		text += length;
	}
	return ok;
}

bool rql_sh_run_command(struct rql_sh *sh, const char *text)
{
	text = skip_blanks(text);
	if (*text == '.') {
		/* A dot command is one line; what follows is SQL or another one. */
		size_t length = strcspn(text, "\n");
		char *line = strndup(text, length);
		bool ok = line && rql_sh_command(sh, line);
		free(line);
		return ok && (!text[length] || sh->quit || rql_sh_run_command(sh, text + length + 1));
	}
	return rql_sh_run_text(sh, text, sh->bail != RQL_SH_BAIL_OFF);
}

/* ---- the loop over lines ---- */
/* Runs the complete statements in pending and keeps the rest. What stands behind an error is not run: it was typed or
 * written in the belief that the statement before it had worked. */
static bool run_pending(struct rql_sh *sh, struct rql_sh_input *input, struct rql_strbuf *pending)
{
	bool ok = true;
	size_t done = 0, length;
	while (!sh->quit && (length = rayql_statement_length(rql_strbuf_text(pending) + done))) {
		const char *sql = pending->data + done + strspn(pending->data + done, " \t\r\n");
		size_t skipped = (size_t)(sql - (pending->data + done));
		char *copy = length > skipped ? strndup(sql, length - skipped) : NULL;
		done += length;
		if (!copy)
			continue;
		if (rql_sh_input_is_terminal(input) && !rql_sh_is_blank(copy))
			rql_sh_input_remember(input, copy);
		if (ok && !run_statement(sh, copy))
			ok = false;
		free(copy);
	}
	if (ok && sh->changes && done)
		fprintf(sh->out, "changes: %3llu   total_changes: %llu\n", (unsigned long long)sh->last_changes,
		        (unsigned long long)sh->total_changes);
	size_t rest = pending->length - done;
	if (done) {
		memmove(pending->data, pending->data + done, rest + 1);
		pending->length = rest;
	}
	if (rql_sh_is_blank(rql_strbuf_text(pending)))
		rql_strbuf_clear(pending);
	return ok;
}

/* quit and exit as a word by itself, as people type it. */
static bool is_farewell(const char *line)
{
	static const char *const words[] = {"quit", "exit"};
	line = skip_blanks(line);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strncasecmp(line, words[i], strlen(words[i])) && rql_sh_is_blank(line + strlen(words[i])))
			return true;
	return false;
}

/* One line more. False when it failed. */
static bool take_line(struct rql_sh *sh, struct rql_sh_input *input, struct rql_strbuf *pending, size_t begin)
{
	const char *line = rql_strbuf_text(pending) + begin;
	if (!begin && *line == '.') {
		char *copy = strdup(line);
		rql_strbuf_clear(pending);
		if (!copy) {
			rql_sh_error(sh, "Error: out of memory");
			return false;
		}
		if (rql_sh_input_is_terminal(input))
			rql_sh_input_remember(input, copy);
		if (sh->echo)
			fprintf(sh->out, "%s\n", copy);
		bool ok = rql_sh_command(sh, copy);
		free(copy);
		return ok;
	}
	if (!begin && is_farewell(line)) {
		rql_strbuf_clear(pending);
		sh->quit = true;
		return true;
	}
	/* Looking for the end of a statement reads all of it: only a line that can hold the end is worth it. */
	bool may_end = strchr(line, ';');
	if (!begin && rql_sh_is_blank(line)) {
		rql_strbuf_clear(pending);
		return true;
	}
	bool comment_ends = strstr(line, "*/");
	rql_strbuf_putc(pending, '\n');
	if (comment_ends && rql_sh_is_blank(rql_strbuf_text(pending)))
		rql_strbuf_clear(pending);
	return !may_end || run_pending(sh, input, pending);
}

/* A file is a program, which an error ends; what is typed or piped goes on. */
static bool stops_at_error(const struct rql_sh *sh, bool is_file)
{
	return sh->bail == RQL_SH_BAIL_ON || (sh->bail == RQL_SH_BAIL_AUTO && is_file);
}

bool rql_sh_process(struct rql_sh *sh, struct rql_sh_input *input, bool is_file)
{
	struct rql_strbuf pending = {0};
	bool ok = true, terminal = rql_sh_input_is_terminal(input);
	/* Between lines a person may cancel what a dot command does, but not lose the shell. */
	enum rql_sh_activity before = rql_sh_activity(sh, terminal || sh->interactive ? RQL_SH_RUNNING : RQL_SH_IDLE);
	while (!sh->quit) {
		size_t begin = pending.length;
		fflush(sh->out);
		enum rql_sh_line kind = rql_sh_input_line(sh, input, begin > 0, &pending);
		if (kind == RQL_SH_END)
			break;
		if (kind == RQL_SH_CLEARED) {
			rql_strbuf_clear(&pending);
			continue;
		}
		bool line_ok = kind != RQL_SH_BAD && take_line(sh, input, &pending, begin);
		if (pending.failed) {
			rql_sh_error(sh, "Error: out of memory: the statement is too long (%zu bytes)", begin);
			rql_strbuf_free(&pending);
			line_ok = false;
		}
		ok = ok && line_ok;
		if (!line_ok && !terminal && (stops_at_error(sh, is_file) || rql_sh_interrupted(sh)))
			break;
	}
	/* A last statement without its semicolon runs from a file, but not when a person leaves with Ctrl-D. */
	if (!sh->quit && !terminal && pending.length && (ok || !stops_at_error(sh, is_file)) &&
	    !rql_sh_interrupted(sh))
		ok = run_part(sh, rql_strbuf_text(&pending), pending.length) && ok;
	rql_strbuf_free(&pending);
	rql_sh_activity(sh, before);
	return ok;
}

bool rql_sh_process_file(struct rql_sh *sh, const char *path)
{
	int ends[2];
	pid_t child = 0;
	FILE *file = NULL;
	if (sh->read_depth >= READ_DEPTH) {
		rql_sh_error(sh, "Error: cannot read \"%s\": input is nested %d deep; does a file read itself?", path, READ_DEPTH);
		return false;
	}
	if (*path != '|') {
		file = fopen(path, "re");
	} else if (!pipe2(ends, O_CLOEXEC)) {
		child = rql_sh_spawn(path + 1, -1, ends[1]);
		close(ends[1]);
		file = fdopen(ends[0], "r");
	}
	struct rql_sh_input *input = file && child >= 0 ? rql_sh_input_file(file, path) : NULL;
	bool ok = false;
	if (input) {
		sh->read_depth++;
		ok = rql_sh_process(sh, input, true);
		sh->read_depth--;
	} else {
		rql_sh_error(sh, "Error: cannot open \"%s\": %s", path, strerror(errno));
	}
	rql_sh_input_free(input);
	if (file)
		fclose(file);
	if (child > 0)
		rql_sh_wait(sh, child);
	return ok;
}

/* ---- queries of the shell's own ---- */
static bool each_of_batch(const rayql_batch *text, uint32_t columns, rql_sh_row_fn fn, void *context)
{
	struct rql_strbuf buffer = {0};
	const char **texts = calloc(columns ? columns : 1, sizeof(*texts));
	size_t *offsets = calloc(columns ? columns : 1, sizeof(*offsets));
	bool ok = texts && offsets;
	uint64_t rows = rayql_batch_rows(text);
	for (uint64_t row = 0; row < rows && ok; row++) {
		rql_strbuf_clear(&buffer);
		for (uint32_t c = 0; c < columns; c++) {
			size_t length;
			const char *value = rql_sh_cell(text, c, row, &length);
			offsets[c] = value ? buffer.length + 1 : 0;
			if (value) {
				rql_strbuf_put_n(&buffer, value, length);
				rql_strbuf_putc(&buffer, '\0');
			}
		}
		ok = !buffer.failed;
		for (uint32_t c = 0; c < columns && ok; c++)
			texts[c] = offsets[c] ? buffer.data + offsets[c] - 1 : NULL;
		if (ok)
			fn(context, texts, columns);
	}
	free(texts);
	free(offsets);
	rql_strbuf_free(&buffer);
	return ok;
}

bool rql_sh_each_row(struct rql_sh *sh, const char *sql, bool quiet, rql_sh_row_fn fn, void *context)
{
	rayql_result *result = NULL;
	rayql_error *err = NULL;
	if (!sh->con)
		return false;
	rayql_status status = rayql_query(sh->con, sql, &result, &err);
	while (status == RAYQL_OK && result) {
		rayql_batch *batch = NULL, *text = NULL;
		status = rayql_fetch(result, &batch, &err);
		if (status != RAYQL_OK || !batch)
			break;
		status = rayql_batch_to_text(result, batch, &text, &err);
		if (status == RAYQL_OK && !each_of_batch(text, rayql_column_count(result), fn, context))
			status = RAYQL_ERROR_MEMORY;
		rayql_batch_free(text);
		rayql_batch_free(batch);
	}
	if (status != RAYQL_OK && !quiet)
		rql_sh_error(sh, "%s", err ? rayql_error_message(err) : "Error: out of memory");
	rayql_error_free(err);
	rayql_result_free(result);
	return status == RAYQL_OK;
}
