/* Who could answer a bound request: every method on every device that the view, the session and the machine allow,
 * each with its price or the reason against it. */
#include <stdio.h>
#include <string.h>
#include "plan/price/await.h"
#include "plan/price/price_order.h"
#include "util/threads.h"

struct pricing {
	struct rql_planning *p;
	const struct rql_structure *s;
	struct rql_request *request;
	const char *layout; /* that methods must have; NULL: none */
	struct rql_leaf *leaf;
	struct rql_candidate *unused; /* the structure's first candidate, until something fills it */
	const char *first_reason;     /* against a method that had a device; NULL: none */
	const char *unit_reason;      /* against the others: "the view asks for unit = rt" */
	bool any_unit;
	enum rql_unit unit;
	bool could; /* some device could be used for a wanted unit, whatever the methods say */
	const struct rql_device *gpu; /* on which it would take the least; NULL: there is none */
	double gpu_ns;
	struct rql_error *err;
};

/* The session's word is the last one; then the view's. A layout is of one unit: the session's brings its unit along, and
 * a view's is left out where the session wants another unit. */
static bool read_wishes(struct pricing *c)
{
	const struct rql_settings *settings = c->p->ctx->settings;
	/* Layouts are of views; scans have none. */
	const bool rows = rql_request_reads(c->request) == RQL_READS_STORE;
	const char *layout = rows ? NULL : settings->layout[0] ? settings->layout : c->s->layout;
	const struct rql_method *of = layout ? rql_layout_method(layout) : NULL;
	struct rql_arena *arena = c->p->arena;
	if (settings->unit_forced) {
		c->unit = settings->unit;
		if (!settings->layout[0] && of && of->unit != c->unit)
			layout = NULL;
		c->unit_reason = rql_arena_printf(arena, "rayql_unit says %s", rql_unit_name(c->unit));
	} else if (!rows && settings->layout[0] && of) {
		c->unit = of->unit;
		c->unit_reason = rql_arena_printf(arena, "rayql_layout says %s, which is one of the unit %s", layout,
		                                  rql_unit_name(c->unit));
	} else if (c->s->unit_wanted) {
		c->unit = c->s->unit;
		c->unit_reason = rql_arena_printf(arena, "the view asks for unit = %s", rql_unit_name(c->unit));
	} else {
		c->any_unit = true;
	}
	c->layout = layout;
	return c->any_unit || c->unit_reason;
}

static bool is_for(const struct pricing *c, const struct rql_method *method)
{
	return rql_method_takes(method, c->request) && rql_method_has_layout(method, c->layout);
}

/* Drivers are loaded only when somebody may use them. */
static void find_devices(const struct pricing *c)
{
	const struct rql_plan_context *ctx = c->p->ctx;
	if (ctx->settings->only || (!c->any_unit && c->unit == RQL_UNIT_CPU))
		return; /* a named device has been looked for when it was named */
	for (uint32_t m = 0; rql_methods()[m]; m++) {
		const struct rql_method *method = rql_methods()[m];
		if (method->unit != RQL_UNIT_CPU && is_for(c, method) &&
		    (c->any_unit || method->unit == c->unit) && !(ctx->settings->disabled_methods >> m & 1)) {
			rql_await_devices(c->p, !c->any_unit);
			return;
		}
	}
}

static struct rql_candidate *next_candidate(struct pricing *c, const struct rql_method *method,
                                            const struct rql_device *device)
{
	struct rql_candidate *candidate = c->unused ? c->unused : rql_candidate_add(c->p, c->s);
	c->unused = NULL;
	if (candidate) {
		candidate->method = method->name;
		candidate->unit = rql_unit_name(method->unit);
		candidate->device = device;
		candidate->rows = rql_request_reads(c->request) == RQL_READS_STORE;
		candidate->selects = c->request->wants == RQL_PORT_BATCH;
	}
	return candidate;
}

/* Why the structure is not to be had there; NULL: it is. */
static const char *not_placeable(const struct pricing *c, struct rql_device *device)
{
	const struct rql_plan_context *ctx = c->p->ctx;
	const char *failure =
		device->kind != RQL_DEVICE_CPU && ctx->device_failure ? ctx->device_failure(c->s, device) : NULL;
	return failure ? rql_arena_strdup(c->p->arena, failure) : NULL;
}

