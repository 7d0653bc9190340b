/* The catalogue of steps, and programs as text. */
#include <inttypes.h>
#include "expr/expr_internal.h"

#define K(kind) (1u << RQL_LANE_##kind)
#define INTS (K(I32) | K(I64) | K(I128))
#define WIDE (K(I64) | K(I128))
#define REALS (K(F32) | K(F64))
#define ANY (K(BOOL) | INTS | REALS)

/* Names and operands come from RQL_STEPS; the rest is here, in the same order. */
#define STRICT(k) .nulls = RQL_NULLS_STRICT, .kinds = (k)
#define NEVER(k) .nulls = RQL_NULLS_NEVER, .kinds = (k)
#define OWN(k) .nulls = RQL_NULLS_OWN, .kinds = (k)
#define INFO_ADD STRICT(INTS | REALS)
#define INFO_SUB STRICT(INTS | REALS)
#define INFO_MUL STRICT(INTS | REALS)
#define INFO_MUL_WIDE STRICT(K(I32) | K(I64))
#define INFO_ADD_CHECKED STRICT(WIDE), .checked = true
#define INFO_SUB_CHECKED STRICT(WIDE), .checked = true
#define INFO_MUL_CHECKED STRICT(WIDE), .checked = true
#define INFO_DIV STRICT(WIDE | REALS), .checked = true /* the integer kinds */
#define INFO_MOD STRICT(WIDE | REALS), .checked = true
#define INFO_NEG STRICT(INTS | REALS)
#define INFO_ABS STRICT(INTS | REALS)
#define INFO_CHECK STRICT(INTS), .checked = true
#define INFO_CONVERT STRICT(ANY)
#define INFO_ROUND STRICT(K(F64)), .checked = true
#define INFO_SCALE_DOWN STRICT(WIDE), .checked = true
#define INFO_EQ STRICT(ANY), .boolean = true
#define INFO_NE STRICT(ANY), .boolean = true
#define INFO_LT STRICT(ANY), .boolean = true
#define INFO_LE STRICT(ANY), .boolean = true
#define INFO_GT STRICT(ANY), .boolean = true
#define INFO_GE STRICT(ANY), .boolean = true
#define INFO_SAME NEVER(ANY), .boolean = true
#define INFO_DIFFERENT NEVER(ANY), .boolean = true
#define INFO_INSIDE STRICT(INTS), .checked = true, .boolean = true
#define INFO_IN_LIST STRICT(INTS | REALS), .boolean = true
#define INFO_LOOKUP OWN(K(I32))
#define INFO_AND OWN(K(BOOL)), .boolean = true
#define INFO_OR OWN(K(BOOL)), .boolean = true
#define INFO_NOT STRICT(K(BOOL)), .boolean = true
#define INFO_IS_NULL NEVER(ANY), .boolean = true
#define INFO_IS_NOT_NULL NEVER(ANY), .boolean = true
#define INFO_MASK_TRUE NEVER(K(BOOL)), .boolean = true
#define INFO_MASK_NOT_TRUE NEVER(K(BOOL)), .boolean = true
#define INFO_MASK_NOT_FALSE NEVER(K(BOOL)), .boolean = true
#define INFO_MASK_NULL NEVER(ANY), .boolean = true
#define INFO_CHOOSE OWN(ANY)
#define INFO_DATE_PART STRICT(K(I32))
#define INFO_DATE_TRUNC STRICT(K(I32))
#define INFO_DAYS STRICT(K(I64))
#define INFO_MICROS STRICT(K(I32))
#define INFO_TIME_PART STRICT(K(I64))

const struct rql_step_info rql_step_infos[RQL_STEP_COUNT] = {
#define X(step, letters) [RQL_STEP_##step] = {.name = #step, .operands = letters, INFO_##step},
	RQL_STEPS(X)
#undef X
};

enum rql_lane_kind rql_step_result_kind(enum rql_step_op op, enum rql_lane_kind kind)
{
	if (rql_step_infos[op].boolean)
		return RQL_LANE_BOOL;
	switch (op) {
	case RQL_STEP_MUL_WIDE:
		return kind == RQL_LANE_I32 ? RQL_LANE_I64 : RQL_LANE_I128;
	case RQL_STEP_ROUND:
	case RQL_STEP_MICROS:
		return RQL_LANE_I64;
	case RQL_STEP_DAYS:
		return RQL_LANE_I32;
	default:
		return kind;
	}
}

static const struct {
	const char *name;
	unsigned bytes;
} lane_kinds[] = {
#define X(kind, width) [RQL_LANE_##kind] = {#kind, width},
	RQL_LANE_KINDS(X)
#undef X
};

const char *rql_lane_kind_name(enum rql_lane_kind kind)
{
	return (unsigned)kind < RQL_LANE_KIND_COUNT ? lane_kinds[kind].name : "?";
}

unsigned rql_lane_bytes(enum rql_lane_kind kind)
{
	return lane_kinds[kind].bytes;
}

