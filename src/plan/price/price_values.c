/* How many values a column of a node has: what joins by it give depends on that. */
#include "plan/price/price_tree.h"

#include <math.h>

#include "column/store/store.h"
#include "flow/aggregate/aggregate_sides.h"
#include "flow/join/join_keys.h"
#include "plan/leaf.h"

#define UNKNOWN_GROUPS 1e4

/* The leaf that reads the table by a scan of its columns; NULL: none does. */
static const struct rql_leaf *leaf_of_table(const struct rql_plan_nodes *nodes, const struct rql_table_ref *table)
{
	for (uint32_t i = 0; i < nodes->leaf_count; i++) {
		const struct rql_leaf *leaf = &nodes->leaves[i];
		if (leaf->scan && leaf->structure->snapshot && leaf->structure->table_count &&
		    rql_structure_is_of(leaf->structure, table))
			return leaf;
	}
	return NULL;
}

/* Values of a table's column, looked for once in a plan; 0: nobody knows. */
static double values_of_table(const struct rql_known_rows *known, const struct rql_rel *rel, uint32_t column)
{
	struct rql_plan_values *kept = known->nodes->values;
	const struct rql_leaf *leaf = leaf_of_table(known->nodes, &rel->table);
	if (!leaf || rel->column_ids[column] == UINT32_MAX)
		return 0;
	const struct rql_store_snapshot *snapshot = leaf->structure->snapshot;
	uint32_t at = 0;
	while (at < snapshot->column_count && leaf->structure->column_ids[at] != rel->column_ids[column])
		at++;
	if (at == snapshot->column_count)
		return 0;
	const struct rql_store_column *of = &snapshot->columns[at];
	for (uint32_t i = 0; kept && i < kept->count; i++)
		if (kept->of[i] == of)
			return kept->values[i];
	const double values = rql_store_distinct(rql_store_kernels_for(RQL_SIMD_PORTABLE), snapshot, at);
	if (kept && kept->count < RQL_PLAN_VALUES) {
		kept->of[kept->count] = of;
		kept->values[kept->count++] = values;
	}
	return values;
}

/* Values of a node's column, whatever rows are left; 0: nobody knows. */
static double values_of(const struct rql_known_rows *known, const struct rql_rel *rel, uint32_t column)
{
	switch (rel->kind) {
	case RQL_REL_GET:
		return values_of_table(known, rel, column);
	case RQL_REL_PROJECT: {
		const struct rql_expr *e = rel->exprs[column];
		return e->kind == RQL_EXPR_REF ? values_of(known, rel->children[0], e->index) : 0;
	}
	case RQL_REL_FILTER:
	case RQL_REL_ORDER:
	case RQL_REL_TOP_N:
	case RQL_REL_LIMIT:
		return values_of(known, rel->children[0], column);
	case RQL_REL_JOIN: {
		const uint32_t lefts = rel->children[0]->column_count;
		if (rel->join == RQL_JOIN_RIGHT_SEMI || rel->join == RQL_JOIN_RIGHT_ANTI)
			return values_of(known, rel->children[1], column);
		if (column >= lefts)
			return rel->join == RQL_JOIN_MARK ? 2 : values_of(known, rel->children[1], column - lefts);
		return values_of(known, rel->children[0], column);
	}
	default:
		return 0;
	}
}

/* Of a column over the node's rows. A cast has as many, or fewer. */
static double values_of_expr(const struct rql_known_rows *known, const struct rql_rel *rel, const struct rql_expr *e)
{
	while (e->kind == RQL_EXPR_CAST)
		e = e->children[0];
	return e->kind == RQL_EXPR_REF ? values_of(known, rel, e->index) : 0;
}

/* Of a side of so many rows. */
static double combinations(const struct rql_known_rows *known, const struct rql_rel *join, unsigned side, double rows)
{
	double values = 1;
	for (uint32_t i = 0; i < join->expr_count; i++) {
		const struct rql_expr *of[2];
		if (!rql_join_equality(join, i, of))
			continue;
		const double one = values_of_expr(known, join, of[side]);
		if (one == 0)
			return fmax(1, rows);
		values *= one;
	}
	return fmax(1, fmin(values, rows));
}

double rql_expected_key_values(const struct rql_known_rows *known, const struct rql_rel *join, double left, double right)
{
	return fmax(combinations(known, join, 0, left), combinations(known, join, 1, right));
}

/* Of rel's group keys over the rows of a node those that read the side, or (ANY_SIDE) all; a key of which nobody knows has so
 * many values as `unknown`. */
#define ANY_SIDE 2u
static double groups_of(const struct rql_known_rows *known, const struct rql_rel *over, const struct rql_rel *rel,
                        unsigned side, double unknown)
{
	double groups = 1;
	for (uint32_t i = 0; i < rel->group_count; i++) {
		const struct rql_expr *e = rel->exprs[i];
		if (side != ANY_SIDE && rql_sides_of(e, over->children[0]->column_count) != side)
			continue;
		const double one = values_of_expr(known, over, e);
		groups *= one == 0 ? unknown : one + 1; /* and NULL */
	}
	return groups;
}

double rql_expected_groups_of(const struct rql_known_rows *known, const struct rql_rel *join, const struct rql_rel *rel,
                              unsigned side)
{
	return groups_of(known, join, rel, side, UNKNOWN_GROUPS);
}

double rql_expected_groups(const struct rql_known_rows *known, const struct rql_rel *rel)
{
	return groups_of(known, rel->children[0], rel, ANY_SIDE, (double)INFINITY);
}
