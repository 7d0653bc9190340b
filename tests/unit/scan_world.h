/* Random tables in column stores (all kinds of columns, NULLs, appended segments), random filters and joins over them, and
 * the naive answer row by row: what the tests of scans share. */
#ifndef RQL_TESTS_SCAN_WORLD_H
#define RQL_TESTS_SCAN_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "expr/building/build.h"
#include "method/scan/scan.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOW 1
#else
#define SLOW 0
#endif

/* More random cases of the same kinds, each of which is a kernel to compile: script/test --all sets it. */
static inline bool is_long(void)
{
	return getenv("RAYQL_TEST_LONG") != NULL;
}

/* Under TSan a test of one thread has nothing to show. */
#ifdef __SANITIZE_THREAD__
#define UNDER_TSAN 1
#define skip_if_alone() skip()
#else
#define UNDER_TSAN 0
#define skip_if_alone() (void)0
#endif

static uint64_t random_state;
static struct rql_pool *pools[2];

static uint64_t roll(uint64_t n)
{
	random_state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t x = random_state;
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (x ^ x >> 31) % n;
}

static void *need(void *p)
{
	assert_non_null(p);
	return p;
}

static void ok(rql_status status, const struct rql_error *err)
{
	if (status != RQL_OK)
		fail_msg("%s: %s", rql_status_name(status), rql_error_message(err));
}

static inline struct rql_device cpu(unsigned simd, unsigned pool)
{
	struct rql_device device = {.simd = (enum rql_simd)simd, .pool = pools[pool]};
	device.units[RQL_UNIT_CPU] = true;
	device.profile.read_gbps = 20;
	device.profile.handover_ns = 2000;
	return device;
}

/* ---- tables ---- */

enum { SMALL, MIDDLE, SORTED, BIG, WIDE, REAL, FLAG, CODE, WORD, CONSTANT, LONG, DATED, DAY, KIND, PART, COLUMNS };
static const struct {
	const char *name;
	rql_type_id type;
	enum rql_store_coding coding;
} kinds[COLUMNS] = {
	[SMALL] = {"small", RQL_TYPE_INTEGER, RQL_STORE_VALUES},
	[MIDDLE] = {"middle", RQL_TYPE_BIGINT, RQL_STORE_VALUES},
	[SORTED] = {"sorted", RQL_TYPE_DATE, RQL_STORE_VALUES},
	[BIG] = {"big", RQL_TYPE_BIGINT, RQL_STORE_VALUES},
	[WIDE] = {"wide", RQL_TYPE_HUGEINT, RQL_STORE_VALUES},
	[REAL] = {"real", RQL_TYPE_DOUBLE, RQL_STORE_VALUES},
	[FLAG] = {"flag", RQL_TYPE_BOOLEAN, RQL_STORE_VALUES},
	[CODE] = {"code", RQL_TYPE_INTEGER, RQL_STORE_CODES},
	[WORD] = {"word", RQL_TYPE_VARCHAR, RQL_STORE_CODES},
	[CONSTANT] = {"constant", RQL_TYPE_INTEGER, RQL_STORE_VALUES},
	[LONG] = {"long", RQL_TYPE_BIGINT, RQL_STORE_VALUES},
	[DATED] = {"dated", RQL_TYPE_DATE, RQL_STORE_VALUES},
	[DAY] = {"day", RQL_TYPE_DATE, RQL_STORE_CODES},
	[KIND] = {"kind", RQL_TYPE_INTEGER, RQL_STORE_CODES}, /* CODE determines it */
	[PART] = {"part", RQL_TYPE_VARCHAR, RQL_STORE_CODES}, /* WORD determines it */
};
#define CODES 1500u /* of a coded column, at most */

