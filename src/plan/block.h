/* A block: one GROUP BY (or DISTINCT, or scalar aggregate) over inner joins and filters of base tables, in a form that
 * does not depend on join order, on where filters were pushed, or on which expressions a projection named. Definitions
 * of materialized views and parts of queries are both brought to this form; match.c compares the two. */
#ifndef RQL_PLAN_BLOCK_H
#define RQL_PLAN_BLOCK_H

#include "sql/rel.h"
#include "util/arena.h"

struct rql_block;
/* Rows of the block stay only if (anti: unless) some row of `inner`, tables joined and filtered, has an equal key. */
struct rql_block_semi {
	bool anti;
	const struct rql_expr *key;       /* COLUMN of the block */
	const struct rql_expr *inner_key; /* COLUMN of inner */
	const struct rql_block *inner;    /* tables and conjuncts only */
};
#define RQL_BLOCK_MAX_SEMIS 8u

struct rql_block {
	uint32_t table_count;
	struct rql_table_ref *tables;
	uint32_t semi_count; /* of definitions, and for cubes: 0 */
	struct rql_block_semi *semis;
	/* All expressions are over RQL_EXPR_COLUMN (table: index into tables; index: column of the table). */
	uint32_t conjunct_count;
	struct rql_expr **conjuncts; /* normalised, see rql_conjuncts_add */
	uint32_t group_count;
	struct rql_expr **groups;
	uint32_t agg_count;
	struct rql_expr **aggs; /* RQL_EXPR_AGGREGATE */
	uint32_t column_count;  /* distinct base columns touched: what the host would scan */
};

#define RQL_BLOCK_MAX_TABLES 16u

/* rel is an AGGREGATE or a DISTINCT. RQL_ERROR_UNSUPPORTED with the reason when it is no block. */
rql_status rql_block_make(struct rql_arena *arena, const struct rql_rel *rel, struct rql_block **out,
                          struct rql_error *err) RQL_MUST_CHECK;

/* Rows themselves: no aggregate. The block's groups are the columns of the result, then the order keys. */
struct rql_rows_block {
	struct rql_block *block;
	uint32_t output_count, order_count;
	const struct rql_order *orders; /* directions and places of NULLs; the expressions are the block's */
	uint64_t limit, offset;         /* limit UINT64_MAX: none */
	bool is_result;                 /* the query's own rows, with nothing but projections above */
};
/* rel: projections over at most one limit over at most one order over tables, joins and filters. As rql_block_make. */
rql_status rql_block_make_rows(struct rql_arena *arena, const struct rql_rel *rel, struct rql_rows_block **out,
                               struct rql_error *err) RQL_MUST_CHECK;

/* Growing list of expressions in an arena. */
struct rql_expr_list {
	uint32_t count, capacity;
	struct rql_expr **items;
};
bool rql_expr_list_add(struct rql_arena *arena, struct rql_expr_list *list, struct rql_expr *expr);
/* Adds a condition as normalised conjuncts: ANDs are split, BETWEEN becomes two comparisons, constants stand on the
 * right, the columns of an equality in ascending order; a conjunct that is there already is dropped. */
bool rql_conjuncts_add(struct rql_arena *arena, struct rql_expr_list *list, struct rql_expr *expr);

/* New expression nodes. NULL: out of memory. */
struct rql_expr *rql_expr_new(struct rql_arena *arena, enum rql_expr_kind kind, struct rql_type type,
                              uint32_t child_count);
/* a <name> b as BOOLEAN. */
struct rql_expr *rql_expr_comparison(struct rql_arena *arena, const char *name, struct rql_expr *a, struct rql_expr *b);
/* "column = column" of one type: the equalities that make columns interchangeable. */
bool rql_expr_is_equijoin(const struct rql_expr *expr);
/* Calls fn with every COLUMN and REF leaf; stops when it gives false. */
typedef bool rql_leaf_fn(const struct rql_expr *leaf, void *state);
bool rql_expr_leaves(const struct rql_expr *expr, rql_leaf_fn *fn, void *state);
/* The same for all expressions of the block, and the keys of its semi joins. */
void rql_block_leaves(const struct rql_block *block, rql_leaf_fn *fn, void *state);
/* How many different REFs expr reads: 0, 1 (*index is it), or 2 for two and more. */
uint32_t rql_expr_refs(const struct rql_expr *expr, uint32_t *index);
/* A copy in which fn replaces what it wants to: it is asked for every node from the top down, and gives the
 * replacement, or NULL to keep the node and go on with its children. A COLUMN or REF leaf for which it gives NULL makes
 * the whole call give NULL (as running out of memory does). */
typedef struct rql_expr *rql_replace_fn(struct rql_arena *arena, const struct rql_expr *expr, void *state);
struct rql_expr *rql_expr_transform(struct rql_arena *arena, const struct rql_expr *expr, rql_replace_fn *fn,
                                    void *state);

#endif
