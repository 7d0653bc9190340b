/* Making a plan: what it reads, the leaves that cover it, whether they beat the host's price, and how long it lives. */
#include "plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bind/block/price_host.h"
#include "bind/normal/bound.h"
#include "bind/normal/normal.h"
#include "bind/normal/stability.h"
#include "bind/relation/codes_memo.h"
#include "method/request.h"
#include "plan/join/pairs.h"
#include "plan/map_cache.h"
#include "plan/price/await.h"
#include "plan/price/memo.h"
#include "plan/star/index_reduction.h"
#include "plan/star/scan_sorted.h"

/* So large a plan is kept whatever rayql_memory_limit says, as far as that has room. */
#define PLAN_BYTES_LEAST (UINT64_C(32) << 20)

/* ---- the tables of a plan ---- */

static bool add_table(struct rql_planning *p, const struct rql_table_ref *ref)
{
	struct rql_plan *plan = p->plan;
	struct rql_table *t = rql_catalog_table(p->ctx->catalog, ref->catalog, ref->schema, ref->table);
	if (!t)
		return false;
	for (uint32_t i = 0; i < plan->table_count; i++)
		if (plan->tables[i].table == t)
			return true;
	struct rql_table_seen *grown = RQL_NEW_ARRAY(p->arena, struct rql_table_seen, plan->table_count + 1);
	if (!grown)
		return false;
	if (plan->table_count)
		memcpy(grown, plan->tables, plan->table_count * sizeof *grown);
	grown[plan->table_count++] = (struct rql_table_seen){t, rql_table_version(p->ctx->catalog, t)};
	plan->tables = grown;
	return true;
}

/* All that the plan reads, whatever becomes of it: a cached plan must die when they change. */
static bool collect_tables(struct rql_planning *p, const struct rql_plan_facts *facts)
{
	p->plan->tables_known = facts->tables_known;
	for (uint32_t i = 0; i < facts->table_count; i++)
		if (!add_table(p, &facts->tables[i]))
			return false;
	return true;
}

/* ---- covering the plan with leaves ---- */

static bool gives_rows(const struct rql_rel *rel)
{
	return rel->kind == RQL_REL_GET || rel->kind == RQL_REL_FILTER || rel->kind == RQL_REL_PROJECT ||
	       rel->kind == RQL_REL_JOIN || rel->kind == RQL_REL_ORDER || rel->kind == RQL_REL_TOP_N ||
	       rel->kind == RQL_REL_LIMIT;
}

/* Of a join a child may be rows that an index finds by the other one's keys. */
static rql_status cover_child(struct rql_planning *p, const struct rql_rel *rel, uint32_t child, bool *covered)
{
	struct rql_reduced reduced = {0};
	bool found = false;
	RQL_TRY(rql_join_reduction(p, rel, child, &reduced));
	if (reduced.rel)
		RQL_TRY(rql_leaf_choose_rows(p, reduced.rel, &found));
	*covered = found;
	return found ? rql_planning_alternative(p, rel->children[child], reduced.rel, reduced.host_ns)
	             : rql_planning_cover(p, rel->children[child], covered);
}

rql_status rql_planning_cover(struct rql_planning *p, const struct rql_rel *rel, bool *covered)
{
	const struct rql_above here = {rel, p->above}, *above = p->above;
	bool found = false, all = true;
	*covered = true;
	if (rel->kind == RQL_REL_AGGREGATE || rel->kind == RQL_REL_DISTINCT)
		RQL_TRY(rql_leaf_choose(p, rel, &found));
	else if (gives_rows(rel))
		RQL_TRY(rql_leaf_choose_rows(p, rel, &found));
	if (found)
		return RQL_OK;
	if (rel->kind == RQL_REL_GET) {
		rql_planning_reason(p, 0, "rows of table %s are read, not aggregates", rel->table.table);
		*covered = false;
		return RQL_OK;
	}
	if (rel->kind == RQL_REL_OPAQUE) {
		rql_planning_opaque(p, rel);
		*covered = false;
		return RQL_OK;
	}
	/* Of a sub-plan a part is of no use: below one block there is no other that would do. */
	p->above = &here;
	for (uint32_t i = 0; i < rel->child_count && (all || !p->is_subplan) && !p->by_first; i++) {
		RQL_TRY(cover_child(p, rel, i, covered));
		all = all && *covered;
	}
	p->above = above;
	all = all && !p->by_first;
	*covered = all;
	return RQL_OK;
}

