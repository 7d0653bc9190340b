/* Sets of codes that were found while one statement is planned. A condition over a large dictionary takes milliseconds,
 * and several ways of answering ask for the same one: a look at some rows of a table, then all of them, then another
 * leaf. Not thread-safe: a plan is made by one thread. */
#ifndef RQL_BIND_CODES_MEMO_H
#define RQL_BIND_CODES_MEMO_H

#include "column/map/dimension.h"
#include "device/placement.h"
#include "sql/rel/rel.h"

struct rql_codes_memo;
struct rql_codes_memo *rql_codes_memo_new(void); /* NULL: out of memory, and nothing is remembered */
void rql_codes_memo_free(struct rql_codes_memo *memo); /* NULL accepted */

/* The codes of d for which expr (over the dimension alone) is true, or with `negated` false, as they were put; NULL: they
 * were not. Dimensions must live as long as the memo. */
const uint64_t *rql_codes_memo_find(const struct rql_codes_memo *memo, const struct rql_dimension *d,
                                    const struct rql_expr *expr, bool negated);
/* set is copied. Small dictionaries, and what there is no memory for, are not remembered. */
void rql_codes_memo_put(struct rql_codes_memo *memo, const struct rql_dimension *d, const struct rql_expr *expr,
                        bool negated, const uint64_t *set);
/* The reference is the memo's, until it is freed. False: out of memory, and it is still the caller's. */
bool rql_codes_memo_hold(struct rql_codes_memo *memo, struct rql_placement *placement);

#endif
