#version 460
#extension GL_GOOGLE_include_directive : require
#include "trace_test.glsl"

layout(constant_id = 2) const uint32_t nothing = 0;
layout(location = 0) rayPayloadInEXT trace_test_payload payload;

void main()
{
	payload.row = nothing;
}
