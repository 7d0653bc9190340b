#version 460
// The directory of sorted keys: where the keys of each entry begin. A thread compares a key's entry with that of the
// key before it, and writes the starts of the entries between; those of a long gap are written by the whole workgroup.
// Behind the keys comes one more that lies beyond all entries. Floor: reads the keys once, writes the starts once.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/lookup/shaders/lookup.glsl"
#define SHORT 16u
layout(constant_id = 0) const uint MOST = 256u; // the workgroup's size
shared uint gap_first[MOST], gap_end[MOST], gap_key[MOST];
shared uint gaps;

void write_starts(uint first, uint end, uint key, uint step)
{
	for (uint entry = first; entry < end; entry += step)
		RQL_U32(args.starts, entry) = key;
}

void main()
{
	uint64_t at = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	if (gl_LocalInvocationIndex == 0u)
		gaps = 0u;
	barrier();
	if (at <= uint64_t(args.count)) {
		uint key = uint(at);
		uint first = key == 0u ? 0u : entry_of(KEY_AT(key - 1u)) + 1u;
		uint end = key == args.count ? args.last + 2u : entry_of(KEY_AT(key)) + 1u;
		if (end > first && end - first > SHORT) {
			uint gap = atomicAdd(gaps, 1u);
			gap_first[gap] = first;
			gap_end[gap] = end;
			gap_key[gap] = key;
		} else if (end > first) {
			write_starts(first, end, key, 1u);
		}
	}
	barrier();
	for (uint gap = 0u; gap < gaps; gap++)
		write_starts(gap_first[gap] + gl_LocalInvocationIndex, gap_end[gap], gap_key[gap], gl_WorkGroupSize.x);
}
