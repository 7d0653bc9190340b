/* The steps that join a graph's relations: what each is expected to give, the order that costs least, and what is tested
 * and read above. */
#include <math.h>
#include <string.h>

#include "plan/join/join.h"
#include "plan/join/join_order.h"

/* Of groups, whose rows nobody has sampled, what a condition leaves. */
#define SELECTED 0.33

/* ---- rows of a relation ---- */

/* count(*) of what passes, on the CPU: its price has the number, from a sample. */
static rql_status bind_count(struct rql_join_graph *g, const struct rql_join_relation *r, struct rql_request *out)
{
	static const struct rql_agg count = {.kind = RQL_AGG_COUNT_STAR};
	struct rql_arena *arena = g->p->arena;
	struct rql_block *block = RQL_NEW(arena, struct rql_block);
	struct rql_table_ref *table = RQL_NEW(arena, struct rql_table_ref);
	struct rql_scan_bound bound;
	struct rql_star *star;
	if (!block || !table)
		return rql_error_memory(g->err, 0, "a plan");
	*table = (struct rql_table_ref){.table = r->table};
	*block = (struct rql_block){
		.table_count = 1, .tables = table, .conjunct_count = r->conjuncts.count, .conjuncts = r->conjuncts.items};
	RQL_TRY(rql_star_make(arena, block, 0, NULL, &star, g->err));
	RQL_TRY(rql_scan_bind(g->p->ctx, arena, star, r->structure, NULL, &bound, g->err));
	*out = bound.request;
	out->wants = RQL_PORT_GROUPS;
	out->agg_count = 1;
	out->aggs = &count;
	out->sample = r->sample;
	return RQL_OK;
}

static rql_status sample_rows(struct rql_join_graph *g, struct rql_join_relation *r)
{
	struct rql_device *cpu = &g->p->ctx->devices->device[0];
	struct rql_prepared *prepared;
	struct rql_request request;
	struct rql_cost cost;
	RQL_TRY(bind_count(g, r, &request));
	for (uint32_t m = 0; rql_methods()[m]; m++) {
		const struct rql_method *method = rql_methods()[m];
		if (method->unit != RQL_UNIT_CPU || !rql_method_takes(method, &request) ||
		    method->offer(&request, cpu, NULL) != RQL_OFFER_FULL)
			continue;
		RQL_TRY(method->prepare(&request, cpu, &prepared, g->err));
		method->price(prepared, cpu, &cost);
		method->free(prepared);
		r->rows = cost.cells;
		return RQL_OK;
	}
	return RQL_OK;
}

static rql_status estimate_rows(struct rql_join_graph *g, struct rql_join_relation *r)
{
	if (r->groups) { /* another device may expect others */
		r->rows = r->source.rows * pow(SELECTED, r->conjuncts.count);
		return RQL_OK;
	}
	if (r->sample)
		return RQL_OK;
	r->rows = (double)r->structure->snapshot->rows;
	if (!r->conjuncts.count)
		return RQL_OK;
	if (!(r->sample = RQL_NEW(g->p->arena, struct rql_sample)))
		return rql_error_memory(g->err, 0, "a plan");
	rql_status status = sample_rows(g, r);
	if (status == RQL_ERROR_MEMORY || status == RQL_ERROR_INTERRUPTED)
		return status;
	rql_error_clear(g->err); /* whoever binds it for its rows says why it cannot be */
	return RQL_OK;
}

/* ---- keys ---- */

static const struct rql_store_column *stored_column(const struct rql_join_relation *r, const struct rql_expr *e,
                                                    uint32_t *at)
{
	*at = e->kind == RQL_EXPR_COLUMN ? rql_scan_find_column(r->structure->snapshot, r->structure->column_ids, e) : RQL_NONE;
	return *at == RQL_NONE ? NULL : &r->structure->snapshot->columns[*at];
}

