/* Which devices a session may use for a unit. */
#include "bind/context.h"

const char *rql_device_refused(const struct rql_settings *settings, const struct rql_device *device, enum rql_unit unit)
{
	const char *lacks = rql_device_lacks(device, unit);
	if (lacks)
		return lacks;
	if (settings->only && settings->only != device)
		return "rayql_device names another device";
	/* Slower than the CPU that it runs on, so only tests and the curious want it. */
	if (!settings->only && device->kind == RQL_DEVICE_SOFTWARE && !device->as_real)
		return "it is a driver in software, used only when rayql_device names it";
	if (atomic_load_explicit(&device->lost, memory_order_relaxed))
		return "it was lost; restart the program to use it again";
	return NULL;
}
