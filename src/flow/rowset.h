/* The port COLUMNS on the host: rows between two operators, as a few columns, each in the form it came in (codes of a
 * dictionary, integers, doubles), and a selection of rows in their present order. Everything lives in one arena. */
#ifndef RQL_FLOW_ROWSET_H
#define RQL_FLOW_ROWSET_H

#include "column/value/value.h"
#include "expr/expr.h"
#include "flow/operator.h"
#include "flow/run.h"

enum rql_vector_kind {
	RQL_VECTOR_COLUMN,  /* values[row] */
	RQL_VECTOR_CODES,   /* values[codes[row]]; without values the integer least + codes[row], NULL for null_code */
	RQL_VECTOR_WIDE,    /* the integer least + wide[row], modulo 2^64; NULL for null_wide; ascending if they are codes */
	RQL_VECTOR_INTEGER, /* any integral type */
	RQL_VECTOR_REAL,    /* FLOAT, DOUBLE */
};
#define RQL_NO_ROW UINT32_MAX
struct rql_vector {
	enum rql_vector_kind kind;
	struct rql_type type;
	/* What joins make of vectors without touching their values: the set's row r is the vector's row at[r]. NULL: r. */
	const uint32_t *at;
	bool outer; /* at may be RQL_NO_ROW: NULL */
	const uint32_t *codes;
	const struct rql_column *values; /* strings lie where they lay: their bytes are never copied between operators */
	int64_t least;      /* CODES without values, WIDE */
	uint32_t null_code; /* the same; UINT32_MAX: never NULL */
	bool ordered;       /* CODES: values ascend with the codes, NULL is the last */
	const uint64_t *wide;
	uint64_t null_wide; /* UINT64_MAX: never NULL */
	const rql_int128 *integer;
	const double *real;
	const uint64_t *valid; /* INTEGER, REAL: bitmap, NULL: all */
	uint32_t rank;         /* the group key that it is, counted from 1; 0: none */
};
struct rql_rowset {
	struct rql_arena *arena;
	uint64_t capacity;   /* rows in the vectors */
	uint64_t rows;       /* selected */
	uint32_t *selection; /* NULL: 0, 1, 2, ... */
	uint32_t vector_count;
	struct rql_vector *vectors;
	struct rql_batch *batch; /* rows as they came, held by the run: there are no vectors until rql_rowset_open */
	uint32_t sorted_keys; /* rows ascend by the vectors of rank 1..sorted_keys */
	struct rql_keyed_rows keyed; /* of a map to build: the rows behind these groups */
	const struct rql_leaf *whole; /* an operator's input: all of this leaf's rows, in its order. NULL: not known to be */
};

static inline uint32_t rql_rowset_row(const struct rql_rowset *set, uint64_t i)
{
	return set->selection ? set->selection[i] : (uint32_t)i;
}
/* CODES: is this code NULL? */
static inline bool rql_vector_null_code(const struct rql_vector *v, uint32_t code)
{
	return v->values ? !rql_column_valid(v->values, code) : code == v->null_code;
}
/* WIDE, not NULL: its value. */
static inline int64_t rql_vector_wide(const struct rql_vector *v, uint32_t row)
{
	return (int64_t)((uint64_t)v->least + v->wide[row]);
}
struct rql_value rql_vector_get(const struct rql_vector *vector, uint32_t row); /* eval.c */
/* May a row of it be NULL? */
bool rql_vector_nullable(const struct rql_vector *vector);

/* One run of a tree. */
struct rql_held_batch;
struct rql_running {
	const struct rql_flow *flow;
	struct rql_arena *arena;
	struct rql_held_batch *held; /* released at the end */
	struct rql_run_stats stats;
	struct rql_run_profile *profile; /* NULL: parts are not measured */
	double inner_ns;                 /* of the inputs of the operator that runs, so far */
	uint32_t ahead_count;            /* methods whose work was started together (start.c) */
	const struct rql_leaf *ahead_of[RQL_SUBMIT_MOST];
	struct rql_stage_ahead ahead[RQL_SUBMIT_MOST];
	struct rql_failed failed;
	const struct rql_pairs_offer *pairs; /* of the join that runs; NULL: the CPU finds its pairs */
	struct rql_moved moved;              /* by the operator that runs */
	double others_device_ns;             /* of devices, before it began itself */
	struct rql_shared_rows *shared; /* of common table expressions (run.c) */
	uint64_t charged;               /* bytes of flow->budget, given back at the end */
	struct rql_scratch *scratch;    /* morsels.c */
	rql_status refused;             /* the last room that was not to be had */
	struct rql_error *err;
};
/* Room for what grows with the rows: charged to the budget until the run ends, zeroed. NULL: r->refused says why,
 * RQL_ERROR_LIMIT or RQL_ERROR_MEMORY. */
