/* Vectors of sixteen 32-bit or eight 64-bit values, for processors with AVX-512 (F, BW, DQ, VL). */
#if defined(__x86_64__)
#include "method/scan/cpu/scan_simd.h"

#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,popcnt,bmi,bmi2")))
#define INLINE static inline __attribute__((always_inline)) TARGET

INLINE uint64_t beyond(uint32_t count)
{
	return count < 64 ? ~UINT64_C(0) << count : 0;
}

TARGET static void range32_avx512(const uint32_t *values, uint32_t n, uint32_t least, uint32_t span, uint64_t *mask)
{
	__m512i low = _mm512_set1_epi32((int)least), width = _mm512_set1_epi32((int)span);
	for (uint32_t first = 0; first < n; first += 64) {
		uint64_t pass = 0;
		if (!mask[first / 64])
			continue;
		for (uint32_t i = 0; i < 64; i += 16) { /* behind n: the slack */
			__m512i v = _mm512_sub_epi32(_mm512_loadu_si512(values + first + i), low);
			pass |= (uint64_t)_mm512_cmple_epu32_mask(v, width) << i;
		}
		mask[first / 64] &= pass | beyond(n - first);
	}
}

TARGET static void range64_avx512(const int64_t *values, uint32_t n, int64_t least, uint64_t span, uint64_t *mask)
{
	__m512i low = _mm512_set1_epi64(least), width = _mm512_set1_epi64((int64_t)span);
	for (uint32_t first = 0; first < n; first += 64) {
		uint64_t pass = 0;
		if (!mask[first / 64])
			continue;
		for (uint32_t i = 0; i < 64; i += 8) {
			__m512i v = _mm512_sub_epi64(_mm512_loadu_si512(values + first + i), low);
			pass |= (uint64_t)_mm512_cmple_epu64_mask(v, width) << i;
		}
		mask[first / 64] &= pass | beyond(n - first);
	}
}

/* A set of at most 32 * 32 codes lies in two registers: no memory is touched but the codes. */
TARGET static void bits32_in_registers(const uint32_t *values, uint32_t n, uint32_t add, const uint32_t *bits,
                                       uint32_t limit, uint64_t *mask)
{
	uint32_t words = (limit + 31) / 32;
	__mmask32 have = words >= 32 ? ~(__mmask32)0 : ((__mmask32)1 << words) - 1;
	__m512i lower = _mm512_maskz_loadu_epi32((__mmask16)have, bits);
	__m512i upper = _mm512_maskz_loadu_epi32((__mmask16)(have >> 16), bits + 16);
	__m512i plus = _mm512_set1_epi32((int)add), bound = _mm512_set1_epi32((int)limit), one = _mm512_set1_epi32(1);
	for (uint32_t first = 0; first < n; first += 64) {
		uint64_t pass = 0;
		if (!mask[first / 64])
			continue;
		for (uint32_t i = 0; i < 64; i += 16) {
			__m512i v = _mm512_add_epi32(_mm512_loadu_si512(values + first + i), plus);
			__m512i word = _mm512_permutex2var_epi32(lower, _mm512_srli_epi32(v, 5), upper);
			__mmask16 in = _mm512_cmplt_epu32_mask(v, bound);
			__m512i bit = _mm512_sllv_epi32(one, _mm512_and_si512(v, _mm512_set1_epi32(31)));
			pass |= (uint64_t)_mm512_mask_test_epi32_mask(in, word, bit) << i;
		}
		mask[first / 64] &= pass | beyond(n - first);
	}
}

TARGET static void bits32_avx512(const uint32_t *values, uint32_t n, uint32_t add, const uint32_t *bits, uint32_t limit,
                                 uint64_t *mask)
{
	if (limit <= 1024) {
		bits32_in_registers(values, n, add, bits, limit, mask);
		return;
	}
	__m512i plus = _mm512_set1_epi32((int)add), bound = _mm512_set1_epi32((int)limit), one = _mm512_set1_epi32(1);
	for (uint32_t first = 0; first < n; first += 64) {
		uint64_t pass = 0;
		if (!mask[first / 64])
			continue;
		for (uint32_t i = 0; i < 64; i += 16) {
			__m512i v = _mm512_add_epi32(_mm512_loadu_si512(values + first + i), plus);
			__mmask16 in = _mm512_cmplt_epu32_mask(v, bound) & (__mmask16)(mask[first / 64] >> i);
			__m512i word = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), in, _mm512_srli_epi32(v, 5), bits, 4);
			__m512i bit = _mm512_sllv_epi32(one, _mm512_and_si512(v, _mm512_set1_epi32(31)));
			pass |= (uint64_t)_mm512_mask_test_epi32_mask(in, word, bit) << i;
		}
		mask[first / 64] &= pass | beyond(n - first);
	}
}

