/* Where lines come from: a file, a pipe, or a person at a terminal (libedit, with history and completion). */
#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <wchar.h>

#include "shell.h"

enum { HISTORY_SIZE = 2000 };

struct rql_sh_input {
	/* a file */
	FILE *file;
	const char *name;
	uint64_t line_number;
	char *buffer;
	size_t buffer_size;
	/* a terminal */
	struct rql_sh *sh;
	EditLine *editor;
	History *history;
	char *history_path;
	bool more, cleared;
};

static const char *const keywords[] = {"SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "OFFSET",
	"JOIN", "LEFT JOIN", "INNER JOIN", "ON", "USING", "AND", "OR", "NOT", "NULL", "IS", "IN", "BETWEEN", "LIKE", "CASE",
	"WHEN", "THEN", "ELSE", "END", "AS", "DISTINCT", "UNION", "ALL", "EXCEPT", "INTERSECT", "WITH", "CREATE", "TABLE",
	"VIEW", "MATERIALIZED VIEW", "INDEX", "REFRESH MATERIALIZED VIEW", "REFRESH INDEX", "DROP", "ALTER", "INSERT INTO",
	"VALUES", "UPDATE", "SET", "DELETE", "COPY", "EXPLAIN", "EXPLAIN ANALYZE", "DESCRIBE", "SUMMARIZE", "SHOW", "PRAGMA",
	"ATTACH", "DETACH", "BEGIN", "COMMIT", "ROLLBACK", "CHECKPOINT", "COUNT", "SUM", "AVG", "MIN", "MAX", "rollup", "unit",
	"layout", "rayql_devices()", "rayql_structures()", "rayql_methods()", "rayql_last_query()", "rayql_fallback",
	"rayql_auto_columns", "rayql_memory_limit", "rayql_device", "rayql_unit", "rayql_force", NULL};

static char *prompt(EditLine *editor)
{
	struct rql_sh_input *input;
	el_get(editor, EL_CLIENTDATA, &input);
	return input->more ? input->sh->prompt_more : input->sh->prompt;
}

/* One byte of the terminal, or -1 when Ctrl-C came first, 0 at its end. */
static int next_byte(struct rql_sh_input *input, unsigned char *byte)
{
	struct pollfd polled[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = input->sh->signals.wake[0], .events = POLLIN}};
	for (;;) {
		if (poll(polled, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return 0;
		}
		if (polled[1].revents & POLLIN) {
			char wake[64];
			if (read(polled[1].fd, wake, sizeof(wake)) < 0)
				continue;
			input->cleared = true;
			return -1;
		}
		if (polled[0].revents) {
			ssize_t count = read(STDIN_FILENO, byte, 1);
			if (count < 0 && (errno == EINTR || errno == EAGAIN))
				continue;
			return count > 0 ? 1 : 0;
		}
	}
}

/* libedit's own reader does not come back for a signal that no handler takes. */
static int get_char(EditLine *editor, wchar_t *out)
{
	struct rql_sh_input *input;
	mbstate_t state = {0};
	el_get(editor, EL_CLIENTDATA, &input);
	for (;;) {
		unsigned char byte;
		int got = next_byte(input, &byte);
		if (got <= 0)
			return got;
		size_t length = mbrtowc(out, (char *)&byte, 1, &state);
		if (length == (size_t)-2)
			continue;
		if (length == (size_t)-1) {
			state = (mbstate_t){0};
			continue; /* a broken sequence: drop it */
		}
		return 1;
	}
}

/* ---- completion ---- */
struct matches {
	const char *word;
	size_t length, count;
	char *common; /* what all matches begin with */
	struct rql_strbuf list;
};

static void match(struct matches *matches, const char *name)
{
	if (strncasecmp(name, matches->word, matches->length))
		return;
	matches->count++;
	rql_strbuf_printf(&matches->list, "%s\n", name);
	if (!matches->common) {
		matches->common = strdup(name);
		return;
	}
	size_t same = 0;
	while (name[same] && !strncasecmp(name + same, matches->common + same, 1))
		same++;
	matches->common[same] = '\0';
}

