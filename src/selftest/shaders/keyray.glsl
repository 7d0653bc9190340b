// What the shaders of a look-up of keys share.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "device/trace.glsl"
#include "geometry/key.glsl"
#include "selftest/lookup/selftest_keyray_kernels.h"
#include "selftest/shaders/words.glsl"
layout(push_constant, scalar) uniform rql_push { rql_keyray_args args; };

struct rql_keyray_payload {
	uint64_t hits, sum;
};
