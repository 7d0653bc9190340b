/* The argument struct of the test's ray-tracing kernels (test_vulkan_trace.c), for C and GLSL. */
#ifndef TRACE_TEST_KERNELS_H
#define TRACE_TEST_KERNELS_H
#include "device/kernel_types.h"

struct trace_test_args {
	uint64_t first_ray, rays;
	uint64_t accel;
	uint64_t bases;  /* uint32_t[parts]: the row of a part's first primitive */
	uint64_t rows;   /* trace_test_row[] */
	uint64_t cells;  /* trace_test_cell[rays], written */
	uint64_t hits;   /* uint32_t[rows]: any-hit calls of every row, added to */
	float x0, y0;    /* of cell 0 */
	float from, to;  /* the rays' ends on z */
	uint32_t width;  /* cells of a row of the grid */
	uint32_t mask;
};
RQL_KERNEL_STRUCT_SIZE(trace_test_args, 80);

struct trace_test_row {
	float x, y, z;
	uint32_t value;
};
RQL_KERNEL_STRUCT_SIZE(trace_test_row, 16);

/* Of the mode that counts: count and sum of the any-hit calls. Of the mode of two closest hits: the rows. */
struct trace_test_cell {
	uint64_t count, sum;
	uint32_t first, last;
};
RQL_KERNEL_STRUCT_SIZE(trace_test_cell, 24);

#endif
