/* Choosing what answers one node of a plan. */
#ifndef RQL_PLAN_LEAF_H
#define RQL_PLAN_LEAF_H

#include "plan/plan_nodes.h"

/* The state of one rql_plan_make. */
struct rql_planning {
	const struct rql_plan_context *ctx;
	struct rql_arena *arena;
	struct rql_plan *plan;
	struct rql_plan_nodes *nodes;
	struct rql_structure **structures; /* retained while planning; replaced in place when loaded */
	uint32_t structure_count;
	const char *why_not; /* the most telling reason so far why the host must answer */
	int why_not_rank;
	struct rql_structure *to_refresh; /* would serve a leaf that nothing fresh serves; borrowed */
	struct rql_error *err;
};

/* Tries to serve rel (AGGREGATE or DISTINCT) from the structures: RQL_OK and *found. Fails only for memory and
 * interruption. */
rql_status rql_leaf_choose(struct rql_planning *p, const struct rql_rel *rel, bool *found) RQL_MUST_CHECK;
void rql_leaf_clear(struct rql_leaf *leaf);
/* NULL: out of memory. */
struct rql_candidate *rql_candidate_add(struct rql_planning *p, const struct rql_structure *s);
/* Prices every method that may serve the request from s on every device that may be used, and leaves the cheapest in
 * leaf; `first` is the structure's first candidate. RQL_ERROR_UNSUPPORTED: none; err says why. */
rql_status rql_price_methods(struct rql_planning *p, const struct rql_structure *s, struct rql_request *request,
                             struct rql_leaf *leaf, struct rql_candidate *first, struct rql_error *err) RQL_MUST_CHECK;
/* Keeps reason when it outranks what is kept: 0 general .. 9 specific. */
void rql_planning_reason(struct rql_planning *p, int rank, const char *fmt, ...) RQL_PRINTF(3, 4);

#endif
