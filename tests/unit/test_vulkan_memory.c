/* The list of devices, the arena, the budget and transfers, on the device that RAYQL_TEST_DEVICE names or on vulkan:0, with
 * the validation layer watching. */
#include <pthread.h>
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

static struct rql_devices *devices;
static struct rql_device *device;

#define OK(call)                                                                                                       \
	do {                                                                                                               \
		struct rql_error err = {0};                                                                                    \
		rql_status status_ = (call);                                                                                   \
		if (status_ != RQL_OK)                                                                                         \
			fail_msg("%s: %s", rql_status_name(status_), rql_error_message(&err));                                     \
		rql_error_clear(&err);                                                                                         \
	} while (0)

/* The call fails with this status, and its message has this text. */
#define FAILS(wanted, text, call)                                                                                      \
	do {                                                                                                               \
		struct rql_error err = {0};                                                                                    \
		assert_int_equal(call, wanted);                                                                                \
		if (!strstr(rql_error_message(&err), text))                                                                    \
			fail_msg("no \"%s\" in: %s", text, rql_error_message(&err));                                               \
		rql_error_clear(&err);                                                                                         \
	} while (0)

static void open_devices(void)
{
	const char *name = getenv("RAYQL_TEST_DEVICE");
	assert_int_equal(rql_devices_open(2, &devices, NULL), RQL_OK);
	device = rql_devices_get(devices, name && name[0] ? name : "vulkan:0");
}

