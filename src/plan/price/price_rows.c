/* Which conditions of a request a method answers with ROWS, and what is left for whoever runs under them. */
#include "plan/price/price_rows.h"

#include "expr/expr.h"
#include "plan/star/scan_index.h"

/* What is answered before sees all rows: a condition or value that can fail need not see those. */
static bool can_fail(const struct rql_request *request)
{
	bool some = false;
	for (uint32_t p = 0; p < request->program_count; p++)
		some |= rql_program_can_fail(request->programs[p].program);
	return some;
}

/* ---- conditions that joins are ---- */
static bool are_few(const struct rql_lookup *lookup)
{
	const bool drops = lookup->kind == RQL_LOOKUP_INNER || lookup->kind == RQL_LOOKUP_SEMI;
	return drops && rql_map_entries(lookup->map) <= RQL_LOOKED_UP_KEYS;
}

/* What a lookup by one column says of it: the value is one of the map's keys. False: out of memory. */
static bool keys_of(const struct rql_planning *p, const struct rql_store_snapshot *snapshot,
                    const struct rql_lookup *lookup, struct rql_conjunct *out)
{
	const struct rql_store_column *column = &snapshot->columns[lookup->column];
	int64_t *keys = RQL_NEW_ARRAY(p->arena, int64_t, rql_map_entries(lookup->map) + 1);
	uint64_t *codes = column->dimension ? RQL_NEW_ARRAY(p->arena, uint64_t, column->dimension->count / 64 + 1) : NULL;
	if (!keys || (column->dimension && !codes))
		return false;
	const uint64_t count = rql_map_keys(lookup->map, RQL_LOOKED_UP_KEYS, keys);
	*out = (struct rql_conjunct){.test = RQL_TEST_IS_TRUE, .index = RQL_NONE};
	out->list = (struct rql_value_list){.column = lookup->column, .count = (uint32_t)count, .values = keys};
	if (!codes)
		return true;
	for (uint64_t i = 0; i < count; i++)
		if (keys[i] >= 0 && keys[i] < column->dimension->count)
			rql_bit_set(codes, keys[i]);
	*out = (struct rql_conjunct){.test = RQL_TEST_IN_CODES, .index = lookup->column, .codes = codes};
	return true;
}

/* ... and by two columns: their values are one of its pairs. */
static bool pairs_of(const struct rql_planning *p, const struct rql_lookup *lookup, struct rql_conjunct *out)
{
	int64_t *values[2];
	for (unsigned i = 0; i < 2; i++)
		if (!(values[i] = RQL_NEW_ARRAY(p->arena, int64_t, rql_map_entries(lookup->map) + 1)))
			return false;
	const uint64_t count = rql_map_keys(lookup->map, RQL_LOOKED_UP_KEYS, values[0]);
	for (uint64_t i = 0; i < count; i++)
		rql_pair_split(&lookup->pair, values[0][i], &values[0][i], &values[1][i]);
	*out = (struct rql_conjunct){.test = RQL_TEST_IS_TRUE, .index = RQL_NONE};
	out->tuples = (struct rql_value_tuples){.parts = 2,
	                                        .count = (uint32_t)count,
	                                        .columns = {lookup->column, lookup->second - 1},
	                                        .values = {values[0], values[1]}};
	return true;
}

/* ---- what is answered ---- */
/* A program of which nothing is known but that it is one. */
static bool is_opaque(const struct rql_conjunct *c)
{
	return c->test == RQL_TEST_IS_TRUE && !c->list.values && !c->ranges.ranges && !c->tuples.parts;
}

static enum rql_offer offer_of(const struct rql_method *method, const struct rql_device *device,
                               const struct rql_request *request, const struct rql_conjunct *conjunct)
{
	const struct rql_request one = {.snapshot = request->snapshot,
	                                .index_count = request->index_count,
	                                .indexes = request->indexes,
	                                .wants = RQL_PORT_ROWS,
	                                .conjunct_count = 1,
	                                .conjuncts = conjunct};
	if (is_opaque(conjunct) || !rql_method_takes(method, &one))
		return RQL_OFFER_NO;
	return method->offer(&one, device, NULL);
}

/* The conjuncts of columns that the method answers, each asked alone; exact[c]: it need not be tested again. */
static uint32_t collect(const struct rql_method *method, const struct rql_device *device,
                        const struct rql_request *request, struct rql_conjunct *out, bool *exact)
{
	uint32_t count = 0;
	for (uint32_t c = 0; c < request->conjunct_count; c++) {
		const enum rql_offer offer = offer_of(method, device, request, &request->conjuncts[c]);
		exact[c] = offer == RQL_OFFER_FULL;
		if (offer != RQL_OFFER_NO)
			out[count++] = request->conjuncts[c];
	}
	return count;
}

static bool is_indexed(const struct rql_request *request, const struct rql_lookup *lookup)
{
	bool found = false;
	for (uint32_t i = 0; i < request->index_count; i++)
		for (uint32_t c = 0; c <= request->indexes[i].more_count; c++) {
			const uint32_t column = c ? request->indexes[i].more[c - 1] : request->indexes[i].column;
			found |= column == lookup->column || (lookup->second && column == lookup->second - 1);
		}
	return found;
}

