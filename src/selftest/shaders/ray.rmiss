#version 460
#extension GL_GOOGLE_include_directive : require
#include "selftest/shaders/ray.glsl"
layout(location = 0) rayPayloadInEXT rql_ray_payload payload;

void main()
{
}
