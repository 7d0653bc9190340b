#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "selftest/selftest_kernels.h"
#include "selftest/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_corner_args args; };

void main()
{
	uint64_t row = rql_group() * RQL_STEP_THREADS + gl_LocalInvocationIndex;
	if (row >= args.count)
		return;
	float x = float(rql_word32(args.rows + 12ul * row).v);
	float y = float(rql_word32(args.rows + 12ul * row + 4ul).v);
	float z = float(rql_word32(args.rows + 12ul * row + 8ul).v);
	if (args.boxes != 0u) {
		// Larger than a cell, so that rays pass through neighbours' boxes and only the intersection shader can tell.
		for (uint corner = 0u; corner < 2u; corner++) {
			uint64_t at = args.corners + 24ul * row + 12ul * corner;
			float side = corner == 0u ? -1.0 : 1.0;
			rql_wordf(at).v = x + 1.25 * side;
			rql_wordf(at + 4ul).v = y + 1.25 * side;
			rql_wordf(at + 8ul).v = z + 0.75 * side;
		}
		return;
	}
	// Around (x, y), where the ray passes: no edge is hit.
	const vec2 around[3] = vec2[3](vec2(-0.5, -0.5), vec2(0.5, -0.5), vec2(0.0, 0.5));
	for (uint corner = 0u; corner < 3u; corner++) {
		uint64_t at = args.corners + 36ul * row + 12ul * corner;
		rql_wordf(at).v = x + around[corner].x;
		rql_wordf(at + 4ul).v = y + around[corner].y;
		rql_wordf(at + 8ul).v = z;
	}
}
