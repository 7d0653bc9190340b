/* GROUP BY over a join by ranges without its pairs. The groups are those of one side, the keeper; of the other side's rows
 * with which one of the keeper's is paired a few sums are enough: how many they are, and of each aggregate's argument the sum
 * and the number of values. A row that looks up has them as a difference of two sums over the sorted points; a point has
 * them as the sum of what begins before it and has not ended. So the time does not depend on the number of pairs.
 *
 * Then the keeper's rows are grouped as any others: a count is a sum of numbers of pairs, and so on. Sums of reals are left to
 * the pairs: a difference of two of them loses digits. */
#include <string.h>
#include "flow/join/join_internal.h"

enum part_kind {
	PART_ROWS,  /* count(*), and count of the keeper's values: how many pairs */
	PART_COUNT, /* how many values of the other side */
	PART_SUM,   /* their sum */
	PART_TIMES, /* the keeper's value as often as there are pairs */
	PART_VALUE, /* of the keeper's, however often: least, greatest */
};

struct ranging {
	struct rql_running *r;
	const struct rql_rel *rel; /* the aggregate */
	struct joining join;
	unsigned keeper; /* side */
	struct rql_key_rows *rows;
	uint64_t *pairs; /* of each of the keeper's rows */
	struct rql_rowset kept;
};

/* ---- what can be done ---- */

/* Bit 0: it reads the left child, bit 1: the right one. */
static unsigned reads(const struct rql_expr *e, uint32_t lefts)
{
	unsigned sides = e->kind == RQL_EXPR_REF ? (e->index < lefts ? 1 : 2) : 0;
	for (uint32_t i = 0; i < e->child_count; i++)
		sides |= reads(e->children[i], lefts);
	return sides;
}

static bool is_summed(const struct rql_expr *e)
{
	struct rql_type of = e->children[0]->type;
	return !strcmp(e->name, "sum") && rql_type_is_integral(of) && rql_type_bytes(of) <= 8 && of.id != RQL_TYPE_UBIGINT;
}

static bool is_extreme(const struct rql_expr *e)
{
	return !strcmp(e->name, "min") || !strcmp(e->name, "max") || !strcmp(e->name, "bool_and") ||
	       !strcmp(e->name, "bool_or");
}

static enum part_kind part_of(const struct rql_expr *e, unsigned sides, unsigned keeper)
{
	bool own = sides == 1u << keeper;
	if (!e->child_count)
		return PART_ROWS;
	if (is_extreme(e))
		return PART_VALUE;
	if (!strcmp(e->name, "count"))
		return own ? PART_ROWS : PART_COUNT;
	return own ? PART_TIMES : PART_SUM;
}

static bool can_part(const struct rql_expr *e, uint32_t lefts, unsigned keeper)
{
	if (e->distinct || e->filter || e->order_count || e->child_count > 1)
		return false;
	if (!e->child_count)
		return true;
	unsigned sides = reads(e->children[0], lefts);
	if (sides != 1 && sides != 2)
		return false;
	return is_extreme(e) ? sides == 1u << keeper : !strcmp(e->name, "count") || is_summed(e);
}

static bool can_keep(const struct rql_rel *rel, uint32_t lefts, unsigned keeper)
{
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		const struct rql_expr *e = rel->exprs[i];
		if (i < rel->group_count ? reads(e, lefts) & ~(1u << keeper) : !can_part(e, lefts, keeper))
			return false;
	}
	return true;
}

bool rql_ranges_keep(const struct rql_rel *rel, const struct rql_rel *join, unsigned *keeper)
{
	if (rel->kind != RQL_REL_AGGREGATE || join->kind != RQL_REL_JOIN || join->join != RQL_JOIN_INNER)
		return false;
	const struct rql_join_way way = rql_join_way_of(join);
	if (!way.bounds || way.tested)
		return false;
	for (*keeper = 0; *keeper < 2; ++*keeper)
		if (can_keep(rel, join->children[0]->column_count, *keeper))
			return true;
	return false;
}

/* ---- numbers of each of the keeper's rows ---- */

/* A column of the other side: each row's value, 1 or 0 in `values`. */
struct other {
	const int64_t *value;
	const uint64_t *valid; /* NULL: all are */
};

