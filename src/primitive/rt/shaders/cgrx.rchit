#version 460
// Where the nearest triangle's bucket is. The list begins with where each part's are.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/rt/shaders/cgrx.glsl"
layout(location = 0) rayPayloadInEXT uint found;

void main()
{
	found = RQL_U32(args.buckets_of, gl_InstanceCustomIndexEXT) + gl_PrimitiveID;
}
