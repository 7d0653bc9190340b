/* The fused scan against a naive row-at-a-time oracle: random stores (all kinds of columns, NULLs, appended
 * segments) and random requests, at every instruction set and with several threads; and the edges one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "expr/build.h"
#include "method/scan/scan.h"
#include "method/scan/scan_simd.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOW 1
#else
#define SLOW 0
#endif
#define CASES (SLOW ? 60u : 400u)

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

static struct rql_device cpu(unsigned simd, unsigned pool)
{
	struct rql_device device = {.simd = (enum rql_simd)simd, .pool = pools[pool]};
	device.units[RQL_UNIT_CPU] = true;
	device.profile.read_gbps = 20;
	device.profile.handover_ns = 2000;
	return device;
}

/* ---- tables ---- */

enum { SMALL, MIDDLE, SORTED, BIG, WIDE, REAL, FLAG, CODE, WORD, CONSTANT, COLUMNS };
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
};

struct cell {
	bool null;
	rql_int128 integer; /* of coded columns: the code */
	double real;
};
struct table {
	uint32_t rows;
	struct cell *cells; /* [row * COLUMNS + column] */
	struct rql_store *store;
	const struct rql_store_snapshot *snapshot;
};

static struct cell *cell_of(const struct table *t, uint32_t row, uint32_t column)
{
	return &t->cells[(size_t)row * COLUMNS + column];
}

static struct cell random_cell(uint32_t column, uint32_t row, unsigned nulls)
{
	struct cell c = {.null = roll(100) < nulls};
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
		c.integer = (rql_int128)roll(column == CODE ? 40 : 1500);
		break;
	default:
		c.integer = 7;
		break;
	}
	return c;
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
		((int32_t *)(void *)data)[row] = (int32_t)c->integer;
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
	uint32_t codes = 0, code_of[1500] = {0};
	uint8_t used[1500] = {0};
	assert_non_null(d);
	for (uint32_t r = 0; r < t->rows; r++)
		if (!cell_of(t, r, column)->null)
			used[cell_of(t, r, column)->integer] = 1;
	for (uint32_t v = 0; v < 1500; v++)
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
	*t = (struct table){.rows = rows, .cells = need(calloc((size_t)rows * COLUMNS + 1, sizeof(struct cell)))};
	for (uint32_t r = 0; r < rows; r++)
		for (uint32_t c = 0; c < COLUMNS; c++)
			*cell_of(t, r, c) = random_cell(c, r, c == CONSTANT || c == SMALL ? 0 : nulls);
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
		ok(rql_store_builder_add(builder, 0, batch, &err), &err);
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
	struct rql_scan_source inputs[2];
};
struct query {
	struct rql_scan_request request;
	struct rql_arena *arena;
	struct rql_scan_program programs[MAX];
	struct formula formulas[MAX];
	struct rql_scan_conjunct conjuncts[MAX];
	struct rql_scan_join joins[MAX];
	struct rql_scan_map *maps[MAX];
	struct rql_scan_group_key groups[MAX];
	struct rql_scan_agg aggs[MAX];
};

static const uint32_t integer_columns[] = {SMALL, MIDDLE, SORTED, FLAG, CONSTANT};

