/* Arrow arrays made of batches, in one copy. Private to src/api. */
#ifndef RQL_API_ARROW_ARRAY_H
#define RQL_API_ARROW_ARRAY_H

#include "column/batch.h"
#include "rayql/arrow.h"
#include "util/status.h"

/* Can columns of these types be made as the schema wants them? Else DuckDB is to convert them. */
bool rql_arrow_is_plain(const struct ArrowSchema *schema, const struct rql_type *types, uint32_t count);
/* The rows of all batches as one array. RQL_ERROR_UNSUPPORTED: a column's strings are too long for one. */
rql_status rql_arrow_array(struct rql_batch *const *batches, uint64_t count, struct ArrowArray *out,
                           struct rql_error *err) RQL_MUST_CHECK;

#endif
