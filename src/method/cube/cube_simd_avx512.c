/* Kernels over packed values for processors with AVX-512 VBMI; column/pack_avx512.h says how lanes are filled. */
#if defined(__x86_64__)
#include "column/pack_avx512.h"
#include "method/cube/cube_simd.h"

#define TARGET RQL_TARGET_AVX512
#define INLINE RQL_INLINE_AVX512
#define NARROW RQL_PACKED_NARROW

/* The lanes' sum modulo 2^64 (gcc's _mm512_reduce_add_epi64 adds as signed numbers at its end). */
INLINE uint64_t add64(__m512i v)
{
	__m256i h = _mm256_add_epi64(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
	__m128i q = _mm_add_epi64(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
	return (uint64_t)_mm_cvtsi128_si64(q) + (uint64_t)_mm_extract_epi64(q, 1);
}

INLINE uint64_t add_unsigned32(__m512i v)
{
	__m512i low = _mm512_and_si512(v, _mm512_set1_epi64(0xffffffff));
	return add64(_mm512_add_epi64(low, _mm512_srli_epi64(v, 32)));
}

/* Lanes of the group of `width` values at `first` that lie in [begin, end). */
INLINE uint32_t lanes_between(uint64_t first, uint64_t begin, uint64_t end, unsigned width)
{
	uint32_t all = (1u << width) - 1;
	uint32_t mask = begin > first ? all << (begin - first) & all : all;
	return end < first + width ? mask & ((1u << (end - first)) - 1) : mask;
}

INLINE uint64_t sum_narrow(const struct rql_packed *values, uint64_t begin, uint64_t end)
{
	unsigned bits = values->bits;
	struct rql_lanes l = rql_narrow_lanes(bits);
	uint64_t first = begin & ~UINT64_C(15), sum = 0;
	const uint8_t *at = values->data + first / 8 * bits;
	while (first < end) {
		__m512i part = _mm512_setzero_si512();
		/* 64 additions of 25 bits stay below 2^32. */
		for (unsigned k = 0; k < 64 && first < end; k++, first += 16, at += 2 * bits)
			part = _mm512_mask_add_epi32(part, (__mmask16)lanes_between(first, begin, end, 16), part, rql_narrow16(at, l));
		sum += add_unsigned32(part);
	}
	return sum;
}

INLINE uint64_t sum_wide(const struct rql_packed *values, uint64_t begin, uint64_t end)
{
	unsigned bits = values->bits;
	struct rql_lanes l = rql_wide_lanes(bits);
	uint64_t first = begin & ~UINT64_C(7);
	const uint8_t *at = values->data + first / 8 * bits;
	__m512i part = _mm512_setzero_si512();
	for (; first < end; first += 8, at += bits)
		part = _mm512_mask_add_epi64(part, (__mmask8)lanes_between(first, begin, end, 8), part, rql_wide8(at, l));
	return add64(part);
}

TARGET static uint64_t sum_raw64(const uint8_t *data, uint64_t begin, uint64_t end)
{
	uint64_t sum = 0;
	for (uint64_t i = begin; i < end; i++) {
		uint64_t word;
		memcpy(&word, data + i * 8, 8);
		sum += word;
	}
	return sum;
}

TARGET static uint64_t sum_avx512(const struct rql_packed *values, uint64_t begin, uint64_t end)
{
	if (begin >= end || values->bits == 0)
		return 0;
	if (values->bits <= NARROW)
		return sum_narrow(values, begin, end);
	if (values->bits <= 57)
		return sum_wide(values, begin, end);
	return sum_raw64(values->data, begin, end);
}

/* ---- spans by cumulative sums ---- */

/* How the sum before cell x is put together: cumulative[index] plus (sign 0) or minus (sign -1) those of the 32 values
 * from `first` on that `mask` names. */
struct edge {
	uint64_t index, first;
	uint32_t mask;
	int32_t sign;
};

INLINE struct edge edge_of(uint64_t x)
{
	uint64_t block = x / RQL_CUBE_BLOCK;
	uint32_t rest = (uint32_t)(x % RQL_CUBE_BLOCK);
	uint32_t upper = rest > 32;
	uint32_t below = (uint32_t)((UINT64_C(1) << (rest - 32 * upper)) - 1);
	return (struct edge){
		.index = block + upper,
		.first = block * RQL_CUBE_BLOCK + 32 * upper,
		.mask = below ^ (0u - upper), /* the lower half's values before x, or the upper half's from x on */
		.sign = (int32_t)(0u - upper),
	};
}

/* The signed part of an edge, one 64-bit word a lane. */
INLINE __m512i edge_narrow(const uint8_t *data, unsigned bits, struct edge e, struct rql_lanes l)
{
	const uint8_t *at = data + e.first / 8 * bits;
	__m512i v = _mm512_maskz_mov_epi32((__mmask16)e.mask, rql_narrow16(at, l));
	v = _mm512_mask_add_epi32(v, (__mmask16)(e.mask >> 16), v, rql_narrow16(at + 2 * bits, l));
	__m512i sign = _mm512_set1_epi32(e.sign);
	return _mm512_sub_epi32(_mm512_xor_si512(v, sign), sign);
}

INLINE __m512i edge_wide(const uint8_t *data, unsigned bits, struct edge e, struct rql_lanes l)
{
	const uint8_t *at = data + e.first / 8 * bits;
	__m512i v = _mm512_maskz_mov_epi64((__mmask8)e.mask, rql_wide8(at, l));
	v = _mm512_mask_add_epi64(v, (__mmask8)(e.mask >> 8), v, rql_wide8(at + bits, l));
	v = _mm512_mask_add_epi64(v, (__mmask8)(e.mask >> 16), v, rql_wide8(at + 2 * bits, l));
	v = _mm512_mask_add_epi64(v, (__mmask8)(e.mask >> 24), v, rql_wide8(at + 3 * bits, l));
	__m512i sign = _mm512_set1_epi64(e.sign);
	return _mm512_sub_epi64(_mm512_xor_si512(v, sign), sign);
}

INLINE uint64_t edge_base(struct edge e, uint64_t base)
{
	uint64_t n = (uint64_t)__builtin_popcount(e.mask);
	return ((base * n) ^ (uint64_t)(int64_t)e.sign) - (uint64_t)(int64_t)e.sign;
}

/* Rare: an edge in the last, partial block, where the loads of edge_* could leave the slack. */
TARGET static uint64_t sum_before(const struct rql_packed *values, const uint64_t *cumulative, uint64_t x)
{
	uint64_t first = x & ~(uint64_t)(RQL_CUBE_BLOCK - 1);
	return cumulative[first / RQL_CUBE_BLOCK] + sum_avx512(values, first, x) + (uint64_t)values->base * (x - first);
}

/* Floor per span: two cumulative sums (16 bytes of two cache lines) and at most 32 values beside each. No branch
 * depends on the span's length, so that the processor can run many spans ahead: about 40 instructions a span with
 * 32-bit lanes. */
TARGET static void span_sums_narrow(const struct rql_packed *values, const uint64_t *cumulative,
                                    const struct rql_cube_span *spans, size_t count, uint64_t *out)
{
	unsigned bits = values->bits;
	uint64_t base = (uint64_t)values->base, whole = values->count & ~(uint64_t)(RQL_CUBE_BLOCK - 1);
	const uint8_t *data = values->data;
	struct rql_lanes l = rql_narrow_lanes(bits);
	for (size_t s = 0; s < count; s++) {
		if (__builtin_expect(spans[s].end >= whole, 0)) {
			out[s] = sum_before(values, cumulative, spans[s].end) - sum_before(values, cumulative, spans[s].begin);
			continue;
		}
		struct edge a = edge_of(spans[s].begin), b = edge_of(spans[s].end);
		/* Each lane is within 2 * 2 * 2^25, signed. */
		__m512i v = _mm512_sub_epi32(edge_narrow(data, bits, b, l), edge_narrow(data, bits, a, l));
		__m512i sum = _mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_castsi512_si256(v)),
		                               _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(v, 1)));
		out[s] = cumulative[b.index] - cumulative[a.index] + edge_base(b, base) - edge_base(a, base) + add64(sum);
	}
}

