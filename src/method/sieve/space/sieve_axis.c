/* Axes: what they are made of, and which places keys have. */
#include "method/sieve/space/sieve_axis.h"

#include <stdlib.h>
#include "util/sort.h"

#define VALUE_BITS 21u

void rql_sieve_axis_of_values(uint64_t least, uint64_t span, bool any, struct rql_sieve_axis *out)
{
	*out = (struct rql_sieve_axis){.kind = RQL_SIEVE_BY_VALUE, .least = least, .greatest = least + span};
	while (span >> out->shift >> VALUE_BITS)
		out->shift++;
	out->size = any ? (uint32_t)(span >> out->shift) + 1 : 0;
}

rql_status rql_sieve_axis_of_bins(const struct rql_sieve_bins *bins, uint64_t least, uint64_t span, bool any,
                                  struct rql_sieve_axis *out, struct rql_error *err)
{
	*out = (struct rql_sieve_axis){.kind = RQL_SIEVE_BY_BIN, .least = least, .greatest = least + span};
	if (!any)
		return RQL_OK;
	out->bins.count = bins->count;
	out->bins.bounds = malloc(bins->count * sizeof(*bins->bounds));
	if (!out->bins.bounds)
		return rql_error_memory(err, bins->count * sizeof(*bins->bounds), "bins of a sieve");
	memcpy(out->bins.bounds, bins->bounds, (bins->count - 1) * sizeof(*bins->bounds));
	out->size = bins->count;
	return RQL_OK;
}

void rql_sieve_axis_free(struct rql_sieve_axis *axis)
{
	free(axis->marks);
	free(axis->bins.bounds);
	*axis = (struct rql_sieve_axis){0};
}

bool rql_sieve_axis_places(const struct rql_sieve_axis *axis, uint64_t least, uint64_t greatest, uint32_t *low,
                           uint32_t *high)
{
	if (!axis->size || least > greatest || greatest < axis->least || least > axis->greatest)
		return false;
	least = least < axis->least ? axis->least : least;
	greatest = greatest > axis->greatest ? axis->greatest : greatest;
	if (axis->kind == RQL_SIEVE_BY_VALUE) {
		*low = (uint32_t)((least - axis->least) >> axis->shift);
		*high = (uint32_t)((greatest - axis->least) >> axis->shift);
		return true;
	}
	if (axis->kind == RQL_SIEVE_BY_BIN) {
		*low = rql_sieve_bin_of(&axis->bins, least);
		*high = rql_sieve_bin_of(&axis->bins, greatest);
		return true;
	}
	/* All ranks up to a mark below `least` are below it; all from a mark above `greatest` on are above it. */
	const uint64_t below = rql_count_below(axis->marks, axis->mark_count, least);
	const uint64_t until =
		greatest < UINT64_MAX ? rql_count_below(axis->marks, axis->mark_count, greatest + 1) : axis->mark_count;
	*low = below ? ((uint32_t)below - 1) * RQL_SIEVE_MARK + 1 : 0;
	*high = until < axis->mark_count ? (uint32_t)until * RQL_SIEVE_MARK - 1 : axis->size - 1;
	return *low <= *high;
}
