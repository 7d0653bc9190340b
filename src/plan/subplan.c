/* Rows that a plan needs while it is made: of a dimension's tables, or of a subquery that joins by its keys. They are
 * planned as a statement of their own would be, and run at once. */
#include "plan/join/pairs.h"
#include "plan/leaf.h"

static bool may_hold(const struct rql_structure *s, const struct rql_table_ref *table)
{
	if (s->reads != RQL_READS_STORE)
		return false;
	return s->table_count ? rql_structure_is_of(s, table) : s->state != RQL_STATE_INVALID; /* not bound yet */
}

bool rql_subplan_has_columns(const struct rql_planning *p, const struct rql_table_ref *table)
{
	for (uint32_t i = 0; i < p->structure_count; i++)
		if (may_hold(p->structures[i], table))
			return true;
	return false;
}

bool rql_subplan_reads_columns(const struct rql_planning *p, const struct rql_rel *rel)
{
	bool found = rel->kind == RQL_REL_GET && rql_subplan_has_columns(p, &rel->table);
	for (uint32_t i = 0; i < rel->child_count && !found; i++)
		found = rql_subplan_reads_columns(p, rel->children[i]);
	return found;
}

static rql_status run(struct rql_planning *sub, struct rql_batch **out)
{
	struct rql_flow flow = rql_plan_flow(sub->ctx, sub->ctx->progress);
	struct rql_run_stats stats;
	struct rql_failed failed;
	struct rql_error why = {0};
	rql_status status = rql_flow_run(&flow, sub->nodes->tree, out, &stats, NULL, &failed, &why);
	return rql_planning_swallow(sub, status, &why, -1, NULL); /* whatever it was, the host decides */
}

static rql_status plan(struct rql_planning *sub, const struct rql_rel *rel)
{
	bool covered = false;
	RQL_TRY(rql_planning_cover(sub, rel, &covered));
	return covered && sub->nodes->leaf_count ? rql_planning_decide(sub) : RQL_OK;
}

static const char *index_of(const struct rql_planning *sub)
{
	const char *index = NULL;
	for (uint32_t i = 0; i < sub->nodes->leaf_count && !index; i++)
		index = sub->nodes->leaves[i].under_index;
	return index;
}

/* For EXPLAIN; in p's arena. */
static const char *describe(const struct rql_planning *p, const struct rql_planning *sub, bool found)
{
	const char *index = index_of(sub);
	const char *text = found ? rql_arena_printf(p->arena, "by %s of %s%s%s%s", sub->plan->method, sub->plan->structure,
	                                           index ? " under index " : "", index ? index : "",
	                                           rql_operator_needs_host(sub->nodes->tree) ? ", finished by the host" : "")
	                        : rql_arena_printf(p->arena, "by the host: %s", sub->why_not ? sub->why_not : "no columns index serves it");
	return text ? text : "";
}

/* A plan of its own inside p's. On the CPU: the rows become a map in the host's memory, and a shape that a GPU's driver has
 * not seen takes longer than that. */
struct rql_subplan {
	struct rql_settings settings;
	struct rql_plan_context ctx;
	struct rql_plan plan;
	struct rql_plan_nodes nodes;
	struct rql_planning planning;
};

static rql_status open_subplan(struct rql_subplan *s, struct rql_planning *p, const struct rql_rel *rel,
                               struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	if (!arena)
		return rql_error_memory(err, 0, "a plan");
	s->settings = *p->ctx->settings;
	s->settings.only = NULL;
	s->settings.unit_forced = true;
	s->settings.unit = RQL_UNIT_CPU;
	s->settings.layout[0] = 0;
	s->settings.auto_columns = false;
	s->ctx = *p->ctx;
	s->ctx.settings = &s->settings;
	s->plan = (struct rql_plan){.kind = RQL_PLAN_HOST, .arena = arena, .reason = "", .structure = ""};
	s->nodes = (struct rql_plan_nodes){.root = rel};
	s->planning = (struct rql_planning){.ctx = &s->ctx,
	                                    .arena = arena,
	                                    .plan = &s->plan,
	                                    .nodes = &s->nodes,
	                                    .stamp = p->stamp,
	                                    .shares_maps = p->shares_maps,
	                                    .is_subplan = true,
	                                    .reductions = p->reductions,
	                                    .structures = p->structures,
	                                    .structure_count = p->structure_count,
	                                    .err = err};
	return RQL_OK;
}

static void close_subplan(struct rql_subplan *s)
{
	while (s->nodes.leaf_count)
		rql_leaf_clear(&s->nodes.leaves[--s->nodes.leaf_count]);
	rql_pairs_clear(&s->nodes, NULL);
	rql_arena_free(s->plan.arena);
}

