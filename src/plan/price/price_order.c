/* The columns of an order on a GPU: which method gives them, and under which ROWS. */
#include "plan/price/price_order.h"

#include "plan/price/rows_as_columns.h"


struct offering {
	const struct rql_planning *p;
	struct rql_device *device;
	const struct rql_request *project; /* for COLUMNS */
	struct rql_order_offer *out;
	struct rql_cost cost; /* of out's */
	const char *reason;
	struct rql_error *err;
};

static bool may_use(const struct offering *o, uint32_t m)
{
	const struct rql_settings *settings = o->p->ctx->settings;
	return !(settings->disabled_methods >> m & 1) &&
	       !rql_device_refused(settings, o->device, rql_methods()[m]->unit);
}

static rql_status fails(struct offering *o, rql_status status, struct rql_error *why)
{
	if (status == RQL_ERROR_INTERRUPTED) {
		rql_error_move(o->err, why);
		return status;
	}
	o->reason = rql_arena_strdup(o->p->arena, rql_error_message(why));
	rql_error_clear(why);
	return o->reason ? RQL_OK : rql_error_memory(o->err, 0, "a plan");
}

/* under NULL: none; else it is given up with what is prepared, or here. */
static rql_status consider(struct offering *o, const struct rql_method *method, const struct rql_rows_offer *under)
{
	const struct rql_request *request = under ? &under->request : o->project;
	struct rql_columns_source *best = &o->out->request.from;
	struct rql_prepared *prepared = NULL;
	struct rql_error why = {0};
	struct rql_cost cost;
	const bool offers = method->offer(request, o->device, &o->reason) == RQL_OFFER_FULL;
	rql_status status = offers ? method->prepare(request, o->device, &prepared, &why) : RQL_OK;
	if (!prepared) {
		if (under)
			under->method->free(request->under.prepared);
		return status == RQL_OK ? RQL_OK : fails(o, status, &why);
	}
	method->price(prepared, o->device, &cost);
	const bool forced = o->p->ctx->settings->force_rows && under && !o->out->under.method;
	if (best->prepared && !forced && rql_cost_expected(&o->cost) <= rql_cost_expected(&cost)) {
		method->free(prepared);
		return RQL_OK;
	}
	if (best->prepared)
		best->method->free(best->prepared);
	*best = (struct rql_columns_source){
		.method = method, .prepared = prepared, .form = o->project->gives, .rows = cost.rows_out};
	o->out->by = method;
	o->out->under = under ? *under : (struct rql_rows_offer){.method = NULL};
	o->cost = cost;
	return RQL_OK;
}

/* All that gives the columns, by itself and under the ROWS of whatever selects. */
static rql_status consider_all(struct offering *o)
{
	for (uint32_t m = 0; rql_methods()[m]; m++) {
		const struct rql_method *method = rql_methods()[m];
		if (!may_use(o, m) || !rql_method_takes(method, o->project))
			continue;
		RQL_TRY(consider(o, method, NULL));
		for (uint32_t s = 0; rql_methods()[s] && method->takes_rows; s++) {
			struct rql_rows_offer under;
			bool found = false;
			if (!(rql_methods()[s]->gives >> RQL_PORT_ROWS & 1) || !may_use(o, s))
				continue;
			RQL_TRY(rql_price_rows(o->p, rql_methods()[s], o->device, o->project, &under, &found, o->err));
			if (found)
				RQL_TRY(consider(o, method, &under));
		}
	}
	return RQL_OK;
}

/* Before anything is prepared: rows that may pass, as far as is known. */
static double most_rows(const struct rql_request *request)
{
	const struct rql_sample *sample = request->sample;
	const double all = (double)request->snapshot->rows;
	return sample && sample->taken ? all * sample->read_share * sample->pass : all;
}

static rql_status are_few(const struct rql_planning *p, double rows, const char **reason, struct rql_error *err)
{
	if (rows >= RQL_ORDERED_ROWS_LEAST || p->ctx->settings->force_order)
		return RQL_OK;
	*reason = rql_arena_printf(p->arena, "the CPU orders so few rows (%.0f) sooner", rows);
	return *reason ? RQL_OK : rql_error_memory(err, 0, "a plan");
}

rql_status rql_price_order(const struct rql_planning *p, struct rql_device *device, const struct rql_request *request,
                           struct rql_order_offer *out, const char **reason, struct rql_error *err)
{
	struct rql_error why = {0};
	struct rql_request project;
	struct offering o = {.p = p, .device = device, .project = &project, .out = out, .err = err};
	*out = (struct rql_order_offer){.by = NULL};
	*reason = NULL;
	RQL_TRY(are_few(p, most_rows(request), reason, err));
	if (*reason)
		return RQL_OK;
	rql_status status = rql_rows_as_columns(p->arena, request, &project, &out->request, &why);
	if (status == RQL_ERROR_MEMORY)
		rql_error_move(err, &why);
	else if (status != RQL_OK)
		status = fails(&o, status, &why);
	else {
		status = consider_all(&o);
		out->request.from.form = project.gives; /* the offer's from here on */
	}
	if (status != RQL_OK || !out->by) {
		rql_order_offer_drop(out);
		*reason = o.reason ? o.reason : "no method gives its rows as columns there";
		return status;
	}
	out->request.order_there = p->ctx->settings->force_order;
	status = are_few(p, out->request.from.rows, reason, err);
	if (status != RQL_OK || *reason)
		rql_order_offer_drop(out);
	return status;
}

void rql_order_offer_drop(struct rql_order_offer *offer)
{
	struct rql_columns_source *from = &offer->request.from;
	if (from->prepared)
		from->method->free(from->prepared);
	if (from->form)
		rql_store_snapshot_release(from->form);
	*from = (struct rql_columns_source){.method = NULL};
}
