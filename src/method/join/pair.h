/* What every method of two sides that lie on a GPU does with them: its price, kernels and memory have theirs. */
#ifndef RQL_METHOD_JOIN_PAIR_H
#define RQL_METHOD_JOIN_PAIR_H

#include "method/method.h"
#include "method/stage.h"

/* form: of the rows that come out, of which so many are expected. */
struct rql_pair_size rql_pair_size_of(const struct rql_pair *pair, const struct rql_store_snapshot *form, double expected);
/* Adds what the sides take. */
void rql_pair_price_sides(const struct rql_pair *pair, const struct rql_device *device, struct rql_cost *cost);
rql_status rql_pair_kernels(const struct rql_pair *pair, rql_see_kernel *see, void *state,
                            struct rql_error *err) RQL_MUST_CHECK;
/* Of the host's memory, the pair's columns among it. */
uint64_t rql_pair_host_bytes(const struct rql_pair *pair);
/* COLUMNS of that form with at most one row for each probe row; what they lie in is the caller's to say. in: the inputs of
 * an open context, the probe side first; NULL: as they will be. */
void rql_pair_columns(const struct rql_stage *stage, const struct rql_store_snapshot *form,
                      const struct rql_columns_port *in, struct rql_columns_port *out);
void rql_pair_drop_sides(const struct rql_pair *pair);

#endif
