/* The code of steps that are more than an instruction: a call of one of the frame's functions
 * (shaders/scan_numbers.glsl), and what makes rows NULL or fail. All are exact: integers by integer arithmetic, reals by
 * their bits. */
#include "method/scan/code/scan_code_steps.h"

/* Longer lists would be long code: they are tables. */
#define LIST_MAX 16u

static uint32_t not_of(struct rql_scan_coder *c, uint32_t a)
{
	return OP1(c, LOGICAL_NOT, BOOL, a);
}

/* The bounds are known of an I64 that has 64 bits: where they fit, it goes on in 32. */
static void make_narrow(struct rql_scan_coder *c, rql_int128 low, rql_int128 high, struct rql_scan_value *v)
{
	if (low > high) /* no row passes its check */
		return;
	v->bounded = true;
	v->bounds = (struct rql_bounds){low, high};
	v->narrow = rql_scan_code_fits32(v->bounds);
	if (v->narrow)
		v->id = OP1(c, U_CONVERT, U32, v->id);
}

/* ---- quotients and remainders ---- */

/* What a / b or a % b can be, when b is not 0. */
static struct rql_bounds quotient_bounds(bool modulo, struct rql_bounds a, struct rql_bounds b)
{
	rql_int128 most = -a.low > a.high ? -a.low : a.high, divisor = -b.low > b.high ? -b.low : b.high;
	if (modulo && divisor - 1 < most)
		most = divisor > 0 ? divisor - 1 : 0;
	bool negative = a.low < 0 || (!modulo && b.low < 0), positive = a.high > 0 || (!modulo && b.low < 0);
	return (struct rql_bounds){negative ? -most : 0, positive ? most : 0};
}

/* The type's least value by -1 leaves it, and DuckDB refuses the remainder, too. 0: that cannot be. */
static uint32_t leaves_type(struct rql_scan_steps *st, const struct rql_step *s, struct rql_scan_value a,
                            struct rql_scan_value b, uint32_t wide_a, uint32_t wide_b)
{
	struct rql_scan_coder *c = st->c;
	rql_int128 least = st->program->constants[s->imm].integer, most = st->program->constants[s->imm + 1].integer;
	struct rql_bounds of_a = rql_scan_code_bounds(&a), of_b = rql_scan_code_bounds(&b);
	if (least >= -most || of_a.low > least || of_b.low > -1 || of_b.high < -1)
		return 0;
	return OP2(c, LOGICAL_AND, BOOL, OP2(c, EQUAL, BOOL, wide_b, rql_spirv_u64(&c->m, UINT64_MAX)),
	           OP2(c, EQUAL, BOOL, wide_a, rql_spirv_u64(&c->m, (uint64_t)least)));
}

/* Of integers: NULL where b is 0. */
static void divide(struct rql_scan_steps *st, const struct rql_step *s, struct rql_scan_value a,
                   struct rql_scan_value b, struct rql_scan_value *out)
{
	struct rql_scan_coder *c = st->c;
	bool modulo = s->op == RQL_STEP_MOD;
	struct rql_bounds of_a = rql_scan_code_bounds(&a), of_b = rql_scan_code_bounds(&b);
	uint32_t wide_a = rql_scan_code_convert(c, a, RQL_LANE_I64).id, wide_b = rql_scan_code_convert(c, b, RQL_LANE_I64).id;
	if (of_b.low <= 0 && of_b.high >= 0)
		out->valid =
			rql_scan_code_both(c, out->valid, OP2(c, NOT_EQUAL, BOOL, wide_b, rql_spirv_u64(&c->m, 0)));
	rql_scan_code_judge(st, s, leaves_type(st, s, a, b, wide_a, wide_b), out);
	out->bounds = quotient_bounds(modulo, of_a, of_b);
	out->bounded = out->bounds.low >= INT64_MIN && out->bounds.high <= INT64_MAX;
	out->narrow = rql_scan_code_has32(&a) && rql_scan_code_has32(&b) && rql_scan_code_fits32(out->bounds);
	if (out->narrow) /* halves of a register are divided many times faster */
		out->id = CALL(c, modulo ? "scan_remainder_32" : "scan_quotient_32", RQL_SPIRV_U32, a.id, b.id);
	else
		out->id = CALL(c, modulo ? "scan_remainder" : "scan_quotient", RQL_SPIRV_U64, wide_a, wide_b);
	if (!out->narrow && out->bounded)
		make_narrow(c, out->bounds.low, out->bounds.high, out);
}

