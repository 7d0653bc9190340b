/* What the rival scans (rival.h) are told, for C and GLSL. */
#ifndef RQL_BENCH_RIVAL_KERNELS_H
#define RQL_BENCH_RIVAL_KERNELS_H

#include "device/kernel_types.h"

#define RQL_RIVAL_PREDICATES 4
#define RQL_RIVAL_GROUPS 3
#define RQL_RIVAL_MOST_GROUPS 1024u

/* low <= value <= low + span, or value == other. */
struct rql_rival_predicate {
	uint64_t column; /* address */
	uint32_t low, span, other;
	uint32_t bytes; /* of a value: 4, 2 or 1 */
};
RQL_KERNEL_STRUCT_SIZE(rql_rival_predicate, 24);

struct rql_rival_group {
	uint64_t column;
	uint32_t low, stride;
	uint32_t bytes;
	uint32_t unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_rival_group, 24);

/* The sum of a (op 0), a * b (1) or a - b (2). a is a column of int32; b too, or of bytes. */
struct rql_rival_scan {
	RQL_STRUCT(rql_rival_predicate) predicates[RQL_RIVAL_PREDICATES];
	RQL_STRUCT(rql_rival_group) groups[RQL_RIVAL_GROUPS];
	uint64_t a, b;
	uint64_t rows;
	uint64_t sums; /* of u64, one a group, zeroed */
	uint32_t predicate_count, group_count;
	uint32_t operation, b_bytes;
	uint32_t sum_count; /* groups in all; 1: no GROUP BY */
	uint32_t unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_rival_scan, 224);

struct rql_rival_args {
	uint64_t scan; /* address of the struct above */
	uint64_t groups; /* workgroups launched */
};
RQL_KERNEL_STRUCT_SIZE(rql_rival_args, 16);

/* floor.comp */
struct rql_floor_args {
	uint64_t from, to, quads, groups;
};
RQL_KERNEL_STRUCT_SIZE(rql_floor_args, 32);

#endif
