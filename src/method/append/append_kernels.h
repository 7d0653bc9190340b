/* What the kernel of UNION ALL reads, declared once for C (append_compute.c fills it) and GLSL (shaders/). All addresses are
 * of device memory. */
#ifndef RQL_APPEND_KERNELS_H
#define RQL_APPEND_KERNELS_H

#include "device/kernel_types.h"

#define RQL_APPEND_THREADS 256u
#define RQL_APPEND_COLUMNS 64u

/* The rows of one of several inputs go behind those of the inputs before. */
struct rql_append_args {
	uint64_t count;      /* uint64_t: rows of the input, also more than from_room */
	uint64_t from, to;   /* fields, column by column (column/form.h) */
	uint64_t from_room, to_room;
	uint64_t starts;     /* uint64_t[inputs + 1]: where each one's rows begin; the next one's is written */
	uint64_t wide;       /* bit c: fields of column c have 64 bits */
	uint32_t column_count, place;
};
RQL_KERNEL_STRUCT_SIZE(rql_append_args, 64);

#endif
