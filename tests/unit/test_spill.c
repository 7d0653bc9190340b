/* Temporary files: what is written is read, and nothing of them is left in the folder, also while they are open and after
 * a process that had one was killed. */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/spill.h"

static char folder[] = "/tmp/rayql-spill-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(folder); /* empty */
}

static unsigned files_in(const char *path)
{
	unsigned count = 0;
	DIR *open = opendir(path);
	assert_non_null(open);
	for (const struct dirent *e = readdir(open); e; e = readdir(open))
		count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(open);
	return count;
}

static void test_written_is_read(void **state)
{
	(void)state;
	struct rql_spill *spill = NULL;
	uint64_t at[2];
	char data[5000], back[5000];
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (char)(i * 7);
	assert_int_equal(rql_spill_new(folder, 0, &spill, NULL), RQL_OK);
	assert_int_equal(rql_spill_write(spill, data, sizeof data, &at[0], NULL), RQL_OK);
	assert_int_equal(rql_spill_write(spill, data + 1, 4096, &at[1], NULL), RQL_OK);
	assert_int_equal(files_in(folder), 0);
	assert_int_equal(rql_spill_bytes(spill), sizeof data + 4096);
	rql_spill_forget(spill, at[0], sizeof data);
	assert_int_equal(rql_spill_read(spill, at[1], back, 4096, NULL), RQL_OK);
	assert_memory_equal(back, data + 1, 4096);
	struct rql_error err = {0};
	assert_int_equal(rql_spill_read(spill, at[1] + 1, back, 4096, &err), RQL_ERROR_IO); /* beyond the end */
	assert_non_null(strstr(rql_error_message(&err), folder));
	rql_error_clear(&err);
	rql_spill_free(spill);
}

/* A folder that is not there is made, and goes at once. */
static void test_folder(void **state)
{
	(void)state;
	struct rql_spill *spill = NULL;
	struct rql_error err = {0};
	char below[64];
	uint64_t at;
	snprintf(below, sizeof below, "%s/made", folder);
	assert_int_equal(rql_spill_new(below, 0, &spill, NULL), RQL_OK);
	assert_int_equal(files_in(folder), 0);
	assert_int_equal(rql_spill_write(spill, "abcd", 4, &at, NULL), RQL_OK);
	rql_spill_free(spill);
	snprintf(below, sizeof below, "%s/not/there", folder);
	assert_int_equal(rql_spill_new(below, 0, &spill, &err), RQL_ERROR_IO);
	assert_non_null(strstr(rql_error_message(&err), below));
	rql_error_clear(&err);
}

#define WRITERS 8
#define PIECES 200 /* of each */
#define PIECE 7u

struct writer {
	pthread_t thread;
	struct rql_spill *spill;
	unsigned written, refused;
};

static void *write_pieces(void *state)
{
	struct writer *w = state;
	for (int i = 0; i < PIECES; i++) {
		uint64_t at;
		rql_status status = rql_spill_write(w->spill, "abcdefg", PIECE, &at, NULL);
		w->written += status == RQL_OK;
		w->refused += status == RQL_ERROR_LIMIT;
	}
	return NULL;
}

/* Threads that write at once get all the room that there is, and none beyond it. */
static void test_limit(void **state)
{
	const uint64_t limit = WRITERS * PIECES / 2 * PIECE + 3;
	struct writer writers[WRITERS] = {0};
	struct rql_spill *spill = NULL;
	struct rql_error err = {0};
	unsigned written = 0, refused = 0;
	uint64_t at;
	(void)state;
	assert_int_equal(rql_spill_new(folder, limit, &spill, NULL), RQL_OK);
	for (int i = 0; i < WRITERS; i++) {
		writers[i].spill = spill;
		assert_int_equal(pthread_create(&writers[i].thread, NULL, write_pieces, &writers[i]), 0);
	}
	for (int i = 0; i < WRITERS; i++) {
		pthread_join(writers[i].thread, NULL);
		written += writers[i].written;
		refused += writers[i].refused;
	}
	assert_int_equal(written, WRITERS * PIECES / 2);
	assert_int_equal(refused, WRITERS * PIECES / 2);
	assert_int_equal(rql_spill_bytes(spill), limit - 3);
	assert_int_equal(rql_spill_write(spill, "abcd", 4, &at, &err), RQL_ERROR_LIMIT);
	assert_non_null(strstr(rql_error_message(&err), "max_temp_directory_size"));
	rql_error_clear(&err);
	assert_int_equal(rql_spill_write(spill, "abc", 3, &at, NULL), RQL_OK);
	rql_spill_free(spill);
}

static void test_killed(void **state)
{
	(void)state;
	int ready[2], how;
	char byte;
	assert_int_equal(pipe(ready), 0);
	const pid_t child = fork();
	if (child == 0) {
		struct rql_spill *spill = NULL;
		uint64_t at;
		if (rql_spill_new(folder, 0, &spill, NULL) == RQL_OK && rql_spill_write(spill, "abcd", 4, &at, NULL) == RQL_OK)
			(void)!write(ready[1], "x", 1);
		pause();
		_exit(1);
	}
	assert_true(child > 0);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &how, 0), child);
	assert_true(WIFSIGNALED(how));
	assert_int_equal(files_in(folder), 0);
	close(ready[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_written_is_read), cmocka_unit_test(test_folder),
	                                   cmocka_unit_test(test_limit), cmocka_unit_test(test_killed)};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
