/* Arguments of the selftest's kernel over geometry/axis.glsl, for C and GLSL. */
#ifndef RQL_SELFTEST_AXIS_KERNELS_H
#define RQL_SELFTEST_AXIS_KERNELS_H

#include "device/kernel_types.h"

#define RQL_AXIS_THREADS 64u
#define RQL_AXIS_WORDS 19u /* of a result: nine of the triangle, five of each ray */
struct rql_axis_case {
	uint32_t x, y, z, high; /* the triangle of (x, y, z); the rays of z..high at (x, y) */
	float unit;
};
RQL_KERNEL_STRUCT_SIZE(rql_axis_case, 20);

struct rql_axis_args {
	uint64_t cases;   /* rql_axis_case[count] */
	uint64_t results; /* float[count][RQL_AXIS_WORDS] */
	uint64_t count;
};
RQL_KERNEL_STRUCT_SIZE(rql_axis_args, 24);

#endif
