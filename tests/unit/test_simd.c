/* The packed-value kernels of every instruction set against naive loops: every width, every alignment, and ends that
 * lie RQL_PACKED_SLACK before the end of an allocation, where ASan sees a read too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "method/cube/cube_simd.h"

#define VALUES 331u /* five blocks and a part */

static uint64_t random_state = 88172645463325252;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

struct sample {
	struct rql_packed packed;
	uint64_t value[VALUES];
	uint64_t cumulative[VALUES / RQL_CUBE_BLOCK + 1];
	double real[VALUES];
};

static void sample_make(struct sample *s, unsigned bits, uint64_t count, bool extreme)
{
	uint64_t bytes = (count * bits + 7) / 8;
	s->packed = (struct rql_packed){.count = count, .bits = bits, .base = (rql_int128)(int64_t)next_random() >> 20};
	s->packed.data = calloc(1, bytes + RQL_PACKED_SLACK);
	assert_non_null(s->packed.data);
	uint64_t sum = 0;
	for (uint64_t i = 0; i < count; i++) {
		s->value[i] = extreme ? rql_bit_mask(bits) : next_random() & rql_bit_mask(bits);
		if (bits == 0)
			s->value[i] = 0;
		for (unsigned b = 0; b < bits; b++)
			if (s->value[i] >> b & 1)
				s->packed.data[(i * bits + b) / 8] |= (uint8_t)(1u << ((i * bits + b) % 8));
		if (i % RQL_CUBE_BLOCK == 0)
			s->cumulative[i / RQL_CUBE_BLOCK] = sum;
		sum += s->value[i] + (uint64_t)s->packed.base;
		s->real[i] = (double)(int64_t)(next_random() % 2000) - 1000; /* integers: every order of adding is exact */
	}
	if (count % RQL_CUBE_BLOCK == 0)
		s->cumulative[count / RQL_CUBE_BLOCK] = sum;
	/* What follows the values belongs to nobody: it must not matter. */
	uint64_t tail = count * bits % 8;
	if (tail && bytes)
		s->packed.data[bytes - 1] |= (uint8_t)(0xff << tail);
	memset(s->packed.data + bytes, 0xa5, RQL_PACKED_SLACK);
}

static uint64_t naive_sum(const struct sample *s, uint64_t begin, uint64_t end)
{
	uint64_t sum = 0;
	for (uint64_t i = begin; i < end; i++)
		sum += s->value[i];
	return sum;
}

static void check_range(const struct rql_cube_kernels *k, const struct sample *s, uint64_t begin, uint64_t end)
{
	const struct rql_packed *p = &s->packed;
	assert_int_equal(k->sum(p, begin, end), naive_sum(s, begin, end));

	struct rql_cube_span span = {begin, end};
	uint64_t out = 0;
	k->span_sums(p, s->cumulative, &span, 1, &out);
	assert_int_equal(out, naive_sum(s, begin, end) + (uint64_t)p->base * (end - begin));

	uint64_t least = UINT64_MAX, greatest = 0, want_least = UINT64_MAX, want_greatest = 0;
	for (uint64_t i = begin; i < end; i++) {
		want_least = s->value[i] < want_least ? s->value[i] : want_least;
		want_greatest = s->value[i] > want_greatest ? s->value[i] : want_greatest;
	}
	k->extremes(p, begin, end, &least, &greatest);
	assert_int_equal(least, want_least);
	assert_int_equal(greatest, want_greatest);

	/* On the heap and exactly as large as promised. */
	size_t n = end - begin;
	uint64_t *wide = malloc(RQL_CUBE_UNPACK_ROOM(n) * sizeof(*wide));
	uint32_t *narrow = malloc(RQL_CUBE_UNPACK_ROOM(n) * sizeof(*narrow));
	assert_true(wide && narrow);
	k->unpack64(p, begin, n, wide);
	if (p->bits <= 32)
		k->unpack32(p, begin, n, narrow);
	for (uint64_t i = 0; i < n; i++) {
		assert_int_equal(wide[begin % RQL_CUBE_GROUP + i], s->value[begin + i]);
		if (p->bits <= 32)
			assert_int_equal(narrow[begin % RQL_CUBE_GROUP + i], s->value[begin + i]);
	}
	free(wide);
	free(narrow);

	double real = 0;
	for (uint64_t i = begin; i < end; i++)
		real += s->real[i];
	assert_true(k->sum_real(s->real, begin, end) == real);
}

static void check_kernels(const struct rql_cube_kernels *k)
{
	static const uint64_t counts[] = {1, 7, 8, 15, 16, 17, 63, 64, 65, 128, 200, 320, VALUES};
	for (unsigned bits = 0; bits <= 64; bits++) {
		if (bits > 57 && bits < 64)
			continue;
		for (unsigned c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
			struct sample s;
			sample_make(&s, bits, counts[c], c % 5 == 4);
			for (unsigned t = 0; t < 150; t++) {
				uint64_t begin = next_random() % (counts[c] + 1);
				uint64_t end = begin + next_random() % (counts[c] - begin + 1);
				check_range(k, &s, begin, t % 4 ? end : counts[c]);
			}
			check_range(k, &s, 0, counts[c]);
			free(s.packed.data);
		}
	}
}

static void test_portable(void **state)
{
	(void)state;
	check_kernels(&rql_cube_kernels_portable);
}

static void test_avx2(void **state)
{
	(void)state;
	const struct rql_cube_kernels *k = rql_cube_kernels_for(RQL_SIMD_AVX2);
	if (k == rql_cube_kernels_for(RQL_SIMD_PORTABLE))
		skip();
	check_kernels(k);
}

static void test_avx512(void **state)
{
	(void)state;
	const struct rql_cube_kernels *k = rql_cube_kernels_for(RQL_SIMD_AVX512);
	if (k == rql_cube_kernels_for(RQL_SIMD_AVX2))
		skip();
	check_kernels(k);
}

static void test_wide_value(void **state)
{
	(void)state;
	struct rql_packed p = {.count = 2, .bits = 128, .base = -5};
	p.data = calloc(1, 32 + RQL_PACKED_SLACK);
	assert_non_null(p.data);
	rql_int128 value = (rql_int128)-7 * ((rql_int128)1 << 90) + 3;
	memcpy(p.data + 16, &value, sizeof(value));
	assert_true(rql_packed_get(&p, 0) == -5);
	assert_true(rql_packed_get(&p, 1) == value - 5);
	free(p.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_portable),
		cmocka_unit_test(test_avx2),
		cmocka_unit_test(test_avx512),
		cmocka_unit_test(test_wide_value),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