TARGET static void span_sums_wide(const struct rql_packed *values, const uint64_t *cumulative,
                                  const struct rql_cube_span *spans, size_t count, uint64_t *out)
{
	unsigned bits = values->bits;
	uint64_t base = (uint64_t)values->base, whole = values->count & ~(uint64_t)(RQL_CUBE_BLOCK - 1);
	const uint8_t *data = values->data;
	struct rql_lanes l = rql_wide_lanes(bits);
	for (size_t s = 0; s < count; s++) {
		if (__builtin_expect(spans[s].end >= whole, 0)) {
			out[s] = sum_before(values, cumulative, spans[s].end) - sum_before(values, cumulative, spans[s].begin);
			continue;
		}
		struct edge a = edge_of(spans[s].begin), b = edge_of(spans[s].end);
		__m512i v = _mm512_sub_epi64(edge_wide(data, bits, b, l), edge_wide(data, bits, a, l));
		out[s] = cumulative[b.index] - cumulative[a.index] + edge_base(b, base) - edge_base(a, base) + add64(v);
	}
}

TARGET static void span_sums_avx512(const struct rql_packed *values, const uint64_t *cumulative,
                                    const struct rql_cube_span *spans, size_t count, uint64_t *out)
{
	if (values->bits >= 1 && values->bits <= NARROW) {
		span_sums_narrow(values, cumulative, spans, count, out);
	} else if (values->bits >= 1 && values->bits <= 57) {
		span_sums_wide(values, cumulative, spans, count, out);
	} else if (values->bits == 0) {
		for (size_t s = 0; s < count; s++)
			out[s] = (uint64_t)values->base * (spans[s].end - spans[s].begin);
	} else {
		for (size_t s = 0; s < count; s++)
			out[s] = sum_before(values, cumulative, spans[s].end) - sum_before(values, cumulative, spans[s].begin);
	}
}

