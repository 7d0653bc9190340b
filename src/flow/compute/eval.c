/* Expressions over single rows, with SQL's three-valued logic; native.c lists what can arrive here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "flow/rowset.h"

struct rql_value rql_vector_get(const struct rql_vector *v, uint32_t row)
{
	if (v->at)
		row = v->at[row];
	if (v->outer && row == RQL_NO_ROW)
		return rql_value_null(v->type);
	if (v->kind == RQL_VECTOR_COLUMN)
		return rql_column_get(v->values, row);
	if (v->kind == RQL_VECTOR_CODES && v->values)
		return rql_column_get(v->values, v->codes[row]);
	if (v->kind == RQL_VECTOR_CODES && v->codes[row] == v->null_code)
		return rql_value_null(v->type);
	if (v->kind == RQL_VECTOR_CODES)
		return (struct rql_value){.type = v->type, .integer = (rql_int128)v->least + v->codes[row]};
	if (v->kind == RQL_VECTOR_WIDE)
		return v->wide[row] == v->null_wide
		           ? rql_value_null(v->type)
		           : (struct rql_value){.type = v->type, .integer = rql_vector_wide(v, row)};
	if (!rql_bit_valid(v->valid, row))
		return rql_value_null(v->type);
	struct rql_value value = {.type = v->type};
	if (v->kind == RQL_VECTOR_INTEGER)
		value.integer = v->integer[row];
	else
		value.real = v->real[row];
	return value;
}

static rql_status host_decides(struct rql_error *err, const char *what)
{
	return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "%s in a finishing expression", what);
}

static struct rql_value boolean(bool value)
{
	return (struct rql_value){.type = rql_type_simple(RQL_TYPE_BOOLEAN), .integer = value};
}

static struct rql_value unknown(void)
{
	return rql_value_null(rql_type_simple(RQL_TYPE_BOOLEAN));
}

/* ---- comparisons ---- */

static struct rql_value compare(const char *op, const struct rql_value *a, const struct rql_value *b)
{
	if (op[0] == 'I') { /* IS [NOT] DISTINCT FROM */
		bool distinct = a->is_null || b->is_null ? a->is_null != b->is_null : rql_value_compare(a, b) != 0;
		return boolean(distinct != (strstr(op, "NOT") != NULL));
	}
	if (a->is_null || b->is_null)
		return unknown();
	return boolean(rql_comparison_holds(op, rql_value_compare(a, b)));
}

static rql_status eval_compare(const struct rql_rowset *set, const struct rql_expr *e, uint32_t row,
                               struct rql_value *out, struct rql_error *err)
{
	struct rql_value a, b;
	RQL_TRY(rql_rowset_eval(set, e->children[0], row, &a, err));
	RQL_TRY(rql_rowset_eval(set, e->children[1], row, &b, err));
	*out = compare(e->name, &a, &b);
	return RQL_OK;
}

static rql_status eval_in(const struct rql_rowset *set, const struct rql_expr *e, uint32_t row, struct rql_value *out,
                          struct rql_error *err)
{
	struct rql_value a, b;
	bool some_null = false, found = false;
	RQL_TRY(rql_rowset_eval(set, e->children[0], row, &a, err));
	for (uint32_t i = 1; i < e->child_count && !found; i++) {
		RQL_TRY(rql_rowset_eval(set, e->children[i], row, &b, err));
		some_null |= b.is_null;
		found = !a.is_null && !b.is_null && rql_value_compare(&a, &b) == 0;
	}
	bool negated = e->kind == RQL_EXPR_NOT_IN;
	*out = found ? boolean(!negated) : a.is_null || some_null ? unknown() : boolean(negated);
	return RQL_OK;
}

static rql_status eval_between(const struct rql_rowset *set, const struct rql_expr *e, uint32_t row,
                               struct rql_value *out, struct rql_error *err)
{
	struct rql_value x, low, high;
	RQL_TRY(rql_rowset_eval(set, e->children[0], row, &x, err));
	RQL_TRY(rql_rowset_eval(set, e->children[1], row, &low, err));
	RQL_TRY(rql_rowset_eval(set, e->children[2], row, &high, err));
	struct rql_value a = compare(e->name[0] == '[' ? ">=" : ">", &x, &low),
					 b = compare(e->name[1] == ']' ? "<=" : "<", &x, &high);
	if ((!a.is_null && !a.integer) || (!b.is_null && !b.integer))
		*out = boolean(false);
	else
		*out = a.is_null || b.is_null ? unknown() : boolean(true);
	return RQL_OK;
}

