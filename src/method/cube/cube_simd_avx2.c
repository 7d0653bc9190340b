/* Kernels over packed values for processors with AVX2; column/pack_avx2.h says how lanes are filled. */
#if defined(__x86_64__)
#include "column/pack_avx2.h"
#include "method/cube/cube_simd.h"

#define TARGET RQL_TARGET_AVX2
#define INLINE RQL_INLINE_AVX2
#define NARROW RQL_PACKED_NARROW

/* All ones in the lanes first + lane that lie in [begin, end). */
INLINE __m256i between32(uint64_t first, uint64_t begin, uint64_t end)
{
	int low = begin > first ? (int)(begin - first) : 0, high = end < first + 8 ? (int)(end - first) : 8;
	__m256i lane = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
	return _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(low), lane),
	                           _mm256_cmpgt_epi32(_mm256_set1_epi32(high), lane));
}

INLINE __m256i between64(uint64_t first, uint64_t begin, uint64_t end)
{
	int64_t low = (int64_t)(begin - first), high = (int64_t)(end - first);
	__m256i lane = _mm256_set_epi64x(3, 2, 1, 0);
	return _mm256_andnot_si256(_mm256_cmpgt_epi64(_mm256_set1_epi64x(low), lane),
	                           _mm256_cmpgt_epi64(_mm256_set1_epi64x(high), lane));
}

