/* AGGREGATE and DISTINCT over any rows: groups are numbered by the words of their keys (keys.h), then each aggregate goes over
 * its argument by vectors. Few groups have their states once for each thread, added up at the end; many are split into parts
 * of which each belongs to one thread alone.
 *
 * What it must do for a row: its word (keys.c), its part and group (12 bytes written, a slot in the cache: some 10 ns; for
 * fewer than 2^14 values of a key 1 ns), and for each aggregate its argument and a state: 2 ns in the cache. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "flow/aggregate/aggregate_groups.h"
#include "flow/aggregate/aggregate_internal.h"
#include "flow/operator.h"

/* ---- a block of rows into the states ---- */

struct block {
	const uint32_t *rows, *groups;
	uint32_t n;
	bool all;                        /* live is not needed */
	bool one;                        /* all are of group 0 */
	uint64_t live[RQL_VECTOR_WORDS]; /* rows that count */
	struct rql_lanes lanes;
	_Alignas(64) rql_int128 data[RQL_VECTOR_ROWS];
	uint64_t valid[RQL_VECTOR_WORDS], bits[RQL_VECTOR_WORDS];
};

#define EACH_LIVE(b, body)                                                                                             \
	do {                                                                                                               \
		if ((b)->all) {                                                                                                \
			for (uint32_t i = 0; i < (b)->n; i++) {                                                                    \
				const uint32_t g = (b)->groups[i];                                                                     \
				body;                                                                                                  \
			}                                                                                                          \
			break;                                                                                                     \
		}                                                                                                              \
		for (uint32_t w = 0; w < ((b)->n + 63) / 64; w++)                                                              \
			for (uint64_t bits = (b)->live[w]; bits; bits &= bits - 1) {                                               \
				const uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(bits), g = (b)->groups[i];                       \
				body;                                                                                                  \
			}                                                                                                          \
	} while (0)

static void count_rows(const struct block *b, uint64_t *count)
{
	if (b->one && b->all)
		count[0] += b->n;
	else
		EACH_LIVE(b, count[g]++);
}

/* By halves: a loop that compilers make vectors of. */
static rql_int128 sum_lanes(const int64_t *values, uint32_t n)
{
	uint64_t low = 0;
	int64_t high = 0;
	for (uint32_t i = 0; i < n; i++) {
		low += (uint32_t)values[i];
		high += values[i] >> 32;
	}
	return (rql_int128)high * ((rql_int128)1 << 32) + low;
}

static bool sum_integers(const struct aggregate *a, const struct block *b, const struct states *s)
{
	const int64_t *narrow = b->lanes.data;
	const rql_int128 *wide = b->lanes.data;
	bool overflow = false;
	if (a->form == FORM_I64 && b->one && b->all) {
		s->count[0] += b->n;
		s->integer[0] += sum_lanes(narrow, b->n);
	} else if (a->form == FORM_I64) /* 2^64 of them fit into 128 bits */
		EACH_LIVE(b, (s->count[g]++, s->integer[g] += narrow[i]));
	else
		EACH_LIVE(b, (s->count[g]++, overflow |= __builtin_add_overflow(s->integer[g], wide[i], &s->integer[g])));
	return !overflow;
}

static void sum_reals(const struct block *b, const struct states *s)
{
	const double *real = b->lanes.data;
	EACH_LIVE(b, (s->count[g]++, s->real[g] += real[i]));
}

static void keep_integer(const struct states *s, uint32_t g, rql_int128 value, bool least)
{
	if (!s->count[g]++ || (least ? value < s->integer[g] : value > s->integer[g]))
		s->integer[g] = value;
}

/* NaN is the greatest. */
static bool real_less(double a, double b)
{
	return isnan(b) ? !isnan(a) : a < b;
}

static void keep_real(const struct states *s, uint32_t g, double value, bool least)
{
	if (!s->count[g]++ || (least ? real_less(value, s->real[g]) : real_less(s->real[g], value)))
		s->real[g] = value;
}

