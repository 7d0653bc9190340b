#version 460
// One thread: what is drawn next, and how much, follows from what there is on the device.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
#include "primitive/shaders/groups.glsl"
layout(local_size_x_id = 0) in;

void put_draw(uint at, uint vertices, uint instances, uint first)
{
	RQL_STATE.at[at] = vertices;
	RQL_STATE.at[at + 1u] = instances;
	RQL_STATE.at[at + 2u] = first;
	RQL_STATE.at[at + 3u] = 0u;
}

// Workgroups of an indirect dispatch over so many items, as work.h lays them out.
void put_groups(uint at, uint items)
{
	uint groups = items / RQL_RASTER_THREADS + (items % RQL_RASTER_THREADS != 0u ? 1u : 0u);
	uvec3 sizes = rql_groups_of(groups);
	for (uint i = 0u; i < 3u; i++)
		RQL_STATE.at[at + i] = sizes[i];
}

uint rows_of(uint side)
{
	return RQL_STATE.at[RQL_RASTER_SIDE_ROWS + side];
}
uint first_of(uint side)
{
	return RQL_STATE.at[RQL_RASTER_FIRST + side];
}

// The rows of a partition; those of a side that meets no row of the other one need not be drawn.
void take_partition()
{
	uint rows[2];
	for (uint side = 0u; side < 2u; side++) {
		uint64_t starts = RQL_AT(RQL_RASTER_AT_STARTS + side), found = RQL_AT(RQL_RASTER_AT_FOUND + side);
		uint64_t all = RQL_AT(RQL_RASTER_AT_COUNT + side);
		uint first = starts != 0ul ? rql_u32s(starts).at[args.number] : 0u;
		uint end = starts != 0ul   ? rql_u32s(starts).at[args.number + 1u]
		           : found != 0ul ? uint(min(rql_u64s(found).at[0], all))
		                          : uint(all);
		RQL_STATE.at[RQL_RASTER_FIRST + side] = first;
		rows[side] = end - first;
	}
	bool both = rows[0] != 0u && rows[1] != 0u;
	for (uint side = 0u; side < 2u; side++) {
		RQL_STATE.at[RQL_RASTER_SIDE_ROWS + side] = both ? rows[side] : 0u;
		RQL_STATE.at[RQL_RASTER_HEIGHTS + side] = 0u;
		put_draw(RQL_RASTER_DRAW_STATS + 4u * side, both ? rows[side] : 0u, 1u, first_of(side));
	}
	RQL_STATE.at[RQL_RASTER_SWAP] = 0u;
	RQL_STATE.at[RQL_RASTER_RUNS] = 0u;
	RQL_POINTS.at[RQL_RASTER_POINTS_PARTITIONS] += both ? 1ul : 0ul;
}

void begin_stack(uint rows, uint first)
{
	put_draw(RQL_RASTER_DRAW_BUILD, rows, 1u, first);
	put_groups(RQL_RASTER_GROUPS_BUILD, rows);
	for (uint layer = 1u; layer <= args.layers; layer++)
		put_draw(RQL_RASTER_DRAW_BUILD + 4u * layer, 0u, 1u, 0u);
}

// The side that takes fewer layers is built (3.4.3). What would take more than may be built goes into the dense image.
void decide()
{
	uint heights[2] = uint[2](RQL_STATE.at[RQL_RASTER_HEIGHTS], RQL_STATE.at[RQL_RASTER_HEIGHTS + 1u]);
	bool swap = rql_flag(RQL_RASTER_SNAKE) &&
	            (heights[1] < heights[0] || (heights[1] == heights[0] && rows_of(1u) < rows_of(0u)));
	uint side = swap ? 1u : 0u;
	bool flat_all = args.cycles == 0u || (rql_flag(RQL_RASTER_STATISTICS) && heights[side] > args.layers * args.cycles) ||
	                (layout_bits == 16u && rows_of(side) >= 1u << 2u * args.log2_side);
	RQL_STATE.at[RQL_RASTER_SWAP] = side;
	RQL_STATE.at[RQL_RASTER_DIRECT] = flat_all ? 1u : 0u;
	begin_stack(flat_all ? 0u : rows_of(side), first_of(side));
	RQL_POINTS.at[RQL_RASTER_POINTS_SWAPPED] += uint64_t(side);
	if (rql_flag(RQL_RASTER_STATISTICS))
		RQL_POINTS.at[RQL_RASTER_POINTS_STATISTICS] +=
			uint64_t(rows_of(0u)) + (rql_flag(RQL_RASTER_SNAKE) ? uint64_t(rows_of(1u)) : 0ul);
	if (rql_flag(RQL_RASTER_STATISTICS) && rows_of(0u) != 0u)
		RQL_POINTS.at[RQL_RASTER_POINTS_PASSES] += rql_flag(RQL_RASTER_SNAKE) ? 2ul : 1ul;
}

