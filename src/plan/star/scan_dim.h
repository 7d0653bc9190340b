/* The rows of a dimension subtree, got from the host and reduced to what a scan needs: a map from the fact table's key
 * to a payload, and the values of the subtree's outputs by payload. */
#ifndef RQL_PLAN_SCAN_DIM_H
#define RQL_PLAN_SCAN_DIM_H

#include "bind/star/scan_map.h"
#include "bind/star/scan_star.h"
#include "plan/plan.h"

struct rql_planning;

/* The map, from the plans before (map_cache.h) or made now; the caller releases it. RQL_ERROR_UNSUPPORTED with the reason: a
 * key comes twice (*twice: another way of joining may do), the host fails, or a type is in the way. most: a subtree with more
 * rows has a key that comes twice. reduced: stands for a side's rows (scan_reduction.h); NULL: its own. */
struct rql_kept_map;
rql_status rql_scan_dim_make(struct rql_planning *p, const struct rql_star *star, uint32_t subtree,
                             const struct rql_scan_keys *keys, const struct rql_rel *reduced, uint64_t most,
                             struct rql_kept_map **out, bool *twice, struct rql_error *err) RQL_MUST_CHECK;
/* Is the map of all rows there from the plans before? */
bool rql_scan_dim_is_kept(struct rql_planning *p, const struct rql_star *star, uint32_t subtree,
                          const struct rql_scan_keys *keys, uint64_t most);

/* Looks at some rows only: RQL_ERROR_UNSUPPORTED and *twice when a key comes twice among them already, so that not all are
 * read in vain. */
rql_status rql_scan_dim_sample(struct rql_planning *p, const struct rql_star *star,
                               uint32_t subtree, const struct rql_scan_keys *keys, uint64_t most, bool *twice,
                               struct rql_error *err) RQL_MUST_CHECK;

#endif
