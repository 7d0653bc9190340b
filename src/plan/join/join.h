/* A block as joins of columns on a GPU. No side needs a key that comes once, and nothing is read while planning:
 *
 *   join_shape.c   relations (tables and sides of the block, each the rows of one columns structure), and the edges that
 *                  may join them
 *   join_steps.c   the steps that join them, one after the other, to what there is so far, in the order that costs least
 *                  (join_order.h); what is tested and read above
 *   join_bind.c    what each relation gives: columns that are read above, and keys whose fields say the same on both sides
 *   join_leaf.c    the chain of methods on a device, priced, and what is above as a scan of the rows that come out
 *   join_under.c   ... under what a method of the role "select" finds of a relation's conditions, or of the other side's keys
 *   join_try.c     which device, and whether another leaf or the host is cheaper
 *   join_explain.c what EXPLAIN says of it, and what the host would need for the same
 *   join_groups.c  what is above as rows again: a relation may be the groups of a block below, which is a graph of its own
 *   join_union.c   ... or the rows of a UNION ALL below, each branch a graph of its own, or those of a side that is joined itself
 *   join_ranges.c  joins by ranges of which only counts and sums are asked for: each row's numbers in place of its matches
 *   join_rows.c    rows themselves above: what fetching them costs (price/rows_as_columns.h: how they are fetched)
 *
 * The rows of a chain exist in the device's memory only (method/port.h, COLUMNS). */
#ifndef RQL_PLAN_JOIN_H
#define RQL_PLAN_JOIN_H

#include "bind/star/scan_bind.h"
#include "column/form.h"
#include "plan/leaf.h"

#define RQL_JOIN_RELATIONS (RQL_BLOCK_MAX_TABLES + RQL_BLOCK_MAX_SIDES)
#define RQL_JOIN_KEYS 4u /* equalities that make one key, or one and conditions beside it */

/* Rows of one table, or of what lies below, filtered: of a side, too. Outputs are over its columns as COLUMNs of table 0. */
struct rql_join_relation {
	uint32_t number;                   /* of its columns in the block: a table's, or RQL_BLOCK_SIDE(i) */
	const struct rql_block_side *side; /* NULL: a table of inner joins */
	struct rql_structure *structure;   /* fresh, of the table; borrowed. Of groups: what stands for one, once they are there */
	struct rql_join_graph *groups;     /* what gives them: groups, or (`rows`) the rows of a UNION ALL or of joins; NULL: they are a table's */
	struct rql_columns_source source;  /* of that, on the device at hand: owned, until what reads them is prepared */
	struct rql_cost cost;              /* of that */
	const char *by;                    /* the method that gives them */
	const char *under;                 /* join_under.c: what finds its rows, for EXPLAIN; NULL: all are read */
	const char *table;
	uint32_t needs; /* side: a bit for each relation that its conditions read, which is joined before */
	struct rql_expr *const *of_side;   /* side: its columns over the table's */
	struct rql_expr_list conjuncts;
	/* join_steps.c: rows that pass its conjuncts, and the sample that says so; NULL: none was taken. */
	double rows;
	struct rql_sample *sample;
	double *values; /* of its table's columns, each once it was asked for; 0: it was not */
	/* What it gives: first the block's columns that are read above, then one or more for each key. */
	struct rql_expr_list columns; /* as the block calls them */
	struct rql_expr_list outputs;
	/* join_bind.c */
	struct rql_request request;     /* for COLUMNS; gives and outputs are the bound ones */
	uint32_t form_count;            /* columns of its form: `columns`, then a key for each step that has one here */
	uint32_t low_count;             /* ... and before these the lower halves of some of `columns` */
	struct rql_form_column *form;
};

#define RQL_JOIN_MARK UINT32_MAX /* a column of a relation in the chain: its mark */
#define RQL_JOIN_SUM(i) (UINT32_MAX - RQL_PAIR_SUMS + (i)) /* ... of a join by ranges: number i of a row's matches */
static inline bool rql_join_is_sum(uint32_t column)
{
	return column >= RQL_JOIN_SUM(0) && column < RQL_JOIN_MARK;
}

