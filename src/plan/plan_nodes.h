/* The inside of a plan: what exec/ runs and explain.c prints. */
#ifndef RQL_PLAN_PLAN_NODES_H
#define RQL_PLAN_PLAN_NODES_H

#include "plan/block.h"
#include "plan/plan.h"
#include "plan/slots.h"

/* A leaf that scans rows. */
struct rql_leaf_scan {
	const char *table;
	uint64_t rows, blocks; /* of the table */
	uint32_t map_count;
	struct rql_scan_map **maps; /* owned */
	const char **dimensions;    /* [map_count]: the tables behind them, "supplier with nation" */
	double host_values;         /* that the host would scan instead */
	const struct rql_rows_block *selection; /* rows themselves are wanted; NULL: groups and aggregates */
};

/* A node of the host's plan whose rows a method gives. */
struct rql_leaf {
	const struct rql_rel *rel;
	struct rql_structure *structure;     /* one reference */
	const struct rql_relation *relation; /* of a cube; NULL: a scan */
	struct rql_leaf_scan *scan;          /* NULL: a cube */
	struct rql_rel *replaced;            /* node of the plan that became a projection over this leaf; NULL: none did */
	struct rql_rel original;             /* what it was */
	const struct rql_method *method;
	struct rql_device *device;
	struct rql_prepared *prepared;
	uint32_t group_count; /* the request's group keys: without the hidden one */
	bool hidden_key;      /* the request has one more, for aggregates of a dimension */
	uint32_t agg_count;
	const struct rql_agg *aggs; /* of the request */
	uint32_t slot_count;        /* == rel->column_count */
	struct rql_slot *slots;
	struct rql_cost cost;
	uint32_t host_columns; /* base columns that the host would scan instead */
	const char *note;      /* why it does not run on the unit that the view asks for; NULL: it does, or asks for none */
};

/* Putting a structure into a device's memory pays off over the queries that follow: a query's price holds this part
 * of it. So one that is asked once still loses against the CPU, and one that is asked again and again does not lose for
 * ever because each time it alone would have to pay. */
#define RQL_SETUP_REUSES 100.0
static inline double rql_cost_expected(const struct rql_cost *c)
{
	return c->setup_ns / RQL_SETUP_REUSES + c->run_ns + c->transfer_ns;
}

/* What was considered for a leaf; EXPLAIN prints all. */
struct rql_candidate {
	const char *structure, *method, *unit;
	const struct rql_structure *of;  /* only compared: it may be gone */
	const struct rql_device *device; /* NULL: of no device in particular */
	bool rows;                       /* it scans rows: cells are rows, runs are blocks */
	bool selects;                    /* and rows are what it gives */
	struct rql_cost cost;
	const char *reason; /* NULL: it could have been used */
	bool chosen, dominated;
};

struct rql_plan_nodes {
	const struct rql_rel *root;
	uint32_t leaf_count, leaf_capacity;
	struct rql_leaf *leaves;
	bool partial;       /* the host reads tables that no leaf reads, and finishes over them and the leaves */
	bool native_finish; /* exec/finish.c can do all that is above the single leaf; else the host does, over its rows */
	const char *finish_reason; /* the first thing that it cannot do */
	uint32_t candidate_count, candidate_capacity;
	struct rql_candidate *candidates;
};

/* Everything above the leaf is something that exec/finish.c evaluates exactly as the host would. On false *reason says
 * what is not. */
bool rql_finish_is_native(const struct rql_rel *root, const struct rql_rel *leaf, const char **reason);

#endif
