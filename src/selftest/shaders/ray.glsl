#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "device/trace.glsl"
#include "selftest/selftest_kernels.h"
#include "selftest/shaders/words.glsl"
layout(push_constant, scalar) uniform rql_push { rql_ray_args args; };

struct rql_ray_payload {
	uint count;
	uint64_t sum;
};