static void keep_string(const struct aggregate *a, const struct states *s, uint32_t g, uint32_t row)
{
	if (!s->count[g]++) {
		s->row[g] = row;
		return;
	}
	struct rql_value value = rql_vector_get(&a->argument, row), best = rql_vector_get(&a->argument, s->row[g]);
	int order = rql_value_compare(&value, &best);
	if (a->kind == AGG_LEAST ? order < 0 : order > 0)
		s->row[g] = row;
}

static void keep_extremes(const struct aggregate *a, const struct block *b, const struct states *s)
{
	bool least = a->kind == AGG_LEAST;
	const int64_t *narrow = b->lanes.data;
	const rql_int128 *wide = b->lanes.data;
	const double *real = b->lanes.data;
	if (a->form == FORM_I64)
		EACH_LIVE(b, keep_integer(s, g, narrow[i], least));
	else if (a->form == FORM_I128)
		EACH_LIVE(b, keep_integer(s, g, wide[i], least));
	else if (a->form == FORM_REAL)
		EACH_LIVE(b, keep_real(s, g, real[i], least));
	else
		EACH_LIVE(b, keep_string(a, s, g, b->rows[i]));
}

static void mask(struct block *b, const uint64_t *bits)
{
	if (!bits)
		return;
	if (b->all) {
		memset(b->live, 0, sizeof b->live);
		rql_bits_fill(b->live, b->n);
	}
	b->all = false;
	for (uint32_t w = 0; w < (b->n + 63) / 64; w++)
		b->live[w] &= bits[w];
}

/* Which rows count, and their arguments. */
static void load(const struct aggregate *a, struct block *b)
{
	static const enum rql_lane_kind kinds[] = {RQL_LANE_I32, RQL_LANE_I64, RQL_LANE_I128, RQL_LANE_F64, RQL_LANE_I32};
	b->all = true;
	if (a->has_filter) {
		rql_vector_load(&a->filter, b->rows, b->n, RQL_LANE_BOOL, b->bits, b->valid, &b->lanes);
		mask(b, b->bits);
		mask(b, b->lanes.valid);
	}
	if (a->kind == AGG_COUNT_STAR)
		return;
	if (a->form != FORM_STRING && a->form != FORM_NONE) {
		rql_vector_load(&a->argument, b->rows, b->n, kinds[a->form], b->data, b->valid, &b->lanes);
		mask(b, b->lanes.valid);
		return;
	}
	if (!rql_vector_nullable(&a->argument))
		return;
	rql_vector_valid(&a->argument, b->rows, b->n, b->valid);
	mask(b, b->valid);
}

static rql_status add_block(const struct aggregate *a, struct block *b, const struct states *s, struct rql_error *err)
{
	load(a, b);
	switch (a->kind) {
	case AGG_COUNT_STAR:
	case AGG_COUNT:
		count_rows(b, s->count);
		return RQL_OK;
	case AGG_SUM:
	case AGG_AVERAGE:
		if (a->form == FORM_REAL)
			sum_reals(b, s);
		else if (!sum_integers(a, b, s))
			return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a sum leaves 128 bits");
		return RQL_OK;
	default:
		keep_extremes(a, b, s);
		return RQL_OK;
	}
}

/* ---- all rows ---- */

/* Rows list[0..n), or `first`, ... where there is no list. groups: of list[i]; NULL: what groups.group says. */
static rql_status add_rows(const struct aggregating *g, const struct aggregate *a, const struct states *s,
                           const uint32_t *list, const uint32_t *of, uint64_t first, uint64_t rows,
                           struct rql_error *err)
{
	struct block b;
	uint32_t numbers[RQL_VECTOR_ROWS], groups[RQL_VECTOR_ROWS] = {0};
	b.one = !of && (!g || !g->groups.group);
	for (uint64_t at = 0; at < rows; at += RQL_VECTOR_ROWS) {
		b.n = rql_vector_part(at, rows);
		for (uint32_t i = 0; i < b.n && !list; i++)
			numbers[i] = (uint32_t)(first + at + i);
		b.rows = list ? list + at : numbers;
		for (uint32_t i = 0; i < b.n && !of && !b.one; i++)
			groups[i] = g->groups.group[b.rows[i]];
		b.groups = of ? of + at : groups;
		RQL_TRY(add_block(a, &b, s, err));
	}
	return RQL_OK;
}

