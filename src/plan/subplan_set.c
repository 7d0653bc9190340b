/* Keys of a dimension's rows as a set that a GPU makes of its columns: the scan gives the keys of the rows that pass as
 * COLUMNS, and the method of maps (RQL_PORT_MAP) puts them into the set, in one submission. The host reads no row. The
 * set lies on that device from then on, for the scan that joins with it.
 *
 * One table without joins, one key that is an integer on both sides, and keys that lie densely: all else is listed on
 * the CPU (subplan.c). */
#include "plan/await.h"
#include "plan/join.h"

struct setting {
	struct rql_planning *p;
	struct rql_rows_block *rows;
	const struct rql_store_column *set_of;
	double cpu_ns;
	bool no_nulls; /* rows without a key are none of them */
	struct rql_leaf best; /* of one request on one device; the others are cleared */
	struct rql_error why;
};

/* A key that both columns can have; false: there is none, or they lie too far apart for bits. */
static bool common_range(const struct setting *s, const struct rql_columns_source *keys, struct rql_request *out)
{
	const struct rql_store_column *from = &keys->form->columns[0], *to = s->set_of;
	if (from->kind != RQL_STORE_INTEGER)
		return false;
	const rql_int128 least = from->least > to->least ? from->least : to->least;
	const rql_int128 greatest = from->greatest < to->greatest ? from->greatest : to->greatest;
	if (least > greatest || greatest - least >= INT32_MAX || greatest >= INT64_MAX ||
	    !rql_map_bits_suit((uint64_t)(greatest - least) + 1, keys->rows))
		return false;
	out->keys_least = (int64_t)least;
	out->keys_span = (uint32_t)(greatest - least) + 1;
	return true;
}

/* Of the columns that come in, which are the method's then. */
static rql_status prepare_over(struct rql_join_graph *g, const struct setting *s, struct rql_device *device,
                               struct rql_columns_source *keys, struct rql_leaf *out)
{
	struct rql_request request = {.snapshot = keys->form, .from = *keys, .wants = RQL_PORT_MAP};
	if (!common_range(s, keys, &request))
		return RQL_OK;
	RQL_TRY(rql_join_leaf_prepare(g, device, &request, &out->method, &out->prepared));
	keys->prepared = NULL;
	out->device = device;
	out->method->price(out->prepared, device, &out->cost);
	return RQL_OK;
}

/* out->prepared NULL: the device is none for it. */
static rql_status prepare(struct setting *s, struct rql_device *device, struct rql_leaf *out)
{
	struct rql_join_graph *g = RQL_NEW(s->p->arena, struct rql_join_graph);
	struct rql_columns_source keys = {0};
	if (!g)
		return rql_error_memory(&s->why, 0, "a plan");
	*g = (struct rql_join_graph){.p = s->p, .block = s->rows->block, .rows = s->rows, .is_below = true, .err = &s->why};
	RQL_TRY(rql_join_shape(g));
	const struct rql_plan_context *ctx = s->p->ctx;
	if (ctx->device_failure && ctx->device_failure(rql_join_base(g), device))
		return RQL_OK;
	rql_status status = rql_join_open_union(g, device, &keys);
	if (status == RQL_OK)
		status = prepare_over(g, s, device, &keys, out);
	rql_join_drop_source(&keys);
	return status;
}

/* It is made for this statement, so that it pays alone for what must be put there first. Who has named the device gets it
 * where at least half of it lies there. */
static bool pays(struct setting *s, struct rql_leaf *leaf)
{
	const struct rql_plan_context *ctx = s->p->ctx;
	const char *why = NULL;
	struct rql_cost *cost = &leaf->cost;
	if (ctx->device_fits &&
	    !ctx->device_fits(ctx->load_state, leaf->device, cost->device_bytes - cost->placed_bytes, s->p->arena, &why))
		return false;
	if (!rql_await_price(s->p, leaf->method, leaf->prepared, leaf->device, cost, &why))
		return false;
	if (rql_await_is_forced(s->p) ? cost->missing_bytes <= cost->placed_bytes : rql_cost_total(cost) < s->cpu_ns)
		return true;
	rql_await_leaf(s->p, leaf, s->cpu_ns);
	return false;
}