static int set_up(void **state)
{
	(void)state;
	open_devices();
	if (device && device->units[RQL_UNIT_COMPUTE])
		return 0;
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

static struct rql_buffer *new_buffer(uint64_t bytes, enum rql_memory memory)
{
	struct rql_buffer *buffer = NULL;
	OK(rql_buffer_new(device, bytes, memory, "a test", &buffer, &err));
	assert_non_null(buffer);
	assert_int_equal(buffer->bytes, bytes);
	assert_int_equal(buffer->address % 256, 0);
	assert_int_not_equal(buffer->address, 0);
	assert_int_equal(buffer->map != NULL, memory != RQL_MEMORY_DEVICE);
	return buffer;
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdu;
	x ^= x >> 33;
	return x;
}

static uint8_t *new_bytes(uint64_t bytes, uint64_t seed)
{
	uint8_t *data = malloc(bytes ? bytes : 1);
	assert_non_null(data);
	for (uint64_t i = 0; i < bytes; i++)
		data[i] = (uint8_t)mix(seed + i);
	return data;
}

/* ---- the list ---- */

static void test_list(void **state)
{
	(void)state;
	need_device();
	assert_true(devices->count >= 2);
	assert_null(devices->no_gpu);
	for (uint32_t i = 1; i < devices->count; i++) {
		struct rql_device *d = &devices->device[i];
		assert_int_equal(d->index, i);
		assert_true(d->kind != RQL_DEVICE_CPU && strlen(d->name) > 0 && strlen(d->driver) > 0);
		assert_true(d->memory_bytes > 0);
		for (unsigned unit = 0; unit < RQL_UNIT_COUNT; unit++)
			assert_int_equal(d->missing[unit] == NULL, d->units[unit]);
		assert_false(d->units[RQL_UNIT_CPU]);
		assert_ptr_equal(rql_devices_get(devices, d->id), d);
	}
	assert_true(device->limits.subgroup_size >= 1 && device->limits.group_size >= 128);
	assert_true(device->limits.shared_bytes >= 16384 && device->limits.buffer_bytes >= (uint64_t)1 << 28);
	if (device->units[RQL_UNIT_RT])
		assert_true(device->limits.part_primitives > 0 && device->limits.rays_per_launch > 0);
	if (device->units[RQL_UNIT_RASTER])
		assert_true(device->limits.image_side >= 4096 && device->limits.image_layers >= 256 &&
		            device->limits.targets >= 4);
	assert_false(device->profile.measured);
	assert_true(device->profile.submit_ns > 0 && device->profile.cell_ns > 0);
	assert_int_equal(device->profile.ray_ns > 0, device->units[RQL_UNIT_RT]);
	assert_null(rql_devices_get(devices, "vulkan:99"));
	assert_ptr_equal(rql_devices_get(devices, "CPU"), &devices->device[0]);
	rql_devices_find(devices); /* once more: nothing new */
	assert_ptr_equal(rql_devices_get(devices, "VULKAN:0"), &devices->device[1]);
}

static void test_uuid(void **state)
{
	(void)state;
	need_device();
	if (!device->uuid)
		skip();
	char text[64], hyphens[64];
	assert_int_equal(strlen(device->uuid), 32);
	snprintf(text, sizeof(text), "%s", device->uuid);
	for (char *c = text; *c; c++)
		*c = (char)(*c >= 'a' && *c <= 'f' ? *c - 'a' + 'A' : *c);
	snprintf(hyphens, sizeof(hyphens), "%.8s-%.4s-%.20s", text, text + 8, text + 12);
	assert_non_null(rql_devices_get(devices, text));
	assert_string_equal(rql_devices_get(devices, text)->uuid, device->uuid);
	assert_string_equal(rql_devices_get(devices, hyphens)->uuid, device->uuid);
	text[31] = '\0';
	assert_null(rql_devices_get(devices, text));
	if (device->pci)
		assert_non_null(rql_devices_get(devices, device->pci));
}

/* Opens a second list under an environment and returns why it has no GPU. */
static void expect_no_gpu(const char *variable, const char *value, const char *reason)
{
	struct rql_devices *other = NULL;
	char *before = getenv(variable) ? strdup(getenv(variable)) : NULL;
	setenv(variable, value, 1);
	assert_int_equal(rql_devices_open(1, &other, NULL), RQL_OK);
	rql_devices_find(other);
	assert_int_equal(other->count, 1);
	assert_non_null(other->no_gpu);
	if (!strstr(other->no_gpu, reason))
		fail_msg("no \"%s\" in: %s", reason, other->no_gpu);
	assert_null(rql_devices_get(other, "vulkan:0"));
	rql_devices_close(other);
	if (before)
		setenv(variable, before, 1);
	else
		unsetenv(variable);
	free(before);
}

static void test_off(void **state)
{
	(void)state;
	expect_no_gpu("RAYQL_VULKAN", "off", "RAYQL_VULKAN=off");
}

static void test_broken_driver(void **state)
{
	(void)state;
	need_device();
	rql_devices_close(devices); /* the process's instance is shared: with another list open there would be a driver */
	devices = NULL;
	char path[256];
	snprintf(path, sizeof(path), "%s/nonsense.json", scratch());
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs("{\"file_format_version\": \"1.0.0\", \"ICD\": {\"library_path\": \"/no/such/driver.so\", "
	      "\"api_version\": \"1.2.0\"}}",
	      file);
	fclose(file);
	setenv("VK_ICD_FILENAMES", path, 1);
	expect_no_gpu("VK_DRIVER_FILES", path, "driver");
	unsetenv("VK_ICD_FILENAMES");
	unlink(path);
	open_devices(); /* and the next one finds all again */
	assert_non_null(device);
}

static void test_profile(void **state)
{
	(void)state;
	need_device();
	device->profile.submit_ns = 4321;
	OK(rql_profile_save(device, &err));
	device->profile.submit_ns = 1;
	assert_true(rql_profile_load(device));
	assert_true(device->profile.measured && device->profile.submit_ns == 4321);
	rql_devices_close(devices);
	open_devices();
	assert_true(device->profile.measured && device->profile.submit_ns == 4321);
	assert_true(devices->device[0].profile.submit_ns != 4321);
	device->profile.submit_ns = 0; /* which no GPU has */
	OK(rql_profile_save(device, &err));
	assert_false(rql_profile_load(device));
	char path[256];
	snprintf(path, sizeof(path), "%s/rayql/profile-%s.json", scratch(), device->uuid ? device->uuid : "vulkan-0");
	assert_int_equal(unlink(path), 0);
}

/* ---- the arena ---- */

/* Live ranges never overlap, whatever comes and goes, and all the memory is back at the end. */
static void test_arena(void **state)
{
	(void)state;
	need_device();
	enum { SLOTS = 64, ROUNDS = 2000 };
	struct rql_buffer *live[SLOTS] = {0};
	uint64_t before, total, after;
	struct rql_buffer *first = new_buffer(1, RQL_MEMORY_DEVICE); /* a shared block stays once there is one */
	rql_buffer_free(first);
	rql_device_memory(device, &before, &total);
	assert_true(before > 0 && before <= total);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t random = mix(round + 1);
		struct rql_buffer **slot = &live[random % SLOTS];
		rql_buffer_free(*slot);
		uint64_t bytes = (mix(random) & 7) == 0 ? mix(random + 1) % 3000000 : mix(random + 2) % 5000;
		*slot = new_buffer(bytes, RQL_MEMORY_DEVICE);
		for (unsigned i = 0; i < SLOTS; i++) {
			if (!live[i] || live[i] == *slot)
				continue;
			uint64_t a = live[i]->address, b = (*slot)->address;
			assert_true(a + live[i]->bytes <= b || b + bytes <= a);
			assert_int_not_equal(a, b);
		}
	}
	for (unsigned i = 0; i < SLOTS; i++)
		rql_buffer_free(live[i]);
	rql_buffer_free(NULL);
	/* Everything is free and joined: one range as long as a block can be had again. Other programs use the heap too, so
	 * no equality here. */
	struct rql_buffer *again = new_buffer(8 << 20, RQL_MEMORY_DEVICE);
	rql_buffer_free(again);
	rql_device_memory(device, &after, &total);
	assert_true(after > 0 && after <= total);
}

