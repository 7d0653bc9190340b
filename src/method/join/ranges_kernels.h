/* What the kernels of joins by ranges read, declared once for C (ranges_compute.c fills it) and GLSL (shaders/). All addresses
 * are of device memory.
 *
 * Points are sorted by places as in nearest_kernels.h: of a value that is the v-th of `span` it is v. A row's bounds are then a
 * first and a last place. Its points stand side by side, so that a difference of two prefix sums is what they add up to. */
#ifndef RQL_RANGES_KERNELS_H
#define RQL_RANGES_KERNELS_H

#include "device/kernel_types.h"

#define RQL_RANGES_THREADS 256u

#define RQL_RANGES_WIDE 1u /* fields of bounds have 64 bits */
#define RQL_RANGES_REAL 2u
#define RQL_RANGES_LOW_OPEN 4u /* the bound itself is no match */
#define RQL_RANGES_HIGH_OPEN 8u
#define RQL_RANGES_OUT_WIDE 16u /* places have 64 bits */
#define RQL_RANGES_LEFT 32u     /* rows without a point stay */

struct rql_ranges_bounds_args {
	uint64_t lows, highs; /* fields (column/form.h) of the bounds; 0: there is no such bound */
	uint64_t found;       /* uint64_t: rows of the side */
	uint64_t lows_out, highs_out; /* the last place is below the first one where nothing can match */
	uint64_t span;
	uint32_t room, flags;
};
RQL_KERNEL_STRUCT_SIZE(rql_ranges_bounds_args, 56);

/* A column of the points, in their order as words of 64 bits: 1 for each value, or the value itself, modulo 2^64. */
struct rql_ranges_value {
	uint64_t from, to; /* to: uint64_t[room] */
	uint64_t least;    /* of the column */
	uint32_t wide, sum;
};
RQL_KERNEL_STRUCT_SIZE(rql_ranges_value, 32);

struct rql_ranges_values_args {
	uint64_t rows;   /* uint32_t, each 2^stride words apart: of each sorted point its row; its own number afterwards */
	uint64_t found;  /* uint64_t: points */
	uint64_t values; /* rql_ranges_value each */
	uint32_t room, stride, value_count, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_ranges_values_args, 40);

/* A column of the rows that come out. */
#define RQL_RANGES_FIELD 0u      /* of the row, as it is */
#define RQL_RANGES_PAIRS 1u      /* how many points it has; a row that stays without any, one */
#define RQL_RANGES_VALUES 2u     /* how many values these have, by `values` */
#define RQL_RANGES_SUM 3u        /* what they add up to, by `sums`; NULL without any */
#define RQL_RANGES_OWN_VALUES 4u /* as PAIRS, 0 where the row's own field is NULL */
#define RQL_RANGES_OWN_SUM 5u    /* the row's own value times PAIRS */
struct rql_ranges_column {
	uint64_t from, to;
	uint64_t sums, values; /* prefix sums, uint64_t; values 0: each point has one */
	uint64_t least, from_least;
	uint32_t kind, from_wide, to_wide, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_ranges_column, 64);

struct rql_ranges_rows_args {
	uint64_t firsts, counts; /* uint32_t: of each row its first point, and how many there are */
	uint64_t found;          /* uint64_t: rows of the side */
	uint64_t count;          /* uint64_t: rows that come out; 0 before */
	uint64_t columns;        /* rql_ranges_column each */
	uint32_t room, flags, column_count, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_ranges_rows_args, 56);

#endif
