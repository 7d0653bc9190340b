/* What the kernels that make and check the data of rayql bench device are told, for C and GLSL. */
#ifndef RQL_RELATION_BENCH_KERNELS_H
#define RQL_RELATION_BENCH_KERNELS_H

#include "device/kernel_types.h"

/* Specialization constant 1: what is done with each of `rows` rows. */
#define RQL_BENCH_MAKE_BUILD 0  /* keys, payloads of row r; key number: a permutation of rows modulo `distinct` */
#define RQL_BENCH_MAKE_PROBE 1  /* keys, payloads; key number drawn of `range` */
#define RQL_BENCH_JOIN_SUM 2    /* results[0]: rows that the join must have, [1]: the sum of their mixes */
#define RQL_BENCH_JOIN_CHECK 3  /* results[2]: rows that are wrong, [3]: the sum of the mixes of those put out */
#define RQL_BENCH_MAKE_GROUPS 4 /* keys, values; key number drawn of `range` */
#define RQL_BENCH_GROUP_SUM 5   /* by plain atomics: column[0..3] of reference words a group: rows, sum, least, greatest */
#define RQL_BENCH_GROUP_CHECK 6 /* results[2]: groups that are wrong; rows of the reference are taken away */
#define RQL_BENCH_COUNT_GROUPS 7 /* results[0]: groups that have rows */
#define RQL_BENCH_PART_CHECK 8  /* results[2]: rows in the wrong partition, [3]: sum of mixes of rows */
#define RQL_BENCH_PART_SUM 9    /* results[1]: what it must be */
#define RQL_BENCH_PAIR_CHECK 10 /* as JOIN_CHECK, of pairs: column[0] build rows, column[2] probe rows */
#define RQL_BENCH_MAKE_ENDS 11  /* keys_to: the ends of ranges of `part` integers that begin at keys */
#define RQL_BENCH_LOOKUP_CHECK 12 /* results[2]: probes whose row (column_to[0]) or sum (column_to[1]) is wrong */
#define RQL_BENCH_SCATTER 13 /* column_to[0] at column[1] of row r becomes column[0] of it */
#define RQL_BENCH_PAIR_MIX 14 /* as PAIR_CHECK, of any keys: `keys` of the probe side, keys_to of the build side; rows of both are
                              * column_to[1] and [0]. The mix is RQL_BENCH_MIX_A's */
#define RQL_BENCH_GROUP_MIX 15 /* results[2]: groups out of bounds, [3]: the sum of mixes of keys and aggregates of those put out.
                              * keys: words of rows, `part` of them; column_to: further words; keys_to, column[0], [1], flags: as GROUP_CHECK's */
#define RQL_BENCH_GATHER 16 /* column_to[0] of row r becomes column[0] at column[1] of it */
#define RQL_BENCH_SORT_CHECK 17 /* results[2]: rows that are wrong: keys, keys_to in their order with rows column[0], of
                               * which column_to, where there are any, have the payloads of `keys`' side */

#define RQL_BENCH_WIDE_SUMS 1u /* of GROUP_CHECK: two words a group */
#define RQL_BENCH_HEADS 2u     /* of GROUP_CHECK: keys_to holds rows of keys */
#define RQL_BENCH_WIDE_KEYS 4u /* of look-ups, sorts, and of the groups put out: keys have 64 bits */
#define RQL_BENCH_PAYLOADS 8u  /* of PAIR_CHECK: columns hold payloads of rows */
#define RQL_BENCH_PAIRED 16u   /* of PART_CHECK: keys and payloads lie side by side */
#define RQL_BENCH_ZIPF_BUILD 32u /* of joins: build rows' keys are skewed, Zipf 0.5; 2^log2_distinct as many as rows */

/* A mix of two words of 32 bits that SQL can make as well: x = low(a * A) ^ low(b * B), bits 11 to 42 of (x ^ x >> 15) * C.
 * Products have 63 bits. */
#define RQL_BENCH_MIX_A 1103515245
#define RQL_BENCH_MIX_B 1540483477
#define RQL_BENCH_MIX_C 1812433253
/* How keys lie. The last two are for look-ups whose probes all have their key. */
#define RQL_BENCH_SPARSE 0u      /* a one-to-one mix of their numbers */
#define RQL_BENCH_DENSE 1u       /* their numbers */
#define RQL_BENCH_CLUSTERED 2u   /* of 32 bits: runs of sqrt(n) numbers, or half as many, which lie anywhere */
#define RQL_BENCH_EXPONENTIAL 3u /* of 64 bits: as many from each 2^i to 2^(i + 1), for i from 32 on */
#define RQL_BENCH_LOG2_OCTAVES 5u

struct rql_relation_bench_args {
	uint64_t keys, keys_to;  /* keys_to: the other side's, or of the output */
	uint64_t column[4];      /* 0: there is none */
	uint64_t column_to[4];
	uint64_t results;
	uint64_t rows;
	uint32_t log2_rows, log2_build; /* of the build side: rows */
	uint32_t log2_distinct, log2_range;
	uint32_t zipf; /* of numbers that are drawn, twice the exponent: 0 (uniform), 1 or 2 */
	uint32_t part;
	uint32_t spread, flags; /* of the keys' numbers, below; flags: RQL_BENCH_WIDE_SUMS and below */
};
RQL_KERNEL_STRUCT_SIZE(rql_relation_bench_args, 128);

#endif
