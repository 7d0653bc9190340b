#version 460
// One thread: which rows the rounds of a partition draw; afterwards, what they have drawn.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/group.glsl"
#include "primitive/shaders/groups.glsl"
layout(local_size_x_id = 0) in;

void put_draw(uint at, uint vertices, uint first)
{
	RQL_STATE.at[at] = vertices;
	RQL_STATE.at[at + 1u] = 1u;
	RQL_STATE.at[at + 2u] = first;
	RQL_STATE.at[at + 3u] = 0u;
}

void begin()
{
	uint64_t starts = RQL_AT(RQL_RASTER_GROUP_AT_STARTS), found = RQL_AT(RQL_RASTER_GROUP_AT_FOUND);
	uint64_t most = RQL_AT(RQL_RASTER_GROUP_AT_ROWS);
	uint all = uint(found != 0ul ? min(rql_u64s(found).at[0], most) : most);
	uint first = starts != 0ul ? rql_u32s(starts).at[args.number] : 0u;
	uint rows = (starts != 0ul ? rql_u32s(starts).at[args.number + 1u] : all) - first;
	put_draw(0u, rows, first);
	for (uint round = 1u; round < args.rounds; round++)
		put_draw(4u * round, 0u, 0u);
	if (args.number == 0u)
		put_draw(4u * args.rounds, 0u, 0u); // the rest of all partitions
	put_draw(RQL_RASTER_GROUP_DRAW_TOTALS(args.rounds), all, 0u);
	uint groups = rows / RQL_RASTER_THREADS + (rows % RQL_RASTER_THREADS != 0u ? 1u : 0u);
	uvec3 sizes = rql_groups_of(groups);
	for (uint i = 0u; i < 3u; i++)
		RQL_STATE.at[RQL_RASTER_GROUP_GROUPS(args.rounds) + i] = sizes[i];
}

void end()
{
	rql_u64s points = RQL_WORDS64(RQL_RASTER_GROUP_AT_POINTS);
	uint rounds = 0u;
	for (uint round = 0u; round < args.rounds; round++) {
		points.at[0] += uint64_t(RQL_STATE.at[4u * round]);
		rounds += RQL_STATE.at[4u * round] != 0u ? 1u : 0u;
	}
	points.at[1] = uint64_t(RQL_STATE.at[RQL_RASTER_GROUP_DRAW_TOTALS(args.rounds)]);
	points.at[2] = max(points.at[2], uint64_t(rounds));
	points.at[3] += rounds != 0u ? 1ul : 0ul;
	points.at[4] = uint64_t(RQL_STATE.at[4u * args.rounds]);
}

void main()
{
	if (rql_group() != 0ul || gl_LocalInvocationIndex != 0u)
		return;
	if (args.what == RQL_RASTER_GROUP_BEGIN)
		begin();
	else
		end();
}