/* With keys there are positions of keys that have one row, which are of nobody. */
static uint64_t positions(const struct joining *j)
{
	return j->keys.key_count ? (j->sorted.rows ? j->sides[j->build]->rows : 0) : j->sorted.all.count;
}

/* The keeper looks up: sums[i] of the points that its row i finds. */
static rql_status sum_points(struct ranging *g, const struct other *o, rql_int128 *sums)
{
	const struct joining *j = &g->join;
	uint64_t rows = g->kept.rows, points = j->sides[j->build]->rows;
	rql_int128 *before;
	RQL_TRY(RQL_SCRATCH(g->r, before, points + 1));
	before[0] = 0;
	for (uint64_t p = 0; p < positions(j); p++) {
		uint32_t row = j->sorted.rows[p];
		before[p + 1] = before[p] + (row < points && rql_bit_valid(o->valid, row) ? o->value[row] : 0);
	}
	for (uint64_t i = 0; i < rows; i++) {
		struct rql_key_rows of = g->rows[i];
		if (of.count == 1)
			sums[i] = rql_bit_valid(o->valid, of.first) ? o->value[of.first] : 0;
		else
			sums[i] = of.count ? before[of.first + of.count] - before[of.first] : 0;
	}
	return RQL_OK;
}

/* The keeper has the points: sums[i] of the rows that find point i. */
static rql_status sum_lookers(struct ranging *g, const struct other *o, rql_int128 *sums)
{
	const struct joining *j = &g->join;
	uint64_t points = g->kept.rows, rows = j->sides[!j->build]->rows;
	rql_int128 *change, sum = 0;
	memset(sums, 0, points * sizeof *sums);
	RQL_TRY(RQL_ZEROED_SCRATCH(g->r, change, points + 1));
	for (uint64_t i = 0; i < rows; i++) {
		struct rql_key_rows of = g->rows[i];
		if (!of.count || !rql_bit_valid(o->valid, i))
			continue;
		if (of.count == 1) {
			sums[of.first] += o->value[i];
			continue;
		}
		change[of.first] += o->value[i];
		change[of.first + of.count] -= o->value[i];
	}
	for (uint64_t p = 0; p < positions(j); p++) {
		sum += change[p];
		if (sum)
			sums[j->sorted.rows[p]] += sum;
	}
	return RQL_OK;
}

/* The keeper looks up in an index, whose rows have no prefix sums: what it finds is added. */
struct finding {
	struct ranging *g;
	const struct other *o; /* NULL: rows are counted, in g->pairs */
	rql_int128 *sums;
};

struct adding {
	const struct other *o;
	rql_int128 *sum;
};

static rql_status add_found(void *state, const uint32_t *rows, uint32_t count, struct rql_error *err)
{
	const struct adding *a = state;
	(void)err;
	for (uint32_t i = 0; i < count; i++)
		*a->sum += rql_bit_valid(a->o->valid, rows[i]) ? a->o->value[rows[i]] : 0;
	return RQL_OK;
}

static rql_status find_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct finding *f = state;
	const struct joining *j = &f->g->join;
	struct range_bounds b;
	(void)worker;
	for (uint64_t at = first; at < first + rows; at += RQL_VECTOR_ROWS) {
		const uint32_t n = first + rows - at < RQL_VECTOR_ROWS ? (uint32_t)(first + rows - at) : RQL_VECTOR_ROWS;
		rql_range_bounds(j, at, n, &b);
		for (uint32_t i = 0; i < n; i++) {
			uint64_t least, greatest;
			const bool some = rql_index_range_of(j, &b, i, &least, &greatest);
			if (!f->o) {
				f->g->pairs[at + i] = some ? rql_index_range_count(j, least, greatest) : 0;
				continue;
			}
			struct adding adding = {f->o, &f->sums[at + i]};
			*adding.sum = 0;
			if (some)
				RQL_TRY(rql_index_range_find(j, least, greatest, add_found, &adding, err));
		}
	}
	return RQL_OK;
}

/* Of a row of the table's side nothing is known by the index; and where more rows would be found than there are, prefix sums
 * over sorted rows are sooner there. */
