/* Bit planes: numbers ascend with values, planes hold them, and the planes that a range wants decide it, for every
 * encoding, appended segments with codes of their own, dates with and without calendar numbers, and NULLs. */
#pragma GCC diagnostic ignored "-Wunused-function" /* of the world, only tables are needed */
#include "scan_world.h"

#include "expr/date.h"
#include "method/scan/gpu/scan_planes.h"

static unsigned blocks_seen, calendars, translated, planes_skipped;

/* What a block's rows have: stored codes, or values. */
static void stored_values(const struct rql_store_view *view, uint32_t block, int64_t *out)
{
	static uint32_t codes[RQL_STORE_BLOCK];
	const struct rql_store_kernels *k = rql_store_kernels_for(RQL_SIMD_PORTABLE);
	struct rql_store_view stored = *view;
	uint32_t rows = view->blocks[block].rows;
	stored.translate = NULL;
	if (view->kind != RQL_STORE_CODED) {
		rql_store_decode_int64(k, &stored, block, 0, rows, out);
		return;
	}
	rql_store_decode_codes(k, &stored, block, 0, rows, codes);
	for (uint32_t r = 0; r < rows; r++)
		out[r] = codes[r];
}

static uint32_t number_in(const uint32_t *planes, uint32_t bits, uint32_t wanted, uint32_t row)
{
	uint32_t number = 0;
	for (uint32_t j = 0; j < bits; j++)
		if (wanted >> j & 1)
			number |= (planes[j * (RQL_STORE_BLOCK / 32) + row / 32] >> row % 32 & 1) << j;
	return number;
}

static bool in_ranges(uint32_t number, const struct rql_scan_range *ranges, uint32_t count)
{
	bool in = false;
	for (uint32_t r = 0; r < count; r++)
		in |= ranges[r].low <= number && number <= ranges[r].high;
	return in;
}

static void check_ranges(const struct rql_scan_numbers *n, const int64_t *values, uint32_t rows, const uint32_t *planes)
{
	for (unsigned i = 0; i < 12; i++) {
		struct rql_scan_range ranges[2], above[2];
		rql_int128 low[2], high[2];
		uint32_t count = 1 + (uint32_t)roll(2);
		for (uint32_t r = 0; r < count; r++) {
			low[r] = roll(6) ? (rql_int128)values[roll(rows)] + (rql_int128)roll(3) - 1 : INT64_MIN;
			high[r] = roll(6) ? (rql_int128)values[roll(rows)] + (rql_int128)roll(3) - 1 : INT64_MAX;
			ranges[r] = rql_scan_numbers_range(n, low[r], high[r]);
		}
		uint32_t wanted = rql_scan_planes_wanted(n, ranges, count), skip = wanted ? (uint32_t)__builtin_ctz(wanted) : 0;
		if (!wanted && n->bits)
			skip = n->bits - 1;
		planes_skipped += n->bits > 0 && !(wanted & 1);
		for (uint32_t row = 0; row < rows; row++) {
			bool want = false;
			for (uint32_t r = 0; r < count; r++)
				want |= low[r] <= values[row] && values[row] <= high[r];
			uint32_t number = number_in(planes, n->bits, wanted, row);
			assert_int_equal(in_ranges(number, ranges, count), want);
			for (uint32_t r = 0; r < count; r++) /* whoever looks at no lower planes sees the same */
				above[r] = (struct rql_scan_range){ranges[r].low >> skip, ranges[r].high >> skip};
			assert_int_equal(in_ranges(number >> skip, above, count), want);
		}
	}
}

static void check_block(const struct rql_scan_numbers *n, const struct rql_store_view *view, uint32_t block)
{
	static int64_t values[RQL_STORE_BLOCK];
	static uint32_t planes[RQL_SCAN_PLANES_MAX * RQL_STORE_BLOCK / 32];
	uint32_t rows = view->blocks[block].rows, *table = rql_scan_numbers_table(n);
	if (n->bits > RQL_SCAN_PLANES_MAX)
		return;
	stored_values(view, block, values);
	for (unsigned simd = 0; simd <= RQL_SIMD_AVX512; simd++) {
		memset(planes, 0xa5, sizeof(planes));
		assert_true(rql_scan_planes_write(n, table, rql_store_kernels_for((enum rql_simd)simd), view, block, planes));
	}
	if (view->kind != RQL_STORE_CODED && view->blocks[block].nulls == rows) { /* any numbers: all 0 */
		for (uint32_t i = 0; i < n->bits * RQL_STORE_BLOCK / 32; i++)
			assert_int_equal(planes[i], 0);
		free(table);
		return;
	}
	for (uint32_t row = 1; row < rows; row++) {
		uint32_t other = (uint32_t)roll(row), a = number_in(planes, n->bits, UINT32_MAX, row),
				 b = number_in(planes, n->bits, UINT32_MAX, other);
		assert_int_equal(a < b, values[row] < values[other]);
		assert_int_equal(a == b, values[row] == values[other]);
	}
	for (uint32_t row = rows; row < RQL_STORE_BLOCK; row++)
		assert_int_equal(number_in(planes, n->bits, UINT32_MAX, row), 0);
	check_ranges(n, values, rows, planes);
	free(table);
	blocks_seen++;
}

