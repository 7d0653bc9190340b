/* The steps by which a bound plan becomes normal, in their order. */
#include "bind/normal/normal.h"

rql_status rql_plan_normalise(const struct rql_plan_context *ctx, struct rql_arena *arena, struct rql_rel **root,
                              struct rql_error *err)
{
	RQL_TRY(rql_plan_fold(ctx, arena, *root, true, err));
	struct rql_rel *rel = rql_plan_plain_conditions(arena, *root) ? rql_plan_simplify(arena, *root) : NULL;
	if (rel) /* what simplifying has made of constants */
		RQL_TRY(rql_plan_fold(ctx, arena, rel, false, err));
	rel = rel ? rql_rel_push_filters(arena, rel) : NULL;
	rel = rel ? rql_plan_exists_extremes(arena, rel) : NULL;
	rel = rel ? rql_rel_prune(arena, rel) : NULL;
	if (rel && !rql_plan_plain_equalities(arena, rel))
		rel = NULL;
	if (!rel)
		return rql_error_memory(err, rql_arena_bytes(arena), "a plan");
	*root = rel;
	return RQL_OK;
}
