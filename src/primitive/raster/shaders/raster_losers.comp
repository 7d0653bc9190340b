#version 460
// Lists the rows of a layer's draw whose pixel another one has: they are drawn to the next layer (papers/004, 3.1.2).
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
layout(local_size_x_id = 0) in;

void main()
{
	uint64_t i = rql_group() * RQL_RASTER_THREADS + gl_LocalInvocationIndex;
	bool lost = false;
	uint position = 0u, side = rql_building(), draw = RQL_RASTER_DRAW_BUILD + 4u * args.layer;
	if (i < uint64_t(RQL_STATE.at[draw])) {
		position = args.list != 0ul ? rql_u32s(args.list).at[uint(i)] : uint(i) + RQL_STATE.at[draw + 2u];
		uvec2 key = rql_key(side, position);
		uvec4 pixel = rql_fetch(args.stack_image, ivec2(rql_pixel_of_key(key)), args.layer);
		uint winner = rql_stored(pixel);
		lost = winner != position + 1u && !rql_is_null(key);
		if (lost && rql_flag(RQL_RASTER_DROPS_EQUAL) && rql_has_key(pixel, key))
			lost = !rql_same(winner - 1u, position);
	}
	uvec4 losers = subgroupBallot(lost);
	uint first = 0u;
	if (subgroupElect() && losers != uvec4(0u))
		first = atomicAdd(RQL_STATE.at[draw + 4u], subgroupBallotBitCount(losers));
	first = subgroupBroadcastFirst(first);
	if (lost)
		rql_u32s(args.list_out).at[first + subgroupBallotExclusiveBitCount(losers)] = position;
}
