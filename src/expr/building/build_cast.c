/* Casts: a check of the range where bounds do not prove it, a scale, a conversion. */
#include "expr/building/build_internal.h"

struct cast {
	struct rql_type from, to;
	bool try;
};

static enum rql_step_error error_of(const struct cast *c, enum rql_step_error error)
{
	return c->try ? RQL_STEP_TRY : error;
}

static rql_value_number unsupported(struct rql_builder *b, const struct cast *c)
{
	return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "a cast from %s to %s", rql_type_id_name(c->from.id),
	                      rql_type_id_name(c->to.id));
}

static rql_value_number converted(struct rql_builder *b, rql_value_number x, enum rql_lane_kind kind,
                                  struct rql_type type, enum rql_step_error error, struct rql_type from)
{
	if (!rql_build_ok(b, x))
		return RQL_VALUE_NONE;
	struct rql_build_value result = *rql_build_at(b, x);
	if (result.constant && !result.null && rql_kind_is_integer(result.kind) && rql_kind_is_real(kind) &&
	    result.bounds.low > -(1 << 24) && result.bounds.high < 1 << 24)
		return rql_build_real(b, (double)result.value.integer, type);
	struct rql_step step = {.op = RQL_STEP_CONVERT, .kind = (uint8_t)kind, .b = RQL_REG_NONE, .c = RQL_REG_NONE};
	step.detail = (uint16_t)error;
	step.from = error ? rql_step_pack_from(from) : 0;
	step.count = error ? rql_step_pack_to(type) : 0;
	step.a = rql_build_reg(b, x, result.kind);
	result.type = type;
	result.nullable |= error == RQL_STEP_TRY;
	result.interval = false;
	return rql_build_emit(b, step, kind, result);
}

/* ---- decimals ---- */
/* x times 10^up as type; |x| < 10^(width - up) or an error. */
static rql_value_number scaled_up(struct rql_builder *b, const struct cast *c, rql_value_number x, unsigned up,
                                  enum rql_step_error error)
{
	struct rql_bounds range;
	if (up > c->to.width)
		return unsupported(b, c);
	range.high = rql_power_of_ten(c->to.width - up) - 1;
	range.low = -range.high;
	x = rql_build_check(b, x, range, error_of(c, error), c->to);
	if (up == 0)
		return rql_build_retype(b, x, c->to);
	rql_value_number factor = rql_build_integer(b, rql_power_of_ten(up), rql_type_simple(RQL_TYPE_HUGEINT));
	return rql_build_integers(b, '*', x, factor, c->to, RQL_STEP_NO_ERROR);
}

/* x / 10^down, rounded half away from zero, within the range of the type. */
static rql_value_number scaled_down(struct rql_builder *b, const struct cast *c, rql_value_number x, unsigned down,
                                    enum rql_step_error error)
{
	struct rql_bounds range;
	if (!rql_build_ok(b, x) || !rql_bounds_of_type(c->to, &range))
		return unsupported(b, c);
	rql_int128 factor = rql_power_of_ten(down);
	struct rql_build_value result = *rql_build_at(b, x);
	enum rql_lane_kind kind =
		rql_kind_max(rql_kind_max(result.kind, RQL_LANE_I64), rql_bounds_kind((struct rql_bounds){0, factor}));
	struct rql_bounds bounds = {result.bounds.low / factor - 1, result.bounds.high / factor + 1};
	bool proven = rql_bounds_inside(bounds, range);
	bounds = rql_bounds_clip(bounds, range);
	if (bounds.low > bounds.high)
		bounds = (struct rql_bounds){1, 0};
	struct rql_step step = {.op = RQL_STEP_SCALE_DOWN, .kind = (uint8_t)kind, .b = RQL_REG_NONE, .c = RQL_REG_NONE};
	step.detail = (uint16_t)(proven ? RQL_STEP_NO_ERROR : error_of(c, error));
	step.from = rql_step_pack_from(c->from);
	step.count = rql_step_pack_to(c->to);
	step.imm = rql_build_constants(
		b, (const union rql_constant[]){{.integer = bounds.low}, {.integer = bounds.high}, {.integer = factor}}, 3);
	step.a = rql_build_reg(b, x, kind);
	result.type = c->to;
	result.bounds = bounds.low > bounds.high ? (struct rql_bounds){0, 0} : bounds;
	result.nullable |= c->try;
	result.interval = false;
	return rql_build_emit(b, step, kind, result);
}

