/* Selections of rows against a naive oracle: random stores and requests (filters, joins, outputs of all sources, orders of
 * several keys, limits), at every instruction set and with several threads, with filters and with lists of the rows that
 * pass; and the edges one by one. */
#include "method/scan/rows/scan_rows_query.h"
#include "scan_choice.h"

#define CASES (SLOW ? 24u : 400u)

/* The rows that pass as a device lists them: in no order. */
static uint32_t *list_rows(const struct choice *c, const struct table *t, uint64_t *out_count)
{
	uint32_t *list = need(malloc((t->rows + 1) * sizeof(*list)));
	uint64_t count = 0, first = 0;
	for (uint64_t b = 0; b < t->snapshot->blocks; b++) {
		const struct rql_store_segment *segment = rql_store_locate(t->snapshot, b);
		uint32_t rows = segment->columns[0].blocks[b - segment->first_block].rows;
		for (uint32_t r = 0; r < rows; r++)
			if (passes(&c->q, t, (uint32_t)first + r))
				list[count++] = (uint32_t)b << RQL_ROWS_BITS | r;
		first += rows;
	}
	assert_int_equal(first, t->rows);
	for (uint64_t i = count; i > 1; i--) {
		uint64_t other = roll(i);
		uint32_t entry = list[i - 1];
		list[i - 1] = list[other];
		list[other] = entry;
	}
	*out_count = count;
	return list;
}

static void run_listed(const struct choice *c, const struct table *t, const struct oracle *o,
                       const struct rql_scan_rows *rows, struct rql_device *device)
{
	struct rql_error err = {0};
	struct rql_batch *batch = NULL;
	uint64_t count;
	uint32_t *list = list_rows(c, t, &count);
	ok(rql_rows_run_listed(rows, device, NULL, list, count, &batch, &err), &err);
	check_batch(o, batch);
	rql_batch_release(batch);
	batch = NULL;
	/* What no device gives. */
	if (count && c->request.limit) {
		list[count] = list[roll(count)];
		rql_status status = rql_rows_run_listed(rows, device, NULL, list, count + 1, &batch, &err);
		if (status == RQL_OK) { /* it is not among those that were looked at */
			check_batch(o, batch);
			rql_batch_release(batch);
			batch = NULL;
		} else {
			assert_int_equal(status, RQL_ERROR_INTERNAL);
		}
		list[roll(count)] = (uint32_t)t->snapshot->blocks << RQL_ROWS_BITS;
		assert_int_equal(rql_rows_run_listed(rows, device, NULL, list, count, &batch, &err), RQL_ERROR_INTERNAL);
		rql_error_clear(&err);
	}
	assert_null(batch);
	free(list);
}

static void run_choice(const struct choice *c, const struct table *t, const struct oracle *o, unsigned simd,
                       unsigned pool)
{
	struct rql_device device = cpu(simd, pool);
	struct rql_error err = {0};
	struct rql_scan_rows *rows = NULL;
	struct rql_cost cost;
	ok(rql_scan_rows_prepare(&c->request, &device, &rows, &err), &err);
	rql_scan_rows_price(rows, &device, &rql_profile_guess.scan, &cost);
	assert_true(cost.run_ns >= 0 && isfinite(cost.run_ns) && isfinite(cost.bytes) && isfinite(cost.rows_out));
	for (unsigned again = 0; again < 2; again++) { /* the second run finds warm workers */
		struct rql_batch *batch = NULL;
		ok(rql_scan_rows_run(rows, &device, NULL, NULL, &batch, NULL, &err), &err);
		check_batch(o, batch);
		rql_batch_release(batch);
	}
	run_listed(c, t, o, rows, &device);
	rql_scan_rows_free(rows);
}

/* ---- tests ---- */

static void random_choices(const struct table *t, unsigned count, unsigned pool)
{
	for (unsigned i = 0; i < count; i++) {
		struct choice c;
		struct oracle o;
		choice_make(&c, t);
		expect(&o, &c, t);
		run_choice(&c, t, &o, i % 3, pool);
		free(o.rows);
		choice_free(&c);
	}
}

static void test_random(void **state)
{
	(void)state;
	skip_if_alone();
	static const uint32_t sizes[] = {0, 1, 2, 63, 64, 65, 1000, 4095, 4096, 4097, 9000, 20000};
	for (uint64_t seed = 1; seed <= CASES; seed++) {
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 3;
		struct table t;
		table_make(&t, sizes[roll(seed % 8 ? 10 : 12)]);
		random_choices(&t, 4, 0);
		table_free(&t);
	}
}

