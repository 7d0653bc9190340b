/* The kernels for processors with AVX-512 F, BW, DQ and VL. */
#if defined(__x86_64__)
#include <immintrin.h>
#include "expr/expr_internal.h"

#if defined(__clang__)
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,lzcnt,popcnt")))
#else /* gcc's loops stay with 256 bits unless told */
#define TARGET                                                                                                         \
	__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,lzcnt,popcnt,prefer-vector-width=512")))
#endif

TARGET static inline __attribute__((always_inline)) uint64_t pack_bytes(const uint8_t *bytes)
{
	__m512i v = _mm512_load_si512((const void *)bytes);
	return _mm512_test_epi8_mask(v, v);
}

#define KERNELS_AVX512
#define KERNELS rql_step_kernels_avx512
#define KERNELS_NAME "avx512"
#define PACK_BYTES(bytes) pack_bytes(bytes)
#include "expr/run/step_kernels.inc"
#else
typedef int rql_steps_avx512_unused;
#endif
