#version 460
// A row at the pixel of its key: to be counted there (papers/004, 3.4.3), or to find its place in the dense image (3.4.4).
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
layout(location = 0) flat out uint row; // its position

void main()
{
	uint i = uint(gl_VertexIndex), side = args.side == RQL_RASTER_BUILDING ? rql_building() : args.side;
	bool direct = args.list == 0ul || RQL_STATE.at[RQL_RASTER_DIRECT] != 0u;
	row = direct ? i : rql_u32s(args.list).at[i];
	uvec2 key = rql_key(side, row);
	gl_Position = rql_is_null(key) ? rql_nowhere : rql_pixel(rql_pixel_of_key(key), uvec2(1u << args.log2_side));
	gl_PointSize = 1.0;
}
