#version 460
// Builds a direct map, whose slots are all empty before: a thread puts a row into the slot of its key, where the least
// one stays. Floor: reads every key and row once, and a slot, in random places; writes the slots once.
// KEY_BITS: 32 or 64.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/lookup/lookup_kernels.h"
#include "primitive/relation/shaders/key_words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_lookup_table_args args; };

void main()
{
	uint64_t at = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	if (at >= uint64_t(args.count))
		return;
	uint64_t key = uint64_t(RQL_KEY(args.keys, uint64_t(at) << args.stride));
	uint row = args.rows != 0ul ? RQL_U32(args.rows, uint64_t(at) << args.stride) : uint(at);
	if (key < args.low || key > args.high) {
		atomicAdd(RQL_U64(args.failed, 0), 1ul);
		return;
	}
	uint64_t slot = key - args.low;
	atomicMin(RQL_U32(args.slots, slot), row);
	if (args.counts != 0ul)
		atomicAdd(RQL_U32(args.counts, slot), 1u);
}
