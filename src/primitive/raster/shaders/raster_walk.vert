#version 460
// A probe row that has a match is one point at the row's own pixel, with the number of its matches.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
layout(location = 0) flat out uvec2 point; // row, matches

void main()
{
	uint row = uint(gl_VertexIndex), matches = rql_matches(rql_key(row));
	gl_Position = matches != 0u ? rql_pixel(uvec2(row % args.width, row / args.width), uvec2(args.width, args.height))
	                            : rql_nowhere;
	gl_PointSize = 1.0;
	point = uvec2(row, matches);
}
