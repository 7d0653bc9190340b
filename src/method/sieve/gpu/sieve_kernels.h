/* What a sieve's kernels read, declared once for C (sieve_tables.c fills it) and GLSL (shaders/). All addresses are of
 * device memory. Compiled by both, so: no enum, no typedef, no array. */
#ifndef RQL_METHOD_SIEVE_SIEVE_KERNELS_H
#define RQL_METHOD_SIEVE_SIEVE_KERNELS_H

#include "device/kernel_types.h"

/* A lane takes 128 rows: 16 bytes of each vector. */
#define RQL_SIEVE_LANE_ROWS 128u
#define RQL_SIEVE_LANE_BYTES 16u
#define RQL_SIEVE_BLOCK_LANES 32u
/* Numbers of no vector (sieve_run.h). */
#define RQL_SIEVE_KERNEL_NO_ROW 0xffffffffu
#define RQL_SIEVE_KERNEL_EVERY_ROW 0xfffffffeu

/* Neighbouring bins of which a predicate says the same: C(to) without C(from), each first | (second & third). */
struct rql_sieve_kernel_span {
	uint32_t from_first, from_second, from_third;
	uint32_t to_first, to_second, to_third;
	uint32_t sure; /* all their rows pass; else each is tested */
	uint32_t unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_kernel_span, 32);

/* A range of keys as the segment has them on the device: distances from its least one. */
struct rql_sieve_kernel_range {
	uint64_t least, greatest;
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_kernel_range, 16);

/* One predicate in one segment. */
#define RQL_SIEVE_TEST_BYTES 80
struct rql_sieve_kernel_test {
	uint64_t vectors;
	uint64_t keys; /* uint32_t or uint64_t[blocks][4096] */
	uint64_t spans, ranges;
	uint64_t nulls; /* NULL passes: the vector of all other rows; 0: it does not, or there is none */
	uint64_t valid; /* the same vector, whether NULL passes or not; 0: no row is NULL */
	uint32_t span_count, range_count;
	uint32_t lanes; /* of the segment: a vector has so many times RQL_SIEVE_LANE_BYTES */
	uint32_t wide;  /* keys are uint64_t */
	uint64_t least, span; /* range_count 1: it goes from least to least + span */
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_kernel_test, RQL_SIEVE_TEST_BYTES);

/* A workgroup's lanes. */
struct rql_sieve_kernel_part {
	uint32_t test;        /* the segment's first */
	uint32_t first, last; /* lanes of the segment: [first, last) */
	uint32_t place;       /* the first one's in the snapshot */
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_kernel_part, 16);

/* ---- what a run meets, counted only where it is asked for ---- */
#define RQL_SIEVE_COUNT_HITS 0u   /* any-hit calls */
#define RQL_SIEVE_COUNT_TESTED 1u /* rows whose keys were read */
#define RQL_SIEVE_COUNT_BYTES 2u  /* of vectors, lists, keys (a sector each) and bitmaps */
#define RQL_SIEVE_COUNT_LISTS 3u   /* blocks whose rows are a list, */
#define RQL_SIEVE_COUNT_BITMAPS 4u /* and that have more than one takes */
#define RQL_SIEVE_COUNTS 5u        /* uint64_t each */
#define RQL_SIEVE_SECTOR 32u

struct rql_sieve_select_args {
	uint64_t tests, parts;
	uint64_t rows;   /* the bitmap: uint64_t[blocks of the snapshot][64] */
	uint64_t lists;  /* by block (method/rows_kernels.h); not read where ROWS are a bitmap */
	uint64_t counts; /* uint64_t[RQL_SIEVE_COUNTS]; not read where nothing is counted, as in all args */
	uint32_t test_count, part_count;
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_select_args, 48);

/* ---- rows found otherwise, each tested alone ---- */
/* Some rows of one segment out of a list: those of a workgroup. */
#define RQL_SIEVE_LIST_ROWS 256u
struct rql_sieve_kernel_list {
	uint64_t list;  /* uint32_t[count]: rows of the segment */
	uint64_t tests; /* of the segment: rql_sieve_kernel_test[test_count] */
	uint32_t count;
	uint32_t place; /* the segment's first row in the snapshot's bitmap, in words of 32 rows */
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_kernel_list, 24);

/* Rays [first, ...) of a launch, over one box of a segment's space: ray i stands at origin, i0 steps along axis 0, i1
 * along axis 1, i2 along axis 2, with i = i0 + count0 * (i1 + count1 * i2). Axes are numbers of x, y, z. */
struct rql_sieve_kernel_region {
	uint64_t first;
	uint64_t accel;
	uint64_t tests;
	uint64_t rows;  /* bytes from the launch's bitmap to its own */
	uint64_t cells; /* a primitive is a cell of rows: uint32_t[cells + 1], where each begins in `order`; 0: it is a row */
	uint64_t order; /* uint32_t[]: rows of the segment */
	uint32_t test_count, place;
	uint32_t part_primitives;
	uint32_t count0, count1;
	uint32_t axes; /* axis0 | axis1 << 2 | axis2 << 4 | of the direction << 6 */
	float step0, step1, step2;
	float x, y, z, extent;
	uint32_t unused;
};
#define RQL_SIEVE_REGION_BYTES 104
RQL_KERNEL_STRUCT_SIZE(rql_sieve_kernel_region, RQL_SIEVE_REGION_BYTES);

