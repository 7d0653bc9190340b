/* Scalar expressions of the algebra -> programs (expr/), for the executors that scan rows. */
#ifndef RQL_FLOW_COMPILE_H
#define RQL_FLOW_COMPILE_H

#include "expr/building/build.h"
#include "sql/rel/rel.h"

/* How a column (a REF or a COLUMN) comes into a run. */
struct rql_compile_column {
	struct rql_input_spec input;
	bool coded; /* the input holds dictionary codes (I32) of values of input.type; the bounds are those of the codes */
	/* Not coded: functions of it may be tables of this many values, from the least of the bounds on; 0: none. The input
	 * is I32 then. */
	uint32_t span;
	/* The input is a HUGEINT that has the bits of a UHUGEINT, of which a program can only say whether they are the same. */
	bool bits;
};

/* What an expression over one column gives for each of its codes, or values of its span, and for NULL. */
struct rql_compile_table {
	const struct rql_column *values; /* `count` rows of the expression's type; NULL: an INTEGER, the code itself */
	uint32_t count;
	struct rql_value null_value; /* of the expression's type */
	bool lasts;                  /* values live as long as the program */
};

struct rql_compile_context {
	struct rql_arena *arena; /* the program lives here */
	/* false: not there (the compilation then fails as UNSUPPORTED). */
	bool (*column)(void *state, const struct rql_expr *ref, struct rql_compile_column *out);
	/* Evaluates expr, in which `column` is the only column, over its dictionary or span: usually by the host. Asked for
	 * the largest such expressions. RQL_ERROR_UNSUPPORTED: not for this one; any other failure ends the compilation. May
	 * be NULL: coded columns can then only be tested for NULL and be results. */
	rql_status (*table)(void *state, const struct rql_expr *expr, const struct rql_expr *column,
	                    struct rql_compile_table *out, struct rql_error *err);
	void *state;
	bool null_at_zero; /* DuckDB's ieee_floating_point_ops is off: a real divided by 0 is NULL */
};

/* One program with the expressions as its results, in their order; NULLs, types and errors are DuckDB's (expr/expr.h says
 * which rows can raise errors). RQL_ERROR_UNSUPPORTED, with the reason: the host must evaluate them. A coded column that
 * is an expression itself gives its codes. */
rql_status rql_compile_expressions(const struct rql_compile_context *ctx, const struct rql_expr *const *exprs,
                                   uint32_t count, struct rql_program **out, struct rql_error *err) RQL_MUST_CHECK;
/* A program for rql_program_filter: all conjuncts are true, evaluated in this order. count >= 1. */
rql_status rql_compile_filter(const struct rql_compile_context *ctx, const struct rql_expr *const *conjuncts,
                              uint32_t count, struct rql_program **out, struct rql_error *err) RQL_MUST_CHECK;

#endif
