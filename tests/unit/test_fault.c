/* Every allocation, submission and wait of a small job fails once, and the device is lost at every submission: the job
 * reports it, frees all it has, and runs right the next time. Validation and ASan watch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../scratch.h"
#include "device/device_internal.h"
#include "device/fault/fault.h"

#define WORDS 300000u /* a megabyte and a bit: several pieces of a software device's staging */

static struct rql_devices *devices;
static struct rql_device *device;

static void open_devices(void)
{
	const char *name = getenv("RAYQL_TEST_DEVICE");
	assert_int_equal(rql_devices_open(1, &devices, NULL), RQL_OK);
	device = rql_devices_get(devices, name && name[0] ? name : "vulkan:0");
}

static int set_up(void **state)
{
	(void)state;
	open_devices();
	if (!device || !device->units[RQL_UNIT_COMPUTE])
		print_message("no device: %s\n", device ? device->missing[RQL_UNIT_COMPUTE] : devices->no_gpu);
	return 0; /* the test skips */
}

static int tear_down(void **state)
{
	(void)state;
	rql_devices_close(devices);
	devices = NULL;
	device = NULL;
	return rql_vulkan_validation_errors() ? -1 : 0;
}

static void need_device(void)
{
	if (!device || !device->units[RQL_UNIT_COMPUTE])
		skip();
}

/* Uploads words, fills a part, copies the rest to a second buffer, and reads that back. */
static rql_status job(struct rql_error *err)
{
	struct rql_buffer *from = NULL, *to = NULL;
	struct rql_commands *c = NULL;
	uint32_t *words = malloc(WORDS * sizeof(*words));
	const uint64_t bytes = WORDS * sizeof(*words);
	rql_status status = RQL_OK;
	assert_non_null(words);
	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = i * 2654435761u;
#define STEP(call)                                                                                                     \
	do {                                                                                                               \
		status = (call);                                                                                               \
		if (status != RQL_OK)                                                                                          \
			goto done;                                                                                                 \
	} while (0)
	STEP(rql_buffer_new(device, bytes, RQL_MEMORY_DEVICE, "words", &from, err));
	STEP(rql_buffer_upload(from, 0, words, bytes, err));
	STEP(rql_buffer_new(device, bytes, RQL_MEMORY_READBACK, "copied words", &to, err));
	STEP(rql_commands_new(device, 0, &c, err));
	rql_record_fill(c, from, 400, 4000, 0x5eed5eedu);
	rql_record_copy(c, from, 0, to, 0, bytes);
	STEP(rql_commands_end(c, err));
	STEP(rql_commands_run(c, NULL, err));
	for (uint32_t i = 0; i < WORDS; i++)
		assert_int_equal(((uint32_t *)to->map)[i], i >= 100 && i < 1100 ? 0x5eed5eedu : i * 2654435761u);
	memset(words, 0, bytes);
	STEP(rql_buffer_download(from, 0, words, bytes, err));
	for (uint32_t i = 0; i < WORDS; i++)
		assert_int_equal(words[i], i >= 100 && i < 1100 ? 0x5eed5eedu : i * 2654435761u);
#undef STEP
done:
	rql_commands_free(c);
	rql_buffer_free(from);
	rql_buffer_free(to);
	free(words);
	return status;
}

