/* Work of a plan that starts together: the methods that run on one GPU are one submission, before the first of them is
 * asked for its rows. Each then waits for its own, which are all there at once. */
#include "flow/rowset.h"

/* What a submission may take in all by its prices: what comes behind it in the queue, another connection's short
 * statement say, waits as long. */
#define TOGETHER_MOST_NS 50e6

struct rql_stage_ahead *rql_leaf_ahead(struct rql_running *r, const struct rql_leaf *leaf)
{
	for (uint32_t i = 0; i < r->ahead_count; i++)
		if (r->ahead_of[i] == leaf)
			return &r->ahead[i];
	return NULL;
}

static void take(struct rql_running *r, const struct rql_leaf *leaf, double *ns)
{
	struct rql_stage *stage = leaf->method->stage ? leaf->method->stage(leaf->prepared) : NULL;
	double price = leaf->cost.run_ns;
	if (!stage || r->ahead_count == RQL_SUBMIT_MOST || rql_leaf_ahead(r, leaf) || *ns + price > TOGETHER_MOST_NS ||
	    (r->ahead_count && r->ahead[0].stage->device != stage->device))
		return;
	r->ahead_of[r->ahead_count] = leaf;
	r->ahead[r->ahead_count++] = (struct rql_stage_ahead){.stage = stage, .points = r->flow->points};
	*ns += price;
}

/* Every operator of a tree runs that has rows to give, so that nothing is started in vain but when another one fails. */
static void collect(struct rql_running *r, const struct rql_operator *op, double *ns)
{
	if (rql_operator_gives_nothing(op))
		return;
	if (op->kind == RQL_OPERATOR_METHOD)
		take(r, op->leaf, ns);
	for (uint32_t i = 0; i < op->input_count; i++)
		collect(r, op->inputs[i], ns);
}

rql_status rql_leaves_start(struct rql_running *r, const struct rql_operator *tree)
{
	rql_status status = RQL_OK;
	struct rql_progress *progress = r->flow->progress;
	struct rql_error why = {0};
	double ns = 0;
	if (!tree->input_count || (progress && atomic_load_explicit(&progress->cancel, memory_order_relaxed)))
		return RQL_OK;
	collect(r, tree, &ns);
	/* There may be no room for all at a time. Then each runs alone, and says what is wrong if that fails as well. */
	if (r->ahead_count > 1)
		status = rql_stage_start(r->ahead, r->ahead_count, r->profile != NULL, progress, &why);
	if (r->ahead_count < 2 || status != RQL_OK)
		r->ahead_count = 0;
	if (status == RQL_ERROR_INTERNAL)
		rql_error_set(r->err, status, "%s", rql_error_message(&why));
	rql_error_clear(&why);
	return status == RQL_ERROR_INTERNAL ? status : RQL_OK;
}

void rql_leaves_abandon(struct rql_running *r)
{
	for (uint32_t i = 0; i < r->ahead_count; i++)
		rql_stage_abandon(&r->ahead[i]);
}