/* Of reals; imm: NULL where b is 0. */
static void real_remainder(struct rql_scan_coder *c, const struct rql_step *s, struct rql_scan_value a,
                           struct rql_scan_value b, struct rql_scan_value *out)
{
	uint32_t bits = CALL(c, "scan_real_remainder", RQL_SPIRV_U64, OP1(c, BITCAST, U64, a.id), OP1(c, BITCAST, U64, b.id));
	out->id = OP1(c, BITCAST, F64, bits);
	if (s->imm) {
		uint32_t zero = OP2(c, EQUAL, BOOL, rql_scan_code_real_key(c, b.id), rql_spirv_u64(&c->m, UINT64_C(1) << 63));
		out->valid = rql_scan_code_both(c, out->valid, not_of(c, zero));
	}
}

/* ---- rounding ---- */

static void scale_down(struct rql_scan_steps *st, const struct rql_step *s, struct rql_scan_value a,
                       struct rql_scan_value *out)
{
	struct rql_scan_coder *c = st->c;
	const union rql_constant *range = &st->program->constants[s->imm];
	a = rql_scan_code_convert(c, a, RQL_LANE_I64);
	out->id = CALL(c, "scan_scaled_down", RQL_SPIRV_U64, a.id, rql_scan_code_constant(st, s->imm + 2, RQL_LANE_I64));
	if (s->detail != RQL_STEP_NO_ERROR)
		rql_scan_code_judge(st, s, rql_scan_code_outside(st, s, out->id), out);
	make_narrow(c, range[0].integer, range[1].integer, out);
}

static uint32_t real_param(struct rql_scan_coder *c, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return rql_scan_code_param(c, bits, false);
}

/* A real to the nearest integer; checked before, and what rounds out of the type wraps into it, as in DuckDB. */
static void round_real(struct rql_scan_steps *st, const struct rql_step *s, struct rql_scan_value a,
                       struct rql_scan_value *out)
{
	struct rql_scan_coder *c = st->c;
	rql_int128 least = st->program->constants[s->imm].integer, most = st->program->constants[s->imm + 1].integer;
	const struct rql_type to = {.id = (rql_type_id)(s->count & 255)};
	uint32_t shift = U32(c, 64 - 8 * (uint32_t)rql_type_bytes(to)), bits = OP1(c, BITCAST, U64, a.id);
	uint32_t low = CALL(c, "scan_real_key", RQL_SPIRV_U64, real_param(c, (double)least));
	uint32_t high = CALL(c, "scan_real_key", RQL_SPIRV_U64, real_param(c, (double)(most + 1)));
	uint32_t key = CALL(c, "scan_real_key", RQL_SPIRV_U64, bits); /* NaN is above all */
	uint32_t inside = OP2(c, LOGICAL_AND, BOOL, OP2(c, U_LESS_EQUAL, BOOL, low, key), OP2(c, U_LESS, BOOL, key, high));
	out->id = OP2(c, SHIFT_LEFT, U64, CALL(c, "scan_rounded", RQL_SPIRV_U64, bits), shift);
	out->id = least < 0 ? OP2(c, SHIFT_RIGHT_SIGNED, U64, out->id, shift) : OP2(c, SHIFT_RIGHT, U64, out->id, shift);
	rql_scan_code_judge(st, s, not_of(c, inside), out);
	make_narrow(c, least, most, out);
}

