/* The code of a program: a step is one instruction, or a few, on the values of one row. NULLs are booleans beside the
 * values, as in expr/run/run.c; a step that may fail marks the row as failed when it is live, in the step's mask and not
 * NULL, and the host then answers. */
#include "method/scan/code/scan_code_steps.h"

const char *rql_scan_code_refusal(const struct rql_program *program)
{
	bool wide = false;
	for (uint32_t r = 0; r < program->reg_count; r++)
		wide |= program->regs[r].kind == RQL_LANE_I128;
	for (uint32_t i = 0; i < program->step_count; i++) {
		const struct rql_step *s = &program->steps[i];
		wide |= s->op == RQL_STEP_LOOKUP && program->tables[s->imm].kind == RQL_LANE_I128;
	}
	return wide ? "an expression has 128-bit integers inside" : NULL;
}

/* ---- what steps are made of ---- */

/* FLOATs are doubles that are rounded after each step. */
static enum rql_lane_kind lane_of(unsigned kind)
{
	return kind == RQL_LANE_F32 ? RQL_LANE_F64 : (enum rql_lane_kind)kind;
}

static bool is_wide(enum rql_lane_kind kind)
{
	return kind == RQL_LANE_I64;
}

/* A constant of the program as a parameter. */
uint32_t rql_scan_code_constant(struct rql_scan_steps *st, uint32_t index, enum rql_lane_kind kind)
{
	const union rql_constant *k = &st->program->constants[index];
	struct rql_scan_coder *c = st->c;
	uint64_t bits = (uint64_t)k->integer;
	if (kind == RQL_LANE_F64)
		memcpy(&bits, &k->real, sizeof(bits));
	if (kind == RQL_LANE_BOOL)
		return rql_spirv_bool(&c->m, bits & 1);
	uint32_t id = rql_scan_code_param(c, bits, false);
	return kind == RQL_LANE_F64 ? OP1(c, BITCAST, F64, id) : kind == RQL_LANE_I32 ? OP1(c, U_CONVERT, U32, id) : id;
}

static struct rql_scan_value reg(struct rql_scan_steps *st, uint16_t r)
{
	const struct rql_reg *about = &st->program->regs[r];
	struct rql_scan_value *v = &st->regs[r];
	if (about->role != RQL_REG_CONSTANT || v->id)
		return *v;
	v->kind = lane_of(about->kind);
	if (about->index == UINT16_MAX) {
		v->id = rql_spirv_bool(&st->c->m, false);
		if (v->kind != RQL_LANE_BOOL)
			v->id =
				rql_scan_code_convert(st->c, (struct rql_scan_value){.id = v->id, .kind = RQL_LANE_BOOL}, v->kind).id;
		v->valid = rql_spirv_bool(&st->c->m, false);
	} else {
		v->id = rql_scan_code_constant(st, about->index, v->kind);
		v->bounded = v->kind == RQL_LANE_I32 || v->kind == RQL_LANE_I64;
		if (v->bounded)
			v->bounds.low = v->bounds.high = st->program->constants[about->index].integer;
		v->narrow = v->kind == RQL_LANE_I64 && rql_scan_code_fits32(v->bounds);
		if (v->narrow)
			v->id = OP1(st->c, U_CONVERT, U32, v->id);
	}
	return *v;
}

/* a op b over lanes of a kind: the plain arithmetic. */
static uint32_t arithmetic(struct rql_scan_coder *c, unsigned op, enum rql_lane_kind kind, uint32_t a, uint32_t b)
{
	enum rql_spirv_type type = rql_scan_code_type(kind);
	bool real = kind == RQL_LANE_F64;
	enum rql_spirv_op code;
	switch (op) {
	case RQL_STEP_ADD:
	case RQL_STEP_ADD_CHECKED:
		code = real ? RQL_SPIRV_F_ADD : RQL_SPIRV_ADD;
		break;
	case RQL_STEP_SUB:
	case RQL_STEP_SUB_CHECKED:
		code = real ? RQL_SPIRV_F_SUB : RQL_SPIRV_SUB;
		break;
	case RQL_STEP_DIV:
		code = RQL_SPIRV_F_DIV;
		break;
	default:
		code = real ? RQL_SPIRV_F_MUL : RQL_SPIRV_MUL;
		break;
	}
	uint32_t id = rql_spirv_op2(&c->m, code, type, a, b);
	if (real)
		rql_spirv_no_contraction(&c->m, id);
	return id;
}

