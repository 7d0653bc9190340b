#version 460
// A build row as a point at the pixel of its key (papers/004, 3.1).
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
layout(location = 0) flat out uvec4 value;

void main()
{
	uint i = uint(gl_VertexIndex), position = args.list != 0ul ? rql_u32s(args.list).at[i] : i;
	uvec2 key = rql_key(rql_building(), position);
	gl_Position = rql_is_null(key) ? rql_nowhere : rql_pixel(rql_pixel_of_key(key), uvec2(1u << args.log2_side));
	gl_PointSize = 1.0;
	value = rql_packed(key, position);
}
