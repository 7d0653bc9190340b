/* Sieves beside a loop over all rows: random stores of all kinds of columns (NULLs, appended segments with older
 * dictionaries), numbers of any skew, reals with NaN, infinities and both zeros; random conjunctions, lists and sets of
 * codes; forms of few and many vectors. What the tests of sieves share. */
#ifndef RQL_TESTS_UNIT_SIEVE_WORLD_H
#define RQL_TESTS_UNIT_SIEVE_WORLD_H

#include "scan_world.h"

#include "method/contents.h"
#include "method/sieve/sieve_query.h"
#include "util/sort.h"

extern const struct rql_method rql_method_sieve_cpu;

#ifndef CASES
#define CASES (SLOW ? 24u : 120u)
#endif

static unsigned asked[COLUMNS], empty, full, partly, refused, forms_given[RQL_ROWS_FORMS];
/* Another unit that is given each request, and the bitmap that is right; NULL: none is. */
static void (*also)(const struct rql_request *request, const uint64_t *bits);

static void forms_of(const struct rql_store_snapshot *snapshot, struct rql_index_of *out)
{
	for (uint32_t c = 0; c < snapshot->column_count; c++)
		out[c] = (struct rql_index_of){
			.column = c,
			.form = RQL_INDEX_SIEVE,
			.sieve = {.vectors = 1 + (uint32_t)roll(roll(2) ? 8 : 200),
		              .components = 1 + (uint32_t)roll(2),
		              .refine = roll(3) ? RQL_SIEVE_POSITIONS : RQL_SIEVE_VALUES}};
}

/* The rows that a method gives of a request, a bit each in the order of the table. */
static uint64_t *rows_given(const struct rql_method *method, const struct rql_request *request,
                            struct rql_device *device, struct rql_arena *arena)
{
	const struct rql_store_snapshot *snapshot = request->snapshot;
	struct rql_prepared *prepared = NULL;
	struct rql_port port = {0};
	struct rql_cost cost = {0};
	struct rql_error err = {0};
	ok(method->prepare(request, device, &prepared, &err), &err);
	method->price(prepared, device, &cost);
	assert_true(cost.run_ns >= 0 && cost.rows_out >= 0 && cost.rows_out <= (double)snapshot->rows * 1.0001);
	assert_true(method->bytes(prepared) >= sizeof(*prepared));
	ok(method->run(prepared, device, &(struct rql_run){.arena = arena}, &port, &err), &err);
	assert_int_equal(port.kind, RQL_PORT_ROWS);
	uint64_t *bits = need(RQL_NEW_ARRAY(arena, uint64_t, snapshot->blocks * RQL_SIEVE_WORDS + 1));
	for (uint64_t i = 0; i < port.rows.block_count; i++) {
		assert_true(port.rows.blocks[i] < snapshot->blocks && (!i || port.rows.blocks[i] > port.rows.blocks[i - 1]));
		const struct rql_store_segment *segment = rql_store_locate(snapshot, port.rows.blocks[i]);
		const uint32_t rows = segment->columns[0].blocks[port.rows.blocks[i] - segment->first_block].rows;
		(void)rql_rows_unpack(&port.rows.parts[i], rows, bits + port.rows.blocks[i] * RQL_SIEVE_WORDS);
		forms_given[port.rows.parts[i].form]++;
	}
	method->free(prepared);
	return bits;
}

/* pass: of each row of the table. */
static void check_rows(const struct rql_request *request, struct rql_device *device, const bool *pass)
{
	const struct rql_store_snapshot *snapshot = request->snapshot;
	struct rql_arena *arena = need(rql_arena_new());
	uint64_t *bits = rows_given(&rql_method_sieve_cpu, request, device, arena), row = 0, passed = 0;
	for (uint64_t b = 0; b < snapshot->blocks; b++) {
		const struct rql_store_segment *segment = rql_store_locate(snapshot, b);
		const uint32_t rows = segment->columns[0].blocks[b - segment->first_block].rows;
		for (uint32_t r = 0; r < rows; r++, row++) {
			const bool have = bits[b * RQL_SIEVE_WORDS + r / 64] >> r % 64 & 1;
			if (have != pass[row])
				fail_msg("row %llu: %d instead of %d", (unsigned long long)row, have, pass[row]);
			passed += have;
		}
	}
	assert_int_equal(row, snapshot->rows);
	empty += !passed;
	full += passed == row;
	partly += passed && passed < row;
	if (also)
		also(request, bits);
	rql_arena_free(arena);
}

