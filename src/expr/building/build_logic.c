/* Comparisons, logic, choices, masks, and parts of dates. */
#include <stdlib.h>
#include "expr/building/build_internal.h"

/* ---- comparisons ---- */
/* What `x op constant` says about integers x. */
static bool interval_of(enum rql_step_op op, rql_int128 v, struct rql_bounds all, struct rql_bounds *out)
{
	*out = all;
	switch (op) {
	case RQL_STEP_EQ:
		*out = (struct rql_bounds){v, v};
		return true;
	case RQL_STEP_LE:
		out->high = v;
		return true;
	case RQL_STEP_GE:
		out->low = v;
		return true;
	case RQL_STEP_LT:
		out->high = v - 1;
		return v > all.low;
	case RQL_STEP_GT:
		out->low = v + 1;
		return v < all.high;
	default:
		return false;
	}
}

static enum rql_step_op mirrored(enum rql_step_op op)
{
	switch (op) {
	case RQL_STEP_LT:
		return RQL_STEP_GT;
	case RQL_STEP_LE:
		return RQL_STEP_GE;
	case RQL_STEP_GT:
		return RQL_STEP_LT;
	case RQL_STEP_GE:
		return RQL_STEP_LE;
	default:
		return op;
	}
}

rql_value_number rql_build_compare(struct rql_builder *b, enum rql_step_op op, rql_value_number x, rql_value_number y)
{
	if (!rql_build_ok(b, x) || !rql_build_ok(b, y))
		return RQL_VALUE_NONE;
	struct rql_type tx = rql_builder_type(b, x), ty = rql_builder_type(b, y);
	if (!rql_type_equal(tx, ty))
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "a comparison of %s with %s", rql_type_id_name(tx.id),
		                      rql_type_id_name(ty.id));
	if (tx.id == RQL_TYPE_VARCHAR || tx.id == RQL_TYPE_BLOB)
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "a comparison of dictionary codes");
	if (rql_build_at(b, x)->constant && !rql_build_at(b, y)->constant) {
		rql_value_number other = x;
		x = y;
		y = other;
		op = mirrored(op);
	}
	const struct rql_build_value vx = *rql_build_at(b, x), vy = *rql_build_at(b, y);
	enum rql_lane_kind kind = rql_kind_is_integer(vx.kind) ? rql_kind_max(vx.kind, vy.kind) : vx.kind;
	bool distinct = op == RQL_STEP_SAME || op == RQL_STEP_DIFFERENT;
	struct rql_build_value result = {.type = rql_type_simple(RQL_TYPE_BOOLEAN), .bounds = {0, 1}};
	struct rql_step step = {.op = (uint8_t)op, .kind = (uint8_t)kind, .c = RQL_REG_NONE};
	result.nullable = !distinct && (vx.nullable || vy.nullable);
	step.a = rql_build_reg(b, x, kind);
	step.b = rql_build_reg(b, y, kind);
	if (vy.constant && !vy.null && !vx.constant && vx.kind == kind && rql_kind_is_integer(kind)) {
		struct rql_bounds all = {kind == RQL_LANE_I32 ? INT32_MIN : INT64_MIN,
		                         kind == RQL_LANE_I32 ? INT32_MAX : INT64_MAX};
		result.interval = kind != RQL_LANE_I128 && interval_of(op, vy.value.integer, all, &result.within);
		result.of = step.a;
	}
	return rql_build_emit(b, step, RQL_LANE_BOOL, result);
}

static rql_value_number inside(struct rql_builder *b, const struct rql_build_value *x, const struct rql_build_value *y)
{
	struct rql_build_value result = *x;
	enum rql_lane_kind kind = (enum rql_lane_kind)b->regs[x->of].kind;
	struct rql_step step = {.op = RQL_STEP_INSIDE, .kind = (uint8_t)kind, .a = x->of, .b = RQL_REG_NONE};
	step.c = RQL_REG_NONE;
	result.within = rql_bounds_clip(x->within, y->within);
	if (result.within.low > result.within.high)
		result.within = (struct rql_bounds){1, 0};
	step.imm = rql_build_range(b, result.within);
	return rql_build_emit(b, step, RQL_LANE_BOOL, result);
}

