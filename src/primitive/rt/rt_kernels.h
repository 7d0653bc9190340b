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
#define RQL_RT_LOCATE 256u /* coarse, in nodes: the bucket of an entry is put out instead of rows */

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

/* ---- coarse, in nodes (cgrx_nodes.h) ----
 * Constants 12: nodes that a bucket may have, 13: log2 of a node's keys. cgrx_nodes.rgen has rql_cgrx_args: its keys are
 * the header, its rows, to locate, those of the entries, its sums the values by row. */
/* The header: words of 64 bits. Addresses: */
#define RQL_NODES_KEYS 0u      /* of the slots of all nodes */
#define RQL_NODES_ROWS 1u      /* uint32_t */
#define RQL_NODES_NEXT 2u      /* uint32_t a node: which one follows in its bucket; RQL_NODES_NONE */
#define RQL_NODES_SIZES 3u     /* uint32_t a bucket: its entries */
#define RQL_NODES_LAST_KEYS 4u /* a bucket: its representative */
#define RQL_NODES_LAST_ROWS 5u /* uint32_t */
/* Numbers: */
#define RQL_NODES_BUCKETS 6u
#define RQL_NODES_USED 7u /* nodes; the first ones are the buckets' own */
#define RQL_NODES_REACH_LOG2 8u /* how far a probe's first ray reaches: no constant, since it changes with a build */
#define RQL_NODES_WORDS 9u
#define RQL_NODES_NONE 0xffffffffu
#define RQL_NODES_CHAIN 16u /* nodes of a bucket, at most */

/* What an update finds: words of 64 bits. */
#define RQL_NODES_WRONG 0u  /* entries to be deleted that are not there, or to be inserted that are */
#define RQL_NODES_LONG 1u   /* buckets that would need more nodes than they may have */
#define RQL_NODES_WANTED 2u /* nodes that are missing */
#define RQL_NODES_STATE_WORDS 3u

/* cgrx_batch.comp: entries in another order. What is 0 is not put out. */
struct rql_cgrx_batch_args {
	uint64_t keys, rows;
	uint64_t places; /* uint32_t: entry i becomes the places[i]-th */
	uint64_t count, deletes; /* the first ones are to be deleted */
	uint64_t keys_out, rows_out;
	uint64_t inserts_out; /* uint32_t: 0 or 1 */
};
RQL_KERNEL_STRUCT_SIZE(rql_cgrx_batch_args, 64);

/* cgrx_nodes_load.comp: ascending entries become buckets. cgrx_nodes_check.comp, _apply and _merge: a batch's entries,
 * ascending by key, then row; of equal ones what is deleted comes first. */
struct rql_cgrx_nodes_args {
	uint64_t nodes; /* the header */
	uint64_t keys, rows, count;
	uint64_t buckets; /* uint32_t an entry */
	uint64_t inserts; /* uint32_t[count + 1]: entries before it that are inserted */
	uint64_t state;
	uint64_t offsets; /* merge: uint32_t a bucket: entries of all buckets before it */
	uint64_t keys_out, rows_out;
	uint32_t log2_bucket, unused;
};
RQL_KERNEL_STRUCT_SIZE(rql_cgrx_nodes_args, 88);

#endif
