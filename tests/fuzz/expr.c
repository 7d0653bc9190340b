/* Fuzz target: a program from anywhere that passes the verifier runs without a memory error, on every instruction set,
 * whatever lies in its inputs, and all instruction sets agree on whether it fails. The input's bytes become registers,
 * constants, tables and steps; the rest is input data. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "expr/expr_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reader {
	const uint8_t *at, *end;
};

static uint8_t byte(struct reader *r)
{
	return r->at < r->end ? *r->at++ : 0;
}

/* Small numbers mostly, so that registers and constants are often hit. */
static uint16_t reg(struct reader *r)
{
	uint8_t b = byte(r);
	return b == 255 ? RQL_REG_NONE : b;
}

static rql_int128 integer(struct reader *r)
{
	uint8_t b = byte(r);
	switch (b % 8) {
	case 0:
		return INT64_MAX - b / 8;
	case 1:
		return INT64_MIN + b / 8;
	case 2:
		return (rql_int128)INT64_MAX * INT64_MAX * (b / 8 % 2 ? 1 : -1);
	case 3:
		return INT32_MAX - b / 8;
	case 4:
		return INT32_MIN + b / 8;
	default:
		return (rql_int128)b * byte(r) - 100;
	}
}

enum { MOST = 40, CONSTANTS = 16, INPUTS = 4, TABLES = 3 };

struct made {
	struct rql_program program;
	struct rql_reg regs[MOST];
	struct rql_step steps[MOST];
	union rql_constant constants[CONSTANTS];
	struct rql_program_input inputs[INPUTS];
	struct rql_program_table tables[TABLES];
	struct rql_program_result results[2];
	_Alignas(16) uint8_t table_data[TABLES][64 * 16];
	uint64_t table_valid[TABLES][2];
};

static void make_registers(struct reader *r, struct made *m)
{
	struct rql_program *p = &m->program;
	p->constant_count = byte(r) % (CONSTANTS + 1);
	p->input_count = byte(r) % (INPUTS + 1);
	p->reg_count = p->input_count + byte(r) % (MOST / 2 - INPUTS);
	for (uint32_t i = 0; i < p->constant_count; i++)
		m->constants[i].integer = integer(r);
	for (uint32_t i = 0; i < p->reg_count; i++) {
		bool in = i < p->input_count;
		uint8_t b = byte(r);
		m->regs[i] = (struct rql_reg){b % RQL_LANE_KIND_COUNT,
		                              in       ? RQL_REG_INPUT
		                              : b & 64 ? RQL_REG_CONSTANT
		                                       : RQL_REG_STEP,
		                              (uint16_t)(in        ? i
		                                         : b & 128 ? UINT16_MAX
		                                                   : b % CONSTANTS)};
		if (in)
			m->inputs[i] = (struct rql_program_input){i, (uint16_t)i, (enum rql_lane_kind)m->regs[i].kind,
			                                          rql_type_simple(RQL_TYPE_BIGINT)};
	}
	p->table_count = byte(r) % (TABLES + 1);
	for (uint32_t i = 0; i < p->table_count; i++) {
		m->tables[i] = (struct rql_program_table){(enum rql_lane_kind)(byte(r) % RQL_LANE_KIND_COUNT), 1 + byte(r) % 64,
		                                          m->table_data[i], byte(r) & 1 ? m->table_valid[i] : NULL};
	}
}

/* A step with a register of its own, of the kind it gives: most of these verify. */
static void fit(struct reader *r, struct made *m, struct rql_step *s)
{
	struct rql_program *p = &m->program;
	if (p->reg_count == 0 || p->reg_count == MOST)
		return;
	s->op %= RQL_STEP_COUNT;
	s->a %= (uint16_t)p->reg_count;
	const char *operands = rql_step_infos[s->op].operands;
	s->b = strlen(operands) > 1 ? s->b % (uint16_t)p->reg_count : RQL_REG_NONE;
	s->c = strlen(operands) > 2 ? s->c % (uint16_t)p->reg_count : RQL_REG_NONE;
	for (uint32_t i = 0; i < p->reg_count && s->b != RQL_REG_NONE && m->regs[s->b].kind != m->regs[s->a].kind; i++)
		s->b = (uint16_t)((s->b + 1) % p->reg_count);
	s->kind = m->regs[s->a].kind;
	enum rql_lane_kind kind = rql_step_result_kind((enum rql_step_op)s->op, (enum rql_lane_kind)s->kind);
	if (s->op == RQL_STEP_CONVERT)
		s->kind = kind = (enum rql_lane_kind)(byte(r) % RQL_LANE_KIND_COUNT);
	if (s->op == RQL_STEP_LOOKUP && p->table_count)
		kind = m->tables[s->imm %= p->table_count].kind;
	if (s->op == RQL_STEP_ROUND)
		s->count = RQL_TYPE_BOOLEAN + 1 + s->count % 4;
	s->dst = (uint16_t)p->reg_count;
	m->regs[p->reg_count++] = (struct rql_reg){(uint8_t)kind, RQL_REG_STEP, 0};
}