static rql_status try_device(struct setting *s, struct rql_device *device)
{
	struct rql_leaf leaf = {0};
	if (device->kind == RQL_DEVICE_CPU || rql_device_refused(s->p->ctx->settings, device, RQL_UNIT_COMPUTE) ||
	    !rql_await_device(s->p, device, false))
		return RQL_OK;
	rql_status status = prepare(s, device, &leaf);
	if (status != RQL_OK)
		return rql_planning_swallow(s->p, status, &s->why, -1, NULL);
	if (!leaf.prepared)
		return RQL_OK;
	if (!pays(s, &leaf) || (s->best.prepared && rql_cost_total(&s->best.cost) <= rql_cost_total(&leaf.cost))) {
		rql_leaf_clear(&leaf);
		return RQL_OK;
	}
	rql_leaf_clear(&s->best);
	s->best = leaf;
	return RQL_OK;
}

static rql_status run(struct setting *s, struct rql_subplan_map *out)
{
	struct rql_port port = {0};
	struct rql_arena *arena = rql_arena_new();
	const struct rql_run how = {.arena = arena, .progress = s->p->ctx->progress};
	if (!arena)
		return rql_error_memory(s->p->err, 0, "a map");
	rql_status status = s->best.method->run(s->best.prepared, s->best.device, &how, &port, &s->why);
	rql_arena_free(arena);
	if (status != RQL_OK) /* whatever it was, the CPU goes on */
		return rql_planning_swallow(s->p, status, &s->why, -1, NULL);
	out->set = port.map;
	out->set_rows = port.map_rows - (s->no_nulls ? port.map_nulls : 0);
	out->set_nulls = s->no_nulls ? 0 : port.map_nulls;
	out->set_twice = port.map_twice;
	return RQL_OK;
}

static const char *describe(const struct setting *s)
{
	struct rql_strbuf text = {0};
	rql_strbuf_put(&text, "stay on a GPU, where the map was made (");
	rql_put_device(&text, s->best.device);
	rql_strbuf_put(&text, ")");
	const char *copy = rql_arena_strdup(s->p->arena, rql_strbuf_text(&text));
	rql_strbuf_free(&text);
	return copy ? copy : "";
}

/* NULLs are no keys of a set: that the key is none need not be tested, which would put its planes on the device. */
static rql_status drop_null_test(struct setting *s)
{
	struct rql_block *block = s->rows->block;
	struct rql_expr **kept = RQL_NEW_ARRAY(s->p->arena, struct rql_expr *, block->conjunct_count + 1u);
	uint32_t count = 0;
	if (!kept)
		return rql_error_memory(s->p->err, 0, "a plan");
	for (uint32_t i = 0; i < block->conjunct_count; i++) {
		const struct rql_expr *e = block->conjuncts[i];
		if (e->kind == RQL_EXPR_IS_NOT_NULL && rql_expr_equal(e->children[0], block->groups[0]))
			s->no_nulls = true;
		else
			kept[count++] = block->conjuncts[i];
	}
	block->conjuncts = kept;
	block->conjunct_count = count;
	return RQL_OK;
}

/* One table, with nothing but conditions on it. */
static rql_status is_plain(struct setting *s, const struct rql_rel *rel, bool *plain)
{
	*plain = false;
	if (rel->column_count != 1)
		return RQL_OK;
	rql_status status = rql_block_make_rows(s->p->arena, rel, &s->rows, &s->why);
	if (status != RQL_OK)
		return rql_planning_swallow(s->p, status, &s->why, -1, NULL);
	const struct rql_rows_block *rows = s->rows;
	*plain = rows->block->table_count == 1 && !rows->block->side_count && rows->output_count == 1 &&
	         !rows->order_count && !rows->offset && rows->limit == UINT64_MAX;
	return *plain ? drop_null_test(s) : RQL_OK;
}

rql_status rql_subplan_set(struct rql_planning *p, struct rql_rel *rel, const struct rql_store_column *set_of,
                           double cpu_ns, struct rql_subplan_map *out, bool *found, const char **how)
{
	const struct rql_settings *settings = p->ctx->settings;
	struct setting s = {.p = p, .set_of = set_of, .cpu_ns = cpu_ns};
	bool plain;
	*found = false;
	/* Sub-plans run on the CPU. */
	if (p->is_subplan || set_of->kind != RQL_STORE_INTEGER || (settings->unit_forced && settings->unit != RQL_UNIT_COMPUTE))
		return RQL_OK;
	RQL_TRY(is_plain(&s, rel, &plain));
	if (!plain)
		return RQL_OK;
	if (!settings->only)
		rql_await_devices(p, false);
	rql_status status = RQL_OK;
	for (uint32_t d = 0; d < atomic_load(&p->ctx->devices->count) && status == RQL_OK; d++)
		status = try_device(&s, &p->ctx->devices->device[d]);
	if (status == RQL_OK && s.best.prepared)
		status = run(&s, out);
	*found = out->set != NULL;
	if (*found)
		*how = describe(&s);
	rql_leaf_clear(&s.best);
	return status;
}
