/* The list of devices: the CPU at once, GPUs when they are first asked for, found by id, UUID or PCI address. */
#include "device/device_internal.h"
#include "device/placement.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "device/fault/fault.h"

/* Of rql_devices_find: the first caller searches, the others wait for it. */
struct rql_devices_lock {
	pthread_mutex_t mutex;
	_Atomic bool found;
};

const char *rql_unit_name(enum rql_unit unit)
{
	static const char *const names[RQL_UNIT_COUNT] = {"cpu", "compute", "rt", "raster"};
	return (unsigned)unit < RQL_UNIT_COUNT ? names[unit] : "unknown";
}

const char *rql_device_kind_name(enum rql_device_kind kind)
{
	switch (kind) {
	case RQL_DEVICE_CPU:
		return "cpu";
	case RQL_DEVICE_DISCRETE:
		return "discrete";
	case RQL_DEVICE_INTEGRATED:
		return "integrated";
	case RQL_DEVICE_VIRTUAL:
		return "virtual";
	case RQL_DEVICE_SOFTWARE:
		return "software";
	}
	return "unknown";
}

rql_status rql_devices_open(unsigned threads, struct rql_devices **out, struct rql_error *err)
{
	struct rql_devices *devices = calloc(1, sizeof(*devices));
	struct rql_devices_lock *lock = calloc(1, sizeof(*lock));
	struct rql_device *list = calloc(RQL_DEVICES_MAX, sizeof(*list));
	rql_status status = devices && lock && list
	                        ? RQL_OK
	                        : rql_error_memory(err, RQL_DEVICES_MAX * sizeof(*list), "the list of devices");
	if (status == RQL_OK)
		status = rql_cpu_open(threads, list, err);
	if (status != RQL_OK) {
		free(list);
		free(lock);
		free(devices);
		return status;
	}
	if (!rql_profile_load(list))
		rql_device_measure(list, false);
	pthread_mutex_init(&lock->mutex, NULL);
	devices->count = 1;
	devices->device = list;
	devices->lock = lock;
	*out = devices;
	return RQL_OK;
}

static char unknown[] = "there was no memory for the reason";

void rql_device_leave(struct rql_device *device, const char *why)
{
	char *none = NULL, *copy = strdup(why);
	if (!atomic_compare_exchange_strong(&device->left, &none, copy ? copy : unknown))
		free(copy);
}

void rql_devices_close(struct rql_devices *devices)
{
	if (!devices)
		return;
	for (uint32_t i = 1; i < devices->count; i++) {
		rql_compiler_close(&devices->device[i]);
		rql_placements_close(&devices->device[i]);
		rql_fault_remove(&devices->device[i]);
		if (devices->device[i].left != unknown)
			free(devices->device[i].left);
	}
	rql_vulkan_close(devices);
	rql_cpu_close(&devices->device[0]);
	pthread_mutex_destroy(&devices->lock->mutex);
	free(devices->device);
	free(devices->lock);
	free(devices);
}

void rql_devices_find(struct rql_devices *devices)
{
	pthread_mutex_lock(&devices->lock->mutex);
	if (!devices->lock->found) {
		uint32_t found = rql_vulkan_find(devices);
		for (uint32_t i = 1; i <= found; i++) {
			struct rql_device *device = &devices->device[i];
			if (!rql_profile_load(device))
				rql_profile_guess_gpu(device);
			rql_compiler_open(device);
			rql_fault_apply(device);
		}
		devices->count = 1 + found; /* readers see whole devices */
		devices->lock->found = true;
	}
	pthread_mutex_unlock(&devices->lock->mutex);
}

bool rql_devices_found(const struct rql_devices *devices)
{
	return atomic_load(&devices->lock->found);
}

/* In any case, and with or without hyphens, as tools print UUIDs. */
static bool same_uuid(const char *uuid, const char *name)
{
	for (; *name; name++) {
		if (*name == '-')
			continue;
		if (tolower((unsigned char)*name) != *uuid)
			return false;
		uuid++;
	}
	return *uuid == '\0';
}

struct rql_device *rql_devices_get(struct rql_devices *devices, const char *name)
{
	if (strcasecmp(name, devices->device[0].id) == 0)
		return &devices->device[0];
	rql_devices_find(devices);
	for (uint32_t i = 1; i < devices->count; i++) {
		struct rql_device *device = &devices->device[i];
		if (strcasecmp(name, device->id) == 0 || (device->uuid && same_uuid(device->uuid, name)) ||
		    (device->pci && strcasecmp(name, device->pci) == 0))
			return device;
	}
	return NULL;
}

void rql_device_measure(struct rql_device *device, bool thorough)
{
	if (device->units[RQL_UNIT_CPU])
		rql_cpu_measure(device, thorough);
	else if (device->ops && device->ops->measure && !device->lost)
		device->ops->measure(device, thorough);
}

void rql_device_wake(struct rql_device *device)
{
	if (rql_device_is_real_gpu(device) && device->ops && device->ops->wake && !device->lost)
		device->ops->wake(device);
}
