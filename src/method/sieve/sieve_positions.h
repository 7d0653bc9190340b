/* Positions: the rows of a part of a segment in the order of their keys, as BinDex has them (RTScan's rival on CPUs,
 * 2.2). A bound of a predicate is then a rank, the nearest cut of the vectors is taken, and the rows between both are
 * turned over: no value is read but those that a binary search looks at. So a bound costs one cut, not two, and what
 * lies between is read in a row, 4 bytes each.
 *
 * A part is so small that its bitmap stays in the second cache while bits anywhere in it are turned over. */
#ifndef RQL_METHOD_SIEVE_SIEVE_POSITIONS_H
#define RQL_METHOD_SIEVE_SIEVE_POSITIONS_H

#include "method/sieve/sieve_run.h"

#define RQL_SIEVE_PART_BLOCKS 128u
#define RQL_SIEVE_PART_ROWS (RQL_SIEVE_PART_BLOCKS * RQL_STORE_BLOCK)
#define RQL_SIEVE_PART_BITS 19u
/* Predicates of more ranges are answered by values. */
#define RQL_SIEVE_PART_RANGES_MOST 8u

struct rql_sieve_part {
	uint32_t first, count; /* of run->positions: rows with a key, ascending by it, counted from the part's first */
	uint64_t least, greatest; /* keys; count 0: nothing */
};
static inline uint32_t rql_sieve_part_count(uint32_t blocks)
{
	return (blocks + RQL_SIEVE_PART_BLOCKS - 1) / RQL_SIEVE_PART_BLOCKS;
}

/* Gives a run that has bins and vectors its positions, by the threads of cpu. */
rql_status rql_sieve_positions_make(struct rql_sieve_run *run, const struct rql_store_segment *segment,
                                    const struct rql_store_view *view, struct rql_device *cpu,
                                    struct rql_progress *progress, struct rql_mem *scratch,
                                    struct rql_error *err) RQL_MUST_CHECK;
/* The rows of a part that the predicate, of at most RQL_SIEVE_PART_RANGES_MOST ranges, passes: a bit each, of the
 * part's blocks. Returns how many rows were turned over. */
uint64_t rql_sieve_part_rows(const struct rql_sieve_run *run, const struct rql_store_kernels *kernels,
                             const struct rql_store_view *view, uint32_t part,
                             const struct rql_sieve_predicate *predicate, uint64_t *bits);
/* Does it pass all rows of the part, or none, and that by the part's least and greatest key alone? */
enum rql_sieve_part_says { RQL_SIEVE_PART_NONE, RQL_SIEVE_PART_ALL, RQL_SIEVE_PART_SOME };
enum rql_sieve_part_says rql_sieve_part_ask(const struct rql_sieve_run *run, uint32_t part,
                                            const struct rql_sieve_predicate *predicate);

#endif
