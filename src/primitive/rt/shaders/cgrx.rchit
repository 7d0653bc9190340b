#version 460
// The nearest triangle's number.
#extension GL_GOOGLE_include_directive : require
#include "device/kernel.glsl"
#include "primitive/rt/shaders/cgrx.glsl"
layout(location = 0) rayPayloadInEXT uint found;

void main()
{
	found = (gl_InstanceCustomIndexEXT << PART_LOG2) + gl_PrimitiveID;
}
