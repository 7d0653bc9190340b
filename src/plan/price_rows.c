/* Which conditions of a request a method answers with ROWS, and what is left for whoever runs under them. */
#include "plan/price_rows.h"

#include "expr/expr.h"

/* What is answered before sees all rows: a condition or value that can fail need not see those. */
static bool can_fail(const struct rql_request *request)
{
	bool some = false;
	for (uint32_t p = 0; p < request->program_count; p++)
		some |= rql_program_can_fail(request->programs[p].program);
	return some;
}

/* A program of which nothing is known but that it is one. */
static bool is_opaque(const struct rql_conjunct *c)
{
	return c->test == RQL_TEST_IS_TRUE && !c->list.values && !c->ranges.ranges;
}

/* The conjuncts of columns that the method answers, each asked alone; exact[c]: it need not be tested again. */
static uint32_t collect(const struct rql_method *method, const struct rql_device *device,
                        const struct rql_request *request, struct rql_conjunct *out, bool *exact)
{
	uint32_t count = 0;
	for (uint32_t c = 0; c < request->conjunct_count; c++) {
		const struct rql_request one = {.snapshot = request->snapshot,
		                                .index_count = request->index_count,
		                                .indexes = request->indexes,
		                                .wants = RQL_PORT_ROWS,
		                                .conjunct_count = 1,
		                                .conjuncts = &request->conjuncts[c]};
		exact[c] = false;
		if (is_opaque(&request->conjuncts[c]) || !rql_method_takes(method, &one))
			continue;
		enum rql_offer offer = method->offer(&one, device, NULL);
		exact[c] = offer == RQL_OFFER_FULL;
		if (offer != RQL_OFFER_NO)
			out[count++] = request->conjuncts[c];
	}
	return count;
}

/* The request without the conjuncts that are answered. */
static void leave_rest(const struct rql_request *request, const bool *exact, struct rql_conjunct *rest,
                       struct rql_request *out)
{
	*out = *request;
	out->conjuncts = rest;
	out->conjunct_count = 0;
	out->sample = NULL; /* it has other steps */
	for (uint32_t c = 0; c < request->conjunct_count; c++)
		if (!exact[c])
			rest[out->conjunct_count++] = request->conjuncts[c];
}

rql_status rql_price_rows(const struct rql_planning *p, const struct rql_method *method, struct rql_device *device,
                          const struct rql_request *request, struct rql_rows_offer *out, bool *found,
                          struct rql_error *err)
{
	struct rql_conjunct *asked = RQL_NEW_ARRAY(p->arena, struct rql_conjunct, request->conjunct_count);
	struct rql_conjunct *rest = RQL_NEW_ARRAY(p->arena, struct rql_conjunct, request->conjunct_count);
	bool *exact = RQL_NEW_ARRAY(p->arena, bool, request->conjunct_count);
	struct rql_request rows = {.snapshot = request->snapshot,
	                           .index_count = request->index_count,
	                           .indexes = request->indexes,
	                           .wants = RQL_PORT_ROWS,
	                           .conjuncts = asked};
	*found = false;
	if (!asked || !rest || !exact)
		return rql_error_memory(err, 0, "a plan");
	if (can_fail(request) || !(rows.conjunct_count = collect(method, device, request, asked, exact)))
		return RQL_OK;
	enum rql_offer offer = method->offer(&rows, device, NULL);
	if (offer == RQL_OFFER_NO)
		return RQL_OK;
	*out = (struct rql_rows_offer){.method = method, .tests = rows.conjunct_count};
	for (uint32_t c = 0; c < request->conjunct_count && offer != RQL_OFFER_FULL; c++)
		exact[c] = false; /* together they are a superset, whichever of them is why */
	leave_rest(request, exact, rest, &out->request);
	out->superset = out->request.conjunct_count + rows.conjunct_count > request->conjunct_count;
	struct rql_error why = {0};
	rql_status status = method->prepare(&rows, device, &out->request.under.prepared, &why);
	if (status == RQL_ERROR_INTERRUPTED || (status == RQL_ERROR_MEMORY && device->kind == RQL_DEVICE_CPU)) {
		rql_error_move(err, &why);
		return status;
	}
	rql_error_clear(&why); /* whatever it was, there are others */
	if (status != RQL_OK)
		return RQL_OK;
	method->price(out->request.under.prepared, device, &out->cost);
	const double all = (double)request->snapshot->rows;
	out->request.under.method = method;
	out->request.under.share = all > 0 && out->cost.rows_out < all ? out->cost.rows_out / all : 1;
	out->request.under.blocks = out->cost.runs;
	*found = true;
	return RQL_OK;
}
