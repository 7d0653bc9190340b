#version 460
// Each row finds at its pixel the row that stands for its group, or another key: then it is listed for the next round
// (papers/004, 4.1.1; there a second draw). Rows that stand for a group take the group's number; the paper's prefix sum
// over the heads is an atomic here, which costs no pass.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "device/kernel.glsl"
#include "primitive/raster/shaders/group.glsl"
layout(local_size_x_id = 0) in;

bool is_equal(uint row, uvec4 first, uvec4 second)
{
	uint words[8] = uint[8](first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w);
	bool equal = true;
	for (uint w = 0u; w < args.key_words; w++)
		equal = equal && words[w + 1u] == rql_key_word(w, row);
	return equal;
}

void clear_column(uint column, uint group)
{
	uint flags = uint(rql_column(column, RQL_RASTER_COLUMN_FLAGS));
	uint64_t sums = rql_column(column, RQL_RASTER_COLUMN_SUM), least = rql_column(column, RQL_RASTER_COLUMN_MIN),
			 most = rql_column(column, RQL_RASTER_COLUMN_MAX);
	bool field = rql_is(flags, RQL_RASTER_COLUMN_FIELDS);
	if (sums != 0ul && rql_is(flags, RQL_RASTER_COLUMN_WIDE))
		rql_u64s(sums).at[2u * group] = rql_u64s(sums).at[2u * group + 1u] = 0ul;
	else if (sums != 0ul)
		rql_u64s(sums).at[group] = 0ul;
	if (least != 0ul)
		rql_u64s(least).at[group] = field ? 0xfffffffffffffffful : 0x7ffffffffffffffful;
	if (most != 0ul)
		rql_u64s(most).at[group] = field ? 0ul : 0x8000000000000000ul;
}

void found_group(uint row, uint64_t number)
{
	RQL_WORDS32(RQL_RASTER_GROUP_AT_NUMBERS).at[row] = uint(number);
	if (number >= args.capacity)
		return;
	RQL_WORDS32(RQL_RASTER_GROUP_AT_HEADS).at[uint(number)] = row;
	RQL_WORDS64(RQL_RASTER_GROUP_AT_COUNTS).at[uint(number)] = 0ul;
	for (uint c = 0u; c < args.column_count; c++)
		clear_column(c, uint(number));
}

void main()
{
	uint64_t i = rql_group() * RQL_RASTER_THREADS + gl_LocalInvocationIndex;
	bool lost = false, head = false;
	uint row = 0u;
	rql_u32s drawn = RQL_STATE;
	if (i < uint64_t(drawn.at[4u * args.round])) {
		uint at_list = uint(i) + drawn.at[4u * args.round + 2u];
		row = args.list != 0ul ? rql_u32s(args.list).at[at_list] : at_list;
		ivec2 at = ivec2(rql_pixel_of_row(row));
		uvec4 first = rql_fetch(args.images[0], at, 0u), second = uvec4(0u);
		if (args.key_words > 3u)
			second = rql_fetch(args.images[1], at, 0u);
		head = first.x == row;
		lost = !head && !is_equal(row, first, second);
		RQL_WORDS32(RQL_RASTER_GROUP_AT_MAP).at[row] = lost ? RQL_RASTER_NONE : first.x;
	}
	uvec4 heads = subgroupBallot(head), losers = subgroupBallot(lost);
	uint64_t number = 0ul;
	uint place = 0u;
	if (subgroupElect()) {
		if (heads != uvec4(0u))
			number = atomicAdd(RQL_WORDS64(RQL_RASTER_GROUP_AT_GROUPS).at[0], uint64_t(subgroupBallotBitCount(heads)));
		if (losers != uvec4(0u))
			place = atomicAdd(drawn.at[4u * (args.round + 1u)], subgroupBallotBitCount(losers));
	}
	number = packUint2x32(subgroupBroadcastFirst(unpackUint2x32(number)));
	place = subgroupBroadcastFirst(place);
	if (head)
		found_group(row, number + subgroupBallotExclusiveBitCount(heads));
	if (lost)
		rql_u32s(args.list_out).at[place + subgroupBallotExclusiveBitCount(losers)] = row;
}
