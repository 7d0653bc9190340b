/* What the kernel of an index reads, declared once for C (index_gpu.c fills it) and GLSL (shaders/). */
#ifndef RQL_INDEX_KERNELS_H
#define RQL_INDEX_KERNELS_H

#include "device/kernel_types.h"

#define RQL_INDEX_THREADS 256u

/* index_probes.comp: fields of rows that lie on the device (column/form.h) as probes of a segment. */
struct rql_index_probes_args {
	uint64_t fields;
	uint64_t rows;        /* uint64_t: their number; also more than `room` */
	uint64_t lows, highs; /* [room] each: out */
	uint64_t add;         /* to a field: its key, modulo 2^64 */
	uint64_t last;        /* the segment's greatest key: what is beyond is none of it */
	uint64_t room;
	uint32_t field_bits, key_bits;
};
RQL_KERNEL_STRUCT_SIZE(rql_index_probes_args, 64);

#endif
