/* Arguments of the shaders of joins by hash images, for C and GLSL. */
#ifndef RQL_RASTER_KERNELS_H
#define RQL_RASTER_KERNELS_H

#include "device/kernel_types.h"

#define RQL_RASTER_THREADS 256u
#define RQL_RASTER_NONE 0xffffffffu
/* A pixel that counts by blending: more than that many rows a float does not hold. */
#define RQL_RASTER_COUNT_MOST 0x1000000u

/* ---- joins ---- */
/* Addresses lie in a table of uint64_t. Slots with a side: 0 is the one that is asked to be built, 1 to probe. Rows are
 * known by their position in the order of the partitions. */
#define RQL_RASTER_AT_STATE 0u
#define RQL_RASTER_AT_POINTS 1u
#define RQL_RASTER_AT_KEYS 2u    /* of a side, by position */
#define RQL_RASTER_AT_NUMBERS 4u /* of a side, uint32_t: the rows' numbers; 0: they are the positions */
#define RQL_RASTER_AT_STARTS 6u  /* of a side, uint32_t: partitions' first positions; 0: there is one partition */
#define RQL_RASTER_AT_FOUND 8u   /* of a side, uint64_t: its rows; 0: as many as COUNT says */
#define RQL_RASTER_AT_COUNT 10u  /* of a side: no address but its rows at most */
#define RQL_RASTER_AT_COUNTS 12u /* uint32_t a probe row: matches so far */
#define RQL_RASTER_AT_PLACES 13u /* uint64_t a probe row: where its next pair goes */
#define RQL_RASTER_AT_NEXT 14u   /* uint32_t a pixel: of the dense image, where its next row goes */
#define RQL_RASTER_AT_BUILD_ROWS 15u
#define RQL_RASTER_AT_PROBE_ROWS 16u
#define RQL_RASTER_AT_ROWS 17u
#define RQL_RASTER_AT_MATCHED 18u /* of a side, uint32_t a row: it has a match */
#define RQL_RASTER_AT_COMPARISONS 20u
/* Slots of a comparison: what it is, then of each side where its fields are, and its texts' first bytes and bytes. */
#define RQL_RASTER_COMPARISON_SLOTS 7u
#define RQL_RASTER_COMPARISON_FLAGS 0u
#define RQL_RASTER_COMPARISON_FIELDS 1u /* of a side; 0: its rows' numbers plus 1, or 2 */
#define RQL_RASTER_COMPARISON_STARTS 3u /* of a side, uint32_t */
#define RQL_RASTER_COMPARISON_BYTES 5u  /* of a side */
#define RQL_RASTER_COMPARISON_TEST 7u   /* flags: enum rql_join_test */
#define RQL_RASTER_COMPARISON_64 8u
#define RQL_RASTER_COMPARISON_REAL 16u
#define RQL_RASTER_COMPARISON_TEXT 32u
#define RQL_RASTER_JOIN_TABLE(comparisons) (RQL_RASTER_AT_COMPARISONS + (comparisons) * RQL_RASTER_COMPARISON_SLOTS)

/* The state: uint32_t. Draws are four words each, workgroups of indirect dispatches three. */
#define RQL_RASTER_SWAP 0u    /* side 1 is built in this partition */
#define RQL_RASTER_DIRECT 1u  /* all rows of the built side go into the dense image */
#define RQL_RASTER_HEIGHTS 2u /* of a side: layers that its rows would take */
#define RQL_RASTER_FIRST 4u   /* of a side: position */
#define RQL_RASTER_SIDE_ROWS 6u    /* of a side: in the partition; 0 where either has none */
#define RQL_RASTER_CURSOR 8u  /* in the dense image */
#define RQL_RASTER_RUNS 9u    /* stacks that were probed in this partition */
#define RQL_RASTER_SEEN 10u   /* ... before the places that are made now */
#define RQL_RASTER_DRAW_STATS 16u /* of a side */
#define RQL_RASTER_DRAW_PROBE 24u
#define RQL_RASTER_DRAW_FLAT 28u
#define RQL_RASTER_DRAW_WALK 32u
#define RQL_RASTER_GROUPS_BUILD 36u
#define RQL_RASTER_GROUPS_PROBE 40u
#define RQL_RASTER_GROUPS_WALK 44u
#define RQL_RASTER_GROUPS_PIXELS 48u
#define RQL_RASTER_DRAW_BUILD 52u /* of a layer, and one more: the rows that are left */