struct cell {
	bool null;
	rql_int128 integer; /* of coded columns: the code */
	double real;
};
struct table {
	uint32_t rows;
	/* LONG: so many bits above the least, half of them at the ends. DATED, DAY: so many days, ascending with the rows or
	 * not. */
	int64_t least;
	uint32_t bits, days;
	bool ascending;
	uint64_t blocks_differ; /* odd: which blocks have nothing but NULLs, and which one value; 0: none */
	/* WORD: so many values. KIND, PART: NULL where what determines them is, or a value; in one of `dirt` rows anything (0:
	 * in none). */
	uint32_t words, dirt;
	bool nulls_too;
	struct cell *cells; /* [row * COLUMNS + column] */
	struct rql_store *store;
	const struct rql_store_snapshot *snapshot;
};

static struct cell *cell_of(const struct table *t, uint32_t row, uint32_t column)
{
	return &t->cells[(size_t)row * COLUMNS + column];
}

/* What another cell determines, nearly always: neither ascending with it nor descending, NULL for some. */
static struct cell determined_cell(const struct table *t, const struct cell *by, uint32_t values)
{
	uint32_t value = (uint32_t)by->integer * 7 % values;
	if (t->dirt && roll(t->dirt) == 0)
		return (struct cell){.null = roll(4) == 0, .integer = (rql_int128)roll(values)};
	if (by->null)
		return (struct cell){.null = t->nulls_too, .integer = 2};
	return (struct cell){.null = t->nulls_too && value == 1, .integer = value};
}

static struct cell random_cell(const struct table *t, uint32_t column, uint32_t row, unsigned nulls)
{
	struct cell c = {.null = roll(100) < nulls};
	if (column == KIND || column == PART)
		return determined_cell(t, cell_of(t, row, column == KIND ? CODE : WORD), column == KIND ? 5 : 11);
	if (t->blocks_differ && column != CONSTANT && column != SMALL) {
		uint64_t kind = ((row / 4096 * COLUMNS + column) * t->blocks_differ * UINT64_C(0x9e3779b97f4a7c15) >> 40) % 8;
		if (kind < 2) /* this block has nothing, or one value and a few others */
			c.null = kind == 0;
		if (kind == 1 && row % 4096 && roll(t->bits * 100)) {
			c = *cell_of(t, row - 1, column);
			return c;
		}
	}
	switch (column) {
	case SMALL:
		c.integer = (rql_int128)roll(60) - 10;
		break;
	case MIDDLE:
		c.integer = (rql_int128)roll(3000000) - 1000000;
		break;
	case SORTED:
		c.integer = row / 7 + 9000;
		break;
	case BIG:
		c.integer = (rql_int128)(int64_t)(roll(UINT64_MAX) >> 1) - (rql_int128)(roll(2) << 62);
		break;
	case WIDE:
		c.integer = ((rql_int128)roll(1u << 30) - (1 << 29)) * ((rql_int128)1 << 70) + (rql_int128)roll(1000);
		break;
	case REAL:
		c.real = roll(40) == 0 ? NAN : (double)roll(4000) / 4 - 500; /* sums are exact */
		break;
	case FLAG:
		c.integer = (rql_int128)roll(2);
		break;
	case CODE:
	case WORD:
		c.integer = (rql_int128)roll(column == CODE ? 40 : t->words);
		break;
	case LONG:
		c.integer = (rql_int128)(roll(4) ? roll(UINT64_C(1) << t->bits) : (UINT64_C(1) << t->bits) - 1);
		c.integer = t->least + (roll(3) ? c.integer : 0);
		break;
	case DATED:
		c.integer = 8000 + (rql_int128)(t->ascending ? (uint64_t)row * t->days / t->rows : roll(t->days));
		break;
	case DAY:
		c.integer = (rql_int128)(t->ascending ? (uint64_t)row * CODES / t->rows : roll(CODES));
		break;
	default:
		c.integer = 7;
		break;
	}
	return c;
}

/* The dates of DAY: each of some years, then here and there. */
static int32_t day_of(uint32_t value)
{
	return (int32_t)(value < 1100 ? 9000 + value : 10100 + (value - 1100) * 17);
}