static void note_gpu(struct pricing *c, const struct rql_device *device, const struct rql_cost *cost)
{
	const double ns = rql_cost_expected(cost);
	if (device->kind == RQL_DEVICE_CPU || (c->gpu && c->gpu_ns <= ns))
		return;
	c->gpu = device;
	c->gpu_ns = ns;
}

/* A look-up that the CPU has: what stands against the GPU that could have it, too. */
static void note_look_up(struct pricing *c)
{
	struct rql_leaf *leaf = c->leaf;
	if (!c->gpu || leaf->note || !leaf->under_index || leaf->device->kind != RQL_DEVICE_CPU)
		return;
	leaf->note = rql_arena_printf(c->p->arena, "%s (%s) would take %.3f ms, of which a submission is %.3f ms",
	                              c->gpu->id, c->gpu->name, c->gpu_ns / 1e6, c->gpu->profile.submit_ns / 1e6);
}

/* Does it put rows of the store in order that another method gives as columns? Their price has all else in it. */
static bool is_order(const struct rql_method *method)
{
	return method->reads == RQL_READS_COLUMNS;
}

static void keep_cheapest(struct pricing *c, const struct rql_method *method, struct rql_device *device,
                          const struct rql_rows_offer *under, struct rql_prepared *prepared,
                          const struct rql_cost *cost)
{
	struct rql_leaf *leaf = c->leaf;
	if (leaf->prepared && rql_cost_expected(&leaf->cost) <= rql_cost_expected(cost)) {
		const struct rql_leaf other = {.method = method, .device = device, .prepared = prepared, .cost = *cost};
		rql_await_leaf(c->p, &other, rql_cost_expected(&leaf->cost));
		method->free(prepared);
		return;
	}
	if (leaf->prepared) {
		rql_await_leaf(c->p, leaf, rql_cost_expected(cost));
		leaf->method->free(leaf->prepared);
	}
	leaf->prepared = prepared;
	leaf->method = method;
	leaf->device = device;
	leaf->ordered_of = NULL;
	leaf->under = under ? under->method : NULL;
	leaf->under_tests = under ? under->tests : 0;
	leaf->under_joins = under ? under->joins : 0;
	leaf->under_superset = under && under->superset;
	leaf->under_index = under ? under->index : NULL;
	leaf->under_form = under ? under->cost.rows_form : RQL_ROWS_BITMAP;
	leaf->cost = *cost;
}

/* False: the device has no room, and the candidate says so. What other plans keep there gives way, and may be columns of
 * this one's, so that the price is another then. */
static bool price_with_room(const struct pricing *c, const struct rql_method *method, struct rql_device *device,
                            const struct rql_rows_offer *under, const struct rql_prepared *prepared,
                            struct rql_candidate *candidate)
{
	const struct rql_plan_context *ctx = c->p->ctx;
	struct rql_cost *cost = &candidate->cost;
	const uint64_t since = rql_now_ns(); /* what the price finds there is wanted from now on */
	do {
		candidate->reason = NULL;
		method->price(prepared, device, cost);
		if (under && !is_order(method))
			rql_cost_add(cost, &under->cost);
		if ((cost->setup_ns <= 0 && !is_order(method)) || !ctx->device_fits ||
		    ctx->device_fits(ctx->load_state, device, cost->device_bytes - cost->placed_bytes, c->p->arena,
		                     &candidate->reason))
			return true;
	} while (ctx->device_make_room && ctx->device_make_room(ctx->load_state, device, cost->device_bytes,
	                                                            cost->device_bytes - cost->placed_bytes, since));
	return false;
}

/* Why the method does not answer all of the request; NULL: it does. */
static const char *refusal(const struct rql_method *method, const struct rql_request *request,
                           const struct rql_device *device)
{
	const char *reason = NULL;
	if (method->offer(request, device, &reason) == RQL_OFFER_FULL)
		return NULL;
	return reason ? reason : "it gives only a superset";
}

