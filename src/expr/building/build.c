/* The builder: values, constants, registers, equal steps, and the finished program. */
#include <stdio.h>
#include <stdlib.h>
#include "expr/building/build_internal.h"

struct rql_builder *rql_builder_new(struct rql_arena *arena)
{
	struct rql_builder *b = RQL_NEW(arena, struct rql_builder);
	if (b)
		b->arena = arena;
	return b;
}

void rql_builder_cast_to_nearest(struct rql_builder *b)
{
	b->nearest = true;
}

/* ---- failing ---- */
static void vfail(struct rql_builder *b, rql_status status, const char *fmt, va_list args)
{
	char text[200];
	vsnprintf(text, sizeof(text), fmt, args);
	if (b->status != RQL_OK)
		return;
	b->status = status;
	b->reason = rql_arena_strdup(b->arena, text);
}

rql_value_number rql_build_fail(struct rql_builder *b, rql_status status, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vfail(b, status, fmt, args);
	va_end(args);
	return RQL_VALUE_NONE;
}

rql_value_number rql_builder_refuse(struct rql_builder *b, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vfail(b, RQL_ERROR_UNSUPPORTED, fmt, args);
	va_end(args);
	return RQL_VALUE_NONE;
}

static void *grown(struct rql_builder *b, void *list, uint32_t count, uint32_t *capacity, size_t size)
{
	if (count < *capacity)
		return list;
	uint32_t more = *capacity ? *capacity * 2 : 16;
	void *copy = rql_arena_array(b->arena, more, size);
	if (!copy) {
		rql_build_fail(b, RQL_ERROR_MEMORY, "out of memory (an expression)");
		return NULL;
	}
	if (count)
		memcpy(copy, list, count * size);
	*capacity = more;
	return copy;
}
/* Room for one more entry; false: failed. */
#define GROW(b, list, count, capacity)                                                                                 \
	(((b)->list = grown((b), (b)->list, (b)->count, &(b)->capacity, sizeof(*(b)->list))) != NULL)

rql_status rql_builder_status(const struct rql_builder *b, struct rql_error *err)
{
	return b->status == RQL_OK ? RQL_OK : rql_error_set(err, b->status, "%s", b->reason ? b->reason : "out of memory");
}

bool rql_build_ok(struct rql_builder *b, rql_value_number v)
{
	if (b->status == RQL_OK && v >= b->value_count)
		rql_build_fail(b, RQL_ERROR_INTERNAL, "an expression over a value that does not exist");
	return b->status == RQL_OK;
}

struct rql_build_value *rql_build_at(struct rql_builder *b, rql_value_number v)
{
	return &b->values[v];
}

/* ---- values and registers ---- */
rql_value_number rql_build_add_value(struct rql_builder *b, const struct rql_build_value *value)
{
	struct rql_build_value copy = *value; /* it may lie in the list that grows */
	if (b->status != RQL_OK || !GROW(b, values, value_count, value_capacity))
		return RQL_VALUE_NONE;
	b->values[b->value_count] = copy;
	return b->value_count++;
}

static uint16_t new_reg(struct rql_builder *b, enum rql_lane_kind kind, enum rql_reg_role role, uint16_t index)
{
	uint32_t capacity = b->reg_capacity;
	if (b->reg_count == RQL_PROGRAM_MAX_REGS) {
		rql_build_fail(b, RQL_ERROR_LIMIT, "an expression of more than %u steps", RQL_PROGRAM_MAX_STEPS);
		return 0;
	}
	if (!GROW(b, regs, reg_count, reg_capacity) ||
	    !(b->definitions = grown(b, b->definitions, b->reg_count, &capacity, sizeof(*b->definitions))))
		return 0;
	b->regs[b->reg_count] = (struct rql_reg){.kind = (uint8_t)kind, .role = (uint8_t)role, .index = index};
	b->definitions[b->reg_count] = UINT32_MAX;
	return (uint16_t)b->reg_count++;
}

struct rql_type rql_builder_type(const struct rql_builder *b, rql_value_number v)
{
	return v < b->value_count ? b->values[v].type : rql_type_simple(RQL_TYPE_INVALID);
}

struct rql_bounds rql_builder_bounds(const struct rql_builder *b, rql_value_number v)
{
	return v < b->value_count ? b->values[v].bounds : (struct rql_bounds){1, 0};
}

