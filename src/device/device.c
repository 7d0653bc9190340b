#include "device/device_internal.h"

#include <stdlib.h>

const char *rql_unit_name(enum rql_unit unit)
{
	static const char *const names[RQL_UNIT_COUNT] = {"cpu", "compute", "rt", "raster"};
	return (unsigned)unit < RQL_UNIT_COUNT ? names[unit] : "unknown";
}

rql_status rql_devices_open(unsigned threads, struct rql_devices **out, struct rql_error *err)
{
	struct rql_devices *devices = calloc(1, sizeof(*devices));
	struct rql_device *cpu = calloc(1, sizeof(*cpu));
	rql_status status = devices && cpu ? RQL_OK : rql_error_memory(err, sizeof(*cpu), "the list of devices");
	if (status == RQL_OK)
		status = rql_cpu_open(threads, cpu, err);
	if (status != RQL_OK) {
		free(cpu);
		free(devices);
		return status;
	}
	if (!rql_profile_load(cpu))
		rql_device_measure(cpu, false);
	devices->count = 1;
	devices->device = cpu;
	*out = devices;
	return RQL_OK;
}

void rql_devices_close(struct rql_devices *devices)
{
	if (!devices)
		return;
	rql_cpu_close(&devices->device[0]);
	free(devices->device);
	free(devices);
}
