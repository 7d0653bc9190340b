/* A program as an interpreter's words, as specialization constants, as SPIR-V. */
#include "bench/alone/executor.h"

#include <stdlib.h>
#include <string.h>

#include "device/spirv.h"

static rql_status check_program(const struct rql_program *p, struct rql_error *err)
{
	if (p->step_count + 2 > RQL_EXECUTOR_STEPS || p->constant_count > RQL_EXECUTOR_KEPT)
		return rql_error_set(err, RQL_ERROR_LIMIT, "the program has %u steps and %u constants", p->step_count,
		                     p->constant_count);
	bool fits = p->input_count == RQL_EXECUTOR_COLUMNS && p->result_count == 3;
	for (uint32_t i = 0; fits && i < p->input_count; i++)
		fits = p->inputs[i].column == i && p->inputs[i].kind == RQL_LANE_I32;
	for (uint32_t r = 0; fits && r < p->reg_count; r++)
		fits = p->regs[r].kind <= RQL_LANE_I64 &&
		       (p->regs[r].role != RQL_REG_CONSTANT ||
		        (p->regs[r].index < p->constant_count && p->regs[r].kind != RQL_LANE_BOOL));
	return fits ? RQL_OK : rql_error_set(err, RQL_ERROR_UNSUPPORTED, "the program's inputs, results or registers");
}

/* What a step is here, with its operands perhaps exchanged; RQL_EXECUTOR_NONE: nothing. */
static uint32_t operation_of(const struct rql_program *p, const struct rql_step *s, bool *exchanged)
{
	static const struct {
		uint8_t step, op;
		bool exchanged;
	} known[] = {{RQL_STEP_ADD, RQL_EXECUTOR_ADD, false},       {RQL_STEP_SUB, RQL_EXECUTOR_SUB, false},
	             {RQL_STEP_MUL, RQL_EXECUTOR_MUL, false},       {RQL_STEP_LT, RQL_EXECUTOR_LT, false},
	             {RQL_STEP_LE, RQL_EXECUTOR_LE, false},         {RQL_STEP_GT, RQL_EXECUTOR_LT, true},
	             {RQL_STEP_GE, RQL_EXECUTOR_LE, true},          {RQL_STEP_EQ, RQL_EXECUTOR_EQ, false},
	             {RQL_STEP_CHOOSE, RQL_EXECUTOR_CHOOSE, false}, {RQL_STEP_AND, RQL_EXECUTOR_AND, false},
	             {RQL_STEP_OR, RQL_EXECUTOR_OR, false},         {RQL_STEP_NOT, RQL_EXECUTOR_NOT, false}};
	*exchanged = false;
	if (s->mask != RQL_REG_NONE)
		return RQL_EXECUTOR_NONE;
	if (s->op == RQL_STEP_MUL_WIDE)
		return s->kind == RQL_LANE_I32 ? RQL_EXECUTOR_MUL_WIDE : RQL_EXECUTOR_NONE;
	if (s->op == RQL_STEP_CONVERT) {
		uint8_t from = p->regs[s->a].kind;
		return from == RQL_LANE_I32 && s->kind == RQL_LANE_I64   ? RQL_EXECUTOR_WIDEN
		       : from == RQL_LANE_I64 && s->kind == RQL_LANE_I32 ? RQL_EXECUTOR_NARROW
		                                                         : RQL_EXECUTOR_NONE;
	}
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].step == s->op) {
			*exchanged = known[i].exchanged;
			return known[i].op + (s->kind == RQL_LANE_I64);
		}
	return RQL_EXECUTOR_NONE;
}

static rql_status refuse_step(const struct rql_program *p, const struct rql_step *s, struct rql_error *err)
{
	return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "step %u: operation %u of %s", (unsigned)(s - p->steps), s->op,
	                     rql_lane_kind_name((enum rql_lane_kind)s->kind));
}

/* ---- words ---- */

static uint32_t place_of(const struct rql_program *p, const uint32_t *words, uint32_t lanes,
                         const struct rql_executor_code *code, uint16_t reg)
{
	if (reg == RQL_REG_NONE)
		return 0;
	if (p->regs[reg].role == RQL_REG_CONSTANT)
		return code->constants_at + p->regs[reg].index * (lanes ? 1 : 2);
	return lanes ? words[reg] * lanes | RQL_EXECUTOR_OF_LANE : words[reg];
}

