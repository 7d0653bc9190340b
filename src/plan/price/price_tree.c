/* Prices of operators above the leaves: see the header. */
#include "plan/price/price_tree.h"

#include <math.h>
#include "bind/block/price_host.h"
#include "flow/aggregate/aggregate_parts.h"
#include "flow/aggregate/aggregate_sides.h"
#include "flow/join/join_keys.h"

/* Nanoseconds of one thread of an AMD EPYC, good to a factor of two: joins and groups of 1.5 and 6 million rows, measured
 * alone. */
#define FILTER_ROW 4.0 /* a row of a condition */
#define COMPUTED_VALUE 4.0
#define SORTED_ROW 30.0
#define PASSED_ROW 4.0 /* of which only the first few are wanted */
#define KEY_VALUE 4.0
#define BUILT_ROW 30.0
#define PROBED_ROW 12.0
/* The same where each row misses the caches: 5e7 rows joined with 1e8 took 14 s of a Xeon's threads (DuckDB: 13 to 16). */
#define BUILT_ROW_FAR 100.0
#define PROBED_ROW_FAR 85.0
#define BUILT_NEAR 20.0 /* log2 of the rows of a table that is near, and of one that is far */
#define BUILT_FAR 25.0
#define PAIRED_ROW 5.0
#define ORDERED_ROW 40.0  /* a point of a join by a range, */
#define SEARCHED_ROW 50.0 /* and a row that looks it up */
#define RANKED_ROW 150.0  /* of strings a point more, */
#define RANKED_BOUND 400.0 /* and a row that looks up */
#define LOOKED_UP_ROW 250.0 /* the same in a part of an index */
#define TRIED_PAIR 3.0    /* of a join by neither keys nor a range */
#define GROUPED_ROW 12.0      /* of fewer groups than */
#define GROUPS_NEAR 16384.0   /* these; else */
#define GROUPED_ROW_FAR 35.0
#define AGGREGATED_VALUE 3.0
#define APPENDED_VALUE 5.0
#define GIVEN_VALUE 6.0
/* A value that the host reads, and goes on with, on one thread. */
#define LENT_VALUE 8.0
/* The same work by DuckDB 1.5.6, without reading (1.5 million rows joined with 150,000 and grouped: 100 ns a row). */
#define HOST_FILTER_ROW 2.0
#define HOST_COMPUTED_VALUE 2.0
#define HOST_SORTED_ROW 60.0
#define HOST_BUILT_ROW 50.0
#define HOST_PROBED_ROW 40.0
#define HOST_BUILT_ROW_FAR 105.0
#define HOST_PROBED_ROW_FAR 95.0
#define HOST_PAIRED_ROW 5.0
#define HOST_GROUPED_ROW 30.0
#define HOST_AGGREGATED_VALUE 3.0
#define HOST_FIRST_VALUE 60.0 /* DISTINCT ON is an arg_min of each column there, with a key made for each */
/* So many rows keep one thread more busy. */
#define ROWS_OF_THREAD 32768.0
/* What conditions leave, and groups that rows are of. */
#define SELECTED 0.33
#define GROUPS 0.3
#define UNKNOWN_ROWS 1e6 /* of a table that nobody has counted */
/* Points in a range, or ranges over a point, whichever is more. */
#define ROWS_IN_RANGE 4.0

/* By keys: rows of both sides that have the same one, each as often as another; that rows have no partner is not expected.
 * Without keys: by two comparisons, by one, or by conditions of any kind. */
static double expected_pairs(const struct rql_known_rows *known, const struct rql_rel *rel, double left, double right)
{
	const struct rql_join_way way = rql_join_way_of(rel);
	if (way.keys)
		return fmax(fmax(left, right), left * right / rql_expected_key_values(known, rel, left, right));
	return way.comparisons >= 2 ? fmin(left * right, fmax(left, right) * ROWS_IN_RANGE)
	                            : left * right / (way.comparisons ? 2 : 1);
}

static double expected_join(const struct rql_known_rows *known, const struct rql_rel *rel, double left, double right)
{
	switch (rel->join) {
	case RQL_JOIN_CROSS:
		return left * right;
	case RQL_JOIN_SEMI:
	case RQL_JOIN_ANTI:
		return left / 2;
	case RQL_JOIN_RIGHT_SEMI:
	case RQL_JOIN_RIGHT_ANTI:
		return right / 2;
	case RQL_JOIN_MARK:
	case RQL_JOIN_SINGLE:
	case RQL_JOIN_ASOF:
	case RQL_JOIN_ASOF_LEFT:
		return left;
	default:
		return rel->expr_count ? expected_pairs(known, rel, left, right) : left * right;
	}
}

