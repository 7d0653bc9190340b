/* Packed values 64 bytes at a time, for processors with AVX-512 VBMI (Ice Lake, Zen 4 and later).
 *
 * A group of 16 values starts at a byte, because 16 * bits is a multiple of 8. vpermb brings the 4 bytes that hold a
 * value to its 32-bit lane (up to 25 bits, which with a shift of up to 7 fill 32), one variable shift and one mask
 * finish it: 4 instructions for 16 values. 26 to 57 bits take 64-bit lanes, two steps of 8 values to a group. */
#ifndef RQL_COLUMN_PACK_AVX512_H
#define RQL_COLUMN_PACK_AVX512_H

#include <immintrin.h>
#include "column/pack.h"

#define RQL_TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,popcnt,bmi,bmi2")))
#define RQL_INLINE_AVX512 static inline __attribute__((always_inline)) RQL_TARGET_AVX512

struct rql_lanes {
	__m512i bytes, shift, mask;
};

RQL_INLINE_AVX512 struct rql_lanes rql_narrow_lanes(unsigned bits)
{
	__m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	__m512i bit = _mm512_mullo_epi32(lane, _mm512_set1_epi32((int)bits));
	__m512i byte = _mm512_mullo_epi32(_mm512_srli_epi32(bit, 3), _mm512_set1_epi32(0x01010101));
	return (struct rql_lanes){
		.bytes = _mm512_add_epi8(byte, _mm512_set1_epi32(0x03020100)),
		.shift = _mm512_and_si512(bit, _mm512_set1_epi32(7)),
		.mask = _mm512_set1_epi32((int)rql_bit_mask(bits)),
	};
}

RQL_INLINE_AVX512 struct rql_lanes rql_wide_lanes(unsigned bits)
{
	__m512i lane = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
	__m512i bit = _mm512_mullo_epi64(lane, _mm512_set1_epi64(bits));
	__m512i byte = _mm512_mullo_epi64(_mm512_srli_epi64(bit, 3), _mm512_set1_epi64(0x0101010101010101));
	return (struct rql_lanes){
		.bytes = _mm512_add_epi8(byte, _mm512_set1_epi64(0x0706050403020100)),
		.shift = _mm512_and_si512(bit, _mm512_set1_epi64(7)),
		.mask = _mm512_set1_epi64((long long)rql_bit_mask(bits)),
	};
}

/* Values 16 * group ... + 15. */
RQL_INLINE_AVX512 __m512i rql_narrow16(const uint8_t *at, struct rql_lanes l)
{
	__m512i v = _mm512_permutexvar_epi8(l.bytes, _mm512_loadu_si512(at));
	return _mm512_and_si512(_mm512_srlv_epi32(v, l.shift), l.mask);
}

/* Eight values that start at a byte. */
RQL_INLINE_AVX512 __m512i rql_wide8(const uint8_t *at, struct rql_lanes l)
{
	__m512i v = _mm512_permutexvar_epi8(l.bytes, _mm512_loadu_si512(at));
	return _mm512_and_si512(_mm512_srlv_epi64(v, l.shift), l.mask);
}

#endif
