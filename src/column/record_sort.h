/* A stable radix sort of fixed-size records by the leading bits of their first words. */
#ifndef RQL_COLUMN_RECORD_SORT_H
#define RQL_COLUMN_RECORD_SORT_H

#include "column/crew.h"

/* Sorts rows records of `words` words by the top limb_bits[l] bits of their first words, stably. `scratch` has the same
 * size; the result is in *sorted, which is one of the two. RQL_ERROR_INTERRUPTED when cancelled. */
struct rql_records {
	uint64_t *records, *scratch;
	uint64_t rows;
	uint32_t words, limbs;
	const uint32_t *limb_bits;
	bool progress; /* tell the watcher */
};
rql_status rql_sort_records(const struct rql_crew *crew, const struct rql_records *sort, uint64_t **sorted,
                            struct rql_error *err) RQL_MUST_CHECK;

#endif