struct rql_join_key {
	struct rql_expr *outer, *inner; /* over the two relations' own columns */
	bool null_safe;
	double values; /* on the side that has more; 0: it was not asked for */
	uint32_t outer_output, inner_output; /* in their relations' outputs */
};
/* Beyond the keys: two rows are a match only where outer <test> inner. */
struct rql_join_test_of {
	enum rql_pair_test test;
	bool null_safe;                 /* EQ, NE: NULL is a value like others */
	uint32_t relation;              /* of `outer`: one that is joined before, not always the owner */
	struct rql_expr *outer, *inner; /* as a key's; inner NULL: outer is a BOOLEAN, which must be TRUE */
	uint32_t outer_output, inner_output;
	uint32_t outer_column, inner_column; /* in their relations' forms */
	bool canonical;                 /* these are reals, whose fields are the same where the values are equal */
	bool of_key, text;              /* it is a key beside the step's, which is a text; and a text itself (request.h) */
	uint64_t outer_bytes, inner_bytes; /* ... of all its texts */
};
/* A join by ranges: the only one of its graph. */
struct rql_join_ranges {
	uint32_t relation; /* that has the points, of which there are no rows above */
	uint32_t condition_count; /* its bounds: at most one least and one greatest */
	struct rql_join_test_of conditions[2];
	uint32_t sum_count;
	struct rql_join_sum {
		enum rql_pair_sum_kind kind;
		uint32_t relation;       /* the points', or one of a table before */
		struct rql_expr *of;     /* over its own columns; PAIRS: NULL */
		struct rql_type type;    /* of the number */
		uint32_t output, column; /* of `of`: in its relation's outputs, in its form */
	} sums[RQL_PAIR_SUMS]; /* above, the relation's column i is number i */
};
/* What two relations may be joined by: columns and expressions that equalities make equal, or what a side is joined by to its owner. */
struct rql_join_edge {
	uint32_t a, b; /* relations: of `outer` and of `inner` keys; b: the side, where one of them is one */
	uint32_t key_count;
	struct rql_join_key keys[RQL_JOIN_KEYS];
	uint32_t condition_count; /* of a side */
	struct rql_join_test_of conditions[RQL_PAIR_CONDITIONS];
};
/* A relation joined to what there is. */
struct rql_join_step {
	uint32_t relation;
	enum rql_lookup_kind kind;
	bool not_in; /* ANTI: by SQL's rules of NULL, where a key may be NULL on either side */
	bool full;   /* LEFT: the relation's rows without a match stay, too; the last step */
	bool single; /* LEFT: of a row with several matches the host makes an error */
	bool mark;   /* LEFT: of the relation there is one column, RQL_JOIN_MARK: whether it has the row's key, three-valued */
	bool nearest; /* INNER, LEFT: of the rows that match the one whose value is nearest; the condition is the order of the values */
	bool ranges;  /* INNER, LEFT: of the rows that match there are counts and sums alone (rql_join_ranges) */
	uint32_t owner; /* the relation before it that has the other keys */
	uint32_t key_count;
	struct rql_join_key keys[RQL_JOIN_KEYS]; /* outer: the owner's */
	uint32_t condition_count;
	struct rql_join_test_of conditions[RQL_PAIR_CONDITIONS];
	uint32_t outer_column, inner_column; /* the key in the owner's and the relation's form */
	double distinct;                     /* values of the key, on the side that has more */
	bool texts;                          /* the key is codes of two dictionaries, joined by the texts' bytes (request.h) */
	uint32_t beside;                     /* ... conditions that are keys beside it */
	uint64_t outer_bytes, inner_bytes;   /* ... of all texts */
	const char *unit;                    /* that joins, for EXPLAIN; once it is bound */
	struct rql_drawn drawn;              /* what it is expected to draw */
};

struct rql_join_graph {
	struct rql_planning *p;
	const struct rql_block *block; /* as the planner has it, or a copy: conditions of outer joins are said by sides only */
	uint32_t relation_count, edge_count, step_count;
	uint32_t largest; /* the relation of inner joins with the most rows */
	uint32_t first;   /* the one that the steps begin with */
	struct rql_join_relation relations[RQL_JOIN_RELATIONS];
	struct rql_join_edge *edges;
	struct rql_join_ranges *ranges; /* NULL: none */
	bool bounded;                   /* a relation is joined by bounds alone, perhaps as none of these */
	struct rql_join_step steps[RQL_JOIN_RELATIONS];
	const char *order; /* for EXPLAIN: of the steps, and what other orders would take; NULL: there is one only */
	bool is_below;          /* its groups, or rows, are a relation of another graph */
	struct rql_join_graph *next; /* of a UNION ALL below: the next branch */
	struct rql_cost cost;        /* ... and what this one takes */
	const struct rql_rows_block *rows; /* the block's rows are wanted, not groups; NULL: groups and aggregates */
	struct rql_block above; /* groups and aggregates, and the conditions over several relations; no sides */
	const char *wanted; /* for EXPLAIN: which groups are asked for; NULL: all */
	struct rql_error *err;
};