static rql_value_number real_step(struct rql_builder *b, enum rql_step_op op, rql_value_number x, rql_value_number y,
                                  struct rql_type type)
{
	return rql_build_arithmetic(b, op == RQL_STEP_DIV ? "/" : "+", x, y, type, true);
}

/* As DuckDB: a number that the real type holds exactly is divided once; of a greater one the whole and the fraction are
 * converted apart. */
static rql_value_number decimal_to_real(struct rql_builder *b, const struct cast *c, rql_value_number x)
{
	enum rql_lane_kind kind = c->to.id == RQL_TYPE_FLOAT ? RQL_LANE_F32 : RQL_LANE_F64;
	rql_int128 exact = (rql_int128)1 << (kind == RQL_LANE_F32 ? 24 : 53), factor = rql_power_of_ten(c->from.scale);
	struct rql_bounds all = rql_builder_bounds(b, x), near = {-exact, exact};
	bool inside = rql_bounds_inside(all, near);
	/* DuckDB's DECIMALs of up to 18 digits are 64-bit numbers, which round once. */
	struct rql_type integer = rql_type_simple(c->from.width > 18 ? RQL_TYPE_HUGEINT : RQL_TYPE_BIGINT);
	if (!inside && (rql_builder_kind(b, x) == RQL_LANE_I128 || c->from.scale == 0))
		return unsupported(b, c); /* DuckDB's 128-bit numbers round in a way of their own */
	/* Where number and power are exact, one division gives the nearest. */
	if (b->nearest && (!inside || c->from.scale > (kind == RQL_LANE_F32 ? 10 : 22)))
		return unsupported(b, c);
	rql_value_number power = rql_build_real(b, kind == RQL_LANE_F32 ? (float)factor : (double)factor, c->to);
	rql_value_number whole = converted(b, x, kind, c->to, RQL_STEP_NO_ERROR, c->from);
	rql_value_number once = c->from.scale ? real_step(b, RQL_STEP_DIV, whole, power, c->to) : whole;
	if (inside)
		return once;
	rql_value_number number = rql_build_retype(b, x, integer), divisor = rql_build_integer(b, factor, integer);
	rql_value_number high = rql_build_arithmetic(b, "//", number, divisor, integer, true);
	rql_value_number low = rql_build_arithmetic(b, "%", number, divisor, integer, true);
	high = converted(b, high, kind, c->to, RQL_STEP_NO_ERROR, c->from);
	low = converted(b, low, kind, c->to, RQL_STEP_NO_ERROR, c->from);
	rql_value_number twice = real_step(b, RQL_STEP_ADD, high, real_step(b, RQL_STEP_DIV, low, power, c->to), c->to);
	rql_value_number least = rql_build_integer(b, near.low, integer), most = rql_build_integer(b, near.high, integer);
	rql_value_number fits = rql_build_and(b, rql_build_compare(b, RQL_STEP_GE, number, least),
	                                      rql_build_compare(b, RQL_STEP_LE, number, most));
	return rql_build_choose(b, fits, once, twice);
}

/* ---- to integers ---- */
static rql_value_number real_to_integer(struct rql_builder *b, const struct cast *c, rql_value_number x)
{
	struct rql_bounds range;
	if (!rql_bounds_of_type(c->to, &range) || rql_bounds_kind(range) == RQL_LANE_I128)
		return unsupported(b, c);
	if (rql_builder_kind(b, x) == RQL_LANE_F32)
		x = converted(b, x, RQL_LANE_F64, rql_type_simple(RQL_TYPE_DOUBLE), RQL_STEP_NO_ERROR, c->from);
	if (!rql_build_ok(b, x))
		return RQL_VALUE_NONE;
	struct rql_build_value result = {.type = c->to, .bounds = range};
	struct rql_step step = {.op = RQL_STEP_ROUND, .kind = RQL_LANE_F64, .b = RQL_REG_NONE, .c = RQL_REG_NONE};
	step.detail = (uint16_t)error_of(c, RQL_STEP_CAST_RANGE);
	step.from = rql_step_pack_from(c->from);
	step.count = rql_step_pack_to(c->to);
	step.imm = rql_build_range(b, range);
	step.a = rql_build_reg(b, x, RQL_LANE_F64);
	result.nullable = rql_build_at(b, x)->nullable || c->try;
	return rql_build_emit(b, step, RQL_LANE_I64, result);
}