static double expected_of_cte(const struct rql_known_rows *known, const struct rql_rel *rel)
{
	for (const struct rql_known_cte *c = known->ctes; c; c = c->next)
		if (c->cte == rel->cte)
			return c->rows;
	return UNKNOWN_ROWS;
}

static double expected_setop(const struct rql_known_rows *known, const struct rql_rel *rel)
{
	double sum = 0;
	for (uint32_t i = 0; i < rel->child_count; i++)
		sum += rql_expected_rows(known, rel->children[i]);
	return rel->setop == RQL_SETOP_UNION ? sum : rql_expected_rows(known, rel->children[0]) / 2;
}

static double rows_of_table(const struct rql_known_rows *known, const struct rql_table_ref *table)
{
	for (uint32_t i = 0; i < known->size_count; i++)
		if (rql_table_ref_same(known->sizes[i].table, table))
			return (double)known->sizes[i].rows;
	return UNKNOWN_ROWS;
}

double rql_expected_rows(const struct rql_known_rows *known, const struct rql_rel *rel)
{
	const struct rql_leaf *leaf = rql_plan_leaf_of(known->nodes, rel);
	if (leaf)
		return leaf->cost.rows_out;
	const struct rql_alternative *alternative = rql_plan_alternative_of(known->nodes, rel);
	if (alternative && !(known->whole && alternative->host_ns > 0))
		return rql_expected_rows(known, alternative->as);
	double rows = rel->child_count ? rql_expected_rows(known, rel->children[0]) : 1;
	switch (rel->kind) {
	case RQL_REL_GET:
		return rows_of_table(known, &rel->table);
	case RQL_REL_VALUES:
		return rel->column_count ? (double)rel->expr_count / rel->column_count : 0;
	case RQL_REL_EMPTY:
		return 0;
	case RQL_REL_FILTER:
		return rows * SELECTED;
	case RQL_REL_AGGREGATE:
		return rel->group_count ? fmax(1, fmin(rows * GROUPS, rql_expected_groups(known, rel))) : 1;
	case RQL_REL_DISTINCT:
	case RQL_REL_DISTINCT_ON:
		return fmax(1, rows * GROUPS);
	case RQL_REL_TOP_N:
	case RQL_REL_LIMIT:
		return fmin(rows, (double)rel->limit);
	case RQL_REL_JOIN:
		return expected_join(known, rel, rows, rql_expected_rows(known, rel->children[1]));
	case RQL_REL_SETOP:
		return expected_setop(known, rel);
	case RQL_REL_CTE: {
		struct rql_known_cte cte = {rel->cte, rows, known->ctes};
		struct rql_known_rows inner = *known;
		inner.ctes = &cte;
		return rql_expected_rows(&inner, rel->children[1]);
	}
	case RQL_REL_CTE_REF:
		return expected_of_cte(known, rel);
	default:
		return rows;
	}
}

static uint32_t computed(const struct rql_rel *rel, uint32_t from)
{
	uint32_t n = 0;
	for (uint32_t i = from; i < rel->expr_count; i++)
		n += rel->exprs[i]->kind != RQL_EXPR_REF && rel->exprs[i]->kind != RQL_EXPR_CONSTANT;
	return n;
}

static double group_row(double groups)
{
	return groups < GROUPS_NEAR ? GROUPED_ROW : GROUPED_ROW_FAR;
}

/* The rows that the node's threads share. */
static double threads_for(const struct rql_known_rows *known, const struct rql_rel *rel)
{
	double rows = 0;
	for (uint32_t i = 0; i < rel->child_count; i++)
		rows = fmax(rows, rql_expected_rows(known, rel->children[i]));
	return fmax(1, fmin(known->threads, rows / ROWS_OF_THREAD));
}

/* Does an aggregate over a join by keys put rows together before they meet (aggregate_parts.c)? *rows: of both sides; *met:
 * pairs of what they are put together to. */
static bool meets_parts(const struct rql_known_rows *known, const struct rql_rel *rel, double *rows, double *met)
{
	const struct rql_rel *join = rel->children[0];
	if (!rql_sides_can(rel, join))
		return false;
	const double left = rql_expected_rows(known, join->children[0]), right = rql_expected_rows(known, join->children[1]);
	const double keys = rql_expected_key_values(known, join, left, right);
	const double groups[2] = {rql_expected_groups_of(known, join, rel, 0), rql_expected_groups_of(known, join, rel, 1)};
	*rows = left + right;
	*met = fmin(left, keys * groups[0]) * fmin(right, keys * groups[1]) / keys;
	return left * right / keys > RQL_PARTS_PAIRS_A_ROW * *rows && groups[0] * groups[1] <= RQL_PARTS_GROUPS_MOST;
}

