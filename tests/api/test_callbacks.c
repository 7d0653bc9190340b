/* Callbacks: progress from a thread beside the call, which can end it, and the log of a connection. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

/* Runs until somebody ends it. */
#define LONG "SELECT count(*) FROM range(100000000) a(i), range(1000000) b(j) WHERE (i * j) % 7 = 3"

struct told {
	atomic_int calls, wrong;
	int end_at; /* the call that gives false; 0: none */
	pthread_t caller;
};

static bool progress(void *state, const rayql_progress_info *info)
{
	struct told *told = state;
	if (pthread_equal(pthread_self(), told->caller) || info->percentage < -1 || info->percentage > 100)
		atomic_fetch_add(&told->wrong, 1);
	return atomic_fetch_add(&told->calls, 1) + 1 != told->end_at;
}

static void progress_ends_a_statement(void **state)
{
	struct session s = open_session(NULL, NULL);
	struct told told = {.end_at = 3, .caller = pthread_self()};
	rayql_statement *stmt = NULL;
	rayql_error *err = NULL;
	(void)state;
	alarm(600);
	assert_int_equal(rayql_set_progress(s.con, 10, progress, &told, NULL), RAYQL_OK);
	fails(s.con, LONG, RAYQL_ERROR_INTERRUPTED, "");
	assert_int_equal(told.calls, 3);
	assert_int_equal(told.wrong, 0);
	expect(s.con, "SELECT 1", NULL, "1\n"); /* the connection lives on */
	told.calls = 0;
	assert_int_equal(rayql_prepare(s.con, LONG, &stmt, NULL), RAYQL_OK);
	assert_int_equal(rayql_execute(stmt, NULL, &err), RAYQL_ERROR_INTERRUPTED);
	rayql_error_free(err);
	rayql_statement_free(stmt);
	/* Between calls nobody is told anything; a result that streams is told of while it is fetched. */
	int before = told.calls;
	struct timespec pause = {.tv_nsec = 60000000};
	nanosleep(&pause, NULL);
	assert_int_equal(told.calls, before);
	told.calls = 0;
	told.end_at = 1;
	fails(s.con, "SELECT i FROM range(100000000) a(i), range(1000000) b(j) WHERE (i * j) % 7 = 8", RAYQL_ERROR_INTERRUPTED, "");
	/* Taken away, also by the end of the connection. */
	assert_int_equal(rayql_set_progress(s.con, 0, NULL, NULL, NULL), RAYQL_OK);
	told.calls = 0;
	run(s.con, "SELECT count(*) FROM range(3000000) r(i) WHERE hash(i) % 7 = 1");
	assert_int_equal(told.calls, 0);
	assert_int_equal(rayql_set_progress(s.con, 1, progress, &told, NULL), RAYQL_OK);
	assert_int_equal(rayql_set_progress(NULL, 1, progress, &told, NULL), RAYQL_ERROR_MISUSE);
	alarm(0);
	close_session(&s);
}

struct lines {
	rayql_log_level levels[8];
	char texts[8][200];
	int count;
	pthread_t caller;
};

static void note(void *state, rayql_log_level level, const char *text)
{
	struct lines *lines = state;
	assert_true(lines->count < 8 && pthread_equal(pthread_self(), lines->caller));
	lines->levels[lines->count] = level;
	snprintf(lines->texts[lines->count++], sizeof lines->texts[0], "%s", text);
}

static void logged(struct lines *lines, int line, rayql_log_level level, const char *text)
{
	assert_true(line < lines->count);
	assert_int_equal(lines->levels[line], level);
	if (!strstr(lines->texts[line], text))
		fail_msg("have: %s\nwant: %s", lines->texts[line], text);
}

static void the_log(void **state)
{
	struct session s = open_session(NULL, NULL);
	struct lines lines = {.caller = pthread_self()};
	(void)state;
	make_table(s.con, "t", 1000);
	run(s.con, "CREATE INDEX c ON t USING columns (*); SET rayql_force = on; SET rayql_fallback = 'notice'");
	rayql_set_log(s.con, RAYQL_LOG_STATEMENT, note, &lines);
	run(s.con, "SELECT sum(v) FROM t WHERE a = 3");
	run(s.con, "SELECT string_agg(g, ',' ORDER BY random()) IS NULL FROM t");
	fails(s.con, "SELECT nothing FROM t", RAYQL_ERROR_HOST, "nothing");
	assert_int_equal(lines.count, 4);
	logged(&lines, 0, RAYQL_LOG_STATEMENT, "scan on cpu, ");
	logged(&lines, 1, RAYQL_LOG_NOTICE, "");
	logged(&lines, 2, RAYQL_LOG_STATEMENT, "host, ");
	logged(&lines, 3, RAYQL_LOG_ERROR, "nothing");
	lines.count = 0;
	rayql_set_log(s.con, RAYQL_LOG_ERROR, note, &lines);
	run(s.con, "SELECT sum(v) FROM t WHERE a = 3");
	fails(s.con, "SELECT nothing FROM t", RAYQL_ERROR_HOST, "nothing");
	assert_int_equal(lines.count, 1);
	rayql_set_log(s.con, RAYQL_LOG_STATEMENT, NULL, NULL);
	run(s.con, "SELECT 1");
	assert_int_equal(lines.count, 1);
	close_session(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(progress_ends_a_statement), cmocka_unit_test(the_log)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