static uint32_t zero_of(struct rql_scan_coder *c, enum rql_lane_kind kind)
{
	return is_wide(kind) ? rql_spirv_u64(&c->m, 0) : rql_spirv_u32(&c->m, 0);
}

static uint32_t is_negative(struct rql_scan_coder *c, enum rql_lane_kind kind, uint32_t a)
{
	return OP2(c, S_LESS, BOOL, a, zero_of(c, kind));
}

/* Outside of constants imm and imm + 1; 0: never. */
uint32_t rql_scan_code_outside(struct rql_scan_steps *st, const struct rql_step *s, uint32_t a)
{
	struct rql_scan_coder *c = st->c;
	enum rql_lane_kind kind = (enum rql_lane_kind)s->kind;
	rql_int128 least = kind == RQL_LANE_I32 ? INT32_MIN : INT64_MIN,
			   most = kind == RQL_LANE_I32 ? INT32_MAX : INT64_MAX;
	rql_int128 low = st->program->constants[s->imm].integer, high = st->program->constants[s->imm + 1].integer;
	uint32_t below = 0, above = 0;
	if (low > most || high < least)
		return rql_spirv_bool(&c->m, true);
	if (low > least)
		below = OP2(c, S_LESS, BOOL, a, rql_scan_code_constant(st, s->imm, kind));
	if (high < most)
		above = OP2(c, S_LESS, BOOL, rql_scan_code_constant(st, s->imm + 1, kind), a);
	return !below ? above : !above ? below : OP2(c, LOGICAL_OR, BOOL, below, above);
}

/* The sum, difference or product of int64 left 64 bits. */
static uint32_t overflow(struct rql_scan_coder *c, unsigned op, uint32_t a, uint32_t b, uint32_t result)
{
	if (op == RQL_STEP_MUL_CHECKED)
		return CALL(c, "scan_product_overflows", RQL_SPIRV_BOOL, a, b);
	uint32_t ar = OP2(c, XOR, U64, a, result);
	uint32_t other = op == RQL_STEP_ADD_CHECKED ? OP2(c, XOR, U64, b, result) : OP2(c, XOR, U64, a, b);
	return is_negative(c, RQL_LANE_I64, OP2(c, AND, U64, ar, other));
}

/* `bad` rows fail, or become NULL in a TRY_CAST. */
void rql_scan_code_judge(struct rql_scan_steps *st, const struct rql_step *s, uint32_t bad, struct rql_scan_value *out)
{
	struct rql_scan_coder *c = st->c;
	if (!bad)
		return;
	if (s->detail == RQL_STEP_TRY) {
		out->valid = rql_scan_code_both(c, out->valid, OP1(c, LOGICAL_NOT, BOOL, bad));
		return;
	}
	bad = rql_scan_code_both(c, rql_scan_code_both(c, bad, c->live), out->valid);
	if (s->mask != RQL_REG_NONE)
		bad = rql_scan_code_both(c, bad, reg(st, s->mask).id);
	(void)CALL(c, "scan_fail", RQL_SPIRV_VOID, bad);
}

/* ---- comparisons ---- */

static uint32_t equal(struct rql_scan_coder *c, struct rql_scan_value a, struct rql_scan_value b)
{
	if (a.kind == RQL_LANE_BOOL)
		return OP2(c, LOGICAL_EQUAL, BOOL, a.id, b.id);
	if (a.kind == RQL_LANE_F64)
		return OP2(c, EQUAL, BOOL, rql_scan_code_real_key(c, a.id), rql_scan_code_real_key(c, b.id));
	return OP2(c, EQUAL, BOOL, a.id, b.id);
}

static uint32_t less(struct rql_scan_coder *c, struct rql_scan_value a, struct rql_scan_value b)
{
	if (a.kind == RQL_LANE_BOOL)
		return OP2(c, LOGICAL_AND, BOOL, OP1(c, LOGICAL_NOT, BOOL, a.id), b.id);
	if (a.kind == RQL_LANE_F64)
		return OP2(c, U_LESS, BOOL, rql_scan_code_real_key(c, a.id), rql_scan_code_real_key(c, b.id));
	return OP2(c, S_LESS, BOOL, a.id, b.id);
}

static uint32_t not_of(struct rql_scan_coder *c, uint32_t a)
{
	return OP1(c, LOGICAL_NOT, BOOL, a);
}

