// Puts the groups of a run out and everything back at rest (the pass after the last one that adds, unless that does it
// itself). Groups come in any order; the host sorts them by number.
//
// Floor: every row read and written once, 16 bytes a word, at the memory's speed.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in; // before gl_WorkGroupSize is used, or it is 1 there
#include "method/cube/shaders/cube_cells.glsl"
#include "method/cube/shaders/cube_finish.glsl"

layout(push_constant, scalar) uniform Args { rql_cube_collect_args args; };

// One entry for each invocation that has a group: one atomic a subgroup.
uint64_t new_entry(bool wanted)
{
	uvec4 ballot = subgroupBallot(wanted);
	uint count = subgroupBallotBitCount(ballot);
	uvec2 first = uvec2(0u);
	if (subgroupElect() && count != 0u)
		first = unpackUint2x32(
			atomicAdd(CubeWord(args.accumulator.state + RQL_CUBE_STATE_FOUND * 8u).v, uint64_t(count)));
	first = subgroupBroadcastFirst(first);
	return packUint2x32(first) + subgroupBallotExclusiveBitCount(ballot);
}

void take_row(rql_cube_program p, uint64_t row, bool exists)
{
	rql_cube_accumulator acc = args.accumulator;
	uint64_t at = acc.rows + row * p.row_words * 8ul;
	bool wanted = exists && args.mode == RQL_CUBE_COLLECT_GROUPS && CubeWord(at).v != 0ul;
	uint64_t entry = new_entry(wanted);
	if (wanted) {
		uint64_t key = acc.keys != 0ul ? CubeWord(acc.keys + row * 8ul).v : row + 1ul;
		CubeWord(acc.found + entry * 8ul).v = key;
		uint64_t to = acc.found + (args.capacity + entry * p.row_words) * 8ul;
		for (uint w = 0u; w < p.row_words; w++)
			CubeWord(to + uint64_t(w) * 8ul).v = CubeWord(at + uint64_t(w) * 8ul).v;
	}
	if (exists && (wanted || args.mode == RQL_CUBE_COLLECT_RESET)) {
		for (uint w = 0u; w < p.row_words; w++)
			CubeWord(at + uint64_t(w) * 8ul).v = cube_template_word(p, w);
	}
	if (exists && acc.keys != 0ul)
		CubeWord(acc.keys + row * 8ul).v = 0ul;
}

void main()
{
	rql_cube_program p = CubeProgram(args.program).v;
	uint64_t group = rql_group();
	if (group >= args.groups)
		return;
	if (args.mode != RQL_CUBE_COLLECT_ROWS) {
		uint64_t step = args.groups * gl_WorkGroupSize.x;
		for (uint64_t first = group * gl_WorkGroupSize.x; first < args.capacity; first += step) {
			uint64_t row = first + gl_LocalInvocationIndex;
			take_row(p, row, row < args.capacity);
		}
	}
	if (!cube_last_workgroup(args.accumulator, args.groups))
		return;
	if (args.mode == RQL_CUBE_COLLECT_ROWS)
		cube_put_rows(p, args.accumulator);
	cube_put_head(args.accumulator);
}
