/* Instruction sets that the CPU kernels are compiled for; the widest that the machine has is chosen at start-up (by the
 * CPU device, device/device.h) and can be lowered by the environment variable RAYQL_SIMD=portable|avx2|avx512 (tests
 * run all that exist). */
#ifndef RQL_UTIL_SIMD_H
#define RQL_UTIL_SIMD_H

enum rql_simd { RQL_SIMD_PORTABLE, RQL_SIMD_AVX2, RQL_SIMD_AVX512 };

#endif
