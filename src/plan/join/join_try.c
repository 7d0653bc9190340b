/* A block's joins on a GPU as an offer: on which device, at what price, and is another leaf, or the host, cheaper? */
#include <math.h>
#include <string.h>

#include "plan/join/join.h"
#include "plan/price/await.h"

bool rql_join_wants_raster(const struct rql_settings *settings)
{
	return settings->unit_forced && settings->unit == RQL_UNIT_RASTER;
}

/* Why it is not to be had there; NULL: it is. */
static const char *refused(const struct rql_join_graph *g, struct rql_device *device)
{
	const struct rql_plan_context *ctx = g->p->ctx;
	const char *why = rql_device_refused(ctx->settings, device, RQL_UNIT_COMPUTE);
	if (!why && rql_join_wants_raster(ctx->settings))
		why = rql_device_refused(ctx->settings, device, RQL_UNIT_RASTER);
	for (uint32_t r = 0; r < g->relation_count && !why; r++) {
		const struct rql_join_relation *relation = &g->relations[r];
		for (const struct rql_join_graph *below = relation->groups; below && !why; below = below->next)
			why = refused(below, device);
		if (!relation->groups && ctx->device_failure)
			why = ctx->device_failure(relation->structure, device);
	}
	return why;
}

/* As price_with_room of price.c: what gives way may be columns of this plan, so that it is priced again. */
static bool has_room(const struct rql_join_graph *g, struct rql_leaf *leaf, const char **why)
{
	const struct rql_plan_context *ctx = g->p->ctx;
	struct rql_cost *cost = &leaf->cost;
	const uint64_t since = rql_now_ns();
	do {
		leaf->method->price(leaf->prepared, leaf->device, cost);
		if (!ctx->device_fits || ctx->device_fits(ctx->load_state, leaf->device,
		                                          cost->device_bytes - cost->placed_bytes, g->p->arena, why))
			return true;
	} while (ctx->device_make_room &&
	         ctx->device_make_room(ctx->load_state, leaf->device, cost->device_bytes,
	                               cost->device_bytes - cost->placed_bytes, since));
	return false;
}

/* room: out: how the last device did. */
static bool may_have(struct rql_join_graph *g, struct rql_leaf *here, bool *room, const char **why)
{
	const char *lack = NULL;
	*room = has_room(g, here, &lack);
	if (!*room)
		*why = rql_arena_printf(g->p->arena, "joined as columns on %s: %s", here->device->id, lack ? lack : "");
	return *room && rql_await_price(g->p, here->method, here->prepared, here->device, &here->cost, why);
}

static rql_status try_devices(struct rql_join_graph *g, struct rql_leaf *leaf, bool *room)
{
	struct rql_devices *devices = g->p->ctx->devices;
	const char *why = "no GPU may be used";
	*room = true;
	for (uint32_t d = 0; d < atomic_load(&devices->count); d++) {
		struct rql_device *device = &devices->device[d];
		struct rql_leaf here = {0};
		if (device->kind == RQL_DEVICE_CPU)
			continue;
		const char *against = refused(g, device);
		if (against && rql_join_wants_raster(g->p->ctx->settings))
			why = against;
		if (against || !rql_await_device(g->p, device, false))
			continue;
		rql_status status = rql_join_try_device(g, device, &here);
		*room = true;
		if (status != RQL_OK) {
			if (status == RQL_ERROR_MEMORY || status == RQL_ERROR_INTERRUPTED)
				return status;
			why = rql_arena_strdup(g->p->arena, rql_error_message(g->err));
			rql_error_clear(g->err);
			continue;
		}
		if (!may_have(g, &here, room, &why) ||
		    (leaf->prepared && rql_cost_expected(&leaf->cost) <= rql_cost_expected(&here.cost))) {
			rql_leaf_clear(&here);
			continue;
		}
		rql_leaf_clear(leaf);
		*leaf = here;
	}
	return leaf->prepared ? RQL_OK : rql_error_set(g->err, RQL_ERROR_UNSUPPORTED, "%s", why ? why : "");
}

