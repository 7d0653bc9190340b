/* The definition of a cube as the matcher sees it (plan.h has the part that builders see). */
#ifndef RQL_PLAN_DEFINITION_H
#define RQL_PLAN_DEFINITION_H

#include <stdatomic.h>
#include "plan/block.h"
#include "plan/plan.h"

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

#endif