void *rql_running_room(struct rql_running *r, uint64_t count, size_t size);
#define RQL_ROOM(r, pointer, count)                                                                                    \
	(((pointer) = rql_running_room((r), (count), sizeof(*(pointer)))) ? RQL_OK : (r)->refused)
/* The same for what one operator needs while it works: it goes to the next one, pages and all, when run.c says so. `zero`:
 * else there is anything in it. */
void *rql_running_scratch(struct rql_running *r, uint64_t count, size_t size, bool zero);
#define RQL_SCRATCH(r, pointer, count)                                                                                 \
	(((pointer) = rql_running_scratch((r), (count), sizeof(*(pointer)), false)) ? RQL_OK : (r)->refused)
#define RQL_ZEROED_SCRATCH(r, pointer, count)                                                                          \
	(((pointer) = rql_running_scratch((r), (count), sizeof(*(pointer)), true)) ? RQL_OK : (r)->refused)
/* start.c: before the tree runs, an error only where one of ours is behind it; what was started for the leaf (NULL:
 * nothing was); and at the end, whatever happened. */
/* The method that `pairs` names, with what `how` has for it. what: "pairs" or "groups", for errors; phase: for progress. */
rql_status rql_pairs_run(struct rql_running *r, struct rql_run how, const char *what, const char *phase) RQL_MUST_CHECK;
/* Its error where its devices have no room: `device` has the least. */
rql_status rql_pairs_no_room(struct rql_running *r, struct rql_device *device) RQL_MUST_CHECK;
rql_status rql_leaves_start(struct rql_running *r, const struct rql_operator *tree);
struct rql_stage_ahead *rql_leaf_ahead(struct rql_running *r, const struct rql_leaf *leaf);
void rql_leaves_abandon(struct rql_running *r);
void rql_scratch_give_back(struct rql_running *r); /* all of it may be used again */
void rql_scratch_free(struct rql_running *r);

/* ---- morsels (morsels.c): loops over rows on all threads of the CPU ---- */
#define RQL_MORSEL_ROWS 16384u /* 16 vectors of expr/expr.h, and a multiple of 64: a morsel's bits are words of its own */
unsigned rql_running_threads(const struct rql_running *r);
/* `rows` rows from `first` on, a multiple of RQL_MORSEL_ROWS. */
typedef rql_status rql_morsel_fn(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err);
/* RQL_ERROR_INTERRUPTED: the user has interrupted. Loops within a morsel that may take long ask. */
rql_status rql_running_ask(const struct rql_running *r, struct rql_error *err) RQL_MUST_CHECK;
/* Every morsel once, or until one fails or the user interrupts. */
rql_status rql_morsels_run(struct rql_running *r, uint64_t rows, rql_morsel_fn *fn, void *state) RQL_MUST_CHECK;
/* The same for parts that are no morsels: first is the part's number, rows 1. */
rql_status rql_parts_run(struct rql_running *r, uint64_t parts, rql_morsel_fn *fn, void *state) RQL_MUST_CHECK;
/* Rows that morsels scatter to parts. counts: [morsels][parts], rows of each; becomes where the first of them goes.
 * part_rows: [parts + 1], where each part begins. */
void rql_part_places(uint64_t *counts, uint64_t morsels, uint64_t parts, uint64_t *part_rows);

/* ---- vectors in other forms (load.c) ---- */
/* The lanes of rows[0..n), n <= RQL_VECTOR_ROWS. kind: integer kinds for integral types, BOOL also for BOOLEAN, real kinds for
 * reals. data, valid: as in rql_lanes_load; no lanes of strings and intervals. */
void rql_vector_load(const struct rql_vector *v, const uint32_t *rows, uint32_t n, enum rql_lane_kind kind, void *data,
                     uint64_t *valid, struct rql_lanes *out);
