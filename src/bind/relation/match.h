/* Does a block of a query follow from a definition? (Materialized-view matching as in J. Goldstein, P.-A. Larson,
 * SIGMOD 2001, for views that group: same tables, the view's conditions implied, the rest over its dimensions.) */
#ifndef RQL_BIND_MATCH_H
#define RQL_BIND_MATCH_H

#include "bind/block/definition.h"

struct rql_match {
	uint32_t predicate_count;     /* conjuncts beyond the definition's own */
	struct rql_expr **predicates; /* over RQL_EXPR_REF: index is a dimension */
	struct rql_expr **groups;     /* [block->group_count], over dimensions likewise */
	struct rql_expr **aggs;       /* [block->agg_count], arguments over the definition's base columns */
};

/* RQL_ERROR_UNSUPPORTED: it does not match; err says why in one line. */
rql_status rql_match(struct rql_arena *arena, const struct rql_block *block, const struct rql_definition *def,
                     struct rql_match **out, struct rql_error *err) RQL_MUST_CHECK;
/* Same expression over dimensions (as predicates are), from one over base columns. NULL when a column is no dimension;
 * *missing (may be NULL) is then its name. */
struct rql_expr *rql_over_dimensions(struct rql_arena *arena, const struct rql_definition *def,
                                     const struct rql_expr *expr, const char **missing);

#endif