/* A structure that is not there yet is made first, then all is planned again. */
static void pass_on(struct rql_planning *p, const struct rql_planning *sub, bool found)
{
	if (found)
		return;
	if (!p->to_refresh)
		p->to_refresh = sub->to_refresh;
	p->refresh_first |= sub->to_refresh != NULL;
}

/* s is closed. */
static rql_status run_planned(struct rql_planning *p, struct rql_subplan *s, struct rql_batch **out, const char **how)
{
	rql_status status = s->plan.kind == RQL_PLAN_METHOD ? run(&s->planning, out) : RQL_OK;
	*how = describe(p, &s->planning, *out != NULL);
	pass_on(p, &s->planning, *out != NULL);
	close_subplan(s);
	return status;
}

rql_status rql_subplan_rows(struct rql_planning *p, struct rql_rel *rel, bool by_first, struct rql_batch **out,
                            const char **how, struct rql_error *err)
{
	struct rql_subplan s;
	*out = NULL;
	*how = "";
	RQL_TRY(open_subplan(&s, p, rel, err));
	s.planning.by_first = by_first;
	rql_status status = rql_subplan_reads_columns(p, rel) ? plan(&s.planning, rel) : RQL_OK;
	if (status == RQL_OK)
		return run_planned(p, &s, out, how);
	close_subplan(&s);
	return status;
}

rql_status rql_subplan_rows_priced(struct rql_planning *p, struct rql_subplan_map *map, struct rql_batch **out,
                                   const char **how)
{
	struct rql_subplan *s = map->priced;
	map->priced = NULL;
	*out = NULL;
	return run_planned(p, s, out, how);
}

/* ---- maps ---- */

/* Of one thread: a key listed, translated, and put into a map. */
#define MAP_KEY_NS 6.0

/* The keys are columns of one table. */
static bool take_keys(struct rql_planning *sub, const struct rql_rows_block *rows, uint32_t key_count)
{
	struct rql_expr *const *keys = rows->block->groups;
	for (uint32_t k = 0; k < key_count; k++)
		if (keys[k]->kind != RQL_EXPR_COLUMN || keys[k]->table >= rows->block->table_count ||
		    keys[k]->table != keys[0]->table)
			return false;
	sub->keyed = keys[0];
	sub->keyed_second = key_count > 1 ? keys[1] : NULL;
	return rows->limit == UINT64_MAX && !rows->offset && !rows->order_count;
}

static const struct rql_store_column *key_column(const struct rql_structure *s, const struct rql_expr *key)
{
	for (uint32_t i = 0; i < s->snapshot->column_count; i++)
		if (s->column_ids[i] == key->index)
			return &s->snapshot->columns[i];
	return NULL;
}

static rql_status run_map(struct rql_planning *sub, struct rql_subplan_map *out, bool *found)
{
	const struct rql_leaf *leaf = &sub->nodes->leaves[0];
	struct rql_flow flow = rql_plan_flow(sub->ctx, sub->ctx->progress);
	struct rql_error why = {0};
	rql_status status = rql_flow_run_keyed(&flow, leaf, &out->map, &why);
	if (status != RQL_OK)
		return rql_planning_swallow(sub, status, &why, -1, NULL);
	out->structure = leaf->structure;
	rql_structure_retain(out->structure);
	out->keys[0] = key_column(out->structure, sub->keyed);
	out->keys[1] = sub->keyed_second ? key_column(out->structure, sub->keyed_second) : NULL;
	*found = true;
	return RQL_OK;
}

/* *chosen: the plan's one leaf gives the map. */
static rql_status plan_map(struct rql_planning *sub, const struct rql_rel *rel, uint32_t key_count, bool *chosen)
{
	struct rql_error why = {0};
	struct rql_rows_block *rows;
	bool served = false;
	*chosen = false;
	rql_status status = rql_block_make_rows(sub->arena, rel, &rows, &why);
	if (status != RQL_OK)
		return rql_planning_swallow(sub, status, &why, -1, NULL);
	if (!take_keys(sub, rows, key_count))
		return RQL_OK;
	rows->block->groups += key_count;
	rows->block->group_count -= key_count;
	RQL_TRY(rql_leaf_choose_block(sub, rel, rows->block, NULL, &served));
	if (!served)
		return RQL_OK;
	RQL_TRY(rql_planning_decide(sub));
	*chosen = sub->plan->kind == RQL_PLAN_METHOD;
	return RQL_OK;
}