static uint32_t compare(struct rql_scan_coder *c, unsigned op, struct rql_scan_value a, struct rql_scan_value b)
{
	switch (op) {
	case RQL_STEP_EQ:
		return equal(c, a, b);
	case RQL_STEP_NE:
		return not_of(c, equal(c, a, b));
	case RQL_STEP_LT:
		return less(c, a, b);
	case RQL_STEP_GE:
		return not_of(c, less(c, a, b));
	case RQL_STEP_GT:
		return less(c, b, a);
	default:
		return not_of(c, less(c, b, a));
	}
}

/* IS NOT DISTINCT FROM */
static uint32_t same(struct rql_scan_coder *c, struct rql_scan_value a, struct rql_scan_value b)
{
	uint32_t truth = rql_spirv_bool(&c->m, true), va = a.valid ? a.valid : truth, vb = b.valid ? b.valid : truth;
	if (!a.valid && !b.valid)
		return equal(c, a, b);
	uint32_t known = OP2(c, LOGICAL_AND, BOOL, va, vb);
	uint32_t equally = OP2(c, LOGICAL_AND, BOOL, known, equal(c, a, b));
	return OP2(c, LOGICAL_OR, BOOL, equally, not_of(c, OP2(c, LOGICAL_OR, BOOL, va, vb)));
}

/* ---- logic ---- */

/* A decided operand decides, whatever the other one is. */
static struct rql_scan_value logic(struct rql_scan_coder *c, bool is_or, struct rql_scan_value a,
                                   struct rql_scan_value b)
{
	struct rql_scan_value out = {.kind = RQL_LANE_BOOL};
	if (!a.valid && !b.valid) {
		out.id = is_or ? OP2(c, LOGICAL_OR, BOOL, a.id, b.id) : OP2(c, LOGICAL_AND, BOOL, a.id, b.id);
		return out;
	}
	uint32_t truth = rql_spirv_bool(&c->m, true), va = a.valid ? a.valid : truth, vb = b.valid ? b.valid : truth;
	uint32_t pa = is_or ? not_of(c, a.id) : a.id, pb = is_or ? not_of(c, b.id) : b.id; /* OR is AND of the inverses */
	uint32_t id = OP2(c, LOGICAL_AND, BOOL, OP2(c, LOGICAL_OR, BOOL, pa, not_of(c, va)),
	                  OP2(c, LOGICAL_OR, BOOL, pb, not_of(c, vb)));
	uint32_t decided = OP2(c, LOGICAL_OR, BOOL, OP2(c, LOGICAL_AND, BOOL, not_of(c, pa), va),
	                       OP2(c, LOGICAL_AND, BOOL, not_of(c, pb), vb));
	out.id = is_or ? not_of(c, id) : id;
	out.valid = OP2(c, LOGICAL_OR, BOOL, OP2(c, LOGICAL_AND, BOOL, va, vb), decided);
	return out;
}

static uint32_t mask_of(struct rql_scan_steps *st, const struct rql_step *s)
{
	struct rql_scan_coder *c = st->c;
	struct rql_scan_value a = reg(st, s->a);
	uint32_t id;
	if (s->op == RQL_STEP_MASK_NULL)
		id = a.valid ? not_of(c, a.valid) : rql_spirv_bool(&c->m, false);
	else if (s->op == RQL_STEP_MASK_NOT_FALSE)
		id = not_of(c, rql_scan_code_both(c, not_of(c, a.id), a.valid));
	else
		id = rql_scan_code_both(c, a.id, a.valid);
	if (s->op == RQL_STEP_MASK_NOT_TRUE)
		id = not_of(c, id);
	return s->mask == RQL_REG_NONE ? id : rql_scan_code_both(c, id, reg(st, s->mask).id);
}

/* As another kind; what fits 32 bits stays in them. */
static struct rql_scan_value converted(struct rql_scan_coder *c, struct rql_scan_value v, enum rql_lane_kind kind)
{
	if (kind != RQL_LANE_I64 || (v.kind != RQL_LANE_I32 && !v.narrow))
		return rql_scan_code_convert(c, v, kind);
	v.kind = kind;
	v.narrow = true;
	return v;
}

/* Two operands of one kind that meet as they are: both narrow, or neither. */
static void make_alike(struct rql_scan_coder *c, struct rql_scan_value *a, struct rql_scan_value *b)
{
	if (a->narrow == b->narrow)
		return;
	*a = rql_scan_code_convert(c, *a, a->kind);
	*b = rql_scan_code_convert(c, *b, b->kind);
}

