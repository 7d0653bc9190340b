/* Rows of one relation of a chain of joins under what a method of the role "select" finds of its conditions, where that is
 * cheaper than a scan of all: an index that lies on the device, or a sieve. */
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
