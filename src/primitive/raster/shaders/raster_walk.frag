#version 460
// The row's matches at once: blending adds them to those of the stack. Or its pairs, from its place on. A fragment shader
// runs once a point.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
layout(location = 0) flat in uvec2 point;
#if PAIRS
void main()
{
	uint built = rql_building(), left = point.y;
	uvec2 key = rql_key(rql_probing(), point.x), rows = rql_dense_rows(rql_pixel_of_key(key));
	uint64_t place = rql_u64s(RQL_AT(RQL_RASTER_AT_PLACES)).at[point.x];
	for (uint i = 0u; i < rows.y && left != 0u; i++) {
		uint position = rql_dense_position(rows.x + i);
		if (rql_key(built, position) != key || !rql_matches(built, position, point.x))
			continue;
		left--;
		rql_put_pair(place, position, point.x);
		place++;
	}
}
#else
layout(location = 0) out vec4 count;

void main()
{
	count = vec4(point.y);
}
#endif