/* The structure that the graph's largest relation reads, or that its groups are made of. */
static inline struct rql_structure *rql_join_base(const struct rql_join_graph *g)
{
	while (g->relation_count && g->relations[g->largest].groups)
		g = g->relations[g->largest].groups;
	return g->relation_count ? g->relations[g->largest].structure : NULL;
}
/* Rows of a relation, or most of its groups. */
static inline uint64_t rql_join_rows(const struct rql_join_relation *r)
{
	return r->structure ? r->structure->snapshot->rows : rql_join_base(r->groups)->snapshot->rows;
}

/* RQL_ERROR_UNSUPPORTED with the reason when the block is no such chain. */
rql_status rql_join_shape(struct rql_join_graph *g) RQL_MUST_CHECK;
/* Values of one column of a relation, cast or not, before its conditions. The relation has a structure. */
double rql_join_values(struct rql_join_graph *g, struct rql_join_relation *r, const struct rql_expr *e);
/* The relation of the block's table or side; RQL_NONE: there is none. */
uint32_t rql_join_relation_of(const struct rql_join_graph *g, uint32_t number);
/* The relation of a table that alone an expression of the block reads; RQL_NONE: there is none. */
uint32_t rql_join_table_of(const struct rql_join_graph *g, const struct rql_expr *e);
/* "value of one table = value of another". */
bool rql_join_is_equality(const struct rql_join_graph *g, const struct rql_expr *e);
/* The table or side whose columns, and no other's, an expression reads. */
#define RQL_JOIN_READS_NOTHING (UINT32_MAX - 2)
#define RQL_JOIN_READS_SEVERAL (UINT32_MAX - 3)
uint32_t rql_join_reader_of(const struct rql_expr *e);
/* A comparison's operator as a test of a pair; flip: of its right operand and its left one. False: it is none. */
bool rql_join_find_test(const char *name, bool flip, struct rql_join_test_of *out);
/* An expression over the relation's columns in the block, or (keys of sides) over REFs, over its table's. NULL: out of
 * memory. */
struct rql_expr *rql_join_over_own(struct rql_join_graph *g, const struct rql_join_relation *r, const struct rql_expr *e);
/* The steps, what is above them and which columns are read there, for a device. Groups are there. RQL_ERROR_UNSUPPORTED where
 * no edge leads on. */
rql_status rql_join_steps(struct rql_join_graph *g, struct rql_device *device) RQL_MUST_CHECK;
/* Can the program raise an error in some row, whatever else is tested? The host sees other rows than a join's. */
static inline bool rql_join_can_fail(const struct rql_request *request, const struct rql_source *source)
{
	return source->kind == RQL_SOURCE_PROGRAM && rql_program_can_fail(request->programs[source->index].program);
}
/* That of the method that joins two sides (method.h, pair_ns). */
double (*rql_join_pair_price(void))(const struct rql_profile *profile, const struct rql_pair_size *size);
/* Fills requests, forms and keys. Groups are there. */
rql_status rql_join_bind(struct rql_join_graph *g) RQL_MUST_CHECK;
/* Puts a key behind the relation's columns: an output as it is, or one of several parts. */
rql_status rql_join_put_key(struct rql_join_graph *g, struct rql_join_relation *r, const struct rql_form_column *form,
                            const struct rql_output *output, uint32_t *column) RQL_MUST_CHECK;
/* Codes of several dictionaries as places in the order of all their values, *count of them, 1 at least. */
void rql_join_rank_codes(const struct rql_dimension *const *of, uint32_t *const *out, uint32_t n, uint32_t *count);
/* join_ranges.c: sets g->ranges, and g->block to one whose aggregates are sums over its numbers, where a relation is joined by
 * ranges alone. RQL_ERROR_UNSUPPORTED with the reason: more is asked of it. */
rql_status rql_join_find_ranges(struct rql_join_graph *g) RQL_MUST_CHECK;
rql_status rql_join_add_range_edge(struct rql_join_graph *g, struct rql_join_edge *edge) RQL_MUST_CHECK;
/* The forms of its bounds, and of what is counted and added up. */
rql_status rql_join_bind_ranges(struct rql_join_graph *g, struct rql_join_step *step) RQL_MUST_CHECK;
/* A number as a column: of `column` of a side's form, and so many points at most. */
rql_status rql_join_sum_column(struct rql_join_graph *g, const struct rql_join_sum *sum,
                               const struct rql_store_snapshot *form, uint32_t column, uint64_t points,
                               struct rql_form_column *out) RQL_MUST_CHECK;
static inline bool rql_join_is_ranged(const struct rql_join_graph *g, uint32_t relation)
{
	return g->ranges && g->ranges->relation == relation;
}
/* The relation's rows, which *source reads all of, under those that an index or a sieve finds, where that is cheaper. */
rql_status rql_join_under(struct rql_join_graph *g, struct rql_device *device, struct rql_join_relation *r,
                          const struct rql_request *request, struct rql_columns_source *source) RQL_MUST_CHECK;