/* What costs more than the host leaves the block to smaller leaves, whose rows RayQL joins on the CPU. */
static rql_status compare(struct rql_join_graph *g, struct rql_leaf *leaf)
{
	const struct rql_settings *settings = g->p->ctx->settings;
	const double host_ns = leaf->scan->host_values * g->p->ctx->devices->device[0].profile.host_value_ns;
	const double ns = rql_cost_expected(&leaf->cost);
	if (settings->force || settings->unit_forced || ns <= host_ns)
		return RQL_OK;
	rql_await_leaf(g->p, leaf, host_ns);
	rql_leaf_clear(leaf);
	if (g->rows) /* nor are fewer steps above the same joins worth a look */
		g->p->dear_relations = g->relation_count;
	return rql_error_set(g->err, RQL_ERROR_UNSUPPORTED, "joined as columns on a GPU: %.3f ms, the host takes %.3f ms",
	                     ns / 1e6, host_ns / 1e6);
}

/* May a GPU's compute unit be used at all, as the session has it? */
static bool may_compute(struct rql_planning *p)
{
	const struct rql_settings *settings = p->ctx->settings;
	const bool gpu = settings->unit == RQL_UNIT_COMPUTE || settings->unit == RQL_UNIT_RASTER;
	if (settings->unit_forced ? !gpu : settings->only && settings->only->kind == RQL_DEVICE_CPU)
		return false;
	if (!settings->only)
		rql_await_devices(p, false);
	bool some = rql_join_wants_raster(settings); /* else it is said why none is there */
	for (uint32_t d = 0; d < atomic_load(&p->ctx->devices->count) && !some; d++)
		some = p->ctx->devices->device[d].kind != RQL_DEVICE_CPU &&
		       !rql_device_refused(settings, &p->ctx->devices->device[d], RQL_UNIT_COMPUTE);
	return some;
}

/* The least that such a chain takes on a device that may be used: its passes, and so many rows, as `leaf` finds, of one field
 * through one of its joins. */
static double least_price(const struct rql_planning *p, uint32_t relations, const struct rql_leaf *leaf)
{
	const double rows = leaf->cost.cells;
	const struct rql_pair_size none = {0};
	const struct rql_pair_size some = {.rows = {rows}, .row_bytes = {4}, .out_rows = rows, .out_bytes = 4};
	double least = (double)INFINITY;
	for (uint32_t d = 0; d < atomic_load(&p->ctx->devices->count); d++) {
		const struct rql_device *device = &p->ctx->devices->device[d];
		const struct rql_profile *profile = &device->profile;
		if (device->kind == RQL_DEVICE_CPU || rql_device_refused(p->ctx->settings, device, RQL_UNIT_COMPUTE))
			continue;
		const double joins = rql_join_pair_price()(profile, &none) * (relations - 2) + rql_join_pair_price()(profile, &some);
		least = fmin(least, profile->submit_ns + relations * profile->pass_ns + joins);
	}
	return least;
}

static bool was_told(const struct rql_planning *p, const struct rql_structure *base, const char *reason)
{
	bool told = false;
	for (uint32_t i = 0; i < p->nodes->candidate_count && !told; i++) {
		const struct rql_candidate *c = &p->nodes->candidates[i];
		told = c->joined && c->of == base && c->reason && !strcmp(c->reason, reason);
	}
	return told;
}

/* The one that is not taken may wait for a compiler only. */
static void take_cheaper(struct rql_planning *p, struct rql_leaf *leaf, struct rql_leaf *best)
{
	const bool better = !best->prepared || rql_leaf_price(leaf) < rql_leaf_price(best);
	const struct rql_leaf kept = better ? *leaf : *best;
	struct rql_leaf other = better ? *best : *leaf;
	if (other.prepared)
		rql_await_leaf(p, &other, rql_leaf_price(&kept));
	rql_leaf_clear(&other);
	*best = kept;
}

