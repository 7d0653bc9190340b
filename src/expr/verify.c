/* Is a program from anywhere safe to run? Everything that a kernel relies on is checked here and nowhere else. */
#include <stdlib.h>
#include "expr/expr_internal.h"

struct verifier {
	const struct rql_program *p;
	uint8_t *defined; /* of each register */
	struct rql_error *err;
};

static rql_status bad(struct verifier *v, uint32_t step, const char *what)
{
	return rql_error_set(v->err, RQL_ERROR_CORRUPT, "an expression program: step %u: %s", step, what);
}

static rql_status bad_program(struct verifier *v, const char *what)
{
	return rql_error_set(v->err, RQL_ERROR_CORRUPT, "an expression program: %s", what);
}

static bool readable(const struct verifier *v, uint16_t reg)
{
	return reg < v->p->reg_count && v->defined[reg];
}

static bool constants_exist(const struct rql_program *p, uint32_t first, uint32_t count)
{
	return first <= p->constant_count && count <= p->constant_count - first;
}

static bool integer_fits(rql_int128 v, enum rql_lane_kind kind)
{
	return kind == RQL_LANE_I32 ? v == (int32_t)v : kind == RQL_LANE_I64 ? v == (int64_t)v : true;
}

/* ---- registers, inputs, tables ---- */
static rql_status check_regs(struct verifier *v)
{
	const struct rql_program *p = v->p;
	for (uint32_t i = 0; i < p->reg_count; i++) {
		const struct rql_reg *reg = &p->regs[i];
		if (reg->kind >= RQL_LANE_KIND_COUNT || reg->role > RQL_REG_CONSTANT)
			return bad_program(v, "a register of unknown kind or role");
		if (reg->role == RQL_REG_INPUT && (reg->index >= p->input_count || p->inputs[reg->index].reg != i ||
		                                   p->inputs[reg->index].kind != (enum rql_lane_kind)reg->kind))
			return bad_program(v, "a register and its input do not belong together");
		if (reg->role == RQL_REG_CONSTANT && reg->index != UINT16_MAX && reg->index >= p->constant_count)
			return bad_program(v, "a register of a constant that does not exist");
		v->defined[i] = reg->role != RQL_REG_STEP;
	}
	for (uint32_t i = 0; i < p->input_count; i++)
		if (p->inputs[i].reg >= p->reg_count || p->regs[p->inputs[i].reg].role != RQL_REG_INPUT ||
		    p->regs[p->inputs[i].reg].index != i)
			return bad_program(v, "an input without a register");
	for (uint32_t i = 0; i < p->table_count; i++)
		if ((unsigned)p->tables[i].kind >= RQL_LANE_KIND_COUNT || p->tables[i].count == 0 || !p->tables[i].data)
			return bad_program(v, "a table that is empty or of unknown kind");
	return RQL_OK;
}

/* ---- steps ---- */
static const char *convert_fault(enum rql_lane_kind from, enum rql_lane_kind to)
{
	bool from_real = from == RQL_LANE_F32 || from == RQL_LANE_F64, to_real = to == RQL_LANE_F32 || to == RQL_LANE_F64;
	if (from == to || to == RQL_LANE_BOOL || (from_real && !to_real) || (from == RQL_LANE_BOOL && to != RQL_LANE_I32))
		return "no such conversion";
	return NULL;
}

static const char *constants_fault(const struct rql_program *p, const struct rql_step *s)
{
	bool real = s->kind == RQL_LANE_F32 || s->kind == RQL_LANE_F64, scale = false;
	enum rql_lane_kind kind = s->op == RQL_STEP_ROUND ? RQL_LANE_I64 : (enum rql_lane_kind)s->kind;
	if (s->op == RQL_STEP_IN_LIST) {
		if (s->count == 0 || !constants_exist(p, s->imm, s->count))
			return "its list is empty or outside the constants";
		for (uint32_t i = 0; !real && i < s->count; i++)
			if (!integer_fits(p->constants[s->imm + i].integer, kind))
				return "a listed constant does not fit the kind";
		return NULL;
	}
	if (!rql_step_infos[s->op].checked || (real && s->op != RQL_STEP_ROUND))
		return NULL;
	scale = s->op == RQL_STEP_SCALE_DOWN;
	if (!constants_exist(p, s->imm, scale ? 3 : 2))
		return "its bounds are outside the constants";
	if (!integer_fits(p->constants[s->imm].integer, kind) || !integer_fits(p->constants[s->imm + 1].integer, kind))
		return "its bounds do not fit the kind";
	/* twice a remainder must not overflow, and no divisor is 0 or -1 */
	rql_int128 most = (rql_int128)INT64_MAX * INT64_MAX / 2;
	if (scale && (p->constants[s->imm + 2].integer < 2 || p->constants[s->imm + 2].integer > most ||
	              !integer_fits(p->constants[s->imm + 2].integer, kind)))
		return "its factor is no power of ten";
	return NULL;
}

bool rql_program_can_fail(const struct rql_program *program)
{
	for (uint32_t i = 0; i < program->step_count; i++) {
		const struct rql_step *s = &program->steps[i];
		const bool part = s->op == RQL_STEP_DATE_PART || s->op == RQL_STEP_TIME_PART || s->op == RQL_STEP_DATE_TRUNC;
		if (!part && s->detail != RQL_STEP_NO_ERROR && s->detail != RQL_STEP_TRY)
			return true;
	}
	return false;
}