rql_status rql_executor_flatten(const struct rql_program *p, uint32_t lanes, struct rql_executor_code *out,
                                struct rql_error *err)
{
	uint32_t words[256], next = RQL_EXECUTOR_COLUMNS;
	struct rql_executor_code code = {0};
	RQL_TRY(check_program(p, err));
	if (p->reg_count > 256)
		return rql_error_set(err, RQL_ERROR_LIMIT, "the program has %u registers", p->reg_count);
	for (uint32_t r = 0; r < p->reg_count; r++) {
		bool step = p->regs[r].role == RQL_REG_STEP;
		words[r] = step ? next : p->regs[r].index;
		next += !step ? 0 : p->regs[r].kind == RQL_LANE_I64 ? 2 : 1;
	}
	code.constants_at = lanes ? next * lanes : next;
	/* In shared memory a constant's second word is `lanes` places on, as a register's is. */
	code.places = lanes ? (next + 2) * lanes : next + 2 * RQL_EXECUTOR_KEPT;
	for (uint32_t i = 0; i < p->step_count; i++) {
		const struct rql_step *s = &p->steps[i];
		bool exchanged;
		uint32_t op = operation_of(p, s, &exchanged), *to = code.steps[code.step_count++];
		uint32_t a = place_of(p, words, lanes, &code, exchanged ? s->b : s->a);
		uint32_t b = place_of(p, words, lanes, &code, exchanged ? s->a : s->b);
		if (!op)
			return refuse_step(p, s, err);
		to[0] = op;
		to[1] = place_of(p, words, lanes, &code, s->dst);
		to[2] = a | b << 16;
		to[3] = place_of(p, words, lanes, &code, s->c);
	}
	for (uint32_t r = 0; r < 2; r++) {
		uint32_t *to = code.steps[code.step_count++];
		to[0] = RQL_EXECUTOR_SUM + (p->results[r].kind == RQL_LANE_I64);
		to[1] = r;
		to[2] = place_of(p, words, lanes, &code, p->results[r].reg) |
		        place_of(p, words, lanes, &code, p->results[2].reg) << 16;
	}
	*out = code;
	return RQL_OK;
}

/* ---- specialization constants ---- */

#define FIRST_CONSTANT 16u
#define CONSTANTS (FIRST_CONSTANT + 4 * RQL_EXECUTOR_STEPS)

rql_status rql_executor_specialize(const struct rql_executor_code *code, const uint32_t *spirv, uint64_t bytes,
                                   uint32_t **words, struct rql_error *err)
{
	enum { HEADER_WORDS = 5, OP_SPEC_CONSTANT = 50, OP_DECORATE = 71, SPEC_ID = 1 };
	uint32_t ids[CONSTANTS] = {0}, *w = malloc(bytes);
	if (!w)
		return rql_error_memory(err, bytes, "a shader's code");
	memcpy(w, spirv, bytes);
	for (uint64_t at = HEADER_WORDS; at < bytes / 4; at += w[at] >> 16 ? w[at] >> 16 : 1) {
		uint32_t op = w[at] & 0xffff;
		if (op == OP_DECORATE && w[at + 2] == SPEC_ID && w[at + 3] < CONSTANTS)
			ids[w[at + 3]] = w[at + 1];
		for (uint32_t i = FIRST_CONSTANT; op == OP_SPEC_CONSTANT && i < CONSTANTS; i++)
			if (ids[i] == w[at + 2])
				w[at + 3] = code->steps[(i - FIRST_CONSTANT) / 4][(i - FIRST_CONSTANT) % 4];
	}
	*words = w;
	return RQL_OK;
}

/* ---- generated code ---- */

static enum rql_spirv_type type_of(uint8_t kind)
{
	return kind == RQL_LANE_BOOL ? RQL_SPIRV_BOOL : kind == RQL_LANE_I32 ? RQL_SPIRV_U32 : RQL_SPIRV_U64;
}

