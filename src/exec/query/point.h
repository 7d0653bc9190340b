/* Prepared statements that ask for one key: their plan is made for some values, and run with others.
 *
 * A text with other values is planned anew each time, which takes some tens of microseconds. Where the plan says that it
 * serves other values of some literals (struct rql_plan.points), and each parameter of the statement is one of these, the
 * plan stays in the plan cache under the text that it was made for. There its versions and epochs are looked at in every
 * run. */
#ifndef RQL_EXEC_POINT_H
#define RQL_EXEC_POINT_H

#include "exec/exec_internal.h"

/* Where a parameter's value stands in a text: [start, end). Parameters that stand twice have no place: end 0. */
struct rql_point_place {
	uint32_t start, end;
};

struct rql_point {
	char *text; /* under which the plan cache has, or had, the plan; NULL: none is known */
	uint32_t count;
	uint32_t literals[RQL_POINTS_MOST]; /* in the text, that parameter i + 1 is, and 1 */
	struct rql_columns *columns; /* of its results */
	uint64_t schema_epoch, session_epoch; /* of the columns */
};

void rql_point_clear(struct rql_point *point);
/* The statement's text with these values has just been answered by the plan that the cache has for it: may it serve
 * others? places, values: [count], of all parameters. */
void rql_point_learn(struct rql_point *point, struct rql_session *s, const char *text,
                     const struct rql_point_place *places, const struct rql_value *values, uint64_t count,
                     struct rql_columns *columns);
/* The result of call with these values by that plan: *done. When not, the statement is to be planned. */
rql_status rql_point_run(const struct rql_point *point, const struct rql_call *call, const struct rql_value *values,
                         bool *done, struct rql_error *err) RQL_MUST_CHECK;

#endif
