/* Predicates and group keys over dimensions, made into codes: the step from expressions to a method's request. Whatever
 * is not a plain comparison is evaluated by the host over the dictionary, once (design.md, "Exactness"). */
#ifndef RQL_BIND_BIND_H
#define RQL_BIND_BIND_H

#include "bind/relation/match.h"
#include "method/method.h"

#define RQL_BIND_MAX_BOXES 64u

struct rql_box_list {
	uint32_t count;
	struct rql_box boxes[RQL_BIND_MAX_BOXES]; /* disjoint */
};
/* Rows for which all predicates are true. RQL_ERROR_UNSUPPORTED: a predicate compares two dimensions, or needs too many
 * boxes. */
rql_status rql_bind_predicates(const struct rql_plan_context *ctx, struct rql_arena *arena,
                               const struct rql_relation *relation, struct rql_expr *const *predicates, uint32_t count,
                               struct rql_box_list *out, struct rql_error *err) RQL_MUST_CHECK;
/* A group key: a dimension itself, or an expression of one. *values has key->key_count entries, ascending, NULL last.
 */
rql_status rql_bind_group(const struct rql_plan_context *ctx, struct rql_arena *arena,
                          const struct rql_relation *relation, const struct rql_expr *expr, struct rql_group_key *key,
                          const struct rql_column **values, struct rql_error *err) RQL_MUST_CHECK;

/* The same over one dictionary; expr's only REF is the dimension, whatever its index. */
rql_status rql_bind_dimension_group(const struct rql_plan_context *ctx, struct rql_arena *arena,
                                    const struct rql_dimension *dimension, const struct rql_expr *expr,
                                    struct rql_group_key *key, const struct rql_column **values,
                                    struct rql_error *err) RQL_MUST_CHECK;

#endif
