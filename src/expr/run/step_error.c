/* What a suspect vector really has: rows that become NULL, and the first row with an error, in DuckDB's words. */
#include <math.h>
#include "expr/expr_internal.h"

enum verdict { FINE, IS_NULL, FAILS };

/* ---- operands of one row ---- */
static rql_int128 integer_at(const struct rql_exec *x, uint16_t reg, uint32_t row)
{
	const void *data = x->slots[reg].data;
	switch (x->program->regs[reg].kind) {
	case RQL_LANE_BOOL:
		return rql_bit((const uint64_t *)data, row);
	case RQL_LANE_I32:
		return ((const int32_t *)data)[row];
	case RQL_LANE_I64:
		return ((const int64_t *)data)[row];
	default:
		return ((const rql_int128 *)data)[row];
	}
}

static double real_at(const struct rql_exec *x, uint16_t reg, uint32_t row)
{
	const void *data = x->slots[reg].data;
	return x->program->regs[reg].kind == RQL_LANE_F32 ? ((const float *)data)[row] : ((const double *)data)[row];
}

static bool outside(const struct rql_exec *x, const struct rql_step *s, rql_int128 v)
{
	return v < x->program->constants[s->imm].integer || v > x->program->constants[s->imm + 1].integer;
}

/* ---- the verdicts ---- */
static bool arithmetic_fails(const struct rql_exec *x, const struct rql_step *s, rql_int128 a, rql_int128 b)
{
	rql_int128 v;
	bool overflow = s->op == RQL_STEP_ADD_CHECKED   ? __builtin_add_overflow(a, b, &v)
	                : s->op == RQL_STEP_SUB_CHECKED ? __builtin_sub_overflow(a, b, &v)
	                                                : __builtin_mul_overflow(a, b, &v);
	return overflow || outside(x, s, v);
}

static enum verdict divide(const struct rql_exec *x, const struct rql_step *s, rql_int128 a, rql_int128 b)
{
	if (b == 0)
		return IS_NULL;
	/* DuckDB refuses least / -1 and least % -1 alike */
	if (b == -1)
		return a == x->program->constants[s->imm].integer && a < -x->program->constants[s->imm + 1].integer ? FAILS
		                                                                                                    : FINE;
	return outside(x, s, s->op == RQL_STEP_DIV ? a / b : a % b) ? FAILS : FINE;
}

static rql_int128 scaled_down(const struct rql_exec *x, const struct rql_step *s, rql_int128 a)
{
	rql_int128 k = x->program->constants[s->imm + 2].integer, rest = a % k;
	return a / k + ((rest < 0 ? -rest : rest) * 2 >= k ? (a < 0 ? -1 : 1) : 0);
}

static enum verdict judge_row(const struct rql_exec *x, const struct rql_step *s, uint32_t row)
{
	bool real = s->kind == RQL_LANE_F32 || s->kind == RQL_LANE_F64;
	switch (s->op) {
	case RQL_STEP_ADD_CHECKED:
	case RQL_STEP_SUB_CHECKED:
	case RQL_STEP_MUL_CHECKED:
		return arithmetic_fails(x, s, integer_at(x, s->a, row), integer_at(x, s->b, row)) ? FAILS : FINE;
	case RQL_STEP_DIV:
	case RQL_STEP_MOD:
		if (real)
			return s->imm && real_at(x, s->b, row) == 0 ? IS_NULL : FINE;
		return divide(x, s, integer_at(x, s->a, row), integer_at(x, s->b, row));
	case RQL_STEP_CHECK:
		return outside(x, s, integer_at(x, s->a, row)) ? FAILS : FINE;
	case RQL_STEP_SCALE_DOWN:
		return outside(x, s, scaled_down(x, s, integer_at(x, s->a, row))) ? FAILS : FINE;
	case RQL_STEP_ROUND: {
		double v = real_at(x, s->a, row);
		return v >= (double)x->program->constants[s->imm].integer &&
		               v < (double)(x->program->constants[s->imm + 1].integer + 1)
		           ? FINE
		           : FAILS;
	}
	case RQL_STEP_CONVERT:
		return isinf((float)real_at(x, s->a, row)) && !isinf(real_at(x, s->a, row)) ? FAILS : FINE;
	case RQL_STEP_MICROS: {
		rql_int128 day = integer_at(x, s->a, row);
		return rql_day_finite((int32_t)day) && (day > RQL_DAY_TIMESTAMP_MAX || day < -RQL_DAY_TIMESTAMP_MAX) ? FAILS
		                                                                                                     : FINE;
	}
	case RQL_STEP_DATE_PART:
		return rql_day_finite((int32_t)integer_at(x, s->a, row)) ? FINE : IS_NULL;
	case RQL_STEP_TIME_PART:
		return rql_micros_finite((int64_t)integer_at(x, s->a, row)) ? FINE : IS_NULL;
	case RQL_STEP_LOOKUP:
		return (uint32_t)integer_at(x, s->a, row) < x->program->tables[s->imm].count ? FINE : IS_NULL;
	default:
		return FINE;
	}
}

