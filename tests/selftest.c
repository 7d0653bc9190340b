/* selftest.c DEVICE [SEED]: the conformance suite as `rayql selftest` runs it, with the validation layers on: any
 * message of theirs is a failure. 77: there is no such device here. */
#include <stdio.h>
#include <stdlib.h>

#include "device/device_internal.h"
#include "selftest/selftest.h"
#include "unit/vulkan_fixture.h"

static void print_case(void *state, const struct rql_selftest_result *result)
{
	static const char *const outcomes[] = {"ok", "FAILED", "skipped"};
	(void)state;
	printf("%-24s %-8s %10.1f ms  %s\n", result->name, outcomes[result->outcome], result->ms, result->text);
	fflush(stdout);
}

static int run(struct rql_devices *devices, const char *name, uint64_t seed)
{
	struct rql_device *device = rql_devices_get(devices, name);
	if (!device) {
		printf("no device %s: %s\n", name, devices->no_gpu ? devices->no_gpu : "there are others");
		return 77;
	}
	printf("%s: %s (%s)\n", device->id, device->name, device->driver);
	if (device->kind != RQL_DEVICE_CPU && !device->units[RQL_UNIT_COMPUTE]) {
		printf("no compute unit: %s\n", device->missing[RQL_UNIT_COMPUTE]);
		return 77;
	}
	struct rql_selftest_counts counts = {0};
	struct rql_error err = {0};
	if (rql_selftest_run(devices, device, seed, false, print_case, NULL, &counts, &err) != RQL_OK) {
		printf("%s\n", rql_error_message(&err));
		rql_error_clear(&err);
		return 1;
	}
	printf("%u ok, %u failed, %u skipped\n", counts.ok, counts.failed, counts.skipped);
	return counts.failed || !counts.ok ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct rql_devices *devices;
	setenv("RAYQL_VULKAN_VALIDATION", "1", 0);
	vulkan_keep_drivers();
	if (argc < 2 || rql_devices_open(3, &devices, NULL) != RQL_OK)
		return 2;
	int code = run(devices, argv[1], argc > 2 ? strtoull(argv[2], NULL, 10) : 42);
	rql_devices_close(devices);
	if (rql_vulkan_validation_errors() != 0) {
		printf("%llu validation messages\n", (unsigned long long)rql_vulkan_validation_errors());
		return 1;
	}
	return code;
}
