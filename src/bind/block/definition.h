/* The definition of a cube as the matcher sees it (plan.h has the part that builders see). */
#ifndef RQL_BIND_DEFINITION_H
#define RQL_BIND_DEFINITION_H

#include <stdatomic.h>
#include "bind/block/block.h"
#include "bind/context.h"

struct rql_definition_arg {  /* a measure: one argument of aggregates */
	struct rql_expr *expr;   /* over base columns, columns replaced by their class's representative */
	struct rql_expr *source; /* the same over the input of the plan's aggregate node, for the build query */
	const char *name;
	bool sum, min, max;
};

struct rql_column_id {
	uint32_t table, index;
};
struct rql_column_pair { /* column and the representative of its equality class */
	struct rql_column_id column, representative;
};

struct rql_definition {
	_Atomic uint32_t references;
	struct rql_arena *arena;
	struct rql_rel *aggregate; /* the plan's node; its child is what the build query reads */
	struct rql_block *block;   /* with representatives in place of columns, but for the equi-joins themselves */
	uint32_t pair_count;
	struct rql_column_pair *pairs;
	uint32_t name_count;
	const char **dimension_names; /* [block->group_count] */
	uint32_t measure_count;
	struct rql_definition_arg *measures;
};

/* Replaces columns by the representatives of their classes in def. NULL: out of memory. */
struct rql_expr *rql_definition_represent(const struct rql_definition *def, struct rql_arena *arena,
                                          const struct rql_expr *expr);
/* Equality classes of columns from the equi-joins among conjuncts: pairs for every column that is in one. The
 * representative is the smallest (table, index). false: out of memory. */
bool rql_column_classes(struct rql_arena *arena, struct rql_expr *const *conjuncts, uint32_t count,
                        struct rql_column_pair **out, uint32_t *out_count);
struct rql_column_id rql_column_representative(const struct rql_column_pair *pairs, uint32_t count,
                                               struct rql_column_id column);

/* ---- of materialized views ---- */
struct rql_definition; /* immutable, reference-counted */
/* Plans the defining SELECT and checks that it is one: GROUP BY (or none) over tables, inner joins and filters, with
 * aggregates that a cube can hold, and no function whose value changes. RQL_ERROR_STATEMENT names what is in the way
 * and what to do; RQL_ERROR_HOST is DuckDB's own error (an unknown column ...). */
rql_status rql_definition_make(const struct rql_plan_context *ctx, const char *query, struct rql_definition **out,
                               struct rql_error *err) RQL_MUST_CHECK;
void rql_definition_retain(struct rql_definition *def);
void rql_definition_release(void *def);
/* The base tables read, each once. */
uint32_t rql_definition_table_count(const struct rql_definition *def);
void rql_definition_table(const struct rql_definition *def, uint32_t index, const char **database, const char **schema,
                          const char **name);
/* What to build: fills everything of the spec but name, rollup, order, budget, progress, device (declared in
 * method/cube/cube.h; the planner knows methods only through method.h, so these are given in parts). */
uint32_t rql_definition_dimension_count(const struct rql_definition *def);
struct rql_type rql_definition_dimension_type(const struct rql_definition *def, uint32_t index);
const char *rql_definition_dimension_name(const struct rql_definition *def, uint32_t index);
struct rql_definition_measure {
	struct rql_type type;
	const char *name;
	bool sum, min, max;
};
uint32_t rql_definition_measure_count(const struct rql_definition *def);
struct rql_definition_measure rql_definition_measure_at(const struct rql_definition *def, uint32_t index);
/* The query that pushes every row into a sink, malloc'ed: SELECT count(rayql_sink(N, dimensions..., measures...)) FROM
 * ... */
char *rql_definition_source(const struct rql_definition *def, uint64_t sink);

#endif
