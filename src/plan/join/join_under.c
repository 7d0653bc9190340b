/* Rows of one relation of a chain of joins under what a method of the role "select" finds of its conditions, where that is
 * cheaper than a scan of all: an index that lies on the device, or a sieve; or an index by the keys of the other side. */
#include "plan/join/join.h"

#include <math.h>

#include "plan/price/price_rows.h"
#include "plan/star/scan_index.h"

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

static bool is_column(const struct rql_source *source)
{
	return source->kind == RQL_SOURCE_COLUMN;
}

/* A key that is a column of the store as it is. */
static bool take_column(const struct rql_output *o, struct rql_keys_in *out)
{
	if (!is_column(&o->source) || o->values || o->half != RQL_HALF_NONE || o->null_value)
		return false;
	out->parts[out->count++].column = o->source.index;
	return true;
}

/* Of a key of several columns those that lie in the store; of the others any value is looked for. None of them may be NULL
 * and a key. *share grows by what is not looked up. */
static bool take_parts(const struct rql_output *o, struct rql_keys_in *out, double *share)
{
	uint64_t stride = 1;
	bool values = true;
	for (uint32_t k = o->part_count; k-- > 0;) {
		const struct rql_group_key *part = &o->parts[k];
		values &= part->null_key == RQL_NONE;
		if (is_column(&part->source))
			out->parts[out->count++] = (struct rql_keys_part){.column = part->source.index,
			                                                  .span = part->key_count,
			                                                  .stride = stride,
			                                                  .least = part->least,
			                                                  .key_of_code = part->key_of_code};
		else
			*share *= part->key_count;
		stride *= part->key_count;
	}
	return values && out->count;
}

/* The columns of the store that a key of the relation is made of; false: none is looked up. */
static bool take_key(const struct rql_join_relation *r, const struct rql_join_looked *l, struct rql_keys_in *out,
                     double *share)
{
	*out = (struct rql_keys_in){.from = *l->keys, .key = l->keys_key};
	*share = l->share;
	if (!r->structure || r->groups)
		return false;
	const struct rql_output *o = &r->request.outputs[l->rows_key];
	return o->part_count ? take_parts(o, out, share) : take_column(o, out);
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
	const double all = (double)asked->snapshot->rows, share = cost.rows_out < all ? cost.rows_out / all : 1;
	under.request.under =
		(struct rql_rows_source){.method = method, .prepared = found, .share = share, .blocks = cost.runs};
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
	                            rql_unit_name(method->unit),
	                            rql_scan_index_name(g->p->arena, method, &asked->indexes[method->index(found)]));
	return RQL_OK;
}

rql_status rql_join_look_up(struct rql_join_graph *g, struct rql_device *device, struct rql_join_looked *l)
{
	struct rql_join_relation *r = l->relation;
	l->prepared = NULL;
	struct rql_keys_in keys;
	double share;
	if (!take_key(r, l, &keys, &share) || !l->rows->method->takes_rows)
		return RQL_OK;
	struct rql_request asked = {.snapshot = r->structure->snapshot,
	                            .keys = &keys,
	                            .wants = RQL_PORT_ROWS,
	                            .expected = (double)r->structure->snapshot->rows * fmin(1, share)};
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