static void make_steps(struct reader *r, struct made *m)
{
	struct rql_program *p = &m->program;
	p->step_count = byte(r) % (MOST + 1);
	for (uint32_t i = 0; i < p->step_count; i++) {
		struct rql_step *s = &m->steps[i];
		uint8_t raw = byte(r);
		*s =
			(struct rql_step){.op = byte(r), .kind = byte(r) % 8, .dst = reg(r), .a = reg(r), .b = reg(r), .c = reg(r)};
		s->mask = raw & 3 ? RQL_REG_NONE : reg(r);
		s->detail = byte(r) % 20;
		s->imm = byte(r) % CONSTANTS;
		s->count = byte(r) | (uint32_t)(raw & 64 ? byte(r) : 0) << 8;
		if (raw < 240)
			fit(r, m, s);
	}
	p->result_count = byte(r) % 3;
	for (uint32_t i = 0; i < p->result_count; i++) {
		uint16_t at = reg(r) % MOST;
		m->results[i] = (struct rql_program_result){.reg = at, .kind = (enum rql_lane_kind)m->regs[at].kind};
	}
}

/* Steps that do not verify are dropped, so that most inputs come to something. */
static bool keep_what_verifies(struct made *m)
{
	struct rql_program *p = &m->program;
	uint32_t results = p->result_count, steps = p->step_count;
	p->result_count = p->step_count = 0;
	if (rql_program_verify(p, NULL) != RQL_OK)
		return false;
	for (uint32_t i = 0; i < steps; i++) {
		m->steps[p->step_count++] = m->steps[i];
		if (rql_program_verify(p, NULL) != RQL_OK)
			p->step_count--;
	}
	p->result_count = results;
	while (p->result_count && rql_program_verify(p, NULL) != RQL_OK)
		p->result_count--;
	return true;
}

static void run(const struct made *m, const struct rql_lanes *lanes, uint32_t rows, const uint64_t *live)
{
	rql_status first = RQL_OK;
	for (unsigned simd = RQL_SIMD_PORTABLE; simd <= RQL_SIMD_AVX512; simd++) {
		struct rql_program_state *state;
		struct rql_error err = {0};
		if (rql_program_state_new(&m->program, (enum rql_simd)simd, &state, NULL) != RQL_OK)
			return;
		rql_status status = rql_program_run(state, lanes, rows, live, &err);
		if (simd != RQL_SIMD_PORTABLE && status != first)
			abort();
		first = status;
		for (uint32_t i = 0; i < m->program.result_count; i++) {
			struct rql_lanes out = rql_program_result(state, i);
			volatile uint8_t last = ((const uint8_t *)out.data)[m->results[i].kind == RQL_LANE_BOOL ? 127 : 1023];
			(void)last;
		}
		rql_error_clear(&err);
		rql_program_state_free(state);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r = {data, data + size};
	struct made *m = calloc(1, sizeof(*m));
	struct rql_strbuf text = {0};
	uint8_t *inputs = m ? aligned_alloc(16, INPUTS * RQL_VECTOR_ROWS * 16) : NULL;
	uint64_t masks[INPUTS + 1][RQL_VECTOR_WORDS];
	if (!m || !inputs)
		goto done;
	m->program = (struct rql_program){.steps = m->steps,
	                                  .regs = m->regs,
	                                  .constants = m->constants,
	                                  .inputs = m->inputs,
	                                  .tables = m->tables,
	                                  .results = m->results};
	make_registers(&r, m);
	make_steps(&r, m);
	rql_program_print(&text, &m->program); /* also of what does not verify */
	if (!keep_what_verifies(m))
		goto done;
	uint32_t rows = 1 + (byte(&r) | (uint32_t)byte(&r) << 8) % RQL_VECTOR_ROWS;
	uint8_t flags = byte(&r);
	const uint8_t *from = r.at;
	for (size_t i = 0; i < INPUTS * RQL_VECTOR_ROWS * 16; i++)
		inputs[i] = r.at < r.end ? byte(&r) : from < r.end ? from[i % (size_t)(r.end - from)] : (uint8_t)(i * flags);
	for (unsigned i = 0; i <= INPUTS; i++)
		for (unsigned w = 0; w < RQL_VECTOR_WORDS; w++)
			masks[i][w] = (uint64_t)(i + 1) * flags * UINT64_C(0x9e3779b97f4a7c15) >> w;
	struct rql_lanes lanes[INPUTS];
	for (unsigned i = 0; i < INPUTS; i++)
		lanes[i] = (struct rql_lanes){inputs + (size_t)i * RQL_VECTOR_ROWS * 16, flags >> i & 1 ? masks[i] : NULL};
	for (unsigned i = 0; i < TABLES; i++) {
		memcpy(m->table_data[i], inputs + 64 * i, sizeof(m->table_data[i]));
		m->table_valid[i][0] = masks[i][0];
	}
	run(m, lanes, rows, flags & 16 ? masks[INPUTS] : NULL);
done:
	rql_strbuf_free(&text);
	free(inputs);
	free(m);
	return 0;
}