/* ---- the texts ---- */
static const char *physical_name(struct rql_type type)
{
	static const char *const names[] = {
		[RQL_TYPE_BOOLEAN] = "BOOL",    [RQL_TYPE_TINYINT] = "INT8",     [RQL_TYPE_SMALLINT] = "INT16",
		[RQL_TYPE_INTEGER] = "INT32",   [RQL_TYPE_BIGINT] = "INT64",     [RQL_TYPE_HUGEINT] = "INT128",
		[RQL_TYPE_UTINYINT] = "UINT8",  [RQL_TYPE_USMALLINT] = "UINT16", [RQL_TYPE_UINTEGER] = "UINT32",
		[RQL_TYPE_UBIGINT] = "UINT64",  [RQL_TYPE_UHUGEINT] = "UINT128", [RQL_TYPE_FLOAT] = "FLOAT",
		[RQL_TYPE_DOUBLE] = "DOUBLE",   [RQL_TYPE_DATE] = "INT32",       [RQL_TYPE_TIMESTAMP] = "INT64",
		[RQL_TYPE_DECIMAL] = "DECIMAL",
	};
	return type.id < sizeof(names) / sizeof(names[0]) && names[type.id] ? names[type.id] : "?";
}

static void put_integer(struct rql_strbuf *out, rql_int128 v, unsigned scale)
{
	char digits[64];
	unsigned n = 0;
	rql_uint128 rest = v < 0 ? 0u - (rql_uint128)v : (rql_uint128)v;
	do {
		digits[n++] = (char)('0' + (int)(rest % 10));
		rest /= 10;
	} while ((rest || n <= scale) && n < sizeof(digits));
	if (v < 0)
		rql_strbuf_putc(out, '-');
	while (n--) {
		rql_strbuf_putc(out, digits[n]);
		if (n && n == scale)
			rql_strbuf_putc(out, '.');
	}
}

static void put_operand(struct rql_strbuf *out, const struct rql_exec *x, uint16_t reg, uint32_t row, unsigned scale)
{
	uint8_t kind = x->program->regs[reg].kind;
	if (kind == RQL_LANE_F32 || kind == RQL_LANE_F64)
		rql_strbuf_printf(out, "%.17g", real_at(x, reg, row));
	else
		put_integer(out, integer_at(x, reg, row), scale);
}

static void put_overflow(struct rql_strbuf *out, const struct rql_exec *x, const struct rql_step *s, uint32_t row)
{
	bool decimal = s->detail == RQL_STEP_OVERFLOW_DECIMAL, add = s->op == RQL_STEP_ADD_CHECKED;
	bool multiply = s->op == RQL_STEP_MUL_CHECKED;
	struct rql_type type = {.id = (rql_type_id)(s->from & 255)};
	rql_strbuf_printf(out, "Out of Range Error: Overflow in %s of ",
	                  add        ? "addition"
	                  : multiply ? "multiplication"
	                             : "subtraction");
	if (decimal)
		rql_strbuf_printf(out, "DECIMAL(%u) (", s->count > 18 ? 38u : 18u);
	else
		rql_strbuf_printf(out, "%s (", physical_name(type));
	put_operand(out, x, s->a, row, 0);
	rql_strbuf_put(out, add ? " + " : multiply ? " * " : " - ");
	put_operand(out, x, s->b, row, 0);
	if (!decimal)
		rql_strbuf_put(out, ")!");
	else if (s->count <= 18)
		rql_strbuf_put(out, "). You might want to add an explicit cast to a bigger decimal.");
	else if (multiply)
		rql_strbuf_put(out, "). You might want to add an explicit cast to a decimal with a smaller scale.");
	else
		rql_strbuf_put(out, ");");
}

