/* Vectors of eight 32-bit or four 64-bit values, for processors with AVX2. */
#if defined(__x86_64__)
#include "method/scan/cpu/scan_simd.h"

#include <immintrin.h>

#define TARGET __attribute__((target("avx2,popcnt,bmi,bmi2")))
#define INLINE static inline __attribute__((always_inline)) TARGET

/* A word's bits from `count` on are ones: they leave the mask as it is. */
INLINE uint64_t beyond(uint32_t count)
{
	return count < 64 ? ~UINT64_C(0) << count : 0;
}

/* Unsigned x <= y in every lane is max(x, y) == y. */
TARGET static void range32_avx2(const uint32_t *values, uint32_t n, uint32_t least, uint32_t span, uint64_t *mask)
{
	__m256i low = _mm256_set1_epi32((int)least), width = _mm256_set1_epi32((int)span);
	for (uint32_t first = 0; first < n; first += 64) {
		uint64_t pass = 0;
		if (!mask[first / 64])
			continue;
		for (uint32_t i = 0; i < 64; i += 8) { /* behind n: the slack */
			__m256i v = _mm256_sub_epi32(_mm256_loadu_si256((const void *)(values + first + i)), low);
			__m256i in = _mm256_cmpeq_epi32(_mm256_max_epu32(v, width), width);
			pass |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(in)) << i;
		}
		mask[first / 64] &= pass | beyond(n - first);
	}
}

TARGET static void range64_avx2(const int64_t *values, uint32_t n, int64_t least, uint64_t span, uint64_t *mask)
{
	const __m256i flip = _mm256_set1_epi64x(INT64_MIN); /* turns unsigned order into signed */
	__m256i low = _mm256_set1_epi64x(least), width = _mm256_xor_si256(_mm256_set1_epi64x((int64_t)span), flip);
	for (uint32_t first = 0; first < n; first += 64) {
		uint64_t out = 0;
		if (!mask[first / 64])
			continue;
		for (uint32_t i = 0; i < 64; i += 4) {
			__m256i v = _mm256_sub_epi64(_mm256_loadu_si256((const void *)(values + first + i)), low);
			__m256i above = _mm256_cmpgt_epi64(_mm256_xor_si256(v, flip), width);
			out |= (uint64_t)(uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(above)) << i;
		}
		mask[first / 64] &= ~out | beyond(n - first);
	}
}

TARGET static void bits32_avx2(const uint32_t *values, uint32_t n, uint32_t add, const uint32_t *bits, uint32_t limit,
                               uint64_t *mask)
{
	__m256i plus = _mm256_set1_epi32((int)add), most = _mm256_set1_epi32((int)(limit - 1));
	if (limit == 0) {
		for (uint32_t first = 0; first < n; first += 64)
			mask[first / 64] &= beyond(n - first);
		return;
	}
	for (uint32_t first = 0; first < n; first += 64) {
		uint64_t pass = 0;
		if (!mask[first / 64])
			continue;
		for (uint32_t i = 0; i < 64; i += 8) {
			__m256i v = _mm256_add_epi32(_mm256_loadu_si256((const void *)(values + first + i)), plus);
			__m256i in = _mm256_cmpeq_epi32(_mm256_max_epu32(v, most), most);
			__m256i word =
				_mm256_mask_i32gather_epi32(_mm256_setzero_si256(), (const int *)bits, _mm256_srli_epi32(v, 5), in, 4);
			/* The wanted bit to the sign's place, which movemask reads. */
			__m256i shift = _mm256_andnot_si256(v, _mm256_set1_epi32(31));
			__m256i sign = _mm256_sllv_epi32(word, shift);
			pass |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(sign)) << i;
		}
		mask[first / 64] &= pass | beyond(n - first);
	}
}

TARGET static void bits64_avx2(const int64_t *values, uint32_t n, int64_t least, const uint32_t *bits, uint32_t span,
                               uint64_t *mask)
{
	const __m256i zero = _mm256_setzero_si256();
	__m256i low = _mm256_set1_epi64x(least), bound = _mm256_set1_epi64x((int64_t)span);
	for (uint32_t first = 0; first < n; first += 64) {
		uint64_t pass = 0;
		if (!mask[first / 64])
			continue;
		for (uint32_t i = 0; i < 64; i += 4) {
			__m256i v = _mm256_sub_epi64(_mm256_loadu_si256((const void *)(values + first + i)), low);
			/* 0 <= v < bound: span is far below 2^63. */
			__m256i in = _mm256_andnot_si256(_mm256_cmpgt_epi64(zero, v), _mm256_cmpgt_epi64(bound, v));
			/* 32-bit words, of which the wanted one is the lower half of each lane. */
			__m256i at = _mm256_and_si256(_mm256_srli_epi64(v, 5), in);
			__m256i word = _mm256_mask_i64gather_epi64(zero, (const void *)bits, at, in, 4);
			__m256i shift = _mm256_sub_epi64(_mm256_set1_epi64x(63), _mm256_and_si256(v, _mm256_set1_epi64x(31)));
			__m256i sign = _mm256_sllv_epi64(word, shift);
			pass |= (uint64_t)(uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(sign)) << i;
		}
		mask[first / 64] &= pass | beyond(n - first);
	}
}

