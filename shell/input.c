/* Where lines come from: a file, a pipe, or a person at a terminal (libedit, with history and complete.c). */
#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
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
/* The editor counts characters. */
static int characters(const char *text)
{
	int count = 0;
	for (; *text; text++)
		count += ((unsigned char)*text & 0xc0) != 0x80;
	return count;
}

static unsigned char complete(EditLine *editor, int key)
{
	struct rql_sh_input *input;
	struct rql_sh_completion completion = {0};
	const LineInfo *info = el_line(editor);
	char *line = strndup(info->buffer, (size_t)(info->lastchar - info->buffer));
	unsigned char answer = CC_ERROR;
	(void)key;
	el_get(editor, EL_CLIENTDATA, &input);
	size_t cursor = (size_t)(info->cursor - info->buffer);
	bool found = line && rql_sh_complete(input->sh, line, cursor, input->more, &completion);
	free(line);
	const char *common = completion.common;
	if (found && common && (strlen(common) > completion.word.length || completion.count == 1)) {
		/* The typed letters too, so that an identifier gets its own case. */
		char behind[2] = {completion.behind, '\0'};
		if (completion.word.length)
			el_deletestr(editor, characters(rql_strbuf_text(&completion.word)));
		el_insertstr(editor, common);
		el_insertstr(editor, behind);
		answer = CC_REFRESH;
	} else if (found && completion.count > 1 && completion.count < 200) {
		fprintf(stdout, "\n%s", completion.list.data);
		fflush(stdout);
		answer = CC_REDISPLAY;
	}
	rql_sh_completion_free(&completion);
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

/* A statement is one entry with its lines: it comes back whole, with its comments. */
void rql_sh_input_remember(struct rql_sh_input *input, const char *text)
{
	HistEvent event;
	if (input->history && *text)
		history(input->history, &event, H_ENTER, text);
}
