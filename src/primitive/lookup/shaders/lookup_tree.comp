#version 460
// A level of a B+ tree above sorted keys, or what fills up their last node: a thread writes a key. Floor: reads a key and
// writes one. KEY_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/lookup/lookup_kernels.h"
#include "primitive/relation/shaders/key_words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_lookup_tree_args args; };
#define NODE_KEYS (512u / KEY_BITS)

void main()
{
	uint64_t entry = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	if (entry >= args.entries)
		return;
	uint64_t child = entry / NODE_KEYS * (NODE_KEYS + 1u) + entry % NODE_KEYS + 1ul;
	uint64_t first = child * args.step;
	RQL_KEY(args.out_items, entry) = first < uint64_t(args.count) ? RQL_KEY(args.keys, first) : ~KEY(0);
}
