/* Arguments of the shaders of look-ups by rays, for C and GLSL. Addresses are uint64_t; 0 is "not given".
 *
 * Specialization constants of all of them: 1 to 7 are a key space (geometry/key.h): bits and shift of x, y, z, stride.
 * 8: the kind of primitives (rx.h). Tracing shaders also have 9: the form of the rays (key.h), 10: flags below,
 * 11: log2 of the primitives of a part, 12: a range's rays at most, and of coarse
 * structures 13: log2 of a bucket's keys, 14: the probes of a run, 15: bits that the scene does not have, 16: log2 of how
 * far a probe's first ray reaches. */
#ifndef RQL_RT_KERNELS_H
#define RQL_RT_KERNELS_H

#include "device/kernel_types.h"

#define RQL_RT_THREADS 256u
#define RQL_RT_CONSTANTS 17u

/* Flags of a look-up. */
#define RQL_RT_FIRST 1u  /* one hit is enough, the closest one along x */
#define RQL_RT_LIST 2u   /* hits are listed, else their values summed */
#define RQL_RT_WIDE 4u   /* values have 64 bits */
#define RQL_RT_SIGNED 8u /* 32-bit values are extended by their sign */
#define RQL_RT_TALLY 16u /* rays and hits are counted */
#define RQL_RT_LINES 32u /* coarse: without markers; a range's lines are tried one after another */
#define RQL_RT_PREFIX 64u /* coarse: prefix sums */
#define RQL_RT_BITS 128u  /* rows that are found set their bits; nothing else is put out */

/* A state: words of 64 bits. */
#define RQL_RT_REFUSED 0u  /* probes that would have needed too many rays */
#define RQL_RT_RAYS 1u     /* with RQL_RT_TALLY */
#define RQL_RT_HITS 2u     /* with RQL_RT_TALLY: shaders of hits that were called */
#define RQL_RT_CAPACITY 3u /* of a list; of a coarse structure its keys */
#define RQL_RT_OUTSIDE 4u  /* keys beyond their bounds, of a build */
#define RQL_RT_STATE_WORDS 5u

/* rx_fill.comp: keys [first, first + count) become primitives. */
struct rql_rx_fill_args {
	uint64_t keys, out_items, state;
	uint64_t base, last; /* base is taken off the keys; what is left is at most last */
	uint64_t first, count;
};
RQL_KERNEL_STRUCT_SIZE(rql_rx_fill_args, 56);

/* rx.rgen and what it calls. */
struct rql_rx_args {
	uint64_t first_ray, accel;
	uint64_t lows, highs; /* highs 0: points */
	uint64_t places;      /* uint32_t: whose answer a probe is; highs are found there, too */
	uint64_t probes;
	uint64_t base, last;  /* the least key, and how far the greatest lies above it */
	uint64_t values;
	uint64_t prim_rows;   /* uint32_t: rows of primitives; 0: their numbers */
	uint64_t prim_keys;   /* of boxes */
	uint64_t rows_out, counts_out;
	uint64_t wide_out;    /* sums; of a list its rows; bits */
	uint64_t offsets;     /* of a list: uint64_t a probe, by its place */
	uint64_t state;
};
RQL_KERNEL_STRUCT_SIZE(rql_rx_args, 128);

/* ---- coarse (cgrx.h) ---- */
/* cgrx_plan.comp: what each bucket adds to the two lists of primitives; then, `writing`, the lists themselves. */
struct rql_cgrx_plan_args {
	uint64_t keys, count, buckets;
	uint64_t base;
	uint64_t counts[2];     /* uint32_t a bucket: representatives, markers; then where they begin */
	uint64_t points;        /* int32_t[3] a primitive */
	uint64_t buckets_of;    /* uint32_t a primitive */
	uint64_t first_marker;  /* the number of its primitive */
	uint32_t log2_bucket, writing;
};
RQL_KERNEL_STRUCT_SIZE(rql_cgrx_plan_args, 80);

/* cgrx_fill.comp */
struct rql_cgrx_fill_args {
	uint64_t points, out_items;
	uint64_t first, count;
};
RQL_KERNEL_STRUCT_SIZE(rql_cgrx_fill_args, 32);

/* cgrx.rgen. The state's RQL_RT_CAPACITY is the number of keys. */
struct rql_cgrx_args {
	uint64_t first_ray, accel;
	uint64_t lows, highs, places, probes; /* as above */
	uint64_t base, last;
	uint64_t keys, rows; /* ascending keys */
	uint64_t sums;       /* uint64_t[count + 1]: prefix sums (RQL_RT_PREFIX); else values by row */
	uint64_t buckets_of; /* uint32_t a part: where in this list its primitives' are; then uint32_t a primitive */
	uint64_t rows_out, counts_out, sums_out; /* rows_out: or bits */
	uint64_t state;
};
RQL_KERNEL_STRUCT_SIZE(rql_cgrx_args, 128);

#endif