/* ---- printing ---- */
static void print_integer(struct rql_strbuf *out, rql_int128 v)
{
	struct rql_strbuf text = {0};
	struct rql_value value = {.type = rql_type_simple(RQL_TYPE_HUGEINT), .integer = v};
	if ((int64_t)v == v)
		rql_strbuf_printf(out, "%" PRId64, (int64_t)v);
	else if (rql_value_print(&text, &value))
		rql_strbuf_put(out, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
}

static void print_constant(struct rql_strbuf *out, const struct rql_program *p, uint32_t index, enum rql_lane_kind kind)
{
	if (index >= p->constant_count)
		rql_strbuf_put(out, "?");
	else if (kind == RQL_LANE_F32 || kind == RQL_LANE_F64)
		rql_strbuf_printf(out, "%.17g", p->constants[index].real);
	else
		print_integer(out, p->constants[index].integer);
}

static void print_reg(struct rql_strbuf *out, const struct rql_program *p, uint16_t r)
{
	if (r >= p->reg_count) {
		rql_strbuf_put(out, "?");
		return;
	}
	const struct rql_reg *reg = &p->regs[r];
	if (reg->role == RQL_REG_INPUT && reg->index < p->input_count)
		rql_strbuf_printf(out, "#%u", p->inputs[reg->index].column);
	else if (reg->role == RQL_REG_CONSTANT && reg->index == UINT16_MAX)
		rql_strbuf_put(out, "NULL");
	else if (reg->role == RQL_REG_CONSTANT)
		print_constant(out, p, reg->index, (enum rql_lane_kind)reg->kind);
	else
		rql_strbuf_printf(out, "r%u", r);
}

/* Constants, table and part of a date. */
static void print_details(struct rql_strbuf *out, const struct rql_program *p, const struct rql_step *s)
{
	static const char *const parts[] = {"year",   "month",     "day",  "quarter", "week",  "dayofweek",
	                                    "isodow", "dayofyear", "hour", "minute",  "second"};
	_Static_assert(sizeof(parts) / sizeof(parts[0]) == RQL_PART_COUNT, "every part has a name");
	const struct rql_step_info *info = &rql_step_infos[s->op];
	bool real = s->kind == RQL_LANE_F32 || s->kind == RQL_LANE_F64;
	uint32_t constants = info->checked && (!real || s->op == RQL_STEP_ROUND) ? 2
	                     : s->op == RQL_STEP_IN_LIST                         ? s->count
	                                                                         : 0;
	for (uint32_t i = 0; i < constants; i++) {
		rql_strbuf_put(out, i ? ", " : " [");
		print_constant(out, p, s->imm + i, s->op == RQL_STEP_ROUND ? RQL_LANE_I64 : (enum rql_lane_kind)s->kind);
	}
	rql_strbuf_put(out, constants ? "]" : "");
	if (s->op == RQL_STEP_SCALE_DOWN) {
		rql_strbuf_put(out, " by ");
		print_constant(out, p, s->imm + 2, (enum rql_lane_kind)s->kind);
	}
	if (s->op == RQL_STEP_LOOKUP)
		rql_strbuf_printf(out, " table %u", s->imm);
	if ((s->op == RQL_STEP_DATE_PART || s->op == RQL_STEP_DATE_TRUNC || s->op == RQL_STEP_TIME_PART) &&
	    s->detail < RQL_PART_COUNT)
		rql_strbuf_printf(out, " %s", parts[s->detail]);
}

static void print_step(struct rql_strbuf *out, const struct rql_program *p, const struct rql_step *s)
{
	if (s->op >= RQL_STEP_COUNT) {
		rql_strbuf_put(out, "?\n");
		return;
	}
	const struct rql_step_info *info = &rql_step_infos[s->op];
	const uint16_t operands[] = {s->a, s->b, s->c};
	print_reg(out, p, s->dst);
	rql_strbuf_printf(out, " = %s", info->name);
	for (unsigned i = 0; info->operands[i]; i++) {
		rql_strbuf_putc(out, ' ');
		print_reg(out, p, operands[i]);
	}
	print_details(out, p, s);
	rql_strbuf_printf(out, " : %s",
	                  rql_lane_kind_name(s->dst < p->reg_count ? p->regs[s->dst].kind : RQL_LANE_KIND_COUNT));
	if (s->mask != RQL_REG_NONE) {
		rql_strbuf_put(out, " where ");
		print_reg(out, p, s->mask);
	}
	rql_strbuf_putc(out, '\n');
}

void rql_program_print(struct rql_strbuf *out, const struct rql_program *p)
{
	for (uint32_t i = 0; i < p->step_count; i++)
		print_step(out, p, &p->steps[i]);
	rql_strbuf_put(out, "result");
	for (uint32_t i = 0; i < p->result_count; i++) {
		rql_strbuf_put(out, i ? ", " : " ");
		print_reg(out, p, p->results[i].reg);
		rql_strbuf_put(out, " : ");
		rql_type_print(out, p->results[i].type);
	}
	rql_strbuf_putc(out, '\n');
}
