/* Keys that are listed: the different rows of a batch as tuples of constants (sql/rel/rel.h), by which other rows are asked for. */
#ifndef RQL_PLAN_KEY_LIST_H
#define RQL_PLAN_KEY_LIST_H

#include "column/batch.h"
#include "sql/rel/rel.h"
#include "util/arena.h"

/* The values of these columns of the batch, each row once and none with a NULL. There may be no row left. NULL: out of
 * memory. */
struct rql_expr_tuples *rql_key_list(struct rql_arena *arena, const struct rql_batch *batch, const uint32_t *columns,
                                     uint32_t parts);

#endif
