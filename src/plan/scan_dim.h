/* The rows of a dimension subtree, got from the host and reduced to what a scan needs: a map from the fact table's key
 * to a payload, and the values of the subtree's outputs by payload. */
#ifndef RQL_PLAN_SCAN_DIM_H
#define RQL_PLAN_SCAN_DIM_H

#include "method/request.h"
#include "plan/plan.h"
#include "plan/scan_star.h"

struct rql_planning;

struct rql_scan_dim {
	struct rql_map *map;
	uint32_t payload_count;    /* combinations of the outputs' values; 1 when there are none */
	bool repeats;              /* two payloads may have the same values */
	uint32_t unique;           /* plus 1: an output in which all payloads that have a key differ; 0: none is known */
	struct rql_column *values; /* [outputs]: payload_count entries each */
	uint64_t rows;             /* that it was made from */
	const char *how;           /* who gave them, for EXPLAIN */
	double build_ms;           /* from asking for the rows to the map */
	uint32_t absent;           /* LEFT and MARK sides: the payload of rows without a match, plus 1; else 0 */
	bool null_key;             /* a row of a side has a NULL among its keys */
};

/* The columns of tree->fact and fact2 in the structure; without fact2 second is NULL. */
struct rql_scan_keys {
	const struct rql_store_column *first, *second;
	struct rql_key_pair pair; /* with second */
};
/* false: two keys have more than 2^62 combinations. */
bool rql_scan_keys_make(const struct rql_store_column *first, const struct rql_store_column *second,
                        struct rql_scan_keys *out);
/* The map, from the plans before (map_cache.h) or made now; the caller releases it. RQL_ERROR_UNSUPPORTED with the reason: a
 * key comes twice (*twice: another way of joining may do), the host fails, or a type is in the way. most: a subtree with more
 * rows has a key that comes twice. */
struct rql_kept_map;
rql_status rql_scan_dim_make(struct rql_planning *p, const struct rql_star *star, uint32_t subtree,
                             const struct rql_scan_keys *keys, uint64_t most, struct rql_kept_map **out, bool *twice,
                             struct rql_error *err) RQL_MUST_CHECK;

/* Looks at some rows only: RQL_ERROR_UNSUPPORTED and *twice when a key comes twice among them already, so that not all are
 * read in vain. */
rql_status rql_scan_dim_sample(struct rql_planning *p, const struct rql_star *star,
                               uint32_t subtree, const struct rql_scan_keys *keys, uint64_t most, bool *twice,
                               struct rql_error *err) RQL_MUST_CHECK;

#endif
