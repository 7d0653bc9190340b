/* Conditions by tuples: see the header. */
#include "bind/block/tuples.h"

#include <stdlib.h>
#include <string.h>
#include "util/sort.h"

/* ---- rows of values ---- */

struct value_rows {
	const struct rql_value *values;
	uint32_t parts;
};

static int compare_rows(const void *context, uint32_t a, uint32_t b)
{
	const struct value_rows *rows = context;
	const struct rql_value *x = rows->values + (uint64_t)a * rows->parts, *y = rows->values + (uint64_t)b * rows->parts;
	int order = 0;
	for (uint32_t k = 0; k < rows->parts && !order; k++)
		order = rql_value_compare(&x[k], &y[k]);
	return order;
}

struct rql_expr_tuples *rql_tuples_of(struct rql_arena *arena, const struct rql_value *rows, uint32_t parts, uint32_t count)
{
	const struct value_rows all = {rows, parts};
	uint32_t *order = RQL_NEW_ARRAY(arena, uint32_t, 2 * (uint64_t)count + 1), different = 0;
	struct rql_expr_tuples *out = RQL_NEW(arena, struct rql_expr_tuples);
	const struct rql_value **values = RQL_NEW_ARRAY(arena, const struct rql_value *, parts);
	if (!order || !out || !values)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	rql_sort_items(order, order + count, count, compare_rows, &all);
	for (uint32_t i = 0; i < count; i++)
		if (!i || compare_rows(&all, order[i], order[different - 1]))
			order[different++] = order[i];
	for (uint32_t k = 0; k < parts; k++) {
		struct rql_value *part = RQL_NEW_ARRAY(arena, struct rql_value, different + 1);
		if (!part)
			return NULL;
		for (uint32_t i = 0; i < different; i++)
			part[i] = rows[(uint64_t)order[i] * parts + k];
		values[k] = part;
	}
	*out = (struct rql_expr_tuples){.parts = parts, .count = different, .values = values};
	return out;
}

/* ---- conditions ---- */

static int compare_values(const void *a, const void *b)
{
	return rql_value_compare(&(*(struct rql_expr *const *)a)->value, &(*(struct rql_expr *const *)b)->value);
}

/* The key IN the different values of its part. NULL: out of memory. */
static struct rql_expr *in_part(struct rql_arena *arena, const struct rql_expr *key, const struct rql_expr_tuples *tuples,
                                uint32_t part)
{
	struct rql_expr *in = rql_expr_new(arena, RQL_EXPR_IN, rql_type_simple(RQL_TYPE_BOOLEAN), tuples->count + 1);
	if (!in)
		return NULL;
	struct rql_expr **list = in->children + 1;
	in->children[0] = (struct rql_expr *)(uintptr_t)key;
	in->child_count = 1;
	for (uint32_t i = 0; i < tuples->count; i++) {
		if (!(list[i] = rql_expr_new(arena, RQL_EXPR_CONSTANT, key->type, 0)))
			return NULL;
		list[i]->value = tuples->values[part][i];
	}
	qsort(list, tuples->count, sizeof(*list), compare_values);
	for (uint32_t i = 0; i < tuples->count; i++)
		if (!i || compare_values(&list[i], &in->children[in->child_count - 1]))
			in->children[in->child_count++] = list[i];
	if (tuples->parts > 1) {
		in->tuples = tuples;
		in->part = part;
	}
	return in;
}

bool rql_keys_listed(struct rql_arena *arena, const struct rql_expr *const *keys, const struct rql_expr_tuples *tuples,
                     struct rql_expr_list *conditions)
{
	if (!tuples->count) {
		struct rql_expr *none = rql_expr_bool(arena, false);
		return none && rql_expr_list_add(arena, conditions, none);
	}
	for (uint32_t part = 0; part < tuples->parts; part++) {
		struct rql_expr *in = in_part(arena, keys[part], tuples, part);
		if (!in || !rql_expr_list_add(arena, conditions, in))
			return false;
	}
	return true;
}

/* ---- of an OR ---- */

#define PARTS_MOST 4u

/* The columns that all branches compare, and what with. */
struct finding {
	uint32_t parts;
	const struct rql_expr *columns[PARTS_MOST];
};

static bool is_equal(const struct rql_expr *e)
{
	return e->kind == RQL_EXPR_COMPARE && !strcmp(e->name, "=") && e->children[0]->kind == RQL_EXPR_COLUMN &&
	       e->children[1]->kind == RQL_EXPR_CONSTANT && !e->children[1]->value.is_null &&
	       rql_type_equal(e->children[0]->type, e->children[1]->type);
}

/* The branch's comparison of the column; NULL: it has none. */
static const struct rql_expr *comparison_of(const struct rql_expr *branch, const struct rql_expr *column)
{
	const struct rql_expr *found = NULL;
	if (branch->kind != RQL_EXPR_AND)
		return is_equal(branch) && branch->children[0]->table == column->table && branch->children[0]->index == column->index
		           ? branch
		           : NULL;
	for (uint32_t i = 0; i < branch->child_count && !found; i++)
		found = comparison_of(branch->children[i], column);
	return found;
}

static bool all_compare(const struct rql_expr *either, const struct rql_expr *column)
{
	bool all = true;
	for (uint32_t i = 0; i < either->child_count && all; i++)
		all = comparison_of(either->children[i], column) != NULL;
	return all;
}

/* Columns of the table that the first one found is of. */
static void find_columns(const struct rql_expr *either, const struct rql_expr *branch, uint32_t table, struct finding *f)
{
	for (uint32_t i = 0; branch->kind == RQL_EXPR_AND && i < branch->child_count; i++)
		find_columns(either, branch->children[i], table, f);
	if (!is_equal(branch) || branch->children[0]->table != table || f->parts == PARTS_MOST)
		return;
	for (uint32_t i = 0; i < f->parts; i++)
		if (f->columns[i]->index == branch->children[0]->index)
			return;
	if (all_compare(either, branch->children[0]))
		f->columns[f->parts++] = branch->children[0];
}

static struct rql_expr_tuples *take_values(struct rql_arena *arena, const struct rql_expr *either, const struct finding *f)
{
	struct rql_value *rows = RQL_NEW_ARRAY(arena, struct rql_value, (uint64_t)either->child_count * f->parts);
	for (uint32_t i = 0; i < either->child_count && rows; i++)
		for (uint32_t part = 0; part < f->parts; part++)
			rows[i * f->parts + part] = comparison_of(either->children[i], f->columns[part])->children[1]->value;
	return rows ? rql_tuples_of(arena, rows, f->parts, either->child_count) : NULL;
}

bool rql_tuples_add(struct rql_arena *arena, struct rql_expr_list *conditions, const struct rql_expr *either)
{
	struct finding found = {0};
	if (either->kind != RQL_EXPR_OR || either->child_count < 2)
		return true;
	const struct rql_expr *first = either->children[0];
	for (uint32_t i = 0; first->kind == RQL_EXPR_AND && i < first->child_count && found.parts < 2; i++) {
		found.parts = 0;
		if (is_equal(first->children[i]))
			find_columns(either, first, first->children[i]->children[0]->table, &found);
	}
	if (found.parts < 2)
		return true;
	const struct rql_expr_tuples *tuples = take_values(arena, either, &found);
	return tuples && rql_keys_listed(arena, found.columns, tuples, conditions);
}
