/* Arguments of the shaders that draw points for the cases of draw.h. */
#ifndef RQL_SELFTEST_DRAW_KERNELS_H
#define RQL_SELFTEST_DRAW_KERNELS_H

#include "device/kernel_types.h"

/* One point: a pixel, a layer of the target, and what is drawn there. */
struct rql_selftest_point {
	uint32_t x, y, layer, value[4];
};
RQL_KERNEL_STRUCT_SIZE(rql_selftest_point, 28);

struct rql_point_args {
	uint64_t points; /* instance after instance */
	uint64_t calls;  /* uint32_t a pixel and layer: where a fragment counts itself; 0: nowhere */
	uint32_t per_instance;
	uint32_t width, height;
	uint32_t first; /* of the points, for a second draw */
};
RQL_KERNEL_STRUCT_SIZE(rql_point_args, 32);

/* Reads every pixel of `from` and adds `add` to what is stored in `to`, by invocation. */
struct rql_pixel_args {
	uint64_t out_words; /* uint32_t a pixel: the first component, or the float's bits */
	uint32_t from, to; /* numbers of images; to: UINT32_MAX is none */
	uint32_t width, height, layers, add;
};
RQL_KERNEL_STRUCT_SIZE(rql_pixel_args, 32);

#endif
