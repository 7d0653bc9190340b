/* Bounds from a sample, and predicates over bins. */
#include "method/sieve/sieve_bins.h"

/* ---- bounds ---- */
uint32_t rql_sieve_bounds(const uint64_t *sample, uint32_t count, uint32_t most, uint64_t *bounds)
{
	uint32_t n = 0;
	uint64_t before = 0; /* the quantile before; the first needs no bound */
	for (uint32_t i = 0; i < most && count; i++) {
		const uint64_t key = sample[(uint64_t)i * count / most];
		const bool again = i && key == before;
		/* What is at several quantiles has used but one of their bounds, so there is one for its end. */
		const uint64_t bound = again && key != UINT64_MAX ? key + 1 : key;
		if (i && n < most - 1 && (!n || bound > bounds[n - 1]))
			bounds[n++] = bound;
		before = key;
	}
	return n + 1;
}

/* ---- predicates over bins ---- */
enum verdict { NONE, MAYBE, SURE };

/* *at: the first range that does not end before the bin; bins come ascending. */
static enum verdict judge(const struct rql_sieve_bin *bin, const struct rql_sieve_predicate *p, uint32_t *at)
{
	while (*at < p->count && p->ranges[*at].greatest < bin->least)
		++*at;
	if (*at == p->count || p->ranges[*at].least > bin->greatest)
		return NONE;
	return p->ranges[*at].least <= bin->least && bin->greatest <= p->ranges[*at].greatest ? SURE : MAYBE;
}

rql_status rql_sieve_spans_make(const struct rql_sieve_bins *bins, const struct rql_sieve_predicate *predicate,
                                struct rql_arena *arena, struct rql_sieve_spans *out, struct rql_error *err)
{
	struct rql_sieve_span *spans = RQL_NEW_ARRAY(arena, struct rql_sieve_span, bins->count + 1);
	enum verdict last = NONE;
	uint32_t at = 0;
	*out = (struct rql_sieve_spans){.spans = spans};
	if (!spans)
		return rql_error_memory(err, bins->count * sizeof(*spans), "bins of a sieve");
	for (uint32_t b = 0; b < bins->count; b++) {
		const struct rql_sieve_bin *bin = &bins->bin[b];
		const bool empty = bin->least > bin->greatest; /* as the one before: that saves a cut */
		const enum verdict now = empty ? last : judge(bin, predicate, &at);
		if (now != NONE && now == last)
			spans[out->count - 1].to = b + 1;
		else if (now != NONE)
			spans[out->count++] = (struct rql_sieve_span){b, b + 1, now == SURE};
		out->sure += now == SURE ? bin->rows : 0;
		out->maybe += now == MAYBE ? bin->rows : 0;
		last = now;
	}
	return RQL_OK;
}
