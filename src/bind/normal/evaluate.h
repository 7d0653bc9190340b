/* Expressions evaluated while planning, by the programs that scans run (expr/): of constants, and of one column whose
 * values are all there, such as a dictionary's. */
#ifndef RQL_BIND_EVALUATE_H
#define RQL_BIND_EVALUATE_H

#include "sql/rel/rel.h"

/* The value of an expression without columns. false: programs do not know it, or it fails. */
bool rql_evaluate_constant(struct rql_arena *arena, const struct rql_expr *e, struct rql_value *out);
/* The expression for each of `rows` values, which stand for whatever column it reads; *out, of its type, in arena. false:
 * programs do not know it or the values' type, or it fails for one of them. */
bool rql_evaluate_column(struct rql_arena *arena, const struct rql_expr *e, const struct rql_column *values,
                         uint64_t rows, struct rql_column *out);

#endif