/* Of those against the methods of a request, the first; one against an order goes with it. */
static void note_reason(struct pricing *c, const char *reason, bool order)
{
	const char *first = c->first_reason;
	const char *both = order && first ? rql_arena_printf(c->p->arena, "%s; in order: %s", first, reason) : NULL;
	c->first_reason = both ? both : first ? first : reason;
}

static rql_status refuse(struct pricing *c, struct rql_candidate *candidate, const char *reason, bool order)
{
	/* A method's reason may be the structure's own text, and EXPLAIN may read it when that is gone. */
	candidate->reason = rql_arena_strdup(c->p->arena, reason);
	if (!candidate->reason)
		return rql_error_memory(c->err, 0, "a plan");
	note_reason(c, candidate->reason, order);
	return RQL_OK;
}

/* What is prepared becomes the leaf's where it is the cheapest so far. */
static rql_status weigh(struct pricing *c, const struct rql_method *method, struct rql_device *device,
                        const struct rql_rows_offer *under, struct rql_prepared *prepared,
                        struct rql_candidate *candidate)
{
	if (!price_with_room(c, method, device, under, prepared, candidate)) {
		method->free(prepared);
		note_reason(c, candidate->reason, is_order(method));
		return RQL_OK;
	}
	note_gpu(c, device, &candidate->cost);
	/* To look for kernels is to write them: only where it may matter. */
	const bool dearer = c->leaf->prepared && rql_cost_expected(&c->leaf->cost) <= rql_cost_expected(&candidate->cost);
	const char *reason = NULL;
	if (!dearer && !rql_await_price(c->p, method, prepared, device, &candidate->cost, &reason)) {
		method->free(prepared);
		return reason ? refuse(c, candidate, reason, is_order(method)) : rql_error_memory(c->err, 0, "a plan");
	}
	keep_cheapest(c, method, device, under, prepared, &candidate->cost);
	return RQL_OK;
}

/* A method that has offered to answer the request, which may be under ROWS: they are freed with what is prepared, and here
 * where nothing is. */
static rql_status price_offer(struct pricing *c, const struct rql_method *method, struct rql_device *device,
                              const struct rql_rows_offer *under, struct rql_candidate *candidate)
{
	struct rql_prepared *prepared = NULL;
	struct rql_error why = {0};
	rql_status status = method->prepare(under ? &under->request : c->request, device, &prepared, &why);
	if (status != RQL_OK && under)
		under->method->free(under->request.under.prepared);
	if (status == RQL_ERROR_INTERRUPTED || (status == RQL_ERROR_MEMORY && device->kind == RQL_DEVICE_CPU)) {
		rql_error_move(c->err, &why);
		return status;
	}
	if (status != RQL_OK) { /* the others may still do */
		status = refuse(c, candidate, rql_error_message(&why), false);
		rql_error_clear(&why);
		return status;
	}
	return weigh(c, method, device, under, prepared, candidate);
}

/* An index has counted the rows of the only condition: a scan of all rows need not find that out from a sample. */
static void note_count(const struct rql_request *request, const struct rql_rows_offer *under)
{
	const bool whole = under->cost.counted && !under->superset && !under->request.conjunct_count;
	if (!whole || request->conjunct_count != 1 || request->lookup_count || !request->sample || request->sample->taken)
		return;
	request->sample->counted = true;
	request->sample->counted_share = under->request.under.share;
}

/* The same under the ROWS of each method that gives some there: alternatives of their own. only: without them the method
 * does not take the request, and what still stands in its way is no news. */
static rql_status price_under(struct pricing *c, const struct rql_method *method, struct rql_device *device, bool only)
{
	const struct rql_settings *settings = c->p->ctx->settings;
	for (uint32_t s = 0; rql_methods()[s] && method->takes_rows; s++) {
		const struct rql_method *select = rql_methods()[s];
		struct rql_rows_offer under;
		bool found = false;
		if (!(select->gives >> RQL_PORT_ROWS & 1) || (settings->disabled_methods >> s & 1) ||
		    rql_device_refused(settings, device, select->unit) || (!c->any_unit && select->unit != c->unit))
			continue;
		RQL_TRY(rql_price_rows(c->p, select, device, c->request, &under, &found, c->err));
		if (!found)
			continue;
		note_count(c->request, &under);
		const char *reason = refusal(method, &under.request, device);
		struct rql_candidate *candidate = reason && only ? NULL : next_candidate(c, method, device);
		if (!candidate || reason)
			select->free(under.request.under.prepared);
		if (reason && only)
			continue;
		if (!candidate)
			return rql_error_memory(c->err, 0, "a plan");
		candidate->under = rql_method_called(select);
		RQL_TRY(reason ? refuse(c, candidate, reason, false) : price_offer(c, method, device, &under, candidate));
	}
	return RQL_OK;
}