/* What a request for the relation's rows is; form: what it gives. */
static inline struct rql_request rql_join_relation_request(const struct rql_join_relation *r,
                                                           const struct rql_store_snapshot *form)
{
	struct rql_request request = r->request;
	request.wants = RQL_PORT_COLUMNS;
	request.gives = form;
	request.output_count = r->form_count;
	request.limit = UINT64_MAX;
	request.sample = r->sample;
	return request;
}
/* A side of a join that is a relation's rows may be those rows alone that an index finds by the other side's keys, which lie
 * on the device. */
struct rql_join_looked {
	struct rql_join_relation *relation;
	const struct rql_columns_source *rows, *keys; /* of the two sides; rows: the relation's */
	uint32_t rows_key, keys_key;                  /* columns */
	double share;                                 /* of the relation's rows that have such a key */
	unsigned side;                                /* of `size` that the relation is */
	struct rql_pair_size size;                    /* the join as it is now */
	/* Out: what gives them, and what that saves; NULL: no index does. */
	struct rql_prepared *prepared;
	double saved_ns;
	const char *under;
};
/* Whether it saves time is for the caller to see. */
rql_status rql_join_look_up(struct rql_join_graph *g, struct rql_device *device, struct rql_join_looked *l) RQL_MUST_CHECK;
/* All of the graph on one device, as a leaf. */
rql_status rql_join_try_device(struct rql_join_graph *g, struct rql_device *device, struct rql_leaf *leaf) RQL_MUST_CHECK;
/* What join_leaf.c and join_union.c do for each other: the rows of a branch as a request, which reads *from (the caller's to
 * drop, also after an error); the cheapest method for a request; the rows of all branches as COLUMNS. */
rql_status rql_join_bind_branch(struct rql_join_graph *g, struct rql_device *device, struct rql_request *out,
                                struct rql_columns_source *from) RQL_MUST_CHECK;
/* Joins, and the groups above them, are to be drawn (rayql_unit = raster). */
bool rql_join_wants_raster(const struct rql_settings *settings);
rql_status rql_join_leaf_prepare(struct rql_join_graph *g, struct rql_device *device, const struct rql_request *request,
                            const struct rql_method **method, struct rql_prepared **out) RQL_MUST_CHECK;
void rql_join_drop_source(struct rql_columns_source *source);
/* Those of groups and unions below that nothing has read. */
void rql_join_drop_sources(struct rql_join_graph *g);
rql_status rql_join_open_union(struct rql_join_graph *first, struct rql_device *device,
                               struct rql_columns_source *out) RQL_MUST_CHECK;
/* What is known of an output of a request for rows, as a column of a form. It has no halves, but for `halves`: then the
 * output is the upper one, and the caller sees to the other. */
rql_status rql_join_describe_any(struct rql_join_graph *g, const struct rql_request *request, uint32_t output,
                                 struct rql_form_column *out) RQL_MUST_CHECK;
rql_status rql_join_describe(struct rql_join_graph *g, const struct rql_request *request, uint32_t output,
                             struct rql_form_column *out) RQL_MUST_CHECK;
/* Are the rows the groups of a block below, all or many of them (wide_leaf.c wants an extreme) in an order? */
bool rql_join_orders_groups(const struct rql_join_graph *g);
/* Then: how many there may be, before anything is prepared. INFINITY: nothing says. */
double rql_join_ordered_most(struct rql_join_graph *g);
/* What fetching the rows of a chain costs the host beyond the joins, in values read (price_host.h). */
double rql_join_rows_host_values(const struct rql_rows_block *rows, const struct rql_cost *cost);
/* A text as it is stored is one of codes, and a number that lies as codes is a key, or a column of a UNION ALL, as a number. */
bool rql_join_is_coded(const struct rql_join_relation *r, const struct rql_expr *own);
const struct rql_expr *rql_join_value(struct rql_join_graph *g, const struct rql_expr *e);
/* A line for each join, as EXPLAIN prints them; NULL: out of memory. */
const char *rql_join_explain(const struct rql_join_graph *g);
/* What the host would need for the same, in values read (price_host.h). */
double rql_join_host_values(const struct rql_join_graph *g, const struct rql_cost *cost);
/* A request for groups, whose slots are given, becomes one for these as COLUMNS: of each slot one. `gives` is the caller's
 * to release. */
rql_status rql_join_groups_form(struct rql_arena *arena, const struct rql_slot *slots, uint32_t count,
                                struct rql_request *request, struct rql_error *err) RQL_MUST_CHECK;

#endif
