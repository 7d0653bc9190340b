/* A bound request as the device sees it, declared once for C (cube_program.c fills it) and GLSL (shaders/ read it). All
 * addresses are of device memory. Compiled by both, so: no enum, no typedef, no array. */
#ifndef RQL_METHOD_CUBE_CUBE_KERNELS_H
#define RQL_METHOD_CUBE_CUBE_KERNELS_H

#include "device/kernel_types.h"

/* What a slot of an accumulator row holds: enum rql_cube_slot_kind. The device keeps the extremes of doubles as keys that
 * order like them (cube_real_key), the host turns them back. */
#define RQL_CUBE_COUNT 0u
#define RQL_CUBE_SUM 1u
#define RQL_CUBE_SUM_WIDE 2u
#define RQL_CUBE_SUM_REAL 3u
#define RQL_CUBE_MIN 4u
#define RQL_CUBE_MAX 5u
#define RQL_CUBE_MIN_REAL 8u
#define RQL_CUBE_MAX_REAL 9u

/* Packed values: field i at bit i * bits, plus base modulo 2^64 or 2^128. bits: 0..57, 64, 128. */
struct rql_cube_column {
	uint64_t data;
	uint64_t base_low, base_high;
	uint32_t bits, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_column, 32);

#define RQL_CUBE_SLOT_CUMULATIVE 1u /* an interval's value comes from cumulative sums: cost independent of its length */
#define RQL_CUBE_SLOT_VALID 2u      /* cells whose `valid` is 0 have no value */
struct rql_cube_slot_entry {
	RQL_STRUCT(rql_cube_column) values; /* SUM_REAL, MIN_REAL, MAX_REAL: raw doubles */
	RQL_STRUCT(rql_cube_column) valid;
	uint64_t cumulative; /* 64-bit entries, SUM_WIDE: 128-bit ones */
	uint32_t kind, flags;
	uint32_t word; /* of the row */
	uint32_t unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_slot_entry, 88);

/* As struct rql_cube_step and rql_cube_segment. */
struct rql_cube_step_entry {
	uint64_t key, group;
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_step_entry, 16);
struct rql_cube_segment_entry {
	uint64_t begin, end, group;
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_segment_entry, 24);
struct rql_cube_level_entry {
	uint64_t steps; /* rql_cube_step_entry[count] */
	uint32_t count, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_level_entry, 16);
struct rql_cube_test_entry {
	RQL_STRUCT(rql_cube_column) codes;
	uint64_t gids; /* int32_t[radix]: part of the group number, -1: filtered out */
	uint64_t stride;
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_test_entry, 48);

/* An item is (combination, segment, search), search fastest: one interval of keys, or the part of it with one searched
 * segment of the first residual digit. */
struct rql_cube_box_entry {
	uint64_t first_item;                           /* numbered through all boxes */
	uint64_t levels, segments, searches, tests;    /* arrays of the above */
	RQL_STRUCT(rql_cube_column) search_codes; /* search_count > 0 */
	uint32_t level_count, segment_count, search_count, search_radix, test_count, tests_group;
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_box_entry, 96);

struct rql_cube_program {
	uint64_t directory; /* uint32_t or uint64_t offsets */
	uint64_t cells;
	uint64_t items;
	uint64_t group_count;
	uint64_t slots;        /* rql_cube_slot_entry[slot_count] */
	uint64_t boxes;        /* rql_cube_box_entry[box_count] */
	uint64_t row_template; /* uint64_t[row_words] of an empty group */
	uint32_t directory_wide, slot_count, box_count, row_words;
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_program, 72);

/* Where a run adds up: all of it is at rest (rows are templates, the rest zero) before and after a run. */
#define RQL_CUBE_STATE_TICKET 0u   /* workgroups that are done */
#define RQL_CUBE_STATE_QUEUE 1u    /* long intervals << 36 | their pieces */
#define RQL_CUBE_STATE_OVERFLOW 2u /* the hash table was full */
#define RQL_CUBE_STATE_FOUND 3u    /* groups put out by the collecting pass */
#define RQL_CUBE_STATE_COUNTERS 4u /* and what follows: */
#define RQL_CUBE_COUNTER_RUNS 0u   /* intervals with cells */
#define RQL_CUBE_COUNTER_EDGES 1u  /* cells read one by one beside cumulative sums, once for all slots */
#define RQL_CUBE_COUNTER_CELLS 2u  /* cells of intervals that qualify whole, where some slot reads them */
#define RQL_CUBE_COUNTER_TESTED 3u
#define RQL_CUBE_COUNTERS 4u
#define RQL_CUBE_STATE_WORDS 8u
/* The result begins with the same words; the groups follow: whole rows [group_count][row_words], or as many entries of
 * group number and row as FOUND says. */
struct rql_cube_accumulator {
	uint64_t rows;   /* uint64_t[capacity][row_words] */
	uint64_t keys;   /* hashed: uint64_t[capacity], group number + 1, 0: free. 0: rows are found by group number */
	uint64_t mask;   /* hashed: capacity - 1, a power of two less one */
	uint64_t state;  /* uint64_t[RQL_CUBE_STATE_WORDS] */
	uint64_t result; /* the head: RQL_CUBE_STATE_WORDS, then, unless `found` is elsewhere, the groups */
	uint64_t found;  /* where the groups go */
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_accumulator, 48);

/* cube_intervals.comp. groups: workgroups of this dispatch. */
struct rql_cube_intervals_args {
	uint64_t program;
	RQL_STRUCT(rql_cube_accumulator) accumulator;
	uint64_t queue; /* rql_cube_long_entry[]: intervals that are cut into pieces */
	uint64_t groups;
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_intervals_args, 72);
struct rql_cube_long_entry {
	uint64_t begin, end, group, first_piece;
	uint32_t box, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_long_entry, 40);

/* cube_collect.comp. */
#define RQL_CUBE_COLLECT_ROWS 0u   /* copies every row; one workgroup */
#define RQL_CUBE_COLLECT_GROUPS 1u /* puts out the groups that exist */
#define RQL_CUBE_COLLECT_RESET 2u  /* only puts everything at rest */
struct rql_cube_collect_args {
	uint64_t program;
	RQL_STRUCT(rql_cube_accumulator) accumulator;
	uint64_t capacity; /* rows */
	uint64_t groups;
	uint32_t mode, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_collect_args, 80);

#endif
