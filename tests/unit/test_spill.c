/* Temporary files: what is written is read, and nothing of them is left in the folder, also while they are open and after
 * a process that had one was killed. */
#include <dirent.h>
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
	assert_int_equal(rql_spill_new(folder, &spill, NULL), RQL_OK);
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
	assert_int_equal(rql_spill_new(below, &spill, NULL), RQL_OK);
	assert_int_equal(files_in(folder), 0);
	assert_int_equal(rql_spill_write(spill, "abcd", 4, &at, NULL), RQL_OK);
	rql_spill_free(spill);
	snprintf(below, sizeof below, "%s/not/there", folder);
	assert_int_equal(rql_spill_new(below, &spill, &err), RQL_ERROR_IO);
	assert_non_null(strstr(rql_error_message(&err), below));
	rql_error_clear(&err);
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
		if (rql_spill_new(folder, &spill, NULL) == RQL_OK && rql_spill_write(spill, "abcd", 4, &at, NULL) == RQL_OK)
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
	                                   cmocka_unit_test(test_killed)};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