static rql_status add_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct aggregating *g = state;
	for (uint32_t i = 0; i < g->agg_count; i++)
		if (!g->aggs[i].rows)
			RQL_TRY(add_rows(g, &g->aggs[i], &g->aggs[i].states[worker], NULL, NULL, first, rows, err));
	return RQL_OK;
}

static rql_status add_part(void *state, uint64_t part, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct aggregating *g = state;
	const uint64_t *from = &g->groups.part_rows[part];
	(void)rows, (void)worker;
	for (uint32_t i = 0; i < g->agg_count; i++)
		if (!g->aggs[i].rows)
			RQL_TRY(add_rows(g, &g->aggs[i], &g->aggs[i].states[0], g->groups.row + from[0],
			                 g->groups.group_in_part + from[0], 0, from[1] - from[0], err));
	return RQL_OK;
}

rql_status rql_aggregate_add(const struct aggregate *a, const struct states *states, const uint32_t *rows,
                             const uint32_t *groups, uint64_t n, struct rql_error *err)
{
	return add_rows(NULL, a, states, rows, groups, 0, n, err);
}

static rql_status add_sum(const struct aggregate *a, const struct states *to, uint32_t g, const struct states *from,
                          uint64_t i, uint64_t times, struct rql_error *err)
{
	rql_int128 sum;
	if (a->form == FORM_REAL) {
		to->real[g] += from->real[i] * (double)times;
		return RQL_OK;
	}
	if (__builtin_mul_overflow(from->integer[i], (rql_int128)times, &sum) ||
	    __builtin_add_overflow(to->integer[g], sum, &to->integer[g]))
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a sum leaves 128 bits");
	return RQL_OK;
}

rql_status rql_aggregate_take(const struct aggregate *a, const struct states *to, uint32_t g, const struct states *from,
                              uint64_t i, uint64_t times, struct rql_error *err)
{
	uint64_t count;
	if (!from->count[i])
		return RQL_OK;
	if (__builtin_mul_overflow(from->count[i], times, &count) || __builtin_add_overflow(to->count[g], count, &count) ||
	    count > INT64_MAX)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a group has 2^63 rows or more");
	const bool extreme = a->kind == AGG_LEAST || a->kind == AGG_GREATEST;
	if (a->kind == AGG_SUM || a->kind == AGG_AVERAGE)
		RQL_TRY(add_sum(a, to, g, from, i, times, err));
	else if (extreme && a->form == FORM_STRING)
		keep_string(a, to, g, from->row[i]);
	else if (extreme && a->form == FORM_REAL)
		keep_real(to, g, from->real[i], a->kind == AGG_LEAST);
	else if (extreme)
		keep_integer(to, g, from->integer[i], a->kind == AGG_LEAST);
	to->count[g] = count;
	return RQL_OK;
}

rql_status rql_aggregate_merge(struct aggregating *g, struct aggregate *a)
{
	for (uint32_t c = 1; c < g->copies && !a->rows; c++)
		for (uint64_t i = 0; i < g->groups.count; i++)
			RQL_TRY(rql_aggregate_take(a, &a->states[0], (uint32_t)i, &a->states[c], i, 1, g->r->err));
	return RQL_OK;
}

/* ---- DISTINCT inside ---- */

