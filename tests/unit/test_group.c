/* Groups by partitions on a GPU against the scan on the CPU: random requests over all kinds of columns, and many groups,
 * estimates that are far off, keys of more than 2^32 values, reals, skew. */
#include "device/device_internal.h"
#include "device/draw.h"
#include "device/fault/fault.h"
#include "method/group/group.h"
#include "scan_aggregates.h"
#include "scan_answers.h"
#include "scan_device.h"

extern const struct rql_method rql_method_group_compute, rql_method_join_raster;

#define CASES (SLOW ? 3u : 5u)

static unsigned ran, refused;

/* Keys that are wide only, for same_answer. */
static void narrow_keys(struct rql_port *answer)
{
	uint64_t *wide = answer->wide_keys ? answer->wide_keys[0] : NULL;
	if (!wide)
		return;
	answer->keys[0] = need(calloc(answer->group_count + 1, sizeof(uint32_t)));
	for (uint64_t g = 0; g < answer->group_count; g++)
		answer->keys[0][g] = (uint32_t)(wide[g] ^ wide[g] >> 31);
}

static void free_keys(struct rql_port *answer)
{
	if (answer->wide_keys && answer->wide_keys[0])
		free(answer->keys[0]);
}

/* Runs a request on both and compares; false: the method does not take it, and says why. */
static bool compare_request(struct rql_request *request)
{
	const struct rql_method *method = &rql_method_group_compute;
	struct rql_device host = cpu(RQL_SIMD_AVX2, 0);
	struct rql_error err = {0};
	struct rql_scan *scan = NULL;
	struct rql_prepared *prepared = NULL;
	struct rql_scan_counts counts;
	struct rql_port want = {0}, have = {0};
	struct rql_cost cost;
	rql_status status = method->prepare(request, gpu, &prepared, &err);
	if (status != RQL_OK) {
		assert_int_equal(status, RQL_ERROR_UNSUPPORTED);
		assert_true(strlen(rql_error_message(&err)) > 10);
		rql_error_clear(&err);
		refused++;
		return false;
	}
	struct rql_arena *arena = need(rql_arena_new());
	ok(rql_scan_prepare(request, &host, &scan, &err), &err);
	status = rql_scan_run(scan, &host, NULL, arena, NULL, &want, &counts, &err);
	rql_error_clear(&err);
	narrow_keys(&want);
	method->price(prepared, gpu, &cost);
	assert_true(cost.run_ns > 0 && isfinite(cost.run_ns) && isfinite(cost.transfer_ns) && cost.device_bytes > 0);
	for (unsigned again = 0; again < 2; again++) {
		const struct rql_run how = {.flags = again ? RQL_RUN_TIMED : 0, .arena = arena};
		rql_status now = method->run(prepared, gpu, &how, &have, &err);
		if (now != status)
			fail_msg("%s, not %s: %s", rql_status_name(now), rql_status_name(status), rql_error_message(&err));
		rql_error_clear(&err);
		if (status != RQL_OK)
			continue;
		narrow_keys(&have);
		same_answer(&want, &have, request->group_count, request->agg_count);
		assert_int_equal(have.cells_covered, counts.rows_passed);
		assert_true(!again || !have.runs || have.pass_count > 0);
		free_keys(&have);
	}
	if (status == RQL_OK)
		free_keys(&want);
	assert_true(method->bytes(prepared) > 0);
	method->free(prepared);
	rql_scan_free(scan);
	rql_arena_free(arena);
	ran++;
	return true;
}

