/* The table of db-benchmark's questions about grouping (https://github.com/h2oai/db-benchmark, groupby-datagen.R):
 * G1_N_K_0_0, uniform values, no NULLs, no order. Rows are a function of (rows, groups, seed, row number); the
 * values are not those of R's generator. */
#ifndef RQL_GEN_GROUPBY_H
#define RQL_GEN_GROUPBY_H

#include "gen/table.h"
#include "util/status.h"

struct rql_groupby {
	uint64_t rows, groups, seed; /* groups: K; id3 and id6 have rows / K values */
};

/* RQL_ERROR_STATEMENT unless 1 <= groups <= rows <= 10^10 and groups <= 10^6. */
rql_status rql_groupby_init(struct rql_groupby *out, uint64_t rows, uint64_t groups, int64_t seed,
                            struct rql_error *err) RQL_MUST_CHECK;
/* id1 id2 id3 VARCHAR, id4 id5 id6 v1 v2 INTEGER, v3 DOUBLE. Static. */
const struct rql_gen_column *rql_groupby_columns(uint32_t *count);
/* Writes rows [first, first + count) into rows [0, count) of out. The range lies within the table. */
void rql_groupby_fill(const struct rql_groupby *table, uint64_t first, uint32_t count, struct rql_batch *out,
                      rql_gen_put_fn *put);

#endif