static double field_bytes(const struct rql_join_relation *r, const struct rql_expr *e)
{
	uint32_t at;
	const struct rql_store_column *column = stored_column(r, e, &at);
	const uint32_t bits = column ? rql_form_bits(column) : 0;
	return bits ? bits / 8.0 : 8;
}

/* Groups have none that could be looked at. */
double rql_join_values(struct rql_join_graph *g, struct rql_join_relation *r, const struct rql_expr *e)
{
	const enum rql_simd simd = g->p->ctx->devices->device[0].simd;
	const struct rql_store_snapshot *snapshot = r->structure->snapshot;
	const double rows = r->groups ? r->source.rows : (double)snapshot->rows;
	uint32_t at;
	while (e->kind == RQL_EXPR_CAST)
		e = e->children[0];
	if (!stored_column(r, e, &at))
		return fmax(1, rows);
	if (!r->values && !r->groups)
		r->values = RQL_NEW_ARRAY(g->p->arena, double, snapshot->column_count);
	double values = r->values && !r->groups ? r->values[at] : 0;
	if (values == 0)
		values = rql_store_distinct(rql_store_kernels_for(simd), snapshot, at);
	if (r->values && !r->groups)
		r->values[at] = values;
	return fmax(1, fmin(rows, values));
}

/* Of a key of one column the side with more values has those of the other. How many combinations of several there are, no
 * side tells once it has fewer rows: the smaller side's are then its rows, as of a key that comes once. */
static double key_values(struct rql_join_graph *g, struct rql_join_edge *edge)
{
	struct rql_join_relation *of[] = {&g->relations[edge->a], &g->relations[edge->b]};
	double values[2] = {1, 1};
	bool capped[2];
	for (uint32_t s = 0; s < 2; s++) {
		const double rows = of[s]->groups ? of[s]->source.rows : (double)of[s]->structure->snapshot->rows;
		for (uint32_t k = 0; k < edge->key_count; k++) {
			const double one = rql_join_values(g, of[s], s ? edge->keys[k].inner : edge->keys[k].outer);
			edge->keys[k].values = s ? fmax(edge->keys[k].values, one) : one;
			values[s] *= one;
		}
		capped[s] = edge->key_count > 1 && values[s] > rows;
		values[s] = fmax(1, fmin(values[s], rows));
	}
	return capped[0] && capped[1] ? fmin(values[0], values[1]) : fmax(values[0], values[1]);
}

static double key_bytes(const struct rql_join_graph *g, const struct rql_join_edge *edge)
{
	double bytes = 0;
	for (uint32_t k = 0; k < edge->key_count; k++)
		bytes += field_bytes(&g->relations[edge->a], edge->keys[k].outer);
	return bytes > 4 ? 8 : 4; /* one field, whatever it is made of */
}

/* ---- what is above ---- */

static bool note_column(const struct rql_expr *leaf, void *state)
{
	struct rql_join_graph *g = state;
	uint32_t at = rql_join_relation_of(g, leaf->table);
	struct rql_join_relation *r = at == RQL_NONE ? NULL : &g->relations[at];
	if (!r || leaf->kind != RQL_EXPR_COLUMN)
		return false;
	if ((r->side && r->side->kind == RQL_SIDE_MARK) || rql_join_is_ranged(g, at))
		return true;
	for (uint32_t i = 0; i < r->columns.count; i++)
		if (r->columns.items[i]->index == leaf->index)
			return true;
	struct rql_expr *own = rql_join_over_own(g, r, leaf);
	return own && rql_expr_list_add(g->p->arena, &r->columns, (struct rql_expr *)(uintptr_t)leaf) &&
	       rql_expr_list_add(g->p->arena, &r->outputs, own);
}