static void test_random(void **state)
{
	(void)state;
	static const uint32_t sizes[] = {0, 1, 2, 65, 1000, 4097, 9000, 20000};
	const char *from = getenv("RAYQL_TEST_SEED");
	uint64_t first = from ? strtoull(from, NULL, 10) : 1;
	for (uint64_t seed = first; seed < first + CASES; seed++) {
		random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		struct table t;
		table_make(&t, sizes[roll(8)]);
		for (unsigned i = 0; i < 4; i++) {
			struct query q;
			query_make(&q, &t);
			for (unsigned tries = 0; tries < 20 && !q.request.group_count; tries++) {
				query_free(&q);
				query_make(&q, &t);
			}
			(void)compare_request(&q.request);
			query_free(&q);
		}
		table_free(&t);
	}
	print_message("%u ran, %u refused\n", ran, refused);
	assert_true(from || ran > CASES);
}

/* ---- given columns ---- */

enum { K, V, R, GIVEN };
/* A table of a key, integers and doubles; every 11th value is NULL. */
static struct column three_columns(const int64_t *keys, uint32_t rows)
{
	struct rql_error err = {0};
	const struct rql_type types[GIVEN] = {rql_type_simple(RQL_TYPE_BIGINT), rql_type_simple(RQL_TYPE_BIGINT),
	                                      rql_type_simple(RQL_TYPE_DOUBLE)};
	struct rql_store_column_spec specs[GIVEN];
	for (uint32_t c = 0; c < GIVEN; c++)
		specs[c] = (struct rql_store_column_spec){
			.name = "x", .type = types[c], .coding = RQL_STORE_VALUES, .encoding = RQL_STORE_AUTO};
	struct rql_store_spec store = {.name = "columns of x", .column_count = GIVEN, .columns = specs};
	struct rql_store_builder *builder = NULL;
	struct column out;
	ok(rql_store_builder_new(&store, &builder, &err), &err);
	for (uint32_t at = 0; at < rows; at += 65536) {
		uint32_t n = rows - at < 65536 ? rows - at : 65536;
		struct rql_batch *batch = need(rql_batch_new(GIVEN, types, n));
		for (uint32_t r = 0; r < n; r++) {
			((int64_t *)batch->columns[K].data)[r] = keys[at + r];
			((int64_t *)batch->columns[V].data)[r] = (int64_t)(roll(UINT64_C(1) << 40)) - (INT64_C(1) << 39);
			((double *)batch->columns[R].data)[r] = roll(1000) ? (double)roll(4000) / 4 - 500 : NAN; /* sums are exact */
			if (roll(11) == 0)
				assert_true(rql_batch_set_null(batch, V, r) && rql_batch_set_null(batch, R, r));
		}
		ok(rql_store_builder_add(builder, 0, batch, NULL, &err), &err);
		rql_batch_release(batch);
	}
	ok(rql_store_builder_finish(builder, &out.store, &err), &err);
	out.snapshot = rql_store_snapshot(out.store);
	return out;
}

#define OF(kind_, column) {.kind = RQL_AGG_##kind_, .source = {.index = column}}
static void compare_keys(const int64_t *keys, uint32_t rows, struct rql_group_key key, struct rql_sample *sample)
{
	const struct rql_agg aggs[2][6] = {{OF(SUM, V), OF(SUM, R), OF(COUNT, V), OF(COUNT_STAR, 0), OF(SUM, R), OF(MIN, V)},
	                                   {OF(MIN, R), OF(MAX, R), OF(MAX, V), OF(COUNT, R), OF(MIN, K), OF(SUM, K)}};
	struct column c = three_columns(keys, rows);
	for (uint32_t i = 0; i < 2; i++) {
		struct rql_sample taken = sample ? *sample : (struct rql_sample){0};
		struct rql_request request = {.snapshot = c.snapshot,
		                              .group_count = 1,
		                              .groups = &key,
		                              .agg_count = 6,
		                              .aggs = aggs[i],
		                              .sample = &taken};
		assert_true(compare_request(&request));
	}
	column_free(&c);
}