INLINE uint64_t add64(__m256i v)
{
	__m128i s = _mm_add_epi64(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
	return (uint64_t)_mm_cvtsi128_si64(s) + (uint64_t)_mm_extract_epi64(s, 1);
}

INLINE __m256i widen_add(__m256i v)
{
	return _mm256_add_epi64(_mm256_and_si256(v, _mm256_set1_epi64x(0xffffffff)), _mm256_srli_epi64(v, 32));
}

INLINE uint64_t sum_narrow(const struct rql_packed *values, uint64_t begin, uint64_t end, struct rql_lanes l)
{
	unsigned bits = values->bits;
	uint64_t first = begin & ~UINT64_C(7);
	const uint8_t *at = values->data + first / 8 * bits;
	__m256i sum = _mm256_setzero_si256();
	while (first < end) {
		__m256i part = _mm256_setzero_si256();
		/* 64 additions of 25 bits stay below 2^32. */
		for (unsigned k = 0; k < 64 && first < end; k++, first += 8, at += bits)
			part = _mm256_add_epi32(part, _mm256_and_si256(rql_narrow8(at, l), between32(first, begin, end)));
		sum = _mm256_add_epi64(sum, widen_add(part));
	}
	return add64(sum);
}

INLINE uint64_t sum_wide(const struct rql_packed *values, uint64_t begin, uint64_t end, const struct rql_lanes l[2])
{
	unsigned bits = values->bits, second = 4 * bits / 8;
	uint64_t first = begin & ~UINT64_C(7);
	const uint8_t *at = values->data + first / 8 * bits;
	__m256i sum = _mm256_setzero_si256();
	for (; first < end; first += 8, at += bits) {
		sum = _mm256_add_epi64(sum, _mm256_and_si256(rql_wide4(at, l[0]), between64(first, begin, end)));
		if (first + 4 < end) /* else its load could leave the slack */
			sum = _mm256_add_epi64(sum, _mm256_and_si256(rql_wide4(at + second, l[1]), between64(first + 4, begin, end)));
	}
	return add64(sum);
}

TARGET static uint64_t sum_avx2(const struct rql_packed *values, uint64_t begin, uint64_t end)
{
	unsigned bits = values->bits;
	if (begin >= end || bits == 0)
		return 0;
	if (bits <= NARROW)
		return sum_narrow(values, begin, end, rql_narrow_lanes(bits));
	if (bits > 57)
		return rql_cube_kernels_portable.sum(values, begin, end);
	struct rql_lanes l[2] = {rql_wide_lanes(bits, 0), rql_wide_lanes(bits, 4 * bits % 8)};
	return sum_wide(values, begin, end, l);
}

/* Floor: as in cube_simd_avx512.c, with twice the steps. */
TARGET static void span_sums_avx2(const struct rql_packed *values, const uint64_t *cumulative,
                                  const struct rql_cube_span *spans, size_t count, uint64_t *out)
{
	unsigned bits = values->bits;
	uint64_t base = (uint64_t)values->base, blocks = values->count / RQL_CUBE_BLOCK;
	if (bits == 0 || bits > 57) {
		rql_cube_kernels_portable.span_sums(values, cumulative, spans, count, out);
		return;
	}
	bool narrow = bits <= NARROW;
	struct rql_lanes n = rql_narrow_lanes(narrow ? bits : 1);
	struct rql_lanes w[2] = {rql_wide_lanes(bits, 0), rql_wide_lanes(bits, 4 * bits % 8)};
	for (size_t s = 0; s < count; s++) {
		uint64_t side[2], x[2] = {spans[s].begin, spans[s].end};
		for (unsigned k = 0; k < 2; k++) {
			uint64_t block = x[k] / RQL_CUBE_BLOCK, first = block * RQL_CUBE_BLOCK, next = first + RQL_CUBE_BLOCK;
			bool upper = x[k] - first > RQL_CUBE_BLOCK / 2 && block < blocks;
			uint64_t from = upper ? x[k] : first, to = upper ? next : x[k];
			uint64_t cells = narrow ? sum_narrow(values, from, to, n) : sum_wide(values, from, to, w);
			cells += base * (to - from);
			side[k] = upper ? cumulative[block + 1] - cells : cumulative[block] + cells;
		}
		out[s] = side[1] - side[0];
	}
}

/* Floor: bits / 8 bytes read and 4 written a value; 7 instructions for 8 values (14 above 25 bits). */
TARGET static void unpack32_avx2(const struct rql_packed *values, uint64_t begin, size_t n, uint32_t *out)
{
	unsigned bits = values->bits, second = 4 * bits / 8;
	uint64_t first = begin & ~UINT64_C(15), end = begin + n;
	if (bits == 0) {
		memset(out, 0, (begin % 16 + n) * sizeof(*out));
		return;
	}
	const uint8_t *at = values->data + first / 8 * bits;
	if (bits <= NARROW) {
		struct rql_lanes l = rql_narrow_lanes(bits);
		for (; first < end; first += 8, at += bits, out += 8)
			_mm256_storeu_si256((void *)out, rql_narrow8(at, l));
		return;
	}
	struct rql_lanes l[2] = {rql_wide_lanes(bits, 0), rql_wide_lanes(bits, 4 * bits % 8)};
	__m256i even = _mm256_set_epi32(0, 0, 0, 0, 6, 4, 2, 0);
	for (; first < end; first += 8, at += bits, out += 8) {
		__m256i low = _mm256_permutevar8x32_epi32(rql_wide4(at, l[0]), even);
		_mm_storeu_si128((void *)out, _mm256_castsi256_si128(low));
		if (first + 4 < end) {
			__m256i high = _mm256_permutevar8x32_epi32(rql_wide4(at + second, l[1]), even);
			_mm_storeu_si128((void *)(out + 4), _mm256_castsi256_si128(high));
		}
	}
}

TARGET static void unpack64_avx2(const struct rql_packed *values, uint64_t begin, size_t n, uint64_t *out)
{
	unsigned bits = values->bits, second = 4 * bits / 8;
	uint64_t first = begin & ~UINT64_C(15), end = begin + n;
	if (bits == 0) {
		memset(out, 0, (begin % 16 + n) * sizeof(*out));
		return;
	}
	if (bits > 57) {
		memcpy(out + begin % 16, values->data + begin * 8, n * 8);
		return;
	}
	const uint8_t *at = values->data + first / 8 * bits;
	struct rql_lanes l[2] = {rql_wide_lanes(bits, 0), rql_wide_lanes(bits, 4 * bits % 8)};
	for (; first < end; first += 8, at += bits, out += 8) {
		_mm256_storeu_si256((void *)out, rql_wide4(at, l[0]));
		if (first + 4 < end)
			_mm256_storeu_si256((void *)(out + 4), rql_wide4(at + second, l[1]));
	}
}

TARGET static void extremes_avx2(const struct rql_packed *values, uint64_t begin, uint64_t end, uint64_t *least,
                                 uint64_t *greatest)
{
	uint64_t buffer[RQL_CUBE_UNPACK_ROOM(64)], lo = *least, hi = *greatest;
	for (uint64_t at = begin; at < end;) {
		size_t n = end - at < 64 ? end - at : 64;
		unpack64_avx2(values, at, n, buffer);
		const uint64_t *v = buffer + at % RQL_CUBE_GROUP;
		for (size_t i = 0; i < n; i++) {
			lo = v[i] < lo ? v[i] : lo;
			hi = v[i] > hi ? v[i] : hi;
		}
		at += n;
	}
	*least = lo;
	*greatest = hi;
}

TARGET static double sum_real_avx2(const double *values, uint64_t begin, uint64_t end)
{
	__m256d low = _mm256_setzero_pd(), high = low;
	uint64_t i = begin;
	for (; i + 8 <= end; i += 8) {
		low = _mm256_add_pd(low, _mm256_loadu_pd(values + i));
		high = _mm256_add_pd(high, _mm256_loadu_pd(values + i + 4));
	}
	double part[4], tail = 0;
	_mm256_storeu_pd(part, _mm256_add_pd(low, high));
	for (; i < end; i++)
		tail += values[i];
	return ((part[0] + part[2]) + (part[1] + part[3])) + tail;
}

const struct rql_cube_kernels rql_cube_kernels_avx2 = {
	.name = "avx2",
	.sum = sum_avx2,
	.span_sums = span_sums_avx2,
	.unpack32 = unpack32_avx2,
	.unpack64 = unpack64_avx2,
	.extremes = extremes_avx2,
	.sum_real = sum_real_avx2,
};
#else
typedef int rql_cube_simd_avx2_not_built; /* ISO C wants a declaration in every file */
#endif
