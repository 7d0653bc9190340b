/* What vectors say of a predicate in a segment, as ranges of keys: `known` passes by them alone, `open` is where they
 * may be wrong. Of a bin that a bound cuts, the smaller part is open: the vector below the bound is taken when that is
 * nearer, else the one above it, and its rows beyond the bound are turned down (RTScan 4.3.3: positive and negative
 * selection). */
#ifndef RQL_METHOD_SIEVE_SIEVE_BOUND_H
#define RQL_METHOD_SIEVE_SIEVE_BOUND_H

#include "method/sieve/space/sieve_axis.h"

/* Predicates of more ranges are decided by values. Blocks take only one: what is open of a bin goes from its first key that
 * passes to its last, and of several ranges not all between them does. Others test each row that they find. */
#define RQL_SIEVE_OPEN_RANGES_MOST 4u
#define RQL_SIEVE_BLOCK_RANGES_MOST 1u

struct rql_sieve_bound {
	struct rql_sieve_spans taken; /* what is read of the vectors; all sure */
	/* Disjoint; of all other keys no row passes, nor is any taken. */
	uint32_t known_count, open_count;
	struct rql_sieve_range *known, *open;
	bool null_known, null_open; /* NULL passes, by the vectors or not */
};
enum rql_sieve_taking {
	RQL_SIEVE_TAKE_NEAREST, /* the vector that is nearer */
	RQL_SIEVE_TAKE_BELOW,   /* positive selection only */
	RQL_SIEVE_TAKE_NOTHING  /* no vector: all that passes is open */
};
/* predicate: in the segment's codes, of at most RQL_SIEVE_OPEN_RANGES_MOST ranges. axis: by which nearness is told. */
rql_status rql_sieve_bound_make(const struct rql_sieve_bins *bins, const struct rql_sieve_predicate *predicate,
                                enum rql_sieve_taking taking, const struct rql_sieve_axis *axis,
                                struct rql_arena *arena, struct rql_sieve_bound *out,
                                struct rql_error *err) RQL_MUST_CHECK;

#endif
