/* The conformance suite as a user's program starts it. */
#include "check.h"

struct lines {
	uint32_t count, ok, failed;
};

static void count_line(void *state, const char *line)
{
	struct lines *lines = state;
	lines->count++;
	lines->ok += strstr(line, " ok ") != NULL;
	lines->failed += strstr(line, "FAILED") != NULL;
}

static void test_cpu(void **state)
{
	(void)state;
	struct lines lines = {0};
	rayql_error *err = NULL;
	assert_int_equal(rayql_selftest("cpu", 3, false, count_line, &lines, &err), RAYQL_OK);
	assert_null(err);
	/* The device, its cases, the counts. The CPU has that of selection. */
	assert_true(lines.ok >= 1 && lines.count > lines.ok + 1);
	assert_int_equal(lines.failed, 0);
}

static void test_no_such_device(void **state)
{
	(void)state;
	rayql_error *err = NULL;
	assert_int_equal(rayql_selftest("abacus:0", 3, false, NULL, NULL, &err), RAYQL_ERROR_MISUSE);
	assert_non_null(strstr(rayql_error_message(err), "abacus:0"));
	rayql_error_free(err);
	assert_int_equal(rayql_selftest("abacus:0", 3, false, NULL, NULL, NULL), RAYQL_ERROR_MISUSE);
}

int main(void)
{
	setenv("RAYQL_VULKAN", "off", 1); /* the drivers have a test of their own */
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu), cmocka_unit_test(test_no_such_device)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
