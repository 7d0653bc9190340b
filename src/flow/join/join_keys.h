/* Which of a join's conditions are equalities of its two sides, which bound a value of one side by values of the other, and
 * which are tested of each pair of rows. */
#ifndef RQL_FLOW_JOIN_KEYS_H
#define RQL_FLOW_JOIN_KEYS_H

#include "flow/rowset.h"

/* A value of the rows of one child, the points, and what bounds it on the other one. */
struct rql_join_range {
	bool found;
	unsigned points;            /* 0: of the left child, 1: of the right one */
	struct rql_expr *point;     /* over that child's columns */
	struct rql_expr *bounds[2]; /* least, greatest: over the other's; NULL: there is none */
	bool open[2];               /* the bound itself is none of them */
	uint32_t condition_count;   /* these are the same */
	struct rql_expr *conditions[2];
};
struct rql_join_keys {
	uint32_t key_count, rest_count;
	struct rql_expr **sides[2]; /* [key_count]: over the columns of the left and of the right child */
	bool *nulls_equal;          /* IS NOT DISTINCT FROM */
	struct rql_expr **rest;     /* over both, as in the join; with room for the range's conditions */
	struct rql_join_range range;
};
/* What finds a join's rows, for prices: equalities; a range, by so many bounds; and how many of the conditions compare the
 * order of both sides at all. */
struct rql_join_way {
	uint32_t keys, bounds, comparisons;
	bool tested; /* there are further conditions, for each pair */
	/* Of a range without keys: the value that is bound, a column of this child or such a one cast (range_cast.h);
	 * RQL_NO_ROW: it is none. */
	unsigned points;
	uint32_t column;
	bool ranked; /* a range's value is a string, which is ranked and searched (range_places.h) */
};
/* Which children an expression over a join's columns reads: bit 0 the left one, which has `lefts` of them, bit 1 the right. */
unsigned rql_join_reads(const struct rql_expr *e, uint32_t lefts);
/* DuckDB 1.5 finds some row by a NULL of an ASOF join with keys. */
bool rql_join_null_finds(void);
/* Is the condition an equality of both sides? of: of the left and of the right child, over the join's columns. */
bool rql_join_equality(const struct rql_rel *rel, uint32_t condition, const struct rql_expr *of[2]);
struct rql_join_way rql_join_way_of(const struct rql_rel *rel);
/* The index in whose order of the column `probes` rows look up, each in all of its parts. NULL: none has it, or the leaf's
 * rows are better sorted. leaf may be NULL. */
const struct rql_leaf_sorted *rql_leaf_sorted_by(const struct rql_leaf *leaf, uint32_t column, double probes);
/* Can the groups of an aggregate over such a join be made without its pairs, from the rows of one side (aggregate_ranges.c)? */
bool rql_ranges_keep(const struct rql_rel *rel, const struct rql_rel *join, unsigned *keeper);
/* Pairs of a join with neither are tried one by one, up to so many. */
#define RQL_PAIRS_TRIED_MOST (UINT64_C(1) << 31)
/* false: out of memory. */
bool rql_join_keys_find(struct rql_arena *arena, const struct rql_rel *rel, struct rql_join_keys *out);

#endif
