/* The conformance suite: what every device must do, run by the tests on lavapipe and by `rayql selftest` anywhere. Each
 * case draws data from the seed and compares the device with a plain C oracle. */
#ifndef RQL_SELFTEST_SELFTEST_H
#define RQL_SELFTEST_SELFTEST_H

#include "device/device.h"

enum rql_selftest_outcome { RQL_SELFTEST_OK, RQL_SELFTEST_FAILED, RQL_SELFTEST_SKIPPED };

/* A case that has ended; the pointers are valid during the call. */
struct rql_selftest_result {
	const struct rql_device *device;
	const char *name; /* "sort.stable" */
	enum rql_selftest_outcome outcome;
	double ms;
	const char *text; /* what was wrong, or why it was skipped; "" when ok */
};
typedef void rql_selftest_report(void *state, const struct rql_selftest_result *result);

struct rql_selftest_counts {
	uint32_t ok, failed, skipped;
};

/* Runs every case that the device has a unit for, one after the other. thorough: larger sizes, minutes instead of
 * seconds. Fails only when it cannot run at all (memory); a case that fails is reported and counted in *counts (which
 * it adds to). report may be NULL. */
rql_status rql_selftest_run(struct rql_devices *devices, struct rql_device *device, uint64_t seed, bool thorough,
                            rql_selftest_report *report, void *state, struct rql_selftest_counts *counts,
                            struct rql_error *err) RQL_MUST_CHECK;

#endif
