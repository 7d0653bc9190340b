/* What a person at a terminal sees: prompt, continuation, Ctrl-C at the prompt and in a statement, the progress bar and
 * its erasure, history over two sessions, Ctrl-D, .exit. Runs rayql under a pseudo-terminal.
 *
 *   test_terminal RAYQL        Times appear only as a limit after which a step counts as failed. */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_S = 300, SEEN = 1 << 20 };

struct terminal {
	int fd;
	pid_t child;
	char *seen; /* everything printed since the last expect() that matched, NUL-terminated */
	size_t length;
};

static const char *step = "start";

static void fail(const struct terminal *term, const char *what)
{
	fprintf(stderr, "FAILED in step '%s': %s\n--- seen since the last match:\n", step, what);
	for (size_t i = 0; i < term->length; i++) {
		unsigned char c = (unsigned char)term->seen[i];
		if (c == 27)
			fputs("<ESC>", stderr);
		else if (c < 32 && c != '\n')
			fprintf(stderr, "<%02x>", c);
		else
			putc(c, stderr);
	}
	fputs("\n---\n", stderr);
	kill(term->child, SIGKILL);
	exit(1);
}

static void start(struct terminal *term, const char *program)
{
	struct winsize size = {.ws_row = 40, .ws_col = 100};
	free(term->seen);
	term->seen = calloc(1, SEEN);
	term->length = 0;
	term->child = term->seen ? forkpty(&term->fd, NULL, NULL, &size) : -1;
	if (term->child < 0) {
		perror("forkpty");
		exit(1);
	}
	if (!term->child) {
		execl(program, program, "-no-init", (char *)NULL);
		_exit(127);
	}
}

/* Reads what there is; false at the end of the program's output or of patience. */
static bool more(struct terminal *term, const struct timespec *begin)
{
	struct timespec now;
	struct pollfd polled = {.fd = term->fd, .events = POLLIN};
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec - begin->tv_sec > LIMIT_S)
		return false;
	if (poll(&polled, 1, 1000) <= 0)
		return true;
	if (term->length > SEEN - 5000) { /* keep the newer half */
		memmove(term->seen, term->seen + SEEN / 2, term->length - SEEN / 2 + 1);
		term->length -= SEEN / 2;
	}
	ssize_t count = read(term->fd, term->seen + term->length, 4096);
	if (count <= 0)
		return false;
	/* The terminal's NUL padding would end the text. */
	size_t kept = term->length;
	for (ssize_t i = 0; i < count; i++)
		if (term->seen[term->length + (size_t)i])
			term->seen[kept++] = term->seen[term->length + (size_t)i];
	term->length = kept;
	term->seen[kept] = '\0';
	return true;
}

/* Waits until the text appears and forgets everything up to its end. */
static void expect(struct terminal *term, const char *text)
{
	struct timespec begin;
	char *at;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (!(at = strstr(term->seen, text))) {
		if (!more(term, &begin)) {
			char what[300];
			snprintf(what, sizeof(what), "expected \"%.200s\"", text);
			fail(term, what);
		}
	}
	at += strlen(text);
	memmove(term->seen, at, term->length - (size_t)(at - term->seen) + 1);
	term->length -= (size_t)(at - term->seen);
}

static void type(struct terminal *term, const char *text)
{
	size_t length = strlen(text);
	while (length) {
		ssize_t count = write(term->fd, text, length);
		if (count < 0 && errno != EINTR)
			fail(term, "cannot type");
		text += count > 0 ? count : 0;
		length -= count > 0 ? (size_t)count : 0;
	}
}

static void expect_exit(struct terminal *term, int code)
{
	struct timespec begin, now;
	int status;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (more(term, &begin))
		continue;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec - begin.tv_sec > LIMIT_S)
		fail(term, "it does not leave");
	if (waitpid(term->child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != code)
		fail(term, "wrong exit status");
	close(term->fd);
}

static const char slow_statement[] =
	"SELECT sum(a.i * b.i % 7) AS slow FROM big a, big b;\r";

static void first_session(struct terminal *term, const char *program)
{
	step = "greeting and prompt";
	start(term, program);
	expect(term, "RayQL ");
	expect(term, "Enter \".help\" for usage hints.");
	expect(term, "rayql> ");

	step = "a statement";
	type(term, "SELECT 41 + 1 AS answer;\r");
	expect(term, "answer");
	expect(term, "│     42 │");
	expect(term, "rayql> ");

	step = "a statement in two lines";
	type(term, "SELECT 'two'\r");
	expect(term, "  ...> ");
	type(term, "AS lines;\r");
	expect(term, "lines");
	expect(term, "│ two");
	expect(term, "rayql> ");

	step = "Ctrl-C clears the line";
	type(term, "SELECT nonsense");
	expect(term, "nonsense");
	type(term, "\x03");
	expect(term, "^C");
	expect(term, "rayql> ");
	type(term, "SELECT 7 AS seven;\r");
	expect(term, "│     7 │");
	expect(term, "rayql> ");

	step = "Ctrl-C clears a statement of several lines";
	type(term, "SELECT 'open\r");
	expect(term, "  ...> ");
	type(term, "\x03");
	expect(term, "rayql> ");
	type(term, "SELECT 8 AS eight;\r");
	expect(term, "│     8 │");
	expect(term, "rayql> ");

	step = "an error";
	type(term, "SELECT nix;\r");
	expect(term, "Binder Error: Referenced column \"nix\"");
	expect(term, "rayql> ");
}