static void put(struct rql_batch *batch, uint32_t column, uint32_t row, const struct cell *c)
{
	char *data = batch->columns[column].data, text[32];
	if (c->null) {
		assert_true(rql_batch_set_null(batch, column, row));
		return;
	}
	switch (kinds[column].type) {
	case RQL_TYPE_INTEGER:
	case RQL_TYPE_DATE:
		((int32_t *)(void *)data)[row] = (int32_t)(column == DAY ? day_of((uint32_t)c->integer) : c->integer);
		break;
	case RQL_TYPE_BIGINT:
		((int64_t *)(void *)data)[row] = (int64_t)c->integer;
		break;
	case RQL_TYPE_HUGEINT:
		memcpy(data + 16 * (size_t)row, &c->integer, 16);
		break;
	case RQL_TYPE_DOUBLE:
		((double *)(void *)data)[row] = c->real;
		break;
	case RQL_TYPE_BOOLEAN:
		data[row] = (char)c->integer;
		break;
	default:
		snprintf(text, sizeof(text), "word number %06d", (int)c->integer);
		assert_true(rql_batch_set_string(batch, column, row, text, (uint32_t)strlen(text)));
		break;
	}
}

static struct rql_batch *batch_of(const struct table *t, uint32_t first, uint32_t rows)
{
	struct rql_type types[COLUMNS];
	for (uint32_t c = 0; c < COLUMNS; c++)
		types[c] = rql_type_simple(kinds[c].type);
	struct rql_batch *batch = need(rql_batch_new(COLUMNS, types, rows));
	for (uint32_t r = 0; r < rows; r++)
		for (uint32_t c = 0; c < COLUMNS; c++)
			put(batch, c, r, cell_of(t, first + r, c));
	return batch;
}

/* Coded cells hold values while the store is built, and codes afterwards: values ascend as codes do. */
static void recode(struct table *t, uint32_t column)
{
	const struct rql_dimension *d = t->snapshot->columns[column].dimension;
	uint32_t codes = 0, code_of[CODES] = {0};
	uint8_t used[CODES] = {0};
	assert_non_null(d);
	for (uint32_t r = 0; r < t->rows; r++)
		if (!cell_of(t, r, column)->null)
			used[cell_of(t, r, column)->integer] = 1;
	for (uint32_t v = 0; v < CODES; v++)
		code_of[v] = codes += used[v];
	assert_int_equal(d->count - d->has_null, codes); /* nothing but what occurs */
	for (uint32_t r = 0; r < t->rows; r++) {
		struct cell *c = cell_of(t, r, column);
		c->integer = c->null ? d->count - 1 : code_of[c->integer] - 1;
	}
}

static void table_make(struct table *t, uint32_t rows)
{
	struct rql_error err = {0};
	struct rql_store_column_spec columns[COLUMNS];
	unsigned nulls = (unsigned)(roll(3) ? roll(30) : roll(2) * 100);
	uint32_t first = rows > 10 && roll(2) ? (uint32_t)roll(rows) : rows;
	*t = (struct table){.rows = rows,
	                    .cells = need(calloc((size_t)rows * COLUMNS + 1, sizeof(struct cell))),
	                    .bits = 1 + (uint32_t)roll(62),
	                    .days = 1 + (uint32_t)roll(roll(2) ? 30 : 20000),
	                    .ascending = roll(2),
	                    .blocks_differ = roll(3) ? 0 : roll(UINT32_MAX) * 2 + 1,
	                    .words = roll(2) ? CODES : 50,
	                    .dirt = roll(3) ? 0 : 1u << roll(15),
	                    .nulls_too = roll(2)};
	t->least = -(int64_t)(UINT64_C(1) << roll(t->bits)) * (int64_t)roll(3);
	for (uint32_t r = 0; r < rows; r++)
		for (uint32_t c = 0; c < COLUMNS; c++)
			*cell_of(t, r, c) = random_cell(t, c, r, c == CONSTANT || c == SMALL ? 0 : nulls);
	for (uint32_t c = 0; c < COLUMNS; c++)
		columns[c] = (struct rql_store_column_spec){.name = kinds[c].name,
		                                            .type = rql_type_simple(kinds[c].type),
		                                            .coding = kinds[c].coding,
		                                            .encoding = RQL_STORE_AUTO};
	struct rql_store_spec spec = {.name = "columns of t", .column_count = COLUMNS, .columns = columns};
	struct rql_store_builder *builder = NULL;
	ok(rql_store_builder_new(&spec, &builder, &err), &err);
	for (uint32_t at = 0; at < first; at += 2000) {
		struct rql_batch *batch = batch_of(t, at, first - at < 2000 ? first - at : 2000);
		ok(rql_store_builder_add(builder, 0, batch, NULL, &err), &err);
		rql_batch_release(batch);
	}
	ok(rql_store_builder_finish(builder, &t->store, &err), &err);
	if (first < rows) {
		struct rql_batch *batch = batch_of(t, first, rows - first);
		ok(rql_store_append(t->store, batch, &err), &err);
		rql_batch_release(batch);
	}
	t->snapshot = need((void *)(uintptr_t)rql_store_snapshot(t->store));
	assert_int_equal(t->snapshot->rows, rows);
	recode(t, CODE);
	recode(t, WORD);
	recode(t, DAY);
	recode(t, KIND);
	recode(t, PART);
}