enum rql_lane_kind rql_builder_kind(const struct rql_builder *b, rql_value_number v)
{
	return v < b->value_count ? b->values[v].kind : RQL_LANE_I32;
}

/* ---- kinds and bounds ---- */
rql_int128 rql_power_of_ten(unsigned exponent)
{
	rql_int128 power = 1;
	while (exponent--)
		power *= 10;
	return power;
}

enum rql_lane_kind rql_bounds_kind(struct rql_bounds bounds)
{
	if (bounds.low >= INT32_MIN && bounds.high <= INT32_MAX)
		return RQL_LANE_I32;
	return bounds.low >= INT64_MIN && bounds.high <= INT64_MAX ? RQL_LANE_I64 : RQL_LANE_I128;
}

bool rql_bounds_inside(struct rql_bounds inner, struct rql_bounds outer)
{
	return inner.low >= outer.low && inner.high <= outer.high;
}

struct rql_bounds rql_bounds_clip(struct rql_bounds bounds, struct rql_bounds to)
{
	return (struct rql_bounds){bounds.low > to.low ? bounds.low : to.low,
	                           bounds.high < to.high ? bounds.high : to.high};
}

bool rql_bounds_of_type(struct rql_type type, struct rql_bounds *out)
{
	unsigned bits = rql_type_bytes(type) * 8;
	switch (type.id) {
	case RQL_TYPE_DECIMAL:
		out->high = rql_power_of_ten(type.width) - 1;
		out->low = -out->high;
		return true;
	case RQL_TYPE_BOOLEAN:
		*out = (struct rql_bounds){0, 1};
		return true;
	case RQL_TYPE_VARCHAR: /* dictionary codes */
	case RQL_TYPE_BLOB:
	case RQL_TYPE_ENUM:
		*out = (struct rql_bounds){0, type.id == RQL_TYPE_ENUM ? (rql_int128)type.info->name_count : INT32_MAX};
		return true;
	case RQL_TYPE_UHUGEINT:
		return false;
	default:
		if (!rql_type_is_integral(type))
			return false;
	}
	bool is_signed = rql_type_is_signed(type);
	out->high = (rql_int128)(((rql_uint128)1 << (bits - 1)) - 1) * (is_signed ? 1 : 2) + (is_signed ? 0 : 1);
	out->low = is_signed ? -out->high - 1 : 0;
	return true;
}

bool rql_lane_kind_of(struct rql_type type, struct rql_bounds bounds, enum rql_lane_kind *out)
{
	struct rql_bounds range;
	if (type.id == RQL_TYPE_FLOAT || type.id == RQL_TYPE_DOUBLE) {
		*out = type.id == RQL_TYPE_FLOAT ? RQL_LANE_F32 : RQL_LANE_F64;
		return true;
	}
	if (type.id == RQL_TYPE_BOOLEAN) {
		*out = RQL_LANE_BOOL;
		return true;
	}
	if (!rql_bounds_of_type(type, &range))
		return false;
	*out = rql_bounds_kind(bounds.low > bounds.high ? range : bounds);
	return true;
}

/* ---- inputs ---- */
rql_value_number rql_build_input(struct rql_builder *b, const struct rql_input_spec *spec)
{
	enum rql_lane_kind natural;
	struct rql_build_value value = {.type = spec->type, .kind = spec->kind, .nullable = spec->nullable};
	if (b->status != RQL_OK)
		return RQL_VALUE_NONE;
	value.bounds = spec->bounds;
	bool codes = spec->type.id == RQL_TYPE_BOOLEAN && spec->kind == RQL_LANE_I32;
	if (!rql_lane_kind_of(spec->type, spec->bounds, &natural) ||
	    (rql_kind_is_integer(natural) ? !rql_kind_is_integer(spec->kind) || spec->kind < natural
	                                  : spec->kind != natural && !codes))
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "a column of type %s as %s", rql_type_id_name(spec->type.id),
		                      rql_lane_kind_name(spec->kind));
	if (rql_kind_is_integer(natural) && value.bounds.low > value.bounds.high)
		rql_bounds_of_type(spec->type, &value.bounds);
	if (codes)
		value.bounds = (struct rql_bounds){INT32_MIN, INT32_MAX};
	uint32_t i = 0;
	while (i < b->input_count && (b->inputs[i].column != spec->column || b->inputs[i].kind != spec->kind))
		i++;
	if (i == b->input_count) {
		if (!GROW(b, inputs, input_count, input_capacity))
			return RQL_VALUE_NONE;
		uint16_t reg = new_reg(b, spec->kind, RQL_REG_INPUT, (uint16_t)i);
		b->inputs[b->input_count++] =
			(struct rql_program_input){.column = spec->column, .reg = reg, .kind = spec->kind, .type = spec->type};
	}
	value.reg = b->inputs[i].reg;
	rql_value_number v = rql_build_add_value(b, &value);
	if (!codes)
		return v;
	b->values[v].type = rql_type_simple(RQL_TYPE_INTEGER);
	rql_value_number zero = rql_build_integer(b, 0, rql_type_simple(RQL_TYPE_INTEGER));
	return rql_build_compare(b, RQL_STEP_NE, v, zero);
}

