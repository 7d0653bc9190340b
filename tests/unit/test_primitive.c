/* Of the primitives what src/selftest does not see: the order of keys, and that wrong arguments and spans are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "primitive/primitive.h"

static void test_keys_keep_order(void **state)
{
	(void)state;
	static const double reals[] = {-INFINITY, -1e300, -1.5, -1e-310, -0.0, 0.0, 1e-310, 1.5, 1e300, INFINITY, NAN};
	static const int64_t integers[] = {INT64_MIN, INT64_MIN + 1, -2, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
	for (unsigned i = 1; i < sizeof(reals) / sizeof(reals[0]); i++)
		assert_true(rql_key_of_f64(reals[i - 1]) < rql_key_of_f64(reals[i]));
	for (unsigned i = 0; i + 1 < sizeof(reals) / sizeof(reals[0]); i++)
		assert_true(rql_f64_of_key(rql_key_of_f64(reals[i])) == reals[i]);
	assert_true(isnan(rql_f64_of_key(rql_key_of_f64(NAN))));
	assert_true(rql_key_of_f64(-NAN) == rql_key_of_f64(NAN));
	for (unsigned i = 1; i < sizeof(integers) / sizeof(integers[0]); i++)
		assert_true(rql_key_of_i64(integers[i - 1]) < rql_key_of_i64(integers[i]));
	for (unsigned i = 0; i < sizeof(integers) / sizeof(integers[0]); i++)
		assert_true(rql_i64_of_key(rql_key_of_i64(integers[i])) == integers[i]);
}

static void test_misuse(void **state)
{
	(void)state;
	struct rql_error err = {0};
	/* Recording refuses before it needs a device. */
	struct rql_buffer small = {.bytes = 60};
	struct rql_prefix_sum scan = {.kind = RQL_PREFIX_U32_U64, .count = 8, .in = {&small, 0}, .out = {&small, 0}};
	assert_int_equal(rql_record_prefix_sum(NULL, &scan, &err), RQL_ERROR_INTERNAL);
	assert_non_null(strstr(rql_error_message(&err), "output of a prefix sum"));
	scan = (struct rql_prefix_sum){.kind = RQL_PREFIX_U64_U64, .count = 1, .in = {&small, 4}, .out = {&small, 0}};
	assert_int_equal(rql_record_prefix_sum(NULL, &scan, &err), RQL_ERROR_INTERNAL);
	assert_non_null(strstr(rql_error_message(&err), "multiple"));
	rql_error_clear(&err);
}

/* Temporary memory grows with what is asked for, and small requests need none. */
static void test_temp_bytes(void **state)
{
	(void)state;
	struct rql_prefix_sum scan = {.kind = RQL_PREFIX_U32_U32, .count = 100};
	assert_int_equal(rql_prefix_temp_bytes(&scan), 0);
	scan.count = UINT64_C(1) << 36;
	assert_in_range(rql_prefix_temp_bytes(&scan), 8, 1 << 20);
	struct rql_device device = {.limits = {.group_size = 1024, .shared_bytes = 49152, .subgroup_size = 32}};
	struct rql_buffer buffer = {.device = &device};
	struct rql_sort sort = {.key_bits = 64, .value_bits = 32, .high_bit = 64, .count = UINT64_C(1) << 33};
	sort.keys_in.buffer = &buffer;
	uint64_t items = sort.count * 12, bytes = rql_sort_temp_bytes(&sort);
	assert_true(bytes > items && bytes < items + (UINT64_C(64) << 20));
	sort.count = 0;
	assert_int_equal(rql_sort_temp_bytes(&sort), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_keep_order),
		cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_temp_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
