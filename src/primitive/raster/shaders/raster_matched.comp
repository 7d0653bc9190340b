#version 460
// Flags of the probe rows that have a match: what the count image says, at the rows' own numbers. Then, of outer joins,
// those that have none, of semi joins and anti joins those that are wanted. Of full joins the build rows, side 0, are noted
// where pairs are put out (raster.glsl).
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/raster.glsl"
layout(local_size_x_id = 0) in;

uint64_t rows_found(uint side)
{
	uint64_t found = RQL_AT(RQL_RASTER_AT_FOUND + side), all = RQL_AT(RQL_RASTER_AT_COUNT + side);
	return found != 0ul ? min(rql_u64s(found).at[0], all) : all;
}

void flag(uint64_t i)
{
	uint64_t starts = RQL_AT(RQL_RASTER_AT_STARTS + 1u);
	uint64_t positions = starts != 0ul ? uint64_t(rql_u32s(starts).at[args.number]) : rows_found(1u);
	if (i >= positions)
		return;
	float count = rql_fetch_float(args.count_image, ivec2(rql_pixel_of_probe(1u, uint(i))), 0u).x;
	if (count != 0.0)
		rql_u32s(RQL_AT(RQL_RASTER_AT_MATCHED + 1u)).at[rql_number(1u, uint(i))] = 1u;
	if (count > 1.0 && rql_flag(RQL_RASTER_SINGLE))
		rql_u64s(RQL_AT(RQL_RASTER_AT_ROWS)).at[1] = 1ul;
}

void put(uint64_t i)
{
	uint side = args.side;
	bool wanted = i < rows_found(side) &&
	              (rql_u32s(RQL_AT(RQL_RASTER_AT_MATCHED + side)).at[uint(i)] != 0u) == rql_flag(RQL_RASTER_WANTS_MATCHED);
	uvec4 rows = subgroupBallot(wanted);
	uint64_t first = 0ul;
	if (subgroupElect() && rows != uvec4(0u))
		first = atomicAdd(rql_u64s(RQL_AT(RQL_RASTER_AT_ROWS)).at[0], uint64_t(subgroupBallotBitCount(rows)));
	first = packUint2x32(subgroupBroadcastFirst(unpackUint2x32(first))) + subgroupBallotExclusiveBitCount(rows);
	if (!wanted || first >= args.capacity)
		return;
	rql_u32s(RQL_AT(RQL_RASTER_AT_PROBE_ROWS)).at[uint(first)] = side == 1u ? uint(i) : RQL_RASTER_NONE;
	if (rql_flag(RQL_RASTER_PAIRS))
		rql_u32s(RQL_AT(RQL_RASTER_AT_BUILD_ROWS)).at[uint(first)] = side == 1u ? RQL_RASTER_NONE : uint(i);
}

void main()
{
	uint64_t i = rql_group() * RQL_RASTER_THREADS + gl_LocalInvocationIndex;
	if (args.what == RQL_RASTER_FLAG_ROWS)
		flag(i);
	else
		put(i);
}