/* ---- FLOATs ---- */

uint32_t rql_scan_code_float(struct rql_scan_coder *c, uint32_t real)
{
	uint32_t bits = CALL(c, "scan_float_of", RQL_SPIRV_U64, OP1(c, BITCAST, U64, real));
	return OP1(c, BITCAST, F64, bits);
}

/* Infinity from a finite value is an error. */
void rql_scan_code_to_float(struct rql_scan_steps *st, const struct rql_step *s, struct rql_scan_value a,
                            struct rql_scan_value *out)
{
	struct rql_scan_coder *c = st->c;
	const uint64_t magnitudes = UINT64_MAX >> 1, infinity = UINT64_C(0x7ff) << 52;
	bool real = a.kind == RQL_LANE_F64;
	if (a.kind == RQL_LANE_I64 && !a.narrow) /* else a double would be rounded to that was rounded before */
		a.id = CALL(c, "scan_jammed", RQL_SPIRV_U64, a.id);
	a.bounded = false;
	out->id = rql_scan_code_float(c, rql_scan_code_convert(c, a, RQL_LANE_F64).id);
	if (!real || s->detail == RQL_STEP_NO_ERROR)
		return;
	uint32_t mask = rql_spirv_u64(&c->m, magnitudes), most = rql_spirv_u64(&c->m, infinity);
	uint32_t before = OP2(c, AND, U64, OP1(c, BITCAST, U64, a.id), mask);
	uint32_t after = OP2(c, AND, U64, OP1(c, BITCAST, U64, out->id), mask);
	rql_scan_code_judge(
		st, s, OP2(c, LOGICAL_AND, BOOL, OP2(c, U_LESS, BOOL, before, most), OP2(c, EQUAL, BOOL, after, most)), out);
}

/* ---- dates and times ---- */

/* Of a day or of microseconds. */
static uint32_t is_infinite(struct rql_scan_coder *c, struct rql_scan_value v)
{
	bool day = v.kind == RQL_LANE_I32;
	uint32_t most = day ? U32(c, INT32_MAX) : rql_spirv_u64(&c->m, INT64_MAX);
	uint32_t least = day ? U32(c, (uint32_t)-INT32_MAX) : rql_spirv_u64(&c->m, (uint64_t)-INT64_MAX);
	return OP2(c, LOGICAL_OR, BOOL, OP2(c, EQUAL, BOOL, v.id, most), OP2(c, EQUAL, BOOL, v.id, least));
}

/* NULL at the infinities. */
static void part_of(struct rql_scan_coder *c, const struct rql_step *s, struct rql_scan_value a,
                    struct rql_scan_value *out)
{
	bool time = s->op == RQL_STEP_TIME_PART;
	out->valid = rql_scan_code_both(c, out->valid, not_of(c, is_infinite(c, a)));
	out->id = CALL(c, time ? "scan_time_part" : "scan_date_part", RQL_SPIRV_U32, a.id, U32(c, s->detail));
	if (!time)
		return;
	out->narrow = out->bounded = true;
	out->bounds = (struct rql_bounds){0, 59};
}

/* The infinities stay. */
static void date_trunc(struct rql_scan_coder *c, const struct rql_step *s, struct rql_scan_value a,
                       struct rql_scan_value *out)
{
	uint32_t first = CALL(c, "scan_date_trunc", RQL_SPIRV_U32, a.id, U32(c, s->detail));
	out->id = rql_spirv_select(&c->m, RQL_SPIRV_U32, is_infinite(c, a), a.id, first);
}

/* TIMESTAMP holds fewer days than DATE. */
#define TIMESTAMP_DAYS 106751991

