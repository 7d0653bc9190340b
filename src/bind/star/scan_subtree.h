/* A subtree of a star as a relation. */
#ifndef RQL_BIND_SCAN_SUBTREE_H
#define RQL_BIND_SCAN_SUBTREE_H

#include "bind/star/scan_star.h"

/* Columns: the key, the second key if there is one, and the outputs (unless keys_only, or they are those of a MARK). Of a
 * side that is a set: each row once. rows: stands for the side's own (NULL: its own). NULL: out of memory. */
struct rql_rel *rql_subtree_rel(struct rql_arena *arena, const struct rql_star *star, uint32_t subtree,
                                const struct rql_rel *rows, bool keys_only);
/* A part of the block around the fact table: bits of tables, and of SEMI sides whose keys these tables have. */
struct rql_star_part {
	uint32_t tables, sides;
};
/* Does e read nothing but columns of the part's tables? */
bool rql_star_part_reads(const struct rql_star_part *part, const struct rql_expr *e);
/* Is there a condition on the part's tables other than what joins them? */
bool rql_star_part_is_restricted(const struct rql_star_part *part, const struct rql_block *block);
/* The outer keys of a side, in the rows of the part: joined, and filtered by the conditions that read nothing else. Keys may
 * come twice. NULL: out of memory. */
struct rql_rel *rql_star_part_keys(struct rql_arena *arena, const struct rql_star *star,
                                   const struct rql_star_part *part, const struct rql_block_side *side);
/* The same of columns of the part's tables. */
struct rql_rel *rql_star_part_rows(struct rql_arena *arena, const struct rql_star *star, const struct rql_star_part *part,
                                   const struct rql_expr *const *columns, uint32_t count);
/* At most so many of rel's rows; UINT64_MAX: all. NULL: out of memory. */
struct rql_rel *rql_subtree_limit(struct rql_arena *arena, struct rql_rel *rel, uint64_t rows);

#endif
