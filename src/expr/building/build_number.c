/* Arithmetic: bounds decide kind and check. */
#include <string.h>
#include "expr/building/build_internal.h"

static bool is_number(struct rql_type type)
{
	return rql_type_is_integer(type) || type.id == RQL_TYPE_DECIMAL;
}

/* ---- bounds ---- */
/* false: they leave 128 bits. */
static bool bounds_of(char op, struct rql_bounds x, struct rql_bounds y, struct rql_bounds *out)
{
	rql_int128 v[4];
	bool overflow = false;
	if (op == '+') {
		overflow = __builtin_add_overflow(x.low, y.low, &v[0]);
		overflow |= __builtin_add_overflow(x.high, y.high, &v[1]);
		*out = (struct rql_bounds){v[0], v[1]};
	} else if (op == '-') {
		overflow = __builtin_sub_overflow(x.low, y.high, &v[0]);
		overflow |= __builtin_sub_overflow(x.high, y.low, &v[1]);
		*out = (struct rql_bounds){v[0], v[1]};
	} else {
		overflow = __builtin_mul_overflow(x.low, y.low, &v[0]);
		overflow |= __builtin_mul_overflow(x.low, y.high, &v[1]);
		overflow |= __builtin_mul_overflow(x.high, y.low, &v[2]);
		overflow |= __builtin_mul_overflow(x.high, y.high, &v[3]);
		*out = (struct rql_bounds){v[0], v[0]};
		for (unsigned i = 1; i < 4; i++) {
			out->low = v[i] < out->low ? v[i] : out->low;
			out->high = v[i] > out->high ? v[i] : out->high;
		}
	}
	return !overflow;
}

/* ---- + - * ---- */
static enum rql_step_op plain_op(char op)
{
	return op == '+' ? RQL_STEP_ADD : op == '-' ? RQL_STEP_SUB : RQL_STEP_MUL;
}

static enum rql_step_op checked_op(char op)
{
	return op == '+' ? RQL_STEP_ADD_CHECKED : op == '-' ? RQL_STEP_SUB_CHECKED : RQL_STEP_MUL_CHECKED;
}

static rql_value_number unchecked(struct rql_builder *b, char op, rql_value_number x, rql_value_number y,
                                  struct rql_build_value result)
{
	enum rql_lane_kind operands = rql_kind_max(rql_build_at(b, x)->kind, rql_build_at(b, y)->kind);
	enum rql_lane_kind kind = rql_bounds_kind(result.bounds);
	struct rql_step step = {.op = (uint8_t)plain_op(op), .c = RQL_REG_NONE};
	bool widens = op == '*' && kind > operands && kind == operands + 1;
	if (widens)
		step.op = RQL_STEP_MUL_WIDE;
	else
		operands = kind = rql_kind_max(kind, operands);
	step.kind = (uint8_t)operands;
	step.a = rql_build_reg(b, x, operands);
	step.b = rql_build_reg(b, y, operands);
	return rql_build_emit(b, step, kind, result);
}

rql_value_number rql_build_integers(struct rql_builder *b, char op, rql_value_number x, rql_value_number y,
                                    struct rql_type type, enum rql_step_error error)
{
	struct rql_bounds range, bounds;
	if (!rql_build_ok(b, x) || !rql_build_ok(b, y))
		return RQL_VALUE_NONE;
	if (!rql_bounds_of_type(type, &range))
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "arithmetic that gives %s", rql_type_id_name(type.id));
	struct rql_build_value *vx = rql_build_at(b, x), *vy = rql_build_at(b, y);
	bool known = bounds_of(op, vx->bounds, vy->bounds, &bounds);
	struct rql_build_value result = {.type = type, .nullable = vx->nullable || vy->nullable};
	if (known && rql_bounds_inside(bounds, range)) {
		result.bounds = bounds;
		return unchecked(b, op, x, y, result);
	}
	result.bounds = known ? rql_bounds_clip(bounds, range) : range;
	if (result.bounds.low > result.bounds.high) /* every row fails */
		result.bounds = range;
	enum rql_lane_kind kind = rql_kind_max(rql_kind_max(vx->kind, vy->kind), rql_bounds_kind(range));
	kind = rql_kind_max(kind, RQL_LANE_I64);
	struct rql_step step = {.op = (uint8_t)checked_op(op), .kind = (uint8_t)kind, .c = RQL_REG_NONE};
	step.detail = (uint16_t)error;
	step.from = rql_step_pack_from(type);
	step.count = type.id == RQL_TYPE_DECIMAL ? type.width : 0;
	step.imm = rql_build_range(b, range);
	step.a = rql_build_reg(b, x, kind);
	step.b = rql_build_reg(b, y, kind);
	return rql_build_emit(b, step, kind, result);
}

