#version 460
#extension GL_GOOGLE_include_directive : require
#include "selftest/shaders/ray.glsl"
layout(location = 0) rayPayloadInEXT rql_ray_payload payload;

void main()
{
	payload.count = 1u;
	payload.sum = rql_word32(args.part_bases + 4ul * uint(gl_InstanceCustomIndexEXT)).v + uint(gl_PrimitiveID);
}
