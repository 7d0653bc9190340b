/* A star over a columns structure -> a request of rows (method/request.h) and the slots of its answer. */
#ifndef RQL_BIND_SCAN_BIND_H
#define RQL_BIND_SCAN_BIND_H

#include "bind/relation/slots.h"
#include "bind/star/scan_map.h"
#include "catalog/catalog.h"
#include "flow/compute/compile.h"

/* A list of expressions that become results of one program: what groups and aggregates read. */
struct rql_scan_binding {
	const struct rql_plan_context *ctx;
	struct rql_arena *arena; /* everything lives here */
	const struct rql_star *star;
	const struct rql_store_snapshot *snapshot;
	const uint32_t *column_ids;      /* of the snapshot's columns, in the table */
	const struct rql_scan_dim *dims; /* by subtree */
	struct rql_compile_context compile;
	/* the request, as far as it is made */
	uint32_t program_count, conjunct_count, group_count, agg_count;
	struct rql_row_program *programs;
	struct rql_conjunct *conjuncts;
	bool at_first; /* of the condition that is being bound */
	/* scan_tuples.c: of the request. While conditions are bound, whose parts they are. */
	uint32_t tuple_count;
	struct rql_value_tuples *tuples;
	const struct rql_expr_tuples **tuples_of;
	struct rql_group_key *groups;
	struct rql_agg *aggs;
	struct rql_scan_days *days; /* scan_tests.c: of columns of dates; NULL: none yet */
	uint32_t days_count;
	struct rql_text_numbers *text_numbers; /* scan_texts.c: what its expressions stand for */
	uint32_t text_lists;
	struct rql_expr_list answers; /* results of the program that is made last */
	/* the leaf, as far as it is made */
	struct rql_slot *slots; /* groups, then aggregates */
	bool hidden_key;
	struct rql_error *err;
};

/* An aggregate that no SQL has: the sum of numbers that are counts, as a count: 0 of nothing. */
#define RQL_SUM_OF_COUNTS "sum of counts"

struct rql_scan_bound {
	struct rql_request request;
	uint32_t key_count; /* of the request's groups: without the hidden one */
	bool hidden_key;
	struct rql_slot *slots;
};

/* joins: one for each subtree, in their order. Fails as RQL_ERROR_UNSUPPORTED with the reason. */
rql_status rql_scan_bind(const struct rql_plan_context *ctx, struct rql_arena *arena, const struct rql_star *star,
                         const struct rql_structure *structure, const struct rql_scan_dim *dims,
                         struct rql_scan_bound *out, struct rql_error *err) RQL_MUST_CHECK;

/* A selection over the same star: its columns and order keys are the block's groups. (scan_rows_bind.c) */
rql_status rql_scan_bind_rows(const struct rql_plan_context *ctx, struct rql_arena *arena, const struct rql_star *star,
                              const struct rql_rows_block *rows, const struct rql_structure *structure,
                              const struct rql_scan_dim *dims, struct rql_request *out,
                              struct rql_error *err) RQL_MUST_CHECK;

/* ---- parts ---- */
/* Room for what the star asks for, and its joins. */
rql_status rql_scan_bind_begin(struct rql_scan_binding *b, struct rql_lookup **joins) RQL_MUST_CHECK;
/* The last program, of all answers; none, when there is no answer. */
rql_status rql_scan_compile_answers(struct rql_scan_binding *b) RQL_MUST_CHECK;
/* The store's column of a COLUMN of the fact table; RQL_NONE: the structure has it not, or as halves (scan_halves.c). */
uint32_t rql_scan_find_column(const struct rql_store_snapshot *snapshot, const uint32_t *column_ids,
                              const struct rql_expr *column);
/* The only COLUMN that e reads, when it reads no REF; NULL: none, or several. */
const struct rql_expr *rql_scan_only_column(const struct rql_expr *e);
/* For which values of its only column, an integer or real one, a condition is true; out stays where that is not found. */
void rql_scan_true_ranges(struct rql_arena *arena, const struct rql_expr *e, uint32_t column, rql_type_id type,
                          struct rql_value_ranges *out);
