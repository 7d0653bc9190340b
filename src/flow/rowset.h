/* The port COLUMNS on the host: rows between two operators, as a few columns, each in the form it came in (codes of a
 * dictionary, integers, doubles), and a selection of rows in their present order. Everything lives in one arena. */
#ifndef RQL_FLOW_ROWSET_H
#define RQL_FLOW_ROWSET_H

#include "column/value.h"
#include "flow/operator.h"
#include "flow/run.h"

enum rql_vector_kind {
	RQL_VECTOR_CODES,   /* values[codes[row]]; without values the integer least + codes[row], NULL for null_code */
	RQL_VECTOR_WIDE,    /* the integer least + wide[row], modulo 2^64; NULL for null_wide; ascending if they are codes */
	RQL_VECTOR_INTEGER, /* any integral type */
	RQL_VECTOR_REAL,    /* FLOAT, DOUBLE */
	RQL_VECTOR_VALUES,  /* computed */
};
struct rql_vector {
	enum rql_vector_kind kind;
	struct rql_type type;
	const uint32_t *codes;
	const struct rql_column *values;
	int64_t least;      /* CODES without values, WIDE */
	uint32_t null_code; /* the same; UINT32_MAX: never NULL */
	bool ordered;       /* CODES: values ascend with the codes, NULL is the last */
	const uint64_t *wide;
	uint64_t null_wide; /* UINT64_MAX: never NULL */
	const rql_int128 *integer;
	const double *real;
	struct rql_value *computed;
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
struct rql_value rql_vector_get(const struct rql_vector *vector, uint32_t row);

/* One run of a tree. */
struct rql_held_batch;
struct rql_running {
	const struct rql_flow *flow;
	struct rql_arena *arena;
	struct rql_held_batch *held; /* released at the end */
	struct rql_run_stats stats;
	struct rql_run_passes *passes; /* NULL: they are not measured */
	const struct rql_leaf *failed;
	struct rql_error *err;
};
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
 * place of answer for all slots that are not of the key; hidden has what the others need. */
struct rql_hidden_groups {
	const uint32_t *group; /* the visible group of each group of the answer */
	/* The other way round, where a slot needs more than the number of the key's codes; else NULL. */
	uint64_t *first;       /* [visible groups + 1]: entries of row */
	uint32_t *row;         /* groups of the answer, those of one visible group together */
	const uint32_t *codes; /* the hidden key's code of each group of the answer; NULL: it is wide */
	const uint64_t *wide;
};
rql_status rql_answer_collapse(const struct rql_leaf *leaf, struct rql_arena *arena, const struct rql_answer *answer,
                               struct rql_answer *visible, struct rql_hidden_groups *hidden,
                               struct rql_error *err) RQL_MUST_CHECK;
/* steps.c: what the node does with its only child's rows; native.c says which nodes may come. */
rql_status rql_rowset_step(struct rql_rowset *set, const struct rql_rel *rel, struct rql_error *err) RQL_MUST_CHECK;
/* order.c: keeps the first `limit` rows (UINT64_MAX: all) in order. */
rql_status rql_rowset_sort(struct rql_rowset *set, const struct rql_order *orders, uint32_t count, uint64_t limit,
                           struct rql_error *err) RQL_MUST_CHECK;
/* eval.c: one row's value of a native expression (native.c). RQL_ERROR_UNSUPPORTED: the host would raise an
 * error. */
rql_status rql_rowset_eval(const struct rql_rowset *set, const struct rql_expr *expr, uint32_t row,
                           struct rql_value *out, struct rql_error *err) RQL_MUST_CHECK;
/* A batch of its own from the selected rows. */
rql_status rql_rowset_batch(const struct rql_rowset *set, struct rql_batch **out, struct rql_error *err) RQL_MUST_CHECK;

#endif
