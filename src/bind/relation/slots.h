/* How each output of an aggregate follows from what a method gives back. */
#ifndef RQL_BIND_SLOTS_H
#define RQL_BIND_SLOTS_H

#include "bind/relation/match.h"
#include "flow/shape.h"

/* Fills slot from one aggregate of a match and adds what it needs to aggs (at most RQL_SLOT_MAX_AGGS; *agg_count).
 * RQL_ERROR_UNSUPPORTED with the reason when the cube does not give it. */
#define RQL_SLOT_MAX_AGGS 128u
rql_status rql_slot_make(struct rql_arena *arena, const struct rql_definition *def, const struct rql_relation *relation,
                         const struct rql_expr *agg, struct rql_slot *slot, struct rql_agg *aggs, uint32_t *agg_count,
                         struct rql_error *err) RQL_MUST_CHECK;

#endif
