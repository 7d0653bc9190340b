/* What the kernels of a top-N and of an order read, declared once for C (materialise_top.c and materialise_sort.c fill
 * it) and GLSL (shaders/). All addresses are of device memory. */
#ifndef RQL_MATERIALISE_KERNELS_H
#define RQL_MATERIALISE_KERNELS_H

#include "device/kernel_types.h"

#define RQL_TOP_THREADS 256u
#define RQL_ORDER_THREADS 256u
/* of a key (materialise_order.c) */
#define RQL_ORDER_REAL 1u
#define RQL_ORDER_DESCENDING 2u
#define RQL_ORDER_NULLS_FIRST 4u
#define RQL_ORDER_MORE 8u /* the word has keys already */

struct rql_top_args {
	uint64_t count; /* uint64_t: rows, also more than `room` */
	uint64_t fields;
	uint64_t words; /* uint64_t[room]: greater is earlier */
	uint64_t bound; /* uint64_t: the least word that is wanted */
	uint64_t list;  /* uint32_t[list_room]: rows that are not behind it */
	uint64_t kept;  /* uint64_t: how many, also more than list_room */
	uint64_t gathered; /* fields of these rows */
	uint64_t null_field;
	uint64_t room;
	uint32_t field_bits, key_bits, flags, list_room;
	uint32_t shift, unused; /* of the key in its word */
};
RQL_KERNEL_STRUCT_SIZE(rql_top_args, 96);

/* A key of every row put into its word, or (without a key) a column's fields in the order of the rows. */
struct rql_order_args {
	uint64_t count;  /* uint64_t: rows that there are */
	uint64_t fields;
	uint64_t rows;   /* uint32_t[room]: in the order so far; 0: as they stand */
	uint64_t to;     /* [room]: words; [most]: fields */
	uint64_t null_field;
	uint64_t room;
	uint64_t first, most; /* of the order, that are gathered */
	uint32_t field_bits, word_bits, flags, shift;
	uint32_t key_bits, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_order_args, 88);

#endif
