/* Values read from columns and written to them, and compared in the order of the host. */
#include "column/value/value.h"

#include <math.h>

struct rql_value rql_value_null(struct rql_type type)
{
	return (struct rql_value){.type = type, .is_null = true};
}

/* ---- one value of a column ---- */

#define AT(ctype) (((const ctype *)column->data)[row])

static rql_int128 get_integral(const struct rql_column *column, uint64_t row)
{
	unsigned bytes = rql_type_bytes(column->type);
	if (rql_type_is_signed(column->type)) {
		switch (bytes) {
		case 1:
			return AT(int8_t);
		case 2:
			return AT(int16_t);
		case 4:
			return AT(int32_t);
		case 8:
			return AT(int64_t);
		default:
			return AT(rql_int128);
		}
	}
	switch (bytes) {
	case 1:
		return AT(uint8_t);
	case 2:
		return AT(uint16_t);
	case 4:
		return AT(uint32_t);
	case 8:
		return AT(uint64_t);
	default:
		return AT(rql_int128);
	}
}

struct rql_value rql_column_get(const struct rql_column *column, uint64_t row)
{
	struct rql_value value = {.type = column->type};
	if (column->type.id == RQL_TYPE_SQLNULL || !rql_column_valid(column, row)) {
		value.is_null = true;
		return value;
	}
	switch (column->type.id) {
	case RQL_TYPE_FLOAT:
		value.real = AT(float);
		break;
	case RQL_TYPE_DOUBLE:
		value.real = AT(double);
		break;
	case RQL_TYPE_VARCHAR:
	case RQL_TYPE_BLOB: {
		const struct rql_string *s = &((const struct rql_string *)column->data)[row];
		value.string.data = rql_string_data(s);
		value.string.length = s->length;
		break;
	}
	case RQL_TYPE_INTERVAL:
		value.interval = AT(struct rql_interval);
		break;
	case RQL_TYPE_INVALID:
	case RQL_TYPE_OTHER:
		value.string.data = NULL;
		value.string.length = 0;
		break;
	default:
		value.integer = get_integral(column, row);
		break;
	}
	return value;
}

void rql_column_put(struct rql_column *column, uint64_t row, const struct rql_value *value)
{
	unsigned bytes = rql_type_bytes(column->type);
	char *at = bytes ? (char *)column->data + row * bytes : NULL;
	if (column->validity && value->is_null)
		rql_bit_clear(column->validity, row);
	else if (column->validity)
		rql_bit_set(column->validity, row);
	if (value->is_null || !at)
		return;
	switch (column->type.id) {
	case RQL_TYPE_FLOAT: {
		float f = (float)value->real;
		memcpy(at, &f, sizeof f);
		break;
	}
	case RQL_TYPE_DOUBLE:
		memcpy(at, &value->real, sizeof value->real);
		break;
	case RQL_TYPE_VARCHAR:
	case RQL_TYPE_BLOB: {
		struct rql_string s = rql_string_make(value->string.data, (uint32_t)value->string.length);
		memcpy(at, &s, sizeof s);
		break;
	}
	case RQL_TYPE_INTERVAL:
		memcpy(at, &value->interval, sizeof value->interval);
		break;
	default: /* two's complement, little-endian: the low bytes are the narrow value */
		memcpy(at, &value->integer, bytes);
		break;
	}
}

/* ---- order ---- */

#define SIGN(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_real(double a, double b)
{
	bool nan_a = isnan(a), nan_b = isnan(b);
	if (nan_a || nan_b)
		return (int)nan_a - (int)nan_b;
	return SIGN(a, b);
}

static int compare_bytes(const char *a, uint64_t length_a, const char *b, uint64_t length_b)
{
	uint64_t common = length_a < length_b ? length_a : length_b;
	int order = common ? memcmp(a, b, common) : 0;
	if (order != 0)
		return order < 0 ? -1 : 1;
	return SIGN(length_a, length_b);
}

/* Micros carry into days and days into months (of 30 days), each truncating toward zero, as the host does. */
static int compare_interval(struct rql_interval a, struct rql_interval b)
{
	const int64_t day = INT64_C(86400000000);
	int64_t days_a = a.days + a.micros / day, days_b = b.days + b.micros / day;
	int64_t months_a = a.months + days_a / 30, months_b = b.months + days_b / 30;
	if (months_a != months_b)
		return SIGN(months_a, months_b);
	if (days_a % 30 != days_b % 30)
		return SIGN(days_a % 30, days_b % 30);
	return SIGN(a.micros % day, b.micros % day);
}

int rql_value_compare(const struct rql_value *a, const struct rql_value *b)
{
	switch (a->type.id) {
	case RQL_TYPE_FLOAT:
	case RQL_TYPE_DOUBLE:
		return compare_real(a->real, b->real);
	case RQL_TYPE_VARCHAR:
	case RQL_TYPE_BLOB:
		return compare_bytes(a->string.data, a->string.length, b->string.data, b->string.length);
	case RQL_TYPE_INTERVAL:
		return compare_interval(a->interval, b->interval);
	case RQL_TYPE_UHUGEINT:
		return SIGN((rql_uint128)a->integer, (rql_uint128)b->integer);
	case RQL_TYPE_INVALID:
	case RQL_TYPE_SQLNULL:
	case RQL_TYPE_OTHER:
		return 0;
	default: /* a UUID is stored with its top bit flipped so that this is its order */
		return SIGN(a->integer, b->integer);
	}
}

#define COMPARE_AS(ctype) return SIGN(((const ctype *)a->data)[row_a], ((const ctype *)b->data)[row_b])

int rql_column_compare(const struct rql_column *a, uint64_t row_a, const struct rql_column *b, uint64_t row_b)
{
	/* What sorts compare most is worth not going through a value. */
	switch (a->type.id) {
	case RQL_TYPE_INTEGER:
	case RQL_TYPE_DATE:
		COMPARE_AS(int32_t);
	case RQL_TYPE_BIGINT:
	case RQL_TYPE_TIME:
	case RQL_TYPE_TIMESTAMP:
	case RQL_TYPE_TIMESTAMP_S:
	case RQL_TYPE_TIMESTAMP_MS:
	case RQL_TYPE_TIMESTAMP_NS:
	case RQL_TYPE_TIMESTAMP_TZ:
		COMPARE_AS(int64_t);
	case RQL_TYPE_VARCHAR:
	case RQL_TYPE_BLOB: {
		const struct rql_string *x = &((const struct rql_string *)a->data)[row_a];
		const struct rql_string *y = &((const struct rql_string *)b->data)[row_b];
		return compare_bytes(rql_string_data(x), x->length, rql_string_data(y), y->length);
	}
	default: {
		struct rql_value x = rql_column_get(a, row_a), y = rql_column_get(b, row_b);
		return rql_value_compare(&x, &y);
	}
	}
}

struct rql_value rql_value_copy(struct rql_arena *arena, const struct rql_value *value)
{
	struct rql_value copy = *value;
	copy.type = rql_type_copy(arena, value->type);
	bool is_string =
		value->type.id == RQL_TYPE_VARCHAR || value->type.id == RQL_TYPE_BLOB || value->type.id == RQL_TYPE_OTHER;
	if (!value->is_null && is_string && value->string.data) {
		char *data = rql_arena_alloc(arena, value->string.length + 1);
		if (!data)
			return rql_value_null(rql_type_simple(RQL_TYPE_INVALID));
		memcpy(data, value->string.data, value->string.length);
		copy.string.data = data;
	}
	if (copy.type.id != value->type.id)
		return rql_value_null(rql_type_simple(RQL_TYPE_INVALID));
	return copy;
}
