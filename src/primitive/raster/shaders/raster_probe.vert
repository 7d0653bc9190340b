#version 460
// A probe row in one layer, an instance: if the pixel of its key has its key, it is a point at the row's own pixel
// (papers/004, 3.2 and 3.3). Nothing else is drawn.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
layout(location = 0) flat out uvec2 pair; // positions: build row, probe row

void main()
{
	uint position = uint(gl_VertexIndex), side = rql_probing();
	uvec2 key = rql_key(side, position);
	uvec4 pixel = rql_fetch(args.stack_image, ivec2(rql_pixel_of_key(key)), uint(gl_InstanceIndex));
	uint found = rql_stored(pixel);
	bool equal = found != 0u && rql_has_key(pixel, key) && !rql_is_null(key);
	if (equal)
		equal = rql_matches(rql_building(), found - 1u, position);
	gl_Position = equal ? rql_pixel(rql_pixel_of_probe(side, position), uvec2(args.width, args.height)) : rql_nowhere;
	gl_PointSize = 1.0;
	pair = uvec2(found - 1u, position);
}
