/* Charging and releasing, amounts of memory as text and back, and the machine's memory. */
#include "util/budget.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "util/large.h"

rql_status rql_budget_exceeded(const struct rql_budget *budget, uint64_t bytes, uint64_t used, const char *what,
                               struct rql_error *err)
{
	const uint64_t limit = atomic_load(&budget->limit);
	char text[3][24];
	return rql_error_set(err, RQL_ERROR_LIMIT,
	                     "memory limit of %s reached: %s needs %s more, %s are in use; raise it with "
	                     "SET rayql_memory_limit, or drop a structure",
	                     rql_format_bytes(text[0], limit ? limit : UINT64_MAX), what, rql_format_bytes(text[1], bytes),
	                     rql_format_bytes(text[2], used));
}

rql_status rql_budget_charge(struct rql_budget *budget, uint64_t bytes, const char *what, struct rql_error *err)
{
	uint64_t limit = atomic_load(&budget->limit), used = atomic_load(&budget->used), sum;
	do {
		if (__builtin_add_overflow(used, bytes, &sum) || (limit && sum > limit))
			return rql_budget_exceeded(budget, bytes, used, what, err);
	} while (!atomic_compare_exchange_weak(&budget->used, &used, sum));
	if (limit && rql_large_kept() > limit - sum)
		rql_large_give_up(limit - sum);
	return RQL_OK;
}

void rql_budget_release(struct rql_budget *budget, uint64_t bytes)
{
	atomic_fetch_sub(&budget->used, bytes);
}

const char *rql_format_bytes(char *out, uint64_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	int unit = 0;
	/* 1023.95 would print as 1024.0 of the smaller unit. */
	for (; value >= (unit ? 1023.95 : 1024) && unit < 6; unit++)
		value /= 1024;
	snprintf(out, 24, "%.*f %s", unit ? 1 : 0, value, units[unit]);
	return out;
}

/* The factor of a unit of DuckDB's memory_limit, or 0. */
static double unit_factor(const char *unit, size_t length)
{
	static const struct {
		const char *names[4];
		double factor;
	} units[] = {
		{{"", "b", "byte", "bytes"}, 1},
		{{"k", "kb", "kilobyte", "kilobytes"}, 1e3},
		{{"m", "mb", "megabyte", "megabytes"}, 1e6},
		{{"g", "gb", "gigabyte", "gigabytes"}, 1e9},
		{{"t", "tb", "terabyte", "terabytes"}, 1e12},
		{{"kib"}, 0x1p10},
		{{"mib"}, 0x1p20},
		{{"gib"}, 0x1p30},
		{{"tib"}, 0x1p40},
	};
	for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++)
		for (size_t n = 0; n < 4 && units[u].names[n]; n++)
			if (strlen(units[u].names[n]) == length && strncasecmp(unit, units[u].names[n], length) == 0)
				return units[u].factor;
	if (length == 1 && *unit == '%')
		return (double)rql_machine_memory() / 100;
	return 0;
}

bool rql_parse_bytes(const char *text, uint64_t *out)
{
	text += strspn(text, " \t\n");
	/* strtod alone would also take "inf", "nan", hexadecimals and signs. */
	size_t digits = strspn(text, "0123456789.");
	if (digits == 0 || strchr(text, 'x') || strchr(text, 'X'))
		return false;
	char *end;
	double number = strtod(text, &end);
	end += strspn(end, " \t\n");
	size_t length = strcspn(end, " \t\n");
	if (end[length + strspn(end + length, " \t\n")] != '\0')
		return false;
	double bytes = floor(number * unit_factor(end, length));
	if (!(bytes >= 1 && bytes < 0x1p64))
		return false;
	*out = (uint64_t)bytes;
	return true;
}

uint64_t rql_machine_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}
