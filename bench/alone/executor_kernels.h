/* What the executors of executor_bench.c are told, for C and GLSL. */
#ifndef RQL_BENCH_EXECUTOR_KERNELS_H
#define RQL_BENCH_EXECUTOR_KERNELS_H

#include "device/kernel_types.h"

#define RQL_EXECUTOR_STEPS 32u /* of a program, at most; what the specialised shader is unrolled to */
#define RQL_EXECUTOR_KEPT 16u  /* constants of a program, at most */

/* A step is four words: the operation, its destination, a | b << 16, c. Destinations and operands are places of 32-bit
 * words in the registers; a value of 64 bits has a second word behind it. With registers in shared memory a place
 * with this bit is one of each lane, without it one for all (a constant). */
#define RQL_EXECUTOR_OF_LANE 0x8000u

#define RQL_EXECUTOR_NONE 0
#define RQL_EXECUTOR_ADD 1 /* 32 bits; 64 bits is the next, as of all that follow until the widening ones */
#define RQL_EXECUTOR_ADD64 2
#define RQL_EXECUTOR_SUB 3
#define RQL_EXECUTOR_SUB64 4
#define RQL_EXECUTOR_MUL 5
#define RQL_EXECUTOR_MUL64 6
#define RQL_EXECUTOR_LT 7
#define RQL_EXECUTOR_LT64 8
#define RQL_EXECUTOR_LE 9
#define RQL_EXECUTOR_LE64 10
#define RQL_EXECUTOR_EQ 11
#define RQL_EXECUTOR_EQ64 12
#define RQL_EXECUTOR_CHOOSE 13
#define RQL_EXECUTOR_CHOOSE64 14
#define RQL_EXECUTOR_SUM 15 /* dst: which sum; of a, where b */
#define RQL_EXECUTOR_SUM64 16
#define RQL_EXECUTOR_MUL_WIDE 17
#define RQL_EXECUTOR_WIDEN 18
#define RQL_EXECUTOR_NARROW 19
#define RQL_EXECUTOR_AND 20
#define RQL_EXECUTOR_OR 21
#define RQL_EXECUTOR_NOT 22

struct rql_executor_args {
	uint64_t column0, column1, column2, column3; /* int32, four rows at a time */
	uint64_t steps, constants;                   /* uvec4 a step; int64 a constant */
	uint64_t sums;                               /* two int64 */
	uint64_t quads, groups;
	uint32_t step_count, constant_count;
	uint32_t constants_at, padding; /* their first place in the registers */
};
RQL_KERNEL_STRUCT_SIZE(rql_executor_args, 88);

#endif
