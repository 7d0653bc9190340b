/* The store's kernels for processors with AVX-512 VBMI.
 *
 * Filters take the narrowest lanes that hold a field: vpermb brings the bytes of 8 (4) consecutive fields into each
 * 64-bit lane, vpmultishiftqb cuts 8-bit (16-bit) fields out of it at any bit offset, and one compare gives 64 (32)
 * rows' bits: 5 instructions for 64 rows up to 8 bits, for 32 rows up to 16. Wider fields are lanes of
 * column/pack_avx512.h. */
#if defined(__x86_64__)
#include "column/pack_avx512.h"
#include "column/store/store_internal.h"

#define TARGET RQL_TARGET_AVX512
#define INLINE RQL_INLINE_AVX512

/* ---- decoding ---- */

TARGET static void unpack32(const uint8_t *data, uint32_t bits, uint32_t words, uint32_t base, uint32_t *out)
{
	__m512i b = _mm512_set1_epi32((int)base);
	if (bits == 0) {
		for (uint32_t i = 0; i < words * 4; i++)
			_mm512_storeu_si512(out + i * 16, b);
	} else if (bits <= RQL_PACKED_NARROW) {
		struct rql_lanes l = rql_narrow_lanes(bits);
		for (uint32_t i = 0; i < words * 4; i++, data += 2 * bits)
			_mm512_storeu_si512(out + i * 16, _mm512_add_epi32(rql_narrow16(data, l), b));
	} else if (bits == 32) {
		for (uint32_t i = 0; i < words * 4; i++)
			_mm512_storeu_si512(out + i * 16, _mm512_add_epi32(_mm512_loadu_si512(data + i * 64), b));
	} else {
		struct rql_lanes l = rql_wide_lanes(bits);
		for (uint32_t i = 0; i < words * 8; i++, data += bits)
			_mm256_storeu_si256((void *)(out + i * 8),
			                    _mm256_add_epi32(_mm512_cvtepi64_epi32(rql_wide8(data, l)), _mm512_castsi512_si256(b)));
	}
}

TARGET static void unpack64(const uint8_t *data, uint32_t bits, uint32_t words, uint64_t base, uint64_t *out)
{
	__m512i b = _mm512_set1_epi64((long long)base);
	if (bits == 0) {
		for (uint32_t i = 0; i < words * 8; i++)
			_mm512_storeu_si512(out + i * 8, b);
	} else if (bits == 64) {
		for (uint32_t i = 0; i < words * 8; i++)
			_mm512_storeu_si512(out + i * 8, _mm512_add_epi64(_mm512_loadu_si512(data + i * 64), b));
	} else {
		struct rql_lanes l = rql_wide_lanes(bits);
		for (uint32_t i = 0; i < words * 8; i++, data += bits)
			_mm512_storeu_si512(out + i * 8, _mm512_add_epi64(rql_wide8(data, l), b));
	}
}

/* ---- filters ---- */

/* The first byte that each byte lane of a load takes: lane q of 64 bits starts with field q * per. */
INLINE __m512i lane_bytes(unsigned bits, unsigned per)
{
	__m512i lane = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
	__m512i byte = _mm512_srli_epi64(_mm512_mullo_epi64(lane, _mm512_set1_epi64(bits * per)), 3);
	byte = _mm512_mullo_epi64(byte, _mm512_set1_epi64(0x0101010101010101));
	return _mm512_add_epi8(byte, _mm512_set1_epi64(0x0706050403020100));
}

/* Bit offsets of the output bytes within their lane; odd lanes of 4 odd-width fields start half a byte later. */
INLINE __m512i lane_shifts(unsigned bits, unsigned per)
{
	uint64_t shift[2] = {0, 0};
	for (unsigned odd = 0; odd < 2; odd++) {
		unsigned skip = per == 4 && odd ? 4 * bits % 8 : 0;
		for (unsigned i = 0; i < 8; i++) {
			unsigned bit = per == 8 ? i * bits : skip + i / 2 * bits + i % 2 * 8;
			shift[odd] |= (uint64_t)(bit & 63) << (i * 8);
		}
	}
	long long e = (long long)shift[0], o = (long long)shift[1];
	return _mm512_set_epi64(o, e, o, e, o, e, o, e);
}

