/* What of a block lies beyond every structure, whichever there are: columns of types that none holds, aggregates that no
 * method computes. Such a block is the host's because of what the query asks for, and the reason must say so. */
#ifndef RQL_BIND_BEYOND_H
#define RQL_BIND_BEYOND_H

#include "bind/block/block.h"

/* The columns of the table that the block reads and no structure holds, with their types: "column iv (INTERVAL)". NULL:
 * there is none, or no memory is left for a reason. */
const char *rql_beyond_columns(struct rql_arena *arena, const struct rql_block *block, uint32_t table);
/* The columns that rel gives and no structure could: DuckDB compares such values by expressions. NULL: none. */
const char *rql_beyond_outputs(struct rql_arena *arena, const struct rql_rel *rel);
/* The first aggregate that neither a cube nor a scan computes, with its arguments' types: "string_agg(VARCHAR, VARCHAR)". */
const char *rql_beyond_aggregate(struct rql_arena *arena, const struct rql_block *block);
/* Why nothing can serve the block, as a sentence; NULL: the block itself is no obstacle. A table with a column that no
 * structure holds may still be a dimension of a scan, so only where all tables have one is it the block's fault. */
const char *rql_beyond(struct rql_arena *arena, const struct rql_block *block);

#endif
