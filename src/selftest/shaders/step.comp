#version 460
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "selftest/selftest_kernels.h"
#include "selftest/shaders/words.glsl"
layout(local_size_x_id = 0) in;
layout(push_constant, scalar) uniform rql_push { rql_step_args args; };

void main()
{
	if (rql_group() >= args.groups)
		return;
	uint64_t i = rql_group() * RQL_STEP_THREADS + gl_LocalInvocationIndex;
	if (i >= args.count)
		return;
	rql_word64(args.out_items + 8ul * i).v = rql_word64(args.in_items + 8ul * i).v * args.factor + args.add + i;
}
