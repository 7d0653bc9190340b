/* The progress bar: a thread per statement that polls rayql_progress and draws on the terminal, if the statement takes
 * longer than two seconds. It draws with write(), beside stdio, and only while the statement's thread prints nothing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "shell.h"
#include "width.h"

enum { FIRST_MS = 2000, EVERY_MS = 100 };

struct rql_sh_progress {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stop, drawn;
	rayql_connection *con;
	struct timespec begin;
};

size_t rql_sh_terminal_columns(void)
{
	struct winsize size;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return 80;
	return size.ws_col;
}

static double seconds_since(const struct timespec *begin)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - begin->tv_sec) + (double)(now.tv_nsec - begin->tv_nsec) / 1e9;
}

static void put_eta(struct rql_strbuf *text, double seconds)
{
	if (!(seconds >= 0) || seconds > 99 * 3600.0)
		return;
	if (seconds < 1)
		rql_strbuf_put(text, " (<1 second remaining)");
	else if (seconds < 60)
		rql_strbuf_printf(text, " (~%.0f second%s remaining)", floor(seconds), seconds >= 2 ? "s" : "");
	else if (seconds < 3600)
		rql_strbuf_printf(text, " (~%.2f minutes remaining)", seconds / 60);
	else
		rql_strbuf_printf(text, " (~%.2f hours remaining)", seconds / 3600);
}

static void put_count(struct rql_strbuf *text, uint64_t count)
{
	char digits[32];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			rql_strbuf_putc(text, ',');
		rql_strbuf_putc(text, digits[i]);
	}
}

static void put_bar(struct rql_strbuf *text, double percentage, size_t width)
{
	static const char *const parts[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	size_t eighths = (size_t)(percentage / 100 * (double)width * 8);
	rql_strbuf_put(text, "▕");
	for (size_t i = 0; i < width; i++)
		rql_strbuf_put(text, eighths >= (i + 1) * 8 ? "█" : eighths > i * 8 ? parts[eighths % 8] : " ");
	rql_strbuf_put(text, "▏");
}

void rql_sh_progress_text(struct rql_strbuf *text, const rayql_progress_info *info, double seconds, size_t columns)
{
	enum { WIDEST = 60, NARROWEST = 10 };
	double percentage = info->percentage > 100 ? 100 : info->percentage;
	struct rql_strbuf tail = {0};
	if (percentage < 0 && info->total_rows)
		percentage = 100.0 * (double)info->rows / (double)info->total_rows;
	if (!(percentage >= 0) && !info->rows && !info->phase)
		return;
	if (info->phase)
		rql_strbuf_printf(&tail, " %s", info->phase);
	if (info->rows) {
		rql_strbuf_putc(&tail, ' ');
		put_count(&tail, info->rows);
		if (info->total_rows) {
			rql_strbuf_put(&tail, " of ");
			put_count(&tail, info->total_rows);
		}
		rql_strbuf_put(&tail, " rows");
	}
	if (percentage > 0)
		put_eta(&tail, seconds * (100 - percentage) / percentage);
	size_t used = rql_sh_width(rql_strbuf_text(&tail), tail.length);
	if (percentage >= 0) {
		rql_strbuf_printf(text, "%3d%% ", (int)percentage);
		size_t left = columns > used + 5 + 2 + 1 ? columns - used - 8 : 0;
		if (left >= NARROWEST)
			put_bar(text, percentage, left < WIDEST ? left : WIDEST);
	}
	/* The line must not wrap: erasing takes back one line only. */
	size_t taken = rql_sh_width(rql_strbuf_text(text), text->length), shown;
	size_t room = columns > taken + 1 ? columns - taken - 1 : 0;
	rql_strbuf_put_n(text, rql_strbuf_text(&tail), rql_sh_prefix(rql_strbuf_text(&tail), tail.length, room, &shown));
	rql_strbuf_free(&tail);
}

static void draw(struct rql_sh_progress *progress)
{
	rayql_progress_info info = {.percentage = -1};
	struct rql_strbuf line = {0}, text = {0};
	rayql_progress(progress->con, &info);
	rql_sh_progress_text(&text, &info, seconds_since(&progress->begin), rql_sh_terminal_columns());
	if (text.length) {
		rql_strbuf_put(&line, "\r\x1b[0K");
		rql_strbuf_put_n(&line, text.data, text.length);
		if (!line.failed && write(STDOUT_FILENO, line.data, line.length) > 0)
			progress->drawn = true;
	}
	rql_strbuf_free(&text);
	rql_strbuf_free(&line);
}

static void *watch(void *context)
{
	struct rql_sh_progress *progress = context;
	struct timespec next = progress->begin;
	long wait_ms = FIRST_MS;
	pthread_mutex_lock(&progress->lock);
	while (!progress->stop) {
		next.tv_nsec += wait_ms % 1000 * 1000000;
		next.tv_sec += wait_ms / 1000 + next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		wait_ms = EVERY_MS;
		int waited = 0;
		while (!progress->stop && !waited)
			waited = pthread_cond_timedwait(&progress->changed, &progress->lock, &next);
		if (!progress->stop)
			draw(progress);
	}
	pthread_mutex_unlock(&progress->lock);
	return NULL;
}

struct rql_sh_progress *rql_sh_progress_start(struct rql_sh *sh)
{
	pthread_condattr_t monotonic;
	if (!sh->progress_bar || !sh->stdout_tty)
		return NULL;
	struct rql_sh_progress *progress = calloc(1, sizeof(*progress));
	if (!progress)
		return NULL;
	progress->con = sh->con;
	clock_gettime(CLOCK_MONOTONIC, &progress->begin);
	pthread_mutex_init(&progress->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&progress->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	fflush(stdout);
	if (!pthread_create(&progress->thread, NULL, watch, progress))
		return progress;
	pthread_cond_destroy(&progress->changed);
	pthread_mutex_destroy(&progress->lock);
	free(progress);
	return NULL;
}

void rql_sh_progress_stop(struct rql_sh_progress *progress)
{
	if (!progress)
		return;
	pthread_mutex_lock(&progress->lock);
	progress->stop = true;
	pthread_cond_signal(&progress->changed);
	pthread_mutex_unlock(&progress->lock);
	pthread_join(progress->thread, NULL);
	if (progress->drawn && write(STDOUT_FILENO, "\r\x1b[0K", 5) < 0)
		progress->drawn = false; /* the terminal has gone; the session will see it */
	pthread_cond_destroy(&progress->changed);
	pthread_mutex_destroy(&progress->lock);
	free(progress);
}
