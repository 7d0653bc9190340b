#version 460
#extension GL_GOOGLE_include_directive : require
// What a device does at least: reads `quads` times 16 bytes and nothing else; none at all: an empty launch.
#include "device/kernel.glsl"
#include "../bench/flat/rival_kernels.h"

layout(local_size_x_id = 0) in;
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer rql_quads { uvec4 quad[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer rql_words { uint32_t word[]; };
layout(push_constant, scalar) uniform rql_push { rql_floor_args args; };

void main()
{
	uvec4 sum = uvec4(0);
	uint64_t stride = args.groups * gl_WorkGroupSize.x;
	for (uint64_t i = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x; i < args.quads; i += stride)
		sum ^= rql_quads(args.from).quad[uint32_t(i)];
	// Never true of what is there, which no compiler knows.
	if ((sum.x & sum.y & sum.z & sum.w) == 0x12345678u)
		rql_words(args.to).word[0] = sum.x;
}
