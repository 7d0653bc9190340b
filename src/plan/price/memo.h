/* The covers of a plan, compared by price (after the memo of Graefe's Cascades, IEEE Data Engineering Bulletin 1995). A group
 * is a node of the host's plan and what is known above it: which shared rows (CTEs) RayQL has there. Each group has what
 * every way to have its rows takes: a method (the leaf that was found for it), RayQL's own operator over its children's
 * rows, or the host, with the largest parts below that are better lent to it. The host is an operator like the others: a
 * plan of it alone is the one that no leaf is part of. */
#ifndef RQL_PLAN_MEMO_H
#define RQL_PLAN_MEMO_H

#include "plan/price/price_tree.h"

struct rql_memo_spec {
	const struct rql_plan_nodes *nodes; /* root; the leaves that were found, which may hide each other */
	struct rql_arena *arena;
	unsigned threads;
	uint32_t size_count; /* tables whose rows are known */
	const struct rql_table_size *sizes;
	double host_statement_ns; /* of each statement of the host's */
	double (*leaf_ns)(const struct rql_leaf *leaf); /* by RayQL */
	double (*leaf_host_ns)(const void *state, const struct rql_leaf *leaf);
	const void *state; /* of leaf_host_ns */
	/* What a join's own work takes; cpu_ns: by RayQL's operator alone. *out: who finds its pairs, where that is not so. May
	 * be NULL. */
	double (*pairs_ns)(void *planning, const struct rql_known_rows *known, const struct rql_rel *rel, double cpu_ns,
	                   const struct rql_pairs_offer **out);
	void *planning;
	bool forced;     /* every leaf that can be used is, whatever the host would take */
	bool leaf_first; /* a leaf is better than those below it */
};
struct rql_memo_cover {
	struct rql_operator *tree; /* gives the root's rows; NULL: what the host would have to do cannot be written as SQL */
	const char *reason;        /* the first thing that RayQL does not do itself; NULL: there is none */
	double ns;                 /* of all operators and leaves */
	double host_ns;            /* the whole by the host alone, its statement included */
	double *against;           /* [leaves]: what the node of each would take without it, as far as that is known */
	uint32_t way_count;        /* for EXPLAIN: the first from the root on */
	struct rql_memo_ways ways[RQL_MEMO_WAYS];
};
/* The cheapest cover in which a leaf has part. */
rql_status rql_memo_cover(const struct rql_memo_spec *spec, struct rql_memo_cover *out, struct rql_error *err) RQL_MUST_CHECK;

#endif
