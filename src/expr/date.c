/* Days to dates and back, for all of int32: what the kernels' fast form does not reach, and its check. */
#include "expr/expr_internal.h"

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Of the year's first of January: whole years and leap days since year 1. */
int64_t rql_days_of_year(int64_t year)
{
	int64_t y = year - 1;
	return 365 * y + floor_div(y, 4) - floor_div(y, 100) + floor_div(y, 400) - 719162;
}

static bool leap(int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Days of the year before its months; second: of leap years. */
static const uint16_t before[2][13] = {{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365},
                                       {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366}};

int64_t rql_days_of_civil(int64_t year, unsigned month, unsigned day)
{
	return rql_days_of_year(year) + before[leap(year)][month - 1] + day - 1;
}

struct rql_civil rql_civil_of_days(int64_t days)
{
	/* 400 years have 146097 days, so this is at most one year off */
	int64_t year = floor_div((days + 719162) * 400, 146097) + 1;
	while (rql_days_of_year(year) > days)
		year--;
	while (rql_days_of_year(year + 1) <= days)
		year++;
	unsigned day = (unsigned)(days - rql_days_of_year(year)), month = 1;
	while (before[leap(year)][month] <= day)
		month++;
	return (struct rql_civil){year, month, day - before[leap(year)][month - 1] + 1, day + 1};
}

/* Monday is 0. */
static int64_t weekday(int64_t day)
{
	int64_t d = (day + 3) % 7;
	return d < 0 ? d + 7 : d;
}

int32_t rql_day_part(enum rql_date_part part, int32_t day)
{
	struct rql_civil c = rql_civil_of_days(day);
	switch (part) {
	case RQL_PART_YEAR:
		return (int32_t)c.year;
	case RQL_PART_MONTH:
		return (int32_t)c.month;
	case RQL_PART_DAY:
		return (int32_t)c.day;
	case RQL_PART_QUARTER:
		return (int32_t)((c.month + 2) / 3);
	case RQL_PART_DAY_OF_WEEK:
		return (int32_t)((weekday(day) + 1) % 7);
	case RQL_PART_ISO_DAY:
		return (int32_t)weekday(day) + 1;
	case RQL_PART_DAY_OF_YEAR:
		return (int32_t)c.day_of_year;
	default: { /* WEEK: counted in the year of the week's Thursday */
		int64_t thursday = day - weekday(day) + 3;
		return (int32_t)((rql_civil_of_days(thursday).day_of_year - 1) / 7 + 1);
	}
	}
}

int32_t rql_day_trunc(enum rql_date_part part, int32_t day)
{
	struct rql_civil c = rql_civil_of_days(day);
	int64_t first = day;
	if (part == RQL_PART_YEAR) {
		first = day - (int64_t)c.day_of_year + 1;
	} else if (part == RQL_PART_WEEK) {
		first = day - weekday(day);
	} else if (part == RQL_PART_MONTH || part == RQL_PART_QUARTER) {
		first = day - (int64_t)c.day + 1;
		for (unsigned m = c.month; part == RQL_PART_QUARTER && m % 3 != 1; m--)
			first -= rql_civil_of_days(first - 1).day;
	}
	return (int32_t)first; /* wraps only below the first day that DATE has */
}
