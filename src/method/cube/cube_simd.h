/* The inner loops over packed values, one table of functions per instruction set. All of them read packed arrays of
 * 0..57 or 64 bits; 128-bit arrays have rql_packed_get. Values are the stored ones, without `base`, unless said
 * otherwise. Empty ranges are legal everywhere. Reads stay within RQL_PACKED_SLACK bytes of the last value. */
#ifndef RQL_METHOD_CUBE_CUBE_SIMD_H
#define RQL_METHOD_CUBE_CUBE_SIMD_H

#include "method/cube/cube_pack.h"
#include <stddef.h>

/* Cells [begin, end). */
struct rql_cube_span {
	uint64_t begin, end;
};

/* Unpacking works in whole groups of this many values, so that every group starts at a byte. */
#define RQL_CUBE_GROUP 16u
/* Room of an unpack buffer for n values. */
#define RQL_CUBE_UNPACK_ROOM(n) ((n) + 2 * RQL_CUBE_GROUP)

struct rql_cube_kernels {
	const char *name;
	/* Sum of the values [begin, end), modulo 2^64. */
	uint64_t (*sum)(const struct rql_packed *values, uint64_t begin, uint64_t end);
	/* out[s] = sum of span s, `base` included, modulo 2^64. cumulative[b] is the sum, with base, of all values before
	 * b * RQL_CUBE_BLOCK, b <= count / RQL_CUBE_BLOCK. */
	void (*span_sums)(const struct rql_packed *values, const uint64_t *cumulative, const struct rql_cube_span *spans,
	                  size_t count, uint64_t *out);
	/* Values [begin, begin + n) to out[begin % RQL_CUBE_GROUP ...]; out has RQL_CUBE_UNPACK_ROOM(n) entries, and
	 * those around the wanted ones are overwritten with anything. unpack32 takes at most 32 bits. */
	void (*unpack32)(const struct rql_packed *values, uint64_t begin, size_t n, uint32_t *out);
	void (*unpack64)(const struct rql_packed *values, uint64_t begin, size_t n, uint64_t *out);
	/* Least and greatest of [begin, end), folded into what is there already. */
	void (*extremes)(const struct rql_packed *values, uint64_t begin, uint64_t end, uint64_t *least,
	                 uint64_t *greatest);
	double (*sum_real)(const double *values, uint64_t begin, uint64_t end);
};

/* The widest kernels that both the machine has and `simd` allows. */
const struct rql_cube_kernels *rql_cube_kernels_for(enum rql_simd simd);

extern const struct rql_cube_kernels rql_cube_kernels_portable;
#if defined(__x86_64__)
extern const struct rql_cube_kernels rql_cube_kernels_avx2;
extern const struct rql_cube_kernels rql_cube_kernels_avx512; /* needs VBMI */
#endif

#endif