double rql_price_saved(const struct rql_known_rows *known, const struct rql_rel *rel)
{
	double rows, met;
	if (rel->kind != RQL_REL_AGGREGATE || !meets_parts(known, rel, &rows, &met))
		return 0;
	return rql_expected_rows(known, rel->children[0]) * PAIRED_ROW / threads_for(known, rel->children[0]);
}

/* Over a join by ranges the rows of one side are grouped, not the pairs; over one by keys with many pairs, those of both. */
static double rows_grouped(const struct rql_known_rows *known, const struct rql_rel *rel, double rows)
{
	const struct rql_rel *join = rel->children[0];
	unsigned keeper;
	double both, met;
	if (rql_ranges_keep(rel, join, &keeper))
		return fmin(rows, rql_expected_rows(known, join->children[keeper]));
	return meets_parts(known, rel, &both, &met) ? both + met : rows;
}

/* What an index takes to find the rows of a join by a range; infinity: there is none, or it is better to sort them. */
static double by_index(const struct rql_known_rows *known, const struct rql_rel *rel, const struct rql_join_way *way,
                       double probes)
{
	const struct rql_leaf *leaf = rql_plan_leaf_of(known->nodes, rel->children[way->points]);
	const struct rql_leaf_sorted *sorted = rql_leaf_sorted_by(leaf, way->column, probes);
	return sorted ? probes * sorted->parts * LOOKED_UP_ROW : (double)INFINITY;
}

/* Of a table of so many rows, between what one costs that is near and one that is far. */
static double table_row(double built, double near, double far)
{
	const double way = (log2(fmax(built, 1)) - BUILT_NEAR) / (BUILT_FAR - BUILT_NEAR);
	return near + (far - near) * fmin(fmax(way, 0), 1);
}

static double table_work(double left, double right)
{
	const double least = fmin(left, right);
	return least * table_row(least, BUILT_ROW, BUILT_ROW_FAR) +
	       fmax(left, right) * table_row(least, PROBED_ROW, PROBED_ROW_FAR);
}

/* What strings take more than numbers do: each point is ranked, and each bound searched among them. */
static double ranking(const struct rql_join_way *way, double left, double right)
{
	return !way->ranked ? 0 : way->points ? right * RANKED_ROW + left * RANKED_BOUND : left * RANKED_ROW + right * RANKED_BOUND;
}

static double join_work(const struct rql_known_rows *known, const struct rql_rel *rel, double left, double right)
{
	const struct rql_join_way way = rql_join_way_of(rel);
	const double indexed = by_index(known, rel, &way, way.points ? left : right);
	const double out = expected_join(known, rel, left, right), least = fmin(left, right), most = fmax(left, right);
	const double keys = (left + right) * rel->expr_count * KEY_VALUE + (way.bounds ? ranking(&way, left, right) : 0);
	const double by_keys = way.keys ? table_work(left, right) : 0;
	if (rql_join_is_asof(rel->join))
		return keys + fmin(indexed, right * ORDERED_ROW + left * SEARCHED_ROW) + by_keys;
	if (way.keys || !rel->expr_count)
		return keys + table_work(left, right) + out * PAIRED_ROW;
	const double searched = keys + fmin(indexed, most * ORDERED_ROW + least * SEARCHED_ROW);
	if (way.bounds && (!way.tested || way.bounds == 2))
		return searched + out * PAIRED_ROW;
	const double tried = left * right / (way.bounds ? 2 : 1);
	return tried > (double)RQL_PAIRS_TRIED_MOST ? (double)INFINITY : tried * TRIED_PAIR + (way.bounds ? searched : 0);
}

static double host_join_work(const struct rql_known_rows *known, const struct rql_rel *rel, double left, double right)
{
	const struct rql_join_way way = rql_join_way_of(rel);
	const double least = fmin(left, right);
	if (rql_join_is_asof(rel->join))
		return (left + right) * RQL_HOST_ASOF_ROW;
	if (way.keys || !rel->expr_count)
		return least * table_row(least, HOST_BUILT_ROW, HOST_BUILT_ROW_FAR) +
		       fmax(left, right) * table_row(least, HOST_PROBED_ROW, HOST_PROBED_ROW_FAR) +
		       expected_join(known, rel, left, right) * HOST_PAIRED_ROW;
	return rql_host_work_ranges(way.comparisons, left, right);
}

