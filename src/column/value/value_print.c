/* Values as SQL literals that the host reads back to the same value of the same type. Anything but the plainest
 * literals is CAST('text' AS type): the host's parser gives bare literals types of its own choice. */
#include "column/value/value.h"

#include <math.h>

/* Decimal digits of an unsigned 128-bit number, at least min_digits of them. buffer has 40 characters. */
static const char *digits_of(rql_uint128 number, unsigned min_digits, char buffer[static 41])
{
	char *at = buffer + 40;
	*at = '\0';
	for (unsigned n = 0; number != 0 || n < min_digits; n++) {
		*--at = (char)('0' + (int)(number % 10));
		number /= 10;
	}
	return at;
}

static rql_uint128 magnitude(rql_int128 number)
{
	return number < 0 ? -(rql_uint128)number : (rql_uint128)number;
}

static void put_integer(struct rql_strbuf *out, rql_int128 number)
{
	char buffer[41];
	if (number < 0)
		rql_strbuf_putc(out, '-');
	rql_strbuf_put(out, digits_of(magnitude(number), 1, buffer));
}

static void put_decimal(struct rql_strbuf *out, rql_int128 number, unsigned scale)
{
	char buffer[41];
	const char *digits = digits_of(magnitude(number), scale + 1, buffer);
	size_t whole = strlen(digits) - scale;
	if (number < 0)
		rql_strbuf_putc(out, '-');
	rql_strbuf_put_n(out, digits, whole);
	if (scale) {
		rql_strbuf_putc(out, '.');
		rql_strbuf_put(out, digits + whole);
	}
}

static void put_real(struct rql_strbuf *out, double real, int digits)
{
	if (isnan(real))
		rql_strbuf_put(out, "nan");
	else if (isinf(real))
		rql_strbuf_put(out, real < 0 ? "-inf" : "inf");
	else
		rql_strbuf_printf(out, "%.*g", digits, real);
}

/* Proleptic Gregorian date of a day number (0 is 1970-01-01). Counts in eras of 400 years that start on March 1st, so
 * that the leap day is the last of a year. */
static void put_date(struct rql_strbuf *out, int64_t days)
{
	days += 719468; /* from 0000-03-01 */
	int64_t era = (days >= 0 ? days : days - 146096) / 146097;
	int64_t day_of_era = days - era * 146097;
	int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t shifted_month = (5 * day_of_year + 2) / 153;
	int64_t day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
	int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
	int64_t year = year_of_era + era * 400 + (month <= 2);
	bool before_christ = year <= 0; /* year 0 is 1 BC */
	rql_strbuf_printf(out, "%04lld-%02lld-%02lld%s", (long long)(before_christ ? 1 - year : year), (long long)month,
	                  (long long)day, before_christ ? " (BC)" : "");
}

