// The key of a cell: its directory key by searching the offsets, its residual digits from their packed codes.
#ifndef RQL_CUBE_RT_KEYS_GLSL
#define RQL_CUBE_RT_KEYS_GLSL
#include "method/cube/rt/cube_rt_kernels.h"

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer rql_rt_word32 { uint32_t value; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer rql_rt_word64 { uint64_t value; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer rql_rt_digits { rql_rt_digit at[]; };

uint32_t rql_rt_load32(uint64_t address, uint64_t i)
{
	return rql_rt_word32(address + 4 * i).value;
}

uint64_t rql_rt_load64(uint64_t address, uint64_t i)
{
	return rql_rt_word64(address + 8 * i).value;
}

uint64_t rql_rt_offset(uint64_t address, bool wide, uint64_t i)
{
	return wide ? rql_rt_load64(address, i) : uint64_t(rql_rt_load32(address, i));
}

// Value i of a packed column without its base (cube.h: rql_packed), for widths up to 32.
uint32_t rql_rt_code(uint64_t data, uint32_t bits, uint64_t i)
{
	if (bits == 0)
		return 0;
	uint64_t bit = i * bits;
	uint64_t word = bit >> 5; // the slack behind the last value makes word + 1 readable
	uint64_t both = uint64_t(rql_rt_load32(data, word)) | uint64_t(rql_rt_load32(data, word + 1)) << 32;
	return uint32_t(both >> uint32_t(bit & 31)) & uint32_t((uint64_t(1) << bits) - 1);
}

// The last key whose offset is at most `cell`, so that the cell is its.
uint64_t rql_rt_key_of(uint64_t directory, uint64_t size, bool wide, uint64_t cell)
{
	if (directory == 0)
		return 0;
	uint64_t low = 0, high = size; // offset[low] <= cell < offset[high]
	while (high - low > 1) {
		uint64_t middle = (low + high) >> 1;
		if (rql_rt_offset(directory, wide, middle) <= cell)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint32_t rql_rt_value_of(rql_rt_digit digit, uint64_t key, uint64_t cell)
{
	if (digit.key_stride != 0)
		return uint32_t(key / digit.key_stride % digit.radix);
	return digit.base + rql_rt_code(digit.codes, digit.bits, cell);
}
#endif
