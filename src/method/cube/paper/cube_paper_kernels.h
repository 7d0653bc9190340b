/* What the kernels of the paper's form share with C (device/kernel_types.h). */
#ifndef RQL_METHOD_CUBE_CUBE_PAPER_KERNELS_H
#define RQL_METHOD_CUBE_CUBE_PAPER_KERNELS_H

#include "device/kernel_types.h"

/* What one structure and one request can have of each; the shader is specialised for them. */
#define RQL_PAPER_COLUMNS 5
#define RQL_PAPER_SLOTS 8
#define RQL_PAPER_TESTS 8
#define RQL_PAPER_GROUP_ARRAYS 8
/* Counters of any-hit calls: many, so that rays do not queue for one. */
#define RQL_PAPER_COUNTERS 1024

/* Specialization constants: 0: job and numbers of slots, tests, group arrays (RQL_PAPER_SHAPE); 1: a packed slot each
 * (RQL_PAPER_SLOT); 9: a packed column each (RQL_PAPER_COLUMN). */
#define RQL_PAPER_SHAPE(job, slots, tests, arrays) ((job) | (slots) << 4 | (tests) << 8 | (arrays) << 12)
#define RQL_PAPER_CONSTANT_SLOT 1
#define RQL_PAPER_CONSTANT_COLUMN 9
#define RQL_PAPER_CONSTANTS 14
/* The whole query in one job; the Scan job, whose flags are the bit vector it hands on; what follows it (6.5). */
#define RQL_PAPER_JOB_WHOLE 0
#define RQL_PAPER_JOB_SCAN 1
#define RQL_PAPER_JOB_REST 2

/* A slot: its kind, its column, its first word in a group's row, and the column that says whether there is a value. */
#define RQL_PAPER_SUM 0
#define RQL_PAPER_SUM_WIDE 1
#define RQL_PAPER_MAX 2
#define RQL_PAPER_MIN 3 /* kept inverted, as the greatest of ~value: a row of zeros is an empty group */
#define RQL_PAPER_NO_COLUMN 15
#define RQL_PAPER_SLOT(kind, column, word, valid) ((kind) | (column) << 4 | (valid) << 8 | (word) << 12)
/* A column: where its upper bits are in x, how many bits are in device memory, and the log2 bytes of one such entry. */
#define RQL_PAPER_COLUMN(shift, bits, rest_bits, rest_log)                                                             \
	((shift) | (bits) << 5 | (rest_bits) << 10 | (rest_log) << 17)

/* A query area: rays run from low to high along z, both between two integers. */
struct rql_paper_area {
	float low, high;
	uint32_t box;
};
RQL_KERNEL_STRUCT_SIZE(rql_paper_area, 12);

/* Device memory read by primitive number: 4.5 and the alternatives of 6.6. Lies in device memory itself. */
struct rql_paper_tables {
	uint64_t rest[RQL_PAPER_COLUMNS];        /* lower bits of the measures */
	uint64_t test[RQL_PAPER_TESTS];          /* codes of the scan attributes that are not in z: uint32_t each */
	uint64_t group[RQL_PAPER_GROUP_ARRAYS];  /* codes of the group attributes that are not in y: uint32_t each */
	uint64_t stride[RQL_PAPER_GROUP_ARRAYS]; /* what each counts for in the group number */
	uint64_t y_stride;
};
RQL_KERNEL_STRUCT_SIZE(rql_paper_tables, 240);

struct rql_paper_args {
	uint64_t first_ray;
	uint64_t accel;
	uint64_t areas;
	uint64_t sets;    /* address of a bit set over codes for every (box, test); 0: all pass */
	uint64_t corners; /* an address for every part: 12 bytes a row */
	uint64_t flags;
	uint64_t scanned; /* JOB_REST: the bit vector */
	uint64_t results;
	uint64_t counters;
	uint64_t tables;
	uint64_t part_rows;
	uint64_t rays;
	uint32_t rays_x, rays_y;     /* of one area */
	uint32_t legs;               /* log2: x | y << 8 */
	uint32_t center_x, center_y; /* grid.h */
	uint32_t row_words;          /* 64-bit words of a group's row */
};
RQL_KERNEL_STRUCT_SIZE(rql_paper_args, 120);

struct rql_paper_triangle_args {
	uint64_t corners, triangles; /* of the part */
	uint64_t count;
	float leg_x, leg_y;
	uint32_t level; /* z is 0 for all (6.5) */
	uint32_t unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_paper_triangle_args, 40);
#endif
