/* The host's price of a block: steps of expressions, columns read, joins, groups, each with a measured constant. */
#include "bind/block/price_host.h"

#include <math.h>
#include <string.h>
#include "bind/block/definition.h"
#include "bind/star/scan_bind.h"

/* DuckDB 1.5.6 on 2 threads of an AMD EPYC, processor time of ClickBench's, TPC-H's and db-benchmark's tables
 * (2, 6 and 10 million rows), as multiples of a number scanned and summed (1.05 ns of processor time). Good to a factor
 * of two, which is what a choice between plans that differ by more needs. */

/* A string read: of a dictionary of few values, of many, of nearly as many as rows. */
#define STRING_FEW 2.0
#define STRING_SOME 8.0
#define STRING_MANY 22.0
#define FEW 1000.0
#define MANY_SHARE 0.1
/* A step of an expression: arithmetic, a comparison of strings, a part of a date, a search in a string, anything else
 * that reads or makes strings, a regular expression. */
#define STEP 0.7
#define COMPARE_STRING 2.0
#define STEP_DATE 5.0
#define STEP_SEARCH 20.0
#define STEP_STRING 10.0
#define STEP_REGEXP 350.0
/* A row put into a hash table of a join; a row looked up in one that the caches hold, or do not. */
#define BUILD_ROW 35.0
#define PROBE_NEAR 3.0
#define PROBE_FAR 12.0
#define NEAR_ROWS 65536.0
/* A row added to its group: few groups are addressed without hashing; each doubling of many costs more misses. */
#define GROUP_ROW_FEW 2.0
#define GROUP_ROW 5.0
#define GROUP_ROW_DOUBLING 2.0
#define GROUP_NEAR 10000.0
#define GROUP_KEY 2.0         /* each key more */
#define GROUP_KEY_STRING 20.0 /* a key that is a string of many values: hashed and compared */
#define GROUP 75.0            /* a group: room, its merging with the other threads', its row */
#define GROUP_FAR 100000.0    /* so many do not fit the caches: */
#define GROUP_AGGREGATE 5.0   /* an aggregate of a row there */
#define AGGREGATE 1.0         /* an aggregate of one row */

#define ROW_GROUP 122880u

double rql_host_idle_factor(unsigned threads, uint64_t rows)
{
	uint64_t groups = rows / ROW_GROUP + (rows % ROW_GROUP != 0);
	return groups == 0 ? threads : groups < threads ? (double)threads / (double)groups : 1;
}

/* ---- expressions ---- */

static bool is_string(struct rql_type type)
{
	return type.id == RQL_TYPE_VARCHAR || type.id == RQL_TYPE_BLOB;
}

static bool is_temporal(struct rql_type type)
{
	return type.id == RQL_TYPE_DATE || type.id == RQL_TYPE_TIMESTAMP || type.id == RQL_TYPE_TIMESTAMP_TZ ||
	       type.id == RQL_TYPE_TIME;
}

static double function_step(const struct rql_expr *e)
{
	static const char *const searches[] = {"~~", "!~~", "~~*", "!~~*", "contains", "strpos", "instr", "like_escape"};
	if (!strncmp(e->name, "regexp", 6))
		return STEP_REGEXP;
	for (size_t i = 0; i < sizeof searches / sizeof *searches; i++)
		if (!strcmp(e->name, searches[i]))
			return STEP_SEARCH;
	if (!strcmp(e->name, "prefix") || !strcmp(e->name, "suffix") || !strcmp(e->name, "strlen"))
		return COMPARE_STRING;
	for (uint32_t i = 0; i < e->child_count; i++) {
		if (is_string(e->children[i]->type))
			return STEP_STRING;
		if (is_temporal(e->children[i]->type))
			return STEP_DATE;
	}
	return is_string(e->type) ? STEP_STRING : STEP;
}

static double own_step(const struct rql_expr *e)
{
	switch (e->kind) {
	case RQL_EXPR_COLUMN:
	case RQL_EXPR_REF:
	case RQL_EXPR_CONSTANT:
		return 0;
	case RQL_EXPR_FUNCTION:
		return function_step(e);
	case RQL_EXPR_AGGREGATE:
		return AGGREGATE;
	case RQL_EXPR_CAST:
		return is_string(e->type) != is_string(e->children[0]->type) ? STEP_STRING : STEP;
	default:
		return e->child_count && is_string(e->children[0]->type) ? COMPARE_STRING : STEP;
	}
}

double rql_host_work_expression(const struct rql_expr *e)
{
	double sum = own_step(e);
	for (uint32_t i = 0; i < e->child_count; i++)
		sum += rql_host_work_expression(e->children[i]);
	if (e->kind == RQL_EXPR_AGGREGATE && e->filter)
		sum += rql_host_work_expression(e->filter);
	return sum;
}

/* ---- columns ---- */