/* ---- deciding ---- */

/* What the host would take for a leaf. */
static double price_in_host(const struct rql_planning *p, const struct rql_leaf *leaf)
{
	double columns = leaf->host_columns ? leaf->host_columns : 1;
	const struct rql_device *cpu = &p->ctx->devices->device[0];
	double values = leaf->scan ? leaf->scan->host_values
	                           : (double)leaf->relation->rows * columns *
	                                 rql_host_idle_factor(rql_pool_threads(cpu->pool), leaf->relation->rows);
	return values * cpu->profile.host_value_ns;
}

static double leaf_host_ns(const void *state, const struct rql_leaf *leaf)
{
	return price_in_host(state, leaf);
}

/* The rows of tables that no leaf reads: what is above them has a price, too. */
static rql_status count_tables(struct rql_planning *p, const struct rql_rel *rel)
{
	struct rql_error why = {0};
	uint64_t rows;
	if (rql_plan_leaf_of(p->nodes, rel) || rql_plan_alternative(p->nodes, rel))
		return RQL_OK;
	if (rel->kind == RQL_REL_GET)
		return rql_planning_swallow(p, rql_scan_table_rows(p, &rel->table, &rows, &why), &why, -1, NULL);
	for (uint32_t i = 0; i < rel->child_count; i++)
		RQL_TRY(count_tables(p, rel->children[i]));
	return RQL_OK;
}

static double pairs_ns(void *planning, const struct rql_known_rows *known, const struct rql_rel *rel, double cpu_ns,
                       const struct rql_pairs_offer **out)
{
	return rql_pairs_price(planning, known, rel, cpu_ns, out);
}

static rql_status find_cover(struct rql_planning *p, struct rql_memo_cover *out)
{
	const struct rql_device *cpu = &p->ctx->devices->device[0];
	const struct rql_settings *settings = p->ctx->settings;
	const struct rql_memo_spec spec = {.nodes = p->nodes,
	                                   .arena = p->arena,
	                                   .threads = rql_pool_threads(cpu->pool),
	                                   .size_count = p->size_count,
	                                   .sizes = p->sizes,
	                                   .host_statement_ns = cpu->profile.host_statement_ns,
	                                   .leaf_ns = rql_leaf_price,
	                                   .leaf_host_ns = leaf_host_ns,
	                                   .state = p,
	                                   .pairs_ns = pairs_ns,
	                                   .planning = p,
	                                   .forced = settings->force,
	                                   .leaf_first = settings->force || settings->unit_forced};
	RQL_TRY(rql_memo_cover(&spec, out, p->err));
	p->nodes->tree = out->tree;
	p->nodes->way_count = out->way_count;
	memcpy(p->nodes->ways, out->ways, sizeof(out->ways));
	return RQL_OK;
}

static void price_plans(struct rql_planning *p, const struct rql_memo_cover *cover)
{
	const struct rql_plan_nodes *n = p->nodes;
	struct rql_plan *plan = p->plan;
	plan->host_estimated_ns = cover->host_ns;
	/* Its rows become RayQL's, whoever gives them. Only where the sink is a map, RayQL makes none: every row that passes is
	 * one of the map's. */
	const double given = p->keyed ? n->leaves[0].cost.cells : n->tree->rows;
	if (p->is_subplan)
		plan->host_estimated_ns += rql_price_giving(given, n->root->column_count);
	plan->estimated_ns = p->ctx->devices->device[0].profile.statement_ns + cover->ns;
	if (n->tree->kind == RQL_OPERATOR_NATIVE && !p->keyed)
		plan->estimated_ns += rql_price_giving(n->tree->rows, n->root->column_count);
}

static void move_leaf(struct rql_operator *op, const struct rql_leaf *from, const struct rql_leaf *to)
{
	op->leaf = op->leaf == from ? to : op->leaf;
	for (uint32_t i = 0; i < op->input_count; i++)
		move_leaf(op->inputs[i], from, to);
}

