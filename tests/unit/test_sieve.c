/* Sieves on the CPU (sieve_world.h); bounds of bins; too little memory. */
#include "sieve_world.h"

#include "method/sieve/sieve_positions.h"

/* ---- bounds ---- */
static void test_bounds(void **state)
{
	(void)state;
	skip_if_alone();
	for (random_state = 1; random_state < 4000; random_state += 7) {
		uint64_t sample[300], spare[300], bounds[64], *sorted;
		const uint32_t count = (uint32_t)roll(300), most = 1 + (uint32_t)roll(64);
		const uint64_t few = 1 + roll(roll(2) ? 5 : 1000);
		for (uint32_t i = 0; i < count; i++)
			sample[i] = roll(20) ? roll(few) : roll(2) ? 0 : UINT64_MAX;
		sorted = rql_sort_words(sample, spare, count, 0);
		const uint32_t bins = rql_sieve_bounds(sorted, count, most, bounds);
		assert_true(bins >= 1 && bins <= most);
		for (uint32_t b = 1; b + 1 < bins; b++)
			assert_true(bounds[b - 1] < bounds[b]);
		const struct rql_sieve_bins all = {.count = bins, .bounds = bounds};
		for (uint32_t i = 0; i < count; i++) {
			uint32_t want = 0;
			while (want < bins - 1 && bounds[want] <= sorted[i])
				want++;
			assert_int_equal(rql_sieve_bin_of(&all, sorted[i]), want);
		}
	}
}

/* ---- several parts of positions ---- */
/* Three parts, the last of them short, with NULLs in some; then rows of another segment. */
#define LONG_ROWS 1100000u
#define MORE_ROWS 900u

static struct rql_batch *integers(const int32_t *values, const bool *null, uint32_t first, uint32_t rows)
{
	struct rql_type type = rql_type_simple(RQL_TYPE_INTEGER);
	struct rql_batch *batch = need(rql_batch_new(1, &type, rows));
	memcpy(batch->columns[0].data, values + first, rows * sizeof(*values));
	for (uint32_t r = 0; r < rows; r++)
		assert_true(!null[first + r] || rql_batch_set_null(batch, 0, r));
	return batch;
}

static struct rql_store *long_store(const int32_t *values, const bool *null)
{
	struct rql_error err = {0};
	struct rql_store_column_spec spec = {.name = "x",
	                                     .type = rql_type_simple(RQL_TYPE_INTEGER),
	                                     .coding = RQL_STORE_VALUES,
	                                     .encoding = RQL_STORE_AUTO};
	struct rql_store_spec store_spec = {.name = "columns of x", .column_count = 1, .columns = &spec};
	struct rql_store_builder *builder = NULL;
	struct rql_store *store = NULL;
	ok(rql_store_builder_new(&store_spec, &builder, &err), &err);
	for (uint32_t at = 0; at < LONG_ROWS; at += 100000) {
		struct rql_batch *batch = integers(values, null, at, 100000);
		ok(rql_store_builder_add(builder, 0, batch, NULL, &err), &err);
		rql_batch_release(batch);
	}
	ok(rql_store_builder_finish(builder, &store, &err), &err);
	struct rql_batch *batch = integers(values, null, LONG_ROWS, MORE_ROWS);
	ok(rql_store_append(store, batch, &err), &err);
	rql_batch_release(batch);
	return store;
}