/* ---- rows of a block in the order of their keys ---- */
#define RQL_SIEVE_BLOCK_ROWS 4096u
#define RQL_SIEVE_BLOCK_BINS_MOST 1024u
#define RQL_SIEVE_BLOCK_TESTS 4u  /* are taken together, */
#define RQL_SIEVE_BLOCK_OPENS 32u /* with so many ranges at most: a lane each */
/* What a pass asks for at most: of each test one vector, and no NULL passes; two vectors, and NULLs; anything. */
#define RQL_SIEVE_BLOCKS_ONE 0u
#define RQL_SIEVE_BLOCKS_PLAIN 1u
#define RQL_SIEVE_BLOCKS_ANY 2u
/* A range of keys that vectors say the wrong thing of, or nothing. */
struct rql_sieve_kernel_open {
	uint64_t keys;   /* uint32_t[blocks][4096], ascending in a block: distances */
	uint64_t rows;   /* uint16_t[blocks][4096]: the same rows' numbers in the block, two in a word */
	uint64_t starts; /* uint16_t[blocks][stride]: where a bin begins there; behind the last one, where keys end */
	uint32_t stride, first_bin, end_bin;
	uint32_t least, greatest;
	uint32_t down; /* they are at the end of their bins, else at the beginning */
	uint32_t test; /* of those that are taken together */
	uint32_t pass;
	float share; /* of the rows in these bins, expected: so many are read at first */
	uint32_t unused;
};
#define RQL_SIEVE_OPEN_BYTES 64
RQL_KERNEL_STRUCT_SIZE(rql_sieve_kernel_open, RQL_SIEVE_OPEN_BYTES);
/* Of RQL_SIEVE_BLOCK_TESTS tests of a segment. */
struct rql_sieve_kernel_opens {
	uint64_t at;
	uint32_t count, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_kernel_opens, 16);

struct rql_sieve_blocks_args {
	uint64_t tests, parts, opens; /* opens: [segments][test_count / RQL_SIEVE_BLOCK_TESTS, rounded up] */
	uint64_t rows, lists, counts;
	uint32_t test_count, part_count;
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_blocks_args, 56);

struct rql_sieve_sort_args {
	uint64_t keys, valid;         /* as a test's */
	uint64_t block_rows, bounds;  /* uint32_t[blocks], uint32_t[bins - 1]: distances */
	uint64_t to_keys, to_rows, to_starts;
	uint32_t blocks, bins, stride, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_sort_args, 72);

struct rql_sieve_list_args {
	uint64_t lists, rows, counts;
	uint32_t list_count, test_count;
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_list_args, 32);

struct rql_sieve_draw_args {
	uint64_t lists;
	uint32_t list_count, test_count;
	uint32_t width, height; /* of the image: a pixel has 32 rows */
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_draw_args, 24);

struct rql_sieve_trace_args {
	uint64_t first_ray, rays;
	uint64_t regions, rows, counts;
	uint32_t region_count, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_trace_args, 48);

/* rows &= each of `maps` further bitmaps, one behind the other. */
struct rql_sieve_and_args {
	uint64_t rows, maps;
	uint64_t words; /* of 128 rows, of each */
	uint32_t map_count, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_and_args, 32);

/* ---- vectors made of keys ---- */
struct rql_sieve_make_args {
	uint64_t keys;    /* as a test's */
	uint64_t bounds;  /* uint64_t[bins - 1]: distances from the least key, as keys are */
	uint64_t vectors; /* those of both digits are written */
	uint64_t valid;   /* the vector of rows with a key; 0: all have one */
	uint64_t rows;    /* uint32_t[blocks] */
	uint32_t bins, base, highs, lows; /* base 0: one component */
	uint32_t words; /* of 32 rows, of the segment */
	uint32_t wide;
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_make_args, 64);

/* ---- keys taken out of a list ---- */
struct rql_sieve_gather_args {
	uint64_t keys;
	uint64_t rows; /* uint32_t[]: whose keys; 0: every `stride`-th */
	uint64_t out_keys;
	uint32_t count, most; /* most: the last of the list, or of rows */
	uint32_t stride, wide;
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_gather_args, 40);

/* ---- places in spaces, by number of the segment's rows; numbers that are no row's repeat a block's first ---- */
#define RQL_SIEVE_PLACES_VALUES 0 /* (key - least) >> shift */
#define RQL_SIEVE_PLACES_BINS 1
#define RQL_SIEVE_PLACES_NULL 2  /* NULL's place for all, before ranks; then the numbers that are no row's */
#define RQL_SIEVE_PLACES_RANKS 3
#define RQL_SIEVE_PLACES_GAPS 4
struct rql_sieve_places_args {
	uint64_t keys, valid; /* as of vectors made of keys */
	uint64_t bounds, rows;
	uint64_t ranks;  /* uint32_t[count]: rows by rank */
	uint64_t places; /* uint32_t[][axis_count] */
	uint32_t count, what;
	uint32_t axis, axis_count;
	uint32_t bins, shift, null_place, wide;
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_places_args, 80);

/* The number of each row's cell: its places as digits. What is no row is behind all cells. */
struct rql_sieve_cell_args {
	uint64_t places, rows;
	uint64_t cells; /* uint64_t[count] */
	uint64_t all;   /* cells that there are */
	uint32_t count, axis_count;
	uint32_t size_y, size_z;
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_cell_args, 48);

/* ---- primitives (geometry/matrix.h) ---- */
#define RQL_SIEVE_FILL_CUBES 0
#define RQL_SIEVE_FILL_LEGS 1
#define RQL_SIEVE_FILL_CELLS 2
struct rql_sieve_fill_args {
	uint64_t places; /* uint32_t[count][axis_count] */
	uint64_t primitives;
	uint64_t count;
	uint32_t what, axis_count;
	uint32_t center_x, center_y, center_z;
	uint32_t size; /* a cube's width, a triangle's leg */
	float unit_x;
	uint32_t unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_fill_args, 56);

#endif