static rql_status count_by_index(struct ranging *g)
{
	struct joining *j = &g->join;
	struct finding f = {.g = g};
	const uint64_t rows = j->sides[!j->build]->rows;
	uint64_t pairs = 0;
	if (g->keeper == j->build)
		return rql_range_sort(j);
	RQL_TRY(RQL_SCRATCH(g->r, g->pairs, rows));
	RQL_TRY(rql_morsels_run(g->r, rows, find_morsel, &f));
	for (uint64_t i = 0; i < rows; i++)
		pairs += g->pairs[i];
	return pairs > j->index.rows ? rql_range_sort(j) : RQL_OK;
}

static rql_status sum_other(struct ranging *g, const struct other *o, rql_int128 *sums)
{
	struct finding f = {g, o, sums};
	if (g->join.by_index)
		return rql_morsels_run(g->r, g->kept.rows, find_morsel, &f);
	return g->keeper == g->join.build ? sum_lookers(g, o, sums) : sum_points(g, o, sums);
}

/* ---- columns of these numbers ---- */

struct loading {
	const struct rql_rowset *set;
	const struct rql_vector *v;
	int64_t *value;
	uint64_t *valid;
};

static rql_status load_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct loading *l = state;
	uint32_t numbers[RQL_VECTOR_ROWS];
	struct rql_lanes lanes;
	(void)worker, (void)err;
	for (uint64_t at = first; at < first + rows; at += RQL_VECTOR_ROWS) {
		uint32_t n = first + rows - at < RQL_VECTOR_ROWS ? (uint32_t)(first + rows - at) : RQL_VECTOR_ROWS;
		const uint32_t *list = rql_rowset_rows(l->set, at, n, numbers);
		if (l->value)
			rql_vector_load(l->v, list, n, RQL_LANE_I64, l->value + at, l->valid + at / 64, &lanes);
		else
			rql_vector_valid(l->v, list, n, l->valid + at / 64);
	}
	return RQL_OK;
}

/* An argument of one side, as numbers; counted: 1 for each value. */
static rql_status load(struct ranging *g, unsigned side, const struct rql_expr *e, bool counted, struct other *out)
{
	const struct rql_rowset *set = g->join.sides[side];
	uint64_t room = set->rows + RQL_VECTOR_ROWS;
	struct rql_vector *v = RQL_NEW(g->r->arena, struct rql_vector);
	struct loading l = {set, v, NULL, NULL};
	int64_t *value;
	if (!v)
		return rql_error_memory(g->r->err, sizeof *v, "groups of rows");
	RQL_TRY(rql_rowset_compute(g->r, set, e, v));
	RQL_TRY(RQL_SCRATCH(g->r, value, room));
	RQL_TRY(RQL_SCRATCH(g->r, l.valid, room / 64 + 1));
	l.value = counted ? NULL : value;
	for (uint64_t i = 0; i < set->rows && counted; i++)
		value[i] = 1;
	*out = (struct other){value, rql_vector_nullable(v) ? l.valid : NULL};
	return rql_morsels_run(g->r, set->rows, load_morsel, &l);
}

static rql_status new_numbers(struct ranging *g, struct rql_type type, rql_int128 **numbers, uint64_t **valid,
                              struct rql_vector *out)
{
	RQL_TRY(RQL_ROOM(g->r, *numbers, g->kept.rows));
	RQL_TRY(RQL_ROOM(g->r, *valid, (g->kept.rows + 63) / 64));
	memset(*valid, 0xff, (g->kept.rows + 63) / 64 * sizeof **valid);
	*out = (struct rql_vector){.kind = RQL_VECTOR_INTEGER, .type = type, .integer = *numbers, .valid = *valid};
	return RQL_OK;
}