static void micros_of(struct rql_scan_steps *st, const struct rql_step *s, struct rql_scan_value a,
                      struct rql_scan_value *out)
{
	struct rql_scan_coder *c = st->c;
	out->id = CALL(c, "scan_micros_of", RQL_SPIRV_U64, a.id);
	if (s->detail == RQL_STEP_NO_ERROR)
		return;
	uint32_t far = OP2(c, LOGICAL_OR, BOOL, OP2(c, S_LESS, BOOL, a.id, U32(c, (uint32_t)-TIMESTAMP_DAYS)),
	                   OP2(c, S_LESS, BOOL, U32(c, TIMESTAMP_DAYS), a.id));
	rql_scan_code_judge(st, s, OP2(c, LOGICAL_AND, BOOL, far, not_of(c, is_infinite(c, a))), out);
}

bool rql_scan_code_number(struct rql_scan_steps *st, const struct rql_step *s, struct rql_scan_value a,
                          struct rql_scan_value b, struct rql_scan_value *out)
{
	struct rql_scan_coder *c = st->c;
	switch (s->op) {
	case RQL_STEP_DIV:
	case RQL_STEP_MOD:
		if (s->kind == RQL_LANE_I64)
			divide(st, s, a, b, out);
		else if (s->op == RQL_STEP_MOD)
			real_remainder(c, s, a, b, out);
		else
			return false;
		return true;
	case RQL_STEP_SCALE_DOWN:
		scale_down(st, s, a, out);
		return true;
	case RQL_STEP_ROUND:
		round_real(st, s, a, out);
		return true;
	case RQL_STEP_DATE_PART:
		part_of(c, s, a, out);
		return true;
	case RQL_STEP_TIME_PART:
		part_of(c, s, rql_scan_code_convert(c, a, RQL_LANE_I64), out);
		return true;
	case RQL_STEP_DATE_TRUNC:
		date_trunc(c, s, a, out);
		return true;
	case RQL_STEP_DAYS:
		out->id = CALL(c, "scan_day_of", RQL_SPIRV_U32, rql_scan_code_convert(c, a, RQL_LANE_I64).id);
		return true;
	case RQL_STEP_MICROS:
		micros_of(st, s, a, out);
		return true;
	default:
		return false;
	}
}

/* ---- lists ---- */

uint32_t rql_scan_code_in_list(struct rql_scan_steps *st, const struct rql_step *s, struct rql_scan_value a)
{
	struct rql_scan_coder *c = st->c;
	const union rql_constant *list = &st->program->constants[s->imm];
	bool real = a.kind == RQL_LANE_F64;
	uint32_t found = rql_spirv_bool(&c->m, false);
	for (uint32_t i = 0; !real && s->count <= LIST_MAX && i < s->count; i++)
		found = OP2(c, LOGICAL_OR, BOOL, found,
		            OP2(c, EQUAL, BOOL, a.id, rql_scan_code_constant(st, s->imm + i, (enum rql_lane_kind)s->kind)));
	if (!real && s->count <= LIST_MAX)
		return found;
	uint64_t *keys = RQL_NEW_ARRAY(c->plan->arena, uint64_t, s->count);
	if (!keys) {
		c->out_of_memory = true;
		return found;
	}
	for (uint32_t i = 0; i < s->count; i++)
		keys[i] = real ? rql_key_of_f64(list[i].real + 0.0) : rql_key_of_i64((int64_t)list[i].integer);
	uint32_t table = rql_scan_code_param(c, rql_scan_blob_put(&c->plan->blob, keys, s->count * sizeof(*keys)), true);
	uint32_t count = OP1(c, U_CONVERT, U32, rql_scan_code_param(c, s->count, false));
	uint32_t key = real ? rql_scan_code_real_key(c, a.id)
	                    : OP2(c, XOR, U64, rql_scan_code_convert(c, a, RQL_LANE_I64).id,
	                          rql_spirv_u64(&c->m, UINT64_C(1) << 63));
	return CALL(c, "scan_in_list", RQL_SPIRV_BOOL, table, count, key);
}