/* Words of struct rql_raster_points (raster.h). */
#define RQL_RASTER_POINTS_BUILD 0u
#define RQL_RASTER_POINTS_COUNT 1u
#define RQL_RASTER_POINTS_PROBE 2u
#define RQL_RASTER_POINTS_STATISTICS 3u
#define RQL_RASTER_POINTS_PASSES 4u
#define RQL_RASTER_POINTS_LAYERS 5u
#define RQL_RASTER_POINTS_PARTITIONS 6u
#define RQL_RASTER_POINTS_PAUSES 7u
#define RQL_RASTER_POINTS_FLATTENED 8u
#define RQL_RASTER_POINTS_SWAPPED 9u
#define RQL_RASTER_POINTS_FAILED 10u

struct rql_raster_args {
	uint64_t table;
	uint64_t list, list_out; /* positions of the rows that are left; list 0: all of the partition */
	uint64_t null_key, capacity;
	uint32_t stack_image, count_image, dense_image, stat_images[2];
	uint32_t log2_side, layers, cycles;
	uint32_t layer;         /* of a probe's plan the cycle */
	uint32_t width, height; /* of the count image */
	uint32_t offset;        /* side 1's rows: side 0's pixels there begin behind them */
	uint32_t dense_width, dense_rows;
	uint32_t number, side, what, flags; /* number: of the partition */
};
RQL_KERNEL_STRUCT_SIZE(rql_raster_args, 112);

/* flags */
#define RQL_RASTER_HAS_NULL 1u
#define RQL_RASTER_DROPS_EQUAL 2u
#define RQL_RASTER_SNAKE 4u
#define RQL_RASTER_STATISTICS 8u
#define RQL_RASTER_PAIRS 16u
#define RQL_RASTER_WANTS_MATCHED 32u
#define RQL_RASTER_FULL 64u    /* which build rows have a match is noted */
#define RQL_RASTER_SINGLE 128u /* whether a probe row has several is noted, behind the number of rows */
#define RQL_RASTER_COMPARED_SHIFT 8u /* above: how many comparisons rows of equal keys have */
/* side, of raster_place.vert */
#define RQL_RASTER_BUILDING 2u
/* what, of raster_plan.comp */
#define RQL_RASTER_PLAN_PARTITION 0u
#define RQL_RASTER_PLAN_BUILD 1u
#define RQL_RASTER_PLAN_PROBE 2u
#define RQL_RASTER_PLAN_FLAT 3u
/* of raster_matched.comp */
#define RQL_RASTER_FLAG_ROWS 0u
#define RQL_RASTER_PUT_ROWS 1u

/* raster_hash.comp */
struct rql_raster_hash_args {
	uint64_t keys, starts, bytes;
	uint64_t valid; /* a bitmap; 0: all are */
	uint64_t mask;  /* bits of a hash that are kept */
	uint64_t count;
};
RQL_KERNEL_STRUCT_SIZE(rql_raster_hash_args, 48);

/* raster_combine.comp */
struct rql_raster_combine_args {
	uint64_t keys, fields, hashes; /* hashes 0: there are none */
	uint64_t found, capacity;
	uint32_t bits, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_raster_combine_args, 48);

struct rql_raster_gather_args {
	uint64_t rows, from, to; /* from 0: the numbers themselves */
	uint64_t found, capacity;
	uint32_t bits, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_raster_gather_args, 48);

