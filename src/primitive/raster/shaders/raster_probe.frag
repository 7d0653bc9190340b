#version 460
// One match: it takes the probe row's next place and is written there.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
layout(location = 0) flat in uvec2 pair;

void main()
{
	uint64_t place = atomicAdd(rql_u64s(args.starts).at[pair.y], 1ul);
	if (place < args.capacity) {
		rql_u32s(args.build_rows).at[uint(place)] = pair.x;
		rql_u32s(args.probe_rows).at[uint(place)] = pair.y;
	}
}
