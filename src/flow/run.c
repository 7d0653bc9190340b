/* Walks a tree of operators, inputs first. */
#include "flow/run.h"

#include "flow/aggregate/aggregate_pairs.h"
#include "flow/aggregate/aggregate_parts.h"
#include "flow/aggregate/aggregate_sides.h"
#include "flow/join/join_keys.h"

/* ---- operators ---- */

static rql_status run(struct rql_running *r, const struct rql_operator *op, struct rql_rowset *out);

static rql_status run_method(struct rql_running *r, const struct rql_operator *op, struct rql_rowset *out)
{
	uint64_t start = rql_now_ns();
	rql_status status = rql_leaf_run(r, op->leaf, out);
	r->stats.run_ns += (double)(rql_now_ns() - start);
	if (status != RQL_OK && !r->failed.leaf)
		r->failed.leaf = op->leaf;
	return status;
}

/* A common table expression's rows: made once, read by all that refer to it. */
struct rql_shared_rows {
	uint64_t cte;
	struct rql_rowset set;
	struct rql_shared_rows *next;
};

static rql_status share(struct rql_running *r, const struct rql_operator *op, struct rql_rowset *out)
{
	struct rql_shared_rows *shared = RQL_NEW(r->arena, struct rql_shared_rows);
	if (!shared)
		return rql_error_memory(r->err, sizeof *shared, "an answer");
	RQL_TRY(run(r, op->inputs[0], &shared->set));
	RQL_TRY(rql_rowset_open(&shared->set, r->err));
	shared->cte = op->rel->cte;
	shared->next = r->shared;
	r->shared = shared;
	return run(r, op->inputs[1], out);
}

static rql_status run_shared(struct rql_running *r, const struct rql_operator *op, struct rql_rowset *out)
{
	const struct rql_shared_rows *shared = r->shared;
	while (shared && shared->cte != op->rel->cte)
		shared = shared->next;
	if (!shared)
		return rql_error_set(r->err, RQL_ERROR_INTERNAL, "a common table expression is read before it is there");
	*out = shared->set;
	return RQL_OK;
}

/* An operator's input, and whose rows it is. */
static rql_status run_input(struct rql_running *r, const struct rql_operator *op, struct rql_rowset *out)
{
	RQL_TRY(run(r, op, out));
	RQL_TRY(rql_rowset_open(out, r->err));
	out->whole = op->kind == RQL_OPERATOR_METHOD && !rql_operator_gives_nothing(op) ? op->leaf : NULL;
	return RQL_OK;
}

/* All inputs of an operator, in its order. */
static rql_status run_inputs(struct rql_running *r, const struct rql_operator *op, struct rql_rowset **out)
{
	if (!(*out = RQL_NEW_ARRAY(r->arena, struct rql_rowset, op->input_count + 1)))
		return rql_error_memory(r->err, 0, "an answer");
	for (uint32_t i = 0; i < op->input_count; i++)
		RQL_TRY(run_input(r, op->inputs[i], &(*out)[i]));
	return RQL_OK;
}

/* An aggregate over a join by ranges. The join's rows are not made, so that it has none of its own to show. */
static rql_status run_ranges(struct rql_running *r, const struct rql_operator *op, struct rql_rowset *out)
{
	const struct rql_operator *join = op->inputs[0];
	struct rql_rowset *sets;
	struct rql_rowset pairs = {0};
	bool done;
	RQL_TRY(run_inputs(r, join, &sets));
	RQL_TRY(rql_rowset_aggregate_ranges(r, op->rel, join->rel, sets, out, &done));
	if (!done)
		RQL_TRY(rql_rowset_join(r, join->rel, sets, &pairs));
	rql_scratch_give_back(r);
	rql_status status = done ? RQL_OK : rql_rowset_step(r, op->rel, &pairs, out);
	rql_scratch_give_back(r);
	return status;
}

static void begin_pairs(struct rql_running *r, const struct rql_operator *join)
{
	r->pairs = join->pairs;
	r->moved = (struct rql_moved){0};
	r->others_device_ns = r->stats.device_ns;
}

/* The join that an aggregate has taken into itself. Its time is the aggregate's, too: what both took is said there. */
static void note_pairs(struct rql_running *r, const struct rql_operator *join, uint64_t pairs, uint64_t met, double ns)
{
	struct rql_run_profile *profile = r->profile;
	if (!profile || profile->count == RQL_MEASURED_MAX)
		return;
	profile->part[profile->count++] = (struct rql_measured){.op = join,
	                                                        .rows = pairs,
	                                                        .ns = ns,
	                                                        .device_ns = r->stats.device_ns - r->others_device_ns,
	                                                        .moved = r->moved,
	                                                        .met = met};
	r->inner_ns += ns;
}

static bool is_over_join(const struct rql_operator *op)
{
	return op->kind == RQL_OPERATOR_NATIVE && op->rel->kind == RQL_REL_AGGREGATE &&
	       op->inputs[0]->kind == RQL_OPERATOR_NATIVE && rql_sides_can(op->rel, op->inputs[0]->rel);
}