static uint32_t generate_step(struct rql_spirv *m, const struct rql_program *p, const struct rql_step *s,
                              const uint32_t *ids)
{
	static const enum rql_spirv_op ops[RQL_EXECUTOR_NOT + 1] = {
		[RQL_EXECUTOR_ADD] = RQL_SPIRV_ADD,         [RQL_EXECUTOR_SUB] = RQL_SPIRV_SUB,
		[RQL_EXECUTOR_MUL] = RQL_SPIRV_MUL,         [RQL_EXECUTOR_LT] = RQL_SPIRV_S_LESS,
		[RQL_EXECUTOR_LE] = RQL_SPIRV_S_LESS_EQUAL, [RQL_EXECUTOR_EQ] = RQL_SPIRV_EQUAL,
		[RQL_EXECUTOR_AND] = RQL_SPIRV_LOGICAL_AND, [RQL_EXECUTOR_OR] = RQL_SPIRV_LOGICAL_OR};
	enum rql_spirv_type type = type_of(p->regs[s->dst].kind);
	bool exchanged;
	uint32_t op = operation_of(p, s, &exchanged), a = ids[s->a], b = s->b == RQL_REG_NONE ? 0 : ids[s->b];
	switch (op) {
	case RQL_EXECUTOR_CHOOSE:
	case RQL_EXECUTOR_CHOOSE64:
		return rql_spirv_select(m, type, ids[s->c], a, b);
	case RQL_EXECUTOR_NOT:
		return rql_spirv_op1(m, RQL_SPIRV_LOGICAL_NOT, type, a);
	case RQL_EXECUTOR_WIDEN:
		return rql_spirv_op1(m, RQL_SPIRV_S_CONVERT, type, a);
	case RQL_EXECUTOR_NARROW:
		return rql_spirv_op1(m, RQL_SPIRV_U_CONVERT, type, a);
	case RQL_EXECUTOR_MUL_WIDE:
		a = rql_spirv_op1(m, RQL_SPIRV_S_CONVERT, type, a);
		b = rql_spirv_op1(m, RQL_SPIRV_S_CONVERT, type, b);
		return rql_spirv_op2(m, RQL_SPIRV_MUL, type, a, b);
	default:
		op -= op < RQL_EXECUTOR_SUM && op % 2 == 0; /* of 64 bits: the type says so */
		return rql_spirv_op2(m, ops[op], type, exchanged ? b : a, exchanged ? a : b);
	}
}

static void generate_row(struct rql_spirv *m, const struct rql_program *p, uint32_t *ids)
{
	uint32_t columns[RQL_EXECUTOR_COLUMNS];
	rql_spirv_begin(m, "executor_row", columns, RQL_EXECUTOR_COLUMNS);
	for (uint32_t r = 0; r < p->reg_count; r++) {
		const struct rql_reg *reg = &p->regs[r];
		if (reg->role == RQL_REG_INPUT)
			ids[r] = columns[reg->index];
		if (reg->role != RQL_REG_CONSTANT)
			continue;
		uint32_t index = rql_spirv_u32(m, reg->index);
		ids[r] = rql_spirv_call(m, "executor_constant", RQL_SPIRV_U64, 1, &index);
		if (reg->kind == RQL_LANE_I32)
			ids[r] = rql_spirv_op1(m, RQL_SPIRV_U_CONVERT, RQL_SPIRV_U32, ids[r]);
	}
	for (uint32_t i = 0; i < p->step_count; i++)
		ids[p->steps[i].dst] = generate_step(m, p, &p->steps[i], ids);
	for (uint32_t r = 0; r < 2; r++) {
		uint32_t value = ids[p->results[r].reg];
		if (p->results[r].kind == RQL_LANE_I32)
			value = rql_spirv_op1(m, RQL_SPIRV_S_CONVERT, RQL_SPIRV_U64, value);
		const uint32_t args[] = {rql_spirv_u32(m, r), value, ids[p->results[2].reg]};
		(void)rql_spirv_call(m, "executor_sum", RQL_SPIRV_VOID, 3, args);
	}
	rql_spirv_end(m, 0);
}

rql_status rql_executor_generate(const struct rql_program *p, const uint32_t *spirv, uint64_t bytes, uint32_t **words,
                                 uint64_t *out_bytes, struct rql_error *err)
{
	struct rql_executor_code code;
	struct rql_spirv m;
	RQL_TRY(rql_executor_flatten(p, 0, &code, err)); /* refuses what is not here either */
	uint32_t *ids = calloc(p->reg_count, sizeof *ids);
	if (!ids)
		return rql_error_memory(err, p->reg_count * sizeof *ids, "a program's registers");
	rql_spirv_open(&m, spirv, bytes);
	generate_row(&m, p, ids);
	rql_status status = rql_spirv_finish(&m, words, out_bytes, err);
	rql_spirv_free(&m);
	free(ids);
	return status;
}