/* Few and many groups, which need no, one and two passes; one key in half of the rows. */
static void test_groups(void **state)
{
	(void)state;
	enum { ROWS = 12000 };
	static const uint32_t groups[] = {1, 30, 900, 8000, ROWS};
	int64_t *keys = need(malloc(ROWS * sizeof(*keys)));
	random_state = 7;
	for (uint32_t i = 0; i < 10; i++) {
		const uint32_t n = groups[i / 2];
		for (uint32_t r = 0; r < ROWS; r++)
			keys[r] = i % 2 && roll(2) ? 5 : (int64_t)roll(n) * 3 - 7;
		compare_keys(keys, ROWS, (struct rql_group_key){.least = -7, .key_count = 3 * n + 12, .null_key = RQL_NONE}, NULL);
	}
	free(keys);
}

/* Far more rows and groups than the sample lets expect: the room for both grows. */
static void test_growth(void **state)
{
	(void)state;
	enum { ROWS = 12000 };
	struct rql_sample few = {.taken = true, .read_share = 1, .pass = 1e-4};
	int64_t *keys = need(malloc(ROWS * sizeof(*keys)));
	for (uint32_t r = 0; r < ROWS; r++)
		keys[r] = (int64_t)((uint64_t)r * 7919 % ROWS);
	compare_keys(keys, ROWS, (struct rql_group_key){.key_count = ROWS, .null_key = RQL_NONE}, &few);
	free(keys);
}

/* A key of more than 2^32 values. */
static void test_wide_key(void **state)
{
	(void)state;
	enum { ROWS = 20000 };
	int64_t *keys = need(malloc(ROWS * sizeof(*keys)));
	for (uint32_t r = 0; r < ROWS; r++)
		keys[r] = (int64_t)roll(5000) * 1000000007 - 77;
	compare_keys(keys, ROWS,
	             (struct rql_group_key){.least = -77, .wide_count = UINT64_C(5000) * 1000000007, .null_key = RQL_NONE}, NULL);
	free(keys);
}

/* COLUMNS that a scan leaves there, read by two rivals of which one is kept: both answer as a scan of the table does, and
 * the last to go frees what they read. */
static void test_shared(void **state)
{
	(void)state;
	enum { ROWS = 20000 };
	const struct rql_method *scan = &rql_method_scan_compute, *rivals[] = {scan, &rql_method_group_compute};
	const struct rql_agg aggs[] = {OF(SUM, V), OF(COUNT, R), OF(MAX, R)};
	struct rql_group_key key = {.key_count = 9000, .null_key = RQL_NONE};
	struct rql_device host = cpu(RQL_SIMD_AVX2, 0);
	struct rql_error err = {0};
	struct rql_prepared *prepared[2];
	struct rql_columns_source source = {.method = scan, .rows = ROWS};
	struct rql_output outputs[GIVEN];
	struct rql_form_column columns[GIVEN];
	int64_t *keys = need(malloc(ROWS * sizeof(*keys)));
	for (uint32_t r = 0; r < ROWS; r++)
		keys[r] = (int64_t)roll(9000);
	struct column c = three_columns(keys, ROWS);
	struct rql_request request = {
		.snapshot = c.snapshot, .group_count = 1, .groups = &key, .agg_count = 3, .aggs = aggs};
	for (uint32_t i = 0; i < GIVEN; i++) {
		outputs[i] = (struct rql_output){.source = {.index = i}, .type = c.snapshot->columns[i].type};
		assert_null(rql_request_describe(&request, &outputs[i].source, &columns[i]));
	}
	const struct rql_form_spec spec = {
		.rows = ROWS, .column_count = GIVEN, .columns = columns, .source_count = 1, .sources = &c.snapshot};
	ok(rql_form_new(&spec, &source.form, &err), &err);
	const struct rql_request rows = {.snapshot = c.snapshot,
	                                 .wants = RQL_PORT_COLUMNS,
	                                 .gives = source.form,
	                                 .output_count = GIVEN,
	                                 .outputs = outputs,
	                                 .limit = UINT64_MAX};
	ok(scan->prepare(&rows, gpu, &source.prepared, &err), &err);
	struct rql_arena *arena = need(rql_arena_new());
	struct rql_port want = {0}, have = {0};
	struct rql_scan *oracle;
	ok(rql_scan_prepare(&request, &host, &oracle, &err), &err);
	ok(rql_scan_run(oracle, &host, NULL, arena, NULL, &want, NULL, &err), &err);
	request.snapshot = source.form;
	ok(rql_columns_share(&source, &request.from, &err), &err);
	for (uint32_t i = 0; i < 2; i++) {
		rql_columns_hold(&request.from);
		ok(rivals[i]->prepare(&request, gpu, &prepared[i], &err), &err);
	}
	rql_columns_unshare(&request.from, false);
	for (uint32_t i = 0; i < 2; i++) {
		ok(rivals[i]->run(prepared[i], gpu, &(struct rql_run){.arena = arena}, &have, &err), &err);
		same_answer(&want, &have, 1, 3);
		rivals[i]->free(prepared[i]);
	}
	rql_scan_free(oracle);
	rql_arena_free(arena);
	rql_store_snapshot_release(source.form);
	column_free(&c);
	free(keys);
}

