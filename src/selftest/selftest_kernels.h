/* Arguments of the selftest's own kernels, for C and GLSL. */
#ifndef RQL_SELFTEST_KERNELS_H
#define RQL_SELFTEST_KERNELS_H

#include "device/kernel_types.h"

#define RQL_STEP_THREADS 64u
/* out[i] = in[i] * factor + add + i, over uint64_t. */
struct rql_step_args {
	uint64_t in_items, out_items;
	uint64_t count, factor, add;
	uint64_t groups; /* that are expected */
};
RQL_KERNEL_STRUCT_SIZE(rql_step_args, 48);

/* Rows are triangles at integer (x, y, z); a ray runs along z over one cell (x, y). */
struct rql_ray_args {
	uint64_t first_ray;
	uint64_t accel;
	uint64_t counts;     /* uint32_t per ray: any-hit calls */
	uint64_t sums;       /* uint64_t per ray: of the rows' numbers */
	uint64_t part_bases; /* uint32_t per part: its first row */
	uint64_t rays;
	uint32_t width;        /* cells in x */
	uint32_t z_from, z_to; /* the ray covers z_from - 1/2 .. z_to - 1/2 */
	uint32_t closest;      /* closest hit alone: counts gets 1 and sums the row of least z */
	uint64_t rows;         /* boxes: what is in them */
};
RQL_KERNEL_STRUCT_SIZE(rql_ray_args, 72);

/* Rows to triangles, three corners of three floats each, or to boxes, least and greatest x, y and z. */
struct rql_corner_args {
	uint64_t rows; /* uint32_t x, y, z each */
	uint64_t corners;
	uint64_t count;
	uint32_t boxes, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_corner_args, 32);

#endif
