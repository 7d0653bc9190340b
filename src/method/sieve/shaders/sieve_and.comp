// Bitmaps ANDed: 16 bytes a lane of each.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "method/sieve/gpu/sieve_kernels.h"
layout(local_size_x_id = 0) in;

layout(push_constant, scalar) uniform Args { rql_sieve_and_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer SieveWords { uvec4 v; };

void main()
{
	const uint64_t i = rql_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
	if (i >= args.words)
		return;
	uvec4 rows = SieveWords(args.rows + i * 16ul).v;
	for (uint m = 0u; m < args.map_count; m++)
		rows &= SieveWords(args.maps + (uint64_t(m) * args.words + i) * 16ul).v;
	SieveWords(args.rows + i * 16ul).v = rows;
}
