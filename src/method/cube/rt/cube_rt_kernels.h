/* Argument structs and tables of the rt unit's kernels, for C and GLSL (device/kernel_types.h). cube_rt.h explains. */
#ifndef RQL_METHOD_CUBE_CUBE_RT_KERNELS_H
#define RQL_METHOD_CUBE_CUBE_RT_KERNELS_H

#include "method/cube/gpu/cube_kernels.h"

/* ---- building ---- */
#define RQL_RT_GROUP 256 /* local size of the compute passes */
#define RQL_RT_KEYS 16   /* of the directory, an invocation of cube_rt_levels */
#define RQL_RT_MAX_DIGITS 64

/* One digit of the cube's key. */
struct rql_rt_digit {
	uint64_t key_stride; /* directory digits: in the directory's key; residual ones: 0 */
	uint64_t codes;      /* residual digits: address of the packed codes */
	uint32_t radix;
	uint32_t bits; /* residual */
	uint32_t base; /* residual */
	uint32_t axis; /* 0 x, 1 y, 2 z, 3: not in the geometry */
	uint32_t axis_stride;
	uint32_t coarse; /* the coordinate is value >> coarse */
};
RQL_KERNEL_STRUCT_SIZE(rql_rt_digit, 40);

/* Where the keys of the cells are. */
struct rql_rt_keys {
	uint64_t directory; /* offsets of 4 or 8 bytes, directory_size + 1 of them; 0: no directory digit */
	uint64_t directory_size;
	uint64_t digits; /* rql_rt_digit[digit_count] */
	uint64_t cells;
	uint32_t directory_digits, digit_count;
	uint32_t directory_wide; /* 8-byte offsets */
	uint32_t padding;
};
RQL_KERNEL_STRUCT_SIZE(rql_rt_keys, 48);

/* Which cells begin a run of equal leading digits: marks, a bitmap of the cells (bit i % 32 of word i / 32), zero at
 * first. Both kernels add what they count to counts[digit], and mark the runs of the first `depth` digits.
 *
 * cube_rt_levels.comp, of directory digits: counts[d] is the number of runs of the first d + 1 digits.
 * cube_rt_runs.comp, of residual digits, behind it: counts[d] is the number of cells that begin no run of the directory's
 * and differ from the cell before first in digit d. */
struct rql_rt_levels_args {
	RQL_STRUCT(rql_rt_keys) keys;
	uint64_t counts; /* uint64[digits] */
	uint64_t marks;
	uint32_t depth, padding;
};
RQL_KERNEL_STRUCT_SIZE(rql_rt_levels_args, 72);
struct rql_rt_runs_args {
	RQL_STRUCT(rql_rt_keys) keys;
	uint64_t counts;
	uint64_t marks;
	uint32_t end; /* digits [directory_digits, end) are looked at */
	uint32_t marking;
};
RQL_KERNEL_STRUCT_SIZE(rql_rt_runs_args, 72);

/* cube_rt_fill.comp: triangles of primitives [first, first + count), and their z. */
struct rql_rt_fill_args {
	RQL_STRUCT(rql_rt_keys) keys;
	uint64_t starts; /* 0: primitive p is cell p */
	uint64_t z;      /* uint32[primitives] */
	uint64_t corners;
	uint64_t first, count;
	uint32_t wide; /* 8-byte starts */
	float unit;
};
RQL_KERNEL_STRUCT_SIZE(rql_rt_fill_args, 96);

/* ---- running ---- */
#define RQL_RT_NOTHING 0xffffffffu

/* A passing value of an enumerated digit: what it adds to the coordinate and to the group number. */
struct rql_rt_step {
	uint64_t group;
	uint32_t add, padding;
};
RQL_KERNEL_STRUCT_SIZE(rql_rt_step, 16);

/* One enumerated digit, or several neighbouring ones that all values of pass. */
struct rql_rt_level {
	uint64_t steps; /* rql_rt_step[count]; 0: value v adds v * stride */
	uint32_t count, stride;
	uint32_t axis, padding;
};
RQL_KERNEL_STRUCT_SIZE(rql_rt_level, 24);

/* An interval of z, relative to what the levels add; both ends included. */
struct rql_rt_segment {
	uint64_t group;
	uint32_t low, high;
};
RQL_KERNEL_STRUCT_SIZE(rql_rt_segment, 16);

