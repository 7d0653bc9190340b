#version 460
// How many layers each side's rows would take: the greatest count of a pixel (papers/004, 3.4.3).
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
layout(local_size_x_id = 0) in;

void main()
{
	uint64_t i = rql_group() * RQL_RASTER_THREADS + gl_LocalInvocationIndex;
	bool there = i < uint64_t(1u) << 2u * args.log2_side;
	uint mask = (1u << args.log2_side) - 1u;
	ivec2 at = ivec2(uint(i) & mask, uint(i) >> args.log2_side);
	for (uint side = 0u; side < 2u; side++) {
		if (side == 1u && !rql_flag(RQL_RASTER_SNAKE))
			return;
		uint most = subgroupMax(there ? uint(rql_fetch_float(args.stat_images[side], at, 0u).x) : 0u);
		if (subgroupElect() && most != 0u)
			atomicMax(RQL_STATE.at[RQL_RASTER_HEIGHTS + side], most);
	}
}