static rql_value_number to_integer(struct rql_builder *b, const struct cast *c, rql_value_number x)
{
	struct rql_bounds range;
	if (!rql_bounds_of_type(c->to, &range))
		return unsupported(b, c);
	if (rql_kind_is_real(rql_builder_kind(b, x)))
		return real_to_integer(b, c, x);
	if (c->from.id == RQL_TYPE_BOOLEAN) {
		x = converted(b, x, RQL_LANE_I32, c->to, RQL_STEP_NO_ERROR, c->from);
		if (rql_build_ok(b, x))
			rql_build_at(b, x)->bounds = (struct rql_bounds){0, 1};
		return x;
	}
	if (c->from.id == RQL_TYPE_DECIMAL && c->from.scale > 0)
		return scaled_down(b, c, x, c->from.scale, RQL_STEP_CAST_FROM_DECIMAL);
	if (!rql_type_is_integer(c->from) && c->from.id != RQL_TYPE_DECIMAL)
		return unsupported(b, c);
	bool decimal = c->from.id == RQL_TYPE_DECIMAL;
	x = rql_build_check(b, x, range, error_of(c, decimal ? RQL_STEP_CAST_FROM_DECIMAL : RQL_STEP_CAST_RANGE), c->to);
	return rql_build_retype(b, x, c->to);
}

/* ---- to the others ---- */
static rql_value_number to_decimal(struct rql_builder *b, const struct cast *c, rql_value_number x)
{
	if (rql_type_is_integer(c->from))
		return scaled_up(b, c, x, c->to.scale, RQL_STEP_CAST_TO_DECIMAL);
	if (c->from.id != RQL_TYPE_DECIMAL)
		return unsupported(b, c);
	if (c->to.scale >= c->from.scale)
		return scaled_up(b, c, x, (unsigned)(c->to.scale - c->from.scale), RQL_STEP_CAST_DECIMAL);
	return scaled_down(b, c, x, (unsigned)(c->from.scale - c->to.scale), RQL_STEP_CAST_DECIMAL);
}

static rql_value_number to_real(struct rql_builder *b, const struct cast *c, rql_value_number x)
{
	enum rql_lane_kind kind = c->to.id == RQL_TYPE_FLOAT ? RQL_LANE_F32 : RQL_LANE_F64;
	if (c->from.id == RQL_TYPE_DECIMAL)
		return decimal_to_real(b, c, x);
	if (rql_kind_is_real(rql_builder_kind(b, x)))
		return converted(b, x, kind, c->to, kind == RQL_LANE_F32 ? error_of(c, RQL_STEP_CAST_RANGE) : RQL_STEP_NO_ERROR,
		                 c->from);
	if (c->from.id == RQL_TYPE_BOOLEAN)
		x = converted(b, x, RQL_LANE_I32, c->to, RQL_STEP_NO_ERROR, c->from);
	else if (!rql_type_is_integer(c->from))
		return unsupported(b, c);
	/* HUGEINT is converted by halves, which only rounds alike while the number is exact; the kernel for I128 does the
	 * same for DOUBLE. */
	struct rql_bounds exact = {-((rql_int128)1 << 24), (rql_int128)1 << 24}, bounds = rql_builder_bounds(b, x);
	bool wide = c->from.id == RQL_TYPE_HUGEINT || rql_builder_kind(b, x) == RQL_LANE_I128;
	if (wide && kind == RQL_LANE_F32 && !rql_bounds_inside(bounds, exact))
		return unsupported(b, c);
	if (c->from.id == RQL_TYPE_HUGEINT && rql_build_ok(b, x) && rql_builder_kind(b, x) != RQL_LANE_I128 &&
	    !rql_bounds_inside(bounds, (struct rql_bounds){-((rql_int128)1 << 53), (rql_int128)1 << 53})) {
		struct rql_build_value wider = *rql_build_at(b, x);
		wider.reg = rql_build_reg(b, x, RQL_LANE_I128);
		wider.kind = RQL_LANE_I128;
		wider.constant = false;
		x = rql_build_add_value(b, &wider);
	}
	return converted(b, x, kind, c->to, RQL_STEP_NO_ERROR, c->from);
}

