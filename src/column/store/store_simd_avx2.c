/* The store's kernels for processors with AVX2: lanes of column/pack_avx2.h. */
#if defined(__x86_64__)
#include "column/pack_avx2.h"
#include "column/store/store_internal.h"

#define TARGET RQL_TARGET_AVX2
#define INLINE RQL_INLINE_AVX2

struct wide { /* eight fields above RQL_PACKED_NARROW bits: two registers */
	struct rql_lanes low, high;
	unsigned second; /* byte where the second four start */
};

INLINE struct wide wide_of(unsigned bits)
{
	return (struct wide){
		.low = rql_wide_lanes(bits, 0), .high = rql_wide_lanes(bits, 4 * bits % 8), .second = 4 * bits / 8};
}

/* ---- decoding ---- */

TARGET static void unpack64(const uint8_t *data, uint32_t bits, uint32_t words, uint64_t base, uint64_t *out)
{
	__m256i b = _mm256_set1_epi64x((long long)base);
	if (bits == 0 || bits == 64) {
		for (uint32_t i = 0; i < words * 64; i += 4) {
			__m256i v = bits ? _mm256_loadu_si256((const void *)(data + (uint64_t)i * 8)) : _mm256_setzero_si256();
			_mm256_storeu_si256((void *)(out + i), _mm256_add_epi64(v, b));
		}
		return;
	}
	struct wide w = wide_of(bits);
	for (uint32_t i = 0; i < words * 64; i += 8, data += bits) {
		_mm256_storeu_si256((void *)(out + i), _mm256_add_epi64(rql_wide4(data, w.low), b));
		_mm256_storeu_si256((void *)(out + i + 4), _mm256_add_epi64(rql_wide4(data + w.second, w.high), b));
	}
}

TARGET static void unpack32(const uint8_t *data, uint32_t bits, uint32_t words, uint32_t base, uint32_t *out)
{
	__m256i b = _mm256_set1_epi32((int)base);
	if (bits == 0 || bits == 32) {
		for (uint32_t i = 0; i < words * 64; i += 8) {
			__m256i v = bits ? _mm256_loadu_si256((const void *)(data + (uint64_t)i * 4)) : _mm256_setzero_si256();
			_mm256_storeu_si256((void *)(out + i), _mm256_add_epi32(v, b));
		}
	} else if (bits <= RQL_PACKED_NARROW) {
		struct rql_lanes l = rql_narrow_lanes(bits);
		for (uint32_t i = 0; i < words * 64; i += 8, data += bits)
			_mm256_storeu_si256((void *)(out + i), _mm256_add_epi32(rql_narrow8(data, l), b));
	} else {
		struct wide w = wide_of(bits);
		__m256i even = _mm256_set_epi32(0, 0, 0, 0, 6, 4, 2, 0);
		for (uint32_t i = 0; i < words * 64; i += 8, data += bits) {
			__m256i low = _mm256_permutevar8x32_epi32(rql_wide4(data, w.low), even);
			__m256i high = _mm256_permutevar8x32_epi32(rql_wide4(data + w.second, w.high), even);
			__m256i both = _mm256_inserti128_si256(low, _mm256_castsi256_si128(high), 1);
			_mm256_storeu_si256((void *)(out + i), _mm256_add_epi32(both, b));
		}
	}
}

/* ---- filters ---- */

INLINE uint32_t within32(__m256i v, __m256i low, __m256i span)
{
	__m256i x = _mm256_sub_epi32(v, low);
	return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_min_epu32(x, span), x)));
}

/* span has its top bit turned round, so that a signed comparison orders unsigned values. */
INLINE uint32_t beyond64(__m256i v, __m256i low, __m256i span)
{
	__m256i x = _mm256_xor_si256(_mm256_sub_epi64(v, low), _mm256_set1_epi64x(INT64_MIN));
	return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(x, span)));
}

TARGET static void range_narrow(const uint8_t *data, uint32_t bits, uint32_t words, uint32_t low, uint32_t span,
                                uint64_t *mask)
{
	struct rql_lanes lanes = rql_narrow_lanes(bits);
	__m256i l = _mm256_set1_epi32((int)low), s = _mm256_set1_epi32((int)span);
	for (uint32_t w = 0; w < words; w++, data += 8 * bits) {
		uint64_t pass = 0;
		if (!mask[w])
			continue;
		for (unsigned q = 0; q < 8; q++)
			pass |= (uint64_t)within32(rql_narrow8(data + q * bits, lanes), l, s) << (q * 8);
		mask[w] &= pass;
	}
}

