/* A plan as the host bound it -> the form that the rest of this folder reads: constants folded, conditions simplified and
 * near their tables, correlated subqueries and marks as joins where they can be, no column that nobody reads. The host's
 * optimiser is not asked: what it would do and RayQL needs is here and in sql/ (rel_edit.h). */
#ifndef RQL_BIND_NORMAL_H
#define RQL_BIND_NORMAL_H

#include "bind/context.h"
#include "sql/rel/rel_edit.h"

/* *root is used up. The plan has no volatile function (bind/normal/stability.h); what holds within one query (now()) is folded, so
 * that such a plan serves but once. RQL_ERROR_UNSUPPORTED: the host must answer, and why; else fails for
 * memory and interruption only. */
rql_status rql_plan_normalise(const struct rql_plan_context *ctx, struct rql_arena *arena, struct rql_rel **root,
                              struct rql_error *err) RQL_MUST_CHECK;

/* ---- steps ---- */
/* fold.c: expressions without columns become constants; where RayQL cannot evaluate one, the host does (by_host), all in
 * one query. RQL_ERROR_UNSUPPORTED: one fails. AND, OR, NOT and CASE lose what constants decide. */
rql_status rql_plan_fold(const struct rql_plan_context *ctx, struct rql_arena *arena, struct rql_rel *root, bool by_host,
                         struct rql_error *err) RQL_MUST_CHECK;
/* fold_cast.c: the text as a value of the type. false: written in a form that is left to the host, or it fails. */
bool rql_plan_fold_text(const struct rql_value *text, struct rql_type type, struct rql_value *out);
/* fold_call.c: the value of a call of constants. false: another one than those it knows, or left to the host. */
bool rql_plan_fold_call(const struct rql_expr *call, struct rql_value *out);
/* simplify.c: NULL: out of memory. */
struct rql_rel *rql_plan_simplify(struct rql_arena *arena, struct rql_rel *root);
/* exists_extremes.c: semi and anti joins with one comparison beyond their keys as joins with groups. NULL: out of memory. */
struct rql_rel *rql_plan_exists_extremes(struct rql_arena *arena, struct rql_rel *root);
/* equalities.c: IS NOT DISTINCT FROM becomes = in joins where that says the same. false: out of memory. */
bool rql_plan_plain_equalities(struct rql_arena *arena, struct rql_rel *root);
/* ... and in conditions of rows where one side is a constant. false: out of memory. */
bool rql_plan_plain_conditions(struct rql_arena *arena, struct rql_rel *root);

#endif
