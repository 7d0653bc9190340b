/* The builder's insides, shared by build*.c. */
#ifndef RQL_EXPR_BUILD_INTERNAL_H
#define RQL_EXPR_BUILD_INTERNAL_H

#include "expr/building/build.h"
#include "expr/expr_internal.h"

#define RQL_BUILD_MAX_DEPTH 256u

struct rql_build_value {
	struct rql_type type;
	enum rql_lane_kind kind; /* of constants: the narrowest */
	uint16_t reg;            /* of a step or an input; constants have none until they are used */
	bool constant, null;     /* null: a constant NULL */
	bool nullable;
	union rql_constant value;
	struct rql_bounds bounds; /* integer kinds */
	/* A comparison of register `of` with constants: true exactly for within.low <= of <= within.high. */
	bool interval;
	uint16_t of;
	struct rql_bounds within;
};

struct rql_builder {
	struct rql_arena *arena;
	rql_status status;
	const char *reason;
	struct rql_build_value *values;
	uint32_t value_count, value_capacity;
	struct rql_step *steps;
	uint32_t step_count, step_capacity;
	struct rql_reg *regs;
	uint32_t *definitions; /* step that writes the register; UINT32_MAX: none */
	uint32_t reg_count, reg_capacity;
	union rql_constant *constants;
	uint32_t constant_count, constant_capacity;
	struct rql_program_input *inputs;
	uint32_t input_count, input_capacity;
	struct rql_program_table *tables;
	uint32_t table_count, table_capacity;
	uint16_t masks[RQL_BUILD_MAX_DEPTH];
	uint32_t depth;
	bool nearest;
};

/* Records the first failure. Gives RQL_VALUE_NONE. */
rql_value_number rql_build_fail(struct rql_builder *b, rql_status status, const char *fmt, ...) RQL_PRINTF(3, 4);
/* false after a failure, or when v is no value. */
bool rql_build_ok(struct rql_builder *b, rql_value_number v);
struct rql_build_value *rql_build_at(struct rql_builder *b, rql_value_number v);
rql_value_number rql_build_add_value(struct rql_builder *b, const struct rql_build_value *value);
/* Position of these constants side by side. */
uint32_t rql_build_constants(struct rql_builder *b, const union rql_constant *values, uint32_t count);
uint32_t rql_build_range(struct rql_builder *b, struct rql_bounds range);
/* A register with v as kind: converted, or the constant's. */
uint16_t rql_build_reg(struct rql_builder *b, rql_value_number v, enum rql_lane_kind kind);
/* The step under the present mask, or an equal one that exists; result describes the value (its reg is set here). */
rql_value_number rql_build_emit(struct rql_builder *b, struct rql_step step, enum rql_lane_kind dst,
                                struct rql_build_value result);
rql_value_number rql_build_integer(struct rql_builder *b, rql_int128 v, struct rql_type type);
rql_value_number rql_build_real(struct rql_builder *b, double v, struct rql_type type);
/* x + y etc. of integers as numbers, the result of `type`; checked when it may leave that type's range. */
rql_value_number rql_build_integers(struct rql_builder *b, char op, rql_value_number x, rql_value_number y,
                                    struct rql_type type, enum rql_step_error error);
/* x, an error unless it lies in range. */
rql_value_number rql_build_check(struct rql_builder *b, rql_value_number x, struct rql_bounds range,
                                 enum rql_step_error error, struct rql_type to);
/* x with another type and the same register. */
rql_value_number rql_build_retype(struct rql_builder *b, rql_value_number x, struct rql_type type);

enum rql_lane_kind rql_bounds_kind(struct rql_bounds bounds); /* the narrowest */
bool rql_bounds_inside(struct rql_bounds inner, struct rql_bounds outer);
struct rql_bounds rql_bounds_clip(struct rql_bounds bounds, struct rql_bounds to);
rql_int128 rql_power_of_ten(unsigned exponent); /* <= 38 */

static inline enum rql_lane_kind rql_kind_max(enum rql_lane_kind a, enum rql_lane_kind b)
{
	return a > b ? a : b; /* I32 < I64 < I128 */
}

static inline bool rql_kind_is_integer(enum rql_lane_kind kind)
{
	return kind == RQL_LANE_I32 || kind == RQL_LANE_I64 || kind == RQL_LANE_I128;
}

static inline bool rql_kind_is_real(enum rql_lane_kind kind)
{
	return kind == RQL_LANE_F32 || kind == RQL_LANE_F64;
}

#endif