/* A time of day in units of 1/per_second seconds; fraction_digits of them after the point. */
static void put_time(struct rql_strbuf *out, int64_t time, int64_t per_second, int fraction_digits)
{
	int64_t seconds = time / per_second, fraction = time % per_second;
	rql_strbuf_printf(out, "%02d:%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60));
	if (fraction)
		rql_strbuf_printf(out, ".%0*lld", fraction_digits, (long long)fraction);
}

static void put_timestamp(struct rql_strbuf *out, int64_t stamp, int64_t per_second, int fraction_digits)
{
	if (stamp == INT64_MAX || stamp == -INT64_MAX) {
		rql_strbuf_put(out, stamp > 0 ? "infinity" : "-infinity");
		return;
	}
	int64_t per_day = per_second * 86400;
	int64_t days = stamp / per_day, time = stamp % per_day;
	if (time < 0) {
		days--;
		time += per_day;
	}
	put_date(out, days);
	rql_strbuf_putc(out, ' ');
	put_time(out, time, per_second, fraction_digits);
}

static void put_interval(struct rql_strbuf *out, struct rql_interval interval)
{
	/* The host reads the digits before it applies the sign, so the least int64 must come in two parts. */
	bool least = interval.micros == INT64_MIN;
	long long micros = least ? -INT64_MAX : interval.micros;
	rql_strbuf_printf(out, "%d months %d days %lld microseconds%s", interval.months, interval.days, micros,
	                  least ? " -1 microseconds" : "");
}

static void put_uuid(struct rql_strbuf *out, rql_int128 stored)
{
	rql_uint128 bits = (rql_uint128)stored ^ (rql_uint128)1 << 127;
	for (int digit = 0; digit < 32; digit++) {
		if (digit == 8 || digit == 12 || digit == 16 || digit == 20)
			rql_strbuf_putc(out, '-');
		rql_strbuf_putc(out, "0123456789abcdef"[(int)(bits >> (124 - 4 * digit) & 15)]);
	}
}

/* A NUL would end the statement's text: it is written as chr(0) between the pieces. The functions are qualified, since a
 * database may have macros of these names (and of operators'). */
static void put_varchar(struct rql_strbuf *out, const char *data, uint64_t length)
{
	const char *nul = length ? memchr(data, 0, length) : NULL;
	if (!nul) {
		rql_strbuf_put_literal(out, data, length);
		return;
	}
	rql_strbuf_put(out, "system.main.concat(");
	while (nul) {
		rql_strbuf_put_literal(out, data, (size_t)(nul - data));
		rql_strbuf_put(out, ", system.main.chr(0), ");
		length -= (uint64_t)(nul - data) + 1;
		data = nul + 1;
		nul = length ? memchr(data, 0, length) : NULL;
	}
	rql_strbuf_put_literal(out, data, length);
	rql_strbuf_putc(out, ')');
}

static void put_blob(struct rql_strbuf *out, const char *data, uint64_t length)
{
	for (uint64_t i = 0; i < length; i++)
		rql_strbuf_printf(out, "\\x%02X", (unsigned)(unsigned char)data[i]);
}

/* What stands between the quotes of CAST('...' AS type). */
static void put_cast_text(struct rql_strbuf *out, const struct rql_value *value)
{
	switch (value->type.id) {
	case RQL_TYPE_FLOAT:
		put_real(out, value->real, 9);
		break;
	case RQL_TYPE_DOUBLE:
		put_real(out, value->real, 17);
		break;
	case RQL_TYPE_DECIMAL:
		put_decimal(out, value->integer, value->type.scale);
		break;
	case RQL_TYPE_BLOB:
		put_blob(out, value->string.data, value->string.length);
		break;
	case RQL_TYPE_DATE:
		if (value->integer == INT32_MAX || value->integer == -INT32_MAX)
			rql_strbuf_put(out, value->integer > 0 ? "infinity" : "-infinity");
		else
			put_date(out, (int64_t)value->integer);
		break;
	case RQL_TYPE_TIME:
		put_time(out, (int64_t)value->integer, 1000000, 6);
		break;
	case RQL_TYPE_TIMESTAMP:
		put_timestamp(out, (int64_t)value->integer, 1000000, 6);
		break;
	case RQL_TYPE_TIMESTAMP_S:
		put_timestamp(out, (int64_t)value->integer, 1, 0);
		break;
	case RQL_TYPE_TIMESTAMP_MS:
		put_timestamp(out, (int64_t)value->integer, 1000, 3);
		break;
	case RQL_TYPE_TIMESTAMP_NS:
		put_timestamp(out, (int64_t)value->integer, 1000000000, 9);
		break;
	case RQL_TYPE_TIMESTAMP_TZ:
		put_timestamp(out, (int64_t)value->integer, 1000000, 6);
		if (value->integer != INT64_MAX && value->integer != -INT64_MAX)
			rql_strbuf_put(out, "+00");
		break;
	case RQL_TYPE_INTERVAL:
		put_interval(out, value->interval);
		break;
	case RQL_TYPE_UUID:
		put_uuid(out, value->integer);
		break;
	case RQL_TYPE_UHUGEINT: {
		char buffer[41];
		rql_strbuf_put(out, digits_of((rql_uint128)value->integer, 1, buffer));
		break;
	}
	default:
		put_integer(out, value->integer);
		break;
	}
}

static bool put_null(struct rql_strbuf *out, struct rql_type type)
{
	if (type.id == RQL_TYPE_INVALID || type.id == RQL_TYPE_SQLNULL) {
		rql_strbuf_put(out, "NULL");
		return true;
	}
	rql_strbuf_put(out, "CAST(NULL AS ");
	rql_type_print(out, type);
	rql_strbuf_putc(out, ')');
	return true;
}

bool rql_value_print(struct rql_strbuf *out, const struct rql_value *value)
{
	const struct rql_type type = value->type;
	if (value->is_null)
		return put_null(out, type);
	switch (type.id) {
	case RQL_TYPE_INVALID:
	case RQL_TYPE_SQLNULL:
		return false;
	case RQL_TYPE_BOOLEAN:
		rql_strbuf_put(out, value->integer ? "true" : "false");
		return true;
	case RQL_TYPE_INTEGER:
		if (value->integer == INT32_MIN) /* the host reads a minus and 2147483648, which is a BIGINT */
			break;
		put_integer(out, value->integer);
		return true;
	case RQL_TYPE_VARCHAR:
		put_varchar(out, value->string.data, value->string.length);
		return true;
	case RQL_TYPE_ENUM:
		if (!type.info || value->integer < 0 || value->integer >= type.info->name_count)
			return false;
		rql_strbuf_put(out, "CAST(");
		const char *name = type.info->names[(uint32_t)value->integer];
		rql_strbuf_put_literal(out, name, strlen(name));
		rql_strbuf_put(out, " AS ");
		rql_type_print(out, type);
		rql_strbuf_putc(out, ')');
		return true;
	case RQL_TYPE_OTHER:
		if (!value->string.data)
			return false;
		rql_strbuf_put(out, "CAST(");
		rql_strbuf_put_n(out, value->string.data, value->string.length);
		rql_strbuf_put(out, " AS ");
		rql_type_print(out, type);
		rql_strbuf_putc(out, ')');
		return true;
	default:
		break;
	}
	rql_strbuf_put(out, "CAST('");
	put_cast_text(out, value);
	rql_strbuf_put(out, "' AS ");
	rql_type_print(out, type);
	rql_strbuf_putc(out, ')');
	return true;
}
