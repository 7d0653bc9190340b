/* The primitives on the CPU: what src/selftest does not see: words between threads at chunk borders, edges of the
 * types, and that wrong arguments and spans are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "primitive/primitive.h"

static struct rql_devices *devices;
static struct rql_device *cpu;

static int open_cpu(void **state)
{
	(void)state;
	if (rql_devices_open(4, &devices, NULL) != RQL_OK)
		return -1;
	cpu = &devices->device[0];
	return 0;
}

static int close_cpu(void **state)
{
	(void)state;
	rql_devices_close(devices);
	return 0;
}

static void *array(uint64_t count, size_t size)
{
	void *memory = calloc(count + 1, size);
	assert_non_null(memory);
	return memory;
}

#define LARGE UINT64_C(1000003) /* several chunks on four threads, none of them full */

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

static void test_scan_wraps(void **state)
{
	(void)state;
	uint32_t *in = array(LARGE, 4);
	uint64_t *wide = array(LARGE, 8), total;
	for (uint64_t i = 0; i < LARGE; i++)
		in[i] = UINT32_MAX;
	assert_int_equal(rql_cpu_prefix_sum(cpu, RQL_PREFIX_U32_U64, true, in, wide, LARGE, &total, NULL), RQL_OK);
	for (uint64_t i = 0; i < LARGE; i++)
		assert_int_equal(wide[i], (i + 1) * UINT32_MAX);
	assert_int_equal(total, LARGE * UINT32_MAX);
	assert_int_equal(rql_cpu_prefix_sum(cpu, RQL_PREFIX_U32_U32, false, in, in, LARGE, &total, NULL), RQL_OK);
	for (uint64_t i = 0; i < LARGE; i++)
		assert_int_equal(in[i], (uint32_t)(i * UINT32_MAX));
	assert_int_equal(total, (uint32_t)(LARGE * UINT32_MAX));
	free(in);
	free(wide);
}

/* Nothing behind the end of a bitmap counts, and nothing is written behind what was found. */
static void test_compact_ends(void **state)
{
	(void)state;
	uint64_t *bits = array(LARGE / 64 + 2, 8), found;
	uint32_t *out = array(LARGE + 1, 4);
	memset(bits, 0xff, (LARGE / 64 + 2) * 8);
	for (uint64_t count = LARGE - 70; count <= LARGE; count++) {
		out[count] = 77;
		assert_int_equal(rql_cpu_compact(cpu, RQL_COMPACT_BITS, bits, count, 32, out, &found, NULL), RQL_OK);
		assert_int_equal(found, count);
		assert_int_equal(out[count - 1], count - 1);
		assert_int_equal(out[count], 77);
	}
	free(bits);
	free(out);
}

static void test_sum_128(void **state)
{
	(void)state;
	uint64_t *in = array(LARGE, 8), out[2];
	for (uint64_t i = 0; i < LARGE; i++)
		in[i] = (uint64_t)INT64_MIN;
	assert_int_equal(rql_cpu_reduce(cpu, RQL_REDUCE_SUM128, RQL_WORD_I64, in, LARGE, out, NULL), RQL_OK);
	/* -LARGE * 2^63 */
	assert_int_equal(out[0], LARGE << 63);
	assert_int_equal(out[1], ~(LARGE >> 1));
	assert_int_equal(rql_cpu_reduce(cpu, RQL_REDUCE_SUM128, RQL_WORD_U64, in, LARGE, out, NULL), RQL_OK);
	assert_int_equal(out[0], LARGE << 63);
	assert_int_equal(out[1], LARGE >> 1);
	assert_int_equal(rql_cpu_reduce(cpu, RQL_REDUCE_MAX, RQL_WORD_I64, in, 0, out, NULL), RQL_OK);
	assert_true(out[0] == (uint64_t)INT64_MIN);
	free(in);
}

static void test_misuse(void **state)
{
	(void)state;
	struct rql_error err = {0};
	uint64_t words[4] = {0}, found;
	assert_int_equal(rql_cpu_compact(cpu, RQL_COMPACT_BITS, words, 1, 16, words, &found, &err), RQL_ERROR_INTERNAL);
	assert_int_equal(rql_cpu_reduce(cpu, RQL_REDUCE_SUM64, RQL_WORD_F64, words, 1, words, &err), RQL_ERROR_INTERNAL);
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
		cmocka_unit_test(test_keys_keep_order),  cmocka_unit_test(test_scan_wraps),
		cmocka_unit_test(test_compact_ends),     cmocka_unit_test(test_sum_128),
		cmocka_unit_test(test_misuse),           cmocka_unit_test(test_temp_bytes),
	};
	return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