/* Why the method cannot be had there, whatever the request is; NULL: it can. */
static const char *barred(struct pricing *c, uint32_t m, struct rql_device *device)
{
	const char *reason = not_placeable(c, device);
	if (reason)
		return reason;
	c->could = true;
	return c->p->ctx->settings->disabled_methods >> m & 1 ? "switched off" : NULL;
}

/* A method that puts rows in order which another one gives as columns on the device. */
static rql_status price_order(struct pricing *c, uint32_t m, struct rql_device *device)
{
	const struct rql_method *method = rql_methods()[m];
	struct rql_candidate *candidate = next_candidate(c, method, device);
	struct rql_prepared *prepared = NULL;
	struct rql_error why = {0};
	struct rql_order_offer offer;
	if (!candidate)
		return rql_error_memory(c->err, 0, "a plan");
	const char *reason = barred(c, m, device);
	if (reason)
		return refuse(c, candidate, reason, true);
	RQL_TRY(rql_price_order(c->p, device, c->request, &offer, &reason, c->err));
	if (!reason)
		reason = refusal(method, &offer.request, device);
	const struct rql_rows_offer *under = offer.under.method ? &offer.under : NULL;
	rql_status status = reason ? RQL_OK : method->prepare(&offer.request, device, &prepared, &why);
	if (prepared)
		offer.request.from.prepared = NULL; /* its own */
	rql_order_offer_drop(&offer);
	if (prepared) {
		candidate->under = under ? rql_method_called(under->method) : NULL;
		status = weigh(c, method, device, under, prepared, candidate);
		if (c->leaf->prepared == prepared)
			c->leaf->ordered_of = offer.by;
		return status;
	}
	if (status != RQL_OK && status != RQL_ERROR_INTERRUPTED)
		reason = rql_error_message(&why);
	status = status == RQL_ERROR_INTERRUPTED ? status : refuse(c, candidate, reason, true);
	rql_error_clear(&why);
	return status;
}

/* Rows of a store in an order are some other method's columns, too. */
static bool orders_rows(const struct pricing *c, const struct rql_method *method)
{
	return is_order(method) && (method->gives >> RQL_PORT_BATCH & 1) && c->request->wants == RQL_PORT_BATCH &&
	       rql_request_reads(c->request) == RQL_READS_STORE && c->request->order_count;
}

/* One method on one device that may be used. */
static rql_status price_one(struct pricing *c, uint32_t m, struct rql_device *device)
{
	const struct rql_settings *settings = c->p->ctx->settings;
	const struct rql_method *method = rql_methods()[m];
	struct rql_candidate *candidate = next_candidate(c, method, device);
	if (!candidate)
		return rql_error_memory(c->err, 0, "a plan");
	const char *reason = barred(c, m, device);
	c->request->layout = c->layout;
	c->request->totals = settings->totals;
	if (reason)
		return refuse(c, candidate, reason, false);
	/* First what may count its rows; adding candidates may move them. Conditions that rows answer need not be taken. */
	const struct rql_plan_nodes *nodes = c->p->nodes;
	const size_t number = (size_t)(candidate - nodes->candidates);
	reason = refusal(method, c->request, device);
	RQL_TRY(price_under(c, method, device, reason != NULL));
	if (reason)
		return refuse(c, &nodes->candidates[number], reason, false);
	if (settings->force_rows && c->leaf->under && c->leaf->method == method && c->leaf->device == device)
		return refuse(c, &nodes->candidates[number], "rayql_force says rows", false);
	return price_offer(c, method, device, NULL, &nodes->candidates[number]);
}

