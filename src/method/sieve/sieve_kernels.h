/* What a sieve's kernel reads, declared once for C (sieve_compute.c fills it) and GLSL (shaders/). All addresses are of
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
struct rql_sieve_kernel_test {
	uint64_t vectors;
	uint64_t keys; /* uint32_t or uint64_t[blocks][4096] */
	uint64_t spans, ranges;
	uint64_t nulls; /* NULL passes: the vector of all other rows; 0: it does not, or there is none */
	uint32_t span_count, range_count;
	uint32_t lanes; /* of the segment: a vector has so many times RQL_SIEVE_LANE_BYTES */
	uint32_t wide;  /* keys are uint64_t */
	uint64_t least, span; /* range_count 1: it goes from least to least + span */
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_kernel_test, 72);

/* A workgroup's lanes. */
struct rql_sieve_kernel_part {
	uint32_t test;        /* the segment's first */
	uint32_t first, last; /* lanes of the segment: [first, last) */
	uint32_t place;       /* the first one's in the snapshot */
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_kernel_part, 16);

struct rql_sieve_select_args {
	uint64_t tests, parts;
	uint64_t rows; /* the bitmap: uint64_t[blocks of the snapshot][64] */
	uint32_t test_count, part_count;
};
RQL_KERNEL_STRUCT_SIZE(rql_sieve_select_args, 32);

#endif
