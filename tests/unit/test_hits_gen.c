/* The generators of ClickBench's and db-benchmark's tables: any range gives the same rows, texts are UTF-8, and the
 * shares that the queries depend on are those of docs/bench.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gen/groupby.h"
#include "gen/hits.h"

#define ROWS 60000u

static void put(struct rql_batch *out, uint32_t column, uint64_t row, const char *data, uint32_t length)
{
	assert_true(rql_batch_set_string(out, column, row, data, length));
}

static struct rql_batch *new_batch(const struct rql_gen_column *columns, uint32_t count, uint64_t rows)
{
	struct rql_type *types = calloc(count, sizeof *types);
	assert_non_null(types);
	for (uint32_t i = 0; i < count; i++)
		types[i] = rql_type_simple(columns[i].type);
	struct rql_batch *batch = rql_batch_new(count, types, rows);
	free(types);
	assert_non_null(batch);
	return batch;
}

static struct rql_hits hits_of(uint64_t rows, int64_t seed)
{
	struct rql_hits hits;
	struct rql_error err = {0};
	if (rql_hits_init(&hits, rows, seed, &err) != RQL_OK)
		fail_msg("%s", rql_error_message(&err));
	return hits;
}

static struct rql_batch *hits_rows(const struct rql_hits *hits, uint64_t first, uint32_t count)
{
	uint32_t columns;
	const struct rql_gen_column *column = rql_hits_columns(&columns);
	struct rql_batch *batch = new_batch(column, columns, count);
	rql_hits_fill(hits, first, count, batch, put);
	assert_int_equal(batch->rows, count);
	return batch;
}

static uint32_t column_of(const char *name)
{
	uint32_t count;
	const struct rql_gen_column *columns = rql_hits_columns(&count);
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(columns[i].name, name))
			return i;
	fail_msg("no column %s", name);
	return 0;
}

static const struct rql_string *text_at(const struct rql_batch *batch, uint32_t column, uint64_t row)
{
	return &((const struct rql_string *)batch->columns[column].data)[row];
}

static int64_t number_at(const struct rql_batch *batch, const char *name, uint64_t row)
{
	const struct rql_column *c = &batch->columns[column_of(name)];
	switch (rql_type_bytes(c->type)) {
	case 2:
		return ((const int16_t *)c->data)[row];
	case 4:
		return ((const int32_t *)c->data)[row];
	default:
		return ((const int64_t *)c->data)[row];
	}
}

static void assert_rows_equal(const struct rql_batch *a, uint64_t i, const struct rql_batch *b, uint64_t k)
{
	for (uint32_t c = 0; c < a->column_count; c++) {
		if (a->columns[c].type.id == RQL_TYPE_VARCHAR) {
			const struct rql_string *x = text_at(a, c, i), *y = text_at(b, c, k);
			assert_int_equal(x->length, y->length);
			assert_memory_equal(rql_string_data(x), rql_string_data(y), x->length);
		} else {
			size_t bytes = rql_type_bytes(a->columns[c].type);
			assert_memory_equal((char *)a->columns[c].data + i * bytes, (char *)b->columns[c].data + k * bytes, bytes);
		}
	}
}

static void test_hits_ranges(void **state)
{
	const struct rql_hits hits = hits_of(5000, 7), other = hits_of(5000, 8);
	struct rql_batch *all = hits_rows(&hits, 0, 2000), *part = hits_rows(&hits, 777, 300),
					 *seed = hits_rows(&other, 0, 1);
	(void)state;
	for (uint64_t i = 0; i < 300; i++)
		assert_rows_equal(part, i, all, 777 + i);
	assert_true(number_at(all, "WatchID", 0) != number_at(seed, "WatchID", 0));
	rql_batch_release(all);
	rql_batch_release(part);
	rql_batch_release(seed);
}

/* Well-formed: what rql_host_tf_string demands of its callers. */
static bool is_utf8(const unsigned char *s, uint32_t length)
{
	for (uint32_t i = 0; i < length;) {
		uint32_t more = s[i] < 0x80 ? 0 : s[i] >> 5 == 6 ? 1 : s[i] >> 4 == 14 ? 2 : s[i] >> 3 == 30 ? 3 : UINT32_MAX;
		if (more == UINT32_MAX || i + more >= length)
			return false;
		for (uint32_t k = 1; k <= more; k++)
			if (s[i + k] >> 6 != 2)
				return false;
		i += 1 + more;
	}
	return true;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static double distinct_share(const struct rql_batch *batch, const char *name)
{
	int64_t *values = malloc(batch->rows * sizeof *values);
	assert_non_null(values);
	for (uint64_t i = 0; i < batch->rows; i++)
		values[i] = number_at(batch, name, i);
	qsort(values, batch->rows, sizeof *values, compare);
	uint64_t distinct = 1;
	for (uint64_t i = 1; i < batch->rows; i++)
		distinct += values[i] != values[i - 1];
	free(values);
	return (double)distinct / (double)batch->rows;
}

/* The share of rows for which the condition, an expression of i, holds. */
#define SHARE(out, condition)                                                                                          \
	do {                                                                                                               \
		uint64_t n_ = 0;                                                                                               \
		for (uint64_t i = 0; i < batch->rows; i++)                                                                     \
			n_ += (condition) ? 1 : 0;                                                                                 \
		(out) = (double)n_ / (double)batch->rows;                                                                      \
	} while (0)
#define SHARE_BETWEEN(least, condition, most)                                                                          \
	do {                                                                                                               \
		double share_;                                                                                                 \
		SHARE(share_, condition);                                                                                      \
		if (!((least) <= share_ && share_ <= (most)))                                                                  \
			fail_msg("the share of %s is %g, not %g to %g", #condition, share_, (double)(least), (double)(most));      \
	} while (0)
#define BETWEEN(least, value, most)                                                                                    \
	do {                                                                                                               \
		double v_ = (value);                                                                                           \
		if (!((least) <= v_ && v_ <= (most)))                                                                          \
			fail_msg("%s is %g, not in %g to %g", #value, v_, (double)(least), (double)(most));                        \
	} while (0)

static void test_hits_shares(void **state)
{
	const struct rql_hits hits = hits_of(ROWS, 42);
	struct rql_batch *batch = hits_rows(&hits, 0, ROWS);
	uint32_t phrase = column_of("SearchPhrase"), referer = column_of("Referer"), model = column_of("MobilePhoneModel");
	const int64_t day = 86400;
	(void)state;
	for (uint32_t c = 0; c < batch->column_count; c++)
		for (uint64_t i = 0; batch->columns[c].type.id == RQL_TYPE_VARCHAR && i < 2000; i++)
			assert_true(
				is_utf8((const unsigned char *)rql_string_data(text_at(batch, c, i)), text_at(batch, c, i)->length));
	BETWEEN(0.15, distinct_share(batch, "UserID"), 0.19);
	BETWEEN(0.999, distinct_share(batch, "WatchID"), 1);
	SHARE_BETWEEN(0.12, text_at(batch, phrase, i)->length > 0, 0.145);
	SHARE_BETWEEN(0.17, text_at(batch, referer, i)->length == 0, 0.21);
	SHARE_BETWEEN(0.04, text_at(batch, model, i)->length > 0, 0.075);
	SHARE_BETWEEN(0.005, number_at(batch, "AdvEngineID", i) != 0, 0.008);
	SHARE_BETWEEN(0.004, number_at(batch, "CounterID", i) == 62, 0.015);
	SHARE_BETWEEN(1 / (double)ROWS, number_at(batch, "UserID", i) == 435090932899640449, 0.001);
	SHARE_BETWEEN(1, (number_at(batch, "SearchEngineID", i) != 0) == (text_at(batch, phrase, i)->length > 0), 1);
	SHARE_BETWEEN(1, number_at(batch, "EventDate", i) == number_at(batch, "EventTime", i) / 1000000 / day, 1);
	SHARE_BETWEEN(1, number_at(batch, "EventDate", i) >= 15887 && number_at(batch, "EventDate", i) <= 15917, 1);
	rql_batch_release(batch);
}

static void test_groupby(void **state)
{
	struct rql_groupby table;
	struct rql_error err = {0};
	uint32_t columns;
	const struct rql_gen_column *column = rql_groupby_columns(&columns);
	(void)state;
	assert_int_equal(rql_groupby_init(&table, ROWS, 100, 1, &err), RQL_OK);
	struct rql_batch *all = new_batch(column, columns, ROWS), *part = new_batch(column, columns, 100);
	rql_groupby_fill(&table, 0, ROWS, all, put);
	rql_groupby_fill(&table, 4321, 100, part, put);
	for (uint64_t i = 0; i < 100; i++)
		assert_rows_equal(part, i, all, 4321 + i);
	bool seen[101] = {false};
	const int32_t *id4 = all->columns[3].data, *id6 = all->columns[5].data, *v1 = all->columns[6].data;
	const double *v3 = all->columns[8].data;
	for (uint64_t i = 0; i < ROWS; i++) {
		assert_true(id4[i] >= 1 && id4[i] <= 100 && id6[i] >= 1 && id6[i] <= 600 && v1[i] >= 1 && v1[i] <= 5);
		assert_true(v3[i] >= 0 && v3[i] < 100 && fabs(v3[i] * 1e4 - round(v3[i] * 1e4)) < 1e-6);
		assert_int_equal(text_at(all, 0, i)->length, 5);
		assert_int_equal(text_at(all, 2, i)->length, 12);
		seen[id4[i]] = true;
	}
	for (unsigned i = 1; i <= 100; i++)
		assert_true(seen[i]);
	rql_batch_release(all);
	rql_batch_release(part);
}

static void test_refusals(void **state)
{
	struct rql_hits hits;
	struct rql_groupby table;
	struct rql_error err = {0};
	(void)state;
	assert_int_equal(rql_hits_init(&hits, 0, 1, &err), RQL_ERROR_STATEMENT);
	assert_int_equal(rql_hits_init(&hits, (uint64_t)RQL_HITS_MAX_ROWS + 1, 1, &err), RQL_ERROR_STATEMENT);
	assert_int_equal(rql_groupby_init(&table, 10, 11, 1, &err), RQL_ERROR_STATEMENT);
	assert_int_equal(rql_groupby_init(&table, 10, 0, 1, &err), RQL_ERROR_STATEMENT);
	rql_error_clear(&err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hits_ranges),
		cmocka_unit_test(test_hits_shares),
		cmocka_unit_test(test_groupby),
		cmocka_unit_test(test_refusals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
