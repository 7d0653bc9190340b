// The bin of a key, by the bounds between bins. Both are distances from the least key.
#ifndef RQL_SIEVE_BINS_GLSL
#define RQL_SIEVE_BINS_GLSL
#include "method/sieve/shaders/sieve_test.glsl"

uint bin_of(const uint64_t bounds, const uint bins, const uint64_t key)
{
	uint low = 0u, high = bins - 1u; // how many bounds are not above the key
	while (low < high) {
		const uint middle = (low + high) / 2u;
		if (SieveKey64(bounds + uint64_t(middle) * 8ul).v <= key)
			low = middle + 1u;
		else
			high = middle;
	}
	return low;
}

#endif