/* ---- constants ---- */
uint32_t rql_build_constants(struct rql_builder *b, const union rql_constant *values, uint32_t count)
{
	for (uint32_t i = 0; i + count <= b->constant_count; i++)
		if (memcmp(&b->constants[i], values, count * sizeof(*values)) == 0)
			return i;
	uint32_t first = b->constant_count;
	for (uint32_t i = 0; i < count; i++) {
		if (!GROW(b, constants, constant_count, constant_capacity))
			return 0;
		b->constants[b->constant_count++] = values[i];
	}
	return first;
}

uint32_t rql_build_range(struct rql_builder *b, struct rql_bounds range)
{
	return rql_build_constants(b, (const union rql_constant[]){{.integer = range.low}, {.integer = range.high}}, 2);
}

rql_value_number rql_build_integer(struct rql_builder *b, rql_int128 v, struct rql_type type)
{
	struct rql_build_value value = {.type = type, .constant = true, .value.integer = v, .bounds = {v, v}};
	value.kind = type.id == RQL_TYPE_BOOLEAN ? RQL_LANE_BOOL : rql_bounds_kind(value.bounds);
	return rql_build_add_value(b, &value);
}

rql_value_number rql_build_real(struct rql_builder *b, double v, struct rql_type type)
{
	struct rql_build_value value = {.type = type, .constant = true};
	value.kind = type.id == RQL_TYPE_FLOAT ? RQL_LANE_F32 : RQL_LANE_F64;
	value.value.integer = 0; /* all 16 bytes are compared */
	value.value.real = v;
	return rql_build_add_value(b, &value);
}

rql_value_number rql_build_constant(struct rql_builder *b, const struct rql_value *value)
{
	struct rql_bounds range, none = {1, 0};
	enum rql_lane_kind kind;
	struct rql_type type = value->type;
	if (type.id == RQL_TYPE_SQLNULL)
		type = rql_type_simple(RQL_TYPE_INTEGER);
	if (!rql_lane_kind_of(type, none, &kind))
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "a constant of type %s", rql_type_id_name(type.id));
	if (value->is_null) {
		struct rql_build_value null = {.type = type, .kind = kind, .constant = true, .null = true, .nullable = true};
		if (rql_kind_is_integer(kind)) { /* no row has a value: the narrowest kind will do */
			null.kind = RQL_LANE_I32;
			null.bounds = (struct rql_bounds){0, 0};
		}
		return rql_build_add_value(b, &null);
	}
	if (rql_kind_is_real(kind))
		return rql_build_real(b, value->real, type);
	if (type.id == RQL_TYPE_VARCHAR || type.id == RQL_TYPE_BLOB || !rql_bounds_of_type(type, &range))
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "a constant of type %s", rql_type_id_name(type.id));
	return rql_build_integer(b, value->integer, type);
}

static uint16_t constant_reg(struct rql_builder *b, const struct rql_build_value *v, enum rql_lane_kind kind)
{
	uint16_t index = UINT16_MAX;
	if (!v->null) {
		union rql_constant value = v->value;
		if (rql_kind_is_real(kind) && !rql_kind_is_real(v->kind)) {
			value.integer = 0;
			value.real = (double)v->value.integer;
		}
		uint32_t at = rql_build_constants(b, &value, 1);
		if (at >= UINT16_MAX)
			rql_build_fail(b, RQL_ERROR_LIMIT, "an expression with more than %u constants", UINT16_MAX);
		index = (uint16_t)at;
	}
	for (uint32_t i = 0; i < b->reg_count; i++)
		if (b->regs[i].role == RQL_REG_CONSTANT && b->regs[i].kind == kind && b->regs[i].index == index)
			return (uint16_t)i;
	return new_reg(b, kind, RQL_REG_CONSTANT, index);
}

