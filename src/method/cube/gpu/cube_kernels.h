/* A bound request as the device sees it, declared once for C (cube_program.c fills it) and GLSL (shaders/ read it). All
 * addresses are of device memory. Compiled by both, so: no enum, no typedef, no array. */
#ifndef RQL_METHOD_CUBE_CUBE_KERNELS_H
#define RQL_METHOD_CUBE_CUBE_KERNELS_H

#include "device/kernel_types.h"

/* What a slot of an accumulator row holds: enum rql_state_kind (group/state.h). The device keeps the extremes of doubles as keys that
 * order like them (rql_state_real_key), the host turns them back. */
#define RQL_CUBE_COUNT 0u
#define RQL_CUBE_SUM 1u
#define RQL_CUBE_SUM_WIDE 2u
#define RQL_CUBE_SUM_REAL 3u
#define RQL_CUBE_MIN_REAL 8u
#define RQL_CUBE_MAX_REAL 9u
#define RQL_CUBE_MIN 10u
#define RQL_CUBE_MAX 11u

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
	uint32_t first, passing; /* codes [first, first + passing) pass, all with part 0; passing 0: gids says it */
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_test_entry, 56);

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
	uint64_t tests; /* of the first box */
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_program, 80);

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

/* An item resolved (cube_resolve.comp): an interval with cells, or a piece of one that is long and must be read whole.
 * 16 bytes, so that it is one load. rest: bits 32..39 of begin, then of length, then the box's 16 bits. */
struct rql_cube_entry {
	uint32_t begin, length, group, rest;
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_entry, 16);
#define RQL_CUBE_ENTRY_CELL_BITS 40
#define RQL_CUBE_ENTRY_GROUP_BITS 32
#define RQL_CUBE_ENTRY_BOX_BITS 16

/* cube_resolve.comp. totals: the counters of all entries (RQL_CUBE_COUNTER_*), then how many entries there are. */
#define RQL_CUBE_TOTAL_ENTRIES 4u
#define RQL_CUBE_TOTAL_WORDS 8u
struct rql_cube_resolve_args {
	uint64_t program;
	uint64_t entries; /* rql_cube_entry[capacity] */
	uint64_t totals;  /* uint64_t[RQL_CUBE_TOTAL_WORDS], zero */
	uint64_t capacity;
	uint64_t groups;
	uint32_t piece; /* cells of an entry at most; 0: intervals are not cut */
	uint32_t unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_resolve_args, 48);

/* cube_owned.comp and cube_entries.comp: what a warm run of a few plain sums needs is all here, so that the first load is
 * an entry's. */
struct rql_cube_plain_slot {
	uint64_t values;     /* as rql_cube_column */
	uint64_t cumulative; /* 64-bit entries */
	uint64_t base;
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_plain_slot, 24);
#define RQL_CUBE_PLAIN_SLOTS 2u
/* How a slot's values are read. */
#define RQL_CUBE_PLAIN_CONSTANT 0u /* no bits: every value is the base */
#define RQL_CUBE_PLAIN_NARROW 1u   /* up to 32 bits */
#define RQL_CUBE_PLAIN_BROAD 2u    /* up to 64 */
struct rql_cube_plain {
	uint64_t cells;
	RQL_STRUCT(rql_cube_plain_slot) first;
	RQL_STRUCT(rql_cube_plain_slot) second;
	uint64_t tests; /* rql_cube_test_entry[]: of the one box */
	uint32_t first_bits, second_bits;
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_plain, 72);
#define RQL_CUBE_PLAIN_TESTS 2u

/* cube_owned.comp. In its entries the box's bits are, in a workgroup's first round and at the first tile of a group, how
 * many tiles are the group's, and whether it is the workgroup's last group; else 0. */
#define RQL_CUBE_OWNED_LAST 0x8000u
struct rql_cube_owned_args {
	uint64_t entries; /* rql_cube_entry[groups][rounds][tiles of a workgroup] */
	uint64_t found;
	RQL_STRUCT(rql_cube_plain) plain;
	uint32_t groups, rounds;
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_owned_args, 96);

#define RQL_CUBE_PLAIN_HEAD 128u /* bytes before the sums: the ticket alone */
struct rql_cube_entries_args {
	uint64_t entries;
	uint64_t sums; /* the ticket; from RQL_CUBE_PLAIN_HEAD on uint64_t[copies][stride]; all zero between runs */
	uint64_t found;
	RQL_STRUCT(rql_cube_plain) plain;
	uint32_t count, groups;
	uint32_t words;  /* of all rows: group_count * (slots + 1) */
	uint32_t stride; /* words of a copy */
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_entries_args, 112);

/* cube_intervals.comp. groups: workgroups of this dispatch. Items are worked out from the program, or resolved before:
 * then nothing is loaded through `program`, whose parts are repeated here. */
struct rql_cube_intervals_args {
	uint64_t program;
	RQL_STRUCT(rql_cube_accumulator) accumulator;
	uint64_t queue; /* rql_cube_long_entry[]: intervals that are cut into pieces. Resolved: rql_cube_entry[count] */
	uint64_t groups;
	uint64_t count; /* items */
	uint64_t cells, group_count, slots, boxes, row_template; /* as struct rql_cube_program */
	uint32_t slot_count, row_words;
};
RQL_KERNEL_STRUCT_SIZE(rql_cube_intervals_args, 128);
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
