#version 460
// Looks up a batch of points in a hashed or a direct map: one random read each but for collisions. A thread has a few,
// whose reads are under way together. Floor: lookup.h. KEY_BITS: 32 or 64. HASHED: 0 or 1.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/lookup_kernels.h"
#include "primitive/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_lookup_points_args args; };
#include "primitive/shaders/lookup_find.glsl"
#define ITEMS RQL_LOOKUP_POINT_ITEMS // with more, registers cost more threads than the reads side by side gain

void main()
{
	uint64_t first = rql_group() * (gl_WorkGroupSize.x * ITEMS) + gl_LocalInvocationIndex;
	uint64_t probes = args.found != 0ul ? min(args.probes, RQL_U64(args.found, 0)) : args.probes;
	if (first >= probes)
		return;
	KEY keys[ITEMS];
	uint slots[ITEMS];
	SLOT_WORDS words[ITEMS];
	[[unroll]] for (uint i = 0u; i < ITEMS; i++)
		keys[i] = RQL_KEY(args.points, min(first + i * gl_WorkGroupSize.x, probes - 1ul));
	[[unroll]] for (uint i = 0u; i < ITEMS; i++) {
		slots[i] = start_of(keys[i]);
		words[i] = SLOT(slots[i]);
	}
	[[unroll]] for (uint i = 0u; i < ITEMS; i++) {
		uint64_t probe = first + i * gl_WorkGroupSize.x;
		if (probe >= probes)
			break;
		uint row;
		uint slot = find_from(keys[i], slots[i], words[i], row);
		if (args.rows_out != 0ul)
			RQL_U32(args.rows_out, probe) = row;
		if (args.counts_out != 0ul)
			RQL_U32(args.counts_out, probe) = row != RQL_LOOKUP_EMPTY ? RQL_U32(args.counts, slot) : 0u;
	}
}