/* The argument of the aggregate over the keeper's rows. */
static rql_status make_part(struct ranging *g, const struct rql_expr *e, enum part_kind kind, struct rql_vector *out)
{
	bool sum = kind == PART_SUM || kind == PART_TIMES;
	unsigned side = kind == PART_ROWS || kind == PART_TIMES ? g->keeper : !g->keeper;
	struct other o = {0}, counted = {0};
	rql_int128 *numbers, *values;
	uint64_t *valid;
	RQL_TRY(new_numbers(g, sum ? e->type : rql_type_simple(RQL_TYPE_HUGEINT), &numbers, &valid, out));
	if (e->child_count)
		RQL_TRY(load(g, side, e->children[0], !sum, &o));
	if (side == g->keeper) {
		for (uint64_t i = 0; i < g->kept.rows; i++) {
			bool counts = !e->child_count || rql_bit_valid(o.valid, i);
			numbers[i] = counts ? (rql_int128)g->pairs[i] * (sum ? o.value[i] : 1) : 0;
			if (!counts && sum)
				rql_bit_clear(valid, i);
		}
		return RQL_OK;
	}
	RQL_TRY(sum_other(g, &o, numbers));
	if (!sum || !o.valid)
		return RQL_OK;
	RQL_TRY(RQL_SCRATCH(g->r, values, g->kept.rows));
	RQL_TRY(load(g, side, e->children[0], true, &counted));
	RQL_TRY(sum_other(g, &counted, values));
	for (uint64_t i = 0; i < g->kept.rows; i++)
		if (!values[i])
			rql_bit_clear(valid, i);
	return RQL_OK;
}

/* How many pairs a row has; rows without one are of no group. */
static rql_status count_pairs(struct ranging *g)
{
	const struct joining *j = &g->join;
	uint64_t rows = g->kept.rows, n = 0, others = j->sides[!g->keeper]->rows;
	rql_int128 *sums;
	int64_t *ones;
	if (!j->by_index)
		RQL_TRY(RQL_SCRATCH(g->r, g->pairs, rows));
	if (g->keeper == j->build) {
		RQL_TRY(RQL_SCRATCH(g->r, sums, rows));
		RQL_TRY(RQL_SCRATCH(g->r, ones, others));
		for (uint64_t i = 0; i < others; i++)
			ones[i] = 1;
		struct other all = {.value = ones};
		RQL_TRY(sum_lookers(g, &all, sums));
		for (uint64_t i = 0; i < rows; i++)
			g->pairs[i] = (uint64_t)sums[i];
	} else {
		for (uint64_t i = 0; i < rows && !j->by_index; i++) /* else they are counted */
			g->pairs[i] = g->rows[i].count;
	}
	RQL_TRY(RQL_ROOM(g->r, g->kept.selection, rows));
	for (uint64_t i = 0; i < rows; i++) {
		g->kept.selection[n] = (uint32_t)i;
		n += g->pairs[i] != 0;
	}
	g->kept.capacity = rows;
	return RQL_OK;
}

/* ---- the aggregate over the keeper's rows ---- */

/* sum of column `index` of the kept rows */
static struct rql_expr *sum_of(struct ranging *g, const struct rql_expr *of, uint32_t index, bool sum)
{
	struct rql_expr *e = RQL_NEW(g->r->arena, struct rql_expr), *ref = RQL_NEW(g->r->arena, struct rql_expr);
	if (!e || !ref || !(e->children = RQL_NEW_ARRAY(g->r->arena, struct rql_expr *, 1)))
		return NULL;
	e->kind = RQL_EXPR_AGGREGATE;
	e->name = "sum";
	e->type = sum ? of->type : rql_type_simple(RQL_TYPE_HUGEINT);
	e->child_count = 1;
	e->children[0] = ref;
	*ref = (struct rql_expr){.kind = RQL_EXPR_REF, .index = index, .type = e->type};
	return e;
}