static void table_free(struct table *t)
{
	rql_store_snapshot_release(t->snapshot);
	rql_store_release(t->store);
	free(t->cells);
}

/* ---- requests, with what the oracle needs beside ---- */

#define MAX 6u
struct formula { /* what a program computes, over two sources */
	enum { PLUS, LESS, CASES_OF } op;
	struct rql_source inputs[2];
};
struct query {
	struct rql_request request;
	struct rql_arena *arena;
	struct rql_row_program programs[MAX];
	struct formula formulas[MAX];
	struct rql_conjunct conjuncts[MAX];
	struct rql_lookup joins[MAX];
	struct rql_map *maps[MAX];
	struct rql_group_key groups[MAX];
	struct rql_agg aggs[MAX];
};

static const uint32_t integer_columns[] = {SMALL, MIDDLE, SORTED, FLAG, CONSTANT};

/* An integer column, or a join's payload. */
static struct rql_source random_input(const struct query *q)
{
	struct rql_source s = {.index = integer_columns[roll(5)]};
	if (q->request.lookup_count && roll(3) == 0) {
		uint32_t j = (uint32_t)roll(q->request.lookup_count);
		if (q->joins[j].kind == RQL_LOOKUP_INNER || q->joins[j].kind == RQL_LOOKUP_LEFT)
			s = (struct rql_source){.kind = RQL_SOURCE_LOOKUP, .index = j};
	}
	return s;
}

/* CASES_OF: CASE WHEN a < b THEN a ELSE b + b END. */
static void make_program(struct query *q, unsigned op)
{
	uint32_t p = q->request.program_count++;
	struct formula *f = &q->formulas[p];
	struct rql_builder *b = need(rql_builder_new(q->arena));
	struct rql_type bigint = rql_type_simple(RQL_TYPE_BIGINT);
	struct rql_error err = {0};
	rql_value_number v[2], result;
	struct rql_program *program = NULL;
	f->op = op;
	f->inputs[0] = random_input(q);
	f->inputs[1] = random_input(q);
	for (uint32_t i = 0; i < 2; i++) {
		struct rql_input_spec spec = {
			.column = i, .type = bigint, .kind = RQL_LANE_I64, .bounds = {-2000000, 4000000}, .nullable = true};
		v[i] = rql_build_input(b, &spec);
	}
	if (op == PLUS) {
		result = rql_build_arithmetic(b, "+", v[0], v[1], bigint, true);
	} else {
		result = rql_build_compare(b, RQL_STEP_LT, v[0], v[1]);
		if (op == CASES_OF) {
			rql_value_number sum = rql_build_arithmetic(b, "+", v[1], v[1], bigint, true);
			result = rql_build_choose(b, result, v[0], sum);
		}
	}
	ok(rql_builder_status(b, &err), &err);
	ok(rql_builder_finish(b, &result, 1, &program, &err), &err);
	assert_int_equal(program->input_count, 2);
	q->programs[p] = (struct rql_row_program){.program = program, .inputs = f->inputs};
}

