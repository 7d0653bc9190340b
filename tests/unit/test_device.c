/* The list of devices, the profile file and what is measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/device.h"

static char folder[] = "/tmp/rayql-test-device-XXXXXX";

static const char *profile_file(void)
{
	static char path[256];
	snprintf(path, sizeof(path), "%s/rayql/profile-cpu.json", folder);
	return path;
}

static int make_folder(void **state)
{
	(void)state;
	unsetenv("RAYQL_SIMD");
	return mkdtemp(folder) ? setenv("XDG_CACHE_HOME", folder, 1) : -1;
}

static int drop_folder(void **state)
{
	(void)state;
	char path[256];
	unlink(profile_file());
	snprintf(path, sizeof(path), "%s/rayql", folder);
	rmdir(path);
	return rmdir(folder);
}

static struct rql_devices *open_devices(unsigned threads)
{
	struct rql_devices *devices = NULL;
	assert_int_equal(rql_devices_open(threads, &devices, NULL), RQL_OK);
	assert_non_null(devices);
	return devices;
}

static void test_cpu(void **state)
{
	(void)state;
	struct rql_devices *devices = open_devices(2);
	assert_true(devices->count >= 1);
	const struct rql_device *cpu = &devices->device[0];
	assert_string_equal(cpu->id, "cpu");
	assert_true(strlen(cpu->name) > 0);
	assert_int_equal(strncmp(cpu->driver, "native ", 7), 0);
	assert_true(cpu->memory_bytes > 0);
	assert_int_equal(rql_pool_threads(cpu->pool), 2);
	for (unsigned unit = 0; unit < RQL_UNIT_COUNT; unit++) {
		assert_int_equal(cpu->units[unit], unit == RQL_UNIT_CPU);
		assert_int_equal(cpu->missing[unit] == NULL, cpu->units[unit]); /* what is missing says why */
	}
	assert_string_equal(rql_unit_name(RQL_UNIT_CPU), "cpu");
	assert_string_equal(rql_unit_name(RQL_UNIT_RT), "rt");
	assert_false(cpu->profile.measured);
	assert_true(cpu->profile.read_gbps > 0 && cpu->profile.handover_ns > 0);
	rql_devices_close(devices);
	rql_devices_close(NULL);
}

static void test_simd_override(void **state)
{
	(void)state;
	setenv("RAYQL_SIMD", "portable", 1);
	struct rql_devices *devices = open_devices(1);
	assert_int_equal(devices->device[0].simd, RQL_SIMD_PORTABLE);
	assert_string_equal(devices->device[0].driver, "native portable");
	rql_devices_close(devices);
	unsetenv("RAYQL_SIMD");
}

static void test_profile_kept(void **state)
{
	(void)state;
	struct rql_devices *devices = open_devices(1);
	devices->device[0].profile.run_ns = 123.456;
	assert_int_equal(rql_profile_save(&devices->device[0], NULL), RQL_OK);
	rql_devices_close(devices);

	devices = open_devices(1);
	assert_true(devices->device[0].profile.measured);
	assert_true(devices->device[0].profile.run_ns == 123.456);
	/* Another driver, another number of threads: not this profile's machine. */
	struct rql_device other = devices->device[0];
	other.driver = "native other";
	assert_false(rql_profile_load(&other));
	rql_devices_close(devices);
	devices = open_devices(2);
	assert_false(devices->device[0].profile.measured);
	rql_devices_close(devices);
}

static void test_profile_damaged(void **state)
{
	(void)state;
	struct rql_devices *devices = open_devices(1);
	struct rql_device *cpu = &devices->device[0];
	assert_int_equal(rql_profile_save(cpu, NULL), RQL_OK);
	assert_true(rql_profile_load(cpu));
	static const char *const texts[] = {"", "{", "[]", "null", "{\"format\": 1}", "{\"format\": \"1\"}"};
	double before = cpu->profile.read_gbps;
	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		FILE *file = fopen(profile_file(), "w");
		assert_non_null(file);
		fputs(texts[i], file);
		fclose(file);
		assert_false(rql_profile_load(cpu));
		assert_true(cpu->profile.read_gbps == before);
	}
	/* A constant that no machine has. */
	cpu->profile.cell_ns = -1;
	assert_int_equal(rql_profile_save(cpu, NULL), RQL_OK);
	assert_false(rql_profile_load(cpu));
	rql_devices_close(devices);
}

/* The kept file with one piece of its text replaced. */
static void edit_profile(const char *piece, const char *instead)
{
	char text[8192], edited[8192];
	FILE *file = fopen(profile_file(), "r");
	assert_non_null(file);
	size_t length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	char *at = strstr(text, piece);
	assert_non_null(at);
	*at = '\0';
	snprintf(edited, sizeof(edited), "%s%s%s", text, instead, at + strlen(piece));
	file = fopen(profile_file(), "w");
	assert_non_null(file);
	fputs(edited, file);
	fclose(file);
}

/* Scans' constants are kept; a file of another format is not read. */
static void test_profile_formats(void **state)
{
	(void)state;
	struct rql_devices *devices = open_devices(1);
	struct rql_device *cpu = &devices->device[0];
	cpu->profile = rql_profile_guess;
	cpu->profile.cell_ns = 0.75;
	cpu->profile.scan.test_ns = 0.625;
	cpu->profile.scan.block_ns = 77;
	cpu->profile.scan.answer_group_ns = 5; /* of GPUs: kept all the same */
	assert_int_equal(rql_profile_save(cpu, NULL), RQL_OK);
	cpu->profile = rql_profile_guess;
	assert_true(rql_profile_load(cpu));
	assert_true(cpu->profile.cell_ns == 0.75 && cpu->profile.scan.test_ns == 0.625);
	assert_true(cpu->profile.scan.block_ns == 77 && cpu->profile.scan.answer_group_ns == 5);
	assert_true(cpu->profile.scan.gather_ns == rql_profile_guess.scan.gather_ns);

	/* This format must have all of them. */
	edit_profile("scan.gather_ns", "scan.other_ns");
	cpu->profile = rql_profile_guess;
	assert_false(rql_profile_load(cpu));
	assert_true(cpu->profile.cell_ns == rql_profile_guess.cell_ns);
	edit_profile("scan.other_ns", "scan.gather_ns");
	assert_true(rql_profile_load(cpu));
	/* Older and newer ones are not understood. */
	edit_profile("\"format\":6", "\"format\":5");
	assert_false(rql_profile_load(cpu));
	edit_profile("\"format\":5", "\"format\":7");
	assert_false(rql_profile_load(cpu));
	rql_devices_close(devices);
}

static void test_profile_unwritable(void **state)
{
	(void)state;
	struct rql_devices *devices = open_devices(1);
	struct rql_error err = {0};
	setenv("XDG_CACHE_HOME", "/proc/no-such-folder", 1);
	assert_int_equal(rql_profile_save(&devices->device[0], &err), RQL_ERROR_IO);
	assert_non_null(strstr(rql_error_message(&err), "/proc/no-such-folder"));
	rql_error_clear(&err);
	setenv("XDG_CACHE_HOME", folder, 1);
	rql_devices_close(devices);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu),
		cmocka_unit_test(test_simd_override),
		cmocka_unit_test(test_profile_kept),
		cmocka_unit_test(test_profile_damaged),
		cmocka_unit_test(test_profile_formats),
		cmocka_unit_test(test_profile_unwritable),
	};
	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
