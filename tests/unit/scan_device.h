/* The device of tests of scans: the one that RAYQL_TEST_DEVICE names, else vulkan:0, with the validation layer watching.
 * After scan_world.h. */
#ifndef RQL_TESTS_UNIT_SCAN_DEVICE_H
#define RQL_TESTS_UNIT_SCAN_DEVICE_H

#include "device/fault/fault.h"
#include "device/vulkan/vulkan_internal.h"
#include "method/scan/gpu/scan_compute_run.h"
#include "vulkan_fixture.h"

extern const struct rql_method rql_method_scan_compute;

static struct rql_devices *devices;
static struct rql_device *gpu;

/* pipelines: of generated kernels, so many are kept that nobody uses; NULL: as many as by default. */
static int open_keeping(void **state, const char *pipelines)
{
	const char *name = getenv("RAYQL_TEST_DEVICE");
	struct rql_error err = {0};
	vulkan_keep_drivers();
	if (setenv("RAYQL_VULKAN_VALIDATION", "1", 0) != 0 ||
	    (pipelines && setenv("RAYQL_VULKAN_PIPELINES", pipelines, 1) != 0) ||
	    rql_devices_open(2, &devices, &err) != RQL_OK)
		return -1;
	gpu = rql_devices_get(devices, name ? name : "vulkan:0");
	return gpu ? open_pools(state) : -1;
}

/* What lies on the device of a snapshot's columns. */
struct placed_columns {
	uint64_t bytes;
	double ms;
	uint32_t columns;
	bool seen[64];
};

static void see_placed(void *state, const struct rql_place *at, const struct rql_placement *placement)
{
	struct placed_columns *sum = state;
	sum->bytes += placement->bytes;
	sum->ms += placement->build_ms;
	sum->columns += !sum->seen[at->part];
	sum->seen[at->part] = true;
}

static inline struct placed_columns placed_columns(const struct rql_store_snapshot *snapshot)
{
	struct placed_columns sum = {0};
	for (uint32_t s = 0; s < snapshot->segment_count; s++)
		rql_placements_each(snapshot->segments[s].identity, gpu, see_placed, &sum);
	return sum;
}

/* ... and of a request's maps, each of which may serve several joins. */
static inline uint64_t placed_maps(const struct rql_request *request)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < request->lookup_count; i++) {
		bool seen = false;
		for (uint32_t k = 0; k < i; k++)
			seen |= request->lookups[k].map == request->lookups[i].map;
		bytes += seen ? 0 : rql_placements_of(request->lookups[i].map, gpu, NULL, 0, NULL, NULL);
	}
	return bytes;
}

/* Far fewer pipelines than there are shapes of requests. */
static int open_device(void **state)
{
	return open_keeping(state, "4");
}

static int close_device(void **state)
{
	uint64_t errors = rql_vulkan_validation_errors();
	/* Everything was given back. */
	uint64_t left = rql_placements_bytes(gpu, false) + gpu->request_bytes;
	rql_devices_close(devices);
	return close_pools(state) || errors || left ? -1 : 0;
}

#endif