static uint32_t dictionary_of(const struct table *t, uint32_t column)
{
	return t->snapshot->columns[column].dimension->count;
}

static uint64_t *random_set(struct query *q, uint32_t bits)
{
	uint64_t *set = need(RQL_NEW_ARRAY(q->arena, uint64_t, bits / 64 + 1));
	uint64_t share = roll(10), few = roll(3) ? 0 : 1 + roll(6);
	bool run = roll(2);
	uint64_t from = roll(bits + 1), to = roll(bits + 1);
	for (; few > 0 && bits; few--) { /* IN with some literals */
		uint64_t i = roll(bits);
		set[i / 64] |= UINT64_C(1) << i % 64;
		bits = few == 1 ? 0 : bits;
	}
	for (uint32_t i = 0; i < bits; i++)
		if (run ? i >= from && i < to : roll(10) < share)
			set[i / 64] |= UINT64_C(1) << i % 64;
	return set;
}

static void make_conjunct(struct query *q, const struct table *t)
{
	const struct rql_conjunct *same = /* whose column is tested twice */
		q->request.conjunct_count && roll(2) ? &q->conjuncts[q->request.conjunct_count - 1] : NULL;
	struct rql_conjunct *c = &q->conjuncts[q->request.conjunct_count++];
	*c = (struct rql_conjunct){.or_null = roll(4) == 0};
	switch (roll(6)) {
	case 0:
		c->test = RQL_TEST_IN_CODES;
		c->index = (const uint32_t[]){CODE, WORD, DAY, KIND, PART, KIND, PART}[roll(7)];
		if (same && t->snapshot->columns[same->index].kind == RQL_STORE_CODED && same->test != RQL_TEST_IS_TRUE)
			c->index = same->index;
		c->codes = random_set(q, dictionary_of(t, c->index));
		break;
	case 1:
		c->test = RQL_TEST_IN_RANGE;
		c->index = (const uint32_t[]){SMALL, MIDDLE, SORTED, BIG, WIDE, CODE, LONG, DATED, DAY, KIND, PART}[roll(11)];
		if (same && same->test == RQL_TEST_IN_RANGE)
			c->index = same->index;
		if (t->rows) {
			c->least = cell_of(t, (uint32_t)roll(t->rows), c->index)->integer;
			c->greatest = cell_of(t, (uint32_t)roll(t->rows), c->index)->integer;
		}
		if (roll(3) == 0)
			c->greatest = (rql_int128)1 << 100;
		if (roll(6) == 0)
			c->greatest = c->least;
		break;
	case 2:
		c->test = RQL_TEST_IN_REALS;
		c->index = REAL;
		c->real_least = (double)roll(900) - 500;
		c->real_greatest = roll(2) ? NAN : (double)roll(1000) - 300;
		break;
	case 3:
		c->test = roll(2) ? RQL_TEST_IS_NULL : RQL_TEST_IS_NOT_NULL;
		c->index = (uint32_t)roll(COLUMNS);
		c->or_null = false;
		break;
	case 4:
		c->test = RQL_TEST_IN_RANGE;
		c->index = SMALL;
		c->greatest = 40;
		break;
	default:
		if (q->request.program_count == MAX) {
			c->test = RQL_TEST_IS_NOT_NULL;
			break;
		}
		make_program(q, LESS);
		c->test = RQL_TEST_IS_TRUE;
		c->index = q->request.program_count - 1;
		c->or_null = false;
		break;
	}
}

static inline rql_status bits_of_keys(void *state, enum rql_map_array array, void *words, uint64_t bytes,
                                      struct rql_error *err)
{
	(void)array, (void)err;
	memcpy(words, state, bytes);
	return RQL_OK;
}

