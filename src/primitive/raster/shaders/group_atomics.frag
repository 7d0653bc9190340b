#version 460
// Adds a row's value to its group's words: rows, a sum of 128 bits, the least and the greatest value.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/group.glsl"
layout(location = 0) flat in uvec2 point;

void main()
{
	uint row = point.x, group = point.y;
	atomicAdd(RQL_WORDS64(RQL_RASTER_AT_COUNTS).at[group], 1ul);
	if (args.wanted == 0u)
		return;
	int64_t value = args.value_bits == 64u ? int64_t(RQL_WORDS64(RQL_RASTER_AT_VALUES).at[row])
	                                       : int64_t(int(RQL_WORDS32(RQL_RASTER_AT_VALUES).at[row]));
	if ((args.wanted & 1u) != 0u) {
		uint64_t old = atomicAdd(RQL_WORDS64(RQL_RASTER_AT_SUMS).at[2u * group], uint64_t(value));
		uint64_t high = (value < 0l ? ~0ul : 0ul) + (old + uint64_t(value) < old ? 1ul : 0ul);
		if (high != 0ul)
			atomicAdd(RQL_WORDS64(RQL_RASTER_AT_SUMS).at[2u * group + 1u], high);
	}
	if ((args.wanted & 2u) != 0u) {
		atomicMin(rql_i64s(rql_u64s(args.table).at[RQL_RASTER_AT_LEAST]).at[group], value);
		atomicMax(rql_i64s(rql_u64s(args.table).at[RQL_RASTER_AT_GREATEST]).at[group], value);
	}
}
