/* Random tables, cubes made from them the slow way in every layout that cube.h allows (any depth of the directory, any
 * order of digits, folded dimensions, any width), random requests, and the naive answer over the rows: what the tests of
 * the cube's methods share. */
#ifndef RQL_TESTS_CUBE_WORLD_H
#define RQL_TESTS_CUBE_WORLD_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "method/cube/cube.h"
#include "method/cube/cube_pack.h"
#include "method/cube/gpu/cube_place.h"

#define MAX_DIMS 7u
#define MAX_MEASURES 5u
#define MAX_ROWS 4000u
#define MAX_CODES 40u
#define MAX_KEYS 4u
#define MAX_AGGS 8u
#define MAX_BOXES 3u

static uint64_t random_state;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)(next_random() >> 20) % n;
}

static bool one_in(uint32_t n)
{
	return below(n) == 0;
}

/* ---- tables ---- */

struct value {
	bool null;
	rql_int128 integer;
	double real;
};
struct table {
	uint32_t dims, measures, rows;
	uint32_t codes[MAX_DIMS];             /* size of each dimension's dictionary */
	uint32_t parent[MAX_DIMS];            /* the dimension that determines it; itself: a digit's finest */
	uint32_t coarse[MAX_DIMS][MAX_CODES]; /* its code for each code of the parent */
	enum rql_measure_kind kind[MAX_MEASURES];
	bool has_null[MAX_MEASURES];
	uint32_t (*code)[MAX_DIMS];          /* [row] */
	struct value (*value)[MAX_MEASURES]; /* [row] */
};

static rql_int128 random_integer(unsigned range)
{
	rql_int128 wide = (rql_int128)(((rql_uint128)next_random() << 64) | next_random());
	switch (range) {
	case 0:
		return 7;
	case 1:
		return below(2);
	case 2:
		return (rql_int128)below(1 << 24) - (1 << 20);
	case 3:
		return wide >> 80; /* 48 bits */
	case 4:
		return wide >> 64; /* any 64-bit value: sums need 128 */
	default:
		return wide >> 20; /* 108 bits */
	}
}

static double random_real(bool special)
{
	if (special && one_in(20))
		return one_in(3) ? NAN : one_in(2) ? INFINITY : -INFINITY;
	return (double)below(2000) - 1000; /* integers: any order of adding is exact */
}

static void table_make(struct table *t)
{
	static const uint32_t sizes[] = {0, 1, 5, 70, 500, MAX_ROWS};
	*t = (struct table){.dims = 1 + below(MAX_DIMS), .measures = below(MAX_MEASURES + 1)};
	t->rows = one_in(12) ? 0 : 1 + below(sizes[1 + below(5)]);
	for (uint32_t d = 0; d < t->dims; d++) {
		t->codes[d] = one_in(6) ? 1 : 1 + below(one_in(3) ? MAX_CODES : 8);
		t->parent[d] = d;
		if (d == 0 || !one_in(3))
			continue;
		t->parent[d] = t->parent[below(d)];
		bool ordered = !one_in(3);
		for (uint32_t c = 0; c < t->codes[t->parent[d]]; c++)
			t->coarse[d][c] = ordered ? c * t->codes[d] / t->codes[t->parent[d]] : below(t->codes[d]);
	}
	t->code = calloc(t->rows + 1, sizeof(*t->code));
	t->value = calloc(t->rows + 1, sizeof(*t->value));
	assert_true(t->code && t->value);
	unsigned range[MAX_MEASURES];
	bool all_null = one_in(30);
	for (uint32_t m = 0; m < t->measures; m++) {
		t->kind[m] = one_in(3) ? RQL_MEASURE_REAL : one_in(4) ? RQL_MEASURE_CODE : RQL_MEASURE_INTEGER;
		t->has_null[m] = one_in(2);
		range[m] = below(6);
	}
	uint32_t skew = 1 + below(3);
	bool even = one_in(2); /* else small codes are the frequent ones */
	for (uint32_t r = 0; r < t->rows; r++) {
		for (uint32_t d = 0; d < t->dims; d++)
			t->code[r][d] = t->parent[d] == d ? below(even ? t->codes[d] : 1 + below(t->codes[d])) * skew % t->codes[d]
			                                  : t->coarse[d][t->code[r][t->parent[d]]];
		for (uint32_t m = 0; m < t->measures; m++) {
			struct value *v = &t->value[r][m];
			v->null = t->has_null[m] && (all_null || one_in(4));
			v->integer = t->kind[m] == RQL_MEASURE_CODE ? (rql_int128)below(50) : random_integer(range[m]);
			v->real = random_real(range[m] > 3);
		}
	}
}

