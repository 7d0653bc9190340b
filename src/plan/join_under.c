/* Rows of one relation of a chain of joins under what a method of the role "select" finds of its conditions, where that is
 * cheaper than a scan of all: an index that lies on the device, or a sieve; or an index by the keys of the other side. */
#include "plan/join.h"

#include "plan/price_rows.h"
#include "plan/scan_index.h"

static bool may_select(const struct rql_planning *p, uint32_t m, const struct rql_device *device)
{
	const struct rql_settings *settings = p->ctx->settings;
	const struct rql_method *method = rql_methods()[m];
	return (method->gives >> RQL_PORT_ROWS & 1) && !(settings->disabled_methods >> m & 1) &&
	       !rql_device_refused(settings, device, method->unit) && (!settings->unit_forced || method->unit == settings->unit);
}

/* For the method that otherwise reads all rows. *out NULL: it does not take these. */
static rql_status prepare_under(struct rql_device *device, const struct rql_method *method, struct rql_rows_offer *under,
                                struct rql_prepared **out, struct rql_error *err)
{
	struct rql_error why = {0};
	rql_status status = RQL_ERROR_UNSUPPORTED;
	*out = NULL;
	if (rql_method_takes(method, &under->request) && method->offer(&under->request, device, NULL) == RQL_OFFER_FULL)
		status = method->prepare(&under->request, device, out, &why);
	if (status == RQL_OK)
		return RQL_OK;
	under->method->free(under->request.under.prepared);
	if (status == RQL_ERROR_INTERRUPTED || (status == RQL_ERROR_MEMORY && device->kind == RQL_DEVICE_CPU)) {
		rql_error_move(err, &why);
		return status;
	}
	rql_error_clear(&why); /* all rows can be read */
	return RQL_OK;
}

/* Keeps the cheaper of the two. */
static void compare(const struct rql_planning *p, const struct rql_device *device, struct rql_join_relation *r,
                    const struct rql_rows_offer *under, struct rql_prepared *prepared, struct rql_columns_source *source)
{
	struct rql_cost best, tried;
	source->method->price(source->prepared, device, &best);
	source->method->price(prepared, device, &tried);
	const bool forced = p->ctx->settings->force_rows && !r->under;
	if (!forced && rql_cost_expected(&tried) >= rql_cost_expected(&best)) {
		source->method->free(prepared);
		return;
	}
	source->method->free(source->prepared);
	source->prepared = prepared;
	r->under = rql_arena_printf(p->arena, "%s on %s%s%s", rql_method_called(under->method),
	                            rql_unit_name(under->method->unit), under->index ? ", in " : "",
	                            under->index ? under->index : "");
}

rql_status rql_join_under(struct rql_join_graph *g, struct rql_device *device, struct rql_join_relation *r,
                          const struct rql_request *request, struct rql_columns_source *source)
{
	struct rql_request asked = *request;
	r->under = NULL;
	if (!r->structure || r->groups || !request->conjunct_count || !source->method->takes_rows)
		return RQL_OK;
	if (!rql_scan_indexes(g->p, r->structure, &asked))
		return rql_error_memory(g->err, 0, "a plan");
	for (uint32_t m = 0; rql_methods()[m]; m++) {
		struct rql_rows_offer under;
		struct rql_prepared *prepared = NULL;
		bool found = false;
		if (!may_select(g->p, m, device))
			continue;
		RQL_TRY(rql_price_rows(g->p, rql_methods()[m], device, &asked, &under, &found, g->err));
		if (found)
			RQL_TRY(prepare_under(device, source->method, &under, &prepared, g->err));
		if (prepared)
			compare(g->p, device, r, &under, prepared, source);
	}
	return RQL_OK;
}

/* ---- by keys that lie on the device ---- */

/* The store's column that a key of the relation is, as it is; RQL_NONE: it is made of values. */
static uint32_t stored_column(const struct rql_join_relation *r, uint32_t output)
{
	const struct rql_output *o = &r->request.outputs[output];
	const bool plain = o->source.kind == RQL_SOURCE_COLUMN && !o->part_count && !o->canonical && !o->values;
	return plain ? o->source.index : RQL_NONE;
}

/* For one method. l->prepared: the best one so far. */
static rql_status look_up_by(struct rql_join_graph *g, struct rql_device *device, const struct rql_method *method,
                             const struct rql_request *asked, struct rql_join_looked *l)
{
	struct rql_rows_offer under = {.request = rql_join_relation_request(l->relation, l->rows->form), .method = method};
	struct rql_prepared *found = NULL, *prepared;
	struct rql_error why = {0};
	struct rql_cost cost, now, then;
	if (method->prepare(asked, device, &found, &why) != RQL_OK) {
		rql_error_clear(&why); /* all rows can be read */
		return RQL_OK;
	}
	method->price(found, device, &cost);
	under.request.under = (struct rql_rows_source){.method = method, .prepared = found, .share = l->share, .blocks = cost.runs};
	RQL_TRY(prepare_under(device, l->rows->method, &under, &prepared, g->err));
	if (!prepared)
		return RQL_OK;
	l->rows->method->price(l->rows->prepared, device, &now);
	l->rows->method->price(prepared, device, &then);
	struct rql_pair_size size = l->size;
	size.rows[l->side] = then.rows_out;
	double (*pair_ns)(const struct rql_profile *, const struct rql_pair_size *) = rql_join_pair_price();
	const double saved = rql_cost_expected(&now) - rql_cost_expected(&then) + pair_ns(&device->profile, &l->size) -
	                     pair_ns(&device->profile, &size);
	if (l->prepared && saved <= l->saved_ns) {
		l->rows->method->free(prepared);
		return RQL_OK;
	}
	if (l->prepared)
		l->rows->method->free(l->prepared);
	l->prepared = prepared;
	l->saved_ns = saved;
	l->under = rql_arena_printf(g->p->arena, "%s on %s, in %s, by keys that lie there", rql_method_called(method),
	                            rql_unit_name(method->unit), asked->indexes[method->index(found)].name);
	return RQL_OK;
}

rql_status rql_join_look_up(struct rql_join_graph *g, struct rql_device *device, struct rql_join_looked *l)
{
	struct rql_join_relation *r = l->relation;
	l->prepared = NULL;
	const uint32_t column = r->structure && !r->groups ? stored_column(r, l->rows_key) : RQL_NONE;
	if (column == RQL_NONE || !l->rows->method->takes_rows)
		return RQL_OK;
	const struct rql_keys_in keys = {.from = *l->keys, .key = l->keys_key, .column = column};
	struct rql_request asked = {.snapshot = r->structure->snapshot,
	                            .keys = &keys,
	                            .wants = RQL_PORT_ROWS,
	                            .expected = (double)r->structure->snapshot->rows * l->share};
	if (!rql_scan_indexes(g->p, r->structure, &asked))
		return rql_error_memory(g->err, 0, "a plan");
	for (uint32_t m = 0; rql_methods()[m] && asked.index_count; m++) {
		const struct rql_method *method = rql_methods()[m];
		if (rql_method_takes(method, &asked) && may_select(g->p, m, device) &&
		    method->offer(&asked, device, NULL) == RQL_OFFER_FULL)
			RQL_TRY(look_up_by(g, device, method, &asked, l));
	}
	return RQL_OK;
}