/* ---- all kinds of columns ---- */
/* Conjuncts that a sieve answers, of the world's kinds, and lists. False: there was none. */
static bool make_predicates(struct query *q, const struct table *t, int64_t *list, struct rql_device *device)
{
	const uint32_t wanted = 1 + (uint32_t)roll(4);
	q->request.wants = RQL_PORT_ROWS;
	while (q->request.conjunct_count < wanted) {
		struct rql_conjunct *c = &q->conjuncts[q->request.conjunct_count];
		if (roll(8)) {
			make_conjunct(q, t);
			if (c->test == RQL_TEST_IN_RANGE && c->index == WIDE) { /* beside values, so that keys are shared */
				c->least += (rql_int128)roll(2001) - 1000;
				c->greatest += (rql_int128)roll(2001) - 1000;
			}
		} else {
			*c = (struct rql_conjunct){.test = RQL_TEST_IS_TRUE,
			                           .list = {.column = MIDDLE, .count = 30, .values = list}};
			q->request.conjunct_count++;
			for (uint32_t i = 0; i < 30; i++)
				list[i] = t->rows ? (int64_t)cell_of(t, (uint32_t)roll(t->rows), MIDDLE)->integer : 5;
		}
		const bool program = c->test == RQL_TEST_IS_TRUE && !c->list.values;
		const struct rql_request one = {.snapshot = t->snapshot,
		                                .index_count = q->request.index_count,
		                                .indexes = q->request.indexes,
		                                .wants = RQL_PORT_ROWS,
		                                .conjunct_count = 1,
		                                .conjuncts = c};
		if (program || rql_method_sieve_cpu.offer(&one, device, NULL) == RQL_OFFER_NO) {
			assert_true(program);
			refused++;
			q->request.conjunct_count--;
			if (roll(3) == 0)
				break;
		} else {
			asked[c->test == RQL_TEST_IS_TRUE ? MIDDLE : c->index]++;
		}
	}
	return q->request.conjunct_count > 0;
}

static unsigned supersets, shared_keys;

/* The condition in which values that share a key with a bound are inside, of one row: what a sieve knows. */
static void widen(struct rql_conjunct *c, const struct table *t, uint32_t row)
{
	if (c->test != RQL_TEST_IN_RANGE || c->index != WIDE)
		return;
	const struct cell *v = cell_of(t, row, WIDE);
	if (v->null)
		return;
	const uint64_t key = rql_sieve_wide_key(v->integer);
	const rql_int128 least = c->least, greatest = c->greatest;
	assert_true(c->least > v->integer ? key <= rql_sieve_wide_key(least) : key >= rql_sieve_wide_key(least));
	if (least <= greatest && key == rql_sieve_wide_key(least) && v->integer < least)
		c->least = v->integer;
	if (least <= greatest && key == rql_sieve_wide_key(greatest) && v->integer > greatest)
		c->greatest = v->integer;
	shared_keys += c->least != least || c->greatest != greatest;
}

static bool listed(const struct query *q, const struct table *t, uint32_t row, const struct rql_conjunct *c)
{
	const struct cell *v = cell_of(t, row, c->list.column);
	(void)q;
	for (uint32_t i = 0; i < c->list.count && !v->null; i++)
		if (c->list.values[i] == v->integer)
			return true;
	return false;
}