static void table_free(struct table *t)
{
	free(t->code);
	free(t->value);
}

/* ---- a cube, made the slow way ---- */

struct made {
	struct rql_cube cube;
	struct rql_arena *arena;
	uint32_t *order;     /* rows by key */
	uint64_t *first_row; /* [cells + 1] */
};

static void *need(void *pointer)
{
	assert_non_null(pointer);
	return pointer;
}

static void pack(struct made *made, struct rql_packed *out, const rql_int128 *values, uint64_t count,
                 bool zero_in_range)
{
	rql_int128 least = zero_in_range || !count ? 0 : values[0], greatest = least;
	for (uint64_t i = 0; i < count; i++) {
		least = values[i] < least ? values[i] : least;
		greatest = values[i] > greatest ? values[i] : greatest;
	}
	out->base = least;
	out->bits = rql_packed_width(rql_bits_for((rql_uint128)greatest - (rql_uint128)least));
	out->count = count;
	out->data = NULL;
	uint64_t bytes = rql_packed_bytes(count, out->bits);
	if (!bytes)
		return;
	out->data = need(malloc(bytes)); /* not in the arena: ASan watches its end */
	memset(out->data, 0x5a, bytes);
	struct rql_packer packer = rql_packer_at(out, 0);
	for (uint64_t i = 0; i < count; i++) {
		rql_uint128 field = (rql_uint128)values[i] - (rql_uint128)least;
		if (out->bits == 128)
			rql_packer_put128(&packer, field);
		else
			rql_packer_put(&packer, (uint64_t)field);
	}
	if (out->bits < 128)
		rql_packer_flush(&packer);
	(void)made;
}

static uint64_t *cumulate(struct made *made, const rql_int128 *values, uint64_t count, rql_uint128 **wide)
{
	uint64_t blocks = count / RQL_CUBE_BLOCK + 1;
	uint64_t *narrow = need(RQL_NEW_ARRAY(made->arena, uint64_t, blocks));
	rql_uint128 *all = need(RQL_NEW_ARRAY(made->arena, rql_uint128, blocks)), sum = 0;
	for (uint64_t i = 0; i <= count; i++) {
		if (i % RQL_CUBE_BLOCK == 0) {
			all[i / RQL_CUBE_BLOCK] = sum;
			narrow[i / RQL_CUBE_BLOCK] = (uint64_t)sum;
		}
		if (i < count)
			sum += (rql_uint128)values[i];
	}
	if (wide)
		*wide = all;
	return narrow;
}

static const struct table *sort_table;
static uint32_t sort_digits, sort_dim[MAX_DIMS];

static int compare_rows(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	for (uint32_t i = 0; i < sort_digits; i++) {
		uint32_t cx = sort_table->code[*x][sort_dim[i]], cy = sort_table->code[*y][sort_dim[i]];
		if (cx != cy)
			return cx < cy ? -1 : 1;
	}
	return 0;
}

