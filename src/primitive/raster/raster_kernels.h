/* Arguments of the shaders of joins by hash images, for C and GLSL. */
#ifndef RQL_RASTER_KERNELS_H
#define RQL_RASTER_KERNELS_H

#include "device/kernel_types.h"

#define RQL_RASTER_THREADS 256u
/* The state of a join in device memory: uint32_t, four a draw. Draw i < layers + 1: {rows for layer i, 1, 0, 0}, of
 * which the last one is the rest; then the draw of the probe rows: {rows, layers in use, 0, 0}. */
struct rql_raster_args {
	uint64_t keys;     /* of the side that is drawn */
	uint64_t list;     /* its rows' numbers; 0: all */
	uint64_t list_out; /* losers' */
	uint64_t state;
	uint64_t starts; /* uint64_t a probe row: where its next pair goes */
	uint64_t build_rows, probe_rows, capacity;
	uint64_t result; /* counts, uint32_t a probe row; the rest's keys; what was drawn */
	uint64_t out_rows, out_count;
	uint32_t rows, image, layer, log2_side;
	uint32_t width, height; /* of the image of counts */
	uint32_t layers, what;
	uint32_t walks, unused; /* walks: one point a probe row */
};
RQL_KERNEL_STRUCT_SIZE(rql_raster_args, 128);

/* what, of raster_losers.comp */
#define RQL_RASTER_DROPS_EQUAL 1u
/* of raster_plan.comp */
#define RQL_RASTER_BEGIN 0u
#define RQL_RASTER_PROBE 1u
/* of raster_counts.comp */
#define RQL_RASTER_COUNTS 0u
#define RQL_RASTER_HAS 1u
#define RQL_RASTER_LACKS 2u

/* Arguments of the shaders of group-bys. Addresses lie in a table of uint64_t. */
#define RQL_RASTER_AT_KEYS 0u /* as many as there are words */
#define RQL_RASTER_AT_VALUES 7u
#define RQL_RASTER_AT_MAP 8u     /* uint32_t a row: the row that stands for its group, or RQL_RASTER_NONE */
#define RQL_RASTER_AT_NUMBERS 9u /* uint32_t a row that stands for a group: the group's number */
#define RQL_RASTER_AT_HEADS 10u
#define RQL_RASTER_AT_COUNTS 11u
#define RQL_RASTER_AT_SUMS 12u
#define RQL_RASTER_AT_LEAST 13u
#define RQL_RASTER_AT_GREATEST 14u
#define RQL_RASTER_AT_GROUPS 15u
#define RQL_RASTER_AT_INEXACT 16u
#define RQL_RASTER_AT_DRAWN 17u
#define RQL_RASTER_TABLE 18u
#define RQL_RASTER_NONE 0xffffffffu
struct rql_raster_group_args {
	uint64_t table;
	uint64_t list, list_out; /* of rows that are left; list 0: all */
	uint64_t capacity;
	uint32_t key_words, hashed, log2_side, round;
	uint32_t images[6]; /* hash images; then those of totals */
	uint32_t first_row, rows;
	uint32_t width, height; /* of the images of totals */
	uint32_t wanted, value_bits, part, exact_rows;
};
RQL_KERNEL_STRUCT_SIZE(rql_raster_group_args, 104);
/* part, of extremes */
#define RQL_RASTER_HIGH 0u
#define RQL_RASTER_LOW 1u

#endif