/* The same of what the request's lookups say; they stay lookups, since whoever runs under the ROWS wants their payloads.
 * Where codes are asked for of what has no index, nothing is made of the map. */
static uint32_t collect_keys(const struct rql_planning *p, const struct rql_method *method,
                             const struct rql_device *device, const struct rql_request *request,
                             struct rql_conjunct *out, bool *no_memory)
{
	uint32_t count = 0;
	for (uint32_t l = 0; l < request->lookup_count && !*no_memory; l++) {
		const struct rql_lookup *lookup = &request->lookups[l];
		if (!is_indexed(request, lookup) || !are_few(lookup))
			continue;
		*no_memory = !(lookup->second ? pairs_of(p, lookup, &out[count]) : keys_of(p, request->snapshot, lookup, &out[count]));
		if (!*no_memory && offer_of(method, device, request, &out[count]) != RQL_OFFER_NO)
			count++;
	}
	return count;
}

/* ... and what its tuples say. */
static uint32_t collect_tuples(const struct rql_method *method, const struct rql_device *device,
                               const struct rql_request *request, struct rql_conjunct *out)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < request->tuple_count; i++) {
		out[count] = (struct rql_conjunct){.test = RQL_TEST_IS_TRUE, .index = RQL_NONE, .tuples = request->tuples[i]};
		count += offer_of(method, device, request, &out[count]) != RQL_OFFER_NO;
	}
	return count;
}

/* Of keys and of tuples behind them, which say more of the same joins. */
static uint32_t count_joins(const struct rql_conjunct *asked, uint32_t keys, uint32_t tuples)
{
	uint32_t others = 0;
	for (uint32_t i = keys; i < keys + tuples; i++)
		others += !asked[i].tuples.of_lookup || !keys;
	return keys + others;
}

/* The column whose NULLs a condition drops; RQL_NONE: none. */
static uint32_t drops_nulls_of(const struct rql_conjunct *c)
{
	if (c->or_null || c->test == RQL_TEST_IS_NULL)
		return RQL_NONE;
	if (c->test != RQL_TEST_IS_TRUE)
		return c->index;
	return c->list.values ? c->list.column : c->ranges.ranges && !c->ranges.nulls ? c->ranges.column : RQL_NONE;
}

/* IS NOT NULL of a column of which a condition is answered that NULL does not pass. */
static bool is_implied(const struct rql_request *request, const bool *exact, const struct rql_conjunct *c)
{
	bool some = false;
	for (uint32_t i = 0; i < request->conjunct_count && c->test == RQL_TEST_IS_NOT_NULL; i++)
		some |= exact[i] && drops_nulls_of(&request->conjuncts[i]) == c->index;
	return some;
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
		if (!exact[c] && !is_implied(request, exact, &request->conjuncts[c]))
			rest[out->conjunct_count++] = request->conjuncts[c];
}

rql_status rql_price_rows(const struct rql_planning *p, const struct rql_method *method, struct rql_device *device,
                          const struct rql_request *request, struct rql_rows_offer *out, bool *found,
                          struct rql_error *err)
{
	struct rql_conjunct *asked =
		RQL_NEW_ARRAY(p->arena, struct rql_conjunct, request->conjunct_count + request->lookup_count + request->tuple_count);
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
	if (can_fail(request))
		return RQL_OK;
	bool no_memory = false;
	const uint32_t conjuncts = collect(method, device, request, asked, exact);
	const uint32_t keys = collect_keys(p, method, device, request, asked + conjuncts, &no_memory);
	if (no_memory)
		return rql_error_memory(err, 0, "a plan");
	const uint32_t tuples = collect_tuples(method, device, request, asked + conjuncts + keys);
	rows.conjunct_count = conjuncts + keys + tuples;
	if (!rows.conjunct_count)
		return RQL_OK;
	enum rql_offer offer = method->offer(&rows, device, NULL);
	if (offer == RQL_OFFER_NO)
		return RQL_OK;
	*out = (struct rql_rows_offer){.method = method, .tests = conjuncts, .joins = count_joins(asked + conjuncts, keys, tuples)};
	for (uint32_t c = 0; c < request->conjunct_count && offer != RQL_OFFER_FULL; c++)
		exact[c] = false; /* together they are a superset, whichever of them is why */
	leave_rest(request, exact, rest, &out->request);
	out->superset = out->request.conjunct_count + conjuncts > request->conjunct_count;
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
	if (method->index)
		out->index = rql_scan_index_name(p->arena, method, &request->indexes[method->index(out->request.under.prepared)]);
	const double all = (double)request->snapshot->rows;
	out->request.under.method = method;
	out->request.under.share = all > 0 && out->cost.rows_out < all ? out->cost.rows_out / all : 1;
	out->request.under.blocks = out->cost.runs;
	out->request.under.lists = out->cost.rows_form == RQL_ROWS_LIST;
	*found = true;
	return RQL_OK;
}