bool rql_operator_takes_pairs(const struct rql_operator *op)
{
	return is_over_join(op) && op->inputs[0]->pairs;
}

/* An aggregate over a join of RayQL's own: of many pairs it makes none. */
static rql_status run_parts(struct rql_running *r, const struct rql_operator *op, struct rql_rowset *out)
{
	const struct rql_operator *join = op->inputs[0];
	struct rql_rowset *sets;
	struct rql_parted how;
	RQL_TRY(run_inputs(r, join, &sets));
	begin_pairs(r, join);
	const rql_status status = rql_rowset_aggregate_join(r, op->rel, join->rel, sets, out, &how);
	note_pairs(r, join, how.pairs, how.met, how.ns);
	rql_scratch_give_back(r);
	return status;
}

/* An aggregate over a join whose pairs a method finds: it takes them as they come, where it can. */
static rql_status run_pairs(struct rql_running *r, const struct rql_operator *op, struct rql_rowset *out)
{
	const struct rql_operator *join = op->inputs[0];
	struct rql_rowset *sets;
	struct rql_rowset rows = {0};
	uint64_t pairs;
	bool done;
	RQL_TRY(run_inputs(r, join, &sets));
	begin_pairs(r, join);
	const uint64_t start = rql_now_ns();
	rql_status status = rql_rowset_aggregate_pairs(r, op->rel, join->rel, sets, out, &pairs, &done);
	rql_scratch_give_back(r);
	if (status == RQL_OK && !done) {
		status = rql_rowset_join(r, join->rel, sets, &rows);
		pairs = rows.rows;
	}
	r->pairs = NULL;
	note_pairs(r, join, pairs, 0, (double)(rql_now_ns() - start));
	rql_scratch_give_back(r);
	if (status == RQL_OK && !done)
		status = rql_rowset_step(r, op->rel, &rows, out);
	rql_scratch_give_back(r);
	return status;
}

static rql_status run_native(struct rql_running *r, const struct rql_operator *op, struct rql_rowset *out)
{
	if (op->rel->kind == RQL_REL_CTE)
		return share(r, op, out);
	if (op->rel->kind == RQL_REL_CTE_REF)
		return run_shared(r, op, out);
	unsigned keeper;
	if (op->rel->kind == RQL_REL_AGGREGATE && op->inputs[0]->kind == RQL_OPERATOR_NATIVE &&
	    rql_ranges_keep(op->rel, op->inputs[0]->rel, &keeper))
		return run_ranges(r, op, out);
	if (rql_operator_takes_pairs(op))
		return run_pairs(r, op, out);
	if (is_over_join(op) && !op->pairs)
		return run_parts(r, op, out);
	struct rql_rowset *sets;
	RQL_TRY(run_inputs(r, op, &sets));
	begin_pairs(r, op);
	rql_status status = rql_rowset_step(r, op->rel, sets, out);
	r->pairs = NULL;
	rql_scratch_give_back(r);
	return status;
}

static rql_status run_host(struct rql_running *r, const struct rql_operator *op, struct rql_rowset *out)
{
	struct rql_rowset *sets = RQL_NEW_ARRAY(r->arena, struct rql_rowset, op->input_count);
	struct rql_batch *batch = NULL;
	if (!sets)
		return rql_error_memory(r->err, 0, "an answer");
	for (uint32_t i = 0; i < op->input_count; i++)
		RQL_TRY(run(r, op->inputs[i], &sets[i]));
	RQL_TRY(rql_host_operator_run(r, op, sets, &batch));
	return rql_rowset_take(r, batch, out);
}

/* LIMIT 0 asks for columns. */
static rql_status run_nothing(struct rql_running *r, const struct rql_operator *op, struct rql_rowset *out)
{
	const struct rql_rel none = {
		.kind = RQL_REL_EMPTY, .column_count = op->rel->column_count, .types = op->rel->types, .names = op->rel->names};
	return rql_rowset_step(r, &none, NULL, out);
}

bool rql_operator_gives_nothing(const struct rql_operator *op)
{
	const struct rql_rel *rel = op->rel;
	while (rel->kind == RQL_REL_PROJECT)
		rel = rel->children[0];
	return op->kind != RQL_OPERATOR_HOST && (rel->kind == RQL_REL_LIMIT || rel->kind == RQL_REL_TOP_N) && !rel->limit;
}

static rql_status run_operator(struct rql_running *r, const struct rql_operator *op, struct rql_rowset *out)
{
	if (rql_operator_gives_nothing(op))
		return run_nothing(r, op, out);
	switch (op->kind) {
	case RQL_OPERATOR_METHOD:
		return run_method(r, op, out);
	case RQL_OPERATOR_NATIVE:
		return run_native(r, op, out);
	default:
		return run_host(r, op, out);
	}
}