/* Their validity alone, of any type. */
void rql_vector_valid(const struct rql_vector *v, const uint32_t *rows, uint32_t n, uint64_t *valid);
/* The same rows from row `first` (a multiple of 64) of a column of the vector's type; strings by reference. The column has
 * validity if the vector is nullable. */
void rql_vector_store(const struct rql_vector *v, const uint32_t *rows, uint32_t n, struct rql_column *column,
                      uint64_t first);
/* NULL: out of memory, or the limit. */
rql_status rql_column_room(struct rql_running *r, struct rql_type type, uint64_t rows, bool nullable,
                           struct rql_column **out) RQL_MUST_CHECK;
/* The numbers of the set's rows first..first+n-1, in `room` (RQL_VECTOR_ROWS) if they lie nowhere yet. */
const uint32_t *rql_rowset_rows(const struct rql_rowset *set, uint64_t first, uint32_t n, uint32_t *room);
/* No selection any more: vectors stand at the selected rows. Row i of the set is row i of every vector. */
rql_status rql_rowset_rebase(struct rql_running *r, struct rql_rowset *set) RQL_MUST_CHECK;
/* The rows at[0..rows) of a rebased set: all its vectors by reference. outer: there is RQL_NO_ROW among them. */
rql_status rql_vectors_at(struct rql_running *r, const struct rql_rowset *set, const uint32_t *at, uint64_t rows,
                          bool outer, struct rql_vector *out) RQL_MUST_CHECK;
/* The vector without `at`, over all rows of the set's vectors. */
rql_status rql_vector_flatten(struct rql_running *r, const struct rql_rowset *set, struct rql_vector *v) RQL_MUST_CHECK;
/* One value for all rows of a rebased set. */
rql_status rql_vector_constant(struct rql_running *r, const struct rql_value *value, uint64_t rows,
                               struct rql_vector *out) RQL_MUST_CHECK;

/* ---- expressions (compute.c) ---- */
/* Conditions or expressions over the vectors of sets, by programs of expr/ where these know the types, else row by row. */
struct rql_evaluator;
rql_status rql_evaluator_new(struct rql_running *r, const struct rql_rowset *set, struct rql_expr *const *exprs,
                             uint32_t count, bool filters, uint64_t rows, struct rql_evaluator **out) RQL_MUST_CHECK;
void rql_evaluator_free(struct rql_evaluator *e); /* NULL accepted */
/* Clears in live (RQL_VECTOR_WORDS) the rows[0..n) for which not all conditions are true; *left: how many remain. set: the
 * evaluator's, or one whose vectors have the same forms. */
rql_status rql_evaluator_filter(struct rql_evaluator *e, const struct rql_rowset *set, unsigned worker,
                                const uint32_t *rows, uint32_t n, uint64_t *live, uint32_t *left,
                                struct rql_error *err) RQL_MUST_CHECK;
/* One expression over all rows of a rebased set. */
rql_status rql_rowset_compute(struct rql_running *r, const struct rql_rowset *set, const struct rql_expr *e,
                              struct rql_vector *out) RQL_MUST_CHECK;
/* Can it be evaluated by a program, whatever form its columns come in? arena: for trying. */
bool rql_expr_has_program(struct rql_arena *arena, const struct rql_expr *e);
/* native.c: can rql_rowset_eval? */
bool rql_expr_by_rows(const struct rql_expr *e);
/* The batch's rows; the run releases it, also on failure. */
rql_status rql_rowset_take(struct rql_running *r, struct rql_batch *batch, struct rql_rowset *out) RQL_MUST_CHECK;
/* shape.c: runs the leaf's method and shapes its answer. RQL_ERROR_UNSUPPORTED: a derived sum leaves its range. */
rql_status rql_leaf_run(struct rql_running *r, const struct rql_leaf *leaf, struct rql_rowset *out) RQL_MUST_CHECK;
/* lend.c: the operator's SQL over these rows of its inputs. */
rql_status rql_host_operator_run(struct rql_running *r, const struct rql_operator *op, const struct rql_rowset *inputs,
                                 struct rql_batch **out) RQL_MUST_CHECK;
/* Vectors for the rows of a batch: a row's code is its number. Nothing to do for others. */
rql_status rql_rowset_open(struct rql_rowset *set, struct rql_error *err) RQL_MUST_CHECK;
/* collapse.c: an answer that was grouped by a hidden last key, put together over the visible ones. *visible takes the
 * place of answer for all slots that are not of the key; hidden has what the others need. `alike` has the answer's keys,
 * in which those that are one are the same. */