static rql_status collect_columns(struct rql_join_graph *g)
{
	const struct rql_block *above = &g->above;
	bool ok = true;
	for (uint32_t r = 0; r < g->relation_count; r++)
		g->relations[r].columns.count = g->relations[r].outputs.count = 0;
	for (uint32_t i = 0; i < above->conjunct_count; i++)
		ok = ok && rql_expr_leaves(above->conjuncts[i], note_column, g);
	for (uint32_t i = 0; i < above->group_count; i++)
		ok = ok && rql_expr_leaves(above->groups[i], note_column, g);
	for (uint32_t i = 0; i < above->agg_count; i++)
		ok = ok && rql_expr_leaves(above->aggs[i], note_column, g);
	return ok ? RQL_OK
	          : rql_error_set(g->err, RQL_ERROR_UNSUPPORTED,
	                          "joined as columns on a GPU: an expression reads what is no column");
}

/* Values that keys make equal, as numbers of classes: of relation r an expression over its own columns. */
struct equal {
	uint32_t count;
	struct equal_one {
		uint32_t relation;
		const struct rql_expr *value;
		uint32_t of;
	} * list;
};

static uint32_t class_of(struct equal *equal, uint32_t relation, const struct rql_expr *value)
{
	uint32_t at = 0;
	while (at < equal->count && (equal->list[at].relation != relation || !rql_expr_equal(equal->list[at].value, value)))
		at++;
	if (at == equal->count)
		equal->list[equal->count++] = (struct equal_one){relation, value, at};
	return equal->list[at].of;
}

static void make_equal(struct equal *equal, uint32_t x, uint32_t y)
{
	for (uint32_t i = 0; i < equal->count; i++)
		equal->list[i].of = equal->list[i].of == x ? y : equal->list[i].of;
}

/* Of an equality its two values' classes become one. *same: they were. */
static bool equate(struct rql_join_graph *g, struct equal *equal, const struct rql_expr *e, bool *same)
{
	uint32_t classes[2];
	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t r = rql_join_table_of(g, e->children[i]);
		const struct rql_expr *own = rql_join_over_own(g, &g->relations[r], e->children[i]);
		if (!own)
			return false;
		classes[i] = class_of(equal, r, own);
	}
	*same = classes[0] == classes[1];
	make_equal(equal, classes[0], classes[1]);
	return true;
}

/* The conditions that no relation, no key and no equality before says. steps: the keys of g->steps say theirs; else none of
 * the equalities is among them. */
static rql_status leave_rest(struct rql_join_graph *g, bool steps)
{
	struct rql_arena *arena = g->p->arena;
	struct rql_expr_list rest = {0};
	struct equal equal = {.list = RQL_NEW_ARRAY(arena, struct equal_one,
	                                            2 * (g->step_count * RQL_JOIN_KEYS + g->block->conjunct_count) + 1u)};
	if (!equal.list)
		return rql_error_memory(g->err, 0, "a plan");
	for (uint32_t s = 0; steps && s < g->step_count; s++) {
		const struct rql_join_step *step = &g->steps[s];
		for (uint32_t k = 0; step->kind == RQL_LOOKUP_INNER && k < step->key_count; k++) {
			const uint32_t x = class_of(&equal, step->owner, step->keys[k].outer);
			make_equal(&equal, x, class_of(&equal, step->relation, step->keys[k].inner));
		}
	}
	for (uint32_t i = 0; i < g->block->conjunct_count; i++) {
		struct rql_expr *e = g->block->conjuncts[i];
		bool said = rql_join_table_of(g, e) != RQL_NONE;
		if (rql_join_is_equality(g, e)) {
			if (!equate(g, &equal, e, &said))
				return rql_error_memory(g->err, 0, "a plan");
			said |= !steps && rql_expr_is_equijoin(e);
		}
		if (!said && !rql_expr_list_add(arena, &rest, e))
			return rql_error_memory(g->err, 0, "a plan");
	}
	const struct rql_block *block = g->block;
	const bool full = block->side_count && block->sides[block->side_count - 1].kind == RQL_SIDE_FULL;
	if (steps && full && rest.count)
		return rql_error_set(g->err, RQL_ERROR_UNSUPPORTED,
		                     "joined as columns on a GPU: a condition over several tables is tested before a full join");
	for (uint32_t i = 0; i < block->above_count; i++)
		if (!rql_expr_list_add(arena, &rest, block->above[i]))
			return rql_error_memory(g->err, 0, "a plan");
	g->above.conjunct_count = rest.count;
	g->above.conjuncts = rest.items;
	return collect_columns(g);
}