uint16_t rql_build_reg(struct rql_builder *b, rql_value_number v, enum rql_lane_kind kind)
{
	if (!rql_build_ok(b, v))
		return 0;
	struct rql_build_value value = b->values[v];
	if (value.constant)
		return constant_reg(b, &value, kind);
	if (value.kind == kind)
		return value.reg;
	struct rql_step step = {.op = RQL_STEP_CONVERT, .kind = (uint8_t)kind, .a = value.reg};
	step.b = step.c = RQL_REG_NONE;
	value.interval = false;
	rql_value_number converted = rql_build_emit(b, step, kind, value);
	return converted == RQL_VALUE_NONE ? 0 : b->values[converted].reg;
}

rql_value_number rql_build_retype(struct rql_builder *b, rql_value_number x, struct rql_type type)
{
	if (!rql_build_ok(b, x))
		return RQL_VALUE_NONE;
	struct rql_build_value value = b->values[x];
	value.type = type;
	return rql_build_add_value(b, &value);
}

/* ---- steps ---- */
/* Rows of the mask that are in force now are all rows of `mask`. */
static bool mask_covers(const struct rql_builder *b, uint16_t mask)
{
	if (mask == RQL_REG_NONE)
		return true;
	for (uint32_t d = 0; d < b->depth; d++)
		if (b->masks[d] == mask)
			return true;
	return false;
}

static bool step_equal(const struct rql_step *a, const struct rql_step *b)
{
	return a->op == b->op && a->kind == b->kind && a->a == b->a && a->b == b->b && a->c == b->c &&
	       a->detail == b->detail && a->from == b->from && a->imm == b->imm && a->count == b->count;
}

rql_value_number rql_build_emit(struct rql_builder *b, struct rql_step step, enum rql_lane_kind dst,
                                struct rql_build_value result)
{
	if (b->status != RQL_OK)
		return RQL_VALUE_NONE;
	step.mask = b->depth ? b->masks[b->depth - 1] : RQL_REG_NONE;
	result.constant = result.null = false;
	result.kind = dst;
	bool is_mask = step.op >= RQL_STEP_MASK_TRUE && step.op <= RQL_STEP_MASK_NULL;
	for (uint32_t i = 0; i < b->step_count; i++) {
		const struct rql_step *s = &b->steps[i];
		if (step_equal(s, &step) && b->regs[s->dst].kind == dst &&
		    (is_mask ? s->mask == step.mask : mask_covers(b, s->mask))) {
			result.reg = s->dst;
			return rql_build_add_value(b, &result);
		}
	}
	if (b->step_count == RQL_PROGRAM_MAX_STEPS)
		return rql_build_fail(b, RQL_ERROR_LIMIT, "an expression of more than %u steps", RQL_PROGRAM_MAX_STEPS);
	step.dst = result.reg = new_reg(b, dst, RQL_REG_STEP, 0);
	if (b->status != RQL_OK || !GROW(b, steps, step_count, step_capacity))
		return RQL_VALUE_NONE;
	b->definitions[step.dst] = b->step_count;
	b->steps[b->step_count++] = step;
	return rql_build_add_value(b, &result);
}

/* ---- tables ---- */
static void table_value(const struct rql_column *values, uint32_t row, struct rql_program_table *table)
{
	struct rql_value v = rql_column_get(values, row);
	void *data = (void *)(uintptr_t)table->data;
	if (v.is_null)
		return;
	switch (table->kind) {
	case RQL_LANE_BOOL:
		rql_bit_or(((uint64_t *)data), row, v.integer != 0);
		break;
	case RQL_LANE_I32:
		((int32_t *)data)[row] = (int32_t)v.integer;
		break;
	case RQL_LANE_I64:
		((int64_t *)data)[row] = (int64_t)v.integer;
		break;
	case RQL_LANE_I128:
		((rql_int128 *)data)[row] = v.integer;
		break;
	case RQL_LANE_F32:
		((float *)data)[row] = (float)v.real;
		break;
	default:
		((double *)data)[row] = v.real;
	}
}

static struct rql_bounds column_bounds(const struct rql_column *values, uint32_t count)
{
	struct rql_bounds bounds = {1, 0};
	for (uint32_t i = 0; i < count; i++) {
		struct rql_value v = rql_column_get(values, i);
		if (v.is_null)
			continue;
		bool first = bounds.low > bounds.high;
		bounds.low = first || v.integer < bounds.low ? v.integer : bounds.low;
		bounds.high = first || v.integer > bounds.high ? v.integer : bounds.high;
	}
	return bounds.low > bounds.high ? (struct rql_bounds){0, 0} : bounds;
}