static bool boolean_pair(struct rql_builder *b, rql_value_number x, rql_value_number y)
{
	if (!rql_build_ok(b, x) || !rql_build_ok(b, y))
		return false;
	if (rql_build_at(b, x)->kind == RQL_LANE_BOOL && rql_build_at(b, y)->kind == RQL_LANE_BOOL)
		return true;
	rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "AND or OR of what is no BOOLEAN");
	return false;
}

static rql_value_number logic(struct rql_builder *b, enum rql_step_op op, rql_value_number x, rql_value_number y)
{
	struct rql_build_value result = {.type = rql_type_simple(RQL_TYPE_BOOLEAN), .bounds = {0, 1}};
	struct rql_step step = {.op = (uint8_t)op, .kind = RQL_LANE_BOOL, .c = RQL_REG_NONE};
	result.nullable = rql_build_at(b, x)->nullable || rql_build_at(b, y)->nullable;
	step.a = rql_build_reg(b, x, RQL_LANE_BOOL);
	step.b = rql_build_reg(b, y, RQL_LANE_BOOL);
	return rql_build_emit(b, step, RQL_LANE_BOOL, result);
}

rql_value_number rql_build_and(struct rql_builder *b, rql_value_number x, rql_value_number y)
{
	if (!boolean_pair(b, x, y))
		return RQL_VALUE_NONE;
	struct rql_build_value vx = *rql_build_at(b, x), vy = *rql_build_at(b, y);
	if (vx.interval && vy.interval && vx.of == vy.of)
		return inside(b, &vx, &vy);
	return logic(b, RQL_STEP_AND, x, y);
}

rql_value_number rql_build_or(struct rql_builder *b, rql_value_number x, rql_value_number y)
{
	return boolean_pair(b, x, y) ? logic(b, RQL_STEP_OR, x, y) : RQL_VALUE_NONE;
}

rql_value_number rql_build_not(struct rql_builder *b, rql_value_number x)
{
	if (!boolean_pair(b, x, x))
		return RQL_VALUE_NONE;
	struct rql_build_value result = *rql_build_at(b, x);
	struct rql_step step = {.op = RQL_STEP_NOT, .kind = RQL_LANE_BOOL, .b = RQL_REG_NONE, .c = RQL_REG_NONE};
	step.a = rql_build_reg(b, x, RQL_LANE_BOOL);
	result.interval = false;
	return rql_build_emit(b, step, RQL_LANE_BOOL, result);
}

rql_value_number rql_build_is_null(struct rql_builder *b, rql_value_number x, bool negated)
{
	if (!rql_build_ok(b, x))
		return RQL_VALUE_NONE;
	enum rql_lane_kind kind = rql_build_at(b, x)->kind;
	struct rql_build_value result = {.type = rql_type_simple(RQL_TYPE_BOOLEAN), .bounds = {0, 1}};
	struct rql_step step = {.op = negated ? RQL_STEP_IS_NOT_NULL : RQL_STEP_IS_NULL, .kind = (uint8_t)kind};
	step.b = step.c = RQL_REG_NONE;
	step.a = rql_build_reg(b, x, kind);
	return rql_build_emit(b, step, RQL_LANE_BOOL, result);
}

/* ---- lists ---- */
static int integers_by_value(const void *a, const void *b)
{
	rql_int128 x = ((const union rql_constant *)a)->integer, y = ((const union rql_constant *)b)->integer;
	return (x > y) - (x < y);
}

static int reals_by_value(const void *a, const void *b)
{
	double x = ((const union rql_constant *)a)->real, y = ((const union rql_constant *)b)->real;
	return x != x || y != y ? (x != x) - (y != y) : (x > y) - (x < y);
}

