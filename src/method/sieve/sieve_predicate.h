/* A condition of one column as ranges of keys: what bins are compared with, and rows of bins at the boundary. Ranges
 * of a coded column are codes of the snapshot until they are those of a segment. */
#ifndef RQL_METHOD_SIEVE_SIEVE_PREDICATE_H
#define RQL_METHOD_SIEVE_SIEVE_PREDICATE_H

#include "method/request.h"
#include "method/sieve/sieve_keys.h"
#include "util/arena.h"

#define RQL_SIEVE_RANGES_MOST 4096u

struct rql_sieve_range {
	uint64_t least, greatest; /* keys */
};
/* A row passes when its key lies in one of them, or it has none and `nulls` is set. */
struct rql_sieve_predicate {
	uint32_t column, count;
	bool nulls;
	struct rql_sieve_range *ranges; /* disjoint, ascending */
};

/* The column that the condition is about, where it can be such a predicate at all; else RQL_NONE. */
uint32_t rql_sieve_predicate_column(const struct rql_store_snapshot *snapshot, const struct rql_conjunct *c);
/* Are the rows with keys in its ranges exactly those that pass? Else they are more (sieve_keys.h). Of a condition with
 * such a column. */
bool rql_sieve_predicate_exact(const struct rql_store_snapshot *snapshot, const struct rql_conjunct *c);
/* ranges: malloc'ed. RQL_ERROR_UNSUPPORTED: it has more than RQL_SIEVE_RANGES_MOST ranges. */
rql_status rql_sieve_predicate_make(const struct rql_store_snapshot *snapshot, const struct rql_conjunct *c,
                                    struct rql_sieve_predicate *out, struct rql_error *err) RQL_MUST_CHECK;
/* The same in a segment's own codes; of other columns it is the predicate itself. */
rql_status rql_sieve_predicate_in(const struct rql_sieve_predicate *predicate, const struct rql_store_view *view,
                                  struct rql_arena *arena, struct rql_sieve_predicate *out,
                                  struct rql_error *err) RQL_MUST_CHECK;

static inline bool rql_sieve_passes(const struct rql_sieve_predicate *predicate, uint64_t key)
{
	const struct rql_sieve_range *ranges = predicate->ranges;
	uint32_t low = 0, high = predicate->count; /* the first range that does not end before it */
	if (high == 1)
		return key - ranges[0].least <= ranges[0].greatest - ranges[0].least;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (ranges[middle].greatest < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low < predicate->count && ranges[low].least <= key;
}

#endif