/* kind 0: any values; 1: ascending, so that parts decide alone; 2: nothing but NULL in the second part. */
static void check_parts(unsigned kind)
{
	const uint32_t rows = LONG_ROWS + MORE_ROWS;
	int32_t *values = need(calloc(rows, sizeof(*values)));
	bool *null = need(calloc(rows, sizeof(*null))), *pass = need(calloc(rows, sizeof(*pass)));
	random_state = 300 + kind;
	for (uint32_t r = 0; r < rows; r++) {
		values[r] = kind == 1 ? (int32_t)(r / 3) : (int32_t)roll(1u << 20);
		null[r] = kind == 2 && r >= RQL_SIEVE_PART_ROWS && (r < 2 * RQL_SIEVE_PART_ROWS || roll(13) == 0);
	}
	struct rql_store *store = long_store(values, null);
	const struct rql_store_snapshot *snapshot = rql_store_snapshot(store);
	struct rql_device device = cpu(RQL_SIMD_AVX2, 1);
	for (unsigned i = 0; i < 8; i += UNDER_TSAN ? 3 : 1) {
		struct rql_index_of of = {.form = RQL_INDEX_SIEVE};
		of.sieve = (struct rql_sieve_form){.vectors = 4 + 20 * (i % 2), .components = 1 + i / 2 % 2, .refine = RQL_SIEVE_POSITIONS};
		struct rql_conjunct c = {.test = RQL_TEST_IN_RANGE, .or_null = i % 3 == 1};
		c.least = (rql_int128)roll(i % 4 ? 1u << 19 : 1u << 20);
		c.greatest = c.least + (rql_int128)roll(i % 4 ? 1u << 19 : 500);
		if (i == 7)
			c = (struct rql_conjunct){.test = kind == 2 ? RQL_TEST_IS_NULL : RQL_TEST_IS_NOT_NULL};
		const struct rql_request request = {.snapshot = snapshot,
		                                    .index_count = 1,
		                                    .indexes = &of,
		                                    .wants = RQL_PORT_ROWS,
		                                    .conjunct_count = 1,
		                                    .conjuncts = &c};
		for (uint32_t r = 0; r < rows; r++)
			pass[r] = i == 7    ? null[r] == (kind == 2)
			          : null[r] ? c.or_null
			                    : c.least <= values[r] && values[r] <= c.greatest;
		check_rows(&request, &device, pass);
	}
	rql_store_snapshot_release(snapshot);
	rql_store_release(store);
	free(values);
	free(null);
	free(pass);
}

static void test_parts(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < (UNDER_TSAN ? 1 : 3); kind++)
		check_parts(kind);
	for (unsigned f = 0; f < RQL_ROWS_FORMS; f++) /* here, or in the tests before */
		assert_true(UNDER_TSAN || forms_given[f] > 0);
}

/* ---- forms of a block's rows ---- */
/* Any bits, also beyond the block's rows, come out of every form as they went in. */
static void test_forms(void **state)
{
	(void)state;
	skip_if_alone();
	unsigned seen[RQL_ROWS_FORMS] = {0}, none = 0;
	uint8_t *bytes = need(malloc(rql_rows_room_bytes(1000, 1)));
	struct rql_rows_room room = {.bytes = bytes};
	struct rql_rows_piece piece = {0};
	random_state = 41;
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t bits[RQL_ROWS_BLOCK_WORDS] = {0}, mask[RQL_ROWS_BLOCK_WORDS];
		const uint32_t rows = roll(3) ? RQL_STORE_BLOCK : 1 + (uint32_t)roll(RQL_STORE_BLOCK), kind = (uint32_t)roll(4);
		for (uint32_t k = 0, n = (uint32_t)roll(kind ? 40 : 3000); k < n; k++) {
			const uint32_t first = (uint32_t)roll(RQL_STORE_BLOCK);
			const uint32_t most = kind < 2 ? 1 : RQL_STORE_BLOCK - first, length = 1 + (uint32_t)roll(most);
			for (uint32_t r = first; r < first + length; r++)
				bits[r / 64] |= UINT64_C(1) << r % 64;
			k += kind == 3 ? n : 0;
		}
		struct rql_rows_part part;
		uint32_t count = 0;
		for (uint32_t r = 0; r < rows; r++)
			count += bits[r / 64] >> r % 64 & 1;
		assert_int_equal(rql_rows_pack(&room, &piece, bits, rows, &part), count > 0);
		none += !count;
		if (!count)
			continue;
		seen[part.form]++;
		const uint32_t given = rql_rows_unpack(&part, rows, mask);
		assert_true(given == count || (given == UINT32_MAX && part.form == RQL_ROWS_BITMAP));
		assert_true(rql_rows_part_bytes(&part) <= 512);
		for (uint32_t r = 0; r < RQL_STORE_BLOCK; r++)
			assert_int_equal(mask[r / 64] >> r % 64 & 1, r < rows ? bits[r / 64] >> r % 64 & 1 : 0);
	}
	assert_true(none && seen[RQL_ROWS_BITMAP] && seen[RQL_ROWS_LIST] && seen[RQL_ROWS_RANGES]);
	assert_true(atomic_load(&room.used) <= rql_rows_room_bytes(1000, 1));
	free(bytes);
}