/* The rows that count: of each group and value the first. */
static rql_status find_distinct(struct aggregating *g, struct aggregate *a)
{
	uint32_t *list;
	uint64_t n = 0;
	if (g->groups.row)
		RQL_TRY(rql_key_groups_spread(g->r, &g->groups, g->set->rows));
	RQL_TRY(RQL_SCRATCH(g->r, list, g->set->rows));
	for (uint64_t i = 0; i < g->set->rows; i++) {
		if (a->has_filter) {
			struct rql_value pass = rql_vector_get(&a->filter, (uint32_t)i);
			if (pass.is_null || !pass.integer)
				continue;
		}
		if (!rql_vector_nullable(&a->argument) || !rql_vector_get(&a->argument, (uint32_t)i).is_null)
			list[n++] = (uint32_t)i;
	}
	struct rql_vector vectors[2] = {a->argument,
	                                {.kind = RQL_VECTOR_CODES,
	                                 .type = rql_type_simple(RQL_TYPE_UINTEGER),
	                                 .codes = g->groups.group,
	                                 .null_code = UINT32_MAX}};
	const bool equal[2] = {true, true};
	struct rql_rowset rows = {.arena = g->r->arena, .capacity = g->set->rows, .rows = n, .selection = list};
	struct rql_keys keys = {.columns = g->groups.group ? 2 : 1,
	                        .nulls_equal = equal,
	                        .side_count = 1,
	                        .sides = {{.set = &rows, .vectors = vectors}}};
	struct rql_key_groups distinct;
	RQL_TRY(rql_keys_make(g->r, &keys));
	RQL_TRY(rql_key_groups_make(g->r, keys.sides[0].words, n, keys.bits, &distinct));
	for (uint64_t i = 0; i < distinct.count; i++)
		distinct.first[i] = list[distinct.first[i]];
	a->rows = distinct.first;
	a->row_count = distinct.count;
	return RQL_OK;
}

/* ---- what an aggregate is ---- */

static enum agg_kind kind_of(const struct rql_expr *e)
{
	static const struct {
		const char *name;
		enum agg_kind kind;
	} names[] = {{"count", AGG_COUNT},   {"sum", AGG_SUM},       {"avg", AGG_AVERAGE},       {"min", AGG_LEAST},
	             {"max", AGG_GREATEST}, {"bool_and", AGG_LEAST}, {"bool_or", AGG_GREATEST}};
	for (size_t i = 0; i < sizeof names / sizeof *names && e->child_count; i++)
		if (!strcmp(e->name, names[i].name))
			return names[i].kind;
	return AGG_COUNT_STAR;
}

static enum agg_form form_of(enum agg_kind kind, struct rql_type type)
{
	if (kind == AGG_COUNT_STAR || kind == AGG_COUNT)
		return FORM_NONE;
	if (type.id == RQL_TYPE_VARCHAR || type.id == RQL_TYPE_BLOB)
		return FORM_STRING;
	if (type.id == RQL_TYPE_DOUBLE || type.id == RQL_TYPE_FLOAT)
		return FORM_REAL;
	/* Of eight bytes without a sign a lane of 64 bits has the half. */
	return rql_type_bytes(type) == 16 || type.id == RQL_TYPE_UBIGINT ? FORM_I128 : FORM_I64;
}

static rql_status new_states(struct rql_running *r, const struct aggregate *a, uint64_t groups, struct states *s)
{
	RQL_TRY(RQL_ZEROED_SCRATCH(r, s->count, groups));
	if (a->form == FORM_I64 || a->form == FORM_I128)
		RQL_TRY(RQL_ZEROED_SCRATCH(r, s->integer, groups));
	if (a->form == FORM_REAL)
		RQL_TRY(RQL_ZEROED_SCRATCH(r, s->real, groups));
	if (a->form == FORM_STRING)
		RQL_TRY(RQL_ROOM(r, s->row, groups));
	return RQL_OK;
}

/* What it is, and its argument. */
static rql_status describe(struct aggregating *g, uint32_t i, const struct rql_expr *e)
{
	struct aggregate *a = &g->aggs[i];
	a->expr = e;
	a->set = g->set;
	a->kind = kind_of(e);
	a->has_filter = e->filter != NULL;
	if (e->filter)
		RQL_TRY(rql_rowset_compute(g->r, g->set, e->filter, &a->filter));
	if (a->kind != AGG_COUNT_STAR) {
		RQL_TRY(rql_rowset_compute(g->r, g->set, e->children[0], &a->argument));
		a->form = form_of(a->kind, e->children[0]->type);
	}
	return RQL_OK;
}

rql_status rql_aggregate_room(struct aggregating *g, struct aggregate *a)
{
	if (!(a->states = RQL_NEW_ARRAY(g->r->arena, struct states, g->copies)))
		return rql_error_memory(g->r->err, 0, "groups of rows");
	for (uint32_t c = 0; c < g->copies; c++)
		RQL_TRY(new_states(g->r, a, g->groups.count, &a->states[c]));
	return RQL_OK;
}

