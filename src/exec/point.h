/* Prepared statements that ask for one key: their plan is made for one value, and run with others.
 *
 * A text with another value is planned anew each time, which takes some tens of microseconds. Where the plan says that it
 * serves other values of a literal (struct rql_plan.point), and that literal is the statement's only parameter, the plan
 * stays in the plan cache under the text that it was made for. There its versions and epochs are looked at in every run. */
#ifndef RQL_EXEC_POINT_H
#define RQL_EXEC_POINT_H

#include "exec/exec_internal.h"

struct rql_point {
	char *text;           /* under which the plan cache has, or had, the plan; NULL: none is known */
	struct rql_type type; /* of the values that it serves */
	struct rql_columns *columns; /* of its results */
	uint64_t schema_epoch, session_epoch; /* of the columns */
};

void rql_point_clear(struct rql_point *point);
/* The statement's text with this value has just been answered by the plan that the cache has for it: may it serve others?
 * [start, end): where the value stands in the text. */
void rql_point_learn(struct rql_point *point, struct rql_session *s, const char *text, uint32_t start, uint32_t end,
                     const struct rql_value *value, struct rql_columns *columns);
/* The result of call with this value by that plan: *done. When not, the statement is to be planned. */
rql_status rql_point_run(const struct rql_point *point, const struct rql_call *call, const struct rql_value *value,
                         bool *done, struct rql_error *err) RQL_MUST_CHECK;

#endif
