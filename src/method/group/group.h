/* What the files of this method share: how a request for groups becomes rows of a key and values, and states of groups. */
#ifndef RQL_METHOD_GROUP_GROUP_H
#define RQL_METHOD_GROUP_GROUP_H

#include "group/groups.h"
#include "method/method.h"
#include "primitive/relation/relation.h"

/* One aggregation over a column of the form: a column of the group-by. */
struct rql_group_state {
	enum rql_group_by_kind kind;
	uint32_t column; /* of the form */
	bool sum, wide, min, max;
	uint64_t sum_at, min_at, max_at; /* bytes of a group before its word, with the room for groups as the factor */
};
/* An aggregate, from states. */
struct rql_group_agg {
	enum rql_agg_kind kind;
	uint32_t value, present; /* states, RQL_NONE: no value; every row counts */
	uint32_t lower;          /* the sum of lower halves, of upper ones (column/form.h) `value`; RQL_NONE: it is whole */
	rql_int128 before;       /* what a field of 0 would stand for */
};
#define RQL_GROUP_STATES RQL_GROUP_BY_COLUMNS
/* Keys that are compared apart, behind the first: columns of the form from 1 on, the most diverse first. */
#define RQL_GROUP_MORE_KEYS 6u
struct rql_group_more_key {
	uint32_t bits;
	uint64_t at; /* bytes of a group before it, as of states */
};
/* A key that is a real: its field is that of all equal ones, and `least` is the rql_real_code of key code 0. */
struct rql_group_real {
	bool is_real;
	uint64_t least;
};
struct rql_group_shape {
	const struct rql_store_snapshot *form; /* owned. Column 0 is the key */
	uint32_t key_bits, state_count;
	/* Keys that make no number together (raster): the form's first columns are theirs, and the answer's key g is the column
	 * column_of_key[g]. NULL: the number is column 0. */
	const uint32_t *column_of_key;
	uint32_t more_count, hashed; /* hashed: of `more`, that choose the pixel beside the first */
	struct rql_group_more_key more[RQL_GROUP_MORE_KEYS];
	double distinct;  /* combinations of keys apart, by their statistics */
	const char *says; /* of these, for EXPLAIN; "": nothing */
	struct rql_group_state states[RQL_GROUP_STATES];
	/* In the arena, as aggs: the codes of keys in the number that they make together, what columns the answer has. A wide key
	 * is the field itself, and its last code NULL. Rows of states lie elsewhere: each state of all groups together. */
	struct rql_groups_layout layout;
	struct rql_group_real *reals; /* as the layout's keys */
	struct rql_group_agg *aggs; /* as the layout's values */
	uint64_t numbers;     /* of groups that are possible */
	uint64_t group_bytes; /* of a group: its key, its rows, its states */
	/* Groups as COLUMNS, in the form `gives`, which is retained by the shape; NULL: GROUPS are wanted. */
	const struct rql_store_snapshot *gives;
	struct rql_group_output *outputs; /* in the arena; number_of_key as well */
	uint64_t table_words;             /* uint32_t: fields of key codes, one table behind the other */
};

/* What a unit's group-bys take. */
struct rql_group_takes {
	bool apart;      /* keys that make no number together may be compared apart */
	uint32_t states; /* RQL_GROUP_STATES at most */
};
/* Fills the shape and *rows, the request for the rows: both
 * in the arena but for the forms, which the caller releases also after an error. RQL_ERROR_UNSUPPORTED: why not. */
rql_status rql_group_bind(const struct rql_request *request, struct rql_group_takes takes, struct rql_arena *arena,
                          struct rql_group_shape *shape, struct rql_request *rows, struct rql_error *err) RQL_MUST_CHECK;

/* ---- groups as columns ---- */
/* group_fields.c. Does the request's output fit the group's states and the form? Copies what it reads. */
rql_status rql_group_bind_outputs(const struct rql_request *request, struct rql_arena *arena,
                                  struct rql_group_shape *shape, struct rql_error *err) RQL_MUST_CHECK;
/* The tables of fields, which the kernels read from `tables`. */
rql_status rql_group_fields_upload(const struct rql_group_shape *shape, struct rql_buffer *tables,
                                   struct rql_error *err) RQL_MUST_CHECK;
struct rql_group_fields {
	struct rql_buffer *groups, *result, *tables /* NULL: there are none */;
	struct rql_buffer *values, *count; /* a port of COLUMNS with room for `room` */
	uint64_t room;                     /* of both: a multiple of RQL_FORM_ROWS */
};
rql_status rql_group_fields_record(const struct rql_group_shape *shape, const struct rql_group_fields *fields,
                                   struct rql_commands *commands, struct rql_error *err) RQL_MUST_CHECK;