rql_status rql_aggregate_prepare(struct aggregating *g, uint32_t i, const struct rql_expr *e)
{
	struct aggregate *a = &g->aggs[i];
	RQL_TRY(describe(g, i, e));
	if (e->distinct && a->kind != AGG_COUNT_STAR && a->kind != AGG_LEAST && a->kind != AGG_GREATEST)
		RQL_TRY(find_distinct(g, a));
	return rql_aggregate_room(g, a);
}

/* ---- groups ---- */

/* A group's first row says what its keys are. */
static rql_status make_groups(struct aggregating *g, struct rql_rowset *out)
{
	uint32_t count = g->rel->group_count;
	struct rql_vector *keys = RQL_NEW_ARRAY(g->r->arena, struct rql_vector, count);
	*out = (struct rql_rowset){.arena = g->r->arena, .vector_count = g->rel->expr_count};
	if (!keys || !(out->vectors = RQL_NEW_ARRAY(g->r->arena, struct rql_vector, out->vector_count)))
		return rql_error_memory(g->r->err, 0, "groups of rows");
	for (uint32_t k = 0; k < count; k++)
		RQL_TRY(rql_rowset_compute(g->r, g->set, g->rel->exprs[k], &keys[k]));
	if (count) {
		RQL_TRY(rql_key_groups_of(g->r, g->set, keys, count, &g->groups));
		struct rql_rowset of = {.capacity = g->set->rows, .vector_count = count, .vectors = keys};
		RQL_TRY(rql_vectors_at(g->r, &of, g->groups.first, g->groups.count, false, out->vectors));
	} else {
		g->groups.count = 1; /* also of no rows */
	}
	out->rows = out->capacity = g->groups.count;
	return RQL_OK;
}

/* ---- columns ---- */

static bool fits_decimal(struct rql_type type, rql_int128 v)
{
	rql_int128 limit = 1;
	for (unsigned i = 0; i < type.width; i++)
		limit *= 10;
	return type.id != RQL_TYPE_DECIMAL || (v > -limit && v < limit);
}

static rql_status put_result(const struct aggregate *a, uint64_t i, struct rql_column *column, struct rql_error *err)
{
	const struct states *s = &a->states[0];
	struct rql_value v = {.type = column->type};
	if (a->kind == AGG_COUNT || a->kind == AGG_COUNT_STAR)
		v.integer = s->count[i];
	else if (!s->count[i])
		return RQL_OK;
	else if (a->kind == AGG_AVERAGE && a->form == FORM_REAL)
		v.real = s->real[i] / (double)s->count[i];
	else if (a->kind == AGG_AVERAGE) {
		unsigned scale = a->argument.type.id == RQL_TYPE_DECIMAL ? a->argument.type.scale : 0;
		bool narrow = rql_type_bytes(a->argument.type) == 2;
		if (!rql_integer_average(s->integer[i], s->count[i], scale, narrow, a->expr->average, &v.real))
			return rql_error_set(err, RQL_ERROR_UNSUPPORTED, RQL_NO_AVERAGE);
	}
	else if (a->form == FORM_REAL)
		v.real = s->real[i];
	else
		v.integer = s->integer[i];
	if (a->kind == AGG_SUM && a->form != FORM_REAL && !fits_decimal(column->type, v.integer))
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "a sum leaves its type");
	rql_column_put(column, i, &v);
	if (column->validity)
		rql_bit_set(column->validity, i);
	return RQL_OK;
}

struct finishing {
	const struct aggregate *a;
	struct rql_column *column;
};

static rql_status finish_morsel(void *state, uint64_t first, uint64_t rows, unsigned worker, struct rql_error *err)
{
	const struct finishing *f = state;
	(void)worker;
	for (uint64_t i = first; i < first + rows; i++)
		RQL_TRY(put_result(f->a, i, f->column, err));
	return RQL_OK;
}

