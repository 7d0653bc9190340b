/* Making programs: values are numbers, every function gives a new one, types are checked, equal steps are made once,
 * bounds of integers are carried along, so that + - * are checked only where they could overflow, in the narrowest kind
 * that holds the result. Names follow SQL; operand types are those of a bound DuckDB plan, where casts are explicit.
 *
 * Every function gives RQL_VALUE_NONE after a failure and is then a no-op, so that one check at the end is enough. A
 * failure is RQL_ERROR_UNSUPPORTED with the reason (a type or an operation that programs do not have), RQL_ERROR_MEMORY
 * or RQL_ERROR_LIMIT (too many steps). */
#ifndef RQL_EXPR_BUILD_H
#define RQL_EXPR_BUILD_H

#include "expr/expr.h"

typedef uint32_t rql_value_number;
#define RQL_VALUE_NONE UINT32_MAX

struct rql_builder;

/* The builder and its program live in arena. NULL: out of memory. */
struct rql_builder *rql_builder_new(struct rql_arena *arena);
/* From now on a DECIMAL that is cast to a real becomes the nearest one, as in DuckDB 2, whatever its digits. */
void rql_builder_cast_to_nearest(struct rql_builder *b);
/* What went wrong so far, with its reason; RQL_OK: nothing. */
rql_status rql_builder_status(const struct rql_builder *b, struct rql_error *err);
/* Fails the builder as RQL_ERROR_UNSUPPORTED, for what the caller cannot express. */
rql_value_number rql_builder_refuse(struct rql_builder *b, const char *fmt, ...) RQL_PRINTF(2, 3);
/* The program with these results in this order; the builder is used up. The program passes rql_program_verify. */
rql_status rql_builder_finish(struct rql_builder *b, const rql_value_number *results, uint32_t count,
                              struct rql_program **out, struct rql_error *err) RQL_MUST_CHECK;

struct rql_type rql_builder_type(const struct rql_builder *b, rql_value_number v);
struct rql_bounds rql_builder_bounds(const struct rql_builder *b, rql_value_number v); /* integer kinds */
enum rql_lane_kind rql_builder_kind(const struct rql_builder *b, rql_value_number v);

/* How a column comes in. kind: what the caller will hand over, wide enough for bounds. bounds: of all valid values, for
 * integer kinds; {1, 0} (empty): not known, those of the type. Equal columns are one input. */
struct rql_input_spec {
	uint32_t column;
	struct rql_type type;
	enum rql_lane_kind kind;
	struct rql_bounds bounds;
	bool nullable;
};
rql_value_number rql_build_input(struct rql_builder *b, const struct rql_input_spec *spec);
/* The kind that holds every value of the type (of bounds, when these are not empty). false: no program takes it. */
bool rql_lane_kind_of(struct rql_type type, struct rql_bounds bounds, enum rql_lane_kind *out);
bool rql_bounds_of_type(struct rql_type type, struct rql_bounds *out); /* false: not an integer inside */

rql_value_number rql_build_constant(struct rql_builder *b, const struct rql_value *value);
/* values: one row a code, of `type`; a is a code (I32). lasts: values live as long as the program, which may read them where
 * they lie; else they are copied into the arena. */
rql_value_number rql_build_lookup(struct rql_builder *b, rql_value_number a, const struct rql_column *values,
                                  uint32_t count, bool lasts);

/* op: + - * / // % as DuckDB has them for `type`, the type of the result. ieee: DuckDB's ieee_floating_point_ops (its
 * default is true): x / 0 of reals is infinite or NaN; false: NULL. */
rql_value_number rql_build_arithmetic(struct rql_builder *b, const char *op, rql_value_number x, rql_value_number y,
                                      struct rql_type type, bool ieee);
rql_value_number rql_build_negate(struct rql_builder *b, rql_value_number x);
rql_value_number rql_build_abs(struct rql_builder *b, rql_value_number x);
rql_value_number rql_build_cast(struct rql_builder *b, rql_value_number x, struct rql_type type, bool try_cast);
/* op: RQL_STEP_EQ..RQL_STEP_DIFFERENT; operands of one type. */
rql_value_number rql_build_compare(struct rql_builder *b, enum rql_step_op op, rql_value_number x, rql_value_number y);
/* x among constants; entries that are NULL make a miss NULL. */
rql_value_number rql_build_in(struct rql_builder *b, rql_value_number x, const struct rql_value *list, uint32_t count);
rql_value_number rql_build_not(struct rql_builder *b, rql_value_number x);
rql_value_number rql_build_is_null(struct rql_builder *b, rql_value_number x, bool negated);
rql_value_number rql_build_date_part(struct rql_builder *b, enum rql_date_part part, rql_value_number x,
                                     struct rql_type type);
/* date_trunc; type: of the result (TIMESTAMP or DATE). */
rql_value_number rql_build_date_trunc(struct rql_builder *b, enum rql_date_part part, rql_value_number x,
                                      struct rql_type type);

/* Logic. The operands must be built in between, under the mask that push sets (expr.h: which rows may raise errors):
 *   AND:  x = first; loop { push(NOT_FALSE, x); y = next; pop; x = and(x, y) }
 *   OR:   the same with NOT_TRUE and or
 *   CASE: for each WHEN { c = condition; push(TRUE, c); v = THEN; pop; push(NOT_TRUE, c) } e = ELSE; one pop each, folding
 *         e = choose(c, v, e) from the last to the first */
enum rql_mask_op { RQL_MASK_TRUE, RQL_MASK_NOT_TRUE, RQL_MASK_NOT_FALSE, RQL_MASK_NULL };
void rql_build_push(struct rql_builder *b, enum rql_mask_op op, rql_value_number x);
void rql_build_pop(struct rql_builder *b);
rql_value_number rql_build_and(struct rql_builder *b, rql_value_number x, rql_value_number y);
rql_value_number rql_build_or(struct rql_builder *b, rql_value_number x, rql_value_number y);
/* when true x, else y: values of one type. */
rql_value_number rql_build_choose(struct rql_builder *b, rql_value_number when, rql_value_number x, rql_value_number y);
/* x where it is not NULL, else y. */
rql_value_number rql_build_coalesce(struct rql_builder *b, rql_value_number x, rql_value_number y);

#endif
