/* What a device does without any work and with nothing but reading: the floors that figures are compared with. */
#include "bench/flat/flat.h"

#include <string.h>

#include "bench/common/stats.h"
#include "bench/flat/rival_kernels.h"
#include "shaders/bench/floor.comp.h"

#define GROUP_SIZE 256u
#define GROUPS 2048u
#define RUNS 20u
/* An H200 idles at 345 MHz, is there three seconds after its last work of any size, and goes back to 1,980 MHz within
 * half a second of heavy work. */
#define WAKE_NS UINT64_C(500000000)
#define WAKES 4u
#define WAKE_BYTES (UINT64_C(1) << 28)
#define PROBE_BYTES (UINT64_C(1) << 16) /* by one workgroup: its time is the clock's */

static const struct rql_kernel kernel = {"bench.floor", rql_spv_floor_comp, sizeof rql_spv_floor_comp,
                                         sizeof(struct rql_floor_args)};

/* Median device time of one pass over `bytes` of buffer. */
static rql_status time_pass(struct rql_device *device, struct rql_buffer *buffer, uint64_t bytes, uint64_t groups,
                            double *ns, struct rql_error *err)
{
	const uint32_t constants[1] = {GROUP_SIZE};
	const struct rql_pipeline *pipeline;
	struct rql_commands *c;
	struct rql_samples samples = {0};
	RQL_TRY(rql_pipeline_get(device, &kernel, constants, 1, &pipeline, err));
	RQL_TRY(rql_commands_new(device, RQL_COMMANDS_TIMED, &c, err));
	struct rql_floor_args args = {buffer->address, buffer->address, bytes / 16, groups};
	struct rql_use use = {buffer, RQL_READ_WRITE};
	rql_record_dispatch(c, "floor", pipeline, &args, groups, &use, 1);
	rql_status status = rql_commands_end(c, err);
	for (uint32_t i = 0; i <= RUNS && status == RQL_OK; i++) {
		double total;
		status = rql_commands_run(c, NULL, err);
		if (status == RQL_OK && i > 0) {
			(void)rql_commands_times(c, NULL, 0, &total);
			rql_samples_add(&samples, total);
		}
	}
	rql_commands_free(c);
	*ns = rql_samples_median(&samples);
	return status;
}

static bool has_clock(const struct rql_device *device)
{
	return device->kind != RQL_DEVICE_SOFTWARE && device->kind != RQL_DEVICE_CPU;
}

/* What the device's clock is: the time of a fixed work of one workgroup. */
static rql_status time_probe(struct rql_device *device, double *ns, struct rql_error *err)
{
	struct rql_buffer *buffer;
	RQL_TRY(rql_buffer_new(device, PROBE_BYTES, RQL_MEMORY_DEVICE, "a look at the device's clock", &buffer, err));
	rql_status status = time_pass(device, buffer, PROBE_BYTES, 1, ns, err);
	rql_buffer_free(buffer);
	return status;
}

static rql_status work_hard(struct rql_device *device, struct rql_error *err)
{
	struct rql_buffer *buffer;
	double ns;
	RQL_TRY(rql_buffer_new(device, WAKE_BYTES, RQL_MEMORY_DEVICE, "the device's waking up", &buffer, err));
	rql_status status = RQL_OK;
	for (uint64_t start = rql_now_ns(); status == RQL_OK && rql_now_ns() - start < WAKE_NS;)
		status = time_pass(device, buffer, WAKE_BYTES, GROUPS, &ns, err);
	rql_buffer_free(buffer);
	return status;
}

rql_status rql_flat_slowness(struct rql_device *device, double awake_ns, double *slowness, struct rql_error *err)
{
	double probe;
	*slowness = 1;
	if (!has_clock(device) || awake_ns <= 0)
		return RQL_OK;
	RQL_TRY(time_probe(device, &probe, err));
	*slowness = probe / awake_ns;
	return RQL_OK;
}

rql_status rql_flat_wake(struct rql_device *device, double *awake_ns, struct rql_error *err)
{
	double probe;
	if (!has_clock(device))
		return RQL_OK;
	RQL_TRY(time_probe(device, &probe, err));
	for (uint32_t i = 0; i < WAKES && !(*awake_ns > 0 && probe < RQL_FLAT_SLOW * *awake_ns); i++) {
		RQL_TRY(work_hard(device, err));
		RQL_TRY(time_probe(device, &probe, err));
		if (!(*awake_ns > 0 && *awake_ns < probe))
			*awake_ns = probe;
	}
	return RQL_OK;
}

rql_status rql_flat_measure_device(struct rql_device *device, struct rql_flat_device *out, struct rql_error *err)
{
	bool software = device->kind == RQL_DEVICE_SOFTWARE || device->kind == RQL_DEVICE_CPU;
	uint64_t bytes = software ? UINT64_C(1) << 26 : UINT64_C(1) << 31;
	struct rql_buffer *buffer = NULL;
	struct rql_commands *c = NULL;
	double empty_ns = 0, read_ns = 0;
	RQL_TRY(rql_buffer_new(device, bytes, RQL_MEMORY_DEVICE, "the bandwidth measurement", &buffer, err));
	rql_status status = rql_commands_new(device, 0, &c, err);
	if (status == RQL_OK) {
		rql_record_fill(c, buffer, 0, bytes, 0x9e3779b9u);
		status = rql_commands_end(c, err);
	}
	if (status == RQL_OK)
		status = rql_commands_run(c, NULL, err);
	rql_commands_free(c);
	if (status == RQL_OK)
		status = time_pass(device, buffer, 0, 1, &empty_ns, err);
	if (status == RQL_OK)
		status = time_pass(device, buffer, bytes, GROUPS, &read_ns, err);
	rql_buffer_free(buffer);
	RQL_TRY(status);
	snprintf(out->id, sizeof out->id, "%s", device->id);
	snprintf(out->name, sizeof out->name, "%s", device->name);
	snprintf(out->driver, sizeof out->driver, "%s", device->driver);
	out->launch_us = empty_ns / 1e3;
	out->read_gbps = read_ns > 0 ? (double)bytes / read_ns : 0;
	return RQL_OK;
}