rql_status rql_aggregate_finish(struct aggregating *g, struct aggregate *a, struct rql_vector *out)
{
	uint64_t groups = g->groups.count;
	bool none = false;
	struct states *s = &a->states[0];
	RQL_TRY(rql_aggregate_merge(g, a));
	for (uint64_t i = 0; i < groups && !none; i++)
		none = !s->count[i];
	if (a->form == FORM_STRING && a->set->rows) {
		for (uint64_t i = 0; i < groups && none; i++)
			s->row[i] = s->count[i] ? s->row[i] : RQL_NO_ROW;
		struct rql_rowset of = {.capacity = a->set->rows, .vector_count = 1, .vectors = &a->argument};
		return rql_vectors_at(g->r, &of, s->row, groups, none, out);
	}
	struct finishing f = {.a = a};
	RQL_TRY(rql_column_room(g->r, a->expr->type, groups, none && a->kind > AGG_COUNT, &f.column));
	*out = (struct rql_vector){.kind = RQL_VECTOR_COLUMN, .type = a->expr->type, .values = f.column};
	return a->form == FORM_STRING ? RQL_OK : rql_morsels_run(g->r, groups, finish_morsel, &f);
}

/* ---- groups that a method makes ---- */

/* The value of its argument, one for all aggregates of it; *count: as many as there are so far. */
static struct rql_grouped_value *value_of(const struct aggregate *a, struct rql_grouped_value *values, uint32_t *count)
{
	uint32_t at = 0;
	while (at < *count && memcmp(&values[at].argument, &a->argument, sizeof(a->argument)) != 0)
		at++;
	if (at == *count) {
		memset(&values[at], 0, sizeof(values[at]));
		memcpy(&values[at].argument, &a->argument, sizeof(a->argument));
		++*count;
	}
	values[at].sum |= a->kind == AGG_SUM || a->kind == AGG_AVERAGE;
	values[at].least |= a->kind == AGG_LEAST;
	values[at].greatest |= a->kind == AGG_GREATEST;
	return &values[at];
}

/* Its states as if they had been added up here. */
static rql_status take_states(struct aggregating *g, struct aggregate *a, const struct rql_grouped *from,
                              const struct rql_grouped_value *value)
{
	const rql_int128 *words = NULL;
	if (!(a->states = RQL_NEW(g->r->arena, struct states)))
		return rql_error_memory(g->r->err, 0, "groups of rows");
	RQL_TRY(new_states(g->r, a, from->count, a->states));
	memcpy(a->states->count, value ? value->count : from->rows, from->count * sizeof(*from->rows));
	if (a->kind == AGG_SUM || a->kind == AGG_AVERAGE)
		words = value->sums;
	else if (a->kind == AGG_LEAST || a->kind == AGG_GREATEST)
		words = a->kind == AGG_LEAST ? value->leasts : value->greatests;
	if (words)
		memcpy(a->states->integer, words, from->count * sizeof(*words));
	return RQL_OK;
}

static rql_status key_words(struct aggregating *g, struct rql_vector *vectors, struct rql_keys *out)
{
	const uint32_t count = g->rel->group_count;
	bool *equal = RQL_NEW_ARRAY(g->r->arena, bool, count);
	if (!equal)
		return rql_error_memory(g->r->err, 0, "groups of rows");
	memset(equal, 1, count);
	for (uint32_t k = 0; k < count; k++)
		RQL_TRY(rql_rowset_compute(g->r, g->set, g->rel->exprs[k], &vectors[k]));
	*out = (struct rql_keys){
		.columns = count, .nulls_equal = equal, .side_count = 1, .sides = {{.set = g->set, .vectors = vectors}}};
	return rql_keys_make(g->r, out);
}