TARGET static void range(const uint8_t *data, uint32_t bits, uint32_t words, uint64_t low, uint64_t span,
                         uint64_t *mask)
{
	if (bits <= RQL_PACKED_NARROW) {
		range_narrow(data, bits, words, (uint32_t)low, (uint32_t)span, mask);
		return;
	}
	struct wide lanes = wide_of(bits == 64 ? 56 : bits);
	__m256i l = _mm256_set1_epi64x((long long)low), s = _mm256_set1_epi64x((long long)(span ^ UINT64_C(1) << 63));
	for (uint32_t w = 0; w < words; w++, data += (uint64_t)8 * bits) {
		uint64_t fail = 0;
		if (!mask[w])
			continue;
		for (unsigned q = 0; q < 8; q++) {
			const uint8_t *at = data + q * bits;
			__m256i a = bits == 64 ? _mm256_loadu_si256((const void *)at) : rql_wide4(at, lanes.low);
			__m256i b =
				bits == 64 ? _mm256_loadu_si256((const void *)(at + 32)) : rql_wide4(at + lanes.second, lanes.high);
			fail |= (uint64_t)(beyond64(a, l, s) | beyond64(b, l, s) << 4) << (q * 8);
		}
		mask[w] &= ~fail;
	}
}

/* Up to 256 codes: the set is one register of eight words. */
TARGET static void in_small_set(const uint8_t *data, uint32_t bits, uint32_t words, const uint64_t *window,
                                uint64_t *mask)
{
	struct rql_lanes lanes = rql_narrow_lanes(bits);
	__m256i table = _mm256_loadu_si256((const void *)window), low = _mm256_set1_epi32(31);
	for (uint32_t w = 0; w < words; w++, data += 8 * bits) {
		uint64_t pass = 0;
		if (!mask[w])
			continue;
		for (unsigned q = 0; q < 8; q++) {
			__m256i field = rql_narrow8(data + q * bits, lanes);
			__m256i word = _mm256_permutevar8x32_epi32(table, _mm256_srli_epi32(field, 5));
			__m256i top = _mm256_sllv_epi32(word, _mm256_andnot_si256(field, low)); /* by 31 - field % 32 */
			pass |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(top)) << (q * 8);
		}
		mask[w] &= pass;
	}
}

TARGET static void in_set(const uint8_t *data, uint32_t bits, uint32_t words, uint32_t base, uint32_t last,
                          const uint64_t *set, uint64_t *mask)
{
	uint32_t codes[64];
	uint64_t window[4];
	if (bits <= 8) {
		rql_store_set_window(set, base, last, window, 4);
		in_small_set(data, bits, words, window, mask);
		return;
	}
	for (uint32_t w = 0; w < words; w++, data += 8 * bits) {
		uint64_t pass = 0;
		if (!mask[w])
			continue;
		unpack32(data, bits, 1, base, codes);
		for (unsigned q = 0; q < 8; q++) {
			/* Padding decodes to base, which is a code too. */
			__m256i code = _mm256_loadu_si256((const void *)(codes + q * 8));
			__m256i word = _mm256_i32gather_epi32((const int *)(const void *)set, _mm256_srli_epi32(code, 5), 4);
			__m256i top = _mm256_sllv_epi32(word, _mm256_andnot_si256(code, _mm256_set1_epi32(31)));
			pass |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(top)) << (q * 8);
		}
		mask[w] &= pass;
	}
}

INLINE uint32_t real4(__m256d v, __m256d low, __m256d high, __m256d nan)
{
	__m256d in = _mm256_and_pd(_mm256_cmp_pd(v, low, _CMP_GE_OQ), _mm256_cmp_pd(v, high, _CMP_LE_OQ));
	return (uint32_t)_mm256_movemask_pd(_mm256_or_pd(in, _mm256_and_pd(nan, _mm256_cmp_pd(v, v, _CMP_UNORD_Q))));
}

INLINE __m256d all_ones(bool yes)
{
	return _mm256_castsi256_pd(_mm256_set1_epi64x(yes ? -1 : 0));
}