/* The same set as bits alone, as a device makes them; keys in [-20, 10000). */
static inline struct rql_map *as_bits(struct rql_map *map, const int64_t *keys, uint32_t count)
{
	enum { LEAST = -20, SPAN = 10020 };
	uint32_t *words = need(calloc(rql_map_bit_words(SPAN), sizeof *words));
	struct rql_error err = {0};
	struct rql_map *bits = NULL;
	for (uint32_t i = 0; i < count; i++)
		words[(keys[i] - LEAST) / 32] |= UINT32_C(1) << (keys[i] - LEAST) % 32;
	const struct rql_map_made made = {.entries = count,
	                                  .offered = count,
	                                  .payloads = count ? 1 : 0,
	                                  .least = LEAST,
	                                  .greatest = LEAST + SPAN - 1,
	                                  .places = SPAN};
	ok(rql_map_take(&made, bits_of_keys, words, &bits, &err), &err);
	assert_int_equal(rql_map_payloads(bits), rql_map_payloads(map));
	for (int64_t key = LEAST - 5; key < LEAST + SPAN + 5; key++)
		assert_int_equal(rql_map_find(bits, key), rql_map_find(map, key));
	rql_map_free(map);
	free(words);
	return bits;
}

static inline void make_join(struct query *q, const struct table *t)
{
	uint32_t j = q->request.lookup_count++;
	struct rql_lookup *join = &q->joins[j];
	int64_t keys[600];
	int32_t payloads[600];
	uint32_t count = 0, column = (const uint32_t[]){SMALL, SORTED, CODE, MIDDLE, BIG}[roll(5)];
	struct rql_error err = {0};
	*join = (struct rql_lookup){.kind = (enum rql_lookup_kind)roll(4), .column = column};
	/* Dense keys for the first three; those that occur for the others. Payloads are unique to a key by construction. */
	for (uint32_t i = 0; i < 600; i++) {
		int64_t key = column == SORTED ? 9000 + (int64_t)i : (int64_t)i - 20;
		if (column >= MIDDLE && column != SORTED && column != CODE && t->rows)
			key = (int64_t)cell_of(t, i % t->rows, column)->integer;
		bool twice = false;
		for (uint32_t k = 0; k < count; k++)
			twice |= keys[k] == key;
		if (twice || roll(4) == 0)
			continue;
		keys[count] = key;
		payloads[count++] = (int32_t)roll(300) - 30;
	}
	bool set = join->kind == RQL_LOOKUP_SEMI || join->kind == RQL_LOOKUP_ANTI;
	const bool bare = set && roll(2);
	ok(rql_map_build(keys, bare ? NULL : payloads, count, &q->maps[j], &err), &err);
	if (bare && column != MIDDLE && column != BIG && roll(2))
		q->maps[j] = as_bits(q->maps[j], keys, count);
	join->map = q->maps[j];
	if (join->kind == RQL_LOOKUP_LEFT && count % 2)
		join->absent = 1 + count % 300;
}

static void query_free(struct query *q)
{
	for (uint32_t j = 0; j < q->request.lookup_count; j++)
		rql_map_free(q->maps[j]);
	rql_arena_free(q->arena);
}

/* ---- the oracle ---- */

static struct cell value_of(const struct query *q, const struct table *t, uint32_t row, const struct rql_source *s)
{
	struct cell c = {.null = true};
	if (s->kind == RQL_SOURCE_COLUMN)
		return *cell_of(t, row, s->index);
	if (s->kind == RQL_SOURCE_LOOKUP) {
		const struct cell *key = cell_of(t, row, q->joins[s->index].column);
		int32_t payload = key->null ? -1 : rql_map_find(q->maps[s->index], (int64_t)key->integer);
		payload = payload < 0 ? (int32_t)q->joins[s->index].absent - 1 : payload;
		return payload < 0 ? c : (struct cell){.integer = payload};
	}
	const struct formula *f = &q->formulas[s->index];
	struct cell a = value_of(q, t, row, &f->inputs[0]), b = value_of(q, t, row, &f->inputs[1]);
	if (f->op == CASES_OF) {
		bool less = !a.null && !b.null && a.integer < b.integer;
		return less ? a : b.null ? c : (struct cell){.integer = 2 * b.integer};
	}
	if (a.null || b.null)
		return c;
	return (struct cell){.integer = f->op == PLUS ? a.integer + b.integer : a.integer < b.integer};
}