/* A condition that tests a part of tuples; and then, with all conditions, the tuples of the request. */
void rql_scan_note_part(struct rql_scan_binding *b, const struct rql_expr *e, uint32_t column);
rql_status rql_scan_finish_tuples(struct rql_scan_binding *b) RQL_MUST_CHECK;
rql_status rql_scan_join_tuples(struct rql_scan_binding *b, const struct rql_lookup *lookups) RQL_MUST_CHECK;
rql_status rql_scan_refuse_type(struct rql_scan_binding *b, const char *before, const struct rql_expr *e);
/* e with its only COLUMN as REF 0, for codes.h. NULL: out of memory. */
struct rql_expr *rql_scan_over_ref(struct rql_arena *arena, const struct rql_expr *e);
/* e as a program must be given it: a bare column as its values, not its codes. NULL: out of memory. */
const struct rql_expr *rql_scan_as_value(struct rql_scan_binding *b, const struct rql_expr *e);
/* Adds a program; its inputs follow from the compiler's numbers. */
rql_status rql_scan_add_program(struct rql_scan_binding *b, const struct rql_program *program,
                                uint32_t *out) RQL_MUST_CHECK;
/* scan_tests.c: how many days lie between the least and the greatest of a column of dates that is not coded, when they
 * are few enough to be tried one by one, else 0; and these days, in order, NULL last (NULL: out of memory). */
uint32_t rql_scan_span(const struct rql_store_column *stored);
const struct rql_dimension *rql_scan_days(struct rql_scan_binding *b, uint32_t column);
/* scan_texts.c: a text that a CASE or COALESCE takes from columns and constants, as a list of texts and an expression
 * of INTEGER that is the text's place in it; NULL where the text is. The list's entry behind the last is NULL. Equal
 * texts have one place. RQL_ERROR_UNSUPPORTED with the reason: there is no such list. */
struct rql_scan_texts {
	struct rql_expr *number;
	struct rql_column *values; /* count + 1 */
	uint32_t count;
};
bool rql_scan_has_texts(const struct rql_expr *e);
rql_status rql_scan_bind_texts(struct rql_scan_binding *b, const struct rql_expr *e,
                               struct rql_scan_texts *out) RQL_MUST_CHECK;
/* What the program's compiler asks about a part of such an expression: the places of a column's codes. NULL: e has
 * none. */
struct rql_text_numbers {
	struct rql_text_numbers *next;
	const char *name;
	const struct rql_column *values; /* NULL: the codes themselves */
	uint32_t count;
};
const struct rql_text_numbers *rql_scan_text_numbers(const struct rql_scan_binding *b, const struct rql_expr *e);
/* scan_halves.c: the upper half of a COLUMN that is two columns of a form (column/form.h); RQL_NONE: it is none. */
uint32_t rql_scan_find_halves(const struct rql_store_snapshot *snapshot, const uint32_t *column_ids,
                              const struct rql_expr *column);
/* The halves of a number that reads such columns; false: it is none, or not computed by halves. A NULL among them: out
 * of memory. */
bool rql_scan_halve(const struct rql_scan_binding *b, const struct rql_expr *e, const struct rql_expr *out[2]);
/* Functions of such a number alone, which no SQL has: its halves. */
#define RQL_UPPER_HALF "upper half"
#define RQL_LOWER_HALF "lower half"
/* Comparisons of such numbers, wherever they stand, as ones of their halves; what else reads them stays. NULL: out of
 * memory. */
const struct rql_expr *rql_scan_over_halves(struct rql_scan_binding *b, const struct rql_expr *e);
/* The star's conjuncts. */
rql_status rql_scan_bind_conjuncts(struct rql_scan_binding *b) RQL_MUST_CHECK;
/* scan_keys.c: group keys of these expressions; slots[i] is the i-th one's. Keys that are results of the last program
 * get their range by rql_scan_finish_keys. */
rql_status rql_scan_bind_keys(struct rql_scan_binding *b, struct rql_expr *const *exprs, uint32_t count,
                              struct rql_slot *slots) RQL_MUST_CHECK;
rql_status rql_scan_finish_keys(struct rql_scan_binding *b, const struct rql_program *program) RQL_MUST_CHECK;
/* A result of the last program. */
rql_status rql_scan_add_answer(struct rql_scan_binding *b, const struct rql_expr *e,
                               struct rql_source *out) RQL_MUST_CHECK;

#endif