void count_probes(uint64_t points)
{
	RQL_POINTS.at[RQL_RASTER_POINTS_COUNT] += points;
	RQL_POINTS.at[RQL_RASTER_POINTS_PROBE] += rql_flag(RQL_RASTER_PAIRS) ? points : 0ul;
	RQL_POINTS.at[RQL_RASTER_POINTS_PASSES] += points == 0ul ? 0ul : rql_flag(RQL_RASTER_PAIRS) ? 2ul : 1ul;
}

// The stack stands: the probe rows are drawn in each layer in use. What is left goes on when they have been (3.3.2).
void probe()
{
	uint used = 0u, side = rql_probing();
	for (uint layer = 0u; layer < args.layers; layer++) {
		uint rows = RQL_STATE.at[RQL_RASTER_DRAW_BUILD + 4u * layer];
		used += rows != 0u ? 1u : 0u;
		RQL_POINTS.at[RQL_RASTER_POINTS_BUILD] += uint64_t(rows);
	}
	uint left = RQL_STATE.at[RQL_RASTER_DRAW_BUILD + 4u * args.layers], rows = used != 0u ? rows_of(side) : 0u;
	put_draw(RQL_RASTER_DRAW_PROBE, rows, used, first_of(side));
	put_groups(RQL_RASTER_GROUPS_PROBE, rows);
	begin_stack(left, 0u);
	RQL_STATE.at[RQL_RASTER_SEEN] = RQL_STATE.at[RQL_RASTER_RUNS];
	RQL_STATE.at[RQL_RASTER_RUNS] += used != 0u ? 1u : 0u;
	RQL_POINTS.at[RQL_RASTER_POINTS_PASSES] += uint64_t(used);
	count_probes(uint64_t(rows) * used);
	RQL_POINTS.at[RQL_RASTER_POINTS_LAYERS] =
		max(RQL_POINTS.at[RQL_RASTER_POINTS_LAYERS], uint64_t(args.layer * args.layers + used) * (used != 0u ? 1ul : 0ul));
	RQL_POINTS.at[RQL_RASTER_POINTS_PAUSES] += left != 0u && args.layer + 1u < args.cycles ? 1ul : 0ul;
}

void flatten()
{
	bool direct = RQL_STATE.at[RQL_RASTER_DIRECT] != 0u;
	uint built = rql_building(), probed = rql_probing();
	uint left = direct ? rows_of(built) : RQL_STATE.at[RQL_RASTER_DRAW_BUILD];
	uint rows = left != 0u ? rows_of(probed) : 0u;
	put_draw(RQL_RASTER_DRAW_FLAT, left, 1u, direct ? first_of(built) : 0u);
	put_draw(RQL_RASTER_DRAW_WALK, rows, 1u, first_of(probed));
	put_groups(RQL_RASTER_GROUPS_WALK, rows);
	put_groups(RQL_RASTER_GROUPS_PIXELS, left != 0u ? 1u << 2u * args.log2_side : 0u);
	RQL_STATE.at[RQL_RASTER_CURSOR] = 0u;
	RQL_STATE.at[RQL_RASTER_SEEN] = RQL_STATE.at[RQL_RASTER_RUNS];
	RQL_POINTS.at[RQL_RASTER_POINTS_BUILD] += 2ul * uint64_t(left);
	RQL_POINTS.at[RQL_RASTER_POINTS_PASSES] += left != 0u ? 2ul : 0ul;
	count_probes(uint64_t(rows));
	RQL_POINTS.at[RQL_RASTER_POINTS_FLATTENED] += left != 0u ? 1ul : 0ul;
}

void main()
{
	if (rql_group() != 0ul || gl_LocalInvocationIndex != 0u)
		return;
	switch (args.what) {
	case RQL_RASTER_PLAN_PARTITION: take_partition(); break;
	case RQL_RASTER_PLAN_BUILD: decide(); break;
	case RQL_RASTER_PLAN_PROBE: probe(); break;
	case RQL_RASTER_PLAN_FLAT: flatten(); break;
	}
}