/* Planning is not troubled with the method where few groups are possible. */
static void test_offer(void **state)
{
	(void)state;
	const struct rql_method *method = &rql_method_group_compute;
	struct rql_group_key key = {.key_count = 100};
	struct rql_request request = {.group_count = 1, .groups = &key};
	const char *why = NULL;
	assert_int_equal(method->offer(&request, gpu, &why), RQL_OFFER_NO);
	assert_non_null(why);
	key.key_count = 1000000;
	assert_int_equal(method->offer(&request, gpu, &why), RQL_OFFER_FULL);
}

/* Totals by what is cheaper on the device, unless that is said; and what measuring it gives, and leaves after an error. */
static void test_totals(void **state)
{
	(void)state;
	struct rql_profile profile = gpu->profile;
	struct rql_group_size size = {.device = gpu, .rows = 1e6, .groups = 1000};
	if (!gpu->units[RQL_UNIT_RASTER])
		skip();
	rql_group_limbs_add(&size.limbs, RQL_GROUP_BY_FIELDS, 32, true, false);
	profile.point_ns = profile.blend_ns = 1;
	profile.atomic_ns = 0.1;
	rql_group_choose_totals(&profile, RQL_TOTALS_AUTO, true, &size);
	assert_false(size.way.limbs);
	rql_group_choose_totals(&profile, RQL_TOTALS_LIMBS, true, &size);
	assert_true(size.way.limbs && size.way.few);
	profile.atomic_ns = 1000;
	rql_group_choose_totals(&profile, RQL_TOTALS_AUTO, false, &size);
	assert_true(size.way.limbs && !size.way.few);
	rql_group_choose_totals(&profile, RQL_TOTALS_ATOMICS, true, &size);
	assert_false(size.way.limbs);
	size.groups = 10; /* too few for one pass */
	rql_group_choose_totals(&profile, RQL_TOTALS_AUTO, true, &size);
	assert_true(size.way.limbs && !size.way.few);
	rql_group_limbs_add(&size.limbs, RQL_GROUP_BY_REAL_FIELDS, 64, true, false);
	rql_group_choose_totals(&profile, RQL_TOTALS_AUTO, true, &size);
	assert_false(size.way.limbs);
	assert_non_null(strstr(rql_group_limbs_refusal(&size.limbs, gpu, RQL_TOTALS_LIMBS), "reals"));
}

static const struct rql_device_ops *real_ops;

static unsigned roles_but_blending(const struct rql_device *device, enum rql_format format)
{
	return real_ops->format_roles(device, format) & ~(unsigned)RQL_IMAGE_BLEND;
}

