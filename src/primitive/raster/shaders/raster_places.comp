#version 460
// Where each probe row's next pairs go: as many as the count image has more than before. The order is not determined, so a
// subgroup takes its places by one atomic, in place of the paper's prefix sum (papers/004, 3.2.2).
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
	uint side = rql_probing(), position = RQL_STATE.at[RQL_RASTER_FIRST + side] + uint(i), count = 0u;
	bool there = i < uint64_t(RQL_STATE.at[RQL_RASTER_SIDE_ROWS + side]);
	if (there) {
		count = uint(rql_fetch_float(args.count_image, ivec2(rql_pixel_of_probe(side, position)), 0u).x);
		if (count >= RQL_RASTER_COUNT_MOST)
			atomicAdd(RQL_POINTS.at[RQL_RASTER_POINTS_FAILED], 1ul);
		uint before = RQL_STATE.at[RQL_RASTER_SEEN] != 0u ? rql_u32s(RQL_AT(RQL_RASTER_AT_COUNTS)).at[position] : 0u;
		rql_u32s(RQL_AT(RQL_RASTER_AT_COUNTS)).at[position] = count;
		count -= before;
	}
	uint all = subgroupAdd(count);
	uint64_t first = 0ul;
	if (subgroupElect() && all != 0u)
		first = atomicAdd(rql_u64s(RQL_AT(RQL_RASTER_AT_ROWS)).at[0], uint64_t(all));
	first = packUint2x32(subgroupBroadcastFirst(unpackUint2x32(first))) + RQL_SUBGROUP_BEFORE(count);
	if (there)
		rql_u64s(RQL_AT(RQL_RASTER_AT_PLACES)).at[position] = first;
}
