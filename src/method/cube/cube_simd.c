/* Which kernels run; and the portable ones. */
#include "method/cube/cube_simd.h"

const struct rql_cube_kernels *rql_cube_kernels_for(enum rql_simd simd)
{
#if defined(__x86_64__)
	/* Without VBMI's byte permutation 512-bit unpacking gains nothing over AVX2, so there is no variant between. */
	if (simd >= RQL_SIMD_AVX512 && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		return &rql_cube_kernels_avx512;
	if (simd >= RQL_SIMD_AVX2 && __builtin_cpu_supports("avx2"))
		return &rql_cube_kernels_avx2;
#endif
	(void)simd;
	return &rql_cube_kernels_portable;
}

/* Floor of all of these: bits / 8 bytes a value from memory; here about 5 operations a value (load, shift, mask, add,
 * address), so one value per 1 to 2 cycles. */
static uint64_t sum_portable(const struct rql_packed *values, uint64_t begin, uint64_t end)
{
	unsigned bits = values->bits;
	if (bits == 0)
		return 0;
	uint64_t mask = rql_bit_mask(bits), bit = begin * bits, sum = 0;
	for (uint64_t i = begin; i < end; i++, bit += bits) {
		uint64_t word;
		memcpy(&word, values->data + (bit >> 3), 8);
		sum += word >> (bit & 7) & mask;
	}
	return sum;
}

/* Sum with base of everything before cell x: the nearer block boundary and the cells between. */
static uint64_t prefix_portable(const struct rql_packed *values, const uint64_t *cumulative, uint64_t x)
{
	uint64_t block = x / RQL_CUBE_BLOCK, first = block * RQL_CUBE_BLOCK, base = (uint64_t)values->base;
	if (x - first > RQL_CUBE_BLOCK / 2 && block < values->count / RQL_CUBE_BLOCK) {
		uint64_t next = first + RQL_CUBE_BLOCK;
		return cumulative[block + 1] - sum_portable(values, x, next) - base * (next - x);
	}
	return cumulative[block] + sum_portable(values, first, x) + base * (x - first);
}

static void span_sums_portable(const struct rql_packed *values, const uint64_t *cumulative,
                               const struct rql_cube_span *spans, size_t count, uint64_t *out)
{
	for (size_t s = 0; s < count; s++) {
		uint64_t n = spans[s].end - spans[s].begin;
		if (n <= RQL_CUBE_BLOCK / 2)
			out[s] = sum_portable(values, spans[s].begin, spans[s].end) + (uint64_t)values->base * n;
		else
			out[s] =
				prefix_portable(values, cumulative, spans[s].end) - prefix_portable(values, cumulative, spans[s].begin);
	}
}

static void unpack32_portable(const struct rql_packed *values, uint64_t begin, size_t n, uint32_t *out)
{
	out += begin % RQL_CUBE_GROUP;
	if (values->bits == 0) {
		memset(out, 0, n * sizeof(*out));
		return;
	}
	for (size_t i = 0; i < n; i++)
		out[i] = (uint32_t)rql_packed_field(values, begin + i);
}

static void unpack64_portable(const struct rql_packed *values, uint64_t begin, size_t n, uint64_t *out)
{
	out += begin % RQL_CUBE_GROUP;
	if (values->bits == 0) {
		memset(out, 0, n * sizeof(*out));
		return;
	}
	for (size_t i = 0; i < n; i++)
		out[i] = rql_packed_field(values, begin + i);
}

static void extremes_portable(const struct rql_packed *values, uint64_t begin, uint64_t end, uint64_t *least,
                              uint64_t *greatest)
{
	uint64_t lo = *least, hi = *greatest;
	for (uint64_t i = begin; i < end; i++) {
		uint64_t value = rql_packed_field(values, i);
		lo = value < lo ? value : lo;
		hi = value > hi ? value : hi;
	}
	*least = lo;
	*greatest = hi;
}

/* Eight partial sums: the order of additions is fixed, whatever the compiler makes of it. */
static double sum_real_portable(const double *values, uint64_t begin, uint64_t end)
{
	double part[8] = {0};
	uint64_t i = begin;
	for (; i + 8 <= end; i += 8)
		for (unsigned k = 0; k < 8; k++)
			part[k] += values[i + k];
	for (unsigned k = 0; i < end; i++, k++)
		part[k] += values[i];
	return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

const struct rql_cube_kernels rql_cube_kernels_portable = {
	.name = "portable",
	.sum = sum_portable,
	.span_sums = span_sums_portable,
	.unpack32 = unpack32_portable,
	.unpack64 = unpack64_portable,
	.extremes = extremes_portable,
	.sum_real = sum_real_portable,
};