struct rql_hidden_groups {
	const uint32_t *group; /* the visible group of each group of the answer */
	/* The other way round, where a slot needs more than the number of the key's codes; else NULL. */
	uint64_t *first;       /* [visible groups + 1]: entries of row */
	uint32_t *row;         /* groups of the answer, those of one visible group together */
	const uint32_t *codes; /* the hidden key's code of each group of the answer; NULL: it is wide */
	const uint64_t *wide;
};
rql_status rql_answer_collapse(const struct rql_leaf *leaf, struct rql_arena *arena, const struct rql_port *answer,
                               const struct rql_port *alike, struct rql_port *visible, struct rql_hidden_groups *hidden,
                               struct rql_error *err) RQL_MUST_CHECK;
/* ... grouped by reals: groups whose keys are equal become one, and *alike is made of what is then there. */
rql_status rql_answer_put_together(const struct rql_leaf *leaf, struct rql_arena *arena, struct rql_port *answer,
                                   struct rql_port *alike, struct rql_error *err) RQL_MUST_CHECK;
/* steps.c: what the node does with its children's rows (opened); native.c says which nodes may come. *out may be inputs[0],
 * which is used up. */
rql_status rql_rowset_step(struct rql_running *r, const struct rql_rel *rel, struct rql_rowset *inputs,
                           struct rql_rowset *out) RQL_MUST_CHECK;
/* order.c: keeps the first `limit` rows (UINT64_MAX: all) in order. */
rql_status rql_rowset_sort(struct rql_running *r, struct rql_rowset *set, const struct rql_order *orders, uint32_t count,
                           uint64_t limit) RQL_MUST_CHECK;
/* order.c: of the rows with equal expressions the first one in the node's order; of several such the first of the set. */
rql_status rql_rowset_distinct_on(struct rql_running *r, struct rql_rowset *set, const struct rql_rel *rel) RQL_MUST_CHECK;
/* join.c, aggregate.c, setop.c: the operators of several inputs, or that put rows together. Inputs are opened. */
rql_status rql_rowset_join(struct rql_running *r, const struct rql_rel *rel, struct rql_rowset *inputs,
                           struct rql_rowset *out) RQL_MUST_CHECK;
/* aggregate_ranges.c: both at once, without the pairs. *done: as that is possible; else nothing was done. */
rql_status rql_rowset_aggregate_ranges(struct rql_running *r, const struct rql_rel *rel, const struct rql_rel *join,
                                       struct rql_rowset *inputs, struct rql_rowset *out, bool *done) RQL_MUST_CHECK;
rql_status rql_rowset_aggregate(struct rql_running *r, const struct rql_rel *rel, struct rql_rowset *input,
                                struct rql_rowset *out) RQL_MUST_CHECK;
rql_status rql_rowset_distinct(struct rql_running *r, struct rql_rowset *set) RQL_MUST_CHECK;
rql_status rql_rowset_setop(struct rql_running *r, const struct rql_rel *rel, struct rql_rowset *inputs,
                            struct rql_rowset *out) RQL_MUST_CHECK;
/* As DuckDB divides, where it does so itself: by long double where its state is a hugeint, by double where it is an int64
 * (arguments of two bytes: narrow). false: another way may give another digit, or the sum is too large for it. scale: of
 * a DECIMAL argument. */
bool rql_integer_average(rql_int128 sum, rql_int128 count, unsigned scale, bool narrow, enum rql_average average,
                         double *out);
/* As DuckDB: exact halves, one rounding each. */
double rql_hugeint_to_double(rql_int128 v);
double rql_decimal_nearest(rql_int128 value, unsigned scale); /* value / 10^scale, rounded once */
/* eval.c: one row's value of a native expression (native.c). RQL_ERROR_UNSUPPORTED: the host would raise an
 * error. */
rql_status rql_rowset_eval(const struct rql_rowset *set, const struct rql_expr *expr, uint32_t row,
                           struct rql_value *out, struct rql_error *err) RQL_MUST_CHECK;
/* A batch of its own from the selected rows. */
rql_status rql_rowset_batch(struct rql_running *r, const struct rql_rowset *set, struct rql_batch **out) RQL_MUST_CHECK;

#endif
