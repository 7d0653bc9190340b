/* The inside of a plan: what exec/ runs and explain.c prints. */
#ifndef RQL_PLAN_PLAN_NODES_H
#define RQL_PLAN_PLAN_NODES_H

#include "bind/block/block.h"
#include "flow/operator.h"
#include "plan/plan.h"

static inline double rql_cost_expected(const struct rql_cost *c)
{
	return c->setup_ns / RQL_SETUP_REUSES + c->compile_ns + c->run_ns + c->transfer_ns;
}

/* So much of that only a text's first plan has: the driver's compiler, and what was prepared. */
static inline double rql_cost_first(const struct rql_cost *c)
{
	return c->compile_ns + c->prepared_ns / RQL_SETUP_REUSES;
}

/* What was considered for a leaf; EXPLAIN prints all. */
struct rql_candidate {
	const char *structure, *method, *unit;
	const char *under;               /* the method whose ROWS come in, "scan under sieve"; NULL: none do */
	const struct rql_structure *of;  /* only compared: it may be gone */
	const struct rql_device *device; /* NULL: of no device in particular */
	bool rows;                       /* it scans rows: cells are rows, runs are blocks */
	bool selects;                    /* and rows are what it gives */
	bool joined;                     /* joins, or groups below groups, as columns on the device (join.h) */
	struct rql_cost cost;
	const char *reason; /* NULL: it could have been used */
	bool chosen, dominated;
};

/* Values of columns, looked for once (price_values.c). */
#define RQL_PLAN_VALUES 32u
struct rql_plan_values {
	uint32_t count;
	const struct rql_store_column *of[RQL_PLAN_VALUES];
	double values[RQL_PLAN_VALUES];
};

#define RQL_MEMO_WAYS 4u
/* A node of the cover that could be had in another way: by a method, by RayQL's operator, by the host; infinity: not so. */
struct rql_memo_ways {
	const struct rql_rel *rel;
	double ns[3];
	uint32_t taken;
};

struct rql_plan_nodes {
	const struct rql_rel *root;
	uint32_t leaf_count, leaf_capacity;
	struct rql_leaf *leaves;
	/* Nodes that leaves give the rows of by what is made of them: a projection of their columns, joins of their groups. */
	uint32_t alternative_count, alternative_capacity;
	struct rql_alternative *alternatives;
	struct rql_pairs_offer *pairs; /* of joins of rows in the host's memory (pairs.h) */
	struct rql_operator *tree; /* gives root's rows: the cheapest cover (memo.h) */
	uint32_t way_count;        /* what it was compared with */
	struct rql_memo_ways ways[RQL_MEMO_WAYS];
	struct rql_plan_values *values; /* NULL: of a plan within another; none are kept */
	uint32_t candidate_count, candidate_capacity;
	struct rql_candidate *candidates;
};

/* NULL: the node is none. */
static inline const struct rql_leaf *rql_plan_leaf_of(const struct rql_plan_nodes *nodes, const struct rql_rel *rel)
{
	for (uint32_t i = 0; i < nodes->leaf_count; i++)
		if (nodes->leaves[i].rel == rel)
			return &nodes->leaves[i];
	return NULL;
}

static inline const struct rql_alternative *rql_plan_alternative_of(const struct rql_plan_nodes *nodes,
                                                                    const struct rql_rel *rel)
{
	for (uint32_t i = 0; i < nodes->alternative_count; i++)
		if (nodes->alternatives[i].of == rel)
			return &nodes->alternatives[i];
	return NULL;
}

/* What else gives the node's rows; NULL: nothing does. */
static inline const struct rql_rel *rql_plan_alternative(const struct rql_plan_nodes *nodes, const struct rql_rel *rel)
{
	const struct rql_alternative *found = rql_plan_alternative_of(nodes, rel);
	return found ? found->as : NULL;
}

#endif