/* *done: false: they are not made so, and all is as it was. */
static rql_status make_by_method(struct aggregating *g, struct rql_rowset *out, bool *done)
{
	struct rql_running *r = g->r;
	struct rql_vector *vectors = RQL_NEW_ARRAY(r->arena, struct rql_vector, g->rel->group_count);
	struct rql_grouped_value *values = RQL_NEW_ARRAY(r->arena, struct rql_grouped_value, g->agg_count + 1);
	struct rql_grouped_value **of = RQL_NEW_ARRAY(r->arena, struct rql_grouped_value *, g->agg_count + 1);
	struct rql_grouped groups;
	struct rql_keys keys;
	uint32_t count = 0;
	*out = (struct rql_rowset){.arena = r->arena, .vector_count = g->rel->expr_count};
	if (!vectors || !values || !of || !(out->vectors = RQL_NEW_ARRAY(r->arena, struct rql_vector, out->vector_count)))
		return rql_error_memory(r->err, 0, "groups of rows");
	for (uint32_t i = 0; i < g->agg_count; i++) {
		RQL_TRY(describe(g, i, g->rel->exprs[g->rel->group_count + i]));
		of[i] = g->aggs[i].kind == AGG_COUNT_STAR ? NULL : value_of(&g->aggs[i], values, &count);
	}
	RQL_TRY(key_words(g, vectors, &keys));
	RQL_TRY(rql_rows_group(r, &keys, values, count, &groups, done));
	if (!*done)
		return RQL_OK;
	g->groups.count = out->rows = out->capacity = groups.count;
	g->copies = 1;
	const struct rql_rowset set = {.capacity = g->set->rows, .vector_count = g->rel->group_count, .vectors = vectors};
	RQL_TRY(rql_vectors_at(r, &set, groups.first, groups.count, false, out->vectors));
	for (uint32_t i = 0; i < g->agg_count; i++) {
		RQL_TRY(take_states(g, &g->aggs[i], &groups, of[i]));
		RQL_TRY(rql_aggregate_finish(g, &g->aggs[i], &out->vectors[g->rel->group_count + i]));
	}
	return RQL_OK;
}

uint32_t rql_aggregate_copies(const struct aggregating *g)
{
	return g->groups.row ? 1 : rql_running_threads(g->r);
}

rql_status rql_aggregate_all(struct aggregating *g)
{
	RQL_TRY(g->groups.row ? rql_parts_run(g->r, g->groups.part_count, add_part, g)
	                      : rql_morsels_run(g->r, g->set->rows, add_morsel, g));
	for (uint32_t i = 0; i < g->agg_count; i++) {
		const struct aggregate *a = &g->aggs[i];
		if (a->rows)
			RQL_TRY(add_rows(g, a, &a->states[0], a->rows, NULL, 0, a->row_count, g->r->err));
	}
	return RQL_OK;
}

rql_status rql_rowset_aggregate(struct rql_running *r, const struct rql_rel *rel, struct rql_rowset *input,
                                struct rql_rowset *out)
{
	struct aggregating g = {.r = r, .rel = rel, .set = input, .agg_count = rel->expr_count - rel->group_count};
	bool done = false;
	RQL_TRY(rql_rowset_rebase(r, input));
	if (!(g.aggs = RQL_NEW_ARRAY(r->arena, struct aggregate, g.agg_count)))
		return rql_error_memory(r->err, 0, "groups of rows");
	if (r->pairs && r->pairs->of == rel && input->rows)
		RQL_TRY(make_by_method(&g, out, &done));
	if (done)
		return RQL_OK;
	RQL_TRY(make_groups(&g, out));
	g.copies = rql_aggregate_copies(&g);
	for (uint32_t i = 0; i < g.agg_count; i++)
		RQL_TRY(rql_aggregate_prepare(&g, i, rel->exprs[rel->group_count + i]));
	RQL_TRY(rql_aggregate_all(&g));
	for (uint32_t i = 0; i < g.agg_count; i++)
		RQL_TRY(rql_aggregate_finish(&g, &g.aggs[i], &out->vectors[rel->group_count + i]));
	return RQL_OK;
}

rql_status rql_rowset_distinct(struct rql_running *r, struct rql_rowset *set)
{
	struct rql_key_groups groups;
	RQL_TRY(rql_key_groups_of(r, set, set->vectors, set->vector_count, &groups));
	for (uint64_t i = 0; i < groups.count; i++)
		groups.first[i] = rql_rowset_row(set, groups.first[i]);
	set->selection = groups.first;
	set->rows = groups.count;
	set->sorted_keys = 0;
	return RQL_OK;
}