static int order_real(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a > b) - (a < b);
}

static bool is_true(const struct query *q, const struct table *t, uint32_t row, uint32_t program)
{
	struct rql_source s = {.kind = RQL_SOURCE_PROGRAM, .index = program};
	struct cell c = value_of(q, t, row, &s);
	return !c.null && c.integer;
}

static inline bool passes(const struct query *q, const struct table *t, uint32_t row)
{
	for (uint32_t i = 0; i < q->request.conjunct_count; i++) {
		const struct rql_conjunct *c = &q->conjuncts[i];
		if (c->test == RQL_TEST_IS_TRUE) {
			if (!is_true(q, t, row, c->index))
				return false;
			continue;
		}
		const struct cell *v = cell_of(t, row, c->index);
		bool pass = false;
		if (c->test == RQL_TEST_IS_NULL || c->test == RQL_TEST_IS_NOT_NULL)
			pass = v->null == (c->test == RQL_TEST_IS_NULL);
		else if (v->null)
			pass = c->or_null;
		else if (c->test == RQL_TEST_IN_CODES)
			pass = c->codes[v->integer / 64] >> (v->integer % 64) & 1;
		else if (c->test == RQL_TEST_IN_RANGE)
			pass = c->least <= v->integer && v->integer <= c->greatest;
		else
			pass = order_real(c->real_least, v->real) <= 0 && order_real(v->real, c->real_greatest) <= 0;
		if (!pass)
			return false;
	}
	for (uint32_t j = 0; j < q->request.lookup_count; j++) {
		struct rql_source s = {.kind = RQL_SOURCE_LOOKUP, .index = j};
		bool found = !value_of(q, t, row, &s).null;
		enum rql_lookup_kind kind = q->joins[j].kind;
		if (kind != RQL_LOOKUP_LEFT && found == (kind == RQL_LOOKUP_ANTI))
			return false;
	}
	return true;
}

/* One column of given values. */
struct column {
	struct rql_store *store;
	const struct rql_store_snapshot *snapshot;
};
static inline struct column column_coded(rql_type_id id, enum rql_store_coding coding, const void *values, uint32_t bytes,
                                  uint32_t rows)
{
	struct rql_error err = {0};
	struct rql_type type = rql_type_simple(id);
	struct rql_store_column_spec spec = {.name = "x", .type = type, .coding = coding, .encoding = RQL_STORE_AUTO};
	struct rql_store_spec store = {.name = "columns of x", .column_count = 1, .columns = &spec};
	struct rql_store_builder *builder = NULL;
	struct column out;
	ok(rql_store_builder_new(&store, &builder, &err), &err);
	for (uint32_t at = 0; at < rows; at += 65536) {
		uint32_t n = rows - at < 65536 ? rows - at : 65536;
		struct rql_batch *batch = need(rql_batch_new(1, &type, n));
		memcpy(batch->columns[0].data, (const char *)values + (size_t)at * bytes, (size_t)n * bytes);
		ok(rql_store_builder_add(builder, 0, batch, NULL, &err), &err);
		rql_batch_release(batch);
	}
	ok(rql_store_builder_finish(builder, &out.store, &err), &err);
	out.snapshot = rql_store_snapshot(out.store);
	return out;
}
static inline struct column column_of(rql_type_id id, const void *values, uint32_t bytes, uint32_t rows)
{
	return column_coded(id, RQL_STORE_VALUES, values, bytes, rows);
}
static inline void column_free(struct column *c)
{
	rql_store_snapshot_release(c->snapshot);
	rql_store_release(c->store);
}

static int open_pools(void **state)
{
	(void)state;
	return rql_pool_new(1, &pools[0], NULL) != RQL_OK || rql_pool_new(3, &pools[1], NULL) != RQL_OK;
}

static int close_pools(void **state)
{
	(void)state;
	rql_pool_free(pools[0]);
	rql_pool_free(pools[1]);
	return 0;
}

#endif