static void test_large(void **state)
{
	(void)state;
	need_device();
	struct rql_buffer *large = new_buffer(((uint64_t)96 << 20) + 5, RQL_MEMORY_DEVICE);
	uint8_t *data = new_bytes(1000, 7), back[1000];
	uint64_t at = large->bytes - 1000;
	OK(rql_buffer_upload(large, at, data, 1000, &err));
	OK(rql_buffer_download(large, at, back, 1000, &err));
	assert_memory_equal(back, data, 1000);
	free(data);
	rql_buffer_free(large);
}

/* What a query after a query asks for is what the one before gave back: its bytes are there still. */
static void test_large_kept(void **state)
{
	(void)state;
	need_device();
	const uint64_t bytes = (uint64_t)80 << 20, fitting = (uint64_t)76 << 20;
	uint8_t *data = new_bytes(1000, 9), back[1000];
	struct rql_buffer *large = new_buffer(bytes, RQL_MEMORY_DEVICE);
	OK(rql_buffer_upload(large, 4096, data, 1000, &err));
	OK(rql_buffer_download(large, 4096, back, 1000, &err)); /* so that nothing is under way */
	const uint64_t address = large->address;
	rql_buffer_free(large);
	struct rql_buffer *short_of_it = new_buffer(bytes / 2 + (8 << 20), RQL_MEMORY_DEVICE);
	assert_int_not_equal(short_of_it->address, address);
	large = new_buffer(fitting, RQL_MEMORY_DEVICE);
	assert_int_equal(large->address, address);
	OK(rql_buffer_download(large, 4096, back, 1000, &err));
	assert_memory_equal(back, data, 1000);
	struct rql_buffer *beside = new_buffer(bytes, RQL_MEMORY_DEVICE); /* it has an owner */
	assert_true(beside->address + bytes <= address || address + bytes <= beside->address);
	free(data);
	rql_buffer_free(short_of_it);
	rql_buffer_free(beside);
	rql_buffer_free(large);
}

static void test_budget(void **state)
{
	(void)state;
	need_device();
	rql_devices_close(devices);
	setenv("RAYQL_VULKAN_MEMORY", "48", 1);
	open_devices();
	uint64_t available, total, before;
	rql_device_memory(device, &before, &total);
	assert_int_equal(total, (uint64_t)48 << 20);
	struct rql_buffer *half = new_buffer((uint64_t)24 << 20, RQL_MEMORY_DEVICE), *none = NULL;
	FAILS(RQL_ERROR_LIMIT, "needs 40.0 MiB",
	      rql_buffer_new(device, (uint64_t)40 << 20, RQL_MEMORY_DEVICE, "cells of cube v", &none, &err));
	FAILS(RQL_ERROR_LIMIT, "of 48.0 MiB are available on device vulkan:",
	      rql_buffer_new(device, (uint64_t)40 << 20, RQL_MEMORY_DEVICE, "cells of cube v", &none, &err));
	FAILS(RQL_ERROR_LIMIT, "cells of cube v needs",
	      rql_buffer_new(device, (uint64_t)40 << 20, RQL_MEMORY_DEVICE, "cells of cube v", &none, &err));
	assert_null(none);
	rql_device_memory(device, &available, &total);
	assert_true(available < ((uint64_t)40 << 20));
	rql_buffer_free(half);
	struct rql_buffer *more = new_buffer((uint64_t)40 << 20, RQL_MEMORY_DEVICE); /* what was freed can be had again */
	rql_buffer_free(more);
	/* More than any device has, and more than can be counted. */
	FAILS(RQL_ERROR_LIMIT, "in one piece",
	      rql_buffer_new(device, (uint64_t)1 << 60, RQL_MEMORY_DEVICE, "a world", &none, &err));
	FAILS(RQL_ERROR_LIMIT, "in one piece",
	      rql_buffer_new(device, UINT64_MAX, RQL_MEMORY_DEVICE, "a world", &none, &err));
	unsetenv("RAYQL_VULKAN_MEMORY");
}