static bool reads_tables(const struct rql_operator *op)
{
	bool reads = op->reads_tables;
	for (uint32_t i = 0; i < op->input_count && !reads; i++)
		reads = reads_tables(op->inputs[i]);
	return reads;
}

static bool is_of(const struct rql_candidate *c, const struct rql_leaf *leaf)
{
	return c->of == leaf->structure && c->device == leaf->device && !strcmp(c->method, leaf->method->name) &&
	       c->joined == (leaf->scan && leaf->scan->joins);
}

/* Leaves that the cheapest cover does without. */
static void drop_others(struct rql_planning *p, const struct rql_memo_cover *cover)
{
	struct rql_plan_nodes *n = p->nodes;
	const bool part = reads_tables(n->tree);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < n->leaf_count; i++) {
		struct rql_leaf *leaf = &n->leaves[i];
		if (rql_operator_takes(n->tree, leaf)) {
			move_leaf(n->tree, leaf, &n->leaves[kept]);
			n->leaves[kept++] = *leaf;
			continue;
		}
		rql_await_leaf(p, leaf, cover->against[i]);
		if (part)
			rql_planning_reason(p, RQL_REASON_NO_METHOD, "%s could answer a part of it, but the host is quicker",
			                    leaf->structure->name);
		for (uint32_t c = 0; c < n->candidate_count; c++)
			n->candidates[c].chosen &= !is_of(&n->candidates[c], leaf);
		rql_leaf_clear(leaf);
	}
	n->leaf_count = kept;
	for (uint32_t c = 0; c < n->candidate_count; c++)
		for (uint32_t i = 0; i < kept && !n->candidates[c].reason; i++)
			n->candidates[c].chosen |= is_of(&n->candidates[c], &n->leaves[i]) &&
			                           n->candidates[c].under == (n->leaves[i].under ? n->leaves[i].under->name : NULL);
}

static void name_structures(struct rql_planning *p)
{
	struct rql_strbuf text = {0};
	for (uint32_t i = 0; i < p->nodes->leaf_count; i++) {
		const char *name = p->nodes->leaves[i].structure->name;
		bool again = false;
		for (uint32_t k = 0; k < i && !again; k++)
			again = !strcmp(p->nodes->leaves[k].structure->name, name);
		if (!again)
			rql_strbuf_printf(&text, "%s%s", text.length ? ", " : "", name);
	}
	const char *copy = rql_arena_strdup(p->arena, rql_strbuf_text(&text));
	p->plan->structure = copy ? copy : "";
	rql_strbuf_free(&text);
}

static void take_methods(struct rql_planning *p)
{
	struct rql_plan *plan = p->plan;
	const struct rql_leaf *leaf = &p->nodes->leaves[0];
	double rows = 0;
	plan->kind = RQL_PLAN_METHOD;
	if (!p->nodes->leaf_count) {
		plan->method = "empty";
		plan->unit = rql_unit_name(RQL_UNIT_CPU);
		plan->device = &p->ctx->devices->device[0];
		plan->reason = "its conditions can never hold: there is nothing to read";
		return;
	}
	plan->method = leaf->method->name;
	plan->unit = rql_unit_name(leaf->method->unit);
	plan->device = leaf->device;
	name_structures(p);
	for (uint32_t i = 0; i < p->nodes->leaf_count; i++)
		rows += p->nodes->leaves[i].cost.rows_out;
	const char *reason = rql_arena_printf(p->arena, "cheapest: %.3f ms estimated, host %.3f ms%s%s",
	                                      plan->estimated_ns / 1e6, plan->host_estimated_ns / 1e6,
	                                      leaf->note ? "; " : "", leaf->note ? leaf->note : "");
	if (reason && reads_tables(p->nodes->tree))
		reason = rql_arena_printf(p->arena, "%s; the host reads tables and finishes, over about %.0f rows of RayQL's%s%s",
		                          reason, rows, p->why_not ? "; not all of it: " : "", p->why_not ? p->why_not : "");
	if (reason && p->scalars)
		reason = rql_arena_printf(p->arena, "%s; scalar subqueries as constants, %s", reason, p->scalars);
	plan->reason = reason ? reason : "cheapest";
}

