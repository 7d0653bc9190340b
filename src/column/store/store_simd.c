/* Which kernels run; and the portable ones, which the others must equal. */
#include "column/store/store_internal.h"

const struct rql_store_kernels *rql_store_kernels_for(enum rql_simd simd)
{
#if defined(__x86_64__)
	if (simd >= RQL_SIMD_AVX512 && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		return &rql_store_kernels_avx512;
	if (simd >= RQL_SIMD_AVX2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
		return &rql_store_kernels_avx2;
#endif
	(void)simd;
	return &rql_store_kernels_portable;
}

void rql_store_set_window(const uint64_t *set, uint32_t base, uint32_t last, uint64_t *window, uint32_t words)
{
	uint32_t shift = base & 63;
	for (uint32_t w = 0; w < words; w++) {
		uint64_t first = (uint64_t)base + w * 64, left = first <= last ? last - first + 1 : 0;
		uint64_t word = left ? set[first >> 6] >> shift : 0;
		if (shift && left > 64 - shift)
			word |= set[(first >> 6) + 1] << (64 - shift);
		window[w] = left < 64 ? word & ((UINT64_C(1) << left) - 1) : word;
	}
}

/* Field i of a packed array; bits 1..57 or 64. About 5 operations a row: load, shift, mask, add, address. */
static inline __attribute__((always_inline)) uint64_t field(const uint8_t *data, uint32_t bits, uint64_t mask,
                                                            uint64_t i)
{
	uint64_t word, bit = i * bits;
	memcpy(&word, data + (bit >> 3), 8);
	return word >> (bit & 7) & mask;
}

static void unpack32(const uint8_t *data, uint32_t bits, uint32_t words, uint32_t base, uint32_t *out)
{
	uint64_t mask = rql_bit_mask(bits);
	for (uint32_t i = 0; i < words * 64; i++)
		out[i] = base + (bits ? (uint32_t)field(data, bits, mask, i) : 0);
}

static void unpack64(const uint8_t *data, uint32_t bits, uint32_t words, uint64_t base, uint64_t *out)
{
	uint64_t mask = rql_bit_mask(bits);
	for (uint32_t i = 0; i < words * 64; i++)
		out[i] = base + (bits ? field(data, bits, mask, i) : 0);
}

static void range(const uint8_t *data, uint32_t bits, uint32_t words, uint64_t low, uint64_t span, uint64_t *mask)
{
	uint64_t all = rql_bit_mask(bits);
	for (uint32_t w = 0; w < words; w++) {
		uint64_t pass = 0;
		if (!mask[w])
			continue;
		for (uint32_t i = 0; i < 64; i++)
			pass |= (uint64_t)(field(data, bits, all, (uint64_t)w * 64 + i) - low <= span) << i;
		mask[w] &= pass;
	}
}

static void in_set(const uint8_t *data, uint32_t bits, uint32_t words, uint32_t base, uint32_t last,
                   const uint64_t *set, uint64_t *mask)
{
	uint64_t all = rql_bit_mask(bits);
	(void)last;
	for (uint32_t w = 0; w < words; w++) {
		uint64_t pass = 0;
		/* Only where it matters: the padding's code may lie outside the set. */
		for (uint64_t left = mask[w]; left; left &= left - 1) {
			uint32_t i = (uint32_t)__builtin_ctzll(left);
			uint32_t code = base + (uint32_t)field(data, bits, all, (uint64_t)w * 64 + i);
			pass |= rql_bit(set, code) << i;
		}
		mask[w] = pass;
	}
}

#define RANGE_REAL(name, ctype)                                                                                        \
	static void name(const uint8_t *data, uint32_t words, double low, double high, bool nan, uint64_t *mask)           \
	{                                                                                                                  \
		for (uint32_t w = 0; w < words; w++) {                                                                         \
			uint64_t pass = 0;                                                                                         \
			if (!mask[w])                                                                                              \
				continue;                                                                                              \
			for (uint32_t i = 0; i < 64; i++) {                                                                        \
				ctype x;                                                                                               \
				memcpy(&x, data + ((uint64_t)w * 64 + i) * sizeof x, sizeof x);                                        \
				bool in = ((double)x >= low && (double)x <= high) || (nan && x != x);                                  \
				pass |= (uint64_t)in << i;                                                                             \
			}                                                                                                          \
			mask[w] &= pass;                                                                                           \
		}                                                                                                              \
	}
RANGE_REAL(range_double, double)
RANGE_REAL(range_float, float)

static void prefix(uint64_t *values, uint32_t n, uint64_t start)
{
	for (uint32_t i = 0; i < n; i++)
		values[i] = start += values[i];
}

static void widen(const float *from, uint32_t n, double *out)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = (double)from[i];
}

static void translate(uint32_t *codes, uint32_t n, const uint32_t *map)
{
	for (uint32_t i = 0; i < n; i++)
		codes[i] = map[codes[i]];
}

static uint32_t compress32(const uint32_t *in, const uint64_t *mask, uint32_t words, uint32_t *out)
{
	uint32_t n = 0;
	for (uint32_t w = 0; w < words; w++)
		for (uint64_t left = mask[w]; left; left &= left - 1)
			out[n++] = in[w * 64 + (uint32_t)__builtin_ctzll(left)];
	return n;
}

static uint32_t compress64(const uint64_t *in, const uint64_t *mask, uint32_t words, uint64_t *out)
{
	uint32_t n = 0;
	for (uint32_t w = 0; w < words; w++)
		for (uint64_t left = mask[w]; left; left &= left - 1)
			out[n++] = in[w * 64 + (uint32_t)__builtin_ctzll(left)];
	return n;
}

const struct rql_store_kernels rql_store_kernels_portable = {
	.name = "portable",
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
