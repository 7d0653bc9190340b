/* The paper's own form of the rt unit (RTCUDB sections 3.2, 4 and 5), kept as the honest baseline of our
 * own (cube_rt): one triangle a cell, x = the aggregated measures packed, y = the group's number, z = the bijection
 * encoding of the scan attributes; a grid of rays for every query area; any-hit with a flag bit and atomics.
 *
 *   cube_paper.c         what is asked: attributes, columns, which structure covers it; the method
 *   cube_paper_areas.c   code sets become query areas (4.2)
 *   cube_paper_encode.c  cells become coordinates; groups get their numbers (4.3); what does not fit (4.5)
 *   cube_paper_build.c   the structure: arrays and acceleration structures on the device
 *   cube_paper_run.c     the job, and the groups on the way out
 *
 * What the paper leaves open and was chosen here:
 * - A structure belongs to a set of scan attributes, group attributes and measures, as in the paper (3.1); another
 *   query takes it when its own are among them. An attribute is a dimension of the cube, as a code of its dictionary.
 * - Exactly 2^22 values fit an axis, not 2^24 (notes/h200.md). Scan attributes go to z in the order of their selectivity
 *   while they fit; the rest is in device memory and tested in the any-hit shader, as 4.5 has it. One attribute that
 *   does not fit alone is in z by its upper bits and tested besides. Measures take bits of x, least significant bits
 *   going to device memory when there are too many. More than 2^22 groups: y has the upper bits of their number.
 * - Legs: rays of an area are at most a sixteenth of the rows and 2^20; see rql_grid_choose. The paper sets them by hand.
 * - Coordinates are also kept as 12 bytes a row, since not every device lets an any-hit shader fetch them. */
#ifndef RQL_METHOD_CUBE_CUBE_PAPER_H
#define RQL_METHOD_CUBE_CUBE_PAPER_H

#include "geometry/grid.h"
#include "method/cube/cube_query.h"
#include "method/cube/gpu/cube_place.h"
#include "method/cube/paper/cube_paper_kernels.h"

#define RQL_PAPER "paper" /* the placements' kind */
#define RQL_PAPER_ATTRIBUTES 24u
#define RQL_PAPER_MAX_AREAS (UINT64_C(1) << 20)
#define RQL_PAPER_MAX_RAYS UINT64_C(10000000000) /* of a request: seconds even on the fastest devices */
#define RQL_PAPER_MAX_WORDS (UINT64_C(1) << 27)  /* of the result arrays: 1 GiB */

/* WITH (layout = 'paper' | 'paper:split-scan' | 'paper:split-group' | 'paper:operators'), also with ',x=N' and ',y=N'
 * behind it for legs of 2^N. */
enum rql_paper_variant {
	RQL_PAPER_WHOLE,       /* everything encoded, one job */
	RQL_PAPER_SPLIT_SCAN,  /* 6.6: the first scan attribute in z, the others in device memory */
	RQL_PAPER_SPLIT_GROUP, /* 6.6: the first group attribute in y, the others in device memory */
	RQL_PAPER_OPERATORS,   /* 6.5: a Scan job that writes a bit vector; a job over all rows at z = 0 that reads it */
};
struct rql_paper_options {
	enum rql_paper_variant variant;
	uint32_t leg_x, leg_y; /* 0: by rule */
};
/* layout may be NULL; false: not one of the paper's. */
bool rql_paper_options_parse(const char *layout, struct rql_paper_options *out);

/* What a structure can have in x. */
enum rql_paper_source { RQL_PAPER_COUNT, RQL_PAPER_VALID, RQL_PAPER_VALUE, RQL_PAPER_LEAST, RQL_PAPER_GREATEST };
struct rql_paper_column {
	enum rql_paper_source source;
	uint32_t measure;
};

/* What a structure is made for. */
struct rql_paper_spec {
	struct rql_paper_options options;
	uint32_t scan_count, encoded_count; /* the first ones are in z, most significant first; the others are tested */
	uint32_t scan[RQL_PAPER_ATTRIBUTES];
	uint32_t z_shift; /* of the only encoded attribute, which is then tested as well */
	uint32_t group_count;
	uint32_t group[RQL_PAPER_ATTRIBUTES];
	uint32_t column_count;
	struct rql_paper_column column[RQL_PAPER_COLUMNS];
};
/* The attributes that are tested; at most RQL_PAPER_TESTS. */
uint32_t rql_paper_tests(const struct rql_paper_spec *spec, uint32_t tests[RQL_PAPER_TESTS]);
const struct rql_packed *rql_paper_packed(const struct rql_cube *cube, const struct rql_paper_column *column);
/* Distinct values of z, which are [0, size). */
uint32_t rql_paper_z_size(const struct rql_cube *cube, const struct rql_paper_spec *spec);
/* The finest dimension of the digit of `dimension`, which determines it. */
uint32_t rql_paper_finest(const struct rql_cube *cube, uint32_t dimension);
/* Is the attribute, or one that determines it, among these? */
bool rql_paper_has(const struct rql_cube *cube, const uint32_t *attributes, uint32_t count, uint32_t dimension);

/* ---- query areas ---- */
struct rql_paper_interval {
	uint32_t low, high; /* of z; inclusive */
	uint32_t box;
};
struct rql_paper_areas {
	uint64_t count;
	struct rql_paper_interval *intervals;
	uint32_t box_count, test_count;
	uint64_t **sets; /* [box * test_count + test]: codes that pass; NULL: all */
	uint32_t *set_words;
};
/* In arena. RQL_ERROR_UNSUPPORTED: more areas than RQL_PAPER_MAX_AREAS. */
rql_status rql_paper_make_areas(const struct rql_cube *cube, const struct rql_paper_spec *spec,
                                const struct rql_request *request, struct rql_arena *arena, struct rql_paper_areas *out,
                                struct rql_error *err) RQL_MUST_CHECK;