/* What step_error.c needs to write the text: the operands that it names, a type that can be printed. */
static const char *error_fault(const struct rql_step *s)
{
	struct rql_type to = rql_step_unpack_to(s->count);
	bool two = rql_step_infos[s->op].operands[1] == 'b';
	switch (s->detail) {
	case RQL_STEP_OVERFLOW_INT:
	case RQL_STEP_OVERFLOW_DECIMAL:
	case RQL_STEP_OVERFLOW_DIVISION:
		return two ? NULL : "an error of two operands";
	case RQL_STEP_CAST_TO_DECIMAL:
	case RQL_STEP_CAST_DECIMAL:
		return to.id == RQL_TYPE_DECIMAL ? NULL : "a cast's error without its type";
	default:
		return s->detail < RQL_STEP_ERROR_COUNT ? NULL : "an unknown error";
	}
}

static const char *detail_fault(const struct rql_step *s)
{
	struct rql_type to = rql_step_unpack_to(s->count);
	switch (s->op) {
	case RQL_STEP_DATE_PART:
		return s->detail <= RQL_PART_DAY_OF_YEAR ? NULL : "no part of a date";
	case RQL_STEP_TIME_PART:
		return s->detail >= RQL_PART_HOUR && s->detail < RQL_PART_COUNT ? NULL : "no part of a time";
	case RQL_STEP_DATE_TRUNC:
		return s->detail <= RQL_PART_WEEK ? NULL : "dates are not truncated to that";
	case RQL_STEP_ROUND:
		if (to.id >= RQL_TYPE_COUNT || !rql_type_is_integer(to) || rql_type_bytes(to) > 8)
			return "rounds to no integer of up to 64 bits";
		return error_fault(s);
	default:
		return error_fault(s);
	}
}

static const char *result_fault(const struct rql_program *p, const struct rql_step *s)
{
	enum rql_lane_kind dst = (enum rql_lane_kind)p->regs[s->dst].kind, a = (enum rql_lane_kind)p->regs[s->a].kind;
	if (s->op == RQL_STEP_CONVERT)
		return s->kind == dst ? convert_fault(a, dst) : "its kind is not its result's";
	if (s->op == RQL_STEP_LOOKUP)
		return s->imm >= p->table_count        ? "a table that does not exist"
		       : p->tables[s->imm].kind != dst ? "its table is of another kind"
		                                       : NULL;
	return rql_step_result_kind((enum rql_step_op)s->op, (enum rql_lane_kind)s->kind) == dst
	           ? NULL
	           : "its result is of another kind";
}

static const char *step_fault(struct verifier *v, const struct rql_step *s)
{
	const struct rql_program *p = v->p;
	if (s->op >= RQL_STEP_COUNT || s->kind >= RQL_LANE_KIND_COUNT || !(rql_step_infos[s->op].kinds >> s->kind & 1))
		return "no such operation for that kind";
	const struct rql_step_info *info = &rql_step_infos[s->op];
	const uint16_t operands[] = {s->a, s->b, s->c};
	if (s->dst >= p->reg_count || p->regs[s->dst].role != RQL_REG_STEP)
		return "its result is no register that may be written";
	if (s->mask != RQL_REG_NONE &&
	    (!readable(v, s->mask) || p->regs[s->mask].kind != RQL_LANE_BOOL || s->mask == s->dst))
		return "its mask is no mask";
	for (unsigned i = 0; i < 3; i++) {
		bool used = i < strlen(info->operands);
		if (!used && operands[i] != RQL_REG_NONE)
			return "an operand too many";
		if (!used)
			continue;
		if (!readable(v, operands[i]) || operands[i] == s->dst)
			return "an operand that is not there";
		uint8_t kind = i == 2 ? RQL_LANE_BOOL : s->kind; /* CHOOSE's condition */
		if (s->op != RQL_STEP_CONVERT && p->regs[operands[i]].kind != kind)
			return "an operand of another kind";
	}
	const char *fault = result_fault(p, s);
	if (!fault)
		fault = constants_fault(p, s);
	return fault ? fault : detail_fault(s);
}

static rql_status check_all(struct verifier *v)
{
	const struct rql_program *p = v->p;
	RQL_TRY(check_regs(v));
	for (uint32_t i = 0; i < p->step_count; i++) {
		const char *fault = step_fault(v, &p->steps[i]);
		if (fault)
			return bad(v, i, fault);
		v->defined[p->steps[i].dst] = 1;
	}
	for (uint32_t i = 0; i < p->result_count; i++)
		if (!readable(v, p->results[i].reg) || (uint8_t)p->results[i].kind != p->regs[p->results[i].reg].kind)
			return bad_program(v, "a result that no step computes");
	return RQL_OK;
}

rql_status rql_program_verify(const struct rql_program *program, struct rql_error *err)
{
	struct verifier v = {.p = program, .err = err};
	if (program->step_count > RQL_PROGRAM_MAX_STEPS || program->reg_count > RQL_PROGRAM_MAX_REGS)
		return bad_program(&v, "too many steps or registers");
	v.defined = calloc(program->reg_count + 1, 1);
	if (!v.defined)
		return rql_error_memory(err, program->reg_count + 1, "verifying an expression");
	rql_status status = check_all(&v);
	free(v.defined);
	return status;
}
