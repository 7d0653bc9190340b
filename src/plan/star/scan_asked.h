/* The keys that a fact table's rows ask its dimensions for, where a sample says that these rows are few: they are read once,
 * before the first map is made, and a large dimension's map then has these keys alone. Its rows are found by an index, or by
 * a scan that puts nothing into a table. Unlike a side's own reduction (scan_reduction.h), which may leave many keys, it is
 * for inner joins as well. */
#ifndef RQL_PLAN_SCAN_ASKED_H
#define RQL_PLAN_SCAN_ASKED_H

#include "bind/star/scan_star.h"
#include "plan/leaf.h"

/* A dimension of fewer rows is read as fast as this is planned. */
#define RQL_ASKED_LEAST_ROWS (UINT64_C(1) << 17)
/* What a row of such a dimension takes: a test of its key. */
#define RQL_ASKED_ROW_NS 1.5
/* To look which keys are asked for takes at most this part of what it may save. */
#define RQL_ASKED_LOOK_PART 4.0

#define RQL_ASKED_COLUMNS 16u
struct rql_scan_asked {
	bool known; /* it was looked at */
	uint32_t column_count;
	const struct rql_expr *columns[RQL_ASKED_COLUMNS]; /* COLUMNs of the fact table */
	struct rql_batch *batch; /* their values in the rows that pass; NULL: these may be many */
};

/* Of the fact table's rows those that pass the conditions on it, and on small tables beside it. rows: of the block's tables.
 * saves_ns: the most that this may take is less. Fails only for memory and interruption. */
rql_status rql_scan_asked_read(struct rql_planning *p, const struct rql_block *block, uint32_t fact, const uint64_t *rows,
                               double saves_ns, struct rql_scan_asked *out, struct rql_error *err) RQL_MUST_CHECK;
void rql_scan_asked_free(struct rql_scan_asked *asked);

/* What makes the subtree's map one of these keys. An inner one's star has a condition more then, *star; a side's rows are
 * *reduced. Untouched where the subtree cannot be asked for some keys. */
rql_status rql_scan_asked_put(struct rql_planning *p, const struct rql_scan_asked *asked, uint32_t subtree,
                              const struct rql_star **star, const struct rql_rel **reduced,
                              struct rql_error *err) RQL_MUST_CHECK;

#endif