static void check_column(const struct rql_store_snapshot *snapshot, uint32_t column)
{
	uint32_t widest = 0;
	for (uint32_t s = 0; s < snapshot->segment_count; s++) {
		const struct rql_store_segment *segment = &snapshot->segments[s];
		struct rql_scan_numbers n;
		bool shared = rql_scan_numbers_of_segment(snapshot, segment, column, &n);
		for (uint32_t b = 0; b < segment->blocks; b++) {
			if (!shared)
				rql_scan_numbers_of_block(&segment->columns[column].blocks[b], &n);
			widest = n.bits > widest ? n.bits : widest;
			calendars += n.calendar;
			translated += segment->columns[column].translate != NULL;
			check_block(&n, &segment->columns[column], b);
		}
	}
	assert_int_equal(rql_scan_numbers_widest(snapshot, column), widest);
}

static void test_columns(void **state)
{
	(void)state;
	static const uint32_t columns[] = {SMALL, MIDDLE, SORTED, BIG, FLAG, CODE, WORD, CONSTANT, DAY, PART};
	random_state = 11;
	for (unsigned i = 0; i < 6; i++) {
		struct table t;
		table_make(&t, 1 + (uint32_t)roll(14000));
		for (size_t c = 0; c < sizeof(columns) / sizeof(*columns); c++)
			check_column(t.snapshot, columns[c]);
		table_free(&t);
	}
	assert_true(blocks_seen > 50 && translated > 0);
}

/* A store of one column, with the batch as its first segment; takes the batch. */
static void column_make(struct table *t, enum rql_store_coding coding, struct rql_batch *batch)
{
	struct rql_error err = {0};
	struct rql_store_column_spec column = {
		.name = "c", .type = batch->columns[0].type, .coding = coding, .encoding = RQL_STORE_AUTO};
	struct rql_store_spec spec = {.name = "columns of t", .column_count = 1, .columns = &column};
	struct rql_store_builder *builder = NULL;
	ok(rql_store_builder_new(&spec, &builder, &err), &err);
	ok(rql_store_builder_add(builder, 0, batch, NULL, &err), &err);
	rql_batch_release(batch);
	ok(rql_store_builder_finish(builder, &t->store, &err), &err);
}

static void take_snapshot(struct table *t)
{
	t->snapshot = need((void *)(uintptr_t)rql_store_snapshot(t->store));
}

/* A column of dates, in two segments, the second with dates that the first lacks. */
static void dates_make(struct table *t, enum rql_store_coding coding, int32_t first, uint32_t span, unsigned nulls)
{
	struct rql_error err = {0};
	struct rql_type date = rql_type_simple(RQL_TYPE_DATE);
	for (unsigned part = 0; part < 2; part++) {
		struct rql_batch *batch = need(rql_batch_new(1, &date, 6000));
		for (uint32_t r = 0; r < 6000; r++) {
			((int32_t *)batch->columns[0].data)[r] =
				first + (int32_t)roll(span) + (part && roll(2) ? (int32_t)span : 0);
			if (roll(100) < nulls * part)
				assert_true(rql_batch_set_null(batch, 0, r));
		}
		if (!part) {
			column_make(t, coding, batch);
			continue;
		}
		ok(rql_store_append(t->store, batch, &err), &err);
		rql_batch_release(batch);
	}
	take_snapshot(t);
}

static void test_dates(void **state)
{
	(void)state;
	static const int32_t firsts[] = {8035, -700000, 0, INT32_MAX - 9000, -INT32_MAX};
	random_state = 12;
	calendars = translated = 0;
	for (size_t f = 0; f < sizeof(firsts) / sizeof(*firsts); f++)
		for (unsigned coding = RQL_STORE_CODES; coding <= RQL_STORE_VALUES; coding++) {
			struct table t = {0};
			dates_make(&t, (enum rql_store_coding)coding, firsts[f], f == 1 ? 90000 : 4000, f % 2 ? 0 : 20);
			check_column(t.snapshot, 0);
			table_free(&t);
		}
	assert_true(calendars > 0 && translated > 0 && planes_skipped > 0);
}

static uint32_t planes_for(const struct rql_scan_numbers *n, int64_t low, int64_t high)
{
	struct rql_scan_range range = rql_scan_numbers_range(n, low, high);
	return (uint32_t)__builtin_popcount(rql_scan_planes_wanted(n, &range, 1));
}

/* What calendar numbers are for: of twelve planes, whole years want three, months seven, days all. */
static void test_calendar(void **state)
{
	(void)state;
	struct table t = {0};
	struct rql_scan_numbers n;
	random_state = 13;
	int32_t first = (int32_t)rql_days_of_year(1992);
	dates_make(&t, RQL_STORE_VALUES, first, 1278, 0); /* to the end of 1998 */
	assert_true(rql_scan_numbers_of_segment(t.snapshot, &t.snapshot->segments[1], 0, &n));
	assert_true(n.calendar);
	assert_int_equal(n.bits, 12);
	for (int64_t year = 1993; year < 1998; year++) {
		int64_t day = rql_days_of_year(year);
		assert_true(planes_for(&n, day, rql_days_of_year(year + 1) - 1) <= 3);
		assert_true(planes_for(&n, day, day + 30) <= 7);
		assert_int_equal(planes_for(&n, day + 10, day + 12), 12);
	}
	assert_int_equal(planes_for(&n, INT64_MIN, INT64_MAX), 0);
	table_free(&t);
}

