/* Joins by the graphics pipeline: hash images as a stack of layers, or as one dense image (README.md; papers/004,
 * section 3). As relation.h has it: a description, a function for temporary memory, one that records. The order of pairs is
 * not determined. */
#ifndef RQL_PRIMITIVE_RASTER_H
#define RQL_PRIMITIVE_RASTER_H

#include "device/draw.h"
#include "primitive/relation/relation.h"

#define RQL_RASTER_ROWS UINT64_C(0x7fffffff) /* of a side, and no more than a count image has pixels */
#define RQL_RASTER_LAYERS 64u

/* A pixel of a stack: a key and a row's position plus 1 (0: nothing there). */
enum rql_raster_layout {
	RQL_RASTER_32, /* two components of 32 bits; with 64-bit keys four (section 7) */
	/* Half the bytes, 32-bit keys only: where a pixel lies says as many bits of a key's hash as the image has places, so that
	 * those that are left and a row share 32 bits. A partition with as many rows as the image has pixels has no stack. */
	RQL_RASTER_16
};

struct rql_raster_side {
	uint64_t count;         /* rows at most */
	struct rql_span found;  /* uint64_t; may be left out: then count rows */
	struct rql_span keys;
};

/* Rows of equal keys match where all of these hold, probe <test> build, of which NULL is none. Where keys are hashes, what is
 * hashed is among them. Fields: as of conditions of relation.h. Texts: EQ, and a field is a text's number plus 1; text i has
 * the bytes from starts[i], uint32_t[texts + 1], to starts[i + 1]. */
#define RQL_RASTER_COMPARISONS 5u
struct rql_raster_compared { /* of a side */
	struct rql_span fields; /* left out: of texts a row has that of its number; else, of the build side, all are 2, TRUE */
	struct rql_span starts, bytes;
	uint64_t texts;
};
struct rql_raster_comparison {
	enum rql_join_test test;
	bool text, real;
	uint32_t bits; /* of a field: 32 or 64; of texts 32 */
	struct rql_raster_compared build, probe;
};

enum { RQL_RASTER_STACK, RQL_RASTER_BUILD_COUNTS, RQL_RASTER_PROBE_COUNTS, RQL_RASTER_MATCHES, RQL_RASTER_DENSE,
       RQL_RASTER_JOIN_IMAGES };

struct rql_raster_join {
	/* INNER, LEFT, FULL: pairs, and of a row without a match UINT32_MAX. SEMI, ANTI: probe rows */
	enum rql_join_kind kind;
	bool single; /* LEFT: as in rql_join */
	enum rql_raster_layout layout;
	uint32_t key_bits; /* 32 or 64 */
	bool has_null_key; /* rows with the key null_key have no match */
	uint64_t null_key;
	/* Which images and how many: rql_raster_join_size fills these in. */
	uint32_t log2_side;      /* of the hash images, in pixels */
	uint32_t layers;         /* of a stack, 1 to RQL_RASTER_LAYERS: the paper's SH_limit */
	uint32_t cycles;         /* stacks that are built and probed one after the other before the rest is flattened; 0: all is */
	uint32_t partition_bits; /* both sides are split into 2^bits partitions before; 0: they are not */
	bool snake;              /* INNER: each partition builds on the side that takes fewer layers */
	struct rql_raster_side build, probe;
	uint32_t comparison_count;
	struct rql_raster_comparison comparisons[RQL_RASTER_COMPARISONS];
	struct rql_image *images[RQL_RASTER_JOIN_IMAGES]; /* as rql_raster_join_images says */
	uint64_t capacity;                                /* pairs, or rows */
	struct rql_span build_rows;                       /* uint32_t[capacity]; not of SEMI and ANTI */
	struct rql_span probe_rows;                       /* uint32_t[capacity] */
	struct rql_span rows;   /* uint64_t: pairs (rows), also those beyond the capacity; single: two of them */
	struct rql_span points;                           /* struct rql_raster_points */
	struct rql_span temp;
};

/* What a run has drawn and done. failed: not 0 where a key came 2^24 times or more, which a counting pixel does not hold;
 * the output is then useless. */
struct rql_raster_points {
	uint64_t build, count, probe, statistics; /* points: vertices times instances */
	uint64_t passes;                          /* draws that had points */
	uint64_t layers;                          /* in use, of all cycles together, in the partition with the most */
	uint64_t partitions;                      /* with rows on both sides */
	uint64_t pauses;                          /* stacks that were full, so that another one followed */
	uint64_t flattened, swapped;              /* partitions with a dense image, and those built on the probe side */
	uint64_t failed;
};

static inline void rql_raster_points_add(struct rql_raster_points *sum, const struct rql_raster_points *more)
{
	sum->build += more->build;
	sum->count += more->count;
	sum->probe += more->probe;
	sum->statistics += more->statistics;
	sum->passes += more->passes;
	sum->layers = more->layers > sum->layers ? more->layers : sum->layers;
	sum->partitions += more->partitions;
	sum->pauses += more->pauses;
	sum->flattened += more->flattened;
	sum->swapped += more->swapped;
	sum->failed |= more->failed;
}