TARGET static void range8(const uint8_t *data, uint32_t bits, uint32_t words, uint32_t low, uint32_t span,
                          uint64_t *mask)
{
	__m512i bytes = lane_bytes(bits, 8), shifts = lane_shifts(bits, 8),
			all = _mm512_set1_epi8((char)rql_bit_mask(bits));
	__m512i l = _mm512_set1_epi8((char)low), s = _mm512_set1_epi8((char)span);
	for (uint32_t w = 0; w < words; w++, data += 8 * bits) {
		__m512i v = _mm512_permutexvar_epi8(bytes, _mm512_loadu_si512(data));
		v = _mm512_and_si512(_mm512_multishift_epi64_epi8(shifts, v), all);
		mask[w] &= _mm512_cmple_epu8_mask(_mm512_sub_epi8(v, l), s);
	}
}

TARGET static void range16(const uint8_t *data, uint32_t bits, uint32_t words, uint32_t low, uint32_t span,
                           uint64_t *mask)
{
	__m512i bytes = lane_bytes(bits, 4), shifts = lane_shifts(bits, 4);
	__m512i all = _mm512_set1_epi16((short)rql_bit_mask(bits));
	__m512i l = _mm512_set1_epi16((short)low), s = _mm512_set1_epi16((short)span);
	for (uint32_t w = 0; w < words; w++, data += 8 * bits) {
		__mmask32 pass[2];
		if (!mask[w])
			continue;
		for (unsigned half = 0; half < 2; half++) {
			__m512i v = _mm512_permutexvar_epi8(bytes, _mm512_loadu_si512(data + half * 4 * bits));
			v = _mm512_and_si512(_mm512_multishift_epi64_epi8(shifts, v), all);
			pass[half] = _mm512_cmple_epu16_mask(_mm512_sub_epi16(v, l), s);
		}
		/* Not `low | high << 32`: GCC 12 with -O1 and sanitizers spills 4 bytes of the lower mask and reloads 8. */
		mask[w] &= _mm512_kunpackd(pass[1], pass[0]);
	}
}

TARGET static void range32(const uint8_t *data, uint32_t bits, uint32_t words, uint32_t low, uint32_t span,
                           uint64_t *mask)
{
	struct rql_lanes lanes = rql_narrow_lanes(bits);
	__m512i l = _mm512_set1_epi32((int)low), s = _mm512_set1_epi32((int)span);
	for (uint32_t w = 0; w < words; w++, data += 8 * bits) {
		uint64_t pass = 0;
		if (!mask[w])
			continue;
		for (unsigned q = 0; q < 4; q++) {
			__m512i v = rql_narrow16(data + q * 2 * bits, lanes);
			pass |= (uint64_t)_mm512_cmple_epu32_mask(_mm512_sub_epi32(v, l), s) << (q * 16);
		}
		mask[w] &= pass;
	}
}

TARGET static void range64(const uint8_t *data, uint32_t bits, uint32_t words, uint64_t low, uint64_t span,
                           uint64_t *mask)
{
	struct rql_lanes lanes = rql_wide_lanes(bits == 64 ? 56 : bits);
	__m512i l = _mm512_set1_epi64((long long)low), s = _mm512_set1_epi64((long long)span);
	for (uint32_t w = 0; w < words; w++, data += 8 * bits) {
		uint64_t pass = 0;
		if (!mask[w])
			continue;
		for (unsigned q = 0; q < 8; q++) {
			__m512i v = bits == 64 ? _mm512_loadu_si512(data + q * 64) : rql_wide8(data + q * bits, lanes);
			pass |= (uint64_t)_mm512_cmple_epu64_mask(_mm512_sub_epi64(v, l), s) << (q * 8);
		}
		mask[w] &= pass;
	}
}

TARGET static void range(const uint8_t *data, uint32_t bits, uint32_t words, uint64_t low, uint64_t span,
                         uint64_t *mask)
{
	if (bits <= 8)
		range8(data, bits, words, (uint32_t)low, (uint32_t)span, mask);
	else if (bits <= 16)
		range16(data, bits, words, (uint32_t)low, (uint32_t)span, mask);
	else if (bits <= RQL_PACKED_NARROW)
		range32(data, bits, words, (uint32_t)low, (uint32_t)span, mask);
	else
		range64(data, bits, words, low, span, mask);
}