/* A digit within z that is tested in every hit: gid[z / stride % size], -1: filtered out. */
struct rql_rt_test {
	uint64_t gid; /* int32[size] */
	uint64_t group_stride;
	uint32_t stride, size;
};
RQL_KERNEL_STRUCT_SIZE(rql_rt_test, 24);

/* A digit that the geometry does not decide, tested in every cell: gids[value], -1: filtered out. */
struct rql_rt_cell_test {
	RQL_STRUCT(rql_cube_column) codes; /* residual digits */
	uint64_t gids;                     /* int32[radix] */
	uint64_t group_stride;
	uint64_t key_stride; /* directory digits: value = key / key_stride % radix; residual ones: 0 */
	uint32_t radix, padding;
};
RQL_KERNEL_STRUCT_SIZE(rql_rt_cell_test, 64);

/* Rays [first_ray, first_ray + combinations * segment_count * cuts): the cut varies fastest, then the segment, then the
 * last level. */
struct rql_rt_box {
	uint64_t first_ray, ray_count;
	uint64_t levels;     /* rql_rt_level[level_count] */
	uint64_t segments;   /* rql_rt_segment[segment_count] */
	uint64_t tests;      /* rql_rt_test[test_count] */
	uint64_t cell_tests; /* rql_rt_cell_test[cell_test_count] */
	uint32_t level_count, segment_count, test_count, cell_test_count;
	uint32_t cuts;  /* equal pieces of every interval */
	uint32_t keyed; /* some cell test is of a directory digit */
};
RQL_KERNEL_STRUCT_SIZE(rql_rt_box, 72);

/* What all rays of a launch share. */
struct rql_rt_launch {
	uint64_t program; /* rql_cube_program: slots and rows */
	uint64_t boxes;   /* rql_rt_box[box_count] */
	uint64_t starts;  /* 0: primitive i is cell i */
	uint64_t z;       /* uint32 a primitive */
	uint64_t rays;
	uint64_t part_primitives;
	uint64_t directory, directory_size; /* as in rql_rt_keys */
	uint32_t directory_wide;
	uint32_t box_count, wide; /* 8-byte starts */
	float unit;               /* of z */
};
RQL_KERNEL_STRUCT_SIZE(rql_rt_launch, 80);

/* The ray-tracing shaders. accumulator.rows has `copies` (a power of two) sets of group_count rows, which rays take turns
 * in, so that neighbouring rays of one group do not wait for each other. Counters: RQL_RT_COUNTER_SETS sets of
 * RQL_RT_COUNTERS words, likewise. */
#define RQL_RT_COUNTER_SETS 64
#define RQL_RT_COUNTERS 4
#define RQL_RT_COUNTER_RUNS 0   /* PAIR: intervals with cells. HITS: runs that passed the tests */
#define RQL_RT_COUNTER_HITS 1   /* HITS: any-hit calls */
#define RQL_RT_COUNTER_TESTED 2 /* cells whose codes were tested */
struct rql_rt_args {
	uint64_t first_ray; /* set by the recorder */
	uint64_t accel;
	uint64_t launch; /* rql_rt_launch */
	uint64_t counters;
	RQL_STRUCT(rql_cube_accumulator) accumulator;
	uint64_t copies;
	uint64_t counter_sets; /* RQL_RT_COUNTER_SETS; 1: the counters are the state's, few rays will touch them */
};
RQL_KERNEL_STRUCT_SIZE(rql_rt_args, 96);

/* cube_rt_merge.comp: folds the copies of every row into the accumulator's, leaves them as templates; and the counters
 * into the accumulator's state (RQL_CUBE_STATE_COUNTERS + RQL_RT_COUNTER_...). A workgroup per group. */
struct rql_rt_merge_args {
	uint64_t program;
	RQL_STRUCT(rql_cube_accumulator) accumulator;
	uint64_t counters;
	uint64_t rows;   /* the copies, [copies][group_count][row_words] */
	uint64_t copies; /* 0: rays added to the accumulator's rows themselves */
};
RQL_KERNEL_STRUCT_SIZE(rql_rt_merge_args, 80);

#endif
