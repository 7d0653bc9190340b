/* rayql_selftest: the conformance suite (src/selftest) on the devices that were asked for, told line by line. */
#include "api/api_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "selftest/selftest.h"

struct selftest_report {
	void (*report)(void *state, const char *line);
	void *state;
};

static void say(const struct selftest_report *to, const char *line)
{
	if (to->report)
		to->report(to->state, line);
}

static void say_case(void *state, const struct rql_selftest_result *result)
{
	static const char *const outcomes[] = {
		[RQL_SELFTEST_OK] = "ok",
		[RQL_SELFTEST_FAILED] = "FAILED",
		[RQL_SELFTEST_SKIPPED] = "skipped",
	};
	char line[600], ms[32] = "";
	if (result->outcome != RQL_SELFTEST_SKIPPED)
		snprintf(ms, sizeof(ms), "%.1f ms", result->ms);
	int length = snprintf(line, sizeof(line), "%-10s %-24s %-8s %12s  %s", result->device->id, result->name,
	                      outcomes[result->outcome], ms, result->text);
	length = length < (int)sizeof(line) ? length : (int)sizeof(line) - 1;
	while (length > 0 && line[length - 1] == ' ')
		line[--length] = '\0';
	say(state, line);
}

static rql_status run_device(struct rql_devices *devices, struct rql_device *device, uint64_t seed, bool thorough,
                             struct selftest_report *to, struct rql_selftest_counts *counts, struct rql_error *err)
{
	char line[600];
	snprintf(line, sizeof(line), "%s: %s (%s), seed %llu", device->id, device->name, device->driver,
	         (unsigned long long)seed);
	say(to, line);
	return rql_selftest_run(devices, device, seed, thorough, say_case, to, counts, err);
}

static rql_status run_devices(struct rql_devices *devices, const char *name, uint64_t seed, bool thorough,
                              struct selftest_report *to, struct rql_selftest_counts *counts, struct rql_error *err)
{
	char line[600];
	if (name && strcasecmp(name, "all")) {
		struct rql_device *device = rql_devices_get(devices, name);
		if (device)
			return run_device(devices, device, seed, thorough, to, counts, err);
		return rql_error_set(err, RQL_ERROR_MISUSE,
		                     "there is no device %s: SELECT * FROM rayql_devices() lists them%s%s", name,
		                     devices->no_gpu ? "; " : "", devices->no_gpu ? devices->no_gpu : "");
	}
	rql_devices_find(devices);
	for (uint32_t i = 0; i < devices->count; i++)
		RQL_TRY(run_device(devices, &devices->device[i], seed, thorough, to, counts, err));
	if (devices->no_gpu) {
		snprintf(line, sizeof(line), "no GPU: %s", devices->no_gpu);
		say(to, line);
	}
	return RQL_OK;
}

rayql_status rayql_selftest(const char *device, uint64_t seed, bool thorough,
                            void (*report)(void *state, const char *line), void *state, rayql_error **out)
{
	struct selftest_report to = {report, state};
	struct rql_selftest_counts counts = {0};
	struct rql_devices *devices = NULL;
	struct rql_error err = {0};
	char line[120];
	rql_status status = rql_devices_open(0, &devices, &err);
	if (status == RQL_OK)
		status = run_devices(devices, device, seed, thorough, &to, &counts, &err);
	rql_devices_close(devices);
	if (status == RQL_OK) {
		snprintf(line, sizeof(line), "%u ok, %u failed, %u skipped", counts.ok, counts.failed, counts.skipped);
		say(&to, line);
	}
	if (status == RQL_OK && counts.failed)
		status = rql_error_set(&err, RQL_ERROR_DEVICE, "%u of %u cases of the self test failed", counts.failed,
		                       counts.ok + counts.failed);
	return status == RQL_OK ? RAYQL_OK : rql_api_fail(&err, out);
}