static void make_digits(struct made *made, const struct table *t)
{
	struct rql_cube *cube = &made->cube;
	uint32_t finest[MAX_DIMS], n = 0;
	for (uint32_t d = 0; d < t->dims; d++)
		if (t->parent[d] == d)
			finest[n++] = d;
	for (uint32_t i = n; i-- > 1;) {
		uint32_t j = below(i + 1), swap = finest[i];
		finest[i] = finest[j];
		finest[j] = swap;
	}
	cube->digit_count = n;
	cube->digits = need(RQL_NEW_ARRAY(made->arena, struct rql_cube_digit, n));
	cube->dimensions = need(RQL_NEW_ARRAY(made->arena, struct rql_cube_dimension, t->dims));
	struct rql_dimension *dims = need(RQL_NEW_ARRAY(made->arena, struct rql_dimension, t->dims));
	for (uint32_t i = 0; i < n; i++)
		cube->digits[i] = (struct rql_cube_digit){.radix = t->codes[finest[i]], .dimension = finest[i]};
	for (uint32_t d = 0; d < t->dims; d++) {
		uint32_t digit = 0;
		while (cube->digits[digit].dimension != t->parent[d])
			digit++;
		uint32_t radix = cube->digits[digit].radix, *map = need(RQL_NEW_ARRAY(made->arena, uint32_t, radix));
		for (uint32_t v = 0; v < radix; v++)
			map[v] = t->parent[d] == d ? v : t->coarse[d][v];
		cube->dimensions[d] = (struct rql_cube_dimension){.digit = digit, .code_of_digit = map};
		dims[d].count = t->codes[d];
		if (t->parent[d] == d)
			cube->digits[digit].code_of_digit = map;
	}
	cube->relation.dimension_count = t->dims;
	cube->relation.dimensions = dims;
	sort_table = t;
	sort_digits = n;
	memcpy(sort_dim, finest, sizeof(finest));
}

static void make_directory(struct made *made, const struct table *t)
{
	struct rql_cube *cube = &made->cube;
	uint64_t cells = cube->relation.cells, size = 1;
	uint32_t p = 0, most = below(cube->digit_count + 1);
	while (p < most && size * cube->digits[p].radix <= 20000)
		size *= cube->digits[p++].radix;
	cube->directory_digits = p;
	cube->directory_size = size;
	uint64_t *offsets = need(RQL_NEW_ARRAY(made->arena, uint64_t, size + 1));
	for (uint64_t c = 0; c < cells; c++) {
		uint64_t key = 0;
		for (uint32_t d = 0; d < p; d++)
			key = key * cube->digits[d].radix + t->code[made->order[made->first_row[c]]][sort_dim[d]];
		offsets[key + 1]++;
	}
	for (uint64_t k = 0; k < size; k++)
		offsets[k + 1] += offsets[k];
	if (one_in(2)) {
		cube->directory64 = offsets;
	} else {
		cube->directory32 = need(RQL_NEW_ARRAY(made->arena, uint32_t, size + 1));
		for (uint64_t k = 0; k <= size; k++)
			cube->directory32[k] = (uint32_t)offsets[k];
	}
	cube->residual = need(RQL_NEW_ARRAY(made->arena, struct rql_packed, cube->digit_count - p));
	rql_int128 *codes = need(malloc((cells + 1) * sizeof(*codes)));
	for (uint32_t d = p; d < cube->digit_count; d++) {
		for (uint64_t c = 0; c < cells; c++)
			codes[c] = t->code[made->order[made->first_row[c]]][sort_dim[d]];
		pack(made, &cube->residual[d - p], codes, cells, true);
	}
	free(codes);
}

static bool real_less(double a, double b) /* NaN is the greatest */
{
	return a < b || (b != b && a == a);
}

static void make_real(struct made *made, const struct table *t, uint32_t m, struct rql_cube_measure *out)
{
	uint64_t cells = made->cube.relation.cells;
	out->real = need(RQL_NEW_ARRAY(made->arena, double, cells));
	double *least = need(RQL_NEW_ARRAY(made->arena, double, cells));
	double *greatest = need(RQL_NEW_ARRAY(made->arena, double, cells));
	for (uint64_t c = 0; c < cells; c++) {
		bool any = false;
		for (uint64_t i = made->first_row[c]; i < made->first_row[c + 1]; i++) {
			const struct value *v = &t->value[made->order[i]][m];
			if (v->null)
				continue;
			out->real[c] += v->real;
			least[c] = !any || real_less(v->real, least[c]) ? v->real : least[c];
			greatest[c] = !any || real_less(greatest[c], v->real) ? v->real : greatest[c];
			any = true;
		}
	}
	if (made->cube.relation.rolled_up) {
		out->real_min = least;
		out->real_max = greatest;
	}
}

