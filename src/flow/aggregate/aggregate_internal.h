/* What aggregates over rows (aggregate.c), over pairs as they come (aggregate_pairs.c) and over parts of a join's sides
 * (aggregate_parts.c) share. */
#ifndef RQL_FLOW_AGGREGATE_INTERNAL_H
#define RQL_FLOW_AGGREGATE_INTERNAL_H

#include "flow/keys/keys.h"

enum agg_kind { AGG_COUNT_STAR, AGG_COUNT, AGG_SUM, AGG_AVERAGE, AGG_LEAST, AGG_GREATEST };
enum agg_form { FORM_NONE, FORM_I64, FORM_I128, FORM_REAL, FORM_STRING };

/* Of every group; those of a thread's own have the same form. */
struct states {
	uint64_t *count;     /* values, or rows */
	rql_int128 *integer; /* sums, least and greatest values */
	double *real;
	uint32_t *row; /* strings: the row of the least or greatest */
};
struct aggregate {
	const struct rql_expr *expr;
	const struct rql_rowset *set; /* whose rows it is over */
	enum agg_kind kind;
	enum agg_form form;
	struct rql_vector argument, filter; /* of kind COLUMN with no values: there is none */
	bool has_filter;
	uint32_t *rows; /* DISTINCT: those that count; NULL: all */
	uint64_t row_count;
	struct states *states; /* [copies] */
};
struct aggregating {
	struct rql_running *r;
	const struct rql_rowset *set; /* rebased */
	const struct rql_rel *rel;
	struct rql_key_groups groups; /* without group keys of one group that has no rows of its own */
	uint32_t agg_count, copies;
	struct aggregate *aggs;
};

/* Values and states of aggregate i, over the rows of g->set. expr: what rel says of it, over the set's columns. */
rql_status rql_aggregate_prepare(struct aggregating *g, uint32_t i, const struct rql_expr *expr) RQL_MUST_CHECK;
/* Only the states, of a copy of an aggregate that is prepared. */
rql_status rql_aggregate_room(struct aggregating *g, struct aggregate *a) RQL_MUST_CHECK;
/* So many copies of the states take all rows of g->set at once. */
uint32_t rql_aggregate_copies(const struct aggregating *g);
/* All rows of g->set into the states. */
rql_status rql_aggregate_all(struct aggregating *g) RQL_MUST_CHECK;
/* All copies of the states into the first one. */
rql_status rql_aggregate_merge(struct aggregating *g, struct aggregate *a) RQL_MUST_CHECK;
/* What `from` has of group i goes into group g of `to`, as if each of its rows were there so many times. */
rql_status rql_aggregate_take(const struct aggregate *a, const struct states *to, uint32_t g, const struct states *from,
                              uint64_t i, uint64_t times, struct rql_error *err) RQL_MUST_CHECK;
/* rows[0..n) of its set into the states of groups[0..n); groups NULL: there is one. */
rql_status rql_aggregate_add(const struct aggregate *a, const struct states *states, const uint32_t *rows,
                             const uint32_t *groups, uint64_t n, struct rql_error *err) RQL_MUST_CHECK;
/* All copies of the states as the aggregate's column. */
rql_status rql_aggregate_finish(struct aggregating *g, struct aggregate *a, struct rql_vector *out) RQL_MUST_CHECK;

#endif
