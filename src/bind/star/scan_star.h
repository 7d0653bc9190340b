/* A block as a star: one fact table whose rows are scanned, and dimension subtrees that hang on it by equal columns.
 * Only structure is looked at here; scan_dim.c gets the subtrees' rows. */
#ifndef RQL_BIND_SCAN_STAR_H
#define RQL_BIND_SCAN_STAR_H

#include "bind/block/block.h"
#include "util/status.h"

/* Tables that are joined with each other, and through one column of one of them with the fact table. */
struct rql_star_subtree {
	const struct rql_block_side *side; /* it is this side of the block, not tables of inner joins; NULL: it is those */
	uint32_t root;                     /* the table with the key; of a side: RQL_BLOCK_SIDE(its number) */
	const struct rql_expr *fact;       /* COLUMN of the fact table */
	struct rql_expr *key;              /* COLUMN of the root; of a side: over REFs to its columns */
	const struct rql_expr *fact2;      /* the second columns of a key of two; NULL: it is one */
	struct rql_expr *key2;
	struct rql_expr_list conjuncts; /* over columns of the subtree alone; of a side: none */
	bool few;                       /* ... one of which leaves few rows, so that there is nothing to find out about them before */
	struct rql_expr_list outputs;   /* distinct expressions over them that are asked for outside; a MARK's: its columns */
};

/* Expressions of the star are over COLUMNs of the fact table and REFs to outputs of subtrees. */
struct rql_star {
	const struct rql_block *block;
	uint32_t fact;
	uint32_t subtree_count;
	struct rql_star_subtree subtrees[RQL_BLOCK_MAX_TABLES + RQL_BLOCK_MAX_SIDES];
	/* Of each table, and each side, whose keys may be columns of a subtree: its subtree, or RQL_STAR_FACT. */
	uint32_t owner[RQL_BLOCK_MAX_TABLES + RQL_BLOCK_MAX_SIDES];
	uint32_t ways[RQL_BLOCK_MAX_TABLES];  /* by how many equalities the table could have been attached */
	struct rql_expr_list conjuncts;       /* those that read the fact table, several subtrees, or nothing */
	struct rql_expr **groups, **aggs;     /* as in the block */
};
#define RQL_STAR_FACT UINT32_MAX
#define RQL_STAR_PAIR UINT32_MAX
/* REF.index of output o of subtree s. */
#define RQL_STAR_REF(s, o) ((uint32_t)(s) << 16 | (uint32_t)(o))
#define RQL_STAR_REF_SUBTREE(index) ((index) >> 16)
#define RQL_STAR_REF_OUTPUT(index) ((index)&0xffffu)

/* choices[t]: which of its ways table t takes (modulo their number), or RQL_STAR_PAIR: a root takes its first two together;
 * NULL: the first. All inner joins of the block are said: by the subtrees' conjuncts, their keys, or the star's conjuncts.
 * RQL_ERROR_UNSUPPORTED, with the reason: it is no such star. */
rql_status rql_star_make(struct rql_arena *arena, const struct rql_block *block, uint32_t fact, const uint32_t *choices,
                         struct rql_star **out, struct rql_error *err) RQL_MUST_CHECK;

/* The tables behind a subtree, for messages and EXPLAIN: its root. */
const char *rql_star_table(const struct rql_star *star, uint32_t subtree);

#endif
