/* What the rival scans (rival.h) are told, for C and GLSL. A query's shape is in specialization constants, so that each
 * query has kernels of its own, as if written by hand: no loop and no array is indexed at run time. Its numbers and the
 * columns' addresses are push constants. */
#ifndef RQL_BENCH_RIVAL_KERNELS_H
#define RQL_BENCH_RIVAL_KERNELS_H

#include "device/kernel_types.h"

#define RQL_RIVAL_TESTS 4
#define RQL_RIVAL_GROUPS 3
#define RQL_RIVAL_MOST_SUMS 1024u

/* What passes, four bits a test in the constant TESTS; 0: there is no such test. */
#define RQL_RIVAL_NO_TEST 0u
#define RQL_RIVAL_RANGE 1u  /* low <= value <= low + span; codes below half of what their bytes can hold */
#define RQL_RIVAL_EITHER 2u /* value == low or value == low + span */

/* Where a row's group is summed (constant PLACE). */
#define RQL_RIVAL_REGISTER 0u /* no GROUP BY: one sum */
#define RQL_RIVAL_SHARED 1u   /* in the workgroup's memory, added to the global sums at its end */
#define RQL_RIVAL_GLOBAL 2u

/* Specialization constants; 0 is the workgroup's size. */
#define RQL_RIVAL_CONSTANT_TESTS 1        /* RQL_RIVAL_RANGE...: four bits a test */
#define RQL_RIVAL_CONSTANT_TEST_BYTES 2   /* of a value: four bits a test */
#define RQL_RIVAL_CONSTANT_GROUP_BYTES 3  /* of a value: four bits a GROUP BY column; 0: there is none */
#define RQL_RIVAL_CONSTANT_OPERATION 4    /* the sum of a (0), a * b (1) or a - b (2); a: int32 */
#define RQL_RIVAL_CONSTANT_B_BYTES 5
#define RQL_RIVAL_CONSTANT_STRIDE_0 6     /* groups between neighbours of the first column; the last's is 1 */
#define RQL_RIVAL_CONSTANT_STRIDE_1 7
#define RQL_RIVAL_CONSTANT_SUMS 8         /* groups in all */
#define RQL_RIVAL_CONSTANT_PLACE 9
#define RQL_RIVAL_CONSTANT_EAGER 10       /* tests whose columns are read without asking whether a row still qualifies */
#define RQL_RIVAL_CONSTANTS 11

struct rql_rival_test {
	uint64_t column; /* address */
	uint32_t low, span;
};
RQL_KERNEL_STRUCT_SIZE(rql_rival_test, 16);

struct rql_rival_args {
	RQL_STRUCT(rql_rival_test) tests[RQL_RIVAL_TESTS];
	uint64_t groups[RQL_RIVAL_GROUPS]; /* addresses of the columns */
	uint64_t a, b;
	uint64_t sums; /* of u64, one a group, zeroed */
	uint64_t rows;
	uint32_t base;       /* taken off the sum of stride * value: the first group is 0 */
	uint32_t workgroups; /* launched */
};
RQL_KERNEL_STRUCT_SIZE(rql_rival_args, 128);

/* floor.comp */
struct rql_floor_args {
	uint64_t from, to, quads, groups;
};
RQL_KERNEL_STRUCT_SIZE(rql_floor_args, 32);

#endif