/* ---- the order ---- */

static enum rql_lookup_kind kind_of(const struct rql_join_relation *r)
{
	static const enum rql_lookup_kind kinds[] = {[RQL_SIDE_LEFT] = RQL_LOOKUP_LEFT,
	                                             [RQL_SIDE_FULL] = RQL_LOOKUP_LEFT,
	                                             [RQL_SIDE_SEMI] = RQL_LOOKUP_SEMI,
	                                             [RQL_SIDE_ANTI] = RQL_LOOKUP_ANTI,
	                                             [RQL_SIDE_ASOF] = RQL_LOOKUP_INNER,
	                                             [RQL_SIDE_ASOF_LEFT] = RQL_LOOKUP_LEFT,
	                                             [RQL_SIDE_MARK] = RQL_LOOKUP_LEFT};
	return r->side ? kinds[r->side->kind] : RQL_LOOKUP_INNER;
}

static double no_price(const struct rql_profile *profile, const struct rql_pair_size *size)
{
	(void)profile;
	return size->out_rows;
}

double (*rql_join_pair_price(void))(const struct rql_profile *, const struct rql_pair_size *)
{
	for (uint32_t m = 0; rql_methods()[m]; m++)
		if (rql_methods()[m]->unit == RQL_UNIT_COMPUTE && rql_methods()[m]->pair_ns)
			return rql_methods()[m]->pair_ns;
	return no_price;
}

static rql_status estimate(struct rql_join_graph *g, struct rql_join_order_relation *relations, struct rql_join_order_edge *edges)
{
	for (uint32_t i = 0; i < g->relation_count; i++) {
		struct rql_join_relation *r = &g->relations[i];
		RQL_TRY(estimate_rows(g, r));
		relations[i] = (struct rql_join_order_relation){.rows = fmax(1, r->rows), .needs = r->needs, .kind = kind_of(r)};
		if (r->side && r->side->kind == RQL_SIDE_MARK) /* no more rows, and no columns */
			relations[i].kind = RQL_LOOKUP_ANTI;
		if ((r->side && rql_side_is_asof(r->side->kind)) || rql_join_is_ranged(g, i)) /* joined to what is there, as it stays */
			relations[i].kind = RQL_LOOKUP_LEFT;
		for (uint32_t c = 0; c < r->outputs.count; c++)
			relations[i].bytes += field_bytes(r, r->outputs.items[c]);
	}
	for (uint32_t e = 0; e < g->edge_count; e++) {
		const struct rql_block_side *side = g->relations[g->edges[e].b].side;
		edges[e] = (struct rql_join_order_edge){.a = g->edges[e].a,
		                                   .b = g->edges[e].b,
		                                   .distinct = key_values(g, &g->edges[e]),
		                                   .bytes = key_bytes(g, &g->edges[e])};
		if ((side && rql_side_is_asof(side->kind)) || rql_join_is_ranged(g, g->edges[e].b)) /* a row has one match at most */
			edges[e].distinct = relations[g->edges[e].b].rows;
	}
	return RQL_OK;
}