static rql_value_number to_boolean(struct rql_builder *b, const struct cast *c, rql_value_number x)
{
	bool real = rql_kind_is_real(rql_builder_kind(b, x));
	if (!real && !rql_type_is_integer(c->from) && c->from.id != RQL_TYPE_DECIMAL)
		return unsupported(b, c);
	rql_value_number zero = real ? rql_build_real(b, 0, c->from) : rql_build_integer(b, 0, c->from);
	return rql_build_compare(b, RQL_STEP_NE, x, zero);
}

/* ---- between DATE and TIMESTAMP ---- */
static rql_value_number day_to_micros(struct rql_builder *b, const struct cast *c, rql_value_number x)
{
	struct rql_build_value result = *rql_build_at(b, x);
	struct rql_step step = {.op = RQL_STEP_MICROS, .kind = RQL_LANE_I32, .b = RQL_REG_NONE, .c = RQL_REG_NONE};
	struct rql_bounds days = {-RQL_DAY_TIMESTAMP_MAX, RQL_DAY_TIMESTAMP_MAX}, range;
	bool proven = rql_bounds_inside(result.bounds, days) && rql_bounds_of_type(c->to, &range);
	step.detail = (uint16_t)(proven ? RQL_STEP_NO_ERROR : error_of(c, RQL_STEP_CAST_RANGE));
	step.from = rql_step_pack_from(c->from);
	step.count = rql_step_pack_to(c->to);
	step.a = rql_build_reg(b, x, RQL_LANE_I32);
	result.bounds = proven
	                    ? (struct rql_bounds){result.bounds.low * RQL_DAY_MICROS, result.bounds.high * RQL_DAY_MICROS}
	                    : (struct rql_bounds){INT64_MIN, INT64_MAX};
	result.type = c->to;
	result.nullable |= c->try;
	result.interval = false;
	return rql_build_emit(b, step, RQL_LANE_I64, result);
}

static int64_t day_of(rql_int128 micros)
{
	rql_int128 day = micros / RQL_DAY_MICROS;
	return (int64_t)(day - (micros % RQL_DAY_MICROS < 0));
}

static rql_value_number micros_to_day(struct rql_builder *b, const struct cast *c, rql_value_number x)
{
	struct rql_build_value result = *rql_build_at(b, x);
	struct rql_step step = {.op = RQL_STEP_DAYS, .kind = RQL_LANE_I64, .b = RQL_REG_NONE, .c = RQL_REG_NONE};
	bool finite = result.bounds.low > -RQL_MICROS_INFINITY && result.bounds.high < RQL_MICROS_INFINITY;
	step.a = rql_build_reg(b, x, RQL_LANE_I64);
	result.bounds = finite ? (struct rql_bounds){day_of(result.bounds.low), day_of(result.bounds.high)}
	                       : (struct rql_bounds){INT32_MIN, INT32_MAX};
	result.type = c->to;
	result.interval = false;
	return rql_build_emit(b, step, RQL_LANE_I32, result);
}

rql_value_number rql_build_cast(struct rql_builder *b, rql_value_number x, struct rql_type type, bool try_cast)
{
	if (!rql_build_ok(b, x))
		return RQL_VALUE_NONE;
	struct cast c = {rql_builder_type(b, x), type, try_cast};
	if (rql_type_equal(c.from, type))
		return x;
	if (rql_build_at(b, x)->null) {
		struct rql_value null = rql_value_null(type);
		return rql_build_constant(b, &null);
	}
	if (rql_build_at(b, x)->constant && rql_build_at(b, x)->kind == RQL_LANE_BOOL)
		return unsupported(b, &c);
	if (c.from.id == RQL_TYPE_DATE && type.id == RQL_TYPE_TIMESTAMP)
		return day_to_micros(b, &c, x);
	if (c.from.id == RQL_TYPE_TIMESTAMP && type.id == RQL_TYPE_DATE)
		return micros_to_day(b, &c, x);
	if (rql_type_is_integer(type))
		return to_integer(b, &c, x);
	if (type.id == RQL_TYPE_DECIMAL)
		return to_decimal(b, &c, x);
	if (type.id == RQL_TYPE_FLOAT || type.id == RQL_TYPE_DOUBLE)
		return to_real(b, &c, x);
	if (type.id == RQL_TYPE_BOOLEAN)
		return to_boolean(b, &c, x);
	return unsupported(b, &c);
}