/* A predicate's ends are of 128 bits: their least and greatest are no values, and ranges of them alone are empty. */
static void test_extremes(void **state)
{
	(void)state;
	const rql_int128 greatest = (rql_int128)(~(rql_uint128)0 >> 1), least = -greatest - 1;
	const int64_t firsts[] = {INT64_MIN, -5, 81, INT64_MAX - 6};
	for (size_t f = 0; f < sizeof(firsts) / sizeof(*firsts); f++) {
		struct rql_scan_numbers n = {.first = firsts[f], .count = 7, .bits = 3};
		struct rql_scan_range all = rql_scan_numbers_range(&n, least, greatest);
		assert_int_equal(all.low, 0);
		assert_int_equal(all.high, 7);
		const struct rql_scan_range empty[] = {
			rql_scan_numbers_range(&n, least, least), rql_scan_numbers_range(&n, greatest, greatest),
			rql_scan_numbers_range(&n, greatest, least), rql_scan_numbers_range(&n, least, (rql_int128)firsts[f] - 1),
			rql_scan_numbers_range(&n, (rql_int128)firsts[f] + 7, greatest)};
		for (size_t e = 0; e < sizeof(empty) / sizeof(*empty); e++)
			assert_true(empty[e].low > empty[e].high);
	}
}

/* Two blocks of integers from `least` on, the second so much higher, and one of three rows that lacks both ends. */
static void integers_make(struct table *t, int64_t least, uint32_t span, int64_t higher)
{
	const uint32_t rows = 2 * RQL_STORE_BLOCK + 3;
	struct rql_type type = rql_type_simple(RQL_TYPE_BIGINT);
	struct rql_batch *batch = need(rql_batch_new(1, &type, rows));
	int64_t *values = batch->columns[0].data;
	for (uint32_t r = 0; r < rows; r++)
		values[r] = least + (int64_t)roll(span) + (r / RQL_STORE_BLOCK == 1 ? higher : 0);
	for (uint32_t r = rows - 3; r < rows; r++)
		values[r] = least + 1;
	values[0] = least;
	values[1] = least + ((int64_t)span - 1);
	column_make(t, RQL_STORE_VALUES, batch);
	take_snapshot(t);
}

/* Blocks share numbers, the small one too, unless a segment's would be wider than any block's. */
static void test_integers(void **state)
{
	(void)state;
	static const struct {
		int64_t least, higher;
		uint32_t span;
		bool shared;
	} cases[] = {{0, 0, 11, true},           {-5, 5, 11, true},
	             {INT64_MIN, 0, 1000, true}, {INT64_MAX - 99, 0, 100, true},
	             {7, 100, 11, false},        {-(INT64_C(1) << 40), INT64_C(1) << 41, 50, false}};
	random_state = 14;
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		struct table t = {0};
		struct rql_scan_numbers n;
		integers_make(&t, cases[c].least, cases[c].span, cases[c].higher);
		assert_int_equal(rql_scan_numbers_of_segment(t.snapshot, &t.snapshot->segments[0], 0, &n), cases[c].shared);
		if (cases[c].shared)
			assert_int_equal(n.first, cases[c].least);
		check_column(t.snapshot, 0);
		table_free(&t);
	}
}

/* Dates before 1970 and a block of NULLs, which are stored as the day 0: it has no number among the others'. */
static void test_null_block(void **state)
{
	(void)state;
	const uint32_t rows = 2 * RQL_STORE_BLOCK;
	struct rql_type type = rql_type_simple(RQL_TYPE_DATE);
	struct rql_batch *batch = need(rql_batch_new(1, &type, rows));
	struct table t = {0};
	struct rql_scan_numbers n;
	random_state = 15;
	for (uint32_t r = 0; r < rows; r++) {
		((int32_t *)batch->columns[0].data)[r] = -7305 + (int32_t)roll(365);
		if (r >= RQL_STORE_BLOCK)
			assert_true(rql_batch_set_null(batch, 0, r));
	}
	column_make(&t, RQL_STORE_VALUES, batch);
	take_snapshot(&t);
	assert_true(rql_scan_numbers_of_segment(t.snapshot, &t.snapshot->segments[0], 0, &n) && n.calendar);
	check_column(t.snapshot, 0);
	table_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_columns), cmocka_unit_test(test_dates),
	                                   cmocka_unit_test(test_calendar), cmocka_unit_test(test_extremes),
	                                   cmocka_unit_test(test_integers), cmocka_unit_test(test_null_block)};
	return cmocka_run_group_tests(tests, open_pools, close_pools);
}