/* The kept rows with a column more for each aggregate; rel: the same over these. */
static rql_status rewrite(struct ranging *g, struct rql_rel *rel)
{
	const struct rql_rowset *own = g->join.sides[g->keeper];
	uint32_t lefts = g->join.rel->children[0]->column_count, shift = g->keeper ? lefts : 0, count = own->vector_count;
	*rel = *g->rel;
	rel->exprs = RQL_NEW_ARRAY(g->r->arena, struct rql_expr *, g->rel->expr_count);
	g->kept.vectors = RQL_NEW_ARRAY(g->r->arena, struct rql_vector, count + (size_t)g->rel->expr_count);
	if (!rel->exprs || !g->kept.vectors)
		return rql_error_memory(g->r->err, 0, "groups of rows");
	memcpy(g->kept.vectors, own->vectors, count * sizeof *own->vectors);
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		struct rql_expr *e = g->rel->exprs[i];
		enum part_kind kind = PART_VALUE;
		if (i >= rel->group_count)
			kind = part_of(e, e->child_count ? reads(e->children[0], lefts) : 0, g->keeper);
		if (kind != PART_VALUE) {
			struct rql_expr shifted = *e;
			if (e->child_count) {
				uint32_t by = reads(e->children[0], lefts) == 2 ? lefts : 0;
				shifted.children = RQL_NEW_ARRAY(g->r->arena, struct rql_expr *, 1);
				if (!shifted.children ||
				    !(shifted.children[0] = rql_expr_lowered(g->r->arena, e->children[0], by)))
					return rql_error_memory(g->r->err, 0, "groups of rows");
			}
			RQL_TRY(make_part(g, &shifted, kind, &g->kept.vectors[count]));
			rel->exprs[i] = sum_of(g, e, count++, kind == PART_SUM || kind == PART_TIMES);
		} else {
			rel->exprs[i] = rql_expr_lowered(g->r->arena, e, shift);
		}
		if (!rel->exprs[i])
			return rql_error_memory(g->r->err, 0, "groups of rows");
	}
	g->kept.vector_count = count;
	return RQL_OK;
}

/* Counts were sums: of a HUGEINT, and NULL without rows. */
static rql_status finish_counts(struct ranging *g, const struct rql_rowset *groups)
{
	for (uint32_t i = g->rel->group_count; i < g->rel->expr_count; i++) {
		struct rql_vector *v = &groups->vectors[i];
		struct rql_column *column = NULL;
		if (strncmp(g->rel->exprs[i]->name, "count", 5))
			continue;
		RQL_TRY(rql_column_room(g->r, g->rel->exprs[i]->type, groups->rows, false, &column));
		for (uint64_t r = 0; r < groups->rows; r++) {
			struct rql_value sum = rql_vector_get(v, (uint32_t)r);
			((int64_t *)column->data)[r] = sum.is_null ? 0 : (int64_t)sum.integer;
		}
		*v = (struct rql_vector){.kind = RQL_VECTOR_COLUMN, .type = column->type, .values = column};
	}
	return RQL_OK;
}

static rql_status group(struct ranging *g, struct rql_rowset *out)
{
	struct rql_rel rel;
	uint64_t n = 0;
	if (!g->join.by_index)
		RQL_TRY(rql_range_rows(&g->join, &g->rows));
	g->kept = (struct rql_rowset){.arena = g->r->arena, .rows = g->join.sides[g->keeper]->rows};
	RQL_TRY(count_pairs(g));
	RQL_TRY(rewrite(g, &rel));
	for (uint64_t i = 0; i < g->kept.capacity; i++)
		n += g->pairs[i] != 0;
	g->kept.rows = n;
	RQL_TRY(rql_rowset_aggregate(g->r, &rel, &g->kept, out));
	return finish_counts(g, out);
}

rql_status rql_rowset_aggregate_ranges(struct rql_running *r, const struct rql_rel *rel, const struct rql_rel *join,
                                       struct rql_rowset *inputs, struct rql_rowset *out, bool *done)
{
	struct ranging g = {.r = r, .rel = rel, .join = {.r = r, .rel = join}};
	*done = false;
	if (!rql_ranges_keep(rel, join, &g.keeper))
		return RQL_OK;
	rql_status status = rql_join_open(&g.join, inputs);
	/* Where both can keep, the side without the points: its sums are read in order. */
	if (status == RQL_OK && can_keep(rel, join->children[0]->column_count, !g.join.build))
		g.keeper = !g.join.build;
	*done = status == RQL_OK && g.join.ranged && !g.join.keys.rest_count;
	if (*done && g.join.by_index)
		status = count_by_index(&g);
	if (*done && status == RQL_OK)
		status = group(&g, out);
	rql_join_close(&g.join);
	return status;
}