/* The first rows by one column and another, some of which end among the NULLs of the first. */
static void order_by(const struct table *t, uint32_t column, unsigned ends)
{
	struct choice c = {.q = {.arena = need(rql_arena_new())}, .outputs = {{.source = {.index = MIDDLE}}}};
	struct oracle o;
	uint64_t values = t->rows - t->snapshot->columns[column].nulls, limits[] = {values + 3, values / 2 + 1, 5};
	c.outputs[0].type = rql_type_simple(kinds[MIDDLE].type);
	c.orders[0] =
		(struct rql_row_order){.source = {.index = column}, .descending = ends & 1, .nulls_first = ends >> 1 & 1};
	c.orders[1] = (struct rql_row_order){.source = {.index = MIDDLE}, .descending = roll(2), .nulls_first = roll(2)};
	c.request = (struct rql_request){.snapshot = t->snapshot,
	                                 .wants = RQL_PORT_BATCH,
	                                 .output_count = 1,
	                                 .outputs = c.outputs,
	                                 .order_count = column == MIDDLE ? 1 : 2,
	                                 .orders = c.orders,
	                                 .limit = limits[roll(3)],
	                                 .offset = roll(2) ? 0 : roll(t->rows)};
	c.q.request = c.request;
	expect(&o, &c, t);
	run_choice(&c, t, &o, ends % 3, 0);
	free(o.rows);
	rql_arena_free(c.q.arena);
}

/* Blocks without a value, and with one only: what the best key of a block is, and what of it is skipped. */
static void test_blocks(void **state)
{
	(void)state;
	skip_if_alone();
	for (uint64_t seed = 1; seed <= (SLOW ? 1 : 2); seed++) {
		struct table t;
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 5;
		do {
			table_make(&t, 18000);
			if (t.blocks_differ)
				break;
			table_free(&t);
		} while (true);
		for (uint32_t column = 0; column < COLUMNS; column++)
			for (unsigned ends = 0; ends < 4; ends++)
				order_by(&t, column, ends);
		table_free(&t);
	}
}

static void test_threads(void **state)
{
	(void)state;
	random_state = 79;
	struct table t;
	table_make(&t, 90000);
	random_choices(&t, SLOW ? 8 : 20, 1);
	table_free(&t);
}

/* A request of one column, all of whose rows are wanted in some order. */
struct single {
	struct rql_output output;
	struct rql_row_order order;
	struct rql_request request;
};
static void single_make(struct single *s, const struct column *c, rql_type_id type)
{
	*s = (struct single){.output = {.type = rql_type_simple(type)}};
	s->request = (struct rql_request){.snapshot = c->snapshot,
	                                  .wants = RQL_PORT_BATCH,
	                                  .output_count = 1,
	                                  .outputs = &s->output,
	                                  .order_count = 1,
	                                  .orders = &s->order,
	                                  .limit = ALL};
}

static struct rql_batch *single_run(const struct single *s, unsigned pool, struct rql_scan_counts *counts)
{
	struct rql_error err = {0};
	struct rql_device device = cpu(RQL_SIMD_AVX512, pool);
	struct rql_scan_rows *rows = NULL;
	struct rql_batch *batch = NULL;
	ok(rql_scan_rows_prepare(&s->request, &device, &rows, &err), &err);
	ok(rql_scan_rows_run(rows, &device, NULL, NULL, &batch, counts, &err), &err);
	rql_scan_rows_free(rows);
	return batch;
}

struct thread_run {
	const struct single *s;
	struct rql_batch *batch;
};

static void *run_in_thread(void *state)
{
	struct thread_run *run = state;
	run->batch = single_run(run->s, 0, NULL);
	return NULL;
}

