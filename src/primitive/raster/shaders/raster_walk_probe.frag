#version 460
// Writes the pairs of a probe row from its place on, down the stack. A fragment shader runs once a point.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
layout(location = 0) flat in uvec2 point;

void main()
{
	uint row = point.x, left = point.y;
	uvec2 key = rql_key(row);
	ivec2 at = ivec2(rql_pixel_of_key(key));
	uint64_t place = rql_u64s(args.starts).at[row];
	for (uint layer = 0u; left != 0u; layer++) {
		uvec3 found = rql_unpacked(rql_fetch(args.image, at, layer));
		if (found.xy != key)
			continue;
		left--;
		if (place < args.capacity) {
			rql_u32s(args.build_rows).at[uint(place)] = found.z - 1u;
			rql_u32s(args.probe_rows).at[uint(place)] = row;
		}
		place++;
	}
}