/* ---- transfers ---- */

static void round_trip(enum rql_memory memory, uint64_t size, uint64_t offset, uint64_t bytes)
{
	struct rql_buffer *buffer = new_buffer(size, memory);
	uint8_t *data = new_bytes(bytes, size + offset), *all = new_bytes(size, 3), *back = new_bytes(size, 4);
	OK(rql_buffer_upload(buffer, 0, all, size, &err));
	OK(rql_buffer_upload(buffer, offset, data, bytes, &err));
	memcpy(all + offset, data, bytes);
	memset(data, 0xee, bytes); /* it may be reused at once */
	OK(rql_buffer_download(buffer, 0, back, size, &err));
	assert_memory_equal(back, all, size);
	memset(back, 0, size);
	OK(rql_buffer_download(buffer, offset, back, bytes, &err));
	assert_memory_equal(back, all + offset, bytes);
	if (buffer->map)
		assert_memory_equal(buffer->map, all, size);
	free(data);
	free(all);
	free(back);
	rql_buffer_free(buffer);
}

static void test_round_trips(void **state)
{
	(void)state;
	need_device();
	for (unsigned memory = 0; memory < RQL_MEMORY_COUNT; memory++) {
		round_trip(memory, 1, 0, 1);
		round_trip(memory, 3, 1, 1);
		round_trip(memory, 257, 255, 2);
		round_trip(memory, 4099, 13, 4001);
		round_trip(memory, 65536, 1, 65535);
		round_trip(memory, 70001, 3, 65537);
		round_trip(memory, (1 << 20) + 1, 1, 1 << 20);
		round_trip(memory, 11000007, 77, 10000001); /* more than the whole ring of a software device */
	}
}

/* More than a ring of 4 x 8 MiB. */
static void test_long_transfer(void **state)
{
	(void)state;
	need_device();
	round_trip(RQL_MEMORY_DEVICE, ((uint64_t)40 << 20) + 123, 61, ((uint64_t)33 << 20) + 7);
}

static void test_no_bytes(void **state)
{
	(void)state;
	need_device();
	struct rql_buffer *empty = new_buffer(0, RQL_MEMORY_DEVICE), *mapped = new_buffer(0, RQL_MEMORY_UPLOAD);
	OK(rql_buffer_upload(empty, 0, NULL, 0, &err));
	OK(rql_buffer_download(empty, 0, NULL, 0, &err));
	OK(rql_buffer_upload(mapped, 0, NULL, 0, &err));
	rql_buffer_free(empty);
	rql_buffer_free(mapped);
}

static void test_misuse(void **state)
{
	(void)state;
	need_device();
	struct rql_buffer *buffer = new_buffer(100, RQL_MEMORY_DEVICE), *none = NULL;
	uint8_t byte = 0;
	FAILS(RQL_ERROR_INTERNAL, "1 bytes at 100 of a buffer of 100", rql_buffer_upload(buffer, 100, &byte, 1, &err));
	FAILS(RQL_ERROR_INTERNAL, "of a buffer of 100", rql_buffer_download(buffer, UINT64_MAX, &byte, 2, &err));
	FAILS(RQL_ERROR_INTERNAL, "no data", rql_buffer_download(buffer, 0, NULL, 1, &err));
	FAILS(RQL_ERROR_INTERNAL, "memory kind", rql_buffer_new(device, 1, RQL_MEMORY_COUNT, "x", &none, &err));
	FAILS(RQL_ERROR_UNSUPPORTED, "no GPU", rql_buffer_new(&devices->device[0], 1, RQL_MEMORY_DEVICE, "x", &none, &err));
	assert_null(none);
	rql_buffer_free(buffer);
}

/* A buffer that is freed while a submission still uses it keeps its memory: what is allocated meanwhile lies elsewhere,
 * and the copy out of it is right. */