/* What the CPU takes for a map of the chosen leaf's rows. */
static double map_ns(const struct rql_planning *p, const struct rql_leaf *leaf)
{
	const double threads = rql_pool_threads(p->ctx->devices->device[0].pool);
	return rql_leaf_price(leaf) + leaf->cost.cells * MAP_KEY_NS / threads;
}

/* What the rows of rel would take, and a key of each put into a map; 0: nobody knows. Nothing is run, and the plan is kept
 * for whoever asks for the rows then. */
static rql_status price_rows(struct rql_planning *p, const struct rql_rel *rel, bool by_first, struct rql_subplan **out,
                             double *ns, struct rql_error *err)
{
	const double threads = rql_pool_threads(p->ctx->devices->device[0].pool);
	struct rql_subplan *s = RQL_NEW(p->arena, struct rql_subplan);
	*ns = 0;
	if (!s)
		return rql_error_memory(err, 0, "a plan");
	RQL_TRY(open_subplan(s, p, rel, err));
	s->planning.by_first = by_first;
	*out = s; /* closed with the map, also after an error */
	RQL_TRY(plan(&s->planning, rel));
	*ns = s->plan.kind == RQL_PLAN_METHOD ? s->plan.estimated_ns : s->plan.host_estimated_ns;
	if (*ns > 0 && s->nodes.tree)
		*ns += s->nodes.tree->rows * MAP_KEY_NS / threads;
	return RQL_OK;
}

rql_status rql_subplan_map(struct rql_planning *p, struct rql_rel *all, bool by_first, uint32_t key_count,
                           const struct rql_scan_keys *on, struct rql_subplan_map *out, bool *found,
                           const char **how, struct rql_error *err)
{
	struct rql_rel *rel = all->kind == RQL_REL_DISTINCT ? all->children[0] : all; /* a map holds a key once anyway */
	const bool reads = rql_subplan_reads_columns(p, rel);
	struct rql_subplan s;
	bool chosen = false;
	double ns = 0;
	*found = false;
	*out = (struct rql_subplan_map){0};
	RQL_TRY(open_subplan(&s, p, rel, err));
	rql_status status = reads ? plan_map(&s.planning, rel, key_count, &chosen) : RQL_OK;
	const bool makes = reads && on && rql_subplan_may_make(p);
	if (chosen)
		ns = map_ns(p, &s.nodes.leaves[0]);
	else if (status == RQL_OK && makes)
		status = price_rows(p, all, by_first, &out->priced, &ns, err);
	if (status == RQL_OK && makes)
		status = rql_subplan_make(p, rel, key_count, on, ns, out, found, how);
	if (status == RQL_OK && chosen && !*found) {
		status = run_map(&s.planning, out, found);
		*how = *found ? describe(p, &s.planning, true) : *how;
	}
	pass_on(p, &s.planning, *found);
	close_subplan(&s);
	return status;
}

rql_status rql_subplan_expect(struct rql_planning *p, struct rql_rel *rel, uint32_t key_count, double *rows,
                              struct rql_error *err)
{
	struct rql_subplan s;
	bool chosen = false;
	*rows = -1;
	RQL_TRY(open_subplan(&s, p, rel, err));
	rql_status status = plan_map(&s.planning, rel, key_count, &chosen);
	if (chosen)
		*rows = s.nodes.leaves[0].cost.cells;
	close_subplan(&s);
	return status;
}

rql_status rql_subplan_few(struct rql_planning *p, struct rql_rel *rel, uint64_t most, double most_ns,
                           struct rql_batch **out, struct rql_error *err)
{
	struct rql_subplan s;
	const char *how;
	*out = NULL;
	RQL_TRY(open_subplan(&s, p, rel, err));
	rql_status status = plan(&s.planning, rel);
	if (status != RQL_OK || s.plan.kind != RQL_PLAN_METHOD || s.nodes.tree->rows > (double)most ||
	    s.plan.estimated_ns > most_ns) {
		close_subplan(&s);
		return status;
	}
	RQL_TRY(run_planned(p, &s, out, &how));
	if (*out && (*out)->rows > most) {
		rql_batch_release(*out);
		*out = NULL;
	}
	return RQL_OK;
}

void rql_subplan_map_free(struct rql_subplan_map *map)
{
	rql_map_free(map->made);
	map->made = NULL;
	if (map->priced)
		close_subplan(map->priced);
	map->priced = NULL;
	if (!map->structure)
		return;
	rql_flow_map_free(&map->map);
	rql_structure_release(map->structure);
	map->structure = NULL;
}
