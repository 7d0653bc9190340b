/* What the kernels of ASOF joins read, declared once for C (nearest_compute.c fills it) and GLSL (shaders/). All addresses are
 * of device memory.
 *
 * PLACES. A key's field and a value's become one number: (key's field - 1) * span + w. Of a value that is the v-th of its
 * `span`, w is v, or span - 1 - v where the greatest value below is wanted. So the nearest row is always the one with the
 * least place from the probe's on, among those of its key. Build rows without key or value have places beyond all of these,
 * evenly spread, so that a sort by ranges of places finds none crowded. */
#ifndef RQL_NEAREST_KERNELS_H
#define RQL_NEAREST_KERNELS_H

#include "device/kernel_types.h"

#define RQL_NEAREST_THREADS 256u

#define RQL_NEAREST_KEY_WIDE 1u
#define RQL_NEAREST_VALUE_WIDE 2u
#define RQL_NEAREST_REAL 4u       /* the value is */
#define RQL_NEAREST_DESCENDING 8u /* the greatest value below is wanted */
#define RQL_NEAREST_STRICT 16u    /* an equal value is no match */
#define RQL_NEAREST_OUT_WIDE 32u  /* places have 64 bits */
#define RQL_NEAREST_LEFT 64u      /* probe rows without a match stay */

struct rql_nearest_places_args {
	uint64_t keys, values; /* fields (column/form.h); keys 0: there is none */
	uint64_t found;        /* uint64_t: rows of the side */
	uint64_t lows_out, highs_out; /* highs 0: of build rows, whose places are `lows` */
	uint64_t nulls;               /* uint64_t, not 0 after a probe row without key or value; 0: nobody asks */
	uint64_t span;
	uint64_t none, none_step, none_count; /* places of rows that have none: none + i * none_step, i < none_count */
	uint32_t room, flags;
};
RQL_KERNEL_STRUCT_SIZE(rql_nearest_places_args, 88);

/* A column of the rows that come out: at a probe row, or at its match. */
struct rql_nearest_column {
	uint64_t from, to;
	uint32_t wide, of_build;
};
RQL_KERNEL_STRUCT_SIZE(rql_nearest_column, 24);

struct rql_nearest_rows_args {
	uint64_t rows;    /* uint32_t: of each probe row its match, or all ones */
	uint64_t found;   /* uint64_t: probe rows */
	uint64_t count;   /* uint64_t: rows that come out; 0 before */
	uint64_t columns; /* rql_nearest_column each */
	uint32_t room, flags, column_count, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_nearest_rows_args, 48);

#endif