static void test_free_in_flight(void **state)
{
	(void)state;
	need_device();
	const uint64_t bytes = 4 << 20;
	struct rql_buffer *to = new_buffer(bytes, RQL_MEMORY_DEVICE);
	uint8_t *back = new_bytes(bytes, 1);
	for (uint32_t round = 1; round <= 16; round++) {
		struct rql_buffer *from = new_buffer(bytes, RQL_MEMORY_DEVICE);
		struct rql_commands *c = NULL;
		uint64_t ticket;
		OK(rql_commands_new(device, 0, &c, &err));
		rql_record_fill(c, from, 0, bytes, round * 0x01010101u);
		rql_record_copy(c, from, 0, to, 0, bytes);
		OK(rql_commands_end(c, &err));
		OK(rql_submit(c, &ticket, &err));
		rql_buffer_free(from);
		rql_commands_free(c);
		struct rql_buffer *other = new_buffer(bytes, RQL_MEMORY_DEVICE);
		OK(rql_buffer_upload(other, 0, back, bytes, &err));
		OK(rql_buffer_download(to, 0, back, bytes, &err));
		for (uint64_t i = 0; i < bytes; i++)
			if (back[i] != round)
				fail_msg("round %u, byte %llu: %u", round, (unsigned long long)i, back[i]);
		rql_buffer_free(other);
	}
	free(back);
	rql_buffer_free(to);
}

/* Several threads allocate, transfer and free at once; each gets back what it put in. */
static void *churn(void *argument)
{
	uint64_t seed = (uint64_t)(uintptr_t)argument, bad = 0;
	enum { BYTES = 1500000 };
	uint8_t *data = malloc(BYTES), *back = malloc(BYTES);
	for (unsigned round = 0; data && back && round < 12; round++) {
		uint64_t bytes = 1 + mix(seed * 100 + round) % BYTES;
		struct rql_buffer *buffer = NULL;
		memset(data, (int)(seed * 16 + round), bytes);
		if (rql_buffer_new(device, bytes, round % RQL_MEMORY_COUNT, "a thread", &buffer, NULL) != RQL_OK ||
		    rql_buffer_upload(buffer, 0, data, bytes, NULL) != RQL_OK ||
		    rql_buffer_download(buffer, 0, back, bytes, NULL) != RQL_OK || memcmp(data, back, bytes) != 0)
			bad++;
		rql_buffer_free(buffer);
	}
	bad += !data || !back;
	free(data);
	free(back);
	return (void *)(uintptr_t)bad;
}

static void test_threads(void **state)
{
	(void)state;
	need_device();
	pthread_t threads[4];
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)(uintptr_t)(i + 1)), 0);
	for (unsigned i = 0; i < 4; i++) {
		void *bad = NULL;
		assert_int_equal(pthread_join(threads[i], &bad), 0);
		assert_null(bad);
	}
}

/* Recordings keep the first misuse for their end. */
static void test_recording_misuse(void **state)
{
	(void)state;
	need_device();
	struct rql_buffer *buffer = new_buffer(64, RQL_MEMORY_DEVICE);
	struct rql_commands *c = NULL;
	OK(rql_commands_new(device, 0, &c, &err));
	rql_record_fill(c, buffer, 2, 8, 0);
	rql_record_fill(c, buffer, 0, 128, 0);
	FAILS(RQL_ERROR_INTERNAL, "no whole words", rql_commands_end(c, &err));
	rql_commands_free(c);
	OK(rql_commands_new(device, 0, &c, &err));
	rql_record_copy(c, buffer, 0, buffer, 16, 32);
	FAILS(RQL_ERROR_INTERNAL, "overlap", rql_commands_end(c, &err));
	rql_commands_free(c);
	rql_buffer_free(buffer);
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
		TEST(test_list),
		TEST(test_uuid),
		TEST(test_off),
		TEST(test_broken_driver),
		TEST(test_profile),
		TEST(test_arena),
		TEST(test_large),
		TEST(test_large_kept),
		TEST(test_budget),
		TEST(test_round_trips),
		TEST(test_long_transfer),
		TEST(test_no_bytes),
		TEST(test_misuse),
		TEST(test_free_in_flight),
		TEST(test_recording_misuse),
		TEST(test_threads),
	};
	return cmocka_run_group_tests(tests, make_folder, NULL);
}