/* ---- unpacking ---- */

/* Floor: bits / 8 bytes read and 4 written a value; 5 instructions for 16 values (10 above 25 bits). */
TARGET static void unpack32_avx512(const struct rql_packed *values, uint64_t begin, size_t n, uint32_t *out)
{
	unsigned bits = values->bits;
	uint64_t first = begin & ~UINT64_C(15), end = begin + n;
	if (bits == 0) {
		memset(out, 0, (begin % 16 + n) * sizeof(*out));
		return;
	}
	const uint8_t *at = values->data + first / 8 * bits;
	if (bits <= NARROW) {
		struct rql_lanes l = rql_narrow_lanes(bits);
		for (; first < end; first += 16, at += 2 * bits, out += 16)
			_mm512_storeu_si512(out, rql_narrow16(at, l));
		return;
	}
	struct rql_lanes l = rql_wide_lanes(bits);
	for (; first < end; first += 8, at += bits, out += 8)
		_mm256_storeu_si256((void *)out, _mm512_cvtepi64_epi32(rql_wide8(at, l)));
}

TARGET static void unpack64_avx512(const struct rql_packed *values, uint64_t begin, size_t n, uint64_t *out)
{
	unsigned bits = values->bits;
	uint64_t first = begin & ~UINT64_C(15), end = begin + n;
	if (bits == 0) {
		memset(out, 0, (begin % 16 + n) * sizeof(*out));
		return;
	}
	const uint8_t *at = values->data + first / 8 * bits;
	if (bits > 57) {
		memcpy(out + begin % 16, values->data + begin * 8, n * 8);
		return;
	}
	struct rql_lanes l = rql_wide_lanes(bits);
	for (; first < end; first += 8, at += bits, out += 8)
		_mm512_storeu_si512(out, rql_wide8(at, l));
}

TARGET static void extremes_avx512(const struct rql_packed *values, uint64_t begin, uint64_t end, uint64_t *least,
                                   uint64_t *greatest)
{
	if (begin >= end)
		return;
	unsigned bits = values->bits;
	if (bits == 0 || bits > 57) {
		rql_cube_kernels_portable.extremes(values, begin, end, least, greatest);
		return;
	}
	struct rql_lanes l = rql_wide_lanes(bits);
	__m512i lo = _mm512_set1_epi64((long long)*least), hi = _mm512_set1_epi64((long long)*greatest);
	uint64_t first = begin & ~UINT64_C(7);
	const uint8_t *at = values->data + first / 8 * bits;
	for (; first < end; first += 8, at += bits) {
		__mmask8 in = (__mmask8)lanes_between(first, begin, end, 8);
		__m512i v = rql_wide8(at, l);
		lo = _mm512_mask_min_epu64(lo, in, lo, v);
		hi = _mm512_mask_max_epu64(hi, in, hi, v);
	}
	*least = _mm512_reduce_min_epu64(lo);
	*greatest = _mm512_reduce_max_epu64(hi);
}

TARGET static double sum_real_avx512(const double *values, uint64_t begin, uint64_t end)
{
	__m512d part = _mm512_setzero_pd();
	uint64_t i = begin;
	for (; i + 8 <= end; i += 8)
		part = _mm512_add_pd(part, _mm512_loadu_pd(values + i));
	if (i < end) {
		__mmask8 in = (__mmask8)((1u << (end - i)) - 1);
		part = _mm512_mask_add_pd(part, in, part, _mm512_maskz_loadu_pd(in, values + i));
	}
	return _mm512_reduce_add_pd(part);
}

const struct rql_cube_kernels rql_cube_kernels_avx512 = {
	.name = "avx512",
	.sum = sum_avx512,
	.span_sums = span_sums_avx512,
	.unpack32 = unpack32_avx512,
	.unpack64 = unpack64_avx512,
	.extremes = extremes_avx512,
	.sum_real = sum_real_avx512,
};
#else
typedef int rql_cube_simd_avx512_not_built; /* ISO C wants a declaration in every file */
#endif