static void job_succeeds(void)
{
	struct rql_error err = {0};
	if (job(&err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
}

static void fault_set(enum rql_fault_kind kind, uint64_t nth)
{
	assert_int_equal(rql_fault_set(device, kind, nth, NULL), RQL_OK);
}

static void reopen(void)
{
	rql_devices_close(devices);
	open_devices();
	assert_non_null(device);
}

/* Lets each call of that kind fail in turn, on a fresh device: the first job makes the staging memory too. */
static void every(enum rql_fault_kind kind, rql_status wanted)
{
	fault_set(kind, 0);
	job_succeeds();
	uint64_t calls = rql_fault_count(device, kind);
	assert_true(calls >= 2);
	assert_false(rql_fault_struck(device));
	for (uint64_t nth = 1; nth <= calls; nth++) {
		struct rql_error err = {0};
		reopen();
		fault_set(kind, nth);
		assert_int_equal(job(&err), wanted);
		assert_true(rql_fault_struck(device));
		assert_non_null(strstr(rql_error_message(&err), device->id));
		rql_error_clear(&err);
		assert_int_equal(device->lost, kind == RQL_FAULT_LOST);
		if (device->lost) { /* and from now on everything fails */
			assert_int_equal(job(&err), RQL_ERROR_DEVICE);
			assert_non_null(strstr(rql_error_message(&err), "lost"));
			rql_error_clear(&err);
		} else {
			job_succeeds();
		}
	}
	reopen();
	fault_set(kind, calls + 1); /* one beyond the last */
	job_succeeds();
	assert_false(rql_fault_struck(device));
	rql_fault_remove(device);
	assert_ptr_equal(device->fault, NULL);
	job_succeeds();
}

static void test_allocation(void **state)
{
	(void)state;
	need_device();
	every(RQL_FAULT_ALLOCATION, RQL_ERROR_LIMIT);
}

static void test_submission(void **state)
{
	(void)state;
	need_device();
	every(RQL_FAULT_SUBMISSION, RQL_ERROR_DEVICE);
}

static void test_wait(void **state)
{
	(void)state;
	need_device();
	every(RQL_FAULT_WAIT, RQL_ERROR_DEVICE);
}

static void test_lost(void **state)
{
	(void)state;
	need_device();
	every(RQL_FAULT_LOST, RQL_ERROR_DEVICE);
}

/* Lost with work in flight: what the device still uses is freed only when it is done with it. */
static void test_lost_in_flight(void **state)
{
	(void)state;
	need_device();
	struct rql_buffer *buffer = NULL;
	struct rql_commands *first = NULL, *second = NULL;
	uint64_t ticket, available, total;
	fault_set(RQL_FAULT_LOST, 2);
	assert_int_equal(rql_buffer_new(device, 32 << 20, RQL_MEMORY_DEVICE, "a buffer", &buffer, NULL), RQL_OK);
	assert_int_equal(rql_commands_new(device, 0, &first, NULL), RQL_OK);
	assert_int_equal(rql_commands_new(device, 0, &second, NULL), RQL_OK);
	rql_record_fill(first, buffer, 0, buffer->bytes, 1);
	rql_record_fill(second, buffer, 0, buffer->bytes, 2);
	assert_int_equal(rql_commands_end(first, NULL), RQL_OK);
	assert_int_equal(rql_commands_end(second, NULL), RQL_OK);
	assert_int_equal(rql_submit(first, &ticket, NULL), RQL_OK);
	assert_int_equal(rql_submit(second, &ticket, NULL), RQL_ERROR_DEVICE);
	rql_buffer_free(buffer);
	rql_commands_free(first);
	rql_commands_free(second);
	rql_device_memory(device, &available, &total);
	assert_int_equal(available, 0); /* nothing can be had of a lost device */
	assert_int_equal(rql_device_start(device, NULL), RQL_ERROR_DEVICE);
}

/* RAYQL_FAULT, as a user sets it. */
static void test_environment(void **state)
{
	(void)state;
	need_device();
	char text[64];
	snprintf(text, sizeof(text), "%s submission 2", device->id);
	rql_devices_close(devices);
	setenv("RAYQL_FAULT", text, 1);
	open_devices();
	struct rql_error err = {0};
	assert_int_equal(job(&err), RQL_ERROR_DEVICE);
	assert_non_null(strstr(rql_error_message(&err), "(RAYQL_FAULT)"));
	rql_error_clear(&err);
	job_succeeds();
	rql_devices_close(devices);
	setenv("RAYQL_FAULT", "vulkan:77 lost 1", 1); /* another device's */
	open_devices();
	job_succeeds();
	rql_devices_close(devices);
	setenv("RAYQL_FAULT", "* lost 1", 1);
	open_devices();
	assert_int_equal(job(NULL), RQL_ERROR_DEVICE);
	assert_true(device->lost);
	unsetenv("RAYQL_FAULT");
}

/* The processor has no such calls. */
static void test_cpu(void **state)
{
	(void)state;
	assert_int_equal(rql_fault_set(&devices->device[0], RQL_FAULT_WAIT, 1, NULL), RQL_ERROR_INTERNAL);
	assert_int_equal(rql_fault_count(&devices->device[0], RQL_FAULT_WAIT), 0);
}

static int make_folder(void **state)
{
	(void)state;
	setenv("RAYQL_VULKAN_VALIDATION", "1", 0);
	unsetenv("RAYQL_FAULT");
	unsetenv("RAYQL_VULKAN_MEMORY");
	return setenv("XDG_CACHE_HOME", scratch(), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_allocation),     TEST(test_submission),  TEST(test_wait), TEST(test_lost),
		TEST(test_lost_in_flight), TEST(test_environment), TEST(test_cpu),
	};
	return cmocka_run_group_tests(tests, make_folder, NULL);
}