static void match_row(void *context, const char *const *texts, uint32_t columns)
{
	if (columns && texts[0])
		match(context, texts[0]);
}

static void find_matches(struct rql_sh_input *input, struct matches *matches, bool command)
{
	const char *name;
	for (size_t i = 0; command && (name = rql_sh_command_name(matches->word, i)); i++)
		match(matches, name);
	if (command)
		return;
	for (size_t i = 0; keywords[i]; i++)
		match(matches, keywords[i]);
	rql_sh_each_row(input->sh, "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND schema_name <> 'rayql' UNION "
	                "SELECT view_name FROM duckdb_views() WHERE NOT internal UNION "
	                "SELECT column_name FROM duckdb_columns() WHERE NOT internal AND schema_name <> 'rayql'", true, match_row, matches);
	rql_sh_each_row(input->sh, "SELECT name FROM rayql_structures()", true, match_row, matches);
}

static unsigned char complete(EditLine *editor, int key)
{
	struct rql_sh_input *input;
	const LineInfo *line = el_line(editor);
	const char *begin = line->cursor;
	unsigned char answer = CC_ERROR;
	(void)key;
	el_get(editor, EL_CLIENTDATA, &input);
	while (begin > line->buffer && !strchr(" \t\n(),;=<>+-*/'\"", begin[-1]))
		begin--;
	bool command = begin == line->buffer && *begin == '.' && !input->more;
	if (command)
		begin++;
	char *word = strndup(begin, (size_t)(line->cursor - begin));
	struct matches matches = {.word = word ? word : "", .length = word ? strlen(word) : 0};
	if (matches.length)
		find_matches(input, &matches, command);
	if (matches.common && strlen(matches.common) > matches.length) {
		/* The typed letters too, so that an identifier gets its own case. */
		el_deletestr(editor, (int)matches.length);
		el_insertstr(editor, matches.common);
		if (matches.count == 1)
			el_insertstr(editor, " ");
		answer = CC_REFRESH;
	} else if (matches.count > 1 && matches.count < 200 && !matches.list.failed) {
		fprintf(stdout, "\n%s", matches.list.data);
		fflush(stdout);
		answer = CC_REDISPLAY;
	}
	free(matches.common);
	rql_strbuf_free(&matches.list);
	free(word);
	return answer;
}

/* ---- setting up ---- */
static char *history_file(void)
{
	const char *path = getenv("RAYQL_HISTORY"), *home = getenv("HOME");
	struct rql_strbuf text = {0};
	if (path)
		return *path ? strdup(path) : NULL; /* empty: none is kept */
	const struct passwd *user = home ? NULL : getpwuid(getuid());
	if (user)
		home = user->pw_dir;
	if (!home)
		return NULL;
	rql_strbuf_printf(&text, "%s/.rayql_history", home);
	return rql_strbuf_take(&text);
}

struct rql_sh_input *rql_sh_input_file(FILE *file, const char *name)
{
	struct rql_sh_input *input = calloc(1, sizeof(*input));
	if (!input)
		return NULL;
	input->file = file;
	input->name = name;
	return input;
}