static void make_measure(struct made *made, const struct table *t, uint32_t m, struct rql_measure *shown)
{
	struct rql_cube_measure *out = &made->cube.measures[m];
	uint64_t cells = made->cube.relation.cells;
	rql_int128 *sum = need(calloc(4 * (cells + 1), sizeof(*sum)));
	rql_int128 *valid = sum + cells + 1, *least = valid + cells + 1, *greatest = least + cells + 1;
	rql_int128 low = 0, high = 0; /* of any sum of rows */
	for (uint64_t c = 0; c < cells; c++) {
		for (uint64_t i = made->first_row[c]; i < made->first_row[c + 1]; i++) {
			const struct value *v = &t->value[made->order[i]][m];
			if (v->null)
				continue;
			sum[c] += v->integer;
			*(v->integer < 0 ? &low : &high) += v->integer;
			least[c] = !valid[c] || v->integer < least[c] ? v->integer : least[c];
			greatest[c] = !valid[c] || v->integer > greatest[c] ? v->integer : greatest[c];
			valid[c]++;
		}
	}
	*shown = (struct rql_measure){.kind = t->kind[m],
	                              .sum = t->kind[m] != RQL_MEASURE_CODE,
	                              .min = true,
	                              .max = true,
	                              .has_null = t->has_null[m]};
	if (t->has_null[m]) {
		pack(made, &out->valid, valid, cells, one_in(2));
		out->valid_cumulative = cumulate(made, valid, cells, NULL);
	}
	if (t->kind[m] == RQL_MEASURE_REAL) {
		make_real(made, t, m, out);
	} else {
		pack(made, &out->sum, sum, cells, t->has_null[m]);
		out->wide = low < INT64_MIN || high > INT64_MAX || one_in(8);
		uint64_t *narrow = cumulate(made, sum, cells, &out->cumulative128);
		out->cumulative = out->wide ? NULL : narrow;
		if (!out->wide)
			out->cumulative128 = NULL;
		if (made->cube.relation.rolled_up) {
			pack(made, &out->min, least, cells, false);
			pack(made, &out->max, greatest, cells, false);
		}
	}
	free(sum);
}

static void cube_make(struct made *made, const struct table *t)
{
	*made = (struct made){.arena = need(rql_arena_new())};
	struct rql_cube *cube = &made->cube;
	make_digits(made, t);
	made->order = need(RQL_NEW_ARRAY(made->arena, uint32_t, t->rows));
	for (uint32_t r = 0; r < t->rows; r++)
		made->order[r] = r;
	if (t->rows)
		qsort(made->order, t->rows, sizeof(*made->order), compare_rows);
	bool rolled_up = one_in(2);
	made->first_row = need(RQL_NEW_ARRAY(made->arena, uint64_t, (uint64_t)t->rows + 1));
	uint64_t cells = 0;
	for (uint32_t r = 0; r < t->rows; r++)
		if (r == 0 || !rolled_up || compare_rows(&made->order[r - 1], &made->order[r]) != 0)
			made->first_row[cells++] = r;
	made->first_row[cells] = t->rows;
	struct rql_measure *measures = need(RQL_NEW_ARRAY(made->arena, struct rql_measure, t->measures));
	cube->relation.measures = measures;
	cube->relation.measure_count = t->measures;
	cube->relation.rows = t->rows;
	cube->relation.cells = cells;
	cube->relation.rolled_up = rolled_up;
	make_directory(made, t);
	rql_int128 *counts = need(malloc((cells + 1) * sizeof(*counts)));
	for (uint64_t c = 0; c < cells; c++)
		counts[c] = (rql_int128)(made->first_row[c + 1] - made->first_row[c]);
	if (rolled_up) {
		pack(made, &cube->count, counts, cells, false);
		cube->count_cumulative = cumulate(made, counts, cells, NULL);
	}
	free(counts);
	cube->measures = need(RQL_NEW_ARRAY(made->arena, struct rql_cube_measure, t->measures));
	for (uint32_t m = 0; m < t->measures; m++)
		make_measure(made, t, m, &measures[m]);
}

static void made_free(struct made *made)
{
	struct rql_cube *cube = &made->cube;
	rql_placements_drop(cube);
	for (uint32_t d = cube->directory_digits; d < cube->digit_count; d++)
		free(cube->residual[d - cube->directory_digits].data);
	for (uint32_t m = 0; m < cube->relation.measure_count; m++) {
		free(cube->measures[m].sum.data);
		free(cube->measures[m].valid.data);
		free(cube->measures[m].min.data);
		free(cube->measures[m].max.data);
	}
	free(cube->count.data);
	rql_arena_free(made->arena);
}

