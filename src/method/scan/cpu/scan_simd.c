/* Which kernels run; and the portable ones. */
#include "method/scan/cpu/scan_simd.h"
#include "util/bits.h"

const struct rql_scan_kernels *rql_scan_kernels_for(enum rql_simd simd)
{
#if defined(__x86_64__)
	if (simd >= RQL_SIMD_AVX512 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512vl"))
		return &rql_scan_kernels_avx512;
	if (simd >= RQL_SIMD_AVX2 && __builtin_cpu_supports("avx2"))
		return &rql_scan_kernels_avx2;
#endif
	(void)simd;
	return &rql_scan_kernels_portable;
}

/* Floor of the tests: 4 or 8 bytes a value from the first-level cache and one bit out; here about 4 operations a value.
 * A word of the mask that is 0 already is not worked out again. */
static void range32_portable(const uint32_t *values, uint32_t n, uint32_t least, uint32_t span, uint64_t *mask)
{
	for (uint32_t first = 0; first < n; first += 64) {
		uint32_t count = n - first < 64 ? n - first : 64;
		uint64_t pass = count < 64 ? ~UINT64_C(0) << count : 0;
		if (!mask[first / 64])
			continue;
		for (uint32_t i = 0; i < count; i++)
			pass |= (uint64_t)(values[first + i] - least <= span) << i;
		mask[first / 64] &= pass;
	}
}

static void range64_portable(const int64_t *values, uint32_t n, int64_t least, uint64_t span, uint64_t *mask)
{
	for (uint32_t first = 0; first < n; first += 64) {
		uint32_t count = n - first < 64 ? n - first : 64;
		uint64_t pass = count < 64 ? ~UINT64_C(0) << count : 0;
		if (!mask[first / 64])
			continue;
		for (uint32_t i = 0; i < count; i++)
			pass |= (uint64_t)((uint64_t)values[first + i] - (uint64_t)least <= span) << i;
		mask[first / 64] &= pass;
	}
}

static void bits32_portable(const uint32_t *values, uint32_t n, uint32_t add, const uint32_t *bits, uint32_t limit,
                            uint64_t *mask)
{
	for (uint32_t first = 0; first < n; first += 64) {
		uint32_t count = n - first < 64 ? n - first : 64;
		uint64_t pass = count < 64 ? ~UINT64_C(0) << count : 0;
		if (!mask[first / 64])
			continue;
		for (uint32_t i = 0; i < count; i++) {
			uint32_t at = values[first + i] + add;
			pass |= (uint64_t)(at < limit && (bits[at / 32] >> at % 32 & 1)) << i;
		}
		mask[first / 64] &= pass;
	}
}

static void bits64_portable(const int64_t *values, uint32_t n, int64_t least, const uint32_t *bits, uint32_t span,
                            uint64_t *mask)
{
	for (uint32_t first = 0; first < n; first += 64) {
		uint32_t count = n - first < 64 ? n - first : 64;
		uint64_t pass = count < 64 ? ~UINT64_C(0) << count : 0;
		if (!mask[first / 64])
			continue;
		for (uint32_t i = 0; i < count; i++) {
			uint64_t at = (uint64_t)values[first + i] - (uint64_t)least;
			pass |= (uint64_t)(at < span && (bits[at / 32] >> at % 32 & 1)) << i;
		}
		mask[first / 64] &= pass;
	}
}

static void deposit_portable(uint64_t *mask, uint32_t words, const uint64_t *bits)
{
	uint32_t i = 0;
	for (uint32_t w = 0; w < words; w++) {
		uint64_t kept = 0;
		for (uint64_t word = mask[w]; word; word &= word - 1, i++)
			if (rql_bit(bits, i))
				kept |= word & -word;
		mask[w] = kept;
	}
}

static uint64_t sum64_portable(const int64_t *values, uint32_t n)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < n; i++)
		sum += (uint64_t)values[i];
	return sum;
}

static uint32_t count_portable(const uint64_t *mask, uint32_t words)
{
	uint32_t count = 0;
	for (uint32_t w = 0; w < words; w++)
		count += mask[w] ? (uint32_t)__builtin_popcountll(mask[w]) : 0;
	return count;
}

static uint32_t select_portable(const uint64_t *mask, uint32_t words, uint32_t *rows)
{
	uint32_t count = 0;
	for (uint32_t w = 0; w < words; w++)
		for (uint64_t word = mask[w]; word; word &= word - 1)
			rows[count++] = w * 64 + (uint32_t)__builtin_ctzll(word);
	return count;
}

/* Floor: a cache line a value when rows are far apart, bits / 8 bytes when they are close; 6 operations a value. */
static uint64_t field_at(const uint8_t *data, uint32_t bits, uint32_t row)
{
	uint64_t bit = (uint64_t)row * bits, word;
	memcpy(&word, data + (bit >> 3), sizeof(word));
	return word >> (bit & 7) & ((UINT64_C(1) << bits) - 1);
}

static void fetch64_portable(const uint8_t *data, uint32_t bits, uint64_t base, const uint32_t *rows, uint32_t n,
                             int64_t *out)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = (int64_t)(base + field_at(data, bits, rows[i]));
}

static void fetch32_portable(const uint8_t *data, uint32_t bits, uint64_t base, const uint32_t *rows, uint32_t n,
                             uint32_t *out)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = (uint32_t)(base + field_at(data, bits, rows[i]));
}

const struct rql_scan_kernels rql_scan_kernels_portable = {
	.name = "portable",
	.range32 = range32_portable,
	.range64 = range64_portable,
	.bits32 = bits32_portable,
	.bits64 = bits64_portable,
	.deposit = deposit_portable,
	.select = select_portable,
	.fetch64 = fetch64_portable,
	.fetch32 = fetch32_portable,
	.count = count_portable,
	.sum64 = sum64_portable,
};
