/* Packed values eight at a time, for processors with AVX2.
 *
 * Eight values start at a byte. Their first half lies within the 16 bytes there and the second within the 16 bytes
 * from bit 4 * bits on, for up to 25 bits; pshufb works within such halves, so a 256-bit register takes one in each.
 * 26 to 57 bits take 64-bit lanes, two values to a half, two registers to a group. */
#ifndef RQL_COLUMN_PACK_AVX2_H
#define RQL_COLUMN_PACK_AVX2_H

#include <immintrin.h>
#include "column/pack.h"

#define RQL_TARGET_AVX2 __attribute__((target("avx2,popcnt,bmi,bmi2")))
#define RQL_INLINE_AVX2 static inline __attribute__((always_inline)) RQL_TARGET_AVX2

struct rql_lanes {
	__m256i bytes, shift, mask;
	unsigned upper; /* byte where the upper half's load starts */
};

/* Lanes of 4 bytes for eight values, the first of which starts at a byte. */
RQL_INLINE_AVX2 struct rql_lanes rql_narrow_lanes(unsigned bits)
{
	int b = (int)bits, odd = (4 * b) & 7;
	__m256i bit = _mm256_set_epi32(odd + 3 * b, odd + 2 * b, odd + b, odd, 3 * b, 2 * b, b, 0);
	__m256i byte = _mm256_mullo_epi32(_mm256_srli_epi32(bit, 3), _mm256_set1_epi32(0x01010101));
	return (struct rql_lanes){
		.bytes = _mm256_add_epi8(byte, _mm256_set1_epi32(0x03020100)),
		.shift = _mm256_and_si256(bit, _mm256_set1_epi32(7)),
		.mask = _mm256_set1_epi32((int)rql_bit_mask(bits)),
		.upper = 4 * bits / 8,
	};
}

/* Lanes of 8 bytes for four values, the first of which starts `skip` bits into a byte. */
RQL_INLINE_AVX2 struct rql_lanes rql_wide_lanes(unsigned bits, unsigned skip)
{
	long long b = bits, s = skip, upper = (skip + 2 * bits) / 8;
	long long bit[4] = {s, s + b, s + 2 * b - 8 * upper, s + 3 * b - 8 * upper};
	long long bytes[4];
	for (unsigned k = 0; k < 4; k++)
		bytes[k] = (bit[k] >> 3) * 0x0101010101010101 + 0x0706050403020100;
	return (struct rql_lanes){
		.bytes = _mm256_set_epi64x(bytes[3], bytes[2], bytes[1], bytes[0]),
		.shift = _mm256_set_epi64x(bit[3] & 7, bit[2] & 7, bit[1] & 7, bit[0] & 7),
		.mask = _mm256_set1_epi64x((long long)rql_bit_mask(bits)),
		.upper = (unsigned)upper,
	};
}

RQL_INLINE_AVX2 __m256i rql_halves(const uint8_t *at, unsigned upper)
{
	__m128i low = _mm_loadu_si128((const void *)at), high = _mm_loadu_si128((const void *)(at + upper));
	return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

RQL_INLINE_AVX2 __m256i rql_narrow8(const uint8_t *at, struct rql_lanes l)
{
	__m256i v = _mm256_shuffle_epi8(rql_halves(at, l.upper), l.bytes);
	return _mm256_and_si256(_mm256_srlv_epi32(v, l.shift), l.mask);
}

RQL_INLINE_AVX2 __m256i rql_wide4(const uint8_t *at, struct rql_lanes l)
{
	__m256i v = _mm256_shuffle_epi8(rql_halves(at, l.upper), l.bytes);
	return _mm256_and_si256(_mm256_srlv_epi64(v, l.shift), l.mask);
}

#endif
