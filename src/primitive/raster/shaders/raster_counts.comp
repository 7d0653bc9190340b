#version 460
// The image of counts as a list, or as flags: has the row a match, or does it lack one?
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
layout(local_size_x_id = 0) in;

void main()
{
	uint64_t i = rql_group() * RQL_RASTER_THREADS + gl_LocalInvocationIndex;
	if (i >= args.rows)
		return;
	uint row = uint(i), count = uint(rql_fetch_float(args.image, ivec2(row % args.width, row / args.width), 0u).x);
	bool has = count != 0u;
	rql_u32s(args.result).at[row] = args.what == RQL_RASTER_COUNTS ? count : uint(has == (args.what == RQL_RASTER_HAS));
}