static double native_work(const struct rql_known_rows *known, const struct rql_rel *rel)
{
	double rows = rel->child_count ? rql_expected_rows(known, rel->children[0]) : 0, out;
	switch (rel->kind) {
	case RQL_REL_FILTER:
		return rows * rel->expr_count * FILTER_ROW;
	case RQL_REL_PROJECT:
		return rows * computed(rel, 0) * COMPUTED_VALUE;
	case RQL_REL_ORDER:
		return rows * SORTED_ROW;
	case RQL_REL_TOP_N:
		return rows * (rql_expected_rows(known, rel) * 16 < rows ? PASSED_ROW : SORTED_ROW);
	case RQL_REL_DISTINCT:
		return rows * (group_row(rows * GROUPS) + rel->column_count * KEY_VALUE);
	case RQL_REL_DISTINCT_ON:
		return rows * (group_row(rows * GROUPS) + (rel->expr_count + rel->order_count) * KEY_VALUE);
	case RQL_REL_AGGREGATE:
		rows = rows_grouped(known, rel, rows);
		return rows * ((rel->group_count ? group_row(rows * GROUPS) : 0) + rel->group_count * KEY_VALUE +
		               (rel->expr_count - rel->group_count) * AGGREGATED_VALUE);
	case RQL_REL_SETOP:
		out = expected_setop(known, rel);
		return out * (rel->column_count * APPENDED_VALUE +
		              (rel->setop_all && rel->setop == RQL_SETOP_UNION ? 0 : group_row(out)));
	case RQL_REL_JOIN:
		return join_work(known, rel, rows, rql_expected_rows(known, rel->children[1]));
	default:
		return 0;
	}
}

static double host_work(const struct rql_known_rows *known, const struct rql_rel *rel)
{
	double rows = rel->child_count ? rql_expected_rows(known, rel->children[0]) : 0;
	switch (rel->kind) {
	case RQL_REL_FILTER:
		return rows * rel->expr_count * HOST_FILTER_ROW;
	case RQL_REL_PROJECT:
		return rows * computed(rel, 0) * HOST_COMPUTED_VALUE;
	case RQL_REL_ORDER:
		return rows * HOST_SORTED_ROW;
	case RQL_REL_TOP_N:
		return rows * PASSED_ROW;
	case RQL_REL_DISTINCT:
		return rows * HOST_GROUPED_ROW;
	case RQL_REL_DISTINCT_ON:
		return rows * (HOST_GROUPED_ROW + rel->column_count * HOST_FIRST_VALUE);
	case RQL_REL_AGGREGATE:
		return rows * ((rel->group_count ? HOST_GROUPED_ROW : 0) +
		               (rel->expr_count - rel->group_count) * HOST_AGGREGATED_VALUE);
	case RQL_REL_SETOP:
		return rel->setop_all && rel->setop == RQL_SETOP_UNION ? 0 : expected_setop(known, rel) * HOST_GROUPED_ROW;
	case RQL_REL_JOIN:
		return host_join_work(known, rel, rows, rql_expected_rows(known, rel->children[1]));
	default:
		return 0;
	}
}

double rql_price_native(const struct rql_known_rows *known, const struct rql_rel *rel)
{
	bool sorts = rel->kind == RQL_REL_ORDER || rel->kind == RQL_REL_TOP_N; /* one thread does that */
	return native_work(known, rel) / (sorts ? 1 : threads_for(known, rel));
}

double rql_price_keys(const struct rql_known_rows *known, const struct rql_rel *rel)
{
	const double first = rql_expected_rows(known, rel->children[0]);
	const double rows = first + (rel->child_count > 1 ? rql_expected_rows(known, rel->children[1]) : 0);
	const uint32_t keys = rel->kind == RQL_REL_AGGREGATE ? rel->group_count : rel->expr_count;
	return rows * keys * KEY_VALUE / threads_for(known, rel);
}

double rql_price_in_host(const struct rql_known_rows *known, const struct rql_rel *rel)
{
	return host_work(known, rel) / threads_for(known, rel);
}

double rql_price_lending(double rows, uint32_t columns)
{
	return rows * columns * LENT_VALUE;
}

double rql_price_giving(double rows, uint32_t columns)
{
	return rows * columns * GIVEN_VALUE;
}