/* A caller's thread may have a small stack: the first rows of an order and a sort keep their keys elsewhere. */
static void test_small_stack(void **state)
{
	(void)state;
	static int64_t values[10000];
	for (uint32_t i = 0; i < 10000; i++)
		values[i] = (int64_t)(i * UINT64_C(7919) % 10007);
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, 10000);
	struct single s;
	struct thread_run run = {.s = &s};
	const uint64_t limits[] = {10, ALL};
	pthread_attr_t small;
	single_make(&s, &c, RQL_TYPE_BIGINT);
	assert_int_equal(pthread_attr_init(&small), 0);
	assert_int_equal(pthread_attr_setstacksize(&small, SLOW ? 1 << 20 : 96 << 10), 0);
	for (unsigned i = 0; i < 2; i++) {
		pthread_t thread;
		s.request.limit = limits[i];
		assert_int_equal(pthread_create(&thread, &small, run_in_thread, &run), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		const int64_t *out = run.batch->columns[0].data;
		assert_int_equal(run.batch->rows, i ? 10000 : 10);
		for (uint64_t r = 1; r < run.batch->rows; r++)
			assert_true(out[r - 1] < out[r]);
		rql_batch_release(run.batch);
	}
	pthread_attr_destroy(&small);
	column_free(&c);
}

/* Ends of types, where distances take all bits. */
static void test_ends(void **state)
{
	(void)state;
	static const rql_uint128 top = (rql_uint128)1 << 127;
	rql_int128 huge[4] = {(rql_int128)top, -1, 0, (rql_int128)(top - 1)}; /* ascending as HUGEINT */
	double reals[6] = {-(double)INFINITY, -1, -0.0, 0.0, (double)INFINITY, (double)NAN};
	int64_t longs[3] = {INT64_MIN, 0, INT64_MAX};
	static const struct {
		rql_type_id type;
		uint32_t bytes, count;
	} cases[] = {
		{RQL_TYPE_HUGEINT, 16, 4}, {RQL_TYPE_UHUGEINT, 16, 4}, {RQL_TYPE_DOUBLE, 8, 6}, {RQL_TYPE_BIGINT, 8, 3}};
	for (uint32_t i = 0; i < 4; i++) {
		const void *values = i < 2 ? (const void *)huge : i == 2 ? (const void *)reals : (const void *)longs;
		struct column c = column_of(cases[i].type, values, cases[i].bytes, cases[i].count);
		for (uint64_t limit = 1; limit <= cases[i].count + 1; limit++) {
			for (unsigned descending = 0; descending < 2; descending++) {
				struct single s;
				single_make(&s, &c, cases[i].type);
				s.order.descending = descending;
				s.request.limit = limit > cases[i].count ? ALL : limit; /* a heap, or a sort */
				struct rql_batch *batch = single_run(&s, 0, NULL);
				assert_int_equal(batch->rows, limit > cases[i].count ? cases[i].count : limit);
				for (uint64_t r = 1; r < batch->rows; r++) {
					int order = rql_column_compare(&batch->columns[0], r - 1, &batch->columns[0], r);
					assert_true(descending ? order >= 0 : order <= 0);
				}
				struct rql_value first = rql_column_get(&batch->columns[0], 0);
				if (i == 2)
					assert_true(descending ? isnan(first.real) : isinf(first.real));
				rql_batch_release(batch);
			}
		}
		column_free(&c);
	}
}

/* Rows that an order does not tell apart keep their places; the sign of zero survives. */
static void test_ties(void **state)
{
	(void)state;
	static double zeros[100000];
	for (uint32_t i = 0; i < 100000; i++)
		zeros[i] = i % 2 ? -0.0 : 0.0;
	struct column c = column_of(RQL_TYPE_DOUBLE, zeros, 8, 100000);
	struct single s;
	struct rql_scan_counts counts;
	single_make(&s, &c, RQL_TYPE_DOUBLE);
	for (unsigned run = 0; run < 4; run++) {
		s.request.limit = run % 2 ? 1000 : 70000;
		s.request.offset = 17;
		struct rql_batch *batch = single_run(&s, run / 2, &counts);
		assert_int_equal(batch->rows, s.request.limit);
		const double *out = batch->columns[0].data;
		for (uint64_t r = 0; r < batch->rows; r++)
			assert_int_equal(!signbit(out[r]), (r + 17) % 2 == 0);
		rql_batch_release(batch);
		/* Once the heaps are full, equal keys of later blocks need not be looked at. */
		if (run == 1)
			assert_true(counts.blocks - counts.blocks_skipped <= 2);
	}
	column_free(&c);
}