/* A method whose unit is not wanted: one line in EXPLAIN, whatever the devices. */
static rql_status pass_over(struct pricing *c, const struct rql_method *method)
{
	struct rql_candidate *candidate = next_candidate(c, method, NULL);
	if (!candidate)
		return rql_error_memory(c->err, 0, "a plan");
	candidate->reason = c->unit_reason;
	return RQL_OK;
}

/* On every device that may be used. orders: it puts rows in order that another method gives. */
static rql_status price_method(struct pricing *c, uint32_t m, bool orders)
{
	const struct rql_method *method = rql_methods()[m];
	struct rql_devices *devices = c->p->ctx->devices;
	if (!c->any_unit && method->unit != c->unit)
		return orders ? RQL_OK : pass_over(c, method);
	for (uint32_t d = 0; d < atomic_load(&devices->count); d++)
		if (!rql_device_refused(c->p->ctx->settings, &devices->device[d], method->unit) &&
		    rql_await_device(c->p, &devices->device[d], !c->any_unit))
			RQL_TRY(orders ? price_order(c, m, &devices->device[d]) : price_one(c, m, &devices->device[d]));
	return RQL_OK;
}

/* Where an order by a GPU is forced, nobody else is asked but in its place. */
static rql_status price_all(struct pricing *c)
{
	const bool forced = c->p->ctx->settings->force_order;
	for (uint32_t m = 0; rql_methods()[m]; m++)
		if (forced && orders_rows(c, rql_methods()[m]))
			RQL_TRY(price_method(c, m, true));
	if (forced && c->leaf->prepared)
		return RQL_OK;
	for (uint32_t m = 0; rql_methods()[m]; m++) {
		const bool orders = orders_rows(c, rql_methods()[m]);
		if (is_for(c, rql_methods()[m]) || (orders && !forced))
			RQL_TRY(price_method(c, m, orders));
	}
	return RQL_OK;
}

/* The view's own wish cannot be met here, or no more since its device failed: the CPU reads the same cells. */
static rql_status price_cpu_instead(struct pricing *c)
{
	const struct rql_settings *settings = c->p->ctx->settings;
	struct rql_strbuf why = {0};
	if (settings->only)
		c->leaf->note = rql_arena_printf(c->p->arena, "%s, and rayql_device says cpu", c->unit_reason);
	else if (!rql_unit_available(c->p->ctx->devices, settings, c->unit, &why))
		c->leaf->note =
			rql_arena_printf(c->p->arena, "%s, which no device has: %s", c->unit_reason, rql_strbuf_text(&why));
	else
		c->leaf->note = rql_arena_printf(c->p->arena, "%s, which failed: %s", c->unit_reason,
		                                 c->first_reason ? c->first_reason : "");
	rql_strbuf_free(&why);
	c->layout = NULL;
	c->any_unit = false;
	c->unit = RQL_UNIT_CPU;
	struct rql_device *cpu = &c->p->ctx->devices->device[0];
	for (uint32_t m = 0; rql_methods()[m]; m++)
		if (rql_methods()[m]->unit == RQL_UNIT_CPU && is_for(c, rql_methods()[m]))
			RQL_TRY(price_one(c, m, cpu));
	return RQL_OK;
}

/* ---- rows for a GPU ---- */

/* Some GPU that the session allows has the unit that it wants, so that rows may be handed to it. */
static bool has_taker(const struct pricing *c)
{
	const struct rql_devices *devices = c->p->ctx->devices;
	bool has = false;
	for (uint32_t d = 1; d < atomic_load(&devices->count) && !has; d++)
		has = !rql_device_refused(c->p->ctx->settings, &devices->device[d], c->any_unit ? RQL_UNIT_COMPUTE : c->unit) &&
		      !not_placeable(c, &devices->device[d]);
	return has;
}