static struct rql_scan_value choose(struct rql_scan_coder *c, struct rql_scan_value a, struct rql_scan_value b,
                                    struct rql_scan_value when)
{
	uint32_t truth = rql_spirv_bool(&c->m, true), chosen = rql_scan_code_both(c, when.id, when.valid);
	make_alike(c, &a, &b);
	struct rql_scan_value out = {.kind = a.kind, .narrow = a.narrow};
	out.id = rql_spirv_select(&c->m, a.narrow ? RQL_SPIRV_U32 : rql_scan_code_type(a.kind), chosen, a.id, b.id);
	if (a.valid || b.valid)
		out.valid =
			rql_spirv_select(&c->m, RQL_SPIRV_BOOL, chosen, a.valid ? a.valid : truth, b.valid ? b.valid : truth);
	return out;
}

/* ---- tables and lists ---- */

static struct rql_scan_value look_up(struct rql_scan_steps *st, const struct rql_step *s, struct rql_scan_value a)
{
	struct rql_scan_coder *c = st->c;
	const struct rql_program_table *t = &st->program->tables[s->imm];
	struct rql_scan_blob *blob = &c->plan->blob;
	struct rql_scan_value out = {.kind = lane_of(t->kind), .valid = a.valid};
	uint64_t words = ((uint64_t)t->count + 63) / 64 * 8;
	uint64_t bytes = t->kind == RQL_LANE_BOOL ? words : (uint64_t)t->count * rql_lane_bytes(t->kind);
	uint32_t index = a.id;
	uint32_t known = OP2(c, U_LESS, BOOL, index, OP1(c, U_CONVERT, U32, rql_scan_code_param(c, t->count, false)));
	uint32_t live = rql_scan_code_both(c, c->live, known),
			 table = rql_scan_code_param(c, rql_scan_blob_put(blob, t->data, bytes), true);
	out.valid = rql_scan_code_both(c, out.valid, known);
	if (t->valid) {
		uint32_t bits = rql_scan_code_param(c, rql_scan_blob_put(blob, t->valid, words), true);
		out.valid = rql_scan_code_both(c, out.valid, CALL(c, "scan_bit_at", RQL_SPIRV_BOOL, bits, index, live));
	}
	if (t->kind == RQL_LANE_BOOL)
		out.id = CALL(c, "scan_bit_at", RQL_SPIRV_BOOL, table, index, live);
	else if (t->kind == RQL_LANE_I32 || t->kind == RQL_LANE_F32)
		out.id = CALL(c, "scan_u32_at", RQL_SPIRV_U32, table, index, live);
	else
		out.id = CALL(c, "scan_u64_at", RQL_SPIRV_U64, table, index, live);
	if (t->kind == RQL_LANE_F32)
		out.id = CALL(c, "scan_widened", RQL_SPIRV_U64, OP1(c, U_CONVERT, U64, out.id));
	if (out.kind == RQL_LANE_F64)
		out.id = OP1(c, BITCAST, F64, out.id);
	return out;
}

/* ---- steps ---- */

