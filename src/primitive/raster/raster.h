/* Joins by the graphics pipeline: hash images as a stack of layers (README.md; papers/004, section 3). As relation.h has
 * it: a description, a function for temporary memory, one that records. The order of pairs is not determined. */
#ifndef RQL_PRIMITIVE_RASTER_H
#define RQL_PRIMITIVE_RASTER_H

#include "device/draw.h"
#include "primitive/relation.h"

#define RQL_RASTER_ROWS UINT64_C(0x7fffffff) /* of a side, and no more than a count image has pixels */
#define RQL_RASTER_LAYERS 64u

/* A pixel of a hash image: a key and a row's number plus 1 (0: nothing there). */
enum rql_raster_layout {
	RQL_RASTER_32, /* two components of 32 bits; with 64-bit keys four (section 7) */
	RQL_RASTER_16  /* four components of 16 bits, 32-bit keys only (section 5) */
};

/* How probe rows meet the stack. */
enum rql_raster_probe {
	RQL_RASTER_INSTANCES, /* a point for each layer in use, as in the paper (3.2, 3.3) */
	RQL_RASTER_WALK       /* one point, whose shaders walk down the stack to the first empty pixel */
};

struct rql_raster_side {
	uint64_t count;
	struct rql_span keys; /* every key is one: rows whose key is NULL are not among them */
};

struct rql_raster_join {
	enum rql_join_kind kind; /* INNER: pairs. SEMI, ANTI: probe rows, ascending. LEFT is not there */
	enum rql_raster_layout layout;
	enum rql_raster_probe way;
	uint32_t key_bits;  /* 32 or 64 */
	uint32_t log2_side; /* of the hash images, in pixels */
	uint32_t layers;    /* of the stack, 1 to RQL_RASTER_LAYERS */
	struct rql_raster_side build, probe;
	struct rql_image *stack, *counts; /* as rql_raster_join_images says */
	uint64_t capacity;                /* pairs */
	struct rql_span build_rows;       /* uint32_t[capacity]; INNER */
	struct rql_span probe_rows;       /* uint32_t[capacity]; of SEMI and ANTI: [probe.count] */
	/* uint64_t: pairs (rows), also those beyond the capacity. */
	struct rql_span rows;
	/* Build rows that found no place: their keys, their numbers (uint32_t), room for all build rows; and how many,
	 * uint64_t. Pairs with them are missing from the output. Of SEMI and ANTI the output is then useless. */
	struct rql_span rest_keys, rest_rows, rest;
	struct rql_span points; /* struct rql_raster_points */
	struct rql_span temp;
};

/* What a run has drawn, and how high the stack was. */
struct rql_raster_points {
	uint64_t build, count, probe; /* vertices */
	uint64_t layers;              /* in use */
};

/* Is the image there, of this format, width and layers, at least as high, and of these roles? */
bool rql_raster_image_fits(const struct rql_image *image, const struct rql_image_spec *wanted);
/* The two images of a join: specifications for rql_image_new. Fill all but images, spans and `temp` before. */
void rql_raster_join_images(const struct rql_raster_join *join, struct rql_image_spec *stack,
                            struct rql_image_spec *counts);
uint64_t rql_raster_join_temp_bytes(const struct rql_raster_join *join);
/* UNSUPPORTED where the device has no unit raster. */
rql_status rql_record_raster_join(struct rql_commands *c, const struct rql_raster_join *join,
                                  struct rql_error *err) RQL_MUST_CHECK;

#endif