/* What lengths and counts are: without a call for each of a large dictionary's values. */
static struct rql_bounds bigint_bounds(const struct rql_column *values, uint32_t count)
{
	const int64_t *v = values->data;
	int64_t low = INT64_MAX, high = INT64_MIN;
	for (uint32_t i = 0; i < count; i++) {
		bool valid = rql_column_valid(values, i);
		low = valid && v[i] < low ? v[i] : low;
		high = valid && v[i] > high ? v[i] : high;
	}
	return low > high ? (struct rql_bounds){0, 0} : (struct rql_bounds){low, high};
}

/* BIGINT and DOUBLE, as they lie. */
static void fill_words(const struct rql_column *values, uint32_t count, struct rql_program_table *table)
{
	const int64_t *v = values->data;
	int32_t *narrow = (int32_t *)(uintptr_t)table->data;
	if (table->kind == RQL_LANE_I32)
		for (uint32_t i = 0; i < count; i++)
			narrow[i] = (int32_t)v[i];
	else
		memcpy((void *)(uintptr_t)table->data, v, count * sizeof *v);
}

/* A table's values and which are there. lasts: words are read where they lie. */
static bool fill_table(struct rql_builder *b, const struct rql_column *values, uint32_t count, bool lasts,
                       struct rql_program_table *table, bool *nulls)
{
	bool in_words = values->type.id == RQL_TYPE_BIGINT || values->type.id == RQL_TYPE_DOUBLE;
	uint32_t words = (count + 63) / 64;
	size_t unit = rql_lane_bytes(table->kind);
	uint64_t *valid = RQL_NEW_ARRAY(b->arena, uint64_t, words);
	lasts = lasts && in_words && table->kind != RQL_LANE_I32;
	table->data = lasts ? values->data : rql_arena_array(b->arena, unit ? count : words, unit ? unit : sizeof(uint64_t));
	table->valid = valid;
	if (!table->data || !valid)
		return false;
	rql_bits_copy(valid, 0, values->validity, 0, count);
	*nulls = !rql_bits_all(valid, count);
	if (in_words && !lasts)
		fill_words(values, count, table);
	for (uint32_t i = 0; i < count && !in_words; i++)
		table_value(values, i, table);
	if (!*nulls)
		table->valid = NULL;
	return true;
}

rql_value_number rql_build_lookup(struct rql_builder *b, rql_value_number a, const struct rql_column *values,
                                  uint32_t count, bool lasts)
{
	struct rql_program_table table = {.count = count};
	struct rql_bounds none = {1, 0}, bounds = {0, 0};
	if (!rql_build_ok(b, a))
		return RQL_VALUE_NONE;
	bool readable = values->type.id != RQL_TYPE_VARCHAR && values->type.id != RQL_TYPE_BLOB;
	bool is_bigint = values->type.id == RQL_TYPE_BIGINT, nulls = false;
	if (!readable || !rql_lane_kind_of(values->type, none, &table.kind))
		return rql_build_fail(b, RQL_ERROR_UNSUPPORTED, "a table of type %s", rql_type_id_name(values->type.id));
	if (rql_kind_is_integer(table.kind)) {
		bounds = is_bigint ? bigint_bounds(values, count) : column_bounds(values, count);
		table.kind = rql_bounds_kind(bounds);
	}
	if (count == 0) { /* an empty dictionary: all rows are NULL */
		struct rql_value null = rql_value_null(values->type);
		return rql_build_constant(b, &null);
	}
	if (!fill_table(b, values, count, lasts, &table, &nulls) || !GROW(b, tables, table_count, table_capacity))
		return rql_build_fail(b, RQL_ERROR_MEMORY, "out of memory (a table of %u codes)", count);
	b->tables[b->table_count++] = table;
	struct rql_build_value value = {.type = values->type, .bounds = bounds, .nullable = nulls || b->values[a].nullable};
	struct rql_step step = {.op = RQL_STEP_LOOKUP, .kind = RQL_LANE_I32, .imm = b->table_count - 1};
	step.a = rql_build_reg(b, a, RQL_LANE_I32);
	step.b = step.c = RQL_REG_NONE;
	return rql_build_emit(b, step, table.kind, value);
}
