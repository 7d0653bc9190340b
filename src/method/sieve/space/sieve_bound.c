/* Bounds: bins taken, and the keys that are open. */
#include "method/sieve/space/sieve_bound.h"

static uint64_t least_of(const struct rql_sieve_bins *bins, uint32_t bin)
{
	return bin ? bins->bounds[bin - 1] : 0;
}
static uint64_t greatest_of(const struct rql_sieve_bins *bins, uint32_t bin)
{
	return bin + 1 < bins->count ? bins->bounds[bin] - 1 : UINT64_MAX;
}

/* The keys of a bin that pass: from the first to the last. */
static struct rql_sieve_range passing(const struct rql_sieve_bins *bins, uint32_t bin,
                                      const struct rql_sieve_predicate *p, uint32_t *ranges)
{
	const uint64_t least = least_of(bins, bin), greatest = greatest_of(bins, bin);
	struct rql_sieve_range out = {UINT64_MAX, 0};
	*ranges = 0;
	for (uint32_t r = 0; r < p->count; r++) {
		const struct rql_sieve_range *range = &p->ranges[r];
		if (range->greatest < least || range->least > greatest)
			continue;
		const uint64_t from = range->least > least ? range->least : least;
		const uint64_t to = range->greatest < greatest ? range->greatest : greatest;
		out.least = from < out.least ? from : out.least;
		out.greatest = to > out.greatest ? to : out.greatest;
		++*ranges;
	}
	return out;
}

static uint32_t places(const struct rql_sieve_axis *axis, uint64_t least, uint64_t greatest)
{
	uint32_t low, high;
	return rql_sieve_axis_places(axis, least, greatest, &low, &high) ? high - low + 1 : 0;
}

static void take(struct rql_sieve_spans *spans, uint32_t from, uint32_t to)
{
	struct rql_sieve_span *last = spans->count ? &spans->spans[spans->count - 1] : NULL;
	if (last && last->to == from)
		last->to = to;
	else
		spans->spans[spans->count++] = (struct rql_sieve_span){from, to, true};
}

static void put(struct rql_sieve_range *ranges, uint32_t *count, uint64_t least, uint64_t greatest)
{
	if (*count && ranges[*count - 1].greatest != UINT64_MAX && ranges[*count - 1].greatest + 1 == least)
		ranges[*count - 1].greatest = greatest;
	else
		ranges[(*count)++] = (struct rql_sieve_range){least, greatest};
}

/* A bin that a bound cuts. */
static void cut_bin(const struct rql_sieve_bins *bins, uint32_t bin, const struct rql_sieve_predicate *p,
                    enum rql_sieve_taking taking, const struct rql_sieve_axis *axis, struct rql_sieve_bound *out)
{
	const struct rql_sieve_bin *of = &bins->bin[bin];
	uint32_t ranges;
	const struct rql_sieve_range pass = passing(bins, bin, p, &ranges);
	const bool from_least = pass.least <= of->least, to_greatest = pass.greatest >= of->greatest;
	const bool one_sided = ranges == 1 && from_least != to_greatest;
	const struct rql_sieve_range rest = {from_least ? pass.greatest + 1 : of->least,
	                                     from_least ? of->greatest : pass.least - 1};
	if (taking == RQL_SIEVE_TAKE_NEAREST && one_sided &&
	    places(axis, rest.least, rest.greatest) < places(axis, pass.least, pass.greatest)) {
		take(&out->taken, bin, bin + 1);
		put(out->known, &out->known_count, pass.least, pass.greatest);
		put(out->open, &out->open_count, rest.least, rest.greatest);
	} else {
		put(out->open, &out->open_count, pass.least, pass.greatest);
	}
}

rql_status rql_sieve_bound_make(const struct rql_sieve_bins *bins, const struct rql_sieve_predicate *predicate,
                                enum rql_sieve_taking taking, const struct rql_sieve_axis *axis,
                                struct rql_arena *arena, struct rql_sieve_bound *out, struct rql_error *err)
{
	struct rql_sieve_spans spans;
	const uint64_t most = bins->count + predicate->count + 1;
	RQL_TRY(rql_sieve_spans_make(bins, predicate, arena, &spans, err));
	*out = (struct rql_sieve_bound){.taken = {.spans = RQL_NEW_ARRAY(arena, struct rql_sieve_span, most)},
	                                .known = RQL_NEW_ARRAY(arena, struct rql_sieve_range, most),
	                                .open = RQL_NEW_ARRAY(arena, struct rql_sieve_range, most)};
	if (!out->taken.spans || !out->known || !out->open)
		return rql_error_memory(err, most * sizeof(*out->known), "bins of a sieve");
	if (taking == RQL_SIEVE_TAKE_NOTHING) {
		for (uint32_t r = 0; r < predicate->count; r++)
			put(out->open, &out->open_count, predicate->ranges[r].least, predicate->ranges[r].greatest);
		out->null_open = predicate->nulls;
		return RQL_OK;
	}
	out->null_known = predicate->nulls;
	for (uint32_t s = 0; s < spans.count; s++) {
		const struct rql_sieve_span *span = &spans.spans[s];
		if (span->sure) {
			take(&out->taken, span->from, span->to);
			put(out->known, &out->known_count, least_of(bins, span->from), greatest_of(bins, span->to - 1));
		}
		for (uint32_t b = span->from; b < span->to && !span->sure; b++)
			if (bins->bin[b].least <= bins->bin[b].greatest)
				cut_bin(bins, b, predicate, taking, axis, out);
	}
	return RQL_OK;
}
