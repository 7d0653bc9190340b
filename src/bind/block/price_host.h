/* What the host would need for a block, from counts of rows alone: its own plan is not priced, only the work that any
 * plan has. In VALUES: one is a number of a column scanned and summed (rql_profile.host_value_ns), so that a machine's
 * speed and its threads are in one measured constant (rql_host_idle_factor: tables that are too small for all of them).
 * The other constants are multiples of it (price_host.c). */
#ifndef RQL_BIND_PRICE_HOST_H
#define RQL_BIND_PRICE_HOST_H

#include "bind/block/block.h"
#include "column/store/store.h"

/* A row of a subquery's table or an outer join's is read by two columns or so, and hashed: TPC-H's Q17, Q18 and Q21 take the
 * host five values' time for each. */
#define RQL_HOST_INNER_ROW_VALUES 5.0
/* A value that the host puts into a result, one that it hands on inside a plan, and a row that it sorts. */
#define RQL_HOST_RESULT_VALUE 25.0
#define RQL_HOST_INNER_VALUE 2.0
#define RQL_HOST_SORTED_ROW 60.0
/* A row of either side of an ASOF join: both are sorted. */
#define RQL_HOST_ASOF_ROW 150.0
/* A row of either side of a join by two bounds, an IEJoin (a million points, 100,000 ranges: 1,000), or each pair tried. */
#define RQL_HOST_RANGE_ROW 500.0
#define RQL_HOST_TRIED_PAIR 3.0
static inline double rql_host_work_ranges(uint32_t bounds, double left, double right)
{
	const double tried = left * right * RQL_HOST_TRIED_PAIR, sorted = (left + right) * RQL_HOST_RANGE_ROW;
	return bounds > 1 && sorted < tried ? sorted : tried;
}

struct rql_host_work {
	const struct rql_block *block;
	uint32_t fact;        /* the greatest table */
	const uint64_t *rows; /* [table_count] */
	double inner_rows;    /* of the tables of other joins: RQL_HOST_INNER_ROW_VALUES each */
	double selected;      /* rows of all other tables that their own conditions leave: what hash tables are built of */
	double passed;        /* rows that every filter and join leaves */
	double groups;        /* GROUP BY: groups of them, a DISTINCT argument's values told apart */
	const struct rql_store_snapshot *snapshot; /* what is known of the fact table's columns; NULL: nothing */
	const uint32_t *column_ids;
};

/* What profile.host_value_ns must be multiplied by for a table of so many rows: it is a value's time with all threads
 * busy, and a thread takes a row group of 122,880 rows at a time. 1 or more. */
double rql_host_idle_factor(unsigned threads, uint64_t rows);
/* All of it. */
double rql_host_work_values(const struct rql_host_work *w);
/* One evaluation of e, its columns being there. */
double rql_host_work_expression(const struct rql_expr *e);

#endif
