/* Casts of texts to other types, of the forms in which programs and people nearly always write them, which every session's
 * settings read alike; all other forms are the host's. */
#include <stdlib.h>
#include <string.h>
#include "bind/normal/normal.h"
#include "expr/date.h"

#define DIGITS_MAX 18u

/* A text that is read from its beginning. */
struct text {
	const char *at, *end;
};

static bool skip(struct text *t, char c)
{
	bool there = t->at < t->end && *t->at == c;
	t->at += there;
	return there;
}

/* Exactly `count` digits; 0: as many as there are, up to DIGITS_MAX. */
static bool digits(struct text *t, unsigned count, int64_t *out)
{
	unsigned n = 0;
	for (*out = 0; t->at < t->end && *t->at >= '0' && *t->at <= '9' && (count == 0 || n < count); t->at++, n++) {
		if (n == DIGITS_MAX)
			return false;
		*out = 10 * *out + (*t->at - '0');
	}
	return count ? n == count : n > 0;
}

/* ---- numbers ---- */

/* Nothing for the types that are not listed. */
static bool range_of(rql_type_id id, rql_int128 *least, rql_int128 *most)
{
	static const struct {
		rql_type_id id;
		int64_t least;
		uint64_t most;
	} ranges[] = {
		{RQL_TYPE_TINYINT, INT8_MIN, INT8_MAX},    {RQL_TYPE_UTINYINT, 0, UINT8_MAX},
		{RQL_TYPE_SMALLINT, INT16_MIN, INT16_MAX}, {RQL_TYPE_USMALLINT, 0, UINT16_MAX},
		{RQL_TYPE_INTEGER, INT32_MIN, INT32_MAX},  {RQL_TYPE_UINTEGER, 0, UINT32_MAX},
		{RQL_TYPE_BIGINT, INT64_MIN, INT64_MAX},   {RQL_TYPE_UBIGINT, 0, UINT64_MAX},
	};
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
		*least = ranges[i].least;
		*most = ranges[i].most;
		if (ranges[i].id == id)
			return true;
	}
	return false;
}

/* -12 */
static bool read_integer(struct text t, struct rql_type type, struct rql_value *out)
{
	rql_int128 least, most;
	bool minus = skip(&t, '-');
	int64_t n;
	if (!range_of(type.id, &least, &most) || !digits(&t, 0, &n) || t.at != t.end)
		return false;
	*out = (struct rql_value){.type = type, .integer = minus ? -n : n};
	return out->integer >= least && out->integer <= most;
}

/* -1.25 with as many digits behind the point as the type has: nothing is rounded. */
static bool read_decimal(struct text t, struct rql_type type, struct rql_value *out)
{
	rql_int128 most = 1;
	bool minus = skip(&t, '-');
	int64_t whole, rest = 0;
	if (!digits(&t, 0, &whole) || (type.scale && (!skip(&t, '.') || !digits(&t, type.scale, &rest))) || t.at != t.end ||
	    type.scale > DIGITS_MAX)
		return false;
	rql_int128 n = whole;
	for (unsigned i = 0; i < type.scale; i++)
		n *= 10;
	for (unsigned i = 0; i < type.width; i++)
		most *= 10;
	n += rest;
	*out = (struct rql_value){.type = type, .integer = minus ? -n : n};
	return n < most;
}

/* -1.5, 2e-3: correctly rounded by both. */
static bool read_double(struct text t, struct rql_type type, struct rql_value *out)
{
	char copy[40], *end = NULL;
	size_t length = 0;
	for (const char *at = t.at; at < t.end; at++) {
		bool known = (*at >= '0' && *at <= '9') || *at == '.' || *at == 'e' || *at == 'E' || *at == '-';
		if (!known || length + 1 >= sizeof copy)
			return false;
		copy[length++] = *at;
	}
	copy[length] = '\0';
	char first = copy[copy[0] == '-'];
	if (first < '0' || first > '9' || copy[length - 1] == '.' || strstr(copy, ".e") || strstr(copy, ".E"))
		return false;
	*out = (struct rql_value){.type = type, .real = strtod(copy, &end)};
	return end == copy + length && out->real - out->real == 0; /* finite */
}

/* ---- dates and times ---- */

/* 1994-01-31 */
static bool read_days(struct text *t, int64_t *out)
{
	int64_t year, month, day;
	if (!digits(t, 4, &year) || !skip(t, '-') || !digits(t, 2, &month) || !skip(t, '-') || !digits(t, 2, &day) ||
	    month < 1 || month > 12 || day < 1)
		return false;
	*out = rql_days_of_civil(year, (unsigned)month, (unsigned)day);
	struct rql_civil back = rql_civil_of_days(*out);
	return back.month == (unsigned)month && back.day == (unsigned)day && back.year == year; /* 30 February is none */
}

static bool read_date(struct text t, struct rql_type type, struct rql_value *out)
{
	int64_t days;
	if (!read_days(&t, &days) || t.at != t.end)
		return false;
	*out = (struct rql_value){.type = type, .integer = days};
	return true;
}

/* 1994-01-31 or 1994-01-31 23:59:59 */
static bool read_timestamp(struct text t, struct rql_type type, struct rql_value *out)
{
	int64_t days, hour = 0, minute = 0, second = 0;
	if (!read_days(&t, &days))
		return false;
	if (t.at != t.end && (!skip(&t, ' ') || !digits(&t, 2, &hour) || !skip(&t, ':') || !digits(&t, 2, &minute) ||
	                      !skip(&t, ':') || !digits(&t, 2, &second)))
		return false;
	*out = (struct rql_value){.type = type, .integer = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000000};
	return t.at == t.end && hour < 24 && minute < 60 && second < 60;
}

bool rql_plan_fold_text(const struct rql_value *text, struct rql_type type, struct rql_value *out)
{
	struct text t = {text->string.data, text->string.data + text->string.length};
	switch (type.id) {
	case RQL_TYPE_DECIMAL:
		return read_decimal(t, type, out);
	case RQL_TYPE_DOUBLE:
		return read_double(t, type, out);
	case RQL_TYPE_DATE:
		return read_date(t, type, out);
	case RQL_TYPE_TIMESTAMP:
		return read_timestamp(t, type, out);
	default:
		return read_integer(t, type, out);
	}
}