/* Blocks are visited best first, and those that cannot beat the worst kept row are skipped: both ends of sorted data. */
static void test_skipping(void **state)
{
	(void)state;
	static int32_t values[300000];
	for (int32_t i = 0; i < 300000; i++)
		values[i] = i;
	struct column c = column_of(RQL_TYPE_INTEGER, values, 4, 300000);
	for (unsigned descending = 0; descending < 2; descending++) {
		struct single s;
		struct rql_scan_counts counts;
		single_make(&s, &c, RQL_TYPE_INTEGER);
		s.order.descending = descending;
		s.request.limit = 10;
		s.request.offset = 5;
		struct rql_batch *batch = single_run(&s, 0, &counts);
		assert_int_equal(batch->rows, 10);
		for (int32_t r = 0; r < 10; r++)
			assert_int_equal(((const int32_t *)batch->columns[0].data)[r], descending ? 299994 - r : 5 + r);
		assert_int_equal(counts.blocks - counts.blocks_skipped, 1);
		rql_batch_release(batch);
	}
	/* A limit in table order stops the scan. */
	struct single s;
	struct rql_scan_counts counts;
	struct rql_conjunct even = {.test = RQL_TEST_IN_RANGE, .least = 100, .greatest = 299000};
	single_make(&s, &c, RQL_TYPE_INTEGER);
	s.request.order_count = 0;
	s.request.limit = 3;
	s.request.conjunct_count = 1;
	s.request.conjuncts = &even;
	struct rql_batch *batch = single_run(&s, 1, &counts);
	assert_int_equal(batch->rows, 3);
	assert_int_equal(((const int32_t *)batch->columns[0].data)[2], 102);
	assert_true(counts.blocks <= 2);
	rql_batch_release(batch);
	s.request.limit = 0;
	batch = single_run(&s, 1, &counts);
	assert_int_equal(batch->rows, 0);
	assert_int_equal(counts.blocks, 0);
	rql_batch_release(batch);
	column_free(&c);
}

/* Rows outlive what they were read from, and the texts that payloads were looked up in; copied by rows, and as a whole. */
static void outlive(uint32_t table_rows)
{
	struct table t;
	struct choice c;
	struct oracle o;
	struct rql_error err = {0};
	struct rql_device device = cpu(RQL_SIMD_AVX512, 0);
	do {
		table_make(&t, table_rows);
		if (t.snapshot->columns[WORD].nulls < table_rows)
			break;
		table_free(&t);
	} while (true);
	for (;;) {
		choice_make(&c, &t);
		c.outputs[1] = (struct rql_output){.source = {.index = WORD}, .type = rql_type_simple(RQL_TYPE_VARCHAR)};
		c.request.output_count = 2;
		c.request.limit = ALL;
		c.request.offset = 0;
		expect(&o, &c, &t);
		if (c.request.outputs[0].values && o.count > table_rows / 3)
			break;
		free(o.rows);
		choice_free(&c);
	}
	struct rql_scan_rows *rows = NULL;
	struct rql_batch *batch = NULL;
	ok(rql_scan_rows_prepare(&c.request, &device, &rows, &err), &err);
	ok(rql_scan_rows_run(rows, &device, NULL, NULL, &batch, NULL, &err), &err);
	rql_scan_rows_free(rows);
	uint64_t letters = 0;
	for (uint64_t r = 0; r < batch->rows; r++)
		for (uint32_t i = 0; i < 2; i++)
			check_cell(&o, batch, i, (uint32_t)r);
	free(o.rows);
	choice_free(&c);
	table_free(&t);
	for (uint64_t r = 0; r < batch->rows; r++)
		for (uint32_t i = 0; i < 2; i++) {
			struct rql_value v = rql_column_get(&batch->columns[i], r);
			for (uint64_t k = 0; !v.is_null && k < v.string.length; k++)
				letters += v.string.data[k] != 0;
		}
	assert_true(letters > 0);
	rql_batch_release(batch);
}

static void test_lifetime(void **state)
{
	(void)state;
	skip_if_alone();
	random_state = 4; /* such a choice comes soon */
	outlive(1000);
	outlive(20000);
}