/* ---- how one unit groups ---- */
/* How totals are made, where a unit has two ways. */
struct rql_group_way {
	bool limbs; /* raster: blend units add exact limbs; else fragments add by atomics */
	bool few;   /* of limbs: no group is taken to have more rows than one pass adds up exactly. A run tells */
};
/* What a row's columns are added to, without the row's count: by atomics words, by limbs images, in a draw of each part. */
struct rql_group_limbs {
	double atomics;
	double points, targets;
	uint32_t sums;       /* columns that take as many passes as there are times a number of rows */
	double sum_bytes, extreme_bytes; /* of a group's pixels, which columns share */
	bool real_sums; /* there are no limbs of these */
};
void rql_group_limbs_add(struct rql_group_limbs *limbs, enum rql_group_by_kind kind, uint32_t bits, bool sum, bool extremes);
struct rql_group_size {
	const struct rql_device *device;
	double rows, row_bytes, groups;
	uint32_t key_bits;
	uint32_t key_words;           /* raster: of all keys; 0: of this one */
	struct rql_group_way way;     /* raster */
	struct rql_group_limbs limbs; /* raster */
};
/* The shape's further keys as a run has them; `hashed` of them choose the pixel, too. */
struct rql_group_more {
	uint32_t count, hashed;
	struct {
		uint32_t bits;
		struct rql_span keys, keys_out;
	} key[RQL_GROUP_MORE_KEYS];
};
struct rql_group_unit {
	enum rql_unit unit;
	struct rql_group_takes takes;
	bool for_many; /* fewer possible groups than need partitions are another method's */
	/* May be left out; its NULL: nothing. */
	const char *(*refusal)(const struct rql_group_shape *shape, const struct rql_device *device, enum rql_totals wish);
	/* Sets the size's way, where there are several: the one that is wished, or the cheaper one. again: a run that finds more
	 * rows in a group is repeated, so that `few` may be guessed. May be left out. */
	void (*choose)(const struct rql_profile *profile, enum rql_totals wish, bool again, struct rql_group_size *size);
	double (*ns)(const struct rql_profile *profile, const struct rql_group_size *size);
	/* What a context keeps for the group-by, `temp` among it; *own is closed also after an error. */
	rql_status (*open)(struct rql_device *device, struct rql_group_by *by, const struct rql_group_more *more,
	                   const struct rql_group_way *way, void **own, struct rql_error *err);
	void (*close)(void *own); /* NULL: nothing */
	rql_status (*record)(struct rql_commands *c, const struct rql_group_by *by, void *own, struct rql_error *err);
	double (*bytes)(const struct rql_group_size *size);           /* of the device's memory, beside the groups */
	void (*tell)(const void *own, struct rql_drawn *drawn); /* may be left out */
	/* After a run: there were groups with more rows than `few` took them to have. May be left out. */
	bool (*inexact)(const void *own);
};

/* The vtable's functions for any unit. */
enum rql_offer rql_group_offer(const struct rql_request *request, const struct rql_device *device,
                               const struct rql_group_unit *unit, const char **reason);
rql_status rql_group_prepare(const struct rql_request *request, struct rql_device *device, const struct rql_group_unit *unit,
                             struct rql_prepared **out, struct rql_error *err);
void rql_group_price(const struct rql_prepared *p, const struct rql_device *device, struct rql_cost *out);
rql_status rql_group_kernels(const struct rql_prepared *p, rql_see_kernel *see, void *state, struct rql_error *err);
void rql_group_free(struct rql_prepared *p);
uint64_t rql_group_bytes(const struct rql_prepared *p);
const char *rql_group_way_of(const struct rql_prepared *p);

/* What the unit takes for rows that lie on the device. */
double rql_group_compute_ns(const struct rql_profile *profile, const struct rql_group_size *size);
double rql_group_raster_ns(const struct rql_profile *profile, const struct rql_group_size *size);
/* group_totals.c: `choose` of the unit raster, what it takes, and why limbs cannot be; NULL: they can. */
void rql_group_choose_totals(const struct rql_profile *profile, enum rql_totals wish, bool again, struct rql_group_size *size);
const char *rql_group_limbs_refusal(const struct rql_group_limbs *limbs, const struct rql_device *device,
                                    enum rql_totals wish);
const char *rql_group_totals_text(const struct rql_group_way *way); /* for EXPLAIN */
/* Measures point_ns, atomic_ns and blend_ns of the device's profile; not blend_ns where floats are not blended. */
rql_status rql_group_raster_calibrate(struct rql_device *device, bool thorough, struct rql_error *err);
/* group_raster.c: adds what was drawn: what a point reads and writes of keys, pixels, lists, values and groups, and the images
 * cleared. row_bytes: of the values of a row and of what is made of them. */
struct rql_raster_group_points;
struct rql_group_drawn {
	uint32_t key_words;
	uint64_t pixel_bytes, image_bytes, row_bytes;
	double draws; /* of all rows for their totals */
};
void rql_group_tell(const struct rql_raster_group_points *points, const struct rql_group_drawn *of, struct rql_drawn *drawn);

/* The states of `count` groups, as the device left them: `room` of each. */
struct rql_group_found {
	const uint8_t *bytes;
	uint64_t room, count;
};
/* All but what the run took. out->cells_covered: the rows in the groups. */
rql_status rql_group_answer(const struct rql_group_shape *shape, const struct rql_group_found *found,
                            struct rql_pool *pool, struct rql_arena *arena, struct rql_port *out,
                            struct rql_error *err) RQL_MUST_CHECK;

#endif