/* The bits that belong to a word are its popcount next ones. bits has a word more than it needs. */
TARGET static void deposit_avx2(uint64_t *mask, uint32_t words, const uint64_t *bits)
{
	uint32_t at = 0;
	for (uint32_t w = 0; w < words; w++) {
		uint32_t shift = at % 64;
		uint64_t next = bits[at / 64] >> shift;
		if (shift)
			next |= bits[at / 64 + 1] << (64 - shift);
		at += (uint32_t)_mm_popcnt_u64(mask[w]);
		mask[w] = _pdep_u64(next, mask[w]);
	}
}

TARGET static uint64_t sum64_avx2(const int64_t *values, uint32_t n)
{
	__m256i sum = _mm256_setzero_si256(), more = sum;
	uint32_t i = 0;
	for (; i + 8 <= n; i += 8) {
		sum = _mm256_add_epi64(sum, _mm256_loadu_si256((const void *)(values + i)));
		more = _mm256_add_epi64(more, _mm256_loadu_si256((const void *)(values + i + 4)));
	}
	uint64_t part[4], total = 0;
	_mm256_storeu_si256((void *)part, _mm256_add_epi64(sum, more));
	for (; i < n; i++)
		total += (uint64_t)values[i];
	return total + part[0] + part[1] + part[2] + part[3];
}

/* One instruction a word here; without the target it is a call of the compiler's library. */
TARGET static uint32_t count_avx2(const uint64_t *mask, uint32_t words)
{
	uint64_t count = 0;
	for (uint32_t w = 0; w < words; w++)
		count += (uint64_t)_mm_popcnt_u64(mask[w]);
	return (uint32_t)count;
}

TARGET static uint32_t select_avx2(const uint64_t *mask, uint32_t words, uint32_t *rows)
{
	uint32_t count = 0;
	for (uint32_t w = 0; w < words; w++)
		for (uint64_t word = mask[w]; word; word &= word - 1)
			rows[count++] = w * 64 + (uint32_t)__builtin_ctzll(word);
	return count;
}

/* Four fields: 64-bit words gathered at the fields' first bytes. */
INLINE __m256i fetch4(const uint8_t *data, __m256i bits, __m256i field, const uint32_t *rows)
{
	__m256i row = _mm256_cvtepu32_epi64(_mm_loadu_si128((const void *)rows));
	__m256i bit = _mm256_mul_epu32(row, bits);
	__m256i word = _mm256_i64gather_epi64((const void *)data, _mm256_srli_epi64(bit, 3), 1);
	return _mm256_and_si256(_mm256_srlv_epi64(word, _mm256_and_si256(bit, _mm256_set1_epi64x(7))), field);
}

TARGET static void fetch64_avx2(const uint8_t *data, uint32_t bits, uint64_t base, const uint32_t *rows, uint32_t n,
                                int64_t *out)
{
	__m256i b = _mm256_set1_epi64x(bits), field = _mm256_set1_epi64x((int64_t)((UINT64_C(1) << bits) - 1));
	uint32_t i = 0;
	for (; i + 4 <= n; i += 4)
		_mm256_storeu_si256((void *)(out + i),
		                    _mm256_add_epi64(fetch4(data, b, field, rows + i), _mm256_set1_epi64x((int64_t)base)));
	rql_scan_kernels_portable.fetch64(data, bits, base, rows + i, n - i, out + i);
}

TARGET static void fetch32_avx2(const uint8_t *data, uint32_t bits, uint64_t base, const uint32_t *rows, uint32_t n,
                                uint32_t *out)
{
	__m256i b = _mm256_set1_epi64x(bits), field = _mm256_set1_epi64x((int64_t)((UINT64_C(1) << bits) - 1));
	const __m256i lower = _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0);
	uint32_t i = 0;
	for (; i + 4 <= n; i += 4) {
		__m256i v = _mm256_add_epi64(fetch4(data, b, field, rows + i), _mm256_set1_epi64x((int64_t)base));
		_mm_storeu_si128((void *)(out + i), _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(v, lower)));
	}
	rql_scan_kernels_portable.fetch32(data, bits, base, rows + i, n - i, out + i);
}

const struct rql_scan_kernels rql_scan_kernels_avx2 = {
	.name = "avx2",
	.range32 = range32_avx2,
	.range64 = range64_avx2,
	.bits32 = bits32_avx2,
	.bits64 = bits64_avx2,
	.deposit = deposit_avx2,
	.select = select_avx2,
	.fetch64 = fetch64_avx2,
	.fetch32 = fetch32_avx2,
	.count = count_avx2,
	.sum64 = sum64_avx2,
};
#endif
