/* What is prepared of a request for ROWS, and its run. Only the method's own files see it. */
#ifndef RQL_METHOD_INDEX_INDEX_LOOK_H
#define RQL_METHOD_INDEX_INDEX_LOOK_H

#include "method/index/index_run.h"
#include "method/index/index_tests.h"
#include "method/method.h"

struct rql_prepared {
	const struct rql_store_snapshot *snapshot; /* one reference */
	struct rql_index_of of;
	bool sorted; /* all rows in the order of its column are wanted: there are no tests */
	bool points; /* single values of all its columns alone are looked up */
	uint32_t test_count;
	/* The first `covered` are looked up, of as many key columns; all of them but the last are single values. The others are
	 * tested; so are these where a segment's keys are prefixes. */
	struct rql_index_test *tests;
	uint32_t covered;
	uint32_t pair; /* two of these are the columns of this pair, whose values are looked up together; 0: of none */
	/* of what was there when it was prepared */
	double found;        /* rows that the look-ups give */
	double missing_rows; /* of segments without a run */
	uint32_t missing;    /* so many segments */
	bool prefix;         /* of some run keys are prefixes: what it finds is tested */
	double look_ups;
};

/* How many look-ups in a run: one for each value of the pair, or range of the last column. order: whose tests; NULL: the
 * first ones. */
uint32_t rql_index_look_ups(const struct rql_index_test *tests, const uint32_t *order, uint32_t count, uint32_t pair);
/* The i-th of them: a range of each of the first `count` columns of the index. */
void rql_index_sought(const struct rql_index_test *tests, const uint32_t *order, uint32_t count, uint32_t pair, uint32_t i,
                      struct rql_index_range *out);
/* rql_method's run and points. Segments that have no run, because there is no room for it, are tested row
 * by row. */
rql_status rql_index_look(const struct rql_prepared *p, struct rql_device *device, const struct rql_run *how,
                          struct rql_port *out, struct rql_error *err);
uint32_t rql_index_points(const struct rql_prepared *p);

/* ---- rows in the order of a column (index_order.c): the same parts of rql_method, for requests that want them ---- */
bool rql_index_can_order(const struct rql_request *request);
void rql_index_prepare_order(const struct rql_request *request, struct rql_prepared *out);
rql_status rql_index_order(const struct rql_prepared *p, struct rql_device *device, const struct rql_run *how,
                           struct rql_port *out, struct rql_error *err);

#endif
