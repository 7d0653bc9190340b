/* Conditions of one column as ranges. */
#include "method/index/index_tests.h"
#include "method/rows.h"

#include <stdlib.h>

#define WORDS RQL_ROWS_BLOCK_WORDS

uint32_t rql_index_test_column(const struct rql_store_snapshot *snapshot, const struct rql_conjunct *c)
{
	const bool program = c->test == RQL_TEST_IS_TRUE;
	const uint32_t column = !program ? c->index : c->list.values ? c->list.column : c->ranges.column;
	const bool known = !program || c->list.values || (c->ranges.ranges && !c->ranges.nulls);
	if (c->or_null || !known || column >= snapshot->column_count)
		return RQL_NONE;
	const enum rql_store_kind kind = snapshot->columns[column].kind;
	switch (c->test) {
	case RQL_TEST_IN_CODES:
		return kind == RQL_STORE_CODED ? column : RQL_NONE;
	case RQL_TEST_IN_RANGE:
		return kind != RQL_STORE_REAL ? column : RQL_NONE;
	case RQL_TEST_IN_REALS:
		return kind == RQL_STORE_REAL ? column : RQL_NONE;
	case RQL_TEST_IS_TRUE:
		return kind == RQL_STORE_INTEGER || (kind == RQL_STORE_REAL && !c->list.values) ? column : RQL_NONE;
	default:
		return RQL_NONE;
	}
}

/* ---- ranges ---- */
static rql_status new_ranges(struct rql_index_test *test, uint64_t count, struct rql_error *err)
{
	if (count > RQL_INDEX_RANGES_MOST)
		return rql_error_set(err, RQL_ERROR_UNSUPPORTED, "it looks up more than %u ranges", RQL_INDEX_RANGES_MOST);
	test->ranges = malloc((count + 1) * sizeof(*test->ranges));
	return test->ranges ? RQL_OK : rql_error_memory(err, count * sizeof(*test->ranges), "ranges of an index");
}

static uint32_t codes_of(const struct rql_store_column *column)
{
	return column->dimension->count - column->dimension->has_null;
}

/* Runs of bits. ranges NULL: only how many. */
static uint64_t runs_of(const uint64_t *codes, uint32_t count, struct rql_index_range *ranges)
{
	uint64_t runs = 0;
	for (uint32_t first = 0, end; (first = rql_bits_next(codes, count, first, true)) < count; first = end, runs++) {
		end = rql_bits_next(codes, count, first, false);
		if (ranges)
			ranges[runs] = (struct rql_index_range){first, (rql_int128)end - 1};
	}
	return runs;
}

static rql_status take_codes(const struct rql_store_column *column, const uint64_t *codes, struct rql_index_test *out,
                             struct rql_error *err)
{
	uint64_t runs = runs_of(codes, codes_of(column), NULL);
	RQL_TRY(new_ranges(out, runs, err));
	out->count = (uint32_t)runs_of(codes, codes_of(column), out->ranges);
	return RQL_OK;
}

/* A value of the column as they are compared here. */
static rql_int128 value_of(const struct rql_store_column *column, rql_int128 value)
{
	return rql_index_is_lowered(column->kind, column->type) ? rql_uhugeint_place(value) : value;
}

static bool is_wide(const struct rql_store_column *column)
{
	return column->wide || rql_index_is_lowered(column->kind, column->type);
}

static rql_status take_range(const struct rql_store_column *column, rql_int128 least, rql_int128 greatest,
                             struct rql_index_test *out, struct rql_error *err)
{
	if (column->kind == RQL_STORE_CODED) {
		const rql_int128 last = (rql_int128)codes_of(column) - 1;
		least = least < 0 ? 0 : least;
		greatest = greatest > last ? last : greatest;
	}
	least = value_of(column, least);
	greatest = value_of(column, greatest);
	RQL_TRY(new_ranges(out, 1, err));
	out->count = least <= greatest;
	out->ranges[0] = (struct rql_index_range){least, greatest};
	return RQL_OK;
}

static rql_status take_reals(double least, double greatest, struct rql_index_test *out, struct rql_error *err)
{
	const struct rql_index_range range = {rql_index_of_real(least), rql_index_of_real(greatest)};
	RQL_TRY(new_ranges(out, 1, err));
	out->count = range.least <= range.greatest;
	out->ranges[0] = range;
	return RQL_OK;
}

static rql_status take_ranges(const struct rql_store_column *column, const struct rql_value_ranges *ranges,
                              struct rql_index_test *out, struct rql_error *err)
{
	RQL_TRY(new_ranges(out, ranges->count, err));
	for (uint32_t i = 0; i < ranges->count; i++) {
		struct rql_index_range range = {ranges->ranges[i].least, ranges->ranges[i].greatest};
		/* What lies outside all places of reals is empty. Cut to them it would be NaN or the least one. */
		if (column->kind == RQL_STORE_REAL && (range.greatest < 0 || range.least > (rql_int128)UINT64_MAX))
			continue;
		if (column->kind == RQL_STORE_REAL)
			range = (struct rql_index_range){rql_index_of_place(range.least, true),
			                                 rql_index_of_place(range.greatest, false)};
		if (range.least <= range.greatest)
			out->ranges[out->count++] = range;
	}
	return RQL_OK;
}

static int by_least(const void *a, const void *b)
{
	rql_int128 x = ((const struct rql_index_range *)a)->least, y = ((const struct rql_index_range *)b)->least;
	return (x > y) - (x < y);
}

