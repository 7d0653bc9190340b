#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
layout(local_size_x_id = 0) in;
#include "geometry/key.glsl"
#include "selftest/lookup/selftest_keyray_kernels.h"
#include "selftest/shaders/words.glsl"
layout(push_constant, scalar) uniform rql_push { rql_keyfill_args args; };
layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer rql_corner_at { float value; };

void main()
{
	uint64_t number = rql_group() * RQL_KEYRAY_THREADS + gl_LocalInvocationIndex;
	if (number >= args.count)
		return;
	float corner[9];
	rql_key_triangle(rql_key_space(args.bits, args.shift, args.stride), rql_word64(args.keys + 8ul * number).v, corner);
	for (uint i = 0u; i < 9u; i++)
		rql_corner_at(args.corners + 36ul * number + 4ul * i).value = corner[i];
}
