/* A thread's registers, and running a program over them. */
#include <stdlib.h>
#include "expr/expr_internal.h"

struct rql_program_state {
	struct rql_exec exec;
	rql_step_fn **kernels;               /* one a step */
	uint64_t all_null[RQL_VECTOR_WORDS]; /* validity of a constant NULL */
	uint64_t rows[RQL_VECTOR_WORDS];     /* live rows of the run */
	uint8_t *memory;                     /* of all registers, 64-byte aligned */
};

/* ---- which kernels ---- */
static const struct rql_step_kernels *kernels_for(enum rql_simd simd)
{
#if defined(__x86_64__)
	if (simd >= RQL_SIMD_AVX512 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		return &rql_step_kernels_avx512;
	if (simd >= RQL_SIMD_AVX2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
		return &rql_step_kernels_avx2;
#endif
	(void)simd;
	return &rql_step_kernels_portable;
}

/* The kernel of a verified step. */
static rql_step_fn *kernel_of(const struct rql_step_kernels *kernels, const struct rql_program *program,
                              const struct rql_step *step)
{
	if (step->op == RQL_STEP_CONVERT)
		return kernels->convert[program->regs[step->a].kind][program->regs[step->dst].kind];
	if (step->op == RQL_STEP_LOOKUP)
		return kernels->lookup[program->tables[step->imm].kind];
	return kernels->ops[step->op][step->kind];
}

/* ---- registers ---- */
static size_t data_bytes(enum rql_lane_kind kind)
{
	return kind == RQL_LANE_BOOL ? RQL_VECTOR_WORDS * sizeof(uint64_t) : RQL_VECTOR_ROWS * (size_t)rql_lane_bytes(kind);
}

/* Registers of 4 KiB and 8 KiB side by side would all begin in the same cache set: a line apart they do not. */
static size_t slot_bytes(const struct rql_reg *reg)
{
	return reg->role == RQL_REG_INPUT ? 0 : data_bytes((enum rql_lane_kind)reg->kind) + RQL_VECTOR_WORDS * 8 + 64;
}

static void fill_constant(void *data, enum rql_lane_kind kind, const union rql_constant *value)
{
	for (uint32_t r = 0; r < (kind == RQL_LANE_BOOL ? RQL_VECTOR_WORDS : RQL_VECTOR_ROWS); r++) {
		switch (kind) {
		case RQL_LANE_BOOL:
			((uint64_t *)data)[r] = value->integer ? ~UINT64_C(0) : 0;
			break;
		case RQL_LANE_I32:
			((int32_t *)data)[r] = (int32_t)value->integer;
			break;
		case RQL_LANE_I64:
			((int64_t *)data)[r] = (int64_t)value->integer;
			break;
		case RQL_LANE_I128:
			((rql_int128 *)data)[r] = value->integer;
			break;
		case RQL_LANE_F32:
			((float *)data)[r] = (float)value->real;
			break;
		default:
			((double *)data)[r] = value->real;
		}
	}
}

static void place_registers(struct rql_program_state *state)
{
	const struct rql_program *p = state->exec.program;
	uint8_t *at = state->memory;
	for (uint32_t i = 0; i < p->reg_count; i++) {
		const struct rql_reg *reg = &p->regs[i];
		struct rql_reg_slot *slot = &state->exec.slots[i];
		if (reg->role == RQL_REG_INPUT)
			continue;
		slot->data = at;
		slot->own_valid = (uint64_t *)(at + data_bytes((enum rql_lane_kind)reg->kind));
		at += slot_bytes(reg);
		slot->constant = reg->role == RQL_REG_CONSTANT;
		if (slot->constant && reg->index == UINT16_MAX)
			slot->valid = state->all_null;
		else if (slot->constant)
			fill_constant(slot->data, (enum rql_lane_kind)reg->kind, &p->constants[reg->index]);
	}
}

rql_status rql_program_state_new(const struct rql_program *program, enum rql_simd simd, struct rql_program_state **out,
                                 struct rql_error *err)
{
	size_t bytes = 64;
	for (uint32_t i = 0; i < program->reg_count; i++)
		bytes += slot_bytes(&program->regs[i]);
	bytes = (bytes + 63) & ~(size_t)63;
	struct rql_program_state *state = calloc(1, sizeof(*state));
	if (!state)
		goto error;
	state->exec.program = program;
	state->exec.slots = calloc(program->reg_count + 1, sizeof(*state->exec.slots));
	state->kernels = calloc(program->step_count + 1, sizeof(rql_step_fn *));
	state->memory = aligned_alloc(64, bytes);
	if (!state->exec.slots || !state->kernels || !state->memory)
		goto error;
	memset(state->memory, 0, bytes); /* rows that no step has written are read as values that exist */
	place_registers(state);
	for (uint32_t i = 0; i < program->step_count; i++)
		state->kernels[i] = kernel_of(kernels_for(simd), program, &program->steps[i]);
	*out = state;
	return RQL_OK;
error:
	rql_program_state_free(state);
	return rql_error_memory(err, bytes, "the registers of an expression");
}

void rql_program_state_free(struct rql_program_state *state)
{
	if (!state)
		return;
	free(state->exec.slots);
	free((void *)state->kernels);
	free(state->memory);
	free(state);
}

/* ---- running ---- */
/* Which rows count: live ones before `rows`. Words behind are 0. */
static void set_rows(struct rql_program_state *state, uint32_t rows, const uint64_t *live)
{
	for (uint32_t w = 0; w < RQL_VECTOR_WORDS; w++) {
		uint64_t in = rows >= (w + 1) * 64 ? ~UINT64_C(0) : rows > w * 64 ? (UINT64_C(1) << (rows & 63)) - 1 : 0;
		state->rows[w] = live ? live[w] & in : in;
	}
}

/* dst is NULL where an operand is. */
static void strict_nulls(struct rql_exec *x, const struct rql_step *s)
{
	struct rql_reg_slot *dst = &x->slots[s->dst];
	const uint64_t *a = x->slots[s->a].valid, *b = s->b == RQL_REG_NONE ? NULL : x->slots[s->b].valid;
	if (a && b) {
		for (uint32_t w = 0; w < x->words; w++)
			dst->own_valid[w] = a[w] & b[w];
		dst->valid = dst->own_valid;
	} else {
		/* borrowed from a register that may be written again before dst is read: copied, unless it never changes */
		const uint64_t *one = a ? a : b;
		for (uint32_t w = 0; one && w < x->words; w++)
			dst->own_valid[w] = one[w];
		dst->valid = one ? dst->own_valid : NULL;
	}
}

/* No row of the step is wanted. */
static bool skipped(const struct rql_program_state *state, const struct rql_step *s)
{
	if (s->mask == RQL_REG_NONE)
		return false;
	const uint64_t *mask = state->exec.slots[s->mask].data;
	uint64_t any = 0;
	for (uint32_t w = 0; w < state->exec.words; w++)
		any |= mask[w] & state->rows[w];
	return any == 0;
}

static rql_status judge(struct rql_program_state *state, const struct rql_step *s, struct rql_error *err)
{
	uint64_t rows[RQL_VECTOR_WORDS];
	const uint64_t *mask = s->mask == RQL_REG_NONE ? NULL : state->exec.slots[s->mask].data;
	for (uint32_t w = 0; w < RQL_VECTOR_WORDS; w++)
		rows[w] = state->rows[w] & (mask && w < state->exec.words ? mask[w] : ~UINT64_C(0));
	return rql_step_judge(&state->exec, s, rows, err);
}

rql_status rql_program_run(struct rql_program_state *state, const struct rql_lanes *inputs, uint32_t rows,
                           const uint64_t *live, struct rql_error *err)
{
	struct rql_exec *x = &state->exec;
	const struct rql_program *p = x->program;
	if (rows == 0 || rows > RQL_VECTOR_ROWS)
		return rql_error_set(err, RQL_ERROR_MISUSE, "an expression over %u rows; a vector has 1 to %u", rows,
		                     RQL_VECTOR_ROWS);
	x->words = (rows + 63) / 64;
	set_rows(state, rows, live);
	for (uint32_t i = 0; i < p->input_count; i++) {
		struct rql_reg_slot *slot = &x->slots[p->inputs[i].reg];
		slot->data = (void *)(uintptr_t)inputs[i].data; /* never written: verify keeps steps off inputs */
		slot->valid = inputs[i].valid;
	}
	for (uint32_t i = 0; i < p->step_count; i++) {
		const struct rql_step *s = &p->steps[i];
		struct rql_reg_slot *dst = &x->slots[s->dst];
		if (skipped(state, s)) {
			dst->valid = NULL;
			if (rql_step_infos[s->op].boolean)
				memset(dst->data, 0, x->words * sizeof(uint64_t)); /* a mask within an empty mask is empty */
			continue;
		}
		if (rql_step_infos[s->op].nulls == RQL_NULLS_STRICT)
			strict_nulls(x, s);
		else
			dst->valid = NULL;
		if (state->kernels[i](x, s))
			RQL_TRY(judge(state, s, err));
	}
	return RQL_OK;
}

struct rql_lanes rql_program_result(const struct rql_program_state *state, uint32_t r)
{
	const struct rql_reg_slot *slot = &state->exec.slots[state->exec.program->results[r].reg];
	return (struct rql_lanes){slot->data, slot->valid};
}

rql_status rql_program_filter(struct rql_program_state *state, const struct rql_lanes *inputs, uint32_t rows,
                              uint64_t *live, uint32_t *left, struct rql_error *err)
{
	const struct rql_program *p = state->exec.program;
	if (p->result_count == 0 || p->results[0].kind != RQL_LANE_BOOL)
		return rql_error_set(err, RQL_ERROR_INTERNAL, "a filter whose result is no BOOLEAN");
	RQL_TRY(rql_program_run(state, inputs, rows, live, err));
	struct rql_lanes result = rql_program_result(state, 0);
	const uint64_t *pass = result.data;
	uint32_t count = 0;
	for (uint32_t w = 0; w < RQL_VECTOR_WORDS; w++) {
		uint64_t word = w < state->exec.words ? state->rows[w] & pass[w] : 0;
		if (word && result.valid)
			word &= result.valid[w];
		live[w] = word;
		count += (uint32_t)__builtin_popcountll(word);
	}
	*left = count;
	return RQL_OK;
}