TARGET static void bits64_avx512(const int64_t *values, uint32_t n, int64_t least, const uint32_t *bits, uint32_t span,
                                 uint64_t *mask)
{
	__m512i low = _mm512_set1_epi64(least), bound = _mm512_set1_epi64((int64_t)span);
	__m256i one = _mm256_set1_epi32(1);
	for (uint32_t first = 0; first < n; first += 64) {
		uint64_t pass = 0;
		if (!mask[first / 64])
			continue;
		for (uint32_t i = 0; i < 64; i += 8) {
			__m512i v = _mm512_sub_epi64(_mm512_loadu_si512(values + first + i), low);
			__mmask8 in = _mm512_cmplt_epu64_mask(v, bound) & (__mmask8)(mask[first / 64] >> i);
			__m256i at = _mm512_cvtepi64_epi32(v); /* below 2^31 where it counts */
			__m256i word = _mm256_mmask_i32gather_epi32(_mm256_setzero_si256(), in, _mm256_srli_epi32(at, 5), bits, 4);
			__m256i bit = _mm256_sllv_epi32(one, _mm256_and_si256(at, _mm256_set1_epi32(31)));
			pass |= (uint64_t)_mm256_mask_test_epi32_mask(in, word, bit) << i;
		}
		mask[first / 64] &= pass | beyond(n - first);
	}
}

/* The bits that belong to a word are its popcount next ones. bits has a word more than it needs. */
TARGET static void deposit_avx512(uint64_t *mask, uint32_t words, const uint64_t *bits)
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

TARGET static uint64_t sum64_avx512(const int64_t *values, uint32_t n)
{
	__m512i sum = _mm512_setzero_si512(), more = sum;
	uint32_t i = 0;
	for (; i + 16 <= n; i += 16) {
		sum = _mm512_add_epi64(sum, _mm512_loadu_si512(values + i));
		more = _mm512_add_epi64(more, _mm512_loadu_si512(values + i + 8));
	}
	uint64_t part[8], total = 0;
	_mm512_storeu_si512(part, _mm512_add_epi64(sum, more));
	for (; i < n; i++)
		total += (uint64_t)values[i];
	for (unsigned k = 0; k < 8; k++)
		total += part[k];
	return total;
}

TARGET static uint32_t count_avx512(const uint64_t *mask, uint32_t words)
{
	uint64_t count = 0;
	for (uint32_t w = 0; w < words; w++)
		count += (uint64_t)_mm_popcnt_u64(mask[w]);
	return (uint32_t)count;
}

TARGET static uint32_t select_avx512(const uint64_t *mask, uint32_t words, uint32_t *rows)
{
	const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	uint32_t count = 0;
	for (uint32_t w = 0; w < words; w++) {
		if (!mask[w])
			continue;
		for (uint32_t q = 0; q < 64; q += 16) {
			__mmask16 bits = (__mmask16)(mask[w] >> q);
			/* Compressed in a register and stored whole: compressing stores are microcoded on Zen 4. */
			__m512i row = _mm512_add_epi32(lanes, _mm512_set1_epi32((int)(w * 64 + q)));
			_mm512_storeu_si512(rows + count, _mm512_maskz_compress_epi32(bits, row));
			count += (uint32_t)_mm_popcnt_u32(bits);
		}
	}
	return count;
}

/* Eight fields: 64-bit words gathered at the fields' first bytes. */
INLINE __m512i fetch8(const uint8_t *data, __m256i bits, __m512i field, const uint32_t *rows)
{
	__m256i bit = _mm256_mullo_epi32(_mm256_loadu_si256((const void *)rows), bits);
	__m512i word = _mm512_i32gather_epi64(_mm256_srli_epi32(bit, 3), data, 1);
	__m256i shift = _mm256_and_si256(bit, _mm256_set1_epi32(7));
	return _mm512_and_si512(_mm512_srlv_epi64(word, _mm512_cvtepu32_epi64(shift)), field);
}

TARGET static void fetch64_avx512(const uint8_t *data, uint32_t bits, uint64_t base, const uint32_t *rows, uint32_t n,
                                  int64_t *out)
{
	__m256i b = _mm256_set1_epi32((int)bits);
	__m512i field = _mm512_set1_epi64((int64_t)((UINT64_C(1) << bits) - 1));
	uint32_t i = 0;
	for (; i + 8 <= n; i += 8)
		_mm512_storeu_si512(out + i,
		                    _mm512_add_epi64(fetch8(data, b, field, rows + i), _mm512_set1_epi64((int64_t)base)));
	rql_scan_kernels_portable.fetch64(data, bits, base, rows + i, n - i, out + i);
}

TARGET static void fetch32_avx512(const uint8_t *data, uint32_t bits, uint64_t base, const uint32_t *rows, uint32_t n,
                                  uint32_t *out)
{
	__m256i b = _mm256_set1_epi32((int)bits);
	__m512i field = _mm512_set1_epi64((int64_t)((UINT64_C(1) << bits) - 1));
	uint32_t i = 0;
	for (; i + 8 <= n; i += 8) {
		__m512i v = _mm512_add_epi64(fetch8(data, b, field, rows + i), _mm512_set1_epi64((int64_t)base));
		_mm256_storeu_si256((void *)(out + i), _mm512_cvtepi64_epi32(v));
	}
	rql_scan_kernels_portable.fetch32(data, bits, base, rows + i, n - i, out + i);
}

const struct rql_scan_kernels rql_scan_kernels_avx512 = {
	.name = "avx512",
	.range32 = range32_avx512,
	.range64 = range64_avx512,
	.bits32 = bits32_avx512,
	.bits64 = bits64_avx512,
	.deposit = deposit_avx512,
	.select = select_avx512,
	.fetch64 = fetch64_avx512,
	.fetch32 = fetch32_avx512,
	.count = count_avx512,
	.sum64 = sum64_avx512,
};
#endif
