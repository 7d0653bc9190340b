/* What the kernels of a top-N read, declared once for C (materialise_top.c fills it) and GLSL (shaders/). All addresses
 * are of device memory. */
#ifndef RQL_MATERIALISE_KERNELS_H
#define RQL_MATERIALISE_KERNELS_H

#include "device/kernel_types.h"

#define RQL_TOP_THREADS 256u
/* of the first key (materialise_order.c) */
#define RQL_TOP_REAL 1u
#define RQL_TOP_DESCENDING 2u
#define RQL_TOP_NULLS_FIRST 4u

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
};
RQL_KERNEL_STRUCT_SIZE(rql_top_args, 88);

#endif