rql_status rql_planning_decide(struct rql_planning *p)
{
	struct rql_plan *plan = p->plan;
	struct rql_memo_cover cover;
	RQL_TRY(count_tables(p, p->nodes->root));
	RQL_TRY(find_cover(p, &cover));
	if (!cover.tree && !cover.reason) /* no leaf is of use to it */
		return RQL_OK;
	if (!cover.tree) {
		/* Where the host reads tables anyway, the part in the way has its own reason. */
		rql_planning_reason(p, p->covered ? 9 : 2, "what is above it (%s) cannot be written as SQL again", cover.reason);
		return RQL_OK;
	}
	/* The reason is kept: also of a plan without rows, of which the host would do a part. */
	if (rql_operator_feeds_nobody(cover.tree) || (!p->nodes->leaf_count && rql_operator_needs_host(cover.tree)))
		return RQL_OK;
	price_plans(p, &cover);
	if (plan->estimated_ns > plan->host_estimated_ns && !p->ctx->settings->force) {
		rql_planning_reason(p, 9, "the host is cheaper: %.3f ms estimated against %.3f ms",
		                    plan->host_estimated_ns / 1e6, plan->estimated_ns / 1e6);
		if (plan->estimated_ns - rql_await_sum(p->nodes) <= plan->host_estimated_ns)
			rql_await_leaves(p);
		return RQL_OK;
	}
	drop_others(p, &cover);
	rql_pairs_clear(p->nodes, p->nodes->tree);
	take_methods(p);
	return RQL_OK;
}

static rql_status retain_structures(struct rql_planning *p)
{
	return rql_catalog_structures(p->ctx->catalog, p->arena, &p->structures, &p->structure_count, p->err);
}

/* With random() there is no single value for a cell, or for one run. */
static rql_status check_stable(struct rql_planning *p, const struct rql_plan_facts *facts, bool *usable)
{
	const char *name = NULL;
	RQL_TRY(rql_stability_load(p->ctx, p->err));
	enum rql_stability stability = rql_plan_stability(p->ctx->planner, facts, &name);
	p->plan->cacheable = stability == RQL_CONSISTENT;
	/* Inside a transaction the snapshot is its own. */
	p->shares_maps = p->plan->cacheable && p->plan->tables_known && !p->ctx->snapshot_stamp;
	*usable = stability != RQL_VOLATILE;
	if (!*usable)
		rql_planning_reason(p, 9, "%s() may give another value at each call", name);
	return RQL_OK;
}

/* Counts and samples are of the state before, and a structure that was rebuilt in between is not. */
static void written_meanwhile(struct rql_planning *p)
{
	p->plan->cacheable = false;
	if (p->plan->kind != RQL_PLAN_METHOD)
		return;
	p->plan->kind = RQL_PLAN_HOST;
	p->plan->method = "host";
	p->plan->unit = p->plan->structure = "";
	p->plan->device = NULL;
	rql_planning_reason(p, 10, "a table of it was written while it was planned");
}

/* *normal false: the host must answer, and the reason is kept. */
static rql_status normalise(struct rql_planning *p, struct rql_rel **root, bool *normal)
{
	struct rql_error why = {0};
	rql_status status = rql_plan_normalise(p->ctx, p->arena, root, &why);
	*normal = status == RQL_OK;
	if (status == RQL_ERROR_UNSUPPORTED) {
		rql_planning_reason(p, 9, "%s", rql_error_message(&why));
		rql_error_clear(&why);
		return RQL_OK;
	}
	if (status != RQL_OK)
		rql_error_move(p->err, &why);
	return status;
}