/* An integer column, or a join's payload. */
static struct rql_scan_source random_input(const struct query *q)
{
	struct rql_scan_source s = {.index = integer_columns[roll(5)]};
	if (q->request.join_count && roll(3) == 0) {
		uint32_t j = (uint32_t)roll(q->request.join_count);
		if (q->joins[j].kind == RQL_SCAN_INNER || q->joins[j].kind == RQL_SCAN_LEFT)
			s = (struct rql_scan_source){.kind = RQL_SCAN_JOIN, .index = j};
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
	q->programs[p] = (struct rql_scan_program){.program = program, .inputs = f->inputs};
}

static uint32_t dictionary_of(const struct table *t, uint32_t column)
{
	return t->snapshot->columns[column].dimension->count;
}

static uint64_t *random_set(struct query *q, uint32_t bits)
{
	uint64_t *set = need(RQL_NEW_ARRAY(q->arena, uint64_t, bits / 64 + 1));
	uint64_t share = roll(10);
	bool run = roll(2);
	uint64_t from = roll(bits + 1), to = roll(bits + 1);
	for (uint32_t i = 0; i < bits; i++)
		if (run ? i >= from && i < to : roll(10) < share)
			set[i / 64] |= UINT64_C(1) << i % 64;
	return set;
}

static void make_conjunct(struct query *q, const struct table *t)
{
	struct rql_scan_conjunct *c = &q->conjuncts[q->request.conjunct_count++];
	*c = (struct rql_scan_conjunct){.or_null = roll(4) == 0};
	switch (roll(6)) {
	case 0:
		c->test = RQL_SCAN_IN_CODES;
		c->index = roll(2) ? CODE : WORD;
		c->codes = random_set(q, dictionary_of(t, c->index));
		break;
	case 1:
		c->test = RQL_SCAN_IN_RANGE;
		c->index = (const uint32_t[]){SMALL, MIDDLE, SORTED, BIG, WIDE, CODE}[roll(6)];
		if (t->rows) {
			c->least = cell_of(t, (uint32_t)roll(t->rows), c->index)->integer;
			c->greatest = cell_of(t, (uint32_t)roll(t->rows), c->index)->integer;
		}
		if (roll(3) == 0)
			c->greatest = (rql_int128)1 << 100;
		break;
	case 2:
		c->test = RQL_SCAN_IN_REALS;
		c->index = REAL;
		c->real_least = (double)roll(900) - 500;
		c->real_greatest = roll(2) ? NAN : (double)roll(1000) - 300;
		break;
	case 3:
		c->test = roll(2) ? RQL_SCAN_IS_NULL : RQL_SCAN_IS_NOT_NULL;
		c->index = (uint32_t)roll(COLUMNS);
		c->or_null = false;
		break;
	case 4:
		c->test = RQL_SCAN_IN_RANGE;
		c->index = SMALL;
		c->greatest = 40;
		break;
	default:
		if (q->request.program_count == MAX) {
			c->test = RQL_SCAN_IS_NOT_NULL;
			break;
		}
		make_program(q, LESS);
		c->test = RQL_SCAN_IS_TRUE;
		c->index = q->request.program_count - 1;
		c->or_null = false;
		break;
	}
}

static void make_join(struct query *q, const struct table *t)
{
	uint32_t j = q->request.join_count++;
	struct rql_scan_join *join = &q->joins[j];
	int64_t keys[600];
	int32_t payloads[600];
	uint32_t count = 0, column = (const uint32_t[]){SMALL, SORTED, CODE, MIDDLE, BIG}[roll(5)];
	struct rql_error err = {0};
	*join = (struct rql_scan_join){.kind = (enum rql_scan_join_kind)roll(4), .column = column};
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
	bool set = join->kind == RQL_SCAN_SEMI || join->kind == RQL_SCAN_ANTI;
	ok(rql_scan_map_build(keys, set && roll(2) ? NULL : payloads, count, &q->maps[j], &err), &err);
	join->map = q->maps[j];
}

static void make_group(struct query *q, const struct table *t)
{
	struct rql_scan_group_key *g = &q->groups[q->request.group_count++];
	*g = (struct rql_scan_group_key){.null_key = RQL_SCAN_NONE};
	unsigned kind = (unsigned)roll(5);
	uint32_t codes = 0, j = (uint32_t)roll(MAX);
	if (kind == 0 && j < q->request.join_count &&
	    (q->joins[j].kind == RQL_SCAN_INNER || q->joins[j].kind == RQL_SCAN_LEFT)) {
		g->source = (struct rql_scan_source){.kind = RQL_SCAN_JOIN, .index = j};
		codes = rql_scan_map_payloads(q->maps[j]);
		g->key_count = 12;
		g->null_key = 11;
	} else if (kind == 1 || kind == 0) {
		g->source.index = roll(2) ? CODE : WORD;
		codes = dictionary_of(t, g->source.index);
		g->key_count = roll(2) ? 9 : 1 + codes;
	} else if (kind == 2) {
		g->source.index = SMALL;
		g->least = -10;
		g->key_count = 60;
		return;
	} else if (kind == 3) {
		g->source.index = FLAG;
		g->key_count = 3;
		g->null_key = 2;
		return;
	} else {
		g->source.index = SORTED;
		g->least = 9000;
		g->key_count = t->rows / 7 + 2;
		g->null_key = t->rows / 7 + 1;
		return;
	}
	uint32_t *map = need(RQL_NEW_ARRAY(q->arena, uint32_t, codes));
	for (uint32_t c = 0; c < codes; c++)
		map[c] = g->key_count > codes ? c : (uint32_t)roll(g->key_count);
	g->key_of_code = map;
}

static void make_agg(struct query *q)
{
	struct rql_scan_agg *a = &q->aggs[q->request.agg_count++];
	*a = (struct rql_scan_agg){.kind = (enum rql_agg_kind)roll(5), .filter = RQL_SCAN_NONE};
	if (roll(5) == 0 && q->request.program_count < MAX) {
		make_program(q, LESS);
		a->filter = q->request.program_count - 1;
	}
	if (roll(3) == 0 && q->request.program_count < MAX) {
		make_program(q, roll(2) ? PLUS : CASES_OF);
		a->source = (struct rql_scan_source){.kind = RQL_SCAN_PROGRAM, .index = q->request.program_count - 1};
	} else if (roll(4) == 0) {
		a->source = random_input(q);
	} else {
		a->source.index =
			(const uint32_t[]){SMALL, MIDDLE, BIG, WIDE, REAL, SORTED, WORD}[roll(a->kind == RQL_AGG_SUM ? 6 : 7)];
	}
}

static void query_make(struct query *q, const struct table *t)
{
	*q = (struct query){.arena = need(rql_arena_new())};
	q->request = (struct rql_scan_request){.snapshot = t->snapshot,
	                                       .programs = q->programs,
	                                       .conjuncts = q->conjuncts,
	                                       .joins = q->joins,
	                                       .groups = q->groups,
	                                       .aggs = q->aggs};
	for (uint64_t i = roll(3); i-- > 0;)
		make_join(q, t);
	for (uint64_t i = roll(4); i-- > 0;)
		make_conjunct(q, t);
	uint64_t groups = 1;
	for (uint64_t i = roll(4); i-- > 0;) {
		make_group(q, t);
		groups *= q->groups[q->request.group_count - 1].key_count;
		if (groups > 100000) { /* the oracle has a row for each */
			q->request.group_count--;
			break;
		}
	}
	for (uint64_t i = 1 + roll(4); i-- > 0;)
		make_agg(q);
}

static void query_free(struct query *q)
{
	for (uint32_t j = 0; j < q->request.join_count; j++)
		rql_scan_map_free(q->maps[j]);
	rql_arena_free(q->arena);
}

/* ---- the oracle ---- */

static struct cell value_of(const struct query *q, const struct table *t, uint32_t row, const struct rql_scan_source *s)
{
	struct cell c = {.null = true};
	if (s->kind == RQL_SCAN_COLUMN)
		return *cell_of(t, row, s->index);
	if (s->kind == RQL_SCAN_JOIN) {
		const struct cell *key = cell_of(t, row, q->joins[s->index].column);
		int32_t payload = key->null ? -1 : rql_scan_map_find(q->maps[s->index], (int64_t)key->integer);
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
	struct rql_scan_source s = {.kind = RQL_SCAN_PROGRAM, .index = program};
	struct cell c = value_of(q, t, row, &s);
	return !c.null && c.integer;
}

static bool passes(const struct query *q, const struct table *t, uint32_t row)
{
	for (uint32_t i = 0; i < q->request.conjunct_count; i++) {
		const struct rql_scan_conjunct *c = &q->conjuncts[i];
		if (c->test == RQL_SCAN_IS_TRUE) {
			if (!is_true(q, t, row, c->index))
				return false;
			continue;
		}
		const struct cell *v = cell_of(t, row, c->index);
		bool pass = false;
		if (c->test == RQL_SCAN_IS_NULL || c->test == RQL_SCAN_IS_NOT_NULL)
			pass = v->null == (c->test == RQL_SCAN_IS_NULL);
		else if (v->null)
			pass = c->or_null;
		else if (c->test == RQL_SCAN_IN_CODES)
			pass = c->codes[v->integer / 64] >> (v->integer % 64) & 1;
		else if (c->test == RQL_SCAN_IN_RANGE)
			pass = c->least <= v->integer && v->integer <= c->greatest;
		else
			pass = order_real(c->real_least, v->real) <= 0 && order_real(v->real, c->real_greatest) <= 0;
		if (!pass)
			return false;
	}
	for (uint32_t j = 0; j < q->request.join_count; j++) {
		struct rql_scan_source s = {.kind = RQL_SCAN_JOIN, .index = j};
		bool found = !value_of(q, t, row, &s).null;
		enum rql_scan_join_kind kind = q->joins[j].kind;
		if (kind != RQL_SCAN_LEFT && found == (kind == RQL_SCAN_ANTI))
			return false;
	}
	return true;
}

static uint32_t key_of(const struct query *q, const struct table *t, uint32_t row, uint32_t g)
{
	const struct rql_scan_group_key *key = &q->groups[g];
	struct cell c = value_of(q, t, row, &key->source);
	bool coded = key->source.kind == RQL_SCAN_COLUMN && (key->source.index == CODE || key->source.index == WORD);
	if (c.null && !coded)
		return key->null_key;
	return key->key_of_code ? key->key_of_code[c.integer] : (uint32_t)(c.integer - key->least);
}

struct total {
	uint64_t rows;
	uint64_t count[MAX];
	rql_int128 integer[MAX];
	double real[MAX];
};

static void add(const struct query *q, const struct table *t, uint32_t row, struct total *total)
{
	total->rows++;
	for (uint32_t a = 0; a < q->request.agg_count; a++) {
		const struct rql_scan_agg *agg = &q->aggs[a];
		if (agg->filter != RQL_SCAN_NONE && !is_true(q, t, row, agg->filter))
			continue;
		struct cell c = {0};
		if (agg->kind != RQL_AGG_COUNT_STAR)
			c = value_of(q, t, row, &agg->source);
		if (c.null)
			continue;
		bool first = total->count[a]++ == 0;
		if (agg->kind == RQL_AGG_SUM) {
			total->integer[a] += c.integer;
			total->real[a] += c.real;
		} else if (agg->kind == RQL_AGG_MIN || agg->kind == RQL_AGG_MAX) {
			int sign = agg->kind == RQL_AGG_MAX ? 1 : -1;
			if (first || sign * order_real(c.real, total->real[a]) > 0)
				total->real[a] = c.real;
			if (first || (sign > 0 ? c.integer > total->integer[a] : c.integer < total->integer[a]))
				total->integer[a] = c.integer;
		}
	}
}

static void check_group(const struct query *q, const struct rql_answer *answer, uint64_t group,
                        const struct total *total)
{
	for (uint32_t a = 0; a < q->request.agg_count; a++) {
		const struct rql_agg_values *v = &answer->aggs[a];
		bool counts = q->aggs[a].kind <= RQL_AGG_COUNT;
		bool valid = !v->valid || (v->valid[group / 64] >> group % 64 & 1);
		assert_int_equal(valid, counts || total->count[a] > 0);
		if (!valid)
			continue;
		bool real = !counts && q->aggs[a].source.kind == RQL_SCAN_COLUMN && q->aggs[a].source.index == REAL;
		assert_int_equal(v->kind == RQL_MEASURE_REAL, real);
		if (counts)
			assert_true(v->integer[group] == (rql_int128)total->count[a]);
		else if (real)
			assert_int_equal(order_real(v->real[group], total->real[a]), 0);
		else
			assert_true(v->integer[group] == total->integer[a]);
	}
}

static void check_answer(const struct query *q, const struct table *t, const struct rql_answer *answer, uint64_t passed)
{
	uint64_t groups = 1, at = 0, expected = 0;
	for (uint32_t g = 0; g < q->request.group_count; g++)
		groups *= q->groups[g].key_count;
	struct total *totals = need(calloc(groups, sizeof(*totals)));
	for (uint32_t r = 0; r < t->rows; r++) {
		uint64_t group = 0;
		if (!passes(q, t, r))
			continue;
		for (uint32_t g = 0; g < q->request.group_count; g++)
			group = group * q->groups[g].key_count + key_of(q, t, r, g);
		add(q, t, r, &totals[group]);
		expected++;
	}
	assert_int_equal(passed, expected);
	for (uint64_t group = 0; group < groups; group++) {
		if (!totals[group].rows && q->request.group_count)
			continue;
		assert_true(at < answer->group_count);
		uint64_t rest = group;
		for (uint32_t g = q->request.group_count; g-- > 0; rest /= q->groups[g].key_count)
			assert_int_equal(answer->keys[g][at], rest % q->groups[g].key_count);
		check_group(q, answer, at++, &totals[group]);
	}
	assert_int_equal(answer->group_count, at);
	assert_int_equal(answer->sorted_keys, q->request.group_count);
	free(totals);
}

static void run_query(const struct query *q, const struct table *t, unsigned simd, unsigned pool)
{
	struct rql_device device = cpu(simd, pool);
	struct rql_error err = {0};
	struct rql_scan *scan = NULL;
	struct rql_cost cost;
	ok(rql_scan_prepare(&q->request, &device, &scan, &err), &err);
	rql_scan_price(scan, &device, &rql_scan_profile_guess, &cost);
	assert_true(cost.run_ns >= 0 && isfinite(cost.run_ns) && isfinite(cost.bytes));
	for (unsigned again = 0; again < 2; again++) { /* the second run finds warm workers */
		struct rql_arena *arena = need(rql_arena_new());
		struct rql_answer answer;
		struct rql_scan_counts counts;
		ok(rql_scan_run(scan, &device, arena, NULL, &answer, &counts, &err), &err);
		assert_int_equal(counts.blocks, t->snapshot->blocks);
		check_answer(q, t, &answer, counts.rows_passed);
		rql_arena_free(arena);
	}
	rql_scan_free(scan);
}

/* ---- tests ---- */

static void test_random(void **state)
{
	(void)state;
	static const uint32_t sizes[] = {0, 1, 2, 63, 64, 65, 1000, 4095, 4096, 4097, 9000, 20000};
	for (uint64_t seed = 1; seed <= CASES; seed++) {
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		struct table t;
		table_make(&t, sizes[roll(seed % 8 ? 10 : 12)]);
		for (unsigned i = 0; i < 4; i++) {
			struct query q;
			query_make(&q, &t);
			run_query(&q, &t, (unsigned)(seed + i) % 3, 0);
			query_free(&q);
		}
		table_free(&t);
	}
}

static void test_threads(void **state)
{
	(void)state;
	random_state = 77;
	struct table t;
	table_make(&t, 80000);
	for (unsigned i = 0; i < (SLOW ? 6u : 30u); i++) {
		struct query q;
		query_make(&q, &t);
		run_query(&q, &t, i % 3, 1);
		query_free(&q);
	}
	table_free(&t);
}

static void test_maps(void **state)
{
	(void)state;
	struct rql_error err = {0};
	struct rql_scan_map *map = NULL;
	static const int64_t dense[] = {5, 9, -3, 100}, far[] = {INT64_MIN, INT64_MAX, 0, 1}, twice[] = {4, 5, 4};
	static const int32_t payloads[] = {3, 0, -1, 70000};
	ok(rql_scan_map_build(dense, payloads, 4, &map, &err), &err);
	assert_true(rql_scan_map_is_dense(map));
	assert_int_equal(rql_scan_map_entries(map), 3);
	assert_int_equal(rql_scan_map_payloads(map), 70001);
	assert_int_equal(rql_scan_map_find(map, 5), 3);
	assert_int_equal(rql_scan_map_find(map, 9), 0);
	assert_int_equal(rql_scan_map_find(map, 100), 70000);
	assert_int_equal(rql_scan_map_find(map, -3), -1);
	assert_int_equal(rql_scan_map_find(map, 101), -1);
	assert_int_equal(rql_scan_map_find(map, INT64_MIN), -1);
	rql_scan_map_free(map);
	ok(rql_scan_map_build(far, payloads, 4, &map, &err), &err);
	assert_false(rql_scan_map_is_dense(map));
	assert_int_equal(rql_scan_map_find(map, INT64_MIN), 3);
	assert_int_equal(rql_scan_map_find(map, INT64_MAX), 0);
	assert_int_equal(rql_scan_map_find(map, 0), -1);
	assert_int_equal(rql_scan_map_find(map, 1), 70000);
	rql_scan_map_free(map);
	assert_int_equal(rql_scan_map_build(twice, payloads, 3, &map, &err), RQL_OK); /* the second 4 is no entry */
	rql_scan_map_free(map);
	static const int32_t all[] = {1, 2, 3};
	struct rql_scan_map *untouched = NULL;
	assert_int_equal(rql_scan_map_build(twice, all, 3, &untouched, &err), RQL_ERROR_UNSUPPORTED);
	assert_non_null(strstr(rql_error_message(&err), "key 4 "));
	assert_null(untouched);
	rql_error_clear(&err);
	ok(rql_scan_map_build(twice, NULL, 3, &map, &err), &err);
	assert_int_equal(rql_scan_map_entries(map), 2);
	rql_scan_map_free(map);
	ok(rql_scan_map_build(NULL, NULL, 0, &map, &err), &err);
	assert_int_equal(rql_scan_map_find(map, 0), -1);
	assert_int_equal(rql_scan_map_payloads(map), 0);
	rql_scan_map_free(map);
}

/* Every instruction set does what the portable kernels do. */
static void test_kernels(void **state)
{
	(void)state;
	const struct rql_scan_kernels *a = rql_scan_kernels_for(RQL_SIMD_PORTABLE);
	static uint32_t codes[RQL_SCAN_BLOCK + RQL_SCAN_SLACK], bits[4096];
	static int64_t wide[RQL_SCAN_BLOCK + RQL_SCAN_SLACK];
	uint64_t start[66], want[66], have[66];
	random_state = 5;
	for (unsigned round = 0; round < 600; round++) {
		const struct rql_scan_kernels *b = rql_scan_kernels_for(round % 2 ? RQL_SIMD_AVX2 : RQL_SIMD_AVX512);
		uint32_t n = 1 + (uint32_t)roll(RQL_SCAN_BLOCK), range = 1u << roll(17), limit = (uint32_t)roll(range + 1);
		for (uint32_t i = 0; i < RQL_SCAN_BLOCK + RQL_SCAN_SLACK; i++) {
			codes[i] = roll(50) ? (uint32_t)roll(range) : (uint32_t)roll(UINT32_MAX);
			wide[i] = roll(50) ? (int64_t)roll(range) - 1000 : (int64_t)roll(UINT64_MAX);
		}
		for (uint32_t i = 0; i < 4096; i++)
			bits[i] = (uint32_t)roll(UINT32_MAX);
		for (uint32_t i = 0; i < 66; i++)
			start[i] = roll(3) ? roll(UINT64_MAX) : 0;
		for (unsigned op = 0; op < 5; op++) {
			memcpy(want, start, sizeof(want));
			memcpy(have, start, sizeof(have));
			for (unsigned side = 0; side < 2; side++) {
				const struct rql_scan_kernels *k = side ? b : a;
				uint64_t *mask = side ? have : want;
				if (op == 0)
					k->range32(codes, n, limit / 2, limit, mask);
				else if (op == 1)
					k->range64(wide, n, -500, limit, mask);
				else if (op == 2)
					k->bits32(codes, n, limit % 3 ? 0 : (uint32_t)-5, bits, limit, mask);
				else if (op == 3)
					k->bits64(wide, n, -700, bits, limit, mask);
				else
					k->deposit(mask, (n + 63) / 64, (const uint64_t *)(const void *)codes);
			}
			assert_memory_equal(want, have, (n + 63) / 64 * 8);
		}
		static uint32_t rows[2][4096 + 64], out32[2][4096 + 64];
		static int64_t out64[2][4096 + 64];
		uint32_t count = 0, width = 1 + (uint32_t)roll(57);
		for (unsigned side = 0; side < 2; side++) {
			const struct rql_scan_kernels *k = side ? b : a;
			count = k->select(start, 64, rows[side]);
			k->fetch64((const uint8_t *)wide, width, round, rows[side], count, out64[side]);
			k->fetch32((const uint8_t *)wide, width, round, rows[side], count, out32[side]);
		}
		assert_memory_equal(rows[0], rows[1], count * 4);
		assert_memory_equal(out64[0], out64[1], count * 8);
		assert_memory_equal(out32[0], out32[1], count * 4);
		assert_true(a->sum64(wide, n) == b->sum64(wide, n));
		assert_int_equal(a->count(start, 66), b->count(start, 66));
	}
}

/* One BIGINT column of given values. */
struct column {
	struct rql_store *store;
	const struct rql_store_snapshot *snapshot;
};
static struct column column_of(rql_type_id id, const void *values, uint32_t bytes, uint32_t rows)
{
	struct rql_error err = {0};
	struct rql_type type = rql_type_simple(id);
	struct rql_store_column_spec spec = {
		.name = "x", .type = type, .coding = RQL_STORE_VALUES, .encoding = RQL_STORE_AUTO};
	struct rql_store_spec store = {.name = "columns of x", .column_count = 1, .columns = &spec};
	struct rql_store_builder *builder = NULL;
	struct column out;
	ok(rql_store_builder_new(&store, &builder, &err), &err);
	for (uint32_t at = 0; at < rows; at += 65536) {
		uint32_t n = rows - at < 65536 ? rows - at : 65536;
		struct rql_batch *batch = need(rql_batch_new(1, &type, n));
		memcpy(batch->columns[0].data, (const char *)values + (size_t)at * bytes, (size_t)n * bytes);
		ok(rql_store_builder_add(builder, 0, batch, &err), &err);
		rql_batch_release(batch);
	}
	ok(rql_store_builder_finish(builder, &out.store, &err), &err);
	out.snapshot = rql_store_snapshot(out.store);
	return out;
}
static void column_free(struct column *c)
{
	rql_store_snapshot_release(c->snapshot);
	rql_store_release(c->store);
}

static void test_wide_sums(void **state)
{
	(void)state;
	struct rql_error err = {0};
	struct rql_device device = cpu(RQL_SIMD_AVX512, 0);
	struct rql_scan_agg sum = {.kind = RQL_AGG_SUM, .filter = RQL_SCAN_NONE};
	struct rql_scan_request request = {.agg_count = 1, .aggs = &sum};
	static int64_t large[10000];
	for (uint32_t i = 0; i < 10000; i++)
		large[i] = i % 3 ? INT64_MAX : INT64_MIN + 5;
	struct column c = column_of(RQL_TYPE_BIGINT, large, 8, 10000);
	struct rql_scan *scan = NULL;
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_answer answer;
	request.snapshot = c.snapshot;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	ok(rql_scan_run(scan, &device, arena, NULL, &answer, NULL, &err), &err);
	assert_true(answer.aggs[0].integer[0] == (rql_int128)INT64_MAX * 6666 + ((rql_int128)INT64_MIN + 5) * 3334);
	rql_scan_free(scan);
	column_free(&c);
	/* A sum of HUGEINTs that leaves 128 bits is refused, and the error leaves the scan usable. */
	rql_int128 huge[3] = {(rql_int128)1 << 126, (rql_int128)1 << 126, 5};
	c = column_of(RQL_TYPE_HUGEINT, huge, 16, 3);
	request.snapshot = c.snapshot;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(rql_scan_run(scan, &device, arena, NULL, &answer, NULL, &err), RQL_ERROR_UNSUPPORTED);
	rql_scan_free(scan);
	struct rql_scan_join join = {.kind = RQL_SCAN_SEMI};
	struct rql_scan_map *map = NULL;
	ok(rql_scan_map_build(NULL, NULL, 0, &map, &err), &err);
	join.map = map;
	request.join_count = 1;
	request.joins = &join;
	assert_int_equal(rql_scan_prepare(&request, &device, &scan, &err), RQL_ERROR_UNSUPPORTED);
	assert_non_null(strstr(rql_error_message(&err), "column x"));
	rql_error_clear(&err);
	rql_scan_map_free(map);
	rql_arena_free(arena);
	column_free(&c);
}

/* Every row a group of its own, hashed (keys far apart) and in an array. */
static void test_many_groups(void **state)
{
	(void)state;
	struct rql_error err = {0};
	const uint32_t rows = SLOW ? 150000 : 2500000;
	int64_t *values = need(malloc(rows * sizeof(*values)));
	for (unsigned spread = 1; spread <= 1001; spread += 1000) {
		for (uint32_t i = 0; i < rows; i++)
			values[(uint64_t)i * 7919 % rows] = (int64_t)i * spread - 1000;
		struct column c = column_of(RQL_TYPE_BIGINT, values, 8, rows);
		struct rql_scan_group_key key = {.least = -1000, .key_count = rows * spread, .null_key = RQL_SCAN_NONE};
		struct rql_scan_agg aggs[2] = {{.kind = RQL_AGG_SUM, .filter = RQL_SCAN_NONE},
		                               {.kind = RQL_AGG_COUNT_STAR, .filter = RQL_SCAN_NONE}};
		struct rql_scan_request request = {
			.snapshot = c.snapshot, .group_count = 1, .groups = &key, .agg_count = 2, .aggs = aggs};
		for (unsigned pool = 0; pool < 2; pool++) {
			struct rql_device device = cpu(RQL_SIMD_AVX512, pool);
			struct rql_scan *scan = NULL;
			struct rql_arena *arena = need(rql_arena_new());
			struct rql_answer answer;
			ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
			for (unsigned again = 0; again < 2; again++)
				ok(rql_scan_run(scan, &device, arena, NULL, &answer, NULL, &err), &err);
			assert_int_equal(answer.group_count, rows);
			for (uint32_t i = 0; i < rows; i++)
				if (answer.keys[0][i] != i * spread || answer.aggs[0].integer[i] != (rql_int128)i * spread - 1000 ||
				    answer.aggs[1].integer[i] != 1)
					fail_msg("group %u", i);
			rql_scan_free(scan);
			rql_arena_free(arena);
		}
		column_free(&c);
	}
	free(values);
}

static void test_errors(void **state)
{
	(void)state;
	struct rql_error err = {0};
	struct rql_device device = cpu(RQL_SIMD_AVX512, 1);
	int64_t *values = need(calloc(100000, sizeof(*values)));
	values[99000] = INT64_MAX;
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, 100000);
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_builder *b = need(rql_builder_new(arena));
	struct rql_type bigint = rql_type_simple(RQL_TYPE_BIGINT);
	struct rql_input_spec input = {.type = bigint, .kind = RQL_LANE_I64, .bounds = {1, 0}};
	rql_value_number x = rql_build_input(b, &input), twice = rql_build_arithmetic(b, "+", x, x, bigint, true);
	struct rql_program *program = NULL;
	ok(rql_builder_finish(b, &twice, 1, &program, &err), &err);
	struct rql_scan_source source = {.kind = RQL_SCAN_COLUMN};
	struct rql_scan_program bound = {.program = program, .inputs = &source};
	struct rql_scan_agg sum = {.kind = RQL_AGG_SUM, .source = {.kind = RQL_SCAN_PROGRAM}, .filter = RQL_SCAN_NONE};
	struct rql_scan_conjunct low = {.test = RQL_SCAN_IN_RANGE, .greatest = 10};
	struct rql_scan_request request = {.snapshot = c.snapshot,
	                                   .program_count = 1,
	                                   .programs = &bound,
	                                   .agg_count = 1,
	                                   .aggs = &sum,
	                                   .conjuncts = &low};
	struct rql_scan *scan = NULL;
	struct rql_answer answer = {.group_count = 99};
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	assert_int_equal(rql_scan_run(scan, &device, arena, NULL, &answer, NULL, &err), RQL_ERROR_HOST);
	assert_non_null(strstr(rql_error_message(&err), "Overflow"));
	assert_int_equal(answer.group_count, 99);
	rql_error_clear(&err);
	struct rql_progress progress = {.cancel = true};
	assert_int_equal(rql_scan_run(scan, &device, arena, &progress, &answer, NULL, &err), RQL_ERROR_INTERRUPTED);
	rql_error_clear(&err);
	rql_scan_free(scan);
	/* The row that would overflow is filtered out: no error. */
	request.conjunct_count = 1;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	ok(rql_scan_run(scan, &device, arena, NULL, &answer, NULL, &err), &err);
	assert_true(answer.aggs[0].integer[0] == 0);
	rql_scan_free(scan);
	/* What is no request. */
	low.index = 3;
	assert_int_equal(rql_scan_prepare(&request, &device, &scan, &err), RQL_ERROR_INTERNAL);
	rql_error_clear(&err);
	request.conjunct_count = 0;
	struct rql_scan_group_key wide = {.least = 0, .key_count = 2000000000, .null_key = RQL_SCAN_NONE};
	struct rql_scan_group_key groups[3] = {wide, wide, wide};
	request.group_count = 3;
	request.groups = groups;
	assert_int_equal(rql_scan_prepare(&request, &device, &scan, &err), RQL_ERROR_UNSUPPORTED);
	rql_error_clear(&err);
	request.group_count = 1;
	groups[0].key_count = 50; /* and INT64_MAX is there */
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	sum.source = (struct rql_scan_source){.kind = RQL_SCAN_COLUMN};
	rql_status status = rql_scan_run(scan, &device, arena, NULL, &answer, NULL, &err);
	assert_true(status == RQL_ERROR_INTERNAL || status == RQL_ERROR_HOST);
	rql_error_clear(&err);
	rql_scan_free(scan);
	rql_arena_free(arena);
	column_free(&c);
	free(values);
}

/* Sorted values: a narrow range reads few blocks, and the price says so. */
static void test_skipping(void **state)
{
	(void)state;
	struct rql_error err = {0};
	struct rql_device device = cpu(RQL_SIMD_AVX512, 1);
	static int32_t values[300000];
	for (int32_t i = 0; i < 300000; i++)
		values[i] = i;
	struct column c = column_of(RQL_TYPE_INTEGER, values, 4, 300000);
	struct rql_scan_agg count = {.kind = RQL_AGG_COUNT_STAR, .filter = RQL_SCAN_NONE};
	struct rql_scan_conjunct range = {.test = RQL_SCAN_IN_RANGE, .least = 150000, .greatest = 151000};
	struct rql_scan_request request = {
		.snapshot = c.snapshot, .conjunct_count = 1, .conjuncts = &range, .agg_count = 1, .aggs = &count};
	struct rql_cost narrow, whole;
	struct rql_scan_counts counts;
	struct rql_scan *scan = NULL;
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_answer answer;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	ok(rql_scan_run(scan, &device, arena, NULL, &answer, &counts, &err), &err);
	assert_true(answer.aggs[0].integer[0] == 1001);
	assert_true(counts.blocks - counts.blocks_skipped <= 2);
	assert_int_equal(counts.rows_passed, 1001);
	rql_scan_price(scan, &device, &rql_scan_profile_guess, &narrow);
	rql_scan_free(scan);
	range.least = 0;
	range.greatest = 299998;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	rql_scan_price(scan, &device, &rql_scan_profile_guess, &whole);
	assert_true(narrow.run_ns < whole.run_ns && narrow.runs < whole.runs);
	rql_scan_free(scan);
	/* A join whose keys lie in one place. */
	int64_t keys[2] = {7, 12000};
	struct rql_scan_join join = {.kind = RQL_SCAN_SEMI};
	struct rql_scan_map *map = NULL;
	ok(rql_scan_map_build(keys, NULL, 2, &map, &err), &err);
	join.map = map;
	request.conjunct_count = 0;
	request.join_count = 1;
	request.joins = &join;
	ok(rql_scan_prepare(&request, &device, &scan, &err), &err);
	ok(rql_scan_run(scan, &device, arena, NULL, &answer, &counts, &err), &err);
	assert_true(answer.aggs[0].integer[0] == 2);
	assert_true(counts.blocks_skipped > counts.blocks / 2);
	rql_scan_free(scan);
	rql_scan_map_free(map);
	rql_arena_free(arena);
	column_free(&c);
}

static void test_calibrate(void **state)
{
	(void)state;
	struct rql_error err = {0};
	struct rql_device device = cpu(RQL_SIMD_AVX512, 0);
	struct rql_scan_profile p = {0};
	ok(rql_scan_calibrate(&device, false, &p, &err), &err);
	assert_true(p.value_ns > 0 && p.gather_ns > 0 && p.probe_ns > 0 && p.row_ns > 0 && p.group_ns > 0 &&
	            p.step_ns > 0 && p.block_ns > 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_maps),    cmocka_unit_test(test_kernels),     cmocka_unit_test(test_wide_sums),
		cmocka_unit_test(test_errors),  cmocka_unit_test(test_skipping),    cmocka_unit_test(test_random),
		cmocka_unit_test(test_threads), cmocka_unit_test(test_many_groups), cmocka_unit_test(test_calibrate),
	};
	return cmocka_run_group_tests(tests, open_pools, close_pools);
}