TARGET static void range_double(const uint8_t *data, uint32_t words, double low, double high, bool nan, uint64_t *mask)
{
	__m256d l = _mm256_set1_pd(low), h = _mm256_set1_pd(high), n = all_ones(nan);
	for (uint32_t w = 0; w < words; w++, data += 512) {
		uint64_t pass = 0;
		if (!mask[w])
			continue;
		for (unsigned q = 0; q < 16; q++)
			pass |= (uint64_t)real4(_mm256_loadu_pd((const void *)(data + q * 32)), l, h, n) << (q * 4);
		mask[w] &= pass;
	}
}

TARGET static void range_float(const uint8_t *data, uint32_t words, double low, double high, bool nan, uint64_t *mask)
{
	__m256d l = _mm256_set1_pd(low), h = _mm256_set1_pd(high), n = all_ones(nan);
	for (uint32_t w = 0; w < words; w++, data += 256) {
		uint64_t pass = 0;
		if (!mask[w])
			continue;
		for (unsigned q = 0; q < 16; q++) {
			__m256d v = _mm256_cvtps_pd(_mm_loadu_ps((const void *)(data + q * 16)));
			pass |= (uint64_t)real4(v, l, h, n) << (q * 4);
		}
		mask[w] &= pass;
	}
}

/* ---- the rest ---- */

TARGET static void prefix(uint64_t *values, uint32_t n, uint64_t start)
{
	__m256i carry = _mm256_set1_epi64x((long long)start), zero = _mm256_setzero_si256();
	for (uint32_t i = 0; i < n; i += 4) {
		__m256i v = _mm256_loadu_si256((const void *)(values + i));
		v = _mm256_add_epi64(v, _mm256_blend_epi32(_mm256_permute4x64_epi64(v, 0x90), zero, 0x03));
		v = _mm256_add_epi64(v, _mm256_permute2x128_si256(v, v, 0x08));
		v = _mm256_add_epi64(v, carry);
		_mm256_storeu_si256((void *)(values + i), v);
		carry = _mm256_permute4x64_epi64(v, 0xff);
	}
}

TARGET static void widen(const float *from, uint32_t n, double *out)
{
	for (uint32_t i = 0; i < n; i += 4)
		_mm256_storeu_pd(out + i, _mm256_cvtps_pd(_mm_loadu_ps(from + i)));
}

TARGET static void translate(uint32_t *codes, uint32_t n, const uint32_t *map)
{
	uint32_t i = 0;
	for (; i + 8 <= n; i += 8) {
		__m256i v = _mm256_loadu_si256((const void *)(codes + i));
		_mm256_storeu_si256((void *)(codes + i), _mm256_i32gather_epi32((const int *)(const void *)map, v, 4));
	}
	for (; i < n; i++)
		codes[i] = map[codes[i]];
}

/* AVX2 has no compression, and a table of 256 permutations costs the cache more than it saves; a full word is copied.
 * */
TARGET static uint32_t compress32(const uint32_t *in, const uint64_t *mask, uint32_t words, uint32_t *out)
{
	uint32_t n = 0;
	for (uint32_t w = 0; w < words; w++, in += 64) {
		uint64_t left = mask[w];
		if (left == UINT64_MAX) {
			memmove(out + n, in, 64 * sizeof(*in));
			n += 64;
			continue;
		}
		for (; left; left = _blsr_u64(left))
			out[n++] = in[_tzcnt_u64(left)];
	}
	return n;
}

TARGET static uint32_t compress64(const uint64_t *in, const uint64_t *mask, uint32_t words, uint64_t *out)
{
	uint32_t n = 0;
	for (uint32_t w = 0; w < words; w++, in += 64) {
		uint64_t left = mask[w];
		if (left == UINT64_MAX) {
			memmove(out + n, in, 64 * sizeof(*in));
			n += 64;
			continue;
		}
		for (; left; left = _blsr_u64(left))
			out[n++] = in[_tzcnt_u64(left)];
	}
	return n;
}

const struct rql_store_kernels rql_store_kernels_avx2 = {
	.name = "avx2",
	.unpack32 = unpack32,
	.unpack64 = unpack64,
	.range = range,
	.in_set = in_set,
	.range_double = range_double,
	.range_float = range_float,
	.prefix = prefix,
	.widen = widen,
	.translate = translate,
	.compress32 = compress32,
	.compress64 = compress64,
};
#else
typedef int rql_store_simd_avx2_not_built; /* ISO C wants a declaration in every file */
#endif
