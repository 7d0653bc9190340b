/* The kernels for processors with AVX2. */
#if defined(__x86_64__)
#include <immintrin.h>
#include "expr/expr_internal.h"

#define TARGET __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))

TARGET static inline __attribute__((always_inline)) uint64_t pack_bytes(const uint8_t *bytes)
{
	__m256i low = _mm256_slli_epi16(_mm256_load_si256((const void *)bytes), 7);
	__m256i high = _mm256_slli_epi16(_mm256_load_si256((const void *)(bytes + 32)), 7);
	return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

#define KERNELS rql_step_kernels_avx2
#define KERNELS_NAME "avx2"
#define PACK_BYTES(bytes) pack_bytes(bytes)
#include "expr/run/step_kernels.inc"
#else
typedef int rql_steps_avx2_unused;
#endif
