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
/* Keeps reason when it outranks what is kept: 0 general .. 9 specific. */
void rql_planning_reason(struct rql_planning *p, int rank, const char *fmt, ...) RQL_PRINTF(3, 4);

#endif
