/* What the files of this method share: how a request for groups becomes rows of a key and values, and states of groups. */
#ifndef RQL_METHOD_GROUP_GROUP_H
#define RQL_METHOD_GROUP_GROUP_H

#include "method/method.h"
#include "primitive/relation.h"

/* One aggregation over a column of the form: a column of the group-by. */
struct rql_group_state {
	enum rql_group_by_kind kind;
	uint32_t column; /* of the form */
	bool sum, wide, min, max;
	uint64_t sum_at, min_at, max_at; /* bytes of a group before its word, with the room for groups as the factor */
};
/* A group key: its code in the number that the keys make together. */
struct rql_group_part {
	uint64_t stride, count;
	bool wide;
	uint64_t null_code; /* of a wide key, which is the field itself */
};
/* An aggregate, from states. */
struct rql_group_agg {
	enum rql_agg_kind kind;
	enum rql_measure_kind measure;
	uint32_t value, present; /* states, RQL_NONE: no value; every row counts */
	rql_int128 before;       /* what a field of 0 would stand for */
};
#define RQL_GROUP_STATES RQL_RELATION_COLUMNS
struct rql_group_shape {
	const struct rql_store_snapshot *form; /* owned. Column 0 is the key */
	uint32_t key_bits, state_count, part_count, agg_count;
	struct rql_group_state states[RQL_GROUP_STATES];
	struct rql_group_part *parts; /* in the arena, as aggs */
	struct rql_group_agg *aggs;
	uint64_t numbers;     /* of groups that are possible */
	uint64_t group_bytes; /* of a group: its key, its rows, its states */
	/* Groups as COLUMNS, in the form `gives`, which is retained by the shape; NULL: GROUPS are wanted. */
	const struct rql_store_snapshot *gives;
	struct rql_group_output *outputs; /* in the arena; number_of_key as well */
	uint64_t table_words;             /* uint32_t: fields of key codes, one table behind the other */
};

/* Fills the shape and *rows, the request for the rows: both in the arena but for the forms, which the caller releases also
 * after an error. RQL_ERROR_UNSUPPORTED: why not. */
rql_status rql_group_bind(const struct rql_request *request, struct rql_arena *arena, struct rql_group_shape *shape,
                          struct rql_request *rows, struct rql_error *err) RQL_MUST_CHECK;

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
rql_status rql_group_fields_kernel(rql_see_kernel *see, void *state, struct rql_error *err) RQL_MUST_CHECK;

/* ---- groups for the host ---- */
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
