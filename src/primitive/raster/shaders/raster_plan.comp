#version 460
// One workgroup: the counts of all draws before the first one, and of the probe rows' draw when the stack stands; then
// also how many rows are left, and what is drawn in all.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
layout(local_size_x_id = 0) in;

void main()
{
	if (rql_group() != 0ul || gl_LocalInvocationIndex != 0u)
		return;
	rql_u32s state = rql_u32s(args.state);
	if (args.what == RQL_RASTER_BEGIN) {
		for (uint i = 0u; i < 4u * (args.layers + 2u); i++)
			state.at[i] = i == 0u ? args.rows : i % 4u == 1u ? 1u : 0u;
		return;
	}
	uint used = 0u;
	uint64_t built = 0ul;
	for (uint i = 0u; i < args.layers; i++) {
		used += state.at[4u * i] != 0u ? 1u : 0u;
		built += state.at[4u * i];
	}
	state.at[4u * args.layers + 4u] = args.rows;
	state.at[4u * args.layers + 5u] = args.walks != 0u ? min(used, 1u) : used;
	rql_u64s(args.out_count).at[0] = state.at[4u * args.layers];
	if (args.result != 0ul) {
		uint64_t probed = uint64_t(args.rows) * state.at[4u * args.layers + 5u];
		rql_u64s(args.result).at[0] = built;
		rql_u64s(args.result).at[1] = probed;
		rql_u64s(args.result).at[2] = args.starts != 0ul ? probed : 0ul; // pairs are drawn, too
		rql_u64s(args.result).at[3] = used;
	}
}
