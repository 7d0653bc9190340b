/* Functions of strings over a dictionary, kept for other plans: length(url) of all urls takes as long for the thousandth
 * statement as for the first, and does not change. */
#ifndef RQL_BIND_CODES_VALUES_H
#define RQL_BIND_CODES_VALUES_H

#include "bind/context.h"
#include "column/map/dimension.h"

/* expr for every code, as rql_codes_evaluate gives it. *shared: the column lives as long as ctx->codes, else in arena. Shared
 * are values that RayQL's kernels alone make, of dictionaries that say when they go: a placement on the CPU, which gives
 * way, and is charged to the budget. All of them together take a sixteenth of its limit at most. */
rql_status rql_codes_values(const struct rql_plan_context *ctx, struct rql_arena *arena, const struct rql_dimension *d,
                            const struct rql_expr *expr, struct rql_column *out, bool *shared,
                            struct rql_error *err) RQL_MUST_CHECK;
/* Where the values are few, as those of substring(phone, 1, 2): */
struct rql_codes_keys {
	const uint32_t *of_code;     /* [the dictionary's count]: which value each code has, */
	struct rql_dimension values; /* in their order */
};
/* *out: of what rql_codes_values shares, and makes where it is not there; it lives as long as ctx->codes. NULL: it is not
 * shared, or has many values. */
rql_status rql_codes_keys(const struct rql_plan_context *ctx, struct rql_arena *arena, const struct rql_dimension *d,
                          const struct rql_expr *expr, const struct rql_codes_keys **out,
                          struct rql_error *err) RQL_MUST_CHECK;
/* Are they there? Then they take no time. */
bool rql_codes_values_there(const struct rql_plan_context *ctx, const struct rql_dimension *d, const struct rql_expr *expr);

#endif
