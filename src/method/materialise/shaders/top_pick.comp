#version 460
// Lists the rows that are not behind the last wanted word, in no order; those of a tie may be more than are wanted.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "device/kernel.glsl"
#include "method/materialise/shaders/top.glsl"

void main()
{
	uint64_t i = rql_group() * RQL_TOP_THREADS + gl_LocalInvocationIndex;
	bool wanted = i < rql_rows() && RQL_U64(args.words, uint(i)) >= RQL_U64(args.bound, 0);
	uvec4 which = subgroupBallot(wanted);
	uvec2 first = uvec2(0u);
	if (subgroupElect() && which != uvec4(0u))
		first = unpackUint2x32(atomicAdd(RQL_U64(args.kept, 0), uint64_t(subgroupBallotBitCount(which))));
	uint64_t place = packUint2x32(subgroupBroadcastFirst(first)) + subgroupBallotExclusiveBitCount(which);
	if (wanted && place < uint64_t(args.list_room))
		RQL_U32(args.list, uint(place)) = uint(i);
}