/* What points take is measured; where blending is missing, that alone stays as it was guessed, and totals are by atomics. */
static void test_calibrate(void **state)
{
	(void)state;
	const double guess = 1e5; /* greater than what is measured, which no test compares with a time */
	const struct rql_profile before = gpu->profile;
	struct rql_error err = {0};
	struct rql_group_size size = {.device = gpu, .rows = 1e6, .groups = 1000};
	if (!gpu->units[RQL_UNIT_RASTER])
		skip();
	rql_group_limbs_add(&size.limbs, RQL_GROUP_BY_FIELDS, 32, true, false);
	gpu->profile.point_ns = gpu->profile.atomic_ns = gpu->profile.blend_ns = guess;
	assert_int_equal(rql_fault_set(gpu, RQL_FAULT_ALLOCATION, 3, &err), RQL_OK);
	assert_int_equal(rql_group_raster_calibrate(gpu, false, &err), RQL_ERROR_LIMIT);
	rql_fault_remove(gpu);
	rql_error_clear(&err);
	assert_true(gpu->profile.point_ns == guess && gpu->profile.blend_ns == guess);

	assert_true(rql_device_blends_floats(gpu));
	assert_null(rql_group_limbs_refusal(&size.limbs, gpu, RQL_TOTALS_LIMBS));
	real_ops = gpu->ops;
	struct rql_device_ops ops = *real_ops;
	ops.format_roles = roles_but_blending;
	gpu->ops = &ops;
	assert_false(rql_device_blends_floats(gpu));
	assert_non_null(strstr(rql_group_limbs_refusal(&size.limbs, gpu, RQL_TOTALS_LIMBS), "blends no images of floats"));
	rql_status status = rql_group_raster_calibrate(gpu, false, &err);
	const struct rql_profile measured = gpu->profile;
	gpu->profile.blend_ns = 1e-3;
	gpu->profile.atomic_ns = 1e3;
	rql_group_choose_totals(&gpu->profile, RQL_TOTALS_AUTO, true, &size);
	gpu->ops = real_ops;
	ok(status, &err);
	assert_true(measured.point_ns < guess && measured.atomic_ns < guess && measured.blend_ns == guess);
	assert_false(size.way.limbs);
	rql_group_choose_totals(&gpu->profile, RQL_TOTALS_AUTO, true, &size);
	assert_true(size.way.limbs);

	ok(rql_group_raster_calibrate(gpu, false, &err), &err);
	assert_true(gpu->profile.blend_ns < guess);
	assert_true(gpu->profile.point_ns > 0 && gpu->profile.atomic_ns > 0 && gpu->profile.blend_ns > 0);
	gpu->profile = before;
}

/* Group-bys and joins that are drawn have one price of a point. */
static void test_points(void **state)
{
	(void)state;
	struct rql_profile profile = gpu->profile;
	const struct rql_pair_size pair = {.rows = {1e6, 1e5}, .out_rows = 1e6};
	const struct rql_group_size size = {.device = gpu, .rows = 1e6, .groups = 1000};
	const double join = rql_method_join_raster.pair_ns(&profile, &pair), group = rql_group_raster_ns(&profile, &size);
	profile.point_ns += 100;
	assert_true(rql_method_join_raster.pair_ns(&profile, &pair) - join >= 100 * 1.1e6);
	assert_true(rql_group_raster_ns(&profile, &size) - group >= 100 * 1e6);
}

int main(void)
{
	int skip = vulkan_skip_without(RQL_UNIT_COMPUTE);
	if (skip)
		return skip;
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_offer), cmocka_unit_test(test_groups),
	                                   cmocka_unit_test(test_growth), cmocka_unit_test(test_wide_key),
	                                   cmocka_unit_test(test_shared), cmocka_unit_test(test_random), cmocka_unit_test(test_totals),
	                                   cmocka_unit_test(test_calibrate), cmocka_unit_test(test_points)};
	return cmocka_run_group_tests(tests, open_device, close_device);
}