static double string_read(const struct rql_host_work *w, const struct rql_expr *column)
{
	uint32_t at =
		w->snapshot && column->table == w->fact ? rql_scan_find_column(w->snapshot, w->column_ids, column) : RQL_NONE;
	if (at == RQL_NONE || !w->snapshot->columns[at].dimension)
		return STRING_SOME;
	double values = w->snapshot->columns[at].dimension->count;
	return values < FEW ? STRING_FEW : values > MANY_SHARE * (double)w->snapshot->rows ? STRING_MANY : STRING_SOME;
}

#define COLUMNS 256u
struct reading {
	const struct rql_host_work *w;
	uint32_t count;
	struct rql_column_id seen[COLUMNS];
	double share; /* of the fact table's rows that are read */
	double values;
};

static bool read_column(const struct rql_expr *leaf, void *state)
{
	struct reading *r = state;
	if (leaf->kind != RQL_EXPR_COLUMN || leaf->table >= r->w->block->table_count)
		return true;
	for (uint32_t i = 0; i < r->count; i++)
		if (r->seen[i].table == leaf->table && r->seen[i].index == leaf->index)
			return true;
	if (r->count < COLUMNS)
		r->seen[r->count++] = (struct rql_column_id){leaf->table, leaf->index};
	double rows = (double)r->w->rows[leaf->table] * (leaf->table == r->w->fact ? r->share : 1);
	r->values += rows * (is_string(leaf->type) ? string_read(r->w, leaf) : 1);
	return true;
}

/* What a condition is evaluated over: all rows of a table when it reads no other one. */
static bool widest(const struct rql_expr *leaf, void *state)
{
	struct reading *r = state;
	double rows = leaf->table < r->w->block->table_count ? (double)r->w->rows[leaf->table] : 0;
	r->values = rows > r->values ? rows : r->values;
	return true;
}

static double condition(const struct rql_host_work *w, const struct rql_expr *e)
{
	struct reading r = {.w = w};
	if (rql_expr_is_equijoin(e))
		return 0; /* a join */
	rql_expr_leaves(e, widest, &r);
	return r.values * rql_host_work_expression(e);
}

/* Reading the tables and evaluating the conditions. */
static double scans(const struct rql_host_work *w)
{
	struct reading r = {.w = w, .share = 1};
	double rows = (double)w->rows[w->fact];
	for (uint32_t i = 0; i < w->block->conjunct_count; i++) {
		rql_expr_leaves(w->block->conjuncts[i], read_column, &r);
		r.values += condition(w, w->block->conjuncts[i]);
	}
	/* Of other columns only the vectors are decoded in which something is left. */
	r.share = rows > 0 ? fmin(1, 8 * w->passed / rows) : 1;
	rql_block_leaves(w->block, read_column, &r);
	return r.values + w->inner_rows * RQL_HOST_INNER_ROW_VALUES;
}

/* ---- joins and groups ---- */

/* The rows of the fact table dwindle from join to join. */
static double joins(const struct rql_host_work *w)
{
	uint32_t n = w->block->table_count - 1 + w->block->side_count;
	double rows = (double)w->rows[w->fact], left = rows > 0 ? fmax(w->passed, 1) / rows : 1, sum = 0;
	double each = n && w->selected / n > NEAR_ROWS ? PROBE_FAR : PROBE_NEAR;
	for (uint32_t i = 0; i < n; i++)
		sum += rows * pow(left, (double)i / n) * each;
	return sum + w->selected * BUILD_ROW;
}

static bool is_string_of_many(const struct rql_host_work *w, const struct rql_expr *e)
{
	return is_string(e->type) && (e->kind != RQL_EXPR_COLUMN || string_read(w, e) > STRING_FEW);
}

static double groups(const struct rql_host_work *w)
{
	const struct rql_block *block = w->block;
	uint32_t keys = block->group_count;
	double row = w->groups < FEW ? GROUP_ROW_FEW : GROUP_ROW, evaluated = 0;
	for (uint32_t i = 0; i < block->group_count; i++) {
		evaluated += rql_host_work_expression(block->groups[i]);
		row += is_string_of_many(w, block->groups[i]) ? GROUP_KEY_STRING : 0;
	}
	for (uint32_t i = 0; i < block->agg_count; i++) {
		const struct rql_expr *agg = block->aggs[i];
		evaluated += rql_host_work_expression(agg);
		if (!agg->distinct || !agg->child_count || !strcmp(agg->name, "min") || !strcmp(agg->name, "max"))
			continue;
		keys++;
		row += is_string_of_many(w, agg->children[0]) ? GROUP_KEY_STRING : 0;
	}
	if (!keys)
		return w->passed * evaluated;
	if (w->groups > GROUP_FAR)
		row += GROUP_AGGREGATE * block->agg_count;
	if (w->groups > GROUP_NEAR)
		row += GROUP_ROW_DOUBLING * log2(w->groups / GROUP_NEAR);
	return w->passed * (evaluated + row + GROUP_KEY * (keys - 1)) + w->groups * GROUP;
}

double rql_host_work_values(const struct rql_host_work *w)
{
	return scans(w) + joins(w) + groups(w);
}