/* A run is charged; nothing is after it, nor after a failure. */
static void test_limits(void **state)
{
	(void)state;
	struct rql_error err = {0};
	struct rql_device device = cpu(RQL_SIMD_AVX512, 1);
	int64_t *values = need(calloc(200000, sizeof(*values)));
	struct column c = column_of(RQL_TYPE_BIGINT, values, 8, 200000);
	struct rql_budget budget = {.limit = 1 << 20};
	struct rql_progress progress = {.cancel = true};
	struct single s;
	struct rql_scan_rows *rows = NULL;
	struct rql_batch *batch = NULL;
	single_make(&s, &c, RQL_TYPE_BIGINT);
	s.request.budget = &budget;
	for (unsigned orders = 0; orders < 2; orders++) {
		s.request.order_count = orders;
		ok(rql_scan_rows_prepare(&s.request, &device, &rows, &err), &err);
		assert_int_equal(rql_scan_rows_run(rows, &device, NULL, NULL, &batch, NULL, &err), RQL_ERROR_LIMIT);
		assert_non_null(strstr(rql_error_message(&err), "the rows of a query"));
		assert_null(batch);
		assert_int_equal(budget.used, 0);
		rql_error_clear(&err);
		assert_int_equal(rql_scan_rows_run(rows, &device, NULL, &progress, &batch, NULL, &err), RQL_ERROR_INTERRUPTED);
		rql_error_clear(&err);
		rql_scan_rows_free(rows);
	}
	budget.limit = UINT64_C(1) << 30;
	ok(rql_scan_rows_prepare(&s.request, &device, &rows, &err), &err);
	ok(rql_scan_rows_run(rows, &device, NULL, NULL, &batch, NULL, &err), &err);
	assert_int_equal(budget.used, 0);
	rql_batch_release(batch);
	rql_scan_rows_free(rows);
	column_free(&c);
	free(values);
}

/* A program that fails for a row that passes fails the run, wherever an order, a limit and an offset have the row; but for
 * those that a limit of rows as they stand does not come to. */
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
	struct rql_source source = {.kind = RQL_SOURCE_COLUMN};
	struct rql_row_program bound = {.program = program, .inputs = &source};
	struct single s;
	single_make(&s, &c, RQL_TYPE_BIGINT);
	s.request.program_count = 1;
	s.request.programs = &bound;
	s.output.source = (struct rql_source){.kind = RQL_SOURCE_PROGRAM};
	static const struct {
		uint64_t limit, offset;
		bool order, passes;
		rql_status status;
	} cases[] = {
		{ALL, 0, true, true, RQL_ERROR_HOST},      {99000, 0, true, true, RQL_ERROR_HOST},
		{10, 50000, true, true, RQL_ERROR_HOST},   {80000, 3, true, true, RQL_ERROR_HOST},
		{ALL, 0, false, true, RQL_ERROR_HOST},     {50000, 0, false, true, RQL_OK},
		{ALL, 99500, false, true, RQL_ERROR_HOST}, {10, 99500, false, true, RQL_ERROR_HOST},
		{ALL, 0, true, false, RQL_OK},             {10, 99500, false, false, RQL_OK},
		{0, 0, true, true, RQL_OK},
	};
	const struct rql_conjunct small = {.test = RQL_TEST_IN_RANGE, .greatest = 7};
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rql_scan_rows *rows = NULL;
		struct rql_batch *batch = NULL;
		s.request.limit = cases[i].limit;
		s.request.offset = cases[i].offset;
		s.request.order_count = cases[i].order;
		s.request.conjunct_count = !cases[i].passes;
		s.request.conjuncts = &small;
		ok(rql_scan_rows_prepare(&s.request, &device, &rows, &err), &err);
		assert_int_equal(rql_scan_rows_run(rows, &device, NULL, NULL, &batch, NULL, &err), cases[i].status);
		if (cases[i].status != RQL_OK)
			assert_non_null(strstr(rql_error_message(&err), "Overflow"));
		rql_error_clear(&err);
		rql_batch_release(batch);
		rql_scan_rows_free(rows);
	}
	/* What is no request. */
	struct rql_scan_rows *rows = NULL;
	s.output.type = rql_type_simple(RQL_TYPE_VARCHAR);
	assert_int_equal(rql_scan_rows_prepare(&s.request, &device, &rows, &err), RQL_ERROR_INTERNAL);
	rql_error_clear(&err);
	s.request.output_count = 0;
	assert_int_equal(rql_scan_rows_prepare(&s.request, &device, &rows, &err), RQL_ERROR_INTERNAL);
	rql_error_clear(&err);
	assert_null(rows);
	rql_arena_free(arena);
	column_free(&c);
	free(values);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),   cmocka_unit_test(test_blocks), cmocka_unit_test(test_ties),     cmocka_unit_test(test_skipping),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_lifetime), cmocka_unit_test(test_errors),
		cmocka_unit_test(test_random), cmocka_unit_test(test_threads), cmocka_unit_test(test_small_stack),
	};
	return cmocka_run_group_tests(tests, open_pools, close_pools);
}
