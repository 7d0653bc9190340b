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

struct rql_plan_nodes {
	const struct rql_rel *root;
	uint32_t leaf_count, leaf_capacity;
	struct rql_leaf *leaves;
	struct rql_operator *tree; /* gives root's rows; made once the leaves are chosen (tree.c) */
	bool partial;              /* the host reads tables that no leaf reads */
	uint32_t candidate_count, candidate_capacity;
	struct rql_candidate *candidates;
};

/* tree.c: the operators over the leaves that were chosen. *possible: false where what the host would have to do cannot be
 * written as SQL; *reason then says what. */
struct rql_known_rows;
rql_status rql_plan_tree(struct rql_plan_nodes *nodes, struct rql_arena *arena, const struct rql_known_rows *known,
                         double host_statement_ns, bool *possible, const char **reason, struct rql_error *err) RQL_MUST_CHECK;

#endif
