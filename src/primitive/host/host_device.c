/* What joins and group-bys share of a device: how much of its memory they may have, and its queue. */
#include "primitive/host/host_internal.h"

#define ROOM_LEFT 16u /* of what can be had, one part in so many */

uint64_t rql_host_device_limit(struct rql_device *const *devices, uint32_t count, uint64_t limit,
                               struct rql_device **whose)
{
	*whose = *whose ? *whose : devices[0];
	uint64_t least = limit ? limit : UINT64_MAX;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t available, total;
		rql_device_memory(devices[i], &available, &total);
		available -= available / ROOM_LEFT;
		if (available >= least)
			continue;
		least = available;
		*whose = devices[i];
	}
	return least;
}

void rql_host_leave(struct rql_left_devices *left, struct rql_device *device, rql_status status, const char *why)
{
	if (status == RQL_ERROR_DEVICE) {
		rql_device_leave(device, why);
		left->failed |= 1u << device->index;
	} else if (status == RQL_ERROR_LIMIT) {
		left->full |= 1u << device->index;
	}
}

rql_status rql_host_submit(struct rql_commands *c, rql_status status, struct rql_commands **flight, uint64_t *ticket,
                           struct rql_error *err)
{
	if (status == RQL_OK)
		status = rql_commands_end(c, err);
	if (status == RQL_OK)
		status = rql_submit(c, ticket, err);
	if (status != RQL_OK)
		rql_commands_free(c);
	else
		*flight = c;
	return status;
}
