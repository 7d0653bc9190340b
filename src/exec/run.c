#include "exec/run.h"

#include <string.h>
#include "exec/finish_host.h"
#include "exec/rowset.h"

rql_status rql_plan_run(const struct rql_plan *plan, const struct rql_plan_context *ctx, struct rql_progress *progress,
                        struct rql_batch **out, struct rql_run_stats *stats, struct rql_run_passes *passes,
                        const struct rql_leaf **failed, struct rql_error *err)
{
	const struct rql_plan_nodes *n = plan->nodes;
	struct rql_run_stats counted = {0};
	struct rql_batch *batch = NULL;
	struct rql_arena *arena = rql_arena_new();
	struct rql_rowset *sets = arena ? RQL_NEW_ARRAY(arena, struct rql_rowset, n->leaf_count) : NULL;
	rql_status status = sets ? RQL_OK : rql_error_memory(err, 0, "an answer");
	uint64_t start = rql_now_ns();
	if (passes)
		passes->count = 0;
	for (uint32_t i = 0; i < n->leaf_count && status == RQL_OK; i++) {
		status = rql_leaf_run(&n->leaves[i], arena, progress, &sets[i], &counted, passes, err);
		if (status != RQL_OK)
			*failed = &n->leaves[i];
	}
	uint64_t ran = rql_now_ns();
	if (status == RQL_OK && n->root == n->leaves[0].rel && sets[0].batch) {
		batch = sets[0].batch;
		sets[0].batch = NULL;
	} else if (status == RQL_OK && n->native_finish) {
		status = rql_rowset_open(&sets[0], err);
		if (status == RQL_OK)
			status = rql_finish(n->root, n->leaves[0].rel, &sets[0], err);
		if (status == RQL_OK)
			status = rql_rowset_batch(&sets[0], &batch, err);
	} else if (status == RQL_OK) {
		status = rql_finish_by_host(plan, ctx, sets, &batch, err);
	}
	for (uint32_t i = 0; sets && i < n->leaf_count; i++)
		rql_batch_release(sets[i].batch);
	rql_arena_free(arena);
	if (status != RQL_OK)
		return status;
	counted.run_ns = (double)(ran - start);
	counted.finish_ns = (double)(rql_now_ns() - ran);
	counted.rows = batch->rows;
	*stats = counted;
	*out = batch;
	return RQL_OK;
}
