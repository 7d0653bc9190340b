#version 460
// The directory of sorted keys: where the keys of each entry begin. A thread finds one start by binary search, so that
// any distribution of keys takes as long. Neighbours read the same keys. Floor: reads the keys once, writes the starts.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/shaders/lookup.glsl"

void main()
{
	uint64_t entry = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	if (entry > uint64_t(args.last) + 1ul)
		return;
	uint low = 0u, high = args.count;
	while (low < high) {
		uint middle = low + (high - low) / 2u;
		if (uint64_t(entry_of(RQL_KEY(args.keys, middle))) < entry)
			low = middle + 1u;
		else
			high = middle;
	}
	RQL_U32(args.starts, entry) = low;
}
