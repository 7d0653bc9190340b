#version 460
// Each pixel's rows get neighbouring pixels of the dense image, as many as were counted (papers/004, 3.4.4).
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
layout(local_size_x_id = 0) in;

void main()
{
	uint64_t i = rql_group() * RQL_RASTER_THREADS + gl_LocalInvocationIndex;
	bool there = i < uint64_t(1u) << 2u * args.log2_side;
	uint pixel = uint(i), mask = (1u << args.log2_side) - 1u, count = 0u;
	if (there)
		count = uint(rql_fetch_float(args.stat_images[0], ivec2(pixel & mask, pixel >> args.log2_side), 0u).x);
	if (count >= RQL_RASTER_COUNT_MOST)
		atomicAdd(RQL_POINTS.at[RQL_RASTER_POINTS_FAILED], 1ul);
	uint all = subgroupAdd(count), first = 0u;
	if (subgroupElect() && all != 0u)
		first = atomicAdd(RQL_STATE.at[RQL_RASTER_CURSOR], all);
	first = subgroupBroadcastFirst(first) + RQL_SUBGROUP_BEFORE(count);
	if (there)
		rql_u32s(RQL_AT(RQL_RASTER_AT_NEXT)).at[pixel] = first;
}