/* ---- logic ---- */

static rql_status eval_logic(const struct rql_rowset *set, const struct rql_expr *e, uint32_t row,
                             struct rql_value *out, struct rql_error *err)
{
	bool decisive = e->kind == RQL_EXPR_OR, some_null = false;
	for (uint32_t i = 0; i < e->child_count; i++) {
		struct rql_value v;
		RQL_TRY(rql_rowset_eval(set, e->children[i], row, &v, err));
		if (!v.is_null && (v.integer != 0) == decisive) {
			*out = boolean(decisive);
			return RQL_OK;
		}
		some_null |= v.is_null;
	}
	*out = some_null ? unknown() : boolean(!decisive);
	return RQL_OK;
}

static rql_status eval_case(const struct rql_rowset *set, const struct rql_expr *e, uint32_t row, struct rql_value *out,
                            struct rql_error *err)
{
	for (uint32_t i = 0; i + 1 < e->child_count; i += 2) {
		struct rql_value when;
		RQL_TRY(rql_rowset_eval(set, e->children[i], row, &when, err));
		if (!when.is_null && when.integer)
			return rql_rowset_eval(set, e->children[i + 1], row, out, err);
	}
	if (e->child_count & 1)
		return rql_rowset_eval(set, e->children[e->child_count - 1], row, out, err);
	*out = rql_value_null(e->type);
	return RQL_OK;
}

static rql_status eval_coalesce(const struct rql_rowset *set, const struct rql_expr *e, uint32_t row,
                                struct rql_value *out, struct rql_error *err)
{
	*out = rql_value_null(e->type);
	for (uint32_t i = 0; i < e->child_count && out->is_null; i++)
		RQL_TRY(rql_rowset_eval(set, e->children[i], row, out, err));
	return RQL_OK;
}

/* ---- numbers ---- */

static rql_int128 power_of_ten(unsigned n)
{
	rql_int128 power = 1;
	while (n--)
		power *= 10;
	return power;
}

static bool fits(struct rql_type type, rql_int128 v)
{
	if (type.id == RQL_TYPE_DECIMAL) {
		rql_int128 limit = power_of_ten(type.width);
		return v > -limit && v < limit;
	}
	unsigned bits = rql_type_bytes(type) * 8;
	if (bits == 128)
		return true;
	rql_int128 span = (rql_int128)1 << (bits - (rql_type_is_signed(type) ? 1 : 0));
	return v < span && v >= (rql_type_is_signed(type) ? -span : 0);
}

#define INT128_GREATEST ((((rql_int128)1 << 126) - 1) * 2 + 1)

double rql_hugeint_to_double(rql_int128 v)
{
	int64_t upper = (int64_t)(v >> 64);
	uint64_t lower = (uint64_t)v;
	if (upper == -1)
		return -(double)(UINT64_MAX - lower) - 1;
	return (double)lower + (double)upper * 18446744073709551616.0;
}

double rql_decimal_nearest(rql_int128 value, unsigned scale)
{
	rql_int128 exact = (rql_int128)1 << 53;
	char digits[48];
	double power = 1;
	unsigned at = sizeof digits, end;
	for (unsigned i = 0; i < scale; i++)
		power *= 10;
	if (value >= -exact && value <= exact && scale <= 22)
		return (double)value / power;
	end = at -= (unsigned)snprintf(NULL, 0, "e-%u", scale) + 1;
	snprintf(digits + end, sizeof digits - end, "e-%u", scale);
	for (rql_int128 rest = value < 0 ? -value : value; rest || at == end; rest /= 10)
		digits[--at] = (char)('0' + (int)(rest % 10));
	return value < 0 ? -strtod(digits + at, NULL) : strtod(digits + at, NULL);
}

/* DuckDB 2 gives the nearest. Before it, a number that a double holds is divided once; of a greater one the whole and the
 * fraction are converted apart, each as the decimal's integers are. */
static double decimal_to_double(rql_int128 value, struct rql_type type)
{
	const rql_int128 exact = (rql_int128)1 << 53, power = power_of_ten(type.scale);
	const bool wide = type.width > 18;
	if (rql_host_major() >= 2 && type.scale)
		return rql_decimal_nearest(value, type.scale);
	if (value >= -exact && value <= exact)
		return (double)value / (double)power;
	const rql_int128 whole = value / power, rest = value % power;
	double of_whole = wide ? rql_hugeint_to_double(whole) : (double)(int64_t)whole;
	double of_rest = wide ? rql_hugeint_to_double(rest) : (double)(int64_t)rest;
	return type.scale ? of_whole + of_rest / (double)power : of_whole;
}