/* How many codes of an attribute the strictest box lets pass; all of them: it is no scan attribute of the request. */
uint32_t rql_paper_passing(const struct rql_cube *cube, const struct rql_request *request, uint32_t dimension);

/* ---- cells to coordinates ---- */
/* Where a column's bits are. */
struct rql_paper_field {
	uint32_t shift, bits;         /* in x */
	uint32_t rest_bits, rest_log; /* in device memory; log2 bytes of an entry */
};
struct rql_paper_groups {
	uint64_t count;           /* of numbers */
	uint32_t y_size, y_shift; /* y = number >> y_shift, or the first attribute's code (split) */
	uint32_t array_count;     /* group arrays */
	uint64_t y_stride, stride[RQL_PAPER_GROUP_ARRAYS];
	uint32_t **codes; /* [group attribute][number]; NULL: the numbers are mixed-radix (split, or none) */
	/* How a tuple's mixed-radix number becomes a group number: ranks in a bitmap, or a search in a sorted list. */
	uint64_t tuple_count;
	uint64_t *tuple_stride; /* [group attribute] */
	uint64_t *bitmap;
	uint32_t *rank; /* of the bitmap's words */
	uint64_t *sorted;
};
struct rql_paper_encoding {
	const struct rql_cube *cube;
	const struct rql_paper_spec *spec;
	uint32_t x_size, z_size;
	struct rql_paper_field field[RQL_PAPER_COLUMNS];
	struct rql_paper_groups groups;
	struct rql_arena *arena; /* of the codes */
	struct rql_pool *pool;   /* may be NULL */
	void *memory;            /* bitmap, rank, sorted: freed by rql_paper_encoding_close */
};
/* Finds the groups and places the measures. */
rql_status rql_paper_encoding_open(struct rql_paper_encoding *e, struct rql_error *err) RQL_MUST_CHECK;
void rql_paper_encoding_close(struct rql_paper_encoding *e);
/* Where the rows of a range are written to; NULL: not wanted. */
struct rql_paper_rows {
	float (*corner)[3];
	uint8_t *rest[RQL_PAPER_COLUMNS];
	uint32_t *test[RQL_PAPER_TESTS];
	uint32_t *group[RQL_PAPER_GROUP_ARRAYS];
};
/* Cells [first, first + count) as rows [0, count), on the pool's threads. */
void rql_paper_encode(const struct rql_paper_encoding *e, const struct rql_grid_axis axes[3], uint64_t first,
                      uint64_t count, const struct rql_paper_rows *out);
void rql_paper_place_fields(const struct rql_cube *cube, const struct rql_paper_spec *spec,
                            struct rql_paper_field field[RQL_PAPER_COLUMNS], uint32_t *x_size);

/* ---- the structure ---- */
struct rql_paper_structure {
	struct rql_placement placement; /* first */
	struct rql_arena *arena;
	struct rql_paper_spec spec;
	uint64_t rows;
	struct rql_grid_axis axis[3]; /* z has no legs */
	struct rql_paper_field field[RQL_PAPER_COLUMNS];
	struct rql_paper_groups groups;
	uint32_t test_count;
	uint64_t part_rows;
	uint32_t part_count;
	struct rql_accel *accel;          /* the whole query's; of the Scan job */
	struct rql_accel *flat;           /* OPERATORS: what follows it */
	struct rql_buffer **corner_parts; /* [part_count] */
	struct rql_buffer *corners;       /* their addresses */
	struct rql_buffer *tables;
	struct rql_buffer *rest[RQL_PAPER_COLUMNS], *test[RQL_PAPER_TESTS], *group[RQL_PAPER_GROUP_ARRAYS];
	uint64_t row_bytes; /* of device memory that a counted row reads, without its corner and tests */
};
/* rql_placement_make; state: const struct rql_paper_spec. */
rql_status rql_paper_build(const struct rql_place *at, struct rql_device *device, void *state,
                           struct rql_placement **out, struct rql_error *err);
/* The group's code of the structure's group attribute i. */
uint32_t rql_paper_group_code(const struct rql_cube *cube, const struct rql_paper_structure *s, uint64_t number,
                              uint32_t i);
/* Rays of one query area of a structure of so many rows. */
uint64_t rql_paper_ray_budget(uint64_t rows);

/* ---- a bound request ---- */
struct rql_paper_prepared {
	struct rql_prepared bound; /* first: cube, arena, slots, outputs, row_words are used */
	struct rql_paper_spec spec;
	char *key;
	struct rql_paper_areas areas;
	struct rql_group_key *groups; /* [bound.group_key_count]; key_of_code is copied */
	uint32_t slot_column[RQL_PAPER_SLOTS], slot_valid[RQL_PAPER_SLOTS]; /* columns of spec, or RQL_PAPER_NO_COLUMN */
	double qualifying, rays, hits;
};
rql_status rql_paper_run(const struct rql_prepared *prepared, struct rql_device *device, const struct rql_run *run,
                         struct rql_port *out, struct rql_error *err);
/* Rows of the structure's groups, in the device's form, become the answer. Both arrays in arena. */
rql_status rql_paper_finish(const struct rql_paper_prepared *p, const struct rql_paper_structure *s, uint64_t *rows,
                            struct rql_arena *arena, struct rql_port *out, struct rql_error *err);

#endif
