/* Numbers for the distinct rows of a few columns: 0, 1, 2, ... in the order in which they are met. Equal is bit for bit,
 * so -0.0 and 0.0 are two values (whoever groups by reals must not rely on this). */
#ifndef RQL_BIND_DISTINCT_H
#define RQL_BIND_DISTINCT_H

#include "column/batch.h"
#include "util/arena.h"
#include "util/status.h"

struct rql_distinct;
/* types are borrowed. Columns of INTERVAL and OTHER types are RQL_ERROR_UNSUPPORTED. */
rql_status rql_distinct_new(const struct rql_type *types, uint32_t count, struct rql_distinct **out,
                            struct rql_error *err) RQL_MUST_CHECK;
void rql_distinct_free(struct rql_distinct *d); /* NULL accepted */
/* From now on rows may be numbered that are there already, once most of many were not: looking for them would take longer
 * than they save. rql_distinct_repeats says whether it came to that. */
void rql_distinct_relax(struct rql_distinct *d);
bool rql_distinct_repeats(const struct rql_distinct *d);
/* Do most rows of these columns differ, so that a relaxed table would number all as they come? *out: true; else the table has
 * their first rows, to which the same columns may be added. */
rql_status rql_distinct_most_differ(struct rql_distinct *d, const struct rql_column *columns, uint64_t rows, bool *out,
                                    struct rql_error *err) RQL_MUST_CHECK;
/* numbers[r] = the number of row r of the columns. RQL_ERROR_UNSUPPORTED: 2^31 rows or more. */
rql_status rql_distinct_add(struct rql_distinct *d, const struct rql_column *columns, uint64_t rows, int32_t *numbers,
                            struct rql_error *err) RQL_MUST_CHECK;
uint32_t rql_distinct_count(const struct rql_distinct *d);
/* The distinct rows, by number; in arena, strings too. */
rql_status rql_distinct_columns(const struct rql_distinct *d, struct rql_arena *arena, struct rql_column **out,
                                struct rql_error *err) RQL_MUST_CHECK;

#endif
