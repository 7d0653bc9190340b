/* The order in which relations are joined, one after the other to what there is so far, by price: dynamic programming over
 * sets of relations (Selinger et al., SIGMOD 1979). It knows numbers only; join_steps.c has them of a graph. */
#ifndef RQL_PLAN_JOIN_ORDER_H
#define RQL_PLAN_JOIN_ORDER_H

#include "method/method.h"

#define RQL_JOIN_ORDER_RELATIONS 24u
/* Of more relations the cheapest next one is taken, step by step. */
#define RQL_JOIN_ORDER_EXACT 12u
#define RQL_JOIN_ORDER_LOST 3u

struct rql_join_order_relation {
	double rows;               /* that it gives */
	double bytes;              /* of such a row, keys aside */
	uint32_t needs;            /* a bit for each relation that must be joined before */
	enum rql_lookup_kind kind; /* INNER: it may be the first. Else it has one edge, to the relation that it is a side of */
};
/* What two relations may be joined by. */
struct rql_join_order_edge {
	uint32_t a, b;   /* b: the side, where one of them is one */
	double distinct; /* values of the key, where it has more: keys are taken to be spread evenly over them */
	double bytes;    /* of the key in a row */
};
struct rql_join_order_graph {
	uint32_t relation_count, edge_count;
	const struct rql_join_order_relation *relations; /* at most RQL_JOIN_ORDER_RELATIONS */
	const struct rql_join_order_edge *edges;         /* one between two relations at most */
	/* What a step takes, without what is below it; two sides and what comes out. */
	double (*pair_ns)(const struct rql_profile *profile, const struct rql_pair_size *size);
	const struct rql_profile *profile;
};
struct rql_join_order {
	uint32_t first, step_count;
	struct rql_join_order_step {
		uint32_t relation, edge;
	} steps[RQL_JOIN_ORDER_RELATIONS];
	double ns, rows;       /* of all steps; that come out */
	uint32_t compared;     /* steps that were priced */
	uint32_t lost_count;   /* the cheapest orders with another relation at the end, cheapest first */
	struct rql_join_order_lost {
		uint32_t last;
		double ns;
	} lost[RQL_JOIN_ORDER_LOST];
};
/* False: the edges do not lead from one relation to all others; or out of memory: *enough is false then. */
bool rql_join_order_find(struct rql_arena *arena, const struct rql_join_order_graph *graph, struct rql_join_order *out, bool *enough);

/* Rows that a step gives: `outer` ones with those of a relation. */
double rql_join_order_rows(enum rql_lookup_kind kind, double outer, double inner, double distinct);

#endif