rql_value_number rql_build_check(struct rql_builder *b, rql_value_number x, struct rql_bounds range,
                                 enum rql_step_error error, struct rql_type to)
{
	if (!rql_build_ok(b, x) || rql_bounds_inside(rql_build_at(b, x)->bounds, range))
		return rql_build_ok(b, x) ? x : RQL_VALUE_NONE;
	struct rql_build_value result = *rql_build_at(b, x);
	enum rql_lane_kind kind = result.kind;
	struct rql_bounds bounds = rql_bounds_clip(result.bounds, range);
	if (bounds.low > bounds.high) /* no row passes: a range that no value is in, which fits every kind */
		bounds = (struct rql_bounds){1, 0};
	struct rql_step step = {.op = RQL_STEP_CHECK, .kind = (uint8_t)kind, .b = RQL_REG_NONE, .c = RQL_REG_NONE};
	step.detail = (uint16_t)error;
	step.from = rql_step_pack_from(result.type);
	step.count = rql_step_pack_to(to);
	step.imm = rql_build_range(b, bounds);
	step.a = rql_build_reg(b, x, kind);
	result.bounds = bounds.low > bounds.high ? (struct rql_bounds){0, 0} : bounds;
	result.nullable |= error == RQL_STEP_TRY;
	result.interval = false;
	return rql_build_emit(b, step, kind, result);
}

/* ---- / // % ---- */
/* The least of 128 bits has no negative: the greatest stands for it, and the type's range for the quotient. */
#define INT128_GREATEST ((((rql_int128)1 << 126) - 1) * 2 + 1)
static rql_int128 magnitude(struct rql_bounds x)
{
	rql_int128 low = x.low < -INT128_GREATEST ? INT128_GREATEST : -x.low;
	return low > x.high ? low : x.high;
}

static rql_value_number divide(struct rql_builder *b, bool modulo, rql_value_number x, rql_value_number y,
                               struct rql_type type)
{
	struct rql_bounds range;
	if (!rql_bounds_of_type(type, &range) || !rql_type_equal(rql_builder_type(b, x), type) ||
	    !rql_type_equal(rql_builder_type(b, y), type))
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "a division that gives %s", rql_type_id_name(type.id));
	const struct rql_build_value *vx = rql_build_at(b, x), *vy = rql_build_at(b, y);
	struct rql_build_value result = {.type = type};
	bool zero = vy->bounds.low <= 0 && vy->bounds.high >= 0;
	result.nullable = vx->nullable || vy->nullable || zero;
	rql_int128 most = magnitude(vx->bounds);
	if (modulo && magnitude(vy->bounds) < most)
		most = magnitude(vy->bounds);
	bool negative = vx->bounds.low < 0 || (!modulo && vy->bounds.low < 0);
	bool positive = vx->bounds.high > 0 || (!modulo && vy->bounds.low < 0);
	result.bounds = rql_bounds_clip((struct rql_bounds){negative ? -most : 0, positive ? most : 0}, range);
	if (most == INT128_GREATEST)
		result.bounds = range;
	enum rql_lane_kind kind = rql_kind_max(rql_kind_max(vx->kind, vy->kind), rql_bounds_kind(range));
	kind = rql_kind_max(kind, RQL_LANE_I64);
	struct rql_step step = {.op = modulo ? RQL_STEP_MOD : RQL_STEP_DIV, .kind = (uint8_t)kind, .c = RQL_REG_NONE};
	step.detail = RQL_STEP_OVERFLOW_DIVISION;
	step.from = rql_step_pack_from(type);
	step.imm = rql_build_range(b, range);
	step.a = rql_build_reg(b, x, kind);
	step.b = rql_build_reg(b, y, kind);
	return rql_build_emit(b, step, kind, result);
}