static void cancel(struct terminal *term)
{
	step = "the progress bar";
	type(term, "CREATE TABLE big AS SELECT range AS i FROM range(2000000);\r");
	expect(term, "rayql> ");
	type(term, slow_statement);
	expect(term, "\r\x1b[0K");
	expect(term, "% ");

	step = "Ctrl-C cancels the statement and erases the bar";
	type(term, "\x03");
	expect(term, "\r\x1b[0K");
	expect(term, "INTERRUPT Error: Interrupted!");
	expect(term, "rayql> ");
	if (strstr(term->seen, "% "))
		fail(term, "the progress bar goes on after the statement");
	type(term, "SELECT 9 AS nine;\r");
	expect(term, "│     9 │");
	expect(term, "rayql> ");

	step = "no progress bar when it is off";
	type(term, ".progress_bar off\r");
	expect(term, "rayql> ");
	type(term, slow_statement);
	expect(term, "slow"); /* the echo */
	struct timespec begin, now;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do { /* more than the two seconds after which it would have come */
		more(term, &begin);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < 4);
	if (strstr(term->seen, "% ▕"))
		fail(term, "a progress bar was drawn");
	type(term, "\x03");
	expect(term, "INTERRUPT Error");
	expect(term, "rayql> ");

	step = "Ctrl-C in a program of the user's";
	type(term, ".shell sleep 100\r");
	expect(term, "sleep 100");
	usleep(500000);
	type(term, "\x03");
	expect(term, "System command returns 130");
	expect(term, "rayql> ");
}

int main(int argc, char **argv)
{
	struct terminal term = {0};
	char folder[] = "/tmp/rayql-terminal-XXXXXX", history[64], line[400], script[64], completion[100];
	if (argc != 2 || !mkdtemp(folder)) {
		fprintf(stderr, "usage: test_terminal RAYQL\n");
		return 99;
	}
	snprintf(history, sizeof(history), "%s/history", folder);
	snprintf(script, sizeof(script), "%s/a_script.sql", folder);
	snprintf(completion, sizeof(completion), ".read %s/a_s\t\r", folder);
	FILE *text = fopen(script, "w");
	if (!text || fputs(".print from_file", text) < 0 || fclose(text))
		return 99;
	setenv("RAYQL_HISTORY", history, 1);
	setenv("HOME", folder, 1);
	setenv("TERM", "xterm", 1);
	setenv("LC_ALL", "C.UTF-8", 1);

	first_session(&term, argv[1]);
	cancel(&term);
	step = "Ctrl-D leaves";
	type(&term, "\x04");
	expect_exit(&term, 0);

	step = "history is kept";
	FILE *file = fopen(history, "r");
	bool found = false;
	struct stat about;
	while (file && fgets(line, sizeof(line), file))
		found = found || strstr(line, "41\\040+\\0401") || strstr(line, "41 + 1");
	if (!file || !found || fstat(fileno(file), &about) || (about.st_mode & 077))
		fail(&term, "the history file lacks the statement, or others may read it");
	fclose(file);

	step = "history in a second session";
	start(&term, argv[1]);
	expect(&term, "rayql> ");
	type(&term, "SELECT 5 AS five;\r");
	expect(&term, "│     5 │");
	expect(&term, "rayql> ");
	type(&term, "\x1b[A\r");
	expect(&term, "│     5 │");
	expect(&term, "rayql> ");

	step = "completion";
	type(&term, "CREATE TABLE shoes_in_stock AS SELECT 3 AS x;\r");
	expect(&term, "rayql> ");
	type(&term, "SELECT x FROM shoes_i\t;\r");
	expect(&term, "│     3 │");
	expect(&term, "rayql> ");

	type(&term, "CREATE TABLE täg AS SELECT 4 AS größe;\r");
	expect(&term, "rayql> ");
	type(&term, "SELECT grö\t FROM tä\t;\r");
	expect(&term, "│     4 │");
	expect(&term, "rayql> ");
	type(&term, "SELECT length_gr\t'abc') AS n;\r");
	expect(&term, "│     3 │");
	expect(&term, "rayql> ");

	step = "completion of files";
	type(&term, completion);
	expect(&term, "from_file");
	expect(&term, "rayql> ");
	type(&term, "FROM read_text('");
	type(&term, folder);
	type(&term, "/a_sc\t) SELECT length(content) AS n;\r");
	expect(&term, "│    16 │");
	expect(&term, "rayql> ");

	step = "a statement of several lines comes back whole";
	type(&term, "SELECT 1 AS uno, -- the first\r");
	expect(&term, "  ...> ");
	type(&term, "2 AS due;\r");
	expect(&term, "│     1 │     2 │");
	expect(&term, "rayql> ");
	type(&term, "\x1b[A\r");
	expect(&term, "│     1 │     2 │");
	expect(&term, "rayql> ");

	step = "a line after CREATE";
	type(&term, "CREATE MATERIALIZED VIEW v AS SELECT x, count(*) AS n FROM shoes_in_stock GROUP BY x;\r");
	expect(&term, "1 cell from 1 row in ");
	expect(&term, "rayql> ");

	step = ".exit";
	type(&term, ".exit 3\r");
	expect_exit(&term, 3);
	unlink(history);
	unlink(script);
	rmdir(folder);
	free(term.seen);
	puts("terminal: OK");
	return 0;
}