/* ---- requests ---- */

struct query {
	struct rql_request request;
	struct rql_group_key groups[MAX_KEYS];
	uint32_t maps[MAX_KEYS][MAX_CODES];
	struct rql_box boxes[MAX_BOXES];
	const uint64_t *pass[MAX_BOXES][MAX_DIMS];
	uint64_t sets[MAX_BOXES][MAX_DIMS]; /* MAX_CODES <= 64 */
	struct rql_agg aggs[MAX_AGGS];
};

static uint64_t random_set(uint32_t codes)
{
	uint64_t all = (UINT64_C(1) << codes) - 1;
	switch (below(5)) {
	case 0:
		return next_random() & all;
	case 1:
		return UINT64_C(1) << below(codes);
	case 2:
		return one_in(4) ? 0 : all;
	default: {
		uint32_t low = below(codes), high = low + 1 + below(codes - low);
		return ((UINT64_C(1) << high) - 1) & ~((UINT64_C(1) << low) - 1);
	}
	}
}

static void random_aggs(struct query *q, const struct table *t)
{
	q->request.agg_count = below(MAX_AGGS + 1);
	for (uint32_t a = 0; a < q->request.agg_count; a++) {
		struct rql_agg *agg = &q->aggs[a];
		*agg = (struct rql_agg){.kind = RQL_AGG_COUNT_STAR};
		if (!t->measures || one_in(6))
			continue;
		agg->source.index = below(t->measures);
		agg->kind = (enum rql_agg_kind)(RQL_AGG_COUNT + below(4));
		if (agg->kind == RQL_AGG_SUM && t->kind[agg->source.index] == RQL_MEASURE_CODE)
			agg->kind = RQL_AGG_MIN;
	}
}

static void query_make(struct query *q, const struct table *t)
{
	*q = (struct query){0};
	q->request.group_count = below(MAX_KEYS + 1);
	for (uint32_t g = 0; g < q->request.group_count; g++) {
		struct rql_group_key *key = &q->groups[g];
		key->source.index = below(t->dims);
		key->key_count = t->codes[key->source.index];
		if (one_in(2))
			continue;
		key->key_count = 1 + below(12);
		bool ordered = one_in(2);
		for (uint32_t c = 0; c < t->codes[key->source.index]; c++)
			q->maps[g][c] = ordered ? c * key->key_count / t->codes[key->source.index] : below(key->key_count);
		key->key_of_code = q->maps[g];
	}
	q->request.box_count = one_in(15) ? 0 : one_in(2) ? 1 : 1 + below(MAX_BOXES);
	uint32_t split = below(t->dims);
	for (uint32_t b = 0; b < q->request.box_count; b++) {
		for (uint32_t d = 0; d < t->dims; d++) {
			if (one_in(2) && !(d == split && q->request.box_count > 1))
				continue;
			q->sets[b][d] = random_set(t->codes[d]);
			for (uint32_t other = 0; other < b && d == split; other++)
				q->sets[b][d] &= ~q->sets[other][d]; /* disjoint in this dimension */
			q->pass[b][d] = &q->sets[b][d];
		}
		q->boxes[b].pass = q->pass[b];
	}
	random_aggs(q, t);
	q->request.groups = q->groups;
	q->request.boxes = q->boxes;
	q->request.aggs = q->aggs;
}

/* ---- the naive answer ---- */

struct naive_row {
	uint64_t tuple; /* the group's keys as one number, ascending as they do */
	uint32_t row;
};

static int compare_tuples(const void *a, const void *b)
{
	const struct naive_row *x = a, *y = b;
	return x->tuple < y->tuple ? -1 : x->tuple > y->tuple;
}

static bool qualifies(const struct query *q, const struct table *t, uint32_t row)
{
	for (uint32_t b = 0; b < q->request.box_count; b++) {
		bool in = true;
		for (uint32_t d = 0; d < t->dims; d++)
			in &= !q->pass[b][d] || (q->sets[b][d] >> t->code[row][d] & 1);
		if (in)
			return true;
	}
	return false;
}