/* ---- group-bys ---- */
/* Addresses lie in a table of uint64_t. */
#define RQL_RASTER_GROUP_AT_KEYS 0u /* as many as there are words */
#define RQL_RASTER_GROUP_AT_STATE 7u
#define RQL_RASTER_GROUP_AT_MAP 8u     /* uint32_t a row: the row that stands for its group, or RQL_RASTER_NONE */
#define RQL_RASTER_GROUP_AT_NUMBERS 9u /* uint32_t a row that stands for a group: the group's number */
#define RQL_RASTER_GROUP_AT_HEADS 10u
#define RQL_RASTER_GROUP_AT_COUNTS 11u
#define RQL_RASTER_GROUP_AT_GROUPS 12u
#define RQL_RASTER_GROUP_AT_INEXACT 13u
#define RQL_RASTER_GROUP_AT_POINTS 14u
#define RQL_RASTER_GROUP_AT_FOUND 15u  /* uint64_t: rows; 0: as many as ROWS says */
#define RQL_RASTER_GROUP_AT_ROWS 16u   /* no address but the rows at most */
#define RQL_RASTER_GROUP_AT_STARTS 17u /* uint32_t: partitions' first rows in the list; 0: there is one partition */
#define RQL_RASTER_GROUP_AT_COLUMNS 18u
/* Five slots a column: where its values lie and what is made of them, 0: not made; and what they are. */
#define RQL_RASTER_COLUMN_SLOTS 5u
#define RQL_RASTER_COLUMN_VALUES 0u
#define RQL_RASTER_COLUMN_SUM 1u
#define RQL_RASTER_COLUMN_MIN 2u
#define RQL_RASTER_COLUMN_MAX 3u
#define RQL_RASTER_COLUMN_FLAGS 4u
#define RQL_RASTER_COLUMN_64 1u      /* bits of a value, else 32 */
#define RQL_RASTER_COLUMN_FIELDS 2u  /* without a sign, 0 is NULL; else signed integers */
#define RQL_RASTER_COLUMN_PRESENT 4u /* 1 of each field that is not 0 */
#define RQL_RASTER_COLUMN_WIDE 8u    /* sums are two words */
#define RQL_RASTER_COLUMN_REAL 16u   /* fields of reals: sums are doubles, extremes ordered keys */
#define RQL_RASTER_GROUP_TABLE(columns) (RQL_RASTER_GROUP_AT_COLUMNS + (columns) * RQL_RASTER_COLUMN_SLOTS)

/* The state: uint32_t, four a draw: {vertices, 1, first, 0}. Draw i < rounds is that of round i, draw `rounds` counts the
 * rest; then all rows, and the workgroups of a round. */
#define RQL_RASTER_GROUP_DRAW_TOTALS(rounds) (4u * ((rounds) + 1u))
#define RQL_RASTER_GROUP_GROUPS(rounds) (4u * ((rounds) + 2u))
#define RQL_RASTER_GROUP_STATE(rounds) (4u * ((rounds) + 3u))

struct rql_raster_group_args {
	uint64_t table;
	uint64_t list, list_out; /* of rows that are left; list 0: all */
	uint64_t capacity;
	uint32_t key_words, pair_words, hashed, log2_side;
	uint32_t round, rounds;
	uint32_t images[4]; /* that the pass reads: hash images; sums; extremes, the high parts first */
	uint32_t first_row, number; /* number: of the partition */
	uint32_t width, height;     /* of the images of totals */
	uint32_t column, column_count, part, parts;
	uint32_t exact_rows, what;
};
RQL_KERNEL_STRUCT_SIZE(rql_raster_group_args, 112);
/* what, of group_plan.comp */
#define RQL_RASTER_GROUP_BEGIN 0u
#define RQL_RASTER_GROUP_END 1u
/* column, of blending: none, rows are counted */
#define RQL_RASTER_ROWS_ONLY 0xffffffffu

#endif