static rql_value_number reals(struct rql_builder *b, const char *op, rql_value_number x, rql_value_number y,
                              struct rql_type type, bool ieee)
{
	enum rql_lane_kind kind = type.id == RQL_TYPE_FLOAT ? RQL_LANE_F32 : RQL_LANE_F64;
	if (!rql_type_equal(rql_builder_type(b, x), type) || !rql_type_equal(rql_builder_type(b, y), type))
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "%s of %s and %s", op,
		                      rql_type_id_name(rql_builder_type(b, x).id), rql_type_id_name(rql_builder_type(b, y).id));
	struct rql_step step = {.kind = (uint8_t)kind, .c = RQL_REG_NONE};
	if (strcmp(op, "//") == 0) {
		step.op = RQL_STEP_DIV; /* not truncated, and NULL at 0, as DuckDB has it */
		step.imm = 1;
	} else if (op[0] == '/' || op[0] == '%') {
		step.op = op[0] == '/' ? RQL_STEP_DIV : RQL_STEP_MOD;
		step.imm = !ieee;
	} else {
		step.op = (uint8_t)plain_op(op[0]);
	}
	struct rql_build_value result = {.type = type};
	result.nullable = rql_build_at(b, x)->nullable || rql_build_at(b, y)->nullable || step.imm;
	step.a = rql_build_reg(b, x, kind);
	step.b = rql_build_reg(b, y, kind);
	return rql_build_emit(b, step, kind, result);
}

/* ---- dates: days plus or minus a number, while nothing is infinite ---- */
static bool finite_days(struct rql_bounds bounds)
{
	return bounds.low > -RQL_DAY_INFINITY && bounds.high < RQL_DAY_INFINITY;
}

static rql_value_number dates(struct rql_builder *b, char op, rql_value_number x, rql_value_number y,
                              struct rql_type type)
{
	rql_type_id tx = rql_builder_type(b, x).id, ty = rql_builder_type(b, y).id;
	bool difference = op == '-' && tx == RQL_TYPE_DATE && ty == RQL_TYPE_DATE && type.id == RQL_TYPE_BIGINT;
	bool shift = type.id == RQL_TYPE_DATE && ((tx == RQL_TYPE_DATE && ty == RQL_TYPE_INTEGER) ||
	                                          (op == '+' && tx == RQL_TYPE_INTEGER && ty == RQL_TYPE_DATE));
	struct rql_bounds bounds, vx = rql_builder_bounds(b, x), vy = rql_builder_bounds(b, y);
	if (!difference && !shift)
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "%c of %s and %s", op, rql_type_id_name(tx),
		                      rql_type_id_name(ty));
	if ((tx == RQL_TYPE_DATE && !finite_days(vx)) || (ty == RQL_TYPE_DATE && !finite_days(vy)) ||
	    !bounds_of(op, vx, vy, &bounds) || (shift && !finite_days(bounds)))
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED,
		                      "arithmetic of dates that may be infinite or leave their range");
	if (difference)
		return rql_build_integers(b, op, x, y, type, RQL_STEP_OVERFLOW_INT);
	struct rql_build_value result = {.type = type, .bounds = bounds};
	result.nullable = rql_build_at(b, x)->nullable || rql_build_at(b, y)->nullable;
	return unchecked(b, op, x, y, result);
}

/* ---- by type ---- */
static rql_value_number decimals(struct rql_builder *b, char op, rql_value_number x, rql_value_number y,
                                 struct rql_type type)
{
	struct rql_type tx = rql_builder_type(b, x), ty = rql_builder_type(b, y);
	bool scales = op == '*' ? tx.scale + ty.scale == type.scale : tx.scale == type.scale && ty.scale == type.scale;
	if (tx.id != RQL_TYPE_DECIMAL || ty.id != RQL_TYPE_DECIMAL || !scales)
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "%c of DECIMALs of other scales than its result", op);
	return rql_build_integers(b, op, x, y, type, RQL_STEP_OVERFLOW_DECIMAL);
}

