/* Operators: a plan is a tree of them. Each takes the ports of its inputs and gives the rows of one node of the statement's
 * algebra (sql/rel/rel.h), so that whoever stands above need not know who made them: a method, RayQL's own operators over
 * columns, or the host. */
#ifndef RQL_FLOW_OPERATOR_H
#define RQL_FLOW_OPERATOR_H

#include "catalog/catalog.h"
#include "device/device.h"
#include "flow/shape.h"

struct rql_rows_block;
struct rql_kept_map;

/* An index that has a leaf's rows, which are all of their table, in the order of one of its columns. */
struct rql_leaf_sorted {
	uint32_t column;
	const struct rql_method *method; /* gives SORTED */
	struct rql_prepared *prepared;   /* of the leaf's snapshot */
	struct rql_device *device;
	const char *index;
	uint32_t parts;
	uint64_t rows;
};

/* A leaf that scans rows. */
struct rql_leaf_scan {
	const char *table;
	uint64_t rows, blocks; /* of the table */
	uint32_t map_count;
	struct rql_kept_map **maps; /* references (plan/map_cache.h) */
	const char **dimensions;    /* [map_count]: the tables behind them, "supplier with nation" */
	const char **sources;       /* [map_count]: who gave their rows */
	const char *joins;          /* rows of columns that are joined on the device before: a line each; NULL: none are */
	const char *wanted;         /* which groups are asked for, a line; NULL: all */
	double host_values;         /* that the host would scan instead */
	uint32_t sorted_count;
	struct rql_leaf_sorted *sorted; /* [sorted_count] */
	const struct rql_rows_block *selection; /* rows themselves are wanted (bind/block/block.h); NULL: groups and aggregates */
};

/* A method that gives the PAIRS of a NATIVE join, or an AGGREGATE's groups, of rows that lie in the host's memory. */
struct rql_pairs_offer {
	const struct rql_rel *of;
	const struct rql_method *method;
	struct rql_prepared *prepared;
	struct rql_device *device; /* the first of... */
	struct rql_sharers on;
	struct rql_cost cost;
	struct rql_drawn drawn; /* what it is expected to draw */
	struct rql_pairs_offer *next; /* of the plan's */
};
/* No device of the offer's is lost, or has been left after an error. */
static inline bool rql_pairs_alive(const struct rql_pairs_offer *offer)
{
	bool alive = true;
	for (uint32_t i = 0; i < offer->on.count; i++)
		alive &= !atomic_load_explicit(&offer->on.device[i]->lost, memory_order_relaxed) &&
		         !atomic_load_explicit(&offer->on.device[i]->left, memory_order_relaxed);
	return alive;
}
/* What partitions of such a join may take of the host's memory at most, so that pieces and pairs have room, too. 0: any
 * number of bytes. */
uint64_t rql_pairs_host_bytes(struct rql_budget *budget);
/* What each of the devices may give of its memory; *limited: the one that has no more. room: as of struct rql_flow. */
uint64_t rql_pairs_room(uint64_t (*room)(void *state, struct rql_device *device), void *state,
                        const struct rql_sharers *on, struct rql_device **limited);

/* A node of the host's plan whose rows a method gives. */
struct rql_leaf {
	const struct rql_rel *rel;
	struct rql_structure *structure;     /* one reference */
	const struct rql_relation *relation; /* of a cube; NULL: a scan */
	struct rql_leaf_scan *scan;          /* NULL: a cube */
	const struct rql_method *method;
	struct rql_device *device;
	struct rql_prepared *prepared;
	const struct rql_method *ordered_of; /* gives the rows that `method` puts in order; NULL: it reads them itself */
	const struct rql_method *under; /* whose ROWS come in; NULL: none do */
	uint32_t under_tests;           /* conditions that it has answered, */
	uint32_t under_joins;           /* and joins of which it has looked the keys up, */
	const char *under_index;        /* the index that it has found them in; NULL: it is not just one */
	bool under_superset;            /* which are tested again, some of them */
	enum rql_rows_form under_form;  /* in which most blocks are expected */
	uint32_t group_count; /* the request's group keys: without the hidden one */
	bool hidden_key;      /* the request has one more, for aggregates of a dimension */
	uint32_t agg_count;
	const struct rql_agg *aggs; /* of the request */
	uint32_t slot_count;        /* == rel->column_count */
	struct rql_slot *slots;
	struct rql_cost cost;
	uint32_t host_columns; /* base columns that the host would scan instead */
	const char *note;      /* why it does not run on the unit that the view asks for, or a look-up on a GPU; NULL: nothing */
	/* The CPU reads the rows, though the session names a GPU or its unit, where no method reads them: only to hand them to a
	 * join or a group-by there. */
	bool feeds;
};


