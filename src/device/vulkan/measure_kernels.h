/* Arguments of the kernels that measure a device, for C and GLSL. */
#ifndef RQL_DEVICE_VULKAN_MEASURE_KERNELS_H
#define RQL_DEVICE_VULKAN_MEASURE_KERNELS_H

#include "device/kernel_types.h"

#define RQL_MEASURE_LOADS 16 /* of 16 bytes each, by one invocation */

struct rql_measure_args {
	uint64_t data; /* uvec4[quads] */
	uint64_t sums; /* uint32_t[groups] */
	uint64_t quads;
};
RQL_KERNEL_STRUCT_SIZE(rql_measure_args, 24);

#endif
