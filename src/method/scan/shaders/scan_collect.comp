// Puts the groups of a run out and everything back at rest, when there are too many for the last workgroup of the scan.
// Groups come in any order; the host sorts them by number.
//
// Floor: every row, of all arrays, read and written once, 16 bytes a word, at the memory's speed.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in;
#include "method/scan/shaders/scan_rows.glsl"

layout(push_constant, scalar) uniform Args { rql_scan_collect_args args; };

// One entry for each invocation that has a group: one atomic a subgroup.
uint64_t new_entry(bool wanted)
{
	uvec4 ballot = subgroupBallot(wanted);
	uint count = subgroupBallotBitCount(ballot);
	uvec2 first = uvec2(0u);
	if (subgroupElect() && count != 0u)
		first = unpackUint2x32(
			atomicAdd(ScanWord(args.accumulator.state + RQL_SCAN_STATE_FOUND * 8u).v, uint64_t(count)));
	first = subgroupBroadcastFirst(first);
	return packUint2x32(first) + subgroupBallotExclusiveBitCount(ballot);
}

// A word of a row, of all its arrays.
uint64_t word_of(uint64_t at, uint word)
{
	rql_scan_accumulator acc = args.accumulator;
	uint kind = scan_kind_of(acc, word);
	uint64_t value = ScanWord(at + uint64_t(word) * 8ul).v;
	for (uint s = 1u; s < acc.spread; s++) {
		uint64_t other = ScanWord(at + uint64_t(s) * acc.stride + uint64_t(word) * 8ul).v;
		value = scan_fold(kind, u64vec2(value, 0ul), u64vec2(other, 0ul)).x;
	}
	return value;
}

// To its place: in the result's list, or beyond its room in the second one.
void put_row(uint64_t entry, uint64_t key, uint64_t at)
{
	bool direct = entry < args.room;
	uint64_t list = direct ? args.accumulator.result + RQL_SCAN_STATE_WORDS * 8u : args.others;
	uint64_t room = direct ? args.room : args.capacity - args.room;
	uint64_t place = direct ? entry : entry - args.room;
	ScanWord(list + place * 8ul).v = key;
	uint64_t to = list + (room + place * args.row_words) * 8ul;
	for (uint w = 0u; w < args.row_words; w++)
		ScanWord(to + uint64_t(w) * 8ul).v = word_of(at, w);
}

void reset_row(uint64_t at)
{
	rql_scan_accumulator acc = args.accumulator;
	for (uint s = 0u; s < acc.spread; s++)
		for (uint w = 0u; w < args.row_words; w++)
			ScanWord(at + uint64_t(s) * acc.stride + uint64_t(w) * 8ul).v = scan_identity(scan_kind_of(acc, w));
}

void take_row(uint64_t row, bool exists)
{
	rql_scan_accumulator acc = args.accumulator;
	uint64_t at = acc.rows + row * args.row_words * 8ul;
	bool wanted = exists && args.reset == 0u && word_of(at, 0u) != 0ul;
	uint64_t entry = new_entry(wanted);
	if (wanted)
		put_row(entry, acc.keys != 0ul ? ScanWord(acc.keys + row * 8ul).v : row + 1ul, at);
	if (exists && (wanted || args.reset != 0u))
		reset_row(at);
	if (exists && acc.keys != 0ul)
		ScanWord(acc.keys + row * 8ul).v = 0ul;
}

void main()
{
	uint64_t group = rql_group();
	if (group >= args.groups)
		return;
	uint64_t step = uint64_t(args.groups) * gl_WorkGroupSize.x;
	for (uint64_t first = group * gl_WorkGroupSize.x; first < args.capacity; first += step) {
		uint64_t row = first + gl_LocalInvocationIndex;
		take_row(row, row < args.capacity);
	}
	if (scan_last_workgroup(args.accumulator, args.groups))
		scan_put_state(args.accumulator);
}