enum rql_operator_kind {
	RQL_OPERATOR_METHOD, /* a method's groups or rows */
	RQL_OPERATOR_NATIVE, /* what rel says, over its children's rows (native.c lists what that may be; also CTE_REF) */
	RQL_OPERATOR_HOST,   /* SQL over the rows of inputs that stand anywhere below rel, and over tables of its own */
};
/* A node, and what else gives its rows. */
struct rql_alternative {
	const struct rql_rel *of, *as;
	/* `as` gives only those of the rows that are asked for, and the host, which has no such reduction, takes this for all of
	 * them; 0: it gives all. */
	double host_ns;
};
struct rql_operator {
	enum rql_operator_kind kind;
	const struct rql_rel *rel;    /* what it does */
	const struct rql_rel *gives;  /* the node of the host's plan whose rows these are: rel, or what rel stands for */
	const struct rql_leaf *leaf;  /* METHOD */
	uint32_t input_count;         /* NATIVE: one for each child of rel */
	struct rql_operator **inputs;
	const struct rql_pairs_offer *pairs; /* NATIVE: who finds pairs or groups; NULL: the CPU does */
	uint32_t instead_count;       /* HOST: nodes below rel in whose place others are written */
	const struct rql_alternative *instead;
	bool reads_tables;            /* HOST: tables are read, not inputs alone */
	const char *reason;           /* HOST: the first thing that RayQL does not do itself */
	double rows, ns;              /* expected: rows that come out, time for its own work */
};
/* Does the leaf, or the offer of pairs, have a part in the tree? */
static inline bool rql_operator_takes(const struct rql_operator *op, const void *part)
{
	bool takes = op->leaf == part || op->pairs == part;
	for (uint32_t i = 0; i < op->input_count && !takes; i++)
		takes = rql_operator_takes(op->inputs[i], part);
	return takes;
}
/* Does a leaf that feeds stand anywhere in the tree without a method above it that takes its rows? */
static inline bool rql_operator_feeds_nobody(const struct rql_operator *op)
{
	bool feeds = op->leaf && op->leaf->feeds;
	for (uint32_t i = 0; i < op->input_count && !op->pairs && !feeds; i++)
		feeds = rql_operator_feeds_nobody(op->inputs[i]);
	return feeds;
}
/* Does a HOST operator stand anywhere in the tree? */
static inline bool rql_operator_needs_host(const struct rql_operator *op)
{
	bool needs = op->kind == RQL_OPERATOR_HOST;
	for (uint32_t i = 0; i < op->input_count && !needs; i++)
		needs = rql_operator_needs_host(op->inputs[i]);
	return needs;
}

/* Does an aggregate take the pairs of the join below as they come from a method (aggregate_pairs.c)? */
bool rql_operator_takes_pairs(const struct rql_operator *op);
/* Its limit is 0: neither it nor what is below it runs. */
bool rql_operator_gives_nothing(const struct rql_operator *op);

/* Writes what stands in a node's place in a HOST operator's SQL, other than its inputs: leaf and state as of rql_rel_print,
 * which asks for each node. False: it stands for itself. */
static inline bool rql_operator_print_instead(struct rql_strbuf *out, const struct rql_operator *op,
                                              const struct rql_rel *rel, rql_leaf_printer *leaf, void *state)
{
	for (uint32_t i = 0; i < op->instead_count; i++) {
		if (op->instead[i].of != rel)
			continue;
		rql_strbuf_putc(out, '(');
		rql_rel_print(out, op->instead[i].as, leaf, state);
		rql_strbuf_putc(out, ')');
		return true;
	}
	return false;
}

/* Is this node, without what is below it, work that RayQL does exactly as the host would (native.c)? On false *reason says
 * what is not. arena: for trying, and for the reason. */
bool rql_operator_is_native(struct rql_arena *arena, const struct rql_rel *rel, const char **reason);

#endif
