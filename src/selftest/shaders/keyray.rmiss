#version 460
#extension GL_GOOGLE_include_directive : require
#include "selftest/shaders/keyray.glsl"
layout(location = 0) rayPayloadInEXT rql_keyray_payload payload;

void main()
{
}