/* Bit `code` of the set for 16 codes; lanes that are not wanted read nothing. */
INLINE uint32_t test16(__m512i code, __mmask16 wanted, const uint64_t *set)
{
	__m512i word = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), wanted, _mm512_srli_epi32(code, 5), set, 4);
	__m512i bit = _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_and_si512(code, _mm512_set1_epi32(31)));
	return _mm512_mask_test_epi32_mask(wanted, word, bit);
}

/* Up to 256 codes: fields become bytes as in range8; the set is a table of 32 bytes, looked up by field / 8. */
TARGET static void in_set8(const uint8_t *data, uint32_t bits, uint32_t words, const uint64_t *window, uint64_t *mask)
{
	__m512i bytes = lane_bytes(bits, 8), shifts = lane_shifts(bits, 8),
			all = _mm512_set1_epi8((char)rql_bit_mask(bits));
	__m512i table = _mm512_broadcast_i64x4(_mm256_loadu_si256((const void *)window));
	__m512i one_of_eight = _mm512_set1_epi64((long long)UINT64_C(0x8040201008040201));
	for (uint32_t w = 0; w < words; w++, data += 8 * bits) {
		__m512i v = _mm512_permutexvar_epi8(bytes, _mm512_loadu_si512(data));
		v = _mm512_and_si512(_mm512_multishift_epi64_epi8(shifts, v), all);
		__m512i index = _mm512_and_si512(_mm512_srli_epi16(v, 3), _mm512_set1_epi8(31));
		__m512i bit = _mm512_shuffle_epi8(one_of_eight, _mm512_and_si512(v, _mm512_set1_epi8(7)));
		mask[w] &= _mm512_test_epi8_mask(_mm512_permutexvar_epi8(index, table), bit);
	}
}

/* Up to 1024 codes: the set is two registers of 16 words each. */
TARGET static void in_set10(const uint8_t *data, uint32_t bits, uint32_t words, const uint64_t *window, uint64_t *mask)
{
	struct rql_lanes lanes = rql_narrow_lanes(bits);
	__m512i low = _mm512_loadu_si512(window), high = _mm512_loadu_si512(window + 8), one = _mm512_set1_epi32(1);
	for (uint32_t w = 0; w < words; w++, data += 8 * bits) {
		uint64_t pass = 0;
		if (!mask[w])
			continue;
		for (unsigned q = 0; q < 4; q++) {
			__m512i v = rql_narrow16(data + q * 2 * bits, lanes);
			__m512i word = _mm512_permutex2var_epi32(low, _mm512_srli_epi32(v, 5), high);
			__m512i bit = _mm512_sllv_epi32(one, _mm512_and_si512(v, _mm512_set1_epi32(31)));
			pass |= (uint64_t)_mm512_test_epi32_mask(word, bit) << (q * 16);
		}
		mask[w] &= pass;
	}
}

TARGET static void in_set(const uint8_t *data, uint32_t bits, uint32_t words, uint32_t base, uint32_t last,
                          const uint64_t *set, uint64_t *mask)
{
	uint32_t codes[64];
	uint64_t window[16];
	if (bits <= 10) {
		rql_store_set_window(set, base, last, window, bits <= 8 ? 4 : 16);
		if (bits <= 8)
			in_set8(data, bits, words, window, mask);
		else
			in_set10(data, bits, words, window, mask);
		return;
	}
	for (uint32_t w = 0; w < words; w++, data += 8 * bits) {
		uint64_t pass = 0, wanted = mask[w];
		if (!wanted)
			continue;
		unpack32(data, bits, 1, base, codes);
		for (unsigned q = 0; q < 4; q++)
			pass |= (uint64_t)test16(_mm512_loadu_si512(codes + q * 16), (__mmask16)(wanted >> (q * 16)), set)
			        << (q * 16);
		mask[w] = pass;
	}
}

INLINE uint32_t real8(__m512d v, __m512d low, __m512d high, __mmask8 nan)
{
	uint32_t in = _mm512_mask_cmp_pd_mask(_mm512_cmp_pd_mask(v, low, _CMP_GE_OQ), v, high, _CMP_LE_OQ);
	return in | _mm512_mask_cmp_pd_mask(nan, v, v, _CMP_UNORD_Q);
}

TARGET static void range_double(const uint8_t *data, uint32_t words, double low, double high, bool nan, uint64_t *mask)
{
	__m512d l = _mm512_set1_pd(low), h = _mm512_set1_pd(high);
	__mmask8 n = nan ? 0xff : 0;
	for (uint32_t w = 0; w < words; w++, data += 512) {
		uint64_t pass = 0;
		if (!mask[w])
			continue;
		for (unsigned q = 0; q < 8; q++)
			pass |= (uint64_t)real8(_mm512_loadu_pd(data + q * 64), l, h, n) << (q * 8);
		mask[w] &= pass;
	}
}

