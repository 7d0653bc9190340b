/* The rows of a segment in the order of one column's keys, sorted on the GPU that has these keys. Rows are numbered
 * block * RQL_STORE_BLOCK + row of the block. Equal keys stand in the order of their rows. */
#ifndef RQL_METHOD_SIEVE_SIEVE_RANK_H
#define RQL_METHOD_SIEVE_SIEVE_RANK_H

#include "method/sieve/gpu/sieve_place.h"
#include "method/sieve/space/sieve_axis.h"

/* *rows: uint32_t[axis->size] (one item where there is none), those that have a key. axis: BY_RANK, to be freed also on
 * failure. Waits for the device. */
rql_status rql_sieve_rank(const struct rql_sieve_placed *placed, const struct rql_store_view *view,
                          struct rql_device *gpu, struct rql_progress *progress, struct rql_buffer **rows,
                          struct rql_sieve_axis *axis, struct rql_error *err) RQL_MUST_CHECK;

#endif
