/* GROUP BY over a join by ranges without its pairs. The groups are those of one side, the keeper; of the other side's rows
 * with which one of the keeper's is paired a few sums are enough (range_sums.h): how many they are, and of each aggregate's
 * argument the sum and the number of values.
 *
 * Then the keeper's rows are grouped as any others: a count is a sum of numbers of pairs, and so on. Sums of reals are left to
 * the pairs: a difference of two of them loses digits. */
#include <string.h>
#include "flow/aggregate/range_sums.h"

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
	int64_t *pairs; /* of each of the keeper's rows */
	struct rql_rowset kept;
};

/* ---- what can be done ---- */

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
	unsigned sides = rql_join_reads(e->children[0], lefts);
	if (sides != 1 && sides != 2)
		return false;
	return is_extreme(e) ? sides == 1u << keeper : !strcmp(e->name, "count") || is_summed(e);
}

static bool can_keep(const struct rql_rel *rel, uint32_t lefts, unsigned keeper)
{
	for (uint32_t i = 0; i < rel->expr_count; i++) {
		const struct rql_expr *e = rel->exprs[i];
		if (i < rel->group_count ? rql_join_reads(e, lefts) & ~(1u << keeper) : !can_part(e, lefts, keeper))
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

/* ---- how many pairs each of the keeper's rows has ---- */

/* Of a row of the table's side nothing is known by the index; and where more rows would be found than there are, sums over
 * sorted rows are sooner there. */
static rql_status leave_index(struct ranging *g)
{
	struct joining *j = &g->join;
	static const struct rql_range_values all = {0};
	const uint64_t rows = j->sides[!j->build]->rows;
	uint64_t pairs = 0;
	if (g->keeper == j->build)
		return rql_range_sort(j);
	RQL_TRY(RQL_SCRATCH(g->r, g->pairs, rows));
	RQL_TRY(rql_range_sums(j, g->keeper, NULL, &all, g->pairs));
	for (uint64_t i = 0; i < rows; i++)
		pairs += (uint64_t)g->pairs[i];
	return pairs > j->index.rows ? rql_range_sort(j) : RQL_OK;
}

struct selecting {
	struct ranging *g;
	uint64_t *first; /* [morsels + 1]: kept rows before a morsel's */
	bool by_rows;    /* the keeper has looked up */
};

static rql_status count_kept(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct selecting *s = state;
	const struct ranging *g = s->g;
	uint64_t n = 0;
	(void)worker, (void)err;
	for (uint64_t i = first; i < first + rows; i++) {
		if (s->by_rows)
			g->pairs[i] = g->rows[i].count;
		n += g->pairs[i] != 0;
	}
	s->first[first / RQL_MORSEL_ROWS + 1] = n;
	return RQL_OK;
}

static rql_status keep_rows(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct selecting *s = state;
	uint64_t n = s->first[first / RQL_MORSEL_ROWS];
	(void)worker, (void)err;
	for (uint64_t i = first; i < first + rows; i++)
		if (s->g->pairs[i])
			s->g->kept.selection[n++] = (uint32_t)i;
	return RQL_OK;
}

/* Rows without a pair are of no group. */
static rql_status count_pairs(struct ranging *g)
{
	struct joining *j = &g->join;
	static const struct rql_range_values all = {0};
	const uint64_t rows = j->sides[g->keeper]->rows, morsels = (rows + RQL_MORSEL_ROWS - 1) / RQL_MORSEL_ROWS;
	struct selecting s = {.g = g};
	s.by_rows = !j->by_index && g->keeper != j->build;
	if (!j->by_index)
		RQL_TRY(RQL_SCRATCH(g->r, g->pairs, rows));
	if (g->keeper == j->build)
		RQL_TRY(rql_range_sums(j, g->keeper, g->rows, &all, g->pairs));
	RQL_TRY(RQL_ZEROED_SCRATCH(g->r, s.first, morsels + 1));
	RQL_TRY(RQL_ROOM(g->r, g->kept.selection, rows));
	RQL_TRY(rql_morsels_run(g->r, rows, count_kept, &s));
	for (uint64_t m = 0; m < morsels; m++)
		s.first[m + 1] += s.first[m];
	RQL_TRY(rql_morsels_run(g->r, rows, keep_rows, &s));
	g->kept.capacity = rows;
	g->kept.rows = s.first[morsels];
	return RQL_OK;
}

/* ---- columns of numbers ---- */

/* A column of numbers for the keeper's rows, of 64 bits where these hold them: a sum over the other side, or the keeper's own
 * argument as often as there are pairs. */
struct making {
	const struct ranging *g;
	const struct rql_vector *v; /* the argument; NULL: 1 */
	int64_t *narrow;            /* NOTHING: NULL */
	rql_int128 *wide;           /* the same without `narrow` */
	uint64_t *valid;
	const int64_t *values; /* of a sum over the other side: how many were added */
};
#define NOTHING INT64_MIN

static void clear_number(const struct making *m, uint64_t row)
{
	if (m->narrow)
		m->narrow[row] = NOTHING;
	else
		rql_bit_clear(m->valid, row);
}

static rql_status multiply(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct making *m = state;
	uint32_t numbers[RQL_VECTOR_ROWS];
	int64_t value[RQL_VECTOR_ROWS];
	uint64_t valid[RQL_VECTOR_WORDS];
	struct rql_lanes lanes;
	(void)worker, (void)err;
	for (uint64_t at = first; at < first + rows; at += RQL_VECTOR_ROWS) {
		const uint32_t n = rql_vector_part(at, first + rows);
		const int64_t *pairs = m->g->pairs + at;
		for (uint32_t i = 0; i < n; i++)
			numbers[i] = (uint32_t)(at + i);
		rql_vector_load(m->v, numbers, n, RQL_LANE_I64, value, valid, &lanes);
		for (uint32_t i = 0; i < n; i++) {
			if (!rql_bit_valid(lanes.valid, i))
				clear_number(m, at + i);
			else if (m->narrow)
				m->narrow[at + i] = pairs[i] * value[i];
			else
				m->wide[at + i] = (rql_int128)pairs[i] * value[i];
		}
	}
	return RQL_OK;
}

/* The pairs of rows that have a value. */
static rql_status count_valid(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct making *m = state;
	uint32_t numbers[RQL_VECTOR_ROWS];
	uint64_t valid[RQL_VECTOR_WORDS];
	(void)worker, (void)err;
	for (uint64_t at = first; at < first + rows; at += RQL_VECTOR_ROWS) {
		const uint32_t n = rql_vector_part(at, first + rows);
		for (uint32_t i = 0; i < n; i++)
			numbers[i] = (uint32_t)(at + i);
		rql_vector_valid(m->v, numbers, n, valid);
		for (uint32_t i = 0; i < n; i++)
			m->narrow[at + i] = rql_bit(valid, i) ? m->g->pairs[at + i] : 0;
	}
	return RQL_OK;
}

static rql_status clear_empty(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct making *m = state;
	(void)worker, (void)err;
	for (uint64_t i = first; i < first + rows; i++)
		if (!m->values[i])
			clear_number(m, i);
	return RQL_OK;
}

/* Narrow ones are the vector's distances from 0. */
static rql_status new_numbers(struct making *m, bool narrow, struct rql_type type, struct rql_vector *out)
{
	struct rql_running *r = m->g->r;
	const uint64_t rows = m->g->kept.capacity;
	if (narrow) {
		RQL_TRY(RQL_SCRATCH(r, m->narrow, rows));
		*out = (struct rql_vector){.kind = RQL_VECTOR_WIDE, .type = type, .wide = (const uint64_t *)m->narrow};
		out->null_wide = (uint64_t)NOTHING;
		return RQL_OK;
	}
	RQL_TRY(RQL_SCRATCH(r, m->wide, rows));
	RQL_TRY(RQL_SCRATCH(r, m->valid, (rows + 63) / 64));
	memset(m->valid, 0xff, (rows + 63) / 64 * sizeof *m->valid);
	*out = (struct rql_vector){.kind = RQL_VECTOR_INTEGER, .type = type, .integer = m->wide, .valid = m->valid};
	return RQL_OK;
}

/* Of the keeper's own argument. */
static rql_status make_own(struct making *m, enum part_kind kind, struct rql_type type, struct rql_vector *out)
{
	struct rql_running *r = m->g->r;
	const uint64_t rows = m->g->kept.capacity;
	const bool valid = !m->v || !rql_vector_nullable(m->v);
	if (kind == PART_ROWS && valid) { /* the pairs themselves */
		*out = (struct rql_vector){.kind = RQL_VECTOR_WIDE, .type = type, .wide = (const uint64_t *)m->g->pairs};
		out->null_wide = (uint64_t)NOTHING;
		return RQL_OK;
	}
	const struct rql_range_values values = {m->v, kind == PART_ROWS};
	RQL_TRY(new_numbers(m, rql_range_sums_narrow(&values), type, out));
	return rql_morsels_run(r, rows, kind == PART_ROWS ? count_valid : multiply, m);
}

static rql_status make_other(struct ranging *g, struct making *m, bool sum, struct rql_type type, struct rql_vector *out)
{
	const struct rql_range_values added = {m->v, !sum}, counted = {m->v, true};
	int64_t *values;
	RQL_TRY(new_numbers(m, rql_range_sums_narrow(&added), type, out));
	RQL_TRY(m->narrow ? rql_range_sums(&g->join, g->keeper, g->rows, &added, m->narrow)
	                  : rql_range_wide_sums(&g->join, g->keeper, g->rows, &added, m->wide));
	if (!sum || !rql_vector_nullable(m->v))
		return RQL_OK;
	RQL_TRY(RQL_SCRATCH(g->r, values, g->kept.capacity));
	RQL_TRY(rql_range_sums(&g->join, g->keeper, g->rows, &counted, values));
	m->values = values;
	return rql_morsels_run(g->r, g->kept.capacity, clear_empty, m);
}

/* The argument of the aggregate over the keeper's rows. */
static rql_status make_part(struct ranging *g, const struct rql_expr *e, enum part_kind kind, struct rql_vector *out)
{
	const bool sum = kind == PART_SUM || kind == PART_TIMES, own = kind == PART_ROWS || kind == PART_TIMES;
	const struct rql_type type = sum ? e->type : rql_type_simple(RQL_TYPE_HUGEINT);
	struct rql_vector v;
	struct making m = {.g = g, .v = e->child_count ? &v : NULL};
	if (e->child_count)
		RQL_TRY(rql_rowset_compute(g->r, g->join.sides[own ? g->keeper : !g->keeper], e->children[0], &v));
	return own ? make_own(&m, kind, type, out) : make_other(g, &m, sum, type, out);
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
			kind = part_of(e, e->child_count ? rql_join_reads(e->children[0], lefts) : 0, g->keeper);
		if (kind != PART_VALUE) {
			struct rql_expr shifted = *e;
			if (e->child_count) {
				uint32_t by = rql_join_reads(e->children[0], lefts) == 2 ? lefts : 0;
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
	if (!g->join.by_index)
		RQL_TRY(rql_range_rows(&g->join, &g->rows));
	g->kept = (struct rql_rowset){.arena = g->r->arena};
	RQL_TRY(count_pairs(g));
	RQL_TRY(rewrite(g, &rel));
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
		status = leave_index(&g);
	if (*done && status == RQL_OK)
		status = group(&g, out);
	rql_join_close(&g.join);
	return status;
}