static rql_status take_list(const struct rql_store_column *column, const struct rql_value_list *list,
                            struct rql_index_test *out, struct rql_error *err)
{
	RQL_TRY(new_ranges(out, list->count, err));
	for (uint32_t i = 0; i < list->count; i++)
		out->ranges[i].least = out->ranges[i].greatest = value_of(column, list->values[i]);
	if (list->count)
		qsort(out->ranges, list->count, sizeof(*out->ranges), by_least);
	for (uint32_t i = 0; i < list->count; i++)
		if (!i || out->ranges[i].least != out->ranges[out->count - 1].least)
			out->ranges[out->count++] = out->ranges[i];
	return RQL_OK;
}

rql_status rql_index_test_make(const struct rql_store_snapshot *snapshot, const struct rql_conjunct *c,
                               struct rql_index_test *out, struct rql_error *err)
{
	*out = (struct rql_index_test){.column = rql_index_test_column(snapshot, c), .point = c->point};
	const struct rql_store_column *column = &snapshot->columns[out->column];
	out->wide = is_wide(column);
	if (c->test == RQL_TEST_IN_CODES)
		return take_codes(column, c->codes, out, err);
	if (c->test == RQL_TEST_IN_RANGE)
		return take_range(column, c->least, c->greatest, out, err);
	if (c->test == RQL_TEST_IN_REALS)
		return take_reals(c->real_least, c->real_greatest, out, err);
	return c->list.values ? take_list(column, &c->list, out, err) : take_ranges(column, &c->ranges, out, err);
}

rql_status rql_index_test_make_part(const struct rql_store_snapshot *snapshot, const struct rql_value_tuples *tuples,
                                    uint32_t part, uint32_t number, struct rql_index_test *out, struct rql_error *err)
{
	const uint32_t count = tuples->count;
	const struct rql_value_list list = {.count = count, .values = tuples->values[part]};
	*out = (struct rql_index_test){.column = tuples->columns[part], .tuple = number, .tuple_count = count};
	const struct rql_store_column *column = &snapshot->columns[out->column];
	out->wide = is_wide(column);
	RQL_TRY(take_list(column, &list, out, err));
	const size_t bytes = ((size_t)count + 1) * sizeof(*out->part);
	if (!(out->part = malloc(bytes)))
		return rql_error_memory(err, bytes, "tuples of an index");
	for (uint32_t i = 0; i < count; i++)
		out->part[i] = value_of(column, list.values[i]);
	return RQL_OK;
}

void rql_index_test_free(struct rql_index_test *test)
{
	free(test->ranges);
	free(test->part);
}

uint64_t rql_index_test_values(const struct rql_index_test *test)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < test->count; i++) {
		rql_uint128 more = (rql_uint128)test->ranges[i].greatest - (rql_uint128)test->ranges[i].least;
		sum = more < UINT64_MAX - sum ? sum + (uint64_t)more + 1 : UINT64_MAX;
	}
	return sum;
}

rql_status rql_index_test_spread(struct rql_index_test *test, uint64_t values, struct rql_error *err)
{
	struct rql_index_test spread = {.column = test->column, .wide = test->wide};
	if (values == test->count)
		return RQL_OK;
	RQL_TRY(new_ranges(&spread, values, err));
	for (uint32_t i = 0; i < test->count; i++)
		for (rql_int128 v = test->ranges[i].least;; v++) { /* the greatest may be the last there is */
			spread.ranges[spread.count++] = (struct rql_index_range){v, v};
			if (v == test->ranges[i].greatest)
				break;
		}
	free(test->ranges);
	*test = spread;
	return RQL_OK;
}

/* ---- testing ---- */
static bool passes(const struct rql_index_test *test, rql_int128 value)
{
	uint32_t low = 0, high = test->count; /* the first range that does not end before it */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (test->ranges[middle].greatest < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low < test->count && test->ranges[low].least <= value;
}

/* 64 rows as they are decoded. */
union word {
	uint32_t codes[64];
	int64_t narrow[64];
	rql_int128 wide[64];
};

static void decode(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block, uint32_t first,
                   uint32_t count, bool wide, union word *out)
{
	if (view->kind == RQL_STORE_CODED)
		rql_store_decode_codes(k, view, block, first, count, out->codes);
	else if (wide)
		rql_index_decode_wide(k, view, block, first, count, out->wide);
	else
		rql_index_decode(k, view, block, first, count, out->narrow);
}

/* Those of the 64 rows that have a bit. */
static uint64_t test_word(const struct rql_index_test *test, const union word *values, bool coded, uint64_t bits)
{
	for (uint64_t left = bits; left; left &= left - 1) {
		const unsigned r = (unsigned)__builtin_ctzll(left);
		const rql_int128 value = coded ? values->codes[r] : test->wide ? values->wide[r] : values->narrow[r];
		if (!passes(test, value))
			bits &= ~(UINT64_C(1) << r);
	}
	return bits;
}

void rql_index_test_block(const struct rql_store_kernels *k, const struct rql_store_view *view, uint32_t block,
                          const struct rql_index_test *test, uint64_t *bits)
{
	const uint32_t rows = view->blocks[block].rows;
	uint64_t valid[1];
	union word values;
	for (uint32_t w = 0; w < WORDS; w++) {
		const uint32_t count = w * 64 >= rows ? 0 : rows - w * 64 < 64 ? rows - w * 64 : 64;
		bits[w] &= rql_rows_live(rows, w);
		if (!bits[w])
			continue;
		(void)rql_store_decode_validity(k, view, block, w * 64, count, valid);
		bits[w] &= valid[0];
		if (!bits[w])
			continue;
		decode(k, view, block, w * 64, count, test->wide, &values);
		bits[w] = test_word(test, &values, view->kind == RQL_STORE_CODED, bits[w]);
	}
}