static void put_cast(struct rql_strbuf *out, const struct rql_exec *x, const struct rql_step *s, uint32_t row)
{
	struct rql_type from = {.id = (rql_type_id)(s->from & 255), .scale = (uint8_t)(s->from >> 8)};
	struct rql_type to = rql_step_unpack_to(s->count);
	rql_strbuf_put(out, "Conversion Error: ");
	switch (s->detail) {
	case RQL_STEP_CAST_TO_DECIMAL:
		rql_strbuf_put(out, "Could not cast value ");
		put_operand(out, x, s->a, row, 0);
		rql_strbuf_put(out, " to ");
		rql_type_print(out, to);
		return;
	case RQL_STEP_CAST_FROM_DECIMAL:
		rql_strbuf_put(out, "Failed to cast decimal value ");
		if (s->op == RQL_STEP_SCALE_DOWN)
			put_integer(out, scaled_down(x, s, integer_at(x, s->a, row)), 0);
		else
			put_operand(out, x, s->a, row, 0);
		rql_strbuf_printf(out, " to type %s", physical_name(to));
		return;
	case RQL_STEP_CAST_DECIMAL:
		rql_strbuf_put(out, "Casting value \"");
		put_operand(out, x, s->a, row, from.scale);
		rql_strbuf_put(out, "\" to type ");
		rql_type_print(out, to);
		rql_strbuf_put(out, " failed: value is out of range!");
		return;
	default:
		rql_strbuf_printf(out, "Type %s with value ", physical_name(from));
		put_operand(out, x, s->a, row, 0);
		rql_strbuf_printf(out, " can't be cast because the value is out of range for the destination type %s",
		                  physical_name(to));
	}
}

static rql_status raise(const struct rql_exec *x, const struct rql_step *s, uint32_t row, struct rql_error *err)
{
	struct rql_strbuf text = {0};
	switch (s->detail) {
	case RQL_STEP_OVERFLOW_INT:
	case RQL_STEP_OVERFLOW_DECIMAL:
		put_overflow(&text, x, s, row);
		break;
	case RQL_STEP_OVERFLOW_DIVISION:
		rql_strbuf_put(&text, "Out of Range Error: Overflow in division of ");
		put_operand(&text, x, s->a, row, 0);
		rql_strbuf_put(&text, " / ");
		put_operand(&text, x, s->b, row, 0);
		break;
	case RQL_STEP_OVERFLOW_NEGATION:
		rql_strbuf_put(&text, "Out of Range Error: Overflow in negation of numeric value!");
		break;
	case RQL_STEP_OVERFLOW_ABS:
		rql_strbuf_put(&text, "Out of Range Error: Overflow on abs(");
		put_operand(&text, x, s->a, row, 0);
		rql_strbuf_putc(&text, ')');
		break;
	case RQL_STEP_TIMESTAMP_RANGE:
		rql_strbuf_put(&text, "Conversion Error: Date and time not in timestamp range");
		break;
	default:
		put_cast(&text, x, s, row);
	}
	rql_status status = text.failed ? rql_error_memory(err, 0, "an error's text")
	                                : rql_error_set(err, RQL_ERROR_HOST, "%s", rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	return status;
}

/* ---- rows ---- */
static void make_null(struct rql_exec *x, uint16_t reg, uint32_t row)
{
	struct rql_reg_slot *slot = &x->slots[reg];
	if (slot->valid != slot->own_valid) {
		for (uint32_t w = 0; w < x->words; w++)
			slot->own_valid[w] = slot->valid ? slot->valid[w] : ~UINT64_C(0);
		slot->valid = slot->own_valid;
	}
	rql_bit_clear(slot->own_valid, row);
}

rql_status rql_step_judge(struct rql_exec *x, const struct rql_step *s, const uint64_t *rows, struct rql_error *err)
{
	for (uint32_t w = 0; w < x->words; w++) {
		const uint64_t *valid = x->slots[s->dst].valid;
		for (uint64_t left = rows[w] & (valid ? valid[w] : ~UINT64_C(0)); left; left &= left - 1) {
			uint32_t row = w * 64 + (uint32_t)__builtin_ctzll(left);
			enum verdict verdict = judge_row(x, s, row);
			if (verdict == FAILS && s->detail != RQL_STEP_TRY)
				return raise(x, s, row, err);
			if (verdict != FINE)
				make_null(x, s->dst, row);
		}
	}
	return RQL_OK;
}
