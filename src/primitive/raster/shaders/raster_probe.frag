#version 460
// One match: it takes the probe row's next place and is written there.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
layout(location = 0) flat in uvec2 pair;

void main()
{
	rql_put_pair(atomicAdd(rql_u64s(RQL_AT(RQL_RASTER_AT_PLACES)).at[pair.y], 1ul), pair.x, pair.y);
}