/* The plan itself, as far as it can be made of what the host has bound. */
static rql_status make_from_root(struct rql_planning *p, const struct rql_plan_facts *facts, struct rql_rel *root)
{
	bool covered = false, usable = false, changed = false;
	if (!collect_tables(p, facts))
		return rql_error_memory(p->err, 0, "a plan");
	RQL_TRY(check_stable(p, facts, &usable));
	if (!usable)
		return RQL_OK;
	RQL_TRY(normalise(p, &root, &usable));
	if (usable)
		RQL_TRY(rql_plan_scalars(p, &root, &changed));
	if (changed)
		RQL_TRY(normalise(p, &root, &usable));
	if (!usable)
		return RQL_OK;
	p->nodes->root = root;
	RQL_TRY(rql_planning_cover(p, root, &covered));
	p->covered = covered;
	if (covered && p->nodes->leaf_count && !p->refresh_first) {
		RQL_TRY(rql_planning_decide(p));
	} else if (p->to_refresh) {
		p->plan->kind = RQL_PLAN_REFRESH;
		p->plan->refresh = p->to_refresh;
		rql_structure_retain(p->to_refresh);
	} else if (p->to_load) {
		p->plan->kind = RQL_PLAN_LOAD;
		p->plan->load = p->to_load;
	} else if (p->nodes->leaf_count) {
		RQL_TRY(rql_planning_decide(p));
	} else if (covered && p->plan->table_count) {
		rql_planning_reason(p, 0, "its conditions can never hold");
		RQL_TRY(rql_planning_decide(p));
	} else if (covered) {
		rql_planning_reason(p, 0, "it reads no table");
	}
	return RQL_OK;
}

/* The literals whose values may differ from run to run: those that are proven to be nothing but values. */
static struct rql_points points_of(const struct rql_bound *bound)
{
	struct rql_points points = {0};
	for (uint32_t i = 0; i < bound->points.count; i++)
		if (bound->proven[bound->points.of[i].literal - 1])
			points.of[points.count++] = bound->points.of[i];
	return points;
}

/* ... and that the method's runs take. */
static void take_points(struct rql_planning *p, const struct rql_points *points)
{
	const struct rql_leaf *leaf = p->nodes->leaves;
	if (p->plan->kind != RQL_PLAN_METHOD || p->nodes->leaf_count != 1 || rql_operator_needs_host(p->nodes->tree) ||
	    !leaf->method->points)
		return;
	const uint32_t taken = leaf->method->points(leaf->prepared);
	p->plan->points = *points;
	for (uint32_t i = 0; i < points->count; i++)
		if (!(taken >> i & 1))
			p->plan->points.of[i].literal = 0;
}

static rql_status fill(struct rql_planning *p, const struct rql_bound *bound, const struct rql_literals *literals,
                       uint64_t stamp)
{
	if (!bound->root) {
		rql_planning_reason(p, 9, "%s", bound->reason);
		return RQL_OK;
	}
	p->plan->read = true;
	p->stamp = stamp;
	const struct rql_points points = points_of(bound);
	struct rql_rel *root = rql_plan_with_literals(p->arena, bound->root, literals, bound->free, &points);
	if (!root)
		return rql_error_memory(p->err, 0, "a plan");
	p->nodes->root = root; /* what the statement reads is known, also where nothing becomes of it */
	rql_status status = retain_structures(p);
	if (status == RQL_OK)
		status = make_from_root(p, &bound->facts, root);
	for (uint32_t i = 0; i < p->structure_count; i++)
		rql_structure_release(p->structures[i]);
	for (uint32_t i = 0; i < p->plan->table_count; i++)
		if (rql_table_moved(p->ctx->catalog, p->plan->tables[i].table) > stamp)
			written_meanwhile(p);
	if (status == RQL_OK)
		take_points(p, &points);
	return status;
}

/* Who, in words. */
static const char *answers(const struct rql_plan *plan)
{
	if (plan->kind != RQL_PLAN_METHOD)
		return "the host answers";
	return plan->device->kind == RQL_DEVICE_CPU ? "the CPU answers" : "another plan of the GPU answers";
}

