/* The kernels for any processor. */
#include "expr/expr_internal.h"

/* Eight bytes of 0 or 1 at a time: the multiplication brings byte i to bit 56 + i. */
static inline uint64_t pack_bytes(const uint8_t *bytes)
{
	uint64_t word = 0;
	for (unsigned i = 0; i < 8; i++) {
		uint64_t eight = 0;
		for (unsigned k = 0; k < 8; k++)
			eight |= (uint64_t)bytes[i * 8 + k] << 8 * k;
		word |= (eight * UINT64_C(0x0102040810204080) >> 56) << 8 * i;
	}
	return word;
}

#define TARGET
#define KERNELS rql_step_kernels_portable
#define KERNELS_NAME "portable"
#define PACK_BYTES(bytes) pack_bytes(bytes)
#include "expr/run/step_kernels.inc"