rql_value_number rql_build_arithmetic(struct rql_builder *b, const char *op, rql_value_number x, rql_value_number y,
                                      struct rql_type type, bool ieee)
{
	if (!rql_build_ok(b, x) || !rql_build_ok(b, y))
		return RQL_VALUE_NONE;
	bool divides = op[0] == '/' || op[0] == '%';
	struct rql_type tx = rql_builder_type(b, x), ty = rql_builder_type(b, y);
	if (rql_type_is_real(type))
		return reals(b, op, x, y, type, ieee);
	if (divides && is_number(type) && strcmp(op, "/") != 0)
		return divide(b, op[0] == '%', x, y, type);
	if (divides)
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "%s that gives %s", op, rql_type_id_name(type.id));
	if (tx.id == RQL_TYPE_DATE || ty.id == RQL_TYPE_DATE)
		return dates(b, op[0], x, y, type);
	if (type.id == RQL_TYPE_DECIMAL)
		return decimals(b, op[0], x, y, type);
	if (!rql_type_is_integer(type) || !rql_type_equal(tx, type) || !rql_type_equal(ty, type))
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "%s of %s and %s", op, rql_type_id_name(tx.id),
		                      rql_type_id_name(ty.id));
	return rql_build_integers(b, op[0], x, y, type, RQL_STEP_OVERFLOW_INT);
}

static rql_value_number unary_real(struct rql_builder *b, enum rql_step_op op, rql_value_number x)
{
	struct rql_build_value result = *rql_build_at(b, x);
	struct rql_step step = {.op = (uint8_t)op, .kind = (uint8_t)result.kind, .b = RQL_REG_NONE, .c = RQL_REG_NONE};
	step.a = rql_build_reg(b, x, result.kind);
	return rql_build_emit(b, step, result.kind, result);
}

/* The type's least value has no negative: an error. */
static rql_value_number invertible(struct rql_builder *b, rql_value_number x, enum rql_step_error error)
{
	struct rql_bounds range;
	struct rql_type type = rql_builder_type(b, x);
	if (!is_number(type) || !rql_type_is_signed(type) || !rql_bounds_of_type(type, &range))
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "the negative of %s", rql_type_id_name(type.id));
	range.low = -range.high;
	return rql_build_check(b, x, range, error, type);
}

rql_value_number rql_build_negate(struct rql_builder *b, rql_value_number x)
{
	if (!rql_build_ok(b, x))
		return RQL_VALUE_NONE;
	struct rql_type type = rql_builder_type(b, x);
	if (rql_type_is_real(type))
		return unary_real(b, RQL_STEP_NEG, x);
	x = invertible(b, x, RQL_STEP_OVERFLOW_NEGATION);
	if (!rql_build_ok(b, x))
		return RQL_VALUE_NONE;
	struct rql_build_value result = *rql_build_at(b, x);
	result.bounds = (struct rql_bounds){-result.bounds.high, -result.bounds.low};
	enum rql_lane_kind kind = rql_kind_max(result.kind, rql_bounds_kind(result.bounds));
	struct rql_step step = {.op = RQL_STEP_NEG, .kind = (uint8_t)kind, .b = RQL_REG_NONE, .c = RQL_REG_NONE};
	step.a = rql_build_reg(b, x, kind);
	return rql_build_emit(b, step, kind, result);
}

rql_value_number rql_build_abs(struct rql_builder *b, rql_value_number x)
{
	if (!rql_build_ok(b, x))
		return RQL_VALUE_NONE;
	struct rql_type type = rql_builder_type(b, x);
	if (rql_type_is_real(type))
		return unary_real(b, RQL_STEP_ABS, x);
	if (is_number(type) && !rql_type_is_signed(type))
		return x;
	x = invertible(b, x, RQL_STEP_OVERFLOW_ABS);
	if (!rql_build_ok(b, x))
		return RQL_VALUE_NONE;
	struct rql_build_value result = *rql_build_at(b, x);
	struct rql_bounds v = result.bounds;
	result.bounds.high = -v.low > v.high ? -v.low : v.high;
	result.bounds.low = v.low > 0 ? v.low : v.high < 0 ? -v.high : 0;
	enum rql_lane_kind kind = rql_kind_max(result.kind, rql_bounds_kind(result.bounds));
	struct rql_step step = {.op = RQL_STEP_ABS, .kind = (uint8_t)kind, .b = RQL_REG_NONE, .c = RQL_REG_NONE};
	step.a = rql_build_reg(b, x, kind);
	return rql_build_emit(b, step, kind, result);
}