static rql_status run(struct rql_running *r, const struct rql_operator *op, struct rql_rowset *out)
{
	struct rql_run_profile *profile = r->profile;
	if (!profile)
		return run_operator(r, op, out);
	uint64_t start = rql_now_ns();
	double before = r->inner_ns;
	const double device_before = r->stats.device_ns;
	r->inner_ns = 0;
	rql_status status = run_operator(r, op, out);
	double ns = (double)(rql_now_ns() - start);
	const double device_ns = op->pairs                          ? r->stats.device_ns - r->others_device_ns
	                         : op->kind == RQL_OPERATOR_METHOD ? r->stats.device_ns - device_before
	                                                           : 0;
	if (profile->count < RQL_MEASURED_MAX)
		profile->part[profile->count++] = (struct rql_measured){
			.op = op,
			.rows = out->rows,
			.ns = ns - r->inner_ns,
			.device_ns = device_ns,
			.moved = op->pairs ? r->moved : (struct rql_moved){0}};
	r->inner_ns = before + ns;
	return status;
}

/* Work that starts together is the methods', as waiting for it is. */
static rql_status start_together(struct rql_running *r, const struct rql_operator *tree)
{
	uint64_t begin = rql_now_ns();
	rql_status status = rql_leaves_start(r, tree);
	double ns = (double)(rql_now_ns() - begin);
	if (status != RQL_OK || !r->ahead_count)
		return status;
	r->stats.run_ns += ns;
	if (r->profile) {
		r->profile->together = r->ahead_count;
		r->profile->together_ns = ns;
	}
	return RQL_OK;
}

/* ---- batches that rowsets stand over ---- */

struct rql_held_batch {
	struct rql_batch *batch;
	struct rql_held_batch *next;
};

rql_status rql_rowset_take(struct rql_running *r, struct rql_batch *batch, struct rql_rowset *out)
{
	struct rql_held_batch *held = RQL_NEW(r->arena, struct rql_held_batch);
	if (!held) {
		rql_batch_release(batch);
		return rql_error_memory(r->err, sizeof *held, "an answer");
	}
	*held = (struct rql_held_batch){batch, r->held};
	r->held = held;
	*out = (struct rql_rowset){.arena = r->arena, .capacity = batch->rows, .rows = batch->rows, .batch = batch};
	return RQL_OK;
}

/* The rows as a batch of their own: a batch that nothing was done to is handed out as it is. */
static rql_status give_out(struct rql_running *r, const struct rql_rowset *set, struct rql_batch **out)
{
	if (!set->batch || set->vectors)
		return rql_rowset_batch(r, set, out);
	for (struct rql_held_batch *held = r->held; held; held = held->next)
		if (held->batch == set->batch)
			held->batch = NULL;
	*out = set->batch;
	return RQL_OK;
}

rql_status rql_flow_run(const struct rql_flow *flow, const struct rql_operator *tree, struct rql_batch **out,
                        struct rql_run_stats *stats, struct rql_run_profile *profile, struct rql_failed *failed,
                        struct rql_error *err)
{
	struct rql_running r = {.flow = flow, .arena = rql_arena_new(), .profile = profile, .err = err};
	struct rql_rowset set = {0};
	struct rql_batch *batch = NULL;
	uint64_t start = rql_now_ns();
	if (profile)
		profile->count = profile->pass_count = profile->together = 0;
	rql_status status = r.arena ? start_together(&r, tree) : rql_error_memory(err, 0, "an answer");
	if (status == RQL_OK)
		status = run(&r, tree, &set);
	if (status == RQL_OK)
		status = give_out(&r, &set, &batch);
	for (struct rql_held_batch *held = r.held; held; held = held->next)
		rql_batch_release(held->batch);
	rql_leaves_abandon(&r);
	rql_arena_free(r.arena);
	rql_scratch_free(&r);
	if (r.charged)
		rql_budget_release(flow->budget, r.charged);
	*failed = r.failed;
	if (status != RQL_OK)
		return status;
	r.stats.finish_ns = (double)(rql_now_ns() - start) - r.stats.run_ns;
	r.stats.rows = batch->rows;
	*stats = r.stats;
	*out = batch;
	return RQL_OK;
}

rql_status rql_flow_run_keyed(const struct rql_flow *flow, const struct rql_leaf *leaf, struct rql_flow_map *out,
                              struct rql_error *err)
{
	struct rql_running r = {.flow = flow, .arena = rql_arena_new(), .err = err};
	struct rql_rowset set = {0};
	struct rql_batch *values = NULL;
	rql_status status = r.arena ? rql_leaf_run(&r, leaf, &set) : rql_error_memory(err, 0, "a map");
	if (status == RQL_OK)
		status = rql_rowset_batch(&r, &set, &values);
	if (r.charged)
		rql_budget_release(flow->budget, r.charged);
	if (status != RQL_OK) {
		rql_arena_free(r.arena);
		return status;
	}
	*out = (struct rql_flow_map){r.arena, set.keyed, values};
	return RQL_OK;
}

void rql_flow_map_free(struct rql_flow_map *map)
{
	rql_batch_release(map->values);
	rql_arena_free(map->arena);
	*map = (struct rql_flow_map){0};
}