static rql_status eval_cast(const struct rql_rowset *set, const struct rql_expr *e, uint32_t row, struct rql_value *out,
                            struct rql_error *err)
{
	struct rql_value v;
	RQL_TRY(rql_rowset_eval(set, e->children[0], row, &v, err));
	struct rql_type from = e->children[0]->type;
	*out = v;
	out->type = e->type;
	if (v.is_null || rql_type_equal(from, e->type))
		return RQL_OK;
	if (e->type.id == RQL_TYPE_DOUBLE) {
		out->real = from.id == RQL_TYPE_DECIMAL   ? decimal_to_double(v.integer, from)
		            : from.id == RQL_TYPE_HUGEINT ? rql_hugeint_to_double(v.integer)
		                                          : (double)v.integer;
		return RQL_OK;
	}
	return fits(e->type, v.integer) ? RQL_OK : host_decides(err, "a cast out of range");
}

static rql_status real_arithmetic(char op, double a, double b, struct rql_value *out, struct rql_error *err)
{
	if (op == '/' && b == 0)
		return host_decides(err, "a division by zero");
	out->real = op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b;
	return RQL_OK;
}

static rql_status eval_arithmetic(const struct rql_rowset *set, const struct rql_expr *e, uint32_t row,
                                  struct rql_value *out, struct rql_error *err)
{
	struct rql_value a, b;
	RQL_TRY(rql_rowset_eval(set, e->children[0], row, &a, err));
	RQL_TRY(rql_rowset_eval(set, e->children[1], row, &b, err));
	*out = rql_value_null(e->type);
	if (a.is_null || b.is_null)
		return RQL_OK;
	out->is_null = false;
	char op = e->name[0];
	if (e->type.id == RQL_TYPE_DOUBLE)
		return real_arithmetic(op, a.real, b.real, out, err);
	rql_int128 r;
	bool overflow = op == '+'   ? __builtin_add_overflow(a.integer, b.integer, &r)
	                : op == '-' ? __builtin_sub_overflow(a.integer, b.integer, &r)
	                            : __builtin_mul_overflow(a.integer, b.integer, &r);
	/* DuckDB's HUGEINT leaves out the least 128-bit number in places: near the ends it decides. */
	bool at_end = !overflow && r < -INT128_GREATEST;
	if (overflow || at_end || !fits(e->type, r))
		return host_decides(err, "an overflow");
	out->integer = r;
	return RQL_OK;
}

rql_status rql_rowset_eval(const struct rql_rowset *set, const struct rql_expr *e, uint32_t row, struct rql_value *out,
                           struct rql_error *err)
{
	switch (e->kind) {
	case RQL_EXPR_REF:
		*out = rql_vector_get(&set->vectors[e->index], row);
		return RQL_OK;
	case RQL_EXPR_CONSTANT:
		*out = e->value;
		return RQL_OK;
	case RQL_EXPR_CAST:
		return eval_cast(set, e, row, out, err);
	case RQL_EXPR_COMPARE:
		return eval_compare(set, e, row, out, err);
	case RQL_EXPR_IN:
	case RQL_EXPR_NOT_IN:
		return eval_in(set, e, row, out, err);
	case RQL_EXPR_BETWEEN:
		return eval_between(set, e, row, out, err);
	case RQL_EXPR_AND:
	case RQL_EXPR_OR:
		return eval_logic(set, e, row, out, err);
	case RQL_EXPR_NOT:
		RQL_TRY(rql_rowset_eval(set, e->children[0], row, out, err));
		if (!out->is_null)
			*out = boolean(!out->integer);
		return RQL_OK;
	case RQL_EXPR_IS_NULL:
	case RQL_EXPR_IS_NOT_NULL:
		RQL_TRY(rql_rowset_eval(set, e->children[0], row, out, err));
		*out = boolean(out->is_null == (e->kind == RQL_EXPR_IS_NULL));
		return RQL_OK;
	case RQL_EXPR_CASE:
		return eval_case(set, e, row, out, err);
	case RQL_EXPR_COALESCE:
		return eval_coalesce(set, e, row, out, err);
	case RQL_EXPR_FUNCTION:
		return eval_arithmetic(set, e, row, out, err);
	default:
		return rql_error_set(err, RQL_ERROR_INTERNAL, "an expression that is not native reached the finishing stage");
	}
}
