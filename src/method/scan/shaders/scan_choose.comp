// Puts those of the listed groups into memory that the host reads which have no rank below the bound.
//
// Floor: every rank is read once, at the memory's speed.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in;
#include "method/scan/shaders/scan_rows.glsl"
#include "method/scan/shaders/scan_entry.glsl"

layout(push_constant, scalar) uniform Args { rql_scan_choose_args args; };

void main()
{
	uint64_t group = rql_group();
	if (group >= args.groups)
		return;
	if (group == 0ul && gl_LocalInvocationIndex == 0u)
		ScanWord(args.head + RQL_SCAN_STATE_BOUND * 8u).v = ScanU64(args.bound).v;
	uint64_t found = min(ScanU64(args.head + RQL_SCAN_STATE_FOUND * 8u).v, args.capacity);
	uint64_t bound = ScanU64(args.bound).v, step = uint64_t(args.groups) * gl_WorkGroupSize.x;
	uint64_t key_bytes = uint64_t(args.key_words) * 8ul;
	uint64_t rows = args.list + args.capacity * key_bytes, to_rows = args.to + args.room * key_bytes;
	for (uint64_t first = group * gl_WorkGroupSize.x; first < found; first += step) {
		uint64_t i = first + gl_LocalInvocationIndex;
		uint64_t rank = i < found ? ScanU64(args.ranks + i * 8ul).v : 0ul;
		bool greater = i < found && rank > bound, equal = i < found && rank == bound;
		uint64_t entry = scan_new_entry(args.head + RQL_SCAN_STATE_CHOSEN * 8u, greater);
		uint64_t later = args.first + scan_new_entry(args.head + RQL_SCAN_STATE_EQUAL * 8u, equal);
		entry = equal ? later : entry;
		if (!(greater || equal) || entry >= args.room)
			continue;
		for (uint w = 0u; w < args.key_words; w++)
			ScanWord(args.to + entry * key_bytes + uint64_t(w) * 8ul).v =
				ScanU64(args.list + i * key_bytes + uint64_t(w) * 8ul).v;
		for (uint w = 0u; w < args.row_words; w++)
			ScanWord(to_rows + (entry * args.row_words + w) * 8ul).v = ScanU64(rows + (i * args.row_words + w) * 8ul).v;
	}
}
