/* Sets of a dimension's codes, and expressions evaluated over a dictionary. */
#ifndef RQL_BIND_CODES_H
#define RQL_BIND_CODES_H

#include "bind/context.h"
#include "method/method.h"
#include "sql/rel/rel.h"

static inline uint32_t rql_codes_words(const struct rql_dimension *d)
{
	return (d->count + 63) / 64;
}
/* The order of a column's values a and b, NULL last (rql_sort_items). */
int rql_codes_compare(const void *values, uint32_t a, uint32_t b);
uint64_t *rql_codes_new(struct rql_arena *arena, const struct rql_dimension *d); /* empty; NULL: out of memory */

/* The codes for which expr, whose only leaf is the dimension, is true (negated: is false). Plain comparisons with
 * constants, IN, IS NULL and their combinations by binary search, functions of strings by kernels over the dictionary, the
 * rest by the host; the parts of an AND or OR each in its own way. within: codes that matter; NULL: all. Of the others the
 * result says nothing. */
rql_status rql_codes_select(const struct rql_plan_context *ctx, struct rql_arena *arena, const struct rql_dimension *d,
                            const struct rql_expr *expr, bool negated, const uint64_t *within, uint64_t **out,
                            struct rql_error *err) RQL_MUST_CHECK;
/* expr for every code, in code order, by kernels or by the host; the column lives in arena. */
rql_status rql_codes_evaluate(const struct rql_plan_context *ctx, struct rql_arena *arena,
                              const struct rql_dimension *d, const struct rql_expr *expr, struct rql_column *out,
                              struct rql_error *err) RQL_MUST_CHECK;
/* The same for values of 1 to 16 bytes, by kernels of strings alone. *done false: of some entry these do not know the
 * value, or of none. */
rql_status rql_codes_evaluate_here(const struct rql_plan_context *ctx, struct rql_arena *arena,
                                   const struct rql_dimension *d, const struct rql_expr *expr, struct rql_column *out,
                                   bool *done, struct rql_error *err) RQL_MUST_CHECK;
/* What preparing expr over the dictionary will take, nanoseconds: its values, or (selects) which codes it is true for. */
double rql_codes_price(const struct rql_plan_context *ctx, struct rql_arena *arena, const struct rql_dimension *d,
                       const struct rql_expr *expr, bool selects);

#endif
