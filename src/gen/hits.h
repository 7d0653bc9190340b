/* Rows in the shape of ClickBench's table `hits` (https://github.com/ClickHouse/ClickBench): its 105 columns, with the
 * shares and numbers of distinct values on which the 43 queries depend; docs/bench.md lists them beside the published
 * ones. The values themselves are invented.
 *
 * A row is a function of (rows, seed, row number). Visits of 1 to 7 hits are neighbours; nothing else is in any
 * order. */
#ifndef RQL_GEN_HITS_H
#define RQL_GEN_HITS_H

#include "gen/table.h"
#include "util/status.h"

#define RQL_HITS_MAX_ROWS 1000000000u

struct rql_hits {
	uint64_t rows, seed;
	uint64_t users, addresses, site_pages, tail_pages, phrases; /* how many there are to draw from */
};

/* RQL_ERROR_STATEMENT unless 1 <= rows <= RQL_HITS_MAX_ROWS. */
rql_status rql_hits_init(struct rql_hits *out, uint64_t rows, int64_t seed, struct rql_error *err) RQL_MUST_CHECK;
/* The columns in order; *count receives their number. Static. */
const struct rql_gen_column *rql_hits_columns(uint32_t *count);
/* Writes rows [first, first + count) into rows [0, count) of out. The range lies within the table. */
void rql_hits_fill(const struct rql_hits *hits, uint64_t first, uint32_t count, struct rql_batch *out,
                   rql_gen_put_fn *put);

#endif