/* ---- memory ---- */
/* Where there is no room for runs, rows are tested one by one; what was asked for ahead says so. */
static void test_budget(void **state)
{
	(void)state;
	int32_t *values = need(calloc(ROWS, sizeof(*values)));
	bool *pass = need(calloc(ROWS, sizeof(*pass)));
	struct rql_error err = {0};
	struct rql_budget budget;
	random_state = 5;
	atomic_init(&budget.limit, 0);
	atomic_init(&budget.used, 0);
	for (uint32_t r = 0; r < ROWS; r++)
		values[r] = (int32_t)roll(1000000);
	struct rql_type type = rql_type_simple(RQL_TYPE_INTEGER);
	struct rql_store_column_spec spec = {
		.name = "x", .type = type, .coding = RQL_STORE_VALUES, .encoding = RQL_STORE_AUTO};
	struct rql_store_spec store_spec = {.name = "columns of x", .column_count = 1, .columns = &spec, .budget = &budget};
	struct rql_store_builder *builder = NULL;
	struct rql_store *store = NULL;
	ok(rql_store_builder_new(&store_spec, &builder, &err), &err);
	struct rql_batch *batch = need(rql_batch_new(1, &type, ROWS));
	memcpy(batch->columns[0].data, values, ROWS * sizeof(*values));
	ok(rql_store_builder_add(builder, 0, batch, NULL, &err), &err);
	rql_batch_release(batch);
	ok(rql_store_builder_finish(builder, &store, &err), &err);
	const struct rql_store_snapshot *snapshot = rql_store_snapshot(store);
	struct rql_device device = cpu(RQL_SIMD_PORTABLE, 1);
	struct rql_index_of of = {.form = RQL_INDEX_SIEVE, .sieve = {.vectors = 100, .components = 1}};
	struct rql_conjunct c = {.test = RQL_TEST_IN_RANGE, .least = 1000, .greatest = 500000};
	const struct rql_request request = {.snapshot = snapshot,
	                                    .index_count = 1,
	                                    .indexes = &of,
	                                    .wants = RQL_PORT_ROWS,
	                                    .conjunct_count = 1,
	                                    .conjuncts = &c};
	uint64_t rows = 0, held = atomic_load(&budget.used);
	for (uint32_t r = 0; r < ROWS; r++)
		pass[r] = c.least <= values[r] && values[r] <= c.greatest;
	atomic_store(&budget.limit, held + 100000);
	assert_int_equal(rql_sieve_place(snapshot, &of, &device, NULL, &err), RQL_ERROR_LIMIT);
	assert_non_null(strstr(rql_error_message(&err), "sieve"));
	rql_error_clear(&err);
	assert_int_equal(atomic_load(&budget.used), held);
	check_rows(&request, &device, pass);
	assert_int_equal(rql_sieve_bytes(snapshot, &of, &device, &rows), 0);
	atomic_store(&budget.limit, 0);
	ok(rql_sieve_place(snapshot, &of, &device, NULL, &err), &err);
	assert_true(rql_sieve_bytes(snapshot, &of, &device, &rows) > ROWS * 100 / 8);
	assert_int_equal(rows, ROWS);
	assert_true(atomic_load(&budget.used) > held + ROWS * 100 / 8);
	check_rows(&request, &device, pass);
	rql_store_snapshot_release(snapshot);
	rql_store_release(store);
	assert_int_equal(atomic_load(&budget.used), 0); /* runs go with their segments */
	free(values);
	free(pass);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),   cmocka_unit_test(test_forms),  cmocka_unit_test(test_wide_keys),
		cmocka_unit_test(test_random),   cmocka_unit_test(test_reals),
		cmocka_unit_test(test_integers), cmocka_unit_test(test_budget), cmocka_unit_test(test_parts),
	};
	return cmocka_run_group_tests(tests, open_pools, close_pools);
}
