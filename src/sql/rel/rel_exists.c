/* EXISTS over any condition as a semi join. The reader has CTE(outer, MARK(CTE_REF, project(T JOIN D ON C))) for it, D being
 * the distinct values of outer columns (plan_delim.c took those away that equalities give). Where the mark is all that is
 * asked, an outer row passes when T has a row for which C holds of the two: the semi join of outer and T by C. */
#include <string.h>
#include "sql/rel/rel_internal.h"

/* The join of T and D below projections; *column: one of `inner`'s, then of the join. NULL: it is of another shape. */
static const struct rql_rel *find_join(const struct rql_rel *inner, uint32_t *column)
{
	while (inner->kind == RQL_REL_PROJECT) {
		const struct rql_expr *e = *column < inner->expr_count ? inner->exprs[*column] : NULL;
		if (!e || e->kind != RQL_EXPR_REF)
			return NULL;
		*column = e->index;
		inner = inner->children[0];
	}
	return inner->kind == RQL_REL_JOIN && inner->join == RQL_JOIN_INNER ? inner : NULL;
}

/* D of the CTE, as the join's right input. */
static const struct rql_rel *find_values(const struct rql_rel *join, uint64_t cte)
{
	const struct rql_rel *d = join->children[1];
	return rql_rel_is_delim_get(d) && rql_rel_cte_refs(d, cte) && !rql_rel_cte_refs(join->children[0], cte) ? d->children[0] : NULL;
}

/* Each condition of the mark says that a column of D is what it was made of, and each column of D has one. */
static const struct rql_rel *understand(const struct rql_rel *cte)
{
	const struct rql_rel *mark = cte->children[1], *join = NULL;
	uint32_t outers = mark->children[0]->column_count;
	uint64_t seen = 0;
	for (uint32_t i = 0; i < mark->expr_count; i++) {
		const struct rql_expr *e = mark->exprs[i];
		const struct rql_expr *inner = e->kind == RQL_EXPR_COMPARE ? e->children[1] : NULL;
		if (!inner || strcmp(e->name, "IS NOT DISTINCT FROM") != 0 || inner->kind != RQL_EXPR_REF || inner->index < outers)
			return NULL;
		uint32_t column = inner->index - outers;
		join = find_join(mark->children[1], &column);
		const struct rql_rel *values = join ? find_values(join, cte->cte) : NULL;
		uint32_t first = join ? join->children[0]->column_count : 0;
		if (!values || column < first || column - first >= values->expr_count || values->expr_count > 64 ||
		    !rql_expr_equal(values->exprs[column - first], e->children[0]))
			return NULL;
		seen |= 1ull << (column - first);
	}
	uint32_t columns = join ? join->children[1]->column_count : 0;
	return columns && seen == (columns == 64 ? UINT64_MAX : (1ull << columns) - 1) ? join : NULL;
}

struct moving {
	const struct rql_rel *values;
	uint32_t outers, inners; /* columns of outer and of T */
};

static struct rql_expr *to_semi(struct rql_arena *arena, const struct rql_expr *ref, void *state)
{
	const struct moving *m = state;
	if (ref->index >= m->inners)
		return m->values->exprs[ref->index - m->inners];
	struct rql_expr *copy = RQL_NEW(arena, struct rql_expr);
	if (copy) {
		*copy = *ref;
		copy->index += m->outers;
	}
	return copy;
}

bool rql_rel_is_exists(const struct rql_rel *cte)
{
	const struct rql_rel *mark = cte->children[1];
	return cte->cte >= RQL_DELIM_CTE && mark->kind == RQL_REL_JOIN && mark->join == RQL_JOIN_MARK &&
	       mark->children[0]->kind == RQL_REL_CTE_REF && mark->children[0]->cte == cte->cte && understand(cte);
}

struct rql_rel *rql_rel_exists(struct rql_arena *arena, const struct rql_rel *cte, bool anti)
{
	const struct rql_rel *join = understand(cte);
	struct rql_rel *outer = cte->children[0];
	struct moving m = {join->children[1]->children[0], outer->column_count, join->children[0]->column_count};
	struct rql_rel *rel = rql_rel_over(arena, RQL_REL_JOIN, "LOGICAL_COMPARISON_JOIN", outer, join->expr_count);
	struct rql_rel **inputs = RQL_NEW_ARRAY(arena, struct rql_rel *, 2);
	if (!rel || !inputs)
		return NULL;
	inputs[0] = outer;
	inputs[1] = join->children[0];
	rel->children = inputs;
	rel->child_count = 2;
	rel->join = anti ? RQL_JOIN_ANTI : RQL_JOIN_SEMI;
	for (uint32_t i = 0; i < join->expr_count; i++)
		if (!(rel->exprs[i] = rql_expr_rewrite(arena, join->exprs[i], to_semi, &m)))
			return NULL;
	return rel;
}
