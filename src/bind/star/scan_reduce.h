/* Semi-join reduction: a side gives only the keys that rows of the block may ask for (P. A. Bernstein, D.-M. W. Chiu, Using
 * Semi-Joins to Solve Relational Queries, JACM 1981). Below groups it is what magic sets do (I. S. Mumick et al., Magic is
 * Relevant, SIGMOD 1990): the rows of a group that nobody asks for are dropped before they are grouped. */
#ifndef RQL_BIND_SCAN_REDUCE_H
#define RQL_BIND_SCAN_REDUCE_H

#include "bind/block/block.h"

/* May the side's rows with other keys be dropped, and can they be, below its groups? Not where what comes of a key depends
 * on others (NOT IN, marks), or the side's expressions could fail for keys that are asked for by nobody. */
bool rql_side_can_reduce(const struct rql_block_side *side);
/* The table of which the side's keys are columns, below projections, conditions and groups, and their numbers in it, as
 * rql_rel.column_ids has them. NULL: they are no columns of one table. */
const struct rql_rel *rql_side_key_table(struct rql_arena *arena, const struct rql_block_side *side,
                                         uint32_t columns[RQL_SIDE_KEYS]);
/* The side's relation where only rows stay whose keys are among `keys`: a relation of its outer keys' columns. NULL: out of
 * memory. */
struct rql_rel *rql_side_reduce(struct rql_arena *arena, const struct rql_block_side *side, const struct rql_rel *keys);
/* ... whose keys, one or several, are of these tuples: constants of which none is NULL. Without any no row stays. */
struct rql_rel *rql_side_list(struct rql_arena *arena, const struct rql_block_side *side,
                              const struct rql_expr_tuples *tuples);

#endif