/* Sizes by the rows of the sides: images of up to 4096 x 4096 pixels and partitions that fill them by 3/8 (section 5). All
 * goes into dense images, which takes the fewest points. */
void rql_raster_join_size(struct rql_raster_join *join);
/* The paper's way: the same, but stacks, up to two in a row, of 8 layers, and snake joins. Pixels have half the bytes where a
 * partition's rows fit. */
void rql_raster_join_size_paper(struct rql_raster_join *join);
/* Why pixels of a stack of those sizes are as they are. */
const char *rql_raster_join_pixels(const struct rql_raster_join *join);
/* What a run of those sizes is expected to draw, where both sides have as many rows as they may, and so many values of the
 * key, each as often as another. 0: as many as the side that is built has rows. */
void rql_raster_join_expect(const struct rql_raster_join *join, double values, struct rql_raster_points *out);
/* Why there is no such join on the device; NULL: there is. The images that it takes are those of the sizes. */
const char *rql_raster_join_refusal(const struct rql_raster_join *join, const struct rql_device *device);
/* Are the images there, of these formats, widths and layers, at least as high, and of these roles? */
bool rql_raster_images_fit(struct rql_image *const *images, const struct rql_image_spec *specs, uint32_t count);
/* Those that are not there are NULL, as all are afterwards. */
void rql_raster_images_free(struct rql_image **images, uint32_t count);
/* Specifications for rql_image_new, of width 0 where there is none. Fill all but images, spans and `temp` before. */
void rql_raster_join_images(const struct rql_raster_join *join, struct rql_image_spec specs[RQL_RASTER_JOIN_IMAGES]);
uint64_t rql_raster_join_temp_bytes(const struct rql_raster_join *join);
/* UNSUPPORTED where the device has no unit raster. */
rql_status rql_record_raster_join(struct rql_commands *c, const struct rql_raster_join *join,
                                  struct rql_error *err) RQL_MUST_CHECK;

/* All images of specifications, or none. They count in the device's request_bytes until they are freed. */
rql_status rql_raster_images_new(struct rql_device *device, const struct rql_image_spec *specs, uint32_t count,
                                 const char *what, struct rql_image **out, struct rql_error *err) RQL_MUST_CHECK;
uint64_t rql_raster_images_bytes(const struct rql_image_spec *specs, uint32_t count);
/* Of a pixel that holds a row of a join: of the stack, or of the dense image where there is none. */
static inline uint32_t rql_raster_pixel_bytes(const struct rql_image_spec specs[RQL_RASTER_JOIN_IMAGES])
{
	return rql_pixel_bytes(specs[specs[RQL_RASTER_STACK].width ? RQL_RASTER_STACK : RQL_RASTER_DENSE].format);
}

/* Keys of texts, 64 bits each: a hash, and 0 of NULL, which is to be the join's null_key. */
struct rql_raster_hash {
	uint64_t count;
	struct rql_span starts, bytes, valid; /* valid: a bitmap; may be left out */
	uint64_t mask; /* bits of a hash that are kept: all of them, but where tests want texts to collide */
	struct rql_span keys;
};
rql_status rql_record_raster_hash(struct rql_commands *c, const struct rql_raster_hash *hash,
                                  struct rql_error *err) RQL_MUST_CHECK;

/* Rows' keys of several values: a hash of the key that there is and of a field, which may be a text's number plus 1 and stand
 * for its hash. 0, NULL, where either is 0; no other has 0. */
struct rql_raster_combine {
	uint32_t bits; /* of a field: 32 or 64 */
	struct rql_span keys, fields;
	struct rql_span hashes; /* uint64_t, by fields, the first one's 0; may be left out */
	struct rql_span found;  /* uint64_t: rows, of which no more than `capacity` are there */
	uint64_t capacity;
};
rql_status rql_record_raster_combine(struct rql_commands *c, const struct rql_raster_combine *combine,
                                     struct rql_error *err) RQL_MUST_CHECK;

/* A column of the rows that a list names: 0 where it names UINT32_MAX. */
struct rql_raster_gather {
	uint32_t bits; /* 32 or 64 */
	struct rql_span rows, from, to; /* from left out: the rows' numbers */
	struct rql_span found;          /* uint64_t: rows of the list, of which no more than `capacity` are there */
	uint64_t capacity;
};
rql_status rql_record_raster_gather(struct rql_commands *c, const struct rql_raster_gather *gather,
                                    struct rql_error *err) RQL_MUST_CHECK;

/* ---- a join of relation.h by drawing: its pairs, then its columns by them ---- */
struct rql_raster_relation {
	struct rql_join join;         /* temp: rql_raster_relation_temp_bytes */
	struct rql_raster_join pairs; /* sizes, images, points and temp are the caller's; the rest is filled in */
};
/* Fills in what the join says, and rql_raster_join_size; sizes may be changed afterwards. */
void rql_raster_relation_lay(struct rql_raster_relation *relation, const struct rql_join *join);
uint64_t rql_raster_relation_temp_bytes(const struct rql_raster_relation *relation);
rql_status rql_record_raster_relation(struct rql_commands *c, struct rql_raster_relation *relation,
                                      struct rql_error *err) RQL_MUST_CHECK;

#endif
