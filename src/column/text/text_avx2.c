/* The kernels over strings for processors with AVX2: 32 places at once. */
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>
#include "column/text/text_internal.h"

#define TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define INLINE TARGET static inline __attribute__((always_inline))

/* Which of the 32 places from `at` on have both bytes. */
INLINE uint32_t candidates(const char *at, const struct rql_needle *n, __m256i near, __m256i far)
{
	__m256i a = _mm256_cmpeq_epi8(_mm256_loadu_si256((const void *)(at + n->near)), near);
	__m256i b = _mm256_cmpeq_epi8(_mm256_loadu_si256((const void *)(at + n->far)), far);
	return (uint32_t)_mm256_movemask_epi8(_mm256_and_si256(a, b));
}

INLINE const char *confirm(const char *at, uint32_t mask, const struct rql_needle *n)
{
	for (; mask; mask &= mask - 1) {
		const char *hit = at + __builtin_ctz(mask);
		if (!memcmp(hit, n->bytes, n->length))
			return hit;
	}
	return NULL;
}

/* Fewer than 32 places. */
INLINE const char *find_few(const char *from, uint64_t places, const struct rql_needle *n)
{
	uint64_t i = 0;
	if (places >= 16) {
		__m128i near = _mm_set1_epi8(n->bytes[n->near]), far = _mm_set1_epi8(n->bytes[n->far]);
		for (; i + 16 <= places; i += 16) {
			__m128i a = _mm_cmpeq_epi8(_mm_loadu_si128((const void *)(from + i + n->near)), near);
			__m128i b = _mm_cmpeq_epi8(_mm_loadu_si128((const void *)(from + i + n->far)), far);
			const char *hit = confirm(from + i, (uint32_t)_mm_movemask_epi8(_mm_and_si128(a, b)), n);
			if (hit)
				return hit;
		}
	}
	for (; i < places; i++)
		if (from[i + n->near] == n->bytes[n->near] && from[i + n->far] == n->bytes[n->far] &&
		    !memcmp(from + i, n->bytes, n->length))
			return from + i;
	return NULL;
}

/* 64 places a step: four loads, four comparisons, two ands, an or and a branch; reading memory is the longest of it. */
TARGET static const char *find(const char *from, const char *end, const struct rql_needle *n)
{
	if (end - from < (ptrdiff_t)n->length)
		return NULL;
	uint64_t places = (uint64_t)(end - from) - n->length + 1, i = 0;
	if (places < 32)
		return find_few(from, places, n);
	__m256i near = _mm256_set1_epi8(n->bytes[n->near]), far = _mm256_set1_epi8(n->bytes[n->far]);
	for (; i + 64 <= places; i += 64) {
		uint32_t low = candidates(from + i, n, near, far), high = candidates(from + i + 32, n, near, far);
		if (!(low | high))
			continue;
		const char *hit = confirm(from + i, low, n);
		if (hit || (hit = confirm(from + i + 32, high, n)))
			return hit;
	}
	for (; i < places; i += 32) {
		uint64_t at = i + 32 <= places ? i : places - 32; /* the last ones again, with some that were none */
		const char *hit = confirm(from + at, candidates(from + at, n, near, far), n);
		if (hit)
			return hit;
	}
	return NULL;
}

/* Bytes of eight that begin a character, as one bit each. */
INLINE uint64_t beginnings(const char *data)
{
	uint64_t v;
	memcpy(&v, data, sizeof v);
	return ~(v >> 7 & ~v >> 6) & UINT64_C(0x0101010101010101);
}

/* The last ones are looked at with some that have been counted, which are shifted out. */
TARGET static uint64_t characters(const char *data, uint64_t length)
{
	const __m256i last = _mm256_set1_epi8((char)0xbf);
	uint64_t count = 0, i = 0;
	if (length >= 32) {
		for (;;) {
			__m256i v = _mm256_loadu_si256((const void *)(data + i));
			uint32_t begins = (uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(v, last));
			count += (uint64_t)__builtin_popcount(begins);
			if ((i += 32) >= length)
				return count;
			if (i + 32 > length) {
				v = _mm256_loadu_si256((const void *)(data + length - 32));
				begins = (uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(v, last));
				return count + (uint64_t)__builtin_popcount(begins >> (i + 32 - length));
			}
		}
	}
	for (; i + 8 <= length; i += 8)
		count += (uint64_t)__builtin_popcountll(beginnings(data + i));
	if (i < length && length >= 8)
		return count + (uint64_t)__builtin_popcountll(beginnings(data + length - 8) >> 8 * (i + 8 - length));
	for (; i < length; i++)
		count += rql_is_character(data[i]);
	return count;
}

TARGET static bool is_ascii(const char *data, uint64_t length)
{
	uint64_t i = 0;
	__m256i any = _mm256_setzero_si256();
	for (; i + 32 <= length; i += 32)
		any = _mm256_or_si256(any, _mm256_loadu_si256((const void *)(data + i)));
	unsigned char rest = 0;
	for (; i < length; i++)
		rest |= (unsigned char)data[i];
	return !_mm256_movemask_epi8(any) && rest < 0x80;
}

const struct rql_text_kernels rql_text_kernels_avx2 = {find, characters, is_ascii};

#else
typedef int rql_text_avx2_not_built; /* ISO C wants a declaration in every file */
#endif
