/* What every test of the Vulkan device needs. */
#ifndef RQL_TESTS_VULKAN_FIXTURE_H
#define RQL_TESTS_VULKAN_FIXTURE_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/device.h"

/* What drivers and layers leave behind can be suppressed by name (lsan.supp) only while they are loaded, so they stay
 * loaded until the process ends. */
static inline void vulkan_keep_drivers(void)
{
	static const char *const names[] = {"libVkLayer_khronos_validation.so", "libvulkan_lvp.so", "libvulkan.so.1"};
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		(void)dlopen(names[i], RTLD_LAZY | RTLD_NODELETE);
}

/* off: devices that are opened from now on have no validation layer, unless the environment names it. For cases that make
 * many kernels for calls which other cases make under it: it takes a third of their time. */
static inline void vulkan_validate(bool on)
{
	static bool ours;
	if (!on && !getenv("RAYQL_VULKAN_VALIDATION"))
		ours = setenv("RAYQL_VULKAN_VALIDATION", "0", 1) == 0;
	else if (on && ours)
		ours = unsetenv("RAYQL_VULKAN_VALIDATION") != 0;
}

/* What main() returns at once, unless it is 0: the device that the tests use (RAYQL_TEST_DEVICE, else vulkan:0) lacks the
 * unit. 77 is a skipped test (SKIP_RETURN_CODE); with a device named on purpose it is a failed one. */
static inline int vulkan_skip_without(enum rql_unit unit)
{
	const char *name = getenv("RAYQL_TEST_DEVICE");
	bool named = name && name[0];
	struct rql_devices *devices = NULL;
	vulkan_keep_drivers();
	if (rql_devices_open(1, &devices, NULL) != RQL_OK)
		return 1;
	const struct rql_device *device = rql_devices_get(devices, named ? name : "vulkan:0");
	bool there = device && device->units[unit];
	if (!there)
		printf("%s, which this test needs: %s\n", device ? "the device has no such unit" : "there is no device",
		       device             ? device->missing[unit]
		       : devices->no_gpu ? devices->no_gpu
		                          : "no device of that name");
	rql_devices_close(devices);
	return there ? 0 : named ? 1 : 77;
}

#endif