static uint64_t tuple_of(const struct query *q, const struct table *t, uint32_t row)
{
	uint64_t tuple = 0;
	for (uint32_t g = 0; g < q->request.group_count; g++) {
		uint32_t code = t->code[row][q->groups[g].source.index];
		tuple = tuple * q->groups[g].key_count + (q->groups[g].key_of_code ? q->groups[g].key_of_code[code] : code);
	}
	return tuple;
}

static bool same_real(double a, double b)
{
	return a == b || (a != a && b != b);
}

static void check_value(const struct table *t, const struct rql_agg *agg, const struct naive_row *rows, uint64_t count,
                        const struct rql_agg_values *got, uint64_t group)
{
	rql_int128 integer = 0;
	double real = 0;
	uint64_t valid = 0;
	for (uint64_t i = 0; i < count && agg->kind != RQL_AGG_COUNT_STAR; i++) {
		const struct value *v = &t->value[rows[i].row][agg->source.index];
		if (v->null)
			continue;
		if (agg->kind == RQL_AGG_SUM) {
			integer += v->integer;
			real += v->real;
		} else {
			bool max = agg->kind == RQL_AGG_MAX;
			if (!valid || (max ? v->integer > integer : v->integer < integer))
				integer = v->integer;
			if (!valid || (max ? real_less(real, v->real) : real_less(v->real, real)))
				real = v->real;
		}
		valid++;
	}
	bool is_valid = !got->valid || (got->valid[group >> 6] >> (group & 63) & 1);
	if (agg->kind == RQL_AGG_COUNT_STAR || agg->kind == RQL_AGG_COUNT) {
		uint64_t want = agg->kind == RQL_AGG_COUNT ? valid : count;
		assert_true(is_valid && got->kind == RQL_MEASURE_INTEGER && got->integer[group] == (rql_int128)want);
		return;
	}
	assert_int_equal(got->kind, t->kind[agg->source.index]);
	assert_int_equal(is_valid, valid > 0);
	if (!valid)
		return;
	if (got->kind == RQL_MEASURE_REAL)
		assert_true(same_real(got->real[group], real));
	else
		assert_true(got->integer[group] == integer);
}

/* Checks an answer against the rows. */
static void check_answer(const struct query *q, const struct table *t, const struct rql_port *answer)
{
	struct naive_row *rows = need(calloc((size_t)t->rows + 1, sizeof(*rows)));
	uint64_t count = 0, groups = 0;
	for (uint32_t r = 0; r < t->rows; r++)
		if (qualifies(q, t, r))
			rows[count++] = (struct naive_row){tuple_of(q, t, r), r};
	if (count)
		qsort(rows, count, sizeof(*rows), compare_tuples);
	for (uint64_t i = 0; i < count; i++)
		groups += i == 0 || rows[i].tuple != rows[i - 1].tuple;
	if (q->request.group_count == 0)
		groups = 1;
	assert_int_equal(answer->group_count, groups);
	/* The answer's groups in tuple order; numbers of equal tuples would show as a group too few or too many. */
	struct naive_row *order = need(calloc(groups + 1, sizeof(*order)));
	uint64_t before = 0;
	for (uint64_t g = 0; g < groups; g++) {
		uint64_t tuple = 0, leading = 0;
		for (uint32_t k = 0; k < q->request.group_count; k++) {
			assert_true(answer->keys[k][g] < q->groups[k].key_count);
			tuple = tuple * q->groups[k].key_count + answer->keys[k][g];
			if (k < answer->sorted_keys)
				leading = tuple;
		}
		assert_true(g == 0 || leading >= before);
		before = leading;
		order[g] = (struct naive_row){tuple, (uint32_t)g};
	}
	if (groups)
		qsort(order, groups, sizeof(*order), compare_tuples);
	uint64_t at = 0;
	for (uint64_t g = 0; g < groups; g++) {
		uint64_t end = at;
		while (end < count && (q->request.group_count == 0 || rows[end].tuple == rows[at].tuple))
			end++;
		if (q->request.group_count)
			assert_int_equal(order[g].tuple, rows[at].tuple);
		for (uint32_t a = 0; a < q->request.agg_count; a++)
			check_value(t, &q->aggs[a], rows + at, end - at, &answer->aggs[a], order[g].row);
		at = end;
	}
	free(order);
	free(rows);
}

#endif
