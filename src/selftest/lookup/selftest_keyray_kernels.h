/* Arguments of the selftest's look-ups of keys by rays, for C and GLSL. */
#ifndef RQL_SELFTEST_KEYRAY_KERNELS_H
#define RQL_SELFTEST_KEYRAY_KERNELS_H

#include "device/kernel_types.h"

#define RQL_KEYRAY_THREADS 64u
struct rql_keyfill_args {
	uint64_t keys; /* uint64_t[count] */
	uint64_t corners;
	uint64_t count;
	uint32_t bits[3], shift[3], stride;
	uint32_t unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_keyfill_args, 56);

/* A look-up of [low, high]: one shader invocation traces all its rays. */
struct rql_keyray_args {
	uint64_t first_ray;
	uint64_t accel;
	uint64_t ranges;  /* low and high: uint64_t[probes][2] */
	uint64_t results; /* hits and the sum of (row + 1): uint64_t[probes][2] */
	uint64_t probes;
	uint32_t bits[3], shift[3], stride;
	uint32_t form; /* of key.h; PERPENDICULAR: low alone */
};
RQL_KERNEL_STRUCT_SIZE(rql_keyray_args, 72);

#endif
