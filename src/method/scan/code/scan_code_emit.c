/* The code of a row whose values are wanted as columns: fields as column/form.h has them. */
#include "column/form.h"
#include "method/scan/code/scan_code.h"

static uint32_t zero_of(struct rql_scan_coder *c, uint32_t bits)
{
	return bits == 32 ? U32(c, 0) : rql_spirv_u64(&c->m, 0);
}

/* An integer's or code's distance from `before`, which no value is, in the field's width. */
static uint32_t distance(struct rql_scan_coder *c, struct rql_scan_value v, rql_int128 before, uint32_t bits)
{
	if (bits == 32 && rql_scan_code_has32(&v))
		return OP2(c, SUB, U32, v.id, OP1(c, U_CONVERT, U32, rql_scan_code_param(c, (uint32_t)(uint64_t)before, false)));
	uint32_t field = OP2(c, SUB, U64, rql_scan_code_convert(c, v, RQL_LANE_I64).id,
	                     rql_scan_code_param(c, (uint64_t)before, false));
	return bits == 32 ? OP1(c, U_CONVERT, U32, field) : field;
}

static struct rql_scan_value half_of(struct rql_scan_coder *c, struct rql_scan_value v, enum rql_half half)
{
	struct rql_scan_value out = rql_scan_code_convert(c, v, RQL_LANE_I64);
	out.id = half == RQL_HALF_UPPER
	             ? OP2(c, SHIFT_RIGHT_SIGNED, U64, out.id, rql_spirv_u64(&c->m, RQL_FORM_LOW_BITS))
	             : OP2(c, AND, U64, out.id, rql_spirv_u64(&c->m, (uint64_t)RQL_FORM_LOW_MASK));
	return out;
}

/* The complement of a real's bits; of the one NaN whose complement is 0 that of another. */
static uint32_t real_field(struct rql_scan_coder *c, struct rql_scan_value v)
{
	uint32_t bits = OP1(c, BITCAST, U64, rql_scan_code_convert(c, v, RQL_LANE_F64).id);
	uint32_t field = OP1(c, NOT, U64, bits), none = OP2(c, EQUAL, BOOL, field, rql_spirv_u64(&c->m, 0));
	return rql_spirv_select(&c->m, RQL_SPIRV_U64, none, rql_spirv_u64(&c->m, ~UINT64_C(0x7ff8000000000000)), field);
}

/* The same of the value that stands for all that equal it: the ordered key less its sign bit where it has one, else the key,
 * which is a negative number's complement already. */
static uint32_t canonical_field(struct rql_scan_coder *c, struct rql_scan_value v)
{
	uint32_t key = rql_scan_code_real_key(c, rql_scan_code_convert(c, v, RQL_LANE_F64).id);
	uint32_t sign = rql_spirv_u64(&c->m, UINT64_C(1) << 63);
	uint32_t negative = OP2(c, U_LESS, BOOL, key, sign);
	return rql_spirv_select(&c->m, RQL_SPIRV_U64, negative, key, OP1(c, NOT, U64, OP2(c, SUB, U64, key, sign)));
}

static uint32_t value_field(struct rql_scan_coder *c, const struct rql_scan_emit *emit)
{
	const struct rql_scan_operand *o = &c->plan->scan->operands[emit->operand];
	struct rql_scan_value v = rql_scan_code_source(c, &o->source);
	uint32_t field;
	if (emit->half != RQL_HALF_NONE)
		v = half_of(c, v, emit->half);
	if (emit->column->kind == RQL_STORE_REAL)
		field = emit->canonical ? canonical_field(c, v) : real_field(c, v);
	else
		field = distance(c, v, emit->column->kind == RQL_STORE_CODED ? -1 : emit->column->least - 1, emit->bits);
	/* 1 is the complement of a NaN's bits, of which only one stands for all. */
	uint32_t null = emit->null_value ? rql_spirv_u64(&c->m, 1) : zero_of(c, emit->bits), valid = v.valid;
	if (emit->filter != RQL_NONE) {
		const struct rql_source s = {.kind = RQL_SOURCE_PROGRAM, .index = emit->filter};
		const struct rql_scan_value truth = rql_scan_code_source(c, &s);
		valid = rql_scan_code_both(c, valid, rql_scan_code_both(c, truth.id, truth.valid));
	}
	return valid ? rql_spirv_select(&c->m, emit->bits == 32 ? RQL_SPIRV_U32 : RQL_SPIRV_U64, valid, field, null) : field;
}

static uint32_t key_field(struct rql_scan_coder *c, const struct rql_scan_emit *emit)
{
	uint32_t valid = 0, field, one = rql_spirv_u64(&c->m, 1);
	for (uint32_t p = 0; p < emit->part_count; p++)
		if (emit->parts[p].null_key == RQL_NONE)
			valid = rql_scan_code_both(c, valid, rql_scan_code_source(c, &emit->parts[p].source).valid);
	field = rql_scan_code_number_of(c, emit->parts, emit->part_count, (uint64_t)emit->column->greatest + 1);
	field = OP2(c, ADD, U64, field, one);
	if (emit->bits == 32)
		field = OP1(c, U_CONVERT, U32, field);
	return valid ? rql_spirv_select(&c->m, emit->bits == 32 ? RQL_SPIRV_U32 : RQL_SPIRV_U64, valid, field,
	                                zero_of(c, emit->bits))
	             : field;
}

void rql_scan_code_emit(struct rql_scan_coder *c)
{
	const struct rql_scan *scan = c->plan->scan;
	uint32_t *fields = RQL_NEW_ARRAY(c->plan->arena, uint32_t, scan->emit_count);
	if (!fields) {
		c->out_of_memory = true;
		return;
	}
	/* The values are there before the first of them is written, so that their loads are in flight at once. */
	for (uint32_t e = 0; e < scan->emit_count; e++)
		fields[e] = scan->emits[e].operand == RQL_NONE ? key_field(c, &scan->emits[e]) : value_field(c, &scan->emits[e]);
	uint32_t place = CALL(c, "scan_emit_place", RQL_SPIRV_U64, c->live);
	for (uint32_t e = 0; e < scan->emit_count; e++)
		(void)CALL(c, scan->emits[e].bits == 32 ? "scan_emit32" : "scan_emit64", RQL_SPIRV_VOID, place,
		           U32(c, scan->emits[e].offset), fields[e]);
}