/* The list's constants in order, those out of the kind left out; *some_null: the list has a NULL. */
static bool list_constants(struct rql_builder *b, struct rql_type type, enum rql_lane_kind kind,
                           const struct rql_value *list, uint32_t count, union rql_constant *out, uint32_t *n,
                           bool *some_null)
{
	*n = 0;
	*some_null = false;
	for (uint32_t i = 0; i < count; i++) {
		if (!list[i].is_null && !rql_type_equal(list[i].type, type)) {
			rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "IN with a list of other types");
			return false;
		}
		*some_null |= list[i].is_null;
		struct rql_bounds one = {list[i].integer, list[i].integer};
		if (list[i].is_null || (rql_kind_is_integer(kind) && rql_bounds_kind(one) > kind))
			continue;
		out[*n].integer = 0;
		if (rql_kind_is_real(kind))
			out[*n].real = list[i].real;
		else
			out[*n].integer = list[i].integer;
		++*n;
	}
	qsort(out, *n, sizeof(*out), rql_kind_is_real(kind) ? reals_by_value : integers_by_value);
	return true;
}

rql_value_number rql_build_in(struct rql_builder *b, rql_value_number x, const struct rql_value *list, uint32_t count)
{
	if (!rql_build_ok(b, x))
		return RQL_VALUE_NONE;
	const struct rql_build_value vx = *rql_build_at(b, x);
	union rql_constant *constants = RQL_NEW_ARRAY(b->arena, union rql_constant, count + 1);
	uint32_t n;
	bool some_null;
	if (!constants)
		return rql_build_fail(b, RQL_ERROR_MEMORY, "out of memory (a list of %u constants)", count);
	if (vx.kind == RQL_LANE_BOOL || vx.type.id == RQL_TYPE_VARCHAR || vx.type.id == RQL_TYPE_BLOB || vx.constant)
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "IN over %s", rql_type_id_name(vx.type.id));
	if (!list_constants(b, vx.type, vx.kind, list, count, constants, &n, &some_null))
		return RQL_VALUE_NONE;
	struct rql_build_value result = {
		.type = rql_type_simple(RQL_TYPE_BOOLEAN), .bounds = {0, 1}, .nullable = vx.nullable};
	struct rql_step step = {.op = RQL_STEP_IN_LIST, .kind = (uint8_t)vx.kind, .b = RQL_REG_NONE, .c = RQL_REG_NONE};
	step.a = rql_build_reg(b, x, vx.kind);
	bool integer = rql_kind_is_integer(vx.kind);
	/* Unsigned: the ends of 128 bits may both be in the list. */
	bool dense = integer && n && (rql_uint128)constants[n - 1].integer - (rql_uint128)constants[0].integer < n;
	for (uint32_t i = 1; dense && i < n; i++)
		dense = constants[i].integer - constants[i - 1].integer <= 1;
	if (dense || (n == 0 && integer)) {
		step.op = RQL_STEP_INSIDE;
		step.imm = n ? rql_build_range(b, (struct rql_bounds){constants[0].integer, constants[n - 1].integer})
		             : rql_build_range(b, (struct rql_bounds){1, 0});
	} else if (n) {
		step.imm = rql_build_constants(b, constants, n);
		step.count = n;
	} else {
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "IN with a list of NULLs");
	}
	rql_value_number found = rql_build_emit(b, step, RQL_LANE_BOOL, result);
	if (!some_null)
		return found;
	struct rql_value null = rql_value_null(rql_type_simple(RQL_TYPE_BOOLEAN));
	return rql_build_or(b, found, rql_build_constant(b, &null));
}

