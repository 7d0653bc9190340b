/* The method on the CPU: which conditions it answers, by which sieves; its price. */
#include <stdlib.h>
#include "method/sieve/sieve_query.h"

#define PREDICATES_MOST 64u /* a bit each in a block's run */

/* ---- what it can do ---- */
/* The unit that refines as the form says. */
static enum rql_unit unit_of(enum rql_sieve_refine refine)
{
	return refine >= RQL_SIEVE_RTC1 ? RQL_UNIT_RT : refine == RQL_SIEVE_DRAWN ? RQL_UNIT_RASTER : RQL_UNIT_COMPUTE;
}

/* Which forms a unit answers: its own; on compute also those of units that the device lacks; on the CPU all. */
static bool is_for(const struct rql_index_of *of, const struct rql_device *device, enum rql_unit unit)
{
	const enum rql_unit own = unit_of(of->sieve.refine);
	return unit == RQL_UNIT_CPU || own == unit || (unit == RQL_UNIT_COMPUTE && !device->units[own]);
}

/* The sieve of a column that has the most vectors; NULL: it has none for this unit. */
static const struct rql_index_of *sieve_of(const struct rql_request *request, uint32_t column,
                                           const struct rql_device *device, enum rql_unit unit)
{
	const struct rql_index_of *best = NULL;
	for (uint32_t i = 0; i < request->index_count && column != RQL_NONE; i++) {
		const struct rql_index_of *of = &request->indexes[i];
		if (of->form == RQL_INDEX_SIEVE && of->column == column && is_for(of, device, unit) &&
		    (!best || of->sieve.vectors > best->sieve.vectors))
			best = of;
	}
	return best;
}

enum rql_offer rql_sieve_offer(const struct rql_request *request, const struct rql_device *device, enum rql_unit unit)
{
	if (request->under.method || !request->conjunct_count || request->conjunct_count > PREDICATES_MOST)
		return RQL_OFFER_NO;
	for (uint32_t c = 0; c < request->conjunct_count; c++)
		if (!sieve_of(request, rql_sieve_predicate_column(request->snapshot, &request->conjuncts[c]), device, unit))
			return RQL_OFFER_NO;
	for (uint32_t c = 0; c < request->conjunct_count; c++)
		if (!rql_sieve_predicate_exact(request->snapshot, &request->conjuncts[c]))
			return RQL_OFFER_SUPERSET;
	return RQL_OFFER_FULL;
}

bool rql_sieve_is_automatic(const struct rql_request *request, const struct rql_device *device, enum rql_unit unit)
{
	for (uint32_t c = 0; c < request->conjunct_count; c++) {
		const uint32_t column = rql_sieve_predicate_column(request->snapshot, &request->conjuncts[c]);
		const struct rql_index_of *of = sieve_of(request, column, device, unit);
		if (!of || of->sieve.refine != RQL_SIEVE_AUTO)
			return false;
	}
	return true;
}

void rql_sieve_unbind(struct rql_prepared *p)
{
	if (!p)
		return;
	for (uint32_t c = 0; c < p->count; c++)
		free(p->predicates[c].ranges);
	free(p->predicates);
	free(p->of);
	rql_store_snapshot_release(p->snapshot);
	free(p);
}

static rql_status bind_predicates(const struct rql_request *request, const struct rql_device *device, enum rql_unit unit,
                                  struct rql_prepared *p, struct rql_error *err)
{
	p->predicates = calloc(request->conjunct_count + 1, sizeof(*p->predicates));
	p->of = calloc(request->conjunct_count + 1, sizeof(*p->of));
	if (!p->predicates || !p->of)
		return rql_error_memory(err, request->conjunct_count * sizeof(*p->of), "predicates");
	for (uint32_t c = 0; c < request->conjunct_count; c++) {
		struct rql_sieve_predicate *to = &p->predicates[p->count];
		RQL_TRY(rql_sieve_predicate_make(p->snapshot, &request->conjuncts[c], to, err));
		p->of[p->count++] = *sieve_of(request, to->column, device, unit);
	}
	return RQL_OK;
}

rql_status rql_sieve_bind(const struct rql_request *request, struct rql_device *cpu, const struct rql_device *device,
                          enum rql_unit unit, struct rql_prepared **out, struct rql_error *err)
{
	struct rql_prepared *p = calloc(1, sizeof(*p));
	if (!p)
		return rql_error_memory(err, sizeof(*p), "predicates");
	p->snapshot = rql_store_snapshot_retain(request->snapshot);
	rql_status status = bind_predicates(request, device, unit, p, err);
	if (status == RQL_OK)
		status = rql_sieve_expect(
			p, cpu, unit == RQL_UNIT_CPU ? NULL : (struct rql_device *)(uintptr_t)device, err);
	if (status == RQL_OK)
		*out = p;
	else
		rql_sieve_unbind(p);
	return status;
}

uint64_t rql_sieve_bound_bytes(const struct rql_prepared *p)
{
	uint64_t sum = sizeof(*p) + p->count * (sizeof(*p->predicates) + sizeof(*p->of));
	for (uint32_t c = 0; c < p->count; c++)
		sum += p->predicates[c].count * sizeof(struct rql_sieve_range);
	return sum;
}

/* ---- on the CPU ---- */
static enum rql_offer offer(const struct rql_request *request, const struct rql_device *device, const char **reason)
{
	(void)reason;
	return device->kind == RQL_DEVICE_CPU ? rql_sieve_offer(request, device, RQL_UNIT_CPU) : RQL_OFFER_NO;
}

static rql_status prepare(const struct rql_request *request, struct rql_device *device, struct rql_prepared **out,
                          struct rql_error *err)
{
	return rql_sieve_bind(request, device, device, RQL_UNIT_CPU, out, err);
}

const struct rql_method rql_method_sieve_cpu = {
	.name = "sieve",
	.description = "rows by conjunctions of predicates: nested bit vectors, then the values at their bounds",
	.paper = "RTScan (PVLDB 17(6)), section 4.3; Chan and Ioannidis (SIGMOD 1998)",
	.unit = RQL_UNIT_CPU,
	.reads = RQL_READS_STORE,
	.gives = 1u << RQL_PORT_ROWS,
	.offer = offer,
	.prepare = prepare,
	.price = rql_sieve_price,
	.run = rql_sieve_select,
	.free = rql_sieve_unbind,
	.bytes = rql_sieve_bound_bytes,
};
