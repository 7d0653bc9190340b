/* Calls of constants that RayQL's programs do not know, but nearly every query with dates has: what INTERVAL 3 MONTH is
 * bound to, and a date moved by it. Near the ends of the types' ranges they are the host's. */
#include <math.h>
#include <string.h>
#include "bind/normal/normal.h"
#include "expr/date.h"

#define DAY_MICROS INT64_C(86400000000)
/* Of years, months, weeks, days, hours and minutes: whatever is made of so many overflows nowhere. */
#define UNITS_MOST 1000000

static bool in_range(rql_int128 n)
{
	return n >= -UNITS_MOST && n <= UNITS_MOST;
}

/* to_years(3): so many months, days, microseconds for each. */
static bool make_interval(const char *name, const struct rql_value *count, struct rql_value *out)
{
	static const struct {
		const char *name;
		rql_type_id argument;
		struct rql_interval each;
	} units[] = {
		{"to_years", RQL_TYPE_INTEGER, {.months = 12}},  {"to_months", RQL_TYPE_INTEGER, {.months = 1}},
		{"to_weeks", RQL_TYPE_INTEGER, {.days = 7}},     {"to_days", RQL_TYPE_INTEGER, {.days = 1}},
		{"to_hours", RQL_TYPE_BIGINT, {.micros = INT64_C(3600000000)}},
		{"to_minutes", RQL_TYPE_BIGINT, {.micros = 60000000}},
	};
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strcmp(units[i].name, name) != 0 || count->type.id != units[i].argument || !in_range(count->integer))
			continue;
		int32_t n = (int32_t)count->integer;
		out->interval = (struct rql_interval){n * units[i].each.months, n * units[i].each.days, n * units[i].each.micros};
		return true;
	}
	return false;
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Months first, to a day that the month has; then days; then the time of day. */
static bool move(const struct rql_value *from, struct rql_interval by, int sign, struct rql_value *out)
{
	const int64_t first = rql_days_of_year(1), last = rql_days_of_year(10000) - 1;
	int64_t scale = from->type.id == RQL_TYPE_DATE ? 1 : DAY_MICROS;
	if (from->integer < first * (rql_int128)scale || from->integer > last * (rql_int128)scale || !in_range(by.months) ||
	    !in_range(by.days) || !in_range(by.micros / DAY_MICROS))
		return false;
	int64_t days = floor_div((int64_t)from->integer, scale), micros = (int64_t)from->integer - days * scale;
	if (by.months) {
		struct rql_civil c = rql_civil_of_days(days);
		int64_t month = c.year * 12 + c.month - 1 + sign * by.months, year = floor_div(month, 12);
		int64_t begin = rql_days_of_civil(year, (unsigned)(month - year * 12) + 1, 1);
		int64_t next = rql_days_of_civil(floor_div(month + 1, 12), (unsigned)(month + 1 - floor_div(month + 1, 12) * 12) + 1, 1);
		days = begin + c.day - 1 < next ? begin + c.day - 1 : next - 1;
	}
	days += sign * (int64_t)by.days;
	out->integer = (rql_int128)days * DAY_MICROS + micros + sign * (rql_int128)by.micros;
	return out->integer >= first * (rql_int128)DAY_MICROS && out->integer <= last * (rql_int128)DAY_MICROS;
}

static bool is_moment(const struct rql_value *v)
{
	return v->type.id == RQL_TYPE_DATE || v->type.id == RQL_TYPE_TIMESTAMP;
}

bool rql_plan_fold_call(const struct rql_expr *call, struct rql_value *out)
{
	const struct rql_value *arguments[2];
	if (call->kind != RQL_EXPR_FUNCTION || call->child_count < 1 || call->child_count > 2)
		return false;
	for (uint32_t i = 0; i < call->child_count; i++) {
		arguments[i] = &call->children[i]->value;
		if (call->children[i]->kind != RQL_EXPR_CONSTANT || arguments[i]->is_null)
			return false;
	}
	*out = (struct rql_value){.type = call->type};
	if (call->child_count == 1 && call->type.id == RQL_TYPE_INTERVAL)
		return make_interval(call->name, arguments[0], out);
	if (call->child_count == 1) {
		bool known = !strcmp(call->name, "trunc") && call->type.id == RQL_TYPE_DOUBLE &&
		             arguments[0]->type.id == RQL_TYPE_DOUBLE && isfinite(arguments[0]->real);
		out->real = known ? trunc(arguments[0]->real) : 0;
		return known;
	}
	bool plus = !strcmp(call->name, "+"), minus = !strcmp(call->name, "-");
	if (call->type.id != RQL_TYPE_TIMESTAMP || !(plus || minus))
		return false;
	if (is_moment(arguments[0]) && arguments[1]->type.id == RQL_TYPE_INTERVAL)
		return move(arguments[0], arguments[1]->interval, plus ? 1 : -1, out);
	return plus && arguments[0]->type.id == RQL_TYPE_INTERVAL && is_moment(arguments[1]) &&
	       move(arguments[1], arguments[0]->interval, 1, out);
}
