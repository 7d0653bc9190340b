/* Making expressions and nodes of the algebra (rel.h), and looking through expressions. What gives a pointer gives NULL
 * when it is out of memory. */
#ifndef RQL_SQL_REL_EDIT_H
#define RQL_SQL_REL_EDIT_H

#include "sql/rel/rel.h"

/* Growing list of expressions in an arena. */
struct rql_expr_list {
	uint32_t count, capacity;
	struct rql_expr **items;
};
bool rql_expr_list_add(struct rql_arena *arena, struct rql_expr_list *list, struct rql_expr *expr);

/* ---- expressions ---- */
struct rql_expr *rql_expr_new(struct rql_arena *arena, enum rql_expr_kind kind, struct rql_type type,
                              uint32_t child_count);
/* a <name> b as BOOLEAN. */
struct rql_expr *rql_expr_comparison(struct rql_arena *arena, const char *name, struct rql_expr *a, struct rql_expr *b);
struct rql_expr *rql_expr_bool(struct rql_arena *arena, bool value);
/* A REF to a column of rel, under its name. */
struct rql_expr *rql_expr_ref(struct rql_arena *arena, const struct rql_rel *rel, uint32_t column);

/* Calls fn with every COLUMN and REF leaf of a scalar expression; stops when it gives false. */
typedef bool rql_leaf_fn(const struct rql_expr *leaf, void *state);
bool rql_expr_leaves(const struct rql_expr *expr, rql_leaf_fn *fn, void *state);
/* Calls fn with every REF, also of windows and of orders inside aggregates; stops when it gives false. */
bool rql_expr_each_ref(const struct rql_expr *expr, rql_leaf_fn *fn, void *state);
/* How many different REFs expr reads: 0, 1 (*index is it), or 2 for two and more. */
uint32_t rql_expr_refs(const struct rql_expr *expr, uint32_t *index);
/* The nodes of expr once its REFs are replaced by what they stand for (columns NULL: as it is); counted up to `most`. */
uint32_t rql_expr_size(const struct rql_expr *expr, struct rql_expr *const *columns, uint32_t most);
/* test holds for expr or something below it. */
typedef bool rql_expr_test(const struct rql_expr *expr);
bool rql_expr_any(const struct rql_expr *expr, rql_expr_test *test);
/* A copy in which fn replaces what it wants to: it is asked for every node from the top down, and gives the
 * replacement, or NULL to keep the node and go on with its children. A COLUMN or REF leaf for which it gives NULL makes
 * the whole call give NULL (as running out of memory does). */
typedef struct rql_expr *rql_replace_fn(struct rql_arena *arena, const struct rql_expr *expr, void *state);
struct rql_expr *rql_expr_transform(struct rql_arena *arena, const struct rql_expr *expr, rql_replace_fn *fn,
                                    void *state);

/* ---- nodes ---- */
struct rql_rel *rql_rel_new(struct rql_arena *arena, enum rql_rel_kind kind, const char *name, uint32_t column_count,
                            uint32_t child_count);
/* A node over child with child's columns and room for expr_count expressions. */
struct rql_rel *rql_rel_over(struct rql_arena *arena, enum rql_rel_kind kind, const char *name, struct rql_rel *child,
                             uint32_t expr_count);
/* A FILTER over child; child itself when there is no conjunct. */
struct rql_rel *rql_rel_filter(struct rql_arena *arena, struct rql_rel *child, const struct rql_expr_list *conjuncts);
/* A PROJECT over child; columns take the expressions' types and aliases. */
struct rql_rel *rql_rel_project(struct rql_arena *arena, struct rql_rel *child, struct rql_expr *const *exprs,
                                uint32_t count);

/* How often rel reads a common table expression. */
uint32_t rql_rel_cte_refs(const struct rql_rel *rel, uint64_t cte);

/* ---- normal form ---- */
/* Moves conditions as near to their tables as they may go, through projections, group keys, DISTINCT, ORDER BY, UNION and
 * the inputs of joins; makes inner joins of cross products, of outer joins whose rows of NULLs a condition drops, and
 * semi and anti joins of marks that are only filtered by; puts a common table expression that is read once where it is
 * read; makes TOP_N of ORDER BY with LIMIT. The plan must have no volatile function that matters (its place and the
 * number of its calls may change). rel is used up. */
struct rql_rel *rql_rel_push_filters(struct rql_arena *arena, struct rql_rel *rel);
/* Leaves out columns that nobody above reads, and aggregates likewise. rel's own columns stay. */
struct rql_rel *rql_rel_prune(struct rql_arena *arena, struct rql_rel *rel);

#endif