TARGET static void range_float(const uint8_t *data, uint32_t words, double low, double high, bool nan, uint64_t *mask)
{
	__m512d l = _mm512_set1_pd(low), h = _mm512_set1_pd(high);
	__mmask8 n = nan ? 0xff : 0;
	for (uint32_t w = 0; w < words; w++, data += 256) {
		uint64_t pass = 0;
		if (!mask[w])
			continue;
		for (unsigned q = 0; q < 8; q++) {
			__m512d v = _mm512_cvtps_pd(_mm256_loadu_ps((const void *)(data + q * 32)));
			pass |= (uint64_t)real8(v, l, h, n) << (q * 8);
		}
		mask[w] &= pass;
	}
}

/* ---- the rest ---- */

TARGET static void prefix(uint64_t *values, uint32_t n, uint64_t start)
{
	__m512i carry = _mm512_set1_epi64((long long)start), zero = _mm512_setzero_si512();
	__m512i last = _mm512_set1_epi64(7);
	for (uint32_t i = 0; i < n; i += 8) {
		__m512i v = _mm512_loadu_si512(values + i);
		v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 7));
		v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 6));
		v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 4));
		v = _mm512_add_epi64(v, carry);
		_mm512_storeu_si512(values + i, v);
		carry = _mm512_permutexvar_epi64(last, v);
	}
}

TARGET static void widen(const float *from, uint32_t n, double *out)
{
	for (uint32_t i = 0; i < n; i += 8)
		_mm512_storeu_pd(out + i, _mm512_cvtps_pd(_mm256_loadu_ps(from + i)));
}

TARGET static void translate(uint32_t *codes, uint32_t n, const uint32_t *map)
{
	uint32_t i = 0;
	for (; i + 16 <= n; i += 16)
		_mm512_storeu_si512(codes + i, _mm512_i32gather_epi32(_mm512_loadu_si512(codes + i), map, 4));
	for (; i < n; i++)
		codes[i] = map[codes[i]];
}

/* Compressed in a register and stored whole: compressing stores are microcoded on some processors. Words with so few
 * bits are quicker one by one. */
#define SPARSE 12
TARGET static uint32_t compress32(const uint32_t *in, const uint64_t *mask, uint32_t words, uint32_t *out)
{
	uint32_t n = 0;
	for (uint32_t w = 0; w < words; w++) {
		if (__builtin_popcountll(mask[w]) <= SPARSE) {
			for (uint64_t left = mask[w]; left; left &= left - 1)
				out[n++] = in[w * 64 + (uint32_t)__builtin_ctzll(left)];
			continue;
		}
		for (unsigned q = 0; q < 4; q++) {
			__mmask16 m = (__mmask16)(mask[w] >> (q * 16));
			if (!m)
				continue;
			_mm512_storeu_si512(out + n, _mm512_maskz_compress_epi32(m, _mm512_loadu_si512(in + w * 64 + q * 16)));
			n += (uint32_t)__builtin_popcount(m);
		}
	}
	return n;
}

TARGET static uint32_t compress64(const uint64_t *in, const uint64_t *mask, uint32_t words, uint64_t *out)
{
	uint32_t n = 0;
	for (uint32_t w = 0; w < words; w++) {
		if (__builtin_popcountll(mask[w]) <= SPARSE) {
			for (uint64_t left = mask[w]; left; left &= left - 1)
				out[n++] = in[w * 64 + (uint32_t)__builtin_ctzll(left)];
			continue;
		}
		for (unsigned q = 0; q < 8; q++) {
			__mmask8 m = (__mmask8)(mask[w] >> (q * 8));
			if (!m)
				continue;
			_mm512_storeu_si512(out + n, _mm512_maskz_compress_epi64(m, _mm512_loadu_si512(in + w * 64 + q * 8)));
			n += (uint32_t)__builtin_popcount(m);
		}
	}
	return n;
}

const struct rql_store_kernels rql_store_kernels_avx512 = {
	.name = "avx512",
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
typedef int rql_store_simd_avx512_not_built; /* ISO C wants a declaration in every file */
#endif