static struct rql_bounds hull(struct rql_bounds a, struct rql_bounds b)
{
	return (struct rql_bounds){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

/* The bounds of a + b, a - b or a * b, operands of at most 64 bits. */
static struct rql_bounds bounds_of(unsigned op, struct rql_bounds a, struct rql_bounds b)
{
	if (op == RQL_STEP_ADD)
		return (struct rql_bounds){a.low + b.low, a.high + b.high};
	if (op == RQL_STEP_SUB)
		return (struct rql_bounds){a.low - b.high, a.high - b.low};
	rql_int128 x = a.low * b.low, y = a.low * b.high, z = a.high * b.low, w = a.high * b.high;
	return hull(hull((struct rql_bounds){x, x}, (struct rql_bounds){y, y}),
	            hull((struct rql_bounds){z, z}, (struct rql_bounds){w, w}));
}

/* Sums, differences and products of integers that stay in their kind: in 32 bits where they fit those. */
static void do_integers(struct rql_scan_steps *st, const struct rql_step *s, struct rql_scan_value a,
                        struct rql_scan_value b, struct rql_scan_value *out)
{
	struct rql_scan_coder *c = st->c;
	out->bounds = bounds_of(s->op, rql_scan_code_bounds(&a), rql_scan_code_bounds(&b));
	out->bounded = out->bounds.low >= INT64_MIN && out->bounds.high <= INT64_MAX;
	bool has32 = (a.narrow || a.kind == RQL_LANE_I32) && (b.narrow || b.kind == RQL_LANE_I32);
	if (out->kind == RQL_LANE_I32 || (has32 && rql_scan_code_fits32(out->bounds))) {
		out->bounded &= rql_scan_code_fits32(out->bounds);
		out->narrow = out->kind == RQL_LANE_I64;
		out->id = arithmetic(c, s->op, RQL_LANE_I32, a.id, b.id);
		return;
	}
	a = rql_scan_code_convert(c, a, RQL_LANE_I64);
	b = rql_scan_code_convert(c, b, RQL_LANE_I64);
	out->id = arithmetic(c, s->op, RQL_LANE_I64, a.id, b.id);
}

static void do_arithmetic(struct rql_scan_steps *st, const struct rql_step *s, struct rql_scan_value a,
                          struct rql_scan_value b, struct rql_scan_value *out)
{
	struct rql_scan_coder *c = st->c;
	enum rql_lane_kind kind = lane_of(s->kind);
	if (kind != RQL_LANE_F64 &&
	    (s->op == RQL_STEP_ADD || s->op == RQL_STEP_SUB || s->op == RQL_STEP_MUL || s->op == RQL_STEP_MUL_WIDE)) {
		do_integers(st, s, a, b, out);
		return;
	}
	a = rql_scan_code_convert(c, a, kind);
	b = rql_scan_code_convert(c, b, kind);
	out->id = arithmetic(c, s->op, kind, a.id, b.id);
	if (s->kind == RQL_LANE_F32)
		out->id = rql_scan_code_float(c, out->id);
	if (s->op == RQL_STEP_DIV && s->imm) {
		uint32_t zero = OP2(c, EQUAL, BOOL, rql_scan_code_real_key(c, b.id), rql_spirv_u64(&c->m, UINT64_C(1) << 63));
		out->valid = rql_scan_code_both(c, out->valid, not_of(c, zero));
	}
	if (s->op == RQL_STEP_ADD_CHECKED || s->op == RQL_STEP_SUB_CHECKED || s->op == RQL_STEP_MUL_CHECKED) {
		uint32_t left = overflow(c, s->op, a.id, b.id, out->id), range = rql_scan_code_outside(st, s, out->id);
		rql_scan_code_judge(st, s, range ? OP2(c, LOGICAL_OR, BOOL, left, range) : left, out);
	}
}

static void do_unary(struct rql_scan_steps *st, const struct rql_step *s, struct rql_scan_value a,
                     struct rql_scan_value *out)
{
	struct rql_scan_coder *c = st->c;
	enum rql_lane_kind kind = lane_of(s->kind);
	bool real = kind == RQL_LANE_F64;
	if (s->op == RQL_STEP_CHECK) {
		a = rql_scan_code_convert(c, a, a.kind);
		out->id = a.id;
		rql_scan_code_judge(st, s, rql_scan_code_outside(st, s, a.id), out);
		return;
	}
	if (s->op == RQL_STEP_CONVERT && st->program->regs[s->dst].kind == RQL_LANE_F32) {
		rql_scan_code_to_float(st, s, a, out);
		return;
	}
	if (s->op == RQL_STEP_CONVERT) {
		*out = converted(c, a, out->kind);
		return;
	}
	a = rql_scan_code_convert(c, a, a.kind);
	uint32_t negated = real ? OP1(c, F_NEGATE, F64, a.id) : arithmetic(c, RQL_STEP_SUB, kind, zero_of(c, kind), a.id);
	if (s->op == RQL_STEP_NEG) {
		out->id = negated;
	} else if (real) { /* the sign bit goes, of NaN too */
		uint32_t bits = OP2(c, AND, U64, OP1(c, BITCAST, U64, a.id), rql_spirv_u64(&c->m, UINT64_MAX >> 1));
		out->id = OP1(c, BITCAST, F64, bits);
	} else {
		out->id = rql_spirv_select(&c->m, rql_scan_code_type(kind), is_negative(c, kind, a.id), negated, a.id);
	}
}

/* Steps whose result is a truth value; 0: it is none of them. */
static uint32_t truth_of(struct rql_scan_steps *st, const struct rql_step *s, struct rql_scan_value a,
                         struct rql_scan_value b)
{
	struct rql_scan_coder *c = st->c;
	uint32_t id;
	switch (s->op) {
	case RQL_STEP_EQ:
	case RQL_STEP_NE:
	case RQL_STEP_LT:
	case RQL_STEP_LE:
	case RQL_STEP_GT:
	case RQL_STEP_GE:
		return compare(c, s->op, a, b);
	case RQL_STEP_SAME:
		return same(c, a, b);
	case RQL_STEP_DIFFERENT:
		return not_of(c, same(c, a, b));
	case RQL_STEP_INSIDE:
		id = rql_scan_code_outside(st, s, a.id);
		return id ? not_of(c, id) : rql_spirv_bool(&c->m, true);
	case RQL_STEP_IN_LIST:
		return rql_scan_code_in_list(st, s, a);
	case RQL_STEP_NOT:
		return not_of(c, a.id);
	case RQL_STEP_IS_NULL:
		return a.valid ? not_of(c, a.valid) : rql_spirv_bool(&c->m, false);
	case RQL_STEP_IS_NOT_NULL:
		return a.valid ? a.valid : rql_spirv_bool(&c->m, true);
	case RQL_STEP_MASK_TRUE:
	case RQL_STEP_MASK_NOT_TRUE:
	case RQL_STEP_MASK_NOT_FALSE:
	case RQL_STEP_MASK_NULL:
		return mask_of(st, s);
	default:
		return 0;
	}
}

/* Steps that ask whether something is NULL, or make masks. (Those with rules of their own overwrite it.) */
static bool never_null(unsigned op)
{
	switch (op) {
	case RQL_STEP_SAME:
	case RQL_STEP_DIFFERENT:
	case RQL_STEP_IS_NULL:
	case RQL_STEP_IS_NOT_NULL:
	case RQL_STEP_MASK_TRUE:
	case RQL_STEP_MASK_NOT_TRUE:
	case RQL_STEP_MASK_NOT_FALSE:
	case RQL_STEP_MASK_NULL:
		return true;
	default:
		return false;
	}
}

static void do_step(struct rql_scan_steps *st, const struct rql_step *s)
{
	struct rql_scan_coder *c = st->c;
	struct rql_scan_value a = {0}, b = {0};
	if (s->a != RQL_REG_NONE)
		a = reg(st, s->a);
	if (s->b != RQL_REG_NONE)
		b = reg(st, s->b);
	struct rql_scan_value out = {.kind = lane_of(st->program->regs[s->dst].kind)};
	if (!never_null(s->op))
		out.valid = rql_scan_code_both(c, a.valid, b.valid);
	switch (s->op) {
	case RQL_STEP_LOOKUP:
		out = look_up(st, s, a);
		break;
	case RQL_STEP_AND:
	case RQL_STEP_OR:
		out = logic(c, s->op == RQL_STEP_OR, a, b);
		break;
	case RQL_STEP_CHOOSE:
		out = choose(c, a, b, reg(st, s->c));
		break;
	case RQL_STEP_NEG:
	case RQL_STEP_ABS:
	case RQL_STEP_CHECK:
	case RQL_STEP_CONVERT:
		do_unary(st, s, a, &out);
		break;
	default:
		if (rql_scan_code_number(st, s, a, b, &out))
			break;
		if (s->op >= RQL_STEP_EQ && s->op <= RQL_STEP_DIFFERENT)
			make_alike(c, &a, &b);
		else if (s->op == RQL_STEP_INSIDE || s->op == RQL_STEP_IN_LIST)
			a = rql_scan_code_convert(c, a, a.kind); /* not narrow */
		out.id = truth_of(st, s, a, b);
		if (!out.id)
			do_arithmetic(st, s, a, b, &out);
		break;
	}
	st->regs[s->dst] = out;
}

void rql_scan_code_program(struct rql_scan_coder *c, uint32_t index)
{
	const struct rql_scan_bound_program *bound = &c->plan->scan->programs[index];
	const struct rql_program *p = bound->program;
	struct rql_scan_steps st = {.c = c, .program = p};
	st.regs = RQL_NEW_ARRAY(c->plan->arena, struct rql_scan_value, p->reg_count);
	struct rql_scan_value *results = RQL_NEW_ARRAY(c->plan->arena, struct rql_scan_value, p->result_count);
	if (!st.regs || !results) {
		c->out_of_memory = true;
		return;
	}
	for (uint32_t i = 0; i < p->input_count; i++)
		st.regs[p->inputs[i].reg] = converted(c, rql_scan_code_source(c, &bound->inputs[i]), lane_of(p->inputs[i].kind));
	for (uint32_t i = 0; i < p->step_count; i++)
		do_step(&st, &p->steps[i]);
	for (uint32_t i = 0; i < p->result_count; i++)
		results[i] = reg(&st, p->results[i].reg);
	c->results[index] = results;
}
