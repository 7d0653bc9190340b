/* The inner loops over decoded vectors, one table of functions per instruction set. Masks have bit r of word r / 64 for
 * row r; n is at most RQL_SCAN_BLOCK; arrays have RQL_SCAN_SLACK entries
 * behind the last one that may be read. */
#ifndef RQL_METHOD_SCAN_SCAN_SIMD_H
#define RQL_METHOD_SCAN_SCAN_SIMD_H

#include "device/device.h"
#include <stddef.h>
#include <string.h>

#define RQL_SCAN_BLOCK 4096u /* RQL_STORE_BLOCK */
#define RQL_SCAN_MASK_WORDS (RQL_SCAN_BLOCK / 64)
#define RQL_SCAN_SLACK 64u

struct rql_scan_kernels {
	const char *name;
	/* mask &= value - least <= span (unsigned): a range test with one comparison. Bits from n on stay what they are. */
	void (*range32)(const uint32_t *values, uint32_t n, uint32_t least, uint32_t span, uint64_t *mask);
	void (*range64)(const int64_t *values, uint32_t n, int64_t least, uint64_t span, uint64_t *mask);
	/* mask &= value + add < limit (modulo 2^32) and its bit in `bits` is set; limit <= 2^31. bits has whole words. */
	void (*bits32)(const uint32_t *values, uint32_t n, uint32_t add, const uint32_t *bits, uint32_t limit,
	               uint64_t *mask);
	/* The same for value - least < span (modulo 2^64); span <= 2^31. */
	void (*bits64)(const int64_t *values, uint32_t n, int64_t least, const uint32_t *bits, uint32_t span,
	               uint64_t *mask);
	/* Of the rows set in mask, the i-th stays set when bit i of `bits` is, which has a word more than it needs. */
	void (*deposit)(uint64_t *mask, uint32_t words, const uint64_t *bits);
	/* The rows whose bit is set, ascending; returns how many. rows has room for 16 more. */
	uint32_t (*select)(const uint64_t *mask, uint32_t words, uint32_t *rows);
	/* out[i] = base + the field of `bits` bits (1 to 57) at rows[i], modulo 2^64 or 2^32 (column/store/store.h: PACKED). */
	void (*fetch64)(const uint8_t *data, uint32_t bits, uint64_t base, const uint32_t *rows, uint32_t n, int64_t *out);
	void (*fetch32)(const uint8_t *data, uint32_t bits, uint64_t base, const uint32_t *rows, uint32_t n, uint32_t *out);
	/* Bits set in `words` words. */
	uint32_t (*count)(const uint64_t *mask, uint32_t words);
	/* Sum modulo 2^64. */
	uint64_t (*sum64)(const int64_t *values, uint32_t n);
};

/* The widest kernels that both the machine has and `simd` allows. */
const struct rql_scan_kernels *rql_scan_kernels_for(enum rql_simd simd);

extern const struct rql_scan_kernels rql_scan_kernels_portable;
#if defined(__x86_64__)
extern const struct rql_scan_kernels rql_scan_kernels_avx2;
extern const struct rql_scan_kernels rql_scan_kernels_avx512;
#endif

#endif
