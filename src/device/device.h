/* What the engine sees of a device: its identity, its units, its measured profile, and for the CPU its threads. Device
 * 0 is always the CPU (a real device: the one that users without a GPU get, and the oracle of the others). GPU devices
 * join this list with src/device/vulkan. */
#ifndef RQL_DEVICE_DEVICE_H
#define RQL_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include "util/status.h"
#include "util/threads.h"

enum rql_unit { RQL_UNIT_CPU, RQL_UNIT_COMPUTE, RQL_UNIT_RT, RQL_UNIT_RASTER, RQL_UNIT_COUNT };
const char *rql_unit_name(enum rql_unit unit);

/* Instruction sets that the CPU kernels are compiled for; the widest that the machine has is chosen at start-up and
 * can be lowered by the environment variable RAYQL_SIMD=portable|avx2|avx512 (tests run all that exist). */
enum rql_simd { RQL_SIMD_PORTABLE, RQL_SIMD_AVX2, RQL_SIMD_AVX512 };

/* Cost constants of a device (design.md, "Cost model"): nanoseconds and bytes per nanosecond, measured by rayql
 * calibrate. */
struct rql_profile {
	bool measured;            /* false: the built-in guesses */
	double read_gbps;         /* all threads, streaming reads from memory, bytes/ns */
	double handover_ns;       /* starting a parallel loop */
	double run_ns;            /* one interval of cells: two directory lookups, first decode */
	double cell_ns;           /* one cell decoded and summed in an interval, one thread */
	double tested_cell_ns;    /* one cell whose residual codes are tested or grouped, one thread */
	double group_ns;          /* one group cleared, merged and put out */
	double statement_ns;      /* a cached statement before its method runs */
	double host_statement_ns; /* the host: least time of any aggregate query */
	double host_value_ns;     /* the host: one value of one column scanned, filtered or aggregated, all threads */
};

struct rql_device {
	uint32_t index;
	const char *id;     /* "cpu", "vulkan:0" */
	const char *name;   /* the processor's or adapter's own name */
	const char *driver; /* "native avx512", driver name and version */
	uint64_t memory_bytes;
	bool units[RQL_UNIT_COUNT];
	const char *missing[RQL_UNIT_COUNT]; /* why a unit is not there; NULL when it is */
	enum rql_simd simd;                  /* CPU */
	struct rql_pool *pool;               /* CPU: the threads kernels run on */
	struct rql_profile profile;
};

struct rql_devices {
	uint32_t count;
	struct rql_device *device; /* device[0] is the CPU */
};

/* threads: as rql_pool_new. Never fails for a missing GPU. Reads the kept profile or measures the short form. */
rql_status rql_devices_open(unsigned threads, struct rql_devices **out, struct rql_error *err) RQL_MUST_CHECK;
void rql_devices_close(struct rql_devices *devices);

/* Profiles are kept per device and driver in ${XDG_CACHE_HOME:-~/.cache}/rayql/profile-<device>.json; an unreadable or
 * foreign file is ignored and measured anew. */
rql_status rql_profile_save(const struct rql_device *device, struct rql_error *err);
bool rql_profile_load(struct rql_device *device);
/* The method-independent constants (bandwidth, hand-over); the methods' own are measured by plan/calibrate.c. */
void rql_device_measure(struct rql_device *device, bool thorough);

#endif
