/* Group-by by the graphics pipeline (README.md; papers/004, section 4). As raster.h has it: a description, a function
 * for temporary memory, one that records. Groups come in no determined order. */
#ifndef RQL_PRIMITIVE_RASTER_GROUP_BY_H
#define RQL_PRIMITIVE_RASTER_GROUP_BY_H

#include "primitive/raster/raster.h"

#define RQL_RASTER_KEY_WORDS 7u /* of a row: what two attachments hold beside its number (4.2.1) */
#define RQL_RASTER_ROUNDS 24u
#define RQL_RASTER_GROUPS (UINT64_C(1) << 26)
#define RQL_RASTER_EXACT_ROWS 65536u /* of a group: as many limbs of 8 bits add up to 2^24, which a float holds */

#define RQL_RASTER_GROUP_IMAGES 9u
#define RQL_RASTER_COLUMN_BUFFERS 32u

enum rql_raster_totals {
	RQL_RASTER_ATOMICS, /* a point's fragment adds all columns to its group's words */
	RQL_RASTER_BLENDING /* blend units add limbs and take extremes (figure 6c), column by column */
};

struct rql_raster_group_by {
	uint64_t count;        /* rows at most, at most RQL_RASTER_ROWS */
	struct rql_span found; /* uint64_t; may be left out: then count rows */
	/* uint32_t a row each. Rows are of one group when all words are equal; a key of 64 bits is two words, and that a
	 * key is NULL is a word of its own. The first `hashed` of them choose the pixel: the most diverse (4.2.2). */
	struct rql_span keys[RQL_RASTER_KEY_WORDS];
	uint32_t key_words, hashed;
	uint32_t pair_words;     /* bit w: word w and its neighbour lie side by side, so that the next row's is two words on */
	uint32_t partition_bits; /* rows are split by their first word (of a pair by both) before; 0: they are not */
	uint32_t log2_side; /* of the hash image */
	uint32_t rounds;    /* of drawing and assigning, 1 to RQL_RASTER_ROUNDS */
	enum rql_raster_totals totals;
	/* INTEGERS with a sign, FIELDS, PRESENT and REAL_FIELDS, of which BLENDING makes extremes only. */
	uint32_t column_count;
	struct rql_group_by_column columns[RQL_GROUP_BY_COLUMNS]; /* in no more than RQL_RASTER_COLUMN_BUFFERS */
	/* Of BLENDING: no group has more rows than RQL_RASTER_EXACT_ROWS, so that one pass sums all; else one for each
	 * RQL_RASTER_EXACT_ROWS rows. */
	bool few_a_group;
	struct rql_image *images[RQL_RASTER_GROUP_IMAGES]; /* as rql_raster_group_by_images says */
	uint64_t capacity;                                 /* groups, at most RQL_RASTER_GROUPS */
	struct rql_span heads;                             /* uint32_t[capacity]: a row of each group */
	struct rql_span counts;                            /* uint64_t[capacity] */
	struct rql_span groups;                            /* uint64_t: also those beyond the capacity */
	/* Groups whose rows were more than few_a_group promised: their sums are not exact. uint64_t; BLENDING. */
	struct rql_span inexact;
	/* Rows that found no pixel in all rounds, uint32_t, room for all rows. They are in no group. */
	struct rql_span rest;
	struct rql_span points; /* struct rql_raster_group_points */
	struct rql_span temp;
};

struct rql_raster_group_points {
	uint64_t hashed, totals; /* rows drawn in all rounds; and in one pass of totals */
	uint64_t rounds;         /* in use, in the partition with the most */
	uint64_t partitions;     /* with rows */
	uint64_t rest;
};

static inline void rql_raster_group_points_add(struct rql_raster_group_points *sum, const struct rql_raster_group_points *more)
{
	sum->hashed += more->hashed;
	sum->totals += more->totals;
	sum->rounds = more->rounds > sum->rounds ? more->rounds : sum->rounds;
	sum->partitions += more->partitions;
	sum->rest += more->rest;
}

/* log2_side, rounds and partitions for so many groups: images of up to 4096 x 4096 pixels, 4 to 8 for each group. */
void rql_raster_group_by_size(struct rql_raster_group_by *by, uint64_t groups);
/* Why there is none on the device; NULL: there is one. The images that it takes are those of the sizes. */
const char *rql_raster_group_by_refusal(const struct rql_raster_group_by *by, const struct rql_device *device);
/* Specifications for rql_image_new, of width 0 where there is none. Fill all but images, spans and `temp` before; of the
 * columns what is wanted counts as well. */
void rql_raster_group_by_images(const struct rql_raster_group_by *by,
                                struct rql_image_spec specs[RQL_RASTER_GROUP_IMAGES]);
uint64_t rql_raster_group_by_temp_bytes(const struct rql_raster_group_by *by);
/* UNSUPPORTED where the device has no unit raster. */
rql_status rql_record_raster_group_by(struct rql_commands *c, const struct rql_raster_group_by *by,
                                      struct rql_error *err) RQL_MUST_CHECK;

/* ---- a group-by of relation.h by drawing ---- */
/* Keys beside the group-by's own: all are compared, the own one and the first `hashed` of these choose the pixel. */
struct rql_raster_more_keys {
	uint32_t count, hashed; /* of 32 or 64 bits, RQL_RASTER_KEY_WORDS words with the own one */
	struct rql_raster_more_key {
		uint32_t bits;
		struct rql_span keys, keys_out;
	} key[RQL_RASTER_KEY_WORDS];
};
struct rql_raster_groups {
	struct rql_group_by by;            /* temp: rql_raster_groups_temp_bytes */
	struct rql_raster_more_keys more;
	struct rql_raster_group_by drawing; /* images and points are the caller's; the rest is filled in */
};
/* Fills in what the group-by says. Its `guess` gives the sizes. Who then sets few_a_group of the drawing gives it a span for
 * `inexact`, too. more: NULL: there are none. */
void rql_raster_groups_lay(struct rql_raster_groups *groups, const struct rql_group_by *by, enum rql_raster_totals totals,
                           const struct rql_raster_more_keys *more);
uint64_t rql_raster_groups_temp_bytes(const struct rql_raster_groups *groups);
rql_status rql_record_raster_groups(struct rql_commands *c, struct rql_raster_groups *groups,
                                    struct rql_error *err) RQL_MUST_CHECK;

#endif
