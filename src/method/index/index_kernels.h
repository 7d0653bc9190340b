/* What the kernel of an index reads, declared once for C (index_gpu.c fills it) and GLSL (shaders/). */
#ifndef RQL_INDEX_KERNELS_H
#define RQL_INDEX_KERNELS_H

#include "device/kernel_types.h"

#define RQL_INDEX_THREADS 256u

/* A column of an index, as a digit of a segment's keys (index_key.h), and where the keys that come in have it. */
#define RQL_INDEX_DIGIT_ANY 0u /* they do not: every value of it is looked up */
#define RQL_INDEX_DIGIT_CODE 1u
#define RQL_INDEX_DIGIT_REAL 2u
struct rql_index_digit_args {
	uint64_t span, stride; /* of a number that is field - 1, it is number / stride % span; span 0: all of it */
	uint64_t places;       /* CODE: uint32_t for each of these, the digit plus 1; 0: none. Address 0: it is the digit */
	uint64_t add;          /* ... but for this, modulo 2^64 */
	uint64_t last;         /* the segment's greatest digit: what is beyond is none of it */
	uint32_t shift;        /* bits that the digit does not have */
	uint32_t kind;
};
RQL_KERNEL_STRUCT_SIZE(rql_index_digit_args, 48);

/* index_probes.comp: fields of rows that lie on the device (column/form.h) as probes of a segment. */
struct rql_index_probes_args {
	uint64_t fields;
	uint64_t rows;        /* uint64_t: their number; also more than `room` */
	uint64_t lows, highs; /* [room] each: out */
	uint64_t digits;      /* rql_index_digit_args[digit_count], the highest first */
	uint64_t last;        /* the segment's greatest key */
	uint64_t room;
	uint32_t field_bits, key_bits;
	uint32_t digit_count, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_index_probes_args, 72);

#endif