/* Groups in an order that are few: the CPU orders them sooner, and smaller leaves find them. */
static bool are_few(const struct rql_join_graph *g, double rows)
{
	return rows < RQL_ORDERED_ROWS_LEAST && !g->p->ctx->settings->force_order;
}

rql_status rql_join_leaf_try(struct rql_planning *p, const struct rql_block *block, const struct rql_rows_block *rows,
                             struct rql_leaf *best)
{
	struct rql_error why = {0};
	struct rql_join_graph *g;
	struct rql_leaf *leaf = RQL_NEW(p->arena, struct rql_leaf);
	const uint32_t relations = block->table_count + block->side_count;
	if (rows && (p->comparing || p->dear_relations == relations))
		return RQL_OK;
	if (p->is_subplan || p->keyed || (relations < 2 && !block->derived) || p->beyond ||
	    rql_block_counts_several(block) || !may_compute(p))
		return RQL_OK;
	if (best->prepared && (relations < 2 || !best->scan || least_price(p, relations, best) >= rql_leaf_price(best)))
		return RQL_OK;
	if (!leaf || !(g = RQL_NEW(p->arena, struct rql_join_graph)))
		return rql_error_memory(p->err, 0, "a plan");
	*g = (struct rql_join_graph){.p = p, .block = block, .rows = rows, .err = &why};
	bool room = true;
	rql_status status = rql_join_shape(g);
	const bool orders_groups = status == RQL_OK && rql_join_orders_groups(g);
	if (orders_groups && are_few(g, rql_join_ordered_most(g)))
		return RQL_OK;
	if (status == RQL_OK)
		status = try_devices(g, leaf, &room);
	const double groups = orders_groups ? leaf->cost.rows_out + (double)rows->offset : 0;
	if (status == RQL_OK && orders_groups && are_few(g, groups)) {
		rql_leaf_clear(leaf);
		status = rql_error_set(&why, RQL_ERROR_UNSUPPORTED, "the CPU orders so few groups (%.0f) sooner", groups);
	}
	if (status == RQL_OK)
		status = compare(g, leaf);
	struct rql_structure *base = rql_join_base(g);
	/* Who names the unit is to know that memory alone is in the way, at whatever node that is seen. */
	const bool lacks = !room && p->ctx->settings->unit_forced;
	/* Rows are tried at node after node: only of the result's own the reason is told, and once. */
	if (!base || (rows && status != RQL_OK && (!rows->is_result || was_told(p, base, rql_error_message(&why)))))
		return rql_planning_swallow(p, status, &why, lacks ? RQL_REASON_NO_ROOM : RQL_REASON_UNRELATED, NULL);
	struct rql_candidate *c = rql_candidate_add(p, base);
	if (!c) {
		rql_leaf_clear(leaf);
		rql_error_clear(&why);
		return rql_error_memory(p->err, 0, "a plan");
	}
	c->rows = c->joined = true;
	c->selects = rows != NULL;
	if (status == RQL_OK) {
		c->method = leaf->method->name;
		c->unit = rql_unit_name(leaf->method->unit);
		c->device = leaf->device;
		c->cost = leaf->cost;
		take_cheaper(p, leaf, best);
		return RQL_OK;
	}
	c->reason = rql_arena_strdup(p->arena, rql_error_message(&why));
	const int rank = lacks                                     ? RQL_REASON_NO_ROOM
	                 : rql_join_wants_raster(p->ctx->settings) ? RQL_REASON_UNIT
	                 : g->bounded                              ? RQL_REASON_BEYOND /* no star has such a join */
	                                                           : RQL_REASON_NO_METHOD;
	return rql_planning_swallow(p, status, &why, rank, NULL);
}