static void check_table(const struct table *t, unsigned queries)
{
	struct rql_index_of of[COLUMNS];
	struct rql_device device = cpu((unsigned)roll(3), (unsigned)roll(2));
	bool *pass = need(calloc(t->rows + 1, sizeof(*pass)));
	forms_of(t->snapshot, of);
	for (unsigned i = 0; i < queries; i++) {
		struct query q = {.arena = need(rql_arena_new())};
		int64_t list[MAX][30];
		q.request = (struct rql_request){.snapshot = t->snapshot, .index_count = COLUMNS, .indexes = of};
		q.request.conjuncts = q.conjuncts;
		if (make_predicates(&q, t, list[0], &device)) {
			const bool exact = rql_method_sieve_cpu.offer(&q.request, &device, NULL) == RQL_OFFER_FULL;
			supersets += !exact;
			for (uint32_t r = 0; r < t->rows; r++) {
				struct query rest = q;
				rest.request.conjunct_count = 0;
				pass[r] = true;
				for (uint32_t c = 0; c < q.request.conjunct_count; c++)
					if (q.conjuncts[c].test == RQL_TEST_IS_TRUE)
						pass[r] = pass[r] && listed(&q, t, r, &q.conjuncts[c]);
					else
						rest.conjuncts[rest.request.conjunct_count++] = q.conjuncts[c];
				const bool truly = pass[r] && passes(&rest, t, r);
				for (uint32_t c = 0; c < rest.request.conjunct_count; c++)
					widen(&rest.conjuncts[c], t, r);
				pass[r] = pass[r] && passes(&rest, t, r);
				assert_true(pass[r] == truly || (pass[r] && !exact));
			}
			check_rows(&q.request, &device, pass);
		}
		query_free(&q);
	}
	free(pass);
}

/* Keys of 128 bits ascend, and those up to 2^62 are exact. */
static void test_wide_keys(void **state)
{
	(void)state;
	skip_if_alone();
	random_state = 128;
	for (unsigned i = 0; i < 200000; i++) {
		const unsigned bits = (unsigned)roll(128);
		const rql_uint128 amount = ((rql_uint128)roll(UINT64_MAX) << 64 | roll(UINT64_MAX)) >> (127 - bits) >> 1;
		const rql_int128 low = roll(2) ? (rql_int128)amount : ~(rql_int128)amount;
		const rql_int128 step = roll(2) ? 1 : (rql_int128)(amount >> roll(70) & INT64_MAX);
		const rql_int128 high = low > 0 && step > (rql_int128)(((rql_uint128)1 << 127) - 1) - low ? low : low + step;
		const uint64_t a = rql_sieve_wide_key(low), b = rql_sieve_wide_key(high);
		assert_true(a <= b && (bits > 61 || step > 1 || b - a == (uint64_t)(high - low)));
		assert_true(low == high || a != b || (amount >> 62 && (rql_uint128)(high - low) <= amount >> 54));
	}
}

static void test_random(void **state)
{
	(void)state;
	static const uint32_t sizes[] = {0, 1, 65, 4095, 4096, 4097, 9000, 20000};
	for (uint64_t seed = 1; seed <= CASES; seed++) {
		struct table t;
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 17;
		table_make(&t, sizes[seed % 8]);
		check_table(&t, 6);
		table_free(&t);
	}
	for (uint32_t c = 0; c < COLUMNS; c++)
		assert_true(asked[c] > 0 || CASES < 100);
	assert_true(empty > 0 && full > 0 && partly > CASES && refused > 0);
	assert_true((supersets > 0 && shared_keys > 0) || CASES < 100);
}

/* ---- columns of one kind: what is at the ends ---- */
#define ROWS 70000u
static const double ends[] = {-INFINITY, -1.7976931348623157e308, -1.5, -0.0, 0.0, 4.9e-324, 1.5, INFINITY, NAN};

static void check_reals(struct column *x, const double *values)
{
	struct rql_index_of of;
	struct rql_device device = cpu((unsigned)roll(3), 1);
	bool *pass = need(calloc(ROWS, sizeof(*pass)));
	forms_of(x->snapshot, &of);
	for (unsigned i = 0; i < 40; i++) {
		struct rql_conjunct c[2];
		for (unsigned k = 0; k < 2; k++)
			c[k] = (struct rql_conjunct){.test = RQL_TEST_IN_REALS,
			                             .real_least = roll(2) ? ends[roll(9)] : values[roll(ROWS)],
			                             .real_greatest = roll(2) ? ends[roll(9)] : values[roll(ROWS)]};
		const struct rql_request request = {.snapshot = x->snapshot,
		                                    .index_count = 1,
		                                    .indexes = &of,
		                                    .wants = RQL_PORT_ROWS,
		                                    .conjunct_count = 1 + i % 2,
		                                    .conjuncts = c};
		for (uint32_t r = 0; r < ROWS; r++) {
			pass[r] = true;
			for (unsigned k = 0; k < 1 + i % 2; k++)
				pass[r] = pass[r] && order_real(c[k].real_least, values[r]) <= 0 &&
				          order_real(values[r], c[k].real_greatest) <= 0;
		}
		check_rows(&request, &device, pass);
	}
	free(pass);
}

