#version 460
#extension GL_GOOGLE_include_directive : require
#define HIT
#include "trace_test.glsl"

layout(location = 0) rayPayloadInEXT trace_test_payload payload;

void main()
{
	payload.row = hit_row();
}
