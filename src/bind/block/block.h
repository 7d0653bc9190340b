/* A block: one GROUP BY (or DISTINCT, or scalar aggregate) over inner joins and filters of base tables, in a form that
 * does not depend on join order, on where filters were pushed, or on which expressions a projection named. Definitions
 * of materialized views and parts of queries are both brought to this form; match.c compares the two. What other joins
 * add to it are its sides. */
#ifndef RQL_BIND_BLOCK_H
#define RQL_BIND_BLOCK_H

#include "sql/rel/rel_edit.h"
#include "util/arena.h"

/* A relation of any form that is joined to the block's rows by equal keys, but not by an inner join. */
enum rql_side_kind {
	RQL_SIDE_LEFT, /* columns of table RQL_BLOCK_SIDE(i), NULL where it has no row with the key; one row of a key at most:
	                  whoever reads it must find out that no key comes twice. Without a key it has conditions alone */
	RQL_SIDE_SEMI, /* rows of the block stay only if it has a row with the key */
	RQL_SIDE_ANTI, /* ... only if it has none */
	RQL_SIDE_FULL, /* as LEFT, and its rows without a match stay, too, beside NULLs: the last side. Keys may come any number
	                  of times */
	/* ... only if it has one by the conditions, and its columns are those of the nearest; ASOF_LEFT: or NULL, where it has none.
	 * The one condition beyond the keys is the order of two values; there may be no keys. */
	RQL_SIDE_ASOF,
	RQL_SIDE_ASOF_LEFT,
	RQL_SIDE_MARK, /* whether it has one, as two BOOLEAN columns: RQL_MARK_OF_KEY, RQL_MARK_OF_NULL */
};
/* One key: the mark of rows whose key is not NULL (NULL, not false, where `x IN (...)` says so because the side has a NULL
 * key), and of those whose key is. */
enum { RQL_MARK_OF_KEY, RQL_MARK_OF_NULL };
static inline bool rql_side_is_asof(enum rql_side_kind kind)
{
	return kind == RQL_SIDE_ASOF || kind == RQL_SIDE_ASOF_LEFT;
}
#define RQL_SIDE_KEYS 4u
struct rql_block_side {
	enum rql_side_kind kind;
	bool not_in;        /* ANTI: NOT IN: what a MARK leaves open is no row either */
	bool single;        /* LEFT: a scalar subquery, whose second row with a key is an error */
	/* Conditions beyond the keys: a row of it is a match only where all are true. Over the block's columns, those of earlier
	 * sides, and its own as columns of table RQL_BLOCK_SIDE(i). LEFT: they are also in the expressions over it, as CASE WHEN
	 * they are true THEN its column ELSE NULL, so that who has one row of a key need not test them. */
	uint32_t condition_count;
	struct rql_expr *const *conditions;
	/* Of a block 1 or 2; conjuncts, but 1 for MARK and not_in, and where it is a real number; LEFT: 0, too; ASOF: 0 to 4. */
	uint32_t key_count;
	struct rql_side_key {
		const struct rql_expr *outer; /* over the block's columns, or those of earlier sides */
		const struct rql_expr *inner; /* of the same type, over REFs to rel's columns */
		bool null_safe;               /* NULL equals NULL */
	} keys[RQL_SIDE_KEYS];
	const struct rql_rel *rel;
};
#define RQL_BLOCK_MAX_TABLES 16u
#define RQL_BLOCK_MAX_SIDES 8u
#define RQL_BLOCK_SIDE(i) (RQL_BLOCK_MAX_TABLES + (i)) /* the table number of its columns */

struct rql_block {
	uint32_t table_count;
	struct rql_table_ref *tables;
	/* [table_count], of rql_block_make_over and rql_block_make_rows_over: what AGGREGATE, DISTINCT or UNION ALL gives table
	 * t's rows, whose columns are its outputs; NULL: it is a table of the database. NULL itself: all are. */
	const struct rql_rel *const *derived;
	uint32_t side_count; /* of definitions, and for cubes: 0 */
	struct rql_block_side *sides;
	/* All expressions are over RQL_EXPR_COLUMN (table: index into tables, or a side; index: column of the table). */
	uint32_t conjunct_count;
	struct rql_expr **conjuncts; /* normalised, see rql_conjuncts_add */
	uint32_t above_count;        /* with a FULL side: what its rows are tested by; conjuncts and the sides before are below it */
	struct rql_expr **above;
	uint32_t group_count;
	struct rql_expr **groups;
	uint32_t agg_count;
	struct rql_expr **aggs; /* RQL_EXPR_AGGREGATE */
	uint32_t column_count;  /* distinct base columns touched: what the host would scan */
};

/* What no structure answers alone, but joins on a GPU may; NULL: there is no such side. */
static inline const char *rql_block_side_beyond(const struct rql_block *block)
{
	const char *beyond = NULL;
	for (uint32_t i = 0; i < block->side_count; i++)
		if (rql_side_is_asof(block->sides[i].kind))
			beyond = "an ASOF join";
		else if (!block->sides[i].key_count)
			beyond = "an outer join by no pair of equal columns";
	return beyond;
}

/* rel is an AGGREGATE or a DISTINCT. RQL_ERROR_UNSUPPORTED with the reason when it is no block. */
rql_status rql_block_make(struct rql_arena *arena, const struct rql_rel *rel, struct rql_block **out,
                          struct rql_error *err) RQL_MUST_CHECK;

/* The same where groups may take a table's place. */
rql_status rql_block_make_over(struct rql_arena *arena, const struct rql_rel *rel, struct rql_block **out,
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

/* The same where groups may take a table's place. */
rql_status rql_block_make_rows_over(struct rql_arena *arena, const struct rql_rel *rel, struct rql_rows_block **out,
                                    struct rql_error *err) RQL_MUST_CHECK;

/* Adds a condition as normalised conjuncts: ANDs are split, BETWEEN becomes two comparisons, constants stand on the
 * right, the columns of an equality in ascending order; a conjunct that is there already is dropped. */
bool rql_conjuncts_add(struct rql_arena *arena, struct rql_expr_list *list, struct rql_expr *expr);

/* "column = column" of one type: the equalities that make columns interchangeable. */
bool rql_expr_is_equijoin(const struct rql_expr *expr);
/* rql_expr_leaves for all expressions of the block, and the outer keys and conditions of its sides. */
void rql_block_leaves(const struct rql_block *block, rql_leaf_fn *fn, void *state);

#endif
