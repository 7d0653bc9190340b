/* From the builder's steps to a program: what no result needs is dropped, registers are shared. */
#include "expr/building/build_internal.h"

struct finisher {
	struct rql_builder *b;
	uint32_t *last_use; /* step after which a register is free; UINT32_MAX: never. 0 with used false: unused */
	bool *used;
	uint16_t *renamed;
	struct rql_reg *regs; /* of the program */
	uint32_t reg_count;
	uint16_t *free[RQL_LANE_KIND_COUNT];
	uint32_t free_count[RQL_LANE_KIND_COUNT];
};

static void use(struct finisher *f, uint16_t reg, uint32_t step)
{
	if (reg == RQL_REG_NONE)
		return;
	if (!f->used[reg] || f->last_use[reg] < step)
		f->last_use[reg] = step;
	f->used[reg] = true;
}

/* Backwards: a step counts when its result is used later. */
static void find_uses(struct finisher *f, const uint16_t *results, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		use(f, results[i], UINT32_MAX);
	for (uint32_t i = f->b->step_count; i-- > 0;) {
		const struct rql_step *s = &f->b->steps[i];
		if (!f->used[s->dst])
			continue;
		use(f, s->a, i);
		use(f, s->b, i);
		use(f, s->c, i);
		use(f, s->mask, i);
	}
}

static uint16_t take_reg(struct finisher *f, const struct rql_reg *reg)
{
	if (reg->role == RQL_REG_STEP && f->free_count[reg->kind])
		return f->free[reg->kind][--f->free_count[reg->kind]];
	f->regs[f->reg_count] = *reg;
	return (uint16_t)f->reg_count++;
}

static void release(struct finisher *f, uint16_t reg, uint32_t step)
{
	if (reg == RQL_REG_NONE || f->b->regs[reg].role != RQL_REG_STEP || f->last_use[reg] != step)
		return;
	f->last_use[reg] = UINT32_MAX; /* once, also when it is two operands */
	uint8_t kind = f->b->regs[reg].kind;
	f->free[kind][f->free_count[kind]++] = f->renamed[reg];
}

static uint16_t renamed(const struct finisher *f, uint16_t reg)
{
	return reg == RQL_REG_NONE ? reg : f->renamed[reg];
}

/* The result gets a register while the operands still have theirs: it is never one of them. */
static uint32_t assign(struct finisher *f, struct rql_step *out)
{
	uint32_t count = 0;
	for (uint32_t r = 0; r < f->b->reg_count; r++)
		if (f->b->regs[r].role != RQL_REG_STEP && (f->used[r] || f->b->regs[r].role == RQL_REG_INPUT))
			f->renamed[r] = take_reg(f, &f->b->regs[r]);
	for (uint32_t i = 0; i < f->b->step_count; i++) {
		struct rql_step s = f->b->steps[i];
		if (!f->used[s.dst])
			continue;
		uint16_t dst = take_reg(f, &f->b->regs[s.dst]);
		f->renamed[s.dst] = dst;
		out[count] = s;
		out[count].dst = dst;
		out[count].a = renamed(f, s.a);
		out[count].b = renamed(f, s.b);
		out[count].c = renamed(f, s.c);
		out[count].mask = renamed(f, s.mask);
		count++;
		release(f, s.a, i);
		release(f, s.b, i);
		release(f, s.c, i);
		release(f, s.mask, i);
	}
	return count;
}

static bool allocate(struct finisher *f, uint32_t regs)
{
	struct rql_arena *arena = f->b->arena;
	f->last_use = RQL_NEW_ARRAY(arena, uint32_t, regs);
	f->used = RQL_NEW_ARRAY(arena, bool, regs);
	f->renamed = RQL_NEW_ARRAY(arena, uint16_t, regs);
	f->regs = RQL_NEW_ARRAY(arena, struct rql_reg, regs);
	bool done = f->last_use && f->used && f->renamed && f->regs;
	for (unsigned k = 0; k < RQL_LANE_KIND_COUNT && done; k++)
		done = (f->free[k] = RQL_NEW_ARRAY(arena, uint16_t, regs)) != NULL;
	return done;
}

static void describe_results(struct finisher *f, const rql_value_number *numbers, const uint16_t *regs, uint32_t count,
                             struct rql_program_result *out)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct rql_build_value *v = rql_build_at(f->b, numbers[i]);
		out[i] = (struct rql_program_result){
			.reg = f->renamed[regs[i]],
			.kind = (enum rql_lane_kind)f->b->regs[regs[i]].kind,
			.type = v->type,
			.nullable = v->nullable,
			.bounds = v->bounds,
		};
	}
}

rql_status rql_builder_finish(struct rql_builder *b, const rql_value_number *results, uint32_t count,
                              struct rql_program **out, struct rql_error *err)
{
	struct finisher f = {.b = b};
	uint16_t *regs = RQL_NEW_ARRAY(b->arena, uint16_t, count);
	struct rql_program *program = RQL_NEW(b->arena, struct rql_program);
	struct rql_program_result *described = RQL_NEW_ARRAY(b->arena, struct rql_program_result, count);
	if (!regs || !program || !described)
		return rql_error_memory(err, 0, "an expression");
	for (uint32_t i = 0; i < count && rql_build_ok(b, results[i]); i++)
		regs[i] = rql_build_reg(b, results[i], rql_build_at(b, results[i])->kind);
	RQL_TRY(rql_builder_status(b, err));
	struct rql_step *steps = RQL_NEW_ARRAY(b->arena, struct rql_step, b->step_count);
	if (!steps || !allocate(&f, b->reg_count + 1))
		return rql_error_memory(err, 0, "an expression");
	find_uses(&f, regs, count);
	program->step_count = assign(&f, steps);
	describe_results(&f, results, regs, count, described);
	for (uint32_t i = 0; i < b->input_count; i++)
		b->inputs[i].reg = f.renamed[b->inputs[i].reg];
	program->steps = steps;
	program->regs = f.regs;
	program->reg_count = f.reg_count;
	program->constants = b->constants;
	program->constant_count = b->constant_count;
	program->inputs = b->inputs;
	program->input_count = b->input_count;
	program->tables = b->tables;
	program->table_count = b->table_count;
	program->results = described;
	program->result_count = count;
	RQL_TRY(rql_program_verify(program, err));
	*out = program;
	return RQL_OK;
}
