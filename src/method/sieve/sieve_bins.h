/* Bins: neighbouring keys of one segment and column, about as many rows in each (quantiles, RTScan 4.3.1). Equal keys
 * never straddle a bound. What many rows have gets a bin of its own, so that a predicate decides it without looking at
 * rows.
 *
 * Bins are a segment's own, not the table's: they follow its values, however these drift as rows come; what is in no
 * segment yet needs none; and nothing is ever encoded anew. With exact refinement the paper's ranks (Uniform Encoding,
 * 4.2) have nothing left to do but to make bins even, which quantiles do. */
#ifndef RQL_METHOD_SIEVE_SIEVE_BINS_H
#define RQL_METHOD_SIEVE_SIEVE_BINS_H

#include "method/sieve/sieve_predicate.h"

#define RQL_SIEVE_BINS_MOST 4096u

struct rql_sieve_bin {
	uint64_t least, greatest; /* keys that are there; least > greatest: none is */
	uint32_t rows;
};
struct rql_sieve_bins {
	uint32_t count;            /* at least 1 */
	uint64_t *bounds;          /* [count - 1], ascending: bin i begins at bounds[i - 1] */
	struct rql_sieve_bin *bin; /* [count] */
};

/* Bounds from `count` keys of a sample, which is sorted, for at most `most` bins; bounds has room for most - 1.
 * Returns how many bins those are. */
uint32_t rql_sieve_bounds(const uint64_t *sample, uint32_t count, uint32_t most, uint64_t *bounds);

static inline uint32_t rql_sieve_bin_of(const struct rql_sieve_bins *bins, uint64_t key)
{
	const uint64_t *base = bins->bounds;
	uint32_t left = bins->count - 1, at = 0; /* bounds that are not above the key */
	while (left > 1) {
		uint32_t half = left / 2;
		at += base[at + half - 1] <= key ? half : 0; /* no branch: keys come in any order */
		left -= half;
	}
	return left ? at + (base[at] <= key) : 0;
}

/* What a predicate says of neighbouring bins. */
struct rql_sieve_span {
	uint32_t from, to; /* bins [from, to) */
	bool sure;         /* all their rows pass; else each is tested */
};
struct rql_sieve_spans {
	uint32_t count;
	struct rql_sieve_span *spans; /* ascending, disjoint: of all other bins no row passes */
	double sure, maybe;           /* rows in them */
};
/* predicate: in the segment's codes. */
rql_status rql_sieve_spans_make(const struct rql_sieve_bins *bins, const struct rql_sieve_predicate *predicate,
                                struct rql_arena *arena, struct rql_sieve_spans *out,
                                struct rql_error *err) RQL_MUST_CHECK;

#endif