/* ---- masks and choices ---- */
void rql_build_push(struct rql_builder *b, enum rql_mask_op op, rql_value_number x)
{
	static const enum rql_step_op ops[] = {
		[RQL_MASK_TRUE] = RQL_STEP_MASK_TRUE,
		[RQL_MASK_NOT_TRUE] = RQL_STEP_MASK_NOT_TRUE,
		[RQL_MASK_NOT_FALSE] = RQL_STEP_MASK_NOT_FALSE,
		[RQL_MASK_NULL] = RQL_STEP_MASK_NULL,
	};
	if (!rql_build_ok(b, x))
		return;
	enum rql_lane_kind kind = rql_build_at(b, x)->kind;
	if (op != RQL_MASK_NULL && kind != RQL_LANE_BOOL) {
		rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "a condition that is no BOOLEAN");
		return;
	}
	if (b->depth == RQL_BUILD_MAX_DEPTH) {
		rql_build_fail(b, RQL_ERROR_LIMIT, "conditions nested more than %u deep", RQL_BUILD_MAX_DEPTH);
		return;
	}
	struct rql_build_value result = {.type = rql_type_simple(RQL_TYPE_BOOLEAN), .bounds = {0, 1}};
	struct rql_step step = {.op = (uint8_t)ops[op], .kind = (uint8_t)kind, .b = RQL_REG_NONE, .c = RQL_REG_NONE};
	step.a = rql_build_reg(b, x, kind);
	rql_value_number mask = rql_build_emit(b, step, RQL_LANE_BOOL, result);
	if (mask != RQL_VALUE_NONE)
		b->masks[b->depth++] = rql_build_at(b, mask)->reg;
}

void rql_build_pop(struct rql_builder *b)
{
	if (b->status == RQL_OK && b->depth == 0)
		rql_build_fail(b, RQL_ERROR_INTERNAL, "a mask is popped that was not pushed");
	else if (b->status == RQL_OK)
		b->depth--;
}

static struct rql_bounds bounds_of_both(const struct rql_build_value *x, const struct rql_build_value *y)
{
	if (x->null)
		return y->bounds;
	if (y->null)
		return x->bounds;
	return (struct rql_bounds){x->bounds.low < y->bounds.low ? x->bounds.low : y->bounds.low,
	                           x->bounds.high > y->bounds.high ? x->bounds.high : y->bounds.high};
}

rql_value_number rql_build_choose(struct rql_builder *b, rql_value_number when, rql_value_number x, rql_value_number y)
{
	if (!rql_build_ok(b, when) || !rql_build_ok(b, x) || !rql_build_ok(b, y))
		return RQL_VALUE_NONE;
	const struct rql_build_value vx = *rql_build_at(b, x), vy = *rql_build_at(b, y);
	if (!rql_type_equal(vx.type, vy.type) || rql_build_at(b, when)->kind != RQL_LANE_BOOL)
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "a choice between %s and %s", rql_type_id_name(vx.type.id),
		                      rql_type_id_name(vy.type.id));
	if (vx.type.id == RQL_TYPE_VARCHAR || vx.type.id == RQL_TYPE_BLOB)
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "a choice between dictionary codes");
	enum rql_lane_kind kind = rql_kind_is_integer(vx.kind) ? rql_kind_max(vx.kind, vy.kind) : vx.kind;
	struct rql_build_value result = {.type = vx.type, .bounds = bounds_of_both(&vx, &vy)};
	result.nullable = vx.nullable || vy.nullable;
	struct rql_step step = {.op = RQL_STEP_CHOOSE, .kind = (uint8_t)kind};
	step.a = rql_build_reg(b, x, kind);
	step.b = rql_build_reg(b, y, kind);
	step.c = rql_build_reg(b, when, RQL_LANE_BOOL);
	return rql_build_emit(b, step, kind, result);
}

rql_value_number rql_build_coalesce(struct rql_builder *b, rql_value_number x, rql_value_number y)
{
	rql_value_number present = rql_build_is_null(b, x, true);
	rql_value_number chosen = rql_build_choose(b, present, x, y);
	if (chosen != RQL_VALUE_NONE)
		rql_build_at(b, chosen)->nullable = rql_build_at(b, y)->nullable;
	return chosen;
}

/* ---- dates ---- */
static struct rql_bounds part_bounds(enum rql_date_part part, struct rql_bounds days)
{
	static const struct rql_bounds fixed[RQL_PART_COUNT] = {
		[RQL_PART_YEAR] = {-6000000, 6000000}, [RQL_PART_MONTH] = {1, 12},        [RQL_PART_DAY] = {1, 31},
		[RQL_PART_QUARTER] = {1, 4},           [RQL_PART_WEEK] = {1, 53},         [RQL_PART_DAY_OF_WEEK] = {0, 6},
		[RQL_PART_ISO_DAY] = {1, 7},           [RQL_PART_DAY_OF_YEAR] = {1, 366}, [RQL_PART_HOUR] = {0, 23},
		[RQL_PART_MINUTE] = {0, 59},           [RQL_PART_SECOND] = {0, 59},
	};
	if (part != RQL_PART_YEAR)
		return fixed[part];
	return (struct rql_bounds){rql_civil_of_days((int64_t)days.low).year, rql_civil_of_days((int64_t)days.high).year};
}