/* A join or a group-by stands above, and the rows at hand are those of one table. */
static bool may_feed(const struct pricing *c)
{
	const struct rql_settings *settings = c->p->ctx->settings;
	const bool unit = settings->unit_forced && (c->unit == RQL_UNIT_COMPUTE || c->unit == RQL_UNIT_RASTER);
	const bool named = !settings->unit_forced && settings->only && settings->only->kind != RQL_DEVICE_CPU;
	const bool rows = c->request->wants == RQL_PORT_BATCH && rql_request_reads(c->request) == RQL_READS_STORE &&
	                  !c->request->lookup_count && !c->p->is_subplan;
	for (const struct rql_above *a = c->p->above; a && rows && (unit || named); a = a->next)
		if (a->rel->kind == RQL_REL_JOIN || a->rel->kind == RQL_REL_AGGREGATE)
			return has_taker(c);
	return false;
}

/* The CPU reads them. why: as no method does that the session allows. */
static rql_status price_feed(struct pricing *c, const char *why)
{
	struct rql_device *cpu = &c->p->ctx->devices->device[0];
	rql_planning_reason(c->p, RQL_REASON_NO_METHOD, "%s: %s", c->s->name, why);
	for (uint32_t m = 0; rql_methods()[m]; m++)
		if (rql_methods()[m]->unit == RQL_UNIT_CPU && is_for(c, rql_methods()[m]))
			RQL_TRY(price_one(c, m, cpu));
	c->leaf->feeds = c->leaf->prepared != NULL;
	c->leaf->note = c->leaf->feeds ? "the CPU reads rows for a GPU" : NULL;
	return RQL_OK;
}

/* Only a view's wish gives way, and not to another GPU than the session has named. */
static bool gives_way(const struct pricing *c)
{
	const struct rql_settings *settings = c->p->ctx->settings;
	return !c->any_unit && c->unit != RQL_UNIT_CPU && !settings->unit_forced && !settings->layout[0] &&
	       (!settings->only || settings->only->kind == RQL_DEVICE_CPU);
}

static rql_status nobody(struct pricing *c)
{
	struct rql_strbuf why = {0};
	const char *reason = c->first_reason;
	if (!reason && !c->any_unit && c->unit != RQL_UNIT_CPU && !c->p->ctx->settings->only)
		rql_devices_find(c->p->ctx->devices); /* to say what there is */
	const struct rql_method *of = c->layout ? rql_layout_method(c->layout) : NULL;
	if (!reason) {
		if (of && !c->any_unit && of->unit != c->unit)
			rql_strbuf_printf(&why, "layout = %s is one of the unit %s, and %s", c->layout,
			                  rql_unit_name(of->unit), c->unit_reason);
		else if (c->any_unit || rql_unit_available(c->p->ctx->devices, c->p->ctx->settings, c->unit, &why))
			rql_strbuf_printf(&why, "no method for %s%s on the devices that rayql_device allows",
			                  c->layout ? "layout = " : "it", c->layout ? c->layout : "");
		else
			rql_strbuf_printf(&why, " (%s)", c->unit_reason);
		reason = rql_strbuf_text(&why);
	}
	rql_status status = rql_error_set(c->err, RQL_ERROR_UNSUPPORTED, "no method can serve it: %s", reason);
	rql_strbuf_free(&why);
	return status;
}

rql_status rql_price_methods(struct rql_planning *p, const struct rql_structure *s, struct rql_request *request,
                             struct rql_leaf *leaf, struct rql_candidate *first, struct rql_error *err)
{
	struct pricing c = {.p = p, .s = s, .request = request, .leaf = leaf, .unused = first, .err = err};
	if (!read_wishes(&c))
		return rql_error_memory(err, 0, "a plan");
	find_devices(&c);
	RQL_TRY(price_all(&c));
	if (!leaf->prepared && !c.could && gives_way(&c))
		RQL_TRY(price_cpu_instead(&c));
	if (leaf->prepared) {
		note_look_up(&c);
		return RQL_OK;
	}
	const rql_status status = nobody(&c);
	if (status != RQL_ERROR_UNSUPPORTED || !may_feed(&c))
		return status;
	struct rql_error why = {0};
	rql_error_move(&why, err);
	rql_status fed = price_feed(&c, rql_error_message(&why));
	if (fed == RQL_OK && !leaf->prepared) {
		rql_error_move(err, &why);
		fed = status;
	}
	rql_error_clear(&why);
	return fed;
}
