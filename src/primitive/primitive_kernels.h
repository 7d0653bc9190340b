/* Arguments of the kernels of this folder, for C and GLSL. Addresses are uint64_t; 0 is "not given". */
#ifndef RQL_PRIMITIVE_KERNELS_H
#define RQL_PRIMITIVE_KERNELS_H

#include "device/kernel_types.h"

#define RQL_THREADS 256u /* of every workgroup here */

/* A workgroup handles tiles_per_group consecutive tiles, one after the other. */
#define RQL_PREFIX_TILE 2048u
struct rql_prefix_args {
	uint64_t in_items, out_items;
	uint64_t sums;  /* uint64_t per workgroup: written by prefix_sums, the start of each in prefix_tiles (0: starts at 0) */
	uint64_t total; /* prefix_tiles: uint64_t */
	uint64_t count, tiles_per_group;
	uint32_t inclusive, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_prefix_args, 56);

#define RQL_COMPACT_TILE 4096u
struct rql_compact_args {
	uint64_t in_items, out_items;
	uint64_t sums, found;
	uint64_t count, tiles_per_group;
};
RQL_KERNEL_STRUCT_SIZE(rql_compact_args, 48);

struct rql_indirect_args {
	uint64_t items, groups;
	uint32_t items_per_group, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_indirect_args, 24);

#define RQL_SORT_DIGITS 256u
struct rql_sort_args {
	uint64_t keys_in, keys_out, values_in, values_out;
	uint64_t histogram; /* [digit][workgroup], uint32_t, or in the scatter uint64_t when wide */
	uint64_t count;
	uint64_t group_items; /* per workgroup: a multiple of the tile */
	uint64_t groups;
	uint32_t shift, bits; /* the digit; bits <= 8 */
	uint32_t wide, stride; /* stride: log2 of the items from one output to the next */
};
RQL_KERNEL_STRUCT_SIZE(rql_sort_args, 80);

/* Six rounds of digits, the last one of 9 bits; then the answer. Temporary memory: uint64_t[RQL_NTH_ROUNDS][2], the digits
 * so far and what n is among the keys that have them (0: there is no n-th key); then uint32_t[RQL_NTH_ROUNDS][RQL_NTH_DIGITS],
 * how many of those have each digit. */
#define RQL_NTH_BITS 11u
#define RQL_NTH_DIGITS 2048u
#define RQL_NTH_ROUNDS 6u
struct rql_nth_args {
	uint64_t keys, found, out_items;
	uint64_t temp;
	uint64_t count, n;
	uint32_t groups, round;
};
RQL_KERNEL_STRUCT_SIZE(rql_nth_args, 56);

#endif