static void take_steps(struct rql_join_graph *g, const struct rql_join_order *order, const struct rql_join_order_edge *edges)
{
	g->first = order->first;
	g->step_count = order->step_count;
	for (uint32_t s = 0; s < order->step_count; s++) {
		const struct rql_join_edge *edge = &g->edges[order->steps[s].edge];
		const uint32_t relation = order->steps[s].relation;
		const struct rql_block_side *side = g->relations[relation].side;
		struct rql_join_step *step = &g->steps[s];
		*step = (struct rql_join_step){.relation = relation,
		                               .kind = kind_of(&g->relations[relation]),
		                               .not_in = side && side->not_in,
		                               .mark = side && side->kind == RQL_SIDE_MARK,
		                               .full = side && side->kind == RQL_SIDE_FULL,
		                               .single = side && side->single,
		                               .nearest = side && rql_side_is_asof(side->kind),
		                               .ranges = rql_join_is_ranged(g, relation),
		                               .owner = edge->a == relation ? edge->b : edge->a,
		                               .key_count = edge->key_count,
		                               .distinct = edges[order->steps[s].edge].distinct};
		step->condition_count = edge->condition_count;
		memcpy(step->conditions, edge->conditions, sizeof step->conditions);
		for (uint32_t k = 0; k < edge->key_count; k++) {
			step->keys[k] = edge->keys[k];
			if (edge->a == relation) {
				step->keys[k].outer = edge->keys[k].inner;
				step->keys[k].inner = edge->keys[k].outer;
			}
		}
	}
}

/* "  order c, b, a: about 20 rows, 0.051 ms; lost: 0.123 ms with b last" */
static const char *describe(const struct rql_join_graph *g, const struct rql_join_order *order)
{
	struct rql_strbuf text = {0};
	rql_strbuf_printf(&text, "  order %s", g->relations[order->first].table);
	for (uint32_t s = 0; s < order->step_count; s++)
		rql_strbuf_printf(&text, ", %s", g->relations[order->steps[s].relation].table);
	rql_strbuf_printf(&text, ": about %.0f rows, %.3f ms joining", order->rows, order->ns / 1e6);
	for (uint32_t i = 0; i < order->lost_count; i++)
		rql_strbuf_printf(&text, "%s %.3f ms with %s last", i ? "," : "; lost:", order->lost[i].ns / 1e6,
		                  g->relations[order->lost[i].last].table);
	rql_strbuf_printf(&text, "; %u steps priced\n", order->compared);
	const char *copy = rql_arena_strdup(g->p->arena, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	return copy;
}

rql_status rql_join_steps(struct rql_join_graph *g, struct rql_device *device)
{
	struct rql_join_order_relation *relations = RQL_NEW_ARRAY(g->p->arena, struct rql_join_order_relation, g->relation_count);
	struct rql_join_order_edge *edges = RQL_NEW_ARRAY(g->p->arena, struct rql_join_order_edge, g->edge_count + 1u);
	struct rql_join_order order;
	bool enough;
	if (!relations || !edges)
		return rql_error_memory(g->err, 0, "a plan");
	g->above = (struct rql_block){.group_count = g->block->group_count,
	                              .groups = g->block->groups,
	                              .agg_count = g->block->agg_count,
	                              .aggs = g->block->aggs};
	g->order = NULL;
	g->step_count = 0;
	RQL_TRY(leave_rest(g, false));
	if (g->relation_count > 1) {
		const struct rql_join_order_graph graph = {.relation_count = g->relation_count,
		                                      .edge_count = g->edge_count,
		                                      .relations = relations,
		                                      .edges = edges,
		                                      .pair_ns = rql_join_pair_price(),
		                                      .profile = &device->profile};
		RQL_TRY(estimate(g, relations, edges));
		if (!rql_join_order_find(g->p->arena, &graph, &order, &enough))
			return enough ? rql_error_set(g->err, RQL_ERROR_UNSUPPORTED,
			                              "joined as columns on a GPU: no equality leads to all tables")
			              : rql_error_memory(g->err, 0, "a plan");
		take_steps(g, &order, edges);
		if (g->relation_count > 2 && !(g->order = describe(g, &order)))
			return rql_error_memory(g->err, 0, "a plan");
	}
	return leave_rest(g, true);
}
