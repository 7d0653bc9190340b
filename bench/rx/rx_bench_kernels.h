/* What the kernels that make and check the data of rayql bench rx and thesis are told, for C and GLSL. */
#ifndef RQL_RX_BENCH_KERNELS_H
#define RQL_RX_BENCH_KERNELS_H

#include "device/kernel_types.h"

/* Specialization constant 1: what is done with each of `rows` rows. */
#define RQL_RX_BENCH_KEYS 0   /* keys, values of row r */
#define RQL_RX_BENCH_PROBES 1 /* keys of probes, ends if they are given */
#define RQL_RX_BENCH_CHECK 2  /* results[0]: answers that are wrong, results[1]: probes that have their key */
#define RQL_RX_BENCH_MOVE 3   /* out[places[i]] = keys[i], by `width` bits */
#define RQL_RX_BENCH_FETCH 4  /* out[i] = keys[places[i]], by key bits */
#define RQL_RX_BENCH_SWAP 5   /* rows 2 i and 2 i + 1 change keys and values */
#define RQL_RX_BENCH_ROWS 6   /* out[i] = i + keys, as 32 bits: numbers of rows */

/* A key's number is below 2^log2_distinct where there is such a key; the first `dense` numbers are keys themselves,
 * the others lie anywhere above. */
struct rql_rx_bench_args {
	uint64_t keys, ends, values; /* ends 0: points */
	uint64_t rows_out, sums_out; /* answers; 0: none */
	uint64_t places, out_items, results;
	uint64_t rows;
	uint64_t dense;
	uint32_t log2_build, log2_distinct;
	uint32_t ordered; /* the key of row r has the number r >> duplicates */
	uint32_t miss;    /* probes in a thousand that miss */
	uint32_t width;   /* of ranges; 0: points */
	float zipf;
};
RQL_KERNEL_STRUCT_SIZE(rql_rx_bench_args, 104);

#endif