static void test_reals(void **state)
{
	(void)state;
	skip_if_alone();
	double *values = need(calloc(ROWS, sizeof(*values)));
	float *narrow = need(calloc(ROWS, sizeof(*narrow)));
	random_state = 4711;
	for (unsigned kind = 0; kind < 3; kind++) { /* anything, few values, one value */
		for (uint32_t r = 0; r < ROWS; r++) {
			values[r] = kind == 2      ? -0.0
			            : roll(4) == 0 ? ends[roll(9)]
			            : kind         ? (double)roll(9)
			                           : (double)roll(1u << 30) / 7;
			narrow[r] = (float)values[r];
		}
		struct column wide = column_of(RQL_TYPE_DOUBLE, values, 8, ROWS);
		check_reals(&wide, values);
		column_free(&wide);
		for (uint32_t r = 0; r < ROWS; r++)
			values[r] = (double)narrow[r];
		struct column x = column_of(RQL_TYPE_FLOAT, narrow, 4, ROWS);
		check_reals(&x, values);
		column_free(&x);
	}
	free(values);
	free(narrow);
}

/* Skewed integers, their ends, contradictions, and bounds outside the column. */
static int64_t skewed(unsigned kind)
{
	switch (kind) {
	case 0: /* a power law */
		return (int64_t)(1e6 / (1.0 + (double)roll(1u << 20))) - 3;
	case 1: /* most are one value */
		return roll(10) ? 77 : (int64_t)roll(1000);
	case 2: /* the ends of the type */
		return roll(3) ? (int64_t)(roll(UINT64_MAX) ^ roll(2) << 63) : roll(2) ? INT64_MIN : INT64_MAX;
	default: /* 64 values */
		return (int64_t)roll(64);
	}
}

static void test_integers(void **state)
{
	(void)state;
	skip_if_alone();
	int64_t *values = need(calloc(ROWS, sizeof(*values)));
	bool *pass = need(calloc(ROWS, sizeof(*pass)));
	for (unsigned kind = 0; kind < 4; kind++) {
		random_state = 99 + kind;
		for (uint32_t r = 0; r < ROWS; r++)
			values[r] = skewed(kind);
		struct column x = column_of(RQL_TYPE_BIGINT, values, 8, ROWS);
		struct rql_device device = cpu((unsigned)roll(3), kind % 2);
		for (unsigned i = 0; i < 60; i++) {
			struct rql_index_of of;
			struct rql_conjunct c = {.test = RQL_TEST_IN_RANGE, .least = values[roll(ROWS)]};
			c.greatest = values[roll(ROWS)];
			c.least = i % 7 == 0 ? -((rql_int128)1 << 90) : c.least;
			c.greatest = i % 5 == 0 ? (rql_int128)1 << 90 : i % 5 == 1 ? c.least : c.greatest;
			if (i % 20 == 1) /* wholly outside */
				c.least = c.greatest = (rql_int128)INT64_MAX + 1;
			forms_of(x.snapshot, &of);
			const struct rql_request request = {.snapshot = x.snapshot,
			                                    .index_count = 1,
			                                    .indexes = &of,
			                                    .wants = RQL_PORT_ROWS,
			                                    .conjunct_count = 1,
			                                    .conjuncts = &c};
			for (uint32_t r = 0; r < ROWS; r++)
				pass[r] = c.least <= values[r] && values[r] <= c.greatest;
			check_rows(&request, &device, pass);
		}
		column_free(&x);
	}
	free(values);
	free(pass);
}

#endif
