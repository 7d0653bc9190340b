/* Aggregates of a dimension (COUNT(DISTINCT d), MIN(d), SUM(d), ...): the method has grouped by d as well; groups that
 * differ only in d become one here. What is put together is as small as the answer was. */
#include <math.h>
#include <string.h>
#include "exec/rowset.h"
#include "util/sort.h"

struct collapsing {
	const struct rql_leaf *leaf;
	const struct rql_answer *from;
	struct rql_arena *arena;
	struct rql_error *err;
};

static rql_status out_of_memory(struct collapsing *c)
{
	return rql_error_memory(c->err, c->from->group_count * sizeof(rql_int128), "an answer");
}

/* Order of rows by the visible keys. */
static int compare_visible(const void *context, uint32_t a, uint32_t b)
{
	const struct collapsing *c = context;
	for (uint32_t k = 0; k < c->leaf->group_count; k++)
		if (c->from->keys[k][a] != c->from->keys[k][b])
			return c->from->keys[k][a] < c->from->keys[k][b] ? -1 : 1;
	return 0;
}

static rql_status group_rows(struct collapsing *c, struct rql_hidden_groups *hidden, uint64_t *groups)
{
	uint64_t n = c->from->group_count, g = 0;
	uint32_t *rows = RQL_NEW_ARRAY(c->arena, uint32_t, n), *spare = RQL_NEW_ARRAY(c->arena, uint32_t, n);
	uint64_t *first = RQL_NEW_ARRAY(c->arena, uint64_t, n + 2);
	if (!rows || !spare || !first)
		return out_of_memory(c);
	for (uint64_t i = 0; i < n; i++)
		rows[i] = (uint32_t)i;
	if (c->from->sorted_keys < c->leaf->group_count)
		rql_sort_items(rows, spare, n, compare_visible, c);
	for (uint64_t i = 0; i < n; i++)
		if (i == 0 || compare_visible(c, rows[i - 1], rows[i]) != 0)
			first[g++] = i;
	if (n == 0 && c->leaf->group_count == 0)
		first[g++] = 0; /* without keys there is one group, also over nothing */
	first[g] = n;
	hidden->first = first;
	hidden->row = rows;
	hidden->codes = c->from->keys[c->leaf->group_count];
	*groups = g;
	return RQL_OK;
}

static bool is_valid(const struct rql_agg_values *v, uint32_t row)
{
	return !v->valid || (v->valid[row >> 6] >> (row & 63) & 1);
}

static bool real_before(double a, double b) /* DuckDB's order: NaN is the greatest */
{
	return isnan(a) ? false : isnan(b) || a < b;
}

static void put_together(enum rql_agg_kind kind, const struct rql_agg_values *from, uint32_t row, bool first,
                         struct rql_agg_values *to, uint64_t g)
{
	bool least = kind == RQL_AGG_MIN, extreme = least || kind == RQL_AGG_MAX;
	if (from->real) {
		double v = from->real[row];
		bool take = first || (extreme && (least ? real_before(v, to->real[g]) : real_before(to->real[g], v)));
		to->real[g] = take ? v : extreme ? to->real[g] : to->real[g] + v;
	} else {
		rql_int128 v = from->integer[row];
		bool take = first || (extreme && (least ? v < to->integer[g] : v > to->integer[g]));
		to->integer[g] = take ? v : extreme ? to->integer[g] : to->integer[g] + v;
	}
}

static rql_status collapse_agg(struct collapsing *c, uint32_t a, const struct rql_hidden_groups *hidden,
                               uint64_t groups, struct rql_agg_values *to)
{
	const struct rql_agg_values *from = &c->from->aggs[a];
	*to = (struct rql_agg_values){.kind = from->kind, .valid = RQL_NEW_ARRAY(c->arena, uint64_t, groups / 64 + 1)};
	if (from->real)
		to->real = RQL_NEW_ARRAY(c->arena, double, groups);
	else
		to->integer = RQL_NEW_ARRAY(c->arena, rql_int128, groups);
	if (!to->valid || !(from->real ? (void *)to->real : (void *)to->integer))
		return out_of_memory(c);
	for (uint64_t g = 0; g < groups; g++) {
		bool some = false;
		for (uint64_t i = hidden->first[g]; i < hidden->first[g + 1]; i++) {
			if (!is_valid(from, hidden->row[i]))
				continue;
			put_together(c->leaf->aggs[a].kind, from, hidden->row[i], !some, to, g);
			some = true;
		}
		if (some)
			to->valid[g >> 6] |= 1ull << (g & 63);
	}
	return RQL_OK;
}

rql_status rql_answer_collapse(const struct rql_leaf *leaf, struct rql_arena *arena, const struct rql_answer *answer,
                               struct rql_answer *visible, struct rql_hidden_groups *hidden, struct rql_error *err)
{
	struct collapsing c = {leaf, answer, arena, err};
	uint64_t groups = 0;
	RQL_TRY(group_rows(&c, hidden, &groups));
	*visible = *answer;
	visible->group_count = groups;
	visible->sorted_keys = leaf->group_count;
	visible->keys = RQL_NEW_ARRAY(arena, uint32_t *, leaf->group_count);
	visible->aggs = RQL_NEW_ARRAY(arena, struct rql_agg_values, leaf->agg_count);
	if (!visible->keys || !visible->aggs)
		return out_of_memory(&c);
	for (uint32_t k = 0; k < leaf->group_count; k++) {
		if (!(visible->keys[k] = RQL_NEW_ARRAY(arena, uint32_t, groups)))
			return out_of_memory(&c);
		for (uint64_t g = 0; g < groups; g++)
			visible->keys[k][g] = answer->keys[k][hidden->row[hidden->first[g]]];
	}
	for (uint32_t a = 0; a < leaf->agg_count; a++)
		RQL_TRY(collapse_agg(&c, a, hidden, groups, &visible->aggs[a]));
	return RQL_OK;
}
