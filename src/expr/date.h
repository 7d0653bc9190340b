/* The proleptic Gregorian calendar: days since 1970-01-01, exact for every int32 and some way beyond. */
#ifndef RQL_EXPR_DATE_H
#define RQL_EXPR_DATE_H

#include <stdint.h>

struct rql_civil {
	int64_t year;
	unsigned month, day, day_of_year; /* from 1 */
};
struct rql_civil rql_civil_of_days(int64_t days);
int64_t rql_days_of_year(int64_t year); /* of its first of January */
int64_t rql_days_of_civil(int64_t year, unsigned month, unsigned day); /* month from 1 to 12; any day, from the first */

#define RQL_DAY_INFINITY INT32_MAX /* and -INT32_MAX: 'infinity' and '-infinity' */

#endif