rql_status rql_plan_make(const struct rql_plan_context *ctx, struct rql_bound *bound,
                         const struct rql_literals *literals, uint64_t stamp, struct rql_plan **out,
                         struct rql_error *err)
{
	struct rql_arena *arena = rql_arena_new();
	struct rql_plan *plan = arena ? RQL_NEW(arena, struct rql_plan) : NULL;
	struct rql_plan_nodes *nodes = plan ? RQL_NEW(arena, struct rql_plan_nodes) : NULL;
	if (!nodes || !(nodes->values = RQL_NEW(arena, struct rql_plan_values))) {
		rql_arena_free(arena);
		return rql_error_memory(err, sizeof *nodes, "a plan");
	}
	*plan = (struct rql_plan){.kind = RQL_PLAN_HOST,
	                          .reason = "",
	                          .method = "host",
	                          .unit = "",
	                          .structure = "",
	                          .arena = arena,
	                          .bound = bound,
	                          .nodes = nodes};
	rql_bound_retain(bound);
	struct rql_plan_context with_memo = *ctx;
	with_memo.codes = rql_codes_memo_new();
	struct rql_planning p = {.ctx = &with_memo, .arena = arena, .plan = plan, .nodes = nodes, .err = err};
	rql_status status = fill(&p, bound, literals, stamp);
	rql_codes_memo_free(with_memo.codes);
	if (status != RQL_OK) {
		rql_plan_free(plan);
		return status;
	}
	if (plan->kind != RQL_PLAN_METHOD)
		plan->reason = p.why_not ? p.why_not : "no structure serves it";
	const char *reason = plan->awaiting ? rql_arena_printf(arena, "%s; %s, and %s meanwhile", plan->reason, plan->awaiting,
	                                                       answers(plan))
	                                    : plan->reason;
	plan->reason = reason ? reason : plan->reason;
	if (plan->swayed && (reason = rql_arena_printf(arena, "%s; its first preparation decided, so that it is planned "
	                                                      "once more when it comes again", plan->reason)))
		plan->reason = reason;
	*out = plan;
	return RQL_OK;
}

void rql_plan_free(struct rql_plan *plan)
{
	if (!plan)
		return;
	for (uint32_t i = 0; i < plan->nodes->leaf_count; i++)
		rql_leaf_clear(&plan->nodes->leaves[i]);
	rql_pairs_clear(plan->nodes, NULL);
	if (plan->refresh)
		rql_structure_release(plan->refresh);
	rql_awaited_release(plan->awaited);
	rql_bound_release(plan->bound);
	rql_arena_free(plan->arena);
}

bool rql_plan_alive(const struct rql_plan *plan)
{
	for (uint32_t i = 0; i < plan->nodes->leaf_count; i++)
		if (atomic_load_explicit(&plan->nodes->leaves[i].device->lost, memory_order_relaxed))
			return false;
	for (const struct rql_pairs_offer *offer = plan->nodes->pairs; offer; offer = offer->next)
		if (!rql_pairs_alive(offer))
			return false;
	return true;
}

bool rql_plan_scans_on(const struct rql_plan *plan, const struct rql_device *device)
{
	for (uint32_t i = 0; plan->nodes && i < plan->nodes->leaf_count; i++)
		if (plan->nodes->leaves[i].scan && plan->nodes->leaves[i].device == device)
			return true;
	return false;
}

uint64_t rql_plan_bytes(const struct rql_plan *plan)
{
	uint64_t bytes = rql_arena_bytes(plan->arena) + rql_arena_bytes(plan->bound->arena);
	for (uint32_t i = 0; i < plan->nodes->leaf_count; i++) {
		const struct rql_leaf *leaf = &plan->nodes->leaves[i];
		bytes += leaf->method->bytes(leaf->prepared);
		bytes += leaf->scan ? rql_scan_sorted_bytes(leaf->scan) : 0;
		for (uint32_t m = 0; leaf->scan && m < leaf->scan->map_count; m++)
			bytes += rql_kept_map_bytes(leaf->scan->maps[m]);
	}
	for (const struct rql_pairs_offer *offer = plan->nodes->pairs; offer; offer = offer->next)
		bytes += offer->method->bytes(offer->prepared);
	return bytes;
}

/* A sixteenth of what structures may take. */
uint64_t rql_plan_most_bytes(const struct rql_budget *budget)
{
	uint64_t limit = budget ? atomic_load(&budget->limit) : 0;
	if (!limit)
		limit = rql_machine_memory();
	return limit / 16 > PLAN_BYTES_LEAST ? limit / 16 : PLAN_BYTES_LEAST;
}
