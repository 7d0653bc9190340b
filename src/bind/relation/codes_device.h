/* Conditions over a dictionary's strings on a GPU, where that costs less than the CPU's threads. */
#ifndef RQL_BIND_CODES_DEVICE_H
#define RQL_BIND_CODES_DEVICE_H

#include "bind/context.h"
#include "expr/entries.h"

struct rql_entry_price {
	double mean_bytes; /* of an entry */
	double cpu_ns;     /* what the CPU's threads take for all that are wanted */
};
/* What selecting entries takes, nanoseconds: the least of the CPU's price and the GPUs'. */
double rql_codes_device_price(const struct rql_plan_context *ctx, struct rql_arena *arena,
                              const struct rql_dimension *d, const struct rql_entry *e,
                              const struct rql_entry_price *price);
/* The codes for which e (negated: its opposite) is true, into set, which is zeroed, by a GPU where that is cheaper or
 * rayql_unit says so. *done false: none does it, or it failed. *left, in arena: the codes that the CPU must decide. */
rql_status rql_codes_on_device(const struct rql_plan_context *ctx, struct rql_arena *arena,
                               const struct rql_dimension *d, const struct rql_entry *e, bool negated,
                               const struct rql_entry_price *price, uint64_t *set, uint64_t **left, bool *done,
                               struct rql_error *err) RQL_MUST_CHECK;

#endif
