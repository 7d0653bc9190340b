/* Group-by by the graphics pipeline (README.md; papers/004, section 4). As raster.h has it: a description, a function
 * for temporary memory, one that records. Groups come in no determined order. */
#ifndef RQL_PRIMITIVE_RASTER_GROUP_BY_H
#define RQL_PRIMITIVE_RASTER_GROUP_BY_H

#include "primitive/raster/raster.h"

#define RQL_RASTER_KEY_WORDS 7u /* of a row: what two attachments hold beside its number (4.2.1) */
#define RQL_RASTER_ROUNDS 24u
#define RQL_RASTER_GROUPS (UINT64_C(1) << 26)
#define RQL_RASTER_EXACT_ROWS 65536u /* of a group: as many limbs of 8 bits add up to 2^24, which a float holds */

#define RQL_RASTER_GROUP_IMAGES 6u

enum rql_raster_totals {
	RQL_RASTER_ATOMICS, /* a point's fragment adds to its group's words */
	RQL_RASTER_BLENDING /* blend units add limbs and take extremes (figure 6c), of values of 32 bits */
};
/* What is asked of the values; rows are always counted. */
enum { RQL_RASTER_SUM = 1, RQL_RASTER_EXTREMES = 2 };

struct rql_raster_group_by {
	uint64_t count; /* rows, at most RQL_RASTER_ROWS */
	/* uint32_t a row each. Rows are of one group when all words are equal; a key of 64 bits is two words, and that a
	 * key is NULL is a word of its own. The first `hashed` of them choose the pixel: the most diverse (4.2.2). */
	struct rql_span keys[RQL_RASTER_KEY_WORDS];
	uint32_t key_words, hashed;
	uint32_t log2_side; /* of the hash image */
	uint32_t rounds;    /* of drawing and assigning, 1 to RQL_RASTER_ROUNDS */
	enum rql_raster_totals totals;
	unsigned wanted;     /* RQL_RASTER_SUM, RQL_RASTER_EXTREMES */
	uint32_t value_bits; /* 32 or 64, signed */
	struct rql_span values;
	/* Of BLENDING: no group has more rows than RQL_RASTER_EXACT_ROWS, so that one pass sums all; else one for each
	 * RQL_RASTER_EXACT_ROWS rows. */
	bool few_a_group;
	struct rql_image *images[RQL_RASTER_GROUP_IMAGES]; /* as rql_raster_group_by_images says */
	uint64_t capacity;                                 /* groups, at most RQL_RASTER_GROUPS */
	struct rql_span heads;                             /* uint32_t[capacity]: a row of each group */
	struct rql_span counts;                            /* uint64_t[capacity] */
	struct rql_span sums;                              /* two words a group, low first: exact */
	struct rql_span least, greatest;                   /* int64_t[capacity] each */
	struct rql_span groups;                            /* uint64_t: also those beyond the capacity */
	/* Groups whose rows were more than few_a_group promised: their sums are not exact. uint64_t; BLENDING. */
	struct rql_span inexact;
	/* Rows that found no pixel in all rounds, uint32_t, room for all rows. They are in no group. */
	struct rql_span rest;
	/* uint32_t[4 * (rounds + 1)]: at 4 * i the points that round i drew, at 4 * rounds the rows of the rest. */
	struct rql_span drawn;
	struct rql_span temp;
};

/* Specifications for rql_image_new, of width 0 where there is none. Fill all but images, spans and `temp` before. */
void rql_raster_group_by_images(const struct rql_raster_group_by *by,
                                struct rql_image_spec specs[RQL_RASTER_GROUP_IMAGES]);
uint64_t rql_raster_group_by_temp_bytes(const struct rql_raster_group_by *by);
/* UNSUPPORTED where the device has no unit raster. */
rql_status rql_record_raster_group_by(struct rql_commands *c, const struct rql_raster_group_by *by,
                                      struct rql_error *err) RQL_MUST_CHECK;

#endif