rql_value_number rql_build_date_part(struct rql_builder *b, enum rql_date_part part, rql_value_number x,
                                     struct rql_type type)
{
	if (!rql_build_ok(b, x))
		return RQL_VALUE_NONE;
	struct rql_type from = rql_builder_type(b, x);
	bool time = part >= RQL_PART_HOUR;
	if (from.id == RQL_TYPE_TIMESTAMP && !time)
		x = rql_build_cast(b, x, rql_type_simple(RQL_TYPE_DATE), false);
	if (!rql_build_ok(b, x))
		return RQL_VALUE_NONE;
	if (type.id != RQL_TYPE_BIGINT || rql_builder_type(b, x).id != (time ? RQL_TYPE_TIMESTAMP : RQL_TYPE_DATE) ||
	    rql_build_at(b, x)->constant)
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "a part of %s", rql_type_id_name(from.id));
	struct rql_bounds days = rql_builder_bounds(b, x);
	struct rql_build_value result = {.type = type};
	enum rql_lane_kind kind = time ? RQL_LANE_I64 : RQL_LANE_I32;
	struct rql_step step = {.op = time ? RQL_STEP_TIME_PART : RQL_STEP_DATE_PART, .kind = (uint8_t)kind};
	step.b = step.c = RQL_REG_NONE;
	step.detail = (uint16_t)part;
	step.a = rql_build_reg(b, x, kind);
	rql_int128 infinity = time ? (rql_int128)RQL_MICROS_INFINITY : RQL_DAY_INFINITY;
	result.bounds = part_bounds(part, days);
	result.nullable = rql_build_at(b, x)->nullable || days.low <= -infinity || days.high >= infinity;
	return rql_build_emit(b, step, kind, result);
}

rql_value_number rql_build_date_trunc(struct rql_builder *b, enum rql_date_part part, rql_value_number x,
                                      struct rql_type type)
{
	struct rql_type from = rql_builder_type(b, x), date = rql_type_simple(RQL_TYPE_DATE);
	if (!rql_build_ok(b, x))
		return RQL_VALUE_NONE;
	if (part > RQL_PART_WEEK || (from.id != RQL_TYPE_DATE && from.id != RQL_TYPE_TIMESTAMP) ||
	    (type.id != RQL_TYPE_DATE && type.id != RQL_TYPE_TIMESTAMP) || rql_build_at(b, x)->constant)
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "date_trunc of %s to %s", rql_type_id_name(from.id),
		                      rql_type_id_name(type.id));
	x = rql_build_cast(b, x, date, false);
	if (!rql_build_ok(b, x))
		return RQL_VALUE_NONE;
	struct rql_build_value result = *rql_build_at(b, x);
	struct rql_step step = {.op = RQL_STEP_DATE_TRUNC, .kind = RQL_LANE_I32, .b = RQL_REG_NONE, .c = RQL_REG_NONE};
	step.detail = (uint16_t)part;
	step.a = rql_build_reg(b, x, RQL_LANE_I32);
	result.interval = false;
	if (result.bounds.low > -RQL_DAY_INFINITY + 400)
		result.bounds.low -= 366;
	else
		result.bounds.low = INT32_MIN;
	rql_value_number day = rql_build_emit(b, step, RQL_LANE_I32, result);
	if (type.id == RQL_TYPE_TIMESTAMP && from.id == RQL_TYPE_DATE) /* DuckDB: an infinite DATE is an error here */
		day = rql_build_check(b, day, (struct rql_bounds){-RQL_DAY_TIMESTAMP_MAX, RQL_DAY_TIMESTAMP_MAX},
		                      RQL_STEP_TIMESTAMP_RANGE, type);
	return rql_build_cast(b, day, type, false);
}
