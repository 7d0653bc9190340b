#version 460
// A row as a point at its group's own pixel (papers/004, 4.1.2).
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/group.glsl"
layout(location = 0) flat out uvec2 point; // row, group

void main()
{
	uint row = args.first_row + uint(gl_VertexIndex), group = rql_group_of(row);
	gl_Position = group == RQL_RASTER_NONE ? rql_nowhere
	                                      : rql_pixel(uvec2(rql_pixel_of_group(group)), uvec2(args.width, args.height));
	gl_PointSize = 1.0;
	point = uvec2(row, group);
}