struct rql_sh_input *rql_sh_input_terminal(struct rql_sh *sh)
{
	struct rql_sh_input *input = calloc(1, sizeof(*input));
	HistEvent event;
	if (!input)
		return NULL;
	setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8"))
		setlocale(LC_CTYPE, "C.UTF-8");
	input->sh = sh;
	input->editor = el_init(sh->program, stdin, stdout, stderr);
	input->history = history_init();
	if (!input->editor || !input->history) {
		rql_sh_input_free(input);
		return NULL;
	}
	input->history_path = history_file();
	history(input->history, &event, H_SETSIZE, HISTORY_SIZE);
	history(input->history, &event, H_SETUNIQUE, 1);
	if (input->history_path)
		history(input->history, &event, H_LOAD, input->history_path);
	el_set(input->editor, EL_CLIENTDATA, input);
	el_set(input->editor, EL_PROMPT, prompt);
	el_set(input->editor, EL_EDITOR, "emacs");
	el_set(input->editor, EL_HIST, history, input->history);
	el_set(input->editor, EL_GETCFN, get_char);
	el_set(input->editor, EL_ADDFN, "rayql-complete", "Complete a word", complete);
	el_set(input->editor, EL_BIND, "^I", "rayql-complete", NULL);
	el_set(input->editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
	el_source(input->editor, NULL); /* ~/.editrc */
	return input;
}

void rql_sh_input_free(struct rql_sh_input *input)
{
	HistEvent event;
	if (!input)
		return;
	if (input->history && input->history_path)
		history(input->history, &event, H_SAVE, input->history_path);
	if (input->history)
		history_end(input->history);
	if (input->editor)
		el_end(input->editor);
	free(input->history_path);
	free(input->buffer);
	free(input);
}

bool rql_sh_input_is_terminal(const struct rql_sh_input *input)
{
	return input->editor;
}

/* ---- reading ---- */
static enum rql_sh_line from_terminal(struct rql_sh *sh, struct rql_sh_input *input, bool more,
                                      struct rql_strbuf *line)
{
	int count = 0;
	input->more = more;
	input->cleared = false;
	el_resize(input->editor);
	enum rql_sh_activity before = rql_sh_activity(sh, RQL_SH_PROMPT);
	/* Before the prompt shows: libedit alone does it after, and a Ctrl-D between the two would be lost. */
	el_set(input->editor, EL_PREP_TERM, 1);
	const char *text = el_gets(input->editor, &count);
	rql_sh_activity(sh, before);
	if (input->cleared) {
		el_reset(input->editor);
		fputs("^C\n", stdout);
		return RQL_SH_CLEARED;
	}
	if (!text || count <= 0)
		return RQL_SH_END;
	size_t length = strlen(text);
	while (length && (text[length - 1] == '\n' || text[length - 1] == '\r'))
		length--;
	rql_strbuf_put_n(line, text, length);
	return line->failed ? RQL_SH_BAD : RQL_SH_LINE;
}

static enum rql_sh_line from_file(struct rql_sh *sh, struct rql_sh_input *input, struct rql_strbuf *line)
{
	ssize_t length = getline(&input->buffer, &input->buffer_size, input->file);
	if (length < 0) {
		if (ferror(input->file) || !feof(input->file)) {
			rql_sh_error(sh, "Error: cannot read %s: %s", input->name, strerror(errno));
			return RQL_SH_BAD;
		}
		return RQL_SH_END;
	}
	input->line_number++;
	if (memchr(input->buffer, '\0', (size_t)length)) {
		rql_sh_error(sh, "Error: line %llu of %s holds a NUL byte, so it is no text; the line is skipped",
		             (unsigned long long)input->line_number, input->name);
		return RQL_SH_BAD;
	}
	while (length && (input->buffer[length - 1] == '\n' || input->buffer[length - 1] == '\r'))
		length--;
	rql_strbuf_put_n(line, input->buffer, (size_t)length);
	return line->failed ? RQL_SH_BAD : RQL_SH_LINE;
}

enum rql_sh_line rql_sh_input_line(struct rql_sh *sh, struct rql_sh_input *input, bool more, struct rql_strbuf *line)
{
	return input->editor ? from_terminal(sh, input, more, line) : from_file(sh, input, line);
}

/* The editor edits one line: a statement over several lines comes back as one, unless that would put code behind a
 * comment. */
void rql_sh_input_remember(struct rql_sh_input *input, const char *text)
{
	HistEvent event;
	if (!input->history || !*text)
		return;
	bool comments = strstr(text, "--") != NULL;
	char *copy = strdup(text), *rest = copy;
	if (!copy)
		return;
	for (char *p = copy; !comments && *p; p++)
		if (*p == '\n')
			*p = ' ';
	for (char *line; comments && (line = strsep(&rest, "\n"));)
		if (*line)
			history(input->history, &event, H_ENTER, line);
	if (!comments)
		history(input->history, &event, H_ENTER, copy);
	free(copy);
}
