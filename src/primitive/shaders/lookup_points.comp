#version 460
// Looks up a batch of points in a hashed or a direct map, a thread each: one random read but for collisions.
// Floor: lookup.h. KEY_BITS: 32 or 64. HASHED: 0 or 1.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/lookup_kernels.h"
#include "primitive/shaders/relation.glsl"
layout(push_constant, scalar) uniform rql_push { rql_lookup_points_args args; };
#include "primitive/shaders/lookup_find.glsl"

void main()
{
	uint64_t probe = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	uint64_t probes = args.found != 0ul ? min(args.probes, RQL_U64(args.found, 0)) : args.probes;
	if (probe >= probes)
		return;
	uint row;
	uint slot = find(RQL_KEY(args.points, probe), row);
	if (args.rows_out != 0ul)
		RQL_U32(args.rows_out, probe) = row;
	if (args.counts_out != 0ul)
		RQL_U32(args.counts_out, probe) = row != RQL_LOOKUP_EMPTY ? RQL_U32(args.counts, slot) : 0u;
}
