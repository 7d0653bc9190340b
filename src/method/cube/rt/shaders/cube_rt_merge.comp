// The copies of every group's row become one (cube_rt_kernels.h: rql_rt_merge_args). Floor: the copies once.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/cube/shaders/cube_cells.glsl"
#include "method/cube/rt/cube_rt_kernels.h"

layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform arguments { rql_rt_merge_args args; };

// The counters of all rays, into the state's.
void add_counters(uint lane)
{
	for (uint set = lane; set < RQL_RT_COUNTER_SETS; set += gl_WorkGroupSize.x) {
		for (uint c = 0; c < RQL_RT_COUNTERS; c++) {
			CubeWord counter = CubeWord(args.counters + 8ul * (set * RQL_RT_COUNTERS + c));
			uint64_t value = counter.v;
			if (value == 0)
				continue;
			counter.v = 0;
			atomicAdd(CubeWord(args.accumulator.state + 8ul * (RQL_CUBE_STATE_COUNTERS + c)).v, value);
		}
	}
}

void main()
{
	uint64_t group = rql_group();
	uint lane = gl_LocalInvocationID.x;
	rql_cube_program program = CubeProgram(args.program).v;
	if (group == 0)
		add_counters(lane);
	if (group >= program.group_count)
		return;
	uint64_t row_bytes = 8ul * program.row_words, to = args.accumulator.rows + group * row_bytes;
	uint64_t from = args.rows + group * row_bytes, apart = program.group_count * row_bytes;
	uint64_t cells = 0;
	for (uint64_t copy = lane; copy < args.copies; copy += gl_WorkGroupSize.x)
		cells += CubeWord(from + copy * apart).v;
	if (cells == 0) // and every copy of this lane is a template
		return;
	atomicAdd(CubeWord(to).v, cells);
	for (uint i = 0; i < program.slot_count; i++) {
		rql_cube_slot_entry slot = cube_slot(program, i);
		uint64_t at = 8ul * slot.word;
		bool wide = slot.kind == RQL_CUBE_SUM_WIDE;
		u64vec2 value = u64vec2(rql_state_identity(slot.kind), 0ul);
		for (uint64_t copy = lane; copy < args.copies; copy += gl_WorkGroupSize.x) {
			CubeWord low = CubeWord(from + copy * apart + at), high = CubeWord(from + copy * apart + at + 8ul);
			value = rql_state_fold(slot.kind, value, u64vec2(low.v, wide ? high.v : 0ul));
			low.v = CubeU64(program.row_template + at).v;
			if (wide)
				high.v = 0;
		}
		rql_state_atomic(slot.kind, to + at, value);
	}
	for (uint64_t copy = lane; copy < args.copies; copy += gl_WorkGroupSize.x)
		CubeWord(from + copy * apart).v = 0;
}
