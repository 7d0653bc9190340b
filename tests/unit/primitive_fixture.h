/* What tests of primitives on a GPU share: the device that RAYQL_TEST_DEVICE names, else vulkan:0, with the validation layer
 * watching; random words from a fixed seed, which is printed. */
#ifndef RQL_TESTS_PRIMITIVE_FIXTURE_H
#define RQL_TESTS_PRIMITIVE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/device_internal.h"
#include "vulkan_fixture.h"

#define SEED UINT64_C(42)

static struct rql_devices *devices;
static struct rql_device *device;
static uint64_t random_state = SEED;

static inline uint64_t drawn(void)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline void *array(uint64_t count, size_t size)
{
	void *memory = calloc(count + 1, size);
	assert_non_null(memory);
	return memory;
}

static int set_up(void **state)
{
	(void)state;
	const char *name = getenv("RAYQL_TEST_DEVICE");
	print_message("seed %llu\n", (unsigned long long)SEED);
	assert_int_equal(rql_devices_open(1, &devices, NULL), RQL_OK);
	device = rql_devices_get(devices, name && name[0] ? name : "vulkan:0");
	return device ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	rql_devices_close(devices);
	return rql_vulkan_validation_errors() ? -1 : 0;
}

#endif
